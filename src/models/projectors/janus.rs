//! `janus` (transformers 5.23): matrices behind the tower, and all that it makes images with: an
//! autoencoder of convolutions on five levels with a table of codes, and the layers that lead from
//! codes into the text and back.

use crate::models::tower_prelude::*;

/// Channels of the first two levels, of the next two, and of the last.
const A: TowerSize = Own1;
const B: TowerSize = Own2;
const C: TowerSize = Own3;
/// Numbers that a convolution over three times three places of these channels reads.
const NINE_A: TowerSize = Own4;
const NINE_B: TowerSize = Own5;
const NINE_C: TowerSize = Own6;
const LATENT: TowerSize = Own7;
const NINE_LATENT: TowerSize = Own8;
const CODE: TowerSize = Own9;
const CODES: TowerSize = Own10;
const EMBEDDED: TowerSize = Own11;
const MADE: TowerSize = Own12;
const DEEP: TowerSize = Own13;
const INPUT: TowerSize = Own14;
const OUTPUT: TowerSize = Own15;

/// `janus`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["janus"],
    tower: "janus_vision_model",
    groups: &[TowerGroup { path: "vq_config", prefix: FURTHER, kinds: &["janus_vqgan"] }],
    only: &[
        TowerOnly {
            key: "further_config.channel_multiplier",
            is: Known::Numbers(&[1, 1, 2, 2, 4]),
        },
        TowerOnly { key: "further_config.num_res_blocks", is: Known::Numbers(&[2]) },
        TowerOnly { key: "further_config.double_latent", is: Known::Off },
    ],
    keys: &[
        stated(Wide, "vision_config.projection_dim", 2048),
        stated(Fed, "vision_config.depth", 2),
        stated(A, "further_config.base_channels", 128),
        stated(LATENT, "further_config.latent_channels", 256),
        stated(CODE, "further_config.embed_dim", 8),
        stated(CODES, "further_config.num_embeddings", 16_384),
        stated(EMBEDDED, "further_config.image_token_embed_dim", 2048),
        stated(MADE, "further_config.projection_dim", 2048),
        stated(DEEP, "further_config.num_hidden_layers", 2),
        stated(INPUT, "further_config.in_channels", 3),
        stated(OUTPUT, "further_config.out_channels", 3),
    ],
    not_looked_at: &["num_patches", "hidden_size"],
    follow,
    modules: &TowerModules {
        model_type: "janus",
        parts: &[
            TowerPart { times: One, layers: &[Linear("projection", Hidden, Wide)] },
            TowerPart { times: Fed, layers: &[Linear("further projection", Wide, Wide)] },
            ENDS,
            AA,
            AA,
            AA,
            AA,
            AA,
            AA,
            AA,
            AA,
            AA,
            AB,
            BB,
            BB,
            BB,
            BB,
            BB,
            BB,
            BB,
            BB,
            BC,
            CC,
            CC,
            CC,
            CC,
            CC,
            CC,
            CC,
            CC,
            CB,
            BA,
            ATTENTION,
            ATTENTION,
            ATTENTION,
            ATTENTION,
            ATTENTION,
            ATTENTION,
            ATTENTION,
            MOVE_A,
            MOVE_A,
            MOVE_A,
            MOVE_B,
            MOVE_B,
            MOVE_B,
            MOVE_B,
            MOVE_C,
            TowerPart {
                times: One,
                layers: &[
                    Table("embedding of codes", CODES, CODE),
                    Linear("projection of codes", CODE, MADE),
                    Linear("head of images", EMBEDDED, MADE),
                    Linear("second head of images", MADE, CODES),
                ],
            },
            TowerPart { times: DEEP, layers: &[Linear("further projection of codes", MADE, MADE)] },
        ],
        buffers: &[],
    },
    ties: &[("janus", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};

/// Convolutions at both ends of encoder and decoder, norms before the last ones, and the table of
/// codes between them.
const ENDS: TowerPart = TowerPart {
    times: One,
    layers: &[
        Linear("input of the encoder", INPUT, A),
        LayerNorm(C),
        Linear("output of the encoder", NINE_C, LATENT),
        Table("codes", CODES, CODE),
        Linear("into codes", LATENT, CODE),
        Linear("out of codes", CODE, LATENT),
        Linear("input of the decoder", NINE_LATENT, C),
        LayerNorm(A),
        Linear("output of the decoder", NINE_A, OUTPUT),
    ],
};

/// Two normed convolutions from one width to another, and a shortcut where these differ.
macro_rules! residual {
    ($from:ident, $nine_from:ident, $to:ident, $nine_to:ident $(, $shortcut:literal)?) => {
        TowerPart {
            times: One,
            layers: &[
                LayerNorm($from),
                Linear("convolution", $nine_from, $to),
                LayerNorm($to),
                Linear("second convolution", $nine_to, $to),
                $(Linear($shortcut, $from, $to),)?
            ],
        }
    };
}

const AA: TowerPart = residual!(A, NINE_A, A, NINE_A);
const AB: TowerPart = residual!(A, NINE_A, B, NINE_B, "shortcut");
const BB: TowerPart = residual!(B, NINE_B, B, NINE_B);
const BC: TowerPart = residual!(B, NINE_B, C, NINE_C, "shortcut");
const CC: TowerPart = residual!(C, NINE_C, C, NINE_C);
const CB: TowerPart = residual!(C, NINE_C, B, NINE_B, "shortcut");
const BA: TowerPart = residual!(B, NINE_B, A, NINE_A, "shortcut");

const ATTENTION: TowerPart = TowerPart {
    times: One,
    layers: &[
        LayerNorm(C),
        Linear("query", C, C),
        Linear("key", C, C),
        Linear("value", C, C),
        Linear("output", C, C),
    ],
};

/// Convolutions that lead to another resolution.
const MOVE_A: TowerPart = TowerPart { times: One, layers: &[Linear("resampling", NINE_A, A)] };
const MOVE_B: TowerPart = TowerPart { times: One, layers: &[Linear("resampling", NINE_B, B)] };
const MOVE_C: TowerPart = TowerPart { times: One, layers: &[Linear("resampling", NINE_C, C)] };

fn follow(sizes: &mut TowerSizes) {
    product(sizes, B, A, 2);
    product(sizes, C, A, 4);
    product(sizes, NINE_A, A, 9);
    product(sizes, NINE_B, B, 9);
    product(sizes, NINE_C, C, 9);
    product(sizes, NINE_LATENT, LATENT, 9);
    product(sizes, INPUT, INPUT, 9);
    sizes.set(Fed, sizes.get(Fed).saturating_sub(1));
    sizes.set(DEEP, sizes.get(DEEP).saturating_sub(1));
}
