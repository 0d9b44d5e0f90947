//! Terms of a step, and the figures that follow from a step's time or a served token's.

use crate::config::{Job, Run, TrainingRun};
use crate::estimator::Certainty;
use crate::estimator::time::{
    BlockTime, Cost, IDLE_SHARE, Load, ServingTime, Step, Term, TimeLine, block_times, spread,
};
use crate::planner::packing;
use crate::sources::{self, Source};

use super::drafts;
use super::expr::{Expr, FormulaValue};
use super::figures::{Found, found, real};
use super::inputs::Inputs;
use super::{Measure, Scene};

const NONE: Measure = Measure::Number("");

/// One term of a step.
pub(super) fn of_term(job: &Job, step: &Step, name: &str) -> Found {
    let line = step.lines.iter().find(|line| line.label == name)?;
    let TimeLine { term, formula, seconds, certainty, source, .. } = *line;
    let mut sentence = format!("{formula}.");
    if let Some(first) = sentence.get(..1).map(str::to_uppercase) {
        sentence.replace_range(..1, &first);
    }
    let expr = micro_batches(job, term, seconds.0).unwrap_or_else(|| real(name, seconds.0));
    Some(found(&sentence, expr, Measure::Seconds, source, certainty))
}

/// A term of work: the micro-batches of a step, each through the blocks and ends of the stage that
/// works longest; `None` for terms that have another rule.
fn micro_batches(job: &Job, term: Term, seconds: f64) -> Option<Expr> {
    let (times, spread) = (block_times(job)?, spread(job)?);
    let both = |time: &BlockTime| -> Option<f64> {
        let phases = [&time.forward, &time.backward];
        Some(match term {
            Term::Products => phases.map(|phase| phase.products).into_iter().sum(),
            Term::Attention => phases.map(|phase| phase.attention).into_iter().sum(),
            Term::Tensor => phases.map(|phase| phase.tensor).into_iter().sum(),
            Term::Context => phases.map(|phase| phase.context).into_iter().sum(),
            Term::Experts => phases.map(|phase| phase.experts).into_iter().sum(),
            _ => return None,
        })
    };
    let [dense, experts, embedding, head] =
        [both(&times.dense)?, both(&times.experts)?, both(&times.embedding)?, both(&times.head)?];
    let of = |load: &Load| {
        let several = |label: &str, count: f64, each: f64| {
            let count = Expr::word(
                format!("{label}s"),
                "of the slowest pipeline stage",
                FormulaValue::Real(count),
            );
            (each > 0.0).then(|| Expr::product([count, real(&format!("one {label}"), each)]))
        };
        let once =
            |label: &str, there: bool, each: f64| (there && each > 0.0).then(|| real(label, each));
        let parts = [
            several("block", load.dense[0], dense).filter(|_| load.dense[0] > 0.0),
            several("block with experts", load.experts[0], experts)
                .filter(|_| load.experts[0] > 0.0),
            once("embedding", load.embedding, embedding),
            once("head", load.head, head),
        ];
        let many = Expr::word(
            "m",
            "micro-batches of a step on each GPU",
            FormulaValue::Real(spread.micro_batches),
        );
        Expr::product([many, Expr::sum(parts.into_iter().flatten())])
    };
    let near = |expr: &Expr| (expr.value() / seconds - 1.0).abs() < 1e-9;
    spread.loads.iter().filter(|load| load.stages > 0.0).map(of).find(near)
}

/// All GPUs, as the product of the degrees.
pub(super) fn gpus(job: &Job) -> Expr {
    let layout = job.layout();
    let degrees = [
        ("D", "data_parallel_size", layout.d()),
        ("t", "tensor_model_parallel_size", layout.t()),
        ("p", "pipeline_model_parallel_size", layout.p()),
        ("c", "context_parallel_size", layout.cp()),
    ];
    let many = degrees.into_iter().filter(|(.., value)| *value > 1);
    Expr::product(
        many.map(|(letter, name, value)| Expr::word(letter, name, FormulaValue::Whole(value))),
    )
}

/// A step's time and the figures that follow from it, then those of the whole run.
pub(super) fn of_training(
    scene: &Scene,
    run: &TrainingRun,
    (step, cost): (&Step, &Cost),
    name: &str,
) -> Found {
    let found = of_step(scene, run, step, name).or_else(|| of_texts(&scene.job, run, step, name));
    found.or_else(|| of_run(scene, run, (step, cost), name))
}

