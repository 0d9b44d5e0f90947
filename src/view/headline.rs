//! The answer in its first words: the verdict, one sentence, and the margin. Where users are
//! stated, it answers for them. No browser in here.

use super::words::{
    Scale, accelerator_name, hardware, margin, model_name, verdict_sentence, verdict_word, whole,
};
use crate::estimator::{Estimate, Verdict};
use crate::planner::{UserLoad, UsersAnswer};
use crate::scenario::{FieldId, Scenario, Value};

/// The first words of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// True if it runs, for the users too where some are stated.
    pub verdict: Verdict,
    /// The first words.
    pub word: String,
    /// The sentence after them.
    pub sentence: String,
    /// A name in the sentence that stays on one line where there is room for it.
    pub name: String,
    /// The margin: a number, its unit, and what it is.
    pub margin: Margin,
    /// The margin in the fewest words: a phone's strip.
    pub short: String,
}

/// The memory, or the users, left or missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Margin {
    /// The number as it is written.
    pub number: String,
    /// Its unit.
    pub unit: &'static str,
    /// The words beside the number.
    pub caption: String,
    /// True if it is memory, which explains itself.
    pub of_memory: bool,
}

/// The first words of the answer to a scenario.
pub fn headline(
    scenario: &Scenario,
    estimate: &Estimate,
    users: Option<&UsersAnswer>,
    scale: Scale,
) -> Headline {
    let (number, caption) = margin(scenario, estimate, scale);
    let of_memory = Headline {
        verdict: estimate.verdict(),
        word: verdict_word(estimate.verdict()).to_owned(),
        sentence: verdict_sentence(scenario, estimate, scale),
        name: hardware(scenario),
        margin: Margin { number, unit: scale.unit.name(), caption, of_memory: true },
        short: format!(
            "{} of {} {}",
            scale.show(estimate.total()),
            scale.show(estimate.capacity),
            scale.unit
        ),
    };
    match users {
        Some(answer) if answer.own.carries() && estimate.runs() => {
            carried(scenario, estimate, answer, (of_memory, scale))
        }
        Some(answer) if !answer.own.carries() => not_carried(scenario, estimate, answer, of_memory),
        _ => of_memory,
    }
}

/// `200 users`, `1 user`.
pub fn users(count: u64) -> String {
    if count == 1 { "1 user".to_owned() } else { format!("{} users", whole(count)) }
}

/// `6 × H200`.
pub fn gpus_of(scenario: &Scenario, load: &UserLoad) -> String {
    format!("{} × {}", whole(load.gpus), accelerator_name(scenario))
}

/// `6 × H200,` which a line does not break, not even before its comma, and all of `6 × H200, 3
/// replicas of 2`.
fn replicas(scenario: &Scenario, load: &UserLoad) -> (String, String) {
    let name = format!("{},", gpus_of(scenario, load));
    let all = format!("{name} {}", replicas_of(load));
    (name, all)
}

/// `3 replicas of 2`.
pub fn replicas_of(load: &UserLoad) -> String {
    let count = if load.replicas == 1 {
        "1 replica".to_owned()
    } else {
        format!("{} replicas", whole(load.replicas))
    };
    match (load.replicas, load.layout.world_size()) {
        (1, 1) => count,
        (_, each) => format!("{count} of {}", whole(each)),
    }
}

/// The model as the ledger has it, with its requests where these are not what the users make of a
/// replica.
fn taker(scenario: &Scenario, answer: &UsersAnswer) -> String {
    let (model, requests) = (model_name(scenario), scenario.get(FieldId::ConcurrentSequences));
    let of_lengths = scenario.get(FieldId::MeanTokens) != Value::Empty;
    let Value::Integer(requests) = requests else { return model };
    if requests == answer.own.each && !of_lengths {
        return model;
    }
    let of = if of_lengths { " of the whole context" } else { "" };
    format!("With {}{of} at once {model}", super::words::requests(requests))
}

fn carried(
    scenario: &Scenario,
    estimate: &Estimate,
    answer: &UsersAnswer,
    (known, scale): (Headline, Scale),
) -> Headline {
    let (name, on) = replicas(scenario, &answer.own);
    let (used, room) = (scale.show(estimate.total()), scale.show(estimate.capacity));
    let (said, taker, unit) = (users(answer.own.users), taker(scenario, answer), scale.unit);
    Headline {
        sentence: format!("{said}: {on}. {taker} takes {used} of {room} {unit} on each GPU."),
        short: format!("{} on {}", users(answer.own.users), super::words::gpus(answer.own.gpus)),
        name,
        ..known
    }
}

