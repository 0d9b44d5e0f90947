//! Saved activations, working sets and the KV cache, at each moment that can be the peak.

use super::ledger::{Certainty, LineItem, MemoryKind, TensorLine};
use super::stage::Stage;
use super::states::{self, Gradients};
use crate::config::{Job, Recompute, Run};
use crate::ops::{self, Kept, Op, OpList, Role, Tensor};
use crate::sources;
use crate::units::Bytes;

/// The lines beyond model states, moment by moment.
pub(super) fn moments(job: &Job, list: &OpList, stage: &Stage) -> Vec<(&'static str, Vec<LineItem>)> {
    match job.run() {
        Run::Serving(_) => vec![("while a prompt is processed", serving(job, list, stage))],
        Run::Training(run) => {
            let at = |moment| (moment_name(moment, run.recompute), training(job, list, stage, (run.recompute, moment)));
            let backward = [at(Moment::Backward), at(Moment::BackwardEnds), at(Moment::Step)];
            stage.head.then(|| at(Moment::Loss)).into_iter().chain(backward).collect()
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Forward has ended, the loss is being computed.
    Loss,
    /// Backward is in the last block: all activations are still saved, few gradients exist.
    Backward,
    /// Backward is in the first block: only its activations are left, nearly all gradients exist.
    ///
    /// Between these two every block releases its activations and adds its gradients, so one of them is the higher.
    BackwardEnds,
    /// Backward is through, the optimizer steps: all gradients, no activations.
    Step,
}

const fn moment_name(moment: Moment, recompute: Recompute) -> &'static str {
    match (moment, recompute) {
        (Moment::Loss, _) => "when the loss is computed",
        (Moment::BackwardEnds, _) => "when backward reaches the first block",
        (Moment::Step, _) => "when the optimizer steps",
        (Moment::Backward, Recompute::None) => "when backward enters the last block",
        (Moment::Backward, _) => "when backward recomputes the last block",
    }
}

/// Whether a tensor survives forward under that recomputation.
const fn survives(kept: Kept, recompute: Recompute) -> bool {
    match (recompute, kept) {
        (Recompute::None, _) | (_, Kept::BlockInput | Kept::Always) | (Recompute::Selective, Kept::Block) => true,
        (Recompute::Full, Kept::Block | Kept::AttentionCore) | (Recompute::Selective, Kept::AttentionCore) => false,
    }
}

/// One line per operation that saves something passing `filter`, `count` times.
fn saved_lines(
    job: &Job,
    ops: &[Op],
    (kind, count): (MemoryKind, u64),
    note: &'static str,
    filter: impl Fn(&Tensor) -> bool,
) -> Vec<LineItem> {
    let (t, sequence_parallel) = (job.layout().t(), job.layout().sequence_parallel);
    let mut lines = Vec::with_capacity(ops.len());
    for op in ops {
        let tensors: Vec<_> = op
            .tensors
            .iter()
            .filter(|tensor| tensor.role == Role::Saved && filter(tensor))
            .map(|tensor| tensor_line(op, tensor, count, tensor.bytes_per_rank(t, sequence_parallel) * count))
            .collect();
        if !tensors.is_empty() {
            let bytes = tensors.iter().map(|tensor| tensor.bytes).sum();
            lines.push(LineItem {
                kind,
                label: op.name,
                bytes,
                tensors,
                note,
                source: op.source,
                certainty: Certainty::Modelled,
            });
        }
    }
    lines
}

const fn tensor_line(op: &Op, tensor: &Tensor, count: u64, bytes: Bytes) -> TensorLine {
    TensorLine { op: op.name, name: tensor.name, shape: tensor.shape, dtype: tensor.dtype, count, bytes }
}

fn training(job: &Job, list: &OpList, stage: &Stage, (recompute, moment): (Recompute, Moment)) -> Vec<LineItem> {
    if moment == Moment::Step {
        return states::gradients(job, list, stage, Gradients::All);
    }
    let kind = MemoryKind::Activation;
    let mut lines = Vec::with_capacity(20);
    if stage.embedding {
        let note = "Saved by the embedding for its own backward.";
        lines.extend(saved_lines(job, &list.embedding, (kind, stage.in_flight), note, |_| true));
    }
    // At the end of backward this micro-batch's blocks are done but for the first; those in flight behind it are still whole.
    let done = if moment == Moment::BackwardEnds { stage.layers.saturating_sub(1) } else { 0 };
    let count = stage.layers.saturating_mul(stage.in_flight).saturating_sub(done);
    let note = "Saved in forward by every block for its backward.";
    lines.extend(saved_lines(job, &list.block, (kind, count), note, |tensor| survives(tensor.kept, recompute)));
    if moment == Moment::Loss {
        let note = "Saved by the head and the loss; released once the loss's backward is through.";
        lines.extend(saved_lines(job, &list.head, (kind, 1), note, |_| true));
        lines.extend(workspace(job, &list.head, "Loss workspace", "Alive only while the loss is computed."));
        lines.extend(states::gradients(job, list, stage, Gradients::None));
        lines.extend(states::gathered(job, list, stage, 1));
    } else {
        lines.extend(one_block_in_backward(job, list, recompute));
        let exist = match (moment, stage.head) {
            (Moment::BackwardEnds, _) => Gradients::BeforeFirstBlock,
            (_, true) => Gradients::Head,
            (_, false) => Gradients::None,
        };
        lines.extend(states::gradients(job, list, stage, exist));
        lines.extend(states::gathered(job, list, stage, 2));
    }
    lines
}

/// What the block that backward is in needs beside what was saved: its recomputed activations and the gradients flowing through.
fn one_block_in_backward(job: &Job, list: &OpList, recompute: Recompute) -> Vec<LineItem> {
    let note = "Recomputed for the one block that backward is in.";
    let again = saved_lines(job, &list.block, (MemoryKind::Temporary, 1), note, |tensor| !survives(tensor.kept, recompute));
    let (_, feed_forward) = list.halves();
    let flowing = "Gradients of one block's activations while they flow back.";
    let flowing = workspace(job, feed_forward, "Activation gradients", flowing);
    merged("Recomputed block", note, again).into_iter().chain(flowing).collect()
}

/// Several lines as one, with all their tensors.
fn merged(label: &'static str, note: &'static str, lines: Vec<LineItem>) -> Option<LineItem> {
    let first = lines.first()?;
    let (kind, source, certainty) = (first.kind, first.source, first.certainty);
    let bytes = lines.iter().map(|line| line.bytes).sum();
    let tensors = lines.into_iter().flat_map(|line| line.tensors).collect();
    Some(LineItem { kind, label, bytes, tensors, note, source, certainty })
}

/// All workspace tensors of some operations, alive together.
fn workspace(job: &Job, ops: &[Op], label: &'static str, note: &'static str) -> Option<LineItem> {
    let (t, sequence_parallel) = (job.layout().t(), job.layout().sequence_parallel);
    let tensors: Vec<_> = ops::tensors(ops, Role::Workspace)
        .map(|(op, tensor)| tensor_line(op, tensor, 1, tensor.bytes_per_rank(t, sequence_parallel)))
        .collect();
    let bytes: Bytes = tensors.iter().map(|tensor| tensor.bytes).sum();
    let (kind, source, certainty) = (MemoryKind::Temporary, sources::PYTORCH_AUTOGRAD, Certainty::Modelled);
    (bytes > Bytes::ZERO).then_some(LineItem { kind, label, bytes, tensors, note, source, certainty })
}

fn serving(job: &Job, list: &OpList, stage: &Stage) -> Vec<LineItem> {
    let t = job.layout().t();
    let tensors: Vec<_> = ops::tensors(&list.block, Role::KvCache)
        .map(|(op, tensor)| tensor_line(op, tensor, stage.layers, tensor.bytes_per_rank(t, false) * stage.layers))
        .collect();
    let mut lines = vec![LineItem {
        kind: MemoryKind::KvCache,
        label: "KV cache",
        bytes: tensors.iter().map(|tensor| tensor.bytes).sum(),
        tensors,
        note: "Keys and values of every token of every sequence, in every block.",
        source: sources::VLLM,
        certainty: Certainty::Exact,
    }];
    let (attention, feed_forward) = list.halves();
    let note = "The larger half of one block while a chunk of a prompt goes through.";
    let halves = [attention, feed_forward].map(|half| workspace(job, half, "Prefill working set", note));
    lines.extend(halves.into_iter().flatten().max_by_key(|line| line.bytes));
    if stage.head {
        lines.extend(workspace(job, &list.head, "Logits", "Logits of each sequence's last token, in fp32."));
    }
    lines
}
