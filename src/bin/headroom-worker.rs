//! The second program: answers the page's questions in workers of the browser, does nothing elsewhere.

fn main() {
    #[cfg(target_arch = "wasm32")]
    headroom::app::answer_questions();
}
