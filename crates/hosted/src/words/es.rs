//! Spanish.

use super::{
    FormTexts, Forms, NoticeTexts, RuleTexts, ScriptTexts, StateTexts, TitledText, WaitTexts, Words,
};

pub(super) const WORDS: Words = Words {
    language: "es",
    form: FormTexts {
        next: "Siguiente",
        back: "Atrás",
        send: "Enviar",
        ok: "Aceptar",
        of: "Pregunta {n} de {all}",
        optional: "(opcional)",
        choose: "Elija…",
        other: "Otra",
        own_answer: "Su propia respuesta",
        yes: "Sí",
        no: "No",
        agree: "Acepto",
        position: "{label}: puesto",
        consent: TitledText {
            title: "¿Se pueden vincular sus respuestas con usted?",
            text: "Si no marca la casilla, sus respuestas se guardan sin vincularlas con usted.",
        },
        consent_box: "Sí, pueden vincular mis respuestas conmigo",
        honeypot: "Deje este campo vacío",
        end: TitledText {
            title: "Era la última pregunta",
            text: "Envíe sus respuestas cuando quiera.",
        },
    },
    rule: RuleTexts {
        required: "Responda a esta pregunta.",
        every_row: "Elija una respuesta en cada fila.",
        email: "Escriba una dirección de correo como nombre@example.com.",
        url: "Escriba una dirección web que empiece por http:// o https://.",
        phone: "Escriba un número de teléfono con cifras, espacios y + - ( ) .",
        number: "Escriba un número",
        whole_number: "Escriba un número entero",
        date: "Escriba una fecha",
        sentence: "{rule}.",
        ranged: "{rule}: {range}.",
        length: Forms::one("Escriba {range} carácter.", "Escriba {range} caracteres."),
        selected: Forms::one("Elija {range} opción.", "Elija {range} opciones."),
        option: "Elija entre las opciones.",
        ranking: "Dé a cada opción un puesto distinto.",
        other: "Escriba su propia respuesta o elija otra opción.",
        too_long: "Esta respuesta es demasiado larga.",
        between: "de {min} a {max}",
        at_least: "al menos {min}",
        at_most: "como máximo {max}",
    },
    notice: NoticeTexts {
        parameters: "Una parte del enlace no se pudo usar ({names}). Sus respuestas se aceptan igualmente.",
        changed: "El formulario cambió mientras usted respondía. Sus respuestas se han conservado donde aún encajan. Revíselas y envíe otra vez.",
        robot: "Por favor, envíe otra vez. Lo pedimos cuando un formulario se envía muy deprisa, para evitar robots.",
        limited: "Han llegado demasiadas respuestas desde su red y las suyas no se han guardado. Siguen aquí. {wait}",
        busy: "Hay demasiadas personas respondiendo en este momento y sus respuestas no se han guardado. Siguen aquí. {wait}",
        unavailable: "Sus respuestas no se han podido guardar. Envíe otra vez en un momento; siguen aquí.",
        full: "Hoy no se pueden guardar más respuestas. Sus respuestas siguen aquí. {wait}",
    },
    state: StateTexts {
        missing: TitledText {
            title: "Página no encontrada",
            text: "Puede que la dirección esté mal escrita o que el formulario ya no esté publicado. Pregunte a quien le dio el enlace.",
        },
        scheduled: TitledText {
            title: "Aún no está abierto",
            text: "Podrá responder a partir del {time}. El enlace sigue siendo el mismo.",
        },
        closed: TitledText {
            title: "Este formulario está cerrado",
            text: "Se aceptaron respuestas hasta el {time}. Gracias por su interés.",
        },
        answered: TitledText {
            title: "Ya ha respondido",
            text: "Sus primeras respuestas de este formulario están guardadas. Lo que acaba de enviar es distinto y no se ha guardado.",
        },
        invitation_used: TitledText {
            title: "Esta invitación ya se usó",
            text: "Ya hay una respuesta guardada. Gracias.",
        },
        invitation_expired: TitledText {
            title: "Esta invitación ha caducado",
            text: "Pida una nueva a quien se la envió.",
        },
        invitation_revoked: TitledText {
            title: "Esta invitación se retiró",
            text: "Pida una nueva a quien se la envió.",
        },
        unsubscribe: TitledText {
            title: "¿Darse de baja?",
            text: "{name} dejará de enviar correos a su dirección, aunque se le invite de nuevo más adelante.",
        },
        unsubscribe_button: "Darse de baja",
        unsubscribed: TitledText {
            title: "Se ha dado de baja",
            text: "{name} ya no envía correos a su dirección, aunque se le invite de nuevo más adelante.",
        },
        token_missing: TitledText {
            title: "Un momento",
            text: "Este formulario se abre desde la aplicación de la que viene. Si no pasa nada, vuelva allí y ábralo otra vez.",
        },
        token_refused: TitledText {
            title: "Ábralo otra vez, por favor",
            text: "Su inicio de sesión ya no es válido. Vuelva a la aplicación de la que viene y abra el formulario otra vez.",
        },
        token_needs_script: "Este formulario necesita JavaScript, porque la aplicación de la que viene dice quién es usted.",
        failed: TitledText {
            title: "Algo ha fallado",
            text: "El servicio no está disponible. Las respuestas guardadas no se han perdido. Inténtelo de nuevo en un momento.",
        },
        limited: TitledText {
            title: "Espere un momento",
            text: "Han llegado demasiadas solicitudes desde su red. Las respuestas guardadas no se han perdido. Si acaba de enviar respuestas, vuelva atrás: siguen en el formulario. {wait}",
        },
        too_large: TitledText {
            title: "Sus respuestas son demasiado largas",
            text: "En conjunto son demasiado largas para enviarlas. Vuelva atrás y acórtelas.",
        },
        stored: TitledText { title: "Gracias", text: "Sus respuestas están guardadas." },
        linked: "Como aceptó, están vinculadas con usted.",
        anonymous: "Son anónimas: no se ha guardado con ellas nada que le identifique.",
        unlinked: "No están vinculadas con usted. Lo que haya escrito sobre sí mismo forma parte de ellas.",
        preview: "Vista previa: no se ha guardado nada.",
        test: "Prueba: esta respuesta no se cuenta.",
        go_on: "Continuar",
        try_again: "Intentar de nuevo",
        new_form: "Responder de nuevo",
    },
    wait: WaitTexts {
        seconds: Forms::one(
            "Inténtelo de nuevo dentro de {n} segundo.",
            "Inténtelo de nuevo dentro de {n} segundos.",
        ),
        minutes: Forms::one(
            "Inténtelo de nuevo dentro de {n} minuto.",
            "Inténtelo de nuevo dentro de {n} minutos.",
        ),
        hours: Forms::one(
            "Inténtelo de nuevo dentro de {n} hora.",
            "Inténtelo de nuevo dentro de {n} horas.",
        ),
    },
    script: ScriptTexts {
        sending: "Enviando…",
        offline: "No tiene conexión. Sus respuestas se quedan aquí y se envían en cuanto vuelva.",
        retry: "Intentar ahora",
        kept: "Se han recuperado sus respuestas de la última vez.",
        again: "Empezar de nuevo",
        up: "Subir {label}",
        down: "Bajar {label}",
        order: "Dejar este orden",
        left: Forms::one("Queda {n} carácter", "Quedan {n} caracteres"),
        failed: "No ha funcionado. Sus respuestas siguen aquí; inténtelo de nuevo.",
    },
};
