//! A part of the page's program that comes later answers what the page needs at once, but not for
//! its first picture: the page asks it in text, and it answers in text. The part says here that it
//! answers. In every program that has all parts inside, whoever asks calls the answer itself.

use std::sync::OnceLock;

/// Answers a question; `None` for one that it does not know, or while it cannot be reached.
pub type Answerer = fn(&str) -> Option<String>;

static ANSWERER: OnceLock<Answerer> = OnceLock::new();

/// Says who answers in this program. The first to say so stays.
pub fn answered_by(answerer: Answerer) {
    let _ = ANSWERER.set(answerer);
}

/// Returns the answer to a question, its subject first; `None` while there is nobody who knows it.
pub fn ask(question: &str) -> Option<String> {
    ANSWERER.get().and_then(|answerer| answerer(question))
}
