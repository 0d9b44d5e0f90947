//! `flint` (transformers 5.23, `models/flint`): Qwen3's block with attention sinks, a window in the
//! layers that its files list, and experts beside a shared one.

use crate::models::prelude::*;

/// `flint`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["flint"],
    class: "Flint",
    labels: &[("flint", "Flint")],
    modules: &Modules::GENERIC,
    sizes: Sizes::of([2048, 6144], 49, 32, 150_144, 262_144).kv(4).head(128),
    window: Window::Where {
        slides: |layer, layers| layer >= 2 && layer % 4 != 1 && layer + 1 != layers,
        window: 513,
    },
    experts: Some(Experts {
        width: 512,
        shared_width: 1024,
        first_dense: 2,
        chosen_by: BY_STEP,
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(256, 6)
    }),
    sinks: true,
    ..super::qwen3_moe::FAMILY
};
