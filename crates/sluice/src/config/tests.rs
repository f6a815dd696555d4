//! The rules of the settings, without files or an environment; the binary's tests cover those.

use super::*;

fn settings(given: ServeArgs, file: &str) -> Result<Settings, Failure> {
    Settings::resolve(given, from_toml(file).unwrap(), None, None)
}

#[test]
fn defaults_apply_if_nothing_is_given() {
    let settings = settings(ServeArgs::default(), "").unwrap();
    assert_eq!(settings.listen, "127.0.0.1:8080");
    assert_eq!(settings.store, StoreAddress::Sqlite("sluice-data/sluice.db".into()));
    assert!(settings.demo);
    assert_eq!((settings.body_bytes_max, settings.connections_max), (1_048_576, 20_000));
    assert_eq!((settings.connections_per_address_max, settings.metrics_listen), (1_000, None));
    assert_eq!(settings.drain_timeout, Duration::from_secs(30));
    assert_eq!((settings.rates, settings.rate_per_address), (Rates::default(), 500));
    assert_eq!(settings.bytes_per_address, 262_144);
    assert_eq!(settings.disk_reserve, None);
    assert_eq!((settings.log.as_str(), settings.log_format), ("warn,sluice=info", LogFormat::Text));
}

#[test]
fn every_setting_can_be_in_the_file_and_flags_win() {
    let file = "listen = \"[::1]:1\"\ndata = \"/file\"\nno-demo = true\nbody-limit = 2048\n\
                max-connections-per-address = 3\nmetrics-listen = \"127.0.0.1:9\"\n\
                max-connections = 7\ndrain-timeout = 8\nlog = \"warn\"\nlog-format = \"json\"\n";
    let from_file = settings(ServeArgs::default(), file).unwrap();
    assert_eq!(from_file.listen, "[::1]:1");
    assert_eq!(from_file.store, StoreAddress::Sqlite("/file/sluice.db".into()));
    assert!(!from_file.demo);
    assert_eq!((from_file.body_bytes_max, from_file.connections_max), (2048, 7));
    assert_eq!(from_file.connections_per_address_max, 3);
    assert_eq!(from_file.metrics_listen.as_deref(), Some("127.0.0.1:9"));
    assert_eq!(from_file.drain_timeout, Duration::from_secs(8));
    assert_eq!((from_file.log.as_str(), from_file.log_format), ("warn", LogFormat::Json));
    let given = ServeArgs {
        listen: Some("127.0.0.1:2".into()),
        store: Some("sqlite:/flag.db".into()),
        no_demo: Some(false),
        body_limit: Some(4096),
        max_connections: Some(9),
        drain_timeout: Some(0),
        log: Some("debug".into()),
        log_format: Some(LogFormat::Text),
        ..ServeArgs::default()
    };
    let both = settings(given, file).unwrap();
    assert_eq!(both.listen, "127.0.0.1:2");
    assert_eq!(both.store, StoreAddress::Sqlite("/flag.db".into()));
    assert!(both.demo);
    assert_eq!((both.body_bytes_max, both.connections_max), (4096, 9));
    assert_eq!(both.drain_timeout, Duration::ZERO);
    assert_eq!((both.log.as_str(), both.log_format), ("debug", LogFormat::Text));
}

#[test]
fn limits_come_from_flag_or_file_and_zero_is_none() {
    let file = "rate-per-app = 0\nrate-per-address = 0\nbytes-per-address = 0\ndaily-bytes-per-app = 0\ndisk-reserve = 0\n";
    let none = settings(ServeArgs::default(), file).unwrap();
    assert_eq!(none.rates, Rates { calls: None, bytes_per_day: None });
    assert_eq!((none.rate_per_address, none.disk_reserve), (0, Some(0)));
    assert_eq!(none.bytes_per_address, 0);
    let given = ServeArgs {
        rate_per_app: Some(7),
        rate_per_address: Some(8),
        bytes_per_address: Some(11),
        daily_bytes_per_app: Some(9),
        disk_reserve: Some(10),
        ..ServeArgs::default()
    };
    let some = settings(given, file).unwrap();
    let calls = sluice_engine::rate::per_second(7);
    assert_eq!(some.rates, Rates { calls, bytes_per_day: Some(9) });
    assert_eq!((some.rate_per_address, some.disk_reserve), (8, Some(10)));
    assert_eq!(some.bytes_per_address, 11);
    let refused = settings(ServeArgs::default(), &format!("{PG_STORE}disk-reserve = 1\n"));
    assert!(refused.unwrap_err().to_string().contains("--disk-reserve"));
}

