//! `vibevoice_acoustic_tokenizer_encoder` (transformers 5.23, `models/vibevoice_asr`): two encoders
//! of convolutions on seven levels, one for sounds and one for their meaning, and a projector
//! behind each.

use crate::models::tower_prelude::*;

/// Numbers that each encoder makes of a moment.
const SOUNDS: TowerSize = Own1;
const MEANINGS: TowerSize = Own2;
/// Parameters of each encoder.
const OF_SOUNDS: TowerSize = Own3;
const OF_MEANINGS: TowerSize = Own4;

/// Every level is twice as wide as the one before: a convolution leads to it, and its blocks have a
/// convolution over seven places, two matrices with four times the width between, two norms and two
/// scales.
fn levels(out: u64) -> u64 {
    let stem = 7 * 32 + 32;
    let levels = [(3, 0), (3, 2), (3, 2), (3, 4), (3, 5), (3, 5), (8, 8)];
    let of_level = |level: u32, (depth, ratio): (u64, u64)| {
        let width = 32_u64 << level;
        let way = if ratio == 0 { 0 } else { width / 2 * width * 2 * ratio + width };
        way + depth * (8 * width * width + 17 * width)
    };
    let blocks: u64 = (0..).zip(levels).map(|(level, of)| of_level(level, of)).sum();
    stem + blocks + out.saturating_mul(7 * 2048 + 1)
}

fn follow(sizes: &mut TowerSizes) {
    sizes.set(OF_SOUNDS, levels(sizes.get(SOUNDS)));
    sizes.set(OF_MEANINGS, levels(sizes.get(MEANINGS)));
}

const fn is(key: &'static str, numbers: &'static [u64]) -> TowerOnly {
    TowerOnly { key, is: Known::Numbers(numbers) }
}

const DEPTHS: &[u64] = &[3, 3, 3, 3, 3, 3, 8];
const RATIOS: &[u64] = &[2, 2, 4, 5, 5, 8];

/// `vibevoice_acoustic_tokenizer_encoder`.
pub const TOWER: TowerSpec = TowerSpec {
    whole: &["vibevoice_asr"],
    groups: &[
        TowerGroup { path: "acoustic_tokenizer_encoder_config", prefix: FURTHER, kinds: &[] },
        TowerGroup { path: "semantic_tokenizer_encoder_config", prefix: VISION, kinds: &[] },
    ],
    only: &[
        is("further_config.depths", DEPTHS),
        is("further_config.downsampling_ratios", RATIOS),
        is("further_config.num_filters", &[32]),
        is("further_config.kernel_size", &[7]),
        is("further_config.channels", &[1]),
        is("further_config.ffn_expansion", &[4]),
        is("vision_config.depths", DEPTHS),
        is("vision_config.downsampling_ratios", RATIOS),
        is("vision_config.num_filters", &[32]),
        is("vision_config.kernel_size", &[7]),
        is("vision_config.channels", &[1]),
        is("vision_config.ffn_expansion", &[4]),
    ],
    keys: &[
        stated(SOUNDS, "further_config.hidden_size", 64),
        stated(MEANINGS, "vision_config.hidden_size", 128),
    ],
    not_looked_at: &["layer_scale_init_value"],
    follow,
    modules: &TowerModules {
        model_type: "vibevoice_acoustic_tokenizer_encoder",
        parts: &[TowerPart {
            times: One,
            layers: &[
                Vector("levels of sounds", OF_SOUNDS),
                Vector("levels of meanings", OF_MEANINGS),
                Linear("projection of sounds", SOUNDS, Text),
                RmsNorm(Text),
                Linear("second projection of sounds", Text, Text),
                Linear("projection of meanings", MEANINGS, Text),
                RmsNorm(Text),
                Linear("second projection of meanings", Text, Text),
            ],
        }],
        buffers: &[],
    },
    // The class of whole files names no weights to tie.
    ties: &[("vibevoice_asr", Ties::Never)],
    ..TowerSpec::PLAIN
};
