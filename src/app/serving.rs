//! Serving in words: room for the cache as servers print it, and how many requests, tokens and accelerators. No browser in here.

use super::timing::Fact;
use super::words::{gpus, whole};
use crate::config::{Job, Reservation, Run};
use crate::estimator::Estimate;
use crate::planner::{Fleet, Inverse, Largest, Limit, More, Serving, more_requests};
use crate::scenario::{FieldId, Value, show};
use crate::units::{MemoryUnit, grouped, to_f64};

/// What a server prints about its cache, one figure a line; empty when training.
#[inline(never)]
pub fn cache(job: &Job, estimate: &Estimate, unit: MemoryUnit) -> Vec<Fact> {
    let (Run::Serving(run), Some(room)) = (job.run(), &estimate.cache_room) else { return Vec::new() };
    let by = match run.reservation {
        Reservation::None => "on one GPU, with no rule of a server",
        Reservation::Vllm(_) => "on one GPU, as vLLM takes it",
        Reservation::Sglang(_) => "on one GPU, as SGLang takes it",
        Reservation::LlamaCpp => "on one GPU, as llama.cpp takes it",
    };
    let mut facts = vec![("Room for keys and values", unit.show(room.bytes), by.to_owned())];
    if let (Some(tokens), Some(blocks)) = (room.tokens(), room.blocks) {
        let note = if room.block_size > 1 {
            format!("{} blocks of {} tokens", whole(blocks), whole(room.block_size))
        } else {
            String::new()
        };
        facts.push(("KV cache size in tokens", whole(tokens), note));
    }
    let of = format!("sequences of {} tokens", whole(run.context_length));
    facts.push(("Maximum concurrency", format!("{}×", grouped(room.concurrency, 2)), of));
    facts
}

/// What the planner found, one figure a line.
#[inline(never)]
pub fn answers(job: &Job, serving: &Serving) -> Vec<Fact> {
    let Run::Serving(run) = job.run() else { return Vec::new() };
    let mut facts = Vec::with_capacity(8);
    let mut push = |name, found: Option<Largest>, unit: &str| {
        let none = ("none".to_owned(), Limit::Memory);
        let (value, limit) = found.map_or(none, |found| (format!("{}{unit}", whole(found.value)), found.limit));
        facts.push((name, value, limited_by(limit).to_owned()));
    };
    push("Longest context", serving.longest, " tokens");
    push("Sequences of the whole context at once", serving.at_once, "");
    if run.lengths.is_some() {
        push("Sequences of the stated lengths at once", serving.of_lengths, "");
    }
    if let Some((_, _, note)) = facts.last_mut().filter(|_| run.lengths.is_some()) {
        note.push_str("; in 95 of 100 moments, if lengths are independent: an assumption");
    }
    facts.extend(serving.users.iter().map(|fleet| of_users(job, fleet)));
    facts.push(match serving.quantization {
        Some(format) => {
            let label = show(FieldId::WeightDType, &Value::choice(format));
            ("Most bits per weight that fit", label, "of the formats that are tried".to_owned())
        }
        None => ("Most bits per weight that fit", "none".to_owned(), limited_by(Limit::Memory).to_owned()),
    });
    facts
}

/// Changes with which more sequences find room, one a line.
pub fn more(job: &Job, inverse: &Inverse) -> Vec<Fact> {
    let now = inverse.largest_batch.unwrap_or(0);
    more_requests(job, inverse).iter().map(|more| of_more(more, now)).collect()
}

const fn limited_by(limit: Limit) -> &'static str {
    match limit {
        Limit::Memory => "limited by memory",
        Limit::Model => "limited by the model's longest sequence",
        Limit::Search => "more is not looked for",
    }
}

fn of_users(job: &Job, fleet: &Fleet) -> Fact {
    let minimum = fleet.arithmetic.map_or_else(|| "none".to_owned(), gpus);
    let (count, how) = match &fleet.runnable {
        Some(found) => {
            let each = found.layout.world_size();
            let instances = if found.count == 1 { "1 instance".to_owned() } else { format!("{} instances", whole(found.count)) };
            // Latent vectors have no heads to share out.
            let whole_cache = if each > 1 && job.model().mla.is_some() { ", every GPU with the whole cache" } else { "" };
            let how = format!("{instances} on {} with room for {} users each{whole_cache}", gpus(each), whole(found.users_each));
            (gpus(found.gpus), how)
        }
        None => ("none".to_owned(), "no instance fits: limited by memory".to_owned()),
    };
    ("GPUs for all users", count, format!("{how}; arithmetic minimum {minimum} for {} users", whole(fleet.users)))
}

fn of_more(more: &More, now: u64) -> Fact {
    let times =
        if now == 0 { String::new() } else { format!("{} times as many", grouped(to_f64(more.at_once) / to_f64(now), 1)) };
    (more.title, format!("{} at once", whole(more.at_once)), times)
}
