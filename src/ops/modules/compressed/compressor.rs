//! Keys of several tokens in one, by a softmax over gates of these tokens: of a window alone, or of
//! it and the one before (`DeepseekV4HCACompressor`, `DeepseekV4CSACompressor`).

use super::super::norm::Norm;
use super::super::{Build, FP32, Linear};
use super::COMPRESSED_KEYS;
use super::chooser::{self, Chooser};
use super::turn::{Positions, Turn};
use crate::config::{Compressed, Compresses};
use crate::ops::tape::{Form, Param, SOFTMAX, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// Sizes of windows: sequences, keys of one, tokens of a key, and the width of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    pub b: Dim,
    pub keys: Dim,
    pub tokens: Dim,
    pub width: Dim,
    /// Columns of each token: one key's, or one for its own window and one for the next.
    pub columns: Dim,
}

impl Windows {
    /// Of keys of that width; `twice`: each token is part of two.
    pub fn new(build: &Build<'_>, rate: u64, width: u64, twice: bool) -> Self {
        Self {
            b: build.with.b(),
            keys: Dim("compressed keys", build.with.s().1 / rate.max(1)),
            tokens: Dim("tokens of a key", rate),
            width: Dim("width of a key", width),
            columns: Dim("columns of a token", if twice { width.saturating_mul(2) } else { width }),
        }
    }
}

/// How keys of a window are seen by queries.
#[derive(Debug)]
enum Seen {
    /// All that are complete: numbers of keys, of queries, what they see, and whether.
    All([Form; 3]),
    Chosen(Box<Chooser>, [Form; 2]),
}

/// The module.
#[derive(Debug)]
pub(super) struct Compressor {
    gate: Linear,
    key: Linear,
    bias: Param,
    norm: Norm,
    seen: Seen,
    turn: Turn,
    positions: Positions,
    forms: Forms,
    /// `[s]`.
    queries: Form,
    /// No window is complete.
    is_empty: bool,
}

/// Shapes of the tensors that are compressed.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, w · r, c]` and `[b, w, r, c]`.
    complete: Form,
    windows: Form,
    /// `[b, w, r, d]`, all but the last window, and that with `d` columns.
    own: Form,
    earlier: [Form; 2],
    /// `[b, w, 2 · r, d]`.
    both: Form,
    /// `[b, w, d]` and `[b, 1, w, d]`.
    pooled: Form,
    keys: Form,
    /// There is more than one window.
    several: bool,
    overlaps: bool,
}

impl Forms {
    fn new(build: &Build<'_>, sizes: &Windows) -> Self {
        let (tape, Windows { b, keys, tokens, width, columns }) = (build.tape, *sizes);
        let complete = Dim("compressed tokens", keys.1.saturating_mul(tokens.1));
        let earlier = Dim("earlier keys", keys.1.saturating_sub(1));
        let twice = Dim("tokens of two keys", tokens.1.saturating_mul(2));
        Self {
            complete: tape.form([b, complete, columns]),
            windows: tape.form([b, keys, tokens, columns]),
            own: tape.form([b, keys, tokens, width]),
            earlier: [
                tape.form([b, earlier, tokens, columns]),
                tape.form([b, earlier, tokens, width]),
            ],
            both: tape.form([b, keys, twice, width]),
            pooled: tape.form([b, keys, width]),
            keys: tape.form([b, Dim("one", 1), keys, width]),
            several: keys.1 > 1,
            overlaps: columns.1 > width.1,
        }
    }

    /// Both parts that a token has, each in its window.
    fn laid_out<'t>(&self, into: Var<'t>, from: &Var<'t>) -> Var<'t> {
        let into = into.fill(&from.clone().slice(self.own));
        if !self.several {
            return into;
        }
        let [earlier, part] = self.earlier;
        into.fill(&from.clone().slice(earlier).slice(part))
    }

    /// The sum of each window's keys by a softmax of their gates.
    fn pooled<'t>(&self, keys: &Var<'t>, gates: &Var<'t>) -> Var<'t> {
        let weights =
            gates.clone().cast_as(FP32, "gates in fp32").apply(SOFTMAX).cast(keys.dtype());
        keys.clone().mul(weights).sum(self.pooled)
    }
}

