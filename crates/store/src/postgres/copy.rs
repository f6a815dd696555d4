//! Responses in the binary format of COPY: the fastest way into a table.
//!
//! The server reads it without parsing, planning or an array per column, and puts many rows on a
//! page at once. It cannot handle a conflict, which is no loss: keys are in a separate
//! table. Citus commits every COPY in two phases, so on a distributed database rows are inserted by
//! a statement ([`super::columns`]).

use bytes::{BufMut, Bytes, BytesMut};

use crate::NewResponse;
use crate::codec::{COLUMNS, Get, RESPONSE};

const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";
/// The columns of a row, its idempotency key, and `counted`.
const FIELDS: i16 = COLUMNS.len() as i16 + 2;
/// Approximate size of a row without its texts.
const ROW_BYTES: usize = 256;

/// The COPY statement for these bytes.
pub(super) fn statement() -> String {
    format!("COPY responses ({RESPONSE}, idempotency_key, counted) FROM STDIN (FORMAT binary)")
}

/// All responses, with the header and trailer of the format.
pub(super) fn encode<'a>(responses: impl Iterator<Item = &'a NewResponse> + Clone) -> Bytes {
    let size: usize = responses.clone().map(|response| ROW_BYTES + response.row.texts_len()).sum();
    let mut out = Form(BytesMut::with_capacity(64 + size));
    out.0.put_slice(SIGNATURE);
    // No flags, no header extension.
    out.0.put_i64(0);
    for response in responses {
        let row = &response.row;
        out.0.put_i16(FIELDS);
        for column in COLUMNS {
            match column.get {
                Get::Id(get) => out.field(get(row).as_ref().map(|id| &id.as_bytes()[..])),
                Get::Flag(get) => out.flag(get(row)),
                Get::Text(get) => out.field(get(row).map(str::as_bytes)),
            }
        }
        out.field(response.idempotency_key.as_ref().map(|key| &key[..]));
        out.flag(true);
    }
    out.0.put_i16(-1);
    out.0.freeze()
}

struct Form(BytesMut);

impl Form {
    fn field(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => {
                // The size limit of a submission keeps texts far below this.
                self.0.put_i32(i32::try_from(bytes.len()).unwrap_or(i32::MAX));
                self.0.put_slice(bytes);
            }
            None => self.0.put_i32(-1),
        }
    }

    fn flag(&mut self, flag: bool) {
        self.field(Some(&[u8::from(flag)]));
    }
}
