//! `gpt_oss` (transformers 5.23, `models/gpt_oss`): experts with biases and clamped gates in every layer, sinks, every second
//! layer sliding.

use crate::models::prelude::*;

/// `gpt_oss`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gpt_oss"],
    class: "GptOss",
    labels: &[("gpt_oss", "gpt-oss")],
    family: Family::GptOss,
    sizes: Sizes::of([2880, 2880], 36, 64, 201_088, 131_072).kv(8).head(64),
    attention_bias: Flag::Key("attention_bias", true),
    output_bias: Flag::Key("attention_bias", true),
    window: Window::AllButEvery { period: 2, window: 128 },
    experts: Some(Experts { norm_topk: Flag::Is(false), bias: true, ..Experts::of(128, 4) }),
    sinks: true,
    ..FamilySpec::PLAIN
};
