//! The curve: layout, then plotters for areas, lines and grid, then texts.

use std::error::Error;
use std::fmt::Write as _;

use plotters::coord::types::RangedCoordf64;
use plotters::element::{DynElement, IntoDynElement as _};
use plotters::prelude::{
    AreaSeries, Cartesian2d, Circle, Color as _, IntoDrawingArea as _, LineSeries, Rectangle,
    SVGBackend,
};

use super::geometry::{Outline, clean, cut_above, overlay_line};
use super::scale::{x_ticks, y_ticks};
use super::svg::{self, K, colour, text_width};
use super::theme::{Paint, definitions};
use super::{CurveView, Frame, KINDS, XScale, labels};

/// The rectangle of the plot inside the picture, all in viewBox units (four per CSS pixel at the
/// frame's size).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlotArea {
    /// Left edge: the smallest x.
    pub left: f64,
    /// Right edge: the largest x.
    pub right: f64,
    /// Upper edge.
    pub top: f64,
    /// Lower edge: zero memory.
    pub bottom: f64,
    /// Width of the whole picture.
    pub width: f64,
    /// Height of the whole picture.
    pub height: f64,
}

/// A drawn curve, and how values and places on it belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// The markup: one `svg` element, hidden from assistive technology (the page names its figure).
    pub svg: String,
    /// The place of the plot in the picture.
    pub plot: PlotArea,
    scale: XScale,
    domain: (f64, f64),
    y_max: f64,
}

impl Drawn {
    /// Returns the horizontal place of an x value in viewBox units, kept inside the plot.
    pub fn x_to_px(&self, x: f64) -> f64 {
        self.scale.unroll(x).map_or(self.plot.left, |u| across(&self.plot, self.domain, u))
    }

    /// Returns the x value at a horizontal place in viewBox units, kept inside the plot. It is not
    /// rounded to a point of the curve.
    pub fn px_to_x(&self, px: f64) -> f64 {
        let share = ((px - self.plot.left) / (self.plot.right - self.plot.left)).clamp(0.0, 1.0);
        self.scale.roll(self.domain.0 + (self.domain.1 - self.domain.0) * share)
    }

    /// Returns the vertical place of an amount in the displayed unit, in viewBox units, kept inside
    /// the plot.
    pub fn y_to_px(&self, amount: f64) -> f64 {
        upward(&self.plot, self.y_max, amount)
    }
}

/// The horizontal place of a position on the unrolled axis.
fn across(plot: &PlotArea, (low, high): (f64, f64), u: f64) -> f64 {
    plot.left + (plot.right - plot.left) * ((u - low) / (high - low)).clamp(0.0, 1.0)
}

/// The vertical place of an amount.
fn upward(plot: &PlotArea, y_max: f64, amount: f64) -> f64 {
    plot.bottom - (plot.bottom - plot.top) * (clean(amount) / y_max).clamp(0.0, 1.0)
}

/// The decisions that are made before drawing.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) outline: Outline,
    pub(super) plot: PlotArea,
    pub(super) y_max: f64,
    pub(super) capacity: f64,
    pub(super) y_ticks: Vec<(f64, String)>,
    pub(super) x_ticks: Vec<(f64, String)>,
    pub(super) compare: Vec<Vec<(f64, f64)>>,
    pub(super) naive: Vec<(f64, f64)>,
    pub(super) best: Vec<(f64, f64)>,
    pub(super) compare_capacities: Vec<f64>,
    now: Option<f64>,
    scale: XScale,
    margins: Margins,
}

/// Room around the plot in viewBox units.
#[derive(Clone, Copy, Debug)]
struct Margins {
    left: u32,
    right: u32,
    top: u32,
    bottom: u32,
}

