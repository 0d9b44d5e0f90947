//! `moss_tts_nano` (code of its own on the hub, `OpenMOSS-Team/MOSS-TTS-Nano`): GPT-2's block over
//! words and codes of sound, and a small model of the same blocks that writes a frame's codes one
//! after the other. Its parameters are counted alone.

use crate::models::prelude::*;

/// Attention, tables of codes, which their heads share, and the small model.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let (h, inner) = (model.hidden_size, model.intermediate_size);
    let codes = said("audio_codebook_sizes", "+").unwrap_or(16 * 1024);
    let small = said("", "local_transformer_layers").unwrap_or(1)
        * (attention(model) + 2 * h * inner + inner + h + 4 * h)
        + 2 * h;
    model.num_hidden_layers * attention(model) + codes * h + small
}

/// `moss_tts_nano`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["moss_tts_nano"],
    class: "MossTTSNano",
    labels: &[("moss_tts_nano", "MOSS-TTS Nano")],
    older_names: true,
    within: "gpt2_config",
    own_rule: OwnSizes::RestOfFile(rest),
    sizes: Sizes::of([768, 3072], 12, 12, 16_384, 32_768),
    normalization: Normalization::LayerNorm,
    mlp: MlpKind::Plain,
    act: HiddenAct::GeluNew,
    attention_bias: Flag::Is(true),
    output_bias: Flag::Is(true),
    mlp_bias: Flag::Is(true),
    ties: Ties::Always,
    only: &[Only::else_refused("position_embedding_type", &["rope"], "positions in a table")],
    not_looked_at: &[
        "audio_vocab_size",
        "audio_tokenizer_type",
        "n_vq",
        "model_architecture",
        "tokenizer_class",
    ],
    ..super::counted::FAMILY
};
