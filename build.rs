//! Writes the catalog's data files as Rust tables. A row is written down once, as JSON with its
//! source beside it, its shape as the config.json that people would paste; it is read and checked
//! here, so that the page carries finished tables and no reader for them, and its first program no
//! sentence that only the second shows.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::config::{
    Accelerator, CacheParts, Compressed, Encoder, Family, HiddenAct, Hybrid, LayerSet, Mla,
    MlpKind, ModelConfig, Moe, Normalization, PeakRates, PositionEmbedding, SharedBlocks,
    SourceEncoder, Task, Tower, WeightFormat,
};
use crate::units::Bytes;

#[macro_use]
#[path = "src/lists.rs"]
mod lists;

#[allow(dead_code, unused_imports, reason = "the types of the rows, as the library has them")]
#[path = "src/config/mod.rs"]
mod config;
#[allow(dead_code, unused_imports, reason = "the types of the rows, as the library has them")]
#[path = "src/engines/mod.rs"]
mod engines;
#[allow(dead_code, unused_imports, reason = "the types of the rows, as the library has them")]
#[path = "src/hardware"]
mod hardware {
    pub mod kernels;
}
#[allow(
    dead_code,
    unused_imports,
    reason = "the page's reader, so that a row is what its config.json is read as"
)]
#[path = "src/import/mod.rs"]
mod import;
#[allow(dead_code, unused_imports, reason = "the families that the reader knows")]
#[path = "src/models/mod.rs"]
mod models;
#[allow(dead_code, unused_imports, reason = "a run names its optimizer")]
#[path = "src/optimizers/mod.rs"]
mod optimizers;
#[allow(dead_code, unused_imports, reason = "the types of the rows, as the library has them")]
#[path = "src/sharding/mod.rs"]
mod sharding;
#[allow(dead_code, unused_imports, reason = "the lists name the sources of their rules")]
#[path = "src/sources/mod.rs"]
mod sources;
#[allow(dead_code, unused_imports, reason = "a run names its software stack")]
#[path = "src/stacks/mod.rs"]
mod stacks;
#[allow(dead_code, unused_imports, reason = "the types of the rows, as the library has them")]
#[path = "src/units/mod.rs"]
mod units;

