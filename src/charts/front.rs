//! A front: the points that are best by three measures at once. Two measures are the axes, the
//! third is the size of the marks.

use std::error::Error;
use std::fmt::Write as _;

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{Cartesian2d, IntoDrawingArea as _, LineSeries, SVGBackend};

use super::scale::{TickStyle, XScale, short, x_ticks};
use super::svg::{self, Anchor, FONT, K, colour, escape, text, text_width};
use super::theme::{KIND_SLUGS, Paint};
use super::{Frame, view::clean_share};

/// One point. It is a link, so that it can be reached and opened without a pointer.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontPoint {
    /// The value on the horizontal axis, above zero.
    pub x: f64,
    /// The value on the vertical axis, above zero.
    pub y: f64,
    /// The third measure as a share of its largest value, 0 to 1.
    pub size: f64,
    /// Position in the view's list of series.
    pub series: usize,
    /// A description of the point in words, for its name and its tooltip.
    pub name: String,
    /// The address of the link.
    pub href: String,
    /// The value of the link's `data-do`, which tells the page what to do on a click.
    pub action: String,
}

/// A chart of such points.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontView {
    /// The name of the chart in words.
    pub name: String,
    /// The words below the axis.
    pub x_label: String,
    /// The words above the axis.
    pub y_label: String,
    /// Names of the series; written as a legend where there are several.
    pub series: Vec<String>,
    /// The points, by rising x within a series.
    pub points: Vec<FrontPoint>,
}

/// Room around the plot in viewBox units.
const TOP: f64 = 26.0 * K;
const RIGHT: f64 = 18.0 * K;
const BOTTOM: f64 = 42.0 * K;
/// The distance that marks keep, so that each can be hit: 26 px.
const APART: f64 = 26.0 * K;

/// The places of the plot and its axes; both axes are by doublings.
struct Plan {
    width: f64,
    height: f64,
    left: f64,
    x: (f64, f64),
    y: (f64, f64),
    y_ticks: Vec<(f64, String)>,
}

impl Plan {
    fn of(view: &FrontView, frame: Frame) -> Option<Self> {
        let (width, height) = (f64::from(frame.width) * K, f64::from(frame.height) * K);
        let x = domain(view.points.iter().filter_map(|point| XScale::Log2.unroll(point.x)))?;
        let y = domain(view.points.iter().filter_map(|point| XScale::Log2.unroll(point.y)))?;
        let y_ticks = ticks(y);
        let widest = y_ticks.iter().map(|(_, words)| text_width(words)).fold(0.0, f64::max);
        Some(Self { width, height, left: widest + 10.0 * K, x, y, y_ticks })
    }

    fn px(&self, u: f64) -> f64 {
        self.left + (self.width - RIGHT - self.left) * (u - self.x.0) / (self.x.1 - self.x.0)
    }

    fn py(&self, v: f64) -> f64 {
        self.height - BOTTOM - (self.height - BOTTOM - TOP) * (v - self.y.0) / (self.y.1 - self.y.0)
    }

    /// The place of a point.
    fn place(&self, point: &FrontPoint) -> Option<(f64, f64)> {
        Some((self.px(XScale::Log2.unroll(point.x)?), self.py(XScale::Log2.unroll(point.y)?)))
    }
}

/// The range of an axis: from the lowest to the highest position, with room for the marks at both
/// ends.
fn domain(all: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let ends = all.fold(None, |ends: Option<(f64, f64)>, u| {
        Some(ends.map_or((u, u), |(low, high)| (low.min(u), high.max(u))))
    });
    let (low, high) = ends?;
    let room = ((high - low) * 0.06).max(0.3);
    Some((low - room, high + room))
}

