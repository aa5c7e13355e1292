"""Generates certificates for tests, so that no key is ever kept in a repository.

`make_certificates` fills a folder with a certificate authority and certificates that it signed: for a broker at
127.0.0.1, for a broker with another name, and for a client, with its key unencrypted, encrypted and as PKCS12. Needs
the library `cryptography`.
"""

import atexit
import ipaddress
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

KEY_PASSWORD: Final = "open-sesame"
"""For the client's encrypted key and its PKCS12 store."""

_LIFE: Final = timedelta(days=7)


def temporary_certificates() -> Path:
    """New certificates, in a folder that is removed when this process ends."""
    folder = tempfile.TemporaryDirectory(prefix="barnabas-certificates-")
    atexit.register(folder.cleanup)
    return make_certificates(Path(folder.name))


def make_certificates(folder: Path) -> Path:
    """authority.pem, broker.pem, elsewhere.pem, client.pem, client-encrypted.pem and client.p12."""
    authority_key, authority = _signed("Authority of the tests", None)
    issuer = (authority_key, authority)
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    elsewhere = x509.SubjectAlternativeName([x509.DNSName("elsewhere.example")])
    client_key, client = _signed("client", issuer)
    protection = BestAvailableEncryption(KEY_PASSWORD.encode())
    contents = {
        "authority.pem": authority.public_bytes(Encoding.PEM),
        "broker.pem": _pem(*_signed("broker", issuer, here)),
        "elsewhere.pem": _pem(*_signed("elsewhere", issuer, elsewhere)),
        "client.pem": _pem(client_key, client),
        "client-encrypted.pem": _pem(client_key, client, protection),
        "client.p12": pkcs12.serialize_key_and_certificates(None, client_key, client, None, protection),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


def _signed(
    common_name: str,
    issuer: tuple[ec.EllipticCurvePrivateKey, x509.Certificate] | None,
    names: x509.SubjectAlternativeName | None = None,
) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    """A key and its certificate; without an issuer, that of an authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer[1].subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _LIFE)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    return key, builder.sign(key if issuer is None else issuer[0], hashes.SHA256())


def _pem(
    key: ec.EllipticCurvePrivateKey,
    certificate: x509.Certificate,
    protection: KeySerializationEncryption | None = None,
) -> bytes:
    """Key and certificate in one file, as Kafka reads a PEM key store."""
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection or NoEncryption())
    return secret + certificate.public_bytes(serialization.Encoding.PEM)
