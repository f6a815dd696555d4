//! Arabic.

use super::Words;

pub(super) const WORDS: Words = Words {
    language: "ar",
    invitation_subject: "دعوة: {title}",
    invitation_text: "ندعوك إلى الإجابة عن بعض الأسئلة. إجاباتك تُحدث فرقًا.",
    answer: "أجب الآن",
    reminder: "تذكير: {subject}",
    reminder_text: "لم تُجب بعد. ما زال هناك وقت.",
    personal: "هذا الرابط لك وحدك. يُرجى عدم مشاركته.",
    until: "يعمل الرابط حتى {day}.",
    reason: "وصلتك هذه الرسالة لأن {app} دعاك إلى الإجابة.",
    unsubscribe: "إلغاء الاشتراك",
    welcome_subject: "عيّن كلمة المرور",
    welcome_text: "أُنشئ لك حساب في {url}. اختر كلمة مرور لتسجيل الدخول.",
    reset_subject: "إعادة تعيين كلمة المرور",
    reset_text: "طلب أحدهم إعادة تعيين كلمة مرورك في {url}.",
    set_password: "تعيين كلمة المرور",
    once: "يعمل الرابط مرة واحدة خلال 24 ساعة.",
    ignore: "إذا لم تكن تتوقع هذه الرسالة، فيمكنك تجاهلها. لن يتغير شيء.",
};
