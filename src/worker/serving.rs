//! Memory and speed by requests at once, and what makes room for more of them; the answers in
//! figures stand beside the ledger.

use super::plan::legend;
use crate::charts::{
    self, CurveView, Frame, FrontPoint, FrontView, Marker, Point, TickStyle, XScale,
};
use crate::config::{Job, Run, ServingRun};
use crate::estimator::Lengths;
use crate::estimator::time::{Bound, Pace};
use crate::planner::{
    BatchPoint, Inverse, More, RequestsPoint, curve_batch, curve_requests, inverse, more_requests,
};
use crate::scenario::codec::encode;
use crate::scenario::{FieldId, Scenario, Value};
use crate::units::{Bytes, MemoryUnit, to_f64};
use crate::view::action::Action;
use crate::view::curve_view::series;
use crate::view::markup::{Html, html};
use crate::view::panels::fixes::change;
use crate::view::timing::amount;
use crate::view::words::{Scale, requests, whole};

/// Points of each curve.
const POINTS: usize = 33;
/// Ids of the memory curve, a wide and a narrow one.
const IDS: [&str; 2] = ["reqw", "reqn"];

/// The panel of a serving job, a section with its heading; nothing for other jobs. Amounts are
/// written in `unit`.
pub fn panel(scenario: &Scenario, job: &Job, unit: MemoryUnit) -> Html {
    let Run::Serving(run) = job.run() else { return Html::new() };
    let story = Story { scenario, job, run, unit, known: inverse(&Lengths::of(job)) };
    html! {
        section class="section section--screen" data-testid="serving" {
            div class="section__head" {
                h2 { "More requests at once" }
                p class="section__note" {
                    "Served by one instance, each with a whole context, with everything else as it \
                     is."
                }
            }
            (story.curves())
            (story.more())
            (super::paste::for_messages())
        }
    }
}

/// A serving job with the largest that fits.
struct Story<'a> {
    scenario: &'a Scenario,
    job: &'a Job,
    run: &'a ServingRun,
    unit: MemoryUnit,
    known: Inverse,
}

