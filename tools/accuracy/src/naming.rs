//! A row in words, and where its figures were published: a reader knows no ids.

use super::pretend;
use super::row::Fields;

/// How a row is called, and where it comes from.
pub struct Named {
    /// The model, and the hardware it ran on.
    pub words: String,
    /// The source in words.
    pub source: String,
    /// Its address, where the source names one.
    pub address: Option<String>,
}

/// The name and source of a row.
pub fn named(row: Fields<'_>) -> Named {
    if let Ok(question) = row.text("/question") {
        let source = row.text("/source").unwrap_or_default();
        let page = source.strip_prefix("https://").map(|page| page.split('#').next().unwrap_or(page).to_owned());
        return Named {
            words: question.to_owned(),
            address: page.is_some().then(|| source.to_owned()),
            source: page.unwrap_or_else(|| in_words(source)),
        };
    }
    let stated = row.text("/source").ok();
    let source = stated.map_or_else(|| counted_by(row).to_owned(), in_words);
    Named { words: words(row), source, address: stated.and_then(address) }
}

/// Rows without a source were counted on real models by scripts that stand beside them.
fn counted_by(row: Fields<'_>) -> &'static str {
    if row.is_absent("/run") {
        "counted on transformers' models, tests/data/README.md"
    } else if pretend::is_pretended(row) {
        "PyTorch's CUDA allocator, tests/data/cuda/README.md"
    } else {
        "PyTorch's memory tracker, tests/data/README.md"
    }
}

fn words(row: Fields<'_>) -> String {
    let text = |pointer: &str| row.text(pointer).unwrap_or_default();
    let model = || text("/model").replace('_', " ");
    match row.text("/family") {
        Ok("megatron_golden") => {
            let test = text("/model").rsplit('/').next().unwrap_or_default();
            let gpu = text("/platform").trim_start_matches("dgx_").to_uppercase();
            return format!("Megatron-LM's test {test}, {gpu}");
        }
        Ok("megatron_bridge") => return of_bridge(row, &model()),
        Ok("llm_foundry") => return format!("llm-foundry: {}, {}", model(), on_gpus(row)),
        Ok("sc21") => return format!("Narayanan et al. 2021: GPT of {} billion, {}", number(row, "/params_b"), on_gpus(row)),
        Ok("korthikanti") => return format!("Korthikanti et al. 2022: {}", joined(&[&model(), text("/experiment")])),
        _ => {}
    }
    if !row.is_absent("/measured_peak_allocated_gib") {
        return format!("SimuMax's run of Megatron-LM: {}, {}", model(), of_degrees(row));
    }
    if !row.is_absent("/parameter_and_optimizer_gib") {
        return format!("Korthikanti et al. 2022: {}", model());
    }
    if pretend::is_pretended(row) {
        let (recompute, precision) = (text("/run/recompute"), text("/run/precision"));
        let recompute = if recompute == "none" { "nothing recomputed".to_owned() } else { format!("{recompute} recomputation") };
        return format!("{}: {}, {}, {}", pretend::framework(row), model(), precision.replace('_', " "), recompute);
    }
    if !row.is_absent("/run") {
        let (kind, precision) = (text("/kind"), text("/run/precision"));
        return format!("PyTorch's memory tracker: {}, {}", of_config(row), joined(&[kind, precision]));
    }
    let quantised = joined(&[&model(), text("/name"), text("/quant"), text("/gpu")]);
    if quantised.is_empty() { of_config(row) } else { quantised }
}

fn of_bridge(row: Fields<'_>, model: &str) -> String {
    let raw = |key: &str| row.text(&format!("/raw/{key}")).unwrap_or("?");
    let release = row.text("/release").unwrap_or_default().trim_end_matches(" NeMo Container");
    let gpu = raw("System").trim_start_matches("DGX-");
    format!("Megatron-Bridge {release}: {model}, {} × {gpu}, {}, batch {}", raw("#-GPUs"), raw("Precision"), raw("GBS"))
}

fn on_gpus(row: Fields<'_>) -> String {
    let gpu = row.text("/gpu").unwrap_or_default().replace('_', " ").to_uppercase();
    format!("{} × {gpu}, {} tokens", number(row, "/gpus"), number(row, "/seq_len"))
}

/// The layout of a run: `TP 2 PP 1`.
fn of_degrees(row: Fields<'_>) -> String {
    let degree = |name: &str, key: &str| row.count(&format!("/{key}_parallel_size")).ok().map(|size| format!("{name} {size}"));
    let degrees = [("TP", "tensor_model"), ("PP", "pipeline_model"), ("CP", "context"), ("EP", "expert_model")];
    degrees.iter().filter_map(|(name, key)| degree(name, key)).collect::<Vec<_>>().join(" ")
}

fn of_config(row: Fields<'_>) -> String {
    let kind = row.text("/model").or_else(|_| row.text("/config/model_type")).unwrap_or("a model");
    match row.count("/config/num_hidden_layers") {
        Ok(layers) => format!("{kind}, {layers} layers"),
        Err(_) => kind.to_owned(),
    }
}

fn number(row: Fields<'_>, pointer: &str) -> String {
    row.number(pointer).map_or_else(|_| "?".to_owned(), |number| number.to_string())
}

/// The texts that say something, with commas.
fn joined(texts: &[&str]) -> String {
    texts.iter().copied().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ")
}

/// A file in a repository on GitHub.
struct File<'a> {
    repository: &'a str,
    commit: &'a str,
    path: &'a str,
    /// Its first and last line, `75` or `33-40`.
    lines: Option<&'a str>,
}

