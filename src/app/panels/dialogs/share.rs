//! Share: link, QR code, files, print.

use std::fmt::Write as _;

use leptos::prelude::*;

use super::DialogFrame;
use crate::app::state::{Dialog, State, state};
use crate::app::{browser, curve_view};
use crate::planner::{curve_gpus, curve_seq};

/// Larger codes than version 10 are hard to read from a projector.
const LARGEST_QR: i32 = 57;
/// White margin around the code, in modules, as its standard asks.
const QUIET: i32 = 4;

/// The dialog.
#[component]
pub fn ShareDialog() -> impl IntoView {
    view! {
        <DialogFrame which=Dialog::Share heading="Share this scenario">
            <ShareForm />
        </DialogFrame>
    }
    .into_any()
}

/// Link and code, and what else can be taken away.
#[component]
fn ShareForm() -> impl IntoView {
    let state = state();
    let link = untrack(|| browser::link_to(&browser::current_fragment(state)));
    let code = qr(&link);
    let copied = RwSignal::new(None::<bool>);
    let shown = link.clone();
    let copy = move |_| {
        browser::copy(&link, move |done| {
            copied.set(Some(done));
            if !done {
                browser::select("share-link");
            }
        });
    };
    let said = move || match copied.get() {
        None => "",
        Some(true) => "Copied.",
        Some(false) => "The browser does not allow copying from here. The link is selected: press Ctrl+C or Cmd+C.",
    };
    view! {
        <div class="dialog__body share">
            <div>
                <label class="field__label" for="share-link">"Link: all inputs, no results, nothing is uploaded"</label>
                <textarea id="share-link" class="share__link" readonly data-testid="share-link" prop:value=shown></textarea>
                <div class="share__tools">
                    <button type="button" class="button button--main" data-testid="copy-link" on:click=copy>"Copy link"</button>
                    <button type="button" class="button" on:click=move |_| csv(state)>"Curves as CSV"</button>
                    <button type="button" class="button" on:click=move |_| print(state)>"Print one page"</button>
                </div>
                <p class="quiet" role="status">{said}</p>
            </div>
            {code
                .map_or_else(
                    || view! { <p class="quiet">"This link is too long for a QR code that a projector shows well."</p> }.into_any(),
                    |(size, path)| {
                        view! {
                            <svg class="share__qr" viewBox=format!("0 0 {size} {size}") role="img" aria-label="QR code of the link">
                                <path d=path fill="#000" shape-rendering="crispEdges" />
                            </svg>
                        }
                            .into_any()
                    },
                )}
        </div>
    }
}

/// The code's size in modules with its margin, and a path of its dark modules.
fn qr(link: &str) -> Option<(i32, String)> {
    let code = qrcodegen::QrCode::encode_text(link, qrcodegen::QrCodeEcc::Medium).ok()?;
    let size = code.size();
    if size > LARGEST_QR {
        return None;
    }
    let mut path = String::new();
    for y in 0..size {
        for x in (0..size).filter(|x| code.get_module(*x, y)) {
            let _ = write!(path, "M{} {}h1v1h-1z", x + QUIET, y + QUIET);
        }
    }
    Some((size + 2 * QUIET, path))
}

fn csv(state: State) {
    let log = state.log_axis.get_untracked();
    let other = state.compare_job.get_untracked().map(|job| (curve_seq(&job, None, 96, log), curve_gpus(&job)));
    let (seq, gpus) = (state.curve_seq.get_untracked(), state.curve_gpus.get_untracked());
    let mut curves = vec![("A", &seq), ("A", &gpus)];
    if let Some((seq, gpus)) = &other {
        curves.extend([("B", seq), ("B", gpus)]);
    }
    browser::download("headroom-curves.csv", "text/csv", &curve_view::csv(&curves));
}

/// Prints once the dialog is gone.
fn print(state: State) {
    state.dialog.set(None);
    browser::after(50, browser::print);
}
