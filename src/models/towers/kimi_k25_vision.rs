//! The vision part of `kimi_k25` (transformers 5.23): patches of any shape, whose positions are a
//! table of stated sides.

use crate::models::tower_prelude::*;

/// `kimi_k25_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["kimi_k25_vision"],
    renamed: &[
        ("vision_config.vt_hidden_size", "vision_config.hidden_size"),
        ("vision_config.vt_intermediate_size", "vision_config.intermediate_size"),
        ("vision_config.vt_num_hidden_layers", "vision_config.num_hidden_layers"),
        ("vision_config.vt_num_attention_heads", "vision_config.num_attention_heads"),
        ("vision_config.init_pos_emb_height", "vision_config.pos_emb_height"),
        ("vision_config.init_pos_emb_width", "vision_config.pos_emb_width"),
        ("vision_config.init_pos_emb_time", "vision_config.pos_emb_time"),
    ],
    only: &[
        TowerOnly { key: "vision_config.mm_hidden_size", is: Known::Numbers(&[1152]) },
        TowerOnly { key: "vision_config.merge_type", is: Known::Word("sd2_tpool") },
        TowerOnly { key: "vision_config.pos_emb_type", is: Known::Word("divided_fixed") },
    ],
    keys: &[
        stated(Heads, "vision_config.num_attention_heads", 16),
        stated(Hidden, "vision_config.hidden_size", 1152),
        stated(Inner, "vision_config.intermediate_size", 4304),
        stated(Layers, "vision_config.num_hidden_layers", 27),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Side, "vision_config.patch_size", 14),
        stated(Positions, "vision_config.pos_emb_height", 64),
        stated(Further, "vision_config.pos_emb_width", 64),
        stated(Merge, "vision_config.merge_kernel_size", 2),
        stated(Queries, "vision_config.pos_emb_time", 4),
    ],
    // The text part says its own width.
    not_looked_at: &["text_hidden_size", "mm_projector_type", "video_attn_type"],
    follow,
    modules: &TowerModules {
        model_type: "kimi_k25_vision",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Linear("patch embedding", Patch, Hidden),
                    Table("position embedding", Positions, Hidden),
                ],
            },
            BLOCKS,
            TowerPart { times: One, layers: &[LayerNorm(Hidden)] },
        ],
        buffers: &[TowerBuffer::Table(Queries, Hidden), TowerBuffer::Frequencies(Turned)],
    },
    ..TowerSpec::PLAIN
};

/// A row of positions for every place of the table, and one more for time than there are frames.
fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    turned(sizes, 4);
    sizes.set(Queries, sizes.get(Queries).saturating_add(1));
    sizes.set(Positions, sizes.get(Positions).saturating_mul(sizes.get(Further)));
}
