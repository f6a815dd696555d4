//! Cross-tabulation: counted by the test itself, over versions, and refused if it makes no sense.

use serde_json::{Value, json};

use crate::computed::once;
use crate::support::Site;

fn definition(options: &[&str]) -> Value {
    let options: Vec<Value> =
        options.iter().map(|id| json!({"id": id, "label": id.to_uppercase()})).collect();
    json!({
        "title": "Crossed",
        "questions": [
            {"id": "nps", "type": "nps", "prompt": "How likely?"},
            {"id": "plan", "type": "singleChoice", "prompt": "Which plan?", "options": options},
            {"id": "use", "type": "multipleChoice", "prompt": "What do you use?", "options": options, "allowOther": true},
            {"id": "rank", "type": "ranking", "prompt": "In order?", "options": options},
            {"id": "grid", "type": "matrix", "prompt": "Agree?", "rows": options, "columns": options},
            {"id": "size", "type": "number", "prompt": "How many?"},
            {"id": "since", "type": "date", "prompt": "Since?"},
            {"id": "why", "type": "longText", "prompt": "Why?"},
            {"id": "note", "type": "statement", "prompt": "Thank you."},
        ]
    })
}

async fn open() -> (Site, String, String) {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let new = json!({"name": "Crossed", "kind": "survey", "definition": definition(&["a", "b"])});
    let flow = site.post(&format!("/apps/{app}/flows"), new).await.ok(201);
    let flow = flow["flowId"].as_str().unwrap().to_owned();
    (site, key, flow)
}

