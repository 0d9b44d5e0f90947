//! The answer: one sentence, the margin, and the two GPU counts.

use crate::estimator::Verdict as Answer;
use crate::planner::UsersAnswer;
use crate::scenario::{FieldError, FieldId, field};
use crate::view::action::Action;
use crate::view::answers::{Answers, Standing};
use crate::view::explaining::{behind, button, place};
use crate::view::headline::{Headline, replicas_of};
use crate::view::markup::{Html, html};
use crate::view::panels::card::card;
use crate::view::panels::remarks::remarks;
use crate::view::serving::Counts;
use crate::view::ui::{FromWorkers, Opened};
use crate::view::words::{self, about, gpus, hardware, tone, upper_first, verdict_word};
use crate::view::{following, timing};

/// The tinted band with the answer: the scenario's, an earlier one's that steps back, or what
/// forbids one.
pub fn verdict(
    answers: &Answers,
    standing: Standing,
    found: &FromWorkers,
    opened: &Opened,
) -> Html {
    let said = found.headline(answers);
    match standing {
        Standing::Present => {
            answer(answers, (found, opened), &said, (tone(said.verdict), &Html::new()))
        }
        Standing::Earlier => {
            answer(answers, (found, opened), &said, (EARLIER, &last_valid(answers)))
        }
        Standing::Nothing => refused(answers),
    }
}

/// The tone of an answer that is no longer the scenario's: also a class name.
const EARLIER: &str = "earlier";

/// The sentence and the margin in that tone. `note`: whose they are, where they are not the
/// scenario's; else empty.
fn answer(
    answers: &Answers,
    (found, opened): (&FromWorkers, &Opened),
    said: &Headline,
    (tone, note): (&str, &Html),
) -> Html {
    let estimate = &answers.estimate;
    let blocker = estimate.blockers.first().filter(|_| said.verdict == Answer::CannotRun);
    html! {
        div class={ "verdict tone--" (tone) } data-own="verdict" data-testid="verdict" {
            div {
                h1 class="verdict__sentence" {
                    span class="verdict__word" { (said.word) }
                    " "
                    (unbroken(&said.sentence, &said.name))
                }
                @if let Some(blocker) = blocker {
                    p class="verdict__why" { (upper_first(&blocker.to_string())) "." }
                }
                (counts(answers, found, opened))
            }
            p class="verdict__margin" {
                span class="verdict__figure" {
                    (said.margin.number)
                    " "
                    span class="verdict__unit" { (said.margin.unit) }
                }
                span class="verdict__caption" {
                    @if said.margin.of_memory {
                        (behind(&said.margin.caption, opened, "margin", "what is left or missing"))
                    } @else {
                        (said.margin.caption)
                    }
                }
            }
            @if let Some(card) = card(answers, opened) { (card) }
            (remarks(&answers.scenario))
            (note)
            (place(opened, "margin"))
            (place(opened, ARITHMETIC))
            (place(opened, RUNNABLE))
        }
    }
}

/// Says that the answer is an earlier one's, with the way to the field that is in its way, if a
/// field is.
fn last_valid(answers: &Answers) -> Html {
    if answers.waits() {
        return html! {
            p class="verdict__stale" data-testid="stale" {
                "Last valid answer: what the new one needs is being fetched, and it follows."
            }
        };
    }
    html! {
        p class="verdict__stale" data-testid="stale" {
            "Last valid answer: "
            button type="button" class="link" data-do=(Action::GoToRed(None)) { "correct the red \
                field" }
        }
    }
}

/// The card of a scenario that has no answer: what is wrong with it, and how to mend it. No figure
/// stands on it.
fn refused(answers: &Answers) -> Html {
    let sentence = format!("{} has no answer.", about(&answers.scenario));
    html! {
        div class="verdict verdict--refused tone--bad" data-own="verdict" data-testid="verdict" {
            div {
                h1 class="verdict__sentence" {
                    span class="verdict__word" { (refusal(answers)) }
                    " "
                    (unbroken(&sentence, &hardware(&answers.scenario)))
                }
                ul class="verdict__problems" data-testid="refused" {
                    @for item in &answers.problems { (problem(item)) }
                }
            }
        }
    }
}

/// The first words where there is no answer.
fn refusal(answers: &Answers) -> &'static str {
    let unlisted = [FieldId::Model, FieldId::Accelerator]
        .into_iter()
        .any(|id| answers.scenario.is_unlisted(id));
    if unlisted { "Not in the list." } else { "Not possible like this." }
}

