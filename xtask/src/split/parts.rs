//! Writing the two parts of a program, and the one that counts what runs.
//!
//! What the first part lends to the second lies in a table of its own, because a name for each would be most of its exports.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::ops::Range;

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{
    CodeSection, ConstExpr, CustomSection, DataSection, ElementSection, Elements, EntityType, ExportKind, ExportSection,
    Function, FunctionSection, ImportSection, Instruction, Module, RefType, TableSection, TableType, TypeSection, ValType,
};
use wasmparser::{
    CustomSectionReader, Data, DataKind, DataSectionReader, ElementSectionReader, ExportSectionReader, FunctionBody,
    ImportSectionReader, Operator, Parser, Payload, TableSectionReader, TypeSectionReader,
};

use super::read::{Program, Table};

type Result<T = ()> = std::result::Result<T, Error>;

/// The modules that each part imports from: what loads the second part, and the first part.
const LATER: &str = "later";
const FIRST: &str = "first";

/// The table of what the first part lends. The start script offers what lies in it to the second part as `f0`, `f1` ...
pub const LENT: &str = "lent";

/// Which functions come later, and how the two parts reach each other.
#[derive(Debug)]
pub struct Cut<'a> {
    program: &'a Program,
    table: Table,
    nothing: u32,
    /// Functions of the second part, with their place in it.
    later: BTreeMap<u32, u32>,
    /// Functions of the second part that the first can call, with their place in the table.
    bridged: BTreeMap<u32, u32>,
    /// Functions of the first part that the second calls, with their place among its imports.
    lent: BTreeMap<u32, u32>,
    /// Addresses of what only the second part reads.
    data: Vec<Range<u32>>,
}

impl<'a> Cut<'a> {
    /// The cut that leaves `later` and `data` to the second part; nothing where the program has no table or no type to do it with.
    pub fn new(program: &'a Program, later: BTreeSet<u32>, data: Vec<Range<u32>>) -> Option<Self> {
        let (table, nothing) = (program.table?, program.nothing?);
        let kept = program.own().map(|(function, _)| function).filter(|function| !later.contains(function));
        let called: BTreeSet<u32> =
            kept.flat_map(|function| program.callees(function)).chain(program.open.iter().copied()).collect();
        let lent: BTreeSet<u32> =
            later.iter().flat_map(|function| program.callees(*function)).filter(|f| !later.contains(f)).collect();
        let numbered = |set: BTreeSet<u32>, from: u32| set.into_iter().zip(from..).collect::<BTreeMap<_, _>>();
        let bridged = numbered(called.intersection(&later).copied().collect(), table.length);
        let later = numbered(later, u32::try_from(lent.len()).unwrap_or(0));
        Some(Self { program, table, nothing, later, bridged, lent: numbered(lent, 0), data })
    }

    /// Both parts of a program.
    pub fn parts(&self, bytes: &[u8]) -> std::result::Result<(Vec<u8>, Vec<u8>), String> {
        let failed = |error: Error| format!("the program cannot be split: {error}.");
        let mut first = Module::new();
        FirstPart { cut: self, at: self.program.imported }
            .parse_core_module(&mut first, Parser::new(0), bytes)
            .map_err(failed)?;
        let second = LaterPart { cut: self }.module(bytes).map_err(failed)?;
        Ok((first.finish(), second.finish()))
    }

    /// The pieces of a segment: where each begins in it, how long it is, and whether it comes later.
    fn pieces(&self, address: u32, length: u32) -> Vec<(Range<u32>, bool)> {
        let end = address.saturating_add(length);
        let (mut pieces, mut at) = (Vec::new(), address);
        for later in self.data.iter().filter(|range| range.start < end && range.end > address) {
            let (from, to) = (later.start.max(at), later.end.min(end));
            pieces.push((at..from, false));
            pieces.push((from..to, true));
            at = to;
        }
        pieces.push((at..end, false));
        pieces.retain(|(range, _)| !range.is_empty());
        pieces
    }

    /// Adds the pieces of a segment that belong to that part.
    fn add_pieces(&self, data: &mut DataSection, segment: &Data<'_>, later: bool) -> Result {
        let Some((memory, address)) = active(segment)? else { return Ok(()) };
        let length = u32::try_from(segment.data.len()).unwrap_or(u32::MAX);
        for (piece, _) in self.pieces(address, length).into_iter().filter(|(_, comes_later)| *comes_later == later) {
            let (from, to) = ((piece.start - address) as usize, (piece.end - address) as usize);
            let bytes = segment.data.get(from..to).unwrap_or_default();
            data.active(memory, &ConstExpr::i32_const(piece.start.cast_signed()), bytes.iter().copied());
        }
        Ok(())
    }

