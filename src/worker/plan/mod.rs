//! The planner in the worker: a search over layouts that goes on slice by slice, so that other
//! questions are answered in between.
//!
//! The page sends what stands in the form and one word: `show` writes the panel as things are,
//! `search` begins anew, `stop` ends what runs. Everything the panel shows is written here; the
//! page only puts it in place.

mod answer;
mod ask;
pub mod form;
mod front;
mod hand;
pub mod layout;
mod rows;
mod stairs;
mod why;

use std::num::NonZeroU64;

use self::form::{FormInputs, SearchQuestion, SearchRequest};
pub use self::front::legend;
pub use self::stairs::Stairway;
use super::question::{PlanQuestion, WorkerQuestion};
use super::wire::{Reply, Request, What};
use crate::catalog;
use crate::config::{Choice, Job};
use crate::estimator::{device_memory, estimate};
use crate::planner::search::{Answer, Found, Gathered, Progress, Search};
use crate::scenario::codec::decode;
use crate::scenario::{FieldId, Scenario, Value};
use crate::units::{Bytes, MemoryUnit, to_f64};
use crate::view::action::PlanVerb;
use crate::view::markup::Html;
use crate::view::words::{accelerator_name, model_name};

/// How long a slice works before others have a turn, milliseconds.
const SLICE_MS: f64 = 30.0;
/// Layouts between two looks at the clock.
const STEP: u64 = 2_000;

/// The planner's state in the worker: the last question, and the search that runs or ran.
#[derive(Default)]
pub struct Desk {
    number: u32,
    unit: MemoryUnit,
    scenario: Scenario,
    form: FormInputs,
    /// All but the answer, which is written anew while a search runs.
    ask: Html,
    /// Why the last question cannot be searched for.
    refused: Option<String>,
    plan: Option<Plan>,
    /// True if another worker helps.
    helped: bool,
    /// Letters to the helper; in a helper, letters to the worker that it helps.
    letters: Vec<String>,
}

/// One search, of one leg or several.
struct Plan {
    asked: SearchRequest,
    /// The scenario without the settings that the search does not depend on; an answer belongs to
    /// it.
    basis: Scenario,
    legs: Vec<Leg>,
    /// The leg at work, and its search.
    at: usize,
    search: Option<Search>,
    stopped: bool,
    busy_ms: f64,
    /// The parts of the space that this plan goes through.
    role: Role,
}

/// Whose parts of the space a plan goes through.
#[derive(Clone, Debug, PartialEq)]
enum Role {
    /// All parts.
    Alone,
    /// A share of the parts. The helper, asked with that number, goes through the others; the list
    /// holds what it has sent, by leg.
    Shared(u32, Vec<Option<Gathered>>),
    /// The parts that a helper goes through.
    Helper,
}

/// The search for one accelerator or one model.
struct Leg {
    name: String,
    scenario: Scenario,
    job: Job,
    /// The answer of the leg so far.
    answer: Option<Answer>,
    considered: u64,
    share: f64,
}

impl Desk {
    /// Takes a question of the page; one that is not about the search changes nothing.
    pub fn hear(&mut self, request: &Request) {
        let WorkerQuestion::Plan(asked, inputs) = &request.question else { return };
        self.number = request.number;
        self.unit = request.unit;
        self.scenario = decode(&request.fragment).scenario;
        self.form = FormInputs::read(inputs);
        self.ask = ask::panel(&self.scenario, &self.form);
        match asked {
            PlanQuestion::Panel(PlanVerb::Search) => self.search(request, inputs, false),
            PlanQuestion::Share => self.search(request, inputs, true),
            PlanQuestion::Panel(PlanVerb::Stop) => self.stop(request),
            PlanQuestion::Panel(PlanVerb::Show) => {}
        }
    }

    /// Begins a search; `helps`: for another worker that has a share of it.
    fn search(&mut self, request: &Request, inputs: &str, helps: bool) {
        (self.plan, self.refused) = match self.begin() {
            Ok(plan) => (Some(plan), None),
            Err(sentence) => (None, Some(sentence)),
        };
        self.share_out(helps, request, inputs);
    }

    fn begin(&self) -> Result<Plan, String> {
        let job = self.scenario.resolve().map_err(|problems| {
            let first =
                problems.into_iter().next().map(|problem| problem.message).unwrap_or_default();
            format!("{first} Change that input, then search.")
        })?;
        if job.training().is_none() {
            return Err(
                "This search lays out training only; switch to Train at the top of the form."
                    .to_owned(),
            );
        }
        let asked = SearchRequest::read(&self.form, &job)?;
        let legs = legs(&self.scenario, &asked);
        Ok(Plan {
            asked,
            basis: basis(&self.scenario),
            legs,
            at: 0,
            search: None,
            stopped: false,
            busy_ms: 0.0,
            role: Role::Alone,
        })
    }