/// 1, 2 and 5 times powers of ten between two positions: all of them, or only the powers of ten
/// where those are many.
fn ticks((low, high): (f64, f64)) -> Vec<(f64, String)> {
    let (from, to) = (XScale::Log2.roll(low), XScale::Log2.roll(high));
    let within = |steps: &[f64]| -> Vec<(f64, String)> {
        let powers = (-9_i32..16).map(|power| 10_f64.powi(power));
        let values = powers
            .flat_map(|power| steps.iter().map(move |step| step * power))
            .filter(|value| *value >= from && *value <= to);
        values.filter_map(|value| Some((XScale::Log2.unroll(value)?, written(value)))).collect()
    };
    let all = within(&[1.0, 2.0, 5.0]);
    if all.len() > 9 { within(&[1.0]) } else { all }
}

/// The number at a tick, with no more decimals than it needs.
fn written(value: f64) -> String {
    let decimals = (0..9_usize)
        .find(|places| value * 10_f64.powi(i32::try_from(*places).unwrap_or(0)) >= 0.999)
        .unwrap_or(9);
    short(value, decimals)
}

/// The points that are drawn: the first and the last of all, then every one that keeps its
/// distance.
fn drawn<'a>(view: &'a FrontView, plan: &Plan) -> Vec<(&'a FrontPoint, (f64, f64))> {
    let placed: Vec<_> =
        view.points.iter().filter_map(|point| Some((point, plan.place(point)?))).collect();
    let ends = placed.first().into_iter().chain(placed.last());
    let mut all: Vec<(&FrontPoint, (f64, f64))> = Vec::new();
    for (point, (x, y)) in ends.chain(&placed) {
        let near =
            |(_, other): &(&FrontPoint, (f64, f64))| (other.0 - x).hypot(other.1 - y) < APART;
        if !all.iter().any(near) {
            all.push((point, (*x, *y)));
        }
    }
    all.sort_by(|(a, _), (b, _)| a.series.cmp(&b.series).then(a.x.total_cmp(&b.x)));
    all
}

/// Returns a front as SVG text: grid, a line through each series, and a link for every point that
/// has room; the other points are in the page's table only. Empty for a view without points.
pub fn front(view: &FrontView, frame: Frame) -> String {
    let Some(plan) = Plan::of(view, frame) else { return String::new() };
    let raw = lines(view, &plan).unwrap_or_default();
    let mut out = svg::open_group("chart-front", plan.width, plan.height, &view.name);
    let _ = write!(out, "<g aria-hidden=\"true\">{}", svg::translate(&raw, "front"));
    axes(&mut out, view, &plan);
    out.push_str("</g>");
    for (point, place) in drawn(view, &plan) {
        mark(&mut out, point, place);
    }
    out.push_str("</svg>");
    out
}

/// Grid and lines, as plotters draws them.
fn lines(view: &FrontView, plan: &Plan) -> Result<String, Box<dyn Error>> {
    let mut raw = String::with_capacity(4 * 1024);
    let whole = |length: f64| format!("{length:.0}").parse::<i32>().unwrap_or(0);
    let size = |length: f64| u32::try_from(whole(length)).unwrap_or(0);
    {
        let root = SVGBackend::with_string(&mut raw, (size(plan.width), size(plan.height)))
            .into_drawing_area();
        let pixels =
            (whole(plan.left)..whole(plan.width - RIGHT), whole(plan.height - BOTTOM)..whole(TOP));
        let plane = root.apply_coord_spec(Cartesian2d::<RangedCoordf64, RangedCoordf64>::new(
            plan.x.0..plan.x.1,
            plan.y.0..plan.y.1,
            pixels,
        ));
        let (low, high) = plan.x;
        for (v, _) in &plan.y_ticks {
            plane.draw(&plotters::element::PathElement::new(
                vec![(low, *v), (high, *v)],
                colour(Paint::Grid),
            ))?;
        }
        plane.draw(&plotters::element::PathElement::new(
            vec![(low, plan.y.0), (high, plan.y.0)],
            colour(Paint::Axis),
        ))?;
        for series in 0..view.series.len().max(1) {
            let own = view.points.iter().filter(|point| point.series == series);
            let line: Vec<(f64, f64)> = own
                .filter_map(|point| {
                    Some((XScale::Log2.unroll(point.x)?, XScale::Log2.unroll(point.y)?))
                })
                .collect();
            for piece in LineSeries::new(line, colour(Paint::Marker)) {
                plane.draw(&piece)?;
            }
        }
        root.present()?;
    }
    Ok(raw)
}

