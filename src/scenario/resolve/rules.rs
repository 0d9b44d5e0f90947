//! Rules between several fields: heads, positions, the stack, experts and GPUs.

use super::{FieldError, count};
use crate::config::PositionEmbedding;
use crate::scenario::{FieldId, FieldKind, Mode, Scenario, Value, field};
use crate::stacks::Stack;

/// Query heads must be a multiple of key/value heads.
pub(super) fn check_heads(scenario: &Scenario) -> Option<FieldError> {
    let (heads, kv_heads) =
        (scenario.integer(FieldId::NumAttentionHeads), scenario.integer(FieldId::NumKeyValueHeads));
    if heads == 0 || kv_heads == 0 || heads.is_multiple_of(kv_heads) {
        return None;
    }
    // A model in which every query head had its own key/value head most likely stays one.
    let multi_head = scenario
        .model()
        .is_some_and(|row| row.config.num_attention_heads == row.config.num_key_value_heads);
    let way_out = if multi_head {
        heads
    } else {
        (1..=kv_heads.min(heads)).rev().find(|count| heads.is_multiple_of(*count)).unwrap_or(1)
    };
    Some(FieldError {
        field: FieldId::NumKeyValueHeads,
        message: format!(
            "{} attention heads do not split evenly over {} key/value heads.",
            count(heads),
            count(kv_heads)
        ),
        way_out: Some((format!("Use {} key/value heads", count(way_out)), Value::Integer(way_out))),
    })
}

/// A learned position table needs rows.
pub(super) fn check_positions(scenario: &Scenario) -> Option<FieldError> {
    let learned = scenario.word::<PositionEmbedding>(FieldId::PositionEmbedding)
        == PositionEmbedding::Learned;
    if !learned || scenario.reads_keys() || scenario.integer(FieldId::PositionRows) > 0 {
        return None;
    }
    let rows = scenario.integer(FieldId::MaxPositionEmbeddings).max(1);
    Some(FieldError {
        field: FieldId::PositionRows,
        message: "A learned position table needs at least one row.".to_owned(),
        way_out: Some((format!("Use {} rows", count(rows)), Value::Integer(rows))),
    })
}

/// Not every stack is modelled with these degrees.
pub(super) fn check_stack(scenario: &Scenario) -> Option<FieldError> {
    const DEGREES: [FieldId; 4] = [
        FieldId::ContextParallel,
        FieldId::ExpertParallel,
        FieldId::ExpertTensorParallel,
        FieldId::VirtualPipeline,
    ];
    if scenario.mode() == Mode::Serve || scenario.word::<Stack>(FieldId::Stack).has_all_degrees {
        return None;
    }
    let id = DEGREES
        .into_iter()
        .find(|id| scenario.optional_integer(*id).is_some_and(|degree| degree > 1))?;
    Some(FieldError {
        field: id,
        message: format!(
            "{} is modelled for the stack {} only.",
            field(id).label,
            Stack::names_with_all_degrees()
        ),
        way_out: Some(("Use 1".to_owned(), Value::Integer(1))),
    })
}

/// A token cannot go through more experts than there are.
pub(super) fn check_experts(scenario: &Scenario) -> Option<FieldError> {
    let moe = scenario.experts().filter(|_| !scenario.reads_keys())?;
    (moe.num_experts_per_tok > moe.num_experts).then(|| FieldError {
        field: FieldId::ExpertsPerToken,
        message: format!(
            "A token cannot go through {} experts where there are {}.",
            count(moe.num_experts_per_tok),
            count(moe.num_experts)
        ),
        way_out: Some((
            format!("Use {} experts per token", count(moe.num_experts)),
            Value::Integer(moe.num_experts),
        )),
    })
}

/// GPUs must be a multiple of tensor times pipeline ranks.
pub(super) fn check_gpus(scenario: &Scenario) -> Option<FieldError> {
    let gpus = scenario.integer(FieldId::Gpus);
    let (t, p) =
        (scenario.integer(FieldId::TensorParallel), scenario.integer(FieldId::PipelineParallel));
    let cp =
        if scenario.mode() == Mode::Serve { 1 } else { scenario.integer(FieldId::ContextParallel) };
    let group = t.saturating_mul(p).saturating_mul(cp);
    let FieldKind::Integer { max, .. } = field(FieldId::Gpus).kind else { return None };
    if gpus == 0 || group == 0 || gpus.is_multiple_of(group) {
        return None;
    }
    let context = if cp > 1 { format!(" × {} context", count(cp)) } else { String::new() };
    let ranks = format!("{} tensor × {} pipeline{context} ranks need", count(t), count(p));
    if group > max {
        return Some(FieldError {
            field: FieldId::TensorParallel,
            message: format!(
                "{ranks} {} GPUs, more than the {} this page counts.",
                count(group),
                count(max)
            ),
            way_out: Some(("Use 1 tensor rank".to_owned(), Value::Integer(1))),
        });
    }
    let below = gpus / group * group;
    let above = below.saturating_add(group);
    let (reason, nearest) = if below == 0 {
        (format!("is too few: {} is the nearest", count(above)), above)
    } else if above > max {
        (format!("is none: {} is the nearest", count(below)), below)
    } else {
        let nearest = if gpus - below < above - gpus { below } else { above };
        (format!("is none: {} and {} are the nearest", count(below), count(above)), nearest)
    };
    Some(FieldError {
        field: FieldId::Gpus,
        message: format!("{ranks} a multiple of {} GPUs; {} {reason}.", count(group), count(gpus)),
        way_out: Some((format!("Use {} GPUs", count(nearest)), Value::Integer(nearest))),
    })
}
