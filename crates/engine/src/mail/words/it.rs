//! Italian.

use sluice_flow::phrase::Forms;

use super::Words;

pub(super) const WORDS: Words = Words {
    language: "it",
    invitation_subject: "Invito: {title}",
    invitation_text: "La invitiamo a rispondere ad alcune domande. Le Sue risposte ci aiutano a migliorare.",
    answer: "Rispondi ora",
    reminder: "Promemoria: {subject}",
    reminder_text: "Non ha ancora risposto. C’è ancora tempo.",
    personal: "Questo link è riservato a Lei. La preghiamo di non inoltrarlo.",
    until: "Funziona fino al {day}.",
    reason: "Riceve questa e-mail perché {app} L’ha invitata.",
    unsubscribe: "Annulla l’iscrizione",
    welcome_subject: "Scelga la Sua password",
    welcome_text: "È stato creato un account per Lei su {url}. Scelga una password per accedere.",
    reset_subject: "Reimposta la password",
    reset_text: "Qualcuno ha chiesto di reimpostare la Sua password su {url}.",
    set_password: "Imposta la password",
    once: "Il link funziona una volta sola, entro 24 ore.",
    ignore: "Se non aspettava questa e-mail, può ignorarla. Non cambierà nulla.",
    notice_subject: Forms::one("Nuova risposta: {name}", "{n} nuove risposte: {name}"),
    notice_response: "Risposta del {time}",
    notice_open: "Apri la risposta",
    notice_more: Forms::one("… e un’altra", "… e altre {n}"),
    notice_all: "Apri tutte le risposte",
    notice_reason: "Riceve questa e-mail perché ha attivato gli avvisi di questo questionario.",
    notice_stop: "Disattiva questi avvisi",
    endpoint_subject: "Endpoint webhook disattivato: {name}",
    endpoint_disabled: "L’endpoint webhook su {host} è stato disattivato.",
    endpoint_gone: "Il destinatario ha risposto con lo stato 410, cioè non vuole ricevere altro.",
    endpoint_failing: "Da cinque giorni nessuna consegna è riuscita.",
    endpoint_next: "Ciò che accade da ora resta nel registro degli eventi. Se riattiva l’endpoint, riprende da dove si è fermato. Lì si possono inviare di nuovo le consegne non riuscite.",
    endpoint_open: "Apri l’endpoint",
    endpoint_reason: "Riceve questa e-mail perché amministra questa app.",
};
