//! Any bytes as a CSV file of people to invite.
//!
//! People are written and read again as the same. Otherwise there are faults, each with the line or
//! column that it is about.

use sluice_engine::invitation_files::{read, read_all, twice, write_people};

pub(super) fn run(data: &[u8]) {
    match read(data) {
        Ok(people) => {
            assert!(!people.is_empty());
            assert_eq!(read_all(data).map(|all| all.len()), Ok(people.len()));
            let again = read(&write_people(&people)).expect("a written file is read");
            assert_eq!(again.len(), people.len());
            for (one, other) in people.iter().zip(&again) {
                assert_eq!(one.invitee, other.invitee);
                assert_eq!(one.expires_at, other.expires_at);
            }
            assert_eq!(twice(&people).len(), twice(&again).len());
        }
        Err(faults) => {
            assert!(!faults.is_empty(), "refused without a fault");
            for fault in faults {
                assert!(fault.pointer.is_empty() || fault.pointer.starts_with('/'), "{fault:?}");
                assert!(!fault.message.is_empty());
            }
        }
    }
}
