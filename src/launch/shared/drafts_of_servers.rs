//! The flags about speculative decoding of each server (`vllm/config/speculative.py` of vLLM
//! 0.33.0; `server_args.py` of `SGLang` 0.5.23; `tools/server/README.md` of llama.cpp;
//! `llm_args.py` of TensorRT-LLM 1.2).

use serde_json::Value as Json;

use super::drafts::{self, EAGLE, EAGLE3, MODEL, MTP};
use super::whole;
use crate::launch::shared::weights::GgufName;
use crate::launch::{Given, LaunchError, Reading, Writing};
use crate::scenario::{FieldId, Value};

/// Ways of proposing that are not modelled.
const OTHERWISE: &str = "Tokens proposed in this way are not modelled.";
/// Settings of a draft that are not modelled.
const OF_A_DRAFT: &str = "This changes the draft's memory or time in a way that is not modelled.";

/// vLLM's word for a way of proposing.
fn vllm_method(word: &str) -> Option<&'static str> {
    match word {
        "draft_model" => Some(MODEL),
        "eagle" => Some(EAGLE),
        "eagle3" => Some(EAGLE3),
        _ => (word == MTP || word.ends_with("_mtp")).then_some(MTP),
    }
}

/// vLLM's settings: keys of the object, and flags by themselves, some of them of older versions.
fn vllm_settings(reading: &Reading<'_>) -> Vec<Given> {
    let mut settings = Vec::new();
    let objects = ["speculative-config", "speculative_config", "sc"];
    for given in objects.iter().flat_map(|name| reading.beginning_with(name)) {
        if !objects.contains(&given.key.as_str()) {
            continue;
        }
        let object = match &given.value {
            Json::Object(object) => Some(object.clone()),
            _ => serde_json::from_str(&given.text()).ok(),
        };
        match object {
            Some(object) => settings.extend(object.into_iter().map(|(key, value)| {
                Given::new(format!("speculative-config.{key}"), value, given.place)
            })),
            None => settings.push(given),
        }
    }
    for (names, key) in [
        (&["spec-method"][..], "method"),
        (&["spec-model", "speculative-model"], "model"),
        (&["spec-tokens", "num-speculative-tokens"], "num_speculative_tokens"),
    ] {
        settings.extend(
            reading
                .stated(names)
                .map(|given| Given { key: format!("speculative-config.{key}"), ..given.clone() }),
        );
    }
    settings
}

/// Reads vLLM's settings.
///
/// # Errors
/// [`LaunchError`] where a number is none.
pub fn read_vllm(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let settings = vllm_settings(reading);
    let of = |key: &str| {
        let name = format!("speculative-config.{key}");
        settings.iter().find(|given| given.key == name)
    };
    let (way, model) = (of("method"), of("model"));
    let method = match (way, model) {
        (Some(way), _) => vllm_method(&way.text()),
        (None, Some(model)) => Some(drafts::of_name(&model.text())),
        (None, None) => None,
    };
    for given in &settings {
        match (given.key.rsplit('.').next().unwrap_or_default(), method) {
            ("method", Some(method)) => drafts::method(reading, given, method),
            ("model", Some(method)) => {
                if way.is_none() {
                    let why = "vLLM tells the way of proposing by the model.";
                    reading.derive(given, FieldId::Drafts, Value::Choice(method), why);
                }
                drafts::model(reading, given, method);
            }
            ("num_speculative_tokens", Some(_)) => {
                drafts::tokens(reading, given).map_err(|why| given.wrong(why))?;
            }
            ("draft_tensor_parallel_size", Some(_))
                if given.whole().ok()
                    == Some(whole(&reading.scenario, FieldId::TensorParallel)) =>
            {
                let note = "The draft is split as the model is.".to_owned();
                reading.tell(given, crate::launch::Way::Read, note);
            }
            (_, Some(_)) => reading.not_modelled(given, OF_A_DRAFT),
            (_, None) => reading.not_modelled(given, OTHERWISE),
        }
    }
    if method.is_some() && of("num_speculative_tokens").is_none() {
        let why = "Most models have one layer that predicts a further token.";
        reading.follows("num_speculative_tokens", FieldId::DraftTokens, Value::Integer(1), why);
    }
    Ok(())
}

/// Writes vLLM's object.
pub fn write_vllm(writing: &mut Writing<'_>) {
    let Some((method, name, tokens)) = drafts::written(writing) else { return };
    let word = if method == MODEL { "draft_model" } else { method };
    let mut object = serde_json::Map::new();
    object.insert("method".to_owned(), word.into());
    object.extend(name.map(|name| ("model".to_owned(), name.into())));
    object.insert("num_speculative_tokens".to_owned(), tokens.into());
    writing.say("speculative-config", Some(Json::Object(object).to_string()), &[]);
}

