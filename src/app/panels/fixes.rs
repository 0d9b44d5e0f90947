//! Up to three changes that the engine has verified, one click each; or what else would fit.

use crate::app::action::Action;
use crate::app::answers::Answers;
use crate::app::markup::{Html, html};
use crate::app::ui::FromWorkers;
use crate::app::words::{Scale, gpus, whole};
use crate::config::BaseFormat;
use crate::estimator::Verdict;
use crate::planner::{Change, Fix, Inverse};
use crate::scenario::{FieldId, Mode, Scenario, Value};
use crate::units::MemoryUnit;

/// The buttons, or the room that is left.
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
    let searched = answer == Verdict::CannotRun && answers.scenario.mode() == Mode::Train;
    let others = if searched { "“Search every layout” below" } else { "A smaller model, a shorter sequence or another GPU" };
    let content = match (buttons.as_str().is_empty(), answer) {
        (false, _) => html! { div class="fixes" { (buttons) } },
        (true, Verdict::Fits | Verdict::Tight) => room(answers, found),
        (true, _) => html! {
            p class="room" { "No single change makes this run. " (others) " may." }
        },
    };
    html! {
        section class="help" data-own="fixes" data-testid="fixes" aria-label="What would help" {
            (content)
        }
    }
}

/// One change as a button.
fn button(index: usize, fix: &Fix, unit: MemoryUnit) -> Html {
    let scale = Scale { unit, decimals: 1 };
    let outcome = if fix.fits { format!("fits on {}", gpus(fix.gpus_after)) } else { "closer, still too much".to_owned() };
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

/// Writes a change into the scenario; another tensor degree or replica comes with its number of GPUs.
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
        Change::ContextLength(to) if scenario.mode() == Mode::Serve => (FieldId::ContextLength, Value::Integer(to)),
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
    };
    scenario.set(field, value);
}

/// A number of tokens with its first three digits: more of them would not be known.
fn in_three_digits(tokens: u64) -> u64 {
    let step = 10_u64.saturating_pow(tokens.max(1).ilog10().saturating_sub(2));
    tokens / step * step
}

/// The largest that still fits, with everything else as it is: replayed by the allocator where the worker has told that, else with an
/// assumed reserve for it.
fn room(answers: &Answers, found: &FromWorkers) -> Html {
    let serves = answers.scenario.mode() == Mode::Serve;
    let told = found.told(answers);
    let Inverse { longest_seq, largest_batch } = told.map_or_else(
        || answers.inverse(),
        |limits| Inverse { longest_seq: limits.longest_seq, largest_batch: limits.largest_batch },
    );
    let (about, longest_seq) =
        if serves || told.is_some() { ("", longest_seq) } else { ("about ", longest_seq.map(in_three_digits)) };
    let longest = longest_seq.map(|tokens| {
        html! {
            span {
                "sequences of "
                (about)
                b { (whole(tokens)) " tokens" }
            }
        }
    });
    let per = if serves { "requests at once on each replica:" } else { "micro-batch of" };
    let batch = largest_batch.map(|largest| {
        html! {
            span {
                (per)
                " "
                (about)
                b { (whole(largest)) }
            }
        }
    });
    if longest.is_none() && batch.is_none() {
        return html! {
            p class="room" { span { "No shorter sequence and no smaller micro-batch runs." } }
        };
    }
    html! {
        p class="room" {
            span { "With everything else as it is, this still fits:" }
            @if let Some(longest) = &longest { (longest) }
            @if let Some(batch) = &batch { (batch) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{apply, fixes};
    use crate::app::answers::Answers;
    use crate::app::markup::Html;
    use crate::app::panels::tests::{answers, count, text};
    use crate::app::ui::FromWorkers;
    use crate::estimator::estimate;

    fn fixes_of(answers: &Answers) -> Html {
        fixes(answers, &FromWorkers::default())
    }

    #[test]
    fn what_the_allocator_was_asked_is_said_without_about() {
        let answers = answers("v1&m=llama3-8b&n=8");
        let mut found = FromWorkers::default();
        let assumed = text(&fixes(&answers, &found));
        assert!(assumed.contains("sequences of about 133\u{202f}000 tokens"), "{assumed}");
        found.hear_limits(answers.scenario.clone(), "1 1 4321 7 0");
        let words = text(&fixes(&answers, &found));
        assert!(words.contains("sequences of 4321 tokens") && words.contains("micro-batch of 7"), "{words}");
        found.hear_limits(answers.scenario.clone(), "0 1 0 0 0");
        assert!(text(&fixes(&answers, &found)).contains("No shorter sequence"));
    }

    #[test]
    fn what_fits_says_how_much_more_would() {
        let words = text(&fixes_of(&answers("v1&m=llama3-8b&n=8")));
        assert!(words.contains("this still fits") && words.contains("tokens"), "{words}");
    }

    #[test]
    fn every_button_does_what_it_says() {
        // Llama 3 70B is trained, fine-tuned as a whole with a reference, with frozen layers, by DoRA.
        for link in [
            "v1&m=llama3-70b&n=8",
            "v1&do=tune&m=llama3-70b&n=8&ft=full",
            "v1&do=tune&m=llama3-70b&n=8&ft=full&dq=0&fzl=20",
            "v1&do=tune&m=llama3-70b&n=1&ft=dora&dq=0",
            "v1&do=tune&m=llama3-8b&n=8&ft=full&obj=grpo&ron=4096",
            "v1&do=tune&m=llama3-8b&n=8&ft=full&obj=grpo&ron=1024&ro=colocated",
            // Rules: layers and stages, batch and ranks, heads and tensor ranks, experts and ranks, FSDP and experts.
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