impl Story<'_> {
    /// Changes that make room for more requests, one click each.
    fn more(&self) -> Html {
        let now = self.known.largest_batch.unwrap_or(0);
        let button = |more: &More| {
            let mut changed = self.scenario.clone();
            change(&mut changed, more.change);
            html! {
                button type="button" class="fix" data-do=(Action::Take(encode(&changed))) {
                    span class="fix__title" { (more.title) }
                    span class="fix__effect" { (whole(now)) " → " (requests(more.at_once)) }
                }
            }
        };
        let buttons: Html = more_requests(self.job, &self.known).iter().map(button).collect();
        if buttons.as_str().is_empty() {
            return html! {
                p class="quiet" {
                    "No narrower format of weights or cache makes room for more requests."
                }
            };
        }
        html! {
            div class="serving__more" data-testid="serving-more" {
                h3 { "Room for more requests" }
                div class="fixes" { (buttons) }
            }
        }
    }

    fn curves(&self) -> Html {
        let largest = self.known.largest_batch;
        let memory = curve_requests(self.job, largest, POINTS);
        let paces = curve_batch(self.job, largest, POINTS);
        html! {
            div class="step__pair" { (self.memory_figure(&memory)) (self.pace_figure(&paces)) }
            (self.twin(&memory, &paces))
        }
    }

    fn amount(&self, bytes: Bytes) -> f64 {
        bytes.as_f64() / to_f64(self.unit.bytes())
    }

    fn memory_figure(&self, points: &[RequestsPoint]) -> Html {
        let [wide, narrow] =
            [(IDS[0], Frame::new(600, 320)), (IDS[1], Frame::new(336, 280))].map(|(id, frame)| {
                let view = self.memory_view(id, points);
                Html::made(charts::curve(&view, frame).svg)
            });
        html! {
            figure class="step__figure" data-testid="serving-memory" {
                figcaption { h3 { "Memory by requests at once" } }
                div role="img"
                    aria-label="Memory of one GPU by requests at once, as in the table below" {
                    div class="step__wide" { (wide) }
                    div class="step__narrow" { (narrow) }
                }
            }
        }
    }

    fn memory_view(&self, id: &'static str, points: &[RequestsPoint]) -> CurveView {
        let unit = self.unit;
        let capacity = self.job.cluster().accelerator.memory;
        let total = |point: &RequestsPoint| point.by_kind.into_iter().sum::<Bytes>();
        let now = points.iter().find(|point| point.sequences == self.run.concurrent_sequences);
        let last =
            self.known.largest_batch.filter(|largest| *largest != self.run.concurrent_sequences);
        CurveView {
            id,
            title: "Memory by requests at once".to_owned(),
            x_label: "requests at once".to_owned(),
            y_label: format!("{unit} per GPU"),
            unit: unit.name(),
            series: series(&points.iter().map(|point| &point.by_kind)),
            points: points
                .iter()
                .map(|point| Point {
                    x: to_f64(point.sequences),
                    x_text: requests(point.sequences),
                    tick: String::new(),
                    stack: point.by_kind.map(|bytes| self.amount(bytes)),
                    total: self.amount(total(point)),
                    blocked: false,
                })
                .collect(),
            capacity: self.amount(capacity),
            capacity_text: format!("capacity {}", unit.number(capacity, 1)),
            current_x: to_f64(self.run.concurrent_sequences),
            current_text: now.map(|point| unit.number(total(point), 1)).unwrap_or_default(),
            scale: XScale::Log2,
            ticks: TickStyle::Plain,
            markers: last
                .map(|largest| Marker {
                    x: to_f64(largest),
                    text: format!("fits to {}", whole(largest)),
                })
                .into_iter()
                .collect(),
            ..CurveView::default()
        }
    }

    /// Tokens per second against requests at once; its points open as scenarios.
    fn pace_figure(&self, points: &[BatchPoint]) -> Html {
        if points.len() < 2 {
            return html! {
                p class="quiet" {
                    "No pace: peak rate or memory bandwidth of this GPU are not known. Enter them \
                     under GPU and layout details."
                }
            };
        }
        let view = FrontView {
            name: "Tokens per second by requests at once".to_owned(),
            x_label: "requests at once".to_owned(),
            y_label: "tokens per second".to_owned(),
            series: ["all requests together", "each request"].map(str::to_owned).to_vec(),
            points: [0, 1]
                .into_iter()
                .flat_map(|series| points.iter().map(move |point| (series, point)))
                .map(|at| self.drawn(at))
                .collect(),
        };
        let [wide, narrow] = [Frame::new(600, 320), Frame::new(336, 280)]
            .map(|frame| Html::made(charts::front(&view, frame)));
        html! {
            figure class="step__figure plan__front" data-testid="serving-pace" {
                figcaption {
                    h3 { "Speed by requests at once" }
                    p class="quiet" {
                        (self.turns())
                        " Large marks fit; each opens as a scenario. "
                        (legend(&view.series))
                    }
                }
                div class="step__wide" { (wide) }
                div class="step__narrow" { (narrow) }
            }
        }
    }

    /// Where the step turns from reading to computing.
    fn turns(&self) -> String {
        match Pace::of(self.job).and_then(|pace| pace.turns_at()) {
            Some(1) => {
                "Products take longer than reading the weights even for one request.".to_owned()
            }
            Some(turns) => format!(
                "Up to {} reading the weights takes longer than the products; from there on the \
                 products do.",
                requests(turns)
            ),
            None => String::new(),
        }
    }

    fn drawn(&self, (series, point): (usize, &BatchPoint)) -> FrontPoint {
        let mut other = self.scenario.clone();
        other.set(FieldId::ConcurrentSequences, Value::Integer(point.sequences));
        let link = encode(&other);
        let rate = if series == 0 { point.tokens_per_second } else { point.per_sequence };
        let of = if series == 0 { "in all" } else { "for each" };
        let room = if point.fits { "fits" } else { "does not fit" };
        FrontPoint {
            x: to_f64(point.sequences),
            y: rate,
            size: if point.fits { 0.2 } else { 0.0 },
            series,
            name: format!(
                "{}: {} tokens per second {of}, {room}",
                requests(point.sequences),
                amount(rate)
            ),
            href: format!("#{link}"),
            action: Action::Take(link).write(),
        }
    }

    /// Both curves as a table.
    fn twin(&self, memory: &[RequestsPoint], paces: &[BatchPoint]) -> Html {
        let scale = Scale { unit: self.unit, decimals: 1 };
        let capacity = self.job.cluster().accelerator.memory;
        let row = |point: &RequestsPoint| {
            let total: Bytes = point.by_kind.into_iter().sum();
            let pace = paces.iter().find(|pace| pace.sequences == point.sequences);
            let own = point.sequences == self.run.concurrent_sequences;
            html! {
                tr class=(if own { "table__total" } else { "" }) {
                    th scope="row" class="num" { (whole(point.sequences)) }
                    td class="num" { (scale.show(total)) }
                    td { (if total <= capacity { "fits" } else { "does not fit" }) }
                    td class="num" {
                        @if let Some(pace) = pace { (amount(pace.tokens_per_second)) }
                    }
                    td class="num" {
                        @if let Some(pace) = pace { (amount(pace.per_sequence)) }
                    }
                    td {
                        @if let Some(pace) = pace { (bound(pace.bound)) }
                    }
                }
            }
        };
        html! {
            details class="twin" {
                summary { "Both curves as a table" }
                div class="twin__scroll" tabindex="0" role="region"
                    aria-label="Memory and speed by requests at once" {
                    table class="table" data-testid="serving-table" {
                        thead {
                            tr {
                                th scope="col" class="num" { "Requests at once" }
                                th scope="col" class="num" { "Memory per GPU, " (self.unit.name()) }
                                th scope="col" { "Room" }
                                th scope="col" class="num" { "Tokens per second, all" }
                                th scope="col" class="num" { "for each" }
                                th scope="col" { "Held up by" }
                            }
                        }
                        tbody {
                            @for item in memory { (row(item)) }
                        }
                    }
                }
            }
        }
    }
}

