//! Dutch.

use sluice_flow::phrase::Forms;

use super::Words;

pub(super) const WORDS: Words = Words {
    language: "nl",
    invitation_subject: "Uitnodiging: {title}",
    invitation_text: "U bent uitgenodigd om een paar vragen te beantwoorden. Uw antwoorden maken verschil.",
    answer: "Nu antwoorden",
    reminder: "Herinnering: {subject}",
    reminder_text: "U hebt nog niet geantwoord. Het kan nog.",
    personal: "Deze link is alleen voor u. Geef hem niet door.",
    until: "De link werkt tot {day}.",
    reason: "U ontvangt deze e-mail omdat {app} u heeft uitgenodigd.",
    unsubscribe: "Afmelden",
    welcome_subject: "Stel uw wachtwoord in",
    welcome_text: "Er is een account voor u aangemaakt op {url}. Kies een wachtwoord om in te loggen.",
    reset_subject: "Wachtwoord opnieuw instellen",
    reset_text: "Iemand heeft gevraagd uw wachtwoord op {url} opnieuw in te stellen.",
    set_password: "Wachtwoord instellen",
    once: "De link werkt één keer, binnen 24 uur.",
    ignore: "Als u deze e-mail niet verwachtte, kunt u hem negeren. Er verandert dan niets.",
    notice_subject: Forms::one("Nieuw antwoord: {name}", "{n} nieuwe antwoorden: {name}"),
    notice_response: "Antwoord van {time}",
    notice_open: "Antwoord openen",
    notice_more: Forms::same("… en nog {n}"),
    notice_all: "Alle antwoorden openen",
    notice_reason: "U ontvangt deze e-mail omdat u meldingen van deze vragenlijst hebt gekozen.",
    notice_stop: "Deze meldingen stoppen",
    endpoint_subject: "Webhook-eindpunt uitgeschakeld: {name}",
    endpoint_disabled: "Het webhook-eindpunt op {host} is uitgeschakeld.",
    endpoint_gone: "De ontvanger antwoordde met status 410, wat betekent dat hij niets meer wil ontvangen.",
    endpoint_failing: "Al vijf dagen is geen enkele bezorging gelukt.",
    endpoint_next: "Wat vanaf nu gebeurt, blijft in het gebeurtenislogboek. Als u het eindpunt weer inschakelt, gaat het verder waar het was gestopt. Mislukte bezorgingen kunnen daar opnieuw worden verzonden.",
    endpoint_open: "Eindpunt openen",
    endpoint_reason: "U ontvangt deze e-mail omdat u deze app beheert.",
};
