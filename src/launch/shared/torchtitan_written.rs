//! The keys of torchtitan that a scenario is written as, and its names of models.

use crate::catalog;
use crate::launch::Writing;
use crate::launch::shared::{is_on, whole, word};
use crate::scenario::FieldId;

/// Models by name and flavour, with the repository of a model that has these sizes.
pub const MODELS: [(&str, &str, &str); 20] = [
    ("llama3", "8B", "meta-llama/Llama-3.1-8B"),
    ("llama3", "8B", "meta-llama/Meta-Llama-3-8B"),
    ("llama3", "70B", "meta-llama/Llama-3.1-70B"),
    ("llama3", "70B", "meta-llama/Meta-Llama-3-70B"),
    ("llama3", "405B", "meta-llama/Llama-3.1-405B"),
    ("llama3", "1B", "meta-llama/Llama-3.2-1B"),
    ("llama3", "3B", "meta-llama/Llama-3.2-3B"),
    ("qwen3", "0.6B", "Qwen/Qwen3-0.6B"),
    ("qwen3", "1.7B", "Qwen/Qwen3-1.7B"),
    ("qwen3", "4B", "Qwen/Qwen3-4B"),
    ("qwen3", "8B", "Qwen/Qwen3-8B"),
    ("qwen3", "14B", "Qwen/Qwen3-14B"),
    ("qwen3", "32B", "Qwen/Qwen3-32B"),
    ("qwen3", "30B-A3B", "Qwen/Qwen3-30B-A3B"),
    ("qwen3", "235B-A22B", "Qwen/Qwen3-235B-A22B"),
    ("deepseek_v3", "671B", "deepseek-ai/DeepSeek-V3"),
    ("llama4", "17bx16e", "meta-llama/Llama-4-Scout-17B-16E"),
    ("llama4", "17bx128e", "meta-llama/Llama-4-Maverick-17B-128E"),
    ("gpt_oss", "20b", "openai/gpt-oss-20b"),
    ("gpt_oss", "120b", "openai/gpt-oss-120b"),
];

pub fn write(writing: &mut Writing<'_>) -> String {
    let scenario = writing.scenario;
    name_model(writing);
    let (gpus, micro) = (whole(scenario, FieldId::Gpus), whole(scenario, FieldId::MicroBatchSize));
    let staged = whole(scenario, FieldId::PipelineParallel) > 1;
    let key = if staged {
        "parallelism.pipeline_parallel_microbatch_size"
    } else {
        "training.local_batch_size"
    };
    writing.say(key, Some(micro.to_string()), &[FieldId::MicroBatchSize]);
    let all = whole(scenario, FieldId::GlobalBatchSize);
    if staged {
        let degrees =
            [FieldId::TensorParallel, FieldId::PipelineParallel, FieldId::ContextParallel];
        let model = degrees.into_iter().map(|id| whole(scenario, id)).product::<u64>().max(1);
        let local = all / (gpus / model).max(1);
        writing.say("training.local_batch_size", Some(local.to_string()), &[]);
    }
    writing.say("training.global_batch_size", Some(all.to_string()), &[FieldId::GlobalBatchSize]);
    formats(writing);
    let mode = word(scenario, FieldId::Recompute).to_owned();
    writing.say("activation_checkpoint.mode", Some(mode.clone()), &[FieldId::Recompute]);
    if mode == "selective" {
        writing.say("activation_checkpoint.selective_ac_option", Some("op".to_owned()), &[]);
    }
    let offload = [FieldId::OffloadParameters, FieldId::OffloadOptimizer];
    if offload.into_iter().all(|id| is_on(scenario, id)) {
        writing.say("training.enable_cpu_offload", None, &offload);
    }
    if staged || writing.differs(FieldId::ReshardAfterForward) {
        let policy = if is_on(scenario, FieldId::ReshardAfterForward) { "always" } else { "never" };
        writing.say(
            "parallelism.fsdp_reshard_after_forward",
            Some(policy.to_owned()),
            &[FieldId::ReshardAfterForward],
        );
    }
    let splits = whole(scenario, FieldId::TensorParallel) > 1;
    if splits && !is_on(scenario, FieldId::SequenceParallel) {
        writing.say("parallelism.enable_sequence_parallel", Some("false".to_owned()), &[]);
    }
    if splits || !is_on(scenario, FieldId::SequenceParallel) {
        writing.is_said(&[FieldId::SequenceParallel]);
    }
    kernels(writing);
    schedule(writing, staged);
    writing.table();
    writing.is_said(&[FieldId::Gpus]);
    if word(scenario, FieldId::Sharding) == "fsdp" {
        writing.is_said(&[FieldId::Sharding]);
    }
    let keys = writing.as_toml();
    format!(
        "cat > torchtitan.toml <<'EOF'\n{keys}EOF\nNGPU={gpus} CONFIG_FILE=torchtitan.toml \
         ./run_train.sh\n"
    )
}

