//! Compares rows with the timeline (development only).
#![allow(missing_docs, clippy::all, clippy::pedantic, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#[path = "support/rowjob.rs"]
mod rowjob;
#[path = "../tests/support/mod.rs"]
mod support;
fn main() {
    let file = std::env::args().nth(1).unwrap();
    let only = std::env::args().nth(2).unwrap_or_default();
    for line in std::fs::read_to_string(file).unwrap().lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let name = format!(
            "{} {} {} s{} b{} {} {} {} {} {} {} x{} L{}",
            row["id"].as_str().unwrap_or(""),
            row["kind"].as_str().unwrap_or(""),
            row["model"].as_str().unwrap_or(""),
            row["run"]["seq_length"],
            row["run"]["micro_batch_size"],
            row["run"]["precision"],
            row["run"]["attention"],
            row["run"]["kernels"],
            row["run"]["recompute"],
            row["run"]["optimizer"],
            row["run"]["optimizer_implementation"],
            row["run"]["gradient_accumulation_steps"],
            row["config"]["num_hidden_layers"]
        )
        .replace('"', "");
        if !name.contains(&only) {
            continue;
        }
        let Some(job) = std::panic::catch_unwind(|| rowjob::job(&row)).ok() else {
            println!("UNSUPPORTED {name}");
            continue;
        };
        let Some((after, peak)) = headroom::estimator::measured(&job) else { continue };
        let m = &row["measured"];
        if std::env::var("EV").is_ok() {
            let mut t = 0i128;
            let mut p = 0i128;
            for e in headroom::estimator::events(&job) {
                t += e.bytes;
                p = p.max(t);
            }
            println!("  every block: {p} against {}", peak.iter().map(|b| i128::from(b.0)).sum::<i128>());
        }
        let g = |k: &str, f: &str| m[k][f].as_u64().unwrap_or(0) as i128;
        let act = g("after_forward_bytes", "act");
        let total = g("peak_bytes", "total");
        let da = after[3].0 as i128 - act;
        let ours: u64 = peak.iter().map(|b| b.0).sum();
        let dp = ours as i128 - total;
        println!(
            "{} act {:+} ({:+.4}%) peak {:+} ({:+.4}%) {name} after total {:+}",
            if da == 0 && dp == 0 { "OK  " } else { "DIFF" },
            da,
            100.0 * da as f64 / act.max(1) as f64,
            dp,
            100.0 * dp as f64 / total as f64,
            after.iter().map(|b| b.0).sum::<u64>() as i128 - g("after_forward_bytes", "total")
        );
        if dp != 0 && std::env::var("V").is_ok() {
            println!("     ours {:?}\n     theirs {}", peak, m["peak_bytes"]);
            println!("     after ours {:?} theirs {}", after, m["after_forward_bytes"]);
        }
    }
}
