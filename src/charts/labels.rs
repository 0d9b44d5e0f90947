//! Direct labels: each text finds a free place or is left out.

use super::curve::Plan;
use super::geometry::{COLUMNS, Corner, value_at};
use super::scale::short;
use super::svg::{Anchor, FONT, K, text, text_width};
use super::theme::slug;
use super::{CurveView, KINDS};
use crate::units::sort_short;

/// A small count as a float.
pub(super) fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// A rectangle: left, top, right, bottom.
#[derive(Clone, Copy, Debug)]
struct Area(f64, f64, f64, f64);

impl Area {
    fn overlaps(self, other: Self) -> bool {
        self.0 < other.2 && other.0 < self.2 && self.1 < other.3 && other.1 < self.3
    }

    fn holds(self, other: Self) -> bool {
        self.0 <= other.0 && self.1 <= other.1 && self.2 >= other.2 && self.3 >= other.3
    }
}

/// A place to try for a text: x, baseline and anchor.
type Place = (f64, f64, Anchor);

/// The texts of one chart.
struct Labels<'a> {
    plan: &'a Plan,
    taken: Vec<Area>,
    out: String,
}

impl Labels<'_> {
    /// Writes the text at the first place that is free and inside `within`.
    fn place(
        &mut self,
        class: &str,
        words: &str,
        within: Area,
        places: impl IntoIterator<Item = Place>,
    ) -> bool {
        let width = text_width(words);
        for (x, y, anchor) in places {
            let left = match anchor {
                Anchor::Start => x,
                Anchor::Middle => x - width / 2.0,
                Anchor::End => x - width,
            };
            let area = Area(left, y - FONT * 0.85, left + width, y + FONT * 0.3);
            if within.holds(area) && !self.taken.iter().any(|taken| taken.overlaps(area)) {
                text(&mut self.out, class, (x, y), anchor, words);
                self.taken.push(area);
                return true;
            }
        }
        false
    }

    fn plot(&self) -> Area {
        let plot = &self.plan.plot;
        Area(plot.left, plot.top, plot.right, plot.bottom)
    }

    fn picture(&self) -> Area {
        Area(0.0, 0.0, self.plan.plot.width, self.plan.plot.height)
    }

    /// The words on the capacity line: at the side where the stack leaves room, above it or else
    /// below.
    fn capacity(&mut self, view: &CurveView) {
        let (plan, plot) = (self.plan, &self.plan.plot);
        if plan.capacity <= 0.0 || view.capacity_text.is_empty() {
            return;
        }
        let y = plan.y_to_px(plan.capacity);
        let total = |corner: Option<&Corner>| corner.map_or(0.0, Corner::total);
        let left_free = total(plan.outline.corners.first()) <= total(plan.outline.corners.last());
        let left = (plot.left + 8.0 * K, Anchor::Start);
        let right = (plot.right - 8.0 * K, Anchor::End);
        let sides = if left_free { [left, right] } else { [right, left] };
        let along = [0.5, 0.7, 0.3]
            .map(|share| (plot.left + (plot.right - plot.left) * share, Anchor::Middle));
        let heights = [y - 6.0 * K, y + 6.0 * K + FONT * 0.75];
        let places: Vec<Place> = sides
            .into_iter()
            .chain(along)
            .flat_map(|(x, anchor)| heights.map(|y| (x, y, anchor)))
            .collect();
        if !self.place("chart-text-capacity", &view.capacity_text, self.plot(), places) {
            // These are the most important words of the picture: they are written over a line
            // rather than left out.
            let [(x, anchor), _] = sides;
            text(
                &mut self.out,
                "chart-text-capacity",
                (x, y - 6.0 * K),
                anchor,
                &view.capacity_text,
            );
        }
    }

    /// The words beside the current point, and room for its line.
    fn current(&mut self, view: &CurveView) {
        let Some((x, y)) = self.plan.now_px() else { return };
        self.taken.push(Area(x - 7.0 * K, y - 7.0 * K, x + 7.0 * K, y + 7.0 * K));
        if !view.current_text.is_empty() {
            let gap = 10.0 * K;
            let sides = [(x - gap, Anchor::End), (x + gap, Anchor::Start)];
            let places: Vec<Place> = [y - gap, y + gap + FONT * 0.6, y - 3.0 * gap]
                .iter()
                .flat_map(|y| sides.map(|(x, anchor)| (x, *y, anchor)))
                .collect();
            self.place("chart-text-now", &view.current_text, self.plot(), places);
        }
        self.taken.push(Area(x - 2.0 * K, self.plan.plot.top, x + 2.0 * K, self.plan.plot.bottom));
    }

    /// Keeps words off a line.
    fn keep_off(&mut self, line: &[(f64, f64)]) {
        let (low, high) = self.plan.outline.domain;
        let width = (self.plan.plot.right - self.plan.plot.left) / float(COLUMNS);
        let mut before: Option<f64> = None;
        for column in 0..=COLUMNS {
            let u = low + (high - low) * float(column) / float(COLUMNS);
            if let Some(value) = value_at(line, u).filter(|value| *value < self.plan.y_max) {
                let (x, y) = (self.plan.u_to_px(u), self.plan.y_to_px(value));
                let from = before.unwrap_or(y); // a step's riser counts too
                self.taken.push(Area(x - width, y.min(from) - K, x, y.max(from) + K));
                before = Some(y);
            }
        }
    }

    /// The names of the three thickest layers, written inside them.
    fn layers(&mut self, view: &CurveView) {
        let columns = self.plan.outline.columns();
        let mut found: Vec<LayerName> = Vec::new();
        for series in view.series.iter().filter(|series| series.kind_index < KINDS) {
            let ground = format!("chart-text-layer ink-{}", slug(series.kind_index));
            // The whole name is taken where it fits, else its first word; on the plain colour, else
            // on the hatched part.
            for (words, over) in
                [(&*series.name, false), (first_word(&series.name), false), (&*series.name, true)]
            {
                let places =
                    layer_places(self.plan, &columns, (series.kind_index, over), text_width(words));
                if let Some((room, _)) = places.first() {
                    let class = if over { "chart-text-halo".to_string() } else { ground };
                    found.push(LayerName { room: *room, class, words, places });
                    break;
                }
            }
        }
        sort_short(&mut found, |a, b| a.room > b.room);
        for LayerName { class, words, places, .. } in found.into_iter().take(3) {
            self.place(&class, words, self.plot(), places.into_iter().map(|(_, place)| place));
        }
    }

    /// The name of a line, written above it, as far right as there is room.
    fn line(&mut self, class: &str, name: &str, line: &[(f64, f64)]) -> bool {
        let (low, high) = self.plan.outline.domain;
        let places: Vec<Place> = (0..=36_u32)
            .rev()
            .filter_map(|i| {
                let u = low + (high - low) * f64::from(i) / 36.0;
                let value = value_at(line, u).filter(|value| *value < self.plan.y_max)?;
                Some((
                    self.plan.u_to_px(u).min(self.plan.plot.right - 4.0 * K),
                    self.plan.y_to_px(value),
                ))
            })
            .flat_map(|(x, y)| {
                [
                    (x, y - 6.0 * K, Anchor::End),
                    (x, y + 5.0 * K + FONT * 0.8, Anchor::End),
                    (x, y - 6.0 * K, Anchor::Start),
                ]
            })
            .collect();
        self.place(class, name, self.plot(), places)
    }

    /// The letter of a scenario that is compared with: beside its line, or on it where there is no
    /// room.
    fn letter(&mut self, at: u32, name: &str, line: &[(f64, f64)]) {
        const CLASS: &str = "chart-text-compare";
        if self.line(CLASS, name, line) {
            return;
        }
        let (low, high) = self.plan.outline.domain;
        // Each letter begins at another place, so that letters stay apart even where lines run
        // together.
        let mut starts = (0..44_u32)
            .map(|i| low + (high - low) * f64::from(57_u32.saturating_sub(i + 6 * at)) / 60.0);
        let found = starts.find_map(|u| {
            let value = value_at(line, u).filter(|value| *value < self.plan.y_max)?;
            Some((self.plan.u_to_px(u), self.plan.y_to_px(value) + FONT * 0.35))
        });
        if let Some(place) = found {
            text(&mut self.out, CLASS, place, Anchor::Middle, name);
        }
    }

    /// Words over the plot for each remarkable x.
    fn markers(&mut self, view: &CurveView) {
        let y = self.plan.plot.top - 7.0 * K;
        for marker in &view.markers {
            if let Some(x) = self.plan.inside(marker.x) {
                let places = [(x, y, Anchor::Middle), (x, y, Anchor::End), (x, y, Anchor::Start)];
                self.place("chart-text-muted", &marker.text, self.picture(), places);
            }
        }
    }

    /// A note where the stack leaves the picture.
    fn continues(&mut self, view: &CurveView) {
        let (plan, plot) = (self.plan, &self.plan.plot);
        if plan.outline.top <= plan.y_max {
            return;
        }
        let words = format!("↑ continues to {} {}", short(plan.outline.top, 0), view.unit);
        let y = plot.top + FONT * 1.1;
        let clipped_right =
            plan.outline.corners.last().is_some_and(|corner| corner.total() > plan.y_max);
        let (left, right) =
            ((plot.left + 8.0 * K, y, Anchor::Start), (plot.right - 8.0 * K, y, Anchor::End));
        self.place(
            "chart-text-halo",
            &words,
            self.plot(),
            if clipped_right { [right, left] } else { [left, right] },
        );
    }

    /// The words "cannot run" in the widest forbidden stretch.
    fn blocked(&mut self) {
        let widest = self
            .plan
            .outline
            .blocked
            .iter()
            .max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)))
            .copied();
        if let Some((from, to)) = widest {
            let (from, to) = (self.plan.u_to_px(from), self.plan.u_to_px(to));
            let plot = self.plot();
            let within = Area(from, plot.1, to, plot.3);
            let places = [0.06, 0.3, 0.5].map(|up| {
                (f64::midpoint(from, to), plot.3 - (plot.3 - plot.1) * up, Anchor::Middle)
            });
            self.place("chart-text-halo", "cannot run", within, places);
        }
    }
}

