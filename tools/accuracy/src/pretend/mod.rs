//! Rows of PyTorch's own CUDA allocator: training steps on a GPU that only pretends to compute, and
//! on a real one.
//!
//! On both, kernels, autograd and the caching allocator are PyTorch's own; see
//! `tests/data/cuda/README.md`. Two figures of a row are compared: the highest sum of allocated
//! tensors, and what the allocator had reserved from the driver for them. A row that ended out of
//! memory has no peak: it is compared by whether ours does not find room either. Rows of a real GPU
//! state the median time of a step as well.

mod cuda;
mod deepspeed;
mod megatron;
mod real;
mod torch;
mod trainer;

use headroom::catalog;
use headroom::config::{
    Accelerator, Cluster, DropKey, Dropout, Job, ModelConfig, Overheads, ParallelLayout, Run,
    TrainingRun,
};
use headroom::estimator::{
    DeviceMemory, NotReplayed, blockers, device_memory, device_memory_under, memory_by_kind,
    rank_device_memory, stage_ledger,
};
use headroom::hardware::allocator::Settings;
use headroom::units::Bytes;
use serde_json::Value;

use super::row::{Comparison, Fields, Group, Quantity, Row, sharding, stack};
use super::truth::{NO_OVERHEAD, attention, imported, optimizer, recompute};
use super::tuning;

/// Bytes that the pretended H100 has in all.
const CARD: u64 = 85_520_809_984;

/// Bytes that its driver keeps for the context.
const CONTEXT: u64 = 512 << 20;

/// A row as a job, and the settings of the allocator under it.
#[derive(Debug)]
pub struct Pretended {
    /// The job, on a card whose memory is all that the allocator may reserve.
    pub job: Job,
    /// True if segments may grow (`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`).
    pub expandable_segments: bool,
    /// The measured rank; `None`: the most loaded one.
    pub rank: Option<u64>,
    /// Settings of the allocator that no input states; `None`: those of the job.
    pub settings: Option<Settings>,
}

/// The job on the pretended card, with nothing outside the allocator and the most loaded rank: the
/// allocator's figures are compared alone.
pub fn on_the_card(job: &Job) -> Result<Pretended, String> {
    let expandable_segments = job.cluster().overheads.expandable_segments;
    let accelerator =
        Accelerator { memory: Bytes(CARD.saturating_sub(CONTEXT)), ..NO_OVERHEAD.accelerator };
    let cluster = Cluster {
        accelerator,
        overheads: Overheads { expandable_segments, ..Overheads::NONE },
        ..NO_OVERHEAD
    };
    let job = Job::new(job.model().clone(), job.run().clone(), *job.layout(), cluster)
        .map_err(|error| error.to_string())?;
    Ok(Pretended { job, expandable_segments, rank: None, settings: None })
}

/// Bytes that the allocator reserves at most for a row's job; `None` where the engine does not know
/// the order of allocations.
pub fn reserved_of(row: &Pretended) -> Option<Bytes> {
    replayed(row).ok().map(|memory| memory.reserved)
}

/// Memory of the measured rank, or of the one that holds most.
fn replayed(row: &Pretended) -> Result<DeviceMemory, NotReplayed> {
    match (&row.settings, row.rank) {
        (Some(settings), _) => device_memory_under(&row.job, settings),
        (None, Some(rank)) => rank_device_memory(&row.job, rank),
        (None, None) => device_memory(&row.job),
    }
}

/// Bytes of the blocks that tensors sit in at the peak on the measured rank; where the order of
/// allocations is not known, bytes of the tensors: our ledger without context, communicators and
/// reserves, which [`NO_OVERHEAD`] leaves out.
pub fn allocated_of(row: &Pretended) -> Bytes {
    let layout = row.job.layout();
    let stage = row.rank.map(|rank| rank / (layout.world_size() / layout.p().max(1)).max(1));
    let ledger =
        || stage.and_then(|stage| stage_ledger(&row.job, stage)).map(|ledger| ledger.total());
    let tensors = || ledger().unwrap_or_else(|| memory_by_kind(&row.job).into_iter().sum());
    replayed(row).map_or_else(|_| tensors(), |memory| memory.allocated)
}

/// The kinds of rows that are read here.
pub fn is_pretended(row: Fields<'_>) -> bool {
    matches!(row.text("/kind"), Ok("pretend_cuda" | "pretend_framework")) || real::is_real(row)
}

