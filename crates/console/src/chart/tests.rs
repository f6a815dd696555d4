//! Every kind of chart against its golden file, and properties that all of them have.

use super::*;

/// One of each kind, with texts that are long, non-Latin or hostile.
pub(super) fn samples() -> Vec<(&'static str, Chart)> {
    vec![
        ("bars", bars()),
        (
            "bars_empty",
            BarChart {
                title: "Nothing yet",
                unit: ("answer", "answers"),
                of: 0,
                bars: vec![bar("A", 0), bar("B", 0)],
            }
            .chart(),
        ),
        ("scale", scale()),
        ("histogram", histogram()),
        ("days", days()),
        (
            "nps",
            NpsChart {
                title: "How likely are you to recommend us?",
                points: [12, 3, 5, 8, 10, 31, 44, 98, 210, 340, 512],
            }
            .chart(),
        ),
        ("nps_empty", NpsChart { title: "How likely?", points: [0; 11] }.chart()),
        ("ranking", ranking()),
        ("matrix", matrix()),
        ("line", line()),
        ("multiples", multiples().chart()),
    ]
}

fn bar(label: &str, count: u64) -> Bar {
    Bar { label: label.to_owned(), note: None, count }
}

fn bars() -> Chart {
    let mut bars = vec![
        bar("The API", 1_234),
        bar(
            "An option with a text that is a good deal longer than any sensible person would write into a form",
            640,
        ),
        bar("واجهة برمجة التطبيقات", 320),
        bar("<script>alert(\"1\")</script> & \u{1}'", 3),
    ];
    bars.push(Bar { label: "Exports".to_owned(), note: Some("no longer offered"), count: 0 });
    BarChart { title: "What do you use?", unit: ("answer", "answers"), of: 1_500, bars }.chart()
}

fn scale() -> Chart {
    let columns = [4, 11, 38, 120, 96]
        .into_iter()
        .zip(1..)
        .map(|(count, point)| Column::new(point.to_string(), count));
    ColumnChart {
        title: "How good is our documentation?",
        axis: "Rating",
        unit: ("answer", "answers"),
        counted: false,
        ends: Some(("Poor", "Excellent")),
        columns: columns.collect(),
    }
    .chart()
}

fn histogram() -> Chart {
    let columns = (0..20).map(|at| Column {
        label: (at * 10).to_string(),
        name: format!("{} to {}", at * 10, at * 10 + 10),
        count: (at * (19 - at)) as u64,
        tone: Tone::Accent,
    });
    ColumnChart {
        title: "Your age",
        axis: "Years",
        unit: ("answer", "answers"),
        counted: false,
        ends: None,
        columns: columns.collect(),
    }
    .chart()
}

fn days() -> Chart {
    let days: Vec<DayValue> = (0..30)
        .map(|at| DayValue { day: 20_743 + at, count: (at as u64 * 37) % 97 * 13, value: None })
        .collect();
    let series = Series::new(&days, 20_743, 20_772);
    let columns = series.buckets.iter().map(|bucket| {
        let (label, name) = series.names(bucket);
        Column { label, name, count: bucket.count, tone: Tone::Accent }
    });
    ColumnChart {
        title: "Responses",
        axis: series.step.name(),
        unit: ("response", "responses"),
        counted: false,
        ends: None,
        columns: columns.collect(),
    }
    .chart()
}

fn ranking() -> Chart {
    let option = |label: &str, places: [u64; 3]| {
        let sum: u64 = places.iter().sum();
        let mean = (places[0] + 2 * places[1] + 3 * places[2]) as f64 / sum.max(1) as f64;
        RankedOption {
            label: label.to_owned(),
            places: places.to_vec(),
            mean_place: (sum > 0).then_some(mean),
        }
    };
    let options = vec![
        option("Price", [10, 40, 50]),
        option("Speed", [70, 20, 10]),
        option("Support", [20, 40, 40]),
        option("New", [0, 0, 0]),
    ];
    RankingChart { title: "What matters most?", answers: 100, options }.chart()
}