/// A layer's words and the places where they may stand, best place first.
struct LayerName<'a> {
    room: f64,
    class: String,
    words: &'a str,
    places: Vec<(f64, Place)>,
}

/// The first word of a name, for narrow places.
pub(super) fn first_word(name: &str) -> &str {
    name.split(' ').next().unwrap_or(name)
}

/// The places where a name of that width fits into a layer below capacity (or above it), best
/// first: by room in height, then by nearness to the middle. Forbidden stretches offer no room.
fn layer_places(
    plan: &Plan,
    columns: &[Corner],
    (kind, over): (usize, bool),
    width: f64,
) -> Vec<(f64, Place)> {
    let column_width = (plan.plot.right - plan.plot.left) / float(COLUMNS);
    let half = (1..COLUMNS)
        .find(|half| float(*half) * column_width >= width / 2.0 + 6.0 * K)
        .unwrap_or(COLUMNS);
    let capacity = if plan.capacity > 0.0 { plan.capacity } else { plan.y_max };
    let (least, most) = if over { (capacity, plan.y_max) } else { (0.0, capacity) };
    let forbidden =
        |u: f64| plan.outline.blocked.iter().any(|(from, to)| (*from..=*to).contains(&u));
    let bands: Vec<(f64, f64)> = columns
        .iter()
        .map(|corner| {
            let (lower, upper) = if forbidden(corner.u) { (0.0, 0.0) } else { corner.band(kind) };
            (plan.y_to_px(lower.clamp(least, most)), plan.y_to_px(upper.clamp(least, most)))
        })
        .collect();
    let mut places: Vec<(f64, Place)> = bands
        .windows(half * 2 + 1)
        .enumerate()
        .filter_map(|(start, window)| {
            let lower = window.iter().map(|band| band.0).fold(f64::INFINITY, f64::min);
            let upper = window.iter().map(|band| band.1).fold(0.0, f64::max);
            let room = lower - upper;
            let x = plan.plot.left + float(start + half) * column_width;
            let off_middle = (x - f64::midpoint(plan.plot.left, plan.plot.right)).abs() * 0.02;
            let score = room.min(FONT * 4.0) - off_middle;
            (room >= FONT * 1.3)
                .then_some((score, (x, f64::midpoint(lower, upper) + FONT * 0.35, Anchor::Middle)))
        })
        .collect();
    sort_short(&mut places, |a, b| a.0 > b.0);
    places
}

