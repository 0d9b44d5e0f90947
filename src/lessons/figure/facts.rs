//! The facts that a scenario's figures are read from; each is worked out when it is first asked
//! for.

use std::cell::OnceCell;

use crate::config::{AttentionKernel, Job, Recompute, Run};
use crate::estimator::time::{Term, Timing, timing};
use crate::estimator::{
    Estimate, Lengths, MemoryKind, Printed, StageMemory, Timeline, estimate, measured,
    stage_after_forward, stages, with_overheads,
};
use crate::methods::{self, EngineSide, MethodAnswer, MethodInputs, StoryStep, story};
use crate::planner::{GpuCount, Inverse, Serving, gpu_count, inverse, serving};
use crate::scenario::{FieldError, FieldId, Scenario, Value};
use crate::units::{Bytes, FlopsPerSecond, MemoryUnit, Scale};

/// A scenario with the results of the engine, the planner and the documents for it.
pub struct Facts {
    /// The scenario.
    pub scenario: Scenario,
    /// Its job.
    pub job: Job,
    /// Its estimate.
    pub estimate: Estimate,
    count: OnceCell<GpuCount>,
    timing: OnceCell<Timing>,
    inverse: OnceCell<Inverse>,
    serving: OnceCell<Option<Serving>>,
    documents: OnceCell<[MethodAnswer; 5]>,
    stages: OnceCell<Vec<StageMemory>>,
    per_layer: OnceCell<Option<Bytes>>,
}

impl Facts {
    /// Estimates a scenario and returns the facts about it that figures are made of.
    ///
    /// # Errors
    /// Every problem of the scenario's inputs.
    pub fn of(scenario: &Scenario) -> Result<Self, Vec<FieldError>> {
        let job = scenario.resolve()?;
        Ok(Self {
            scenario: scenario.clone(),
            estimate: estimate(&job),
            job,
            count: OnceCell::new(),
            timing: OnceCell::new(),
            inverse: OnceCell::new(),
            serving: OnceCell::new(),
            documents: OnceCell::new(),
            stages: OnceCell::new(),
            per_layer: OnceCell::new(),
        })
    }

    /// Returns the unit in which the scenario's amounts are written.
    pub fn unit(&self) -> MemoryUnit {
        self.scenario.memory_unit()
    }

    /// Returns the decimals that the scenario's amounts share.
    pub fn scale(&self) -> Scale {
        Scale::of(self.unit(), self.estimate.total(), self.estimate.capacity)
    }

    /// Returns the ledger's figures as the page prints them.
    pub fn printed(&self) -> Printed {
        Printed::of(&self.estimate, self.unit())
    }

    /// Returns the bytes of one kind on the fullest GPU at the fullest moment.
    pub fn kind(&self, kind: MemoryKind) -> Bytes {
        self.estimate.ledger.of(kind)
    }

    /// Returns the number of GPUs that the job needs.
    pub fn count(&self) -> &GpuCount {
        self.count.get_or_init(|| gpu_count(&self.job, self.unit()))
    }

    /// Returns the time that the job takes.
    pub fn timing(&self) -> &Timing {
        self.timing.get_or_init(|| timing(&self.job, &self.estimate))
    }

    /// Returns the longest sequence and the largest batch that still fit.
    pub fn inverse(&self) -> &Inverse {
        self.inverse.get_or_init(|| inverse(&Lengths::of(&self.job)))
    }

    /// Returns the answers about serving; `None` when training.
    pub fn serving(&self) -> Option<&Serving> {
        self.serving.get_or_init(|| serving(&self.job, self.inverse())).as_ref()
    }

    /// Returns one of the five documents' answers, in their order; `index` is counted from 0.
    pub fn document(&self, index: usize) -> &MethodAnswer {
        let [first, second, third, fourth, fifth] = self.documents.get_or_init(|| {
            // Only the documents' own amounts are read here; they depend neither on a rate nor on
            // the engine's figures.
            let inputs = MethodInputs::from_job(
                &self.job,
                self.estimate.parameters.total,
                FlopsPerSecond(0.0),
            );
            methods::all(&inputs, &EngineSide::default(), self.unit())
        });
        match index {
            0 => first,
            1 => second,
            2 => third,
            3 => fourth,
            _ => fifth,
        }
    }

    /// Returns the step of the first document's own story that this scenario is, if it is one.
    pub fn own_story(&self) -> Option<StoryStep> {
        let run = self.job.training()?;
        let zero_stage = self.zero_stage();
        let checkpointing = run.recompute == Recompute::Full;
        let flash_attention = run.attention == AttentionKernel::Flash;
        let setup = methods::Setup { zero_stage, checkpointing, flash_attention };
        story().into_iter().find(|step| step.setup == setup)
    }

