//! `rwkv` (transformers 5.23, `models/rwkv`), RWKV-4: sums of every channel in place of attention,
//! and a gate on the feed-forward layer; both halves read mixes of two tokens.

use crate::models::prelude::*;

/// `rwkv`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["rwkv"],
    class: "Rwkv",
    labels: &[("rwkv", "RWKV-4")],
    modules: &Modules {
        model_type: "rwkv",
        choice: FamilyChoice { rank: 655, word: "rwkv", label: "RWKV-4" },
        block: BlockLayout::TimeMixed,
        position_ids: PositionIds::Nowhere,
        tensor_plan: None,
        takes_prefix: false,
        splits_tokens: false,
        shape: Some(ShapeRule {
            states: &[MixerKind::Rwkv],
            may_norm_queries_and_keys: false,
            ..ShapeRule::CLASSIC
        }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([4096, 0], 32, 1, 50_277, 1024),
    normalization: Normalization::LayerNorm,
    mlp: MlpKind::Plain,
    act: HiddenAct::Relu2,
    positions: Positions::Are(PositionEmbedding::None),
    embedding_norm: true,
    states: Some(States {
        fp32: true,
        ..States::of(MixerKind::Rwkv, Attends::Where(|_| false), [0; 5])
    }),
    ..FamilySpec::PLAIN
};
