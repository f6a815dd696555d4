//! Import cycles inside one crate: files that import one another in a loop. No crate may have any:
//! what two files share belongs in a third that imports neither.
//!
//! A path that starts with `crate`, `self` or `super`, or with a module that the file declares,
//! counts as an import of the file of the deepest module it names, and of the files from which that
//! module takes the next step by `use`. A file may use the items of its ancestor modules: such
//! imports are not counted. Neither are those for the documentation only. Items that macros declare
//! are not known, so a glob that re-exports them is not followed.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;

type Module = Vec<String>;
type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// The import cycles among the files below `folder`, each as its modules in order.
pub(crate) fn circles(sources: &[Source], folder: &str) -> Vec<Vec<String>> {
    let files = Files::new(sources, folder);
    let imports: Imports =
        files.0.keys().map(|module| (module.clone(), files.imports(module))).collect();
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

/// The files of a crate by their modules.
struct Files(BTreeMap<Module, File>);

struct File {
    /// In one line.
    code: String,
    /// The names of its items.
    declares: BTreeSet<String>,
    /// What it takes from other files of the crate by `use`: the name, and the path. The name `*`
    /// stands for all items of the path.
    uses: Vec<(String, Module)>,
}

impl File {
    /// Without what it uses.
    fn new(source: &Source) -> Self {
        let lines: Vec<&str> = source.code().into_iter().map(|(_, line)| line.trim()).collect();
        let code = lines.join(" ");
        Self { declares: declared(&code), code, uses: Vec::new() }
    }
}

impl Files {
    fn new(sources: &[Source], folder: &str) -> Self {
        let shipped = sources.iter().filter(|source| source.ships());
        let files = shipped.filter_map(|source| {
            Some((module_of(source.path.strip_prefix(folder)?), File::new(source)))
        });
        let mut files = Self(files.collect());
        let uses: Vec<_> = files.0.iter().map(|(own, file)| files.uses(own, &file.code)).collect();
        for (file, uses) in files.0.values_mut().zip(uses) {
            file.uses = uses;
        }
        files
    }

    fn uses(&self, own: &[String], code: &str) -> Vec<(String, Module)> {
        let paths = use_declarations(code).flat_map(paths);
        let uses = paths.filter_map(|path| {
            let mut from = self.absolute(own, &path.steps)?;
            if from.last().is_some_and(|last| last == "self" || last == "*") {
                from.pop();
            }
            Some((path.name, from))
        });
        uses.collect()
    }

    /// The files that a file imports.
    fn imports(&self, own: &[String]) -> BTreeSet<Module> {
        let paths = paths(&self.0[own].code).into_iter();
        let paths = paths.filter_map(|path| self.absolute(own, &path.steps));
        let files = paths.flat_map(|path| self.files_of(&path, &mut BTreeSet::new()));
        files.filter(|file| !own.starts_with(file)).collect()
    }

    /// The path from the root of the crate, if it is one of this crate.
    fn absolute(&self, own: &[String], path: &[String]) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        let mut base = own.to_vec();
        let mut rest = rest;
        match first.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                base.pop();
                while let Some((_, after)) = rest.split_first().filter(|(step, _)| *step == "super")
                {
                    base.pop();
                    rest = after;
                }
            }
            child => {
                base.push(child.to_owned());
                if !self.0.contains_key(&base) {
                    return None;
                }
            }
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    /// The file of the deepest module that this path names, and those from which that module takes
    /// the next step by `use`. `seen` has the paths that led here.
    fn files_of(&self, path: &[String], seen: &mut BTreeSet<Module>) -> BTreeSet<Module> {
        let mut file = path.to_vec();
        while !self.0.contains_key(&file) && !file.is_empty() {
            file.pop();
        }
        let mut found = BTreeSet::from([file.clone()]);
        let inside = &path[file.len()..];
        let Some((step, rest)) = inside.split_first() else { return found };
        if !seen.insert(path.to_vec()) {
            return found;
        }
        for (name, from) in self.0.get(&file).into_iter().flat_map(|file| &file.uses) {
            if name == step {
                found.extend(self.files_of(&[from.as_slice(), rest].concat(), seen));
            } else if name == "*" && !self.declares(&file, step) {
                let files = self.files_of(&[from.as_slice(), inside].concat(), seen);
                found.extend(files.into_iter().filter(|file| self.declares(file, step)));
            }
        }
        found
    }

    fn declares(&self, file: &[String], name: &str) -> bool {
        self.0.get(file).is_some_and(|file| file.declares.contains(name))
    }
}

/// `question/mod.rs` → question; `question/choice.rs` → question, choice; `lib.rs` → nothing.
fn module_of(path: &str) -> Module {
    let mut parts: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| last == "mod") || parts == ["lib"] || parts == ["main"] {
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

/// The names of the items in this code.
fn declared(code: &str) -> BTreeSet<String> {
    const KINDS: [&str; 8] =
        ["struct", "enum", "trait", "type", "fn", "const", "static", "macro_rules"];
    let words: Vec<&str> =
        code.split(|c: char| !is_of_name(c)).filter(|word| !word.is_empty()).collect();
    let items = words.windows(2).filter(|pair| KINDS.contains(&pair[0]));
    items.map(|pair| pair[1].to_owned()).collect()
}

/// The `use` declarations in this code, each up to its semicolon.
fn use_declarations(code: &str) -> impl Iterator<Item = &str> {
    let starts =
        code.match_indices("use ").filter(move |(at, _)| !code[..*at].ends_with(is_of_name));
    starts.filter_map(move |(at, start)| code[at + start.len()..].split(';').next())
}

/// A path, and the name that a `use` of it brings into a file.
struct Path {
    steps: Module,
    name: String,
}

impl Path {
    /// `after` is the code that follows it.
    fn new(steps: &[String], after: &str) -> Self {
        let alias = after
            .trim_start()
            .strip_prefix("as ")
            .map(|rest| rest.split(|c: char| !is_of_name(c)).next().unwrap_or_default().to_owned());
        let last = steps.iter().rfind(|step| *step != "self").cloned();
        Self { steps: steps.to_vec(), name: alias.or(last).unwrap_or_default() }
    }
}

/// Every path of two or more segments in this code; a group in braces yields one path per entry.
fn paths(code: &str) -> Vec<Path> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("::") {
        let start = rest[..at].rfind(|c: char| !is_of_name(c)).map_or(0, |before| before + 1);
        let mut scan = Scan { rest: &rest[start..], found: &mut found };
        scan.path(&mut Vec::new());
        let left = scan.rest;
        rest = if left.len() < rest.len() - at { left } else { &rest[at + 2..] };
    }
    found.into_iter().filter(|path| path.steps.len() > 1).collect()
}

struct Scan<'t, 'f> {
    rest: &'t str,
    found: &'f mut Vec<Path>,
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
            // After `::` this is a glob.
            let end = if end == 0 && self.rest.starts_with('*') { 1 } else { end };
            if end > 0 {
                before.push(self.rest[..end].to_owned());
            }
            self.rest = &self.rest[end..];
            match self.rest.strip_prefix("::") {
                Some(rest) => self.rest = rest,
                None => {
                    self.found.push(Path::new(before, self.rest));
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
