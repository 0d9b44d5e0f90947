//! `xmod` (transformers 5.23, `models/xmod`): RoBERTa with an adapter for every language in each
//! block.

use crate::models::prelude::*;

/// `xmod`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["xmod"],
    class: "Xmod",
    labels: &[("xmod", "X-MOD")],
    modules: &Modules {
        model_type: "xmod",
        choice: FamilyChoice { rank: 85, word: "xmod", label: "X-MOD" },
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        encoder: EncoderModules {
            trains: false,
            further: &[
                Further::in_blocks("adapters down", [Extent::Own(0), Extent::Hidden]),
                Further::vector_in_blocks("adapters' biases down", Extent::Own(0)),
                Further::in_blocks("adapters up", [Extent::Hidden, Extent::Own(0)]),
                Further::in_blocks("adapters' biases up", [Extent::Own(1), Extent::Hidden]),
            ],
            ..EncoderModules::PLAIN
        },
        ..*super::roberta::FAMILY.modules
    },
    own_rule: OwnSizes::Adapters,
    sizes: Sizes::of([768, 3072], 12, 12, 30_522, 512),
    not_looked_at: &["adapter_reuse_layer_norm", "ln_before_adapter"],
    only: &[
        Only::else_refused("pre_norm", &["false"], "norms before each half"),
        Only::else_refused("adapter_layer_norm", &["false"], "adapters with norms of their own"),
    ],
    keeps: Some(keeps_heads),
    ..super::roberta::FAMILY
};
