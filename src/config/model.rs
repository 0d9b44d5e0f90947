//! The transformer's architecture.

use serde::{Deserialize, Serialize};

use super::{
    AttentionGate, BlockLayout, CacheParts, Compressed, Encoder, Family, FeedForwardStyle, GENERIC,
    HiddenAct, Hybrid, LayerSet, Mla, Modules, Moe, NormStyle, Projections, QueryKeyNorm,
    RotatedLayers, RotationStyle, SharedBlocks, SourceEncoder, Task, Tower,
};

/// The normalisation layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normalization {
    /// Mean and variance, with scale and bias: `2 · hidden_size` parameters.
    LayerNorm,
    /// Root mean square, scale only: `hidden_size` parameters.
    #[default]
    RmsNorm,
}

/// The shape of the feed-forward layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MlpKind {
    /// Up, activation, down: two matrices.
    Plain,
    /// Gate and up, activation, product, down: three matrices (SwiGLU, GeGLU).
    #[default]
    Gated,
}

/// How positions enter the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PositionEmbedding {
    /// A learned table of `position_rows · hidden_size` parameters.
    Learned,
    /// Rotary: queries and keys are rotated, no parameters.
    #[default]
    Rotary,
    /// Linear biases on the scores (BLOOM), no parameters.
    Alibi,
    /// None: other layers know the order of tokens.
    None,
}

/// A decoder-only transformer, with the keys of a Hugging Face `config.json`. All sizes are at
/// least 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelConfig {
    /// Width of the residual stream (h).
    pub hidden_size: u64,
    /// Number of transformer blocks (L).
    pub num_hidden_layers: u64,
    /// Query heads (a).
    pub num_attention_heads: u64,
    /// Key/value heads: equal to the query heads in multi-head, 1 in multi-query attention.
    pub num_key_value_heads: u64,
    /// Width of one head (d).
    pub head_dim: u64,
    /// Inner width of the feed-forward layer.
    pub intermediate_size: u64,
    /// Rows of the token embedding (v).
    pub vocab_size: u64,
    /// Longest sequence the model was made for, tokens.
    pub max_position_embeddings: u64,
    /// Rows of a learned position table: `max_position_embeddings`, plus 2 in OPT. Unused
    /// otherwise.
    pub position_rows: u64,
    /// Normalisation kind.
    pub normalization: Normalization,
    /// Feed-forward kind.
    pub mlp: MlpKind,
    /// Position kind.
    pub position_embedding: PositionEmbedding,
    /// Bias on the query, key and value projections.
    pub attention_bias: bool,
    /// Bias on the attention's output projection.
    pub attention_output_bias: bool,
    /// Bias on the feed-forward matrices.
    pub mlp_bias: bool,
    /// True if the output head reuses the token embedding.
    pub tie_word_embeddings: bool,
    /// Norms over each query and key head (`2 · head_dim` parameters a block; Qwen3).
    pub qk_norm: bool,
    /// A norm right after the token embedding (BLOOM).
    pub embedding_norm: bool,
    /// Norm layers in a block: 2, or 1 where attention and feed-forward share one, or 0 for none.
    pub norms_per_block: u64,
    /// True if a norm stands before the output head.
    pub final_norm: bool,
    /// The family whose modules run the model; [`GENERIC`] is put together from the fields.
    pub family: Family,
    /// Activation function of the feed-forward layer.
    pub hidden_act: HiddenAct,
    /// Rotated part of each head (`head_dim · partial_rotary_factor`); `None`: the whole head.
    /// Rotary positions only.
    pub rotary_dim: Option<u64>,
    /// Tokens a sliding layer looks back on; `None`: the whole text.
    pub sliding_window: Option<u64>,
    /// Layers that look back on `sliding_window` tokens only.
    pub sliding_layers: LayerSet,
    /// Tokens of sliding layers see the earlier tokens of their own chunk of `sliding_window`
    /// tokens, rather than that many tokens before them (`attention_chunk_size`).
    pub chunks: bool,
    /// Experts in place of the feed-forward layer.
    pub moe: Option<Moe>,
    /// Latent attention in place of the query, key and value projections.
    pub mla: Option<Mla>,
    /// Attention and feed-forward read the same input and are added together
    /// (`use_parallel_residual`, `parallel_attn`).
    pub parallel_residual: bool,
    /// One learned extra score per head (gpt-oss).
    pub attention_sinks: bool,
    /// Scores are squashed by a tanh (`attn_logit_softcapping`).
    pub attn_logit_softcapping: bool,
    /// Logits are squashed by a tanh (`final_logit_softcapping`).
    pub final_logit_softcapping: bool,
    /// Bias on the output head (Phi).
    pub lm_head_bias: bool,
    /// Width of the token embedding where it is not `hidden_size` (OPT's `word_embed_proj_dim`).
    pub word_embed_proj_dim: Option<u64>,
    /// Falcon's decoder with a norm each for attention and feed-forward
    /// (`new_decoder_architecture`).
    pub new_decoder_architecture: bool,
    /// A dense layer over the first token in place of an output head (BERT without a task).
    pub pooler: bool,
    /// The task of a model that predicts no text; `None` for one that does.
    pub task: Option<Task>,
    /// Both ends of an encoder; `None` for a decoder.
    pub encoder: Option<Encoder>,
    /// Layers that are not all alike, or keep a state; `None`: every layer has attention and
    /// feed-forward.
    pub hybrid: Option<Hybrid>,
    /// A vision tower with its projector, before the text.
    pub tower: Option<Tower>,
    /// The encoder beside this decoder; its blocks are the first of the layers.
    pub source: Option<SourceEncoder>,
    /// Blocks whose weights several layers share.
    pub shared: Option<SharedBlocks>,
    /// Rank of gates of the norms before attention and before experts (`gated_norm_rank`); 0: they
    /// have none.
    pub norm_gate_rank: u64,
    /// The parts of the model's cache, where no other field describes them.
    pub cache: CacheParts,
    /// Attention to compressed keys, in blocks of several residual streams.
    pub compressed: Option<Compressed>,
}

