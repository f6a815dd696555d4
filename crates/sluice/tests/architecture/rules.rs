//! The text rules: each takes one file and returns its offences.

use sluice_flow::question::QuestionType;

use super::source::Source;

/// The longest file that still reads in one sitting.
const FILE_LINES_MAX: usize = 500;

/// The longest line of a comment, as of code (`max_width` of rustfmt, which leaves comments alone).
const COMMENT_COLUMNS_MAX: usize = 100;

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

/// An async method is compiled again in every crate that awaits it, unless it returns a boxed
/// future. These files may have others: the path of a submission, also of a test, and what every
/// request or start awaits.
pub(crate) fn use_case_compiled_everywhere(source: &Source) -> Vec<String> {
    let may = ["engine.rs", "engine/health.rs", "request_scope.rs", "clock.rs", "test_mode.rs"];
    let Some(path) = source.path.strip_prefix("crates/engine/src/") else { return Vec::new() };
    unless(may.contains(&path), || {
        let code = source.code();
        let is_boxed = |index: usize| {
            let attributes = code[..index].iter().rev().map(|(_, line)| line.trim());
            attributes.take_while(|line| line.starts_with("#[")).any(|line| line == "#[boxed]")
        };
        let methods = code.iter().enumerate();
        let methods = methods.filter(|(_, (_, line))| line.starts_with("    pub async fn "));
        let offences = methods.filter(|(index, _)| !is_boxed(*index));
        let named = |(_, (number, line)): (usize, &(usize, &str))| {
            format!("{}:{number}: {}", source.path, line.trim())
        };
        offences.map(named).collect()
    })
}

pub(crate) fn missing_header(source: &Source) -> Vec<String> {
    unless(source.text.starts_with("//!"), || vec![source.path.clone()])
}

pub(crate) fn too_long(source: &Source) -> Vec<String> {
    let lines = source.text.lines().count();
    unless(lines <= FILE_LINES_MAX, || vec![format!("{}: {lines} lines", source.path)])
}

/// Except for rows of tables, and for a single word, such as an address.
pub(crate) fn wide_comment(source: &Source) -> Vec<String> {
    let (start, has_blocks) = match source.path.rsplit('.').next() {
        Some("sql") => ("--", false),
        Some("js" | "css") => ("//", true),
        _ => ("//", false),
    };
    let (mut wide, mut is_in_block) = (Vec::new(), false);
    for (index, line) in source.text.lines().enumerate() {
        let begin = line.trim_start();
        is_in_block |= has_blocks && begin.starts_with("/*");
        let is_comment = is_in_block || begin.starts_with(start);
        is_in_block &= !line.contains("*/");
        let text = begin.trim_start_matches(['/', '!', '*', '-']).trim();
        let can_wrap = text.contains(' ') && !text.starts_with('|');
        if is_comment && line.chars().count() > COMMENT_COLUMNS_MAX && can_wrap {
            wide.push(format!("{}:{}: {}", source.path, index + 1, line.trim()));
        }
    }
    wide
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

/// Names of question types that are also names of other things, such as fields and controls.
const AMBIGUOUS: [&str; 6] = ["email", "url", "phone", "number", "date", "matrix"];

/// Only a question type's file and the table name it; all other code uses its methods. An importer
/// chooses types by name, and its formats have types of the same names.
pub(crate) fn question_type_outside_table(source: &Source) -> Vec<String> {
    let may = ["crates/flow/src/question/types/", "crates/import/src/"];
    let exempt = may.iter().any(|start| source.path.starts_with(start));
    unless(!source.ships() || exempt, || {
        let mut offences = variants_named(source, "QuestionType::");
        let code = source.code().into_iter().filter(|(_, line)| distinguishes_a_type(line));
        offences.extend(code.map(|(number, line)| format!("{}:{number}: {line}", source.path)));
        offences
    })
}

/// Whether the line compares with the name of a question type, or matches it. Names in examples
/// and in what a function returns do not count.
fn distinguishes_a_type(line: &str) -> bool {
    let names = QuestionType::NAMES.iter().filter(|name| !AMBIGUOUS.contains(name));
    names.map(|name| format!("\"{name}\"")).any(|name| {
        line.match_indices(&name).any(|(at, _)| {
            let (before, after) = (line[..at].trim_end(), line[at + name.len()..].trim_start());
            let is_compared = ["==", "!=", "matches!("].iter().any(|it| before.ends_with(it));
            let is_pattern = ["=>", "|", "if "].iter().any(|it| after.starts_with(it));
            is_compared || is_pattern || before.ends_with('|')
        })
    })
}

/// Only a payload generation's file and the table name it.
pub(crate) fn generation_outside_table(source: &Source) -> Vec<String> {
    let may = source.path.starts_with("crates/flow/src/payload/");
    unless(!source.ships() || may, || variants_named(source, "Generation::"))
}

/// Only `Definitions` parses stored definitions, so that there is one cache and one way to report a
/// definition that cannot be read. The store does so once, for its counts.
pub(crate) fn stored_definition_parsed(source: &Source) -> Vec<String> {
    let may = ["crates/engine/src/definitions.rs", "crates/store/src/counting.rs"];
    let exempt = may.contains(&source.path.as_str()) || source.path.starts_with("crates/flow/");
    unless(!source.ships() || exempt, || {
        let parses = |line: &str| {
            line.contains("definition::stored(")
                || (line.contains("from_str") && line.contains(".definition)"))
        };
        let code = source.code().into_iter().filter(|(_, line)| parses(line));
        code.map(|(number, line)| format!("{}:{number}: {}", source.path, line.trim())).collect()
    })
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
