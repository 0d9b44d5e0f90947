//! Finds a row by the words that people type: every word must be found, in any order, joined or
//! apart, in any case.
//!
//! A word is found as a word of the row, as the number in one (`27` in `27B`), as the beginning of
//! one, or as several words written as one (`rtx3060`). The closer the match and the fewer other
//! words the row's name has, the earlier the row; rows that match alike keep the list's order,
//! which is newest first.

use std::sync::OnceLock;

use super::{accelerators, models};
use crate::units::{is_of_a_word, sort_short};

/// The rows of one list, prepared once, so that a key press costs no more than comparing words.
#[derive(Debug)]
pub struct Finder {
    rows: Vec<Prepared>,
}

/// The words of one row.
#[derive(Debug)]
struct Prepared {
    name: Vec<String>,
    /// Further words that find the row: its id and other names, each by itself, and the group in
    /// which it is listed.
    others: Vec<Vec<String>>,
    /// The name and each other name as one word: typing one of them in full finds this row first.
    whole: Vec<String>,
}

/// Words that people add to a name and that tell no two rows apart; a row is found even without
/// them.
const FILLERS: [&str; 14] = [
    "instruct", "chat", "it", "hf", "model", "llm", "gguf", "gpu", "gpus", "card", "graphics",
    "memory", "ram", "vram",
];

/// Units behind a number of parameters or an amount of memory.
const UNITS: [&str; 3] = ["b", "m", "gb"];

/// Costs of the ways in which a word is found; less is better.
const EXACT: u32 = 0;
const NUMBER: u32 = 2;
const BEGINNING: u32 = 6;
const INSIDE: u32 = 9;
/// Added where a word was found outside the name, such as in another name of the row.
const BESIDE: u32 = 2;

impl Finder {
    /// Returns the finder of [`models`]; its positions are theirs.
    pub fn of_models() -> &'static Self {
        static FINDER: OnceLock<Finder> = OnceLock::new();
        FINDER.get_or_init(|| {
            let row = |row: &super::ModelRow| {
                let size = row.published_parameters.map(size_words).unwrap_or_default();
                Prepared::new(row.name, row.aliases(), &[row.id, row.family, &size])
            };
            Self { rows: models().iter().map(row).collect() }
        })
    }

    /// Returns the finder of [`accelerators`]; its positions are theirs.
    pub fn of_accelerators() -> &'static Self {
        static FINDER: OnceLock<Finder> = OnceLock::new();
        FINDER.get_or_init(|| {
            let row = |row: &super::AcceleratorRow| {
                let size = format!("{}gb", row.marketed_gb);
                Prepared::new(row.name, row.aliases(), &[row.id, row.vendor, row.series, &size])
            };
            Self { rows: accelerators().iter().map(row).collect() }
        })
    }

    /// Returns the positions of the rows in which every word is found, best first; of all rows, in
    /// their order, where nothing is typed.
    ///
    /// ```
    /// use headroom::catalog::{Finder, accelerators};
    /// let found = Finder::of_accelerators().find("rtx3060 12gb");
    /// assert_eq!(found.first().map(|at| accelerators()[*at].id), Some("rtx3060"));
    /// ```
    pub fn find(&self, typed: &str) -> Vec<usize> {
        let typed = words(typed);
        if typed.is_empty() {
            return (0..self.rows.len()).collect();
        }
        let mut found: Vec<_> = self
            .rows
            .iter()
            .enumerate()
            .filter_map(|(at, row)| Some((row.rank(&typed)?, at)))
            .collect();
        sort_short(&mut found, |a, b| a < b);
        found.into_iter().map(|(_, at)| at).collect()
    }

    /// Returns the positions of the `count` rows whose words are nearest to the typed text, letter
    /// by letter.
    pub fn nearest(&self, typed: &str, count: usize) -> Vec<usize> {
        let typed = words(typed);
        let mut all: Vec<_> = self
            .rows
            .iter()
            .enumerate()
            .map(|(at, row)| (row.distance(&typed), row.untyped(&typed), at))
            .collect();
        sort_short(&mut all, |a, b| a < b);
        all.into_iter().take(count).map(|(.., at)| at).collect()
    }
}

impl Prepared {
    fn new(name: &str, aliases: &[&str], beside: &[&str]) -> Self {
        let whole = aliases.iter().chain([&name]).map(|name| words(name).concat()).collect();
        Self {
            name: words(name),
            others: aliases.iter().chain(beside).map(|text| words(text)).collect(),
            whole,
        }
    }

