//! Two workers that share a search: the page's, and a helper that runs the same program and is told
//! the same question.
//!
//! Each goes through its share of the space. At the end of each leg the helper tells what it
//! gathered; the page's worker waits for that, takes it in, and answers. Where there is no helper,
//! or it fails, one worker goes through all.

use serde::{Deserialize, Serialize};

use super::form::SearchQuestion;
use super::{Desk, Plan, Role};
use crate::planner::search::{Gathered, Search};
use crate::view::action::PlanVerb;
use crate::worker::question::{PlanQuestion, WorkerQuestion};
use crate::worker::wire::{Reply, Request};

/// The message of a helper at the end of a leg.
#[derive(Serialize, Deserialize)]
struct Letter<G> {
    leg: usize,
    gathered: G,
}

/// The letter as it travels.
pub fn letter(leg: usize, gathered: &Gathered) -> String {
    serde_json::to_string(&Letter { leg, gathered }).unwrap_or_default()
}

impl Desk {
    /// Says that a helper listens.
    pub const fn has_help(&mut self) {
        self.helped = true;
    }

    /// Notes that the helper is gone: a leg that was shared with it is begun anew.
    pub fn lost_help(&mut self) {
        self.helped = false;
        if let Some(plan) = &mut self.plan
            && matches!(plan.role, Role::Shared(..))
        {
            plan.role = Role::Alone;
            plan.search = None;
        }
    }

    /// True if it goes through a share for another worker; only that worker is told the results.
    pub fn is_helper(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.role == Role::Helper)
    }

    /// Takes the letters that have to be sent: to the helper, or from a helper to the worker that
    /// it helps.
    pub fn letters(&mut self) -> Vec<String> {
        std::mem::take(&mut self.letters)
    }

    /// True if it can only go on once the helper has told what it found.
    pub fn waits(&self) -> bool {
        self.plan.as_ref().is_some_and(Plan::waits)
    }

    /// Takes the helper's letter; one about an earlier question is dropped.
    pub fn take_in(&mut self, message: &str) {
        let Some(reply) = Reply::read(message) else { return };
        let Ok(Letter { leg, gathered }) = serde_json::from_str::<Letter<Gathered>>(&reply.html)
        else {
            return;
        };
        if let Some(Plan { role: Role::Shared(number, theirs), .. }) = &mut self.plan
            && *number == reply.number
            && let Some(place) = theirs.get_mut(leg)
        {
            *place = Some(gathered);
        }
    }

    /// Gives a search that has just begun its role, and asks the helper for its share.
    pub(super) fn share_out(&mut self, helps: bool, request: &Request, inputs: &str) {
        let Some(plan) = &mut self.plan else { return };
        if helps {
            plan.role = Role::Helper;
        } else if self.helped && plan.can_be_shared() {
            plan.role = Role::Shared(request.number, vec![None; plan.legs.len()]);
            self.letters = vec![about(request, PlanQuestion::Share, inputs)];
        }
    }

    /// Ends the search that runs, here and at the helper.
    pub(super) fn stop(&mut self, request: &Request) {
        if let Some(plan) = self.plan.as_mut().filter(|plan| plan.runs()) {
            plan.stopped = true;
            if matches!(plan.role, Role::Shared(..)) {
                self.letters = vec![about(request, PlanQuestion::Panel(PlanVerb::Stop), "")];
            }
        }
    }
}

/// A letter to the helper about the page's request.
fn about(request: &Request, asked: PlanQuestion, inputs: &str) -> String {
    Request { question: WorkerQuestion::Plan(asked, inputs.to_owned()), ..request.clone() }.write()
}

impl Plan {
    /// True if the search can be shared: the parts do not depend on each other. They do where the
    /// search ends with the first layout that fits.
    fn can_be_shared(&self) -> bool {
        let family = matches!(self.asked.question, SearchQuestion::Family(_));
        !family && self.legs.iter().all(|leg| !self.asked.space(&leg.job).ends_with_first)
    }

    /// True if its own share of a leg is done and the helper's has not come.
    pub(super) fn waits(&self) -> bool {
        let Role::Shared(_, theirs) = &self.role else { return false };
        self.search.as_ref().is_some_and(Search::is_finished)
            && theirs.get(self.at).is_some_and(Option::is_none)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LINK, finish, say};
    use super::Desk;
    use crate::planner::search::Answer;
    use crate::worker::wire::Request;

    /// A desk with a helper, at the beginning of a search; and the helper, which has been asked.
    fn both(text: &str) -> (Desk, Desk) {
        let (mut desk, mut helper) = (Desk::default(), Desk::default());
        desk.has_help();
        say(&mut desk, 2, LINK, text);
        for letter in desk.letters() {
            helper.hear(&Request::read(&letter).expect("a question"));
        }
        (desk, helper)
    }

    fn work(desk: &mut Desk) {
        for _ in 0..10_000 {
            if !desk.is_running() || desk.waits() {
                return;
            }
            desk.slice(&|| 0.0);
        }
    }

    /// The answers that were found, leg by leg.
    fn found(desk: &Desk) -> Vec<Option<Answer>> {
        desk.plan.iter().flat_map(|plan| plan.legs.iter().map(|leg| leg.answer.clone())).collect()
    }

    #[test]
    fn two_find_what_one_finds() {
        for text in ["search\nq=at", "search\nq=at\nn-at=16\nlim-t=2,4"] {
            let mut alone = Desk::default();
            say(&mut alone, 2, LINK, text);
            finish(&mut alone);
            let (mut desk, mut helper) = both(text);
            assert!(helper.is_helper() && !desk.is_helper());
            work(&mut desk);
            assert!(desk.is_running() && desk.waits(), "{text}");
            work(&mut helper);
            let letters = helper.letters();
            assert!(!helper.is_running() && letters.len() == 1);
            for letter in &letters {
                desk.take_in(letter);
            }
            assert!(!desk.waits());
            finish(&mut desk);
            assert_eq!(found(&desk), found(&alone), "{text}");
            assert!(found(&desk).iter().all(Option::is_some));
        }
    }

    #[test]
    fn a_helper_that_fails_or_answers_something_else_is_not_waited_for() {
        let (mut desk, mut helper) = both("search\nq=at");
        work(&mut desk);
        for letter in ["", "ready", "1 plan more \n{}", "2 plan more \n{\"leg\":9,\"gathered\":{}}"]
        {
            desk.take_in(letter);
            assert!(desk.waits(), "{letter}");
        }
        desk.lost_help();
        let (last, _) = finish(&mut desk);
        assert!(!last.more && last.html.contains("data-do=\"take:"), "{}", last.html);
        // The helper's letter comes late.
        work(&mut helper);
        for letter in helper.letters() {
            desk.take_in(&letter);
        }
        assert!(!desk.is_running());
    }

    #[test]
    fn both_stop_and_what_ends_with_the_first_is_not_shared() {
        let (mut desk, mut helper) = both("search\nq=at\nn-at=4096");
        say(&mut desk, 3, LINK, "stop\nq=at");
        for letter in desk.letters() {
            helper.hear(&Request::read(&letter).expect("a word"));
        }
        assert!(!desk.is_running() && !helper.is_running());
        let (mut desk, helper) = both("search\nq=fewest");
        assert!(!helper.is_helper() && !desk.waits());
        finish(&mut desk);
        assert!(!desk.is_running());
    }
}
