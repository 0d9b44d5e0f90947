//! The second program: runs in a worker of the browser, does nothing elsewhere.

fn main() {
    #[cfg(target_arch = "wasm32")]
    headroom::app::answer_questions();
}
