//! Every kind of chart against its golden file, and properties that all of them have.

use super::*;

/// One of each kind, with texts that are long, non-Latin or hostile.
pub(super) fn samples() -> Vec<(&'static str, Chart)> {
    vec![
        ("bars", bars().swap_remove(0)),
        ("bars_empty", bars().swap_remove(1)),
        ("scale", scale().swap_remove(0)),
        ("histogram", histogram().swap_remove(0)),
        ("days", days()),
        ("nps", nps().chart()),
        ("nps_empty", nps_empty().chart()),
        ("ranking", ranking().swap_remove(0)),
        ("matrix", matrix().swap_remove(0)),
        ("line", line()),
        ("multiples", multiples().chart()),
        ("funnel", funnel()),
        ("stacked_columns", stacked_columns()),
    ]
}

/// Every kind that is compared, with three parts of different sizes.
fn compared() -> Vec<(&'static str, Vec<Chart>)> {
    vec![
        ("bars", bars()),
        ("scale", scale()),
        ("histogram", histogram()),
        ("ranking", ranking()),
        ("matrix", matrix()),
    ]
}

fn nps() -> NpsChart<'static> {
    NpsChart {
        title: "How likely are you to recommend us?",
        points: [12, 3, 5, 8, 10, 31, 44, 98, 210, 340, 512],
        promoters: 852,
        passives: 308,
        detractors: 113,
        score: Some(100.0 * 739.0 / 1_273.0),
    }
}

fn nps_empty() -> NpsChart<'static> {
    let (promoters, passives, detractors) = (0, 0, 0);
    let (title, points) = ("How likely?", [0; 11]);
    NpsChart { title, points, promoters, passives, detractors, score: None }
}

fn funnel() -> Chart {
    let step = |label: &str, visits, left| FunnelStep {
        label: label.to_owned(),
        visits,
        left,
        skipped: false,
    };
    let long = "2. A question with a text that is longer than any sensible person would write";
    let steps = vec![
        step("Opened", 1_200, None),
        step("1. <b>How likely?</b> & \u{1}'", 1_200, Some(700)),
        step("Started", 610, None),
        step(long, 500, Some(0)),
        step("3. ما السبب؟", 498, Some(17)),
        step("Finished", 481, None),
    ];
    FunnelChart { title: "From opening to finishing", of: 1_200, steps }.chart()
}

fn stacked_columns() -> Chart {
    let part = |name, tone, counts| StackedPart { name, tone, counts };
    let hours = || (0..30).map(|hour| format!("{:02}:00", hour % 24)).collect::<Vec<_>>();
    let counts = |every: u64, count: u64| {
        (0..30).map(|at: u64| if at.is_multiple_of(every) { count * at } else { 0 }).collect()
    };
    StackedColumns {
        title: "Deliveries <b>by hour</b>",
        axis: Axis::centred("Hour", 0, &[1, 2, 3, 6, 12, 24], hours()),
        scale: "Deliveries per hour",
        unit: ("delivery", "deliveries"),
        names: hours(),
        parts: vec![
            part("delivered", Tone::Good, counts(1, 40)),
            part("waiting", Tone::Middle, counts(7, 3)),
            part("failed", Tone::Bad, counts(4, 1)),
        ],
        room: ROOM_ALONE,
    }
    .chart()
}

const ANSWERS: (&str, &str) = ("answer", "answers");
const STEPS: &[i64] = &[1, 2, 5, 10];

fn bars() -> Vec<Chart> {
    let bar = |label: &str, note| Bar { label: label.to_owned(), note };
    let bars = vec![
        bar("The API", None),
        bar(
            "An option with a text that is a good deal longer than any sensible person would write into a form",
            None,
        ),
        bar("واجهة برمجة التطبيقات", None),
        bar("<script>alert(\"1\")</script> & \u{1}'", None),
        bar("Exports", Some("no longer offered")),
    ];
    let part = |of, counts: [u64; 5]| BarPart { of, counts: counts.to_vec() };
    let parts =
        vec![part(1_500, [1_234, 640, 320, 3, 0]), part(0, [0; 5]), part(7, [7, 1, 0, 0, 2])];
    BarChart { title: "What do you use?", unit: ANSWERS, bars, parts, room: ROOM_COMPARED }.charts()
}

