//! The two GPU counts, the terms of a step, and the figures of time, cost and model that follow
//! from others.

use crate::config::{Job, Run, TrainingRun};
use crate::estimator::time::Timing;
use crate::estimator::{Certainty, Compute, MemoryKind};
use crate::planner::{MemoryDivision, division, tried};
use crate::sources::{self, Source};
use crate::units::{Bytes, MemoryUnit, Scale};

use super::expr::{Expr, FormulaValue};
use super::inputs::Inputs;
use super::loads::divided;
use super::times::{
    global, gpus, of_serving, of_term, of_training, tokens_of_step, useful_of_step,
};
use super::{Explanation, Measure, Scene, plain};

const GPUS: Measure = Measure::Number("GPUs");
const NONE: Measure = Measure::Number("");

fn part(label: &str, bytes: Bytes) -> Expr {
    Expr::memory(label, None, bytes.0, None)
}

pub(super) fn real(label: &str, value: f64) -> Expr {
    Expr::part(label, FormulaValue::Real(value), None)
}

/// The count of the division alone.
pub(super) fn arithmetic_count(job: &Job) -> Option<u64> {
    division(job).count()
}

/// The division.
pub(super) fn arithmetic(scene: &Scene, unit: MemoryUnit) -> Explanation {
    let found = division(&divided(&scene.job));
    let MemoryDivision { ranks, shared, replicated, fixed, capacity, model_parallel } = found;
    let own = [("held by every GPU in full", replicated), ("fixed beside the model", fixed)];
    let own: Vec<Expr> = own
        .into_iter()
        .filter(|(_, bytes)| bytes.0 > 0)
        .map(|(label, bytes)| part(label, bytes))
        .collect();
    let Some(count) = found.count() else {
        let sentence = format!(
            "What every GPU holds whatever their number ({}) is not less than its memory ({}): no \
             division gives a count.",
            unit.show(fixed + replicated),
            unit.show(capacity)
        );
        return with_source(
            plain("GPUs by memory alone", sentence, Expr::sum(own), Measure::Bytes),
            sources::ARITHMETIC,
            Certainty::Exact,
        );
    };
    let sentence = "What GPUs share, over what is left on each beside what every GPU holds, \
        rounded up: a division, which no rule about batches, heads or nodes has looked at.";
    let many = Expr::meant(ranks, "GPUs that the shared amount is for");
    let above = Expr::product([many, part("shared, on one of them", shared)]);
    let memory = part("memory of a GPU", capacity);
    let left = if own.is_empty() {
        memory
    } else {
        Expr::Less(Box::new(memory), Box::new(Expr::sum(own)))
    };
    let divided = Expr::Ceil(Box::new(above), Box::new(left));
    let divided = if shared.0 == 0 { Expr::whole(1) } else { divided };
    let times = Expr::meant(model_parallel, "tensor-parallel ranks times pipeline stages");
    let expr = if model_parallel == 1 { divided } else { Expr::product([times, divided]) };
    let expr = if expr.comes_to(count) {
        expr
    } else {
        Expr::part("GPUs by memory alone", FormulaValue::Whole(count), None)
    };
    let mut found = plain("GPUs by memory alone", sentence.to_owned(), expr, GPUS);
    found.notes = vec![
        "Shared is what becomes smaller with more GPUs; reserves are in the amounts they are a \
         share of."
            .to_owned(),
    ];
    with_source(found, sources::ARITHMETIC, Certainty::Exact)
}

/// The smallest count that runs: the counts that were tried, and why those before it do not run.
pub(super) fn runnable(scene: &Scene, unit: MemoryUnit) -> Explanation {
    let all = tried(&scene.job, unit);
    let capacity = scene.job.cluster().accelerator.memory;
    let note = |tried: &crate::planner::Tried| {
        let scale = Scale::of(unit, tried.per_gpu, capacity);
        let (used, there) = (scale.show(tried.per_gpu), scale.show(capacity));
        match &tried.blocked {
            Some(why) => format!("{}: no; {why}.", tried.gpus),
            None => format!("{}: yes; {used} of {there} {unit} on each.", tried.gpus),
        }
    };
    let notes: Vec<String> = all.iter().map(note).collect();
    let last = all.last().filter(|last| last.blocked.is_none());
    let (sentence, expr) = match last {
        Some(last) => {
            let expr = gpus(&scene.job.with_layout(last.layout));
            (
                "Counts that deal out the work evenly were tried from few to many; this is the \
                 first whose memory suffices and that no rule forbids.",
                expr,
            )
        }
        None => (
            "Counts that deal out the work evenly were tried from few to many; none runs.",
            Expr::whole(0),
        ),
    };
    let mut found = plain("Smallest that runs", sentence.to_owned(), expr, GPUS);
    found.notes = notes;
    with_source(found, sources::ARITHMETIC, Certainty::Exact)
}

