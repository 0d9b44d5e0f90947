//! The order of passes of each rank.

use super::{PassType, Pipeline, PipelineSchedule, Slot};

impl Pipeline {
    /// Returns the passes of a rank, in the order in which it runs them.
    ///
    /// Sources: GPipe (Huang et al. 2019, figure 2c), 1F1B and interleaving (Megatron-LM,
    /// `core/pipeline_parallel/schedules.py`), ZB-H1 and ZB-H2 (Qi et al. 2023, figure 3 and
    /// section 2.3), `DualPipe` (the eight steps of `dualpipe/dualpipe.py`; p must be even and m
    /// even and at least 2p, which is assumed here by rounding up).
    pub fn order(&self, rank: u64) -> Vec<Slot> {
        match self.schedule {
            PipelineSchedule::GPipe => self.gpipe(rank),
            PipelineSchedule::OneForwardOneBackward | PipelineSchedule::Interleaved => {
                self.one_by_one(rank)
            }
            // The two numbers: micro-batches that go ahead, and micro-batches for which the
            // backward for weights waits.
            PipelineSchedule::ZeroBubbleH1 => {
                self.zero_bubble(rank, (self.ranks.saturating_sub(rank), rank))
            }
            PipelineSchedule::ZeroBubbleH2 => {
                let ahead = self.ranks.saturating_sub(rank).saturating_mul(2).saturating_sub(1);
                self.zero_bubble(rank, (ahead, rank.saturating_mul(2)))
            }
            PipelineSchedule::DualPipe => Dual::of(self, rank).order(),
        }
    }

    fn gpipe(&self, rank: u64) -> Vec<Slot> {
        let pass =
            |work| move |micro_batch| Slot { rank, chunk: 0, micro_batch, work, with_next: false };
        (0..self.micro_batches)
            .map(pass(PassType::Forward))
            .chain((0..self.micro_batches).map(pass(PassType::Backward)))
            .collect()
    }

    /// One forward, one backward: `p − i − 1` micro-batches ahead; interleaved `2(p − i − 1) + (v −
    /// 1)·g` chunks ahead, in groups of g micro-batches per chunk. Backward takes the chunks in
    /// reverse.
    fn one_by_one(&self, rank: u64) -> Vec<Slot> {
        let behind = self.ranks.saturating_sub(rank).saturating_sub(1);
        let pass =
            |work, (chunk, micro_batch)| Slot { rank, chunk, micro_batch, work, with_next: false };
        let back = |(chunk, micro_batch): (u64, u64)| {
            (self.chunks.saturating_sub(chunk).saturating_sub(1), micro_batch)
        };
        let forward = |at| pass(PassType::Forward, at);
        let backward = |at| pass(PassType::Backward, back(at));
        if self.ranks == 1 {
            // Without a pipeline all chunks of a micro-batch go forward, then back.
            let of = |micro_batch| {
                let chunks = (0..self.chunks).map(move |chunk| (chunk, micro_batch));
                chunks.clone().map(forward).chain(chunks.map(backward))
            };
            return (0..self.micro_batches).flat_map(of).collect();
        }
        let order = self.turns();
        let ahead = if self.chunks == 1 {
            behind
        } else {
            behind.saturating_mul(2).saturating_add((self.chunks - 1).saturating_mul(self.group))
        };
        let ahead = usize::try_from(ahead).unwrap_or(usize::MAX).min(order.len());
        let mut slots: Vec<Slot> = order.iter().copied().take(ahead).map(forward).collect();
        let mut backs = order.iter().copied().map(backward);
        for slot in order.iter().copied().skip(ahead).map(forward) {
            slots.push(slot);
            slots.extend(backs.next());
        }
        slots.extend(backs);
        slots
    }

    /// Chunk and micro-batch of every forward pass.
    fn turns(&self) -> Vec<(u64, u64)> {
        let (mut turns, mut done) = (Vec::new(), 0_u64);
        let group = self.group.max(1);
        while done < self.micro_batches {
            let end = done.saturating_add(group).min(self.micro_batches);
            for chunk in 0..self.chunks {
                turns.extend((done..end).map(|micro_batch| (chunk, micro_batch)));
            }
            done = end;
        }
        turns
    }

