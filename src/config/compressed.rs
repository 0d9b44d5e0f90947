//! Attention to compressed keys in blocks of several residual streams: DeepSeek-V4.

use std::borrow::Cow;

/// How a layer compresses the keys of tokens that lie behind its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compresses {
    /// Keys are not compressed.
    #[default]
    Nothing,
    /// A few tokens become one key, and an indexer chooses some of these keys for each query
    /// (`compressed_sparse_attention`).
    AndChooses,
    /// Many tokens become one key, and every query sees all of these keys
    /// (`heavily_compressed_attention`).
    Heavily,
}

/// One layer of a model with compressed keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CompressedLayer {
    /// How the layer compresses keys.
    pub compresses: Compresses,
    /// Its experts are looked up in a table of tokens instead of being chosen by their scores
    /// (`hash_moe`).
    pub hashed: bool,
}

/// The layers of a model with compressed keys, one by one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompressedLayers(pub Cow<'static, [CompressedLayer]>);

/// Sizes of attention to compressed keys, and of the streams that every half of a block mixes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Compressed {
    /// Width of the narrow queries (`q_lora_rank`).
    pub q_lora_rank: u64,
    /// Groups of heads whose output is projected apart (`o_groups`).
    pub o_groups: u64,
    /// Columns that each group becomes (`o_lora_rank`).
    pub o_lora_rank: u64,
    /// Heads of an indexer (`index_n_heads`).
    pub index_n_heads: u64,
    /// Width of an indexer's head (`index_head_dim`).
    pub index_head_dim: u64,
    /// Compressed keys that a query sees (`index_topk`).
    pub index_topk: u64,
    /// Residual streams (`hc_mult`).
    pub hc_mult: u64,
    /// How often the streams' weights are made to sum to 1 by rows and by columns
    /// (`hc_sinkhorn_iters`).
    pub hc_sinkhorn_iters: u64,
    /// Tokens that become one key in layers that choose, and in those that compress heavily
    /// (`compress_rates`).
    pub rates: [u64; 2],
    /// The model's layers.
    pub each: CompressedLayers,
}

impl Compressed {
    /// Returns the description of layer `layer`; a layer beyond the list compresses nothing.
    pub fn layer(&self, layer: u64) -> CompressedLayer {
        usize::try_from(layer).ok().and_then(|at| self.each.0.get(at).copied()).unwrap_or_default()
    }

    /// Returns the tokens that become one key in layers that compress as `compresses`; `None` if
    /// these compress nothing.
    pub const fn rate(&self, compresses: Compresses) -> Option<u64> {
        match compresses {
            Compresses::Nothing => None,
            Compresses::AndChooses => Some(self.rates[0]),
            Compresses::Heavily => Some(self.rates[1]),
        }
    }

    /// Returns how many layers compress keys as `compresses`.
    pub fn count(&self, compresses: Compresses) -> u64 {
        self.each.0.iter().map(|layer| u64::from(layer.compresses == compresses)).sum()
    }
}
