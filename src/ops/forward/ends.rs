//! Both ends of the model: embedding, final norm, output head and loss; and the norm that stands everywhere.

use super::Forward;
use crate::ops::tensor::{Dim, Kept, Split};
use crate::sources::{self, Source};
use crate::units::DType;

/// Where norms and head are described.
const fn source(on: &Forward<'_, '_>) -> Source {
    if on.with.training { sources::KORTHIKANTI_2022 } else { sources::FUSED_KERNELS }
}

/// A norm over the hidden width: saves its input.
///
/// Without `input` the norm reads what is saved already: the block's input.
pub(super) fn norm(on: &Forward<'_, '_>, name: &'static str, input: Option<(&'static str, Kept)>) {
    on.at(name, source(on));
    if let Some((input, kept)) = input {
        on.saves_hidden(input, kept);
    }
}

/// Token embedding, learned positions, and a norm where the model has one.
pub(super) fn embedding(on: &Forward<'_, '_>) {
    let with = on.with;
    on.at("Embedding", sources::KORTHIKANTI_2022);
    on.saves_as("token ids", [with.s(), with.b()], (Split::Replicated, Kept::Always), DType::Int64);
    on.saves_mask("embedding dropout mask", Kept::Always);
    if with.model.embedding_norm {
        norm(on, "Embedding norm", Some(("embedded tokens", Kept::Always)));
    }
}

/// Final norm, output head and loss.
///
/// Serving has logits of the last token of each sequence alone, in fp32 for sampling. The paper's loss saves head input and fp32
/// logits, whose 16-bit gradient is workspace of the loss's backward.
pub(super) fn head(on: &Forward<'_, '_>) {
    let with = on.with;
    if with.model.final_norm {
        norm(on, "Final norm", Some(("final norm input", Kept::Always)));
    }
    on.at("Output head and loss", source(on));
    if with.training {
        let logits = [with.s(), with.b(), with.vocab()];
        on.saves_hidden("head input", Kept::Always);
        on.saves_as("logits", logits, (Split::Tensor, Kept::Always), DType::Fp32);
        on.takes("gradient of logits", logits, Split::Tensor, with.activation);
    } else {
        let sequences = Dim("concurrent_sequences", with.concurrent_sequences);
        on.takes("logits", [sequences, with.vocab()], Split::Tensor, DType::Fp32);
    }
}