impl ModelConfig {
    /// Returns a decoder of width 1: RMS norms, gated feed-forward, rotary positions, an untied
    /// head, no biases.
    ///
    /// It gives every field a value, so that a shape need only name what differs: `ModelConfig {
    /// hidden_size: 4096, ..ModelConfig::plain() }`.
    pub const fn plain() -> Self {
        Self {
            hidden_size: 1,
            num_hidden_layers: 1,
            num_attention_heads: 1,
            num_key_value_heads: 1,
            head_dim: 1,
            intermediate_size: 1,
            vocab_size: 1,
            max_position_embeddings: 4096,
            position_rows: 4096,
            normalization: Normalization::RmsNorm,
            mlp: MlpKind::Gated,
            position_embedding: PositionEmbedding::Rotary,
            attention_bias: false,
            attention_output_bias: false,
            mlp_bias: false,
            tie_word_embeddings: false,
            qk_norm: false,
            embedding_norm: false,
            norms_per_block: 2,
            final_norm: true,
            family: GENERIC,
            hidden_act: HiddenAct::Silu,
            rotary_dim: None,
            sliding_window: None,
            sliding_layers: LayerSet::None,
            chunks: false,
            moe: None,
            mla: None,
            parallel_residual: false,
            attention_sinks: false,
            attn_logit_softcapping: false,
            final_logit_softcapping: false,
            lm_head_bias: false,
            word_embed_proj_dim: None,
            new_decoder_architecture: false,
            pooler: false,
            task: None,
            encoder: None,
            hybrid: None,
            tower: None,
            source: None,
            shared: None,
            norm_gate_rank: 0,
            cache: CacheParts::NONE,
            compressed: None,
        }
    }