fn not_carried(
    scenario: &Scenario,
    estimate: &Estimate,
    answer: &UsersAnswer,
    known: Headline,
) -> Headline {
    let held = match answer.own.holds() {
        0 => "none".to_owned(),
        some => whole(some),
    };
    let (name, sentence) = answer.fewest.as_ref().map_or_else(
        || nothing_carries(scenario),
        |fewest| {
            let (name, on) = replicas(scenario, fewest);
            let (said, own) = (users(answer.own.users), hardware(scenario));
            let need = if answer.own.users == 1 { "needs" } else { "need" };
            let hold = if answer.own.gpus == 1 { "holds" } else { "hold" };
            (name, format!("{said} {need} {on}; {own} here {hold} {held}."))
        },
    );
    let rule = estimate.verdict() == Verdict::CannotRun;
    Headline {
        verdict: if rule { Verdict::CannotRun } else { Verdict::DoesNotFit },
        word: if rule { known.word } else { "Does not fit for these users.".to_owned() },
        short: format!("room for {held} of {}", users(answer.own.users)),
        sentence,
        name,
        // Where memory is missing for the requests that are shown, that is the margin; else it is
        // users.
        margin: if estimate.runs() { of_users(&answer.own) } else { known.margin },
    }
}

fn nothing_carries(scenario: &Scenario) -> (String, String) {
    let (gpu, model) = (accelerator_name(scenario), model_name(scenario));
    let sentence =
        format!("No number of {gpu} serves {model}: no layout has room for one request of theirs.");
    (gpu, sentence)
}

/// Users for whom there is no room.
fn of_users(own: &UserLoad) -> Margin {
    let missing = own.users.saturating_sub(own.holds());
    Margin {
        number: whole(missing),
        unit: if missing == 1 { "user" } else { "users" },
        caption: format!("too many: {} at most", users(own.holds())),
        of_memory: false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Headline, headline};
    use crate::estimator::Verdict;
    use crate::view::panels::tests::answers;

    fn of(link: &str) -> Headline {
        let answers = answers(link);
        headline(&answers.scenario, &answers.estimate, answers.users(), answers.scale)
    }

    #[test]
    fn without_users_it_is_about_memory() {
        let found = of("v1&do=serve&m=llama3-8b&n=1");
        assert!(
            found.sentence.starts_with("Serving Llama 3 8B on 1 × H100 SXM5 takes"),
            "{found:?}"
        );
        assert!(found.margin.of_memory && found.word == "Fits.");
    }

    #[test]
    fn users_are_told_how_many_gpus_carry_them() {
        let needed = of("v1&do=serve&m=llama3-70b&gpu=h200&w=fp8-column&n=1&usr=200");
        assert_eq!(
            (needed.verdict, needed.word.as_str()),
            (Verdict::DoesNotFit, "Does not fit for these users.")
        );
        assert!(needed.sentence.starts_with("200 users need "), "{}", needed.sentence);
        assert!(
            needed.sentence.contains(" × H200 SXM, ")
                && needed.sentence.contains("; 1 × H200 SXM here holds "),
            "{}",
            needed.sentence
        );
        assert_eq!(needed.margin.unit, "users");
        let enough = of("v1&do=serve&m=llama3-70b&gpu=h200&w=fp8-column&n=16&tp=2&usr=200&seqs=25");
        assert_eq!(enough.verdict, Verdict::Fits);
        assert!(
            enough
                .sentence
                .starts_with("200 users: 16 × H200 SXM, 8 replicas of 2. Llama 3 70B takes "),
            "{}",
            enough.sentence
        );
    }

    #[test]
    fn users_that_no_number_of_gpus_carries_are_told_so() {
        let none = of("v1&do=serve&m=llama3-8b&mem=1&n=1&usr=3");
        assert!(
            none.sentence
                .starts_with("No number of H100 SXM5 (edited: 1 GiB) serves Llama 3 8B: no layout"),
            "{}",
            none.sentence
        );
        assert_eq!(
            (none.verdict, none.short.as_str()),
            (Verdict::DoesNotFit, "room for none of 3 users")
        );
    }
}
