//! `step2_mini` (code of its own in vLLM's fork, `Step2MiniForCausalLM`): narrow queries that are
//! normed and widened, one key/value head, and experts beside a shared one behind the first layer.
//! Its parameters are counted alone.

use crate::models::prelude::*;

/// `step2_mini`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["step2_mini"],
    class: "Step2Mini",
    labels: &[("step2_mini", "Step-2 mini")],
    only: &[
        Only::else_refused("use_moe", &["true"], "no experts"),
        Only::else_refused("use_qk_norm", &["false"], "norms on queries and keys"),
        Only::else_refused("use_qkv_bias", &["false"], "biases of queries and keys"),
        Only::else_refused("use_bias", &["false"], "biases everywhere"),
        Only::else_refused("num_key_value_heads", &["1"], "several key/value heads"),
    ],
    not_looked_at: &["model_arch"],
    ..super::step3_text::FAMILY
};
