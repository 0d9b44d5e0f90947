//! Real commands and files with letters changed, cut and doubled. Reading such a text must not
//! panic and must not take long.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use headroom::launch::{Pasted, read};
use headroom::scenario::Scenario;

/// Longest time for one text in a release build.
const LONGEST: Duration = Duration::from_millis(50);

/// Random numbers that repeat in every run (xorshift, Marsaglia 2003).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end.max(1)).expect("small")).expect("small")
    }
}

/// Every command and file among the fixtures, by format.
fn texts() -> Vec<(String, Vec<String>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/launch");
    let files = |folder: &PathBuf| {
        let named = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
        named
            .filter(|path| path.extension().is_none_or(|ending| ending != "read"))
            .collect::<Vec<_>>()
    };
    let folders = files(&folder).into_iter().filter(|path| path.is_dir());
    folders
        .map(|folder| {
            let texts =
                files(&folder).iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
            (folder.file_name().expect("a name").to_string_lossy().into_owned(), texts)
        })
        .collect()
}

/// The text with some letters changed, cut, doubled or moved.
fn broken(text: &str, numbers: &mut Numbers) -> String {
    const ODD: [&str; 24] = [
        "\"",
        "'",
        "$",
        "${",
        "$((",
        ")",
        "(",
        "\\",
        "\n",
        "9",
        "-",
        "--",
        "=",
        ":",
        "[",
        "]",
        "{",
        "}",
        "#",
        "é",
        "`",
        "&x",
        "*x",
        "99999999999999999999",
    ];
    let mut letters: Vec<char> = text.chars().collect();
    for _ in 0..=numbers.below(6) {
        let at = numbers.below(letters.len());
        match numbers.below(4) {
            0 => letters.splice(at..at, ODD[numbers.below(ODD.len())].chars()).for_each(drop),
            1 => drop(letters.drain(at..(at + numbers.below(40)).min(letters.len()))),
            2 => {
                let end = (at + numbers.below(200)).min(letters.len());
                let copy = letters[at..end].to_vec();
                let to = numbers.below(letters.len());
                letters.splice(to..to, copy);
            }
            _ => letters
                .splice(at..(at + 1).min(letters.len()), ODD[numbers.below(ODD.len())].chars())
                .for_each(drop),
        }
    }
    letters.into_iter().collect()
}

/// Reads `cases` broken texts of each format. Returns the longest time that one took; every format
/// has texts that are still read, and every other text is refused with a sentence.
fn slowest(cases: usize) -> Duration {
    let (mut numbers, mut longest) = (Numbers(0x9e37_79b9_7f4a_7c15), Duration::ZERO);
    for (format, texts) in texts() {
        let (mut outcome, mut readings) = ([0_usize; 2], 0_usize);
        for case in 0..cases {
            let text = broken(&texts[case % texts.len()], &mut numbers);
            let took = (0..3).map(|_| {
                let begun = Instant::now();
                readings += 1;
                let found = read(&[Pasted { name: "", text: &text }], &Scenario::default());
                let took = begun.elapsed();
                match found {
                    Ok(launched) => outcome[0] += usize::from(!launched.report.is_empty()),
                    Err(error) => outcome[1] += usize::from(!error.to_string().is_empty()),
                }
                took
            });
            // Another process may slow one reading down, so a text counts as slow only after three
            // slow readings.
            let mut took = took.skip_while(|took| *took > LONGEST).take(1);
            longest = longest.max(took.next().unwrap_or(LONGEST * 2));
        }
        let [read, refused] = outcome;
        assert!(read > 0 && read + refused == readings, "{format}: {outcome:?} of {readings}");
    }
    longest
}

#[test]
fn broken_files_are_read_or_refused() {
    // A debug build on a busy machine takes its time, so the limit of a release build is not asked.
    assert!(slowest(200) > Duration::ZERO);
}

/// `cargo test --release --test it -- --ignored a_million`; `HEADROOM_CASES` says how many of each
/// format.
#[test]
#[ignore = "takes minutes; run it in a release build"]
fn a_million_broken_files_of_each_format_take_no_time() {
    let cases = std::env::var("HEADROOM_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(1_000_000);
    let longest = slowest(cases);
    println!("{cases} texts of each format, the longest {longest:?}");
    assert!(longest <= LONGEST, "{longest:?}");
}

#[test]
fn a_text_of_a_megabyte_is_one_sentence() {
    let text = format!("vllm serve a {}", "x".repeat(1_000_001));
    let error =
        read(&[Pasted { name: "", text: &text }], &Scenario::default()).expect_err("too long");
    assert!(error.to_string().starts_with("The text is longer than 1 MB"));
}
