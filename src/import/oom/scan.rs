//! Finds phrases and the numbers beside them in a squeezed text.

use super::amount::{Print, PrintedAmount, printed_at};

/// The letters and digits of a number or a unit before a phrase: no print is longer.
const LONGEST_PRINT: usize = 60;

/// The part of a squeezed text in which one message may stand.
#[derive(Clone, Copy)]
pub(super) struct Window<'a> {
    /// The whole stream.
    text: &'a str,
    /// Where the message before it ended.
    floor: usize,
    /// Where the phrase begins that the message is known by.
    pub at: usize,
    /// Where the next message of its kind begins at the latest.
    end: usize,
}

impl<'a> Window<'a> {
    /// The window of a message that is known by the phrase at `at`.
    pub(super) const fn new(text: &'a str, floor: usize, at: usize, end: usize) -> Self {
        Self { text, floor, at, end }
    }

    /// The text from the phrase on.
    pub(super) fn after(&self) -> &'a str {
        self.text.get(self.at..self.end).unwrap_or_default()
    }

    /// At most that many letters before the phrase, none of an earlier message.
    pub(super) fn before(&self, letters: usize) -> &'a str {
        let start = self.at.saturating_sub(letters).max(self.floor.min(self.at));
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Where a phrase begins and ends at or after the window's own phrase.
    fn find(&self, phrase: &str) -> Option<(usize, usize)> {
        let start = self.at + self.after().find(phrase)?;
        Some((start, start + phrase.len()))
    }

    /// The place behind the last of these phrases that occurs in the window: where the message
    /// ends.
    pub(super) fn end_of(&self, phrases: &[&str]) -> usize {
        let ends = phrases.iter().filter_map(|phrase| self.find(phrase));
        ends.map(|(_, end)| end).max().unwrap_or(self.at).max(self.at + 1)
    }

    /// The amount directly behind a phrase.
    pub(super) fn amount_after(&self, phrase: &str) -> Option<PrintedAmount> {
        self.printed_after(phrase).and_then(amount)
    }

    /// The print directly behind a phrase, also one that is too large.
    pub(super) fn printed_after(&self, phrase: &str) -> Option<Print> {
        let (_, end) = self.find(phrase)?;
        printed_at(self.text, end, false).map(|(printed, _)| printed)
    }

    /// The amount directly before a phrase.
    pub(super) fn amount_before(&self, phrase: &str) -> Option<PrintedAmount> {
        let (start, _) = self.find(phrase)?;
        amount_until(self.text.get(..start)?)
    }

    /// The amount behind a phrase with XLA's one-letter units.
    pub(super) fn letter_amount_after(&self, phrase: &str) -> Option<PrintedAmount> {
        let (_, end) = self.find(phrase)?;
        printed_at(self.text, end, true).and_then(|(printed, _)| amount(printed))
    }

    /// The whole number directly behind a phrase.
    pub(super) fn number_after(&self, phrase: &str) -> Option<u64> {
        let (_, end) = self.find(phrase)?;
        number_at(self.text.get(end..)?)
    }

    /// The whole number directly before a phrase.
    pub(super) fn number_before(&self, phrase: &str) -> Option<u64> {
        let (start, _) = self.find(phrase)?;
        number_until(self.text.get(..start)?)
    }

    /// The share between 0 and 1 directly behind a phrase.
    pub(super) fn share_after(&self, phrase: &str) -> Option<f64> {
        let (_, end) = self.find(phrase)?;
        let share: f64 = decimal_at(self.text.get(end..)?)?.parse().ok()?;
        (0.0..=1.0).contains(&share).then_some(share)
    }
}

/// The amount of a print, unless it is too large.
pub(super) fn amount(printed: Print) -> Option<PrintedAmount> {
    match printed {
        Print::Amount(amount) => Some(amount),
        Print::TooLarge => None,
    }
}

/// The amount that a text ends with.
pub(super) fn amount_until(text: &str) -> Option<PrintedAmount> {
    let unit = trailing(text, |letter| letter.is_ascii_lowercase());
    let number = trailing(text.get(..text.len() - unit)?, |letter| {
        letter.is_ascii_digit() || letter == b'.' || letter == b','
    });
    let start = text.len().checked_sub(unit + number)?;
    // A full stop or a comma of the sentence before may touch the number.
    let start =
        start + text.get(start..)?.bytes().take_while(|letter| !letter.is_ascii_digit()).count();
    if is_broken(text.get(..start)?) {
        return None;
    }
    let (printed, end) = printed_at(text, start, false)?;
    amount(printed).filter(|_| end == text.len())
}

/// The whole number that a text ends with.
pub(super) fn number_until(text: &str) -> Option<u64> {
    let start = text.len() - trailing(text, |letter| letter.is_ascii_digit());
    let number = text.get(start..)?.parse().ok();
    number.filter(|_| text.get(..start).is_some_and(|before| !is_broken(before)))
}

/// True if the number behind a text is the rest of one that a line break cut: "76.6 8gib".
fn is_broken(before: &str) -> bool {
    let head = before
        .trim_end_matches(['.', ','])
        .strip_suffix(' ')
        .map(|head| head.trim_end_matches(['.', ',']));
    head.is_some_and(|head| head.ends_with(|letter: char| letter.is_ascii_digit()))
}

/// The whole number that a text starts with; commas between groups of three are allowed. `None`
/// where a line break may have cut it.
pub(super) fn number_at(text: &str) -> Option<u64> {
    let length = text
        .bytes()
        .take(LONGEST_PRINT)
        .take_while(|letter| letter.is_ascii_digit() || *letter == b',')
        .count();
    let digits = text.get(..length)?.trim_end_matches(',');
    if text
        .get(length..)?
        .strip_prefix(' ')
        .is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
    {
        return None;
    }
    let grouped = digits.split(',').skip(1).all(|group| group.len() == 3);
    if grouped {
        digits.replace(',', "").parse().ok()
    } else {
        digits.split(',').next()?.parse().ok()
    }
}

/// The decimal number without a unit that a text starts with. `None` where a line break may have
/// cut it.
pub(super) fn decimal_at(text: &str) -> Option<&str> {
    let is_digit = |letter: char| letter.is_ascii_digit();
    let length = text
        .bytes()
        .take(LONGEST_PRINT)
        .take_while(|letter| letter.is_ascii_digit() || *letter == b'.')
        .count();
    let (number, rest) = text.split_at_checked(length)?;
    let is_cut = rest
        .strip_prefix(' ')
        .is_some_and(|rest| rest.starts_with(|letter| is_digit(letter) || letter == '.'));
    // The full stop of the sentence may touch the number.
    let number = number.trim_end_matches('.');
    (!is_cut && number.starts_with(is_digit)).then_some(number)
}

/// How many letters at the end of a text are of a kind.
fn trailing(text: &str, of_kind: impl Fn(u8) -> bool) -> usize {
    text.bytes().rev().take(LONGEST_PRINT).take_while(|letter| of_kind(*letter)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_on_both_sides_of_a_phrase() {
        let text =
            "isfree. 1.05giballowed;gpu0hasatotalcapacityof79.65gib.with256dummy(max131,072)";
        let window = Window::new(text, 0, 0, text.len());
        let print = |amount: Option<PrintedAmount>| amount.unwrap().to_string();
        assert_eq!(print(window.amount_before("allowed;")), "1.05 GiB");
        assert_eq!(print(window.amount_after("capacityof")), "79.65 GiB");
        assert_eq!(window.number_before("dummy"), Some(256));
        assert_eq!(window.number_after("(max"), Some(131_072));
        assert_eq!(window.amount_after("isfree."), None);
    }
}
