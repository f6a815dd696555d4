//! Forms with a file (`multipart/form-data`, RFC 7578), as browsers send them without a script.
//!
//! The body is read before, within its limit, so nothing here is streamed, and the file is a part
//! of that body. Deliberately absent: nested parts and encodings, which no browser sends.

/// What the boundaries and headers around a file may need, in bytes.
pub const OVERHEAD_BYTES_MAX: usize = 4 * 1024;

/// The length of a boundary, in bytes.
const BOUNDARY_BYTES_MAX: usize = 70;
const LINE_END: &[u8] = b"\r\n";

/// The content of the first field with this name. None if the body is not such a form, was cut off,
/// or does not have the field.
pub fn field<'b>(content_type: &str, body: &'b [u8], name: &str) -> Option<&'b [u8]> {
    let delimiter = [b"--", boundary(content_type)?.as_bytes()].concat();
    let end = [LINE_END, &delimiter].concat();
    let mut at = delimiter.len();
    if !body.starts_with(&delimiter) {
        // There may be a text before the first part.
        at = find(body, &end)? + end.len();
    }
    // After a boundary: `--` at the end of the form, otherwise a part.
    while body.get(at..)?.starts_with(LINE_END) {
        // Without headers, the empty line follows at once.
        let head_end = at + find(&body[at..], b"\r\n\r\n")?;
        let content = head_end + 2 * LINE_END.len();
        let content_end = content + find(body.get(content..)?, &end)?;
        if is_named(&body[at..head_end], name) {
            return body.get(content..content_end);
        }
        at = content_end + end.len();
    }
    None
}

fn boundary(content_type: &str) -> Option<String> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parameter(parameters, "boundary")?;
    (1..=BOUNDARY_BYTES_MAX).contains(&boundary.len()).then_some(boundary)
}

/// Whether the headers of a part name this field.
fn is_named(head: &[u8], name: &str) -> bool {
    let head = String::from_utf8_lossy(head);
    let dispositions = head.split("\r\n").filter_map(|line| {
        let (header, value) = line.split_once(':')?;
        header.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
    });
    let mut names = dispositions.filter_map(|it| parameter(it.split_once(';')?.1, "name"));
    names.next().as_deref() == Some(name)
}

/// The value of `name=value` or `name="value"` among parameters that are separated by semicolons.
fn parameter(parameters: &str, name: &str) -> Option<String> {
    let mut rest = parameters;
    loop {
        let (key, after) = rest.split_once('=')?;
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_at(after.find(';').unwrap_or(after.len())),
        };
        if key.trim().eq_ignore_ascii_case(name) {
            return Some(value.trim().to_owned());
        }
        rest = next.split_once(';')?.1;
    }
}

/// Where the part first occurs.
fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    let first = *part.first()?;
    let mut from = 0;
    loop {
        from += text.get(from..)?.iter().position(|&byte| byte == first)?;
        if text[from..].starts_with(part) {
            return Some(from);
        }
        from += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=----x1";

    fn check(content_type: &str, body: &[u8], expected: Option<&[u8]>) {
        assert_eq!(
            field(content_type, body, "image"),
            expected,
            "{}",
            String::from_utf8_lossy(body)
        );
    }

    fn part(disposition: &str, content: &str) -> String {
        format!("------x1\r\nContent-Disposition: {disposition}\r\n\r\n{content}\r\n")
    }

    #[test]
    fn a_field_is_found_by_its_name() {
        let other = part("form-data; name=\"note\"", "x");
        let own = part("form-data; name=\"image\"; filename=\"a;name=b.png\"", "\r\n--\r\n\0z");
        let again = part("form-data; name=\"image\"", "second");
        let whole = format!("{other}{own}{again}------x1--\r\n");
        check(TYPE, whole.as_bytes(), Some(b"\r\n--\r\n\0z"));
        check(TYPE, format!("before\r\n{whole}").as_bytes(), Some(b"\r\n--\r\n\0z"));
        check("Multipart/Form-Data;boundary=\"----x1\"", whole.as_bytes(), Some(b"\r\n--\r\n\0z"));
        check(TYPE, format!("{other}------x1--\r\n").as_bytes(), None);
        let empty = part("form-data; filename=\"\"; NAME=image", "");
        check(TYPE, format!("{empty}------x1--").as_bytes(), Some(b""));
        let bare = format!("------x1\r\n\r\nx\r\n{own}------x1--");
        check(TYPE, bare.as_bytes(), Some(b"\r\n--\r\n\0z"));
    }

    #[test]
    fn what_is_cut_off_or_no_such_form_has_no_field() {
        let own = part("form-data; name=\"image\"", "content");
        let whole = format!("{own}------x1--");
        for length in 0..own.len() {
            check(TYPE, &whole.as_bytes()[..length], None);
        }
        for content_type in [
            "",
            "image/png",
            "multipart/form-data",
            "multipart/form-data; boundary=",
            "multipart/mixed; boundary=----x1",
            "multipart/form-data; boundary=----x2",
        ] {
            check(content_type, whole.as_bytes(), None);
        }
        let too_long = format!("multipart/form-data; boundary={}", "x".repeat(71));
        check(&too_long, whole.as_bytes(), None);
    }
}
