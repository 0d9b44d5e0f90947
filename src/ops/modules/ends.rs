//! Both ends: embedding and tables, final norm, head and loss.

use std::rc::Rc;

use super::adapter::{Past, Prefix, Prompt};
use super::norm::Norm;
use super::{Build, FP32, Linear, Shapes, Split, half};
use crate::config::{
    AttentionKernel, EmbeddingScale, LayerSet, LinearBiases, Modules, PositionEmbedding, PositionIds, Recompute, RotaryTables,
};
use crate::ops::tape::{Form, LOG_SOFTMAX, Param, SCALE, TANH, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::{DType, to_f64};

/// What blocks of one kind read beside the hidden states.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables<'t> {
    /// Rotary cosines and sines.
    pub rotary: Option<(Var<'t>, Var<'t>)>,
    /// What is added to scores.
    pub mask: Option<Var<'t>>,
    /// Linear biases of the scores.
    pub alibi: Option<Var<'t>>,
    /// Position ids, which no block reads but every call holds.
    pub positions: Option<Var<'t>>,
    /// Keys and values that the block's cache holds.
    pub past: Option<Rc<Past<'t>>>,
}

impl<'t> Tables<'t> {
    /// All of them.
    pub fn all(&self) -> Vec<Var<'t>> {
        let rotary = self.rotary.iter().flat_map(|(cos, sin)| [cos.clone(), sin.clone()]);
        rotary.chain([&self.mask, &self.alibi, &self.positions].into_iter().flatten().cloned()).collect()
    }

    /// Tables of this kind again, from what [`Self::all`] listed.
    pub fn again(all: Vec<Var<'t>>, like: [bool; 3]) -> Self {
        let mut all = all.into_iter();
        let rotary = if like[0] { all.next().zip(all.next()) } else { None };
        let mut next = |there: bool| if there { all.next() } else { None };
        Self { rotary, mask: next(like[1]), alibi: next(like[2]), positions: None, past: None }
    }

    /// The keys and values that attention sees: with those of the cache before them, where there is one.
    pub fn seen(&self, own: (Var<'t>, Var<'t>)) -> (Var<'t>, Var<'t>) {
        match &self.past {
            Some(past) => past.update(own),
            None => own,
        }
    }

    /// Which of them there are: rotary, mask, linear biases.
    pub const fn kinds(&self) -> [bool; 3] {
        [self.rotary.is_some(), self.mask.is_some(), self.alibi.is_some()]
    }
}

/// What the model's `forward` has when the first block begins.
#[derive(Debug)]
pub(crate) struct Embedded<'t> {
    /// The first block's input.
    pub hidden: Var<'t>,
    /// Tables of layers that see everything, and of sliding ones.
    pub tables: [Tables<'t>; 2],
    /// What `forward` holds until it returns.
    held: Vec<Var<'t>>,
}

/// Embedding, tables, final norm, head and loss.
#[derive(Debug)]
pub(crate) struct Ends {
    embedding: Param,
    /// Whether the embedding, and whether head and loss are part of it.
    first: bool,
    last: bool,
    /// Format of hidden states sent between stages.
    received: DType,
    positions: Option<Param>,
    /// Into and out of the model's width (`word_embed_proj_dim`).
    projections: Option<[Linear; 2]>,
    embedding_norm: Option<Norm>,
    final_norm: Option<Norm>,
    head: Option<Linear>,
    shapes: Shapes,
    forms: Forms,
    in_chunks: bool,
    rotary: bool,
    alibi: bool,
    /// Masks that are added to scores: none, one, or one more for sliding layers.
    masks: u8,
    /// Sliding layers have rotary tables of their own (gemma3).
    two_tables: bool,
    /// The embedding is multiplied by a buffer (gemma).
    scaled: bool,
    modules: &'static Modules,
    soft_cap: bool,
    batched: bool,
    /// Format of buffers.
    format: DType,
    /// A frozen embedding's output wants a gradient, so that checkpointed blocks have one to hand on: transformers' checkpointing and
    /// peft see to it (`enable_input_require_grads`).
    wanting: bool,
    /// The head gives one number for each token.
    scores: bool,
    /// Tokens that learn and stand before the text.
    prompt: Option<Prompt>,
    /// Keys and values that learn.
    prefix: Option<Prefix>,
    flops: f64,
}

