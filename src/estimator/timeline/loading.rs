//! Memory that passes while weights of four and eight bits are loaded: each lies on the GPU in 16
//! bits until it is packed.

use super::TensorEvent;
use super::plan::Plan;
use crate::config::BaseFormat;
use crate::ops::tape::{State, Storage};
use crate::units::DType;

/// Names of what lies beside a weight of few bits.
const BESIDE_WEIGHT: [&str; 5] =
    ["codes", "scales", "scales of scales", "offset", "scales of columns"];

/// Names of experts' weights, behind each of which axolotl gives the cache back
/// (`monkeypatch/moe_quant.py` of 0.19).
const OF_EXPERTS: [&str; 2] = ["gate and up weights", "down weights"];

/// Returns the events in which a model is made, with those of packing its weights.
///
/// bitsandbytes 0.50 (`Params4bit._quantize` in `nn/modules.py`, `quantize_4bit` in
/// `functional.py`): the weight comes to the GPU as the file has it, in 16 bits. Scales in fp32
/// and the packed weight are made beside it; under double quantisation a copy of the scales less
/// their mean is packed in turn. Nothing of this stays, but packed weights that were put between
/// leave pieces of it in PyTorch's cache that no larger tensor fits into. Stacks with a model of
/// their own pack otherwise.
pub(super) fn with_packing(
    (state, plan): (&State, &Plan<'_>),
    build: Vec<TensorEvent>,
) -> Vec<TensorEvent> {
    let tuning = &plan.with.tuning;
    if !tuning.packs_weights() || plan.with.stack.modules().is_own_model {
        return build;
    }
    let mut packing = Packing {
        double: tuning.base == BaseFormat::Nf4Double,
        first: u32::try_from(state.storages.len()).unwrap_or(u32::MAX - Packing::MOST),
        events: Vec::with_capacity(build.len().saturating_mul(2)),
        held: 0,
        scales: 0,
        empties: false,
    };
    for event in build {
        let storage = match event {
            TensorEvent::Taken { tensor, .. } => {
                usize::try_from(tensor).ok().and_then(|at| state.storages.get(at))
            }
            TensorEvent::Freed { .. } | TensorEvent::CacheEmptied => None,
        };
        packing.passes(storage, storage.map_or(0, |storage| state.elements(storage.form)));
        packing.events.push(event);
    }
    packing.ends();
    packing.events
}

/// Weights that are packed one after another.
struct Packing {
    /// True if scales are packed as well.
    double: bool,
    /// The number of the first tensor that passes: no tensor of the model has it.
    first: u32,
    events: Vec<TensorEvent>,
    /// Tensors that pass and are there now.
    held: u32,
    /// Scales of the weight that is packed.
    scales: u64,
    /// True if the cache is given back once the weight is packed.
    empties: bool,
}

impl Packing {
    /// Tensors that pass at once, at most.
    const MOST: u32 = 3;
    /// Values that share a scale.
    const VALUES_PER_SCALE: u64 = 64;

    /// The storage of so many elements is taken next.
    fn passes(&mut self, storage: Option<&Storage>, elements: u64) {
        match storage {
            Some(storage)
                if storage.dtype == DType::Int8 && !BESIDE_WEIGHT.contains(&storage.name) =>
            {
                // The fp16 copy of which bytes are made (`Int8Params._quantize`).
                self.ends();
                self.take("weight before it is packed", elements, DType::Bf16);
                self.take("weight in fp16", elements, DType::Fp16);
            }
            Some(storage) if storage.dtype == DType::Int4 => {
                self.ends();
                self.empties = OF_EXPERTS.contains(&storage.name);
                self.scales = elements.div_ceil(Self::VALUES_PER_SCALE);
                self.take("weight before it is packed", elements, DType::Bf16);
                if self.double {
                    self.take("scales before they are packed", self.scales, DType::Fp32);
                }
            }
            Some(storage) if BESIDE_WEIGHT.contains(&storage.name) => {
                if self.double && storage.name == "scales" && self.held > 0 {
                    self.take("scales less their mean", self.scales, DType::Fp32);
                }
            }
            Some(_) | None => self.ends(),
        }
    }

    fn take(&mut self, name: &'static str, elements: u64, dtype: DType) {
        let bytes = elements.saturating_mul(dtype.bits()).div_ceil(8);
        let tensor = self.first.saturating_add(self.held);
        self.events.push(TensorEvent::Taken { tensor, bytes, stream: 0, op: "Weights", name });
        self.held += 1;
    }

    /// The weight is packed.
    fn ends(&mut self) {
        for held in (0..std::mem::take(&mut self.held)).rev() {
            self.events.push(TensorEvent::Freed { tensor: self.first.saturating_add(held) });
        }
        self.events.extend(std::mem::take(&mut self.empties).then_some(TensorEvent::CacheEmptied));
    }
}