impl Plan {
    pub(super) fn new(view: &CurveView, frame: Frame) -> Self {
        let outline = Outline::new(view);
        let line = |overlay: &Option<super::Overlay>, staircase| {
            overlay.as_ref().map_or_else(Vec::new, |overlay| {
                overlay_line(overlay, view.scale, staircase, outline.domain)
            })
        };
        let (naive, best) = (line(&view.naive, false), line(&view.best, view.bars));
        let compare: Vec<_> = view
            .compare
            .iter()
            .map(|overlay| overlay_line(overlay, view.scale, view.bars, outline.domain))
            .collect();
        let compare_capacities: Vec<f64> = view
            .compare
            .iter()
            .map(|overlay| clean(overlay.capacity.unwrap_or(0.0)))
            .filter(|level| *level > 0.0)
            .collect();
        let capacity = clean(view.capacity);
        let highest = compare.iter().flatten().map(|(_, value)| *value).fold(outline.top, f64::max);
        let y_max =
            y_max(capacity, compare_capacities.iter().copied().fold(0.0, f64::max), highest);
        let y_ticks = y_ticks(y_max, if frame.height < 320 { 4.5 } else { 6.0 });
        let margins = margins(&y_ticks);
        let plot = plot_area(frame, margins);
        let x_ticks = if view.bars {
            bar_ticks(view)
        } else {
            let most = ((plot.right - plot.left) / (64.0 * K)).max(2.0);
            let ticks = x_ticks(view.scale, view.ticks, outline.domain, most);
            ticks.into_iter().map(|x| (x, view.ticks.text(x))).collect()
        };
        let now = view
            .scale
            .unroll(view.current_x)
            .filter(|u| (outline.domain.0..=outline.domain.1).contains(u));
        Self {
            outline,
            plot,
            y_max,
            capacity,
            y_ticks,
            x_ticks,
            compare,
            naive,
            best,
            compare_capacities,
            now,
            scale: view.scale,
            margins,
        }
    }

    /// The horizontal place of a position on the unrolled axis.
    pub(super) fn u_to_px(&self, u: f64) -> f64 {
        across(&self.plot, self.outline.domain, u)
    }

    /// The vertical place of an amount.
    pub(super) fn y_to_px(&self, amount: f64) -> f64 {
        upward(&self.plot, self.y_max, amount)
    }

    /// The horizontal place of a value, if it lies on the axis.
    pub(super) fn inside(&self, x: f64) -> Option<f64> {
        let (low, high) = self.outline.domain;
        self.scale.unroll(x).filter(|u| *u >= low && *u <= high).map(|u| self.u_to_px(u))
    }

    /// Position and total of the current point on the axes, if it lies on them.
    fn now(&self) -> Option<(f64, f64)> {
        self.now.and_then(|u| Some((u, self.outline.total_at(u)?.min(self.y_max))))
    }

    /// The place of the current point's dot.
    pub(super) fn now_px(&self) -> Option<(f64, f64)> {
        self.now().map(|(u, total)| (self.u_to_px(u), self.y_to_px(total)))
    }
}

/// Places and words under the bars, most wanted first: the current one, then those that can run,
/// then the rest.
fn bar_ticks(view: &CurveView) -> Vec<(f64, String)> {
    let own = |point: &&super::Point| (point.x - view.current_x).abs() < 1e-9;
    let with = |blocked: bool| view.points.iter().filter(move |point| point.blocked == blocked);
    let wanted = view.points.iter().filter(own).chain(with(false)).chain(with(true));
    wanted.map(|point| (point.x, point.tick.clone())).collect()
}

/// Heights of the y axis over the capacity: few, so that the axis stays as it is while somebody
/// types.
const HEIGHTS: [f64; 3] = [1.2, 1.6, 2.2];

/// The top of the y axis: of [`HEIGHTS`] the first that holds the stack, so that capacity stays
/// visible between 45 % and 83 % of the height; more where the scenario compared with has a larger
/// GPU.
fn y_max(capacity: f64, compare_capacity: f64, highest: f64) -> f64 {
    let [.., most] = HEIGHTS;
    let times =
        HEIGHTS.into_iter().find(|times| highest * 1.02 <= capacity * times).unwrap_or(most);
    let most = if capacity > 0.0 { capacity * times } else { highest * 1.08 };
    let most = most.max(compare_capacity * 1.08);
    if most > 0.0 { most } else { 1.0 }
}

