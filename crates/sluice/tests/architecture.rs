//! Architecture rules that the compiler does not enforce, each as one test named after it.
//!
//! Two sources are read: `cargo metadata` for dependencies between crates, and the text of every
//! `.rs` file for the rest. A text rule is a function from (path, text) to offences, so that each
//! can be run on a sample that breaks it; the tests at the end do that, because a rule that cannot
//! fail enforces nothing. Deliberately absent: a Rust parser. The scans understand comments, test
//! modules and `use` groups, which is enough for code formatted by rustfmt.

mod architecture {
    pub(crate) mod circles;
    pub(crate) mod dependencies;
    pub(crate) mod imports;
    pub(crate) mod rules;
    pub(crate) mod source;
}

use std::collections::BTreeSet;

use architecture::circles::circles;
use architecture::dependencies::{self, Dependency, Package};
use architecture::imports::{self, Crate};
use architecture::rules;
use architecture::source::Source;

/// Fails with every offence in the workspace, one per line.
fn check(rule: fn(&Source) -> Vec<String>) {
    let sources = Source::of_workspace();
    assert!(
        sources.len() > 20,
        "only {} files found: the search for files is broken",
        sources.len()
    );
    none(sources.iter().flat_map(rule));
}

fn none(offences: impl Iterator<Item = String>) {
    let offences: Vec<String> = offences.collect();
    assert!(offences.is_empty(), "{} offence(s):\n  {}", offences.len(), offences.join("\n  "));
}

#[test]
fn crates_import_only_what_the_table_allows() {
    let crates = imports::of_workspace();
    let offences: Vec<String> = crates.iter().flat_map(imports::offences).collect();
    assert!(offences.is_empty(), "offences:\n  {}", offences.join("\n  "));
}

#[test]
fn dependencies_follow_the_rules_of_deny_toml() {
    let packages = dependencies::packages();
    assert!(packages.len() > 100, "only {} crates found", packages.len());
    let offences = dependencies::offences(&dependencies::policy(), &packages);
    assert!(offences.is_empty(), "offences:\n  {}", offences.join("\n  "));
}

#[test]
fn status_codes_are_named_only_in_reply_modules() {
    check(rules::status_code_outside_reply);
}

#[test]
fn backends_are_named_only_in_the_module_for_them() {
    check(rules::backend_outside_its_module);
}

#[test]
fn sql_libraries_are_named_only_in_the_store() {
    check(rules::sql_outside_store);
}

#[test]
fn question_types_are_named_only_in_their_table() {
    check(rules::question_type_outside_table);
}

#[test]
fn payload_generations_are_named_only_in_their_table() {
    check(rules::generation_outside_table);
}

#[test]
fn stored_definitions_are_parsed_in_one_place() {
    check(rules::stored_definition_parsed);
}

#[test]
fn no_crate_has_import_cycles() {
    let sources = Source::of_workspace();
    let shipped = sources.iter().filter(|source| source.ships());
    let folders: BTreeSet<&str> =
        shipped.filter_map(|it| Some(&it.path[..it.path.find("src/")? + 4])).collect();
    assert!(folders.len() >= 10, "only {folders:?} found: the search for crates is broken");
    let circles: Vec<String> = folders
        .into_iter()
        .flat_map(|folder| circles(&sources, folder).into_iter().map(move |it| (folder, it)))
        .map(|(folder, circle)| format!("{folder}: {}", circle.join(", ")))
        .collect();
    assert!(circles.is_empty(), "{} circle(s):\n  {}", circles.len(), circles.join("\n  "));
}

#[test]
fn use_cases_do_not_import_the_engine() {
    check(rules::use_case_imports_engine);
}

#[test]
fn use_cases_are_compiled_once() {
    check(rules::use_case_compiled_everywhere);
}

#[test]
fn every_file_starts_with_a_header() {
    check(rules::missing_header);
}

#[test]
fn no_file_is_longer_than_500_lines() {
    check(rules::too_long);
}

#[test]
fn no_comment_is_wider_than_100_columns() {
    check(rules::wide_comment);
    let fuzz_targets = Source::below("fuzz/targets");
    assert!(fuzz_targets.len() > 10, "only {} fuzz targets found", fuzz_targets.len());
    none(fuzz_targets.iter().flat_map(rules::wide_comment));
    let others = Source::with_extensions("crates", &["sql", "js", "css"]);
    assert!(others.len() > 40, "only {} other files found", others.len());
    none(others.iter().flat_map(rules::wide_comment));
}

#[test]
fn no_module_has_a_generic_name_such_as_util() {
    check(rules::vague_module_name);
}

