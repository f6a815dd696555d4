//! One Markdown file as the text of a page, and its sections for the search.
//!
//! Links between the files become links between pages; links to other files of the repository,
//! which the server does not have, become plain text.

use std::collections::HashMap;

use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::pages::{self, Source};

/// A heading and the text below it, up to the next heading.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    /// Empty for the text below the title.
    pub(crate) anchor: String,
    pub(crate) heading: String,
    pub(crate) text: String,
    pub(crate) level: u8,
}

/// A page, rendered.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) source: &'static Source,
    pub(crate) text: Markup,
    pub(crate) sections: Vec<Section>,
}

impl Page {
    pub(crate) fn new(source: &'static Source) -> Self {
        let events = anchored(parsed(source.markdown));
        let sections = sections(&events);
        let mut text = String::new();
        pulldown_cmark::html::push_html(&mut text, with_links(&events, source).into_iter());
        Self { source, text: framed_tables(&text), sections }
    }

    /// The headings below the title, for the contents of the page.
    pub(crate) fn contents(&self) -> Markup {
        html! {
            ul {
                @for section in self.sections.iter().filter(|section| section.level == 2) {
                    li { a href={ "#" (section.anchor) } { (section.heading) } }
                }
            }
        }
    }
}

fn parsed(markdown: &str) -> Vec<Event<'_>> {
    Parser::new_ext(markdown, Options::ENABLE_TABLES)
        .filter(|event| !matches!(event, Event::Html(text) if text.starts_with("<!--")))
        // No page needs HTML but for keys; what looks like it is text.
        .map(|event| match event {
            Event::InlineHtml(text) if is_key(&text) => Event::InlineHtml(text),
            Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
            other => other,
        })
        .collect()
}

/// Whether this is the tag of a key on the keyboard.
pub(crate) fn is_key(tag: &str) -> bool {
    matches!(tag, "<kbd>" | "</kbd>")
}

/// A wide table scrolls in a separate frame, so that the page does not.
fn framed_tables(text: &str) -> Markup {
    let framed = text
        .replace("<table>", "<div class=\"table\" tabindex=\"0\"><table>")
        .replace("</table>", "</table></div>")
        // A column that needs no heading.
        .replace("<th></th>", "<td></td>");
    PreEscaped(framed)
}

/// Gives each heading the id that a repository's viewer gives it, so that links work in both.
fn anchored(events: Vec<Event<'_>>) -> Vec<Event<'_>> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let anchors: Vec<Option<String>> = (0..events.len())
        .map(|start| {
            matches!(events[start], Event::Start(Tag::Heading { .. })).then(|| {
                let name = anchor(&plain(&events[start + 1..]));
                let times = seen.entry(name.clone()).or_default();
                *times += 1;
                if *times == 1 { name } else { format!("{name}-{}", *times - 1) }
            })
        })
        .collect();
    events
        .into_iter()
        .zip(anchors)
        .map(|(event, anchor)| match (event, anchor) {
            (Event::Start(Tag::Heading { level, classes, attrs, .. }), Some(anchor)) => {
                let id = (level != HeadingLevel::H1).then(|| CowStr::from(anchor));
                Event::Start(Tag::Heading { level, id, classes, attrs })
            }
            (event, _) => event,
        })
        .collect()
}

/// Lower case, words joined by hyphens, punctuation left out.
fn anchor(heading: &str) -> String {
    heading
        .chars()
        .filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'))
        .map(|it| if it == ' ' { '-' } else { it })
        .flat_map(char::to_lowercase)
        .collect()
}

/// The text up to the end of the heading.
fn plain(events: &[Event<'_>]) -> String {
    events
        .iter()
        .take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))))
        .filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
            Event::SoftBreak => Some(" "),
            _ => None,
        })
        .collect()
}

