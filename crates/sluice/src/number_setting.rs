//! A setting that is a number: its flag, its unit, its default, and the range that is allowed.

use crate::failure::Failure;

pub(crate) struct NumberSetting {
    pub(crate) flag: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) default: u64,
    pub(crate) allowed: std::ops::RangeInclusive<u64>,
}

impl NumberSetting {
    pub(crate) fn resolve(&self, given: Option<u64>) -> Result<usize, Failure> {
        let Self { flag, unit, default, allowed } = self;
        let number = given.unwrap_or(*default);
        let fits = usize::try_from(number).ok().filter(|_| allowed.contains(&number));
        fits.ok_or_else(|| {
            Failure::usage(
                format!("{flag} is out of range: {number} {unit}"),
                format!("choose --{flag} from {} to {}", allowed.start(), allowed.end()),
            )
        })
    }
}
