"""Values that are near a rule of the server: just valid, or invalid for one reason."""

from __future__ import annotations

from typing import Any, Dict, List

# fmt: off
#: Texts that are near a rule: valid, or invalid for one reason.
TEXTS: Dict[str, List[str]] = {
    "shortText": ["", "a", "Ada", "äöü", "日本語", "😀😀", "a" * 20, "a" * 21, "other:x", " ", "x\u0301"],
    "longText": ["", "Because.", "a" * 4000, "a" * 4001, "ß" * 4000, "line\nline", "\ufeff"],
    "email": [
        "ada@example.com", "jörg@müller.example", "a@भारत.example", "a@b", "a..b@c.de", "@x.de", "a@-b.de",
        "o'neil_{x}@example.org", "a" * 65 + "@x.de", "Ⓐ@example.com", "a@ex_ample.com", "x\u200d@y.de",
    ],
    "url": [
        "https://example.com", "HTTP://EXAMPLE.COM:8080/a?b#c", "https://münchen.example/straße", "ftp://a.de",
        "https://", "https:example.com", "http:///a.de", "https://a b.de", "http://1.2.3", "http://1.2.3.256",
        "http://0x7f.1", "http://a.09", "http://[::1]:80", "http://[::g]", "http://[1:2:3:4:5:6:7:8:9]",
        "http://[1::2::3]", "http://[::ffff:1.2.3.4]", "http://user:pw@a.de", "http://@a.de", "http://a.de:65536",
        "http://a.de:8x", "http://a.de:", "http://%41.de", "http://a%2fb.de", "http://xn--mnchen-3ya.de",
        "http://xn--a.de", "http://xn--.de", "http://☕.example", "http://a_b.de", "http://-a-.de", "http://a..b",
        "http://אב.example", "http://1א.example", "http://אb.example", "http://ex\u00adample.com", "http://。com",
        "http://a|b.de", "http://a.de\\b", "https://ﬀ.example", "http://\u0301a.de", "http://a\u200db.de",
        "http://नी\u200dक.example", "http://a.b.c.d.e.0x1", "http://4294967296", "http://0", "http://a:b@:80",
        "http://08", "http://1.2.3.08", "http://0377.1", "http://1.2.3.4.5", "http://1.2.3.4.", "http://1..2", "http://0x",
        "http://[1:2:3]", "http://[1:2:3:4:5:6:7::]", "http://[1:2:3:4:5:6:7:8::]", "http://[:1]", "http://[1:]",
        "http://[]", "http://[::1", "http://[1:2:3:4:5:6:1.2.3.4]", "http://[1:2:3:4:5:6:7:1.2.3.4]", "http://[:::]",
        "http://[1:2:3:4:5:6::1.2.3.4]", "http://[::1.2.3]", "http://[::01.2.3.4]", "http://[1.2.3.4::]", "http://[::]",
        "http://[::1.2.3.4:5]", "http://[::12345]", "http://[::1]x", "http://x[::1]", "http://[::1]:x", "http://[::%41]",
        "http://א1٢ב.example", "http://א1ב.example", "http://א٢ב1.example", "http://א-.example", "http://א\u05b0.example",
    ],
    "phone": ["112", "+49 (0) 30 123-456.78", "12", "call me", "1" * 32, "1" * 33, "٠١٢٣", "1 2 3"],
    "number": [
        "0", "-0", "7", "007", "-7.5", ".5", "5.", "1e3", "+5", "--5", "١", " 5", "9" * 64, "9" * 65,
        "0.10000000000000000000000000000001", "-0.1", "2.50", "10", "100", "1000000000000001",
    ],
    "date": [
        "2024-02-29", "2023-02-29", "2024-1-1", "0000-01-01", "9999-12-31", "2026-11-15", "2026-11-15T00:00",
        "2024-01-0١", "0001-01-01",
    ],
    "rating": ["1", "3", "5", "10", "0", "11", "01", "+3", "x", "-1", "3.0", "9" * 30, ""],
    "nps": ["0", "7", "10", "11", "00", "+7", "x", "", "4294967296", "٣"],
    "yesNo": ["yes", "no", "Yes", "true", ""],
    "consent": ["accepted", "yes", "", "true"],
    "statement": ["", "x"],
}
TAGS = ["plan", "", "a" * 64, "a" * 65, "na\0me", "日本", "x.y"]
IDENTITY_TYPES = ["userId", "traits.email", "traits.plan", "", "bad type", "a" * 65, "x\n"]
JUNK: List[Any] = [None, True, 7, 1.5, {}, [], {"a": "b"}, [["x"]], [1], ["a", None], "\0", "\ud83d"]

#: Parts of web and e-mail addresses; joined at random, they are near every rule.
URL_PARTS = (
    "a b 1 0 9 0x 0xff 255 256 4294967295 example com www münchen ß ☕ אב ب १ 日本 ﬀ Ａ % %41 %2e %ff %C3%A4 "
    "xn-- xn--mnchen-3ya xn--a xn--wgv71a xn--zz . . . .. - _ : :80 :65535 :65536 :x @ user:pw@ [ ] [::1] "
    "[1:2:3:4:5:6:7:8] [::1.2.3.4] :: / \\ ? # | ^ ~ ! $ & ' ( ) * + , ; = < > { } ` \" \u00ad \u200c "
    "\u200d \u0301 क \u094d 。 Ⅷ \ufffd 𝒂 \u2260 İ"
).split(" ")
EMAIL_PARTS = (
    "a ada 1 . . @ @ example.com x.de - _ + ' {x} ä भारत Ⓐ ² ½ ೲ \u0301 \u200d ☕ \" ( ) , : ; < > [ ] \\ ! # $ % & * "
    "/ = ? ^ ` | ~ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ٣ Ⅷ ー"
).split(" ")
