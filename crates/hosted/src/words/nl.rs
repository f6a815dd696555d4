//! Dutch.

use super::{
    FormTexts, Forms, NoticeTexts, RuleTexts, ScriptTexts, StateTexts, TitledText, WaitTexts, Words,
};

pub(super) const WORDS: Words = Words {
    language: "nl",
    form: FormTexts {
        next: "Volgende",
        back: "Terug",
        send: "Versturen",
        ok: "OK",
        of: "Vraag {n} van {all}",
        optional: "(optioneel)",
        choose: "Kies…",
        other: "Anders",
        own_answer: "Uw eigen antwoord",
        yes: "Ja",
        no: "Nee",
        agree: "Ik ga akkoord",
        position: "{label}: plaats",
        consent: TitledText {
            title: "Mogen uw antwoorden aan u worden gekoppeld?",
            text: "Als u dit niet aanvinkt, worden uw antwoorden opgeslagen zonder ze aan u te koppelen.",
        },
        consent_box: "Ja, mijn antwoorden mogen aan mij worden gekoppeld",
        honeypot: "Laat dit veld leeg",
        end: TitledText {
            title: "Dat was de laatste vraag",
            text: "Verstuur uw antwoorden wanneer u klaar bent.",
        },
    },
    rule: RuleTexts {
        required: "Beantwoord deze vraag.",
        every_row: "Kies in elke rij een antwoord.",
        email: "Vul een e-mailadres in, zoals naam@example.com.",
        url: "Vul een webadres in dat begint met http:// of https://.",
        phone: "Vul een telefoonnummer in met cijfers, spaties en + - ( ) .",
        number: "Vul een getal in",
        whole_number: "Vul een geheel getal in",
        date: "Vul een datum in",
        sentence: "{rule}.",
        ranged: "{rule}: {range}.",
        length: Forms::one("Schrijf {range} teken.", "Schrijf {range} tekens."),
        selected: Forms::same("Kies {range}."),
        option: "Kies een van de opties.",
        ranking: "Geef elke optie een andere plaats.",
        other: "Schrijf uw eigen antwoord of kies een andere optie.",
        too_long: "Dit antwoord is te lang.",
        between: "van {min} tot en met {max}",
        at_least: "ten minste {min}",
        at_most: "ten hoogste {max}",
    },
    notice: NoticeTexts {
        parameters: "Een deel van de link kon niet worden gebruikt ({names}). U kunt gewoon antwoorden.",
        changed: "Dit formulier is gewijzigd terwijl u antwoordde. Antwoorden die nog passen, zijn bewaard. Controleer ze en verstuur opnieuw.",
        robot: "Verstuur het formulier nog een keer. Dat vragen we als een formulier heel snel wordt verstuurd, om spam te voorkomen.",
        limited: "Er kwamen te veel antwoorden uit uw netwerk, dus die van u zijn niet opgeslagen. Ze staan er nog. {wait}",
        busy: "Er antwoorden nu te veel mensen, dus uw antwoorden zijn niet opgeslagen. Ze staan er nog. {wait}",
        unavailable: "Uw antwoorden konden niet worden opgeslagen. Ze staan er nog: verstuur ze zo meteen opnieuw.",
        full: "Vandaag kunnen geen antwoorden meer worden opgeslagen. Uw antwoorden staan er nog. {wait}",
    },
    state: StateTexts {
        missing: TitledText {
            title: "Pagina niet gevonden",
            text: "Misschien is het adres verkeerd getypt, of is het formulier niet meer gepubliceerd. Vraag het aan degene die u de link gaf.",
        },
        scheduled: TitledText {
            title: "Nog niet geopend",
            text: "U kunt antwoorden vanaf {time}. De link blijft hetzelfde.",
        },
        closed: TitledText {
            title: "Dit formulier is gesloten",
            text: "Antwoorden werden aangenomen tot {time}. Bedankt voor uw belangstelling.",
        },
        answered: TitledText {
            title: "U hebt al geantwoord",
            text: "Uw eerste antwoorden op dit formulier zijn opgeslagen. De antwoorden die u zojuist verstuurde, zijn anders en zijn niet opgeslagen.",
        },
        invitation_used: TitledText {
            title: "Deze uitnodiging is al gebruikt",
            text: "Er is al een antwoord opgeslagen. Dank u wel.",
        },
        invitation_expired: TitledText {
            title: "Deze uitnodiging is verlopen",
            text: "Vraag de afzender om een nieuwe.",
        },
        invitation_revoked: TitledText {
            title: "Deze uitnodiging is ingetrokken",
            text: "Vraag de afzender om een nieuwe.",
        },
        unsubscribe: TitledText {
            title: "Afmelden?",
            text: "{name} stuurt dan geen e-mail meer naar uw adres, ook niet als u later opnieuw wordt uitgenodigd.",
        },
        unsubscribe_button: "Afmelden",
        unsubscribed: TitledText {
            title: "U bent afgemeld",
            text: "{name} stuurt geen e-mail meer naar uw adres, ook niet als u later opnieuw wordt uitgenodigd.",
        },
        token_missing: TitledText {
            title: "Een ogenblik",
            text: "Dit formulier wordt geopend vanuit de app waar u vandaan komt. Gebeurt er niets, ga dan terug en open het opnieuw.",
        },
        token_refused: TitledText {
            title: "Open het formulier opnieuw",
            text: "U bent niet meer aangemeld. Ga terug naar de app waar u vandaan komt en open het formulier opnieuw.",
        },
        token_needs_script: "Dit formulier heeft JavaScript nodig, omdat de app waar u vandaan komt bevestigt wie u bent.",
        failed: TitledText {
            title: "Er ging iets mis",
            text: "De dienst is niet beschikbaar. Opgeslagen antwoorden zijn niet verloren. Probeer het zo meteen opnieuw.",
        },
        limited: TitledText {
            title: "Een moment geduld",
            text: "Er kwamen te veel verzoeken uit uw netwerk. Opgeslagen antwoorden zijn niet verloren. Hebt u net antwoorden verstuurd, ga dan terug: ze staan nog in het formulier. {wait}",
        },
        too_large: TitledText {
            title: "Uw antwoorden zijn te lang",
            text: "Samen zijn ze te lang om te versturen. Ga terug en maak ze korter.",
        },
        stored: TitledText { title: "Dank u wel", text: "Uw antwoorden zijn opgeslagen." },
        linked: "Zoals u hebt toegestaan, zijn ze aan u gekoppeld.",
        anonymous: "Ze zijn anoniem: er is niets bij opgeslagen waaraan u te herkennen bent.",
        unlinked: "Ze zijn niet aan u gekoppeld. Wat u over uzelf hebt geschreven, maakt er deel van uit.",
        preview: "Voorbeeld: antwoorden worden niet opgeslagen.",
        test: "Test: dit antwoord telt niet mee.",
        go_on: "Doorgaan",
        try_again: "Opnieuw proberen",
        new_form: "Opnieuw antwoorden",
    },
    wait: WaitTexts {
        seconds: Forms::one(
            "Probeer het over {n} seconde opnieuw.",
            "Probeer het over {n} seconden opnieuw.",
        ),
        minutes: Forms::one(
            "Probeer het over {n} minuut opnieuw.",
            "Probeer het over {n} minuten opnieuw.",
        ),
        hours: Forms::same("Probeer het over {n} uur opnieuw."),
    },
    script: ScriptTexts {
        sending: "Versturen…",
        offline: "U bent offline. Uw antwoorden blijven hier en worden verstuurd zodra er weer verbinding is.",
        retry: "Opnieuw proberen",
        kept: "Uw antwoorden van de vorige keer zijn ingevuld.",
        again: "Opnieuw beginnen",
        up: "{label} omhoog",
        down: "{label} omlaag",
        order: "Deze volgorde behouden",
        left: Forms::one("Nog {n} teken", "Nog {n} tekens"),
        failed: "Er ging iets mis. Uw antwoorden staan er nog: probeer het opnieuw.",
    },
};
