//! Blocks that were not played hold memory beside those that were.

use super::plan::Plan;
use crate::ops::tape::{Entry, Kind, Segment, State, Storage, Totals, When};

/// A storage, and how many blocks that were not played have its like.
pub(super) type Like = (u32, u64);

/// Memory that blocks which were not played hold beside those that were. It follows from the order
/// of events, not from sizes.
pub(super) struct Beside {
    /// Storages that exist from the start: parameters, states and gradients.
    pub standing: Vec<Like>,
    /// Storages that they made and each stretch of the step frees far from them: cast weights that
    /// autocast kept for the whole forward.
    ///
    /// A storage that a block leaves to its neighbour is freed once for every repetition, there,
    /// and counted with the stretch.
    pub elsewhere: Vec<Vec<Like>>,
}

impl Beside {
    /// Follows the log of a step, before which there were so many storages.
    pub fn of(state: &State, before: usize, plan: &Plan<'_>) -> Self {
        let others = |storage: &Storage| plan.times(storage.layer).saturating_sub(1);
        let stays = |storage: &Storage| storage.refs > 0 || storage.born == Kind::Gradient;
        let first =
            state.storages.iter().zip(0..).take(before).filter(|(storage, _)| stays(storage));
        let mut standing = Vec::with_capacity(before);
        standing.extend(
            first.map(|(storage, id)| (id, others(storage))).filter(|(_, others)| *others > 0),
        );
        let freed = |segment: &Segment, entry: &Entry| {
            let Entry::Freed(id) = entry else { return None };
            let storage = usize::try_from(*id).ok().and_then(|at| state.storages.get(at))?;
            let is_far = storage.layer.abs_diff(segment.layer) > 1;
            is_far.then(|| (*id, others(storage))).filter(|(_, others)| *others > 0)
        };
        // Most stretches are of blocks beside the one that stands for others, from which nothing is
        // far.
        let stand_for_others =
            || plan.played.iter().zip(1_u16..).filter(|(played, _)| played.times > 1);
        let far = |segment: &Segment| {
            if stand_for_others().all(|(_, tag)| tag.abs_diff(segment.layer) <= 1) {
                return Vec::new();
            }
            let entries = state.log.get(segment.begins..segment.ends).unwrap_or_default();
            entries.iter().filter_map(|entry| freed(segment, entry)).collect()
        };
        let elsewhere =
            state.segments.iter().filter(|segment| segment.when != When::Before).map(far).collect();
        Self { standing, elsewhere }
    }
}

/// Adds (1) or takes off (-1) storages of blocks that were not played.
pub(super) fn add_blocks(beside: &mut Totals, state: &State, blocks: &[Like], sign: i128) {
    for (id, others) in blocks {
        let Some(storage) = usize::try_from(*id).ok().and_then(|at| state.storages.get(at)) else {
            continue;
        };
        let kind = if sign > 0 { storage.born } else { storage.kind };
        if let Some(bytes) = beside.get_mut(kind as usize) {
            *bytes += sign * i128::from(storage.bytes) * i128::from(*others);
        }
    }
}
