//! How long serving takes: reading a prompt, and one further token for every sequence.

use super::machine::{Links, Machine};
use super::timing::other_lengths;
use crate::config::{Cluster, Job, Run, ServingRun, Speed};
use crate::estimator::served;
use crate::ops::work::Collective;
use crate::ops::{self, Op};
use crate::units::{Bytes, DType, Flops, Seconds, ceil_u64, to_f64};

/// What keeps a step of decoding from being quicker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Reading weights and cache.
    Memory,
    /// Matrix products.
    Compute,
}

/// Times of one instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServingTime {
    /// One chunk of a prompt through all layers.
    pub prefill_chunk: Seconds,
    /// A whole prompt, chunk after chunk: the time to the first token of a request that does not wait.
    pub first_token: Seconds,
    /// Tokens of that prompt.
    pub prompt: u64,
    /// One token of every concurrent sequence at full context.
    pub decode: Seconds,
    /// Tokens per second of one instance while all its sequences answer.
    pub tokens_per_second: f64,
    /// Messages of a chunk of a prompt, and of a step of decoding.
    pub messages: [Messages; 2],
    /// What holds such a step up.
    pub bound: Bound,
    /// Sequences from which on a step computes longer than it reads weights; `None` where weights are read in no time.
    pub turns_at: Option<u64>,
    /// Price of a million such tokens in the user's currency.
    pub price_per_million: f64,
    /// Energy of a million such tokens at full board power, kWh; `None` where the power is unknown.
    pub kwh_per_million: Option<f64>,
}

/// Seconds of a step's messages, which nothing hides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Messages {
    /// Sums over tensor ranks: two in each layer.
    pub sums: Seconds,
    /// Tokens on their way to the ranks of their experts and back.
    pub experts: Seconds,
    /// From one pipeline stage to the next.
    pub stages: Seconds,
}

impl Messages {
    /// All of them.
    pub const fn total(&self) -> f64 {
        self.sums.0 + self.experts.0 + self.stages.0
    }
}

/// The pace of one instance, from which times for any number of sequences follow.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// Bytes of weights that every step reads, of all stages on one tensor rank.
    weights: f64,
    /// Bytes of routed experts among all that there are, and the share that one token takes.
    routed: (f64, f64),
    /// Cached bytes of one sequence at full context, and of what all share.
    cache: (f64, f64),
    /// FLOPs of one token in the blocks, without attention's core, and of one sequence in the head, over tensor ranks.
    products: (f64, f64),
    /// FLOPs of attention's core for one query and one key in one layer, over tensor ranks.
    pair: f64,
    rates: Rates,
    links: Links,
    job: Job,
}

/// What the accelerator keeps up.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rates {
    /// Products of the blocks, FLOP/s.
    blocks: f64,
    /// Products of the head, FLOP/s.
    head: f64,
    /// Attention's core, FLOP/s.
    attention: f64,
    /// Bytes per second.
    memory: f64,
}

impl Rates {
    fn of(cluster: &Cluster, run: &ServingRun) -> Option<Self> {
        let (head, memory) = Machine::rates(cluster, run.activation_dtype)?;
        let (speed, peak) = (cluster.speed, cluster.accelerator.peak);
        let narrow = |peak: Option<f64>| Some(speed.matmul_8bit.unwrap_or(peak? * Speed::UNMEASURED) * 1e12);
        let blocks = match run.quantization.products() {
            DType::Fp8 => narrow(peak.fp8),
            DType::Int8 => narrow(peak.int8),
            _ => None,
        };
        let attention = peak.of(run.activation_dtype)? * 1e12 * speed.attention[2][0];
        Some(Self { blocks: blocks.unwrap_or(head).max(head), head, attention, memory })
    }
}

impl Pace {
    /// The pace of a serving job; `None` when training, and where peak or memory bandwidth are unknown.
    pub fn of(job: &Job) -> Option<Self> {
        let Run::Serving(run) = job.run() else { return None };
        if other_lengths(job).is_some() {
            return None;
        }
        let rates = Rates::of(job.cluster(), run)?;
        let with = ops::lowering(job);
        let list = ops::lower(&with);
        let t = to_f64(job.layout().t());
        let tokens = to_f64(with.seq_length.max(1));
        let core = |block: &[Op]| block.iter().filter(|op| op.attention_core).map(|op| op.forward).sum::<Flops>();
        let Flops(all) = list.over_blocks(ops::forward);
        let Flops(scores) = list.over_blocks(core);
        let Flops(head) = ops::forward(&list.head);
        let layers = to_f64(job.model().num_hidden_layers.max(1));
        let weights = served::read(job, run, &list);
        let (per_sequence, shared) = served::cached(job, run);
        let share = job.model().moe.as_ref().map_or(1.0, |moe| to_f64(moe.num_experts_per_tok) / to_f64(moe.num_experts.max(1)));
        Some(Self {
            weights: weights.0.as_f64(),
            routed: (weights.1.as_f64(), share.min(1.0)),
            cache: (per_sequence.as_f64(), shared.as_f64()),
            products: ((all - scores) / tokens / t, head / to_f64(with.concurrent_sequences.max(1)) / t),
            pair: scores / tokens / to_f64(with.context_length.max(1)) / layers / t,
            rates,
            links: Links::of(job.cluster()),
            job: job.clone(),
        })
    }

