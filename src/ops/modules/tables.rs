//! Tables that blocks read beside the hidden states.

use std::rc::Rc;

use super::adapter::Past;
use super::altup::OfLayer;
use crate::ops::tape::Var;

/// Tables that blocks of one kind read beside the hidden states.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables<'t> {
    /// Rotary cosines and sines.
    pub rotary: Option<(Var<'t>, Var<'t>)>,
    /// The mask that is added to scores.
    pub mask: Option<Var<'t>>,
    /// Parts of scores beside queries and keys: linear biases, or those of distances.
    pub alibi: Option<Var<'t>>,
    /// Position ids, which no block reads but every call holds; of models with embedded distances,
    /// these.
    pub positions: Option<Var<'t>>,
    /// Keys and values that the block's cache holds.
    pub past: Option<Rc<Past<'t>>>,
    /// Inputs of all layers; of the layer alone, once it is given them.
    pub own_input: Option<Var<'t>>,
    /// The tokens that the layer before has chosen, where layers hand these on.
    pub chosen: Option<Var<'t>>,
    /// Zeros that stand for biases of attention to the encoder's states.
    pub no_biases: Option<Var<'t>>,
    /// The last states of the encoder beside a decoder.
    pub source: Option<Var<'t>>,
    /// Tables of layers of another kind, which every call is handed and does not read.
    pub unread_rotary: Option<(Var<'t>, Var<'t>)>,
    /// The output of the block's first part, where that is checkpointed by itself.
    pub before: Option<Var<'t>>,
    /// The part that the layer plays among those that share its modules.
    pub layer: Option<OfLayer>,
}

impl<'t> Tables<'t> {
    /// All tables that are there.
    pub fn all(&self) -> Vec<Var<'t>> {
        let rotary = self.rotary.iter().flat_map(|(cos, sin)| [cos.clone(), sin.clone()]);
        let rest = [
            &self.mask,
            &self.alibi,
            &self.own_input,
            &self.chosen,
            &self.positions,
            &self.source,
            &self.before,
        ];
        let unread = self.unread_rotary.iter().flat_map(|(cos, sin)| [cos.clone(), sin.clone()]);
        rotary.chain(rest.into_iter().flatten().cloned()).chain(unread).collect()
    }

    /// Tables of this kind again, from what [`Self::all`] listed.
    pub fn again(all: Vec<Var<'t>>, like: [bool; 9], layer: Option<OfLayer>) -> Self {
        let mut all = all.into_iter();
        let rotary = if like[0] { all.next().zip(all.next()) } else { None };
        let mut next = |there: bool| if there { all.next() } else { None };
        let (mask, alibi, own_input) = (next(like[1]), next(like[2]), next(like[3]));
        let (chosen, positions, source, before) =
            (next(like[4]), next(like[5]), next(like[6]), next(like[7]));
        let unread_rotary = if like[8] { all.next().zip(all.next()) } else { None };
        let (past, no_biases) = (None, None);
        Self {
            rotary,
            mask,
            alibi,
            positions,
            past,
            own_input,
            chosen,
            no_biases,
            source,
            unread_rotary,
            before,
            layer,
        }
    }

    /// The keys and values that attention sees: with those of the cache before them, where there is
    /// one.
    pub fn seen(&self, own: (Var<'t>, Var<'t>)) -> (Var<'t>, Var<'t>) {
        match &self.past {
            Some(past) => past.update(own),
            None => own,
        }
    }

    /// Which of them there are: rotary, mask, linear biases, the layer's own input, what the layer
    /// before has chosen, positions, the encoder's states, what the block's first part made, tables
    /// of other layers.
    pub const fn kinds(&self) -> [bool; 9] {
        let [mask, alibi] = [self.mask.is_some(), self.alibi.is_some()];
        let [own_input, chosen] = [self.own_input.is_some(), self.chosen.is_some()];
        let [positions, source, before] =
            [self.positions.is_some(), self.source.is_some(), self.before.is_some()];
        [
            self.rotary.is_some(),
            mask,
            alibi,
            own_input,
            chosen,
            positions,
            source,
            before,
            self.unread_rotary.is_some(),
        ]
    }
}
