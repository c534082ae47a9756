"""The lab's certificates and kubeconfigs: one authority, a certificate for each identity.

Made anew for each lab, valid for a year, and removed with it.
"""

import base64
import datetime as dt
import ipaddress
from collections.abc import Sequence
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["Authority", "kubeconfig"]

VALID_FOR = dt.timedelta(days=365)


class Authority:
    """Signs certificates into a directory: NAME.crt and NAME.key."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("netclaim-lab-ca")
        certificate = (
            _builder(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        _write(directory, "ca", certificate, self._key)

    @property
    def certificate(self) -> Path:
        """The authority's own certificate."""
        return self.directory / "ca.crt"

    def issue(
        self, file: str, user: str, groups: Sequence[str] = (), hosts: Sequence[str] = ()
    ) -> None:
        """Issue a certificate for `user` in `groups`, and for `hosts` (names, addresses)."""
        key = ec.generate_private_key(ec.SECP256R1())
        usage = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
        builder = _builder(_name(user, groups), self._name, key.public_key()).add_extension(
            x509.ExtendedKeyUsage(usage), critical=False
        )
        if hosts:
            names = x509.SubjectAlternativeName([_host(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        _write(self.directory, file, builder.sign(self._key, hashes.SHA256()), key)

    def key_pair(self, file: str) -> None:
        """Make a bare key and its public half (NAME.key, NAME.pub), for service-account tokens."""
        key = ec.generate_private_key(ec.SECP256R1())
        _write_key(self.directory / f"{file}.key", key)
        (self.directory / f"{file}.pub").write_bytes(
            key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )


def kubeconfig(directory: Path, file: str, server: str, cluster: str) -> str:
    """Return a kubeconfig that holds everything in itself, for the certificate `file`."""

    def inline(name: str) -> str:
        return base64.b64encode((directory / name).read_bytes()).decode()

    return yaml.safe_dump({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": cluster,
        "clusters": [{"name": cluster, "cluster": {
            "server": server, "certificate-authority-data": inline("ca.crt"),
        }}],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": file}}],
        "users": [{"name": file, "user": {
            "client-certificate-data": inline(f"{file}.crt"),
            "client-key-data": inline(f"{file}.key"),
        }}],
    })  # fmt: skip


def _name(user: str, groups: Sequence[str] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))  # clocks of a machine may step
        .not_valid_after(now + VALID_FOR)
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write(
    directory: Path, file: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey
) -> None:
    (directory / f"{file}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    _write_key(directory / f"{file}.key", key)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
