//! The shapes that a family's modules can take.

use super::{Hybrid, MixerKind, MlpKind, ModelConfig, Normalization};

/// The experts that a family's modules have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpertsRule {
    /// None.
    None,
    /// Experts in every model, without shared ones.
    Always,
    /// Experts in some models, with shared ones that no gate weighs.
    Optional,
    /// Experts in some models, of any kind.
    Any,
}

/// The parts of a layer, in models some of whose layers keep a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayersOfStates {
    /// Attention or a state, and a feed-forward layer.
    InPlaceOfAttention,
    /// Attention, a state and a feed-forward layer.
    BesideAttention,
    /// A state.
    Alone,
    /// Attention, a state or a feed-forward layer.
    OneEach,
    /// A state; in some layers a shared block of attention and a feed-forward layer before it.
    BehindSharedBlock,
}

/// The shapes that modules can take.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "a list of yes and no, as in config.json")]
pub struct ShapeRule {
    /// The experts that the modules have.
    pub experts: ExpertsRule,
    /// The feed-forward layer.
    pub mlp: MlpKind,
    /// The biases of the feed-forward layer that the modules need; `None`: with or without.
    pub mlp_bias: Option<bool>,
    /// The norms that the modules need; `None`: either kind.
    pub normalization: Option<Normalization>,
    /// The fewest and the most norms in a block.
    pub norms_per_block: [u64; 2],
    /// Attention is latent.
    pub latent: bool,
    /// Every query head has a key/value head.
    pub key_head_for_each_query_head: bool,
    /// The biases of queries, keys and values that the modules need; `None`: with or without.
    pub attention_bias: Option<bool>,
    /// The output projection has a bias where the others have one.
    pub output_bias_as_others: bool,
    /// Queries and keys may be normed.
    pub may_norm_queries_and_keys: bool,
    /// There are attention sinks.
    pub sinks: bool,
    /// Some layers may have heads of another shape, and values another width than keys.
    pub other_heads: bool,
    /// An indexer chooses the tokens that attention sees.
    pub indexer: bool,
    /// In some layers an indexer may choose the blocks of keys that attention sees.
    pub index_blocks: bool,
    /// There are several residual streams.
    pub altup: bool,
    /// Layers may have an embedding of their own, other heads, and keys of an earlier layer, on one
    /// stream.
    pub own_inputs: bool,
    /// Some layers have a state of one of these kinds in place of attention, or beside it.
    pub states: &'static [MixerKind],
    /// The parts of a layer, in models some of whose layers keep a state.
    pub layers_of_states: LayersOfStates,
    /// Attention's output has a gate that is made with the queries.
    pub gates_attention: bool,
    /// Norms before attention and before experts have gates.
    pub gates_norms: bool,
    /// The modules are an encoder's.
    pub encoder: bool,
    /// The modules are those of a decoder beside an encoder.
    pub source: bool,
}

impl ShapeRule {
    /// A gated feed-forward layer, two RMS norms a block, attention of any kind of heads.
    pub const PLAIN: Self = Self {
        experts: ExpertsRule::None,
        mlp: MlpKind::Gated,
        mlp_bias: None,
        normalization: Some(Normalization::RmsNorm),
        norms_per_block: [2, 2],
        latent: false,
        key_head_for_each_query_head: false,
        attention_bias: None,
        output_bias_as_others: false,
        may_norm_queries_and_keys: true,
        sinks: false,
        other_heads: false,
        indexer: false,
        index_blocks: false,
        altup: false,
        own_inputs: false,
        states: &[],
        layers_of_states: LayersOfStates::InPlaceOfAttention,
        gates_attention: false,
        gates_norms: false,
        encoder: false,
        source: false,
    };

    /// A plain feed-forward layer, two layer norms a block, attention of any kind of heads.
    pub const CLASSIC: Self =
        Self { mlp: MlpKind::Plain, normalization: Some(Normalization::LayerNorm), ..Self::PLAIN };

