//! The time at which each pass runs: every rank takes its passes in order, each as soon as its
//! inputs are there.

use std::collections::BTreeMap;

use super::{PassTimes, PassType, Pipeline, Slot};

/// A pass with its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timed {
    /// The pass.
    pub slot: Slot,
    /// The beginning of the pass, in the unit of the durations.
    pub start: f64,
    /// The end of the pass, in the unit of the durations.
    pub end: f64,
}

/// A step of a pipeline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Played {
    /// All passes, rank by rank in their order.
    pub slots: Vec<Timed>,
    /// The end of the last pass.
    pub end: f64,
    /// Idle time of the rank that waits longest between its first pass and its last.
    pub bubble: f64,
}

/// One rank while the step is played.
struct Rank {
    order: Vec<Slot>,
    at: usize,
    time: f64,
    work: f64,
}

/// The end of a pass: kind, position in the model, direction, micro-batch.
type Key = (bool, u64, u64, u64);

impl Pipeline {
    /// Plays one step and returns when each pass begins and ends, in the unit of `times`, for a
    /// chart of the schedule.
    ///
    /// Empty if the passes wait for each other for ever, which no schedule of the table does.
    /// Forward needs the forward of the position before, backward for inputs that of the position
    /// behind; messages take no time.
    pub fn play(&self, times: &PassTimes) -> Played {
        let mut ends: BTreeMap<Key, f64> = BTreeMap::new();
        let mut ranks: Vec<Rank> = (0..self.ranks)
            .map(|rank| Rank { order: self.order(rank), at: 0, time: 0.0, work: 0.0 })
            .collect();
        let mut slots = Vec::new();
        let mut moved = true;
        while moved {
            moved = false;
            for rank in &mut ranks {
                while self.advance(rank, times, &mut ends, &mut slots) {
                    moved = true;
                }
            }
        }
        if ranks.iter().any(|rank| rank.at < rank.order.len()) {
            return Played::default();
        }
        slots.sort_by_key(|timed| timed.slot.rank);
        let idle = |rank: u64, work: f64| {
            let own = |timed: &&Timed| timed.slot.rank == rank;
            let first = slots.iter().find(own).map_or(0.0, |timed| timed.start);
            let last = slots.iter().rfind(own).map_or(0.0, |timed| timed.end);
            last - first - work
        };
        let bubble =
            (0..).zip(&ranks).map(|(rank, played)| idle(rank, played.work)).fold(0.0, f64::max);
        let end = ranks.iter().map(|rank| rank.time).fold(0.0, f64::max);
        Played { slots, end, bubble }
    }

    /// Runs a rank's next pass, or the next two if they run together; `false` if the rank must wait
    /// or has finished.
    fn advance(
        &self,
        rank: &mut Rank,
        times: &PassTimes,
        ends: &mut BTreeMap<Key, f64>,
        slots: &mut Vec<Timed>,
    ) -> bool {
        let Some(first) = rank.order.get(rank.at) else { return false };
        let count = if first.with_next { 2 } else { 1 };
        let pass: Vec<Slot> = rank.order.iter().skip(rank.at).take(count).copied().collect();
        let mut start = rank.time;
        for slot in &pass {
            let Some(ready) = self.ready(slot, ends) else { return false };
            start = start.max(ready);
        }
        let length = match (first.with_next, first.work) {
            (true, _) => times.overlapped,
            (false, PassType::Forward) => times.forward,
            (false, PassType::Backward) => times.backward_input + times.backward_weight,
            (false, PassType::BackwardInput) => times.backward_input,
            (false, PassType::BackwardWeight) => times.backward_weight,
        };
        rank.time = start + length;
        rank.work += length;
        rank.at += count;
        for slot in pass {
            if slot.work != PassType::BackwardWeight {
                ends.insert(self.key(&slot, self.position(slot.rank, slot.chunk)), rank.time);
            }
            slots.push(Timed { slot, start, end: rank.time });
        }
        true
    }

    fn key(&self, slot: &Slot, position: u64) -> Key {
        let direction = if self.chunks_on_rank() == self.chunks { 0 } else { slot.chunk };
        (slot.work == PassType::Forward, position, direction, slot.micro_batch)
    }

    /// The time at which the inputs of a pass are there; `None` if that is not known yet.
    fn ready(&self, slot: &Slot, ends: &BTreeMap<Key, f64>) -> Option<f64> {
        let position = self.position(slot.rank, slot.chunk);
        let own = Slot { work: PassType::Forward, ..*slot };
        match slot.work {
            PassType::BackwardWeight => Some(0.0),
            PassType::Forward if position == 0 => Some(0.0),
            PassType::Forward => ends.get(&self.key(slot, position - 1)).copied(),
            _ if position + 1 >= self.positions() => ends.get(&self.key(&own, position)).copied(),
            _ => {
                let forward = ends.get(&self.key(&own, position))?;
                Some(forward.max(*ends.get(&self.key(slot, position + 1))?))
            }
        }
    }
}
