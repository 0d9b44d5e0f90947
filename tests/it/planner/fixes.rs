//! Fixes that are offered where a rule forbids a training.

use headroom::config::DataSharding;
use headroom::estimator::{Lengths, device_memory, estimate};
use headroom::planner::{Change, Fix, Known, allocator_fixes, fixes, gpu_count, growth, inverse};
use headroom::scenario::codec::decode;
use headroom::units::MemoryUnit;

/// The fixes offered for a link, and the scenario's number of accelerators; empty for a link
/// without a job.
fn offered(link: &str) -> (Vec<Fix>, u64) {
    let Ok(job) = decode(link).scenario.resolve() else { return (Vec::new(), 0) };
    (fixes(&job, &estimate(&job), &gpu_count(&job, MemoryUnit::Gib)), job.layout().world_size())
}

#[test]
fn a_rule_is_lifted_by_the_nearest_value_that_runs() {
    let zero1 = DataSharding::named("1").unwrap_or_default();
    for (link, change) in [
        ("v1&m=llama3.1-405b&n=16384&tp=8&pp=16&ker=megatron&gb=2048&z=1", Change::EndsAsLayers),
        ("v1&m=llama3-8b&n=24&ker=megatron&gb=128", Change::GlobalBatch(120)),
        ("v1&m=llama3-8b&n=256&ker=megatron&gb=128", Change::GlobalBatch(256)),
        ("v1&m=qwen2.5-14b&n=16&tp=16&ker=megatron&gb=128&z=1", Change::Tensor(8)),
        ("v1&m=mixtral-8x7b&n=64&tp=2&ep=3&ker=megatron&gb=128&z=1", Change::Expert(4)),
        ("v1&m=mixtral-8x7b&n=64&tp=2&ep=8&ker=megatron&gb=128&z=fsdp", Change::Sharding(zero1)),
    ] {
        let (found, gpus) = offered(link);
        assert!(found.iter().any(|fix| fix.change == change), "{link}: {found:?}");
        for fix in found {
            // Only a fix of the number of GPUs changes that number. Every fix must make the job
            // run, since less memory alone does not lift a rule.
            assert!(
                fix.fits && (matches!(fix.change, Change::Gpus(_)) || fix.gpus_after == gpus),
                "{link}: {fix:?}"
            );
        }
    }
}

/// Where memory is missing and no rule forbids the job, no fix that only lifts rules is offered.
#[test]
fn without_a_rule_nothing_is_lifted() {
    let (found, _) = offered("v1&m=llama3-70b&n=8");
    let lifts = |change| {
        matches!(
            change,
            Change::EndsAsLayers | Change::GlobalBatch(_) | Change::Expert(_) | Change::Pipeline(_)
        )
    };
    assert!(!found.is_empty() && !found.iter().any(|fix| lifts(fix.change)), "{found:?}");
}

/// Where the tensors fit but the allocator finds no room for them, the offered fixes have been
/// tried in the allocator's replay.
#[test]
fn changes_for_the_allocator_are_replayed() {
    let of = |link: &str| decode(link).scenario.resolve().map(|job| (allocator_fixes(&job), job));
    let Ok((found, job)) = of("v1&m=llama3-8b&n=8&mem=25.5") else { panic!("a job") };
    assert!(estimate(&job).runs() && device_memory(&job).is_ok_and(|memory| !memory.fits));
    assert!(!found.is_empty() && found.len() <= 3, "{found:?}");
    for fix in found {
        assert!(
            fix.fits && fix.after < fix.before && fix.after <= estimate(&job).capacity,
            "{fix:?}"
        );
    }
    let Ok((none, _)) = of("v2&m=llama3-8b&n=8") else { panic!("a job") };
    assert!(none.is_empty(), "{none:?}");
}

/// The longest sequence is the one that one request has room for, and the others wait: it is
/// estimated with as many requests as then find room, not with those of today's length.
#[test]
fn a_longer_context_is_offered_where_requests_wait() {
    let link = "v2&do=serve&m=llama3.1-8b&n=1&srv=vllm&ctx=8192&seqs=256&wait=1";
    let job = decode(link).scenario.resolve().expect("a job");
    let limits = inverse(&Lengths::of(&job));
    assert!(limits.longest_seq.expect("room for one") > 65_536);
    let known = Known { runs: estimate(&job).runs(), limits, replayed: false, format: None };
    let offered = growth(&job, &known);
    assert!(
        offered.iter().any(
            |growth| matches!(growth.change, Change::ContextLength(tokens) if tokens > 65_536)
        ),
        "{offered:?}"
    );
}
