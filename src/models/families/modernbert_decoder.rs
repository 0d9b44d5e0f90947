//! `modernbert-decoder` (transformers 5.23, `models/modernbert_decoder`): ModernBERT's block with
//! separate projections, for tokens that see those before them alone.

use crate::models::prelude::*;

/// `modernbert-decoder`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["modernbert-decoder"],
    class: "ModernBertDecoder",
    labels: &[("modernbert-decoder", "ModernBERT decoder")],
    modules: &Modules {
        model_type: "modernbert-decoder",
        choice: FamilyChoice { rank: 93, word: "modernbert-decoder", label: "ModernBERT decoder" },
        projections: Projections::Separate,
        rotary_tables: RotaryTables::OfSequences,
        hands_on_positions: true,
        holds_attention: false,
        encoder: EncoderModules {
            loss_in_fp32: false,
            ..super::modernbert::FAMILY.modules.encoder
        },
        ..*super::modernbert::FAMILY.modules
    },
    encoder: Some(Encoder { is_decoder: true, ..Encoder::UNTYPED }),
    not_looked_at: &["sliding_window"],
    only: &[
        Only::else_refused("norm_bias", &["false"], "norms with biases"),
        Only::else_refused("classifier_bias", &["false"], "a bias before its output head"),
    ],
    ..super::modernbert::FAMILY
};