/// The figures that depend on texts being shorter than the sequence.
fn of_texts(job: &Job, run: &TrainingRun, step: &Step, name: &str) -> Found {
    let (sentence, expr, measure) = match name {
        "Useful tokens per second" => {
            let rate = useful_of_step(job, run).over(real("one step", step.seconds.0));
            (
                "Tokens of a step that are no padding, over its time.",
                rate,
                Measure::Number("tokens/s"),
            )
        }
        "Share of padding" => {
            let useful = useful_of_step(job, run).over(tokens_of_step(job, run));
            let rest = Expr::Less(Box::new(Expr::whole(1)), Box::new(useful));
            (
                "What is left of a sequence behind a text of the mean length. Padding is taken to \
                 pass through every layer; attention that skips it saves a little.",
                rest,
                Measure::Share,
            )
        }
        "Packed instead" => {
            let times = real("times as many", packing(job, step.useful_tokens_per_second)?);
            let sentence = "The same fine-tuning with several texts in a sequence, estimated and \
                timed like any other: its useful tokens per second over those of this one.";
            (sentence, times, NONE)
        }
        _ => return None,
    };
    Some(found(sentence, expr, measure, sources::PACKING_2024, Certainty::Assumed))
}

pub(super) fn tokens_of_step(job: &Job, run: &TrainingRun) -> Expr {
    Expr::product([Inputs { job }.s(), global(run)])
}

/// Sequences of a step.
pub(super) fn global(run: &TrainingRun) -> Expr {
    Expr::word("B", "global_batch_size", FormulaValue::Whole(run.global_batch_size))
}

/// Tokens of a step that are not padding.
pub(super) fn useful_of_step(job: &Job, run: &TrainingRun) -> Expr {
    if run.texts.is_none_or(|texts| texts.packed) {
        return tokens_of_step(job, run);
    }
    Expr::product([
        Expr::word("l", "tokens of the mean text", FormulaValue::Whole(run.useful_tokens())),
        global(run),
    ])
}

fn of_step(scene: &Scene, run: &TrainingRun, step: &Step, name: &str) -> Found {
    let job = &scene.job;
    let compute = scene.estimate.compute.as_ref()?;
    let seconds = || real("one step", step.seconds.0);
    let able = || {
        let peak = job.cluster().accelerator.peak.of(run.recipe().activation).unwrap_or(0.0) * 1e12;
        let peak = Expr::word(
            "peak",
            "dense peak rate of a GPU in this format, FLOP/s",
            FormulaValue::Real(peak),
        );
        Expr::product([seconds(), gpus(job), peak])
    };
    let model = || real("model FLOPs of a step", compute.model_flops_per_step().0);
    let (sentence, expr, measure, source) = match name {
        "One step" => {
            let lines = step.lines.iter().map(|line| real(line.label, line.seconds.0));
            let sentence =
                "The terms of a step on the slowest pipeline stage, one after the other.";
            (sentence, Expr::sum(lines), Measure::Seconds, sources::ROOFLINE)
        }
        "Utilisation: model (MFU)" => {
            let sentence = "Model FLOPs over what all GPUs could do in the time of a step.";
            (sentence, model().over(able()), Measure::Share, sources::PALM_2022)
        }
        "with recomputation (HFU)" => {
            let all =
                Expr::sum([model(), real("recomputed FLOPs of a step", compute.recomputed.0)]);
            (
                "The same with the work that backward does again.",
                all.over(able()),
                Measure::Share,
                sources::PALM_2022,
            )
        }
        "Model FLOP/s of one GPU" => {
            let rate = model().over(Expr::product([seconds(), gpus(job)]));
            (
                "Model FLOPs of a step over its time, on one GPU.",
                rate,
                Measure::Number("FLOP/s"),
                sources::ARITHMETIC,
            )
        }
        "Tokens per second, all GPUs" => {
            let rate = tokens_of_step(job, run).over(seconds());
            (
                "Tokens of a step over its time.",
                rate,
                Measure::Number("tokens/s"),
                sources::ARITHMETIC,
            )
        }
        _ => return None,
    };
    Some(found(sentence, expr, measure, source, Certainty::Modelled))
}

