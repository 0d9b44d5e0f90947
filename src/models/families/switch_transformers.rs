//! `switch_transformers` (transformers 5.23, `models/switch_transformers`): T5 whose blocks have
//! experts at every so many-th place; these are counted alone.

use crate::models::prelude::*;

/// Blocks with experts of a stack that is to have so many: the library puts one at every so many-th
/// place, beginning with the second.
fn sparse(layers: u64, stated: u64) -> u64 {
    match layers.checked_div(stated).unwrap_or(layers) {
        0 => 0,
        1 => layers,
        step => layers.saturating_sub(1).div_ceil(step),
    }
}

/// Blocks with experts on both sides, and all experts of these but one, whose place is a dense
/// layer's.
fn finish(model: &mut ModelConfig) {
    let layers = model.num_hidden_layers;
    let Some(source) = &mut model.source else { return };
    let [_, experts, in_encoder, in_decoder, ..] = source.own;
    let of_decoder = sparse(layers.saturating_sub(source.layers), in_decoder);
    source.own[4] = sparse(source.layers, in_encoder).saturating_add(of_decoder);
    source.own[5] = source.own[4].saturating_mul(experts.saturating_sub(1));
}

/// `switch_transformers`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["switch_transformers"],
    class: "SwitchTransformers",
    labels: &[("switch_transformers", "Switch Transformers")],
    modules: &Modules {
        model_type: "switch_transformers",
        choice: FamilyChoice {
            rank: 165,
            word: "switchtransformers",
            label: "Switch Transformers",
        },
        encoder: EncoderModules {
            trains: false,
            further: &[
                Further::times(Extent::Own(4), "router weight", [Extent::Own(1), Extent::Hidden]),
                Further::times(
                    Extent::Own(5),
                    "up weights of further experts",
                    [Extent::Inner, Extent::Hidden],
                ),
                Further::times(
                    Extent::Own(5),
                    "down weights of further experts",
                    [Extent::Inner, Extent::Hidden],
                ),
            ],
            ..super::t5::FAMILY.modules.encoder
        },
        ..*super::t5::FAMILY.modules
    },
    sizes: Sizes::of([768, 2048], 12, 12, 32_128, 512).head(64),
    own_sizes: &[
        ("relative_attention_num_buckets", 32),
        ("num_experts", 8),
        ("num_sparse_encoder_layers", 3),
        ("num_sparse_decoder_layers", 3),
    ],
    source: Some(SourceKeys { deep: true, finish, ..SourceKeys::of(("num_layers", 12)) }),
    only: &[Only::else_refused("router_bias", &["false"], "biases of routers")],
    not_looked_at: &[
        "relative_attention_max_distance",
        "dense_act_fn",
        "is_gated_act",
        "scale_decoder_outputs",
        "n_positions",
        "expert_capacity",
        "encoder_sparse_step",
        "decoder_sparse_step",
        "add_cross_attention",
    ],
    ..super::t5::FAMILY
};
