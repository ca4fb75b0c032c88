# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Certificates for tests, of the server at 127.0.0.1."""

import subprocess


def make_certificate(cert, key):
    """One that vouches for itself."""
    _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-days", 2, "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
             "-keyout", key, "-out", cert)


def make_certificates(directory):
    """An authority (ca.pem), and one that it signed (server.pem, server.key)."""
    ca, ca_key = directory / "ca.pem", directory / "ca.key"
    request, names = directory / "server.csr", directory / "names"
    _openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 2, "-subj", "/CN=test-ca",
             "-keyout", ca_key, "-out", ca)
    _openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-keyout",
             directory / "server.key", "-out", request)
    names.write_text("subjectAltName=IP:127.0.0.1\n", encoding="utf-8")
    _openssl("x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial",
             "-days", 2, "-extfile", names, "-out", directory / "server.pem")


def _openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
