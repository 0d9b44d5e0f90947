//! Worksheets: the same tasks for a class, other numbers for each student, and the code that is
//! handed in.

use super::ask::{Orders, TeachingRequest};
use super::exercise::feedback;
use super::{back, copy, copy_link, place};
use crate::lessons::answer::check;
use crate::lessons::worksheet::{Code, KeptResults, Outcome, Worksheet, WorksheetTask, word};
use crate::view::action::{Sent, TeachVerb, TeachView};
use crate::view::markup::{Html, html};

/// Where a class's worksheet is opened, and where a code is checked.
pub(super) fn opener(asked: &TeachingRequest) -> Html {
    html! {
        h3 class="teach__head" { "Worksheets" }
        form class="teach__form" data-teach=(Sent::Teach(TeachVerb::Sheet)) {
            div class="field" {
                label class="field__label" for="sheet-class" {
                    "A word for the class, such as mlsys-2026"
                }
                input id="sheet-class" class="field__input" name="class" maxlength="24"
                    autocomplete="off" value=(asked.text("class", 24));
            }
            div class="teach__tools" {
                button type="submit" class="button" data-testid="sheet-open" {
                    "Open its worksheet"
                }
            }
        }
        form class="teach__form" data-teach=(Sent::Teach(TeachVerb::Code)) {
            div class="field" {
                label class="field__label" for="sheet-code" { "A student's result code" }
                input id="sheet-code" class="field__input" name="code" maxlength="120"
                    autocomplete="off";
            }
            div class="teach__tools" {
                button type="submit" class="button" data-testid="code-check" { "Check it" }
            }
        }
    }
}

/// The worksheet of a student; `about` is the task that was answered.
pub(super) fn sheet(asked: &TeachingRequest, answered: Option<usize>, orders: &mut Orders) -> Html {
    let class = word(asked.form.text("class"));
    if class.is_empty() {
        return html! {
            (back())
            p class="teach__said" role="status" {
                "A worksheet needs a word for the class: letters, digits and “-”."
            }
        };
    }
    let kept = asked.kept(&class, orders);
    let sheet = Worksheet::of(&class, &student(asked, kept.as_ref()));
    let known = kept.as_ref().map_or(&[][..], |kept| kept.outcomes(&sheet.student));
    // Another name means other tasks: earlier tries belong to the earlier tasks.
    let same =
        asked.form.text("sheet-of") == sheet.student && !asked.form.text("tries-0").is_empty();
    let (mut rows, mut outcomes) = (Vec::new(), Vec::new());
    for (index, task) in sheet.tasks.iter().enumerate() {
        let before = if same { outcome(asked, index) } else { Outcome::default() };
        let before = before.or(known.get(index).copied().unwrap_or_default());
        let (now, said) = tried(asked, task, index, before, answered == Some(index));
        rows.push(row(&sheet, task, index, now, &said));
        outcomes.push(now);
    }
    let code = Code { class: sheet.class.clone(), student: sheet.student.clone(), outcomes };
    keep(kept, &code, orders);
    written(asked, &sheet, &rows.into_iter().collect(), &code)
}

/// Whose worksheet it is: as typed, or on a page that was just opened whoever was here last.
fn student(asked: &TeachingRequest, kept: Option<&KeptResults>) -> String {
    let typed = asked.form.text("student");
    let last = kept
        .and_then(KeptResults::last)
        .filter(|_| typed.is_empty() && asked.form.text("view") != "sheet");
    last.map_or_else(|| typed.to_owned(), |code| code.student.clone())
}

/// Makes the browser keep the outcomes, once a task was tried; a newer version's record stays as it
/// is.
fn keep(kept: Option<KeptResults>, code: &Code, orders: &mut Orders) {
    let Some(mut kept) = kept.filter(|kept| kept.last() != Some(code)) else { return };
    if code.outcomes.iter().any(|outcome| outcome.tries > 0) {
        kept.keep(code.clone());
        orders.progress(&code.class, &kept);
    }
}

/// The worksheet with its rows and its result.
fn written(asked: &TeachingRequest, sheet: &Worksheet, rows: &Html, code: &Code) -> Html {
    let outcomes = &code.outcomes;
    let done = outcomes.iter().all(|outcome| outcome.tries > 0);
    let right = outcomes.iter().filter(|outcome| outcome.right).count().to_string();
    let code = code.write();
    let count = sheet.tasks.len().to_string();
    let link = asked.link(&format!("task={}", sheet.class));
    html! {
        (back())
        (place(&TeachView::Sheet))
        h3 class="teach__head" { "Worksheet “" (sheet.class) "”" }
        form class="teach__form" data-teach=(Sent::Teach(TeachVerb::Sheet)) {
            input type="hidden" name="class" value=(sheet.class);
            div class="field" {
                label class="field__label" for="sheet-student" {
                    "Your name or number: it decides your parameters"
                }
                input id="sheet-student" class="field__input" name="student" maxlength="24"
                    autocomplete="off" value=(sheet.student) data-testid="sheet-student";
            }
            input type="hidden" name="sheet-of" value=(sheet.student);
            div class="teach__tools" {
                button type="submit" class="button" data-testid="sheet-mine" { "Give me my tasks" }
            }
        }
        ol class="teach__tasks" { (rows) }
        div role="status" {
            p data-testid="sheet-result" {
                b { (right) " of " (count) " right." }
                " Result code to hand in: "
                code class="teach__code" data-testid="sheet-result-code" { (code) }
                " "
                (copy("Copy code", &code, &sheet.class, "button"))
            }
            p class="quiet" {
                "The code says who, what was right and after how many tries. It is signed by \
                 nothing: anybody can make one up. Nothing was sent; your tries stay in this \
                 browser."
                (if done { "" } else { " Not every task has been tried yet." })
            }
        }
        p class="quiet" {
            "Link for the class: "
            span class="teach__link" data-testid="sheet-link" { (link) }
            " "
            (copy_link(&link, &sheet.class, "button"))
        }
    }
}

