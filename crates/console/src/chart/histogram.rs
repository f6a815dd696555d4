//! Bins of equal width for the numbers of all parts: without gaps, at round numbers, and the same
//! for each part.

use super::axis::Axis;
use super::columns::Column;
use super::number::decimal;

/// If there are no more whole numbers than this between the ends, each has its own bin.
const WHOLE_MAX: f64 = 24.0;
/// The maximum number of bins of equal width.
const BINS_MAX: f64 = 20.0;
/// Edges of bins are inexact in binary: a number this close to one is on it, in widths.
const EDGE: f64 = 1e-9;
/// Round numbers to label.
const STEPS: &[i64] = &[1, 2, 5, 10, 20, 50];
/// The most decimals of a label.
const PLACES_MAX: f64 = 6.0;

/// How often a number was given, or one of a range of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range {
    pub(crate) from: f64,
    /// Equal to `from` for a single number, otherwise just above the last one.
    pub(crate) to: f64,
    pub(crate) count: u64,
}

/// The bins of all parts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Histogram {
    width: f64,
    /// The number of the first bin: it starts at this many widths.
    first: i64,
    /// Whether all numbers are whole.
    is_whole: bool,
    /// The count of each bin, for each part.
    pub(crate) parts: Vec<Vec<u64>>,
}

impl Histogram {
    pub(crate) fn new(parts: &[Vec<Range>]) -> Self {
        let all = || parts.iter().flatten();
        let low = all().map(|it| it.from).fold(f64::INFINITY, f64::min);
        let high = all().map(|it| it.to).fold(f64::NEG_INFINITY, f64::max);
        let finest = all().map(|it| it.to - it.from).fold(0.0, f64::max);
        let is_whole = all().all(|it| it.from == it.to && it.from.fract() == 0.0);
        if low > high {
            let parts = vec![Vec::new(); parts.len()];
            return Self { width: 1.0, first: 0, is_whole, parts };
        }
        let width = match is_whole {
            true if high - low < WHOLE_MAX => 1.0,
            true => width_for(high - low).max(1.0),
            // A bin is never narrower than the ranges that were counted.
            false => width_for(high - low).max(width_at_least(finest)),
        };
        // A range fits into one bin, so its midpoint finds that bin. Bins of negative numbers have
        // their end and not their start, unless all numbers are whole.
        let bin = |it: &Range| match f64::midpoint(it.from, it.to) / width {
            below if below < 0.0 && !is_whole => (below - EDGE).ceil() as i64 - 1,
            middle => (middle + EDGE).floor() as i64,
        };
        let first = all().map(bin).min().unwrap_or(0);
        let last = all().map(bin).max().unwrap_or(first);
        let counted = |part: &Vec<Range>| {
            let mut counts = vec![0; (last - first + 1) as usize];
            part.iter().for_each(|it| counts[(bin(it) - first) as usize] += it.count);
            counts
        };
        Self { width, first, is_whole, parts: parts.iter().map(counted).collect() }
    }

    /// The number of bins.
    fn len(&self) -> usize {
        self.parts.first().map_or(0, Vec::len)
    }

    /// Whether each bin is one whole number.
    fn has_singles(&self) -> bool {
        self.is_whole && self.width <= 1.0
    }

    pub(crate) fn columns(&self) -> Vec<Column> {
        let column = |at: i64| {
            let (from, to) = (self.edge(at), self.edge(at + 1));
            // A range of negative numbers was counted with its end and without its start.
            let is_negative = to <= 0.0;
            Column::new(if self.has_singles() {
                self.text(from)
            } else if self.is_whole {
                format!("{} to {}", self.text(from), self.text(to - 1.0))
            } else if to == 0.0 {
                // Zero is in the next bin.
                format!("over {} to under 0", self.text(from))
            } else if is_negative {
                format!("over {} to {}", self.text(from), self.text(to))
            } else {
                format!("{} to under {}", self.text(from), self.text(to))
            })
        };
        (self.first..).take(self.len()).map(column).collect()
    }

    pub(crate) fn axis(&self) -> Axis {
        let texts = |many: usize| (self.first..).take(many).map(|at| self.text(self.edge(at)));
        match self.has_singles() {
            true => Axis::centred("Number", self.first, STEPS, texts(self.len()).collect()),
            false => Axis::at_edges("Number", self.first, STEPS, texts(self.len() + 1).collect()),
        }
    }

    fn edge(&self, at: i64) -> f64 {
        at as f64 * self.width
    }

    fn text(&self, number: f64) -> String {
        let places = (-self.width.log10().floor()).clamp(0.0, PLACES_MAX);
        decimal(number, places as usize)
    }
}

