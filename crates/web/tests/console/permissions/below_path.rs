//! The console below a path of its host: every route of the table, and every address in its pages.

use axum::body::Body;

use super::world::{Fixture, World};
use super::{OWNER_OF_ALL, TABLE, leads};
use crate::support::{Browser, HOST, ORIGIN};

const PATH: &str = "/feedback";

/// The reply to the request of a line, as a browser gets it.
struct Sent {
    status: u16,
    to: String,
    kind: String,
    text: String,
}

async fn ask(world: &World, visitor: &Browser<'_>, line: &super::Line, fixture: &Fixture) -> Sent {
    let address = fixture.filled(&format!("{}{}", line.path, line.query));
    let request = visitor.request(line.method, &address);
    let request = match line.method {
        "GET" => request.body(Body::empty()),
        _ => request.header("origin", ORIGIN).body(Body::from(fixture.filled(line.body))),
    };
    let (head, body) = world.reply(request.unwrap()).await;
    let header = |name| head.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let (to, kind) = (header("location").to_owned(), header("content-type").to_owned());
    Sent { status: head.status.as_u16(), to, kind, text: body }
}

/// The attributes whose value is a path from the root of the host, other than below the path.
fn outside(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("=\"/") {
        let value = &text[at + 2..];
        let is_below =
            value.strip_prefix(PATH).is_some_and(|rest| rest.starts_with(['/', '"', '?']));
        let name = text[..at].rsplit([' ', '<', '\n']).next().unwrap();
        // Fields hold paths as the service knows them, and JSON pointers.
        if !is_below && !matches!(name, "value" | "data-pointer") {
            found.push(text[at - name.len()..].split('"').nth(1).unwrap());
        }
    }
    found
}

#[tokio::test]
async fn every_route_of_the_console_works_below_a_path() {
    let world = World::below(PATH).await;
    let mut wrong = Vec::new();
    let mut pages = 0;
    let visitor = world.visitor(OWNER_OF_ALL, world.own.app).await;
    for line in TABLE.iter().filter(|it| it.letter(OWNER_OF_ALL) == '+') {
        // A new app and visitor for each write: an earlier one may have deleted or ended something.
        let is_write = line.method != "GET";
        let fixture = if is_write { &world.fixture().await } else { &world.own };
        let sent = if is_write {
            let writer = world.visitor(OWNER_OF_ALL, fixture.app).await;
            ask(&world, &writer, line, fixture).await
        } else {
            ask(&world, &visitor, line, fixture).await
        };
        let name = format!("{} {}", line.method, line.path);
        let to = fixture.filled(line.to);
        let is_right = match sent.to.strip_prefix(PATH) {
            Some(address) => sent.status == 303 && leads(address, &to),
            None => sent.status == 200 && sent.to.is_empty() && to.is_empty(),
        };
        if !is_right {
            wrong.push(format!("{name}: {} {}, not {to}", sent.status, sent.to));
        }
        if sent.kind.starts_with("text/html") {
            pages += 1;
            wrong.extend(outside(&sent.text).iter().map(|found| format!("{name}: {found}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(pages > 40, "{pages}");
}

#[tokio::test]
async fn nothing_of_the_console_is_outside_its_path() {
    let world = World::below(PATH).await;
    for line in TABLE {
        let address = world.own.filled(line.path);
        let request = http::Request::builder().method(line.method).uri(&address);
        let request = request.header("host", HOST).body(Body::empty()).unwrap();
        let (head, body) = world.reply(request).await;
        assert_eq!(head.status, 404, "{address}");
        assert!(body.contains("pass the path on unchanged"), "{address}: {body}");
    }
}

#[tokio::test]
async fn addresses_in_json_and_in_streams_are_below_the_path() {
    let world = World::below(PATH).await;
    let visitor = world.visitor(OWNER_OF_ALL, world.own.app).await;
    let found = visitor.get("/console/search?q=two").await.ok();
    assert!(found.contains("\"address\":\"/feedback/console/flows/"), "{found}");
    let rows = world.own.filled("/console/flows/{flowId}/responses/rows");
    let rows = visitor.get(&rows).await.ok();
    assert!(rows.contains("href=\\\"/feedback/console/flows/"), "{rows}");
    assert!(!rows.contains("href=\\\"/console"), "{rows}");
    // All that was stored since the first millisecond.
    let since = "rs_0000000000000000000000";
    let live = world.own.filled(&format!("/console/flows/{{flowId}}/responses/live?since={since}"));
    let request = visitor.request("GET", &live).body(Body::empty()).unwrap();
    let event = world.first_part(request).await;
    assert!(event.contains("href=\\\"/feedback/console/flows/"), "{event}");
    assert!(!event.contains("href=\\\"/console"), "{event}");
}
