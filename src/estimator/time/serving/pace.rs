//! The pace of one instance: seconds of a step that holds so many sequences and so much of a
//! prompt.

use std::ops::Range;

use super::super::machine::Links;
use super::super::timing::other_lengths;
use super::draft::DraftPace;
use super::host::Host;
use super::sight::{Cache, Sight};
use super::work::StepWork;
use super::{Bound, MessageTimes, ServingTime, SpeculativeStep, gpu_hours_per_million};
use crate::config::{AttentionKernel, Job, Run};
use crate::engines::Steps;
use crate::estimator::drafting::Drafted;
use crate::hardware::kernels::Sum;
use crate::ops::work::Collective;
use crate::units::{Seconds, ceil_u64, to_f64};

/// The pace of one instance, from which times for any number of sequences follow.
#[derive(Clone, Debug)]
pub struct Pace {
    work: StepWork,
    cache: Cache,
    /// The layers that it is about: all of the model, or those of what proposes tokens.
    layers: Range<u64>,
    sight: Sight,
    /// The draft that proposes tokens ahead of the model.
    draft: Option<Box<DraftPace>>,
    /// The host, where parts of the model lie in its memory.
    host: Option<Host>,
    /// Sums over the tensor ranks of one domain, and how many times as fast their links are as the
    /// measured ones.
    sum: Option<(Sum, f64)>,
    links: Links,
    steps: &'static Steps,
    job: Job,
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
    /// Such pairs over the layers of what proposes tokens.
    pub draft_pairs: f64,
    /// Tokens at which the longest of these ends.
    pub end: f64,
    /// Sequences whose prompts end in this step.
    pub first: f64,
}

/// The size of a step, by which it is a captured graph or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    /// Tokens that it runs.
    pub tokens: f64,
    /// Tokens that a sequence of it holds.
    pub length: f64,
    /// True if it reads prompts.
    pub reads: bool,
}

