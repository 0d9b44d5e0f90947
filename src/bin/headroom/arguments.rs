//! Reads the words of the command line.

use headroom::units::MemoryUnit;
use headroom::view::export;

/// The text of `--help`, for a terminal of 100 columns.
pub const HELP: &str = "\
headroom: does this transformer fit, what takes the memory, how many GPUs, how long?

usage: headroom LINK-OR-FRAGMENT [--json | --export FORM] [--gib | --gb]
       headroom --inputs
       headroom LINK-OR-FRAGMENT --figures
       headroom explain LINK-OR-FRAGMENT PATH... [--gib | --gb]
       headroom import FILE-OR-FOLDER... [--counts FILE]
       headroom read FILE|-... [--onto LINK-OR-FRAGMENT] [--json]
       headroom write LINK-OR-FRAGMENT --as TOOL
       headroom fits LINK-OR-FRAGMENT [--json]
       headroom log FILE|- LINK-OR-FRAGMENT [--json]
       headroom oom FILE|- LINK-OR-FRAGMENT [--json]
       headroom snapshot FILE LINK-OR-FRAGMENT [--json]

LINK-OR-FRAGMENT  a link of the page, or the part after its #, e.g. 'v1&m=llama3-70b&n=64'
--json            machine-readable, memory in bytes
--export FORM     what the page's share dialog hands over: answer.md, curves.csv, ledger.csv or
                  scenario.json
--figures         every figure that stories and exercises know, a line each: name, value, what it
                  is
--inputs          lists every input with its link key, range and help
explain PATH...   the formula of each figure with this scenario's numbers, its source and what
                  makes it grow; paths are total, peak, ledger/KIND, ledger/KIND/LABEL,
                  ledger/KIND/LABEL/N, gpus/arithmetic, gpus/runnable, load/first-token,
                  load/per-user, load/in-all, load/price, time/NAME
import FILE       what a config.json, params.json, GGUF or safetensors file says, or a folder of
                  one model: one sentence, what is left out, stored tensors beside the model,
                  every key; of weights only the header is read
import FILE...    how config.json files are read: exact, flagged or refused, a line each, and how
                  many of each kind; --counts names exact counts to compare with, lines of JSON
                  such as {\"file\": \"a.json\", \"text\": 124439808}
read FILE|-...    a command or file of another tool (vllm serve, torchrun, a YAML or TOML file …),
                  and the files that it refers to: its link, every setting with what came of it,
                  the answer, and what to change in it to make it fit; the model's own config.json
                  is not needed for models of the catalog. --onto LINK says which accelerator and
                  model count where the text names none
write LINK --as TOOL
                  the scenario as a command or file of that tool; `headroom write` alone lists the
                  tools
fits LINK         every model of the catalog that fits the link's accelerators: served, each
                  format with its longest context and speed (do=serve), or fine-tuned, each way
                  with its longest sequence (do=tune); largest models first
log FILE|- LINK   what a server printed when it started (vLLM, SGLang, llama.cpp) or a training
                  while it ran (Megatron-LM, torchtitan, DeepSpeed, torchtune, axolotl, the
                  Trainer), beside the estimate of the link
oom FILE|- LINK   an out-of-memory message, or a whole log with it, beside the estimate of the
                  link: the tensor that was asked for, the amounts side by side, the cause, and
                  what helps; - reads what is piped in. Amounts are in the message's GiB
snapshot FILE     a file of torch.cuda.memory._dump_snapshot beside the estimate of the link:
                  peaks, and the tensors of each size that one side has more of than the other
--gib, --gb       write memory in GiB (2^30) or GB (10^9); default: as the link says

exit code: 0 fits (of write, fits, log, oom, snapshot, import and explain: answered), 1 does not fit, 2 bad input";

/// Said where `headroom log` names no file or no link.
const NO_LOG: &str = "name a file with the log, or - for what is piped in, \
    and the link of the server that printed it";

/// Said where `headroom oom` names no file or no link.
const NO_MESSAGE: &str = "name a file with the message, or - for what is piped in, \
    and the link of the job that printed it";

/// Said where `headroom snapshot` names no file or no link.
const NO_SNAPSHOT: &str = "name a file that torch.cuda.memory._dump_snapshot wrote, \
    and the link of the job that wrote it";

/// The link of a command, and how it is to be answered.
pub struct Arguments {
    pub link: String,
    pub json: bool,
    pub export: Option<export::ExportFormat>,
    pub figures: bool,
    pub unit: Option<MemoryUnit>,
}

/// A command with its words.
pub enum CommandLine {
    Help,
    Inputs,
    Import { files: Vec<String>, counts: Option<String> },
    Estimate(Arguments),
    Explain { arguments: Arguments, paths: Vec<String> },
    Read { files: Vec<String>, onto: Option<String>, json: bool },
    Formats,
    Write { link: String, tool: String },
    Fits(Arguments),
    Log { file: String, arguments: Arguments },
    Oom { file: String, arguments: Arguments },
    Snapshot { file: String, arguments: Arguments },
}

/// Reads the command line.
pub fn arguments() -> Result<CommandLine, String> {
    use lexopt::Arg::{Long, Short, Value};
    let mut parser = lexopt::Parser::from_env();
    let first = std::env::args_os().nth(1).unwrap_or_default();
    let first = first.to_string_lossy();
    match first.as_ref() {
        "import" => return import_arguments(parser),
        "read" => return read_arguments(parser),
        "write" => return write_arguments(parser),
        "log" => {
            return file_and_link(parser, NO_LOG)
                .map(|(file, arguments)| CommandLine::Log { file, arguments });
        }
        "oom" => {
            return file_and_link(parser, NO_MESSAGE)
                .map(|(file, arguments)| CommandLine::Oom { file, arguments });
        }
        "snapshot" => {
            return file_and_link(parser, NO_SNAPSHOT)
                .map(|(file, arguments)| CommandLine::Snapshot { file, arguments });
        }
        _ => {}
    }
    let (lists, explains) = (first == "fits", first == "explain");
    if lists || explains {
        let _ = parser.next();
    }
    let (mut link, mut json, mut export, mut figures) = (None, false, None, false);
    let (mut unit, mut paths) = (None, Vec::new());
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        match argument {
            Short('h') | Long("help") => return Ok(CommandLine::Help),
            Long("inputs") => return Ok(CommandLine::Inputs),
            Long("json") => json = true,
            Long("export") => {
                export = Some(form(&value(&mut parser)?)?);
            }
            Long("figures") => figures = true,
            Long("gib") => unit = Some(MemoryUnit::Gib),
            Long("gb") => unit = Some(MemoryUnit::Gb),
            Value(text) if link.is_none() => link = Some(text.to_string_lossy().into_owned()),
            Value(path) if explains => paths.push(path.to_string_lossy().into_owned()),
            other => return Err(other.unexpected().to_string()),
        }
    }
    let link =
        link.ok_or("name a link or the part after its #, for example 'v1&m=llama3-70b&n=64'")?;
    let arguments = Arguments { link, json, export, figures, unit };
    if lists {
        return Ok(CommandLine::Fits(arguments));
    }
    match (explains, paths.is_empty()) {
        (false, _) => Ok(CommandLine::Estimate(arguments)),
        (true, false) => Ok(CommandLine::Explain { arguments, paths }),
        (true, true) => {
            Err("name what to explain, for example total or ledger/Activations".to_owned())
        }
    }
}

