//! `zamba` (transformers 5.23, `models/zamba`): Mamba's layers by heads; some have a block of
//! attention and a feed-forward layer before them, which is one for all.

use crate::models::prelude::*;

/// `zamba`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["zamba"],
    class: "Zamba",
    modules: &Modules {
        model_type: "zamba",
        choice: FamilyChoice { rank: 640, word: "zamba", label: "Zamba" },
        block: BlockLayout::BehindSharedBlock,
        hands_on_positions: false,
        tensor_plan: None,
        takes_prefix: false,
        splits_tokens: false,
        shape: Some(ShapeRule {
            states: &[MixerKind::Zamba],
            layers_of_states: LayersOfStates::BehindSharedBlock,
            may_norm_queries_and_keys: false,
            ..ShapeRule::PLAIN
        }),
        ..Modules::PLAIN
    },
    positions: Positions::Are(PositionEmbedding::None),
    own_names: &[("head_dim", &["attention_head_dim"])],
    sizes: Sizes::of([3712, 14_848], 76, 16, 32_000, 4096).kv(16),
    tied: true,
    act: HiddenAct::Gelu,
    states: Some(States {
        prefix: "mamba_",
        ..States::of(
            MixerKind::Zamba,
            Attends::Shared { otherwise: &[], adapted: false },
            [2, 0, 0, 16, 4],
        )
    }),
    only: &[Only::else_refused(
        "hidden_mamba_act",
        &["silu"],
        "another activation function in its states",
    )],
    not_looked_at: &["attention_hidden_size", "num_logits_to_keep"],
    ..FamilySpec::PLAIN
};
