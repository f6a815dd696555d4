//! The documents match the binary: every flow in them passes the check, every setting is listed.

use crate::support;

use std::path::{Path, PathBuf};

use support::{run, sluice, text};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn document(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

/// The fenced blocks of a language.
fn blocks<'d>(document: &'d str, language: &str) -> Vec<&'d str> {
    let fence = format!("```{language}\n");
    document.split(&fence).skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect()
}

#[test]
fn every_example_passes_the_check() {
    let files: Vec<String> = std::fs::read_dir(root().join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "yaml" || it == "json"))
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    assert!(files.len() >= 2, "{files:?}");
    let arguments: Vec<&str> =
        ["flow", "check"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let output = run(&root(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

#[test]
fn the_guide_to_citus_names_every_table_and_no_other() {
    let guide = document("docs/scaling.md");
    let migrations = root().join("crates/store/src/postgres/migrations");
    let schema: String = std::fs::read_dir(migrations)
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    let words = |text: &str, before: &str| -> Vec<String> {
        let after = text.split(before).skip(1);
        after.map(|rest| rest.split([' ', '\'']).next().unwrap().to_owned()).collect()
    };
    let mut tables = words(&schema, "\nCREATE TABLE ");
    // A partition belongs to its table; the probe and the marks stay on the coordinator.
    tables.retain(|table| !["responses_default", "probe", "marks"].contains(&table.as_str()));
    tables.sort();
    let layout = "crates/store/src/postgres/citus/layout.sql";
    assert!(guide.contains(&format!("](../{layout})")), "the guide links to the statements");
    let layout = document(layout);
    let mut documented = words(&layout, "\nSELECT create_distributed_table('");
    documented.extend(words(&layout, "\nSELECT citus_add_local_table_to_metadata('"));
    for with in layout.lines().filter_map(|line| line.split_once("; -- and ")) {
        documented.extend(with.1.split(", ").map(str::to_owned));
    }
    documented.sort();
    assert_eq!(documented, tables);
}

#[test]
fn every_flow_in_the_guide_passes_the_check_and_shows_every_type() {
    let guide = document("docs/flows.md");
    let flows = blocks(&guide, "yaml");
    assert!(flows.len() >= 9, "{}", flows.len());
    let folder = tempfile::tempdir().unwrap();
    for (count, block) in flows.iter().enumerate() {
        // A list of questions is completed to a flow.
        let whole = block.starts_with("title:");
        let flow =
            if whole { (*block).to_owned() } else { format!("title: t\nquestions:\n{block}") };
        let file = format!("block-{count}.yaml");
        std::fs::write(folder.path().join(&file), flow).unwrap();
        let output = run(folder.path(), &["flow", "check", &file]);
        assert_eq!(output.status.code(), Some(0), "{block}\n{}", text(&output.stdout));
    }
    let types = document("docs/question-types.md");
    for name in sluice_flow::question::QuestionType::NAMES {
        assert!(types.contains(&format!("\n## {name}\n")), "{name} has no section");
        assert!(flows.iter().any(|flow| flow.contains(&format!("type: {name}"))), "{name}");
    }
    for test in ["equals", "in", "notIn", "includes", "answered", "lessThan", "greaterThan"] {
        assert!(guide.contains(&format!("`{test}: ")), "{test}");
    }
}

#[test]
fn the_guide_to_running_lists_every_setting_and_every_exit_code() {
    let guide = document("docs/running.md");
    let help = text(&sluice().args(["serve", "--help"]).output().unwrap().stdout);
    let flags: Vec<&str> = help
        .lines()
        .filter_map(|line| line.trim().strip_prefix("--"))
        .map(|line| line.split([' ', '[', '=']).next().unwrap())
        .filter(|flag| *flag != "help")
        .collect();
    assert!(flags.len() >= 10, "{flags:?}");
    for flag in flags {
        let variable = format!("SLUICE_{}", flag.to_uppercase().replace('-', "_"));
        let row = guide.lines().find(|line| line.starts_with(&format!("| `--{flag}` |")));
        assert!(row.is_some_and(|row| row.contains(&variable)), "--{flag} is not in the table");
    }
    let help = text(&sluice().arg("--help").output().unwrap().stdout);
    let codes = help.split("Exit codes:\n").nth(1).unwrap();
    for code in codes.lines().filter_map(|line| line.split_whitespace().next()) {
        assert!(guide.contains(&format!("| {code} |")), "exit code {code} is not in the table");
    }
}

#[test]
fn the_configuration_file_in_the_guide_is_read() {
    let guide = document("docs/running.md");
    let folder = tempfile::tempdir().unwrap();
    let file = blocks(&guide, "toml")[0].replace("/var/lib/sluice", "data");
    std::fs::write(folder.path().join("sluice.toml"), file).unwrap();
    let server = support::Server::start(folder.path());
    assert!(folder.path().join("data/sluice.db").exists());
    assert_eq!(server.stop(), Some(0));
    let log = std::fs::read_to_string(folder.path().join("server.log")).unwrap();
    for line in log.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(line["level"].is_string(), "{line}");
    }
}

#[test]
fn the_readme_shows_the_example_that_the_client_tests_run() {
    let readme = document("README.md");
    assert_eq!(blocks(&readme, "ts"), [document("examples/submit.ts").trim_end()]);
}

/// The rows of the table under a heading of docs/api.md, each as its cells.
fn api_table(heading: &str) -> Vec<Vec<String>> {
    let document = document("docs/api.md");
    let (_, section) = document.split_once(&format!("\n### {heading}\n")).unwrap();
    let rows = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()
        })
        .collect()
}

