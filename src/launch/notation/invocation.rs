//! The program that a command starts, without torchrun, accelerate and other launchers, and with
//! flags joined to their values.

use serde_json::Value;

use super::super::flag::{Flag, Takes, is_same_name};
use super::{Command, Given, ShellWord, Stated};

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    /// The launcher that starts the processes, if there is one, with its flags.
    pub launcher: Option<Launcher>,
    /// The program, script or module, without folders before it: `vllm`, `pretrain_gpt.py`,
    /// `torchtitan.train`.
    pub program: String,
    /// The words after the program.
    pub arguments: Vec<ShellWord>,
    /// Environment variables that are set in the command or before it.
    pub environment: Vec<Given>,
}

/// A program that starts processes: torchrun, accelerate, deepspeed.
#[derive(Clone, Debug, PartialEq)]
pub struct Launcher {
    /// Its name.
    pub name: &'static str,
    /// Its flags.
    pub flags: Vec<Given>,
}

/// Launchers: the name in commands, the launcher's own name, and its flags without a value.
const LAUNCHERS: [(&str, &str, &[&str]); 4] = [
    ("torchrun", "torchrun", &["standalone", "no-python", "run-path", "m", "module"]),
    ("torch.distributed.run", "torchrun", &["standalone", "no-python", "run-path", "m", "module"]),
    (
        "torch.distributed.launch",
        "torchrun",
        &["standalone", "no-python", "use-env", "m", "module"],
    ),
    (
        "deepspeed",
        "deepspeed",
        &[
            "module",
            "no-python",
            "no-local-rank",
            "enable-each-rank-log",
            "force-multi",
            "bind-cores-to-rank",
        ],
    ),
];

/// Flags of `accelerate launch` without a value.
const ACCELERATE: [&str; 12] = [
    "multi-gpu",
    "cpu",
    "tpu",
    "use-deepspeed",
    "use-fsdp",
    "use-megatron-lm",
    "use-parallelism-config",
    "quiet",
    "m",
    "module",
    "no-python",
    "debug",
];

/// Programs that run the command after their own flags.
const RUNNERS: [&str; 11] = [
    "python",
    "python3",
    "python3.10",
    "python3.11",
    "python3.12",
    "uv",
    "srun",
    "xvfb-run",
    "mpirun",
    "numactl",
    "trtllm-llmapi-launch",
];

/// Flags of these programs without a value.
const OF_RUNNERS: [&str; 10] = [
    "u",
    "m",
    "O",
    "B",
    "active",
    "no-sync",
    "pty",
    "exclusive",
    "oversubscribe",
    "allow-run-as-root",
];

impl Invocation {
    /// Returns the program that a command starts.
    pub fn of(command: Command) -> Self {
        let Command { mut words, mut environment } = command;
        let mut launcher = None;
        let mut rounds = 0;
        while rounds < words.len() {
            rounds += 1;
            let name =
                words.first().map(|word| base_name(&word.text)).unwrap_or_default().to_owned();
            if let Some((_, called, alone)) =
                LAUNCHERS.iter().find(|(program, ..)| *program == name)
            {
                words.remove(0);
                launcher = Some(Launcher { name: called, flags: own_flags(&mut words, alone) });
            } else if name == "accelerate" && words.get(1).is_some_and(|word| word.text == "launch")
            {
                words.drain(..2);
                launcher = Some(Launcher {
                    name: "accelerate",
                    flags: own_flags(&mut words, &ACCELERATE),
                });
            } else if super::container::is_start(&words) {
                environment.extend(super::container::inside(&mut words));
            } else if RUNNERS.contains(&name.as_str()) {
                words.remove(0);
                own_flags(&mut words, &OF_RUNNERS);
                if words.first().is_some_and(|word| word.text == "run") && name == "uv" {
                    words.remove(0);
                    own_flags(&mut words, &["active", "no-sync", "isolated"]);
                }
            } else {
                break;
            }
        }
        let program =
            words.first().map(|word| base_name(&word.text).to_owned()).unwrap_or_default();
        Self { launcher, program, arguments: words.into_iter().skip(1).collect(), environment }
    }

