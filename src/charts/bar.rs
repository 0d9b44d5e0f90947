//! The verdict's bar: one bar per scenario, its segments by kind, and the line of capacity.

use std::fmt::Write as _;

use super::KINDS;
use super::geometry::clean;
use super::labels::first_word;
use super::svg::{self, Anchor, FONT, K, text, text_width};
use super::theme::{definitions, slug};

/// One part of a bar.
#[derive(Clone, Debug, PartialEq)]
pub struct BarSegment {
    /// Position in `MemoryKind::ALL`, 0 to 6.
    pub kind_index: usize,
    /// The name written into it, if there is room.
    pub name: String,
    /// Its amount in words, e.g. `13.4 GiB`.
    pub value_text: String,
    /// Its amount in the displayed unit.
    pub value: f64,
    /// The action of a click on it, the value of `data-do`; empty where the bar stands outside the
    /// page.
    pub action: String,
    /// The words that the pointer reads on it; empty as [`BarSegment::action`].
    pub tip: String,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub struct BarRow {
    /// The scenario's name, above the bar; may be empty when there is only one.
    pub name: String,
    /// Its parts from left to right.
    pub segments: Vec<BarSegment>,
    /// Memory of one GPU in the displayed unit; zero draws no line.
    pub capacity: f64,
    /// The words on the capacity line, e.g. `80 GiB`.
    pub capacity_text: String,
    /// The words in the free part, e.g. `12.3 GiB free`, or over the part that does not fit; may be
    /// empty.
    pub margin_text: String,
}

/// One or more bars over the same scale.
#[derive(Clone, Debug, PartialEq)]
pub struct BarView {
    /// A word unique on the page: ids inside the drawing begin with it.
    pub id: &'static str,
    /// The bars from top to bottom.
    pub rows: Vec<BarRow>,
}

/// Height of the bar itself and of the line of words above it, in viewBox units.
const BAR: f64 = 46.0 * K;
const HEAD: f64 = 22.0 * K;
const GAP: f64 = 14.0 * K;

impl BarRow {
    fn total(&self) -> f64 {
        self.segments.iter().map(|segment| clean(segment.value)).sum()
    }
}

/// Returns the bars as SVG text for a column of that many CSS pixels (kept within 240–1600). The
/// picture is as high as its bars need.
///
/// All rows share one scale, from zero to the largest total or capacity, so that lengths can be
/// compared.
pub fn bar(view: &BarView, width: u16) -> String {
    let width = f64::from(width.clamp(240, 1600)) * K;
    let id = svg::safe_id(view.id);
    let mut used = [false; KINDS];
    for segment in
        view.rows.iter().flat_map(|row| &row.segments).filter(|segment| clean(segment.value) > 0.0)
    {
        if let Some(used) = used.get_mut(segment.kind_index) {
            *used = true;
        }
    }
    let most = view.rows.iter().map(|row| row.total().max(clean(row.capacity))).fold(0.0, f64::max);
    let scale = if most > 0.0 { (width - 4.0 * K) / most } else { 0.0 };
    let mut shapes = String::new();
    let mut words = String::new();
    let mut top = 0.0;
    for row in &view.rows {
        let canvas = Canvas { id: &id, width, scale, top: top + HEAD };
        canvas.row(row, &mut shapes, &mut words);
        top += HEAD + BAR + GAP;
    }
    let mut out = svg::open("chart-bar", width, (top - GAP + 6.0 * K).max(K));
    out.push_str(&definitions(&id, used));
    let _ = write!(out, "{shapes}{words}</svg>");
    out
}

/// The place at which one row is drawn.
struct Canvas<'a> {
    id: &'a str,
    width: f64,
    scale: f64,
    top: f64,
}

