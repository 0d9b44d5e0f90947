//! `seed_oss` (transformers 5.23, `models/seed_oss`): llama with a bias on queries, keys and
//! values.

use crate::models::prelude::*;

/// `seed_oss`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["seed_oss"],
    class: "SeedOss",
    labels: &[("seed_oss", "Seed-OSS")],
    sizes: Sizes::of([4096, 27_648], 64, 80, 155_136, 524_288).kv(8).head(128),
    attention_bias: Flag::Key("attention_bias", true),
    output_bias: Flag::Key("attention_out_bias", false),
    ..super::llama::FAMILY
};
