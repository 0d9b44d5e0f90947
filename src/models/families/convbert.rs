//! `convbert` (transformers 5.23, `models/convbert`): ELECTRA, half of whose attention is a
//! convolution with places that tokens choose. Its parameters are counted alone.

use crate::models::prelude::*;

/// Attention of fewer heads, and the convolution beside it.
fn rest(model: &Counted, [ratio, places, ..]: &Own, _: Said<'_>) -> u64 {
    let h = model.hidden_size;
    let heads = (model.num_attention_heads / ratio.max(&1)).max(1);
    let width = heads * (h / heads / 2);
    let attention = 3 * (h * width + width) + h * h + h;
    let convolution =
        h * places + h * width + width + (width + 1) * heads * places + h * width + width;
    model.num_hidden_layers * (attention + convolution)
}

/// `convbert`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["convbert"],
    class: "ConvBert",
    labels: &[("convbert", "ConvBERT")],
    modules: &Modules {
        model_type: "convbert",
        choice: FamilyChoice { rank: 97, word: "convbert", label: "ConvBERT" },
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        block: BlockLayout::PreNorm,
        shape: None,
        encoder: EncoderModules { head_width: HeadWidth::OfEmbedding, ..EncoderModules::COUNTED },
        ..*super::electra::FAMILY.modules
    },
    sizes: Sizes::of([768, 3072], 12, 12, 30_522, 512),
    embedding_size: Some(("embedding_size", 768)),
    own_rule: OwnSizes::Rest(rest),
    own_sizes: &[("head_ratio", 2), ("conv_kernel_size", 9)],
    only: &[Only::else_refused("num_groups", &["1"], "feed-forward layers in groups")],
    ..super::electra::FAMILY
};
