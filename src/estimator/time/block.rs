//! Seconds of one layer of each kind, of the embedding and of the head, for one micro-batch on one
//! rank: what a planner computes once for all layouts that split a layer alike.

use super::fixed::{Costs, Fixed, learning_share};
use super::kernels::{Ranks, Timed};
use super::machine::Machine;
use super::updating::Updating;
use crate::config::{Job, Recompute, TrainingPrecision, TrainingRun};
use crate::estimator::parts::unplayed;
use crate::ops::megatron::Part;
use crate::ops::{self, Lowering, OpList, declared};
use crate::units::to_f64;

/// Seconds of a piece of work by what takes them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PhaseTime {
    /// Matrix products.
    pub products: f64,
    /// Attention between them.
    pub attention: f64,
    /// Operators that only stream bytes through memory.
    pub streams: f64,
    /// Tensor-parallel messages that nothing hides.
    pub tensor: f64,
    /// Context-parallel messages that nothing hides.
    pub context: f64,
    /// Messages to and from experts.
    pub experts: f64,
}

impl PhaseTime {
    /// Returns the seconds of all parts together.
    pub const fn total(&self) -> f64 {
        self.products + self.attention + self.streams + self.tensor + self.context + self.experts
    }

    /// Returns both phases one after the other, seconds by part.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            products: self.products + other.products,
            attention: self.attention + other.attention,
            streams: self.streams + other.streams,
            tensor: self.tensor + other.tensor,
            context: self.context + other.context,
            experts: self.experts + other.experts,
        }
    }

    /// Returns the phase `factor` times, seconds by part.
    #[must_use]
    pub const fn times(&self, factor: f64) -> Self {
        Self {
            products: self.products * factor,
            attention: self.attention * factor,
            streams: self.streams * factor,
            tensor: self.tensor * factor,
            context: self.context * factor,
            experts: self.experts * factor,
        }
    }
}

/// Seconds of one layer, of the embedding or of the head, for one micro-batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockTime {
    /// Forward.
    pub forward: PhaseTime,
    /// Backward, without recomputation.
    pub backward: PhaseTime,
    /// Forward work that backward does again where the layer is recomputed: all of it, or the
    /// selected modules.
    pub recompute: PhaseTime,
    /// Parameters of one rank that are no expert's.
    pub parameters: f64,
    /// Parameters of this rank's experts.
    pub expert_parameters: f64,
}

impl BlockTime {
    /// Returns the seconds of forward, backward and recomputation together.
    pub const fn total(&self) -> f64 {
        self.forward.total() + self.backward.total() + self.recompute.total()
    }

    const fn brief(&self) -> Brief {
        let Self { forward, backward, recompute, parameters, expert_parameters } = self;
        Brief {
            forward: forward.total(),
            backward: backward.total(),
            recompute: recompute.total(),
            parameters: *parameters,
            expert_parameters: *expert_parameters,
        }
    }
}

/// All that a layout's step time is assembled from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockTimes {
    /// A layer with a dense feed-forward part.
    pub dense: BlockTime,
    /// A layer with experts; nothing where the model has none.
    pub experts: BlockTime,
    /// The embedding.
    pub embedding: BlockTime,
    /// Final norm, head and loss.
    pub head: BlockTime,
    /// Bytes that one rank of a stage sends to the next stage.
    pub message: f64,
    /// The token embedding's parameters where the head shares it, otherwise 0.
    pub tied: f64,
    pub(super) fixed: Fixed,
}

/// A [`BlockTime`] added up: seconds, and parameters of one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Brief {
    pub forward: f64,
    pub backward: f64,
    pub recompute: f64,
    pub parameters: f64,
    pub expert_parameters: f64,
}

/// [`BlockTimes`] added up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Briefs {
    pub dense: Brief,
    pub experts: Brief,
    pub embedding: Brief,
    pub head: Brief,
    pub message: f64,
    pub tied: f64,
}

