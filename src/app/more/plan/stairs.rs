//! The best layouts at the numbers of GPUs that the curve shows.

use super::layout::words;
use crate::app::answers::Stairs;
use crate::app::more::wire::{Reply, Request};
use crate::config::Job;
use crate::planner::{self, NamedStair, Stair, curve_gpus};
use crate::scenario::codec::decode;

/// The reply: [`Stairs::write`]'s text, empty for a scenario without a job.
pub fn stairs(request: &Request) -> Reply {
    let html = decode(&request.fragment).scenario.resolve().map(|job| Stairs::write(&named(&job))).unwrap_or_default();
    Reply { number: request.number, what: request.what, more: false, fragment: None, html }
}

fn named(job: &Job) -> Vec<NamedStair> {
    let counts: Vec<u64> = curve_gpus(job).points.iter().map(|point| point.x).collect();
    let name = |stair: Stair| NamedStair { gpus: stair.gpus, memory: stair.memory, words: words(&stair.choice) };
    planner::stairs(job, &counts).into_iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::{named, stairs};
    use crate::app::answers::Stairs;
    use crate::app::more::wire::{Request, What};
    use crate::scenario::codec::decode;
    use crate::units::MemoryUnit;

    /// What the page reads is what was found; more GPUs never need more memory on each, and the scenario's own layout is no better.
    #[test]
    fn the_best_layouts_travel_as_text() {
        let fragment = "v1&m=llama3-8b&n=16&ker=megatron&z=1&tp=2".to_owned();
        let scenario = decode(&fragment).scenario;
        let job = scenario.resolve().expect("a job");
        let found = named(&job);
        let request = Request { number: 1, what: What::Stairs, unit: MemoryUnit::Gib, fragment, text: String::new() };
        assert_eq!(Stairs::read(scenario, &stairs(&request).html).best, found);
        let own = crate::planner::curve_gpus(&job).points.into_iter().filter(|point| point.blocked.is_none());
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
    fn serving_has_no_stairs() {
        assert!(named(&decode("v1&do=serve&m=llama3-8b").scenario.resolve().expect("a job")).is_empty());
    }
}
