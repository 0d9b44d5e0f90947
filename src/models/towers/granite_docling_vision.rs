//! The vision part of `granite_docling` (transformers 5.23): `SigLIP` without a head, and two paths
//! into the text, a coarse and a fine one, into which deeper layers feed as well.

use super::siglip_vision_model::{BEHIND, PATCHES};
use crate::models::tower_prelude::*;

const FINE: TowerSize = Own1;
const FINE_WIDTH: TowerSize = Own2;
const FINE_FED: TowerSize = Own3;
const TOKENS: TowerSize = Own4;
const FINE_TOKENS: TowerSize = Own5;

/// `granite_docling_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["granite_docling_vision"],
    whole: &["granite_docling"],
    groups: &[TowerGroup { path: "", prefix: FURTHER, kinds: &[] }],
    // A router between the paths is not known.
    only: &[TowerOnly { key: "further_config.density_router_hidden_size", is: Known::Off }],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 768),
        stated(Inner, "vision_config.intermediate_size", 3072),
        stated(Layers, "vision_config.num_hidden_layers", 12),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 512),
        stated(Side, "vision_config.patch_size", 16),
        stated(Out, "vision_config.out_hidden_size", 1024),
        stated(Merge, "vision_config.scale_factor", 4),
        count(Fed, "vision_config.deepstack_visual_indexes", 3),
        flag(FINE, "vision_config.use_fine_route", true),
    ],
    not_looked_at: &["num_attention_heads"],
    follow,
    modules: &TowerModules {
        model_type: "granite_docling_vision",
        parts: &[
            PATCHES,
            BLOCKS,
            BEHIND,
            BEHIND,
            TowerPart { times: One, layers: &[Matrix("coarse projection", Merged, Out)] },
            TowerPart {
                times: Fed,
                layers: &[
                    LayerNorm(Merged),
                    Linear("coarse merger", Merged, Out),
                    Linear("coarse merger output", Out, Out),
                ],
            },
            TowerPart { times: FINE, layers: &[Matrix("fine projection", FINE_WIDTH, Out)] },
            TowerPart {
                times: FINE_FED,
                layers: &[
                    LayerNorm(FINE_WIDTH),
                    Linear("fine merger", FINE_WIDTH, Out),
                    Linear("fine merger output", Out, Out),
                ],
            },
            TowerPart {
                times: One,
                layers: &[LayerNorm(Out), Matrix("output", Out, Out), LayerNorm(Out)],
            },
        ],
        buffers: &[
            TowerBuffer::PositionIds(Patches),
            TowerBuffer::Table(TOKENS, Out),
            TowerBuffer::Table(FINE_TOKENS, Out),
        ],
    },
    ties: &[("granite_docling", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};

/// The fine path merges half as many patches along a side.
fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    let of = |size| sizes.get(size);
    let (fine, half, along) = (of(FINE), of(Merge) / 2, of(Image) / of(Side).max(1));
    let tokens = |merge: u64| (along / merge.max(1)).saturating_mul(along / merge.max(1));
    let derived = [
        (FINE_WIDTH, of(Hidden).saturating_mul(half.saturating_mul(half))),
        (FINE_FED, of(Fed).saturating_mul(fine)),
        (TOKENS, tokens(of(Merge))),
        (FINE_TOKENS, tokens(half).saturating_mul(fine)),
    ];
    for (size, value) in derived {
        sizes.set(size, value);
    }
}