/// One problem with its way out, and the way to its field.
fn problem(problem: &FieldError) -> Html {
    let field = field(problem.field);
    html! {
        li {
            (problem.message)
            " "
            span class="verdict__ways" {
                @if let Some((words, _)) = problem.way_out.as_ref() {
                    button type="button" class="button" data-do=(Action::Repair(field.id)) {
                        (words)
                    }
                    " "
                }
                button type="button" class="link" aria-label={ "Go to the field " (field.label) }
                    data-do=(Action::GoToRed(Some(field.id))) {
                    "Go to the field"
                }
            }
        }
    }
}

/// A sentence with a name in it that stays on one line where there is room for it.
fn unbroken(sentence: &str, name: &str) -> Html {
    let (before, after) = sentence.split_once(name).unwrap_or((sentence, ""));
    html! {
        (before)
        span class="verdict__name" { (name) }
        (after)
    }
}

const ARITHMETIC: &str = "gpus/arithmetic";
const RUNNABLE: &str = "gpus/runnable";

/// The two answers to "how many": a division, and what can really run; where users are stated, what
/// carries them.
fn counts(answers: &Answers, told: &FromWorkers, opened: &Opened) -> Html {
    let found = answers.users();
    let counts = Counts::of(&answers.job, &answers.count, found);
    let counts =
        told.told(answers).map_or(counts.clone(), |limits| limits.counts(&answers.count, counts));
    let explained = if found.is_some() {
        "the first count that carries the users"
    } else {
        "the first count that works"
    };
    html! {
        p class="verdict__more" {
            (counts.by_memory)
            span class="joined" {
                b data-testid="gpu-arithmetic" { (counts.arithmetic) }
                ";"
                (button(opened, ARITHMETIC, "the count by memory alone"))
            }
            " "
            (counts.introduced)
            ": "
            span class="joined" {
                b data-testid="gpu-runnable" { (counts.smallest) }
                "."
                (button(opened, RUNNABLE, explained))
            }
            " "
            span data-testid="gpu-reason" { (counts.reason) }
            @if let Some(take) = found.and_then(take) { (take) }
        }
    }
}

/// One click to the fewest GPUs that carry the users, where the scenario has others.
fn take(found: &UsersAnswer) -> Option<Html> {
    let fewest = following::adoptable(found)?;
    let degrees = format!("{}, {}", gpus(fewest.gpus), replicas_of(fewest));
    Some(html! {
        " "
        button type="button" class="button verdict__use" data-testid="use-users" data-do=(Action::UseUsers)
            aria-label={ "Use this: " (degrees) } {
            "Use this"
        }
    })
}

/// The answer in one line, for the top of a phone's screen.
pub fn strip(answers: &Answers, standing: Standing, found: &FromWorkers) -> Html {
    let said = found.headline(answers);
    let (tone, word, rest) = match standing {
        Standing::Present => (tone(said.verdict), verdict_word(said.verdict), said.short),
        Standing::Earlier => (EARLIER, "Last valid answer:", said.short),
        Standing::Nothing => ("bad", refusal(answers), String::new()),
    };
    html! {
        div class="strip" data-own="strip" aria-hidden="true" {
            div class={ "strip__line tone--" (tone) } {
                span class="strip__word" { (word) }
                span class="strip__rest number" { (rest) }
            }
        }
    }
}

/// The answer as screen readers announce it.
pub fn spoken(answers: &Answers, standing: Standing, found: &FromWorkers) -> String {
    let whole = || {
        let said = found.headline(answers);
        let remarks: String = words::remarks(&answers.scenario)
            .iter()
            .flat_map(|remark| [" ".to_owned(), remark.plain()])
            .collect();
        let margin = said.margin;
        let card = timing::card(&answers.job, &answers.estimate, answers.timing());
        let beside =
            card.map_or_else(String::new, |figures| format!(" {}.", timing::spoken(&figures)));
        format!(
            "{} {} {} {} {}.{beside}{remarks}",
            said.word, said.sentence, margin.number, margin.unit, margin.caption
        )
    };
    match standing {
        Standing::Present => whole(),
        Standing::Earlier if answers.waits() => "The answer follows.".to_owned(),
        Standing::Earlier => format!("A field needs correction. Last valid answer: {}", whole()),
        Standing::Nothing => {
            let problems: Vec<&str> =
                answers.problems.iter().map(|problem| problem.message.as_str()).collect();
            format!(
                "{} {} has no answer. {}",
                refusal(answers),
                about(&answers.scenario),
                problems.join(" ")
            )
        }
    }
}

