//! Lines of the ledger: activations, gradients on their way, and buffers that stay.

use super::states::held;
use super::{Alive, Entry, RankOp, Scope};
use crate::config::{AttentionKernel, Job, TrainingRun};
use crate::estimator::ledger::{Certainty, LineItem, MemoryKind, TensorLine};
use crate::ops::Role;
use crate::ops::megatron::GROUPED_STREAMS;
use crate::sources::{self, Source};
use crate::units::{Bytes, DType, Elements};

/// Adds the tensors alive at a moment: one line per operation that saved something, one for each
/// other reason.
pub(super) fn activations(entries: &[Entry], detail: bool, lines: &mut Vec<LineItem>) {
    let mut saved: Vec<LineItem> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.why == Alive::Saved) {
        let op = &entry.step.op;
        let place = saved.iter().position(|line| line.label == op.name).unwrap_or_else(|| {
            let note = "Saved in forward for backward.";
            saved.push(line(MemoryKind::Activation, op.name, note, op.source));
            saved.len() - 1
        });
        if let Some(line) = saved.get_mut(place) {
            add(entry, detail, line);
        }
    }
    lines.extend(saved);
    for (why, label, note) in [
        (
            Alive::Recomputed,
            "Recomputed operations",
            "Brought back for the block that backward is in.",
        ),
        (
            Alive::Flowing,
            "Activation gradients",
            "Gradients on their way through the operation that backward is in.",
        ),
    ] {
        let mut together = line(MemoryKind::Temporary, label, note, sources::PYTORCH_AUTOGRAD);
        entries
            .iter()
            .filter(|entry| entry.why == why)
            .for_each(|entry| add(entry, detail, &mut together));
        if together.bytes > Bytes::ZERO {
            lines.push(together);
        }
    }
}

fn line(kind: MemoryKind, label: &'static str, note: &'static str, source: Source) -> LineItem {
    LineItem {
        kind,
        label,
        bytes: Bytes::ZERO,
        tensors: Vec::new(),
        note,
        source,
        certainty: Certainty::Modelled,
    }
}

fn add(entry: &Entry, detail: bool, line: &mut LineItem) {
    line.bytes += entry.bytes();
    if detail {
        let (tensor, op) = (entry.tensor, entry.step.op.name);
        let Entry { count, .. } = *entry;
        let (name, shape, dtype) = (tensor.name, tensor.shape, tensor.dtype);
        line.tensors.push(TensorLine { op, name, shape, dtype, count, bytes: entry.bytes() });
    }
}

/// Properties of a stage that its buffers follow from, beside the job.
#[derive(Clone, Copy)]
pub(super) struct Stands {
    /// True if the stage holds the head.
    pub head: bool,
    /// True if any block of the stage has experts.
    pub experts: bool,
    /// Messages kept.
    pub messages: u64,
    /// Empty gradients for autograd.
    pub dummies: Bytes,
    /// Scores of a block.
    pub scores: Bytes,
}

impl Stands {
    fn of(scope: &Scope) -> Self {
        let stage = &scope.stage;
        let (dummies, scores) = (dummies(scope), scores(&scope.model.dense));
        Self {
            head: stage.ends(),
            experts: stage.layers().experts > 0,
            messages: stage.messages,
            dummies,
            scores,
        }
    }
}

/// Bytes of each buffer.
pub(super) struct Buffers {
    dummies: Bytes,
    gathered: Bytes,
    scores: Bytes,
    messages: Bytes,
    deferred: Bytes,
    mask: Bytes,
    workspaces: Bytes,
}

/// Sizes that buffers are made of, alike for every stage.
#[derive(Clone, Copy)]
pub(super) struct Content {
    hidden: Bytes,
    message: Bytes,
    logits: Bytes,
    mask: Bytes,
    /// True if tokens are split over tensor ranks.
    split: bool,
}

impl Content {
    /// The sizes of a job's micro-batch.
    pub fn of(job: &Job, run: &TrainingRun) -> Self {
        let (options, layout, model) = (run.megatron, job.layout(), job.model());
        let (s, b) = (run.seq_length.div_ceil(layout.cp()), job.micro_batch_size());
        let hidden = Elements(s.saturating_mul(b).saturating_mul(model.hidden_size))
            .stored_as(run.recipe().activation);
        let split = layout.sequence_parallel && layout.t() > 1;
        let rows = options.padded_vocab_size(model.vocab_size, layout.t()).div_ceil(layout.t());
        let pairs = run.seq_length.saturating_mul(s).saturating_mul(b);
        Self {
            hidden,
            message: if split { Bytes(hidden.0.div_ceil(layout.t())) } else { hidden },
            logits: Bytes(hidden.0 / model.hidden_size.max(1)) * rows,
            mask: if options.create_attention_mask {
                Elements(pairs).stored_as(DType::Mask)
            } else {
                Bytes::ZERO
            },
            split,
        }
    }
}

