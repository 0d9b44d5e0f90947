//! Slots for adapters of a served model: their memory by vLLM's own sizes, and the time that they
//! add.
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use crate::support;

use headroom::config::{Cluster, Engine, Job, ServingRun};
use headroom::estimator::time::Pace;
use headroom::estimator::{ADAPTER_SLOTS, estimate};
use headroom::scenario::{FieldId, Scenario, Value};

fn vllm(run: &mut ServingRun) {
    run.engine = Engine::named("vllm", 0.9).expect("vLLM");
    (run.adapter_slots, run.adapter_rank) = (4, 16);
}

fn job(id: &str, t: u64, edit: impl FnOnce(&mut ServingRun)) -> Job {
    let model = &headroom::catalog::model(id).expect("in the catalog").config;
    let layout = support::layout(t, 1, 1, headroom::config::DataSharding::NOTHING);
    let job = support::serving_job(model, layout, |run| {
        vllm(run);
        edit(run);
    });
    let row = headroom::catalog::accelerator("h100-80").expect("in the catalog");
    let cluster = Cluster {
        accelerator: row.accelerator.clone(),
        speed: headroom::catalog::speed(row.id),
        ..job.cluster().clone()
    };
    Job::new(job.model().clone(), job.run().clone(), layout, cluster).expect("a valid job")
}

fn bytes(job: &Job) -> u64 {
    estimate(job)
        .ledger
        .lines
        .iter()
        .find(|line| line.label == ADAPTER_SLOTS)
        .map_or(0, |line| line.bytes.0)
}

/// Numbers of one rank beside a matrix shared by its output or its input over `t` ranks, as
/// `create_lora_weights` makes them.
fn column(input: u64, output: u64, t: u64) -> u64 {
    input + output / t
}

fn row(input: u64, output: u64, t: u64) -> u64 {
    input / t + output
}

#[test]
fn slots_are_as_large_as_vllm_makes_them() {
    let (h, f, kv, v) = (4096, 14_336, 1024, 128_256);
    for t in [1, 2, 8] {
        let layer = column(h, h, t)
            + 2 * column(h, kv, t)
            + row(h, h, t)
            + 2 * column(h, f, t)
            + row(f, h, t);
        // Embedding and head are whole on every rank.
        assert_eq!(
            bytes(&job("llama3-8b", t, |_| ())),
            4 * 16 * 2 * (32 * layer + 2 * (v + h)),
            "{t} ranks"
        );
    }
}

#[test]
fn experts_have_a_pair_each_and_their_router_has_one() {
    let (h, f, kv, v, t) = (4096, 14_336, 1024, 32_000, 2);
    let experts = 8 * (2 * h + 2 * f / t) + 8 * (f / t + h);
    let layer = column(h, h, t) + 2 * column(h, kv, t) + row(h, h, t) + experts + h + 8;
    assert_eq!(bytes(&job("mixtral-8x7b", t, |_| ())), 4 * 16 * 2 * (32 * layer + 2 * (v + h)));
}

#[test]
fn models_without_slots_at_their_ends_have_none_there() {
    let (h, f, kv) = (3584, 18_944, 512);
    let layer =
        column(h, h, 1) + 2 * column(h, kv, 1) + row(h, h, 1) + 2 * column(h, f, 1) + row(f, h, 1);
    assert_eq!(bytes(&job("qwen2.5-7b", 1, |_| ())), 4 * 16 * 2 * 28 * layer);
}

#[test]
fn slots_take_room_from_the_cache_and_time_from_each_step() {
    let (with, without) =
        (job("llama3-8b", 1, |_| ()), job("llama3-8b", 1, |run| run.adapter_slots = 0));
    let room = |job: &Job| estimate(job).cache_room.expect("a cache").bytes.0;
    assert!(room(&without) - room(&with) >= bytes(&with) && bytes(&without) == 0);
    let step = |job: &Job| Pace::of(job).expect("known rates").decode(4).0;
    assert!(step(&with) > step(&without) && step(&with) < 1.5 * step(&without));
    let more = job("llama3-8b", 1, |run| run.adapter_rank = 64);
    assert!(step(&more) > step(&with));
}

#[test]
fn servers_whose_slots_are_not_known_refuse_them() {
    let mut scenario = Scenario::default();
    for (field, value) in [
        (FieldId::Mode, Value::Choice("serve")),
        (FieldId::Server, Value::Choice("sglang")),
        (FieldId::AdapterSlots, Value::Integer(2)),
    ] {
        scenario.set(field, value);
    }
    let errors = scenario.resolve().expect_err("SGLang's slots are not known");
    let error =
        errors.iter().find(|error| error.field == FieldId::AdapterSlots).expect("the slots' error");
    let (_, none) = error.way_out.clone().expect("a way out");
    scenario.set(FieldId::AdapterSlots, none);
    assert!(scenario.resolve().is_ok());
}
