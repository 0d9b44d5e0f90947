//! `cwm` (transformers 5.23, `models/cwm`): llama's block, with a window in three of four layers.

use crate::models::prelude::*;

/// `cwm`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["cwm"],
    class: "Cwm",
    labels: &[("cwm", "CWM")],
    modules: &Modules {
        model_type: "cwm",
        choice: FamilyChoice { rank: 30, word: "cwm", label: "CWM" },
        ..Modules::PLAIN
    },
    sizes: Sizes::of([6144, 21_504], 64, 48, 128_256, 131_072).kv(8).head(128),
    mlp_bias: Flag::Key("mlp_bias", false),
    window: Window::Where { slides: |layer, _| !layer.is_multiple_of(4), window: 8192 },
    ..FamilySpec::PLAIN
};
