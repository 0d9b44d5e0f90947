//! Lessons: shipped stories are true, users' own stories are safe, answers are read, and worksheets
//! never change.

#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use headroom::lessons::answer::{check, read};
use headroom::lessons::figure::{Amount, FIGURES, Facts, Figure, Unit, Whose};
use headroom::lessons::story::{
    LONGEST_LINK, LONGEST_TEXT, Look, Step, Story, StoryError, Told, packed, shipped, unpacked,
};
use headroom::lessons::worksheet::{Code, Kept, KeptError, Outcome, Worksheet, word};
use headroom::scenario::codec::{decode, encode};
use headroom::units::MemoryUnit;
use headroom::worker::answer;
use headroom::worker::wire::{MARK, Reply, Request, What};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

fn told(story: &Story) -> Told {
    Told::of(story).unwrap_or_else(|problems| panic!("{}: {problems:?}", story.id))
}

#[test]
fn eight_stories_ship_with_four_to_eight_steps() {
    let stories = shipped();
    assert_eq!(stories.len(), 8);
    for story in &stories {
        assert!((4..=8).contains(&story.steps.len()), "{}", story.id);
        assert!(story.steps.iter().any(|step| step.question.is_some()), "{}", story.id);
        assert!(!story.title.is_empty() && !story.audience.is_empty());
    }
}

