//! The page's binary: starts the app in the browser, does nothing elsewhere.

fn main() {
    #[cfg(target_arch = "wasm32")]
    headroom::app::start();
}
