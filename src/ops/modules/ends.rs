//! Both ends: embedding and tables, final norm, head and loss.

use super::norm::Norm;
use super::{Build, FP32, Linear, Shapes};
use crate::config::{AttentionKernel, PositionEmbedding};
use crate::ops::LOSS_CHUNK_TOKENS;
use crate::ops::tape::{Form, LOG_SOFTMAX, Param, SCALE, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::{DType, to_f64};

/// What all blocks read beside the hidden states.
#[derive(Debug, Default)]
pub(crate) struct Tables<'t> {
    /// Rotary cosines and sines.
    pub rotary: Option<(Var<'t>, Var<'t>)>,
    /// What is added to scores.
    pub mask: Option<Var<'t>>,
    /// What the model's `forward` holds until it returns.
    pub held: Vec<Var<'t>>,
}

impl<'t> Tables<'t> {
    /// What blocks read, in the order cosines, sines, mask, and what else their keyword arguments hold.
    pub fn shared(&self) -> Vec<Var<'t>> {
        let rotary = self.rotary.iter().flat_map(|(cos, sin)| [cos.clone(), sin.clone()]);
        rotary.chain(self.mask.clone()).chain(self.held.get(1).cloned()).collect()
    }

    /// Which of them there are: rotary tables, mask.
    pub fn shape(&self) -> (bool, bool) {
        (self.rotary.is_some(), self.mask.is_some())
    }

    /// The tables again, from what [`Self::shared`] listed.
    pub fn of(shared: Vec<Var<'t>>, (rotary, mask): (bool, bool)) -> Self {
        let mut shared = shared.into_iter();
        let rotary = if rotary { shared.next().zip(shared.next()) } else { None };
        Self { rotary, mask: if mask { shared.next() } else { None }, held: shared.collect() }
    }
}

/// Embedding, tables, final norm, head and loss.
#[derive(Debug)]
pub(crate) struct Ends {
    embedding: Param,
    final_norm: Option<Norm>,
    head: Option<Linear>,
    shapes: Shapes,
    positions: Form,
    table: [Form; 3],
    mask: [Form; 2],
    chunk: Form,
    padded: Form,
    fused: bool,
    rotary: bool,
    masked: bool,
    batched: bool,
    flops: f64,
}

impl Ends {
    /// Declares the embedding's parameters; [`Self::finish`] those of the head.
    pub fn new(build: &Build<'_>) -> Self {
        let (with, model, tape) = (build.with, build.model(), build.tape);
        tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
        let embedding = build.parameter("token embedding", [with.vocab(), with.h()]);
        let (s, b) = (with.s(), with.b());
        let tokens = with.seq_length.saturating_mul(with.micro_batch_size);
        let width = with.head_dim().1;
        Self {
            embedding,
            final_norm: None,
            head: None,
            shapes: build.shapes,
            positions: tape.form([s]),
            table: [tape.form([s, Dim("head_dim", width)]), tape.form([s, super::half(width)]), tape.form([super::half(width)])],
            mask: [tape.form([b, Dim("queries", s.1), Dim("keys", s.1)]), tape.form([b, s, Dim("one", 1)])],
            chunk: tape.form([Dim("loss chunk", LOSS_CHUNK_TOKENS.min(tokens)), with.vocab()]),
            padded: tape.form([b, Dim("seq_length + 1", with.seq_length.saturating_add(1))]),
            fused: build.fused(),
            rotary: model.position_embedding == PositionEmbedding::Rotary,
            masked: with.attention == AttentionKernel::Standard,
            batched: with.micro_batch_size > 1,
            flops: 2.0 * to_f64(tokens) * to_f64(model.hidden_size) * to_f64(model.vocab_size),
        }
    }

    /// Declares final norm and head.
    pub fn finish(&mut self, build: &Build<'_>) {
        let (with, model) = (build.with, build.model());
        build.tape.at("Final norm", sources::PYTORCH_AUTOGRAD);
        self.final_norm = model.final_norm.then(|| Norm::new(build, with.h(), build.shapes.rows));
        build.tape.at("Output head and loss", sources::PYTORCH_AUTOGRAD);
        self.head = Some(if model.tie_word_embeddings {
            Linear { weight: self.embedding, bias: None, form: build.shapes.logits, flops: self.flops }
        } else {
            build.linear(("head weight", None), (with.vocab(), with.h()), build.shapes.logits)
        });
    }