/// The task's outcome before this answer.
fn outcome(asked: &TeachingRequest, index: usize) -> Outcome {
    let tries = asked.form.text(&format!("tries-{index}")).parse().unwrap_or(0);
    Outcome { right: asked.form.text(&format!("right-{index}")) == "1", tries }
}

/// The task's outcome after this answer, and the words about it. A task that was right stays right.
fn tried(
    asked: &TeachingRequest,
    task: &WorksheetTask,
    index: usize,
    before: Outcome,
    now: bool,
) -> (Outcome, Html) {
    let answer = asked.text(&format!("answer-{index}"), 60);
    if !now || before.right || answer.is_empty() {
        return (before, Html::new());
    }
    let checked = check(&answer, task.figure, &task.facts, task.tolerance);
    let said = feedback(&checked);
    // An answer that cannot be read does not count as a try.
    let after = checked.ok().map_or(before, |feedback| Outcome {
        right: feedback.right,
        tries: before.tries.saturating_add(1).min(9),
    });
    (after, said)
}

fn row(
    sheet: &Worksheet,
    task: &WorksheetTask,
    index: usize,
    outcome: Outcome,
    said: &Html,
) -> Html {
    let (at, number) = (index.to_string(), (index + 1).to_string());
    let state = match (outcome.right, outcome.tries) {
        (true, 1) => "Right at the first try.".to_owned(),
        (true, tries) => format!("Right after {tries} tries."),
        (false, 0) => String::new(),
        (false, 1) => "1 try.".to_owned(),
        (false, tries) => format!("{tries} tries."),
    };
    let right = if outcome.right { "1" } else { "0" };
    let hint = task.figure.unit.hint();
    html! {
        li class="teach__task" data-key={ "task-" (sheet.class) "-" (sheet.student) "-" (at) } {
            p { (task.prompt) }
            form class="teach__row" data-teach=(Sent::Teach(TeachVerb::Task(index))) {
                input type="hidden" name={ "tries-" (at) } value=(outcome.tries);
                input type="hidden" name={ "right-" (at) } value=(right);
                label class="sr" for={ "task-" (at) } {
                    "Your answer to task "
                    (number)
                    ": "
                    (hint)
                }
                input id={ "task-" (at) } class="field__input" name={ "answer-" (at) }
                    autocomplete="off" placeholder=(hint);
                button type="submit" class="button" aria-label={ "Answer task " (number) } {
                    "Answer"
                }
            }
            p class="quiet" { (state) }
            (said)
        }
    }
}

/// The results in a student's code, with the answers to that student's tasks.
pub(super) fn code(asked: &TeachingRequest) -> Html {
    let code = match Code::read(asked.form.text("code")) {
        Ok(code) => code,
        Err(problem) => {
            return html! {
                (back())
                (place(&TeachView::List))
                p class="teach__said" role="status" data-testid="code-says" { (problem) }
                (opener(asked))
            };
        }
    };
    let sheet = Worksheet::of(&code.class, &code.student);
    let row = |(task, outcome): (&WorksheetTask, &Outcome)| {
        let answer = (task.figure.of)(&task.facts)
            .map(|amount| task.figure.show(amount, &task.facts))
            .unwrap_or_default();
        let state = match (outcome.right, outcome.tries) {
            (_, 0) => "not tried".to_owned(),
            (true, tries) => format!("right at try {tries}"),
            (false, 1) => "wrong, 1 try".to_owned(),
            (false, tries) => format!("wrong, {tries} tries"),
        };
        html! {
            tr {
                td { (task.prompt) }
                td class="num" { (answer) }
                td class="teach__result" { (state) }
            }
        }
    };
    let right = code.outcomes.iter().filter(|outcome| outcome.right).count().to_string();
    let name = if code.student.is_empty() { "without a name" } else { code.student.as_str() };
    html! {
        (back())
        (place(&TeachView::List))
        h3 class="teach__head" { "Result of " (name) ", class " (code.class) }
        p data-testid="code-says" role="status" {
            b { (right) " of " (sheet.tasks.len()) " right." }
            " This is what the code says; it is signed by nothing."
        }
        div class="methods__scroll" tabindex="0" role="region"
            aria-label="Tasks with their answers" {
            table class="table" {
                thead {
                    tr {
                        th scope="col" { "Task" }
                        th scope="col" class="num" { "Answer" }
                        th scope="col" { "Result" }
                    }
                }
                tbody {
                    @for item in sheet.tasks.iter().zip(&code.outcomes) { (row(item)) }
                }
            }
        }
        (opener(asked))
    }
}
