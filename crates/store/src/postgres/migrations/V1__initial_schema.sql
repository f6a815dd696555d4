-- The schema of a Sluice database in PostgreSQL: that of release 0.1.0.
--
-- Conventions:
-- - Ids are UUIDv7, so they sort by creation time. Exception: assignment_id is random.
-- - Times are milliseconds since the Unix epoch. Days are days since the Unix epoch.
-- - JSON is stored as text, exactly as it was received.
-- - Every table belongs to an app or to the instance; citus/layout.sql lists them. Tables of apps
--   grow with the responses: their primary keys, unique keys and foreign keys start with app_id, so
--   that Citus can distribute them by it, and foreign keys stay within an app. Indexes for lookups
--   by id alone are therefore not unique. Tables of the instance are small; on Citus they are on
--   the coordinator, so that one node answers what concerns all apps. In tokens, audit and grants
--   the nil id as app_id means "no app" or "all apps".
-- - There are no sequences, triggers or functions.
-- - Foreign keys are checked at once: apps are written before flows, and flows before versions.

-- All apps with their settings. A table of the instance. NULL in a setting means the default.
-- revision, public_revision: as in apps, and written by the same transaction.
CREATE TABLE app_directory (
    app_id                 uuid PRIMARY KEY,
    name                   text NOT NULL,
    identity_verification  text NOT NULL,    -- off, observe or enforce
    allowed_origins        text NOT NULL,    -- JSON array
    grace_window_seconds   bigint,
    token_lifetime_seconds bigint,
    retention_days         bigint,
    hosted                 text,             -- branding of the hosted pages without pictures, JSON object
    calls_per_second       bigint,
    bytes_per_day          bigint,
    created_at             bigint NOT NULL,
    revision               bigint NOT NULL DEFAULT 0,
    public_revision        bigint NOT NULL DEFAULT 0,
    hosted_with_pictures   text              -- the whole branding, if it has pictures
);
-- The change feed reads the apps that changed after a position.
CREATE INDEX app_directory_by_public_revision ON app_directory (public_revision);
CREATE INDEX app_directory_with_retention ON app_directory (app_id) WHERE retention_days IS NOT NULL;

-- The app of a flow or version that is given by its id alone. A table of the instance.
CREATE TABLE id_directory (
    id     uuid PRIMARY KEY,
    app_id uuid NOT NULL
);

-- The part of an app that its own transactions read and lock: a table of apps, so that it is on the
-- same server as everything else of the app. The rest is in app_directory.
-- revision: grows with every administrative change; detects concurrent edits.
-- public_revision: grows only with changes that the public API shows; a response is stored only if
-- it was judged at the newest one.
CREATE TABLE apps (
    app_id               uuid PRIMARY KEY,
    grace_window_seconds bigint,
    revision             bigint NOT NULL DEFAULT 0,
    public_revision      bigint NOT NULL DEFAULT 0
);

-- Public keys of clients. A revoked key keeps its row. A table of the instance.
CREATE TABLE api_keys (
    app_id     uuid NOT NULL REFERENCES app_directory,
    api_key    text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    revoked_at bigint,
    PRIMARY KEY (app_id, api_key)
);
CREATE INDEX api_keys_by_key ON api_keys (api_key);

-- Keys that verify identity tokens. material is a sealed secret (never plain text), a public key or
-- the URL of a key set, depending on kind. A table of the instance: they are cached together with
-- the settings of their app.
CREATE TABLE identity_keys (
    app_id     uuid NOT NULL REFERENCES app_directory,
    kid        text COLLATE "C" NOT NULL,
    kind       text NOT NULL,
    material   text NOT NULL,
    issuer     text,
    created_at bigint NOT NULL,
    revoked_at bigint,
    PRIMARY KEY (app_id, kid)
);

