//! The presenter as a state machine: the step that is shown, the question that waits, what stands
//! open beside them. No browser in here: `presenting` carries out what a verb leads to, and writes
//! the marks that style sheets read.

use super::action::{StageStep, StageVerb};
use super::history::{History, UndoStep};
use crate::lessons::story::Look;
use crate::scenario::Scenario;
use crate::scenario::codec::decode;

/// All that the page remembers of lessons.
#[derive(Default)]
pub struct Lessons {
    /// True once the panel of stories was asked for something: unfolding it then brings nothing
    /// else.
    pub begun: bool,
    /// True once the reader was told that progress is not kept: every answer would say so again.
    pub told: bool,
    /// The part of the address about a lesson, `&present=zero.3`, beside the scenario's.
    pub address: String,
    /// The story that is being shown.
    pub show: Option<Show>,
}

/// A story that is being shown, and what was there before.
pub struct Show {
    /// The presenter.
    pub presenter: Presenter,
    /// The scenarios that the page showed before.
    pub before: UndoStep,
    /// The steps of undo before it.
    pub history: History,
}

/// The scenario's link with the part of the address about a lesson. A story that travels in the
/// link leaves no room for a scenario.
pub fn link_with_lesson(link: &str, lesson: &str) -> String {
    let link = if lesson.contains("&story=") { "v1" } else { link };
    format!("{link}{lesson}")
}

/// A step of the story.
#[derive(Clone, Debug, PartialEq)]
pub struct PresentedStep {
    /// Its scenario.
    pub scenario: Scenario,
    /// The word of what to look at.
    pub look: String,
    /// Keys of the inputs that stay in sight, between blanks.
    pub live: String,
    /// True if it asks something.
    pub asks: bool,
}

impl PresentedStep {
    /// The step of an order; `asks`: its part of the stage holds a question.
    pub fn of(step: &StageStep, asks: bool) -> Self {
        Self {
            scenario: decode(&step.link).scenario,
            look: step.look.clone(),
            live: step.live.clone(),
            asks,
        }
    }
}

/// The effect of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Nothing: there is no such step, or none further.
    Nothing,
    /// Another step is shown, with its scenario.
    ShowStep,
    /// The answer of the step's question is shown.
    Reveal,
    /// The code is shown or hidden.
    Code,
    /// The keys are shown or hidden.
    Keys,
    /// The timer is shown or hidden.
    Timer,
    /// An answer is looked at.
    LookAtAnswer,
    /// The story ends; `keep`: what is shown stays.
    End {
        /// True if it stays.
        keep: bool,
    },
}

/// The presenter of one story.
pub struct Presenter {
    /// Its part of the address, before and after the step's number.
    address: (String, String),
    steps: Vec<PresentedStep>,
    at: usize,
    /// Steps whose question was answered or revealed.
    revealed: Vec<usize>,
    /// True while the QR code of the step is shown.
    pub code: bool,
    /// True while the list of keys is shown.
    pub keys: bool,
    /// True while the timer is shown.
    pub timer: bool,
    /// How often the timer was switched: one that was switched off writes no more.
    pub switched: u32,
    /// When the story began, milliseconds since the page was opened.
    pub began_ms: f64,
}

/// Where a key was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressed {
    /// On nothing that uses keys itself.
    Anywhere,
    /// On a button or a heading that folds: the space bar is its own.
    OnButton,
    /// In an input or on a curve: all keys but Escape are its own.
    InInput,
}

impl Presenter {
    /// A presenter at that step, counted from 1; nothing for a story without steps.
    pub fn new(
        steps: Vec<PresentedStep>,
        address: (String, String),
        at: usize,
        began_ms: f64,
    ) -> Option<Self> {
        let at = at.clamp(1, steps.len().max(1)) - 1;
        let begins = !steps.is_empty();
        begins.then_some(Self {
            address,
            steps,
            at,
            revealed: Vec::new(),
            code: false,
            keys: false,
            timer: false,
            switched: 0,
            began_ms,
        })
    }

    /// The step that is shown, counted from 0.
    pub const fn at(&self) -> usize {
        self.at
    }

    /// The step that is shown.
    pub fn step(&self) -> Option<&PresentedStep> {
        self.steps.get(self.at)
    }

    fn is_last(&self) -> bool {
        self.at + 1 == self.steps.len()
    }

    /// True while the step's question waits for its answer.
    pub fn is_asking(&self) -> bool {
        self.step().is_some_and(|step| step.asks) && !self.revealed.contains(&self.at)
    }

