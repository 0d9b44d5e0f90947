//! Saved scenarios: one versioned record each, kept under a key of its own, and all of them
//! together in one file.
//!
//! A record holds the scenario as a link, so that everything that opens old links opens old records
//! too.

use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use super::{FieldId, FieldKind, codec, field, text};

/// Prefix of a saved scenario's storage key; the id follows.
pub const KEY_PREFIX: &str = "headroom:v1:s:";
/// Prefix of the storage key under which a record is put aside that could not be read.
pub const QUARANTINE_PREFIX: &str = "headroom:corrupt:";
/// The version of the records written.
pub const VERSION: u32 = 1;
/// The word that marks a file with one scenario and its inputs.
pub const SCENARIO_FILE: &str = "scenario";
/// The longest record or file that is looked at, bytes.
pub const LONGEST_FILE: usize = 5 << 20;
/// The most scenarios one file may hold.
pub const MOST_RECORDS: usize = 1000;

/// One saved scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedScenario {
    /// Its id: lower-case letters, digits and `-`, at most 40; never shown.
    pub id: String,
    /// Its name.
    pub name: String,
    /// When it was saved, milliseconds since 1970.
    pub saved_at_ms: u64,
    /// How often it was saved; of two records with one id the higher revision is the newer.
    pub revision: u32,
    /// The scenario as a link, without `#`.
    pub link: String,
}

/// Why a record cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecordError {
    /// The text is no record, or a part of it is missing or wrong.
    #[error("this is not a saved scenario: {0}")]
    Malformed(String),
    /// A later version of the page wrote it.
    #[error(
        "this was saved by a newer version of the page (record version {0}); reload the page to \
         get it"
    )]
    UnknownVersion(u32),
}

/// Content of a file of saved scenarios.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedRecords {
    /// The scenarios that could be read.
    pub records: Vec<SavedScenario>,
    /// One sentence for each one that could not.
    pub skipped: Vec<String>,
}

/// A JSON document as its reader gives it: serde's, or on the page the browser's own, so that the
/// page carries no reader.
pub trait Document: Sized {
    /// Reads a text; `None` where it is no JSON.
    fn read(json: &str) -> Option<Self>;
    /// The whole number under that key, none below zero.
    fn whole(&self, key: &str) -> Option<u64>;
    /// The text under that key.
    fn words(&self, key: &str) -> Option<String>;
    /// The list under that key.
    fn list(&self, key: &str) -> Option<Vec<Self>>;
}

