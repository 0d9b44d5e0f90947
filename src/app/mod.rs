//! The page in the browser: the only room that knows Leptos, and (in `browser`) the only one that
//! knows the browser.
//!
//! One direction: an event writes the [`Scenario`](crate::scenario::Scenario) in the page's state;
//! memos resolve it, estimate it and draw it; functions of [`view`](crate::view) write what is
//! known as finished HTML; effects at the leaf put in place what differs, and write the link.
//! Nothing derived is written back. Events name what they want in attributes: `actions`, `typing`
//! and `reading` do it.

mod actions;
pub mod browser;
mod browser_later;
mod browser_modules;
mod browser_more;
mod browser_tone;
mod browser_why;
mod browser_worker;
mod hearing;
mod limits;
mod page;
mod pasting;
mod planning;
mod presenting;
mod reading;
mod shelf;
mod stairs;
pub mod state;
mod taking;
mod teaching;
mod typing;

pub use browser_worker::{answer_questions, start_here};
pub use page::{App, parts_written, start};
