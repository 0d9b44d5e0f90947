//! What a tape knows of parameters: their share on this rank, copies for blocks alike, and how modules read them.

use super::state::{NONE, Parameter, Shards, State, Storage, at, count};
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
            layer,
        });
        count(self.parameters.len()).saturating_sub(1)
    }

    /// Elements of a parameter of that shape that one rank keeps, and of all ranks together.
    pub fn share(&self, form: Form, shards: Shards) -> (u64, u64) {
        let rows = self.forms.get(usize::from(form)).and_then(|form| form.0.dims().next()).map_or(1, |dim| dim.1).max(1);
        let kept = rows.div_ceil(shards.ranks.max(1)).saturating_mul(self.elements(form) / rows);
        (kept, kept.saturating_mul(shards.ranks))
    }

    /// Declares parameters once more, for a further block of the same modules; how far behind the first they lie.
    pub fn repeat(&mut self, from: Param, to: Param) -> u32 {
        let behind = count(self.parameters.len()).saturating_sub(from);
        let (kind, op) = (std::mem::replace(&mut self.kind, Kind::Parameter), self.op);
        // Buffers that the modules registered lie between their parameters.
        let first = self.parameters.get(at(from)).map_or(0, |first| at(first.storage));
        let end = self.parameters.get(at(to)).map_or(self.storages.len(), |next| at(next.storage));
        for param in from..to {
            let Some(mut again) = self.parameters.get(at(param)).cloned() else { continue };
            let Some(Storage { name, form, dtype, op, .. }) = self.storages.get(at(again.storage)).cloned() else { continue };
            self.op = op;
            again.storage = self.allocate_part(name, form, dtype, again.kept);
            again.read = if again.read == NONE { NONE } else { again.storage };
            again.layer = self.layer;
            self.parameters.push(again);
        }
        self.kind = Kind::Buffer;
        for storage in first..end {
            let found = self.storages.get(storage).filter(|found| found.kind == Kind::Buffer).cloned();
            let Some(Storage { name, form, dtype, .. }) = found else { continue };
            self.allocate(name, form, dtype);
        }
        (self.kind, self.op) = (kind, op);
        behind
    }

    /// The parameter that the block at hand means.
    pub const fn meant(&self, param: Param) -> Param {
        let (from, to, behind) = self.copies;
        if from <= param && param < to { param + behind } else { param }
    }

    /// Whether a parameter wants no gradient.
    pub fn is_frozen(&self, param: Param) -> bool {
        self.parameters.get(at(param)).is_some_and(|found| found.frozen)
    }

    /// What modules read of a parameter.
    pub fn parameter_tensor(&self, param: Param) -> (u32, Form, DType) {
        self.parameters.get(at(param)).map_or((NONE, 0, DType::Fp32), |found| (found.read, found.form, found.dtype))
    }
}
