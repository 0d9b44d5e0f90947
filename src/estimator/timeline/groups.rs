//! Weights and gradients that are shared out: gathered before use, reduced after backward, group by group.
//!
//! PyTorch's FSDP2 (`torch/distributed/fsdp/_fully_shard`, 2.15): every block is a group, and embedding, final norm and head are the
//! root's. A group's shares are cast and put side by side, gathered into one buffer, and copied out into the weights. In forward that
//! buffer lives until the next group has been gathered; in backward the next group is gathered ahead. Gradients are joined in the
//! reduction's format, reduced, and the joined buffer lives until the next group is reduced.
//!
//! FSDP1 gathers into one flat tensor that weights are views of; see [`flat`].

mod flat;

use std::cell::{Cell, RefCell};

use super::plan::{Holding, Movement, Plan, Share, Shares};
use crate::estimator::states::GATHERED_WEIGHTS;
use crate::ops::tape::{Kind, Parameter, Tape, Var, When};
use crate::sharding::{Buckets, GatheredInto};
use crate::sources::{self, Source};
use crate::stacks::GroupsOfEnds;
use crate::units::DType;

/// Label of what gradients need on their way between ranks.
pub const GRADIENT_REDUCTION: &str = "Gradient reduction";

/// The stream on which shares are copied together and gathered (`_fsdp_param_group.py`, `all_gather_copy_in_stream`).
const GATHERING: u8 = 1;
/// The stream on which gradients are reduced (`reduce_scatter_stream`).
const REDUCING: u8 = 2;

/// Label of the buckets into which gradients are copied before they are summed.
pub(super) const GRADIENT_BUCKETS: &str = "Gradient buckets";

/// Label of the buffer in which `DeepSpeed` reduces gradients.
pub const REDUCTION_BUCKET: &str = "Reduction bucket";

/// The buckets of `DistributedDataParallel`, in the format of the parameters that learn.
///
/// The reducer sorts parameters into buckets of 1 MiB, then 25 MiB each (`torch/nn/parallel/distributed.py`); their sum is one value
/// per parameter that learns.
fn buckets_of_all<'t>(tape: &'t Tape, plan: &Plan<'_>) -> Var<'t> {
    let bits =
        |parameter: &Parameter| parameter.kept.saturating_mul(plan.times(parameter.layer)).saturating_mul(parameter.dtype.bits());
    let state = tape.state();
    let learned = state.parameters.iter().filter(|parameter| !parameter.idle);
    let bits = learned.map(bits).fold(0, u64::saturating_add);
    drop(state);
    // A bucket holds one format. The widths of all are added up in that of most.
    let dtype = plan.with.parameter;
    tape.at(GRADIENT_BUCKETS, sources::PYTORCH_DDP);
    tape.lump("flat buckets", (Kind::Gathered, bits / dtype.bits().max(1), dtype))
}

/// Elements of the largest parameter that learns.
fn largest(tape: &Tape) -> u64 {
    let state = tape.state();
    let learned = state.parameters.iter().filter(|parameter| !parameter.idle);
    learned.map(|parameter| parameter.kept).max().unwrap_or(0)
}

