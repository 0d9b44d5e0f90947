//! The header of a GGUF file: its metadata and its tensors, as ggml's `gguf.md` describes them.
//! Every length is checked against what was read before anything is taken.

use super::stored::StoredTensor;

/// How every file begins.
pub(super) const MAGIC: &[u8] = b"GGUF";

/// Limits beyond which a file is broken rather than large.
const MOST_KEYS: u64 = 100_000;
const MOST_TENSORS: u64 = 1_000_000;
/// The longest list of numbers that is kept: one for each layer.
const MOST_KEPT: u64 = 4096;
/// The longest text that is kept.
const LONGEST_TEXT: usize = 256;

/// One value of the metadata.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Meta {
    /// A whole number.
    Whole(u64),
    /// Any other number.
    Other(f64),
    /// Yes or no.
    Flag(bool),
    /// A text, if it is short.
    Text(String),
    /// A short list of whole numbers.
    Wholes(Vec<u64>),
    /// Anything longer: only that it is there.
    Long,
}

/// The header of one file.
#[derive(Clone, Debug, Default)]
pub(super) struct Header {
    /// Keys with values, in the file's order.
    pub keys: Vec<(String, Meta)>,
    /// The tensors.
    pub tensors: Vec<StoredTensor>,
    /// The shapes of the tensors, the input first, in the same order.
    pub shapes: Vec<Vec<u64>>,
}

impl Header {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Meta> {
        self.keys.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The text of a key.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some(Meta::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The shape of the tensor of that name.
    pub fn shape(&self, name: &str) -> Option<&[u64]> {
        let at = self.tensors.iter().position(|tensor| tensor.name == name)?;
        self.shapes.get(at).map(Vec::as_slice)
    }
}

/// Types of tensors by their number: name, numbers in a block, bytes of a block (`ggml.h`,
/// `gguf-py/gguf/constants.py`).
const TYPES: [(u32, &str, u64, u64); 34] = [
    (0, "F32", 1, 4),
    (1, "F16", 1, 2),
    (2, "Q4_0", 32, 18),
    (3, "Q4_1", 32, 20),
    (6, "Q5_0", 32, 22),
    (7, "Q5_1", 32, 24),
    (8, "Q8_0", 32, 34),
    (9, "Q8_1", 32, 40),
    (10, "Q2_K", 256, 84),
    (11, "Q3_K", 256, 110),
    (12, "Q4_K", 256, 144),
    (13, "Q5_K", 256, 176),
    (14, "Q6_K", 256, 210),
    (15, "Q8_K", 256, 292),
    (16, "IQ2_XXS", 256, 66),
    (17, "IQ2_XS", 256, 74),
    (18, "IQ3_XXS", 256, 98),
    (19, "IQ1_S", 256, 50),
    (20, "IQ4_NL", 32, 18),
    (21, "IQ3_S", 256, 110),
    (22, "IQ2_S", 256, 82),
    (23, "IQ4_XS", 256, 136),
    (24, "I8", 1, 1),
    (25, "I16", 1, 2),
    (26, "I32", 1, 4),
    (27, "I64", 1, 8),
    (28, "F64", 1, 8),
    (29, "IQ1_M", 256, 56),
    (30, "BF16", 1, 2),
    (34, "TQ1_0", 256, 54),
    (35, "TQ2_0", 256, 66),
    (39, "MXFP4", 32, 17),
    (40, "NVFP4", 64, 36),
    (41, "Q1_0", 128, 18),
];

/// The place in the bytes that were read.
struct Cursor<'a> {
    rest: &'a [u8],
}

/// Why a file is not read further.
const SHORT: &str = "its header is longer than what was read of it";

impl<'a> Cursor<'a> {
    fn take(&mut self, length: u64) -> Result<&'a [u8], String> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(SHORT)?;
        self.rest = rest;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(SHORT)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.number().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, String> {
        self.number().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Result<&'a [u8], String> {
        let length = self.u64()?;
        self.take(length)
    }

    fn name(&mut self) -> Result<String, String> {
        let text = self.text()?;
        Ok(String::from_utf8_lossy(text.get(..LONGEST_TEXT).unwrap_or(text)).into_owned())
    }

