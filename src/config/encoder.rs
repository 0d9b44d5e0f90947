//! Both ends of an encoder.

use serde::{Deserialize, Serialize};

/// Both ends of an encoder, as BERT and its relatives have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Encoder {
    /// A token sees those before it alone: the modules are used as a decoder (`is_decoder`).
    pub is_decoder: bool,
    /// Rows of a learned table of token types, added to the embedding; 0 for none (`type_vocab_size`).
    pub type_vocab_size: u64,
    /// A dense layer, the activation function and a norm stand before the output head (`predictions.transform`).
    pub head_transform: bool,
}

impl Encoder {
    /// Two token types, and a layer before the output head.
    pub const BERT: Self = Self { is_decoder: false, type_vocab_size: 2, head_transform: true };
}
