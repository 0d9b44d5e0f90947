//! Messages about the page: links not fully understood, storage that failed, things that can be taken back.

use leptos::prelude::*;

use super::icon::Icon;
use crate::app::state::{Notice, state};

/// All notices, each with its own button to close it.
#[component]
pub fn Notices() -> impl IntoView {
    let state = state();
    let close = move |id: u64| state.notices.update(|notices| notices.retain(|notice| notice.id != id));
    view! {
        <div class="notices" data-testid="notices" role="status">
            <For
                each=move || state.notices.get()
                key=|notice| notice.id
                children=move |notice: Notice| {
                    let id = notice.id;
                    view! {
                        <div class=if notice.warning { "notice" } else { "notice notice--info" }>
                            <p class="notice__text">{notice.text}</p>
                            <button
                                type="button"
                                class="button button--plain button--icon"
                                aria-label="Close this message"
                                on:click=move |_| close(id)
                            >
                                {Icon::Close.view()}
                            </button>
                        </div>
                    }
                }
            />
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
                view! { <button type="button" class="button" data-testid="toast-undo" on:click=back>"Undo"</button> }
            });
            view! { <div class="toast">{toast.text} {undo}</div> }
        })
    };
    view! { <div role="status">{content}</div> }.into_any()
}
