//! `mistral` (transformers 5.23, `models/mistral`): llama's block without biases, every layer with
//! a window.

use crate::models::prelude::*;

/// `mistral`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mistral", "llava_mistral"],
    class: "Mistral",
    modules: &Modules {
        model_type: "mistral",
        choice: FamilyChoice { rank: 1, word: "mistral", label: "Mistral" },
        mask_for_each_kind: false,
        measured: Measured { written_out: true, fused_kernels: true, tensor_parallel: true },
        slots_at_both_ends: true,
        ..Modules::PLAIN
    },
    sizes: Sizes::of([4096, 14_336], 32, 32, 32_000, 131_072).kv(8),
    window: Window::All(4096),
    ..FamilySpec::PLAIN
};
