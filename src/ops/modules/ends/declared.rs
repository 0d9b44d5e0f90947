//! Parts that both ends declare first: the table of tokens, positions, an encoder beside the
//! decoder.

use super::encoder::{self, OfEncoder};
use super::made::own_width;
use super::source::OfSource;
use crate::config::{LayerSet, LinearBiases, ModelConfig, PositionEmbedding, Recompute};
use crate::ops::modules::{Build, rare};
use crate::ops::tape::Param;
use crate::ops::tensor::Dim;
use crate::sources;

/// The table of tokens, with the rows that a tower adds to it.
pub(super) fn token_embedding(build: &Build<'_>, width: Dim) -> Param {
    let dims = [crate::ops::modules::tower::with_rows(build, build.with.vocab_part()), width];
    let embedding = build.parameter("token embedding", dims);
    if build.with.tuning.copies_embedding() {
        super::head::original(build, |name| build.parameter(name, dims));
    }
    embedding
}

/// The encoder beside the decoder, and a table of words that nobody reads.
pub(super) fn beside(
    build: &Build<'_>,
    first: bool,
    width: Dim,
    embedding: Param,
) -> Option<Box<OfSource>> {
    OfSource::declare_idle(build, width);
    let source = if first { OfSource::new(build, embedding) } else { None };
    build.tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
    source
}

/// True if tables of rotations are made.
pub(super) fn is_turned(model: &ModelConfig) -> bool {
    let own = model.family.modules().rotates_in_attention;
    let rotary = model.position_embedding == PositionEmbedding::Rotary && !own;
    rotary || model.family.modules().linear_biases == LinearBiases::BesidePositions
}

/// How many masks there are, whether the one is that of a window, and whether layers with and
/// without one have tables of their own.
pub(super) fn of_windows(model: &ModelConfig) -> (u8, [bool; 2]) {
    let modules = model.family.modules();
    let some = model.sliding_layers != LayerSet::None;
    let kinds = if modules.mask_for_each_kind && some { 2 } else { 1 };
    let any = |sliding| {
        (0..model.num_hidden_layers).any(|layer| model.sliding_layers.contains(layer) == sliding)
    };
    (
        kinds,
        [
            kinds == 1 && some && any(true),
            modules.tables_for_each_kind && any(true) && (any(false) || model.compressed.is_some()),
        ],
    )
}

/// True if the head's input is scaled.
pub(super) fn scales_output(model: &ModelConfig) -> bool {
    model.family.modules().scales_output
        && model.source.is_some_and(|source| !source.unscaled_output)
}

/// A table of learned positions, where the model has one; some never learn.
pub(super) fn learned_positions(build: &Build<'_>, width: Dim) -> Option<Param> {
    let (model, tape) = (build.model(), build.tape);
    let learned = model.position_embedding == PositionEmbedding::Learned && model.position_rows > 0;
    if model.family.modules().freezes_positions {
        tape.freeze(true);
    }
    let table = learned.then(|| {
        build.parameter("position embedding", [Dim("position_rows", model.position_rows), width])
    });
    tape.freeze(build.with.tuning.freezes_embedding());
    table
}

/// Embeddings, which learn or stay together.
pub(super) struct Embeddings {
    pub embedding: Param,
    pub source: Option<Box<OfSource>>,
    pub positions: Option<Param>,
    pub of_encoder: OfEncoder,
}

impl Embeddings {
    /// Declares them in the order of the modules.
    pub fn new(build: &Build<'_>, (first, last): (bool, bool), shared: Option<Param>) -> Self {
        let (own, places) = (own_width(build), encoder::embedding_width(build));
        build.tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
        let holds = first || (last && build.model().tie_word_embeddings);
        let frozen = build.tape.freeze(build.with.tuning.freezes_embedding());
        let embedding =
            shared.unwrap_or_else(|| if holds { token_embedding(build, own) } else { 0 });
        let others = rare::other_ends(build.model());
        let source = others.and_then(|others| (others.beside)(build, first, own, embedding));
        let positions = if first { learned_positions(build, places) } else { None };
        let of_encoder = others.map_or(OfEncoder::NONE, |others| (others.of_encoder)(build, first));
        build.tape.freeze(frozen);
        Self { embedding, source, positions, of_encoder }
    }
}

/// True if a frozen embedding's output wants a gradient, so that checkpointed blocks have one to
/// hand on.
pub(super) fn wants_gradient(build: &Build<'_>) -> bool {
    let with = build.with;
    with.tuning.freezes_embedding()
        && with.recompute == Recompute::Full
        && !build.kernels().is_own_model
}
