//! The page's style sheet and script, minified, hashed and compressed once.
//!
//! The style is inlined in the page and allowed by its hash; the script is one file named by its
//! hash, so that it can be cached permanently. There is no build step: both are joined from their
//! sources at start, without comments and indentation.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use sluice_engine::EncodedBody;

/// The number of hexadecimal digits of a hash that name a file.
const NAME_DIGITS: usize = 16;

/// In this order: each part uses the parts before it.
const SCRIPT_PARTS: [&str; 10] = [
    include_str!("assets/script/logic.js"),
    include_str!("assets/script/fields.js"),
    include_str!("assets/script/ranking.js"),
    include_str!("assets/script/survey.js"),
    include_str!("assets/script/drafts.js"),
    include_str!("assets/script/history.js"),
    include_str!("assets/script/server.js"),
    include_str!("assets/script/visits.js"),
    include_str!("assets/script/host.js"),
    include_str!("assets/script/page.js"),
];

pub(super) static STYLE: LazyLock<String> =
    LazyLock::new(|| small_style(include_str!("assets/style.css")));

/// The style of images, matrices and rankings, for flows that have one of them, and its hash.
pub(super) static EXTRA_STYLE: LazyLock<(String, String)> = LazyLock::new(|| {
    let style = small_style(include_str!("assets/extra.css"));
    let hash = policy_hash(&style);
    (style, hash)
});

/// The hash of [`STYLE`], in the form that a content security policy uses.
pub(super) static STYLE_HASH: LazyLock<String> = LazyLock::new(|| policy_hash(&STYLE));

pub(super) static SCRIPT: LazyLock<ScriptFile> = LazyLock::new(|| {
    let text: String = SCRIPT_PARTS.map(small_script).concat();
    let name = format!("page-{}.js", name_of(text.as_bytes()));
    ScriptFile { name, served: EncodedBody::new(text.into_bytes()) }
});

/// The script that other pages include. Its name never changes, since it is in their source.
pub(super) const EMBED_NAME: &str = "embed.js";
pub(super) static EMBED: LazyLock<EncodedBody> =
    LazyLock::new(|| EncodedBody::new(small_script(include_str!("assets/embed.js")).into_bytes()));

/// The script, ready to send.
pub(super) struct ScriptFile {
    pub(super) name: String,
    pub(super) served: EncodedBody,
}

/// The beginning of a hash, used in a file name.
pub(super) fn name_of(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    digits[..NAME_DIGITS].to_owned()
}

/// The hash of an inline style, in the form that a content security policy uses.
pub(super) fn policy_hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// A script without comment lines and indentation. No string in our scripts spans lines, and no
/// line of code starts like a comment.
fn small_script(source: &str) -> String {
    let is_comment = |line: &str| {
        line.starts_with("//")
            || line.starts_with("/*")
            || line.starts_with("* ")
            || line == "*/"
            || line == "*"
    };
    let lines = source.lines().map(str::trim).filter(|line| !line.is_empty() && !is_comment(line));
    lines.flat_map(|line| [squeezed(line), "\n".to_owned()]).collect()
}

/// A line of a script without spaces around punctuation outside of quotes. A line with a template,
/// or with a slash that may start a regular expression, stays as it is.
fn squeezed(line: &str) -> String {
    const PUNCTUATION: &str = "=,;{}()?:&|<>";
    if line.contains(['`', '/']) {
        return line.to_owned();
    }
    let is_beside = |it: Option<char>| it.is_some_and(|it| PUNCTUATION.contains(it));
    let (mut small, mut quote) = (String::with_capacity(line.len()), None);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match quote {
            Some(end) => {
                small.push(letter);
                if letter == '\\' {
                    small.extend(letters.next());
                } else if letter == end {
                    quote = None;
                }
            }
            None if letter == ' '
                && (is_beside(small.chars().next_back()) || is_beside(letters.peek().copied())) => {
            }
            None => {
                quote = Some(letter).filter(|it| matches!(it, '"' | '\''));
                small.push(letter);
            }
        }
    }
    small
}

/// A style sheet without comments, and with white space only where it separates words.
fn small_style(source: &str) -> String {
    let mut plain = String::with_capacity(source.len());
    for (index, part) in source.split("/*").enumerate() {
        let after =
            if index == 0 { part } else { part.split_once("*/").map_or("", |(_, after)| after) };
        plain.push_str(after);
    }
    let mut small = String::with_capacity(plain.len());
    for word in plain.split_whitespace() {
        let parts = small.ends_with(['{', '}', ';', ',', ':'])
            || word.starts_with(['{', '}'])
            || small.is_empty();
        if !parts {
            small.push(' ');
        }
        small.push_str(word);
    }
    small.replace(";}", "}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_indentation_are_removed_from_the_script() {
        let source = "// one\n/** two */\nlet a = 1;\n\n  /*\n   * three\n   */\n  f(a); // four\n";
        assert_eq!(small_script(source), "let a=1;\nf(a); // four\n");
        for (line, expected) in [
            ("const { a } = b ? c : d;", "const{a}=b?c:d;"),
            (r#"f("a = b", 'c, "d"', "\" = ") ;"#, r#"f("a = b",'c, "d"',"\" = ");"#),
            ("return a - -b;", "return a - -b;"),
            ("x = `a = ${b}`;", "x = `a = ${b}`;"),
            ("x = y.replace(/a = b/, z);", "x = y.replace(/a = b/, z);"),
        ] {
            assert_eq!(squeezed(line), expected);
        }
    }

    #[test]
    fn comments_and_white_space_are_removed_from_the_style() {
        let source = "/* a */\n:root { --a: 1px 2px;\n  color: red; }\n@media (x) {\n  a b > c, d { e: f; }\n}\n";
        assert_eq!(small_style(source), ":root{--a:1px 2px;color:red}@media (x){a b > c,d{e:f}}");
    }

    #[test]
    fn neither_is_empty_and_the_name_of_the_script_is_its_hash() {
        assert!(STYLE.len() > 1_000 && SCRIPT.served.body.len() > 1_000);
        assert_eq!(SCRIPT.name, format!("page-{}.js", name_of(&SCRIPT.served.body)));
        assert!(SCRIPT.served.gzip.is_some());
    }

    /// The size of the script that other pages include, in bytes before compression.
    const EMBED_BYTES_MAX: usize = 4 * 1024;

    #[test]
    fn the_script_for_other_pages_is_small() {
        let bytes = EMBED.body.len();
        assert!((1_000..EMBED_BYTES_MAX).contains(&bytes), "{bytes} bytes");
    }
}
