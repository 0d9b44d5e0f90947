//! Collects the flags of a text into a scenario and a report.

mod beside;
use super::flag::{Effect, Flag, is_same_name};
use super::notation::Stated;
use super::report::{Launched, Row, Way};
use super::{Format, FormatRole, Given, LaunchError, Text};
use crate::catalog;
use crate::scenario::{FieldId, Group, Scenario, Value, field, parse, show};

/// A text that is being read into a scenario.
#[derive(Debug)]
pub struct Reading<'a> {
    /// The scenario so far.
    pub scenario: Scenario,
    format: Format,
    stated: Stated,
    beside: &'a [&'a Text<'a>],
    rows: Vec<Row>,
    /// True if the model comes from a `config.json` beside the text.
    has_config: bool,
    /// The names by which the text chose layers with adapters.
    pub adapter_names: Vec<String>,
    /// Rows of defaults, with the input that each is about.
    defaults: Vec<(FieldId, Row)>,
}

impl<'a> Reading<'a> {
    /// Reads a text's settings. A whole command starts with the model, hardware and prices of
    /// `present`; a part, such as DeepSpeed's file, changes all of `present`.
    pub(super) fn of(
        format: Format,
        stated: Stated,
        beside: &'a [&'a Text<'a>],
        present: &Scenario,
    ) -> Result<Launched, LaunchError> {
        let mut reading = Self::new(format, stated, beside, present);
        reading.model_beside()?;
        (format.begin)(&mut reading);
        let given = reading.stated.given.clone();
        for given in &given {
            reading.apply(format, given)?;
        }
        (format.end)(&mut reading)?;
        super::shared::layers::in_latent_attention(&mut reading);
        Ok(reading.finish())
    }

    /// The scenario of the tool's own defaults, with which a written scenario is compared.
    pub(super) fn of_nothing(format: Format, present: &Scenario) -> Scenario {
        let mut reading = Self::new(format, Stated::default(), &[], present);
        (format.begin)(&mut reading);
        reading.scenario
    }

    /// A reading before any default or flag is set.
    fn new(format: Format, stated: Stated, beside: &'a [&'a Text<'a>], present: &Scenario) -> Self {
        let scenario =
            if format.role == FormatRole::Part { present.clone() } else { without_run(present) };
        Self {
            scenario,
            format,
            stated,
            beside,
            rows: Vec::new(),
            has_config: false,
            adapter_names: Vec::new(),
            defaults: Vec::new(),
        }
    }

    fn finish(mut self) -> Launched {
        let left_out = self.rows.iter().filter(|row| row.way.is_left_out());
        let names: Vec<String> = left_out.map(|row| row.flag.clone()).collect();
        self.scenario.set(FieldId::FlagsNotCounted, Value::Text(names.join(",")));
        let defaults = self.defaults.into_iter().map(|(_, row)| row);
        Launched {
            scenario: self.scenario,
            format: self.format,
            report: self.rows.into_iter().chain(defaults).collect(),
        }
    }

    /// Reads one flag by the format's table.
    fn apply(&mut self, format: Format, given: &Given) -> Result<(), LaunchError> {
        let Some(flag) = format.flag(&given.key) else {
            self.tell(
                given,
                Way::Unknown,
                format!("{} has no such setting in the table here.", format.version),
            );
            return Ok(());
        };
        if given.is_unknown() && !matches!(flag.effect, Effect::NoEffect) {
            self.tell(given, Way::Unknown, "The text does not set the variable in it.".to_owned());
            return Ok(());
        }
        self.take(flag, given).map_err(|why| given.wrong(why))
    }

    fn take(&mut self, flag: &Flag, given: &Given) -> Result<(), String> {
        let is_plain = !matches!(flag.effect, Effect::By(_) | Effect::Together);
        if is_plain && given.value.is_null() {
            // `null` in a file means the tool's default.
            self.tell(given, Way::NoEffect, String::new());
            return Ok(());
        }
        match flag.effect {
            Effect::Sets(field) => {
                let value = parse(field, &given.text())
                    .map_err(|why| rest_of_sentence(&why, &given.text()))?;
                self.read(given, field, value);
            }
            Effect::Words(field, words) => {
                match words.iter().find(|(theirs, _)| is_same_name(theirs, &given.text())) {
                    Some((_, ours)) => {
                        let value =
                            parse(field, ours).map_err(|why| rest_of_sentence(&why, ours))?;
                        self.read(given, field, value);
                    }
                    None => {
                        self.tell(
                            given,
                            Way::NotModelled,
                            "This value is not modelled.".to_owned(),
                        );
                    }
                }
            }
            Effect::Switch(field) => self.switch(given, field, true)?,
            Effect::SwitchOff(field) => self.switch(given, field, false)?,
            Effect::By(read) => read(self, given)?,
            Effect::Together => {}
            Effect::NoEffect => self.tell(given, Way::NoEffect, String::new()),
            Effect::NotModelled(harmless, why) => {
                let is_harmless = given.is_on() == Some(false)
                    || harmless.iter().any(|value| is_same_name(value, &given.text()));
                let way = if is_harmless { Way::NoEffect } else { Way::NotModelled };
                self.tell(given, way, if is_harmless { String::new() } else { why.to_owned() });
            }
        }
        Ok(())
    }

