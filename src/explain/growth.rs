//! How a figure grows: each input is doubled, everything is estimated anew, and both figures are
//! compared.

use std::num::NonZeroU64;

use crate::config::{Job, ModelConfig, ParallelLayout, Run};

/// One input, and how the figure changes when it is doubled.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureGrowth {
    /// The input's key.
    pub input: &'static str,
    /// The figure with twice the input over the figure now; `None` where the doubled job has no
    /// such line.
    pub factor: Option<f64>,
}

/// Factors that differ by less than this are printed alike.
const NEAR: f64 = 0.002;
/// Factors this near to 1 would be printed as 1.
const HARDLY: f64 = 0.0051;

impl FigureGrowth {
    /// Returns the power of the input that the figure follows: −1, 0, 1, 2 or 3; `None` where it
    /// follows none.
    ///
    /// A power fits where the factor differs from `2^power` by less than 0.2 %.
    pub fn exponent(&self) -> Option<i32> {
        let factor = self.factor?;
        [(-1, 0.5), (0, 1.0), (1, 2.0), (2, 4.0), (3, 8.0)]
            .into_iter()
            .find(|(_, power)| (factor / power - 1.0).abs() < NEAR)
            .map(|(exponent, _)| exponent)
    }

    /// Returns the growth as a clause: `twice the seq_length: ×4`.
    pub fn words(&self) -> String {
        let input = self.input;
        match (self.exponent(), self.factor) {
            (_, None) => format!("twice the {input}: not there at the peak"),
            (Some(0), _) => format!("no effect: {input}"),
            (Some(1), _) => format!("twice the {input}: ×2"),
            (Some(-1), _) => format!("twice the {input}: half"),
            (Some(exponent), _) => {
                format!("twice the {input}: ×{}", 1_u64 << exponent.unsigned_abs())
            }
            (None, Some(factor)) if (factor - 1.0).abs() < HARDLY => {
                format!("{input}: hardly any effect")
            }
            (None, Some(factor)) => {
                format!("twice the {input}: ×{}", crate::units::grouped(factor, 2))
            }
        }
    }
}

/// Returns all clauses as one sentence, the inputs that change the figure first; empty for no
/// growth.
pub fn sentence(growth: &[FigureGrowth]) -> String {
    let (same, moves): (Vec<&FigureGrowth>, Vec<_>) =
        growth.iter().partition(|one| one.exponent() == Some(0));
    let mut clauses: Vec<String> = moves.into_iter().map(FigureGrowth::words).collect();
    if !same.is_empty() {
        let inputs: Vec<&str> = same.iter().map(|one| one.input).collect();
        clauses.push(format!("no effect: {}", inputs.join(", ")));
    }
    let mut text = clauses.join("; ");
    if let Some(first) = text.get(..1).map(str::to_uppercase) {
        text.replace_range(..1, &first);
    }
    if text.is_empty() { text } else { text + "." }
}

/// The jobs with one input doubled, each with the input's key.
pub(super) fn doubled(job: &Job) -> Vec<(&'static str, Job)> {
    let mut jobs: Vec<(&'static str, Option<Job>)> = Vec::with_capacity(10);
    match job.run() {
        Run::Training(run) => {
            jobs.push(("seq_length", Some(job.with_seq_length(run.seq_length.saturating_mul(2)))));
            let own = run.micro_batch_size.is_some();
            let twice = job.with_run(|run| {
                if let Run::Training(run) = run {
                    match &mut run.micro_batch_size {
                        Some(size) => *size = size.saturating_mul(2),
                        None => run.global_batch_size = run.global_batch_size.saturating_mul(2),
                    }
                }
            });
            jobs.push((if own { "micro_batch_size" } else { "global_batch_size" }, Some(twice)));
        }
        Run::Serving(run) => {
            jobs.push((
                "context_length",
                Some(job.with_seq_length(run.context_length.saturating_mul(2))),
            ));
            let twice = job.with_run(|run| {
                if let Run::Serving(run) = run {
                    run.concurrent_sequences = run.concurrent_sequences.saturating_mul(2);
                }
            });
            jobs.push(("concurrent_sequences", Some(twice)));
        }
    }
    jobs.push((
        "num_hidden_layers",
        of_model(job, |model| model.num_hidden_layers = model.num_hidden_layers.saturating_mul(2)),
    ));
    jobs.push((
        "hidden_size",
        of_model(job, |model| model.hidden_size = model.hidden_size.saturating_mul(2)),
    ));
    jobs.push((
        "vocab_size",
        of_model(job, |model| model.vocab_size = model.vocab_size.saturating_mul(2)),
    ));
    let twice = |ranks: NonZeroU64| ranks.saturating_mul(NonZeroU64::MIN.saturating_add(1));
    let layout = *job.layout();
    let of_layout = |layout: ParallelLayout| Some(job.with_layout(layout));
    let tensor = ParallelLayout {
        tensor_model_parallel_size: twice(layout.tensor_model_parallel_size),
        ..layout
    };
    jobs.push(("tensor_model_parallel_size", of_layout(tensor)));
    let data = ParallelLayout { data_parallel_size: twice(layout.data_parallel_size), ..layout };
    jobs.push(("data_parallel_size", of_layout(data)));
    jobs.into_iter().filter_map(|(input, job)| Some((input, job?))).collect()
}

fn of_model(job: &Job, change: impl FnOnce(&mut ModelConfig)) -> Option<Job> {
    let mut model = job.model().clone();
    change(&mut model);
    Job::new(model, job.run().clone(), *job.layout(), job.cluster().clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::{FigureGrowth, sentence};

    #[test]
    fn factors_read_as_powers_where_they_are() {
        let words = |factor| FigureGrowth { input: "seq_length", factor }.words();
        assert_eq!(words(Some(4.0)), "twice the seq_length: ×4");
        assert_eq!(words(Some(2.0004)), "twice the seq_length: ×2");
        assert_eq!(words(Some(0.5)), "twice the seq_length: half");
        assert_eq!(words(Some(1.53)), "twice the seq_length: ×1.53");
        assert_eq!(words(Some(1.0)), "no effect: seq_length");
        assert_eq!(words(Some(1.004)), "seq_length: hardly any effect");
        assert_eq!(words(None), "twice the seq_length: not there at the peak");
    }

    #[test]
    fn what_moves_it_comes_first() {
        let of = |input, factor| FigureGrowth { input, factor: Some(factor) };
        let text =
            sentence(&[of("vocab_size", 1.0), of("seq_length", 4.0), of("hidden_size", 1.0)]);
        assert_eq!(text, "Twice the seq_length: ×4; no effect: vocab_size, hidden_size.");
        assert_eq!(sentence(&[of("seq_length", 2.0)]), "Twice the seq_length: ×2.");
        assert_eq!(sentence(&[]), "");
    }
}
