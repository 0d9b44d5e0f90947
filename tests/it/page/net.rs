//! Recorded HTML that guards changes of the markup: every part of the page and every panel of the
//! worker, for 61 links and several states of the page.
//!
//! The recording in git has no figures and no charts, because these change with the engine and
//! other tests check them; `record` writes it anew. Around a change of the markup alone, run
//! `record_figures` before it and `every_figure_too` after it, which compares everything to the
//! letter.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headroom::planner::Axis;
use headroom::scenario::codec::{decode, encode};
use headroom::scenario::records::SavedScenario;
use headroom::scenario::{FieldId, field, fields};
use headroom::units::MemoryUnit;
use headroom::view::answers::{Answers, Plots, Stairs};
use headroom::view::curve_view::Lines;
use headroom::view::explaining;
use headroom::view::fields::picker::Picker;
use headroom::view::history::UndoStep;
use headroom::view::markup::Html;
use headroom::view::panels::dialogs::paste::{PasteState, PastedModel};
use headroom::view::panels::{ledger, printed, teach, unanswered};
use headroom::view::parts;
use headroom::view::seen::{Around, Now, SeenPage};
use headroom::view::slot;
use headroom::view::ui::{
    ChartsLook, Dialog, Dialogs, Notice, Opened, Saved, Toast, Ui, Unread, View,
};
use headroom::worker::answer;
use headroom::worker::plan::{Desk, Stairway};
use headroom::worker::question::WorkerQuestion;
use headroom::worker::wire::{MARK, Reply, Request, What};
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The recorded HTML by the name of the part.
type Net = BTreeMap<String, String>;

/// The links, each with the states of the page in which it is recorded.
fn links() -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(data("net/links.txt")).unwrap();
    let line = |line: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        Some((words.next()?, words.collect()))
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(line).collect()
}

const AROUND: Around = Around {
    link: |said| format!("https://example.org/#{}", encode(&said.scenario)),
    date: |ms| format!("{ms} ms after 1970"),
};

/// The state of the page as it opens.
fn first(answers: &Answers) -> Ui {
    let open = ledger::opened_at_start(&answers.estimate).into_iter().collect();
    Ui { opened: Opened { open, ..Opened::default() }, ..Ui::default() }
}

/// One of the other states.
fn state(name: &str, said: &UndoStep, answers: &Answers) -> Ui {
    let ui = first(answers);
    match name {
        "opened" => opened(ui),
        "typed" => typed(ui, said),
        "told" => told(ui, said),
        "fixes" => {
            let look = ChartsLook {
                log_axis: false,
                at_step: true,
                bar_width: 340,
                plot_size: (320, 240),
                axis: Axis::Gpus,
                ..ChartsLook::default()
            };
            Ui { look, ..ui }
        }
        "share" => {
            let dialogs =
                Dialogs { dialog: Some(Dialog::Share), copied: Some(true), ..Dialogs::default() };
            Ui { dialogs, steps: (true, true), ..ui }
        }
        "save" => {
            Ui { dialogs: Dialogs { dialog: Some(Dialog::Save), ..Dialogs::default() }, ..ui }
        }
        "paste" => {
            let found = Some(PastedModel { before: "v1".to_owned(), link: "v1&m=gpt2".to_owned() });
            let pasted = PasteState { outcome: slot::fetching(), found, as_generic: false };
            Ui { dialogs: Dialogs { dialog: Some(Dialog::Paste), pasted, copied: None }, ..ui }
        }
        other => panic!("{other}"),
    }
}

/// A state in which everything that can unfold is open.
fn opened(mut ui: Ui) -> Ui {
    let kinds = [
        "Weights",
        "Gradients",
        "Optimizer states",
        "Activations",
        "KV cache",
        "Temporary",
        "Framework",
    ];
    ui.opened.open.extend(kinds.map(|kind| format!("ledger/{kind}")));
    ui.opened.open.extend((0..8).map(|fold| format!("fold-{fold}")));
    ui.look.lines = Lines { division: true, best: true };
    ui.view = View::Teach;
    ui.opened.open.extend(fields().iter().map(|field| format!("help-{}", field.key)));
    ui.opened.open.extend(
        [
            "twin-seq",
            "twin-gpus",
            "why/total",
            "why/peak",
            "why/margin",
            "why/gpus/runnable",
            "plan",
        ]
        .map(str::to_owned),
    );
    ui.cursors = [Some(2), Some(1)];
    ui
}

