-- What a stretch of a flow's responses can be found by. A block without a filter is to be made, or made anew; whoever
-- takes a filter away counts the generation up, so that one that is being made of what was there before is not put in.
CREATE TABLE response_blocks (
    app_id     BLOB NOT NULL,
    flow_id    BLOB NOT NULL,
    first_id   BLOB NOT NULL CHECK (length(first_id) = 16),
    last_id    BLOB NOT NULL CHECK (length(last_id) = 16),
    since      INTEGER NOT NULL,
    generation INTEGER NOT NULL DEFAULT 0,
    filter     BLOB,
    PRIMARY KEY (app_id, flow_id, last_id)
) STRICT;
CREATE INDEX response_blocks_unmade ON response_blocks (app_id, flow_id) WHERE filter IS NULL;
