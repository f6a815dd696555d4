-- Invitations: a flow assigned to one person.
--
-- The id is 16 random bytes, and rows stand in its order: where a row is says nothing about when it was
-- completed. Addresses are compared without regard to the case of ASCII letters, which is what NOCASE does.

CREATE TABLE invitations (
    app_id        BLOB NOT NULL,
    flow_id       BLOB NOT NULL,
    assignment_id BLOB NOT NULL CHECK (length(assignment_id) = 16),
    user_id       TEXT,
    email         TEXT,
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER,
    opened_at     INTEGER,
    completed_at  INTEGER,
    revoked_at    INTEGER,
    response_id   BLOB,
    PRIMARY KEY (app_id, assignment_id),
    FOREIGN KEY (app_id, flow_id) REFERENCES flows DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX invitations_by_id ON invitations (assignment_id);
CREATE INDEX invitations_by_flow ON invitations (app_id, flow_id, created_at, assignment_id);
CREATE INDEX invitations_by_user ON invitations (app_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX invitations_by_email ON invitations (app_id, email COLLATE NOCASE) WHERE email IS NOT NULL;
