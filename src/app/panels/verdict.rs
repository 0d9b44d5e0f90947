//! The answer: one sentence, the margin, and the two GPU counts.

use crate::app::answers::Answers;
use crate::app::explaining::{button, place};
use crate::app::headline::{replicas_of, users};
use crate::app::markup::{Html, html};
use crate::app::serving::{self, LoadFigure};
use crate::app::ui::Ui;
use crate::app::words::{gpus, tone, upper_first, verdict_word};
use crate::app::{following, timing};
use crate::estimator::Verdict as Answer;
use crate::planner::UsersAnswer;

/// Whether the answer shown belongs to an earlier scenario, because the present one has a problem.
fn is_stale(answers: &Answers, ui: &Ui) -> bool {
    !answers.problems.is_empty() || !ui.unread.is_empty()
}

/// The tinted band with the answer.
pub fn verdict(answers: &Answers, ui: &Ui) -> Html {
    let estimate = &answers.estimate;
    let said = answers.headline();
    let blocker = estimate.blockers.first().filter(|_| said.verdict == Answer::CannotRun);
    let why = blocker.map(|blocker| html(r#"<p class="verdict__why">{}.</p>"#, &[&upper_first(&blocker.to_string())]));
    let stale = is_stale(answers, ui).then(|| {
        html(
            r#"<p class="verdict__stale" data-testid="stale">This is the previous answer: an input needs a look first.</p>"#,
            &[],
        )
    });
    html(
        r#"<div class="verdict tone--{}" data-own="verdict" data-testid="verdict"><div><h1 class="verdict__sentence"><span class="verdict__word">{}</span> {}</h1>{}{}</div><p class="verdict__margin"><span class="verdict__figure">{} <span class="verdict__unit">{}</span></span><span class="verdict__caption">{} {}</span></p>{}{}{}{}{}</div>"#,
        &[
            &tone(said.verdict),
            &said.word,
            &unbroken(&said.sentence, &said.name),
            &why,
            &counts(answers, ui),
            &said.margin.number,
            &said.margin.unit,
            &said.margin.caption,
            &said.margin.of_memory.then(|| button(ui, "margin", "what is left or missing")),
            &figures(answers, ui),
            &stale,
            &place(ui, "margin"),
            &place(ui, ARITHMETIC),
            &place(ui, RUNNABLE),
        ],
    )
}

/// A sentence with a name in it that stays on one line where there is room for it.
fn unbroken(sentence: &str, name: &str) -> Html {
    let (before, after) = sentence.split_once(name).unwrap_or((sentence, ""));
    html(r#"{}<span class="verdict__name">{}</span>{}"#, &[&before, &name, &after])
}

const ARITHMETIC: &str = "gpus/arithmetic";
const RUNNABLE: &str = "gpus/runnable";

/// The two answers to "how many": a division, and what can really run; where users are stated, what carries them.
fn counts(answers: &Answers, ui: &Ui) -> Html {
    let words = |count: Option<u64>| count.map_or_else(|| "none".to_owned(), gpus);
    let runs = answers.count.runnable.as_ref().map(|run| run.gpus);
    let of_one = || [words(answers.count.arithmetic), words(runs), answers.count.reason.clone()];
    let found = answers.users();
    let [arithmetic, runnable, reason] = found.map_or_else(of_one, |found| serving::users_counts(&answers.job, found, runs));
    let what = found
        .map_or_else(|| "smallest that runs".to_owned(), |found| format!("smallest that carries {}", users(found.own.users)));
    let explained = if found.is_some() { "the smallest count that carries the users" } else { "the smallest count that runs" };
    html(
        r#"<p class="verdict__more">Arithmetic minimum <b data-testid="gpu-arithmetic">{}</b>,{} {} <b data-testid="gpu-runnable">{}</b>.{} <span data-testid="gpu-reason">{}</span>{}</p>"#,
        &[
            &arithmetic,
            &button(ui, ARITHMETIC, "the arithmetic minimum"),
            &what,
            &runnable,
            &button(ui, RUNNABLE, explained),
            &reason,
            &found.and_then(take),
        ],
    )
}

/// One click to the fewest GPUs that carry the users, where the scenario has others.
fn take(found: &UsersAnswer) -> Option<Html> {
    let fewest = following::adoptable(found)?;
    let degrees = format!("{}, {}", gpus(fewest.gpus), replicas_of(fewest));
    Some(html(
        r#" <button type="button" class="button verdict__use" data-testid="use-users" data-do="users" aria-label="Use this: {}">Use this</button>"#,
        &[&degrees],
    ))
}

/// How fast and how dear serving is at the load that the answer is about; nothing when training.
fn figures(answers: &Answers, ui: &Ui) -> Option<Html> {
    let load = answers.load()?;
    let assumed = serving::load_assumed(&answers.scenario, &answers.job, load, answers.users());
    let Some(figures) = serving::load_figures(&answers.job, load) else {
        let unknown = timing::unknown(&answers.scenario, answers.timing());
        return Some(html(r#"<p class="verdict__load" data-testid="load">{}</p>"#, &[&unknown]));
    };
    let tile = |figure: &LoadFigure| {
        html(
            r#"<div class="load__figure"><dt>{} {}</dt><dd><b class="number">{}</b>{}</dd></div>"#,
            &[
                &figure.label,
                &button(ui, figure.path, figure.label),
                &figure.value,
                &(!figure.note.is_empty()).then(|| html(r#" <span class="load__note">{}</span>"#, &[&figure.note])),
            ],
        )
    };
    let tiles: Html = figures.iter().map(tile).collect();
    let places: Html = figures.iter().filter_map(|figure| place(ui, figure.path)).collect();
    Some(html(
        r#"<div class="verdict__load" data-testid="load"><dl class="load">{}</dl><p class="load__assumed">{}</p>{}</div>"#,
        &[&tiles, &assumed, &places],
    ))
}

/// The answer in one line, for the top of a phone's screen.
pub fn strip(answers: &Answers) -> Html {
    let said = answers.headline();
    html(
        r#"<div class="strip" data-own="strip" aria-hidden="true"><div class="strip__line tone--{}"><span class="strip__word">{}</span><span class="strip__rest number">{}</span></div></div>"#,
        &[&tone(said.verdict), &verdict_word(said.verdict), &said.short],
    )
}

/// The answer as screen readers announce it.
pub fn spoken(answers: &Answers, ui: &Ui) -> String {
    let said = answers.headline();
    let margin = said.margin;
    let previous = if is_stale(answers, ui) { " This is the previous answer." } else { "" };
    format!("{} {} {} {} {}.{previous}", said.word, said.sentence, margin.number, margin.unit, margin.caption)
}

#[cfg(test)]
mod tests {
    use super::{spoken, strip, verdict};
    use crate::app::following;
    use crate::app::panels::tests::{answers, count, text};
    use crate::app::ui::{Ui, Unread};
    use crate::app::words::{gpus, margin};
    use crate::scenario::{FieldId, codec};

    #[test]
    fn the_answer_says_verdict_margin_and_counts() {
        let words = text(&verdict(&answers("v1&m=llama3-8b&n=8"), &Ui::default()));
        assert!(words.starts_with("Fits. Training Llama 3 8B on 8 × H100 SXM5"), "{words}");
        assert!(words.contains("free on each GPU") && words.contains("Arithmetic minimum"), "{words}");
        assert!(!words.contains("previous answer"), "{words}");
    }

    #[test]
    fn the_hardware_s_name_is_not_broken() {
        let page = verdict(&answers("v1&m=llama3-8b&n=8"), &Ui::default());
        assert!(page.as_str().contains(r#"on <span class="verdict__name">8 × H100 SXM5</span> takes"#), "{}", page.as_str());
    }

    #[test]
    fn a_field_that_cannot_be_read_makes_it_the_previous_answer() {
        let unread = Unread { field: FieldId::SeqLength, text: "x".to_owned(), message: "No number.".to_owned() };
        let ui = Ui { unread: vec![unread], ..Ui::default() };
        let answers = answers("v1&m=llama3-8b&n=8");
        assert!(text(&verdict(&answers, &ui)).contains("previous answer"));
        assert!(spoken(&answers, &ui).ends_with("This is the previous answer."));
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
        for what in ["Time to first token", "Tokens per second per user", "Tokens per second in all", "Price of a million tokens"]
        {
            assert!(words.contains(what), "{what}: {words}");
        }
        assert!(words.contains("With 16 requests at once on each replica, each with 8192 tokens in the cache."), "{words}");
        assert_eq!((count(&page, "data-do=\"open:why/load/"), count(&page, "data-do=\"users\"")), (4, 0));
        let unknown = text(&verdict(&answers("v1&do=serve&m=llama3-8b&n=1&bw=empty"), &Ui::default()));
        assert!(unknown.contains("memory bandwidth") && !unknown.contains("Price of a million"), "{unknown}");
        assert_eq!(count(&verdict(&answers("v1&m=llama3-8b&n=8"), &Ui::default()), "data-testid=\"load\""), 0);
    }

    #[test]
    fn users_are_answered_with_gpus_that_one_click_takes() {
        let link = "v1&do=serve&m=llama3-70b&gpu=h200&w=fp8-column&n=1&usr=200";
        let needed = answers(link);
        let page = verdict(&needed, &Ui::default());
        let words = text(&page);
        let fewest = needed.users().expect("asked").fewest.expect("some");
        assert!(words.starts_with("Does not fit for these users. 200 users need "), "{words}");
        assert!(words.contains(&format!("smallest that carries 200 users {}", gpus(fewest.gpus))), "{words}");
        assert!(words.contains("With all 200 users active at once on "), "{words}");
        assert_eq!(count(&page, "data-do=\"users\""), 1);
        let mut scenario = needed.scenario.clone();
        following::adopt(&mut scenario, &fewest);
        let taken = answers(&codec::encode(&scenario));
        let page = verdict(&taken, &Ui::default());
        let words = text(&page);
        assert!(words.starts_with(&format!("Fits. 200 users: {} × H200 SXM, ", fewest.gpus)), "{words}");
        assert!(words.contains("With all 200 users active at once: "), "{words}");
        assert_eq!(count(&page, "data-do=\"users\""), 0);
        assert!(spoken(&taken, &Ui::default()).starts_with("Fits. 200 users: "));
        assert!(text(&strip(&taken)).contains("200 users on "), "{}", text(&strip(&taken)));
        assert!(text(&strip(&needed)).contains("room for ") && text(&strip(&needed)).contains(" of 200 users"));
    }

    #[test]
    fn another_number_of_users_is_another_headline() {
        let of = |users: u64| answers(&format!("v1&do=serve&m=llama3-8b&n=1&usr={users}")).headline().sentence;
        assert!(of(10).starts_with("10 users: 1 × H100 SXM5, 1 replica. ") && of(1).starts_with("1 user: "), "{}", of(10));
        assert!(of(1000).starts_with("1000 users need ") && of(1000) != of(2000), "{}", of(1000));
    }

    #[test]
    fn the_margin_and_the_reason_round_alike() {
        let mut compared = 0;
        for memory in (40..=120).step_by(5).map(|tenths| f64::from(tenths) / 1.7) {
            for model in ["llama3-8b", "gpt2-xl"] {
                let link = |gpus: u64| format!("v1&m={model}&mem={memory:.3}&n={gpus}");
                let Some((gpus, what)) = answers(&link(8)).count.near_miss else { continue };
                let Some((reason, _)) = what.split_once(" short per GPU") else { continue };
                let there = answers(&link(gpus));
                let (number, caption) = margin(&there.estimate, there.scale);
                assert!(caption.starts_with("short"), "{caption}");
                assert_eq!(reason, format!("{number} {}", there.unit), "{}", link(gpus));
                compared += 1;
            }
        }
        assert!(compared > 5, "{compared}");
    }
}