    /// Returns the stage of `ZeRO` that shares model states out among data-parallel ranks; FSDP
    /// counts as 3.
    pub fn zero_stage(&self) -> u8 {
        self.job.layout().sharding.zero_stage
    }

    /// Returns every pipeline stage at its own peak.
    pub fn stages(&self) -> &[StageMemory] {
        self.stages.get_or_init(|| stages(&self.job))
    }

    /// Returns the seconds of one term of a training step; `None` when serving, and where rates are
    /// unknown.
    pub fn term(&self, term: Term) -> Option<f64> {
        let Timing::Training { step, .. } = self.timing() else { return None };
        Some(
            step.lines
                .iter()
                .filter(|line| line.term == term)
                .fold(0.0, |sum, line| sum + line.seconds.0),
        )
    }

    /// Returns the bytes at the highest moment of the first step and of a later one, overheads
    /// included; `None` for a step that is not known moment by moment.
    pub fn steps(&self) -> Option<[Bytes; 2]> {
        let later = self.estimate.timeline.as_ref()?;
        let peak = |timeline: &Timeline| {
            let stretch = timeline.stretches.get(timeline.peak)?;
            Some(with_overheads(&self.job, stretch.peak).into_iter().sum())
        };
        Some([peak(&later.first_step())?, peak(later)?])
    }

    /// Returns the bytes of one kind when the optimizer steps; `None` for a stack whose step is not
    /// known moment by moment.
    ///
    /// When serving, and under Megatron-LM, whose buffers are there all the time, it is the
    /// ledger's figure.
    pub fn at_step(&self, kind: MemoryKind) -> Option<Bytes> {
        if let Some(timeline) = &self.estimate.timeline {
            return timeline.at_step()?.get(kind.index()).copied();
        }
        let stands = self.job.training().is_none_or(|run| run.stack.has_own_schedule());
        stands.then(|| self.kind(kind))
    }

    /// Returns the bytes that one block saves for backward: the difference that one block more on
    /// each stage makes when forward has ended.
    ///
    /// Recomputation and the number of micro-batches in flight count as the scenario has them.
    pub fn saved_per_layer(&self) -> Option<Bytes> {
        *self.per_layer.get_or_init(|| {
            let with = |layers: u64| {
                let mut scenario = self.scenario.clone();
                scenario.set(FieldId::NumHiddenLayers, Value::Integer(layers));
                saved(&scenario.resolve().ok()?)
            };
            let stages = self.job.layout().p();
            let layers = self.job.model().num_hidden_layers;
            let one_more = with(layers.saturating_add(stages))?;
            Some(one_more.saturating_sub(with(layers)?))
        })
    }

    /// Bytes that one block of this scenario saves with another attention kernel and another
    /// length.
    fn saved_with(&self, attention: AttentionKernel, tokens: u64) -> Option<Bytes> {
        let mut scenario = self.scenario.clone();
        scenario.set(FieldId::Attention, Value::choice(attention));
        scenario.set(FieldId::SeqLength, Value::Integer(tokens));
        Self::of(&scenario).ok()?.saved_per_layer()
    }

    /// Returns the shortest sequence in tokens with which saved attention scores take more than
    /// everything else that a block saves.
    pub fn crossover(&self) -> Option<u64> {
        const LONGEST: u64 = 1 << 20;
        self.job.training()?;
        let over = |tokens: u64| {
            let (all, others) = (
                self.saved_with(AttentionKernel::Standard, tokens)?,
                self.saved_with(AttentionKernel::Flash, tokens)?,
            );
            Some(all > others + others)
        };
        if over(1)? || !over(LONGEST)? {
            return None;
        }
        let (mut below, mut above) = (1, LONGEST);
        while above - below > 1 {
            let middle = below + (above - below) / 2;
            if over(middle)? {
                above = middle;
            } else {
                below = middle;
            }
        }
        Some(above)
    }

    /// Returns the factor by which memory saved for backward grows when the sequence becomes
    /// `times` as long.
    pub fn growth(&self, times: u64) -> Option<f64> {
        let Run::Training(_) = self.job.run() else { return None };
        let tokens = self.job.seq_length().saturating_mul(times);
        let longer = saved(&self.job.with_seq_length(tokens))?;
        Some(longer.as_f64() / saved(&self.job)?.as_f64())
    }
}

/// Activations of all blocks when forward has ended.
fn saved(job: &Job) -> Option<Bytes> {
    if let Some((after_forward, _)) = measured(job) {
        return after_forward.get(MemoryKind::Activation.index()).copied();
    }
    if let Some(ledger) = stage_after_forward(job, 0) {
        return Some(ledger.of(MemoryKind::Activation));
    }
    job.training()?;
    // Other stacks are not played; their ledger tells the memory when the loss is computed.
    Some(estimate(job).ledger.of(MemoryKind::Activation))
}