/// Shapes of tables and labels.
#[derive(Clone, Copy, Debug)]
struct Forms {
    positions: Form,
    /// `[s, d]`, `[s, d / 2]` and `[d / 2]` of rotary tables.
    rotary: [Form; 3],
    /// Tables of half the width (gpt-oss).
    by_halves: bool,
    /// One table of complex numbers (DeepSeek-V2).
    complex: bool,
    mask: Form,
    /// `[a, s]` and `[b · a, s]`.
    alibi: [Form; 2],
    chunk: Form,
    padded: Form,
}

impl Forms {
    fn new(build: &Build<'_>) -> Self {
        let (with, model, tape) = (build.with, build.model(), build.tape);
        let (s, b) = (with.s(), with.b());
        let tokens = with.seq_length.saturating_mul(with.micro_batch_size);
        let width = model.mla.map_or(model.rotary_dim.unwrap_or(model.head_dim), |mla| mla.qk_rope_head_dim);
        let heads = with.own_heads();
        let chunk = build.kernels().loss.chunk_tokens().unwrap_or(tokens);
        let tables = model.family.modules().rotary_tables;
        let by_halves = tables == RotaryTables::Halves;
        Self {
            positions: tape.form([s]),
            rotary: [
                tape.form([s, Dim("rotated width", if by_halves { width / 2 } else { width })]),
                tape.form([s, half(width)]),
                tape.form([half(width)]),
            ],
            by_halves,
            complex: tables == RotaryTables::Complex,
            mask: tape.form([b, Dim("queries", s.1), Dim("keys", super::keys(with).1)]),
            alibi: [tape.form([heads, s]), tape.form([b, heads, s])],
            chunk: tape.form([Dim("loss chunk", chunk.min(tokens)), with.vocab_part()]),
            padded: tape.form([b, Dim("seq_length + 1", with.seq_length.saturating_add(1))]),
        }
    }
}

/// Width of the token embedding and the head.
fn own_width(build: &Build<'_>) -> Dim {
    let stated = build.model().word_embed_proj_dim;
    stated.map_or(build.with.h(), |stated| Dim("word_embed_proj_dim", stated))
}

impl Ends {
    /// Declares the embedding's parameters; [`Self::finish`] those of the head.
    ///
    /// A pipeline stage has `first` with the embedding and `last` with head and loss; the last one keeps a copy of a tied embedding.
    pub fn new(build: &Build<'_>, first: bool, last: bool) -> Self {
        let (with, model, tape) = (build.with, build.model(), build.tape);
        let modules = model.family.modules();
        tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
        let own = own_width(build);
        let holds = first || (last && model.tie_word_embeddings);
        let frozen = tape.freeze(with.tuning.freezes_embedding());
        let embedding = if holds { build.parameter("token embedding", [with.vocab_part(), own]) } else { 0 };
        let learned = first && model.position_embedding == PositionEmbedding::Learned;
        let positions =
            learned.then(|| build.parameter("position embedding", [Dim("position_rows", model.position_rows), with.h()]));
        tape.freeze(frozen);
        let projections = model.word_embed_proj_dim.map(|_| {
            let narrow = tape.form([with.b(), with.s(), own]);
            tape.at("Output head and loss", sources::PYTORCH_AUTOGRAD);
            let out = build.linear(("weight out of the model's width", None), (own, with.h()), narrow);
            tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
            [build.linear(("weight into the model's width", None), (with.h(), own), build.shapes.hidden), out]
        });
        tape.at("Final norm", sources::PYTORCH_AUTOGRAD);
        let early = last && modules.registers_norms_first && model.final_norm;
        let final_norm = early.then(|| Norm::new(build, with.h(), build.shapes.rows));
        tape.at("Embedding norm", sources::PYTORCH_AUTOGRAD);
        let embedding_norm = (first && model.embedding_norm).then(|| Norm::new(build, with.h(), build.shapes.rows));
        let one_mask = !modules.mask_for_each_kind || model.sliding_layers == LayerSet::None;
        let any = |sliding| (0..model.num_hidden_layers).any(|layer| model.sliding_layers.contains(layer) == sliding);
        let eager = with.attention == AttentionKernel::Standard;
        Self {
            embedding,
            first,
            last,
            received: build.activation(),
            positions,
            projections,
            embedding_norm,
            final_norm,
            head: None,
            shapes: build.shapes,
            forms: Forms::new(build),
            in_chunks: build.kernels().loss.chunk_tokens().is_some(),
            rotary: model.position_embedding == PositionEmbedding::Rotary
                || modules.linear_biases == LinearBiases::BesidePositions,
            alibi: model.position_embedding == PositionEmbedding::Alibi,
            masks: u8::from(eager) * if one_mask { 1 } else { 2 },
            two_tables: modules.tables_for_each_kind && any(true) && any(false),
            scaled: modules.embedding_scale == EmbeddingScale::Buffer,
            modules,
            soft_cap: model.final_logit_softcapping,
            batched: with.micro_batch_size > 1,
            format: with.made_in,
            scores: with.tuning.objective.scores(),
            prompt: first.then(|| Prompt::new(build)).flatten(),
            prefix: first.then(|| Prefix::new(build)).flatten(),
            wanting: with.tuning.freezes_embedding() && with.recompute == Recompute::Full,
            flops: 2.0 * to_f64(with.head_rows()) * to_f64(own.1) * to_f64(model.vocab_size),
        }
    }

