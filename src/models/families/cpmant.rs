//! `cpmant` (transformers 5.23, `models/cpmant`), CPM-Ant: relative positions and segments in the
//! scores, learned prompts before the text. Its parameters are counted alone.

use crate::models::prelude::*;

/// Attention by heads of a width of their own; tables of segments, prompts and relative positions.
fn rest(model: &Counted, [segments, prompts, length, buckets, head, ..]: &Own, _: Said<'_>) -> u64 {
    let (h, a) = (model.hidden_size, model.num_attention_heads);
    let tables = (segments + prompts * length) * h + (segments * segments + buckets) * a;
    model.num_hidden_layers * 4 * h * a * head + tables
}

/// Keys and values of the text and of the learned prompt before it.
fn keeps(model: &Counted, [_, _, length, _, head, ..]: &Own, _: Said<'_>) -> Vec<CachePart> {
    let (layers, heads) = (model.num_hidden_layers, model.num_attention_heads);
    let of_prompt = keys_and_values(layers, [heads, length * head]).map(CachePart::once);
    keys_and_values(layers, [heads, *head]).into_iter().chain(of_prompt).collect()
}

/// `cpmant`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["cpmant"],
    class: "CpmAnt",
    labels: &[("cpmant", "CPM-Ant")],
    modules: &Modules {
        model_type: "cpmant",
        choice: FamilyChoice { rank: 614, word: "cpmant", label: "CPM-Ant" },
        encoder: EncoderModules { never_ties: true, ..EncoderModules::COUNTED },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    keeps: Some(keeps),
    key_value_heads: KeyValueHeads::AsQueryHeads,
    inner: InnerWidth::Stated(&["intermediate_size", "dim_ff"]),
    own_sizes: &[
        ("segment_types", 32),
        ("prompt_types", 32),
        ("prompt_length", 32),
        ("position_bias_num_buckets", 512),
        ("dim_head", 128),
    ],
    sizes: Sizes::of([4096, 10_240], 48, 32, 30_720, 2048).head(128),
    act: HiddenAct::Gelu,
    ..FamilySpec::PLAIN
};
