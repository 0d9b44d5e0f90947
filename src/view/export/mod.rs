//! Files to download: one table of their forms, which page and command line share. No browser in
//! here.

mod document;
mod tables;

use serde_json::{Map, Value, json as object};

use super::compared::LETTERS;
use super::words::{about, remarks, shown};
use crate::scenario::{Field, FieldId, Scenario, Value as Input, codec, records, show};

/// A form in which a scenario and its answer leave as a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// The whole answer as Markdown.
    Answer,
    /// The points of both curves as CSV.
    Curves,
    /// The ledger as CSV.
    Ledger,
    /// The inputs as JSON; the page's saved scenarios read it.
    Scenario,
}

impl ExportFormat {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Answer, Self::Curves, Self::Ledger, Self::Scenario];

    /// Its word: the end of the file's name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Answer => "answer.md",
            Self::Curves => "curves.csv",
            Self::Ledger => "ledger.csv",
            Self::Scenario => "scenario.json",
        }
    }

    /// The form of that word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.word() == word)
    }

    /// The words on its button.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Answer => "Answer as Markdown",
            Self::Curves => "Curves as CSV",
            Self::Ledger => "Ledger as CSV",
            Self::Scenario => "Inputs as JSON",
        }
    }

    /// The file's media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Answer => "text/markdown",
            Self::Curves | Self::Ledger => "text/csv",
            Self::Scenario => "application/json",
        }
    }
}

/// The contents of a file to download, and where they come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Luggage {
    /// The scenario shown.
    pub scenario: Scenario,
    /// Those pinned beside it.
    pub compare: Vec<Scenario>,
    /// The page's address, without a fragment; empty where it is not known.
    pub address: String,
    /// The moment of the download in words.
    pub when: String,
    /// That moment, milliseconds since 1970.
    pub clock_ms: u64,
    /// True if the curve over the length goes by doublings.
    pub log: bool,
}

impl Luggage {
    /// The link of everything, with the page's address where that is known.
    pub fn link(&self) -> String {
        let fragment = codec::encode_all(&self.scenario, &self.compare);
        if self.address.is_empty() { fragment } else { format!("{}#{fragment}", self.address) }
    }

    /// The scenarios with their letters.
    fn lettered(&self) -> impl Iterator<Item = (&'static str, &Scenario)> {
        std::iter::once(("A", &self.scenario)).chain(LETTERS.into_iter().zip(&self.compare))
    }
}

/// The file in that form.
///
/// # Errors
/// A sentence where the scenario shown has an input that needs a look, so that there is no answer.
pub fn file(form: ExportFormat, luggage: &Luggage) -> Result<String, String> {
    match form {
        ExportFormat::Answer => document::markdown(luggage),
        ExportFormat::Curves => tables::curves(luggage),
        ExportFormat::Ledger => tables::ledger(luggage),
        ExportFormat::Scenario => Ok(inputs(luggage)),
    }
}

/// The error of a file whose scenario has no answer.
fn no_answer() -> String {
    "An input needs a look before there is an answer to take along.".to_owned()
}

/// The inputs with keys, labels and units, and the link that holds them all.
fn inputs(luggage: &Luggage) -> String {
    let scenario = |(letter, scenario): (&'static str, &Scenario)| {
        let remarks: Vec<String> =
            remarks(scenario).into_iter().map(|remark| remark.text).collect();
        object!({
            "letter": letter, "about": about(scenario), "name": scenario.name(), "remarks": remarks, "inputs": fields_of(scenario),
        })
    };
    let name = luggage.scenario.name();
    let file = object!({
        "headroom": records::SCENARIO_FILE,
        "v": records::VERSION,
        "version": env!("CARGO_PKG_VERSION"),
        "name": if name.is_empty() { about(&luggage.scenario) } else { name },
        "saved_at": luggage.clock_ms,
        "link": codec::encode_all(&luggage.scenario, &luggage.compare),
        "address": luggage.link(),
        "note": "The link holds all inputs and is what opening this file reads; the list repeats \
            them with labels and units.",
        "scenarios": luggage.lettered().map(scenario).collect::<Vec<_>>(),
    });
    format!("{file:#}\n")
}

/// Every input that the scenario's mode has.
fn fields_of(scenario: &Scenario) -> Value {
    let one = |field: &'static Field| {
        let value = scenario.get(field.id);
        let about = object!({
            "label": field.label, "name": field.name, "value": plain(field.id, &value), "shown": shown(scenario, field.id), "unit": field.unit,
            "set": scenario.is_set(field.id),
        });
        (field.key.to_owned(), about)
    };
    Value::Object(scenario.counting_fields().map(one).collect::<Map<_, _>>())
}

