//! The two GPU counts, the terms of a step, and the figures of time, cost and model that follow from others.

use crate::config::{Job, Run, TrainingRun};
use crate::estimator::time::{Cost, IDLE_SHARE, ServingTime, Step, TimeLine, Timing};
use crate::estimator::{Certainty, Compute, MemoryKind};
use crate::planner::{Division, division, tried};
use crate::sources::{self, Source};
use crate::units::{Bytes, MemoryUnit, Scale};

use super::expr::{Expr, Value};
use super::inputs::Inputs;
use super::{Explanation, Measure, Scene, plain};

const GPUS: Measure = Measure::Number("GPUs");
const NONE: Measure = Measure::Number("");

fn part(label: &str, bytes: Bytes) -> Expr {
    Expr::memory(label, None, bytes.0, None)
}

fn real(label: &str, value: f64) -> Expr {
    Expr::part(label, Value::Real(value), None)
}

/// The count of the division alone.
pub(super) fn arithmetic_count(job: &Job) -> Option<u64> {
    division(job).count()
}

/// The division.
pub(super) fn arithmetic(scene: &Scene, unit: MemoryUnit) -> Explanation {
    let found = division(&scene.job);
    let Division { ranks, shared, replicated, fixed, capacity, model_parallel } = found;
    let own = [("held by every GPU in full", replicated), ("fixed beside the model", fixed)];
    let own: Vec<Expr> = own.into_iter().filter(|(_, bytes)| bytes.0 > 0).map(|(label, bytes)| part(label, bytes)).collect();
    let Some(count) = found.count() else {
        let sentence = format!(
            "What every GPU holds whatever their number ({}) is not less than its memory ({}): no division gives a count.",
            unit.show(fixed + replicated),
            unit.show(capacity)
        );
        return with_source(
            plain("Arithmetic minimum", sentence, Expr::sum(own), Measure::Bytes),
            sources::ARITHMETIC,
            Certainty::Exact,
        );
    };
    let sentence = "What GPUs share, over what is left on each beside what every GPU holds, rounded up: a division, which no rule \
                    about batches, heads or nodes has looked at.";
    let gpus = Expr::meant(ranks, "GPUs that the shared amount is for");
    let above = Expr::product([gpus, part("shared, on one of them", shared)]);
    let memory = part("memory of a GPU", capacity);
    let left = if own.is_empty() { memory } else { Expr::Less(Box::new(memory), Box::new(Expr::sum(own))) };
    let divided = Expr::Ceil(Box::new(above), Box::new(left));
    let divided = if shared.0 == 0 { Expr::whole(1) } else { divided };
    let times = Expr::meant(model_parallel, "tensor-parallel ranks times pipeline stages");
    let expr = if model_parallel == 1 { divided } else { Expr::product([times, divided]) };
    let expr = if expr.comes_to(count) { expr } else { Expr::part("Arithmetic minimum", Value::Whole(count), None) };
    let mut found = plain("Arithmetic minimum", sentence.to_owned(), expr, GPUS);
    found.notes =
        vec!["Shared is what becomes smaller with more GPUs; reserves are in the amounts they are a share of.".to_owned()];
    with_source(found, sources::ARITHMETIC, Certainty::Exact)
}

/// The smallest count that runs: what was tried, and why not.
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
            let degree = |name, value| {
                let symbol = Expr::word(name, name, Value::Whole(value));
                (value > 1).then_some(symbol)
            };
            let layout = last.layout;
            let degrees = [
                degree("data_parallel_size", layout.d()),
                degree("tensor_model_parallel_size", layout.t()),
                degree("pipeline_model_parallel_size", layout.p()),
                degree("context_parallel_size", layout.cp()),
            ];
            let expr = Expr::product(degrees.into_iter().flatten());
            (
                "Counts that deal out the work evenly were tried from few to many; this is the first whose memory suffices and that no rule forbids.",
                expr,
            )
        }
        None => ("Counts that deal out the work evenly were tried from few to many; none runs.", Expr::whole(0)),
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
    let mut found = of_model(scene, name).or_else(|| match (scene.timing(), scene.job.training()) {
        (Timing::Training { step, cost }, Some(run)) => {
            of_term(step, name).or_else(|| of_training(scene, run, (step, cost), name))
        }
        (Timing::Serving(time), _) => of_serving(scene, time, name),
        _ => None,
    })?;
    if found.title.is_empty() {
        name.clone_into(&mut found.title);
    }
    Some(found)
}

