//! `bamba` (transformers 5.23, `models/bamba`): Mamba 2's layers, and attention in those that the
//! file lists.

use crate::models::prelude::*;

/// `bamba`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["bamba"],
    class: "Bamba",
    modules: &Modules {
        model_type: "bamba",
        choice: FamilyChoice { rank: 604, word: "bamba", label: "Bamba" },
        returns_probabilities: true,
        tensor_plan: None,
        takes_prefix: false,
        splits_tokens: false,
        shape: Some(ShapeRule { states: &[MixerKind::Mamba2], ..ShapeRule::PLAIN }),
        ..Modules::PLAIN
    },
    rotary_percent: 50.0,
    sizes: Sizes::of([4096, 14_336], 32, 32, 128_000, 262_144).kv(8),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    mlp_bias: Flag::Key("mlp_bias", false),
    states: Some(States {
        prefix: "mamba_",
        ..States::of(MixerKind::Mamba2, Attends::Listed { otherwise: false }, [128, 0, 1, 256, 4])
    }),
    ..FamilySpec::PLAIN
};
