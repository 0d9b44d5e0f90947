//! `gemma4_text`, the text part of `gemma4` (transformers 5.23, `models/gemma4`): layers that see
//! the whole text have wider heads; small models have an embedding of its own for every layer, and
//! layers that read the keys of an earlier one; others experts beside the dense layer.

use crate::models::prelude::*;

/// `gemma4_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gemma4_text", "gemma4"],
    class: "Gemma4",
    labels: &[("gemma4_text", "Gemma 4"), ("gemma4", "Gemma 4")],
    embeds_each_layer: true,
    modules: &Modules {
        model_type: "gemma4_text",
        choice: FamilyChoice { rank: 27, word: "gemma4", label: "Gemma 4" },
        block: BlockLayout::SandwichWithInput,
        norm: NormStyle::ScaledByPower,
        embedding_scale: EmbeddingScale::Buffer,
        tables_for_each_kind: true,
        takes_prefix: false,
        shape: Some(ShapeRule {
            norms_per_block: [4, 4],
            own_inputs: true,
            experts: ExpertsRule::Any,
            mlp_bias: Some(false),
            output_bias_as_others: true,
            ..ShapeRule::PLAIN
        }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([2304, 9216], 30, 8, 262_144, 131_072).kv(4).head(256),
    norms: Norms::Are(4),
    qk_norm: Flag::Is(true),
    window: Window::AllButEveryAndLast { period: 6, window: 512 },
    attention_cap: Flag::Is(false),
    logit_cap: Flag::Number("final_logit_softcapping", false),
    experts: Some(Experts {
        only_if: Some("enable_moe_block"),
        width_is_inner: false,
        beside_dense: true,
        ..Experts::of(0, 0)
    }),
    heads: Some(Heads::WiderWithoutWindow),
    ..super::gemma::FAMILY
};
