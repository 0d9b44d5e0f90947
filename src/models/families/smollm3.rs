//! `smollm3` (transformers 5.23, `models/smollm3`): llama in other sizes, some layers without
//! rotation.

use crate::models::prelude::*;

/// `smollm3`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["smollm3"],
    class: "SmolLM3",
    gguf: Some(Gguf::of("smollm3", "smollm3")),
    labels: &[("smollm3", "SmolLM3")],
    // Layers without rotation hold as much; the default of every fourth is played.
    not_looked_at: &["no_rope_layers", "no_rope_layer_interval"],
    modules: &Modules {
        model_type: "smollm3",
        choice: FamilyChoice { rank: 184, word: "smollm3", label: "SmolLM3" },
        measured: Modules::PLAIN.measured,
        rotated: RotatedLayers::AllButEvery(4),
        ..*super::llama::FAMILY.modules
    },
    sizes: Sizes::of([2048, 11_008], 36, 16, 128_256, 32_768).kv(4),
    tied: true,
    window: Window::FromIfUsed,
    ..super::llama::FAMILY
};
