//! Answers from the replay of PyTorch's allocator: every offer runs, and a stated shortage is real.

use headroom::config::{Job, Run};
use headroom::estimator::{device_memory, finds_room};
use headroom::planner::replayed;
use headroom::scenario::codec::decode;
use headroom::units::Bytes;

#[allow(clippy::expect_used, reason = "a failed expectation is a failed test")]
fn job(link: &str) -> Job {
    decode(link).scenario.resolve().expect("a job")
}

fn with_batch(job: &Job, batch: u64) -> Job {
    job.with_run(|run| {
        if let Run::Training(run) = run {
            run.micro_batch_size = Some(batch);
            run.global_batch_size = batch * job.layout().d();
        }
    })
}

/// On devices of several sizes, with several shardings and recomputations, every offered change
/// runs.
#[test]
fn what_is_offered_runs() {
    let mut offered = 0;
    for link in [
        "v2&m=smollm2-135m&n=1&gb=8",
        "v2&m=smollm2-360m&n=8&z=fsdp&rc=full&gb=64",
        "v2&m=smollm2-360m&n=2&ker=megatron&gb=64&z=1",
        "v2&do=tune&m=smollm2-360m&n=1&ft=lora",
    ] {
        for gib in [2, 3, 5, 9] {
            let job = job(&format!("{link}&mem={gib}"));
            let found = replayed(&job).expect("a known order");
            assert_eq!(Ok(found.memory.fits), finds_room(&job), "{link} {gib}");
            assert_eq!(found.memory.fits, found.least.0 <= gib << 30, "{link} {gib}: {found:?}");
            assert_eq!(finds_room(&job.with_memory(found.least)), Ok(true), "{link} {gib}");
            assert!(found.least >= found.memory.allocated, "{link} {gib}");
            let offers = [
                found.longest_seq.is_some(),
                found.largest_batch.is_some(),
                found.runnable.is_some(),
            ];
            offered += offers.into_iter().filter(|offer| *offer).count();
            if let Some(tokens) = found.longest_seq {
                assert_eq!(
                    finds_room(&job.with_seq_length(tokens)),
                    Ok(true),
                    "{link} {gib}: {tokens} tokens"
                );
            }
            if let Some(batch) = found.largest_batch {
                assert_eq!(
                    finds_room(&with_batch(&job, batch)),
                    Ok(true),
                    "{link} {gib}: micro-batch {batch}"
                );
            }
            if let Some(run) = found.runnable {
                assert_eq!(
                    finds_room(&job.with_layout(run.layout)),
                    Ok(true),
                    "{link} {gib}: {} GPUs",
                    run.gpus
                );
            }
        }
    }
    assert!(offered > 0, "nothing is offered on any device");
}

/// Other answers assume a reserve for fragmentation. It can be too small: here the allocator needs
/// more.
#[test]
fn the_assumed_reserve_is_not_enough_for_every_job() {
    let job = job("v1&m=llama3-8b&n=8&mem=25.5");
    let found = replayed(&job).expect("a known order");
    let flat = headroom::planner::gpu_count(&job, headroom::units::MemoryUnit::Gib)
        .runnable
        .map(|run| run.gpus);
    assert!(
        !found.memory.fits && found.least > Bytes(51 << 29) && found.least <= found.memory.in_use
    );
    assert_eq!((flat, found.runnable.map(|run| run.gpus)), (Some(8), Some(16)));
    assert!(
        device_memory(&job.with_memory(found.least))
            .is_ok_and(|memory| memory.fits && memory.retries > 0)
    );
}
