//! What the page knows: one scenario, and memos of everything that follows from it.
//!
//! Events write the scenario through [`State::edit`]; nothing derived is ever written back.

use std::ops::Deref;
use std::sync::Arc;

use leptos::prelude::*;

use super::browser;
use super::history::{History, Snapshot};
use crate::app::ui::memo;
use crate::config::Job;
use crate::estimator::{Estimate, estimate};
use crate::planner::{Curve, Fix, GpuCount, Inverse, curve_gpus, curve_seq, fixes, gpu_count, inverse};
use crate::scenario::{FieldError, FieldId, Mode, Scenario, Value};
use crate::units::MemoryUnit;

/// Points of the curve over the sequence length.
const CURVE_POINTS: usize = 64;

/// Text in a field that cannot be read; the scenario keeps its last valid value meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The field.
    pub field: FieldId,
    /// What stands in it.
    pub text: String,
    /// Why it cannot be read.
    pub message: String,
}

/// A message about the page itself: a link that was not fully understood, storage that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Unique number.
    pub id: u64,
    /// One sentence or two.
    pub text: String,
    /// Whether something went wrong, rather than an explanation.
    pub warning: bool,
}

/// A short message with an optional way back, shown for some seconds.
#[derive(Clone)]
pub struct Toast {
    /// What happened.
    pub text: String,
    /// Takes it back. Shared rather than a `Callback`: that one would go with the row that made it, such as the one just deleted.
    pub undo: Option<Arc<dyn Fn() + Send + Sync>>,
    /// Number of this toast: an older one's timer does not close a newer one.
    pub id: u64,
}

/// Which dialog is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialog {
    /// Link, QR code, exports.
    Share,
    /// Paste a `config.json`.
    Paste,
    /// Save under a name.
    Save,
}

