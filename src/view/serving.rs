//! Serving in words: room for the cache as servers print it, and how many requests, tokens and
//! accelerators. No browser in here.

use super::headline::{gpus_of, replicas_of, users};
use super::timing::{CardFigure, Fact, amount, money, short};
use super::words::{gpus, requests, whole};
use crate::config::{Job, Run};
use crate::estimator::Estimate;
use crate::planner::{
    GpuCount, Inverse, Largest, Limit, More, Serving, UserLoad, UsersAnswer, more_requests,
};
use crate::scenario::{FieldId, Scenario, Value, show};
use crate::units::{MemoryUnit, grouped, to_f64};

/// The figures that a server prints about its cache, one a line; empty when training.
pub fn cache(job: &Job, estimate: &Estimate, unit: MemoryUnit) -> Vec<Fact> {
    let (Run::Serving(run), Some(room)) = (job.run(), &estimate.cache_room) else {
        return Vec::new();
    };
    let mut facts = vec![(
        "Memory left for the KV cache, per GPU",
        unit.show(room.bytes),
        run.engine.by_its_rule.to_owned(),
    )];
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

/// The planner's answers about serving, one figure a line.
pub fn answers(job: &Job, serving: &Serving) -> Vec<Fact> {
    let Run::Serving(run) = job.run() else { return Vec::new() };
    let mut facts = Vec::with_capacity(8);
    let mut push = |name, found: Option<Largest>, unit: &str| {
        let none = ("none".to_owned(), Limit::Memory);
        let (value, limit) =
            found.map_or(none, |found| (format!("{}{unit}", whole(found.value)), found.limit));
        facts.push((name, value, limited_by(limit).to_owned()));
    };
    push("Longest context", serving.longest, " tokens");
    push("Full-length requests that fit", serving.at_once, "");
    if run.lengths.is_some() {
        push("Sequences of the stated lengths at once", serving.of_lengths, "");
    }
    if let Some((_, _, note)) = facts.last_mut().filter(|_| run.lengths.is_some()) {
        note.push_str("; in 95 of 100 moments, if lengths are independent: an assumption");
    }
    facts.push(match serving.quantization {
        Some(format) => {
            let label = show(FieldId::WeightDType, &Value::choice(format));
            ("Best weight format that fits", label, "of the formats that are tried".to_owned())
        }
        None => (
            "Best weight format that fits",
            "none".to_owned(),
            limited_by(Limit::Memory).to_owned(),
        ),
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

/// How fast and how dear serving is at a load; nothing where a figure of the accelerator is
/// missing.
pub fn load_figures(job: &Job, load: &UserLoad) -> Option<[CardFigure; 4]> {
    let pace = load.pace.as_ref()?;
    let per_hour = money(job.cluster().accelerator.price_per_hour);
    let figure = |path, label, value, note| CardFigure { path, label, value, note };
    Some([
        figure(
            "load/first-token",
            "Time to first token",
            short(pace.first_token),
            format!("prompt of {} tokens, no queue", whole(pace.prompt)),
        ),
        figure("load/per-user", "Tokens per second per user", amount(pace.per_user), String::new()),
        figure("load/in-all", "Tokens per second in all", amount(pace.in_all), replicas_of(load)),
        figure(
            "load/price",
            "Price of a million tokens",
            money(pace.price_per_million),
            format!("{} at {per_hour} per GPU-hour", gpus(load.gpus)),
        ),
    ])
}

/// The assumptions behind the figures of a load, in one sentence.
pub fn load_assumed(
    scenario: &Scenario,
    job: &Job,
    load: &UserLoad,
    answer: Option<&UsersAnswer>,
) -> String {
    let Run::Serving(run) = job.run() else { return String::new() };
    let tokens = match (run.lengths.filter(|_| answer.is_some()), &load.pace) {
        (Some(_), Some(pace)) => format!("the mean of {} tokens", whole(pace.cached)),
        _ => format!("{} tokens", whole(run.context_length)),
    };
    let requests = requests(load.each);
    match answer {
        Some(answer) => {
            let who = if load.users == 1 {
                "With the user".to_owned()
            } else {
                format!("With all {}", users(load.users))
            };
            let on = if *load == answer.own {
                String::new()
            } else {
                format!(" on {}", gpus_of(scenario, load))
            };
            format!(
                "{who} active at once{on}: {requests} on the fullest replica, each with {tokens} \
                 in the cache."
            )
        }
        None => {
            format!("With {requests} at once on each replica, each with {tokens} in the cache.")
        }
    }
}

/// Both counts in words, each with what it is of: of the accelerators that carry the users where
/// some are stated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The division in words: how many at least, or that no number is enough.
    pub by_memory: &'static str,
    /// The count by the division; empty where no number is enough.
    pub arithmetic: String,
    /// How the smallest count is introduced.
    pub introduced: String,
    /// The smallest count.
    pub smallest: String,
    /// Why it is the smallest, or how it carries the users.
    pub reason: String,
}

impl Counts {
    /// The counts of a job.
    pub fn of(job: &Job, count: &GpuCount, answer: Option<&UsersAnswer>) -> Self {
        let runs = count.runnable.as_ref().map(|run| run.gpus);
        let introduced = answer.map_or_else(
            || "the first count that works".to_owned(),
            |answer| format!("the first count that carries {}", users(answer.own.users)),
        );
        let (least, smallest, reason) = if let Some(answer) = answer {
            let [smallest, reason] = users_counts(job, answer, runs);
            (answer.arithmetic, smallest, reason)
        } else {
            let smallest = runs.map_or_else(|| "none".to_owned(), gpus);
            (count.arithmetic, smallest, count.reason.clone())
        };
        let by_memory = match least {
            Some(_) => "By memory alone at least ",
            None => "By memory alone no number of GPUs is enough",
        };
        Self {
            by_memory,
            arithmetic: least.map(gpus).unwrap_or_default(),
            introduced,
            smallest,
            reason,
        }
    }
}

/// The fewest accelerators that carry the stated users, and how they do it.
fn users_counts(job: &Job, answer: &UsersAnswer, one_replica: Option<u64>) -> [String; 2] {
    let Some(fewest) = &answer.fewest else {
        return [
            "none".to_owned(),
            "No layout of whole heads and nodes has room for one request; fewer bits, a shorter \
             context or more memory may."
                .to_owned(),
        ];
    };
    let each = fewest.layout.world_size();
    // Latent vectors have no heads to share out.
    let whole_cache =
        if each > 1 && job.model().mla.is_some() { ", every GPU with the whole cache" } else { "" };
    let room =
        format!("{}, room for {} on each{whole_cache}.", replicas_of(fewest), users(fewest.room));
    let one = one_replica.map_or_else(String::new, |count| {
        format!(" With the requests per replica entered here, one replica runs on {}.", gpus(count))
    });
    [gpus(fewest.gpus), room + &one]
}

fn of_more(more: &More, now: u64) -> Fact {
    let times = if now == 0 {
        String::new()
    } else {
        format!("{} times as many", grouped(to_f64(more.at_once) / to_f64(now), 1))
    };
    (more.title, format!("{} at once", whole(more.at_once)), times)
}