#[cfg(test)]
mod tests {

    use crate::estimator::EnginePart;
    use crate::scenario::codec::{self, decode};
    use crate::scenario::{FieldId, field};
    use crate::view::answers::{Answers, Standing};
    use crate::view::following;
    use crate::view::history::UndoStep;
    use crate::view::markup::Html;
    use crate::view::panels::tests::{answers, count, text};
    use crate::view::ui::{Drafts, Ui, Unread};
    use crate::view::words::{gpus, margin};

    /// Whose the answer is on a page in that state.
    fn standing(answers: &Answers, ui: &Ui) -> Standing {
        answers.standing_with(!ui.drafts.unread.is_empty())
    }

    fn verdict(answers: &Answers, ui: &Ui) -> Html {
        super::verdict(answers, standing(answers, ui), &ui.found, &ui.opened)
    }

    fn strip(answers: &Answers, ui: &Ui) -> Html {
        super::strip(answers, standing(answers, ui), &ui.found)
    }

    fn spoken(answers: &Answers, ui: &Ui) -> String {
        super::spoken(answers, standing(answers, ui), &ui.found)
    }

    #[test]
    fn the_answer_says_verdict_margin_and_counts() {
        let words = text(&verdict(&answers("v1&m=llama3-8b&n=8"), &Ui::default()));
        assert!(words.starts_with("Fits. Training Llama 3 8B on 8 × H100 SXM5"), "{words}");
        assert!(
            words.contains("free on each GPU") && words.contains("By memory alone at least"),
            "{words}"
        );
        assert!(!words.contains("Last valid answer"), "{words}");
    }

    #[test]
    fn a_training_says_its_time_and_its_money() {
        let page = verdict(&answers("v1&m=llama3-8b&n=8"), &Ui::default());
        let words = text(&page);
        for what in [
            "One step ",
            " s",
            "The run ",
            " days",
            "1.00 T tokens",
            "Cost of the run $",
            "at $2.00 per GPU-hour",
        ] {
            assert!(words.contains(what), "{what}: {words}");
        }
        assert_eq!(count(&page, "data-do=\"open:why/card/"), 3);
        let heard = spoken(&answers("v1&m=llama3-8b&n=8"), &Ui::default());
        assert!(heard.contains("One step ") && heard.contains("Cost of the run $"), "{heard}");
        // Without enough memory the figures say so; a layout that no rule allows has none.
        assert!(
            text(&verdict(&answers("v1&m=llama3-70b&n=8"), &Ui::default()))
                .contains("with enough memory")
        );
        let blocked = verdict(&answers("v1&m=llama3-8b&n=24"), &Ui::default());
        assert_eq!(count(&blocked, "data-testid=\"load\""), 0, "{}", text(&blocked));
        let unknown = text(&verdict(&answers("v1&m=llama3-8b&n=8&gpu=m3-ultra"), &Ui::default()));
        assert!(unknown.contains("No time and cost"), "{unknown}");
    }

