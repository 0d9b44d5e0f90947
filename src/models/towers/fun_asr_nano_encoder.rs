//! `fun_asr_nano_encoder` (transformers 5.23, `models/fun_asr_nano`): seven frames become one,
//! blocks have a convolution over values beside attention, and two matrices and blocks of another
//! width lead to the text.

use crate::models::tower_prelude::*;

const BANDS: TowerSize = Own1;
/// Numbers of seven frames, and places of the convolution.
const FRAMES: TowerSize = Own2;
const ELEVEN: TowerSize = Own3;
/// Blocks behind the first one, and those that end in a norm.
const OTHERS: TowerSize = Own4;
const ENDED: TowerSize = Own5;
/// Blocks that predict times.
const TIMES: TowerSize = Own6;
/// The blocks before the text, and the width between both matrices.
const BLOCKS_BEFORE: TowerSize = Own7;
const BEFORE: TowerSize = Own8;
const INNER_BEFORE: TowerSize = Own9;
const BETWEEN: TowerSize = Own10;

fn follow(sizes: &mut TowerSizes) {
    product(sizes, FRAMES, BANDS, 7);
    sizes.set(ELEVEN, 11);
    sizes.set(OTHERS, sizes.get(SecondLayers).saturating_sub(1));
    // Without blocks that predict times the last block alone is both.
    sizes.set(
        ENDED,
        if sizes.get(TIMES) == 0 || sizes.get(TIMES) >= sizes.get(SecondLayers) { 1 } else { 2 },
    );
}

/// `fun_asr_nano_encoder`.
pub const TOWER: TowerSpec = TowerSpec {
    whole: &["fun_asr_nano"],
    groups: &[
        TowerGroup { path: "audio_config", prefix: FURTHER, kinds: &["fun_asr_nano_encoder"] },
        TowerGroup { path: "adaptor_config", prefix: VISION, kinds: &[] },
    ],
    only: &[
        TowerOnly { key: "further_config.num_stacked_frames", is: Known::Numbers(&[7]) },
        TowerOnly { key: "further_config.fsmn_kernel_size", is: Known::Numbers(&[11]) },
    ],
    keys: &[
        stated(SecondHidden, "further_config.hidden_size", 512),
        stated(SecondInner, "further_config.intermediate_size", 2048),
        stated(SecondLayers, "further_config.num_hidden_layers", 70),
        stated(BANDS, "further_config.num_mel_bins", 80),
        maybe(TIMES, "further_config.num_timestamp_prediction_layers", 20),
        stated(BEFORE, "vision_config.hidden_size", 1024),
        stated(INNER_BEFORE, "vision_config.intermediate_size", 256),
        maybe(BLOCKS_BEFORE, "vision_config.num_hidden_layers", 2),
        stated(BETWEEN, "vision_config.projector_hidden_size", 2048),
    ],
    not_looked_at: &["max_position_embeddings", "num_attention_heads"],
    follow,
    modules: &TowerModules {
        model_type: "fun_asr_nano_encoder",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    LayerNorm(FRAMES),
                    Linear("query", FRAMES, SecondHidden),
                    Linear("key", FRAMES, SecondHidden),
                    Linear("value", FRAMES, SecondHidden),
                ],
            },
            TowerPart {
                times: OTHERS,
                layers: &[
                    LayerNorm(SecondHidden),
                    Linear("query", SecondHidden, SecondHidden),
                    Linear("key", SecondHidden, SecondHidden),
                    Linear("value", SecondHidden, SecondHidden),
                ],
            },
            TowerPart {
                times: SecondLayers,
                layers: &[
                    Linear("output", SecondHidden, SecondHidden),
                    Matrix("convolution", ELEVEN, SecondHidden),
                    LayerNorm(SecondHidden),
                    Linear("up", SecondHidden, SecondInner),
                    Linear("down", SecondInner, SecondHidden),
                ],
            },
            TowerPart { times: ENDED, layers: &[LayerNorm(SecondHidden)] },
            TowerPart {
                times: One,
                layers: &[
                    Linear("projection", SecondHidden, BETWEEN),
                    Linear("second projection", BETWEEN, BEFORE),
                ],
            },
            TowerPart {
                times: BLOCKS_BEFORE,
                layers: &[
                    Linear("query before the text", BEFORE, BEFORE),
                    Linear("key before the text", BEFORE, BEFORE),
                    Linear("value before the text", BEFORE, BEFORE),
                    Linear("output before the text", BEFORE, BEFORE),
                    LayerNorm(BEFORE),
                    Linear("up before the text", BEFORE, INNER_BEFORE),
                    Linear("down before the text", INNER_BEFORE, BEFORE),
                    LayerNorm(BEFORE),
                ],
            },
        ],
        buffers: &[],
    },
    ties: &[("fun_asr_nano", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};