    /// Does what a button or a key says.
    pub fn act(&mut self, verb: StageVerb) -> Then {
        match verb {
            StageVerb::Next | StageVerb::On if self.is_asking() => self.reveal(),
            StageVerb::Next if self.is_last() => Then::End { keep: false },
            StageVerb::Next | StageVerb::On => self.go(self.at + 1),
            StageVerb::Back => self.at.checked_sub(1).map_or(Then::Nothing, |to| self.go(to)),
            StageVerb::Go(number) => number.checked_sub(1).map_or(Then::Nothing, |to| self.go(to)),
            StageVerb::Reveal => self.reveal(),
            StageVerb::Code => {
                self.code = !self.code;
                Then::Code
            }
            StageVerb::Keys => {
                self.keys = !self.keys;
                Then::Keys
            }
            StageVerb::Timer => {
                self.timer = !self.timer;
                self.switched += 1;
                Then::Timer
            }
            StageVerb::Answer => Then::LookAtAnswer,
            StageVerb::Keep => Then::End { keep: true },
            StageVerb::End => Then::End { keep: false },
        }
    }

    fn go(&mut self, to: usize) -> Then {
        if to >= self.steps.len() {
            return Then::Nothing;
        }
        self.at = to;
        Then::ShowStep
    }

    /// Reveals the answer of the step's question: somebody answered it or asked for the answer.
    pub fn reveal(&mut self) -> Then {
        self.revealed.push(self.at);
        Then::Reveal
    }

    /// The verb of a key; nothing where the key is not the presenter's.
    pub fn verb_of(&self, key: &str, pressed: Pressed) -> Option<StageVerb> {
        match key {
            "Escape" if self.keys => Some(StageVerb::Keys),
            "Escape" => Some(StageVerb::End),
            _ if pressed == Pressed::InInput => None,
            " " if pressed == Pressed::OnButton => None,
            " " | "ArrowRight" | "PageDown" => Some(StageVerb::On),
            "ArrowLeft" | "PageUp" => Some(StageVerb::Back),
            "?" => Some(StageVerb::Keys),
            "q" | "Q" => Some(StageVerb::Code),
            "t" | "T" => Some(StageVerb::Timer),
            digit if digit.len() == 1 => digit.parse().ok().map(StageVerb::Go),
            _ => None,
        }
    }

    /// The part of the address about the step.
    pub fn address(&self) -> String {
        format!("{}{}{}", self.address.0, self.at + 1, self.address.1)
    }

    /// The place of the step in the story.
    pub fn place(&self) -> String {
        format!("{} of {}", self.at + 1, self.steps.len())
    }

    /// The word on the button that goes on. There is nothing behind the last step but its end.
    pub fn next_says(&self) -> &'static str {
        if self.is_last() && !self.is_asking() { "End" } else { "Next" }
    }

    /// True if the bar shows the moment when the optimizer steps.
    pub fn is_at_step(&self) -> bool {
        self.step().is_some_and(|step| step.look == Look::States.word())
    }

    /// The time since the story began.
    pub fn time(&self, now_ms: f64) -> String {
        let seconds = crate::units::ceil_u64((now_ms - self.began_ms) / 1000.0);
        format!("{}:{:02}", seconds / 60, seconds % 60)
    }
}

/// Names of the marks on the whole page that style sheets read, in the order of [`marks`].
pub const MARKS: [&str; 6] =
    ["data-present", "data-look", "data-live", "data-asking", "data-last", "data-code"];

