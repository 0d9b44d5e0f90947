//! Names of keys of a file, as a scenario keeps them and as links write them.
//!
//! A scenario keeps `rope_scaling.type,swa_head_dim`; links, which have few characters, write
//! `rope-scaling..type.swa-head-dim`.

/// A list of keys without anything that is no letter, digit or single mark between two of them, of
/// at most so many characters: keys that find no room are left out, and the last entry says how
/// many.
pub(super) fn clean(text: &str, longest: usize) -> String {
    let items: Vec<String> = text.split(',').map(plain).filter(|item| !item.is_empty()).collect();
    let all = items.join(",");
    if all.len() <= longest {
        return all;
    }
    for kept in (0..items.len()).rev() {
        let more = format!("{MORE}{}", items.len() - kept);
        let list = items
            .iter()
            .take(kept)
            .chain([&more])
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(",");
        if list.len() <= longest {
            return list;
        }
    }
    String::new()
}

/// Word before the number of keys that found no room.
pub(super) const MORE: &str = "more_";

/// Words of layers with runs as numbers before them, however they were separated: `5
/// sliding_attention, full_attention`.
pub(super) fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut after_count = false;
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    for token in text.split(['.', ',', ' ']) {
        let token: String = token.chars().filter(is_plain).collect();
        // A mark at the end of a link is taken for that of a sentence, and no word ends with one.
        let token = token.trim_matches(['_', '-']);
        if token.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push_str(if after_count { " " } else { ", " });
        }
        after_count = token.bytes().all(|byte| byte.is_ascii_digit());
        out.push_str(token);
    }
    out.replace('-', "_")
}

/// Words of layers as links write them.
pub(super) fn write_words(words: &str) -> String {
    words.replace(", ", ".").replace(' ', ".").replace('_', "-")
}

/// One key: letters and digits, with single marks between them.
fn plain(item: &str) -> String {
    let mut out = String::new();
    for character in item.chars() {
        let mark = matches!(character, '_' | '-' | '.');
        let follows = out.ends_with(|last: char| last.is_ascii_alphanumeric());
        if character.is_ascii_alphanumeric() || mark && follows {
            out.push(character);
        }
    }
    out.truncate(out.trim_end_matches(['_', '-', '.']).len());
    out
}

/// A clean list as links write it.
pub(super) fn write(list: &str) -> String {
    let mut out = String::with_capacity(list.len());
    for character in list.chars() {
        match character {
            '_' => out.push('-'),
            ',' => out.push('.'),
            '-' => out.push_str("--"),
            '.' => out.push_str(".."),
            plain => out.push(plain),
        }
    }
    out
}

/// Reads the output of [`write`].
pub(super) fn read(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let twice = matches!(character, '-' | '.') && rest.next_if_eq(&character).is_some();
        out.push(match (character, twice) {
            ('-', false) => '_',
            ('.', false) => ',',
            (same, _) => same,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{clean, read, words, write, write_words};

    #[test]
    fn what_is_written_is_read() {
        for list in [
            "",
            "a",
            "hybrid_layer_pattern,swa_head_dim",
            "rope_scaling.type,falcon-h1",
            "qwen3.5,a-b_c.d,e",
        ] {
            assert_eq!(clean(list, 300), list);
            assert_eq!(read(&write(list)), list);
            assert!(
                write(list)
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.')),
                "{list}"
            );
        }
    }

    #[test]
    fn words_of_layers_are_separated_in_one_way() {
        for typed in [
            "5 full_attention, linear",
            "5,full_attention linear",
            "5.full-attention.linear",
            " 5  full_attention,,linear.",
        ] {
            assert_eq!(words(typed), "5 full_attention, linear", "{typed}");
        }
        assert_eq!(words("mamba-, _, 5_"), "mamba, 5", "a link may not end with a mark");
        assert_eq!(write_words("5 full_attention, linear"), "5.full-attention.linear");
    }

    #[test]
    fn nothing_but_keys_is_kept() {
        assert_eq!(clean("<b>a</b> , ,_x__y_,-., ü ", 300), "bab,x_y");
        assert_eq!(clean(&"abcdefghi,".repeat(5), 30), "abcdefghi,abcdefghi,more_3");
        assert_eq!(clean(&"x".repeat(50), 30), "more_1");
    }
}