/// Reads `SGLang`'s flags.
///
/// # Errors
/// [`LaunchError`] where a number is none.
pub fn read_sglang(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let of = |reading: &Reading<'_>, names: &[&str]| {
        reading.stated(names).filter(|given| !given.is_unknown()).cloned()
    };
    let path = of(reading, &["speculative-draft-model-path", "speculative-draft-model"]);
    let steps = of(reading, &["speculative-num-steps"]);
    let wide = of(reading, &["speculative-eagle-topk"]);
    let checked = of(reading, &["speculative-num-draft-tokens"]);
    let Some(given) = of(reading, &["speculative-algorithm"]) else { return Ok(()) };
    // A model with a layer of its own is its own draft where no other is named.
    let method = match given.text().to_ascii_uppercase().as_str() {
        "EAGLE" if path.is_none() => Some(MTP),
        "NEXTN" => Some(MTP),
        "EAGLE" => Some(EAGLE),
        "EAGLE3" => Some(EAGLE3),
        "STANDALONE" => Some(MODEL),
        _ => None,
    };
    let Some(method) = method else {
        for given in [Some(given), path, steps, wide, checked].into_iter().flatten() {
            reading.not_modelled(&given, OTHERWISE);
        }
        return Ok(());
    };
    drafts::method(reading, &given, method);
    if let Some(path) = path {
        drafts::model(reading, &path, method);
    }
    if let Some(steps) = &steps {
        drafts::tokens(reading, steps).map_err(|why| steps.wrong(why))?;
    } else {
        let why = "SGLang chooses by the model: 3 where it has a layer of its own, else 5.";
        let tokens = Value::Integer(if method == MTP { 3 } else { 5 });
        reading.follows("speculative-num-steps", FieldId::DraftTokens, tokens, why);
    }
    let is_chain = wide.as_ref().is_some_and(|wide| wide.text() == "1");
    for given in [wide, checked].into_iter().flatten() {
        if is_chain {
            reading.tell(&given, crate::launch::Way::Read, "The draft is one chain.".to_owned());
        } else {
            let why = "A tree of drafts is checked: a chain of as many steps counts.";
            reading.not_modelled(&given, why);
        }
    }
    if reading.stated(&["max-running-requests"]).is_none() {
        // “Max running requests is reset to 48 for speculative decoding.”
        reading.default("max-running-requests", FieldId::ConcurrentSequences, Value::Integer(48));
    }
    Ok(())
}

/// Writes `SGLang`'s flags.
pub fn write_sglang(writing: &mut Writing<'_>) {
    let Some((method, name, tokens)) = drafts::written(writing) else { return };
    let word = match method {
        MODEL => "STANDALONE",
        MTP => "NEXTN",
        EAGLE => "EAGLE",
        _ => "EAGLE3",
    };
    let mut say = |key, value: String| writing.say(key, Some(value), &[]);
    say("speculative-algorithm", word.to_owned());
    if let Some(name) = name {
        say("speculative-draft-model-path", name);
    }
    say("speculative-num-steps", tokens.to_string());
    say("speculative-eagle-topk", "1".to_owned());
    say("speculative-num-draft-tokens", tokens.saturating_add(1).to_string());
}

/// Reads llama.cpp's flags.
///
/// # Errors
/// [`LaunchError`] where a number is none.
pub fn read_llama_cpp(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let of = |reading: &Reading<'_>, names: &[&str]| {
        reading.stated(names).filter(|given| !given.is_unknown()).cloned()
    };
    let file = of(
        reading,
        &["md", "model-draft", "spec-draft-model", "hfd", "hfrd", "hf-repo-draft", "spec-draft-hf"],
    );
    let way = of(reading, &["spec-type"]);
    let most = of(reading, &["draft-max", "draft", "draft-n", "spec-draft-n-max"]);
    let method = match way.as_ref().map(Given::text).as_deref() {
        None if file.is_some() => Some(MODEL),
        Some("draft-simple" | "draft") => Some(MODEL),
        Some("draft-mtp") => Some(MTP),
        Some("draft-eagle3") => Some(EAGLE3),
        Some("none") | None => None,
        Some(_) => {
            for given in [way, file, most].into_iter().flatten() {
                reading.not_modelled(&given, OTHERWISE);
            }
            return Ok(());
        }
    };
    let Some(method) = method else {
        for given in [way, file, most].into_iter().flatten() {
            reading.tell(&given, crate::launch::Way::NoEffect, String::new());
        }
        return Ok(());
    };
    match (&way, &file) {
        (Some(way), _) => drafts::method(reading, way, method),
        (None, Some(file)) => {
            let why = "A draft model is named.";
            reading.derive(file, FieldId::Drafts, Value::Choice(method), why);
        }
        (None, None) => {}
    }
    if let Some(file) = &file {
        let name = GgufName::of(&file.text());
        drafts::model(reading, &Given { value: name.model.clone().into(), ..file.clone() }, method);
        if method == MODEL {
            gguf_weights(reading, file, &name);
        }
    }
    match &most {
        Some(most) => drafts::tokens(reading, most).map_err(|why| most.wrong(why))?,
        None => reading.default("spec-draft-n-max", FieldId::DraftTokens, Value::Integer(3)),
    }
    Ok(())
}

