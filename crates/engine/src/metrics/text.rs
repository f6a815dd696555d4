//! The older text format, for clients that do not ask for OpenMetrics.
//!
//! They differ in few points: in the older one a counter is described under its full name, there is
//! no type for information, and there is no mark at the end.

/// Rewrites OpenMetrics as the text format of version 0.0.4.
pub(super) fn to_plain_text(open_metrics: &str) -> String {
    let mut plain = String::with_capacity(open_metrics.len() + 1024);
    let mut help = None;
    for line in open_metrics.lines() {
        if let Some(described) = line.strip_prefix("# HELP ") {
            // Its name depends on the type, which is in the next line.
            help = described.split_once(' ');
        } else if let Some((name, kind)) =
            line.strip_prefix("# TYPE ").and_then(|it| it.split_once(' '))
        {
            let (suffix, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                _ => ("", kind),
            };
            if let Some((_, text)) = help.take() {
                plain.push_str(&format!("# HELP {name}{suffix} {text}\n"));
            }
            plain.push_str(&format!("# TYPE {name}{suffix} {kind}\n"));
        } else if !line.starts_with("# ") {
            plain.push_str(line);
            plain.push('\n');
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_information_have_their_full_names() {
        let open = "# HELP a Things done.\n# TYPE a counter\na_total{b=\"c d\"} 3\n\
             # HELP s_seconds Seconds.\n# TYPE s_seconds gauge\n# UNIT s_seconds seconds\ns_seconds 0.5\n\
             # HELP build Build.\n# TYPE build info\nbuild_info{v=\"1\"} 1\n# EOF\n";
        let plain = "# HELP a_total Things done.\n# TYPE a_total counter\na_total{b=\"c d\"} 3\n\
             # HELP s_seconds Seconds.\n# TYPE s_seconds gauge\ns_seconds 0.5\n\
             # HELP build_info Build.\n# TYPE build_info gauge\nbuild_info{v=\"1\"} 1\n";
        assert_eq!(to_plain_text(open), plain);
    }
}
