//! `bailing_hybrid` (transformers 5.23, `models/bailing_hybrid`), Ling 3: Kimi Linear's layers with
//! one matrix each for decay and gate; the last of every group has rotated latent attention with a
//! gate for each head.

use crate::models::prelude::*;

/// `bailing_hybrid`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["bailing_hybrid"],
    class: "BailingHybrid",
    labels: &[("bailing_hybrid", "Ling 3")],
    modules: &Modules {
        model_type: "bailing_hybrid",
        choice: FamilyChoice { rank: 643, word: "bailing-hybrid", label: "Ling 3" },
        gate: AttentionGate::SigmoidOfHeadsInFp32,
        shape: Some(ShapeRule {
            experts: ExpertsRule::Any,
            mlp_bias: Some(false),
            latent: true,
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            states: &[MixerKind::KimiWhole],
            ..ShapeRule::PLAIN
        }),
        ..*super::kimi_linear::FAMILY.modules
    },
    positions: Positions::Are(PositionEmbedding::Rotary),
    sizes: Sizes::of([2560, 6144], 42, 32, 157_184, 262_144),
    own_names: &[("max_position_embeddings", &["max_position_embeddings", "model_max_length"])],
    experts: Some(Experts {
        width: 768,
        shared: 1,
        first_dense: 2,
        chosen_by: FROM_FIRST,
        groups: [8, 4],
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(512, 8)
    }),
    latent: Some(Latent { query_rank: 0, rank: 512, rope: 64, nope: 128, value: 128 }),
    states: Some(States {
        fp32: true,
        ..States::of(MixerKind::KimiWhole, Attends::LastOfGroup(6), [0, 128, 0, 0, 4])
    }),
    only: &[Only::else_refused("kda_safe_gate", &["true"], "decays without limits")],
    not_looked_at: &["head_dim", "linear_num_heads", "q_lora_rank", "qk_head_dim"],
    ..super::kimi_linear::FAMILY
};