#[test]
fn a_metrics_token_that_is_too_short_or_not_sendable_is_refused() {
    for (token, fits) in [
        ("0123456789abcdef", true),
        ("0123456789abcde", false),
        ("0123456789 abcdef", false),
        ("0123456789abcdeü", false),
    ] {
        assert_eq!(metrics_token(token.to_owned()).is_ok(), fits, "{token}");
    }
}

/// A store for which the PostgreSQL settings apply.
const PG_STORE: &str = "store = \"postgres://u@h/d\"\n";

#[test]
fn the_settings_of_postgresql_come_from_flag_file_or_default() {
    let defaults = settings(ServeArgs::default(), PG_STORE).unwrap().tuning;
    assert_eq!(defaults, Tuning::default());
    let file = format!(
        "{PG_STORE}pg-connections = 30\npg-write-lanes = 7\npg-connect-timeout = 2\n\
         pg-statement-timeout = 3\npg-commit-timeout = 4\npg-listen = false\n"
    );
    let seconds = Duration::from_secs;
    let from_file = Tuning {
        connections: 30,
        write_lanes: 7,
        connect_timeout: seconds(2),
        statement_timeout: seconds(3),
        commit_timeout: seconds(4),
        listen: false,
    };
    assert_eq!(settings(ServeArgs::default(), &file).unwrap().tuning, from_file);
    let given = ServeArgs {
        pg_connections: Some(8),
        pg_write_lanes: Some(1),
        pg_connect_timeout: Some(20),
        pg_statement_timeout: Some(20),
        pg_commit_timeout: Some(10),
        pg_listen: Some(true),
        ..ServeArgs::default()
    };
    let from_flags = Tuning {
        connections: 8,
        write_lanes: 1,
        connect_timeout: seconds(20),
        statement_timeout: seconds(20),
        commit_timeout: seconds(10),
        listen: true,
    };
    assert_eq!(settings(given, &file).unwrap().tuning, from_flags);
    let few = ServeArgs { pg_connections: Some(3), ..ServeArgs::default() };
    assert_eq!(settings(few, PG_STORE).unwrap().tuning.write_lanes, 2, "one is left for reads");
}

#[test]
fn an_invalid_postgresql_setting_is_a_usage_error() {
    for (file, what) in [
        ("pg-connections = 1", "pg-connections is out of range: 1 connections"),
        ("pg-connections = 1001", "pg-connections is out of range"),
        ("pg-write-lanes = 0", "pg-write-lanes is out of range"),
        ("pg-write-lanes = 16", "leave no connection of 16 for reads"),
        ("pg-connect-timeout = 0", "pg-connect-timeout is out of range"),
        ("pg-statement-timeout = 21", "pg-statement-timeout is out of range"),
        ("pg-commit-timeout = 11", "pg-commit-timeout is out of range"),
    ] {
        let failure = settings(ServeArgs::default(), &format!("{PG_STORE}{file}")).unwrap_err();
        assert_eq!(failure.exit, crate::failure::Exit::Usage);
        assert!(failure.to_string().contains(what), "{failure}");
    }
    for file in ["pg-connections = 9", "pg-commit-timeout = 9", "pg-listen = true"] {
        let failure = settings(ServeArgs::default(), file).unwrap_err();
        assert!(failure.to_string().contains("stores in SQLite"), "{failure}");
        assert_eq!(failure.exit, crate::failure::Exit::Usage);
    }
}