type Found = Option<Explanation>;

fn found(sentence: &str, expr: Expr, measure: Measure, source: Source, certainty: Certainty) -> Found {
    Some(with_source(plain("", sentence.to_owned(), expr, measure), source, certainty))
}

/// One term of a step.
fn of_term(step: &Step, name: &str) -> Found {
    let line = step.lines.iter().find(|line| line.label == name)?;
    let TimeLine { formula, seconds, certainty, source, .. } = *line;
    let mut sentence = format!("{formula}.");
    if let Some(first) = sentence.get(..1).map(str::to_uppercase) {
        sentence.replace_range(..1, &first);
    }
    found(&sentence, real(name, seconds.0), Measure::Seconds, source, certainty)
}

const HOUR: f64 = 3600.0;

fn gpus(job: &Job) -> Expr {
    let layout = job.layout();
    let degrees = [
        ("D", "data_parallel_size", layout.d()),
        ("t", "tensor_model_parallel_size", layout.t()),
        ("p", "pipeline_model_parallel_size", layout.p()),
        ("c", "context_parallel_size", layout.cp()),
    ];
    let many = degrees.into_iter().filter(|(.., value)| *value > 1);
    Expr::product(many.map(|(letter, name, value)| Expr::word(letter, name, Value::Whole(value))))
}

fn of_training(scene: &Scene, run: &TrainingRun, (step, cost): (&Step, &Cost), name: &str) -> Found {
    let job = &scene.job;
    let compute = scene.estimate.compute.as_ref()?;
    let inputs = Inputs { job };
    let seconds = || real("one step", step.seconds.0);
    let tokens = || Expr::product([inputs.s(), Expr::word("B", "global_batch_size", Value::Whole(run.global_batch_size))]);
    let peak = || {
        let peak = job.cluster().accelerator.peak.of(run.recipe().activation).unwrap_or(0.0) * 1e12;
        Expr::word("peak", "dense peak rate of a GPU in this format, FLOP/s", Value::Real(peak))
    };
    let model_flops = || real("model FLOPs of a step", compute.model_flops_per_step().0);
    let run_seconds = || real("the run", cost.seconds.0);
    let (arithmetic, modelled, assumed) = (sources::ARITHMETIC, Certainty::Modelled, Certainty::Assumed);
    match name {
        "One step" => {
            let lines = step.lines.iter().map(|line| real(line.label, line.seconds.0));
            found(
                "The terms of a step on the stage that works longest, one after the other.",
                Expr::sum(lines),
                Measure::Seconds,
                sources::ROOFLINE,
                modelled,
            )
        }
        "Utilisation: model (MFU)" => {
            let able = Expr::product([seconds(), gpus(job), peak()]);
            found(
                "Model FLOPs over what all GPUs could do in the time of a step.",
                model_flops().over(able),
                Measure::Share,
                sources::PALM_2022,
                modelled,
            )
        }
        "with recomputation (HFU)" => {
            let again = real("recomputed FLOPs of a step", compute.recomputed.0);
            let able = Expr::product([seconds(), gpus(job), peak()]);
            let all = Expr::sum([model_flops(), again]);
            found(
                "The same with the work that backward does again.",
                all.over(able),
                Measure::Share,
                sources::PALM_2022,
                modelled,
            )
        }
        "Model FLOP/s of one GPU" => found(
            "Model FLOPs of a step over its time, on one GPU.",
            model_flops().over(Expr::product([seconds(), gpus(job)])),
            Measure::Number("FLOP/s"),
            arithmetic,
            modelled,
        ),
        "Tokens per second, all GPUs" => {
            found("Tokens of a step over its time.", tokens().over(seconds()), Measure::Number("tokens/s"), arithmetic, modelled)
        }
        "The run" => {
            let all = Expr::word("tokens", "tokens of the whole training", Value::Real(run.training_tokens));
            let expr = Expr::product([all.over(tokens()), seconds()]);
            found("As many steps as all tokens need, without interruptions.", expr, Measure::Seconds, arithmetic, modelled)
        }
        "GPU-hours" => {
            let hours = Expr::product([run_seconds(), gpus(job)]).over(Expr::meant(3600, "seconds of an hour"));
            found("The run's time on every GPU.", hours, Measure::Number("hours"), arithmetic, modelled)
        }
        "Cost, in the price's currency" => {
            let price = job.cluster().accelerator.price_per_hour;
            let expr = Expr::product([
                real("GPU-hours", cost.gpu_hours),
                Expr::word("price", "of a GPU-hour, as set under Time and cost", Value::Real(price)),
            ]);
            found("GPU-hours at the price that is set.", expr, NONE, sources::ARITHMETIC, assumed)
        }
        "Energy of the GPUs" => energy(job, step, cost),
        "CO₂" => {
            let grid = Expr::word("grid", "grams of CO₂ for each kWh, as set", Value::Real(job.cluster().grid_grams_per_kwh));
            let expr =
                Expr::product([real("energy in kWh", cost.energy_kwh?), grid]).over(Expr::meant(1000, "grams of a kilogram"));
            found("Energy times what the grid emits.", expr, Measure::Number("kg"), arithmetic, assumed)
        }
        _ => None,
    }
}