impl Canvas<'_> {
    /// One bar with its words.
    fn row(&self, row: &BarRow, shapes: &mut String, words: &mut String) {
        let capacity = clean(row.capacity) * self.scale;
        let end = row.total() * self.scale;
        if capacity > end {
            self.rectangle(shapes, "class=\"chart-free\"", "", (end, capacity));
            self.fitting(words, "chart-text-muted", (end, capacity), &[&row.margin_text]);
        }
        let mut from = 0.0;
        for segment in &row.segments {
            let to = from + clean(segment.value) * self.scale;
            if to - from >= 1.0 {
                let slug = slug(segment.kind_index);
                self.segment(shapes, segment, slug, (from, to));
                self.segment_words(segment, capacity, (from, to), words);
            }
            from = to;
        }
        if end > capacity && capacity > 0.0 {
            self.rectangle(
                shapes,
                &format!("class=\"chart-over\" fill=\"url(#{}-over)\"", self.id),
                "",
                (capacity, end),
            );
        }
        if capacity > 0.0 {
            for class in ["casing", "capacity"] {
                let _ = write!(
                    shapes,
                    "<path class=\"chart-{class}\" d=\"M{capacity:.0} {:.0}v{:.0}\"/>",
                    self.top - 5.0 * K,
                    BAR + 10.0 * K
                );
            }
        }
        self.heading(row, (capacity, end), words);
    }

    /// Name and amount inside a segment. They must not cross the capacity line, and on the hatched
    /// part they need a halo.
    fn segment_words(
        &self,
        segment: &BarSegment,
        capacity: f64,
        (from, to): (f64, f64),
        words: &mut String,
    ) {
        let crosses = capacity > from && capacity < to;
        let (from, to) =
            if crosses { longer((from, capacity), (capacity, to)) } else { (from, to) };
        let class = if capacity > 0.0 && from >= capacity {
            "chart-text-halo".to_string()
        } else {
            format!("chart-text-layer ink-{}", slug(segment.kind_index))
        };
        let fits = |name: &str| text_width(name) + 10.0 * K <= to - from;
        let name = if fits(&segment.name) { &segment.name } else { first_word(&segment.name) };
        self.fitting(words, &class, (from, to), &[name, &segment.value_text]);
    }

    /// The scenario's name on the left, the capacity's words at its line, the missing amount on the
    /// right, as far as there is room.
    fn heading(&self, row: &BarRow, (capacity, end): (f64, f64), words: &mut String) {
        let y = self.top - 9.0 * K;
        let mut free_from = 0.0;
        if !row.name.is_empty() {
            let name = shortened(&row.name, self.width);
            text(words, "chart-text-name", (0.0, y), Anchor::Start, &name);
            free_from = text_width(&name) + 8.0 * K;
        }
        if capacity <= 0.0 {
            return;
        }
        let width = text_width(&row.capacity_text);
        let left = (capacity - width / 2.0).clamp(0.0, (self.width - width).max(0.0));
        if left < free_from {
            return;
        }
        text(words, "chart-text-capacity", (left, y), Anchor::Start, &row.capacity_text);
        if end > capacity && self.width - text_width(&row.margin_text) > left + width + 8.0 * K {
            text(words, "chart-text-over", (self.width, y), Anchor::End, &row.margin_text);
        }
    }

    /// A part of the bar, which tells its amount to the pointer and opens its explanation where the
    /// page says so.
    fn segment(&self, out: &mut String, segment: &BarSegment, slug: &str, (from, to): (f64, f64)) {
        let mut attributes = format!("class=\"chart-area\" fill=\"url(#{}-{slug})\"", self.id);
        if segment.action.is_empty() {
            return self.rectangle(out, &attributes, "", (from, to));
        }
        let _ = write!(attributes, " data-do=\"{}\"", svg::escape(&segment.action));
        self.rectangle(
            out,
            &attributes,
            &format!("<title>{}</title>", svg::escape(&segment.tip)),
            (from, to),
        );
    }

    fn rectangle(&self, out: &mut String, attributes: &str, inner: &str, (from, to): (f64, f64)) {
        let end = if inner.is_empty() { "/>".to_owned() } else { format!(">{inner}</rect>") };
        let _ = write!(
            out,
            "<rect {attributes} x=\"{from:.0}\" y=\"{:.0}\" width=\"{:.0}\" \
             height=\"{BAR:.0}\"{end}",
            self.top,
            to - from
        );
    }

    /// The lines up to the first that is too wide, one under the other, in the middle of the bar.
    fn fitting(&self, out: &mut String, class: &str, (from, to): (f64, f64), lines: &[&str]) {
        let fitting: Vec<&&str> = lines
            .iter()
            .filter(|line| !line.is_empty())
            .take_while(|line| text_width(line) + 10.0 * K <= to - from)
            .collect();
        let lift = if fitting.len() > 1 { FONT * 0.6 } else { 0.0 };
        for (line, y) in fitting.iter().zip([-lift, lift]) {
            text(
                out,
                class,
                (f64::midpoint(from, to), self.top + BAR / 2.0 + FONT * 0.35 + y),
                Anchor::Middle,
                line,
            );
        }
    }
}

/// The beginning of a text that has room in that width.
fn shortened(words: &str, width: f64) -> String {
    if text_width(words) <= width {
        return words.to_owned();
    }
    let mut kept = String::new();
    for letter in words.chars() {
        if text_width(&kept) + 2.0 * text_width("…") > width {
            break;
        }
        kept.push(letter);
    }
    kept.push('…');
    kept
}

/// The longer of two stretches.
fn longer(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    if a.1 - a.0 >= b.1 - b.0 { a } else { b }
}
