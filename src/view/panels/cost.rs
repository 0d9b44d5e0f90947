//! Parameters and compute; on paper, time and cost too.

use crate::config::Job;
use crate::estimator::{Compute, Estimate};
use crate::units::MemoryUnit;
use crate::view::answers::Answers;
use crate::view::markup::{Html, html};
use crate::view::ui::Opened;
use crate::view::words::{billions, scientific, whole};
use crate::view::{serving, timing};

/// Name and value.
pub type CostFact = (&'static str, String);

/// A short list of facts beside the ledger.
pub fn cost(answers: &Answers, opened: &Opened) -> Html {
    let heading = if answers.estimate.compute.is_some() { "Model and run" } else { "The model" };
    let facts: Html = facts(&answers.job, &answers.estimate, answers.unit)
        .iter()
        .map(|(name, value)| {
            timing::line(
                opened,
                name,
                value,
                if *name == LEARN { beside_experts(&answers.job) } else { "" },
            )
        })
        .collect();
    let facts =
        [facts, of_serving(answers, opened), on_paper(answers)].into_iter().collect::<Html>();
    html! {
        div data-own="cost" {
            div class="section__head" { h2 { (heading) } }
            dl class="facts" data-testid="facts" { (facts) }
        }
    }
}

const LEARN: &str = "Parameters that learn";

/// Where adapters stand in a model with experts.
fn beside_experts(job: &Job) -> &'static str {
    // Under Megatron-LM experts have adapters too.
    let adapts = job
        .training()
        .is_some_and(|run| run.tuning.method.adapts_linears() && !run.stack.has_own_schedule());
    if adapts && job.model().moe.is_some() {
        "adapters stand beside attention alone: those on experts are not modelled"
    } else {
        ""
    }
}

/// The cache as servers print it, and how many requests, tokens and GPUs; nothing when training.
fn of_serving(answers: &Answers, opened: &Opened) -> Html {
    let Some(found) = answers.serving() else { return Html::default() };
    let cache = serving::cache(&answers.job, &answers.estimate, answers.unit);
    // Paper has no room for all of it.
    let on_screen = serving::answers(&answers.job, found).into_iter().map(|(name, value, note)| {
        html! {
            dt class="screen" {
                (name)
                span class="ledger__note" { (note) }
            }
            dd class="screen number" { (value) }
        }
    });
    cache
        .iter()
        .map(|(name, value, note)| timing::line(opened, name, value, note))
        .chain(on_screen)
        .collect()
}

/// Names of the time's figures that paper shows: it has no room for the section below.
const ON_PAPER: [&str; 5] =
    ["One step", "Utilisation: model (MFU)", "The run", "GPU-hours", "Cost of the run"];

fn on_paper(answers: &Answers) -> Html {
    timing::facts(&answers.job, answers.timing())
        .iter()
        .filter(|(name, ..)| ON_PAPER.contains(name))
        .map(|(name, value, _)| {
            html! {
                dt class="paper" { (name) }
                dd class="paper number" { (value) }
            }
        })
        .collect()
}

/// Model, batch and compute, one figure a line.
pub fn facts(job: &Job, estimate: &Estimate, unit: MemoryUnit) -> Vec<CostFact> {
    let count = &estimate.parameters;
    let mut facts = vec![
        ("Parameters", whole(count.total)),
        ("of these in embedding and head", whole(count.embedding.saturating_add(count.head))),
    ];
    if count.trainable < count.total {
        facts.push((LEARN, whole(count.trainable)));
    }
    if job.training().is_some() {
        facts.push(("Micro-batch on each GPU", whole(job.micro_batch_size())));
        facts.push((
            "Gradient accumulation",
            format!("{} steps", whole(job.gradient_accumulation_steps())),
        ));
    }
    if let Some(bytes) = estimate.kv_cache_per_token {
        facts.push(("KV cache of one token", unit.show(bytes)));
    }
    if let Some(compute) = &estimate.compute {
        facts.extend(of_compute(compute));
    }
    facts
}

fn of_compute(compute: &Compute) -> Vec<CostFact> {
    vec![
        ("Tokens in one step", whole(compute.tokens_per_step)),
        ("Steps of the run", whole(compute.steps)),
        ("Compute of the run", format!("{} FLOP", scientific(compute.total.0))),
        ("in PFLOP-days", timing::amount(compute.total.pflop_days())),
        ("by 6 × parameters × tokens", format!("{} FLOP", scientific(compute.six_pd.0))),
        ("Compute-optimal tokens (20 per parameter)", tokens(compute.chinchilla_tokens)),
    ]
}

fn tokens(count: f64) -> String {
    // Compute-optimal tokens are far below the largest count.
    billions(format!("{count:.0}").parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::cost;
    use crate::view::panels::tests::{answers, text};
    use crate::view::ui::Opened;

    #[test]
    fn serving_has_no_compute_but_a_cache() {
        assert!(
            text(&cost(&answers("v1&m=llama3-8b&n=8"), &Opened::default()))
                .contains("Compute of the run")
        );
        let serving = text(&cost(&answers("v1&do=serve&m=llama3-8b&n=1"), &Opened::default()));
        assert!(
            serving.contains("KV cache of one token") && !serving.contains("Compute of the run"),
            "{serving}"
        );
    }

    #[test]
    fn what_learns_is_counted_and_experts_are_said_to_stay() {
        let words = |link| text(&cost(&answers(link), &Opened::default()));
        let lora = words("v1&do=tune&m=mixtral-8x7b&n=8");
        assert!(
            lora.contains("Parameters that learn")
                && lora.contains("those on experts are not modelled"),
            "{lora}"
        );
        assert!(!words("v1&do=tune&m=llama3-8b&n=8").contains("experts"));
        assert!(!words("v1&m=llama3-8b&n=8").contains("Parameters that learn"));
    }

    #[test]
    fn serving_says_what_the_server_prints_and_what_limits_it() {
        let words = |link| text(&cost(&answers(link), &Opened::default()));
        let plain = words("v1&do=serve&m=llama3-8b&n=1");
        for what in [
            "Maximum concurrency",
            "sequences of 8192 tokens",
            "limited by memory",
            "Best weight format that fits",
        ] {
            assert!(plain.contains(what), "{what}: {plain}");
        }
        let asked = words("v1&do=serve&m=llama3-8b&n=1&srv=vllm&usr=1000&len=1500&lenp=4k");
        for what in ["as vLLM takes it", "blocks of 16 tokens", "95 of 100 moments"] {
            assert!(asked.contains(what), "{what}: {asked}");
        }
        let none = words("v1&do=serve&m=llama3-70b&n=1");
        assert!(none.contains("none") && none.contains("GGUF"), "{none}");
    }
}