fn columns(title: &'static str, axis: Axis, parts: Vec<Vec<u64>>) -> Vec<Chart> {
    let columns = (0..parts[0].len()).map(|at| Column::new(format!("Column {at}"))).collect();
    let measure = Measure::Share;
    ColumnChart { title, axis, unit: ANSWERS, measure, columns, parts, room: ROOM_COMPARED }
        .charts()
}

fn scale() -> Vec<Chart> {
    let names = (1..=5).map(|point| point.to_string()).collect();
    let axis = Axis::centred("Rating", 1, STEPS, names);
    let parts = vec![vec![4, 11, 38, 120, 96], vec![1, 0, 0, 0, 0], vec![10, 10, 10, 10, 10]];
    columns("How good is our documentation?", axis, parts)
}

fn histogram() -> Vec<Chart> {
    let range = |number: u32, count: u32| Range {
        from: f64::from(number),
        to: f64::from(number),
        count: u64::from(count),
    };
    let bins = Histogram::new(&[
        (18..90).map(|age| range(age, age % 17)).collect(),
        vec![range(40, 1)],
        (0..30).map(|age| range(age * 4, 1_000)).collect(),
    ]);
    columns("Your age", bins.axis(), bins.parts.clone())
}

fn days() -> Chart {
    let days: Vec<DayValue> = (0..30)
        .map(|at| DayValue { day: 20_743 + at, count: (at as u64 * 37) % 97 * 13, value: None })
        .collect();
    let counted = CountedDays { from: None, to: None, today: 20_772 };
    let series = Series::new(&days, 20_743, 20_772).counting(counted);
    let column = |bucket: &DayValue| Column {
        is_complete: series.is_complete(bucket),
        ..Column::new(series.name(bucket))
    };
    ColumnChart {
        title: "Responses",
        axis: series.axis(),
        unit: ("response", "responses"),
        measure: Measure::Count,
        columns: series.buckets.iter().map(column).collect(),
        parts: vec![series.buckets.iter().map(|bucket| bucket.count).collect()],
        room: ROOM_ALONE,
    }
    .charts()
    .swap_remove(0)
}

fn ranking() -> Vec<Chart> {
    let option = |places: [u64; 3]| {
        let sum: u64 = places.iter().sum();
        let mean = (places[0] + 2 * places[1] + 3 * places[2]) as f64 / sum.max(1) as f64;
        Ranked { places: places.to_vec(), mean_place: (sum > 0).then_some(mean) }
    };
    let part = |options: [[u64; 3]; 4]| RankingPart {
        answers: options[0].iter().sum(),
        options: options.map(option).to_vec(),
    };
    let whole = part([[10, 40, 50], [70, 20, 10], [20, 40, 40], [0, 0, 0]]);
    let labels = ["Price", "Speed", "Support", "New"].map(str::to_owned).to_vec();
    let order = by_mean_place(&whole.options);
    let parts = vec![whole, part([[3, 0, 0], [0, 2, 1], [0, 1, 2], [0; 3]]), part([[0; 3]; 4])];
    RankingChart { title: "What matters most?", labels, order, parts, room: ROOM_COMPARED }.charts()
}

fn matrix() -> Vec<Chart> {
    let columns = ["Strongly disagree", "Disagree", "Neither", "Agree", "Strongly agree"]
        .map(str::to_owned)
        .to_vec();
    let rows = ["It is easy to use", "It is worth its price, all things considered", "دعم"]
        .map(str::to_owned)
        .to_vec();
    let part = |cells: [[u64; 5]; 3]| cells.map(|row| row.to_vec()).to_vec();
    let parts = vec![
        part([[2, 5, 20, 60, 40], [12, 30, 40, 20, 9], [0; 5]]),
        part([[1, 0, 0, 0, 0], [0; 5], [0; 5]]),
        part([[9_000, 1, 1, 1, 1], [1; 5], [0, 0, 0, 0, 3]]),
    ];
    MatrixChart { title: "How far do you agree?", columns, rows, parts, room: ROOM_COMPARED }
        .charts()
}

fn line() -> Chart {
    let values = [4.1, 4.0, 3.6, 3.9, 4.4, 4.5, 4.2];
    let points = values.iter().enumerate().map(|(at, value)| Point {
        name: format!("{} Nov 2026", at + 9),
        count: if at == 2 { 4 } else { 30 },
        value: (at != 3).then_some(*value),
    });
    let texts = (9..16).map(|day| format!("{day} Nov")).collect();
    LineChart {
        title: "Mean rating",
        measure: "Mean",
        unit: "",
        axis: Axis::centred("Day", 0, STEPS, texts),
        limits: Some((1.0, 5.0)),
        points: points.collect(),
        room: ROOM_ALONE,
    }
    .chart()
}

