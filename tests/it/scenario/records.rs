//! Saved scenarios: records, storage keys, and the file that holds all of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use headroom::scenario::records::{
    RecordError, SavedScenario, export_all, from_json, id_of_key, import_all, new_id,
    quarantine_key, to_json,
};
use headroom::scenario::{Scenario, codec};

fn record(id: &str, name: &str) -> SavedScenario {
    let mut scenario = Scenario::default();
    scenario.set_model("llama3-70b");
    SavedScenario {
        id: id.to_owned(),
        name: name.to_owned(),
        saved_at_ms: 1_795_000_000_000,
        revision: 3,
        link: codec::encode(&scenario),
    }
}

#[test]
fn a_record_comes_back() {
    let saved = record("19a-7", "ZeRO-3 “tight” – 日本");
    assert_eq!(from_json(&to_json(&saved)), Ok(saved.clone()));
    assert_eq!(saved.storage_key(), "headroom:v1:s:19a-7");
    assert_eq!(id_of_key(&saved.storage_key()), Some("19a-7"));
    assert_eq!(quarantine_key(&saved.storage_key(), 5), "headroom:corrupt:headroom:v1:s:19a-7:5");
}

#[test]
fn the_written_form_is_frozen() {
    let mut saved = record("a", "b");
    saved.link = "v1&m=llama3-70b".to_owned();
    let json = r#"{"v":1,"id":"a","name":"b","saved_at":1795000000000,"revision":3,"link":"v1&m=llama3-70b"}"#;
    assert_eq!(to_json(&saved), json);
    assert_eq!(from_json(json), Ok(saved));
}

#[test]
fn what_is_no_record_is_named() {
    let malformed = |why: &str| Err(RecordError::Malformed(why.to_owned()));
    for text in [
        "null",
        "{",
        "[]",
        "",
        "7",
        "\"x\"",
        "{}",
        r#"{"v":"1"}"#,
        r#"{"v":-1}"#,
        &"a".repeat(4 << 20),
    ] {
        assert_eq!(from_json(text), malformed("it has no record version"));
    }
    assert_eq!(from_json(r#"{"v":1,"id":"a"}"#), malformed("a part of it is missing or wrong"));
    assert_eq!(from_json(r#"{"v":2,"what":"ever"}"#), Err(RecordError::UnknownVersion(2)));
    assert_eq!(from_json(&to_json(&record("UP", "x"))), malformed("its id is wrong"));
    assert_eq!(from_json(&to_json(&record("", "x"))), malformed("its id is wrong"));
    let mut cut = record("a", "x");
    cut.link.truncate(cut.link.len() - 1);
    assert_eq!(from_json(&to_json(&cut)), malformed("its link does not open"));
    assert_eq!(from_json(&"a".repeat(6 << 20)), malformed("it is too long"));
    assert_eq!(
        RecordError::UnknownVersion(2).to_string(),
        "this was saved by a newer version of the page (record version 2); reload the page to get \
         it"
    );
}

#[test]
fn names_are_cleaned_when_read() {
    let read = from_json(&to_json(&record("a", &format!("\u{202e}evil\u{7} {}", "x".repeat(100)))))
        .unwrap();
    assert!(read.name.starts_with("evil x") && read.name.chars().count() == 60, "{}", read.name);
}

#[test]
fn all_records_travel_in_one_file() {
    let records = [record("a", "one"), record("b", "two")];
    let imported = import_all(&export_all(&records)).unwrap();
    assert_eq!(imported.records, records);
    assert!(imported.skipped.is_empty());
    assert_eq!(import_all(&export_all(&[])).unwrap().records, []);
}

#[test]
fn one_bad_record_does_not_spoil_the_file() {
    let good = to_json(&record("a", "one"));
    let file =
        format!(r#"{{"headroom":"scenarios","v":1,"scenarios":[7,{good},{{"v":9}},{good}]}}"#);
    let imported = import_all(&file).unwrap();
    assert_eq!(imported.records, [record("a", "one")]);
    assert_eq!(
        imported.skipped,
        [
            "Scenario 1 is left out: this is not a saved scenario: it has no record version.",
            "Scenario 3 is left out: this was saved by a newer version of the page (record version \
             9); reload the page to get it.",
            "Scenario 4 (“one”) is left out: an earlier one has the same id.",
        ]
    );
}

#[test]
fn other_files_are_refused_in_one_sentence() {
    let none = "This file holds no saved scenarios: choose a file that “Download all” or “Inputs \
        as JSON” of this page has made.";
    for text in [
        "",
        "{",
        "[]",
        "{}",
        r#"{"headroom":"scenarios"}"#,
        r#"{"headroom":"scenarios","scenarios":{}}"#,
        "<html>",
    ] {
        assert_eq!(import_all(text), Err(none.to_owned()), "{text}");
    }
    let many = format!(r#"{{"headroom":"scenarios","v":1,"scenarios":[{}0]}}"#, "0,".repeat(1000));
    assert_eq!(
        import_all(&many),
        Err("This file holds 1001 scenarios, more than the 1000 that can be read at once."
            .to_owned())
    );
    assert!(
        import_all(&" ".repeat(6 << 20)).unwrap_err().starts_with("This file is larger than 5 MiB")
    );
}

#[test]
fn ids_are_valid_and_differ() {
    let (first, second) = (new_id(1_795_000_000_000, 1), new_id(1_795_000_000_000, 2));
    assert_ne!(first, second);
    for id in [first, second, new_id(u64::MAX, u32::MAX), new_id(0, 0)] {
        let key = format!("headroom:v1:s:{id}");
        assert_eq!(id_of_key(&key), Some(id.as_str()));
    }
    assert_eq!(id_of_key("headroom:theme"), None);
    assert_eq!(id_of_key("headroom:v1:s:"), None);
}
