//! Branding of hosted pages: the design of an app or a flow, and whether suspected bots must
//! confirm.
//!
//! The settings are stored as the JSON that an administrator sees. What pages need (decoded
//! pictures, ready to send, and readable colours) is computed when the app or the flow is loaded.

use serde_json::Value;
use sluice_flow::definition::Fault;
use sluice_flow::design::{Design, DesignField, Palette};
use sluice_store::{AppRow, FlowRow};

use crate::design::{DesignPatch, Logo};

/// The settings of an app's hosted pages, as administrators see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostedSettings {
    /// The design of its flows, unless they have their own.
    pub design: Design,
    pub spam_protection: bool,
}

impl Default for HostedSettings {
    fn default() -> Self {
        Self { design: Design::default(), spam_protection: true }
    }
}

impl HostedSettings {
    /// The settings of an app; the defaults if it has none.
    pub fn from_app(app: &AppRow) -> Self {
        let stored = app.hosted.as_deref().and_then(|it| serde_json::from_str(it).ok());
        let stored: Value = stored.unwrap_or_default();
        let spam_protection = stored.get("spamProtection").and_then(Value::as_bool);
        Self {
            design: Design::from_json(&stored),
            spam_protection: spam_protection.unwrap_or(true),
        }
    }

    /// The settings as stored; `None` if all of them are the defaults.
    pub(crate) fn to_stored(&self) -> Option<String> {
        let mut stored = self.design.to_json();
        if !self.spam_protection {
            stored.insert("spamProtection".to_owned(), false.into());
        }
        (!stored.is_empty()).then(|| Value::from(stored).to_string())
    }
}

/// Changes to the settings; absent fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostedPatch {
    pub design: DesignPatch,
    pub spam_protection: Option<bool>,
}

impl HostedPatch {
    pub(crate) fn apply(&self, settings: &mut HostedSettings) {
        self.design.apply(&mut settings.design);
        // An app inherits nothing: a value that removes something is the same as none.
        settings.design = settings.design.over(&Design::default());
        if let Some(protection) = self.spam_protection {
            settings.spam_protection = protection;
        }
    }

    /// The changes for the audit log.
    pub(crate) fn to_json(&self) -> Value {
        let mut changes = self.design.to_json();
        if let Some(protection) = self.spam_protection {
            changes.insert("spamProtection".into(), protection.into());
        }
        changes.into()
    }

    pub(crate) fn faults(&self) -> impl Iterator<Item = Fault> {
        self.design.faults("/hosted")
    }
}

/// The parts of its app's design that a flow replaces.
pub fn design_of(flow: &FlowRow) -> Design {
    Design::from_stored(flow.design.as_deref())
}

/// The settings as pages need them.
#[derive(Debug, Clone)]
pub struct Branding {
    /// Without its pictures.
    pub design: Design,
    pub palette: Palette,
    pub logo: Option<Logo>,
    /// The logo in dark mode; absent if it is the same.
    pub dark_logo: Option<Logo>,
    /// Whether suspected bots are asked to send once more.
    pub spam_protection: bool,
}

impl Branding {
    pub(crate) fn from_app(app: &AppRow) -> Self {
        let HostedSettings { design, spam_protection } = HostedSettings::from_app(app);
        Self::new(design, spam_protection)
    }

    pub(crate) fn from_flow(flow: &FlowRow, app: &AppRow) -> Self {
        let HostedSettings { design, spam_protection } = HostedSettings::from_app(app);
        Self::new(design_of(flow).over(&design), spam_protection)
    }

    fn new(mut design: Design, spam_protection: bool) -> Self {
        let mut picture = |field| {
            let picture = design.own(field).and_then(Logo::new);
            design.set(field, None);
            picture
        };
        let (logo, dark_logo) = (picture(DesignField::Logo), picture(DesignField::DarkLogo));
        Self { palette: design.palette(), design, logo, dark_logo, spam_protection }
    }

    pub fn logos(&self) -> impl Iterator<Item = &Logo> {
        self.logo.iter().chain(&self.dark_logo)
    }

    /// The memory that it takes, for a bounded cache.
    pub(crate) fn weight(&self) -> usize {
        self.logos().map(|logo| logo.served.weight()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(color: Option<&str>, background: Option<&str>, spam_protection: bool) -> HostedPatch {
        let parts = [(DesignField::AccentColor, color), (DesignField::Background, background)];
        let parts = parts.map(|(field, value)| (field, value.map(str::to_owned)));
        HostedPatch { design: parts.into_iter().collect(), spam_protection: Some(spam_protection) }
    }

    #[test]
    fn default_settings_are_not_stored() {
        let mut settings = HostedSettings::default();
        assert_eq!(settings.to_stored(), None);
        patch(Some("#FC0"), Some("none"), false).apply(&mut settings);
        let stored = settings.to_stored().unwrap();
        assert_eq!(stored, r##"{"accentColor":"#ffcc00","spamProtection":false}"##);
        patch(None, None, true).apply(&mut settings);
        assert_eq!(settings.to_stored(), None);
    }
}
