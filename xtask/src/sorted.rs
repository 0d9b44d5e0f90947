//! A program's instructions, sorted by what they are, for a packer: it predicts a byte from those before, and an address says little
//! about the instruction behind it. Sorted, the page's program packs a twentieth smaller. No tool that is kept does so for WebAssembly.
//!
//! All bytes stay as they are and only change places, so that a script of forty lines puts them back ([`UNSORTED`]).

use crate::shell::Outcome;

/// Where bytes go: a pile for each kind of operand. Instructions have one of their own, and what fits nowhere else the first.
#[derive(Clone, Copy)]
enum Pile {
    Rest,
    Block,
    Branch,
    Local,
    Address,
    Constant,
    Long,
    Real,
    Call,
    Instruction,
}

/// How many piles there are.
const PILES: usize = Pile::Instruction as usize + 1;

/// The piles of an instruction's operands, each of variable length; `None` of an instruction that programs of Rust do not have. Those
/// with further bytes are told in [`Sorter::further`].
const fn operands(instruction: u8) -> Option<&'static [Pile]> {
    Some(match instruction {
        0x02..=0x04 => &[Pile::Block],
        0x0c | 0x0d => &[Pile::Branch],
        0x10 => &[Pile::Call],
        0x11 => &[Pile::Rest, Pile::Rest],
        0x20..=0x22 => &[Pile::Local],
        0x28..=0x3e => &[Pile::Address, Pile::Address],
        0x41 => &[Pile::Constant],
        0x42 => &[Pile::Long],
        0x23..=0x26 | 0x3f | 0x40 | 0xd0 | 0xd2 => &[Pile::Rest],
        0x00 | 0x01 | 0x05 | 0x0b | 0x0e | 0x0f | 0x1a | 0x1b | 0x43..=0xc4 | 0xd1 | 0xfc => &[],
        _ => return None,
    })
}

/// How many numbers follow an instruction with a prefix.
const fn behind_prefix(number: u64) -> Option<usize> {
    match number {
        0..=7 => Some(0),
        9 | 11 | 13 | 15..=17 => Some(1),
        8 | 10 | 12 | 14 => Some(2),
        _ => None,
    }
}

struct Sorter<'a> {
    rest: &'a [u8],
    piles: [Vec<u8>; PILES],
}

impl Sorter<'_> {
    /// Moves so many bytes to a pile.
    fn fixed(&mut self, pile: Pile, count: usize) -> Option<()> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.piles[pile as usize].extend(bytes);
        self.rest = rest;
        Some(())
    }

    /// Moves a number of variable length to a pile, and tells it.
    fn number(&mut self, pile: Pile) -> Option<u64> {
        let length = self.rest.iter().position(|byte| byte & 0x80 == 0)? + 1;
        let number = self.rest[..length].iter().rev().fold(0, |number: u64, byte| number << 7 | u64::from(byte & 0x7f));
        self.fixed(pile, length)?;
        Some(number)
    }

    /// Moves all that follows an instruction beside its operands.
    fn further(&mut self, instruction: u8) -> Option<()> {
        match instruction {
            0x0e => {
                let count = self.number(Pile::Branch)?;
                (0..=count).try_for_each(|_| self.number(Pile::Branch).map(drop))
            }
            0x43 => self.fixed(Pile::Real, 4),
            0x44 => self.fixed(Pile::Real, 8),
            0xfc => {
                let count = behind_prefix(self.number(Pile::Rest)?)?;
                (0..count).try_for_each(|_| self.number(Pile::Rest).map(drop))
            }
            _ => Some(()),
        }
    }

    /// A function: its length, its locals, and its instructions up to the end that belongs to it.
    fn function(&mut self) -> Option<()> {
        self.number(Pile::Rest)?;
        let locals = self.number(Pile::Rest)?;
        (0..2 * locals).try_for_each(|_| self.number(Pile::Rest).map(drop))?;
        let mut depth = 1;
        while depth > 0 {
            let instruction = *self.rest.first()?;
            self.fixed(Pile::Instruction, 1)?;
            match instruction {
                0x02..=0x04 => depth += 1,
                0x0b => depth -= 1,
                _ => {}
            }
            operands(instruction)?.iter().try_for_each(|pile| self.number(*pile).map(drop))?;
            self.further(instruction)?;
        }
        Some(())
    }
}

/// The program's bytes, sorted: how many lie before its functions, behind them and in each pile, and then these.
///
/// # Errors
/// When it is no program, or has an instruction that is not known here.
pub fn sorted(program: &[u8]) -> Outcome<Vec<u8>> {
    sort(program).ok_or_else(|| "the program has an instruction that xtask/src/sorted.rs does not know.".to_owned())
}

fn sort(program: &[u8]) -> Option<Vec<u8>> {
    let mut sorter = Sorter { rest: program, piles: Default::default() };
    sorter.fixed(Pile::Rest, 8)?;
    // Sections in front of the code.
    loop {
        let section = *sorter.rest.first()?;
        sorter.fixed(Pile::Rest, 1)?;
        let length = usize::try_from(sorter.number(Pile::Rest)?).ok()?;
        if section == 10 {
            break;
        }
        sorter.fixed(Pile::Rest, length)?;
    }
    let functions = sorter.number(Pile::Rest)?;
    let before = std::mem::take(&mut sorter.piles[Pile::Rest as usize]);
    (0..functions).try_for_each(|_| sorter.function())?;
    let parts = [before.as_slice(), sorter.rest].into_iter().chain(sorter.piles.iter().map(Vec::as_slice));
    let lengths = parts.clone().map(|part| u32::try_from(part.len()).ok()).collect::<Option<Vec<u32>>>()?;
    let mut bytes: Vec<u8> = lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
    parts.for_each(|part| bytes.extend(part));
    Some(bytes)
}