fn with_source(mut found: Explanation, source: Source, certainty: Certainty) -> Explanation {
    found.sources = vec![(source, certainty, "")];
    found
}

/// A figure by its printed name.
pub(super) fn figure(scene: &Scene, name: &str) -> Option<Explanation> {
    let mut found =
        of_model(scene, name).or_else(|| match (scene.timing(), scene.job.training()) {
            (Timing::Training { step, cost }, Some(run)) => of_term(&scene.job, step, name)
                .or_else(|| of_training(scene, run, (step, cost), name)),
            (Timing::Serving(time), _) => of_serving(scene, time, name),
            _ => None,
        })?;
    if found.title.is_empty() {
        name.clone_into(&mut found.title);
    }
    Some(found)
}

pub(super) type Found = Option<Explanation>;

pub(super) fn found(
    sentence: &str,
    expr: Expr,
    measure: Measure,
    source: Source,
    certainty: Certainty,
) -> Explanation {
    with_source(plain("", sentence.to_owned(), expr, measure), source, certainty)
}

/// Parameters, batches and FLOPs.
fn of_model(scene: &Scene, name: &str) -> Found {
    let (job, estimate) = (&scene.job, &scene.estimate);
    let count = &estimate.parameters;
    let whole = |label: &str, value: u64| Expr::part(label, FormulaValue::Whole(value), None);
    let (sentence, expr, measure) = match (name, &estimate.compute, job.run()) {
        ("Parameters", ..) => {
            let parts =
                [("embedding", count.embedding), ("blocks", count.blocks), ("head", count.head)];
            let sum = Expr::sum(parts.map(|(label, value)| whole(label, value)));
            ("Every number the model has learnt, counted once.", sum, NONE)
        }
        ("of these in embedding and head", ..) => {
            let sum = Expr::sum([whole("embedding", count.embedding), whole("head", count.head)]);
            ("Of the parameters, those outside the blocks.", sum, NONE)
        }
        ("Parameters that learn", _, Run::Training(_)) => {
            let sentence = "Those with gradients and optimizer states; adapters are counted as the \
                model's modules declare them.";
            (sentence, whole("parameters that learn", count.trainable), NONE)
        }
        ("Micro-batch on each GPU", _, Run::Training(run)) => {
            let expr = match run.micro_batch_size {
                Some(size) => {
                    Expr::word("b", "micro_batch_size, as set", FormulaValue::Whole(size))
                }
                None => global(run).over_up(data_ranks(job)),
            };
            ("Sequences that one GPU holds at once.", expr, NONE)
        }
        ("Gradient accumulation", _, Run::Training(run)) => {
            let steps = job.gradient_accumulation_steps();
            let expr = global(run).over_up(Expr::product([Inputs { job }.b(), data_ranks(job)]));
            let expr = if expr.comes_to(steps) { expr } else { Expr::whole(steps) };
            (
                "Micro-batches that every rank runs before the optimizer steps.",
                expr,
                Measure::Number("steps"),
            )
        }
        ("KV cache of one token", ..) => return cached(scene),
        (_, _, Run::Serving(_)) => return of_room(scene, name),
        (_, Some(compute), Run::Training(run)) => {
            return of_compute(job, compute, (run, count.total), name);
        }
        _ => return None,
    };
    Some(found(sentence, expr, measure, sources::ARITHMETIC, Certainty::Exact))
}

fn data_ranks(job: &Job) -> Expr {
    let ranks = job.layout().d();
    if ranks == 1 {
        Expr::whole(1)
    } else {
        Expr::word("D", "data_parallel_size", FormulaValue::Whole(ranks))
    }
}

