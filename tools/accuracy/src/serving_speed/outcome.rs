//! The job of a row and its figure.

use std::num::NonZeroU64;

use headroom::config::{
    AttentionKernel, CacheFormat, Cluster, Engine, Images, Job, ParallelLayout, Run, ServingRun,
};
use headroom::engines::Steps;
use headroom::estimator::Blocker;
use headroom::estimator::time::{Pace, ServedTraffic, Traffic};
use headroom::units::to_f64;

use super::shapes;
use super::{left_out, places};
use crate::row::{Comparison, Fields, Quantity, rounded};
use crate::speed::cluster;

/// Figures are compared in millionths of the row's unit.
const MILLIONTHS: f64 = 1e6;

/// Requests of a run that are all there at the start: trtllm-bench's page takes 1,000 to 30,000.
const QUEUED: u64 = 3000;

/// Requests of a closed loop for each that is in flight: InferenceX's client sends ten.
const WAVES: u64 = 10;

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
        let length = |mean: &str, nominal: &str| {
            if row.is_absent(mean) { row.number(nominal) } else { row.number(mean) }
        };
        Ok(Self {
            prompt: length("/prompt_tokens_mean", "/prompt_tokens")?,
            output: length("/output_tokens_mean", "/output_tokens")?,
            sequences: if row.text("/concurrency").is_ok() {
                0
            } else {
                row.count("/concurrency")?
            },
        })
    }

    /// Tokens that a sequence holds in the middle of its answer.
    fn middle(self) -> u64 {
        rounded(self.prompt + self.output / 2.0).max(1)
    }
}

