-- Sessions: when the holder last proved who they are, and an index to list the sessions of one user.
-- Users: a second factor. `totp_secret` is sealed with the master key, `totp_step` is the last time step that a code was
-- accepted for, `recovery_codes` are the SHA-256 of the unused codes, one after the other.

ALTER TABLE sessions ADD COLUMN confirmed_at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX sessions_by_user ON sessions (user_id, epoch) WHERE user_id IS NOT NULL;

ALTER TABLE users ADD COLUMN totp_secret TEXT;
ALTER TABLE users ADD COLUMN totp_step INTEGER;
ALTER TABLE users ADD COLUMN recovery_codes BLOB;
