//! Tensors that wait in pinned host memory instead of on the accelerator, and the device memory
//! that this saves.
//!
//! - Optimizer states and master weights (`DeepSpeed` ZeRO-Offload, Megatron-LM's
//!   `optimizer_cpu_offload`): the step runs on the host. Megatron-LM's main gradients stay on the
//!   device, `DeepSpeed`'s shares of gradients under stages 2 and 3 go as well, as they are
//!   reduced; stage 1 keeps them for the step.
//! - Weights (`DeepSpeed` `offload_param` under stage 3, FSDP2's `CPUOffloadPolicy`, which takes
//!   gradients and states along): the device holds what is gathered at the moment.
//! - Activations: blocks in backward or just through forward stay, one other block's copy is on its
//!   way, the rest waits.

use std::rc::Rc;

use super::activations::Moment;
use super::ledger::{Certainty, LineItem, MemoryKind, sort_by_kind};
use super::listed::alive;
use super::parts::unplayed;
use super::placed;
use super::stage::{self, Scope};
use super::timeline::Played;
use super::{megatron_run, played_run};
use crate::config::{Job, Offload, ParallelLayout, Run};
use crate::ops;
use crate::sharding::CarriedOutBy;
use crate::sources;
use crate::units::Bytes;

/// True if every tensor of that kind waits in host memory.
pub(super) fn is_away(job: &Job, kind: MemoryKind) -> bool {
    let own = job.training().is_some_and(|run| run.stack.sharding == CarriedOutBy::Stack);
    let ParallelLayout { sharding, offload, .. } = *job.layout();
    let optimizer =
        if sharding.offloads_together && !own { offload.parameters } else { offload.optimizer };
    match kind {
        MemoryKind::Parameter => offload.parameters,
        MemoryKind::OptimizerState => optimizer || offload.optimizer,
        // Gradients move to the host once they are reduced.
        MemoryKind::Gradient => !own && sharding.shards_gradients() && optimizer,
        _ => false,
    }
}

/// The lines of host memory for one rank of a stage, in the order of the kinds.
pub(super) fn lines(job: &Job, stage: u64) -> Vec<LineItem> {
    let Some(run) = job.training() else { return placed::lines(job, stage) };
    if run.tuning.paged_optimizer && !job.layout().offload.any() {
        return paged(job, stage);
    }
    if !job.layout().offload.any() {
        return Vec::new();
    }
    let plain = job.with_layout(ParallelLayout { offload: Offload::NONE, ..*job.layout() });
    let mut found: Vec<LineItem> =
        of_stage(&plain, stage).into_iter().filter(|line| is_away(job, line.kind)).collect();
    for line in &mut found {
        line.note = match line.kind {
            MemoryKind::Parameter => {
                "Shares of the weights in pinned host memory, sent over before they are gathered."
            }
            MemoryKind::Gradient => {
                "Shares of the gradients in pinned host memory, sent as they are reduced."
            }
            _ => "In pinned host memory; the optimizer steps there.",
        };
        line.source = sources::ZERO_OFFLOAD_2021;
    }
    let bytes =
        if job.layout().offload.activations { activations(job, stage) } else { Bytes::ZERO };
    if bytes > Bytes::ZERO {
        let note = "What blocks saved for backward, in pinned host memory, for all micro-batches \
            in flight.";
        let (source, certainty) = (sources::PYTORCH_AUTOGRAD, Certainty::Modelled);
        let (kind, label) = (MemoryKind::Activation, "Activations of blocks");
        found.push(LineItem { kind, label, bytes, tensors: Vec::new(), note, source, certainty });
    }
    sort_by_kind(&mut found);
    found
}

/// States of the optimizer in pages, which move to the device as they are needed: those that do not
/// stay there.
fn paged(job: &Job, stage: u64) -> Vec<LineItem> {
    let whole = job.with_run(|run| {
        if let Run::Training(run) = run {
            run.tuning.paged_optimizer = false;
        }
    });
    let stays = of_stage(job, stage);
    let mut found = of_stage(&whole, stage);
    for line in &mut found {
        let here = stays.iter().find(|other| other.kind == line.kind && other.label == line.label);
        line.bytes = line.bytes.saturating_sub(here.map_or(Bytes::ZERO, |line| line.bytes));
        line.tensors.clear();
        line.note = "In pages that move to the device while the optimizer steps, and back when \
            memory is short.";
        line.source = sources::QLORA_2023;
        line.certainty = Certainty::Modelled;
    }
    found.retain(|line| line.kind == MemoryKind::OptimizerState && line.bytes > Bytes::ZERO);
    found
}

/// Everything that stays on a rank of a stage throughout, all gradients included.
fn of_stage(job: &Job, index: u64) -> Vec<LineItem> {
    if let Some(run) = played_run(job) {
        return Played::new(job, run, stage::stage(job, index), false).lines_of_step();
    }
    if let Some(run) = megatron_run(job) {
        return (unplayed().peak)(job, run, Some(index), true).lines;
    }
    let list = ops::without_products(&ops::lowering(job));
    let parameters = Rc::new(stage::Parameters::of(job, &list));
    alive(
        &Scope { job, list: &list, stage: stage::stage(job, index), parameters, detail: true },
        Moment::Step,
    )
}

/// Bytes of activations that a rank of a stage keeps there at most.
fn activations(job: &Job, index: u64) -> Bytes {
    if let Some(run) = played_run(job) {
        return Played::new(job, run, stage::stage(job, index), false).most_away();
    }
    if let Some(run) = megatron_run(job) {
        return (unplayed().away)(job, run, index);
    }
    let list = ops::without_products(&ops::lowering(job));
    let parameters = Rc::new(stage::Parameters::of(job, &list));
    let plain = job.with_layout(ParallelLayout { offload: Offload::NONE, ..*job.layout() });
    let [with, without] = [job, &plain].map(|job| {
        let scope = Scope {
            job,
            list: &list,
            stage: stage::stage(job, index),
            parameters: Rc::clone(&parameters),
            detail: false,
        };
        let lines = alive(&scope, Moment::Backward);
        lines
            .iter()
            .filter(|line| line.kind == MemoryKind::Activation)
            .map(|line| line.bytes)
            .sum::<Bytes>()
    });
    without.saturating_sub(with)
}
