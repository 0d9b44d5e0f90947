//! Seconds of one layer of each kind, of the embedding and of the head, for one micro-batch on one rank: what a planner computes once
//! for all layouts that split a layer alike.

use super::machine::Machine;
use super::updating::Updating;
use crate::config::{
    GradientDType, Job, Kernels, LossFusion, MegatronOptions, OptimizerImplementation, Overlap, Recompute, TrainingPrecision,
    TrainingRun,
};
use crate::ops::Role;
use crate::ops::megatron::{Behind, Exchange, Group, Module, Part, Product, Step, Work};
use crate::units::{DType, to_f64};

/// Seconds of a piece of work by what takes them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Phase {
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

impl Phase {
    /// All of it.
    pub const fn total(&self) -> f64 {
        self.products + self.attention + self.streams + self.tensor + self.context + self.experts
    }

    /// Both one after the other.
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

    /// So many times that.
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
    pub forward: Phase,
    /// Backward, without recomputation.
    pub backward: Phase,
    /// Forward work that backward does again where the layer is recomputed: all of it, or the selected modules.
    pub recompute: Phase,
    /// Parameters of one rank that are no expert's.
    pub parameters: f64,
    /// Parameters of this rank's experts.
    pub expert_parameters: f64,
}

impl BlockTime {
    /// Forward, backward and recomputation together, seconds.
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
    /// What one stage hands to the next, bytes of one rank.
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

/// What no layout changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fixed {
    pub costs: Costs,
    pub machine: Machine,
}

/// Bytes per parameter that gradients, gathers and the optimizer move, and seconds that it multiplies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Costs {
    /// A gradient as it is reduced.
    pub gradient: f64,
    /// A weight as it is gathered.
    pub weight: f64,
    /// What the optimizer reads and writes for a parameter it updates.
    pub update: f64,
    /// Seconds of the products by which the optimizer makes the update of a parameter.
    pub products: f64,
    /// What every rank reads and writes for each of its parameters, updated here or not: gradients cleared, their norm.
    pub kept: f64,
    /// What PyTorch's FSDP copies for a parameter in a micro-batch: gathered weights out of their buffer twice, gradients into theirs,
    /// cast and divided by the number of ranks.
    pub shards: f64,
    /// What adding a micro-batch's gradient to the main gradient moves, where no product does it.
    pub accumulate: f64,
    pub overlap: Overlap,
}

/// What of a training job decides the times of single layers: jobs with equal keys share their [`BlockTimes`].
///
/// The data degree, the pipeline degree, virtual stages, sharding and the number of micro-batches are not part of it, nor is
/// recomputation, all ways of which come from one list.
pub type BlockKey = (u64, u64, u64, u64, u64, bool);

/// The key of a job.
pub fn key(job: &Job) -> Option<BlockKey> {
    let layout = job.training().map(|_| job.layout())?;
    Some((layout.t(), layout.cp(), layout.ep(), layout.etp(), job.micro_batch_size(), layout.sequence_parallel))
}

/// Times of single layers; `None` when serving, and where the accelerator's peak or memory bandwidth is unknown.
pub fn block_times(job: &Job) -> Option<BlockTimes> {
    let clock = Clock::of(job)?;
    let recompute = job.training()?.recompute;
    let timed = |part: Part| clock.part(job, part);
    let block = |parts: &[Part]| {
        let steps: Vec<Timed> = parts.iter().flat_map(|part| timed(*part)).collect();
        BlockTime::of(&steps, Some(recompute))
    };
    let embedding = timed(Part::Embedding);
    Some(BlockTimes {
        dense: block(&Part::DENSE),
        experts: if job.model().moe.is_some() { block(&Part::EXPERTS) } else { BlockTime::default() },
        embedding: BlockTime::of(&embedding, None),
        head: BlockTime::of(&timed(Part::Head), None),
        message: clock.message(job),
        tied: tied(job, &embedding),
        fixed: clock.fixed,
    })
}