CREATE TABLE flows (
    app_id               uuid NOT NULL REFERENCES apps,
    flow_id              uuid NOT NULL,
    kind                 text NOT NULL,      -- survey, form or message
    name                 text NOT NULL,
    live_starts_at       bigint,
    live_ends_at         bigint,
    grace_window_seconds bigint,
    closing              text,               -- how many responses are accepted, JSON object
    flow_key             text,               -- the name by which flow files refer to it
    labels               text,               -- JSON array
    design               text,               -- what replaces parts of the app's design, without pictures, JSON object
    test_links           bigint NOT NULL DEFAULT 0, -- how often its test links were revoked
    invitation_email     text,               -- the text of invitations by e-mail, JSON object
    created_at           bigint NOT NULL,
    archived_at          bigint,
    design_with_pictures text,               -- the whole design, if it has pictures
    PRIMARY KEY (app_id, flow_id)
);
CREATE UNIQUE INDEX flows_by_key ON flows (app_id, flow_key) WHERE flow_key IS NOT NULL;

-- Drafts (published_at is NULL, number is 0) and published versions. There is no status column: the
-- state of a version follows from its times.
CREATE TABLE versions (
    app_id          uuid NOT NULL,
    flow_id         uuid NOT NULL,
    flow_version_id uuid NOT NULL,
    number          bigint NOT NULL,
    published_at    bigint,
    superseded_at   bigint,
    grace_ends_at   bigint,
    retired_at      bigint,
    created_at      bigint NOT NULL,
    updated_at      bigint NOT NULL,
    definition      text NOT NULL,
    PRIMARY KEY (app_id, flow_version_id),
    FOREIGN KEY (app_id, flow_id) REFERENCES flows
);
CREATE UNIQUE INDEX versions_by_number ON versions (app_id, flow_id, number) WHERE number > 0;
CREATE INDEX versions_current ON versions (app_id, flow_id, number)
    WHERE published_at IS NOT NULL AND superseded_at IS NULL AND retired_at IS NULL;
CREATE INDEX versions_draft ON versions (app_id, flow_id) WHERE published_at IS NULL;

-- Responses: the table that every submission writes to. It has no foreign keys: a response is
-- stored only at the newest public_revision, and its version existed at that revision. The server
-- creates partitions by month ahead of time; an id outside of them goes into the default partition,
-- so that no insert fails because a partition is missing. The time of receipt is the time in
-- response_id.
-- digest, idempotency_key: hashes of 16 bytes. They have the type uuid because it has no length,
-- unlike bytea.
-- counted: whether the commit that stored the row also counted it. Other rows are counted by the
-- scan of their flow (count_scans).
-- Columns of fixed length come first, so that none needs padding. There are two indexes and no
-- more, because every response pays for them: the primary key is also the order of lists and
-- exports, and the responses of an app in the order of their ids are read flow by flow.
CREATE TABLE responses (
    app_id             uuid NOT NULL,
    flow_id            uuid NOT NULL,
    flow_version_id    uuid NOT NULL,
    response_id        uuid NOT NULL,
    digest             uuid NOT NULL,
    admitted           boolean NOT NULL,
    identity_verified  boolean NOT NULL,
    counted            boolean NOT NULL DEFAULT false,
    idempotency_key    uuid,
    respondent_id      uuid,
    answers            text NOT NULL,
    identities         text,
    tags               text,
    context            text,
    flow_assignment_id text,
    score              text,
    PRIMARY KEY (app_id, flow_id, response_id)
) PARTITION BY RANGE (response_id);
CREATE INDEX responses_by_id ON responses (response_id);
CREATE TABLE responses_default PARTITION OF responses DEFAULT;

-- Idempotency keys in use. This is a separate table because a unique key of a partitioned table
-- must contain the partition key. A row is removed with its response. It has no digest: as long as
-- the response has this key, its digest decides whether a retry is the same submission.
CREATE TABLE idempotency (
    app_id      uuid NOT NULL,
    key         uuid NOT NULL,
    response_id uuid NOT NULL,
    PRIMARY KEY (app_id, key)
);

