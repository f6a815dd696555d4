//! The style sheet and the scripts of the console.
//!
//! There is no build step. All files are under one path that contains the hash of them all, so that
//! they can be cached permanently and scripts can import each other by their plain names. The style
//! sheet is one file, joined from its parts.

use std::collections::HashMap;
use std::sync::LazyLock;

use sha2::{Digest, Sha256};
use sluice_engine::EncodedBody;

/// In this order: later files may override or use earlier ones.
const STYLES: &[&str] = &[
    include_str!("assets/style/base.css"),
    include_str!("assets/style/parts.css"),
    include_str!("assets/style/chart.css"),
    include_str!("assets/style/sign_in.css"),
    include_str!("assets/style/flows.css"),
    include_str!("assets/style/editor.css"),
    include_str!("assets/style/design.css"),
    include_str!("assets/style/share.css"),
    include_str!("assets/style/responses.css"),
    include_str!("assets/style/results.css"),
    include_str!("assets/style/settings.css"),
];

/// Each script under the name that others import it by.
const SCRIPTS: &[(&str, &str)] = &[
    ("answer-filter.js", include_str!("assets/script/answer-filter.js")),
    ("base.js", include_str!("assets/script/base.js")),
    ("design.js", include_str!("assets/script/design.js")),
    ("dialogs.js", include_str!("assets/script/dialogs.js")),
    ("flows.js", include_str!("assets/script/flows.js")),
    ("editor.js", include_str!("assets/script/editor.js")),
    ("editor/bar.js", include_str!("assets/script/editor/bar.js")),
    ("editor/choices.js", include_str!("assets/script/editor/choices.js")),
    ("editor/dom.js", include_str!("assets/script/editor/dom.js")),
    ("editor/dragging.js", include_str!("assets/script/editor/dragging.js")),
    ("editor/draft.js", include_str!("assets/script/editor/draft.js")),
    ("editor/faults.js", include_str!("assets/script/editor/faults.js")),
    ("editor/grouping.js", include_str!("assets/script/editor/grouping.js")),
    ("editor/history.js", include_str!("assets/script/editor/history.js")),
    ("editor/icons.js", include_str!("assets/script/editor/icons.js")),
    ("editor/ids.js", include_str!("assets/script/editor/ids.js")),
    ("editor/images.js", include_str!("assets/script/editor/images.js")),
    ("editor/json.js", include_str!("assets/script/editor/json.js")),
    ("editor/jumps.js", include_str!("assets/script/editor/jumps.js")),
    ("editor/languages.js", include_str!("assets/script/editor/languages.js")),
    ("editor/list.js", include_str!("assets/script/editor/list.js")),
    ("editor/logic.js", include_str!("assets/script/editor/logic.js")),
    ("editor/preview.js", include_str!("assets/script/editor/preview.js")),
    ("editor/own.js", include_str!("assets/script/editor/own.js")),
    ("editor/palette.js", include_str!("assets/script/editor/palette.js")),
    ("editor/pruning.js", include_str!("assets/script/editor/pruning.js")),
    ("editor/question.js", include_str!("assets/script/editor/question.js")),
    ("editor/saving.js", include_str!("assets/script/editor/saving.js")),
    ("editor/schedule.js", include_str!("assets/script/editor/schedule.js")),
    ("editor/sections.js", include_str!("assets/script/editor/sections.js")),
    ("editor/texts.js", include_str!("assets/script/editor/texts.js")),
    ("editor/title.js", include_str!("assets/script/editor/title.js")),
    ("editor/types.js", include_str!("assets/script/editor/types.js")),
    ("editor/values.js", include_str!("assets/script/editor/values.js")),
    ("editor/words.js", include_str!("assets/script/editor/words.js")),
    ("site.js", include_str!("assets/script/site.js")),
    ("go.js", include_str!("assets/script/go.js")),
    ("share.js", include_str!("assets/script/share.js")),
    ("response-table.js", include_str!("assets/script/response-table.js")),
    ("shortcuts.js", include_str!("assets/script/shortcuts.js")),
    ("responses.js", include_str!("assets/script/responses.js")),
    ("results.js", include_str!("assets/script/results.js")),
    ("settings.js", include_str!("assets/script/settings.js")),
    ("times.js", include_str!("assets/script/times.js")),
    ("welcome.js", include_str!("assets/script/welcome.js")),
];

pub(super) const STYLE: &str = "console.css";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
/// The number of hexadecimal digits of the hash in the path.
const VERSION_DIGITS: usize = 16;

static FILES: LazyLock<Files> = LazyLock::new(Files::read);

struct Files {
    version: String,
    by_name: HashMap<&'static str, (&'static str, EncodedBody)>,
}

impl Files {
    fn read() -> Self {
        let style = STYLES.concat();
        let mut hash = Sha256::new();
        hash.update(&style);
        let mut by_name = HashMap::from([(STYLE, (CSS, EncodedBody::new(style.into_bytes())))]);
        for &(name, text) in SCRIPTS {
            hash.update(name);
            hash.update(text);
            by_name.insert(name, (JAVASCRIPT, EncodedBody::new(text.as_bytes().to_vec())));
        }
        let digits = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Self { version: digits.chars().take(VERSION_DIGITS).collect(), by_name }
    }
}

/// The address of a file, by its plain name.
pub(super) fn address(name: &str) -> String {
    format!("/console/assets/{}/{name}", FILES.version)
}

/// The version in the address of every file.
pub(super) fn version() -> &'static str {
    &FILES.version
}

/// A file and its type, by its plain name.
pub(super) fn file(name: &str) -> Option<&'static (&'static str, EncodedBody)> {
    FILES.by_name.get(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found_and_is_not_empty() {
        for name in SCRIPTS.iter().map(|(name, _)| *name).chain([STYLE]) {
            let (_, served) = file(name).unwrap();
            assert!(!served.body.is_empty(), "{name}");
            assert!(address(name).ends_with(name));
        }
        assert!(file("nothing.js").is_none());
    }

    #[test]
    fn scripts_import_only_files_that_exist() {
        for (name, text) in SCRIPTS {
            for line in text.lines().filter(|line| line.contains(" from \"")) {
                let from = line.split(" from \"").nth(1).and_then(|rest| rest.split('"').next());
                let here = name.rsplit_once('/').map_or("", |(folder, _)| folder);
                let imported = resolved(here, from.unwrap());
                assert!(file(&imported).is_some(), "{name} imports {imported}");
            }
        }
    }

    fn resolved(folder: &str, relative: &str) -> String {
        let mut path: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        for part in relative.split('/') {
            match part {
                "." => {}
                ".." => {
                    path.pop();
                }
                part => path.push(part),
            }
        }
        path.join("/")
    }
}
