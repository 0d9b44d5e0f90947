//! The report as JSON.

use super::Report;
use crate::estimator::time::{Bound, MessageTimes, TimeLine, Timing};
use crate::estimator::{DeviceMemory, Headroom, Ledger, LineItem, Verdict};
use crate::hardware::allocator::Gap;
use crate::planner::UserLoad;
use crate::scenario::{Remark, Scenario, Word, codec};
use crate::view::words::{about, accelerator_name, model_name};
use serde_json::{Value, json as object};

/// Seconds, and money in the price's currency; null where a figure of the accelerator is missing.
pub(super) fn time_of(report: &Report) -> Value {
    match &report.timing {
        Timing::Unknown(_) => Value::Null,
        Timing::Serving(time) => {
            let mut value = object!({
                "prefill_chunk_messages": messages_of(&time.messages[0]), "decode_messages": messages_of(&time.messages[1]),
                "prefill_chunk_seconds": time.prefill_chunk.0, "decode_seconds": time.decode.0,
                "first_token_seconds": time.first_token.0, "prompt_tokens": time.prompt,
                "tokens_per_second": time.tokens_per_second, "cost_per_million_tokens": time.price_per_million,
                "compute_bound": time.bound == Bound::Compute, "compute_bound_from": time.turns_at,
                "kwh_per_million_tokens": time.kwh_per_million,
            });
            // Reports without drafts keep the keys that they have always had.
            if let (Some(step), Value::Object(object)) = (time.speculation, &mut value) {
                let drafts = object!({
                    "tokens_per_step": step.tokens, "step_seconds": step.step.0, "draft_seconds": step.drafts.0,
                });
                object.insert("speculation".to_owned(), drafts);
            }
            value
        }
        Timing::Training { step, cost } => {
            let line = |line: &TimeLine| {
                object!({
                    "label": line.label, "seconds": line.seconds.0,
                    "certainty": line.certainty.word(), "source": line.source.key,
                })
            };
            object!({
                "step_seconds": step.seconds.0,
                "ledger": step.lines.iter().map(line).collect::<Vec<_>>(),
                "mfu": step.mfu, "hfu": step.hfu, "tokens_per_second": step.tokens_per_second,
                "useful_tokens_per_second": step.useful_tokens_per_second,
                "flops_per_second": step.flops_per_second, "seconds": cost.seconds.0,
                "gpu_hours": cost.gpu_hours,
                "cost": cost.price, "energy_kwh": cost.energy_kwh, "co2_kg": cost.co2_kg,
            })
        }
    }
}

/// Seconds of messages by what they are.
pub(super) fn messages_of(messages: &MessageTimes) -> Value {
    object!({ "sums": messages.sums.0, "experts": messages.experts.0, "stages": messages.stages.0 })
}

/// Room for the cache and what the planner found; null when training.
pub(super) fn serving_of(report: &Report) -> Value {
    let (Some(room), Some(found)) = (&report.estimate.cache_room, &report.serving) else {
        return Value::Null;
    };
    let users = found.users.zip(report.users).map(|(fleet, users)| {
        let instances = fleet.runnable.map(|found| {
            object!({ "gpus": found.gpus, "instances": found.count,
                "gpus_each": found.layout.world_size(), "users_each": found.users_each })
        });
        object!({
            "users": fleet.users, "arithmetic": fleet.arithmetic, "runnable": instances,
            "carried": users.own.carries(),
            "own": load_of(&users.own), "fewest": users.fewest.as_ref().map(load_of),
        })
    });
    object!({
        "cache_bytes": room.bytes.0, "block_size": room.block_size, "blocks": room.blocks,
        "tokens": room.tokens(),
        "max_concurrency": room.concurrency,
        "longest_context": found.longest.map(|found| found.value),
        "running_at_once": report.estimate.at_once,
        "sequences_at_once": found.at_once.map(|found| found.value),
        "of_lengths": found.of_lengths.map(|found| found.value),
        "users": users, "load": report.load.as_ref().map(load_of),
        "most_bits": found.quantization.map(Word::word),
    })
}

