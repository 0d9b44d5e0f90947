//! A layout's step time from the times of single layers: arithmetic on numbers, nothing is
//! allocated.

use super::block::{BlockTime, BlockTimes, Brief, Briefs, PhaseTime};
use super::fixed::Fixed;
use super::spread::{Load, Spread};
use crate::ops::work::Collective;
use crate::sharding::{Gathering, Messages, Reduction};

/// Terms of a step's time, in the order of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// Matrix products, forward and backward.
    Products,
    /// Attention.
    Attention,
    /// Norms, activation functions, sums, loss.
    Streams,
    /// Tensor-parallel messages.
    Tensor,
    /// Context-parallel messages.
    Context,
    /// Messages to and from experts.
    Experts,
    /// Forward work done again.
    Recompute,
    /// Waiting for other stages.
    Bubble,
    /// Messages between stages.
    Pipeline,
    /// Gradients summed over data-parallel ranks.
    Gradients,
    /// Weights gathered from data-parallel ranks.
    Weights,
    /// Optimizer.
    Optimizer,
}

impl Term {
    /// All, in the order of the ledger.
    pub const ALL: [Self; 12] = [
        Self::Products,
        Self::Attention,
        Self::Streams,
        Self::Tensor,
        Self::Context,
        Self::Experts,
        Self::Recompute,
        Self::Bubble,
        Self::Pipeline,
        Self::Gradients,
        Self::Weights,
        Self::Optimizer,
    ];

    /// Returns true if the accelerator computes or streams memory during the term; false if it
    /// waits for other ranks.
    pub const fn computes(self) -> bool {
        matches!(
            self,
            Self::Products | Self::Attention | Self::Streams | Self::Recompute | Self::Optimizer
        )
    }
}

/// Seconds of one optimizer step on the stage that works longest, by term.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepTime {
    /// Forward and backward of all micro-batches.
    pub work: PhaseTime,
    /// Recomputation.
    pub recompute: f64,
    /// Waiting for other stages.
    pub bubble: f64,
    /// Messages between stages.
    pub pipeline: f64,
    /// Gradients summed over data-parallel ranks, as far as nothing hides it.
    pub gradients: f64,
    /// Weights gathered from data-parallel ranks, as far as nothing hides it.
    pub weights: f64,
    /// Optimizer.
    pub optimizer: f64,
}

impl StepTime {
    /// Returns the seconds of the whole step: the sum of all terms.
    pub const fn total(&self) -> f64 {
        self.work.total()
            + self.recompute
            + self.bubble
            + self.pipeline
            + self.gradients
            + self.weights
            + self.optimizer
    }

    /// Returns the seconds of one term.
    pub const fn of(&self, term: Term) -> f64 {
        match term {
            Term::Products => self.work.products,
            Term::Attention => self.work.attention,
            Term::Streams => self.work.streams,
            Term::Tensor => self.work.tensor,
            Term::Context => self.work.context,
            Term::Experts => self.work.experts,
            Term::Recompute => self.recompute,
            Term::Bubble => self.bubble,
            Term::Pipeline => self.pipeline,
            Term::Gradients => self.gradients,
            Term::Weights => self.weights,
            Term::Optimizer => self.optimizer,
        }
    }

    /// Returns the step of a layout by term, seconds on the stage that works longest, from the
    /// times of single layers.
    ///
    /// It costs some hundred floating-point operations, so that a search can ask for each layout.
    pub fn assemble(times: &BlockTimes, spread: &Spread) -> Self {
        let (mut step, _, load) = Self::around((&times.briefs(), &times.fixed), spread);
        step.work = step.work.plus(&work(times, load).times(spread.micro_batches));
        step
    }

    /// Returns the seconds of the step alone, for searches: the sum of
    /// [`assemble`](Self::assemble), without its terms.
    pub fn seconds(times: &BlockTimes, spread: &Spread) -> f64 {
        Self::seconds_of(&times.briefs(), &times.fixed, spread)
    }

    pub(super) fn seconds_of(times: &Briefs, fixed: &Fixed, spread: &Spread) -> f64 {
        let (step, work, _) = Self::around((times, fixed), spread);
        step.work.streams
            + work
            + step.recompute
            + step.bubble
            + step.pipeline
            + step.gradients
            + step.weights
            + step.optimizer
    }

