//! Blocks of attention and a feed-forward layer that several layers share, each before a state of
//! its own.

use serde::{Deserialize, Serialize};

use super::ModelConfig;

/// Blocks whose weights several layers share. Each reads the embedded tokens beside the layer's
/// input, and layers with attention run them in turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SharedBlocks {
    /// Blocks with weights of their own (`num_mem_blocks`).
    pub count: u64,
    /// Rank of the adapter that each layer adds to the shared feed-forward layer (`adapter_rank`);
    /// 0: none.
    pub adapter_rank: u64,
    /// Each layer also has adapters of that rank on queries, keys and values
    /// (`use_shared_attention_adapter`).
    pub adapts_attention: bool,
}

impl ModelConfig {
    /// Returns the shared block that layer `layer` runs, counted from 0; `None` if it runs none.
    pub fn shared_block_of(&self, layer: u64) -> Option<u64> {
        let (shared, layers) = (self.shared?, &self.hybrid.as_ref()?.attention_layers);
        let before = || (0..layer).filter(|layer| layers.contains(*layer)).count();
        layers
            .contains(layer)
            .then(|| u64::try_from(before()).unwrap_or(u64::MAX) % shared.count.max(1))
    }

    /// Returns the number of shared blocks that layers really run: no more than there are layers
    /// with attention.
    pub fn shared_blocks(&self) -> u64 {
        let Some((shared, hybrid)) = self.shared.zip(self.hybrid.as_ref()) else { return 0 };
        let layers = (0..self.num_hidden_layers)
            .filter(|layer| hybrid.attention_layers.contains(*layer))
            .count();
        shared.count.min(u64::try_from(layers).unwrap_or(u64::MAX))
    }
}