/// Memory as the GPU shows it, in bytes; where that is not known, the reason; null where nobody
/// asked.
pub(super) fn device_of(report: &Report) -> Value {
    let of = |memory: DeviceMemory| {
        let Gap { requested, rounding, unsplit, between, cached } = memory.gap;
        object!({
            "allocated": memory.allocated.0, "reserved": memory.reserved.0,
            "in_use": memory.in_use.0, "fits": memory.fits,
            "retries": memory.retries,
            "at_the_peak": { "requested": requested, "rounding": rounding,
                "ends_of_blocks": unsplit, "between": between, "cached": cached },
        })
    };
    match &report.device {
        Some(Ok(device)) => object!({
            "memory": of(device.memory), "expandable_segments": device.expandable.map(of),
            "longest_sequence": report.limits.and_then(|limits| limits.longest_seq),
            "largest_micro_batch": report.limits.and_then(|limits| limits.largest_batch),
        }),
        Some(Err(reason)) => object!({ "unknown": reason.to_string() }),
        None => Value::Null,
    }
}

/// Both counts, those that carry the users where some are stated; `replica` is the smallest that
/// runs one replica then.
pub(super) fn gpus_of(report: &Report) -> Value {
    let (count, reason) = (&report.count, &report.counts.reason);
    let flat = count.runnable.as_ref().map(|run| run.gpus);
    let runs = report.limits.map_or(flat, |limits| limits.gpus);
    match &report.users {
        Some(users) => object!({
            "arithmetic": users.arithmetic, "runnable": users.fewest.map(|fewest| fewest.gpus),
            "reason": reason, "replica": runs,
        }),
        None => object!({ "arithmetic": count.arithmetic, "runnable": runs, "reason": reason }),
    }
}

/// Replicas under a load, with seconds, tokens per second, and money in the price's currency.
pub(super) fn load_of(load: &UserLoad) -> Value {
    let pace = load.pace.map(|pace| {
        object!({
            "first_token_seconds": pace.first_token.0, "prompt_tokens": pace.prompt,
            "cached_tokens": pace.cached,
            "decode_seconds": pace.decode.0, "tokens_per_second_per_user": pace.per_user,
            "tokens_per_second": pace.in_all,
            "cost_per_million_tokens": pace.price_per_million,
        })
    });
    object!({
        "users": load.users, "gpus": load.gpus, "replicas": load.replicas,
        "tensor_parallel": load.layout.t(),
        "pipeline_parallel": load.layout.p(), "requests_each": load.each, "room_each": load.room,
        "time": pace,
    })
}

pub(super) const fn verdict_key(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Fits => "fits",
        Verdict::Tight => "tight",
        Verdict::DoesNotFit => "does_not_fit",
        Verdict::CannotRun => "cannot_run",
    }
}

/// A report as JSON, memory in bytes.
pub fn json(report: &Report, scenario: &Scenario, notices: &[String]) -> String {
    let estimate = &report.estimate;
    let (free, short) = match estimate.headroom() {
        Headroom::Free(bytes) => (bytes.0, 0),
        Headroom::Short(bytes) => (0, bytes.0),
    };
    let lines_of = |ledger: &Ledger| -> Vec<Value> {
        let line = |line: &LineItem| {
            object!({
                "kind": line.kind.name(), "label": line.label, "bytes": line.bytes.0,
                "certainty": line.certainty.word(), "source": line.source.key,
            })
        };
        ledger.lines.iter().map(line).collect()
    };
    let compute = estimate.compute.map(|compute| {
        object!({
            "flops_per_step": compute.model_flops_per_step().0, "flops": compute.total.0,
            "six_pd": compute.six_pd.0,
            "tokens_per_step": compute.tokens_per_step, "steps": compute.steps,
            "hfu_over_mfu": compute.hfu_over_mfu,
            "pflop_days": compute.total.pflop_days(),
            "chinchilla_tokens": compute.chinchilla_tokens,
        })
    });
    let remark = |remark: &Remark| object!({ "kind": remark.kind.word(), "text": remark.text });
    let answer = object!({
        "about": about(scenario), "model": model_name(scenario), "accelerator": accelerator_name(scenario),
        "remarks": report.remarks.iter().map(remark).collect::<Vec<_>>(), "link": codec::encode(scenario), "verdict": verdict_key(report.verdict()),
        "total_bytes": estimate.total().0, "capacity_bytes": estimate.capacity.0, "free_bytes": free, "short_bytes": short,
        "peak_moment": estimate.peak_moment, "parameters": estimate.parameters.total, "ledger": lines_of(&estimate.ledger), "host_memory": lines_of(&estimate.host),
        "device": device_of(report),
        "blockers": estimate.blockers.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "gpus": gpus_of(report),
        "compute": compute, "time": time_of(report), "serving": serving_of(report),
        "notices": notices,
    });
    format!("{answer:#}")
}
