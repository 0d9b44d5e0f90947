//! How memory holds a tensor against its shape.

/// In which order memory holds a tensor of heads, against its shape `[b, heads, s, d]` or `[b, s,
/// heads, d]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Order {
    /// In the order of its shape.
    #[default]
    Plain,
    /// With heads and tokens swapped.
    Swapped,
    /// `[b, heads, d, s]`: the gradient of a transposed key.
    Columns,
    /// One head seen as many.
    Spread,
}

impl Order {
    /// After heads and tokens have changed places.
    pub const fn swapped(self) -> Self {
        match self {
            Self::Plain => Self::Swapped,
            Self::Swapped => Self::Plain,
            Self::Columns | Self::Spread => self,
        }
    }
}
