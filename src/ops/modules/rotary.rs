//! Rotary positions as llama writes them, as complex numbers, and as one kernel in place.

use super::{Build, FP32, Tables, half};
use crate::config::RotaryTables;
use crate::ops::tape::{Form, SCALE, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::stacks::RotationKernel;
use crate::units::DType;

/// Rotary positions: `x · cos + rotate_half(x) · sin`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rotary {
    queries_half: Form,
    keys_half: Form,
    /// Halves are rotated one by one, by tables of half the width (gpt-oss).
    by_halves: bool,
    /// Tables are in fp32, results are cast back (olmo2).
    casts: bool,
    /// As complex numbers in fp32, by one table.
    complex: bool,
    /// By one kernel in place; more than one head of queries, and of keys.
    in_place: Option<(bool, bool)>,
}

impl Rotary {
    pub fn new(build: &Build<'_>) -> Self {
        let with = build.with;
        let tables = build.model().family.modules().rotary_tables;
        let form =
            |heads: Dim| build.tape.form([with.b(), heads, with.s(), half(with.head_dim().1)]);
        Self {
            queries_half: form(with.own_heads()),
            keys_half: form(with.own_kv_heads()),
            by_halves: tables == RotaryTables::Halves,
            casts: tables == RotaryTables::InFp32,
            complex: build.kernels().rotation.is_complex(),
            in_place: (build.kernels().rotation == RotationKernel::InPlace)
                .then(|| (with.own_heads().1 > 1, with.own_kv_heads().1 > 1)),
        }
    }

    /// `apply_rotary_pos_emb`: both are rotated before either original is freed.
    pub fn run<'t>(self, (q, k): (Var<'t>, Var<'t>), tables: &Tables<'t>) -> (Var<'t>, Var<'t>) {
        let Some((cos, sin)) = &tables.rotary else { return (q, k) };
        q.tape().at("Rotary positions", sources::PYTORCH_AUTOGRAD);
        if self.complex {
            return rotated_in_fp32((&q, &k), cos);
        }
        if let Some((queries, keys)) = self.in_place {
            return (q.turned_in_place((cos, sin), queries), k.turned_in_place((cos, sin), keys));
        }
        let rotated = if self.by_halves { rotated_by_halves } else { rotated };
        let queries = rotated(&q, (cos, sin), self.queries_half).named("queries");
        let keys = rotated(&k, (cos, sin), self.keys_half).named("keys");
        if self.casts {
            return (
                queries.clone().cast_as(q.dtype(), "queries"),
                keys.clone().cast_as(k.dtype(), "keys"),
            );
        }
        (queries, keys)
    }
}

/// Rotary tables that a layer of attention makes for itself, of frequencies that it registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnTables {
    /// `[s]`, `[s, d / 2]` and `[s, d]` of the rotated part.
    numbers: Form,
    half: Form,
    whole: Form,
}

impl OwnTables {
    /// Registers frequencies, where the model's layers have their own.
    pub fn new(build: &Build<'_>) -> Option<Self> {
        let (model, tape) = (build.model(), build.tape);
        if !model.family.modules().rotates_in_attention {
            return None;
        }
        let (s, width) = (build.with.s(), model.rotary_dim.unwrap_or(model.head_dim));
        for name in ["rotary frequencies", "first rotary frequencies"] {
            tape.buffer(name, tape.form([half(width)]), FP32);
        }
        let whole = tape.form([s, Dim("rotated width", width)]);
        Some(Self { numbers: tape.form([s]), half: tape.form([s, half(width)]), whole })
    }

    /// The tables in that format, beside what else blocks are given.
    pub fn beside<'t>(self, tables: &Tables<'t>, tape: &'t Tape, dtype: DType) -> Tables<'t> {
        tape.at("Rotary positions", sources::PYTORCH_AUTOGRAD);
        let numbers = tape.constant("positions in fp32", self.numbers, FP32);
        let angles = tape.constant("angles", self.half, FP32);
        drop(numbers);
        let doubled = tape.constant("angles", self.whole, FP32);
        let cos = tape.constant("cosines", self.whole, FP32).apply(SCALE);
        let sin = tape.constant("sines", self.whole, FP32).apply(SCALE);
        let rotary = (
            cos.clone().cast_as(dtype, "rotary cosines"),
            sin.clone().cast_as(dtype, "rotary sines"),
        );
        drop((angles, doubled));
        Tables { rotary: Some(rotary), ..tables.clone() }
    }
}

/// `apply_rotary_emb` of torchtitan's `ComplexRoPE`: both are cast, then both multiplied, then both
/// cast back.
fn rotated_in_fp32<'t>((q, k): (&Var<'t>, &Var<'t>), factors: &Var<'t>) -> (Var<'t>, Var<'t>) {
    let wide = [q, k].map(|x| x.clone().cast_as(FP32, "heads in fp32"));
    let [queries, keys] = wide.each_ref().map(|wide| wide.clone().turned_by(factors));
    (queries.clone().cast_as(q.dtype(), "queries"), keys.clone().cast_as(k.dtype(), "keys"))
}

pub(super) fn rotated<'t>(x: &Var<'t>, (cos, sin): (&Var<'t>, &Var<'t>), half: Form) -> Var<'t> {
    let straight = x.clone().mul(cos.clone());
    let first = x.clone().slice(half);
    let turned = x.clone().slice(half).apply(SCALE).cat(first, x.form());
    straight.add(turned.mul(sin.clone()))
}

/// `_apply_rotary_emb` of gpt-oss: `(x₁ · cos - x₂ · sin, x₂ · cos + x₁ · sin)`.
fn rotated_by_halves<'t>(x: &Var<'t>, (cos, sin): (&Var<'t>, &Var<'t>), half: Form) -> Var<'t> {
    let [first, second] = x.clone().split([half; 2]);
    let turn = |x: &Var<'t>, by: &Var<'t>| x.clone().mul(by.clone());
    let left = turn(&first, cos).sub(turn(&second, sin));
    let right = turn(&second, cos).add(turn(&first, sin));
    left.clone().cat(right.clone(), x.form())
}
