//! Weights and gradients that are shared out: gathered before use, reduced after backward, group by group.
//!
//! PyTorch's FSDP2 (`torch/distributed/fsdp/_fully_shard`, 2.15): every block is a group, and embedding, final norm and head are the
//! root's. A group's shares are cast and put side by side, gathered into one buffer, and copied out into the weights. In forward that
//! buffer lives until the next group has been gathered; in backward the next group is gathered ahead. Gradients are joined in the
//! reduction's format, reduced, and the joined buffer lives until the next group is reduced.

use std::cell::RefCell;

use super::plan::{Movement, Plan, Share, Shares};
use crate::estimator::states::GATHERED_WEIGHTS;
use crate::ops::tape::{Kind, Tape, Var};
use crate::sources;
use crate::units::DType;

/// Label of what gradients need on their way between ranks.
pub const GRADIENT_REDUCTION: &str = "Gradient reduction";

/// Elements of a group in the format in which it is gathered: what a rank keeps, and the padded whole.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    pub kept: u64,
    pub padded: u64,
    /// Of these, the elements that learn.
    pub learned: [u64; 2],
}

/// Sizes of all groups, the root's first.
pub(super) fn sizes(tape: &Tape, plan: &Plan<'_>) -> Vec<Size> {
    let head = plan.head();
    let mut sizes = vec![Size::default(); usize::from(head)];
    for parameter in &tape.state().parameters {
        let tag = if parameter.layer == head { 0 } else { parameter.layer };
        if let Some(size) = sizes.get_mut(usize::from(tag)) {
            // Weights of four bits are gathered as they are kept.
            let width = |elements: u64| match parameter.dtype {
                DType::Int4 => elements.saturating_mul(DType::Int4.bits()) / plan.with.parameter.bits(),
                _ => elements,
            };
            if parameter.beside {
                continue;
            }
            size.kept = size.kept.saturating_add(width(parameter.kept));
            size.padded = size.padded.saturating_add(width(parameter.padded));
            if !parameter.frozen {
                let [kept, padded] = &mut size.learned;
                *kept = kept.saturating_add(parameter.kept);
                *padded = padded.saturating_add(parameter.padded);
            }
        }
    }
    if plan.movement == Movement::Gradients {
        for size in &mut sizes {
            size.kept = size.padded.div_ceil(plan.ranks.max(1));
            size.learned[0] = size.learned[1].div_ceil(plan.ranks.max(1));
        }
    }
    sizes
}

