//! `lfm2_moe` (transformers 5.23, `models/lfm2_moe`): LFM2 with experts behind the first dense
//! layers, chosen by corrected sigmoids.

use crate::models::prelude::*;

/// `lfm2_moe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["lfm2_moe"],
    class: "Lfm2Moe",
    labels: &[("lfm2_moe", "LFM2 MoE")],
    modules: &Modules {
        model_type: "lfm2_moe",
        choice: FamilyChoice { rank: 608, word: "lfm2-moe", label: "LFM2 MoE" },
        experts: ExpertModules {
            scores: RouterScores::CorrectedSigmoidAsScored,
            corrects_in_fp32: true,
            ..ExpertModules::PLAIN
        },
        shape: Some(ShapeRule {
            experts: ExpertsRule::Optional,
            states: &[MixerKind::Lfm2],
            ..ShapeRule::PLAIN
        }),
        ..*super::lfm2::FAMILY.modules
    },
    sizes: Sizes::of([2048, 7168], 32, 32, 65_536, 128_000).kv(8),
    inner: InnerWidth::Stated(&["intermediate_size"]),
    experts: Some(Experts {
        width: 1792,
        first_dense: 2,
        chosen_by: &["num_dense_layers"],
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(32, 4)
    }),
    ..super::lfm2::FAMILY
};