/// The first rank's rest of parameters beyond its part of the long vector: gradients of the parameter that the part ends in are
/// kept whole (`copy_grads_in_partition` in deepspeed/runtime/zero/stage_1_and_2.py). The vector begins with the embedding.
pub(super) fn cut(tape: &Tape, plan: &Plan<'_>) -> u64 {
    let state = tape.state();
    let learned = || state.parameters.iter().filter(|parameter| !parameter.idle);
    let of_layer = |tag: u16| learned().filter(move |parameter| parameter.layer == tag).map(|parameter| parameter.kept);
    let layers = 0..=plan.head();
    let sum = |tag: u16| of_layer(tag).fold(0, u64::saturating_add);
    let all = layers.clone().map(|tag| sum(tag).saturating_mul(plan.times(tag))).fold(0, u64::saturating_add);
    let mut left = all.div_ceil(plan.ranks.max(1));
    for tag in layers {
        let (block, times) = (sum(tag), plan.times(tag));
        if block.saturating_mul(times) < left {
            left -= block.saturating_mul(times);
            continue;
        }
        left = left.checked_rem(block).filter(|rest| *rest > 0).unwrap_or(block.min(left));
        for elements in of_layer(tag) {
            if elements >= left {
                return elements - left;
            }
            left -= elements;
        }
    }
    0
}

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
    // The gradient of a flat parameter is whole, whatever of it learns.
    let is_flat = matches!(plan.movement, Movement::Weights { into: GatheredInto::FlatTensor, .. });
    let apart = plan.ends == GroupsOfEnds::Apart;
    let mut sizes = vec![Size::default(); usize::from(head.saturating_add(u16::from(apart)))];
    for parameter in &tape.state().parameters {
        let tag = if parameter.layer == head && !apart { 0 } else { parameter.layer };
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
            if !parameter.frozen || is_flat {
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
    /// Flat gradients that were added up unreduced.
    added_up: Vec<(u16, Var<'t>)>,
    /// The buffer that gradients are copied into before they are reduced.
    bucket: Option<Var<'t>>,
    /// Where a gradient waits for the host.
    on_its_way: Option<Var<'t>>,
}

/// All groups of a stage.
#[derive(Debug)]
pub(super) struct Groups<'t> {
    tape: &'t Tape,
    movement: Movement,
    sizes: Vec<Size>,
    /// A rank's rest of the parameter that its part of the long vector cuts.
    cut: u64,
    holding: Vec<Holding>,
    buckets: (Buckets, u64, DType),
    head: u16,
    /// Whether the head is in another group than the embedding.
    apart: bool,
    /// The block that stays gathered from forward to backward.
    kept_block: Option<u16>,
    /// Whether backward gathers the next group ahead.
    ahead: bool,
    /// The source of what moves.
    source: Source,
    /// Format of what a rank keeps of weights.
    kept: DType,
    compute: DType,
    reduce: DType,
    gradient: DType,
    /// Whether shares of gradients go to the host as they are reduced.
    away: bool,
    /// Whether the micro-batch at hand reduces gradients, or adds them up.
    reduces: Cell<bool>,
    /// Whether the bucket of gradients stays behind a micro-batch.
    keeps_bucket: Cell<bool>,
    alive: RefCell<Alive<'t>>,
    shares: RefCell<Shares>,
}

impl<'t> Groups<'t> {
    pub fn new(tape: &'t Tape, plan: &Plan<'_>) -> Self {
        let (compute, gradient) = (plan.with.parameter, plan.recipe.gradient);
        let groups = Self {
            tape,
            movement: plan.movement,
            sizes: sizes(tape, plan),
            cut: if plan.movement == Movement::Gradients { cut(tape, plan) } else { 0 },
            holding: (0..=plan.head()).map(|tag| plan.holding(tag)).collect(),
            buckets: plan.buckets,
            head: plan.head(),
            apart: plan.ends == GroupsOfEnds::Apart,
            kept_block: plan.head().checked_sub(1).filter(|_| plan.keeps_last_block),
            ahead: plan.gathers_ahead,
            source: plan.sharding.gathers.as_ref().map_or(sources::FSDP2, |gathers| gathers.source),
            kept: plan.recipe.parameter,
            compute,
            reduce: plan.reduce,
            gradient,
            away: plan.away.gradients,
            reduces: Cell::new(true),
            keeps_bucket: Cell::new(false),
            alive: RefCell::default(),
            shares: RefCell::default(),
        };
        groups.take_standing_buckets(plan);
        groups
    }

    /// Takes the buckets that are there when the micro-batch begins.
    fn take_standing_buckets(&self, plan: &Plan<'_>) {
        let kept_on = plan.accumulated && !self.shares_gradients();
        let stands = match self.buckets.0 {
            Buckets::None => false,
            Buckets::EveryGradient | Buckets::Lasting => true,
            Buckets::WhileReducing => kept_on,
        };
        if stands {
            self.tape.begin(When::Before, 0, Kind::Gathered);
            let bucket = if self.buckets.0 == Buckets::EveryGradient { buckets_of_all(self.tape, plan) } else { self.bucket() };
            self.alive.borrow_mut().bucket = Some(bucket);
        }
        if plan.away.optimizer && self.buckets.0 == Buckets::WhileReducing {
            self.tape.begin(When::Before, 0, Kind::Gathered);
            self.tape.at(GRADIENT_REDUCTION, sources::DEEPSPEED);
            // `temp_grad_buffer_for_gpu_offload` of stages 1 and 2 has room for the largest parameter.
            let largest = largest(self.tape);
            let lump = self.tape.lump("largest gradient on its way to the host", (Kind::Gathered, largest, self.buckets.2));
            self.alive.borrow_mut().on_its_way = Some(lump);
        }
    }

    /// A buffer of `reduce_bucket_size` elements.
    fn bucket(&self) -> Var<'t> {
        let (_, elements, dtype) = self.buckets;
        self.tape.at(REDUCTION_BUCKET, sources::DEEPSPEED);
        self.tape.lump("flat buffer", (Kind::Gathered, elements, dtype))
    }

    /// The storages that were taken by now and are shares of something.
    pub fn shares(&self) -> Shares {
        self.shares.take()
    }

    fn take(&self, name: &'static str, op: &'static str, (share, dtype, stream): (Share, DType, u8)) -> Var<'t> {
        self.tape.at(op, self.source);
        self.lump(name, (Kind::Gathered, share, dtype), stream)
    }

    fn lump(&self, name: &'static str, (kind, share, dtype): (Kind, Share, DType), stream: u8) -> Var<'t> {
        let size = |tag: u16| self.sizes.get(usize::from(tag)).copied().unwrap_or_default();
        let elements = match share {
            Share::Kept(tag) => size(tag).kept,
            Share::Padded(tag) => size(tag).padded,
            Share::LearnedKept(tag) => size(tag).learned[0],
            Share::LearnedPadded(tag) => size(tag).learned[1],
            Share::Cut => self.cut,
            Share::States(_) | Share::Temporaries(_) | Share::Upcast => 0,
        };
        let before = self.tape.on_stream(stream);
        let lump = self.tape.lump(name, (kind, elements, dtype));
        self.tape.on_stream(before);
        self.shares.borrow_mut().push((lump.parts().0, share));
        lump
    }

    /// The group of a layer.
    const fn tag(&self, layer: u16) -> u16 {
        if layer == self.head { self.of_head() } else { layer }
    }

    /// The group of the head: the embedding's, or one of its own.
    pub const fn of_head(&self) -> u16 {
        if self.apart { self.head } else { 0 }
    }

    /// Whether weights are gathered ahead of their use, and gradients joined before they are reduced.
    const fn into(&self) -> Option<GatheredInto> {
        match self.movement {
            Movement::Weights { into, .. } => Some(into),
            Movement::Still | Movement::Gradients => None,
        }
    }

    /// Gathers a group, as far as that happens before its weights are used.
    fn gather(&self, tag: u16) {
        match self.into() {
            Some(GatheredInto::BufferAndTensors) => self.gather_into_buffer(tag),
            Some(GatheredInto::FlatTensor) => self.gather_flat(tag),
            Some(GatheredInto::Tensors) | None => {}
        }
    }

    /// Gathers a group into its buffer.
    fn gather_into_buffer(&self, tag: u16) {
        let shares = self.take("shares side by side", GATHERED_WEIGHTS, (Share::Kept(tag), self.compute, GATHERING));
        let buffer = self.take("all-gather buffer", GATHERED_WEIGHTS, (Share::Padded(tag), self.compute, GATHERING));
        drop(shares);
        let before = self.alive.borrow_mut().gathered.replace((tag, buffer));
        drop(before);
    }

    /// Copies a gathered group out into its weights, unless they are views of what was gathered.
    fn copy_out(&self, tag: u16) {
        if self.into() == Some(GatheredInto::FlatTensor) {
            return;
        }
        let weights = match self.holding(tag) {
            Holding::Nothing => return,
            Holding::Rest(parameters) => {
                self.tape.at(GATHERED_WEIGHTS, self.source);
                self.tape.lump("weights gathered ahead", (Kind::Gathered, parameters, self.compute))
            }
            Holding::InTurn | Holding::Lasting => {
                self.take("full weights", GATHERED_WEIGHTS, (Share::Padded(tag), self.compute, 0))
            }
        };
        self.alive.borrow_mut().weights.push((tag, weights));
    }

    fn holding(&self, tag: u16) -> Holding {
        self.holding.get(usize::from(tag)).copied().unwrap_or(Holding::InTurn)
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
        if self.into().is_some() && !self.holds(tag) {
            self.gather(tag);
            self.copy_out(tag);
        }
    }

    /// Forward is through with a group.
    pub fn after_forward(&self, tag: u16) {
        if let Movement::Weights { reshard, keeps_ends, .. } = self.movement
            && self.holding(tag) == Holding::InTurn
            && (if tag == self.of_head() { !keeps_ends && !self.apart } else { reshard && self.kept_block != Some(tag) })
        {
            self.release(tag);
        }
        if tag == self.of_head() {
            let before = self.alive.borrow_mut().gathered.take();
            drop(before);
        }
    }

    /// Backward comes to a layer: its weights are gathered if they are not there, and those of the next one ahead.
    pub fn enters(&self, layer: u16) {
        // The embedding needs no weights of its group in backward, but where it has one of its own that is gathered all the same.
        if self.into().is_none() || layer > self.head || (layer == 0 && !self.apart) {
            return;
        }
        let tag = self.tag(layer);
        if !self.holds(tag) {
            if self.alive.borrow().gathered.as_ref().is_none_or(|(held, _)| *held != tag) {
                self.gather(tag);
            }
            self.copy_out(tag);
            let before = self.alive.borrow_mut().gathered.take();
            drop(before);
        }
        let next = layer.checked_sub(1).filter(|next| (*next > 0 || self.apart) && !self.holds(*next));
        if let Some(next) = next.filter(|_| self.ahead) {
            self.gather(next);
        }
    }

    /// Backward is through with a layer: its weights are let go and its gradients reduced. The root comes last.
    pub fn leaves(&self, layer: u16, last: bool) {
        if self.buckets.0 == Buckets::WhileReducing && layer == self.head && self.alive.borrow().bucket.is_none() {
            // The first gradients have come: those of the model's end.
            let bucket = self.bucket();
            self.alive.borrow_mut().bucket = Some(bucket);
        }
        if self.movement != Movement::Still {
            self.reduce_layer(layer, last);
        }
        if last && !self.keeps_bucket.get() {
            self.let_go_of_bucket();
        }
    }

    /// All micro-batches of a step follow: where gradients add up whole, the bucket comes with the first of them and stays for all.
    pub fn begin_step(&self) {
        self.keeps_bucket.set(!self.shares_gradients());
    }

    /// All micro-batches of a step are through.
    pub fn end_micro_batches(&self) {
        self.let_go_of_bucket();
    }

    fn let_go_of_bucket(&self) {
        if self.buckets.0 == Buckets::WhileReducing {
            let bucket = self.alive.borrow_mut().bucket.take();
            drop(bucket);
        }
    }

    fn reduce_layer(&self, layer: u16, last: bool) {
        if layer > self.head {
            return;
        }
        if self.tag(layer) != 0 {
            self.reduce(layer);
        }
        if last {
            self.reduce(0);
            let before = self.alive.borrow_mut().reduced.take();
            drop(before);
        }
    }

    fn reduce(&self, tag: u16) {
        if self.into() == Some(GatheredInto::FlatTensor) {
            return self.reduce_flat(tag);
        }
        self.release(tag);
        if !self.reduces.get() {
            return self.tape.add_up_gradients(|layer| self.tag(layer) == tag, self.reduce);
        }
        let before = self.alive.borrow_mut().reduced.take();
        drop(before);
        let buffers = self.into() == Some(GatheredInto::BufferAndTensors);
        if buffers {
            let joined = self.take("reduce-scatter buffer", GRADIENT_REDUCTION, (Share::LearnedPadded(tag), self.reduce, 0));
            self.alive.borrow_mut().reduced = Some(joined);
        }
        self.release_gradients(tag);
        let exists = self.has_share(tag);
        // Reduced gradients are the share itself, unless they are cast into it or added to it.
        let reduced = (buffers && (self.reduce != self.gradient || exists || self.away))
            .then(|| self.take("reduced gradients", GRADIENT_REDUCTION, (Share::LearnedKept(tag), self.reduce, REDUCING)));
        if !exists {
            self.keep_share(tag);
        }
        drop(reduced);
    }

    /// Lets go of the gradients that a group's parameters were given.
    fn release_gradients(&self, tag: u16) {
        self.tape.release_gradients(|layer| self.tag(layer) == tag);
    }

    /// Whether a share of the group's gradients exists from a micro-batch before.
    fn has_share(&self, tag: u16) -> bool {
        self.alive.borrow().shares.iter().any(|(held, _)| *held == tag)
    }

    fn keep_share(&self, tag: u16) {
        if self.away {
            return;
        }
        self.tape.at("Gradients", self.source);
        let share = self.lump("share of the gradients", (Kind::Gradient, Share::LearnedKept(tag), self.gradient), REDUCING);
        self.alive.borrow_mut().shares.push((tag, share));
        if tag == 0 && self.movement == Movement::Gradients {
            self.tape.at(GRADIENT_REDUCTION, sources::DEEPSPEED);
            let cut =
                self.lump("rest of the parameter that the share ends in", (Kind::Gathered, Share::Cut, self.gradient), REDUCING);
            self.alive.borrow_mut().shares.push((tag, cut));
        }
    }

    /// Whether micro-batches from now on reduce gradients, or add them up unreduced (`no_sync`, `set_requires_gradient_sync`).
    pub fn reduces(&self, reduces: bool) {
        self.reduces.set(reduces);
    }

    /// Gradients exist from the micro-batch before: shares of them, or whole ones that add up unreduced.
    pub fn gradients_exist(&self, whole: bool) {
        if whole && self.into() == Some(GatheredInto::FlatTensor) {
            return (0..self.head).for_each(|tag| self.add_up_flat(tag));
        }
        if whole {
            return self.tape.added_up_gradients_exist(self.reduce);
        }
        for tag in 0..self.head.saturating_add(u16::from(self.apart)) {
            self.tape.set_layer(tag);
            self.keep_share(tag);
        }
    }

    /// Lets go of the shares of gradients, as `zero_grad(set_to_none=True)` does, unless they have a place of their own.
    pub fn zero_gradients(&self) {
        if self.shares_stand() {
            return;
        }
        let before = std::mem::take(&mut self.alive.borrow_mut().shares);
        drop(before);
    }

    /// Whether shares of gradients have a place of their own from the start (stage 3's `grad_partitions_flat_buffer`).
    pub fn shares_stand(&self) -> bool {
        self.buckets.0 == Buckets::Lasting
    }

    /// Whether gradients are kept in shares.
    pub fn shares_gradients(&self) -> bool {
        self.movement != Movement::Still
    }
}
