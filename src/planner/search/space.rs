//! What is searched: degrees that multiply to the number of accelerators, and every other choice as a list of edits.

use std::fmt::Write as _;
use std::num::NonZeroU64;

use crate::config::{Choice, DataSharding, Job, Kernels, ParallelLayout, Recompute};

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
    /// All, in the order of the search.
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

    /// Its name, in Megatron-LM's words.
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

    /// The value in a choice.
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

/// One value of an axis: its name, and what it changes.
#[derive(Clone, Copy, Debug)]
pub struct Edit {
    /// Its name.
    pub name: &'static str,
    /// What it sets.
    pub apply: fn(&mut Choice),
}

/// A choice between edits.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What is chosen.
    pub name: &'static str,
    /// The values; never empty.
    pub edits: Vec<Edit>,
    /// Whether one value may be legal where a rule on tensor, context, pipeline and data-parallel degrees forbids another.
    pub lifts_rules: bool,
}

/// What a search goes through: every combination, the last axis quickest.
#[derive(Clone, Debug, Default)]
pub struct Space {
    /// Numbers of accelerators, rising.
    pub counts: Vec<u64>,
    /// Values a degree may have; `None`: every one that divides what is left to divide.
    pub only: [Option<Vec<u64>>; 8],
    /// All other choices.
    pub axes: Vec<Axis>,
    /// Whether the search ends with the first number of accelerators on which a layout fits.
    pub ends_with_first: bool,
}

const SHARDINGS: [Edit; 5] = [
    Edit { name: "DDP", apply: |choice| choice.layout.sharding = DataSharding::None },
    Edit { name: "ZeRO-1", apply: |choice| choice.layout.sharding = DataSharding::Zero1 },
    Edit { name: "ZeRO-2", apply: |choice| choice.layout.sharding = DataSharding::Zero2 },
    Edit { name: "ZeRO-3", apply: |choice| choice.layout.sharding = DataSharding::Zero3 },
    Edit { name: "FSDP", apply: |choice| choice.layout.sharding = DataSharding::Fsdp },
];
const RECOMPUTATIONS: [Edit; 3] = [
    Edit { name: "none", apply: |choice| choice.recompute = Recompute::None },
    Edit { name: "selective", apply: |choice| choice.recompute = Recompute::Selective },
    Edit { name: "full", apply: |choice| choice.recompute = Recompute::Full },
];
const SEQUENCE_PARALLEL: [Edit; 2] = [
    Edit { name: "off", apply: |choice| choice.layout.sequence_parallel = false },
    Edit { name: "on", apply: |choice| choice.layout.sequence_parallel = true },
];

impl Space {
    /// Every layout of a training job on so many accelerators.
    pub fn at(job: &Job, counts: &[u64]) -> Self {
        let mut counts = counts.to_vec();
        counts.sort_unstable();
        counts.dedup();
        let axis = |name, edits: &[Edit]| Axis { name, edits: edits.to_vec(), lifts_rules: false };
        let axes = vec![
            axis("sequence parallel", &SEQUENCE_PARALLEL),
            axis("recomputation", &RECOMPUTATIONS),
            axis("sharding", &SHARDINGS),
        ];
        let mut space = Self { counts, only: Default::default(), axes, ends_with_first: false };
        if job.training().is_none_or(|run| run.kernels != Kernels::Megatron) {
            for degree in [Degree::Context, Degree::Expert, Degree::ExpertTensor, Degree::Chunks] {
                space.limit(degree, &[1]);
            }
        }
        space
    }

    /// Every layout on as few accelerators as can run the job: any number within a node, whole nodes beyond, up to `most`.
    pub fn smallest(job: &Job, most: u64) -> Self {
        let node = job.cluster().accelerator.accelerators_per_node.max(1);
        let most = most.min(MOST_GPUS.saturating_add(1));
        let within = 1..=node.min(most);
        let beyond = (2..=most / node).map(|nodes| nodes.saturating_mul(node));
        Self { ends_with_first: true, ..Self::at(job, &within.chain(beyond).collect::<Vec<_>>()) }
    }

    /// Lets a degree have these values only.
    pub fn limit(&mut self, degree: Degree, values: &[u64]) {
        if let Some(only) = self.only.get_mut(degree as usize) {
            *only = Some(values.to_vec());
        }
    }

    /// What is searched, in words.
    pub fn describe(&self) -> String {
        let mut text = match self.counts.as_slice() {
            [] => "no GPUs".to_owned(),
            [one] => format!("{one} GPUs"),
            [first, .., last] => format!("{} counts from {first} to {last} GPUs", self.counts.len()),
        };
        for (degree, only) in Degree::ALL.into_iter().zip(&self.only) {
            let values = match only {
                Some(values) => values.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
                None if degree == Degree::ExpertTensor => "1 or the tensor-parallel degree".to_owned(),
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

    /// The values that may be taken.
    pub(super) fn allowed(&self, degree: Degree, mut values: Vec<u64>) -> Vec<u64> {
        if let Some(Some(only)) = self.only.get(degree as usize) {
            values.retain(|value| only.contains(value));
        }
        values
    }
}

/// Numbers of accelerators above this are not searched.
pub(super) const MOST_GPUS: u64 = 1 << 20;

/// The layout with every degree 1 and nothing chosen.
pub(super) const fn plain() -> Choice {
    let layout = ParallelLayout { expert_tensor_parallel_size: Some(NonZeroU64::MIN), ..ParallelLayout::SINGLE };
    Choice { layout, micro_batch_size: NonZeroU64::MIN, recompute: Recompute::None }
}
