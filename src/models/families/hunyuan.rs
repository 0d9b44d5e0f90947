//! `hunyuan` (code of its own on the hub, `tencent/Tencent-Hunyuan-Large`): normed queries and
//! keys; layers may share keys and values with the one before, and have experts beside a shared
//! one. Its parameters are counted alone.

use crate::models::prelude::*;

/// Attention, without keys and values in layers that take those of another.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let layers = model.num_hidden_layers;
    let shares = said("", "use_cla").is_some_and(|shares| shares > 0);
    let factor = if shares { said("", "cla_share_factor").unwrap_or(2).max(1) } else { 1 };
    let without = layers - layers.div_ceil(factor);
    let keys = 2
        * model.num_key_value_heads
        * model.head_dim
        * (model.hidden_size + u64::from(model.attention_bias));
    layers * attention(model) - without * keys
}

/// `hunyuan`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["hunyuan"],
    class: "HunYuan",
    labels: &[("hunyuan", "Hunyuan-Large")],
    own_names: &[("head_dim", &["head_dim", "attention_head_dim"])],
    not_looked_at: &["norm_type"],
    own_rule: OwnSizes::RestOfFile(rest),
    sizes: Sizes::of([4096, 11_008], 32, 32, 290_943, 2048),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Key("use_qk_norm", false),
    experts: Some(Experts { may_share: true, dense_if_one: true, ..Experts::of(1, 1) }),
    ..super::counted::FAMILY
};
