//! The second half of a block: a dense feed-forward layer or experts.

use super::Build;
use super::mlp::Mlp;
use super::moe::Mixture;
use super::sparse::Sparse;
use crate::ops::tape::{Tape, Var};

/// The feed-forward layer of a block, or the experts in its place.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one of each kind of block")]
pub(super) enum FeedForward {
    Dense(Mlp),
    Experts(Mixture),
    /// Experts beside shared ones, or chosen among groups.
    Sparse(Box<Sparse>),
}

impl FeedForward {
    /// The one of that layer, with its parameters declared.
    pub fn new(build: &Build<'_>, layer: u64) -> Self {
        let routes_by_groups = build.model().family.modules().experts.routes_by_groups;
        match build.model().moe_at(layer) {
            Some(moe)
                if moe.shared_expert_intermediate_size > 0
                    || moe.latent > 0
                    || routes_by_groups =>
            {
                Self::Sparse(Box::new(Sparse::new(build, moe)))
            }
            Some(moe) => Self::Experts(Mixture::new(build, moe)),
            None => Self::Dense(Mlp::new(build)),
        }
    }

    /// Its output, and the router's weights where it hands these on.
    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> (Var<'t>, Option<Var<'t>>) {
        match self {
            Self::Dense(mlp) => (mlp.run(tape, x), None),
            Self::Experts(experts) => experts.run(tape, x),
            Self::Sparse(experts) => (experts.run(tape, x), None),
        }
    }

    /// Its output where it is written into a block, which has no module for it: a dense layer's
    /// input is freed once it is projected.
    pub fn in_line<'t>(&self, tape: &'t Tape, x: Var<'t>) -> Var<'t> {
        match self {
            Self::Dense(mlp) => mlp.in_line(tape, x),
            Self::Experts(_) | Self::Sparse(_) => self.run(tape, &x).0,
        }
    }
}
