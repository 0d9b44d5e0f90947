//! Pipeline schedules: the order of passes against the papers' closed forms, which share no code
//! with it.
#![allow(
    clippy::expect_used,
    clippy::float_cmp,
    reason = "a failed expectation is a failed test; sums of whole numbers are exact"
)]

use headroom::config::{PassTimes, PassType, Pipeline, PipelineSchedule, SCHEDULES, Slot};
use proptest::prelude::*;

fn pipeline(schedule: PipelineSchedule, ranks: u64, chunks: u64, micro_batches: u64) -> Pipeline {
    Pipeline { schedule, ranks, chunks, micro_batches, group: ranks }
}

/// The highest number of micro-batch chunks that are between their forward and the end of their
/// backward at one time.
fn most_in_flight(order: &[Slot]) -> u64 {
    let (mut now, mut most) = (0_i64, 0);
    for slot in order {
        // Where two passes run together, the new activations are allocated before the old ones are
        // freed.
        now += i64::from(slot.work == PassType::Forward);
        most = most.max(now);
        now -= i64::from(slot.work.releases());
    }
    assert_eq!(now, 0, "something is left");
    u64::try_from(most).expect("a count")
}

/// Schedules with numbers of stages, chunks and micro-batches that they allow.
fn any_pipeline() -> impl Strategy<Value = Pipeline> {
    (0_usize..6, 1_u64..=8, 1_u64..=4, 1_u64..=4, 1_u64..=40).prop_map(|(at, p, v, groups, m)| {
        let schedule = SCHEDULES[at].schedule;
        match schedule {
            PipelineSchedule::Interleaved => {
                pipeline(schedule, p.max(2), v.max(2), p.max(2) * groups)
            }
            PipelineSchedule::DualPipe => {
                pipeline(schedule, 2 * p.div_ceil(2), 1, 4 * p.div_ceil(2) + 2 * groups)
            }
            _ => pipeline(schedule, p, 1, m),
        }
    })
}

proptest! {
    #[test]
    fn every_pass_runs_once(pipeline in any_pipeline()) {
        for rank in 0..pipeline.ranks {
            let order = pipeline.order(rank);
            let count = |works: &[PassType]| u64::try_from(order.iter().filter(|slot| works.contains(&slot.work)).count()).expect("small");
            let passes = pipeline.micro_batches * pipeline.chunks;
            prop_assert_eq!(count(&[PassType::Forward]), passes);
            prop_assert_eq!(count(&[PassType::Backward, PassType::BackwardInput]), passes);
            prop_assert_eq!(count(&[PassType::Backward, PassType::BackwardWeight]), passes);
            let split = order.iter().any(|slot| slot.work == PassType::BackwardWeight);
            prop_assert_eq!(split, pipeline.schedule.facts().splits_backward);
        }
    }

    #[test]
    fn the_order_keeps_what_the_closed_form_says(pipeline in any_pipeline()) {
        for rank in 0..pipeline.ranks {
            prop_assert_eq!(most_in_flight(&pipeline.order(rank)), pipeline.in_flight(rank), "{:?} \
                rank {}", pipeline, rank);
            prop_assert_eq!(pipeline.settled().in_flight(rank), pipeline.in_flight(rank));
        }
    }

    /// Times are whole numbers, so that sums are exact.
    #[test]
    fn the_order_waits_as_long_as_the_closed_form_says(pipeline in any_pipeline(), times in (1_u32..=9, 1_u32..=9, 1_u32..=9)) {
        let (f, b, w) = times;
        let times = PassTimes::new(f.into(), b.into(), w.into());
        let played = pipeline.play(&times);
        let unit = PassTimes::new(1.0, 1.0, 1.0);
        prop_assert_eq!(pipeline.play(&unit).bubble, pipeline.bubble(&unit), "{:?}", pipeline);
        let (p, m) = (pipeline.ranks, pipeline.micro_batches);
        let stated = match pipeline.schedule {
            PipelineSchedule::ZeroBubbleH1 => m >= p,
            PipelineSchedule::ZeroBubbleH2 => m >= 2 * p - 1,
            PipelineSchedule::DualPipe => f == b && w <= b,
            _ => true,
        };
        if stated {
            prop_assert_eq!(played.bubble, pipeline.bubble(&times), "{:?} {:?}", pipeline, times);
        }
        // No rank can end before it has done its own passes.
        let work = f64::from(f + b + w) * f64::from(u32::try_from(m * pipeline.chunks).expect("small"));
        prop_assert!(played.end >= work);
    }
}

/// Huang et al. 2019 (section 2.3), Narayanan et al. 2021 (section 2.2), Qi et al. 2023 (section
/// 2), DeepSeek-V3 (table 2).
#[test]
fn the_papers_own_examples() {
    let unit = PassTimes::new(1.0, 1.0, 1.0);
    let thirds = |schedule, m| pipeline(schedule, 4, 1, m).bubble(&unit);
    assert_eq!([4, 8].map(|m| thirds(PipelineSchedule::OneForwardOneBackward, m)), [9.0, 9.0]);
    assert_eq!(thirds(PipelineSchedule::ZeroBubbleH1, 8), 3.0, "a third of 1F1B's");
    assert_eq!(thirds(PipelineSchedule::ZeroBubbleH2, 8), 0.0);
    let flight = |schedule, rank| pipeline(schedule, 4, 1, 16).in_flight(rank);
    assert_eq!(
        [0, 1, 2, 3].map(|rank| flight(PipelineSchedule::OneForwardOneBackward, rank)),
        [4, 3, 2, 1]
    );
    assert_eq!([0, 1, 2, 3].map(|rank| flight(PipelineSchedule::ZeroBubbleH2, rank)), [7; 4]);
    assert_eq!([0, 3].map(|rank| flight(PipelineSchedule::DualPipe, rank)), [5; 2]);
    assert_eq!(PipelineSchedule::DualPipe.facts().parameter_copies, 2);
    // Narayanan et al.: the bubble is (p − 1)/m of the work; chunks divide it.
    let share = |chunks, m| {
        let part = if chunks == 1 {
            PipelineSchedule::OneForwardOneBackward
        } else {
            PipelineSchedule::Interleaved
        };
        let passes = f64::from(u32::try_from(m * chunks).expect("small"));
        pipeline(part, 4, chunks, m).bubble(&unit) / (passes * unit.all())
    };
    assert_eq!(share(1, 12), 3.0 / 12.0);
    assert_eq!(share(2, 12), 3.0 / 24.0);
}

/// In the figure of DualPipe's report, the middle ranks run a forward and a backward together, and
/// no rank runs more than two passes at once.
#[test]
fn two_passes_run_together_under_dualpipe_only() {
    for facts in &SCHEDULES {
        let chunks = if facts.schedule == PipelineSchedule::Interleaved { 2 } else { 1 };
        let pipeline = pipeline(facts.schedule, 4, chunks, 12);
        let together =
            (0..4).flat_map(|rank| pipeline.order(rank)).filter(|slot| slot.with_next).count();
        assert_eq!(together > 0, facts.schedule == PipelineSchedule::DualPipe, "{}", facts.name);
    }
}

#[test]
fn every_schedule_has_a_source() {
    for facts in &SCHEDULES {
        assert!(
            headroom::sources::ALL.iter().any(|source| source.key == facts.source),
            "{}",
            facts.name
        );
        assert_eq!(facts.schedule.facts(), facts);
    }
}
