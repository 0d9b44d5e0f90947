//! Heads of classes that predict no text, and their losses (transformers 5.23,
//! `modeling_layers.py`, `models/bert/modeling_bert.py`).

use super::encoder::Transform;
use crate::config::{BeforeClasses, DenseFunction, HiddenAct, Task, TaskKind};
use crate::ops::modules::mlp::Activation;
use crate::ops::modules::{Build, FP32, Linear};
use crate::ops::tape::{Form, LOG_SOFTMAX, SCALE, TANH, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// A layer before the classes.
#[derive(Debug)]
enum Before {
    Dense(Linear, DenseFunction),
    Transform(Transform),
}

/// The head of a task.
#[derive(Debug)]
pub(super) struct OfTask {
    kind: TaskKind,
    encodes: bool,
    before: Option<Before>,
    classes: Option<Linear>,
    /// `[b, s]`, `[b, h]`, `[b]`, `[2, b]` and `[b, labels]`.
    tokens: Form,
    first: Form,
    sequences: Form,
    places: Form,
    chosen: Form,
    scalar: Form,
}

impl OfTask {
    /// Declares the head's parameters.
    pub fn new(build: &Build<'_>, task: Task) -> Self {
        let (with, tape, model) = (build.with, build.tape, build.model());
        let encodes = model.encoder.is_some();
        let (b, labels) = (with.b(), Dim("num_labels", task.labels));
        let first = tape.form([b, with.h()]);
        let of_texts = task.kind == TaskKind::Sequence && encodes;
        let chosen = tape.form([b, labels]);
        let form = if of_texts { chosen } else { tape.form([b, with.s(), labels]) };
        let heads = model.family.modules().encoder.tasks;
        let before = if encodes { heads.before(task.kind) } else { BeforeClasses::Nothing };
        let before = Before::new(build, before, if of_texts { Some(first) } else { None }, first);
        tape.at("Classes and loss", sources::PYTORCH_AUTOGRAD);
        // A decoder's matrix for texts has no bias.
        let bias = (encodes || task.kind != TaskKind::Sequence).then_some("bias of classes");
        let width = with.h();
        let classes = || build.linear(("weight of classes", bias), (labels, width), form);
        let predicts = task.kind != TaskKind::States;
        if let (false, Some(Before::Dense(dense, _))) = (predicts, &before) {
            [Some(dense.weight), dense.bias]
                .into_iter()
                .flatten()
                .for_each(|parameter| tape.idle(parameter));
        }
        Self {
            kind: task.kind,
            encodes,
            before,
            classes: predicts.then(classes),
            tokens: build.shapes.tokens,
            first,
            sequences: tape.form([b]),
            places: tape.form([Dim("both", 2), b]),
            chosen,
            scalar: build.shapes.scalar,
        }
    }

    /// The loss; labels are given, as tokens are. Of states alone nobody says one: no training of
    /// them is modelled, and what they are is all that is asked.
    pub fn run<'t>(&self, tape: &'t Tape, hidden: Var<'t>, ids: &Var<'t>) -> Var<'t> {
        let Some(classes) = &self.classes else { return hidden.reduce(self.scalar) };
        let input = if self.kind == TaskKind::Sequence && self.encodes {
            hidden.clone().slice(self.first)
        } else {
            hidden.clone()
        };
        let input = match &self.before {
            Some(before) => before.run(tape, input),
            None => input,
        };
        tape.at("Classes and loss", sources::PYTORCH_AUTOGRAD);
        let logits = classes.run(&input).named("logits");
        drop(input);
        let loss = match self.kind {
            TaskKind::Sequence if self.encodes => {
                self.of_labels(tape, logits.clone().for_loss(), ids.clone())
            }
            TaskKind::Sequence => self.of_last_tokens(tape, &logits, ids),
            TaskKind::States | TaskKind::Token => self.of_tokens(tape, &logits, ids),
            TaskKind::Span => self.of_spans(tape, &logits),
        };
        drop(hidden);
        loss
    }

    fn of_labels<'t>(&self, tape: &'t Tape, given: Var<'t>, labels: Var<'t>) -> Var<'t> {
        let loss = tape.nll_loss(given.clone().apply(LOG_SOFTMAX), labels, self.scalar);
        drop(given);
        loss
    }

    /// A class for each text, from its last token that is no padding.
    fn of_last_tokens<'t>(&self, tape: &'t Tape, logits: &Var<'t>, ids: &Var<'t>) -> Var<'t> {
        let _mask = tape.constant("tokens that are no padding", self.tokens, FP32);
        let places = tape.constant("places of last tokens", self.places, DType::Int64);
        let chosen = logits.clone().gather(&places, self.chosen).named("logits of texts");
        self.of_labels(tape, chosen.clone().for_loss(), ids.clone())
    }

    /// A class for each token; a decoder's loss is in fp32.
    fn of_tokens<'t>(&self, tape: &'t Tape, logits: &Var<'t>, ids: &Var<'t>) -> Var<'t> {
        let given = if self.encodes {
            logits.clone().for_loss()
        } else {
            logits.clone().cast_as(FP32, "logits in fp32")
        };
        self.of_labels(tape, given, ids.clone())
    }

    /// Where an answer begins, and where it ends.
    fn of_spans<'t>(&self, tape: &'t Tape, logits: &Var<'t>) -> Var<'t> {
        let [begin, end] = logits.clone().split([self.tokens, self.tokens]).map(Var::copy);
        let within = || tape.constant("labels", self.sequences, DType::Int64);
        let first = self.of_labels(tape, begin.clone().for_loss(), within());
        let last = self.of_labels(tape, end.clone().for_loss(), within());
        drop((begin, end));
        first.add(last).apply(SCALE).named("loss")
    }
}

impl Before {
    /// Declares its parameters, over the first tokens or over all.
    fn new(
        build: &Build<'_>,
        before: BeforeClasses,
        of_texts: Option<Form>,
        first: Form,
    ) -> Option<Self> {
        let h = build.with.h();
        build.tape.at("Layer before the classes", sources::PYTORCH_AUTOGRAD);
        match before {
            BeforeClasses::Nothing | BeforeClasses::Unknown => None,
            BeforeClasses::Dense(function) => Some(Self::Dense(
                build.linear(("dense weight", Some("dense bias")), (h, h), first),
                function,
            )),
            BeforeClasses::Transform => Some(Self::Transform(match of_texts {
                Some(form) => Transform::over(build, form, build.tape.form([build.with.b()])),
                None => Transform::new(build),
            })),
        }
    }

    fn run<'t>(&self, tape: &'t Tape, input: Var<'t>) -> Var<'t> {
        tape.at("Layer before the classes", sources::PYTORCH_AUTOGRAD);
        match self {
            Self::Dense(dense, function) => {
                let made = dense.run(&{ input });
                match function {
                    DenseFunction::Tanh => made.apply(TANH),
                    DenseFunction::Gelu => Activation::of(HiddenAct::Gelu).run(&{ made }),
                    DenseFunction::Relu => Activation::of(HiddenAct::Relu).run(&{ made }),
                }
            }
            Self::Transform(transform) => transform.run(tape, &{ input }),
        }
    }
}