impl Document for Value {
    fn read(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    fn whole(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(Self::as_u64)
    }

    fn words(&self, key: &str) -> Option<String> {
        self.get(key).and_then(Self::as_str).map(str::to_owned)
    }

    fn list(&self, key: &str) -> Option<Vec<Self>> {
        self.get(key).and_then(Self::as_array).cloned()
    }
}

#[derive(Serialize)]
struct Wire {
    v: u32,
    id: String,
    name: String,
    saved_at: u64,
    revision: u32,
    link: String,
}

#[derive(Serialize)]
struct File {
    headroom: &'static str,
    v: u32,
    scenarios: Vec<Wire>,
}

impl SavedScenario {
    /// Returns the key under which the record is stored.
    pub fn storage_key(&self) -> String {
        format!("{KEY_PREFIX}{}", self.id)
    }
}

/// Returns the id of a saved scenario from its storage key; `None` for other keys.
pub fn id_of_key(key: &str) -> Option<&str> {
    key.strip_prefix(KEY_PREFIX).filter(|id| is_id(id))
}

/// Returns the key where a record that cannot be read is put aside, so that nothing is lost:
/// `headroom:corrupt:<key>:<time>`.
///
/// `time_ms` is milliseconds since 1970.
pub fn quarantine_key(key: &str, time_ms: u64) -> String {
    format!("{QUARANTINE_PREFIX}{key}:{time_ms}")
}

/// Returns an id for a new record from the time, in milliseconds since 1970, and a random number;
/// two tabs do not make the same one.
///
/// ```
/// use headroom::scenario::records::new_id;
/// assert_eq!(new_id(1_790_000_000_000, 0xabc), "1a0c4506c00-abc");
/// ```
pub fn new_id(time_ms: u64, random: u32) -> String {
    format!("{time_ms:x}-{random:x}")
}

/// Returns the record as JSON.
pub fn to_json(record: &SavedScenario) -> String {
    serde_json::to_string(&wire(record)).unwrap_or_default()
}

/// Reads a record.
///
/// # Errors
/// [`RecordError::Malformed`] for everything that is no complete record with a link that opens,
/// [`RecordError::UnknownVersion`] for one of a later version.
pub fn from_json(json: &str) -> Result<SavedScenario, RecordError> {
    read_record::<Value>(json)
}

/// Reads a record with a reader of the caller's: the page uses the browser's.
///
/// # Errors
/// As [`from_json`].
pub fn read_record<D: Document>(json: &str) -> Result<SavedScenario, RecordError> {
    if json.len() > LONGEST_FILE {
        return Err(RecordError::Malformed("it is too long".to_owned()));
    }
    let document = D::read(json)
        .ok_or_else(|| RecordError::Malformed("it has no record version".to_owned()))?;
    record_of(&document, None)
}

/// Reads a record that has been parsed, of a file with one scenario under the id that it is given.
fn record_of(
    document: &impl Document,
    given: Option<String>,
) -> Result<SavedScenario, RecordError> {
    let (whole, words) = (|key| document.whole(key), |key| document.words(key));
    // The version comes first: the rest of a newer record may look different.
    let v = whole("v").and_then(|v| u32::try_from(v).ok());
    let v = v.ok_or_else(|| RecordError::Malformed("it has no record version".to_owned()))?;
    if v != VERSION {
        return Err(RecordError::UnknownVersion(v));
    }
    let record = || {
        let (id, revision) = match given {
            Some(id) => (id, 1),
            None => (words("id")?, u32::try_from(whole("revision")?).ok()?),
        };
        Some(SavedScenario {
            id,
            name: words("name")?,
            saved_at_ms: whole("saved_at")?,
            revision,
            link: words("link")?,
        })
    };
    checked(
        record()
            .ok_or_else(|| RecordError::Malformed("a part of it is missing or wrong".to_owned()))?,
    )
}

/// Returns all records as one JSON file.
pub fn export_all(records: &[SavedScenario]) -> String {
    let scenarios: Vec<Wire> = records.iter().map(wire).collect();
    serde_json::to_string_pretty(&File { headroom: "scenarios", v: VERSION, scenarios })
        .unwrap_or_default()
}

/// Reads a file that [`export_all`] wrote. Scenarios that cannot be read are named and left out;
/// the others are kept.
///
/// # Errors
/// One sentence when the file as a whole is none of ours.
pub fn import_all(json: &str) -> Result<ImportedRecords, String> {
    read_file::<Value>(json)
}

/// Reads a file of records with a reader of the caller's: the page uses the browser's.
///
/// # Errors
/// As [`import_all`].
pub fn read_file<D: Document>(json: &str) -> Result<ImportedRecords, String> {
    const NONE_OF_OURS: &str = "This file holds no saved scenarios: choose a file that “Download \
        all” or “Inputs as JSON” of this page has made.";
    if json.len() > LONGEST_FILE {
        return Err(
            "This file is larger than 5 MiB, more than saved scenarios of this page can be."
                .to_owned(),
        );
    }
    let file = D::read(json).ok_or(NONE_OF_OURS)?;
    let rows = match file.words("headroom").as_deref() {
        Some(SCENARIO_FILE) => return Ok(one_scenario(&file)),
        Some("scenarios") => file.list("scenarios").ok_or(NONE_OF_OURS)?,
        _ => return Err(NONE_OF_OURS.to_owned()),
    };
    if rows.len() > MOST_RECORDS {
        return Err(format!(
            "This file holds {} scenarios, more than the {MOST_RECORDS} that can be read at once.",
            rows.len()
        ));
    }
    let mut imported = ImportedRecords::default();
    for (index, row) in rows.iter().enumerate() {
        match record_of(row, None) {
            Ok(record) if imported.records.iter().any(|known| known.id == record.id) => {
                imported.skipped.push(format!(
                    "Scenario {} (“{}”) is left out: an earlier one has the same id.",
                    index + 1,
                    record.name
                ));
            }
            Ok(record) => imported.records.push(record),
            Err(error) => {
                imported.skipped.push(format!("Scenario {} is left out: {error}.", index + 1));
            }
        }
    }
    Ok(imported)
}

/// The record of a file with one scenario. Its id follows from the link, so that the same file is
/// not added twice.
fn one_scenario(file: &impl Document) -> ImportedRecords {
    let link = file.words("link").unwrap_or_default();
    let id =
        link.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte));
    match record_of(file, Some(format!("file-{id:x}"))) {
        Ok(record) => ImportedRecords { records: vec![record], skipped: Vec::new() },
        Err(error) => ImportedRecords {
            records: Vec::new(),
            skipped: vec![format!("The scenario is left out: {error}.")],
        },
    }
}

fn wire(record: &SavedScenario) -> Wire {
    Wire {
        v: VERSION,
        id: record.id.clone(),
        name: record.name.clone(),
        saved_at: record.saved_at_ms,
        revision: record.revision,
        link: record.link.clone(),
    }
}

fn checked(record: SavedScenario) -> Result<SavedScenario, RecordError> {
    if !is_id(&record.id) {
        return Err(RecordError::Malformed("its id is wrong".to_owned()));
    }
    let decoded = codec::decode(&record.link);
    if decoded.failed || decoded.altered {
        return Err(RecordError::Malformed("its link does not open".to_owned()));
    }
    let longest = match field(FieldId::Name).kind {
        FieldKind::Text { max_len } => max_len,
        _ => 0,
    };
    let name = text::clean(&record.name).chars().take(longest).collect();
    Ok(SavedScenario { name, ..record })
}

fn is_id(id: &str) -> bool {
    (1..=40).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}
