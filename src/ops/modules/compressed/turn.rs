//! The rotation of the last columns of each head, in pairs of columns (`apply_rotary_pos_emb`).

use super::super::{Build, FP32, half};
use crate::ops::tape::{Form, SCALE, Tape, Var};
use crate::ops::tensor::Dim;
use crate::units::DType;

/// Shapes of one rotation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// Columns that are not rotated, those that are, and half of those.
    rest: Form,
    turned: Form,
    half: Form,
    /// Tables with a column for each of a pair.
    pairs: Form,
}

impl Turn {
    /// Of heads `[b, a, s, d]`, whose tables have rows of that shape.
    pub fn new<const N: usize>(
        build: &Build<'_>,
        [b, heads, tokens, width]: [Dim; 4],
        rows: [Dim; N],
    ) -> Self {
        let tape = build.tape;
        let turned = build.model().rotary_dim.unwrap_or(build.model().head_dim).min(width.1);
        let form = |name, columns| tape.form([b, heads, tokens, Dim(name, columns)]);
        let rows = rows.iter().map(|dim| dim.1).product();
        Self {
            rest: form("unrotated width", width.1.saturating_sub(turned)),
            turned: form("rotated width", turned),
            half: form("half of the rotated width", half(turned).1),
            pairs: tape.form([Dim("positions", rows), Dim("rotated width", turned)]),
        }
    }

    /// The heads with their last columns rotated.
    pub fn run<'t>(self, x: &Var<'t>, (cos, sin): &(Var<'t>, Var<'t>)) -> Var<'t> {
        let tape = x.tape();
        let cos = tape.constant("rotary cosines of pairs", self.pairs, cos.dtype());
        let sin = tape.constant("rotary sines of pairs", self.pairs, sin.dtype());
        let part = |form| x.clone().slice(form).ordered(x.order());
        let (rest, turned) = (part(self.rest), part(self.turned));
        let first = turned.clone().cast(FP32).mul(cos);
        let [even, odd] = [(); 2].map(|()| turned.clone().slice(self.half).ordered(turned.order()));
        let crossed =
            Var::stacked(&[odd.apply(SCALE), even], self.turned).unwrap_or_else(|| turned.clone());
        let second = { crossed }.cast(FP32).mul(sin);
        let turned = first.add(second).cast(x.dtype());
        rest.cat(turned, x.form())
    }
}

/// Shapes of tables of positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Positions {
    numbers: Form,
    wide: Form,
    table: Form,
}

impl Positions {
    /// Of so many sequences of so many positions.
    pub fn new(build: &Build<'_>, [b, positions]: [Dim; 2]) -> Self {
        let turned = build.model().rotary_dim.unwrap_or(build.model().head_dim);
        let tape = build.tape;
        Self {
            numbers: tape.form([positions]),
            wide: tape.form([b, positions]),
            table: tape.form([b, positions, half(turned)]),
        }
    }

    /// Frequencies that a module for tables of its own registers: of two kinds of layers, twice.
    pub fn register(build: &Build<'_>) {
        let turned = build.model().rotary_dim.unwrap_or(build.model().head_dim);
        (0..4).for_each(|_| {
            build.tape.buffer("rotary frequencies", build.tape.form([half(turned)]), FP32);
        });
    }

    /// The numbers of compressed keys' positions, which are held.
    pub fn numbers(self, tape: &Tape) -> Var<'_> {
        let make = || tape.constant("positions of compressed keys", self.numbers, DType::Int64);
        let counted = make();
        let scaled = make();
        drop(counted);
        let moved = make();
        drop(scaled);
        moved
    }

    /// Cosines and sines of these positions (`DeepseekV4RotaryEmbedding`).
    pub fn tables(self, tape: &Tape, format: DType) -> (Var<'_>, Var<'_>) {
        let wide = tape.constant("positions in fp32", self.wide, FP32);
        let angles = tape.constant("angles", self.table, FP32);
        drop(wide);
        let cos = tape.constant("cosines", self.table, FP32).apply(SCALE);
        let sin = tape.constant("sines", self.table, FP32).apply(SCALE);
        let tables = (
            cos.clone().cast_as(format, "rotary cosines"),
            sin.clone().cast_as(format, "rotary sines"),
        );
        drop((cos, sin, angles));
        tables
    }
}