fn sections(events: &[Event<'_>]) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut section = Section::default();
    let mut in_heading = false;
    for event in events {
        match event {
            Event::Start(Tag::Heading { level, id, .. }) => {
                sections.push(std::mem::take(&mut section));
                section.level = *level as u8;
                section.anchor = id.as_deref().unwrap_or_default().to_owned();
                in_heading = true;
            }
            Event::End(TagEnd::Heading(_)) => in_heading = false,
            Event::Text(text) | Event::Code(text) if in_heading => section.heading.push_str(text),
            Event::Text(text) | Event::Code(text) => section.text.push_str(text),
            Event::SoftBreak | Event::HardBreak | Event::End(_) => section.text.push(' '),
            _ => {}
        }
    }
    sections.push(section);
    sections.retain(|it| !it.heading.is_empty() || !it.text.trim().is_empty());
    sections
}

/// Links by address, and code blocks with the name of their language.
fn with_links<'a>(events: &[Event<'a>], source: &Source) -> Vec<Event<'a>> {
    let mut linked = Vec::with_capacity(events.len());
    let mut is_text = false;
    for event in events {
        match event {
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                if let Some(address) = address(source, dest_url) {
                    linked.push(Event::Start(Tag::Link {
                        link_type: *link_type,
                        dest_url: address.into(),
                        title: title.clone(),
                        id: id.clone(),
                    }));
                } else {
                    is_text = true;
                }
            }
            Event::End(TagEnd::Link) if is_text => is_text = false,
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                linked.push(Event::Start(Tag::Image {
                    link_type: *link_type,
                    dest_url: format!("/docs/{dest_url}").into(),
                    title: title.clone(),
                    id: id.clone(),
                }));
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                let start = format!(
                    "<div class=\"code\" data-language=\"{language}\">\
                     <pre data-language=\"{language}\" tabindex=\"0\"><code>"
                );
                linked.push(Event::Html(start.into()));
            }
            Event::End(TagEnd::CodeBlock) => {
                linked.push(Event::Html("</code></pre></div>\n".into()))
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => {
                linked.push(Event::Html("<div class=\"code\"><pre tabindex=\"0\"><code>".into()));
            }
            other => linked.push(other.clone()),
        }
    }
    linked
}

/// Where a link of a file leads on the site; none if its target is not on it.
pub(crate) fn address(source: &Source, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with('#') || target.starts_with("mailto:") {
        return Some(target.to_owned());
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = joined(source.path, file);
    let page = pages::all().find(|page| page.path == path)?;
    Some(if anchor.is_empty() { page.address() } else { format!("{}#{anchor}", page.address()) })
}

/// The path from the folder `docs` of a file that is given from the folder of `from`.
fn joined(from: &str, file: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match (part, parts.last()) {
            ("..", Some(last)) if *last != ".." => _ = parts.pop(),
            (".", _) => {}
            _ => parts.push(part),
        }
    }
    // From outside, the folder itself is entered by its name.
    parts.join("/").replace("../docs/", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: Source = Source {
        slug: "x",
        path: "x.md",
        markdown: "# X & Y\nHello <b>you</b>.\n\n## What `a` does, exactly?\nSee [flows](flows.md#logic), \
                   [code](../bench/run) and [the web](https://example.org/).\n\n\
                   ```sh\necho '<1>'\n```\n\n## Again\n\n## Again\n| a |\n|---|\n| b |\n",
    };

    #[test]
    fn a_page_has_links_between_pages_and_no_html_of_its_own() {
        let page = Page::new(&SOURCE);
        let text = page.text.into_string();
        assert!(text.contains("<a href=\"/docs/flows#logic\">flows</a>"), "{text}");
        assert!(text.contains(" code and"), "{text}");
        assert!(text.contains("<a href=\"https://example.org/\">the web</a>"), "{text}");
        assert!(text.contains("Hello &lt;b&gt;you&lt;/b&gt;."), "{text}");
        let code = "<pre data-language=\"sh\" tabindex=\"0\"><code>echo '&lt;1&gt;'\n</code></pre>";
        assert!(text.contains(code), "{text}");
        assert!(text.contains("<div class=\"table\" tabindex=\"0\"><table>"), "{text}");
    }

    #[test]
    fn headings_have_the_ids_of_a_repository_viewer() {
        let page = Page::new(&SOURCE);
        let anchors: Vec<_> = page.sections.iter().map(|it| it.anchor.as_str()).collect();
        assert_eq!(anchors, ["", "what-a-does-exactly", "again", "again-1"]);
        assert!(page.text.into_string().contains("<h2 id=\"again-1\">"));
        assert_eq!(page.sections[1].heading, "What a does, exactly?");
    }

    #[test]
    fn paths_are_joined_from_the_folder_of_the_file() {
        let cases = [
            ("x.md", "flows.md", "flows.md"),
            ("import/odk.md", "../flows.md", "flows.md"),
            ("x.md", "../sdk/python/README.md", "../sdk/python/README.md"),
            ("../sdk/python/README.md", "../../docs/api.md", "api.md"),
            ("../sdk/python/README.md", "../typescript/README.md", "../sdk/typescript/README.md"),
        ];
        for (from, file, expected) in cases {
            assert_eq!(joined(from, file), expected, "{from} {file}");
        }
    }
}
