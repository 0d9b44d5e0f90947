//! The first document's story, step by step: from 924 GPUs that cannot exist to 8 that can.

use crate::units::{Bytes, MemoryUnit};

use super::counts::{Placement, Rules};
use super::{ActivationShape, ModelStates, ju_2026};

/// One step of the story: a 7B model, batch 128, sequences of 4096 tokens, A100 with 40 GB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryStep {
    /// The switch that is turned on at this step.
    pub title: &'static str,
    /// The switches.
    pub setup: Setup,
    /// The count printed in the document.
    pub stated: Option<u64>,
    /// The document's equation with exact amounts and its nominal 7·10⁹ parameters, rounded up.
    pub arithmetic: Option<u64>,
    /// The document's equation with the exact 6.70·10⁹ parameters of its own count, rounded up.
    pub arithmetic_exact_parameters: Option<u64>,
    /// The smallest count that can run with each rank's whole share of the batch at once.
    pub runnable: Option<u64>,
    /// The smallest count that can run with gradient accumulation, one sequence at a time.
    pub runnable_with_accumulation: Option<u64>,
    /// Memory of one rank at `runnable`.
    pub per_gpu: Option<Bytes>,
    /// Activations of a single sequence, checkpoints and recomputed block together.
    pub one_sequence: Bytes,
    /// The outcome of this step, in words.
    pub sentence: String,
}

/// The switches that the document turns on, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// `ZeRO` stage, 0 to 3.
    pub zero_stage: u8,
    /// True if blocks are checkpointed.
    pub checkpointing: bool,
    /// True if `FlashAttention` is on.
    pub flash_attention: bool,
}

impl Setup {
    /// Returns the bytes of activations of the shape's sequences held at once, checkpoints and
    /// recomputed block together.
    pub fn activations(self, shape: &ActivationShape) -> Bytes {
        let (kept, temporary) =
            ju_2026::held_activations(shape, self.checkpointing, self.flash_attention);
        kept + temporary
    }

    /// Returns the count of GPUs by the document's equation for the batch of `shape`, rounded up;
    /// `None` where the part that every GPU repeats does not fit.
    pub fn gpus(
        self,
        states: &ModelStates,
        shape: &ActivationShape,
        capacity: Bytes,
    ) -> Option<u64> {
        ju_2026::gpus(self.zero_stage, states, self.activations(shape), capacity)
    }

    /// Returns the bytes of one of `ranks` ranks that holds `sequences` sequences at once.
    pub fn memory(
        self,
        states: &ModelStates,
        shape: &ActivationShape,
        ranks: u64,
        sequences: u64,
    ) -> Bytes {
        ju_2026::states_per_gpu(self.zero_stage, states, ranks).total()
            + self.activations(&shape.with_batch_size(sequences))
    }

    /// Returns the smallest count of GPUs whose ranks share the batch evenly and fit, in nodes of
    /// eight; `None` for the micro-batch means each rank's whole share at once.
    pub fn gpus_that_can_run(
        self,
        states: &ModelStates,
        shape: &ActivationShape,
        capacity: Bytes,
        micro_batch_size: Option<u64>,
    ) -> Option<u64> {
        self.place(states, shape, capacity, micro_batch_size).0.map(|placement| placement.gpus)
    }

    /// The smallest placement, and the reason for it in words.
    fn place(
        self,
        states: &ModelStates,
        shape: &ActivationShape,
        capacity: Bytes,
        micro_batch_size: Option<u64>,
    ) -> (Option<Placement>, String) {
        let memory = |ranks, sequences| self.memory(states, shape, ranks, sequences);
        let rules = Rules {
            t: 1,
            p: 1,
            num_attention_heads: shape.num_attention_heads,
            num_hidden_layers: shape.num_hidden_layers,
            global_batch_size: shape.batch_size,
            micro_batch_size,
            capacity,
            accelerators_per_node: 8,
            unit: MemoryUnit::Gb,
            memory: &memory,
        };
        let found = rules.smallest();
        let reason = rules.answer(self.gpus(states, shape, capacity)).reason;
        (
            found,
            if found.is_some() {
                reason
            } else {
                reason + &self.why_never(states, shape, capacity, MemoryUnit::Gb)
            },
        )
    }

    /// Amounts that exceed the capacity alone, as further sentences: the states that every GPU
    /// repeats, or a single sequence.
    pub(super) fn why_never(
        self,
        states: &ModelStates,
        shape: &ActivationShape,
        capacity: Bytes,
        unit: MemoryUnit,
    ) -> String {
        let repeated = states.sharded(self.zero_stage, u64::MAX).total();
        let lone = self.activations(&shape.with_batch_size(1));
        let states = (repeated > capacity)
            .then(|| format!(" What every GPU repeats takes {} alone.", unit.show(repeated)));
        let sequence = (lone > capacity)
            .then(|| format!(" The activations of a single sequence take {}.", unit.show(lone)));
        states.into_iter().chain(sequence).collect()
    }

