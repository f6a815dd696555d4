//! Generated records for a whole database: every kind of row, with any number of responses.
//!
//! The same count gives the same records, so a copy can be compared with the original. Nothing is
//! random; lengths and absent fields vary with the number of the row.

use sluice_flow::closing::{ALL, ClosingCounts};
use sluice_flow::definition::Kind;
use sluice_flow::id::{
    ApiKey, AppId, AssetId, AssignmentId, AuditId, DeliveryId, EndpointId, EventId, FlowId,
    FlowVersionId, FormKey, MailId, ReportId, RespondentId, ResponseId, TokenId, UserId, v7,
};
use sluice_flow::invitation::{InvitationTimes, Invitee};
use sluice_flow::lifecycle::VersionTimes;
use sluice_flow::respondent::{IdentityType, ProfileIdentity};
use sluice_flow::submission::Admission;
use sluice_flow::time::{Timestamp, Window};

use crate::{
    AdminRequestRow, App, AppLimits, AppRow, AssetRow, AuditRow, ClosingCountsRow, ConsentRow,
    DeliveryRow, DeliveryState, EndpointRow, EventRow, FlowRow, GrantRow, IdentityKeyKind,
    IdentityKeyRow, IdentityRow, IdentityVerification, ImageType, InvitationRow, KeyRow, MailEnd,
    MailKind, MailRow, Record, ReportRow, RespondentRow, ResponseRow, Role, SavedViewRow, Scope,
    SecondFactor, ShortPathRow, SinkPositionRow, Subject, TestResponseRow, TokenRow, UsedKeyRow,
    UserRow, VersionRow, VisitCountRow,
};

const APPS: u32 = 3;
const FLOWS_OF_AN_APP: u32 = 2;
/// Respondents of an app that some of its responses are linked to, in turn.
const RESPONDENTS_OF_AN_APP: u32 = 30;
const START_MILLIS: i64 = 1_763_172_000_000;

/// All records, with this many responses last, in the order in which a server would create them.
pub fn records(responses: u32) -> impl Iterator<Item = Record> {
    (0..APPS).flat_map(app_records).chain((0..responses).flat_map(response))
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(START_MILLIS + millis)
}

/// The id of the row of a kind with this number.
fn bits(kind: u64, number: u32) -> uuid::Uuid {
    v7(at(i64::from(number)), number, kind)
}

fn app_id(app: u32) -> AppId {
    AppId::from_uuid(bits(0, app))
}

fn flow_id(app: u32, flow: u32) -> FlowId {
    FlowId::from_uuid(bits(1, app * FLOWS_OF_AN_APP + flow))
}

fn version_id(app: u32, flow: u32, version: u32) -> FlowVersionId {
    FlowVersionId::from_uuid(bits(2, (app * FLOWS_OF_AN_APP + flow) * 4 + version))
}

