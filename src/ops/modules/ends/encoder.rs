//! Both ends of an encoder as BERT has them (transformers 5.23, `models/bert/modeling_bert.py`):
//! token types beside positions, a dense layer before the output head, and a loss over the tokens
//! that are masked.

use super::Ends;
use super::beside::Beside;
use crate::config::{
    AddedParts, AttentionKernel, HeadWidth, HiddenAct, PositionBuffers, PositionIds, TokenMask,
};
use crate::ops::modules::mlp::Activation;
use crate::ops::modules::norm::Norm;
use crate::ops::modules::{Build, Linear};
use crate::ops::tape::{Form, LOG_SOFTMAX, Param, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// A dense layer, the activation function and a norm before the output head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transform {
    dense: Linear,
    act: Activation,
    norm: Norm,
}

impl Transform {
    /// Declares its parameters, over all tokens.
    pub fn new(build: &Build<'_>) -> Self {
        let form = build.tape.form([build.with.b(), build.with.s(), head_width(build)]);
        Self::over(build, form, build.shapes.rows)
    }

    /// Declares its parameters, over states of that shape, each row of which is normed.
    pub fn over(build: &Build<'_>, form: Form, rows: Form) -> Self {
        build.tape.at("Layer before the output head", sources::PYTORCH_AUTOGRAD);
        let (h, own) = (build.with.h(), build.model().family.modules().encoder);
        let width = head_width(build);
        let dense =
            build.linear(("dense weight", own.head_bias.then_some("dense bias")), (width, h), form);
        let act = if own.head_takes_gelu {
            Activation::of(HiddenAct::Gelu)
        } else {
            Activation::new(build)
        };
        Self { dense, act, norm: Norm::new(build, width, rows) }
    }

    /// The output head's input.
    pub fn run<'t>(&self, tape: &'t Tape, hidden: &Var<'t>) -> Var<'t> {
        tape.at("Layer before the output head", sources::PYTORCH_AUTOGRAD);
        let hidden = self.dense.run(hidden);
        let hidden = self.act.run(&{ hidden });
        self.norm.run(&{ hidden })
    }
}

/// Parts that encoders alone have.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfEncoder {
    /// True if the model is an encoder.
    pub encodes: bool,
    pub token_types: Option<TokenTypes>,
    /// Tables that are embedded beside tokens, their types and positions.
    pub beside: Option<Beside>,
    /// Into the model's width, behind the embedding's norm.
    pub widening: Option<Linear>,
    /// Before the head.
    pub transform: Option<Transform>,
    /// Added behind the head's product.
    pub head_bias: Option<Param>,
    /// The first token goes through it beside the output head.
    pub pooler: Option<[Param; 2]>,
    /// Layers look around on a window that is shorter than the text, and add a mask to scores.
    pub windows: bool,
}

impl OfEncoder {
    /// Of a decoder.
    pub const NONE: Self = Self {
        encodes: false,
        token_types: None,
        beside: None,
        widening: None,
        transform: None,
        head_bias: None,
        pooler: None,
        windows: false,
    };

    /// Declares the parts of the embedding, where it is `first`.
    pub fn new(build: &Build<'_>, first: bool) -> Self {
        let (with, model) = (build.with, build.model());
        let slide = (0..model.num_hidden_layers).any(|layer| model.sliding_layers.contains(layer));
        let shorter = model.sliding_window.is_some_and(|window| with.seq_length >= window / 2);
        Self {
            encodes: model.encoder.is_some(),
            token_types: if first { TokenTypes::new(build) } else { None },
            beside: if first { Beside::new(build) } else { None },
            widening: if first { widening(build) } else { None },
            transform: None,
            head_bias: None,
            pooler: None,
            windows: with.attention == AttentionKernel::Standard && slide && shorter,
        }
    }
}

/// True if an encoder's embedding has a width of its own.
pub(super) fn has_own_width(build: &Build<'_>) -> bool {
    build.model().encoder.is_some_and(|encoder| encoder.embedding_size > 0)
}

/// Width of embedded tokens, their types and positions.
pub(super) fn embedding_width(build: &Build<'_>) -> Dim {
    let own = build.model().encoder.map_or(0, |encoder| encoder.embedding_size);
    if own > 0 { Dim("embedding_size", own) } else { build.with.h() }
}