fn matrix() -> Chart {
    let columns = ["Strongly disagree", "Disagree", "Neither", "Agree", "Strongly agree"]
        .map(str::to_owned)
        .to_vec();
    let row = |label: &str, counts: [u64; 5]| MatrixRow {
        label: label.to_owned(),
        counts: counts.to_vec(),
    };
    let rows = vec![
        row("It is easy to use", [2, 5, 20, 60, 40]),
        row("It is worth its price, all things considered", [12, 30, 40, 20, 9]),
        row("دعم", [0, 0, 0, 0, 0]),
    ];
    MatrixChart { title: "How far do you agree?", columns, rows }.chart()
}

fn line() -> Chart {
    let values = [4.1, 4.0, 3.6, 3.9, 4.4, 4.5, 4.2];
    let points = values.iter().enumerate().map(|(at, value)| Point {
        label: format!("{} Nov", at + 9),
        name: format!("{} Nov 2026", at + 9),
        count: if at == 2 { 4 } else { 30 },
        value: (at != 3).then_some(*value),
    });
    LineChart {
        title: "Mean rating",
        measure: "Mean",
        axis: "Day",
        limits: Some((1.0, 5.0)),
        points: points.collect(),
    }
    .chart()
}

pub(super) fn multiples() -> SmallMultiples<'static> {
    let panel = |name: &str, answers, figure: &str| Panel {
        name: name.to_owned(),
        answers,
        figure: Some(figure.to_owned()),
        chart: scale(),
    };
    SmallMultiples {
        title: "How good is our documentation?",
        by: "Version",
        panels: vec![
            panel("Version 1", 269, "4.1"),
            panel("Version 2", 7, "3.9"),
            panel("<b>3</b>", 269, "4"),
        ],
    }
}

#[test]
fn each_kind_matches_its_golden_file() {
    for (name, chart) in samples() {
        insta::assert_snapshot!(
            name,
            chart.file("All time · made from 1,500 responses").replace("><", ">\n<")
        );
    }
}

#[test]
fn the_page_and_the_file_have_the_same_drawing() {
    for (name, chart) in samples() {
        assert!(chart.file("").contains(&chart.drawing.0), "{name}");
        assert!(chart.figure("c1", html! {}).0.contains(&chart.drawing.0), "{name}");
    }
}

#[test]
fn every_drawing_is_accessible_and_has_its_table() {
    for (name, chart) in samples() {
        let figure = chart.figure("c1", html! {}).0;
        assert!(
            figure.contains("role=\"img\"")
                && figure.contains("aria-labelledby=\"c1-title c1-description\""),
            "{name}"
        );
        assert!(
            figure.contains("<title id=\"c1-title\">")
                && figure.contains("<desc id=\"c1-description\">"),
            "{name}"
        );
        assert!(figure.contains("<details") && figure.contains("<th scope=\"row\""), "{name}");
        let columns = chart.table.columns.len();
        assert!(chart.table.rows.iter().all(|row| row.len() == columns), "{name}");
    }
}

#[test]
fn no_text_becomes_markup_and_no_style_is_inline() {
    for (name, chart) in samples() {
        for text in [chart.file("<i>&note</i>"), chart.figure("c1", html! {}).0] {
            for forbidden in ["<script", "<b>", "<i>", "style=", "javascript:", "\u{1}", "onload"] {
                assert!(!text.contains(forbidden), "{name} has {forbidden:?}");
            }
        }
    }
}

/// Checks that elements are closed in order and texts have no bare ampersands.
#[test]
fn a_file_is_well_formed() {
    for (name, chart) in samples() {
        let file = chart.file("A & B < C");
        let mut open: Vec<&str> = Vec::new();
        for piece in file.split('<').skip(1).filter(|piece| !piece.starts_with('?')) {
            let (tag, text) = piece.split_once('>').unwrap_or_else(|| panic!("{name}: {piece}"));
            assert!(
                !text.contains('&') || text.split('&').skip(1).all(|it| it.contains(';')),
                "{name}: {text}"
            );
            match tag.strip_prefix('/') {
                Some(end) => assert_eq!(open.pop(), Some(end), "{name}"),
                None => open.push(tag.split(' ').next().unwrap_or_default()),
            }
        }
        assert!(open.is_empty(), "{name}: {open:?}");
    }
}