/// A row of the pretended GPU.
pub fn pretended(index: usize, row: Fields<'_>) -> Row {
    let mut groups: Vec<Group> = vec![("framework", framework(row).to_owned())];
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
    groups.extend(real::device(row).map(|device| ("device", device)));
    let outcome = expressed(row).and_then(|ours| {
        groups.push((
            "allocator",
            if ours.expandable_segments { "expandable segments" } else { "default" }.to_owned(),
        ));
        compared(row, &ours)
    });
    Row { id: super::id(index, row), groups, outcome, without: Vec::new() }
}

/// The group of rows that it belongs to, by the program that trains.
pub fn framework(row: Fields<'_>) -> &str {
    match row.text("/framework") {
        Ok("ddp") => "DDP",
        Ok("fsdp1") => "FSDP1",
        Ok("fsdp2") => "FSDP2",
        Ok("deepspeed") => "DeepSpeed",
        Ok("megatron") => "Megatron-Core",
        Ok("trainer") => "Trainer, TRL, peft",
        Ok("torchtitan") => "torchtitan 0.3",
        Ok("torchtitan_2025") => "torchtitan 0.1",
        Ok(other) => other,
        Err(_) => "PyTorch",
    }
}

/// The row as a job, or the setting that the engine does not know.
pub fn expressed(row: Fields<'_>) -> Result<Pretended, String> {
    if row.text("/kind") == Ok("pretend_cuda")
        || (real::is_real(row) && row.is_absent("/framework"))
    {
        return cuda::pretended(row);
    }
    is_plain_pytorch(row)?;
    match row.text("/framework")? {
        "ddp" | "fsdp1" | "fsdp2" => torch::pretended(row),
        "deepspeed" => deepspeed::pretended(row),
        "trainer" => trainer::pretended(row),
        "megatron" if keeps_workspaces(row) => {
            Err("workspaces that PyTorch keeps beside Megatron-LM's".to_owned())
        }
        "megatron" if further_settings(row)?.is_some() => {
            Err("further settings of the allocator under Megatron-LM".to_owned())
        }
        "megatron" => megatron::pretended(row),
        "torchtitan" | "torchtitan_2025" => trainer::torchtitan(row),
        "torchtune" => trainer::torchtune(row),
        other => Err(format!("the framework {other} is not modelled")),
    }
}

/// The library's figures beside the row's measured ones.
fn compared(row: Fields<'_>, ours: &Pretended) -> Result<Vec<Comparison>, String> {
    let allocated = allocated_of(ours);
    let reserved = reserved_of(ours);
    let room = ours.job.cluster().accelerator.memory;
    let ended = !row.is_absent("/measured/out_of_memory");
    let short = reserved.unwrap_or(allocated) > room;
    let mut all = vec![Comparison {
        quantity: Quantity::OutOfMemory,
        ours: u64::from(short),
        measured: u64::from(ended),
    }];
    if !ended {
        let measured = row.count("/measured/peak_allocated")?;
        all.push(Comparison { quantity: Quantity::Allocated, ours: allocated.0, measured });
        let measured = row.count("/measured/peak_reserved")?;
        all.extend(reserved.map(|reserved| Comparison {
            quantity: Quantity::Reserved,
            ours: reserved.0,
            measured,
        }));
        all.extend(real::step_time(row, &ours.job)?);
    }
    Ok(all)
}

/// Fails with the first key of that group which is none of those known; an absent group has none.
fn only_known(row: Fields<'_>, pointer: &str, known: &[&str]) -> Result<(), String> {
    let Some(group) = row.0.pointer(pointer).and_then(Value::as_object) else { return Ok(()) };
    let name = pointer.trim_start_matches('/');
    match group.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("{name}.{key} is not understood")),
        None => Ok(()),
    }
}

/// The allocator's settings, as `PYTORCH_CUDA_ALLOC_CONF` would say them.
fn settings(row: Fields<'_>) -> Result<Settings, String> {
    if row.is_absent("/run/alloc_conf") {
        return Ok(Settings::default());
    }
    Settings::from_conf(row.text("/run/alloc_conf")?).map_err(|error| error.to_string())
}

/// True if segments may grow.
fn expandable_segments(row: Fields<'_>) -> Result<bool, String> {
    settings(row).map(|settings| settings.expandable_segments)
}

