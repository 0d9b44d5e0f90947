//! A checked job: model, run, layout and cluster together.

use std::borrow::Cow;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{
    Cluster, DataSharding, ModelConfig, ParallelLayout, Pipeline, PipelineSchedule, Recompute, Run,
    TrainingRun,
};
use crate::units::Bytes;

/// The reason why a job cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// A size that must be at least 1 is 0.
    #[error("{0} must be at least 1")]
    Zero(&'static str),
    /// Query heads are not a multiple of key/value heads.
    #[error("num_attention_heads ({heads}) must be a multiple of num_key_value_heads ({kv_heads})")]
    HeadGroups {
        /// Query heads.
        heads: u64,
        /// Key/value heads.
        kv_heads: u64,
    },
    /// The run trains layers of a kind that is described for serving alone.
    #[error(
        "training layers that keep a state, lack attention, share keys and values, or have heads of another shape is not modelled for this family"
    )]
    OnlyServed,
    /// The run serves an encoder, which writes no text.
    #[error(
        "an encoder reads whole texts and writes none; serving it is not modelled, training it is"
    )]
    OnlyTrained,
}

/// The settings that a search over layouts of a training job varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Choice {
    /// Degrees and sharding.
    pub layout: ParallelLayout,
    /// Sequences a rank holds at once.
    pub micro_batch_size: NonZeroU64,
    /// Activation recomputation.
    pub recompute: Recompute,
}

/// A checked job; every estimate of it succeeds. "Does not fit" and "this layout cannot run" are
/// values of the estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    model: ModelConfig,
    run: Run,
    layout: ParallelLayout,
    cluster: Cluster,
}

impl Job {
    /// Joins the parts into a job. A shape that the model's family does not have makes it a decoder
    /// of no known family.
    ///
    /// # Errors
    /// [`ConfigError::Zero`] for a size of 0, [`ConfigError::HeadGroups`] when query heads cannot
    /// be grouped, [`ConfigError::OnlyServed`] for the training of a [`super::Hybrid`] that no
    /// family's modules are known to train, [`ConfigError::OnlyTrained`] for serving an encoder.
    pub fn new(
        model: ModelConfig,
        run: Run,
        layout: ParallelLayout,
        cluster: Cluster,
    ) -> Result<Self, ConfigError> {
        check_model(&model)?;
        check_run(&run)?;
        if matches!(run, Run::Training(_)) && model.is_only_served() {
            return Err(ConfigError::OnlyServed);
        }
        if matches!(run, Run::Serving(_)) && !model.is_served() {
            return Err(ConfigError::OnlyTrained);
        }
        let model = ModelConfig { family: model.family_of_shape(), ..model };
        Ok(Self { model, run, layout, cluster })
    }

    /// Returns the architecture.
    pub const fn model(&self) -> &ModelConfig {
        &self.model
    }

    /// Returns the run.
    pub const fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the training run; `None` when serving.
    pub const fn training(&self) -> Option<&TrainingRun> {
        match &self.run {
            Run::Training(run) => Some(run),
            Run::Serving(_) => None,
        }
    }

    /// Returns the layout.
    pub const fn layout(&self) -> &ParallelLayout {
        &self.layout
    }

    /// Returns the cluster.
    pub const fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Returns the pipeline at work: the schedule with its ranks, chunks and micro-batches of a
    /// step.
    pub fn pipeline(&self) -> Pipeline {
        let (layout, ranks) = (&self.layout, self.layout.p());
        let schedule = layout.schedule();
        let group = self.training().and_then(|run| run.megatron.microbatch_group_size_per_vp_stage);
        Pipeline {
            schedule,
            ranks,
            chunks: if schedule == PipelineSchedule::Interleaved { layout.chunks() } else { 1 },
            micro_batches: self.gradient_accumulation_steps(),
            group: group.map_or(ranks, NonZeroU64::get),
        }
    }

    /// Returns this job with another number of data-parallel ranks.
    #[must_use]
    pub fn with_data_parallel_size(&self, ranks: NonZeroU64) -> Self {
        let mut job = self.clone();
        job.layout.data_parallel_size = ranks;
        job
    }

    /// Returns this job with another model.
    #[must_use]
    pub fn with_model(&self, model: ModelConfig) -> Self {
        let model = ModelConfig { family: model.family_of_shape(), ..model };
        Self { model, ..self.clone() }
    }

    /// Returns this job with another layout.
    #[must_use]
    pub fn with_layout(&self, layout: ParallelLayout) -> Self {
        Self { layout, ..self.clone() }
    }

    /// Takes over the settings that a search chose. Serving has no micro-batch and nothing to
    /// recompute, so only the layout changes.
    pub const fn choose(&mut self, choice: &Choice) {
        self.layout = choice.layout;
        if let Run::Training(run) = &mut self.run {
            run.micro_batch_size = Some(choice.micro_batch_size.get());
            run.recompute = choice.recompute;
        }
    }

    /// Takes over how many sequences a rank holds at once; without effect when serving, which has
    /// no micro-batch.
    pub const fn choose_micro_batch(&mut self, sequences: NonZeroU64) {
        if let Run::Training(run) = &mut self.run {
            run.micro_batch_size = Some(sequences.get());
        }
    }

