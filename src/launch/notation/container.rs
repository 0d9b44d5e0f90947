//! `docker run … IMAGE …`: the program inside a container.

use super::{Given, ShellWord};

/// Flags of `docker run` and `podman run` without a value.
const ALONE: [&str; 14] = [
    "rm",
    "init",
    "privileged",
    "detach",
    "interactive",
    "tty",
    "read-only",
    "publish-all",
    "no-healthcheck",
    "oom-kill-disable",
    "sig-proxy",
    "quiet",
    "disable-content-trust",
    "replace",
];

/// Letters of short flags without a value, such as `-it`.
const LETTERS: &str = "ditPq";

/// True if the words start a container.
pub(super) fn is_start(words: &[ShellWord]) -> bool {
    let word = |at: usize| words.get(at).map_or("", |word: &ShellWord| word.text.as_str());
    let at = usize::from(word(0) == "sudo");
    matches!(super::invocation::base_name(word(at)), "docker" | "podman" | "nerdctl")
        && word(at + 1) == "run"
}

/// Reduces `words` to the program inside the container with its arguments, and returns the
/// variables that are set for it.
pub(super) fn inside(words: &mut Vec<ShellWord>) -> Vec<Given> {
    let begin = words.iter().position(|word| word.text == "run").map_or(words.len(), |at| at + 1);
    words.drain(..begin);
    let mut set = Vec::new();
    let mut entry = None;
    while let Some(flag) =
        words.first().filter(|word| word.text.starts_with('-') && word.text.len() > 1)
    {
        let place = flag.place;
        let (name, value) = match flag.text.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (flag.text.clone(), None),
        };
        words.remove(0);
        let short = name.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        let is_alone = ALONE.contains(&name.trim_start_matches('-'))
            || short.is_some_and(|letters| letters.chars().all(|letter| LETTERS.contains(letter)));
        let value = match value {
            Some(value) => value,
            None if is_alone || words.is_empty() => continue,
            None => words.remove(0).text,
        };
        match name.as_str() {
            "-e" | "--env" => set
                .extend(value.split_once('=').map(|(name, value)| Given::new(name, value, place))),
            "--entrypoint" => entry = Some(ShellWord { text: value, place }),
            _ => {}
        }
    }
    let image = if words.is_empty() { None } else { Some(words.remove(0)) };
    // Where only arguments follow the image, it starts a program of its own; the image's name is
    // taken as the program's.
    let has_program =
        words.first().is_some_and(|word| !word.text.starts_with('-') && !is_repository(&word.text));
    let own = image.filter(|_| !has_program).map(|image| {
        let last = super::invocation::base_name(&image.text);
        ShellWord {
            text: last.split([':', '@']).next().unwrap_or(last).to_owned(),
            place: image.place,
        }
    });
    if let Some(program) = entry.or(own) {
        words.insert(0, program);
    }
    set
}

/// True if a word has the form `owner/name` and is not a program's path.
fn is_repository(word: &str) -> bool {
    word.contains('/') && !word.starts_with(['/', '.', '~'])
}
