//! A model's own files: `config.json`, Mistral's `params.json`, the header of a GGUF file, the
//! headers of safetensors files and the index of a checkpoint in several files. Of weights only the
//! beginning is read; nothing is guessed where a file is broken.

mod compared;
mod error;
mod gguf;
mod gguf_keys;
mod params;
mod safetensors;
mod stored;
mod understood;

pub use error::CheckpointError;
pub use stored::{Stored, StoredTensor};
pub use understood::understood;

use crate::import::{self, Imported};

/// The most of one file that anybody needs to read, bytes: headers are at its beginning.
pub const MOST_BYTES: usize = 32 << 20;

/// The beginning of one file.
#[derive(Clone, Copy, Debug)]
pub struct FileStart<'a> {
    /// Its name, without a folder.
    pub name: &'a str,
    /// Its first bytes, all of them if it is short.
    pub start: &'a [u8],
}

/// A model, as its files describe it together.
#[derive(Clone, Debug)]
pub struct ModelFiles {
    /// The architecture.
    pub imported: Imported,
    /// The name of the file that says it.
    pub from: String,
    /// The stored tensors, where a file lists them.
    pub stored: Option<Stored>,
}

impl ModelFiles {
    /// Returns sentences that compare the stored tensors with the counted model; none where no file
    /// lists tensors.
    pub fn compared(&self) -> Vec<String> {
        self.stored
            .as_ref()
            .map(|stored| compared::compared(stored, &self.imported))
            .unwrap_or_default()
    }
}

/// The kinds of files that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Config,
    Params,
    Index,
    Safetensors,
    Gguf,
}

/// The kind of a file, by its name; of a text by its keys where the name is anybody's. Files of
/// other kinds have none.
fn kind(part: &FileStart<'_>, is_alone: bool) -> Option<Kind> {
    let name = part.name.to_ascii_lowercase();
    if part.start.starts_with(gguf::MAGIC) {
        return Some(Kind::Gguf);
    }
    let endings =
        [(".gguf", Kind::Gguf), (".safetensors", Kind::Safetensors), (".index.json", Kind::Index)];
    if let Some((_, kind)) = endings.iter().find(|(ending, _)| name.ends_with(ending)) {
        return Some(*kind);
    }
    match name.as_str() {
        "params.json" => Some(Kind::Params),
        "config.json" => Some(Kind::Config),
        _ if !is_alone => None,
        _ if safetensors::is_index(part.start) => Some(Kind::Index),
        _ if params::is_params(part.start) => Some(Kind::Params),
        _ => Some(Kind::Config),
    }
}

/// Returns true for the name of a file that describes a model, alone or beside others.
pub fn is_of_a_model(name: &str) -> bool {
    kind(&FileStart { name, start: &[] }, false).is_some()
}

/// Reads the files of one model: its architecture from the first of `config.json`, `params.json`
/// and GGUF that is there, and its tensors, with bytes, from whichever file lists them.
///
/// ```
/// use headroom::checkpoint::{FileStart, read, understood};
/// let text = br#"{"dim": 4096, "n_layers": 32, "head_dim": 128, "hidden_dim": 14336,
///     "n_heads": 32, "n_kv_heads": 8, "norm_eps": 1e-05, "vocab_size": 32768}"#;
/// let found = read(&[FileStart { name: "params.json", start: text }])?;
/// assert_eq!(understood(&found.imported), "Mistral: 7.2 B parameters, all keys understood.");
/// # Ok::<(), headroom::checkpoint::CheckpointError>(())
/// ```
///
/// # Errors
/// [`CheckpointError`], a sentence for the person who chose the files.
pub fn read(parts: &[FileStart<'_>]) -> Result<ModelFiles, CheckpointError> {
    let is_alone = parts.len() == 1;
    let of = |wanted: Kind| parts.iter().filter(move |part| kind(part, is_alone) == Some(wanted));
    let stored =
        stored(of(Kind::Index).next(), &of(Kind::Safetensors).copied().collect::<Vec<_>>())?;
    if let Some(part) = of(Kind::Config).next() {
        return Ok(ModelFiles {
            imported: import::config_json(&text(part)?)?,
            from: part.name.to_owned(),
            stored,
        });
    }
    if let Some(part) = of(Kind::Params).next() {
        return Ok(ModelFiles {
            imported: params::read(part.name, &text(part)?)?,
            from: part.name.to_owned(),
            stored,
        });
    }
    let files: Vec<_> = of(Kind::Gguf).collect();
    let Some(first) = files.first() else { return Err(without_model(stored.as_ref())) };
    let headers: Vec<_> = files.iter().map(|part| header(part)).collect::<Result<_, _>>()?;
    let imported = gguf_keys::imported(&headers)?;
    let tensors = headers.into_iter().flat_map(|header| header.tensors).collect();
    Ok(ModelFiles {
        imported,
        from: first.name.to_owned(),
        stored: Some(Stored::of(tensors, None, "GGUF")),
    })
}

fn header(part: &FileStart<'_>) -> Result<gguf::Header, CheckpointError> {
    gguf::header(part.start).map_err(|what| CheckpointError::broken(part.name, what))
}

/// The tensors of safetensors files, with what their index says of the files that are not there.
fn stored(
    index: Option<&FileStart<'_>>,
    files: &[FileStart<'_>],
) -> Result<Option<Stored>, CheckpointError> {
    let broken = |name: &str| {
        let name = name.to_owned();
        move |what| CheckpointError::broken(&name, what)
    };
    let index =
        index.map(|part| safetensors::index(part.start).map_err(broken(part.name))).transpose()?;
    let mut tensors = Vec::new();
    for part in files {
        tensors.extend(safetensors::header(part.start).map_err(broken(part.name))?);
    }
    Ok((!tensors.is_empty() || index.is_some()).then(|| Stored::of(tensors, index, "safetensors")))
}

fn text(part: &FileStart<'_>) -> Result<String, CheckpointError> {
    std::str::from_utf8(part.start)
        .map(str::to_owned)
        .map_err(|_| CheckpointError::broken(part.name, "it is no text".to_owned()))
}

/// No file says what the model is: what the stored tensors say all the same.
fn without_model(stored: Option<&Stored>) -> CheckpointError {
    stored.map_or(CheckpointError::NoModel, |stored| CheckpointError::OnlySizes {
        said: stored.said(),
    })
}
