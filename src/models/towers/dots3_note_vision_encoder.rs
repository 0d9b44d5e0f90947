//! The vision part of `dots3_note` (transformers 5.23): rotated patches, normed queries and keys,
//! and, behind the first layers, more experts from layer to layer; merged patches through two
//! matrices.

use crate::models::tower_prelude::*;

const DENSE: TowerSize = Own1;
const SPARSE: TowerSize = Own2;
const LISTED: TowerSize = Own3;
const FULL: TowerSize = Own4;
const EXPERTS: TowerSize = Own5;
const HEAD: TowerSize = Own6;
/// Layers whose number of experts is listed.
const OWN_COUNTS: u64 = 15;

/// `dots3_note_vision_encoder`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["dots3_note_vision_encoder"],
    keys: &[
        stated(Heads, "vision_config.num_attention_heads", 24),
        stated(Hidden, "vision_config.hidden_size", 1536),
        stated(Inner, "vision_config.intermediate_size", 4224),
        stated(Wide, "vision_config.moe_intermediate_size", 2112),
        stated(Layers, "vision_config.num_hidden_layers", 42),
        TowerKey {
            size: DENSE,
            key: "vision_config.mlp_layer_types",
            default: TowerDefault::Times("dense", 25),
        },
        stated(FULL, "vision_config.num_local_experts", 64),
        TowerKey {
            size: LISTED,
            key: "vision_config.per_layer_config",
            default: TowerDefault::Sum {
                of: "num_local_experts",
                members: OWN_COUNTS,
                default: 480,
            },
        },
        stated(Channels, "vision_config.num_channels", 3),
        stated(Side, "vision_config.patch_size", 14),
        stated(Merge, "vision_config.spatial_merge_size", 2),
        stated(Out, "vision_config.adapter_out_dim", 5120),
    ],
    only: &[
        TowerOnly { key: "vision_config.attention_bias", is: Known::Off },
        TowerOnly { key: "vision_config.mlp_bias", is: Known::Off },
        TowerOnly { key: "vision_config.pyramid_num_routed", is: Known::Off },
    ],
    not_looked_at: &["adapter_in_dim", "adapter_merge_size", "num_experts_per_tok"],
    follow,
    modules: &TowerModules {
        model_type: "dots3_note_vision_encoder",
        parts: &[
            TowerPart {
                times: One,
                layers: &[Linear("patch embedding", Patch, Hidden), RmsNorm(Hidden)],
            },
            TowerPart {
                times: Layers,
                layers: &[
                    RmsNorm(Hidden),
                    Matrix("query, key and value", Hidden, Joint),
                    Matrix("output", Hidden, Hidden),
                    RmsNorm(HEAD),
                    RmsNorm(HEAD),
                    RmsNorm(Hidden),
                ],
            },
            TowerPart {
                times: DENSE,
                layers: &[
                    Matrix("gate", Hidden, Inner),
                    Matrix("up", Hidden, Inner),
                    Matrix("down", Inner, Hidden),
                ],
            },
            TowerPart {
                times: EXPERTS,
                layers: &[
                    Vector("row of a router", Hidden),
                    Matrix("gate of an expert", Hidden, Wide),
                    Matrix("up of an expert", Hidden, Wide),
                    Matrix("down of an expert", Wide, Hidden),
                ],
            },
            TowerPart {
                times: One,
                layers: &[
                    RmsNorm(Hidden),
                    LayerNorm(Hidden),
                    Linear("merger", Merged, Merged),
                    Linear("merger output", Merged, Out),
                ],
            },
        ],
        buffers: &[TowerBuffer::Frequencies(Turned)],
    },
    ..TowerSpec::PLAIN
};

/// All experts: those of layers that are listed, and of sparse layers behind them.
fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    turned(sizes, 4);
    sizes.set(HEAD, sizes.get(Hidden) / sizes.get(Heads).max(1));
    sizes.set(SPARSE, sizes.get(Layers).saturating_sub(sizes.get(DENSE)));
    let more = sizes.get(SPARSE).saturating_sub(OWN_COUNTS).saturating_mul(sizes.get(FULL));
    sizes.set(EXPERTS, sizes.get(LISTED).saturating_add(more));
}
