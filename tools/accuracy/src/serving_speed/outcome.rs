//! The job of a row and its figure.

use std::num::NonZeroU64;

use headroom::config::{CacheFormat, Engine, Images, Job, ParallelLayout, Run, ServingRun};
use headroom::estimator::Blocker;
use headroom::estimator::time::Pace;
use headroom::units::to_f64;

use super::places;
use super::shapes;
use crate::row::{Comparison, Fields, Quantity, rounded};
use crate::speed::cluster;

/// Figures are compared in millionths of the row's unit.
const MILLIONTHS: f64 = 1e6;

/// A row's lengths and sequences.
#[derive(Clone, Copy)]
struct Load {
    /// Tokens of a prompt; real means where the client draws lengths.
    prompt: f64,
    /// Tokens of an answer.
    output: f64,
    /// Sequences at once.
    sequences: u64,
}

impl Load {
    fn of(row: Fields<'_>) -> Result<Self, String> {
        let length = |mean: &str, nominal: &str| if row.is_absent(mean) { row.number(nominal) } else { row.number(mean) };
        Ok(Self {
            prompt: length("/prompt_tokens_mean", "/prompt_tokens")?,
            output: length("/output_tokens_mean", "/output_tokens")?,
            sequences: if row.text("/concurrency").is_ok() { 0 } else { row.count("/concurrency")? },
        })
    }

    /// Tokens that a sequence holds in the middle of its answer.
    fn middle(self) -> u64 {
        rounded(self.prompt + self.output / 2.0).max(1)
    }
}

/// The figure of a row beside ours.
pub fn outcome(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let load = Load::of(row)?;
    let kind = row.text("/kind")?;
    let job = job(row, load)?;
    let pace = Pace::of(&job).ok_or("the accelerator's rates, or the time of such a model, are not known")?;
    let ours = figure(&pace, load, (kind, row.text("/measured/what")?))?;
    let measured = row.number("/measured/value")?;
    Ok(vec![Comparison {
        quantity: Quantity::ServingSpeed,
        ours: rounded(ours * MILLIONTHS),
        measured: rounded(measured * MILLIONTHS),
    }])
}

/// Ours in the row's unit.
fn figure(pace: &Pace, load: Load, (kind, what): (&str, &str)) -> Result<f64, String> {
    let sequences = to_f64(load.sequences);
    let prefill = || pace.prefill(rounded(load.prompt)).0 * sequences;
    let step = || pace.decode(load.sequences).0;
    match (kind, what) {
        ("max_throughput", _) => Err("max_throughput: the batch that the engine reaches is not modelled".to_owned()),
        ("closed_loop", "ttft_ms") => Ok(pace.prefill(rounded(load.prompt)).0 * 1e3),
        (_, "ttft_ms") => Ok(prefill() * 1e3),
        (_, "tpot_ms") => Ok(step() * 1e3),
        (_, "prefill_tokens_per_s") => Ok(load.prompt * sequences / prefill()),
        (_, "decode_tokens_per_s") | ("fixed_batch_decode", "throughput_output_tokens_per_s") => Ok(sequences / step()),
        ("closed_loop", "throughput_output_tokens_per_s") => Ok(sequences / step()),
        (_, "throughput_output_tokens_per_s") => Ok(load.output * sequences / (prefill() + (load.output - 1.0) * step())),
        (_, "throughput_total_tokens_per_s") => {
            Ok((load.prompt + load.output) * sequences / (prefill() + (load.output - 1.0) * step()))
        }
        (_, other) => Err(format!("{other}: not a figure that is compared")),
    }
}

/// The job of a row.
fn job(row: Fields<'_>, load: Load) -> Result<Job, String> {
    let name = row.text("/model")?;
    let engine = row.text("/engine")?;
    let key = places::engine(engine)?;
    let printed = row.text("/accelerator")?;
    let id = places::accelerator(printed).ok_or_else(|| format!("{printed} is no known accelerator"))?;
    let weights = row.text("/weights_format")?;
    let experts = if row.is_absent("/expert_parallel") { 1 } else { row.count("/expert_parallel")? };
    let run = ServingRun {
        context_length: load.middle(),
        concurrent_sequences: load.sequences.max(1),
        prefill_chunk_size: rounded(load.prompt).clamp(1, 8192),
        prompt_length: Some(rounded(load.prompt)),
        images: Images::NONE,
        quantization: places::weights(weights, name, engine)?,
        kv_cache_dtype: if row.is_absent("/kv_format") { CacheFormat::Bf16 } else { places::cache(row.text("/kv_format")?) },
        activation_dtype: places::activations(weights),
        engine: Engine::named(key, 0.9).ok_or_else(|| format!("{key} is no engine"))?,
        expert_parallel: experts > 1,
        ..ServingRun::plain()
    };
    let degree = |pointer: &str| row.count(pointer).and_then(|count| NonZeroU64::new(count).ok_or("no ranks".to_owned()));
    let layout = ParallelLayout {
        tensor_model_parallel_size: degree("/tensor_parallel")?,
        pipeline_model_parallel_size: degree("/pipeline_parallel")?,
        ..ParallelLayout::SINGLE
    };
    let job = Job::new(shapes::model(name)?, Run::Serving(run), layout, cluster(id)?).map_err(|error| error.to_string())?;
    let stops = |found: &Blocker| !matches!(found, Blocker::Pipeline { .. } | Blocker::Chunks { .. });
    match headroom::estimator::blockers(&job).into_iter().find(stops) {
        Some(blocker) => Err(format!("the engine takes the layout for impossible: {blocker}")),
        None => Ok(job),
    }
}