    /// Buffers that the modules register: rotary frequencies, twice.
    pub fn buffers<'t>(&self, tape: &'t Tape) -> Vec<Var<'t>> {
        let frequencies = |name| tape.constant(name, self.table[2], FP32);
        if self.rotary { vec![frequencies("rotary frequencies"), frequencies("first rotary frequencies")] } else { Vec::new() }
    }

    /// Embedded tokens, and the tables of the step.
    pub fn embed<'t>(&self, tape: &'t Tape, ids: &Var<'t>) -> (Var<'t>, Tables<'t>) {
        tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
        let embedded = tape.embedding(ids.clone(), self.embedding, self.shapes.hidden);
        let mut tables = Tables { held: vec![embedded.clone()], ..Tables::default() };
        tables.held.push(tape.constant("position ids", self.positions, DType::Int64));
        if self.masked {
            tables.mask = Some(self.causal_mask(tape, embedded.dtype()));
        }
        if self.rotary {
            tables.rotary = Some(self.rotary(tape, embedded.dtype()));
        }
        (embedded, tables)
    }

    fn causal_mask<'t>(&self, tape: &'t Tape, dtype: DType) -> Var<'t> {
        let flags = |name| tape.constant(name, self.mask[0], DType::Mask);
        let same = flags("same sequence");
        let both = flags("same sequence and not padded");
        drop(same);
        let before = flags("not later");
        let mask = flags("visible");
        drop((both, before));
        let _flags = mask;
        tape.constant("causal mask", self.mask[0], dtype)
    }

    fn rotary<'t>(&self, tape: &'t Tape, dtype: DType) -> (Var<'t>, Var<'t>) {
        let [whole, half, _] = self.table;
        let numbers = tape.constant("positions in fp32", self.positions, FP32);
        let angles = tape.constant("angles", half, FP32);
        drop(numbers);
        let doubled = tape.constant("angles", whole, FP32);
        let cos = tape.constant("cosines", whole, FP32).apply(SCALE);
        let sin = tape.constant("sines", whole, FP32).apply(SCALE);
        let tables = (cos.clone().cast_as(dtype, "rotary cosines"), sin.clone().cast_as(dtype, "rotary sines"));
        drop((angles, doubled));
        tables
    }

    /// The last block's output through the final norm; what the model's `forward` held is let go.
    pub fn last_norm<'t>(&self, tape: &'t Tape, hidden: Var<'t>, tables: Tables<'t>) -> Var<'t> {
        tape.at("Final norm", sources::PYTORCH_AUTOGRAD);
        let normed = match &self.final_norm {
            Some(norm) => norm.run(&hidden),
            None => hidden,
        };
        drop(tables);
        normed
    }

    /// The loss.
    pub fn loss<'t>(&self, tape: &'t Tape, hidden: Var<'t>) -> Option<Var<'t>> {
        tape.at("Output head and loss", sources::PYTORCH_AUTOGRAD);
        let head = self.head.as_ref()?;
        Some(if self.fused { self.chunked(tape, &hidden, head) } else { self.full(tape, &hidden, head) })
    }

    /// `ForCausalLMLoss`: logits in fp32, shifted labels, cross-entropy.
    fn full<'t>(&self, tape: &'t Tape, hidden: &Var<'t>, head: &Linear) -> Var<'t> {
        let logits = head.run(hidden).named("logits");
        let wide = logits.clone().cast_as(FP32, "logits in fp32");
        let padded = tape.constant("padded labels", self.padded, DType::Int64);
        // Dropping the first label of a single sequence leaves a view of the padded ones; of several, a copy.
        let labels = if self.batched { tape.constant("labels", self.shapes.tokens, DType::Int64) } else { padded.clone() };
        let log_probabilities = wide.clone().apply(LOG_SOFTMAX);
        let loss = tape.nll_loss(log_probabilities, labels, self.shapes.scalar);
        drop((padded, wide, logits));
        loss
    }

    /// Linear and cross-entropy in chunks: gradients of both operands are made in forward.
    fn chunked<'t>(&self, tape: &'t Tape, hidden: &Var<'t>, head: &Linear) -> Var<'t> {
        let weight = tape.read(head.weight);
        drop(tape.constant("chunk of logits", self.chunk, FP32));
        let gradients = [
            tape.constant("gradient of head input", hidden.form(), hidden.dtype()),
            tape.constant("gradient of head weight", weight.form(), weight.dtype()),
        ];
        tape.prepared([hidden, &weight], gradients, self.shapes.scalar)
    }
}
