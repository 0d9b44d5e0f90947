//! Memory over one training step: a picture for the first step and one for all others, the peak in
//! a sentence, the moments as a table.

use super::step_axis::{ByKind, phase_name, total, view};
use crate::charts::{self, Frame};
use crate::config::Job;
use crate::estimator::{Estimate, MemoryKind, Phase, Printed, Stretch, Timeline, with_overheads};
use crate::units::{Bytes, MemoryUnit};
use crate::view::markup::{Html, html};
use crate::view::words::{Scale, lower_first, percent, upper_first, whole};

/// Ids of the pictures, a wide and a narrow one each: the first step, and every later one.
const IDS: [[&str; 2]; 2] = [["step1w", "step1n"], ["step2w", "step2n"]];

/// The panel of a training job, a section with its heading. Amounts are written in `unit`.
pub fn panel(job: &Job, estimate: &Estimate, unit: MemoryUnit) -> Html {
    let scale = Scale::of(unit, estimate.total(), estimate.capacity);
    let played =
        estimate.timeline.as_ref().and_then(|timeline| Story::of(job, estimate, timeline, scale));
    let inside = played.map_or_else(|| moments(estimate, scale), |story| story.html());
    html! {
        section class="section section--screen" {
            div class="section__head" {
                h2 { "Memory over one step" }
                p class="section__note" {
                    "One step on the most loaded GPU: forward, backward, optimizer. Shown: the \
                     last micro-batch."
                }
            }
            (inside)
            (super::paste::for_messages())
        }
    }
}

/// For a stack whose step is not played: the moments that were compared.
fn moments(estimate: &Estimate, scale: Scale) -> Html {
    html! {
        p class="step__peak" data-testid="step-peak" {
            "Peak: "
            b { (estimate.peak_moment) }
            ", at "
            (scale.show(estimate.total()))
            " "
            (scale.unit.name())
            "."
        }
        p class="methods__line quiet" {
            "This stack is not played operation by operation, so there is no picture of its step: \
             these are the moments that are compared."
        }
        table class="table step__moments" data-testid="step-moments" {
            thead {
                tr {
                    th scope="col" { "Moment" }
                    th scope="col" class="num" { "Memory, " (scale.unit.name()) }
                }
            }
            tbody {
                @for moment in &estimate.moments {
                    tr {
                        th scope="row" { (upper_first(moment.name)) }
                        td class="num" { (scale.show(moment.total)) }
                    }
                }
            }
        }
    }
}

/// The first step and a later one, with what stands outside the allocator.
struct Story<'a> {
    estimate: &'a Estimate,
    scale: Scale,
    first: Timeline,
    steady: Timeline,
    ends: Ends,
}

/// Which ends of the model the fullest GPU's pipeline stage has.
#[derive(Clone, Copy)]
struct Ends {
    embedding: bool,
    head: bool,
}

impl<'a> Story<'a> {
    /// Nothing where nothing is played.
    fn of(job: &Job, estimate: &'a Estimate, timeline: &Timeline, scale: Scale) -> Option<Self> {
        timeline.stretches.get(timeline.peak)?;
        let [first, steady] = [timeline.first_step(), timeline.clone()].map(|mut timeline| {
            for stretch in &mut timeline.stretches {
                for moment in [&mut stretch.start, &mut stretch.peak, &mut stretch.end] {
                    *moment = with_overheads(job, *moment);
                }
            }
            timeline
        });
        let stage = estimate.peak_stage;
        let ends =
            Ends { embedding: stage == 0, head: stage.saturating_add(1) == job.layout().p() };
        Some(Self { estimate, scale, first, steady, ends })
    }

    fn html(&self) -> Html {
        let steps = [("Step 1", &self.first), ("Step 2 and every later one", &self.steady)];
        html! {
            p class="step__peak" data-testid="step-peak" { (self.sentence()) }
            div class="step__pair" {
                @for (at, (name, timeline)) in steps.into_iter().enumerate() {
                    (self.picture(at, name, timeline))
                }
            }
            p class="methods__line" data-testid="step-first" { (self.comparison()) }
            (self.twin())
        }
    }

