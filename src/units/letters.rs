//! Tells words from the signs between them, in texts that people type or paste.

/// Returns true if a character is part of a word: a letter or a digit.
///
/// All signs beyond ASCII count as letters, except spaces and punctuation. The library's
/// `is_alphanumeric` knows each of them, but its tables would be some kilobytes of the page's
/// program.
///
/// ```
/// use headroom::units::is_of_a_word;
/// assert!("Größe模型7".chars().all(is_of_a_word));
/// assert!(!" -“”…、\u{a0}".chars().any(is_of_a_word));
/// ```
pub const fn is_of_a_word(sign: char) -> bool {
    if sign.is_ascii() {
        return sign.is_ascii_alphanumeric();
    }
    // Controls and signs of Latin-1, general punctuation to arrows and shapes, Chinese punctuation,
    // marks of byte order, pictures.
    !matches!(sign, '\u{80}'..='\u{bf}' | '\u{2000}'..='\u{27bf}' | '\u{3000}'..='\u{303f}' | '\u{feff}' | '\u{ff00}'..='\u{ff0f}' | '\u{fff0}'..='\u{ffff}' | '\u{1f000}'..='\u{1faff}')
}
