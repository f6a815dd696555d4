//! German.

use super::{
    FormTexts, Forms, NoticeTexts, RuleTexts, ScriptTexts, StateTexts, TitledText, WaitTexts, Words,
};

pub(super) const WORDS: Words = Words {
    language: "de",
    form: FormTexts {
        next: "Weiter",
        back: "Zurück",
        send: "Absenden",
        ok: "OK",
        of: "Frage {n} von {all}",
        optional: "(optional)",
        choose: "Bitte wählen…",
        other: "Andere",
        own_answer: "Ihre eigene Antwort",
        yes: "Ja",
        no: "Nein",
        agree: "Ich stimme zu",
        position: "{label}: Platz",
        consent: TitledText {
            title: "Dürfen Ihre Antworten mit Ihnen verknüpft werden?",
            text: "Ohne Häkchen werden Ihre Antworten gespeichert, ohne sie mit Ihnen zu verknüpfen.",
        },
        consent_box: "Ja, meine Antworten dürfen mit mir verknüpft werden",
        honeypot: "Dieses Feld leer lassen",
        end: TitledText {
            title: "Das war die letzte Frage",
            text: "Senden Sie Ihre Antworten ab, wenn Sie so weit sind.",
        },
    },
    rule: RuleTexts {
        required: "Beantworten Sie diese Frage.",
        every_row: "Wählen Sie in jeder Zeile eine Antwort.",
        email: "Geben Sie eine E-Mail-Adresse wie name@example.com ein.",
        url: "Geben Sie eine Webadresse ein, die mit http:// oder https:// beginnt.",
        phone: "Geben Sie eine Telefonnummer aus Ziffern, Leerzeichen und + - ( ) . ein.",
        number: "Geben Sie eine Zahl ein",
        whole_number: "Geben Sie eine ganze Zahl ein",
        date: "Geben Sie ein Datum ein",
        sentence: "{rule}.",
        ranged: "{rule}: {range}.",
        length: Forms::same("Schreiben Sie {range} Zeichen."),
        selected: Forms::same("Wählen Sie {range} aus."),
        option: "Wählen Sie aus den Antworten.",
        ranking: "Geben Sie jeder Antwort einen eigenen Platz.",
        other: "Schreiben Sie Ihre eigene Antwort, oder wählen Sie eine andere.",
        too_long: "Diese Antwort ist zu lang.",
        between: "von {min} bis {max}",
        at_least: "mindestens {min}",
        at_most: "höchstens {max}",
    },
    notice: NoticeTexts {
        parameters: "Ein Teil des Links war nicht brauchbar ({names}). Ihre Antworten werden trotzdem angenommen.",
        changed: "Das Formular wurde geändert, während Sie geantwortet haben. Ihre Antworten wurden behalten, wo sie noch passen. Bitte sehen Sie sie durch und senden Sie noch einmal ab.",
        robot: "Bitte senden Sie noch einmal ab. Wir bitten darum, wenn ein Formular sehr schnell abgesendet wird, um Roboter fernzuhalten.",
        limited: "Aus Ihrem Netz kamen gerade sehr viele Antworten, deshalb wurden Ihre nicht gespeichert. Sie sind noch da. {wait}",
        busy: "Gerade antworten sehr viele Menschen, deshalb wurden Ihre Antworten nicht gespeichert. Sie sind noch da. {wait}",
        unavailable: "Ihre Antworten konnten gerade nicht gespeichert werden. Bitte senden Sie gleich noch einmal ab; sie sind noch da.",
        full: "Heute können keine weiteren Antworten gespeichert werden. Ihre Antworten sind noch da. {wait}",
    },
    state: StateTexts {
        missing: TitledText {
            title: "Seite nicht gefunden",
            text: "Vielleicht ist die Adresse falsch geschrieben, oder das Formular ist nicht mehr veröffentlicht. Fragen Sie die Person, von der Sie den Link haben.",
        },
        scheduled: TitledText {
            title: "Noch nicht offen",
            text: "Sie können ab {time} antworten. Der Link bleibt derselbe.",
        },
        closed: TitledText {
            title: "Dieses Formular ist geschlossen",
            text: "Antworten wurden bis {time} angenommen. Vielen Dank für Ihr Interesse.",
        },
        answered: TitledText {
            title: "Sie haben schon geantwortet",
            text: "Ihre ersten Antworten aus diesem Formular sind gespeichert. Was Sie gerade gesendet haben, ist anders und wurde nicht gespeichert.",
        },
        invitation_used: TitledText {
            title: "Diese Einladung wurde schon verwendet",
            text: "Eine Antwort dazu ist bereits gespeichert. Vielen Dank.",
        },
        invitation_expired: TitledText {
            title: "Diese Einladung ist abgelaufen",
            text: "Bitten Sie den Absender um eine neue.",
        },
        invitation_revoked: TitledText {
            title: "Diese Einladung wurde zurückgezogen",
            text: "Bitten Sie den Absender um eine neue.",
        },
        unsubscribe: TitledText {
            title: "Abmelden?",
            text: "{name} schickt dann keine E-Mails mehr an Ihre Adresse, auch nicht, wenn Sie später wieder eingeladen werden.",
        },
        unsubscribe_button: "Abmelden",
        unsubscribed: TitledText {
            title: "Sie sind abgemeldet",
            text: "{name} schickt keine E-Mails mehr an Ihre Adresse, auch nicht, wenn Sie später wieder eingeladen werden.",
        },
        token_missing: TitledText {
            title: "Einen Moment",
            text: "Dieses Formular öffnet sich aus der App, aus der Sie kommen. Wenn nichts geschieht, gehen Sie dorthin zurück und öffnen Sie es noch einmal.",
        },
        token_refused: TitledText {
            title: "Bitte noch einmal öffnen",
            text: "Ihre Anmeldung gilt nicht mehr. Gehen Sie in die App zurück, aus der Sie kommen, und öffnen Sie das Formular noch einmal.",
        },
        token_needs_script: "Dieses Formular braucht JavaScript, weil die App, aus der Sie kommen, sagt, wer Sie sind.",
        failed: TitledText {
            title: "Etwas ist schiefgegangen",
            text: "Der Dienst ist gerade nicht erreichbar. Gespeicherte Antworten sind nicht verloren. Bitte versuchen Sie es gleich noch einmal.",
        },
        limited: TitledText {
            title: "Bitte warten Sie einen Moment",
            text: "Aus Ihrem Netz kamen gerade sehr viele Anfragen. Gespeicherte Antworten sind nicht verloren. Wenn Sie gerade Antworten abgesendet haben, gehen Sie zurück: Ihre Antworten stehen noch im Formular. {wait}",
        },
        too_large: TitledText {
            title: "Ihre Antworten sind zu lang",
            text: "Zusammen sind sie zu lang zum Absenden. Gehen Sie zurück und kürzen Sie sie.",
        },
        stored: TitledText { title: "Vielen Dank", text: "Ihre Antworten sind gespeichert." },
        linked: "Wie Sie zugestimmt haben, sind sie mit Ihnen verknüpft.",
        anonymous: "Sie sind anonym: Es wurde nichts mitgespeichert, was Sie erkennbar macht.",
        unlinked: "Sie sind nicht mit Ihnen verknüpft. Was Sie über sich selbst geschrieben haben, ist Teil der Antworten.",
        preview: "Vorschau: Es wurde nichts gespeichert.",
        test: "Test: Diese Antwort wird nicht gezählt.",
        go_on: "Weiter",
        try_again: "Noch einmal versuchen",
        new_form: "Neu antworten",
    },
    wait: WaitTexts {
        seconds: Forms::one(
            "Versuchen Sie es in {n} Sekunde noch einmal.",
            "Versuchen Sie es in {n} Sekunden noch einmal.",
        ),
        minutes: Forms::one(
            "Versuchen Sie es in {n} Minute noch einmal.",
            "Versuchen Sie es in {n} Minuten noch einmal.",
        ),
        hours: Forms::one(
            "Versuchen Sie es in {n} Stunde noch einmal.",
            "Versuchen Sie es in {n} Stunden noch einmal.",
        ),
    },
    script: ScriptTexts {
        sending: "Wird gesendet…",
        offline: "Sie sind offline. Ihre Antworten bleiben hier und werden gesendet, sobald die Verbindung wieder da ist.",
        retry: "Jetzt versuchen",
        kept: "Ihre Antworten vom letzten Mal sind eingetragen.",
        again: "Von vorn beginnen",
        up: "{label} nach oben",
        down: "{label} nach unten",
        order: "Diese Reihenfolge behalten",
        left: Forms::same("Noch {n} Zeichen"),
        failed: "Das hat nicht geklappt. Ihre Antworten sind noch da; versuchen Sie es noch einmal.",
    },
};