/// The marks of the whole page; none while no story is shown.
pub fn marks(presenter: Option<&Presenter>) -> [Option<String>; 6] {
    let Some((presenter, step)) =
        presenter.and_then(|presenter| Some((presenter, presenter.step()?)))
    else {
        return Default::default();
    };
    let yes = |is: bool| is.then(|| "true".to_owned());
    [
        Some((presenter.at + 1).to_string()),
        Some(step.look.clone()),
        Some(step.live.clone()).filter(|live| !live.is_empty()),
        yes(presenter.is_asking()),
        yes(presenter.is_last()),
        yes(presenter.code),
    ]
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a failed expectation is a failed test")]
mod tests {
    use super::{Lessons, PresentedStep, Presenter, Pressed, Then, link_with_lesson, marks};
    use crate::view::action::{StageStep, StageVerb};

    /// A story of three steps, of which the second asks.
    fn presenter(at: usize) -> Presenter {
        let step = |asks: bool| {
            let order = StageStep {
                link: "v1&m=gpt2".to_owned(),
                look: "stack".to_owned(),
                live: "s n".to_owned(),
            };
            PresentedStep::of(&order, asks)
        };
        let address = ("&present=zero.".to_owned(), String::new());
        Presenter::new([false, true, false].map(step).to_vec(), address, at, 1000.0).expect("steps")
    }

    fn play(presenter: &mut Presenter, verbs: &[StageVerb]) -> Vec<Then> {
        verbs.iter().map(|verb| presenter.act(*verb)).collect()
    }

    #[test]
    fn going_on_shows_a_question_then_its_answer_then_the_next_step_then_ends() {
        let mut story = presenter(1);
        let verbs = [StageVerb::Next; 4];
        assert_eq!(
            play(&mut story, &verbs),
            [Then::ShowStep, Then::Reveal, Then::ShowStep, Then::End { keep: false }]
        );
        assert_eq!((story.place().as_str(), story.next_says()), ("3 of 3", "End"));
    }

    #[test]
    fn a_key_pressed_once_too_often_ends_nothing() {
        let mut story = presenter(3);
        assert_eq!(play(&mut story, &[StageVerb::On, StageVerb::On]), [Then::Nothing; 2]);
        let mut story = presenter(1);
        assert_eq!((story.act(StageVerb::Back), story.at()), (Then::Nothing, 0));
    }

    #[test]
    fn a_question_waits_until_it_is_answered_or_revealed() {
        let mut story = presenter(2);
        assert!(story.is_asking() && story.next_says() == "Next");
        assert_eq!(story.act(StageVerb::Answer), Then::LookAtAnswer);
        assert!(story.is_asking());
        story.reveal();
        assert!(!story.is_asking());
        // It stays revealed while the speaker goes to and fro.
        play(&mut story, &[StageVerb::Back, StageVerb::Next]);
        assert!(!story.is_asking());
        assert_eq!(story.act(StageVerb::Next), Then::ShowStep);
    }

    #[test]
    fn a_number_goes_to_that_step_if_there_is_one() {
        let mut story = presenter(9);
        assert_eq!(story.at(), 2);
        assert_eq!(play(&mut story, &[StageVerb::Go(0), StageVerb::Go(4)]), [Then::Nothing; 2]);
        assert_eq!((story.act(StageVerb::Go(2)), story.at()), (Then::ShowStep, 1));
        assert_eq!(story.address(), "&present=zero.2");
    }

    #[test]
    fn keys_are_the_presenters_unless_something_else_uses_them() {
        let mut story = presenter(1);
        let anywhere = |story: &Presenter, key: &str| story.verb_of(key, Pressed::Anywhere);
        assert_eq!(anywhere(&story, " "), Some(StageVerb::On));
        assert_eq!(anywhere(&story, "3"), Some(StageVerb::Go(3)));
        assert_eq!(
            (anywhere(&story, "x"), anywhere(&story, "F5"), anywhere(&story, "é")),
            (None, None, None)
        );
        assert_eq!(story.verb_of(" ", Pressed::OnButton), None);
        assert_eq!(story.verb_of("ArrowRight", Pressed::OnButton), Some(StageVerb::On));
        assert_eq!(story.verb_of("q", Pressed::InInput), None);
        assert_eq!(story.verb_of("Escape", Pressed::InInput), Some(StageVerb::End));
        assert_eq!(story.act(StageVerb::Keys), Then::Keys);
        // Escape closes the list of keys first.
        assert_eq!(anywhere(&story, "Escape"), Some(StageVerb::Keys));
    }

    #[test]
    fn marks_say_what_is_shown_and_go_with_the_story() {
        let mut story = presenter(2);
        story.act(StageVerb::Code);
        let yes = || Some("true".to_owned());
        assert_eq!(
            marks(Some(&story)),
            [
                Some("2".to_owned()),
                Some("stack".to_owned()),
                Some("s n".to_owned()),
                yes(),
                None,
                yes()
            ]
        );
        story.act(StageVerb::Go(3));
        assert_eq!(marks(Some(&story))[3..], [None, yes(), yes()]);
        assert_eq!(marks(None), [None, None, None, None, None, None]);
        assert!(Lessons::default().show.is_none());
    }

    #[test]
    fn the_timer_counts_from_the_beginning_and_the_address_keeps_the_lesson() {
        let story = presenter(1);
        assert_eq!((story.time(1000.0).as_str(), story.time(66_000.0).as_str()), ("0:00", "1:05"));
        assert_eq!(link_with_lesson("v2&m=gpt2", "&present=zero.1"), "v2&m=gpt2&present=zero.1");
        assert_eq!(
            link_with_lesson("v2&m=gpt2", "&present=own.1&story=abc"),
            "v1&present=own.1&story=abc"
        );
        assert!(Presenter::new(Vec::new(), Default::default(), 1, 0.0).is_none());
    }
}
