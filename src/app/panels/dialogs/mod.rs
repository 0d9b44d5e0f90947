//! The page's dialogs: share, paste, save.

mod paste;
mod save;
mod share;

use leptos::html;
use leptos::prelude::*;

pub use paste::PasteDialog;
pub use save::SaveDialog;
pub use share::ShareDialog;

use super::icon::Icon;
use crate::app::browser;
use crate::app::state::{Dialog, state};
use crate::app::ui::memo;

/// A native dialog with a heading and a close button; its content is made when it opens.
#[component]
fn DialogFrame(
    /// Which dialog.
    which: Dialog,
    /// The heading.
    heading: &'static str,
    /// The content.
    children: ChildrenFn,
) -> impl IntoView {
    let state = state();
    let node = NodeRef::<html::Dialog>::new();
    let open = memo(move || state.dialog.get() == Some(which));
    browser::keep_dialog(node, move || open.get());
    let close = move || {
        if open.get_untracked() {
            state.dialog.set(None);
        }
    };
    view! {
        <dialog node_ref=node class="dialog" aria-label=heading on:close=move |_| close()>
            <div class="dialog__head">
                <h2>{heading}</h2>
                <button type="button" class="button button--plain button--icon" aria-label="Close" on:click=move |_| close()>
                    {Icon::Close.view()}
                </button>
            </div>
            {move || open.get().then(|| children())}
        </dialog>
    }
    .into_any()
}
