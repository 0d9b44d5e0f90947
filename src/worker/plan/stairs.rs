//! The best layouts at the numbers of GPUs that the curve shows, found slice by slice, as a plan's
//! search is.

use super::layout::words;
use super::{SLICE_MS, STEP};
use crate::config::Job;
use crate::planner::{Climb, NamedStair, Stair, curve_gpus};
use crate::scenario::codec::decode;
use crate::view::answers::Stairs;
use crate::worker::wire::{Reply, Request, What};

/// A question for the best layouts, as far as it is answered.
pub struct Stairway {
    request: Request,
    /// Nothing for a scenario without a job.
    climb: Option<Climb>,
}

impl Stairway {
    /// Takes a question of the page.
    pub fn of(request: &Request) -> Self {
        let climb = decode(&request.fragment).scenario.resolve().ok().map(|job| begin(&job));
        Self { request: request.clone(), climb }
    }

    /// Goes on for a slice of time; `now` tells milliseconds. At the end the reply:
    /// [`Stairs::write`]'s text, empty for a scenario without a job.
    pub fn slice(&mut self, now: &dyn Fn() -> f64) -> Option<Reply> {
        let from = now();
        while self.climb.as_mut().is_some_and(|climb| !climb.step(STEP)) {
            if now() - from >= SLICE_MS {
                return None;
            }
        }
        let html =
            self.climb.as_ref().map(|climb| Stairs::write(&named(climb))).unwrap_or_default();
        Some(Reply {
            number: self.request.number,
            what: What::Stairs,
            more: false,
            fragment: None,
            html,
        })
    }
}

fn begin(job: &Job) -> Climb {
    let counts: Vec<u64> = curve_gpus(job).points.iter().map(|point| point.x).collect();
    Climb::new(job, &counts)
}

fn named(climb: &Climb) -> Vec<NamedStair> {
    let name = |stair: Stair| NamedStair {
        gpus: stair.gpus,
        memory: stair.memory,
        words: words(&stair.choice),
    };
    climb.stairs().into_iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::{Stairway, begin, named};
    use crate::config::Job;
    use crate::planner::NamedStair;
    use crate::scenario::codec::decode;
    use crate::units::MemoryUnit;
    use crate::view::answers::Stairs;
    use crate::worker::question::WorkerQuestion;
    use crate::worker::wire::{Reply, Request};
    use std::cell::Cell;

    fn all(job: &Job) -> Vec<NamedStair> {
        let mut climb = begin(job);
        while !climb.step(u64::MAX) {}
        named(&climb)
    }

    /// The reply, with a clock that every look moves on, and how many slices it took.
    fn ask(fragment: &str) -> (Reply, u32) {
        let request = Request {
            number: 1,
            unit: MemoryUnit::Gib,
            fragment: fragment.to_owned(),
            question: WorkerQuestion::Stairs,
        };
        let (mut stairway, clock, mut slices) = (Stairway::of(&request), Cell::new(0.0), 0);
        loop {
            slices += 1;
            let now = || {
                clock.set(clock.get() + 10.0);
                clock.get()
            };
            if let Some(reply) = stairway.slice(&now) {
                return (reply, slices);
            }
        }
    }

    /// The page reads the layouts that were found. 16 GPUs need less memory on each than 2, and the
    /// scenario's own layout is no better.
    #[test]
    fn the_best_layouts_travel_as_text() {
        let fragment = "v1&m=llama3-8b&n=16&ker=megatron&z=1&tp=2";
        let scenario = decode(fragment).scenario;
        let job = scenario.resolve().expect("a job");
        let found = all(&job);
        let (reply, slices) = ask(fragment);
        assert!(slices > 1, "{slices}");
        assert_eq!(Stairs::read(scenario, &reply.html).best, found);
        let own = crate::planner::curve_gpus(&job)
            .points
            .into_iter()
            .filter(|point| point.blocked.is_none());
        let mut compared = 0;
        for point in own {
            let best = found.iter().find(|stair| stair.gpus == point.x).expect("a legal layout");
            assert!(best.memory <= point.total && !best.words.is_empty(), "{} {best:?}", point.x);
            compared += 1;
        }
        assert!(compared > 3);
        let one = found.iter().find(|stair| stair.gpus == 2).expect("two GPUs");
        let many = found.iter().find(|stair| stair.gpus == 16).expect("16 GPUs");
        assert!(many.memory < one.memory);
    }

    #[test]
    fn serving_and_a_scenario_without_a_job_have_no_stairs() {
        assert!(
            all(&decode("v1&do=serve&m=llama3-8b").scenario.resolve().expect("a job")).is_empty()
        );
        for fragment in ["v1&do=serve&m=llama3-8b", "v1&m=llama3-8b&kv=3"] {
            assert!(
                Stairs::read(decode(fragment).scenario, &ask(fragment).0.html).best.is_empty(),
                "{fragment}"
            );
        }
    }
}
