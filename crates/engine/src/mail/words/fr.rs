//! French.

use sluice_flow::phrase::Forms;

use super::Words;

pub(super) const WORDS: Words = Words {
    language: "fr",
    invitation_subject: "Invitation : {title}",
    invitation_text: "Vous êtes invité à répondre à quelques questions. Vos réponses comptent.",
    answer: "Répondre maintenant",
    reminder: "Rappel : {subject}",
    reminder_text: "Vous n’avez pas encore répondu. Il est encore temps.",
    personal: "Ce lien vous est réservé. Merci de ne pas le transmettre.",
    until: "Il est valable jusqu’au {day}.",
    reason: "Vous recevez cet e-mail parce que {app} vous a invité.",
    unsubscribe: "Se désabonner",
    welcome_subject: "Choisissez votre mot de passe",
    welcome_text: "Un compte a été créé pour vous sur {url}. Choisissez un mot de passe pour vous connecter.",
    reset_subject: "Réinitialiser votre mot de passe",
    reset_text: "Quelqu’un a demandé à réinitialiser votre mot de passe sur {url}.",
    set_password: "Choisir un mot de passe",
    once: "Le lien fonctionne une seule fois, pendant 24 heures.",
    ignore: "Si vous n’attendiez pas cet e-mail, vous pouvez l’ignorer. Rien ne changera.",
    notice_subject: Forms::one("Nouvelle réponse : {name}", "{n} nouvelles réponses : {name}"),
    notice_response: "Réponse du {time}",
    notice_open: "Ouvrir la réponse",
    notice_more: Forms::one("… et {n} autre", "… et {n} autres"),
    notice_all: "Ouvrir toutes les réponses",
    notice_reason: "Vous recevez cet e-mail parce que vous avez activé les notifications de ce questionnaire.",
    notice_stop: "Arrêter ces notifications",
    endpoint_subject: "Point de terminaison de webhook désactivé : {name}",
    endpoint_disabled: "Le point de terminaison de webhook sur {host} a été désactivé.",
    endpoint_gone: "Le destinataire a répondu avec le statut 410, ce qui signifie qu’il ne veut plus rien recevoir.",
    endpoint_failing: "Aucune livraison n’a abouti depuis cinq jours.",
    endpoint_next: "Ce qui se produit désormais reste dans le journal des événements. Si vous réactivez le point de terminaison, il reprend là où il s’est arrêté. Les livraisons échouées peuvent y être renvoyées.",
    endpoint_open: "Ouvrir le point de terminaison",
    endpoint_reason: "Vous recevez cet e-mail parce que vous administrez cette application.",
};
