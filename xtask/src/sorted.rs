//! A program's instructions, sorted by what they are, for a packer: it predicts a byte from those
//! before, and an address says little about the instruction behind it. Sorted, the page's program
//! packs a twelfth smaller. No tool that is kept does so for WebAssembly.
//!
//! All bytes stay as they are and only change places, so that a script of forty lines puts them
//! back ([`UNSORTED`]).

use crate::shell::Outcome;

/// How many piles there are: two for each instruction, as it has up to two kinds of operands. What
/// instructions have in common is told by each of them in another way, so that each has piles of
/// its own.
const PILES: usize = 2 * SECOND;

/// How far the pile of second operands lies behind that of the first.
const SECOND: usize = 256;

/// Piles of what is no operand, in the place of instructions that no program has: a function's
/// length, how many groups of locals it has and these, and the instructions themselves.
const LENGTH: usize = 6;
const GROUPS: usize = LENGTH + SECOND;
const LOCALS: usize = 7;
const INSTRUCTION: usize = 8;

/// How many operands of variable length an instruction has; `None` of an instruction that programs
/// of Rust do not have. Those with further bytes are told in [`Sorter::further`].
const fn operands(instruction: u8) -> Option<usize> {
    Some(match instruction {
        0x02..=0x04 | 0x0c | 0x0d | 0x10 | 0x20..=0x26 | 0x3f..=0x42 | 0xd0 | 0xd2 => 1,
        0x11 | 0x28..=0x3e => 2,
        0x00 | 0x01 | 0x05 | 0x0b | 0x0e | 0x0f | 0x1a | 0x1b | 0x43..=0xc4 | 0xd1 | 0xfc => 0,
        _ => return None,
    })
}

/// How many numbers follow an instruction with a prefix.
const fn behind_prefix(number: usize) -> Option<usize> {
    match number {
        0..=7 => Some(0),
        9 | 11 | 13 | 15..=17 => Some(1),
        8 | 10 | 12 | 14 => Some(2),
        _ => None,
    }
}

struct Sorter<'a> {
    rest: &'a [u8],
    piles: Vec<Vec<u8>>,
}

impl<'a> Sorter<'a> {
    /// Takes so many bytes off the program.
    fn taken(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }

    /// Takes a number of variable length off the program, with what it says.
    fn number(&mut self) -> Option<(&'a [u8], usize)> {
        let length = self.rest.iter().position(|byte| byte & 0x80 == 0)? + 1;
        let bytes = self.taken(length)?;
        let number = bytes
            .iter()
            .rev()
            .fold(0, |number: usize, byte| number << 7 | usize::from(byte & 0x7f));
        Some((bytes, number))
    }

    /// Moves so many bytes to a pile.
    fn fixed(&mut self, pile: usize, count: usize) -> Option<()> {
        let bytes = self.taken(count)?;
        self.piles[pile].extend(bytes);
        Some(())
    }

    /// Moves a number of variable length to a pile, and tells it.
    fn moved(&mut self, pile: usize) -> Option<usize> {
        let (bytes, number) = self.number()?;
        self.piles[pile].extend(bytes);
        Some(number)
    }

    /// Moves all that follows an instruction beside its operands.
    fn further(&mut self, instruction: u8) -> Option<()> {
        let first = usize::from(instruction);
        match instruction {
            0x0e => {
                let count = self.moved(first)?;
                (0..=count).try_for_each(|_| self.moved(first + SECOND).map(drop))
            }
            0x43 => self.fixed(first, 4),
            0x44 => self.fixed(first, 8),
            0xfc => {
                let count = behind_prefix(self.moved(first)?)?;
                (0..count).try_for_each(|_| self.moved(first + SECOND).map(drop))
            }
            _ => Some(()),
        }
    }

    /// A function: its length, its locals, and its instructions up to the end that belongs to it.
    fn function(&mut self) -> Option<()> {
        self.moved(LENGTH)?;
        let groups = self.moved(GROUPS)?;
        (0..2 * groups).try_for_each(|_| self.moved(LOCALS).map(drop))?;
        let mut depth = 1;
        while depth > 0 {
            let instruction = *self.rest.first()?;
            self.fixed(INSTRUCTION, 1)?;
            match instruction {
                0x02..=0x04 => depth += 1,
                0x0b => depth -= 1,
                _ => {}
            }
            (0..operands(instruction)?)
                .try_for_each(|at| self.moved(usize::from(instruction) + at * SECOND).map(drop))?;
            self.further(instruction)?;
        }
        Some(())
    }
}

/// The program's bytes, sorted: how many lie before its functions, behind them and in each pile,
/// and then these.
///
/// # Errors
/// When it is no program, or has an instruction that is not known here.
pub fn sorted(program: &[u8]) -> Outcome<Vec<u8>> {
    sort(program).ok_or_else(|| {
        "the program has an instruction that xtask/src/sorted.rs does not know.".to_owned()
    })
}

