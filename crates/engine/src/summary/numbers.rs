//! The distribution of numbers: a few bins of equal width, the mean, the median and the ends.

use sluice_flow::counts::{NumberBin, QuestionCounts, SUM_UNIT};

use super::{Bin, Distribution, count};

/// Up to this number of distinct values, each has its own bin.
const SINGLE_MAX: usize = 24;
/// The maximum number of bins of equal width.
const BINS_MAX: f64 = 20.0;
/// Edges of bins are inexact in binary: a number this close to one is on it, in widths.
const EDGE: f64 = 1e-9;

pub(super) fn distribution(counts: &QuestionCounts) -> Distribution {
    let keys = counts.keys.iter().filter(|(_, times)| **times > 0);
    let mut fine: Vec<(NumberBin, u64)> =
        keys.map(|(key, times)| (NumberBin::from_key(*key), count(*times))).collect();
    fine.sort_by(|(one, _), (other, _)| one.near.total_cmp(&other.near));
    Distribution::Numbers {
        mean: mean(counts),
        median: median(&fine),
        min: fine.first().map(|(bin, _)| bin.near),
        max: fine.last().map(|(bin, _)| bin.near),
        bins: if fine.len() <= SINGLE_MAX { singles(&fine) } else { coarse(&fine) },
        values: singles(&fine),
    }
}

pub(super) fn mean(counts: &QuestionCounts) -> Option<f64> {
    // Converted from stored units.
    let sum = counts.sum as f64 / SUM_UNIT as f64;
    ratio(sum, count(counts.answered))
}

/// `None` if `count` is zero.
pub(super) fn ratio(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

/// The middle value, or the mean of the two in the middle.
fn median(fine: &[(NumberBin, u64)]) -> Option<f64> {
    let all: u64 = fine.iter().map(|(_, times)| times).sum();
    let at = |wanted: u64| {
        let mut passed = 0;
        fine.iter().find_map(|(bin, times)| {
            passed += times;
            (passed > wanted).then_some(bin.near)
        })
    };
    match all {
        0 => None,
        all if all % 2 == 1 => at(all / 2),
        all => Some((at(all / 2 - 1)? + at(all / 2)?) / 2.0),
    }
}

fn singles(fine: &[(NumberBin, u64)]) -> Vec<Bin> {
    let bin = |(bin, count): &(NumberBin, u64)| Bin {
        from: bin.near.min(bin.far),
        to: bin.near.max(bin.far),
        count: *count,
    };
    fine.iter().map(bin).collect()
}

/// Bins of equal width, aligned to multiples of the width, without gaps, and never narrower than
/// the ranges that were counted. Those below zero include their end instead of their start, as the
/// counted ranges do.
fn coarse(fine: &[(NumberBin, u64)]) -> Vec<Bin> {
    let (Some((first, _)), Some((last, _))) = (fine.first(), fine.last()) else {
        return Vec::new();
    };
    let finest = fine.iter().map(|(bin, _)| (bin.far - bin.near).abs()).fold(0.0, f64::max);
    let width = width_for(last.near - first.near).max(finest);
    // The middle of a counted range is in the bin that holds all of it.
    let at = |bin: &NumberBin| match f64::midpoint(bin.near, bin.far) / width {
        below if below < 0.0 => (below - EDGE).ceil() - 1.0,
        above => (above + EDGE).floor(),
    };
    let base = fine.iter().map(|(bin, _)| at(bin)).fold(f64::INFINITY, f64::min);
    let end = fine.iter().map(|(bin, _)| at(bin)).fold(f64::NEG_INFINITY, f64::max);
    let mut counts = vec![0; (end - base) as usize + 1];
    for (bin, times) in fine {
        if let Some(count) = counts.get_mut((at(bin) - base) as usize) {
            *count += times;
        }
    }
    let bin = |(index, count): (u32, u64)| Bin {
        from: (base + f64::from(index)) * width,
        to: (base + f64::from(index) + 1.0) * width,
        count,
    };
    (0..).zip(counts).map(bin).collect()
}

/// The smallest of 1, 2, 5, 10, … that divides a range into few enough bins.
fn width_for(range: f64) -> f64 {
    let least = range / (BINS_MAX - 1.0);
    let power = 10_f64.powf(least.log10().floor());
    let widths = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    widths.into_iter().find(|width| *width >= least).unwrap_or(10.0 * power)
}
