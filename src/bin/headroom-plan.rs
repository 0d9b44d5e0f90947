//! The third program: searches over layouts in a worker of the browser, does nothing elsewhere.

fn main() {
    #[cfg(target_arch = "wasm32")]
    headroom::app::search_layouts();
}
