//! Hearing the curves: on request only, once, and silent again at a second request or Escape.

use leptos::prelude::*;

use super::browser_tone::{hush, play};
use super::state::State;
use crate::charts::{Note, SAMPLE_RATE, SECONDS, tone};
use crate::planner::{Axis, CurvePoint};
use crate::units::{Bytes, to_f64};
use crate::view::answers::{Plot, Standing};
use crate::view::curve_view::place;

/// Plays a curve as it is drawn, or ends what sounds.
pub fn hear(state: State, axis: Axis) {
    if hush() {
        return;
    }
    // A curve that is not shown has no sound.
    if state.answers.with_untracked(|answers| answers.standing == Standing::Nothing) {
        return;
    }
    let unit = state.answers.with_untracked(|answers| to_f64(answers.unit.bytes()));
    let samples = state.plots.with_untracked(|plots| sound(plots.along(axis), unit));
    if !play(&samples, SAMPLE_RATE, u32::from(SECONDS) * 1000) {
        state.say("No sound in this browser; the table has the points.", None);
    }
}

/// The samples of a curve; `unit`: the bytes of one unit of the picture's height.
fn sound(Plot { curve, drawn }: &Plot, unit: f64) -> Vec<f32> {
    let area = drawn.plot;
    let height = |bytes: Bytes| {
        (area.bottom - drawn.y_to_px(bytes.as_f64() / unit)) / (area.bottom - area.top)
    };
    let note = |point: &CurvePoint| Note {
        at: (drawn.x_to_px(place(curve, point.x)) - area.left) / (area.right - area.left),
        height: height(point.total),
        blocked: point.blocked.is_some(),
    };
    let notes: Vec<Note> = curve.points.iter().map(note).collect();
    tone(&notes, height(curve.capacity), curve.axis == Axis::Gpus)
}
