//! Rows measured with Megatron-LM: B200, A100 (Korthikanti et al.), and its own functional tests.

mod b200;
mod golden;
mod selene;

use headroom::config::{Job, ModelConfig, ParallelLayout, Run, TrainingRun};
use headroom::units::Bytes;

use super::row::{Fields, Row};
use super::speed;
use super::truth::NO_OVERHEAD;

/// Bytes of one MiB.
const MIB: u64 = 1 << 20;
/// PyTorch's cuBLAS workspace before Hopper: `:4096:2:16:8` (`CublasHandlePool.cpp`), in KiB and
/// how many of them.
const OLD_CUBLAS_WORKSPACE: Bytes = Bytes((2 * 4096 + 8 * 16) << 10);

/// A job without memory outside PyTorch's allocator, which is what these rows state.
fn job(model: ModelConfig, run: TrainingRun, layout: ParallelLayout) -> Result<Job, String> {
    Job::new(model, Run::Training(run), layout, NO_OVERHEAD).map_err(|error| error.to_string())
}

/// Peaks of Megatron-LM on B200.
pub fn b200(index: usize, row: Fields<'_>) -> Row {
    let count = |pointer: &str| row.count(pointer).unwrap_or(1);
    let kind = if !row.is_absent("/config/num_experts") || count("/expert_model_parallel_size") > 1
    {
        "mixture of experts"
    } else if count("/context_parallel_size") > 1 {
        "context parallel"
    } else {
        "dense"
    };
    let groups = vec![
        ("time", speed::COMPLETE.to_owned()),
        ("kind", kind.to_owned()),
        ("kernels", "megatron".to_owned()),
    ];
    Row { id: super::id(index, row), groups, outcome: b200::outcome(row), without: Vec::new() }
}

/// Korthikanti et al.'s measurements on Selene.
pub fn selene(index: usize, row: Fields<'_>) -> Row {
    Row {
        id: super::id(index, row),
        groups: vec![("time", speed::SELENE.to_owned()), ("kernels", "megatron".to_owned())],
        outcome: selene::outcome(row).and_then(|mut found| {
            found.extend(speed::selene(row)?);
            Ok(found)
        }),
        without: Vec::new(),
    }
}

/// A row of the table of published training memory.
pub fn training_memory(index: usize, row: Fields<'_>) -> Row {
    let mut groups = Vec::new();
    groups.extend(row.text("/family").map(|family| ("family", family.to_owned())));
    let outcome = row.text("/family").and_then(|family| match family {
        "megatron_golden" => golden::outcome(row),
        other => Err(format!("{other}: {}", incomplete(other))),
    });
    Row { id: super::id(index, row), groups, outcome, without: Vec::new() }
}

/// The reason why rows of that family are not compared.
fn incomplete(family: &str) -> &'static str {
    match family {
        "zero_table1" | "zero_fig1" => {
            "rounded model states of round parameter counts; the engine is held to them in its own \
             tests"
        }
        "korthikanti" => {
            "evaluations of the paper's formulas; the engine is held to the formulas in its own \
             tests"
        }
        "bigscience_prequel" => {
            "whole GB as a driver shows them, of models whose layers were changed from row to row"
        }
        "torchtitan" | "fsdp_qlora" | "llama_recipes" => {
            "reserved memory of the allocator, of which the used part is not stated"
        }
        "unsloth" => "longest contexts of another program, without what it keeps",
        "llama_factory" | "qlora_paper" => "rules of thumb, not measurements",
        "litgpt" | "torchtune" | "torchtune_ladder" | "hf_bert_large" | "megatron_bridge" => {
            "sequence lengths, recomputation or optimizer are not in the row"
        }
        _ => "rows of this family are not modelled",
    }
}
