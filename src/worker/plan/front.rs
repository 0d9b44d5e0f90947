//! The front of GPUs, days and money over everything that was searched: a chart whose points open
//! as scenarios, and its table.

use super::answer::within;
use super::form::SearchRequest;
use super::rows::{Best, button, money};
use super::{Leg, layout};
use crate::charts::{self, Frame, FrontPoint, FrontView};
use crate::planner::search::{Answer, Found};
use crate::scenario::Scenario;
use crate::scenario::codec::encode;
use crate::units::{MemoryUnit, grouped, to_f64};
use crate::view::action::Action;
use crate::view::markup::{Html, html};
use crate::view::words::{gpus, whole};

/// A point of the front: its leg's place, the leg, and the layout.
type Point<'a> = (usize, &'a Leg, &'a Found);

/// The points that no other point beats in one of the three without being worse in another: of all
/// legs together, within the bounds, by number of accelerators.
fn points<'a>(found: &'a [(&'a Leg, Answer)], asked: &SearchRequest) -> Vec<Point<'a>> {
    let all: Vec<(Point<'a>, [f64; 3])> = found
        .iter()
        .enumerate()
        .flat_map(|(at, (leg, answer))| {
            answer.front().into_iter().map(move |found| (at, *leg, found))
        })
        .filter(|(_, _, found)| within(found, asked))
        .filter_map(|point| Some((point, [to_f64(point.2.gpus), point.2.days?, point.2.cost?])))
        .collect();
    let beats = |other: &[f64; 3], mine: &[f64; 3]| {
        let pairs = || other.iter().zip(mine);
        pairs().all(|(other, mine)| other <= mine) && pairs().any(|(other, mine)| other < mine)
    };
    let beaten = |mine: &[f64; 3]| all.iter().any(|(_, other)| beats(other, mine));
    let mut front: Vec<Point<'a>> =
        all.iter().filter(|(_, measures)| !beaten(measures)).map(|(point, _)| *point).collect();
    front.sort_by_key(|(at, _, found)| (found.gpus, *at));
    front
}

/// Chart and table; nothing for fewer than two points.
pub fn front(
    found: &[(&Leg, Answer)],
    asked: &SearchRequest,
    now: &Scenario,
    unit: MemoryUnit,
) -> Html {
    let points = points(found, asked);
    if points.len() < 2 {
        return Html::new();
    }
    let several = found.len() > 1;
    let dearest = points.iter().filter_map(|(_, _, found)| found.cost).fold(0.0, f64::max);
    let view = FrontView {
        name: "GPUs, days and money: what is best".to_owned(),
        x_label: "GPUs".to_owned(),
        y_label: "days of training".to_owned(),
        series: found.iter().map(|(leg, _)| leg.name.clone()).collect(),
        points: points.iter().map(|point| drawn(point, dearest, several, now)).collect(),
    };
    let [wide, narrow] = [Frame::new(720, 340), Frame::new(336, 300)]
        .map(|frame| Html::made(charts::front(&view, frame)));
    let legend = if several { legend(&view.series) } else { Html::new() };
    html! {
        figure class="plan__front" data-testid="plan-front" {
            figcaption {
                h3 { "GPUs, days and money" }
                p class="quiet" {
                    "No other layout is as good in all three. The larger a mark, the more its \
                     training costs; each opens as a scenario. "
                    (legend)
                }
            }
            div class="step__wide" { (wide) }
            div class="step__narrow" { (narrow) }
            (twin(&points, several, now, unit))
        }
    }
}

/// Each series' mark and name.
pub fn legend(series: &[String]) -> Html {
    let mark = |(at, name): (usize, &String)| {
        html! {
            span class="swatch" { (Html::made(charts::front_mark(at))) }
            " "
            (name)
            " "
        }
    };
    series.iter().enumerate().map(mark).collect()
}

fn drawn((at, leg, found): &Point<'_>, dearest: f64, several: bool, now: &Scenario) -> FrontPoint {
    let link = encode(&leg.taken(found, now));
    let (days, cost) = (found.days.unwrap_or_default(), found.cost.unwrap_or_default());
    let on = if several { format!(" ({})", leg.name) } else { String::new() };
    FrontPoint {
        x: to_f64(found.gpus),
        y: days,
        size: if dearest > 0.0 { cost / dearest } else { 0.0 },
        series: *at,
        name: format!(
            "{}{on}: {} days, price {}, {}",
            gpus(found.gpus),
            number(days),
            money(cost),
            layout::words(&found.choice)
        ),
        href: format!("#{link}"),
        action: Action::Take(link).write(),
    }
}

/// A number of days.
pub fn number(days: f64) -> String {
    let decimals = match days {
        days if days >= 99.95 => 0,
        days if days >= 0.95 => 1,
        _ => 3,
    };
    grouped(days, decimals)
}

fn twin(points: &[Point<'_>], several: bool, now: &Scenario, unit: MemoryUnit) -> Html {
    let rows: Html = points
        .iter()
        .map(|(_, leg, found)| {
            let name = if several {
                format!("{}, {}", gpus(found.gpus), leg.name)
            } else {
                gpus(found.gpus)
            };
            let layout = format!("{} layout", whole(found.gpus));
            html! {
                tr {
                    th scope="row" { (name) }
                    td class="num" { (found.days.map(number).unwrap_or_default()) }
                    td class="num" { (found.cost.map(money).unwrap_or_default()) }
                    td class="num" { (unit.number(found.memory, 1)) }
                    td { (layout::words(&found.choice)) }
                    td { (button(leg, found, now, &Best::plain(&layout))) }
                }
            }
        })
        .collect();
    html! {
        details class="twin" {
            summary { "Show the points as a table" }
            div class="twin__scroll" tabindex="0" role="region" aria-label="Points of the front" {
                table class="table" data-testid="plan-front-table" {
                    thead {
                        tr {
                            th scope="col" { "GPUs" }
                            th scope="col" class="num" { "Days" }
                            th scope="col" class="num" { "Price" }
                            th scope="col" class="num" { "Memory, " (unit.name()) }
                            th scope="col" { "Layout" }
                            th scope="col" { span class="sr" { "What to do" } }
                        }
                    }
                    tbody { (rows) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::worker::plan::Desk;
    use crate::worker::plan::tests::{LINK, finish, say};

    #[test]
    fn the_front_is_drawn_for_several_counts_and_its_points_are_scenarios() {
        let mut desk = Desk::default();
        say(&mut desk, 1, LINK, "search\nq=counts\nn-counts=16");
        let html = finish(&mut desk).0.html;
        let front = html.split("data-testid=\"plan-front\"").nth(1).expect("a front");
        let links = front.matches("<a href=\"#v2&amp;").count();
        assert!(links >= 4, "{links}");
        assert!(
            front.contains("data-testid=\"plan-front-table\"")
                && front.matches("Use this layout").count() >= 2
        );
        say(&mut desk, 2, LINK, "search\nq=at");
        assert!(!finish(&mut desk).0.html.contains("plan-front\""));
    }
}
