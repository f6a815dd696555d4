//! Invitations as CSV: reading a list of people, and writing invitations with their links.
//!
//! The first line names the columns, in any order: `userId`, `email`, `expiresAt`. Every faulty
//! line is reported with its number. An unknown column is a fault, so that a mistyped one is not
//! silently ignored.

use std::collections::HashSet;

use sluice_flow::definition::Fault;
use sluice_flow::time::Timestamp;

use crate::export::without_formulas;
use crate::invitations::{Invitation, NewInvitation, truncated};

/// The maximum size of a file in bytes, and in lines of people.
pub const FILE_BYTES_MAX: usize = 16 * 1024 * 1024;
pub const FILE_LINES_MAX: usize = 50_000;

const USER_ID: &str = "userId";
const EMAIL: &str = "email";
const EXPIRES_AT: &str = "expiresAt";
const COLUMNS: [&str; 3] = [USER_ID, EMAIL, EXPIRES_AT];

/// Parses people, or returns every fault of the file's format. Addresses are checked later.
pub fn read(file: &[u8]) -> Result<Vec<NewInvitation>, Vec<Fault>> {
    read_up_to(FILE_LINES_MAX, file)
}

/// The same for a file of any length, for a caller that sends it in parts.
pub fn read_all(file: &[u8]) -> Result<Vec<NewInvitation>, Vec<Fault>> {
    read_up_to(usize::MAX, file)
}

fn read_up_to(lines_max: usize, file: &[u8]) -> Result<Vec<NewInvitation>, Vec<Fault>> {
    let file = file.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(file);
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter_of(file))
        .trim(csv::Trim::All)
        .from_reader(file);
    let mut records = reader.byte_records();
    let columns = match records.next() {
        Some(Ok(head)) => columns(&head)?,
        _ => {
            return Err(vec![Fault::new(
                "/1",
                format!("must name the columns: {}", COLUMNS.join(", ")),
            )]);
        }
    };
    let (mut people, mut faults) = (Vec::new(), Vec::new());
    let mut lines = LineNumbers { file, counted: 0, line: 1 };
    for record in records {
        // Reading from memory does not fail, and records may have any number of fields.
        let Ok(record) = record else { break };
        let line = lines.line_of(&record);
        match person(&record, &columns, line) {
            Ok(person) => people.push(person),
            Err(found) => faults.extend(found),
        }
        if people.len() > lines_max {
            let what = format!("is beyond the {lines_max} people of one file; split the file");
            return Err(vec![Fault::new(format!("/{line}"), what)]);
        }
    }
    if people.is_empty() && faults.is_empty() {
        faults.push(Fault::new("", "must have a line for each person after the first"));
    }
    if faults.is_empty() { Ok(people) } else { Err(truncated(faults)) }
}

/// Computes the line at which a record starts. The reader only counts the end of the line before.
struct LineNumbers<'f> {
    file: &'f [u8],
    counted: usize,
    line: u64,
}

impl LineNumbers<'_> {
    /// Must be called for the records in order.
    fn line_of(&mut self, record: &csv::ByteRecord) -> u64 {
        let start = record.position().and_then(|place| usize::try_from(place.byte()).ok());
        let start = start.unwrap_or(self.counted).clamp(self.counted, self.file.len());
        let empty = |byte: &&u8| matches!(**byte, b'\r' | b'\n');
        let start = start + self.file[start..].iter().take_while(empty).count();
        let ends = self.file[self.counted..start].iter().filter(|byte| **byte == b'\n').count();
        self.counted = start;
        self.line += ends as u64;
        self.line
    }
}

/// Spreadsheets in some locales write semicolons.
fn delimiter_of(file: &[u8]) -> u8 {
    let head = file.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if head.contains(&b';') && !head.contains(&b',') { b';' } else { b',' }
}

fn columns(head: &csv::ByteRecord) -> Result<Vec<&'static str>, Vec<Fault>> {
    let (mut columns, mut faults) = (Vec::new(), Vec::new());
    for (index, name) in head.iter().enumerate() {
        let known = COLUMNS.into_iter().find(|column| column.as_bytes() == name);
        let at = format!("/1/{}", index + 1);
        match known {
            None => {
                let what = format!("is not known here; known are {}", COLUMNS.join(", "));
                faults.push(Fault::new(at, what));
            }
            Some(column) if columns.contains(&column) => {
                faults.push(Fault::new(at, format!("is a second column {column}")));
            }
            Some(column) => columns.push(column),
        }
    }
    if faults.is_empty() && !columns.iter().any(|column| *column != EXPIRES_AT) {
        faults.push(Fault::new("/1", format!("must have the column {USER_ID}, {EMAIL}, or both")));
    }
    if faults.is_empty() { Ok(columns) } else { Err(faults) }
}

