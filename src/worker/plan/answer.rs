//! The planner's answer as HTML: how far the search is, the answer in sentences, the best layouts,
//! the front, and why not others.

use super::form::{FormInputs, SearchQuestion, SearchRequest};
use super::front::{front, number};
use super::rows::{Best, button, layouts, money, row, table};
use super::{Leg, Plan, basis, layout, why};
use crate::planner::search::{Answer, Found, Watched};
use crate::scenario::{FieldId, Scenario, show};
use crate::units::{MemoryUnit, ceil_u64, grouped};
use crate::view::action::{Action, PlanVerb};
use crate::view::markup::{Html, html};
use crate::view::words::{duration, gpus, model_name, whole};

/// Everything below the form.
pub fn answer(
    plan: Option<&Plan>,
    refused: Option<&str>,
    form: &FormInputs,
    now: &Scenario,
    unit: MemoryUnit,
) -> Html {
    let found = plan.map(Plan::found).unwrap_or_default();
    let status_class =
        if refused.is_some() { "plan__status plan__status--bad" } else { "plan__status" };
    html! {
        div class="plan__answer" data-testid="plan-answer" {
            p class=(status_class) role="status" id="plan-status" tabindex="-1"
                data-testid="plan-status" {
                (status(plan, refused))
            }
            @if let Some(plan) = plan {
                (progress(plan))
                (body(plan, &found, form, now, unit))
            }
        }
    }
}

/// The message to screen readers when a search begins and when it ends. In between it stays as it
/// is, so that nobody is talked over.
fn status(plan: Option<&Plan>, refused: Option<&str>) -> String {
    let Some(plan) = plan else { return refused.unwrap_or_default().to_owned() };
    if plan.runs() {
        return "Searching.".to_owned();
    }
    let seconds = duration(plan.busy_ms / 1000.0);
    let work = format!(
        "{} layouts in {seconds}, {} a second",
        whole(plan.considered()),
        whole(rounded(plan.rate()))
    );
    if plan.stopped {
        let share = grouped(100.0 * plan.share(), 0);
        return format!(
            "Cancelled after {share} %: {work}. What stands here is the answer so far; search \
             again for all of it."
        );
    }
    format!("Finished: {work}.")
}

/// A rate to three places.
fn rounded(rate: f64) -> u64 {
    let whole = ceil_u64(rate);
    let step = whole
        .checked_ilog10()
        .and_then(|digits| 10_u64.checked_pow(digits.saturating_sub(2)))
        .unwrap_or(1);
    whole / step * step
}

/// How far it is, and the button that ends it; nothing once it has ended.
fn progress(plan: &Plan) -> Html {
    if !plan.runs() {
        return Html::new();
    }
    let share = plan.share();
    let leg = plan.legs.get(plan.at).filter(|_| plan.legs.len() > 1);
    html! {
        div class="plan__progress" {
            progress max="1" value=(format!("{share:.3}"))
                aria-label="Share of the search that is done" {}
            span {
                @if let Some(leg) = leg { (leg.name) ": " }
                (grouped(100.0 * share, 0))
                " %, "
                (whole(plan.considered()))
                " layouts, "
                (whole(rounded(plan.rate())))
                " a second"
            }
            button type="button" class="button" data-do=(Action::Plan(PlanVerb::Stop)) data-testid="plan-stop" {
                "Cancel"
            }
        }
    }
}

fn body(
    plan: &Plan,
    found: &[(&Leg, Answer)],
    form: &FormInputs,
    now: &Scenario,
    unit: MemoryUnit,
) -> Html {
    let overview = match plan.asked.question {
        SearchQuestion::Family(count) => family(found, plan, count, now, unit),
        _ => compared(found, plan, now, unit),
    };
    let picture = front(found, &plan.asked, now, unit);
    let filter =
        found.iter().any(|(_, answer)| !answer.why_not.is_empty()).then(|| why::filter(form));
    let content: Html = match found {
        // One search: its sentences and layouts, the front of its counts, and why not others.
        [one] if plan.legs.len() == 1 => {
            let reasons = filter.map(|filter| {
                let table = why::table(&one.1, form, unit);
                html! {
                    h3 class="plan__heading" { "Why not other layouts" }
                    (filter)
                    (table)
                }
            });
            [Some(best_of(one, plan, now, unit)), Some(picture), reasons]
                .into_iter()
                .flatten()
                .collect()
        }
        _ => {
            let legs = found.iter().map(|found| leg(found, plan, form, now, unit)).collect();
            let heading = html! { h3 class="plan__heading" { "Each in detail" } };
            [Some(picture), Some(heading), filter, Some(legs)].into_iter().flatten().collect()
        }
    };
    html! {
        @if plan.basis != basis(now) {
            p class="plan__stale" data-testid="plan-stale" {
                "This answer is for an earlier scenario. "
                button type="button" class="link" data-do=(Action::Plan(PlanVerb::Search)) { "Search \
                    again" }
            }
        }
        (overview)
        (content)
        (searched(found, &plan.asked))
    }
}