    fn switch(&mut self, given: &Given, field: FieldId, yes: bool) -> Result<(), String> {
        let on = given.is_on().ok_or_else(|| {
            format!("takes true or false, not “{}”", super::notation::short_text(&given.text()))
        })?;
        self.read(given, field, Value::Flag(on == yes));
        Ok(())
    }

    /// Sets an input to the text's value, which replaces the tool's default and its row.
    pub fn read(&mut self, given: &Given, field: FieldId, value: Value) {
        self.read_as(given, field, value, Way::Read, "");
    }

    /// Sets an input to a value derived from a flag, with a sentence about how.
    pub fn derive(&mut self, given: &Given, field: FieldId, value: Value, how: &str) {
        self.read_as(given, field, value, Way::Derived, how);
    }

    fn read_as(&mut self, given: &Given, id: FieldId, value: Value, way: Way, note: &str) {
        self.defaults.retain(|(of, _)| *of != id);
        let note = meaning(id, &value, note);
        self.scenario.set(id, value);
        self.tell(given, way, note);
    }

    /// Sets an input to the tool's own default, under the tool's name for it.
    pub fn default(&mut self, flag: &str, id: FieldId, value: Value) {
        let row = row_of_no_place(flag, id, &value, Way::Default, "");
        self.scenario.set(id, value);
        self.defaults.retain(|(of, _)| *of != id);
        self.defaults.push((id, row));
    }

    /// Sets an input to a value that follows from several flags together.
    pub fn follows(&mut self, flag: &str, id: FieldId, value: Value, how: &str) {
        self.defaults.retain(|(of, _)| *of != id);
        let row = row_of_no_place(flag, id, &value, Way::Derived, how);
        self.scenario.set(id, value);
        self.rows.push(row);
    }

    /// Adds a row about a flag that sets no input.
    pub fn tell(&mut self, given: &Given, way: Way, note: String) {
        let place = Some(given.place);
        let flag = if given.key.is_empty() { given.text() } else { given.key.clone() };
        self.rows.push(Row { flag, value: given.text(), way, note, place });
    }

    /// Reports a flag that changes memory or time and is not modelled.
    pub fn not_modelled(&mut self, given: &Given, why: &str) {
        self.tell(given, Way::NotModelled, why.to_owned());
    }

    /// Returns the last flag of the text that goes by one of these names.
    pub fn stated(&self, names: &[&str]) -> Option<&Given> {
        self.stated
            .given
            .iter()
            .rev()
            .find(|given| names.iter().any(|name| is_same_name(name, &given.key)))
    }

    /// The flags of the text whose names begin so.
    pub fn beginning_with(&self, start: &str) -> Vec<Given> {
        self.stated.given.iter().filter(|given| given.key.starts_with(start)).cloned().collect()
    }

    /// Flags that count as if they stood at the beginning of the text: a file of settings that a
    /// command names.
    pub fn begin_with(&mut self, mut given: Vec<Given>) {
        given.append(&mut self.stated.given);
        self.stated.given = given;
    }

    /// Returns the flags of the program that starts the processes.
    pub fn launcher_flags(&self) -> &[Given] {
        &self.stated.launcher
    }

    /// Returns the variable that is set for the program.
    pub fn environment(&self, name: &str) -> Option<&Given> {
        self.stated.environment.iter().rev().find(|given| given.key == name)
    }

    /// Returns the flag of the program that starts the processes, such as torchrun's
    /// `nproc_per_node`.
    pub fn launcher(&self, names: &[&str]) -> Option<&Given> {
        self.stated
            .launcher
            .iter()
            .rev()
            .find(|given| names.iter().any(|name| is_same_name(name, &given.key)))
    }