/// The script that puts them back; it knows the operands of each instruction from here.
pub fn unsorted() -> String {
    let letter = |instruction: u8| match operands(instruction) {
        Some([]) | None => ' ',
        Some([pile]) => char::from(b'0' + *pile as u8),
        // Two operands lie on one pile.
        Some([pile, ..]) => char::from(b'A' + *pile as u8),
    };
    let operands: String = (0..=u8::MAX).map(letter).collect();
    let behind: String = (0..).map_while(behind_prefix).map(|count| count.to_string()).collect();
    let lengths = (2 + PILES) * size_of::<u32>();
    let number = |pile: Pile| (pile as usize).to_string();
    [
        ("OPERANDS", operands.trim_end().to_owned()),
        ("BEHIND", behind),
        ("LENGTHS", lengths.to_string()),
        ("REST", number(Pile::Rest)),
        ("BRANCH", number(Pile::Branch)),
        ("REAL", number(Pile::Real)),
        ("INSTRUCTION", number(Pile::Instruction)),
    ]
    .iter()
    .fold(UNSORTED.to_owned(), |script, (name, value)| script.replace(name, value))
}

/// `unsorted` turns sorted bytes into the program again.
const UNSORTED: &str = "const unsorted = (sorted) => {
const operands = \"OPERANDS\";
const lengths = new Uint32Array(sorted.slice(0, LENGTHS).buffer);
let from = LENGTHS;
const parts = Array.from(lengths, (length) => sorted.subarray(from, from += length));
const [before, behind, ...piles] = parts;
const places = piles.map(() => 0);
const program = new Uint8Array(sorted.length - LENGTHS);
let to = before.length;
program.set(before);
const fixed = (pile, count) => {
while (count--) program[to++] = piles[pile][places[pile]++];
};
const number = (pile) => {
let value = 0, shift = 0, byte;
do {
byte = program[to++] = piles[pile][places[pile]++];
value |= (byte & 127) << shift;
shift += 7;
} while (byte > 127);
return value;
};
while (to < program.length - behind.length) {
number(REST);
for (let locals = 2 * number(REST); locals--;) number(REST);
for (let depth = 1; depth;) {
const instruction = program[to++] = piles[INSTRUCTION][places[INSTRUCTION]++];
if (instruction > 1 && instruction < 5) depth++;
if (instruction === 11) depth--;
const operand = operands.charCodeAt(instruction);
if (operand >= 65) { number(operand - 65); number(operand - 65); }
else if (operand >= 48) number(operand - 48);
else if (instruction === 14) for (let count = number(BRANCH) + 1; count--;) number(BRANCH);
else if (instruction === 67) fixed(REAL, 4);
else if (instruction === 68) fixed(REAL, 8);
else if (instruction === 252) for (let count = +\"BEHIND\"[number(REST)]; count--;) number(REST);
}
}
program.set(behind, to);
return program;
};
";

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::{sorted, unsorted};
    use crate::program::Scratch;

    /// A program whose one function has operands of every kind: one section before the code, one behind.
    const PROGRAM: &[u8] = &[
        0, b'a', b's', b'm', 1, 0, 0, 0, 1, 2, 3, 4, 10, 47, 1, 45, 1, 2, 0x7f, 0x02, 0x40, 0x03, 0x7f, 0x41, 0x80, 0x01, 0x42,
        5, 0x43, 1, 2, 3, 4, 0x44, 1, 2, 3, 4, 5, 6, 7, 8, 0x28, 2, 16, 0x20, 1, 0x10, 7, 0x0e, 1, 0, 1, 0xfc, 10, 0, 0, 0xfc, 1,
        0x0b, 0x0b, 0x0b, 11, 1, 9,
    ];

    #[test]
    fn the_script_puts_every_byte_back() {
        let (script, bytes) = (Scratch::new("unsorted.mjs"), Scratch::new("sorted"));
        fs::write(&bytes.0, sorted(PROGRAM).unwrap()).unwrap();
        let read = "import { readFileSync } from \"node:fs\";\nconst sorted = new Uint8Array(readFileSync(process.argv[2]));\n";
        let text = format!("{read}{}console.log(unsorted(sorted).join(\" \"));\n", unsorted());
        fs::write(&script.0, text).unwrap();
        let told = Command::new("node").arg(&script.0).arg(&bytes.0).output().unwrap();
        let expected: Vec<String> = PROGRAM.iter().map(ToString::to_string).collect();
        assert_eq!(String::from_utf8_lossy(&told.stdout).trim(), expected.join(" "), "{}", String::from_utf8_lossy(&told.stderr));
    }

    #[test]
    fn an_unknown_instruction_is_named() {
        let mut program = PROGRAM.to_vec();
        let block = program.iter().position(|byte| *byte == 0x40).unwrap();
        program[block + 1] = 0xfd;
        assert!(sorted(&program).is_err());
        assert!(sorted(&PROGRAM[..20]).is_err());
    }
}
