//! Which server a command calls, and with which token: from flags, the environment, or a profile.
//!
//! Profiles are in a file of the user. A profile that is chosen with `--profile` takes precedence
//! over the environment; one that is only the default does not. The token of a profile is sent to
//! the server of that profile and to no other. A file that others can read is refused, because it
//! has tokens.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sluice_flow::id::AppId;

use crate::args::{SERVER_DEFAULT, ServerArgs};
use crate::failure::Failure;

/// Where commands find a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Connection {
    pub(crate) server: String,
    pub(crate) token: Option<String>,
    /// The app of commands that name none.
    pub(crate) app: Option<AppId>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileFile {
    /// The profile that is used if none is chosen.
    default: Option<String>,
    #[serde(default)]
    profiles: BTreeMap<String, Profile>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    server: String,
    token: Option<String>,
    app: Option<AppId>,
}

/// The variables that a command reads.
#[derive(Debug, Default)]
struct Variables {
    server: Option<String>,
    token: Option<String>,
    admin_token: Option<String>,
    profile: Option<String>,
}

impl Connection {
    pub(crate) fn new(args: ServerArgs) -> Result<Self, Failure> {
        let read = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let variables = Variables {
            server: read("SLUICE_SERVER"),
            token: read("SLUICE_TOKEN"),
            admin_token: read("SLUICE_ADMIN_TOKEN"),
            profile: read("SLUICE_PROFILE"),
        };
        let path = file_path();
        let file = match &path {
            Some(path) => read_file(path)?,
            None => None,
        };
        decide(args, variables, file.unwrap_or_default()).map_err(|missing| {
            let shown = path.as_deref().unwrap_or(Path::new("config.toml")).display();
            Failure::usage(
                format!("there is no profile {:?}", missing.name),
                match missing.known.as_slice() {
                    [] => format!("write one into {shown}, as docs/running.md shows"),
                    known => format!("{shown} has {}", known.join(", ")),
                },
            )
        })
    }
}

/// A profile that was asked for and is not in the file.
#[derive(Debug, PartialEq, Eq)]
struct MissingProfile {
    name: String,
    known: Vec<String>,
}

fn decide(
    args: ServerArgs,
    variables: Variables,
    file: ProfileFile,
) -> Result<Connection, MissingProfile> {
    let name = args.profile.clone().or(variables.profile).or(file.default);
    let profile = match name {
        None => None,
        Some(name) => match file.profiles.get(&name) {
            Some(profile) => Some(profile.clone()),
            None => {
                return Err(MissingProfile { name, known: file.profiles.into_keys().collect() });
            }
        },
    };
    let is_chosen = args.profile.is_some();
    let of_profile = profile.as_ref().map(|it| it.server.clone());
    let server = args.server.or(if is_chosen {
        of_profile.clone().or(variables.server)
    } else {
        variables.server.or_else(|| of_profile.clone())
    });
    let is_its_server = server.is_some() && server == of_profile;
    let own = profile.filter(|_| is_its_server);
    let own_token = own.as_ref().and_then(|it| it.token.clone());
    let token = args.token.or(if is_chosen {
        own_token.or(variables.token)
    } else {
        variables.token.or(own_token)
    });
    Ok(Connection {
        server: server.unwrap_or_else(|| SERVER_DEFAULT.to_owned()),
        token: token.or(variables.admin_token),
        app: own.and_then(|it| it.app),
    })
}

/// `$XDG_CONFIG_HOME/sluice/config.toml`, or the same below `~/.config`.
fn file_path() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")))?;
    Some(folder.join("sluice").join("config.toml"))
}

/// The file, if there is one.
fn read_file(path: &Path) -> Result<Option<ProfileFile>, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::usage(
            format!("cannot read {}: {error}", path.display()),
            "make it readable for you, or move it away",
        )
    };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    check_mode(path, &std::fs::metadata(path).map_err(unreadable)?)?;
    let file = basic_toml::from_str(&text).map_err(|error| {
        Failure::usage(
            format!("{} {}", path.display(), crate::config::toml_fault(&error)),
            "correct the file; docs/running.md shows one",
        )
    })?;
    Ok(Some(file))
}

