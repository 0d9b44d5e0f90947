//! `granite_swa` (transformers 5.23, `models/granite_swa`): Granite with a window in three of four
//! layers, and attention sinks that scale attention's output.

use crate::models::prelude::*;

/// `granite_swa`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["granite_swa"],
    class: "GraniteSWA",
    labels: &[("granite_swa", "Granite SWA")],
    modules: &Modules {
        model_type: "granite_swa",
        choice: FamilyChoice { rank: 27, word: "granite-swa", label: "Granite SWA" },
        sinks: SinkStyle::OutputScale,
        // Tables are made for each rotary base; frequencies of the model's own base stay unused.
        registers_spare_frequencies: true,
        shape: Some(ShapeRule { sinks: true, ..ShapeRule::PLAIN }),
        ..*super::granite::FAMILY.modules
    },
    sizes: Sizes::of([2560, 8192], 24, 20, 100_352, 8192).kv(4),
    tied: true,
    window: Window::Where { slides: |layer, _| !layer.is_multiple_of(4), window: 128 },
    sinks: true,
    // Bases of rotation change no size.
    not_looked_at: &["layer_rope_theta"],
    ..super::granite::FAMILY
};