-- The keys in idempotency whose response was deleted or erased: a late retry is answered as a
-- replay and stores nothing.
CREATE TABLE used_keys (
    app_id      uuid NOT NULL,
    response_id uuid NOT NULL,
    key         uuid NOT NULL,
    PRIMARY KEY (app_id, response_id)
);

-- The skip index: one filter for each block of responses, so that a filtered scan can skip whole
-- blocks. filter is NULL while it has to be built or rebuilt. A removal clears the filter and
-- increments generation, so that a filter built from the earlier rows is discarded.
CREATE TABLE response_blocks (
    app_id     uuid NOT NULL,
    flow_id    uuid NOT NULL,
    first_id   uuid NOT NULL,
    last_id    uuid NOT NULL,
    since      bigint NOT NULL,
    generation bigint NOT NULL DEFAULT 0,
    filter     bytea,
    PRIMARY KEY (app_id, flow_id, last_id)
);
-- Filters stay in their rows because many are read at once. Their bits are random, so they do not
-- compress.
ALTER TABLE response_blocks ALTER COLUMN filter SET STORAGE MAIN;
CREATE INDEX response_blocks_unmade ON response_blocks (app_id, flow_id, last_id) WHERE filter IS NULL;
-- Where the newest block of all flows ends. The condition is always true: without it, the server
-- would read the blocks of all flows by this index to find those of one.
CREATE INDEX response_blocks_newest ON response_blocks (last_id) WHERE since >= 0;

-- Counts by day and version. segment is empty for all responses; for responses with a tag it is the
-- tag's name and value, separated by a zero byte.
CREATE TABLE counts (
    app_id          uuid NOT NULL,
    flow_id         uuid NOT NULL,
    segment         bytea NOT NULL,
    day             integer NOT NULL,
    flow_version_id uuid NOT NULL,
    responses       bigint NOT NULL,
    admitted        bigint NOT NULL,
    body            bytea NOT NULL,
    PRIMARY KEY (app_id, flow_id, segment, day, flow_version_id)
);

-- Changes to the counts: every commit and every removal appends one row for each version and day. A
-- background task folds them into counts. Removals sort last in the primary key, so they are folded
-- after everything that they subtract from.
CREATE TABLE count_deltas (
    app_id          uuid NOT NULL,
    flow_id         uuid NOT NULL,
    removal         boolean NOT NULL,
    delta_id        uuid NOT NULL,
    flow_version_id uuid NOT NULL,
    day             integer NOT NULL,
    responses       bigint NOT NULL,
    body            bytea NOT NULL,
    PRIMARY KEY (app_id, flow_id, removal, delta_id)
);
CREATE INDEX count_deltas_removals ON count_deltas (app_id, flow_id) WHERE removal;

-- One row for each flow; a node locks it while it folds the flow's deltas or scans its responses.
-- passed is the last response that was scanned, if the flow has responses that were stored without
-- being counted, such as imported ones; NULL means that there is nothing to scan. unindexed is how
-- many responses were counted since the flow's skip index was last extended: the flow is visited
-- from 1024 on, the size of a block. It may be too high, and a visit corrects it.
CREATE TABLE count_scans (
    app_id    uuid NOT NULL,
    flow_id   uuid NOT NULL,
    passed    uuid,
    unindexed bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (app_id, flow_id)
);
CREATE INDEX count_scans_in_progress ON count_scans (app_id, flow_id) WHERE passed IS NOT NULL;
CREATE INDEX count_scans_unindexed ON count_scans (app_id, flow_id) WHERE unindexed >= 1024;

-- Respondents: profiles that responses are linked to. First and last seen are not stored; they are
-- the times in respondent_id and in the newest consent, so that a returning respondent updates no
-- row.
-- erasing: JSON, set while an erasure that needs several transactions is in progress. It holds
-- whether to keep the answers, and the identities to remove from them. A server that finds it
-- continues the erasure.
CREATE TABLE respondents (
    app_id        uuid NOT NULL,
    respondent_id uuid NOT NULL,
    erasing       text,
    PRIMARY KEY (app_id, respondent_id)
);
CREATE INDEX respondents_by_id ON respondents (respondent_id);
CREATE INDEX respondents_erasing ON respondents (app_id, respondent_id) WHERE erasing IS NOT NULL;

