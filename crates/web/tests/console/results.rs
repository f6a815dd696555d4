//! Results: the page shows the figures that were counted by hand, whatever was filtered, compared,
//! edited or removed.

use std::time::Duration;

use crate::use_cases::UseCases as _;
use serde_json::{Value, json};
use sluice_engine::rows::Role;
use sluice_flow::id::{AppId, FlowId, FlowVersionId};

use crate::support::{Site, actor};

const HOSTILE: &str = "<script>alert(1)</script>\"'&";
const DAY_MILLIS: i64 = 86_400_000;

fn first() -> Value {
    json!({"title": "Feedback", "questions": [
        {"id": "nps", "type": "nps", "prompt": "How likely?"},
        {"id": "use", "type": "multipleChoice", "prompt": "What do you use?", "allowOther": true,
         "options": [{"id": "api", "label": "The API"}, {"id": "web", "label": HOSTILE}]},
        {"id": "docs", "type": "rating", "prompt": "How good are the docs?"},
        {"id": "why", "type": "longText", "prompt": HOSTILE},
    ]})
}

/// The same survey with another wording, and without the rating.
fn second() -> Value {
    json!({"title": "Feedback", "questions": [
        {"id": "nps", "type": "nps", "prompt": "How likely are you to recommend us?"},
        {"id": "use", "type": "multipleChoice", "prompt": "What do you use?", "allowOther": true,
         "options": [{"id": "web", "label": HOSTILE}]},
        {"id": "why", "type": "longText", "prompt": HOSTILE},
    ]})
}

struct Desk {
    site: Site,
    app: AppId,
    flow: FlowId,
    versions: [FlowVersionId; 2],
}

impl Desk {
    /// Six responses to the first version over three days, then three to the second.
    async fn open() -> Self {
        let site = Site::start().await;
        let app = site.app("Shop").await;
        let (flow, one) = site.flow(app, first()).await;
        let rows = [
            (0, "10", json!(["api"]), "5", "The export is slow", "pro"),
            (0, "9", json!(["api", "web"]), "4", "Slow, but good", "pro"),
            (1, "8", json!(["web"]), "4", "", "free"),
            (1, "3", json!(["other:Paper"]), "1", HOSTILE, "free"),
            (0, "7", json!(["api"]), "5", "slow export", "pro"),
            (1, "10", json!([]), "3", "", HOSTILE),
        ];
        for (days, nps, uses, docs, why, plan) in rows {
            site.clock.advance_millis(days * DAY_MILLIS);
            let answers = json!({"nps": nps, "use": uses, "docs": docs, "why": why});
            let more = json!({"answers": answers, "metadata": {"tags": {"plan": plan}}});
            site.respond(app, one, more).await;
        }
        site.engine.put_draft(&actor(), flow, second()).await.unwrap();
        let two = site.engine.publish(&actor(), flow).await.unwrap().flow_version_id;
        for nps in ["9", "9", "0"] {
            let more = json!({"answers": {"nps": nps}, "respondentAnalyticsAdmission": "admitted"});
            site.respond(app, two, more).await;
        }
        Self { site, app, flow, versions: [one, two] }
    }

    fn address(&self, query: &str) -> String {
        format!("/console/flows/{}/results{query}", self.flow)
    }

    async fn page(&self, query: &str) -> String {
        self.site.root().await.get(&self.address(query)).await.ok()
    }
}

/// The card of a question, from its heading to the next card.
fn card<'p>(page: &'p str, prompt: &str) -> &'p str {
    let from =
        page.find(&format!(">{prompt}</h2>")).unwrap_or_else(|| panic!("no card {prompt}: {page}"));
    page[from..].split("</section>").next().unwrap()
}

#[track_caller]
fn has_row(card: &str, name: &str, cells: &[&str]) {
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    let row = format!("<th scope=\"row\" dir=\"auto\">{name}</th>{cells}");
    assert!(card.contains(&row), "{row} is not in {card}");
}