fn of_run(scene: &Scene, run: &TrainingRun, (step, cost): (&Step, &Cost), name: &str) -> Found {
    let job = &scene.job;
    let (sentence, expr, measure, certainty) = match name {
        "The run" => {
            let all = Expr::word(
                "tokens",
                "tokens of the whole training",
                FormulaValue::Real(run.training_tokens),
            );
            let steps = all.over(useful_of_step(job, run));
            let seconds = Expr::product([steps, real("one step", step.seconds.0)]);
            (
                "As many steps as all tokens need, without interruptions.",
                seconds,
                Measure::Seconds,
                Certainty::Modelled,
            )
        }
        "GPU-hours" => {
            let all = Expr::product([real("the run", cost.seconds.0), gpus(job)]);
            let hours = all.over(Expr::meant(3600, "seconds of an hour"));
            ("The run's time on every GPU.", hours, Measure::Number("hours"), Certainty::Modelled)
        }
        "Cost of the run" => {
            let expr = Expr::product([real("GPU-hours", cost.gpu_hours), price(job)]);
            ("GPU-hours at the price that is set.", expr, NONE, Certainty::Assumed)
        }
        "Energy of the GPUs" => {
            let sentence = "Hours at the board's power, less of it while the GPU waits.";
            (sentence, energy(job, step, cost)?, Measure::Number("kWh"), Certainty::Assumed)
        }
        "CO₂" => {
            let grid = Expr::word(
                "grid",
                "grams of CO₂ for each kWh, as set",
                FormulaValue::Real(job.cluster().grid_grams_per_kwh),
            );
            let grams = Expr::product([real("energy in kWh", cost.energy_kwh?), grid]);
            let mass = grams.over(Expr::meant(1000, "grams of a kilogram"));
            ("Energy times what the grid emits.", mass, Measure::Number("kg"), Certainty::Assumed)
        }
        _ => return None,
    };
    Some(found(sentence, expr, measure, sources::ARITHMETIC, certainty))
}

pub(super) fn price(job: &Job) -> Expr {
    let price = job.cluster().accelerator.price_per_hour;
    Expr::word("price", "of a GPU-hour, as set under Time and cost", FormulaValue::Real(price))
}

/// Board power while the GPU computes, and a share of it while it waits.
fn energy(job: &Job, step: &Step, cost: &Cost) -> Option<Expr> {
    let watts = Expr::word(
        "power",
        "board power of a GPU, W",
        FormulaValue::Real(job.cluster().speed.tdp_watts?),
    );
    let busy = step
        .lines
        .iter()
        .filter(|line| line.term.computes())
        .map(|line| line.seconds.0)
        .sum::<f64>()
        / step.seconds.0;
    let idle = Expr::word(
        "idle",
        "share of the power that a waiting GPU draws, an assumption",
        FormulaValue::Real(IDLE_SHARE),
    );
    let rest = Expr::Less(Box::new(Expr::whole(1)), Box::new(idle.clone()));
    let busy =
        Expr::word("busy", "share of a step in which the GPU computes", FormulaValue::Real(busy));
    let draw = Expr::sum([idle, Expr::product([rest, busy])]);
    let all = Expr::product([real("GPU-hours", cost.gpu_hours), watts, draw]);
    Some(all.over(Expr::meant(1000, "W of a kW")))
}

