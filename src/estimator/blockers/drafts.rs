//! Rules of layouts for speculative decoding.

use super::Blocker;
use crate::config::{Job, Run};

/// Adds the rules that the draft of a serving job breaks: pipeline stages where the engine has
/// none with a draft, and heads that the tensor degree does not divide.
pub(super) fn add(job: &Job, found: &mut Vec<Blocker>) {
    let Run::Serving(run) = job.run() else { return };
    let Some(draft) = &run.draft else { return };
    let (t, spec) = (job.layout().t(), &run.engine.speculation);
    if job.layout().p() > 1 && !spec.in_stages {
        found.push(Blocker::DraftInStages { engine: run.engine.label, from: spec.source });
    }
    let Some(model) = &draft.model else { return };
    let mut must = |what, size: u64| {
        if !size.is_multiple_of(t) {
            found.push(Blocker::Tensor { what, size, t });
        }
    };
    must("num_attention_heads of the draft", model.num_attention_heads);
    if !t.is_multiple_of(model.num_key_value_heads) {
        must("num_key_value_heads of the draft", model.num_key_value_heads);
    }
}
