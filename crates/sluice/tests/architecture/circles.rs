//! Import cycles inside one crate: files that import one another in a loop. No crate may have any:
//! what two files share belongs in a third that imports neither.
//!
//! A path that starts with `crate`, `self` or `super`, or with a module that the file declares,
//! counts as an import of the file of the deepest module it names. A file may use the items of its
//! ancestor modules: such imports are not counted.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;

type Module = Vec<String>;
type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// The import cycles among the files below `folder`, each as its modules in order.
pub(crate) fn circles(sources: &[Source], folder: &str) -> Vec<Vec<String>> {
    let files: BTreeMap<Module, &Source> = sources
        .iter()
        .filter(|source| source.ships())
        .filter_map(|source| Some((module_of(source.path.strip_prefix(folder)?), source)))
        .collect();
    let known = |path: &[String]| files.contains_key(path);
    let imports: Imports = files
        .iter()
        .map(|(module, source)| (module.clone(), imports(module, source, &known)))
        .collect();
    let reach: Imports =
        imports.keys().map(|module| (module.clone(), reached(module, &imports))).collect();
    let mut circles = BTreeSet::new();
    for (module, reached) in &reach {
        let back = reached.iter().filter(|other| reach[*other].contains(module));
        let circle: BTreeSet<String> = back.map(|module| module.join("::")).collect();
        if circle.len() > 1 {
            circles.insert(circle.into_iter().collect());
        }
    }
    circles.into_iter().collect()
}

/// `question/mod.rs` → question; `question/choice.rs` → question, choice; `lib.rs` → nothing.
fn module_of(path: &str) -> Module {
    let mut parts: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| last == "mod") || parts == ["lib"] {
        parts.pop();
    }
    parts
}

/// Every module that can be reached from this one.
fn reached(from: &Module, imports: &Imports) -> BTreeSet<Module> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for import in &imports[module] {
            if found.insert(import.clone()) {
                open.push(import);
            }
        }
    }
    found
}

fn imports(own: &Module, source: &Source, known: &dyn Fn(&[String]) -> bool) -> BTreeSet<Module> {
    let lines: Vec<&str> = source.code().into_iter().map(|(_, line)| line.trim()).collect();
    let paths = paths(&lines.join(" "));
    let absolute = paths.into_iter().filter_map(|path| absolute(own, &path, known));
    let files = absolute.map(|mut path| {
        while !known(&path) && !path.is_empty() {
            path.pop();
        }
        path
    });
    files.filter(|file| !own.starts_with(file)).collect()
}

/// The path from the root of the crate, if it is one of this crate.
fn absolute(own: &Module, path: &[String], known: &dyn Fn(&[String]) -> bool) -> Option<Module> {
    let (first, rest) = path.split_first()?;
    let mut base = own.clone();
    let mut rest = rest;
    match first.as_str() {
        "crate" => base.clear(),
        "self" => {}
        "super" => {
            base.pop();
            while let Some((_, after)) = rest.split_first().filter(|(step, _)| *step == "super") {
                base.pop();
                rest = after;
            }
        }
        child => {
            base.push(child.to_owned());
            if !known(&base) {
                return None;
            }
        }
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

/// Every path of two or more segments in this code; a group in braces yields one path per entry.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("::") {
        let start = rest[..at].rfind(|c: char| !is_of_name(c)).map_or(0, |before| before + 1);
        let mut scan = Scan { rest: &rest[start..], found: &mut found };
        scan.path(&mut Vec::new());
        let left = scan.rest;
        rest = if left.len() < rest.len() - at { left } else { &rest[at + 2..] };
    }
    found.into_iter().filter(|path| path.len() > 1).collect()
}

struct Scan<'t, 'f> {
    rest: &'t str,
    found: &'f mut Vec<Vec<String>>,
}

impl Scan<'_, '_> {
    /// Reads one path that follows these segments.
    fn path(&mut self, before: &mut Module) {
        let depth = before.len();
        loop {
            self.rest = self.rest.trim_start();
            if let Some(group) = self.rest.strip_prefix('{') {
                self.rest = group;
                self.group(before);
                break;
            }
            let end = self.rest.find(|c: char| !is_of_name(c)).unwrap_or(self.rest.len());
            if end > 0 {
                before.push(self.rest[..end].to_owned());
            }
            self.rest = &self.rest[end..];
            match self.rest.strip_prefix("::") {
                Some(rest) => self.rest = rest,
                None => {
                    self.found.push(before.clone());
                    break;
                }
            }
        }
        before.truncate(depth);
    }

    fn group(&mut self, before: &mut Module) {
        loop {
            self.path(before);
            let end = self.rest.find([',', '}']).unwrap_or(self.rest.len());
            let closes = !self.rest[end..].starts_with(',');
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            if closes || self.rest.trim_start().starts_with('}') {
                if !closes {
                    self.rest = self.rest.trim_start().strip_prefix('}').unwrap_or_default();
                }
                return;
            }
        }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
