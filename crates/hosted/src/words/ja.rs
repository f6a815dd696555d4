//! Japanese.

use super::{
    FormTexts, Forms, NoticeTexts, RuleTexts, ScriptTexts, StateTexts, TitledText, WaitTexts, Words,
};

pub(super) const WORDS: Words = Words {
    language: "ja",
    form: FormTexts {
        next: "次へ",
        back: "戻る",
        send: "送信",
        ok: "OK",
        of: "質問 {n} / {all}",
        optional: "（任意）",
        choose: "選択してください",
        other: "その他",
        own_answer: "ご自身の回答",
        yes: "はい",
        no: "いいえ",
        agree: "同意します",
        position: "{label}の順位",
        consent: TitledText {
            title: "回答をあなたと関連付けてもよろしいですか？",
            text: "チェックを入れない場合、回答はあなたと関連付けずに保存されます。",
        },
        consent_box: "はい、回答を自分と関連付けてかまいません",
        honeypot: "この欄は空のままにしてください",
        end: TitledText {
            title: "これで質問は終わりです",
            text: "準備ができたら回答を送信してください。",
        },
    },
    rule: RuleTexts {
        required: "この質問に回答してください。",
        every_row: "すべての行で回答を選択してください。",
        email: "name@example.com のようなメールアドレスを入力してください。",
        url: "http:// または https:// で始まるウェブアドレスを入力してください。",
        phone: "数字、スペース、+ - ( ) . を使って電話番号を入力してください。",
        number: "数値を入力してください",
        whole_number: "整数を入力してください",
        date: "日付を入力してください",
        sentence: "{rule}。",
        ranged: "{rule}（{range}）。",
        length: Forms::same("文字数を{range}にしてください。"),
        selected: Forms::same("選択数を{range}にしてください。"),
        option: "選択肢から選んでください。",
        ranking: "それぞれに異なる順位を付けてください。",
        other: "ご自身の回答を入力するか、別の選択肢を選んでください。",
        too_long: "回答が長すぎます。",
        between: "{min}〜{max}",
        at_least: "{min}以上",
        at_most: "{max}以下",
    },
    notice: NoticeTexts {
        parameters: "リンクの一部を使用できませんでした（{names}）。このまま回答できます。",
        changed: "回答中にフォームが変更されました。引き続き有効な回答は残してあります。内容を確認して、もう一度送信してください。",
        robot: "もう一度送信してください。迷惑行為を防ぐため、送信が非常に速い場合にお願いしています。",
        limited: "お使いのネットワークからの回答が多すぎるため、保存されませんでした。回答は残っています。{wait}",
        busy: "現在回答が集中しているため、保存されませんでした。回答は残っています。{wait}",
        unavailable: "回答を保存できませんでした。回答は残っています。しばらくしてから、もう一度送信してください。",
        full: "本日はこれ以上回答を保存できません。回答は残っています。{wait}",
    },
    state: StateTexts {
        missing: TitledText {
            title: "ページが見つかりません",
            text: "アドレスが間違っているか、フォームの公開が終了しています。リンクの送り主にご確認ください。",
        },
        scheduled: TitledText {
            title: "まだ受け付けていません",
            text: "{time} から回答できます。リンクは変わりません。",
        },
        closed: TitledText {
            title: "このフォームは終了しました",
            text: "{time} まで回答を受け付けていました。ご関心をお寄せいただき、ありがとうございました。",
        },
        answered: TitledText {
            title: "すでに回答済みです",
            text: "このフォームの最初の回答が保存されています。今回送信された回答は内容が異なるため、保存されませんでした。",
        },
        invitation_used: TitledText {
            title: "この招待はすでに使用されています",
            text: "回答はすでに保存されています。ありがとうございました。",
        },
        invitation_expired: TitledText {
            title: "この招待は期限が切れています",
            text: "送信者に新しい招待を依頼してください。",
        },
        invitation_revoked: TitledText {
            title: "この招待は取り消されました",
            text: "送信者に新しい招待を依頼してください。",
        },
        unsubscribe: TitledText {
            title: "配信を停止しますか？",
            text: "今後、再び招待された場合でも、{name} からこのアドレスにメールは届きません。",
        },
        unsubscribe_button: "配信を停止する",
        unsubscribed: TitledText {
            title: "配信を停止しました",
            text: "今後、再び招待された場合でも、{name} からこのアドレスにメールは届きません。",
        },
        token_missing: TitledText {
            title: "少々お待ちください",
            text: "このフォームは元のアプリから開きます。何も表示されない場合は、アプリに戻ってもう一度開いてください。",
        },
        token_refused: TitledText {
            title: "もう一度開いてください",
            text: "ログインの有効期限が切れました。元のアプリに戻って、フォームをもう一度開いてください。",
        },
        token_needs_script: "元のアプリでご本人であることを確認するため、このフォームには JavaScript が必要です。",
        failed: TitledText {
            title: "エラーが発生しました",
            text: "現在サービスを利用できません。保存済みの回答は失われていません。しばらくしてから、もう一度お試しください。",
        },
        limited: TitledText {
            title: "しばらくお待ちください",
            text: "お使いのネットワークからのリクエストが多すぎます。保存済みの回答は失われていません。回答を送信した直後の場合は、前のページに戻ってください。回答はフォームに残っています。{wait}",
        },
        too_large: TitledText {
            title: "回答が長すぎます",
            text: "全体の長さが上限を超えているため送信できません。戻って短くしてください。",
        },
        stored: TitledText {
            title: "ありがとうございました", text: "回答を保存しました。"
        },
        linked: "同意いただいたとおり、あなたと関連付けられています。",
        anonymous: "回答は匿名です。個人を特定できる情報は一緒に保存されていません。",
        unlinked: "回答はあなたと関連付けられていません。ご自身について記入された内容は、回答の一部として保存されます。",
        preview: "プレビュー：回答は保存されません。",
        test: "テスト：この回答は集計されません。",
        go_on: "続ける",
        try_again: "もう一度試す",
        new_form: "もう一度回答する",
    },
    wait: WaitTexts {
        seconds: Forms::same("{n} 秒後に、もう一度お試しください。"),
        minutes: Forms::same("{n} 分後に、もう一度お試しください。"),
        hours: Forms::same("{n} 時間後に、もう一度お試しください。"),
    },
    script: ScriptTexts {
        sending: "送信しています…",
        offline: "オフラインです。回答はここに保管され、接続が戻ると送信されます。",
        retry: "もう一度試す",
        kept: "前回の回答を入力しました。",
        again: "最初からやり直す",
        up: "{label}を上へ",
        down: "{label}を下へ",
        order: "この順番にする",
        left: Forms::same("残り {n} 文字"),
        failed: "エラーが発生しました。回答は残っています。もう一度お試しください。",
    },
};
