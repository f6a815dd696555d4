//! JSON Pointers (RFC 6901): a name becomes a step of a pointer, and a pointer its steps.

/// A name as one step of a pointer, without the slash before it.
pub fn escaped(name: &str) -> String {
    // The tilde first: it is part of both escapes.
    name.replace('~', "~0").replace('/', "~1")
}

/// The name that one step of a pointer stands for.
pub fn unescaped(step: &str) -> String {
    // The tilde last: `~01` is `~1`, not a slash.
    step.replace("~1", "/").replace("~0", "~")
}

/// The names in a pointer, from the outside to the inside. The empty pointer, which is the whole
/// document, has none.
pub fn steps(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(unescaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_has_one_step_for_each_name() {
        const CASES: &[(&str, &[&str])] = &[
            ("", &[]),
            ("/", &[""]),
            ("/a", &["a"]),
            ("/a/0", &["a", "0"]),
            ("//a/", &["", "a", ""]),
            ("/~0", &["~"]),
            ("/~1", &["/"]),
            ("/~01", &["~1"]),
            ("/~10", &["/0"]),
            ("/a~1b/c~0d", &["a/b", "c~d"]),
        ];
        for (pointer, names) in CASES {
            assert_eq!(steps(pointer), *names, "{pointer}");
            let written: String = names.iter().map(|name| format!("/{}", escaped(name))).collect();
            assert_eq!(written, *pointer);
        }
    }
}