/// What is gathered or on its way.
#[derive(Debug, Default)]
struct Alive<'t> {
    /// Gathered weights by tag; the root's under 0.
    weights: Vec<(u16, Var<'t>)>,
    /// The buffer of the last all-gather, and whose it is.
    gathered: Option<(u16, Var<'t>)>,
    /// The buffer of the last reduce-scatter.
    reduced: Option<Var<'t>>,
    /// Shares of gradients.
    shares: Vec<(u16, Var<'t>)>,
}

/// All groups of a stage.
#[derive(Debug)]
pub(super) struct Groups<'t> {
    tape: &'t Tape,
    movement: Movement,
    sizes: Vec<Size>,
    head: u16,
    compute: DType,
    reduce: DType,
    gradient: DType,
    /// Whether shares of gradients go to the host as they are reduced.
    away: bool,
    alive: RefCell<Alive<'t>>,
    shares: RefCell<Shares>,
}

impl<'t> Groups<'t> {
    pub fn new(tape: &'t Tape, plan: &Plan<'_>) -> Self {
        let (compute, gradient) = (plan.with.parameter, plan.recipe.gradient);
        Self {
            tape,
            movement: plan.movement,
            sizes: sizes(tape, plan),
            head: plan.head(),
            compute,
            reduce: plan.reduce,
            gradient,
            away: plan.away.gradients,
            alive: RefCell::default(),
            shares: RefCell::default(),
        }
    }

    /// The storages that were taken by now and are shares of something.
    pub fn shares(&self) -> Shares {
        self.shares.take()
    }

    fn take(&self, name: &'static str, op: &'static str, share: Share, dtype: DType) -> Var<'t> {
        self.tape.at(op, sources::FSDP2);
        self.lump(name, (Kind::Gathered, share, dtype))
    }

    fn lump(&self, name: &'static str, (kind, share, dtype): (Kind, Share, DType)) -> Var<'t> {
        let size = |tag: u16| self.sizes.get(usize::from(tag)).copied().unwrap_or_default();
        let elements = match share {
            Share::Kept(tag) => size(tag).kept,
            Share::Padded(tag) => size(tag).padded,
            Share::LearnedKept(tag) => size(tag).learned[0],
            Share::LearnedPadded(tag) => size(tag).learned[1],
            Share::States(_) | Share::Temporaries(_) => 0,
        };
        let lump = self.tape.lump(name, (kind, elements, dtype));
        self.shares.borrow_mut().push((lump.parts().0, share));
        lump
    }

    /// Gathers a group into its buffer.
    fn gather(&self, tag: u16) {
        let shares = self.take("shares side by side", GATHERED_WEIGHTS, Share::Kept(tag), self.compute);
        let buffer = self.take("all-gather buffer", GATHERED_WEIGHTS, Share::Padded(tag), self.compute);
        drop(shares);
        let before = self.alive.borrow_mut().gathered.replace((tag, buffer));
        drop(before);
    }

    /// Copies a gathered group out into its weights.
    fn copy_out(&self, tag: u16) {
        let weights = self.take("full weights", GATHERED_WEIGHTS, Share::Padded(tag), self.compute);
        self.alive.borrow_mut().weights.push((tag, weights));
    }

    fn holds(&self, tag: u16) -> bool {
        self.alive.borrow().weights.iter().any(|(held, _)| *held == tag)
    }

    fn release(&self, tag: u16) {
        let before = {
            let mut alive = self.alive.borrow_mut();
            alive.weights.iter().position(|(held, _)| *held == tag).map(|at| alive.weights.swap_remove(at))
        };
        drop(before);
    }

    /// Forward comes to a group; the root's tag is 0.
    pub fn before_forward(&self, tag: u16) {
        match self.movement {
            Movement::Weights { buffers: true, .. } => {
                self.gather(tag);
                self.copy_out(tag);
            }
            Movement::Weights { buffers: false, .. } => self.copy_out(tag),
            _ => {}
        }
    }

    /// Forward is through with a group.
    pub fn after_forward(&self, tag: u16) {
        if let Movement::Weights { reshard: true, .. } = self.movement {
            self.release(tag);
        }
        if tag == 0 {
            let before = self.alive.borrow_mut().gathered.take();
            drop(before);
        }
    }

    /// Backward comes to a layer: its weights are gathered if they are not there, and those of the next one ahead.
    pub fn enters(&self, layer: u16) {
        let Movement::Weights { buffers, .. } = self.movement else { return };
        let tag = if layer == self.head { 0 } else { layer };
        if layer == 0 || self.holds(tag) {
            return;
        }
        if buffers && self.alive.borrow().gathered.as_ref().is_none_or(|(held, _)| *held != tag) {
            self.gather(tag);
        }
        self.copy_out(tag);
        let before = self.alive.borrow_mut().gathered.take();
        drop(before);
        let next = layer - 1;
        if buffers && next > 0 && !self.holds(next) {
            self.gather(next);
        }
    }

    /// Backward is through with a layer: its weights are let go and its gradients reduced. The root comes last.
    pub fn leaves(&self, layer: u16, last: bool) {
        if self.movement == Movement::Still {
            return;
        }
        if layer != 0 && layer != self.head {
            self.reduce(layer);
        }
        if last {
            self.reduce(0);
            let before = self.alive.borrow_mut().reduced.take();
            drop(before);
        }
    }

    fn reduce(&self, tag: u16) {
        self.release(tag);
        let before = self.alive.borrow_mut().reduced.take();
        drop(before);
        if let Movement::Weights { buffers: true, .. } = self.movement {
            let joined = self.take("reduce-scatter buffer", GRADIENT_REDUCTION, Share::LearnedPadded(tag), self.reduce);
            self.alive.borrow_mut().reduced = Some(joined);
        }
        let head = self.head;
        self.tape.release_gradients(|layer| layer == tag || (tag == 0 && layer == head));
        let exists = self.alive.borrow().shares.iter().any(|(held, _)| *held == tag);
        let buffers = matches!(self.movement, Movement::Weights { buffers: true, .. });
        // Reduced gradients are the share itself, unless they are cast into it or added to it.
        let reduced = (buffers && (self.reduce != self.gradient || exists || self.away))
            .then(|| self.take("reduced gradients", GRADIENT_REDUCTION, Share::LearnedKept(tag), self.reduce));
        if !exists {
            self.keep_share(tag);
        }
        drop(reduced);
    }

    fn keep_share(&self, tag: u16) {
        if self.away {
            return;
        }
        self.tape.at("Gradients", sources::FSDP2);
        let share = self.lump("share of the gradients", (Kind::Gradient, Share::LearnedKept(tag), self.gradient));
        self.alive.borrow_mut().shares.push((tag, share));
    }

    /// Shares of gradients exist from the micro-batch before.
    pub fn gradients_exist(&self) {
        for tag in 0..self.head {
            self.tape.set_layer(tag);
            self.keep_share(tag);
        }
    }

    /// Whether gradients are kept in shares.
    pub fn shares_gradients(&self) -> bool {
        self.movement != Movement::Still
    }
}