    fn step(self, title: &'static str, stated: Option<u64>) -> StoryStep {
        let (shape, capacity) = (&ju_2026::EXAMPLE, ju_2026::EXAMPLE_CAPACITY);
        let nominal = ju_2026::adam_states(ju_2026::NOMINAL_PARAMETERS);
        let exact =
            ju_2026::adam_states(ju_2026::num_parameters(shape, ju_2026::EXAMPLE_VOCAB_SIZE));
        let (found, sentence) = self.place(&nominal, shape, capacity, None);
        StoryStep {
            title,
            setup: self,
            stated,
            arithmetic: self.gpus(&nominal, shape, capacity),
            arithmetic_exact_parameters: self.gpus(&exact, shape, capacity),
            runnable: found.map(|placement| placement.gpus),
            runnable_with_accumulation: self.gpus_that_can_run(&nominal, shape, capacity, Some(1)),
            per_gpu: found.map(|placement| placement.bytes),
            one_sequence: self.activations(&shape.with_batch_size(1)),
            sentence,
        }
    }
}

/// Returns the first document's story as it works out: 924/423/275 GPUs stated, 935/432/282 exact
/// and impossible, 15 → 16, 8.
pub fn story() -> Vec<StoryStep> {
    let step = |zero_stage, checkpointing, flash_attention| Setup {
        zero_stage,
        checkpointing,
        flash_attention,
    };
    vec![
        step(0, false, false).step("Every GPU keeps everything", None),
        step(1, false, false).step("ZeRO-1: share out the optimizer", Some(924)),
        step(2, false, false).step("ZeRO-2: share out the gradients too", Some(423)),
        step(3, false, false).step("ZeRO-3: share out the weights too", Some(275)),
        step(3, true, false).step("Recompute every block", Some(15)),
        step(3, true, true).step("FlashAttention", Some(8)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_story_comes_out() {
        let steps = story();
        let column = |of: fn(&StoryStep) -> Option<u64>| steps.iter().map(of).collect::<Vec<_>>();
        assert_eq!(
            column(|step| step.stated),
            [None, Some(924), Some(423), Some(275), Some(15), Some(8)]
        );
        assert_eq!(
            column(|step| step.arithmetic),
            [None, Some(935), Some(432), Some(282), Some(15), Some(8)]
        );
        assert_eq!(
            column(|step| step.arithmetic_exact_parameters),
            [None, Some(851), Some(423), Some(281), Some(15), Some(8)]
        );
        assert_eq!(column(|step| step.runnable), [None, None, None, None, Some(16), Some(8)]);
        assert_eq!(
            column(|step| step.runnable_with_accumulation),
            [None, None, None, None, Some(4), Some(4)]
        );
        assert_eq!(steps[1].one_sequence, Bytes(86_973_087_744));
        assert!(
            steps[1].sentence.contains("At most 128 ranks can share 128 sequences"),
            "{}",
            steps[1].sentence
        );
        assert!(
            steps[4].sentence.contains(
                "15 does not divide 128: one rank would hold 9 sequences and need 41.3 GB"
            ),
            "{}",
            steps[4].sentence
        );
    }

    #[test]
    fn the_printed_counts_come_out_of_the_documents_own_slips() {
        let states = ju_2026::adam_states(ju_2026::NOMINAL_PARAMETERS);
        let activations = ju_2026::activations(&ju_2026::EXAMPLE);
        let printed = |stage| {
            ju_2026::gpus_as_printed(stage, &states, activations, ju_2026::EXAMPLE_CAPACITY)
        };
        assert_eq!([printed(1), printed(2), printed(3)], [Some(924), Some(423), Some(275)]);
    }

    #[test]
    fn the_table_of_the_digest_comes_out_with_decimal_and_binary_cards() {
        for (flash_attention, whole, decimal, binary) in [
            (false, [64, 32, 16], [16, 8, 4], [8, 4, 4]),
            (true, [32, 16, 8], [16, 8, 4], [8, 4, 4]),
        ] {
            for zero_stage in 1..=3_u8 {
                let setup = Setup { zero_stage, checkpointing: true, flash_attention };
                let states = ju_2026::adam_states(ju_2026::NOMINAL_PARAMETERS);
                let at = |capacity, micro| {
                    setup.gpus_that_can_run(&states, &ju_2026::EXAMPLE, capacity, micro)
                };
                let index = usize::from(zero_stage - 1);
                let gib = Bytes(40 * Bytes::GIB);
                assert_eq!(at(ju_2026::EXAMPLE_CAPACITY, None), Some(whole[index]));
                assert_eq!(at(ju_2026::EXAMPLE_CAPACITY, Some(1)), Some(decimal[index]));
                assert_eq!(at(gib, None), Some(whole[index]));
                assert_eq!(at(gib, Some(1)), Some(binary[index]), "{setup:?}");
            }
        }
    }
}
