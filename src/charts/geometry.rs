//! The stack as outlines on the unrolled x axis: values cleaned and in order, with steps where the
//! view asks for them.

use super::labels::float;
use super::{CurveView, KINDS, Overlay, XScale};

/// The number of columns in which places for direct labels are looked for.
pub(super) const COLUMNS: usize = 96;

/// A value fit for drawing: values that are not finite, negative or vanishing become zero.
pub(super) fn clean(value: f64) -> f64 {
    if value.is_finite() && value > 1e-9 { value.min(1e30) } else { 0.0 }
}

/// One place on the outline: position on the unrolled axis and the upper edge of each layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Corner {
    pub(super) u: f64,
    pub(super) tops: [f64; KINDS],
}

impl Corner {
    /// The upper edge of the whole stack.
    pub(super) fn total(&self) -> f64 {
        self.tops.last().copied().unwrap_or(0.0)
    }

    /// The lower and upper edge of one layer.
    pub(super) fn band(&self, kind: usize) -> (f64, f64) {
        let upper = self.tops.get(kind).copied().unwrap_or(0.0);
        let lower =
            kind.checked_sub(1).and_then(|below| self.tops.get(below)).copied().unwrap_or(0.0);
        (lower, upper)
    }
}

/// One bar: its two sides, the upper edge of each layer, and if a rule forbids it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bar {
    pub(super) sides: (f64, f64),
    pub(super) top: Corner,
    pub(super) blocked: bool,
}

/// The share of its place that a bar leaves free on each side.
const BESIDE_A_BAR: f64 = 0.1;

/// The content of the curve, ready to draw.
#[derive(Debug)]
pub(super) struct Outline {
    /// Corners by rising `u`; steps have two per point.
    pub(super) corners: Vec<Corner>,
    /// Stretches that a rule forbids.
    pub(super) blocked: Vec<(f64, f64)>,
    /// The bars, if the view has some.
    pub(super) bars: Vec<Bar>,
    /// The ends of the x axis.
    pub(super) domain: (f64, f64),
    /// The highest total.
    pub(super) top: f64,
    /// True for the kinds that have any memory.
    pub(super) used: [bool; KINDS],
}

impl Outline {
    /// The outline of a view.
    pub(super) fn new(view: &CurveView) -> Self {
        let mut rows: Vec<(Corner, bool)> = Vec::with_capacity(view.points.len());
        for point in &view.points {
            let Some(u) = view.scale.unroll(point.x) else { continue };
            if rows.last().is_some_and(|(last, _)| last.u >= u) {
                continue;
            }
            let mut sum = 0.0;
            let tops = point.stack.map(|part| {
                sum += clean(part);
                sum
            });
            rows.push((Corner { u, tops }, point.blocked));
        }
        let edges = edges(&rows.iter().map(|(corner, _)| corner.u).collect::<Vec<_>>(), view.bars);
        let mut used = [false; KINDS];
        for (kind, used) in used.iter_mut().enumerate() {
            *used = rows.iter().any(|(corner, _)| {
                let (lower, upper) = corner.band(kind);
                upper > lower
            });
        }
        let domain = domain(&edges);
        let top = rows.iter().map(|(corner, _)| corner.total()).fold(0.0, f64::max);
        let blocked = blocked(&rows, &edges);
        let mut bars = Vec::new();
        let corners = if view.bars {
            bars.extend(edges.iter().zip(edges.iter().skip(1)).zip(&rows).map(
                |((from, to), (top, blocked))| {
                    let free = (to - from) * BESIDE_A_BAR;
                    Bar { sides: (from + free, to - free), top: *top, blocked: *blocked }
                },
            ));
            let starts =
                edges.iter().zip(&rows).map(|(edge, (corner, _))| Corner { u: *edge, ..*corner });
            let ends = edges
                .iter()
                .skip(1)
                .zip(&rows)
                .map(|(edge, (corner, _))| Corner { u: *edge, ..*corner });
            starts.zip(ends).flat_map(|(start, end)| [start, end]).collect()
        } else {
            rows.into_iter().map(|(corner, _)| corner).collect()
        };
        Self { corners, blocked, bars, domain, top, used }
    }

    /// Corners at [`COLUMNS`] + 1 even places of the x axis.
    pub(super) fn columns(&self) -> Vec<Corner> {
        let (low, high) = self.domain;
        let mut next = 0;
        (0..=COLUMNS)
            .filter_map(|column| {
                let u = low + (high - low) * float(column) / float(COLUMNS);
                while self.corners.get(next + 1).is_some_and(|corner| corner.u < u) {
                    next += 1;
                }
                let (a, b) = (
                    self.corners.get(next)?,
                    self.corners.get(next + 1).or_else(|| self.corners.get(next))?,
                );
                let mut between = *a;
                between.u = u;
                for (top, after) in between.tops.iter_mut().zip(b.tops) {
                    *top = mix((a.u, *top), (b.u, after), u);
                }
                Some(between)
            })
            .collect()
    }

