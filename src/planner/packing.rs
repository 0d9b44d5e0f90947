//! The gain from packing short texts.

use crate::config::{Job, Run, Texts};
use crate::estimator::{estimate, time};

/// Factor by which a fine-tuning gets through more useful tokens in the same time when it packs its
/// texts instead of padding them.
///
/// `useful` is the job's own pace, useful tokens per second. The packed job is estimated and timed
/// like any other; `None` where no text is padded, where the packed job breaks a rule, and where it
/// needs more memory than there is.
pub fn packing(job: &Job, useful: f64) -> Option<f64> {
    let texts = job.training()?.texts.filter(|texts| !texts.packed)?;
    let packed = job.with_run(|run| {
        if let Run::Training(run) = run {
            run.texts = Some(Texts { packed: true, ..texts });
        }
    });
    let (before, after) = (estimate(job), estimate(&packed));
    if after.blockers.len() > before.blockers.len() || after.total() > before.total() {
        return None;
    }
    let times = time::step(&packed)?.useful_tokens_per_second / useful;
    (times > 1.0).then_some(times)
}
