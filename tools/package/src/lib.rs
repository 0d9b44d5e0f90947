//! The engine for other programs, as WebAssembly: notebooks, pages about models and checks before a
//! run ask it what the page is asked.
//!
//! `cargo xtask build --package` makes `dist-package/` of it, which `npm pack` packs: for browsers,
//! bundlers and Node, with types.

use headroom::launch::{Format, Pasted, write};
use headroom::scenario::Scenario;
use headroom::view::anything::{self, answer, understood};
use serde_json::{Value, json};

/// The answer to a text, as JSON: a link, a command or file of another tool, or a `config.json`.
/// `onto` is a link that says which accelerator and model count where the text names none; it may
/// be empty.
///
/// # Errors
/// Sentences with a way out, one a line.
pub fn estimate_as_json(text: &str, onto: &str) -> Result<Value, String> {
    let present = scenario_of(onto)?;
    let read = understood(&[Pasted { name: "", text }], &present).and_then(|read| answer(&read));
    read.map_err(|sentences| sentences.join("\n"))
}

/// A link's scenario as a command or file of a tool.
///
/// # Errors
/// A sentence, where the link or the tool is not known.
pub fn written(link: &str, tool: &str) -> Result<String, String> {
    let scenario = scenario_of(link)?;
    let keys = || Format::writable().map(|format| format.key).collect::<Vec<_>>().join(", ");
    let format = Format::writable()
        .find(|format| format.key == tool)
        .ok_or_else(|| format!("There is no tool `{tool}`: there are {}.", keys()))?;
    Ok(write(&scenario, format).text)
}

/// The tools whose commands and files are read, as JSON.
pub fn tools() -> Value {
    let tool = |format: Format| json!({ "key": format.key, "label": format.label, "version": format.version, "written": format.write.is_some() });
    Format::ALL.into_iter().map(tool).collect()
}

fn scenario_of(link: &str) -> Result<Scenario, String> {
    if link.is_empty() {
        Ok(Scenario::default())
    } else {
        anything::scenario_of(link).map_err(|sentences| sentences.join("\n"))
    }
}

/// The face that JavaScript sees.
#[cfg(target_arch = "wasm32")]
mod face {
    use js_sys::{Error, JSON};
    use serde_json::Value;
    use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

    /// Types of the values that [`estimate`] returns; [`Value`] has none.
    #[wasm_bindgen(typescript_custom_section)]
    const TYPES: &str = include_str!("types.d.ts");

    fn object(value: &Value) -> Result<JsValue, JsValue> {
        JSON::parse(&value.to_string())
    }

    fn thrown(sentence: &str) -> JsValue {
        Error::new(sentence).into()
    }

    /// The answer to a link, a command or file of another tool, or a `config.json`. Throws an
    /// `Error` with one sentence a line.
    #[wasm_bindgen(unchecked_return_type = "Answer")]
    pub fn estimate(text: &str, onto: Option<String>) -> Result<JsValue, JsValue> {
        super::estimate_as_json(text, &onto.unwrap_or_default())
            .map_err(|sentence| thrown(&sentence))
            .and_then(|value| object(&value))
    }

    /// A link's scenario as a command or file of a tool. Throws an `Error`.
    #[wasm_bindgen]
    pub fn write(link: &str, tool: &str) -> Result<String, JsValue> {
        super::written(link, tool).map_err(|sentence| thrown(&sentence))
    }

    /// The tools whose commands and files are read.
    #[wasm_bindgen(unchecked_return_type = "Tool[]")]
    pub fn tools() -> Result<JsValue, JsValue> {
        object(&super::tools())
    }
}

#[cfg(test)]
mod tests {
    use super::{estimate_as_json, tools, written};

    #[test]
    fn a_command_has_an_answer_with_its_sources() {
        let answer = estimate_as_json("vllm serve Qwen/Qwen2.5-7B-Instruct", "v2&gpu=a100-80")
            .expect("an answer");
        assert_eq!(answer["format"], "vllm");
        assert!(
            answer["answer"]["accelerator"].as_str().is_some_and(|name| name.starts_with("A100"))
        );
        let line = &answer["answer"]["ledger"][0];
        assert!(line["source"].is_string() && line["certainty"].is_string(), "{line}");
    }

    #[test]
    fn what_is_not_known_is_a_sentence() {
        let sentence = estimate_as_json("good morning", "").expect_err("no scenario");
        assert!(sentence.contains("begin with the program"), "{sentence}");
        assert!(written("v2", "abacus").expect_err("no tool").contains("vllm"));
        assert!(tools().as_array().is_some_and(|tools| !tools.is_empty()));
    }
}
