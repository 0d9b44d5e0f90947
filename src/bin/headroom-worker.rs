//! The worker program: it answers the page's questions in the browser's workers, and says so
//! elsewhere.

fn main() {
    headroom::app::answer_questions();
}
