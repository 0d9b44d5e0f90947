//! Label, note, source and certainty of the ledger's lines.

use crate::config::Tuning;
use crate::estimator::ledger::Certainty;
use crate::estimator::states::GATHERED_WEIGHTS;
use crate::estimator::timeline::ground::{self, Ground};
use crate::estimator::timeline::groups::{GRADIENT_BUCKETS, REDUCTION_BUCKET};
use crate::estimator::timeline::plan::Plan;
use crate::estimator::timeline::{Mark, Played};
use crate::ops::tape::{KEPT_WORKSPACE, Kind, Storage, When};
use crate::sharding::Buckets;
use crate::sources::{self, Source};
use crate::units::DType;

/// Label, note, source and certainty of a line.
#[derive(Clone, Copy)]
pub(super) struct About {
    pub label: &'static str,
    pub note: &'static str,
    pub source: Source,
    pub certainty: Certainty,
}

/// Facts that the lines of a plan rest on.
pub(super) struct Grounds {
    ground: Ground,
    /// How sure gathered weights and reduced gradients are.
    moved: Certainty,
    /// True if ranks share every parameter.
    sharded: bool,
}

impl Grounds {
    pub fn of(plan: &Plan<'_>) -> Self {
        Self {
            ground: Ground::of(plan),
            moved: ground::movement(plan),
            sharded: plan.shards().is_some(),
        }
    }
}

/// The four of an [`About`], in that order.
type Words = (&'static str, &'static str, Source, Certainty);

/// Label, note, source and certainty of a storage's line.
pub(super) fn about(
    played: &Played<'_>,
    mark: &Mark,
    grounds: &Grounds,
    (storage, kind): (&Storage, Kind),
) -> About {
    let (op, source) = played.tape.state().op_name(storage.op);
    let Grounds { ground, moved, sharded } = *grounds;
    let (exact, played_out) = (Certainty::Exact, ground.certainty());
    let (label, note, source, certainty) = match kind {
        Kind::Parameter if played.plan.with.tuning.freezes_model() => {
            of_tuning(storage, &played.plan.with.tuning)
        }
        Kind::Parameter if sharded => (
            "Weights",
            "Every parameter, shared out over data-parallel ranks.",
            sources::ARITHMETIC,
            exact,
        ),
        Kind::Parameter => (
            "Weights",
            "Every parameter of this rank in the compute format.",
            sources::ARITHMETIC,
            exact,
        ),
        Kind::Gradient if storage.name == "gradient copy" => (
            "fp32 gradient copy",
            "An fp32 copy in which gradients are accumulated.",
            sources::PYTORCH_AUTOGRAD,
            exact,
        ),
        Kind::Gradient => {
            ("Gradients", gradients_note(played, mark), sources::PYTORCH_AUTOGRAD, exact)
        }
        Kind::OptimizerState => (op, state_note(played, op), source, exact),
        Kind::Activation => (op, ground.activations(), source, played_out),
        Kind::Buffer => (
            "Inputs and buffers",
            "Token ids, tables of modules, step counters.",
            sources::PYTORCH_AUTOGRAD,
            exact,
        ),
        Kind::Recomputed => (
            "Recomputed block",
            "Recomputed for the one block that backward is in.",
            sources::PYTORCH_AUTOGRAD,
            played_out,
        ),
        Kind::Gathered => of_gathered(played, (op, source), moved),
        Kind::Scratch => of_scratch(storage),
        Kind::Temporary => of_temporary(played, mark, (op, source), played_out),
    };
    About { label, note, source, certainty }
}

