//! `helium` (transformers 5.23, `models/helium`): llama in other sizes; heads must fill the hidden
//! size.

use crate::models::prelude::*;

/// `helium`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["helium"],
    class: "Helium",
    heads_fill_hidden: true,
    modules: &Modules {
        model_type: "helium",
        choice: FamilyChoice { rank: 187, word: "helium", label: "Helium" },
        measured: Modules::PLAIN.measured,
        norm: NormStyle::ScaledByCopy,
        rotation: RotationStyle::WholeByRepeatedTables,
        ..*super::llama::FAMILY.modules
    },
    sizes: Sizes::of([2560, 7040], 24, 20, 48_000, 4096).kv(20).head(128),
    output_bias: Flag::Is(false),
    ..super::llama::FAMILY
};
