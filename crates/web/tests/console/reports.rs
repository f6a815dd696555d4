//! Shared reports: what readers with a link get, and nothing else; and the pages that make them.

use axum::body::Body;
use serde_json::{Value, json};
use sluice_engine::rows::{Role, Scope};
use sluice_engine::{NewReport, Report, ReportPatch};
use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::time::Timestamp;

use crate::support::{HOST, ORIGIN, Reply, START, Site, actor};

const PASSWORD: &str = "blue lamp under the stairs";
const COOKIE: &str = "__Secure-report";
const DAY_MILLIS: i64 = 86_400_000;

/// Every text of the flow that must not be in a report that shows only `nps` starts with this.
const CANARY: &str = "canary";

fn definition() -> Value {
    json!({"title": "canary-title", "questions": [
        {"id": "nps", "type": "nps", "prompt": "How likely?"},
        {"id": "canary-secret", "type": "singleChoice", "prompt": "canary-prompt", "allowOther": true,
         "options": [{"id": "canary-yes", "label": "canary-label"}, {"id": "canary-no", "label": "canary-no"}]},
        {"id": "why", "type": "longText", "prompt": "Why?"},
        {"id": "mail", "type": "email", "prompt": "Your address?"},
    ]})
}

struct Desk {
    site: Site,
    app: AppId,
    flow: FlowId,
    version: FlowVersionId,
}

impl Desk {
    async fn open() -> Self {
        Self::on(Site::start().await).await
    }

    async fn on(site: Site) -> Self {
        let app = site.app("canary-app").await;
        let (flow, version) = site.flow(app, definition()).await;
        for (nps, choice, plan) in [
            ("10", "canary-yes", "pro"),
            ("9", "canary-yes", "free"),
            ("2", "other:canary-other", "pro"),
        ] {
            let more = json!({
                "answers": {
                    "nps": nps, "canary-secret": choice, "why": "canary-why excellent",
                    "mail": "canary-mail@mail.example"
                },
                "metadata": {"tags": {"plan": plan, "canary-tag": "canary-value"}},
                "respondentAnalyticsAdmission": "admitted",
                "identities": [{"type": "userId", "value": "canary-user"}]
            });
            site.respond(app, version, more).await;
        }
        Self { site, app, flow, version }
    }

    async fn share(&self, new: NewReport) -> (Report, String) {
        let handle = self.site.engine.flow(&actor(), Scope::Export, self.flow).await.unwrap();
        let (report, link) = handle.create_report(&new).await.unwrap();
        (report, link.0.strip_prefix(ORIGIN).unwrap().to_owned())
    }

    async fn read(&self, path: &str) -> Reply {
        self.read_with(path, "").await
    }

    /// As a browser without a session, with this cookie of the report.
    async fn read_with(&self, path: &str, cookie: &str) -> Reply {
        let request = http::Request::builder().uri(path).header("host", HOST);
        let request = request.header("cookie", format!("{COOKIE}={cookie}"));
        self.site.raw(request.body(Body::empty()).unwrap()).await
    }

    async fn send_password(&self, path: &str, password: &str) -> Reply {
        self.site.browser().post(path, &[("password", password)]).await
    }

    async fn revoke(&self, report: &Report) {
        let handle = self.site.engine.flow(&actor(), Scope::Export, self.flow).await.unwrap();
        handle.revoke_report(report.report_id).await.unwrap();
    }
}

fn only_nps() -> NewReport {
    let questions = vec!["nps".to_owned()];
    NewReport { title: "Shared results".to_owned(), questions, ..NewReport::default() }
}

fn all_questions() -> NewReport {
    let questions = ["nps", "canary-secret", "why", "mail"].map(str::to_owned).into();
    NewReport { questions, ..only_nps() }
}

fn filter(name: &str, value: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), value.to_owned())]
}

