-- What tokens are verified by: secrets (sealed, never in the clear), public keys, addresses of key sets.

CREATE TABLE identity_keys (
    app_id     uuid NOT NULL REFERENCES apps,
    kid        text COLLATE "C" NOT NULL,
    kind       text NOT NULL,
    material   text NOT NULL,
    issuer     text,
    created_at bigint NOT NULL,
    revoked_at bigint,
    PRIMARY KEY (app_id, kid)
);

ALTER TABLE apps ADD COLUMN token_lifetime_seconds bigint;
