//! Rotary positions as families other than llama write them (transformers 5.23, each
//! `apply_rotary_pos_emb`).

mod neighbours;

use super::rotary::rotated;
use super::{Build, FP32, Part, Tables, half};
use crate::config::RotationStyle;
use crate::ops::tape::{Form, SCALE, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::stacks::RotationKernel;

/// How a family rotates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// The whole head (llama).
    Whole,
    /// The whole head, its first half negated (`nanochat`).
    Backwards,
    /// In fp32 (`cohere`).
    Wide,
    /// In fp32, from a copy for each product (`modernbert`).
    WideTwice,
    /// The first part of each head, by the attention itself, which holds the parts to its end
    /// (`phi`, `stablelm`).
    Parts,
    /// The first part, joined with the rest even if that is empty (`phi3`).
    Joined,
    /// As joined, with cosines and sines repeated in every block (`glm4`).
    Interleaved,
    /// The whole head, by cosines and sines that every block repeats (`helium`).
    Repeated,
    /// Neighbours of the first part, before heads and tokens change places; rows of a table are
    /// gathered and cast.
    Neighbours { gathers: bool },
    /// The whole head, turned and then multiplied in fp32 by cosines and sines that every block
    /// repeats (`ernie4_5_moe`).
    RepeatedWide,
}

/// Rotary positions of part of each head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rotation {
    style: Style,
    /// Of queries and of keys: the rotated part, half of it, and the rest.
    forms: [[Form; 3]; 2],
    table: Form,
    /// By one kernel in place; more than one head of queries, and of keys.
    in_place: Option<[bool; 2]>,
    /// A layer's table of all positions.
    places: Form,
    /// Queries and keys before tokens; more than one head.
    heads: [Form; 2],
    several: bool,
}

/// Rotated queries, rotated keys, and the parts of heads that attention holds with them.
pub(super) type Rotated<'t> = (Var<'t>, Var<'t>, Vec<Var<'t>>);

impl Rotation {
    pub fn new(build: &Build<'_>) -> Self {
        let (with, model, tape) = (build.with, build.model(), build.tape);
        let d = with.head_dim().1;
        let turned = model.rotary_dim.unwrap_or(d).min(d);
        let style = match model.family.modules().rotation {
            RotationStyle::Backwards => Style::Backwards,
            RotationStyle::InFp32 => Style::Wide,
            RotationStyle::InFp32ByTwoCopies => Style::WideTwice,
            RotationStyle::HeldParts => Style::Parts,
            RotationStyle::RepeatedTables => Style::Interleaved,
            RotationStyle::RepeatedTablesInFp32 => Style::RepeatedWide,
            RotationStyle::WholeByRepeatedTables => Style::Repeated,
            RotationStyle::Joined => Style::Joined,
            RotationStyle::Neighbours => Style::Neighbours { gathers: true },
            RotationStyle::NeighboursInFp32 => Style::Neighbours { gathers: false },
            RotationStyle::Whole if turned < d => Style::Joined,
            RotationStyle::Whole => Style::Whole,
        };
        let forms = [with.heads(), with.kv_heads()].map(|heads| {
            let parts = [
                Dim("rotated width", turned),
                half(turned),
                Dim("unrotated width", d.saturating_sub(turned)),
            ];
            let heads = with.share(Part::Attention, heads);
            parts.map(|part| match style {
                Style::Neighbours { .. } => tape.form([with.b(), with.s(), heads, part]),
                _ => tape.form([with.b(), heads, with.s(), part]),
            })
        });
        let in_place = (build.kernels().rotation == RotationKernel::InPlace)
            .then(|| [with.own_heads().1 > 1, with.own_kv_heads().1 > 1]);
        let columns = Dim("rotated width", turned);
        Self {
            style,
            forms,
            in_place,
            table: tape.form([with.s(), columns]),
            places: neighbours::places(build, columns),
            heads: [build.shapes.queries, build.shapes.keys],
            several: with.own_heads().1 > 1,
        }
    }