/// Keys and values of one token in all layers.
fn cached(scene: &Scene) -> Found {
    let bytes = scene.estimate.kv_cache_per_token?;
    let inputs = Inputs { job: &scene.job };
    let Run::Serving(run) = scene.job.run() else { return None };
    let two = Expr::meant(2, "keys and values");
    let values = Expr::product([inputs.layers(), two, inputs.kv_heads(), inputs.head_dim()]);
    let expr = super::tensors::stored(values, run.kv_cache_dtype.dtype());
    let kind = MemoryKind::KvCache;
    let expr = if expr.comes_to(bytes.0) {
        expr
    } else {
        Expr::memory(kind.name(), Some(kind), bytes.0, None)
    };
    let sentence = "What attention keeps of one token in all blocks, over all GPUs of an instance.";
    Some(found(sentence, expr, Measure::Bytes, sources::VLLM, Certainty::Exact))
}

/// Room for keys and values, as servers print it.
fn of_room(scene: &Scene, name: &str) -> Found {
    let room = scene.estimate.cache_room.as_ref()?;
    let (sentence, expr, measure) = match name {
        "Memory left for the KV cache, per GPU" => {
            let sentence = "What is left of the memory beside everything else that the server \
                holds or keeps free.";
            (
                sentence,
                Expr::memory("room", Some(MemoryKind::KvCache), room.bytes.0, None),
                Measure::Bytes,
            )
        }
        "KV cache size in tokens" => {
            let blocks = Expr::part("blocks", FormulaValue::Whole(room.blocks?), None);
            let tokens = Expr::product([blocks, Expr::meant(room.block_size, "tokens of a block")]);
            ("Whole blocks that find room.", tokens, Measure::Number("tokens"))
        }
        "Maximum concurrency" => {
            let expr = real("sequences of the whole context", room.concurrency);
            let sentence =
                "Room over what one sequence of the whole context takes, in whole blocks.";
            (sentence, expr, Measure::Number("sequences"))
        }
        _ => return None,
    };
    Some(found(sentence, expr, measure, sources::VLLM, Certainty::Modelled))
}

fn of_compute(
    job: &Job,
    compute: &Compute,
    (run, parameters): (&TrainingRun, u64),
    name: &str,
) -> Found {
    let tokens = || {
        Expr::word(
            "tokens",
            "tokens of the whole training",
            FormulaValue::Real(run.training_tokens),
        )
    };
    let per_step = || tokens_of_step(job, run);
    let useful = || useful_of_step(job, run);
    let all = || Expr::word("N", "parameters", FormulaValue::Whole(parameters));
    let total = || {
        let model = real("model FLOPs of a step", compute.model_flops_per_step().0);
        Expr::product([model, tokens().over(useful())])
    };
    let (exact, rule) =
        ((sources::ARITHMETIC, Certainty::Exact), (sources::CHINCHILLA_2022, Certainty::Modelled));
    let (sentence, expr, measure, (source, certainty)) = match name {
        "Tokens in one step" => {
            ("All sequences of a step.", per_step(), Measure::Number("tokens"), exact)
        }
        "Steps of the run" => {
            let steps = Expr::Ceil(Box::new(tokens()), Box::new(useful()));
            ("All tokens over those of a step, rounded up.", steps, Measure::Number("steps"), exact)
        }
        "Compute of the run" => {
            let sentence =
                "Forward and backward of a step, read off the operation list, times the steps.";
            (sentence, total(), Measure::Number("FLOP"), exact)
        }
        "in PFLOP-days" => {
            let machine = Expr::word("PFLOP", "10¹⁵ FLOP each second", FormulaValue::Real(1e15));
            let day = Expr::product([machine, Expr::meant(86_400, "seconds of a day")]);
            (
                "The same in days of a machine that does 10¹⁵ FLOP each second.",
                total().over(day),
                NONE,
                exact,
            )
        }
        "by 6 × parameters × tokens" => {
            let sentence = "The rule of thumb: two FLOPs for each parameter and token in forward, \
                four in backward; attention is left out.";
            let each = Expr::meant(6, "FLOPs for each parameter and token");
            (sentence, Expr::product([each, all(), tokens()]), Measure::Number("FLOP"), rule)
        }
        "Compute-optimal tokens (20 per parameter)" => {
            let expr = Expr::product([Expr::meant(20, "tokens for each parameter"), all()]);
            let sentence =
                "About 20 tokens for each parameter give the best model for the compute.";
            (sentence, expr, Measure::Number("tokens"), rule)
        }
        _ => return None,
    };
    Some(found(sentence, expr, measure, source, certainty))
}
