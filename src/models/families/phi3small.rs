//! `phi3small` (code of its own on the hub, `microsoft/Phi-3-small-8k-instruct`): layer norms, a
//! gated feed-forward layer and biases everywhere; layers see blocks of the text by turns, which
//! changes no weights.

use crate::models::prelude::*;

/// `phi3small`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["phi3small"],
    class: "Phi3Small",
    labels: &[("phi3small", "Phi-3-small")],
    inner: InnerWidth::Stated(&["intermediate_size", "ff_intermediate_size"]),
    sizes: Sizes::of([4096, 14_336], 32, 32, 100_352, 8192).kv(8),
    mlp: MlpKind::Gated,
    tied: true,
    not_looked_at: &[
        "hidden_act",
        "blocksparse_block_size",
        "blocksparse_homo_head_pattern",
        "blocksparse_triton_kernel_block_size",
        "dense_attention_every_n_layers",
    ],
    ..FamilySpec::CLASSIC
};