#[tokio::test]
async fn a_report_shows_the_chosen_questions_and_nothing_else() {
    let desk = Desk::open().await;
    let (_, path) = desk.share(only_nps()).await;
    let page = desk.read(&path).await.ok();
    for text in ["Shared results", "How likely?", "3 responses", "All time", "+33", "as of"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    for text in [CANARY, "excellent", "Why?", "Your address?", "plan"] {
        assert!(!page.contains(text), "{text}: {page}");
    }
    // No way into the console: only the style sheet and the scripts are there.
    let console = page.matches("=\"/console").count();
    assert_eq!(console, page.matches("=\"/console/assets/").count(), "{page}");
    assert!(!page.contains(&desk.flow.to_string()) && !page.contains(&desk.app.to_string()));
    assert!(!page.contains(&desk.version.to_string()) && !page.contains("<a "), "{page}");
}

#[tokio::test]
async fn a_filter_by_another_question_is_mentioned_without_its_text() {
    let desk = Desk::open().await;
    let filters = filter("answer.canary-secret", "canary-yes");
    let (_, path) = desk.share(NewReport { filters, ..only_nps() }).await;
    let page = ready(&desk, &path).await;
    assert!(page.contains("answers to another question") && page.contains("2 responses"), "{page}");
    assert!(!page.contains(CANARY), "{page}");
    // The author has chosen this tag.
    let filters = filter("tag.plan", "pro");
    let (_, path) = desk.share(NewReport { filters, ..only_nps() }).await;
    let page = desk.read(&path).await.ok();
    assert!(page.contains("plan: pro") && page.contains("2 responses"), "{page}");
    assert!(!page.contains(CANARY), "{page}");
    let filters = filter("compare", "tag.plan");
    let (_, path) = desk.share(NewReport { filters, ..only_nps() }).await;
    let page = desk.read(&path).await.ok();
    assert!(page.contains("free") && !page.contains(CANARY), "{page}");
}

/// The page after everything was computed.
async fn ready(desk: &Desk, path: &str) -> String {
    for _ in 0..3_000 {
        let reply = desk.read(path).await;
        assert_eq!(reply.headers["cache-control"], "private, no-store");
        if reply.headers.get("refresh").is_none() {
            return reply.ok();
        }
        let page = reply.ok();
        assert!(page.contains("Reading responses") && !page.contains(CANARY), "{page}");
        assert!(!page.contains("of 3 responses"), "{page}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("it is not computed");
}

#[tokio::test]
async fn texts_are_shown_only_if_chosen_and_addresses_never() {
    let desk = Desk::open().await;
    let (_, path) = desk.share(all_questions()).await;
    let page = desk.read(&path).await.ok();
    assert!(page.contains("canary-prompt") && page.contains("canary-label"), "{page}");
    for text in ["canary-why", "excellent", "canary-mail@", "canary-other", "canary-user"] {
        assert!(!page.contains(text), "{text}: {page}");
    }
    let (_, path) = desk.share(NewReport { shows_texts: true, ..all_questions() }).await;
    let page = desk.read(&path).await.ok();
    assert!(page.contains("canary-why excellent") && !page.contains("canary-mail@"), "{page}");
    assert!(!page.contains("canary-user") && !page.contains("<a "), "{page}");
    // Also not if a later version asks for a text by the same id.
    let mut changed = definition();
    changed["questions"][3]["type"] = json!("shortText");
    desk.site.publish_changed(desk.flow, changed).await;
    let page = desk.read(&path).await.ok();
    assert!(page.contains("canary-why excellent") && !page.contains("canary-mail@"), "{page}");
}

#[tokio::test]
async fn the_words_of_a_filter_contain_no_text_that_the_report_does_not_show() {
    let desk = Desk::open().await;
    for (name, value, shows_texts, is_shown) in [
        ("answer.mail", "canary-mail@mail.example", true, false),
        ("answer.why[contains]", "canary-why", false, false),
        ("answer.why[contains]", "canary-why", true, true),
        ("answer.canary-secret", "other:canary-other", false, false),
        ("answer.canary-secret", "canary-yes", false, true),
    ] {
        let filters = filter(name, value);
        let (_, path) = desk.share(NewReport { filters, shows_texts, ..all_questions() }).await;
        let page = ready(&desk, &path).await;
        let is_hidden = page.contains("answers to another question");
        assert_eq!(is_hidden, !is_shown, "{name}={value}: {page}");
    }
}

#[tokio::test]
async fn every_page_of_a_report_has_its_headers() {
    let desk = Desk::open().await;
    let (_, open) = desk.share(only_nps()).await;
    let (_, locked) = desk.share(NewReport { password: Some(PASSWORD.into()), ..only_nps() }).await;
    for (path, status, referrer) in [
        (open.as_str(), 200, "no-referrer"),
        ("/r/0000000000000000000000", 404, "no-referrer"),
        // A browser would send no origin with the form of a page without a referrer.
        (locked.as_str(), 200, "same-origin"),
    ] {
        let reply = desk.read(path).await;
        assert_eq!(reply.status, status, "{path}");
        for (name, value) in [
            ("referrer-policy", referrer),
            ("cache-control", "private, no-store"),
            ("x-robots-tag", "noindex"),
            ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"),
        ] {
            assert_eq!(reply.headers[name], value, "{path} {name}");
        }
        let policy = reply.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"));
        assert!(reply.text.contains("<meta name=\"robots\" content=\"noindex\">"), "{path}");
        assert!(reply.headers.get("set-cookie").is_none());
    }
}

#[tokio::test]
async fn unknown_expired_and_revoked_reports_look_the_same() {
    let desk = Desk::open().await;
    let expires_at = Some(Timestamp::from_millis(START + DAY_MILLIS));
    let (_, expired) = desk.share(NewReport { expires_at, ..only_nps() }).await;
    let (report, revoked) = desk.share(only_nps()).await;
    let (locked_report, locked) =
        desk.share(NewReport { password: Some(PASSWORD.into()), ..only_nps() }).await;
    let pass = desk.send_password(&locked, PASSWORD).await.cookie(COOKIE).unwrap().to_owned();
    assert!(desk.read_with(&locked, &pass).await.ok().contains("Shared results"));
    assert!(desk.read(&expired).await.ok().contains("Shared results"));
    desk.revoke(&report).await;
    desk.revoke(&locked_report).await;
    desk.site.clock.advance_millis(DAY_MILLIS);
    let unknown = desk.read("/r/0000000000000000000000").await;
    assert_eq!(unknown.status, 404);
    assert!(unknown.text.contains("This report is not available"), "{}", unknown.text);
    for path in [expired.as_str(), &revoked, &locked, "/r/%FF", "/r/short"] {
        let reply = desk.read_with(path, &pass).await;
        assert_eq!((reply.status, &reply.text), (404, &unknown.text), "{path}");
        let without_id = |reply: &Reply| {
            let mut headers = reply.headers.clone();
            headers.remove("x-request-id");
            headers
        };
        assert_eq!(without_id(&reply), without_id(&unknown), "{path}");
        let sent = desk.send_password(path, PASSWORD).await;
        assert_eq!((sent.status, &sent.text), (404, &unknown.text), "{path}");
    }
}

#[tokio::test]
async fn a_password_is_asked_for_and_remembered_for_the_reports_address() {
    let desk = Desk::open().await;
    let password = Some(PASSWORD.to_owned());
    let (report, path) = desk.share(NewReport { password, ..only_nps() }).await;
    let asked = desk.read(&path).await.ok();
    assert!(asked.contains("Password required") && !asked.contains("Shared results"), "{asked}");
    assert!(!asked.contains(CANARY) && !asked.contains("How likely?"), "{asked}");
    let wrong = desk.send_password(&path, "another lamp on the stairs").await;
    assert_eq!(wrong.status, 422);
    assert!(wrong.text.contains("This password is wrong"), "{}", wrong.text);
    assert!(wrong.headers.get("set-cookie").is_none());
    let right = desk.send_password(&path, PASSWORD).await;
    assert_eq!(right.to(), path);
    let cookie = right.headers["set-cookie"].to_str().unwrap();
    let expected = format!("; Path={path}; Secure; HttpOnly; SameSite=Lax; Max-Age=14400");
    assert!(cookie.ends_with(&expected), "{cookie}");
    let pass = right.cookie(COOKIE).unwrap().to_owned();
    assert!(desk.read_with(&path, &pass).await.ok().contains("Shared results"));
    desk.site.clock.advance_millis(14_400_000);
    assert!(desk.read_with(&path, &pass).await.ok().contains("Password required"));
    let handle = desk.site.engine.flow(&actor(), Scope::Export, desk.flow).await.unwrap();
    let open = ReportPatch { password: Some(None), ..ReportPatch::default() };
    handle.change_report(report.report_id, &open).await.unwrap();
    assert!(desk.read(&path).await.ok().contains("Shared results"));
}

#[tokio::test]
async fn wrong_passwords_are_limited_by_report() {
    let desk = Desk::open().await;
    let password = || Some(PASSWORD.to_owned());
    let (_, path) = desk.share(NewReport { password: password(), ..only_nps() }).await;
    let (_, other) = desk.share(NewReport { password: password(), ..only_nps() }).await;
    for _ in 0..10 {
        assert_eq!(desk.send_password(&path, "wrong").await.status, 422);
    }
    // Even the right one, until the wait is over.
    let limited = desk.send_password(&path, PASSWORD).await;
    assert_eq!(limited.status, 429, "{}", limited.text);
    assert!(limited.text.contains("Too many attempts"), "{}", limited.text);
    let wait: u64 = limited.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=31).contains(&wait), "{wait}");
    assert_eq!(desk.send_password(&other, PASSWORD).await.to(), other);
}

#[tokio::test]
async fn an_editor_shares_the_filtered_results_and_sees_the_link_once() {
    let desk = Desk::open().await;
    let editor = desk.site.signed_in(Some(desk.app), Role::Editor).await;
    let results = format!("/console/flows/{}/results", desk.flow);
    let page = editor.get(&format!("{results}?tag.plan=pro")).await.ok();
    assert!(page.contains(&format!("href=\"{results}/reports?tag.plan=pro\"")), "{page}");
    let address = format!("{results}/reports");
    let form = editor.get(&format!("{address}?tag.plan=pro")).await.ok();
    assert!(form.contains("name=\"tag.plan\" value=\"pro\""), "{form}");
    assert_eq!(form.matches("name=\"show\"").count(), 4);
    let sent = [("tag.plan", "pro"), ("title", "For the board"), ("show", "nps")];
    let made = editor.post(&address, &sent).await.ok();
    // The form for the next one is folded, so that the page shows what has happened.
    assert!(form.contains(">Share a report</h2>") && made.contains(">Share another report</h2>"));
    let link = made.split(ORIGIN).nth(1).unwrap().split('<').next().unwrap().to_owned();
    let report = desk.read(&link).await.ok();
    assert!(report.contains("For the board") && report.contains("2 responses"), "{report}");
    assert!(!report.contains(CANARY), "{report}");
    let listed = editor.get(&address).await.ok();
    assert!(listed.contains("For the board") && listed.contains("Active"), "{listed}");
    assert!(!listed.contains(&link), "{listed}");
    let base = listed.split("action=\"").find(|it| it.contains("/revoke")).unwrap();
    let revoke = base.split('"').next().unwrap().to_owned();
    let replaced = editor.post(&revoke.replace("/revoke", "/link"), &[]).await.ok();
    let second = replaced.split(ORIGIN).nth(1).unwrap().split('<').next().unwrap().to_owned();
    assert_eq!(desk.read(&link).await.status, 404);
    assert!(desk.read(&second).await.ok().contains("For the board"));
    let to = editor.post(&revoke, &[]).await;
    assert_eq!(to.to(), format!("{address}?done=revoked#reports"));
    assert_eq!(desk.read(&second).await.status, 404);
    assert!(editor.get(&address).await.ok().contains("Revoked"));
}

#[tokio::test]
async fn the_form_reports_faults_and_keeps_what_was_typed() {
    let desk = Desk::open().await;
    let root = desk.site.root().await;
    let address = format!("/console/flows/{}/results/reports", desk.flow);
    let sent =
        [("title", "Mine"), ("texts", "yes"), ("password", "short"), ("until", "2001-01-01")];
    let reply = root.post(&address, &sent).await;
    assert_eq!(reply.status, 422);
    for text in [
        "Questions must name at least one question",
        "Password must have at least 10 characters",
        "Expiry must be in the future",
        "value=\"Mine\"",
        "value=\"2001-01-01\"",
        "value=\"yes\" checked",
    ] {
        assert!(reply.text.contains(text), "{text}: {}", reply.text);
    }
    assert!(!reply.text.contains("value=\"short\""), "a password is not sent back");
}

#[tokio::test]
async fn a_report_is_edited_and_keeps_its_link() {
    let desk = Desk::open().await;
    let filters = vec![("tag.plan".to_owned(), "pro".to_owned())];
    let (report, link) = desk.share(NewReport { filters, ..only_nps() }).await;
    let editor = desk.site.signed_in(Some(desk.app), Role::Editor).await;
    let list = format!("/console/flows/{}/results/reports", desk.flow);
    let address = format!("{list}/{}", report.report_id);
    assert!(editor.get(&list).await.ok().contains(&format!("href=\"{address}\"")));
    let form = editor.get(&address).await.ok();
    for text in ["value=\"Shared results\"", "value=\"nps\" checked", "plan: pro"] {
        assert!(form.contains(text), "{text}: {form}");
    }
    assert_eq!(form.matches("checked").count(), 1, "{form}");
    assert!(!form.contains("Remove the password"), "{form}");
    let sent = [
        ("title", "For the board"),
        ("show", "nps"),
        ("show", "why"),
        ("password", PASSWORD),
        ("until", "2026-12-01"),
    ];
    assert_eq!(editor.post(&address, &sent).await.to(), format!("{list}?done=saved#reports"));
    assert!(desk.read(&link).await.ok().contains("Password required"));
    let form = editor.get(&address).await.ok();
    for text in ["value=\"2026-12-01\"", "value=\"why\" checked", "Remove the password"] {
        assert!(form.contains(text), "{text}: {form}");
    }
    assert!(!form.contains(PASSWORD), "{form}");
    // Without a new one, the password stays; and so do the filters.
    let sent = [("title", "For all"), ("show", "nps"), ("password", ""), ("until", "2026-12-01")];
    editor.post(&address, &sent).await.to();
    assert!(desk.read(&link).await.ok().contains("Password required"));
    let sent = [("title", "For all"), ("show", "nps"), ("open", "yes"), ("until", "")];
    editor.post(&address, &sent).await.to();
    let page = desk.read(&link).await.ok();
    assert!(page.contains("For all") && page.contains("2 responses"), "{page}");
    assert!(!page.contains("Why?"), "{page}");
}

#[tokio::test]
async fn the_form_of_a_report_reports_faults_and_a_revoked_report_has_none() {
    let desk = Desk::open().await;
    let password = Some(PASSWORD.to_owned());
    let (report, link) = desk.share(NewReport { password, ..only_nps() }).await;
    let root = desk.site.root().await;
    let address = format!("/console/flows/{}/results/reports/{}", desk.flow, report.report_id);
    let sent = [("title", ""), ("until", "2001-01-01")];
    let reply = root.post(&address, &sent).await;
    assert_eq!(reply.status, 422);
    for text in
        ["Questions must name at least one question", "Expiry must be in the future", "Title "]
    {
        assert!(reply.text.contains(text), "{text}: {}", reply.text);
    }
    let sent = [("title", "T"), ("show", "nps"), ("password", "any"), ("open", "yes")];
    let reply = root.post(&address, &sent).await;
    assert_eq!(reply.status, 422);
    assert!(reply.text.contains("Password must be empty if"), "{}", reply.text);
    assert!(desk.read(&link).await.ok().contains("Password required"), "nothing was changed");
    desk.revoke(&report).await;
    assert_eq!(root.get(&address).await.status, 404);
    assert_eq!(root.post(&address, &sent).await.status, 404);
}

#[tokio::test]
async fn a_viewer_sees_the_reports_and_cannot_share() {
    let desk = Desk::open().await;
    desk.share(only_nps()).await;
    let viewer = desk.site.signed_in(Some(desk.app), Role::Viewer).await;
    let results = format!("/console/flows/{}/results", desk.flow);
    assert!(!viewer.get(&results).await.ok().contains("Share this report"));
    let page = viewer.get(&format!("{results}/reports")).await.ok();
    assert!(page.contains("Shared results") && page.contains("Ask an editor"), "{page}");
    assert!(!page.contains("/revoke") && !page.contains("Create link"), "{page}");
}