    /// A function that loads the second part unless it is there, and then is the other one.
    fn bridge(&self, function: u32, slot: u32) -> Function {
        let slot = i32::try_from(slot).unwrap_or(i32::MAX);
        let kind = self.program.types.get(function as usize).copied().unwrap_or(0);
        let parameters = self.program.parameters.get(kind as usize).copied().unwrap_or(0);
        let mut bridge = Function::new([]);
        bridge.instruction(&Instruction::I32Const(slot));
        bridge.instruction(&Instruction::TableGet(self.table.index));
        bridge.instruction(&Instruction::RefIsNull);
        bridge.instruction(&Instruction::If(wasm_encoder::BlockType::Empty));
        bridge.instruction(&Instruction::Call(self.program.imported));
        bridge.instruction(&Instruction::End);
        for parameter in 0..parameters {
            bridge.instruction(&Instruction::LocalGet(parameter));
        }
        bridge.instruction(&Instruction::I32Const(slot));
        bridge.instruction(&Instruction::CallIndirect { type_index: kind, table_index: self.table.index });
        bridge.instruction(&Instruction::End);
        bridge
    }
}

/// Where a segment goes; nothing for one that the program copies itself.
fn active(segment: &Data<'_>) -> Result<Option<(u32, u32)>> {
    let DataKind::Active { memory_index, offset_expr } = &segment.kind else { return Ok(None) };
    Ok(match offset_expr.get_operators_reader().read()? {
        Operator::I32Const { value } => Some((*memory_index, value.cast_unsigned())),
        _ => None,
    })
}

/// The first part: the program with bridges in place of what comes later.
struct FirstPart<'a> {
    cut: &'a Cut<'a>,
    /// The function whose body is next.
    at: u32,
}

impl Reencode for FirstPart<'_> {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32> {
        Ok(if self.cut.program.owns(function) { function + 1 } else { function })
    }

    fn parse_import_section(&mut self, imports: &mut ImportSection, section: ImportSectionReader<'_>) -> Result {
        utils::parse_import_section(self, imports, section)?;
        imports.import(LATER, "load", EntityType::Function(self.cut.nothing));
        Ok(())
    }

    fn parse_table_section(&mut self, tables: &mut TableSection, section: TableSectionReader<'_>) -> Result {
        let more = u64::try_from(self.cut.bridged.len()).unwrap_or(0);
        for table in section {
            let mut table = table?;
            if table.ty.element_type.is_func_ref() {
                table.ty.initial += more;
                table.ty.maximum = table.ty.maximum.map(|most| most + more);
            }
            utils::parse_table(self, tables, table)?;
        }
        let lent = u64::try_from(self.cut.lent.len()).unwrap_or(0);
        let element_type = RefType::FUNCREF;
        tables.table(TableType { element_type, table64: false, minimum: lent, maximum: Some(lent), shared: false });
        Ok(())
    }

    fn parse_element_section(&mut self, elements: &mut ElementSection, section: ElementSectionReader<'_>) -> Result {
        utils::parse_element_section(self, elements, section)?;
        let lent = self.cut.lent.keys().map(|function| self.function_index(*function)).collect::<Result<Vec<u32>>>()?;
        elements.active(Some(self.cut.program.tables), &ConstExpr::i32_const(0), Elements::Functions(lent.into()));
        Ok(())
    }

    fn parse_export_section(&mut self, exports: &mut ExportSection, section: ExportSectionReader<'_>) -> Result {
        utils::parse_export_section(self, exports, section)?;
        let program = self.cut.program;
        for (kind, letter, count) in [
            (ExportKind::Table, "t", program.tables),
            (ExportKind::Memory, "m", program.memories),
            (ExportKind::Global, "g", program.globals),
        ] {
            for index in 0..count {
                exports.export(&format!("{letter}{index}"), kind, index);
            }
        }
        exports.export(LENT, ExportKind::Table, program.tables);
        Ok(())
    }

    fn parse_custom_section(&mut self, module: &mut Module, section: CustomSectionReader<'_>) -> Result {
        // What the linker says of addresses is read by now, and wrong from here on.
        let of_the_linker = section.name() == "linking" || section.name().starts_with("reloc.");
        if of_the_linker { Ok(()) } else { utils::parse_custom_section(self, module, section) }
    }

    fn parse_data_section(&mut self, data: &mut DataSection, section: DataSectionReader<'_>) -> Result {
        for segment in section {
            let segment = segment?;
            if active(&segment)?.is_some() {
                self.cut.add_pieces(data, &segment, false)?;
            } else {
                utils::parse_data(self, data, segment)?;
            }
        }
        Ok(())
    }

    fn parse_function_body(&mut self, code: &mut CodeSection, body: FunctionBody<'_>) -> Result {
        let function = self.at;
        self.at += 1;
        if let Some(slot) = self.cut.bridged.get(&function) {
            code.function(&self.cut.bridge(function, *slot));
        } else if self.cut.later.contains_key(&function) {
            // Nobody in this part calls it: wasm-opt takes it out.
            let mut nothing = Function::new([]);
            nothing.instruction(&Instruction::Unreachable);
            nothing.instruction(&Instruction::End);
            code.function(&nothing);
        } else {
            utils::parse_function_body(self, code, body)?;
        }
        Ok(())
    }
}

