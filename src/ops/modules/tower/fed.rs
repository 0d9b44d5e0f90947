//! Tokens of images that the text's first blocks are fed (transformers 5.23, `models/qwen3_vl`).

use crate::ops::tape::{Form, Var};

/// Tokens that feed the text's first blocks, behind each one its own.
#[derive(Debug)]
pub(in crate::ops::modules) struct Fed<'t> {
    pub tokens: Vec<Var<'t>>,
    /// Where the text has tokens of images.
    pub mask: Var<'t>,
    /// One number for each of these.
    pub places: Form,
    /// A block's own output, which `forward` holds until the next one has run.
    pub before: Option<Var<'t>>,
}

impl<'t> Fed<'t> {
    /// A block's output once tokens are added in the places of images (`_deepstack_process`).
    pub fn behind(&mut self, layer: usize, hidden: Var<'t>) -> Var<'t> {
        self.before = None;
        let Some(tokens) = self.tokens.get(layer) else { return hidden };
        let tokens = tokens.clone().cast(hidden.dtype());
        let whole = hidden.clone().copy().named("block output");
        self.before = Some(hidden);
        let picked = whole.clone().picked(&self.mask, (tokens.form(), self.places));
        let local = picked.add(tokens).named("tokens of images");
        whole.put(&local, &self.mask, self.places)
    }
}
