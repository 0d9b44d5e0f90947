//! Changes that would make a job fit: each changes one input, each is estimated, cheapest in
//! quality and time first.

use super::count::GpuCount;
use super::inverse::{largest, room, room_of};
use super::legal::lifting;
use crate::config::{
    AttentionKernel, BaseFormat, CacheFormat, DataSharding, InHostMemory, Job, Method, OnHost,
    Optimizer, Recompute, Rollout, Run, ServingRun, Targets, Tuning, WeightFormat,
};
use crate::estimator::{Estimate, Headroom, Requests, estimate, memory_by_kind};
use crate::units::{Bytes, sort_short, whole};

/// One change of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Another attention kernel.
    Attention(AttentionKernel),
    /// Another recomputation.
    Recompute(Recompute),
    /// Another sharding over data-parallel ranks.
    Sharding(DataSharding),
    /// Another micro-batch.
    MicroBatch(u64),
    /// Another number of accelerators (data-parallel ranks change).
    Gpus(u64),
    /// Another tensor degree, with that many accelerators.
    Tensor(u64),
    /// Another layout of one replica for serving, with as many accelerators.
    Replica {
        /// Tensor degree.
        tensor: u64,
        /// Pipeline stages.
        pipeline: u64,
    },
    /// Another pipeline degree (data-parallel ranks change).
    Pipeline(u64),
    /// Embedding and loss count as a layer each when layers are dealt out over pipeline stages.
    EndsAsLayers,
    /// Another expert degree.
    Expert(u64),
    /// Another global batch.
    GlobalBatch(u64),
    /// Another number of images in every sequence.
    Images(u64),
    /// Another optimizer.
    Optimizer(Optimizer),
    /// Another number of answers that the engine on one accelerator generates at once.
    RolloutSequences(u64),
    /// Another place of the engine that generates answers.
    Rollout(Rollout),
    /// Low-rank adapters learn in place of the model, beside frozen weights in that format.
    Adapters(BaseFormat),
    /// Another weight format for serving.
    Quantization(WeightFormat),
    /// Another cache format for serving.
    KvCacheDType(CacheFormat),
    /// Another length of sequences, or of the context when serving.
    ContextLength(u64),
    /// Another micro-batch, with a global batch that it divides.
    Batches {
        /// Micro-batch.
        micro: u64,
        /// Global batch.
        global: u64,
    },
    /// Another number of requests at once on each replica.
    Requests(u64),
    /// Another rank of adapters.
    Rank(u64),
    /// Experts of so many layers in the host's memory.
    ExpertsOnHost(u64),
    /// Another number of layers on accelerators.
    GpuLayers(u64),
    /// So many GiB of each accelerator's weights in the host's memory.
    WeightsOnHost(u64),
}

/// A change with its effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// The change.
    pub change: Change,
    /// The text on its button, e.g. `Recompute every block`.
    pub title: String,
    /// Memory of the most loaded accelerator before, bytes.
    pub before: Bytes,
    /// Memory of the most loaded accelerator after, bytes.
    pub after: Bytes,
    /// True if the job can run afterwards.
    pub fits: bool,
    /// Accelerators afterwards.
    pub gpus_after: u64,
}

/// The most fixes that are offered.
pub(super) const MOST: usize = 3;