/// Board power while computing, a share of it while waiting.
fn energy(job: &Job, step: &Step, cost: &Cost) -> Found {
    let watts = job.cluster().speed.tdp_watts?;
    let busy = step.lines.iter().filter(|line| line.term.computes()).map(|line| line.seconds.0).sum::<f64>() / step.seconds.0;
    let idle = Expr::word("idle", "share of the power that a waiting GPU draws, an assumption", Value::Real(IDLE_SHARE));
    let rest = Expr::Less(Box::new(Expr::whole(1)), Box::new(idle.clone()));
    let busy = Expr::word("busy", "share of a step in which the GPU computes", Value::Real(busy));
    let draw = Expr::sum([idle, Expr::product([rest, busy])]);
    let watts = Expr::word("power", "board power of a GPU, W", Value::Real(watts));
    let expr = Expr::product([real("GPU-hours", cost.gpu_hours), watts, draw]).over(Expr::meant(1000, "W of a kW"));
    found(
        "Hours at the board's power, less of it while the GPU waits.",
        expr,
        Measure::Number("kWh"),
        sources::ARITHMETIC,
        Certainty::Assumed,
    )
}

/// Parameters, batches and FLOPs.
fn of_model(scene: &Scene, name: &str) -> Found {
    let (job, estimate) = (&scene.job, &scene.estimate);
    let count = &estimate.parameters;
    let inputs = Inputs { job };
    let whole = |label: &str, value: u64| Expr::part(label, Value::Whole(value), None);
    let (arithmetic, exact) = (sources::ARITHMETIC, Certainty::Exact);
    let ends = || Expr::sum([whole("embedding", count.embedding), whole("head", count.head)]);
    match (name, &estimate.compute, job.run()) {
        ("Parameters", ..) => {
            let expr = Expr::sum([whole("embedding", count.embedding), whole("blocks", count.blocks), whole("head", count.head)]);
            found("Every number the model has learnt, counted once.", expr, NONE, arithmetic, exact)
        }
        ("of these in embedding and head", ..) => {
            found("Of the parameters, those outside the blocks.", ends(), NONE, arithmetic, exact)
        }
        ("Micro-batch on each GPU", _, Run::Training(run)) => {
            let expr = match run.micro_batch_size {
                Some(size) => Expr::word("b", "micro_batch_size, as set", Value::Whole(size)),
                None => global(run).over_up(data_ranks(job)),
            };
            found("Sequences that one GPU holds at once.", expr, NONE, arithmetic, exact)
        }
        ("Gradient accumulation", _, Run::Training(run)) => {
            let expr = global(run).over_up(Expr::product([inputs.b(), data_ranks(job)]));
            let expr = if expr.comes_to(job.gradient_accumulation_steps()) {
                expr
            } else {
                Expr::whole(job.gradient_accumulation_steps())
            };
            found(
                "Micro-batches that every rank runs before the optimizer steps.",
                expr,
                Measure::Number("steps"),
                arithmetic,
                exact,
            )
        }
        ("KV cache of one token", ..) => cached(scene),
        (_, _, Run::Serving(_)) => of_room(scene, name),
        (_, Some(compute), Run::Training(run)) => of_compute(&inputs, compute, (run, count.total), name),
        _ => None,
    }
}

