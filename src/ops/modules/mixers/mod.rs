//! States as transformers 5.23 trains them, where no kernel of another package takes its functions'
//! place.

mod by_heads;
mod channel_rule;
mod chunk_scan;
mod delta;
mod delta_rule;
mod gated_norm;
mod kimi;
mod lightning;
mod mamba;
mod mamba2;
mod matrices;
mod mlstm;
mod rg_lru;
mod short_conv;
mod sums;
mod token_scan;
mod turns;

use std::fmt;

use super::Build;
use super::state::State;
use crate::config::{Mixer, MixerKind};
use crate::ops::tape::{Tape, Var};
use by_heads::ByHeads;
use delta::Delta;
use kimi::Kimi;
use lightning::Lightning;
use mamba::Mamba;
use mamba2::Mamba2;
use mlstm::Mlstm;
use rg_lru::RgLru;
use short_conv::ShortConv;

pub(super) use sums::{Mix, Sums, shifted};

/// A layer that keeps a state, as blocks know it.
pub(crate) trait StateLayer {
    /// True if it runs, instead of being counted alone.
    fn is_run(&self) -> bool;

    /// Its contribution, unless its products are only counted; what the block holds to its end
    /// beside goes to `held`.
    fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>, held: &mut Vec<Var<'t>>) -> Option<Var<'t>>;
}

// `Debug` is that of the trait: as a supertrait it would bring every implementation's into the
// page's program.
impl fmt::Debug for dyn StateLayer + '_ {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a layer that keeps a state")
    }
}

/// The part that a layer has in place of attention, or beside it.
#[derive(Debug)]
pub(super) enum Mixing {
    /// Parameters and products alone, of a state that is served or is not trained here.
    Counted(State),
    /// LFM2's convolution over a few tokens.
    ShortConv(ShortConv),
    /// Linear attention by the gated delta rule.
    Delta(Box<Delta>),
    /// Linear attention with a decay for every channel.
    Kimi(Box<Kimi>),
    /// Linear attention in blocks of tokens.
    Lightning(Box<Lightning>),
    /// A state space for every channel.
    Mamba(Box<Mamba>),
    /// A state space for every channel, by heads.
    ByHeads(Box<ByHeads>),
    /// A state space for every head.
    Mamba2(Box<Mamba2>),
    /// A number for every channel.
    RgLru(Box<RgLru>),
    /// A matrix for every head.
    Mlstm(Box<Mlstm>),
}

impl Mixing {
    /// Declares its parameters.
    pub fn new(build: &Build<'_>, mixer: &Mixer) -> Self {
        let counted = || Self::Counted(State::new(build, mixer));
        match mixer.kind {
            _ if !build.with.training => counted(),
            MixerKind::Lfm2 => Self::ShortConv(ShortConv::new(build, mixer)),
            MixerKind::Qwen3Next => Self::Delta(Box::new(Delta::new(build, mixer))),
            MixerKind::Mamba2 | MixerKind::FalconH1 => {
                Self::Mamba2(Box::new(Mamba2::new(build, mixer)))
            }
            MixerKind::Mamba | MixerKind::FalconMamba | MixerKind::Jamba => {
                Self::Mamba(Box::new(Mamba::new(build, mixer)))
            }
            MixerKind::Minimax => Self::Lightning(Box::new(Lightning::new(build, mixer))),
            MixerKind::Zamba => Self::ByHeads(Box::new(ByHeads::new(build, mixer))),
            MixerKind::KimiLinear | MixerKind::KimiWhole => {
                Self::Kimi(Box::new(Kimi::new(build, mixer)))
            }
            MixerKind::RgLru => Self::RgLru(Box::new(RgLru::new(build, mixer))),
            // Trained, its sums stand in a block of their own.
            MixerKind::Rwkv => counted(),
            MixerKind::Mlstm => Self::Mlstm(Box::new(Mlstm::new(build, mixer))),
        }
    }
}

impl StateLayer for Mixing {
    fn is_run(&self) -> bool {
        !matches!(self, Self::Counted(_))
    }

    fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>, held: &mut Vec<Var<'t>>) -> Option<Var<'t>> {
        match self {
            Self::Counted(state) => {
                state.run(tape);
                None
            }
            Self::ShortConv(layer) => Some(layer.run(tape, x)),
            Self::Delta(layer) => Some(layer.run(tape, x)),
            Self::Kimi(layer) => Some(layer.run(tape, x)),
            Self::Lightning(layer) => Some(layer.run(tape, x, held)),
            Self::Mamba(layer) => Some(layer.run(tape, x)),
            Self::ByHeads(layer) => Some(layer.run(tape, x)),
            Self::Mamba2(layer) => Some(layer.run(tape, x)),
            Self::RgLru(layer) => Some(layer.run(tape, x, held)),
            Self::Mlstm(layer) => Some(layer.run(tape, x, held)),
        }
    }
}
