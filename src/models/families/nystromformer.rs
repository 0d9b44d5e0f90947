//! `nystromformer` (transformers 5.23, `models/nystromformer`): BERT with attention to landmarks
//! and a convolution beside it.

use crate::models::prelude::*;

/// `nystromformer`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["nystromformer"],
    class: "Nystromformer",
    labels: &[("nystromformer", "Nyströmformer")],
    modules: &Modules {
        model_type: "nystromformer",
        choice: FamilyChoice { rank: 78, word: "nystromformer", label: "Nyströmformer" },
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        encoder: EncoderModules {
            trains: false,
            further: &[Further::in_blocks("convolution weight", [Extent::Heads, Extent::Own(0)])],
            ..EncoderModules::PLAIN
        },
        ..*super::bert::FAMILY.modules
    },
    sizes: Sizes::of([768, 3072], 12, 12, 30_000, 510),
    positions: Positions::LearnedPlus(2),
    act: HiddenAct::GeluNew,
    own_sizes: &[("conv_kernel_size", 65)],
    not_looked_at: &["segment_means_seq_len"],
    ..super::bert::FAMILY
};
