//! Rows measured with PyTorch's own memory tracker and FLOP counter on real transformers models.

use std::sync::LazyLock;

use headroom::config::{
    Accelerator, AttentionKernel, Cluster, Dispatch, Images, Job, ModelConfig, Optimizer,
    OptimizerImplementation, Overheads, ParallelLayout, PeakRates, Recompute, Run,
    TrainingPrecision, TrainingRun, Tuning,
};
use headroom::estimator::{estimate, measured};
use headroom::import::config_json;
use headroom::ops;
use headroom::units::Bytes;
use serde_json::{Map, Value};

use super::row::{Comparison, Fields, Group, Quantity, Row, rounded, sharding, stack};
use super::{tracker, tuning};

/// A cluster without any memory outside the model: only what PyTorch allocates is compared.
pub const NO_OVERHEAD: Cluster = Cluster {
    accelerator: Accelerator {
        memory: Bytes(u64::MAX),
        memory_bandwidth: None,
        peak: PeakRates { bf16: None, fp16: None, fp8: None, int8: None, tf32: None, fp32: None },
        accelerators_per_node: 8,
        price_per_hour: 0.0,
    },
    overheads: Overheads::NONE,
    speed: headroom::config::Speed::GENERIC,
    host: headroom::config::Host::ASSUMED,
    grid_grams_per_kwh: 0.0,
};

/// A row of memory on one device, under FSDP, tensor parallelism or with LoRA.
pub fn memory(index: usize, row: Fields<'_>) -> Row {
    let mut groups: Vec<Group> = Vec::new();
    for (name, pointer) in [
        ("kind", "/kind"),
        ("precision", "/run/precision"),
        ("kernels", "/run/kernels"),
        ("attention", "/run/attention"),
        ("recompute", "/run/recompute"),
        ("family", "/config/model_type"),
    ] {
        groups.extend(row.text(pointer).map(|value| (name, value.to_owned())));
    }
    // Kinds that share modules are as sure as the one whose modules they are.
    let modules = row
        .value("/config")
        .ok()
        .and_then(|config| imported(config).ok())
        .map(|model| model.family_of_shape());
    groups.extend(modules.map(|family| ("modules", family.model_type().to_owned())));
    Row { id: super::id(index, row), groups, outcome: memory_outcome(row), without: Vec::new() }
}

fn memory_outcome(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let job = memory_job(row)?;
    tuning::is_modelled(&job)?;
    let (after_forward, peak) =
        measured(&job).ok_or("the step is not played operator by operator")?;
    let [parameters, _, _, activations, ..] = after_forward;
    let total = if job.layout().t() > 1 {
        // The tracker counts what one rank holds of split matrices.
        parameters.0.saturating_mul(8)
            / job.training().map_or(8, |run| run.recipe().parameter.bits())
    } else {
        ops::lower(&ops::lowering(&job)).parameters()
    };
    let compare = |quantity, ours, pointer: &str| {
        Ok::<_, String>(Comparison { quantity, ours, measured: row.count(pointer)? })
    };
    let held = tracker::kept_alive(&job);
    let peak = peak.into_iter().sum::<Bytes>().0 + 2 * held;
    let peak = peak
        .max(tracker::held_by_hooks(&job).unwrap_or(0))
        .max(tracker::held_beside_source(&job).unwrap_or(0));
    let mut all = vec![
        compare(Quantity::Parameters, total, "/measured/parameters")?,
        compare(Quantity::Activations, activations.0 + held, "/measured/after_forward_bytes/act")?,
        compare(
            Quantity::Peak,
            peak.max(tracker::stand_ins(&job).unwrap_or(0)),
            "/measured/peak_bytes/total",
        )?,
    ];
    if !row.is_absent("/measured/trainable_parameters") {
        all.push(tuning::learns(&job, row)?);
    }
    Ok(all)
}

