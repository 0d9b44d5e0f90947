//! `xglm` (transformers 5.23, `models/xglm`): separate projections with biases, and positions that
//! are no parameters. Its modules are assumed to be those of a plain decoder.

use crate::models::prelude::*;

/// `xglm`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["xglm"],
    class: "XGLM",
    labels: &[("xglm", "XGLM")],
    older_names: true,
    key_value_heads: KeyValueHeads::AsQueryHeads,
    inner: InnerWidth::Stated(&["intermediate_size", "ffn_dim"]),
    sizes: Sizes::of([1024, 4096], 24, 16, 256_008, 2048),
    positions: Positions::Are(PositionEmbedding::None),
    tied: true,
    ..FamilySpec::CLASSIC
};
