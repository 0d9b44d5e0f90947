//! Saved activations, working sets and the KV cache, at each moment that can be the peak.

use super::drafting;
use super::ledger::{Certainty, LineItem, MemoryKind, TensorLine};
use super::placed::Placed;
use super::stage::Scope;
use super::states::{self, Gradients};
use crate::config::{Job, Recompute, Run};
use crate::ops::{self, BlockKind, Kept, Op, Role, Tensor};
use crate::sources;
use crate::units::Bytes;

/// The moments at which a stage's memory can be highest.
pub(super) fn moments(job: &Job, has_head: bool) -> &'static [Moment] {
    match (job.run(), has_head) {
        (Run::Serving(_), _) => &[Moment::Prefill],
        (Run::Training(_), true) => {
            &[Moment::Loss, Moment::Backward, Moment::BackwardEnds, Moment::Step]
        }
        (Run::Training(_), false) => &[Moment::Backward, Moment::BackwardEnds, Moment::Step],
    }
}

/// Adds the lines that are alive at that moment beside weights and optimizer states.
pub(super) fn add(scope: &Scope, moment: Moment, lines: &mut Vec<LineItem>) {
    match scope.job.run() {
        Run::Serving(_) => serving(scope, lines),
        Run::Training(run) => training(scope, (run.recompute, moment), lines),
    }
}

/// A moment of the step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// Serving: a chunk of a prompt is being processed.
    Prefill,
    /// Forward has ended, the loss is being computed.
    Loss,
    /// Backward is in the last block: all activations are still saved, few gradients exist.
    Backward,
    /// Backward is in the first block: only its activations are left, nearly all gradients exist.
    ///
    /// Between these two every block releases its activations and adds its gradients, so one of
    /// them is the higher.
    BackwardEnds,
    /// Backward has ended and the optimizer steps: all gradients exist, no activations.
    Step,
}

/// When that is, in words.
pub(super) const fn name(moment: Moment, recompute: Recompute) -> &'static str {
    match (moment, recompute) {
        (Moment::Prefill, _) => "while a prompt is processed",
        (Moment::Loss, _) => "when the loss is computed",
        (Moment::BackwardEnds, _) => "when backward reaches the first block",
        (Moment::Step, _) => "when the optimizer steps",
        (Moment::Backward, Recompute::None) => "when backward enters the last block",
        (Moment::Backward, _) => "when backward recomputes the last block",
    }
}

/// True if a saved tensor stays in memory after forward under that recomputation.
const fn survives(kept: Kept, recompute: Recompute) -> bool {
    match (recompute, kept) {
        (Recompute::None, _)
        | (_, Kept::BlockInput | Kept::Always)
        | (Recompute::Selective, Kept::Block) => true,
        (Recompute::Full, Kept::Block | Kept::AttentionCore)
        | (Recompute::Selective, Kept::AttentionCore) => false,
    }
}

/// One line per operation that saves something passing `filter`, `count` times.
fn saved(
    scope: &Scope,
    ops: &[Op],
    count: u64,
    note: &'static str,
    filter: impl Fn(&Tensor) -> bool,
    lines: &mut Vec<LineItem>,
) {
    for op in ops {
        let (bytes, tensors) = scope.sum(saved_tensors(scope, op, count, &filter));
        if op.tensors.iter().any(|tensor| tensor.role == Role::Saved && filter(tensor)) {
            let (kind, source, certainty) =
                (MemoryKind::Activation, op.source, Certainty::Modelled);
            lines.push(LineItem { kind, label: op.name, bytes, tensors, note, source, certainty });
        }
    }
}

fn saved_tensors(
    scope: &Scope,
    op: &Op,
    count: u64,
    filter: &impl Fn(&Tensor) -> bool,
) -> impl Iterator<Item = TensorLine> {
    let (t, sequence_parallel) = (scope.job.layout().t(), scope.job.layout().sequence_parallel);
    op.tensors.iter().filter(move |tensor| tensor.role == Role::Saved && filter(tensor)).map(
        move |tensor| {
            tensor_line(op, tensor, count, tensor.bytes_per_rank(t, sequence_parallel) * count)
        },
    )
}

const fn tensor_line(op: &Op, tensor: &Tensor, count: u64, bytes: Bytes) -> TensorLine {
    TensorLine {
        op: op.name,
        name: tensor.name,
        shape: tensor.shape,
        dtype: tensor.dtype,
        count,
        bytes,
    }
}

