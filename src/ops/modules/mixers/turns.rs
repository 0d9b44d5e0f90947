//! Loops over a text's tokens, as recurrences run that no kernel does at once.

/// Turns of a loop that are played. In a longer text the first ones stand for several tokens each: such a turn works with the tensors of
/// one token, and keeps those of all. The last are one token each, where forward and backward have the most memory.
const MOST_TURNS: u64 = 12;

/// Turns that are one token each.
const SINGLE: u64 = 4;

/// How many tokens each turn stands for, from the first token to the last.
pub(super) fn turns(tokens: u64) -> impl Iterator<Item = u64> {
    let singles = if tokens <= MOST_TURNS { tokens } else { SINGLE };
    let (rest, shared) = (tokens.saturating_sub(singles), MOST_TURNS.saturating_sub(SINGLE));
    let (each, more) = (rest / shared, rest % shared);
    let together = (0..shared).map(move |turn| each + u64::from(turn < more)).filter(|tokens| *tokens > 0);
    together.chain((0..singles).map(|_| 1))
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
            assert!(all.iter().rev().take(4).all(|turn| *turn == 1));
        }
    }
}
