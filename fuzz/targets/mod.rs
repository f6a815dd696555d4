//! The fuzz targets: any bytes through a parser of the service, with a property that must hold.
//!
//! A target is one file in this folder and one line in the table below. `fuzz/run` runs it under
//! libFuzzer. The unit tests of the binary run the same functions on the seeds and on every input
//! that was once found (`fuzz/regressions`), so a fixed fault stays fixed without a fuzzer.
//!
//! A target panics if its property does not hold. "It does not panic" is never the whole property.

mod site;

/// A target: its name, and what it does with an input.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&[u8]),
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(mod $name;)*

        /// Every target.
        pub(crate) const TARGETS: &[Target] =
            &[$(Target { name: stringify!($name), run: $name::run }),*];
    };
}

targets! {
    submission
    control
    trpc
    token
    definition
    flow_file
    import_definition
    import_responses
    invitation_file
    hosted_link
    hosted_form
    admin_query
    answer_filter
    visit
    headers
    values
    markdown
    image
    multipart
}

impl Target {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }
}

#[cfg(test)]
mod replay;
