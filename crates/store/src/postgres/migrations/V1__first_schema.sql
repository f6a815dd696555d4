-- The first schema on PostgreSQL: apps, keys, flows, versions, responses, tokens, audit, feed.
--
-- The app comes first in every primary key and foreign key, so that Citus can distribute every table
-- by it; what is found by an id alone has an index that is not unique. There are no sequences, no
-- triggers and no functions. Ids are UUIDv7, so they sort by the time they were made; the nil id in
-- app_id means "of no app". Times are milliseconds since the epoch. JSON is text, kept as it came.
-- The foreign keys are checked at once: the service writes apps before flows before versions.

CREATE TABLE apps (
    app_id                uuid PRIMARY KEY,
    name                  text NOT NULL,
    identity_verification text NOT NULL,
    allowed_origins       text NOT NULL,
    grace_window_seconds  bigint,
    created_at            bigint NOT NULL,
    revision              bigint NOT NULL DEFAULT 0,
    public_revision       bigint NOT NULL DEFAULT 0
);
CREATE INDEX apps_by_public_revision ON apps (public_revision);

CREATE TABLE api_keys (
    app_id     uuid NOT NULL REFERENCES apps,
    api_key    text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    revoked_at bigint,
    PRIMARY KEY (app_id, api_key)
);
CREATE INDEX api_keys_by_key ON api_keys (api_key);

CREATE TABLE flows (
    app_id               uuid NOT NULL REFERENCES apps,
    flow_id              uuid NOT NULL,
    kind                 text NOT NULL,
    name                 text NOT NULL,
    live_starts_at       bigint,
    live_ends_at         bigint,
    grace_window_seconds bigint,
    created_at           bigint NOT NULL,
    archived_at          bigint,
    PRIMARY KEY (app_id, flow_id)
);
CREATE INDEX flows_by_id ON flows (flow_id);

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
CREATE INDEX versions_by_id ON versions (flow_version_id);
CREATE UNIQUE INDEX versions_by_number ON versions (app_id, flow_id, number) WHERE number > 0;
CREATE INDEX versions_draft ON versions (app_id, flow_id) WHERE published_at IS NULL;

-- The one hot table. It has no foreign key: a response is stored only at the newest public revision,
-- at which its version was read. Partitions by month are made by the service, ahead of time; an id
-- outside of them goes into the default one, so that no insert fails for want of a partition.
CREATE TABLE responses (
    app_id             uuid NOT NULL,
    flow_id            uuid NOT NULL,
    flow_version_id    uuid NOT NULL,
    response_id        uuid NOT NULL,
    admitted           boolean NOT NULL,
    answers            text NOT NULL,
    identities         text,
    identity_verified  boolean NOT NULL,
    respondent_id      uuid,
    tags               text,
    context            text,
    flow_assignment_id text,
    digest             bytea NOT NULL,
    idempotency_key    bytea,
    PRIMARY KEY (app_id, response_id)
) PARTITION BY RANGE (response_id);
CREATE INDEX responses_by_flow ON responses (app_id, flow_id, response_id);
CREATE INDEX responses_by_id ON responses (response_id);
CREATE TABLE responses_default PARTITION OF responses DEFAULT;

-- Which keys are taken: a table of its own, since a unique key of a partitioned table must hold the
-- partition key. Its rows live as long as their responses, which name their key.
CREATE TABLE idempotency (
    app_id      uuid NOT NULL,
    key         bytea NOT NULL,
    response_id uuid NOT NULL,
    digest      bytea NOT NULL,
    PRIMARY KEY (app_id, key)
);

CREATE TABLE tokens (
    app_id     uuid NOT NULL,
    token_id   uuid NOT NULL,
    name       text NOT NULL,
    hash       bytea NOT NULL,
    scopes     text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    PRIMARY KEY (app_id, token_id)
);
CREATE INDEX tokens_by_id ON tokens (token_id);
CREATE INDEX tokens_by_hash ON tokens (hash);

-- The log outlives what it tells of.
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

-- One row: where the change feed stands. Only what the public can see moves it, never a submission.
CREATE TABLE feed (
    position bigint NOT NULL
);
INSERT INTO feed (position) VALUES (0);

-- Always empty. Readiness writes here and takes it back.
CREATE TABLE probe (
    filler text NOT NULL
);
