//! From the planner's curves to what is drawn and said about them.

use super::answers::ComparedCurves;
use super::words::{Scale, whole};
use crate::charts::{CurveView, Marker, Overlay, Point, Series, TickStyle, XScale};
use crate::estimator::MemoryKind;
use crate::planner::{Axis, Curve, CurvePoint};
use crate::units::{Bytes, MemoryUnit, to_f64};

/// The page's settings for the drawing of a curve.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// GB or GiB.
    pub unit: MemoryUnit,
    /// True if the axis goes by doublings.
    pub log: bool,
    /// The curves of the scenarios compared with.
    pub compare: &'a [ComparedCurves],
    /// The lines over the bars.
    pub lines: Lines,
}

/// The lines that the chart by GPUs shows over its bars: both off until the reader asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// The plain division.
    pub division: bool,
    /// The best layout.
    pub best: bool,
}

/// A line over the bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// The plain division.
    Division,
    /// The best layout.
    Best,
}

impl Line {
    /// Both lines.
    pub const ALL: [Self; 2] = [Self::Division, Self::Best];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Division => "division",
            Self::Best => "best",
        }
    }

    /// The line of that word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|line| line.word() == word)
    }
}

impl Lines {
    /// True if that line is shown.
    pub const fn has(self, line: Line) -> bool {
        match line {
            Line::Division => self.division,
            Line::Best => self.best,
        }
    }

    /// Shows a line that is hidden, and hides one that is shown.
    pub const fn switch(&mut self, line: Line) {
        let shown = match line {
            Line::Division => &mut self.division,
            Line::Best => &mut self.best,
        };
        *shown = !*shown;
    }
}

/// Where a value stands on a curve's axis: a count of GPUs by the bars that it is between, all of
/// one width; a length by itself.
pub fn place(curve: &Curve, x: u64) -> f64 {
    if curve.axis == Axis::SeqLength {
        return to_f64(x);
    }
    let points = &curve.points;
    let after =
        points.partition_point(|point| point.x < x).clamp(1, points.len().saturating_sub(1).max(1));
    let (Some(from), Some(to)) = (points.get(after - 1), points.get(after)) else { return 0.0 };
    let doublings = |a: u64, b: u64| (to_f64(b.max(1)) / to_f64(a.max(1))).ln();
    let share = doublings(from.x, x) / doublings(from.x, to.x);
    to_f64(u64::try_from(after - 1).unwrap_or(0)) + share
}

/// The point of a curve nearest to a place on its axis.
pub fn nearest_place(curve: &Curve, place: f64) -> usize {
    let away = |point: &CurvePoint| (self::place(curve, point.x) - place).abs();
    let order =
        curve.points.iter().enumerate().min_by(|(_, a), (_, b)| away(a).total_cmp(&away(b)));
    order.map_or(0, |(index, _)| index)
}