impl Compressor {
    /// The compressor of a layer that compresses in this way; `rank`: the width of narrow queries.
    pub fn new(
        build: &Build<'_>,
        sizes: &Compressed,
        (compresses, rate): (Compresses, u64),
    ) -> Self {
        let (with, tape) = (build.with, build.tape);
        let overlaps = compresses == Compresses::AndChooses;
        let windows = Windows::new(build, rate, with.head_dim().1, overlaps);
        let Windows { b, keys, tokens, width, columns } = windows;
        tape.at(COMPRESSED_KEYS, sources::PYTORCH_AUTOGRAD);
        let bias = build.parameter("bias of positions", [tokens, columns]);
        let project = |name| {
            build.linear((name, None), (columns, with.h()), tape.form([b, with.s(), columns]))
        };
        let (key, gate) = (project("compressed key weight"), project("compressed gate weight"));
        let norm = Norm::new(build, width, tape.form([b, keys]));
        Positions::register(build);
        let (one, s) = (Dim("one", 1), with.s());
        let of = |width: u64| tape.form([b, s, Dim("keys seen", width)]);
        let seen = if overlaps {
            let best = sizes.index_topk.min(keys.1);
            let chooser = Chooser::new(build, sizes, (rate, best));
            Seen::Chosen(Box::new(chooser), [of(best), of(keys.1.saturating_add(1))])
        } else {
            Seen::All([tape.form([keys]), of(keys.1), tape.form([s, keys])])
        };
        let compressor = Self {
            gate,
            key,
            bias,
            norm,
            seen,
            turn: Turn::new(build, [b, one, keys, width], [b, keys]),
            positions: Positions::new(build, [b, keys]),
            forms: Forms::new(build, &windows),
            queries: tape.form([s]),
            is_empty: keys.1 == 0,
        };
        if compressor.is_empty {
            let weights = [key.weight, gate.weight, bias].into_iter().chain(norm.parameters());
            weights.for_each(|weight| tape.idle(weight));
        }
        compressor
    }

    /// Compressed keys, and what each query sees of them as it is added to the scores; without a
    /// complete window, nothing.
    pub fn run<'t>(
        &self,
        (x, narrow): (&Var<'t>, &Var<'t>),
        mask: Option<&Var<'t>>,
    ) -> Option<(Var<'t>, Option<Var<'t>>)> {
        let tape = x.tape();
        tape.at(COMPRESSED_KEYS, sources::PYTORCH_AUTOGRAD);
        let (key, gate) = (
            self.key.run(x).named("keys to compress"),
            self.gate.run(x).named("gates to compress by"),
        );
        if self.is_empty {
            return None;
        }
        let whole = |x: &Var<'t>| x.clone().part(self.forms.complete).view(self.forms.windows);
        let keys = whole(&key);
        let gates = whole(&gate).add(tape.read(self.bias)).named("gates of windows");
        let mut held = Vec::new();
        let pooled = if self.forms.overlaps {
            let zeros = |name, like: &Var<'t>| tape.constant(name, self.forms.both, like.dtype());
            let (both, of_gates) =
                (zeros("keys of two windows", &keys), zeros("gates of two windows", &gates));
            let both = self.forms.laid_out(both, &keys);
            let of_gates = self.forms.laid_out(of_gates, &gates);
            let pooled = self.forms.pooled(&both, &of_gates);
            held.extend([both, of_gates]);
            pooled
        } else {
            self.forms.pooled(&keys, &gates)
        };
        let compressed = self.norm.run(&{ pooled }).named("compressed keys");
        held.push(self.positions.numbers(tape));
        let tables = self.positions.tables(tape, compressed.dtype());
        let compressed =
            self.turn.run(&{ compressed }.view(self.forms.keys), &tables).named("compressed keys");
        let bias = self.biases((x, narrow), (compressed.dtype(), mask.map(Var::dtype)), &mut held);
        Some((compressed, bias))
    }

    /// Keys that queries do not see, as a number to add.
    fn biases<'t>(
        &self,
        (x, narrow): (&Var<'t>, &Var<'t>),
        (format, of_mask): (DType, Option<DType>),
        held: &mut Vec<Var<'t>>,
    ) -> Option<Var<'t>> {
        let tape = x.tape();
        let numbers = |form| tape.constant("numbers of keys", form, DType::Int64);
        let made = match &self.seen {
            Seen::All([keys, seen, flags]) => {
                held.push(numbers(*keys));
                held.push(chooser::thresholds(tape, self.queries));
                let zeros = tape.constant("keys in sight", *seen, format);
                let hidden = tape.constant("keys out of sight", *flags, DType::Mask);
                let made = tape.constant("keys in sight", *seen, format);
                drop((zeros, hidden));
                made
            }
            Seen::Chosen(chooser, [best, seen]) => {
                let chosen = chooser.run((x, narrow));
                tape.at(COMPRESSED_KEYS, sources::PYTORCH_AUTOGRAD);
                let valid = tape.constant("keys that are chosen", *best, DType::Mask);
                let none = numbers(*best);
                let safe = numbers(*best);
                drop(none);
                held.extend([chosen, valid, safe]);
                tape.constant("keys in sight", *seen, format)
            }
        };
        of_mask.map(|of_mask| made.cast(of_mask))
    }
}