    /// Backward for inputs runs at once, backward for weights `late` micro-batches later.
    fn zero_bubble(&self, rank: u64, (ahead, late): (u64, u64)) -> Vec<Slot> {
        let m = self.micro_batches;
        let pass = |work, micro_batch| Slot { rank, chunk: 0, micro_batch, work, with_next: false };
        let mut slots: Vec<Slot> =
            (0..ahead.min(m)).map(|micro_batch| pass(PassType::Forward, micro_batch)).collect();
        for micro_batch in 0..m {
            slots.push(pass(PassType::BackwardInput, micro_batch));
            if let Some(waiting) = micro_batch.checked_sub(late) {
                slots.push(pass(PassType::BackwardWeight, waiting));
            }
            let next = micro_batch.saturating_add(ahead);
            if next < m {
                slots.push(pass(PassType::Forward, next));
            }
        }
        slots.extend(
            (m.saturating_sub(late)..m)
                .map(|micro_batch| pass(PassType::BackwardWeight, micro_batch)),
        );
        slots
    }
}

/// A rank under `DualPipe` while its order is written down.
struct Dual {
    rank: u64,
    /// Ranks of one half.
    half: u64,
    /// Distance from the nearer end.
    near: u64,
    /// True if the rank lies in the second half, where the near direction is the other one.
    second: bool,
    /// Micro-batches of one direction.
    each: u64,
    ranks: u64,
    forward: [u64; 2],
    backward: [u64; 2],
    waiting: std::collections::VecDeque<(u64, u64)>,
    slots: Vec<Slot>,
}

impl Dual {
    fn of(pipeline: &Pipeline, rank: u64) -> Self {
        let ranks = pipeline.ranks.next_multiple_of(2);
        let each = pipeline.micro_batches.max(ranks.saturating_mul(2)).div_ceil(2);
        Self {
            rank,
            half: ranks / 2,
            near: rank.min((ranks - 1).saturating_sub(rank)),
            second: rank >= ranks / 2,
            each,
            ranks,
            forward: [0; 2],
            backward: [0; 2],
            waiting: std::collections::VecDeque::new(),
            slots: Vec::new(),
        }
    }

    /// The direction of a phase: 0 is the one that begins nearer to the rank.
    fn direction(&self, phase: bool) -> (u64, usize) {
        let far = phase != self.second;
        (u64::from(far), usize::from(far))
    }

    fn push(&mut self, chunk: u64, micro_batch: u64, work: PassType) {
        self.slots.push(Slot { rank: self.rank, chunk, micro_batch, work, with_next: false });
    }

    fn forward(&mut self, phase: bool) {
        let (chunk, at) = self.direction(phase);
        let Some(next) = self.forward.get_mut(at) else { return };
        let micro_batch = *next;
        *next += 1;
        self.push(chunk, micro_batch, PassType::Forward);
    }

    /// Runs a backward pass; with `split` its part for the weights waits.
    fn backward(&mut self, phase: bool, split: bool) {
        let (chunk, at) = self.direction(phase);
        let Some(next) = self.backward.get_mut(at) else { return };
        let micro_batch = *next;
        *next += 1;
        if split {
            self.waiting.push_back((chunk, micro_batch));
        }
        self.push(
            chunk,
            micro_batch,
            if split { PassType::BackwardInput } else { PassType::Backward },
        );
    }

    fn weights(&mut self) {
        if let Some((chunk, micro_batch)) = self.waiting.pop_front() {
            self.push(chunk, micro_batch, PassType::BackwardWeight);
        }
    }

    fn together(&mut self, forward: bool, backward: bool) {
        self.forward(forward);
        if let Some(slot) = self.slots.last_mut() {
            slot.with_next = true;
        }
        self.backward(backward, false);
    }

    fn order(mut self) -> Vec<Slot> {
        let (near, far) = (false, true);
        let from_middle = self.half.saturating_sub(self.near).saturating_sub(1);
        for _ in 0..2 * from_middle {
            self.forward(near);
        }
        for _ in 0..=self.near {
            self.forward(near);
            self.forward(far);
        }
        for _ in 0..from_middle {
            self.backward(far, true);
            self.weights();
            self.forward(far);
        }
        for turn in 0..(self.each + self.near + 1).saturating_sub(self.ranks) {
            if turn == 0 && from_middle == 0 {
                // The two ranks in the middle do not run their first pair together.
                self.forward(near);
                self.backward(far, false);
            } else {
                self.together(near, far);
            }
            self.together(far, near);
        }
        for _ in 0..from_middle {
            self.backward(far, false);
            self.together(far, near);
        }
        // From the middle of this stretch on, backward for weights waits.
        let middle = self.near.div_ceil(2);
        let odd = self.near % 2 == 1;
        for turn in 0..=self.near {
            self.backward(far, turn > middle || (turn == middle && odd));
            self.backward(near, turn >= middle);
        }
        for _ in 0..from_middle {
            self.weights();
            self.backward(near, true);
        }
        while !self.waiting.is_empty() {
            self.weights();
        }
        self.slots
    }
}
