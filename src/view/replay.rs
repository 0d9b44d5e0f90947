//! A training's answers as PyTorch's allocator gives them, beside those that keep an assumed share
//! of memory free for it. They take a tenth of a second, so the page's worker finds them once
//! changes rest. No browser in here.

use std::sync::Arc;

use super::answers::Answers;
use super::device::OUT_OF_MEMORY;
use super::headline::{Headline, Margin};
use super::serving::Counts;
use super::ui::FromWorkers;
use super::words::{Scale, about, gpus, on_gpu, percent, verdict_word};
use crate::estimator::{Estimate, Verdict};
use crate::planner::{GpuCount, Replayed};
use crate::scenario::Scenario;
use crate::units::{Bytes, MemoryUnit};

/// The allocator's answers, in the numbers that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// True if all steps run to their end.
    pub fits: bool,
    /// The least memory with which they do, in use as the driver counts it.
    pub least: Bytes,
    /// Longest sequence that runs, tokens.
    pub longest_seq: Option<u64>,
    /// Largest micro-batch that runs.
    pub largest_batch: Option<u64>,
    /// Smallest count of accelerators that runs.
    pub gpus: Option<u64>,
}

/// The allocator's answers to a scenario, as a page knows them.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownReplay {
    /// The scenario that they are about.
    pub scenario: Scenario,
    /// The answers.
    pub limits: Limits,
}

impl Limits {
    /// The numbers of a replay.
    pub fn of(found: &Replayed) -> Self {
        let Replayed { memory, least, longest_seq, largest_batch, runnable } = found;
        let gpus = runnable.as_ref().map(|run| run.gpus);
        Self {
            fits: memory.fits,
            least: *least,
            longest_seq: *longest_seq,
            largest_batch: *largest_batch,
            gpus,
        }
    }

    /// As they travel: five numbers, 0 for what does not run at all.
    pub fn write(&self) -> String {
        let Self { fits, least, longest_seq, largest_batch, gpus } = *self;
        let [longest, batch, gpus] =
            [longest_seq, largest_batch, gpus].map(Option::unwrap_or_default);
        format!("{} {} {longest} {batch} {gpus}", u8::from(fits), least.0)
    }

    /// Reads what [`Limits::write`] wrote; nothing for any other text.
    pub fn read(text: &str) -> Option<Self> {
        let mut numbers = text.split(' ').map(|number| number.parse::<u64>().ok());
        let mut next = || numbers.next().flatten();
        let (fits, least) = (next()? == 1, Bytes(next()?));
        let mut some = || next().map(|number| (number > 0).then_some(number));
        Some(Self { fits, least, longest_seq: some()?, largest_batch: some()?, gpus: some()? })
    }

    /// The first words, where the allocator contradicts them; else as they are.
    pub fn headline(
        &self,
        said: Headline,
        scenario: &Scenario,
        estimate: &Estimate,
        unit: MemoryUnit,
    ) -> Headline {
        let Self { fits, least, .. } = *self;
        let capacity = estimate.capacity;
        let scale = Scale::of(unit, least, capacity);
        let (used, room, on) = (scale.show(least), scale.show(capacity), on_gpu(scenario));
        let (verdict, word, caption) = match (estimate.verdict(), fits) {
            (Verdict::Fits | Verdict::Tight, false) => {
                let over = percent(least.saturating_sub(capacity), capacity);
                (Verdict::DoesNotFit, OUT_OF_MEMORY, format!("short on {on}, {over} over"))
            }
            (Verdict::DoesNotFit, true) => {
                let free = percent(capacity.saturating_sub(least), capacity);
                (Verdict::Tight, verdict_word(Verdict::Tight), format!("free on {on}, {free}"))
            }
            _ => return said,
        };
        Headline {
            verdict,
            word: word.to_owned(),
            sentence: format!(
                "{} needs {used} of {room} {} on {on}, gaps between tensors included.",
                about(scenario),
                scale.unit
            ),
            margin: Margin {
                number: scale.gap(least, capacity),
                caption,
                of_memory: false,
                ..said.margin
            },
            short: format!("{used} of {room} {}", scale.unit),
            ..said
        }
    }

    /// Both counts, the smallest as the allocator allows it.
    pub fn counts(&self, count: &GpuCount, said: Counts) -> Counts {
        let flat = count.runnable.as_ref().map(|run| run.gpus);
        let reason = match (flat, self.gpus) {
            (Some(flat), Some(found)) if found > flat => {
                format!(
                    "On {} the tensors would fit, but PyTorch's allocator finds no room between \
                     them.",
                    gpus(flat)
                )
            }
            (flat, Some(found)) if flat.is_none_or(|flat| found < flat) => {
                format!(
                    "PyTorch's allocator manages with {}; the usual reserve of memory for it would \
                     not be left.",
                    gpus(found)
                )
            }
            (Some(flat), None) => format!(
                "From {} on the tensors would fit, but PyTorch's allocator finds no room on any \
                 count that was tried (eight at most).",
                gpus(flat)
            ),
            _ => return said,
        };
        Counts { smallest: self.gpus.map_or_else(|| "none".to_owned(), gpus), reason, ..said }
    }
}

