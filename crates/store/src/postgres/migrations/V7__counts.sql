-- Counts: what responses add up to, kept by every write.
--
-- A commit appends to count_deltas, once for each version and day, and so does a removal; deltas are folded into
-- counts in the background. Which responses were counted when they were stored, the row itself says; the others are
-- counted by a walk over their flow. What is stored already is all to be walked over.

ALTER TABLE responses ADD COLUMN counted boolean NOT NULL DEFAULT false;

-- The segment is empty for all responses, and a tag's name and value with a zero between for those that have it.
CREATE TABLE counts (
    app_id          uuid NOT NULL,
    flow_id         uuid NOT NULL,
    segment         bytea NOT NULL,
    day             integer NOT NULL,
    flow_version_id uuid NOT NULL,
    responses       bigint NOT NULL,
    admitted        bigint NOT NULL,
    body            bytea NOT NULL,
    PRIMARY KEY (app_id, flow_id, segment, day, flow_version_id)
);

-- Removals come last in the order of the key: they are folded after all that they take away from.
CREATE TABLE count_deltas (
    app_id          uuid NOT NULL,
    flow_id         uuid NOT NULL,
    removal         boolean NOT NULL,
    delta_id        uuid NOT NULL,
    flow_version_id uuid NOT NULL,
    day             integer NOT NULL,
    responses       bigint NOT NULL,
    body            bytea NOT NULL,
    PRIMARY KEY (app_id, flow_id, removal, delta_id)
);

-- One row for a flow: whoever folds its deltas or walks over it holds the lock on it. Without a place there is
-- nothing to walk over.
CREATE TABLE count_walks (
    app_id  uuid NOT NULL,
    flow_id uuid NOT NULL,
    passed  uuid,
    PRIMARY KEY (app_id, flow_id)
);
CREATE INDEX count_walks_under_way ON count_walks (app_id, flow_id) WHERE passed IS NOT NULL;
INSERT INTO count_walks (app_id, flow_id, passed)
    SELECT app_id, flow_id, '00000000-0000-0000-0000-000000000000' FROM flows;
