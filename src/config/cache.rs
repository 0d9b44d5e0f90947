//! Parts of a cache that must be listed because no other field of a model describes them: those of
//! decoders of which only the parameters are counted.

use std::borrow::Cow;

/// Content of a part of a cache. Keys, values and the tensors that replace them are stored in the
/// cache's format; all other parts are stored in the format in which the model makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CachePartKind {
    /// Keys of heads.
    Keys,
    /// Values of heads.
    Values,
    /// Vectors from which keys and values are made.
    Latents,
    /// Rotated keys beside latent vectors.
    RotatedKeys,
    /// Keys that an indexer compares to choose tokens.
    IndexKeys,
    /// Keys that each stand for several tokens.
    CompressedKeys,
    /// Keys and gates of tokens that wait to be compressed.
    Waiting,
    /// The last tokens, which a convolution reads again.
    LastTokens,
    /// A state.
    State,
    /// Inputs of layers, from which keys and values are made anew.
    Inputs,
}

impl CachePartKind {
    /// All kinds of content; links between the page's programs hold places in this list.
    pub const ALL: [Self; 10] = [
        Self::Keys,
        Self::Values,
        Self::Latents,
        Self::RotatedKeys,
        Self::IndexKeys,
        Self::CompressedKeys,
        Self::Waiting,
        Self::LastTokens,
        Self::State,
        Self::Inputs,
    ];

    /// Returns its name in the ledger.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keys => "cached keys",
            Self::Values => "cached values",
            Self::Latents => "cached latent vectors",
            Self::RotatedKeys => "cached rotated keys",
            Self::IndexKeys => "cached index keys",
            Self::CompressedKeys => "cached compressed keys",
            Self::Waiting => "tokens to compress",
            Self::LastTokens => "last tokens",
            Self::State => "state",
            Self::Inputs => "cached inputs",
        }
    }

    /// Returns true if this part is stored in the cache's format.
    pub const fn is_stored_as_cache(self) -> bool {
        match self {
            Self::Keys
            | Self::Values
            | Self::Latents
            | Self::RotatedKeys
            | Self::IndexKeys
            | Self::CompressedKeys => true,
            Self::Waiting | Self::LastTokens | Self::State | Self::Inputs => false,
        }
    }
}

/// One part of a cache, in all layers that have it.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CachePart {
    /// Its content.
    pub part: CachePartKind,
    /// How many layers have it; a layer that attends twice has it twice.
    pub layers: u64,
    /// Heads, which tensor-parallel ranks share out; 0: every rank has all of the part.
    pub heads: u64,
    /// Numbers of one head of one entry.
    pub width: u64,
    /// Tokens for which there is one entry; 0: there is one for the whole text.
    pub every: u64,
    /// The most entries that are kept; 0: all are.
    pub most: u64,
    /// Kept in fp32.
    pub wide: bool,
}

impl CachePart {
    /// Returns a part with `width` numbers for each token in each of `layers` layers, held whole by
    /// every rank.
    pub const fn of(part: CachePartKind, layers: u64, width: u64) -> Self {
        Self { part, layers, heads: 0, width, every: 1, most: 0, wide: false }
    }

    /// Returns this part with that many heads, which tensor-parallel ranks share out.
    pub const fn heads(self, heads: u64) -> Self {
        Self { heads, ..self }
    }

    /// Returns this part with at most `most` entries: those of the last tokens.
    pub const fn within(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// Returns this part with one entry for every `every` tokens.
    pub const fn every(self, every: u64) -> Self {
        Self { every, ..self }
    }

    /// Returns this part with one entry for the whole text.
    pub const fn once(self) -> Self {
        Self { every: 0, ..self }
    }

    /// Returns this part kept in fp32.
    pub const fn wide(self) -> Self {
        Self { wide: true, ..self }
    }

    /// Returns the entries that a text of `tokens` tokens has in the part.
    pub fn entries(&self, tokens: u64) -> u64 {
        match (tokens.checked_div(self.every), self.most) {
            (None, _) => 1,
            (Some(entries), 0) => entries,
            (Some(entries), most) => entries.min(most),
        }
    }

    /// Returns true if the part grows by an entry with every token.
    pub const fn grows(&self) -> bool {
        self.every == 1 && self.most == 0
    }
}

/// The parts of a cache, in the order of the ledger; empty for a model whose other fields describe
/// its cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CacheParts(pub Cow<'static, [CachePart]>);

impl CacheParts {
    /// No parts.
    pub const NONE: Self = Self(Cow::Borrowed(&[]));

    /// Returns true if no part is listed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
