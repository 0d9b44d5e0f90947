//! Splits each row of the catalog's data files into its values and its provenance: a row is written down once, with its source beside
//! it, but the page's first program does not carry sentences that only the second one shows.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use serde_json::{Map, Value};

/// What tells where a row comes from.
const PROVENANCE: [&str; 2] = ["source", "note"];

fn main() -> Result<(), Box<dyn Error>> {
    let out = env::var("OUT_DIR")?;
    let mut provenance = Map::new();
    for list in ["models", "accelerators"] {
        let file = format!("src/catalog/{list}.json");
        println!("cargo::rerun-if-changed={file}");
        let mut rows: Vec<Map<String, Value>> = serde_json::from_str(&fs::read_to_string(file)?)?;
        for row in &mut rows {
            let of_row: Map<_, _> = PROVENANCE.iter().filter_map(|key| row.remove_entry(*key)).collect();
            let id = row.get("id").and_then(Value::as_str).ok_or("a row of the catalog without id")?;
            if provenance.insert(id.to_owned(), Value::Object(of_row)).is_some() {
                return Err(format!("two rows of the catalog are called {id}").into());
            }
        }
        fs::write(Path::new(&out).join(format!("{list}.json")), serde_json::to_string(&rows)?)?;
    }
    fs::write(Path::new(&out).join("provenance.json"), serde_json::to_string(&provenance)?)?;
    Ok(())
}