/// Returns up to three single changes for a job that does not run, each with the bytes of the most
/// loaded accelerator before and after: those that make it run first, cheapest in quality and time,
/// then the largest savings.
///
/// Each change was estimated, none is a rule of thumb. `current` and `count` are the job's own
/// estimate and GPU count. Empty if the job runs.
///
/// ```
/// use headroom::estimator::estimate;
/// use headroom::planner::{fixes, gpu_count};
/// use headroom::scenario::codec::decode;
/// use headroom::units::MemoryUnit;
///
/// let job = decode("v2&m=llama3-70b&n=16").scenario.resolve().map_err(|problems| problems.len())?;
/// let fixes = fixes(&job, &estimate(&job), &gpu_count(&job, MemoryUnit::Gib));
/// assert!((1..=3).contains(&fixes.len()));
/// assert!(fixes.iter().all(|fix| fix.fits || fix.after < fix.before));
/// # Ok::<(), usize>(())
/// ```
pub fn fixes(job: &Job, current: &Estimate, count: &GpuCount) -> Vec<Fix> {
    if current.runs() {
        return Vec::new();
    }
    let before = current.total();
    let short = matches!(current.headroom(), Headroom::Short(_));
    let choosy = job.training().is_some_and(|run| {
        run.tuning != Tuning::FULL || !run.optimizer.spec().conflicts.is_empty()
    });
    let mut found: Vec<Fix> = changes(job, Some(count))
        .into_iter()
        .filter_map(|(change, title, changed)| {
            let after = estimate(&changed);
            // Where only a rule stands in the way, saving memory does not help.
            let better = after.runs() || (short && after.total() < before);
            // The parameters that learn are changed only if the job then breaks no rule and needs
            // less memory. A change of a fine-tuning, or of an optimizer that few tools can be
            // combined with, must not break more rules than before.
            let better = match change {
                Change::Adapters(_) => {
                    better && after.blockers.is_empty() && after.total() < before
                }
                _ => better && (!choosy || after.blockers.len() <= current.blockers.len()),
            };
            let gpus_after = changed.layout().world_size();
            better.then(|| Fix {
                change,
                title,
                before,
                after: after.total(),
                fits: after.runs(),
                gpus_after,
            })
        })
        .collect();
    // The sort is stable: among the fixes that run, the order of `changes` (cheapest first) stays.
    let rank = |fix: &Fix| if fix.fits { (0, 0) } else { (1, fix.after.0) };
    sort_short(&mut found, |a, b| rank(a) < rank(b));
    found.truncate(MOST);
    found
}

/// A change, the text on its button, and the job with it.
pub(super) type Candidate = (Change, String, Job);

/// All single changes of a job, cheapest in quality and time first; the last is the smallest
/// `count` that runs.
pub(super) fn changes(job: &Job, count: Option<&GpuCount>) -> Vec<Candidate> {
    let mut list = match job.run() {
        Run::Training(run) => {
            let mut list = lifting(job);
            list.extend(rollout(job, &run.tuning));
            list.extend(training(job));
            list.extend(adapters(job, &run.tuning));
            list
        }
        Run::Serving(_) => serving(job),
    };
    if let Some(runnable) = count.and_then(|count| count.runnable.as_ref())
        && runnable.layout != *job.layout()
    {
        let (gpus, changed) = (runnable.gpus, job.with_layout(runnable.layout));
        let (tensor, pipeline) = (runnable.layout.t(), runnable.layout.p());
        let change = if job.training().is_some() {
            Change::Gpus(gpus)
        } else {
            Change::Replica { tensor, pipeline }
        };
        list.push((change, format!("Use {} GPUs", whole(gpus)), changed));
    }
    list
}

/// Less memory for the engine that generates answers beside the model: it costs only time.
fn rollout(job: &Job, tuning: &Tuning) -> Vec<Candidate> {
    if !tuning.objective.generates() || tuning.rollout == Rollout::Apart {
        return Vec::new();
    }
    let with = |edit: &dyn Fn(&mut Tuning)| {
        job.with_run(|run| {
            if let Run::Training(run) = run {
                edit(&mut run.tuning);
            }
        })
    };
    let mut list = Vec::with_capacity(2);
    if tuning.rollout_sequences > 1 {
        let some = |answers| with(&|tuning| tuning.rollout_sequences = answers);
        let most =
            largest(tuning.rollout_sequences - 1, |answers| room(&some(answers))).unwrap_or(1);
        let answers = if most > 8 { most - most % 8 } else { most };
        let title = if answers == 1 {
            "1 answer at once".to_owned()
        } else {
            format!("{answers} answers at once")
        };
        list.push((Change::RolloutSequences(answers), title, some(answers)));
    }
    if tuning.rollout == Rollout::Colocated {
        let sleeping = with(&|tuning| tuning.rollout = Rollout::Sleeping);
        list.push((
            Change::Rollout(Rollout::Sleeping),
            "Engine sleeps while the model learns".to_owned(),
            sleeping,
        ));
    }
    list
}

