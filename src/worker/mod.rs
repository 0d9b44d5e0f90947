//! The second program: what is not needed to show the answer, fetched when it is needed. Text in,
//! text out.
//!
//! The five documents side by side, memory over one step, what the answer rests on, how well it is
//! checked, and reading a `config.json`, and the files to take along are computed in a worker of
//! the browser, from the scenario's link; [`plan`], the search over layouts, in another. Everything
//! here runs without a browser; only [`wire`] is part of the first program, too.

pub mod accuracy;
pub mod device;
pub mod evidence;
pub mod explain;
pub mod export;
pub mod fits;
mod launched;
mod log;
pub mod methods;
pub mod oom;
pub mod paste;
pub mod plan;
pub mod question;
pub mod questions;
pub mod serving;
mod snapshot;
pub mod stages;
mod step_axis;
pub mod teach;
pub mod timeline;
pub mod wire;

use self::question::WorkerQuestion;
use self::wire::{MARK, Reply, Request};
use crate::config::Job;
use crate::estimator::estimate;
use crate::planner::replayed;
use crate::scenario::Scenario;
use crate::scenario::codec::decode;
use crate::units::MemoryUnit;
use crate::view::markup::Html;
use crate::view::replay::Limits;

/// The reply to a question about panels and texts; an empty one to those that [`plan`] answers.
pub fn answer(request: &Request) -> Reply {
    let scenario = decode(&request.fragment).scenario;
    let unit = request.unit;
    let html = match &request.question {
        WorkerQuestion::Methods => methods_of(&scenario, unit),
        WorkerQuestion::Evidence => evidence_of(&scenario, unit),
        WorkerQuestion::Timeline => timeline_of(&scenario, unit),
        WorkerQuestion::Device => device_of(&scenario, unit),
        WorkerQuestion::Limits => Html::made(limits_of(&scenario, unit)),
        WorkerQuestion::Accuracy => accuracy::panel(),
        WorkerQuestion::Explain(paths) => explain_of(&scenario, unit, paths),
        WorkerQuestion::Fits(list) => fits::panel(&scenario, list, unit),
        WorkerQuestion::Export(asked) => export::answer(&request.fragment, asked),
        WorkerQuestion::Teach(verb, page) => {
            Html::made(teach::answer(verb.clone(), page, &request.fragment))
        }
        WorkerQuestion::Story(story, page) => {
            Html::made(teach::story_of(story, page, &request.fragment))
        }
        WorkerQuestion::Figure(name) => Html::made(teach::figure_of(name, &request.fragment)),
        WorkerQuestion::Plan(..) | WorkerQuestion::Stairs => Html::default(),
        WorkerQuestion::Paste(pasted) => {
            let (html, link) = paste::read(pasted, scenario);
            return reply(request, &html, link);
        }
    };
    reply(request, &html, None)
}

fn reply(request: &Request, html: &Html, fragment: Option<String>) -> Reply {
    Reply {
        number: request.number,
        what: request.question.what(),
        more: false,
        fragment,
        html: html.as_str().to_owned(),
    }
}

/// The five documents beside the engine; empty for a scenario without a job, for which the page
/// never asks.
fn methods_of(scenario: &Scenario, unit: MemoryUnit) -> Html {
    scenario.resolve().map(|job| methods::panel(&job, unit)).unwrap_or_default()
}

/// The evidence of the answer; empty as above.
fn evidence_of(scenario: &Scenario, unit: MemoryUnit) -> Html {
    scenario.resolve().map(|job| evidence::panel(scenario, &job, unit)).unwrap_or_default()
}

/// Allocated, reserved and in use; empty as above.
fn device_of(scenario: &Scenario, unit: MemoryUnit) -> Html {
    scenario.resolve().map(|job| device::panel(scenario, &job, unit)).unwrap_or_default()
}

/// The allocator's answers to a training as numbers, and behind them a warning where it finds no
/// room; both empty as above, and where the order of allocations is not known.
fn limits_of(scenario: &Scenario, unit: MemoryUnit) -> String {
    let Some((job, found)) =
        scenario.resolve().ok().and_then(|job| Some((job.clone(), replayed(&job).ok()?)))
    else {
        return MARK.to_string();
    };
    let warning =
        if found.memory.fits { Html::new() } else { device::warning(scenario, &job, unit) };
    format!("{}{MARK}{}", Limits::of(&found).write(), warning.as_str())
}

/// The formulas of the figures with those paths; empty as above.
fn explain_of(scenario: &Scenario, unit: MemoryUnit, paths: &str) -> Html {
    scenario.resolve().map(|job| explain::panels(&job, paths, unit)).unwrap_or_default()
}

/// Memory over one step, and every stage of a pipeline; when serving, which has no steps, how many
/// requests find room and how quick they are. Empty as above.
fn timeline_of(scenario: &Scenario, unit: MemoryUnit) -> Html {
    let panels = |job: &Job| match job.training() {
        Some(_) => [timeline::panel(job, &estimate(job), unit), stages::panel(job, unit)]
            .into_iter()
            .collect(),
        None => serving::panel(scenario, job, unit),
    };
    scenario.resolve().as_ref().map(panels).unwrap_or_default()
}
