//! Memory against sequence length and against the number of GPUs.

use crate::charts;
use crate::planner::Axis;
use crate::units::MemoryUnit;
use crate::view::action::Action;
use crate::view::answers::{Plot, Plots};
use crate::view::curve_view::{self, Line, Lines, nearest_place, place};
use crate::view::markup::{Html, html};
use crate::view::ui::{ChartsLook, Cursors, Opened};
use crate::view::words::whole;

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
    cursor
        .map_or_else(|| nearest_place(curve, place(curve, curve.current)), |index| index.min(last))
}

/// Where the cursor line stands, per cent of the picture; nowhere while the scenario's own point is
/// read.
pub fn left(plot: &Plot, cursor: Option<usize>) -> Option<f64> {
    let point = plot.curve.points.get(index(plot, Some(cursor?)))?;
    Some(
        100.0 * plot.drawn.x_to_px(curve_view::place(&plot.curve, point.x)) / plot.drawn.plot.width,
    )
}

/// The words that are announced while the arrow keys read a curve; empty while the scenario's own
/// point is read.
pub fn spoken(plot: &Plot, cursor: Option<usize>, unit: MemoryUnit) -> String {
    if cursor.is_none() {
        return String::new();
    }
    let (place, words) = curve_view::spoken(&plot.curve, index(plot, cursor), unit);
    format!("{place}: {words}")
}

