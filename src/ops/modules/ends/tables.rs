//! Tensors that the model makes before its first block: positions, masks, linear biases, rotary
//! tables.

use super::Ends;
use crate::config::PositionIds;
use crate::ops::modules::FP32;
use crate::ops::tape::{Form, SCALE, Tape, Var};
use crate::units::DType;

impl Ends {
    /// Numbers of the positions: counted, then moved on by those that a cache holds.
    pub(super) fn position_ids(tape: &Tape, form: Form) -> Var<'_> {
        let counted =
            tape.is_cuda().then(|| tape.constant("positions counted", form, DType::Int64));
        let ids = tape.constant("position ids", form, DType::Int64);
        drop(counted);
        ids
    }

    /// Before a mask is made, positions are searched for a place where they do not go up by one:
    /// there another text would begin (`find_packed_sequence_indices` in transformers'
    /// `masking_utils.py`). Where a mask is given nothing is searched.
    pub(super) fn looks_for_packed_texts(&self, tape: &Tape) {
        if !tape.is_cuda() || self.prompt.is_some() || self.prefix.is_some() {
            return;
        }
        let [sequences, padded, tokens] =
            [self.forms.sequences, self.forms.padded, self.shapes.tokens];
        let numbers = |form| tape.constant("differences of positions", form, DType::Int64);
        let flags = |form| tape.constant("where a text begins", form, DType::Mask);
        let _first = numbers(sequences);
        let longer = numbers(padded);
        let _differences = numbers(tokens);
        drop(longer);
        let begins = flags(tokens);
        let _counted = numbers(tokens);
        let copy = numbers(tokens);
        if !self.batched {
            tape.scan(tokens);
        }
        drop((copy, begins));
        let _one = flags(sequences);
        let _all = flags(self.shapes.scalar);
    }

    pub(super) fn linear_biases<'t>(&self, tape: &'t Tape, dtype: DType) -> Var<'t> {
        let slopes = tape.constant("slopes by position", tape.form(self.forms.alibi.0), FP32);
        let repeated = tape.constant("linear biases in fp32", tape.form(self.forms.alibi.1), FP32);
        drop(slopes);
        repeated.cast_as(dtype, "linear biases")
    }

    pub(super) fn causal_mask<'t>(&self, tape: &'t Tape, dtype: DType, slides: bool) -> Var<'t> {
        if tape.is_cuda() {
            return self.mask_of_one_text(tape, dtype, slides);
        }
        // The tracker's tensors hold no values, so that transformers takes every sequence for
        // several texts.
        let form = tape.form(self.forms.mask);
        let flags = |name| tape.constant(name, form, DType::Mask);
        let same = flags("same sequence");
        let both = flags("same sequence and not padded");
        drop(same);
        let before = flags("not later");
        let _visible = flags("visible");
        drop((both, before));
        tape.constant("causal mask", tape.form(self.forms.mask), dtype)
    }

    /// Cosines and sines of those shapes.
    pub(super) fn rotary<'t>(
        &self,
        tape: &'t Tape,
        dtype: DType,
        [whole, half, _]: [Form; 3],
    ) -> (Var<'t>, Var<'t>) {
        if self.factors.is_some() {
            let kept = self.last_factors.get().map(|kept| tape.held(kept));
            let factors = kept.unwrap_or_else(|| tape.constant("rotary factors", whole, FP32));
            return (factors.clone(), factors);
        }
        if let Some(grids) = self.forms.grids {
            return self.rotary_of_grids(tape, dtype, grids);
        }
        let by_halves = self.forms.by_halves;
        let numbers = tape.constant("positions in fp32", self.forms.numbers, FP32);
        let angles = tape.constant("angles", half, FP32);
        drop(numbers);
        if self.forms.complex {
            let ones = tape.constant("ones", half, FP32);
            let polar = tape.constant("complex rotations", whole, FP32);
            drop(ones);
            let scaled = polar.apply(SCALE).named("complex rotations");
            return (scaled.clone(), scaled);
        }
        let doubled = if by_halves { angles.clone() } else { tape.constant("angles", whole, FP32) };
        let cos = tape.constant("cosines", whole, FP32).apply(SCALE);
        let sin = tape.constant("sines", whole, FP32).apply(SCALE);
        let tables = (
            cos.clone().cast_as(dtype, "rotary cosines"),
            sin.clone().cast_as(dtype, "rotary sines"),
        );
        drop((angles, doubled));
        tables
    }

    /// Tables of three grids of positions, of which the others' columns are written into the
    /// first's (`Qwen3_5TextRotaryEmbedding`).
    fn rotary_of_grids<'t>(&self, tape: &'t Tape, dtype: DType, grids: Form) -> (Var<'t>, Var<'t>) {
        let _angles = tape.constant("angles", grids, FP32);
        let cos = tape.constant("cosines", grids, FP32).apply(SCALE);
        let sin = tape.constant("sines", grids, FP32).apply(SCALE);
        let together = |of_grids: Var<'t>, name| {
            let whole = tape.constant(name, self.forms.rotary[0], FP32);
            drop(of_grids);
            whole
        };
        let sin = together(sin, "sines");
        let cos = together(cos, "cosines");
        (cos.clone().cast_as(dtype, "rotary cosines"), sin.clone().cast_as(dtype, "rotary sines"))
    }

    /// Embedded positions, where they are learned.
    pub(super) fn places<'t>(
        &self,
        tape: &'t Tape,
        ids: Option<&Var<'t>>,
        held: &mut Vec<Var<'t>>,
    ) -> Option<Var<'t>> {
        if self.modules.keeps_sines {
            let places = tape.constant("embedded positions", self.shapes.hidden, self.received);
            held.push(places.clone());
            return Some(places);
        }
        let (table, ids) = (self.positions?, ids?);
        // The mask of all tokens stays, where positions are not counted from it, too; rows are
        // moved by two.
        let mask = || tape.constant("tokens that are no padding", self.shapes.tokens, FP32);
        let moved = |form| tape.constant("rows of positions", form, DType::Int64);
        let embedded = self.forms.embedded.unwrap_or(self.shapes.hidden);
        let of_all = tape.form_like(self.forms.positions, embedded);
        let places = match self.modules.position_ids {
            PositionIds::Counted
            | PositionIds::Buffer
            | PositionIds::Nowhere
            | PositionIds::Untold => tape.embedding(ids.clone(), table, of_all),
            PositionIds::FromTokens => tape.embedding(ids.clone(), table, embedded),
            PositionIds::FromMask => {
                held.push(mask());
                tape.embedding(moved(self.shapes.tokens), table, self.shapes.hidden)
            }
            PositionIds::BesideMask => {
                held.push(mask());
                tape.embedding(moved(self.forms.positions), table, of_all)
            }
        };
        Some(places.named("embedded positions"))
    }

    /// The mask of sequences that are one text each: who sees whom is the same in all of them
    /// (`sdpa_mask` and `eager_mask` in transformers' `masking_utils.py`).
    fn mask_of_one_text<'t>(&self, tape: &'t Tape, dtype: DType, slides: bool) -> Var<'t> {
        let visible = self.visible(tape, slides);
        let scalar = self.shapes.scalar;
        let values = [(); 2].map(|()| tape.constant("value of a mask", scalar, dtype));
        let mask = tape.constant("causal mask", tape.form(self.forms.mask), dtype);
        drop((visible, values));
        mask
    }

    /// Who sees whom in layers with a window, one flag for each pair (`sdpa_mask`),
    /// where fused kernels are given a mask.
    pub(super) fn seen_in_windows<'t>(&self, tape: &'t Tape, there: bool) -> Option<Var<'t>> {
        let given = (there || self.modules.masks_every_layer)
            && self.forms.masks_windows
            && !self.eager
            && !self.bidirectional;
        given.then(|| self.visible(tape, there))
    }

    /// One flag for each pair of tokens.
    fn visible<'t>(&self, tape: &'t Tape, slides: bool) -> Var<'t> {
        let numbers = |form| tape.constant("numbers of a mask", form, DType::Int64);
        let flags = |form| tape.constant("visible", form, DType::Mask);
        let scalar = self.shapes.scalar;
        let moved = |form| {
            let counted = numbers(form);
            let moved = numbers(form);
            drop(counted);
            moved
        };
        let _beside = [
            numbers(self.forms.sequences),
            numbers(scalar),
            moved(self.forms.positions),
            moved(self.forms.keys),
        ];
        if slides {
            let all = flags(scalar);
            let first = numbers(self.forms.positions);
            let near = flags(self.forms.square);
            drop(first);
            let both = flags(self.forms.square);
            drop((near, all));
            let earlier = flags(self.forms.square);
            let visible = flags(self.forms.square);
            drop((earlier, both));
            visible
        } else {
            flags(self.forms.square)
        }
    }
}
