//! The workspace's source files, read once, without the parts that a scan must ignore.

use std::path::{Path, PathBuf};

/// One file: its path from the workspace root with `/`, and its text.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// Every `.rs` file of the workspace's crates, in a stable order.
    pub(crate) fn of_workspace() -> Vec<Self> {
        Self::below("crates")
    }

    /// Every `.rs` file below a folder, in a stable order.
    pub(crate) fn below(folder: &str) -> Vec<Self> {
        Self::with_extensions(folder, &["rs"])
    }

    /// Every file below a folder with one of these extensions, in a stable order.
    pub(crate) fn with_extensions(folder: &str, extensions: &[&str]) -> Vec<Self> {
        let mut sources = Vec::new();
        collect(&root().join(folder), extensions, &mut sources);
        sources.sort_by(|a, b| a.path.cmp(&b.path));
        sources
    }

    /// Whether this file ships: it is below a `src`, and not a test module.
    pub(crate) fn ships(&self) -> bool {
        self.path.contains("/src/") && !self.parts().any(|part| part == "tests")
    }

    /// The folders and the file's stem: `crates/http/src/reply.rs` → crates, http, src, reply.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &str> {
        self.path.trim_end_matches(".rs").split('/')
    }

    /// The lines of shipped code with their numbers: no comments, and nothing that is only for
    /// tests or for the documentation.
    pub(crate) fn code(&self) -> Vec<(usize, &str)> {
        let mut kept = Vec::new();
        let mut lines = self.text.lines().enumerate();
        while let Some((index, line)) = lines.next() {
            if matches!(line.trim(), "#[cfg(test)]" | "#[cfg(doc)]") {
                skip_item(&mut lines, indent(line));
            } else if !line.trim_start().starts_with("//") {
                kept.push((index + 1, line));
            }
        }
        kept
    }

    /// One offence for each line of code that contains any of `needles`.
    pub(crate) fn lines_naming(&self, needles: &[&str]) -> Vec<String> {
        self.code()
            .into_iter()
            .filter(|(_, line)| needles.iter().any(|needle| line.contains(needle)))
            .map(|(number, line)| format!("{}:{number}: {}", self.path, line.trim()))
            .collect()
    }
}

/// The workspace root: two folders above this package.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Skips the item after an attribute, up to the line that ends it at the same indentation.
fn skip_item<'a>(lines: &mut impl Iterator<Item = (usize, &'a str)>, indent_of_item: usize) {
    for (_, line) in lines {
        let ends = line.ends_with(';') || line.ends_with('}');
        if ends && indent(line) == indent_of_item {
            return;
        }
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn collect(folder: &Path, extensions: &[&str], into: &mut Vec<Source>) {
    for entry in readable(folder, std::fs::read_dir(folder)) {
        let path = readable(folder, entry).path();
        if path.is_dir() {
            collect(&path, extensions, into);
        } else if path.extension().is_some_and(|it| extensions.iter().any(|wanted| it == *wanted)) {
            let text = readable(&path, std::fs::read_to_string(&path));
            let below_root = path.strip_prefix(root()).unwrap_or(&path);
            into.push(Source::new(&below_root.to_string_lossy().replace('\\', "/"), &text));
        }
    }
}

fn readable<T>(path: &Path, result: std::io::Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}
