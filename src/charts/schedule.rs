//! A pipeline's schedule: one row for each stage, its passes from left to right in time.

use std::fmt::Write as _;

use super::geometry::clean;
use super::svg::{self, Anchor, FONT, K, text, text_width};

/// The kind of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassKind {
    /// Forward.
    Forward,
    /// Backward, whole or for inputs.
    Backward,
    /// Backward for weights.
    Weights,
}

impl PassKind {
    /// The class that gives the pass its colour, and the class of words on it.
    const fn classes(self) -> (&'static str, &'static str) {
        match self {
            Self::Forward => ("kind-parameter", "ink-parameter"),
            Self::Backward => ("kind-activation", "ink-activation"),
            Self::Weights => ("kind-gradient", "ink-gradient"),
        }
    }
}

/// One pass.
#[derive(Clone, Debug, PartialEq)]
pub struct PassSpan {
    /// The beginning of the pass, in the view's unit of time.
    pub from: f64,
    /// The end of the pass, in the view's unit of time.
    pub to: f64,
    /// The kind of the pass.
    pub kind: PassKind,
    /// The number written into it, if there is room.
    pub label: String,
}

/// All passes of a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleView {
    /// Name and passes of each stage, from the first stage down.
    pub rows: Vec<(String, Vec<PassSpan>)>,
    /// The end of the last pass, in the view's unit of time.
    pub end: f64,
}

/// Height of a row and the gap below it, in viewBox units.
const ROW: f64 = 20.0 * K;
const GAP: f64 = 4.0 * K;

/// Returns the schedule as SVG text for a column of that many CSS pixels (kept within 240–1600).
/// Passes that run together share the height of their row.
pub fn schedule(view: &ScheduleView, width: u16) -> String {
    let width = f64::from(width.clamp(240, 1600)) * K;
    let left = view.rows.iter().map(|(name, _)| text_width(name)).fold(0.0, f64::max) + 6.0 * K;
    let end = clean(view.end);
    let scale = if end > 0.0 { ((width - left) / end).max(0.0) } else { 0.0 };
    let (mut shapes, mut words) = (String::new(), String::new());
    let mut top = 0.0;
    for (name, passes) in &view.rows {
        text(
            &mut words,
            "chart-text-tick",
            (0.0, top + ROW / 2.0 + FONT * 0.35),
            Anchor::Start,
            name,
        );
        for (at, pass) in passes.iter().enumerate() {
            let (x, wide) = (
                left + clean(pass.from) * scale,
                (clean(pass.to) - clean(pass.from)).max(0.0) * scale,
            );
            let with = |other: Option<&PassSpan>| {
                other.is_some_and(|other| {
                    clean(other.from) < clean(pass.to) && clean(pass.from) < clean(other.to)
                })
            };
            let second = at.checked_sub(1).is_some_and(|before| with(passes.get(before)));
            let shared = second || with(passes.get(at + 1));
            let (y, high) =
                (if second { top + ROW / 2.0 } else { top }, if shared { ROW / 2.0 } else { ROW });
            let (ground, ink) = pass.kind.classes();
            let _ = write!(
                shapes,
                "<rect class=\"chart-pass {ground}\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"{wide:.0}\" \
                 height=\"{high:.0}\"/>"
            );
            if !shared && text_width(&pass.label) + 2.0 * K < wide {
                let middle = (x + wide / 2.0, y + high / 2.0 + FONT * 0.35);
                text(&mut words, ink, middle, Anchor::Middle, &pass.label);
            }
        }
        top += ROW + GAP;
    }
    format!("{}{shapes}{words}</svg>", svg::open("chart-schedule", width, (top - GAP).max(K)))
}

#[cfg(test)]
mod tests {
    use super::{PassKind, PassSpan, ScheduleView, schedule};

    #[test]
    fn every_pass_has_its_place_and_words_only_where_there_is_room() {
        let pass = |from: u32, kind, label: &str| PassSpan {
            from: from.into(),
            to: f64::from(from) + 1.0,
            kind,
            label: label.to_owned(),
        };
        let row = vec![
            pass(0, PassKind::Forward, "1"),
            pass(1, PassKind::Backward, "1"),
            pass(1, PassKind::Weights, "2"),
        ];
        let view = ScheduleView {
            rows: vec![("Stage <1>".to_owned(), row), ("Stage 2".to_owned(), Vec::new())],
            end: 4.0,
        };
        let drawn = schedule(&view, 600);
        assert_eq!(drawn.matches("<rect").count(), 3);
        assert_eq!(drawn.matches("kind-activation").count(), 1);
        assert!(drawn.contains("Stage &lt;1&gt;") && drawn.ends_with("</svg>"));
        // Two passes that run together share the row and carry no words.
        assert_eq!(drawn.matches("height=\"40\"").count(), 2);
        assert_eq!(drawn.matches("<text").count(), 3);
        assert!(!schedule(&ScheduleView { end: f64::NAN, ..view }, 0).contains("NaN"));
    }
}