impl Buffers {
    /// The buffers of a stage.
    pub fn of(run: &TrainingRun, content: &Content, stands: &Stands) -> Self {
        let options = run.megatron;
        let only = |there: bool, bytes: Bytes| if there { bytes } else { Bytes::ZERO };
        let Content { hidden, message, logits, mask, split } = *content;
        let frozen = run.tuning.freezes_model();
        Self {
            dummies: stands.dummies,
            // A frozen head gathers its input into a tensor that goes again.
            gathered: only(
                split && (stands.head && !frozen || !options.transformer_engine),
                hidden,
            ),
            scores: only(!options.transformer_engine, stands.scores),
            messages: message * stands.messages,
            deferred: only(
                stands.head && !frozen,
                (hidden + logits) * options.wgrad_deferral_limit,
            ),
            mask,
            workspaces: workspaces(run, stands),
        }
    }

    /// All memory that is not the framework's own, and the framework's own.
    pub fn sums(&self) -> [Bytes; 2] {
        [
            self.dummies + self.gathered + self.scores + self.messages + self.deferred + self.mask,
            self.workspaces,
        ]
    }
}

/// Buffers that stay from the first step on.
pub(super) fn buffers(scope: &Scope, lines: &mut Vec<LineItem>) {
    let buffers = Buffers::of(scope.run, &Content::of(scope.job, scope.run), &Stands::of(scope));
    let (core, engine) = (sources::MEGATRON_CORE, sources::TRANSFORMER_ENGINE);
    let (temporary, framework) = (MemoryKind::Temporary, MemoryKind::Framework);
    let mut push = |kind, label, bytes, note, source| {
        if bytes > Bytes::ZERO {
            lines.push(LineItem { bytes, ..line(kind, label, note, source) });
        }
    };
    let note = "Empty gradients for autograd, one for each shape of matrix; the real ones go to \
        the main gradients at once.";
    push(temporary, "Dummy weight gradients", buffers.dummies, note, engine);
    let note = "The buffer into which an input is gathered under sequence parallelism.";
    push(temporary, "Gathered input", buffers.gathered, note, core);
    let note = "The buffer that all blocks write their scores to.";
    push(temporary, "Scores", buffers.scores, note, core);
    let note = "Tensors sent to or received from the neighbouring stages.";
    push(temporary, "Pipeline messages", buffers.messages, note, core);
    let note = "Inputs of the output layer and gradients of its logits, kept until the weight's \
        gradient is computed.";
    push(temporary, "Deferred output gradients", buffers.deferred, note, core);
    let note = "One byte per pair of tokens, from the data loader.";
    push(temporary, "Attention mask", buffers.mask, note, core);
    let note = "Workspaces of the matrix products: one per stream in Transformer Engine, one per \
        thread in PyTorch.";
    push(framework, "Matrix-product workspaces", buffers.workspaces, note, engine);
}

/// One 16-bit matrix for each distinct shape of a block's weights (`get_dummy_wgrad`), where weight
/// gradients are fused.
pub(super) fn dummies(scope: &Scope) -> Bytes {
    if !(scope.run.megatron.gradient_accumulation_fusion && scope.run.megatron.transformer_engine) {
        return Bytes::ZERO;
    }
    let mut shapes: Vec<(u64, u64)> = Vec::with_capacity(16);
    let ends = [&scope.model.embedding, &scope.model.head];
    let is_end = |op: &str| ends.iter().any(|steps| steps.iter().any(|step| step.op.name == op));
    for held in held(scope).iter().filter(|held| held.learns && !is_end(held.op)) {
        let dims: Vec<u64> = held.tensor.shape.dims().map(|dim| dim.1).collect();
        // Biases of grouped experts have two dimensions as well, but get no dummy.
        let matrix = if held.expert {
            dims.len() == 3
        } else {
            dims.len() == 2 && held.tensor.name != "router weight"
        };
        if let ([.., rows, columns], true) = (dims.as_slice(), matrix)
            && !shapes.contains(&(*rows, *columns))
        {
            shapes.push((*rows, *columns));
        }
    }
    shapes
        .into_iter()
        .map(|(rows, columns)| {
            Elements(rows.saturating_mul(columns)).stored_as(scope.run.recipe().parameter)
        })
        .sum()
}

/// Megatron-Core's own attention: as large as one block's probabilities.
pub(super) fn scores(steps: &[RankOp]) -> Bytes {
    let saved = steps.iter().flat_map(|step| step.op.tensors.iter());
    saved
        .filter(|tensor| tensor.role == Role::Saved && tensor.name == "probabilities")
        .map(crate::ops::Tensor::bytes)
        .sum()
}

/// Transformer Engine's workspace serves its modules, and the router's product whatever the modules
/// are (`router_gating_linear`).
fn workspaces(run: &TrainingRun, stands: &Stands) -> Bytes {
    let options = run.megatron;
    // Each stream has a workspace of its own.
    let grouped = if options.moe_grouped_gemm && stands.experts { GROUPED_STREAMS } else { 0 };
    let engine = u64::from(options.transformer_engine || stands.experts) + grouped;
    // The output layer, unfused attention and Megatron-Core's own layers multiply through PyTorch,
    // forward and backward.
    let unfused = matches!(run.attention, AttentionKernel::Standard);
    let pytorch = stands.head || !options.transformer_engine || unfused;
    options.transformer_engine_workspace * engine
        + options.cublas_workspace * (2 * u64::from(pytorch))
}