#[tokio::test]
async fn the_page_shows_what_was_counted_by_hand() {
    let desk = Desk::open().await;
    let page = desk.page("").await;
    assert!(page.contains("<dt>Responses</dt><dd class=\"big\">9</dd>"), "{page}");
    assert!(page.contains("3 of 9"), "the number of linked responses");
    // 10, 9, 8, 3, 7, 10 and 9, 9, 0: five promoters, two passives, two detractors.
    let nps = card(&page, "How likely are you to recommend us?");
    assert!(nps.contains(">+33</text>"), "{nps}");
    has_row(nps, "Promoters (9 and 10)", &["5", "56%"]);
    has_row(nps, "Detractors (0 to 6)", &["2", "22%"]);
    has_row(nps, "10", &["2", "22%"]);
    assert!(nps.contains("answered in 9 of 9 responses (100%)"), "{nps}");
    let uses = card(&page, "What do you use?");
    has_row(uses, "The API (no longer offered)", &["3", "60%"]);
    has_row(uses, "Other", &["1", "20%"]);
    let docs = card(&page, "How good are the docs?");
    has_row(docs, "5", &["2", "33%"]);
    assert!(docs.contains("3.67"), "the mean of 5, 4, 4, 1, 5, 3: {docs}");
}

#[tokio::test]
async fn questions_that_were_edited_or_removed_keep_their_history() {
    let desk = Desk::open().await;
    let page = desk.page("").await;
    let nps = card(&page, "How likely are you to recommend us?");
    assert!(nps.contains("Until version 1: <q dir=\"auto\">How likely?</q>"), "{nps}");
    let docs = card(&page, "How good are the docs?");
    assert!(
        docs.contains("Asked until version 1") && docs.contains("answered in 6 of 6 responses"),
        "{docs}"
    );
}

#[tokio::test]
async fn filters_are_in_the_address_and_narrow_the_counts() {
    let desk = Desk::open().await;
    for (query, responses) in [
        (format!("?version={}", desk.versions[0]), 6),
        (format!("?version={}", desk.versions[1]), 3),
        ("?tag.plan=pro".to_owned(), 3),
        ("?tag=plan%3Dpro".to_owned(), 3),
        ("?from=2026-11-15&to=2026-11-15".to_owned(), 2),
        ("?from=2026-11-16&to=2026-11-16".to_owned(), 1),
        ("?period=7d&tag.plan=free".to_owned(), 2),
    ] {
        let page = desk.page(&query).await;
        let shown = format!("<dt>Responses</dt><dd class=\"big\">{responses}</dd>");
        assert!(page.contains(&shown), "{query}: {page}");
    }
    let none = desk.page("?from=2020-01-01&to=2020-01-02").await;
    assert!(none.contains("No matching responses") && none.contains("Show all"), "{none}");
}

#[tokio::test]
async fn segments_are_compared_side_by_side_with_their_number_of_answers() {
    let desk = Desk::open().await;
    let page = desk.page("?compare=version").await;
    let nps = card(&page, "How likely are you to recommend us?");
    for part in
        ["Version 1", "Version 2", "from 6 answers", "from 3 answers", "Fewer than 10 answers"]
    {
        assert!(nps.contains(part), "{part}: {nps}");
    }
    has_row(nps, "Version 1", &["Promoters (9 and 10)", "3", "50%"]);
    has_row(nps, "Version 2", &["Promoters (9 and 10)", "2", "67%"]);
    let page = desk.page("?compare=tag.plan").await;
    has_row(card(&page, "How good are the docs?"), "pro", &["5", "2", "67%"]);
    // Three responses of each plan: too few to test.
    assert!(page.contains("Too few answers to tell whether"), "{page}");
    assert!(desk.page("?compare=period&period=7d").await.contains("With the previous period"));
    assert!(desk.page("?compare=tag.nothing").await.contains("Nothing to compare here"));
}

#[tokio::test]
async fn the_day_that_is_not_over_is_marked() {
    let desk = Desk::open().await;
    let page = desk.page("").await;
    has_row(&page, "18 Nov 2026 (so far)", &["4", "44%"]);
    assert!(page.contains("The dashed column is not complete: 18 Nov 2026 (so far)."), "{page}");
    let page = desk.page("?to=2026-11-17").await;
    assert!(!page.contains("(so far)") && !page.contains("not complete"), "{page}");
}

