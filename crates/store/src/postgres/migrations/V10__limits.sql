-- Limits of one app. NULL means that of the instance.
ALTER TABLE apps ADD COLUMN calls_per_second bigint;
ALTER TABLE apps ADD COLUMN bytes_per_day bigint;
