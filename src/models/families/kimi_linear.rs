//! `kimi_linear` (transformers 5.23, `models/kimi_linear`): three of four layers keep a state with
//! a decay for every channel, the others have latent attention without positions.

use crate::models::prelude::*;

/// `kimi_linear`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["kimi_linear"],
    class: "KimiLinear",
    modules: &Modules {
        model_type: "kimi_linear",
        choice: FamilyChoice { rank: 642, word: "kimi-linear", label: "Kimi Linear" },
        tensor_plan: None,
        takes_prefix: false,
        splits_tokens: false,
        shape: Some(ShapeRule {
            experts: ExpertsRule::Any,
            mlp_bias: Some(false),
            latent: true,
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            states: &[MixerKind::KimiLinear],
            ..ShapeRule::PLAIN
        }),
        peft_finds_experts: false,
        ..*super::deepseek_v3::FAMILY.modules
    },
    positions: Positions::Are(PositionEmbedding::None),
    // Its class names no weights that are tied, whatever a file says.
    ties: Ties::Never,
    instead: &[("routed_expert_hidden_size", "", "kimi_k3_text")],
    sizes: Sizes::of([2304, 9216], 27, 32, 163_840, 1_048_576),
    experts: Some(Experts {
        width: 1024,
        shared: 1,
        first_dense: 1,
        chosen_by: FROM_FIRST,
        groups: [1, 1],
        ..Experts::of(256, 8)
    }),
    latent: Some(Latent { query_rank: 0, rank: 512, rope: 64, nope: 128, value: 128 }),
    states: Some(States {
        fp32: true,
        prefix: "linear_",
        ..States::of(MixerKind::KimiLinear, Attends::Every(4), [32, 128, 32, 128, 4])
    }),
    ..super::deepseek_v3::FAMILY
};
