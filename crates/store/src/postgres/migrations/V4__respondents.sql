-- Respondents: profiles, what is known of each, their consents, and keys that stay taken.
--
-- What is found by a respondent goes through the consents, so that the one hot table gets no index.
-- First and last seen are in the ids of the profile and of its newest consent: no row is updated when
-- somebody comes again. The app comes first in every key, as everywhere.

ALTER TABLE apps ADD COLUMN retention_days bigint;

CREATE TABLE respondents (
    app_id        uuid NOT NULL,
    respondent_id uuid NOT NULL,
    PRIMARY KEY (app_id, respondent_id)
);
CREATE INDEX respondents_by_id ON respondents (respondent_id);

-- A profile has one userId at the most, and any number of addresses (in lower case).
CREATE TABLE identities (
    app_id        uuid NOT NULL,
    type          text COLLATE "C" NOT NULL,
    value         text COLLATE "C" NOT NULL,
    respondent_id uuid NOT NULL,
    PRIMARY KEY (app_id, type, value)
);
CREATE INDEX identities_by_respondent ON identities (app_id, respondent_id);
CREATE UNIQUE INDEX identities_user_id ON identities (app_id, respondent_id) WHERE type = 'userId';

CREATE TABLE consents (
    app_id          uuid NOT NULL,
    response_id     uuid NOT NULL,
    respondent_id   uuid NOT NULL,
    flow_id         uuid NOT NULL,
    flow_version_id uuid NOT NULL,
    PRIMARY KEY (app_id, response_id)
);
CREATE INDEX consents_by_respondent ON consents (app_id, respondent_id, response_id);

-- A key whose response is deleted or erased stays, without a digest: a retry is answered as a replay.
ALTER TABLE idempotency ALTER COLUMN digest DROP NOT NULL;
CREATE INDEX idempotency_used ON idempotency (app_id, response_id) WHERE digest IS NULL;
