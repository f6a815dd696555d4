//! Polish.

use super::{
    FormTexts, Forms, NoticeTexts, RuleTexts, ScriptTexts, StateTexts, TitledText, WaitTexts, Words,
};

pub(super) const WORDS: Words = Words {
    language: "pl",
    form: FormTexts {
        next: "Dalej",
        back: "Wstecz",
        send: "Wyślij",
        ok: "OK",
        of: "Pytanie {n} z {all}",
        optional: "(opcjonalne)",
        choose: "Wybierz…",
        other: "Inne",
        own_answer: "Twoja własna odpowiedź",
        yes: "Tak",
        no: "Nie",
        agree: "Zgadzam się",
        position: "{label}: miejsce",
        consent: TitledText {
            title: "Czy możemy powiązać odpowiedzi z Tobą?",
            text: "Jeśli nie zaznaczysz tego pola, odpowiedzi zostaną zapisane bez powiązania z Tobą.",
        },
        consent_box: "Tak, można powiązać moje odpowiedzi ze mną",
        honeypot: "Pozostaw to pole puste",
        end: TitledText {
            title: "To było ostatnie pytanie",
            text: "Wyślij odpowiedzi, gdy wszystko będzie gotowe.",
        },
    },
    rule: RuleTexts {
        required: "Odpowiedz na to pytanie.",
        every_row: "Wybierz odpowiedź w każdym wierszu.",
        email: "Podaj adres e-mail, na przykład nazwa@example.com.",
        url: "Podaj adres internetowy zaczynający się od http:// lub https://.",
        phone: "Podaj numer telefonu złożony z cyfr, spacji i znaków + - ( ) .",
        number: "Podaj liczbę",
        whole_number: "Podaj liczbę całkowitą",
        date: "Podaj datę",
        sentence: "{rule}.",
        ranged: "{rule}: {range}.",
        length: Forms::same("Liczba znaków: {range}."),
        selected: Forms::same("Liczba odpowiedzi do wyboru: {range}."),
        option: "Wybierz jedną z opcji.",
        ranking: "Nadaj każdej opcji inne miejsce.",
        other: "Wpisz własną odpowiedź lub wybierz inną opcję.",
        too_long: "Ta odpowiedź jest za długa.",
        between: "od {min} do {max}",
        at_least: "co najmniej {min}",
        at_most: "co najwyżej {max}",
    },
    notice: NoticeTexts {
        parameters: "Nie udało się użyć części linku ({names}). Mimo to można odpowiedzieć.",
        changed: "Formularz zmienił się w trakcie wypełniania. Odpowiedzi, które nadal pasują, zostały zachowane. Sprawdź je i wyślij ponownie.",
        robot: "Wyślij formularz jeszcze raz. Prosimy o to, gdy formularz zostaje wysłany bardzo szybko, aby zapobiec spamowi.",
        limited: "Z Twojej sieci przyszło zbyt wiele odpowiedzi, więc Twoje nie zostały zapisane. Nadal tu są. {wait}",
        busy: "W tej chwili odpowiada zbyt wiele osób, więc Twoje odpowiedzi nie zostały zapisane. Nadal tu są. {wait}",
        unavailable: "Nie udało się zapisać odpowiedzi. Nadal tu są: wyślij je ponownie za chwilę.",
        full: "Dziś nie można już zapisać więcej odpowiedzi. Twoje nadal tu są. {wait}",
    },
    state: StateTexts {
        missing: TitledText {
            title: "Nie znaleziono strony",
            text: "Być może adres zawiera błąd albo formularz nie jest już opublikowany. Zapytaj osobę, od której masz ten link.",
        },
        scheduled: TitledText {
            title: "Jeszcze nie otwarto",
            text: "Odpowiadać można od {time}. Link pozostaje ten sam.",
        },
        closed: TitledText {
            title: "Ten formularz jest zamknięty",
            text: "Odpowiedzi przyjmowano do {time}. Dziękujemy za zainteresowanie.",
        },
        answered: TitledText {
            title: "Ten formularz został już wypełniony",
            text: "Pierwsze odpowiedzi z tego formularza są zapisane. Te wysłane przed chwilą są inne i nie zostały zapisane.",
        },
        invitation_used: TitledText {
            title: "To zaproszenie zostało już wykorzystane",
            text: "Odpowiedź jest już zapisana. Dziękujemy.",
        },
        invitation_expired: TitledText {
            title: "To zaproszenie wygasło",
            text: "Poproś nadawcę o nowe.",
        },
        invitation_revoked: TitledText {
            title: "To zaproszenie zostało wycofane",
            text: "Poproś nadawcę o nowe.",
        },
        unsubscribe: TitledText {
            title: "Wypisać się?",
            text: "{name} nie będzie już wysyłać wiadomości na ten adres, nawet po ponownym zaproszeniu.",
        },
        unsubscribe_button: "Wypisz się",
        unsubscribed: TitledText {
            title: "Wypisano",
            text: "{name} nie wysyła już wiadomości na ten adres, nawet po ponownym zaproszeniu.",
        },
        token_missing: TitledText {
            title: "Chwileczkę",
            text: "Ten formularz otwiera się z aplikacji, z której prowadzi link. Jeśli nic się nie dzieje, wróć do niej i otwórz go ponownie.",
        },
        token_refused: TitledText {
            title: "Otwórz formularz ponownie",
            text: "Logowanie straciło ważność. Wróć do aplikacji, z której prowadzi link, i otwórz formularz ponownie.",
        },
        token_needs_script: "Ten formularz wymaga JavaScriptu, ponieważ Twoją tożsamość potwierdza aplikacja, z której prowadzi link.",
        failed: TitledText {
            title: "Coś poszło nie tak",
            text: "Usługa jest niedostępna. Zapisane odpowiedzi nie przepadły. Spróbuj ponownie za chwilę.",
        },
        limited: TitledText {
            title: "Poczekaj chwilę",
            text: "Z Twojej sieci przyszło zbyt wiele żądań. Zapisane odpowiedzi nie przepadły. Jeśli odpowiedzi były właśnie wysyłane, wróć: nadal są w formularzu. {wait}",
        },
        too_large: TitledText {
            title: "Odpowiedzi są za długie",
            text: "Razem są zbyt długie, aby je wysłać. Wróć i skróć je.",
        },
        stored: TitledText { title: "Dziękujemy", text: "Odpowiedzi zostały zapisane." },
        linked: "Zgodnie z wyrażoną zgodą są powiązane z Tobą.",
        anonymous: "Są anonimowe: nie zapisano z nimi niczego, co Cię identyfikuje.",
        unlinked: "Nie są powiązane z Tobą. To, co napisano w nich o sobie, jest ich częścią.",
        preview: "Podgląd: odpowiedzi nie są zapisywane.",
        test: "Test: ta odpowiedź nie jest liczona.",
        go_on: "Kontynuuj",
        try_again: "Spróbuj ponownie",
        new_form: "Odpowiedz ponownie",
    },
    wait: WaitTexts {
        seconds: Forms {
            one: Some("Spróbuj ponownie za {n} sekundę."),
            few: Some("Spróbuj ponownie za {n} sekundy."),
            many: Some("Spróbuj ponownie za {n} sekund."),
            ..Forms::same("Spróbuj ponownie za {n} sekundy.")
        },
        minutes: Forms {
            one: Some("Spróbuj ponownie za {n} minutę."),
            few: Some("Spróbuj ponownie za {n} minuty."),
            many: Some("Spróbuj ponownie za {n} minut."),
            ..Forms::same("Spróbuj ponownie za {n} minuty.")
        },
        hours: Forms {
            one: Some("Spróbuj ponownie za {n} godzinę."),
            few: Some("Spróbuj ponownie za {n} godziny."),
            many: Some("Spróbuj ponownie za {n} godzin."),
            ..Forms::same("Spróbuj ponownie za {n} godziny.")
        },
    },
    script: ScriptTexts {
        sending: "Wysyłanie…",
        offline: "Brak połączenia. Odpowiedzi pozostają tutaj i zostaną wysłane, gdy połączenie wróci.",
        retry: "Spróbuj ponownie",
        kept: "Wczytano odpowiedzi z ostatniego razu.",
        again: "Zacznij od nowa",
        up: "Przesuń w górę: {label}",
        down: "Przesuń w dół: {label}",
        order: "Zachowaj tę kolejność",
        left: Forms {
            one: Some("Pozostał {n} znak"),
            few: Some("Pozostały {n} znaki"),
            many: Some("Pozostało {n} znaków"),
            ..Forms::same("Pozostało {n} znaku")
        },
        failed: "Coś poszło nie tak. Odpowiedzi nadal tu są: spróbuj ponownie.",
    },
};
