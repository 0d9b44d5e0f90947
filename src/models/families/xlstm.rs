//! `xlstm` (transformers 5.23, `models/xlstm`): a matrix of every head in place of attention.

use crate::models::prelude::*;

/// `xlstm`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["xlstm"],
    class: "xLSTM",
    labels: &[("xlstm", "xLSTM")],
    modules: &Modules {
        model_type: "xlstm",
        choice: FamilyChoice { rank: 656, word: "xlstm", label: "xLSTM" },
        position_ids: PositionIds::Nowhere,
        casts_logits: true,
        tensor_plan: None,
        takes_prefix: false,
        splits_tokens: false,
        shape: Some(ShapeRule {
            states: &[MixerKind::Mlstm],
            may_norm_queries_and_keys: false,
            ..ShapeRule::PLAIN
        }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([4096, 0], 32, 1, 50_304, 4096),
    inner: InnerWidth::Factor(2.667),
    positions: Positions::Are(PositionEmbedding::None),
    logit_cap: Flag::Number("final_logit_softcapping", true),
    further_widths_repeat_hidden: true,
    states: Some(States {
        fp32: true,
        ..States::of(MixerKind::Mlstm, Attends::Where(|_| false), [8, 0, 0, 0, 0])
    }),
    only: &[
        Only::else_refused("add_out_norm", &["true"], "no norm before the output head"),
        Only::else_refused(
            "tie_word_embeddings",
            &["false"],
            "a tied output head that its modules do not tie",
        ),
    ],
    // Tokens that prefill computes at once.
    not_looked_at: &["max_inference_chunksize"],
    ..FamilySpec::PLAIN
};