#[test]
fn every_claim_holds() {
    let (mut claims, mut wrong) = (0, Vec::new());
    for story in shipped() {
        for (index, (step, told)) in story.steps.iter().zip(told(&story).steps).enumerate() {
            for claim in &step.claims {
                claims += 1;
                let figure = Figure::find(&claim.figure).expect("a figure");
                let engine = (figure.of)(&told.facts);
                if !engine.is_some_and(|engine| engine.is(claim.value, claim.tolerance)) {
                    wrong.push(format!(
                        "{} step {}: {} is {engine:?}, not {:?}",
                        story.id,
                        index + 1,
                        claim.figure,
                        claim.value
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(claims > 100, "{claims}");
}

#[test]
fn every_text_is_filled_and_every_figure_it_names_is_claimed() {
    for story in shipped() {
        for (index, (step, told)) in story.steps.iter().zip(told(&story).steps).enumerate() {
            let place = format!("{} step {}", story.id, index + 1);
            for text in [&told.text, &told.prompt, &told.figure.0, &told.figure.1] {
                assert!(!text.contains(['{', '}', '–']), "{place}: {text}");
            }
            assert!(!step.title.is_empty() && !told.text.is_empty(), "{place}");
            assert!(told.text.chars().count() < 330, "{place}: {}", told.text);
            let digits = |text: &str| text.chars().filter(char::is_ascii_digit).count();
            assert!(digits(&step.text) <= 12, "{place} holds numbers of its own: {}", step.text);
            let asked = step.question.as_ref().map(|question| question.figure.as_str());
            for name in placeholders(&step.text).chain([step.figure.as_str()]).chain(asked) {
                let known = Figure::find(name).is_none()
                    || step.claims.iter().any(|claim| claim.figure == name);
                assert!(known, "{place}: nothing is claimed about {name}");
            }
        }
    }
}

/// The figures of a step's own scenario that a text names in braces.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| name)
        .filter(|name| !name.contains('@'))
}

#[test]
fn every_step_has_a_link_of_its_own_scenario() {
    for story in shipped() {
        for step in told(&story).steps {
            let link = encode(&step.scenario);
            let decoded = decode(&link);
            assert_eq!(decoded.scenario, step.scenario, "{link}");
            assert!(decoded.notices.is_empty(), "{link}: {:?}", decoded.notices);
            assert!(link.len() < 300, "{link}");
        }
    }
}

#[test]
fn a_written_story_is_read_again() {
    for story in shipped() {
        assert_eq!(Story::read(&story.write()), Ok(story));
    }
}

/// Prints all stories for a person to read: `cargo test --test it told_in_full -- --ignored
/// --nocapture`.
#[test]
#[ignore = "prints only"]
fn told_in_full() {
    for story in shipped() {
        println!("\n# {} ({})", story.title, story.audience);
        for (step, told) in story.steps.iter().zip(told(&story).steps) {
            let asked = if told.prompt.is_empty() {
                String::new()
            } else {
                format!("? {} [{}]\n", told.prompt, told.answer)
            };
            println!(
                "## {}\n{asked}{}\n   {}: {}  ({})",
                step.title,
                told.text,
                told.figure.0,
                told.figure.1,
                encode(&told.scenario)
            );
        }
    }
}

// ---- own stories ----

/// A text that does not repeat itself.
fn noise(seed: u64) -> String {
    let mut state = seed;
    let mut letter = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + u8::try_from((state >> 33) % 26).unwrap_or(0))
    };
    (0..500).map(|_| letter()).collect()
}

#[test]
fn a_short_story_fits_into_a_link_and_a_long_one_does_not() {
    let step = |text: &str| Step { text: text.to_owned(), ..Step::of("v1&m=llama3-8b&n=16") };
    let steps = ["First this.", "Then {per-gpu}.", "Then that: is it much?"].map(step).to_vec();
    let short =
        Story { id: "own".to_owned(), title: "Mine".to_owned(), audience: String::new(), steps };
    let link = packed(&short).expect("short enough");
    assert!(link.len() < 600, "{}", link.len());
    assert!(
        link.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.')),
        "{link}"
    );
    assert_eq!(unpacked(&link), Ok(short.clone()));
    let steps = (0..20).map(|seed| step(&noise(seed))).collect();
    assert_eq!(packed(&Story { steps, ..short.clone() }), None);
    for cut in 0..link.len() {
        assert!(unpacked(&link[..cut]).is_err(), "{cut}");
    }
    const { assert!(LONGEST_LINK < headroom::scenario::codec::LONGEST) };
}

#[test]
fn a_packed_bomb_is_refused() {
    // 10 MB of blanks, packed: far longer than a story may be.
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(&vec![b' '; 10 << 20], 10);
    let alphabet = base64::alphabet::Alphabet::new(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.",
    )
    .expect("an alphabet");
    let engine =
        base64::engine::GeneralPurpose::new(&alphabet, base64::engine::general_purpose::NO_PAD);
    let text = base64::Engine::encode(&engine, packed) + "z";
    assert!(matches!(unpacked(&text), Err(StoryError::Malformed(problems)) if problems.len() == 1));
}

#[test]
fn what_is_no_story_is_named() {
    let wrong = |json: &str| Story::read(json).expect_err(json).to_string();
    assert!(wrong("nonsense").contains("no story"));
    assert!(wrong(r#"{"headroom":"scenarios","v":1}"#).contains("no story"));
    assert_eq!(Story::read(r#"{"headroom":"story","v":2}"#), Err(StoryError::UnknownVersion(2)));
    assert!(wrong(r#"{"headroom":"story","v":2}"#).contains("newer version"));
    for old in [r#"{"headroom":"story","v":0}"#, r#"{"headroom":"story"}"#] {
        assert!(wrong(old).contains("no version"), "{old}");
    }
    assert!(
        wrong(r#"{"headroom":"story","v":1,"id":"a","title":"T","steps":[]}"#).contains("no steps")
    );
    let step = r#"{"link":"v1","text":"t","look":"moon","figure":"weight","question":{"prompt":""},"claims":[{}],"live":["xx"]}"#;
    let text = wrong(&format!(
        r#"{{"headroom":"story","v":1,"id":"A b","title":"","steps":[{step},{{}}]}}"#
    ));
    for part in [
        "id",
        "no title",
        "moon",
        "“weight” is no figure",
        "question asks nothing",
        "Step 1: “” is no figure",
        "none of the form",
        "Step 2: it has no scenario",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let long = Story {
        title: "x".to_owned(),
        id: "a".to_owned(),
        audience: String::new(),
        steps: vec![Step::of("v1"); 41],
    };
    assert!(wrong(&long.write()).contains("41 steps"));
    assert!(wrong(&" ".repeat(70_000)).contains("64 KiB"));
    let bad = Story { steps: vec![Step::of("v1&n=8&tp=3")], ..long };
    let problems = Told::of(&bad).err().expect("a problem").join(" ");
    assert!(problems.starts_with("Step 1: "), "{problems}");
}

/// Text as it may come from outside, also with markup, control characters and characters that
/// reorder text.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,80}",
        ".{0,40}",
        Just("<script>alert(1)</script>".to_owned()),
        Just("\u{202e}\"><img src=x onerror=alert(1)>{per-gpu@99999}{{{".to_owned()),
        Just("{per-gpu}{why-ju}{nothing}{per-gpu@1}{@}{".to_owned()),
        "[{}@a-z0-9]{0,60}",
        Just("é".repeat(3000)),
    ]
}

fn hostile_story() -> impl Strategy<Value = String> {
    let link = prop_oneof![3 => Just("v1&m=llama3-8b".to_owned()), 1 => hostile(), 1 => Just("v1&s=1&n=1000000".to_owned())];
    let figure = prop_oneof![4 => Just("per-gpu".to_owned()), 1 => hostile()];
    let step = (link, hostile(), hostile(), figure, hostile(), proptest::option::of(hostile()), any::<f64>()).prop_map(
        |(link, title, text, figure, look, prompt, tolerance)| {
            let tolerance = if tolerance.is_finite() { tolerance } else { 0.5 };
            let look = if look.len() % 2 == 0 { "bar".to_owned() } else { look };
            let mut step = serde_json::json!({ "link": link, "title": title, "text": text, "figure": figure, "look": look });
            if let Some(prompt) = prompt {
                step["question"] = serde_json::json!({ "figure": "per-gpu", "prompt": prompt, "tolerance": tolerance });
            }
            step
        },
    );
    (hostile(), hostile(), proptest::collection::vec(step, 0..4)).prop_map(|(title, audience, steps)| {
        serde_json::json!({ "headroom": "story", "v": 1, "id": "own", "title": title, "for": audience, "steps": steps })
            .to_string()
    })
}

/// `count` hostile stories that can be read, the same ones at every run.
fn readable(count: usize) -> Vec<Story> {
    let mut runner = TestRunner::deterministic();
    let drawn =
        (0..100 * count).map(|_| hostile_story().new_tree(&mut runner).expect("a story").current());
    let stories: Vec<Story> =
        drawn.filter_map(|json| Story::read(&json).ok()).take(count).collect();
    assert_eq!(stories.len(), count, "too few stories are read");
    stories
}

#[test]
fn no_story_can_break_the_page() {
    let mut runner =
        TestRunner::new(Config { cases: 10_000, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&hostile_story(), |json| {
        if let Ok(story) = Story::read(&json) {
            for text in story
                .steps
                .iter()
                .flat_map(|step| [&step.title, &step.text])
                .chain([&story.title, &story.audience])
            {
                prop_assert!(text.chars().count() <= LONGEST_TEXT);
                let hidden = ['\u{202e}', '\u{0}', '\n', '\u{200b}'];
                prop_assert!(!text.contains(hidden), "{}", text);
            }
            prop_assert_eq!(Story::read(&story.write()), Ok(story.clone()));
        }
        Ok(())
    });
    assert_eq!(outcome, Ok(()));
    // Only 40 are told, because telling one takes an estimate for each step.
    let told = readable(40).iter().filter(|story| Told::of(story).is_ok()).count();
    assert!(told > 5, "{told} of 40 told");
}

#[test]
fn packed_nonsense_is_refused_without_harm() {
    let mut runner =
        TestRunner::new(Config { cases: 10_000, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&"[A-Za-z0-9.-]{0,200}z", |text| {
        prop_assert!(unpacked(&text).is_err());
        Ok(())
    });
    assert_eq!(outcome, Ok(()));
}

// ---- what the page shows ----

/// Asks the worker's program; returns its orders and its HTML.
fn asked(what: What, link: &str, text: &str) -> (String, String) {
    let request = Request {
        number: 1,
        what,
        unit: MemoryUnit::Gb,
        fragment: link.to_owned(),
        text: text.to_owned(),
    };
    let request = Request::read(&request.write()).expect("a request");
    let reply = Reply::read(&answer(&request).write()).expect("a reply");
    let (orders, html) = reply.html.split_once(MARK).expect("a mark");
    assert_balanced(html);
    (orders.to_owned(), html.to_owned())
}

fn teach(verb: &str, form: &str, stored: &[(&str, &str)]) -> (String, String) {
    let mut text = format!("{verb}\nhttp://example.org/\n{form}");
    for (id, file) in stored {
        text.push(MARK);
        let kind = if id.starts_with("sheet:") { "" } else { "story:" };
        text.push_str(&[kind, *id, "\n", *file].concat());
    }
    asked(What::Teach, "v1&m=llama3-8b&n=16", &text)
}

/// Fails unless every opened element is closed, in order, and all are elements that the page writes
/// itself.
fn assert_balanced(html: &str) {
    let mut open = Vec::new();
    for tag in html.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').unwrap_or_else(|| panic!("a tag does not end: {html}"));
        let name = tag.split([' ', '/']).find(|name| !name.is_empty()).expect("a tag has a name");
        assert!(!matches!(name, "script" | "img" | "iframe" | "style" | "link" | "a"), "{html}");
        assert!(
            !tag.contains(" on")
                || tag.split('"').step_by(2).all(|outside| !outside.contains(" on")),
            "{tag}"
        );
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{html}");
        } else if name != "input" {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn the_list_names_every_story_and_exercise() {
    let (orders, html) = teach("show", "", &[]);
    assert_eq!(orders, "");
    for story in shipped() {
        assert!(html.contains(&format!("data-do=\"present:{}.1\"", story.id)), "{}", story.id);
        let (_, sheet) = teach(&format!("view:handout:{}", story.id), "", &[]);
        let (_, answers) = teach(&format!("view:answers:{}", story.id), "", &[]);
        assert!(
            answers.len() > sheet.len()
                && sheet.contains("Answer:")
                && !answers.contains("Answer:</p>")
        );
        assert!(sheet.contains(&format!("&amp;present={}.1", story.id)), "{sheet}");
        // A phone opens each step: a link on paper is long to type.
        assert_eq!(sheet.matches("<svg class=\"share__qr\"").count(), story.steps.len());
    }
    assert!(html.contains("Predict, then reveal") && html.contains("Worksheets"));
}

#[test]
fn a_story_comes_with_all_its_steps() {
    for story in shipped() {
        let (orders, html) = asked(What::Story, "v1", &format!("{}\n\n", story.id));
        assert_eq!(orders.lines().count(), story.steps.len());
        for (line, told) in orders.lines().zip(told(&story).steps) {
            let link =
                line.strip_prefix("step ").and_then(|rest| rest.split(' ').next()).expect("a link");
            assert_eq!(decode(link).scenario, told.scenario);
        }
        assert_eq!(html.matches("<article").count(), story.steps.len());
        let questions = story.steps.iter().filter(|step| step.question.is_some()).count();
        assert_eq!(html.matches("data-teach=\"step:answer\"").count(), questions);
    }
    let (orders, html) = asked(What::Story, "v1", "nothing-of-that-name\n\n");
    assert!(
        orders.starts_with("problem The story of this link is kept in another browser")
            && html.is_empty()
    );
    let (orders, _) = asked(What::Story, "v1", "packed\n\nstory=xyz");
    assert!(orders.starts_with("problem The story in this link is cut off"), "{orders}");
}

#[test]
fn a_question_is_answered_by_the_second_program() {
    let said = |answer: &str| {
        asked(
            What::Story,
            "v1&do=serve&m=llama2-7b&n=1",
            &format!("answer\n\nfigure=weights\ntolerance=0.02\nanswer={answer}"),
        )
    };
    assert_eq!(said("13.5 GB").0, "right");
    let (wrong, why) = said("6.74 GB");
    assert!(wrong.is_empty() && why.contains("Half of it"), "{why}");
    assert!(said("<b>").1.contains("This answer needs memory"));
    let (_, figure) = asked(What::Figure, "v1&do=serve&m=llama2-7b&n=1&u=gb", "weights");
    assert_eq!(figure, "13.5 GB");
}

#[test]
fn an_own_story_is_recorded_written_moved_and_taken_along() {
    let (orders, html) = teach("new", "", &[]);
    let stored = |orders: &str| {
        orders
            .lines()
            .find_map(|line| line.strip_prefix("store story:own-1 "))
            .expect("stored")
            .to_owned()
    };
    let first = stored(&orders);
    assert!(
        html.contains("name=\"editing\" value=\"own-1\"") && html.contains("#v1&amp;story="),
        "{html}"
    );
    let form = "editing=own-1\ntitle=Mine <b>\nfor=Class\ntitle-0=One\ntext-0=It takes {per-gpu}.\nlook-0=gpus\nfigure-0=weights\nask-0=weights\nprompt-0=How much?\ntolerance-0=10\nlive-0=n";
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
    let steps = (0..9).map(|seed| Step { text: noise(seed), ..Step::of("v1") }).collect();
    let long =
        Story { id: "own-1".to_owned(), title: "Long".to_owned(), audience: String::new(), steps }
            .write();
    let (_, html) = teach("view:edit:own-1", "", &[("own-1", &long)]);
    assert!(html.contains("too long for a link") && !html.contains("story-link\""), "{html}");
    let (orders, html) =
        teach("show", "", &[("own-1", "broken"), ("own-2", r#"{"headroom":"story","v":2}"#)]);
    assert!(html.contains("A story was made by a newer version of the page"), "{html}");
    assert!(orders.contains("aside story:own-1") && !orders.contains("aside story:own-2"));
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
        teach(&clean(&one), &format!("view={two}"), &[]);
        Ok(())
    });
    assert_eq!(outcome, Ok(()));
}

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

#[test]
fn progress_on_a_worksheet_is_kept_class_by_class_and_student_by_student() {
    let progress = |orders: &str| {
        orders
            .lines()
            .find_map(|line| line.strip_prefix("progress sheet:algebra "))
            .map(str::to_owned)
    };
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
fn kept_progress_is_read_again() {
    let mut kept = Kept::default();
    for number in 0..300_u32 {
        let tries = u8::try_from(number % 10).expect("small");
        let outcomes = vec![Outcome { right: number % 2 == 1 && tries > 0, tries }; 6];
        kept.keep(Code {
            class: "algebra".to_owned(),
            student: format!("student-{number}"),
            outcomes,
        });
    }
    assert_eq!(Kept::read("algebra", &kept.write()), Ok(kept.clone()));
    assert_eq!(kept.outcomes("Student 299").first(), Some(&Outcome { right: true, tries: 9 }));
    assert!(kept.outcomes("student-0").is_empty(), "the earliest ones go");
    assert_eq!(Kept::read("logic", &kept.write()), Err(KeptError::Malformed));
    assert_eq!(Kept::read("algebra", r#"{"v":9}"#), Err(KeptError::UnknownVersion(9)));
    let (right, wrong) = (Outcome { right: true, tries: 2 }, Outcome { right: false, tries: 5 });
    assert_eq!(
        [right.or(wrong), wrong.or(right), wrong.or(Outcome::default())],
        [right, right, wrong]
    );
}

// ---- answers ----

fn facts(link: &str) -> Facts {
    Facts::of(&decode(link).scenario).unwrap_or_else(|_| panic!("{link}"))
}

fn figure(id: &str) -> &'static Figure {
    Figure::find(id).unwrap_or_else(|| panic!("{id}"))
}

#[test]
fn answers_are_read_with_their_units() {
    let gigabytes = |text: &str| {
        read(text, Unit::Memory).map(|amount| amount.number().expect("a number") / 1e9)
    };
    for (text, expected) in [
        ("1.2 TB", 1200.0),
        ("1200e9", 1200.0),
        ("1 200 000 MB", 1200.0),
        ("12 GiB", 12.884_901_888),
        ("12GiB", 12.884_901_888),
        ("12 gib", 12.884_901_888),
        ("16 G", 16.0),
        ("16 Gi", 17.179_869_184),
        ("0,5 TB", 500.0),
        ("2 gigabytes", 2.0),
        ("80 000 000 000 bytes", 80.0),
    ] {
        let got = gigabytes(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
        assert!((got / expected - 1.0).abs() < 1e-12, "{text}: {got}");
    }
    assert!(gigabytes("16").is_err_and(|problem| problem.starts_with("Which unit?")));
    assert!(gigabytes("16 GPUs").is_err_and(|problem| problem.contains("12 GiB")));
    assert!(gigabytes("a lot").is_err());
    let counts = [
        ("3k", 3000.0),
        ("935 GPUs", 935.0),
        ("1 gpu", 1.0),
        ("1,024", 1024.0),
        ("2 million", 2e6),
    ];
    for (text, expected) in counts {
        assert!(
            read(text, Unit::Count("GPUs")).is_ok_and(|got| got.is(Amount::Number(expected), 0.0)),
            "{text}"
        );
    }
    assert_eq!(read("None", Unit::Count("GPUs")), Ok(Amount::Never));
    for (text, unit, expected) in [
        ("300 ms", Unit::Seconds, 0.3),
        ("2 min", Unit::Seconds, 120.0),
        ("133 %", Unit::Share, 1.33),
        ("133", Unit::Share, 1.33),
        ("4x", Unit::Times, 4.0),
        ("16 bytes", Unit::BytesPerParameter, 16.0),
        ("1e21", Unit::Flops, 1e21),
        ("1200 tokens/s", Unit::PerSecond("tokens"), 1200.0),
        ("48 hours", Unit::Days, 2.0),
    ] {
        assert!(
            read(text, unit).is_ok_and(|got| got.is(Amount::Number(expected), 1e-12)),
            "{text}: {:?}",
            read(text, unit)
        );
    }
}

#[test]
fn a_known_factor_is_named() {
    let train = facts("v1&m=llama2-7b&gpu=b200&n=1&z=none&s=512&gb=1&u=gb");
    let serve = facts("v1&do=serve&m=llama3-70b&tp=8&n=8&u=gb");
    let zero = facts("v1&m=llama2-7b&n=8&z=3&s=2048&u=gb");
    let said = |facts: &Facts, id: &str, factor: f64| {
        let truth = (figure(id).of)(facts).and_then(Amount::number).expect("a number");
        let unit = if figure(id).unit == Unit::Memory { " bytes" } else { "" };
        let feedback =
            check(&format!("{}{unit}", truth * factor), figure(id), facts, 0.005).expect("read");
        assert_eq!(feedback.right, (factor - 1.0).abs() < 0.005);
        feedback.text
    };
    for (facts, id, factor, expected) in [
        (&train, "states", 1.0, "Right."),
        (&train, "states", 14.0 / 16.0, "gradients are missing"),
        (&train, "states", 12.0 / 16.0, "master copy"),
        (&train, "states", 4.0 / 16.0, "optimizer states are missing"),
        (&train, "bytes-per-parameter", 14.0 / 16.0, "gradients are missing"),
        (&train, "states", 2.0, "Twice"),
        (&train, "states", 1.073_741_824, "GiB"),
        (&train, "states", 1.0 / 1.073_741_824, "GiB"),
        (&train, "states", 8.0, "bits"),
        (&train, "weights", 8.0 / 7.0, "Eight sevenths"),
        (&train, "weights", 1000.0, "thousand"),
        (&serve, "kv-per-token", 8.0, "only the key/value heads"),
        (&serve, "kv-per-token", 0.5, "keys and values"),
        (&serve, "kv-per-token", 1.0 / 80.0, "one layer"),
        (&serve, "kv-cache", 1.0 / 16.0, "one sequence"),
        (&zero, "states", 8.0, "all GPUs together"),
        (&zero, "weights", 1.0 / 8.0, "once too often"),
        (&train, "states", 1.31, "Too much."),
    ] {
        let text = said(facts, id, factor);
        assert!(text.contains(expected), "{id} × {factor}: {text}");
    }
    let impossible = facts("v1&m=llama2-7b&gpu=a100-40&n=8&z=none&s=512");
    let gpus = check("12", figure("runnable"), &impossible, 0.0).expect("read");
    assert!(!gpus.right && gpus.text.contains("no such number"));
    assert!(check("none", figure("runnable"), &impossible, 0.0).expect("read").right);
    assert!(check("16 GB", figure("kv-per-token"), &train, 0.1).is_err(), "training has no cache");
}

#[test]
fn no_answer_can_break_the_reader() {
    let mut runner =
        TestRunner::new(Config { cases: 10_000, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&("\\PC{0,80}", 0..FIGURES.len()), |(text, index)| {
        let _ = read(&text, FIGURES[index].unit);
        Ok(())
    });
    assert_eq!(outcome, Ok(()));
}

// ---- worksheets ----

/// The tasks drawn for some students. These lines never change, because a worksheet that was handed
/// out keeps its numbers.
const FROZEN: &str = include_str!("../lessons/worksheets.txt");

fn drawn(class: &str, student: &str) -> String {
    let sheet = Worksheet::of(class, student);
    let line = |(index, task): (usize, &headroom::lessons::worksheet::Task)| {
        format!("{class}.{student} {} {} {}\n", index + 1, task.figure.id, encode(&task.scenario))
    };
    sheet.tasks.iter().enumerate().map(line).collect()
}

#[test]
fn a_seed_keeps_its_numbers() {
    let students =
        [("algebra", "ada"), ("algebra", "bo"), ("mlsys-2026", ""), ("mlsys-2026", "chidi-o")];
    let now: String = students.iter().map(|(class, student)| drawn(class, student)).collect();
    assert_eq!(now, FROZEN);
}

#[test]
fn every_draw_is_a_task_that_can_be_answered() {
    for student in 0..60 {
        let sheet = Worksheet::of("class", &student.to_string());
        assert_eq!(sheet.tasks.len(), 6, "{student}");
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

// ---- whose numbers a slide shows ----

/// A picture of one method beside a figure of another shows different numbers, so both must then
/// name their method.
#[test]
fn figure_and_picture_of_every_step_are_of_one_method_or_say_whose_they_are() {
    let mut steps = 0;
    for story in shipped() {
        let (_, stage) = asked(What::Story, "v1", &format!("{}\nhttp://example.org/\n", story.id));
        let articles: Vec<&str> = stage.split("<article").skip(1).collect();
        for (index, (step, told)) in story.steps.iter().zip(told(&story).steps).enumerate() {
            steps += 1;
            let (place, figure) =
                (format!("{} step {}", story.id, index + 1), step.shown().expect("a figure"));
            let same = match (figure.whose, step.look) {
                (Whose::Scenario, _) | (Whose::AtStep, Look::States | Look::Step) => true,
                (Whose::Document(_), _) | (_, Look::Methods) => false,
                (Whose::Engine, look) => look != Look::States,
                // Where the peak and the optimizer's step hold equal states, the picture shows the
                // parts of the figure.
                (Whose::AtStep, _) => states_at_peak(&told.facts),
            };
            let words = unescaped(articles[index]);
            let Some(whose) = &told.whose else {
                assert!(same, "{place}: nobody says whose the figure and the picture are");
                continue;
            };
            assert!(!same, "{place}: they are of one method");
            assert!(words.contains(&format!("Picture: {}", whose.picture)), "{place}: {words}");
            let label = words.split("data-testid=\"present-label\">").nth(1).expect("a label");
            let name = whose.figure.trim_start_matches("by ");
            assert!(
                label.split("</p>").next().is_some_and(|label| label.contains(name)),
                "{place}: {label}"
            );
        }
    }
    assert_eq!(steps, 56);
}

/// True if weights, gradients and optimizer states print the same at the peak and in the
/// optimizer's step.
fn states_at_peak(facts: &Facts) -> bool {
    use headroom::estimator::MemoryKind;
    [MemoryKind::Parameter, MemoryKind::Gradient, MemoryKind::OptimizerState].into_iter().all(
        |kind| {
            facts.at_step(kind).is_some_and(|bytes| {
                facts.scale().show(bytes) == facts.scale().show(facts.kind(kind))
            })
        },
    )
}

/// HTML with its apostrophes and quotes as they are read.
fn unescaped(html: &str) -> String {
    html.replace("&#39;", "'").replace("&quot;", "\"")
}

/// A text may compare methods, but must name the document whose number it states, so that nobody
/// takes it for the engine's.
#[test]
fn a_text_with_a_document_s_figure_names_the_document() {
    let mut citing = 0;
    for story in shipped() {
        for (index, step) in story.steps.iter().enumerate() {
            for text in [
                &step.text,
                &step.question.as_ref().map(|question| question.prompt.clone()).unwrap_or_default(),
            ] {
                let cites = placeholders(text).any(|name| {
                    name == "why-ju"
                        || Figure::find(name)
                            .is_some_and(|it| matches!(it.whose, Whose::Document(_)))
                });
                let names =
                    ["document", "fifth"].iter().any(|word| text.to_lowercase().contains(word))
                        || step.look == Look::Methods;
                assert!(!cites || names, "{} step {}: {text}", story.id, index + 1);
                citing += usize::from(cites);
            }
        }
    }
    assert!(citing > 0, "no text cites a document");
}

#[test]
fn every_question_is_answered_on_its_own_step_and_not_by_its_title() {
    let mut answered = 0;
    for story in shipped() {
        let told = told(&story);
        for (index, (step, found)) in story
            .steps
            .iter()
            .zip(&told.steps)
            .enumerate()
            .filter(|(_, (_, it))| !it.answer.is_empty())
        {
            let place = format!("{} step {}", story.id, index + 1);
            let said =
                format!("{} {}", found.text, found.figure.1).to_lowercase().replace('\u{a0}', " ");
            let in_words =
                place == "three-cuts step 4" && said.contains("the first stage holds most");
            assert!(
                said.contains(&found.answer.to_lowercase()) || in_words,
                "{place}: {} is not in {said}",
                found.answer
            );
            assert!(
                !told.tells_an_answer(&step.title),
                "{place}: {} gives {} away",
                step.title,
                found.answer
            );
            answered += 1;
        }
    }
    assert!(answered > 0, "no step asks a question");
}

// ---- handouts ----

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
