-- What a stretch of a flow's responses can be found by. A block without a filter is to be made, or made anew; whoever
-- takes a filter away counts the generation up, so that one that is being made of what was there before is not put in.
CREATE TABLE response_blocks (
    app_id     uuid NOT NULL,
    flow_id    uuid NOT NULL,
    first_id   uuid NOT NULL,
    last_id    uuid NOT NULL,
    since      bigint NOT NULL,
    generation bigint NOT NULL DEFAULT 0,
    filter     bytea,
    PRIMARY KEY (app_id, flow_id, last_id)
);
-- Many are read at once, so they stay in their rows; bits that are set at random do not compress.
ALTER TABLE response_blocks ALTER COLUMN filter SET STORAGE MAIN;
CREATE INDEX response_blocks_unmade ON response_blocks (app_id, flow_id) WHERE filter IS NULL;
