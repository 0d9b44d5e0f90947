//! The second program: what is not needed to show the answer, fetched when it is needed. Text in, text out.
//!
//! The five documents side by side, memory over one step, what the answer rests on, how well it is checked, reading a
//! `config.json` and the search over layouts are computed in a worker of the browser, from the scenario's link. Everything here runs without a browser; only [`wire`] and [`slot`] are part of the first program too.

pub mod accuracy;
pub mod evidence;
pub mod methods;
pub mod paste;
pub mod plan;
pub mod slot;
pub mod stages;
mod step_axis;
pub mod timeline;
pub mod wire;

use self::plan::layout::words;
use self::wire::{Reply, Request, What};
use super::answers::Stairs;
use super::markup::Html;
use crate::config::Job;
use crate::estimator::estimate;
use crate::planner::{NamedStair, Stair, curve_gpus, stairs};
use crate::scenario::Scenario;
use crate::scenario::codec::decode;
use crate::units::MemoryUnit;

/// The reply to one request, both as they travel; nothing for a text that is no request.
pub fn answer(message: &str) -> Option<String> {
    let request = Request::read(message)?;
    let scenario = decode(&request.fragment).scenario;
    let (html, fragment) = match request.what {
        What::Methods => (methods_of(&scenario, request.unit), None),
        What::Evidence => (evidence_of(&scenario, request.unit), None),
        What::Timeline => (timeline_of(&scenario, request.unit), None),
        What::Accuracy => (accuracy::panel(), None),
        What::Paste => paste::read(&request.text, scenario),
        What::Stairs => (stairs_of(&scenario), None),
        // Its answers stream: the worker asks the desk.
        What::Plan => return None,
    };
    Some(Reply { number: request.number, what: request.what, more: false, fragment, html: html.as_str().to_owned() }.write())
}

/// The five documents beside the engine; empty for a scenario without a job, for which the page never asks.
fn methods_of(scenario: &Scenario, unit: MemoryUnit) -> Html {
    scenario.resolve().map(|job| methods::panel(&job, unit)).unwrap_or_default()
}

/// What the answer rests on; empty as above.
fn evidence_of(scenario: &Scenario, unit: MemoryUnit) -> Html {
    scenario.resolve().map(|job| evidence::panel(scenario, &job, unit)).unwrap_or_default()
}

/// The best layouts at the numbers of GPUs that the curve shows, as text; empty as above.
fn stairs_of(scenario: &Scenario) -> Html {
    let named = |job: &Job| {
        let counts: Vec<u64> = curve_gpus(job).points.iter().map(|point| point.x).collect();
        let name = |stair: Stair| NamedStair { gpus: stair.gpus, memory: stair.memory, words: words(&stair.choice) };
        Stairs::write(&stairs(job, &counts).into_iter().map(name).collect::<Vec<_>>())
    };
    Html::made(scenario.resolve().map(|job| named(&job)).unwrap_or_default())
}

/// Memory over one step, and every stage of a pipeline; empty as above, and when serving, which has no steps.
fn timeline_of(scenario: &Scenario, unit: MemoryUnit) -> Html {
    let job = scenario.resolve().ok().filter(|job| job.training().is_some());
    let panels = |job: &Job| [timeline::panel(job, &estimate(job), unit), stages::panel(job, unit)].into_iter().collect();
    job.as_ref().map(panels).unwrap_or_default()
}
