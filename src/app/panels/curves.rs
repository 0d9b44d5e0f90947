//! Memory against sequence length and against the number of GPUs.

use leptos::ev::{KeyboardEvent, PointerEvent};
use leptos::prelude::*;

use crate::app::state::{State, state};
use crate::app::ui::{Views, memo};
use crate::app::{browser, curve_view};
use crate::charts::{self, Drawn, Frame};
use crate::planner::{Axis, Curve, curve_gpus, curve_seq};
use crate::scenario::{FieldId, Mode, Value};
use crate::units::to_f64;

/// Both curves; on a phone one at a time.
#[component]
pub fn Curves() -> impl IntoView {
    let shown = RwSignal::new(Axis::SeqLength);
    let tab = move |axis: Axis, label: &'static str| {
        view! {
            <button
                type="button"
                class="switch__option"
                aria-pressed=move || (shown.get() == axis).to_string()
                on:click=move |_| shown.set(axis)
            >
                {label}
            </button>
        }
    };
    view! {
        <div class="switch switch--wide curves__tabs" role="group" aria-label="Which curve">
            {tab(Axis::SeqLength, "By length")}
            {tab(Axis::Gpus, "By GPUs")}
        </div>
        <div class="curves">
            <CurvePanel axis=Axis::SeqLength shown />
            <CurvePanel axis=Axis::Gpus shown />
        </div>
    }
    .into_any()
}

/// What belongs to one curve.
#[derive(Clone, Copy)]
struct Panel {
    state: State,
    axis: Axis,
    curve: Memo<Curve>,
    drawn: Memo<Drawn>,
    /// The point that is read, while it is not the scenario's own.
    cursor: RwSignal<Option<usize>>,
    dragging: RwSignal<bool>,
}

impl Panel {
    fn new(state: State, axis: Axis) -> Self {
        let curve = if axis == Axis::SeqLength { state.curve_seq } else { state.curve_gpus };
        let drawn = memo(move || curve.with(|curve| draw(state, curve)));
        Self { state, axis, curve, drawn, cursor: RwSignal::new(None), dragging: RwSignal::new(false) }
    }

    /// The point that is read: the cursor's, or the scenario's.
    fn index(self) -> usize {
        self.curve.with(|curve| {
            let last = curve.points.len().saturating_sub(1);
            self.cursor.get().map_or_else(|| curve_view::nearest(curve, to_f64(curve.current)), |index| index.min(last))
        })
    }

    fn words(self) -> (String, String) {
        let (index, unit) = (self.index(), self.state.unit.get());
        self.curve.with(|curve| curve_view::spoken(curve, index, unit))
    }

    fn x(self) -> u64 {
        let index = self.index();
        self.curve.with(|curve| curve.points.get(index).map_or(curve.current, |point| point.x))
    }

    /// Where the cursor line stands, per cent of the picture.
    fn left(self) -> Option<f64> {
        self.cursor.get()?;
        let x = to_f64(self.x());
        self.drawn.with(|drawn| Some(100.0 * drawn.x_to_px(x) / drawn.plot.width))
    }

    /// Makes the point that is read the scenario's own.
    fn take(self) {
        let x = untrack(|| self.x());
        let field = match self.axis {
            Axis::Gpus => FieldId::Gpus,
            Axis::SeqLength if self.state.mode.get_untracked() == Mode::Serve => FieldId::ContextLength,
            Axis::SeqLength => FieldId::SeqLength,
        };
        let point = untrack(|| self.index());
        let tensor = self.curve.with_untracked(|curve| curve.points.get(point).map(|point| point.layout.t()));
        self.state.edit(Some(field), |scenario| {
            scenario.set(field, Value::Integer(x));
            if let Some(tensor) = tensor {
                scenario.set(FieldId::TensorParallel, Value::Integer(tensor));
            }
        });
    }

    fn point_at(self, event: &PointerEvent) {
        let Some(share) = browser::pointer_share(event) else { return };
        let x = self.drawn.with_untracked(|drawn| drawn.px_to_x(share * drawn.plot.width));
        self.cursor.set(Some(self.curve.with_untracked(|curve| curve_view::nearest(curve, x))));
        if self.dragging.get_untracked() {
            self.take();
        }
    }

    fn key(self, event: &KeyboardEvent) {
        let last = self.curve.with_untracked(|curve| curve.points.len()).saturating_sub(1);
        let now = untrack(|| self.index());
        let next = match event.key().as_str() {
            "ArrowRight" | "ArrowUp" => now.saturating_add(1).min(last),
            "ArrowLeft" | "ArrowDown" => now.saturating_sub(1),
            "PageUp" => now.saturating_add(10).min(last),
            "PageDown" => now.saturating_sub(10),
            "Home" => 0,
            "End" => last,
            "Enter" | " " => {
                event.prevent_default();
                self.take();
                self.cursor.set(None);
                return;
            }
            "Escape" => {
                self.cursor.set(None);
                return;
            }
            _ => return,
        };
        event.prevent_default();
        self.cursor.set(Some(next));
    }
}

