//! The form of a design, of an app or of a flow: for each part what is inherited, or a custom
//! value.
//!
//! Next to every part is its value when the page was rendered. Only parts that differ from that are
//! changed, so that a save never undoes what someone else changed on another part in the meantime.

use maud::{Markup, html};
use sha2::{Digest, Sha256};
use sluice_engine::design::DesignPatch;
use sluice_flow::definition::Fault;
use sluice_flow::design::{Design, DesignField, DesignValue, LIGHT, NONE};

use super::notes;
use crate::request::Fields;

/// The choice of a custom value, and of an uploaded image.
const OWN: &str = "own";
const IMAGE: &str = "image";
/// The number of hexadecimal digits of the hash that stands for a picture.
const MARK_DIGITS: usize = 16;
const PICTURE_TYPES: &str = "image/png,image/jpeg,image/webp,image/svg+xml";

/// Headings, and the parts below each.
const SECTIONS: [(&str, &[DesignField]); 4] = [
    ("Colours", &[DesignField::AccentColor, DesignField::Background, DesignField::Theme]),
    ("Type and shape", &[DesignField::Font, DesignField::Corners]),
    ("Logo", &[DesignField::Logo, DesignField::DarkLogo]),
    ("Button texts", &[DesignField::NextText, DesignField::BackText, DesignField::SendText]),
];

/// What the form is rendered from.
pub(super) struct DesignForm<'f> {
    /// The parts that are set.
    pub(super) own: &'f Design,
    /// The design of the app, for a flow.
    pub(super) app: Option<&'f Design>,
    /// Where images are uploaded to.
    pub(super) uploads: &'f str,
    /// What was sent, if it could not be saved.
    pub(super) sent: Option<&'f Fields>,
    pub(super) faults: &'f [Fault],
}

/// The changes in a form that was sent.
pub(super) fn changes(form: &Fields) -> DesignPatch {
    let change = |field: DesignField| {
        let name = field.name();
        let value = sent(form, field)?;
        let is_changed = mark(field, value) != form.raw(&format!("{name}.was"));
        is_changed.then(|| (field, value.map(str::to_owned)))
    };
    DesignField::ALL.into_iter().filter_map(change).collect()
}

/// The value of a part in a form; `None` if the form has none for it.
fn sent(form: &Fields, field: DesignField) -> Option<Option<&str>> {
    let name = field.name();
    if !form.has(name) {
        return None;
    }
    let own = form.raw(&format!("{name}.own")).trim();
    match (form.raw(name), field.value()) {
        ("", _) => Some(None),
        (NONE, DesignValue::Text) => Some(Some("")),
        // The picture that it has, or none yet.
        (OWN, DesignValue::Picture) if own.is_empty() => None,
        // None until one is uploaded.
        (IMAGE, DesignValue::Background) => form.get(&format!("{name}.image")).map(Some),
        (OWN, _) => Some(Some(own)),
        (value, _) => Some(Some(value)),
    }
}

/// The value of a part for comparison. A picture is long, so its hash stands for it.
pub(super) fn mark(field: DesignField, value: Option<&str>) -> String {
    let Some(value) = value else { return String::new() };
    match field.value() {
        DesignValue::Picture if value != NONE => {
            let hash = Sha256::digest(value);
            let digits = hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            format!("#{}", &digits[..MARK_DIGITS])
        }
        _ => format!("={}", field.read(value).unwrap_or_else(|_| value.to_owned())),
    }
}

/// The field of the form that a fault belongs to.
pub(super) fn field_of(pointer: &str) -> Option<String> {
    let name = pointer.rsplit('/').next()?;
    let field = DesignField::ALL.into_iter().find(|field| field.name() == name)?;
    Some(match field.value() {
        DesignValue::OneOf(_) => name.to_owned(),
        _ => format!("{name}-own"),
    })
}

