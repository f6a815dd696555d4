-- People of the console: users, their grants, links to set a password, sessions.
--
-- The nil id in a grant's app_id means all apps. A link or a session is kept as the SHA-256 of its secret. Of a
-- session, the user and the epoch are there, or the hash of an admin token.

CREATE TABLE users (
    user_id     BLOB PRIMARY KEY CHECK (length(user_id) = 16),
    email       TEXT NOT NULL COLLATE NOCASE,
    name        TEXT NOT NULL,
    password    TEXT,
    issuer      TEXT,
    subject     TEXT,
    epoch       INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    disabled_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX users_by_email ON users (email);
CREATE UNIQUE INDEX users_by_subject ON users (issuer, subject) WHERE subject IS NOT NULL;

CREATE TABLE grants (
    app_id  BLOB NOT NULL CHECK (length(app_id) = 16),
    user_id BLOB NOT NULL REFERENCES users DEFERRABLE INITIALLY DEFERRED,
    role    TEXT NOT NULL,
    PRIMARY KEY (app_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX grants_by_user ON grants (user_id, app_id);

CREATE TABLE links (
    user_id    BLOB PRIMARY KEY REFERENCES users DEFERRABLE INITIALLY DEFERRED,
    hash       BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    hash       BLOB PRIMARY KEY CHECK (length(hash) = 32),
    user_id    BLOB,
    epoch      INTEGER,
    token_hash BLOB,
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- One row: how often users, grants and links have changed.
CREATE TABLE people (
    only     INTEGER PRIMARY KEY CHECK (only = 1),
    revision INTEGER NOT NULL
) STRICT;
INSERT INTO people (only, revision) VALUES (1, 0);
