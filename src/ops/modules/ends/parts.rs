//! Losses whose logits are made part by part of each sequence, or by tiles (torchtune 0.6,
//! `TransformerDecoder.chunked_output` and `CEWithChunkedOutputLoss`): all logits are there before
//! the first loss is computed, and one part at a time is in fp32.

use super::Ends;
use crate::ops::modules::{Build, FP32, Linear};
use crate::ops::tape::{Form, HeadAndLoss, LOG_SOFTMAX, SCALE, Tape, Tile, Var};
use crate::ops::tensor::Dim;
use crate::stacks::LossKernel;
use crate::units::DType;

/// Rows and columns that one lock of Cut Cross-Entropy's kernels stands for
/// (`cce_backward_kernel`).
const LOCKED: u64 = 128;
const COLUMNS_OF_A_LOCK: u64 = 64;

/// Shapes of one part of each sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartOfLoss {
    /// `[b, part, h]`, `[b, part, v]` and `[b, part]`.
    pub hidden: Form,
    pub logits: Form,
    pub labels: Form,
}

impl PartOfLoss {
    /// The parts that `torch.chunk` makes of a sequence: the last may be shorter.
    pub fn all(build: &Build<'_>) -> Vec<Self> {
        let (LossKernel::OfParts { parts } | LossKernel::ByChunk { parts }) = build.loss() else {
            return Vec::new();
        };
        let (with, tape) = (build.with, build.tape);
        let (b, length) = (with.b(), with.seq_length);
        let size = length.div_ceil(parts.max(1)).max(1);
        let part = |number: u64| {
            let tokens = Dim(
                "part of a sequence",
                size.min(length.saturating_sub(number.saturating_mul(size))),
            );
            Self {
                hidden: tape.form([b, tokens, with.h()]),
                logits: tape.form([b, tokens, with.vocab_part()]),
                labels: tape.form([b, tokens]),
            }
        };
        (0..length.div_ceil(size)).map(part).collect()
    }
}

impl Ends {
    /// Logits of all parts, then the loss of each; what the model's `forward` held is gone by then.
    pub(super) fn of_parts<'t>(&self, tape: &'t Tape, hidden: Var<'t>, head: &Linear) -> Var<'t> {
        let forms: Vec<Form> = self.parts.iter().map(|part| part.hidden).collect();
        let parts = hidden.parts_of(&forms);
        let of_part = |(part, forms): (&Var<'t>, &PartOfLoss)| {
            Linear { form: forms.logits, ..*head }.run(part)
        };
        let logits: Vec<Var<'t>> =
            parts.iter().zip(&self.parts).map(of_part).map(|made| made.named("logits")).collect();
        drop(parts);
        let labels: Vec<Var<'t>> = self
            .parts
            .iter()
            .map(|part| tape.constant("labels", part.labels, DType::Int64))
            .collect();
        let mut total: Option<Var<'t>> = None;
        for (logits, labels) in logits.iter().zip(labels) {
            let loss = if self.compiled {
                self.compiled_loss(tape, logits, labels)
            } else {
                let wide = logits.clone().cast_as(FP32, "logits in fp32");
                tape.nll_loss(wide.clone().apply(LOG_SOFTMAX), labels, self.shapes.scalar)
            };
            total = Some(match total {
                None => loss,
                Some(before) => before.add(loss),
            });
        }
        drop(logits);
        let total = total.unwrap_or_else(|| tape.constant("loss", self.shapes.scalar, FP32));
        total.apply(SCALE).named("loss")
    }

    /// Cut Cross-Entropy as axolotl has it (`axolotl-ai-cloud/ml-cross-entropy`,
    /// `transformers/utils.py`, `cce.py`): labels are shifted and the tokens that have one are
    /// listed; then one kernel reads head input and weight where they are. Whatever scales logits
    /// scales the head's input; their soft cap is the kernel's own.
    pub(super) fn cut<'t>(&self, tape: &'t Tape, hidden: Var<'t>, head: &Linear) -> Var<'t> {
        let (logits, labels, states) = self.forms.shifted;
        let (logits, labels, states) = (tape.form(logits), tape.form(labels), tape.form(states));
        let hidden = if self.modules.scales_logits {
            hidden.apply(SCALE).named("head input")
        } else {
            hidden
        };
        let (tokens, words, width) =
            (tape.elements(labels), tape.last_dim(logits), tape.last_dim(states));
        let mask = tape.constant("tokens with a label", labels, DType::Mask);
        // Row and column of every one, in 64 bits and then in 32.
        let places = tape.constant(
            "places of labels",
            tape.form([Dim("row and column", 2), Dim("tokens", tokens)]),
            DType::Int64,
        );
        drop(mask);
        let short = tape.constant("places of labels", places.form(), FP32);
        drop(places);
        let valids = tape.constant("tokens that count", labels, DType::Int64);
        drop(short);
        let locks = |of: u64, by: u64| {
            tape.form([Dim("locks", of.div_ceil(LOCKED)), Dim("columns of locks", by)])
        };
        let columns = width.1.div_ceil(COLUMNS_OF_A_LOCK);
        let cut = HeadAndLoss {
            tokens: labels,
            words: tape.form([words]),
            locks: [locks(tokens, 1), locks(tokens, columns), locks(words.1, columns)],
            logits,
        };
        let weight = tape.read(head.weight);
        tape.cut([&hidden, &weight], (cut, self.shapes.scalar), &valids).apply(SCALE).named("loss")
    }

    /// TRL 1.16 (`add_fused_lm_head` in `trainer/utils.py`): the hidden states that have a label
    /// are gathered, and log-probabilities made of them by tiles.
    pub(super) fn in_tiles<'t>(
        &self,
        tape: &'t Tape,
        hidden: Var<'t>,
        head: &Linear,
        [tokens, columns]: [u64; 2],
    ) -> Var<'t> {
        let (logits, labels, states) = self.forms.shifted;
        let (logits, labels, states) = (tape.form(logits), tape.form(labels), tape.form(states));
        let mask = tape.constant("tokens with a label", labels, DType::Mask);
        let places = tape.constant("places of labels", labels, DType::Int64);
        let chosen =
            hidden.clone().slice(states).gather(&places, states).named("head input of labels");
        let targets = tape.constant("labels", labels, DType::Int64);
        let weight = tape.read(head.weight);
        let rows = Dim("tokens of a tile", tokens.min(tape.elements(labels)));
        let columns = Dim("columns of a tile", columns);
        let width = tape.last_dim(states);
        let tile = Tile {
            logits: tape.form([rows, columns]),
            input: tape.form([rows, width]),
            weight: tape.form([columns, width]),
            format: tape.multiplies_in(chosen.dtype()),
        };
        let log_probabilities =
            tape.by_tiles([&chosen, &weight], (labels, logits), (tile, &targets));
        let loss = log_probabilities.reduce(self.shapes.scalar).apply(SCALE).named("loss");
        drop((chosen, mask, hidden));
        loss
    }
}