/// The searched space in words, and the version of space and rules.
fn searched(found: &[(&Leg, Answer)], asked: &SearchRequest) -> Html {
    let Some((_, answer)) = found.first() else { return Html::new() };
    html! {
        p class="plan__space quiet" data-testid="plan-searched" {
            "Searched, in version "
            (answer.version)
            " of the space: "
            (answer.space)
            ". "
            @if matches!(asked.question, SearchQuestion::UpTo(_)) {
                "Counts are powers of two within a node, then whole nodes, eight or more for \
                 every doubling, and the last one. "
            }
            "Memory is the estimate's, to the byte; time is modelled; every GPU-hour costs the \
             same whatever the layout."
        }
    }
}

/// Sentences and best layouts of one leg.
fn best_of((leg, answer): &(&Leg, Answer), plan: &Plan, now: &Scenario, unit: MemoryUnit) -> Html {
    let capacity = leg.job.cluster().accelerator.memory;
    let best = best(answer, &plan.asked);
    html! {
        p class="plan__words" data-testid="plan-words" { (answer.words(capacity, unit)) }
        @if let Some(text) = bounds(answer, &plan.asked) { p class="plan__words" { (text) } }
        @if !best.is_empty() { (layouts(leg, &best, now, unit)) }
        @if let Some(watched) = answer.watched.first() { (present(watched, unit)) }
    }
}

/// The answer for the present layout: whether it fits, and its rank among the layouts that were
/// found.
fn present(watched: &Watched, unit: MemoryUnit) -> Html {
    let outcome = match &watched.outcome {
        Ok(found) => {
            let layouts = |count: u64, what: &str| match count {
                0 => format!("none on {} is {what}", gpus(found.gpus)),
                1 => format!("1 layout is {what}"),
                count => format!("{} layouts are {what}", whole(count)),
            };
            let faster = found
                .seconds
                .map(|_| format!("{} and ", layouts(watched.faster, "faster")))
                .unwrap_or_default();
            format!("fits; {faster}{}", layouts(watched.leaner, "leaner"))
        }
        Err(why) => why::sentence(why, unit),
    };
    html! {
        p class="quiet" data-testid="plan-rank" {
            "The scenario's own layout when it was searched, "
            (layout::words(&watched.choice))
            ": "
            (outcome)
            "."
        }
    }
}

/// One leg of several: sentences, its best layouts, and why not others.
fn leg(
    found: &(&Leg, Answer),
    plan: &Plan,
    form: &FormInputs,
    now: &Scenario,
    unit: MemoryUnit,
) -> Html {
    let (leg, answer) = found;
    html! {
        details class="fold" data-key={ "leg-" (leg.name) } {
            summary class="fold__summary" {
                span class="fold__name" { (leg.name) }
                span class="fold__state" {
                    (whole(answer.fitting()))
                    " of "
                    (whole(answer.considered()))
                    " layouts fit"
                }
            }
            div class="plan__body" {
                (best_of(found, plan, now, unit))
                (why::table(answer, form, unit))
            }
        }
    }
}

// ---- the best ----

/// True if days and price stay within what was asked for.
pub fn within(found: &Found, asked: &SearchRequest) -> bool {
    let holds = |most: Option<f64>, value: Option<f64>| {
        most.is_none_or(|most| value.is_some_and(|value| value <= most))
    };
    holds(asked.days, found.days) && holds(asked.price, found.cost)
}

