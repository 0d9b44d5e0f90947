//! Parameters of encoders that are counted and never run.

use super::Build;
use crate::config::{Extent, OWN_SIZES};
use crate::ops::tensor::Dim;
use crate::sources;

/// Declares those of a block, or of the model. No gradient reaches them: training such a model is
/// not modelled.
pub(super) fn declare(build: &Build<'_>, in_blocks: bool) {
    let model = build.model();
    if model.encoder.is_none() && model.source.is_none() {
        return;
    }
    let of_source = model.source.map_or([0; OWN_SIZES], |source| source.own);
    let own = model.encoder.map_or(of_source, |encoder| encoder.own);
    for further in model
        .family
        .modules()
        .encoder
        .further
        .iter()
        .filter(|further| further.in_blocks == in_blocks)
    {
        build.tape.at("Further parameters", sources::ARITHMETIC);
        let extent = |extent: Extent| match extent {
            Extent::Of(number) => Dim("further", number),
            Extent::Hidden => build.with.h(),
            Extent::Inner => build.with.ffn(),
            Extent::Heads => build.with.heads(),
            Extent::Head => build.with.head_dim(),
            Extent::Positions => Dim("max_position_embeddings", model.max_position_embeddings),
            Extent::Types => {
                Dim("type_vocab_size", model.encoder.map_or(0, |encoder| encoder.type_vocab_size))
            }
            Extent::Words => build.with.vocab(),
            Extent::HeadsOfAllBlocks => Dim(
                "heads of all blocks",
                model.num_hidden_layers.saturating_mul(model.num_attention_heads),
            ),
            Extent::Own(place) => Dim("size of its own", own.get(place).copied().unwrap_or(0)),
        };
        let [times, rows, columns] =
            [further.times, further.shape[0], further.shape[1]].map(extent);
        if times.1 > 0 && rows.1 > 0 && columns.1 > 0 {
            let all = Dim("further", rows.1.saturating_mul(times.1));
            build.tape.idle(
                build.parameter(further.name, [if times.1 > 1 { all } else { rows }, columns]),
            );
        }
    }
}
