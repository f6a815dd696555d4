-- The schema of a Sluice database in SQLite: that of release 0.1.0.
--
-- Conventions:
-- - Ids are the 16 bytes of a UUIDv7, so they sort by creation time. Exception: assignment_id is
--   random.
-- - Times are milliseconds since the Unix epoch. Days are days since the Unix epoch.
-- - JSON is stored as text, exactly as it was received.
-- - Primary keys start with app_id, except that of responses. Rows that are looked up by id alone
--   have a separate unique index.
-- - Foreign keys are checked at commit, so the rows of one change can be written in any order.
-- - Tables are STRICT: SQLite enforces the declared types.

-- "SLUC" in the file header marks the file as a Sluice database.
PRAGMA application_id = 1397511491;

-- Apps and their settings. NULL in a setting means the default.
-- revision: grows with every administrative change; detects concurrent edits.
-- public_revision: grows only with changes that the public API shows; a response is stored only if
-- it was judged at the newest one.
CREATE TABLE apps (
    app_id                 BLOB PRIMARY KEY CHECK (length(app_id) = 16),
    name                   TEXT NOT NULL,
    identity_verification  TEXT NOT NULL,    -- off, observe or enforce
    allowed_origins        TEXT NOT NULL,    -- JSON array
    grace_window_seconds   INTEGER,
    token_lifetime_seconds INTEGER,
    retention_days         INTEGER,
    hosted                 TEXT,             -- branding of the hosted pages without pictures, JSON object
    calls_per_second       INTEGER,
    bytes_per_day          INTEGER,
    created_at             INTEGER NOT NULL,
    revision               INTEGER NOT NULL DEFAULT 0,
    public_revision        INTEGER NOT NULL DEFAULT 0,
    hosted_with_pictures   TEXT              -- the whole branding, if it has pictures; last because it is long
) STRICT, WITHOUT ROWID;
CREATE INDEX apps_by_public_revision ON apps (public_revision);
CREATE INDEX apps_with_retention ON apps (app_id) WHERE retention_days IS NOT NULL;