fn app_records(app: u32) -> Vec<Record> {
    let app_id = app_id(app);
    let row = AppRow {
        app_id,
        name: format!("Shop {app} é"),
        identity_verification: match app {
            0 => IdentityVerification::Off,
            1 => IdentityVerification::Observe,
            _ => IdentityVerification::Enforce,
        },
        allowed_origins: (0..app).map(|origin| format!("https://{origin}.example")).collect(),
        grace_window_seconds: (app > 0).then_some(3600 * app),
        retention_days: (app == 1).then_some(365),
        token_lifetime_seconds: (app > 1).then_some(600 * app),
        hosted: (app == 1).then(|| r##"{"accentColor":"#0a7d4f"}"##.to_owned()),
        limits: AppLimits {
            calls_per_second: (app > 0).then_some(100 * app),
            bytes_per_day: (app > 1).then_some(u64::from(app) << 40),
        },
        created_at: at(i64::from(app)),
    };
    let public_revision = u64::from(app) + 5;
    let mut records = vec![Record::App(App { row, revision: 40, public_revision })];
    for key in 0..2 {
        records.push(Record::Key(KeyRow {
            app_id,
            api_key: ApiKey::from_random(u128::from(app * 2 + key) << 64 | 0xABCD),
            created_at: at(1),
            revoked_at: (key == 1).then(|| at(2)),
        }));
    }
    for key in 0..2 {
        records.push(Record::IdentityKey(IdentityKeyRow {
            app_id,
            kid: format!("key {key}"),
            kind: if app == 0 { IdentityKeyKind::Hs256 } else { IdentityKeyKind::Jwks },
            material: format!("https://id{app}.example/keys"),
            issuer: (key == 1).then(|| "https://id.example".to_owned()),
            created_at: at(1),
            revoked_at: (key == 0).then(|| at(2)),
        }));
    }
    records.extend((0..FLOWS_OF_AN_APP).flat_map(|flow| flow_records(app, flow)));
    records.extend((0..FLOWS_OF_AN_APP).flat_map(|flow| visit_records(app, flow)));
    for number in 0..2 {
        let app_id = (number == 0).then_some(app_id);
        records.push(Record::Token(token(app * 2 + number, app_id)));
        records.push(Record::Audit(AuditRow {
            audit_id: AuditId::from_uuid(bits(4, app * 2 + number)),
            app_id,
            actor: "first-start".to_owned(),
            action: "app.created".to_owned(),
            subject: format!("subject {app}"),
            detail: format!("{{\"number\":{number}}}"),
        }));
    }
    records.extend((0..RESPONDENTS_OF_AN_APP).flat_map(|number| respondent_records(app, number)));
    records.extend(user_records(app, app_id));
    records.extend((0..3).map(|number| asset(app, number)));
    records.extend((0..2).flat_map(|number| webhook(app, number)));
    records.extend((0..2).map(|number| admin_request(app, number)));
    records
}

/// One that was only claimed, and one with every column filled.
fn admin_request(app: u32, number: u32) -> Record {
    let is_full = number == 1;
    let number = app * 2 + number;
    Record::AdminRequest(AdminRequestRow {
        request_id: bits(16, number),
        holder: format!("token é{app}"),
        fingerprint: [7; 32],
        claim: bits(17, number),
        claimed_at: at(1),
        applied_at: is_full.then(|| at(2)),
        expires_at: at(3),
        reply: is_full.then(|| vec![0, 255, 7]),
    })
}

/// An event, an endpoint with a delivery, and the position in a sink: one plain, and one with every
/// column filled.
fn webhook(app: u32, number: u32) -> [Record; 4] {
    let is_full = number == 1;
    let (app_id, number) = (app_id(app), app * 2 + number);
    let event_id = EventId::from_uuid(bits(13, number));
    let endpoint_id = EndpointId::from_uuid(bits(14, number));
    let event = EventRow {
        app_id,
        event_id,
        flow_id: is_full.then(|| flow_id(app, 0)),
        kind: "flow.closed".to_owned(),
        body: r#"{"name":"é"}"#.to_owned(),
    };
    let endpoint = EndpointRow {
        app_id,
        endpoint_id,
        url: format!("https://hooks{number}.example/é"),
        description: format!("Endpoint {number}"),
        format: "standard".to_owned(),
        batch: is_full,
        types: is_full.then(|| "flow.closed".to_owned()).into_iter().collect(),
        flows: is_full.then(|| flow_id(app, 0)).into_iter().collect(),
        secret: "sealed".to_owned(),
        previous_secret: is_full.then(|| "sealed before".to_owned()),
        previous_until: is_full.then(|| at(9)),
        created_at: at(1),
        cursor: event_id,
        failing_since: is_full.then(|| at(2)),
        failures: u32::from(is_full),
        disabled_at: is_full.then(|| at(3)),
        disabled_reason: is_full.then(|| "gone".to_owned()),
        due_at: at(4),
        removals: number,
    };
    let delivery = DeliveryRow {
        app_id,
        endpoint_id,
        delivery_id: DeliveryId::from_uuid(bits(15, number)),
        event_id,
        kind: "flow.closed".to_owned(),
        state: if is_full { DeliveryState::Waiting } else { DeliveryState::Delivered },
        attempts: 1 + number,
        next_at: is_full.then(|| at(5)),
        attempted_at: at(2),
        status: is_full.then_some(503),
        latency_millis: 12,
        reply: is_full.then(|| "busy é".to_owned()),
        error: is_full.then(|| "503".to_owned()),
        batch_id: is_full.then(|| "batch_é".to_owned()),
    };
    let sink = format!("nats/é{number}");
    let position = SinkPositionRow { app_id, sink, position: event_id };
    [
        Record::Event(event),
        Record::Endpoint(endpoint.into()),
        Record::Delivery(delivery.into()),
        Record::SinkPosition(position),
    ]
}

/// An asset with bytes of every value.
fn asset(app: u32, number: u32) -> Record {
    let number = app * 3 + number;
    let bytes: Vec<u8> = (0..=255).cycle().skip(number as usize).take(1_000).collect();
    Record::Asset(AssetRow {
        app_id: app_id(app),
        asset_id: AssetId::from_uuid(bits(12, number)),
        content_type: if number.is_multiple_of(2) { ImageType::Png } else { ImageType::Jpeg },
        width: 1 + number,
        height: 2_000,
        digest: AssetRow::digest_of(&bytes),
        created_at: at(i64::from(number)),
        bytes,
    })
}

/// A user with a role in the app; in one app, also with a role in all apps.
fn user_records(app: u32, app_id: AppId) -> Vec<Record> {
    let user_id = UserId::from_uuid(bits(9, app));
    let subject = || Subject { issuer: "https://id.example".to_owned(), subject: app.to_string() };
    let user = UserRow {
        user_id,
        email: format!("User.{app}@mail.example"),
        name: format!("User {app} é"),
        password: (app == 0).then(|| "$argon2id$v=19$…".to_owned()),
        subject: (app == 1).then(subject),
        second_factor: (app == 0).then(|| SecondFactor {
            sealed: "v1.0.x".to_owned(),
            used_step: 59_000_000,
            recovery: vec![[1; 32], [2; 32]],
        }),
        epoch: app,
        created_at: at(3),
        disabled_at: (app == 2).then(|| at(4)),
    };
    let grant = |app_id, role| Record::Grant(GrantRow { user_id, app_id, role });
    let mut records = vec![Record::User(user), grant(Some(app_id), Role::Editor)];
    records.extend((app == 0).then(|| grant(None, Role::Owner)));
    records.extend(["Detractors", "\u{e9} all"].map(|name| {
        Record::SavedView(SavedViewRow {
            app_id,
            flow_id: flow_id(app, 0),
            user_id,
            name: name.to_owned(),
            query: format!("answer.nps%5Blte%5D={app}"),
            is_default: name == "Detractors",
        })
    }));
    records
}

/// Respondent ids differ between apps only by the app's number.
fn respondent_id(app: u32, number: u32) -> RespondentId {
    RespondentId::from_uuid(bits(6, app * RESPONDENTS_OF_AN_APP + number))
}

fn respondent_records(app: u32, number: u32) -> Vec<Record> {
    let (app_id, respondent_id) = (app_id(app), respondent_id(app, number));
    let identity = |of, value: &str| {
        Record::Identity(IdentityRow {
            app_id,
            known: ProfileIdentity::new(of, value),
            respondent_id,
        })
    };
    let mut records =
        vec![Record::Respondent(RespondentRow { app_id, respondent_id, erasing: None })];
    records.push(identity(IdentityType::UserId, &format!("user {number} \u{e9}")));
    if number.is_multiple_of(2) {
        records.push(identity(IdentityType::Email, &format!("user.{number}@mail.example")));
    }
    records
}

fn token(number: u32, app_id: Option<AppId>) -> TokenRow {
    TokenRow {
        token_id: TokenId::from_uuid(bits(3, number)),
        name: format!("token {number}"),
        hash: hash(3, number),
        scopes: vec![Scope::Read, Scope::Export],
        app_id,
        created_at: at(3),
        expires_at: number.is_multiple_of(2).then(|| at(1_000_000)),
        revoked_at: number.is_multiple_of(3).then(|| at(4)),
    }
}

/// Visits to the current version of a flow, on two days.
fn visit_records(app: u32, flow: u32) -> impl Iterator<Item = Record> {
    let counters = ["opened", "started", "seen:nps", "passed:nps", "finished", "time:44"];
    let row = move |at_day: i32, counter: &str| VisitCountRow {
        app_id: app_id(app),
        flow_id: flow_id(app, flow),
        day: at(0).day().plus(at_day),
        flow_version_id: version_id(app, flow, 2),
        counter: counter.to_owned(),
        visits: u64::from(100 + app * 10 + flow),
    };
    (0..2).flat_map(move |at_day| counters.map(|it| Record::VisitCount(row(at_day, it))))
}

fn flow_records(app: u32, flow: u32) -> Vec<Record> {
    let (app_id, flow_id) = (app_id(app), flow_id(app, flow));
    let has = |this: bool, millis| this.then(|| at(millis));
    let mut records = vec![Record::Flow(FlowRow {
        app_id,
        flow_id,
        kind: if flow == 0 { Kind::Survey } else { Kind::Form },
        name: format!("Feedback {flow}"),
        live: Window { starts_at: has(flow == 1, 0), ends_at: has(flow == 1, 1_000_000_000) },
        grace_window_seconds: (flow == 1).then_some(60),
        closing: (flow == 1).then(|| r#"{"closeAfter":500}"#.to_owned()),
        key: (flow == 1).then(|| "feedback".to_owned()),
        labels: (0..flow).map(|_| format!("team é {app}")).collect(),
        design: (flow == 1).then(|| r##"{"accentColor":"#0a7d4f"}"##.to_owned()),
        test_links: u32::from(flow == 1) * 3,
        invitation_email: (flow == 1).then(|| r#"{"subject":"é"}"#.to_owned()),
        created_at: at(5),
        archived_at: has(flow == 1 && app == 1, 6),
    })];
    // Retired, superseded with grace, current, and a draft.
    for version in 0..4 {
        records.push(Record::Version(VersionRow {
            app_id,
            flow_id,
            flow_version_id: version_id(app, flow, version),
            number: if version == 3 { 0 } else { version + 1 },
            times: VersionTimes {
                published_at: has(version < 3, 10),
                superseded_at: has(version < 2, 20),
                grace_ends_at: has(version == 1, 30),
                retired_at: has(version == 0, 40),
            },
            definition: format!("{{ \"title\": \"Version {version} \u{1F600}\", \"n\": 1.0 }}"),
            created_at: at(7),
            updated_at: at(8),
        }));
    }
    if flow == 1 {
        let mut counts = ClosingCounts::default();
        counts.set(ALL, u64::from(1_000 + app));
        records.push(Record::ClosingCounts(ClosingCountsRow { app_id, flow_id, counts }));
    }
    records.extend((0..5).map(|number| invitation(app, flow, number)));
    records.extend((0..2).map(|number| report(app, flow, number)));
    let path = format!("flow-{app}-{flow}");
    records.push(Record::ShortPath(ShortPathRow { app_id, flow_id, path }));
    records.extend((0..2).map(|number| test_response(app, flow, number)));
    records.extend((0..2).map(|number| mail(app, flow, number)));
    records
}

/// One that was not sent yet, and one with every column filled.
fn mail(app: u32, flow: u32, number: u32) -> Record {
    let id = MailId::from_uuid(bits(12, (app * FLOWS_OF_AN_APP + flow) * 2 + number));
    let mut row = MailRow::new(id, MailKind::Invitation, at(5));
    (row.app_id, row.flow_id) = (Some(app_id(app)), Some(flow_id(app, flow)));
    if number == 1 {
        row.assignment_id = Some(AssignmentId::from_random(u128::from(app)));
        row.detail = Some(r#"{"after": "é"}"#.to_owned());
        (row.sent, row.sent_at, row.attempts) = (2, Some(at(6)), 3);
        (row.ended, row.reply) = (Some(MailEnd::Unsubscribed), Some("550 5.1.1".to_owned()));
        (row.next_at, row.address, row.revision) = (None, Some([7; 32]), 5);
    }
    Record::Mail(row)
}

/// One of a draft, and one with every column filled.
fn test_response(app: u32, flow: u32, number: u32) -> Record {
    let is_full = number == 1;
    Record::TestResponse(TestResponseRow {
        app_id: app_id(app),
        flow_id: flow_id(app, flow),
        form_key: FormKey::from_uuid(bits(11, (app * FLOWS_OF_AN_APP + flow) * 2 + number)),
        number: number * 3,
        received_at: at(i64::from(number)),
        answers: format!("{{\"nps\":\"{number}\"}}"),
        tags: is_full.then(|| r#"{"plan":"é"}"#.to_owned()),
        score: is_full.then(|| "-1.5".to_owned()),
    })
}

/// One that is open, and one with every column filled.
fn report(app: u32, flow: u32, number: u32) -> Record {
    let count = (app * FLOWS_OF_AN_APP + flow) * 2 + number;
    let is_full = number == 1;
    let filter = || ("tag.plan".to_owned(), format!("pro {count} é"));
    Record::Report(Box::new(ReportRow {
        app_id: app_id(app),
        flow_id: flow_id(app, flow),
        report_id: ReportId::from_uuid(bits(10, count)),
        hash: hash(10, count),
        title: format!("Report {count}"),
        questions: (0..=number).map(|question| format!("q{question}")).collect(),
        filters: is_full.then(filter).into_iter().collect(),
        shows_texts: is_full,
        password: is_full.then(|| "$argon2id$v=19$…".to_owned()),
        created_by: "first-start".to_owned(),
        created_at: at(9),
        expires_at: is_full.then(|| at(500)),
        revoked_at: is_full.then(|| at(600)),
    }))
}

/// The number decides the state: sent without expiry, opened, expired, completed or revoked.
fn invitation(app: u32, flow: u32, number: u32) -> Record {
    let has = |this: bool, millis| this.then(|| at(millis));
    let count = (app * FLOWS_OF_AN_APP + flow) * 5 + number;
    Record::Invitation(InvitationRow {
        app_id: app_id(app),
        flow_id: flow_id(app, flow),
        assignment_id: AssignmentId::from_random(u128::from_be_bytes(half_hash(8, count))),
        invitee: Invitee {
            user_id: number.is_multiple_of(2).then(|| format!("user {count} é")),
            email: (number > 0).then(|| format!("user-{count}@mail.example")),
        },
        created_at: at(9),
        times: InvitationTimes {
            expires_at: has(number > 0, 500),
            opened_at: has(number == 1, 20),
            completed_at: has(number == 3, 30),
            revoked_at: has(number == 4, 40),
        },
        response_id: (number == 3).then(|| ResponseId::from_uuid(bits(6, count))),
    })
}

fn response(number: u32) -> Vec<Record> {
    // Apps and flows alternate, as they do on a server.
    let (app, flow) = (number % APPS, number / APPS % FLOWS_OF_AN_APP);
    let some = |every: u32, text: &str| number.is_multiple_of(every).then(|| text.to_owned());
    let why = "Because it was quick. ".repeat((number % 13) as usize);
    let identified = number.is_multiple_of(4);
    let mut row = ResponseRow {
        app_id: app_id(app),
        flow_id: flow_id(app, flow),
        flow_version_id: version_id(app, flow, number % 3),
        response_id: ResponseId::from_uuid(bits(5, number)),
        admission: if identified { Admission::Admitted } else { Admission::CollectionOnly },
        answers: format!("{{\"nps\": {}, \"why\":\"{why}\"}}", number % 11),
        identities: some(4, r#"[{"type":"userId","value":"7"}]"#),
        identity_verified: identified,
        respondent_id: identified.then(|| respondent_id(app, number % RESPONDENTS_OF_AN_APP)),
        tags: some(5, r#"{"plan":["pro","beta"]}"#),
        context: some(2, r#"{"locale":"de","url":"https://shop.example/"}"#),
        flow_assignment_id: some(7, "assignment é"),
        score: some(3, "-2.25"),
        digest: [0; 16],
    };
    row.digest = row.digest_of_content();
    let (app_id, response_id) = (row.app_id, row.response_id);
    let consent = row.respondent_id.map(|respondent_id| {
        let ResponseRow { flow_id, flow_version_id, .. } = row;
        Record::Consent(ConsentRow { app_id, response_id, respondent_id, flow_id, flow_version_id })
    });
    let key = number.is_multiple_of(2).then(|| half_hash(7, number));
    // Some keys belong to responses that have lost their identities since.
    let erased = number % 10 == 4;
    let used = key.filter(|_| erased);
    let used = used.map(|key| Record::UsedKey(UsedKeyRow { app_id, response_id, key }));
    let response = Record::Response { row, idempotency_key: key.filter(|_| !erased) };
    [response].into_iter().chain(consent).chain(used).collect()
}

/// The first half of a hash.
fn half_hash(kind: u64, number: u32) -> [u8; 16] {
    let hash = hash(kind, number);
    std::array::from_fn(|index| hash[index])
}

/// Looks as random as a real hash, which matters to an index: multiplications spread every bit of
/// each half to all others.
fn hash(kind: u64, number: u32) -> [u8; 32] {
    const ODD: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;
    let mut bits = bits(kind, number).as_u128();
    let halves = [(); 2].map(|()| {
        for _ in 0..3 {
            bits = (bits ^ bits >> 61).wrapping_mul(ODD).wrapping_add(1);
        }
        bits.to_be_bytes()
    });
    let mut hash = [0; 32];
    hash.copy_from_slice(halves.as_flattened());
    hash
}
