-- How an app wants its hosted pages: a JSON object, or nothing for the defaults.

ALTER TABLE apps ADD COLUMN hosted TEXT;