impl FromWorkers {
    /// The allocator's answers, where they are those of the present scenario.
    pub fn told(&self, answers: &Answers) -> Option<&Limits> {
        let told = self.told.as_deref().filter(|told| told.scenario == answers.scenario)?;
        Some(&told.limits)
    }

    /// Takes over what the worker found about a scenario, or that it found nothing.
    pub fn hear_limits(&mut self, scenario: Scenario, text: &str) {
        self.told = Limits::read(text).map(|limits| Arc::new(KnownReplay { scenario, limits }));
    }

    /// The first words of an answer, as the allocator has them where that was heard.
    pub fn headline(&self, answers: &Answers) -> Headline {
        let said = answers.headline();
        match self.told(answers) {
            Some(limits) => {
                limits.headline(said, &answers.scenario, &answers.estimate, answers.unit)
            }
            None => said,
        }
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a failed expectation is a failed test")]
mod tests {
    use super::{Counts, Limits};
    use crate::estimator::Verdict;
    use crate::planner::replayed;
    use crate::units::Bytes;
    use crate::view::panels::tests::answers;
    use crate::view::ui::FromWorkers;

    #[test]
    fn what_is_written_is_read() {
        for (longest_seq, fits) in [(Some(7), true), (None, false)] {
            let limits =
                Limits { fits, least: Bytes(9), longest_seq, largest_batch: Some(2), gpus: None };
            assert_eq!(Limits::read(&limits.write()), Some(limits));
        }
        for broken in ["", "1", "1 2 3 4", "a b c d e", "1 2 3 4 x"] {
            assert_eq!(Limits::read(broken), None, "{broken}");
        }
    }

    #[test]
    fn the_first_words_are_the_allocators() {
        let answers = answers("v1&m=llama3-8b&n=8&mem=25.5");
        let mut heard = FromWorkers::default();
        assert_eq!(heard.headline(&answers).verdict, Verdict::Tight);
        let found = replayed(&answers.job).expect("a known order");
        heard.hear_limits(answers.scenario.clone(), &Limits::of(&found).write());
        let said = heard.headline(&answers);
        assert_eq!(
            (said.verdict, said.word.as_str()),
            (Verdict::DoesNotFit, "Runs out of memory.")
        );
        assert!(
            said.sentence.contains(" needs 2")
                && said.sentence.ends_with("gaps between tensors included."),
            "{}",
            said.sentence
        );
        assert!(said.margin.caption.starts_with("short on each GPU"), "{:?}", said.margin);
        let counts = Counts::of(&answers.job, &answers.count, None);
        let more = heard.told(&answers).expect("told").counts(&answers.count, counts.clone());
        assert_eq!([counts.smallest.as_str(), more.smallest.as_str()], ["8 GPUs", "16 GPUs"]);
        assert!(more.reason.starts_with("On 8 GPUs the tensors would fit"), "{}", more.reason);
    }

    #[test]
    fn answers_about_another_scenario_are_not_shown() {
        let (asked, now) =
            (answers("v1&m=llama3-8b&n=8&mem=26"), answers("v1&m=llama3-8b&n=8&mem=27"));
        let mut heard = FromWorkers::default();
        heard.hear_limits(asked.scenario.clone(), "0 99 0 0 0");
        assert!(heard.told(&asked).is_some() && heard.told(&now).is_none());
        assert_eq!(heard.headline(&now), now.headline());
        // Nothing was found: the order of allocations is not known.
        heard.hear_limits(asked.scenario.clone(), "");
        assert!(heard.told(&asked).is_none());
    }

    #[test]
    fn what_the_assumed_reserve_forbids_may_run() {
        let answers = answers("v1&m=llama3-8b&n=8");
        let of = |gpus| Limits {
            fits: true,
            least: Bytes(1 << 30),
            longest_seq: None,
            largest_batch: None,
            gpus,
        };
        let said =
            of(Some(1)).counts(&answers.count, Counts::of(&answers.job, &answers.count, None));
        assert!(said.smallest == "1 GPU" && said.reason.contains("manages with 1 GPU"), "{said:?}");
        let none = of(None).counts(&answers.count, Counts::of(&answers.job, &answers.count, None));
        assert!(none.smallest == "none" && none.reason.contains("eight at most"), "{none:?}");
    }
}
