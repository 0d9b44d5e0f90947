//! Parts of the engine come to the page when a scenario needs them. Until then nothing is asked of
//! the engine about that scenario. No browser in here.

use crate::config::Job;
use crate::estimator::{EnginePart, has_parts, missing_parts};
use crate::scenario::{FieldError, FieldId, Scenario};

/// The checked job of a scenario, about which the engine can be asked.
///
/// # Errors
/// Every problem found, at least one; that a part of the engine is on its way is one, too.
pub fn job_of(scenario: &Scenario) -> Result<Job, Vec<FieldError>> {
    let job = scenario.resolve()?;
    if has_parts(&job) {
        return Ok(job);
    }
    let message = "A part of the page that this answer needs is being fetched; the answer follows."
        .to_owned();
    Err(vec![FieldError { field: FieldId::Model, message, way_out: None }])
}

/// The parts that a scenario waits for, where it is in order otherwise.
pub fn awaited(scenario: &Scenario) -> Vec<EnginePart> {
    scenario.resolve().map_or_else(|_| Vec::new(), |job| missing_parts(&job).collect())
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::{awaited, job_of};
    use crate::catalog::models;
    use crate::config::Job;
    use crate::estimator::{EnginePart, blockers, estimate};
    use crate::ops::modules::rare::asked;
    use crate::scenario::{FieldId, Mode, Scenario, Value};
    use crate::stacks::Stack;
    use crate::view::answers::{Answers, Plots};
    use crate::view::history::UndoStep;
    use crate::view::ui::{ChartsLook, FromWorkers};
    use crate::view::words::parameters;

    #[test]
    fn a_program_with_all_parts_inside_waits_for_none() {
        let mut scenario = Scenario::default();
        for model in ["gpt2", "qwen3-next-80b-a3b", "gemma3n-e4b", "whisper-small"] {
            scenario.set_model(model);
            assert_eq!(awaited(&scenario), [], "{model}");
        }
        assert!(job_of(&Scenario::default()).is_ok());
    }

    /// Everything that the page's first program asks about a job.
    fn ask(job: &Job, scenario: &Scenario) {
        let answers =
            Answers::of(&UndoStep { scenario: scenario.clone(), compare: Vec::new() }, None).0;
        let look = ChartsLook::default().of_curves();
        drop(Plots::of(&answers, look, &FromWorkers::default(), None));
        black_box((
            answers.timing(),
            answers.fixes(),
            answers.inverse(),
            answers.serving(),
            answers.users(),
            answers.load(),
        ));
        black_box((estimate(job), blockers(job), parameters(scenario)));
    }

    #[test]
    fn nobody_asks_for_parts_about_a_job_that_needs_none() {
        let mut needed = [0, 0];
        for row in models() {
            for mode in [Mode::Train, Mode::Serve] {
                let mut scenario = Scenario::default();
                scenario.set(FieldId::Mode, Value::choice(mode));
                scenario.set_model(row.id);
                let Ok(job) = scenario.resolve() else { continue };
                asked::take();
                if EnginePart::Rare.is_needed(&job) {
                    needed[1] += 1;
                    continue;
                }
                ask(&job, &scenario);
                assert!(!asked::take(), "{} {mode:?}", row.id);
                needed[0] += 1;
            }
        }
        assert!(needed.iter().all(|count| *count > 100), "{needed:?}");
        for stack in Stack::ALL {
            let mut scenario = Scenario::default();
            scenario.set(FieldId::Stack, Value::Choice(stack.key()));
            let Ok(job) = scenario.resolve() else { continue };
            asked::take();
            if !EnginePart::Rare.is_needed(&job) {
                ask(&job, &scenario);
                assert!(!asked::take(), "{}", stack.key());
            }
        }
    }
}
