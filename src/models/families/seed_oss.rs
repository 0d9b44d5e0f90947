//! `seed_oss` (transformers 5.23, `models/seed_oss`): llama with a bias on queries, keys and
//! values.

use crate::models::prelude::*;

/// `seed_oss`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["seed_oss"],
    class: "SeedOss",
    labels: &[("seed_oss", "Seed-OSS")],
    modules: &Modules {
        model_type: "seed_oss",
        choice: FamilyChoice { rank: 906, word: "seed-oss", label: "Seed-OSS" },
        drops: Drops {
            residual: Some(DropKey { key: "residual_dropout", default: 0.1 }),
            attention: Some(DropKey { key: "attention_dropout", default: 0.1 }),
            ..Drops::NONE
        },
        measured: Modules::PLAIN.measured,
        ..*super::llama::FAMILY.modules
    },
    sizes: Sizes::of([4096, 27_648], 64, 80, 155_136, 524_288).kv(8).head(128),
    attention_bias: Flag::Key("attention_bias", true),
    output_bias: Flag::Key("attention_out_bias", false),
    ..super::llama::FAMILY
};
