-- What tokens are verified by: secrets (sealed, never in the clear), public keys, addresses of key sets.

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

ALTER TABLE apps ADD COLUMN token_lifetime_seconds INTEGER;
