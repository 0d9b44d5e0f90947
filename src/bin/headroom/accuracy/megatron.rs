//! Rows measured with Megatron-LM: B200, A100 (Korthikanti et al.), and its own functional tests.

use super::row::{Fields, Row};

/// Peaks of Megatron-LM on B200.
pub fn b200(index: usize, row: Fields<'_>) -> Row {
    let count = |pointer: &str| row.count(pointer).unwrap_or(1);
    let kind = if !row.is_absent("/config/num_experts") || count("/expert_model_parallel_size") > 1 {
        "mixture of experts"
    } else if count("/context_parallel_size") > 1 {
        "context parallel"
    } else {
        "dense"
    };
    let outcome = Err("the stack megatron is not modelled yet".to_owned());
    Row { id: super::id(index, row), groups: vec![("kind", kind.to_owned()), ("kernels", "megatron".to_owned())], outcome }
}

/// Korthikanti et al.'s measurements on Selene.
pub fn selene(index: usize, row: Fields<'_>) -> Row {
    let outcome = Err("half-precision Megatron states of these rows are not modelled yet".to_owned());
    Row { id: super::id(index, row), groups: vec![("kernels", "korthikanti".to_owned())], outcome }
}

/// A row of the table of published training memory.
pub fn training_memory(index: usize, row: Fields<'_>) -> Row {
    let mut groups = Vec::new();
    groups.extend(row.text("/family").map(|family| ("family", family.to_owned())));
    let outcome = row.text("/family").and_then(|family| match family {
        "megatron_golden" => Err("the stack megatron is not modelled yet".to_owned()),
        other => Err(format!("{other}: {}", incomplete(other))),
    });
    Row { id: super::id(index, row), groups, outcome }
}

/// What rows of that family leave out.
fn incomplete(family: &str) -> &'static str {
    match family {
        "zero_table1" | "zero_fig1" => {
            "rounded model states of round parameter counts; the engine is held to them in its own tests"
        }
        "korthikanti" => "evaluations of the paper's formulas; the engine is held to the formulas in its own tests",
        "bigscience_prequel" => "whole GB as a driver shows them, of models whose layers were changed from row to row",
        "torchtitan" | "fsdp_qlora" | "llama_recipes" => "reserved memory of the allocator, of which the used part is not stated",
        "unsloth" => "longest contexts of another program, without what it keeps",
        "llama_factory" | "qlora_paper" => "rules of thumb, not measurements",
        "litgpt" | "torchtune" | "torchtune_ladder" | "hf_bert_large" | "megatron_bridge" => {
            "sequence lengths, recomputation or optimizer are not in the row"
        }
        _ => "rows of this family are not modelled",
    }
}
