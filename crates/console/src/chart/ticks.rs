//! Ticks at round numbers: 1, 2 or 5 times a power of ten.

/// The ends of a scale, and the ticks along it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) ticks: Vec<f64>,
}

impl Scale {
    /// From zero to at least `most`, in whole numbers.
    pub(super) fn for_counts(most: u64) -> Self {
        let step = nice_step(most.max(1) as f64 / 3.0).max(1.0);
        Self::stepped(0.0, most.max(1) as f64, step)
    }

    /// From zero to at least `most`, in percent.
    pub(super) fn for_shares(most: f64) -> Self {
        let most = most.clamp(1.0, 100.0);
        Self::stepped(0.0, most, nice_step(most / 4.0).max(1.0))
    }

    /// A scale that contains all `values`, within `limits` if there are any.
    pub(super) fn containing(
        values: impl Iterator<Item = f64>,
        limits: Option<(f64, f64)>,
    ) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = limits.unwrap_or((0.0, 1.0));
        }
        // Small differences must not look large.
        let (floor, ceiling) = limits.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let whole =
            if limits.is_some() { ceiling - floor } else { low.abs().max(high.abs()).max(1.0) };
        let least = whole / 4.0;
        if high - low < least {
            let middle = f64::midpoint(low, high);
            (low, high) = (middle - least / 2.0, middle + least / 2.0);
        }
        let step = nice_step((high - low) / 3.0);
        let scale = Self::stepped((low / step).floor() * step, high, step);
        let within = |value: f64| value.clamp(floor, ceiling);
        let (from, to) = (within(scale.from), within(scale.to));
        let ticks = scale.ticks.into_iter().filter(|tick| (from..=to).contains(tick)).collect();
        Self { from, to, ticks }
    }

    fn stepped(from: f64, least_to: f64, step: f64) -> Self {
        let steps = ((least_to - from) / step - 1e-9).ceil().clamp(1.0, 12.0) as u32;
        let ticks: Vec<f64> = (0..=steps).map(|at| from + f64::from(at) * step).collect();
        Self { from, to: from + f64::from(steps) * step, ticks }
    }

    /// The position of a value between the ends, from 0 to 1.
    pub(super) fn at(&self, value: f64) -> f64 {
        ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }
}

/// The smallest of 1, 2, 5, 10 … that is at least this.
fn nice_step(rough: f64) -> f64 {
    if !rough.is_finite() || rough <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(rough.log10().floor());
    let lead = rough / power;
    let nice = [1.0, 2.0, 5.0].into_iter().find(|nice| lead <= nice + 1e-9).unwrap_or(10.0);
    nice * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_start_at_zero_and_use_whole_steps() {
        for (most, ticks) in [
            (0, &[0.0, 1.0][..]),
            (1, &[0.0, 1.0]),
            (2, &[0.0, 1.0, 2.0]),
            (3, &[0.0, 1.0, 2.0, 3.0]),
            (7, &[0.0, 5.0, 10.0]),
            (10, &[0.0, 5.0, 10.0]),
            (42, &[0.0, 20.0, 40.0, 60.0]),
            (100, &[0.0, 50.0, 100.0]),
            (1_234, &[0.0, 500.0, 1_000.0, 1_500.0]),
            (1_000_000, &[0.0, 500_000.0, 1_000_000.0]),
        ] {
            let scale = Scale::for_counts(most);
            assert_eq!(scale.ticks, ticks, "{most}");
            assert!(scale.to >= most as f64 && scale.from == 0.0);
        }
    }

    #[test]
    fn shares_end_at_the_next_step_and_never_above_100_percent() {
        for (most, ticks) in [
            (0.0, &[0.0, 1.0][..]),
            (3.0, &[0.0, 1.0, 2.0, 3.0]),
            (14.3, &[0.0, 5.0, 10.0, 15.0]),
            (64.0, &[0.0, 20.0, 40.0, 60.0, 80.0]),
            (99.0, &[0.0, 50.0, 100.0]),
            (100.0, &[0.0, 50.0, 100.0]),
        ] {
            assert_eq!(Scale::for_shares(most).ticks, ticks, "{most}");
        }
    }

    #[test]
    fn values_lie_within_their_scale_and_its_limits() {
        for (values, limits) in [
            (&[3.9, 4.2, 4.4][..], Some((1.0, 5.0))),
            (&[-40.0, 70.0], Some((-100.0, 100.0))),
            (&[100.0, 100.0], Some((-100.0, 100.0))),
            (&[], Some((1.0, 5.0))),
            (&[], None),
            (&[0.0], None),
            (&[-1e9, 1e9], None),
            (&[1e-6, 2e-6], None),
            (&[f64::NAN, 2.0], None),
        ] {
            let scale = Scale::containing(values.iter().copied(), limits);
            assert!(scale.from < scale.to, "{values:?}: {scale:?}");
            assert!((2..=8).contains(&scale.ticks.len()), "{values:?}: {scale:?}");
            for value in values.iter().filter(|value| value.is_finite()) {
                assert!((scale.from..=scale.to).contains(value), "{value} outside {scale:?}");
            }
            if let Some((low, high)) = limits {
                assert!(scale.from >= low && scale.to <= high, "{scale:?}");
            }
        }
    }

    #[test]
    fn small_differences_do_not_look_large() {
        let scale = Scale::containing([4.21, 4.22].into_iter(), Some((1.0, 5.0)));
        assert!((scale.at(4.22) - scale.at(4.21)).abs() < 0.05, "{scale:?}");
    }
}
