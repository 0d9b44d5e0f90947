//! Page and worker in one program, for the page that is a single file. It starts the page in a
//! window and answers questions in a worker.

fn main() {
    headroom::app::start_here();
}
