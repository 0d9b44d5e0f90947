//! The page: the only room that knows Leptos, and (in `browser`) the only one that knows the browser.
//!
//! One direction: an event writes the [`Scenario`](crate::scenario::Scenario) in the page's state; memos resolve it, estimate it and
//! draw it; `panels` and `fields` write what is known as finished HTML; effects at the leaf put in place what `diff` finds changed, and
//! write the link. Nothing derived is written back. Events name what they want in attributes: `actions`, `typing` and `reading` do it.
//!
//! What needs no browser is compiled everywhere and tested without one: the words of the page, which the command line shares, and all
//! of its HTML.

pub mod action;
pub mod answers;
pub mod anything;
pub mod basis;
pub mod compared;
pub mod curve_view;
pub mod device;
pub mod diff;
pub mod explaining;
pub mod export;
pub mod fields;
pub mod following;
pub mod formula;
pub mod headline;
pub mod history;
pub mod later;
pub mod launching;
pub mod markup;
pub mod modules;
pub mod more;
pub mod panels;
pub mod parts;
pub mod presenter;
pub mod replay;
pub mod report;
pub mod seen;
pub mod serving;
pub mod side;
pub mod timing;
pub mod ui;
pub mod what_fits;
pub mod words;

#[cfg(target_arch = "wasm32")]
mod actions;
#[cfg(target_arch = "wasm32")]
pub mod browser;
#[cfg(target_arch = "wasm32")]
mod browser_later;
#[cfg(target_arch = "wasm32")]
mod browser_modules;
#[cfg(target_arch = "wasm32")]
mod browser_more;
#[cfg(target_arch = "wasm32")]
mod browser_tone;
#[cfg(target_arch = "wasm32")]
mod browser_why;
#[cfg(target_arch = "wasm32")]
mod browser_worker;
#[cfg(target_arch = "wasm32")]
mod hearing;
#[cfg(target_arch = "wasm32")]
mod limits;
#[cfg(target_arch = "wasm32")]
mod page;
#[cfg(target_arch = "wasm32")]
mod pasting;
#[cfg(target_arch = "wasm32")]
mod planning;
#[cfg(target_arch = "wasm32")]
mod presenting;
#[cfg(target_arch = "wasm32")]
mod reading;
#[cfg(target_arch = "wasm32")]
mod shelf;
#[cfg(target_arch = "wasm32")]
mod stairs;
#[cfg(target_arch = "wasm32")]
pub mod state;
#[cfg(target_arch = "wasm32")]
mod taking;
#[cfg(target_arch = "wasm32")]
mod teaching;
#[cfg(target_arch = "wasm32")]
mod typing;

#[cfg(target_arch = "wasm32")]
pub use browser_worker::{answer_questions, start_here};
#[cfg(target_arch = "wasm32")]
pub use page::{App, parts_written, start};
