//! Text that came from outside: names, and pieces of links that are quoted back.

/// True if a character may appear in a name: no control characters, and none that reorder or hide
/// text.
fn is_shown(character: char) -> bool {
    !character.is_control()
        && !matches!(
            character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{feff}' | '\u{fff0}'..='\u{ffff}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Returns a name without control and reordering characters, and with single blanks between its
/// words.
///
/// ```
/// use headroom::scenario::clean;
/// assert_eq!(clean("  two\u{202e}  runs\n"), "two runs");
/// ```
pub fn clean(text: &str) -> String {
    let blanks: String = text
        .chars()
        .map(|character| if character.is_whitespace() { ' ' } else { character })
        .collect();
    let shown: String = blanks.chars().filter(|character| is_shown(*character)).collect();
    shown.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A piece of someone's input for a message: cleaned, and cut where it is long.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 40;
    // A huge paste is cut before it is cleaned.
    let head: String = text.chars().take(4 * LONGEST).collect();
    let cleaned = clean(&head);
    if cleaned.chars().count() <= LONGEST {
        return cleaned;
    }
    let mut cut: String = cleaned.chars().take(LONGEST).collect();
    cut.push('…');
    cut
}
