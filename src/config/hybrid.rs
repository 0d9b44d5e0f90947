//! Models whose layers are not all alike: states in place of keys and values, layers without
//! attention, keys and values that layers share.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{BlockLayout, CompressedLayer, LayerSet, Mixer, MixerKind, ModelConfig};

/// Heads of the layers whose attention has another shape than that of the rest: Gemma 4's layers
/// that see the whole text, MiMo-V2's that slide.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OtherHeads {
    /// The layers with heads of another shape.
    pub layers: LayerSet,
    /// Query heads (`swa_num_attention_heads`).
    pub num_attention_heads: u64,
    /// Key/value heads (`num_global_key_value_heads`, `swa_num_key_value_heads`).
    pub num_key_value_heads: u64,
    /// Width of a query or key head (`global_head_dim`, `swa_head_dim`).
    pub head_dim: u64,
    /// Width of a value head (`swa_v_head_dim`).
    pub v_head_dim: u64,
    /// One learned extra score per head (`add_swa_attention_sink_bias`).
    pub attention_sinks: bool,
    /// Values are made by the keys' matrix; both are cached (`attention_k_eq_v`).
    pub attention_k_eq_v: bool,
}

/// Several residual streams: each layer runs on one of them and corrects all (`AltUp`). With them
/// come a residual layer of low rank beside attention (`LAuReL`) and an embedding of its own for
/// every layer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AltUp {
    /// Residual streams (`altup_num_inputs`).
    pub num_inputs: u64,
    /// Inner width of the low-rank layer (`laurel_rank`); 0 where layers have an embedding of their
    /// own and neither streams nor a low-rank layer.
    pub laurel_rank: u64,
    /// Width of a layer's own embedding (`hidden_size_per_layer_input`).
    pub hidden_size_per_layer_input: u64,
    /// Rows of that embedding's table (`vocab_size_per_layer_input`).
    pub vocab_size_per_layer_input: u64,
    /// Layers whose feed-forward layer keeps only the largest activations
    /// (`activation_sparsity_pattern`).
    pub sparse_layers: LayerSet,
}

impl AltUp {
    /// Returns true if layers have an embedding of their own on a single stream.
    pub const fn has_inputs_alone(&self) -> bool {
        self.laurel_rank == 0 && self.num_inputs == 1
    }
}

/// An indexer, which chooses the tokens that attention sees: it scores every token by narrow heads
/// (DeepSeek's sparse attention).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Indexer {
    /// Heads (`index_n_heads`).
    pub num_heads: u64,
    /// Width of a head, and of the one key that all heads share and that is cached
    /// (`index_head_dim`).
    pub head_dim: u64,
    /// Tokens that a query sees (`index_topk`), or blocks of them (`index_topk_blocks`).
    pub topk: u64,
    /// Tokens of a block (`index_block_size`); 0 where tokens are chosen one by one.
    #[serde(default)]
    pub block: u64,
    /// Layers that have an indexer; the others see the tokens that the last indexer before them has
    /// chosen (`indexer_types`).
    pub layers: LayerSet,
}

/// The ways in which a model's layers differ from each other, or from attention with a feed-forward
/// layer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Hybrid {
    /// A state in place of keys and values, or beside them.
    pub mixer: Option<Mixer>,
    /// Layers with attention.
    pub attention_layers: LayerSet,
    /// Layers with a feed-forward layer or experts.
    pub feed_forward_layers: LayerSet,
    /// Layers whose attention reads the keys and values of an earlier layer
    /// (`num_kv_shared_layers`, `use_cla`).
    pub kv_shared_layers: LayerSet,
    /// A gate on attention's output, made by the queries' projection, which has twice as many
    /// columns for it (Qwen3-Next).
    pub attention_output_gate: bool,
    /// Width of a value head where it is not `head_dim` (MiMo-V2); latent attention has its own.
    pub v_head_dim: Option<u64>,
    /// Layers whose attention has another shape.
    pub other_heads: Option<OtherHeads>,
    /// Routed experts and the dense layer beside them have norms of their own, and the router has
    /// scales (Gemma 4).
    pub experts_normed: bool,
    /// The indexer, which chooses the tokens that attention sees.
    pub indexer: Option<Indexer>,
    /// Several residual streams, or, on one stream, an embedding of its own for every layer.
    pub altup: Option<AltUp>,
    /// Layers that read the keys and values of an earlier one have a feed-forward layer of twice
    /// the width (`use_double_wide_mlp`).
    pub double_wide_mlp: bool,
}

impl Default for Hybrid {
    fn default() -> Self {
        Self {
            mixer: None,
            attention_layers: LayerSet::All,
            feed_forward_layers: LayerSet::All,
            kv_shared_layers: LayerSet::None,
            attention_output_gate: false,
            v_head_dim: None,
            other_heads: None,
            experts_normed: false,
            indexer: None,
            altup: None,
            double_wide_mlp: false,
        }
    }
}