-- Public keys of clients. A revoked key keeps its row.
CREATE TABLE api_keys (
    app_id     BLOB NOT NULL REFERENCES apps DEFERRABLE INITIALLY DEFERRED,
    api_key    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    PRIMARY KEY (app_id, api_key)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX api_keys_by_key ON api_keys (api_key);

-- Keys that verify identity tokens. material is a sealed secret (never plain text), a public key or
-- the URL of a key set, depending on kind.
CREATE TABLE identity_keys (
    app_id     BLOB NOT NULL REFERENCES apps DEFERRABLE INITIALLY DEFERRED,
    kid        TEXT NOT NULL,
    kind       TEXT NOT NULL,
    material   TEXT NOT NULL,
    issuer     TEXT,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    PRIMARY KEY (app_id, kid)
) STRICT, WITHOUT ROWID;

CREATE TABLE flows (
    app_id               BLOB NOT NULL REFERENCES apps DEFERRABLE INITIALLY DEFERRED,
    flow_id              BLOB NOT NULL CHECK (length(flow_id) = 16),
    kind                 TEXT NOT NULL,      -- survey, form or message
    name                 TEXT NOT NULL,
    live_starts_at       INTEGER,
    live_ends_at         INTEGER,
    grace_window_seconds INTEGER,
    closing              TEXT,               -- how many responses are accepted, JSON object
    flow_key             TEXT,               -- the name by which flow files refer to it
    labels               TEXT,               -- JSON array
    design               TEXT,               -- what replaces parts of the app's design, without pictures, JSON object
    test_links           INTEGER NOT NULL DEFAULT 0, -- how often its test links were revoked
    invitation_email     TEXT,               -- the text of invitations by e-mail, JSON object
    created_at           INTEGER NOT NULL,
    archived_at          INTEGER,
    design_with_pictures TEXT,               -- the whole design, if it has pictures; last because it is long
    PRIMARY KEY (app_id, flow_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX flows_by_id ON flows (flow_id);
CREATE UNIQUE INDEX flows_by_key ON flows (app_id, flow_key) WHERE flow_key IS NOT NULL;

-- Drafts (published_at is NULL, number is 0) and published versions. There is no status column: the
-- state of a version follows from its times. The definition is the last column because it can be
-- long, and SQLite reads the columns before it without loading it.
CREATE TABLE versions (
    app_id          BLOB NOT NULL,
    flow_id         BLOB NOT NULL,
    flow_version_id BLOB NOT NULL CHECK (length(flow_version_id) = 16),
    number          INTEGER NOT NULL,
    published_at    INTEGER,
    superseded_at   INTEGER,
    grace_ends_at   INTEGER,
    retired_at      INTEGER,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    definition      TEXT NOT NULL,
    PRIMARY KEY (app_id, flow_version_id),
    FOREIGN KEY (app_id, flow_id) REFERENCES flows DEFERRABLE INITIALLY DEFERRED
) STRICT;
CREATE UNIQUE INDEX versions_by_id ON versions (flow_version_id);
CREATE UNIQUE INDEX versions_by_number ON versions (app_id, flow_id, number) WHERE number > 0;
CREATE INDEX versions_current ON versions (app_id, flow_id, number)
    WHERE published_at IS NOT NULL AND superseded_at IS NULL AND retired_at IS NULL;
CREATE INDEX versions_draft ON versions (app_id, flow_id) WHERE published_at IS NULL;

-- Small numbers in place of the ids that every response would otherwise repeat. A row is added with
-- the first response to a version and never removed. flow_number is the version_number of the
-- flow's first row here.
CREATE TABLE version_numbers (
    version_number  INTEGER PRIMARY KEY,
    flow_number     INTEGER NOT NULL,
    app_id          BLOB NOT NULL,
    flow_id         BLOB NOT NULL,
    flow_version_id BLOB NOT NULL,
    UNIQUE (app_id, flow_id, flow_version_id)
) STRICT;

-- Responses: the only table that every submission writes to. It has no foreign keys: a response is
-- stored only at the newest public_revision, and its version existed at that revision. It has no
-- checks of lengths: the values come from types of fixed size, and a read verifies them.
-- response_key: the time-ordered part of response_id as an integer. The order of keys is the order
-- of ids, so no index by id is needed. A response that is stored out of order may shift the keys
-- next to it: they are not stored anywhere else (response_keys.rs).
-- response_id: contains the time of receipt.
-- idempotency_key: combined with the app's id; removed with the row.
-- counted: whether the commit that stored the row also counted it. Other rows are counted by the
-- scan of their flow (count_scans).
CREATE TABLE responses (
    response_key       INTEGER PRIMARY KEY,
    flow_number        INTEGER NOT NULL,
    version_number     INTEGER NOT NULL,
    response_id        BLOB NOT NULL,
    admitted           INTEGER NOT NULL,
    answers            TEXT NOT NULL,
    identities         TEXT,
    identity_verified  INTEGER NOT NULL,
    respondent_id      BLOB,
    tags               TEXT,
    context            TEXT,
    flow_assignment_id TEXT,
    score              TEXT,
    digest             BLOB NOT NULL,
    idempotency_key    BLOB,
    counted            INTEGER NOT NULL DEFAULT 0
) STRICT;
-- SQLite appends response_key to every entry of this index.
CREATE INDEX responses_by_flow ON responses (flow_number);
CREATE UNIQUE INDEX responses_by_idempotency_key ON responses (idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- Idempotency keys of responses that were deleted or erased, without digest or content: a late
-- retry is answered as a replay and stores nothing.
CREATE TABLE used_keys (
    app_id      BLOB NOT NULL,
    response_id BLOB NOT NULL CHECK (length(response_id) = 16),
    key         BLOB NOT NULL CHECK (length(key) = 16),
    PRIMARY KEY (app_id, response_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX used_keys_by_key ON used_keys (app_id, key);

-- The skip index: one filter for each block of responses, so that a filtered scan can skip whole
-- blocks. filter is NULL while it has to be built or rebuilt. A removal clears the filter and
-- increments generation, so that a filter built from the earlier rows is discarded.
CREATE TABLE response_blocks (
    app_id     BLOB NOT NULL,
    flow_id    BLOB NOT NULL,
    first_id   BLOB NOT NULL CHECK (length(first_id) = 16),
    last_id    BLOB NOT NULL CHECK (length(last_id) = 16),
    since      INTEGER NOT NULL,
    generation INTEGER NOT NULL DEFAULT 0,
    filter     BLOB,
    PRIMARY KEY (app_id, flow_id, last_id)
) STRICT;
CREATE INDEX response_blocks_unmade ON response_blocks (app_id, flow_id, last_id) WHERE filter IS NULL;

-- Counts by day and version. segment is empty for all responses; for responses with a tag it is the
-- tag's name and value, separated by a zero byte.
CREATE TABLE counts (
    app_id          BLOB NOT NULL,
    flow_id         BLOB NOT NULL,
    segment         BLOB NOT NULL,
    day             INTEGER NOT NULL,
    flow_version_id BLOB NOT NULL,
    responses       INTEGER NOT NULL,
    admitted        INTEGER NOT NULL,
    body            BLOB NOT NULL,
    PRIMARY KEY (app_id, flow_id, segment, day, flow_version_id)
) STRICT, WITHOUT ROWID;

-- Changes to the counts: every commit appends one row for each version and day. A background task
-- folds them into counts.
CREATE TABLE count_deltas (
    app_id          BLOB NOT NULL,
    flow_id         BLOB NOT NULL,
    delta_id        BLOB NOT NULL CHECK (length(delta_id) = 16),
    flow_version_id BLOB NOT NULL,
    day             INTEGER NOT NULL,
    responses       INTEGER NOT NULL,
    body            BLOB NOT NULL,
    PRIMARY KEY (app_id, flow_id, delta_id)
) STRICT, WITHOUT ROWID;

-- One row for each flow whose deltas were folded. passed is the last response that was scanned, if
-- the flow has responses that were stored without being counted, such as imported ones; NULL means
-- that there is nothing to scan. unindexed is how many responses were counted since the flow's skip
-- index was last extended: the flow is visited from 1024 on, the size of a block. It may be too
-- high, and a visit corrects it.
CREATE TABLE count_scans (
    app_id    BLOB NOT NULL,
    flow_id   BLOB NOT NULL,
    passed    BLOB CHECK (length(passed) = 16),
    unindexed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (app_id, flow_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX count_scans_in_progress ON count_scans (app_id, flow_id) WHERE passed IS NOT NULL;
CREATE INDEX count_scans_unindexed ON count_scans (app_id, flow_id) WHERE unindexed >= 1024;

-- Respondents: profiles that responses are linked to. First and last seen are not stored; they are
-- the times in respondent_id and in the newest consent, so that a returning respondent updates no
-- row.
-- erasing: JSON, set while an erasure that needs several transactions is in progress. It holds
-- whether to keep the answers, and the identities to remove from them. A server that finds it
-- continues the erasure.
CREATE TABLE respondents (
    app_id        BLOB NOT NULL,
    respondent_id BLOB NOT NULL CHECK (length(respondent_id) = 16),
    erasing       TEXT,
    PRIMARY KEY (app_id, respondent_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX respondents_by_id ON respondents (respondent_id);
CREATE INDEX respondents_erasing ON respondents (app_id, respondent_id) WHERE erasing IS NOT NULL;

-- Identities of a respondent: at most one userId and any number of e-mail addresses (in lower
-- case).
CREATE TABLE identities (
    app_id        BLOB NOT NULL,
    type          TEXT NOT NULL,             -- userId or email
    value         TEXT NOT NULL,
    respondent_id BLOB NOT NULL,
    PRIMARY KEY (app_id, type, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_by_respondent ON identities (app_id, respondent_id);
CREATE UNIQUE INDEX identities_user_id ON identities (app_id, respondent_id) WHERE type = 'userId';

-- One row for each linked response. The responses of a respondent are found through this table, so
-- that the responses table needs no index for it.
CREATE TABLE consents (
    app_id          BLOB NOT NULL,
    response_id     BLOB NOT NULL CHECK (length(response_id) = 16),
    respondent_id   BLOB NOT NULL,
    flow_id         BLOB NOT NULL,
    flow_version_id BLOB NOT NULL,
    PRIMARY KEY (app_id, response_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX consents_by_respondent ON consents (app_id, respondent_id, response_id);

-- Invitations: a flow assigned to one person by user id or e-mail address. The id is 16 random
-- bytes and rows are stored in its order, so the position of a row says nothing about when it was
-- completed. Addresses are compared without regard to the case of ASCII letters (NOCASE).
CREATE TABLE invitations (
    app_id        BLOB NOT NULL,
    flow_id       BLOB NOT NULL,
    assignment_id BLOB NOT NULL CHECK (length(assignment_id) = 16),
    user_id       TEXT,
    email         TEXT,
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER,
    opened_at     INTEGER,
    completed_at  INTEGER,
    revoked_at    INTEGER,
    response_id   BLOB,
    PRIMARY KEY (app_id, assignment_id),
    FOREIGN KEY (app_id, flow_id) REFERENCES flows DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX invitations_by_id ON invitations (assignment_id);
CREATE INDEX invitations_by_flow ON invitations (app_id, flow_id, created_at, assignment_id);
CREATE INDEX invitations_by_user ON invitations (app_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX invitations_by_email ON invitations (app_id, email COLLATE NOCASE) WHERE email IS NOT NULL;
-- Retention reads the invitations that still name a person, in the order in which they ended.
CREATE INDEX invitations_ended
    ON invitations (app_id, coalesce(completed_at, revoked_at, expires_at), assignment_id)
    WHERE user_id IS NOT NULL OR email IS NOT NULL;

-- Reports: results of a flow that anyone with the link can read. hash is the SHA-256 of the secret
-- in the link. password: an Argon2id hash.
CREATE TABLE reports (
    app_id      BLOB NOT NULL,
    flow_id     BLOB NOT NULL,
    report_id   BLOB NOT NULL CHECK (length(report_id) = 16),
    hash        BLOB NOT NULL CHECK (length(hash) = 32),
    title       TEXT NOT NULL,
    questions   TEXT NOT NULL,               -- JSON array of question ids
    filters     TEXT NOT NULL,               -- JSON array of names and values
    shows_texts INTEGER NOT NULL,
    password    TEXT,
    created_by  TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    revoked_at  INTEGER,
    PRIMARY KEY (app_id, report_id),
    FOREIGN KEY (app_id, flow_id) REFERENCES flows DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX reports_by_hash ON reports (hash);
CREATE INDEX reports_by_flow ON reports (app_id, flow_id, report_id);

-- Short paths: addresses of hosted pages that authors choose, unique among all apps.
CREATE TABLE short_paths (
    app_id  BLOB NOT NULL,
    flow_id BLOB NOT NULL CHECK (length(flow_id) = 16),
    path    TEXT NOT NULL,
    PRIMARY KEY (app_id, flow_id),
    FOREIGN KEY (app_id, flow_id) REFERENCES flows DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX short_paths_by_path ON short_paths (path);

-- Assets: images for flows. An asset never changes. bytes is the last column because it is long,
-- and SQLite reads the columns before it without loading it. digest: BLAKE3 of bytes.
CREATE TABLE assets (
    app_id       BLOB NOT NULL REFERENCES apps DEFERRABLE INITIALLY DEFERRED,
    asset_id     BLOB NOT NULL CHECK (length(asset_id) = 16),
    content_type TEXT NOT NULL,
    width        INTEGER NOT NULL,
    height       INTEGER NOT NULL,
    digest       BLOB NOT NULL CHECK (length(digest) = 32),
    created_at   INTEGER NOT NULL,
    bytes        BLOB NOT NULL,
    PRIMARY KEY (app_id, asset_id)
) STRICT;
CREATE UNIQUE INDEX assets_by_id ON assets (asset_id);
CREATE UNIQUE INDEX assets_by_digest ON assets (app_id, digest);

-- Events of an app other than stored responses, which are their own events. event_id contains the
-- time.
-- kind: the name of the type. body: JSON object. A row of kind response.created announces a
-- response again that was stored behind the reach of readers (event.rs).
CREATE TABLE events (
    app_id   BLOB NOT NULL,
    event_id BLOB NOT NULL CHECK (length(event_id) = 16),
    flow_id  BLOB,
    kind     TEXT NOT NULL,
    body     TEXT NOT NULL,
    PRIMARY KEY (app_id, event_id)
) STRICT, WITHOUT ROWID;

-- Webhook endpoints. secret, previous_secret: sealed. cursor: everything up to this event was sent,
-- or waits in deliveries. failures: attempts that failed since one succeeded. due_at: when a worker
-- is needed next.
-- leased_by, leased_until: the process that works on it. removals: how often replies about
-- responses of the app were removed.
CREATE TABLE endpoints (
    app_id          BLOB NOT NULL REFERENCES apps DEFERRABLE INITIALLY DEFERRED,
    endpoint_id     BLOB NOT NULL CHECK (length(endpoint_id) = 16),
    url             TEXT NOT NULL,
    description     TEXT NOT NULL,
    format          TEXT NOT NULL,
    batch           INTEGER NOT NULL,
    types           TEXT NOT NULL,           -- JSON array; empty means all
    flows           TEXT NOT NULL,           -- JSON array; empty means all
    secret          TEXT NOT NULL,
    previous_secret TEXT,
    previous_until  INTEGER,
    created_at      INTEGER NOT NULL,
    cursor          BLOB NOT NULL CHECK (length(cursor) = 16),
    failing_since   INTEGER,
    failures        INTEGER NOT NULL,
    disabled_at     INTEGER,
    disabled_reason TEXT,
    due_at          INTEGER NOT NULL,
    removals        INTEGER NOT NULL,
    leased_by       BLOB,
    leased_until    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (app_id, endpoint_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX endpoints_due ON endpoints (due_at) WHERE disabled_at IS NULL;

-- Deliveries of events to endpoints: those that wait for another attempt (next_at), and the last
-- finished ones.
CREATE TABLE deliveries (
    app_id         BLOB NOT NULL,
    endpoint_id    BLOB NOT NULL,
    delivery_id    BLOB NOT NULL CHECK (length(delivery_id) = 16),
    event_id       BLOB NOT NULL CHECK (length(event_id) = 16),
    kind           TEXT NOT NULL,
    state          TEXT NOT NULL,            -- waiting, delivered or failed
    attempts       INTEGER NOT NULL,
    next_at        INTEGER,
    attempted_at   INTEGER NOT NULL,
    status         INTEGER,
    latency_millis INTEGER NOT NULL,
    reply          TEXT,
    error          TEXT,
    batch_id       TEXT,                     -- the id of the message that it shared with others
    PRIMARY KEY (app_id, endpoint_id, delivery_id),
    FOREIGN KEY (app_id, endpoint_id) REFERENCES endpoints ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_waiting ON deliveries (app_id, endpoint_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_health ON deliveries (app_id, endpoint_id, state, attempted_at);
CREATE INDEX deliveries_by_event ON deliveries (app_id, event_id);

-- How far the log of each app was published to a sink, such as a stream of another system.
CREATE TABLE sink_positions (
    app_id   BLOB NOT NULL REFERENCES apps DEFERRABLE INITIALLY DEFERRED,
    sink     TEXT NOT NULL,
    position BLOB NOT NULL CHECK (length(position) = 16),
    PRIMARY KEY (app_id, sink)
) STRICT, WITHOUT ROWID;

-- The process that publishes to a sink.
CREATE TABLE sink_leases (
    sink         TEXT PRIMARY KEY,
    leased_by    BLOB NOT NULL,
    leased_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Test responses: answers from the test link of a flow, apart from the responses. number is 0 for a
-- draft.
CREATE TABLE test_responses (
    app_id      BLOB NOT NULL,
    flow_id     BLOB NOT NULL,
    form_key    BLOB NOT NULL CHECK (length(form_key) = 16),
    number      INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    answers     TEXT NOT NULL,               -- JSON object
    tags        TEXT,                        -- JSON object
    score       TEXT,
    PRIMARY KEY (app_id, flow_id, form_key),
    FOREIGN KEY (app_id, flow_id) REFERENCES flows DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;
CREATE INDEX test_responses_by_time ON test_responses (received_at);

-- What visitors did, by version and day: only numbers, no row for a visit. counter is opened,
-- started, finished, seen: or passed: with a question's id, or time: with the first second of a
-- range.
CREATE TABLE visit_counts (
    app_id          BLOB NOT NULL,
    flow_id         BLOB NOT NULL,
    day             INTEGER NOT NULL,
    flow_version_id BLOB NOT NULL,
    counter         TEXT NOT NULL,
    visits          INTEGER NOT NULL,
    PRIMARY KEY (app_id, flow_id, day, flow_version_id, counter)
) STRICT, WITHOUT ROWID;

-- How many responses each limit of a flow has counted, as a JSON object. Only flows with limits
-- (flows.closing) have a row. A commit reads and writes it with the responses that it stores.
CREATE TABLE closing_counts (
    app_id  BLOB NOT NULL,
    flow_id BLOB NOT NULL,
    counts  TEXT NOT NULL,
    PRIMARY KEY (app_id, flow_id)
) STRICT, WITHOUT ROWID;

-- Admin tokens, stored as the SHA-256 of the token. app_id is NULL for a token that is not limited
-- to an app.
CREATE TABLE tokens (
    token_id   BLOB PRIMARY KEY CHECK (length(token_id) = 16),
    name       TEXT NOT NULL,
    hash       BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    scopes     TEXT NOT NULL,                -- JSON array
    app_id     BLOB REFERENCES apps DEFERRABLE INITIALLY DEFERRED,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;

-- Users of the console.
-- password: an Argon2id hash. issuer and subject: the identity at a single sign-on provider.
-- epoch: sessions of an earlier epoch are no longer valid.
-- totp_secret: sealed with the master key. totp_step: the last time step for which a code was
-- accepted.
-- recovery_codes: the SHA-256 of each unused code, concatenated.
CREATE TABLE users (
    user_id        BLOB PRIMARY KEY CHECK (length(user_id) = 16),
    email          TEXT NOT NULL COLLATE NOCASE,
    name           TEXT NOT NULL,
    password       TEXT,
    issuer         TEXT,
    subject        TEXT,
    epoch          INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    disabled_at    INTEGER,
    totp_secret    TEXT,
    totp_step      INTEGER,
    recovery_codes BLOB
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX users_by_email ON users (email);
CREATE UNIQUE INDEX users_by_subject ON users (issuer, subject) WHERE subject IS NOT NULL;

-- Roles of users by app. The nil id as app_id means all apps.
CREATE TABLE grants (
    app_id  BLOB NOT NULL CHECK (length(app_id) = 16),
    user_id BLOB NOT NULL REFERENCES users DEFERRABLE INITIALLY DEFERRED,
    role    TEXT NOT NULL,                   -- viewer, editor or owner
    PRIMARY KEY (app_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX grants_by_user ON grants (user_id, app_id);

-- Views of the responses of a flow that users have saved. query is that of the page's address.
CREATE TABLE saved_views (
    app_id     BLOB NOT NULL CHECK (length(app_id) = 16),
    flow_id    BLOB NOT NULL CHECK (length(flow_id) = 16),
    user_id    BLOB NOT NULL REFERENCES users ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    name       TEXT NOT NULL,
    query      TEXT NOT NULL,
    is_default INTEGER NOT NULL,
    PRIMARY KEY (app_id, flow_id, user_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX saved_views_by_user ON saved_views (user_id, flow_id, name);

-- E-mails to send: one row for each invitation that is sent by e-mail (with its reminders),
-- password link, and subscription of a user to new responses. The nil id as app_id: concerns no
-- app. It has no address: that of the recipient is read when it is sent. kind: invitation, password
-- or notice. detail: JSON.
-- next_at: when it is due, or when another server may take it; NULL if nothing more is sent.
-- ended: bounced, failed, unsubscribed or stopped. reply: the code of the mail server's last
-- refusal.
-- address: the SHA-256 of the app and the address of a recipient who unsubscribed.
-- revision: how often the row was changed.
CREATE TABLE mails (
    app_id        BLOB NOT NULL CHECK (length(app_id) = 16),
    mail_id       BLOB NOT NULL CHECK (length(mail_id) = 16),
    kind          TEXT NOT NULL,
    flow_id       BLOB,
    assignment_id BLOB,
    user_id       BLOB,
    detail        TEXT,
    created_at    INTEGER NOT NULL,
    sent          INTEGER NOT NULL,
    sent_at       INTEGER,
    attempts      INTEGER NOT NULL,
    next_at       INTEGER,
    ended         TEXT,
    reply         TEXT,
    address       BLOB,
    revision      INTEGER NOT NULL,
    PRIMARY KEY (app_id, mail_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX mails_by_id ON mails (mail_id);
CREATE INDEX mails_by_time ON mails (next_at, mail_id) WHERE next_at IS NOT NULL;
CREATE INDEX mails_with_passwords ON mails (next_at, mail_id) WHERE kind = 'password' AND next_at IS NOT NULL;
CREATE INDEX mails_with_notices ON mails (next_at, mail_id) WHERE kind IN ('notice', 'endpoint') AND next_at IS NOT NULL;
CREATE INDEX mails_with_invitations ON mails (app_id, next_at, mail_id) WHERE kind = 'invitation' AND next_at IS NOT NULL;
CREATE INDEX mails_of_closed_flows ON mails (app_id, flow_id) WHERE ended = 'closed';
CREATE INDEX mails_by_invitation ON mails (app_id, assignment_id) WHERE assignment_id IS NOT NULL;
CREATE INDEX mails_by_user ON mails (user_id, flow_id) WHERE user_id IS NOT NULL;
CREATE INDEX mails_by_address ON mails (app_id, address) WHERE address IS NOT NULL;

-- Requests of the admin API with an idempotency key. request_id: derived from the token and the
-- key, which are not stored. holder: the id of the token. fingerprint: a hash of what was
-- requested. claim: the attempt that may carry it out. applied_at: when its changes were written,
-- in their transaction. reply: sealed.
CREATE TABLE admin_requests (
    request_id  BLOB NOT NULL PRIMARY KEY CHECK (length(request_id) = 16),
    holder      TEXT NOT NULL,
    fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),
    claim       BLOB NOT NULL CHECK (length(claim) = 16),
    claimed_at  INTEGER NOT NULL,
    applied_at  INTEGER,
    expires_at  INTEGER NOT NULL,
    reply       BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX admin_requests_by_holder ON admin_requests (holder);
CREATE INDEX admin_requests_by_expiry ON admin_requests (expires_at);

-- One row: how many e-mails were sent in a minute, by all servers together.
CREATE TABLE mail_pace (
    only   INTEGER PRIMARY KEY CHECK (only = 1),
    minute INTEGER NOT NULL,
    sent   INTEGER NOT NULL
) STRICT;
INSERT INTO mail_pace (only, minute, sent) VALUES (1, 0, 0);

-- One row: since when e-mails and webhooks wait, because this is a copy; NULL if they are sent.
CREATE TABLE outbound (
    only    INTEGER PRIMARY KEY CHECK (only = 1),
    held_at INTEGER
) STRICT;
INSERT INTO outbound (only, held_at) VALUES (1, NULL);

-- Links to set a password. hash is the SHA-256 of the secret in the link.
CREATE TABLE links (
    hash       BLOB PRIMARY KEY CHECK (length(hash) = 32),
    user_id    BLOB NOT NULL REFERENCES users DEFERRABLE INITIALLY DEFERRED,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX links_by_user ON links (user_id);

-- Sessions of the console. hash is the SHA-256 of the session's secret. A session belongs to a user
-- (user_id and epoch) or to an admin token (token_hash). confirmed_at: when the holder last proved
-- their identity.
CREATE TABLE sessions (
    hash         BLOB PRIMARY KEY CHECK (length(hash) = 32),
    user_id      BLOB,
    epoch        INTEGER,
    token_hash   BLOB,
    created_at   INTEGER NOT NULL,
    used_at      INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    confirmed_at INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
CREATE INDEX sessions_by_user ON sessions (user_id, epoch) WHERE user_id IS NOT NULL;

-- The audit log. It has no foreign keys because entries outlive what they describe. app_id is NULL
-- for entries that concern no app. The time is in audit_id.
CREATE TABLE audit (
    audit_id BLOB PRIMARY KEY CHECK (length(audit_id) = 16),
    app_id   BLOB,
    actor    TEXT NOT NULL,
    action   TEXT NOT NULL,
    subject  TEXT NOT NULL,
    detail   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_by_app ON audit (app_id, audit_id);

-- One row: the position of the change feed, which is the newest public_revision of all apps.
CREATE TABLE feed (
    only     INTEGER PRIMARY KEY CHECK (only = 1),
    position INTEGER NOT NULL
) STRICT;
INSERT INTO feed (only, position) VALUES (1, 0);

-- One row: how often users, grants, links and saved views have changed.
CREATE TABLE people (
    only     INTEGER PRIMARY KEY CHECK (only = 1),
    revision INTEGER NOT NULL
) STRICT;
INSERT INTO people (only, revision) VALUES (1, 0);

-- Always empty. The readiness check inserts a row and rolls back.
CREATE TABLE probe (
    filler BLOB NOT NULL
) STRICT;