    /// Returns true if its blocks are llama's (RMS norm, attention by whole rotated heads, RMS
    /// norm, gated feed-forward, without biases), and its ends are not tied.
    pub fn has_plain_modules(&self) -> bool {
        let biased = self.attention_bias || self.attention_output_bias || self.mlp_bias;
        let tied = self.tie_word_embeddings;
        self.is_like_llama()
            && !(biased || tied || self.qk_norm)
            && self.sliding_layers == LayerSet::None
    }

    /// Returns true if its blocks are llama's but for biases, windows, and norms of each query's
    /// and key's head; its ends may be tied.
    pub fn is_like_llama(&self) -> bool {
        let (own, plain) = (self.family.modules(), &Modules::PLAIN);
        let alike = own.block == plain.block
            && own.norm == plain.norm
            && own.projections == plain.projections
            && own.feed_forward == plain.feed_forward
            && own.rotation == plain.rotation
            && own.rotary_tables == plain.rotary_tables
            && (own.query_key_norm == QueryKeyNorm::HeadByHead || !self.qk_norm);
        alike && self.has_parts_of_llama()
    }

    /// Returns true if its blocks are llama's ([`Self::is_like_llama`]), or are made of the same
    /// parts in one of two other orders: norms behind each half, with queries and keys normed over
    /// all heads together; or joint projections, for queries, keys and values and for gate and up.
    pub fn is_near_llama(&self) -> bool {
        let (own, plain) = (self.family.modules(), &Modules::PLAIN);
        let behind = own.block == BlockLayout::NormsBehind
            && own.norm == NormStyle::ScaledInFp32
            && own.query_key_norm == QueryKeyNorm::AllHeadsTogether
            && own.projections == plain.projections
            && own.feed_forward == plain.feed_forward
            && own.rotation == plain.rotation;
        let joint = own.block == BlockLayout::OwnOrder
            && own.norm == plain.norm
            && own.projections == Projections::Joint
            && own.feed_forward == FeedForwardStyle::JointGateAndUp
            && own.rotation == RotationStyle::Joined
            && !self.qk_norm;
        self.is_like_llama() || (behind || joint) && self.has_parts_of_llama()
    }

    /// Returns true if it has llama's parts and no others, in whatever order.
    fn has_parts_of_llama(&self) -> bool {
        let (own, plain) = (self.family.modules(), &Modules::PLAIN);
        let alike = own.linear == plain.linear
            && own.embedding_scale == plain.embedding_scale
            && !(own.scales_queries
                || own.scales_residuals
                || own.scales_logits
                || own.scales_values);
        let special = self.moe.is_some()
            || self.mla.is_some()
            || self.hybrid.is_some()
            || self.altup().is_some();
        let capped =
            self.attention_sinks || self.attn_logit_softcapping || self.final_logit_softcapping;
        let rotated = self.position_embedding == PositionEmbedding::Rotary
            && self.rotary_dim.is_none_or(|dim| dim == self.head_dim);
        let shaped = self.normalization == Normalization::RmsNorm
            && self.mlp == MlpKind::Gated
            && self.norms_per_block == 2;
        let other = special
            || capped
            || self.lm_head_bias
            || self.embedding_norm
            || self.parallel_residual
            || self.pooler;
        let other = other
            || self.task.is_some()
            || self.encoder.is_some()
            || self.source.is_some()
            || self.has_parts_of_its_own();
        alike && rotated && shaped && !other && self.hidden_act == HiddenAct::Silu
    }

    /// Returns true where layers are not all alike, or blocks have gates, norms or differences of
    /// heads that no other field describes.
    pub fn has_parts_of_its_own(&self) -> bool {
        let own = self.family.modules();
        self.hybrid.is_some()
            || own.gate != AttentionGate::None
            || own.differential
            || own.norms_before_last_products
            || own.masks_by_values
            || own.scales_stream
            || (self.moe.is_some() && own.experts.norms_output)
    }

