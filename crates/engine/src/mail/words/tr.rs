//! Turkish.

use sluice_flow::phrase::Forms;

use super::Words;

pub(super) const WORDS: Words = Words {
    language: "tr",
    invitation_subject: "Davet: {title}",
    invitation_text: "Birkaç soruyu yanıtlamaya davetlisiniz. Yanıtlarınız bizim için önemli.",
    answer: "Şimdi yanıtla",
    reminder: "Hatırlatma: {subject}",
    reminder_text: "Henüz yanıt vermediniz. Hâlâ zamanınız var.",
    personal: "Bu bağlantı yalnızca sizin içindir. Lütfen başkasıyla paylaşmayın.",
    until: "{day} tarihine kadar geçerlidir.",
    reason: "Bu e-postayı {app} sizi davet ettiği için aldınız.",
    unsubscribe: "Abonelikten çık",
    welcome_subject: "Parolanızı belirleyin",
    welcome_text: "{url} adresinde sizin için bir hesap oluşturuldu. Oturum açmak için bir parola seçin.",
    reset_subject: "Parolanızı sıfırlayın",
    reset_text: "Birisi {url} adresindeki parolanızın sıfırlanmasını istedi.",
    set_password: "Parola belirle",
    once: "Bağlantı 24 saat içinde bir kez kullanılabilir.",
    ignore: "Bu e-postayı beklemiyorsanız yok sayabilirsiniz. Hiçbir şey değişmez.",
    notice_subject: Forms::one("Yeni yanıt: {name}", "{n} yeni yanıt: {name}"),
    notice_response: "{time} tarihli yanıt",
    notice_open: "Yanıtı aç",
    notice_more: Forms::same("… ve {n} yanıt daha"),
    notice_all: "Tüm yanıtları aç",
    notice_reason: "Bu e-postayı bu anketin bildirimlerini seçtiğiniz için aldınız.",
    notice_stop: "Bu bildirimleri durdur",
    endpoint_subject: "Webhook uç noktası devre dışı: {name}",
    endpoint_disabled: "{host} adresindeki webhook uç noktası devre dışı bırakıldı.",
    endpoint_gone: "Alıcı 410 durumuyla yanıt verdi; bu, artık hiçbir şey almak istemediği anlamına gelir.",
    endpoint_failing: "Beş gündür hiçbir teslimat başarılı olmadı.",
    endpoint_next: "Bundan sonra olanlar olay günlüğünde kalır. Uç noktayı yeniden etkinleştirirseniz kaldığı yerden devam eder. Başarısız teslimatlar oradan yeniden gönderilebilir.",
    endpoint_open: "Uç noktayı aç",
    endpoint_reason: "Bu e-postayı bu uygulamayı yönettiğiniz için aldınız.",
};