    /// Declares final norm and head.
    pub fn finish(&mut self, build: &Build<'_>) {
        if !self.last {
            return;
        }
        let (with, model) = (build.with, build.model());
        build.tape.at("Final norm", sources::PYTORCH_AUTOGRAD);
        let missing = model.final_norm && self.final_norm.is_none();
        self.final_norm = self.final_norm.or_else(|| missing.then(|| Norm::new(build, with.h(), build.shapes.rows)));
        if model.pooler {
            // It reads one token of a sequence, and no text is predicted from it: no gradient reaches it.
            build.tape.at("Pooler", sources::ARITHMETIC);
            build.tape.idle(build.parameter("pooler weight", [with.h(), with.h()]));
            build.tape.idle(build.vector("pooler bias", with.h()));
        }
        build.tape.at("Output head and loss", sources::PYTORCH_AUTOGRAD);
        if with.tuning.objective.scores() {
            // It is new, and learns whatever else does.
            let frozen = build.tape.freeze(false);
            self.head = Some(build.linear(("score weight", None), (Dim("score", 1), with.h()), build.shapes.rows));
            build.tape.freeze(frozen);
            return;
        }
        let bias = model.lm_head_bias.then_some("head bias");
        self.head = Some(if model.tie_word_embeddings {
            let bias = bias.map(|name| build.vector(name, with.vocab_part()));
            Linear {
                weight: self.embedding,
                bias,
                form: build.shapes.logits,
                conv1d: false,
                split: Split::None,
                part: None,
                all_tokens: None,
                flops: self.flops,
                packed: None,
                adapter: None,
                autocast: false,
            }
        } else {
            let head = build.linear(("head weight", bias), (with.vocab_part(), own_width(build)), build.shapes.logits);
            Linear { flops: self.flops, ..head }
        });
    }