/// The best layouts of one leg; a layout that is best at several things is listed once.
fn best<'a>(answer: &'a Answer, asked: &SearchRequest) -> Vec<Best<'a>> {
    let fastest = || {
        answer
            .counts
            .iter()
            .filter_map(|count| count.fastest.as_ref())
            .filter(|found| within(found, asked))
    };
    let least = |of: fn(&Found) -> Option<f64>| {
        fastest().min_by(|a, b| {
            of(a).unwrap_or(f64::INFINITY).total_cmp(&of(b).unwrap_or(f64::INFINITY))
        })
    };
    let fewest = match asked.question {
        SearchQuestion::UpTo(_) if asked.days.is_some() || asked.price.is_some() => {
            ("Fewest GPUs within bounds", fastest().next())
        }
        SearchQuestion::UpTo(_) | SearchQuestion::Fewest(_) => {
            ("Fewest GPUs, leanest", answer.smallest())
        }
        SearchQuestion::At(_) | SearchQuestion::Family(_) => ("Leanest", answer.smallest()),
    };
    let mut all: Vec<Best<'a>> = Vec::new();
    for (name, found) in [
        fewest,
        ("Fastest", least(|found| found.days.or(found.seconds))),
        ("Cheapest", least(|found| found.cost)),
    ] {
        let Some(found) = found else { continue };
        match all.iter_mut().find(|best| best.found == Some(found)) {
            Some(best) => best.name = format!("{}, {}", best.name, name.to_ascii_lowercase()),
            None => all.push(Best { name: name.to_owned(), found: Some(found) }),
        }
    }
    all
}

/// A sentence with the smallest count within the bounds, or with the nearest ones where no count
/// is; `None` without bounds.
fn bounds(answer: &Answer, asked: &SearchRequest) -> Option<String> {
    let wanted: Vec<String> = [
        asked.days.map(|days| format!("{} days", number(days))),
        asked.price.map(|price| format!("a price of {}", money(price))),
    ]
    .into_iter()
    .flatten()
    .collect();
    if wanted.is_empty() {
        return None;
    }
    let wanted = wanted.join(" and ");
    let fastest = || answer.counts.iter().filter_map(|count| count.fastest.as_ref());
    if let Some(found) = fastest().find(|found| within(found, asked)) {
        return Some(format!("Within {wanted}, {} is the smallest count.", gpus(found.gpus)));
    }
    let by = |of: fn(&Found) -> Option<f64>| {
        fastest()
            .filter(|found| of(found).is_some())
            .min_by(|a, b| of(a).unwrap_or(0.0).total_cmp(&of(b).unwrap_or(0.0)))
    };
    let (quick, cheap) = (by(|found| found.days)?, by(|found| found.cost)?);
    Some(format!(
        "No count stays within {wanted}: the shortest training takes {} days on {}, the cheapest \
         costs {} on {}. Allow more of one.",
        number(quick.days.unwrap_or_default()),
        gpus(quick.gpus),
        money(cheap.cost.unwrap_or_default()),
        gpus(cheap.gpus)
    ))
}

/// The layout of a leg that an overview shows.
fn of_leg<'a>(answer: &'a Answer, asked: &SearchRequest) -> Option<&'a Found> {
    let fastest = || {
        answer
            .counts
            .iter()
            .filter_map(|count| count.fastest.as_ref())
            .filter(|found| within(found, asked))
    };
    match asked.question {
        SearchQuestion::Fewest(_) => answer.smallest(),
        SearchQuestion::UpTo(_) => fastest().min_by(|a, b| {
            a.cost.unwrap_or(f64::INFINITY).total_cmp(&b.cost.unwrap_or(f64::INFINITY))
        }),
        SearchQuestion::At(_) | SearchQuestion::Family(_) => fastest().next(),
    }
    .or_else(|| answer.smallest())
}

/// Accelerators side by side; nothing for one.
fn compared(found: &[(&Leg, Answer)], plan: &Plan, now: &Scenario, unit: MemoryUnit) -> Html {
    if plan.legs.len() < 2 {
        return Html::new();
    }
    let rows = overview(found, plan, now, unit);
    let about = match plan.asked.question {
        SearchQuestion::Fewest(_) => "Fewest of each",
        SearchQuestion::UpTo(_) => "Cheapest with each",
        _ => "Fastest with each",
    };
    let price = |leg: &Leg| {
        let price = leg.scenario.get(FieldId::PricePerHour);
        format!("{} ${}", leg.name, show(FieldId::PricePerHour, &price))
    };
    let prices: Vec<String> = found.iter().map(|(leg, _)| price(leg)).collect();
    html! {
        h3 class="plan__heading" { (about) }
        (table("GPU", "plan-compared", unit, &rows))
        p class="quiet" { "Prices of a GPU-hour: " (prices.join(", ")) "." }
    }
}

