//! Rows of measured speed: seconds of a step, tokens per second, FLOP/s, utilisation. All are
//! compared as seconds of a step.

mod bridge;
mod foundry;
mod gpt;

use headroom::catalog;
use headroom::config::{
    Accelerator, Cluster, Job, ModelConfig, Overheads, ParallelLayout, Run, TrainingRun,
};
use headroom::estimator::Blocker;
use headroom::estimator::time::step;
use headroom::units::Bytes;

use super::row::{Comparison, Fields, Quantity, Row, rounded};

/// Nanoseconds of a second: the unit in which times are compared.
const NANOSECONDS: f64 = 1e9;

pub use gpt::selene;

/// Kinds of rows that state a speed.
const KINDS: [&str; 17] = [
    "gpu_hours",
    "throughput",
    "gpu_hours_per_token",
    "flops_per_token",
    "tflops",
    "mfu",
    "step_time",
    "iteration_time",
    "layer_time_ms",
    "total_flops",
    "chinchilla_optimal",
    "train_setup",
    "training_time_estimate",
    "tokens_per_s",
    "layer_time",
    "time",
    "hfu",
];

/// True if the row is one of a table of speeds.
pub fn is_speed(row: Fields<'_>) -> bool {
    row.text("/kind").is_ok_and(|kind| KINDS.contains(&kind))
}

/// A row of a table of speeds.
pub fn speed(index: usize, row: Fields<'_>) -> Row {
    let mut groups = vec![("kind", row.text("/kind").unwrap_or_default().to_owned())];
    groups.extend(row.text("/family").map(|family| ("family", family.to_owned())));
    let outcome = outcome(row);
    if outcome.is_ok() {
        groups.push(("time", standing(row).to_owned()));
    }
    Row { id: super::id(index, row), groups, outcome, without: Vec::new() }
}

/// The value of a row's group `time`: where the time was measured, or how fully the row states the
/// settings that decide it.
fn standing(row: Fields<'_>) -> &'static str {
    match row.text("/family") {
        Ok("sc21" | "korthikanti") => SELENE,
        Ok("megatron_bridge") if bridge::lacks_configuration(row) => LACKING,
        _ => COMPLETE,
    }
}

/// Rows measured on Selene.
pub const SELENE: &str = "Selene";
/// Rows that state all that decides the time.
pub const COMPLETE: &str = "complete";
/// Rows whose time changed by up to 1.6 times from release to release at equal settings:
/// dispatcher, fused kernels and recomputed modules of mixtures of experts are not in them.
pub const LACKING: &str = "software not stated";

fn outcome(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    match (row.text("/family").unwrap_or_default(), row.text("/kind")?) {
        ("sc21", _) => gpt::sc21(row),
        ("korthikanti", "iteration_time") => gpt::iteration(row),
        ("korthikanti", "layer_time_ms") => gpt::layer(row),
        ("llm_foundry", _) => foundry::outcome(row),
        ("megatron_bridge", _) => bridge::outcome(row),
        ("maxtext", _) => {
            Err("maxtext: neither the layout nor the TPU's links and kernels are known".to_owned())
        }
        (_, "step_time") => gpt::step_time(row),
        (_, "gpu_hours" | "throughput" | "gpu_hours_per_token") => {
            Err("a whole training: layout, batch and micro-batch are not in the row".to_owned())
        }
        (_, "tflops" | "mfu") => gpt::bloom(row),
        _ => Err("arithmetic on FLOPs, no measured time".to_owned()),
    }
}

/// The cluster of a row: accelerators of that id with the network their vendor sells them with.
pub fn cluster(id: &str) -> Result<Cluster, String> {
    let row = catalog::accelerator(id).ok_or_else(|| format!("{id} is no known accelerator"))?;
    Ok(Cluster {
        accelerator: Accelerator { memory: Bytes(u64::MAX), ..row.accelerator.clone() },
        overheads: Overheads::NONE,
        speed: catalog::speed(row.id),
        host: headroom::config::Host::ASSUMED,
        grid_grams_per_kwh: 0.0,
    })
}

/// Our step beside the measured seconds.
pub fn compare(
    model: ModelConfig,
    run: TrainingRun,
    layout: ParallelLayout,
    gpu: &str,
    seconds: f64,
) -> Result<Comparison, String> {
    compare_on(cluster(gpu)?, model, run, layout, seconds)
}

/// Our step beside the measured seconds, on a cluster whose network is known.
pub fn compare_on(
    cluster: Cluster,
    model: ModelConfig,
    run: TrainingRun,
    layout: ParallelLayout,
    seconds: f64,
) -> Result<Comparison, String> {
    let job =
        Job::new(model, Run::Training(run), layout, cluster).map_err(|error| error.to_string())?;
    // Frameworks place an uneven rest of layers by hand; the engine forbids it, the time of it is
    // known.
    let mut blockers = headroom::estimator::blockers(&job).into_iter();
    if let Some(blocker) =
        blockers.find(|found| !matches!(found, Blocker::Pipeline { .. } | Blocker::Chunks { .. }))
    {
        return Err(format!("the engine takes the layout for impossible: {blocker}"));
    }
    let step = step(&job).ok_or("the accelerator's rates are not known")?;
    Ok(times(step.seconds.0, seconds))
}

/// Seconds beside seconds.
pub fn times(ours: f64, measured: f64) -> Comparison {
    Comparison {
        quantity: Quantity::StepTime,
        ours: rounded(ours * NANOSECONDS),
        measured: rounded(measured * NANOSECONDS),
    }
}

/// A model in the shape of GPT-2 and GPT-3: layer norms, GELU, biases, learned positions, a tied
/// head.
pub fn gpt(
    hidden_size: u64,
    layers: u64,
    heads: u64,
    vocab_size: u64,
    positions: u64,
) -> ModelConfig {
    use headroom::config::{HiddenAct, MlpKind, Normalization, PositionEmbedding};
    ModelConfig {
        hidden_size,
        intermediate_size: 4 * hidden_size,
        num_hidden_layers: layers,
        num_attention_heads: heads,
        num_key_value_heads: heads,
        head_dim: hidden_size / heads.max(1),
        vocab_size,
        position_rows: positions,
        normalization: Normalization::LayerNorm,
        mlp: MlpKind::Plain,
        hidden_act: HiddenAct::Gelu,
        position_embedding: PositionEmbedding::Learned,
        attention_bias: true,
        attention_output_bias: true,
        mlp_bias: true,
        tie_word_embeddings: true,
        ..ModelConfig::plain()
    }
}
