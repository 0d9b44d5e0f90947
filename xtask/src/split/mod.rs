//! Splitting the page's program in two after it is linked: what a first visit runs, and the rest.
//!
//! The first part holds a bridge in place of each function of the second that it can reach. A bridge looks into the table of functions:
//! where its function is not there yet, it calls `later.load`, which the page's start script provides; then it calls the function. The
//! second part runs on the memory, the tables and the globals of the first and puts its functions into the table when it starts.
//!
//! Constants that only functions of the second part name lie in the second part; where the linker put them, the first holds nothing.
//!
//! Which functions come later was seen, not guessed: `cargo xtask later` opens the page with a program that counts. A function that is
//! new since then stays in the first part until it is looked again; a wrong list costs bytes or a moment, never an answer.

mod data;
mod parts;
mod read;

use std::collections::BTreeSet;

pub use self::data::Objects;
use self::parts::Cut;
use self::read::Program;
use crate::shell::Outcome;

/// The two parts of a linked program; `later` names the functions of the second, one per line, and `objects` says what their data is.
///
/// # Errors
/// When it cannot be read or split.
pub fn in_two(linked: &[u8], later: &str, objects: &Objects) -> Outcome<(Vec<u8>, Vec<u8>)> {
    let program = Program::read(linked)?;
    let later: BTreeSet<&str> = later.lines().collect();
    let (later, first): (Vec<_>, Vec<_>) = program.own().partition(|(_, name)| later.contains(stable(name).as_str()));
    let kept = first.into_iter().filter_map(|(function, name)| Some((name, program.numbers(function)?)));
    let data = objects.not_reached(kept);
    let functions = later.into_iter().map(|(function, _)| function).collect();
    let cut = Cut::new(&program, functions, data).ok_or("the program has no table of functions to split it by.")?;
    cut.parts(linked)
}

/// The program with a report of each function that runs.
///
/// # Errors
/// When it cannot be read.
pub fn counting(linked: &[u8]) -> Outcome<Vec<u8>> {
    parts::counting(&Program::read(linked)?, linked)
}

/// The names of the functions that did not run, one per line; `ran` holds the places of those that did.
///
/// # Errors
/// When the program cannot be read.
pub fn what_did_not_run(linked: &[u8], ran: &BTreeSet<u32>) -> Outcome<String> {
    let program = Program::read(linked)?;
    let (first, later): (Vec<_>, Vec<_>) = program
        .own()
        .filter(|(_, name)| !name.is_empty())
        .partition(|(function, _)| ran.contains(&(function - program.imported)));
    let names = |functions: Vec<(u32, &str)>| functions.into_iter().map(|(_, name)| stable(name)).collect::<BTreeSet<String>>();
    // Two functions can share a name. Where one of them ran, both stay.
    let (first, later) = (names(first), names(later));
    Ok(later.difference(&first).flat_map(|name| [name.as_str(), "\n"]).collect())
}

