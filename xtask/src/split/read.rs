//! What the splitting needs to know of a linked program.

use std::collections::BTreeSet;

use wasmparser::{
    CompositeInnerType, ElementItems, ElementSectionReader, ExportSectionReader, ExternalKind, FunctionBody, KnownCustom, Name,
    NameSectionReader, Operator, Parser, Payload, TypeRef,
};

use crate::shell::Outcome;

/// The table of functions: its index and how many it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    pub index: u32,
    pub length: u32,
}

/// A program's functions: who they are, who calls whom, and who is called from outside.
#[derive(Debug, Default)]
pub struct Program {
    /// Parameters of each type.
    pub parameters: Vec<u32>,
    /// The type without parameters and results.
    pub nothing: Option<u32>,
    /// Functions that come from outside; they have the first numbers.
    pub imported: u32,
    /// The type of each function, imported ones first.
    pub types: Vec<u32>,
    /// What each function is called in the source; empty where that is unknown.
    pub names: Vec<String>,
    /// What each function of its own calls or takes the address of, in their order.
    pub calls: Vec<BTreeSet<u32>>,
    /// The numbers in the code of each function of its own; some are addresses.
    pub numbers: Vec<BTreeSet<u32>>,
    /// Functions that the page calls, or that lie in the table.
    pub open: BTreeSet<u32>,
    /// The table that functions are called through.
    pub table: Option<Table>,
    /// All tables, memories and globals.
    pub tables: u32,
    pub memories: u32,
    pub globals: u32,
}

impl Program {
    /// Reads a program.
    ///
    /// # Errors
    /// When it is no WebAssembly, or holds what a program that came from the linker does not hold.
    pub fn read(bytes: &[u8]) -> Outcome<Self> {
        let mut program = Self::default();
        for payload in Parser::new(0).parse_all(bytes) {
            payload.and_then(|payload| program.take(payload)).map_err(|error| format!("the program cannot be read: {error}."))?;
        }
        program.names.resize(program.types.len(), String::new());
        Ok(program)
    }

    /// Whether the function is one of its own.
    pub const fn owns(&self, function: u32) -> bool {
        function >= self.imported
    }

    /// Its own functions with their names.
    pub fn own(&self) -> impl Iterator<Item = (u32, &str)> {
        (0..).zip(&self.names).skip(self.imported as usize).map(|(function, name)| (function, name.as_str()))
    }

    /// The numbers in the code of a function.
    pub fn numbers(&self, function: u32) -> Option<&BTreeSet<u32>> {
        self.numbers.get(function.checked_sub(self.imported)? as usize)
    }

    /// What a function calls.
    pub fn callees(&self, function: u32) -> impl Iterator<Item = u32> + '_ {
        let own = function.checked_sub(self.imported).and_then(|at| self.calls.get(at as usize));
        own.into_iter().flatten().copied()
    }

    fn take(&mut self, payload: Payload<'_>) -> wasmparser::Result<()> {
        match payload {
            Payload::TypeSection(section) => {
                for group in section {
                    group?.types().for_each(|kind| self.take_type(&kind.composite_type.inner));
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    self.take_import(import?.ty);
                }
            }
            Payload::FunctionSection(section) => {
                for kind in section {
                    self.types.push(kind?);
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    let ty = table?.ty;
                    if ty.element_type.is_func_ref() {
                        self.table = Some(Table { index: self.tables, length: u32::try_from(ty.initial).unwrap_or(u32::MAX) });
                    }
                    self.tables += 1;
                }
            }
            Payload::MemorySection(section) => self.memories += section.count(),
            Payload::GlobalSection(section) => self.globals += section.count(),
            Payload::ExportSection(section) => self.take_exports(section)?,
            Payload::StartSection { func, .. } => {
                self.open.insert(func);
            }
            Payload::ElementSection(section) => self.take_elements(section)?,
            Payload::CodeSectionEntry(body) => {
                let (calls, numbers) = contents(&body)?;
                self.calls.push(calls);
                self.numbers.push(numbers);
            }
            Payload::CustomSection(section) => {
                if let KnownCustom::Name(names) = section.as_known() {
                    self.take_names(names)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn take_type(&mut self, kind: &CompositeInnerType) {
        let (parameters, nothing) = match kind {
            CompositeInnerType::Func(function) => {
                (function.params().len(), function.params().is_empty() && function.results().is_empty())
            }
            _ => (0, false),
        };
        if nothing && self.nothing.is_none() {
            self.nothing = u32::try_from(self.parameters.len()).ok();
        }
        self.parameters.push(u32::try_from(parameters).unwrap_or(u32::MAX));
    }

    fn take_import(&mut self, kind: TypeRef) {
        match kind {
            TypeRef::Func(kind) => {
                self.types.push(kind);
                self.imported += 1;
            }
            TypeRef::Table(_) => self.tables += 1,
            TypeRef::Memory(_) => self.memories += 1,
            TypeRef::Global(_) => self.globals += 1,
            _ => {}
        }
    }

    fn take_exports(&mut self, section: ExportSectionReader<'_>) -> wasmparser::Result<()> {
        for export in section {
            let export = export?;
            if export.kind == ExternalKind::Func {
                self.open.insert(export.index);
            }
        }
        Ok(())
    }

    fn take_elements(&mut self, section: ElementSectionReader<'_>) -> wasmparser::Result<()> {
        for element in section {
            if let ElementItems::Functions(functions) = element?.items {
                for function in functions {
                    self.open.insert(function?);
                }
            }
        }
        Ok(())
    }

    fn take_names(&mut self, names: NameSectionReader<'_>) -> wasmparser::Result<()> {
        for part in names {
            if let Name::Function(functions) = part? {
                for naming in functions {
                    let naming = naming?;
                    self.name(naming.index, naming.name);
                }
            }
        }
        Ok(())
    }

    fn name(&mut self, function: u32, name: &str) {
        let at = function as usize;
        if self.names.len() <= at {
            self.names.resize(at + 1, String::new());
        }
        if let Some(place) = self.names.get_mut(at) {
            name.clone_into(place);
        }
    }
}

/// What a function calls or takes the address of, and the numbers in it.
fn contents(body: &FunctionBody<'_>) -> wasmparser::Result<(BTreeSet<u32>, BTreeSet<u32>)> {
    let (mut calls, mut numbers) = (BTreeSet::new(), BTreeSet::new());
    let mut operators = body.get_operators_reader()?;
    while !operators.eof() {
        match operators.read()? {
            Operator::Call { function_index } | Operator::RefFunc { function_index } => {
                calls.insert(function_index);
            }
            Operator::I32Const { value } => {
                numbers.insert(value.cast_unsigned());
            }
            _ => {}
        }
    }
    Ok((calls, numbers))
}