impl BlockTimes {
    pub(super) const fn briefs(&self) -> Briefs {
        let [dense, experts] = [self.dense.brief(), self.experts.brief()];
        let [embedding, head] = [self.embedding.brief(), self.head.brief()];
        Briefs { dense, experts, embedding, head, message: self.message, tied: self.tied }
    }
}

/// The properties of a training job that decide the times of single layers: jobs with equal keys
/// share their [`BlockTimes`].
///
/// The data degree, the pipeline degree, virtual stages, sharding and the number of micro-batches
/// are not part of it, nor is recomputation, all ways of which come from one list.
pub type BlockKey = (u64, u64, u64, u64, u64, bool);

/// Returns the key of a training job: degrees `(t, cp, ep, etp)`, micro-batch in sequences, and
/// sequence parallelism; `None` when serving.
pub fn key(job: &Job) -> Option<BlockKey> {
    let layout = job.training().map(|_| job.layout())?;
    Some((
        layout.t(),
        layout.cp(),
        layout.ep(),
        layout.etp(),
        job.micro_batch_size(),
        layout.sequence_parallel,
    ))
}

/// Returns the seconds that single layers, the embedding and the head take for one micro-batch.
///
/// `None` when serving, where the accelerator's peak or memory bandwidth is unknown, and for models
/// of which a part has another length than the text: an encoder beside its decoder, and a tower
/// that sees images.
pub fn block_times(job: &Job) -> Option<BlockTimes> {
    if super::timing::other_lengths(job).is_some() {
        return None;
    }
    let clock = Clock::of(job)?;
    let recompute = job.training()?.recompute;
    let parts = clock.played(job).unwrap_or_else(|| {
        let of = |parts: &[Part]| {
            parts.iter().flat_map(|part| (unplayed().part)(&clock, job, *part)).collect()
        };
        let experts = if job.model().moe.is_some() { of(&Part::EXPERTS) } else { Vec::new() };
        Parts {
            embedding: of(&[Part::Embedding]),
            head: of(&[Part::Head]),
            dense: of(&Part::DENSE),
            experts,
        }
    });
    Some(BlockTimes {
        dense: BlockTime::of(&parts.dense, Some(recompute)),
        experts: BlockTime::of(&parts.experts, Some(recompute)),
        embedding: BlockTime::of(&parts.embedding, None),
        head: BlockTime::of(&parts.head, None),
        message: clock.message(job),
        tied: tied(job, &parts.embedding),
        fixed: clock.fixed,
    })
}

/// The parts of a model, operation by operation.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub embedding: Vec<Timed>,
    pub head: Vec<Timed>,
    /// A layer with a dense feed-forward part, and one with experts.
    pub dense: Vec<Timed>,
    pub experts: Vec<Timed>,
}

/// Finds the times of the parts of a rank's operation list.
pub(in crate::estimator) struct Clock {
    run: TrainingRun,
    /// The layers that a rank's list carries out; none where modules are played.
    layers: Option<OpList>,
    pub(super) fixed: Fixed,
}

impl Clock {
    /// The clock of a job; `None` as in [`block_times`].
    pub fn of(job: &Job) -> Option<Self> {
        let run = as_run(job.training()?);
        let machine = Machine::of(job, &run)?;
        let costs = Costs::of(&run, job.layout().reduce_in_fp32, &Updating::of(job, &run))
            .of_learning(learning_share(job));
        let layers = (!run.stack.is_played()).then(|| declared(job.model()));
        Some(Self { run, layers, fixed: Fixed { costs, machine } })
    }

    /// Times of every step of a part.
    pub fn part(&self, job: &Job, part: Part) -> Vec<Timed> {
        let ranks = self.ranks(job);
        let steps = self.layers.iter().flat_map(|layers| part.steps(layers, job, &self.run));
        steps.map(|step| ranks.timed(&step)).collect()
    }

