//! Parameters of encoders that are counted and never run.

use super::Build;
use crate::config::Extent;
use crate::ops::tensor::Dim;
use crate::sources;

/// Declares those of a block, or of the model. No gradient reaches them: training such a model is not modelled.
pub(super) fn declare(build: &Build<'_>, in_blocks: bool) {
    let model = build.model();
    let Some(encoder) = model.encoder else { return };
    for further in model.family.modules().encoder.further.iter().filter(|further| further.in_blocks == in_blocks) {
        build.tape.at("Further parameters", sources::ARITHMETIC);
        let extent = |extent: Extent| match extent {
            Extent::Of(number) => Dim("further", number),
            Extent::Hidden => build.with.h(),
            Extent::Heads => build.with.heads(),
            Extent::Head => build.with.head_dim(),
            Extent::Positions => Dim("max_position_embeddings", model.max_position_embeddings),
            Extent::Types => Dim("type_vocab_size", encoder.type_vocab_size),
            Extent::Words => build.with.vocab(),
            Extent::HeadsOfAllBlocks => {
                Dim("heads of all blocks", model.num_hidden_layers.saturating_mul(model.num_attention_heads))
            }
            Extent::Own(place) => Dim("size of its own", encoder.own.get(place).copied().unwrap_or(0)),
        };
        build.tape.idle(build.parameter(further.name, further.shape.map(extent)));
    }
}
