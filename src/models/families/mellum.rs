//! `mellum` (transformers 5.23, `models/mellum`): Qwen3's block with experts, and a window in the
//! layers that its files list.

use crate::models::prelude::*;

/// `mellum`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mellum"],
    class: "Mellum",
    labels: &[("mellum", "Mellum")],
    modules: &Modules {
        model_type: "mellum",
        choice: FamilyChoice { rank: 35, word: "mellum", label: "Mellum" },
        mask_for_each_kind: true,
        tables_for_each_kind: true,
        measured: Modules::PLAIN.measured,
        slots_at_both_ends: false,
        ..*super::qwen3_moe::FAMILY.modules
    },
    sizes: Sizes::of([2304, 7168], 28, 32, 98_304, 131_072).kv(4).head(128),
    window: Window::ListedOnly(1024),
    experts: Some(Experts {
        width: 896,
        chosen_by: &["mlp_layer_types"],
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(64, 8)
    }),
    ..super::qwen3_moe::FAMILY
};
