//! `mimo_v2_flash` (transformers 5.23, `models/mimo_v2_flash`): sliding layers have more key/value heads than the others, values
//! are narrower than keys. It is served here, not trained.

use crate::models::prelude::*;

/// `mimo_v2_flash`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mimo_v2_flash"],
    class: "MiMoV2Flash",
    labels: &[("mimo_v2_flash", "MiMo-V2-Flash")],
    // The window once more.
    not_looked_at: &["attention_chunk_size"],
    sizes: Sizes::of([4096, 16_384], 48, 64, 152_576, 131_072).kv(4).head(192),
    attention_bias: ATTENTION_BIAS,
    window: Window::AllButFirstAndEvery { period: 6, window: 129 },
    experts: Some(Experts {
        width: 2048,
        first_dense: 1,
        chosen_by: FROM_FIRST,
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(256, 8)
    }),
    heads: Some(Heads::MoreKeysInWindow),
    ..FamilySpec::PLAIN
};
