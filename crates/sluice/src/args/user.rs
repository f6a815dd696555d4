//! The commands for people who sign in to the console.

use clap::{Args, Subcommand};
use sluice_flow::id::{AppId, UserId};

use super::ServerArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Add somebody; the link with which they set their password is printed once
    #[command(after_long_help = "\
Examples:
  sluice user add ann@example.com --name Ann --role owner
  sluice user add bob@example.com --name Bob --role editor --app app_…")]
    Add(AddArgs),
    /// List users with their ids and roles
    List {
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Change the role or the name of a user
    #[command(after_long_help = "\
Examples:
  sluice user set us_… --role viewer                in all apps, and for the instance
  sluice user set us_… --role editor --app app_…    in one app
  sluice user set us_… --role none --app app_…      takes the role away
  sluice user set us_… --name 'Ann Lee'")]
    Set(SetArgs),
    /// Print a new link with which a user sets their password
    Reset {
        #[arg(value_name = "USER_ID")]
        user: UserId,

        #[command(flatten)]
        server: ServerArgs,
    },
    /// Sign a user out everywhere, and let them in no more
    Disable {
        #[arg(value_name = "USER_ID")]
        user: UserId,

        /// Let them in again
        #[arg(long)]
        undo: bool,

        #[command(flatten)]
        server: ServerArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    #[arg(value_name = "EMAIL")]
    pub(crate) email: String,

    /// What they are called [default: the address]
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// owner: everything; editor: write flows, read and export; viewer: read
    #[arg(long, value_parser = ["owner", "editor", "viewer"])]
    pub(crate) role: String,

    /// The one app that the role is for [default: all apps, and the instance]
    #[arg(long, value_name = "APP_ID")]
    pub(crate) app: Option<AppId>,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true).args(["name", "role"]))]
pub(crate) struct SetArgs {
    #[arg(value_name = "USER_ID")]
    pub(crate) user: UserId,

    #[arg(long)]
    pub(crate) name: Option<String>,

    #[arg(long, value_parser = ["owner", "editor", "viewer", "none"])]
    pub(crate) role: Option<String>,

    /// The one app that the role is for [default: all apps, and the instance]
    #[arg(long, value_name = "APP_ID", requires = "role")]
    pub(crate) app: Option<AppId>,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