/// Axis texts: ticks of both axes and the two axis names.
fn axes(plan: &Plan, view: &CurveView, out: &mut String) {
    let plot = &plan.plot;
    for (value, words) in &plan.y_ticks {
        text(
            out,
            "chart-text-tick",
            (plot.left - 7.0 * K, plan.y_to_px(*value) + FONT * 0.35),
            Anchor::End,
            words,
        );
    }
    let y = plot.bottom + 6.0 * K + FONT;
    let mut taken: Vec<(f64, f64)> = Vec::new();
    for (x, words) in &plan.x_ticks {
        let Some(at) = plan.inside(*x) else { continue };
        let half = text_width(words) / 2.0;
        let (from, to) = (at - half - 3.0 * K, at + half + 3.0 * K);
        if taken.iter().all(|(left, right)| to < *left || from > *right) {
            text(out, "chart-text-tick", (at.min(plot.width - half), y), Anchor::Middle, words);
            taken.push((from, to));
        }
    }
    text(
        out,
        "chart-text-muted",
        (f64::midpoint(plot.left, plot.right), plot.height - 5.0 * K),
        Anchor::Middle,
        &view.x_label,
    );
}

/// All texts of a curve as markup.
pub(super) fn all(plan: &Plan, view: &CurveView) -> String {
    let mut labels = Labels { plan, taken: Vec::new(), out: String::with_capacity(4096) };
    axes(plan, view, &mut labels.out);
    let picture = labels.picture();
    labels.place("chart-text-muted", &view.y_label, picture, [(0.0, FONT, Anchor::Start)]);
    for line in &plan.compare {
        labels.keep_off(line);
    }
    labels.keep_off(&plan.naive);
    labels.keep_off(&plan.best);
    labels.current(view);
    labels.capacity(view);
    let (low, high) = plan.outline.domain;
    for level in
        plan.compare_capacities.iter().chain([&plan.capacity]).filter(|level| **level > 0.0)
    {
        labels.keep_off(&[(low, *level), (high, *level)]);
    }
    for ((compare, line), at) in view.compare.iter().zip(&plan.compare).zip(0..) {
        labels.letter(at, &compare.name, line);
    }
    if let Some(best) = &view.best {
        labels.line("chart-text-best", &best.name, &plan.best);
    }
    if let Some(naive) = &view.naive {
        labels.line("chart-text-halo", &naive.name, &plan.naive);
    }
    labels.continues(view);
    labels.markers(view);
    // Bars are too narrow for names: the legend over the curves has their colours, the one below
    // them the hatch.
    if !view.bars {
        labels.layers(view);
        labels.blocked();
    }
    labels.out
}
