//! Migrations: compares the ones this binary knows with the ones applied to a database.
//!
//! A database records its migrations in the table `schema_history`, each with the checksum of its
//! SQL. Each backend locks the database and runs the SQL in its own way; which migrations are
//! pending, and which databases are refused, is decided here for both.
//!
//! After a release only the comments of a migration are edited: add the next one, for both
//! backends.

/// The migrations of SQLite, oldest first.
pub(crate) const SQLITE: &[Migration] = &[Migration {
    version: 1,
    name: "initial_schema",
    sql: include_str!("sqlite/migrations/V1__initial_schema.sql"),
}];

/// The migrations of PostgreSQL, oldest first.
pub(crate) const POSTGRES: &[Migration] = &[Migration {
    version: 1,
    name: "initial_schema",
    sql: include_str!("postgres/migrations/V1__initial_schema.sql"),
}];

/// One step of the schema.
#[derive(Debug)]
pub(crate) struct Migration {
    pub(crate) version: i64,
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
}

impl Migration {
    /// Lines that are only a comment do not count, so that they can be corrected.
    pub(crate) fn checksum(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let lines = self.sql.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with("--")) {
            hasher.update(line.as_bytes()).update(b"\n");
        }
        hasher.finalize().to_hex().to_string()
    }
}

/// A row of `schema_history`.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) version: i64,
    pub(crate) checksum: String,
}

/// Why the history of a database does not fit this binary.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    Newer { found: i64, known: i64 },
    Different { version: i64 },
}

impl Mismatch {
    /// The detail for a migration that both know with different text.
    pub(crate) fn detail(version: i64) -> String {
        format!("migration {version} differs")
    }
}

/// The version of the newest migration in a list that is sorted by version.
pub(crate) fn newest(known: &[Migration]) -> i64 {
    known.last().map_or(0, |migration| migration.version)
}

/// The migrations that a database still needs. Both lists are sorted by version.
pub(crate) fn pending<'a>(
    known: &'a [Migration],
    applied: &[Applied],
) -> Result<&'a [Migration], Mismatch> {
    let (found, newest) = (applied.last().map_or(0, |it| it.version), newest(known));
    if found > newest {
        return Err(Mismatch::Newer { found, known: newest });
    }
    for (one, migration) in applied.iter().zip(known) {
        if one.version != migration.version || one.checksum != migration.checksum() {
            return Err(Mismatch::Different { version: one.version });
        }
    }
    Ok(known.get(applied.len()..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Migration; 2] = [
        Migration { version: 1, name: "first", sql: "CREATE TABLE a (x)" },
        Migration { version: 2, name: "second", sql: "CREATE TABLE b (x)" },
    ];

    fn applied(versions: &[(i64, &Migration)]) -> Vec<Applied> {
        let row = |(version, of): &(i64, &Migration)| Applied {
            version: *version,
            checksum: of.checksum(),
        };
        versions.iter().map(row).collect()
    }

    #[track_caller]
    fn check(history: &[(i64, &Migration)], expected: Result<&[i64], Mismatch>) {
        let versions = |found: &[Migration]| found.iter().map(|it| it.version).collect::<Vec<_>>();
        let found = pending(&KNOWN, &applied(history)).map(versions);
        assert_eq!(found, expected.map(<[i64]>::to_vec));
    }

    #[test]
    fn a_comment_does_not_change_a_migration_but_a_statement_does() {
        let of = |sql| Migration { version: 1, name: "first", sql }.checksum();
        let plain = of("CREATE TABLE a (\n    x int\n);");
        assert_eq!(of("-- A table.\nCREATE TABLE a (\n    -- A column.\n    x int\n);\n\n"), plain);
        for other in ["CREATE TABLE a (\n    x text\n);", "CREATE TABLE a (\n);", ""] {
            assert_ne!(of(other), plain, "{other}");
        }
    }

    #[test]
    fn unapplied_migrations_are_pending_and_another_history_is_refused() {
        let [first, second] = &KNOWN;
        check(&[], Ok(&[1, 2]));
        check(&[(1, first)], Ok(&[2]));
        check(&[(1, first), (2, second)], Ok(&[]));
        check(&[(1, second)], Err(Mismatch::Different { version: 1 }));
        check(&[(2, second)], Err(Mismatch::Different { version: 2 }));
        let newer = Mismatch::Newer { found: 3, known: 2 };
        check(&[(1, first), (2, second), (3, second)], Err(newer));
    }
}
