//! Whether differences between groups could be chance: the chi-square test of independence. For two
//! groups and two answers it is the test of two proportions.

/// Differences with a lower probability are called unlikely to be chance.
pub const P_MAX: f64 = 0.05;
/// The test needs at least this expected number of answers in most cells (Cochran's rule).
const EXPECTED_MIN: f64 = 5.0;
const EXPECTED_SHARE: f64 = 0.8;

/// The outcome of a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Significance {
    /// One response may be in several groups, or there is nothing to compare.
    NotTested,
    /// Too few answers to tell.
    TooFew,
    /// The probability of differences at least this large, if there were none.
    Tested { chi_square: f64, degrees: u32, p: f64 },
}

impl Significance {
    /// Tests a table of counts, by row and column. Empty rows and columns are ignored.
    pub fn test(cells: &[Vec<u64>]) -> Self {
        let row_sums: Vec<u64> = cells.iter().map(|row| row.iter().sum()).collect();
        let width = cells.first().map_or(0, Vec::len);
        let column_sums: Vec<u64> =
            (0..width).map(|at| cells.iter().map(|row| row[at]).sum()).collect();
        let filled = |sums: &[u64]| sums.iter().filter(|sum| **sum > 0).count();
        let (rows, columns) = (filled(&row_sums), filled(&column_sums));
        if rows < 2 || columns < 2 {
            return Self::NotTested;
        }
        let all = row_sums.iter().sum::<u64>() as f64;
        let (mut chi_square, mut expected_enough) = (0.0, 0);
        for (row, row_sum) in cells.iter().zip(&row_sums).filter(|(_, sum)| **sum > 0) {
            for (count, sum) in row.iter().zip(&column_sums).filter(|(_, sum)| **sum > 0) {
                let expected = *row_sum as f64 * *sum as f64 / all;
                if expected < 1.0 {
                    return Self::TooFew;
                }
                expected_enough += usize::from(expected >= EXPECTED_MIN);
                chi_square += (*count as f64 - expected).powi(2) / expected;
            }
        }
        if (expected_enough as f64) < EXPECTED_SHARE * (rows * columns) as f64 {
            return Self::TooFew;
        }
        let degrees = u32::try_from((rows - 1) * (columns - 1)).unwrap_or(u32::MAX);
        Self::Tested { chi_square, degrees, p: upper_tail(chi_square, degrees) }
    }
}

/// The probability that a chi-square variable exceeds `x`: the regularised upper incomplete gamma
/// function of half the degrees and half of `x`.
fn upper_tail(x: f64, degrees: u32) -> f64 {
    let (a, x) = (f64::from(degrees) / 2.0, x / 2.0);
    if x <= 0.0 {
        return 1.0;
    }
    let scale = (a * x.ln() - x - ln_gamma(a)).exp();
    let tail = if x < a + 1.0 { 1.0 - scale * series(a, x) } else { scale * fraction(a, x) };
    tail.clamp(0.0, 1.0)
}

/// Enough terms for tables of any size that a page shows.
const TERMS_MAX: u32 = 100_000;

/// The sum of `x^n / (a (a+1) … (a+n))`.
fn series(a: f64, x: f64) -> f64 {
    let mut term = 1.0 / a;
    let mut sum = term;
    for n in 1..TERMS_MAX {
        term *= x / (a + f64::from(n));
        sum += term;
        if term < sum * f64::EPSILON {
            break;
        }
    }
    sum
}

/// The continued fraction of the upper function, by Lentz's method.
fn fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut value = d;
    for n in 1..TERMS_MAX {
        let n = f64::from(n);
        let step = -n * (n - a);
        b += 2.0;
        d = step * d + b;
        d = if d.abs() < TINY { TINY } else { d };
        c = b + step / c;
        c = if c.abs() < TINY { TINY } else { c };
        d = 1.0 / d;
        value *= d * c;
        if (d * c - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    value
}

/// The logarithm of the gamma function, by Lanczos's approximation.
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        0.001_208_650_973_866_179,
        -0.000_005_395_239_384_953,
    ];
    let shifted = x + 5.5;
    let shifted = shifted - (x + 0.5) * shifted.ln();
    let terms = (1..).zip(COEFFICIENTS).map(|(n, it)| it / (x + f64::from(n)));
    let sum = 1.000_000_000_190_015 + terms.sum::<f64>();
    -shifted + (2.506_628_274_631_000_5 * sum / x).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_agrees_with_published_tables() {
        for (x, degrees, p) in [
            (3.841, 1, 0.05),
            (6.635, 1, 0.01),
            (10.828, 1, 0.001),
            (5.991, 2, 0.05),
            (9.488, 4, 0.05),
            (18.307, 10, 0.05),
            (2.706, 1, 0.10),
            (124.342, 100, 0.05),
            (0.0, 3, 1.0),
        ] {
            let found = upper_tail(x, degrees);
            assert!((found - p).abs() < p * 0.002, "{x} with {degrees}: {found}, not {p}");
        }
        assert!(upper_tail(5_000.0, 4) < 1e-9);
    }

    #[test]
    fn two_proportions_are_tested_as_a_table_of_four() {
        // 40 of 100 and 60 of 100: z = 2.828, z² = 8.
        let Significance::Tested { chi_square, degrees, p } =
            Significance::test(&[vec![40, 60], vec![60, 40]])
        else {
            panic!("not tested");
        };
        assert!((chi_square - 8.0).abs() < 1e-9 && degrees == 1);
        assert!((p - 0.004_678).abs() < 1e-5, "{p}");
    }

    #[test]
    fn empty_groups_are_ignored_and_few_answers_are_not_tested() {
        let tested = |cells: &[Vec<u64>]| Significance::test(cells);
        let plain = tested(&[vec![40, 60], vec![60, 40]]);
        assert_eq!(tested(&[vec![40, 0, 60], vec![0, 0, 0], vec![60, 0, 40]]), plain);
        assert_eq!(tested(&[vec![4, 1], vec![1, 4]]), Significance::TooFew);
        assert_eq!(tested(&[vec![400, 1], vec![100, 0]]), Significance::TooFew);
        for nothing in
            [&[][..], &[vec![]], &[vec![5, 5]], &[vec![5], vec![5]], &[vec![0, 0], vec![9, 9]]]
        {
            assert_eq!(tested(nothing), Significance::NotTested);
        }
    }

    #[test]
    fn equal_shares_are_chance() {
        let Significance::Tested { p, .. } = Significance::test(&[vec![20, 30], vec![40, 60]])
        else {
            panic!("not tested");
        };
        assert!((p - 1.0).abs() < 1e-9, "{p}");
    }
}