/// A state with unreadable texts in fields, an open list, messages, and saved scenarios.
fn typed(mut ui: Ui, said: &UndoStep) -> Ui {
    let unread = |field| Unread {
        field,
        text: "4 <k>".to_owned(),
        message: "“4 <k>” is no number.".to_owned(),
    };
    ui.drafts.unread =
        [FieldId::SeqLength, FieldId::Gpus, FieldId::PricePerHour].map(unread).to_vec();
    ui.opened.shut = vec!["fold-0".to_owned()];
    ui.drafts.picker =
        Some(Picker::search(field(FieldId::Model), "llama".to_owned(), &said.scenario));
    let notice = |id, warning| Notice { id, text: format!("Message & <{id}>"), warning };
    ui.messages.notices = vec![notice(1, true), notice(2, false)];
    let record = |id: &str, name: &str| SavedScenario {
        id: id.to_owned(),
        name: name.to_owned(),
        saved_at_ms: 7,
        revision: 1,
        link: "v1".to_owned(),
    };
    let scenarios = vec![record("a1", "<First's>"), record("b2", "Second")];
    ui.messages.toast =
        Some(Toast { text: "Deleted".to_owned(), back: scenarios.first().cloned(), id: 3 });
    ui.saved.saved = Saved { scenarios, set_aside: 1, available: true };
    ui.saved.renaming = Some("b2".to_owned());
    ui.steps = (true, false);
    ui
}

/// A state in which the worker has sent the best layouts and the allocator's answers.
fn told(mut ui: Ui, said: &UndoStep) -> Ui {
    let link = encode(&said.scenario);
    let clock = clock();
    let mut stairway = Stairway::of(&request(What::Stairs, &link, ""));
    let reply = std::iter::repeat_with(|| stairway.slice(&clock)).flatten().next().unwrap();
    ui.found.stairs = Some(Arc::new(Stairs::read(said.scenario.clone(), &reply.html)));
    let limits = ask(What::Limits, &link, "").html;
    ui.found.hear_limits(said.scenario.clone(), limits.split(MARK).next().unwrap());
    ui
}

fn clock() -> impl Fn() -> f64 {
    let ticks = Cell::new(0.0);
    move || {
        ticks.set(ticks.get() + 8.0);
        ticks.get()
    }
}

fn request(what: What, link: &str, text: &str) -> Request {
    Request {
        number: 7,
        unit: MemoryUnit::Gib,
        fragment: link.to_owned(),
        question: WorkerQuestion::read(what, text).expect("a question"),
    }
}

fn ask(what: What, link: &str, text: &str) -> Reply {
    answer(&request(what, link, text))
}

/// The word in `links.txt` that a link's explanations are recorded, too. They are long, so only
/// some links have it.
const EXPLAINED: &str = "explained";

/// The page's parts for a link, and the worker's panels beside them.
fn of_link(net: &mut Net, link: &str, states: &[String]) {
    let decoded = decode(link);
    let said = UndoStep { scenario: decoded.scenario, compare: decoded.compare };
    let answers = Answers::of(&said, None).0;
    let explained = of_parts(net, link, "first", &said, &answers, &first(&answers));
    let line = format!("printed-link {link}");
    net.insert(line, printed::printed_link(&(AROUND.link)(&said), "today").as_str().to_owned());
    for name in states.iter().filter(|name| *name != EXPLAINED) {
        of_parts(net, link, name, &said, &answers, &state(name, &said, &answers));
    }
    let fragment = &encode(&said.scenario);
    let panels = [
        ("methods", What::Methods),
        ("evidence", What::Evidence),
        ("timeline", What::Timeline),
        ("device", What::Device),
        ("limits", What::Limits),
    ];
    for (name, what) in panels {
        net.insert(format!("worker-{name} {link}"), ask(what, fragment, "").html);
    }
    net.insert(
        format!("worker-menu {link}"),
        ask(What::Export, fragment, "menu\n\n\n0\nfalse\n0").html,
    );
    if states.iter().any(|name| name == EXPLAINED) {
        net.insert(format!("worker-explain {link}"), ask(What::Explain, fragment, &explained).html);
    }
}

