//! The planner's panel above the answer: what it does, the form, and what fits with the present
//! layout.

use super::form::{CHOICES, FormInputs, LIMITS, SearchQuestion, applies};
use crate::catalog;
use crate::config::Job;
use crate::estimator::Lengths;
use crate::planner::search::Degree;
use crate::planner::{even_micro_batch, inverse};
use crate::scenario::{FieldId, Mode, Scenario, show};
use crate::stacks::Stack;
use crate::view::action::PlanVerb;
use crate::view::markup::{Html, html};
use crate::view::words::whole;

/// All but the answer.
pub fn panel(scenario: &Scenario, form: &FormInputs) -> Html {
    let Ok(job) = scenario.resolve() else {
        return html! {
            p class="quiet" {
                "An input of the scenario needs a look before layouts can be searched."
            }
        };
    };
    if scenario.mode() == Mode::Serve {
        return [serving(), present(&job)].into_iter().collect();
    }
    html! {
        p class="methods__line quiet" {
            "Works out memory and step time of every valid combination for this training run, and \
             says which are best and why others are not. None is skipped."
        }
        (questions(scenario, form, &job))
        (present(&job))
    }
}

/// A serving scenario has no layouts to search.
fn serving() -> Html {
    html! {
        p class="methods__line" data-testid="plan-serving" {
            "This search lays out training only. How many GPUs a serving instance needs stands \
             beside its curve; to search layouts, switch to Train at the top of the form."
        }
    }
}

fn questions(scenario: &Scenario, form: &FormInputs, job: &Job) -> Html {
    let chosen = if form.is_on("q") { form.text("q") } else { "fewest" };
    let own = job.layout().world_size();
    let numbers: Html = SearchQuestion::KINDS
        .iter()
        .map(|(kind, _, label)| {
            let name = format!("n-{kind}");
            input(
                &name,
                label,
                form,
                &whole(SearchQuestion::usual(kind, own)),
                &format!("plan__for plan__for--{kind}"),
            )
        })
        .collect();
    html! {
        form class="plan__form" data-plan=(PlanVerb::Search) aria-label="What to search" {
            fieldset class="plan__kinds" {
                legend class="sr" { "Question" }
                @for (kind, name, _) in &SearchQuestion::KINDS {
                    label class="plan__kind" {
                        input type="radio" name="q" value=(kind) checked[*kind == chosen];
                        span { (name) }
                    }
                }
            }
            div class="plan__fields" {
                (numbers)
                @for (name, label) in [("days", "Days, at most"), ("price", "Price in $, at most")] {
                    (input(name, label, form, "any", "plan__for plan__for--counts"))
                }
                button type="submit" class="button button--main" data-testid="plan-search" {
                    "Search"
                }
            }
            div class="folds" { (accelerators(scenario, form)) (limits(form, job)) }
        }
    }
}

/// A text field with its label above it; what counts where it is empty stands in it faintly.
fn input(name: &str, label: &str, form: &FormInputs, hint: &str, class: &str) -> Html {
    html! {
        label class={ "field " (class) } {
            span class="field__label" { (label) }
            input class="field__input" type="text" autocomplete="off" spellcheck="false"
                id={ "plan-" (name) } name=(name) placeholder=(hint) value=(form.text(name));
        }
    }
}

fn check(name: &str, label: &str, form: &FormInputs) -> Html {
    html! {
        label class="field__check" {
            input type="checkbox" name=(name) checked[form.is_on(name)];
            span { (label) }
        }
    }
}

/// The catalog's accelerators, each with a price of its own.
fn accelerators(scenario: &Scenario, form: &FormInputs) -> Html {
    let rows: Html = catalog::accelerators()
        .iter()
        .map(|row| {
            let name = format!("price-{}", row.id);
            let price = show(FieldId::PricePerHour, &scenario.price_on(row));
            html! {
                div class="plan__gpu" {
                    (check(&format!("acc-{}", row.id), row.name, form))
                    input class="field__input plan__price" type="text" autocomplete="off"
                        name=(name) aria-label={ "Price per hour of one " (row.name) }
                        placeholder=(price) value=(form.text(&name));
                }
            }
        })
        .collect();
    let ticked: Vec<&str> = catalog::accelerators()
        .iter()
        .filter(|row| form.is_on(&format!("acc-{}", row.id)))
        .map(|row| row.name)
        .collect();
    let state = if ticked.is_empty() { "the scenario's own".to_owned() } else { ticked.join(", ") };
    html! {
        details class="fold" data-key="plan-gpus" {
            summary class="fold__summary" {
                span class="fold__name" { "GPUs to compare" }
                span class="fold__state" { (state) }
            }
            div class="plan__body" {
                p class="quiet" {
                    "Each that is ticked is searched, one after the other; with none, the \
                     scenario's own. The price is for one GPU-hour; empty, it is the one that \
                     stands there faintly: yours, a seller's list, or 2 dollars where no list is \
                     known."
                }
                div class="plan__gpus" { (rows) }
            }
        }
    }
}

