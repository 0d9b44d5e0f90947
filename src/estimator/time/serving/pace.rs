//! The pace of one instance: seconds of a step that holds so many sequences and so much of a
//! prompt.

use super::super::machine::Links;
use super::super::timing::other_lengths;
use super::host::Host;
use super::work::StepWork;
use super::{Bound, Messages, ServingTime, gpu_hours_per_million};
use crate::config::{Job, ModelConfig, Run, ServingRun};
use crate::engines::Steps;
use crate::estimator::served;
use crate::hardware::kernels::Sum;
use crate::ops::work::Collective;
use crate::ops::{self, Lowering};
use crate::units::{Seconds, ceil_u64, to_f64};

/// The pace of one instance, from which times for any number of sequences follow.
#[derive(Clone, Debug)]
pub struct Pace {
    work: StepWork,
    cache: Cache,
    /// Sums over the tensor ranks of one domain, and how many times as fast their links are as the
    /// measured ones.
    sum: Option<(Sum, f64)>,
    links: Links,
    /// The host, where parts of the model lie in its memory.
    host: Option<Host>,
    steps: &'static Steps,
    job: Job,
}

/// Cached bytes on one tensor rank of all stages together.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cache {
    /// Of one sequence, whatever its length.
    fixed: f64,
    /// Of one token in one layer that sees it.
    seen: f64,
    /// Of what all sequences share.
    shared: f64,
}

impl Cache {
    fn of(job: &Job, run: &ServingRun) -> Self {
        let (one, shared) = served::cached(job, run);
        let (model, context) = (job.model(), to_f64(run.context_length.max(1)));
        let fixed = if model.mixer().is_some() {
            let with = Lowering {
                context_length: 1,
                concurrent_sequences: 1,
                block_size: 1,
                shared_prefix: 0,
                ..ops::lowering(job)
            };
            let least = served::held(job, &with, 0..model.num_hidden_layers).as_f64();
            let slope = (one.as_f64() - least).max(0.0)
                / (seen(model, context) - seen(model, 1.0)).max(1.0);
            (least - slope * seen(model, 1.0)).max(0.0)
        } else {
            0.0
        };
        Self {
            fixed,
            seen: (one.as_f64() - fixed) / seen(model, context).max(1.0),
            shared: shared.as_f64(),
        }
    }
}

/// Of some layers those that look back on a window, and all others; layers without attention count with these, as
/// their FLOPs and bytes are none.
fn windows(model: &ModelConfig, layers: u64) -> (f64, f64, f64) {
    let sliding = (0..layers).filter(|layer| model.sliding_layers.contains(*layer)).count();
    let sliding = model.sliding_window.map_or(0, |_| u64::try_from(sliding).unwrap_or(u64::MAX));
    (
        to_f64(layers.saturating_sub(sliding)),
        to_f64(sliding),
        to_f64(model.sliding_window.unwrap_or(u64::MAX)),
    )
}

/// Tokens that one query sees over all layers, of a sequence of so many.
fn seen(model: &ModelConfig, tokens: f64) -> f64 {
    seen_by(model, model.num_hidden_layers, tokens)
}

/// Tokens that one query sees over the first layers.
fn seen_by(model: &ModelConfig, layers: u64, tokens: f64) -> f64 {
    let (all, sliding, window) = windows(model, layers);
    all * tokens + sliding * tokens.min(window)
}

/// The contents of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Batch {
    /// Sequences that get a further token.
    pub decodes: f64,
    /// Tokens that they hold in all.
    pub held: f64,
    /// Tokens of prompts.
    pub prompt: f64,
    /// Pairs of query and key of these, over all layers.
    pub pairs: f64,
    /// Tokens at which the longest of these ends.
    pub end: f64,
    /// Sequences whose prompts end in this step.
    pub first: f64,
}

impl Pace {
    /// Makes ready for questions about a serving job's pace; `None` when training, where peak or
    /// memory bandwidth are unknown, and for models of which a part has another length than the
    /// text.
    pub fn of(job: &Job) -> Option<Self> {
        let Run::Serving(run) = job.run() else { return None };
        Self::by(job, &run.engine.spec().steps)
    }

