//! Spanish.

use sluice_flow::phrase::Forms;

use super::Words;

pub(super) const WORDS: Words = Words {
    language: "es",
    invitation_subject: "Invitación: {title}",
    invitation_text: "Le invitamos a responder algunas preguntas. Sus respuestas nos ayudan a mejorar.",
    answer: "Responder ahora",
    reminder: "Recordatorio: {subject}",
    reminder_text: "Todavía no ha respondido. Aún está a tiempo.",
    personal: "Este enlace es solo para usted. No lo comparta, por favor.",
    until: "Funciona hasta el {day}.",
    reason: "Recibe este correo porque {app} le ha invitado.",
    unsubscribe: "Darse de baja",
    welcome_subject: "Elija su contraseña",
    welcome_text: "Se ha creado una cuenta para usted en {url}. Elija una contraseña para iniciar sesión.",
    reset_subject: "Restablecer la contraseña",
    reset_text: "Alguien ha pedido restablecer su contraseña en {url}.",
    set_password: "Elegir contraseña",
    once: "El enlace funciona una vez, en las próximas 24 horas.",
    ignore: "Si no esperaba este correo, puede ignorarlo. No cambiará nada.",
    notice_subject: Forms::one("Nueva respuesta: {name}", "{n} nuevas respuestas: {name}"),
    notice_response: "Respuesta del {time}",
    notice_open: "Abrir la respuesta",
    notice_more: Forms::same("… y {n} más"),
    notice_all: "Abrir todas las respuestas",
    notice_reason: "Recibe este correo porque activó los avisos de este cuestionario.",
    notice_stop: "Dejar de recibir estos avisos",
    endpoint_subject: "Endpoint de webhook desactivado: {name}",
    endpoint_disabled: "Se ha desactivado el endpoint de webhook en {host}.",
    endpoint_gone: "El receptor respondió con el estado 410, lo que significa que no quiere recibir nada más.",
    endpoint_failing: "Ninguna entrega se ha completado desde hace cinco días.",
    endpoint_next: "Lo que ocurra a partir de ahora queda en el registro de eventos. Si vuelve a activar el endpoint, continuará donde se detuvo. Allí puede reenviar las entregas fallidas.",
    endpoint_open: "Abrir el endpoint",
    endpoint_reason: "Recibe este correo porque administra esta aplicación.",
};
