//! Shared by the tests of the backends: a server, direct SQL access to it, rows, certificates.

pub(crate) mod citus;
pub(crate) mod cluster;
pub(crate) mod rows;

use std::path::Path;
use std::process::Command;

use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use cluster::run;
pub(crate) use cluster::{Cluster, USER};

impl Cluster {
    /// Creates an empty database and returns its name.
    pub(crate) async fn database(&self) -> String {
        let name = self.next_name();
        self.sql("postgres", &format!("CREATE DATABASE {name}")).await;
        name
    }

    pub(crate) async fn client(&self, database: &str) -> Client {
        let (client, connection) =
            tokio_postgres::connect(&self.socket_url(database), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// Runs statements and returns the first column of every row.
    pub(crate) async fn sql(&self, database: &str, sql: &str) -> Vec<String> {
        let rows = self.client(database).await.simple_query(sql).await.unwrap();
        let first = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
            _ => None,
        };
        rows.iter().filter_map(first).collect()
    }
}

/// A certificate authority and a certificate for 127.0.0.1, as PEM: issuer, certificate, key.
pub(crate) fn certificates(folder: &Path) -> [String; 3] {
    let file = |name: &str| folder.join(name).display().to_string();
    std::fs::write(file("names"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n").unwrap();
    let openssl = |arguments: &str| {
        run(Command::new("openssl").current_dir(folder).args(arguments.split_whitespace()));
    };
    openssl(
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca -keyout ca.key -out ca.pem",
    );
    openssl("req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr");
    openssl(
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem",
    );
    ["ca.pem", "server.pem", "server.key"].map(|name| std::fs::read_to_string(file(name)).unwrap())
}