/// What times the parts of a rank's list.
pub(super) struct Clock {
    run: TrainingRun,
    pub fixed: Fixed,
}

impl Clock {
    /// That of a job; `None` as in [`block_times`].
    pub fn of(job: &Job) -> Option<Self> {
        let run = as_run(job.training()?);
        let machine = Machine::of(job, &run)?;
        let costs = Costs::of(&run, job.layout().reduce_in_fp32, &Updating::of(job, &run)).of_learning(learning_share(job));
        Some(Self { run, fixed: Fixed { costs, machine } })
    }

    /// Times of every step of a part.
    pub fn part(&self, job: &Job, part: Part) -> Vec<Timed> {
        let layout = job.layout();
        let ranks = Ranks {
            machine: &self.fixed.machine,
            t: to_f64(layout.t()),
            cp: to_f64(layout.cp()),
            ep: to_f64(layout.ep()),
            etp: to_f64(layout.etp()),
            frozen: self.run.tuning.freezes_model(),
        };
        part.steps(job, &self.run).iter().map(|step| ranks.timed(step, &self.run.megatron)).collect()
    }

    /// What one stage hands to the next, bytes of one rank: Megatron-LM hands on each tensor rank's part and gathers it on the other
    /// side.
    pub fn message(&self, job: &Job) -> f64 {
        let layout = job.layout();
        let tokens = to_f64(self.run.seq_length.div_ceil(layout.cp()).saturating_mul(job.micro_batch_size()));
        let width = to_f64(job.model().hidden_size) * to_f64(self.run.recipe().activation.bits()) / 8.0;
        tokens * width / to_f64(layout.t())
    }
}

/// A step with its times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    forward: Phase,
    backward: Phase,
    /// Whether selective recomputation runs its forward again; full recomputation always does.
    selective: bool,
    parameters: [f64; 2],
    /// Elements of its first parameter.
    first: f64,
}

impl BlockTime {
    /// Steps one after the other, recomputed in that way; the embedding and the head never are.
    pub(super) fn of<'a>(steps: impl IntoIterator<Item = &'a Timed>, recompute: Option<Recompute>) -> Self {
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
    /// [`BlockTime::of`] without recomputation, with selective and with full recomputation, added up.
    pub fn each<'a>(steps: impl IntoIterator<Item = &'a Timed>) -> [Self; 3] {
        let (mut all, mut selected) = (BlockTime::default(), Phase::default());
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

/// The run with the software's own settings: stacks other than Megatron-LM have no say in Megatron-LM's options.
fn as_run(run: &TrainingRun) -> TrainingRun {
    let options = match run.kernels {
        Kernels::Megatron => run.megatron,
        Kernels::Korthikanti => MegatronOptions { hidden_dropout: true, attention_dropout: true, ..MegatronOptions::DEFAULT },
        Kernels::Fused => MegatronOptions {
            cross_entropy_loss_fusion: LossFusion::TransformerEngine,
            gradient_accumulation_fusion: false,
            transformer_engine: false,
            ..MegatronOptions::DEFAULT
        },
        Kernels::Eager => MegatronOptions {
            bias_activation_fusion: false,
            gradient_accumulation_fusion: false,
            transformer_engine: false,
            ..MegatronOptions::DEFAULT
        },
    };
    TrainingRun { megatron: options, ..run.clone() }
}

/// Ranks that share a layer, and what they run on.
struct Ranks<'a> {
    machine: &'a Machine,
    t: f64,
    cp: f64,
    ep: f64,
    etp: f64,
    /// Weights want no gradient.
    frozen: bool,
}