#[test]
fn no_code_is_left_unimplemented() {
    check(rules::unwritten_code);
}

#[test]
fn the_pure_crate_bans_clocks_environment_and_files() {
    let path = architecture::source::root().join("crates/flow/clippy.toml");
    let config = std::fs::read_to_string(&path).expect("crates/flow has a clippy.toml");
    for banned in [
        "std::time::SystemTime::now",
        "std::time::Instant::now",
        "chrono::Utc::now",
        "std::env::var",
        "std::fs::read",
        "std::fs::File",
        "std::net::TcpStream",
    ] {
        assert!(config.contains(&format!("\"{banned}\"")), "clippy.toml does not ban {banned}");
    }
}

/// A text rule must find `offences` in a file at `path` with this `text`.
fn sample(rule: fn(&Source) -> Vec<String>, path: &str, text: &str, offences: usize) {
    let found = rule(&Source::new(path, text));
    assert_eq!(found.len(), offences, "{path}: {found:?}");
}

#[test]
fn the_status_code_rule_can_fail() {
    let rule = rules::status_code_outside_reply;
    let naming = "//! x\nuse http::StatusCode;\n";
    sample(rule, "crates/api/src/public.rs", naming, 1);
    sample(rule, "crates/http/src/reply.rs", naming, 0);
    sample(rule, "crates/api/src/trpc/envelope.rs", naming, 0);
    sample(rule, "crates/api/tests/public.rs", naming, 0);
    sample(rule, "crates/api/src/public.rs", "//! x\n// no StatusCode here\n", 0);
    let in_test = "//! x\n#[cfg(test)]\nmod tests {\n    use http::StatusCode;\n}\n";
    sample(rule, "crates/api/src/public.rs", in_test, 0);
    sample(rule, "crates/api/src/public.rs", &format!("{in_test}fn f() -> StatusCode {{}}\n"), 1);
}

#[test]
fn the_use_case_rule_can_fail() {
    let rule = rules::use_case_imports_engine;
    let naming = "//! x\nuse crate::engine::Engine;\n";
    sample(rule, "crates/engine/src/publish.rs", naming, 1);
    sample(rule, "crates/engine/src/people/users.rs", naming, 1);
    sample(rule, "crates/engine/src/engine.rs", naming, 0);
    sample(rule, "crates/web/src/app.rs", naming, 0);
    sample(rule, "crates/engine/src/publish.rs", "//! x\nuse crate::core::Core;\n", 0);
}

#[test]
fn the_rule_of_boxed_use_cases_can_fail() {
    let rule = rules::use_case_compiled_everywhere;
    let plain = "//! x\nimpl AppHandle {\n    pub async fn close(&self) {}\n}\n";
    sample(rule, "crates/engine/src/publish.rs", plain, 1);
    sample(rule, "crates/engine/src/engine.rs", plain, 0);
    sample(rule, "crates/console/src/apps.rs", plain, 0);
    for attributes in ["#[boxed]", "#[boxed]\n    // Why.\n    #[must_use]"] {
        let boxed = plain.replace("    pub", &format!("    {attributes}\n    pub"));
        sample(rule, "crates/engine/src/publish.rs", &boxed, 0);
    }
}

#[test]
fn the_backend_rule_can_fail() {
    let rule = rules::backend_outside_its_module;
    let naming = "//! x\nuse sluice_store::sqlite::SqliteStore;\n";
    sample(rule, "crates/engine/src/engine.rs", naming, 1);
    sample(rule, "crates/sluice/src/main.rs", naming, 1);
    sample(rule, "crates/sluice/src/serve.rs", naming, 1);
    sample(rule, "crates/sluice/src/serve.rs", "//! x\nuse sluice_store::postgres::PgStore;\n", 1);
    sample(rule, "crates/sluice/src/backend.rs", naming, 0);
    sample(rule, "crates/store/src/conformance/mod.rs", naming, 0);
    sample(rule, "crates/engine/tests/intake.rs", naming, 0);
}

