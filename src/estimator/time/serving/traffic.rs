//! Requests that one instance serves, step by step: an exact simulation of a closed loop, or of
//! requests that are all there at the start.
//!
//! Every step holds one token of each running sequence and as much of waiting prompts as its limit
//! of tokens leaves; between two changes of what it holds, steps differ by the tokens that are
//! cached alone, so that all of them take as long as the one in the middle.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::pace::{Batch, Pace};
use crate::config::Run;
use crate::units::{Seconds, ceil_u64, to_f64};

/// Requests and how they arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Requests in all.
    pub requests: u64,
    /// Requests that are in flight at once, each followed by the next; `None`: all arrive at the
    /// start.
    pub at_once: Option<u64>,
    /// Fewest and most tokens of a prompt, all as likely.
    pub prompt: [u64; 2],
    /// Fewest and most tokens of an answer.
    pub output: [u64; 2],
    /// Tokens that find room in the cache; a request starts when it finds room with its whole
    /// answer. `None`: all do.
    pub room: Option<u64>,
    /// The lengths are drawn from this number on.
    pub seed: u64,
}

/// How requests were served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServedTraffic {
    /// From a request's arrival to its first token: median, and the time that 95 of 100 do not
    /// exceed.
    pub first_token: [Seconds; 2],
    /// Its mean over all requests.
    pub mean_first_token: Seconds,
    /// From a token to the next, on average over a request: median, and the time that 95 of 100
    /// requests do not exceed.
    pub per_token: [Seconds; 2],
    /// Tokens of answers per second.
    pub output_per_second: f64,
    /// From the first arrival to the last token.
    pub seconds: Seconds,
    /// Most sequences that ran at once.
    pub most_at_once: u64,
}

/// A request on its way.
#[derive(Clone, Copy)]
struct Request {
    /// When its client sent it.
    arrival: f64,
    /// When it is ready to be scheduled.
    queued: f64,
    /// Steps of the engine before which it is not: one that is prepared while another runs holds
    /// what was there when that began.
    after: u64,
    prompt: u64,
    output: u64,
    /// Tokens of its prompt that were read.
    read: u64,
}

/// A sequence that gets a token in every step until its last: the count of steps at which it ends,
/// and its request.
type Running = Reverse<(u64, u64, u64)>;

/// The next of a sequence of numbers that look drawn by chance (splitmix64, Steele et al. 2014).
const fn drawn(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

struct Simulation<'a> {
    pace: &'a Pace,
    traffic: &'a Traffic,
    state: u64,
    now: f64,
    /// Tokens that each sequence would have got that ran from the start.
    steps: u64,
    /// The broken part of a token that steps have given each running sequence.
    given: f64,
    /// All steps.
    turns: u64,
    started: u64,
    waiting: VecDeque<Request>,
    reading: VecDeque<Request>,
    running: BinaryHeap<Running>,
    /// First token and answer of each running request, by its number.
    begun: Vec<(f64, u64, u64)>,
    /// Tokens that running sequences hold, and that all of both kinds may come to hold.
    held: f64,
    reserved: u64,
    first_token: Vec<f64>,
    per_token: Vec<f64>,
    output: u64,
    most: usize,
}