    /// The total at a place, if there is an outline.
    pub(super) fn total_at(&self, u: f64) -> Option<f64> {
        let line: Vec<(f64, f64)> =
            self.corners.iter().map(|corner| (corner.u, corner.total())).collect();
        value_at(&line, u)
    }
}

/// The value at `u` on the line through two points.
fn mix((u0, v0): (f64, f64), (u1, v1): (f64, f64), u: f64) -> f64 {
    if u1 > u0 { v0 + (v1 - v0) * ((u - u0) / (u1 - u0)).clamp(0.0, 1.0) } else { v0 }
}

/// The value of a line at `u`, if `u` lies within it.
pub(super) fn value_at(line: &[(f64, f64)], u: f64) -> Option<f64> {
    let after = line.partition_point(|(at, _)| *at < u);
    let (b, a) = (line.get(after)?, line.get(after.saturating_sub(1))?);
    if u < a.0 { None } else { Some(mix(*a, *b, u)) }
}

/// The borders between points: for slopes the points' own places, as many as there are points; for
/// steps half-way between neighbours, one more.
fn edges(us: &[f64], bars: bool) -> Vec<f64> {
    let (Some(first), Some(last), true) = (us.first(), us.last(), bars) else { return us.to_vec() };
    let gap = |a: Option<&f64>, b: Option<&f64>| a.zip(b).map_or(1.0, |(a, b)| (b - a) / 2.0);
    let mut edges = vec![first - gap(us.first(), us.get(1))];
    edges.extend(us.iter().zip(us.iter().skip(1)).map(|(a, b)| f64::midpoint(*a, *b)));
    edges.push(last + gap(us.len().checked_sub(2).and_then(|i| us.get(i)), us.last()));
    edges
}

/// The range of the x axis: from the first to the last edge; a single place gets some room around
/// it.
fn domain(edges: &[f64]) -> (f64, f64) {
    let (low, high) = (edges.first().copied().unwrap_or(0.0), edges.last().copied().unwrap_or(1.0));
    let room = (low.abs() * 0.05).max(0.5);
    if high - low > room * 1e-6 { (low, high) } else { (low - room, low + room) }
}

/// Stretches of neighbouring forbidden points.
fn blocked(rows: &[(Corner, bool)], edges: &[f64]) -> Vec<(f64, f64)> {
    let steps = edges.len() > rows.len();
    let mut runs: Vec<(f64, f64)> = Vec::new();
    for (i, (corner, _)) in rows.iter().enumerate().filter(|(_, (_, blocked))| *blocked) {
        let neighbour = |i: Option<usize>| {
            i.and_then(|i| rows.get(i))
                .map_or(corner.u, |(next, _)| f64::midpoint(next.u, corner.u))
        };
        let (from, to) = if steps {
            (
                edges.get(i).copied().unwrap_or(corner.u),
                edges.get(i + 1).copied().unwrap_or(corner.u),
            )
        } else {
            (neighbour(i.checked_sub(1)), neighbour(i.checked_add(1)))
        };
        match runs.last_mut() {
            Some(last) if last.1 >= from => last.1 = to,
            _ => runs.push((from, to)),
        }
    }
    runs
}

/// An overlay's line on the unrolled axis, in steps if `bars`, cut to the chart's domain.
pub(super) fn overlay_line(
    overlay: &Overlay,
    scale: XScale,
    bars: bool,
    (low, high): (f64, f64),
) -> Vec<(f64, f64)> {
    let mut line: Vec<(f64, f64)> = Vec::with_capacity(overlay.line.len());
    for (x, value) in &overlay.line {
        if let Some(u) = scale.unroll(*x).filter(|u| line.last().is_none_or(|(last, _)| last < u)) {
            line.push((u, clean(*value)));
        }
    }
    if bars {
        let edges = edges(&line.iter().map(|(u, _)| *u).collect::<Vec<_>>(), true);
        let from = edges.iter().zip(&line).map(|(edge, (_, value))| (*edge, *value));
        let to = edges.iter().skip(1).zip(&line).map(|(edge, (_, value))| (*edge, *value));
        line = from.zip(to).flat_map(|(from, to)| [from, to]).collect();
    }
    let ends = [low, high].map(|u| value_at(&line, u).map(|value| (u, value)));
    let inside = line.iter().copied().filter(|(u, _)| *u > low && *u < high);
    ends[0].into_iter().chain(inside).chain(ends[1]).collect()
}

/// A line cut at the height `most`: where it crosses this height a corner is added, so that slopes
/// keep their direction.
pub(super) fn cut_above(line: impl Iterator<Item = (f64, f64)>, most: f64) -> Vec<(f64, f64)> {
    let mut out: Vec<(f64, f64)> = Vec::new();
    let mut before: Option<(f64, f64)> = None;
    for (u, value) in line {
        if let Some((u0, v0)) = before
            && (v0 > most) != (value > most)
        {
            out.push((u0 + (u - u0) * ((most - v0) / (value - v0)).clamp(0.0, 1.0), most));
        }
        out.push((u, value.min(most)));
        before = Some((u, value));
    }
    out
}