fn training(job: &Job) -> Vec<Candidate> {
    let Some(run) = job.training() else { return Vec::new() };
    let mut list: Vec<Candidate> = Vec::with_capacity(8);
    let mut with = |change, title: &str, edit: &dyn Fn(&mut crate::config::TrainingRun)| {
        let changed = job.with_run(|run| {
            if let Run::Training(run) = run {
                edit(run);
            }
        });
        list.push((change, title.to_owned(), changed));
    };
    if run.attention == AttentionKernel::Standard {
        with(Change::Attention(AttentionKernel::Flash), "Use FlashAttention", &|run| {
            run.attention = AttentionKernel::Flash;
        });
        if run.recompute == Recompute::None {
            let selective = Recompute::Selective;
            with(Change::Recompute(selective), "Recompute attention scores", &|run| {
                run.recompute = selective;
            });
        }
    }
    if run.tuning.keys_before() > 0 && run.recompute != Recompute::None {
        with(Change::Recompute(Recompute::None), "Recompute nothing", &|run| {
            run.recompute = Recompute::None;
        });
    }
    if run.recompute != Recompute::Full {
        with(Change::Recompute(Recompute::Full), "Recompute every block", &|run| {
            run.recompute = Recompute::Full;
        });
    }
    let micro_batch = job.micro_batch_size();
    if micro_batch > 1 {
        with(Change::MicroBatch(1), "Micro-batch of 1", &|run| run.micro_batch_size = Some(1));
    }
    for smaller in Optimizer::ALL {
        if let Some(replacement) =
            smaller.spec().replaces.filter(|replacement| replacement.of == run.optimizer.key())
        {
            with(Change::Optimizer(smaller), replacement.title, &|run| run.optimizer = smaller);
        }
    }
    let sharding = job.layout().sharding;
    if job.layout().d() > 1 {
        let offered = DataSharding::ALL.into_iter().filter_map(|stage| Some((stage, stage.fix?)));
        for (place, (stage, title)) in
            offered.filter(|(stage, _)| deeper(*stage, sharding)).enumerate()
        {
            let layout = crate::config::ParallelLayout { sharding: stage, ..*job.layout() };
            list.insert(
                place,
                (Change::Sharding(stage), title.to_owned(), job.with_layout(layout)),
            );
        }
    }
    list
}

/// Adapters in place of the parameters that learn, where a fine-tuning says beside which layers
/// they would stand; training from scratch does not say so.
fn adapters(job: &Job, tuning: &Tuning) -> Vec<Candidate> {
    if tuning.target_modules == Targets::NONE
        || tuning.base.is_quantised()
        || matches!(tuning.method, Method::Prompt | Method::Prefix)
    {
        return Vec::new();
    }
    let offered = [
        (BaseFormat::Weights, "Train adapters alone (LoRA)", tuning.method == Method::Full),
        (BaseFormat::Nf4Double, "4-bit weights (QLoRA)", true),
    ];
    let candidates =
        offered.into_iter().filter(|(.., offered)| *offered).map(|(base, title, _)| {
            let changed = job.with_run(|run| {
                if let Run::Training(run) = run {
                    run.tuning = run.tuning.with_adapters(base);
                }
            });
            (Change::Adapters(base), title.to_owned(), changed)
        });
    candidates.collect()
}

/// True if `stage` shares out more than `now`.
pub(super) const fn deeper(stage: DataSharding, now: DataSharding) -> bool {
    if stage.shards_parameters() {
        !now.shards_parameters()
    } else if stage.shards_gradients() {
        !now.shards_gradients()
    } else {
        !now.shards_optimizer()
    }
}

/// The 4-bit formats that are offered, as their software stores them.
const FOUR_BITS: [(WeightFormat, &str); 2] = [
    (WeightFormat::Awq, "Weights in 4 bit (AWQ)"),
    (WeightFormat::Iq4Xs, "Weights in 4 bit (GGUF IQ4_XS)"),
];