-- Identities of a respondent: at most one userId and any number of e-mail addresses (in lower
-- case).
CREATE TABLE identities (
    app_id        uuid NOT NULL,
    type          text COLLATE "C" NOT NULL, -- userId or email
    value         text COLLATE "C" NOT NULL,
    respondent_id uuid NOT NULL,
    PRIMARY KEY (app_id, type, value)
);
CREATE INDEX identities_by_respondent ON identities (app_id, respondent_id);
CREATE UNIQUE INDEX identities_user_id ON identities (app_id, respondent_id) WHERE type = 'userId';

-- One row for each linked response. The responses of a respondent are found through this table, so
-- that the responses table needs no index for it.
CREATE TABLE consents (
    app_id          uuid NOT NULL,
    response_id     uuid NOT NULL,
    respondent_id   uuid NOT NULL,
    flow_id         uuid NOT NULL,
    flow_version_id uuid NOT NULL,
    PRIMARY KEY (app_id, response_id)
);
CREATE INDEX consents_by_respondent ON consents (app_id, respondent_id, response_id);

-- Invitations: a flow assigned to one person by user id or e-mail address. The id has 128 random
-- bits. Addresses are compared without regard to the case of ASCII letters: with the collation "C",
-- lower() changes no other characters.
CREATE TABLE invitations (
    app_id        uuid NOT NULL,
    flow_id       uuid NOT NULL,
    assignment_id uuid NOT NULL,
    user_id       text,
    email         text,
    created_at    bigint NOT NULL,
    expires_at    bigint,
    opened_at     bigint,
    completed_at  bigint,
    revoked_at    bigint,
    response_id   uuid,
    PRIMARY KEY (app_id, assignment_id),
    FOREIGN KEY (app_id, flow_id) REFERENCES flows
);
CREATE INDEX invitations_by_id ON invitations (assignment_id);
CREATE INDEX invitations_by_flow ON invitations (app_id, flow_id, created_at, assignment_id);
CREATE INDEX invitations_by_user ON invitations (app_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX invitations_by_email ON invitations (app_id, lower(email COLLATE "C")) WHERE email IS NOT NULL;
-- Retention reads the invitations that still name a person, in the order in which they ended.
CREATE INDEX invitations_ended
    ON invitations (app_id, coalesce(completed_at, revoked_at, expires_at), assignment_id)
    WHERE user_id IS NOT NULL OR email IS NOT NULL;

-- What visitors did, by version and day: only numbers, no row for a visit. counter is opened,
-- started, finished, seen: or passed: with a question's id, or time: with the first second of a
-- range.
CREATE TABLE visit_counts (
    app_id          uuid NOT NULL,
    flow_id         uuid NOT NULL,
    day             bigint NOT NULL,
    flow_version_id uuid NOT NULL,
    counter         text COLLATE "C" NOT NULL,
    visits          bigint NOT NULL,
    PRIMARY KEY (app_id, flow_id, day, flow_version_id, counter)
);

-- How many responses each limit of a flow has counted, as a JSON object. Only flows with limits
-- (flows.closing) have a row. A commit locks it, and writes it with the responses that it stores.
CREATE TABLE closing_counts (
    app_id  uuid NOT NULL,
    flow_id uuid NOT NULL,
    counts  text NOT NULL,
    PRIMARY KEY (app_id, flow_id)
);

-- Test responses: answers from the test link of a flow, apart from the responses. number is 0 for a
-- draft.
CREATE TABLE test_responses (
    app_id      uuid NOT NULL,
    flow_id     uuid NOT NULL,
    form_key    uuid NOT NULL,
    number      bigint NOT NULL,
    received_at bigint NOT NULL,
    answers     text NOT NULL,               -- JSON object
    tags        text,                        -- JSON object
    score       text,
    PRIMARY KEY (app_id, flow_id, form_key),
    FOREIGN KEY (app_id, flow_id) REFERENCES flows
);
CREATE INDEX test_responses_by_time ON test_responses (received_at);

-- Events of an app other than stored responses, which are their own events. event_id contains the
-- time.
-- kind: the name of the type. body: JSON object. A row of kind response.created announces a
-- response again that was stored behind the reach of readers (event.rs).
CREATE TABLE events (
    app_id   uuid NOT NULL,
    event_id uuid NOT NULL,
    flow_id  uuid,
    kind     text NOT NULL,
    body     text NOT NULL,
    PRIMARY KEY (app_id, event_id)
);

-- Admin tokens, stored as the SHA-256 of the token. A table of the instance, as all that follow.
-- The nil id as app_id: not limited to an app.
CREATE TABLE tokens (
    app_id     uuid NOT NULL,
    token_id   uuid NOT NULL,
    name       text NOT NULL,
    hash       bytea NOT NULL,
    scopes     text NOT NULL,                -- JSON array
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    PRIMARY KEY (app_id, token_id)
);
CREATE INDEX tokens_by_id ON tokens (token_id);
CREATE INDEX tokens_by_hash ON tokens (hash);

-- Reports: results of a flow that anyone with the link can read. hash is the SHA-256 of the secret
-- in the link. password: an Argon2id hash. The flow is in a table of apps, so there is no foreign
-- key to it.
CREATE TABLE reports (
    app_id      uuid NOT NULL REFERENCES app_directory,
    flow_id     uuid NOT NULL,
    report_id   uuid NOT NULL,
    hash        bytea NOT NULL,
    title       text NOT NULL,
    questions   text NOT NULL,               -- JSON array of question ids
    filters     text NOT NULL,               -- JSON array of names and values
    shows_texts boolean NOT NULL,
    password    text,
    created_by  text NOT NULL,
    created_at  bigint NOT NULL,
    expires_at  bigint,
    revoked_at  bigint,
    PRIMARY KEY (app_id, report_id)
);
CREATE UNIQUE INDEX reports_by_hash ON reports (hash);
CREATE INDEX reports_by_flow ON reports (app_id, flow_id, report_id);

-- Short paths: addresses of hosted pages that authors choose, unique among all apps. The flow is in
-- a table of apps, so there is no foreign key to it.
CREATE TABLE short_paths (
    app_id  uuid NOT NULL REFERENCES app_directory,
    flow_id uuid NOT NULL,
    path    text COLLATE "C" NOT NULL,
    PRIMARY KEY (app_id, flow_id)
);
CREATE UNIQUE INDEX short_paths_by_path ON short_paths (path);

-- Assets: images for flows. An asset never changes. digest: BLAKE3 of bytes, which do not get
-- smaller by compression.
CREATE TABLE assets (
    app_id       uuid NOT NULL REFERENCES app_directory,
    asset_id     uuid NOT NULL,
    content_type text NOT NULL,
    width        bigint NOT NULL,
    height       bigint NOT NULL,
    digest       bytea NOT NULL,
    created_at   bigint NOT NULL,
    bytes        bytea NOT NULL,
    PRIMARY KEY (app_id, asset_id)
);
ALTER TABLE assets ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX assets_by_id ON assets (asset_id);
CREATE UNIQUE INDEX assets_by_digest ON assets (app_id, digest);

-- Webhook endpoints. A table of the instance, as deliveries. secret, previous_secret: sealed.
-- cursor: everything up to this event was sent, or waits in deliveries. failures: attempts that
-- failed since one succeeded. due_at: when a worker is needed next.
-- leased_by, leased_until: the process that works on it. removals: how often replies about
-- responses of the app were removed.
CREATE TABLE endpoints (
    app_id          uuid NOT NULL REFERENCES app_directory,
    endpoint_id     uuid NOT NULL,
    url             text NOT NULL,
    description     text NOT NULL,
    format          text NOT NULL,
    batch           boolean NOT NULL,
    types           text NOT NULL,           -- JSON array; empty means all
    flows           text NOT NULL,           -- JSON array; empty means all
    secret          text NOT NULL,
    previous_secret text,
    previous_until  bigint,
    created_at      bigint NOT NULL,
    cursor          uuid NOT NULL,
    failing_since   bigint,
    failures        bigint NOT NULL,
    disabled_at     bigint,
    disabled_reason text,
    due_at          bigint NOT NULL,
    removals        bigint NOT NULL,
    leased_by       uuid,
    leased_until    bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (app_id, endpoint_id)
);
CREATE INDEX endpoints_due ON endpoints (due_at) WHERE disabled_at IS NULL;

-- Deliveries of events to endpoints: those that wait for another attempt (next_at), and the last
-- finished ones.
CREATE TABLE deliveries (
    app_id         uuid NOT NULL,
    endpoint_id    uuid NOT NULL,
    delivery_id    uuid NOT NULL,
    event_id       uuid NOT NULL,
    kind           text NOT NULL,
    state          text NOT NULL,            -- waiting, delivered or failed
    attempts       bigint NOT NULL,
    next_at        bigint,
    attempted_at   bigint NOT NULL,
    status         bigint,
    latency_millis bigint NOT NULL,
    reply          text,
    error          text,
    batch_id       text,                     -- the id of the message that it shared with others
    PRIMARY KEY (app_id, endpoint_id, delivery_id),
    FOREIGN KEY (app_id, endpoint_id) REFERENCES endpoints ON DELETE CASCADE
);
CREATE INDEX deliveries_waiting ON deliveries (app_id, endpoint_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_health ON deliveries (app_id, endpoint_id, state, attempted_at);
CREATE INDEX deliveries_by_event ON deliveries (app_id, event_id);

-- How far the log of each app was published to a sink, such as a stream of another system. A table
-- of the instance.
CREATE TABLE sink_positions (
    app_id   uuid NOT NULL REFERENCES app_directory,
    sink     text COLLATE "C" NOT NULL,
    position uuid NOT NULL,
    PRIMARY KEY (app_id, sink)
);

-- The process that publishes to a sink.
CREATE TABLE sink_leases (
    sink         text COLLATE "C" PRIMARY KEY,
    leased_by    uuid NOT NULL,
    leased_until bigint NOT NULL
);

-- Users of the console.
-- password: an Argon2id hash. issuer and subject: the identity at a single sign-on provider.
-- epoch: sessions of an earlier epoch are no longer valid.
-- totp_secret: sealed with the master key. totp_step: the last time step for which a code was
-- accepted.
-- recovery_codes: the SHA-256 of each unused code, concatenated.
CREATE TABLE users (
    user_id        uuid PRIMARY KEY,
    email          text COLLATE "C" NOT NULL,
    name           text NOT NULL,
    password       text,
    issuer         text COLLATE "C",
    subject        text COLLATE "C",
    epoch          bigint NOT NULL,
    created_at     bigint NOT NULL,
    disabled_at    bigint,
    totp_secret    text,
    totp_step      bigint,
    recovery_codes bytea
);
-- With the collation "C", lower() changes ASCII letters only.
CREATE UNIQUE INDEX users_by_email ON users (lower(email));
CREATE UNIQUE INDEX users_by_subject ON users (issuer, subject) WHERE subject IS NOT NULL;

-- Roles of users by app. The nil id as app_id means all apps.
CREATE TABLE grants (
    app_id  uuid NOT NULL,
    user_id uuid NOT NULL REFERENCES users,
    role    text NOT NULL,                   -- viewer, editor or owner
    PRIMARY KEY (app_id, user_id)
);
CREATE INDEX grants_by_user ON grants (user_id, app_id);

-- Views of the responses of a flow that users have saved. query is that of the page's address. It
-- cannot refer to the table of flows, which is elsewhere on a cluster.
CREATE TABLE saved_views (
    app_id     uuid NOT NULL,
    flow_id    uuid NOT NULL,
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    name       text COLLATE "C" NOT NULL,
    query      text NOT NULL,
    is_default boolean NOT NULL,
    PRIMARY KEY (app_id, flow_id, user_id, name)
);
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
    app_id        uuid NOT NULL,
    mail_id       uuid NOT NULL,
    kind          text NOT NULL,
    flow_id       uuid,
    assignment_id uuid,
    user_id       uuid,
    detail        text,
    created_at    bigint NOT NULL,
    sent          bigint NOT NULL,
    sent_at       bigint,
    attempts      bigint NOT NULL,
    next_at       bigint,
    ended         text,
    reply         text,
    address       bytea,
    revision      bigint NOT NULL,
    PRIMARY KEY (app_id, mail_id)
);
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
    request_id  uuid PRIMARY KEY,
    holder      text COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL,
    claim       uuid NOT NULL,
    claimed_at  bigint NOT NULL,
    applied_at  bigint,
    expires_at  bigint NOT NULL,
    reply       bytea
);
CREATE INDEX admin_requests_by_holder ON admin_requests (holder);
CREATE INDEX admin_requests_by_expiry ON admin_requests (expires_at);