/// Our figure beside the row's, and without some constants.
type Found = (Result<Vec<Comparison>, String>, Vec<(&'static str, Comparison)>);

/// The figure of a row beside ours, and the same with constants left out where the row's settings
/// are all stated.
pub fn outcome(row: Fields<'_>) -> Found {
    let asked = Load::of(row).and_then(|load| Ok((load, job(row, load)?)));
    let (load, job) = match asked {
        Ok(found) => found,
        Err(why) => return (Err(why), Vec::new()),
    };
    let Run::Serving(run) = job.run() else {
        return (Err("no serving job".to_owned()), Vec::new());
    };
    let steps = run.engine.spec().steps_on(released(row));
    let own = match compared(row, load, &job, steps) {
        Ok(own) => own,
        Err(why) => return (Err(why), Vec::new()),
    };
    let is_sure = row.text("/confidence").is_ok_and(|confidence| confidence == "high");
    let without = if is_sure { left_out(row, load, (&job, run, steps), own) } else { Vec::new() };
    (Ok(vec![own]), without)
}

/// Releases that are older than the page which rows are from.
const RELEASED: [(&str, &str); 1] = [("TensorRT-LLM 0.6.1", "2023-12-04")];

/// The day of a row's release, or of its page.
fn released(row: Fields<'_>) -> &str {
    let software = row.text("/software").unwrap_or_default();
    let known = RELEASED.iter().find(|(name, _)| *name == software).map(|(_, day)| *day);
    known.unwrap_or_else(|| row.text("/date").unwrap_or("today"))
}

/// The figures without measurements on the row's accelerator, and without those of its engine; our
/// own where there are none.
fn left_out(
    row: Fields<'_>,
    load: Load,
    (job, run, steps): Asked<'_>,
    own: Comparison,
) -> Vec<(&'static str, Comparison)> {
    let id = row.text("/accelerator").ok().and_then(places::accelerator).unwrap_or_default();
    let other = left_out::without_accelerator(id, job.cluster());
    let job_of =
        |cluster| Job::new(job.model().clone(), job.run().clone(), *job.layout(), cluster).ok();
    let of_accelerator = match other.and_then(job_of) {
        Some(other) => compared(row, load, &other, steps).ok(),
        None => Some(own),
    };
    let of_engine = match left_out::without_engine(run.engine) {
        Some(steps) => compared(row, load, job, steps).ok(),
        None => Some(own),
    };
    [(left_out::ACCELERATOR, of_accelerator), (left_out::ENGINE, of_engine)]
        .into_iter()
        .filter_map(|(name, found)| Some((name, found?)))
        .collect()
}

/// A job, its run and the steps of its engine's release.
type Asked<'a> = (&'a Job, &'a ServingRun, &'static Steps);

/// The figure of a job with such steps beside the row's.
fn compared(
    row: Fields<'_>,
    load: Load,
    job: &Job,
    steps: &'static Steps,
) -> Result<Comparison, String> {
    let pace = Pace::by(job, steps)
        .ok_or("the accelerator's rates, or the time of such a model, are not known")?;
    let ours = figure(row, &pace, load, (row.text("/kind")?, row.text("/measured/what")?))?;
    let measured = row.number("/measured/value")?;
    Ok(Comparison {
        quantity: Quantity::ServingSpeed,
        ours: rounded(ours * MILLIONTHS),
        measured: rounded(measured * MILLIONTHS),
    })
}

/// Ours in the row's unit.
fn figure(
    row: Fields<'_>,
    pace: &Pace,
    load: Load,
    (kind, what): (&str, &str),
) -> Result<f64, String> {
    let sequences = to_f64(load.sequences);
    match kind {
        "max_throughput" => return Ok(queued(row, pace, load)?.output_per_second),
        "closed_loop" | "closed_loop_batch1" => return looped(row, pace, load, what),
        _ => {}
    }
    let held = held(row);
    let read = |tokens: f64| pace.prefill_batch(load.sequences, rounded(tokens)).0;
    let prefill = || read(held + load.prompt) - if held > 0.0 { read(held) } else { 0.0 };
    let step = || pace.decode_at(load.sequences, load.prompt + load.output / 2.0).0;
    let whole = || prefill() + (load.output - 1.0) * step();
    match (kind, what) {
        (_, "ttft_ms") => Ok(prefill() * 1e3),
        (_, "tpot_ms") => Ok(step() * 1e3),
        (_, "prefill_tokens_per_s") => Ok(load.prompt * sequences / prefill()),
        (_, "decode_tokens_per_s") | ("fixed_batch_decode", "throughput_output_tokens_per_s") => {
            Ok(sequences / step())
        }
        (_, "throughput_output_tokens_per_s") => Ok(load.output * sequences / whole()),
        (_, "throughput_total_tokens_per_s") => {
            Ok((load.prompt + load.output) * sequences / whole())
        }
        (_, other) => Err(format!("{other}: not a figure that is compared")),
    }
}

/// Tokens that a sequence holds before its prompt is read: llama-bench's depth, which rows name.
fn held(row: Fields<'_>) -> f64 {
    let id = row.text("/id").unwrap_or_default();
    let depth = id.split('/').nth(1).and_then(|name| name.rsplit_once("-d"));
    depth.and_then(|(_, depth)| depth.parse().ok()).unwrap_or(0.0)
}

/// Lengths of a row: where the mean is below what the row calls its length, they are drawn evenly
/// up to that.
fn lengths(row: Fields<'_>, mean: f64, nominal: &str) -> [u64; 2] {
    let most = row.number(nominal).unwrap_or(mean);
    if most > mean { [rounded(2.0 * mean - most), rounded(most)] } else { [rounded(mean); 2] }
}

/// A server with so many requests in flight, ten times as many in all, as InferenceX's client sends
/// them.
fn looped(row: Fields<'_>, pace: &Pace, load: Load, what: &str) -> Result<f64, String> {
    let served = pace.serve(&Traffic {
        requests: load.sequences.saturating_mul(WAVES),
        at_once: Some(load.sequences),
        prompt: lengths(row, load.prompt, "/prompt_tokens"),
        output: lengths(row, load.output, "/output_tokens"),
        room: Some(room(pace, load)?),
        seed: 1,
    });
    let served = served.ok_or("no serving job")?;
    match what {
        // The sample does not say whether it holds means. Its times grow with requests as the mean
        // over the first wave does.
        "ttft_ms" if row.text("/id").is_ok_and(|id| id.starts_with("inferencex/")) => {
            Ok(served.mean_first_token.0 * 1e3)
        }
        "ttft_ms" => Ok(served.first_token[0].0 * 1e3),
        "tpot_ms" => Ok(served.per_token[0].0 * 1e3),
        "throughput_output_tokens_per_s" => Ok(served.output_per_second),
        other => Err(format!("{other}: not a figure that is compared")),
    }
}

/// Tokens that find room in the cache, if at least one request does.
fn room(pace: &Pace, load: Load) -> Result<u64, String> {
    let estimate = headroom::estimator::estimate(pace.job());
    let found = estimate.cache_room.ok_or("no cache")?;
    let tokens = found.bytes.as_f64() / found.per_sequence.as_f64().max(1.0)
        * to_f64(pace.job().seq_length());
    if tokens < load.prompt + load.output {
        return Err("not one request finds room in the cache".to_owned());
    }
    Ok(rounded(tokens))
}

/// All requests at the start, as many as find room in the cache at once.
fn queued(row: Fields<'_>, pace: &Pace, load: Load) -> Result<ServedTraffic, String> {
    let room = room(pace, load)?;
    let served = pace.serve(&Traffic {
        requests: QUEUED,
        at_once: None,
        prompt: lengths(row, load.prompt, "/prompt_tokens"),
        output: lengths(row, load.output, "/output_tokens"),
        room: Some(room),
        seed: 1,
    });
    served.ok_or_else(|| "no serving job".to_owned())
}

/// The cache's format. Where a row of TensorRT-LLM does not say it, the checkpoint does
/// (`kv_cache_quant_algo` of NVIDIA's quantised ones is FP8).
fn cache(row: Fields<'_>) -> CacheFormat {
    let narrow = row.text("/weights_format").is_ok_and(|format| ["FP8", "NVFP4"].contains(&format));
    match row.text("/kv_format") {
        Ok(printed) => places::cache(printed),
        Err(_) if narrow && row.text("/engine").is_ok_and(|engine| engine == "trtllm") => {
            CacheFormat::Fp8
        }
        Err(_) => CacheFormat::Bf16,
    }
}

/// An accelerator with its own memory.
fn on(id: &str) -> Result<Cluster, String> {
    let mut cluster = cluster(id)?;
    let row = headroom::catalog::accelerator(id)
        .ok_or_else(|| format!("{id} is no known accelerator"))?;
    cluster.accelerator.memory = row.accelerator.memory;
    Ok(cluster)
}

/// Tokens of a step: a static batch is read as a whole, InferenceX starts TensorRT-LLM with 16,384,
/// and the runs on DGX Spark llama.cpp with 2,048 (`-ub`); else the engine's own.
fn chunk(row: Fields<'_>, load: Load, engine: &Engine) -> u64 {
    let says = |pointer: &str, word: &str| row.text(pointer).is_ok_and(|text| text.contains(word));
    match row.text("/kind") {
        Ok("fixed_batch_e2e" | "prefill_batch1")
            if says("/id", "static") || says("/id", "fastertransformer") =>
        {
            rounded(load.prompt * to_f64(load.sequences)).max(1)
        }
        _ if says("/id", "inferencex/") && says("/engine", "trtllm") => 16_384,
        _ if says("/id", "llamacpp-spark/") => 2048,
        _ => engine.spec().steps.most_tokens,
    }
}

/// The job of a row.
fn job(row: Fields<'_>, load: Load) -> Result<Job, String> {
    let name = row.text("/model")?;
    let engine = row.text("/engine")?;
    let key = places::engine(engine)?;
    let printed = row.text("/accelerator")?;
    let id =
        places::accelerator(printed).ok_or_else(|| format!("{printed} is no known accelerator"))?;
    let weights = row.text("/weights_format")?;
    let engine_of = Engine::named(key, 0.9).ok_or_else(|| format!("{key} is no engine"))?;
    let experts =
        if row.is_absent("/expert_parallel") { 1 } else { row.count("/expert_parallel")? };
    let run = ServingRun {
        context_length: load.middle(),
        concurrent_sequences: load.sequences.max(1),
        prefill_chunk_size: chunk(row, load, &engine_of),
        prompt_length: Some(rounded(load.prompt)),
        images: Images::NONE,
        quantization: places::weights(weights, name, engine)?,
        kv_cache_dtype: cache(row),
        // llama-bench's `-fa` was off, and is on in the runs on DGX Spark.
        attention: if row.text("/id")?.starts_with("llamacpp-xd/") {
            AttentionKernel::Standard
        } else {
            AttentionKernel::Flash
        },
        activation_dtype: places::activations(weights),
        engine: engine_of,
        expert_parallel: experts > 1,
        ..ServingRun::plain()
    };
    let degree = |pointer: &str| {
        row.count(pointer).and_then(|count| NonZeroU64::new(count).ok_or("no ranks".to_owned()))
    };
    let layout = ParallelLayout {
        tensor_model_parallel_size: degree("/tensor_parallel")?,
        pipeline_model_parallel_size: degree("/pipeline_parallel")?,
        ..ParallelLayout::SINGLE
    };
    let job = Job::new(shapes::model(name)?, Run::Serving(run), layout, on(id)?)
        .map_err(|error| error.to_string())?;
    let stops =
        |found: &Blocker| !matches!(found, Blocker::Pipeline { .. } | Blocker::Chunks { .. });
    match headroom::estimator::blockers(&job).into_iter().find(stops) {
        Some(blocker) => Err(format!("the engine takes the layout for impossible: {blocker}")),
        None => Ok(job),
    }
}
