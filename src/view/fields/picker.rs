//! A searchable list: models and accelerators of the catalog.

use super::rows::{self, CatalogRow, FoundRows, List};
use crate::scenario::{Field, FieldId, FieldKind, Scenario, Value};
use crate::view::markup::{Html, html};
use crate::view::words::shown as shown_value;

/// How many entries Page Up and Page Down pass.
const PAGE: usize = 8;
/// The list that is open: at most one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picker {
    /// Whose list.
    pub field: FieldId,
    /// The text typed to search; nothing typed shows the chosen name and the whole list.
    pub search: Option<String>,
    /// The entry that Enter would take. None where nothing was found: a near row is taken by
    /// choice, never by Enter alone.
    pub at: Option<usize>,
}

/// One entry of the open list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PickerEntry {
    /// A row of the catalog.
    Row(&'static CatalogRow),
    /// A way on where no row is found.
    Way(WayOn),
}

/// A way on for who does not find a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayOn {
    /// Opens the dialog for a `config.json`.
    Paste,
    /// Leads to the first size of a model.
    Sizes,
    /// Leads to the memory of an accelerator.
    Memory,
}

impl WayOn {
    /// The word that its entry carries.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Paste => "way:paste",
            Self::Sizes => "way:sizes",
            Self::Memory => "way:memory",
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Paste => "Paste its config.json",
            Self::Sizes => "Enter its sizes under Architecture",
            Self::Memory => "Enter its memory under GPU and layout details",
        }
    }

    /// The way with that word.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Paste, Self::Sizes, Self::Memory].into_iter().find(|way| way.word() == word)
    }
}

impl PickerEntry {
    /// The word by which it is picked: the row's id, or the way's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Row(row) => row.id,
            Self::Way(way) => way.word(),
        }
    }
}

impl Picker {
    /// The whole list, at the entry that is chosen; at none where the model or the accelerator is
    /// no row of it.
    pub fn open(field: &Field, scenario: &Scenario) -> Self {
        let chosen = chosen(field, scenario);
        let whole = Self { field: field.id, search: None, at: None };
        let at = whole
            .entries(field.kind)
            .iter()
            .position(|entry| Some(entry.word()) == chosen.as_deref());
        Self { at, ..whole }
    }

    /// The list for a typed search, at its best row; at none until the finder has come. An emptied
    /// input shows the whole list again.
    pub fn search(field: &Field, typed: String, scenario: &Scenario) -> Self {
        if typed.trim().is_empty() {
            return Self { search: Some(typed), ..Self::open(field, scenario) };
        }
        let finds = matches!(list(field.kind).found(&typed), FoundRows::Rows(_));
        Self { field: field.id, search: Some(typed), at: finds.then_some(0) }
    }

    /// The list for the same search, which may find more than before: the finder has come.
    #[must_use]
    pub fn again(self, scenario: &Scenario) -> Self {
        match self.search {
            Some(typed) => Self::search(crate::scenario::field(self.field), typed, scenario),
            None => self,
        }
    }

    /// The entries as they are shown: the rows found, best first, those of a group together; else
    /// the nearest rows and the ways on.
    pub fn entries(&self, kind: FieldKind) -> Vec<PickerEntry> {
        self.found(kind).1
    }

    /// True if any row was found, and the entries to show.
    fn found(&self, kind: FieldKind) -> (bool, Vec<PickerEntry>) {
        let (found, rows) = self.rows(kind);
        let ways: &[WayOn] = match kind {
            _ if found => &[],
            FieldKind::Model => &[WayOn::Paste, WayOn::Sizes],
            _ => &[WayOn::Memory],
        };
        (
            found,
            rows.into_iter()
                .map(PickerEntry::Row)
                .chain(ways.iter().copied().map(PickerEntry::Way))
                .collect(),
        )
    }

    /// True if any row was found, and the rows to show.
    fn rows(&self, kind: FieldKind) -> (bool, Vec<&'static CatalogRow>) {
        let list = list(kind);
        let typed = self.search.as_deref().unwrap_or_default();
        let at = |positions: Vec<usize>| {
            positions.into_iter().filter_map(|at| list.rows.get(at)).collect()
        };
        match list.found(typed) {
            FoundRows::Rows(positions) => (true, together(at(positions))),
            FoundRows::Nearest(positions) => (false, at(positions)),
            FoundRows::NotYet => (true, together(list.rows.iter().collect())),
        }
    }

