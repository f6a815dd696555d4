//! The table of procedures.
//!
//! A procedure is one file in this folder and one line in the table below (with its `mod`). Its
//! file has `call`, which runs it, and `Output`, the data of its reply. All of them are mutations,
//! called by POST. [`judged`] is what the replies of several share.

mod judged;
mod submit;
mod validate;

use serde::{Serialize, Serializer};
use sluice_engine::idempotency::IdempotencyKey;
use sluice_engine::{AppView, Engine, SubmitError};
use sluice_flow::identity::Bearer;

/// The arguments of a procedure.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'c> {
    pub(super) app: &'c AppView,
    /// Absent if the call has none.
    pub(super) input: Option<&'c [u8]>,
    pub(super) key: Option<&'c IdempotencyKey>,
    /// Who the caller is by their token.
    pub(super) bearer: Option<&'c Bearer>,
}

macro_rules! procedures {
    ($($variant:ident = $path:literal in $module:ident;)*) => {
        /// A procedure that clients can call.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Procedure { $($variant,)* }

        /// The output of a procedure.
        #[derive(Debug)]
        pub(super) enum Output { $($variant($module::Output),)* }

        impl Procedure {
            /// The procedure on this path.
            pub(super) fn on_path(path: &str) -> Option<Self> {
                match path {
                    $($path => Some(Self::$variant),)*
                    _ => None,
                }
            }

            pub(super) async fn call(
                self,
                engine: &Engine,
                arguments: Arguments<'_>,
            ) -> Result<Output, SubmitError> {
                match self {
                    $(Self::$variant => $module::call(engine, arguments).await.map(Output::$variant),)*
                }
            }
        }

        impl Output {
            /// Whether nothing was stored because the same call had run before; `None` if unknown.
            pub(super) fn is_replay(&self) -> Option<bool> {
                match self { $(Self::$variant(output) => output.is_replay(),)* }
            }
        }

        impl Serialize for Output {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $(Self::$variant(output) => output.serialize(serializer),)* }
            }
        }
    };
}

procedures! {
    Submit = "response.submit" in submit;
    Validate = "response.validate" in validate;
}
