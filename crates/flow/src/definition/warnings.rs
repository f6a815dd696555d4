//! Warnings about a definition that can still be published.

use super::{Definition, Fault};

/// Bytes of a typical submission besides its answers: ids, identities, tags and context.
const REST_BYTES: usize = 16 * 1024;
/// Quotes, colon and comma around the id of an answer.
const KEY_OVERHEAD_BYTES: usize = 4;

/// Every warning about this definition on a server that accepts bodies of at most `body_bytes_max`
/// bytes.
pub fn warnings(definition: &Definition, body_bytes_max: usize) -> Vec<Fault> {
    let questions = definition.questions().iter();
    let answers: usize = questions
        .map(|question| (question.id.len(), question.question_type.answer_bytes_max()))
        .filter(|(_, answer_bytes)| *answer_bytes > 0)
        .map(|(id_bytes, answer_bytes)| id_bytes + KEY_OVERHEAD_BYTES + answer_bytes)
        .sum();
    let needed = answers + REST_BYTES;
    if needed <= body_bytes_max {
        return Vec::new();
    }
    let message = format!(
        "a submission with every answer at its longest can have {needed} bytes, but the server \
         accepts at most {body_bytes_max}; set a smaller maxLength on text questions, or raise the \
         server's body limit"
    );
    vec![Fault::new("/questions", message)]
}