/// The buttons that choose the curve on a phone, which shows one at a time.
pub fn tabs(look: &ChartsLook) -> Html {
    let tab = |axis: Axis, label: &str| {
        html! {
            button type="button" class="switch__option" aria-pressed=(look.axis == axis)
                data-do=(Action::ShowCurve(axis)) {
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
pub fn panel(
    plots: &Plots,
    axis: Axis,
    unit: MemoryUnit,
    look: &ChartsLook,
    cursor: Option<usize>,
    opened: &Opened,
) -> Html {
    let plot = plots.along(axis);
    let curve = &plot.curve;
    let index = index(plot, cursor);
    let (place, words) = curve_view::spoken(curve, index, unit);
    let x = |point: Option<&crate::planner::CurvePoint>| {
        point.map_or(curve.current, |point| point.x).to_string()
    };
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
            @if axis == Axis::Gpus { (legend(plot, look.lines)) }
            button type="button" class="link curve__hear" aria-label={ "Hear the curve: " (title) }
                title="Key t on the curve" data-do=(Action::Hear(axis)) {
                "Hear the curve"
            }
            details class="twin" data-toggle={ "twin-" (word) } {
                summary { "Show the points as a table" }
                @if opened.is_open(&format!("twin-{word}")) { (twin(plot, unit)) }
            }
        }
    }
}

/// Under the bars: why some are hatched, and a switch for each line over them.
fn legend(plot: &Plot, lines: Lines) -> Html {
    let curve = &plot.curve;
    let mut blocked =
        curve.points.iter().filter_map(|point| Some((point.x, point.blocked.as_ref()?)));
    let first = blocked.next();
    let more: Vec<String> = blocked.map(|(count, _)| whole(count)).collect();
    let switch = |line: Line, label: &str, about: &str| {
        html! {
            button type="button" class="key" aria-pressed=(lines.has(line)) title=(about)
                data-testid={ "line-" (line.word()) } data-do=(Action::SwitchLine(line)) {
                span class={ "key__line key__line--" (line.word()) } aria-hidden="true" {}
                (label)
            }
        }
    };
    html! {
        div class="curve__legend" data-testid="gpus-legend" {
            (switch(Line::Division, "Plain division",
                "Weights, gradients, states and activations divided by the number of GPUs: less \
                 than any layout takes"))
            @if !curve.serves {
                (switch(Line::Best, "Best layout",
                    "The least memory that any layout takes with so many GPUs: searched for when \
                     you switch it on"))
            }
            @if let Some((count, reason)) = first {
                span class="key__reason" {
                    span class="swatch" { (Html::made(charts::hatch("legend-blocked"))) }
                    "cannot run: "
                    b class="number" { (whole(count)) }
                    " ("
                    (reason)
                    ")"
                    @if !more.is_empty() { ", " (more.join(", ")) }
                }
            }
        }
    }
}

/// The switch of the length axis: even, or by doublings.
fn axis_switch(log: bool) -> Html {
    let option = |value: bool, label: &str| {
        html! {
            button type="button" class="switch__option" aria-pressed=(log == value)
                data-do=(Action::LogAxis(value)) {
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
    use crate::planner::Axis;
    use crate::units::MemoryUnit;
    use crate::view::answers::Plots;
    use crate::view::curve_view::{self, Line};
    use crate::view::panels::tests::{answers, count, text};
    use crate::view::ui::{ChartsLook, FromWorkers, Opened};

    fn plots(link: &str) -> Plots {
        Plots::of(&answers(link), ChartsLook::default().of_curves(), &FromWorkers::default(), None)
            .0
    }

    #[test]
    fn the_scenarios_own_point_is_read_until_a_cursor_stands() {
        let plots = plots("v1&m=llama3-8b&n=8&s=8192");
        let own = index(&plots.seq, None);
        assert_eq!(plots.seq.curve.points[own].x, 8192);
        assert_eq!(
            (left(&plots.seq, None), spoken(&plots.seq, None, MemoryUnit::Gib)),
            (None, String::new())
        );
        let last = plots.seq.curve.points.len() - 1;
        assert_eq!(index(&plots.seq, Some(100_000)), last);
        let place = left(&plots.seq, Some(last)).expect("a place");
        assert!(place > 80.0 && place <= 100.0, "{place}");
        assert!(spoken(&plots.seq, Some(0), MemoryUnit::Gib).contains("tokens: "));
        assert_eq!(cursor([Some(1), None], Axis::Gpus), None);
    }

    #[test]
    fn the_legend_says_why_bars_are_hatched_and_switches_lines() {
        let link = "v1&m=llama3-8b&n=24&gb=128";
        let panel_of = |look: &ChartsLook| {
            let answers = answers(link);
            let plots = Plots::of(&answers, look.of_curves(), &FromWorkers::default(), None).0;
            let svg = plots.gpus.drawn.svg.clone();
            (panel(&plots, Axis::Gpus, answers.unit, look, None, &Opened::default()), svg)
        };
        let mut look = ChartsLook::default();
        let (shown, svg) = panel_of(&look);
        let words = text(&shown);
        assert!(
            words.contains(
                "cannot run: 24 (a global batch of 128 cannot be divided by 24 data-parallel ranks)"
            ),
            "{words}"
        );
        assert_eq!(
            (count(&shown, "aria-pressed=\"false\""), count(&shown, "data-do=\"line:best\"")),
            (2, 1)
        );
        assert!(!svg.contains("chart-naive") && !svg.contains("chart-best"));
        look.lines.switch(Line::Division);
        let (shown, svg) = panel_of(&look);
        assert!(count(&shown, "aria-pressed=\"true\"") == 1 && svg.contains("chart-naive"));
        // A replica has no best layout to search for.
        let served = answers("v1&do=serve&m=llama3-8b");
        let plots = Plots::of(&served, look.of_curves(), &FromWorkers::default(), None).0;
        let shown = panel(&plots, Axis::Gpus, served.unit, &look, None, &Opened::default());
        assert_eq!(count(&shown, "line-best"), 0);
    }

    #[test]
    fn bars_stand_at_doublings_and_at_the_scenario_s_own_count() {
        let plots = plots("v1&m=llama3-8b&n=24");
        let counts: Vec<u64> = plots.gpus.curve.points.iter().map(|point| point.x).collect();
        assert_eq!(counts, [1, 2, 4, 8, 16, 24, 32, 64, 128]);
        let at = |count: u64| curve_view::place(&plots.gpus.curve, count);
        for (count, place) in [(1, 0.0), (2, 1.0), (24, 5.0), (64, 7.0)] {
            assert!((at(count) - place).abs() < 1e-9, "{count} stands at {}", at(count));
        }
        assert!(at(3) > 1.0 && at(3) < 2.0 && at(200) > 8.0);
        assert_eq!(curve_view::nearest_place(&plots.gpus.curve, 5.4), 5);
    }

    /// Typing 262144 digit by digit, and deleting it again: the axis of lengths has few ends.
    #[test]
    fn the_axis_of_lengths_keeps_its_ends_while_somebody_types() {
        let ends = |tokens: u64| {
            let plots = plots(&format!("v1&m=llama3-8b&n=8&s={tokens}"));
            let points = &plots.seq.curve.points;
            (points[0].x, points[points.len() - 1].x)
        };
        assert_eq!(ends(8192), (512, 262_144));
        assert_eq!([2621, 26_214].map(ends), [(512, 262_144); 2]);
        assert_eq!([2, 26, 262].map(ends), [(1, 262_144); 3]);
        assert_eq!(ends(262_144), (512, 524_288));
    }

    /// Dragging the point to the right end does not move the end away.
    #[test]
    fn the_axes_stay_while_somebody_drags() {
        let look = ChartsLook::default().of_curves();
        let ends = |plots: &Plots| {
            [Axis::SeqLength, Axis::Gpus]
                .map(|axis| plots.along(axis).curve.points.last().map(|point| point.x))
        };
        let mut last = plots("v1&m=llama3-8b&n=8");
        let at_first = ends(&last);
        for link in [
            "v1&m=llama3-8b&n=32&s=262144&gb=128",
            "v1&m=llama3-8b&n=16&s=26",
            "v1&m=llama3-8b&n=8",
        ] {
            last = Plots::of(&answers(link), look, &FromWorkers::default(), Some(last)).0;
            assert_eq!(ends(&last), at_first, "{link}");
        }
        last =
            Plots::of(&answers("v1&m=llama3-8b&n=64"), look, &FromWorkers::default(), Some(last)).0;
        assert_eq!(ends(&last), [at_first[0], Some(256)]);
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
