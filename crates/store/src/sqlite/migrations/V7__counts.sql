-- Counts: what responses add up to, kept by every write.
--
-- A commit appends to count_deltas, once for each version and day; deltas are folded into counts in the background.
-- Which responses were counted when they were stored, the row itself says; the others are counted by a walk over
-- their flow, whose place is kept as long as it goes on. What is stored already is all to be walked over.

ALTER TABLE responses ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;

-- The segment is empty for all responses, and a tag's name and value with a zero between for those that have it.
CREATE TABLE counts (
    app_id          BLOB NOT NULL,
    flow_id         BLOB NOT NULL,
    segment         BLOB NOT NULL,
    day             INTEGER NOT NULL,
    flow_version_id BLOB NOT NULL,
    responses       INTEGER NOT NULL,
    admitted        INTEGER NOT NULL,
    body            BLOB NOT NULL,
    PRIMARY KEY (app_id, flow_id, segment, day, flow_version_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE count_deltas (
    app_id          BLOB NOT NULL,
    flow_id         BLOB NOT NULL,
    delta_id        BLOB NOT NULL CHECK (length(delta_id) = 16),
    flow_version_id BLOB NOT NULL,
    day             INTEGER NOT NULL,
    responses       INTEGER NOT NULL,
    body            BLOB NOT NULL,
    PRIMARY KEY (app_id, flow_id, delta_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE count_walks (
    app_id  BLOB NOT NULL,
    flow_id BLOB NOT NULL,
    passed  BLOB NOT NULL CHECK (length(passed) = 16),
    PRIMARY KEY (app_id, flow_id)
) STRICT, WITHOUT ROWID;
INSERT INTO count_walks (app_id, flow_id, passed) SELECT app_id, flow_id, zeroblob(16) FROM flows;