    /// The part of [`Self::seconds_of`] in which stages work and wait for each other, where single
    /// layers take `times` of `factor` as many sequences.
    pub(super) fn seconds_on_stages(times: &Briefs, factor: f64, spread: &Spread) -> f64 {
        let (mut most, mut all) = (0.0_f64, 0.0);
        for load in spread.loads.iter().filter(|load| load.stages > 0.0) {
            let busy = Stage::of(times, load).busy() / factor;
            most = most.max(busy);
            all += busy * load.stages;
        }
        most * spread.micro_batches + spread.schedule.bubble((all - most).max(0.0))
    }

    /// Seconds of a micro-batch on the stage that works longest.
    pub(super) fn seconds_of_most(times: &Briefs, loads: &[Load; 3]) -> f64 {
        loads.iter().map(|load| Stage::of(times, load).busy()).fold(0.0, f64::max)
    }

    /// All but forward and backward of the busiest stage; its seconds of these, and its load.
    fn around<'a>((times, fixed): (&Briefs, &Fixed), spread: &'a Spread) -> (Self, f64, &'a Load) {
        let [first, middle, last] = &spread.loads;
        let mut busy = Stage::of(times, first);
        let (mut load, mut heaviest, mut all) = (first, busy, busy.busy() * first.stages);
        for other in [middle, last] {
            if other.stages <= 0.0 {
                continue;
            }
            let stage = Stage::of(times, other);
            all += stage.busy() * other.stages;
            if stage.busy() > busy.busy() {
                (busy, load) = (stage, other);
            }
            if stage.parameters() > heaviest.parameters() {
                heaviest = stage;
            }
        }
        let mut step = Self {
            recompute: busy.recompute * spread.micro_batches,
            bubble: spread.schedule.bubble((all - busy.busy()).max(0.0)),
            pipeline: messages((times, fixed), spread),
            ..Self::default()
        };
        step.share((times, fixed), spread, &heaviest);
        step.update(fixed, spread, &heaviest);
        (step, (busy.forward + busy.backward) * spread.micro_batches, load)
    }

    /// Adds the messages between data-parallel ranks.
    fn share(&mut self, (times, fixed): (&Briefs, &Fixed), spread: &Spread, stage: &Stage) {
        let (links, costs) = (&fixed.machine.links, &fixed.costs);
        // Fully sharded weights travel block by block.
        let parts = if spread.sharding.shards_parameters() { stage.layers + 1.0 } else { 1.0 };
        let ring = links.ring(spread.copies, spread.tensor);
        let experts =
            (stage.experts > 0.0).then(|| links.ring(spread.expert_copies, spread.expert_stride));
        let each = |collective, bytes: f64| {
            let dense = ring.seconds(collective, stage.dense * bytes / parts);
            let experts =
                experts.map_or(0.0, |ring| ring.seconds(collective, stage.experts * bytes / parts));
            parts * (dense + experts)
        };
        let (forward, backward) = (stage.forward, stage.backward + stage.recompute);
        let gather = || each(Collective::AllGather, costs.weight);
        // A first bucket and a last have nothing beside them.
        let beside = |seconds: f64, work: f64, asked: bool| {
            if !asked {
                return seconds;
            }
            let hidden = work.min(seconds * stage.layers / (stage.layers + 1.0));
            seconds - hidden + hidden * fixed.machine.beside()
        };
        let Messages { gradients, weights } = spread.sharding.messages;
        let (reduce, rounds) = match gradients {
            Reduction::AllReduce => (each(Collective::AllReduce, costs.gradient), 1.0),
            Reduction::ScatterOnce => (each(Collective::ReduceScatter, costs.gradient), 1.0),
            Reduction::ScatterEveryMicroBatch => {
                let rounds = if spread.reduce_once { 1.0 } else { spread.micro_batches };
                (each(Collective::ReduceScatter, costs.gradient), rounds)
            }
        };
        let reduced = || rounds * beside(reduce, backward, costs.overlap.gradients);
        match weights {
            Gathering::Never => self.gradients = reduced(),
            Gathering::OnceAStep => {
                self.gradients = reduced();
                self.weights = beside(gather(), forward, costs.overlap.parameters);
            }
            Gathering::BeforeUse => {
                let gather = gather();
                let again = if spread.reshard { gather } else { 0.0 };
                let in_forward = beside(gather, forward, costs.overlap.parameters);
                // Without prefetching a block's weights come when they are needed.
                let in_backward = if costs.overlap.prefetch_backward {
                    beside(again + reduce, backward, costs.overlap.gradients)
                } else {
                    again + beside(reduce, backward, costs.overlap.gradients)
                };
                let share = again / (again + reduce).max(f64::MIN_POSITIVE);
                self.weights = spread.micro_batches * (in_forward + in_backward * share);
                self.gradients = rounds * in_backward * (1.0 - share);
            }
        }
        if spread.pipeline > 1.0 && times.tied > 0.0 {
            let stride = spread.tensor * spread.copies;
            self.gradients +=
                links.ring(2.0, stride).seconds(Collective::AllReduce, times.tied * costs.gradient);
        }
    }

    /// Adds the optimizer, and what every micro-batch's gradients are moved by.
    fn update(&mut self, fixed: &Fixed, spread: &Spread, stage: &Stage) {
        let costs = &fixed.costs;
        let moved =
            if spread.sharding.shards_parameters() { costs.shards } else { costs.accumulate };
        self.work.streams +=
            spread.micro_batches * fixed.machine.memory_seconds(stage.parameters() * moved);
        let shared = spread.sharding.shards_optimizer();
        let divided =
            |parameters: f64, copies: f64| if shared { parameters / copies } else { parameters };
        let updated =
            divided(stage.dense, spread.copies) + divided(stage.experts, spread.expert_copies);
        let kept = if spread.sharding.shards_gradients() { updated } else { stage.parameters() };
        self.optimizer = fixed.machine.memory_seconds(updated * costs.update + kept * costs.kept)
            + updated * costs.products;
    }
}