/// Writes the formats of weights and products.
fn formats(writing: &mut Writing<'_>) {
    let scenario = writing.scenario;
    match word(scenario, FieldId::Precision) {
        "bf16-pure" => {
            writing.say("training.dtype", Some("bfloat16".to_owned()), &[FieldId::Precision]);
        }
        "fp32" => writing.say(
            "training.mixed_precision_param",
            Some("float32".to_owned()),
            &[FieldId::Precision],
        ),
        "fsdp-mixed" => writing.is_said(&[FieldId::Precision]),
        _ => {}
    }
}

/// Writes the order of a pipeline's micro-batches.
fn schedule(writing: &mut Writing<'_>, staged: bool) {
    let scenario = writing.scenario;
    if staged {
        if !is_on(scenario, FieldId::AccountForEnds) {
            for key in [
                "parallelism.pipeline_parallel_first_stage_less_layers",
                "parallelism.pipeline_parallel_last_stage_less_layers",
            ] {
                writing.say(key, Some("0".to_owned()), &[]);
            }
        }
        writing.is_said(&[FieldId::AccountForEnds]);
    }
    if let schedule @ ("1f1b" | "gpipe") = word(scenario, FieldId::PipelineSchedule) {
        let name = if schedule == "gpipe" { "GPipe" } else { "1F1B" };
        writing.say("parallelism.pipeline_parallel_schedule", Some(name.to_owned()), &[]);
        if staged || schedule == "1f1b" {
            writing.is_said(&[FieldId::PipelineSchedule]);
        }
    }
}

/// Writes float8, and which parts are compiled.
fn kernels(writing: &mut Writing<'_>) {
    let scenario = writing.scenario;
    let recipe = word(scenario, FieldId::Float8).replace('-', "_");
    if recipe != "none" {
        writing.say(
            "model.converters",
            Some("[\"quantize.linear.float8\"]".to_owned()),
            &[FieldId::Float8],
        );
        writing.say("quantize.linear.float8.recipe_name", Some(recipe), &[]);
    }
    if word(scenario, FieldId::Loss) == "not-compiled" && is_on(scenario, FieldId::Compile) {
        writing.say("compile.components", Some("[\"model\"]".to_owned()), &[FieldId::Loss]);
    }
}

fn name_model(writing: &mut Writing<'_>) {
    let repository = writing.model();
    let own = catalog::model(&repository).map(|row| row.id);
    let found = MODELS
        .iter()
        .find(|(.., known)| own.is_some() && catalog::model(known).map(|row| row.id) == own);
    if let Some((name, flavor, known)) = found {
        writing.say("model.name", Some((*name).to_owned()), &[]);
        writing.say("model.flavor", Some((*flavor).to_owned()), &[]);
        let last = known.rsplit('/').next().unwrap_or(known);
        writing.say("model.hf_assets_path", Some(format!("./assets/hf/{last}")), &[]);
    } else {
        writing.say("model.flavor", Some(repository), &[]);
        writing.lacks("torchtitan has no model of these sizes under a name that is known here.");
    }
}
