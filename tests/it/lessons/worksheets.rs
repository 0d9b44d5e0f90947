//! Worksheets: draws, codes, and progress that is kept.

use super::{teach, told, unescaped};
use headroom::lessons::answer::check;
use headroom::lessons::figure::Amount;
use headroom::lessons::story::shipped;
use headroom::lessons::worksheet::{Code, KeptError, KeptResults, Outcome, Worksheet, word};
use headroom::scenario::codec::encode;

#[test]
fn a_worksheet_counts_tries_and_gives_a_code() {
    let sheet = Worksheet::of("algebra", "ada");
    let truth = (sheet.tasks[0].figure.of)(&sheet.tasks[0].facts)
        .and_then(Amount::number)
        .expect("a number");
    let form = "class=Algebra\nstudent=Ada";
    let (_, html) = teach("sheet", form, &[]);
    assert!(
        html.contains("Worksheet “algebra”")
            && html.contains("#v1&amp;task=algebra")
            && html.contains("algebra.ada.000000.")
    );
    let (_, html) =
        teach("task:0", &format!("{form}\nsheet-of=ada\ntries-0=0\nanswer-0=1 GB"), &[]);
    assert!(html.contains("algebra.ada.a00000.") && html.contains("1 try."), "{html}");
    let (_, html) =
        teach("task:0", &format!("{form}\nsheet-of=ada\ntries-0=1\nanswer-0={truth} bytes"), &[]);
    assert!(
        html.contains("algebra.ada.200000.") && html.contains("Right after 2 tries."),
        "{html}"
    );
    let (_, html) =
        teach("sheet", "class=algebra\nstudent=bo\nsheet-of=ada\ntries-0=2\nright-0=1", &[]);
    assert!(html.contains("algebra.bo.000000."), "another name, other tasks");
    let code = Code {
        class: "algebra".to_owned(),
        student: "ada".to_owned(),
        outcomes: vec![Outcome { right: true, tries: 2 }; 6],
    }
    .write();
    let (_, html) = teach("code", &format!("code={code}"), &[]);
    assert!(
        html.contains("6 of 6 right")
            && html.contains("right at try 2")
            && html.contains("signed by nothing")
    );
    assert!(teach("code", "code=algebra.ada.222222.xxxx", &[]).1.contains("ask for it again"));
}

/// The progress that the orders keep of the class `algebra`.
pub(super) fn progress(orders: &str) -> Option<String> {
    let line = orders.lines().find_map(|line| line.strip_prefix("progress sheet:algebra "));
    line.map(str::to_owned)
}