impl DesignForm<'_> {
    pub(super) fn fields(&self) -> Markup {
        html! {
            @for (heading, fields) in SECTIONS {
                section.card {
                    h2 { (heading) }
                    @for field in fields { (self.part(*field)) }
                }
            }
        }
    }

    fn part(&self, field: DesignField) -> Markup {
        let name = field.name();
        let note = notes::for_field(field, self.own, self.app);
        html! {
            fieldset.part data-part=(name) {
                legend.label { (label(field)) }
                @if let Some(hint) = self.hint(field) { p.hint id={ (name) "-hint" } { (hint) } }
                input type="hidden" name={ (name) ".was" } value=(self.was(field));
                @match field.value() {
                    DesignValue::OneOf(names) if names.len() > 3 => (self.list(field)),
                    _ => (self.choices(field)),
                }
                (self.own_value(field))
                @if matches!(field.value(), DesignValue::Color | DesignValue::Background) {
                    p.hint id={ (name) "-note" } aria-live="polite" { (note) }
                }
                @if let Some(error) = self.error(field) { p.error id={ (name) "-error" } { (error) } }
            }
        }
    }

    fn was(&self, field: DesignField) -> String {
        let kept = self.sent.map(|form| form.raw(&format!("{}.was", field.name())).to_owned());
        kept.unwrap_or_else(|| mark(field, self.own.get(field)))
    }

    fn error(&self, field: DesignField) -> Option<&str> {
        let found =
            self.faults.iter().find(|it| it.pointer.ends_with(&format!("/{}", field.name())));
        found.map(|fault| fault.message.as_str())
    }

    /// The choice as stored, or as sent.
    fn chosen(&self, field: DesignField) -> &str {
        if let Some(form) = self.sent {
            return form.raw(field.name());
        }
        match (self.own.get(field), field.value()) {
            (None, _) => "",
            (Some(""), DesignValue::Text) => NONE,
            (Some(value), DesignValue::OneOf(_)) if self.app.is_none() => own_name(field, value),
            (Some(value), DesignValue::OneOf(_)) => value,
            (Some(NONE), DesignValue::Background | DesignValue::Picture) => NONE,
            (Some(_), DesignValue::Background) if self.own.background_image().is_some() => IMAGE,
            (Some(_), _) => OWN,
        }
    }

    /// All choices of a part, each with its label.
    fn options(&self, field: DesignField) -> Vec<(&'static str, String)> {
        if let (DesignValue::OneOf(names), None) = (field.value(), self.app) {
            let named = |name| (own_name(field, name), option_label(name).to_owned());
            return names.iter().copied().map(named).collect();
        }
        let mut options = vec![("", self.inherited(field))];
        let named = |name: &'static str| (name, option_label(name).to_owned());
        match field.value() {
            DesignValue::OneOf(names) => options.extend(names.iter().copied().map(named)),
            DesignValue::Color => options.push((OWN, "Custom colour".to_owned())),
            DesignValue::Background | DesignValue::Picture | DesignValue::Text => {
                let (none, own) = match field.value() {
                    DesignValue::Background => ("None", "Custom colour"),
                    DesignValue::Picture => ("No logo", "Custom logo"),
                    _ => ("In the reader’s language", "Custom text"),
                };
                if self.app.is_some() {
                    options.push((NONE, none.to_owned()));
                }
                options.push((OWN, own.to_owned()));
                if field.value() == DesignValue::Background {
                    options.push((IMAGE, "Custom image".to_owned()));
                }
            }
        }
        options
    }

    /// The label of the choice without a custom value.
    fn inherited(&self, field: DesignField) -> String {
        let Some(app) = self.app else {
            return match field.value() {
                DesignValue::Picture => "No logo",
                DesignValue::Text => "In the reader’s language",
                _ => "Default",
            }
            .to_owned();
        };
        let value = match (app.own(field), field.value()) {
            (Some(value), DesignValue::OneOf(_)) => option_label(value).to_owned(),
            (Some(value), DesignValue::Text) => format!("“{value}”"),
            (Some(_), DesignValue::Picture) => return "Same as the app".to_owned(),
            (Some(_), DesignValue::Background) if app.background_image().is_some() => {
                "image".to_owned()
            }
            (Some(value), _) => value.to_owned(),
            (None, DesignValue::Picture) => "no logo".to_owned(),
            (None, DesignValue::Text) => return "Same as the app".to_owned(),
            (None, _) => "default".to_owned(),
        };
        format!("Same as the app ({value})")
    }

    fn choices(&self, field: DesignField) -> Markup {
        let (name, chosen) = (field.name(), self.chosen(field));
        let is_single = matches!(field.value(), DesignValue::OneOf(_));
        html! {
            div.segments {
                @for (at, (value, label)) in self.options(field).into_iter().enumerate() {
                    // A fault of a part without a custom value leads to its first choice.
                    label { input type="radio" name=(name) value=(value) checked[value == chosen] id=[(is_single && at == 0).then_some(name)]; span { (label) } }
                }
            }
        }
    }

    fn list(&self, field: DesignField) -> Markup {
        let (name, chosen) = (field.name(), self.chosen(field));
        html! {
            select.input id=(name) name=(name) aria-label=(label(field)) {
                @for (value, label) in self.options(field) { option value=(value) selected[value == chosen] { (label) } }
            }
        }
    }

    /// The control for a custom value. The script shows it only if that is chosen.
    fn own_value(&self, field: DesignField) -> Markup {
        let (name, id) = (field.name(), format!("{}-own", field.name()));
        let sent = self.sent.map(|form| form.raw(&format!("{name}.own")).to_owned());
        let value = sent.unwrap_or_else(|| self.suggested(field));
        let invalid = self.error(field).map(|_| "true");
        let described = format!("{name}-hint {name}-note {name}-error");
        html! {
            @match field.value() {
                DesignValue::OneOf(_) => {}
                DesignValue::Color | DesignValue::Background => {
                    div.own.inline data-own {
                        input type="color" data-picks=(id) aria-label={ (label(field)) ": choose" } hidden;
                        input.input.mono id=(id) name={ (name) ".own" } value=(value) maxlength="7" spellcheck="false" autocomplete="off"
                            aria-label={ (label(field)) " as a hex value" } aria-describedby=(described) aria-invalid=[invalid];
                    }
                    @if field == DesignField::Background { (self.image()) }
                }
                DesignValue::Text => {
                    div.own data-own {
                        input.input id=(id) name={ (name) ".own" } value=(value) maxlength="40" autocomplete="off"
                            aria-label={ (label(field)) ": own text" } aria-describedby=(described) aria-invalid=[invalid];
                    }
                }
                DesignValue::Picture => {
                    div.own data-own {
                        @let shown = self.own.own(field);
                        p.logo-frame data-dark[field == DesignField::DarkLogo] hidden[shown.is_none()] { img.logo src=[shown] alt={ (label(field)) ": current picture" }; }
                        input.input type="file" id=(id) accept=(PICTURE_TYPES) data-picture aria-label={ (label(field)) ": choose a picture" } aria-describedby=(described) aria-invalid=[invalid];
                        input type="hidden" name={ (name) ".own" } value=(value);
                        noscript { p.hint { "Choosing a picture requires JavaScript. You can also use the API." } }
                    }
                }
            }
        }
    }

    /// The image in the background.
    fn image(&self) -> Markup {
        let stored = self.own.background_image().map(|id| id.to_string());
        let sent = self.sent.map(|form| form.raw("background.image").to_owned());
        let id = sent.or(stored).unwrap_or_default();
        html! {
            div.own data-own-image {
                p.logo-frame hidden[id.is_empty()] {
                    img.background src=[(!id.is_empty()).then(|| format!("/a/{id}"))] alt="Background: current image";
                }
                input.input type="file" accept="image/png,image/jpeg,image/webp" data-uploads=(self.uploads) aria-label="Background: choose an image";
                input type="hidden" name="background.image" value=(id);
                p.hint data-upload-state role="status" {}
                noscript { p.hint { "Choosing an image requires JavaScript. You can also use the API." } }
            }
        }
    }

    /// The custom value, or one to start from.
    fn suggested(&self, field: DesignField) -> String {
        let own = self.own.own(field);
        let app = self.app.and_then(|app| app.own(field));
        match field.value() {
            DesignValue::Picture | DesignValue::OneOf(_) => String::new(),
            DesignValue::Text => own.unwrap_or_default().to_owned(),
            DesignValue::Color => own.or(app).map_or(LIGHT.accent.to_string(), str::to_owned),
            DesignValue::Background => {
                let app = self.app.and_then(Design::background);
                self.own.background().or(app).unwrap_or(LIGHT.ground).to_string()
            }
        }
    }

    fn hint(&self, field: DesignField) -> Option<&'static str> {
        Some(match field {
            DesignField::Logo => "A PNG, JPEG, WebP or SVG image of at most 64 KiB.",
            DesignField::DarkLogo if self.app.is_some() => {
                "Shown in dark mode. A flow with its own logo does not inherit this one."
            }
            DesignField::DarkLogo => "Shown in dark mode; otherwise both have the same logo.",
            DesignField::NextText => {
                "Leave the texts in the reader’s language if your flow has translations. A custom text is shown in every language."
            }
            DesignField::Theme => "Automatic follows the reader’s device.",
            _ => return None,
        })
    }
}

