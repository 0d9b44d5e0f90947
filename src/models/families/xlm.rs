//! `xlm` (transformers 5.23, `models/xlm`): BERT without token types and without a layer before the
//! head; several languages have an embedding each.

use crate::models::prelude::*;

/// `xlm`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["xlm"],
    class: "XLM",
    labels: &[("xlm", "XLM")],
    modules: &Modules {
        model_type: "xlm",
        choice: FamilyChoice { rank: 88, word: "xlm", label: "XLM" },
        registers_head_bias_twice: false,
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        encoder: EncoderModules {
            trains: false,
            further: &[Further::of_model("language embedding", [Extent::Own(0), Extent::Hidden])],
            ..EncoderModules::PLAIN
        },
        ..*super::bert::FAMILY.modules
    },
    older_names: true,
    inner: InnerWidth::FourTimes,
    own_rule: OwnSizes::Languages,
    sizes: Sizes::of([2048, 0], 12, 16, 30_145, 512),
    encoder: Some(Encoder { head_transform: false, ..Encoder::UNTYPED }),
    not_looked_at: &["layerdrop"],
    only: &[Only::else_refused("asm", &["false"], "a head of several vocabularies")],
    ..super::bert::FAMILY
};
