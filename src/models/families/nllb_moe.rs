//! `nllb-moe` (transformers 5.23, `models/nllb_moe`): M2M-100 with experts in every so many-th
//! block; these are counted alone.

use crate::models::prelude::*;

/// Routers of so many blocks, and all their experts but one for each block, whose place is a dense
/// layer's.
const fn experts(blocks: Extent, experts: Extent) -> [Further; 5] {
    [
        Further::times(blocks, "router weight", [Extent::Own(0), Extent::Hidden]),
        Further::times(experts, "up weights of further experts", [Extent::Inner, Extent::Hidden]),
        Further::vectors(experts, "up biases of further experts", Extent::Inner),
        Further::times(experts, "down weights of further experts", [Extent::Inner, Extent::Hidden]),
        Further::vectors(experts, "down biases of further experts", Extent::Hidden),
    ]
}

const EXPERTS: [Further; 5] = experts(Extent::Own(5), Extent::Own(6));
const EXPERTS_OF_ENCODER: [Further; 5] = experts(Extent::Own(3), Extent::Own(4));

/// Blocks with experts, and all experts of these but one, of the encoder and of the decoder.
fn finish(model: &mut ModelConfig) {
    let layers = model.num_hidden_layers;
    let Some(source) = &mut model.source else { return };
    let [count, in_encoder, in_decoder, ..] = source.own;
    let blocks = |layers: u64, step: u64| layers.checked_div(step).unwrap_or(0);
    let of_decoder = layers.saturating_sub(source.layers);
    for (place, number) in
        [(3, blocks(source.layers, in_encoder)), (5, blocks(of_decoder, in_decoder))]
    {
        source.own[place] = number;
        source.own[place + 1] = number.saturating_mul(count.saturating_sub(1));
    }
}

/// `nllb-moe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["nllb-moe"],
    class: "NllbMoe",
    labels: &[("nllb-moe", "NLLB-MoE")],
    modules: &Modules {
        model_type: "nllb-moe",
        choice: FamilyChoice { rank: 175, word: "nllbmoe", label: "NLLB-MoE" },
        encoder: EncoderModules {
            trains: false,
            further: &EXPERTS,
            ..super::m2m_100::FAMILY.modules.encoder
        },
        source: Some(&Modules {
            keeps_sines: true,
            encoder: EncoderModules { further: &EXPERTS_OF_ENCODER, ..super::bart::SOURCE.encoder },
            ..super::bart::SOURCE
        }),
        ..*super::m2m_100::FAMILY.modules
    },
    own_sizes: &[("num_experts", 128), ("encoder_sparse_step", 4), ("decoder_sparse_step", 4)],
    source: Some(SourceKeys { finish, ..SourceKeys::encoder(12, 16, 4096) }),
    only: &[Only::else_refused("router_bias", &["false"], "biases of routers")],
    not_looked_at: &[
        "encoder_layerdrop",
        "decoder_layerdrop",
        "expert_capacity",
        "second_expert_policy",
    ],
    sizes: Sizes::of([1024, 4096], 12, 16, 128_112, 1024),
    ..super::m2m_100::FAMILY
};