impl Simulation<'_> {
    fn length(&mut self, [least, most]: [u64; 2]) -> u64 {
        let range = most.saturating_sub(least).saturating_add(1);
        least.saturating_add(drawn(&mut self.state) % range).max(1)
    }

    fn arrive(&mut self) {
        if self.started < self.traffic.requests {
            self.started += 1;
            let (prompt, output) =
                (self.length(self.traffic.prompt), self.length(self.traffic.output));
            let steps = self.pace.steps();
            let queued = self.now + steps.arrival + steps.per_prompt_token * to_f64(prompt);
            self.waiting.push_back(Request {
                arrival: self.now,
                queued,
                after: self.turns + u64::from(steps.overlaps),
                prompt,
                output,
                read: 0,
            });
        }
    }

    /// Takes waiting requests into steps as far as sequences and cache allow; one is always taken.
    fn admit(&mut self, most: u64) {
        while let Some(next) = self.waiting.front().copied() {
            let there = self.running.len() + self.reading.len();
            let all = self.reserved.saturating_add(next.prompt + next.output);
            let fits = self.traffic.room.is_none_or(|room| all <= room)
                && to_f64(count(there)) < to_f64(most);
            let is_ready = next.queued <= self.now && next.after <= self.turns;
            if there > 0 && (!fits || !is_ready) {
                return;
            }
            self.now = self.now.max(next.queued);
            self.reserved = all;
            self.reading.extend(self.waiting.pop_front());
        }
    }

    /// Tokens of prompts that the next step reads, and the requests whose prompts end in it.
    fn take(&mut self, mut left: u64, batch: &mut Batch) -> Vec<Request> {
        let mut ended = Vec::new();
        while left > 0 {
            let Some(request) = self.reading.front_mut() else { break };
            let part = left.min(request.prompt - request.read);
            let (from, to) = (to_f64(request.read), to_f64(request.read + part));
            request.read += part;
            left -= part;
            self.pace.add_prompt(batch, from, to);
            if request.read < request.prompt {
                break;
            }
            batch.first += 1.0;
            ended.extend(self.reading.pop_front());
        }
        ended
    }

    /// One step with prompts in it.
    fn read(&mut self, most_tokens: u64, mixes: bool) {
        let decodes = if mixes { count(self.running.len()) } else { 0 };
        let held = if mixes { self.held } else { 0.0 };
        let mut batch = Batch { decodes: to_f64(decodes), held, ..Batch::default() };
        let (given, run) = self.pace.tokens_of_a_step();
        let decoded = ceil_u64(to_f64(decodes) * run);
        let ended = self.take(most_tokens.saturating_sub(decoded).max(1), &mut batch);
        self.now += self.pace.step(&batch);
        self.turns += 1;
        if decodes > 0 {
            // Steps that give a broken number of tokens on average give a whole one more now and
            // then.
            self.given += given;
            let whole = self.given.floor();
            self.given -= whole;
            self.advance(ceil_u64(whole));
        }
        for request in ended {
            self.first_token.push(self.now - request.arrival);
            self.output += request.output;
            if request.output <= 1 {
                self.reserved = self.reserved.saturating_sub(request.prompt + request.output);
                self.leave();
                continue;
            }
            let number = count(self.begun.len());
            self.begun.push((self.now, request.prompt, request.output));
            self.held += to_f64(request.prompt + 1);
            self.running.push(Reverse((self.steps + request.output - 1, number, request.prompt)));
        }
        self.most = self.most.max(self.running.len());
    }

    /// Counts so many tokens for each running sequence, and lets those go that have all of theirs.
    fn advance(&mut self, steps: u64) {
        self.steps += steps;
        self.held += to_f64(steps) * to_f64(count(self.running.len()));
        while let Some(Reverse((end, number, _))) = self.running.peek().copied() {
            if end > self.steps {
                return;
            }
            self.running.pop();
            let found =
                usize::try_from(number).ok().and_then(|number| self.begun.get(number)).copied();
            let Some((begun, prompt, output)) = found else { continue };
            self.per_token.push((self.now - begun) / to_f64((output - 1).max(1)));
            self.held -= to_f64(prompt + output);
            self.reserved = self.reserved.saturating_sub(prompt + output);
            self.leave();
        }
    }

    /// A request has left: in a closed loop the next one comes.
    fn leave(&mut self) {
        if self.traffic.at_once.is_some() {
            self.arrive();
        }
    }

    /// Steps without prompts until the first running sequence ends.
    fn decode(&mut self) {
        let Some(Reverse((end, ..))) = self.running.peek().copied() else { return };
        let decodes = to_f64(count(self.running.len()));
        // Whoever waits for no more than a step to end, and not for room, takes part in the next.
        let comes = self
            .waiting
            .front()
            .is_some_and(|next| next.queued > self.now || next.after > self.turns);
        let steps = if comes { 1 } else { end.saturating_sub(self.steps).max(1) };
        let middle = self.held + decodes * (to_f64(steps) - 1.0) / 2.0;
        let given = self.pace.tokens_of_a_step().0;
        let turns = to_f64(steps) / given;
        self.now += turns * self.pace.step(&Batch { decodes, held: middle, ..Batch::default() });
        self.turns += ceil_u64(turns);
        self.advance(steps);
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Median, and the value that 95 of 100 do not exceed; 0 without values.
fn spread(values: &mut [f64]) -> [Seconds; 2] {
    values.sort_by(f64::total_cmp);
    let at = |share: usize| {
        values.get((values.len() * share).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0.0)
    };
    [Seconds(at(50)), Seconds(at(95))]
}

impl Pace {
    /// Returns how one instance serves that traffic: seconds to first tokens and between tokens,
    /// tokens per second; `None` when training.
    ///
    /// Steps are simulated one after the other. Assumes that requests are taken in the order in
    /// which they come, and that none is put off once it has started. Pipeline stages work on as
    /// many groups of requests at once, each of which sees the whole way through all stages.
    pub fn serve(&self, traffic: &Traffic) -> Option<ServedTraffic> {
        let stages = self.job().layout().p();
        let part = |number: u64| number.div_ceil(stages);
        let (at_once, room) = (traffic.at_once.map(part), traffic.room.map(part));
        let of_group = Traffic { requests: part(traffic.requests), at_once, room, ..*traffic };
        let served = self.serve_group(&of_group)?;
        let most_at_once = served.most_at_once.saturating_mul(stages);
        Some(ServedTraffic {
            output_per_second: served.output_per_second * to_f64(stages),
            most_at_once,
            ..served
        })
    }

    fn serve_group(&self, traffic: &Traffic) -> Option<ServedTraffic> {
        let Run::Serving(run) = self.job().run() else { return None };
        let steps = self.steps();
        let mut now = Simulation {
            pace: self,
            traffic,
            state: traffic.seed,
            now: 0.0,
            steps: 0,
            given: 0.0,
            turns: 0,
            started: 0,
            waiting: VecDeque::new(),
            reading: VecDeque::new(),
            running: BinaryHeap::new(),
            begun: Vec::new(),
            held: 0.0,
            reserved: 0,
            first_token: Vec::new(),
            per_token: Vec::new(),
            output: 0,
            most: 0,
        };
        (0..traffic.at_once.unwrap_or(traffic.requests).min(traffic.requests))
            .for_each(|_| now.arrive());
        let most_tokens = run.prefill_chunk_size.max(1);
        loop {
            now.admit(steps.most_sequences);
            if !now.reading.is_empty() {
                now.read(most_tokens, steps.mixes);
            } else if now.running.is_empty() {
                break;
            } else {
                now.decode();
            }
        }
        let requests = to_f64(count(now.first_token.len())).max(1.0);
        Some(ServedTraffic {
            mean_first_token: Seconds(now.first_token.iter().sum::<f64>() / requests),
            first_token: spread(&mut now.first_token),
            per_token: spread(&mut now.per_token),
            output_per_second: to_f64(now.output) / now.now.max(f64::MIN_POSITIVE),
            seconds: Seconds(now.now),
            most_at_once: count(now.most),
        })
    }
}
