"""A mail server for the tests: aiosmtpd with TLS and sign-in, told by its arguments.

Usage: smtp.py MODE FOLDER, where MODE is starttls, smtps or none. It writes the certificate of its own authority to
FOLDER/ca.pem and prints JSON, one object per line: first its port, then every e-mail that it accepts, as the email
library reads it. What it answers depends on the recipient: delay… gets 451, bounce… gets 550, hang… gets no answer, slow… gets
it half a minute after the content.
The user is "sluice", the password is read from the variable SMTP_PASSWORD; without it nobody has to sign in.
"""

import asyncio
import datetime
import email
import email.policy
import ipaddress
import json
import os
import ssl
import sys

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

USER = b"sluice"
HANG_SECONDS = 600
SLOW_SECONDS = 28


def say(what):
    print(json.dumps(what), flush=True)


class Handler:
    def __init__(self, wraps_tls):
        self.wraps_tls = wraps_tls

    async def handle_RCPT(self, server, session, envelope, address, options):
        # As real servers do, the reply repeats the address.
        if address.startswith("delay"):
            return f"451 4.7.1 <{address}> greylisted, try again"
        if address.startswith("bounce"):
            return f"550 5.1.1 <{address}> no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if any(address.startswith("hang") for address in envelope.rcpt_tos):
            await asyncio.sleep(HANG_SECONDS)
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        say({
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "headers": [[name, str(value)] for name, value in message.items()],
            "text": message.get_body(("plain",)).get_content(),
            "html": message.get_body(("html",)).get_content(),
            "defects": [str(defect) for part in message.walk() for defect in part.defects],
            "tls": self.wraps_tls or session.ssl is not None,
            "user": session.authenticated,
        })
        if any(address.startswith("slow") for address in envelope.rcpt_tos):
            await asyncio.sleep(SLOW_SECONDS)
        return "250 OK"


def name(text):
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def certificate(folder):
    """An authority, and a certificate of it for this machine, as a server context."""
    now = datetime.datetime.now(datetime.timezone.utc)

    def build(subject, key, issuer, issuer_key, extensions):
        made = x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number(),
                                       now - datetime.timedelta(hours=1), now + datetime.timedelta(days=1))
        for extension, critical in extensions:
            made = made.add_extension(extension, critical)
        return made.sign(issuer_key, hashes.SHA256())

    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = build(name("Test authority"), authority_key, name("Test authority"), authority_key,
                      [(x509.BasicConstraints(True, None), True)])
    alternatives = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    own = build(name("localhost"), key, authority.subject, authority_key,
                [(alternatives, False), (x509.BasicConstraints(False, None), True)])
    pem = serialization.Encoding.PEM
    with open(os.path.join(folder, "ca.pem"), "wb") as file:
        file.write(authority.public_bytes(pem))
    with open(os.path.join(folder, "server.pem"), "wb") as file:
        file.write(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        file.write(own.public_bytes(pem))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(os.path.join(folder, "server.pem"))
    return context


def main(mode, folder):
    password = os.environ.get("SMTP_PASSWORD")

    def authenticate(server, session, envelope, mechanism, data):
        # The server itself sends the refusal.
        return AuthResult(success=data.login == USER and data.password == password.encode(), handled=False)

    context = certificate(folder)
    options = {"hostname": "127.0.0.1", "port": 0, "server_hostname": "mail.test"}
    if password is not None:
        options |= {"authenticator": authenticate, "auth_required": True, "auth_require_tls": mode == "starttls"}
    if mode == "starttls":
        options |= {"tls_context": context, "require_starttls": True}
    if mode == "smtps":
        options |= {"ssl_context": context}

    class AnyPort(Controller):
        # The first connection of the controller itself goes to the port that the system chose.
        def _trigger_server(self):
            self.port = self.server.sockets[0].getsockname()[1]
            super()._trigger_server()

    controller = AnyPort(Handler(mode == "smtps"), **options)
    controller.start()
    say({"port": controller.port})
    sys.stdin.read()
    controller.stop()


main(*sys.argv[1:])
