//! Memory against sequence length and against the number of GPUs.

use crate::app::answers::{Plot, Plots};
use crate::app::curve_view;
use crate::app::markup::{Html, html};
use crate::app::ui::{ChartsLook, Cursors, Opened};
use crate::planner::Axis;
use crate::units::{MemoryUnit, to_f64};

/// Short name of a curve in names of parts and ids.
pub const fn word(axis: Axis) -> &'static str {
    match axis {
        Axis::SeqLength => "seq",
        Axis::Gpus => "gpus",
    }
}

/// The curve of that name.
pub fn axis_of(name: &str) -> Option<Axis> {
    [Axis::SeqLength, Axis::Gpus].into_iter().find(|axis| word(*axis) == name)
}

/// The cursor of one curve.
pub const fn cursor(cursors: Cursors, axis: Axis) -> Option<usize> {
    match axis {
        Axis::SeqLength => cursors[0],
        Axis::Gpus => cursors[1],
    }
}

/// The point that is read: the cursor's, or the scenario's.
pub fn index(plot: &Plot, cursor: Option<usize>) -> usize {
    let curve = &plot.curve;
    let last = curve.points.len().saturating_sub(1);
    cursor.map_or_else(|| curve_view::nearest(curve, to_f64(curve.current)), |index| index.min(last))
}

/// Where the cursor line stands, per cent of the picture; nowhere while the scenario's own point is read.
pub fn left(plot: &Plot, cursor: Option<usize>) -> Option<f64> {
    let point = plot.curve.points.get(index(plot, Some(cursor?)))?;
    Some(100.0 * plot.drawn.x_to_px(to_f64(point.x)) / plot.drawn.plot.width)
}

/// What is announced while the arrow keys read: nothing while the scenario's own point is read.
pub fn spoken(plot: &Plot, cursor: Option<usize>, unit: MemoryUnit) -> String {
    if cursor.is_none() {
        return String::new();
    }
    let (place, words) = curve_view::spoken(&plot.curve, index(plot, cursor), unit);
    format!("{place}: {words}")
}

/// On a phone one curve at a time: which one.
pub fn tabs(look: &ChartsLook) -> Html {
    let tab = |axis: Axis, label: &str| {
        html! {
            button type="button" class="switch__option" aria-pressed=(look.axis == axis)
                data-do={ "axis:" (word(axis)) } {
                (label)
            }
        }
    };
    html! {
        div class="switch switch--wide curves__tabs" data-own="tabs" role="group"
            aria-label="Which curve" {
            (tab(Axis::SeqLength, "By length"))
            (tab(Axis::Gpus, "By GPUs"))
        }
    }
}

/// The picture of one curve.
pub fn picture(plots: &Plots, axis: Axis) -> Html {
    html! {
        div class="curve__svg" data-own={ "svg-" (word(axis)) } {
            (Html::made(plots.along(axis).drawn.svg.clone()))
        }
    }
}

/// One curve: heading, place of the picture, reading, table of its points.
pub fn panel(plots: &Plots, axis: Axis, unit: MemoryUnit, look: &ChartsLook, cursor: Option<usize>, opened: &Opened) -> Html {
    let plot = plots.along(axis);
    let curve = &plot.curve;
    let index = index(plot, cursor);
    let (place, words) = curve_view::spoken(curve, index, unit);
    let x = |point: Option<&crate::planner::CurvePoint>| point.map_or(curve.current, |point| point.x).to_string();
    let word = word(axis);
    let title = curve_view::title(curve.axis, curve.serves);
    html! {
        figure class=(if look.axis == axis { "curve" } else { "curve curve--away" })
            data-own={ "curve-" (word) } data-testid={ "curve-" (word) } {
            figcaption class="curve__head" {
                h2 { (title) }
                @if axis == Axis::SeqLength { (axis_switch(look.log_axis)) }
            }
            div id={ "plot-" (word) } class="curve__plot" role="slider" tabindex="0"
                aria-label={ (title) ": arrow keys read it, Enter takes the value over" }
                aria-valuemin=(x(curve.points.first())) aria-valuemax=(x(curve.points.last()))
                aria-valuenow=(x(curve.points.get(index))) aria-valuetext={ (place) ": " (words) }
                data-curve=(word) {
                div class="curve__svg" data-own={ "svg-" (word) } {}
                div class="curve__cursor" data-own={ "cursor-" (word) } hidden {}
            }
            p class="curve__readout" { b class="number" { (place) } ": " (words) }
            button type="button" class="link curve__hear" aria-label={ "Hear the curve: " (title) }
                title="Key t on the curve" data-do={ "hear:" (word) } {
                "Hear the curve"
            }
            details class="twin" data-toggle={ "twin-" (word) } {
                summary { "Its points as a table" }
                @if opened.is_open(&format!("twin-{word}")) { (twin(plot, unit)) }
            }
        }
    }
}