    /// When the peak is, what is most of it, and the operation.
    fn sentence(&self) -> Html {
        let Some(peak) = self.steady.stretches.get(self.steady.peak) else { return Html::new() };
        let parts: Vec<String> = largest(&peak.peak)
            .into_iter()
            .take(2)
            .map(|(kind, _)| self.amount_of(kind, &peak.peak))
            .collect();
        html! {
            "Peak: "
            b { (peak.name) }
            @if let Some(blocks) = blocks(peak) { (format!(", {blocks}")) }
            @if !peak.operation.is_empty() { ", " (lower_first(peak.operation)) }
            ". "
            (parts.join(" and "))
            ", of "
            (self.scale.show(total(&peak.peak)))
            " "
            (self.scale.unit.name())
            " in all."
        }
    }

    /// `9.4 GiB of activations`, as it is printed among the kinds of that moment.
    fn amount_of(&self, kind: MemoryKind, of: &ByKind) -> String {
        let printed = Printed::kinds_in_scale(of, self.scale)[kind.index()];
        format!("{} {} of {}", self.scale.number(printed), self.scale.unit, words(kind))
    }

    /// Why the first step can go well and the second not.
    fn comparison(&self) -> String {
        let peak = |timeline: &Timeline| {
            timeline
                .stretches
                .get(timeline.peak)
                .map_or(Bytes::ZERO, |stretch| total(&stretch.peak))
        };
        let (first, steady, room) = (peak(&self.first), peak(&self.steady), self.estimate.capacity);
        let show = |bytes: Bytes| format!("{} {}", self.scale.show(bytes), self.scale.unit);
        let states = "optimizer states appear at the end of step 1 and stay";
        if first <= room && steady > room {
            return format!(
                "Step 1 fits with {} and step 2 does not with {}: {states}. Such a run dies in its \
                 second step.",
                show(first),
                show(steady)
            );
        }
        let fits = match (first > room, steady > room) {
            (true, _) => " Already step 1 does not fit.",
            _ => " Both fit.",
        };
        if show(first) == show(steady) {
            return format!("Step 1 and later ones peak alike, at {}.{fits}", show(steady));
        }
        format!("Step 1 peaks at {}, later ones at {}: {states}.{fits}", show(first), show(steady))
    }

    /// A picture in two sizes, of which the page shows one.
    fn picture(&self, at: usize, name: &'static str, timeline: &Timeline) -> Html {
        let ids = IDS.get(at).copied().unwrap_or_default();
        let beside = (at == 0).then_some(&self.steady);
        let [wide, narrow] =
            [(ids[0], Frame::new(600, 320)), (ids[1], Frame::new(336, 280))].map(|(id, frame)| {
                let view =
                    view(id, name, timeline, (self.estimate.capacity, self.scale.unit), beside);
                Html::made(charts::step(&view, frame))
            });
        html! {
            figure class="step__figure" data-testid={ "step-" (at + 1) } {
                figcaption { h3 { (name) } }
                div class="step__wide" { (wide) }
                div class="step__narrow" { (narrow) }
            }
        }
    }

    /// The moments as a table; what follows on each other in one place is one row.
    fn twin(&self) -> Html {
        let stretches = &self.steady.stretches;
        let named: Vec<(Phase, String)> = stretches
            .iter()
            .enumerate()
            .map(|(at, stretch)| (stretch.phase, place(stretches, at, self.ends)))
            .collect();
        let mut from = 0;
        let rows = named.chunk_by(|a, b| a == b).filter_map(|places| {
            let stretch = from..from + places.len();
            from = stretch.end;
            let ((phase, place), row) = (places.first()?, self.highest(stretch.clone())?);
            Some(self.row(*phase, place, row, stretch.contains(&self.steady.peak)))
        });
        html! {
            details class="twin" {
                summary { "Its moments as a table" }
                div class="twin__scroll" tabindex="0" role="region" aria-label="Moments of a step" {
                    table class="table" data-testid="step-moments" {
                        thead {
                            tr {
                                th scope="col" { "Phase" }
                                th scope="col" { "Where" }
                                th scope="col" class="num" { "Highest, " (self.scale.unit.name()) }
                                th scope="col" class="num" { "In step 1" }
                                th scope="col" { "Largest part" }
                            }
                        }
                        tbody { @for row in rows { (row) } }
                    }
                }
            }
        }
    }

