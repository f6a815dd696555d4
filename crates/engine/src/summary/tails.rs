//! The upper tails of the chi-square and F distributions: how likely a larger value is.

/// The probability that a chi-square variable exceeds `x`: the regularised upper incomplete gamma
/// function of half the degrees and half of `x`.
pub(super) fn chi_square_tail(x: f64, degrees: u32) -> f64 {
    let (a, x) = (f64::from(degrees) / 2.0, x / 2.0);
    if x <= 0.0 {
        return 1.0;
    }
    let scale = (a * x.ln() - x - ln_gamma(a)).exp();
    let tail = if x < a + 1.0 { 1.0 - scale * series(a, x) } else { scale * fraction(a, x) };
    tail.clamp(0.0, 1.0)
}

/// Enough terms for tables of any size that a page shows, and for millions of answers.
const TERMS_MAX: u32 = 100_000;

/// Stands for zero where a fraction would divide by it.
const TINY: f64 = 1e-300;

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

/// The probability that a variable with the F distribution exceeds `x`: the regularised incomplete
/// beta function of half the degrees, those of the denominator first.
pub(super) fn f_tail(x: f64, above: f64, below: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let at = below / (below + above * x);
    beta(below / 2.0, above / 2.0, at).clamp(0.0, 1.0)
}

/// The regularised incomplete beta function.
fn beta(a: f64, b: f64, x: f64) -> f64 {
    let scale = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    // The fraction converges fast only on one side of the mean.
    match x < (a + 1.0) / (a + b + 2.0) {
        true => scale.exp() * beta_fraction(a, b, x) / a,
        false => 1.0 - scale.exp() * beta_fraction(b, a, 1.0 - x) / b,
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut value = d;
    for n in 1..TERMS_MAX {
        let n = f64::from(n);
        let even = n * (b - n) * x / ((a + 2.0 * n - 1.0) * (a + 2.0 * n));
        let odd = -(a + n) * (a + b + n) * x / ((a + 2.0 * n) * (a + 2.0 * n + 1.0));
        for step in [even, odd] {
            d = 1.0 / away(1.0 + step * d);
            c = away(1.0 + step / c);
            value *= d * c;
        }
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
    fn the_chi_square_tail_agrees_with_published_tables() {
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
            let found = chi_square_tail(x, degrees);
            assert!((found - p).abs() < p * 0.002, "{x} with {degrees}: {found}, not {p}");
        }
        assert!(chi_square_tail(5_000.0, 4) < 1e-9);
    }

    #[test]
    fn the_f_tail_agrees_with_another_implementation() {
        for (x, above, below, p) in [
            (4.0, 1.0, 10.0, 0.073_388_034_770_740_37),
            (2.5, 3.0, 20.5, 0.088_088_954_752_054_78),
            (1.0, 2.0, 2.0, 0.5),
            (0.3, 5.0, 40.0, 0.909_952_561_871_570_6),
            (10.0, 7.0, 12.3, 0.000_311_053_933_710_232_6),
            (3.85, 1.0, 5e6, 0.049_746_046_103_080_88),
            (2.01, 7.0, 123_456.7, 0.049_959_238_077_162_57),
            (0.0, 2.0, 9.0, 1.0),
        ] {
            let found = f_tail(x, above, below);
            assert!((found - p).abs() < p * 1e-6, "{x} with {above} and {below}: {found}, not {p}");
        }
        assert!(f_tail(5_000.0, 3.0, 80.0) < 1e-9);
    }
}
