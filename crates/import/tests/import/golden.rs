//! Every sample, with the definition and the report that it becomes.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sluice_flow::definition;
use sluice_import::{FORMATS, Imported, Outcome, import};

fn folder(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(format)
}

/// The sample files of a format.
fn samples(format: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder(format)).unwrap().map(|entry| entry.unwrap().path());
    let is_sample = |path: &PathBuf| !path.to_str().unwrap().ends_with(".golden.json");
    let mut samples: Vec<PathBuf> = files.filter(is_sample).collect();
    samples.sort();
    samples
}

fn result(imported: Result<Imported, String>) -> Value {
    match imported {
        Err(reason) => json!({"error": reason}),
        Ok(Imported { definition, report }) => {
            let lines: Vec<String> = report
                .entries
                .iter()
                .map(|entry| {
                    let outcome = match entry.outcome() {
                        Outcome::Mapped => "mapped".to_owned(),
                        Outcome::Changed => format!("changed: {}", entry.changes.join("; ")),
                        Outcome::NotMapped => {
                            format!("not mapped: {}", entry.reason.as_deref().unwrap())
                        }
                    };
                    let id = entry.id.as_deref().map(|id| format!(" = {id}")).unwrap_or_default();
                    format!("{} {}{id} -> {outcome}", entry.place, entry.element)
                })
                .collect();
            json!({"definition": definition.to_json(), "report": lines})
        }
    }
}

#[test]
fn every_sample_becomes_what_is_expected() {
    let mut differences = Vec::new();
    for format in FORMATS {
        let samples = samples(format.name);
        assert!(samples.len() >= 4, "{} needs four samples", format.name);
        for sample in samples {
            let actual = result(import(format, &std::fs::read(&sample).unwrap()));
            let golden = sample.with_extension("golden.json");
            if std::env::var_os("UPDATE_GOLDEN").is_some() {
                let text = serde_json::to_string_pretty(&actual).unwrap();
                std::fs::write(&golden, text + "\n").unwrap();
                continue;
            }
            let expected: Value = serde_json::from_slice(&std::fs::read(&golden).unwrap()).unwrap();
            if actual != expected {
                differences.push(format!("{}:\n{actual:#}", golden.display()));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

#[test]
fn every_result_is_valid_and_reports_what_is_left_out() {
    for format in FORMATS {
        for sample in samples(format.name) {
            let Ok(imported) = import(format, &std::fs::read(&sample).unwrap()) else { continue };
            let checked = definition::check_new(&imported.definition.to_json());
            assert_eq!(checked.as_ref(), Ok(&imported.definition), "{}", sample.display());
            let report = &imported.report;
            let all = [Outcome::Mapped, Outcome::Changed, Outcome::NotMapped];
            let counted: usize = all.iter().map(|outcome| report.count(*outcome)).sum();
            assert_eq!(counted, report.entries.len());
            if sample.to_str().unwrap().contains("every-type") {
                assert!(report.count(Outcome::NotMapped) > 0, "{}", sample.display());
            }
        }
    }
}

#[test]
fn a_file_of_another_kind_is_refused_with_a_reason() {
    for format in FORMATS {
        let check = |bytes: &[u8], part: &str| {
            let reason = import(format, bytes).map(|_| ()).unwrap_err();
            assert!(reason.contains(part), "{}: {reason}", format.name);
        };
        check(b"", "is not");
        check(b"{}", "is not");
        check(b"[1, 2]", "is not");
        check(b"PK\x03\x04 not a workbook", "is not");
        check(&vec![b' '; sluice_import::FILE_BYTES_MAX + 1], "larger");
        let page = Path::new(env!("CARGO_MANIFEST_DIR"));
        let page = page.join("../../docs/import").join(format!("{}.md", format.name));
        assert!(page.exists(), "{} needs a page: {}", format.name, page.display());
    }
}

#[test]
fn a_file_of_another_format_is_named() {
    for right in FORMATS {
        for sample in samples(right.name) {
            let bytes = std::fs::read(&sample).unwrap();
            if import(right, &bytes).is_err() || sample.to_str().unwrap().contains("broken") {
                continue;
            }
            for wrong in FORMATS.iter().filter(|it| it.name != right.name) {
                let reason = import(wrong, &bytes).map(|_| ()).unwrap_err();
                let expected = format!(
                    "looks like {}, not like {}: use sluice import {}",
                    right.label, wrong.label, right.name
                );
                assert_eq!(reason, expected, "{}", sample.display());
            }
        }
    }
    let own = br#"{"title": "T", "questions": [{"id": "q", "type": "shortText", "prompt": "Q"}]}"#;
    for format in FORMATS {
        let reason = import(format, own).map(|_| ()).unwrap_err();
        assert!(reason.contains("sluice flow push"), "{}: {reason}", format.name);
    }
}

#[test]
fn an_old_workbook_is_to_be_saved_as_xlsx() {
    let format = FORMATS.iter().find(|format| format.name == "xlsform").unwrap();
    let old = [&[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1][..], &[0; 600]].concat();
    let reason = import(format, &old).map(|_| ()).unwrap_err();
    assert!(reason.contains("(.xls)") && reason.contains("save it as .xlsx"), "{reason}");
}

#[test]
fn a_small_workbook_cannot_become_a_large_one() {
    // A file of zeros that is a thousand times smaller when it is packed.
    let large = vec![b' '; 40 * 1024 * 1024];
    let workbook = zip(&[("xl/workbook.xml", &large)]);
    assert!(workbook.len() < 200_000, "{}", workbook.len());
    let format = FORMATS.iter().find(|format| format.name == "xlsform").unwrap();
    let reason = import(format, &workbook).map(|_| ()).unwrap_err();
    assert!(reason.contains("more than 32 MiB"), "{reason}");
}

/// A zip archive with deflated files.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    use std::io::Write as _;
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let mut encoder =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(content).unwrap();
        let packed = encoder.finish().unwrap();
        let at = archive.len() as u32;
        let length = (name.len() as u16).to_le_bytes();
        let sizes = [(packed.len() as u32).to_le_bytes(), (content.len() as u32).to_le_bytes()];
        let shared = [&[20, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &sizes.concat(), &length];
        archive.extend([b"PK\x03\x04", &shared.concat()[..], &[0, 0], name.as_bytes()].concat());
        archive.extend(packed);
        let rest = [&[0; 12][..], &at.to_le_bytes(), name.as_bytes()].concat();
        directory.extend([b"PK\x01\x02\x14\x00", &shared.concat()[..], &rest].concat());
    }
    let (at, size) = (archive.len() as u32, directory.len() as u32);
    let count = (files.len() as u16).to_le_bytes();
    archive.extend(directory);
    let end = [&[0; 4][..], &count, &count, &size.to_le_bytes(), &at.to_le_bytes(), &[0, 0]];
    archive.extend([b"PK\x05\x06", &end.concat()[..]].concat());
    archive
}