/// Records every part in one state of the page; returns the paths of the figures that can be
/// explained.
fn of_parts(
    net: &mut Net,
    link: &str,
    name: &str,
    said: &UndoStep,
    answers: &Answers,
    ui: &Ui,
) -> String {
    let plots = Plots::of(answers, ui.look.of_curves(), &ui.found, None).0;
    let seen = SeenPage { now: Now::of(said, answers, ui), reads: &|_| (), around: &AROUND };
    let mut paths = BTreeSet::new();
    for part in parts::all() {
        let html = part.html(&seen, || &plots);
        let button = format!("data-do=\"open:{}", explaining::WHY);
        let why = html.as_str().split(button.as_str()).skip(1);
        paths.extend(why.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
        net.insert(format!("{} {link} {name}", part.name), html.as_str().to_owned());
    }
    paths.into_iter().collect::<Vec<_>>().join("\n")
}

/// Panels that depend on more than a link: pasting, teaching and planning.
fn of_questions(net: &mut Net, every: usize) {
    net.insert("worker-accuracy".to_owned(), ask(What::Accuracy, "v1", "").html);
    let own: [(&str, Html); 4] = [
        ("out-of-reach", slot::out_of_reach()),
        ("unanswered", unanswered::line()),
        ("code-none", teach::code(None)),
        ("code-large", teach::code(Some("https://example.org/#v1"))),
    ];
    net.extend(own.map(|(name, html)| (name.to_owned(), html.as_str().to_owned())));
    net.insert("code-long".to_owned(), teach::code(Some(&"a".repeat(4000))).as_str().to_owned());
    of_pasted(net);
    of_planner(net, every);
    of_teaching(net, every);
}

fn of_pasted(net: &mut Net) {
    let texts = [
        ("nothing", String::new()),
        ("script", "<script>alert('1')</script>".to_owned()),
        ("unknown", "{\"model_type\": \"<img src=x>\"}".to_owned()),
        (
            "generic",
            format!(
                "as-generic{MARK}{{\"model_type\": \"new\", \"hidden_size\": 64, \
                 \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"vocab_size\": 99}}"
            ),
        ),
        (
            "message",
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.".to_owned(),
        ),
        ("files", format!("files{MARK}a.gguf{MARK}AAAA")),
    ];
    let mut all: Vec<(String, String)> =
        texts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
    let files = |folder: &str, every: usize| {
        let mut paths: Vec<_> =
            fs::read_dir(data(folder)).unwrap().flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let named = |path: &PathBuf| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(path))
        };
        paths
            .iter()
            .filter(|path| path.is_file())
            .step_by(every)
            .map(named)
            .filter_map(|(name, text)| Some((name, text.ok()?)))
            .collect::<Vec<_>>()
    };
    all.extend(files("configs", 3));
    all.extend(files("oom", 9));
    for (name, text) in all {
        for link in ["v1&m=gpt2&n=1", "v1&do=serve&m=llama3-8b&n=1&name=Mine"] {
            net.insert(format!("paste {name} {link}"), ask(What::Paste, link, &text).html);
        }
    }
    let packed =
        decompress_to_vec_zlib(&fs::read(data("cuda/snapshots/llama-4-layers.pickle.zz")).unwrap())
            .unwrap();
    let text = format!(
        "snapshot{MARK}{}",
        base64::Engine::encode(&base64::engine::general_purpose::STANDARD, packed)
    );
    net.insert("paste snapshot".to_owned(), ask(What::Paste, "v1&m=llama3-8b&l=4&n=1", &text).html);
}