/// Ticks, the words of the axes, and the legend.
fn axes(out: &mut String, view: &FrontView, plan: &Plan) {
    let bottom = plan.height - BOTTOM;
    for (v, words) in &plan.y_ticks {
        text(
            out,
            "chart-text-tick",
            (plan.left - 7.0 * K, plan.py(*v) + FONT * 0.38),
            Anchor::End,
            words,
        );
    }
    let most = ((plan.width - plan.left - RIGHT) / (64.0 * K)).max(2.0);
    let mut marks = String::new();
    for x in x_ticks(XScale::Log2, TickStyle::Plain, plan.x, most) {
        let Some(px) =
            XScale::Log2.unroll(x).map(|u| plan.px(u)).filter(|px| *px >= plan.left && x >= 1.0)
        else {
            continue;
        };
        let _ = write!(marks, "M{px:.0} {bottom:.0}v16");
        text(
            out,
            "chart-text-tick",
            (px, bottom + 18.0 * K),
            Anchor::Middle,
            &TickStyle::Plain.text(x),
        );
    }
    let _ = write!(out, "<path class=\"chart-tick\" d=\"{marks}\"/>");
    let middle = f64::midpoint(plan.left, plan.width - RIGHT);
    text(out, "chart-text-muted", (middle, plan.height - 4.0 * K), Anchor::Middle, &view.x_label);
    text(out, "chart-text-muted", (0.0, FONT), Anchor::Start, &view.y_label);
}

/// The class with the colour of a series.
fn paint(series: usize) -> &'static str {
    // Weights, activations and optimizer states come first: their colours are furthest apart.
    const ORDER: [usize; 6] = [0, 3, 2, 1, 4, 5];
    ORDER
        .get(series % ORDER.len())
        .and_then(|kind| KIND_SLUGS.get(*kind))
        .copied()
        .unwrap_or("parameter")
}

/// One point: a link with its name, a mark whose area is the third measure, and room to hit it.
fn mark(out: &mut String, point: &FrontPoint, (x, y): (f64, f64)) {
    let radius = (5.0 + 9.0 * clean_share(point.size).sqrt()) * K;
    let (href, action, name) = (escape(&point.href), escape(&point.action), escape(&point.name));
    let slug = paint(point.series);
    let shape = match point.series % 3 {
        0 => format!(
            "<circle class=\"chart-point kind-{slug}\" cx=\"{x:.0}\" cy=\"{y:.0}\" \
             r=\"{radius:.0}\"/>"
        ),
        1 => format!(
            "<rect class=\"chart-point kind-{slug}\" x=\"{:.0}\" y=\"{:.0}\" width=\"{:.0}\" \
             height=\"{:.0}\"/>",
            x - radius * 0.886,
            y - radius * 0.886,
            radius * 1.772,
            radius * 1.772
        ),
        _ => format!(
            "<path class=\"chart-point kind-{slug}\" d=\"M{x:.0} {:.0}L{:.0} {y:.0}L{x:.0} \
             {:.0}L{:.0} {y:.0}Z\"/>",
            y - radius * 1.25,
            x + radius * 1.25,
            y + radius * 1.25,
            x - radius * 1.25
        ),
    };
    let _ = write!(
        out,
        "<a href=\"{href}\" data-do=\"{action}\" data-key=\"{href}\" \
         aria-label=\"{name}\"><title>{name}</title><circle class=\"chart-hit\" cx=\"{x:.0}\" \
         cy=\"{y:.0}\" r=\"{:.0}\"/>{shape}</a>",
        APART / 2.0
    );
}

