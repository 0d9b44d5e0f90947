//! `mistral4` (transformers 5.23): latent attention, and experts in every layer that a softmax
//! chooses, beside a shared one.

use crate::models::prelude::*;

/// `mistral4`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mistral4"],
    class: "Mistral4",
    labels: &[("mistral4", "Mistral 4")],
    modules: &Modules::GENERIC,
    sizes: Sizes::of([4096, 12_288], 36, 32, 131_072, 1_048_576),
    experts: Some(Experts {
        width: 2048,
        shared: 1,
        first_dense: 0,
        chosen_by: FROM_FIRST,
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(128, 4)
    }),
    latent: Some(Latent { query_rank: 1024, rank: 256, rope: 64, nope: 64, value: 128 }),
    ..super::deepseek_v3::FAMILY
};