#[tokio::test]
async fn texts_are_shown_with_their_frequent_words_and_quotes() {
    let desk = Desk::open().await;
    let page = desk.page("").await;
    let from = page.find("Frequent words").unwrap();
    let words = &page[from..];
    assert!(words.contains("<bdi>slow</bdi> <span class=\"number\">3</span>"), "{words}");
    assert!(words.contains("<bdi>export</bdi> <span class=\"number\">2</span>"), "{words}");
    assert!(words.contains("slow export</blockquote>"), "{words}");
    assert!(
        words.contains(&format!("/console/flows/{}/responses?search=slow", desk.flow)),
        "{words}"
    );
}

#[tokio::test]
async fn typed_text_is_always_escaped() {
    let desk = Desk::open().await;
    for query in [
        "",
        "?compare=tag.plan",
        "?tag.plan=%3Cscript%3Ealert(1)%3C/script%3E%22'%26",
        "?compare=tag.%3Cscript%3E",
    ] {
        let page = desk.page(query).await;
        assert!(!page.contains("<script>alert"), "{query}: {page}");
        assert!(!page.contains("style=\""), "{query}");
    }
    let files = ["question-use.svg", "question-use.svg?compare=tag.plan"];
    for file in files {
        let reply = desk.site.root().await.get(&desk.address(&format!("/chart/{file}"))).await.ok();
        assert!(!reply.contains("<script") && reply.contains("&lt;script&gt;"), "{file}: {reply}");
    }
}

#[tokio::test]
async fn every_chart_can_be_downloaded_as_a_file() {
    let desk = Desk::open().await;
    let root = desk.site.root().await;
    for query in ["", "?compare=version", "?tag.plan=pro"] {
        let page = desk.page(query).await;
        let files: Vec<&str> = page
            .split("href=\"")
            .filter_map(|part| part.split('"').next())
            .filter(|address| address.contains("/results/chart/"))
            .collect();
        assert!(files.len() >= 4, "{query}: {files:?}");
        for file in files {
            let reply = root.get(&file.replace("&amp;", "&")).await;
            assert_eq!(reply.headers["content-type"], "image/svg+xml; charset=utf-8", "{file}");
            assert_eq!(reply.headers["content-security-policy"], "default-src 'none'; sandbox");
            let svg = reply.ok();
            assert!(svg.starts_with("<?xml") && svg.contains("Feedback · "), "{file}: {svg}");
        }
    }
    for missing in
        ["nothing.svg", "question-none.svg", "question-nps", "time-why.svg", "responses.png"]
    {
        assert_eq!(
            root.get(&desk.address(&format!("/chart/{missing}"))).await.status,
            404,
            "{missing}"
        );
    }
}

#[tokio::test]
async fn a_flow_without_responses_shows_how_to_get_the_first_one() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let (flow, _) = site.flow(app, first()).await;
    let page = site.root().await.get(&format!("/console/flows/{flow}/results")).await.ok();
    assert!(
        page.contains("No responses yet") && page.contains(&format!("href=\"/f/{flow}\"")),
        "{page}"
    );
}

#[tokio::test]
async fn a_viewer_reads_results_and_a_user_of_another_app_does_not() {
    let desk = Desk::open().await;
    let viewer = desk.site.signed_in(Some(desk.app), Role::Viewer).await;
    assert!(viewer.get(&desk.address("")).await.ok().contains("Print report"));
    let other = desk.site.app("Other").await;
    let stranger = desk.site.signed_in(Some(other), Role::Owner).await;
    assert_eq!(stranger.get(&desk.address("")).await.status, 404);
    assert_eq!(stranger.get(&desk.address("/chart/responses.svg")).await.status, 404);
}

#[tokio::test]
async fn results_by_a_tag_with_too_many_values_warn_that_some_may_be_missing() {
    let desk = Desk::open().await;
    // More values than a day's counts can hold; the first occurs in every response.
    for sent in 0..22 {
        let mut shops: Vec<_> = (0..49).map(|number| format!("shop-{sent}-{number}")).collect();
        shops.push("often".to_owned());
        let tags = json!({"shop": shops});
        let more = json!({"answers": {"nps": "9"}, "metadata": {"tags": tags}});
        desk.site.respond(desk.app, desk.versions[1], more).await;
    }
    let note = "may be missing here";
    for (query, is_partial) in [
        ("?tag.shop=shop-9-48", true),
        ("?tag.shop=often", false),
        ("?tag.plan=pro", false),
        ("", false),
    ] {
        assert_eq!(desk.page(query).await.contains(note), is_partial, "{query}");
    }
}