/// Returns the mark of a series for a legend as SVG text: its shape and colour.
pub fn front_mark(series: usize) -> String {
    let point = FrontPoint {
        x: 1.0,
        y: 1.0,
        size: 0.0,
        series,
        name: String::new(),
        href: String::new(),
        action: String::new(),
    };
    let mut all = String::new();
    mark(&mut all, &point, (28.0, 28.0));
    // Only the shape is kept, because a legend leads nowhere.
    let shape = all
        .split_once("/>")
        .and_then(|(_, rest)| rest.split_once("</a>"))
        .map_or("", |(shape, _)| shape);
    format!(
        "<svg class=\"chart chart-swatch\" viewBox=\"0 0 56 56\" width=\"14\" height=\"14\" \
         aria-hidden=\"true\" focusable=\"false\">{shape}</svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::{FrontPoint, FrontView, front, front_mark, ticks, written};
    use crate::charts::Frame;

    fn view(points: &[(f64, f64)]) -> FrontView {
        let point = |at: usize, (x, y): (f64, f64)| FrontPoint {
            x,
            y,
            size: 0.5,
            series: at % 2,
            name: format!("<{x}> GPUs"),
            href: format!("#v1&n={x}"),
            action: format!("take:v1&n={x}"),
        };
        FrontView {
            name: "Front".to_owned(),
            x_label: "GPUs".to_owned(),
            y_label: "days".to_owned(),
            series: vec!["A".to_owned(), "B".to_owned()],
            points: points.iter().enumerate().map(|(at, place)| point(at, *place)).collect(),
        }
    }

    #[test]
    fn every_point_with_room_is_a_link_with_a_name() {
        let drawn = front(&view(&[(8.0, 900.0), (64.0, 120.0), (512.0, 20.0)]), Frame::WIDE);
        assert_eq!(drawn.matches("<a ").count(), 3);
        assert_eq!(drawn.matches("aria-label=\"&lt;64&gt; GPUs\"").count(), 1);
        assert!(drawn.contains("href=\"#v1&amp;n=64\" data-do=\"take:v1&amp;n=64\""), "{drawn}");
        assert!(
            !drawn.contains("NaN")
                && drawn.ends_with("</svg>")
                && !drawn.contains("<svg aria-hidden")
        );
        // Of points on top of each other one stands for both.
        let crowded = front(&view(&[(8.0, 900.0), (8.1, 899.0), (512.0, 20.0)]), Frame::NARROW);
        assert_eq!(crowded.matches("<a ").count(), 2);
    }

    #[test]
    fn what_has_no_place_is_left_out() {
        assert_eq!(front(&view(&[]), Frame::WIDE), "");
        assert_eq!(front(&view(&[(0.0, 1.0)]), Frame::WIDE), "");
        let one = front(&view(&[(8.0, 10.0), (f64::NAN, 3.0), (16.0, f64::INFINITY)]), Frame::WIDE);
        assert_eq!(one.matches("<a ").count(), 1, "{one}");
        assert!(!one.contains("NaN") && !one.contains("inf"));
    }

    #[test]
    fn ticks_are_round_and_few() {
        let words = |low: f64, high: f64| {
            ticks((low.log2(), high.log2())).into_iter().map(|(_, words)| words).collect::<Vec<_>>()
        };
        assert_eq!(words(0.9, 25.0), ["1", "2", "5", "10", "20"]);
        assert_eq!(words(0.009, 0.6), ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5"]);
        assert_eq!(words(0.5, 20_000.0), ["1", "10", "100", "1000", "10000"]);
        assert_eq!(written(2000.0), "2000");
    }

    #[test]
    fn a_legend_has_the_marks_alone() {
        let marks: Vec<String> = (0..3).map(front_mark).collect();
        assert!(
            marks
                .iter()
                .all(|mark| !mark.contains("<a ") && mark.matches("chart-point").count() == 1),
            "{marks:?}"
        );
    }
}
