//! Any bytes as a form with a file: the content type in the first line, then the body.
//!
//! What is found is a part of the body without a boundary in it, and is found again in a form that
//! has only that.

use sluice_http::multipart::field;

pub(super) fn run(data: &[u8]) {
    let Some(end) = data.iter().position(|&byte| byte == b'\n') else { return };
    let (Ok(content_type), body) = (std::str::from_utf8(&data[..end]), &data[end + 1..]) else {
        return;
    };
    let Some(found) = field(content_type, body, "image") else { return };
    assert!(body.as_ptr_range().contains(&found.as_ptr()) || found.is_empty());
    let head = "--again\r\nContent-Disposition: form-data; name=\"image\"\r\n\r\n";
    let form = [head.as_bytes(), found, b"\r\n--again--\r\n"].concat();
    let again = field("multipart/form-data; boundary=again", &form, "image");
    let has_boundary = found.windows(9).any(|part| part == b"\r\n--again");
    assert!(again == Some(found) || has_boundary, "found again as {again:?}");
}
