//! German.

use sluice_flow::phrase::Forms;

use super::Words;

pub(super) const WORDS: Words = Words {
    language: "de",
    invitation_subject: "Einladung: {title}",
    invitation_text: "Sie sind eingeladen, einige Fragen zu beantworten. Ihre Antworten helfen uns weiter.",
    answer: "Jetzt antworten",
    reminder: "Erinnerung: {subject}",
    reminder_text: "Sie haben noch nicht geantwortet. Es ist noch Zeit.",
    personal: "Dieser Link ist nur für Sie bestimmt. Bitte geben Sie ihn nicht weiter.",
    until: "Er gilt bis {day}.",
    reason: "Sie erhalten diese E-Mail, weil {app} Sie eingeladen hat.",
    unsubscribe: "Abmelden",
    welcome_subject: "Legen Sie Ihr Passwort fest",
    welcome_text: "Für Sie wurde ein Konto auf {url} angelegt. Wählen Sie ein Passwort, um sich anzumelden.",
    reset_subject: "Passwort zurücksetzen",
    reset_text: "Jemand möchte Ihr Passwort auf {url} zurücksetzen.",
    set_password: "Passwort festlegen",
    once: "Der Link funktioniert einmal, innerhalb von 24 Stunden.",
    ignore: "Wenn Sie diese E-Mail nicht erwartet haben, können Sie sie ignorieren. Dann ändert sich nichts.",
    notice_subject: Forms::one("Neue Antwort: {name}", "{n} neue Antworten: {name}"),
    notice_response: "Antwort vom {time}",
    notice_open: "Antwort öffnen",
    notice_more: Forms::same("… und {n} weitere"),
    notice_all: "Alle Antworten öffnen",
    notice_reason: "Sie erhalten diese E-Mail, weil Sie Benachrichtigungen zu dieser Umfrage gewählt haben.",
    notice_stop: "Diese Benachrichtigungen beenden",
    endpoint_subject: "Webhook-Endpunkt deaktiviert: {name}",
    endpoint_disabled: "Der Webhook-Endpunkt auf {host} wurde deaktiviert.",
    endpoint_gone: "Der Empfänger hat mit dem Status 410 geantwortet. Das bedeutet, dass er nichts mehr erhalten möchte.",
    endpoint_failing: "Seit fünf Tagen war keine Zustellung erfolgreich.",
    endpoint_next: "Was ab jetzt geschieht, bleibt im Ereignisprotokoll. Wenn Sie den Endpunkt wieder aktivieren, fährt er dort fort, wo er aufgehört hat. Fehlgeschlagene Zustellungen können dort erneut gesendet werden.",
    endpoint_open: "Endpunkt öffnen",
    endpoint_reason: "Sie erhalten diese E-Mail, weil Sie diese App verwalten.",
};