    /// Bytes of weights that a step with so many tokens reads: of the experts those that at least one token takes, if each takes its
    /// experts evenly and apart from the others.
    fn read(&self, tokens: f64) -> f64 {
        let (routed, share) = self.routed;
        self.weights + routed * (1.0 - (1.0 - share).powf(tokens))
    }

    /// Seconds of the products of a step with so many tokens and sequences in the head.
    fn products(&self, tokens: f64, sequences: f64) -> f64 {
        tokens * self.products.0 / self.rates.blocks + sequences * self.products.1 / self.rates.head
    }

    /// Pairs of a query and a key that tokens from `from` to `to` of one sequence look at, over all layers.
    fn pairs(&self, from: f64, to: f64) -> f64 {
        let model = self.job.model();
        let chunks = model.chunks;
        let below = |window: f64, tokens: f64| {
            let within = if chunks { tokens % window } else { tokens.min(window) };
            let seen = if chunks { window / 2.0 } else { window };
            within * within / 2.0 + (tokens - within) * seen
        };
        let of = |window: f64| below(window, to) - below(window, from);
        let all = (to * to - from * from) / 2.0;
        let layers = model.num_hidden_layers;
        let sliding = (0..layers).filter(|layer| model.sliding_layers.contains(*layer)).count();
        let sliding = model.sliding_window.map_or(0, |_| u64::try_from(sliding).unwrap_or(u64::MAX));
        let window = to_f64(model.sliding_window.unwrap_or(u64::MAX));
        to_f64(layers.saturating_sub(sliding)) * all + to_f64(sliding) * of(window)
    }

    /// Seconds of so many tokens of a prompt without attention's core.
    fn chunk(&self, tokens: u64) -> f64 {
        let tokens = to_f64(tokens);
        self.products(tokens, 1.0).max(self.read(tokens) / self.rates.memory) + self.messages(tokens).total()
    }

    /// Messages of a step with so many tokens: sums over tensor ranks behind attention and behind feed-forward, and a hop from each
    /// stage to the next.
    ///
    /// Where tokens travel to whole experts, the sum behind attention leaves each rank its part of the tokens. From there a copy for
    /// every expert of a token goes to that expert's rank and comes back, in the format of activations; then all ranks get all tokens
    /// again. Assumes that every expert is asked as often as any other.
    fn messages(&self, tokens: f64) -> Messages {
        let (job, model) = (&self.job, self.job.model());
        let Run::Serving(run) = job.run() else { return Messages::default() };
        let bytes = tokens * to_f64(model.hidden_size) * to_f64(run.activation_dtype.bits()) / 8.0;
        let (t, hops) = (to_f64(job.layout().t()), to_f64(job.layout().p()) - 1.0);
        let ring = self.links.ring(t, 1.0);
        let moe = model.moe.as_ref().filter(|_| run.dispatches());
        let layers = (0..model.num_hidden_layers).filter(|layer| moe.is_some_and(|moe| moe.layers.contains(*layer))).count();
        let layers = to_f64(u64::try_from(layers).unwrap_or(model.num_hidden_layers));
        let sum = 2.0 * ring.seconds(Collective::AllReduce, bytes);
        let apart = ring.seconds(Collective::ReduceScatter, bytes) + ring.seconds(Collective::AllGather, bytes);
        let copies = moe.map_or(0.0, |moe| to_f64(moe.num_experts_per_tok)) * bytes / t;
        Messages {
            sums: Seconds((to_f64(model.num_hidden_layers) - layers) * sum + layers * apart),
            experts: Seconds(layers * 2.0 * ring.seconds(Collective::AllToAll, copies)),
            stages: Seconds(if hops > 0.0 { hops * self.links.message(bytes, t) } else { 0.0 }),
        }
    }

