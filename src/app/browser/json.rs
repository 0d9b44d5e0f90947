//! JSON as the browser reads it. The page has saved scenarios alone to read, for which a reader of
//! its own would be nine kilobytes.

use js_sys::{Array, JSON, Reflect};
use wasm_bindgen::{JsCast, JsValue};

use crate::scenario::records::Document;

/// A document, or a part of one.
#[derive(Debug)]
pub struct Json(JsValue);

impl Json {
    fn get(&self, key: &str) -> Option<JsValue> {
        Reflect::get(&self.0, &JsValue::from_str(key)).ok()
    }
}

impl Document for Json {
    fn read(json: &str) -> Option<Self> {
        JSON::parse(json).ok().map(Self)
    }

    fn whole(&self, key: &str) -> Option<u64> {
        // Up to this every whole number is one of the browser's.
        const LARGEST: f64 = 9_007_199_254_740_991.0;
        let number = self
            .get(key)?
            .as_f64()
            .filter(|number| number.fract() == 0.0 && (0.0..=LARGEST).contains(number))?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, and checked to be in range"
        )]
        Some(number as u64)
    }

    fn words(&self, key: &str) -> Option<String> {
        self.get(key)?.as_string()
    }

    fn list(&self, key: &str) -> Option<Vec<Self>> {
        Some(self.get(key)?.dyn_into::<Array>().ok()?.iter().map(Self).collect())
    }
}