    /// Returns the family whose modules run a model of this shape: the stated one, or [`GENERIC`]
    /// where a field asks for a part that this family's modules do not have (experts in a GPT-2,
    /// four norms in a Llama).
    ///
    /// Assumes transformers 5.23's modules.
    #[must_use]
    pub fn family_of_shape(&self) -> Family {
        let own = self.family.modules();
        // A family without a rule of its own fits any shape but for the ends: modules of which only
        // the parameters are counted need an encoder's sizes or a source, and modules with an
        // encoder beside the decoder need that encoder.
        let has_ends = own.encoder.trains || self.encoder.is_some() || self.source.is_some();
        let has_source = own.source.is_none() || self.source.is_some();
        let fits = own.shape.map_or(has_ends && has_source, |rule| rule.fits(self));
        if fits { self.family } else { GENERIC }
    }

    /// Returns true for a model that can be served but not trained here: its layers are not all
    /// alike and its modules are assumed, so the operations that training them takes are unknown.
    pub fn is_only_served(&self) -> bool {
        self.hybrid.is_some() && self.family_of_shape().is_generic()
    }

    /// Returns true where a token sees only those before it, as it does in every decoder.
    pub fn is_causal(&self) -> bool {
        self.encoder.is_none_or(|encoder| encoder.is_decoder)
    }

    /// Returns true if all blocks share one block's parameters.
    pub fn shares_blocks(&self) -> bool {
        self.encoder.is_some() && self.family_of_shape().modules().encoder.shares_blocks
    }

    /// Returns the tokens, of `tokens` in the text, that a layer looks back on: at most its window
    /// where it slides.
    pub fn visible(&self, layer: u64, tokens: u64) -> u64 {
        match self.sliding_window {
            Some(window) if self.sliding_layers.contains(layer) => tokens.min(window),
            _ => tokens,
        }
    }

    /// Returns the place of the tables that a layer reads: 1 if it slides or, where the layers that
    /// rotate are told by their number, if it rotates; else 0.
    pub fn tables_of(&self, layer: u64) -> usize {
        let rotates = match self.family.modules().rotated {
            RotatedLayers::AllButEvery(period) if self.sliding_layers == LayerSet::None => {
                !layer.saturating_add(1).is_multiple_of(period)
            }
            RotatedLayers::All | RotatedLayers::Sliding | RotatedLayers::AllButEvery(_) => {
                self.sliding_layers.contains(layer)
            }
        };
        usize::from(rotates)
    }

    /// Returns true if layers that read the first tables leave queries and keys as they are.
    pub fn leaves_some_unrotated(&self) -> bool {
        match self.family.modules().rotated {
            RotatedLayers::All => false,
            RotatedLayers::Sliding => self.sliding_layers != LayerSet::None,
            RotatedLayers::AllButEvery(_) => self.sliding_layers == LayerSet::None,
        }
    }

    /// Returns the pairs of a query and a key that a sliding layer computes for a text of `tokens`
    /// tokens: each token sees itself and those before it in its window, or in its chunk.
    pub fn pairs_of_sliding(&self, tokens: u64) -> u64 {
        let triangle = |tokens: u64| tokens.saturating_mul(tokens.saturating_add(1)) / 2;
        let window = self.sliding_window.unwrap_or(tokens).clamp(1, tokens.max(1));
        if self.chunks {
            return (tokens / window)
                .saturating_mul(triangle(window))
                .saturating_add(triangle(tokens % window));
        }
        tokens.saturating_mul(window).saturating_sub(triangle(window.saturating_sub(1)))
    }

    /// Returns the experts of that layer, counted from 0; `None` where it has none.
    pub fn moe_at(&self, layer: u64) -> Option<&Moe> {
        self.moe.as_ref().filter(|moe| moe.layers.contains(layer))
    }
}
