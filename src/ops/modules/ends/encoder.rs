//! Both ends of an encoder as BERT has them (transformers 5.23, `models/bert/modeling_bert.py`): token types beside positions, a dense
//! layer before the output head, and a loss over the tokens that are masked.

use super::Ends;
use crate::config::PositionIds;
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
    /// Declares its parameters.
    pub fn new(build: &Build<'_>) -> Self {
        build.tape.at("Layer before the output head", sources::PYTORCH_AUTOGRAD);
        let h = build.with.h();
        let dense = build.linear(("dense weight", Some("dense bias")), (h, h), build.shapes.hidden);
        Self { dense, act: Activation::new(build), norm: Norm::new(build, h, build.shapes.rows) }
    }

    /// The output head's input.
    pub fn run<'t>(&self, tape: &'t Tape, hidden: &Var<'t>) -> Var<'t> {
        tape.at("Layer before the output head", sources::PYTORCH_AUTOGRAD);
        let hidden = self.dense.run(hidden);
        let hidden = self.act.run(&{ hidden });
        self.norm.run(&{ hidden })
    }
}

/// The table of token types.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenTypes {
    table: Param,
    /// Shapes of the types, which all sequences share unless each has positions of its own, and of what they are embedded to.
    types: [Form; 2],
}

impl TokenTypes {
    /// Declares the table, where the model has one.
    pub fn new(build: &Build<'_>) -> Option<Self> {
        let (model, tape) = (build.model(), build.tape);
        let rows = Dim("type_vocab_size", model.encoder.map_or(0, |encoder| encoder.type_vocab_size));
        (rows.1 > 0).then(|| Self {
            table: build.parameter("token type embedding", [rows, build.with.h()]),
            types: if model.family.modules().position_ids == PositionIds::FromTokens {
                [build.shapes.tokens, build.shapes.hidden]
            } else {
                let shared = tape.form([build.with.s()]);
                [shared, tape.form_like(shared, build.shapes.hidden)]
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
        let positions = matches!(self.modules.position_ids, PositionIds::Buffer | PositionIds::FromTokens);
        let names = [(positions, "position ids"), (positions && self.token_types.is_some(), "token types")];
        let there = names.into_iter().filter(|(there, _)| *there);
        there.map(|(_, name)| tape.constant(name, self.forms.all_positions, DType::Int64)).collect()
    }

    /// Embedded tokens with their types and positions added; `held` is what the model's `forward` holds.
    pub(super) fn with_types_and_places<'t>(
        &self,
        tape: &'t Tape,
        (mut hidden, places): (Var<'t>, Option<Var<'t>>),
        held: &mut Vec<Var<'t>>,
    ) -> Var<'t> {
        if let Some(types) = self.token_types {
            let types = types.run(tape);
            hidden = hidden.add(types).named("embedded tokens");
            held.clear();
        }
        if let Some(places) = places {
            held.push(places.clone());
            hidden = hidden.add(places).named("embedded tokens");
        }
        hidden
    }

    /// Numbers of the positions: those of a buffer take no memory of their own.
    pub(super) fn positions<'t>(&self, tape: &'t Tape) -> Var<'t> {
        match self.modules.position_ids {
            PositionIds::FromMask | PositionIds::FromTokens => Self::position_ids(tape, self.shapes.tokens),
            PositionIds::Buffer => tape.constant("position ids", self.forms.nothing, DType::Int64),
            PositionIds::Counted | PositionIds::ForModelAlone | PositionIds::BesideMask | PositionIds::Nowhere => {
                Self::position_ids(tape, self.forms.positions)
            }
        }
    }

    /// `CrossEntropyLoss` over all tokens: in the format of logits, or in fp32 under autocast, and without a shift. The labels are given.
    pub(super) fn of_all_tokens<'t>(&self, tape: &'t Tape, (hidden, labels): (Var<'t>, Var<'t>), head: &Linear) -> Var<'t> {
        let logits = self.logits(&hidden, head);
        let log_probabilities = logits.clone().for_loss().apply(LOG_SOFTMAX);
        let loss = tape.nll_loss(log_probabilities, labels, self.shapes.scalar);
        drop((logits, hidden));
        loss
    }
}
