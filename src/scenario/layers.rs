//! Sets of layers as people and links write them: `none`, `all`, `all-but-every-6`, `every-4`,
//! `from-3`, `0-2.5`.

use std::fmt::Write as _;

use crate::config::LayerSet;

/// A list that names a later layer is not read, so that no link becomes too long.
const MOST_LISTED: usize = 1024;

/// The word for a set. Listed layers are counted from 0, runs joined by `-`, parts by `.`.
pub(super) fn word(set: &LayerSet) -> String {
    match set {
        LayerSet::None => "none".to_owned(),
        LayerSet::All => "all".to_owned(),
        LayerSet::AllButEvery(period) => format!("all-but-every-{period}"),
        LayerSet::Every(period) => format!("every-{period}"),
        LayerSet::From(first) => format!("from-{first}"),
        LayerSet::Listed(flags) => listed(flags),
    }
}

fn listed(flags: &[bool]) -> String {
    let mut text = String::new();
    let mut layer = 0;
    while let Some(start) =
        flags.iter().skip(layer).position(|flag| *flag).map(|ahead| layer + ahead)
    {
        let run = flags.iter().skip(start).take_while(|flag| **flag).count();
        let dot = if text.is_empty() { "" } else { "." };
        // Writing into a String cannot fail.
        let _ = if run == 1 {
            write!(text, "{dot}{start}")
        } else {
            write!(text, "{dot}{start}-{}", start + run - 1)
        };
        layer = start + run;
    }
    if text.is_empty() { "none".to_owned() } else { text }
}

/// The word in a link: a list as hexadecimal digits behind an `x` where that is shorter, the first
/// layer in the highest bit.
pub(super) fn short_word(set: &LayerSet) -> String {
    let plain = word(set);
    let LayerSet::Listed(flags) = set else { return plain };
    let mut digits = "x".to_owned();
    for four in flags.chunks(4) {
        let bits = (0..4)
            .fold(0, |bits, at| 2 * bits + u32::from(four.get(at).copied().unwrap_or_default()));
        digits.push(char::from_digit(bits, 16).unwrap_or('0'));
    }
    if digits.len() < plain.len() { digits } else { plain }
}

/// Reads the output of [`word`] and [`short_word`]; blanks, commas and capitals are taken too.
pub(super) fn read(typed: &str) -> Option<LayerSet> {
    let plain = typed
        .trim()
        .to_ascii_lowercase()
        .replace(", ", ".")
        .replace([',', ';'], ".")
        .replace(' ', "-");
    match plain.as_str() {
        "none" | "" => return Some(LayerSet::None),
        "all" => return Some(LayerSet::All),
        _ => {}
    }
    let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number <= 10_000);
    if let Some(digits) = plain.strip_prefix('x') {
        let bits: Option<Vec<u32>> = digits.chars().map(|digit| digit.to_digit(16)).collect();
        let flags = bits?
            .into_iter()
            .flat_map(|bits| (0..4).rev().map(move |at| bits >> at & 1 == 1))
            .collect();
        return trimmed(flags);
    }
    if let Some(period) = plain.strip_prefix("all-but-every-") {
        return number(period).filter(|period| *period > 1).map(LayerSet::AllButEvery);
    }
    if let Some(period) = plain.strip_prefix("every-") {
        return number(period).filter(|period| *period > 1).map(LayerSet::Every);
    }
    if let Some(first) = plain.strip_prefix("from-") {
        return number(first)
            .map(|first| if first == 0 { LayerSet::All } else { LayerSet::From(first) });
    }
    let mut flags = Vec::new();
    for part in plain.split('.') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= MOST_LISTED {
            return None;
        }
        if flags.len() <= last {
            flags.resize(last + 1, false);
        }
        flags.get_mut(first..=last)?.fill(true);
    }
    trimmed(flags)
}

/// A list without layers behind its last one.
fn trimmed(mut flags: Vec<bool>) -> Option<LayerSet> {
    flags.truncate(flags.iter().rposition(|flag| *flag)? + 1);
    (flags.len() <= MOST_LISTED).then(|| LayerSet::Listed(flags.into()))
}

#[cfg(test)]
mod tests {
    use super::{read, short_word, word};
    use crate::config::LayerSet;

    #[test]
    fn every_word_is_read_back() {
        let listed =
            LayerSet::Listed(vec![true, true, false, true, false, true, true, true].into());
        for set in [
            LayerSet::None,
            LayerSet::All,
            LayerSet::AllButEvery(6),
            LayerSet::Every(4),
            LayerSet::From(3),
            listed,
        ] {
            assert_eq!(read(&word(&set)), Some(set.clone()));
            assert_eq!(read(&short_word(&set)), Some(set));
        }
        assert_eq!(word(&LayerSet::Listed(vec![true, true, false, true].into())), "0-1.3");
        assert_eq!(read("All but every 6"), Some(LayerSet::AllButEvery(6)));
        assert_eq!(read("0, 2"), Some(LayerSet::Listed(vec![true, false, true].into())));
    }

    #[test]
    fn nonsense_is_not_read() {
        for text in [
            "some",
            "from-",
            "3-1",
            "1024",
            "x",
            "x00",
            "xg",
            "all-but-every-0",
            "every-1",
            "-",
            "1.",
            "é",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
