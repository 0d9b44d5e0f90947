//! Splitting the page's program in two after it is linked: what a first visit runs, and the rest.
//!
//! The first part holds a bridge in place of each function of the second that it can reach. A bridge looks into the table of functions:
//! where its function is not there yet, it calls `later.load`, which the page's start script provides; then it calls the function. The
//! second part runs on the memory, the tables and the globals of the first and puts its functions into the table when it starts.
//!
//! Which functions come later was seen, not guessed: `cargo xtask later` opens the page with a program that counts. A function that is
//! new since then stays in the first part until it is looked again; a wrong list costs bytes or a moment, never an answer.

mod parts;
mod read;

use std::collections::BTreeSet;

use self::parts::Cut;
use self::read::Program;
use crate::shell::Outcome;

/// The two parts of a linked program; `later` names the functions of the second, one per line.
///
/// # Errors
/// When it cannot be read or split.
pub fn in_two(linked: &[u8], later: &str) -> Outcome<(Vec<u8>, Vec<u8>)> {
    let program = Program::read(linked)?;
    let later: BTreeSet<&str> = later.lines().collect();
    let functions =
        program.own().filter(|(_, name)| later.contains(stable(name).as_str())).map(|(function, _)| function).collect();
    let cut = Cut::new(&program, functions).ok_or("the program has no table of functions to split it by.")?;
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
