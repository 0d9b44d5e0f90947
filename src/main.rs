//! The page's binary: starts the app in the browser, says so elsewhere.

fn main() {
    headroom::app::start();
}
