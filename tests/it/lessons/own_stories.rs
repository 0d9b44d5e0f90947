//! Own stories on the page: they are recorded, written, kept and never become markup.

use super::{asked, hostile, noise, readable, teach};
use headroom::lessons::story::{LessonStep, Story};
use headroom::worker::wire::{MARK, What};
use proptest::test_runner::{Config, TestRunner};

/// The story that is stored as `own-1`, as the orders write it.
pub(super) fn stored(orders: &str) -> String {
    let line = orders.lines().find_map(|line| line.strip_prefix("store story:own-1 "));
    line.expect("stored").to_owned()
}

/// A form of an own story, as the page sends it.
pub(super) const MINE: &str = "editing=own-1\ntitle=Mine <b>\nfor=Class\ntitle-0=One\ntext-0=It takes \
    {per-gpu}.\nlook-0=gpus\nfigure-0=weights\nask-0=weights\nprompt-0=How \
    much?\ntolerance-0=10\nlive-0=n";

#[test]
fn unsaved_text_of_a_story_is_kept() {
    let form = MINE;
    let (orders, _) = teach("new", "", &[]);
    let (orders, _) = teach("record:own-1", form, &[("own-1", &stored(&orders))]);
    let second = stored(&orders);
    // Unsaved text survives both the way back to the list and the way to the stage.
    let (orders, html) = teach("view:list", &form.replace("Mine", "Yours"), &[("own-1", &second)]);
    assert!(stored(&orders).contains("Yours <b>") && html.contains("Yours &lt;b&gt;"), "{orders}");
    assert!(teach("view:list", form, &[("own-1", &stored(&orders))]).0.contains("Mine"));
    assert_eq!(teach("view:list", "editing=own-9\ntitle=Mine", &[("own-1", &second)]).0, "");
    let (orders, _) = asked(
        What::Story,
        "v1",
        &format!("own-1\n\n{}{MARK}story:own-1\n{second}", form.replace("Mine", "Yours")),
    );
    assert!(stored(&orders).contains("Yours <b>") && orders.contains("step v2&"), "{orders}");
}

#[test]
fn long_broken_and_newer_stories_are_told() {
    let steps =
        (0..9).map(|seed| LessonStep { text: noise(seed), ..LessonStep::of("v1") }).collect();
    let long =
        Story { id: "own-1".to_owned(), title: "Long".to_owned(), audience: String::new(), steps }
            .write();
    let (_, html) = teach("view:edit:own-1", "", &[("own-1", &long)]);
    assert!(html.contains("too long for a link") && !html.contains("story-link\""), "{html}");
    let (orders, html) =
        teach("show", "", &[("own-1", "broken"), ("own-2", r#"{"headroom":"story","v":2}"#)]);
    assert!(html.contains("A story was made by a newer version of the page"), "{html}");
    assert!(orders.contains("aside story:own-1") && !orders.contains("aside story:own-2"));
}

#[test]
fn an_own_story_is_recorded_written_moved_and_taken_along() {
    let (orders, html) = teach("new", "", &[]);
    let first = stored(&orders);
    assert!(
        html.contains("name=\"editing\" value=\"own-1\"") && html.contains("#v1&amp;story="),
        "{html}"
    );
    let form = MINE;
    let (orders, html) = teach("record:own-1", form, &[("own-1", &first)]);
    assert!(html.contains("Mine &lt;b&gt;"));
    let story = Story::read(&stored(&orders)).expect("a story");
    assert_eq!(
        (story.steps.len(), story.title.as_str(), story.steps[0].text.as_str()),
        (2, "Mine <b>", "It takes {per-gpu}.")
    );
    assert!(
        story.steps[0]
            .question
            .as_ref()
            .is_some_and(|question| (question.tolerance - 0.1).abs() < 1e-9)
    );
    let second = stored(&orders);
    let (orders, _) = teach("down:own-1.0", "", &[("own-1", &second)]);
    assert_eq!(Story::read(&stored(&orders)).expect("a story").steps[1].title, "One");
    let (orders, _) = teach("drop:own-1.1", "", &[("own-1", &second)]);
    assert_eq!(Story::read(&stored(&orders)).expect("a story").steps.len(), 1);
    let (orders, _) = teach("file:own-1", "", &[("own-1", &second)]);
    assert!(orders.contains(&format!("file own-1 {second}")));
    let (orders, html) = teach("delete:own-1", "", &[("own-1", &second)]);
    assert!(!orders.contains("forget") && html.contains("Delete for good"));
    assert!(teach("delete-yes:own-1", "", &[("own-1", &second)]).0.contains("forget story:own-1"));
    let (orders, _) = teach("import", &format!("file={second}"), &[("own-1", &second)]);
    assert!(orders.contains("store story:own-2 "), "{orders}");
    assert!(teach("import", "file=nonsense", &[]).0.contains("problem This is no story"));
    let (orders, html) = teach("copy:924-to-8", "", &[]);
    assert!(
        stored(&orders).contains("From 924 GPUs to 8 (copy)") && html.contains("#v1&amp;story="),
        "{html}"
    );
    let (orders, html) = asked(What::Story, "v1", &format!("own-1\n\n{MARK}story:own-1\n{second}"));
    assert!(orders.starts_with("step v2&") && html.contains("How much?"));
}

#[test]
fn nothing_in_a_story_becomes_markup() {
    for story in readable(20) {
        let file = story.write();
        let stored = [("own", file.as_str())];
        for verb in ["show", "view:edit:own", "view:answers:own"] {
            teach(verb, "", &stored);
        }
        asked(What::Story, "v1", &format!("own\n\n{MARK}story:own\n{file}"));
    }
    let mut runner =
        TestRunner::new(Config { cases: 100, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&(hostile(), hostile()), |(one, two)| {
        let clean = |text: &str| text.replace(['\n', '\r', MARK], " ");
        let (one, two) = (clean(&one), clean(&two));
        teach("sheet", &format!("class={one}\nstudent={two}"), &[]);
        teach("code", &format!("code={one}"), &[]);
        teach("predict", &format!("figure=per-gpu\nanswer={two}"), &[]);
        teach("show", &format!("view={two}"), &[]);
        Ok(())
    });
    assert_eq!(outcome, Ok(()));
}