    /// The highest moment of some stretches, and the first step's.
    fn highest(&self, range: std::ops::Range<usize>) -> Option<(ByKind, Bytes)> {
        let of = |timeline: &'_ Timeline| {
            let peaks = timeline
                .stretches
                .get(range.clone())
                .unwrap_or_default()
                .iter()
                .map(|stretch| stretch.peak);
            peaks.max_by_key(total)
        };
        Some((of(&self.steady)?, total(&of(&self.first)?)))
    }

    fn row(&self, phase: Phase, place: &str, (peak, first): (ByKind, Bytes), here: bool) -> Html {
        html! {
            tr class=(if here { "table__total" } else { "" }) {
                th scope="row" { (phase_name(phase)) }
                td { (place) }
                td class="num" { (self.scale.show(total(&peak))) }
                td class="num" { (self.scale.show(first)) }
                td {
                    @if let Some((kind, bytes)) = largest(&peak).first() {
                        (kind.name()) ", " (percent(*bytes, total(&peak)))
                    }
                }
            }
        }
    }
}

/// Kinds in use, the largest first.
fn largest(by_kind: &ByKind) -> Vec<(MemoryKind, Bytes)> {
    let mut kinds: Vec<(MemoryKind, Bytes)> =
        MemoryKind::ALL.into_iter().zip(*by_kind).filter(|(_, bytes)| bytes.0 > 0).collect();
    kinds.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    kinds
}

/// A kind after "of" or "with".
pub(super) const fn words(kind: MemoryKind) -> &'static str {
    match kind {
        MemoryKind::Parameter => "weights",
        MemoryKind::Gradient => "gradients",
        MemoryKind::OptimizerState => "optimizer states",
        MemoryKind::Activation => "activations",
        MemoryKind::KvCache => "keys and values",
        MemoryKind::Temporary => "temporary tensors",
        MemoryKind::Framework => "framework and reserve",
    }
}

/// The blocks of a stretch, counted from 1, in the order in which they come.
fn blocks(stretch: &Stretch) -> Option<String> {
    let first = stretch.layer?.saturating_add(1);
    let further = stretch.times.saturating_sub(1);
    let last = if stretch.phase == Phase::Backward {
        first.saturating_sub(further)
    } else {
        first.saturating_add(further)
    };
    Some(if further == 0 {
        format!("block {}", whole(first))
    } else {
        format!("blocks {} to {}", whole(first), whole(last))
    })
}

