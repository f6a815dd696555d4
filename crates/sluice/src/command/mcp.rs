//! `sluice mcp`. The command exists in every build, so that the help does not depend on how the
//! binary was compiled; one without the feature `mcp` refuses it.

use crate::args::McpArgs;
use crate::failure::Outcome;

#[cfg(feature = "mcp")]
pub(crate) async fn run(args: McpArgs) -> Outcome {
    crate::mcp::run(args).await
}

#[cfg(not(feature = "mcp"))]
pub(crate) async fn run(args: McpArgs) -> Outcome {
    let McpArgs { read_only: _, server: _ } = args;
    Err(crate::failure::Failure::usage(
        "this build cannot serve assistants",
        "build it with: cargo build --release --features mcp; or use the released packages",
    ))
}

#[cfg(all(test, not(feature = "mcp")))]
mod tests {
    use super::*;
    use crate::args::ServerArgs;

    #[tokio::test]
    async fn a_build_without_mcp_names_the_feature() {
        let server = ServerArgs { server: None, token: None, profile: None };
        let failure = run(McpArgs { read_only: false, server }).await.unwrap_err().to_string();
        assert!(failure.contains("--features mcp"), "{failure}");
    }
}
