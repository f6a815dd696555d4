//! English.

use sluice_flow::phrase::Forms;

use super::Words;

pub(super) const WORDS: Words = Words {
    language: "en",
    invitation_subject: "Invitation: {title}",
    invitation_text: "You are invited to answer a few questions. Your answers make a difference.",
    answer: "Answer now",
    reminder: "Reminder: {subject}",
    reminder_text: "You have not answered yet. There is still time.",
    personal: "This link is for you alone. Please do not pass it on.",
    until: "It works until {day}.",
    reason: "You receive this e-mail because {app} invited you.",
    unsubscribe: "Unsubscribe",
    welcome_subject: "Set your password",
    welcome_text: "An account was created for you at {url}. Choose a password to sign in.",
    reset_subject: "Reset your password",
    reset_text: "Someone asked to reset your password at {url}.",
    set_password: "Set your password",
    once: "The link works once, within 24 hours.",
    ignore: "If you did not expect this e-mail, you can ignore it. Nothing changes then.",
    notice_subject: Forms::one("New response: {name}", "{n} new responses: {name}"),
    notice_response: "Response from {time}",
    notice_open: "Open the response",
    notice_more: Forms::same("… and {n} more"),
    notice_all: "Open all responses",
    notice_reason: "You receive this e-mail because you subscribed to notifications for this flow.",
    notice_stop: "Stop these notifications",
    endpoint_subject: "Webhook endpoint disabled: {name}",
    endpoint_disabled: "The webhook endpoint at {host} was disabled.",
    endpoint_gone: "Its receiver answered with status 410, which means that it no longer accepts events.",
    endpoint_failing: "No delivery to it has succeeded for five days.",
    endpoint_next: "What happens from now on stays in the event log. If you enable the endpoint again, it continues where it left off. Deliveries that have failed can be sent again there.",
    endpoint_open: "Open the endpoint",
    endpoint_reason: "You receive this e-mail because you administer this app.",
};
