-- Respondents: profiles, what is known of each, their consents, and keys that stay taken.
--
-- What is found by a respondent goes through the consents, so that the one hot table gets no index.
-- First and last seen are in the ids of the profile and of its newest consent: no row is updated when
-- somebody comes again.

ALTER TABLE apps ADD COLUMN retention_days INTEGER;

CREATE TABLE respondents (
    app_id        BLOB NOT NULL,
    respondent_id BLOB NOT NULL CHECK (length(respondent_id) = 16),
    PRIMARY KEY (app_id, respondent_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX respondents_by_id ON respondents (respondent_id);

-- A profile has one userId at the most, and any number of addresses (in lower case).
CREATE TABLE identities (
    app_id        BLOB NOT NULL,
    type          TEXT NOT NULL,
    value         TEXT NOT NULL,
    respondent_id BLOB NOT NULL,
    PRIMARY KEY (app_id, type, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_by_respondent ON identities (app_id, respondent_id);
CREATE UNIQUE INDEX identities_user_id ON identities (app_id, respondent_id) WHERE type = 'userId';

CREATE TABLE consents (
    app_id          BLOB NOT NULL,
    response_id     BLOB NOT NULL CHECK (length(response_id) = 16),
    respondent_id   BLOB NOT NULL,
    flow_id         BLOB NOT NULL,
    flow_version_id BLOB NOT NULL,
    PRIMARY KEY (app_id, response_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX consents_by_respondent ON consents (app_id, respondent_id, response_id);

-- Keys whose response is deleted or erased. Without digest or content: a retry is answered as a replay.
CREATE TABLE used_keys (
    app_id      BLOB NOT NULL,
    response_id BLOB NOT NULL CHECK (length(response_id) = 16),
    key         BLOB NOT NULL CHECK (length(key) = 32),
    PRIMARY KEY (app_id, response_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX used_keys_by_key ON used_keys (app_id, key);