    /// Buffers that the modules register: rotary frequencies, twice, and the embedding's scale.
    pub fn buffers<'t>(&self, tape: &'t Tape) -> Vec<Var<'t>> {
        let frequencies = |name| tape.constant(name, self.forms.rotary[2], FP32);
        let rotary = || self.rotary.then(|| [frequencies("rotary frequencies"), frequencies("first rotary frequencies")]);
        let scale = self.scaled.then(|| tape.constant("embedding scale", self.shapes.scalar, self.format));
        let again = self.two_tables || self.modules.registers_spare_frequencies;
        rotary().into_iter().chain(again.then(rotary).flatten()).flatten().chain(scale).collect()
    }

    /// Keys and values of every layer, where some are learned; peft's `forward` holds them until the loss is there.
    pub fn past<'t>(&self, tape: &'t Tape) -> Vec<Rc<Past<'t>>> {
        self.prefix.map_or_else(Vec::new, |prefix| prefix.run(tape))
    }

    /// Embedded tokens, and the tables of the step.
    pub fn embed<'t>(&self, tape: &'t Tape, ids: &Var<'t>) -> Embedded<'t> {
        tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
        let whole = self.shapes.all_tokens.unwrap_or(self.shapes.hidden);
        let form = self.projections.map_or(whole, |[_, out]| out.form);
        let form = self.prompt.as_ref().map_or(form, |prompt| prompt.text);
        let mut embedded = if self.first {
            let tokens = tape.embedding(ids.clone(), self.embedding, form);
            if self.wanting && !self.scaled { tokens.wanting() } else { tokens }
        } else {
            tape.received("hidden states from the stage before", self.shapes.hidden, self.received)
        };
        let dtype = embedded.dtype();
        if self.first && self.modules.embedding_scale != EmbeddingScale::None {
            // Gemma's factor is a buffer, which the product saves in the embedding's format.
            let cast = self.scaled && self.format != embedded.dtype();
            let factor = cast.then(|| tape.constant("embedding scale", self.shapes.scalar, embedded.dtype()));
            embedded = match factor {
                Some(factor) => embedded.mul(factor),
                None => embedded.apply(SCALE),
            };
            embedded = embedded.named("embedded tokens");
            if self.wanting && self.scaled {
                // Gemma's embedding scales by itself.
                embedded = embedded.wanting();
            }
        }
        let mut held = Vec::with_capacity(4);
        if let Some(prompt) = &self.prompt {
            embedded = prompt.run(tape, embedded, (self.shapes.hidden, self.shapes.tokens), &mut held);
        }
        let beside = self.modules.linear_biases == LinearBiases::BesidePositions;
        let form = if self.modules.position_ids == PositionIds::Counted { self.forms.positions } else { self.shapes.tokens };
        let positions = (beside || !self.alibi).then(|| tape.constant("position ids", form, DType::Int64));
        let places = self.places(tape, positions.as_ref(), &mut held);
        let mut hidden = match &self.projections {
            Some([into, _]) if self.first => into.run(&{ embedded }),
            _ => embedded,
        };
        held.push(hidden.clone());
        if let Some(places) = places {
            held.push(places.clone());
            hidden = hidden.add(places).named("embedded tokens");
        }
        hidden = self.own_part(hidden, &mut held);
        if let Some(norm) = &self.embedding_norm {
            tape.at("Embedding norm", sources::PYTORCH_AUTOGRAD);
            hidden = norm.run(&hidden);
        }
        tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
        let alibi = self.alibi.then(|| self.linear_biases(tape, hidden.dtype()));
        let mut mask = (self.masks > 0).then(|| self.causal_mask(tape, dtype));
        if beside && alibi.is_some() && mask.is_some() {
            held.push(tape.constant("tokens that are no padding", self.shapes.tokens, DType::Int64));
            mask = Some(tape.constant("linear biases and causal mask", self.shapes.scores, dtype));
        }
        let sliding = if self.masks > 1 { Some(self.causal_mask(tape, dtype)) } else { mask.clone() };
        let format = if self.modules.rotary_tables == RotaryTables::InFp32 { FP32 } else { dtype };
        let rotary = self.rotary.then(|| self.rotary(tape, format));
        let again = self.two_tables.then(|| self.rotary(tape, dtype));
        let whole = Tables { rotary, mask, alibi, positions, past: None };
        let whole_rotary = whole.rotary.clone();
        let sliding = Tables { mask: sliding, rotary: again.or(whole_rotary), ..whole.clone() };
        Embedded { hidden, tables: [whole, sliding], held }
    }

    /// Tables as a block is given them: in that format, where there is one. Of them rotary tables alone are made in another than hidden
    /// states are in (OLMo 2); complex numbers stay what they are.
    pub fn given<'t>(&self, tables: &Tables<'t>, format: Option<DType>) -> Tables<'t> {
        let mut given = tables.clone();
        if let Some(format) = format.filter(|_| !self.forms.complex) {
            let cast = |(cos, sin): (Var<'t>, Var<'t>)| {
                (cos.cast_as(format, "rotary cosines of the block"), sin.cast_as(format, "rotary sines of the block"))
            };
            given.rotary = given.rotary.map(cast);
        }
        given
    }

    fn linear_biases<'t>(&self, tape: &'t Tape, dtype: DType) -> Var<'t> {
        let slopes = tape.constant("slopes by position", self.forms.alibi[0], FP32);
        let repeated = tape.constant("linear biases in fp32", self.forms.alibi[1], FP32);
        drop(slopes);
        repeated.cast_as(dtype, "linear biases")
    }

    fn causal_mask<'t>(&self, tape: &'t Tape, dtype: DType) -> Var<'t> {
        let flags = |name| tape.constant(name, self.forms.mask, DType::Mask);
        let same = flags("same sequence");
        let both = flags("same sequence and not padded");
        drop(same);
        let before = flags("not later");
        let _visible = flags("visible");
        drop((both, before));
        tape.constant("causal mask", self.forms.mask, dtype)
    }

    fn rotary<'t>(&self, tape: &'t Tape, dtype: DType) -> (Var<'t>, Var<'t>) {
        let [whole, half, _] = self.forms.rotary;
        let by_halves = self.forms.by_halves;
        let numbers = tape.constant("positions in fp32", self.forms.positions, FP32);
        let angles = tape.constant("angles", half, FP32);
        drop(numbers);
        if self.forms.complex {
            let ones = tape.constant("ones", half, FP32);
            let polar = tape.constant("complex rotations", whole, FP32);
            drop(ones);
            let scaled = polar.apply(SCALE).named("complex rotations");
            return (scaled.clone(), scaled);
        }
        let doubled = if by_halves { angles.clone() } else { tape.constant("angles", whole, FP32) };
        let cos = tape.constant("cosines", whole, FP32).apply(SCALE);
        let sin = tape.constant("sines", whole, FP32).apply(SCALE);
        let tables = (cos.clone().cast_as(dtype, "rotary cosines"), sin.clone().cast_as(dtype, "rotary sines"));
        drop((angles, doubled));
        tables
    }

    /// Embedded positions, where they are learned.
    fn places<'t>(&self, tape: &'t Tape, ids: Option<&Var<'t>>, held: &mut Vec<Var<'t>>) -> Option<Var<'t>> {
        let (table, ids) = (self.positions?, ids?);
        let places = if self.modules.position_ids == PositionIds::FromMask {
            // Counted from the mask of all tokens, which stays, and moved by two rows.
            held.push(tape.constant("tokens that are no padding", self.shapes.tokens, FP32));
            tape.embedding(tape.constant("rows of positions", self.shapes.tokens, DType::Int64), table, self.shapes.hidden)
        } else {
            tape.embedding(ids.clone(), table, tape.form_like(self.forms.positions, self.shapes.hidden))
        };
        Some(places.named("embedded positions"))
    }

    /// This rank's part of the embedded tokens, where ranks have parts; nothing whole is held then.
    fn own_part<'t>(&self, hidden: Var<'t>, held: &mut Vec<Var<'t>>) -> Var<'t> {
        if self.shapes.all_tokens.is_none() || !self.first {
            return hidden;
        }
        held.clear();
        hidden.exchanged(self.shapes.hidden).named("embedded tokens")
    }

    /// What backward begins with: the loss, or the output of a stage without one.
    pub fn end<'t>(&self, tape: &'t Tape, embedded: Embedded<'t>, outputs: Option<Var<'t>>) -> Var<'t> {
        match &self.head {
            Some(head) => {
                let hidden = self.last_norm(tape, embedded, outputs);
                tape.at("Output head and loss", sources::PYTORCH_AUTOGRAD);
                let hidden = match self.shapes.all_tokens {
                    Some(whole) => hidden.exchanged(whole),
                    None => hidden,
                };
                if self.scores {
                    head.run(&hidden).named("scores").reduce(self.shapes.scalar)
                } else if self.in_chunks {
                    self.chunked(tape, &hidden, head)
                } else {
                    self.full(tape, &hidden, head)
                }
            }
            None => embedded.hidden,
        }
    }

    /// The last block's output through the final norm; what the model's `forward` held is let go.
    fn last_norm<'t>(&self, tape: &'t Tape, embedded: Embedded<'t>, outputs: Option<Var<'t>>) -> Var<'t> {
        tape.at("Final norm", sources::PYTORCH_AUTOGRAD);
        let Embedded { hidden, tables, held } = embedded;
        let normed = match &self.final_norm {
            Some(norm) => norm.run(&{ hidden }),
            None => hidden,
        };
        let normed = match &self.projections {
            Some([_, out]) => out.run(&{ normed }),
            None => normed,
        };
        drop((tables, held, outputs));
        normed
    }

    /// `ForCausalLMLoss`: logits in fp32, shifted labels, cross-entropy.
    fn full<'t>(&self, tape: &'t Tape, hidden: &Var<'t>, head: &Linear) -> Var<'t> {
        let mut logits = head.run(hidden).named("logits");
        if self.soft_cap {
            logits = logits.apply(SCALE);
            logits = logits.apply(TANH);
            logits = logits.apply(SCALE).named("logits");
        }
        if self.modules.scales_logits {
            logits = logits.apply(SCALE).named("logits");
        }
        let wide = logits.clone().cast_as(FP32, "logits in fp32");
        let padded = tape.constant("padded labels", self.forms.padded, DType::Int64);
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
        drop(tape.constant("chunk of logits", self.forms.chunk, FP32));
        let gradients = [(hidden, "gradient of head input"), (&weight, "gradient of head weight")]
            .map(|(of, name)| of.wants_gradient().then(|| tape.constant(name, of.form(), of.dtype())));
        tape.prepared([hidden, &weight], gradients, (self.shapes.scalar, self.forms.chunk, head.flops))
    }
}