#[tokio::test]
async fn with_a_tag_filter_comparing_by_tags_is_disabled_with_a_reason() {
    let desk = Desk::open().await;
    for (plan, country) in [("pro", "de"), ("free", "de"), ("free", "fr")] {
        let tags = json!({"plan": plan, "country": country});
        let more = json!({"answers": {"nps": "9"}, "metadata": {"tags": tags}});
        desk.site.respond(desk.app, desk.versions[1], more).await;
    }
    let why = "You can use only one tag at a time.";
    let compared = "Compared by country";
    let page = desk.page("?compare=tag.country").await;
    assert!(page.contains(compared) && !page.contains(why), "{page}");
    has_row(
        card(&page, "How likely are you to recommend us?"),
        "de",
        &["Promoters (9 and 10)", "2", "100%"],
    );
    let page = desk.page("?tag.plan=pro&compare=tag.country").await;
    assert!(page.contains(why) && !page.contains(compared), "{page}");
    let nps = card(&page, "How likely are you to recommend us?");
    assert!(nps.contains("answered in 4 of 4 responses"), "only responses with this plan: {nps}");
    assert!(!nps.contains(">de</th>"), "{nps}");
    for offered in ["<option value=\"tag.country\"", "<option value=\"tag.plan\""] {
        assert!(!page.contains(offered) && desk.page("").await.contains(offered), "{offered}");
    }
    // Comparing by version still works.
    let page = desk.page("?tag.plan=pro&compare=version").await;
    has_row(
        card(&page, "How likely are you to recommend us?"),
        "Version 2",
        &["Promoters (9 and 10)", "1", "100%"],
    );
}

#[tokio::test]
async fn the_most_frequent_answer_is_followed_over_time_even_with_duplicate_labels() {
    let labels =
        |one: &str, two: &str| json!([{"id": "one", "label": one}, {"id": "two", "label": two}]);
    for (options, first_day, second_day) in [
        (labels("Same", "Same"), vec!["two"], vec!["two", "one"]),
        (labels("Other", "B"), vec!["other:X"], vec!["other:Y", "one"]),
        (labels("A", "Other"), vec!["two"], vec!["two", "other:X"]),
    ] {
        let site = Site::start().await;
        let app = site.app("Shop").await;
        let question = json!({"id": "q", "type": "singleChoice", "prompt": "Which?",
            "allowOther": true, "options": options});
        let (flow, version) =
            site.flow(app, json!({"title": "Feedback", "questions": [question]})).await;
        for day in [first_day, second_day] {
            for answer in day {
                site.respond(app, version, json!({"answers": {"q": answer}})).await;
            }
            site.clock.advance_millis(DAY_MILLIS);
        }
        let page = site.root().await.get(&format!("/console/flows/{flow}/results")).await.ok();
        let over_time = page.split("over time").last().unwrap();
        has_row(over_time, "15 Nov 2026", &["100%", "1"]);
        has_row(over_time, "16 Nov 2026", &["50%", "2"]);
    }
}

