//! The encoder beside a decoder, whose last states every block of the decoder reads.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{EmbeddedParts, Encoder, Family, LayerKind, ModelConfig, OWN_SIZES};

/// Sizes of an encoder that a decoder reads. Its blocks are the first of a model's layers; those of
/// the decoder stand behind them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SourceEncoder {
    /// Its blocks (`encoder_layers`); 0: the decoder was saved without the encoder, and the weights
    /// of its attention to the encoder's states are not used.
    pub layers: u64,
    /// Width of its hidden states, which cross-attention reads.
    pub hidden_size: u64,
    /// Its query heads (`encoder_attention_heads`).
    pub num_attention_heads: u64,
    /// Its key/value heads.
    pub num_key_value_heads: u64,
    /// Width of one of its heads.
    pub head_dim: u64,
    /// Inner width of its feed-forward layers (`encoder_ffn_dim`).
    pub intermediate_size: u64,
    /// Rows of its own table of learned positions.
    pub position_rows: u64,
    /// Rows of a token embedding of its own; 0: it shares the decoder's.
    pub vocab_size: u64,
    /// Rows of a table of words that nobody reads: without tied weights both sides have a table of
    /// their own beside it.
    pub idle_vocab_size: u64,
    /// The decoder's output is not scaled before its head, although the family's modules can do so.
    pub unscaled_output: bool,
    /// Sizes that the family's own modules alone know, in the order in which its description names
    /// their keys.
    pub own: [u64; OWN_SIZES],
}

impl ModelConfig {
    /// Returns the encoder beside the decoder, where it is there.
    pub fn beside(&self) -> Option<SourceEncoder> {
        self.source.filter(|source| source.layers > 0)
    }

    /// Returns true for a model whose serving is modelled: no encoder alone, and of the models of
    /// which only the parameters are counted those that list the parts of their cache.
    pub fn is_served(&self) -> bool {
        let trains = self.family.modules().encoder.trains;
        let is_counted = self.source.is_some() && !trains;
        let is_decoder = self
            .encoder
            .is_none_or(|encoder| encoder.is_decoder && (trains || self.is_counted_and_served()));
        is_decoder && self.task.is_none() && !is_counted
    }

    /// Returns true for a model of which only the parameters and the listed parts of its cache are
    /// counted.
    pub fn is_counted_and_served(&self) -> bool {
        !self.cache.is_empty()
    }

    /// Returns true for a block of the encoder beside a decoder.
    pub const fn is_of_source(&self, layer: u64) -> bool {
        match self.source {
            Some(source) => layer < source.layers,
            None => false,
        }
    }

    /// Returns the only source length, tokens, that the encoder takes, if it takes just one: that
    /// of its table of positions.
    pub fn only_source(&self) -> Option<u64> {
        let source = self.beside()?;
        let reads = self.family.modules().source.map(|modules| modules.encoder.embedding);
        (reads == Some(EmbeddedParts::Frames)).then_some(source.position_rows)
    }

    /// Returns the encoder beside the decoder as a model of its own: one whose tokens see all
    /// others.
    pub fn of_source(&self) -> Option<Self> {
        let source = self.beside()?;
        let modules = self.family.modules();
        Some(Self {
            hidden_size: source.hidden_size,
            num_hidden_layers: source.layers,
            num_attention_heads: source.num_attention_heads,
            num_key_value_heads: source.num_key_value_heads,
            head_dim: source.head_dim,
            intermediate_size: source.intermediate_size,
            position_rows: source.position_rows,
            vocab_size: if source.vocab_size > 0 { source.vocab_size } else { self.vocab_size },
            family: modules.source.map_or(self.family, Family),
            encoder: Some(Encoder { head_transform: false, own: source.own, ..Encoder::UNTYPED }),
            source: None,
            tower: None,
            ..self.clone()
        })
    }

    /// Returns the architecture as layers of that kind have it: an encoder's, or with
    /// [`super::Hybrid::other_heads`] in place of the usual ones.
    pub fn of_layers(&self, kind: LayerKind) -> Cow<'_, Self> {
        let of_source = if kind.source { self.of_source() } else { None };
        of_source.map_or_else(|| self.of_heads(kind), Cow::Owned)
    }
}
