//! French.

use super::{Form, Notice, Rule, Said, Script, States, Words};

pub(super) const WORDS: Words = Words {
    language: "fr",
    form: Form {
        next: "Suivant",
        back: "Retour",
        send: "Envoyer",
        of: "Question {n} sur {all}",
        optional: "(facultatif)",
        choose: "Choisir…",
        other: "Autre",
        own_answer: "Avec vos propres mots",
        yes: "Oui",
        no: "Non",
        agree: "J’accepte",
        position: "{label} : rang",
        consent: Said {
            title: "Vos réponses peuvent-elles être associées à vous ?",
            text: "Si la case reste vide, vos réponses sont enregistrées sans rien qui dise qui vous êtes.",
        },
        consent_box: "Oui, mes réponses peuvent m’être associées",
        trap: "Laissez ce champ vide",
        end: Said {
            title: "C’était la dernière question",
            text: "Envoyez vos réponses quand vous êtes prêt.",
        },
    },
    rule: Rule {
        problem: "Merci de revoir ceci",
        required: "Répondez à cette question.",
        every_row: "Choisissez une réponse sur chaque ligne.",
        email: "Saisissez une adresse e-mail comme nom@example.com.",
        url: "Saisissez une adresse web qui commence par http:// ou https://.",
        phone: "Saisissez un numéro de téléphone fait de chiffres, d’espaces et de + - ( ) .",
        number: "Saisissez un nombre",
        whole_number: "Saisissez un nombre entier",
        date: "Saisissez une date",
        length: "Écrivez {range} caractères.",
        selected: "Choisissez {range} réponses.",
        option: "Choisissez parmi les réponses.",
        ranking: "Donnez à chaque réponse un rang différent.",
        other: "Écrivez votre propre réponse, ou choisissez-en une autre.",
        too_long: "Cette réponse est trop longue.",
        between: "de {min} à {max}",
        at_least: "au moins {min}",
        at_most: "au plus {max}",
    },
    notice: Notice {
        parameters: "Une partie du lien n’a pas pu être utilisée ({names}). Vos réponses sont prises en compte malgré tout.",
        changed: "Ce formulaire a été modifié pendant que vous répondiez. Vos réponses ont été gardées là où elles conviennent encore. Relisez-les et envoyez à nouveau.",
        robot: "Merci d’envoyer encore une fois. Nous le demandons quand un formulaire est envoyé très vite, pour écarter les robots.",
        limited: "Beaucoup de réponses viennent d’arriver de votre réseau. Rien n’a été enregistré. Attendez une minute et envoyez à nouveau ; vos réponses sont toujours là.",
        unavailable: "Vos réponses n’ont pas pu être enregistrées. Envoyez à nouveau dans un instant ; elles sont toujours là.",
    },
    state: States {
        missing: Said {
            title: "Il n’y a rien ici",
            text: "L’adresse est peut-être mal écrite, ou le formulaire n’est plus publié. Demandez à la personne qui vous a donné le lien.",
        },
        scheduled: Said {
            title: "Pas encore ouvert",
            text: "Vous pourrez répondre à partir du {time}. Le lien reste le même.",
        },
        closed: Said {
            title: "C’est fermé",
            text: "Les réponses étaient acceptées jusqu’au {time}. Merci d’être passé.",
        },
        answered: Said {
            title: "Vous avez déjà répondu",
            text: "Vos premières réponses à ce formulaire sont enregistrées. Ce que vous venez d’envoyer est différent et n’a pas été enregistré.",
        },
        invitation_used: Said {
            title: "Cette invitation a été utilisée",
            text: "Une réponse est déjà enregistrée. Merci.",
        },
        invitation_expired: Said {
            title: "Cette invitation a expiré",
            text: "Demandez-en une nouvelle à la personne qui l’a envoyée.",
        },
        invitation_revoked: Said {
            title: "Cette invitation a été retirée",
            text: "Demandez-en une nouvelle à la personne qui l’a envoyée.",
        },
        token_missing: Said {
            title: "Un instant",
            text: "Ce formulaire s’ouvre depuis l’application d’où vous venez. Si rien ne se passe, retournez-y et ouvrez-le à nouveau.",
        },
        token_refused: Said {
            title: "Ouvrez à nouveau, s’il vous plaît",
            text: "Votre connexion n’est plus valable. Retournez à l’application d’où vous venez et ouvrez le formulaire à nouveau.",
        },
        token_needs_script: "Ce formulaire a besoin de JavaScript, car l’application d’où vous venez dit qui vous êtes.",
        failed: Said {
            title: "Cela n’a pas marché",
            text: "Le service n’est pas joignable. Ce qui était enregistré n’est pas perdu. Réessayez dans un instant.",
        },
        too_large: Said {
            title: "C’était trop",
            text: "Vos réponses sont trop longues en tout. Revenez en arrière et raccourcissez-les.",
        },
        stored: Said { title: "Merci", text: "Vos réponses sont enregistrées." },
        linked: "Comme vous l’avez accepté, elles vous sont associées.",
        unlinked: "Elles ne vous sont pas associées : rien de ce qui dit qui vous êtes n’a été enregistré avec elles.",
        preview: "Aperçu : rien n’a été enregistré.",
        go_on: "Continuer",
        try_again: "Réessayer",
        new_form: "Répondre à nouveau",
    },
    script: Script {
        sending: "Envoi…",
        offline: "Vous êtes hors ligne. Vos réponses restent ici et partent dès que la connexion revient.",
        retry: "Réessayer",
        kept: "Voici ce que vous aviez écrit la dernière fois.",
        again: "Recommencer",
        up: "Monter {label}",
        down: "Descendre {label}",
        order: "Garder cet ordre",
        left: "Encore {n} caractères",
        failed: "Cela n’a pas marché. Vos réponses sont toujours là ; réessayez.",
    },
};
