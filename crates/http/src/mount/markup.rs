//! Adds the path to the addresses in a page.
//!
//! The pages are written by templates that escape `<` in every text, so what looks like a tag is
//! one. Only attributes that hold an address are changed: a value of a field may begin with a
//! slash, too.

/// The attributes that hold an address; those of scripts are listed by name.
const ADDRESSES: &[&str] = &[
    "action",
    "data-count",
    "data-done",
    "data-goes-on",
    "data-images",
    "data-live",
    "data-opened",
    "data-png",
    "data-save",
    "data-uploads",
    "data-visits",
    "formaction",
    "href",
    "src",
    "srcset",
];

/// Elements whose content is not markup.
const RAW: &[&str] = &["script", "style"];

/// Whether an address is a path from the root of this host.
pub(super) fn is_own(address: &str) -> bool {
    address.starts_with('/') && !address.starts_with("//")
}

pub(super) fn with_path(html: &str, path: &str) -> String {
    let mut page = String::with_capacity(html.len() + html.len() / 8);
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        page.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        if !rest.starts_with(|first: char| first.is_ascii_alphabetic()) {
            continue;
        }
        let name = rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let is_raw = RAW.contains(&name);
        rest = copy_tag(rest, path, &mut page);
        if is_raw {
            let end = rest.find(&format!("</{name}")).unwrap_or(rest.len());
            page.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    page.push_str(rest);
    page
}

/// Copies the rest of a tag, from its name on; returns what follows it.
fn copy_tag<'h>(mut rest: &'h str, path: &str, page: &mut String) -> &'h str {
    loop {
        let Some(at) = rest.find(['"', '\'', '>']) else {
            page.push_str(rest);
            return "";
        };
        let (before, found) = (&rest[..at], &rest[at..=at]);
        page.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        if found == ">" {
            return rest;
        }
        if is_own(rest) && holds_address(before) {
            page.push_str(path);
        }
        let end = rest.find(found).map_or(rest.len(), |end| end + 1);
        page.push_str(&rest[..end]);
        rest = &rest[end..];
    }
}

/// Whether the text before a value ends with the name of such an attribute.
fn holds_address(before: &str) -> bool {
    let Some(names) = before.strip_suffix('=') else { return false };
    let name = names.rsplit(|c: char| c.is_ascii_whitespace()).next().unwrap_or_default();
    ADDRESSES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_attributes_get_the_path_and_nothing_else_does() {
        for (html, expected) in [
            (r#"<a href="/console">x</a>"#, r#"<a href="/p/console">x</a>"#),
            (r#"<a class="b" href="/">x</a>"#, r#"<a class="b" href="/p/">x</a>"#),
            (
                r#"<form method="post" action="/r/x?y=1">"#,
                r#"<form method="post" action="/p/r/x?y=1">"#,
            ),
            (r#"<img src='/a/1' alt="/a/1">"#, r#"<img src='/p/a/1' alt="/a/1">"#),
            (r#"<div data-live="/l" data-x="/l">"#, r#"<div data-live="/p/l" data-x="/l">"#),
            (r#"<input value="/console">"#, r#"<input value="/console">"#),
            (r#"<a href="//x.example">"#, r#"<a href="//x.example">"#),
            (r#"<a href="https://x.example/f">"#, r#"<a href="https://x.example/f">"#),
            (r##"<a href="#top">"##, r##"<a href="#top">"##),
            (r#"<a href="?a=/f">"#, r#"<a href="?a=/f">"#),
            (r#"<a title="a > b" href="/f">"#, r#"<a title="a > b" href="/p/f">"#),
            (r#"&lt;a href="/f"&gt;"#, r#"&lt;a href="/f"&gt;"#),
            (r#"a < b href="/f""#, r#"a < b href="/f""#),
            (
                r#"<style>a[href="/f"]{}</style><a href="/f">"#,
                r#"<style>a[href="/f"]{}</style><a href="/p/f">"#,
            ),
            (
                r#"<script src="/s">"<a href="/f">"</script>"#,
                r#"<script src="/p/s">"<a href="/f">"</script>"#,
            ),
            ("<!DOCTYPE html><html>", "<!DOCTYPE html><html>"),
            (r#"<a href="/f"#, r#"<a href="/p/f"#),
            ("<a", "<a"),
            ("", ""),
        ] {
            assert_eq!(with_path(html, "/p"), expected, "{html}");
        }
    }
}