pub(super) fn label(field: DesignField) -> &'static str {
    match field {
        DesignField::AccentColor => "Accent colour",
        DesignField::Background => "Background",
        DesignField::Font => "Font",
        DesignField::Corners => "Corners",
        DesignField::Theme => "Theme",
        DesignField::Logo => "Logo",
        DesignField::DarkLogo => "Logo in dark mode",
        DesignField::NextText => "Next",
        DesignField::BackText => "Back",
        DesignField::SendText => "Send",
    }
}

/// A choice of an app; nothing is stored for the default.
fn own_name(field: DesignField, name: &str) -> &str {
    let default = match field {
        DesignField::Font => "system",
        DesignField::Corners => "soft",
        DesignField::Theme => "auto",
        _ => return name,
    };
    if name == default { "" } else { name }
}

fn option_label(name: &str) -> &str {
    match name {
        "system" => "System",
        "humanist" => "Humanist",
        "geometric" => "Geometric",
        "rounded" => "Rounded",
        "serif" => "Serif",
        "mono" => "Monospaced",
        "square" => "Square",
        "soft" => "Soft",
        "round" => "Round",
        "auto" => "Automatic",
        "light" => "Light",
        "dark" => "Dark",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What a form changes, in the order of the parts.
    fn check(form: &str, expected: &[(DesignField, Option<&str>)]) {
        let expected: DesignPatch =
            expected.iter().map(|(field, value)| (*field, value.map(str::to_owned))).collect();
        assert_eq!(changes(&Fields::parse(form)), expected, "{form}");
    }

    #[test]
    fn only_a_part_that_differs_from_the_page_is_changed() {
        check("font=serif&font.was=", &[(DesignField::Font, Some("serif"))]);
        check("font=serif&font.was=%3Dserif", &[]);
        check("font=&font.was=%3Dserif", &[(DesignField::Font, None)]);
        check("font=&font.was=", &[]);
        check(
            "accentColor=own&accentColor.own=%23FC0&accentColor.was=%3D%23ffcc00&theme=dark&theme.was=",
            &[(DesignField::Theme, Some("dark"))],
        );
        check(
            "accentColor=own&accentColor.own=blue&accentColor.was=",
            &[(DesignField::AccentColor, Some("blue"))],
        );
        check(
            "background=none&background.was=&background.own=%23ffffff",
            &[(DesignField::Background, Some("none"))],
        );
        check(
            "background=image&background.was=&background.image=as_01KA2VgdPrWYDVgYy3wLpB",
            &[(DesignField::Background, Some("as_01KA2VgdPrWYDVgYy3wLpB"))],
        );
        check("background=image&background.was=&background.image=", &[]);
        check("nextText=none&nextText.was=", &[(DesignField::NextText, Some(""))]);
        check("nextText=none&nextText.was=%3D", &[]);
        check("nextText=own&nextText.own=+On+&nextText.was=%3DOn", &[]);
        check("", &[]);
    }

    #[test]
    fn a_picture_is_changed_when_there_is_a_new_one() {
        let was = mark(DesignField::Logo, Some("data:image/png;base64,AAAA"));
        let was = was.replace('#', "%23");
        check(&format!("logo=own&logo.own=&logo.was={was}"), &[]);
        check("logo=own&logo.own=&logo.was=", &[]);
        check(&format!("logo=own&logo.own=data:image/png;base64,AAAA&logo.was={was}"), &[]);
        check(
            &format!("logo=own&logo.own=data:x&logo.was={was}"),
            &[(DesignField::Logo, Some("data:x"))],
        );
        check(&format!("logo=none&logo.was={was}"), &[(DesignField::Logo, Some("none"))]);
        check(&format!("logo=&logo.was={was}"), &[(DesignField::Logo, None)]);
    }

    #[test]
    fn an_unchanged_form_changes_nothing() {
        let own = json!({"accentColor": "#ffcc00", "background": "none", "nextText": "",
            "sendText": "Go", "theme": "dark", "logo": "data:image/png;base64,AAAA"});
        let own = Design::from_json(&own);
        let app = Design::from_json(&json!({"accentColor": "#112233", "font": "mono"}));
        for app in [None, Some(&app)] {
            let form = DesignForm { own: &own, app, uploads: "", sent: None, faults: &[] };
            let mut pairs = String::new();
            for field in DesignField::ALL {
                let (name, chosen) = (field.name(), form.chosen(field));
                let encoded = |text: String| text.replace('#', "%23").replace('=', "%3D");
                let (was, own) = (encoded(form.was(field)), encoded(form.suggested(field)));
                pairs.push_str(&format!("{name}={chosen}&{name}.was={was}&{name}.own={own}&"));
            }
            check(&pairs, &[]);
        }
    }
}