#[cfg(unix)]
fn check_mode(path: &Path, metadata: &std::fs::Metadata) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let shown = path.display();
    Err(Failure::usage(
        format!("{shown} has tokens, and other users may read it (mode {mode:03o})"),
        format!("run: chmod 600 {shown}"),
    ))
}

#[cfg(not(unix))]
fn check_mode(_: &Path, _: &std::fs::Metadata) -> Result<(), Failure> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "default = \"live\"\n\
        [profiles.live]\nserver = \"https://live.example\"\ntoken = \"live-token\"\n\
        app = \"app_0000000000000000000000\"\n\
        [profiles.test]\nserver = \"https://test.example\"\ntoken = \"test-token\"\n";

    /// Flags and variables as `name=value`, and the server and token that follow from them.
    #[track_caller]
    fn check(flags: &[&str], variables: &[&str], file: &str, expected: (&str, Option<&str>)) {
        let value = |of: &[&str], name: &str| {
            let found = of.iter().find_map(|it| it.strip_prefix(name)?.strip_prefix('='));
            found.map(str::to_owned)
        };
        let args = ServerArgs {
            server: value(flags, "server"),
            token: value(flags, "token"),
            profile: value(flags, "profile"),
        };
        let variables = Variables {
            server: value(variables, "server"),
            token: value(variables, "token"),
            admin_token: value(variables, "admin"),
            profile: value(variables, "profile"),
        };
        let found = decide(args, variables, basic_toml::from_str(file).unwrap()).unwrap();
        assert_eq!((found.server.as_str(), found.token.as_deref()), expected);
    }

    #[test]
    fn flags_go_before_a_chosen_profile_then_the_environment_then_the_default_profile() {
        let (live, test) = ("https://live.example", "https://test.example");
        check(&[], &[], "", (SERVER_DEFAULT, None));
        check(&[], &["admin=a"], "", (SERVER_DEFAULT, Some("a")));
        check(&[], &["admin=a"], FILE, (live, Some("live-token")));
        check(&[], &[], FILE, (live, Some("live-token")));
        check(&[], &["profile=test"], FILE, (test, Some("test-token")));
        check(&["profile=test"], &["profile=live"], FILE, (test, Some("test-token")));
        check(&["profile=test"], &["server=http://x", "token=t"], FILE, (test, Some("test-token")));
        check(&["profile=test", "token=f"], &["token=t"], FILE, (test, Some("f")));
        check(&[], &["server=http://x", "token=t"], FILE, ("http://x", Some("t")));
        check(&[], &["token=t"], FILE, (live, Some("t")));
        check(&["server=http://y", "token=f"], &["server=http://x"], FILE, ("http://y", Some("f")));
    }

    #[test]
    fn the_token_of_a_profile_goes_to_no_other_server() {
        check(&["server=http://y"], &[], FILE, ("http://y", None));
        check(&[], &["server=http://x"], FILE, ("http://x", None));
        check(&["server=http://y", "profile=test"], &[], FILE, ("http://y", None));
        check(
            &["server=https://live.example"],
            &[],
            FILE,
            ("https://live.example", Some("live-token")),
        );
    }

    #[test]
    fn an_unknown_profile_is_an_error_that_lists_the_known_ones() {
        let args = ServerArgs { profile: Some("x".to_owned()), server: None, token: None };
        let missing =
            decide(args, Variables::default(), basic_toml::from_str(FILE).unwrap()).unwrap_err();
        assert_eq!(missing.known, ["live", "test"]);
        for wrong in [
            "[profiles.a]\ntoken = \"t\"",
            "servers = 1",
            "[profiles.a]\nserver = \"s\"\napp = \"x\"",
        ] {
            assert!(basic_toml::from_str::<ProfileFile>(wrong).is_err(), "{wrong}");
        }
    }
}