fn memory_job(row: Fields<'_>) -> Result<Job, String> {
    let model = imported(row.value("/config")?)?;
    let layout = layout(row)?;
    let micro_batch_size = row.count("/run/micro_batch_size")?;
    let steps = row.count("/run/gradient_accumulation_steps")?;
    let run = TrainingRun {
        seq_length: row.count("/run/seq_length")?,
        source_length: if row.is_absent("/run/source_length") {
            None
        } else {
            Some(row.count("/run/source_length")?)
        },
        global_batch_size: micro_batch_size * steps * layout.d(),
        micro_batch_size: Some(micro_batch_size),
        precision: precision(row.text("/run/precision")?)?,
        optimizer: optimizer(row.text("/run/optimizer")?)?,
        optimizer_implementation: implementation(row.text("/run/optimizer_implementation")?)?,
        stack: stack(row.text("/run/kernels")?)?,
        attention: attention(row.text("/run/attention")?)?,
        recompute: recompute(row.text("/run/recompute")?)?,
        dispatch: Dispatch::CpuTracker,
        images: Images {
            per_sequence: row.count_or_none("/run/images_per_sequence")?,
            width: row.count_or_none("/run/image_width")?,
            height: row.count_or_none("/run/image_height")?,
            limits: [0; 2],
        },
        tuning: Tuning {
            frozen_tower: !row.is_absent("/run/freeze_vision_tower")
                && row.flag("/run/freeze_vision_tower")?,
            ..tuning::tuning(row)?.unwrap_or(Tuning::FULL)
        },
        ..TrainingRun::plain()
    };
    Job::new(model, Run::Training(run), layout, NO_OVERHEAD).map_err(|error| error.to_string())
}

/// The engine's member of that word in a row.
pub fn precision(word: &str) -> Result<TrainingPrecision, String> {
    match word {
        "bf16" => Ok(TrainingPrecision::Bf16Pure),
        "fp32" => Ok(TrainingPrecision::Fp32),
        "amp_bf16" => Ok(TrainingPrecision::AmpBf16),
        "fsdp_mixed" => Ok(TrainingPrecision::FsdpMixed),
        other => Err(format!("the precision {other} is not modelled")),
    }
}

/// The engine's member of that word in a row.
pub fn optimizer(word: &str) -> Result<Optimizer, String> {
    Optimizer::of_name(word).ok_or_else(|| format!("the optimizer {word} is not modelled"))
}

/// The engine's member of that word in a row.
pub fn implementation(word: &str) -> Result<OptimizerImplementation, String> {
    match word {
        "for_loop" => Ok(OptimizerImplementation::ForLoop),
        "foreach" => Ok(OptimizerImplementation::Foreach),
        "fused" => Ok(OptimizerImplementation::Fused),
        other => Err(format!("the optimizer implementation {other} is not modelled")),
    }
}

/// The engine's member of that word in a row.
pub fn attention(word: &str) -> Result<AttentionKernel, String> {
    match word {
        "flash" => Ok(AttentionKernel::Flash),
        "eager" => Ok(AttentionKernel::Standard),
        other => Err(format!("the attention kernel {other} is not modelled")),
    }
}

/// The engine's member of that word in a row.
pub fn recompute(word: &str) -> Result<Recompute, String> {
    match word {
        "none" => Ok(Recompute::None),
        "full" => Ok(Recompute::Full),
        other => Err(format!("the recomputation {other} is not modelled")),
    }
}

/// Keys that a row's `parallel` may have.
const PARALLEL: [&str; 4] =
    ["fully_sharded", "reshard_after_forward", "reduce_dtype", "tensor_parallel"];

