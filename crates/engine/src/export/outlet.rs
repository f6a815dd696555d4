//! Where a format writes: bytes are gathered into pieces, which are sent to the client.

use std::io;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::ExportFailed;

/// The size of the pieces in which a format that writes at its end is sent.
const PIECE_BYTES: usize = 256 * 1024;

/// A part of the file; a failure ends it.
pub(super) type Piece = Result<Bytes, ExportFailed>;

/// Sends the bytes of a format to the client.
pub(super) struct Outlet<'p> {
    pub(super) waiting: Vec<u8>,
    pub(super) pieces: &'p mpsc::Sender<Piece>,
}

impl Outlet<'_> {
    /// Sends the buffered bytes; fails if the client is gone.
    pub(super) fn send(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        // The next piece will be about as long.
        let next = Vec::with_capacity(self.waiting.len());
        let piece = std::mem::replace(&mut self.waiting, next);
        self.pieces
            .blocking_send(Ok(piece.into()))
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

impl io::Write for Outlet<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= PIECE_BYTES {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
