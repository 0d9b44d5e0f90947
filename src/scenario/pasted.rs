//! Taking over a model that was read from a file.

use super::{FieldId, Scenario, Value, architecture_fields, differences};
use crate::catalog::{self, ModelRow};
use crate::import::{Imported, LeftOut};

impl Scenario {
    /// Takes over an imported architecture, and the format of its weights where the file states one. It starts from the model of the
    /// catalog that needs the fewest changes, so that the link stays short. A known model is recognised; any other keeps its kind, its
    /// name where the file says one, and what of the file is not counted.
    pub fn apply_imported(&mut self, imported: &Imported) {
        let recognised = recognised(imported);
        let fewest = || catalog::models().iter().min_by_key(|row| differences(&row.config, &imported.config).count());
        if let Some(row) = recognised.or_else(fewest) {
            self.set_model(row.id);
        }
        for field in architecture_fields() {
            if let Some(value) = field.of_model(&imported.config) {
                self.set(field.id, value);
            }
        }
        if recognised.is_none() {
            // A model of several parts goes by the kind of the whole, not by that of the model its text part was made from; what is
            // not known is the part that is read.
            let kind = if imported.known { &imported.file_type } else { &imported.model_type };
            self.set(FieldId::ModelType, Value::Text(kind.clone()));
            self.set(FieldId::ModelName, Value::Text(own_name(imported).unwrap_or_default()));
        }
        self.set(FieldId::AsGeneric, Value::Flag(!imported.known));
        self.set(FieldId::NotCounted, Value::Text(imported.not_counted.join(",")));
        self.set(FieldId::LeftOut, Value::Text(imported.left_out.iter().map(part).collect::<Vec<_>>().join(",")));
        if let Some(stored) = imported.quantization {
            self.set(FieldId::WeightDType, Value::choice(stored.format));
            let group = stored.group_size.map_or_else(|| self.start(FieldId::GroupSize), Value::Integer);
            self.set(FieldId::GroupSize, group);
        }
    }
}

/// A part left out, as the scenario keeps it: its words, and its number of parameters where that is known.
fn part(left_out: &LeftOut) -> String {
    let words = left_out.part.replace(' ', "_");
    left_out.parameters.map_or_else(|| words.clone(), |count| format!("{words}_{count}"))
}

/// The row that this file is: of the same shape in every value, and called so by the file, or the only one where the file says no
/// name. A file of which something is not understood, or that has more than its text part, is no row that it does not name.
fn recognised(imported: &Imported) -> Option<&'static ModelRow> {
    if !imported.known || !imported.not_counted.is_empty() {
        return None;
    }
    let same = same_shape(imported);
    if let Some(name) = &imported.name {
        return same.into_iter().find(|row| is_called(row, name));
    }
    let whole = !imported.left_out.iter().any(|part| part.key == "visual" || part.key.ends_with("_config"));
    let family = imported.config.family;
    let plain = family.is_generic() || family.model_type() == imported.model_type;
    match same.as_slice() {
        [only] if whole && plain => Some(*only),
        _ => None,
    }
}

fn same_shape(imported: &Imported) -> Vec<&'static ModelRow> {
    catalog::models().iter().filter(|row| differences(&row.config, &imported.config).next().is_none()).collect()
}

/// The name that the file gives itself, unless it is that of a row with another shape: fine-tuned models often state what they began
/// from.
fn own_name(imported: &Imported) -> Option<String> {
    let name = imported.name.as_ref()?;
    let same = same_shape(imported);
    let other = catalog::models().iter().any(|row| is_called(row, name) && !same.contains(&row));
    (!other).then(|| name.clone())
}

/// Whether a row has that name: its own, its id, or the last part of another name of it.
fn is_called(row: &ModelRow, name: &str) -> bool {
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().trim().to_ascii_lowercase();
    let wanted = last(name);
    [row.id, row.name].iter().chain(row.aliases).any(|known| last(known) == wanted)
}
