//! An RMS norm of a state's heads that a gate scales (`Qwen3NextRMSNormGated` in
//! `models/qwen3_next/modeling_qwen3_next.py`).

use super::super::{Build, FP32};
use crate::ops::tape::{Form, POWER, Param, RSQRT, SILU, Var};
use crate::ops::tensor::Dim;

/// The norm before the gate.
#[derive(Clone, Copy, Debug)]
pub(super) struct GatedNorm {
    weight: Param,
    rows: Form,
}

impl GatedNorm {
    pub fn new(build: &Build<'_>, width: Dim, rows: Form) -> Self {
        Self { weight: build.vector("scale", width), rows }
    }

    pub fn run<'t>(self, x: &Var<'t>, gate: &Var<'t>) -> Var<'t> {
        let format = x.dtype();
        let wide = x.clone().cast_as(FP32, "norm input in fp32");
        let variance = wide.clone().apply(POWER).reduce(self.rows);
        let normed = wide.mul(variance.clone().plus().apply(RSQRT).named("norm statistics"));
        let scaled =
            x.tape().read(self.weight).mul(normed.clone().cast_as(format, "unscaled norm output"));
        drop(normed);
        let gated = scaled.clone().mul(gate.clone().cast_as(FP32, "gate in fp32").apply(SILU));
        drop(scaled);
        gated.clone().cast_as(format, "norm output")
    }
}