    /// True if there is something to go on with.
    pub fn is_running(&self) -> bool {
        self.plan.as_ref().is_some_and(Plan::runs)
    }

    /// Goes on for a slice of time; `now` tells milliseconds.
    pub fn slice(&mut self, now: &dyn Fn() -> f64) {
        let Some(plan) = &mut self.plan else { return };
        let from = now();
        while plan.runs() && !plan.waits() && now() - from < SLICE_MS {
            if let Some(letter) = plan.step(STEP) {
                self.letters.push(
                    Reply {
                        number: self.number,
                        what: What::Plan,
                        more: true,
                        fragment: None,
                        html: letter,
                    }
                    .write(),
                );
            }
        }
        plan.busy_ms += now() - from;
    }

    /// The panel as things are.
    pub fn reply(&self) -> String {
        let html = self.html();
        Reply {
            number: self.number,
            what: What::Plan,
            more: self.is_running(),
            fragment: None,
            html: html.as_str().to_owned(),
        }
        .write()
    }

    fn html(&self) -> Html {
        let answer = answer::answer(
            self.plan.as_ref(),
            self.refused.as_deref(),
            &self.form,
            &self.scenario,
            self.unit,
        );
        [self.ask.clone(), answer].into_iter().collect()
    }
}

/// The scenarios that are searched, each with its name.
fn legs(scenario: &Scenario, asked: &SearchRequest) -> Vec<Leg> {
    let mut legs = Vec::new();
    let mut add = |name: String, scenario: Scenario| {
        if let Ok(job) = scenario.resolve() {
            legs.push(Leg { name, scenario, job, answer: None, considered: 0, share: 0.0 });
        }
    };
    if let SearchQuestion::Family(_) = asked.question {
        for (name, scenario) in family(scenario) {
            add(name, scenario);
        }
        return legs;
    }
    if asked.accelerators.is_empty() {
        add(accelerator_name(scenario), scenario.clone());
    }
    for (row, price) in &asked.accelerators {
        let mut scenario = scenario.clone();
        if scenario.accelerator().is_none_or(|own| own.id != row.id) {
            scenario.set_accelerator(row.id);
        }
        if let Some(price) = price {
            scenario.set(FieldId::PricePerHour, Value::Decimal(*price));
        }
        add(accelerator_name(&scenario), scenario);
    }
    legs
}

/// The models that are listed with the scenario's, the largest first, each in the scenario's place.
/// The scenario's own keeps what was changed about it.
fn family(scenario: &Scenario) -> Vec<(String, Scenario)> {
    let Some(own) = scenario.model().filter(|_| !scenario.is_pasted()) else {
        return vec![(model_name(scenario), scenario.clone())];
    };
    let with = |row: &catalog::ModelRow| {
        let mut other = scenario.clone();
        if row.id != own.id {
            other.set_model(row.id);
        }
        let parameters = other.resolve().map(|job| estimate(&job).parameters.total);
        // One that is served alone cannot be asked for when training.
        let total = if row.id == own.id { Some(parameters.unwrap_or(0)) } else { parameters.ok() };
        total.map(|total| (total, model_name(&other), other))
    };
    let mut all: Vec<_> =
        catalog::models().iter().filter(|row| row.family == own.family).filter_map(with).collect();
    all.sort_by_key(|(parameters, ..)| std::cmp::Reverse(*parameters));
    all.into_iter().map(|(_, name, scenario)| (name, scenario)).collect()
}

/// The part of a scenario that a search depends on: all but its layout, its name and the unit of
/// its amounts.
fn basis(scenario: &Scenario) -> Scenario {
    let mut basis = scenario.clone();
    for field in layout::VARIED.into_iter().chain([FieldId::Name, FieldId::MemoryUnit]) {
        basis.clear(field);
    }
    basis
}

impl Plan {
    fn runs(&self) -> bool {
        !self.stopped && self.at < self.legs.len()
    }

