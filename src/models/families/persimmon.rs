//! `persimmon` (transformers 5.23, `models/persimmon`): layer norms, normed queries and keys, half
//! of each head rotated, squared ReLU.

use crate::models::prelude::*;

/// `persimmon`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["persimmon"],
    class: "Persimmon",
    modules: &Modules {
        model_type: "persimmon",
        choice: FamilyChoice { rank: 904, word: "persimmon", label: "Persimmon" },
        block: BlockLayout::OwnOrder,
        projections: Projections::JointOfHeads,
        rotation: RotationStyle::HeldParts,
        splits_tokens: false,
        tensor_plan: None,
        shape: Some(ShapeRule { key_head_for_each_query_head: true, ..ShapeRule::CLASSIC }),
        ..Modules::PLAIN
    },
    key_value_heads: KeyValueHeads::AsQueryHeads,
    sizes: Sizes::of([4096, 16_384], 36, 64, 262_144, 16_384),
    act: HiddenAct::Relu2,
    rotary_percent: 50.0,
    qk_norm: Flag::Key("qk_layernorm", true),
    ..FamilySpec::CLASSIC
};