    /// Takes over the sharding of model states over data-parallel ranks.
    pub const fn choose_sharding(&mut self, sharding: DataSharding) {
        self.layout.sharding = sharding;
    }

    /// Returns this job with the settings that a search chose.
    #[must_use]
    pub fn with_choice(&self, choice: &Choice) -> Self {
        let mut job = self.clone();
        job.choose(choice);
        job
    }

    /// Returns this job on accelerators that each have so much memory.
    #[must_use]
    pub fn with_memory(&self, memory: Bytes) -> Self {
        let mut job = self.clone();
        job.cluster.accelerator.memory = memory;
        job
    }

    /// Returns this job with that share kept free for the allocator, per cent of the memory that
    /// tensors take.
    #[must_use]
    pub fn with_fragmentation_percent(&self, percent: f64) -> Self {
        let mut job = self.clone();
        job.cluster.overheads.fragmentation_percent = percent.clamp(0.0, 100.0);
        job
    }

    /// Returns this job with another sequence (training) or context (serving) length, tokens; 0
    /// counts as 1.
    #[must_use]
    pub fn with_seq_length(&self, tokens: u64) -> Self {
        let mut job = self.clone();
        match &mut job.run {
            Run::Training(run) => run.seq_length = tokens.max(1),
            Run::Serving(run) => run.context_length = tokens.max(1),
        }
        job
    }

    /// The part of the job that has to fit: one request where a server lets those wait that find no
    /// room, else all of it.
    pub fn must_hold(&self) -> Cow<'_, Self> {
        match &self.run {
            Run::Serving(run) if run.others_wait && run.concurrent_sequences > 1 => {
                Cow::Owned(self.with_run(|run| {
                    if let Run::Serving(run) = run {
                        run.concurrent_sequences = 1;
                    }
                }))
            }
            Run::Serving(_) | Run::Training(_) => Cow::Borrowed(self),
        }
    }

    /// Returns this job with its run changed by `change`; a change that makes a size 0 is undone.
    #[must_use]
    pub fn with_run(&self, change: impl FnOnce(&mut Run)) -> Self {
        let mut job = self.clone();
        change(&mut job.run);
        if check_run(&job.run).is_err() { self.clone() } else { job }
    }

    /// Returns the sequence (training) or context (serving) length, tokens.
    pub const fn seq_length(&self) -> u64 {
        match &self.run {
            Run::Training(run) => run.seq_length,
            Run::Serving(run) => run.context_length,
        }
    }

    /// Returns the sequences that the most loaded rank holds at once: the micro-batch, or else
    /// `⌈global batch / d⌉`; when serving, the sequences at once.
    pub fn micro_batch_size(&self) -> u64 {
        match &self.run {
            Run::Training(run) => run
                .micro_batch_size
                .unwrap_or_else(|| run.global_batch_size.div_ceil(self.layout.d())),
            Run::Serving(run) => run.concurrent_sequences,
        }
    }

    /// Returns the micro-batches that each rank runs per optimizer step: `⌈global batch /
    /// (micro-batch · d)⌉`, at least 1; 1 when serving.
    pub fn gradient_accumulation_steps(&self) -> u64 {
        match &self.run {
            Run::Training(run) => run
                .global_batch_size
                .div_ceil(self.micro_batch_size().saturating_mul(self.layout.d()).max(1))
                .max(1),
            Run::Serving(_) => 1,
        }
    }
}

fn check_model(model: &ModelConfig) -> Result<(), ConfigError> {
    let sizes = [
        ("hidden_size", model.hidden_size),
        ("num_hidden_layers", model.num_hidden_layers),
        ("num_attention_heads", model.num_attention_heads),
        ("num_key_value_heads", model.num_key_value_heads),
        ("head_dim", model.head_dim),
        ("intermediate_size", model.intermediate_size),
        ("vocab_size", model.vocab_size),
    ];
    for (name, size) in sizes {
        if size == 0 {
            return Err(ConfigError::Zero(name));
        }
    }
    if !model.num_attention_heads.is_multiple_of(model.num_key_value_heads) {
        return Err(ConfigError::HeadGroups {
            heads: model.num_attention_heads,
            kv_heads: model.num_key_value_heads,
        });
    }
    if let Some(other) = model.hybrid.as_ref().and_then(|hybrid| hybrid.other_heads.as_ref()) {
        let (heads, kv_heads) = (other.num_attention_heads, other.num_key_value_heads);
        if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
            return Err(ConfigError::HeadGroups { heads, kv_heads });
        }
    }
    Ok(())
}

fn check_run(run: &Run) -> Result<(), ConfigError> {
    let sizes = match run {
        Run::Training(run) => [
            ("seq_length", run.seq_length),
            ("global_batch_size", run.global_batch_size),
            ("micro_batch_size", run.micro_batch_size.unwrap_or(1)),
        ],
        Run::Serving(run) => [
            ("context_length", run.context_length),
            ("concurrent_sequences", run.concurrent_sequences),
            ("prefill_chunk_size", run.prefill_chunk_size),
        ],
    };
    sizes
        .into_iter()
        .find(|(_, size)| *size == 0)
        .map_or(Ok(()), |(name, _)| Err(ConfigError::Zero(name)))
}