impl Batch {
    /// Its size if each sequence that is decoded runs so many tokens.
    pub fn size(&self, run: f64) -> Size {
        Size {
            tokens: self.decodes * run + self.prompt,
            length: if self.decodes > 0.0 { self.held / self.decodes } else { 0.0 }.max(self.end),
            reads: self.prompt > 0.0,
        }
    }
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
        let work = StepWork::of(job, run, steps)?;
        let draft = Drafted::of(job, run);
        let draft = match &draft {
            Some(drafted) => Some(Box::new(DraftPace::of(drafted, run, steps)?)),
            None => None,
        };
        let layers = 0..job.model().num_hidden_layers;
        let host = Host::of(job, run);
        Some(Self { draft, host, ..Self::of_layers(job, steps, work, layers) })
    }

    /// The pace of some layers, whose kernels are known.
    pub(super) fn of_layers(
        job: &Job,
        steps: &'static Steps,
        work: StepWork,
        layers: Range<u64>,
    ) -> Self {
        let cluster = job.cluster();
        let (t, links) = (to_f64(job.layout().t()), Links::of(cluster));
        let sum = links.is_one_domain(t).then(|| {
            cluster.speed.kernels.sum(t, cluster.speed.scale_up_bandwidth, steps.own_sums)
        });
        let sight = Sight::of(job.model(), &layers);
        let cache = match job.run() {
            Run::Serving(run) => Cache::of(job, run, &layers, (&sight, steps.groups)),
            Run::Training(_) => Cache { fixed: 0.0, seen: 0.0, again: 1.0, shared: 0.0 },
        };
        let sight = match job.run() {
            Run::Serving(run) if steps.ggml.is_some() => {
                let scored = run.attention == AttentionKernel::Standard;
                sight.masked(to_f64(run.prefill_chunk_size), scored)
            }
            Run::Serving(_) | Run::Training(_) => sight,
        };
        let (draft, host) = (None, None);
        Self { work, cache, layers, sight, draft, host, sum, links, steps, job: job.clone() }
    }

    /// Returns the job.
    pub const fn job(&self) -> &Job {
        &self.job
    }

    /// The parts of the engine's steps.
    pub(super) const fn steps(&self) -> &'static Steps {
        self.steps
    }

    /// Adds a part of one sequence's prompt to a step.
    pub(super) fn add_prompt(&self, batch: &mut Batch, from: f64, to: f64) {
        batch.prompt += to - from;
        batch.pairs += self.sight.pairs(from, to);
        batch.draft_pairs += self.draft.as_ref().map_or(0.0, |draft| draft.pairs(from, to));
        batch.end = batch.end.max(to);
    }

    /// Pairs of a query and a key that tokens from `from` to `to` of one sequence look at, over all
    /// layers.
    pub(super) fn pairs(&self, from: f64, to: f64) -> f64 {
        self.sight.pairs(from, to)
    }

    /// Tokens that a sequence gets from a step on average, and those that the step runs for it.
    pub(super) fn tokens_of_a_step(&self) -> (f64, f64) {
        self.draft.as_ref().map_or((1.0, 1.0), |draft| draft.tokens_of_a_step())
    }

    /// Seconds of one step, with the engine's own work around it.
    pub(super) fn step(&self, batch: &Batch) -> f64 {
        let run = self.tokens_of_a_step().1;
        let drafts = self.draft.as_ref().map_or(0.0, |draft| draft.step(batch));
        let sequences = batch.decodes + batch.first;
        self.around(self.device(batch, run), drafts, batch.size(run), sequences)
    }

    /// Seconds of a step's kernels and messages, in which each sequence that is decoded runs so
    /// many tokens.
    pub(super) fn device(&self, batch: &Batch, run: f64) -> f64 {
        let tokens = batch.decodes * run + batch.prompt;
        let each = if batch.decodes > 0.0 { batch.held / batch.decodes } else { 0.0 };
        let visible = batch.decodes * self.sight.seen(each);
        let bytes = if batch.decodes > 0.0 {
            visible * self.cache.seen * self.cache.again
                + batch.decodes * self.cache.fixed
                + self.cache.shared
        } else {
            0.0
        };
        // The queries of one sequence read its keys once.
        self.work.products(tokens, batch.decodes * run + batch.first)
            + self.cached(bytes, visible * run, (each, tokens))
            + self.attention(batch.pairs, batch.end, tokens)
            + self.messages(tokens).total()
    }

    /// Tokens that one query sees over the layers whose cache lies in the host's memory.
    fn seen_there(&self, host: &Host, tokens: f64) -> f64 {
        Sight::of(self.job.model(), &(0..host.layers)).seen(tokens)
    }

    /// The share of all that is cached that lies in the host's memory, of sequences of so many
    /// tokens.
    fn share_away(&self, host: &Host, length: f64) -> f64 {
        let length = length.max(1.0);
        self.seen_there(host, length) / self.sight.seen(length).max(1.0)
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
        host.map_or(0.0, |host| host.copied(self.seen_there(host, end) * self.cache.seen))
    }

    /// Seconds in which a step's kernels run: no less than the processor needs to launch them,
    /// where they are no captured graph.
    pub(super) fn launched(&self, device: f64, size: Size) -> f64 {
        let steps = self.steps;
        let is_captured = size.tokens <= to_f64(steps.captured)
            && size.length <= to_f64(steps.captured_length)
            && (steps.captures_prompts || !size.reads);
        device.max(if is_captured { 0.0 } else { self.kernels() * steps.launch })
    }

    /// Kernels of a step: those of the model, and two sums over tensor ranks in each layer.
    fn kernels(&self) -> f64 {
        let layers = to_f64(self.layers.end.saturating_sub(self.layers.start));
        self.work.kernels + if self.job.layout().t() > 1 { 2.0 * layers } else { 0.0 }
    }

    /// Messages of a step with so many tokens: sums over tensor ranks behind attention and behind
    /// feed-forward, and a hop from each stage to the next.
    ///
    /// Where tokens travel to whole experts, the sum behind attention leaves each rank its part of
    /// the tokens. From there a copy for every expert of a token goes to that expert's rank and
    /// comes back, in the format of activations; then all ranks get all tokens again. Assumes that
    /// every expert is asked as often as any other.
    pub(super) fn messages(&self, tokens: f64) -> MessageTimes {
        let (job, model) = (&self.job, self.job.model());
        let Run::Serving(run) = job.run() else { return MessageTimes::default() };
        let bytes = tokens * to_f64(model.hidden_size) * to_f64(run.activation_dtype.bits()) / 8.0;
        let (t, hops) = (to_f64(job.layout().t()), to_f64(job.layout().p()) - 1.0);
        let ring = self.links.ring(t, 1.0);
        let moe = model.moe.as_ref().filter(|_| run.dispatches());
        let layers = (self.layers.clone())
            .filter(|layer| moe.is_some_and(|moe| moe.layers.contains(*layer)))
            .count();
        let all = to_f64(self.layers.end.saturating_sub(self.layers.start));
        let layers = to_f64(u64::try_from(layers).unwrap_or(u64::MAX));
        let sum = match self.sum {
            _ if t <= 1.0 || bytes <= 0.0 => 0.0,
            Some((sum, times)) => 2.0 * sum.seconds(bytes, times),
            None => 2.0 * ring.seconds(Collective::AllReduce, bytes),
        };
        let apart = ring.seconds(Collective::ReduceScatter, bytes)
            + ring.seconds(Collective::AllGather, bytes);
        let copies = moe.map_or(0.0, |moe| to_f64(moe.num_experts_per_tok)) * bytes / t;
        MessageTimes {
            sums: Seconds((all - layers) * sum + layers * apart),
            experts: Seconds(layers * 2.0 * ring.seconds(Collective::AllToAll, copies)),
            stages: Seconds(if hops > 0.0 { hops * self.links.message(bytes, t) } else { 0.0 }),
        }
    }

    /// Seconds of so many tokens of a prompt from `from` on.
    fn chunk(&self, from: f64, tokens: f64, first: f64) -> f64 {
        let mut batch = Batch { first, ..Batch::default() };
        self.add_prompt(&mut batch, from, from + tokens);
        self.step(&batch)
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
        let part = |tokens: f64, first: f64| {
            let of =
                |pace: &Self| pace.part_of_prompts((count, each), (chunks, size), tokens, first);
            let size = Size { tokens, length: each, reads: true };
            let drafts = self.draft.as_ref().map_or(0.0, |draft| draft.prefill(of, size));
            self.around(of(self), drafts, size, first)
        };
        Seconds((chunks - 1.0) * part(size, 0.0) + part(rest, count))
    }

    /// Seconds of kernels and messages of one of so many chunks, of a size, of so many prompts of
    /// so many tokens, in which so many begin to answer.
    fn part_of_prompts(
        &self,
        (count, each): (f64, f64),
        (chunks, size): (f64, f64),
        tokens: f64,
        first: f64,
    ) -> f64 {
        let pairs = count * self.pairs(0.0, each);
        let attention = self.attention(pairs, each, size.min(count * each))
            + (chunks - 1.0)
                * (self.work.attention(f64::MIN_POSITIVE, each)
                    + self.copied_keys(each / 2.0, size));
        let device = self.work.products(tokens, first) + self.messages(tokens).total();
        device + attention / chunks
    }

    /// Seconds of a step whose kernels and messages take so many, and those of what proposes tokens
    /// so many, with the engine's own work around it.
    fn around(&self, device: f64, drafts: f64, size: Size, sequences: f64) -> f64 {
        let host = self.steps.host + self.steps.sequence * sequences;
        let ran = self.launched(device, size) + drafts;
        if self.steps.overlaps { ran.max(host) } else { ran + host }
    }

    /// Returns the seconds in which each of so many sequences at full context gets one token, on
    /// average where a step gives several.
    pub fn decode(&self, sequences: u64) -> Seconds {
        self.decode_at(sequences, to_f64(self.job.seq_length()))
    }

    /// Returns the seconds in which each of `sequences` sequences, which hold `tokens` tokens on
    /// average, gets one token; of a step that gives several, its share.
    pub fn decode_at(&self, sequences: u64, tokens: f64) -> Seconds {
        let decodes = to_f64(sequences);
        let step = self.step(&Batch { decodes, held: decodes * tokens, ..Batch::default() });
        Seconds(step / self.tokens_of_a_step().0)
    }

    /// Returns the part that holds up a step of decoding with so many sequences at full context:
    /// compute where products take longer than weights and cache are read, else memory.
    pub fn bound(&self, sequences: u64) -> Bound {
        let sequences = to_f64(sequences);
        let tokens = sequences * self.tokens_of_a_step().1;
        let (weights, products) = self.work.apart(tokens, tokens);
        let context = to_f64(self.job.seq_length());
        let cache = sequences * (self.sight.seen(context) * self.cache.seen + self.cache.fixed)
            + self.cache.shared;
        if products > weights + self.work.reading(cache) { Bound::Compute } else { Bound::Memory }
    }

    /// Returns the number of sequences from which on a step computes longer than it reads all
    /// weights: `⌈r / c⌉`, at least 1, where `r` is the seconds to read all weights and `c` those
    /// of one sequence's products. `None` where products take no time.
    pub fn turns_at(&self) -> Option<u64> {
        let (read, _) = self.work.apart(f64::MAX, 1.0);
        let run = self.tokens_of_a_step().1;
        let (_, products) = self.work.apart(run, run);
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

    /// Messages for one further token of so many sequences: of a step that gives several, their
    /// share.
    fn messages_of_one(&self, sequences: u64) -> MessageTimes {
        let (given, run) = self.tokens_of_a_step();
        let MessageTimes { sums, experts, stages } = self.messages(to_f64(sequences) * run);
        let [sums, experts, stages] =
            [sums, experts, stages].map(|Seconds(all)| Seconds(all / given));
        MessageTimes { sums, experts, stages }
    }

    /// The parts of a step of decoding that checks proposed tokens.
    fn speculation(&self, sequences: u64) -> Option<SpeculativeStep> {
        let draft = self.draft.as_ref()?;
        let decodes = to_f64(sequences);
        let held = decodes * to_f64(self.job.seq_length());
        let batch = Batch { decodes, held, ..Batch::default() };
        let (step, drafts) = (self.step(&batch), draft.step(&batch));
        let tokens = self.tokens_of_a_step().0;
        Some(SpeculativeStep { step: Seconds(step), drafts: Seconds(drafts), tokens })
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
            messages: [self.messages(tokens), self.messages_of_one(sequences)],
            speculation: self.speculation(sequences),
            bound: self.bound(sequences),
            turns_at: self.turns_at(),
            price_per_million: gpu_hours * cluster.accelerator.price_per_hour,
            kwh_per_million: cluster.speed.tdp_watts.map(|watts| gpu_hours * watts / 1000.0),
        }
    }
}