-- One row: how many e-mails were sent in a minute, by all servers together.
CREATE TABLE mail_pace (
    minute bigint NOT NULL,
    sent   bigint NOT NULL
);
INSERT INTO mail_pace (minute, sent) VALUES (0, 0);

-- One row: since when e-mails and webhooks wait, because this is a copy; NULL if they are sent.
CREATE TABLE outbound (
    held_at bigint
);
INSERT INTO outbound (held_at) VALUES (NULL);

-- Links to set a password. hash is the SHA-256 of the secret in the link.
CREATE TABLE links (
    hash       bytea PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES users,
    expires_at bigint NOT NULL
);
CREATE INDEX links_by_user ON links (user_id);

-- Sessions of the console. hash is the SHA-256 of the session's secret. A session belongs to a user
-- (user_id and epoch) or to an admin token (token_hash). confirmed_at: when the holder last proved
-- their identity.
CREATE TABLE sessions (
    hash         bytea PRIMARY KEY,
    user_id      uuid,
    epoch        bigint,
    token_hash   bytea,
    created_at   bigint NOT NULL,
    used_at      bigint NOT NULL,
    expires_at   bigint NOT NULL,
    confirmed_at bigint NOT NULL DEFAULT 0
);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
CREATE INDEX sessions_by_user ON sessions (user_id, epoch) WHERE user_id IS NOT NULL;

