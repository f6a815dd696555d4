-- Which invitations still name somebody, by when they were over: retention takes the oldest of them, a part
-- at a time, and looks at no other.

CREATE INDEX invitations_ended
    ON invitations (app_id, coalesce(completed_at, revoked_at, expires_at), assignment_id)
    WHERE user_id IS NOT NULL OR email IS NOT NULL;