/// The allocator's settings where they say more than whether segments may grow, which a job states.
fn further_settings(row: Fields<'_>) -> Result<Option<Settings>, String> {
    let stated = settings(row)?;
    let of_job =
        Settings { expandable_segments: stated.expandable_segments, ..Settings::default() };
    Ok((stated != of_job).then_some(stated))
}

/// The card, with the allocator's setting; `gpu_total_bytes` of the run is another amount of
/// memory, and 0 all that the card has.
fn card(row: Fields<'_>) -> Result<Cluster, String> {
    let stated =
        if row.is_absent("/run/gpu_total_bytes") { 0 } else { row.count("/run/gpu_total_bytes")? };
    let room = match stated {
        0 if real::is_real(row) => real::room(row)?,
        0 => CARD.saturating_sub(CONTEXT),
        stated => stated.saturating_sub(CONTEXT),
    };
    let accelerator = Accelerator { memory: Bytes(room), ..NO_OVERHEAD.accelerator };
    let overheads = Overheads { expandable_segments: expandable_segments(row)?, ..Overheads::NONE };
    Ok(Cluster { accelerator, overheads, ..NO_OVERHEAD })
}

/// Fails for settings of PyTorch that change a step's memory and that the engine does not know.
fn is_plain_pytorch(row: Fields<'_>) -> Result<(), String> {
    let kernels = row.0.pointer("/measured/sdpa_kernel").and_then(Value::as_array);
    let chosen = kernels.into_iter().flatten().filter_map(Value::as_str);
    // FlashAttention knows 16 bits alone: in fp32 the engine, like PyTorch, takes the
    // memory-efficient kernel.
    let fused = if row.text("/run/precision") == Ok("fp32") {
        "ScaledDotProductEfficientAttention"
    } else {
        "ScaledDotProductFlashAttention"
    };
    let masked = "ScaledDotProductEfficientAttention";
    let by_masks = model(row).is_ok_and(|model| {
        gives_masks(row) && is_masked(row, &model) || model.value_head_dim() != query_width(&model)
    });
    for kernel in chosen.filter(|kernel| *kernel != "no_grad") {
        if !(kernel.starts_with(fused) || by_masks && kernel.starts_with(masked)) {
            return Err(format!("attention by PyTorch's kernel {kernel} is not modelled"));
        }
    }
    Ok(())
}

/// True if transformers gives layers with a window a mask: a row that says nothing of attention was
/// run by its `sdpa`.
fn gives_masks(row: Fields<'_>) -> bool {
    row.text("/run/attention").unwrap_or("sdpa") == "sdpa"
}

/// True if the text fills the window of some layers, or all have a mask.
fn is_masked(row: Fields<'_>, model: &ModelConfig) -> bool {
    let length = row.count("/run/seq_length").unwrap_or_default();
    let always = model.family.modules().masks_every_layer;
    always || model.sliding_window.is_some_and(|window| length >= window)
}

/// Width of a query head, for which flash attention needs values of the same.
fn query_width(model: &ModelConfig) -> u64 {
    model.mla.map_or(model.head_dim, |mla| mla.qk_head_dim())
}

/// True if PyTorch keeps cuBLAS's workspaces for good.
fn keeps_workspaces(row: Fields<'_>) -> bool {
    row.flag("/run/cublas_workspace_cache").unwrap_or(false)
}

/// Keys of `run` that every framework's rows may have. `steps` says how often the step was
/// repeated.
const RUN: [&str; 10] = [
    "seq_length",
    "micro_batch_size",
    "precision",
    "recompute",
    "steps",
    "gradient_accumulation_steps",
    "alloc_conf",
    "gpu_total_bytes",
    "attention",
    "cublas_workspace_cache",
];

/// Fails for keys of `run` that are neither every framework's nor this one's.
fn is_plain_run(row: Fields<'_>, further: &[&str]) -> Result<(), String> {
    only_known(row, "/run", &RUN.iter().chain(further).copied().collect::<Vec<_>>())
}

