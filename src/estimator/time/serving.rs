//! How long serving takes: reading a piece of a prompt, and one further token for every sequence.

use super::machine::{Links, Machine};
use crate::config::{Job, Run};
use crate::estimator::{MemoryKind, estimate};
use crate::ops::megatron::Collective;
use crate::ops::{self, Op};
use crate::units::{Flops, Seconds, to_f64};

/// Times of one instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServingTime {
    /// One chunk of a prompt through all layers.
    pub prefill_chunk: Seconds,
    /// One token of every concurrent sequence at full context.
    pub decode: Seconds,
    /// Tokens per second of one instance while all its sequences answer.
    pub tokens_per_second: f64,
    /// Price of a million such tokens in the user's currency.
    pub price_per_million: f64,
}

/// The times of a serving job; `None` when training, and where peak or memory bandwidth are unknown.
///
/// Prefill: products at the rate large products keep up, attention at its kernel's, or all weights at the memory's bandwidth if that
/// takes longer. Decode: every weight and every cached key and value of a rank is read once, or products if they take longer. Both: two
/// all-reduces for each layer among tensor ranks. Assumes that every expert is asked for, that pipeline stages follow each other, that
/// no request waits, and that kernels start without gaps.
pub fn serving(job: &Job) -> Option<ServingTime> {
    let Run::Serving(run) = job.run() else { return None };
    let cluster = job.cluster();
    let (rate, memory) = Machine::rates(cluster, run.activation_dtype)?;
    let attention = cluster.accelerator.peak.of(run.activation_dtype)? * 1e12 * cluster.speed.attention[2][0];
    let (t, p) = (to_f64(job.layout().t()), to_f64(job.layout().p()));
    let list = ops::lower(&ops::lowering(job));
    let core = |block: &[Op]| block.iter().filter(|op| op.attention_core).map(|op| op.forward).sum::<Flops>();
    let (Flops(all), Flops(scores)) = (list.forward(), list.over_blocks(core));
    let by_kind = estimate(job).ledger.by_kind();
    let bytes = |wanted: MemoryKind| {
        let found = MemoryKind::ALL.iter().zip(by_kind).find(|(kind, _)| **kind == wanted);
        found.map_or(0.0, |(_, bytes)| bytes.as_f64()) * p
    };
    let (weights, cache) = (bytes(MemoryKind::Parameter), bytes(MemoryKind::KvCache));
    let width = to_f64(job.model().hidden_size) * to_f64(run.activation_dtype.bits()) / 8.0;
    let ring = Links::of(cluster).ring(t, 1.0);
    let messages =
        |tokens: u64| 2.0 * to_f64(job.model().num_hidden_layers) * ring.seconds(Collective::AllReduce, to_f64(tokens) * width);
    let chunk = ops::lowering(job).seq_length;
    // Under a causal mask a chunk looks at half of what it would look at without one.
    let arithmetic = ((all - scores) / rate + scores / 2.0 / attention) / t;
    let prefill = arithmetic.max(weights / memory) + messages(chunk);
    let per_token = (all - scores) / to_f64(chunk.max(1));
    let products = per_token * to_f64(run.concurrent_sequences) / rate / t;
    let decode = products.max(weights / memory) + cache / memory + messages(run.concurrent_sequences);
    let tokens_per_second = to_f64(run.concurrent_sequences) / decode;
    let hours = 1e6 / tokens_per_second / 3600.0;
    Some(ServingTime {
        prefill_chunk: Seconds(prefill),
        decode: Seconds(decode),
        tokens_per_second,
        price_per_million: hours * t * p * cluster.accelerator.price_per_hour,
    })
}
