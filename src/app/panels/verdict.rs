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
    let (what, explained, [arithmetic, runnable, reason], take) = match answers.users() {
        Some(found) => (
            format!("smallest that carries {}", users(found.own.users)),
            "the smallest count that carries the users",
            serving::users_counts(&answers.job, found, runs),
            take(found),
        ),
        None => {
            let counts = [words(answers.count.arithmetic), words(runs), answers.count.reason.clone()];
            ("smallest that runs".to_owned(), "the smallest count that runs", counts, None)
        }
    };
    html(
        r#"<p class="verdict__more">Arithmetic minimum <b data-testid="gpu-arithmetic">{}</b>,{} {} <b data-testid="gpu-runnable">{}</b>.{} <span data-testid="gpu-reason">{}</span>{}</p>"#,
        &[
            &arithmetic,
            &button(ui, ARITHMETIC, "the arithmetic minimum"),
            &what,
            &runnable,
            &button(ui, RUNNABLE, explained),
            &reason,
            &take,
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
    use super::{spoken, verdict};
    use crate::app::panels::tests::{answers, text};
    use crate::app::ui::{Ui, Unread};
    use crate::app::words::margin;
    use crate::scenario::FieldId;

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