    /// Queries and keys, rotated.
    pub fn run<'t>(&self, q: Var<'t>, k: Var<'t>, tables: &Tables<'t>) -> Rotated<'t> {
        if let Style::Neighbours { gathers } = self.style {
            return self.neighbours(q, k, gathers);
        }
        let Some((cos, sin)) = &tables.rotary else { return (q, k, Vec::new()) };
        let tape = q.tape();
        tape.at("Rotary positions", sources::PYTORCH_AUTOGRAD);
        if let Some([queries, keys]) = self.in_place {
            // Parts of a joint product do not lie in one piece.
            let whole = |x: Var<'t>| if self.style == Style::Joined { x.in_one_piece() } else { x };
            let (q, k) = (whole(q), whole(k));
            let queries = q.turned_in_place((cos, sin), queries);
            return (queries, k.turned_in_place((cos, sin), keys), Vec::new());
        }
        let turn = |x: &Var<'t>, forms: &[Form; 3]| rotated(x, (cos, sin), forms[1]);
        let [of_q, of_k] = &self.forms;
        let (queries, keys, held) = match self.style {
            Style::Whole => (turn(&q, of_q), turn(&k, of_k), Vec::new()),
            Style::Backwards => {
                let turn =
                    |x: &Var<'t>, forms: &[Form; 3]| rotated_backwards(x, (cos, sin), forms[1]);
                (turn(&q, of_q), turn(&k, of_k), Vec::new())
            }
            Style::Wide => {
                let format = q.dtype();
                let (q, k) = (
                    q.clone().cast_as(FP32, "queries in fp32"),
                    k.clone().cast_as(FP32, "keys in fp32"),
                );
                let (queries, keys) = (turn(&q, of_q), turn(&k, of_k));
                (queries.clone().cast(format), keys.clone().cast(format), Vec::new())
            }
            Style::WideTwice => {
                let format = q.dtype();
                let (queries, keys) = (
                    rotated_by_two_copies(&q, (cos, sin), of_q[1]),
                    rotated_by_two_copies(&k, (cos, sin), of_k[1]),
                );
                (queries.clone().cast(format), keys.clone().cast(format), Vec::new())
            }
            Style::RepeatedWide => {
                let (format, (cos, sin)) = (q.dtype(), (self.again(cos), self.again(sin)));
                let (queries, keys) = (
                    turned_in_fp32(&q, (&cos, &sin), of_q[1]),
                    turned_in_fp32(&k, (&cos, &sin), of_k[1]),
                );
                (queries.clone().cast(format), keys.clone().cast(format), Vec::new())
            }
            Style::Repeated => {
                let (cos, sin) = (self.again(cos), self.again(sin));
                let turn = |x: &Var<'t>, forms: &[Form; 3]| rotated(x, (&cos, &sin), forms[1]);
                (turn(&q, of_q), turn(&k, of_k), Vec::new())
            }
            Style::Parts | Style::Joined | Style::Interleaved | Style::Neighbours { .. } => {
                self.partly((&q, &k), (cos, sin))
            }
        };
        (queries.named("queries"), keys.named("keys"), held)
    }

    /// A table that every block repeats.
    fn again<'t>(&self, table: &Var<'t>) -> Var<'t> {
        table.tape().constant("rotary table of the block", self.table, table.dtype())
    }

    fn partly<'t>(
        &self,
        (q, k): (&Var<'t>, &Var<'t>),
        (cos, sin): (&Var<'t>, &Var<'t>),
    ) -> Rotated<'t> {
        let [of_q, of_k] = &self.forms;
        let own = |table: &Var<'t>| {
            if self.style == Style::Interleaved { self.again(table) } else { table.clone() }
        };
        let (cos, sin) = (own(cos), own(sin));
        let turn = |x: &Var<'t>, forms: &[Form; 3]| rotated(x, (&cos, &sin), forms[1]);
        let (q_rot, q_pass) = (q.clone().part(of_q[0]), q.clone().part(of_q[2]));
        let (k_rot, k_pass) = (k.clone().part(of_k[0]), k.clone().part(of_k[2]));
        if self.style == Style::Joined {
            let queries = turn(&q_rot, of_q).cat(q_pass, q.form());
            return (queries, turn(&k_rot, of_k).cat(k_pass, k.form()), Vec::new());
        }
        let (queries, keys) = (turn(&q_rot, of_q), turn(&k_rot, of_k));
        drop((q_rot, k_rot));
        if self.style == Style::Interleaved {
            let queries = queries.cat(q_pass, q.form());
            return (queries, keys.cat(k_pass, k.form()), Vec::new());
        }
        let joined = queries.clone().cat(q_pass.clone(), q.form());
        (joined, keys.clone().cat(k_pass.clone(), k.form()), vec![queries, q_pass, keys, k_pass])
    }
}

/// `x · cos + (-x₂, x₁) · sin` of which the products are in fp32.
fn turned_in_fp32<'t>(x: &Var<'t>, (cos, sin): (&Var<'t>, &Var<'t>), half: Form) -> Var<'t> {
    let straight = x.clone().cast_as(FP32, "heads in fp32").mul(cos.clone());
    let first = x.clone().slice(half);
    let turned = x.clone().slice(half).apply(SCALE).cat(first, x.form());
    straight.add(turned.cast_as(FP32, "turned heads in fp32").mul(sin.clone()))
}

/// `x · cos + (-x₂, x₁) · sin`, each product of a copy in fp32.
fn rotated_by_two_copies<'t>(x: &Var<'t>, (cos, sin): (&Var<'t>, &Var<'t>), half: Form) -> Var<'t> {
    let straight = x.clone().cast_as(FP32, "heads in fp32").mul(cos.clone());
    let wide = x.clone().cast_as(FP32, "heads in fp32");
    let first = wide.clone().slice(half);
    let second = wide.clone().slice(half);
    let turned = second.clone().apply(SCALE).cat(first.clone(), x.form());
    drop((first, second, wide));
    straight.add(turned.mul(sin.clone()))
}

/// `x · cos + (x₂, -x₁) · sin`.
fn rotated_backwards<'t>(x: &Var<'t>, (cos, sin): (&Var<'t>, &Var<'t>), half: Form) -> Var<'t> {
    let straight = x.clone().mul(cos.clone());
    let first = x.clone().slice(half);
    let second = x.clone().slice(half);
    let turned = second.cat(first.clone().apply(SCALE), x.form());
    drop(first);
    straight.add(turned.mul(sin.clone()))
}