const fn bound(bound: Bound) -> &'static str {
    match bound {
        Bound::Memory => "memory bandwidth",
        Bound::Compute => "matrix products",
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a failed expectation is a failed test")]
mod tests {
    use super::panel;
    use crate::scenario::codec::decode;
    use crate::units::MemoryUnit;
    use crate::view::panels::tests::{count, text};

    fn of(link: &str) -> crate::view::markup::Html {
        let scenario = decode(link).scenario;
        panel(&scenario, &scenario.resolve().expect("a job"), MemoryUnit::Gib)
    }

    #[test]
    fn both_curves_are_drawn_and_their_points_are_scenarios() {
        let html = of("v1&do=serve&m=llama3-8b&n=1&gpu=h100-80&s=8k&srv=vllm");
        let words = text(&html);
        for said in [
            "Memory by requests at once",
            "fits to",
            "Speed by requests at once",
            "all requests together",
            "Held up by",
        ] {
            assert!(words.contains(said), "{said}: {words}");
        }
        assert!(count(&html, "data-do=\"take:v2&amp;") > 6, "changes and points are scenarios");
        // Every row of the table has both figures.
        let rows = html.as_str().split("<tbody>").nth(1).expect("a table").matches("<tr").count();
        assert_eq!(
            count(&html, "memory bandwidth</td>") + count(&html, "matrix products</td>"),
            rows
        );
    }

    #[test]
    fn what_makes_room_says_how_much() {
        let scenario = decode("v1&do=serve&m=llama3-8b&n=1&gpu=rtx4090&s=8k").scenario;
        let job = scenario.resolve().expect("a job");
        let known = crate::planner::inverse(&crate::estimator::Lengths::of(&job));
        let all = crate::planner::more_requests(&job, &known);
        assert!(!all.is_empty());
        for more in &all {
            let mut changed = scenario.clone();
            super::change(&mut changed, more.change);
            let job = changed.resolve().expect("a job");
            let after = crate::planner::inverse(&crate::estimator::Lengths::of(&job)).largest_batch;
            assert_eq!(after, Some(more.at_once), "{}", more.title);
        }
    }

    #[test]
    fn what_does_not_fit_at_all_is_said() {
        let html = of("v1&do=serve&m=llama3-405b&n=1&gpu=h100-80&s=8k");
        assert!(count(&html, "does not fit</td>") > 4 && count(&html, ">fits</td>") == 0);
        let narrow = text(&html).contains("No narrower format of weights or cache makes room");
        assert!(narrow, "{}", text(&html));
    }

    #[test]
    fn a_training_has_no_such_panel() {
        assert_eq!(of("v1&m=llama3-8b").as_str(), "");
    }
}