    /// The entry that a key leads to; nothing for other keys.
    pub fn moved(&self, key: &str, kind: FieldKind) -> Option<usize> {
        let last = self.entries(kind).len().saturating_sub(1);
        let to = match (key, self.at) {
            ("ArrowDown" | "PageDown" | "ArrowUp" | "PageUp", None) | ("Home", _) => 0,
            ("ArrowDown", Some(at)) => at.saturating_add(1),
            ("ArrowUp", Some(at)) => at.saturating_sub(1),
            ("PageDown", Some(at)) => at.saturating_add(PAGE),
            ("PageUp", Some(at)) => at.saturating_sub(PAGE),
            ("End", _) => last,
            _ => return None,
        };
        Some(to.min(last))
    }

    /// The word of the entry that Enter takes. Nothing where that is the chosen one and no search
    /// was typed: it stays as it is, with all that was changed by hand.
    pub fn taken(&self, field: &Field, scenario: &Scenario) -> Option<&'static str> {
        let entry = self.entries(field.kind).get(self.at?).copied()?;
        let unchanged =
            self.search.is_none() && Some(entry.word()) == chosen(field, scenario).as_deref();
        (!unchanged).then(|| entry.word())
    }
}

/// The list of a field.
fn list(kind: FieldKind) -> &'static List {
    if kind == FieldKind::Model { rows::models() } else { rows::accelerators() }
}

/// Rows of one group after its first one; groups in the order of their first rows.
fn together(rows: Vec<&'static CatalogRow>) -> Vec<&'static CatalogRow> {
    let mut groups: Vec<(&str, Vec<&'static CatalogRow>)> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|(group, _)| *group == row.group) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((&row.group, vec![row])),
        }
    }
    groups.into_iter().flat_map(|(_, rows)| rows).collect()
}

/// The id of an entry in the open list.
pub fn option_id(field: &Field, index: usize) -> String {
    format!("o-{}-{index}", field.key)
}

/// The text in the input, the id of the marked entry, and the entries under their headings.
pub fn shown(
    field: &Field,
    picker: Option<&Picker>,
    scenario: &Scenario,
) -> (String, Option<String>, Html) {
    let Some(picker) = picker else { return (chosen_name(field, scenario), None, Html::new()) };
    let text = picker.search.clone().unwrap_or_else(|| chosen_name(field, scenario));
    let (finds, entries) = picker.found(field.kind);
    let chosen = chosen(field, scenario);
    let mut groups: Vec<(&str, Vec<Html>)> = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let heading = match entry {
            PickerEntry::Row(row) if finds => row.group.as_str(),
            PickerEntry::Row(_) => "No match. The nearest:",
            PickerEntry::Way(_) => "Or:",
        };
        let option = option(
            field,
            (index, entry),
            picker.at == Some(index),
            Some(entry.word()) == chosen.as_deref(),
        );
        match groups.last_mut() {
            Some((last, options)) if *last == heading => options.push(option),
            _ => groups.push((heading, vec![option])),
        }
    }
    let group = |(index, (heading, options)): (usize, &(&str, Vec<Html>))| {
        html! {
            div class="picker__group" role="group"
                aria-labelledby={ "g-" (field.key) "-" (index) } data-key=(heading) {
                p id={ "g-" (field.key) "-" (index) } class="picker__family"
                    role="presentation" {
                    (heading)
                }
                @for option in options { (option) }
            }
        }
    };
    (text, picker.at.map(|at| option_id(field, at)), groups.iter().enumerate().map(group).collect())
}

/// One entry of the list.
fn option(
    field: &Field,
    (index, entry): (usize, PickerEntry),
    is_marked: bool,
    is_chosen: bool,
) -> Html {
    let inside = match entry {
        PickerEntry::Row(row) => told(row, list(field.kind).units, is_chosen),
        PickerEntry::Way(way) => html! { span { (way.text()) } },
    };
    html! {
        div id=(option_id(field, index))
            class={ "picker__option" (if is_chosen { " picker__option--chosen" } else { "" }) }
            role="option" aria-selected=(is_marked) data-key=(entry.word())
            data-pick=(entry.word()) {
            (inside)
        }
    }
}

