//! Lessons: the stories that ship are true, own stories are safe, answers are read, worksheets stay what they are.

#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use headroom::lessons::figure::Figure;
use headroom::lessons::story::{Story, Told, shipped};
use headroom::scenario::codec::{decode, encode};

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
                    wrong.push(format!("{} step {}: {} is {engine:?}, not {:?}", story.id, index + 1, claim.figure, claim.value));
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
                let known = Figure::find(name).is_none() || step.claims.iter().any(|claim| claim.figure == name);
                assert!(known, "{place}: nothing is claimed about {name}");
            }
        }
    }
}

/// The figures of a step's own scenario that a text names.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).filter(|name| !name.contains('@'))
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

/// The stories as they are told, for reading: `cargo test --test lessons -- --ignored --nocapture told_in_full`.
#[test]
#[ignore = "prints only"]
fn told_in_full() {
    for story in shipped() {
        println!("\n# {} ({})", story.title, story.audience);
        for (step, told) in story.steps.iter().zip(told(&story).steps) {
            let asked = if told.prompt.is_empty() { String::new() } else { format!("? {} [{}]\n", told.prompt, told.answer) };
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
