//! Text in a drawing: its width, and where it is wrapped or cut.
//!
//! SVG does not wrap lines, and the server has no fonts; widths are estimated generously. The table
//! of the chart has every text in full.

/// Makes a text valid in XML: no control characters; line breaks become spaces.
pub(super) fn clean(text: &str) -> String {
    let allowed = |character: char| match character {
        '\u{fffe}' | '\u{ffff}' => None,
        // Bidirectional controls, which would affect the text that follows.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => None,
        character if character.is_control() => Some(' '),
        character => Some(character),
    };
    text.chars().filter_map(allowed).collect()
}

/// The width of a text in pixels at this font size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// The width of a character relative to the font size.
fn em(character: char) -> f64 {
    match character {
        character if continues(character) => 0.0,
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.3,
        ' ' | 'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' | '"' => 0.38,
        'm' | 'w' => 0.86,
        'M' | 'W' | '@' | '%' | '—' | '…' => 0.95,
        'A'..='Z' => 0.69,
        '\u{0000}'..='\u{05ff}' => 0.57,
        // Joined Arabic letters are narrow.
        '\u{0600}'..='\u{07ff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' => 0.55,
        '\u{0800}'..='\u{10ff}' => 0.72,
        '\u{2000}'..='\u{206f}' => 0.5,
        // Han, kana, hangul, emoji.
        _ => 1.05,
    }
}

/// Whether it belongs to the preceding character, and must not be separated from it.
fn continues(character: char) -> bool {
    matches!(character,
        '\u{0300}'..='\u{036f}' | '\u{0591}'..='\u{05c7}' | '\u{0610}'..='\u{061a}' | '\u{064b}'..='\u{065f}'
        | '\u{093a}'..='\u{094d}' | '\u{0e31}' | '\u{0e34}'..='\u{0e4e}' | '\u{200b}'..='\u{200f}' | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0020}'..='\u{e007f}')
}

/// A text wrapped to at most `most` lines of this width; the last ends in … if it was cut.
pub(super) fn lines(text: &str, size: f64, room: f64, most: usize) -> Vec<String> {
    let text = clean(text);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let parted = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if width(&parted, size) <= room {
            line = parted;
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        line = broken(word, size, room, &mut lines);
        if lines.len() > most {
            break;
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = ended(last, size, room);
        }
    }
    lines
}

/// A text cut to one line of this width.
pub(super) fn cut(text: &str, size: f64, room: f64) -> String {
    lines(text, size, room, 1).concat()
}

/// Breaks a word that may be longer than a line: adds full lines to `lines`, and returns the rest.
fn broken(word: &str, size: f64, room: f64, lines: &mut Vec<String>) -> String {
    let mut line = String::new();
    let mut joined = false;
    for character in word.chars() {
        // A joiner also binds the character after it.
        let parts = !continues(character) && character != '\u{200d}' && !joined;
        joined = character == '\u{200d}';
        if parts && !line.is_empty() && width(&line, size) + em(character) * size > room {
            lines.push(std::mem::take(&mut line));
        }
        line.push(character);
    }
    line
}

/// A line that ends in …, shortened to make room for it.
fn ended(line: &str, size: f64, room: f64) -> String {
    let mut kept = line.to_owned();
    while !kept.is_empty() && width(&kept, size) + em('…') * size > room {
        let mut last = kept.pop();
        while last.is_some_and(continues) {
            last = kept.pop();
        }
    }
    format!("{}…", kept.trim_end_matches([' ', '\u{200d}']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, room: f64, most: usize, expected: &[&str]) {
        let found = lines(text, 10.0, room, most);
        assert_eq!(found, expected, "{text:?}");
        assert!(
            found.iter().all(|line| width(line, 10.0) <= room),
            "{found:?} is wider than {room}"
        );
    }

    #[test]
    fn texts_wrap_between_words_and_are_cut_at_the_last_line() {
        check("", 100.0, 2, &[""]);
        check("short", 100.0, 2, &["short"]);
        check("one two three four", 60.0, 3, &["one two", "three four"]);
        check("one two three four five six seven eight", 60.0, 2, &["one two", "three four…"]);
        check("line\nend\tand\u{0}control", 400.0, 2, &["line end and control"]);
    }

    #[test]
    fn a_word_longer_than_a_line_is_broken() {
        check("aaaaaaaaaaaaaaaa", 58.0, 2, &["aaaaaaaaaa", "aaaaaa"]);
        check("aaaaaaaaaaaaaaaa", 58.0, 1, &["aaaaaaaa…"]);
    }

    #[test]
    fn characters_are_not_separated_from_their_marks() {
        let family = "👩\u{200d}👩\u{200d}👧 👩\u{200d}👩\u{200d}👧";
        for line in lines(family, 10.0, 24.0, 4) {
            assert!(!line.starts_with('\u{200d}') && !line.ends_with('\u{200d}'), "{line:?}");
        }
        for line in lines("e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}", 10.0, 14.0, 2) {
            assert!(!line.starts_with('\u{301}'), "{line:?}");
        }
    }

    #[test]
    fn invalid_xml_characters_and_bidi_controls_are_removed() {
        assert_eq!(clean("a\u{1}b\u{202e}c\u{ffff}d\r\n"), "a bcd  ");
    }
}