    /// Looks at so many layouts or a few more. At the end of a leg a helper returns its letter.
    fn step(&mut self, budget: u64) -> Option<String> {
        let leg = self.legs.get_mut(self.at)?;
        let asked = &self.asked;
        let search = self.search.get_or_insert_with(|| leg.search(asked, &self.role));
        let Progress { considered, share, finished } = search.step(budget);
        (leg.considered, leg.share) = (considered, share);
        if !finished {
            return None;
        }
        let mut letter = None;
        match &mut self.role {
            Role::Alone => {}
            Role::Shared(_, theirs) => {
                search.take_in(&theirs.get_mut(self.at).and_then(Option::take)?);
            }
            Role::Helper => letter = Some(hand::letter(self.at, &search.gathered())),
        }
        let answer = search.answer();
        leg.considered = answer.considered();
        let enough = matches!(asked.question, SearchQuestion::Family(_)) && answer.fitting() > 0;
        leg.answer = Some(answer);
        self.search = None;
        self.at = if enough { self.legs.len() } else { self.at + 1 };
        letter
    }

    /// Layouts looked at.
    fn considered(&self) -> u64 {
        self.legs.iter().map(|leg| leg.considered).sum()
    }

    /// Share of all that is gone through, 0 to 1.
    fn share(&self) -> f64 {
        let legs = u64::try_from(self.legs.len()).unwrap_or(1).max(1);
        if self.at >= self.legs.len() {
            1.0
        } else {
            self.legs.iter().map(|leg| leg.share).sum::<f64>() / to_f64(legs)
        }
    }

    /// Layouts looked at in a second of work.
    fn rate(&self) -> f64 {
        if self.busy_ms > 0.0 { to_f64(self.considered()) * 1000.0 / self.busy_ms } else { 0.0 }
    }

    /// The legs with what they have found so far; those that have not begun are left out.
    fn found(&self) -> Vec<(&Leg, Answer)> {
        let answer = |(at, leg): (usize, &Leg)| {
            leg.answer
                .clone()
                .or_else(|| self.search.as_ref().filter(|_| at == self.at).map(Search::answer))
        };
        self.legs
            .iter()
            .enumerate()
            .filter_map(|(at, leg)| Some((leg, answer((at, leg))?)))
            .collect()
    }
}

impl Leg {
    /// Gets ready; where the present layout's number of accelerators is gone through, its rank is
    /// found too.
    fn search(&self, asked: &SearchRequest, role: &Role) -> Search {
        let space = asked.space(&self.job);
        let (layout, micro_batch) =
            (*self.job.layout(), NonZeroU64::new(self.job.micro_batch_size()));
        let watched = space.counts.contains(&layout.world_size()) && !space.ends_with_first;
        let mut search = Search::new(&self.job, space);
        match role {
            Role::Alone => {}
            Role::Shared(..) => search.look_at_every(2, 0),
            Role::Helper => search.look_at_every(2, 1),
        }
        if let (true, Some(micro_batch_size), Some(run)) =
            (watched, micro_batch, self.job.training())
        {
            search.watch(&Choice { layout, micro_batch_size, recompute: run.recompute });
        }
        search
    }

    /// The scenario with a layout that was found, its amounts and its name as they are now.
    fn taken(&self, found: &Found, now: &Scenario) -> Scenario {
        let mut scenario = layout::taken(&self.scenario, &found.choice);
        for field in [FieldId::Name, FieldId::MemoryUnit] {
            scenario.set(field, now.get(field));
        }
        scenario
    }

    /// Memory in use on a GPU where PyTorch's allocator finds no room for a layout whose tensors
    /// fit; asked once the leg is searched.
    fn without_room(&self, found: &Found) -> Option<Bytes> {
        let is_searched = self.share >= 1.0;
        let memory =
            is_searched.then(|| device_memory(&self.job.with_choice(&found.choice)).ok())??;
        (!memory.fits).then_some(memory.in_use)
    }

    /// Model FLOPs of a layout's steps over what its accelerators could do at their peak; unknown
    /// without a peak rate.
    fn mfu(&self, found: &Found) -> Option<f64> {
        // A utilisation and the step it stands for give the step at the peak; the found step is
        // longer.
        let compute = estimate(&self.job.with_choice(&found.choice)).compute?;
        Some(compute.mfu * compute.step_seconds?.0 / found.seconds?)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Desk, family};
    use crate::scenario::codec::decode;
    use crate::units::MemoryUnit;
    use crate::worker::question::WorkerQuestion;
    use crate::worker::wire::{Reply, Request, What};
    use std::cell::Cell;

    pub const LINK: &str = "v1&m=llama3-8b&n=8&ker=megatron&gb=16";

