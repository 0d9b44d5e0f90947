//! `kosmos_2_5_text_model`, the text part of KOSMOS-2.5 (transformers 5.23): OPT's block with a
//! norm before the last product of its feed-forward layer, computed positions, and segments of
//! image and text. Its parameters are counted alone.

use crate::models::prelude::*;

/// Attention with biases, the inner norm, and two segments.
fn rest(model: &Counted, _: &Own, _: Said<'_>) -> u64 {
    let h = model.hidden_size;
    model.num_hidden_layers * (4 * h * h + 4 * h + 2 * model.intermediate_size) + 2 * h
}

/// `kosmos_2_5_text_model`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["kosmos_2_5_text_model"],
    class: "Kosmos2_5Text",
    labels: &[("kosmos-2.5", "KOSMOS-2.5")],
    modules: &Modules {
        model_type: "kosmos_2_5_text_model",
        choice: FamilyChoice { rank: 649, word: "kosmos-2-5", label: "KOSMOS-2.5" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    sizes: Sizes::of([1536, 6144], 24, 16, 108_481, 4096),
    ties: Ties::OfText,
    ..super::kosmos_2_text_model::FAMILY
};
