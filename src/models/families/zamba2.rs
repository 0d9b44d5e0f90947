//! `zamba2` (transformers 5.23, `models/zamba2`): Bamba's layers of a state; some have a block of
//! attention and a feed-forward layer before them, which they share in turn, and to which each adds
//! a narrow pair of matrices.

use crate::models::prelude::*;

/// `zamba2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["zamba2"],
    class: "Zamba2",
    labels: &[("zamba2", "Zamba 2")],
    modules: &Modules {
        model_type: "zamba2",
        choice: FamilyChoice { rank: 641, word: "zamba2", label: "Zamba 2" },
        feed_forward: FeedForwardStyle::JointGateAndUp,
        hands_on_positions: true,
        shape: Some(ShapeRule {
            states: &[MixerKind::Mamba2],
            layers_of_states: LayersOfStates::BehindSharedBlock,
            may_norm_queries_and_keys: false,
            ..ShapeRule::PLAIN
        }),
        ..*super::zamba::FAMILY.modules
    },
    positions: Positions::RotaryIf("use_mem_rope"),
    own_names: &[],
    sizes: Sizes::of([2560, 0], 54, 32, 32_000, 4096),
    states: Some(States {
        prefix: "mamba_",
        ..States::of(
            MixerKind::Mamba2,
            Attends::Shared { otherwise: &[6, 12, 18, 24, 30, 36, 42, 47, 51], adapted: true },
            [8, 0, 1, 64, 4],
        )
    }),
    only: &[
        Only::else_refused("add_bias_linear", &["false"], "biases on its linear layers"),
        Only::else_refused(
            "tie_word_embeddings",
            &["true"],
            "an output head of its own, for which its blocks are not shared either",
        ),
    ],
    not_looked_at: &[
        "attention_head_dim",
        "attention_hidden_size",
        "hybrid_layer_ids",
        "kv_channels",
        "mamba_headdim",
        "num_query_groups",
        "num_logits_to_keep",
        "use_mem_eff_path",
    ],
    ..super::zamba::FAMILY
};
