//! Messages about the page: links not fully understood, storage that failed, things that can be taken back.

use leptos::prelude::*;

use super::icon::Icon;
use crate::app::state::{Notice, state};
use crate::app::ui::Views;

/// All notices, each with its own button to close it.
#[component]
pub fn Notices() -> impl IntoView {
    let state = state();
    let close = move |id: u64| state.notices.update(|notices| notices.retain(|notice| notice.id != id));
    let line = move |notice: Notice| {
        let id = notice.id;
        view! {
            <div class=if notice.warning { "notice" } else { "notice notice--info" }>
                <p class="notice__text">{notice.text}</p>
                <button type="button" class="button button--plain button--icon" aria-label="Close this message" on:click=move |_| close(id)>
                    {Icon::Close.view()}
                </button>
            </div>
        }
    };
    view! {
        <div class="notices" data-testid="notices" role="status">
            {move || state.notices.get().into_iter().map(line).views()}
        </div>
    }
    .into_any()
}

/// The short message at the bottom.
#[component]
pub fn ToastView() -> impl IntoView {
    let state = state();
    let content = move || {
        state.toast.get().map(|toast| {
            let undo = toast.undo.map(|undo| {
                let back = move |_| {
                    undo();
                    state.toast.set(None);
                };
                view! { <button type="button" class="button" data-testid="toast-undo" on:click=back>"Undo"</button> }.into_any()
            });
            view! { <div class="toast">{toast.text} {undo}</div> }.into_any()
        })
    };
    view! { <div role="status">{content}</div> }.into_any()
}