fn sort(program: &[u8]) -> Option<Vec<u8>> {
    let mut sorter = Sorter { rest: program, piles: vec![Vec::new(); PILES] };
    sorter.taken(8)?;
    // Sections in front of the code.
    loop {
        let section = sorter.taken(1)?;
        let (_, length) = sorter.number()?;
        if section == [10] {
            break;
        }
        sorter.taken(length)?;
    }
    let (_, functions) = sorter.number()?;
    let before = &program[..program.len() - sorter.rest.len()];
    (0..functions).try_for_each(|_| sorter.function())?;
    let parts = [before, sorter.rest].into_iter().chain(sorter.piles.iter().map(Vec::as_slice));
    let lengths =
        parts.clone().map(|part| u32::try_from(part.len()).ok()).collect::<Option<Vec<u32>>>()?;
    let mut bytes: Vec<u8> = lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
    parts.for_each(|part| bytes.extend(part));
    Some(bytes)
}

/// The script that puts them back; it knows the operands of each instruction from here.
pub fn unsorted() -> String {
    let letter = |instruction: u8| {
        char::from(b'0' + u8::try_from(operands(instruction).unwrap_or(0)).unwrap_or(0))
    };
    let operands: String = (0..=u8::MAX).map(letter).collect();
    let behind: String = (0..).map_while(behind_prefix).map(|count| count.to_string()).collect();
    [
        ("OPERANDS", operands.trim_end_matches('0').to_owned()),
        ("BEHIND", behind),
        ("START", ((2 + PILES) * size_of::<u32>()).to_string()),
        ("SECOND", SECOND.to_string()),
        ("LENGTH", LENGTH.to_string()),
        ("GROUPS", GROUPS.to_string()),
        ("LOCALS", LOCALS.to_string()),
        ("INSTRUCTION", INSTRUCTION.to_string()),
    ]
    .iter()
    .fold(UNSORTED.to_owned(), |script, (name, value)| script.replace(name, value))
}

/// `unsorted` turns sorted bytes into the program again.
const UNSORTED: &str = "const unsorted = (sorted) => {
const operands = \"OPERANDS\";
const lengths = new Uint32Array(sorted.slice(0, START).buffer);
let from = START;
const parts = Array.from(lengths, (length) => sorted.subarray(from, from += length));
const [before, behind, ...piles] = parts;
const places = piles.map(() => 0);
const program = new Uint8Array(sorted.length - START);
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
number(LENGTH);
for (let locals = 2 * number(GROUPS); locals--;) number(LOCALS);
for (let depth = 1; depth;) {
const instruction = program[to++] = piles[INSTRUCTION][places[INSTRUCTION]++];
if (instruction > 1 && instruction < 5) depth++;
if (instruction === 11) depth--;
for (let count = +(operands[instruction] ?? 0), at = 0; at < count; at++) number(instruction + at * SECOND);
if (instruction === 14) for (let count = number(14) + 1; count--;) number(14 + SECOND);
else if (instruction === 67) fixed(67, 4);
else if (instruction === 68) fixed(68, 8);
else if (instruction === 252) for (let count = +\"BEHIND\"[number(252)]; count--;) number(252 + SECOND);
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

    /// A program whose one function has operands of every kind: one section before the code, one
    /// behind.
    const PROGRAM: &[u8] = &[
        0, b'a', b's', b'm', 1, 0, 0, 0, 1, 2, 3, 4, 10, 47, 1, 45, 1, 2, 0x7f, 0x02, 0x40, 0x03,
        0x7f, 0x41, 0x80, 0x01, 0x42, 5, 0x43, 1, 2, 3, 4, 0x44, 1, 2, 3, 4, 5, 6, 7, 8, 0x28, 2,
        16, 0x20, 1, 0x10, 7, 0x0e, 1, 0, 1, 0xfc, 10, 0, 0, 0xfc, 1, 0x0b, 0x0b, 0x0b, 11, 1, 9,
    ];

    #[test]
    fn the_script_puts_every_byte_back() {
        let (script, bytes) = (Scratch::new("unsorted.mjs"), Scratch::new("sorted"));
        fs::write(&bytes.0, sorted(PROGRAM).unwrap()).unwrap();
        let read = "import { readFileSync } from \"node:fs\";\nconst sorted = new \
            Uint8Array(readFileSync(process.argv[2]));\n";
        let text = format!("{read}{}console.log(unsorted(sorted).join(\" \"));\n", unsorted());
        fs::write(&script.0, text).unwrap();
        let told = Command::new("node").arg(&script.0).arg(&bytes.0).output().unwrap();
        let expected: Vec<String> = PROGRAM.iter().map(ToString::to_string).collect();
        assert_eq!(
            String::from_utf8_lossy(&told.stdout).trim(),
            expected.join(" "),
            "{}",
            String::from_utf8_lossy(&told.stderr)
        );
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
