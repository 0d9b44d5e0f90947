//! Keys of `config.json` files that only some families read, beside those that every shape typed by
//! hand has too. The file's own value, or the library's default, is the default.

use super::{LENGTH, SIZE, option};

fields! { $
    /// Bias vectors on the linear layers; very few parameters.
    Bias("bias", "bias", "Bias").flag().of_file(),
    /// Bias vectors on the linear layers; very few parameters.
    UseBias("use-bias", "use_bias", "Bias").flag().of_file(),
    /// Bias vectors on the linear layers; very few parameters.
    EnableBias("enable-bias", "enable_bias", "Bias").flag().of_file(),
    /// A bias vector for each of the three projections; very few parameters.
    QkvBias("qkv-bias", "qkv_bias", "Bias on queries, keys and values").flag().of_file(),
    /// A bias vector for each of the three projections; very few parameters.
    UseQkvBias("use-qkv-bias", "use_qkv_bias", "Bias on queries, keys and values").flag().of_file(),
    /// A bias vector on attention's output projection; very few parameters.
    AttentionOutBias("attention-out-bias", "attention_out_bias", "Bias on attention's output").flag().of_file(),
    /// A small norm over each query and key head; very few parameters.
    UseQkNorm("use-qk-norm", "use_qk_norm", "Norms on queries and keys").flag().of_file(),
    /// A small norm over each query and key head; very few parameters.
    QkLayernorm("qk-layernorm", "qk_layernorm", "Norms on queries and keys").flag().of_file(),
    /// One key/value head for all query heads, which makes the cache small, or one for each.
    MultiQuery("multi-query", "multi_query", "One key/value head").flag().of_file(),
    /// One key/value head for all query heads, or one for each.
    AttnType("attn-type", "attn_type", "Kind of attention")
        .choice(&[
            option("multihead-attention", "Multi-head", "A key/value head for each query head."),
            option("multiquery-attention", "Multi-query", "One key/value head."),
        ]).of_file(),
    /// Attention and feed-forward read the same input and are added together; it changes what is
    /// saved a little.
    ParallelAttn("parallel-attn", "parallel_attn", "Attention beside feed-forward").flag().of_file(),
    /// Norms before attention and feed-forward where these run side by side; few parameters.
    NormsInParallel("num-ln-in-parallel-attn", "num_ln_in_parallel_attn", "Norms side by side")
        .whole(1..=2).step(1).optional().of_file(),
    /// Scores get a linear bias in place of rotated queries and keys; no parameters.
    Alibi("alibi", "alibi", "ALiBi").flag().of_file(),
    /// A table with one row per position adds parameters.
    LearnedPositions("learned-pos-emb", "learned_pos_emb", "Learned positions").flag().of_file(),
    /// Queries and keys are rotated; no parameters.
    Rope("rope", "rope", "Rotary positions").flag().of_file(),
    /// Norms stand before attention and feed-forward, and one before the head; otherwise behind
    /// them.
    NormBefore("do-layer-norm-before", "do_layer_norm_before", "Norms before").flag().of_file(),
    /// The norm before the head is left out; very few parameters.
    NoFinalNorm("remove-final-layer-norm", "_remove_final_layer_norm", "No norm before the head").flag().of_file(),
    /// Norms have a scale and a bias. Without them the model is not modelled here.
    NormParameters("layer-norm-elementwise-affine", "layer_norm_elementwise_affine", "Norms have parameters").flag().of_file(),
    /// The feed-forward layer is so many times as wide as the model.
    ExpansionRatio("expansion-ratio", "expansion_ratio", "Feed-forward by hidden size").whole(1..=1000).step(1).optional().of_file(),
    /// Share of each head that rotary positions turn; it changes only small temporaries.
    PartialRotary("partial-rotary-factor", "partial_rotary_factor", "Rotated share of a head").number(0.0..=1.0).of_file(),
    /// Some layers look back on the window only.
    UseSlidingWindow("use-sliding-window", "use_sliding_window", "Window in use").flag().of_file(),
    /// Layers before the first one with a window.
    MaxWindowLayers("max-window-layers", "max_window_layers", "Layers without a window").whole(0..=10_000).step(1).of_file(),
    /// A norm behind attention and one behind feed-forward, beside those before them; few
    /// parameters.
    UsePostNorm("use-post-norm", "use_post_norm", "Norms behind each half").flag().of_file(),
    /// Rows of a table that says which part of its input a token belongs to; few parameters.
    TypeVocabSize("type-vocab-size", "type_vocab_size", "Token types").whole(1..=10_000).step(1).optional().of_file(),
    /// The token of padding, where rows of positions stand behind it.
    PadTokenId("pad-token-id", "pad_token_id", "Token of padding").whole(0..=SIZE).step(1).optional().of_file(),
    /// A token sees those before it alone, as in a decoder; otherwise every token sees all.
    IsDecoder("is-decoder", "is_decoder", "Used as a decoder").flag().of_file(),
    /// Of so many layers the last one sees the whole text, the others their window.
    WindowPattern("sliding-window-pattern", "sliding_window_pattern", "Window in all but every")
        .whole(1..=10_000).step(1).of_file(),
    /// Each layer's kind of attention, with runs as numbers: 5 sliding_attention, full_attention.
    /// A list shorter than the model repeats.
    LayerTypes("layer-types", "layer_types", "Kinds of layers").words(2400).of_file(),
    /// Each layer's kind, with runs as numbers: 3 mamba, attention. A list shorter than the model
    /// repeats.
    BlockTypes("layers-block-type", "layers_block_type", "Kinds of layers").words(1200).of_file(),
    /// Layers with a window; the others see the whole text.
    LayerPattern("hybrid-layer-pattern", "hybrid_layer_pattern", "Layers with a window").layers().of_file(),
    /// A letter for each layer: M a state, * attention, - a feed-forward layer, E experts.
    OverridePattern("hybrid-override-pattern", "hybrid_override_pattern", "Pattern of layers").text(1000).of_file(),
    /// Layers with attention; the others keep a state.
    AttnTypeList("attn-type-list", "attn_type_list", "Layers with attention").layers().of_file(),
    /// Layers with attention; the others keep a state.
    AttentionIndices("attn-layer-indices", "attn_layer_indices", "Layers with attention").layers().of_file(),
    /// Layers with attention; the others have a convolution.
    FullAttentionIndices("full-attn-idxs", "full_attn_idxs", "Layers with attention").layers().of_file(),
    /// Of so many layers the last one has attention, the others a state.
    FullAttentionInterval("full-attention-interval", "full_attention_interval", "Attention in every")
        .whole(1..=10_000).step(1).of_file(),
    /// Of so many layers one has attention, the others a state.
    AttnLayerPeriod("attn-layer-period", "attn_layer_period", "Attention in every").whole(1..=10_000).step(1).of_file(),
    /// The first layer with attention, counted from 0.
    AttnLayerOffset("attn-layer-offset", "attn_layer_offset", "First layer with attention").whole(0..=10_000).step(1).of_file(),
    /// Layers at the end that read the keys and values of an earlier one and keep none of their
    /// own.
    KvSharedLayers("num-kv-shared-layers", "num_kv_shared_layers", "Layers with shared keys").whole(0..=10_000).step(1).of_file(),
    /// Width of a head in the layers that see the whole text; their cache grows in proportion.
    GlobalHeadDim("global-head-dim", "global_head_dim", "Head size without a window").whole(1..=100_000).step(8).of_file(),
    /// Key/value heads in the layers that see the whole text, where one matrix makes keys and
    /// values.
    GlobalKvHeads("num-global-key-value-heads", "num_global_key_value_heads", "Key/value heads without a window")
        .whole(1..=100_000).step(1).optional().of_file(),
    /// One learned score per head in the layers that see the whole text; few parameters.
    FullSinks("add-full-attention-sink-bias", "add_full_attention_sink_bias", "Attention sinks without a window").flag().of_file(),
    /// Feed-forward layers are twice as wide where keys and values are shared.
    DoubleWideMlp("use-double-wide-mlp", "use_double_wide_mlp", "Twice as wide with shared keys").flag().of_file(),
    /// The file's experts are used.
    EnableMoe("enable-moe-block", "enable_moe_block", "Experts in use").flag().of_file(),
    /// Inner width of the dense feed-forward layers, where the feed-forward size is that of
    /// experts.
    DenseWidth("intermediate-size-mlp", "intermediate_size_mlp", "Width of dense layers").whole(1..=SIZE).step(128).of_file(),
    /// Experts that every token goes through, each as wide as a routed one.
    SharedExperts("n-shared-experts", "n_shared_experts", "Shared experts").whole(0..=100_000).step(1).of_file(),
    /// Inner width of the shared expert; 0 for none.
    SharedIntermediate("shared-intermediate-size", "shared_intermediate_size", "Width of shared experts")
        .whole(0..=SIZE).step(128).of_file(),
    /// Inner width of the shared expert; 0 for none.
    MoeSharedWidth("moe-shared-expert-intermediate-size", "moe_shared_expert_intermediate_size", "Width of shared experts")
        .whole(0..=SIZE).step(128).of_file(),
    /// Layers at the start that keep a dense feed-forward layer.
    FirstDense("first-k-dense-replace", "first_k_dense_replace", "Layers without experts").whole(0..=10_000).step(1).of_file(),
    /// The first layers, which have no experts, as LFM2 names them.
    DenseLayers("num-dense-layers", "num_dense_layers", "Layers without experts").whole(0..=10_000).step(1).of_file(),
    /// Inner width of the dense feed-forward layers before those with experts.
    PrefixDenseWidth("prefix-dense-intermediate-size", "prefix_dense_intermediate_size", "Width of dense layers")
        .whole(1..=SIZE).step(128).of_file(),
    /// Of so many layers one has experts; 1: all of them.
    MoeLayerFreq("moe-layer-freq", "moe_layer_freq", "Experts in every").whole(0..=10_000).step(1).of_file(),
    /// Of so many layers the last one has experts; 1: all of them.
    SparseStep("decoder-sparse-step", "decoder_sparse_step", "Experts in every").whole(0..=10_000).step(1).of_file(),
    /// Of so many layers the last one has experts; 1: all of them.
    InterleaveStep("interleave-moe-layer-step", "interleave_moe_layer_step", "Experts in every")
        .whole(0..=10_000).step(1).of_file(),
    /// Of so many layers the last one has experts; 1: all of them.
    MoeLayerInterval("moe-layer-interval", "moe_layer_interval", "Experts in every").whole(0..=10_000).step(1).of_file(),
    /// The first layer with experts, counted from 0.
    MoeLayerStart("moe-layer-start-index", "moe_layer_start_index", "First layer with experts").whole(0..=10_000).step(1).of_file(),
    /// The last layer with experts, counted from 0; empty: the model's last one.
    MoeLayerEnd("moe-layer-end-index", "moe_layer_end_index", "Last layer with experts")
        .whole(0..=10_000).step(1).optional().of_file(),
    /// Of so many layers one has experts.
    ExpertLayerPeriod("expert-layer-period", "expert_layer_period", "Experts in every").whole(1..=10_000).step(1).of_file(),
    /// The first layer with experts, counted from 0.
    ExpertLayerOffset("expert-layer-offset", "expert_layer_offset", "First layer with experts").whole(0..=10_000).step(1).of_file(),
    /// Each layer's kind of feed-forward part, with runs as numbers: dense, 3 sparse. A list
    /// shorter than the model repeats.
    MlpLayerTypes("mlp-layer-types", "mlp_layer_types", "Kinds of feed-forward layers").words(1200).of_file(),
    /// Layers that keep a dense feed-forward layer.
    MlpOnlyLayers("mlp-only-layers", "mlp_only_layers", "Layers without experts").layers().of_file(),
    /// How the router chooses; it changes only its small tensors.
    TopkMethod("topk-method", "topk_method", "Choice of experts").text(40).of_file(),
    /// Heads of the state space.
    MambaHeads("mamba-n-heads", "mamba_n_heads", "Heads of the state").whole(1..=SIZE).step(1).of_file(),
    /// Width of one head of the state space.
    MambaHeadDim("mamba-d-head", "mamba_d_head", "Width of its heads").whole(1..=SIZE).step(8).of_file(),
    /// Groups of heads that share the state's input and output.
    MambaGroups("mamba-n-groups", "mamba_n_groups", "Groups of its heads").whole(1..=SIZE).step(1).of_file(),
    /// Width of the state space; the state grows in proportion.
    MambaState("mamba-d-state", "mamba_d_state", "Width of the state").whole(1..=SIZE).step(8).of_file(),
    /// Tokens that the convolution before the state sees; all but one are kept.
    MambaConv("mamba-d-conv", "mamba_d_conv", "Tokens of its convolution").whole(1..=1024).step(1).of_file(),
    /// Channels of the state space, as a multiple of the hidden size.
    MambaExpand("mamba-expand", "mamba_expand", "Channels by hidden size").whole(1..=1024).step(1).of_file(),
    /// Channels of the state space; empty: a multiple of the hidden size.
    MambaChannels("mamba-d-ssm", "mamba_d_ssm", "Channels of the state").whole(1..=SIZE).step(128).optional().of_file(),
    /// A gated norm behind the state; very few parameters.
    MambaNorm("mamba-rms-norm", "mamba_rms_norm", "Norm behind the state").flag().of_file(),
    /// Format of the state that is kept between tokens.
    MambaFormat("mamba-ssm-dtype", "mamba_ssm_dtype", "Format of the state")
        .choice(&[
            option("float32", "fp32", "Four bytes for each number."),
            option("bfloat16", "bf16", "Two bytes for each number."),
            option("float16", "fp16", "Two bytes for each number."),
        ]).of_file(),
    /// Heads of the state space.
    StateHeads("num-heads", "num_heads", "Heads of the state").whole(1..=SIZE).step(1).of_file(),
    /// The feed-forward size is shrunk to two thirds and rounded up.
    AdjustFeedForward("block-auto-adjust-ff-dim", "block_auto_adjust_ff_dim", "Feed-forward size adjusted").flag().of_file(),
    /// The adjusted feed-forward size is multiplied by it.
    FeedForwardFactor("block-ffn-dim-multiplier", "block_ffn_dim_multiplier", "Factor of the adjusted size")
        .number(0.0..=100.0).of_file(),
    /// The adjusted feed-forward size is rounded up to a multiple of it.
    FeedForwardMultiple("block-multiple-of", "block_multiple_of", "Multiple of the adjusted size").whole(1..=LENGTH).step(64).of_file(),
    /// Width of the embedding, which a dense layer brings to the hidden size.
    EmbeddingSize("embedding-size", "embedding_size", "Embedding width").whole(1..=SIZE).step(64).optional().of_file(),
    /// Width of the embedding, which a dense layer brings to the hidden size.
    InputEmbeddingSize("input-embedding-size", "input_embedding_size", "Embedding width").whole(1..=SIZE).step(64).of_file(),
    /// Width of what the output head multiplies.
    OutputEmbeddingSize("output-embedding-size", "output_embedding_size", "Width before the head").whole(1..=SIZE).step(64).of_file(),
    /// Tokens that a local layer looks around on, half of them to either side.
    LocalAttention("local-attention", "local_attention", "Window of local layers").whole(1..=LENGTH).step(64).of_file(),
    /// Of so many layers one sees the whole text.
    GlobalAttentionEvery("global-attn-every-n-layers", "global_attn_every_n_layers", "Global layers: one in").whole(1..=10_000).step(1).of_file(),
    /// Distances between tokens that have a learned bias of their own.
    RelativeBuckets("relative-attention-num-buckets", "relative_attention_num_buckets", "Classes of distance").whole(1..=SIZE).step(1).of_file(),
    /// Rows of the table of sounds.
    SoundRows("pronunciation-vocab-size", "pronunciation_vocab_size", "Sounds").whole(1..=SIZE).step(1).of_file(),
    /// Width of embedded sounds.
    SoundWidth("pronunciation-embed-dim", "pronunciation_embed_dim", "Width of sounds").whole(1..=SIZE).step(64).of_file(),
    /// Rows of the table of shapes.
    ShapeRows("shape-vocab-size", "shape_vocab_size", "Shapes").whole(1..=SIZE).step(1).of_file(),
    /// Width of embedded shapes.
    ShapeWidth("shape-embed-dim", "shape_embed_dim", "Width of shapes").whole(1..=SIZE).step(64).of_file(),
    /// Rows of the tables of places in a page.
    PagePositions("max-2d-position-embeddings", "max_2d_position_embeddings", "Places in a page").whole(1..=SIZE).step(1).of_file(),
    /// A bias vector on the output head; very few parameters.
    DecoderBias("decoder-bias", "decoder_bias", "Bias on the output head").flag().of_file(),
    /// Positions are added to embedded tokens.
    PositionBiasedInput("position-biased-input", "position_biased_input", "Positions in the input").flag().of_file(),
    /// Scores hold products with embedded distances between tokens.
    RelativeAttention("relative-attention", "relative_attention", "Scores of distances").flag().of_file(),
    /// The longest distance that has an embedding; empty: the longest text.
    MaxRelativePositions("max-relative-positions", "max_relative_positions", "Longest distance")
        .whole(1..=LENGTH).step(64).optional().of_file(),
    /// Classes of distances, each with an embedding; empty: every distance has one.
    PositionBuckets("position-buckets", "position_buckets", "Classes of distances").whole(1..=LENGTH).step(64).optional().of_file(),
    /// Embedded distances go through the projections of queries and keys.
    ShareAttKey("share-att-key", "share_att_key", "Shared projections").flag().of_file(),
    /// The parts that embedded distances meet: c2p for queries, p2c for keys.
    PosAttType("pos-att-type", "pos_att_type", "Products with distances").text(40).of_file(),
    /// The norm of embedded distances: layer_norm, or none.
    NormRelEbd("norm-rel-ebd", "norm_rel_ebd", "Norm of distances").text(40).of_file(),
    /// Tokens that the convolution beside attention sees; empty: there is none.
    ConvKernelSize("conv-kernel-size", "conv_kernel_size", "Tokens of the convolution").whole(1..=LENGTH).step(1).optional().of_file(),
    /// Tokens that the convolution beside attention sees; empty: there is none.
    ConvWindow("conv-window", "conv_window", "Tokens of the convolution").whole(1..=LENGTH).step(1).optional().of_file(),
    /// Rows of the table of entities.
    EntityRows("entity-vocab-size", "entity_vocab_size", "Entities").whole(1..=SIZE).step(1).of_file(),
    /// Width of embedded entities.
    EntityWidth("entity-emb-size", "entity_emb_size", "Width of entities").whole(1..=SIZE).step(64).of_file(),
    /// Rows of the tables of token types.
    TypeRows("type-vocab-sizes", "type_vocab_sizes", "Token types of tables").text(80).of_file(),
    /// Languages that have an adapter, with bars between.
    Languages("languages", "languages", "Languages").text(1200).of_file(),
    /// An adapter is narrower than the model by this factor.
    AdapterReduction("adapter-reduction-factor", "adapter_reduction_factor", "Narrowing of adapters").whole(1..=SIZE).step(1).of_file(),
    /// Languages have an embedding each.
    UseLangEmb("use-lang-emb", "use_lang_emb", "Embedded languages").flag().of_file(),
    /// Languages of the model.
    NumLanguages("n-langs", "n_langs", "Languages").whole(1..=SIZE).step(1).of_file(),
    /// How positions enter an encoder of proteins: rotary.
    PositionEmbeddingType("position-embedding-type", "position_embedding_type", "Positions").text(40).of_file(),
    /// Masked tokens are dropped, and the others scaled up.
    TokenDropout("token-dropout", "token_dropout", "Masked tokens dropped").flag().of_file(),
    /// Biases on queries, keys and values.
    AddQkvBias("add-qkv-bias", "add_qkv_bias", "Biases on queries, keys, values").flag().of_file(),
    /// Biases on the other matrices of a block.
    AddBiasLinear("add-bias-linear", "add_bias_linear", "Biases on other matrices").flag().of_file(),
    /// Attention keeps latents in place of keys and values.
    UseMla("use-mla", "use_mla", "Latent attention").flag().of_file(),
    /// Inner width of dense layers, where the other width is that of experts.
    DenseLayersInner("dense-intermediate-size", "dense_intermediate_size", "Width of dense layers").whole(1..=SIZE).step(1).of_file(),
    /// Tokens of a block of keys that an indexer scores.
    IndexBlockSize("index-block-size", "index_block_size", "Tokens of a block").whole(1..=SIZE).step(1).of_file(),
    /// Blocks of keys that a query sees of those that an indexer scores.
    IndexTopkBlocks("index-topk-blocks", "index_topk_blocks", "Blocks seen").whole(1..=SIZE).step(1).of_file(),
    /// Which layers have an indexer of their own: full or shared.
    IndexerTypes("indexer-types", "indexer_types", "Indexers of layers").words(1200).of_file(),
    /// Inner width of the layers that gate norms.
    GatedNormRank("gated-norm-rank", "gated_norm_rank", "Rank of norms' gates").whole(1..=SIZE).step(1).of_file(),
    /// Residual streams that are mixed before each half of a block.
    HcMult("hc-mult", "hc_mult", "Streams").whole(1..=SIZE).step(1).of_file(),
    /// How often the weights of streams are made to sum to 1; every time leaves a small tensor for
    /// backward.
    SinkhornTurns("hc-sinkhorn-iters", "hc_sinkhorn_iters", "Turns of their weights").whole(1..=1000).step(1).of_file(),
    /// The first layers, whose experts are read off a table of tokens.
    HashedLayers("num-hash-layers", "num_hash_layers", "Layers with a table of experts").whole(0..=10_000).step(1).of_file(),
    /// Tokens that become one key: in layers that choose among these, and in those that see all.
    CompressRates("compress-rates", "compress_rates", "Tokens of a key").text(80).of_file(),
    /// Experts that hand on what they are given.
    ZeroExperts("zero-expert-num", "zero_expert_num", "Experts that do nothing").whole(0..=SIZE).step(1).optional().of_file(),
    /// Kinds of segments of a text.
    SegmentTypes("segment-types", "segment_types", "Segments").whole(1..=SIZE).step(1).of_file(),
    /// Kinds of learned prompts.
    LearnedPrompts("prompt-types", "prompt_types", "Prompts").whole(1..=SIZE).step(1).of_file(),
    /// Tokens of a learned prompt.
    LearnedPromptLength("prompt-length", "prompt_length", "Tokens of a prompt").whole(1..=SIZE).step(1).of_file(),
    /// Classes of distances that have a bias of scores.
    PositionBiasBuckets("position-bias-num-buckets", "position_bias_num_buckets", "Classes of distances").whole(1..=SIZE).step(1).of_file(),
    /// Width of one head of attention.
    DimHead("dim-head", "dim_head", "Head size").whole(1..=SIZE).step(1).of_file(),
    /// Groups of heads whose output is projected apart.
    OGroups("o-groups", "o_groups", "Groups of the output").whole(1..=SIZE).step(1).of_file(),
    /// Columns that each group of heads is projected to.
    OLoraRank("o-lora-rank", "o_lora_rank", "Rank of the output").whole(1..=SIZE).step(1).of_file(),
    /// Norms stand before and behind each half of a block.
    UseSandwichNorm("use-sandwich-norm", "use_sandwich_norm", "Norms behind each half").flag().of_file(),
    /// Parameters beside embedding, head, norms and feed-forward layers, of kinds of which these
    /// are counted alone.
    FurtherParameters("further-parameters", "further_parameters", "Further parameters").whole(0..=100_000_000_000_000).step(1).of_file(),
    /// Layers whose attention has another shape: how many, then their sizes, with bars between.
    PerLayerConfig("per-layer-config", "per_layer_config", "Layers of another shape").text(80).of_file(),
    /// Inner width of one shared expert.
    OneSharedWidth("shared-experts-intermediate-size", "shared_experts_intermediate_size", "Width of a shared expert").whole(1..=SIZE).step(1).of_file(),
    /// Heads of layers that keep a state.
    LinearHeads("linear-num-heads", "linear_num_heads", "Heads of the state").whole(1..=SIZE).step(1).of_file(),
    /// Width of a head in layers that keep a state.
    LinearHeadDim("linear-head-dim", "linear_head_dim", "Head size of the state").whole(1..=SIZE).step(1).of_file(),
    /// Keys that an indexer pools into one.
    IndexKpool("index-kpool", "index_kpool", "Pooled keys").whole(1..=SIZE).step(1).of_file(),
    /// Inner width of feed-forward layers by the hidden size.
    InnerMultiple("intermediate-multiple-size", "intermediate_multiple_size", "Inner width by width").whole(1..=SIZE).step(1).of_file(),
    /// Layers of each stack; a layer runs several times.
    LayersPerStack("num-layers-per-stack", "num_layers_per_stack", "Layers of a stack").whole(1..=SIZE).step(1).of_file(),
    /// Width of what a head makes relative positions of.
    RelativeWidth("d-rel", "d_rel", "Width of relative positions").whole(1..=SIZE).step(1).of_file(),
    /// Distances that have a relative position, in layers that see the whole text.
    RelativeExtent("rel-extent", "rel_extent", "Farthest relative position").whole(1..=SIZE).step(1).of_file(),
    /// Tokens that a query sees in layers with a window.
    SlidingWindowSize("sliding-window-size", "sliding_window_size", "Window").whole(1..=SIZE).step(1).of_file(),
    /// Books of sounds whose entries a moment of sound names.
    NumCodebooks("num-codebooks", "num_codebooks", "Books of sounds").whole(1..=SIZE).step(1).of_file(),
    /// Rows of the embedding for each book of sounds.
    CodebookRows("codebook-vocab-size", "codebook_vocab_size", "Sounds of a book").whole(1..=SIZE).step(1).of_file(),
    /// How many layers rotate queries and keys.
    NoRopeLayers("no-rope-layers", "no_rope_layers", "Layers that rotate").text(80).of_file(),
    /// Width that experts read and make, between two projections.
    MoeHidden("moe-hidden-size", "moe_hidden_size", "Width of experts' input").whole(1..=SIZE).step(1).of_file(),
    /// Tokens that the convolution over each column sees.
    CcaTime0("cca-time0", "cca_time0", "Tokens of the first convolution").whole(1..=SIZE).step(1).of_file(),
    /// Tokens that the convolution over each head sees.
    CcaTime1("cca-time1", "cca_time1", "Tokens of the second convolution").whole(1..=SIZE).step(1).of_file(),
    /// Width of a router's layers.
    RouterHidden("router-hidden-size", "router_hidden_size", "Width of routers").whole(1..=SIZE).step(1).of_file(),
    /// Width of the transformer over patches.
    GlobalWidth("hidden-size-global", "hidden_size_global", "Width of the large part").whole(1..=SIZE).step(1).of_file(),
    /// Every layer of the decoder attends to patches, or the first alone.
    CrossAllLayers("cross-attn-all-layers", "cross_attn_all_layers", "Every layer attends across").flag().of_file(),
    /// Parts that a patch is handed on in.
    CrossParts("cross-attn-k", "cross_attn_k", "Parts of a patch").whole(1..=SIZE).step(1).of_file(),
    /// Rows of the embedding of groups of bytes.
    HashRows("encoder-hash-byte-group-vocab", "encoder_hash_byte_group_vocab", "Rows for groups of bytes").whole(1..=SIZE).step(1).of_file(),
    /// How often a group of bytes is embedded.
    HashFunctions("encoder-hash-byte-group-nb-functions", "encoder_hash_byte_group_nb_functions", "Embeddings of a group of bytes").whole(1..=SIZE).step(1).of_file(),
    /// How many lengths groups of bytes have.
    HashGroups("encoder-hash-byte-group-size", "encoder_hash_byte_group_size", "Lengths of groups of bytes").text(80).of_file(),
    /// The model that says where patches begin is part of it.
    HasPatcher("patch-in-forward", "patch_in_forward", "Model that finds patches").flag().of_file(),
    /// Sizes of the encoder of bytes, with bars between.
    BytesEncoder("encoder-config", "encoder_config", "Encoder of bytes").text(80).of_file(),
    /// Sizes of the transformer over patches, with bars between.
    GlobalSizes("global-config", "global_config", "Large part").text(80).of_file(),
    /// Sizes of the model that says where patches begin, with bars between.
    PatcherSizes("patcher-config", "patcher_config", "Sizes of the model that finds patches").text(80).of_file(),
    /// Heads that attention has one of, where a convolution takes the others' place.
    HeadRatio("head-ratio", "head_ratio", "Heads by attention's own").whole(1..=SIZE).step(1).of_file(),
    /// Tokens before a query that a mask made of values leaves in sight.
    KeptTokens("keep-window-size", "keep_window_size", "Tokens kept in sight").whole(1..=LENGTH).step(64).of_file(),
    /// Width of states inside blocks, between wider ones.
    BottleneckSize("intra-bottleneck-size", "intra_bottleneck_size", "Width inside blocks").whole(1..=SIZE).step(1).of_file(),
    /// Feed-forward layers of a block.
    FeedForwards("num-feedforward-networks", "num_feedforward_networks", "Feed-forward layers of a block").whole(1..=SIZE).step(1).of_file(),
    /// Width between the two matrices before the head.
    PredictionHead("prediction-head-size", "prediction_head_size", "Width before the head").whole(1..=SIZE).step(1).of_file(),
    /// Patches along each side that become one token.
    PixelShuffle("pixel-shuffle-factor", "pixel_shuffle_factor", "Vision: patches merged along a side").whole(1..=SIZE).step(1).of_file(),
    /// The task of a model that writes no text: states, sequence, token or span.
    TaskWord("task-of", "task_of", "Task").text(20).of_file(),
    /// Numbers that the head gives for a text or a token.
    NumLabels("num-labels", "num_labels", "Classes").whole(1..=SIZE).step(1).of_file(),
    /// Blocks of attention and feed-forward with weights of their own, which layers run in turn.
    NumMemBlocks("num-mem-blocks", "num_mem_blocks", "Shared blocks").whole(1..=10_000).step(1).of_file(),
    /// Rank of what each layer adds to the shared feed-forward layer.
    AdapterRank("adapter-rank", "adapter_rank", "Rank of additions").whole(1..=SIZE).step(1).of_file(),
    /// Each layer adds to queries, keys and values of the shared block, too.
    AttentionAdapters("use-shared-attention-adapter", "use_shared_attention_adapter", "Additions to attention").flag().of_file(),
    /// Queries and keys of shared blocks are rotated; no parameters.
    UseMemRope("use-mem-rope", "use_mem_rope", "Rotary positions").flag().of_file(),
    /// Heads that the state's channels are shared out among.
    NMambaHeads("n-mamba-heads", "n_mamba_heads", "Heads of the state").whole(1..=SIZE).step(1).of_file(),
    /// Groups that share the state's input and output.
    MambaNgroups("mamba-ngroups", "mamba_ngroups", "Groups of its heads").whole(1..=SIZE).step(1).of_file(),
    /// Layers of a group, the last of which has attention.
    LayerGroupSize("layer-group-size", "layer_group_size", "Layers of a group").whole(1..=10_000).step(1).of_file(),
    /// Decays of the state are kept within limits.
    KdaSafeGate("kda-safe-gate", "kda_safe_gate", "Decays within limits").flag().of_file(),
    /// Width of one head of attention.
    AttentionHeadDim("attention-head-dim", "attention_head_dim", "Head size").whole(1..=SIZE).step(8).of_file(),
    /// Tokens of a chunk, beyond which most layers do not see.
    AttentionChunkSize("attention-chunk-size", "attention_chunk_size", "Chunk of attention").whole(1..=10_000_000).step(1).optional().of_file(),
    /// The last inputs of layers that are kept.
    MemLen("mem-len", "mem_len", "Tokens that layers remember").whole(1..=SIZE).step(1).optional().of_file(),
}
