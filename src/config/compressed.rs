//! Attention to compressed keys in blocks of several residual streams: DeepSeek-V4.

use std::borrow::Cow;

/// How a layer compresses the keys of what lies behind its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compresses {
    /// Not at all.
    #[default]
    Nothing,
    /// A few tokens to a key, of which an indexer chooses some for each query (`compressed_sparse_attention`).
    AndChooses,
    /// Many tokens to a key, all of which are seen (`heavily_compressed_attention`).
    Heavily,
}

/// One layer of such a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CompressedLayer {
    /// How it compresses keys.
    pub compresses: Compresses,
    /// Its experts are read off a table of tokens, rather than chosen by their scores (`hash_moe`).
    pub hashed: bool,
}

/// The layers of such a model, one by one.
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
    /// Width of one of them (`index_head_dim`).
    pub index_head_dim: u64,
    /// Compressed keys that a query sees (`index_topk`).
    pub index_topk: u64,
    /// Residual streams (`hc_mult`).
    pub hc_mult: u64,
    /// How often the streams' weights are made to sum to 1 by rows and by columns (`hc_sinkhorn_iters`).
    pub hc_sinkhorn_iters: u64,
    /// Tokens that become one key in layers that choose, and in those that compress heavily (`compress_rates`).
    pub rates: [u64; 2],
    /// Its layers.
    pub each: CompressedLayers,
}

impl Compressed {
    /// That layer; one beyond the list compresses nothing.
    pub fn layer(&self, layer: u64) -> CompressedLayer {
        usize::try_from(layer).ok().and_then(|at| self.each.0.get(at).copied()).unwrap_or_default()
    }

    /// Tokens that become one key, where keys are compressed so.
    pub const fn rate(&self, compresses: Compresses) -> Option<u64> {
        match compresses {
            Compresses::Nothing => None,
            Compresses::AndChooses => Some(self.rates[0]),
            Compresses::Heavily => Some(self.rates[1]),
        }
    }

    /// How many layers compress keys so.
    pub fn count(&self, compresses: Compresses) -> u64 {
        self.each.0.iter().map(|layer| u64::from(layer.compresses == compresses)).sum()
    }
}
