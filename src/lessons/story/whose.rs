//! The methods of the figure and of the picture that a step shows. Where they are two, the slide
//! names both, because their numbers differ.

use super::{LessonStep, Look};
use crate::estimator::MemoryKind;
use crate::lessons::figure::{Facts, Whose};

/// The methods of figure and picture, where these are not of one method and one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribution {
    /// The method that gives the figure.
    pub figure: String,
    /// The method that gives the numbers of the picture.
    pub picture: &'static str,
}

impl Attribution {
    /// Returns true if a figure's label names its method already.
    pub fn is_said_by(&self, label: &str) -> bool {
        label.contains(self.figure.trim_start_matches("by "))
    }
}

const HEADROOM: &str = "by Headroom's engine";
const AT_PEAK: &str = "by Headroom's engine, at the fullest moment";
const AT_STEP: &str = "by Headroom's engine, when the optimizer steps";
const COLUMNS: &str = "each column by its own method";

/// Labels of a step's figure and picture; none where both are of one method and one moment.
pub fn attribution(step: &LessonStep, facts: &Facts) -> Option<Attribution> {
    let whose = step.shown()?.whose;
    let told = |figure: &str, picture| Some(Attribution { figure: figure.to_owned(), picture });
    match (whose, step.look) {
        (Whose::Scenario, _) | (Whose::AtStep, Look::States | Look::Step) => None,
        (Whose::Document(index), look) => told(
            &format!("by {}", facts.document(index).title),
            if look == Look::Methods { COLUMNS } else { HEADROOM },
        ),
        (Whose::AtStep, Look::Methods) => told(AT_STEP, COLUMNS),
        (Whose::Engine, Look::Methods) => told(HEADROOM, COLUMNS),
        (Whose::Engine, Look::States) if !is_peak(facts) => told(AT_PEAK, AT_STEP),
        (Whose::AtStep, _) if !is_peak(facts) => told(AT_STEP, AT_PEAK),
        (Whose::Engine | Whose::AtStep, _) => None,
    }
}

/// True if model states are written alike at the fullest moment and when the optimizer steps.
fn is_peak(facts: &Facts) -> bool {
    let shown = |kind| {
        facts
            .at_step(kind)
            .map(|at_step| [at_step, facts.kind(kind)].map(|bytes| facts.scale().show(bytes)))
    };
    let states = [MemoryKind::Parameter, MemoryKind::Gradient, MemoryKind::OptimizerState];
    states.into_iter().all(|kind| shown(kind).is_some_and(|[at_step, peak]| at_step == peak))
}