fn of_planner(net: &mut Net, every: usize) {
    let forms = [
        "show",
        "search\nq=at\nwhy=<b>\nkind=memory",
        "search\nq=counts\nn-counts=8\ndays=100\nmore-offload=on",
        "search\nq=family\nn-family=2",
        "search\nq=fewest\nn-fewest=4\nacc-h100-80=on\nacc-t4=on",
        "search\nq=at\nn-at=<i>",
    ];
    let links = [
        "v1&m=gpt2&n=4&gb=8&tok=1e9&price=2",
        "v1&m=llama3-8b&n=2&pk=",
        "v1&do=serve&m=llama3-8b&n=1",
    ];
    let clock = clock();
    for (link, form) in
        links.into_iter().step_by(every).flat_map(|link| forms.map(|form| (link, form)))
    {
        let mut desk = Desk::default();
        desk.hear(&request(What::Plan, link, &format!("{form}\n")));
        net.insert(format!("plan {link} {form:?} begun"), Reply::read(&desk.reply()).unwrap().html);
        while desk.is_running() {
            desk.slice(&clock);
        }
        net.insert(format!("plan {link} {form:?} ended"), Reply::read(&desk.reply()).unwrap().html);
    }
}

/// The number of buttons pressed in the panel of stories.
const MOST_VERBS: usize = 120;

/// The panel of stories after each button of the list, and after the buttons found there, up to
/// `MOST_VERBS`.
fn of_teaching(net: &mut Net, every: usize) {
    let link = "v1&m=llama3-8b&n=8";
    let mut records = String::new();
    let mut seen = BTreeSet::new();
    let mut waiting = vec![
        "show".to_owned(),
        "new".to_owned(),
        "predict".to_owned(),
        "reveal".to_owned(),
        "import".to_owned(),
    ];
    waiting.push("sheet".to_owned());
    let form =
        "figure=per-gpu\nanswer=40 GB\nclass=algebra\nstudent=ada\nfile={}\ntask-1=4\nanswer-1=4";
    while let Some(verb) = waiting.pop() {
        if seen.len() > MOST_VERBS / every || !seen.insert(verb.clone()) {
            continue;
        }
        let html =
            ask(What::Teach, link, &format!("{verb}\nhttps://example.org/\n{form}{records}")).html;
        if let Some(stored) =
            html.lines().find_map(|line| line.strip_prefix("store ")).filter(|_| records.is_empty())
        {
            let stored = stored.split(MARK).next().unwrap_or_default();
            let (id, file) = stored.split_once(' ').unwrap();
            records = format!("{MARK}story:{id}\n{file}");
            waiting.push("view:list".to_owned());
        }
        for attribute in ["data-do=\"teach:", "data-teach=\""] {
            waiting.extend(
                html.split(attribute)
                    .skip(1)
                    .filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())),
            );
        }
        if let Some(id) =
            html.split("data-do=\"present:").nth(1).and_then(|rest| Some(rest.split_once('"')?.0))
        {
            let story =
                ask(What::Story, link, &format!("{id}\nhttps://example.org/\n{form}{records}"))
                    .html;
            net.insert(format!("story {id}"), story);
        }
        net.insert(format!("teach {verb}"), html);
    }
    for id in ["zero", "packed", "none"] {
        net.insert(
            format!("story {id}"),
            ask(What::Story, link, &format!("{id}\nhttps://example.org/\n{form}")).html,
        );
    }
    for answer in ["40 GB", "nonsense", ""] {
        let text = format!("answer\n\nfigure=per-gpu\nanswer={answer}");
        net.insert(format!("story answer {answer}"), ask(What::Story, link, &text).html);
    }
    for figure in ["per-gpu", "none"] {
        net.insert(format!("figure {figure}"), ask(What::Figure, link, figure).html);
    }
}

/// The present HTML of all parts; one link in `every` is taken.
fn now(every: usize) -> Net {
    let mut net = Net::new();
    for (link, states) in links().into_iter().step_by(every) {
        of_link(&mut net, &link, &states);
    }
    of_questions(&mut net, every);
    net
}

/// Rewrites spellings that a browser reads alike into one: an apostrophe, the end of an empty
/// element, and a non-breaking space.
fn same_for_a_browser(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    for (at, piece) in html.split("/>").enumerate() {
        if at > 0 {
            let tag = out.rsplit('<').next().unwrap_or_default();
            let name: String = tag.chars().take_while(|letter| letter.is_alphanumeric()).collect();
            out = out.trim_end().to_owned();
            out.push('>');
            if !["input", "br", "hr", "img", "wbr"].contains(&name.as_str()) {
                out.extend(["</", &name, ">"]);
            }
        }
        out.push_str(piece);
    }
    out.replace("&#39;", "'").replace("&nbsp;", "\u{a0}")
}

