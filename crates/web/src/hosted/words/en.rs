//! English.

use super::{Form, Notice, Rule, Said, Script, States, Words};

pub(super) const WORDS: Words = Words {
    language: "en",
    form: Form {
        next: "Next",
        back: "Back",
        send: "Send",
        of: "Question {n} of {all}",
        optional: "(optional)",
        choose: "Choose…",
        other: "Other",
        own_answer: "In your own words",
        yes: "Yes",
        no: "No",
        agree: "I agree",
        position: "{label}: position",
        consent: Said {
            title: "May your answers be linked to you?",
            text: "If you leave this unticked, your answers are stored without anything that says who you are.",
        },
        consent_box: "Yes, you may link my answers to me",
        trap: "Leave this field empty",
        end: Said {
            title: "That was the last question",
            text: "Send your answers when you are ready.",
        },
    },
    rule: Rule {
        problem: "Please look at this again",
        required: "Answer this question.",
        every_row: "Choose an answer in every row.",
        email: "Enter an e-mail address such as name@example.com.",
        url: "Enter a web address that starts with http:// or https://.",
        phone: "Enter a telephone number of digits, spaces and + - ( ) .",
        number: "Enter a number",
        whole_number: "Enter a whole number",
        date: "Enter a date",
        length: "Write {range} characters.",
        selected: "Choose {range}.",
        option: "Choose from the options.",
        ranking: "Give every option a position of its own.",
        other: "Write your own answer, or choose another option.",
        too_long: "This answer is too long.",
        between: "from {min} to {max}",
        at_least: "at least {min}",
        at_most: "at most {max}",
    },
    notice: Notice {
        parameters: "Part of the link could not be used ({names}). Your answers are taken all the same.",
        changed: "This form was changed while you were answering. Your answers were kept where they still fit. Please look through them and send again.",
        robot: "Please send once more. We ask this where a form is sent very quickly, to keep robots out.",
        limited: "Many answers have come from your network just now. Nothing was stored. Please wait a minute and send again; your answers are still here.",
        unavailable: "Your answers could not be stored just now. Please send again in a moment; they are still here.",
    },
    state: States {
        missing: Said {
            title: "There is nothing here",
            text: "The address may be mistyped, or the form is no longer published. Ask whoever gave you the link.",
        },
        scheduled: Said {
            title: "Not open yet",
            text: "You can answer from {time} on. The link stays the same.",
        },
        closed: Said {
            title: "This is closed",
            text: "Answers were taken until {time}. Thank you for coming by.",
        },
        answered: Said {
            title: "You have answered already",
            text: "Your first answers from this form are stored. What you have just sent is different and was not stored.",
        },
        invitation_used: Said {
            title: "This invitation was used",
            text: "An answer to it is stored already. Thank you.",
        },
        invitation_expired: Said {
            title: "This invitation has expired",
            text: "Ask whoever sent it to you for a new one.",
        },
        invitation_revoked: Said {
            title: "This invitation was withdrawn",
            text: "Ask whoever sent it to you for a new one.",
        },
        token_missing: Said {
            title: "One moment",
            text: "This form opens from the app that you came from. If nothing happens, go back there and open it again.",
        },
        token_refused: Said {
            title: "Please open this again",
            text: "Your sign-in is no longer valid. Go back to the app that you came from and open the form again.",
        },
        token_needs_script: "This form needs JavaScript, because the app that you came from says who you are.",
        failed: Said {
            title: "That did not work",
            text: "The service cannot be reached just now. Nothing is lost that was stored. Please try again in a moment.",
        },
        too_large: Said {
            title: "That was too much",
            text: "Your answers together are too long to be sent. Go back and shorten them.",
        },
        stored: Said { title: "Thank you", text: "Your answers are stored." },
        linked: "As you agreed, they are linked to you.",
        unlinked: "They are not linked to you: nothing that says who you are was stored with them.",
        preview: "Preview: nothing was stored.",
        go_on: "Continue",
        try_again: "Try again",
        new_form: "Answer anew",
    },
    script: Script {
        sending: "Sending…",
        offline: "You are offline. Your answers are kept here and are sent as soon as the connection is back.",
        retry: "Try now",
        kept: "Here is what you wrote last time.",
        again: "Start again",
        up: "Move {label} up",
        down: "Move {label} down",
        order: "Keep this order",
        left: "{n} characters left",
        failed: "That did not work. Your answers are still here; try again.",
    },
};
