//! A searchable list: models and accelerators of the catalog.

use crate::app::markup::{Html, html, word_of};
use crate::app::words::{billions, shown as shown_value};
use crate::catalog;
use crate::scenario::{Field, FieldId, FieldKind, Scenario};

/// The list that is open: at most one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picker {
    /// Whose list.
    pub field: FieldId,
    /// What is typed to search; nothing typed shows the chosen name and the whole list.
    pub search: Option<String>,
    /// The entry that Enter would take.
    pub at: usize,
}

impl Picker {
    /// The whole list, its first entry marked.
    pub const fn new(field: FieldId) -> Self {
        Self { field, search: None, at: 0 }
    }

    /// The rows found, at least none.
    pub fn hits(&self, kind: FieldKind) -> Vec<Row> {
        let search = self.search.as_deref().unwrap_or_default().to_ascii_lowercase();
        let mut rows = rows(kind);
        // The rows that contain every word of the search.
        rows.retain(|row| search.split_whitespace().all(|word| row.words.contains(word)));
        rows
    }
}

/// One row of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What names it in the catalog.
    pub id: &'static str,
    name: &'static str,
    note: String,
    /// Everything that finds it, in lower case.
    words: String,
}

/// All rows of that kind of list.
fn rows(kind: FieldKind) -> Vec<Row> {
    if kind == FieldKind::Model {
        let size = |published: Option<u64>| published.map(billions).unwrap_or_default();
        return catalog::models()
            .iter()
            .map(|row| Row {
                id: row.id,
                name: row.name,
                note: if row.verified { size(row.published_parameters) } else { "not verified".to_owned() },
                words: format!("{} {} {} {}", row.id, row.name, row.family, row.aliases.join(" ")).to_ascii_lowercase(),
            })
            .collect();
    }
    catalog::accelerators()
        .iter()
        .map(|row| Row {
            id: row.id,
            name: row.name,
            note: if row.verified { row.vendor.to_owned() } else { format!("{}, not verified", row.vendor) },
            words: format!("{} {} {} {}", row.id, row.name, row.vendor, row.aliases.join(" ")).to_ascii_lowercase(),
        })
        .collect()
}

/// The id of an entry in the open list.
pub fn option_id(field: &Field, index: usize) -> String {
    format!("o-{}-{index}", field.key)
}

/// The text in the input, the id of the marked entry, and the entries found, or that there are none.
pub fn shown(field: &Field, picker: Option<&Picker>, scenario: &Scenario) -> (String, Option<String>, Html) {
    let Some(picker) = picker else { return (chosen_name(field, scenario), None, Html::new()) };
    let text = picker.search.clone().unwrap_or_else(|| chosen_name(field, scenario));
    let option = |(index, row): (usize, &Row)| {
        html(
            r#"<div id="{}" class="picker__option" role="option" aria-selected="{}" data-pick="{}"><span>{}</span><span class="picker__note">{}</span></div>"#,
            &[&option_id(field, index), &word_of(index == picker.at), &row.id, &row.name, &row.note],
        )
    };
    let hits = picker.hits(field.kind);
    if hits.is_empty() {
        let none = r#"<p class="picker__empty" role="option" aria-disabled="true" aria-selected="false">Nothing found. Any shape can be typed below instead.</p>"#;
        return (text, None, html(none, &[]));
    }
    (text, Some(option_id(field, picker.at)), hits.iter().enumerate().map(option).collect())
}

/// The name of what is chosen.
fn chosen_name(field: &Field, scenario: &Scenario) -> String {
    shown_value(scenario, field.id)
}

#[cfg(test)]
mod tests {
    use super::{Picker, shown};
    use crate::app::panels::tests::{count, text};
    use crate::scenario::{FieldId, Scenario, field};

    #[test]
    fn every_word_of_a_search_must_be_found() {
        let kind = field(FieldId::Model).kind;
        let all = Picker::new(FieldId::Model).hits(kind).len();
        let found = |search: &str| Picker { search: Some(search.to_owned()), ..Picker::new(FieldId::Model) }.hits(kind);
        let llamas = found("LLAMA 70b");
        assert!(!llamas.is_empty() && llamas.len() < all);
        assert!(llamas.iter().all(|row| row.name.contains("Llama") && row.name.contains("70B")), "{llamas:?}");
        assert!(found("no such model").is_empty());
    }

    #[test]
    fn a_closed_list_shows_the_chosen_name_alone() {
        let scenario = Scenario::default();
        let model = field(FieldId::Model);
        let (name, marked, list) = shown(model, None, &scenario);
        assert_eq!((name.as_str(), marked, list.is_empty()), ("Llama 3 8B", None, true));
        let picker = Picker { search: Some("mistral".to_owned()), ..Picker::new(FieldId::Model) };
        let (typed, marked, list) = shown(model, Some(&picker), &scenario);
        assert_eq!((typed.as_str(), marked.as_deref()), ("mistral", Some("o-m-0")));
        assert_eq!(count(&list, "aria-selected=\"true\""), 1);
        let none = Picker { search: Some("xyzzy".to_owned()), ..Picker::new(FieldId::Model) };
        let (_, marked, list) = shown(model, Some(&none), &scenario);
        assert_eq!((marked, text(&list).contains("Nothing found")), (None, true));
    }
}
