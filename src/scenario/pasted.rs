//! Taking over a model that was read from a file.

use super::model::OF_DROPOUT;
use super::{FieldId, Scenario, Value, differences};
use crate::catalog::{self, ModelRow};
use crate::import::{Imported, LeftOut};

impl Scenario {
    /// Takes over an imported architecture, and the format of its weights where the file states
    /// one. A known model is recognised. Of any other the scenario keeps the kind, the keys that
    /// the kind's family reads, the name where the file says one, and what of the file is not
    /// counted.
    pub fn apply_imported(&mut self, imported: &Imported) {
        match recognised(imported) {
            Some(row) => _ = self.set_model(row.id),
            None => self.start_from_file(imported),
        }
        self.set(FieldId::AsGeneric, Value::Flag(!imported.known));
        self.set(FieldId::NotCounted, Value::Text(imported.not_counted.join(",")));
        self.set(
            FieldId::LeftOut,
            Value::Text(imported.left_out.iter().map(part).collect::<Vec<_>>().join(",")),
        );
        for (id, share) in OF_DROPOUT.into_iter().zip(imported.dropout()) {
            self.set(id, share.map_or_else(|| self.start(id), Value::Decimal));
        }
        if let Some(stored) = imported.quantization {
            self.set(FieldId::WeightDType, Value::choice(stored.format));
            let group =
                stored.group_size.map_or_else(|| self.start(FieldId::GroupSize), Value::Integer);
            self.set(FieldId::GroupSize, group);
        }
    }
}

impl Scenario {
    /// Starts from the library's defaults for the file's kind, with the keys that the file states;
    /// or, where these do not say all of it, with every size by hand, as changes of the row that
    /// needs the fewest.
    fn start_from_file(&mut self, imported: &Imported) {
        self.set(FieldId::Model, self.start(FieldId::Model));
        self.set_kind(imported);
        if imported.known && self.set_keys(imported) {
            return;
        }
        if let Some(row) = catalog::models()
            .iter()
            .min_by_key(|row| differences(&row.config, &imported.config).count())
        {
            self.set_model(row.id);
        }
        self.set_kind(imported);
        self.set(FieldId::Sizes, Value::Flag(true));
        self.set_sizes(&imported.config);
    }

    /// The kind and the name of a file. A model of several parts goes by the kind of the whole, not
    /// by that of the model its text part was made from; of a kind that is not known only the part
    /// that is read is told.
    fn set_kind(&mut self, imported: &Imported) {
        let kind = if imported.known { &imported.file_type } else { &imported.model_type };
        self.set(FieldId::ModelType, Value::Text(kind.clone()));
        if *kind != imported.model_type {
            self.set(FieldId::TextModelType, Value::Text(imported.model_type.clone()));
        }
        self.set(FieldId::ModelName, Value::Text(own_name(imported).unwrap_or_default()));
    }
}

/// The words of a part left out, as the scenario keeps them.
fn part(left_out: &LeftOut) -> String {
    left_out.part.replace(' ', "_")
}

/// The row that this file is: of the same shape in every value, and called so by the file, or the
/// only one where the file says no name. A file of which something is not understood, or that has
/// more than its text part, is no row that it does not name.
fn recognised(imported: &Imported) -> Option<&'static ModelRow> {
    if !imported.known || !imported.not_counted.is_empty() {
        return None;
    }
    let same = of_the_same_weights(same_shape(imported), imported);
    if let Some(name) = &imported.name {
        return same.into_iter().find(|row| is_called(row, name));
    }
    let whole =
        !imported.left_out.iter().any(|part| part.key == "visual" || part.key.ends_with("_config"));
    let family = imported.config.family;
    let plain = family.is_generic() || family.model_type() == imported.model_type;
    match same.as_slice() {
        [only] if whole && plain => Some(*only),
        _ => None,
    }
}

fn same_shape(imported: &Imported) -> Vec<&'static ModelRow> {
    let is_same = |row: &&'static ModelRow| {
        let same =
            row.config.tower == imported.config.tower && row.config.task == imported.config.task;
        same && differences(&row.config, &imported.config).next().is_none()
    };
    catalog::models().iter().filter(is_same).collect()
}

/// Of rows with one shape those whose weights are published as the file's are; without such a row
/// those in 16 bits.
fn of_the_same_weights(
    same: Vec<&'static ModelRow>,
    imported: &Imported,
) -> Vec<&'static ModelRow> {
    let own = imported.quantization.map(|stored| stored.format);
    let wanted = if same.iter().any(|row| row.weights == own) { own } else { None };
    same.into_iter().filter(|row| row.weights == wanted).collect()
}

/// The name that the file gives itself, unless it is that of a row with another shape: fine-tuned
/// models often state what they began from.
fn own_name(imported: &Imported) -> Option<String> {
    let name = imported.name.as_ref()?;
    let same = same_shape(imported);
    let other = catalog::models().iter().any(|row| is_called(row, name) && !same.contains(&row));
    (!other).then(|| name.clone())
}

/// True if a row goes by that name: its own name, its id, or the last part of another name of it.
fn is_called(row: &ModelRow, name: &str) -> bool {
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().trim().to_ascii_lowercase();
    let wanted = last(name);
    [row.id, row.name].iter().chain(row.aliases()).any(|known| last(known) == wanted)
}
