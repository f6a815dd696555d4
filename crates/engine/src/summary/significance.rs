//! Whether differences between groups could be chance: the chi-square test of independence. For two
//! groups and two answers it is the test of two proportions.

use super::tails::chi_square_tail;

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
        Self::Tested { chi_square, degrees, p: chi_square_tail(chi_square, degrees) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