#[test]
fn the_table_rules_can_fail() {
    let (types, generations) =
        (rules::question_type_outside_table, rules::generation_outside_table);
    let naming = "//! x\nfn f() { matches!(kind, QuestionType::Nps(_)) }\n";
    sample(types, "crates/hosted/src/form.rs", naming, 1);
    sample(types, "crates/flow/src/question/types/nps.rs", naming, 0);
    sample(types, "crates/web/tests/hosted/form.rs", naming, 0);
    let using = "//! x\nfn f() { QuestionType::NAMES; QuestionType::blank(name) }\n";
    sample(types, "crates/hosted/src/form.rs", using, 0);
    for line in ["\"nps\" => 1,", "kind == \"yesNo\"", "\"rating\" | \"x\" => 1,", "| \"rating\""] {
        sample(types, "crates/console/src/card.rs", &format!("//! x\n{line}\n"), 1);
        sample(types, "crates/import/src/draft.rs", &format!("//! x\n{line}\n"), 0);
    }
    for line in ["\"email\" => 1,", "json!({\"type\": \"nps\"})", "Self::YesNo => \"yesNo\","] {
        sample(types, "crates/console/src/card.rs", &format!("//! x\n{line}\n"), 0);
    }
    let naming = "//! x\nfn f() { render(Generation::G4) }\n";
    sample(generations, "crates/engine/src/registry.rs", naming, 1);
    sample(generations, "crates/flow/src/payload/g4.rs", naming, 0);
    let using = "//! x\nfn f() { render(Generation::LATEST, Generation::ALL) }\n";
    sample(generations, "crates/engine/src/registry.rs", using, 0);
}

#[test]
fn the_rule_of_stored_definitions_can_fail() {
    let rule = rules::stored_definition_parsed;
    for line in ["serde_json::from_str(&row.definition)", "definition::stored(&row.definition)"] {
        let text = format!("//! x\nfn f() {{ {line} }}\n");
        sample(rule, "crates/engine/src/drafts.rs", &text, 1);
        sample(rule, "crates/console/src/flow_header.rs", &text, 1);
        sample(rule, "crates/engine/src/definitions.rs", &text, 0);
    }
    sample(rule, "crates/engine/src/drafts.rs", "//! x\nfn f() { stored_json(row) }\n", 0);
}

#[test]
fn the_import_cycle_rule_can_fail() {
    let file = |path: &str, text: &str| Source::new(&format!("crates/x/src/{path}"), text);
    let found = |sources: &[Source]| circles(sources, "crates/x/src/");
    let one = || file("one.rs", "//! x\nuse crate::two::{inner::{A, B}, C};\n");
    let face = || file("two/mod.rs", "//! x\nmod inner;\npub use inner::A;\n");
    let inner = |text: &str| file("two/inner.rs", &format!("//! x\n{text}\n"));
    let circle = vec![vec!["one".to_owned(), "two".to_owned(), "two::inner".to_owned()]];
    assert_eq!(found(&[one(), face(), inner("use super::super::one;")]), circle);
    assert_eq!(found(&[one(), face(), inner("fn f() { crate::one::f() }")]), circle);
    for text in
        ["use super::C;", "#[cfg(test)]\nmod tests {\n    use crate::one;\n}", "use std::one::A;"]
    {
        assert_eq!(found(&[one(), face(), inner(text)]), Vec::<Vec<String>>::new(), "{text}");
    }
}

#[test]
fn the_import_cycle_rule_follows_what_an_ancestor_uses() {
    let file = |path: &str, text: &str| {
        Source::new(&format!("crates/x/src/{path}"), &format!("//! x\n{text}\n"))
    };
    let found = |face: &str, left: &str| {
        let sources = [
            file("lib.rs", "mod two;\npub use two::*;"),
            file("two/mod.rs", face),
            file("two/left.rs", &format!("{left}\npub struct Left;")),
            file("two/right.rs", "use super::left::Left;\npub struct Right;"),
        ];
        circles(&sources, "crates/x/src/")
    };
    let circle = vec![vec!["two::left".to_owned(), "two::right".to_owned()]];
    for (face, left) in [
        ("pub use right::Right;", "use super::{Right};"),
        ("pub use right::Right;", "use crate::Right;"),
        ("pub use self::right::*;", "fn f(_: super::Right) {}"),
        ("use right::{self, Right as Other};", "use super::Other;"),
        ("use right::{self};", "use super::right::Right;"),
    ] {
        assert_eq!(found(face, left), circle, "{face} {left}");
    }
    for (face, left) in [
        ("pub use right::*;\npub struct Right;", "use super::Right;"),
        ("pub use right::Right;", "use super::Left;"),
        ("pub use right::Right;", "#[cfg(doc)]\nuse super::Right;"),
    ] {
        assert_eq!(found(face, left), Vec::<Vec<String>>::new(), "{face} {left}");
    }
}