/// How a layer comes by keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keys {
    /// The layer makes its own.
    Own,
    /// One matrix makes both keys and values.
    Joint,
    /// The layer reads those of an earlier layer.
    Shared,
    /// The layer has no attention.
    None,
}

/// The part of a layer in the feed-forward layer's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feed {
    /// A dense layer.
    Dense,
    /// Experts.
    Experts,
    /// Nothing.
    None,
}

/// The parts of a layer; layers of one kind have the same operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LayerKind {
    /// How the layer comes by keys and values.
    pub keys: Keys,
    /// True if the layer keeps a state.
    pub mixer: bool,
    /// The part in the feed-forward layer's place.
    pub feed: Feed,
    /// True if the layer's heads are [`Hybrid::other_heads`].
    pub other_heads: bool,
    /// True if the layer has no norm before attention.
    pub unnormed: bool,
    /// True for a block that norms embedded tokens itself.
    pub norms_embedded: bool,
    /// True for a last block that has a bias of its own behind attention.
    pub biased_behind: bool,
    /// True if the layer has an [`Hybrid::indexer`].
    pub indexed: bool,
    /// True for a block of the encoder beside a decoder.
    pub source: bool,
    /// How the layer compresses keys, in models that do so.
    pub compressed: CompressedLayer,
}

impl ModelConfig {
    /// Returns the parts of layer `layer`, counted from 0.
    pub fn kind_of(&self, layer: u64) -> LayerKind {
        let feed = if self.moe_at(layer).is_some() { Feed::Experts } else { Feed::Dense };
        match &self.hybrid {
            Some(hybrid) => {
                let norms_embedded =
                    layer == 0 && self.family.modules().block == BlockLayout::TimeMixed;
                LayerKind { norms_embedded, ..hybrid.kind_of(layer, feed) }
            }
            None => LayerKind {
                keys: Keys::Own,
                mixer: false,
                feed,
                other_heads: false,
                unnormed: self.is_unnormed(layer),
                norms_embedded: false,
                biased_behind: self.biases_last()
                    && layer.saturating_add(1) == self.num_hidden_layers,
                indexed: false,
                source: self.is_of_source(layer),
                compressed: self
                    .compressed
                    .as_ref()
                    .map_or_else(CompressedLayer::default, |compressed| compressed.layer(layer)),
            },
        }
    }

    /// The architecture with [`Hybrid::other_heads`] in place of the usual ones, where layers of
    /// that kind have them, and with a feed-forward layer twice as wide where
    /// [`Hybrid::double_wide_mlp`] says so.
    pub(super) fn of_heads(&self, kind: LayerKind) -> Cow<'_, Self> {
        let doubles = kind.keys == Keys::Shared
            && self.hybrid.as_ref().is_some_and(|hybrid| hybrid.double_wide_mlp);
        if doubles {
            let wide = Self {
                intermediate_size: self.intermediate_size.saturating_mul(2),
                ..self.clone()
            };
            return Cow::Owned(wide.with_heads_of(kind).into_owned());
        }
        self.with_heads_of(kind)
    }

    fn with_heads_of(&self, kind: LayerKind) -> Cow<'_, Self> {
        let other = self.hybrid.as_ref().and_then(|hybrid| hybrid.other_heads.as_ref());
        let Some(other) = other.filter(|_| kind.other_heads) else { return Cow::Borrowed(self) };
        let hybrid = self
            .hybrid
            .as_ref()
            .map(|hybrid| Hybrid { v_head_dim: Some(other.v_head_dim), ..hybrid.clone() });
        Cow::Owned(Self {
            num_attention_heads: other.num_attention_heads,
            num_key_value_heads: other.num_key_value_heads,
            head_dim: other.head_dim,
            rotary_dim: self.rotary_dim.filter(|_| !self.family.modules().other_heads_rotate_whole),
            attention_sinks: other.attention_sinks,
            hybrid,
            ..self.clone()
        })
    }

    /// Returns the width of a value head.
    pub fn value_head_dim(&self) -> u64 {
        let stated = self.hybrid.as_ref().and_then(|hybrid| hybrid.v_head_dim);
        self.mla.map_or_else(|| stated.unwrap_or(self.head_dim), |mla| mla.v_head_dim)
    }

    /// Returns true if routed experts have norms of their own.
    pub fn norms_experts(&self) -> bool {
        self.hybrid.as_ref().is_some_and(|hybrid| hybrid.experts_normed)
    }

    /// Returns the residual streams, if there are several.
    pub fn altup(&self) -> Option<&AltUp> {
        self.hybrid.as_ref().and_then(|hybrid| hybrid.altup.as_ref())
    }

    /// Returns the indexer, if the model has one: it chooses the tokens that attention sees.
    pub fn indexer(&self) -> Option<&Indexer> {
        self.hybrid.as_ref().and_then(|hybrid| hybrid.indexer.as_ref())
    }

    /// Returns true if all layers are alike.
    pub const fn is_uniform(&self) -> bool {
        self.moe.is_none()
            && self.hybrid.is_none()
            && self.source.is_none()
            && !self.is_unnormed(0)
            && !self.biases_last()
    }

    /// True if the last layer alone has a bias of its own behind attention.
    const fn biases_last(&self) -> bool {
        matches!(self.family.modules().block, BlockLayout::JointByHeadWritten)
    }

    /// True if layer `layer` has no norm before attention.
    const fn is_unnormed(&self, layer: u64) -> bool {
        layer == 0 && self.encoder.is_some() && self.family.modules().encoder.first_block_unnormed
    }

    /// Returns true if the queries' projection also makes a gate on attention's output.
    pub fn gates_attention(&self) -> bool {
        self.hybrid.as_ref().is_some_and(|hybrid| hybrid.attention_output_gate)
    }

    /// Returns the state that layers keep; `None` where none keeps any.
    pub fn mixer(&self) -> Option<&Mixer> {
        self.hybrid.as_ref().and_then(|hybrid| hybrid.mixer.as_ref())
    }
}

