//! The tables of `docs/api.md` list what the code has: error codes and ids.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sluice_web::{admin, openapi};

use crate::support::text;

/// A file of the repository.
fn file(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every source file of a folder, as one text.
fn sources(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = entries.map(|path| match path.is_dir() {
        true => sources(&path),
        false => std::fs::read_to_string(path).unwrap(),
    });
    texts.collect()
}

/// The part of the reference between two texts.
fn part(from: &str, to: &str) -> String {
    let reference = file("docs/api.md");
    let rest = reference.split_once(from).unwrap().1;
    rest.split_once(to).unwrap().0.to_owned()
}

/// The error codes between quotes, or between backticks.
fn codes(text: &str, quote: char) -> BTreeSet<String> {
    let is_code = |it: &&str| {
        let has_its_characters = it.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        has_its_characters && (it.contains('_') || *it == "invalid")
    };
    text.split(quote).filter(is_code).map(str::to_owned).collect()
}

/// The code of each `AdminError::conflict(…)`, which may be a constant.
fn conflicts(engine: &str) -> BTreeSet<String> {
    let arguments = engine.split("AdminError::conflict(").skip(1).map(|call| {
        let argument = call.split([',', ')']).next().unwrap();
        argument.trim()
    });
    let resolved = arguments.filter_map(|argument| {
        // One call passes on the code of an earlier refusal.
        let is_variable = argument.bytes().all(|byte| byte.is_ascii_lowercase());
        let literal = match argument.starts_with('"') {
            true => argument,
            false if is_variable => return None,
            false => engine.split_once(&format!("const {argument}: &str = ")).unwrap().1,
        };
        Some(literal.split('"').nth(1).unwrap().to_owned())
    });
    resolved.collect()
}

/// The codes in the descriptions of the replies of the admin API.
fn codes_of_document() -> BTreeSet<String> {
    let document = serde_json::to_value(openapi::document()).unwrap();
    let paths = document["paths"].as_object().unwrap().iter();
    let operations = paths
        .filter(|(path, _)| path.starts_with(admin::BASE))
        .flat_map(|(_, item)| item.as_object().unwrap().values());
    let replies = operations.flat_map(|it| it["responses"].as_object().unwrap().values());
    replies.flat_map(|reply| codes(&text(&reply["description"]), '`')).collect()
}

#[test]
fn the_error_table_lists_every_code_and_no_other() {
    let mut expected = conflicts(&sources(&root().join("crates/engine/src")));
    assert!(expected.len() >= 30, "{expected:?}");
    let mut missing = codes(&file("crates/engine/src/admin.rs"), '"');
    missing.retain(|code| code.ends_with("_not_found"));
    expected.extend(missing);
    expected.extend(codes(&file("crates/admin/src/reply.rs"), '"'));
    expected.extend(codes_of_document());
    let table = part("\n### Errors\n", "\nA fault has a `pointer`");
    assert_eq!(codes(&table, '`'), expected);
}

#[test]
fn the_table_of_ids_lists_every_prefix() {
    let table = part("\n## Ids\n", "\n## ");
    let ids = file("crates/flow/src/id.rs");
    let prefixes = ids.split(" = \"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let prefixes = prefixes.filter(|it| it.ends_with('_'));
    let mut count = 0;
    for prefix in prefixes.chain(["ik_", "batch_"]) {
        assert!(table.contains(&format!("\n| `{prefix}` |")), "{prefix}");
        count += 1;
    }
    assert!(count >= 18, "{count}");
}
