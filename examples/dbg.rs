#![allow(missing_docs, clippy::all, clippy::pedantic, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#[path = "../tests/support/mod.rs"]
mod support;
use headroom::config::*;
fn main() {
    let model = ModelConfig {
        hidden_size: 166780,
        num_hidden_layers: 766,
        num_attention_heads: 75,
        num_key_value_heads: 25,
        head_dim: 1612,
        norms_per_block: 0,
        final_norm: false,
        position_embedding: PositionEmbedding::Learned,
        ..ModelConfig::plain()
    };
    let job = support::training_job(&model, support::layout(19, 1, 1283, DataSharding::Zero2), |run| {
        run.seq_length = 7;
        run.global_batch_size = 1;
        run.micro_batch_size = None;
        run.precision = TrainingPrecision::Fp32;
        run.attention = AttentionKernel::Standard;
    });
    let e = headroom::estimator::estimate(&job);
    for s in &e.timeline.as_ref().unwrap().stretches {
        println!(
            "{:?} {:?} x{} {} {}\n  start {:?}\n  peak  {:?}\n  end   {:?}",
            s.phase,
            s.layer,
            s.times,
            s.name,
            s.operation,
            s.start.map(|b| b.0),
            s.peak.map(|b| b.0),
            s.end.map(|b| b.0)
        );
    }
    for l in &e.ledger.lines {
        println!("{:?} {} {}", l.kind, l.label, l.bytes.0);
        for t in &l.tensors {
            println!("      {} {} x{} {}", t.op, t.name, t.count, t.bytes.0);
        }
    }
    println!("{:?}", headroom::estimator::memory_by_kind(&job).map(|b| b.0));
}
