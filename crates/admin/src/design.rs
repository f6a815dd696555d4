//! The design of hosted pages in requests and replies: the same members for apps and flows.

use serde::{Deserialize, Serialize};
use sluice_engine::design::DesignPatch as Changes;
use sluice_flow::design::{Design as Stored, DesignField};
use utoipa::ToSchema;

use super::schema::given;

/// Declares the changes to a design, and a design, each with the members that are only for apps.
macro_rules! design {
    (
        $(#[$about_patch:meta])* $patch:ident { $($more_patch:tt)* }
        $(#[$about:meta])* $design:ident { $($more:tt)* }
    ) => {
        #[derive(Debug, Deserialize, ToSchema)]
        $(#[$about_patch])*
        #[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
        pub(super) struct $patch {
            /// The colour of buttons and marks, such as `#0a7d4f`. Text on it is black or white,
            /// whichever has more contrast; links and outlines are as dark or light as needed to be
            /// readable.
            #[serde(default, deserialize_with = "given")]
            #[schema(value_type = Option<String>, required = false)]
            accent_color: Option<Option<String>>,
            /// A colour, the id of an uploaded image (`as_…`), or `none` for the default of each
            /// colour scheme. On an image, the page is a panel in the default colours. A colour on
            /// which texts would not be readable in one of the schemes is shown there as the
            /// nearest one on which they are.
            #[serde(default, deserialize_with = "given")]
            #[schema(value_type = Option<String>, required = false)]
            background: Option<Option<String>>,
            /// `system`, `humanist`, `geometric`, `rounded`, `serif` or `mono`: fonts that devices
            /// have; none is loaded.
            #[serde(default, deserialize_with = "given")]
            #[schema(value_type = Option<String>, required = false)]
            font: Option<Option<String>>,
            /// `square`, `soft` or `round`.
            #[serde(default, deserialize_with = "given")]
            #[schema(value_type = Option<String>, required = false)]
            corners: Option<Option<String>>,
            /// `light`, `dark`, or `auto`: as the reader's device. The parameter `theme` of an
            /// address takes precedence.
            #[serde(default, deserialize_with = "given")]
            #[schema(value_type = Option<String>, required = false)]
            theme: Option<Option<String>>,
            /// A picture of at most 65,536 bytes as `data:image/png;base64,…` (png, jpeg, webp or
            /// svg+xml), or `none`.
            #[serde(default, deserialize_with = "given")]
            #[schema(value_type = Option<String>, required = false)]
            logo: Option<Option<String>>,
            /// The same for dark mode. Without it, both have the one logo; a flow with its own logo
            /// does not inherit this one.
            #[serde(default, deserialize_with = "given")]
            #[schema(value_type = Option<String>, required = false)]
            dark_logo: Option<Option<String>>,
            /// The text of the button to the next question in every language, at most 40
            /// characters; empty for the page's own text in the reader's language.
            #[serde(default, deserialize_with = "given")]
            #[schema(value_type = Option<String>, required = false)]
            next_text: Option<Option<String>>,
            /// The same for the button to the previous question.
            #[serde(default, deserialize_with = "given")]
            #[schema(value_type = Option<String>, required = false)]
            back_text: Option<Option<String>>,
            /// The same for the button that sends.
            #[serde(default, deserialize_with = "given")]
            #[schema(value_type = Option<String>, required = false)]
            send_text: Option<Option<String>>,
            $($more_patch)*
        }

        impl $patch {
            pub(super) fn changes(self) -> Changes {
                let parts = [
                    (DesignField::AccentColor, self.accent_color),
                    (DesignField::Background, self.background),
                    (DesignField::Font, self.font),
                    (DesignField::Corners, self.corners),
                    (DesignField::Theme, self.theme),
                    (DesignField::Logo, self.logo),
                    (DesignField::DarkLogo, self.dark_logo),
                    (DesignField::NextText, self.next_text),
                    (DesignField::BackText, self.back_text),
                    (DesignField::SendText, self.send_text),
                ];
                parts.into_iter().filter_map(|(field, value)| Some((field, value?))).collect()
            }
        }

        #[derive(Debug, Serialize, ToSchema)]
        $(#[$about])*
        #[serde(rename_all = "camelCase")]
        pub(super) struct $design {
            #[schema(required = true)]
            accent_color: Option<String>,
            #[schema(required = true)]
            background: Option<String>,
            #[schema(required = true)]
            font: Option<String>,
            #[schema(required = true)]
            corners: Option<String>,
            #[schema(required = true)]
            theme: Option<String>,
            /// A `data:` address.
            #[schema(required = true)]
            logo: Option<String>,
            /// A `data:` address.
            #[schema(required = true)]
            dark_logo: Option<String>,
            #[schema(required = true)]
            next_text: Option<String>,
            #[schema(required = true)]
            back_text: Option<String>,
            #[schema(required = true)]
            send_text: Option<String>,
            $($more)*
        }
    };
}

design! {
    /// Changes to a flow's design; absent fields stay, null restores the app's.
    #[schema(example = json!({"accentColor": "#0a7d4f", "corners": "round", "logo": null}))]
    DesignPatch {}
    /// The parts of its app's design that a flow replaces; null is the same as the app.
    Design {}
}

design! {
    /// Changes to an app's hosted pages; absent fields stay, null restores the default. The design
    /// is that of all its flows, except for what they replace.
    #[schema(example = json!({"accentColor": "#0a7d4f", "spamProtection": true}))]
    HostedPatch {
        /// Whether suspected bots must send again: a form sent within two seconds, or with a hidden
        /// field filled in, is shown once more.
        #[serde(default, deserialize_with = "given")]
        #[schema(nullable = false)]
        pub(super) spam_protection: Option<bool>,
    }
    /// How an app's hosted pages look and are guarded; null is the default.
    HostedLook {
        spam_protection: bool,
    }
}

impl Design {
    pub(super) fn new(design: &Stored) -> Self {
        let own = |field| design.get(field).map(str::to_owned);
        Self {
            accent_color: own(DesignField::AccentColor),
            background: own(DesignField::Background),
            font: own(DesignField::Font),
            corners: own(DesignField::Corners),
            theme: own(DesignField::Theme),
            logo: own(DesignField::Logo),
            dark_logo: own(DesignField::DarkLogo),
            next_text: own(DesignField::NextText),
            back_text: own(DesignField::BackText),
            send_text: own(DesignField::SendText),
        }
    }
}

impl HostedLook {
    pub(super) fn new(design: &Stored, spam_protection: bool) -> Self {
        let Design {
            accent_color,
            background,
            font,
            corners,
            theme,
            logo,
            dark_logo,
            next_text,
            back_text,
            send_text,
        } = Design::new(design);
        Self {
            accent_color,
            background,
            font,
            corners,
            theme,
            logo,
            dark_logo,
            next_text,
            back_text,
            send_text,
            spam_protection,
        }
    }
}
