//! The flags that all commands for a running server share: which server, and how a list is printed.

use clap::Args;
use serde_json::Value;

/// The server address if none is given.
pub(crate) const SERVER_DEFAULT: &str = "http://127.0.0.1:8080";

/// Which server to call, and with which token.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    /// Address of the running server [env: SLUICE_SERVER] [default: http://127.0.0.1:8080]
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,

    /// Admin token [env: SLUICE_TOKEN] [default: SLUICE_ADMIN_TOKEN]
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,

    /// Profile with the server and its token, in ~/.config/sluice/config.toml [env: SLUICE_PROFILE]
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
}

/// How a list is printed.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct JsonArg {
    /// One JSON object per line, as the API returns it
    #[arg(long)]
    json: bool,
}

impl JsonArg {
    /// An item as JSON, or as this text.
    pub(crate) fn shown(self, item: &Value, text: impl Fn(&Value) -> String) -> String {
        if self.json { item.to_string() } else { text(item) }
    }
}
