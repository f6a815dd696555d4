"""Creates key pairs and tokens with PyJWT: for each line of JSON that it reads, it prints one with the result."""

import json
import sys

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

KEYS = {
    "RS256": lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
}


def make_keys(algorithm):
    private = KEYS[algorithm]()
    public = private.public_key()
    pkcs8 = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    spki = public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    jwk = json.loads(jwt.get_algorithm_by_name(algorithm).to_jwk(public))
    return {"private": pkcs8.decode(), "pem": spki.decode(), "jwk": jwk}


def sign(algorithm, key, claims, header):
    return jwt.encode(claims, key, algorithm=algorithm, headers=header)


actions = {"makeKeys": make_keys, "sign": sign}
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps(actions[request["action"]](*request["arguments"])), flush=True)
