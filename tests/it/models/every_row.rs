//! Every row of the catalog is answered in bounded time and memory, however many layers and kinds
//! of layers it has.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use std::time::{Duration, Instant};

use headroom::catalog;
use headroom::scenario::{FieldId, Scenario, Value};

/// The longest time for one answer, in a build without optimisation and beside other tests. It is
/// some hundred times the page's time.
const MOST: Duration = Duration::from_secs(40);
/// The most memory of the test's process, in KiB.
const MEMORY: u64 = 3 << 20;

/// The highest memory of this process in KiB, where the system tells it.
fn highest() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[test]
#[allow(clippy::disallowed_methods, reason = "no test runs in the browser")]
fn every_row_trains_in_a_while_and_in_little_memory() {
    for row in catalog::models() {
        // Layers that keep a state loop over the text, so a long text is tried too.
        let long = row.config.mixer().map(|_| 1 << 20);
        for tokens in [None, long] {
            let mut scenario = Scenario::default();
            scenario.set_model(row.id);
            if let Some(tokens) = tokens {
                scenario.set(FieldId::SeqLength, Value::Integer(tokens));
            }
            let begin = Instant::now();
            // Some rows can only be served; their refusal is an answer, too.
            if let Ok(job) = scenario.resolve() {
                let _ = headroom::estimator::estimate(&job);
            }
            let taken = begin.elapsed();
            assert!(taken < MOST, "{} with {tokens:?} tokens: {taken:?}", row.id);
        }
    }
    if let Some(highest) = highest() {
        assert!(highest < MEMORY, "{highest} KiB");
    }
}
