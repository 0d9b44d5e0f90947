//! Weights and gradients that are shared out: gathered before use, reduced after backward, group by
//! group.
//!
//! PyTorch's FSDP2 (`torch/distributed/fsdp/_fully_shard`, 2.15): every block is a group, and
//! embedding, final norm and head are the root's. A group's shares are cast and put side by side,
//! gathered into one buffer, and copied out into the weights. In forward that buffer lives until
//! the next group has been gathered; in backward the next group is gathered ahead. Gradients are
//! joined in the reduction's format, reduced, and the joined buffer lives until the next group is
//! reduced.
//!
//! FSDP1 gathers into one flat tensor that weights are views of; see [`flat`].

mod bucket;
mod flat;
mod gathering;
mod head;
mod reducer;
mod shares;
mod sizes;

use std::cell::{Cell, RefCell};

pub(super) use self::bucket::{Bucket, part};
use self::reducer::Reducer;
use self::sizes::of_layer;
pub(super) use self::sizes::{Size, cut, sizes};
use self::sizes::{buckets_of_all, largest};
use super::plan::{Holding, Movement, Plan, Shares};
use crate::config::TowerSize;
use crate::estimator::states::GATHERED_WEIGHTS;
use crate::ops::modules::BESIDE;
use crate::ops::tape::{Kind, Param, Tape, Var, When};
use crate::sharding::{Buckets, GatheredInto};
use crate::sources::{self, Source};
use crate::stacks::GroupsOfEnds;
use crate::units::DType;

/// Label of the buffers that gradients need on their way between ranks.
pub const GRADIENT_REDUCTION: &str = "Gradient reduction";

/// The stream on which shares are copied together and gathered (`_fsdp_param_group.py`,
/// `all_gather_copy_in_stream`).
pub(super) const GATHERING: u8 = 1;
/// The stream on which gradients are reduced (`reduce_scatter_stream`).
const REDUCING: u8 = 2;

/// Label of the buckets into which gradients are copied before they are summed.
pub(super) const GRADIENT_BUCKETS: &str = "Gradient buckets";

/// Label of the buffer in which `DeepSpeed` reduces gradients.
pub const REDUCTION_BUCKET: &str = "Reduction bucket";

