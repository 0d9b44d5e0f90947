//! Which of the program's constants only the second part needs.
//!
//! The linker, told to keep its relocations, writes down every object of the data with its place, and every place in code and data that
//! holds an object's address. What no function of the first part reaches, directly or through other objects, comes with the second.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use wasmparser::{
    DataKind, DataSectionReader, DefinedDataSymbol, KnownCustom, Linking, Name, Operator, Parser, Payload, RelocSectionReader,
    RelocationType, SymbolInfo,
};

use crate::shell::Outcome;

type Result<T = ()> = wasmparser::Result<T>;

/// The objects of a program's data, and who holds their addresses.
#[derive(Debug, Default)]
pub struct Objects {
    /// The addresses of each object, by its number in the linker's table.
    places: BTreeMap<u32, Range<u32>>,
    /// The objects that each function names.
    named: BTreeMap<String, BTreeSet<u32>>,
    /// The objects whose address lies in the data, by where it lies.
    held: BTreeMap<u32, u32>,
}

impl Objects {
    /// Reads what the linker left, before wasm-bindgen's work, which moves code but no data.
    ///
    /// # Errors
    /// When it is no WebAssembly, or was linked without relocations.
    pub fn read(linked: &[u8]) -> Outcome<Self> {
        let mut reading = Reading::default();
        for payload in Parser::new(0).parse_all(linked) {
            payload
                .and_then(|payload| reading.take(payload))
                .map_err(|error| format!("the linked program cannot be read: {error}."))?;
        }
        let objects = reading.objects();
        if objects.places.is_empty() {
            return Err("the linked program says nothing of its data: build.rs asks the linker for relocations.".to_owned());
        }
        Ok(objects)
    }

    /// The addresses of what a part of the program does not reach, in order and without overlap; `functions` are its functions with the
    /// numbers in their code, which count where they are addresses.
    pub fn not_reached<'a>(&self, functions: impl Iterator<Item = (&'a str, &'a BTreeSet<u32>)>) -> Vec<Range<u32>> {
        let starts: BTreeMap<u32, u32> = self.places.iter().map(|(object, place)| (place.start, *object)).collect();
        let holds = |object: &u32, address: u32| self.places.get(object).is_some_and(|place| place.contains(&address));
        let at = |address: u32| {
            let (_, object) = starts.range(..=address).next_back()?;
            holds(object, address).then_some(*object)
        };
        let mut waiting: Vec<u32> = Vec::new();
        for (name, numbers) in functions {
            waiting.extend(self.named.get(name).into_iter().flatten());
            waiting.extend(numbers.iter().filter_map(|number| at(*number)));
        }
        let mut reached = BTreeSet::new();
        while let Some(object) = waiting.pop() {
            if reached.insert(object)
                && let Some(place) = self.places.get(&object)
            {
                waiting.extend(self.held.range(place.clone()).map(|(_, held)| *held));
            }
        }
        let kept: Vec<Range<u32>> = reached.iter().filter_map(|object| self.places.get(object).cloned()).collect();
        without(joined(self.places.values().cloned().collect()), &joined(kept))
    }
}

/// Ranges in order, those that touch as one.
fn joined(mut ranges: Vec<Range<u32>>) -> Vec<Range<u32>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u32>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// What is left of ranges in order without others in order.
fn without(ranges: Vec<Range<u32>>, taken: &[Range<u32>]) -> Vec<Range<u32>> {
    let mut left = Vec::new();
    for range in ranges {
        let mut at = range.start;
        for hole in taken.iter().filter(|hole| hole.start < range.end && hole.end > range.start) {
            left.push(at..hole.start.max(at));
            at = hole.end.min(range.end);
        }
        left.push(at..range.end);
    }
    left.retain(|range| !range.is_empty());
    left
}

/// What is gathered while a program is read.
#[derive(Default)]
struct Reading {
    section: u32,
    imported: u32,
    names: BTreeMap<u32, String>,
    /// Where each function's body lies in its section, and that section's number.
    bodies: Vec<Range<u64>>,
    code: (u32, u64),
    /// Where each segment's bytes lie in the data section, their address, and that section's number.
    segments: Vec<(Range<u64>, u32)>,
    data: (u32, u64),
    symbols: Vec<Option<DefinedDataSymbol>>,
    /// Section, place in it, and the symbol whose address is there.
    addresses: Vec<(u32, u64, u32)>,
}

