//! The program for what the page needs at once but not at first: the page fetches it when something happens on it, and calls it. It does
//! nothing elsewhere.

fn main() {
    #[cfg(target_arch = "wasm32")]
    headroom::app::answer_the_page();
}
