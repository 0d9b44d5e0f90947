//! Lines without tensors, each with a rule of its own. Where no rule gives the bytes exactly, the
//! figure stands for itself.

use crate::config::{Engine, Job, Run, ServingRun};
use crate::estimator::{
    ADAPTER_SLOTS, CUDA_GRAPHS, DRAFT_LOGITS, FRAMEWORK_CONTEXT, KEPT_FREE, Ledger, LineItem,
    MEASURED_BEYOND, MemoryKind, REDUCTION_BUCKET, fragmentation_percent,
};
use crate::units::{Bytes, DType};

use super::expr::{Expr, FormulaValue};
use super::inputs::Inputs;
use super::tensors::{itself, stored};

/// The formula of a line by its rule.
pub(super) fn rule(inputs: &Inputs, ledger: &Ledger, line: &LineItem) -> Expr {
    let ways = ways(inputs, ledger, line);
    ways.into_iter()
        .find(|way| way.comes_to(line.bytes.0))
        .unwrap_or_else(|| itself(line.label, line.bytes.0))
}

fn ways(inputs: &Inputs, ledger: &Ledger, line: &LineItem) -> Vec<Expr> {
    let job = inputs.job;
    match (line.label, job.run()) {
        (FRAMEWORK_CONTEXT, _) => {
            vec![setting("framework context", "as set under Reserve, in bytes", line.bytes)]
        }
        (MEASURED_BEYOND, _) => {
            vec![setting("measured minus predicted", "as kept under Reserve, in bytes", line.bytes)]
        }
        (CUDA_GRAPHS, Run::Serving(run)) => {
            vec![setting("CUDA graphs", "as set under Reserve, in bytes", run.cuda_graphs)]
        }
        ("Communicator buffers", _) => communicators(job, line),
        (REDUCTION_BUCKET, Run::Training(run)) => {
            let elements = Expr::word(
                "reduce_bucket_size",
                "elements of the bucket",
                FormulaValue::Whole(run.reduce_bucket_size),
            );
            let recipe = run.recipe();
            let formats = [recipe.gradient, recipe.parameter].into_iter();
            let one = formats.map(|format| stored(elements.clone(), format));
            let two = |one: Expr| {
                Expr::product([Expr::meant(2, "buffers, as ZeRO overlaps reduction"), one])
            };
            one.clone().chain(one.map(two)).collect()
        }
        ("Fragmentation reserve", _) => reserve(job, ledger, line),
        ("Inference overhead", Run::Serving(run)) => {
            let weights = ledger.of(MemoryKind::Parameter);
            percent(kind_part(MemoryKind::Parameter, weights), run.overhead_percent)
        }
        (ADAPTER_SLOTS, Run::Serving(run)) => slots(run, line),
        (DRAFT_LOGITS, Run::Serving(run)) => drafted(run, ledger),
        (KEPT_FREE, Run::Serving(run)) => kept_free(job, run.engine, run.cuda_graphs, ledger),
        ("Gathered input" | "Pipeline messages" | "Attention mask", Run::Training(run)) => {
            buffers(inputs, run.recipe().activation, line)
        }
        _ => Vec::new(),
    }
}

fn setting(name: &str, meaning: &str, bytes: Bytes) -> Expr {
    Expr::word(name, meaning, FormulaValue::Whole(bytes.0))
}

fn kind_part(kind: MemoryKind, bytes: Bytes) -> Expr {
    Expr::memory(kind.name(), Some(kind), bytes.0, None)
}

/// So many slots of so many ranks, each of which is a row or a column beside every matrix.
fn slots(run: &ServingRun, line: &LineItem) -> Vec<Expr> {
    let each = run
        .adapter_slots
        .saturating_mul(run.adapter_rank)
        .saturating_mul(run.activation_dtype.bits() / 8);
    let numbers = line.bytes.0.checked_div(each).unwrap_or(0);
    let count = Expr::product([
        Expr::word("max_loras", "slots", FormulaValue::Whole(run.adapter_slots)),
        Expr::word(
            "max_lora_rank",
            "rows of each A and columns of each B",
            FormulaValue::Whole(run.adapter_rank),
        ),
        Expr::meant(numbers, "numbers of a row of every A and a column of every B on this rank"),
    ]);
    vec![stored(count, run.activation_dtype)]
}

/// As many logits as sequences have drafted tokens.
fn drafted(run: &ServingRun, ledger: &Ledger) -> Vec<Expr> {
    let logits = ledger.lines.iter().find(|line| line.label == "Logits");
    let (Some(draft), Some(logits)) = (&run.draft, logits) else { return Vec::new() };
    vec![Expr::product([
        Expr::word("k", "tokens drafted for each sequence", FormulaValue::Whole(draft.tokens)),
        Expr::memory(logits.label, Some(logits.kind), logits.bytes.0, None),
    ])]
}

