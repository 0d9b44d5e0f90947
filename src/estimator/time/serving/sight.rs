//! Keys and values that a step sees: how far layers look back, and the bytes that lie there.

use std::ops::Range;

use crate::config::{Job, ModelConfig, ServingRun};
use crate::engines::Groups;
use crate::estimator::served;
use crate::ops::{self, Lowering};
use crate::units::to_f64;

/// Cached bytes on one tensor rank of all stages together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cache {
    /// Of one sequence, whatever its length.
    pub fixed: f64,
    /// Of one token in one layer that sees it.
    pub seen: f64,
    /// How many times as long a step reads these as once from memory.
    pub again: f64,
    /// Of what all sequences share.
    pub shared: f64,
}

impl Cache {
    pub fn of(
        job: &Job,
        run: &ServingRun,
        layers: &Range<u64>,
        (sight, groups): (&Sight, Groups),
    ) -> Self {
        let (one, shared) = served::cached_by(job, run, layers.clone());
        let (model, context) = (job.model(), to_f64(run.context_length.max(1)));
        let fixed = if model.mixer().is_some() {
            let with = Lowering {
                context_length: 1,
                concurrent_sequences: 1,
                block_size: 1,
                shared_prefix: 0,
                ..ops::lowering(job)
            };
            let least = served::held(job, &with, layers.clone()).as_f64();
            let slope =
                (one.as_f64() - least).max(0.0) / (sight.seen(context) - sight.seen(1.0)).max(1.0);
            (least - slope * sight.seen(1.0)).max(0.0)
        } else {
            0.0
        };
        Self {
            fixed,
            seen: (one.as_f64() - fixed) / sight.seen(context).max(1.0),
            again: again(model, groups),
            shared: shared.as_f64(),
        }
    }
}

/// How many times as fast as memory the last cache is read: 5.4 TB/s on an A100, whose memory has
/// 2.04, and 9.7 on an H200, whose chip has 3.35 as an H100 (te42kyfo/gpu-benches, `gpu-l2-cache`).
const LAST_CACHE: f64 = 2.7;

/// How many times as long it takes to read keys for all query heads as once from memory.
fn again(model: &ModelConfig, groups: Groups) -> f64 {
    let is_apart = match groups {
        Groups::Together => false,
        Groups::Of128 => model.head_dim != 128 || model.sliding_window.is_some(),
        Groups::Apart => true,
    };
    let group = to_f64(model.num_attention_heads) / to_f64(model.num_key_value_heads.max(1));
    if is_apart { (group / LAST_CACHE).max(1.0) } else { 1.0 }
}

/// How far layers look back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    /// Layers that look back on everything; layers without attention count with these, as their
    /// FLOPs and bytes are none.
    all: f64,
    /// Layers that look back on a window, and its tokens.
    sliding: f64,
    window: f64,
    /// True if windows follow each other instead of moving with the token.
    chunks: bool,
    /// Tokens of a step whose scores are all computed, later keys' too; 0 where these are skipped.
    scored: f64,
}

impl Sight {
    pub fn of(model: &ModelConfig, layers: &Range<u64>) -> Self {
        let count = layers.end.saturating_sub(layers.start);
        let sliding = layers.clone().filter(|layer| model.sliding_layers.contains(*layer)).count();
        let sliding =
            model.sliding_window.map_or(0, |_| u64::try_from(sliding).unwrap_or(u64::MAX));
        Self {
            all: to_f64(count.saturating_sub(sliding)),
            sliding: to_f64(sliding),
            window: to_f64(model.sliding_window.unwrap_or(u64::MAX)),
            chunks: model.chunks,
            scored: 0.0,
        }
    }

    /// Its keys where those outside a window are masked and not skipped: ggml's cache of such a layer
    /// holds the window and the tokens of one step (`llama_kv_cache_iswa`). `scored`: so are those
    /// behind a token of a step.
    pub fn masked(self, step: f64, scored: bool) -> Self {
        Self { window: self.window + step, scored: if scored { step } else { 0.0 }, ..self }
    }

    /// Tokens that one query sees over all layers, of a sequence of so many.
    pub fn seen(&self, tokens: f64) -> f64 {
        self.all * tokens + self.sliding * tokens.min(self.window)
    }

    /// Pairs of a query and a key that tokens from `from` to `to` of one sequence look at.
    pub fn pairs(&self, from: f64, to: f64) -> f64 {
        let &Self { all, sliding, window, chunks, scored } = self;
        let below = |tokens: f64| {
            let within = if chunks { tokens % window } else { tokens.min(window) };
            let seen = if chunks { window / 2.0 } else { window };
            within * within / 2.0 + (tokens - within) * seen
        };
        let later = (to - from) * scored.min(to - from) / 2.0;
        all * ((to * to - from * from) / 2.0 + later)
            + if sliding > 0.0 { sliding * (below(to) - below(from)) } else { 0.0 }
    }
}
