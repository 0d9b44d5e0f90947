//! Serving at its load: waiting time and price for the stated users, and how many GPUs hold them
//! all.

use crate::config::Job;
use crate::estimator::Certainty;
use crate::planner::{
    TriedReplica, UserLoad, all_users, fleet_of, replicas_tried, shown_load, users_answer,
};
use crate::sources;
use crate::units::to_f64;

use super::expr::{Expr, FormulaValue};
use super::figures::{Found, found, real};
use super::times::price;
use super::{Explanation, Measure, plain};

/// The load that figures are shown for, the same as on the page.
fn load(job: &Job) -> Option<UserLoad> {
    shown_load(job, users_answer(job, fleet_of(job).as_ref()).as_ref())
}

/// A figure of the load, named by the end of its path.
pub(super) fn of_load(job: &Job, name: &str) -> Found {
    let load = load(job)?;
    let pace = load.pace?;
    let step = || real("one further token on the fullest replica", pace.decode.0);
    let all = || {
        Expr::word(
            "U",
            "users at once, or requests of all replicas",
            FormulaValue::Whole(load.users),
        )
        .over(step())
    };
    let (title, sentence, expr, measure) = match name {
        "first-token" => (
            "Time to first token",
            "The pieces of a prompt one after the other on a replica, with attention over what was \
             read before.",
            real("the prompt", pace.first_token.0),
            Measure::Seconds,
        ),
        "per-user" => (
            "Tokens per second per user",
            "One token for each request in the time of a step on the fullest replica.",
            Expr::whole(1).over(step()),
            Measure::Number("tokens/s"),
        ),
        "in-all" => (
            "Tokens per second in all",
            "One token for every user in the time of a step on the fullest replica: all are active \
             at once, and none waits.",
            all(),
            Measure::Number("tokens/s"),
        ),
        "price" => {
            let gpus = Expr::word("GPUs", "of all replicas", FormulaValue::Whole(load.gpus));
            let an_hour = Expr::product([
                real("tokens per second in all", pace.in_all),
                Expr::meant(3600, "seconds of an hour"),
            ]);
            let hours = Expr::product([Expr::meant(1_000_000, "tokens"), gpus]).over(an_hour);
            let sentence =
                "Every GPU is paid for, for as long as a million tokens take at this load.";
            (
                "Price of a million tokens",
                sentence,
                Expr::product([hours, price(job)]),
                Measure::Number(""),
            )
        }
        _ => return None,
    };
    let source = if name == "first-token" { sources::ROOFLINE } else { sources::ARITHMETIC };
    let mut found = found(sentence, expr, measure, source, Certainty::Assumed);
    title.clone_into(&mut found.title);
    let spread = format!(
        "{} users on {} replicas: at most {} requests at once on one, each with {} tokens in the \
         cache; a prompt has {} tokens.",
        load.users, load.replicas, load.each, pace.cached, pace.prompt
    );
    found.notes = vec![spread];
    Some(found)
}

/// The job that the division shares out: with all stated users on one replica, where some are
/// stated.
pub(super) fn divided(job: &Job) -> Job {
    all_users(job).unwrap_or_else(|| job.clone())
}

/// The fewest GPUs that hold the stated users, with the layouts of a replica that were tried;
/// `None` where no users are stated.
pub(super) fn carrying(job: &Job) -> Option<Explanation> {
    let fleet = fleet_of(job)?;
    let layout = |tried: &TriedReplica| format!("{} × {}", tried.layout.t(), tried.layout.p());
    let note = |tried: &TriedReplica| match &tried.outcome {
        Ok(found) => format!(
            "Tensor × pipeline {}: room for {} on each replica, {} replicas, {} GPUs in whole \
             nodes.",
            layout(tried),
            found.users_each,
            found.count,
            found.gpus
        ),
        Err(why) => format!("Tensor × pipeline {}: no; {why}.", layout(tried)),
    };
    let (sentence, expr) = match fleet.runnable {
        Some(found) => {
            let users = Expr::word("U", "users at once", FormulaValue::Whole(fleet.users));
            let replicas = users.over_up(Expr::word(
                "room",
                "requests that find room on one replica",
                FormulaValue::Whole(found.users_each),
            ));
            let expr = Expr::product([
                replicas,
                Expr::meant(found.layout.world_size(), "GPUs of one replica"),
            ]);
            let expr = if expr.comes_to(found.gpus) { expr } else { Expr::whole(found.gpus) };
            (
                "Replicas of each layout were counted until they carry all users, and rounded up \
                 to whole nodes; this is the fewest.",
                expr,
            )
        }
        None => (
            "Replicas of each layout were looked at; none has room for one request.",
            Expr::whole(0),
        ),
    };
    let mut found = plain(
        "Smallest that carries the users",
        sentence.to_owned(),
        expr,
        Measure::Number("GPUs"),
    );
    found.notes = replicas_tried(job).iter().map(note).collect();
    found.sources = vec![(sources::ARITHMETIC, Certainty::Exact, "")];
    Some(found)
}

/// The value of a figure of the load.
pub(super) fn value(job: &Job, name: &str) -> Option<f64> {
    of_load(job, name).map(|found| found.expr.value())
}

/// The count by division.
pub(super) fn divided_count(job: &Job) -> Option<f64> {
    super::figures::arithmetic_count(&divided(job)).map(to_f64)
}