    /// A value of that type of metadata.
    fn value(&mut self, of: u32) -> Result<Meta, String> {
        Ok(match of {
            0 => Meta::Whole(u64::from(u8::from_le_bytes(self.number()?))),
            1 => whole(i64::from(i8::from_le_bytes(self.number()?))),
            2 => Meta::Whole(u64::from(u16::from_le_bytes(self.number()?))),
            3 => whole(i64::from(i16::from_le_bytes(self.number()?))),
            4 => Meta::Whole(u64::from(self.u32()?)),
            5 => whole(i64::from(i32::from_le_bytes(self.number()?))),
            6 => Meta::Other(f64::from(f32::from_le_bytes(self.number()?))),
            7 => Meta::Flag(self.number::<1>()? != [0]),
            8 => match self.text()? {
                text if text.len() <= LONGEST_TEXT => {
                    Meta::Text(String::from_utf8_lossy(text).into_owned())
                }
                _ => Meta::Long,
            },
            9 => self.list()?,
            10 => Meta::Whole(self.u64()?),
            11 => whole(i64::from_le_bytes(self.number()?)),
            12 => Meta::Other(f64::from_le_bytes(self.number()?)),
            other => return Err(format!("its metadata has a value of the unknown type {other}")),
        })
    }

    /// A list: kept where it is short and of whole numbers or flags, else walked over.
    fn list(&mut self) -> Result<Meta, String> {
        let (of, count) = (self.u32()?, self.u64()?);
        let width = match of {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 => 8,
            8 => {
                for _ in 0..count {
                    self.text()?;
                }
                return Ok(Meta::Long);
            }
            other => return Err(format!("its metadata has a list of the type {other}")),
        };
        if count > MOST_KEPT || matches!(of, 6 | 12) {
            self.take(count.checked_mul(width).ok_or(SHORT)?)?;
            return Ok(Meta::Long);
        }
        let mut kept = Vec::new();
        for _ in 0..count {
            match self.value(of)? {
                Meta::Whole(number) => kept.push(number),
                Meta::Flag(yes) => kept.push(u64::from(yes)),
                _ => return Ok(Meta::Long),
            }
        }
        Ok(Meta::Wholes(kept))
    }

    /// A tensor with its shape.
    fn tensor(&mut self) -> Result<(StoredTensor, Vec<u64>), String> {
        let (name, dimensions) = (self.name()?, self.u32()?);
        if dimensions > 8 {
            return Err(format!("{name} has {dimensions} dimensions"));
        }
        let mut shape = Vec::new();
        for _ in 0..dimensions {
            shape.push(self.u64()?);
        }
        let (of, _place) = (self.u32()?, self.u64()?);
        let Some((_, format, numbers, bytes)) = TYPES.iter().find(|(number, ..)| *number == of)
        else {
            return Err(format!("{name} is of the type {of} of ggml, which is not known here"));
        };
        let elements = shape.iter().try_fold(1_u64, |product, size| product.checked_mul(*size));
        let stored = elements.and_then(|count| (count / numbers).checked_mul(*bytes));
        let Some((elements, bytes)) = elements.zip(stored) else {
            return Err(format!("the shape of {name} is no shape"));
        };
        Ok((StoredTensor { name, elements, bytes, format }, shape))
    }
}

fn whole(number: i64) -> Meta {
    u64::try_from(number).map_or(Meta::Long, Meta::Whole)
}

/// The header of a file whose beginning this is; why it is none.
pub(super) fn header(start: &[u8]) -> Result<Header, String> {
    let Some(rest) = start.strip_prefix(MAGIC) else { return Err("it is no GGUF file".to_owned()) };
    let mut cursor = Cursor { rest };
    match cursor.u32()? {
        2 | 3 => {}
        version => {
            return Err(format!(
                "it is of version {version} of GGUF: 2 and 3 are known, in the order of bytes of \
                 usual machines"
            ));
        }
    }
    let (tensors, keys) = (cursor.u64()?, cursor.u64()?);
    if tensors > MOST_TENSORS || keys > MOST_KEYS {
        return Err(format!("it would have {tensors} tensors and {keys} keys"));
    }
    let mut header = Header::default();
    for _ in 0..keys {
        let name = cursor.name()?;
        let of = cursor.u32()?;
        header.keys.push((name, cursor.value(of)?));
    }
    for _ in 0..tensors {
        let (tensor, shape) = cursor.tensor()?;
        header.tensors.push(tensor);
        header.shapes.push(shape);
    }
    Ok(header)
}
