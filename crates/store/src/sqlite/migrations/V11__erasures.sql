-- An erasure that takes more than one transaction, as JSON, until the profile is gone: what becomes of the answers,
-- and the identities to cut out of those that are kept. A server that finds it set continues the erasure.
ALTER TABLE respondents ADD COLUMN erasing TEXT;
CREATE INDEX respondents_erasing ON respondents (app_id, respondent_id) WHERE erasing IS NOT NULL;