impl Ranks<'_> {
    fn timed(&self, step: &Step, options: &MegatronOptions) -> Timed {
        let (forward, backward) = self.step(step);
        let mut timed = Timed { forward, backward, selective: is_selected(step, options), parameters: [0.0; 2], first: 0.0 };
        for tensor in step.op.tensors.iter().filter(|tensor| tensor.role == Role::Parameter) {
            let count = to_f64(tensor.shape.elements().0);
            let expert = tensor.shape.dims().next().is_some_and(|dim| dim.0 == "experts on this rank");
            let [dense, experts] = &mut timed.parameters;
            *(if expert { experts } else { dense }) += count;
            timed.first = if timed.first > 0.0 { timed.first } else { count };
        }
        timed
    }

    /// Forward and backward of a step.
    fn step(&self, step: &Step) -> (Phase, Phase) {
        let (mut forward, mut backward) = (Phase::default(), Phase::default());
        for work in &step.work {
            match work {
                Work::Product(product) => {
                    let (there, back) = self.product(product);
                    // Products of activations with each other are attention's.
                    let place = |phase: &mut Phase, seconds| {
                        *(if product.weight { &mut phase.products } else { &mut phase.attention }) += seconds;
                    };
                    place(&mut forward, there);
                    place(&mut backward, back);
                }
                Work::Core(core) => {
                    forward.attention += self.machine.core(core, false);
                    backward.attention += self.machine.core(core, true);
                }
                Work::Stream { bytes, kernels } => {
                    let [there, back] = [0, 1].map(|at: usize| {
                        let of = |pair: &[u64; 2]| pair.get(at).copied().unwrap_or(0);
                        self.machine.stream(of(bytes), of(kernels))
                    });
                    // Softmax and dropout of scores stand in the attention step.
                    let core = step.module == Module::CoreAttention;
                    *(if core { &mut forward.attention } else { &mut forward.streams }) += there;
                    *(if core { &mut backward.attention } else { &mut backward.streams }) += back;
                }
                Work::Exchange(_) => {}
            }
        }
        self.exchanges(step, [&mut forward, &mut backward]);
        (forward, backward)
    }

    fn product(&self, product: &Product) -> (f64, f64) {
        let [rows, other] = product.backward();
        let weight = if product.weight && self.frozen { 0.0 } else { self.machine.product(&other, product.weight) };
        let backward = self.machine.product(&rows, false) + weight;
        (self.machine.product(product, false), backward)
    }

    /// Adds what messages take beyond what hides them.
    fn exchanges(&self, step: &Step, phases: [&mut Phase; 2]) {
        for (phase, backward) in phases.into_iter().zip([false, true]) {
            // What still can hide a message: products, of which backward's second is the weight's gradient; attention.
            let (mut products, mut attention) = (phase.products, phase.attention);
            for work in &step.work {
                let Work::Exchange(exchange) = work else { continue };
                if exchange.backward != backward {
                    continue;
                }
                let seconds = self.seconds(exchange);
                let exposed = match exchange.behind {
                    Behind::Nothing => seconds,
                    Behind::WeightGradient => self.hide(seconds, &mut products),
                    // The first piece has nothing to hide behind.
                    Behind::Products => self.hide(seconds, &mut products).max(seconds / self.t),
                    Behind::Attention => self.hide(seconds, &mut attention),
                };
                *(match exchange.group {
                    Group::Tensor => &mut phase.tensor,
                    Group::Context => &mut phase.context,
                    Group::Expert | Group::ExpertTensor => &mut phase.experts,
                }) += exposed;
            }
        }
    }

    /// What a message costs that runs beside work of so many seconds, which is used up by it.
    fn hide(&self, seconds: f64, work: &mut f64) -> f64 {
        let hidden = seconds.min(*work);
        *work -= hidden;
        seconds - hidden + hidden * self.machine.beside()
    }

    /// Ranks are numbered tensor first, then context, then data; experts are shared out over the latter two.
    fn seconds(&self, exchange: &Exchange) -> f64 {
        let (ranks, stride) = match exchange.group {
            Group::Tensor => (self.t, 1.0),
            Group::Context => (self.cp, self.t),
            Group::Expert => (self.ep, self.etp),
            Group::ExpertTensor => (self.etp, 1.0),
        };
        self.machine.links.ring(ranks, stride).seconds(exchange.collective, to_f64(exchange.bytes))
    }
}