/// The types of the draft's weights, as far as its name tells: 16 bits, or the model's.
fn gguf_weights(reading: &mut Reading<'_>, file: &Given, name: &GgufName) {
    let own = reading.scenario.get(FieldId::WeightDType);
    let word = match (&name.format, &own) {
        (Some(format), _) if format == "gguf-16" => "16-bit",
        (Some(format), Value::Choice(own)) if format == own => "as-model",
        _ => {
            let why = "The draft's weights are in other types than the model's: the model's count.";
            reading.not_modelled(file, why);
            "as-model"
        }
    };
    reading.scenario.set(FieldId::DraftWeights, Value::Choice(word));
}

/// Writes llama.cpp's flags; `suffix` is that of a file in the model's types.
pub fn write_llama_cpp(writing: &mut Writing<'_>, suffix: &str) {
    let as_model = writing.scenario.get(FieldId::DraftWeights) == Value::Choice("as-model");
    let Some((method, name, tokens)) = drafts::written(writing) else { return };
    let word = match method {
        MODEL => "draft-simple",
        MTP => "draft-mtp",
        EAGLE3 => "draft-eagle3",
        // It has no such way.
        _ => return writing.lacks("llama.cpp has no drafts by EAGLE's first heads."),
    };
    if let Some(name) = name {
        let types = if as_model { suffix } else { "F16" };
        if method == MODEL {
            writing.is_said(&[FieldId::DraftWeights]);
        }
        writing.say("model-draft", Some(format!("{name}-{types}.gguf")), &[]);
    }
    writing.say("spec-type", Some(word.to_owned()), &[]);
    writing.say("spec-draft-n-max", Some(tokens.to_string()), &[]);
}

/// Reads TensorRT-LLM's object, whose keys its YAML file has.
///
/// # Errors
/// [`LaunchError`] where a number is none.
pub fn read_tensorrt_llm(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let of = |reading: &Reading<'_>, names: &[&str]| {
        let names: Vec<String> =
            names.iter().map(|name| format!("speculative_config.{name}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        reading.stated(&names).filter(|given| !given.is_unknown()).cloned()
    };
    let path = of(reading, &["speculative_model_dir", "speculative_model"]);
    let most = of(reading, &["max_draft_len", "num_nextn_predict_layers"]);
    let Some(given) = of(reading, &["decoding_type"]) else { return Ok(()) };
    let method = match given.text().to_ascii_lowercase().as_str() {
        "mtp" => MTP,
        "eagle" | "eagle3" => EAGLE3,
        "drafttarget" | "draft_target" => MODEL,
        _ => {
            for given in [Some(given), path, most].into_iter().flatten() {
                reading.not_modelled(&given, OTHERWISE);
            }
            return Ok(());
        }
    };
    drafts::method(reading, &given, method);
    if let Some(path) = path {
        drafts::model(reading, &path, method);
    }
    if let Some(most) = &most {
        drafts::tokens(reading, most).map_err(|why| most.wrong(why))
    } else {
        reading.default("max_draft_len", FieldId::DraftTokens, Value::Integer(1));
        Ok(())
    }
}

/// TensorRT-LLM's object as lines of YAML; nothing where nothing is proposed.
pub fn write_tensorrt_llm(writing: &mut Writing<'_>) -> String {
    let Some((method, name, tokens)) = drafts::written(writing) else { return String::new() };
    let (word, key) = match method {
        MTP => ("MTP", "num_nextn_predict_layers"),
        MODEL => ("DraftTarget", "max_draft_len"),
        EAGLE3 => ("Eagle3", "max_draft_len"),
        _ => {
            writing.lacks("TensorRT-LLM has no drafts by EAGLE's first heads.");
            return String::new();
        }
    };
    let name = name.map(|name| format!("  speculative_model_dir: {name}\n")).unwrap_or_default();
    format!("speculative_config:\n  decoding_type: {word}\n  {key}: {tokens}\n{name}")
}