impl Hybrid {
    /// Returns true if layers differ in the shape of their heads and in nothing else.
    pub fn has_other_heads_alone(&self) -> bool {
        let joint = self.other_heads.as_ref().is_some_and(|other| other.attention_k_eq_v);
        !joint
            && *self
                == Self {
                    v_head_dim: self.v_head_dim,
                    other_heads: self.other_heads.clone(),
                    ..Self::default()
                }
    }

    /// Returns true if layers keep a state of one of these kinds, in place of attention or beside
    /// it, and differ in nothing else.
    pub fn has_states_alone(&self, kinds: &[MixerKind]) -> bool {
        let own = Self {
            mixer: self.mixer.clone(),
            attention_layers: self.attention_layers.clone(),
            feed_forward_layers: self.feed_forward_layers.clone(),
            attention_output_gate: self.attention_output_gate,
            ..Self::default()
        };
        self.mixer.as_ref().is_some_and(|mixer| kinds.contains(&mixer.kind)) && *self == own
    }

    /// Returns true if the model has several residual streams and, beside them, at most keys and
    /// values that layers share.
    pub fn has_streams_alone(&self) -> bool {
        let own = Self {
            altup: self.altup.clone(),
            kv_shared_layers: self.kv_shared_layers.clone(),
            ..Self::default()
        };
        self.altup.as_ref().is_some_and(|altup| !altup.has_inputs_alone()) && *self == own
    }

    /// Returns true if layers differ at most in their heads, in the layer whose keys they read, and
    /// in an embedding of their own, on one stream.
    pub fn has_one_stream(&self) -> bool {
        let own = Self {
            other_heads: self.other_heads.clone(),
            kv_shared_layers: self.kv_shared_layers.clone(),
            altup: self.altup.clone(),
            double_wide_mlp: self.double_wide_mlp,
            experts_normed: self.experts_normed,
            ..Self::default()
        };
        let shares = self.kv_shared_layers != LayerSet::None;
        let one = self.altup.as_ref().map_or(!shares, AltUp::has_inputs_alone);
        one && *self == own
    }

    /// Returns true if the model has an indexer, of tokens or of blocks of tokens, and nothing
    /// else.
    pub fn has_indexer_alone(&self, of_blocks: bool) -> bool {
        self.indexer.as_ref().is_some_and(|indexer| (indexer.block > 0) == of_blocks)
            && *self == Self { indexer: self.indexer.clone(), ..Self::default() }
    }

    fn kind_of(&self, layer: u64, feed: Feed) -> LayerKind {
        let other = self.other_heads.as_ref().filter(|other| other.layers.contains(layer));
        let keys =
            match (self.attention_layers.contains(layer), self.kv_shared_layers.contains(layer)) {
                (false, _) => Keys::None,
                (true, true) => Keys::Shared,
                (true, false) if other.is_some_and(|other| other.attention_k_eq_v) => Keys::Joint,
                (true, false) => Keys::Own,
            };
        let feed = if self.feed_forward_layers.contains(layer) { feed } else { Feed::None };
        let mixer = self.mixer.as_ref().is_some_and(|mixer| mixer.layers.contains(layer));
        let indexed = self.indexer.as_ref().is_some_and(|indexer| indexer.layers.contains(layer));
        LayerKind {
            keys,
            mixer,
            feed,
            other_heads: other.is_some() && keys != Keys::None,
            unnormed: false,
            norms_embedded: false,
            biased_behind: false,
            indexed,
            source: false,
            compressed: CompressedLayer::default(),
        }
    }
}
