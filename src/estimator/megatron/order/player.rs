//! Memory that is taken and freed, one call after the other.

use crate::estimator::timeline::TensorEvent;

/// Memory of one tensor, to be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken(Option<u32>);

impl Taken {
    /// No memory at all: a tensor that is not there in this run.
    pub const NOTHING: Self = Self(None);
}

/// Records allocations and releases.
#[derive(Debug, Default)]
pub(super) struct Player {
    pub events: Vec<TensorEvent>,
    next: u32,
    op: &'static str,
}

impl Player {
    /// From here on tensors are those of this operation.
    pub const fn enter(&mut self, op: &'static str) {
        self.op = op;
    }

    /// Takes so many bytes; of none nothing is taken.
    pub fn take(&mut self, name: &'static str, bytes: u64) -> Taken {
        if bytes == 0 {
            return Taken::NOTHING;
        }
        let tensor = self.next;
        self.next = self.next.saturating_add(1);
        self.events.push(TensorEvent::Taken { tensor, bytes, stream: 0, op: self.op, name });
        Taken(Some(tensor))
    }

    /// Takes so many bytes where they are needed, otherwise nothing.
    pub fn take_if(&mut self, needed: bool, name: &'static str, bytes: u64) -> Taken {
        if needed { self.take(name, bytes) } else { Taken::NOTHING }
    }

    /// Frees memory.
    pub fn free(&mut self, taken: Taken) {
        self.events.extend(taken.0.map(|tensor| TensorEvent::Freed { tensor }));
    }

    /// Frees several in this order.
    pub fn free_all(&mut self, all: impl IntoIterator<Item = Taken>) {
        all.into_iter().for_each(|taken| self.free(taken));
    }

    /// Takes bytes and frees them at once.
    pub fn brief(&mut self, name: &'static str, bytes: u64) {
        let taken = self.take(name, bytes);
        self.free(taken);
    }
}