/// Room for the widest y tick on the left, the y label above and the x axis below.
fn margins(y_ticks: &[(f64, String)]) -> Margins {
    let widest = y_ticks.iter().map(|(_, words)| text_width(words)).fold(0.0, f64::max);
    let left = (20..400_u32).find(|left| f64::from(*left) >= widest + 10.0 * K).unwrap_or(400);
    Margins { left, right: 48, top: 104, bottom: 168 }
}

fn plot_area(frame: Frame, margins: Margins) -> PlotArea {
    let (width, height) = (f64::from(frame.width) * K, f64::from(frame.height) * K);
    PlotArea {
        left: f64::from(margins.left),
        right: width - f64::from(margins.right),
        top: f64::from(margins.top),
        bottom: height - f64::from(margins.bottom),
        width,
        height,
    }
}

/// One shape as plotters draws it. All shapes share this type, so that plotters' drawing is
/// compiled once.
type Shape<'a> = DynElement<'static, SVGBackend<'a>, (f64, f64)>;

/// Shapes from bottom to top.
#[derive(Default)]
struct Shapes<'a>(Vec<Shape<'a>>);

impl Shapes<'_> {
    /// The layers from the whole stack down, so that each covers the one above it and no seam
    /// shows.
    fn layers(&mut self, plan: &Plan) {
        let used =
            (0..KINDS).rev().filter(|kind| plan.outline.used.get(*kind).copied().unwrap_or(false));
        for kind in used {
            let edge = plan.outline.corners.iter().map(|corner| (corner.u, corner.band(kind).1));
            self.0.extend(AreaSeries::new(
                cut_above(edge, plan.y_max),
                0.0,
                colour(Paint::Kind(kind)),
            ));
        }
    }

    /// The bars, each from its whole stack down, and a hatch on those that a rule forbids.
    fn bars(&mut self, plan: &Plan) {
        for bar in &plan.outline.bars {
            let (from, to) = bar.sides;
            for kind in (0..KINDS).rev() {
                let (lower, upper) = bar.top.band(kind);
                if upper > lower {
                    self.rectangle([(from, upper.min(plan.y_max)), (to, 0.0)], Paint::Kind(kind));
                }
            }
            if bar.blocked {
                self.rectangle(
                    [(from, bar.top.total().min(plan.y_max)), (to, 0.0)],
                    Paint::Blocked,
                );
            }
        }
    }

    fn line(&mut self, line: Vec<(f64, f64)>, paint: Paint) {
        if line.len() > 1 {
            if !matches!(paint, Paint::Grid | Paint::Axis) {
                self.0.extend(LineSeries::new(line.clone(), colour(Paint::Casing)));
            }
            self.0.extend(LineSeries::new(line, colour(paint)));
        }
    }

    /// A level line across the whole plot.
    fn level(&mut self, plan: &Plan, value: f64, paint: Paint) {
        let (low, high) = plan.outline.domain;
        self.line(vec![(low, value), (high, value)], paint);
    }

    fn rectangle(&mut self, corners: [(f64, f64); 2], paint: Paint) {
        self.0.push(Rectangle::new(corners, colour(paint).filled()).into_dyn());
    }
}

