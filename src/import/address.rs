//! A model's address, which people paste where its file belongs.

/// Where the text of the `config.json` is, if the text is the address of a model on the Hugging
/// Face Hub or its name there.
pub(super) fn of_config(text: &str) -> Option<String> {
    let text = text.trim().trim_matches(['"', '\'', '`']);
    if text.contains(['{', '[', '\n']) || text.split_whitespace().count() != 1 {
        return None;
    }
    let plain = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let path = plain.unwrap_or(text);
    let path = path.strip_prefix("www.").unwrap_or(path);
    let hosts = ["huggingface.co/", "hf.co/", "hf-mirror.com/"];
    let Some(path) = hosts
        .iter()
        .find_map(|host| path.strip_prefix(host))
        .or_else(|| plain.is_none().then_some(path))
    else {
        return Some("the file config.json there, as plain text,".to_owned());
    };
    let path = path.split(['?', '#']).next().unwrap_or(path);
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let (owner, name) = (parts.next()?, parts.next()?);
    let is_name =
        |part: &str| part.chars().all(|sign| sign.is_ascii_alphanumeric() || "-_.".contains(sign));
    // A name of the hub has two parts; an address may go on.
    let is_hub =
        is_name(owner) && is_name(name) && (path.len() < text.len() || parts.next().is_none());
    is_hub.then(|| format!("https://huggingface.co/{owner}/{name}/raw/main/config.json"))
}

#[cfg(test)]
mod tests {
    use super::of_config;

    #[test]
    fn an_address_leads_to_its_file() {
        let file = "https://huggingface.co/Qwen/Qwen3-VL-8B-Instruct/raw/main/config.json";
        for text in [
            "Qwen/Qwen3-VL-8B-Instruct",
            "https://huggingface.co/Qwen/Qwen3-VL-8B-Instruct",
            "huggingface.co/Qwen/Qwen3-VL-8B-Instruct/",
            "https://huggingface.co/Qwen/Qwen3-VL-8B-Instruct/blob/main/config.json",
            "https://hf.co/Qwen/Qwen3-VL-8B-Instruct?library=vllm",
            "  \"Qwen/Qwen3-VL-8B-Instruct\"\n",
        ] {
            assert_eq!(of_config(text).as_deref(), Some(file), "{text}");
        }
        for text in ["{}", "", "[1]", "hello", "1/2 of it", "a/b/c", "/tmp/x y"] {
            assert_eq!(of_config(text), None, "{text}");
        }
        assert!(
            of_config("https://example.org/model").is_some_and(|file| file.contains("config.json"))
        );
    }
}