/// A sentence, a formula with its measure, and a source.
type Said = (&'static str, (Expr, Measure), Source);

/// A figure of a served step in a sentence, with its formula and source; `None` for other names.
fn said_of_step(job: &Job, time: &ServingTime, name: &str) -> Option<Said> {
    let itself = |label: &str, seconds: f64| (real(label, seconds), Measure::Seconds);
    let decode = || real("one further token", time.decode.0);
    let per_second = Measure::Number("tokens/s");
    Some(match name {
        "Prefill of one chunk" => (
            "Kernel by kernel: products or reading weights, whichever takes longer, attention, and \
             what only streams; then messages and what the server's processor does.",
            itself("one piece", time.prefill_chunk.0),
            sources::SERVING_KERNELS,
        ),
        "Time to first token (TTFT)" => (
            "The pieces of a prompt one after the other, with attention over what was read before.",
            itself("the prompt", time.first_token.0),
            sources::SERVING_KERNELS,
        ),
        "Time per output token (TPOT)" if time.speculation.is_some() => {
            let step = time.speculation?;
            let tokens = real("tokens of a step", step.tokens);
            let share = real("step with drafts", step.step.0).over(tokens);
            let sentence =
                "A step drafts tokens and checks all of them; a request gets several from it.";
            (sentence, (share, Measure::Seconds), sources::SPECULATIVE_2022)
        }
        "Time per output token (TPOT)" => (
            "Kernel by kernel: reading weights or multiplying with them, whichever takes longer, \
             every cached key and value, and what only streams; then messages and what the \
             server's processor does.",
            itself("one further token", time.decode.0),
            sources::SERVING_KERNELS,
        ),
        "Tokens per second of one request" => (
            "One token in the time of a step.",
            (Expr::whole(1).over(decode()), per_second),
            sources::ARITHMETIC,
        ),
        "Tokens per second of one instance" => {
            let rate = Inputs { job }.b().over(decode());
            (
                "One token for every sequence in the time of a step.",
                (rate, per_second),
                sources::ARITHMETIC,
            )
        }
        "Batch size where decoding becomes compute-bound" => {
            let turns = Expr::part("sequences", FormulaValue::Whole(time.turns_at?), None);
            let sentence =
                "From so many on, multiplying with the weights takes longer than reading them.";
            (sentence, (turns, NONE), sources::ROOFLINE)
        }
        _ => return None,
    })
}

/// Times and cost of serving.
pub(super) fn of_serving(scene: &Scene, time: &ServingTime, name: &str) -> Found {
    let job = &scene.job;
    let Some((sentence, (expr, measure), source)) = said_of_step(job, time, name) else {
        return drafts::of_drafts(job, time, name)
            .or_else(|| of_messages(time, name))
            .or_else(|| of_a_million(job, time, name));
    };
    let host = said_of_host(job).filter(|_| sentence.starts_with("Kernel by kernel"));
    if let Some(host) = host {
        let sentence = format!("{sentence} {host}");
        return Some(found(&sentence, expr, measure, source, Certainty::Assumed));
    }
    let measured = job.cluster().speed.kernels.is_measured;
    Some(found(
        sentence,
        expr,
        measure,
        source,
        if measured { Certainty::Modelled } else { Certainty::Assumed },
    ))
}

/// A sentence on the speed of what lies in the host's memory, where something does.
fn said_of_host(job: &Job) -> Option<&'static str> {
    let Run::Serving(run) = job.run() else { return None };
    let asked = run.in_host_memory;
    if asked.is_computed_there(job.model().num_hidden_layers) {
        Some(
            "The processor reads what lies in the host's memory at the stated share of that memory's rate, or multiplies at its own rate, whichever \
             takes longer. In a step of 32 tokens and more weights cross the link instead, and nothing hides that.",
        )
    } else if asked.weights.0 > 0 {
        Some("Weights in the host's memory cross the link in every step, at its full rate.")
    } else {
        None
    }
}

/// Messages of one further token.
fn of_messages(time: &ServingTime, name: &str) -> Found {
    let [_, further] = time.messages;
    let (sentence, seconds, certainty) = match name {
        "Messages: sums over tensor ranks" => {
            let sentence = "Two sums in each layer: bytes over the slowest link of the ring, and a \
                latency for each step. Where tokens are sent to experts, one of the two takes its \
                place there.";
            (sentence, further.sums, Certainty::Modelled)
        }
        "Messages: tokens to experts and back" => {
            let sentence = "In each layer with experts every GPU sends its tokens, a copy for each \
                expert, and gets them back: bytes over the links, if all experts are asked as \
                often.";
            (sentence, further.experts, Certainty::Assumed)
        }
        "Messages: between stages" => {
            ("One hop from each pipeline stage to the next.", further.stages, Certainty::Modelled)
        }
        _ => return None,
    };
    Some(found(
        sentence,
        real("of one further token", seconds.0),
        Measure::Seconds,
        sources::NCCL_TUNING,
        certainty,
    ))
}

/// The cost and the energy of a million served tokens.
fn of_a_million(job: &Job, time: &ServingTime, name: &str) -> Found {
    let layout = job.layout();
    let degrees = [
        ("t", "tensor_model_parallel_size", layout.t()),
        ("p", "pipeline_model_parallel_size", layout.p()),
    ];
    let many = degrees.into_iter().filter(|(.., value)| *value > 1);
    let ranks =
        many.map(|(letter, name, value)| Expr::word(letter, name, FormulaValue::Whole(value)));
    let tokens = Expr::product(std::iter::once(Expr::meant(1_000_000, "tokens")).chain(ranks));
    let an_hour = Expr::product([
        real("tokens per second", time.tokens_per_second),
        Expr::meant(3600, "seconds of an hour"),
    ]);
    let hours = tokens.over(an_hour);
    let (sentence, expr, measure) = match name {
        "Cost of a million tokens" => (
            "GPU-hours for a million tokens at the price that is set.",
            Expr::product([hours, price(job)]),
            NONE,
        ),
        "Energy of a million tokens" => {
            let watts = Expr::word(
                "power",
                "board power of a GPU, W",
                FormulaValue::Real(job.cluster().speed.tdp_watts?),
            );
            let energy = Expr::product([hours, watts]).over(Expr::meant(1000, "W of a kW"));
            (
                "GPU-hours for a million tokens at the board's full power.",
                energy,
                Measure::Number("kWh"),
            )
        }
        _ => return None,
    };
    Some(found(sentence, expr, measure, sources::ARITHMETIC, Certainty::Assumed))
}
