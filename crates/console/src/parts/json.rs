//! JSON on several lines, with its members in the order in which they are sent.

/// Adds line breaks and indents to JSON without any. Everything else stays as it is.
pub(in super::super) fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if in_string {
            out.push(letter);
            in_string = is_escaped || letter != '"';
            is_escaped = letter == '\\' && !is_escaped;
            continue;
        }
        match letter {
            '"' => in_string = true,
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                if !out.ends_with(['{', '[']) {
                    break_line(&mut out, depth);
                }
            }
            _ => {}
        }
        out.push(letter);
        match letter {
            '{' | '[' => {
                depth += 1;
                if !matches!(letters.peek(), Some('}' | ']')) {
                    break_line(&mut out, depth);
                }
            }
            ',' => break_line(&mut out, depth),
            ':' => out.push(' '),
            _ => {}
        }
    }
    out
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_strings_their_content() {
        let text = r#"{"z":[1,{"a":"x: {\"y\", [\\"}],"b":{},"c":[],"a":null}"#;
        let expected = r#"{
  "z": [
    1,
    {
      "a": "x: {\"y\", [\\"
    }
  ],
  "b": {},
  "c": [],
  "a": null
}"#;
        assert_eq!(json(text), expected);
    }
}