fn training(scope: &Scope, (recompute, moment): (Recompute, Moment), lines: &mut Vec<LineItem>) {
    let (list, stage) = (scope.list, &scope.stage);
    if moment == Moment::Step {
        states::gradients(scope, Gradients::All, lines);
        return;
    }
    if stage.embedding {
        saved(
            scope,
            &list.embedding,
            stage.in_flight,
            "Saved by the embedding for its own backward.",
            |_| true,
            lines,
        );
    }
    // At the end of backward this micro-batch's blocks are done but for the first; those in flight
    // behind it are still whole.
    let ends = moment == Moment::BackwardEnds;
    let alive = |layers: u64, first: bool| {
        let done = if ends { layers.saturating_sub(u64::from(first)) } else { 0 };
        let all = layers.saturating_mul(stage.in_flight).saturating_sub(done);
        // Offloaded, one block is here and the next one comes over.
        if scope.job.layout().offload.activations { all.min(2) } else { all }
    };
    let note = "Saved in forward by every block for its backward.";
    for kind in &list.kinds {
        let layers = scope.layers_of(kind);
        if layers > 0 {
            let count = alive(layers, scope.starts_with(kind));
            saved(scope, &kind.ops, count, note, |tensor| survives(tensor.kept, recompute), lines);
        }
    }
    if moment == Moment::Loss {
        let note = "Saved by the head and the loss; released once the loss's backward is through.";
        saved(scope, &list.head, 1, note, |_| true, lines);
        lines.extend(workspace(
            scope,
            &list.head,
            "Loss workspace",
            "Alive only while the loss is computed.",
        ));
        states::gradients(scope, Gradients::None, lines);
        lines.extend(states::gathered(scope, 1));
    } else {
        one_block_in_backward(scope, recompute, lines);
        let exist = match (moment, stage.head) {
            (Moment::BackwardEnds, _) => Gradients::BeforeFirstBlock,
            (_, true) => Gradients::Head,
            (_, false) => Gradients::None,
        };
        states::gradients(scope, exist, lines);
        lines.extend(states::gathered(scope, 2));
    }
}

/// Adds the temporaries of the one block that backward is in: its recomputed activations, and the
/// gradients that flow back through it.
fn one_block_in_backward(scope: &Scope, recompute: Recompute, lines: &mut Vec<LineItem>) {
    let again = |tensor: &Tensor| !survives(tensor.kept, recompute);
    let (bytes, tensors) =
        scope.sum(scope.list.usual().iter().flat_map(|op| saved_tensors(scope, op, 1, &again)));
    let note = "Recomputed for the one block that backward is in.";
    lines.extend(temporary(bytes, tensors, "Recomputed block", note));
    let note = "Gradients of one block's activations while they flow back.";
    let [_, feed_forward] = scope.list.kinds.first().map_or([&[][..]; 2], BlockKind::halves);
    lines.extend(workspace(scope, feed_forward, "Activation gradients", note));
}

/// All workspace tensors of some operations, alive together.
fn workspace(
    scope: &Scope,
    ops: &[Op],
    label: &'static str,
    note: &'static str,
) -> Option<LineItem> {
    let (t, sequence_parallel) = (scope.job.layout().t(), scope.job.layout().sequence_parallel);
    let tensors = ops::tensors(ops, Role::Workspace).map(|(op, tensor)| {
        tensor_line(op, tensor, 1, tensor.bytes_per_rank(t, sequence_parallel))
    });
    let (bytes, tensors) = scope.sum(tensors);
    temporary(bytes, tensors, label, note)
}

/// A line of temporary memory, if there is any.
fn temporary(
    bytes: Bytes,
    tensors: Vec<TensorLine>,
    label: &'static str,
    note: &'static str,
) -> Option<LineItem> {
    let (kind, source, certainty) =
        (MemoryKind::Temporary, sources::PYTORCH_AUTOGRAD, Certainty::Modelled);
    (bytes > Bytes::ZERO).then_some(LineItem {
        kind,
        label,
        bytes,
        tensors,
        note,
        source,
        certainty,
    })
}

const CACHE_NOTE: &str = "What attention looks back on, for every sequence and block: no more \
    tokens than a block's window.";
const STATES_NOTE: &str = "Keys and values of the layers that have some, and of every sequence the \
    state of fixed size that other layers keep.";

fn serving(scope: &Scope, lines: &mut Vec<LineItem>) {
    let (list, t) = (scope.list, scope.job.layout().t());
    let layers = if Placed::of(scope.job).is_some_and(|placed| placed.cache) {
        0..0
    } else {
        scope.stage.range()
    };
    let cache = ops::cache(&ops::lowering(scope.job), layers);
    let held = cache.op.tensors.iter().zip(&cache.layers);
    let cached = held.map(|(tensor, layers)| {
        tensor_line(&cache.op, tensor, *layers, tensor.bytes_per_rank(t, false) * *layers)
    });
    let (bytes, tensors) = scope.sum(cached);
    let note = if scope.job.model().mixer().is_some() { STATES_NOTE } else { CACHE_NOTE };
    let (kind, source, certainty) = (MemoryKind::KvCache, cache.op.source, Certainty::Exact);
    lines.push(LineItem { kind, label: "KV cache", bytes, tensors, note, source, certainty });
    let run = match scope.job.run() {
        Run::Serving(run) => Some(run),
        Run::Training(_) => None,
    };
    lines.extend(run.and_then(|run| drafting::cache(scope, run)));
    let note = "The larger half of one block while a chunk of a prompt goes through.";
    let halves = list
        .kinds
        .iter()
        .flat_map(BlockKind::halves)
        .filter_map(|half| workspace(scope, half, "Prefill working set", note));
    let note = "The vision tower over the images of one prompt, before the text goes through: \
        pixels, patches and the larger half of a block.";
    let tower = scope
        .stage
        .embedding
        .then(|| workspace(scope, &list.embedding, "Images in the vision tower", note))
        .flatten();
    lines.extend(halves.chain(tower).max_by_key(|line| line.bytes));
    if scope.stage.head {
        let note = "Logits of each sequence's last token, in fp32.";
        let logits = workspace(scope, &list.head, "Logits", note);
        let of_last = logits.as_ref().map_or(Bytes::ZERO, |line| line.bytes);
        lines.extend(logits);
        lines.extend(run.and_then(|run| drafting::logits(run, of_last)));
    }
}