/// One row for each leg: its best layout, or that there is none.
fn overview(found: &[(&Leg, Answer)], plan: &Plan, now: &Scenario, unit: MemoryUnit) -> Html {
    let none = |leg: &Leg, answer: &Answer| {
        let words = if answer.fitting() > 0 {
            "none within the bounds".to_owned()
        } else {
            answer.words(leg.job.cluster().accelerator.memory, unit)
        };
        html! {
            tr {
                th scope="row" { (leg.name) }
                td colspan="8" { (words) }
            }
        }
    };
    let line = |(leg, answer): &(&Leg, Answer)| match of_leg(answer, &plan.asked)
        .filter(|found| within(found, &plan.asked))
    {
        Some(found) => {
            row(&leg.name, leg, found, now, unit, &button(leg, found, now, &Best::plain(&leg.name)))
        }
        None => none(leg, answer),
    };
    found.iter().map(line).collect()
}

/// The largest model of the family that fits, and those that do not.
fn family(
    found: &[(&Leg, Answer)],
    plan: &Plan,
    count: u64,
    now: &Scenario,
    unit: MemoryUnit,
) -> Html {
    let name = plan
        .basis
        .model()
        .filter(|_| !plan.basis.is_pasted())
        .map_or_else(|| model_name(now), |row| row.family.to_owned());
    let fits = found.iter().find(|(_, answer)| answer.fitting() > 0);
    let words = match fits {
        Some((leg, _)) => {
            format!(
                "{} is the largest of {name} that {} can train, by search over every layout.",
                leg.name,
                gpus(count)
            )
        }
        None if plan.runs() => {
            format!("No model of {name} that was tried so far fits on {}.", gpus(count))
        }
        None => format!(
            "No model of {name} fits on {}. Allow more GPUs, or choose one with more memory.",
            gpus(count)
        ),
    };
    html! {
        p class="plan__words" data-testid="plan-family" { (words) }
        (table("Model, fastest layout", "plan-compared", unit, &overview(found, plan, now, unit)))
    }
}

#[cfg(test)]
mod tests {
    use super::rounded;
    use crate::view::markup::Html;
    use crate::view::panels::tests::{count, text};
    use crate::worker::plan::Desk;
    use crate::worker::plan::tests::{LINK, finish, say};

    fn asked(link: &str, lines: &str) -> Html {
        let mut desk = Desk::default();
        say(&mut desk, 1, link, &format!("search\n{lines}"));
        Html::made(finish(&mut desk).0.html)
    }

    #[test]
    fn the_best_layouts_come_with_buttons() {
        let html = asked(LINK, "q=at");
        assert!(
            count(&html, "Use this layout") >= 2 && count(&html, "data-testid=\"plan-best\"") == 1
        );
        let words = text(&html);
        for part in [
            "Leanest",
            "Fastest, cheapest",
            "The scenario's own layout when it was searched, DP 8, FSDP",
            "GPUs can run it with",
            "version 1 of the space",
            "layouts in",
            "a second",
        ] {
            assert!(words.contains(part), "{part}: {words}");
        }
    }

    #[test]
    fn the_fewest_come_with_what_blocks_one_fewer() {
        let words = text(&asked("v1&m=llama3-70b&n=8&ker=megatron&gb=64", "q=fewest\nn-fewest=64"));
        assert!(
            words.contains("GPUs can run it") && words.contains("the nearest miss is"),
            "{words}"
        );
        let none = text(&asked("v1&m=llama3-70b&n=8&ker=megatron&gb=64", "q=fewest\nn-fewest=2"));
        assert!(none.contains("No layout fits. With 2 GPUs the nearest miss is"), "{none}");
    }

    #[test]
    fn bounds_choose_among_the_counts_or_say_how_far_they_are() {
        let all = "q=counts\nn-counts=64";
        let loose = text(&asked(LINK, &format!("{all}\nprice=1e12")));
        assert!(
            loose.contains("Within a price of $1000000000000")
                || loose.contains("is the smallest count"),
            "{loose}"
        );
        let tight = text(&asked(LINK, &format!("{all}\ndays=0.001")));
        assert!(
            tight.contains("No count stays within 0.001 days")
                && tight.contains("Allow more of one"),
            "{tight}"
        );
    }

    #[test]
    fn several_accelerators_stand_side_by_side() {
        let html = asked(LINK, "q=fewest\nacc-a100-80=on\nacc-h100-80=on\nacc-t4=on");
        assert_eq!(count(&html, "data-testid=\"plan-compared\""), 1);
        assert_eq!(count(&html, "data-key=\"leg-"), 3);
        assert!(text(&html).contains("A100 SXM4 80GB"));
    }

    #[test]
    fn rates_have_three_places() {
        assert_eq!([0.0, 7.2, 999.0, 412_345.6].map(rounded), [0, 8, 999, 412_000]);
    }
}
