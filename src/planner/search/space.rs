//! The space of a search: degrees that multiply to the number of accelerators, and every other
//! choice as a list of edits.

use std::fmt::Write as _;
use std::num::NonZeroU64;

use crate::config::{
    Choice, DataSharding, Job, Offload, ParallelLayout, PipelineSchedule, PipelineSplit, Recompute,
};

/// Changes when the space or its rules change, so that kept answers can be told apart.
pub const SPACE_VERSION: u32 = 1;

/// A number that a layout is made of. The first four multiply to the number of accelerators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Degree {
    /// Tensor-parallel ranks.
    Tensor,
    /// Context-parallel ranks.
    Context,
    /// Pipeline stages.
    Pipeline,
    /// Data-parallel ranks.
    Data,
    /// Expert-parallel ranks.
    Expert,
    /// Ranks that split one expert.
    ExpertTensor,
    /// Sequences a rank holds at once.
    MicroBatch,
    /// Chunks of blocks on each stage.
    Chunks,
}

impl Degree {
    /// All degrees, in the order of the search.
    pub const ALL: [Self; 8] = [
        Self::Tensor,
        Self::Context,
        Self::Pipeline,
        Self::Data,
        Self::Expert,
        Self::ExpertTensor,
        Self::MicroBatch,
        Self::Chunks,
    ];

    /// Returns its name in Megatron-LM's words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tensor => "tensor-parallel",
            Self::Context => "context-parallel",
            Self::Pipeline => "pipeline-parallel",
            Self::Data => "data-parallel",
            Self::Expert => "expert-parallel",
            Self::ExpertTensor => "expert-tensor-parallel",
            Self::MicroBatch => "micro-batch",
            Self::Chunks => "virtual stages",
        }
    }

    /// Returns its value in a choice.
    pub const fn of(self, choice: &Choice) -> u64 {
        let layout = &choice.layout;
        match self {
            Self::Tensor => layout.t(),
            Self::Context => layout.cp(),
            Self::Pipeline => layout.p(),
            Self::Data => layout.d(),
            Self::Expert => layout.ep(),
            Self::ExpertTensor => layout.etp(),
            Self::MicroBatch => choice.micro_batch_size.get(),
            Self::Chunks => layout.chunks(),
        }
    }

    /// Sets the value; 0 counts as 1.
    pub(super) fn set(self, choice: &mut Choice, value: u64) {
        let value = NonZeroU64::new(value).unwrap_or(NonZeroU64::MIN);
        let layout = &mut choice.layout;
        match self {
            Self::Tensor => layout.tensor_model_parallel_size = value,
            Self::Context => layout.context_parallel_size = value,
            Self::Pipeline => layout.pipeline_model_parallel_size = value,
            Self::Data => layout.data_parallel_size = value,
            Self::Expert => layout.expert_model_parallel_size = value,
            Self::ExpertTensor => layout.expert_tensor_parallel_size = Some(value),
            Self::MicroBatch => choice.micro_batch_size = value,
            Self::Chunks => layout.virtual_pipeline_model_parallel_size = value,
        }
    }
}

/// One value of an axis: its name, and the setting that it changes.
#[derive(Clone, Copy, Debug)]
pub struct Edit {
    /// Its name.
    pub name: &'static str,
    sets: Sets,
}

/// The degree or setting that an edit changes.
#[derive(Clone, Copy, Debug)]
enum Sets {
    /// The way of sharding.
    Sharding(DataSharding),
    /// Another setting, by a function that returns what [`Edit::apply`] does.
    By(fn(&Job, &mut Choice) -> bool),
}

impl Edit {
    const fn new(name: &'static str, apply: fn(&Job, &mut Choice) -> bool) -> Self {
        Self { name, sets: Sets::By(apply) }
    }

    /// Makes the edit in `choice`; returns false where that gives no layout of its own.
    ///
    /// The result may depend only on the job and the first four degrees.
    pub fn apply(&self, job: &Job, choice: &mut Choice) -> bool {
        match self.sets {
            Sets::Sharding(sharding) => shard(choice, sharding),
            Sets::By(apply) => apply(job, choice),
        }
    }
}

/// A choice between edits.
#[derive(Clone, Debug)]
pub struct SearchAxis {
    /// The name of the setting that is chosen.
    pub name: &'static str,
    /// The values; never empty.
    pub edits: Vec<Edit>,
    /// True if one value may be legal where a rule on tensor, context, pipeline and data-parallel
    /// degrees forbids another.
    pub lifts_rules: bool,
}

/// The space that a search goes through: every combination, with the last axis changing quickest.
#[derive(Clone, Debug, Default)]
pub struct Space {
    /// Numbers of accelerators, rising.
    pub counts: Vec<u64>,
    /// Values that a degree may have; `None`: every divisor of the number that is left to divide.
    pub only: [Option<Vec<u64>>; 8],
    /// All other choices.
    pub axes: Vec<SearchAxis>,
    /// True if the search ends with the first number of accelerators on which a layout fits.
    pub ends_with_first: bool,
}