/// Width of the vectors that the output head multiplies.
pub(super) fn head_width(build: &Build<'_>) -> Dim {
    match build.model().family.modules().encoder.head_width {
        HeadWidth::OfHidden => build.with.h(),
        HeadWidth::OfEmbedding => embedding_width(build),
        HeadWidth::Own => {
            Dim("output_embedding_size", build.model().encoder.map_or(0, |encoder| encoder.own[0]))
        }
    }
}

/// From the embedding's width to the model's.
fn widening(build: &Build<'_>) -> Option<Linear> {
    let model = build.model();
    let always = model.encoder.is_some() && model.family.modules().encoder.always_widens;
    build.tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
    let names = ("weight into the model's width", Some("bias into the model's width"));
    (always || has_own_width(build))
        .then(|| build.linear(names, (build.with.h(), embedding_width(build)), build.shapes.hidden))
}

/// The table of token types.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenTypes {
    table: Param,
    /// Shapes of the types, which all sequences share unless each has positions of its own, and of
    /// what they are embedded to.
    types: [Form; 2],
}

impl TokenTypes {
    /// Declares the table, where the model has one.
    pub fn new(build: &Build<'_>) -> Option<Self> {
        let (model, tape) = (build.model(), build.tape);
        let rows =
            Dim("type_vocab_size", model.encoder.map_or(0, |encoder| encoder.type_vocab_size));
        let modules = model.family.modules();
        let embedded = tape.form([build.with.b(), build.with.s(), embedding_width(build)]);
        (rows.1 > 0).then(|| Self {
            table: build.parameter("token type embedding", [rows, embedding_width(build)]),
            types: if modules.encoder.makes_types || modules.position_ids == PositionIds::FromTokens
            {
                [build.shapes.tokens, embedded]
            } else {
                [tape.form([build.with.s()]), embedded]
            },
        })
    }

    /// The embedded types.
    pub fn run(self, tape: &Tape) -> Var<'_> {
        let types = tape.constant("types of tokens", self.types[0], DType::Int64);
        tape.embedding(types, self.table, self.types[1]).named("embedded types")
    }
}

