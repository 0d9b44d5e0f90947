//! Products with weights, as a step multiplies them.

use super::host::{Host, Work};
use crate::hardware::kernels::OnCard;

/// Products with weights, alike in so many layers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Product {
    pub layers: f64,
    pub bytes: f64,
    /// Bytes that a token's activations add.
    pub per_token: f64,
    pub flops: f64,
    /// Rows that it multiplies at least.
    pub rows: f64,
    /// The most rows of a tile of one expert; 0 where that is in the measured times.
    pub tile: f64,
    pub timed: OnCard,
    /// The most tokens that another kernel multiplies, one for vectors, and that kernel's times.
    pub vectors: Option<(f64, OnCard)>,
    /// Tokens after which its weights are read again; infinite where a cache holds them.
    pub again: f64,
    /// Seconds in which its weights are widened for a step of more tokens than that.
    pub widening: f64,
    /// The share of experts that one token takes; `None`: every token takes the whole.
    pub share: Option<f64>,
    /// The host, where its weights lie there.
    pub host: Option<Host>,
    /// Kernels of one layer.
    pub kernels: f64,
}

impl Product {
    /// Stored bytes that a step with so many tokens reads: of experts those that at least one token
    /// takes.
    fn read(&self, tokens: f64) -> f64 {
        self.share.map_or(self.bytes, |share| self.bytes * self.asked(share, tokens))
    }

    /// The share of experts that at least one of so many tokens takes, each a share of them. The
    /// measured times of servers' experts count with experts that are asked evenly, and apart from
    /// each other; where each is timed by itself, nothing is known of how they are asked but the
    /// mean, and of all distributions with a mean the exponential one assumes least.
    fn asked(&self, share: f64, tokens: f64) -> f64 {
        if self.tile > 0.0 {
            share * tokens / (1.0 + share * tokens)
        } else {
            1.0 - (1.0 - share).powf(tokens)
        }
    }

    /// Tokens that a step with so many multiplies: whole tiles, of each expert that is asked half
    /// a tile more than its tokens on average.
    fn multiplied(&self, tokens: f64) -> f64 {
        let Some(share) = self.share.filter(|_| self.tile > 0.0) else {
            return tokens.max(self.rows);
        };
        let asked = self.asked(share, tokens);
        let (tile, each) = (self.tile.min(tokens), tokens * share / asked);
        asked / share * tile.max(each + tile / 2.0)
    }

    pub fn seconds(&self, tokens: f64) -> f64 {
        let by = |timed: &OnCard, tokens: f64| {
            let flops = self.multiplied(tokens) * self.flops;
            let read = self.read(tokens) * (tokens / self.again).ceil().max(1.0);
            timed.seconds(read + tokens * self.per_token, flops)
        };
        let each = match &self.vectors {
            Some((most, vectors)) if tokens <= *most => by(vectors, tokens),
            // More tokens never take less time than the most tokens that the kernel for vectors
            // multiplies.
            Some((most, vectors)) => {
                (by(&self.timed, tokens) + self.widening).max(by(vectors, *most))
            }
            None => by(&self.timed, tokens),
        };
        let Some(host) = self.host else { return self.layers * each };
        let (read, flops) = (self.read(tokens), tokens * self.flops);
        self.layers
            * host.product(&Work { tokens, read, bytes: self.bytes, flops, on_device: each })
    }

    /// The part of the layers whose weights lie in the host's memory, and the rest.
    pub fn divided(self, away: f64, host: Option<Host>) -> [Option<Self>; 2] {
        let here = Self { layers: self.layers * (1.0 - away), ..self.clone() };
        let there = Self { layers: self.layers * away, host, ..self };
        [here, there].map(|part| (part.layers > 0.0).then_some(part))
    }

    /// Adds another product to this one: both products of experts were measured as one kernel.
    pub fn join(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.flops += other.flops;
        self.per_token += other.per_token;
        self.widening += other.widening;
    }

    /// Seconds of reading its weights, and of multiplying, each by itself and without a start.
    pub fn apart(&self, tokens: f64) -> (f64, f64) {
        let layers = self.layers;
        if let Some(host) = self.host {
            let (read, multiplied) = host.apart(self.read(tokens), tokens * self.flops);
            return (layers * read, layers * multiplied);
        }
        (
            layers * self.read(tokens) * self.timed.per_byte,
            layers * tokens * self.flops * self.timed.per_flop,
        )
    }
}
