//! Prints the allocations and releases of one step of a row (development only).
#![allow(missing_docs, clippy::all, clippy::pedantic, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#[path = "support/rowjob.rs"]
mod rowjob;
#[path = "../tests/support/mod.rs"]
mod support;
fn main() {
    let row: serde_json::Value = serde_json::from_str(&std::env::args().nth(1).unwrap()).unwrap();
    let job = rowjob::job(&row);
    let mut total = 0i128;
    for e in headroom::estimator::events(&job) {
        total += e.bytes;
        if e.bytes > 0 {
            println!("A {} {} [{} / {}]", e.bytes, total, e.op, e.name);
        } else {
            println!("F {} {}", -e.bytes, e.name);
        }
    }
}
