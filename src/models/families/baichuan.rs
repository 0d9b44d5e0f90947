//! `baichuan` (code of its own on the hub, `baichuan-inc/Baichuan2-7B-Base`): llama with one matrix
//! for queries, keys and values.

use crate::models::prelude::*;

/// `baichuan`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["baichuan"],
    class: "Baichuan",
    labels: &[("baichuan", "Baichuan"), ("baichuan-13b", "Baichuan")],
    saved_with: &["BaiChuan"],
    key_value_heads: KeyValueHeads::AsQueryHeads,
    sizes: Sizes::of([4096, 11_008], 32, 32, 125_696, 4096),
    // The models of 13 billion parameters have code of their own under the same name.
    instead: &[("hidden_size", "5120", "baichuan-13b")],
    ..FamilySpec::PLAIN
};