    /// The panel's answer to a verb and, behind it, the lines of its inputs.
    pub fn say(desk: &mut Desk, number: u32, link: &str, text: &str) -> Reply {
        let text = if text.contains('\n') { text.to_owned() } else { format!("{text}\n") };
        desk.hear(&Request {
            number,
            unit: MemoryUnit::Gib,
            fragment: link.to_owned(),
            question: WorkerQuestion::read(What::Plan, &text).expect("a question"),
        });
        Reply::read(&desk.reply()).expect("a reply")
    }

    /// Goes on to the end with a clock that a slice's every look moves on.
    pub fn finish(desk: &mut Desk) -> (Reply, u32) {
        let (clock, mut slices) = (Cell::new(0.0), 0);
        while desk.is_running() {
            desk.slice(&|| {
                clock.set(clock.get() + 10.0);
                clock.get()
            });
            slices += 1;
        }
        (Reply::read(&desk.reply()).expect("a reply"), slices)
    }

    #[test]
    fn a_search_streams_and_ends() {
        let mut desk = Desk::default();
        let shown = say(&mut desk, 1, LINK, "show");
        assert!(!shown.more && shown.html.contains("<form"));
        let begun = say(&mut desk, 2, LINK, "search\nq=at");
        assert!(
            begun.more && begun.number == 2 && begun.html.contains("<progress"),
            "{}",
            begun.html
        );
        let (last, slices) = finish(&mut desk);
        assert!(!last.more && slices > 1 && last.number == 2, "{slices}");
        assert!(
            last.html.contains("data-do=\"take:v2&amp;") && !last.html.contains("<progress"),
            "{}",
            last.html
        );
    }

    #[test]
    fn a_search_that_is_stopped_keeps_what_it_found_and_says_so() {
        let mut desk = Desk::default();
        say(&mut desk, 1, LINK, "search\nq=counts\nn-counts=4096");
        let clock = Cell::new(0.0);
        desk.slice(&|| {
            clock.set(clock.get() + 10.0);
            clock.get()
        });
        let stopped = say(&mut desk, 2, LINK, "stop\nq=counts");
        assert!(!stopped.more && !desk.is_running() && stopped.number == 2);
        assert!(stopped.html.contains("Cancelled after"), "{}", stopped.html);
        assert!(say(&mut desk, 3, LINK, "show").html.contains("Cancelled after"));
    }

    #[test]
    fn an_answer_for_an_earlier_scenario_says_so_and_one_with_another_layout_does_not() {
        let mut desk = Desk::default();
        say(&mut desk, 1, LINK, "search\nq=at");
        let (last, _) = finish(&mut desk);
        let link = last
            .html
            .split("take:")
            .nth(1)
            .and_then(|rest| rest.split('"').next())
            .expect("a link")
            .replace("&amp;", "&");
        let same = say(&mut desk, 2, &link, "show\nq=at").html;
        assert!(!same.contains("earlier scenario") && same.contains("In use"), "{same}");
        assert!(
            say(&mut desk, 3, "v1&m=llama3-70b&n=8&ker=megatron&gb=16", "show\nq=at")
                .html
                .contains("earlier scenario")
        );
    }

    #[test]
    fn bad_input_is_answered_at_once() {
        let mut desk = Desk::default();
        for (link, text, part) in [
            (LINK, "search\nq=at\nn-at=0", "GPUs"),
            (LINK, "search\nq=at\nn-at=10000000", "GPUs"),
            (LINK, "search\nlim-t=x", "tensor-parallel"),
            ("v1&do=serve&m=llama3-8b", "search", "lays out training"),
        ] {
            let reply = say(&mut desk, 1, link, text);
            assert!(!reply.more && reply.html.contains(part), "{text}: {}", reply.html);
        }
        say(&mut desk, 2, LINK, "search\nq=at\nn-at=8\nlim-t=3\nlim-d=3");
        let (last, _) = finish(&mut desk);
        assert!(last.html.contains("The limits leave no layout"), "{}", last.html);
    }

    #[test]
    fn the_family_is_tried_from_the_largest_on() {
        let names: Vec<String> = family(&decode("v1&m=llama3-8b&n=8").scenario)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names.first().map(String::as_str), Some("Llama 3.1 405B"));
        let mut desk = Desk::default();
        say(&mut desk, 1, "v1&m=llama3-8b&n=16&ker=megatron", "search\nq=family");
        let (last, _) = finish(&mut desk);
        assert!(last.html.contains("Llama 3.1 70B is the largest"), "{}", last.html);
    }
}
