//! `phi` (transformers 5.23, `models/phi`): attention beside the feed-forward layer on one norm, half of each head rotated.

use crate::models::prelude::*;

/// `phi`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["phi"],
    class: "Phi",
    family: Family::Phi,
    sizes: Sizes::of([2048, 8192], 24, 32, 51_200, 2048),
    act: HiddenAct::GeluNew,
    rotary_percent: 50,
    qk_norm: Flag::Key("qk_layernorm", false),
    parallel: Flag::Is(true),
    norms: Norms::Are(1),
    head_bias: Flag::Is(true),
    ..FamilySpec::CLASSIC
};
