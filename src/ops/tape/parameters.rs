//! Parameters on a tape: their share on this rank, copies for blocks alike, and how modules read
//! them.

use super::state::{
    Cut, NONE, Parameter, Shards, State, Storage, Use, as_leaf, at, bytes_of, count,
};
use super::{Form, Kind, Param};
use crate::units::DType;

impl State {
    pub fn parameter(&mut self, name: &'static str, form: Form, dtype: DType) -> Param {
        let kind = std::mem::replace(&mut self.kind, Kind::Parameter);
        let elements = self.elements(form);
        let (kept, padded, format) = match self.shards {
            Some(shards) => {
                let (kept, padded) = self.share(form, shards);
                let packed = matches!(dtype, DType::Int4 | DType::Int8);
                (kept, padded, if packed { dtype } else { shards.dtype })
            }
            None => (elements, elements, dtype),
        };
        let storage = self.allocate_part(name, form, format, kept);
        self.kind = kind;
        let read = if self.shards.is_some() { NONE } else { storage };
        let layer = self.layer;
        let (gradient, copy, waiting, uses) = (NONE, NONE, None, 0);
        self.parameters.push(Parameter {
            storage,
            read,
            form,
            dtype,
            kept,
            padded,
            gradient,
            copy,
            waiting,
            uses,
            idle: self.frozen,
            frozen: self.frozen,
            beside: false,
            narrow: false,
            shared: self.shared,
            layer,
        });
        count(self.parameters.len()).saturating_sub(1)
    }

    /// Elements of a parameter of that shape that one rank keeps, and of all ranks together; all of
    /// it where it lies in a vector with others, whose parts are known once all are declared: see
    /// [`Self::deal_out_flat`].
    pub fn share(&self, form: Form, shards: Shards) -> (u64, u64) {
        if matches!(shards.cut, Cut::Flat { .. }) {
            return (self.elements(form), self.elements(form));
        }
        let rows = self
            .forms
            .get(usize::from(form))
            .and_then(|form| form.0.dims().next())
            .map_or(1, |dim| dim.1)
            .max(1);
        let kept = rows.div_ceil(shards.ranks.max(1)).saturating_mul(self.elements(form) / rows);
        (kept, kept.saturating_mul(shards.ranks))
    }

    /// Gives each parameter its share of the vector that its layer is: the first rank's part of it,
    /// and all of it with the padding behind it.
    pub fn deal_out_flat(&mut self, shards: Shards) {
        let Cut::Flat { head, align } = shards.cut else { return };
        let (align, ranks, bits) = (align.max(1), shards.ranks.max(1), shards.dtype.bits().max(1));
        let group =
            |layer: u16| usize::from(head.filter(|head| *head != layer).map_or(0, |_| layer));
        let width =
            |storage: Option<&Storage>| storage.map_or(bits, |storage| storage.dtype.bits());
        let mut ends = vec![0_u64; usize::from(head.unwrap_or(1)).max(1)];
        let mut places = Vec::with_capacity(self.parameters.len());
        for parameter in &self.parameters {
            let place = ends.get(group(parameter.layer)).copied().unwrap_or(0);
            places.push(place);
            if let Some(end) = ends.get_mut(group(parameter.layer)).filter(|_| !parameter.beside) {
                let length = self
                    .elements(parameter.form)
                    .saturating_mul(width(self.storages.get(at(parameter.storage))))
                    / bits;
                *end = place.saturating_add(length).div_ceil(align).saturating_mul(align);
            }
        }
        for end in &mut ends {
            *end = end.div_ceil(ranks).saturating_mul(ranks);
        }
        let first: Vec<u64> = ends.iter().map(|end| end / ranks).collect();
        let mut next = ends;
        for (parameter, place) in self.parameters.iter_mut().zip(places).rev() {
            let group = group(parameter.layer);
            let Some((next, first)) =
                next.get_mut(group).zip(first.get(group)).filter(|_| !parameter.beside)
            else {
                continue;
            };
            let Some(storage) = self.storages.get_mut(at(parameter.storage)) else { continue };
            let elements = |length: u64| length.saturating_mul(bits) / storage.dtype.bits().max(1);
            parameter.padded = elements(next.saturating_sub(place));
            parameter.kept = elements((*next).min(*first).saturating_sub(place));
            storage.bytes = bytes_of(parameter.kept, storage.dtype);
            *next = place;
        }
    }

