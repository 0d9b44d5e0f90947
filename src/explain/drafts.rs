//! Figures of a step of decoding that checks drafted tokens.

use crate::config::{Job, Run};
use crate::estimator::Certainty;
use crate::estimator::time::ServingTime;
use crate::sources;
use crate::units::Seconds;

use super::Measure;
use super::expr::Expr;
use super::figures::{Found, found, real};

/// A step that checks drafted tokens.
pub(super) fn of_drafts(job: &Job, time: &ServingTime, name: &str) -> Found {
    let Run::Serving(run) = job.run() else { return None };
    let (draft, step) = (run.draft.as_ref()?, time.speculation?);
    let seconds = |label: &str, Seconds(seconds): Seconds| (real(label, seconds), Measure::Seconds);
    let (sentence, (expr, measure), source, certainty) = match name {
        "Tokens of a step with drafts" => {
            let accepted = draft.acceptance;
            let powers =
                (0..=draft.tokens).map(|nth| accepted.powi(i32::try_from(nth).unwrap_or(i32::MAX)));
            let terms = powers.map(Expr::real);
            let (_, source) = draft.method.assumed_acceptance();
            (
                "1 + α + α² + … for the share α of drafts that is accepted, each by itself: a draft counts where all before it do, and the model adds a token of its own.",
                (Expr::sum(terms), Measure::Number("tokens")),
                source,
                Certainty::Assumed,
            )
        }
        "Step with drafts" => (
            "The draft's passes, then the model once over every drafted token and the one before, kernel by kernel: weights and cache are read once for all of them.",
            seconds("the step", step.step),
            sources::SERVING_KERNELS,
            Certainty::Modelled,
        ),
        "Drafting in a step" => (
            "Pass by pass: the first reads what was checked before, each further one the token that the pass before has drafted.",
            seconds("all passes", step.drafts),
            run.engine.speculation.source,
            Certainty::Modelled,
        ),
        _ => return None,
    };
    Some(found(sentence, expr, measure, source, certainty))
}