/// Seconds of messages between stages that nothing hides.
fn messages((times, fixed): (&Briefs, &Fixed), spread: &Spread) -> f64 {
    if spread.pipeline <= 1.0 {
        return 0.0;
    }
    let one = fixed.machine.links.message(times.message, spread.tensor * spread.copies);
    let hidden = fixed.costs.overlap.pipeline && spread.schedule.chunks > 1.0;
    // An activation and a gradient for each micro-batch and chunk; while the pipeline fills and
    // drains nothing hides them.
    let filling = 2.0 * (spread.pipeline - 1.0);
    let steady = if hidden { 0.0 } else { 2.0 * spread.micro_batches * spread.schedule.chunks };
    one * (filling + steady)
}

/// Forward and backward of a stage for one micro-batch, by what takes the time.
fn work(times: &BlockTimes, load: &Load) -> PhaseTime {
    let both = |time: &BlockTime| time.forward.plus(&time.backward);
    let mut sum = both(&times.dense).times(load.dense[0]);
    if load.experts[0] > 0.0 {
        sum = sum.plus(&both(&times.experts).times(load.experts[0]));
    }
    if load.embedding {
        sum = sum.plus(&both(&times.embedding));
    }
    if load.head {
        sum = sum.plus(&both(&times.head));
    }
    sum
}

/// One stage's seconds for a micro-batch, and its parameters.
#[derive(Clone, Copy, Default)]
struct Stage {
    forward: f64,
    backward: f64,
    recompute: f64,
    dense: f64,
    experts: f64,
    layers: f64,
}

impl Stage {
    fn of(times: &Briefs, load: &Load) -> Self {
        let mut stage = Self::default();
        if load.stages <= 0.0 {
            return stage;
        }
        let [dense, dense_again] = load.dense;
        let [experts, experts_again] = load.experts;
        stage.add(&times.dense, dense, dense_again);
        if experts > 0.0 {
            stage.add(&times.experts, experts, experts_again);
        }
        stage.layers = dense + experts;
        if load.embedding {
            stage.add(&times.embedding, 1.0, 0.0);
        }
        if load.head {
            stage.add(&times.head, 1.0, 0.0);
            stage.dense += if load.embedding { 0.0 } else { times.tied };
        }
        stage
    }

    const fn add(&mut self, time: &Brief, count: f64, again: f64) {
        self.forward += time.forward * count;
        self.backward += time.backward * count;
        self.recompute += time.recompute * again;
        self.dense += time.parameters * count;
        self.experts += time.expert_parameters * count;
    }

    const fn busy(&self) -> f64 {
        self.forward + self.backward + self.recompute
    }

    const fn parameters(&self) -> f64 {
        self.dense + self.experts
    }
}
