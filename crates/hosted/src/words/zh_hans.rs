//! Simplified Chinese.

use super::{
    FormTexts, Forms, NoticeTexts, RuleTexts, ScriptTexts, StateTexts, TitledText, WaitTexts, Words,
};

pub(super) const WORDS: Words = Words {
    language: "zh-Hans",
    form: FormTexts {
        next: "下一步",
        back: "返回",
        send: "提交",
        ok: "好的",
        of: "第 {n} 题，共 {all} 题",
        optional: "（选填）",
        choose: "请选择…",
        other: "其他",
        own_answer: "您自己的回答",
        yes: "是",
        no: "否",
        agree: "我同意",
        position: "{label}的名次",
        consent: TitledText {
            title: "是否可以将您的回答与您关联？",
            text: "如果不勾选，您的回答将在不与您关联的情况下保存。",
        },
        consent_box: "可以，将我的回答与我关联",
        honeypot: "请将此项留空",
        end: TitledText {
            title: "这是最后一题", text: "准备好后，请提交您的回答。"
        },
    },
    rule: RuleTexts {
        required: "请回答此问题。",
        every_row: "请在每一行中选择一个答案。",
        email: "请输入电子邮箱地址，例如 name@example.com。",
        url: "请输入以 http:// 或 https:// 开头的网址。",
        phone: "请输入电话号码，可使用数字、空格和 + - ( ) . 。",
        number: "请输入数字",
        whole_number: "请输入整数",
        date: "请输入日期",
        sentence: "{rule}。",
        ranged: "{rule}：{range}。",
        length: Forms::same("字数要求：{range}。"),
        selected: Forms::same("可选数量：{range}。"),
        option: "请从选项中选择。",
        ranking: "请为每个选项选择不同的名次。",
        other: "请填写您自己的回答，或选择其他选项。",
        too_long: "此回答太长。",
        between: "{min} 到 {max}",
        at_least: "至少 {min}",
        at_most: "最多 {max}",
    },
    notice: NoticeTexts {
        parameters: "链接的一部分无法使用（{names}）。您仍然可以作答。",
        changed: "在您作答期间，此表单已更新。仍然适用的回答已保留。请检查后重新提交。",
        robot: "请再提交一次。当表单提交得非常快时，我们会这样要求，以防止垃圾信息。",
        limited: "来自您所在网络的回答过多，因此您的回答未能保存。您的回答仍在这里。{wait}",
        busy: "目前作答的人过多，因此您的回答未能保存。您的回答仍在这里。{wait}",
        unavailable: "您的回答未能保存。它们仍在这里：请稍后重新提交。",
        full: "今天无法再保存更多回答。您的回答仍在这里。{wait}",
    },
    state: StateTexts {
        missing: TitledText {
            title: "找不到页面",
            text: "网址可能有误，或表单已不再发布。请联系向您提供链接的人。",
        },
        scheduled: TitledText {
            title: "尚未开放",
            text: "您可以从 {time} 开始作答。链接保持不变。",
        },
        closed: TitledText {
            title: "此表单已关闭", text: "回答截止时间为 {time}。感谢您的关注。"
        },
        answered: TitledText {
            title: "您已经回答过了",
            text: "您第一次提交的回答已保存。您刚才提交的回答与之不同，因此未保存。",
        },
        invitation_used: TitledText {
            title: "此邀请已被使用", text: "已有一份回答保存。谢谢。"
        },
        invitation_expired: TitledText {
            title: "此邀请已过期", text: "请向发送者索取新的邀请。"
        },
        invitation_revoked: TitledText {
            title: "此邀请已被撤回",
            text: "请向发送者索取新的邀请。",
        },
        unsubscribe: TitledText {
            title: "要退订吗？",
            text: "即使以后再次邀请您，{name} 也不会再向您的地址发送邮件。",
        },
        unsubscribe_button: "退订",
        unsubscribed: TitledText {
            title: "您已退订",
            text: "即使以后再次邀请您，{name} 也不会再向您的地址发送邮件。",
        },
        token_missing: TitledText {
            title: "请稍候",
            text: "此表单需从您来时的应用中打开。如果没有反应，请返回该应用重新打开。",
        },
        token_refused: TitledText {
            title: "请重新打开",
            text: "您的登录已失效。请返回您来时的应用，重新打开表单。",
        },
        token_needs_script: "此表单需要 JavaScript，因为您来时的应用会确认您的身份。",
        failed: TitledText {
            title: "出现问题",
            text: "服务暂时不可用。已保存的回答不会丢失。请稍后再试。",
        },
        limited: TitledText {
            title: "请稍候",
            text: "来自您所在网络的请求过多。已保存的回答不会丢失。如果您刚刚提交了回答，请返回上一页：回答仍在表单中。{wait}",
        },
        too_large: TitledText {
            title: "您的回答太长",
            text: "所有回答合计过长，无法提交。请返回并缩短内容。",
        },
        stored: TitledText { title: "谢谢", text: "您的回答已保存。" },
        linked: "按照您的同意，它们已与您关联。",
        anonymous: "它们是匿名的：没有保存任何能识别您身份的信息。",
        unlinked: "它们未与您关联。您在回答中写下的个人信息会作为回答的一部分保存。",
        preview: "预览：回答不会被保存。",
        test: "测试：此回答不计入结果。",
        go_on: "继续",
        try_again: "重试",
        new_form: "再次作答",
    },
    wait: WaitTexts {
        seconds: Forms::same("请在 {n} 秒后重试。"),
        minutes: Forms::same("请在 {n} 分钟后重试。"),
        hours: Forms::same("请在 {n} 小时后重试。"),
    },
    script: ScriptTexts {
        sending: "正在提交…",
        offline: "您已离线。您的回答保存在这里，恢复连接后将自动提交。",
        retry: "重试",
        kept: "已填入您上次的回答。",
        again: "重新开始",
        up: "上移{label}",
        down: "下移{label}",
        order: "保持此顺序",
        left: Forms::same("还可输入 {n} 个字符"),
        failed: "出现问题。您的回答仍在这里：请重试。",
    },
};