/// The drawing's view model.
pub fn view(curve: &Curve, setting: &Setting) -> CurveView {
    let unit = setting.unit;
    let amount = |bytes: Bytes| bytes.as_f64() / to_f64(unit.bytes());
    let seq = curve.axis == Axis::SeqLength;
    let at_current = curve.points.iter().find(|point| point.x == curve.current);
    let line = |other: &Curve| {
        other
            .points
            .iter()
            .map(|point| (place(curve, point.x), amount(point.total)))
            .collect::<Vec<_>>()
    };
    let overlay = |compared: &ComparedCurves| {
        let other = if seq { &compared.seq } else { &compared.gpus };
        let capacity = (other.capacity != curve.capacity).then(|| amount(other.capacity));
        Overlay { name: compared.letter.to_owned(), line: line(other), capacity }
    };
    let Lines { division, best } = setting.lines;
    let naive: Vec<(f64, f64)> =
        curve.naive.iter().map(|(x, bytes)| (place(curve, *x), amount(*bytes))).collect();
    CurveView {
        id: if seq { "seq" } else { "gpus" },
        title: title(curve.axis, curve.serves).to_owned(),
        x_label: match curve.axis {
            Axis::SeqLength => "tokens in a sequence".to_owned(),
            Axis::Gpus if curve.serves => "GPUs of one replica".to_owned(),
            Axis::Gpus => "GPUs".to_owned(),
        },
        y_label: format!("{unit} per GPU"),
        unit: unit.name(),
        series: series(&curve.points.iter().map(|point| &point.by_kind)),
        points: curve.points.iter().map(|point| drawn_point(curve, point, amount)).collect(),
        capacity: amount(curve.capacity),
        capacity_text: format!("capacity {}", unit.number(curve.capacity, 1)),
        current_x: place(curve, curve.current),
        current_text: at_current.map(|point| unit.number(point.total, 1)).unwrap_or_default(),
        compare: setting.compare.iter().map(overlay).collect(),
        naive: (division && !naive.is_empty()).then(|| Overlay {
            name: "plain division".to_owned(),
            line: naive,
            capacity: None,
        }),
        best: (best && !curve.best.is_empty()).then(|| {
            let line = curve
                .best
                .iter()
                .map(|stair| (place(curve, stair.gpus), amount(stair.memory)))
                .collect();
            Overlay { name: "best layout".to_owned(), line, capacity: None }
        }),
        scale: if seq && setting.log { XScale::Log2 } else { XScale::Linear },
        ticks: if seq { TickStyle::Tokens } else { TickStyle::Plain },
        bars: !seq,
        markers: longest(curve).into_iter().collect(),
    }
}

/// The title of a curve.
pub const fn title(axis: Axis, serves: bool) -> &'static str {
    match axis {
        Axis::SeqLength => "Memory by sequence length",
        Axis::Gpus if serves => "Memory by GPUs of one replica",
        Axis::Gpus => "Memory by number of GPUs",
    }
}

/// The kinds of memory that any of the points has.
pub fn series<'a>(points: &(impl Iterator<Item = &'a [Bytes; 7]> + Clone)) -> Vec<Series> {
    MemoryKind::ALL
        .into_iter()
        .filter(|kind| {
            points.clone().any(|by_kind| by_kind.get(kind.index()).is_some_and(|bytes| bytes.0 > 0))
        })
        .map(|kind| Series { kind_index: kind.index(), name: kind.name().to_owned() })
        .collect()
}

fn drawn_point(curve: &Curve, point: &CurvePoint, amount: impl Fn(Bytes) -> f64) -> Point {
    Point {
        x: place(curve, point.x),
        x_text: x_text(curve.axis, point.x),
        tick: whole(point.x),
        stack: point.by_kind.map(&amount),
        total: amount(point.total),
        blocked: point.blocked.is_some(),
    }
}

fn longest(curve: &Curve) -> Option<Marker> {
    let longest = curve.longest_fit?;
    let last = curve.points.last()?.x;
    (longest < last && longest != curve.current)
        .then(|| Marker { x: to_f64(longest), text: format!("fits to {}", whole(longest)) })
}

/// A place on the axis in words.
pub fn x_text(axis: Axis, x: u64) -> String {
    match axis {
        Axis::SeqLength => format!("{} tokens", whole(x)),
        Axis::Gpus => super::words::gpus(x),
    }
}

/// A point in words: place, memory, margin, and why it cannot run.
pub fn spoken(curve: &Curve, index: usize, unit: MemoryUnit) -> (String, String) {
    let Some(point) = curve.points.get(index) else { return (String::new(), String::new()) };
    let scale = Scale::of(unit, point.total, curve.capacity);
    let gap = scale.number(scale.round(point.total).abs_diff(scale.round(curve.capacity)));
    let margin = if point.total <= curve.capacity {
        format!("{gap} free")
    } else {
        format!("over capacity by {gap}")
    };
    let rule =
        point.blocked.as_ref().map(|rule| format!(". Cannot run: {rule}")).unwrap_or_default();
    let best = curve.best.iter().find(|stair| stair.gpus == point.x);
    let best = best
        .map(|stair| {
            format!(". Best layout: {} {unit} with {}", scale.show(stair.memory), stair.words)
        })
        .unwrap_or_default();
    (
        x_text(curve.axis, point.x),
        format!("{} {unit}, {margin}{rule}{best}", scale.show(point.total)),
    )
}
