//! `seamless_m4t` from speech to text (transformers 5.23, `models/seamless_m4t`): M2M-100's
//! decoder, which reads a conformer's output. The class tells such a file; its parameters are
//! counted alone.

use crate::models::prelude::*;

/// Blocks of a conformer, whose positions take so many parameters in each, and what stands around
/// them: a matrix to their width, a feed-forward layer behind them, and blocks that make fewer
/// frames of them.
pub(super) fn conformer(
    model: &Counted,
    [layers, inner, bands, places, adapters, ..]: &Own,
    positions: u64,
    kernel: u64,
) -> u64 {
    let h = model.hidden_size;
    let (feed_forward, norm, attention) = (2 * h * inner + inner + h, 2 * h, 4 * (h * h + h));
    let convolution = norm + 2 * h * h + h * places + norm + h * h;
    let block = 2 * (norm + feed_forward) + norm + attention + positions + convolution + norm;
    let fewer = 2 * (norm + 2 * h * h * kernel + 2 * h) + attention + norm + feed_forward;
    layers * block + 2 * bands + bands * h + h + norm + feed_forward + adapters * fewer + norm
}

/// Words of the decoder's own, where weights are not tied.
pub(super) fn own_words(model: &Counted) -> u64 {
    u64::from(!model.tie_word_embeddings) * model.vocab_size * model.hidden_size
}

/// The decoder's attention, and the conformer with a matrix and two biases for distances.
fn rest(model: &Counted, own: &Own, said: Said<'_>) -> u64 {
    let h = model.hidden_size;
    let [_, _, _, _, _, kernel, ..] = own;
    own_words(model)
        + attention_twice(model, own, said)
        + conformer(model, own, h * h + 2 * h, *kernel)
}

/// `seamless_m4t`, saved as a model that reads speech.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["seamless_m4t_speech"],
    told_by_class: &["seamless_m4t"],
    class: "SeamlessM4TForSpeech",
    labels: &[("seamless_m4t_speech", "SeamlessM4T for speech")],
    modules: &Modules {
        model_type: "seamless_m4t_speech",
        choice: FamilyChoice { rank: 708, word: "seamlessspeech", label: "SeamlessM4T for speech" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    own_names: &[
        ("num_hidden_layers", &["decoder_layers"]),
        ("num_attention_heads", &["decoder_attention_heads"]),
    ],
    own_sizes: &[
        ("speech_encoder_layers", 24),
        ("speech_encoder_intermediate_size", 4096),
        ("feature_projection_input_dim", 160),
        ("conv_depthwise_kernel_size", 31),
        ("num_adapter_layers", 1),
        ("adaptor_kernel_size", 8),
    ],
    only: &[
        Only::else_refused(
            "position_embeddings_type",
            &["relative"],
            "positions of another kind in its encoder",
        ),
        Only::else_refused("add_adapter", &["true"], "no blocks behind its encoder"),
    ],
    key_value_heads: KeyValueHeads::AsQueryHeads,
    inner: InnerWidth::Stated(&["decoder_ffn_dim"]),
    not_looked_at: super::seamless_m4t::ELSEWHERE,
    sizes: Sizes::of([1024, 8192], 24, 16, 256_102, 1024),
    act: HiddenAct::Relu,
    positions: Positions::Are(PositionEmbedding::None),
    norms: Norms::Are(3),
    tied: true,
    ..FamilySpec::CLASSIC
};