fn global(run: &TrainingRun) -> Expr {
    Expr::word("B", "global_batch_size", Value::Whole(run.global_batch_size))
}

fn data_ranks(job: &Job) -> Expr {
    let ranks = job.layout().d();
    if ranks == 1 { Expr::whole(1) } else { Expr::word("D", "data_parallel_size", Value::Whole(ranks)) }
}

/// Keys and values of one token in all layers.
fn cached(scene: &Scene) -> Found {
    let bytes = scene.estimate.kv_cache_per_token?;
    let inputs = Inputs { job: &scene.job };
    let Run::Serving(run) = scene.job.run() else { return None };
    let two = Expr::meant(2, "keys and values");
    let values = Expr::product([inputs.layers(), two, inputs.kv_heads(), inputs.head_dim()]);
    let expr = super::tensors::stored(values, run.kv_cache_dtype.dtype());
    let expr = if expr.comes_to(bytes.0) {
        expr
    } else {
        Expr::memory(MemoryKind::KvCache.name(), Some(MemoryKind::KvCache), bytes.0, None)
    };
    found(
        "What attention keeps of one token in all blocks, over all GPUs of an instance.",
        expr,
        Measure::Bytes,
        sources::VLLM,
        Certainty::Exact,
    )
}

/// Room for keys and values, as servers print it.
fn of_room(scene: &Scene, name: &str) -> Found {
    let room = scene.estimate.cache_room.as_ref()?;
    let blocks = || room.blocks.map(|blocks| Expr::part("blocks", Value::Whole(blocks), None));
    let block = || Expr::meant(room.block_size, "tokens of a block");
    let (vllm, modelled) = (sources::VLLM, Certainty::Modelled);
    match name {
        "Room for keys and values" => {
            let sentence = "What is left of the memory beside everything else that the server holds or keeps free.";
            found(sentence, Expr::memory("room", Some(MemoryKind::KvCache), room.bytes.0, None), Measure::Bytes, vllm, modelled)
        }
        "KV cache size in tokens" => {
            found("Whole blocks that find room.", Expr::product([blocks()?, block()]), Measure::Number("tokens"), vllm, modelled)
        }
        "Maximum concurrency" => {
            let expr = real("sequences of the whole context", room.concurrency);
            found(
                "Room over what one sequence of the whole context takes, in whole blocks.",
                expr,
                Measure::Number("sequences"),
                vllm,
                modelled,
            )
        }
        _ => None,
    }
}

fn of_compute(inputs: &Inputs, compute: &Compute, (run, parameters): (&TrainingRun, u64), name: &str) -> Found {
    let tokens = || Expr::word("tokens", "tokens of the whole training", Value::Real(run.training_tokens));
    let per_step = || Expr::product([inputs.s(), global(run)]);
    let all = || Expr::word("N", "parameters", Value::Whole(parameters));
    let (arithmetic, exact) = (sources::ARITHMETIC, Certainty::Exact);
    let total = || {
        let model = real("model FLOPs of a step", compute.model_flops_per_step().0);
        Expr::product([model, tokens().over(per_step())])
    };
    match name {
        "Tokens in one step" => found("All sequences of a step.", per_step(), Measure::Number("tokens"), arithmetic, exact),
        "Steps of the run" => {
            let steps = Expr::Ceil(Box::new(tokens()), Box::new(per_step()));
            found("All tokens over those of a step, rounded up.", steps, Measure::Number("steps"), arithmetic, exact)
        }
        "Compute of the run" => found(
            "Forward and backward of a step, read off the operation list, times the steps.",
            total(),
            Measure::Number("FLOP"),
            arithmetic,
            exact,
        ),
        "in PFLOP-days" => {
            let day = Expr::product([
                Expr::word("PFLOP", "10¹⁵ FLOP each second", Value::Real(1e15)),
                Expr::meant(86_400, "seconds of a day"),
            ]);
            found("The same in days of a machine that does 10¹⁵ FLOP each second.", total().over(day), NONE, arithmetic, exact)
        }
        "by 6 × parameters × tokens" => found(
            "The rule of thumb: two for each parameter and token in forward, four in backward; attention is left out.",
            Expr::product([Expr::meant(6, "FLOPs for each parameter and token"), all(), tokens()]),
            Measure::Number("FLOP"),
            sources::CHINCHILLA_2022,
            Certainty::Modelled,
        ),
        "Compute-optimal tokens (20 per parameter)" => found(
            "About 20 tokens for each parameter give the best model for the compute.",
            Expr::product([Expr::meant(20, "tokens for each parameter"), all()]),
            Measure::Number("tokens"),
            sources::CHINCHILLA_2022,
            Certainty::Modelled,
        ),
        _ => None,
    }
}

