//! The scores' half of an attention (transformers 5.23, `integrations/sdpa_attention.py`,
//! `eager_attention_forward` of the models).

mod eager;
mod in_fp32;
mod masked;

use std::rc::Rc;

use super::sinks::Sinks;
use super::{Build, FP32, Shapes, Tables};
use crate::config::{AttentionKernel, EmbeddedParts, Recompute, ScoreStyle};
use crate::ops::tape::{Again, Attends, EFFICIENT_ROWS, Form, Order, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::stacks::SelectiveRecompute;
use crate::units::DType;

/// Names of self-attention's core: as one kernel, and written out.
const OWN: [&str; 2] = ["Attention core (FlashAttention)", "Attention core"];

/// Names of the core of attention to an encoder's states, which meets as many tokens as these have.
pub(crate) const CROSSES: [&str; 2] =
    ["Cross-attention core (FlashAttention)", "Cross-attention core"];

/// How keys and values are repeated for groups of query heads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Repeat {
    /// Every query head has its own.
    None,
    /// A single head: `expand` and `reshape` leave a view.
    View,
    /// A copy for each group's query heads.
    Copy,
}

impl Repeat {
    /// Returns how `kv` heads are repeated for so many query heads.
    pub const fn of(heads: Dim, kv: Dim) -> Self {
        match kv.1 {
            same if same == heads.1 => Self::None,
            1 => Self::View,
            _ => Self::Copy,
        }
    }

    /// Returns the tensor of key heads as one of query heads, of that form (`repeat_kv`).
    pub fn run(self, x: Var<'_>, form: Form) -> Var<'_> {
        match self {
            Self::None => x,
            Self::View => x.expand(form),
            Self::Copy => x.repeat(form),
        }
    }
}

/// The scores' half of an attention: from queries, keys and values to the output projection's
/// input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Core {
    /// Its names as one kernel, and written out.
    names: [&'static str; 2],
    flash: bool,
    repeat: Repeat,
    /// Several sequences: products of tensors that are not in order copy them.
    batched: bool,
    several_heads: bool,
    /// Parts of one length one after the other, which attend to themselves alone.
    in_parts: bool,
    soft_cap: bool,
    /// Biases of how far keys lie are added to scores.
    adds_biases: bool,
    /// The biases are added anew, without a batch.
    adds_anew: bool,
    /// Attention is written out, and holds scores to its end.
    holds_scores: bool,
    /// Selective recomputation: scores and probabilities are made again in backward.
    again: bool,
    sinks: Option<Sinks>,
    /// Layers with a window are given their mask.
    masks: bool,
    /// `[b, 1, s, keys]`, and with keys padded as the memory-efficient kernel pads its biases.
    biases: [Form; 2],
    /// Some probabilities are dropped.
    drops: bool,
    /// How scores are made of queries and keys.
    scores: ScoreStyle,
    /// Softmax in fp32 whatever the format (all but GPT-2).
    wide: bool,
    /// Each query's largest score is subtracted before the softmax.
    less_largest: bool,
    /// `[b, a, s, 1]`.
    largest: Form,
    /// How memory holds the kernel's output.
    order: Order,
    /// `[b, a, s, d]` and `[b, s, a · d]`.
    output: [Form; 2],
    /// `[b, a, s]` with queries padded, as the memory-efficient kernel pads its log-sum-exp.
    padded: Form,
    /// Numbers that say where random numbers of dropout begin.
    random: [Form; 2],
    shapes: Shapes,
}

impl Again for Core {
    fn run<'t>(&self, _tape: &'t Tape, inputs: Vec<Var<'t>>) {
        if let [q, k, v, mask @ ..] = inputs.as_slice() {
            drop(self.eager((q, k, v), (mask.first(), None)));
        }
    }
}