/// Sets the sharding; a single rank has nobody to share with.
fn shard(choice: &mut Choice, sharding: DataSharding) -> bool {
    choice.layout.sharding = sharding;
    sharding == DataSharding::NOTHING || choice.layout.d().saturating_mul(choice.layout.cp()) > 1
}

/// Every way to share states out that is worth a search.
fn shardings() -> Vec<Edit> {
    let searched = DataSharding::ALL.into_iter().filter(|sharding| sharding.is_searched);
    searched.map(|sharding| Edit { name: sharding.short, sets: Sets::Sharding(sharding) }).collect()
}

/// Sets the schedule; a single stage has nothing to schedule.
fn schedule(choice: &mut Choice, schedule: PipelineSchedule) -> bool {
    choice.layout.pipeline_schedule = schedule;
    schedule == PipelineSchedule::OneForwardOneBackward || choice.layout.p() > 1
}

/// Deals out one layer more to each stage but the first and the last, which share the layers that
/// are left.
fn shorten_ends(job: &Job, choice: &mut Choice) -> bool {
    let (layers, p) = (job.model().num_hidden_layers, choice.layout.p());
    let middle = (layers / p).saturating_add(1).saturating_mul(p.saturating_sub(2));
    let left = layers.saturating_sub(middle);
    let [first, last] = [left.div_ceil(2), left / 2].map(NonZeroU64::new);
    choice.layout.pipeline_split = PipelineSplit::Ends { first, last };
    p > 2 && first.is_some() && last.is_some()
}

/// Name of the axis.
const RECOMPUTATION: &str = "recomputation";
const RECOMPUTATIONS: [Edit; 3] = [
    Edit::new("none", |_, choice| recompute(choice, Recompute::None)),
    Edit::new("selective", |_, choice| recompute(choice, Recompute::Selective)),
    Edit::new("full", |_, choice| recompute(choice, Recompute::Full)),
];
const SEQUENCE_PARALLEL: [Edit; 2] = [
    Edit::new("off", |_, choice| sequence(choice, false)),
    Edit::new("on", |_, choice| sequence(choice, true)),
];
const SPLITS: [Edit; 3] = [
    Edit::new("even", |_, choice| split(choice, PipelineSplit::Even)),
    Edit::new("embedding and loss as a layer each", |_, choice| {
        split(choice, PipelineSplit::WithEnds)
    }),
    Edit::new("fewer on the first and last stage", shorten_ends),
];
const SCHEDULES: [Edit; 5] = [
    Edit::new("1F1B", |_, choice| schedule(choice, PipelineSchedule::OneForwardOneBackward)),
    Edit::new("GPipe", |_, choice| schedule(choice, PipelineSchedule::GPipe)),
    Edit::new("ZB-H1", |_, choice| schedule(choice, PipelineSchedule::ZeroBubbleH1)),
    Edit::new("ZB-H2", |_, choice| schedule(choice, PipelineSchedule::ZeroBubbleH2)),
    Edit::new("DualPipe", |_, choice| schedule(choice, PipelineSchedule::DualPipe)),
];
const OFFLOADS: [Edit; 2] = [
    Edit::new("nothing", |_, choice| offload(choice, Offload::NONE)),
    Edit::new("optimizer", |_, choice| {
        offload(choice, Offload { optimizer: true, ..Offload::NONE })
    }),
];
const REPLICAS: [Edit; 4] = [
    Edit::new("1", |_, choice| replicate(choice, 1)),
    Edit::new("2", |_, choice| replicate(choice, 2)),
    Edit::new("4", |_, choice| replicate(choice, 4)),
    Edit::new("8", |_, choice| replicate(choice, 8)),
];

const fn recompute(choice: &mut Choice, recompute: Recompute) -> bool {
    choice.recompute = recompute;
    true
}

fn sequence(choice: &mut Choice, parallel: bool) -> bool {
    choice.layout.sequence_parallel = parallel;
    !parallel || choice.layout.t() > 1
}

fn split(choice: &mut Choice, split: PipelineSplit) -> bool {
    choice.layout.pipeline_split = split;
    split == PipelineSplit::Even || choice.layout.p() > 1
}

const fn offload(choice: &mut Choice, offload: Offload) -> bool {
    choice.layout.offload = offload;
    true
}

fn replicate(choice: &mut Choice, groups: u64) -> bool {
    choice.layout.data_parallel_replicas = NonZeroU64::new(groups).unwrap_or(NonZeroU64::MIN);
    groups == 1 || choice.layout.d().is_multiple_of(groups)
}

impl SearchAxis {
    fn of(name: &'static str, edits: &[Edit]) -> Self {
        Self { name, edits: edits.to_vec(), lifts_rules: false }
    }

    /// Returns the choice of pipeline schedules; one forward, one backward is interleaved where
    /// stages have several chunks.
    pub fn schedules() -> Self {
        Self { lifts_rules: true, ..Self::of("schedule", &SCHEDULES) }
    }