/// Where a stretch is: blocks, or an end of the model or of its pipeline stage.
fn place(stretches: &[Stretch], at: usize, ends: Ends) -> String {
    let Some(stretch) = stretches.get(at) else { return String::new() };
    if let Some(blocks) = blocks(stretch) {
        return blocks;
    }
    let in_block = |other: &Stretch| other.phase == stretch.phase && other.layer.is_some();
    let blocks_before = stretches.iter().take(at).any(in_block);
    let name = match (stretch.phase, blocks_before != (stretch.phase == Phase::Backward)) {
        (Phase::Step, _) => "all parameters",
        (_, true) if ends.head => "head and loss",
        (_, true) => "end of the stage",
        (_, false) if ends.embedding => "embedding",
        (_, false) => "start of the stage",
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Story, largest, panel, place, total, view};
    use crate::charts::{Frame, step};
    use crate::config::Job;
    use crate::estimator::{Estimate, MemoryKind, Phase, estimate};
    use crate::scenario::codec::decode;
    use crate::units::MemoryUnit;
    use crate::view::panels::tests::{count, text};
    use crate::view::words::Scale;
    use crate::worker::step_axis::{DrawnStretch, along, moments_of, phases};

    const LINKS: [&str; 8] = [
        "v1&m=llama3-8b&n=8&z=3",
        "v1&m=llama3-8b&n=8&rc=full&ker=eager",
        "v1&m=llama3-70b&n=64&pp=4&z=1&rc=none&att=standard",
        "v1&m=gpt2&n=1&ker=eager&u=gb",
        "v1&m=mixtral-8x7b&n=16&z=3",
        "v1&m=deepseek-v3&n=256&z=3",
        "v1&m=gpt3-175b&gpu=a10g&n=1024",
        "v1&m=llama3-8b&l=1&n=1&s=1&gb=1&b=1",
    ];

    fn known(link: &str) -> (Job, Estimate) {
        let job = decode(link).scenario.resolve().expect("a job");
        let estimate = estimate(&job);
        (job, estimate)
    }

    fn story<'a>(job: &Job, estimate: &'a Estimate) -> Story<'a> {
        let scale = Scale::of(MemoryUnit::Gib, estimate.total(), estimate.capacity);
        Story::of(job, estimate, estimate.timeline.as_ref().expect("a timeline"), scale)
            .expect("a story")
    }

    #[test]
    fn the_picture_peaks_where_the_answer_does() {
        for link in LINKS {
            let (job, estimate) = known(link);
            let story = story(&job, &estimate);
            let drawn = along(&story.steady.stretches);
            let highest = moments_of(&drawn).iter().map(|(_, by_kind)| total(by_kind)).max();
            assert_eq!(highest, Some(estimate.total()), "{link}");
            let at = drawn.get(story.steady.peak).map(DrawnStretch::peak_at);
            assert!(
                moments_of(&drawn)
                    .iter()
                    .any(|(x, all)| Some(*x) == at && Some(total(all)) == highest),
                "{link}"
            );
            let first =
                moments_of(&along(&story.first.stretches)).iter().map(|(_, all)| total(all)).max();
            assert!(first <= highest, "{link}");
        }
    }

    #[test]
    fn places_rise_and_phases_cover_the_axis() {
        for link in LINKS {
            let (job, estimate) = known(link);
            let story = story(&job, &estimate);
            let drawn = along(&story.steady.stretches);
            let moments = moments_of(&drawn);
            assert!(moments.windows(2).all(|pair| pair[0].0 < pair[1].0), "{link}");
            let phases = phases(&drawn);
            assert_eq!(
                phases.iter().map(|phase| phase.name).collect::<Vec<_>>(),
                ["forward", "backward", "optimizer"],
                "{link}"
            );
            assert!(
                phases.windows(2).all(|pair| (pair[0].to - pair[1].from).abs() < 1e-9),
                "{link}"
            );
            assert!(phases[2].to <= moments.last().expect("moments").0, "{link}");
        }
    }

    /// Every number of the drawing lies inside its frame.
    #[test]
    fn the_drawing_stays_in_its_frame() {
        for link in LINKS {
            let (job, estimate) = known(link);
            let story = story(&job, &estimate);
            for (width, height) in [(600_u16, 320_u16), (336, 280)] {
                let what = (estimate.capacity, MemoryUnit::Gib);
                let svg = step(
                    &view("t", "Step 1", &story.first, what, Some(&story.steady)),
                    Frame::new(width, height),
                );
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{link}");
                for name in [">forward<", ">backward<", ">optimizer<"] {
                    assert_eq!(svg.matches(name).count(), 1, "{link} {name}");
                }
                for points in
                    svg.split(" points=\"").skip(1).filter_map(|rest| rest.split('"').next())
                {
                    for point in points.split_whitespace() {
                        let (x, y) = point.split_once(',').expect("x,y");
                        let (x, y): (f64, f64) = (x.parse().expect("x"), y.parse().expect("y"));
                        assert!((0.0..=4.0 * f64::from(width)).contains(&x), "{link} {point}");
                        assert!((0.0..=4.0 * f64::from(height)).contains(&y), "{link} {point}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_sentence_names_the_moment_and_the_largest_kind() {
        for link in LINKS {
            let (job, estimate) = known(link);
            let story = story(&job, &estimate);
            let peak = &story.steady.stretches[story.steady.peak];
            let (kind, bytes) = largest(&peak.peak)[0];
            let sentence = text(&story.sentence());
            assert!(
                sentence.starts_with(&format!("Peak: {}", estimate.peak_moment)),
                "{link}: {sentence}"
            );
            assert!(sentence.contains(&story.amount_of(kind, &peak.peak)), "{link}: {sentence}");
            assert_eq!(
                bytes,
                MemoryKind::ALL
                    .map(|kind| estimate.ledger.of(kind))
                    .into_iter()
                    .max()
                    .expect("kinds"),
                "{link}"
            );
        }
    }

    #[test]
    fn a_run_that_dies_in_its_second_step_is_told_so() {
        let (job, mut estimate) = known("v1&m=llama3-8b&n=1&ker=eager&b=1&gb=1&s=512");
        let words = |estimate: &Estimate| story(&job, estimate).comparison();
        let (first, steady) = {
            let story = story(&job, &estimate);
            let peak = |timeline: &crate::estimator::Timeline| {
                total(&timeline.stretches[timeline.peak].peak)
            };
            (peak(&story.first), peak(&story.steady))
        };
        estimate.capacity = steady;
        assert!(words(&estimate).ends_with(" Both fit."), "{}", words(&estimate));
        estimate.capacity = crate::units::Bytes(first.0 - 1);
        assert!(
            words(&estimate).ends_with(" Already step 1 does not fit."),
            "{}",
            words(&estimate)
        );
        if first < steady {
            estimate.capacity = first;
            assert!(words(&estimate).ends_with("dies in its second step."), "{}", words(&estimate));
        }
    }

    #[test]
    fn the_table_has_a_row_for_each_place_and_names_the_ends() {
        for link in LINKS {
            let (job, estimate) = known(link);
            let story = story(&job, &estimate);
            let stretches = &story.steady.stretches;
            let html = panel(&job, &estimate, MemoryUnit::Gib);
            let mut places: Vec<_> = (0..stretches.len())
                .map(|at| (stretches[at].phase, place(stretches, at, story.ends)))
                .collect();
            places.dedup();
            assert_eq!(count(&html, "<th scope=\"row\">"), places.len(), "{link}");
            assert_eq!((count(&html, "<svg"), count(&html, "\"table__total\"")), (4, 1), "{link}");
            let names: Vec<&str> = places.iter().map(|(_, name)| name.as_str()).collect();
            let ends = story.ends;
            assert_eq!(
                names[0],
                if ends.embedding { "embedding" } else { "start of the stage" },
                "{link}"
            );
            let turn =
                places.iter().position(|(phase, _)| *phase == Phase::Backward).expect("backward");
            assert_eq!(
                names[turn],
                if ends.head { "head and loss" } else { "end of the stage" },
                "{link}"
            );
            assert_eq!(names.last(), Some(&"all parameters"), "{link}");
        }
    }

    #[test]
    fn a_stack_that_is_not_played_has_its_moments() {
        for link in ["v1&m=llama3-8b&n=8&ker=megatron", "v1&m=llama3-8b&n=8&ker=korthikanti"] {
            let (job, estimate) = known(link);
            let html = panel(&job, &estimate, MemoryUnit::Gib);
            assert_eq!(count(&html, "<th scope=\"row\">"), estimate.moments.len(), "{link}");
            assert_eq!(count(&html, "<svg"), 0, "{link}");
            assert!(
                text(&html).contains(&format!("Peak: {}, at ", estimate.peak_moment)),
                "{link}: {}",
                text(&html)
            );
        }
    }
}