/// Name, size and more; what is not verified says so beside them.
fn told(row: &CatalogRow, [size, more]: [&'static str; 2], is_chosen: bool) -> Html {
    html! {
        span class="picker__name" {
            (row.name)
            @if !row.verified {
                " "
                span class="tag tag--assumed" { "not verified" }
            }
            @if is_chosen { span class="sr" { ", chosen" } }
        }
        span class="sr" { ", " }
        span class="picker__size" { (row.size()) }
        span class="sr" { " " (size) ", " }
        span class="picker__more" { (row.more) }
        span class="sr" { " " (more) }
    }
}

/// The id of the chosen row; none for a pasted model: the row that it is written as differences
/// from means nothing to the reader.
fn chosen(field: &Field, scenario: &Scenario) -> Option<String> {
    match scenario.get(field.id) {
        Value::Text(id) if field.id != FieldId::Model || !scenario.is_pasted() => Some(id),
        _ => None,
    }
}

/// The name of what is chosen.
fn chosen_name(field: &Field, scenario: &Scenario) -> String {
    shown_value(scenario, field.id)
}

#[cfg(test)]
mod tests {
    use super::{Picker, PickerEntry, WayOn, shown};
    use crate::scenario::codec::decode;
    use crate::scenario::{Field, FieldId, Scenario, field};
    use crate::view::panels::tests::{count, text};

    fn typed(id: FieldId, search: &str) -> Picker {
        Picker::search(field(id), search.to_owned(), &Scenario::default())
    }

    fn words(picker: &Picker, field: &Field) -> Vec<&'static str> {
        picker.entries(field.kind).into_iter().map(PickerEntry::word).collect()
    }

    #[test]
    fn every_word_of_a_search_must_be_found() {
        let model = field(FieldId::Model);
        let all = words(&Picker::open(model, &Scenario::default()), model).len();
        let found = typed(FieldId::Model, "LLAMA 70b").entries(model.kind);
        assert!(!found.is_empty() && found.len() < all);
        for entry in found {
            let PickerEntry::Row(row) = entry else { panic!("{entry:?} is no row") };
            assert!(row.name.contains("Llama") && row.name.contains("70B"), "{row:?}");
        }
    }

    #[test]
    fn rows_of_a_group_stand_together_under_one_heading() {
        for id in [FieldId::Model, FieldId::Accelerator] {
            for picker in
                [Picker::open(field(id), &Scenario::default()), typed(id, "a"), typed(id, "3")]
            {
                let mut seen: Vec<&str> = Vec::new();
                for entry in picker.entries(field(id).kind) {
                    let PickerEntry::Row(row) = entry else { continue };
                    if seen.last() != Some(&row.group.as_str()) {
                        assert!(!seen.contains(&row.group.as_str()), "{} twice", row.group);
                        seen.push(&row.group);
                    }
                }
                let (_, _, list) = shown(field(id), Some(&picker), &Scenario::default());
                assert_eq!(count(&list, "role=\"group\""), seen.len());
            }
        }
    }

    #[test]
    fn a_list_opens_at_the_chosen_entry_and_enter_keeps_it() {
        for (link, id, chosen) in [
            ("v1&m=mistral-7b&gpu=rtx4090", FieldId::Model, "mistral-7b"),
            ("v1&m=mistral-7b&gpu=rtx4090", FieldId::Accelerator, "rtx4090"),
            ("v1&m=mistral-7b&gpu=rtx4090&l=16", FieldId::Model, "mistral-7b"),
        ] {
            let scenario = decode(link).scenario;
            let picker = Picker::open(field(id), &scenario);
            let at = picker.at.expect("an entry is marked");
            assert_eq!(words(&picker, field(id)).get(at), Some(&chosen), "{link}");
            assert_eq!(picker.taken(field(id), &scenario), None, "{link}");
            let next = Picker { at: picker.moved("ArrowDown", field(id).kind), ..picker.clone() };
            assert!(next.taken(field(id), &scenario).is_some_and(|word| word != chosen), "{link}");
            let (_, marked, list) = shown(field(id), Some(&picker), &scenario);
            assert_eq!(marked, Some(format!("o-{}-{at}", field(id).key)));
            assert_eq!(
                (count(&list, "aria-selected=\"true\""), count(&list, "picker__option--chosen")),
                (1, 1)
            );
        }
        // Who types its name means the row itself, without the changes by hand.
        let scenario = decode("v1&m=mistral-7b&l=16").scenario;
        let picker = Picker::search(field(FieldId::Model), "mistral 7b".to_owned(), &scenario);
        assert_eq!(picker.taken(field(FieldId::Model), &scenario), Some("mistral-7b"));
    }

    /// A pasted model is no row, and neither is a word of a link that the list does not have:
    /// nothing is called chosen, and Enter takes nothing that nobody went to.
    #[test]
    fn a_model_that_is_no_row_has_no_chosen_entry() {
        let model = field(FieldId::Model);
        for link in ["v1&m=qwen3-30b-a3b&mt=mimo-v2-flash&l=50", "v1&m=llama3-7"] {
            let scenario = decode(link).scenario;
            for picker in
                [Picker::open(model, &scenario), Picker::search(model, String::new(), &scenario)]
            {
                assert_eq!((picker.at, picker.taken(model, &scenario)), (None, None), "{link}");
                let (_, marked, list) = shown(model, Some(&picker), &scenario);
                assert_eq!(
                    (
                        marked,
                        count(&list, "picker__option--chosen"),
                        count(&list, "aria-selected=\"true\"")
                    ),
                    (None, 0, 0)
                );
                assert_eq!(picker.moved("ArrowDown", model.kind), Some(0));
            }
        }
    }

    #[test]
    fn keys_lead_through_the_list_and_stop_at_its_ends() {
        let gpu = field(FieldId::Accelerator);
        let picker = Picker { at: Some(20), ..Picker::open(gpu, &Scenario::default()) };
        let last = picker.entries(gpu.kind).len() - 1;
        let to = |picker: &Picker, key: &str| picker.moved(key, gpu.kind);
        let keys = ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"];
        assert_eq!(
            keys.map(|key| to(&picker, key)),
            [Some(21), Some(19), Some(28), Some(12), Some(0), Some(last)]
        );
        assert_eq!(to(&Picker { at: Some(last), ..picker.clone() }, "PageDown"), Some(last));
        assert_eq!(to(&Picker { at: Some(3), ..picker.clone() }, "PageUp"), Some(0));
        assert_eq!((to(&picker, "a"), to(&picker, "ArrowLeft")), (None, None));
    }

    #[test]
    fn a_closed_list_shows_the_chosen_name_alone() {
        let scenario = Scenario::default();
        let model = field(FieldId::Model);
        let (name, marked, list) = shown(model, None, &scenario);
        assert_eq!((name.as_str(), marked, list.is_empty()), ("Llama 3 8B", None, true));
        let (typed, marked, list) =
            shown(model, Some(&typed(FieldId::Model, "mistral")), &scenario);
        assert_eq!((typed.as_str(), marked.as_deref()), ("mistral", Some("o-m-0")));
        assert_eq!(count(&list, "aria-selected=\"true\""), 1);
    }

    #[test]
    fn an_entry_says_its_size_and_what_is_not_verified() {
        let scenario = decode("v1&gpu=rtx3060").scenario;
        let said = |id: FieldId, search: &str| {
            text(&shown(field(id), Some(&typed(id, search)), &scenario).2)
        };
        let model = said(FieldId::Model, "llama 3 8b");
        assert!(
            model.contains("Llama 3 8B, chosen, 8.03 B parameters, 8k tokens of context"),
            "{model}"
        );
        let gpu = said(FieldId::Accelerator, "rtx 3060");
        assert!(
            gpu.starts_with(
                "NVIDIA GeForce RTX 30RTX 3060 12GB, chosen, 12.0 GiB of memory, 360 GB/s of \
                 bandwidth"
            ),
            "{gpu}"
        );
        let unverified = said(FieldId::Accelerator, "a10g");
        assert!(unverified.contains("A10G (AWS) not verified, 22.5 GiB of memory"), "{unverified}");
    }

    #[test]
    fn where_nothing_is_found_the_nearest_rows_and_the_ways_on_stand() {
        for (id, ways) in [
            (FieldId::Model, &[WayOn::Paste, WayOn::Sizes][..]),
            (FieldId::Accelerator, &[WayOn::Memory][..]),
        ] {
            let picker = typed(id, "xyzzy 9");
            let entries = picker.entries(field(id).kind);
            let (rows, last) = entries.split_at(3);
            assert!(rows.iter().all(|entry| matches!(entry, PickerEntry::Row(_))), "{rows:?}");
            assert_eq!(last, ways.iter().copied().map(PickerEntry::Way).collect::<Vec<_>>());
            assert!(
                last.iter()
                    .all(|entry| WayOn::of(entry.word()).map(PickerEntry::Way) == Some(*entry))
            );
            // Enter alone takes none of them; an arrow leads to the first.
            let (_, marked, list) = shown(field(id), Some(&picker), &Scenario::default());
            assert_eq!(
                (picker.at, marked, picker.taken(field(id), &Scenario::default())),
                (None, None, None)
            );
            assert!(
                text(&list).starts_with("No match. The nearest:")
                    && count(&list, "role=\"option\"") == 3 + ways.len()
            );
            assert_eq!(picker.moved("ArrowDown", field(id).kind), Some(0));
        }
        let near =
            typed(FieldId::Accelerator, "rtx 3061").entries(field(FieldId::Accelerator).kind);
        assert_eq!(near.first().map(|entry| entry.word()), Some("rtx3060"));
    }

    #[test]
    fn no_row_has_the_word_of_a_way() {
        for id in [FieldId::Model, FieldId::Accelerator] {
            let all = words(&Picker::open(field(id), &Scenario::default()), field(id));
            assert!(all.iter().all(|word| WayOn::of(word).is_none()));
            assert_eq!(
                all.len(),
                if id == FieldId::Model {
                    crate::catalog::models().len()
                } else {
                    crate::catalog::accelerators().len()
                }
            );
        }
    }
}