/// Buffers of weights and gradients that are gathered or on their way.
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
    /// Weights that stay gathered for good.
    lasting: Option<Var<'t>>,
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
    /// Buffers of that size that a bucket consists of.
    buffers: u64,
    /// True if gradients are views of buckets that stay allocated.
    views: bool,
    head: u16,
    /// Blocks of a vision tower that images run through.
    blocks_of_tower: u16,
    /// True if the head is in another group than the embedding.
    apart: bool,
    /// True if all layers are one group.
    is_one: bool,
    /// The block that stays gathered from forward to backward.
    kept_block: Option<u16>,
    /// True if backward gathers the next group ahead.
    ahead: bool,
    /// True if weights stay and gradients wait until all micro-batches are through.
    in_stages: bool,
    /// The source of the rule by which weights and gradients move.
    source: Source,
    /// Format of the weights that a rank keeps.
    kept: DType,
    compute: DType,
    reduce: DType,
    gradient: DType,
    /// True if shares of gradients go to the host as they are reduced.
    away: bool,
    /// True if the current micro-batch reduces gradients; false if it only adds them up.
    reduces: Cell<bool>,
    /// True if the gradients of the head's group have been reduced with the loss.
    head_is_reduced: Cell<bool>,
    /// True if the bucket of gradients stays allocated after a micro-batch.
    keeps_bucket: Cell<bool>,
    /// True if a coordinator gathers weights beside the tape.
    coordinated: bool,
    /// ZeRO's bucket of gradients, where every tensor is played.
    pub bucket: Option<Bucket<'t>>,
    /// DDP's buckets, where every tensor is played.
    pub ddp: Option<Reducer<'t>>,
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
            buffers: plan.buffers(),
            views: plan.has_views(),
            head: plan.head(),
            blocks_of_tower: blocks_of_tower(plan),
            apart: plan.ends == GroupsOfEnds::Apart,
            is_one: plan.is_one_group,
            kept_block: plan.head().checked_sub(1).filter(|_| plan.keeps_last_block),
            ahead: plan.gathers_ahead,
            in_stages: plan.in_stages,
            source: plan.sharding.gathers.as_ref().map_or(sources::FSDP2, |gathers| gathers.source),
            kept: plan.recipe.parameter,
            compute,
            reduce: plan.reduce,
            gradient,
            away: plan.away.gradients,
            reduces: Cell::new(true),
            head_is_reduced: Cell::new(false),
            keeps_bucket: Cell::new(false),
            coordinated: plan.is_coordinated(),
            bucket: Bucket::of(tape, plan),
            ddp: Reducer::of(tape, plan),
            alive: RefCell::default(),
            shares: RefCell::default(),
        };
        groups.take_standing_buckets(plan);
        groups.take_lasting_weights(plan);
        groups
    }

    /// Takes the weights that stay gathered for good.
    fn take_lasting_weights(&self, plan: &Plan<'_>) {
        let elements = {
            let state = self.tape.state();
            let lasting = state.parameters.iter().filter(|parameter| !parameter.beside);
            let elements =
                lasting.map(|parameter| (state.elements(parameter.form), parameter.layer));
            let lasting = elements.filter(|(elements, _)| plan.keeps_gathered(*elements));
            lasting
                .map(|(elements, layer)| elements.saturating_mul(plan.times(layer)))
                .fold(0, u64::saturating_add)
        };
        if elements > 0 && !self.coordinated {
            self.tape.begin(When::Before, 0, Kind::Gathered);
            self.tape.at(GATHERED_WEIGHTS, self.source);
            let lump = self
                .tape
                .lump("weights that stay gathered", (Kind::Gathered, elements, self.compute));
            self.alive.borrow_mut().lasting = Some(lump);
        }
    }

    /// The gradient of a parameter is complete.
    pub fn arrives(&self, param: Param) {
        if let Some(bucket) = &self.bucket {
            bucket.arrives(param);
        } else if self.views && self.reduces.get() {
            self.tape.release_gradient(param);
        }
        if let Some(ddp) = &self.ddp {
            ddp.arrives(param);
        }
        if self.in_stages && !self.reduces.get() {
            // A gradient is cast where it is the first, and added to the sum where it is not, as it
            // arrives (`_set_unsharded_grad_dtypes`).
            self.tape.add_up_gradient(param, self.reduce);
        }
    }

    /// Takes the buckets that are there when the micro-batch begins.
    fn take_standing_buckets(&self, plan: &Plan<'_>) {
        if self.bucket.is_some() || self.ddp.is_some() {
            return;
        }
        let kept_on = plan.accumulated && !self.shares_gradients();
        let stands = match self.buckets.0 {
            Buckets::None => false,
            Buckets::EveryGradient | Buckets::Lasting => true,
            Buckets::WhileReducing => kept_on,
        };
        if stands {
            self.tape.begin(When::Before, 0, Kind::Gathered);
            let bucket = if self.buckets.0 == Buckets::EveryGradient {
                buckets_of_all(self.tape, plan)
            } else {
                self.bucket()
            };
            self.alive.borrow_mut().bucket = Some(bucket);
        }
        if plan.away.optimizer && self.buckets.0 == Buckets::WhileReducing {
            self.tape.begin(When::Before, 0, Kind::Gathered);
            self.tape.at(GRADIENT_REDUCTION, sources::DEEPSPEED);
            // `temp_grad_buffer_for_gpu_offload` of stages 1 and 2 has room for the largest
            // parameter.
            let largest = largest(self.tape);
            let lump = self.tape.lump(
                "largest gradient on its way to the host",
                (Kind::Gathered, largest, self.buckets.2),
            );
            self.alive.borrow_mut().on_its_way = Some(lump);
        }
    }

    /// A buffer of `reduce_bucket_size` elements.
    fn bucket(&self) -> Var<'t> {
        let (_, elements, dtype) = self.buckets;
        self.tape.at(REDUCTION_BUCKET, sources::DEEPSPEED);
        self.tape
            .lump("flat buffer", (Kind::Gathered, elements.saturating_mul(self.buffers), dtype))
    }

    /// The storages that were taken by now and are shares of something.
    pub fn shares(&self) -> Shares {
        self.shares.take()
    }

    /// The group of a layer.
    pub const fn tag(&self, layer: u16) -> u16 {
        if self.is_one {
            0
        } else if layer == self.head {
            self.of_head()
        } else {
            of_layer(layer, self.head)
        }
    }

    /// The group of the head: the embedding's, or one of its own.
    pub const fn of_head(&self) -> u16 {
        if self.apart { self.head } else { 0 }
    }

    /// The memory that a group's weights are gathered into; `None` where no weights are gathered,
    /// and where a coordinator gathers them beside the tape.
    const fn into(&self) -> Option<GatheredInto> {
        match self.movement {
            _ if self.coordinated => None,
            Movement::Weights { into, .. } => Some(into),
            Movement::Still | Movement::Gradients => None,
        }
    }

    /// Forward enters a group; the root's tag is 0.
    pub fn before_forward(&self, layer: u16) {
        let tag = self.tag(layer);
        if self.into().is_some() && !self.holds(tag) {
            self.gather(tag);
            self.copy_out(tag);
        }
    }

    /// An input of a group that others read, too. FSDP2 hands inputs through a function of the
    /// group, whose backward is told when their gradients are complete
    /// (`RegisterPostBackwardFunction`): what a group adds to a gradient is summed up before it
    /// leaves the group.
    pub fn hands(&self, input: Var<'t>) -> Var<'t> {
        let form = input.form();
        if self.into() == Some(GatheredInto::BufferAndTensors) { input.view(form) } else { input }
    }

    /// Forward leaves a group.
    pub fn after_forward(&self, tag: u16) {
        if self.is_one && tag != 0 {
            return;
        }
        if let Movement::Weights { reshard, keeps_ends, .. } = self.movement
            && self.holding(tag) == Holding::InTurn
            && (if tag == self.of_head() {
                !keeps_ends && !self.apart
            } else {
                reshard && self.kept_block != Some(tag)
            })
        {
            self.release(tag);
        }
        if tag == self.of_head() {
            let before = self.alive.borrow_mut().gathered.take();
            drop(before);
        }
    }

    /// Backward enters a layer: its weights are gathered if they are not there, and those of the
    /// next layer ahead.
    pub fn enters(&self, layer: u16) {
        // The embedding needs no weights of its group in backward, but where it has one of its own
        // that is gathered all the same.
        let is_end = layer == 0 && !self.apart;
        if self.into().is_none() || self.is_behind(layer) || is_end || layer == BESIDE {
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
        let next =
            self.next_in_backward(layer).filter(|_| !self.is_one).filter(|next| !self.holds(*next));
        if let Some(next) = next.filter(|_| self.ahead) {
            self.gather(next);
        }
    }

    /// Behind the head: a loss that no group is gathered for.
    const fn is_behind(&self, layer: u16) -> bool {
        layer > self.head && layer < BESIDE
    }

    /// The group that was through forward before that of a layer: blocks of a tower come before
    /// those of the text.
    fn next_in_backward(&self, layer: u16) -> Option<u16> {
        match layer.checked_sub(1)? {
            0 if self.apart => Some(0),
            0 => self
                .blocks_of_tower
                .checked_sub(1)
                .map(|last| of_layer(BESIDE + 1 + last, self.head)),
            BESIDE => None,
            before => Some(self.tag(before)),
        }
    }

    /// Backward leaves a layer: its weights are freed and its gradients reduced. The root comes
    /// last.
    pub fn leaves(&self, layer: u16, last: bool) {
        if let Some(bucket) = &self.bucket {
            if last {
                bucket.ends();
            }
            return;
        }
        if self.buckets.0 == Buckets::WhileReducing
            && layer == self.head
            && self.alive.borrow().bucket.is_none()
        {
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

    /// All micro-batches of a step follow: where gradients add up whole, the bucket comes with the
    /// first of them and stays for all.
    pub fn begin_step(&self) {
        self.keeps_bucket.set(!self.shares_gradients());
    }

    /// All micro-batches of a step have ended.
    pub fn end_micro_batches(&self) {
        self.let_go_of_bucket();
    }

    fn let_go_of_bucket(&self) {
        if self.buckets.0 == Buckets::WhileReducing {
            let bucket = self.alive.borrow_mut().bucket.take();
            drop(bucket);
        }
    }
}

/// How many blocks of a vision tower run.
fn blocks_of_tower(plan: &Plan<'_>) -> u16 {
    let seen = plan.with.images.per_sequence > 0 && plan.stage.embedding;
    let layers =
        plan.with.model.tower.filter(|_| seen).map(|tower| tower.sizes.get(TowerSize::Layers));
    layers.and_then(|layers| u16::try_from(layers).ok()).unwrap_or(0)
}
