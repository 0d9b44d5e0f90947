//! Both programs in one, for the page that is a single file: the page where there is a page, and in a worker what that is asked.

fn main() {
    #[cfg(target_arch = "wasm32")]
    headroom::app::start_here();
}
