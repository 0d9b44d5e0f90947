//! `mimo` (code of its own on the hub, `XiaomiMiMo/MiMo-7B-Base`): Qwen2 with a layer that predicts
//! a further token, which is left out.

use crate::models::prelude::*;

/// `mimo`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mimo"],
    class: "MiMo",
    predicts_further: true,
    labels: &[("mimo", "MiMo")],
    attention_bias: Flag::Key("attention_bias", true),
    ..super::qwen2::FAMILY
};
