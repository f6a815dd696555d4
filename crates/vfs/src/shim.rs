//! The file system itself: SQLite's own, with six functions replaced for the log.
//!
//! SQLite allocates a file as one block that begins with its own data; ours follow behind. So every
//! function that is not replaced works on the block as before.

#![expect(unsafe_code, reason = "SQLite calls a file system by pointers to functions")]

use std::ffi::{CStr, CString, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::ptr;
use std::sync::OnceLock;
use std::time::Instant;

use libsqlite3_sys::{
    SQLITE_ERROR, SQLITE_IOERR, SQLITE_OK, SQLITE_OPEN_WAL, sqlite3_file, sqlite3_filename,
    sqlite3_int64, sqlite3_io_methods, sqlite3_vfs, sqlite3_vfs_find, sqlite3_vfs_register,
};

use crate::NAME;
use crate::durable::{Durable, SLOW_SYNC, Stamp};
use crate::gathered::Gathered;
use crate::sync_times;

/// SQLite's own file system, and where in a file our data begin.
struct Base {
    vfs: *mut sqlite3_vfs,
    offset: usize,
}

// SAFETY: the file system is registered for the whole life of the process and is not changed.
unsafe impl Send for Base {}
// SAFETY: as above; SQLite itself uses it from all threads.
unsafe impl Sync for Base {}

static BASE: OnceLock<Option<Base>> = OnceLock::new();

/// A function of SQLite's own file system.
macro_rules! base {
    ($log:expr, $function:ident) => {{
        // SAFETY: SQLite's functions stay valid.
        match unsafe { (*$log.base).$function } {
            Some(function) => function,
            None => return SQLITE_IOERR,
        }
    }};
}

/// What we keep of an open log. SQLite uses a file from one thread at a time.
struct Log {
    /// The functions of the file as SQLite sees it.
    methods: sqlite3_io_methods,
    /// Those of its own file system.
    base: *const sqlite3_io_methods,
    path: PathBuf,
    gathered: Gathered,
    durable: Durable,
    /// Whether the last sync was slow. After a fast one, its stamp would not be used.
    is_slow: bool,
}

impl Log {
    /// Writes what was gathered.
    ///
    /// # Safety
    /// The file is that of this log.
    unsafe fn pass_on(&mut self, file: *mut sqlite3_file) -> c_int {
        let write = base!(self, xWrite);
        let written = self.gathered.pass_on(|at, bytes| {
            // Far below the limit of the type.
            let Ok(count) = c_int::try_from(bytes.len()) else { return SQLITE_IOERR };
            // SAFETY: as SQLite's own call; the bytes live until it returns.
            unsafe { write(file, bytes.as_ptr().cast(), count, at) }
        });
        written.unwrap_or(SQLITE_OK)
    }
}

/// Makes the file system known to SQLite, once. False if that fails.
pub fn register() -> bool {
    BASE.get_or_init(add).is_some()
}

fn add() -> Option<Base> {
    // SAFETY: NULL asks for the default file system.
    let vfs = unsafe { sqlite3_vfs_find(ptr::null()) };
    // SAFETY: SQLite returns NULL or a file system that stays valid.
    let base = unsafe { vfs.as_ref() }?;
    let offset = usize::try_from(base.szOsFile).ok()?.next_multiple_of(align_of::<*mut Log>());
    let size = c_int::try_from(offset + size_of::<*mut Log>()).ok()?;
    let name = CString::new(NAME).ok()?.into_raw();
    let ours = sqlite3_vfs { szOsFile: size, zName: name, xOpen: Some(open), ..*base };
    let ours = Box::leak(Box::new(ours));
    // SAFETY: `ours` and its name are never freed.
    let added = unsafe { sqlite3_vfs_register(ours, 0) };
    (added == SQLITE_OK).then_some(Base { vfs, offset })
}

/// Where the pointer to our data is in a file.
///
/// # Safety
/// The file was allocated by SQLite for our file system.
unsafe fn slot(file: *mut sqlite3_file) -> *mut *mut Log {
    let offset = BASE.get().and_then(Option::as_ref).map_or(0, |base| base.offset);
    // SAFETY: the block has `szOsFile` bytes, which includes the slot.
    unsafe { file.cast::<u8>().add(offset).cast() }
}

/// # Safety
/// The file is a log that [`open`] has opened.
unsafe fn log<'f>(file: *mut sqlite3_file) -> &'f mut Log {
    // SAFETY: as required.
    let slot = unsafe { slot(file) };
    // SAFETY: `open` has written the slot.
    let log = unsafe { *slot };
    // SAFETY: the box lives until `close`, and one thread uses the file.
    unsafe { &mut *log }
}

unsafe extern "C" fn open(
    _ours: *mut sqlite3_vfs,
    name: sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let Some(base) = BASE.get().and_then(Option::as_ref) else { return SQLITE_ERROR };
    // SAFETY: the file system stays valid.
    let Some(open) = (unsafe { (*base.vfs).xOpen }) else { return SQLITE_ERROR };
    // SAFETY: the arguments are SQLite's; the block is at least as large as its own.
    let opened = unsafe { open(base.vfs, name, file, flags, out) };
    if opened != SQLITE_OK || flags & SQLITE_OPEN_WAL == 0 || name.is_null() {
        return opened;
    }
    // SAFETY: the file was opened.
    let methods = unsafe { (*file).pMethods };
    // SAFETY: SQLite's functions stay valid.
    let Some(own) = (unsafe { methods.as_ref() }) else { return opened };
    // SAFETY: a file name ends with NUL.
    let path = unsafe { CStr::from_ptr(name) };
    let log = Box::leak(Box::new(Log {
        methods: sqlite3_io_methods {
            xClose: Some(close),
            xRead: Some(read),
            xWrite: Some(write),
            xTruncate: Some(truncate),
            xSync: Some(sync),
            xFileSize: Some(file_size),
            ..*own
        },
        base: methods,
        path: OsStr::from_bytes(path.to_bytes()).into(),
        gathered: Gathered::default(),
        durable: Durable::default(),
        is_slow: false,
    }));
    // SAFETY: the file was allocated for our file system.
    let slot = unsafe { slot(file) };
    // SAFETY: the slot is within the block, and aligned.
    unsafe { slot.write(log) };
    // SAFETY: the file was opened.
    unsafe { (*file).pMethods = &raw const log.methods };
    opened
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite calls this for a log that `open` has opened.
    let log: *mut Log = unsafe { log(file) };
    // SAFETY: it was leaked by `open`, and nobody uses it afterwards.
    let mut log = unsafe { Box::from_raw(log) };
    // SAFETY: its own file.
    let written = unsafe { log.pass_on(file) };
    let close = base!(log, xClose);
    // SAFETY: the arguments are SQLite's.
    let closed = unsafe { close(file) };
    if written == SQLITE_OK { closed } else { written }
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    into: *mut c_void,
    count: c_int,
    at: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite calls this for a log that `open` has opened.
    let log = unsafe { log(file) };
    // SAFETY: its own file.
    let written = unsafe { log.pass_on(file) };
    if written != SQLITE_OK {
        return written;
    }
    let read = base!(log, xRead);
    // SAFETY: the arguments are SQLite's.
    unsafe { read(file, into, count, at) }
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, size: *mut sqlite3_int64) -> c_int {
    // SAFETY: SQLite calls this for a log that `open` has opened.
    let log = unsafe { log(file) };
    // SAFETY: its own file.
    let written = unsafe { log.pass_on(file) };
    if written != SQLITE_OK {
        return written;
    }
    let file_size = base!(log, xFileSize);
    // SAFETY: the arguments are SQLite's.
    unsafe { file_size(file, size) }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    bytes: *const c_void,
    count: c_int,
    at: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite calls this for a log that `open` has opened.
    let log = unsafe { log(file) };
    log.durable.reset();
    let Ok(count) = usize::try_from(count) else { return SQLITE_IOERR };
    // SAFETY: SQLite passes this many bytes.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), count) };
    if log.gathered.keep(at, bytes) {
        return SQLITE_OK;
    }
    // SAFETY: its own file.
    let written = unsafe { log.pass_on(file) };
    if written == SQLITE_OK {
        log.gathered.keep(at, bytes);
    }
    written
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    // SAFETY: SQLite calls this for a log that `open` has opened.
    let log = unsafe { log(file) };
    log.durable.reset();
    // SAFETY: its own file.
    let written = unsafe { log.pass_on(file) };
    if written != SQLITE_OK {
        return written;
    }
    let truncate = base!(log, xTruncate);
    // SAFETY: the arguments are SQLite's.
    unsafe { truncate(file, size) }
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: SQLite calls this for a log that `open` has opened.
    let log = unsafe { log(file) };
    if log.durable.is_known(flags, || Stamp::read(&log.path)) {
        return SQLITE_OK;
    }
    log.durable.reset();
    // SAFETY: its own file.
    let written = unsafe { log.pass_on(file) };
    if written != SQLITE_OK {
        return written;
    }
    let sync = base!(log, xSync);
    let before = if log.is_slow { Stamp::read(&log.path) } else { None };
    let start = Instant::now();
    // SAFETY: the arguments are SQLite's.
    let synced = unsafe { sync(file, flags) };
    if synced == SQLITE_OK {
        // Another program may have written during the sync.
        let unchanged = || Stamp::read(&log.path).filter(|after| Some(*after) == before);
        let took = start.elapsed();
        sync_times::note(took);
        log.is_slow = took >= SLOW_SYNC;
        log.durable.note_sync(flags, took, unchanged);
    }
    synced
}