    /// The distance of the row from the typed words, and the number of words of its name that were
    /// not typed; `None` where a word is not found.
    fn rank(&self, typed: &[String]) -> Option<(u32, usize)> {
        if self.whole.contains(&typed.concat()) {
            return Some((0, self.untyped(typed)));
        }
        // Rows whose name was not typed in full come after those whose name was.
        let mut rank = 1;
        for word in typed {
            let beside = self
                .others
                .iter()
                .filter_map(|words| found(word, words))
                .min()
                .map(|far| far + BESIDE);
            match found(word, &self.name).into_iter().chain(beside).min() {
                Some(far) => rank += far,
                None if FILLERS.contains(&word.as_str()) => {}
                None => return None,
            }
        }
        Some((rank, self.untyped(typed)))
    }

    /// The number of words of the name that were not typed, sizes aside: it puts the base model
    /// before its variants.
    fn untyped(&self, typed: &[String]) -> usize {
        let is_typed = |word: &String| {
            typed
                .iter()
                .any(|typed| typed.contains(word.as_str()) || word.starts_with(typed.as_str()))
        };
        self.name.iter().filter(|word| !is_size(word) && !is_typed(word)).count()
    }

    /// The sum of each typed word's distance to the row's nearest word, in thousandths of its
    /// length.
    fn distance(&self, typed: &[String]) -> usize {
        let nearest = |word: &String| {
            let all = self.others.iter().flatten().chain(&self.name);
            all.map(|known| distance(word, known) * 1000 / word.len().max(known.len()).max(1))
                .min()
                .unwrap_or(1000)
        };
        typed.iter().map(nearest).sum()
    }
}

/// The words of a text in lower case: letters and digits, with the dots inside numbers; three or
/// more letters are cut from the digits beside them. A unit belongs to the number before it.
fn words(text: &str) -> Vec<String> {
    let text = text.to_ascii_lowercase().replace("gib", "gb");
    let mut words: Vec<String> = Vec::new();
    for piece in text.split(|letter: char| !is_of_a_word(letter) && letter != '.') {
        for word in apart(piece.trim_matches('.')) {
            let number =
                words.last_mut().filter(|last| UNITS.contains(&word.as_str()) && is_number(last));
            match number {
                Some(number) => number.push_str(&word),
                None => words.push(word),
            }
        }
    }
    words
}

fn is_number(word: &str) -> bool {
    word.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
}

/// `llama3.1` as `llama` and `3.1`, `m3max` as `m3` and `max`; `h100`, `27b` and `64gb` stay one
/// word.
fn apart(piece: &str) -> Vec<String> {
    let mut runs: Vec<(bool, String)> = Vec::new();
    for letter in piece.chars() {
        let is_word = is_of_a_word(letter) && !letter.is_ascii_digit();
        match runs.last_mut() {
            Some((of, run)) if *of == is_word => run.push(letter),
            _ => runs.push((is_word, letter.to_string())),
        }
    }
    let mut apart: Vec<String> = Vec::new();
    let mut alone = true;
    for (is_word, run) in runs {
        let long = is_word && run.len() > 2;
        match apart.last_mut() {
            Some(last) if !alone && !long => last.push_str(&run),
            _ => apart.push(run),
        }
        alone = long;
    }
    apart
}

/// The distance of a typed word from the words of a text; `None` where it is not found.
fn found(typed: &str, words: &[String]) -> Option<u32> {
    (0..words.len()).filter_map(|at| from_word(typed, words.get(at..).unwrap_or_default())).min()
}

/// The distance of a typed word from the words that begin with the first of these.
fn from_word(typed: &str, words: &[String]) -> Option<u32> {
    let first = words.first()?;
    let inner = first
        .find(|letter: char| letter.is_ascii_digit())
        .filter(|at| *at > 0)
        .and_then(|at| first.get(at..));
    let inside = inner.is_some_and(|number| number.starts_with(typed)).then_some(INSIDE);
    spelt(typed, words, str::to_owned)
        .or_else(|| spelt(typed, words, |word| word.replace('.', "")))
        .or(inside)
}

/// The distance of the typed text if the words, written one after the other, begin with it; it
/// depends on how the typed text ends in them.
fn spelt(typed: &str, words: &[String], write: impl Fn(&str) -> String) -> Option<u32> {
    let mut rest = typed;
    for word in words {
        let word = write(word);
        if let Some(left) = word.strip_prefix(rest) {
            let number = rest.ends_with(|letter: char| letter.is_ascii_digit())
                && left.chars().all(char::is_alphabetic);
            return Some(if left.is_empty() {
                EXACT
            } else if number {
                NUMBER
            } else {
                BEGINNING
            });
        }
        rest = rest.strip_prefix(word.as_str())?;
    }
    None
}

/// True if a word is a size: a number and a unit.
fn is_size(word: &str) -> bool {
    UNITS
        .iter()
        .filter_map(|unit| word.strip_suffix(unit))
        .any(|number| !number.is_empty() && is_number(number))
}

