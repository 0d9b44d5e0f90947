//! Files that start containers: Kubernetes' `containers:` and Compose's `services:`, as the
//! commands that run in them.

use serde_json::Value;

use super::shell::{self, Command};
use super::{Given, Place};

/// Shells, and the flags behind which a script stands.
const SHELLS: [&str; 3] = ["sh", "bash", "ash"];

/// One container.
#[derive(Default)]
struct Container {
    image: String,
    command: Option<Value>,
    arguments: Option<Value>,
    environment: Vec<(String, String)>,
    place: Option<Place>,
}

/// True if a text may be such a file.
pub(super) fn may_be(text: &str) -> bool {
    ["containers:", "services:"].iter().any(|key| text.contains(key)) && text.contains("image:")
}

/// The commands of all containers of a file.
pub(super) fn commands(keys: &[Given]) -> Vec<Command> {
    let mut found: Vec<Container> =
        keys.iter().filter(|given| is_list(given)).flat_map(pods).collect();
    found.extend(services(keys));
    found.iter().flat_map(Container::commands).collect()
}

/// True for Kubernetes' list of containers, wherever it stands.
fn is_list(given: &Given) -> bool {
    given.key.rsplit('.').next() == Some("containers") && given.value.is_array()
}

fn pods(given: &Given) -> Vec<Container> {
    let of = |object: &Value| {
        let object = object.as_object()?;
        let pair =
            |pair: &Value| Some((pair.get("name")?.as_str()?.to_owned(), text(pair.get("value")?)));
        let environment = object
            .get("env")
            .and_then(Value::as_array)
            .map(|list| list.iter().filter_map(pair).collect());
        Some(Container {
            image: object.get("image").map(text).unwrap_or_default(),
            command: object.get("command").cloned(),
            arguments: object.get("args").cloned(),
            environment: environment.unwrap_or_default(),
            place: Some(given.place),
        })
    };
    given.value.as_array().map(|list| list.iter().filter_map(of).collect()).unwrap_or_default()
}

/// Compose's services, whose keys stand below their names.
fn services(keys: &[Given]) -> Vec<Container> {
    let mut found: Vec<(String, Container)> = Vec::new();
    for given in keys {
        let Some((name, key)) =
            given.key.strip_prefix("services.").and_then(|rest| rest.split_once('.'))
        else {
            continue;
        };
        let at = found.iter().position(|(own, _)| own == name).unwrap_or_else(|| {
            found.push((name.to_owned(), Container::default()));
            found.len() - 1
        });
        let Some((_, container)) = found.get_mut(at) else { continue };
        match key.split_once('.') {
            Some(("environment", variable)) => {
                container.environment.push((variable.to_owned(), text(&given.value)));
            }
            Some(_) => {}
            None => match key {
                "image" => container.image = text(&given.value),
                "entrypoint" => container.command = Some(given.value.clone()),
                "command" => {
                    container.arguments = Some(given.value.clone());
                    container.place = Some(given.place);
                }
                "environment" => {
                    let pairs = given.value.as_array().into_iter().flatten().map(text);
                    let split = |pair: String| {
                        pair.split_once('=')
                            .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    };
                    container.environment.extend(pairs.filter_map(split));
                }
                _ => {}
            },
        }
    }
    found.into_iter().map(|(_, container)| container).collect()
}

impl Container {
    fn commands(&self) -> Vec<Command> {
        let Some(script) = self.script() else { return Vec::new() };
        let export = |text: String, (name, value): &(String, String)| {
            text + "export " + name + "=" + &quoted(value) + "\n"
        };
        let exports = self.environment.iter().fold(String::new(), export);
        let (mut commands, _) = shell::read(&(exports + &script));
        let place = self.place.unwrap_or(Place { line: 1, column: 1 });
        for word in commands.iter_mut().flat_map(|command| &mut command.words) {
            word.place = place;
        }
        commands
    }

    /// The container's command as a shell would have it: arguments alone go to the program that the
    /// image starts.
    fn script(&self) -> Option<String> {
        let (command, arguments) = (words(self.command.as_ref()), words(self.arguments.as_ref()));
        let is_shell = |words: &[String]| {
            let program =
                words.first().map(|word| super::invocation::base_name(word)).unwrap_or_default();
            SHELLS.contains(&program)
                && words.get(1).is_some_and(|flag| flag.starts_with('-') && flag.ends_with('c'))
        };
        let all: Vec<String> = command.iter().chain(&arguments).cloned().collect();
        if is_shell(&all) {
            return all.get(2).cloned();
        }
        if all.is_empty() {
            return None;
        }
        let line = all.iter().map(|word| quoted(&self.filled(word))).collect::<Vec<_>>().join(" ");
        let starts_image = command.is_empty() && !self.image.is_empty();
        Some(if starts_image { format!("docker run {} {line}", quoted(&self.image)) } else { line })
    }

    /// A word with Kubernetes' `$(NAME)` in place.
    fn filled(&self, word: &str) -> String {
        let fill = |word: String, (name, value): &(String, String)| {
            word.replace(&format!("$({name})"), value)
        };
        self.environment.iter().fold(word.to_owned(), fill)
    }
}

/// A list of words, or a text that is one.
fn words(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(list)) => list.iter().map(text).collect(),
        Some(Value::String(line)) => shell::read(line)
            .0
            .into_iter()
            .next()
            .map(|command| command.words)
            .into_iter()
            .flatten()
            .map(|word| word.text)
            .collect(),
        _ => Vec::new(),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A word that no shell changes.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