/// Times and cost of serving.
fn of_serving(scene: &Scene, time: &ServingTime, name: &str) -> Found {
    let job = &scene.job;
    let inputs = Inputs { job };
    let decode = || real("one further token", time.decode.0);
    let (arithmetic, modelled) = (sources::ARITHMETIC, Certainty::Modelled);
    let ranks = || {
        let layout = job.layout();
        let degrees = [("t", "tensor_model_parallel_size", layout.t()), ("p", "pipeline_model_parallel_size", layout.p())];
        let many = degrees.into_iter().filter(|(.., value)| *value > 1);
        Expr::product(many.map(|(letter, name, value)| Expr::word(letter, name, Value::Whole(value))))
    };
    let gpu_hours = || {
        let million = Expr::product([Expr::meant(1_000_000, "tokens"), ranks()]);
        million.over(Expr::product([real("tokens per second", time.tokens_per_second), Expr::real(HOUR)]))
    };
    match name {
        "One piece of a prompt" => {
            let sentence = "Matrix products of the piece or reading all weights, whichever takes longer, with attention and messages on top.";
            found(sentence, real("one piece", time.prefill_chunk.0), Measure::Seconds, sources::ROOFLINE, modelled)
        }
        "Time to the first token" => {
            let sentence = "The pieces of a prompt one after the other, with attention over what was read before.";
            found(sentence, real("the prompt", time.first_token.0), Measure::Seconds, sources::ROOFLINE, modelled)
        }
        "One further token of every answer" => {
            let sentence = "Reading the weights or multiplying with them, whichever takes longer; then every cached key and value, and messages.";
            found(sentence, decode(), Measure::Seconds, sources::ROOFLINE, modelled)
        }
        "Tokens per second of one request" => found(
            "One token in the time of a step.",
            Expr::whole(1).over(decode()),
            Measure::Number("tokens/s"),
            arithmetic,
            modelled,
        ),
        "Tokens per second of one instance" => found(
            "One token for every sequence in the time of a step.",
            inputs.b().over(decode()),
            Measure::Number("tokens/s"),
            arithmetic,
            modelled,
        ),
        "Sequences where products take over" => {
            let turns = Expr::part("sequences", Value::Whole(time.turns_at?), None);
            found(
                "From so many on, multiplying with the weights takes longer than reading them.",
                turns,
                NONE,
                sources::ROOFLINE,
                modelled,
            )
        }
        "Cost of a million tokens, in the price's currency" => {
            let price = Expr::word(
                "price",
                "of a GPU-hour, as set under Time and cost",
                Value::Real(job.cluster().accelerator.price_per_hour),
            );
            found(
                "GPU-hours for a million tokens at the price that is set.",
                Expr::product([gpu_hours(), price]),
                NONE,
                arithmetic,
                Certainty::Assumed,
            )
        }
        "Energy of a million tokens" => {
            let watts = Expr::word("power", "board power of a GPU, W", Value::Real(job.cluster().speed.tdp_watts?));
            let expr = Expr::product([gpu_hours(), watts]).over(Expr::meant(1000, "W of a kW"));
            found(
                "GPU-hours for a million tokens at the board's full power.",
                expr,
                Measure::Number("kWh"),
                arithmetic,
                Certainty::Assumed,
            )
        }
        _ => None,
    }
}
