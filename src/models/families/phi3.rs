//! `phi3` (transformers 5.23, `models/phi3`): llama's block with joint projections for queries,
//! keys and values and for gate and up.

use crate::models::prelude::*;

/// `phi3`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["phi3", "phi3_v", "phi4", "phi4mm"],
    class: "Phi3",
    gguf: Some(Gguf::with("phi3", "phi3", &[("attention.sliding_window", "sliding_window")])),
    labels: &[("phi3", "Phi-3")],
    modules: &Modules {
        model_type: "phi3",
        choice: FamilyChoice { rank: 13, word: "phi3", label: "Phi-3" },
        mask_for_each_kind: false,
        block: BlockLayout::OwnOrder,
        projections: Projections::Joint,
        feed_forward: FeedForwardStyle::JointGateAndUp,
        rotation: RotationStyle::Joined,
        // `embd_pdrop` is a key that its modules do not look at.
        drops: Drops {
            embedding: None,
            residual: Some(DropKey::off("resid_pdrop")),
            attention: Some(DropKey::off("attention_dropout")),
            as_added: true,
        },
        tensor_plan: Some(TensorPlan {
            attention: Division::Gathered,
            feed_forward: Division::Gathered,
        }),
        shape: Some(ShapeRule {
            mlp_bias: Some(false),
            attention_bias: Some(false),
            may_norm_queries_and_keys: false,
            ..ShapeRule::PLAIN
        }),
        slots_at_both_ends: true,
        ..Modules::PLAIN
    },
    sizes: Sizes::of([3072, 8192], 32, 32, 32_064, 4096),
    window: Window::All(0),
    ..FamilySpec::PLAIN
};
