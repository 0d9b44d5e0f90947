//! The ledger at the peak: which storages are alive then, and how many of each.

mod about;

use std::ops::Range;

use self::about::{About, Grounds, about};
use super::{Mark, Played, ledger_kind};
use crate::estimator::ledger::{LineItem, TensorLine, sort_by_kind};
use crate::ops::tape::{Entry, Kind, State, Storage, When};
use crate::units::Bytes;

/// One line for each kind and label, in the order of the kinds.
pub(super) fn lines(played: &Played<'_>, mark: &Mark) -> Vec<LineItem> {
    let state = played.tape.state();
    let grounds = Grounds::of(&played.plan);
    let mut lines: Vec<LineItem> = Vec::with_capacity(32);
    for alive in alive_at(played, mark).iter().filter(|alive| alive.here > 0) {
        let Some(storage) = state.storages.get(alive.storage) else { continue };
        add(
            &mut lines,
            &state,
            storage,
            (alive.kind, alive.here),
            &about(played, mark, &grounds, (storage, alive.kind)),
        );
    }
    // A rank may have no part of a parameter.
    for line in &mut lines {
        line.tensors.retain(|tensor| tensor.bytes > Bytes::ZERO);
    }
    lines.retain(|line| line.bytes > Bytes::ZERO);
    sort_by_kind(&mut lines);
    lines
}

/// A storage that is alive.
struct AliveStorage {
    storage: usize,
    kind: Kind,
    /// How many are on the device.
    here: u64,
    /// How many wait in host memory.
    away: u64,
}

/// Bytes of activations in host memory at a mark's highest moment.
pub(super) fn away(played: &Played<'_>, mark: &Mark) -> i128 {
    let state = played.tape.state();
    let bytes = |alive: &AliveStorage| {
        let storage = state.storages.get(alive.storage).filter(|_| alive.kind == Kind::Activation);
        storage.map_or(0, |storage| i128::from(storage.bytes) * i128::from(alive.away))
    };
    alive_at(played, mark).iter().map(bytes).sum()
}

/// Everything alive at a mark's highest moment, and how many of each.
fn alive_at(played: &Played<'_>, mark: &Mark) -> Vec<AliveStorage> {
    let state = played.tape.state();
    let (plan, here) = (&played.plan, mark.segment.layer);
    let forward = state
        .segments
        .iter()
        .find(|segment| segment.when == When::Backward)
        .map_or(0, |segment| segment.begins);
    let [retained, kinds] = kinds_after(&state, [forward, mark.segment.event]);
    let lasting = lasting(&state, mark);
    let mut found = Vec::with_capacity(state.storages.len());
    let mut push = |storage: usize, kind: Kind, count: u64, most: u64| {
        let most = if plan.away.parameters && kind == Kind::Parameter { 0 } else { most };
        found.push(AliveStorage {
            storage,
            kind,
            here: count.min(most),
            away: count.saturating_sub(most),
        });
    };
    let offloaded = |storage: &Storage, kind: Kind, kept: bool| {
        let of_block = storage.layer > 0 && storage.layer < plan.head();
        plan.away.activations && kind == Kind::Activation && kept && of_block
    };
    for (id, ((storage, kind), kept)) in
        state.storages.iter().zip(kinds).zip(retained.iter().copied()).enumerate()
    {
        // While backward is in the next block, the storage that a block left to that one is freed
        // already; the storages between other blocks are still there. A tower beside the blocks has
        // no next block.
        let behind = storage.layer.checked_add(1);
        let left = mark.segment.when == When::Backward && behind == Some(here);
        let (kind, gone) = match (kind, kept) {
            (Some(kind), _) => (kind, 0),
            (None, Some(kind)) if left && id >= played.before => (kind, 1),
            _ => continue,
        };
        let stays = kept.is_some() || lasting.get(id).copied().unwrap_or(false);
        let count = count(played, mark, storage, (id, kind, stays)).saturating_sub(gone);
        // The current block stays on the device, and the one before it is on its way.
        let most = match storage.layer {
            _ if id < played.before || !offloaded(storage, kind, kept.is_some()) => u64::MAX,
            layer if layer == here => u64::MAX,
            layer if layer + 1 == here => 1,
            _ => 0,
        };
        push(id, kind, count, most);
    }
    let others = plan.stage.in_flight.saturating_sub(1);
    if others > 0 {
        // The further micro-batches in flight keep what is alive when forward ends and was not
        // before it.
        for (id, (storage, kind)) in
            state.storages.iter().zip(retained).enumerate().skip(played.before)
        {
            let Some(kind) = kind else { continue };
            let most = if offloaded(storage, kind, true) { 0 } else { u64::MAX };
            push(id, kind, plan.times(storage.layer).saturating_mul(others), most);
        }
    }
    found
}

