//! The URLs of this service.

/// Where people reach this service. No URL has a trailing slash.
#[derive(Debug, Clone, Copy)]
pub struct Addresses<'e> {
    pub public_url: &'e str,
    /// Where users reach the console and the admin API.
    pub admin_url: &'e str,
}

impl<'e> Addresses<'e> {
    /// The path of both URLs, without a trailing slash; empty at the root of a host.
    pub fn path(self) -> &'e str {
        let host_at = self.public_url.find("://").map_or(0, |at| at + "://".len());
        self.public_url[host_at..].find('/').map_or("", |at| &self.public_url[host_at + at..])
    }
}
