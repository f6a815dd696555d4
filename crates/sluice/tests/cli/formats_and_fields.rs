//! Two extension points of CONTRIBUTING.md hold: an export format is one file and its lines in
//! `export/mod.rs`, and the JSON of a stored response is written in one place.

#[path = "../architecture/source.rs"]
mod source;
use crate::support;

use sluice_engine::export::{ExportFormat, FORMATS};
use sluice_engine::stored_response::FIELDS;
use source::Source;
use support::{run, text};

/// What reads files of other tools and our own exports.
const IMPORTS: [&str; 2] =
    ["crates/import/src/responses/", "crates/sluice/src/command/import_responses.rs"];

/// Shipped files that contain this code, except imports and those below a folder.
fn files_naming(needle: &str, apart_from: &str) -> Vec<String> {
    let sources = Source::of_workspace();
    let is_apart = |path: &str| {
        path.starts_with(apart_from) || IMPORTS.iter().any(|reader| path.starts_with(reader))
    };
    let shipped = sources.iter().filter(|it| it.ships() && !is_apart(&it.path));
    let naming = shipped.filter(|it| !it.lines_naming(&[needle]).is_empty());
    naming.map(|it| it.path.clone()).collect()
}

#[test]
fn nothing_outside_the_table_lists_the_export_formats() {
    for format in FORMATS {
        let name = format!("\"{}\"", format.name);
        assert_eq!(files_naming(&name, "crates/engine/src/export/"), [""; 0], "{name}");
    }
}

#[test]
fn the_command_line_offers_every_format_with_its_summary() {
    let folder = tempfile::tempdir().unwrap();
    let help = text(&run(folder.path(), &["responses", "export", "--help"]).stdout);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for format in FORMATS {
        let line = format!("- {}: {}", format.name, format.summary);
        assert!(help.contains(&line), "{line}\n{help}");
    }
}

/// With `UPDATE_DOCS=1` the test writes the table into the guide.
#[test]
fn the_guide_to_exports_has_the_table_of_formats() {
    const BEGIN: &str = "<!-- The table of formats, from the code: UPDATE_DOCS=1 cargo test --test cli formats_and_fields -->\n";
    const END: &str = "<!-- end of the table of formats -->\n";
    let row = |format: &&ExportFormat| {
        format!(
            "| `{}` | {} | {} | {} |\n",
            format.name, format.label, format.summary, format.values
        )
    };
    let rows: String = FORMATS.iter().map(row).collect();
    let table = format!("\n| format | | for | values |\n|---|---|---|---|\n{rows}\n");
    let path = source::root().join("docs/exports.md");
    let guide = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = guide.split_once(BEGIN).unwrap();
    let (found, after) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(found, table, "run this test with UPDATE_DOCS=1 to write the table");
    }
}

#[test]
fn one_place_writes_the_json_of_a_stored_response() {
    // A name that only a stored response has.
    let name = "\"identityVerified\"";
    assert!(FIELDS.iter().any(|field| format!("\"{}\"", field.name) == name));
    let files = files_naming(name, "crates/store/");
    let expected = ["crates/engine/src/export/columns.rs", "crates/engine/src/stored_response.rs"];
    assert_eq!(files, expected);
}

#[test]
fn the_guide_to_exports_names_the_columns_that_every_file_has() {
    let guide = std::fs::read_to_string(source::root().join("docs/exports.md")).unwrap();
    let columns =
        std::fs::read_to_string(source::root().join("crates/engine/src/export/columns.rs"));
    let columns = columns.unwrap();
    let names: Vec<&str> =
        columns.split(" fixed(\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert!(guide.contains(&format!("`{name}`")), "add the column `{name}` to docs/exports.md");
    }
}
