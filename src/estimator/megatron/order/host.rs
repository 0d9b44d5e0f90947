//! Optimizer states in the host's memory (`optimizer/cpu_offloading/hybrid_optimizer.py`): the
//! device holds weights and main gradients, and what is copied for a moment.

use super::Order;
use super::weights::Parameter;
use crate::units::Elements;

impl Order<'_> {
    /// The device copies parameters before they go to the host: every one, then every part that
    /// this rank updates (`HybridDeviceOptimizer`, which `DistributedOptimizer` makes anew).
    pub(super) fn copied_to_host(&mut self, parameters: &[Parameter]) {
        let recipe = self.run.recipe();
        let bytes = |elements: u64| Elements(elements).stored_as(recipe.parameter).0;
        let shares = self.shares(parameters);
        let whole = parameters.iter().map(|parameter| (parameter.is_matrix, parameter.elements));
        let parts = shares.iter().map(|share| (share.is_matrix, share.elements));
        for copied in [whole.collect::<Vec<_>>(), parts.collect()] {
            for group in [true, false] {
                for (_, elements) in copied.iter().filter(|(is_matrix, _)| *is_matrix == group) {
                    self.player.brief("copy of a parameter", bytes(*elements));
                }
            }
        }
    }

    /// The host's optimizer reads gradients and writes parameters: where formats differ, the copy
    /// is cast on the device (`copy_` without waiting, `aten/src/ATen/native/cuda/Copy.cu`).
    pub(super) fn updated_by_host(&mut self) {
        let recipe = self.run.recipe();
        let Some(master) = recipe.master else { return };
        let shares = self.shares(&self.parameters());
        for (is_cast, name) in [
            (master != recipe.gradient, "gradient of a main parameter"),
            (master != recipe.parameter, "updated parameter"),
        ] {
            for group in [true, false] {
                for share in shares.iter().filter(|share| is_cast && share.is_matrix == group) {
                    self.player.brief(name, Elements(share.elements).stored_as(master).0);
                }
            }
        }
    }
}
