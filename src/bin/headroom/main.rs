//! The command line. It has the page's scenarios, engine and sentences.
//!
//! Exit code 0: it fits and can run; 1: it does not; 2: the link or an argument cannot be read.

#[cfg(not(target_arch = "wasm32"))]
mod files;
#[cfg(not(target_arch = "wasm32"))]
mod import;
#[cfg(not(target_arch = "wasm32"))]
mod launch;
#[cfg(not(target_arch = "wasm32"))]
mod log;
#[cfg(not(target_arch = "wasm32"))]
mod oom;
#[cfg(not(target_arch = "wasm32"))]
mod snapshot;

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use std::io::Write as _;
    use std::process::ExitCode;
    use std::time::SystemTime;

    use headroom::config::Job;
    use headroom::lessons::figure::{FIGURES, Facts, Figure};
    use headroom::scenario::codec::Decoded;
    use headroom::scenario::{FieldId, Scenario, Value, codec, field, reference};
    use headroom::units::MemoryUnit;
    use headroom::view::anything::scenario_of;
    use headroom::view::export::{self, Luggage, file};
    use headroom::view::report::{Report, json};
    use headroom::view::what_fits::{as_json, as_text, by_size, what_fits};
    use headroom::worker::explain::explained;

    use crate::{import, launch, log, oom, snapshot};

    const HELP: &str = "\
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
--export FORM     what the page's share dialog hands over: answer.md, curves.csv, ledger.csv or scenario.json
--figures         every figure that stories and exercises know, a line each: name, value, what it is
--inputs          lists every input with its link key, range and help
explain PATH...   the formula of each figure with this scenario's numbers, its source and what makes it grow; paths are total,
                  peak, ledger/KIND, ledger/KIND/LABEL, ledger/KIND/LABEL/N, gpus/arithmetic, gpus/runnable,
                  load/first-token, load/per-user, load/in-all, load/price, time/NAME
import FILE       what a config.json, params.json, GGUF or safetensors file says, or a folder of one model: one sentence, what is left
                  out, stored tensors beside the model, every key; of weights only the header is read
