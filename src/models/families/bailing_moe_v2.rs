//! `bailing_moe_v2` (code of its own on the hub, `inclusionAI/Ling-mini-2.0`): the first Ling with
//! normed queries and keys, and without biases.

use crate::models::prelude::*;

/// `bailing_moe_v2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["bailing_moe_v2"],
    class: "BailingMoeV2",
    labels: &[("bailing_moe_v2", "Ling 2")],
    output_bias: Flag::Key("use_bias", false),
    mlp_bias: Flag::Key("use_bias", false),
    qk_norm: Flag::Key("use_qk_norm", true),
    not_looked_at: &["moe_router_enable_expert_bias", "moe_shared_expert_intermediate_size"],
    ..super::bailing_moe::FAMILY
};
