//! Lessons: shipped stories are true, users' own stories are safe, answers are read, and worksheets
//! never change.

#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

mod answers;
mod own_stories;
mod worksheets;

use std::fs;

use headroom::lessons::figure::{Facts, Figure, Whose};
use headroom::lessons::story::{
    LONGEST_LINK, LONGEST_TEXT, LessonStep, Look, Story, StoryError, Told, packed, shipped,
    unpacked,
};
use headroom::scenario::codec::{decode, encode};
use headroom::units::MemoryUnit;
use headroom::worker::answer;
use headroom::worker::question::WorkerQuestion;
use headroom::worker::wire::{MARK, Reply, Request, What};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

fn told(story: &Story) -> Told {
    Told::of(story).unwrap_or_else(|problems| panic!("{}: {problems:?}", story.id))
}

/// A story is one file: whoever adds one touches no list.
#[test]
fn every_file_of_the_folder_ships_in_the_order_of_names() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/lessons/stories");
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let ids = files.iter().map(|name| {
        let id = name.strip_suffix(".json").and_then(|name| name.split_once('-'));
        id.unwrap_or_else(|| panic!("{name}: write PLACE-ID.json")).1
    });
    let shipped = shipped();
    let shipped: Vec<_> = shipped.iter().map(|story| story.id.as_str()).collect();
    assert_eq!(shipped, ids.collect::<Vec<_>>());
}

#[test]
fn stories_ship_with_four_to_eight_steps() {
    for story in shipped() {
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
    let step =
        |text: &str| LessonStep { text: text.to_owned(), ..LessonStep::of("v1&m=llama3-8b&n=16") };
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
        steps: vec![LessonStep::of("v1"); 41],
    };
    assert!(wrong(&long.write()).contains("41 steps"));
    assert!(wrong(&" ".repeat(70_000)).contains("64 KiB"));
    let bad = Story { steps: vec![LessonStep::of("v1&n=8&tp=3")], ..long };
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
    let link = prop_oneof![3 => Just("v1&m=llama3-8b".to_owned()), 1 => hostile(),
        1 => Just("v1&s=1&n=1000000".to_owned())];
    let figure = prop_oneof![4 => Just("per-gpu".to_owned()), 1 => hostile()];
    let step = (
        link,
        hostile(),
        hostile(),
        figure,
        hostile(),
        proptest::option::of(hostile()),
        any::<f64>(),
    )
        .prop_map(|(link, title, text, figure, look, prompt, tolerance)| {
            let tolerance = if tolerance.is_finite() { tolerance } else { 0.5 };
            let look = if look.len() % 2 == 0 { "bar".to_owned() } else { look };
            let mut step = serde_json::json!({ "link": link, "title": title, "text": text,
                "figure": figure, "look": look });
            if let Some(prompt) = prompt {
                step["question"] = serde_json::json!({ "figure": "per-gpu", "prompt": prompt,
                    "tolerance": tolerance });
            }
            step
        });
    (hostile(), hostile(), proptest::collection::vec(step, 0..4)).prop_map(
        |(title, audience, steps)| {
            serde_json::json!({ "headroom": "story", "v": 1, "id": "own", "title": title,
            "for": audience, "steps": steps })
            .to_string()
        },
    )
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
        unit: MemoryUnit::Gb,
        fragment: link.to_owned(),
        question: WorkerQuestion::read(what, text).expect("a question"),
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

// ---- answers ----

fn facts(link: &str) -> Facts {
    Facts::of(&decode(link).scenario).unwrap_or_else(|_| panic!("{link}"))
}

fn figure(id: &str) -> &'static Figure {
    Figure::find(id).unwrap_or_else(|| panic!("{id}"))
}

// ---- worksheets ----

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
    assert!(steps > 0, "no step shows a figure");
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