/// The kind of every storage after so many entries of the log, and after so many others; `None` for
/// those that are not alive then.
fn kinds_after(state: &State, [one, other]: [usize; 2]) -> [Vec<Option<Kind>>; 2] {
    let mut kinds = vec![None; state.storages.len()];
    follow(state, 0..one.min(other), &mut kinds);
    let earlier = kinds.clone();
    follow(state, one.min(other)..one.max(other), &mut kinds);
    if one < other { [earlier, kinds] } else { [kinds, earlier] }
}

/// The kinds of storages after those entries of the log.
fn follow(state: &State, entries: Range<usize>, kinds: &mut [Option<Kind>]) {
    for entry in state.log.get(entries).unwrap_or_default() {
        let (Entry::Taken(id) | Entry::Freed(id) | Entry::Turned(id)) = *entry;
        let place = usize::try_from(id).ok();
        let Some((kind, storage)) =
            place.and_then(|at| kinds.get_mut(at).zip(state.storages.get(at)))
        else {
            continue;
        };
        *kind = match entry {
            Entry::Taken(_) => Some(storage.born),
            Entry::Freed(_) => None,
            Entry::Turned(_) => Some(Kind::Gradient),
        };
    }
}

/// True for each storage that is still there when forward has left the block behind its own, where
/// the mark is in forward. Such a storage is not on its way from one block to the next but stays,
/// as autocast's copies of weights do until forward ends.
fn lasting(state: &State, mark: &Mark) -> Vec<bool> {
    if mark.segment.when != When::Forward {
        return Vec::new();
    }
    let mut lasting = vec![false; state.storages.len()];
    // The place in the log at which forward has left each block.
    let ends = |layer: u16| {
        let at = state
            .segments
            .iter()
            .position(|segment| segment.when == When::Forward && segment.layer == layer)?;
        state.segments.get(at + 1).map(|next| next.begins)
    };
    for (at, entry) in state.log.iter().enumerate() {
        let (Entry::Taken(id) | Entry::Freed(id) | Entry::Turned(id)) = entry;
        let Some(place) = usize::try_from(*id).ok() else { continue };
        let (Some(stays), Some(storage)) = (lasting.get_mut(place), state.storages.get(place))
        else {
            continue;
        };
        *stays = match entry {
            Entry::Taken(_) => true,
            Entry::Freed(_) => ends(storage.layer + 1).is_some_and(|end| at >= end),
            Entry::Turned(_) => *stays,
        };
    }
    lasting
}

/// How many of a storage there are at the peak, with the blocks that were not played; `stays`:
/// whether it outlives its block.
fn count(
    played: &Played<'_>,
    mark: &Mark,
    storage: &Storage,
    (id, kind, stays): (usize, Kind, bool),
) -> u64 {
    let own = played.plan.times(storage.layer);
    if id < played.before {
        return own;
    }
    if !stays && kind != Kind::Gradient {
        // On its way from one block to the next: there is one, however many blocks there are.
        return 1;
    }
    let (here, times) = (mark.segment.layer, mark.times);
    if times <= 1 {
        return own;
    }
    // The peak is inside a repeated block: in its first repetition, or in its last.
    let done = if mark.last { times - 1 } else { 0 };
    let forward = mark.segment.when == When::Forward;
    if storage.layer == here {
        1
    } else if storage.layer + 1 == here {
        // The block before stands for those that are whole: all that forward has done, all that
        // backward has not reached.
        own + if forward { done } else { times - 1 - done }
    } else if storage.layer == here + 1 && kind == Kind::Gradient {
        // The block behind stands for those that backward has left.
        own + done
    } else {
        own
    }
}

/// Adds tensors to the line of that kind and label.
fn add(
    lines: &mut Vec<LineItem>,
    state: &State,
    storage: &Storage,
    (kind, count): (Kind, u64),
    about: &About,
) {
    let (kind, bytes) = (ledger_kind(kind), Bytes(storage.bytes) * count);
    // Most tensors belong to a line that was added to lately.
    let at = lines
        .iter()
        .rposition(|line| line.kind == kind && std::ptr::eq(line.label, about.label))
        .unwrap_or_else(|| {
            let About { label, note, source, certainty } = *about;
            lines.push(LineItem {
                kind,
                label,
                bytes: Bytes::ZERO,
                tensors: Vec::new(),
                note,
                source,
                certainty,
            });
            lines.len() - 1
        });
    let (Some(line), Some((shape, _))) =
        (lines.get_mut(at), state.forms.get(usize::from(storage.form)))
    else {
        return;
    };
    line.bytes += bytes;
    let op = state.op_name(storage.op).0;
    let alike = |tensor: &&mut TensorLine| {
        // Most tensors of a line belong to one operation.
        let names = std::ptr::eq(tensor.name, storage.name) && std::ptr::eq(tensor.op, op);
        names && tensor.dtype == storage.dtype && tensor.shape.is(shape)
    };
    match line.tensors.iter_mut().find(alike) {
        Some(tensor) => {
            tensor.count = tensor.count.saturating_add(count);
            tensor.bytes += bytes;
        }
        None => line.tensors.push(TensorLine {
            op,
            name: storage.name,
            shape: *shape,
            dtype: storage.dtype,
            count,
            bytes,
        }),
    }
}
