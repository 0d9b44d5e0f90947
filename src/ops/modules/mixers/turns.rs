//! Loops over a text's tokens, as recurrences run that no kernel does at once.

use crate::ops::tape::{Form, Tape};
use crate::ops::tensor::Dim;

/// Turns of a loop that are played. In a longer text some stand for several tokens each: such a
/// turn works with the tensors of one token, and keeps those of all. The first is one token, as it
/// begins with a state that wants no gradient, and so are the last, where forward and backward have
/// the most memory.
const MOST_TURNS: u64 = 12;

/// Turns at the end that are one token each.
const LAST: u64 = 4;

/// How many tokens each turn stands for, from the first token to the last.
pub(super) fn turns(tokens: u64) -> impl Iterator<Item = u64> {
    let last = if tokens <= MOST_TURNS { tokens } else { LAST };
    let first = tokens.saturating_sub(last).min(1);
    let (rest, shared) = (tokens.saturating_sub(first + last), MOST_TURNS.saturating_sub(LAST + 1));
    let (each, more) = (rest / shared, rest % shared);
    let together =
        (0..shared).map(move |turn| each + u64::from(turn < more)).filter(|tokens| *tokens > 0);
    let single = |count: u64| (0..count).map(|_| 1);
    single(first).chain(together).chain(single(last))
}

/// Tensors of that shape, of all tokens of a turn but one.
pub(super) fn more(tape: &Tape, tokens: u64, form: Form) -> Form {
    let elements = tape.elements(form).saturating_mul(tokens.saturating_sub(1));
    tape.form([Dim("columns of further tokens", elements)])
}

#[cfg(test)]
mod tests {
    use super::{MOST_TURNS, turns};

    #[test]
    fn every_token_has_a_turn_and_the_last_have_their_own() {
        for tokens in [1, 2, 11, 12, 13, 14, 100, 4096, 1_000_003] {
            let all: Vec<u64> = turns(tokens).collect();
            assert_eq!(all.iter().sum::<u64>(), tokens);
            assert!(all.len() as u64 <= MOST_TURNS.min(tokens), "{tokens}: {all:?}");
            assert!(all.iter().rev().take(4).chain(all.first()).all(|turn| *turn == 1));
        }
    }
}