/// The labels of the groups of one side.
fn labels(side: &Value) -> Vec<&str> {
    side["groups"].as_array().unwrap().iter().map(|it| it["label"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn answers_are_counted_together_over_versions() {
    let (site, key, flow) = open().await;
    let first = site.publish(&flow).await;
    for at in 0..30 {
        let answers = json!({"nps": (at % 11).to_string(), "plan": (["a", "b"][at % 2])});
        site.store(&key, &first, json!({"answers": answers})).await;
    }
    // The options change places, and one is new: counts must follow the ids.
    let draft = definition(&["c", "b", "a"]);
    site.put(&format!("/flows/{flow}/draft"), draft).await.ok(200);
    let second = site.publish(&flow).await;
    site.clock.advance_millis(3_600_000);
    for at in 0..12 {
        let answers = json!({"nps": "10", "plan": (["a", "b", "c"][at % 3])});
        site.store(&key, &second, json!({"answers": answers})).await;
    }
    site.store(&key, &second, json!({"answers": {"nps": "10"}})).await;
    site.store(&key, &second, json!({"answers": {"plan": "a"}})).await;
    site.store(&key, &second, json!({"answers": {}})).await;

    let path = format!("/flows/{flow}/crosstab?rows=plan&columns=nps");
    let table = once(&site, &path, |table| table["both"] == 42).await;
    assert_eq!(labels(&table["rows"]), ["C", "B", "A"]);
    assert_eq!(
        labels(&table["columns"]),
        ["Detractors (0 to 6)", "Passives (7, 8)", "Promoters (9, 10)"]
    );
    let mut expected = [[0; 3]; 3];
    let group = |nps: usize| if nps <= 6 { 0 } else { 1 + usize::from(nps >= 9) };
    for at in 0..30 {
        expected[[2, 1][at % 2]][group(at % 11)] += 1;
    }
    for at in 0..12 {
        expected[[2, 1, 0][at % 3]][2] += 1;
    }
    assert_eq!(table["cells"], json!(expected));
    assert_eq!((&table["onlyRows"], &table["onlyColumns"]), (&json!(1), &json!(1)));
    assert_eq!((&table["neither"], &table["partial"]), (&json!(1), &json!(false)));
    assert_eq!(table["significance"]["outcome"], "tooFew");

    let one = once(&site, &format!("{path}&version={first}"), |_| true).await;
    assert_eq!((&one["both"], &one["onlyRows"]), (&json!(30), &json!(0)));
    let fewer = once(&site, &format!("{path}&answer.nps[lt]=7"), |_| true).await;
    let detractors: u64 = expected.iter().map(|row| row[0]).sum();
    assert_eq!(fewer["both"], detractors);
}

#[tokio::test]
async fn every_type_has_groups() {
    let (site, key, flow) = open().await;
    let version = site.publish(&flow).await;
    for at in 0..60 {
        let answers = json!({
            "plan": (["a", "b"][at % 2]),
            "use": ([json!(["a"]), json!(["a", "b"]), json!(["other:x"])][at % 3]),
            "rank": ([json!(["a", "b"]), json!(["b", "a"])][at % 2]),
            "grid": [format!("a:{}", ["a", "b"][at % 2]), "b:a".to_owned()],
            "size": (at * 10).to_string(),
            "since": format!("2026-{:02}-01", at % 12 + 1),
        });
        site.store(&key, &version, json!({"answers": answers})).await;
    }
    let table = async |rows: &str, columns: &str| {
        let path = format!("/flows/{flow}/crosstab?rows={rows}&columns={columns}");
        let table = once(&site, &path, |_| true).await;
        assert_eq!(table["counted"], 60, "{rows} {columns}");
        table
    };
    let perfect = json!([[30, 0], [0, 30]]);
    let ranked = table("plan", "rank").await;
    assert_eq!(ranked["cells"], perfect, "by the option that is ranked first");
    assert_eq!(ranked["significance"]["outcome"], "unlikelyChance");
    assert_eq!(table("plan", "grid:a").await["cells"], perfect);
    let constant = table("plan", "grid:b").await;
    assert_eq!(constant["cells"], json!([[30, 0], [30, 0]]));
    assert_eq!(constant["significance"]["outcome"], "notTested");
    assert_eq!(constant["columns"]["row"], json!({"id": "b", "label": "B"}));

    let several = table("plan", "use").await;
    assert_eq!(labels(&several["columns"]), ["A", "B", "Other"]);
    assert_eq!(several["cells"], json!([[20, 10, 10], [20, 10, 10]]));
    let totals: Vec<_> = several["columns"]["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["responses"])
        .collect();
    assert_eq!(totals, [40, 20, 20]);
    assert_eq!(several["significance"]["outcome"], "notTested");

    let numbers = table("size", "plan").await;
    let groups = labels(&numbers["rows"]).len();
    assert!((6..=8).contains(&groups), "{groups} groups of about as many answers");
    let sum: u64 = numbers["cells"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|row| row.as_array().unwrap())
        .map(|it| it.as_u64().unwrap())
        .sum();
    assert_eq!(sum, 60);
    assert_eq!(labels(&table("since", "plan").await["rows"]).len(), 12);
    let text = table("plan", "why").await;
    assert_eq!(text["cells"], json!([[0, 30], [0, 30]]));
    assert_eq!((&text["both"], &text["onlyRows"]), (&json!(0), &json!(60)));
}

#[tokio::test]
async fn a_version_that_asks_one_question_counts_for_that_side() {
    let (site, key, flow) = open().await;
    let first = site.publish(&flow).await;
    let mut draft = definition(&["a", "b"]);
    // The second version does not ask for the plan, and the grid becomes a text.
    draft["questions"][1]["id"] = json!("other-plan");
    draft["questions"][4] = json!({"id": "grid", "type": "longText", "prompt": "Agree?"});
    site.put(&format!("/flows/{flow}/draft"), draft).await.ok(200);
    let second = site.publish(&flow).await;
    for (version, answers) in [
        (&first, json!({"nps": "1", "plan": "a", "grid": ["a:a"]})),
        (&first, json!({"plan": "a"})),
        (&second, json!({"nps": "9", "grid": "yes"})),
        (&second, json!({"nps": "9"})),
        (&second, json!({})),
    ] {
        site.store(&key, version, json!({"answers": answers})).await;
    }
    for (columns, expected) in [
        ("plan", json!([1, 2, 1, 1, 1])),
        // Only the newest form of the question counts; of a text, a missing one is a group.
        ("grid", json!([1, 2, 0, 2, 2])),
    ] {
        let path = format!("/flows/{flow}/crosstab?rows=nps&columns={columns}");
        let table = once(&site, &path, |_| true).await;
        let names = ["both", "onlyRows", "onlyColumns", "neither", "counted"];
        let found: Vec<&Value> = names.iter().map(|name| &table[*name]).collect();
        assert_eq!(json!(found), expected, "{columns}");
    }
}

#[tokio::test]
async fn questions_that_cannot_be_crossed_are_refused() {
    let (site, _, flow) = open().await;
    site.publish(&flow).await;
    for (query, faults) in [
        ("rows=nps", vec![("/columns", "")]),
        ("rows=what&columns=nps", vec![("/rows", "no version of this flow asks this question")]),
        ("rows=note&columns=nps", vec![("/rows", "a statement takes no answer")]),
        ("rows=nps&columns=nps", vec![("/columns", "must be another question")]),
        ("rows=grid&columns=nps", vec![("/rows", "must name a row of the matrix: grid:a, grid:b")]),
        ("rows=grid:z&columns=nps", vec![("/rows", "must name a row of the matrix")]),
        ("rows=plan:a&columns=nps", vec![("/rows", "only a matrix has rows")]),
        (
            "rows=plan&columns=nps&answer.nps[x]=1",
            vec![("/answer.nps[x]", "has an unknown operator")],
        ),
    ] {
        site.get(&format!("/flows/{flow}/crosstab?{query}")).await.faults(&faults);
    }
    site.get("/flows/fl_0000000000000000000000/crosstab?rows=a&columns=b")
        .await
        .problem(404, "flow_not_found");
}
