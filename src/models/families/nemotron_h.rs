//! `nemotron_h` (transformers 5.23, `models/nemotron_h`): layers of a state, of attention or of a
//! feed-forward layer alone.

use crate::models::prelude::*;

/// `nemotron_h`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["nemotron_h"],
    class: "NemotronH",
    labels: &[("nemotron_h", "Nemotron-H")],
    ties: Ties::Never,
    sizes: Sizes::of([4096, 21_504], 52, 32, 131_072, 4096).kv(8).head(128),
    modules: &Modules {
        model_type: "nemotron_h",
        choice: FamilyChoice { rank: 606, word: "nemotron-h", label: "Nemotron-H" },
        norm: NormStyle::ScaledByCopy,
        casts_logits: true,
        tensor_plan: None,
        takes_prefix: false,
        splits_tokens: false,
        experts: ExpertModules { scores: RouterScores::CorrectedSigmoid, ..ExpertModules::PLAIN },
        shape: Some(ShapeRule {
            experts: ExpertsRule::Optional,
            mlp: MlpKind::Plain,
            states: &[MixerKind::Mamba2],
            layers_of_states: LayersOfStates::OneEach,
            ..ShapeRule::PLAIN
        }),
        peft_spares_states: true,
        ..Modules::PLAIN
    },
    positions: Positions::Are(PositionEmbedding::None),
    mlp: MlpKind::Plain,
    act: HiddenAct::Relu2,
    experts: Some(Experts {
        width: 7688,
        shared: 1,
        narrows: true,
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(8, 2)
    }),
    states: Some(States {
        fp32: true,
        chunk: 128,
        ..States::of(MixerKind::Mamba2, Attends::MustBeListed, [128, 64, 8, 128, 4])
    }),
    // Its attention has no biases, whatever `attention_bias` says.
    attention_bias: Flag::Is(false),
    output_bias: Flag::Is(false),
    not_looked_at: &["attention_bias"],
    rotary_percent: 100.0,
    ..super::bamba::FAMILY
};
