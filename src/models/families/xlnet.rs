//! `xlnet` (transformers 5.23, `models/xlnet`): relative positions that are projected, biases of
//! scores for every head. Its parameters are counted alone.

use crate::models::prelude::*;

/// Five matrices of attention, biases of scores and of segments, and the embedding of a mask.
fn rest(model: &Counted, _: &Own, _: Said<'_>) -> u64 {
    let h = model.hidden_size;
    model.num_hidden_layers * (5 * h * h + 5 * h) + h
}

/// The inputs of all layers (`mems`), of which keys and values are made anew at every step.
fn keeps(model: &Counted, [most, ..]: &Own, _: Said<'_>) -> Vec<CachePart> {
    vec![
        CachePart::of(CachePartKind::Inputs, model.num_hidden_layers, model.hidden_size)
            .within(*most),
    ]
}

/// `xlnet`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["xlnet"],
    class: "XLNet",
    labels: &[("xlnet", "XLNet")],
    modules: &Modules {
        model_type: "xlnet",
        choice: FamilyChoice { rank: 615, word: "xlnet", label: "XLNet" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    keeps: Some(keeps),
    older_names: true,
    key_value_heads: KeyValueHeads::AsQueryHeads,
    inner: InnerWidth::Stated(&["intermediate_size", "d_inner"]),
    own_sizes: &[("mem_len", 512)],
    not_looked_at: &["d_head", "same_length", "attn_type", "clamp_len", "bi_data"],
    sizes: Sizes::of([1024, 4096], 24, 16, 32_000, 512),
    act: HiddenAct::Gelu,
    positions: Positions::Are(PositionEmbedding::None),
    tied: true,
    head_bias: Flag::Is(true),
    final_norm: false,
    ..FamilySpec::CLASSIC
};