fn person(
    record: &csv::ByteRecord,
    columns: &[&'static str],
    line: u64,
) -> Result<NewInvitation, Vec<Fault>> {
    let mut person =
        NewInvitation { invitee: Default::default(), expires_at: None, line: Some(line) };
    let mut faults = Vec::new();
    if record.len() != columns.len() {
        let what = format!("must have {} fields like the first line", columns.len());
        return Err(vec![Fault::new(format!("/{line}"), what)]);
    }
    for (column, field) in columns.iter().zip(record).filter(|(_, field)| !field.is_empty()) {
        let at = format!("/{line}/{column}");
        let Ok(text) = std::str::from_utf8(field) else {
            faults.push(Fault::new(at, "must be UTF-8"));
            continue;
        };
        match *column {
            USER_ID => person.invitee.user_id = Some(text.to_owned()),
            EMAIL => person.invitee.email = Some(text.to_owned()),
            _ => match text.parse::<Timestamp>() {
                Ok(time) => person.expires_at = Some(time),
                Err(error) => faults.push(Fault::new(at, error.to_string())),
            },
        }
    }
    if faults.is_empty() { Ok(person) } else { Err(faults) }
}

/// A fault for every line with a person who is also on an earlier line.
pub fn twice(people: &[NewInvitation]) -> Vec<Fault> {
    let mut seen = HashSet::new();
    let double = |person: &&NewInvitation| {
        let NewInvitation { invitee, .. } = person;
        let user = invitee.user_id.clone().map(|user| (USER_ID, user));
        let email = invitee.email_key().map(|email| (EMAIL, email));
        // Both are recorded, even if the first is already known.
        let known = [user, email].into_iter().flatten().filter(|it| !seen.insert(it.clone()));
        known.count() > 0
    };
    let doubles = people.iter().filter(double);
    let what = "is on an earlier line, too; remove one, or skip people who are already invited";
    doubles.map(|it| Fault::new(format!("/{}", it.line.unwrap_or_default()), what)).collect()
}

/// Writes people in the format that [`read`] parses.
pub fn write_people(people: &[NewInvitation]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let _infallible = writer.write_record(COLUMNS);
    for NewInvitation { invitee, expires_at, .. } in people {
        let expires_at = expires_at.map(|time| time.to_string()).unwrap_or_default();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let fields = [text(&invitee.user_id), text(&invitee.email), expires_at];
        let _infallible = writer.write_record(fields);
    }
    writer.into_inner().unwrap_or_default()
}

/// Writes invitations with their ids and links, after a header. No cell is a formula for a
/// spreadsheet.
pub fn write(invitations: &[Invitation]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut line = |fields: [&str; 5]| {
        // Writing to memory does not fail, and every line has the same number of fields.
        let _infallible = writer.write_record(fields);
    };
    line([USER_ID, EMAIL, EXPIRES_AT, "flowAssignmentId", "link"]);
    for Invitation { row, link, .. } in invitations {
        let text = |text: &Option<String>| {
            without_formulas(text.as_deref().unwrap_or_default()).into_owned()
        };
        let expires_at = row.times.expires_at.map(|time| time.to_string()).unwrap_or_default();
        let (user, email) = (text(&row.invitee.user_id), text(&row.invitee.email));
        let link = link.as_deref().unwrap_or_default();
        line([&user, &email, &expires_at, &row.assignment_id.to_string(), link]);
    }
    writer.into_inner().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn faults(file: &str, expected: &[(&str, &str)]) {
        let found = read(file.as_bytes()).unwrap_err();
        let reported: Vec<_> =
            found.iter().map(|fault| (fault.pointer.as_str(), fault.message.as_str())).collect();
        let same = reported.len() == expected.len()
            && reported.iter().zip(expected).all(|(reported, wanted)| {
                reported.0 == wanted.0 && reported.1.starts_with(wanted.1)
            });
        assert!(same, "{file:?}: {reported:?}");
    }

    #[test]
    fn columns_may_be_in_any_order_and_may_be_omitted() {
        for file in [
            "userId,email,expiresAt\n7,ada@mail.example,2027-01-01T00:00:00Z\n",
            "\u{feff}expiresAt, email ,userId\r\n2027-01-01T01:00:00+01:00, ada@mail.example ,7\r\n\r\n",
            "email;userId;expiresAt\nada@mail.example;7;2027-01-01T00:00:00Z",
            "email,userId,expiresAt\n\"ada@mail.example\",\"7\",2027-01-01T00:00:00Z",
        ] {
            let people = read(file.as_bytes()).unwrap();
            assert_eq!(people.len(), 1, "{file:?}");
            assert_eq!(people[0].invitee.user_id.as_deref(), Some("7"), "{file:?}");
            assert_eq!(people[0].invitee.email.as_deref(), Some("ada@mail.example"));
            let expires_at = people[0].expires_at.unwrap().to_string();
            assert_eq!(expires_at, "2027-01-01T00:00:00.000Z");
            assert_eq!(people[0].line, Some(2));
        }
        let people = read(b"email\na@b.example\n\n\"c@d.example\"\n").unwrap();
        assert_eq!(people.iter().map(|it| it.line.unwrap()).collect::<Vec<_>>(), [2, 4]);
    }

    #[test]
    fn every_faulty_line_is_reported_with_its_number() {
        faults("", &[("/1", "must name the columns")]);
        faults("email\n", &[("", "must have a line for each person")]);
        faults("expiresAt\n", &[("/1", "must have the column userId, email")]);
        faults(
            "mail,email,email\n",
            &[
                ("/1/1", "is not known here; known are userId, email, expiresAt"),
                ("/1/3", "is a second"),
            ],
        );
        faults(
            "userId,expiresAt\n1,tomorrow\n2,\n3\n4,5,6\n",
            &[
                ("/2/expiresAt", "must be an RFC 3339"),
                ("/4", "must have 2"),
                ("/5", "must have 2"),
            ],
        );
        assert_eq!(read(b"email\n\xff@mail.example\n").unwrap_err()[0].message, "must be UTF-8");
        let mut long = "userId\n".to_owned();
        (0..=FILE_LINES_MAX).for_each(|number| long.push_str(&format!("{number}\n")));
        faults(&long, &[("/50002", "is beyond the 50000 people")]);
    }
}
