//! Every pipeline stage: its bar, what it keeps in flight, and the schedule that decides it.

use crate::charts::{self, BarRow, BarSegment, BarView, PassKind, PassSpan, ScheduleView};
use crate::config::{Job, PassTimes, PassType, Pipeline, Timed};
use crate::estimator::{MemoryKind, Printed, StageMemory, stages};
use crate::units::{Bytes, MemoryUnit, to_f64};
use crate::view::markup::{Html, html};
use crate::view::words::{Scale, whole};

/// The most stages that are drawn; of more, the first ones and the last.
const MOST: usize = 16;

/// The panel of a training job with a pipeline, a section with its heading; nothing for other jobs.
/// Amounts are written in `unit`.
pub fn panel(job: &Job, unit: MemoryUnit) -> Html {
    let pipeline = job.pipeline();
    if job.training().is_none() || pipeline.ranks < 2 {
        return Html::new();
    }
    let all = stages(job);
    let fullest = all.iter().map(StageMemory::total).max().unwrap_or_default();
    let capacity = job.cluster().accelerator.memory;
    let scale = Scale::of(unit, fullest, capacity);
    let shown: Vec<&StageMemory> = all
        .iter()
        .enumerate()
        .filter(|(at, _)| *at + 1 < MOST || *at + 1 == all.len())
        .map(|(_, stage)| stage)
        .collect();
    let rows: Html = shown.iter().map(|stage| table_row(stage, &pipeline, scale)).collect();
    let bars = BarView {
        id: "stages",
        rows: shown.iter().map(|stage| bar(stage, scale, capacity)).collect(),
    };
    html! {
        section class="section section--screen" data-testid="stages" {
            div class="section__head" {
                h2 { "Pipeline stages" }
                p class="section__note" {
                    "One GPU of every stage, each at its own peak; the fullest one is the answer \
                     above."
                }
            }
            @if shown.len() < all.len() {
                p class="quiet" {
                    "Of "
                    (whole(pipeline.ranks))
                    " stages the first "
                    (whole(u64::try_from(MOST - 1).unwrap_or(0)))
                    " and the last are shown."
                }
            }
            div role="img" aria-label="Memory of every stage, as in the table below" {
                (Html::made(charts::bar(&bars, 640)))
            }
            table class="table step__moments" {
                thead {
                    tr {
                        th scope="col" { "Stage" }
                        th scope="col" class="num" { "Layers" }
                        th scope="col" class="num" {
                            @if pipeline.chunks > 1 { "Chunks" } @else { "Micro-batches" }
                            " in flight"
                        }
                        th scope="col" class="num" { "Memory, " (scale.unit.name()) }
                        th scope="col" { "Peaks" }
                    }
                }
                tbody { (rows) }
            }
            (schedule(&pipeline))
        }
    }
}

fn table_row(stage: &StageMemory, pipeline: &Pipeline, scale: Scale) -> Html {
    let ends = match stage.stage {
        0 => ", embedding",
        last if last + 1 == pipeline.ranks => ", head and loss",
        _ => "",
    };
    html! {
        tr {
            th scope="row" { (whole(stage.stage + 1)) (ends) }
            td class="num" { (whole(stage.blocks)) }
            td class="num" { (whole(stage.in_flight)) }
            td class="num" { (scale.show(stage.total())) }
            td { (stage.moment) }
        }
    }
}

fn bar(stage: &StageMemory, scale: Scale, capacity: Bytes) -> BarRow {
    let amount = |bytes: Bytes| bytes.as_f64() / to_f64(scale.unit.bytes());
    let printed = Printed::kinds_in_scale(&stage.by_kind, scale);
    let segment = |(kind, bytes): (MemoryKind, Bytes)| BarSegment {
        kind_index: kind.index(),
        name: kind.name().to_owned(),
        value_text: scale.number(printed[kind.index()]),
        value: amount(bytes),
        action: String::new(),
        tip: String::new(),
    };
    let parts =
        MemoryKind::ALL.into_iter().zip(stage.by_kind).filter(|(_, bytes)| *bytes > Bytes::ZERO);
    BarRow {
        name: format!("Stage {}", whole(stage.stage + 1)),
        segments: parts.map(segment).collect(),
        capacity: amount(capacity),
        capacity_text: format!("{} {}", scale.show(capacity), scale.unit),
        margin_text: String::new(),
    }
}