/// A page of results once it is computed; until then it shows the progress and reloads itself.
async fn computed(desk: &Desk, query: &str) -> String {
    let browser = desk.site.root().await;
    let page = tokio::time::timeout(Duration::from_secs(60), async {
        loop {
            let reply = browser.get(&desk.address(query)).await;
            if !reply.headers.contains_key("refresh") {
                return reply.ok();
            }
            assert!(reply.text.contains("Reading responses"), "{}", reply.text);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    page.await.unwrap()
}

#[tokio::test]
async fn results_by_answers_are_computed_and_name_their_filters() {
    let desk = Desk::open().await;
    for (query, responses, words) in [
        ("?answer.nps[lt]=7", 2, "How likely are you to recommend us?</bdi> &lt; <bdi>7"),
        (
            "?answer.nps[gte]=9&tag.plan=pro",
            2,
            "How likely are you to recommend us?</bdi> ≥ <bdi>9",
        ),
        ("?answer.why[contains]=SLOW", 3, "</bdi> contains <bdi>“SLOW”"),
        ("?admission=admitted", 3, "Linked to respondent"),
        ("?answer.use=web", 2, "What do you use?</bdi>: <bdi>&lt;script&gt;"),
    ] {
        let page = computed(&desk, query).await;
        let stat = format!("<dd class=\"big\">{responses}</dd>");
        assert!(page.contains(&stat) && page.contains(words), "{query}: {page}");
        assert!(page.contains("Computed from the responses stored by"), "{query}");
        assert!(!page.contains(HOSTILE), "{query}");
    }
    // Comparisons are computed as well, and unknown questions ignored.
    let page = computed(&desk, "?answer.nps[gte]=0&compare=version").await;
    assert!(page.contains("Version 1") && page.contains("Version 2"), "{page}");
    let page = computed(&desk, "?answer.what[lt]=7").await;
    assert!(!page.contains("Computed from the responses"), "{page}");
}

#[tokio::test]
async fn the_form_of_results_adds_filters_or_explains_why_not() {
    let desk = Desk::open().await;
    let browser = desk.site.root().await;
    for (sent, expected) in [
        (
            "?apply=1&tag.plan=pro&question=nps&operator=lt&value=7",
            "?tag.plan=pro&answer.nps%5Blt%5D=7",
        ),
        (
            "?apply=1&question=use&operator=&value=the+api&admission=admitted",
            "?admission=admitted&answer.use=api",
        ),
    ] {
        let reply = browser.get(&desk.address(sent)).await;
        assert_eq!(reply.to(), desk.address(expected), "{sent}");
    }
    let page = desk.page("?apply=1&question=nps&operator=lt&value=x").await;
    assert!(page.contains("Value must be a number such as 7 or -0.5"), "{page}");
}

#[tokio::test]
async fn two_questions_are_cross_tabulated_with_counts_shares_and_a_hint() {
    let desk = Desk::open().await;
    let page = desk.page("").await;
    assert!(page.contains("/results/crosstab?rows=nps\""), "{page}");
    let page = computed(&desk, "/crosstab?rows=use&columns=nps").await;
    for text in
        ["5 responses answer both; 4 without an answer to one of them are left out", "not tested"]
    {
        assert!(page.contains(text), "{text}: {page}");
    }
    let page = computed(&desk, "/crosstab?rows=docs&columns=nps&answer.nps[gt]=0").await;
    assert!(
        page.contains("6 responses answer both") && page.contains("Too few answers to tell"),
        "{page}"
    );
    assert!(page.contains("6 <span class=\"share\">100%</span>"), "{page}");
    assert!(!page.contains(HOSTILE), "{page}");
    for query in [
        "/crosstab",
        "/crosstab?rows=nps",
        "/crosstab?rows=nps&columns=nps",
        "/crosstab?rows=what&columns=nps",
    ] {
        assert!(desk.page(query).await.contains("Choose two different questions"), "{query}");
    }
}

#[tokio::test]
async fn all_answers_to_a_text_question_are_read_and_searched() {
    let desk = Desk::open().await;
    let page = desk.page("").await;
    assert!(page.contains("/results/answers?question=why\""), "{page}");
    let quotes = |page: &str| page.matches("<blockquote").count();
    for (query, expected) in [
        ("", 4),
        ("&search=SLOW", 3),
        ("&search=slow&tag.plan=pro&answer.nps[lt]=10", 2),
        ("&answer.nps[lt]=5", 1),
        ("&from=2020-01-01&to=2020-01-02", 0),
    ] {
        let page = desk.page(&format!("/answers?question=why{query}")).await;
        assert_eq!(quotes(&page), expected, "{query}: {page}");
        assert!(!page.contains(HOSTILE), "{query}");
    }
    let browser = desk.site.root().await;
    assert_eq!(browser.get(&desk.address("/answers?question=what")).await.status, 404);
}
