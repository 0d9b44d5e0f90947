//! `fnet` (transformers 5.23, `models/fnet`): BERT with a Fourier transform in the place of
//! attention. Its parameters are counted alone.

use crate::models::prelude::*;

/// A matrix behind the embedding.
fn rest(model: &Counted, _: &Own, _: Said<'_>) -> u64 {
    let h = model.hidden_size;
    h * h + h
}

/// `fnet`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["fnet"],
    class: "FNet",
    labels: &[("fnet", "FNet")],
    modules: &Modules {
        model_type: "fnet",
        choice: FamilyChoice { rank: 98, word: "fnet", label: "FNet" },
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        block: BlockLayout::PreNorm,
        shape: None,
        encoder: EncoderModules { pools: true, ..EncoderModules::COUNTED },
        ..*super::bert::FAMILY.modules
    },
    own_rule: OwnSizes::Rest(rest),
    // Without attention one head stands for the whole width.
    sizes: Sizes::of([768, 3072], 12, 1, 32_000, 512),
    act: HiddenAct::GeluNew,
    encoder: Some(Encoder { type_vocab_size: 4, ..Encoder::BERT }),
    not_looked_at: &["tpu_short_seq_length"],
    ..super::bert::FAMILY
};
