//! `step3_text`, the text part of `step3_vl` (code of its own on the hub, `stepfun-ai/step3`):
//! narrow queries that are normed and widened, one key/value head, and experts beside a shared one
//! in the layers that the file lists. Its parameters are counted alone.

use crate::models::prelude::*;

/// Narrow queries with their norm, their widening, one key and one value, and the output
/// projection.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let (h, d) = (model.hidden_size, model.head_dim);
    let wide = model.num_attention_heads * d;
    let narrow = said("", "share_q_dim").unwrap_or(d);
    model.num_hidden_layers * (h * (narrow + 2 * d) + narrow + narrow * wide + wide * h)
}

/// `step3_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["step3_text"],
    class: "Step3Text",
    own_rule: OwnSizes::RestOfFile(rest),
    sizes: Sizes::of([7168, 18_432], 61, 64, 128_815, 65_536).kv(1).head(256),
    experts: Some(Experts {
        width: 5120,
        shared_width: 5120,
        first_dense: 1,
        chosen_by: &["moe_layers_enum", "mlp_layer_types"],
        ..Experts::of(48, 3)
    }),
    not_looked_at: &["num_attention_groups", "att_impl_type", "use_mfa"],
    ..super::counted::FAMILY
};