/// Fields whose value is an enum, with its name: `Debug` prints the variant alone.
const ENUMS: [(&str, &str); 12] = [
    ("compresses", "Compresses"),
    ("part", "CachePartKind"),
    ("normalization", "Normalization"),
    ("mlp", "MlpKind"),
    ("position_embedding", "PositionEmbedding"),
    ("hidden_act", "HiddenAct"),
    ("sliding_layers", "LayerSet"),
    ("layers", "LayerSet"),
    ("attention_layers", "LayerSet"),
    ("feed_forward_layers", "LayerSet"),
    ("kv_shared_layers", "LayerSet"),
    ("kind", "MixerKind"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    id: String,
    name: String,
    family: String,
    aliases: Vec<String>,
    /// Left out where `configs/<id>.json` has it.
    #[serde(default, deserialize_with = "architecture")]
    config: Option<ModelConfig>,
    published_parameters: Option<u64>,
    /// True for a row that is served in the format that its file states; it stands beside the row
    /// in 16 bits, which links name.
    #[serde(default)]
    as_published: bool,
    verified: bool,
    source: String,
    note: String,
}

/// The architecture as written in the data file: the common shape of today's models need not be
/// spelled out.
#[derive(Deserialize)]
#[serde(remote = "ModelConfig", deny_unknown_fields)]
#[allow(
    clippy::struct_field_names,
    clippy::struct_excessive_bools,
    reason = "mirrors ModelConfig field by field"
)]
struct Architecture {
    hidden_size: u64,
    num_hidden_layers: u64,
    num_attention_heads: u64,
    num_key_value_heads: u64,
    head_dim: u64,
    intermediate_size: u64,
    vocab_size: u64,
    max_position_embeddings: u64,
    #[serde(default)]
    position_rows: u64,
    #[serde(default)]
    normalization: Normalization,
    #[serde(default)]
    mlp: MlpKind,
    #[serde(default)]
    position_embedding: PositionEmbedding,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    attention_output_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    tie_word_embeddings: bool,
    #[serde(default)]
    qk_norm: bool,
    #[serde(default)]
    embedding_norm: bool,
    #[serde(default = "two")]
    norms_per_block: u64,
    #[serde(default = "yes")]
    final_norm: bool,
    #[serde(default)]
    #[serde(deserialize_with = "family")]
    family: Family,
    #[serde(default)]
    hidden_act: HiddenAct,
    #[serde(default)]
    rotary_dim: Option<u64>,
    #[serde(default)]
    sliding_window: Option<u64>,
    #[serde(default)]
    sliding_layers: LayerSet,
    #[serde(default)]
    moe: Option<Moe>,
    #[serde(default)]
    mla: Option<Mla>,
    #[serde(default)]
    parallel_residual: bool,
    #[serde(default)]
    attention_sinks: bool,
    #[serde(default)]
    attn_logit_softcapping: bool,
    #[serde(default)]
    final_logit_softcapping: bool,
    #[serde(default)]
    lm_head_bias: bool,
    #[serde(default)]
    word_embed_proj_dim: Option<u64>,
    #[serde(default)]
    new_decoder_architecture: bool,
    #[serde(default)]
    pooler: bool,
    #[serde(default)]
    task: Option<Task>,
    #[serde(default)]
    encoder: Option<Encoder>,
    #[serde(skip)]
    tower: Option<Tower>,
    #[serde(default)]
    source: Option<SourceEncoder>,
    #[serde(default)]
    shared: Option<SharedBlocks>,
    /// Files alone say these.
    #[serde(skip)]
    norm_gate_rank: u64,
    #[serde(skip)]
    chunks: bool,
    #[serde(skip)]
    cache: CacheParts,
    #[serde(skip)]
    compressed: Option<Compressed>,
    #[serde(default)]
    hybrid: Option<Hybrid>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Card {
    id: String,
    name: String,
    vendor: String,
    series: String,
    aliases: Vec<String>,
    #[serde(with = "Device")]
    accelerator: Accelerator,
    marketed_gb: u64,
    memory_basis: String,
    verified: bool,
    unverified_fields: Vec<String>,
    tdp_watts: Option<f64>,
    source: String,
    note: String,
}

/// The device as written in the data file: memory in MiB, bandwidth in bytes per second, rates in
/// dense TFLOP/s.
#[derive(Deserialize)]
#[serde(remote = "Accelerator", deny_unknown_fields)]
struct Device {
    #[serde(rename = "memory_mib", deserialize_with = "mebibytes")]
    memory: Bytes,
    memory_bandwidth: Option<f64>,
    #[serde(with = "Rates")]
    peak: PeakRates,
    accelerators_per_node: u64,
    #[serde(skip)]
    price_per_hour: f64,
}

/// The peak rates as written in the data file; a rate that is left out is unknown.
#[derive(Deserialize)]
#[serde(remote = "PeakRates", deny_unknown_fields)]
struct Rates {
    bf16: Option<f64>,
    fp16: Option<f64>,
    fp8: Option<f64>,
    int8: Option<f64>,
    tf32: Option<f64>,
    fp32: Option<f64>,
}

const fn two() -> u64 {
    2
}

const fn yes() -> bool {
    true
}

/// Reads the architecture; a table of positions has a row per position unless the file says
/// otherwise.
fn architecture<'de, D: serde::Deserializer<'de>>(
    source: D,
) -> Result<Option<ModelConfig>, D::Error> {
    let mut config = Architecture::deserialize(source)?;
    if config.position_rows == 0 {
        config.position_rows = config.max_position_embeddings;
    }
    Ok(Some(config))
}

/// The family of that `model_type`.
fn family<'de, D: serde::Deserializer<'de>>(source: D) -> Result<Family, D::Error> {
    let word = String::deserialize(source)?;
    let found = models::named(&word);
    let is_known = found.model_type() == word;
    if is_known {
        Ok(found)
    } else {
        Err(serde::de::Error::custom(format!("no family is called {word}")))
    }
}

fn mebibytes<'de, D: serde::Deserializer<'de>>(source: D) -> Result<Bytes, D::Error> {
    u64::deserialize(source).map(|mebibytes| Bytes(1 << 20) * mebibytes)
}

fn main() -> Result<(), Box<dyn Error>> {
    // The compiler looks at files that it knows: a new one is noticed by the time of its folder.
    for folder in [
        "catalog/configs",
        "engines",
        "launch/formats",
        "launch/logs/programs",
        "lessons/stories",
        "models/families",
        "models/projectors",
        "models/towers",
        "optimizers",
        "sharding",
        "stacks",
    ] {
        println!("cargo::rerun-if-changed=src/{folder}");
    }
    if env::var_os("CARGO_FEATURE_APART").is_some() {
        // By relocations `cargo xtask build` knows what belongs to which function, and cuts off
        // what the page fetches later.
        println!("cargo::rustc-link-arg-bin=headroom-page=--emit-relocs");
    }
    let models: Vec<Model> = rows("models")?;
    let cards: Vec<Card> = rows("accelerators")?;
    let ids: Vec<&str> = models
        .iter()
        .map(|row| &row.id)
        .chain(cards.iter().map(|row| &row.id))
        .map(String::as_str)
        .collect();
    if let Some(id) =
        ids.iter().enumerate().find_map(|(at, id)| ids[..at].contains(id).then_some(id))
    {
        return Err(format!("two rows of the catalog are called {id}").into());
    }
    let mut provenance = String::from("&[");
    let told = models.iter().map(|row| (&row.id, &row.source, &row.note));
    for (id, source, note) in told.chain(cards.iter().map(|row| (&row.id, &row.source, &row.note)))
    {
        write!(provenance, "({id:?}, Provenance {{ source: {source:?}, note: {note:?} }}),")?;
    }
    provenance.push(']');
    let shapes = models.iter().map(shape).collect::<Result<Vec<_>, _>>()?;
    write_table(
        "models",
        &table(models.iter().zip(&shapes).map(|(row, shape)| model(row, shape))),
    )?;
    let keys = models.iter().zip(&shapes).filter(|(_, shape)| !shape.keys.is_empty());
    write_table(
        "keys",
        &table(keys.map(|(row, shape)| format!("({:?}, {:?})", row.id, shape.keys))),
    )?;
    write_table("accelerators", &table(cards.iter().map(card)))?;
    write_table("model_aliases", &table(models.iter().map(|row| aliases(&row.id, &row.aliases))))?;
    write_table(
        "accelerator_aliases",
        &table(cards.iter().map(|row| aliases(&row.id, &row.aliases))),
    )?;
    write_table("provenance", &provenance)
}

fn rows<T: DeserializeOwned>(list: &str) -> Result<Vec<T>, Box<dyn Error>> {
    let file = format!("src/catalog/{list}.json");
    println!("cargo::rerun-if-changed={file}");
    serde_json::from_str(&fs::read_to_string(&file)?)
        .map_err(|error| format!("{file}: {error}").into())
}

fn write_table(name: &str, table: &str) -> Result<(), Box<dyn Error>> {
    Ok(fs::write(Path::new(&env::var("OUT_DIR")?).join(format!("{name}.rs")), table)?)
}

fn table(rows: impl Iterator<Item = String>) -> String {
    format!("&[{}]", rows.collect::<Vec<_>>().join(",\n"))
}

/// A row's file, as it is read.
struct Shape {
    config: ModelConfig,
    /// The keys that the file states; none of a shape that is written in the row.
    keys: String,
    /// The format of its weights.
    weights: Option<WeightFormat>,
}

/// The row's architecture: from its `config.json`, read as the page reads a pasted one, or as
/// written in the row.
fn shape(row: &Model) -> Result<Shape, Box<dyn Error>> {
    let file = format!("src/catalog/configs/{}.json", row.id);
    match (&row.config, fs::read_to_string(&file)) {
        (Some(config), Err(_)) => {
            Ok(Shape { config: config.clone(), keys: String::new(), weights: None })
        }
        (Some(_), Ok(_)) => {
            Err(format!("the shape of {} stands in its row and in {file}", row.id).into())
        }
        (None, Err(error)) => Err(format!("{file}: {error}").into()),
        (None, Ok(text)) => {
            let read = import::config_json(&text).map_err(|error| format!("{file}: {error}"))?;
            // A row promises an exact shape.
            if !read.upper_bounds.is_empty() {
                return Err(format!("{file}: {:?}", read.upper_bounds).into());
            }
            let keys = stated(&read).unwrap_or_default();
            let weights = match read.quantization.filter(|_| row.as_published) {
                Some(stored) if stored.group_size.is_none() => Some(stored.format),
                None if !row.as_published => None,
                _ => {
                    return Err(format!("{file}: a row cannot state this format of weights").into());
                }
            };
            Ok(Shape { config: read.config, keys, weights })
        }
    }
}

/// The keys of a file that state something, and nothing but them: `llama hidden_size=4096
/// num_hidden_layers=32`. `None` where they do not say all of the file.
fn stated(read: &import::Imported) -> Option<String> {
    let mut text = read.model_type.clone();
    let mut keys = import::Object::new();
    for asked in read.asked.iter().filter(|asked| asked.stated) {
        text.push(' ');
        text.push_str(asked.key);
        text.push('=');
        text.push_str(&plain(asked)?);
        keys.insert(asked.key.to_owned(), asked.value.clone());
    }
    let same = import::config_of_keys(&read.model_type, &keys)
        .config
        .is_ok_and(|config| config == read.config);
    same.then_some(text)
}

/// A value without blanks, as the table of inputs reads it; `None` for groups of keys.
fn plain(asked: &import::Asked) -> Option<String> {
    use import::Value;
    Some(match &asked.value {
        Value::Null => "empty".to_owned(),
        Value::Whole(0) if import::NONE_BY_0.contains(&asked.key) => "empty".to_owned(),
        Value::Bool(yes) => yes.to_string(),
        Value::Whole(number) => number.to_string(),
        Value::Text(text) if text.contains([' ', '=']) || text.is_empty() => return None,
        Value::OtherNumber(text) | Value::Text(text) => text.clone(),
        Value::List(items) => match import::list(items)? {
            import::List::Words(words) => import::write_words(&words),
            import::List::Numbers(numbers) => {
                let places = (0_u64..)
                    .zip(&numbers)
                    .filter(|(_, yes)| **yes != 0)
                    .map(|(place, _)| place)
                    .collect();
                let layers: Vec<u64> =
                    if import::YES_OR_NO.contains(&asked.key) { places } else { numbers };
                layers.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
            }
        },
        Value::Object(_) => return None,
    })
}

fn aliases(id: &str, aliases: &[String]) -> String {
    format!("({id:?}, &{aliases:?})")
}

/// The text with the name of an enum before that field's variants; a number under the same name
/// stays one.
fn with_name(text: &str, field: &str, name: &str) -> String {
    let field = format!(" {field}: ");
    let parts = text.split(&field).enumerate().map(|(at, part)| match part.chars().next() {
        Some(first) if at > 0 && first.is_ascii_uppercase() => format!("{field}{name}::{part}"),
        _ if at > 0 => format!("{field}{part}"),
        _ => part.to_owned(),
    });
    parts.collect()
}

fn model(row: &Model, shape: &Shape) -> String {
    let mut config = format!("{:?}", shape.config)
        .replace("Listed([", "Listed(Cow::Borrowed(&[")
        .replace("CacheParts([", "CacheParts(Cow::Borrowed(&[")
        .replace("CompressedLayers([", "CompressedLayers(Cow::Borrowed(&[")
        .replace("])", "]))");
    config = config.replace(" family: Family(", " family: named(");
    for (field, name) in ENUMS {
        config = with_name(&config, field, name);
    }
    format!(
        "ModelRow {{ id: {:?}, name: {:?}, family: {:?}, config: {config}, weights: {}, has_keys: \
         {}, published_parameters: {:?}, verified: {} }}",
        row.id,
        row.name,
        row.family,
        shape.weights.map_or_else(
            || "None".to_owned(),
            |weights| format!("Some(WeightFormat::{weights:?})")
        ),
        !shape.keys.is_empty(),
        row.published_parameters,
        row.verified
    )
}

fn card(row: &Card) -> String {
    format!(
        "AcceleratorRow {{ id: {:?}, name: {:?}, vendor: {:?}, series: {:?}, accelerator: {:?}, \
         marketed_gb: {}, memory_basis: MemoryBasis::{}, verified: {}, unverified_fields: &{:?}, \
         tdp_watts: {:?} }}",
        row.id,
        row.name,
        row.vendor,
        row.series,
        row.accelerator,
        row.marketed_gb,
        variant(&row.memory_basis),
        row.verified,
        row.unverified_fields,
        row.tdp_watts
    )
}

/// The variant that serde would take for that word: `driver_reported` is `DriverReported`.
fn variant(word: &str) -> String {
    word.split('_').map(|part| part[..1].to_ascii_uppercase() + &part[1..]).collect()
}