    /// The parts of a stack whose modules are played; `None` where it has a list.
    pub(super) fn played(&self, job: &Job) -> Option<Parts> {
        if !self.run.stack.is_played() {
            return None;
        }
        let with = ops::lowering(job);
        // FSDP gathers weights in the format in which they multiply.
        let gathered = self.run.precision == TrainingPrecision::FsdpMixed;
        let parameter = if gathered { self.run.recipe().activation } else { with.parameter };
        let parts = ops::played(&Lowering { parameter, ..with });
        let layers_with = |experts: bool| {
            parts.iter().filter(|part| part.has_experts == experts).map(|part| part.layers).sum()
        };
        let layers = [false, true].map(|experts| to_f64(layers_with(experts)));
        let (ranks, last) = (self.ranks(job), parts.len().saturating_sub(1));
        let mut all = Parts::default();
        for (part, at) in parts.iter().zip(0..) {
            let (place, share) = match (at, part.has_experts) {
                (0, _) => (&mut all.embedding, 1.0),
                (at, _) if at == last => (&mut all.head, 1.0),
                // Of several kinds of layers the mean.
                (_, false) => (&mut all.dense, to_f64(part.layers) / layers[0]),
                (_, true) => (&mut all.experts, to_f64(part.layers) / layers[1]),
            };
            place.extend(ranks.played(part, share, at == last));
        }
        Some(all)
    }

    fn ranks(&self, job: &Job) -> Ranks<'_> {
        let layout = job.layout();
        Ranks {
            machine: &self.fixed.machine,
            run: &self.run,
            t: to_f64(layout.t()),
            cp: to_f64(layout.cp()),
            ep: to_f64(layout.ep()),
            etp: to_f64(layout.etp()),
        }
    }

    /// Bytes that one rank of a stage sends to the next stage. Megatron-LM sends each tensor rank's
    /// part and gathers the parts on the other side.
    pub fn message(&self, job: &Job) -> f64 {
        let layout = job.layout();
        let tokens = to_f64(
            self.run.seq_length.div_ceil(layout.cp()).saturating_mul(job.micro_batch_size()),
        );
        let width =
            to_f64(job.model().hidden_size) * to_f64(self.run.recipe().activation.bits()) / 8.0;
        tokens * width / to_f64(layout.t())
    }
}

impl BlockTime {
    /// Steps one after the other, recomputed in that way; the embedding and the head never are.
    pub(super) fn of<'a>(
        steps: impl IntoIterator<Item = &'a Timed>,
        recompute: Option<Recompute>,
    ) -> Self {
        let mut time = Self::default();
        for step in steps {
            time.add(step);
            let again = match recompute {
                None | Some(Recompute::None) => false,
                Some(Recompute::Selective) => step.selective,
                Some(Recompute::Full) => true,
            };
            if again {
                time.recompute = time.recompute.plus(&step.forward);
            }
        }
        time
    }

    /// Adds a step's forward and backward, and its parameters.
    fn add(&mut self, step: &Timed) {
        self.forward = self.forward.plus(&step.forward);
        self.backward = self.backward.plus(&step.backward);
        let [dense, experts] = step.parameters;
        self.parameters += dense;
        self.expert_parameters += experts;
    }
}

impl Brief {
    /// [`BlockTime::of`] without recomputation, with selective and with full recomputation, added
    /// up.
    pub fn each<'a>(steps: impl IntoIterator<Item = &'a Timed>) -> [Self; 3] {
        let (mut all, mut selected) = (BlockTime::default(), PhaseTime::default());
        for step in steps {
            all.add(step);
            if step.selective {
                selected = selected.plus(&step.forward);
            }
        }
        let brief = all.brief();
        [0.0, selected.total(), brief.forward].map(|recompute| Self { recompute, ..brief })
    }
}

/// Parameters of the token embedding if the head shares it.
pub(super) fn tied(job: &Job, embedding: &[Timed]) -> f64 {
    let first = embedding.iter().map(|step| step.first).find(|first| *first > 0.0);
    if job.model().tie_word_embeddings { first.unwrap_or(0.0) } else { 0.0 }
}

/// The run with its stack's options of Megatron-LM's modules, which its time is computed with.
fn as_run(run: &TrainingRun) -> TrainingRun {
    TrainingRun { megatron: run.stack.options.of(run.megatron), ..run.clone() }
}
