//! Chinese in simplified characters.

use sluice_flow::phrase::Forms;

use super::Words;

pub(super) const WORDS: Words = Words {
    language: "zh-Hans",
    invitation_subject: "邀请：{title}",
    invitation_text: "邀请您回答几个问题。您的回答对我们很重要。",
    answer: "立即回答",
    reminder: "提醒：{subject}",
    reminder_text: "您还没有回答，现在仍可作答。",
    personal: "此链接仅供您本人使用，请勿转发。",
    until: "有效期至 {day}。",
    reason: "您收到这封邮件，是因为 {app} 邀请了您。",
    unsubscribe: "退订",
    welcome_subject: "设置您的密码",
    welcome_text: "已在 {url} 为您创建账户。请设置密码以登录。",
    reset_subject: "重置您的密码",
    reset_text: "有人请求重置您在 {url} 的密码。",
    set_password: "设置密码",
    once: "此链接在 24 小时内有效，只能使用一次。",
    ignore: "如果您没有预料到这封邮件，可以忽略它，不会有任何更改。",
    notice_subject: Forms::same("{n} 条新回复：{name}"),
    notice_response: "{time} 的回复",
    notice_open: "打开回复",
    notice_more: Forms::same("……另有 {n} 条"),
    notice_all: "打开所有回复",
    notice_reason: "您收到这封邮件，是因为您选择了此问卷的通知。",
    notice_stop: "停止这些通知",
    endpoint_subject: "Webhook 端点已停用：{name}",
    endpoint_disabled: "{host} 的 Webhook 端点已停用。",
    endpoint_gone: "接收方返回了状态 410，表示不再需要任何内容。",
    endpoint_failing: "五天来没有一次投递成功。",
    endpoint_next: "此后发生的事件会保留在事件日志中。重新启用端点后，它会从停止的地方继续。失败的投递可以在那里重新发送。",
    endpoint_open: "打开端点",
    endpoint_reason: "您收到这封邮件，是因为您管理此应用。",
};
