//! `sluice mail test`.

use serde_json::json;

use crate::args::MailTestArgs;
use crate::client::Server;
use crate::failure::{Exit, Failure, Outcome};
use crate::output;

pub(crate) async fn test(args: MailTestArgs) -> Outcome {
    let server = Server::new(args.server)?;
    let tested = server.post("/mail-test", Some(&json!({"address": args.address}))).await?;
    if let Some(reason) = tested["reason"].as_str() {
        return Err(Failure::new(reason, "check smtp-url, mail-from and SLUICE_SMTP_PASSWORD"));
    }
    output::note("the mail server accepted it; look at the inbox, and at spam");
    Ok(Exit::Done)
}
