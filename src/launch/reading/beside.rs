//! Texts beside the one that is read: the model's own files, and files that a command refers to.

use std::collections::BTreeSet;

use super::Reading;
use crate::launch::flag::is_same_name;
use crate::launch::notation::Stated;
use crate::launch::report::Way;
use crate::launch::{Format, FormatRole, Given, LaunchError, Text, model_names};
use crate::scenario::FieldId;

impl<'a> Reading<'a> {
    /// The text that was pasted or dropped beside this one under that name, whatever its folder.
    pub fn beside_named(&self, path: &str) -> Option<&'a Text<'a>> {
        let name = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
        self.beside
            .iter()
            .copied()
            .find(|text| !text.name.is_empty() && name(text.name) == name(path))
    }

    /// Returns true if anything was pasted or dropped beside the text.
    pub const fn has_beside(&self) -> bool {
        !self.beside.is_empty()
    }

    /// Takes the model of a `config.json` that was pasted or dropped beside the text.
    pub(super) fn model_beside(&mut self) -> Result<(), LaunchError> {
        let Some(text) = self.beside.iter().find(|text| super::super::is_config(text.raw)) else {
            return Ok(());
        };
        let imported = crate::import::config_json(text.raw)
            .map_err(|error| LaunchError::Model { why: error.to_string() })?;
        self.scenario.apply_imported(&imported);
        self.has_config = true;
        Ok(())
    }

    /// Takes the model of that name, or its folder's: a row of the catalog. One that the catalog
    /// does not have leaves the present model, and says so.
    pub fn model(&mut self, given: &Given) {
        self.defaults.retain(|(of, _)| *of != FieldId::Model);
        if self.has_config {
            return self.tell(
                given,
                Way::Read,
                "The config.json beside it says the model.".to_owned(),
            );
        }
        let Some((row, why)) = model_names::row_called(&given.text()) else {
            let note = "The catalog has no model of that name: paste its config.json beside the \
                command, or choose a model. The present one stays.";
            return self.tell(given, Way::Unknown, note.to_owned());
        };
        self.scenario.set_model(row.id);
        let note = format!("{}. {why}", row.name);
        self.tell(
            given,
            if why.is_empty() { Way::Read } else { Way::Derived },
            note.trim_end().to_owned(),
        );
    }

    /// Reads a file that the text refers to: one that was pasted or dropped beside it, by its name,
    /// or the only one. Returns whether there is one; where there is none, a row says what to add.
    ///
    /// # Errors
    /// [`LaunchError`] where the file cannot be read.
    pub fn attached(&mut self, given: &Given) -> Result<bool, LaunchError> {
        let wanted = given.text();
        let name = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
        let parts = || Format::ALL.into_iter().filter(|format| format.role == FormatRole::Part);
        let open = |text: &&Text<'_>| {
            parts().find_map(|format| (format.open)(text).map(|stated| (format, stated)))
        };
        let named = self.beside_named(&wanted);
        let opened =
            named.and_then(|text| open(&text)).or_else(|| self.beside.iter().find_map(&open));
        let Some((format, stated)) = opened else {
            self.tell(
                given,
                Way::Unknown,
                format!("Paste or drop {} beside the command, too.", name(&wanted)),
            );
            return Ok(false);
        };
        self.tell(
            given,
            Way::Read,
            format!("Read from the file beside the command ({}).", format.label),
        );
        self.joined(format, stated?)?;
        Ok(true)
    }

    /// Reads a part's settings as if they were in this text.
    ///
    /// # Errors
    /// [`LaunchError`] where a value is not one that the part takes.
    pub fn joined(&mut self, format: Format, stated: Stated) -> Result<(), LaunchError> {
        let own = std::mem::replace(&mut self.stated, stated);
        (format.begin)(self);
        let given = self.stated.given.clone();
        let read = given
            .iter()
            .try_for_each(|given| self.apply(format, given))
            .and_then(|()| (format.end)(self));
        self.stated = own;
        read
    }

    /// Reads a file of further flags of the same tool, one that lies beside the text: those that
    /// the text does not state itself.
    ///
    /// # Errors
    /// The rest of a sentence that begins with the flag, where the file cannot be read.
    pub fn beneath(
        &mut self,
        given: &Given,
        open: fn(&Text<'_>) -> Option<Result<Stated, LaunchError>>,
    ) -> Result<(), String> {
        self.take_beside(given, open, false)
    }

    /// As [`beneath`](Self::beneath), but the file's values override the text's.
    ///
    /// # Errors
    /// As there.
    pub fn above(
        &mut self,
        given: &Given,
        open: fn(&Text<'_>) -> Option<Result<Stated, LaunchError>>,
    ) -> Result<(), String> {
        self.take_beside(given, open, true)
    }

    pub(super) fn take_beside(
        &mut self,
        given: &Given,
        open: fn(&Text<'_>) -> Option<Result<Stated, LaunchError>>,
        is_above: bool,
    ) -> Result<(), String> {
        let wanted = given.text();
        let last = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
        let named = self
            .beside
            .iter()
            .find(|text| !text.name.is_empty() && last(text.name) == last(&wanted));
        let opened = named
            .and_then(|text| open(text))
            .or_else(|| self.beside.iter().find_map(|text| open(text)));
        let Some(stated) = opened else {
            self.tell(
                given,
                Way::Unknown,
                format!("Paste or drop {} beside the command, too.", last(&wanted)),
            );
            return Ok(());
        };
        let mut further =
            stated.map_err(|error| format!("names a file that cannot be read: {error}"))?.given;
        self.tell(given, Way::Read, "Read from the file beside the command.".to_owned());
        // A file that such a file names in turn is not read.
        let plain = |key: &str| key.replace('_', "-");
        let stated: BTreeSet<String> =
            self.stated.given.iter().map(|own| plain(&own.key)).collect();
        further.retain(|own| {
            !is_same_name(&own.key, &given.key) && (is_above || !stated.contains(&plain(&own.key)))
        });
        for own in &further {
            self.apply(self.format, own)
                .map_err(|error| format!("names a file that cannot be read: {error}"))?;
        }
        self.stated.given.extend(further);
        Ok(())
    }
}
