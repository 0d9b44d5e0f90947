//! Up to three changes that make it run, and the largest sizes that fit: each verified by the
//! engine, one click each.

use crate::config::BaseFormat;
use crate::estimator::Verdict;
use crate::planner::{Change, Fix, Growth, Inverse, Known, growth};
use crate::scenario::{FieldId, Mode, Scenario, Value, show};
use crate::units::{MemoryUnit, to_f64};
use crate::view::action::Action;
use crate::view::answers::Answers;
use crate::view::markup::{Html, html};
use crate::view::ui::FromWorkers;
use crate::view::words::{Scale, gpus, requests, whole};

/// Changes that make it run, and the sizes at which it still runs or would.
pub fn fixes(answers: &Answers, found: &FromWorkers) -> Html {
    let answer = answers.estimate.verdict();
    let buttons: Html = answers
        .fixes()
        .iter()
        .enumerate()
        // Less memory does not help where a rule forbids the layout.
        .filter(|(_, fix)| fix.fits || answer == Verdict::DoesNotFit)
        .map(|(index, fix)| button(index, fix, answers.unit))
        .collect();
    let runs = runs(answers, found);
    let growth = growths(answers, found);
    let searched = answer == Verdict::CannotRun && answers.scenario.mode() == Mode::Train;
    let others = if searched {
        "“Find the best layout” below"
    } else {
        "A smaller model or another GPU"
    };
    html! {
        section class="help" data-own="fixes" data-testid="fixes" aria-label="What would help" {
            @if !buttons.is_empty() { div class="fixes" { (buttons) } }
            @if !growth.is_empty() {
                p class="room" data-testid="room" {
                    span { (if runs { "Room to grow:" } else { "It would fit with:" }) }
                    @for (index, item) in growth.iter().enumerate() {
                        (grow(index, item, answers, found))
                    }
                }
            } @else if runs {
                p class="room" { "No room to grow with this layout." }
            } @else if buttons.is_empty() {
                p class="room" {
                    "No single change makes this run, not even a sequence of one token. "
                    (others)
                    " may."
                }
            }
        }
    }
}

/// True if it runs as it is: by the allocator where the worker has told that.
fn runs(answers: &Answers, found: &FromWorkers) -> bool {
    let estimate = &answers.estimate;
    found
        .told(answers)
        .map_or_else(|| estimate.runs(), |limits| limits.fits && estimate.blockers.is_empty())
}

/// The largest sizes that fit, each verified: replayed by the allocator where the worker has told
/// that, else with an assumed reserve for it.
pub fn growths(answers: &Answers, found: &FromWorkers) -> Vec<Growth> {
    answers.growth(found.told(answers).copied(), || found_growths(answers, found))
}

fn found_growths(answers: &Answers, found: &FromWorkers) -> Vec<Growth> {
    let told = found.told(answers);
    let limits = told.map_or_else(
        || {
            let inverse = answers.inverse();
            let longest_seq = inverse
                .longest_seq
                .map(|most| if is_about(answers, found) { in_three_digits(most) } else { most });
            Inverse { longest_seq, ..inverse }
        },
        |limits| Inverse { longest_seq: limits.longest_seq, largest_batch: limits.largest_batch },
    );
    let format = answers.serving().and_then(|serving| serving.quantization);
    growth(
        &answers.job,
        &Known { runs: runs(answers, found), limits, replayed: told.is_some(), format },
    )
}

/// True if the longest sequence depends on a reserve that is assumed.
fn is_about(answers: &Answers, found: &FromWorkers) -> bool {
    answers.scenario.mode() != Mode::Serve && found.told(answers).is_none()
}

/// One size as a button that sets it.
fn grow(index: usize, growth: &Growth, answers: &Answers, found: &FromWorkers) -> Html {
    let about = if is_about(answers, found) { "about " } else { "" };
    let words = match growth.change {
        Change::ContextLength(tokens) => format!("sequences of {about}{} tokens", whole(tokens)),
        Change::MicroBatch(batch) => format!("micro-batch of {}", whole(batch)),
        Change::Batches { micro, global } => {
            format!("micro-batch of {}, global batch {}", whole(micro), whole(global))
        }
        Change::Requests(most) => format!("{} at once on each replica", requests(most)),
        Change::Rank(rank) => format!("rank {}", whole(rank)),
        Change::Quantization(format) => {
            format!("weights in {}", show(FieldId::WeightDType, &Value::choice(format)))
        }
        _ => "frozen weights in 16 bits".to_owned(),
    };
    let scale = Scale { unit: answers.unit, decimals: 1 };
    html! {
        button type="button" class="room__size" data-do=(Action::Grow(index))
            title={ "Set it: " (scale.show(growth.after)) " " (answers.unit) " on each GPU" } {
            (words)
        }
    }
}

/// Writes one of the sizes that fit into the scenario.
pub fn apply_growth(scenario: &mut Scenario, growth: &Growth) {
    change(scenario, growth.change);
}

