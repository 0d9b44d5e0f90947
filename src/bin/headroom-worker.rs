//! The worker program: it answers the page's questions in the browser's workers, and does nothing
//! elsewhere.

fn main() {
    #[cfg(target_arch = "wasm32")]
    headroom::app::answer_questions();
}