    /// Seconds to read a prompt of so many tokens, a chunk at a time.
    pub fn prefill(&self, tokens: u64) -> Seconds {
        let Run::Serving(run) = self.job.run() else { return Seconds(0.0) };
        let size = run.prefill_chunk_size.max(1);
        let (whole, rest) = (tokens / size, tokens % size);
        let rest = if rest > 0 { self.chunk(rest) } else { 0.0 };
        let attention = self.pairs(0.0, to_f64(tokens)) * self.pair / self.rates.attention;
        Seconds(to_f64(whole) * self.chunk(size) + rest + attention)
    }

    /// Seconds of the products, and of reading weights and cache, of one step in which so many sequences get a token.
    fn parts(&self, sequences: u64) -> (f64, f64, f64) {
        let sequences = to_f64(sequences);
        let weights = self.read(sequences) / self.rates.memory;
        let cache = (sequences * self.cache.0 + self.cache.1) / self.rates.memory;
        (self.products(sequences, sequences), weights, cache)
    }

    /// Seconds of a step in which each of so many sequences at full context gets one token.
    pub fn decode(&self, sequences: u64) -> Seconds {
        let (products, weights, cache) = self.parts(sequences);
        Seconds(products.max(weights) + cache + self.messages(to_f64(sequences)).total())
    }

    /// What holds up a step with so many sequences.
    pub fn bound(&self, sequences: u64) -> Bound {
        let (products, weights, cache) = self.parts(sequences);
        if products > weights + cache { Bound::Compute } else { Bound::Memory }
    }

    /// Sequences from which on a step computes longer than it reads all weights.
    pub fn turns_at(&self) -> Option<u64> {
        let read = (self.weights + self.routed.0) / self.rates.memory;
        let turns = read / self.products(1.0, 1.0);
        turns.is_finite().then(|| ceil_u64(turns).max(1))
    }

    /// All times with so many sequences at once.
    pub fn time(&self, sequences: u64) -> ServingTime {
        let Run::Serving(run) = self.job.run() else { return self.at(sequences, 0, 0) };
        let chunk = run.prefill_chunk_size.min(run.context_length);
        self.at(sequences, chunk, run.prompt_length.unwrap_or(run.context_length).min(run.context_length))
    }

    fn at(&self, sequences: u64, chunk: u64, prompt: u64) -> ServingTime {
        let context = to_f64(self.job.seq_length());
        let middle = (context - to_f64(chunk)) / 2.0;
        let attention = self.pairs(middle, middle + to_f64(chunk)) * self.pair / self.rates.attention;
        let decode = self.decode(sequences);
        let tokens_per_second = to_f64(sequences) / decode.0;
        let (ranks, cluster) = (to_f64(self.job.layout().t() * self.job.layout().p()), self.job.cluster());
        let gpu_hours = gpu_hours_per_million(ranks, tokens_per_second);
        ServingTime {
            prefill_chunk: Seconds(self.chunk(chunk) + attention),
            first_token: self.prefill(prompt),
            prompt,
            decode,
            tokens_per_second,
            messages: [chunk, sequences].map(|tokens| self.messages(to_f64(tokens))),
            bound: self.bound(sequences),
            turns_at: self.turns_at(),
            price_per_million: gpu_hours * cluster.accelerator.price_per_hour,
            kwh_per_million: cluster.speed.tdp_watts.map(|watts| gpu_hours * watts / 1000.0),
        }
    }
}

/// Accelerator-hours that a million tokens take: `gpus · 10⁶ / tokens per second / 3600`.
pub(crate) fn gpu_hours_per_million(gpus: f64, tokens_per_second: f64) -> f64 {
    gpus * 1e6 / tokens_per_second / 3600.0
}

/// The times of a serving job; `None` when training, and where peak or memory bandwidth are unknown.
///
/// Prefill: products at the rate large products keep up (in 8 bit where the format's software multiplies so), or all weights at the
/// memory's bandwidth if that takes longer, and attention's core over the causal half of each layer's window. Decode: weights are read
/// once (the head's and the blocks'; of routed experts those that some token takes), or products if they take longer; then every cached
/// key and value. Messages of tensor ranks, to experts and between stages come on top. Assumes that pipeline stages follow each other, that no
/// request waits, and that kernels start without gaps.
pub fn serving(job: &Job) -> Option<ServingTime> {
    let Run::Serving(run) = job.run() else { return None };
    Some(Pace::of(job)?.time(run.concurrent_sequences))
}

/// Memory that one sequence adds to a cache, on one tensor rank of all stages together.
pub fn cache_per_sequence(job: &Job) -> Option<Bytes> {
    let Run::Serving(run) = job.run() else { return None };
    Some(served::cached(job, run).0)
}
