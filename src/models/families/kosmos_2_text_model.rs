//! `kosmos_2_text_model`, the text part of KOSMOS-2 (transformers 5.23): OPT's block with a further
//! norm before each last product, and positions that are computed.

use crate::models::prelude::*;

/// `kosmos_2_text_model`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["kosmos_2_text_model"],
    class: "Kosmos2Text",
    labels: &[("kosmos-2", "KOSMOS-2")],
    modules: super::bitnet::FAMILY.modules,
    older_names: true,
    heads_fill_hidden: true,
    key_value_heads: KeyValueHeads::AsQueryHeads,
    inner: InnerWidth::Stated(&["intermediate_size", "ffn_dim"]),
    sizes: Sizes::of([2048, 8192], 24, 32, 65_037, 2048),
    positions: Positions::Are(PositionEmbedding::None),
    tied: true,
    ties: Ties::Either,
    ..FamilySpec::CLASSIC
};
