//! The commands for users of the console.

use clap::{Args, Subcommand};
use sluice_flow::id::{AppId, UserId};

use super::{JsonArg, ServerArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Add a user and print the link to set their password, once
    #[command(after_long_help = "\
Examples:
  sluice user add ann@example.com --name Ann --role owner --instance
  sluice user add bob@example.com --name Bob --role editor --app app_…")]
    Add(UserAddArgs),
    /// List users with their ids and roles
    List {
        #[command(flatten)]
        json: JsonArg,

        #[command(flatten)]
        server: ServerArgs,
    },
    /// Change the role or the name of a user
    #[command(after_long_help = "\
Examples:
  sluice user set us_… --role viewer --instance     in all apps, and for the instance
  sluice user set us_… --role editor --app app_…    in one app
  sluice user set us_… --role none --app app_…      takes the role away
  sluice user set us_… --name 'Ann Lee'")]
    Set(UserSetArgs),
    /// Print a new link for a user to set their password
    Reset {
        #[arg(value_name = "USER_ID")]
        user: UserId,

        #[command(flatten)]
        server: ServerArgs,
    },
    /// Remove the second factor of a user who has lost it
    ResetSecondFactor {
        #[arg(value_name = "USER_ID")]
        user: UserId,

        #[command(flatten)]
        server: ServerArgs,
    },
    /// Sign a user out everywhere and block them from signing in
    Disable {
        #[arg(value_name = "USER_ID")]
        user: UserId,

        /// Allow them to sign in again
        #[arg(long)]
        undo: bool,

        #[command(flatten)]
        server: ServerArgs,
    },
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("scope").required(true).args(["app", "instance"]))]
pub(crate) struct UserAddArgs {
    #[arg(value_name = "EMAIL")]
    pub(crate) email: String,

    /// Name of the user [default: the address]
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// owner: everything; editor: write flows, read and export; viewer: read
    #[arg(long, value_parser = ["owner", "editor", "viewer"])]
    pub(crate) role: String,

    /// Give the role in this app only
    #[arg(long, value_name = "APP_ID")]
    pub(crate) app: Option<AppId>,

    /// Give the role in all apps and the instance
    #[arg(long)]
    pub(crate) instance: bool,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true).args(["name", "role"]))]
#[command(group = clap::ArgGroup::new("scope").args(["app", "instance"]))]
pub(crate) struct UserSetArgs {
    #[arg(value_name = "USER_ID")]
    pub(crate) user: UserId,

    #[arg(long)]
    pub(crate) name: Option<String>,

    /// Needs --app or --instance
    #[arg(long, value_parser = ["owner", "editor", "viewer", "none"], requires = "scope")]
    pub(crate) role: Option<String>,

    /// Give the role in this app only
    #[arg(long, value_name = "APP_ID", requires = "role")]
    pub(crate) app: Option<AppId>,

    /// Give the role in all apps and the instance
    #[arg(long, requires = "role")]
    pub(crate) instance: bool,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