#[test]
fn an_unknown_key_is_named_with_the_likely_one() {
    for (file, what, remedy) in [
        ("lisen = \"x\"", "there is no setting \"lisen\"", "did you mean listen?"),
        ("no_demo = true", "there is no setting \"no_demo\"", "did you mean no-demo?"),
        ("bodylimit = 1", "there is no setting \"bodylimit\"", "did you mean body-limit?"),
        ("log_formt = \"json\"", "there is no setting \"log_formt\"", "did you mean log-format?"),
        ("colour = 1", "there is no setting \"colour\"", "the settings are listen, data"),
        ("config = \"x\"", "there is no setting \"config\"", "the settings are listen, data"),
        ("\nbody-limit = \"big\"", "line 2: invalid type", "the settings are"),
        ("listen = ", "line 1: ", "the settings are"),
    ] {
        let (message, found_remedy) = from_toml(file).unwrap_err();
        assert!(message.starts_with(what), "{file}: {message}");
        assert!(found_remedy.starts_with(remedy), "{file}: {found_remedy}");
    }
}

#[test]
fn an_invalid_value_is_a_usage_error() {
    let listen = |text: &str| ServeArgs { listen: Some(text.into()), ..ServeArgs::default() };
    let store = |text: &str| ServeArgs { store: Some(text.into()), ..ServeArgs::default() };
    let body = |bytes| ServeArgs { body_limit: Some(bytes), ..ServeArgs::default() };
    for (given, what) in [
        (listen("8080"), "not ADDRESS:PORT"),
        (listen(":8080"), "not ADDRESS:PORT"),
        (listen("localhost:99999"), "not ADDRESS:PORT"),
        (store("sqlite:"), "not recognised"),
        (store("mysql://user:password@host"), "not recognised"),
        (body(0), "out of range"),
        (body(1 << 40), "out of range"),
    ] {
        let failure = settings(given, "").unwrap_err();
        assert_eq!(failure.exit, crate::failure::Exit::Usage);
        assert!(failure.to_string().contains(what), "{failure}");
        assert!(!failure.to_string().contains("password"), "{failure}");
    }
}

#[test]
fn an_admin_token_is_long_enough_hard_to_guess_and_fits_a_header() {
    const GOOD: &str = "q7Zt0vX2mPaW9cLkR4sYd8HfUj3NbEg=";
    let resolve = |token: &str| {
        Settings::resolve(ServeArgs::default(), ServeArgs::default(), Some(token.to_owned()), None)
    };
    for token in [
        GOOD,
        "9f86d081884c7d659a2feaa0c55ad015",
        "a few-words.that,nobody;guesses!".replace(' ', "_").as_str(),
    ] {
        assert!(resolve(token).unwrap().admin_token.is_some(), "{token}");
    }
    for (token, what) in [
        ("q7Zt0vX2mPaW9cLkR4sYd", "too short"),
        ("q7Zt0vX2mPaW9cLk R4sYd8HfUj3NbEg", "header"),
        ("é", "header"),
        ("abababababcacacacacbcbcbcbcabababcc", "too few different characters"),
        ("q7Zt0vX2mPaW9cLkq7Zt0vX2mPaW9cLk", "repeats itself"),
        ("q7Zt0vX2mPaW9cLkq7Zt0vX2mPaW9cLkq7Z", "repeats itself"),
        ("abcdefghijklmnopqrstuvwxyz01234567", "a sequence"),
    ] {
        let failure = resolve(token).unwrap_err().to_string();
        assert!(failure.contains("openssl rand -base64 32"), "{failure}");
        assert!(failure.contains(what) && !failure.contains(token), "{failure}");
    }
    let shown = format!("{:?}", resolve(GOOD).unwrap());
    assert!(!shown.contains(GOOD));
}