/// Whether selective recomputation runs the step's forward again.
const fn is_selected(step: &Step, options: &MegatronOptions) -> bool {
    let modules = options.recompute_modules;
    match step.module {
        Module::Rest => false,
        Module::CoreAttention => modules.core_attn,
        Module::Norm => modules.layernorm,
        Module::LatentUp => modules.mla_up_proj,
        Module::Mlp => modules.mlp,
        Module::Moe => modules.moe,
        Module::MoeActivation => modules.moe_act,
        Module::SharedExperts => modules.shared_experts || modules.moe,
    }
}

/// The share of all parameters that learns.
fn learning_share(job: &Job) -> f64 {
    if job.training().is_none_or(|run| run.tuning.is_full()) {
        return 1.0;
    }
    let counted = |with| to_f64(crate::ops::without_products(with).parameters().max(1));
    let with = crate::ops::lowering(job);
    to_f64(crate::ops::trainable(&with)) / counted(&with)
}

impl Costs {
    /// What is moved for parameters that learn, spread over all of them.
    fn of_learning(self, share: f64) -> Self {
        let [gradient, update, products, kept, accumulate] =
            [self.gradient, self.update, self.products, self.kept, self.accumulate].map(|each| each * share);
        Self { gradient, update, products, kept, accumulate, ..self }
    }

    fn of(run: &TrainingRun, reduce_in_fp32: bool, updating: &Updating) -> Self {
        let recipe = run.recipe();
        let bytes = |dtype: DType| to_f64(dtype.bits()) / 8.0;
        let gathered = match run.precision {
            TrainingPrecision::FsdpMixed | TrainingPrecision::AmpBf16 => 2.0,
            _ => bytes(recipe.parameter),
        };
        let megatron = run.kernels == Kernels::Megatron;
        let gradient =
            if megatron || reduce_in_fp32 && gathered < bytes(recipe.parameter) { bytes(recipe.gradient) } else { gathered };
        let states = updating.states;
        let master = recipe.master.map_or(0.0, bytes);
        let copy = if master > 0.0 { master + bytes(recipe.parameter) } else { 0.0 };
        let own = if master > 0.0 { master } else { bytes(recipe.parameter) };
        // The gradient is read; weights and states are read and written; the weights' copy is made. Without a fused kernel each of
        // Adam's dozen operators reads and writes on its own: three times as much.
        let wide = bytes(recipe.optimizer_state);
        let once = wide + 2.0 * (own + states) + copy;
        // Before it: gradients widened, their norm read, scaled to the limit; under fp16 unscaled and looked through as well.
        let narrow = bytes(recipe.gradient) < wide;
        let widened = if narrow { bytes(recipe.gradient) + wide } else { 0.0 };
        let unscaled = if run.precision == TrainingPrecision::Fp16Mixed { 2.0 * wide } else { 0.0 };
        let before = widened + unscaled + 3.0 * wide;
        let apart = match run.optimizer_implementation {
            OptimizerImplementation::Fused => 1.0,
            OptimizerImplementation::ForLoop | OptimizerImplementation::Foreach => 3.0,
        };
        let shards = if megatron { 0.0 } else { 6.0 * gathered + 3.0 * gradient };
        let accumulate =
            if megatron && run.megatron.gradient_accumulation_fusion { 0.0 } else { gathered + 2.0 * bytes(recipe.gradient) };
        let copies = matches!(run.gradients, GradientDType::Fp32Copy);
        let kept = bytes(recipe.gradient) + if copies { 4.0 } else { 0.0 };
        let (update, products) = (once * apart + before + updating.bytes, updating.products);
        Self { gradient, weight: gathered, update, products, kept, shards, accumulate, overlap: run.overlap }
    }
}