/// Limits of degrees and further choices.
fn limits(form: &FormInputs, job: &Job) -> Html {
    let fields: Html = LIMITS
        .iter()
        .filter(|(_, degree)| applies(*degree, job))
        .map(|(name, degree)| {
            let hint =
                if *degree == Degree::ExpertTensor { "1 or tensor's" } else { "every divisor" };
            input(name, degree.name(), form, hint, "")
        })
        .collect();
    let stack = LIMITS.iter().any(|(_, degree)| {
        !applies(*degree, job) && matches!(degree, Degree::Context | Degree::Chunks)
    });
    html! {
        details class="fold" data-key="plan-space" data-testid="plan-space" {
            summary class="fold__summary" {
                span class="fold__name" { "What is searched" }
                span class="fold__state" {
                    "every divisor of every degree, all recomputation and sharding"
                }
            }
            div class="plan__body" {
                p class="quiet" { "Values a degree may have, such as 1, 2, 4, 8." }
                div class="plan__limits" { (fields) }
                @if stack {
                    p class="quiet" {
                        "Context and expert parallelism and virtual stages are searched for the \
                         stack "
                        (Stack::names_with_all_degrees())
                        " only."
                    }
                }
                fieldset class="plan__choices" {
                    legend class="quiet" { "Search these too" }
                    @for (name, label) in &CHOICES { (check(name, label, form)) }
                }
            }
        }
    }
}

/// Words behind the largest batch that has room: its unit, or the micro-batch that the global batch
/// allows, so that the number agrees with the one beside the answer.
fn beside(job: &Job, most: u64) -> String {
    let Some(run) = job.training() else { return " sequences at once".to_owned() };
    let even = even_micro_batch(run.global_batch_size, job.layout().d(), most);
    if even == most {
        return String::new();
    }
    let global = whole(run.global_batch_size);
    format!(" (up to {} where the global batch of {global} is shared out evenly)", whole(even))
}

/// The longest sequence and the largest batch that still fit with the present layout.
fn present(job: &Job) -> Html {
    let inverse = inverse(&Lengths::of(job));
    let sequence = match inverse.longest_seq {
        Some(tokens) => format!("sequences of up to {} tokens", whole(tokens)),
        None => "not even one token".to_owned(),
    };
    let per = if job.training().is_some() { "a micro-batch of up to" } else { "up to" };
    let after = inverse.largest_batch.map_or_else(String::new, |most| beside(job, most));
    let words = match (inverse.longest_seq, inverse.largest_batch) {
        (None, None) => "Nothing fits with this layout, not even one token.".to_owned(),
        (_, Some(largest)) => {
            format!("Room with this layout: {sequence}, or {per} {}{after}.", whole(largest))
        }
        (_, None) => format!("Room with this layout: {sequence}; no batch fits."),
    };
    html! {
        p class="methods__line" data-testid="plan-present" {
            (words)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::panel;
    use crate::scenario::codec::decode;
    use crate::view::markup::Html;
    use crate::view::panels::tests::{count, text};
    use crate::worker::plan::form::FormInputs;

    fn of(link: &str, lines: &str) -> Html {
        panel(&decode(link).scenario, &FormInputs::read(lines))
    }

    #[test]
    fn the_form_shows_what_was_typed() {
        let html = of(
            "v1&m=llama3-8b&n=8&ker=megatron",
            "q=at\nn-at=\"9\nmore-offload=on\nacc-h100-80=on",
        );
        assert_eq!(count(&html, "value=\"at\" checked"), 1);
        assert_eq!(count(&html, "value=\"&quot;9\""), 1);
        assert_eq!(count(&html, "name=\"more-offload\" checked"), 1);
        assert_eq!(count(&html, "name=\"acc-h100-80\" checked"), 1);
        assert_eq!(count(&html, "name=\"lim-"), 6, "a model without experts");
        assert_eq!(count(&of("v1&m=mixtral-8x7b&n=8&ker=megatron", ""), "name=\"lim-"), 8);
        let fused = of("v1&m=llama3-8b&n=8", "");
        assert_eq!(count(&fused, "name=\"lim-"), 4);
        assert!(text(&fused).contains("for the stack Megatron-LM only"));
    }

    #[test]
    fn serving_has_a_way_out_instead_of_a_form() {
        let html = of("v1&do=serve&m=llama3-8b&n=1", "");
        assert_eq!(count(&html, "<form"), 0);
        assert!(
            text(&html).contains("switch to Train") && text(&html).contains("sequences at once."),
            "{}",
            text(&html)
        );
        assert!(text(&of("v1&m=llama3-8b&n=8&tp=3", "")).contains("needs a look"));
    }
}
