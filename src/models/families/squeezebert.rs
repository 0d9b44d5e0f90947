//! `squeezebert` (transformers 5.23, `models/squeezebert`): BERT whose matrices are convolutions in
//! groups. Its parameters are counted alone.

use crate::models::prelude::*;

/// Blocks with four groups everywhere but behind attention.
fn rest(model: &Counted, _: &Own, _: Said<'_>) -> u64 {
    let (h, inner) = (model.hidden_size, model.intermediate_size);
    let attention = 3 * (h * (h / 4) + h) + h * h + h;
    let feed_forward = inner * (h / 4) + inner + h * (inner / 4) + h;
    model.num_hidden_layers * (attention + feed_forward + 4 * h)
}

/// Matrices in another number of groups.
const GROUPS: &str = "matrices in another number of groups";

/// `squeezebert`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["squeezebert"],
    class: "SqueezeBert",
    labels: &[("squeezebert", "SqueezeBERT")],
    modules: &Modules {
        model_type: "squeezebert",
        choice: FamilyChoice { rank: 96, word: "squeezebert", label: "SqueezeBERT" },
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        block: BlockLayout::PreNorm,
        shape: None,
        encoder: EncoderModules {
            pools: true,
            counts_feed_forward: true,
            ..EncoderModules::COUNTED
        },
        ..*super::bert::FAMILY.modules
    },
    own_rule: OwnSizes::Rest(rest),
    norms: Norms::Are(0),
    only: &[
        Only::else_refused("q_groups", &["4"], GROUPS),
        Only::else_refused("k_groups", &["4"], GROUPS),
        Only::else_refused("v_groups", &["4"], GROUPS),
        Only::else_refused("post_attention_groups", &["1"], GROUPS),
        Only::else_refused("intermediate_groups", &["4"], GROUPS),
        Only::else_refused("output_groups", &["4"], GROUPS),
    ],
    not_looked_at: &["embedding_size"],
    ..super::bert::FAMILY
};
