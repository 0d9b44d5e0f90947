//! Dropout that a model's own modules do in training, by the keys of its `config.json`.

/// The places at which a training step sets values to zero at random. Each keeps a byte of mask for
/// every value, whatever the share of zeros is (PyTorch 2.15, `native_dropout`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dropout {
    /// Embedded tokens.
    pub embedding: bool,
    /// The outputs of attention and feed-forward, before they are added to the residual stream.
    pub residual: bool,
    /// Attention's probabilities, where these are written to memory: fused kernels drop them
    /// without a mask.
    pub attention: bool,
}

impl Dropout {
    /// Nothing is dropped.
    pub const NONE: Self = Self { embedding: false, residual: false, attention: false };

    /// Returns true if anything is dropped.
    pub const fn any(self) -> bool {
        self.embedding || self.residual || self.attention
    }
}

/// A key that says how much is dropped.
#[derive(Clone, Copy, Debug)]
pub struct DropKey {
    /// The key of `config.json`.
    pub key: &'static str,
    /// The library's default.
    pub default: f64,
}

impl DropKey {
    /// A key that is 0 where a file is silent.
    pub const fn off(key: &'static str) -> Self {
        Self { key, default: 0.0 }
    }
}

/// The keys of a family whose modules drop out. `None`: its modules drop nothing there, or it is
/// not known how.
#[derive(Clone, Copy, Debug)]
pub struct Drops {
    /// Behind the embedding.
    pub embedding: Option<DropKey>,
    /// Behind attention and feed-forward.
    pub residual: Option<DropKey>,
    /// Within attention.
    pub attention: Option<DropKey>,
    /// The block drops an output as it adds it, so that the output keeps its name until the sum is
    /// there (`residual + dropout(x)`).
    pub as_added: bool,
}

impl Drops {
    /// Modules of which nothing is known.
    pub const NONE: Self =
        Self { embedding: None, residual: None, attention: None, as_added: false };

    /// Returns true if something is dropped at a place that the modules do not have.
    pub const fn lacks(&self, dropout: Dropout) -> bool {
        dropout.embedding && self.embedding.is_none()
            || dropout.residual && self.residual.is_none()
            || dropout.attention && self.attention.is_none()
    }

    /// Returns the key of each place: behind the embedding, behind attention and feed-forward, and
    /// within attention.
    pub const fn keys(&self) -> [Option<DropKey>; 3] {
        [self.embedding, self.residual, self.attention]
    }
}