    /// Returns the processes that the launcher starts on all machines, one for each GPU:
    /// `nproc_per_node × nnodes`, accelerate's `num_processes`, DeepSpeed's `num_gpus × num_nodes`,
    /// or the variables that ms-swift and others read.
    ///
    /// Without them it counts the GPUs that `CUDA_VISIBLE_DEVICES` names. `None` where no number is
    /// stated.
    pub fn processes(&self) -> Option<u64> {
        let whole = |given: Option<&Given>| {
            given.filter(|given| !given.is_unknown()).and_then(|given| given.whole().ok())
        };
        if let Some(all) = whole(self.launcher(&["num_processes"])) {
            return Some(all);
        }
        let nodes = whole(self.launcher(&["nnodes", "num_nodes", "num_machines"]))
            .or_else(|| whole(self.environment("NNODES")));
        let each = whole(self.launcher(&["nproc_per_node", "nproc-per-node", "num_gpus"]));
        let each = each.or_else(|| whole(self.environment("NPROC_PER_NODE")));
        let visible = || {
            let devices =
                self.environment("CUDA_VISIBLE_DEVICES").filter(|given| !given.is_unknown())?;
            u64::try_from(devices.list().len()).ok().filter(|count| *count > 0)
        };
        each.or_else(visible).map(|each| each.saturating_mul(nodes.unwrap_or(1)))
    }

    /// Reads expandable segments from `PYTORCH_CUDA_ALLOC_CONF`.
    pub fn allocator(&mut self) {
        for name in ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"] {
            let Some(given) = self.environment(name).cloned() else { continue };
            match given.text().replace('"', "").trim() {
                "" => {}
                "expandable_segments:True" => {
                    self.read(&given, FieldId::ExpandableSegments, Value::Flag(true));
                }
                "expandable_segments:False" => {
                    self.read(&given, FieldId::ExpandableSegments, Value::Flag(false));
                }
                _ => self.not_modelled(
                    &given,
                    "Of the allocator's settings growing segments alone are an input here.",
                ),
            }
        }
    }

    /// Takes an accelerator by the name that a catalog row goes by; nothing changes where there is
    /// none.
    pub fn accelerator(&mut self, given: &Given) {
        match catalog::accelerator(&given.text()) {
            Some(row) => self.read(given, FieldId::Accelerator, Value::Text(row.id.to_owned())),
            None => self.tell(
                given,
                Way::Unknown,
                "The catalog has no accelerator of that name.".to_owned(),
            ),
        }
    }
}

/// A sentence with an input and its value, followed by another sentence.
fn meaning(id: FieldId, value: &Value, more: &str) -> String {
    format!("{}: {}. {more}", field(id).label, show(id, value)).trim_end().to_owned()
}

/// A row about an input that is not set at a single place of the text.
fn row_of_no_place(flag: &str, id: FieldId, value: &Value, way: Way, more: &str) -> Row {
    Row {
        flag: flag.to_owned(),
        value: show(id, value),
        way,
        note: meaning(id, value, more),
        place: None,
    }
}

/// The scenario without the inputs that a command determines: the run, formats, layout, reserves.
fn without_run(present: &Scenario) -> Scenario {
    let mut scenario = present.clone();
    let is_of_run = |id: &FieldId| {
        let of_run = matches!(
            field(*id).group,
            Group::Run
                | Group::Precision
                | Group::Layout
                | Group::StackOptions
                | Group::HostMemory
                | Group::Reserve
        );
        let is_about_hardware =
            matches!(field(*id).default, crate::scenario::FieldDefault::OfAccelerator(_));
        of_run && !is_about_hardware
    };
    let gone: Vec<FieldId> = scenario.set_fields().filter(is_of_run).collect();
    for id in gone.into_iter().chain([FieldId::FlagsNotCounted, FieldId::Name]) {
        scenario.clear(id);
    }
    scenario
}

/// The end of a sentence about an input, which can follow the name of a flag.
fn rest_of_sentence(sentence: &str, value: &str) -> String {
    let rest = ["takes", "can", "is", "must"]
        .iter()
        .filter_map(|verb| sentence.find(&format!(" {verb} ")).map(|at| at + 1))
        .min();
    let rest = rest.and_then(|at| sentence.get(at..)).unwrap_or(sentence);
    let rest = rest.trim_end_matches('.');
    let value = super::notation::short_text(value);
    if rest.contains(&value) { rest.to_owned() } else { format!("{rest}, not “{value}”") }
}
