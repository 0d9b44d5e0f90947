//! Every button, input and form that the page and its second program write says something that the
//! page understands.

#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use headroom::view::action::{Action, PlanVerb, Sent, Settled};
use miniz_oxide::inflate::decompress_to_vec_zlib;

/// The recorded HTML of every part and panel, which another test holds to be what they write;
/// numbers in it are 0.
fn recorded() -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/net/parts.json.zz");
    let text = decompress_to_vec_zlib(&std::fs::read(file).expect("the net")).expect("unpacked");
    let (texts, _): (Vec<String>, BTreeMap<String, usize>) =
        serde_json::from_slice(&text).expect("the net");
    texts
}

/// Every value of that attribute.
fn values(texts: &[String], attribute: &str) -> BTreeSet<String> {
    let begins = format!(" {attribute}=\"");
    let in_one = |text: &String| {
        let pieces = text.split(begins.as_str()).skip(1).filter_map(|rest| rest.split('"').next());
        pieces.map(|value| value.replace("&amp;", "&")).collect::<Vec<_>>()
    };
    texts.iter().flat_map(in_one).collect()
}

/// Values that are not understood. The net has no digits but 0, so a key with a digit in it is none
/// that a field has.
fn strange(texts: &[String], attribute: &str, is_read: impl Fn(&str) -> bool) -> Vec<String> {
    let all = values(texts, attribute);
    assert!(!all.is_empty(), "nothing says {attribute}");
    all.into_iter().filter(|value| !is_read(value) && !value.contains('0')).collect()
}

#[test]
fn whatever_the_markup_says_is_understood() {
    let texts = recorded();
    assert_eq!(
        strange(&texts, "data-do", |said| Action::read(said).is_some()),
        Vec::<String>::new()
    );
    assert_eq!(
        strange(&texts, "data-change", |said| Settled::read(said).is_some()),
        Vec::<String>::new()
    );
    assert_eq!(
        strange(&texts, "data-teach", |said| Sent::read(said).is_some()),
        Vec::<String>::new()
    );
    assert_eq!(
        strange(&texts, "data-plan", |said| PlanVerb::read(said).is_some()),
        Vec::<String>::new()
    );
    let done: Vec<_> =
        values(&texts, "data-do").iter().filter_map(|said| Action::read(said)).collect();
    assert!(done.len() > 100, "{}", done.len());
}
