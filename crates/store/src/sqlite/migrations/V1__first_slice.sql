-- The first schema: apps, keys, flows, versions, responses, tokens, audit, feed.
--
-- Ids are the 16 bytes of a UUIDv7, so that they sort by the time they were made. Times are
-- milliseconds since the epoch. JSON is kept as text, as it came. Every key starts with the app
-- where the trait names the app; what it finds by id alone has a unique index of its own.
-- Foreign keys are checked at the commit, so that the rows of one change may come in any order.

PRAGMA application_id = 1397511491; -- "SLUC": this file is Sluice's

CREATE TABLE apps (
    app_id                BLOB PRIMARY KEY CHECK (length(app_id) = 16),
    name                  TEXT NOT NULL,
    identity_verification TEXT NOT NULL,
    allowed_origins       TEXT NOT NULL,
    grace_window_seconds  INTEGER,
    created_at            INTEGER NOT NULL,
    revision              INTEGER NOT NULL DEFAULT 0,
    public_revision       INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX apps_by_public_revision ON apps (public_revision);

CREATE TABLE api_keys (
    app_id     BLOB NOT NULL REFERENCES apps DEFERRABLE INITIALLY DEFERRED,
    api_key    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    PRIMARY KEY (app_id, api_key)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX api_keys_by_key ON api_keys (api_key);

CREATE TABLE flows (
    app_id               BLOB NOT NULL REFERENCES apps DEFERRABLE INITIALLY DEFERRED,
    flow_id              BLOB NOT NULL CHECK (length(flow_id) = 16),
    kind                 TEXT NOT NULL,
    name                 TEXT NOT NULL,
    live_starts_at       INTEGER,
    live_ends_at         INTEGER,
    grace_window_seconds INTEGER,
    created_at           INTEGER NOT NULL,
    archived_at          INTEGER,
    PRIMARY KEY (app_id, flow_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX flows_by_id ON flows (flow_id);

-- The definition comes last: it can be long, and what is before it is read without it.
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
CREATE INDEX versions_current ON versions (app_id, flow_id)
    WHERE published_at IS NOT NULL AND superseded_at IS NULL AND retired_at IS NULL;
CREATE INDEX versions_draft ON versions (app_id, flow_id) WHERE published_at IS NULL;

-- The one hot table. It has a rowid, so that rows of any length are appended, and no foreign key:
-- a response is stored only at the newest public revision, at which its version was read.
-- The idempotency key lives in the row, and so exactly as long as the response.
CREATE TABLE responses (
    app_id             BLOB NOT NULL,
    flow_id            BLOB NOT NULL,
    flow_version_id    BLOB NOT NULL,
    response_id        BLOB NOT NULL CHECK (length(response_id) = 16),
    admitted           INTEGER NOT NULL,
    answers            TEXT NOT NULL,
    identities         TEXT,
    identity_verified  INTEGER NOT NULL,
    respondent_id      BLOB,
    tags               TEXT,
    context            TEXT,
    flow_assignment_id TEXT,
    digest             BLOB NOT NULL CHECK (length(digest) = 32),
    idempotency_key    BLOB
) STRICT;
CREATE UNIQUE INDEX responses_by_id ON responses (response_id);
CREATE INDEX responses_by_flow ON responses (app_id, flow_id, response_id);
CREATE UNIQUE INDEX responses_by_idempotency_key ON responses (app_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

CREATE TABLE tokens (
    token_id   BLOB PRIMARY KEY CHECK (length(token_id) = 16),
    name       TEXT NOT NULL,
    hash       BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    scopes     TEXT NOT NULL,
    app_id     BLOB REFERENCES apps DEFERRABLE INITIALLY DEFERRED,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;

-- The log outlives what it tells of: no foreign key.
CREATE TABLE audit (
    audit_id BLOB PRIMARY KEY CHECK (length(audit_id) = 16),
    app_id   BLOB,
    actor    TEXT NOT NULL,
    action   TEXT NOT NULL,
    subject  TEXT NOT NULL,
    detail   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_by_app ON audit (app_id, audit_id);

-- One row: where the change feed stands.
CREATE TABLE feed (
    only     INTEGER PRIMARY KEY CHECK (only = 1),
    position INTEGER NOT NULL
) STRICT;
INSERT INTO feed (only, position) VALUES (1, 0);

-- Always empty. Readiness writes here and takes it back in the same transaction.
CREATE TABLE probe (
    filler BLOB NOT NULL
) STRICT;