/// A value as JSON: numbers as numbers, words as links write them.
fn plain(id: FieldId, value: &Input) -> Value {
    match value {
        Input::Integer(number) => (*number).into(),
        Input::Decimal(number) => (*number).into(),
        Input::Choice(word) => (*word).into(),
        Input::Flag(yes) => (*yes).into(),
        Input::Text(text) => text.as_str().into(),
        Input::Layers(_) => show(id, value).into(),
        Input::Empty => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::{ExportFormat, Luggage, file};
    use crate::estimator::estimate;
    use crate::scenario::codec::decode;
    use crate::scenario::records::import_all;

    fn luggage(link: &str) -> Luggage {
        let decoded = decode(link);
        Luggage {
            scenario: decoded.scenario,
            compare: decoded.compare,
            address: "https://example.org/headroom/".to_owned(),
            when: "22/11/2026, 12:00:00".to_owned(),
            clock_ms: 1_790_000_000_000,
            log: true,
        }
    }

    const FOUR: &str =
        "v1&m=llama3-8b&n=8&name=a.7c-3czb.3ez&b.n=16&c.new=1&c.m=llama3-70b&d.do=serve";

    #[test]
    fn every_form_is_found_by_its_word() {
        for form in ExportFormat::ALL {
            assert_eq!(ExportFormat::of(form.word()), Some(form));
            assert!(!file(form, &luggage("v1&m=llama3-8b&n=8")).unwrap().is_empty());
        }
        assert_eq!(ExportFormat::of("answer.pdf"), None);
    }

    #[test]
    fn the_ledger_as_csv_adds_up_to_the_byte() {
        let luggage = luggage(FOUR);
        let text = file(ExportFormat::Ledger, &luggage).unwrap();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let mut sums = std::collections::BTreeMap::new();
        for row in reader.records().map(Result::unwrap) {
            *sums.entry(row[0].to_owned()).or_insert(0) += row[3].parse::<u64>().unwrap();
        }
        let expected: Vec<(String, u64)> = luggage
            .lettered()
            .map(|(letter, scenario)| {
                (letter.to_owned(), estimate(&scenario.resolve().unwrap()).total().0)
            })
            .collect();
        assert_eq!(sums.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_curves_as_csv_hold_the_scenarios_own_point() {
        let luggage = luggage(FOUR);
        let text = file(ExportFormat::Curves, &luggage).unwrap();
        for (letter, scenario) in luggage.lettered() {
            let total = estimate(&scenario.resolve().unwrap()).total().0;
            let own = |row: &csv::StringRecord| {
                row[0] == *letter && row[1].starts_with("gpus") && row[10].parse() == Ok(total)
            };
            assert!(
                csv::Reader::from_reader(text.as_bytes())
                    .records()
                    .map(Result::unwrap)
                    .any(|row| own(&row)),
                "{letter}"
            );
        }
    }

    #[test]
    fn the_inputs_as_json_open_as_a_saved_scenario() {
        let luggage = luggage(FOUR);
        let text = file(ExportFormat::Scenario, &luggage).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["scenarios"][0]["inputs"]["n"]["value"], 8);
        assert_eq!(json["scenarios"][0]["inputs"]["s"]["unit"], "tokens");
        assert_eq!(json["scenarios"].as_array().unwrap().len(), 4);
        let imported = import_all(&text).unwrap();
        assert_eq!((imported.records.len(), imported.skipped.len()), (1, 0));
        let record = &imported.records[0];
        assert_eq!((record.name.as_str(), record.saved_at_ms), ("a|<b>", 1_790_000_000_000));
        let decoded = decode(&record.link);
        assert_eq!((decoded.scenario, decoded.compare), (luggage.scenario, luggage.compare));
        // A file that is read twice gives one record.
        assert_eq!(import_all(&text).unwrap().records[0].id, record.id);
        let broken = text.replace("\"v2&", "\"v9&");
        assert_eq!(import_all(&broken).unwrap().records.len(), 0);
    }

    #[test]
    fn the_markdown_says_what_the_report_says_and_a_name_is_no_markup() {
        let luggage = luggage(FOUR);
        let text = file(ExportFormat::Answer, &luggage).unwrap();
        let job = luggage.scenario.resolve().unwrap();
        let report = crate::view::report::Report::of(&luggage.scenario, &job, None);
        for part in [
            &report.headline(),
            &report.margin(),
            &report.counts(),
            "| What differs | A | B | C | D |",
            &luggage.link(),
        ] {
            assert!(text.contains(part), "{part} is missing");
        }
        assert!(text.starts_with("# a\\|\\<b\\>: Training Llama 3 8B"), "{}", &text[..60]);
        // Every row of a table has as many cells as its head.
        let cells = |line: &str| line.replace("\\|", "").matches('|').count();
        let mut head = 0;
        for line in text.lines() {
            if line.starts_with('|') {
                head = if head == 0 { cells(line) } else { head };
                assert_eq!(cells(line), head, "{line}");
            } else {
                head = 0;
            }
        }
    }
}
