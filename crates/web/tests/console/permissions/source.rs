//! The routes of the console, extracted from its source, so that a new one cannot be forgotten.

use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Route {
    pub(super) method: &'static str,
    pub(super) path: String,
}

/// Every route of the console.
pub(super) fn routes() -> Vec<Route> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../console/src");
    let mut found = Vec::new();
    for file in files(&source) {
        let text = std::fs::read_to_string(&file).unwrap();
        found.extend(routes_in(&text, &file));
    }
    found.sort();
    assert!(found.len() > 10, "{found:?}");
    found
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, here): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let rust = here.into_iter().filter(|path| path.extension().is_some_and(|it| it == "rs"));
    rust.chain(folders.iter().flat_map(|folder| files(folder))).collect()
}

fn routes_in(text: &str, file: &Path) -> Vec<Route> {
    let mut found = Vec::new();
    for (at, call) in text.match_indices(".route(") {
        let arguments = balanced(&text[at + call.len()..]);
        let (path, methods) = arguments.split_once(',').unwrap();
        let path = literal(text, path.trim())
            .unwrap_or_else(|| panic!("{}: the path of .route({path} …", file.display()));
        let before = found.len();
        for (word, method) in [
            ("get(", "GET"),
            ("post(", "POST"),
            ("put(", "PUT"),
            ("delete(", "DELETE"),
            ("patch(", "PATCH"),
            ("any(", "ANY"),
        ] {
            let names = methods.match_indices(word).any(|(at, _)| {
                let before = methods[..at].chars().next_back();
                before.is_none_or(|letter| letter == '.' || letter.is_whitespace())
            });
            if names {
                found.push(Route { method, path: path.clone() });
            }
        }
        assert!(found.len() > before, "{}: the methods of {path}", file.display());
    }
    found
}

/// The text before the closing bracket.
fn balanced(text: &str) -> &str {
    let mut depth = 1;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// A string literal, or the value of a constant in the same file.
fn literal(text: &str, path: &str) -> Option<String> {
    if let Some(path) = path.strip_prefix('"') {
        return Some(path.trim_end_matches('"').to_owned());
    }
    let constant = format!("const {path}: &str =");
    let (_, value) = text.split_once(&constant)?;
    Some(value.trim_start().strip_prefix('"')?.split('"').next()?.to_owned())
}

#[test]
fn routes_are_extracted_from_source() {
    let text = r#"const PAGE: &str = "/a/{x}"; Router::new().route(PAGE, get(show).post(sent))
        .route("/b", post(budget(get_one))).route("/c", get(async || reply::see_other("/")))"#;
    let found = routes_in(text, Path::new("x"));
    let found: Vec<_> = found.iter().map(|it| format!("{} {}", it.method, it.path)).collect();
    assert_eq!(found, ["GET /a/{x}", "POST /a/{x}", "POST /b", "GET /c"]);
}