    /// Parameters belong to that layer.
    pub fn move_to(&mut self, layer: u16, (from, to): (Param, Param)) {
        for param in from..to {
            if let Some(parameter) = self.parameters.get_mut(at(param)) {
                parameter.layer = layer;
            }
        }
    }

    /// Declares parameters once more, for a further block of the same modules; how far behind the
    /// first they lie.
    pub fn repeat(&mut self, from: Param, to: Param) -> u32 {
        let behind = count(self.parameters.len()).saturating_sub(from);
        let (kind, op) = (std::mem::replace(&mut self.kind, Kind::Parameter), self.op);
        // Buffers that the modules registered lie between their parameters.
        let mut next = self.parameters.get(at(from)).map_or(0, |first| at(first.storage));
        let end = self.parameters.get(at(to)).map_or(self.storages.len(), |next| at(next.storage));
        for param in from..to {
            let Some(mut again) = self.parameters.get(at(param)).cloned() else { continue };
            let Some(Storage { name, form, dtype, op, .. }) =
                self.storages.get(at(again.storage)).cloned()
            else {
                continue;
            };
            next = self.repeat_buffers(next, at(again.storage));
            self.op = op;
            again.storage = self.allocate_part(name, form, dtype, again.kept);
            again.read = if again.read == NONE { NONE } else { again.storage };
            again.layer = self.layer;
            self.parameters.push(again);
        }
        self.repeat_buffers(next, end);
        (self.kind, self.op) = (kind, op);
        behind
    }

    /// Registers the buffers among those storages once more; the place behind them.
    fn repeat_buffers(&mut self, from: usize, to: usize) -> usize {
        let kind = std::mem::replace(&mut self.kind, Kind::Buffer);
        for storage in from..to {
            let found =
                self.storages.get(storage).filter(|found| found.kind == Kind::Buffer).cloned();
            let Some(Storage { name, form, dtype, .. }) = found else { continue };
            self.allocate(name, form, dtype);
        }
        self.kind = kind;
        to
    }

    /// The parameter that the block that runs now stands for.
    pub const fn meant(&self, param: Param) -> Param {
        let (from, to, behind) = self.copies;
        if from <= param && param < to { param + behind } else { param }
    }

    /// Notes that forward needs a parameter.
    pub fn note_use(&mut self, param: Param) {
        let (from, layer, stopped) = (self.log.len(), self.layer, self.stopped);
        let frozen = self.is_frozen(param);
        if let Some(uses) = self.uses.as_mut().filter(|_| !stopped) {
            uses.push(Use { param, from, until: None, layer });
            self.frozen_read.extend(frozen.then_some(param));
        }
    }

    /// The frozen parameters that were read since the node before are this node's.
    pub(super) fn note_frozen(&mut self, node: u32) {
        let read = std::mem::take(&mut self.frozen_read);
        if node != NONE && !read.is_empty() {
            self.frozen_of.insert(node, read);
        }
    }

    /// Notes that a node of backward, whose log began there, needed its parameters.
    pub(super) fn note_node(&mut self, node: u32, from: usize) {
        let Some(operands) =
            self.nodes.get(at(node)).filter(|_| self.uses.is_some()).map(|node| node.operands)
        else {
            return;
        };
        let (until, layer) = (Some(self.log.len()), self.layer);
        let frozen = self.frozen_of.get(&node).into_iter().flatten().copied();
        let params = operands.iter().filter_map(|operand| as_leaf(operand.node)).chain(frozen);
        if let Some(uses) = self.uses.as_mut() {
            uses.extend(params.map(|param| Use { param, from, until, layer }));
        }
    }

    /// True if a parameter wants no gradient.
    pub fn is_frozen(&self, param: Param) -> bool {
        self.parameters.get(at(param)).is_some_and(|found| found.frozen)
    }

    /// The storage that modules read of a parameter, its shape and its format.
    pub fn parameter_tensor(&self, param: Param) -> (u32, Form, DType) {
        self.parameters
            .get(at(param))
            .map_or((NONE, 0, DType::Fp32), |found| (found.read, found.form, found.dtype))
    }
}