/// Weights and gradients on their way between ranks.
fn of_gathered(
    played: &Played<'_>,
    (op, source): (&'static str, Source),
    moved: Certainty,
) -> Words {
    match op {
        GATHERED_WEIGHTS => (
            GATHERED_WEIGHTS,
            "Full weights of the groups in use, and the buffer of the next.",
            source,
            moved,
        ),
        GRADIENT_BUCKETS => (
            op,
            "Flat copies of all gradients, through which ranks sum them; there from the start.",
            source,
            Certainty::Exact,
        ),
        REDUCTION_BUCKET => (op, bucket_note(played), source, Certainty::Modelled),
        _ => (op, "Gradients of one group on their way between ranks.", source, moved),
    }
}

/// Memory that kernels take for themselves.
fn of_scratch(storage: &Storage) -> Words {
    let (label, note) = if storage.name == KEPT_WORKSPACE {
        (
            "cuBLAS workspaces",
            "PyTorch before 2.15 keeps one for products of forward and one for those of backward.",
        )
    } else {
        (
            "Kernel workspace",
            "Taken by the kernel that runs at the peak, for itself: cuBLAS's workspace, partial sums.",
        )
    };
    (label, note, sources::PYTORCH_AUTOGRAD, Certainty::Exact)
}

/// Tensors that live no longer than an operation, or than the step of the optimizer.
fn of_temporary(
    played: &Played<'_>,
    mark: &Mark,
    (op, source): (&'static str, Source),
    played_out: Certainty,
) -> Words {
    if mark.segment.when == When::Step {
        let sure = ground::optimizer(&played.plan);
        return (
            "Optimizer temporaries",
            "Alive only while the optimizer steps.",
            sources::PYTORCH_AUTOGRAD,
            sure,
        );
    }
    let (label, note) = if op == "Output head and loss" {
        ("Loss workspace", "Gradients of logits and head while the loss flows back.")
    } else {
        ("Activation gradients", "Gradients of activations while they flow back.")
    };
    (label, note, source, played_out)
}

/// A copy of the embedding or the head, which learns beside adapters.
const LEARNED_COPY: (&str, &str, Source, Certainty) = (
    "Layers that learn beside adapters",
    "A copy of the embedding or the head learns (modules_to_save); peft keeps the original as well.",
    sources::PEFT,
    Certainty::Exact,
);

/// Weights where the model itself does not learn.
fn of_tuning(storage: &Storage, tuning: &Tuning) -> Words {
    let exact = Certainty::Exact;
    match (storage.name, storage.dtype) {
        (
            "adapter A"
            | "adapter B"
            | "adapter magnitude"
            | "score weight"
            | "prompt embedding"
            | "learned keys and values",
            _,
        ) => (
            "Adapters",
            "What learns: small matrices beside frozen layers, or a new head.",
            sources::PEFT,
            exact,
        ),
        ("token embedding", _) if tuning.copies_embedding() => LEARNED_COPY,
        ("head weight", _) if tuning.copies_head() => LEARNED_COPY,
        (_, DType::Int4) | ("codes" | "scales" | "scales of scales" | "offset", _) => (
            "Weights of 4 bits",
            "Frozen: no gradients and no optimizer states. Scales included.",
            sources::QLORA_2023,
            exact,
        ),
        (_, DType::Int8) | ("scales of columns", _) => (
            "Weights of 8 bits",
            "Frozen: no gradients and no optimizer states. Scales included.",
            sources::LLM_INT8_2022,
            exact,
        ),
        _ => ("Frozen weights", "No gradients and no optimizer states.", sources::PEFT, exact),
    }
}

/// How long DeepSpeed's bucket is there.
fn bucket_note(played: &Played<'_>) -> &'static str {
    if played.plan.buckets.0 == Buckets::Lasting {
        "DeepSpeed joins gradients in this buffer before it reduces them (reduce_bucket_size); stage 3 keeps it for good."
    } else {
        "DeepSpeed joins gradients in this buffer before it reduces them (reduce_bucket_size); there from the first gradient of \
         a backward until all are reduced."
    }
}

fn gradients_note(played: &Played<'_>, mark: &Mark) -> &'static str {
    match mark.segment.when {
        _ if played.plan.keeps_gradients => {
            "The step fills them with zeros instead of letting them go."
        }
        _ if played.plan.accumulated => "Accumulation keeps all of them between micro-batches.",
        _ if played.plan.buckets.0 == Buckets::Lasting => {
            "Stage 3 keeps a place for this rank's part of them for good."
        }
        When::Step => "One per parameter.",
        _ => "Those that backward has written so far.",
    }
}

/// The sentence of a state: the optimizer's own, or that of the weights that the precision recipe
/// keeps beside it.
fn state_note(played: &Played<'_>, label: &str) -> &'static str {
    let master = "An fp32 copy of every weight, updated by the optimizer.";
    played.plan.optimizer.spec().state(label).map_or(master, |state| state.note)
}