impl Ends {
    /// The buffers of all positions there are, and of as many token types, that encoders register.
    pub(super) fn buffers_of_positions<'t>(&self, tape: &'t Tape) -> Vec<Var<'t>> {
        let kept =
            if self.own.encodes { self.modules.encoder.buffers } else { PositionBuffers::None };
        let types = kept == PositionBuffers::OfPositionsAndTypes && self.own.token_types.is_some();
        let names = [(kept != PositionBuffers::None, "position ids"), (types, "token types")];
        let there = names.into_iter().filter(|(there, _)| *there);
        there
            .map(|(_, name)| tape.constant(name, tape.form(self.forms.all_positions), DType::Int64))
            .collect()
    }

    /// Embedded tokens with their types added; `held` are the tensors that the model's `forward`
    /// holds.
    pub(super) fn with_types<'t>(
        &self,
        tape: &'t Tape,
        hidden: Var<'t>,
        held: &mut Vec<Var<'t>>,
    ) -> Var<'t> {
        let Some(types) = self.own.token_types else { return hidden };
        let types = types.run(tape);
        let in_place = self.modules.encoder.added == AddedParts::AllInPlace;
        let hidden = if in_place {
            hidden.add_in_place(&types)
        } else {
            hidden.add(types).named("embedded tokens")
        };
        held.clear();
        hidden
    }

    /// Embedded tokens with their positions added; `held` are the tensors that the model's
    /// `forward` holds.
    pub(super) fn with_places<'t>(
        &self,
        hidden: Var<'t>,
        places: Var<'t>,
        held: &mut Vec<Var<'t>>,
    ) -> Var<'t> {
        held.push(places.clone());
        if self.modules.encoder.added == AddedParts::Anew {
            hidden.add(places).named("embedded tokens")
        } else {
            hidden.add_in_place(&places)
        }
    }

    /// Embedded tokens in the model's width. The embedding is a module of its own, and frees its
    /// tensors when it returns.
    pub(super) fn of_the_models_width<'t>(
        &self,
        tape: &'t Tape,
        hidden: Var<'t>,
        held: &mut Vec<Var<'t>>,
    ) -> Var<'t> {
        if self.own.encodes && self.modules.encoder.embeds_in_module {
            held.clear();
        }
        if self.own.encodes && self.modules.encoder.mask != TokenMask::None {
            held.push(tape.constant("tokens that are no padding", self.shapes.tokens, DType::Fp32));
            if self.own.token_types.is_none() {
                held.push(tape.constant("types of tokens", self.shapes.tokens, DType::Int64));
            }
        }
        tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
        match &self.own.widening {
            Some(widening) => widening.run(&{ hidden }).named("embedded tokens"),
            None => hidden,
        }
    }

    /// The pooler's output for the first tokens, where there is one. No gradient comes back from
    /// it.
    pub(super) fn pooled<'t>(&self, tape: &'t Tape, hidden: &Var<'t>) -> Option<Var<'t>> {
        let cast = self.own.pooler?.map(|parameter| tape.weight(parameter));
        let format = tape.multiplies_in(hidden.dtype());
        drop(cast);
        Some(tape.constant("pooled output", tape.form(self.forms.pooled), format))
    }

    /// The format of masks: that of the embedding module's output, of which the dense layer into
    /// the model's width is a part in some.
    pub(super) fn format_of_masks(&self, embedded: DType, hidden: &Var<'_>) -> DType {
        if self.own.encodes && !self.modules.encoder.always_widens {
            hidden.dtype()
        } else {
            embedded
        }
    }

    /// The mask that an encoder adds to scores of layers that see everything, and of sliding ones.
    ///
    /// Of ones that the tracker's tensors do not hold, transformers makes a mask; of real ones it
    /// sees that none is needed.
    pub(super) fn mask_of_tokens<'t>(&self, tape: &'t Tape, dtype: DType) -> [Option<Var<'t>>; 2] {
        let made = |name| tape.constant(name, tape.form(self.forms.mask), dtype);
        match self.modules.encoder.mask {
            TokenMask::Ones if !tape.is_cuda() && self.eager => {
                let mask = made("mask of tokens");
                [Some(mask.clone()), Some(mask)]
            }
            TokenMask::OfPairs => {
                let mask = tape.constant("mask of pairs", tape.form(self.forms.mask), DType::Fp32);
                [Some(mask.clone()), Some(mask)]
            }
            TokenMask::Added => {
                let mask = tape.constant("mask of tokens", self.shapes.tokens, dtype);
                [Some(mask.clone()), Some(mask)]
            }
            TokenMask::None | TokenMask::Ones => {
                [None, self.own.windows.then(|| made("mask of windows"))]
            }
        }
    }

    /// Numbers of the positions: those of a buffer take no memory of their own.
    pub(super) fn positions<'t>(&self, tape: &'t Tape) -> Var<'t> {
        match self.modules.position_ids {
            PositionIds::FromMask | PositionIds::FromTokens => {
                Self::position_ids(tape, self.shapes.tokens)
            }
            PositionIds::Buffer => {
                tape.constant("position ids", tape.form(self.forms.nothing), DType::Int64)
            }
            PositionIds::Counted
            | PositionIds::BesideMask
            | PositionIds::Nowhere
            | PositionIds::Untold => Self::position_ids(tape, self.forms.positions),
        }
    }

    /// `CrossEntropyLoss` over all tokens: in the format of logits, or in fp32 under autocast, and
    /// without a shift. The labels are given.
    pub(super) fn of_all_tokens<'t>(
        &self,
        tape: &'t Tape,
        (hidden, labels): (Var<'t>, Var<'t>),
        head: &Linear,
    ) -> Var<'t> {
        let logits = self.logits(&hidden, head);
        let given = if self.modules.encoder.loss_in_fp32 {
            logits.clone().cast_as(DType::Fp32, "logits in fp32")
        } else {
            logits.clone().for_loss()
        };
        let log_probabilities = given.clone().apply(LOG_SOFTMAX);
        let loss = tape.nll_loss(log_probabilities, labels, self.shapes.scalar);
        drop((given, logits, hidden));
        loss
    }
}