#[test]
fn unreadable_progress_on_a_worksheet_is_put_aside() {
    let form = "view=sheet\nclass=algebra\nstudent=ada\nsheet-of=ada\ntries-0=0";
    let (orders, _) = teach("task:0", &format!("{form}\nanswer-0=1 GB"), &[]);
    let record = progress(&orders).expect("progress");
    // An unreadable record is put aside and a newer version's record is left alone; in both cases
    // the worksheet continues.
    for broken in [
        "",
        "{",
        r#"{"v":1}"#,
        r#"{"v":1,"codes":["algebra.ada.a00000.zzzz"]}"#,
        &record.replace("algebra", "logic"),
    ] {
        let (orders, html) =
            teach("task:0", &format!("{form}\nanswer-0=1 GB"), &[("sheet:algebra", broken)]);
        assert!(
            orders.starts_with("aside sheet:algebra\nproblem Your progress")
                && progress(&orders).is_some(),
            "{orders}"
        );
        assert!(html.contains("algebra.ada.a00000."));
    }
    let (orders, html) = teach(
        "task:0",
        &format!("{form}\nanswer-0=1 GB"),
        &[("sheet:algebra", r#"{"v":2,"codes":7}"#)],
    );
    assert!(orders.is_empty() && html.contains("algebra.ada.a00000."), "{orders}");
}

#[test]
fn progress_on_a_worksheet_is_kept_class_by_class_and_student_by_student() {
    let (orders, _) = teach("sheet", "class=algebra", &[]);
    assert_eq!(orders, "", "nothing was tried");
    let form = "view=sheet\nclass=algebra\nstudent=ada\nsheet-of=ada\ntries-0=0";
    let (orders, _) = teach("task:0", &format!("{form}\nanswer-0=1 GB"), &[]);
    let record = progress(&orders).expect("progress");
    // A newly opened page remembers the last student and their progress.
    let (orders, html) = teach("sheet", "class=algebra", &[("sheet:algebra", &record)]);
    assert!(
        orders.is_empty() && html.contains("algebra.ada.a00000.") && html.contains("value=\"ada\""),
        "{html}"
    );
    // Another class or another student starts with no progress and leaves the first student's
    // progress as it is.
    assert!(
        teach("sheet", "class=logic", &[("sheet:algebra", &record)]).1.contains("logic..000000.")
    );
    let bo = format!("{}\nanswer-0=1 GB", form.replace("ada", "bo"));
    let both = progress(&teach("task:0", &bo, &[("sheet:algebra", &record)]).0).expect("progress");
    assert!(
        teach("sheet", "class=algebra", &[("sheet:algebra", &both)])
            .1
            .contains("algebra.bo.a00000.")
    );
    assert!(
        teach("sheet", "class=algebra\nstudent=Ada", &[("sheet:algebra", &both)])
            .1
            .contains("algebra.ada.a00000.")
    );
    // A page whose name field was emptied is not treated as newly opened, so the remembered name
    // does not return.
    assert!(
        teach("sheet", "view=sheet\nclass=algebra", &[("sheet:algebra", &both)])
            .1
            .contains("algebra..000000.")
    );
    // With two tabs, one tab does not undo progress that the other has recorded.
    let (_, html) =
        teach("task:1", &format!("{form}\nanswer-1=1 GB"), &[("sheet:algebra", &record)]);
    assert!(html.contains("algebra.ada.aa0000."), "{html}");
}

#[test]
fn kept_progress_is_read_again() {
    let mut kept = KeptResults::default();
    for number in 0..300_u32 {
        let tries = u8::try_from(number % 10).expect("small");
        let outcomes = vec![Outcome { right: number % 2 == 1 && tries > 0, tries }; 6];
        kept.keep(Code {
            class: "algebra".to_owned(),
            student: format!("student-{number}"),
            outcomes,
        });
    }
    assert_eq!(KeptResults::read("algebra", &kept.write()), Ok(kept.clone()));
    assert_eq!(kept.outcomes("Student 299").first(), Some(&Outcome { right: true, tries: 9 }));
    assert!(kept.outcomes("student-0").is_empty(), "the earliest ones go");
    assert_eq!(KeptResults::read("logic", &kept.write()), Err(KeptError::Malformed));
    assert_eq!(KeptResults::read("algebra", r#"{"v":9}"#), Err(KeptError::UnknownVersion(9)));
    let (right, wrong) = (Outcome { right: true, tries: 2 }, Outcome { right: false, tries: 5 });
    assert_eq!(
        [right.or(wrong), wrong.or(right), wrong.or(Outcome::default())],
        [right, right, wrong]
    );
}

/// The tasks drawn for some students. These lines never change, because a worksheet that was handed
/// out keeps its numbers.
pub(super) const FROZEN: &str = include_str!("../../lessons/worksheets.txt");

pub(super) fn drawn(class: &str, student: &str) -> String {
    let sheet = Worksheet::of(class, student);
    let line = |(index, task): (usize, &headroom::lessons::worksheet::WorksheetTask)| {
        format!("{class}.{student} {} {} {}\n", index + 1, task.figure.id, encode(&task.scenario))
    };
    sheet.tasks.iter().enumerate().map(line).collect()
}

#[test]
fn a_seed_keeps_its_numbers() {
    let students =
        [("algebra", "ada"), ("algebra", "bo"), ("mlsys-2026", ""), ("mlsys-2026", "chidi-o")];
    let now: String = students.iter().map(|(class, student)| drawn(class, student)).collect();
    assert_eq!(
        now, FROZEN,
        "a new task goes behind the others, and its lines into tests/lessons/worksheets.txt"
    );
}

#[test]
fn every_draw_is_a_task_that_can_be_answered() {
    let tasks = Worksheet::of("class", "").tasks.len();
    for student in 0..60 {
        let sheet = Worksheet::of("class", &student.to_string());
        assert_eq!(sheet.tasks.len(), tasks, "{student}");
        for task in &sheet.tasks {
            assert!(!task.prompt.contains(['{', '}', '–']), "{}", task.prompt);
            let truth = (task.figure.of)(&task.facts).and_then(Amount::number).expect("a number");
            assert!(truth > 0.0);
            let feedback =
                check(&format!("{truth} bytes"), task.figure, &task.facts, task.tolerance)
                    .expect("read");
            assert!(feedback.right, "{}", task.prompt);
        }
    }
}

#[test]
fn a_code_says_who_and_how_it_went() {
    let outcomes = [(true, 1), (true, 3), (false, 2), (false, 0), (true, 9), (false, 9)]
        .map(|(right, tries)| Outcome { right, tries });
    let code =
        Code { class: word("MLSys 2026"), student: word("Ada L."), outcomes: outcomes.to_vec() };
    let text = code.write();
    assert!(text.starts_with("mlsys-2026.ada-l.13b09i."), "{text}");
    assert_eq!(Code::read(&text), Ok(code.clone()));
    assert_eq!(Code::read(&format!(" {} \n", text.to_uppercase())), Ok(code));
    for at in 0..text.len() {
        let mut wrong = text.clone().into_bytes();
        wrong[at] = if wrong[at] == b'x' { b'y' } else { b'x' };
        assert!(Code::read(&String::from_utf8(wrong).expect("text")).is_err(), "{at}");
        assert!(Code::read(&text[..at]).is_err());
    }
    assert!(
        Code::read("").is_err()
            && Code::read("a.b.c.d.e").is_err()
            && Code::read("<b>.x.1.y").is_err()
    );
}

/// A sheet without answers contains none of them anywhere, because a class reads all of it before
/// the first question.
#[test]
fn a_sheet_without_answers_gives_none_away() {
    let mut waiting = 0;
    for story in shipped() {
        let told = told(&story);
        let sheet = |view: &str| teach(&format!("view:{view}:{}", story.id), "", &[]).1;
        let (without, with) = (sheet("handout"), unescaped(&sheet("answers")));
        let steps: Vec<&str> = without.split("<li class=\"handout__step\">").skip(1).collect();
        assert_eq!(steps.len(), story.steps.len());
        for (html, found) in steps.iter().zip(&told.steps) {
            let html = unescaped(html).replace(&found.prompt, "");
            let said = html
                .split("<p class=\"handout__link\">")
                .next()
                .expect("what stands before the link");
            let heading = said.split("</h4>").next().expect("a heading");
            // The step's own number, in its heading, is not an answer.
            let words = said
                .replacen(heading, heading.trim_start_matches(|it: char| it != '.'), 1)
                .replace(['<', '>'], " ");
            let words: String =
                words.split_inclusive(' ').filter(|word| !word.contains("class=")).collect();
            assert!(!told.tells_an_answer(&words), "{}: {words}", story.id);
            waiting += usize::from(said.contains("on the sheet with answers"));
            assert!(
                found.text.is_empty() || with.contains(&found.text),
                "{}: {}",
                story.id,
                found.text
            );
        }
    }
    // Only a few steps are held back until their questions are answered.
    assert!((1..20).contains(&waiting), "{waiting} steps wait");
    let first = teach("view:handout:924-to-8", "", &[]).1;
    assert!(!first.contains("Still none can run"), "step 4 would answer question 3");
    assert!(teach("view:answers:924-to-8", "", &[]).1.contains("Still none can run"));
}