import FILE...    how config.json files are read: exact, flagged or refused, a line each, and how many of each kind; --counts
                  names exact counts to compare with, lines of JSON such as {\"file\": \"a.json\", \"text\": 124439808}
read FILE|-...    a command or file of another tool (vllm serve, torchrun, a YAML or TOML file …), and the files that it refers to: its link, every
                  setting with what came of it, the answer, and what to change in it to make it fit; the model's own config.json is not
                  needed for models of the catalog. --onto LINK says which accelerator and model count where the text names none
write LINK --as TOOL  the scenario as a command or file of that tool; `headroom write` alone lists the tools
fits LINK         every model of the catalog that fits the link's accelerators: served, each format with its longest context and speed
                  (do=serve), or fine-tuned, each way with its longest sequence (do=tune); largest models first
log FILE|- LINK   what a server printed when it started (vLLM, SGLang, llama.cpp) or a training while it ran (Megatron-LM, torchtitan,
                  DeepSpeed, torchtune, axolotl, the Trainer), beside the estimate of the link
oom FILE|- LINK   an out-of-memory message, or a whole log with it, beside the estimate of the link: the tensor that was asked for,
                  the amounts side by side, the cause, and what helps; - reads what is piped in. Amounts are in the message's GiB
snapshot FILE     a file of torch.cuda.memory._dump_snapshot beside the estimate of the link: peaks, and the tensors of each size
                  that one side has more of than the other
--gib, --gb       write memory in GiB (2^30) or GB (10^9); default: as the link says

exit code: 0 fits (of write, fits, log, oom, snapshot, import and explain: answered), 1 does not fit, 2 bad input";

    struct Arguments {
        link: String,
        json: bool,
        export: Option<export::Form>,
        figures: bool,
        unit: Option<MemoryUnit>,
    }

    enum Task {
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

    fn arguments() -> Result<Task, String> {
        use lexopt::Arg::{Long, Short, Value};
        let mut parser = lexopt::Parser::from_env();
        let first = std::env::args_os().nth(1).unwrap_or_default();
        let first = first.to_string_lossy();
        match first.as_ref() {
            "import" => return import_arguments(parser),
            "read" => return read_arguments(parser),
            "write" => return write_arguments(parser),
            "log" => {
                let missing = "name a file with the log, or - for what is piped in, and the link of the server that printed it";
                return file_and_link(parser, missing)
                    .map(|(file, arguments)| Task::Log { file, arguments });
            }
            "oom" => {
                let missing = "name a file with the message, or - for what is piped in, and the link of the job that printed it";
                return file_and_link(parser, missing)
                    .map(|(file, arguments)| Task::Oom { file, arguments });
            }
            "snapshot" => {
                let missing = "name a file that torch.cuda.memory._dump_snapshot wrote, and the link of the job that wrote it";
                return file_and_link(parser, missing)
                    .map(|(file, arguments)| Task::Snapshot { file, arguments });
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
                Short('h') | Long("help") => return Ok(Task::Help),
                Long("inputs") => return Ok(Task::Inputs),
                Long("json") => json = true,
                Long("export") => {
                    export = Some(form(
                        &parser.value().map_err(|error| error.to_string())?.to_string_lossy(),
                    )?)
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
            return Ok(Task::Fits(arguments));
        }
        match (explains, paths.is_empty()) {
            (false, _) => Ok(Task::Estimate(arguments)),
            (true, false) => Ok(Task::Explain { arguments, paths }),
            (true, true) => {
                Err("name what to explain, for example total or ledger/Activations".to_owned())
            }
        }
    }

    fn form(word: &str) -> Result<export::Form, String> {
        let words = export::Form::ALL.map(export::Form::word).join(", ");
        export::Form::of(word)
            .ok_or_else(|| format!("--export knows no `{word}`: there are {words}"))
    }

    /// Reads the arguments behind the word `import`.
    fn import_arguments(mut parser: lexopt::Parser) -> Result<Task, String> {
        use lexopt::Arg::{Long, Short, Value};
        let (mut files, mut counts) = (Vec::new(), None);
        while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
            match argument {
                Short('h') | Long("help") => return Ok(Task::Help),
                Long("counts") => {
                    counts = Some(
                        parser
                            .value()
                            .map_err(|error| error.to_string())?
                            .to_string_lossy()
                            .into_owned(),
                    );
                }
                Value(path) => files.push(path.to_string_lossy().into_owned()),
                other => return Err(other.unexpected().to_string()),
            }
        }
        // The first word is the command itself.
        Ok(Task::Import { files: files.split_off(1), counts })
    }

    /// Reads the arguments behind the word `read`.
    fn read_arguments(mut parser: lexopt::Parser) -> Result<Task, String> {
        use lexopt::Arg::{Long, Short, Value};
        let (mut files, mut onto, mut json) = (Vec::new(), None, false);
        while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
            match argument {
                Short('h') | Long("help") => return Ok(Task::Help),
                Long("json") => json = true,
                Long("onto") => {
                    onto = Some(
                        parser
                            .value()
                            .map_err(|error| error.to_string())?
                            .to_string_lossy()
                            .into_owned(),
                    )
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
        Ok(Task::Read { files, onto, json })
    }

    /// Reads the arguments behind the word `write`.
    fn write_arguments(mut parser: lexopt::Parser) -> Result<Task, String> {
        use lexopt::Arg::{Long, Short, Value};
        let (mut words, mut tool) = (Vec::new(), None);
        while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
            match argument {
                Short('h') | Long("help") => return Ok(Task::Help),
                Long("as") => {
                    tool = Some(
                        parser
                            .value()
                            .map_err(|error| error.to_string())?
                            .to_string_lossy()
                            .into_owned(),
                    )
                }
                Value(word) if words.len() < 2 => words.push(word.to_string_lossy().into_owned()),
                other => return Err(other.unexpected().to_string()),
            }
        }
        match (words.pop().filter(|_| !words.is_empty()), tool) {
            (Some(link), Some(tool)) => Ok(Task::Write { link, tool }),
            (None, None) => Ok(Task::Formats),
            _ => Err(
                "name the link and, behind --as, the tool; headroom write alone lists the tools"
                    .to_owned(),
            ),
        }
    }

    /// A word, a file and a link.
    fn file_and_link(
        mut parser: lexopt::Parser,
        missing: &str,
    ) -> Result<(String, Arguments), String> {
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

    fn bad_input(sentences: &[String]) -> ExitCode {
        let mut out = std::io::stderr().lock();
        for sentence in sentences {
            // Nothing is left to do if even the error stream is closed.
            let _ = writeln!(out, "{sentence}");
        }
        ExitCode::from(2)
    }

    fn print(text: &str) -> ExitCode {
        // A reader that has closed the pipe has read enough.
        let _ = writeln!(std::io::stdout(), "{text}");
        ExitCode::SUCCESS
    }

    pub fn main() -> ExitCode {
        match arguments() {
            Ok(Task::Help) => print(HELP),
            Ok(Task::Inputs) => print(&reference()),
            Ok(Task::Import { files, counts }) => match import::run(&files, counts.as_deref()) {
                Ok(table) => print(&table),
                Err(sentence) => bad_input(&[sentence]),
            },
            Ok(Task::Estimate(arguments)) => answer(&arguments),
            Ok(Task::Explain { arguments, paths }) => explain(&arguments, &paths),
            Ok(Task::Read { files, onto, json }) => {
                let present = onto.as_deref().map_or_else(|| Ok(Scenario::default()), scenario_of);
                launched(present.and_then(|present| launch::read_files(&files, &present, json)))
            }
            Ok(Task::Formats) => print(&launch::formats()),
            Ok(Task::Write { link, tool }) => {
                launched(scenario_of(&link).and_then(|scenario| launch::write_as(&scenario, &tool)))
            }
            Ok(Task::Fits(arguments)) => match scenario_of(&arguments.link) {
                Ok(scenario) => {
                    let fits = by_size(what_fits(&scenario));
                    print(&if arguments.json {
                        as_json(&fits).to_string()
                    } else {
                        as_text(&fits, &scenario)
                    })
                }
                Err(sentences) => bad_input(&sentences),
            },
            Ok(Task::Log { file, arguments }) => diagnose(log::run, &file, &arguments),
            Ok(Task::Oom { file, arguments }) => diagnose(oom::run, &file, &arguments),
            Ok(Task::Snapshot { file, arguments }) => diagnose(snapshot::run, &file, &arguments),
            Err(message) => bad_input(&[message, "try headroom --help".to_owned()]),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this program never runs in a browser")]
    fn exported(
        form: export::Form,
        arguments: &Arguments,
        decoded: &Decoded,
    ) -> Result<String, String> {
        let mut scenario = decoded.scenario.clone();
        if let Some(unit) = arguments.unit {
            scenario.set(FieldId::MemoryUnit, Value::choice(unit));
        }
        let address = arguments
            .link
            .split_once('#')
            .map(|(address, _)| address.to_owned())
            .unwrap_or_default();
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let clock_ms = u64::try_from(since.as_millis()).unwrap_or_default();
        file(
            form,
            &Luggage {
                scenario,
                compare: decoded.compare.clone(),
                address,
                clock_ms,
                log: true,
                ..Luggage::default()
            },
        )
    }

    /// Every figure that applies, a line each: name, exact value (`none` where there is none),
    /// printed value, description.
    fn figures(scenario: &Scenario) -> ExitCode {
        let Ok(facts) = Facts::of(scenario) else { return ExitCode::from(2) };
        let line = |figure: &Figure| {
            let amount = (figure.of)(&facts)?;
            let exact =
                amount.number().map_or_else(|| "none".to_owned(), |number| number.to_string());
            Some(format!(
                "{}\t{exact}\t{}\t{}",
                figure.id,
                figure.show(amount, &facts),
                figure.label
            ))
        };
        print(&FIGURES.iter().filter_map(line).collect::<Vec<_>>().join("\n"))
    }

    /// The scenario of a link and its job. Where there is none, the reason is printed and the exit
    /// code returned.
    fn job_of(arguments: &Arguments) -> Result<(Decoded, Job), ExitCode> {
        let fragment = arguments
            .link
            .split_once('#')
            .map_or(arguments.link.as_str(), |(_, fragment)| fragment);
        let decoded = codec::decode(fragment);
        if decoded.failed {
            return Err(bad_input(&decoded.notices));
        }
        match decoded.scenario.resolve() {
            Ok(job) => Ok((decoded, job)),
            Err(errors) => {
                let problems = errors
                    .iter()
                    .map(|error| format!("{}: {}", field(error.field).label, error.message));
                Err(bad_input(&decoded.notices.iter().cloned().chain(problems).collect::<Vec<_>>()))
            }
        }
    }

    /// Prints the outcome of reading or writing a command or file.
    fn launched(outcome: launch::Outcome) -> ExitCode {
        match outcome {
            Ok((text, code)) => {
                print(text.trim_end());
                code
            }
            Err(sentences) => bad_input(&sentences),
        }
    }

    /// The explanations of some figures.
    fn explain(arguments: &Arguments, paths: &[String]) -> ExitCode {
        let (decoded, job) = match job_of(arguments) {
            Ok(found) => found,
            Err(code) => return code,
        };
        let unit = arguments.unit.unwrap_or_else(|| decoded.scenario.memory_unit());
        match explained(&job, paths, unit) {
            Ok(texts) => print(&texts.join("\n\n")),
            Err(path) => bad_input(&[format!(
                "There is no figure {path} here; headroom --help lists the paths."
            )]),
        }
    }

    /// A comparison of a file that a job's program left behind (message, log or snapshot) with the
    /// job: a function of the file, the job, whether JSON is asked for, and the link's notices.
    type Beside = fn(&str, &Job, bool, &[String]) -> Result<String, String>;

    fn diagnose(beside: Beside, file: &str, arguments: &Arguments) -> ExitCode {
        let (decoded, job) = match job_of(arguments) {
            Ok(found) => found,
            Err(code) => return code,
        };
        match beside(file, &job, arguments.json, &decoded.notices) {
            Ok(text) => print(&text),
            Err(sentence) => bad_input(&[sentence]),
        }
    }

    fn answer(arguments: &Arguments) -> ExitCode {
        let (decoded, job) = match job_of(arguments) {
            Ok(found) => found,
            Err(code) => return code,
        };
        if arguments.figures {
            return figures(&decoded.scenario);
        }
        let report = Report::of(&decoded.scenario, &job, arguments.unit)
            .with_device(&decoded.scenario, &job);
        let text = match arguments.export {
            Some(form) => match exported(form, arguments, &decoded) {
                Ok(text) => text,
                Err(sentence) => return bad_input(&[sentence]),
            },
            None if arguments.json => json(&report, &decoded.scenario, &decoded.notices),
            None => report.text(&decoded.notices),
        };
        print(text.trim_end());
        if report.runs() { ExitCode::SUCCESS } else { ExitCode::from(1) }
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    native::main()
}

#[cfg(target_arch = "wasm32")]
fn main() {}
