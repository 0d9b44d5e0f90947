//! Files that somebody chose: of several, or of large ones, the beginnings.

use std::cell::RefCell;
use std::rc::Rc;

use wasm_bindgen::JsCast;
use web_sys::{Event, File, FileReader, HtmlInputElement};

/// The most that is read of one file, bytes; of all files with weights together four times as much.
const MOST: f64 = 16.0 * 1024.0 * 1024.0;

/// The files chosen in an input.
fn chosen(event: &Event) -> Option<(HtmlInputElement, Vec<File>)> {
    let input: HtmlInputElement = event.target()?.dyn_into().ok()?;
    let files = input.files()?;
    let all = (0..files.length()).filter_map(|at| files.get(at)).collect();
    Some((input, all))
}

/// True if more than one text was chosen: several files, or one with weights.
pub fn are_of_a_model(event: &Event) -> bool {
    let names: Vec<String> = chosen(event)
        .into_iter()
        .flat_map(|(_, files)| files)
        .map(|file| file.name().to_ascii_lowercase())
        .collect();
    names.len() > 1
        || names
            .iter()
            .any(|name| [".gguf", ".safetensors"].iter().any(|ending| name.ends_with(ending)))
}

/// The files that have been read so far, by name, and who waits for all of them.
struct Waiting<F> {
    starts: Vec<(String, Option<String>)>,
    left: usize,
    done: Option<F>,
}

/// True for a file of a model's folder that tells its shape: tokenizers and cards do not.
fn is_wanted(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["config.json", "params.json"].contains(&name.as_str())
        || [".index.json", ".gguf", ".safetensors", ".sh", ".bash", ".yaml", ".yml", ".toml", ".py"]
            .iter()
            .any(|ending| name.ends_with(ending))
        || is_settings(&name)
}

/// True for JSON that settings of a run are kept in; a model's folder has others, about words and
/// generation.
fn is_settings(name: &str) -> bool {
    let of_model = [
        "tokenizer",
        "generation",
        "preprocessor",
        "processor",
        "special_tokens",
        "added_tokens",
        "vocab",
        "chat_template",
    ];
    name.strip_suffix(".json").is_some_and(|stem| !of_model.iter().any(|word| stem.contains(word)))
}

/// Reads the beginnings of the files chosen in an input, as far as they say what a model is, each
/// with its name, in base64.
pub fn read_beginnings<F>(event: &Event, done: F)
where
    F: FnOnce(Result<Vec<(String, String)>, String>) + 'static,
{
    let Some((input, mut files)) = chosen(event) else { return };
    // One file by itself is read whatever it is called.
    if files.len() > 1 {
        files.retain(|file| is_wanted(&file.name()));
    }
    input.set_value("");
    if files.is_empty() {
        return done(Ok(Vec::new()));
    }
    let weights = files.iter().filter(|file| file.name().ends_with(".safetensors")).count();
    let of_weights = (4.0 * MOST / crate::units::to_f64(weights.max(1) as u64)).min(MOST);
    let starts = files.iter().map(|file| (file.name(), None)).collect();
    let waiting = Rc::new(RefCell::new(Waiting { starts, left: files.len(), done: Some(done) }));
    for (at, file) in files.iter().enumerate() {
        let most = if file.name().ends_with(".safetensors") { of_weights } else { MOST };
        let waiting = Rc::clone(&waiting);
        read_start(file, most, move |start| arrived(&waiting, at, start));
    }
}

/// Notes what was read of one file; the last one answers.
fn arrived<F>(waiting: &RefCell<Waiting<F>>, at: usize, start: Option<String>)
where
    F: FnOnce(Result<Vec<(String, String)>, String>),
{
    let mut now = waiting.borrow_mut();
    if let Some((_, place)) = now.starts.get_mut(at) {
        *place = start;
    }
    now.left = now.left.saturating_sub(1);
    if now.left > 0 {
        return;
    }
    let all: Option<Vec<_>> =
        now.starts.drain(..).map(|(name, start)| Some((name, start?))).collect();
    let done = now.done.take();
    drop(now);
    if let Some(done) = done {
        done(all.ok_or_else(|| {
            "The browser could not read these files. Try to choose them again.".to_owned()
        }));
    }
}

/// Reads so many bytes of a file as base64; nothing where the browser cannot.
fn read_start(file: &File, most: f64, done: impl FnOnce(Option<String>) + 'static) {
    let start = file.slice_with_f64_and_f64(0.0, most.min(file.size()));
    let (Ok(start), Ok(reader)) = (start, FileReader::new()) else { return done(None) };
    let result = reader.clone();
    gloo_events::EventListener::once(&reader, "loadend", move |_| {
        // `data:application/octet-stream;base64,…`; of an empty file nothing behind the comma, or
        // no comma.
        let address = result.result().ok().and_then(|address| address.as_string());
        done(address.map(|address| {
            address.split_once(',').map(|(_, bytes)| bytes.to_owned()).unwrap_or_default()
        }));
    })
    .forget();
    let _ = reader.read_as_data_url(&start); // what fails ends with the event, too
}