impl Core {
    pub fn new(build: &Build<'_>) -> Self {
        let with = build.with;
        let (heads, kv, value) = (with.own_heads(), with.own_kv_heads(), with.value_dim());
        Self {
            names: OWN,
            flash: with.attention == AttentionKernel::Flash
                && !build.model().family.modules().encoder.writes_attention,
            adds_biases: matches!(
                build.model().family.modules().encoder.embedding,
                EmbeddedParts::WithDistances | EmbeddedParts::WithBiases
            ),
            adds_anew: build.model().family.modules().encoder.embedding
                == EmbeddedParts::WithBiases,
            holds_scores: build.model().family.modules().encoder.writes_attention
                && build.model().family.modules().encoder.embedding != EmbeddedParts::WithBiases
                && !build.model().family.modules().masks_by_values,
            repeat: Repeat::of(heads, kv),
            batched: with.micro_batch_size > 1,
            several_heads: heads.1 > 1,
            in_parts: false,
            again: with.recompute == Recompute::Selective
                && with.stack.selective == SelectiveRecompute::AttentionCore,
            soft_cap: build.model().attn_logit_softcapping,
            sinks: None,
            masks: with.masks_windows && build.model().is_causal(),
            biases: masked::biases(build),
            drops: with.dropout.attention,
            scores: build.model().family.modules().scores,
            wide: build.model().family.modules().softmax_in_fp32,
            less_largest: build.model().family.modules().subtracts_largest_score,
            largest: build.tape.form([with.b(), heads, with.s(), Dim("largest", 1)]),
            order: if heads.1 > 1 { Order::Swapped } else { Order::Plain },
            padded: {
                let queries = with.s().1;
                let padded = if build.tape.plays_tiles() {
                    queries.next_multiple_of(EFFICIENT_ROWS)
                } else {
                    queries
                };
                build.tape.form([with.b(), heads, Dim("padded queries", padded)])
            },
            random: [2, 1].map(|numbers| build.tape.form([Dim("numbers", numbers)])),
            output: [
                build.tape.form([with.b(), heads, with.s(), value]),
                build.tape.form([with.b(), with.s(), heads, value]),
            ],
            shapes: build.shapes,
        }
    }

    /// A core over heads of that shape, `[images, heads, patches, width]`, whose tokens all see
    /// each other: that of a tower. Its operations keep the name that they have.
    pub fn of_tower(build: &Build<'_>, [images, heads, rows, width]: [Dim; 4]) -> Self {
        let (with, tape) = (build.with, build.tape);
        let queries = tape.form([images, heads, rows, width]);
        let shapes = Shapes {
            queries,
            keys: queries,
            values: queries,
            repeated: [queries; 2],
            statistics: tape.form([images, heads, rows]),
            scores: tape.form([images, heads, rows, Dim("patches seen", rows.1)]),
            ..build.shapes
        };
        let padded =
            if tape.plays_tiles() { rows.1.next_multiple_of(EFFICIENT_ROWS) } else { rows.1 };
        Self {
            flash: with.attention == AttentionKernel::Flash,
            repeat: Repeat::None,
            batched: images.1 > 1,
            several_heads: heads.1 > 1,
            in_parts: false,
            soft_cap: false,
            adds_anew: false,
            adds_biases: false,
            holds_scores: false,
            again: false,
            names: super::tower::OPERATIONS_OF_CORE,
            sinks: None,
            masks: false,
            biases: [shapes.scores; 2],
            drops: false,
            scores: ScoreStyle::AsQueries,
            wide: true,
            less_largest: false,
            largest: tape.form([images, heads, rows, Dim("largest", 1)]),
            order: if heads.1 > 1 { Order::Swapped } else { Order::Plain },
            output: [queries, tape.form([images, rows, heads, width])],
            padded: tape.form([images, heads, Dim("padded queries", padded)]),
            random: [2, 1].map(|numbers| tape.form([Dim("numbers", numbers)])),
            shapes,
        }
    }

    /// [`Self::of_tower`] over so many parts of that many patches, which stand in one row and
    /// attend to themselves alone.
    pub fn of_parts(
        build: &Build<'_>,
        [heads, width]: [Dim; 2],
        (count, length): (u64, u64),
    ) -> Self {
        let one = Dim("one", 1);
        let rows = Dim("patches", length.saturating_mul(count));
        let core = Self::of_tower(build, [one, heads, rows, width]);
        let padded =
            if build.tape.plays_tiles() { length.next_multiple_of(EFFICIENT_ROWS) } else { length };
        let scores = build.tape.form([one, heads, rows, Dim("patches seen", length)]);
        Self {
            in_parts: count > 1,
            padded: build.tape.form([
                one,
                heads,
                Dim("padded queries", padded.saturating_mul(count)),
            ]),
            shapes: Shapes { scores, ..core.shapes },
            ..core
        }
    }

    /// A core whose probabilities are in the format of its scores.
    pub fn narrow(self, narrow: bool) -> Self {
        Self { wide: self.wide && !narrow, ..self }
    }

    /// A core with such sinks, if any.
    pub fn with_sinks(self, sinks: Option<Sinks>) -> Self {
        Self { sinks, ..self }
    }

