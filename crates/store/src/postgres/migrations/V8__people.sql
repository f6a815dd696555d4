-- People of the console: users, their grants, links to set a password, sessions.
--
-- The nil id in a grant's app_id means all apps. A link or a session is kept as the SHA-256 of its secret. Of a
-- session, the user and the epoch are there, or the hash of an admin token. Only grants are of an app; the
-- other tables are small, and would be whole on every node of a distributed database.

CREATE TABLE users (
    user_id     uuid PRIMARY KEY,
    email       text COLLATE "C" NOT NULL,
    name        text NOT NULL,
    password    text,
    issuer      text COLLATE "C",
    subject     text COLLATE "C",
    epoch       bigint NOT NULL,
    created_at  bigint NOT NULL,
    disabled_at bigint
);
-- In the collation "C" only ASCII letters have another case.
CREATE UNIQUE INDEX users_by_email ON users (lower(email));
CREATE UNIQUE INDEX users_by_subject ON users (issuer, subject) WHERE subject IS NOT NULL;

CREATE TABLE grants (
    app_id  uuid NOT NULL,
    user_id uuid NOT NULL REFERENCES users,
    role    text NOT NULL,
    PRIMARY KEY (app_id, user_id)
);
CREATE INDEX grants_by_user ON grants (user_id, app_id);

CREATE TABLE links (
    user_id    uuid PRIMARY KEY REFERENCES users,
    hash       bytea NOT NULL,
    expires_at bigint NOT NULL
);
CREATE UNIQUE INDEX links_by_hash ON links (hash);

CREATE TABLE sessions (
    hash       bytea PRIMARY KEY,
    user_id    uuid,
    epoch      bigint,
    token_hash bytea,
    created_at bigint NOT NULL,
    used_at    bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- One row: how often users, grants and links have changed.
CREATE TABLE people (
    revision bigint NOT NULL
);
INSERT INTO people (revision) VALUES (0);
