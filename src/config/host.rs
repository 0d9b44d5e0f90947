//! The host beside the accelerators: its memory, and the parts of a served model that lie there.

use crate::units::Bytes;

/// The host of one instance's accelerators.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// Memory of the host, bytes; `None`: not stated.
    pub memory: Option<Bytes>,
    /// Bytes per second that its processor reads from that memory.
    pub bandwidth: f64,
    /// FLOP/s of its processor in products with weights.
    pub rate: f64,
    /// Bytes per second from its memory to one accelerator; `None` where both share one memory.
    pub link: Option<f64>,
}

impl Host {
    /// A desktop of 2023 with a link of PCIe 4.0 x16: two channels of DDR5-5600 (JESD79-5: 5,600
    /// million transfers of 8 bytes a second on each), and 8 cores of 4 GHz with two units for
    /// multiply-adds of 8 numbers (Intel's and AMD's optimisation guides on AVX2: 32 FLOPs a
    /// cycle). An assumption.
    pub const ASSUMED: Self =
        Self { memory: None, bandwidth: 89.6e9, rate: 1e12, link: Some(31.5e9) };
}

/// Parts of a served model that lie in the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InHostMemory {
    /// Layers on accelerators, counted from the last, the head as one more; `None`: all.
    pub gpu_layers: Option<u64>,
    /// The first layers of which routed experts lie in the host's memory.
    pub expert_layers: u64,
    /// True if the whole cache lies there.
    pub cache: bool,
    /// Weights of each accelerator that lie there and cross the link in every step.
    pub weights: Bytes,
}

impl InHostMemory {
    /// Everything is on accelerators.
    pub const NOTHING: Self =
        Self { gpu_layers: None, expert_layers: 0, cache: false, weights: Bytes::ZERO };

    /// Returns how many of the first of so many layers lie in the host's memory.
    pub const fn layers(&self, all: u64) -> u64 {
        match self.gpu_layers {
            Some(on_gpu) => {
                let away = (all + 1).saturating_sub(on_gpu);
                if away < all { away } else { all }
            }
            None => 0,
        }
    }

    /// Returns true if layers, experts or the cache of a model of so many layers lie there.
    pub const fn is_computed_there(&self, all: u64) -> bool {
        self.layers(all) > 0 || self.expert_layers > 0 || self.cache
    }
}

#[cfg(test)]
mod tests {
    use super::InHostMemory;

    /// The head counts as one more layer, and goes first: with as many layers on the GPU as a model
    /// has, its first layer is on the processor.
    #[test]
    fn layers_are_counted_from_the_head() {
        let away = |on_gpu| InHostMemory { gpu_layers: on_gpu, ..InHostMemory::NOTHING }.layers(32);
        assert_eq!(
            [None, Some(99), Some(33), Some(32), Some(1), Some(0)].map(away),
            [0, 0, 0, 1, 32, 32]
        );
    }
}
