//! Questions of the page about stories, and the orders to it.

use std::cell::OnceCell;

use crate::lessons::figure::{FIGURES, Facts, Figure};
use crate::lessons::story::{Story, plain};
use crate::lessons::worksheet::{KeptError, KeptResults};
use crate::scenario::codec::decode;
use crate::view::action::{Order, StageStep};
use crate::view::markup::Html;
use crate::worker::plan::form::FormInputs;
use crate::worker::question::TeachingPage;
use crate::worker::wire::MARK;

/// The beginnings of the names of records that the browser keeps, by kind.
const STORY: &str = "story:";
const SHEET: &str = "sheet:";

/// A question about teaching.
#[derive(Default)]
pub struct TeachingRequest {
    /// The address of the page, without a fragment.
    pub address: String,
    /// The link of the present scenario.
    pub fragment: String,
    /// The values of the panel's inputs.
    pub form: FormInputs,
    /// The lecturer's own stories as they are stored: id and file.
    pub stored: Vec<(String, String)>,
    /// Progress on worksheets as it is stored: class and record.
    sheets: Vec<(String, String)>,
    figures: OnceCell<Vec<&'static Figure>>,
}

impl TeachingRequest {
    /// Takes the page's question apart; `fragment`: the link of the present scenario.
    pub fn of(page: &TeachingPage, fragment: &str) -> Self {
        let of = |kind: &str| {
            let named = |(name, file): &(String, String)| {
                Some((name.strip_prefix(kind)?.to_owned(), file.clone()))
            };
            page.records.iter().filter_map(named).collect()
        };
        Self {
            address: page.address.clone(),
            fragment: fragment.to_owned(),
            form: FormInputs::read(&page.inputs),
            stored: of(STORY),
            sheets: of(SHEET),
            figures: OnceCell::new(),
        }
    }

    /// The own stories that can be read.
    pub fn own(&self) -> Vec<Story> {
        self.stored
            .iter()
            .filter_map(|(id, file)| Some(Story { id: id.clone(), ..Story::read(file).ok()? }))
            .collect()
    }

    /// The figures that the present scenario has.
    pub fn figures(&self) -> &[&'static Figure] {
        self.figures.get_or_init(|| {
            let facts = Facts::of(&decode(&self.fragment).scenario).ok();
            FIGURES
                .iter()
                .filter(|figure| facts.as_ref().is_none_or(|facts| (figure.of)(facts).is_some()))
                .collect()
        })
    }

    /// The progress kept on a class's worksheets; `None` where a newer version of the page wrote
    /// it. A record that cannot be read is set aside.
    pub(super) fn kept(&self, class: &str, orders: &mut Orders) -> Option<KeptResults> {
        let Some((_, record)) = self.sheets.iter().find(|(known, _)| known == class) else {
            return Some(KeptResults::default());
        };
        match KeptResults::read(class, record) {
            Ok(kept) => Some(kept),
            Err(KeptError::UnknownVersion(_)) => None,
            Err(KeptError::Malformed) => {
                orders.0.push(Order::Aside(format!("{SHEET}{class}")));
                orders.problem(
                    "Your progress on this worksheet could not be read. It was set aside in this \
                     browser's storage; nothing was deleted.",
                );
                Some(KeptResults::default())
            }
        }
    }

    /// This question with other stories stored.
    #[must_use]
    pub fn with(&self, stored: Vec<(String, String)>) -> Self {
        let Self { address, fragment, form, sheets, figures, .. } = self;
        Self {
            address: address.clone(),
            fragment: fragment.clone(),
            form: form.clone(),
            stored,
            sheets: sheets.clone(),
            figures: figures.clone(),
        }
    }

    /// A name that no own story has.
    pub fn free_id(&self) -> String {
        let taken = |id: &str| self.stored.iter().any(|(known, _)| known == id);
        (1..=self.stored.len() + 1)
            .map(|number| format!("own-{number}"))
            .find(|id| !taken(id))
            .unwrap_or_default()
    }

    /// The text of an input, as a story may hold it.
    pub fn text(&self, name: &str, longest: usize) -> String {
        plain(self.form.text(name), longest)
    }

    /// The link of a part of the page, such as `task=algebra`, beside the default scenario.
    pub fn link(&self, part: &str) -> String {
        format!("{}#v1&{part}", self.address)
    }

    /// The present scenario's link in its shortest form.
    pub fn scenario(&self) -> String {
        crate::scenario::codec::encode(&decode(&self.fragment).scenario)
    }
}

/// Orders to the page, which it carries out before it shows the answer.
#[derive(Debug, Default)]
pub(super) struct Orders(Vec<Order>);

impl Orders {
    /// Keep a story.
    pub(super) fn store(&mut self, story: &Story) {
        self.0.push(Order::Store(format!("{STORY}{}", story.id), story.write()));
    }

    /// Forget a story.
    pub(super) fn forget(&mut self, id: &str) {
        self.0.push(Order::Forget(format!("{STORY}{id}")));
    }

    /// Put a story aside that cannot be read.
    pub(super) fn aside(&mut self, id: &str) {
        self.0.push(Order::Aside(format!("{STORY}{id}")));
    }

    /// Keep the progress on a class's worksheets.
    pub(super) fn progress(&mut self, class: &str, kept: &KeptResults) {
        self.0.push(Order::Progress(format!("{SHEET}{class}"), kept.write()));
    }

    /// Hand a story to the browser's downloads.
    pub(super) fn file(&mut self, story: &Story) {
        self.0.push(Order::File(story.id.clone(), story.write()));
    }

    /// A short message.
    pub(super) fn say(&mut self, text: &str) {
        self.0.push(Order::Say(text.to_owned()));
    }

    /// A problem.
    pub(super) fn problem(&mut self, text: &str) {
        self.0.push(Order::Problem(text.to_owned()));
    }

    /// A step of a story to present.
    pub(super) fn step(&mut self, step: StageStep) {
        self.0.push(Order::Step(step));
    }

    /// Orders and HTML as they travel.
    pub(super) fn write(&self, html: &Html) -> String {
        let lines: Vec<String> = self.0.iter().map(Order::write).collect();
        format!("{}{MARK}{}", lines.join("\n"), html.as_str())
    }
}
