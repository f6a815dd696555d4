//! The addresses that the server listens on: of the service, of the administration, of the metrics.
//!
//! A listener that systemd passes is that of the service; the others are always opened here.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;

use crate::config::Settings;
use crate::failure::Failure;
use crate::systemd;

/// A listener and its address, with the port that the system chose for port 0.
pub(crate) type Bound = (TcpListener, SocketAddr);

pub(crate) struct Listeners {
    pub(crate) public: Bound,
    pub(crate) admin: Option<Bound>,
    pub(crate) metrics: Option<Bound>,
}

impl Listeners {
    pub(crate) async fn open(settings: &Settings) -> Result<Self, Failure> {
        let public = listen(&settings.listen).await?;
        let admin = bind_if_set(settings.admin_listen.as_deref()).await?;
        let metrics = bind_if_set(settings.metrics_listen.as_deref()).await?;
        Ok(Self { public, admin, metrics })
    }

    /// The address of the console and of the admin API.
    pub(crate) fn admin_address(&self) -> SocketAddr {
        self.admin.as_ref().unwrap_or(&self.public).1
    }

    pub(crate) fn metrics_address(&self) -> SocketAddr {
        self.metrics.as_ref().map_or(self.admin_address(), |(_, address)| *address)
    }
}

async fn bind_if_set(listen: Option<&str>) -> Result<Option<Bound>, Failure> {
    match listen {
        Some(listen) => bind(listen).await.map(Some),
        None => Ok(None),
    }
}

/// The listener that systemd passed, or a new one.
async fn listen(listen: &str) -> Result<Bound, Failure> {
    let Some(passed) = systemd::passed_listener()? else { return bind(listen).await };
    let listener = TcpListener::from_std(passed).map_err(|error| unusable(&error))?;
    let address = listener.local_addr().map_err(|error| unusable(&error))?;
    tracing::info!(%address, "listening on the socket that systemd passed");
    Ok((listener, address))
}

fn unusable(error: &io::Error) -> Failure {
    Failure::new(format!("the server failed: {error}"), "")
}

async fn bind(listen: &str) -> Result<Bound, Failure> {
    let bound = async {
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    bound.await.map_err(|error| bind_error(listen, &error))
}

fn bind_error(listen: &str, error: &io::Error) -> Failure {
    use io::ErrorKind;
    match error.kind() {
        ErrorKind::AddrInUse => Failure::new(
            format!("{listen} is taken by another process"),
            "stop it, or choose another port: sluice serve --listen 127.0.0.1:8081 \
             (port 0 takes any free one)",
        ),
        ErrorKind::PermissionDenied => Failure::new(
            format!("this user may not listen on {listen}"),
            "choose a port above 1023, such as --listen 127.0.0.1:8080",
        ),
        ErrorKind::AddrNotAvailable => Failure::new(
            format!("{listen} is not an address of this machine"),
            "listen on 127.0.0.1, on 0.0.0.0 for all interfaces, or on an address it has",
        ),
        _ => Failure::new(
            format!("cannot listen on {listen}: {error}"),
            "write for example --listen 127.0.0.1:8080",
        ),
    }
}