/// Even or by doublings.
fn axis_switch(log: bool) -> Html {
    let option = |value: bool, label: &str| {
        html! {
            button type="button" class="switch__option" aria-pressed=(log == value)
                data-do={ "log:" (value) } {
                (label)
            }
        }
    };
    html! {
        div class="switch" role="group" aria-label="Length axis" {
            (option(false, "Linear"))
            (option(true, "Log"))
        }
    }
}

/// The points as a table, made when it is opened.
fn twin(plot: &Plot, unit: MemoryUnit) -> Html {
    let row = |index: usize| {
        let (place, words) = curve_view::spoken(&plot.curve, index, unit);
        html! {
            tr {
                th scope="row" class="number" { (place) }
                td { (words) }
            }
        }
    };
    html! {
        div class="twin__scroll" tabindex="0" role="region"
            aria-label=(curve_view::title(plot.curve.axis, plot.curve.serves)) {
            table class="table" {
                thead {
                    tr {
                        th scope="col" { "At" }
                        th scope="col" { "Memory per GPU" }
                    }
                }
                tbody {
                    @for item in (0..plot.curve.points.len()) { (row(item)) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{cursor, index, left, panel, spoken};
    use crate::app::answers::{Look, Plots};
    use crate::app::panels::tests::{answers, count, text};
    use crate::app::ui::{ChartsLook, FromWorkers, Opened};
    use crate::planner::Axis;
    use crate::units::MemoryUnit;

    fn plots(link: &str) -> Plots {
        Plots::of(&answers(link), Look { log: true, size: (412, 254) }, &FromWorkers::default(), None).0
    }

    #[test]
    fn the_scenarios_own_point_is_read_until_a_cursor_stands() {
        let plots = plots("v1&m=llama3-8b&n=8&s=8192");
        let own = index(&plots.seq, None);
        assert_eq!(plots.seq.curve.points[own].x, 8192);
        assert_eq!((left(&plots.seq, None), spoken(&plots.seq, None, MemoryUnit::Gib)), (None, String::new()));
        let last = plots.seq.curve.points.len() - 1;
        assert_eq!(index(&plots.seq, Some(100_000)), last);
        let place = left(&plots.seq, Some(last)).expect("a place");
        assert!(place > 80.0 && place <= 100.0, "{place}");
        assert!(spoken(&plots.seq, Some(0), MemoryUnit::Gib).contains("tokens: "));
        assert_eq!(cursor([Some(1), None], Axis::Gpus), None);
    }

    #[test]
    fn the_table_is_written_when_it_is_open() {
        let plots = plots("v1&m=llama3-8b&n=8");
        let (look, mut opened) = (ChartsLook::default(), Opened::default());
        let closed = panel(&plots, Axis::Gpus, MemoryUnit::Gib, &look, None, &opened);
        assert_eq!(count(&closed, "<tr>"), 0);
        assert!(text(&closed).contains("8 GPUs: "), "{}", text(&closed));
        opened.toggle("twin-gpus");
        let open = panel(&plots, Axis::Gpus, MemoryUnit::Gib, &look, None, &opened);
        assert_eq!(count(&open, "<tr>"), plots.gpus.curve.points.len() + 1);
    }
}
