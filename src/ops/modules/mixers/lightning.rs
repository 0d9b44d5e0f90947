//! Lightning attention (`MiniMaxLightningAttention` in `models/minimax/modeling_minimax.py`):
//! blocks of tokens, attention without a softmax within each, and a state from block to block.

use super::super::norm::Norm;
use super::super::state::{Sizes, source};
use super::super::{Build, Linear};
use super::turns::{more, turns};
use crate::config::Mixer;
use crate::ops::tape::{Form, Order, SIGMOID, SILU, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources::Source;
use crate::units::DType;

/// A layer of lightning attention.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Lightning {
    norm: Norm,
    input: Linear,
    output: Linear,
    gate: Linear,
    /// The format of decays, which are buffers.
    decays_in: DType,
    forms: Forms,
    /// All blocks but the last, and the last.
    block: Block,
    last_block: Block,
    blocks: u64,
    /// There are several heads, and several sequences.
    several: [bool; 2],
    source: Source,
}

/// Shapes around the blocks.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, s, h, 3d]` and `[b, s, h, d]`.
    joined: Form,
    rows: Form,
    /// `[b, h, s, d]` and `[b, s, h · d]`.
    heads: Form,
    merged: Form,
    /// `[b, h, d, d]` and `[h, 1, 1]`.
    state: Form,
    decay: Form,
}

/// Shapes of one block.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// `[b, h, c, d]` and `[b, h, c, c]`.
    tokens: Form,
    scores: Form,
}

impl Block {
    fn new(build: &Build<'_>, sizes: &Sizes, tokens: u64) -> Self {
        let (b, h, d, tape) = (build.with.b(), sizes.heads, sizes.head, build.tape);
        let own = Dim("tokens of a block", tokens);
        Self {
            tokens: tape.form([b, h, own, d]),
            scores: tape.form([b, h, own, Dim("tokens that each sees", tokens)]),
        }
    }
}

/// Tensors that a loop's last turn leaves under names.
#[derive(Debug, Default)]
struct Names<'t> {
    decay: Option<Var<'t>>,
    scores: Option<Var<'t>>,
    within: Option<Var<'t>>,
    before: Option<Var<'t>>,
    output: Option<Var<'t>>,
    update: Option<Var<'t>>,
}

impl Lightning {
    pub fn new(build: &Build<'_>, mixer: &Mixer) -> Self {
        let (sizes, source, tape) = (Sizes::of(build.with, mixer), source(mixer.kind), build.tape);
        let (b, s, h, d) = (build.with.b(), build.with.s(), sizes.heads, sizes.head);
        let three = |name, width: Dim| Dim(name, width.1.saturating_mul(3));
        let length = mixer.chunk_size.max(1);
        let blocks = s.1.div_ceil(length).max(1);
        tape.at("State", source);
        let decays_in = build.with.made_in;
        let (of_block, seen, one) =
            (Dim("tokens of a block", length), Dim("tokens that each sees", length), Dim("one", 1));
        let decay = tape.form([h, one, one]);
        let of_tokens = tape.form([h, of_block, one]);
        let norm = Norm::new(build, sizes.inner, build.shapes.rows);
        let buffers = [decay, of_tokens, of_tokens, tape.form([h, of_block, seen])];
        for form in buffers {
            tape.buffer("decays", form, decays_in);
        }
        tape.at("Projection into the state", source);
        let columns = three("columns into the state", sizes.inner);
        let input = build.linear(
            ("columns into the state", None),
            (columns, sizes.hidden),
            tape.form([b, s, columns]),
        );
        tape.at("Projection out of the state", source);
        let output = build.linear(
            ("state output weight", None),
            (sizes.hidden, sizes.inner),
            build.shapes.hidden,
        );
        let merged = tape.form([b, s, sizes.inner]);
        let gate = build.linear(("state gate weight", None), (sizes.inner, sizes.hidden), merged);
        let forms = Forms {
            joined: tape.form([b, s, h, three("columns of a head", d)]),
            rows: tape.form([b, s, h, d]),
            heads: tape.form([b, h, s, d]),
            merged,
            state: tape.form([b, h, d, Dim("columns of the state", d.1)]),
            decay,
        };
        Self {
            norm,
            input,
            output,
            gate,
            decays_in,
            forms,
            block: Block::new(build, &sizes, length),
            last_block: Block::new(
                build,
                &sizes,
                s.1.saturating_sub((blocks - 1).saturating_mul(length)).max(1),
            ),
            blocks,
            several: [h.1 > 1, b.1 > 1],
            source,
        }
    }

    /// Its output; the block holds the last state until its own end, with the graph that made it.
    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>, held: &mut Vec<Var<'t>>) -> Var<'t> {
        tape.at("Projection into the state", self.source);
        let joined =
            self.input.run(x).apply(SILU).named("queries, keys and values").view(self.forms.joined);
        tape.at("State", self.source);
        let rows = joined.clone().split([self.forms.rows; 3]);
        let heads = rows.map(|rows| rows.swap(self.forms.heads, self.several[0]));
        let mut names = Names::default();
        let seen = self.blocks(tape, &heads, &mut names, held);
        let seen = seen.merge(self.forms.merged, self.several[0]);
        let normed = self.norm.run(&{ seen });
        tape.at("Projection out of the state", self.source);
        let gated = self.gate.run(x).apply(SIGMOID).mul(normed.clone()).named("gated values");
        drop(normed);
        self.output.run(&{ gated })
    }

