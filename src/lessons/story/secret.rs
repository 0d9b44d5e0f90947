//! Texts of a story that give away the answer to one of its questions: a sheet without answers
//! leaves them out.

use super::{LessonStep, Told, ToldStep};

/// Answers in words, each of which means that there is no number.
const NONE: [&str; 5] = ["none", "no number", "never", "impossible", "cannot exist"];

impl Told {
    /// Returns true if a text gives away the answer to a question of the story, as it is written or
    /// by its number alone.
    pub fn tells_an_answer(&self, text: &str) -> bool {
        let text = plain(text);
        self.questions().any(|step| states(&text, &plain(&step.answer)))
    }

    /// Returns true if a step's figure is one that the story asks for, or is written alike.
    pub fn figure_tells(&self, steps: &[LessonStep], index: usize) -> bool {
        let Some((step, told)) = steps.get(index).zip(self.steps.get(index)) else { return false };
        let asked = |(other, found): (&LessonStep, &ToldStep)| {
            let same =
                other.question.as_ref().is_some_and(|question| question.figure == step.figure);
            !found.answer.is_empty() && same && found.scenario == told.scenario
        };
        steps.iter().zip(&self.steps).any(asked) || self.tells_an_answer(&told.figure.1)
    }

    fn questions(&self) -> impl Iterator<Item = &ToldStep> {
        self.steps.iter().filter(|step| !step.answer.is_empty())
    }
}

/// The text in lower case, with every run of spaces as one space.
fn plain(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn states(text: &str, answer: &str) -> bool {
    if answer == "none" {
        return NONE.iter().any(|word| holds(text, word));
    }
    holds(text, number(answer))
}

/// The number at the beginning of an answer, `101 485` of `101 485 tokens`; the whole answer where
/// there is none.
fn number(answer: &str) -> &str {
    let of_number = |letter: char| letter.is_ascii_digit() || matches!(letter, ' ' | '.' | ',');
    let number = answer.split(|letter| !of_number(letter)).next().unwrap_or_default().trim();
    if number.is_empty() { answer } else { number }
}

/// True if the text holds these words, and not as a part of a longer word or number.
fn holds(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| {
        let (before, behind) =
            (text.get(..at).unwrap_or_default(), text.get(at + words.len()..).unwrap_or_default());
        let mut behind = behind.chars();
        let (next, after) = (behind.next(), behind.next());
        let goes_on = match next {
            // A full stop ends a sentence unless a digit follows; so does a comma.
            Some('.' | ',') => after.is_some_and(|letter| letter.is_ascii_digit()),
            next => next.is_some_and(|letter| letter.is_alphanumeric() || letter == '-'),
        };
        !goes_on
            && !before.ends_with(|letter: char| {
                letter.is_alphanumeric() || matches!(letter, '-' | '.' | ',')
            })
    })
}

#[cfg(test)]
mod tests {
    use super::{plain, states};

    #[test]
    fn an_answer_is_found_as_it_is_written_and_by_its_number() {
        for (text, answer) in [
            ("Still none can run: sharing does not help.", "none"),
            ("None.", "none"),
            ("So 16, 18 and 20 are all right", "16 bytes"),
            ("it takes 107.8\u{a0}GB.", "107.8 GB"),
            ("and 101\u{202f}485 tokens fit", "101 485 tokens"),
            ("133\u{a0}% of the operations", "133 %"),
        ] {
            assert!(states(&plain(text), &plain(answer)), "{answer} in {text}");
        }
    }

    #[test]
    fn a_part_of_another_number_or_word_tells_nothing() {
        for (text, answer) in [
            ("ZeRO-1: share out", "1"),
            ("nonetheless", "none"),
            ("It takes 116 bytes, or 16.5", "16 bytes"),
            ("1.7 GB of states, 17 in all", "7 GB"),
            ("bf16 and fp16", "16 bytes"),
        ] {
            assert!(!states(&plain(text), &plain(answer)), "{answer} in {text}");
        }
    }
}