/// The run of a framework's row as far as all rows say it alike: a transformers model, AdamW, the
/// kernels as they are written.
///
/// Precision and optimizer differ by framework. The global batch is that of one rank; [`job`]
/// multiplies it.
fn plain_run(row: Fields<'_>) -> Result<TrainingRun, String> {
    let micro_batch_size = row.count("/run/micro_batch_size")?;
    let steps = row.degree("/run/gradient_accumulation_steps")?.get();
    Ok(TrainingRun {
        seq_length: row.count("/run/seq_length")?,
        global_batch_size: micro_batch_size * steps,
        micro_batch_size: Some(micro_batch_size),
        optimizer: optimizer("adamw")?,
        stack: stack("eager")?,
        // The stand-in `truth_fa` keeps what the kernel keeps. Which kernel PyTorch took is checked
        // before.
        attention: match row.text("/run/attention").unwrap_or("sdpa") {
            "sdpa" | "truth_fa" => attention("flash")?,
            other => attention(other)?,
        },
        masks_windows: gives_masks(row),
        recompute: match row.text("/run/recompute")? {
            // The stack says what is selected: attention's scores, or all but every second product.
            "selective" | "selective_op" => headroom::config::Recompute::Selective,
            other => recompute(other)?,
        },
        ..TrainingRun::plain()
    })
}

/// As many data-parallel ranks as there are, under that sharding.
fn data_parallel(row: Fields<'_>, key: &str) -> Result<ParallelLayout, String> {
    Ok(ParallelLayout {
        data_parallel_size: row.degree("/parallel/size")?,
        sharding: sharding(key)?,
        ..ParallelLayout::SINGLE
    })
}

/// Sizes that `GPT2Config` of transformers 5.23 has where a file is silent: a row's model was built
/// by that class. A file that somebody pastes without them is refused, so the library does not know
/// them.
const GPT2_SIZES: [(&str, u64); 5] = [
    ("n_embd", 768),
    ("n_layer", 12),
    ("n_head", 12),
    ("n_positions", 1024),
    ("vocab_size", 50_257),
];

/// A row's `config` with the sizes of its class.
fn filled(config: &Value) -> Value {
    let mut config = config.clone();
    let is_gpt2 = config.get("model_type").and_then(Value::as_str) == Some("gpt2");
    if let Some(keys) = config.as_object_mut().filter(|_| is_gpt2) {
        for (key, size) in GPT2_SIZES {
            keys.entry(key).or_insert_with(|| size.into());
        }
    }
    config
}

/// The dropout of a row's model: what its file says, else its class's defaults. A model of the
/// catalog was built without.
fn dropout(row: Fields<'_>, model: &ModelConfig) -> Dropout {
    let drops = model.family.modules().drops;
    let Some(config) = row.0.get("config") else { return Dropout::NONE };
    let is_on = |key: Option<DropKey>| {
        let stated = |key: DropKey| config.get(key.key).and_then(Value::as_f64);
        key.is_some_and(|key| stated(key).unwrap_or(key.default) > 0.0)
    };
    Dropout {
        embedding: is_on(drops.embedding),
        residual: is_on(drops.residual),
        attention: is_on(drops.attention),
    }
}

/// The architecture of a row: its `config`, or the catalog's of that name.
fn model(row: Fields<'_>) -> Result<ModelConfig, String> {
    if row.is_absent("/catalog") {
        return imported(&filled(row.value("/config")?));
    }
    let name = row.text("/catalog")?;
    catalog::model(name)
        .map(|found| found.config.clone())
        .ok_or_else(|| format!("the model {name} is not in the catalog"))
}

/// The job of a row: its model, that run on every data-parallel rank, its card.
fn job(row: Fields<'_>, run: &TrainingRun, layout: ParallelLayout) -> Result<Pretended, String> {
    let model = model(row)?;
    let dropout = dropout(row, &model);
    let mut run = TrainingRun {
        global_batch_size: run.global_batch_size * layout.d(),
        dropout,
        ..run.clone()
    };
    run.library.cublas_workspace_cache = keeps_workspaces(row);
    let job = Job::new(model, Run::Training(run), layout, card(row)?)
        .map_err(|error| error.to_string())?;
    tuning::is_modelled(&job)?;
    // A job that nobody can run is not compared: a rule of the stack, or of its parts, says why.
    if let Some(blocker) = blockers(&job).first() {
        return Err(blocker.to_string());
    }
    Ok(Pretended {
        job,
        expandable_segments: expandable_segments(row)?,
        rank: None,
        settings: further_settings(row)?,
    })
}
