//! `kolibri1` (transformers 5.23, `models/kolibri1`): four norms a block, normed queries and keys,
//! a window in four of five layers, and experts beside a shared one in every layer.

use crate::models::prelude::*;

/// `kolibri1`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["kolibri1"],
    class: "Kolibri1",
    labels: &[("kolibri1", "Kolibri 1")],
    // Every layer has experts: a dense layer's width is not stated.
    inner: InnerWidth::Stated(&["moe_intermediate_size"]),
    sizes: Sizes::of([2560, 512], 50, 48, 128_000, 262_144).kv(4).head(128),
    qk_norm: Flag::Is(true),
    norms: Norms::Are(4),
    window: Window::AllButEvery { period: 5, window: 513 },
    experts: Some(Experts {
        width: 512,
        shared_width: 512,
        norm_topk: Flag::Key("norm_topk_prob", false),
        ..Experts::of(384, 6)
    }),
    ..FamilySpec::PLAIN
};