/// Draws one curve at the width it has on the page.
fn draw(state: State, curve: &Curve) -> Drawn {
    let log = curve.axis == Axis::Gpus || state.log_axis.get();
    let other = state.compare_job.with(|job| {
        let job = job.as_ref()?;
        Some(match curve.axis {
            Axis::SeqLength => curve_seq(job, None, 48, log),
            Axis::Gpus => curve_gpus(job),
        })
    });
    let setting = curve_view::Setting { unit: state.unit.get(), log, compare: other.as_ref() };
    let (width, height) = state.plot_size.get();
    charts::curve(&curve_view::view(curve, &setting), Frame::new(width, height))
}

/// One curve: heading, picture, reading, table of its points.
#[component]
fn CurvePanel(
    /// What runs along it.
    axis: Axis,
    /// Which one a phone shows.
    shown: RwSignal<Axis>,
) -> impl IntoView {
    let state = state();
    let panel = Panel::new(state, axis);
    // What the arrow keys read is also said, once they rest; nothing while the scenario's own point is read.
    browser::announce(memo(move || {
        let (place, words) = if panel.cursor.get().is_some() { panel.words() } else { Default::default() };
        if place.is_empty() { place } else { format!("{place}: {words}") }
    }));
    let (id, test) = if axis == Axis::SeqLength { ("plot-seq", "curve-seq") } else { ("plot-gpus", "curve-gpus") };
    view! {
        <figure class=move || if shown.get() == axis { "curve" } else { "curve curve--away" } data-testid=test>
            <figcaption class="curve__head">
                <h2>{curve_view::title(axis)}</h2>
                {(axis == Axis::SeqLength).then(|| view! { <AxisSwitch /> }.into_any())}
            </figcaption>
            <div
                id=id
                class="curve__plot"
                role="slider"
                tabindex="0"
                aria-label=format!("{}: arrow keys read it, Enter takes the value over", curve_view::title(axis))
                aria-valuemin=move || panel.curve.with(|curve| curve.points.first().map(|point| point.x.to_string()))
                aria-valuemax=move || panel.curve.with(|curve| curve.points.last().map(|point| point.x.to_string()))
                aria-valuenow=move || panel.x().to_string()
                aria-valuetext=move || {
                    let (place, words) = panel.words();
                    format!("{place}: {words}")
                }
                on:keydown=move |event| panel.key(&event)
                on:blur=move |_| panel.cursor.set(None)
                on:pointerdown=move |event| {
                    browser::capture_pointer(&event);
                    panel.dragging.set(true);
                    panel.point_at(&event);
                }
                on:pointermove=move |event| panel.point_at(&event)
                on:pointerup=move |_| panel.dragging.set(false)
                on:pointercancel=move |_| panel.dragging.set(false)
                on:pointerleave=move |_| panel.cursor.set(None)
            >
                <div class="curve__svg" inner_html=move || panel.drawn.with(|drawn| drawn.svg.clone())></div>
                <div
                    class="curve__cursor"
                    hidden=move || panel.cursor.get().is_none()
                    style:left=move || panel.left().map(|left| format!("{left:.2}%"))
                ></div>
            </div>
            <Reading panel />
            <Twin panel />
        </figure>
    }
    .into_any()
}

/// Even or by doublings.
#[component]
fn AxisSwitch() -> impl IntoView {
    let log = state().log_axis;
    let option = move |value: bool, label: &'static str| {
        view! {
            <button type="button" class="switch__option" aria-pressed=move || (log.get() == value).to_string() on:click=move |_| log.set(value)>
                {label}
            </button>
        }
    };
    view! {
        <div class="switch" role="group" aria-label="Length axis">
            {option(false, "Linear")}
            {option(true, "Log")}
        </div>
    }
}

/// The value that is read, in words.
#[component]
fn Reading(
    /// The curve.
    panel: Panel,
) -> impl IntoView {
    let words = memo(move || panel.words());
    view! {
        <p class="curve__readout">
            <b class="number">{move || words.with(|words| words.0.clone())}</b>
            ": "
            {move || words.with(|words| words.1.clone())}
        </p>
    }
}

/// The points as a table, made when it is opened.
#[component]
fn Twin(
    /// The curve.
    panel: Panel,
) -> impl IntoView {
    let open = RwSignal::new(false);
    let rows = move || {
        let unit = panel.state.unit.get();
        panel.curve.with(|curve| {
            let row = |index: usize| {
                let (place, words) = curve_view::spoken(curve, index, unit);
                view! { <tr><th scope="row" class="number">{place}</th><td>{words}</td></tr> }
            };
            (0..curve.points.len()).map(row).views()
        })
    };
    view! {
        <details class="twin" on:toggle=move |_| open.update(|open| *open = !*open)>
            <summary>"Its points as a table"</summary>
            {move || open.get().then(|| view! {
                <div class="twin__scroll" tabindex="0" role="region" aria-label=curve_view::title(panel.axis)>
                    <table class="table">
                        <thead><tr><th scope="col">"At"</th><th scope="col">"Memory per GPU"</th></tr></thead>
                        <tbody>{rows()}</tbody>
                    </table>
                </div>
            }.into_any())}
        </details>
    }
}