    /// A core that is written out, over keys of those shapes and with those sinks.
    pub fn written_over(self, shapes: Shapes, sinks: Sinks) -> Self {
        Self { shapes, sinks: Some(sinks), flash: false, holds_scores: false, ..self }
    }

    /// A core for queries of a decoder and keys of its encoder.
    pub fn across(self) -> Self {
        Self { names: CROSSES, ..self }
    }

    /// A core for keys and values that every query head has.
    pub fn without_repeating(self) -> Self {
        Self { repeat: Repeat::None, ..self }
    }

    /// The attention output `[b, s, a · d]`, and the probabilities that the module returns beside
    /// it.
    pub fn run<'t>(
        &self,
        (q, k, v): (&Var<'t>, &Var<'t>, &Var<'t>),
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        if self.flash && self.masks && tables.mask.is_some() {
            return (self.masked(q, k, v), None);
        }
        if self.flash {
            return (self.flash(q, k, v), None);
        }
        if self.in_parts {
            return (self.written_in_parts(q, k, v), None);
        }
        let run = || {
            self.eager(
                (q, k, v),
                (tables.mask.as_ref(), tables.alibi.as_ref().filter(|_| self.adds_biases)),
            )
        };
        let (output, weights) = if self.again {
            let inputs: Vec<&Var<'_>> = [q, k, v].into_iter().chain(&tables.mask).collect();
            q.tape().checkpoint_part(Rc::new(*self), &inputs, run)
        } else {
            run()
        };
        (output, Some(weights))
    }

    /// One kernel: saves queries, keys, values, output and one fp32 log-sum-exp per query and head.
    fn flash<'t>(&self, q: &Var<'t>, k: &Var<'t>, v: &Var<'t>) -> Var<'t> {
        let tape = q.tape();
        tape.at(self.names[0], sources::FLASH_ATTENTION_2022);
        if tape.is_cuda() {
            return self.scaled_dot_product(q, k, v);
        }
        let results = [
            ("attention output", self.output[0], q.dtype()),
            ("log-sum-exp", self.shapes.statistics, FP32),
        ];
        let attends = if self.in_parts { Attends::Others } else { Attends::Flash };
        let output = tape.kernel(&[q, k, v], &results, 0, (self.order, true, attends));
        output.merge(self.output[1], self.several_heads)
    }

    /// `scaled_dot_product_attention`, which autocast runs in 16 bits: flash attention there, the
    /// memory-efficient kernel in fp32. Both save the state of random numbers and where dropout
    /// stands in them, of a few bytes (`aten/src/ATen/native/transformers/cuda/ attention.cu`).
    fn scaled_dot_product<'t>(&self, q: &Var<'t>, k: &Var<'t>, v: &Var<'t>) -> Var<'t> {
        let tape = q.tape();
        // The last operand is cast first.
        let v = v.clone().for_product();
        let k = k.clone().for_product();
        let q = q.clone().for_product();
        // The flash kernel knows values that are as wide as keys alone.
        let flash = q.dtype() != FP32 && tape.last_dim(q.form()).1 == tape.last_dim(v.form()).1;
        let (statistics, state) =
            (if flash { self.shapes.statistics } else { self.padded }, self.random);
        let made =
            [("attention output", self.output[0], q.dtype()), ("log-sum-exp", statistics, FP32)];
        let numbers = |name, form| (name, form, DType::Int64);
        let (kernel, main, results) = if flash {
            let [of_state, one] = state;
            (
                Attends::Flash,
                0,
                [made[0], made[1], numbers("random state", of_state), numbers("unused state", one)],
            )
        } else {
            let one = state[1];
            (
                Attends::Efficient,
                2,
                [numbers("seed of dropout", one), numbers("dropout offset", one), made[0], made[1]],
            )
        };
        // Flash attention's output lies in memory as the queries do.
        let order = if flash { q.order() } else { self.order };
        let kernel = if self.in_parts { Attends::Others } else { kernel };
        let output = tape.kernel(&[&q, &k, &v], &results, main, (order, true, kernel));
        drop((q, k, v));
        output.merge(self.output[1], self.several_heads)
    }

    /// `repeat_kv`: a copy for each group's query heads; one head alone is repeated without a copy.
    fn repeated<'t>(&self, x: &Var<'t>, form: Form) -> Var<'t> {
        self.repeat.run(x.clone(), form)
    }
}
