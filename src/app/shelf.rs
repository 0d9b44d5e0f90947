//! Scenarios kept in this browser: saving, renaming, deleting, files.

use leptos::prelude::*;

use super::state::{State, StateChange};
use super::{browser, browser_later};
use crate::scenario::records::{self, SavedScenario};
use crate::view::ui::Saved;
use crate::view::words::about;

/// The saved scenarios and what can be done with them.
#[derive(Clone, Copy)]
pub struct Shelf(pub State);

impl Shelf {
    /// Reads storage, and listens to other tabs.
    pub fn open_up(self) {
        self.reload();
        browser::on_storage_change(move || self.reload());
        self.tell();
    }

    fn reload(self) {
        let saved = browser::saved();
        self.0.saved.change(|list| {
            let of = |saved: &Saved, id: &str| {
                saved.scenarios.iter().find(|record| record.id == id).cloned()
            };
            // A record that another tab has changed is no longer the one whose name was being
            // changed here.
            list.renaming = list.renaming.take().filter(|id| of(&list.saved, id) == of(&saved, id));
            list.saved = saved;
        });
    }

    fn saved(self) -> Saved {
        self.0.saved.with_untracked(|list| list.saved.clone())
    }

    /// One record of the list.
    pub fn record(self, id: &str) -> Option<SavedScenario> {
        self.saved().scenarios.into_iter().find(|record| record.id == id)
    }

    /// All records as one file.
    pub fn export(self) {
        let file = records::export_all(&self.saved().scenarios);
        browser::download("headroom-scenarios.json", "application/json", &file);
    }

    fn tell(self) {
        let saved = self.saved();
        // Inside another page nothing is saved, and nobody asked for it.
        if browser::is_embedded() {
            return;
        }
        if !saved.available {
            self.0.tell(
                "This browser does not let the page store anything: scenarios cannot be saved on \
                 this device. Links and files still work."
                    .to_owned(),
                true,
            );
        }
        if saved.set_aside > 0 {
            self.0.tell(
                format!(
                    "{} saved scenarios could not be read. They were set aside in this browser's \
                     storage; nothing was deleted.",
                    saved.set_aside
                ),
                true,
            );
        }
    }

    /// Keeps a record, and says what happened.
    pub fn keep(self, record: &SavedScenario, done: &str) {
        match browser::save(record) {
            Ok(()) => self.0.say(done, None),
            Err(problem) => self.0.tell(problem, true),
        }
        self.reload();
    }

    /// Saves what is shown under a name of its own.
    pub fn add(self, name: &str) {
        let link = browser::fragment_of(&self.0.said_now());
        let name = if name.trim().is_empty() {
            about(&self.0.scenario_now())
        } else {
            name.trim().to_owned()
        };
        let record = SavedScenario {
            id: browser::new_id(),
            name,
            saved_at_ms: browser::clock_ms(),
            revision: 1,
            link,
        };
        self.keep(&record, "Saved in this browser");
    }

    /// Gives a record another name.
    pub fn rename(self, id: &str, name: &str) {
        let Some(mut record) = browser::stored(id) else { return self.reload() };
        name.trim().clone_into(&mut record.name);
        record.revision = record.revision.saturating_add(1);
        self.keep(&record, "Renamed");
    }

    /// Keeps a second record of the same scenario.
    pub fn duplicate(self, record: &SavedScenario) {
        let copy = SavedScenario {
            id: browser::new_id(),
            name: format!("{} (copy)", record.name),
            saved_at_ms: browser::clock_ms(),
            revision: 1,
            link: record.link.clone(),
        };
        self.keep(&copy, "Duplicated");
    }

    /// Removes a record, with a way back.
    pub fn delete(self, record: SavedScenario) {
        browser::forget(&record.id);
        self.reload();
        let text = format!("Deleted “{}”", record.name);
        self.0.say(text, Some(record));
    }

    /// Shows its scenario.
    pub fn open(self, record: &SavedScenario) {
        browser_later::read(&record.link, move |decoded| {
            for notice in decoded.notices {
                self.0.tell(notice, true);
            }
            self.0.open(decoded.scenario, decoded.compare);
        });
    }

    /// Adds the records of a file.
    pub fn import(self, text: Result<String, String>) {
        let records = match text.and_then(|text| records::read_file::<browser::Json>(&text)) {
            Ok(records) => records,
            Err(problem) => return self.0.tell(problem, true),
        };
        for skipped in records.skipped {
            self.0.tell(skipped, true);
        }
        let mut count = 0_usize;
        for record in &records.records {
            // Of two records with one id, the higher revision is the newer.
            if browser::stored(&record.id).is_some_and(|mine| mine.revision >= record.revision) {
                continue;
            }
            match browser::save(record) {
                Ok(()) => count = count.saturating_add(1),
                Err(problem) => {
                    self.0.tell(problem, true);
                    break;
                }
            }
        }
        self.reload();
        self.0.say(format!("{count} scenarios added from the file"), None);
    }
}