/// A number of parameters as people write it: `8b 8.0b`, `135m`.
fn size_words(parameters: u64) -> String {
    let tenths = |unit: u64| {
        let tenths = (parameters + unit / 20) / (unit / 10);
        (tenths / 10, tenths % 10)
    };
    if parameters < 1_000_000_000 {
        return format!("{}m", (parameters + 500_000) / 1_000_000);
    }
    let (whole, part) = tenths(1_000_000_000);
    format!("{}b {whole}.{part}b", (parameters + 500_000_000) / 1_000_000_000)
}

/// The number of letters to add, drop or change to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut before = at;
        let mut last = at + 1;
        for (next, known) in other.iter().enumerate() {
            let Some(above) = row.get(next + 1).copied() else { break };
            let changed = before + usize::from(*known != letter);
            before = above;
            if let Some(place) = row.get_mut(next) {
                *place = last;
            }
            last = changed.min(above + 1).min(last + 1);
        }
        if let Some(place) = row.last_mut() {
            *place = last;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Finder, distance, found, size_words, words};
    use crate::catalog::{accelerators, models};

    fn found_in(typed: &str, text: &str) -> Option<u32> {
        found(typed, &words(text))
    }

    #[test]
    fn words_are_apart_at_blanks_signs_and_numbers() {
        assert_eq!(
            words("meta-llama/Llama-3.1_8B (Instruct)."),
            ["meta", "llama", "llama", "3.1", "8b", "instruct"]
        );
        assert_eq!(
            words("llama3.1 rtx3060 m3max 4070ti"),
            ["llama", "3.1", "rtx", "3060", "m3", "max", "4070ti"]
        );
        assert_eq!(
            words("H100 MI300X 8x22B 64 GiB gb10"),
            ["h100", "mi300x", "8x22b", "64gb", "gb10"]
        );
        assert_eq!(words(" .,- "), Vec::<String>::new());
    }

    #[test]
    fn a_word_is_found_whole_as_a_number_as_a_beginning_or_across_words() {
        let ranks = ["27b", "27", "2", "gemma", "gem"].map(|typed| found_in(typed, "Gemma 3 27B"));
        assert!(ranks.iter().all(Option::is_some), "{ranks:?}");
        assert!(ranks[0] < ranks[1] && ranks[1] < ranks[2] && ranks[3] < ranks[4], "{ranks:?}");
        assert_eq!(found_in("4070ti", "RTX 4070 Ti"), found_in("ti", "RTX 4070 Ti"));
        assert_eq!(found_in("100", "H100 SXM5"), Some(super::INSIDE));
        assert_eq!(found_in("31", "Llama 3.1 8B"), found_in("3.1", "Llama 3.1 8B"));
        for nowhere in ["7b", "emma", "3.10", "h100"] {
            assert_eq!(found_in(nowhere, "Gemma 3 27B"), None, "{nowhere}");
        }
        assert_eq!(found_in("7b", "Llama 3 70B"), None);
    }

    #[test]
    fn nothing_typed_finds_all_and_every_row_is_found_by_its_name() {
        let cards = Finder::of_accelerators();
        assert_eq!(cards.find(" "), (0..accelerators().len()).collect::<Vec<_>>());
        for (at, row) in accelerators().iter().enumerate() {
            assert_eq!(cards.find(row.name).first(), Some(&at), "{}", row.name);
            assert!(cards.find(row.id).contains(&at), "{}", row.id);
        }
        for (at, row) in models().iter().enumerate() {
            assert_eq!(Finder::of_models().find(row.name).first(), Some(&at), "{}", row.name);
            assert!(Finder::of_models().find(row.family).contains(&at), "{}", row.name);
        }
    }

    #[test]
    fn every_word_must_be_found_but_fillers_need_not() {
        let cards = Finder::of_accelerators();
        assert_eq!(cards.find("rtx 3060 gpu"), cards.find("rtx 3060"));
        assert!(cards.find("rtx 3060 xyzzy").is_empty());
    }

    #[test]
    fn what_is_not_found_has_near_rows() {
        let near = |typed: &str| {
            let at = Finder::of_accelerators().nearest(typed, 3);
            at.into_iter().map(|at| accelerators()[at].id).collect::<Vec<_>>()
        };
        assert_eq!(
            near("geforc rtx 3061").first(),
            Some(&"rtx3060"),
            "{:?}",
            near("geforc rtx 3061")
        );
        assert_eq!(near("a600").first(), Some(&"rtx-a6000"), "{:?}", near("a600"));
        assert_eq!(near("xyzzy").len(), 3);
    }

    #[test]
    fn sizes_and_distances() {
        assert_eq!(
            [8_030_261_248, 134_515_008, 671_026_419_200].map(size_words),
            ["8b 8.0b", "135m", "671b 671.0b"]
        );
        let far = [("", "abc"), ("kitten", "sitting"), ("gemma", "gemma"), ("4900", "4090")]
            .map(|(a, b)| distance(a, b));
        assert_eq!(far, [3, 3, 0, 2]);
    }
}