    /// Returns true if it starts that program, or the script `NAME.py`, whose first arguments are
    /// these.
    pub fn starts(&self, program: &str, first: &[&str]) -> bool {
        let is_program = self.program == program
            || self.program.strip_suffix(".py").is_some_and(|script| script == program);
        is_program
            && first
                .iter()
                .enumerate()
                .all(|(at, word)| self.arguments.get(at).is_some_and(|own| own.text == *word))
    }

    /// Returns its flags behind the first `skip` arguments, by these tables.
    pub fn stated(&self, skip: usize, tables: &[&[Flag]]) -> Stated {
        let given = flags(self.arguments.get(skip..).unwrap_or_default(), tables);
        let launcher =
            self.launcher.as_ref().map(|launcher| launcher.flags.clone()).unwrap_or_default();
        Stated { given, environment: self.environment.clone(), launcher }
    }
}

/// A program's name without its folder.
pub(super) fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Removes the leading flags with their values from `words` and returns them; flags in `alone` have
/// no value.
fn own_flags(words: &mut Vec<ShellWord>, alone: &[&str]) -> Vec<Given> {
    let mut found = Vec::new();
    while let Some(word) =
        words.first().filter(|word| word.text.starts_with('-') && word.text.len() > 1)
    {
        let place = word.place;
        let name = word.text.trim_start_matches('-').to_owned();
        words.remove(0);
        if let Some((key, value)) = name.split_once('=') {
            found.push(Given::new(key, value, place));
        } else if alone.iter().any(|own| is_same_name(own, &name)) || words.is_empty() {
            found.push(Given::new(name, true, place));
        } else {
            let value = words.remove(0).text;
            found.push(Given::new(name, value, place));
        }
    }
    found
}

/// Returns the flags among words, with their values. Of a flag that no table has the next word is
/// the value, unless it looks like a flag. A word that belongs to no flag has an empty name.
pub fn flags(words: &[ShellWord], tables: &[&[Flag]]) -> Vec<Given> {
    let known = |name: &str| flag_of(tables, name);
    let mut given = Vec::new();
    let mut rest = words;
    while let Some((word, behind)) = rest.split_first() {
        rest = behind;
        let Some(name) = flag_name(&word.text) else {
            given.push(Given::new("", word.text.clone(), word.place));
            continue;
        };
        if let Some((key, value)) = name.split_once('=') {
            given.push(Given::new(key, value, word.place));
            continue;
        }
        // `--no-…` of a switch takes no value either.
        let takes = known(name)
            .or_else(|| flag_of(tables, positive(name)?))
            .map_or(Takes::Optional, |flag| flag.takes);
        let values = behind.iter().take_while(|word| flag_name(&word.text).is_none()).count();
        let count = match takes {
            Takes::Nothing => {
                usize::from(behind.first().is_some_and(|next| is_yes_or_no(&next.text)))
            }
            Takes::One | Takes::Optional => values.min(1),
            Takes::Many => values,
        };
        let (own, after) = behind.split_at(count);
        rest = after;
        given.push(with_values(name, own, takes, known(name).is_some(), word));
    }
    given
}

/// The flag with that name in one of the tables.
fn flag_of<'a>(tables: &[&'a [Flag]], name: &str) -> Option<&'a Flag> {
    tables.iter().copied().flatten().find(|flag| flag.is_called(name))
}

/// The name after `no-`.
fn positive(name: &str) -> Option<&str> {
    name.strip_prefix("no-").or_else(|| name.strip_prefix("no_"))
}

fn with_values(
    name: &str,
    own: &[ShellWord],
    takes: Takes,
    is_known: bool,
    word: &ShellWord,
) -> Given {
    match (own, positive(name)) {
        ([], Some(positive)) if !is_known => Given::new(positive, false, word.place),
        ([], _) => Given::new(name, true, word.place),
        ([one], _) if takes != Takes::Many => Given::new(name, one.text.clone(), word.place),
        _ => {
            let texts = own.iter().map(|word| Value::String(word.text.clone())).collect::<Vec<_>>();
            Given::new(name, Value::Array(texts), word.place)
        }
    }
}

fn is_yes_or_no(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "true" | "false")
}

/// The name of a flag without dashes; `None` for a word that is not a flag, such as a negative
/// number.
fn flag_name(word: &str) -> Option<&str> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    name.chars().next().filter(char::is_ascii_alphabetic)?;
    Some(name)
}
