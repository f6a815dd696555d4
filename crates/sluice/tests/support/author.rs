//! A person or script at work: a server, a folder with files, and commands that use both.

use std::process::{Command, Output};

use serde_json::Value;

use super::{Server, sluice, text};

pub(crate) struct Author {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) server: Server,
    pub(crate) token: String,
}

impl Author {
    /// With a server on the store that the tests run on.
    pub(crate) fn new() -> Self {
        Self::with(Server::on_test_store)
    }

    pub(crate) fn with(start: impl FnOnce(&std::path::Path) -> Server) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = start(folder.path());
        let token = server.token().unwrap();
        Self { folder, server, token }
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        std::fs::write(self.folder.path().join(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = sluice();
        command.current_dir(self.folder.path()).args(arguments);
        command.env("SLUICE_SERVER", &self.server.base).env("SLUICE_TOKEN", &self.token);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command and checks its exit code.
    #[track_caller]
    pub(crate) fn ends(&self, code: i32, arguments: &[&str]) -> Output {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
        output
    }

    /// What a command prints that ends with this exit code.
    #[track_caller]
    pub(crate) fn prints(&self, code: i32, arguments: &[&str]) -> String {
        text(&self.ends(code, arguments).stdout)
    }

    /// What a command prints that succeeds.
    #[track_caller]
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        self.prints(0, arguments)
    }

    pub(crate) async fn flow(&self, key: &str) -> Value {
        let apps = self.server.admin(&self.token, "/apps").await.1;
        let app = apps["items"][0]["appId"].as_str().unwrap();
        let path = format!("/apps/{app}/flows?key={key}");
        self.server.admin(&self.token, &path).await.1["items"][0].clone()
    }

    /// Saves a draft in the flow with this key, as the console does.
    pub(crate) async fn put_draft(&self, key: &str, definition: &Value) {
        let flow = self.flow(key).await;
        let id = flow["flowId"].as_str().unwrap();
        let url = format!("{}/api/admin/v1/flows/{id}/draft", self.server.base);
        let request = self.server.http.put(url).bearer_auth(&self.token).json(definition);
        assert!(request.send().await.unwrap().status().is_success());
    }
}
