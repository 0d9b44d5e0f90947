//! The first ChatGLM (code of its own on the hub, `THUDM/chatglm-6b`), whose files go by the name
//! of later ones: layer norms, biases everywhere, positions of two dimensions, which have no
//! weights.

use crate::models::prelude::*;

/// `chatglm` with `position_encoding_2d`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["chatglm-6b"],
    class: "ChatGLM",
    saved_with: &["ChatGLMModel"],
    older_names: true,
    key_value_heads: KeyValueHeads::AsQueryHeads,
    inner: InnerWidth::Stated(&["intermediate_size", "inner_hidden_size"]),
    sizes: Sizes::of([4096, 16_384], 28, 32, 150_528, 2048),
    tied: true,
    not_looked_at: &["inner_hidden_size"],
    ..FamilySpec::CLASSIC
};
