//! Memory over one step: the stack of the curves along the order of events, its phases named under
//! the axis.

use std::fmt::Write as _;

use super::curve::{Plan, draw};
use super::svg::{self, Anchor, FONT, K, text, text_width};
use super::theme::definitions;
use super::{CurveView, Frame, labels};

/// A part of the step and the stretch of the axis that it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseSpan {
    /// The x at which it begins.
    pub from: f64,
    /// The x at which it ends.
    pub to: f64,
    /// Its name, written under the axis where there is room.
    pub name: &'static str,
}

/// Memory over one step. The curve's `x` counts events; its ticks are not drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct StepView {
    /// The stack along the step; its current point is the peak.
    pub curve: CurveView,
    /// Parts of the step, from left to right.
    pub phases: Vec<PhaseSpan>,
}

/// Returns the step as SVG text for that frame. It has no error: marks without a place are left
/// out.
pub fn step(view: &StepView, frame: Frame) -> String {
    let mut plan = Plan::new(&view.curve, frame);
    plan.x_ticks.clear();
    let id = svg::safe_id(view.curve.id);
    let raw = draw(&plan, &view.curve, frame).unwrap_or_default();
    let mut out = svg::open("chart-curve chart-step", plan.plot.width, plan.plot.height);
    out.push_str(&definitions(&id, plan.outline.used));
    out.push_str(&svg::translate(&raw, &id));
    out.push_str(&borders(&plan, &view.phases));
    out.push_str(&labels::all(&plan, &view.curve));
    names(&plan, &view.phases, &mut out);
    out.push_str("</svg>");
    out
}

/// The lines between phases, as one path.
fn borders(plan: &Plan, phases: &[PhaseSpan]) -> String {
    let mut path = String::from("<path class=\"chart-marker\" d=\"");
    for x in phases.iter().skip(1).filter_map(|phase| plan.inside(phase.from)) {
        let _ = write!(path, "M{x:.0} {:.0}V{:.0}", plan.plot.top, plan.plot.bottom + 4.0 * K);
    }
    path.push_str("\"/>");
    path
}

/// The phases' names under the axis, each kept inside the picture and clear of the one before it.
fn names(plan: &Plan, phases: &[PhaseSpan], out: &mut String) {
    let y = plan.plot.bottom + 6.0 * K + FONT;
    let mut free_from = 0.0;
    for phase in phases {
        let (Some(from), Some(to)) = (plan.inside(phase.from), plan.inside(phase.to)) else {
            continue;
        };
        let half = text_width(phase.name) / 2.0;
        let at = f64::midpoint(from, to).min(plan.plot.width - half);
        if at - half >= free_from {
            text(out, "chart-text-tick", (at, y), Anchor::Middle, phase.name);
            free_from = at + half + 4.0 * K;
        }
    }
}