#[test]
fn the_import_table_can_be_broken() {
    let depends = |name: &str, on: &str| Crate::new(name, [on]);
    let broken = [
        ("sluice-flow", "sluice-store"),
        ("sluice-flow", "tokio"),
        ("sluice-store", "axum"),
        ("sluice-engine", "http"),
        ("sluice-engine", "rusqlite"),
        ("sluice-web", "sluice-store"),
        ("sluice-http", "sluice-api"),
        ("sluice-hosted", "sluice-console"),
        ("sluice-console", "sluice-admin"),
        ("sluice-api", "sluice-admin"),
        ("sluice", "axum"),
        ("sluice-newcomer", "serde"),
    ];
    for (name, on) in broken {
        assert_eq!(imports::offences(&depends(name, on)).len(), 1, "{name} on {on}");
    }
    for (name, on) in
        [("sluice-web", "axum"), ("sluice", "sluice-store"), ("sluice-flow", "chrono")]
    {
        assert!(imports::offences(&depends(name, on)).is_empty(), "{name} on {on}");
    }
}

#[test]
fn the_file_rules_can_fail() {
    let path = "crates/flow/src/id.rs";
    sample(rules::missing_header, path, "use std::fmt;\n", 1);
    sample(rules::missing_header, path, "//! Ids.\n", 0);
    sample(rules::too_long, path, &"x\n".repeat(501), 1);
    sample(rules::too_long, path, &"x\n".repeat(500), 0);
    let wide = format!("    /// {}", "word ".repeat(20));
    for (line, offences) in [
        (wide.as_str(), 1),
        (&wide[..100], 0),
        (&format!("/// <https://{}>", "x".repeat(100)), 0),
        (&format!("//! | {}", "cell | ".repeat(20)), 0),
        (&format!("let x = \"{}\";", "word ".repeat(20)), 0),
    ] {
        sample(rules::wide_comment, path, &format!("//! x\n{line}\n"), offences);
    }
    sample(rules::vague_module_name, "crates/flow/src/util.rs", "//! x\n", 1);
    sample(rules::vague_module_name, "crates/web/src/common/mod.rs", "//! x\n", 1);
    sample(rules::vague_module_name, path, "//! x\nmod helpers {}\n", 1);
    sample(rules::vague_module_name, path, "//! x\nmod helpful {}\n", 0);
    sample(rules::unwritten_code, path, "//! x\nfn f() { todo!() }\n", 1);
    sample(rules::unwritten_code, path, "//! x\n// todo!( in prose\n", 0);
    sample(rules::sql_outside_store, "crates/web/src/lib.rs", "//! x\nuse rusqlite::Row;\n", 1);
}

#[test]
fn the_rule_of_wide_comments_knows_the_comments_of_each_language() {
    let wide = "word ".repeat(25);
    for (path, text, offences) in [
        ("crates/x/src/one.sql", format!("-- {wide}\nSELECT {wide}\n"), 1),
        ("crates/x/src/one.js", format!("// {wide}\n{wide}\n"), 1),
        ("crates/x/src/one.js", format!("/**\n * {wide}\n */\n{wide}\n"), 1),
        ("crates/x/src/one.css", format!("/* word\n   {wide} */\n{wide}\n"), 1),
        ("crates/x/src/one.rs", format!("//! x\n-- {wide}\n"), 0),
    ] {
        sample(rules::wide_comment, path, &text, offences);
    }
}

#[test]
fn each_rule_of_deny_toml_is_noticed_when_broken() {
    let package = |name: &str, licence: &str, source: Option<&str>, req: &str| Package {
        name: name.to_owned(),
        license: Some(licence.to_owned()),
        source: source.map(str::to_owned),
        dependencies: vec![Dependency {
            name: "other".to_owned(),
            req: req.to_owned(),
            source: Some("registry".to_owned()),
        }],
    };
    let mut packages = dependencies::packages();
    packages.push(package("copied", "GPL-3.0", None, "^1"));
    packages.push(package("forked", "MIT", Some("git+https://example.org/forked"), "^1"));
    packages.push(package("openssl", "MIT", None, "^1"));
    packages.push(package("loose", "MIT", None, "*"));
    packages.retain(|it| it.license.as_deref() != Some("CDLA-Permissive-2.0"));
    let offences = dependencies::offences(&dependencies::policy(), &packages);
    let names: Vec<&str> = offences.iter().filter_map(|it| it.split(' ').next()).collect();
    assert_eq!(names, ["copied", "forked", "openssl", "loose", "no"], "{offences:?}");
}

#[test]
fn licence_expressions_are_read_by_their_operators() {
    let allowed = |licence: &str| matches!(licence, "MIT" | "ISC");
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("MIT AND ISC", true),
        ("(GPL-3.0 OR MIT) AND ISC", true),
        ("GPL-3.0 OR MIT AND GPL-2.0", false),
        ("MIT WITH LLVM-exception", true),
        ("MIT MIT", false),
    ] {
        assert_eq!(dependencies::fits(expression, &allowed), expected, "{expression}");
    }
}
