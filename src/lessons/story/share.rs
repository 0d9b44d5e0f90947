//! A story inside a link: compressed, in the characters that links have.

use base64::Engine as _;
use base64::alphabet::Alphabet;
use base64::engine::{GeneralPurpose, general_purpose::NO_PAD};
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use super::{LONGEST_FILE, Story, StoryError};

/// The longest packed story, characters: with the rest of a link it stays below the length that
/// links may have.
pub const LONGEST_LINK: usize = 1900;

/// Best compression; stories are short.
const LEVEL: u8 = 10;

/// Letters, digits, `-` and `.`, as links have them.
fn letters() -> Option<GeneralPurpose> {
    let alphabet =
        Alphabet::new("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.").ok()?;
    Some(GeneralPurpose::new(&alphabet, NO_PAD))
}

/// Returns the story as the value of a link's key; `None` where it is longer than [`LONGEST_LINK`].
pub fn packed(story: &Story) -> Option<String> {
    // The text ends with a letter, because chat programs leave punctuation at the end out of a
    // link.
    let text = letters()?.encode(compress_to_vec_zlib(story.write().as_bytes(), LEVEL)) + "z";
    (text.len() <= LONGEST_LINK).then_some(text)
}

/// Reads what [`packed`] wrote.
///
/// # Errors
/// As [`Story::read`]; a link that was cut is malformed.
pub fn unpacked(text: &str) -> Result<Story, StoryError> {
    const CUT: &str = "The story in this link is cut off or was changed on its way: ask for the \
        link again, or for the story's file.";
    let cut = || StoryError::Malformed(vec![CUT.to_owned()]);
    let packed = text.strip_suffix('z').ok_or_else(cut)?;
    let bytes = letters().and_then(|letters| letters.decode(packed).ok()).ok_or_else(cut)?;
    let json = decompress_to_vec_zlib_with_limit(&bytes, LONGEST_FILE).map_err(|_| cut())?;
    Story::read(&String::from_utf8(json).map_err(|_| cut())?)
}