    /// Returns true if a model has such a shape.
    pub fn fits(&self, model: &ModelConfig) -> bool {
        let layers = match &model.hybrid {
            Some(hybrid) if self.altup => hybrid.has_streams_alone(),
            Some(hybrid) if self.own_inputs => {
                hybrid.has_one_stream() && hybrid.experts_normed == model.moe.is_some()
            }
            Some(hybrid) if !self.states.is_empty() => {
                hybrid.has_states_alone(self.states)
                    && self.fits_layers(model, hybrid)
                    && hybrid.attention_output_gate == self.gates_attention
                    && (model.qk_norm || !self.gates_attention)
            }
            Some(hybrid) if self.indexer || self.index_blocks => {
                hybrid.has_indexer_alone(self.index_blocks)
            }
            Some(hybrid) => self.other_heads && hybrid.has_other_heads_alone(),
            None => {
                let shares = matches!(self.layers_of_states, LayersOfStates::BehindSharedBlock);
                !(shares
                    || self.altup
                    || self.gates_attention
                    || self.indexer
                    || self.own_inputs && model.moe.is_some())
            }
        };
        layers
            && (model.shared.is_none() || !self.states.is_empty())
            && model.encoder.is_some() == self.encoder
            && (model.norm_gate_rank > 0) == self.gates_norms
            && model.source.is_some() == self.source
            && self.fits_feed_forward(model)
            && self.fits_norms(model)
            && self.fits_attention(model)
    }

    /// True if every layer has exactly the parts that the modules put together.
    fn fits_layers(&self, model: &ModelConfig, hybrid: &Hybrid) -> bool {
        let keeps = |layer| hybrid.mixer.as_ref().is_some_and(|mixer| mixer.layers.contains(layer));
        let attends = |layer| hybrid.attention_layers.contains(layer);
        let shares = matches!(self.layers_of_states, LayersOfStates::BehindSharedBlock);
        if model.shared.is_some() != shares {
            return false;
        }
        let feeds = |layer| hybrid.feed_forward_layers.contains(layer);
        (0..model.num_hidden_layers).all(|layer| match self.layers_of_states {
            LayersOfStates::InPlaceOfAttention => keeps(layer) != attends(layer) && feeds(layer),
            LayersOfStates::BesideAttention => keeps(layer) && attends(layer) && feeds(layer),
            LayersOfStates::Alone => keeps(layer) && !attends(layer) && !feeds(layer),
            LayersOfStates::BehindSharedBlock => keeps(layer) && attends(layer) == feeds(layer),
            LayersOfStates::OneEach => {
                [keeps(layer), attends(layer), feeds(layer)].into_iter().filter(|has| *has).count()
                    == 1
            }
        })
    }

    fn fits_feed_forward(&self, model: &ModelConfig) -> bool {
        let moe = model.moe.as_ref();
        let experts = match self.experts {
            ExpertsRule::None => moe.is_none(),
            ExpertsRule::Always => moe.is_some_and(|moe| moe.shared_expert_intermediate_size == 0),
            ExpertsRule::Any => true,
            ExpertsRule::Optional => moe.is_none_or(|moe| !moe.shared_expert_gate),
        };
        experts && model.mlp == self.mlp && self.mlp_bias.is_none_or(|bias| model.mlp_bias == bias)
    }

    fn fits_norms(&self, model: &ModelConfig) -> bool {
        let [fewest, most] = self.norms_per_block;
        let kind = self.normalization.is_none_or(|kind| model.normalization == kind);
        kind && (fewest..=most).contains(&model.norms_per_block)
    }

    fn fits_attention(&self, model: &ModelConfig) -> bool {
        let biases = self.attention_bias.is_none_or(|bias| model.attention_bias == bias)
            && (!self.output_bias_as_others || model.attention_bias == model.attention_output_bias);
        let heads = !self.key_head_for_each_query_head
            || model.num_attention_heads == model.num_key_value_heads;
        let norms = self.may_norm_queries_and_keys || !model.qk_norm;
        model.mla.is_some() == self.latent
            && biases
            && heads
            && norms
            && model.attention_sinks == self.sinks
    }
}
