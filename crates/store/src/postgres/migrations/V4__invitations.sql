-- Invitations: a flow assigned to one person. The id is random, all 128 bits of it.
--
-- Addresses are compared without regard to the case of ASCII letters: with the collation "C", lower() changes
-- no other.

CREATE TABLE invitations (
    app_id        uuid NOT NULL,
    flow_id       uuid NOT NULL,
    assignment_id uuid NOT NULL,
    user_id       text,
    email         text,
    created_at    bigint NOT NULL,
    expires_at    bigint,
    opened_at     bigint,
    completed_at  bigint,
    revoked_at    bigint,
    response_id   uuid,
    PRIMARY KEY (app_id, assignment_id),
    FOREIGN KEY (app_id, flow_id) REFERENCES flows
);
CREATE INDEX invitations_by_id ON invitations (assignment_id);
CREATE INDEX invitations_by_flow ON invitations (app_id, flow_id, created_at, assignment_id);
CREATE INDEX invitations_by_user ON invitations (app_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX invitations_by_email ON invitations (app_id, lower(email COLLATE "C")) WHERE email IS NOT NULL;