/// One buffer for each group of ranks that exchange something.
fn communicators(job: &Job, line: &LineItem) -> Vec<Expr> {
    let each = job.cluster().overheads.communicator_buffers;
    let groups = line.bytes.0.checked_div(each.0).unwrap_or(0);
    let groups = Expr::meant(groups, "groups of more than one rank that exchange something");
    vec![Expr::product([
        groups,
        setting("buffers of a group", "as set under Reserve, in bytes", each),
    ])]
}

/// That many per cent of an amount, rounded up, in whole numbers: `2.5 %` is `25 / 1 000`.
fn percent(of: Expr, percent: f64) -> Vec<Expr> {
    ratio(percent)
        .map(|(above, below)| {
            let share = Expr::meant(above, format!("{percent} per cent"));
            let all = Expr::meant(below.saturating_mul(100), "of so many");
            let product = Expr::product([of, share]);
            vec![
                product.clone().over_up(all.clone()),
                Expr::Floor(Box::new(product), Box::new(all)),
            ]
        })
        .unwrap_or_default()
}

/// A decimal number as a fraction.
fn ratio(value: f64) -> Option<(u64, u64)> {
    let text = format!("{value}");
    let (whole, decimals) = text.split_once('.').unwrap_or((text.as_str(), ""));
    let below = 10_u64.checked_pow(u32::try_from(decimals.len()).ok()?)?;
    Some((format!("{whole}{decimals}").parse().ok()?, below))
}

/// The reserve: a share of all lines of the ledger but some of the framework's own.
fn reserve(job: &Job, ledger: &Ledger, line: &LineItem) -> Vec<Expr> {
    let by_kind = ledger.by_kind();
    // Workspaces of the framework are allocated like the model's own memory; the context is not.
    let outside = [
        FRAMEWORK_CONTEXT,
        CUDA_GRAPHS,
        KEPT_FREE,
        MEASURED_BEYOND,
        "Communicator buffers",
        "Inference overhead",
        line.label,
    ];
    let own = ledger
        .lines
        .iter()
        .filter(|other| other.kind == MemoryKind::Framework && !outside.contains(&other.label));
    let parts = MemoryKind::ALL
        .into_iter()
        .zip(by_kind)
        .filter(|(kind, bytes)| *kind != MemoryKind::Framework && bytes.0 > 0);
    let mut terms: Vec<Expr> = parts.map(|(kind, bytes)| kind_part(kind, bytes)).collect();
    terms.extend(own.map(|other| Expr::memory(other.label, Some(other.kind), other.bytes.0, None)));
    percent(Expr::sum(terms), fragmentation_percent(job))
}

/// The memory that a server leaves free.
fn kept_free(job: &Job, engine: Engine, graphs: Bytes, ledger: &Ledger) -> Vec<Expr> {
    let Some(share) = &engine.share else { return Vec::new() };
    let capacity = setting("memory of the GPU", "in bytes", job.cluster().accelerator.memory);
    let less = |amount: Expr, by: Bytes, name: &str| {
        let by = Expr::memory(name, Some(MemoryKind::Framework), by.0, None);
        Expr::Less(Box::new(amount), Box::new(by))
    };
    let hundred = |share: f64| {
        // As a decimal the share is short; one minus the share need not be, as a float.
        ratio(share).map(|(above, below)| (below.saturating_sub(above), below))
    };
    let left = |of: Expr, share: f64| {
        let Some((above, below)) = hundred(share) else { return Vec::new() };
        let (above, below) =
            (Expr::meant(above, "what is left free"), Expr::meant(below, "of so many"));
        let product = Expr::product([of, above]);
        vec![
            product.clone().over_up(below.clone()),
            Expr::Floor(Box::new(product), Box::new(below)),
        ]
    };
    let memory = if share.is_beside_context {
        less(capacity, job.cluster().overheads.framework_context, FRAMEWORK_CONTEXT)
    } else {
        capacity
    };
    let used = if share.leaves_room_for_working_sets {
        ledger.of(MemoryKind::Temporary)
    } else {
        Bytes::ZERO
    } + graphs;
    let taken = if graphs == Bytes::ZERO { "working sets" } else { "working sets and graphs" };
    let ways = left(memory, engine.memory_share).into_iter();
    ways.map(|way| if used == Bytes::ZERO { way } else { less(way, used, taken) }).collect()
}

/// Buffers of Megatron-LM that follow from the shape of a hidden state.
fn buffers(inputs: &Inputs, activation: DType, line: &LineItem) -> Vec<Expr> {
    let own = inputs.s().over_up(inputs.cp());
    let hidden = stored(Expr::product([own.clone(), inputs.b(), inputs.h()]), activation);
    match line.label {
        "Gathered input" => vec![hidden],
        "Attention mask" => vec![Expr::product([inputs.s(), own, inputs.b()])],
        _ => {
            let split = hidden.clone().over_up(inputs.t());
            let of = |message: Expr| {
                let bytes = u64::try_from(message.exact()?).ok().filter(|bytes| *bytes > 0)?;
                let count = Expr::meant(line.bytes.0 / bytes, "messages kept");
                Some(Expr::product([count, message]))
            };
            [split, hidden].into_iter().filter_map(of).collect()
        }
    }
}
