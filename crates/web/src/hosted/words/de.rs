//! German.

use super::{Form, Notice, Rule, Said, Script, States, Words};

pub(super) const WORDS: Words = Words {
    language: "de",
    form: Form {
        next: "Weiter",
        back: "Zurück",
        send: "Absenden",
        of: "Frage {n} von {all}",
        optional: "(freiwillig)",
        choose: "Bitte wählen…",
        other: "Etwas anderes",
        own_answer: "In Ihren eigenen Worten",
        yes: "Ja",
        no: "Nein",
        agree: "Ich stimme zu",
        position: "{label}: Platz",
        consent: Said {
            title: "Dürfen Ihre Antworten mit Ihnen verknüpft werden?",
            text: "Ohne Häkchen werden Ihre Antworten ohne alles gespeichert, was sagt, wer Sie sind.",
        },
        consent_box: "Ja, meine Antworten dürfen mit mir verknüpft werden",
        trap: "Dieses Feld leer lassen",
        end: Said {
            title: "Das war die letzte Frage",
            text: "Senden Sie Ihre Antworten ab, wenn Sie so weit sind.",
        },
    },
    rule: Rule {
        problem: "Bitte sehen Sie das noch einmal an",
        required: "Beantworten Sie diese Frage.",
        every_row: "Wählen Sie in jeder Zeile eine Antwort.",
        email: "Geben Sie eine E-Mail-Adresse wie name@example.com ein.",
        url: "Geben Sie eine Webadresse ein, die mit http:// oder https:// beginnt.",
        phone: "Geben Sie eine Telefonnummer aus Ziffern, Leerzeichen und + - ( ) . ein.",
        number: "Geben Sie eine Zahl ein",
        whole_number: "Geben Sie eine ganze Zahl ein",
        date: "Geben Sie ein Datum ein",
        length: "Schreiben Sie {range} Zeichen.",
        selected: "Wählen Sie {range} aus.",
        option: "Wählen Sie aus den Antworten.",
        ranking: "Geben Sie jeder Antwort einen eigenen Platz.",
        other: "Schreiben Sie Ihre eigene Antwort, oder wählen Sie eine andere.",
        too_long: "Diese Antwort ist zu lang.",
        between: "von {min} bis {max}",
        at_least: "mindestens {min}",
        at_most: "höchstens {max}",
    },
    notice: Notice {
        parameters: "Ein Teil des Links war nicht brauchbar ({names}). Ihre Antworten werden trotzdem angenommen.",
        changed: "Das Formular wurde geändert, während Sie geantwortet haben. Ihre Antworten wurden behalten, wo sie noch passen. Bitte sehen Sie sie durch und senden Sie noch einmal ab.",
        robot: "Bitte senden Sie noch einmal ab. Wir bitten darum, wenn ein Formular sehr schnell abgesendet wird, um Roboter fernzuhalten.",
        limited: "Aus Ihrem Netz kamen gerade sehr viele Antworten. Es wurde nichts gespeichert. Bitte warten Sie eine Minute und senden Sie noch einmal ab; Ihre Antworten sind noch da.",
        unavailable: "Ihre Antworten konnten gerade nicht gespeichert werden. Bitte senden Sie gleich noch einmal ab; sie sind noch da.",
    },
    state: States {
        missing: Said {
            title: "Hier ist nichts",
            text: "Die Adresse ist vielleicht falsch geschrieben, oder das Formular ist nicht mehr veröffentlicht. Fragen Sie, wer Ihnen den Link gegeben hat.",
        },
        scheduled: Said {
            title: "Noch nicht offen",
            text: "Sie können ab {time} antworten. Der Link bleibt derselbe.",
        },
        closed: Said {
            title: "Das ist geschlossen",
            text: "Antworten wurden bis {time} angenommen. Danke, dass Sie vorbeigekommen sind.",
        },
        answered: Said {
            title: "Sie haben schon geantwortet",
            text: "Ihre ersten Antworten aus diesem Formular sind gespeichert. Was Sie gerade gesendet haben, ist anders und wurde nicht gespeichert.",
        },
        invitation_used: Said {
            title: "Diese Einladung wurde benutzt",
            text: "Eine Antwort dazu ist schon gespeichert. Danke.",
        },
        invitation_expired: Said {
            title: "Diese Einladung ist abgelaufen",
            text: "Bitten Sie, wer sie geschickt hat, um eine neue.",
        },
        invitation_revoked: Said {
            title: "Diese Einladung wurde zurückgezogen",
            text: "Bitten Sie, wer sie geschickt hat, um eine neue.",
        },
        token_missing: Said {
            title: "Einen Moment",
            text: "Dieses Formular öffnet sich aus der App, aus der Sie kommen. Wenn nichts geschieht, gehen Sie dorthin zurück und öffnen Sie es noch einmal.",
        },
        token_refused: Said {
            title: "Bitte noch einmal öffnen",
            text: "Ihre Anmeldung gilt nicht mehr. Gehen Sie in die App zurück, aus der Sie kommen, und öffnen Sie das Formular noch einmal.",
        },
        token_needs_script: "Dieses Formular braucht JavaScript, weil die App, aus der Sie kommen, sagt, wer Sie sind.",
        failed: Said {
            title: "Das hat nicht geklappt",
            text: "Der Dienst ist gerade nicht erreichbar. Was gespeichert war, ist nicht verloren. Bitte versuchen Sie es gleich noch einmal.",
        },
        too_large: Said {
            title: "Das war zu viel",
            text: "Ihre Antworten sind zusammen zu lang. Gehen Sie zurück und kürzen Sie sie.",
        },
        stored: Said { title: "Danke", text: "Ihre Antworten sind gespeichert." },
        linked: "Wie Sie zugestimmt haben, sind sie mit Ihnen verknüpft.",
        unlinked: "Sie sind nicht mit Ihnen verknüpft: Es wurde nichts dazu gespeichert, was sagt, wer Sie sind.",
        preview: "Vorschau: Es wurde nichts gespeichert.",
        go_on: "Weiter",
        try_again: "Noch einmal versuchen",
        new_form: "Neu antworten",
    },
    script: Script {
        sending: "Wird gesendet…",
        offline: "Sie sind offline. Ihre Antworten bleiben hier und werden gesendet, sobald die Verbindung wieder da ist.",
        retry: "Jetzt versuchen",
        kept: "Das haben Sie beim letzten Mal geschrieben.",
        again: "Von vorn beginnen",
        up: "{label} nach oben",
        down: "{label} nach unten",
        order: "Diese Reihenfolge behalten",
        left: "Noch {n} Zeichen",
        failed: "Das hat nicht geklappt. Ihre Antworten sind noch da; versuchen Sie es noch einmal.",
    },
};
