//! Keys and values that later blocks read: the last block of each sort that makes its own leaves
//! them for the rest.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use crate::config::ModelConfig;
use crate::ops::tape::{Kept, Tape, Var};

/// The keys and values that a layer has left. Those of a forward that ran again bring its graph
/// with them, which no backward goes through: what led to them stays saved.
#[derive(Debug)]
struct Left {
    keys: [Kept; 2],
    saved: Vec<u32>,
}

impl Left {
    fn let_go(&self, tape: &Tape) {
        for kept in self.keys {
            tape.let_go(kept);
        }
        tape.release_recorded(&self.saved);
    }
}

/// Keys and values for blocks that see everything, and for sliding ones.
#[derive(Debug, Default)]
pub(crate) struct SharedKeys(RefCell<[Option<Left>; 2]>);

impl SharedKeys {
    /// Frees the keys and values that are held.
    pub fn clear(&self, tape: &Tape) {
        for left in self.0.take().into_iter().flatten() {
            left.let_go(tape);
        }
    }
}

/// The part that one layer plays among those that share their modules.
#[derive(Clone, Debug)]
pub(crate) struct OfLayer {
    /// Its feed-forward layer keeps the largest activations alone.
    pub is_sparse: bool,
    /// Its keys and values are for later layers of its sort.
    leaves_keys: bool,
    slides: bool,
    shared: Rc<SharedKeys>,
}

impl OfLayer {
    pub fn new(model: &ModelConfig, layer: u64, shared: Rc<SharedKeys>) -> Self {
        let hybrid = model.hybrid.as_ref();
        let is_sparse = model.altup().is_some_and(|altup| altup.sparse_layers.contains(layer));
        let reads =
            |layer: u64| hybrid.is_some_and(|hybrid| hybrid.kv_shared_layers.contains(layer));
        let slides = model.sliding_layers.contains(layer);
        let later = layer.saturating_add(1)..model.num_hidden_layers;
        let mut of_sort =
            later.clone().filter(|later| model.sliding_layers.contains(*later) == slides);
        let leaves_keys = !reads(layer) && later.clone().any(reads) && of_sort.all(reads);
        Self { is_sparse, leaves_keys, slides, shared }
    }

    /// Leaves keys and values for later layers, if there are such; `led_here` is what was recorded
    /// on the way to them.
    pub fn keep(&self, key: &Var<'_>, value: &Var<'_>, led_here: [Range<usize>; 2]) {
        if !self.leaves_keys {
            return;
        }
        let tape = key.tape();
        let saved = led_here.into_iter().flat_map(|between| tape.hold_recorded(between)).collect();
        let left = Left { keys: [key.kept(), value.kept()], saved };
        let before = self
            .shared
            .0
            .borrow_mut()
            .get_mut(usize::from(self.slides))
            .and_then(|place| place.replace(left));
        if let Some(before) = before {
            before.let_go(tape);
        }
    }

    /// The keys and values that an earlier layer has left.
    pub fn kept<'t>(&self, tape: &'t Tape) -> Option<(Var<'t>, Var<'t>)> {
        let shared = self.shared.0.borrow();
        let [key, value] = &shared.get(usize::from(self.slides))?.as_ref()?.keys;
        Some((tape.held(*key), tape.held(*value)))
    }
}
