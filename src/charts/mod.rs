//! Charts: a view model goes in, SVG markup comes out, with the same bytes natively and in the
//! browser.
//!
//! A chart is drawn in three steps, one way:
//! 1. the page fills a view model ([`CurveView`], [`BarView`]) with numbers in the unit it displays
//!    and with finished texts;
//! 2. plotters draws areas, lines and grid four times larger than shown, because it rounds to whole
//!    units;
//! 3. colours become class names, and every text is written here, because plotters would measure
//!    text through the page.
//!
//! Colours live in `style/charts.css` as custom properties, so that light, dark, high contrast and
//! print switch without drawing again. Nothing here computes a quantity of the model: only the
//! place of a given number in the picture.

mod bar;
mod curve;
mod front;
mod geometry;
mod labels;
mod scale;
mod schedule;
mod step;
mod svg;
mod theme;
mod tone;
mod view;

#[cfg(test)]
mod tests;

pub use bar::{BarRow, BarSegment, BarView, bar};
pub use curve::{Drawn, PlotArea, curve};
pub use front::{FrontPoint, FrontView, front, front_mark};
pub use scale::{TickStyle, XScale};
pub use schedule::{PassKind, PassSpan, ScheduleView, schedule};
pub use step::{PhaseSpan, StepView, step};
pub use theme::{KIND_SLUGS, hatch, swatch};
pub use tone::{Note, SAMPLE_RATE, SECONDS, tone};
pub use view::{CurveView, Frame, Marker, Overlay, Point, Series};

/// The number of kinds of memory in a stack, in the order of `estimator::MemoryKind::ALL`.
pub const KINDS: usize = 7;