/// The HTML without figures and charts: digits become 0, and the inside of large drawings is
/// removed.
fn without_figures(html: &str) -> String {
    let html = same_for_a_browser(html);
    let mut out = String::with_capacity(html.len());
    for (at, piece) in html.split("<svg").enumerate() {
        let drawn = piece
            .find('>')
            .zip(piece.find("</svg>"))
            .filter(|(open, close)| at > 0 && close - open > LARGEST_SIGN);
        let kept = drawn.map_or_else(
            || piece.to_owned(),
            |(open, close)| format!("{}{}", &piece[..=open], &piece[close..]),
        );
        let digits = kept.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter });
        if at > 0 {
            out.push_str("<svg");
        }
        for letter in digits {
            if letter != '0' || !out.ends_with('0') {
                out.push(letter);
            }
        }
    }
    out
}

/// The longest drawing that counts as a sign; longer ones are charts, which have tests of their
/// own.
const LARGEST_SIGN: usize = 400;

/// The file of the recording in git. It holds each different text once, and for each name the
/// number of its text.
fn kept() -> PathBuf {
    data("net/parts.json.zz")
}

/// The file of the recording with figures, outside git, for the time of one change.
fn whole() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("net.json.zz")
}

fn read(file: &Path) -> Net {
    let text = decompress_to_vec_zlib(&fs::read(file).expect("recorded before")).unwrap();
    let (texts, names): (Vec<String>, BTreeMap<String, usize>) =
        serde_json::from_slice(&text).unwrap();
    names.into_iter().map(|(name, at)| (name, texts[at].clone())).collect()
}

fn write(file: &Path, net: &Net) {
    let mut texts: Vec<&str> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, html) in net {
        let at = *known.entry(html).or_insert_with(|| {
            texts.push(html);
            texts.len() - 1
        });
        names.insert(name, at);
    }
    let text = serde_json::to_vec(&(texts, names)).unwrap();
    fs::write(file, compress_to_vec_zlib(&text, 9)).unwrap();
}

/// The beginning of the first difference.
fn difference(was: &str, is: &str) -> String {
    let same = was.bytes().zip(is.bytes()).take_while(|(was, is)| was == is).count();
    let from = |text: &str| {
        let start = text.floor_char_boundary(same.saturating_sub(60));
        let end = text.ceil_char_boundary((same + 140).min(text.len()));
        text[start.min(text.len())..end].to_owned()
    };
    format!("  was {}\n  is  {}", from(was), from(is))
}

fn compare(was: &Net, is: &Net) {
    let (mut wrong, mut count): (BTreeMap<&str, String>, usize) = (BTreeMap::new(), 0);
    for (name, html) in is {
        let before = was.get(name);
        if before != Some(html) {
            count += 1;
            let part = name.split(' ').next().unwrap_or_default();
            wrong.entry(part).or_insert_with(|| {
                format!("{name}\n{}", difference(before.map_or("", String::as_str), html))
            });
        }
    }
    let said: Vec<String> = wrong.into_values().collect();
    assert_eq!(count, 0, "of {}:\n{}", is.len(), said.join("\n"));
}

fn seen(net: Net, seen: fn(&str) -> String) -> Net {
    net.into_iter().map(|(name, html)| (name, seen(&html))).collect()
}

/// A few of the links in a debug build, all in a release build.
#[test]
fn every_part_writes_the_markup_that_was_recorded() {
    let every = if cfg!(debug_assertions) { 8 } else { 1 };
    compare(&read(&kept()), &seen(now(every), without_figures));
}

#[test]
#[ignore = "it compares with what `record_figures` wrote before a change"]
fn every_figure_too() {
    compare(&seen(read(&whole()), same_for_a_browser), &seen(now(1), same_for_a_browser));
}

#[test]
#[ignore = "it writes what the others compare with"]
fn record() {
    write(&kept(), &seen(now(1), without_figures));
}

#[test]
#[ignore = "it writes what `every_figure_too` compares with"]
fn record_figures() {
    write(&whole(), &now(1));
}
