//! A gate of a norm's output, made from that output by two matrices with a narrow space between
//! (`AXK2GatedRMSNorm` in `models/axk2/modeling_axk2.py`).

use super::{Build, FP32, Linear};
use crate::ops::tape::{SIGMOID, SILU, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// The gate's two matrices.
#[derive(Clone, Copy, Debug)]
pub(super) struct NormGate {
    down: Linear,
    up: Linear,
}

impl NormGate {
    /// The gate of that rank; `None` for a rank of 0.
    pub fn new(build: &Build<'_>) -> Option<Self> {
        let (with, tape) = (build.with, build.tape);
        let rank =
            Some(Dim("norm_gate_rank", build.model().norm_gate_rank)).filter(|rank| rank.1 > 0)?;
        tape.at("Gate of the norm", sources::PYTORCH_AUTOGRAD);
        let down = build.linear(
            ("narrowing gate weight", None),
            (rank, with.h()),
            tape.form([with.b(), with.s(), rank]),
        );
        let up =
            build.linear(("widening gate weight", None), (with.h(), rank), build.shapes.hidden);
        Some(Self { down, up })
    }

    /// The norm's output times the sigmoid of what the matrices make of it, in fp32.
    pub fn run<'t>(&self, tape: &'t Tape, normed: &Var<'t>) -> Var<'t> {
        tape.at("Gate of the norm", sources::PYTORCH_AUTOGRAD);
        let narrow = self.down.run(normed).apply(SILU).named("narrow gate");
        let gate =
            self.up.run(&{ narrow }).cast_as(FP32, "gate in fp32").apply(SIGMOID).named("gate");
        normed.clone().mul(gate).cast_as(normed.dtype(), "gated norm output")
    }
}