/// The schedule of the first micro-batches, where there is room to draw it.
fn schedule(pipeline: &Pipeline) -> Html {
    let facts = pipeline.schedule.facts();
    if usize::try_from(pipeline.ranks).unwrap_or(usize::MAX) > MOST {
        return html! { p class="quiet" { (facts.name) ": too many stages to draw." } };
    }
    // More micro-batches repeat the middle of the picture.
    let enough = pipeline.ranks.saturating_mul(2).saturating_add(2);
    let drawn = Pipeline { micro_batches: pipeline.micro_batches.min(enough), ..*pipeline };
    let played = drawn.play(&PassTimes::new(1.0, 1.0, 1.0));
    let row = |rank: u64| {
        let own = played.slots.iter().filter(|timed| timed.slot.rank == rank);
        (format!("Stage {}", whole(rank + 1)), own.map(span).collect())
    };
    let view = ScheduleView { rows: (0..pipeline.ranks).map(row).collect(), end: played.end };
    let share =
        format!("{:.1} %", 100.0 * pipeline.bubble_fraction(&PassTimes::new(1.0, 1.0, 1.0)));
    html! {
        h3 { (facts.name) }
        p class="methods__line" {
            "Forward, backward for inputs and backward for weights drawn equally long; "
            (whole(drawn.micro_batches))
            " of "
            (whole(pipeline.micro_batches))
            " micro-batches. Idle time "
            (facts.bubble)
            ": "
            (share)
            " of the whole step."
        }
        div role="img" aria-label="The order of passes on every stage" data-testid="schedule" {
            (Html::made(charts::schedule(&view, 960)))
        }
        p class="quiet" {
            (swatch("pass-f", MemoryKind::Parameter))
            " forward "
            (swatch("pass-b", MemoryKind::Activation))
            " backward "
            (swatch("pass-w", MemoryKind::Gradient))
            " backward for weights alone"
        }
    }
}

/// The colour of a pass, which is that of a kind of memory.
fn swatch(id: &str, kind: MemoryKind) -> Html {
    html! { span class="swatch" { (Html::made(charts::swatch(id, kind.index()))) } }
}

fn span(timed: &Timed) -> PassSpan {
    let kind = match timed.slot.work {
        PassType::Forward => PassKind::Forward,
        PassType::Backward | PassType::BackwardInput => PassKind::Backward,
        PassType::BackwardWeight => PassKind::Weights,
    };
    PassSpan { from: timed.start, to: timed.end, kind, label: whole(timed.slot.micro_batch + 1) }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a failed expectation is a failed test")]
mod tests {
    use super::panel;
    use crate::scenario::codec::decode;
    use crate::units::MemoryUnit;
    use crate::view::panels::tests::{count, text};

    fn of(link: &str) -> crate::view::markup::Html {
        panel(&decode(link).scenario.resolve().expect("a job"), MemoryUnit::Gib)
    }

    #[test]
    fn every_stage_has_a_row_and_the_schedule_is_drawn() {
        let html = of("v1&m=llama3-70b&ker=megatron&n=64&tp=8&pp=4&z=1");
        assert_eq!(count(&html, "<tr>"), 5, "a head and four stages");
        assert!(text(&html).contains("1, embedding") && text(&html).contains("4, head and loss"));
        assert!(text(&html).contains("1F1B") && count(&html, "data-testid=\"schedule\"") == 1);
        let dual = of("v1&m=llama3-70b&ker=megatron&n=64&tp=8&pp=4&z=1&sch=dualpipe");
        assert!(text(&dual).contains("DualPipe") && count(&dual, "chart-pass kind-gradient") > 4);
    }

    #[test]
    fn nothing_without_a_pipeline_and_little_for_a_long_one() {
        assert_eq!(of("v1&m=llama3-8b").as_str(), "");
        let long = of("v1&m=llama3-405b&ker=megatron&n=1008&tp=8&pp=42&z=1");
        assert_eq!(count(&long, "<tr>"), 17);
        assert!(text(&long).contains("Of 42 stages") && text(&long).contains("too many stages"));
    }
}
