//! Seconds of what a step does with tensors in the host's memory.

use crate::config::{Job, ServingRun};
use crate::engines::OnHost;
use crate::estimator::placed::Placed;
use crate::units::to_f64;

/// The host as a served step sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Host {
    /// Seconds of a byte that the processor reads, of all tensor ranks.
    per_byte: f64,
    /// Seconds of a FLOP of the processor, of all tensor ranks.
    per_flop: f64,
    /// Seconds of a byte over the link.
    over_link: f64,
    /// How weights are used that lie there.
    by: Use,
    /// Layers of which the cache lies there.
    pub layers: u64,
    /// True if attention runs on the processor whatever the step.
    cache: bool,
}

/// How weights are used that lie in the host's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Use {
    /// The processor multiplies; from so many tokens on the accelerator does.
    Computed(f64),
    /// The accelerator reads them where they are, or after a copy.
    Streamed { in_place: bool },
}

/// A product of one layer.
#[derive(Clone, Copy)]
pub(super) struct Work {
    /// Tokens of the step.
    pub tokens: f64,
    /// Stored bytes that it reads.
    pub read: f64,
    /// All stored bytes of its weights.
    pub bytes: f64,
    /// FLOPs of all tokens.
    pub flops: f64,
    /// Seconds on the accelerator with its weights there.
    pub on_device: f64,
}

impl Host {
    /// The host of a job; `None` where nothing lies there.
    pub fn of(job: &Job, run: &ServingRun) -> Option<Self> {
        let placed = Placed::of(job)?;
        let by = match run.engine.spec().host {
            OnHost::Computed { copied_from, .. } => Use::Computed(to_f64(copied_from)),
            OnHost::Streamed { in_place, .. } => Use::Streamed { in_place },
            OnHost::Nothing => return None,
        };
        let (host, ranks) = (job.cluster().host, to_f64(job.layout().t()));
        Some(Self {
            per_byte: ranks / host.bandwidth,
            per_flop: ranks / host.rate,
            // One memory has no link: the answer is refused beside it.
            over_link: 1.0 / host.link.unwrap_or(host.bandwidth),
            by,
            layers: placed.cached_layers(job.model().num_hidden_layers),
            cache: placed.cache,
        })
    }

    /// Seconds of a product whose weights lie there.
    pub fn product(&self, work: &Work) -> f64 {
        match self.by {
            Use::Computed(copied_from) if work.tokens < copied_from => {
                (work.read * self.per_byte).max(work.flops * self.per_flop)
            }
            Use::Computed(_) => work.read * self.over_link + work.on_device,
            Use::Streamed { in_place: true } => work.on_device.max(work.read * self.over_link),
            Use::Streamed { in_place: false } => work.on_device + work.bytes * self.over_link,
        }
    }

    /// Seconds of reading weights, and of multiplying with them, each by itself.
    pub fn apart(&self, read: f64, flops: f64) -> (f64, f64) {
        match self.by {
            Use::Computed(_) => (read * self.per_byte, flops * self.per_flop),
            Use::Streamed { .. } => (read * self.over_link, 0.0),
        }
    }

    /// True if the processor attends to the cache that lies there, in a step of so many tokens.
    pub fn attends(&self, tokens: f64) -> bool {
        match self.by {
            Use::Computed(copied_from) => self.cache || tokens < copied_from,
            Use::Streamed { .. } => false,
        }
    }

    /// Seconds of the processor's attention to so many cached bytes, with so many FLOPs.
    pub fn attention(&self, bytes: f64, flops: f64) -> f64 {
        (bytes * self.per_byte).max(flops * self.per_flop)
    }

    /// Seconds in which so many bytes cross the link.
    pub fn copied(&self, bytes: f64) -> f64 {
        bytes * self.over_link
    }
}

#[cfg(test)]
mod tests {
    use super::{Host, Use, Work};

    const WORK: Work = Work { tokens: 1.0, read: 8e9, bytes: 64e9, flops: 16e9, on_device: 0.01 };

    fn seconds(by: Use, work: Work) -> f64 {
        let (per_byte, per_flop, over_link) = (1.0 / 80e9, 1e-12, 1.0 / 32e9);
        Host { per_byte, per_flop, over_link, by, layers: 0, cache: false }.product(&work)
    }

    #[test]
    fn a_product_takes_what_its_bytes_take_on_their_way() {
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found}");
        let computed = Use::Computed(32.0);
        near(seconds(computed, WORK), 0.1);
        near(seconds(computed, Work { tokens: 31.0, flops: 31.0 * 16e9, ..WORK }), 0.496);
        near(seconds(computed, Work { tokens: 32.0, ..WORK }), 0.25 + 0.01);
        near(seconds(Use::Streamed { in_place: true }, WORK), 0.25);
        near(seconds(Use::Streamed { in_place: false }, WORK), 2.0 + 0.01);
    }
}
