//! The text rules: each takes one file and returns its offences.

use super::source::Source;

/// The longest file that still reads in one sitting.
const FILE_LINES_MAX: usize = 500;

/// Names that do not describe a module's content.
const VAGUE: [&str; 6] = ["util", "utils", "common", "helper", "helpers", "misc"];

/// Status codes belong in reply modules. The command line's client, which reads a server's replies,
/// is not a transport.
pub(crate) fn status_code_outside_reply(source: &Source) -> Vec<String> {
    let may = ["/reply.rs", "/trpc/envelope.rs", "crates/sluice/src/client.rs"];
    let exempt = may.iter().any(|end| source.path.ends_with(end));
    unless(!source.ships() || exempt, || source.lines_naming(&["StatusCode"]))
}

pub(crate) fn backend_outside_its_module(source: &Source) -> Vec<String> {
    let may =
        ["crates/store/", "crates/sluice/src/backend"].iter().any(|it| source.path.starts_with(it));
    unless(!source.ships() || may, || {
        source.lines_naming(&["SqliteStore", "sqlite::", "PgStore", "postgres::"])
    })
}

pub(crate) fn sql_outside_store(source: &Source) -> Vec<String> {
    let may = source.path.starts_with("crates/store/");
    unless(!source.ships() || may, || source.lines_naming(&["rusqlite", "tokio_postgres"]))
}

/// Use cases take what they need from `Core` or a handle. A use case that imported `Engine` would
/// create an import cycle around all of them.
pub(crate) fn use_case_imports_engine(source: &Source) -> Vec<String> {
    let Some(path) = source.path.strip_prefix("crates/engine/src/") else { return Vec::new() };
    unless(matches!(path, "engine.rs" | "lib.rs"), || source.lines_naming(&["crate::engine"]))
}

pub(crate) fn missing_header(source: &Source) -> Vec<String> {
    unless(source.text.starts_with("//!"), || vec![source.path.clone()])
}

pub(crate) fn too_long(source: &Source) -> Vec<String> {
    let lines = source.text.lines().count();
    unless(lines <= FILE_LINES_MAX, || vec![format!("{}: {lines} lines", source.path)])
}

pub(crate) fn vague_module_name(source: &Source) -> Vec<String> {
    if source.parts().any(|part| VAGUE.contains(&part)) {
        return vec![source.path.clone()];
    }
    let declares = |line: &str| {
        let mut words = line.split([' ', ';', '{']).skip_while(|word| *word != "mod");
        words.nth(1).is_some_and(|name| VAGUE.contains(&name))
    };
    let code = source.code().into_iter().filter(|(_, line)| declares(line));
    code.map(|(number, line)| format!("{}:{number}: {}", source.path, line.trim())).collect()
}

pub(crate) fn unwritten_code(source: &Source) -> Vec<String> {
    unless(!source.ships(), || source.lines_naming(&["todo!(", "unimplemented!("]))
}

/// Only a question type's file and the table name it; all other code uses its methods.
pub(crate) fn question_type_outside_table(source: &Source) -> Vec<String> {
    let may = source.path.starts_with("crates/flow/src/question/types/");
    unless(!source.ships() || may, || variants_named(source, "QuestionType::"))
}

/// Only a payload generation's file and the table name it.
pub(crate) fn generation_outside_table(source: &Source) -> Vec<String> {
    let may = source.path.starts_with("crates/flow/src/payload/");
    unless(!source.ships() || may, || variants_named(source, "Generation::"))
}

/// One offence for each line that names a variant of this enum. `Enum::CONSTANT` and
/// `Enum::function` do not count.
fn variants_named(source: &Source, name: &str) -> Vec<String> {
    let names_variant = |line: &str| {
        line.match_indices(name).any(|(at, _)| {
            let word = first_word(&line[at + name.len()..]);
            let is_constant = word.len() > 2 && !word.contains(char::is_lowercase);
            word.starts_with(char::is_uppercase) && !is_constant
        })
    };
    let code = source.code().into_iter().filter(|(_, line)| names_variant(line));
    code.map(|(number, line)| format!("{}:{number}: {}", source.path, line.trim())).collect()
}

fn unless(exempt: bool, offences: impl FnOnce() -> Vec<String>) -> Vec<String> {
    if exempt { Vec::new() } else { offences() }
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}
