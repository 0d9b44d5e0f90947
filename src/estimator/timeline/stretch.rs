//! The step as the page draws it: stretches with their memory.

use crate::estimator::ledger::MemoryKind;
use crate::units::Bytes;

/// Which part of the step it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Forward.
    Forward,
    /// Backward.
    Backward,
    /// The optimizer's step.
    Step,
    /// An evaluation behind the step.
    Evaluation,
}

/// A stretch of the step: one block, an end of the model, or the optimizer's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Part of the step.
    pub phase: Phase,
    /// The first block it covers, counted from 0; `None` at the ends of the model and in the
    /// optimizer's step.
    pub layer: Option<u64>,
    /// How many blocks alike follow on each other in it; each adds as much as the first.
    pub times: u64,
    /// When it is highest, e.g. `when the loss is computed`.
    pub name: &'static str,
    /// The operation at its highest moment.
    pub operation: &'static str,
    /// Memory by kind when it begins, in the order of [`MemoryKind::ALL`].
    pub start: [Bytes; 7],
    /// Memory by kind at its highest moment.
    pub peak: [Bytes; 7],
    /// Memory by kind when it ends, after all repetitions.
    pub end: [Bytes; 7],
}

/// The step of the most loaded rank of a pipeline stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The stretches in order. Memory outside PyTorch's allocator is not in them.
    pub stretches: Vec<Stretch>,
    /// The stretch with the peak.
    pub peak: usize,
}

impl Timeline {
    /// Returns the timeline with `more` bytes added at every moment.
    #[must_use]
    pub(in crate::estimator) fn lifted(mut self, more: &[Bytes; 7]) -> Self {
        for stretch in &mut self.stretches {
            for moment in [&mut stretch.start, &mut stretch.peak, &mut stretch.end] {
                for (bytes, more) in moment.iter_mut().zip(more) {
                    *bytes += *more;
                }
            }
        }
        self
    }

    /// Returns memory by kind when the optimizer steps, bytes, in the order of [`MemoryKind::ALL`];
    /// `None` for a timeline without such a step.
    #[must_use]
    pub fn at_step(&self) -> Option<[Bytes; 7]> {
        self.stretches
            .iter()
            .find(|stretch| stretch.phase == Phase::Step)
            .map(|stretch| stretch.start)
    }

    /// Returns the first step of a training, in which optimizer states take no memory during
    /// forward and backward, because they do not exist until its end.
    #[must_use]
    pub fn first_step(&self) -> Self {
        let mut first = self.clone();
        let states = MemoryKind::OptimizerState.index();
        for stretch in first
            .stretches
            .iter_mut()
            .filter(|stretch| matches!(stretch.phase, Phase::Forward | Phase::Backward))
        {
            for moment in [&mut stretch.start, &mut stretch.peak, &mut stretch.end] {
                if let Some(bytes) = moment.get_mut(states) {
                    *bytes = Bytes::ZERO;
                }
            }
        }
        let total = |stretch: &Stretch| stretch.peak.into_iter().sum::<Bytes>();
        first.peak = (0..first.stretches.len())
            .rev()
            .max_by_key(|at| first.stretches.get(*at).map(total))
            .unwrap_or(0);
        first
    }
}
