//! How programs are packed, and the script that unpacks them.
//!
//! LZMA leaves a tenth less of a program than Zstandard: it predicts every bit from those before. Browsers do not unpack it themselves.

use liblzma::stream::{LzmaOptions, Stream};
use liblzma::write::XzEncoder;

use std::io::Write as _;

use crate::program::read_source;
use crate::shell::Outcome;
use crate::sorted::{sorted, unsorted};

/// Where the decoder's modules lie, each behind those that it needs: files of the npm package lzma1.
const MODULES: [&str; 5] = ["utils", "lz-window", "range-decoder", "streams", "decoder"];

/// The script's own part: packed bytes become the program.
const UNLZMA: &str = "const unlzma = (packed) => {
const output = new OutputBuffer(4 * packed.length);
new Decoder().decompress(new InputBuffer(packed), output);
return unsorted(output.toArray());
};
";

/// The end of the script where it is a file of its own: a module, and a worker that unpacks the
/// files it is sent.
pub const IN_WORKER: &str = "export { unlzma };
if (!self.document) self.onmessage = ({ data }) => {
const program = unlzma(data);
self.postMessage(program, [program.buffer]);
};
";

/// How far the packer may look back, in bytes: further than a program is long.
const DICTIONARY: u32 = 1 << 23;

/// A program in LZMA, its instructions sorted by their kind.
///
/// # Errors
/// When it cannot be packed.
pub fn tightly_packed(program: &[u8]) -> Outcome<Vec<u8>> {
    lzma(&sorted(program)?)
}

/// Bytes in LZMA. A byte is predicted from two bits of the byte before, because three take 700 bytes
/// more: a pile is short, and each context then learns from fewer bytes. Matches are predicted from
/// one bit of the position, which saves 340 bytes.
fn lzma(bytes: &[u8]) -> Outcome<Vec<u8>> {
    let failed = |error: std::io::Error| format!("the program cannot be packed: {error}.");
    let mut options = LzmaOptions::new_preset(9 | liblzma::stream::PRESET_EXTREME).map_err(|error| failed(error.into()))?;
    options.dict_size(DICTIONARY).literal_context_bits(2).literal_position_bits(0).position_bits(1).nice_len(273);
    let stream = Stream::new_lzma_encoder(&options).map_err(|error| failed(error.into()))?;
    let mut packer = XzEncoder::new_stream(Vec::new(), stream);
    packer.write_all(bytes).map_err(failed)?;
    packer.finish().map_err(failed)
}

/// A script that declares `unlzma`: the decoder's modules one behind the other, without their imports and exports.
///
/// # Errors
/// When a module cannot be read.
pub fn script() -> Outcome<String> {
    let mut script = String::new();
    for module in MODULES {
        let text = read_source(&format!("tests/e2e/node_modules/lzma1/lib/{module}.js"))?;
        script.push_str(&without_modules(&text));
    }
    script.push_str(&unsorted());
    script.push_str(UNLZMA);
    Ok(script)
}

/// A module's text as part of another one; its imports stand in one line each.
fn without_modules(text: &str) -> String {
    let mut script = String::with_capacity(text.len());
    for line in text.lines().filter(|line| !line.starts_with("import ")) {
        script.push_str(line.strip_prefix("export ").unwrap_or(line));
        script.push('\n');
    }
    script
}

#[cfg(test)]
mod tests {
    use super::{lzma, without_modules};

    #[test]
    fn a_module_becomes_part_of_a_script() {
        let module = "import { a, } from \"./a.js\";\nexport class B {\n}\nexport const C = a;\nconst d = 1;\n";
        assert_eq!(without_modules(module), "class B {\n}\nconst C = a;\nconst d = 1;\n");
    }

    #[test]
    fn what_repeats_is_packed_and_begins_as_the_decoder_expects() {
        let packed = lzma(&[7; 10_000]).unwrap();
        assert!(packed.len() < 100, "{}", packed.len());
        // Two bits of context and one of the position: the first byte is 2 + 9 · (0 + 5 · 1).
        assert_eq!(packed[0], 47);
    }
}
