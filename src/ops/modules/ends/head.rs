//! The output head, and what learns beside adapters (`modules_to_save`; peft 0.21,
//! `utils/other.py::ModulesToSaveWrapper`): a copy of embedding or head learns and runs, and the
//! original stays where it is.

use super::super::{Build, Exchange, Linear, Split};
use super::encoder;
use super::made::own_width;
use crate::config::Float8;
use crate::ops::builder::Lowering;
use crate::ops::tape::Param;

/// Declares the frozen original of a layer whose copy learns.
pub(super) fn original(build: &Build<'_>, declare: impl FnOnce(&'static str) -> Param) {
    let before = build.tape.freeze(true);
    declare("original of a layer that learns");
    build.tape.freeze(before);
}

/// The head that is the embedding.
pub(super) fn tied(build: &Build<'_>, embedding: Param, bias: Option<Param>) -> Linear {
    Linear {
        weight: embedding,
        bias,
        form: build.shapes.logits,
        conv1d: false,
        split: Split::None,
        part: None,
        all_tokens: None,
        exchange: Exchange::ByProducts,
        packed: None,
        float8: None,
        adapter: None,
        autocast: false,
    }
}

/// A head of its own.
pub(super) fn own(build: &Build<'_>, bias: Option<&'static str>) -> Linear {
    let (with, tape) = (build.with, build.tape);
    // torchtitan's recipes leave the head out of those in float8 (`filter_fqns`).
    let build = Build { with: &Lowering { float8: Float8::OFF, ..*with }, ..*build };
    let width = if build.model().encoder.is_some() {
        encoder::head_width(&build)
    } else {
        own_width(&build)
    };
    let dims = (with.vocab_part(), width);
    let learns = with.tuning.copies_head();
    if learns {
        original(&build, |name| build.parameter(name, [dims.0, dims.1]));
    }
    let frozen = tape.freeze(with.tuning.freezes_model() && !learns);
    let head = build.linear(("head weight", bias), dims, build.shapes.logits);
    tape.freeze(frozen);
    head
}