/// Everything that plotters draws, bottom to top.
fn shapes<'a>(plan: &Plan, view: &CurveView) -> Vec<Shape<'a>> {
    let mut shapes = Shapes::default();
    let (low, high) = plan.outline.domain;
    let over = [(low, plan.y_max), (high, plan.capacity)];
    if plan.capacity > 0.0 {
        shapes.rectangle(over, Paint::OverTint);
    }
    for (level, _) in plan.y_ticks.iter().filter(|(level, _)| *level > 0.0) {
        shapes.level(plan, *level, Paint::Grid);
    }
    if plan.outline.bars.is_empty() {
        shapes.layers(plan);
        for (from, to) in &plan.outline.blocked {
            shapes.rectangle([(*from, plan.y_max), (*to, 0.0)], Paint::Blocked);
        }
    } else {
        shapes.bars(plan);
    }
    if plan.capacity > 0.0 {
        shapes.rectangle(over, Paint::OverHatch);
    }
    shapes.level(plan, 0.0, Paint::Axis);
    for u in view
        .markers
        .iter()
        .filter_map(|marker| plan.inside(marker.x).and(plan.scale.unroll(marker.x)))
    {
        shapes.line(vec![(u, 0.0), (u, plan.y_max)], Paint::Marker);
    }
    shapes.line(cut_above(plan.naive.iter().copied(), plan.y_max), Paint::Naive);
    shapes.line(cut_above(plan.best.iter().copied(), plan.y_max), Paint::Best);
    for (line, place) in plan.compare.iter().zip(0..) {
        shapes.line(cut_above(line.iter().copied(), plan.y_max), Paint::Compare(place));
    }
    for level in &plan.compare_capacities {
        shapes.level(plan, *level, Paint::CompareCapacity);
    }
    if plan.capacity > 0.0 {
        shapes.level(plan, plan.capacity, Paint::Capacity);
    }
    if let Some((u, total)) = plan.now() {
        shapes.line(vec![(u, 0.0), (u, plan.y_max)], Paint::Now);
        shapes.0.push(Circle::new((u, total), 18, colour(Paint::NowDot).filled()).into_dyn());
    }
    shapes.0
}

/// Plotters' own markup, in which colours still stand for paints.
pub(super) fn draw(plan: &Plan, view: &CurveView, frame: Frame) -> Result<String, Box<dyn Error>> {
    let mut raw = String::with_capacity(24 * 1024);
    let size = (u32::from(frame.width) * 4, u32::from(frame.height) * 4);
    {
        let root = SVGBackend::with_string(&mut raw, size).into_drawing_area();
        let [top, bottom, left, right] =
            [plan.margins.top, plan.margins.bottom, plan.margins.left, plan.margins.right]
                .map(|side| i32::try_from(side).unwrap_or(0));
        let area = root.margin(top, bottom, left, right);
        // The last pixel of a range is still inside, and y grows upwards.
        let (x, y) = area.get_pixel_range();
        let pixels = (x.start..x.end - 1, y.end - 1..y.start);
        let (low, high) = plan.outline.domain;
        let plane = area.apply_coord_spec(Cartesian2d::<RangedCoordf64, RangedCoordf64>::new(
            low..high,
            0.0..plan.y_max,
            pixels,
        ));
        for shape in shapes(plan, view) {
            plane.draw(&shape)?;
        }
        root.present()?;
    }
    Ok(raw)
}

/// The small upright lines under the x axis, as one path.
fn tick_marks(plan: &Plan) -> String {
    let mut path = String::from("<path class=\"chart-tick\" d=\"");
    for x in plan.x_ticks.iter().filter_map(|(x, _)| plan.inside(*x)) {
        let _ = write!(path, "M{x:.0} {:.0}v16", plan.plot.bottom);
    }
    path.push_str("\"/>");
    path
}

/// Returns one curve as SVG text for that frame, with its scales: stacked layers, capacity line
/// with the region above it hatched, overlays, the current point.
///
/// Assumes that the view's numbers are in one unit. It has no error: marks without a place are left
/// out.
pub fn curve(view: &CurveView, frame: Frame) -> Drawn {
    let plan = Plan::new(view, frame);
    let id = svg::safe_id(view.id);
    let raw = draw(&plan, view, frame).unwrap_or_default();
    let mut out = svg::open("chart-curve", plan.plot.width, plan.plot.height);
    out.push_str(&definitions(&id, plan.outline.used));
    out.push_str(&svg::translate(&raw, &id));
    out.push_str(&tick_marks(&plan));
    out.push_str(&labels::all(&plan, view));
    out.push_str("</svg>");
    Drawn {
        svg: out,
        plot: plan.plot,
        scale: view.scale,
        domain: plan.outline.domain,
        y_max: plan.y_max,
    }
}
