//! Arabic.

use sluice_flow::phrase::Forms;

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
    notice_subject: Forms {
        zero: None,
        one: Some("رد جديد: {name}"),
        two: Some("ردان جديدان: {name}"),
        few: Some("{n} ردود جديدة: {name}"),
        many: Some("{n} ردًا جديدًا: {name}"),
        other: "{n} رد جديد: {name}",
    },
    notice_response: "رد بتاريخ {time}",
    notice_open: "افتح الرد",
    notice_more: Forms {
        zero: None,
        one: Some("… ورد واحد آخر"),
        two: Some("… وردان آخران"),
        few: Some("… و{n} ردود أخرى"),
        many: Some("… و{n} ردًا آخر"),
        other: "… و{n} رد آخر",
    },
    notice_all: "افتح كل الردود",
    notice_reason: "وصلتك هذه الرسالة لأنك اخترت إشعارات هذا الاستبيان.",
    notice_stop: "إيقاف هذه الإشعارات",
    endpoint_subject: "تم تعطيل نقطة نهاية Webhook: {name}",
    endpoint_disabled: "تم تعطيل نقطة نهاية Webhook على {host}.",
    endpoint_gone: "ردّ المستلم بالحالة 410، أي أنه لا يريد المزيد.",
    endpoint_failing: "لم تنجح أي عملية تسليم منذ خمسة أيام.",
    endpoint_next: "ما يحدث من الآن يبقى في سجل الأحداث. إذا فعّلت نقطة النهاية من جديد، فستتابع من حيث توقفت. ويمكن هناك إعادة إرسال عمليات التسليم التي فشلت.",
    endpoint_open: "فتح نقطة النهاية",
    endpoint_reason: "تلقيت هذه الرسالة لأنك تدير هذا التطبيق.",
};
