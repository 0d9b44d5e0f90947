//! Behind the last block: final norm, head and loss.

use super::{AroundLoss, Embedded, Ends};
use crate::ops::modules::{Exchange, FP32, Linear};
use crate::ops::tape::{LOG_SOFTMAX, SCALE, TANH, Tape, Var};
use crate::sources;
use crate::units::DType;

impl Ends {
    /// The last block's output through the final norm; the tensors that the model's `forward` held
    /// are freed.
    pub(super) fn last_norm<'t>(
        &self,
        tape: &'t Tape,
        embedded: Embedded<'t>,
        outputs: Option<Var<'t>>,
    ) -> Var<'t> {
        let Embedded { mut hidden, tables, held, streams: before, fed, unread, .. } = embedded;
        if let Some(streams) = &self.streams {
            hidden = streams.joined(hidden, before);
        }
        if let (Some(mixed), Some(others)) = (&self.mixed, self.others) {
            hidden = (others.collapsed)(mixed, &{ hidden });
        }
        if let Some(shared) = self.shared_keys().filter(|_| !self.kept_keys) {
            shared.clear(tape);
        }
        tape.at("Final norm", sources::PYTORCH_AUTOGRAD);
        let normed = match &self.final_norm {
            Some(norm) => norm.run(&{ hidden }),
            None => hidden,
        };
        let normed = match &self.projections {
            Some([_, out]) => out.run(&{ normed }),
            None => normed,
        };
        drop((tables, held, fed, outputs));
        tape.abandon(unread);
        normed
    }

    pub(super) fn logits<'t>(&self, hidden: &Var<'t>, head: &Linear) -> Var<'t> {
        let mut logits = if self.modules.residual_in_fp32 {
            head.run(&hidden.clone().cast_as(hidden.tape().read(head.weight).dtype(), "head input"))
        } else {
            head.run(hidden)
        };
        logits = logits.named("logits");
        if let Some(bias) = self.own.head_bias {
            let bias = hidden.tape().read(bias);
            logits = logits.add(bias).named("logits");
        }
        if self.modules.adds_buffer_to_logits && self.source.is_some() {
            let tape = hidden.tape();
            let made =
                || tape.constant("bias of logits", tape.form(self.forms.words), self.made_in);
            let bias = self.logits_buffer.get().map_or_else(made, |kept| tape.held(kept));
            logits = logits.add(bias).named("logits");
        }
        if self.modules.casts_logits {
            logits = logits.cast_as(FP32, "logits in fp32");
        }
        if self.soft_cap {
            logits = logits.apply(SCALE);
            logits = logits.apply(TANH);
            logits = logits.apply(SCALE).named("logits");
        }
        if self.modules.scales_logits {
            logits = logits.apply(SCALE).named("logits");
        }
        logits
    }

    /// `ForCausalLMLoss`: logits in fp32, shifted labels, cross-entropy.
    pub(super) fn full<'t>(
        &self,
        tape: &'t Tape,
        hidden: Var<'t>,
        head: &Linear,
        around: &dyn AroundLoss,
    ) -> Var<'t> {
        let logits = self.logits(&hidden, head);
        let _held = if self.loss_behind {
            drop(hidden);
            around.returns(&logits);
            None
        } else {
            Some(hidden)
        };
        if self.compiled {
            let labels = tape.constant("labels", self.shapes.tokens, DType::Int64);
            return self.compiled_loss(tape, &logits, labels);
        }
        let wide = logits.clone().cast_as(FP32, "logits in fp32");
        let padded = tape.constant("padded labels", self.forms.padded, DType::Int64);
        // Dropping the first label of a single sequence leaves a view of the padded ones; of
        // several, a copy.
        let labels = if self.batched {
            tape.constant("labels", self.shapes.tokens, DType::Int64)
        } else {
            padded.clone()
        };
        let loss = if self.of_columns() {
            let ends = (self.shapes.tokens, self.shapes.scalar);
            tape.loss_of_columns(wide.clone(), labels, ends)
        } else {
            let log_probabilities = wide.clone().apply(LOG_SOFTMAX);
            tape.nll_loss(log_probabilities, labels, self.shapes.scalar)
        };
        drop((padded, wide, logits));
        loss
    }

    /// True if the loss is computed from a rank's columns of the logits.
    pub(super) fn of_columns(&self) -> bool {
        self.shapes.exchange != Exchange::ByProducts
    }

    /// `ForCausalLMLoss` of transformers 4.46 (`loss/loss_utils.py`): logits in fp32, without each
    /// sequence's last token; of one sequence that is a view, of several a copy.
    pub(super) fn shifted<'t>(
        &self,
        tape: &'t Tape,
        (hidden, ids): (&Var<'t>, &Var<'t>),
        head: &Linear,
    ) -> Var<'t> {
        let logits = self.logits(hidden, head);
        let wide = logits.clone().cast_as(FP32, "logits in fp32");
        let shorter = wide.clone().slice(tape.form(self.forms.shifted.0));
        let shifted = if self.batched { shorter.copy().named("shifted logits") } else { shorter };
        let labels = if self.batched {
            tape.constant("shifted labels", tape.form(self.forms.shifted.1), DType::Int64)
        } else {
            ids.clone()
        };
        let log_probabilities = shifted.clone().apply(LOG_SOFTMAX);
        let loss = tape.nll_loss(log_probabilities, labels, self.shapes.scalar);
        drop((shifted, wide, logits));
        loss
    }

    /// Liger's fused linear cross-entropy (0.8.5, `fused_linear_cross_entropy_forward`): gradients
    /// of both operands are made in forward, chunk by chunk, over the logits of each. Where
    /// autocast casts, every product casts its operands anew. Without gradients the place of the
    /// input's gradient is made all the same, that of the weight's is not.
    pub(super) fn in_even_chunks<'t>(
        &self,
        tape: &'t Tape,
        hidden: &Var<'t>,
        head: &Linear,
    ) -> Var<'t> {
        let padded = tape.constant("padded labels", self.forms.padded, DType::Int64);
        let labels = if self.batched {
            tape.constant("labels", self.shapes.tokens, DType::Int64)
        } else {
            padded.clone()
        };
        drop(padded);
        let weight = tape.read(head.weight);
        let of_weight = hidden.wants_gradient() && weight.wants_gradient();
        let gradients = [
            (true, hidden, "gradient of head input"),
            (of_weight, &weight, "gradient of head weight"),
        ]
        .map(|(is_made, of, name)| is_made.then(|| tape.constant(name, of.form(), of.dtype())));
        let losses = tape.constant("loss of each token", self.shapes.tokens, FP32);
        let counted = tape.constant("tokens that count", self.shapes.tokens, DType::Mask);
        let format = tape.multiplies_in(hidden.dtype());
        if format == hidden.dtype() && format == weight.dtype() {
            let _logits = tape.constant("logits of a chunk", self.forms.chunk, format);
            tape.multiplies_into();
        } else {
            let cast = |form, name| tape.constant(name, form, format);
            let operands = (
                cast(tape.form(self.forms.chunk_input), "head input of a chunk"),
                cast(weight.form(), "cast weight"),
            );
            let logits = cast(self.forms.chunk, "logits of a chunk");
            tape.multiplies_into();
            drop(operands);
            let again = cast(weight.form(), "cast weight");
            let gradient =
                cast(tape.form(self.forms.chunk_input), "gradient of head input of a chunk");
            tape.multiplies_into();
            drop((again, gradient, logits));
        }
        drop((counted, losses, labels));
        tape.prepared(
            [hidden, &weight],
            gradients,
            (self.shapes.scalar, self.forms.chunk, head.form),
        )
    }

    /// Cross-entropy as one compiled graph: logits are read in place, and the largest value and the
    /// sum of every row are kept.
    pub(super) fn compiled_loss<'t>(
        &self,
        tape: &'t Tape,
        logits: &Var<'t>,
        labels: Var<'t>,
    ) -> Var<'t> {
        tape.compiled(true, logits, |logits| {
            let log_probabilities =
                logits.clone().cast_as(FP32, "logits in fp32").apply(LOG_SOFTMAX);
            log_probabilities
                .saving_rows(self.shapes.rows, ["largest logits", "sums of exponentials"]);
            tape.nll_loss(log_probabilities, labels, self.shapes.scalar)
        })
    }

    /// Linear and cross-entropy in chunks: gradients of both operands are made in forward.
    pub(super) fn chunked<'t>(&self, tape: &'t Tape, hidden: &Var<'t>, head: &Linear) -> Var<'t> {
        let weight = tape.read(head.weight);
        drop(tape.constant("chunk of logits", self.forms.chunk, FP32));
        let gradients = [(hidden, "gradient of head input"), (&weight, "gradient of head weight")]
            .map(|(of, name)| {
                of.wants_gradient().then(|| tape.constant(name, of.form(), of.dtype()))
            });
        tape.prepared(
            [hidden, &weight],
            gradients,
            (self.shapes.scalar, self.forms.chunk, head.form),
        )
    }
}