pub(super) fn multiples() -> SmallMultiples<'static> {
    let panel = |((name, figure), chart): ((&str, &str), Chart)| Panel {
        name: name.to_owned(),
        answers: 7,
        figure: Some((figure.to_owned(), "mean of 7 answers".to_owned())),
        chart,
    };
    let names = [("Version 1", "4.1"), ("Version 2", "3.9"), ("<b>3</b>", "4")];
    SmallMultiples {
        title: "How good is our documentation?",
        by: "Version",
        measure: Some("Mean, on a scale of 1 to 5".to_owned()),
        chance: Some("The differences between the groups could be chance (p = 0.2).".to_owned()),
        panels: names.into_iter().zip(scale()).map(panel).collect(),
    }
}

/// The attributes of each element of a drawing with this name, in order.
fn elements<'d>(drawing: &'d str, name: &str) -> Vec<&'d str> {
    let begin = format!("<{name} ");
    drawing.split(begin.as_str()).skip(1).map(|it| it.split('>').next().unwrap()).collect()
}

fn attribute<'e>(element: &'e str, name: &str) -> &'e str {
    let begin = format!("{name}=\"");
    element.split(begin.as_str()).nth(1).unwrap().split('"').next().unwrap()
}

#[test]
fn compared_parts_have_the_same_axes_rows_and_height() {
    for (name, charts) in compared() {
        let first = &charts[0];
        let group = |chart: &Chart, class: &str| {
            let drawing = chart.drawing.0.split(&format!("<g class=\"{class}\">")).nth(1);
            drawing.map(|it| it.split("</g>").next().unwrap().to_owned())
        };
        let rows =
            |chart: &Chart| chart.table.rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>();
        for other in &charts[1..] {
            assert_eq!(other.height, first.height, "{name}");
            assert_eq!(other.indented, first.indented, "{name}");
            assert_eq!(group(other, "c-x"), group(first, "c-x"), "{name}");
            assert_eq!(group(other, "c-y"), group(first, "c-y"), "{name}");
            assert_eq!(other.table.columns, first.table.columns, "{name}");
            assert_eq!(rows(other), rows(first), "{name}");
        }
    }
}

#[test]
fn the_same_share_has_the_same_height_in_every_part() {
    for (name, charts) in [("scale", scale()), ("histogram", histogram())] {
        let mut heights: Vec<(f64, f64)> = Vec::new();
        for chart in &charts {
            let counts = chart.table.rows.iter().map(|row| row[1].replace(',', ""));
            let counts: Vec<f64> = counts.map(|it| it.parse().unwrap()).collect();
            let sum: f64 = counts.iter().sum();
            let columns = elements(&chart.drawing.0, "rect");
            let columns = columns.iter().map(|it| attribute(it, "height").parse::<f64>().unwrap());
            let shares = counts.iter().filter(|count| **count > 0.0).map(|count| count / sum);
            heights.extend(shares.zip(columns));
        }
        heights.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (share, height) = *heights.last().unwrap();
        let per_share = height / share;
        for (share, height) in heights {
            // A column above zero has at least 1.5 pixels.
            assert!(
                (height - (share * per_share).max(1.5)).abs() < 0.02,
                "{name} {share} {height}"
            );
        }
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
        let page = chart.figure("c1", html! {}).0;
        assert!(page.contains(&chart.drawing.0), "{name}");
        // A file is wide.
        let wide = chart.wide.as_deref().unwrap_or(&chart);
        assert!(page.contains(&wide.drawing.0), "{name}");
        assert!(chart.file("").contains(&wide.drawing.0), "{name}");
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

/// On a wide screen and in a file, a long label is in one line.
#[test]
fn a_wide_drawing_has_more_room_for_texts() {
    let chart = funnel();
    let page = chart.figure("f", html! {}).into_string();
    assert!(page.contains("class=\"if-narrow\"") && page.contains("class=\"if-wide\""), "{page}");
    let line = "2. A question with a text that is longer than any sensible person</text>";
    assert_eq!(page.matches(&format!("plaintext\">{line}")).count(), 1, "{page}");
    assert!(chart.file("").contains(line));
    // Nothing is drawn twice without a reason.
    assert!(!scale()[0].figure("s", html! {}).into_string().contains("if-wide"));
}
