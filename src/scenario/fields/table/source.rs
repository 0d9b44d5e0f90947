//! Keys of `config.json` files of an encoder beside a decoder. The file's own value, or the
//! library's default, is the default.

use super::{LENGTH, SIZE};

fields! { $
    /// Blocks of the encoder.
    EncoderLayers("encoder-layers", "encoder_layers", "Encoder: layers").whole(1..=10_000).step(1).of_file(),
    /// Blocks of the decoder.
    DecoderLayers("decoder-layers", "decoder_layers", "Decoder: layers").whole(1..=10_000).step(1).of_file(),
    /// Query heads of the encoder.
    EncoderHeads("encoder-attention-heads", "encoder_attention_heads", "Encoder: heads").whole(1..=SIZE).step(1).of_file(),
    /// Query heads of the decoder.
    DecoderHeads("decoder-attention-heads", "decoder_attention_heads", "Decoder: heads").whole(1..=SIZE).step(1).of_file(),
    /// Inner width of the encoder's feed-forward layers.
    EncoderInner("encoder-ffn-dim", "encoder_ffn_dim", "Encoder: feed-forward width").whole(1..=SIZE).step(64).of_file(),
    /// Inner width of the decoder's feed-forward layers.
    DecoderInner("decoder-ffn-dim", "decoder_ffn_dim", "Decoder: feed-forward width").whole(1..=SIZE).step(64).of_file(),
    /// Blocks of the encoder.
    NumLayers("num-layers", "num_layers", "Encoder: layers").whole(1..=10_000).step(1).of_file(),
    /// Blocks of the decoder; empty: as many as the encoder's.
    NumDecoderLayers("num-decoder-layers", "num_decoder_layers", "Decoder: layers").whole(1..=10_000).step(1).optional().of_file(),
    /// The activation function, with `gated-` before it where another matrix gates it.
    FeedForwardProj("feed-forward-proj", "feed_forward_proj", "Feed-forward layer").text(40).of_file(),
    /// Tokens of the longest source.
    MaxSource("max-encoder-position-embeddings", "max_encoder_position_embeddings", "Longest source")
        .whole(1..=LENGTH).step(64).of_file(),
    /// Tokens of the longest target.
    MaxTarget("max-decoder-position-embeddings", "max_decoder_position_embeddings", "Longest target")
        .whole(1..=LENGTH).step(64).of_file(),
    /// Frames of the longest source.
    MaxSourcePositions("max-source-positions", "max_source_positions", "Longest source").whole(1..=LENGTH).step(64).of_file(),
    /// Tokens of the longest target.
    MaxTargetPositions("max-target-positions", "max_target_positions", "Longest target").whole(1..=LENGTH).step(64).of_file(),
    /// Bands of frequency of a frame.
    NumMelBins("num-mel-bins", "num_mel_bins", "Mel bins").whole(1..=SIZE).step(16).of_file(),
    /// Words in which sources are written.
    SrcVocabSize("src-vocab-size", "src_vocab_size", "Words of the source").whole(1..=SIZE).step(64).of_file(),
    /// Words in which targets are written.
    TgtVocabSize("tgt-vocab-size", "tgt_vocab_size", "Words of the target").whole(1..=SIZE).step(64).of_file(),
    /// Blocks of the encoder that have experts.
    SparseEncoder("num-sparse-encoder-layers", "num_sparse_encoder_layers", "Encoder: layers with experts").whole(1..=10_000).step(1).of_file(),
    /// Blocks of the decoder that have experts.
    SparseDecoder("num-sparse-decoder-layers", "num_sparse_decoder_layers", "Decoder: layers with experts").whole(1..=10_000).step(1).of_file(),
    /// Composers that have an embedding.
    Composers("composer-vocab-size", "composer_vocab_size", "Composers").whole(1..=SIZE).step(1).of_file(),
    /// Tokens of the encoder's own that see the whole text.
    GlobalTokens("num-global-tokens", "num_global_tokens", "Tokens that see all").whole(1..=SIZE).step(1).of_file(),
    /// Tokens that the decoder predicts at once.
    Ngram("ngram", "ngram", "Tokens predicted at once").whole(1..=SIZE).step(1).of_file(),
    /// Classes of distance, each with a score.
    NumBuckets("num-buckets", "num_buckets", "Classes of distance").whole(1..=SIZE).step(1).of_file(),
    /// Blocks of the encoder.
    NumEncoderLayers("num-encoder-layers", "num_encoder_layers", "Encoder: layers").whole(1..=10_000).step(1).of_file(),
    /// Query heads of the encoder.
    NumEncoderHeads("num-encoder-attention-heads", "num_encoder_attention_heads", "Encoder: heads").whole(1..=SIZE).step(1).of_file(),
    /// Query heads of the decoder.
    NumDecoderHeads("num-decoder-attention-heads", "num_decoder_attention_heads", "Decoder: heads").whole(1..=SIZE).step(1).of_file(),
    /// Every so many-th block of the encoder has experts.
    EncoderSparseStep("encoder-sparse-step", "encoder_sparse_step", "Encoder: experts in every").whole(1..=10_000).step(1).of_file(),
    /// The encoder of sound: width.
    SoundHiddenDim("vision-config.hidden-dim", "vision_config.hidden_dim", "Sound: width").whole(1..=SIZE).step(1).of_file(),
    /// The encoder of sound: feed-forward factor.
    SoundFeedforwardMult("vision-config.feedforward-mult", "vision_config.feedforward_mult", "Sound: feed-forward factor").whole(1..=SIZE).step(1).of_file(),
    /// The encoder of sound: layers.
    SoundNumLayers("vision-config.num-layers", "vision_config.num_layers", "Sound: layers").whole(1..=SIZE).step(1).of_file(),
    /// The encoder of sound: width of a head.
    SoundDimHead("vision-config.dim-head", "vision_config.dim_head", "Sound: width of a head").whole(1..=SIZE).step(1).of_file(),
    /// The encoder of sound: numbers of a frame.
    SoundInputDim("vision-config.input-dim", "vision_config.input_dim", "Sound: numbers of a frame").whole(1..=SIZE).step(1).of_file(),
    /// The encoder of sound: longest distance.
    SoundMaxPosEmb("vision-config.max-pos-emb", "vision_config.max_pos_emb", "Sound: longest distance").whole(1..=SIZE).step(1).of_file(),
    /// The encoder of sound: convolution's factor.
    SoundConvExpansionFactor("vision-config.conv-expansion-factor", "vision_config.conv_expansion_factor", "Sound: convolution's factor").whole(1..=SIZE).step(1).of_file(),
    /// The encoder of sound: classes of sounds.
    SoundOutputDim("vision-config.output-dim", "vision_config.output_dim", "Sound: classes of sounds").whole(1..=SIZE).step(1).of_file(),
    /// Sound: frames of a window.
    SoundWindowSize("window-size", "window_size", "Sound: frames of a window").whole(1..=SIZE).step(1).of_file(),
    /// Sound: frames of a query.
    SoundDownsampleRate("downsample-rate", "downsample_rate", "Sound: frames of a query").whole(1..=SIZE).step(1).of_file(),
    /// The encoder beside the decoder: width.
    EncHidden("encoder.hidden-size", "encoder.hidden_size", "Encoder: width").whole(1..=SIZE).step(1).of_file(),
    /// The encoder beside the decoder: heads.
    EncHeads("encoder.num-attention-heads", "encoder.num_attention_heads", "Encoder: heads").whole(1..=SIZE).step(1).of_file(),
    /// The encoder beside the decoder: key/value heads.
    EncKeyHeads("encoder.num-key-value-heads", "encoder.num_key_value_heads", "Encoder: key/value heads").whole(1..=SIZE).step(1).of_file(),
    /// The encoder beside the decoder: width of a head.
    EncHead("encoder.head-dim", "encoder.head_dim", "Encoder: width of a head").whole(1..=SIZE).step(1).of_file(),
    /// The encoder beside the decoder: feed-forward width.
    EncInner("encoder.intermediate-size", "encoder.intermediate_size", "Encoder: feed-forward width").whole(1..=SIZE).step(1).of_file(),
    /// The encoder beside the decoder: words.
    EncWords("encoder.vocab-size", "encoder.vocab_size", "Encoder: words").whole(1..=SIZE).step(1).of_file(),
    /// The encoder beside the decoder: layers.
    EncLayers("encoder.num-hidden-layers", "encoder.num_hidden_layers", "Encoder: layers").whole(1..=SIZE).step(1).of_file(),
    /// Numbers of a frame of sound.
    FurtherFeatures("further-config.input-feat-per-channel", "further_config.input_feat_per_channel", "Sound: numbers of a frame").whole(1..=SIZE).step(1).of_file(),
    /// Channels that a sound has.
    SoundChannels("further-config.input-channels", "further_config.input_channels", "Sound: channels").whole(1..=SIZE).step(1).of_file(),
    /// Columns of the first convolution.
    FurtherConvChannels("further-config.conv-channels", "further_config.conv_channels", "Sound: columns of convolutions").whole(1..=SIZE).step(1).of_file(),
    /// Columns of the convolutions.
    FurtherSubsampled("further-config.subsampling-conv-channels", "further_config.subsampling_conv_channels", "Sound: columns of convolutions").whole(1..=SIZE).step(1).of_file(),
    /// Moments that a convolution sees.
    FurtherConvPlaces("further-config.conv-kernel-size", "further_config.conv_kernel_size", "Sound: moments of a convolution").whole(1..=SIZE).step(1).of_file(),
    /// Blocks that predict times.
    FurtherTimes("further-config.num-timestamp-prediction-layers", "further_config.num_timestamp_prediction_layers", "Sound: layers of times").whole(0..=10_000).step(1).of_file(),
    /// Heads of the encoder.
    FurtherEncoderHeads("further-config.encoder-attention-heads", "further_config.encoder_attention_heads", "Sound: heads").whole(1..=SIZE).step(1).of_file(),
    /// The longest distance that has an embedding.
    FurtherDistances("further-config.encoder-max-relative-position", "further_config.encoder_max_relative_position", "Sound: longest distance").whole(1..=SIZE).step(1).of_file(),
    /// Width between the projector's matrices.
    VisionProjected("vision-config.projector-hidden-size", "vision_config.projector_hidden_size", "Projector: width inside").whole(1..=SIZE).step(1).of_file(),
    /// Frames that the projector reads at once.
    VisionTogether("vision-config.downsample-factor", "vision_config.downsample_factor", "Projector: frames at once").whole(1..=SIZE).step(1).of_file(),
    /// Blocks of the encoder beside the decoder.
    EncoderNumLayers("encoder-num-hidden-layers", "encoder_num_hidden_layers", "Encoder: layers").whole(1..=10_000).step(1).of_file(),
    /// Query heads of the encoder.
    EncoderNumHeads("encoder-num-attention-heads", "encoder_num_attention_heads", "Encoder: heads").whole(1..=SIZE).step(1).of_file(),
    /// Key/value heads of the encoder.
    EncoderNumKeys("encoder-num-key-value-heads", "encoder_num_key_value_heads", "Encoder: key/value heads").whole(1..=SIZE).step(1).optional().of_file(),
    /// Codes of each moment, each with a table of its own; of an image, its colours.
    NumChannels("num-channels", "num_channels", "Channels").whole(1..=SIZE).step(1).of_file(),
    /// Query heads that read the encoder.
    CrossHeads("cross-num-attention-heads", "cross_num_attention_heads", "Cross-attention: heads").whole(1..=SIZE).step(1).of_file(),
    /// Key/value heads of what the encoder made.
    CrossKeys("cross-num-key-value-heads", "cross_num_key_value_heads", "Cross-attention: key/value heads").whole(1..=SIZE).step(1).of_file(),
    /// Width of a head that reads the encoder.
    CrossHead("cross-head-dim", "cross_head_dim", "Cross-attention: head size").whole(1..=SIZE).step(1).of_file(),
    /// Width of what the encoder made.
    CrossHidden("cross-hidden-size", "cross_hidden_size", "Cross-attention: width of the source").whole(1..=SIZE).step(1).of_file(),
    /// Blocks of the encoder of speech.
    SpeechLayers("speech-encoder-layers", "speech_encoder_layers", "Speech: layers").whole(1..=10_000).step(1).of_file(),
    /// Inner width of its feed-forward layers.
    SpeechInner("speech-encoder-intermediate-size", "speech_encoder_intermediate_size", "Speech: feed-forward width").whole(1..=SIZE).step(1).of_file(),
    /// Heads of the encoder of speech.
    SpeechHeads("speech-encoder-attention-heads", "speech_encoder_attention_heads", "Speech: heads").whole(1..=SIZE).step(1).of_file(),
    /// Numbers of a frame of speech.
    SpeechBands("feature-projection-input-dim", "feature_projection_input_dim", "Speech: numbers of a frame").whole(1..=SIZE).step(1).of_file(),
    /// Moments that a convolution sees.
    SpeechPlaces("conv-depthwise-kernel-size", "conv_depthwise_kernel_size", "Speech: moments of a convolution").whole(1..=SIZE).step(1).of_file(),
    /// Blocks that make fewer frames.
    SpeechAdapters("num-adapter-layers", "num_adapter_layers", "Speech: layers behind the encoder").whole(0..=10_000).step(1).of_file(),
    /// Frames that become one.
    SpeechAdapterPlaces("adaptor-kernel-size", "adaptor_kernel_size", "Speech: frames behind the encoder").whole(1..=SIZE).step(1).of_file(),
    /// Width of what cross-attention reads.
    CrossWidth("cross-attention-hidden-size", "cross_attention_hidden_size", "Width of what is read").whole(1..=SIZE).step(64).optional().of_file(),
    /// Pixels of a patch's side.
    PatchSide("patch-size", "patch_size", "Patch").whole(1..=SIZE).step(1).of_file(),
    /// The encoder beside the decoder: width of a head.
    EncHeadWidth("encoder.d-kv", "encoder.d_kv", "Encoder: width of a head").whole(1..=SIZE).step(1).of_file(),
    /// The encoder beside the decoder: feed-forward width.
    EncFeed("encoder.d-ff", "encoder.d_ff", "Encoder: feed-forward width").whole(1..=SIZE).step(1).of_file(),
    /// The encoder beside the decoder: numbers of a patch.
    EncPatch("encoder.patch-embed-hidden-size", "encoder.patch_embed_hidden_size", "Encoder: numbers of a patch").whole(1..=SIZE).step(1).of_file(),
    /// The encoder beside the decoder: places along an axis.
    EncPlaces("encoder.seq-len", "encoder.seq_len", "Encoder: places along an axis").whole(1..=SIZE).step(1).of_file(),
    /// Blocks of the vision tower whose output feeds the text's first blocks.
    VisionFedBehind("vision-config.deepstack-visual-indexes-behind", "vision_config.deepstack_visual_indexes_behind", "Vision: which blocks feed the text").layers().of_file(),
    /// Resolutions that an image is cut into, in tiles: places in a square of eight by eight.
    GridsInTiles("image-grid-pinpoints-in-tiles", "image_grid_pinpoints_in_tiles", "Images: resolutions in tiles").layers().of_file(),
}
