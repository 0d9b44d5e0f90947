//! Modules that few models have come to the page when a model needs them. Until then nothing is
//! asked of the engine about that model. No browser in here.

use crate::config::Job;
use crate::estimator::{has_all_parts, has_parts};
use crate::scenario::{FieldError, FieldId, Scenario};

/// The checked job of a scenario, about which the engine can be asked.
///
/// # Errors
/// Every problem found, at least one; that the model's modules are on their way is one, too.
pub fn job_of(scenario: &Scenario) -> Result<Job, Vec<FieldError>> {
    let job = scenario.resolve()?;
    if has_parts(&job) {
        return Ok(job);
    }
    let message =
        "A part of the page that this model needs is being fetched; the answer follows.".to_owned();
    Err(vec![FieldError { field: FieldId::Model, message, way_out: None }])
}

/// True if the scenario is in order, but for modules of its model that have not come.
pub fn waits(scenario: &Scenario) -> bool {
    scenario.resolve().is_ok_and(|job| !has_parts(&job))
}

/// True if the program has all modules.
pub fn are_all_there() -> bool {
    has_all_parts()
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::{are_all_there, job_of, waits};
    use crate::catalog::models;
    use crate::config::Job;
    use crate::estimator::{blockers, estimate, needs_parts};
    use crate::ops::modules::rare::asked;
    use crate::scenario::{FieldId, Mode, Scenario, Value};
    use crate::stacks::Stack;
    use crate::view::answers::{Answers, Plots};
    use crate::view::history::UndoStep;
    use crate::view::ui::{ChartsLook, FromWorkers};
    use crate::view::words::parameters;

    #[test]
    fn a_program_with_all_modules_inside_waits_for_none() {
        let mut scenario = Scenario::default();
        for model in ["gpt2", "qwen3-next-80b-a3b", "gemma3n-e4b", "whisper-small"] {
            scenario.set_model(model);
            assert!(!waits(&scenario), "{model}");
        }
        assert!(are_all_there() && job_of(&Scenario::default()).is_ok());
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
                if needs_parts(&job) {
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
            if !needs_parts(&job) {
                ask(&job, &scenario);
                assert!(!asked::take(), "{}", stack.key());
            }
        }
    }
}
