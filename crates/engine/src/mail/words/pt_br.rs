//! Brazilian Portuguese.

use sluice_flow::phrase::Forms;

use super::Words;

pub(super) const WORDS: Words = Words {
    language: "pt-BR",
    invitation_subject: "Convite: {title}",
    invitation_text: "Convidamos você a responder a algumas perguntas. Suas respostas fazem diferença.",
    answer: "Responder agora",
    reminder: "Lembrete: {subject}",
    reminder_text: "Você ainda não respondeu. Ainda dá tempo.",
    personal: "Este link é só para você. Não o repasse, por favor.",
    until: "Funciona até {day}.",
    reason: "Você recebeu este e-mail porque {app} convidou você.",
    unsubscribe: "Cancelar inscrição",
    welcome_subject: "Defina sua senha",
    welcome_text: "Uma conta foi criada para você em {url}. Escolha uma senha para entrar.",
    reset_subject: "Redefinir sua senha",
    reset_text: "Alguém pediu para redefinir sua senha em {url}.",
    set_password: "Definir senha",
    once: "O link funciona uma vez, em até 24 horas.",
    ignore: "Se você não esperava este e-mail, pode ignorá-lo. Nada muda.",
    notice_subject: Forms::one("Nova resposta: {name}", "{n} novas respostas: {name}"),
    notice_response: "Resposta de {time}",
    notice_open: "Abrir a resposta",
    notice_more: Forms::same("… e mais {n}"),
    notice_all: "Abrir todas as respostas",
    notice_reason: "Você recebeu este e-mail porque ativou os avisos deste questionário.",
    notice_stop: "Parar estes avisos",
    endpoint_subject: "Endpoint de webhook desativado: {name}",
    endpoint_disabled: "O endpoint de webhook em {host} foi desativado.",
    endpoint_gone: "O destinatário respondeu com o status 410, o que significa que não quer receber mais nada.",
    endpoint_failing: "Nenhuma entrega teve sucesso nos últimos cinco dias.",
    endpoint_next: "O que acontecer a partir de agora fica no registro de eventos. Se você reativar o endpoint, ele continuará de onde parou. Lá é possível reenviar as entregas que falharam.",
    endpoint_open: "Abrir o endpoint",
    endpoint_reason: "Você recebeu este e-mail porque administra este aplicativo.",
};
