//! Images that a model picks out of a batch in which some are empty (transformers 5.23,
//! `models/idefics3`).

use std::cell::Cell;

use crate::config::{AttentionKernel, Seen, Tower, TowerSize};
use crate::ops::modules::Build;
use crate::ops::tape::{Form, Kept, Tape, Var};
use crate::ops::tensor::Dim;
use crate::units::DType;

/// Numbers that are told of each image beside its pixels.
#[derive(Debug)]
pub(super) struct Picked {
    /// A number for each pixel of an image.
    pixels: Form,
    /// One for each patch, and one for each image.
    patches: Form,
    images: Form,
    /// One for each sequence.
    sequences: Form,
    /// Which patches see each other, where attention is written out; and that mask, while the tower
    /// runs.
    scores: Option<Form>,
    held: Cell<Option<Kept>>,
}

impl Picked {
    pub fn new(build: &Build<'_>, tower: &Tower, (images, seen): (u64, Seen)) -> Self {
        let (tape, count) = (build.tape, Dim("images", images));
        let [width, height] = seen.pixels;
        Self {
            pixels: tape.form([count, Dim("height", height), Dim("width", width)]),
            patches: tape.form([count, Dim("patches", tower.sizes.get(TowerSize::Patches))]),
            images: tape.form([count]),
            sequences: tape.form([build.with.b()]),
            scores: (build.with.attention == AttentionKernel::Standard).then(|| {
                tape.form([count, Dim("patches", seen.rows), Dim("patches seen", seen.rows)])
            }),
            held: Cell::default(),
        }
    }

    /// Makes the mask that blocks add to their scores, in the format of these.
    pub fn begins(&self, tape: &Tape, patches: &Var<'_>) {
        let made = |scores| tape.constant("mask of patches", scores, patches.dtype()).kept();
        self.held.set(self.scores.map(made));
    }

    /// The mask of patches that was kept, if there is one.
    pub fn of_scores<'t>(&self, tape: &'t Tape) -> Option<Var<'t>> {
        self.held.get().map(|kept| tape.held(kept))
    }

    /// The tower has run.
    pub fn ends(&self, tape: &Tape) {
        self.held.take().into_iter().for_each(|kept| tape.let_go(kept));
    }

    /// Of every pixel whether it is one of the image, which the processor says.
    pub fn mask<'t>(&self, tape: &'t Tape) -> Var<'t> {
        tape.constant("mask of pixels", self.pixels, DType::Int64)
    }

    /// The images that are not empty, in the weights' format, with what is held beside them: which
    /// these are, how many each sequence has, their masks, and those of patches.
    pub fn pick<'t>(
        &self,
        tape: &'t Tape,
        pixels: Var<'t>,
        format: DType,
    ) -> (Var<'t>, Vec<Var<'t>>) {
        let pixels = pixels.cast_as(format, "pixels");
        let which = tape.constant("images that are not empty", self.images, DType::Mask);
        let counts = tape.constant("images of each sequence", self.sequences, DType::Int64);
        let picked = { pixels }.copy().named("pixels");
        let masks = tape.constant("masks of picked images", self.pixels, DType::Int64);
        let patches = tape.constant("patches of the image", self.patches, DType::Mask);
        (picked, vec![which, counts, masks, patches])
    }
}
