//! Forward and backward passes of micro-batches through a stage.

use std::collections::VecDeque;
use std::ops::Range;

use super::super::schedule::{self, Covered, Pass};
use super::{Batch, Block, Forward, Gradient, Head, Order, Taken};
use crate::config::PassType;

/// Tensors that one micro-batch keeps between its forward and its backward.
struct Flight {
    batch: Batch,
    /// Its input, where that came from the stage before.
    input: Taken,
    /// The output of a frozen embedding.
    embedded: Taken,
    ids_of_rank: [Taken; 2],
    /// The inputs of recomputed groups, and the tensors that other blocks keep.
    kept: Vec<Kept>,
    head: Option<Head>,
    output: Taken,
}

/// Tensors that a group of blocks keeps.
enum Kept {
    Input(Taken),
    Block(Box<Block>),
}

impl Order<'_> {
    /// One step: every pass of the schedule, then the optimizer.
    pub(super) fn step(&mut self, passes: &[Pass], is_first: bool) {
        let mut flights: VecDeque<Flight> = VecDeque::new();
        let each = passes.iter().flat_map(|pass| (0..pass.times).map(|_| pass.work));
        let works: Vec<PassType> = each.collect();
        // The loop's variables hold the last gradients that were sent and received until they are
        // set anew.
        let (mut received, mut sent) = (Taken::NOTHING, Taken::NOTHING);
        for (place, work) in works.iter().enumerate() {
            match work {
                PassType::Forward => {
                    let before = self.received;
                    if place == 0 {
                        self.received = Taken::NOTHING;
                    }
                    let mut flight = self.forward(if place == 0 { before } else { Taken::NOTHING });
                    if place > 0 && flights.iter().all(|flight| flight.input != before) {
                        self.player.free(before);
                    }
                    let next_is_back =
                        works.get(place + 1).is_some_and(|next| *next != PassType::Forward);
                    if self.stage.ends() {
                        flights.push_back(flight);
                        continue;
                    }
                    if !next_is_back {
                        self.player.free(flight.output);
                        flight.output = Taken::NOTHING;
                    }
                    flights.push_back(flight);
                }
                PassType::Backward | PassType::BackwardInput | PassType::BackwardWeight => {
                    let Some(flight) = flights.pop_front() else { continue };
                    let mut gradient = Gradient::NONE;
                    if !self.stage.ends() {
                        self.player.enter("Message from the next stage");
                        let next = self.player.take("gradient of the output", self.sizes.hidden);
                        self.player.free(received);
                        received = next;
                        if let Some(last) = flights.back_mut() {
                            self.player.free(last.output);
                            last.output = Taken::NOTHING;
                        }
                        self.player.free(flight.output);
                        gradient = Gradient::held(received);
                    }
                    let of_input = self.backward(flight, gradient);
                    self.player.free(sent);
                    sent = of_input;
                }
            }
        }
        self.free_leaf();
        self.player.free_all([received, sent]);
        self.update(is_first);
    }

    /// The loop's variable holds the graph of the last finished micro-batch until another one takes
    /// its place.
    fn free_leaf(&mut self) {
        let leaf = std::mem::replace(&mut self.leaf, [Taken::NOTHING; 2]);
        self.player.free_all(leaf);
    }

    /// Forward of a micro-batch; `before` is the memory that the last step still held.
    fn forward(&mut self, before: Taken) -> Flight {
        let (mut input, mut ids_of_rank) = (Taken::NOTHING, [Taken::NOTHING; 2]);
        if !self.stage.embeds() {
            self.player.enter("Message from the stage before");
            input = self.player.take("input", self.sizes.hidden);
            self.player.free(before);
            self.received = input;
        }
        let (received, mut batch) = (input, self.batch());
        if self.stage.embeds() {
            (input, ids_of_rank) = self.embed();
            if self.is_frozen() {
                self.player.free_all(std::mem::replace(&mut ids_of_rank, [Taken::NOTHING; 2]));
            }
        }
        self.angles();
        // A frozen embedding's output is a leaf of the graph that wants a gradient
        // (`requires_grad_`).
        let embedded = if self.stage.embeds() && self.is_frozen() { input } else { Taken::NOTHING };
        let places = self.stage.chunks.first().cloned().unwrap_or_default();
        let mut kept = Vec::with_capacity(places.len());
        for (index, place) in places.iter().enumerate() {
            self.place = index;
            let keeps = place.covered == Covered::No;
            let (output, block) = self.block(input, keeps);
            match place.covered {
                Covered::No => kept.push(Kept::Block(Box::new(block))),
                Covered::First => kept.push(Kept::Input(input)),
                Covered::With => self.player.free(input),
            }
            input = output;
        }
        let head = self.stage.ends().then(|| self.head(input, &mut batch));
        self.free_leaf();
        Flight { batch, input: received, embedded, ids_of_rank, kept, head, output: input }
    }

    fn block(&mut self, input: Taken, keeps: bool) -> (Taken, Block) {
        if self.run.megatron.transformer_engine {
            self.engine_block(input, keeps)
        } else {
            self.local_block(input, keeps)
        }
    }

    fn block_back(&mut self, block: &Block, gradient: &mut Gradient) {
        if self.run.megatron.transformer_engine {
            self.engine_back(block, gradient);
        } else {
            self.local_back(block, gradient);
        }
    }

    /// Backward of a micro-batch: the gradient of the stage's input, if there is a stage before.
    fn backward(&mut self, mut flight: Flight, from_next: Gradient) -> Taken {
        self.free_leaf();
        let (mut gradient, mut tied) = (from_next, Taken::NOTHING);
        if let Some(head) = &flight.head {
            (gradient, tied) = self.head_back(head, &mut flight.batch);
        }
        let places = self.stage.chunks.first().cloned().unwrap_or_default();
        let mut end = places.len();
        // The schedule's variable holds the last input that came in.
        let is_received = flight.input != Taken::NOTHING && flight.input == self.received;
        let is_held = is_received || flight.embedded != Taken::NOTHING;
        while let Some(kept) = flight.kept.pop() {
            let (first, _) = schedule::group(&places, end);
            match kept {
                Kept::Block(mut block) => {
                    if first == 0 && is_held {
                        block.mixed.input = Taken::NOTHING;
                    }
                    self.block_back(&block, &mut gradient);
                }
                Kept::Input(input) => {
                    let input = if first == 0 && is_held { Taken::NOTHING } else { input };
                    gradient = self.recomputed(input, first..end, gradient);
                }
            }
            end = first;
        }
        let Batch { tokens, positions, labels, counts } = flight.batch;
        self.player.free_all([positions, labels, counts]);
        let of_input = if flight.embedded != Taken::NOTHING {
            // A tensor that somebody else holds, too, is copied into the leaf (`AccumulateGrad`).
            let hidden = self.sizes.hidden;
            let copy =
                self.player.take_if(gradient.is_held, "gradient of the embedded tokens", hidden);
            let of_leaf = if gradient.is_held { copy } else { gradient.taken() };
            self.leaf = [of_leaf, flight.embedded];
            Taken::NOTHING
        } else if self.stage.embeds() {
            self.embed_back(flight.ids_of_rank, gradient, tied);
            Taken::NOTHING
        } else {
            gradient.owned()
        };
        self.player.free(tokens);
        of_input
    }

    /// Runs a group of blocks again from their input, then backward through them: the gradient of
    /// that input.
    fn recomputed(&mut self, input: Taken, places: Range<usize>, gradient: Gradient) -> Gradient {
        let (first, mut blocks) = (places.start, Vec::with_capacity(places.len()));
        let mut output = input;
        for place in places {
            self.place = place;
            let (next, block) = self.block(output, true);
            blocks.push(block);
            output = next;
        }
        let mut inner = Gradient::held(gradient.taken());
        for (place, block) in blocks.iter_mut().enumerate().rev() {
            if place == 0 {
                // The checkpoint holds its input to the end.
                block.mixed.input = Taken::NOTHING;
            }
            self.block_back(block, &mut inner);
        }
        self.player.free(output);
        self.player.free(gradient.owned());
        if blocks.iter().any(|block| matches!(block.feed, Forward::Experts(_))) {
            self.keep_leaves(first, [inner.taken(), input]);
            return Gradient { is_held: true, ..inner };
        }
        self.player.free(input);
        inner
    }
}
