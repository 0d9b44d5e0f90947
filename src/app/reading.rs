//! Reading the curves: pointer and arrow keys move a cursor, Enter takes its value over.

use leptos::prelude::*;

use super::browser::{self, Element, Event};
use super::browser_tone::hush;
use super::hearing::hear;
use super::state::{State, StateChange};
use crate::planner::Axis;
use crate::scenario::{FieldId, Mode, Value};
use crate::view::curve_view;
use crate::view::history::ONE_STEP_MS;
use crate::view::panels::curves::{axis_of, index};

/// Listens to everything that happens on the curves.
pub fn listen(state: State) {
    browser::on("keydown", move |event| {
        if browser::key_of(event).as_deref() == Some("Escape") {
            hush();
        }
        if let Some(axis) = curve_of(event) {
            key(state, axis, event);
        }
    });
    browser::on("focusout", move |event| {
        if let Some(axis) = curve_of(event) {
            move_to(state, axis, None);
        }
    });
    browser::on("pointerdown", move |event| {
        if let Some((plot, axis)) = plot_of(event) {
            browser::capture_pointer(&plot, event);
            point_at(state, axis, &plot, event, Some(0.0));
        }
    });
    browser::on("pointermove", move |event| {
        if let Some((plot, axis)) = plot_of(event) {
            // Dragging is one step of undo, however long it takes.
            point_at(
                state,
                axis,
                &plot,
                event,
                browser::is_captured(&plot, event).then_some(f64::INFINITY),
            );
        }
    });
    browser::on("pointerleave", move |event| {
        if let Some(axis) = curve_of(event) {
            move_to(state, axis, None);
        }
    });
}

/// The curve that an event is about.
fn curve_of(event: &Event) -> Option<Axis> {
    axis_of(&browser::of_target(event, "data-curve")?)
}

/// The picture that an event is on, and its curve.
fn plot_of(event: &Event) -> Option<(Element, Axis)> {
    let plot = browser::within(event, "data-curve")?;
    let word = plot.get_attribute("data-curve")?;
    axis_of(&word).map(|axis| (plot, axis))
}

fn move_to(state: State, axis: Axis, point: Option<usize>) {
    state.cursor(axis).change(|cursor| *cursor = point);
}

/// Reads the point under the pointer; while that is pressed, it becomes the scenario's own, joined
/// to a change so long ago.
fn point_at(state: State, axis: Axis, plot: &Element, event: &Event, pressed: Option<f64>) {
    let Some(share) = browser::pointer_share(plot, event) else { return };
    let nearest = state.plots.with_untracked(|plots| {
        let plot = plots.along(axis);
        curve_view::nearest_place(&plot.curve, plot.drawn.px_to_x(share * plot.drawn.plot.width))
    });
    move_to(state, axis, Some(nearest));
    if let Some(within_ms) = pressed {
        take(state, axis, within_ms);
    }
}

/// Makes the point that is read the scenario's own.
fn take(state: State, axis: Axis, within_ms: f64) {
    let field = match axis {
        Axis::Gpus => FieldId::Gpus,
        Axis::SeqLength if state.scenario_now().mode() == Mode::Serve => FieldId::ContextLength,
        Axis::SeqLength => FieldId::SeqLength,
    };
    let cursor = state.cursor(axis).get_untracked();
    let point = state.plots.with_untracked(|plots| {
        let plot = plots.along(axis);
        let replicas = plot.curve.replicas;
        plot.curve
            .points
            .get(index(plot, cursor))
            .map(|point| (point.x.saturating_mul(replicas), point.layout.t()))
    });
    let Some((x, tensor)) = point else { return };
    let mut scenario = state.scenario_now();
    scenario.set(field, Value::Integer(x));
    if axis == Axis::Gpus {
        scenario.set(FieldId::TensorParallel, Value::Integer(tensor));
    }
    state.edit_within(field, within_ms, scenario);
}

fn key(state: State, axis: Axis, event: &Event) {
    let cursor = state.cursor(axis).get_untracked();
    let (now, last) = state.plots.with_untracked(|plots| {
        let plot = plots.along(axis);
        (index(plot, cursor), plot.curve.points.len().saturating_sub(1))
    });
    let next = match browser::key_of(event).unwrap_or_default().as_str() {
        "ArrowRight" | "ArrowUp" => Some(now.saturating_add(1).min(last)),
        "ArrowLeft" | "ArrowDown" => Some(now.saturating_sub(1)),
        "PageUp" => Some(now.saturating_add(10).min(last)),
        "PageDown" => Some(now.saturating_sub(10)),
        "Home" => Some(0),
        "End" => Some(last),
        "Enter" | " " => {
            take(state, axis, ONE_STEP_MS);
            None
        }
        "t" => return hear(state, axis),
        "Escape" => return move_to(state, axis, None),
        _ => return,
    };
    event.prevent_default();
    move_to(state, axis, next);
}
