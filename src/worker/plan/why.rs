//! Why layouts were rejected: each reason with its count and an example, filtered by words and by
//! kind.

use super::form::FormInputs;
use super::layout;
use crate::planner::search::{Answer, Reason, WhyNot};
use crate::units::{Bytes, MemoryUnit, Scale, grouped, to_f64};
use crate::view::action::PlanVerb;
use crate::view::markup::{Html, html};
use crate::view::words::{upper_first, whole};
use crate::worker::timeline::words as kind_words;

/// Kinds of reasons: word and name.
const KINDS: [(&str, &str); 3] =
    [("all", "Rules and memory"), ("rule", "Rules alone"), ("memory", "Memory alone")];

/// A reason in words, and the word of its kind.
fn of(why: &WhyNot) -> (String, &'static str) {
    match &why.reason {
        Reason::Rule(rule) => (rule.to_string(), "rule"),
        Reason::Memory(kind) => (format!("memory overflows with {}", kind_words(*kind)), "memory"),
    }
}

/// A reason in one clause, with what is missing.
pub fn sentence(why: &WhyNot, unit: MemoryUnit) -> String {
    let (words, _) = of(why);
    match why.short {
        Some(short) => format!("{words}, {} {unit} short", amount(short, unit)),
        None => words,
    }
}

fn amount(short: Bytes, unit: MemoryUnit) -> String {
    Scale::of(unit, short, Bytes::ZERO).show(short)
}

/// The inputs that filter the tables of all legs.
pub fn filter(form: &FormInputs) -> Html {
    html! {
        div class="plan__filter" {
            label class="field" {
                span class="field__label" { "Reasons that contain" }
                input class="field__input" type="text" autocomplete="off" spellcheck="false"
                    name="why" data-plan=(PlanVerb::Show) placeholder="pipeline" value=(form.text("why"))
                    data-testid="plan-why-text";
            }
            label class="field" {
                span class="field__label" { "Kind" }
                span class="field__box field__box--select" {
                    select class="field__input" name="kind" data-plan=(PlanVerb::Show)
                        data-testid="plan-why-kind" {
                        @for (word, name) in &KINDS {
                            option value=(word) selected[*word == form.text("kind")] { (name) }
                        }
                    }
                }
            }
        }
    }
}

/// One leg's rejected layouts; nothing where none was.
pub fn table(answer: &Answer, form: &FormInputs, unit: MemoryUnit) -> Html {
    if answer.why_not.is_empty() {
        return Html::new();
    }
    let (wanted, kind) = (form.text("why").to_lowercase(), form.text("kind"));
    let all: u64 = answer.why_not.iter().map(|why| why.count).sum();
    let shown = |why: &&WhyNot| {
        let (words, own) = of(why);
        (kind.is_empty() || kind == "all" || kind == own)
            && (wanted.is_empty()
                || words.to_lowercase().contains(&wanted)
                || layout::words(&why.example).to_lowercase().contains(&wanted))
    };
    let rows: Html = answer.why_not.iter().filter(shown).map(|why| row(why, all, unit)).collect();
    let rows = if rows.is_empty() {
        html! {
            tr {
                td colspan="5" class="quiet" {
                    "No reason matches this filter. Empty it to see all "
                    (whole(len(answer)))
                    "."
                }
            }
        }
    } else {
        rows
    };
    html! {
        div class="methods__scroll" tabindex="0" role="region"
            aria-label="Why other layouts were rejected" {
            table class="table plan__why" data-testid="plan-why" {
                caption class="plan__caption" {
                    (whole(all))
                    " layouts were rejected; each counts under its first reason."
                }
                thead {
                    tr {
                        th scope="col" { "Reason" }
                        th scope="col" { "Kind" }
                        th scope="col" class="num" { "Layouts" }
                        th scope="col" { "One of them" }
                        th scope="col" class="num" { "Short of" }
                    }
                }
                tbody { (rows) }
            }
        }
    }
}

fn len(answer: &Answer) -> u64 {
    u64::try_from(answer.why_not.len()).unwrap_or(u64::MAX)
}

fn row(why: &WhyNot, all: u64, unit: MemoryUnit) -> Html {
    let (words, kind) = of(why);
    let words = upper_first(&words);
    let short =
        why.short.map_or_else(|| "–".to_owned(), |short| format!("{} {unit}", amount(short, unit)));
    let share = 100.0 * to_f64(why.count) / to_f64(all.max(1));
    html! {
        tr {
            th scope="row" { (words) }
            td { span class="tag" { (kind) } }
            td class="num" {
                (whole(why.count))
                span class="plan__share" { " " (grouped(share, usize::from(share < 9.95))) " %" }
            }
            td { (layout::words(&why.example)) }
            td class="num" { (short) }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::worker::plan::Desk;
    use crate::worker::plan::tests::{finish, say};

    #[test]
    fn the_filter_needs_no_further_search() {
        let link = "v1&m=llama3-70b&n=16&ker=megatron&gb=16";
        let mut desk = Desk::default();
        say(&mut desk, 1, link, "search\nq=at");
        let all = finish(&mut desk).0.html;
        let rows = |html: &str| {
            html.split("data-testid=\"plan-why\"")
                .nth(1)
                .map_or(0, |table| table.matches("<tr>").count() - 1)
        };
        let rules = say(&mut desk, 2, link, "show\nq=at\nkind=rule");
        let memory = say(&mut desk, 3, link, "show\nq=at\nkind=memory");
        assert!(!rules.more && rows(&rules.html) > 2 && rows(&memory.html) > 1);
        assert_eq!(rows(&rules.html) + rows(&memory.html), rows(&all));
        let layers = say(&mut desk, 4, link, "show\nq=at\nwhy=LAYERS");
        assert!(rows(&layers.html) < rows(&all) && layers.html.contains("value=\"LAYERS\""));
        assert!(say(&mut desk, 5, link, "show\nwhy=<nothing>").html.contains("No reason matches"));
    }
}
