//! The begin of the model's `forward`: embedded tokens, and the tables that blocks read.

use super::{Embedded, Ends};
use crate::config::{EmbeddingScale, LinearBiases, PositionIds, RotaryTables};
use crate::ops::modules::{FP32, Tables};
use crate::ops::tape::{Form, SCALE, Tape, Var};
use crate::sources;
use crate::units::DType;

impl<'t> Embedded<'t> {
    /// The start of a text alone: its first block's input, its tables, the tensors that `forward`
    /// holds with its residual streams, and its tokens.
    fn new(
        hidden: Var<'t>,
        tables: [Tables<'t>; 2],
        (held, streams): (Vec<Var<'t>>, Vec<Var<'t>>),
        ids: &Var<'t>,
    ) -> Self {
        let images = Vec::new();
        Self {
            hidden,
            tables,
            held,
            ids: ids.clone(),
            streams,
            moved: None,
            images,
            fed: None,
            unread: (0, 0),
        }
    }

    /// Takes the output of a block, with the tokens of images that it is fed behind it.
    pub fn goes_on(&mut self, layer: usize, hidden: Var<'t>) {
        self.hidden = match &mut self.fed {
            Some(fed) => fed.behind(layer, hidden),
            None => hidden,
        };
    }
}

/// The tables of a text alone, before any block has run.
fn of_text<'t>(
    (rotary, mask): (Option<(Var<'t>, Var<'t>)>, Option<Var<'t>>),
    (alibi, positions): (Option<Var<'t>>, Option<Var<'t>>),
    own_input: Option<Var<'t>>,
) -> Tables<'t> {
    Tables {
        rotary,
        mask,
        alibi,
        positions,
        past: None,
        own_input,
        chosen: None,
        no_biases: None,
        source: None,
        unread_rotary: None,
        before: None,
        layer: None,
    }
}