    /// Tensors that all blocks see, behind each other.
    fn blocks<'t>(
        &self,
        tape: &'t Tape,
        [query, key, value]: &[Var<'t>; 3],
        names: &mut Names<'t>,
        held: &mut Vec<Var<'t>>,
    ) -> Var<'t> {
        let mut state = tape.constant("state", self.forms.state, value.dtype());
        let (mut outputs, mut further, mut done) = (Vec::new(), Vec::new(), 0_u64);
        for blocks in turns(self.blocks) {
            done = done.saturating_add(blocks);
            let last = done == self.blocks;
            let block = if last { &self.last_block } else { &self.block };
            let [query, key, value] =
                [query, key, value].map(|of_all| of_all.clone().part(block.tokens));
            names.decay = Some(self.decay(tape));
            let scores = self.product((&query, false), (&key, false), (block.scores, true), blocks);
            names.scores = Some(scores.clone());
            let scores = { scores }.times_buffer(self.decays_in);
            names.within = Some(self.product(
                ({ &scores }, true),
                (&value, false),
                (block.tokens, false),
                blocks,
            ));
            drop(scores);
            let faded = query.clone().times_buffer(self.decays_in);
            names.before =
                Some(self.product((&faded, true), (&state, true), (block.tokens, false), blocks));
            drop(faded);
            let (Some(before), Some(within)) = (names.before.clone(), names.within.clone()) else {
                continue;
            };
            let output = before.add(within);
            names.output = Some(output.clone());
            if blocks > 1 {
                further.push(tape.constant(
                    "outputs of several blocks",
                    more(tape, blocks, block.tokens),
                    output.dtype(),
                ));
            }
            outputs.push(output);
            let (key, value) = if last { (key.detached(), value.detached()) } else { (key, value) };
            let faded = key.times_buffer(self.decays_in);
            let update = self.update(tape, (faded, &value), blocks, last.then_some(&mut *held));
            names.update = Some(update.clone());
            let Some(decay) = names.decay.clone() else { continue };
            let before = if last { state.clone().detached() } else { state.clone() };
            if last && state.wants_gradient() {
                held.extend(tape.beside(decay.clone()));
            }
            let kept = before.mul(decay);
            if blocks > 1 {
                kept.saves(&tape.constant(
                    "decays of several blocks",
                    more(tape, blocks, self.forms.decay),
                    self.decays_in,
                ));
            }
            state = kept.add(update).named("state");
        }
        held.push(state);
        let parts = Var::stacked(&outputs, self.forms.heads);
        parts.unwrap_or_else(|| value.clone())
    }

    /// The factors by which a block's state fades.
    fn decay<'t>(&self, tape: &'t Tape) -> Var<'t> {
        let of_block = {
            let _rates = tape.constant("rates", self.forms.decay, self.decays_in);
            tape.constant("rates of a block", self.forms.decay, self.decays_in)
        };
        let decay = tape.constant("decay of a block", self.forms.decay, self.decays_in);
        drop(of_block);
        decay
    }

    /// A product of all heads' matrices; operands that are no parts of a whole are kept for each
    /// block of a turn.
    fn product<'t>(
        &self,
        (a, a_is_own): (&Var<'t>, bool),
        (b, b_is_own): (&Var<'t>, bool),
        (form, transposed): (Form, bool),
        blocks: u64,
    ) -> Var<'t> {
        let made = a.clone().products(b.clone(), form, (self.several[1], transposed));
        let copies = self.several == [true; 2];
        for (own, other, kept) in [(a, b, a_is_own || copies), (b, a, b_is_own || copies)] {
            if blocks > 1 && kept && other.wants_gradient() {
                let format = a.tape().multiplies_in(own.dtype());
                made.saves(&a.tape().constant(
                    "operands of several blocks",
                    more(a.tape(), blocks, own.form()),
                    format,
                ));
            }
        }
        count_more(a.tape(), (form, a.form()), blocks);
        made
    }

    /// Keys times values of a block, which are added to the state; of the last block they are held.
    fn update<'t>(
        &self,
        tape: &'t Tape,
        (key, value): (Var<'t>, &Var<'t>),
        blocks: u64,
        held: Option<&mut Vec<Var<'t>>>,
    ) -> Var<'t> {
        let copies = self.several == [true; 2];
        let _given = key.clone();
        let copied = |x: Var<'t>| if copies { x.copy() } else { x };
        let value = copied(value.clone().for_product()).ordered(Order::Plain);
        let key = copied(key.for_product()).ordered(Order::Plain);
        let made = key.clone().matrices_of_columns(value.clone(), self.forms.state);
        if let Some(held) = held {
            held.extend([key, value].into_iter().filter_map(|kept| tape.beside(kept)));
            return made;
        }
        if blocks > 1 {
            tape.count_product(
                more(tape, blocks, self.forms.state),
                tape.last_dim(self.block.scores).1,
            );
        }
        for (kept, own) in [(key, true), (value, copies)] {
            if blocks > 1 && own {
                made.saves(&tape.constant(
                    "operands of several blocks",
                    more(tape, blocks, kept.form()),
                    kept.dtype(),
                ));
            }
        }
        made
    }
}

/// Counts a turn's products but one.
fn count_more(tape: &Tape, (form, of): (Form, Form), blocks: u64) {
    if blocks > 1 {
        tape.count_product(more(tape, blocks, form), tape.last_dim(of).1);
    }
}
