//! Head, loss and their backward part by part of each sequence, before the backward of the rest
//! begins (torchtitan 0.3.0, `ChunkedLossWrapper` in `components/loss.py`).

use super::Ends;
use crate::ops::modules::{FP32, Linear};
use crate::ops::tape::{Form, Tape, Var};
use crate::sources;
use crate::units::DType;

/// The library that shares weights out, as a loss calls it.
pub(crate) trait AroundLoss {
    /// The model's `forward` has returned that.
    fn returns(&self, _output: &Var<'_>) {}
    /// The head's weights are gathered for the loss alone (`unshard`).
    fn gathers_head(&self) {}
    /// The head's weights are given back (`reshard`).
    fn gives_head_back(&self) {}
    /// The format in which whole gradients of the head add up, where they do so before they are
    /// reduced.
    fn adds_up_in(&self) -> Option<DType> {
        None
    }
    /// Gradients of the head are put where they are reduced.
    fn joins_head(&self) {}
    /// Gradients of the head are reduced.
    fn reduces_head(&self) {}
}

/// Nothing is shared out.
impl AroundLoss for () {}

impl Ends {
    /// The loss in chunks. What it leaves for backward is the gradient of the head's input.
    ///
    /// The model returns the normed hidden states; FSDP gives the weights of norm and head back
    /// then and gathers them anew for all chunks (`_force_complete_incomplete_states`, `unshard`).
    /// Gradients of the head add up whole, and are reduced with those of the last chunk; that of
    /// the norm, a few kB, is counted with them.
    pub(super) fn by_chunks<'t>(
        &self,
        tape: &'t Tape,
        hidden: &Var<'t>,
        head: &Linear,
        around: &dyn AroundLoss,
    ) -> Var<'t> {
        around.returns(hidden);
        around.gives_head_back();
        tape.at("Output head and loss", sources::PYTORCH_AUTOGRAD);
        let weight = tape.read(head.weight);
        // Chunks of a single sequence are views of it; of several, copies.
        let copies = |form: fn(&super::PartOfLoss) -> Form, name, dtype| -> Vec<Var<'t>> {
            let parts = self.parts.iter().filter(|_| self.batched);
            parts.map(|part| tape.constant(name, form(part), dtype)).collect()
        };
        let inputs = copies(|part| part.hidden, "head input of a chunk", hidden.dtype());
        let labels = copies(|part| part.labels, "labels of a chunk", DType::Int64);
        let sum = tape.constant("gradient of head input in fp32", hidden.form(), FP32);
        around.gathers_head();
        tape.at("Output head and loss", sources::PYTORCH_AUTOGRAD);
        let (added_up, logits) = self.chunk_by_chunk(tape, (hidden, &weight), around.adds_up_in());
        around.joins_head();
        drop(added_up);
        around.reduces_head();
        around.gives_head_back();
        tape.at("Output head and loss", sources::PYTORCH_AUTOGRAD);
        let cast = (hidden.dtype() != FP32)
            .then(|| tape.constant("gradient of head input", hidden.form(), hidden.dtype()));
        let gradient = cast.unwrap_or_else(|| sum.clone());
        drop((sum, logits, labels, inputs));
        let chunk = self.parts.first().map_or(head.form, |part| part.logits);
        tape.prepared_beside([hidden, &weight], gradient, (self.shapes.scalar, chunk, head.form))
    }

    /// Forward and backward of each chunk; the logits of one stay until those of the next are made.
    /// The answer is the sum of the head's gradients, where they add up whole, and the last chunk's
    /// logits.
    fn chunk_by_chunk<'t>(
        &self,
        tape: &'t Tape,
        (hidden, weight): (&Var<'t>, &Var<'t>),
        adds_up_in: Option<DType>,
    ) -> (Option<Var<'t>>, Option<Var<'t>>) {
        let format = hidden.dtype();
        let wide = |form, name| (format != FP32).then(|| tape.constant(name, form, FP32));
        let (mut logits, mut added_up) = (None, None);
        for part in &self.parts {
            let made = tape.constant("logits", part.logits, format);
            tape.multiplies_into();
            drop(logits.replace(made));
            let cast = wide(part.logits, "logits in fp32");
            let of_wide = if self.of_columns() {
                of_columns(tape, part.logits, cast)
            } else {
                let log_probabilities = tape.constant("log-probabilities", part.logits, FP32);
                drop(cast);
                let of_likelihood =
                    tape.constant("gradient of log-probabilities", part.logits, FP32);
                let of_wide = tape.constant("gradient of logits in fp32", part.logits, FP32);
                drop((of_likelihood, log_probabilities));
                of_wide
            };
            let of_logits = if format == FP32 {
                of_wide
            } else {
                let narrow = tape.constant("gradient of logits", part.logits, format);
                drop(of_wide);
                narrow
            };
            let of_weight = tape.constant("gradient of head weight", weight.form(), weight.dtype());
            tape.multiplies_into();
            let of_input = tape.constant("gradient of head input of a chunk", part.hidden, format);
            tape.multiplies_into();
            drop(of_logits);
            added_up = added(tape, added_up, of_weight, adds_up_in);
            drop((wide(part.hidden, "gradient of head input of a chunk in fp32"), of_input));
        }
        (added_up, logits)
    }
}

/// The gradient of a rank's columns of logits in fp32, with what stands beside it in the order of
/// [`Tape::loss_of_columns`].
fn of_columns<'t>(tape: &'t Tape, form: Form, logits: Option<Var<'t>>) -> Var<'t> {
    let made = |name| tape.constant(name, form, FP32);
    let shifted = made("logits less the largest");
    drop(made("exponentials"));
    let log_probabilities = made("log-probabilities");
    drop((shifted, logits));
    let zeros = made("zeros less 1 at the label");
    let exponentials = made("exponentials");
    let sum = made("gradient of log-probabilities");
    drop(exponentials);
    let of_wide = made("gradient of logits in fp32");
    drop((sum, zeros, log_probabilities));
    of_wide
}

/// The sum of whole gradients in that format (`to_accumulated_grad_if_needed`): each is cast and
/// added.
fn added<'t>(
    tape: &'t Tape,
    before: Option<Var<'t>>,
    gradient: Var<'t>,
    format: Option<DType>,
) -> Option<Var<'t>> {
    let format = format?;
    let cast = if gradient.dtype() == format {
        gradient
    } else {
        let cast =
            tape.constant("gradient of head weight, to be added up", gradient.form(), format);
        drop(gradient);
        cast
    };
    Some(before.unwrap_or(cast))
}