/// The word behind an option.
fn value(parser: &mut lexopt::Parser) -> Result<String, String> {
    let value = parser.value().map_err(|error| error.to_string())?;
    Ok(value.to_string_lossy().into_owned())
}

fn form(word: &str) -> Result<export::ExportFormat, String> {
    let words = export::ExportFormat::ALL.map(export::ExportFormat::word).join(", ");
    export::ExportFormat::of(word)
        .ok_or_else(|| format!("--export knows no `{word}`: there are {words}"))
}

/// Reads the arguments behind the word `import`.
fn import_arguments(mut parser: lexopt::Parser) -> Result<CommandLine, String> {
    use lexopt::Arg::{Long, Short, Value};
    let (mut files, mut counts) = (Vec::new(), None);
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        match argument {
            Short('h') | Long("help") => return Ok(CommandLine::Help),
            Long("counts") => {
                counts = Some(value(&mut parser)?);
            }
            Value(path) => files.push(path.to_string_lossy().into_owned()),
            other => return Err(other.unexpected().to_string()),
        }
    }
    // The first word is the command itself.
    Ok(CommandLine::Import { files: files.split_off(1), counts })
}

/// Reads the arguments behind the word `read`.
fn read_arguments(mut parser: lexopt::Parser) -> Result<CommandLine, String> {
    use lexopt::Arg::{Long, Short, Value};
    let (mut files, mut onto, mut json) = (Vec::new(), None, false);
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        match argument {
            Short('h') | Long("help") => return Ok(CommandLine::Help),
            Long("json") => json = true,
            Long("onto") => {
                onto = Some(value(&mut parser)?);
            }
            Value(path) => files.push(path.to_string_lossy().into_owned()),
            other => return Err(other.unexpected().to_string()),
        }
    }
    // The first word is the command itself.
    let files = files.split_off(1);
    if files.is_empty() {
        return Err("name a file with the command, or - for what is piped in".to_owned());
    }
    Ok(CommandLine::Read { files, onto, json })
}

/// Reads the arguments behind the word `write`.
fn write_arguments(mut parser: lexopt::Parser) -> Result<CommandLine, String> {
    use lexopt::Arg::{Long, Short, Value};
    let (mut words, mut tool) = (Vec::new(), None);
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        match argument {
            Short('h') | Long("help") => return Ok(CommandLine::Help),
            Long("as") => {
                tool = Some(value(&mut parser)?);
            }
            Value(word) if words.len() < 2 => words.push(word.to_string_lossy().into_owned()),
            other => return Err(other.unexpected().to_string()),
        }
    }
    match (words.pop().filter(|_| !words.is_empty()), tool) {
        (Some(link), Some(tool)) => Ok(CommandLine::Write { link, tool }),
        (None, None) => Ok(CommandLine::Formats),
        _ => Err("name the link and, behind --as, the tool; headroom write alone lists the tools"
            .to_owned()),
    }
}

/// A word, a file and a link.
fn file_and_link(mut parser: lexopt::Parser, missing: &str) -> Result<(String, Arguments), String> {
    use lexopt::Arg::{Long, Value};
    let (mut words, mut json) = (Vec::new(), false);
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        match argument {
            Long("json") => json = true,
            Value(word) if words.len() < 3 => words.push(word.to_string_lossy().into_owned()),
            other => return Err(other.unexpected().to_string()),
        }
    }
    // The first word is the command itself.
    let [_, file, link] = <[String; 3]>::try_from(words).map_err(|_| missing.to_owned())?;
    Ok((file, Arguments { link, json, export: None, figures: false, unit: None }))
}
