//! The code map of ARCHITECTURE.md has a row for every module of every crate, and no other row.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    entries.map(|name| name.into_string().unwrap()).collect()
}

/// Files and folders directly below a crate's `src`, as `crate::module`.
fn modules() -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    for of in names(&root().join("crates")) {
        let folder = root().join("crates").join(&of).join("src");
        for name in names(&folder) {
            let is_module = name.ends_with(".rs") || folder.join(&name).join("mod.rs").exists();
            if is_module && name != "lib.rs" {
                modules.insert(format!("{of}::{}", name.trim_end_matches(".rs")));
            }
        }
    }
    modules
}

#[test]
fn the_code_map_has_a_row_for_every_module() {
    let document = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, map) = document.split_once("\n## Code map\n").unwrap();
    let (map, _) = map.split_once("\n## ").unwrap();
    let rows = map.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let rows: Vec<&str> = rows.filter(|name| name.contains("::")).collect();
    let top: BTreeSet<String> = rows
        .iter()
        .filter(|name| name.matches("::").count() == 1)
        .map(|name| (*name).to_owned())
        .collect();
    let modules = modules();
    let absent: Vec<_> = modules.difference(&top).collect();
    assert!(absent.is_empty(), "add a row for {absent:?}");
    let gone: Vec<_> = top.difference(&modules).collect();
    assert!(gone.is_empty(), "remove the row of {gone:?}");
    for name in &rows {
        let path = name.replacen("::", "/src/", 1).replace("::", "/");
        let path = root().join("crates").join(path);
        assert!(path.exists() || path.with_extension("rs").exists(), "there is no {name}");
    }
    assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), rows.len(), "a module has two rows");
}
