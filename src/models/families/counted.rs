//! Modules that kinds with code of their own on the hub share where their parameters are counted
//! alone: nobody says what running them takes.

use crate::models::prelude::*;

/// Attention by heads, as in most kinds.
fn rest(model: &Counted, _: &Own, _: Said<'_>) -> u64 {
    model.num_hidden_layers * attention(model)
}

/// `counted`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["counted"],
    class: "Counted",
    modules: &Modules {
        model_type: "counted",
        choice: FamilyChoice { rank: 690, word: "counted", label: "Counted alone" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    sizes: Sizes::of([4096, 11_008], 32, 32, 32_000, 2048),
    ..FamilySpec::PLAIN
};
