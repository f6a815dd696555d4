//! Polish.

use sluice_flow::phrase::Forms;

use super::Words;

pub(super) const WORDS: Words = Words {
    language: "pl",
    invitation_subject: "Zaproszenie: {title}",
    invitation_text: "Zapraszamy do odpowiedzi na kilka pytań. Odpowiedzi mają dla nas znaczenie.",
    answer: "Odpowiedz teraz",
    reminder: "Przypomnienie: {subject}",
    reminder_text: "Nie ma jeszcze odpowiedzi. Wciąż jest na nią czas.",
    personal: "Ten link jest przeznaczony tylko dla Ciebie. Prosimy go nie przekazywać.",
    until: "Działa do {day}.",
    reason: "Otrzymujesz tę wiadomość, ponieważ {app} wysyła do Ciebie zaproszenie.",
    unsubscribe: "Wypisz się",
    welcome_subject: "Ustaw hasło",
    welcome_text: "Utworzono dla Ciebie konto na {url}. Wybierz hasło, aby się zalogować.",
    reset_subject: "Zresetuj hasło",
    reset_text: "Ktoś poprosił o zresetowanie Twojego hasła na {url}.",
    set_password: "Ustaw hasło",
    once: "Link działa raz, w ciągu 24 godzin.",
    ignore: "Jeśli nie spodziewasz się tej wiadomości, możesz ją zignorować. Nic się wtedy nie zmieni.",
    notice_subject: Forms {
        one: Some("Nowa odpowiedź: {name}"),
        few: Some("{n} nowe odpowiedzi: {name}"),
        many: Some("{n} nowych odpowiedzi: {name}"),
        ..Forms::same("{n} odpowiedzi: {name}")
    },
    notice_response: "Odpowiedź z {time}",
    notice_open: "Otwórz odpowiedź",
    notice_more: Forms::same("… i jeszcze {n}"),
    notice_all: "Otwórz wszystkie odpowiedzi",
    notice_reason: "Otrzymujesz tę wiadomość, ponieważ masz włączone powiadomienia o tej ankiecie.",
    notice_stop: "Wyłącz te powiadomienia",
    endpoint_subject: "Punkt końcowy webhooka wyłączony: {name}",
    endpoint_disabled: "Punkt końcowy webhooka pod adresem {host} został wyłączony.",
    endpoint_gone: "Odbiorca odpowiedział statusem 410, co oznacza, że nie chce już nic otrzymywać.",
    endpoint_failing: "Od pięciu dni żadne dostarczenie się nie powiodło.",
    endpoint_next: "To, co wydarzy się od teraz, pozostaje w dzienniku zdarzeń. Po ponownym włączeniu punkt końcowy zacznie tam, gdzie skończył. Nieudane dostarczenia można tam wysłać ponownie.",
    endpoint_open: "Otwórz punkt końcowy",
    endpoint_reason: "Otrzymujesz tę wiadomość, ponieważ administrujesz tą aplikacją.",
};
