//! `ernie4_5` (transformers 5.23, `models/ernie4_5`): llama's shape with one switch for all biases.

use crate::models::prelude::*;

/// `ernie4_5`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["ernie4_5"],
    class: "Ernie4_5",
    labels: &[("ernie4_5", "ERNIE 4.5")],
    modules: &Modules {
        model_type: "ernie4_5",
        choice: FamilyChoice { rank: 48, word: "ernie4-5", label: "ERNIE 4.5" },
        rotation: RotationStyle::RepeatedTablesInFp32,
        rotary_tables: RotaryTables::InFp32,
        ..Modules::PLAIN
    },
    sizes: Sizes::of([1024, 3072], 18, 16, 103_424, 131_072).kv(2).head(128),
    tied: true,
    attention_bias: Flag::Key("use_bias", false),
    output_bias: Flag::Key("use_bias", false),
    mlp_bias: Flag::Key("use_bias", false),
    ..FamilySpec::PLAIN
};
