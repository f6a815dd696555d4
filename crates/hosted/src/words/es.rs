//! Spanish.

use super::{Form, Notice, Rule, Said, Script, States, Words};

pub(super) const WORDS: Words = Words {
    language: "es",
    form: Form {
        next: "Siguiente",
        back: "Atrás",
        send: "Enviar",
        of: "Pregunta {n} de {all}",
        optional: "(opcional)",
        choose: "Elija…",
        other: "Otra",
        own_answer: "Con sus propias palabras",
        yes: "Sí",
        no: "No",
        agree: "Acepto",
        position: "{label}: puesto",
        consent: Said {
            title: "¿Se pueden vincular sus respuestas con usted?",
            text: "Si no marca la casilla, sus respuestas se guardan sin nada que diga quién es usted.",
        },
        consent_box: "Sí, pueden vincular mis respuestas conmigo",
        trap: "Deje este campo vacío",
        end: Said {
            title: "Era la última pregunta", text: "Envíe sus respuestas cuando quiera."
        },
    },
    rule: Rule {
        problem: "Por favor, revise esto",
        required: "Responda a esta pregunta.",
        every_row: "Elija una respuesta en cada fila.",
        email: "Escriba una dirección de correo como nombre@example.com.",
        url: "Escriba una dirección web que empiece por http:// o https://.",
        phone: "Escriba un número de teléfono con cifras, espacios y + - ( ) .",
        number: "Escriba un número",
        whole_number: "Escriba un número entero",
        date: "Escriba una fecha",
        length: "Escriba {range} caracteres.",
        selected: "Elija {range} opciones.",
        option: "Elija entre las opciones.",
        ranking: "Dé a cada opción un puesto distinto.",
        other: "Escriba su propia respuesta o elija otra opción.",
        too_long: "Esta respuesta es demasiado larga.",
        between: "de {min} a {max}",
        at_least: "al menos {min}",
        at_most: "como máximo {max}",
    },
    notice: Notice {
        parameters: "Una parte del enlace no se pudo usar ({names}). Sus respuestas se aceptan igualmente.",
        changed: "El formulario cambió mientras usted respondía. Sus respuestas se han conservado donde aún encajan. Revíselas y envíe otra vez.",
        robot: "Por favor, envíe otra vez. Lo pedimos cuando un formulario se envía muy deprisa, para evitar robots.",
        limited: "Han llegado muchas respuestas desde su red. No se ha guardado nada. Espere un minuto y envíe otra vez; sus respuestas siguen aquí.",
        unavailable: "Sus respuestas no se han podido guardar. Envíe otra vez en un momento; siguen aquí.",
        full: "Hoy no se pueden guardar más respuestas. Envíe otra vez más tarde; sus respuestas siguen aquí.",
    },
    state: States {
        missing: Said {
            title: "Aquí no hay nada",
            text: "Puede que la dirección esté mal escrita o que el formulario ya no esté publicado. Pregunte a quien le dio el enlace.",
        },
        scheduled: Said {
            title: "Aún no está abierto",
            text: "Podrá responder a partir del {time}. El enlace sigue siendo el mismo.",
        },
        closed: Said {
            title: "Está cerrado",
            text: "Se aceptaron respuestas hasta el {time}. Gracias por pasar.",
        },
        answered: Said {
            title: "Ya ha respondido",
            text: "Sus primeras respuestas de este formulario están guardadas. Lo que acaba de enviar es distinto y no se ha guardado.",
        },
        invitation_used: Said {
            title: "Esta invitación ya se usó",
            text: "Ya hay una respuesta guardada. Gracias.",
        },
        invitation_expired: Said {
            title: "Esta invitación ha caducado",
            text: "Pida una nueva a quien se la envió.",
        },
        invitation_revoked: Said {
            title: "Esta invitación se retiró",
            text: "Pida una nueva a quien se la envió.",
        },
        token_missing: Said {
            title: "Un momento",
            text: "Este formulario se abre desde la aplicación de la que viene. Si no pasa nada, vuelva allí y ábralo otra vez.",
        },
        token_refused: Said {
            title: "Ábralo otra vez, por favor",
            text: "Su inicio de sesión ya no es válido. Vuelva a la aplicación de la que viene y abra el formulario otra vez.",
        },
        token_needs_script: "Este formulario necesita JavaScript, porque la aplicación de la que viene dice quién es usted.",
        failed: Said {
            title: "No ha funcionado",
            text: "No se puede acceder al servicio. Lo que estaba guardado no se ha perdido. Inténtelo de nuevo en un momento.",
        },
        too_large: Said {
            title: "Era demasiado",
            text: "Sus respuestas son demasiado largas en conjunto. Vuelva atrás y acórtelas.",
        },
        stored: Said { title: "Gracias", text: "Sus respuestas están guardadas." },
        linked: "Como aceptó, están vinculadas con usted.",
        unlinked: "No están vinculadas con usted: no se ha guardado con ellas nada que diga quién es.",
        preview: "Vista previa: no se ha guardado nada.",
        go_on: "Continuar",
        try_again: "Intentar de nuevo",
        new_form: "Responder de nuevo",
    },
    script: Script {
        sending: "Enviando…",
        offline: "No tiene conexión. Sus respuestas se quedan aquí y se envían en cuanto vuelva.",
        retry: "Intentar ahora",
        kept: "Esto es lo que escribió la última vez.",
        again: "Empezar de nuevo",
        up: "Subir {label}",
        down: "Bajar {label}",
        order: "Dejar este orden",
        left: "Quedan {n} caracteres",
        failed: "No ha funcionado. Sus respuestas siguen aquí; inténtelo de nuevo.",
    },
};