/// The smallest of 1, 2, 5, 10, … that divides a range into few enough bins.
fn width_for(range: f64) -> f64 {
    width_at_least(range / (BINS_MAX - 1.0))
}

/// The smallest of 1, 2, 5, 10, … times a power of ten that is at least this.
fn width_at_least(least: f64) -> f64 {
    if least <= 0.0 {
        return 0.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    let widths = [1.0, 2.0, 5.0].map(|step| step * power);
    widths.into_iter().find(|width| *width >= least * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(number: f64, count: u64) -> Range {
        Range { from: number, to: number, count }
    }

    fn names(histogram: &Histogram) -> Vec<String> {
        histogram.columns().into_iter().map(|column| column.name).collect()
    }

    #[test]
    fn few_whole_numbers_have_a_bin_each_without_gaps() {
        let histogram = Histogram::new(&[vec![one(2.0, 3), one(6.0, 1)], vec![one(-1.0, 5)]]);
        assert_eq!(names(&histogram), ["−1", "0", "1", "2", "3", "4", "5", "6"]);
        assert_eq!(histogram.parts, [vec![0, 0, 0, 3, 0, 0, 0, 1], vec![5, 0, 0, 0, 0, 0, 0, 0]]);
    }

    #[test]
    fn many_numbers_share_bins_of_a_round_width() {
        let small: Vec<Range> = (0..10).map(|number| one(f64::from(number), 1)).collect();
        let large: Vec<Range> = (50..100).map(|number| one(f64::from(number), 2)).collect();
        let histogram = Histogram::new(&[small, large]);
        assert_eq!(names(&histogram)[..2], ["0 to 9", "10 to 19"]);
        assert_eq!(histogram.parts[0], [10, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(histogram.parts[1], [0, 0, 0, 0, 0, 20, 20, 20, 20, 20]);
    }

    #[test]
    fn no_bin_is_finer_than_what_was_counted() {
        for (ranges, expected) in [
            (vec![Range { from: 4.2, to: 4.3, count: 1 }], vec!["4.2 to under 4.3"]),
            (vec![Range { from: 1200.0, to: 1300.0, count: 1 }], vec!["1,200 to under 1,300"]),
            (
                vec![
                    Range { from: -1100.0, to: -1000.0, count: 1 },
                    Range { from: -1000.0, to: -990.0, count: 1 },
                ],
                vec!["over −1,100 to −1,000", "over −1,000 to −900"],
            ),
            (vec![], vec![]),
        ] {
            let histogram = Histogram::new(std::slice::from_ref(&ranges));
            assert_eq!(names(&histogram), expected, "{ranges:?}");
        }
    }

    #[test]
    fn a_negative_number_is_in_the_bin_whose_name_includes_it() {
        let range = |from: f64, count| Range { from, to: from + 1.0, count };
        let ranges = vec![one(-60.0, 1), range(-11.0, 2), one(-10.0, 3), one(-5.0, 4), one(0.0, 5)];
        let histogram = Histogram::new(&[ranges]);
        let counted: Vec<(String, u64)> =
            names(&histogram).into_iter().zip(histogram.parts[0].clone()).collect();
        let filled = counted.iter().filter(|(_, count)| *count > 0);
        let filled: Vec<(&str, u64)> = filled.map(|(name, count)| (&**name, *count)).collect();
        assert_eq!(
            filled,
            [
                ("over −65 to −60", 1),
                ("over −15 to −10", 5),
                ("over −10 to −5", 4),
                ("0 to under 5", 5)
            ]
        );
        assert!(names(&histogram).contains(&"over −5 to under 0".to_owned()));
    }

    #[test]
    fn every_number_is_counted_once_whatever_the_parts() {
        // Numbers that look random: the same for the same seed.
        let mut seed = 7_u64;
        let mut next = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 33
        };
        for spread in [1.0, 30.0, 4_000.0, 1e9] {
            let mut part = |many: u64| -> Vec<Range> {
                let number = |next: u64| (next % 1_000) as f64 / 1_000.0 * spread - spread / 3.0;
                (0..many).map(|_| one(number(next()), next() % 9)).collect()
            };
            let parts: Vec<Vec<Range>> = (1..=8).map(|many| part(many * 5)).collect();
            let histogram = Histogram::new(&parts);
            assert!((1..=21).contains(&histogram.len()), "{spread}: {}", histogram.len());
            assert_eq!(histogram.columns().len(), histogram.len());
            for (part, counts) in parts.iter().zip(&histogram.parts) {
                assert_eq!(counts.len(), histogram.len());
                let sum: u64 = part.iter().map(|it| it.count).sum();
                assert_eq!(counts.iter().sum::<u64>(), sum);
            }
        }
    }
}