/// The least of the model that goes to the host's memory so that the rest fits: experts, or whole
/// layers, where the processor computes them; and weights that cross the link in every step.
fn on_host(job: &Job, run: &ServingRun) -> (Vec<Candidate>, Option<Candidate>) {
    if job.cluster().host.link.is_none() {
        return (Vec::new(), None);
    }
    let with = |edit: &dyn Fn(&mut InHostMemory)| {
        job.with_run(|run| {
            if let Run::Serving(run) = run {
                edit(&mut run.in_host_memory);
            }
        })
    };
    let (layers, asked) = (job.model().num_hidden_layers, run.in_host_memory);
    match run.engine.spec().host {
        OnHost::Nothing => (Vec::new(), None),
        OnHost::Computed { .. } => {
            let experts = |many| with(&|asked| asked.expert_layers = many);
            let left = layers.saturating_sub(asked.expert_layers);
            let least = (job.model().moe.is_some() && left > 0)
                .then(|| largest(left, |rest| room(&experts(layers + 1 - rest))))
                .flatten()
                .map(|rest| layers + 1 - rest);
            let experts = least.map(|many| {
                let title = format!("Experts of {} layers in host memory", whole(many));
                (Change::ExpertsOnHost(many), title, experts(many))
            });
            let on_gpu = |many: u64| with(&|asked| asked.gpu_layers = Some(many));
            let now = asked.gpu_layers.map_or(layers + 1, |many| many.min(layers + 1));
            let most = (now > 0)
                .then(|| largest(now, |above| room(&on_gpu(above - 1))))
                .flatten()
                .map(|above| above - 1);
            let fewer = most.map(|many| {
                let title = format!("{} of {} layers on the GPU", whole(many), whole(layers + 1));
                (Change::GpuLayers(many), title, on_gpu(many))
            });
            (experts.into_iter().chain(fewer).collect(), None)
        }
        OnHost::Streamed { .. } => {
            let away = |gibibytes: u64| {
                with(&|asked| asked.weights = Bytes(gibibytes.saturating_mul(Bytes::GIB)))
            };
            let [weights, ..] = memory_by_kind(job);
            let now = asked.weights.0.div_ceil(Bytes::GIB);
            let most = now.saturating_add(weights.0.div_ceil(Bytes::GIB));
            let least = (most > now)
                .then(|| largest(most - now, |rest| room(&away(most + 1 - rest))))
                .flatten()
                .map(|rest| most + 1 - rest);
            let streamed = least.map(|many| {
                let title = format!("{} GiB of weights in host memory", whole(many));
                (Change::WeightsOnHost(many), title, away(many))
            });
            (Vec::new(), streamed)
        }
    }
}

fn serving(job: &Job) -> Vec<Candidate> {
    let Run::Serving(run) = job.run() else { return Vec::new() };
    let mut list = Vec::with_capacity(6);
    let edit = |edit: &dyn Fn(&mut crate::config::ServingRun)| {
        job.with_run(|run| {
            if let Run::Serving(run) = run {
                edit(run);
            }
        })
    };
    if run.kv_cache_dtype.dtype().bits() > 8 {
        let smaller = &run.engine.smaller_cache;
        let to = smaller.format;
        list.push((
            Change::KvCacheDType(to),
            smaller.title.to_owned(),
            edit(&|run| run.kv_cache_dtype = to),
        ));
    }
    let (computed, streamed) = on_host(job, run);
    list.extend(computed);
    let bits = run.quantization.dtype().bits();
    let quantized = |(format, title): (WeightFormat, &str)| {
        (Change::Quantization(format), title.to_owned(), edit(&|run| run.quantization = format))
    };
    if bits > 8 && run.engine.loads(WeightFormat::Fp8Channel) {
        list.push(quantized((WeightFormat::Fp8Channel, "Weights in fp8")));
    }
    if bits > 4 {
        let loaded = FOUR_BITS.into_iter().filter(|(format, _)| run.engine.loads(*format));
        let four: Vec<Candidate> = loaded.map(quantized).collect();
        // The smaller format is offered only where the usual one is too large.
        let first = four.iter().position(|(.., job)| room(job) >= 0).unwrap_or(0);
        list.extend(four.into_iter().nth(first));
    }
    list.extend(streamed);
    let context = run.context_length;
    let served = Requests::of(job);
    let shorter = served.and_then(|served| {
        largest(context.saturating_sub(1).max(1), |tokens| {
            room_of(&served, &job.with_seq_length(tokens))
        })
    });
    if let Some(tokens) = shorter
        .map(|tokens| if tokens > 1024 { tokens - tokens % 1024 } else { tokens })
        .filter(|tokens| *tokens < context)
    {
        list.push((
            Change::ContextLength(tokens),
            format!("Context of {} tokens", whole(tokens)),
            job.with_seq_length(tokens),
        ));
    }
    list
}