    /// Makes ready as [`Self::of`], with other steps than those of the job's engine, such as an
    /// earlier release's ([`crate::engines::EngineSpec::steps_on`]).
    pub fn by(job: &Job, steps: &'static Steps) -> Option<Self> {
        let Run::Serving(run) = job.run() else { return None };
        if other_lengths(job).is_some() {
            return None;
        }
        let cluster = job.cluster();
        let (t, links) = (to_f64(job.layout().t()), Links::of(cluster));
        let sum = links.is_one_domain(t).then(|| {
            cluster.speed.kernels.sum(t, cluster.speed.scale_up_bandwidth, steps.own_sums)
        });
        Some(Self {
            work: StepWork::of(job, run, steps)?,
            cache: Cache::of(job, run),
            sum,
            links,
            host: Host::of(job, run),
            steps,
            job: job.clone(),
        })
    }

    /// Returns the job.
    pub const fn job(&self) -> &Job {
        &self.job
    }

    /// The parts of the engine's steps.
    pub(super) const fn steps(&self) -> &'static Steps {
        self.steps
    }

    /// Pairs of a query and a key that tokens from `from` to `to` of one sequence look at, over all
    /// layers.
    pub(super) fn pairs(&self, from: f64, to: f64) -> f64 {
        let model = self.job.model();
        let (all, sliding, window) = windows(model, model.num_hidden_layers);
        let chunks = model.chunks;
        let below = |tokens: f64| {
            let within = if chunks { tokens % window } else { tokens.min(window) };
            let seen = if chunks { window / 2.0 } else { window };
            within * within / 2.0 + (tokens - within) * seen
        };
        all * (to * to - from * from) / 2.0
            + if sliding > 0.0 { sliding * (below(to) - below(from)) } else { 0.0 }
    }

    /// Seconds of one step, with the engine's own work around it.
    pub(super) fn step(&self, batch: &Batch) -> f64 {
        self.around(self.device(batch), batch.decodes + batch.prompt, batch.decodes + batch.first)
    }

    /// Seconds of a step's kernels and messages.
    fn device(&self, batch: &Batch) -> f64 {
        let model = self.job.model();
        let tokens = batch.decodes + batch.prompt;
        let each = if batch.decodes > 0.0 { batch.held / batch.decodes } else { 0.0 };
        let visible = batch.decodes * seen(model, each);
        let bytes = if batch.decodes > 0.0 {
            visible * self.cache.seen + batch.decodes * self.cache.fixed + self.cache.shared
        } else {
            0.0
        };
        self.work.products(tokens, batch.decodes + batch.first)
            + self.cached(bytes, visible, (each, tokens))
            + self.attention(batch.pairs, batch.end, tokens)
            + self.messages(tokens).total()
    }

    /// The share of all that is cached that lies in the host's memory, of sequences of so many
    /// tokens.
    fn share_away(&self, host: &Host, length: f64) -> f64 {
        let model = self.job.model();
        seen_by(model, host.layers, length.max(1.0)) / seen(model, length.max(1.0)).max(1.0)
    }

    /// Seconds of one query of each sequence against so many cached bytes, in a step of so many
    /// tokens: the processor attends to what lies in its memory, or it is copied.
    fn cached(&self, bytes: f64, visible: f64, (length, tokens): (f64, f64)) -> f64 {
        let Some(host) = self.host.as_ref().filter(|host| host.layers > 0) else {
            return self.work.cached(bytes, visible);
        };
        let away = self.share_away(host, length);
        if host.attends(tokens) {
            self.work.cached(bytes * (1.0 - away), visible * (1.0 - away))
                + host.attention(bytes * away, visible * away * self.work.pair)
        } else {
            self.work.cached(bytes, visible) + host.copied(bytes * away)
        }
    }

    /// Seconds of attention of a prompt's part that ends at so many tokens, in a step of so many.
    fn attention(&self, pairs: f64, end: f64, tokens: f64) -> f64 {
        let away = self.host.as_ref().filter(|host| host.layers > 0 && pairs > 0.0);
        let Some(host) = away else { return self.work.attention(pairs, end) };
        let away = self.share_away(host, end);
        if host.attends(tokens) {
            self.work.attention(pairs * (1.0 - away), end)
                + host.attention(0.0, pairs * away * self.work.pair)
        } else {
            self.work.attention(pairs, end) + self.copied_keys(end, tokens)
        }
    }

    /// Seconds in which keys and values of so many tokens cross the link for a step of so many,
    /// where the accelerator attends to a cache in the host's memory.
    fn copied_keys(&self, end: f64, tokens: f64) -> f64 {
        let host = self.host.as_ref().filter(|host| host.layers > 0 && !host.attends(tokens));
        host.map_or(0.0, |host| {
            host.copied(seen_by(self.job.model(), host.layers, end) * self.cache.seen)
        })
    }

    /// Messages of a step with so many tokens: sums over tensor ranks behind attention and behind
    /// feed-forward, and a hop from each stage to the next.
    ///
    /// Where tokens travel to whole experts, the sum behind attention leaves each rank its part of
    /// the tokens. From there a copy for every expert of a token goes to that expert's rank and
    /// comes back, in the format of activations; then all ranks get all tokens again. Assumes that
    /// every expert is asked as often as any other.
    pub(super) fn messages(&self, tokens: f64) -> Messages {
        let (job, model) = (&self.job, self.job.model());
        let Run::Serving(run) = job.run() else { return Messages::default() };
        let bytes = tokens * to_f64(model.hidden_size) * to_f64(run.activation_dtype.bits()) / 8.0;
        let (t, hops) = (to_f64(job.layout().t()), to_f64(job.layout().p()) - 1.0);
        let ring = self.links.ring(t, 1.0);
        let moe = model.moe.as_ref().filter(|_| run.dispatches());
        let layers = (0..model.num_hidden_layers)
            .filter(|layer| moe.is_some_and(|moe| moe.layers.contains(*layer)))
            .count();
        let layers = to_f64(u64::try_from(layers).unwrap_or(model.num_hidden_layers));
        let sum = match self.sum {
            _ if t <= 1.0 || bytes <= 0.0 => 0.0,
            Some((sum, times)) => 2.0 * sum.seconds(bytes, times),
            None => 2.0 * ring.seconds(Collective::AllReduce, bytes),
        };
        let apart = ring.seconds(Collective::ReduceScatter, bytes)
            + ring.seconds(Collective::AllGather, bytes);
        let copies = moe.map_or(0.0, |moe| to_f64(moe.num_experts_per_tok)) * bytes / t;
        Messages {
            sums: Seconds((to_f64(model.num_hidden_layers) - layers) * sum + layers * apart),
            experts: Seconds(layers * 2.0 * ring.seconds(Collective::AllToAll, copies)),
            stages: Seconds(if hops > 0.0 { hops * self.links.message(bytes, t) } else { 0.0 }),
        }
    }

    /// Seconds of so many tokens of a prompt from `from` on.
    fn chunk(&self, from: f64, tokens: f64, first: f64) -> f64 {
        let to = from + tokens;
        self.step(&Batch {
            prompt: tokens,
            pairs: self.pairs(from, to),
            end: to,
            first,
            ..Batch::default()
        })
    }

    /// Returns the seconds to read a prompt of so many tokens, a chunk at a time, until its first
    /// token is there.
    pub fn prefill(&self, tokens: u64) -> Seconds {
        self.prefill_batch(1, tokens)
    }

    /// Returns the seconds to read `sequences` prompts of `tokens` tokens each that arrive
    /// together, one chunk of all of them after the other, until all have their first token.
    pub fn prefill_batch(&self, sequences: u64, tokens: u64) -> Seconds {
        let Run::Serving(run) = self.job.run() else { return Seconds(0.0) };
        let (count, each) = (to_f64(sequences.max(1)), to_f64(tokens));
        let (size, all) = (to_f64(run.prefill_chunk_size.max(1)), count * each);
        // Attention is counted of all chunks at once: the sum over them is the whole prompt's, and
        // in each it starts anew.
        let chunks = (all / size).ceil().max(1.0);
        let rest = all - (chunks - 1.0) * size;
        let pairs = count * self.pairs(0.0, each);
        let attention = self.attention(pairs, each, size.min(all))
            + (chunks - 1.0)
                * (self.work.attention(f64::MIN_POSITIVE, each)
                    + self.copied_keys(each / 2.0, size));
        let part = |tokens: f64, first: f64| {
            let device = self.work.products(tokens, first) + self.messages(tokens).total();
            self.around(device + attention / chunks, tokens, first)
        };
        Seconds((chunks - 1.0) * part(size, 0.0) + part(rest, count))
    }

    /// Seconds of a step whose kernels and messages take so many, with the engine's own work around
    /// it.
    fn around(&self, device: f64, tokens: f64, sequences: f64) -> f64 {
        let is_captured = tokens <= to_f64(self.steps.captured);
        let launched = if is_captured { 0.0 } else { self.work.kernels * self.steps.launch };
        let host = self.steps.host + self.steps.sequence * sequences;
        let ran = device.max(launched);
        if self.steps.overlaps { ran.max(host) } else { ran + host }
    }

    /// Returns the seconds of a step in which each of so many sequences at full context gets one
    /// token.
    pub fn decode(&self, sequences: u64) -> Seconds {
        self.decode_at(sequences, to_f64(self.job.seq_length()))
    }

    /// Returns the seconds of a step in which each of `sequences` sequences, which hold `tokens`
    /// tokens on average, gets one token.
    pub fn decode_at(&self, sequences: u64, tokens: f64) -> Seconds {
        let decodes = to_f64(sequences);
        Seconds(self.step(&Batch { decodes, held: decodes * tokens, ..Batch::default() }))
    }

    /// Returns the part that holds up a step of decoding with so many sequences at full context:
    /// compute where products take longer than weights and cache are read, else memory.
    pub fn bound(&self, sequences: u64) -> Bound {
        let sequences = to_f64(sequences);
        let (weights, products) = self.work.apart(sequences, sequences);
        let context = to_f64(self.job.seq_length());
        let cache = sequences
            * (seen(self.job.model(), context) * self.cache.seen + self.cache.fixed)
            + self.cache.shared;
        if products > weights + self.work.reading(cache) { Bound::Compute } else { Bound::Memory }
    }

    /// Returns the number of sequences from which on a step computes longer than it reads all
    /// weights: `⌈r / c⌉`, at least 1, where `r` is the seconds to read all weights and `c` those
    /// of one sequence's products. `None` where products take no time.
    pub fn turns_at(&self) -> Option<u64> {
        let (read, _) = self.work.apart(f64::MAX, 1.0);
        let (_, products) = self.work.apart(1.0, 1.0);
        let turns = read / products;
        turns.is_finite().then(|| ceil_u64(turns).max(1))
    }

    /// Returns all times with so many sequences at once; see [`serving`](super::serving).
    pub fn time(&self, sequences: u64) -> ServingTime {
        let Run::Serving(run) = self.job.run() else { return self.at(sequences, 0, 0) };
        let chunk = run.prefill_chunk_size.min(run.context_length);
        self.at(
            sequences,
            chunk,
            run.prompt_length.unwrap_or(run.context_length).min(run.context_length),
        )
    }

    fn at(&self, sequences: u64, chunk: u64, prompt: u64) -> ServingTime {
        let (context, tokens) = (to_f64(self.job.seq_length()), to_f64(chunk));
        let decode = self.decode(sequences);
        let tokens_per_second = to_f64(sequences) / decode.0;
        let (ranks, cluster) =
            (to_f64(self.job.layout().t() * self.job.layout().p()), self.job.cluster());
        let gpu_hours = gpu_hours_per_million(ranks, tokens_per_second);
        ServingTime {
            prefill_chunk: Seconds(self.chunk((context - tokens) / 2.0, tokens, 0.0)),
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