/// Reads `github OWNER/NAME @COMMIT PATH line 75` and `OWNER/NAME PATH @COMMIT: …`.
fn file(source: &str) -> Option<File<'_>> {
    let mut rest = source.strip_prefix("github ").unwrap_or(source).split_whitespace();
    let repository = rest.next().filter(|name| name.split('/').count() == 2 && !name.contains(['.', ':', '#']))?;
    let (first, second) = (rest.next()?, rest.next()?);
    let (commit, path) = match (first.strip_prefix('@'), second.strip_prefix('@')) {
        (Some(commit), None) => (commit, second),
        (None, Some(commit)) => (commit.trim_end_matches(':'), first),
        _ => return None,
    };
    let is_commit = commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    let lines = rest.next().filter(|word| matches!(*word, "line" | "lines")).and_then(|_| rest.next());
    (is_commit && path.contains('.')).then_some(File {
        repository,
        commit,
        path,
        lines: lines.map(|it| it.trim_end_matches(',')),
    })
}

/// The address that a source names: a file at its commit, a paper, a discussion, a page.
fn address(source: &str) -> Option<String> {
    if let Some(File { repository, commit, path, lines }) = file(source) {
        // A table in Markdown has line numbers only where it is shown as text.
        let lines = lines.map(|lines| format!("?plain=1#L{}", lines.replace('-', "-L")));
        return Some(format!("https://github.com/{repository}/blob/{commit}/{path}{}", lines.unwrap_or_default()));
    }
    if let Some((_, number)) = source.split_once("arXiv:") {
        let number: String = number.chars().take_while(|it| it.is_ascii_digit() || *it == '.').collect();
        return Some(format!("https://arxiv.org/abs/{}", number.trim_end_matches('.')));
    }
    source.split_whitespace().find(|word| word.starts_with("huggingface.co/")).map(|page| format!("https://{page}"))
}

/// A source in the words that its link shows.
fn in_words(source: &str) -> String {
    let Some(File { repository, path, lines, .. }) = file(source) else { return source.to_owned() };
    let name = path.rsplit('/').next().unwrap_or(path);
    lines.map_or_else(|| format!("{repository}, {name}"), |lines| format!("{repository}, {name}, line {lines}"))
}

#[cfg(test)]
mod tests {
    use super::{Fields, address, in_words, named};
    use serde_json::json;

    #[test]
    fn a_file_is_linked_at_its_commit_and_line() {
        let golden =
            "github NVIDIA/Megatron-LM @d98e8a64ddf34856e74b24714e3bedb2f5a39553 tests/a/golden_values.json + model_config.yaml";
        let at = "https://github.com/NVIDIA/Megatron-LM/blob/d98e8a64ddf34856e74b24714e3bedb2f5a39553/tests/a/golden_values.json";
        assert_eq!(address(golden).as_deref(), Some(at));
        assert_eq!(in_words(golden), "NVIDIA/Megatron-LM, golden_values.json");
        let table = "github NVIDIA-NeMo/Megatron-Bridge @067f987df03b docs/performance-summary.md line 45";
        let at = "https://github.com/NVIDIA-NeMo/Megatron-Bridge/blob/067f987df03b/docs/performance-summary.md?plain=1#L45";
        assert_eq!(address(table).as_deref(), Some(at));
        let notes = "MooreThreads/SimuMax docs/b200/summary.md @4dcaae5: Megatron-LM 23e00ed, 8 x B200";
        assert_eq!(address(notes).as_deref(), Some("https://github.com/MooreThreads/SimuMax/blob/4dcaae5/docs/b200/summary.md"));
    }

    #[test]
    fn a_paper_is_linked_and_what_names_no_address_is_said_in_words() {
        let paper = "Megatron-LM SC21 arXiv:2104.04473 Table 1";
        assert_eq!(address(paper).as_deref(), Some("https://arxiv.org/abs/2104.04473"));
        assert_eq!(in_words(paper), paper);
        for words in ["same", "a transcription in a public repository, a curated dataset script", "SC21 paper worked example"] {
            assert_eq!(address(words), None, "{words}");
        }
    }

    #[test]
    fn a_test_is_called_by_its_name_and_gpu() {
        let row =
            json!({ "family": "megatron_golden", "model": "gpt/gpt3_mcore_te_tp2_pp2", "platform": "dgx_a100", "id": "tm0001" });
        assert_eq!(named(Fields(&row)).words, "Megatron-LM's test gpt3_mcore_te_tp2_pp2, A100");
    }
}
