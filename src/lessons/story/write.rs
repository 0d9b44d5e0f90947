//! Writing a story file.

use serde_json::{Map, Value, json};

use super::{LessonStep, Start, Story, VERSION};
use crate::scenario::field;

impl Story {
    /// The story as JSON in one line; [`Story::read`] reads it.
    pub fn write(&self) -> String {
        let steps: Vec<Value> = self.steps.iter().map(of_step).collect();
        json!({ "headroom": "story", "v": VERSION, "id": self.id, "title": self.title, "for": self.audience, "steps": steps })
            .to_string()
    }
}

fn of_step(step: &LessonStep) -> Value {
    let mut row = Map::new();
    let mut put = |key: &str, value: Value| _ = row.insert(key.to_owned(), value);
    match &step.start {
        Start::Link(link) => put("link", json!(link)),
        Start::Change(changes) => {
            put(
                "change",
                changes
                    .iter()
                    .map(|(key, value)| (key.clone(), json!(value)))
                    .collect::<Map<_, _>>()
                    .into(),
            );
        }
    }
    if !step.title.is_empty() {
        put("title", json!(step.title));
    }
    put("text", json!(step.text));
    put("look", json!(step.look.word()));
    put("figure", json!(step.figure));
    if let Some(question) = &step.question {
        put(
            "question",
            json!({ "figure": question.figure, "prompt": question.prompt, "tolerance": question.tolerance }),
        );
    }
    if !step.claims.is_empty() {
        let claims = step.claims.iter();
        put(
            "claims",
            claims.map(|it| json!({ "figure": it.figure, "value": it.value.number(), "tolerance": it.tolerance })).collect(),
        );
    }
    if !step.live.is_empty() {
        put("live", step.live.iter().map(|id| json!(field(*id).key)).collect());
    }
    Value::Object(row)
}