impl Ends {
    /// Runs a block of the vision tower again, from its input.
    pub fn recompute_image<'t>(&self, tape: &'t Tape, block: usize, input: &Var<'t>) {
        if let Some(sight) = &self.sight {
            sight.recompute(tape, block, input);
        }
    }

    /// Embedded tokens with the tables of the step: `dtype` is the embedding's format, and `held`
    /// are the tensors that `forward` holds.
    pub(super) fn with_tables<'t>(
        &self,
        tape: &'t Tape,
        (hidden, dtype): (Var<'t>, DType),
        (positions, ids): (Option<Var<'t>>, &Var<'t>),
        (own_input, mut held): (Option<Var<'t>>, Vec<Var<'t>>),
    ) -> Embedded<'t> {
        let beside = self.modules.linear_biases == LinearBiases::BesidePositions;
        let distances = self.others.and_then(|others| (others.distances)(self, tape));
        let biases = || self.others.and_then(|others| (others.biases)(self, tape));
        let alibi = self.alibi.then(|| self.linear_biases(tape, hidden.dtype())).or_else(biases);
        let searches = positions.is_some();
        if searches && !self.bidirectional {
            self.looks_for_packed_texts(tape);
        }
        let dtype = self.format_of_masks(dtype, &hidden);
        let counts = self.modules.position_ids != PositionIds::Nowhere;
        let masks = self.eager && !self.bidirectional && counts;
        let mut mask = masks
            .then(|| self.causal_mask(tape, dtype, self.slides))
            .or_else(|| self.seen_in_windows(tape, counts && self.slides));
        if beside && alibi.is_some() && mask.is_some() {
            held.push(tape.constant(
                "tokens that are no padding",
                self.shapes.tokens,
                DType::Int64,
            ));
            mask = Some(tape.constant("linear biases and causal mask", self.shapes.scores, dtype));
        }
        if searches && !self.bidirectional && self.kinds_of_masks > 1 {
            self.looks_for_packed_texts(tape);
        }
        let of_tokens = self.others.filter(|_| self.own.encodes && self.bidirectional);
        let [whole, windows] =
            of_tokens.map_or([None, None], |others| (others.masks)(self, tape, dtype));
        mask = mask.or(whole);
        let sliding = if self.own.encodes && self.bidirectional {
            windows
        } else {
            self.mask_of_windows(tape, dtype, (masks, counts)).or_else(|| mask.clone())
        };
        let hidden = self.placed_and_dropped(tape, hidden, positions.as_ref(), &mut held);
        let (hidden, streams) = match &self.streams {
            Some(streams) if self.first => streams.spread(hidden, &mut held),
            _ => (hidden, Vec::new()),
        };
        tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
        let format = if self.modules.rotary_tables == RotaryTables::InFp32 { FP32 } else { dtype };
        let rotary = self.rotary.then(|| self.rotary(tape, format, self.forms.rotary));
        let again = self.two_tables.then(|| self.rotary(tape, format, self.forms.sliding_rotary));
        let (alibi, positions) = match distances {
            Some((embedded, distances)) => (embedded, Some(distances)),
            None => (alibi, positions),
        };
        let mut whole = of_text((rotary, mask), (alibi, positions), own_input);
        let whole_rotary = whole.rotary.clone();
        if self.leaves_some_unrotated {
            (whole.rotary, whole.unread_rotary) = (None, whole.rotary);
        }
        let unread_rotary = self.forms.streams.and(whole_rotary.clone());
        let sliding = Tables {
            mask: sliding,
            rotary: again.or(whole_rotary),
            unread_rotary,
            ..whole.clone()
        };
        Embedded::new(hidden, [whole, sliding], (held, streams), ids)
    }

    /// The mask of layers with a window, where other layers of the model have another one.
    /// `masks`: attention is given a mask of all scores; `counts`: positions are counted.
    fn mask_of_windows<'t>(
        &self,
        tape: &'t Tape,
        dtype: DType,
        (masks, counts): (bool, bool),
    ) -> Option<Var<'t>> {
        if masks && self.kinds_of_masks > 1 {
            return Some(self.causal_mask(tape, dtype, true));
        }
        self.seen_in_windows(tape, counts && self.kinds_of_masks > 1)
    }

    /// Embedded positions, where these are made before the mask is.
    pub(super) fn placed_first<'t>(
        &self,
        tape: &'t Tape,
        positions: Option<&Var<'t>>,
        held: &mut Vec<Var<'t>>,
    ) -> Option<Var<'t>> {
        self.places(tape, positions.filter(|_| !self.modules.masks_before_positions), held)
    }

    /// Embedded tokens with their positions, where these are embedded once the mask is there, and
    /// after dropout.
    fn placed_and_dropped<'t>(
        &self,
        tape: &'t Tape,
        hidden: Var<'t>,
        positions: Option<&Var<'t>>,
        held: &mut Vec<Var<'t>>,
    ) -> Var<'t> {
        let late = positions.filter(|_| self.modules.masks_before_positions);
        let hidden = match late.and_then(|positions| self.places(tape, Some(positions), held)) {
            Some(places) => self.with_places(hidden, places, held),
            None => hidden,
        };
        self.dropped(hidden, held)
    }

    /// Embedded tokens after dropout, which takes over the name that `forward` has for them.
    fn dropped<'t>(&self, hidden: Var<'t>, held: &mut [Var<'t>]) -> Var<'t> {
        if !(self.first && self.forms.drops) {
            return hidden;
        }
        let dropped = hidden.clone().dropped();
        for held in held.iter_mut().filter(|held| held.is_alias_of(&hidden)) {
            *held = dropped.clone();
        }
        dropped
    }

    /// The tokens that are among a rank's words, and zeros for the others: by a factor for each
    /// (torchtitan 0.3.0, `Embedding` in `models/common/embedding.py`), or in place (PyTorch 2.15,
    /// `_MaskPartial`).
    fn own_words<'t>(&self, tape: &'t Tape, form: Form) -> Var<'t> {
        let is_there =
            tape.constant("tokens of this rank's words", self.shapes.tokens, DType::Mask);
        let ids = tape.constant("places in this rank's words", self.shapes.tokens, DType::Int64);
        let embedded = tape.embedding(ids, self.embedding, form);
        if self.shapes.exchange.masks_in_place() {
            return embedded;
        }
        let factor =
            tape.constant("tokens of this rank's words", self.shapes.tokens, embedded.dtype());
        let product = embedded.mul(factor);
        drop(is_there);
        product
    }

    /// Embedded tokens, scaled where the model does so, and the format of the embedding; of a later
    /// stage what it receives.
    pub(super) fn embedded_tokens<'t>(
        &self,
        tape: &'t Tape,
        ids: &Var<'t>,
        form: Form,
    ) -> (Var<'t>, DType) {
        let mut embedded = if self.first {
            let tokens = if self.of_columns() {
                self.own_words(tape, form)
            } else {
                tape.embedding(ids.clone(), self.embedding, form)
            };
            if self.wanting && self.scale.is_none() {
                let tokens = tokens.wanting();
                tape.reaches(&tokens, self.embedding);
                tokens
            } else {
                tokens
            }
        } else {
            tape.received("hidden states from the stage before", self.shapes.hidden, self.received)
        };
        let dtype = embedded.dtype();
        if self.first && self.modules.embedding_scale != EmbeddingScale::None {
            // Gemma's factor is a buffer, which the product saves in the embedding's format.
            let cast = self.scale.is_some_and(|format| format != embedded.dtype());
            let factor = cast
                .then(|| tape.constant("embedding scale", self.shapes.scalar, embedded.dtype()));
            embedded = match factor {
                Some(factor) => embedded.mul(factor),
                None => embedded.apply(SCALE),
            };
            embedded = embedded.named("embedded tokens");
            if self.wanting && self.scale.is_some() {
                // Gemma's embedding scales by itself.
                embedded = embedded.wanting();
            }
        }
        (embedded, dtype)
    }
}
