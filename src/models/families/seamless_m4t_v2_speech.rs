//! `seamless_m4t_v2` from speech to text (transformers 5.23, `models/seamless_m4t_v2`): as the
//! first version, with embedded distances. The class tells such a file; its parameters are counted
//! alone.

use super::seamless_m4t_speech::{conformer, own_words};
use crate::models::prelude::*;

/// The decoder's attention, and the conformer with 64 distances back, 8 ahead and one of nothing.
fn rest(model: &Counted, own: &Own, said: Said<'_>) -> u64 {
    let [_, _, _, _, _, heads, ..] = own;
    let distances = 73 * (model.hidden_size / heads.max(&1));
    own_words(model) + attention_twice(model, own, said) + conformer(model, own, distances, 8)
}

/// `seamless_m4t_v2`, saved as a model that reads speech.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["seamless_m4t_v2_speech"],
    told_by_class: &["seamless_m4t_v2"],
    class: "SeamlessM4Tv2ForSpeech",
    labels: &[("seamless_m4t_v2_speech", "SeamlessM4T v2 for speech")],
    modules: &Modules {
        model_type: "seamless_m4t_v2_speech",
        choice: FamilyChoice {
            rank: 709,
            word: "seamlessv2speech",
            label: "SeamlessM4T v2 for speech",
        },
        ..Modules::COUNTED
    },
    own_rule: OwnSizes::Rest(rest),
    own_sizes: &[
        ("speech_encoder_layers", 24),
        ("speech_encoder_intermediate_size", 4096),
        ("feature_projection_input_dim", 160),
        ("conv_depthwise_kernel_size", 31),
        ("num_adapter_layers", 1),
        ("speech_encoder_attention_heads", 16),
    ],
    only: &[
        Only::else_refused(
            "position_embeddings_type",
            &["relative_key"],
            "positions of another kind in its encoder",
        ),
        Only::else_refused("add_adapter", &["true"], "no blocks behind its encoder"),
        Only::else_refused("adaptor_kernel_size", &["8"], "other frames behind its encoder"),
        Only::else_refused(
            "left_max_position_embeddings",
            &["64"],
            "other distances in its encoder",
        ),
        Only::else_refused(
            "right_max_position_embeddings",
            &["8"],
            "other distances in its encoder",
        ),
    ],
    ..super::seamless_m4t_speech::FAMILY
};
