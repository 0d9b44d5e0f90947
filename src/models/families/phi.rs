//! `phi` (transformers 5.23, `models/phi`): attention beside the feed-forward layer on one norm,
//! half of each head rotated.

use crate::models::prelude::*;

/// `phi`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["phi", "bunny-phi"],
    class: "Phi",
    modules: &Modules {
        model_type: "phi",
        choice: FamilyChoice { rank: 12, word: "phi", label: "Phi" },
        block: BlockLayout::OwnOrder,
        query_key_norm: QueryKeyNorm::AfterTransposing,
        rotation: RotationStyle::HeldParts,
        adds_branches_first: true,
        drops: Drops {
            embedding: Some(DropKey::off("embd_pdrop")),
            residual: Some(DropKey::off("resid_pdrop")),
            attention: Some(DropKey::off("attention_dropout")),
            as_added: false,
        },
        shape: Some(ShapeRule { norms_per_block: [1, 1], ..ShapeRule::CLASSIC }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([2048, 8192], 24, 32, 51_200, 2048),
    act: HiddenAct::GeluNew,
    rotary_percent: 50.0,
    qk_norm: Flag::Key("qk_layernorm", false),
    parallel: Flag::Is(true),
    norms: Norms::Are(1),
    head_bias: Flag::Is(true),
    ..FamilySpec::CLASSIC
};
