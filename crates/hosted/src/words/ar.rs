//! Arabic.

use super::{
    FormTexts, Forms, NoticeTexts, RuleTexts, ScriptTexts, StateTexts, TitledText, WaitTexts, Words,
};

pub(super) const WORDS: Words = Words {
    language: "ar",
    form: FormTexts {
        next: "التالي",
        back: "رجوع",
        send: "إرسال",
        ok: "حسنًا",
        of: "السؤال {n} من {all}",
        optional: "(اختياري)",
        choose: "اختر…",
        other: "غير ذلك",
        own_answer: "إجابتك الخاصة",
        yes: "نعم",
        no: "لا",
        agree: "أوافق",
        position: "{label}: المرتبة",
        consent: TitledText {
            title: "هل يمكن ربط إجاباتك بك؟",
            text: "إذا تركت هذا المربع فارغًا، تُحفظ إجاباتك دون ربطها بك.",
        },
        consent_box: "نعم، يمكن ربط إجاباتي بي",
        honeypot: "اترك هذا الحقل فارغًا",
        end: TitledText {
            title: "كان هذا السؤال الأخير", text: "أرسل إجاباتك عندما تكون مستعدًا."
        },
    },
    rule: RuleTexts {
        required: "أجب عن هذا السؤال.",
        every_row: "اختر إجابة في كل صف.",
        email: "أدخل عنوان بريد إلكتروني مثل name@example.com.",
        url: "أدخل عنوان موقع يبدأ بـ http:// أو https://.",
        phone: "أدخل رقم هاتف من أرقام ومسافات والعلامات + - ( ) .",
        number: "أدخل رقمًا",
        whole_number: "أدخل عددًا صحيحًا",
        date: "أدخل تاريخًا",
        sentence: "{rule}.",
        ranged: "{rule}: {range}.",
        length: Forms::same("عدد الأحرف: {range}."),
        selected: Forms::same("اختر {range}."),
        option: "اختر من الخيارات.",
        ranking: "أعط كل خيار مرتبة مختلفة.",
        other: "اكتب إجابتك الخاصة، أو اختر خيارًا آخر.",
        too_long: "هذه الإجابة أطول مما يجب.",
        between: "من {min} إلى {max}",
        at_least: "{min} على الأقل",
        at_most: "{max} على الأكثر",
    },
    notice: NoticeTexts {
        parameters: "تعذر استخدام جزء من الرابط ({names}). ستُقبل إجاباتك مع ذلك.",
        changed: "تغير النموذج أثناء إجابتك. حُفظت إجاباتك حيث ما زالت مناسبة. راجعها ثم أرسلها مرة أخرى.",
        robot: "يرجى الإرسال مرة أخرى. نطلب ذلك عندما يُرسل النموذج بسرعة كبيرة، لإبعاد الروبوتات.",
        limited: "وصلت إجابات كثيرة من شبكتك، فلم تُحفظ إجاباتك. ما زالت هنا. {wait}",
        busy: "يجيب عدد كبير من الأشخاص الآن، فلم تُحفظ إجاباتك. ما زالت هنا. {wait}",
        unavailable: "تعذر حفظ إجاباتك الآن. أرسلها مرة أخرى بعد قليل؛ ما زالت هنا.",
        full: "لا يمكن حفظ مزيد من الإجابات اليوم. إجاباتك ما زالت هنا. {wait}",
    },
    state: StateTexts {
        missing: TitledText {
            title: "الصفحة غير موجودة",
            text: "ربما كُتب العنوان خطأ، أو لم يعد النموذج منشورًا. اسأل من أعطاك الرابط.",
        },
        scheduled: TitledText {
            title: "لم يُفتح بعد",
            text: "يمكنك الإجابة ابتداءً من {time}. يبقى الرابط نفسه.",
        },
        closed: TitledText {
            title: "هذا النموذج مغلق",
            text: "قُبلت الإجابات حتى {time}. شكرًا لاهتمامك.",
        },
        answered: TitledText {
            title: "لقد أجبت من قبل",
            text: "إجاباتك الأولى من هذا النموذج محفوظة. ما أرسلته الآن مختلف ولم يُحفظ.",
        },
        invitation_used: TitledText {
            title: "استُخدمت هذه الدعوة",
            text: "توجد إجابة محفوظة بها. شكرًا.",
        },
        invitation_expired: TitledText {
            title: "انتهت صلاحية هذه الدعوة",
            text: "اطلب دعوة جديدة ممن أرسلها إليك.",
        },
        invitation_revoked: TitledText {
            title: "سُحبت هذه الدعوة",
            text: "اطلب دعوة جديدة ممن أرسلها إليك.",
        },
        unsubscribe: TitledText {
            title: "إلغاء الاشتراك؟",
            text: "لن يرسل {name} رسائل إلى عنوانك بعد الآن، حتى إن دُعيت مرة أخرى لاحقًا.",
        },
        unsubscribe_button: "إلغاء الاشتراك",
        unsubscribed: TitledText {
            title: "أُلغي اشتراكك",
            text: "لم يعد {name} يرسل رسائل إلى عنوانك، حتى إن دُعيت مرة أخرى لاحقًا.",
        },
        token_missing: TitledText {
            title: "لحظة من فضلك",
            text: "يُفتح هذا النموذج من التطبيق الذي أتيت منه. إن لم يحدث شيء، فارجع إليه وافتحه مرة أخرى.",
        },
        token_refused: TitledText {
            title: "افتحه مرة أخرى من فضلك",
            text: "لم يعد تسجيل دخولك صالحًا. ارجع إلى التطبيق الذي أتيت منه وافتح النموذج مرة أخرى.",
        },
        token_needs_script: "يحتاج هذا النموذج إلى JavaScript، لأن التطبيق الذي أتيت منه هو الذي يقول من أنت.",
        failed: TitledText {
            title: "حدث خطأ ما",
            text: "الخدمة غير متاحة الآن. الإجابات المحفوظة لم تُفقد. حاول مرة أخرى بعد قليل.",
        },
        limited: TitledText {
            title: "يرجى الانتظار قليلًا",
            text: "وصلت طلبات كثيرة من شبكتك. الإجابات المحفوظة لم تُفقد. إذا أرسلت إجابات للتو فارجع إلى الصفحة السابقة: ما زالت في النموذج. {wait}",
        },
        too_large: TitledText {
            title: "إجاباتك طويلة جدًا",
            text: "إجاباتك معًا أطول من أن تُرسل. ارجع واختصرها.",
        },
        stored: TitledText { title: "شكرًا", text: "حُفظت إجاباتك." },
        linked: "كما وافقت، فهي مرتبطة بك.",
        anonymous: "إجاباتك مجهولة الهوية: لم يُحفظ معها أي شيء يدل عليك.",
        unlinked: "ليست مرتبطة بك. وما كتبته عن نفسك محفوظ ضمنها.",
        preview: "معاينة: لم يُحفظ شيء.",
        test: "اختبار: لا تُحتسب هذه الإجابة.",
        go_on: "متابعة",
        try_again: "حاول مرة أخرى",
        new_form: "أجب من جديد",
    },
    wait: WaitTexts {
        seconds: Forms {
            one: Some("حاول مرة أخرى بعد ثانية واحدة."),
            two: Some("حاول مرة أخرى بعد ثانيتين."),
            few: Some("حاول مرة أخرى بعد {n} ثوانٍ."),
            ..Forms::same("حاول مرة أخرى بعد {n} ثانية.")
        },
        minutes: Forms {
            one: Some("حاول مرة أخرى بعد دقيقة واحدة."),
            two: Some("حاول مرة أخرى بعد دقيقتين."),
            few: Some("حاول مرة أخرى بعد {n} دقائق."),
            ..Forms::same("حاول مرة أخرى بعد {n} دقيقة.")
        },
        hours: Forms {
            one: Some("حاول مرة أخرى بعد ساعة واحدة."),
            two: Some("حاول مرة أخرى بعد ساعتين."),
            few: Some("حاول مرة أخرى بعد {n} ساعات."),
            ..Forms::same("حاول مرة أخرى بعد {n} ساعة.")
        },
    },
    script: ScriptTexts {
        sending: "جارٍ الإرسال…",
        offline: "أنت غير متصل. تبقى إجاباتك هنا وتُرسل حالما يعود الاتصال.",
        retry: "حاول الآن",
        kept: "أُدرجت إجاباتك من المرة السابقة.",
        again: "ابدأ من جديد",
        up: "حرّك {label} إلى أعلى",
        down: "حرّك {label} إلى أسفل",
        order: "أبقِ هذا الترتيب",
        left: Forms {
            zero: Some("لم يبقَ أي حرف"),
            one: Some("بقي حرف واحد"),
            two: Some("بقي حرفان"),
            few: Some("بقيت {n} أحرف"),
            many: Some("بقي {n} حرفًا"),
            other: "بقي {n} حرف",
        },
        failed: "لم ينجح ذلك. إجاباتك ما زالت هنا؛ حاول مرة أخرى.",
    },
};
