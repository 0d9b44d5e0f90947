//! Frames of sound in place of tokens (transformers 5.23, `models/whisper/modeling_whisper.py`):
//! two convolutions over three frames each, of which the second makes half as many.

use super::Ends;
use crate::config::EmbeddedParts;
use crate::ops::modules::Build;
use crate::ops::tape::{Form, GELU, Param, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// The convolutions that make an encoder's first states of frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frames {
    /// Weight and bias of each.
    layers: [[Param; 2]; 2],
    /// `[b, bands, 2s]`.
    input: Form,
    /// `[b, h, 2s]` and `[b, h, s]`.
    made: [Form; 2],
    /// The format of frames.
    format: DType,
}

impl Frames {
    /// Declares them, where the model's encoder reads frames.
    pub fn new(build: &Build<'_>) -> Option<Self> {
        let (with, tape) = (build.with, build.tape);
        let encoder = build.model().encoder?;
        if build.model().family.modules().encoder.embedding != EmbeddedParts::Frames {
            return None;
        }
        tape.at("Convolutions of frames", sources::PYTORCH_AUTOGRAD);
        let (b, h, bands) = (with.b(), with.h(), Dim("bands", encoder.own[0]));
        let twice = Dim("frames", with.s().1.saturating_mul(2));
        let layer = |channels: Dim| {
            let seen = Dim("bands or channels of three frames", channels.1.saturating_mul(3));
            [build.parameter("convolution weight", [h, seen]), build.vector("convolution bias", h)]
        };
        Some(Self {
            layers: [layer(bands), layer(h)],
            input: tape.form([b, bands, twice]),
            made: [tape.form([b, h, twice]), tape.form([b, h, with.s()])],
            format: with.made_in,
        })
    }

    /// The frames of a micro-batch.
    pub fn input<'t>(&self, tape: &'t Tape) -> Var<'t> {
        tape.constant("frames", self.input, self.format)
    }

    /// The output of the second convolution, `[b, s, h]`.
    fn run<'t>(&self, tape: &'t Tape, frames: &Var<'t>, hidden: Form) -> Var<'t> {
        tape.at("Convolutions of frames", sources::PYTORCH_AUTOGRAD);
        let [first, second] = self.layers;
        let mut made = frames.clone().convolution(first, self.made[0]).apply(GELU);
        made = { made }.convolution(second, self.made[1]).apply(GELU);
        made.view(hidden)
    }
}

impl Ends {
    /// The first states of an encoder of frames, where it is one.
    pub(super) fn of_frames<'t>(&self, tape: &'t Tape, frames: &Var<'t>) -> Option<Var<'t>> {
        let own = self.frames.as_ref()?;
        Some(own.run(tape, frames, self.shapes.hidden))
    }
}
