//! View models of the curves: numbers in the displayed unit, finished texts, nothing to compute.

use super::KINDS;
use super::scale::{TickStyle, XScale};

/// The size at which a chart is meant to be shown, in CSS pixels; texts are readable at this size
/// and scale with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub(super) width: u16,
    pub(super) height: u16,
}

impl Frame {
    /// For a column of about 640 px.
    pub const WIDE: Self = Self { width: 640, height: 360 };
    /// For a phone, or for two charts side by side.
    pub const NARROW: Self = Self { width: 360, height: 300 };

    /// Returns a frame of another size in CSS pixels, kept within 240–1600 by 160–1200.
    pub fn new(width: u16, height: u16) -> Self {
        Self { width: width.clamp(240, 1600), height: height.clamp(160, 1200) }
    }
}

/// One layer of the stack, named.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Position in `MemoryKind::ALL`, 0 to 6.
    pub kind_index: usize,
    /// The name written into the area.
    pub name: String,
}

/// The stack at one x.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// The value on the axis, e.g. a sequence length.
    pub x: f64,
    /// The value as words, for the page's readout and table; not drawn.
    pub x_text: String,
    /// The words under its bar; not drawn for slopes.
    pub tick: String,
    /// Memory of each kind, in the displayed unit.
    pub stack: [f64; KINDS],
    /// Their sum, in the displayed unit.
    pub total: f64,
    /// True if a rule forbids this point, whatever its memory.
    pub blocked: bool,
}

/// A further line over the stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    /// The name written beside it.
    pub name: String,
    /// Its points: x and memory in the displayed unit.
    pub line: Vec<(f64, f64)>,
    /// Its own capacity, where it differs.
    pub capacity: Option<f64>,
}

/// An x worth marking, such as the longest sequence that fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// Its x.
    pub x: f64,
    /// A few words.
    pub text: String,
}

/// One curve: memory per GPU, stacked by kind, over sequence length or GPU count.
///
/// Numbers that are not finite or are negative count as zero; points without a place on the axis
/// are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurveView {
    /// A word unique on the page: ids inside the drawing begin with it.
    pub id: &'static str,
    /// The title of the chart; it is not drawn, the page writes it as the caption.
    pub title: String,
    /// The words below the x axis, e.g. `sequence length (tokens)`.
    pub x_label: String,
    /// The words above the y axis, e.g. `GiB per GPU`.
    pub y_label: String,
    /// The unit alone, e.g. `GiB`.
    pub unit: &'static str,
    /// The layers in use.
    pub series: Vec<Series>,
    /// The stack along x, by rising x.
    pub points: Vec<Point>,
    /// Memory of one GPU in the displayed unit; zero draws no line.
    pub capacity: f64,
    /// The words on the capacity line, e.g. `80 GiB capacity`.
    pub capacity_text: String,
    /// The scenario's own x.
    pub current_x: f64,
    /// Words beside the current point, e.g. `52.1 GiB at 8k`; may be empty.
    pub current_text: String,
    /// The scenarios that are compared with, at most three.
    pub compare: Vec<Overlay>,
    /// The plain division (GPU count only).
    pub naive: Option<Overlay>,
    /// The least that any layout takes (GPU count only).
    pub best: Option<Overlay>,
    /// The way in which x values are spread.
    pub scale: XScale,
    /// The way in which x values are written.
    pub ticks: TickStyle,
    /// Draw a bar for each point instead of slopes: for counts. Then x is a bar's place in its row,
    /// so that all are of one width.
    pub bars: bool,
    /// Remarkable places on the x axis.
    pub markers: Vec<Marker>,
}

// `CurveView::from_curve(&planner::Curve, …)` belongs here: it turns bytes into the displayed unit
// and writes the texts.

/// A share kept between 0 and 1; 0 for one that is not finite.
pub(super) fn clean_share(share: f64) -> f64 {
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
}