-- The audit log. Entries outlive what they describe. The nil id as app_id: concerns no app. The
-- time is in audit_id.
CREATE TABLE audit (
    app_id   uuid NOT NULL,
    audit_id uuid NOT NULL,
    actor    text NOT NULL,
    action   text NOT NULL,
    subject  text NOT NULL,
    detail   text NOT NULL,
    PRIMARY KEY (app_id, audit_id)
);
CREATE INDEX audit_by_id ON audit (audit_id);

-- One row: the position of the change feed. Only changes that the public API shows move it, never a
-- submission.
CREATE TABLE feed (
    position bigint NOT NULL
);
INSERT INTO feed (position) VALUES (0);

-- One row: how often users, grants, links and saved views have changed.
CREATE TABLE people (
    revision bigint NOT NULL
);
INSERT INTO people (revision) VALUES (0);

-- Marks that outlive a process, at most one of each name.
-- restoring: from before the first record of a backup is written until everything was compared;
-- nothing else opens such a database. damaged: damage was found, and detail says where; every
-- server sees it within seconds and accepts no responses.
CREATE TABLE marks (
    name   text COLLATE "C" PRIMARY KEY,
    detail text NOT NULL,
    -- In UTC. Damage that is found again renews it.
    noted_at timestamp NOT NULL DEFAULT (clock_timestamp() AT TIME ZONE 'UTC')
);

-- Rows of the readiness check: it fills a page, so that it needs space as a submission does.
-- Emptied when the table has grown.
CREATE TABLE probe (
    filler text NOT NULL
);
