//! `ctrl` (transformers 5.23, `models/ctrl`): separate projections with biases, and positions that
//! are no parameters. Its modules are assumed to be those of a plain decoder.

use crate::models::prelude::*;

/// `ctrl`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["ctrl"],
    class: "CTRL",
    labels: &[("ctrl", "CTRL")],
    older_names: true,
    key_value_heads: KeyValueHeads::AsQueryHeads,
    inner: InnerWidth::Stated(&["intermediate_size", "dff"]),
    sizes: Sizes::of([1280, 8192], 48, 16, 246_534, 256),
    act: HiddenAct::Relu,
    positions: Positions::Are(PositionEmbedding::None),
    tied: true,
    head_bias: Flag::Is(true),
    ..FamilySpec::CLASSIC
};
