//! The page's programs outside a browser: each says where it runs.

/// Stands for the page, which needs a browser.
pub fn start() {
    say_where();
}

/// Stands for the page that is one file, which needs a browser.
pub fn start_here() {
    say_where();
}

/// Stands for the worker, which a page in a browser starts.
pub fn answer_questions() {
    say_where();
}

#[expect(clippy::print_stderr, reason = "whoever starts it sees a terminal")]
fn say_where() {
    eprintln!("This program runs in a browser: `cargo xtask serve` builds the page and shows it.");
}