/// A function's name without what differs from one compilation to the next: the hashes of crates, `core[1a2b]`, and the linker's marks.
fn stable(name: &str) -> String {
    let name = name.split(".llvm.").next().unwrap_or(name);
    let mut stable = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('[') {
        stable.push_str(before);
        match after.split_once(']') {
            Some((hash, after)) if hash.len() > 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => rest = after,
            _ => {
                stable.push('[');
                rest = after;
            }
        }
    }
    stable + rest
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use wasm_encoder::{
        CodeSection, ConstExpr, ElementSection, Elements, EntityType, ExportKind, ExportSection, Function, FunctionSection,
        GlobalSection, GlobalType, ImportSection, Instruction, MemorySection, MemoryType, Module, NameMap, NameSection, RefType,
        TableSection, TableType, TypeSection, ValType,
    };
    use wasmparser::{Element, ElementItems, Parser, Payload, validate};

    use super::parts::LENT;
    use super::{Objects, counting, in_two, stable, what_did_not_run};

    /// Functions of the program below, in their order: `log` is imported, `main` exported, `spare` lies in the table.
    const NAMES: [&str; 6] = ["log", "main", "rare", "helper", "deep", "spare"];

    /// `main` calls `rare`, which calls `helper`, `deep` and `log`; the numbers go through unchanged.
    fn program() -> Vec<u8> {
        let mut types = TypeSection::new();
        types.ty().function([], []);
        types.ty().function([ValType::I32], [ValType::I32]);
        let mut imports = ImportSection::new();
        imports.import("page", "log", EntityType::Function(1));
        let mut functions = FunctionSection::new();
        let mut code = CodeSection::new();
        for calls in [vec![2], vec![3, 4, 0], vec![], vec![], vec![]] {
            functions.function(1);
            let mut body = Function::new([]);
            body.instruction(&Instruction::LocalGet(0));
            for callee in calls {
                body.instruction(&Instruction::Call(callee));
            }
            body.instruction(&Instruction::End);
            code.function(&body);
        }
        let table = TableType { element_type: RefType::FUNCREF, table64: false, minimum: 2, maximum: Some(2), shared: false };
        let memory = MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None };
        let stack = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
        let mut names = NameMap::new();
        for (at, name) in (0..).zip(NAMES) {
            names.append(at, name);
        }
        let mut name_section = NameSection::new();
        name_section.functions(&names);
        let mut module = Module::new();
        module
            .section(&types)
            .section(&imports)
            .section(&functions)
            .section(TableSection::new().table(table))
            .section(MemorySection::new().memory(memory))
            .section(GlobalSection::new().global(stack, &ConstExpr::i32_const(8)))
            .section(ExportSection::new().export("main", ExportKind::Func, 1))
            .section(ElementSection::new().active(None, &ConstExpr::i32_const(1), Elements::Functions([5].as_slice().into())))
            .section(&code)
            .section(&name_section);
        module.finish()
    }

    /// What a part imports from a module, and what it exports.
    fn ends(part: &[u8], from: &str) -> (BTreeSet<String>, BTreeSet<String>) {
        let (mut imports, mut exports, mut lent) = (BTreeSet::new(), BTreeSet::new(), 0);
        for payload in Parser::new(0).parse_all(part) {
            match payload.unwrap() {
                Payload::ImportSection(section) => {
                    let all = section.into_imports().map(Result::unwrap);
                    imports.extend(all.filter(|import| import.module == from).map(|import| import.name.to_owned()));
                }
                Payload::ExportSection(section) => {
                    exports.extend(section.into_iter().map(|export| export.unwrap().name.to_owned()));
                }
                Payload::ElementSection(section) => {
                    lent = section.into_iter().last().map_or(0, |element| length(&element.unwrap()));
                }
                _ => {}
            }
        }
        // As the start script names them.
        if exports.contains(LENT) {
            exports.extend((0..lent).map(|place| format!("f{place}")));
        }
        (imports, exports)
    }

    /// How many functions an element holds.
    fn length(element: &Element) -> u32 {
        let ElementItems::Functions(functions) = &element.items else { return 0 };
        functions.count()
    }

    #[test]
    fn both_parts_are_programs_that_fit_together() {
        for later in ["rare\ndeep\n", "rare\n", "deep\nspare\n", "", "main\nrare\nhelper\ndeep\nspare\n", "gone\n"] {
            let (first, second) = in_two(&program(), later, &Objects::default()).unwrap();
            validate(&first).unwrap_or_else(|error| panic!("first without {later:?}: {error}"));
            validate(&second).unwrap_or_else(|error| panic!("second with {later:?}: {error}"));
            let (loader, offered) = ends(&first, "later");
            let (wanted, _) = ends(&second, "first");
            assert_eq!(loader, BTreeSet::from(["load".to_owned()]));
            assert!(wanted.is_subset(&offered), "{wanted:?} of {offered:?}");
            assert!(offered.contains("main"), "what the page calls stays");
        }
    }

    #[test]
    fn what_comes_later_leaves_the_first_part() {
        let whole = in_two(&program(), "", &Objects::default()).unwrap();
        let parts = in_two(&program(), "rare\ndeep\n", &Objects::default()).unwrap();
        // `rare` is reached through a bridge, which is longer than this body; `deep` is gone, and lends nothing.
        let (wanted, _) = ends(&parts.1, "first");
        assert!(wanted.contains("f0") && wanted.contains("f1") && !wanted.contains("f2"), "log and helper: {wanted:?}");
        assert!(parts.1.len() > whole.1.len());
    }

    #[test]
    fn counting_tells_what_did_not_run() {
        let counting = counting(&program()).unwrap();
        validate(&counting).unwrap();
        assert_eq!(ends(&counting, "later").0, BTreeSet::from(["ran".to_owned()]));
        // The program's own functions count from `main`.
        assert_eq!(what_did_not_run(&program(), &BTreeSet::from([0, 2])).unwrap(), "deep\nrare\nspare\n");
    }

    #[test]
    fn names_keep_nothing_of_one_compilation() {
        assert_eq!(stable("<core[1a2b3c4d5e6f7081]::fmt::X as a[00112233445566ff]::B>::f"), "<core::fmt::X as a::B>::f");
        assert_eq!(stable("f::<[u8]>.llvm.123"), "f::<[u8]>");
        assert_eq!(stable("f::<[u8; 3]>"), "f::<[u8; 3]>");
    }

    #[test]
    fn what_is_no_program_says_so() {
        assert!(in_two(b"<html>", "", &Objects::default()).is_err());
        assert!(in_two(b"\0asm\x01\0\0\0", "", &Objects::default()).is_err(), "no table");
        assert!(counting(b"").is_err());
    }
}
