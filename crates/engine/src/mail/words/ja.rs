//! Japanese.

use sluice_flow::phrase::Forms;

use super::Words;

pub(super) const WORDS: Words = Words {
    language: "ja",
    invitation_subject: "ご招待：{title}",
    invitation_text: "いくつかの質問にお答えください。皆さまの回答を参考にさせていただきます。",
    answer: "今すぐ回答する",
    reminder: "リマインダー：{subject}",
    reminder_text: "まだ回答をいただいていません。今からでも回答できます。",
    personal: "このリンクはご本人専用です。転送しないでください。",
    until: "有効期限：{day}",
    reason: "このメールは {app} からの招待により送信されました。",
    unsubscribe: "配信を停止する",
    welcome_subject: "パスワードを設定してください",
    welcome_text: "{url} にアカウントが作成されました。パスワードを設定してサインインしてください。",
    reset_subject: "パスワードの再設定",
    reset_text: "{url} のパスワードの再設定が要求されました。",
    set_password: "パスワードを設定する",
    once: "リンクは 24 時間以内に 1 回だけ使えます。",
    ignore: "お心当たりがない場合は、このメールを無視してください。何も変更されません。",
    notice_subject: Forms::same("新しい回答 {n} 件: {name}"),
    notice_response: "{time} の回答",
    notice_open: "回答を開く",
    notice_more: Forms::same("ほか {n} 件"),
    notice_all: "すべての回答を開く",
    notice_reason: "このメールは、このアンケートの通知を設定されたため送信されました。",
    notice_stop: "この通知を停止する",
    endpoint_subject: "Webhook エンドポイントが無効になりました: {name}",
    endpoint_disabled: "{host} の Webhook エンドポイントが無効になりました。",
    endpoint_gone: "受信側がステータス 410 を返しました。これ以上の受信を望まないことを意味します。",
    endpoint_failing: "5 日間、一度も配信に成功していません。",
    endpoint_next: "今後の出来事はイベントログに残ります。エンドポイントを再び有効にすると、止まったところから再開します。失敗した配信はそこから再送信できます。",
    endpoint_open: "エンドポイントを開く",
    endpoint_reason: "このメールは、このアプリを管理されているため送信されました。",
};