/// One change as a button.
fn button(index: usize, fix: &Fix, unit: MemoryUnit) -> Html {
    let scale = Scale { unit, decimals: 1 };
    let outcome = if fix.fits {
        format!("fits on {}", gpus(fix.gpus_after))
    } else {
        "closer, still too much".to_owned()
    };
    html! {
        button type="button" class="fix" data-do=(Action::Fix(index)) {
            span class="fix__title" { (fix.title) }
            span class="fix__effect" {
                (scale.show(fix.before))
                " → "
                (scale.show(fix.after))
                " "
                (unit.name())
                ", "
                (outcome)
            }
        }
    }
}

/// Writes a change into the scenario; another tensor degree or replica comes with its number of
/// GPUs.
pub fn apply(scenario: &mut Scenario, fix: &Fix) {
    if matches!(fix.change, Change::Tensor(_) | Change::Replica { .. }) {
        scenario.set(FieldId::Gpus, Value::Integer(fix.gpus_after));
    }
    change(scenario, fix.change);
}

/// Writes a single change into the scenario.
pub fn change(scenario: &mut Scenario, change: Change) {
    let (field, value) = match change {
        Change::Recompute(to) => (FieldId::Recompute, Value::choice(to)),
        Change::Sharding(to) => (FieldId::Sharding, Value::choice(to)),
        Change::Attention(to) => (FieldId::Attention, Value::choice(to)),
        Change::MicroBatch(to) => (FieldId::MicroBatchSize, Value::Integer(to)),
        Change::Gpus(to) => (FieldId::Gpus, Value::Integer(to)),
        Change::Optimizer(to) => (FieldId::Optimizer, Value::choice(to)),
        Change::RolloutSequences(to) => (FieldId::RolloutSequences, Value::Integer(to)),
        Change::Rollout(to) => (FieldId::Rollout, Value::choice(to)),
        Change::Adapters(base) => {
            if base.is_quantised() {
                scenario.set(FieldId::DoubleQuant, Value::Flag(base == BaseFormat::Nf4Double));
            }
            (FieldId::Method, Value::Choice(if base.is_quantised() { "qlora" } else { "lora" }))
        }
        Change::Quantization(to) => (FieldId::WeightDType, Value::choice(to)),
        Change::KvCacheDType(to) => (FieldId::KvCacheDType, Value::choice(to)),
        Change::ContextLength(to) if scenario.mode() == Mode::Serve => {
            (FieldId::ContextLength, Value::Integer(to))
        }
        Change::ContextLength(to) => (FieldId::SeqLength, Value::Integer(to)),
        Change::Tensor(to) => (FieldId::TensorParallel, Value::Integer(to)),
        Change::Replica { tensor, pipeline } => {
            scenario.set(FieldId::PipelineParallel, Value::Integer(pipeline));
            (FieldId::TensorParallel, Value::Integer(tensor))
        }
        Change::Pipeline(to) => (FieldId::PipelineParallel, Value::Integer(to)),
        Change::EndsAsLayers => (FieldId::AccountForEnds, Value::Flag(true)),
        Change::Expert(to) => (FieldId::ExpertParallel, Value::Integer(to)),
        Change::Images(to) => (FieldId::ImagesPerSequence, Value::Integer(to)),
        Change::GlobalBatch(to) => (FieldId::GlobalBatchSize, Value::Integer(to)),
        Change::Batches { micro, global } => {
            scenario.set(FieldId::GlobalBatchSize, Value::Integer(global));
            (FieldId::MicroBatchSize, Value::Integer(micro))
        }
        Change::Requests(to) => (FieldId::ConcurrentSequences, Value::Integer(to)),
        Change::Rank(to) => (FieldId::Rank, Value::Integer(to)),
        Change::ExpertsOnHost(to) => (FieldId::ExpertLayersOnHost, Value::Integer(to)),
        Change::GpuLayers(to) => (FieldId::GpuLayers, Value::Integer(to)),
        Change::WeightsOnHost(to) => (FieldId::WeightsOnHost, Value::Decimal(to_f64(to))),
    };
    scenario.set(field, value);
}

/// A number of tokens with its first three digits: more of them would not be known.
fn in_three_digits(tokens: u64) -> u64 {
    let step = 10_u64.saturating_pow(tokens.max(1).ilog10().saturating_sub(2));
    tokens / step * step
}

#[cfg(test)]
mod tests {
    use super::{apply, apply_growth, fixes, growths};
    use crate::estimator::estimate;
    use crate::view::answers::Answers;
    use crate::view::markup::Html;
    use crate::view::panels::tests::{answers, count, text};
    use crate::view::ui::FromWorkers;

    fn fixes_of(answers: &Answers) -> Html {
        fixes(answers, &FromWorkers::default())
    }

