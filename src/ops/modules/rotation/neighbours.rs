//! Neighbours in a head that are rotated together, by a table that every layer registers
//! (transformers 5.23, `apply_rotary_pos_emb` of the models that have `rotate_every_two`).

use super::{Rotated, Rotation, Style};
use crate::config::RotationStyle;
use crate::ops::modules::rotary::rotated;
use crate::ops::modules::{Build, FP32};
use crate::ops::tape::{Form, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// Registers a layer's table of sines and cosines, where it has one: its shape.
pub(super) fn places(build: &Build<'_>, columns: Dim) -> Form {
    let positions = Dim("max_position_embeddings", build.model().max_position_embeddings);
    let form = build.tape.form([positions, columns]);
    let rotation = build.model().family.modules().rotation;
    if matches!(rotation, RotationStyle::Neighbours | RotationStyle::NeighboursInFp32) {
        build.tape.buffer("sines and cosines of the layer", form, FP32);
    }
    form
}

impl Rotation {
    /// True if queries and keys are rotated before heads and tokens change places.
    pub fn is_by_tokens(&self) -> bool {
        matches!(self.style, Style::Neighbours { .. })
    }

    /// Queries and keys, rotated, with heads before tokens. The names of all that is made on the
    /// way last as long as attention does.
    pub(super) fn neighbours<'t>(&self, q: Var<'t>, k: Var<'t>, gathers: bool) -> Rotated<'t> {
        let tape = q.tape();
        tape.at("Rotary positions", sources::PYTORCH_AUTOGRAD);
        let mut held = Vec::new();
        if gathers {
            held.push(tape.constant("table of the layer, copied", self.places, FP32));
            held.push(tape.constant("positions of every column", self.table, DType::Int64));
        }
        let rows = tape.constant("sines and cosines", self.table, FP32);
        held.push(if gathers { rows.cast_as(k.dtype(), "sines and cosines") } else { rows });
        let format = held.last().map_or(FP32, Var::dtype);
        let turn = |x: &Var<'t>, forms: &[Form; 3]| {
            let [sin, cos] =
                ["sines", "cosines"].map(|name| tape.constant(name, self.table, format));
            rotated(x, (&cos, &sin), forms[1])
        };
        let [of_q, of_k] = &self.forms;
        let (k_part, k_rest) = (k.clone().part(of_k[0]), k.clone().slice(of_k[2]));
        let (q_part, q_rest) = (q.clone().part(of_q[0]), q.clone().slice(of_q[2]));
        let keys = turn(&{ k_part }, of_k);
        let queries = turn(&{ q_part }, of_q);
        let k_all = keys.clone().cat(k_rest, k.form());
        let q_all = queries.clone().cat(q_rest, q.form());
        held.extend([queries, keys, q, k]);
        let seen = |x: Var<'t>, form: Form| x.swap(form, self.several);
        (
            seen(q_all, self.heads[0]).named("queries"),
            seen(k_all, self.heads[1]).named("keys"),
            held,
        )
    }
}