fn layout(row: Fields<'_>) -> Result<ParallelLayout, String> {
    let parallel = row.value("/parallel")?.as_object().ok_or("parallel is no group of keys")?;
    if let Some(key) = parallel.keys().find(|key| !PARALLEL.contains(&key.as_str())) {
        return Err(format!("the layout {key} is not modelled"));
    }
    let mut layout = ParallelLayout::SINGLE;
    layout.tensor_model_parallel_size = row.degree("/parallel/tensor_parallel")?;
    layout.data_parallel_size = row.degree("/parallel/fully_sharded")?;
    if parallel.contains_key("fully_sharded") {
        layout.sharding = sharding("fsdp")?;
        layout.reshard_after_forward = row.flag("/parallel/reshard_after_forward")?;
        layout.reduce_in_fp32 = match row.text("/parallel/reduce_dtype")? {
            "fp32" => true,
            "bf16" => false,
            other => return Err(format!("gradients reduced in {other} are not modelled")),
        };
    }
    Ok(layout)
}

/// The architecture of a row's `config`.
pub fn imported(config: &Value) -> Result<ModelConfig, String> {
    config_json(&config.to_string())
        .map(|imported| imported.config)
        .map_err(|error| error.to_string())
}

/// A row with a model's parameter count.
pub fn parameters(index: usize, row: Fields<'_>) -> Row {
    let groups = row
        .text("/config/model_type")
        .map(|family| ("family", family.to_owned()))
        .into_iter()
        .collect();
    let outcome = || {
        let model = imported(row.value("/config")?)?;
        let ours = ops::lower(&ops::Lowering::parameters_only(&model)).parameters();
        Ok(vec![Comparison {
            quantity: Quantity::Parameters,
            ours,
            measured: row.count("/parameters")?,
        }])
    };
    Row { id: super::id(index, row), groups, outcome: outcome(), without: Vec::new() }
}

/// A row of PyTorch's FLOP counter.
pub fn flops(index: usize, row: Fields<'_>) -> Row {
    let groups =
        row.text("/model").map(|family| ("family", family.to_owned())).into_iter().collect();
    Row { id: super::id(index, row), groups, outcome: flops_outcome(row), without: Vec::new() }
}

fn flops_outcome(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let config = match row.value("/config") {
        Ok(config) => config.clone(),
        Err(_) => shape(row.text("/model")?, row.count("/layers")?)?,
    };
    let batch = row.count("/mbs")?;
    let run = TrainingRun {
        seq_length: row.count("/seq")?,
        global_batch_size: batch,
        micro_batch_size: Some(batch),
        attention: attention(row.text("/attn")?)?,
        ..TrainingRun::plain()
    };
    let model = imported(&config)?;
    let job = Job::new(model, Run::Training(run), ParallelLayout::SINGLE, NO_OVERHEAD)
        .map_err(|error| error.to_string())?;
    let estimate = estimate(&job);
    let compute = estimate.compute.ok_or("no compute")?;
    let compare = |quantity, ours, pointer: &str| {
        Ok::<_, String>(Comparison { quantity, ours, measured: row.count(pointer)? })
    };
    Ok(vec![
        compare(Quantity::Parameters, estimate.parameters.total, "/params")?,
        compare(Quantity::ForwardFlops, rounded(compute.forward.0), "/forward_flops")?,
        compare(Quantity::BackwardFlops, rounded(compute.backward.0), "/backward_flops")?,
    ])
}

/// The models that truth rows call by name only.
static SHAPES: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("shapes.json")).unwrap_or_default());

/// The named model's `config.json`, cut to that many layers.
fn shape(name: &str, layers: u64) -> Result<Value, String> {
    let mut config = SHAPES
        .get(name)
        .cloned()
        .ok_or_else(|| format!("the row has no config, and {name} is not a known shape"))?;
    if let Some(keys) = config.as_object_mut() {
        for key in ["num_hidden_layers", "n_layer"] {
            if keys.contains_key(key) {
                keys.insert(key.to_owned(), layers.into());
            }
        }
        if let Some(Value::Array(types)) = keys.get_mut("layer_types") {
            types.truncate(usize::try_from(layers).unwrap_or(usize::MAX));
        }
    }
    Ok(config)
}