    #[test]
    fn the_hardware_s_name_is_not_broken() {
        let page = verdict(&answers("v1&m=llama3-8b&n=8"), &Ui::default());
        assert!(
            page.as_str().contains(r#"on <span class="verdict__name">8 × H100 SXM5</span> takes"#),
            "{}",
            page.as_str()
        );
    }

    /// The page as it is when the last link was opened and the next one came of changing fields.
    fn changed(first: &str, next: &str) -> Answers {
        let said = |link: &str| UndoStep { scenario: decode(link).scenario, compare: Vec::new() };
        Answers::of(&said(next), Some(Answers::of(&said(first), None).0)).0
    }

    /// True if any part of it has the tone of a fitting answer.
    fn is_green(page: &Html) -> bool {
        count(page, "tone--good") > 0
    }

    #[test]
    fn a_field_that_cannot_be_read_makes_it_the_last_valid_answer() {
        let unread = Unread {
            field: FieldId::SeqLength,
            text: "x".to_owned(),
            message: "No number.".to_owned(),
        };
        let ui =
            Ui { drafts: Drafts { unread: vec![unread], ..Drafts::default() }, ..Ui::default() };
        let answers = answers("v1&m=llama3-8b&n=8");
        assert!(
            is_green(&verdict(&answers, &Ui::default()))
                && is_green(&strip(&answers, &Ui::default()))
        );
        let page = verdict(&answers, &ui);
        assert!(
            text(&page).contains("Last valid answer: correct the red field"),
            "{}",
            text(&page)
        );
        assert_eq!((count(&page, "data-do=\"red\""), count(&page, "tone--earlier")), (1, 1));
        assert!(!is_green(&page) && !is_green(&strip(&answers, &ui)));
        assert!(text(&strip(&answers, &ui)).starts_with("Last valid answer:"));
        assert!(
            spoken(&answers, &ui).starts_with(
                "A field needs correction. Last valid answer: Fits. Training Llama 3 8B"
            )
        );
    }

    #[test]
    fn a_problem_that_was_typed_leaves_the_last_valid_answer() {
        let answers = changed("v1&m=llama3-8b&n=8", "v1&m=llama3-8b&n=8&tp=3");
        let (page, strip) = (verdict(&answers, &Ui::default()), strip(&answers, &Ui::default()));
        assert!(text(&page).contains("Training Llama 3 8B on 8 × H100 SXM5"), "{}", text(&page));
        assert!(text(&page).contains("Last valid answer: correct the red field"));
        assert!(!is_green(&page) && !is_green(&strip));
    }

    #[test]
    fn a_link_that_is_impossible_has_a_card_without_an_answer() {
        for (link, words) in [
            (
                "v1&m=llama3-70b&tp=3",
                "Not possible like this. Training Llama 3 70B on 8 × H100 SXM5 has no answer.",
            ),
            (
                "v1&m=llama3-8b&fam=generic&n=8&mx=mamba",
                "Not possible like this. Training Generic decoder",
            ),
            ("v1&m=llama3-7", "Not in the list. Training llama3-7 on 8 × H100 SXM5 has no answer."),
            (
                "v1&m=llama3-70b&gpu=k80",
                "Not in the list. Training Llama 3 70B on 8 × k80 has no answer.",
            ),
        ] {
            let answers = answers(link);
            let (page, strip) =
                (verdict(&answers, &Ui::default()), strip(&answers, &Ui::default()));
            let said = text(&page);
            assert!(said.starts_with(words), "{link}: {said}");
            assert!(
                !said.contains("Llama 3 8B on") && !said.contains("GiB") && !said.contains("Fits"),
                "{link}: {said}"
            );
            assert!(!is_green(&page) && !is_green(&strip) && count(&strip, "GiB") == 0, "{link}");
            assert_eq!(answers.problems.len(), 1, "{link}: {:?}", answers.problems);
            let problem = &answers.problems[0];
            let key = field(problem.field).key;
            let (way_out, _) = problem.way_out.as_ref().expect("a way out");
            assert!(
                said.contains(&problem.message) && said.contains(way_out.as_str()),
                "{link}: {said}"
            );
            assert_eq!(count(&page, &format!("data-do=\"repair:{key}\"")), 1, "{link}");
            assert_eq!(count(&page, &format!("data-do=\"red:{key}\"")), 1, "{link}");
            let heard = spoken(&answers, &Ui::default());
            assert!(
                heard.starts_with(words)
                    && heard.ends_with(&problem.message)
                    && !heard.contains("GiB"),
                "{link}: {heard}"
            );
        }
    }

    #[test]
    fn every_problem_of_a_link_is_named() {
        let answers = answers("v1&m=llama3-70b&n=8&tp=3&kv=7");
        assert!(answers.problems.len() >= 2, "{:?}", answers.problems);
        let page = verdict(&answers, &Ui::default());
        for problem in &answers.problems {
            assert!(text(&page).contains(&problem.message), "{}", text(&page));
        }
    }

    #[test]
    fn a_rule_that_forbids_the_layout_is_named() {
        let words = text(&verdict(&answers("v1&m=llama3-8b&n=8&b=7&B=100"), &Ui::default()));
        assert!(words.contains("Cannot run like this.") || words.contains("Fits"), "{words}");
    }

    #[test]
    fn serving_says_how_fast_and_how_dear_it_is() {
        let page = verdict(&answers("v1&do=serve&m=llama3-8b&n=2"), &Ui::default());
        let words = text(&page);
        for what in [
            "Time to first token",
            "Tokens per second per user",
            "Tokens per second in all",
            "Price of a million tokens",
        ] {
            assert!(words.contains(what), "{what}: {words}");
        }
        assert!(
            words.contains(
                "With 16 requests at once on each replica, each with 8192 tokens in the cache."
            ),
            "{words}"
        );
        assert_eq!(
            (count(&page, "data-do=\"open:why/load/"), count(&page, "data-do=\"users\"")),
            (4, 0)
        );
        let unknown =
            text(&verdict(&answers("v1&do=serve&m=llama3-8b&n=1&bw=empty"), &Ui::default()));
        assert!(
            unknown.contains("memory bandwidth") && !unknown.contains("Price of a million"),
            "{unknown}"
        );
    }

    #[test]
    fn users_are_answered_with_gpus_that_one_click_takes() {
        let link = "v1&do=serve&m=llama3-70b&gpu=h200&w=fp8-column&n=1&usr=200";
        let needed = answers(link);
        let page = verdict(&needed, &Ui::default());
        let words = text(&page);
        let fewest = needed.users().expect("asked").fewest.expect("some");
        assert!(words.starts_with("Does not fit for these users. 200 users need "), "{words}");
        assert!(
            words.contains(&format!(
                "the first count that carries 200 users: {}",
                gpus(fewest.gpus)
            )),
            "{words}"
        );
        assert!(words.contains("With all 200 users active at once on "), "{words}");
        assert_eq!(count(&page, "data-do=\"users\""), 1);
        assert!(page.as_str().contains("verdict tone--bad"), "what does not fit is not green");
        let mut scenario = needed.scenario.clone();
        following::adopt(&mut scenario, &fewest);
        let taken = answers(&codec::encode(&scenario));
        let page = verdict(&taken, &Ui::default());
        let words = text(&page);
        assert!(
            words.starts_with(&format!("Fits. 200 users: {} × H200 SXM, ", fewest.gpus)),
            "{words}"
        );
        assert!(words.contains("With all 200 users active at once: "), "{words}");
        assert_eq!(count(&page, "data-do=\"users\""), 0);
        assert!(spoken(&taken, &Ui::default()).starts_with("Fits. 200 users: "));
        assert!(
            text(&strip(&taken, &Ui::default())).contains("200 users on "),
            "{}",
            text(&strip(&taken, &Ui::default()))
        );
        assert!(
            text(&strip(&needed, &Ui::default())).contains("room for ")
                && text(&strip(&needed, &Ui::default())).contains(" of 200 users")
        );
    }

    #[test]
    fn another_number_of_users_is_another_headline() {
        let of = |users: u64| {
            answers(&format!("v1&do=serve&m=llama3-8b&n=1&usr={users}")).headline().sentence
        };
        assert!(
            of(10).starts_with("10 users: 1 × H100 SXM5, 1 replica. ")
                && of(1).starts_with("1 user: "),
            "{}",
            of(10)
        );
        assert!(of(1000).starts_with("1000 users need ") && of(1000) != of(2000), "{}", of(1000));
    }

    #[test]
    fn an_answer_that_waits_for_a_part_of_the_page_asks_nobody_to_correct_a_field() {
        let mut waiting = answers("v1&m=llama3-8b&gpu=h100-80&n=8");
        (waiting.standing, waiting.awaited) = (Standing::Earlier, vec![EnginePart::Rare]);
        let page = verdict(&waiting, &Ui::default());
        assert!(
            text(&page).contains("Last valid answer: what the new one needs is being fetched"),
            "{}",
            text(&page)
        );
        assert!(!page.as_str().contains("data-do=\"red\""));
        assert_eq!(spoken(&waiting, &Ui::default()), "The answer follows.");
    }

    #[test]
    fn the_margin_and_the_reason_round_alike() {
        let mut compared = 0;
        for memory in (40..=120).step_by(5).map(|tenths| f64::from(tenths) / 1.7) {
            for model in ["llama3-8b", "gpt2-large"] {
                let link = |gpus: u64| format!("v1&m={model}&mem={memory:.3}&n={gpus}");
                let Some((gpus, what)) = answers(&link(8)).count.near_miss else { continue };
                let Some((reason, _)) = what.split_once(" short per GPU") else { continue };
                let there = answers(&link(gpus));
                let (number, caption) = margin(&there.scenario, &there.estimate, there.scale);
                assert!(caption.starts_with("short"), "{caption}");
                assert_eq!(reason, format!("{number} {}", there.unit), "{}", link(gpus));
                compared += 1;
            }
        }
        assert!(compared > 5, "{compared}");
    }
}
