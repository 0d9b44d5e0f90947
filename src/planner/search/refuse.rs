//! Reasons for which a search does not begin.

use super::space::{self, Degree, Space};
use crate::config::Job;

/// The reason why there is nothing to search, if there is one.
pub(super) fn refuse(job: &Job, space: &Space) -> Option<String> {
    if job.training().is_none() {
        return Some(
            "This search lays out training; a serving instance's count is found beside its curve."
                .to_owned(),
        );
    }
    let most = space.counts.last().copied().unwrap_or(0);
    if space.counts.is_empty() || space.counts.first() == Some(&0) {
        return Some("0 GPUs hold nothing; allow at least 1.".to_owned());
    }
    if most > space::MOST_GPUS {
        return Some(format!(
            "{most} GPUs are more than the search goes through; allow at most {}.",
            space::MOST_GPUS
        ));
    }
    let empty = space
        .only
        .iter()
        .zip(Degree::ALL)
        .find(|(only, _)| only.as_ref().is_some_and(Vec::is_empty));
    if let Some((_, degree)) = empty {
        return Some(format!(
            "No value is allowed for the {} degree; allow at least one.",
            degree.name()
        ));
    }
    let axis = space.axes.iter().find(|axis| axis.edits.is_empty())?;
    Some(format!("No value is allowed for {}; allow at least one.", axis.name))
}