    #[test]
    fn what_the_allocator_was_asked_is_said_without_about() {
        let answers = answers("v1&m=llama3-8b&n=8");
        let mut found = FromWorkers::default();
        let assumed = text(&fixes(&answers, &found));
        assert!(assumed.contains("sequences of about 133\u{202f}000 tokens"), "{assumed}");
        found.hear_limits(answers.scenario.clone(), "1 1 43210 4 0");
        let words = text(&fixes(&answers, &found));
        assert!(
            words.contains("sequences of 43\u{202f}210 tokens")
                && words.contains("micro-batch of 4"),
            "{words}"
        );
        // Its word counts, too, where the estimate sees room.
        found.hear_limits(answers.scenario.clone(), "0 1 4096 0 0");
        let short = text(&fixes(&answers, &found));
        assert!(short.contains("It would fit with:sequences of 4096 tokens"), "{short}");
    }

    #[test]
    fn room_is_told_whether_it_fits_or_not() {
        let words = text(&fixes_of(&answers("v1&m=llama3-8b&n=8")));
        assert!(
            words.starts_with("Room to grow:sequences of about")
                && words.contains("micro-batch of 16"),
            "{words}"
        );
        // Llama 3 8B by LoRA with long sequences on one card of 24 GiB.
        let short = answers("v1&do=tune&m=llama3-8b&gpu=rtx4090&n=1&gb=8&s=65536");
        let words = text(&fixes_of(&short));
        assert!(words.contains("It would fit with:sequences of about "), "{words}");
        // No room at all: a model that is larger than the card.
        let none = text(&fixes_of(&answers("v1&m=llama3-405b&n=8")));
        assert!(
            !none.contains("It would fit with:sequences") && !none.contains("Room to grow"),
            "{none}"
        );
        let served = text(&fixes_of(&answers("v1&do=serve&m=llama3-8b&n=1&w=awq")));
        assert!(
            served.contains("requests at once on each replica") && served.contains("weights in "),
            "{served}"
        );
    }

    #[test]
    fn every_size_runs_once_it_is_set() {
        for link in [
            "v1&m=llama3-8b&n=8",
            "v1&m=llama3-8b&n=8&s=1048576",
            "v1&m=llama3-8b&n=8&gb=8",
            "v1&m=llama3-70b&n=64&tp=8&pp=2&z=1&ker=megatron&gb=64&b=1",
            "v1&do=tune&m=llama3-8b&n=1&gb=4",
            "v1&do=tune&m=llama3-8b&gpu=rtx4090&n=1&gb=8&ft=qlora",
            "v1&do=tune&m=llama3-8b&gpu=rtx4090&n=1&gb=8&s=2048&ft=qlora&r=4096",
            "v1&do=serve&m=llama3-8b&n=1",
            "v1&do=serve&m=llama3-70b&n=2&tp=2",
        ] {
            let answers = answers(link);
            let found = growths(&answers, &FromWorkers::default());
            assert!(!found.is_empty(), "{link}");
            for growth in found {
                let mut scenario = answers.scenario.clone();
                apply_growth(&mut scenario, &growth);
                let after = estimate(&scenario.resolve().expect("a job"));
                assert!(after.runs(), "{link}: {growth:?}: {:?}", after.blockers);
                assert_eq!(after.total(), growth.after, "{link}: {growth:?}");
            }
        }
    }

    #[test]
    fn every_button_does_what_it_says() {
        // Llama 3 70B is trained, fine-tuned as a whole with a reference, with frozen layers, by
        // DoRA.
        for link in [
            "v1&m=llama3-70b&n=8",
            "v1&do=tune&m=llama3-70b&n=8&ft=full",
            "v1&do=tune&m=llama3-70b&n=8&ft=full&dq=0&fzl=20",
            "v1&do=tune&m=llama3-70b&n=1&ft=dora&dq=0",
            "v1&do=tune&m=llama3-8b&n=8&ft=full&obj=grpo&ron=4096",
            "v1&do=tune&m=llama3-8b&n=8&ft=full&obj=grpo&ron=1024&ro=colocated",
            // Rules: layers and stages, batch and ranks, heads and tensor ranks, experts and ranks,
            // FSDP and experts.
            "v1&m=llama3.1-405b&n=16384&tp=8&pp=16&ker=megatron&gb=2048&z=1",
            "v1&m=llama3-8b&n=24&ker=megatron&gb=128",
            "v1&m=llama3-8b&n=7&tp=7&ker=megatron&gb=7",
            "v1&m=mixtral-8x7b&n=64&tp=2&ep=3&ker=megatron&gb=128&z=1",
            "v1&m=mixtral-8x7b&n=64&tp=2&ep=8&ker=megatron&gb=128&z=fsdp",
        ] {
            let answers = answers(link);
            assert!(count(&fixes_of(&answers), "data-do=\"fix:") > 0, "{link}");
            for fix in answers.fixes() {
                let mut scenario = answers.scenario.clone();
                apply(&mut scenario, fix);
                let after = estimate(&scenario.resolve().expect("a job")).total();
                assert_eq!(after, fix.after, "{link}: {}", fix.title);
            }
        }
    }
}