    /// Returns the choice of tensors that wait in host memory.
    pub fn offloads() -> Self {
        Self::of("in host memory", &OFFLOADS)
    }

    /// Returns the choice of groups of data-parallel ranks that each hold a whole copy of all that
    /// is shared out.
    pub fn replicas() -> Self {
        Self::of("sharding groups", &REPLICAS)
    }
}

impl Space {
    /// Returns the space of every layout of a training job on these numbers of accelerators:
    /// degrees, micro-batch, recomputation and sharding.
    pub fn at(job: &Job, counts: &[u64]) -> Self {
        let mut counts = counts.to_vec();
        counts.sort_unstable();
        counts.dedup();
        let axes = vec![
            SearchAxis { lifts_rules: true, ..SearchAxis::of("layers per stage", &SPLITS) },
            SearchAxis::of("sequence parallel", &SEQUENCE_PARALLEL),
            SearchAxis::of(RECOMPUTATION, &RECOMPUTATIONS),
            SearchAxis::of("sharding", &shardings()),
        ];
        let mut space = Self { counts, only: Default::default(), axes, ends_with_first: false };
        if job.training().is_none_or(|run| !run.stack.has_all_degrees) {
            for degree in [Degree::Context, Degree::Expert, Degree::ExpertTensor, Degree::Chunks] {
                space.limit(degree, &[1]);
            }
        }
        space
    }

    /// Returns the space of every layout of the run with its own micro-batch and recomputation, on
    /// these numbers of accelerators.
    pub fn layouts(job: &Job, counts: &[u64]) -> Self {
        let mut space = Self::at(job, counts);
        let Some(run) = job.training() else { return space };
        if let Some(sequences) = run.micro_batch_size {
            space.limit(Degree::MicroBatch, &[sequences]);
        }
        let keeps = |edit: &Edit| {
            let mut choice = plain();
            edit.apply(job, &mut choice) && choice.recompute == run.recompute
        };
        for axis in space.axes.iter_mut().filter(|axis| axis.name == RECOMPUTATION) {
            axis.edits.retain(keeps);
        }
        space
    }

    /// Returns the space of every layout on as few accelerators as can run the job: any number
    /// within a node, whole nodes beyond, up to `most`.
    pub fn smallest(job: &Job, most: u64) -> Self {
        let node = job.cluster().accelerator.accelerators_per_node.max(1);
        let most = most.min(MOST_GPUS.saturating_add(1));
        let within = 1..=node.min(most);
        let beyond = (2..=most / node).map(|nodes| nodes.saturating_mul(node));
        Self { ends_with_first: true, ..Self::at(job, &within.chain(beyond).collect::<Vec<_>>()) }
    }

    /// Returns this space with one more choice, the last but for sharding.
    #[must_use]
    pub fn with(mut self, axis: SearchAxis) -> Self {
        let last = self.axes.len().saturating_sub(1);
        self.axes.insert(last, axis);
        self
    }

    /// Lets a degree have these values only.
    pub fn limit(&mut self, degree: Degree, values: &[u64]) {
        if let Some(only) = self.only.get_mut(degree as usize) {
            *only = Some(values.to_vec());
        }
    }

    /// Returns the space in words.
    pub fn describe(&self) -> String {
        let mut text = match self.counts.as_slice() {
            [] => "no GPUs".to_owned(),
            [one] => format!("{one} GPUs"),
            [first, .., last] => {
                format!("{} counts from {first} to {last} GPUs", self.counts.len())
            }
        };
        for (degree, only) in Degree::ALL.into_iter().zip(&self.only) {
            let values = match only {
                Some(values) => values.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
                None if degree == Degree::ExpertTensor => {
                    "1 or the tensor-parallel degree".to_owned()
                }
                None => "every divisor".to_owned(),
            };
            let _ = write!(text, "; {}: {values}", degree.name());
        }
        for axis in &self.axes {
            let names: Vec<_> = axis.edits.iter().map(|edit| edit.name).collect();
            let _ = write!(text, "; {}: {}", axis.name, names.join(", "));
        }
        text
    }

    /// The values of `values` that the degree may have.
    pub(super) fn allowed(&self, degree: Degree, mut values: Vec<u64>) -> Vec<u64> {
        if let Some(Some(only)) = self.only.get(degree as usize) {
            values.retain(|value| only.contains(value));
        }
        values
    }
}

/// The largest number of accelerators that is searched.
pub(super) const MOST_GPUS: u64 = 1 << 20;

/// The layout with every degree 1 and nothing chosen.
pub(super) const fn plain() -> Choice {
    let layout = ParallelLayout {
        expert_tensor_parallel_size: Some(NonZeroU64::MIN),
        ..ParallelLayout::SINGLE
    };
    Choice { layout, micro_batch_size: NonZeroU64::MIN, recompute: Recompute::None }
}