impl Reading {
    fn take(&mut self, payload: Payload<'_>) -> Result {
        match payload {
            Payload::Version { .. } | Payload::End(_) => return Ok(()),
            Payload::CodeSectionEntry(body) => {
                let range = body.range();
                self.bodies.push(range.start - self.code.1..range.end - self.code.1);
                return Ok(());
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    self.imported += u32::from(matches!(import?.ty, wasmparser::TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionStart { unchecked_range: range, .. } => self.code = (self.section, range.start),
            Payload::DataSection(section) => self.take_data(section)?,
            Payload::CustomSection(section) => match section.as_known() {
                KnownCustom::Linking(linking) => {
                    for part in linking.subsections() {
                        self.take_linking(part?)?;
                    }
                }
                KnownCustom::Reloc(relocations) => self.take_relocations(&relocations)?,
                KnownCustom::Name(names) => {
                    for part in names {
                        self.take_names(part?)?;
                    }
                }
                _ => {}
            },
            _ => {}
        }
        self.section += 1;
        Ok(())
    }

    fn take_data(&mut self, section: DataSectionReader<'_>) -> Result {
        self.data = (self.section, section.range().start);
        for segment in section {
            let segment = segment?;
            let address = match &segment.kind {
                DataKind::Active { offset_expr, .. } => match offset_expr.get_operators_reader().read()? {
                    Operator::I32Const { value } => value.cast_unsigned(),
                    _ => 0,
                },
                DataKind::Passive => 0,
            };
            let end = segment.range.end - self.data.1;
            let length = u64::try_from(segment.data.len()).unwrap_or(u64::MAX);
            self.segments.push((end.saturating_sub(length)..end, address));
        }
        Ok(())
    }

    fn take_linking(&mut self, part: Linking<'_>) -> Result {
        if let Linking::SymbolTable(symbols) = part {
            for symbol in symbols {
                self.symbols.push(match symbol? {
                    SymbolInfo::Data { symbol, .. } => symbol,
                    _ => None,
                });
            }
        }
        Ok(())
    }

    fn take_relocations(&mut self, section: &RelocSectionReader<'_>) -> Result {
        for relocation in section.entries() {
            let relocation = relocation?;
            if matches!(
                relocation.ty,
                RelocationType::MemoryAddrLeb | RelocationType::MemoryAddrSleb | RelocationType::MemoryAddrI32
            ) {
                self.addresses.push((section.section_index(), u64::from(relocation.offset), relocation.index));
            }
        }
        Ok(())
    }

    fn take_names(&mut self, part: Name<'_>) -> Result {
        if let Name::Function(names) = part {
            for naming in names {
                let naming = naming?;
                // wasm-bindgen leaves names as a reader would write them.
                self.names.insert(naming.index, rustc_demangle::demangle(naming.name).to_string());
            }
        }
        Ok(())
    }

    fn objects(self) -> Objects {
        let mut objects = Objects::default();
        for (object, symbol) in (0..).zip(&self.symbols) {
            let Some((symbol, segment)) = symbol.and_then(|symbol| Some((symbol, self.segments.get(symbol.index as usize)?)))
            else {
                continue;
            };
            let start = segment.1 + symbol.offset;
            if symbol.size > 0 {
                objects.places.insert(object, start..start + symbol.size);
            }
        }
        for (section, place, object) in &self.addresses {
            if *section == self.code.0 {
                let body = self.bodies.partition_point(|body| body.end <= *place);
                let function = u32::try_from(body).unwrap_or(u32::MAX).saturating_add(self.imported);
                let name = self.names.get(&function).cloned().unwrap_or_default();
                objects.named.entry(name).or_default().insert(*object);
            } else if *section == self.data.0
                && let Some((bytes, address)) = self.segments.iter().find(|(bytes, _)| bytes.contains(place))
            {
                let within = u32::try_from(place - bytes.start).unwrap_or(u32::MAX);
                objects.held.insert(address.saturating_add(within), *object);
            }
        }
        objects
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of ranges are what is tested")]
mod tests {
    use std::borrow::Cow;
    use std::collections::BTreeSet;

    use wasm_encoder::{
        CodeSection, ConstExpr, CustomSection, DataSection, DataSymbolDefinition, Function, FunctionSection, Instruction,
        LinkingSection, MemorySection, MemoryType, Module, NameMap, NameSection, SymbolTable, TypeSection,
    };

    use super::{Objects, joined, without};

    /// Where the test's segment begins, and its objects: `a` points to `b`; nothing points to `c`.
    const START: u32 = 1024;
    const SIZES: [(&str, u32, u32); 3] = [("a", 0, 8), ("b", 8, 4), ("c", 12, 20)];

    /// A relocation's kind: an address in code as a signed number, and in data.
    const IN_CODE: u8 = 4;
    const IN_DATA: u8 = 5;

    fn relocations(name: &str, section: u8, entries: &[[u8; 3]]) -> CustomSection<'static> {
        let mut bytes = vec![section, u8::try_from(entries.len()).unwrap()];
        // Each entry ends with what is added to the address: nothing.
        bytes.extend(entries.iter().flat_map(|[kind, offset, symbol]| [*kind, *offset, *symbol, 0]));
        CustomSection { name: Cow::Owned(name.to_owned()), data: Cow::Owned(bytes) }
    }

    /// Two functions: `first` names `a`, `other` names `c`.
    fn program() -> Vec<u8> {
        let mut module = Module::new();
        let mut types = TypeSection::new();
        types.ty().function([], []);
        let mut functions = FunctionSection::new();
        let mut code = CodeSection::new();
        for address in [START, START + 12] {
            functions.function(0);
            let mut body = Function::new([]);
            body.instruction(&Instruction::I32Const(address.cast_signed()));
            body.instruction(&Instruction::Drop).instruction(&Instruction::End);
            code.function(&body);
        }
        let mut memories = MemorySection::new();
        memories.memory(MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None });
        let mut data = DataSection::new();
        data.active(0, &ConstExpr::i32_const(START.cast_signed()), [7; 32]);
        let mut symbols = SymbolTable::new();
        for (name, offset, size) in SIZES {
            symbols.data(0, name, Some(DataSymbolDefinition { index: 0, offset, size }));
        }
        let mut linking = LinkingSection::new();
        linking.symbol_table(&symbols);
        let mut names = NameMap::new();
        names.append(0, "first");
        names.append(1, "other");
        let mut name_section = NameSection::new();
        name_section.functions(&names);
        // In the code section a body follows the count and its own size, and begins with its locals and the instruction's byte; the
        // segment's bytes follow the count, a flag, their address in four bytes and their length.
        module.section(&types).section(&functions).section(&memories).section(&code).section(&data).section(&linking);
        module.section(&relocations("reloc.CODE", 3, &[[IN_CODE, 4, 0], [IN_CODE, 12, 2]]));
        module.section(&relocations("reloc.DATA", 4, &[[IN_DATA, 7, 1]]));
        module.section(&name_section);
        module.finish()
    }

    #[test]
    fn what_a_function_names_and_what_that_holds_is_reached() {
        let objects = Objects::read(&program()).unwrap();
        let none = BTreeSet::new();
        let left = |names: &[&str]| objects.not_reached(names.iter().map(|name| (*name, &none)));
        assert_eq!(left(&["first"]), [START + 12..START + 32], "b is reached through a");
        assert_eq!(left(&["other"]), [START..START + 12]);
        assert_eq!(left(&["first", "other"]), []);
        assert_eq!(left(&["unknown"]), [START..START + 32]);
        // A function that the linker did not know, but that holds an address.
        let numbers = BTreeSet::from([3, START + 20, START + 900]);
        assert_eq!(objects.not_reached([("unknown", &numbers)].into_iter()), [START..START + 12]);
    }

    #[test]
    fn without_relocations_it_says_so() {
        assert!(Objects::read(b"\0asm\x01\0\0\0").unwrap_err().contains("relocations"));
        assert!(Objects::read(b"<html>").is_err());
    }

    #[test]
    fn ranges_are_joined_and_taken_away() {
        assert_eq!(joined(vec![8..12, 0..4, 4..6, 9..10]), [0..6, 8..12]);
        assert_eq!(without(vec![0..10, 20..30], &[2..4, 8..22, 29..40]), [0..2, 4..8, 22..29]);
        assert_eq!(without(vec![0..10], &[0..10]), []);
    }
}