/// The second part: what comes later, on the memory and the tables of the first.
struct LaterPart<'a> {
    cut: &'a Cut<'a>,
}

impl Reencode for LaterPart<'_> {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32> {
        Ok(self.cut.later.get(&function).or_else(|| self.cut.lent.get(&function)).copied().unwrap_or(0))
    }
}

impl LaterPart<'_> {
    fn module(&mut self, bytes: &[u8]) -> Result<Module> {
        let (cut, program) = (self.cut, self.cut.program);
        let kind_of = |function: &u32| program.types.get(*function as usize).copied().unwrap_or(0);
        let (mut types, mut imports, mut functions) = (TypeSection::new(), ImportSection::new(), FunctionSection::new());
        let (mut elements, mut code, mut data) = (ElementSection::new(), CodeSection::new(), DataSection::new());
        for (function, place) in &cut.lent {
            imports.import(FIRST, &format!("f{place}"), EntityType::Function(kind_of(function)));
        }
        for function in cut.later.keys() {
            functions.function(kind_of(function));
        }
        let bridged = cut.bridged.keys().map(|function| self.function_index(*function)).collect::<Result<Vec<u32>>>()?;
        let from = ConstExpr::i32_const(i32::try_from(cut.table.length).unwrap_or(i32::MAX));
        elements.active(Some(cut.table.index), &from, Elements::Functions(bridged.into()));
        let mut features = None;
        let mut at = program.imported;
        for payload in Parser::new(0).parse_all(bytes) {
            match payload? {
                Payload::TypeSection(section) => self.parse_type_section(&mut types, section)?,
                Payload::TableSection(section) => {
                    for (index, table) in section.into_iter().enumerate() {
                        let kind = TableType { maximum: None, ..self.table_type(table?.ty)? };
                        imports.import(FIRST, &format!("t{index}"), kind);
                    }
                }
                Payload::MemorySection(section) => {
                    for (index, memory) in section.into_iter().enumerate() {
                        imports.import(FIRST, &format!("m{index}"), self.memory_type(memory?)?);
                    }
                }
                Payload::GlobalSection(section) => {
                    for (index, global) in section.into_iter().enumerate() {
                        imports.import(FIRST, &format!("g{index}"), self.global_type(global?.ty)?);
                    }
                }
                Payload::CodeSectionEntry(body) => {
                    if cut.later.contains_key(&at) {
                        self.parse_function_body(&mut code, body)?;
                    }
                    at += 1;
                }
                Payload::DataSection(section) => {
                    for segment in section {
                        cut.add_pieces(&mut data, &segment?, true)?;
                    }
                }
                Payload::CustomSection(section) if section.name() == FEATURES => features = Some(section.data()),
                _ => {}
            }
        }
        let mut module = Module::new();
        module.section(&types).section(&imports).section(&functions).section(&elements).section(&code).section(&data);
        if let Some(data) = features {
            module.section(&CustomSection { name: FEATURES.into(), data: data.into() });
        }
        Ok(module)
    }
}

/// Which features of WebAssembly the program uses: wasm-opt reads it here.
const FEATURES: &str = "target_features";

/// A program that reports each function when it runs.
///
/// # Errors
/// When it cannot be read or has no type to import the report with.
pub fn counting(program: &Program, bytes: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let mut module = Module::new();
    let mut counting = Counting { imported: program.imported, kind: u32::try_from(program.parameters.len()).unwrap_or(0), at: 0 };
    let done = counting.parse_core_module(&mut module, Parser::new(0), bytes);
    done.map_err(|error| format!("the program cannot be made to count: {error}."))?;
    Ok(module.finish())
}

/// Reencodes a program with a report at the start of each function.
struct Counting {
    imported: u32,
    /// The type of the report: one number, no result. It stands behind the program's own types.
    kind: u32,
    at: i32,
}

impl Reencode for Counting {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32> {
        Ok(if function >= self.imported { function + 1 } else { function })
    }

    fn parse_type_section(&mut self, types: &mut TypeSection, section: TypeSectionReader<'_>) -> Result {
        utils::parse_type_section(self, types, section)?;
        types.ty().function([ValType::I32], []);
        Ok(())
    }

    fn parse_import_section(&mut self, imports: &mut ImportSection, section: ImportSectionReader<'_>) -> Result {
        utils::parse_import_section(self, imports, section)?;
        imports.import(LATER, "ran", EntityType::Function(self.kind));
        Ok(())
    }

    fn parse_function_body(&mut self, code: &mut CodeSection, body: FunctionBody<'_>) -> Result {
        let mut function = self.new_function_with_parsed_locals(&body)?;
        function.instruction(&Instruction::I32Const(self.at));
        function.instruction(&Instruction::Call(self.imported));
        self.at += 1;
        let mut reader = body.get_operators_reader()?;
        while !reader.eof() {
            function.instruction(&self.parse_instruction(&mut reader)?);
        }
        code.function(&function);
        Ok(())
    }
}
