//! Explanations of figures as panels, and as plain text for the command line.

use crate::app::markup::{Html, html};
use crate::app::side::Side;
use crate::config::Job;
use crate::estimator::estimate;
use crate::explain::{Explainer, text};
use crate::units::MemoryUnit;

/// The explanations of the figures with those paths as plain text.
///
/// # Errors
/// The first path that this job has no figure for.
pub fn explained(job: &Job, paths: &[String], unit: MemoryUnit) -> Result<Vec<String>, String> {
    let side = Side::of(job, &estimate(job), unit);
    let explainer = Explainer::new(job, &side.answers, unit);
    paths.iter().map(|path| Ok(text(&explainer.explain(path).ok_or_else(|| path.clone())?, unit))).collect()
}