/// Everything the panels read: one page's, which lives as long as the page. A reference, so that every closure copies one word.
#[derive(Clone, Copy)]
pub struct State(&'static Page);

impl Deref for State {
    type Target = Page;
    fn deref(&self) -> &Page {
        self.0
    }
}

/// The signals and memos of the page.
pub struct Page {
    /// What the user said.
    pub scenario: RwSignal<Scenario>,
    /// The scenario it is compared with.
    pub compare: RwSignal<Option<Scenario>>,
    /// Fields whose text cannot be read.
    pub unread: RwSignal<Vec<Unread>>,
    /// Messages about the page.
    pub notices: RwSignal<Vec<Notice>>,
    /// The message at the bottom.
    pub toast: RwSignal<Option<Toast>>,
    /// The open dialog.
    pub dialog: RwSignal<Option<Dialog>>,
    /// Whether the length axis is logarithmic.
    pub log_axis: RwSignal<bool>,
    /// Width and height of one curve on the page, CSS pixels.
    pub plot_size: RwSignal<(u16, u16)>,
    /// Width of the bar on the page, CSS pixels.
    pub bar_width: RwSignal<u16>,
    /// Whether undo and redo have a step.
    pub steps: RwSignal<(bool, bool)>,
    /// Train or serve.
    pub mode: Memo<Mode>,
    /// GB or GiB.
    pub unit: Memo<MemoryUnit>,
    /// Problems of the scenario as a whole.
    pub problems: Memo<Vec<FieldError>>,
    /// The scenario that the answer is about: the last one that could be resolved.
    pub answered: Memo<Scenario>,
    /// Its job.
    pub job: Memo<Job>,
    /// Its estimate.
    pub estimate: Memo<Estimate>,
    /// How many accelerators it needs.
    pub count: Memo<GpuCount>,
    /// Up to three changes that help.
    pub fixes: Memo<Vec<Fix>>,
    /// The largest that still fits.
    pub inverse: Memo<Inverse>,
    /// Memory by sequence length.
    pub curve_seq: Memo<Curve>,
    /// Memory by number of accelerators.
    pub curve_gpus: Memo<Curve>,
    /// Counts up when job and unit have rested: what stands far below the answer follows then.
    pub rested: ReadSignal<u32>,
    /// The compared scenario's job.
    pub compare_job: Memo<Option<Job>>,
    history: StoredValue<History>,
    counter: StoredValue<u64>,
}

impl State {
    /// The state of a page that starts with these scenarios.
    pub fn new(scenario: Scenario, compare: Option<Scenario>) -> Self {
        let scenario = RwSignal::new(scenario);
        let compare = RwSignal::new(compare);
        let log_axis = RwSignal::new(true);
        let resolved = memo(move || scenario.with(Scenario::resolve));
        let valid = move || resolved.with(Result::is_ok).then(|| scenario.get());
        let answered = Memo::new(move |last: Option<&Scenario>| valid().or_else(|| last.cloned()).unwrap_or_default());
        let job = Memo::new(move |last: Option<&Job>| last_valid(resolved.get().ok(), last));
        let unit = memo(move || scenario.with(Scenario::memory_unit));
        let estimate_memo = memo(move || job.with(estimate));
        let count = memo(move || job.with(|job| gpu_count(job, unit.get())));
        let longest = memo(move || job.with(inverse));
        Self(Box::leak(Box::new(Page {
            scenario,
            compare,
            unread: RwSignal::new(Vec::new()),
            notices: RwSignal::new(Vec::new()),
            toast: RwSignal::new(None),
            dialog: RwSignal::new(None),
            log_axis,
            plot_size: RwSignal::new((412, 254)),
            bar_width: RwSignal::new(848),
            steps: RwSignal::new((false, false)),
            mode: memo(move || scenario.with(Scenario::mode)),
            unit,
            problems: memo(move || resolved.get().err().unwrap_or_default()),
            answered,
            job,
            estimate: estimate_memo,
            count,
            fixes: memo(move || job.with(|job| estimate_memo.with(|estimate| count.with(|count| fixes(job, estimate, count))))),
            inverse: longest,
            curve_seq: memo(move || job.with(|job| curve_seq(job, longest.get().longest_seq, CURVE_POINTS, log_axis.get()))),
            curve_gpus: memo(move || job.with(curve_gpus)),
            rested: browser::rested(move || {
                job.track();
                unit.track();
            }),
            compare_job: memo(move || compare.with(|other| other.as_ref().and_then(|other| other.resolve().ok()))),
            history: StoredValue::new(History::default()),
            counter: StoredValue::new(0),
        })))
    }

    /// Changes the scenario as one step of undo; quick changes of one field join into one step.
    pub fn edit(self, field: Option<FieldId>, change: impl FnOnce(&mut Scenario)) {
        let before = self.snapshot();
        let mut after = before.scenario.clone();
        change(&mut after);
        if after == before.scenario {
            return;
        }
        self.record(before, field);
        self.scenario.set(after);
    }

    /// Writes one field.
    pub fn set(self, field: FieldId, value: Value) {
        self.edit(Some(field), |scenario| scenario.set(field, value));
    }

    /// Shows another scenario, as one step of undo.
    pub fn open(self, scenario: Scenario, compare: Option<Scenario>) {
        let before = self.snapshot();
        self.unread.set(Vec::new());
        if before.scenario == scenario && before.compare == compare {
            return;
        }
        self.record(before, None);
        self.scenario.set(scenario);
        self.compare.set(compare);
    }

    /// Pins or lets go the scenario to compare with.
    pub fn compare_with(self, other: Option<Scenario>) {
        self.open(self.scenario.get_untracked(), other);
    }

    /// One step back; text that cannot be read goes first.
    pub fn undo(self) {
        if self.unread.with_untracked(|unread| !unread.is_empty()) {
            self.unread.set(Vec::new());
            return;
        }
        let current = self.snapshot();
        let before = self.history.try_update_value(|history| history.undo(current)).flatten();
        self.show(before);
    }

    /// One step forward.
    pub fn redo(self) {
        let current = self.snapshot();
        let after = self.history.try_update_value(|history| history.redo(current)).flatten();
        self.show(after);
    }

    /// Adds a notice.
    pub fn tell(self, text: String, warning: bool) {
        let id = self.next();
        self.notices.update(|notices| {
            if !notices.iter().any(|notice| notice.text == text) {
                notices.push(Notice { id, text, warning });
            }
        });
    }

    /// Shows a short message, with a way back where there is one.
    pub fn say(self, text: impl Into<String>, undo: Option<Arc<dyn Fn() + Send + Sync>>) {
        let id = self.next();
        self.toast.set(Some(Toast { text: text.into(), undo, id }));
        browser::after(8_000, move || {
            self.toast.update(|toast| {
                if toast.as_ref().is_some_and(|toast| toast.id == id) {
                    *toast = None;
                }
            });
        });
    }

    /// Whether the answer shown belongs to an earlier scenario, because the present one has a problem.
    pub fn is_stale(self) -> bool {
        self.problems.with(|problems| !problems.is_empty()) || self.unread.with(|unread| !unread.is_empty())
    }

    fn next(self) -> u64 {
        self.counter
            .try_update_value(|counter| {
                *counter = counter.saturating_add(1);
                *counter
            })
            .unwrap_or_default()
    }

    fn snapshot(self) -> Snapshot {
        Snapshot { scenario: self.scenario.get_untracked(), compare: self.compare.get_untracked() }
    }

    fn record(self, before: Snapshot, field: Option<FieldId>) {
        self.history.update_value(|history| history.record(before, field, browser::now_ms()));
        self.steps.set(self.history.with_value(History::steps));
    }

    fn show(self, snapshot: Option<Snapshot>) {
        let Some(snapshot) = snapshot else { return };
        self.scenario.set(snapshot.scenario);
        self.compare.set(snapshot.compare);
        self.steps.set(self.history.with_value(History::steps));
    }
}

/// The state, from anywhere below [`super::App`].
pub fn state() -> State {
    expect_context()
}

/// The new job, or the last valid one, or the default scenario's.
fn last_valid(new: Option<Job>, last: Option<&Job>) -> Job {
    new.or_else(|| last.cloned()).unwrap_or_else(default_job)
}

/// The job of the default scenario. It always resolves (a test of the scenario holds it); the loop only proves it to the compiler.
fn default_job() -> Job {
    Scenario::default().resolve().unwrap_or_else(|_| std::process::abort())
}
