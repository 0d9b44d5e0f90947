//! Architectures whose layers are not all alike, or keep a state of fixed size.

use super::{LENGTH, SIZE, Value, option, optional};
use crate::config::{AltUp, Hybrid, LayerSet, Mixer, ModelConfig, OtherHeads};

fn mixer(model: &ModelConfig) -> Option<&Mixer> {
    model.hybrid.as_ref()?.mixer.as_ref()
}

fn other_heads(model: &ModelConfig) -> Option<&OtherHeads> {
    model.hybrid.as_ref()?.other_heads.as_ref()
}

fn altup(model: &ModelConfig) -> Option<&AltUp> {
    model.altup()
}

/// Some layers of a model whose layers are not all alike; of any other model, `alike`.
fn layers(model: &ModelConfig, of: fn(&Hybrid) -> &LayerSet, alike: LayerSet) -> Value {
    Value::Layers(model.hybrid.as_ref().map_or(alike, |hybrid| of(hybrid).clone()))
}

fields! { $
    /// A state that some layers keep of a text, as large for every length, in place of keys and
    /// values or beside them.
    Mixer("mx", "mixer", "Recurrent layer")
        .choice(&[
            option("none", "None", "Every layer keeps keys and values."),
            option("mamba", "Mamba", "A state space for every channel."),
            option("falcon-mamba", "Mamba of Falcon Mamba",
                "A state space for every channel, with norms without a scale."),
            option("jamba", "Mamba of Jamba", "A state space for every channel, with norms."),
            option("mamba2", "Mamba 2", "A state space for every head."),
            option("falcon-h1", "Mamba 2 of Falcon-H1",
                "A state space for every head, without a norm."),
            option("qwen3-next", "Gated delta rule", "Linear attention of Qwen3-Next."),
            option("kimi-linear", "Kimi delta attention",
                "Linear attention with a decay for every channel."),
            option("minimax", "Lightning attention", "Linear attention of MiniMax-01."),
            option("lfm2", "Short convolution", "A few tokens alone, in LFM2."),
            option("rg-lru", "Gated linear recurrence", "A state of every channel, in RecurrentGemma."),
            option("wkv", "Weighted sums", "Sums of every channel, in RWKV-4."),
            option("mlstm", "Matrix memory", "A matrix of every head, in xLSTM."),
            option("kda-whole", "Delta attention of Ling",
                "Linear attention with a decay for every channel, made by one matrix."),
            option("mamba-heads", "Mamba by heads", "A state space for every channel, by heads."),
        ])
        .structure(|model| {
            mixer(model).map_or(Value::Choice("none"), |mixer| Value::choice(mixer.kind))
        }),
    /// Which layers keep a state: all, all-but-every-4, every-4, from-3, or a list counted from 0
    /// such as 0-2.5.
    MixerLayers("mxl", "mixer_layers", "Layers with a state").layers()
        .structure(|model| {
            Value::Layers(mixer(model).map_or(LayerSet::None, |mixer| mixer.layers.clone()))
        }),
    /// Heads of the state (mamba_n_heads); where every channel has a state of its own, the
    /// channels.
    MixerHeads("mxn", "linear_num_value_heads", "Heads of the state")
        .whole(1..=SIZE).step(1).optional()
        .structure(|model| optional(mixer(model).map(|mixer| mixer.num_heads))),
    /// Width of one head of the state (mamba_d_head); 1 where every channel has a state of its own.
    MixerHeadDim("mxd", "linear_value_head_dim", "Width of its heads")
        .whole(1..=SIZE).step(8).optional()
        .structure(|model| optional(mixer(model).map(|mixer| mixer.head_dim))),
    /// Heads of the state's keys, or groups that share its input and output (mamba_n_groups).
    MixerKeyHeads("mxg", "linear_num_key_heads", "Key heads of the recurrent layer")
        .whole(1..=SIZE).step(1).optional()
        .structure(|model| optional(mixer(model).map(|mixer| mixer.num_key_heads))),
    /// Width of one key, or of a state space (mamba_d_state); the state grows in proportion.
    MixerState("mxs", "linear_key_head_dim", "Width of its keys")
        .whole(1..=SIZE).step(8).optional()
        .structure(|model| optional(mixer(model).map(|mixer| mixer.state_size))),
    /// Tokens that the convolution before the state sees (mamba_d_conv); all but one are kept.
    MixerKernel("mxc", "linear_conv_kernel_dim", "Tokens of its convolution")
        .whole(0..=1024).step(1).optional()
        .structure(|model| optional(mixer(model).map(|mixer| mixer.conv_kernel))),
    /// Width of the narrow projection of a state space's step; Mamba and Jamba only.
    MixerRank("mxr", "mamba_dt_rank", "Rank of Δ (dt_rank)")
        .whole(1..=SIZE).step(8).optional()
        .structure(|model| {
            optional(mixer(model).map(|mixer| mixer.time_step_rank).filter(|rank| *rank > 0))
        }),
    /// Tokens that training computes at once (mamba_chunk_size); Mamba 2 only. Empty: 256.
    MixerChunk("mxk", "mamba_chunk_size", "Tokens of a chunk")
        .whole(1..=SIZE).step(64).optional()
        .structure(|model| {
            optional(mixer(model).map(|mixer| mixer.chunk_size).filter(|size| *size > 0 && *size != 256))
        }),
    /// The state is kept in fp32 rather than in the format of activations: twice as large.
    MixerFp32("mxf", "state_in_fp32", "State in fp32").flag()
        .structure(|model| Value::Flag(mixer(model).is_some_and(|mixer| mixer.fp32_state))),
    /// Which layers have attention with keys and values; the others have a state, or a feed-forward
    /// layer alone.
    AttentionLayers("al", "attention_layers", "Layers with attention").layers()
        .structure(|model| layers(model, |hybrid| &hybrid.attention_layers, LayerSet::All)),
    /// Which layers have a feed-forward layer or experts; the others have attention or a state
    /// alone.
    FeedForwardLayers("fl", "feed_forward_layers", "Layers with feed-forward").layers()
        .structure(|model| layers(model, |hybrid| &hybrid.feed_forward_layers, LayerSet::All)),
    /// Which layers read the keys and values of an earlier layer and keep none of their own.
    SharedKeyLayers("kvs", "kv_shared_layers", "Layers with shared keys").layers()
        .structure(|model| layers(model, |hybrid| &hybrid.kv_shared_layers, LayerSet::None)),
    /// A gate as wide as the queries, made with them: more parameters.
    AttentionGate("og", "attention_output_gate", "Gate on attention's output").flag()
        .structure(|model| {
            Value::Flag(model.hybrid.as_ref().is_some_and(|hybrid| hybrid.attention_output_gate))
        }),
    /// Width of a value head without latent attention; empty: as a query head. It changes the
    /// cache.
    ValueHeadDim("vhd", "value_head_dim", "Value head size (no latent attention)")
        .whole(1..=100_000).step(8).optional()
        .structure(|model| optional(model.hybrid.as_ref().and_then(|hybrid| hybrid.v_head_dim))),
    /// Layers whose attention has another shape than the rest (Gemma 4's global layers, MiMo-V2's
    /// sliding ones).
    OtherHeadLayers("ohl", "layers_with_other_heads", "Layers with different heads")
        .layers()
        .structure(|model| {
            Value::Layers(other_heads(model).map_or(LayerSet::None, |other| other.layers.clone()))
        }),
    /// Query heads of the layers with other heads; empty: as in the rest.
    OtherHeads("oha", "swa_num_attention_heads", "Query heads in those layers")
        .whole(1..=SIZE).step(1).optional()
        .structure(|model| optional(other_heads(model).map(|other| other.num_attention_heads))),
    /// Key/value heads of the layers with other heads (num_global_key_value_heads); empty: as in
    /// the rest.
    OtherKvHeads("ohk", "swa_num_key_value_heads", "Key/value heads in those layers")
        .whole(1..=SIZE).step(1).optional()
        .structure(|model| optional(other_heads(model).map(|other| other.num_key_value_heads))),
    /// Width of a query or key head of the layers with other heads (global_head_dim); empty: as in
    /// the rest.
    OtherHeadDim("ohd", "swa_head_dim", "Head size in those layers")
        .whole(1..=100_000).step(8).optional()
        .structure(|model| optional(other_heads(model).map(|other| other.head_dim))),
    /// Width of a value head of the layers with other heads; empty: as their query heads.
    OtherValueDim("ohv", "swa_v_head_dim", "Value head size in those layers")
        .whole(1..=100_000).step(8).optional()
        .structure(|model| optional(other_heads(model).map(|other| other.v_head_dim))),
    /// One learned score per head in the layers with other heads; few parameters.
    OtherSinks("ohs", "add_swa_attention_sink_bias", "Attention sinks in those layers")
        .flag()
        .structure(|model| {
            Value::Flag(other_heads(model).is_some_and(|other| other.attention_sinks))
        }),
    /// One matrix makes keys and values in the layers with other heads; both are cached.
    OtherJointKeys("ohj", "attention_k_eq_v", "Values from the keys' matrix in those layers")
        .flag()
        .structure(|model| {
            Value::Flag(other_heads(model).is_some_and(|other| other.attention_k_eq_v))
        }),
    /// Experts and the dense layer beside them have norms of their own (Gemma 4); few parameters.
    /// Serving only.
    ExpertsNormed("exn", "experts_normed", "Extra norms around experts").flag()
        .structure(|model| {
            Value::Flag(model.hybrid.as_ref().is_some_and(|hybrid| hybrid.experts_normed))
        }),
    /// Heads that score every token for each query, so that attention sees the best alone; empty:
    /// attention sees all.
    IndexHeads("ixh", "index_n_heads", "Heads of the indexer")
        .whole(1..=100_000).step(8).optional()
        .structure(|model| optional(model.indexer().map(|indexer| indexer.num_heads))),
    /// Width of the indexer's heads, and of its key, which is cached for every token.
    IndexHeadDim("ixd", "index_head_dim", "Head size of the indexer")
        .whole(1..=100_000).step(8).optional()
        .structure(|model| optional(model.indexer().map(|indexer| indexer.head_dim))),
    /// Tokens that a query sees of those that the indexer scores.
    IndexTopk("ixk", "index_topk", "Tokens seen")
        .whole(1..=LENGTH).step(128).optional()
        .structure(|model| optional(model.indexer().map(|indexer| indexer.topk))),
    /// Which layers have an indexer; the others see what the one before has chosen.
    IndexedLayers("ixl", "layers_with_indexer", "Layers with an indexer").layers()
        .structure(|model| {
            Value::Layers(model.indexer().map_or(LayerSet::All, |indexer| indexer.layers.clone()))
        }),
    /// Residual streams that every layer reads and corrects (AltUp), with a low-rank layer beside
    /// attention and an embedding of its own for every layer; empty: one stream.
    Streams("aup", "altup_num_inputs", "Residual streams")
        .whole(1..=64).step(1).optional()
        .structure(|model| optional(altup(model).map(|altup| altup.num_inputs))),
    /// Inner width of the low-rank layer beside attention, where there are several streams; 0:
    /// layers have an embedding of their own and nothing else of this.
    LaurelRank("lrk", "laurel_rank", "Rank beside attention")
        .whole(0..=SIZE).step(8).optional()
        .structure(|model| optional(altup(model).map(|altup| altup.laurel_rank))),
    /// Width of every layer's own embedding, where there are several streams.
    LayerInputWidth("pli", "hidden_size_per_layer_input", "Width of layer embeddings")
        .whole(1..=SIZE).step(8).optional()
        .structure(|model| {
            optional(altup(model).map(|altup| altup.hidden_size_per_layer_input))
        }),
    /// Rows of the table of the layers' own embeddings, where there are several streams.
    LayerInputRows("plv", "vocab_size_per_layer_input", "Rows of layer embeddings")
        .whole(1..=SIZE).step(8).optional()
        .structure(|model| optional(altup(model).map(|altup| altup.vocab_size_per_layer_input))),
    /// Which layers' feed-forward layer keeps its largest activations alone, where there are
    /// several streams.
    SparseLayers("spl", "activation_sparsity_pattern", "Layers with sparse activations").layers()
        .structure(|model| {
            Value::Layers(altup(model).map_or(LayerSet::None, |altup| altup.sparse_layers.clone()))
        }),
    /// Tokens of a block of keys, where the indexer chooses blocks; empty: it chooses tokens.
    IndexBlock("ixb", "index_block", "Block of the indexer")
        .whole(1..=LENGTH).step(64).optional()
        .structure(|model| optional(model.indexer().map(|indexer| indexer.block).filter(|block| *block > 0))),
    /// Layers that read the keys and values of an earlier one have a feed-forward layer of twice
    /// the width (Gemma 4's small models).
    SharedKeysWider("skw", "double_wide_mlp", "Wider with shared keys").flag()
        .structure(|model| {
            Value::Flag(model.hybrid.as_ref().is_some_and(|hybrid| hybrid.double_wide_mlp))
        }),
}
