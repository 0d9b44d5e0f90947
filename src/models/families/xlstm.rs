//! `xlstm` (transformers 5.23, `models/xlstm`): a matrix of every head in place of attention. It is served here, not trained.

use crate::models::prelude::*;

/// `xlstm`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["xlstm"],
    class: "xLSTM",
    labels: &[("xlstm", "xLSTM")],
    sizes: Sizes::of([4096, 0], 32, 1, 50_304, 4096),
    inner: InnerWidth::Factor(2.667),
    positions: Positions::Are(PositionEmbedding::None),
    logit_cap: Flag::Number("final_logit_softcapping", true),
    further_widths_repeat_hidden: true,
    states: Some(States { fp32: true, ..States::of(MixerKind::Mlstm, Attends::Where(|_| false), [8, 0, 0, 0, 0]) }),
    only: &[
        Only::else_refused("add_out_norm", &["true"], "no norm before the output head"),
        Only::else_refused("tie_word_embeddings", &["false"], "a tied output head that its modules do not tie"),
    ],
    // Tokens that training and prefill compute at once.
    not_looked_at: &["chunk_size", "max_inference_chunksize"],
    ..FamilySpec::PLAIN
};