/// Asserts that the rows of a table of docs/api.md begin with these cells, in any order.
fn assert_table(heading: &str, expected: &[Vec<String>]) {
    let columns = expected[0].len();
    let rows: Vec<Vec<String>> =
        api_table(heading).into_iter().map(|cells| cells[..columns].to_vec()).collect();
    for row in expected {
        assert!(
            rows.contains(row),
            "add to the table \"{heading}\" of docs/api.md: | {} |",
            row.join(" | ")
        );
    }
    for row in &rows {
        assert!(
            expected.contains(row),
            "remove from the table \"{heading}\" of docs/api.md: | {} |",
            row.join(" | ")
        );
    }
    assert_eq!(rows.len(), expected.len(), "a row of \"{heading}\" in docs/api.md occurs twice");
}

#[test]
fn the_api_page_lists_every_issue_code() {
    let codes = sluice_flow::issue::Code::ALL.iter();
    let expected: Vec<_> = codes.map(|code| vec![format!("`{}`", code.as_str())]).collect();
    assert_table("Issue codes of `response.submit`", &expected);
}

#[test]
fn the_api_page_lists_every_limit_of_a_submission() {
    let transport = [
        ("body, bytes (an operator can change it)", sluice_web::Limits::default().body_bytes_max),
        ("calls in a batch", sluice_web::CALLS_MAX),
    ];
    let limits = transport.iter().chain(sluice_flow::submission::LIMITS);
    let expected: Vec<_> =
        limits.map(|(name, limit)| vec![(*name).to_owned(), limit.to_string()]).collect();
    assert_table("Limits of `response.submit`", &expected);
}

#[test]
fn the_api_page_and_the_transport_page_list_every_status_of_a_call() {
    let codes = sluice_web::TRPC_CODES.iter();
    let expected: Vec<_> = codes
        .map(|(name, number, status)| {
            vec![status.to_string(), format!("`{name}`"), number.to_string()]
        })
        .collect();
    assert_table("Statuses of `response.submit`", &expected);
    let guide = document("docs/trpc.md");
    for (name, number, status) in sluice_web::TRPC_CODES {
        let row = format!("| `{name}` | {number} | {status} |");
        assert!(guide.contains(&row), "add to the table of errors in docs/trpc.md: {row}");
    }
}

/// The codes that a description in the OpenAPI document names: `in_backticks`.
fn codes_in(description: &str) -> impl Iterator<Item = &str> {
    let is_code = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    description.split('`').skip(1).step_by(2).filter(is_code)
}

#[test]
fn the_api_page_lists_every_error_code_of_the_gets_and_visits() {
    let document = serde_json::to_value(sluice_web::openapi::document()).unwrap();
    let table = api_table("Errors of the GETs and visits");
    let mut checked = 0;
    for (method, path) in [
        ("get", "/api/v1/{apiKey}/flows/{flowId}"),
        ("get", "/api/v1/{apiKey}/flow_versions/{flowVersionId}"),
        ("post", "/api/v1/{apiKey}/visits"),
    ] {
        let responses = document["paths"][path][method]["responses"].as_object().unwrap();
        for (status, response) in
            responses.iter().filter(|(status, _)| *status >= &"400".to_owned())
        {
            for code in codes_in(response["description"].as_str().unwrap()) {
                let is_listed = |row: &Vec<String>| {
                    row[0].contains(status.as_str()) && row[1].contains(&format!("`{code}`"))
                };
                assert!(table.iter().any(is_listed), "{path}: {status} `{code}` is not listed");
                checked += 1;
            }
        }
    }
    assert!(checked >= 24, "only {checked} codes were found in the OpenAPI document");
}

#[test]
fn the_flow_file_in_the_guide_passes_the_check() {
    let guide = document("docs/flows-as-code.md");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("lunch.yaml"), blocks(&guide, "yaml")[0]).unwrap();
    let output = run(folder.path(), &["flow", "check", "lunch.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}
