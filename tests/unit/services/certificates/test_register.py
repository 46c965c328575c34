"""GIVEN a private authority WHEN certificates are issued THEN each is good for its side and names only, and nothing is lost."""

import json
import stat
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from services.certificates.kinds import Kind
from services.certificates.names import parse
from services.certificates.register import Register
from services.errors import CertificateProblem

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def register(tmp_path):
    made = Register(tmp_path / "certs")
    made.init()
    return made


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def good_for(folder, certificate, authority="ca.crt"):
    """What OpenSSL takes it for."""
    return {
        purpose
        for purpose in ("sslserver", "sslclient")
        if subprocess.run(
            [
                "openssl",
                "verify",
                "-x509_strict",
                "-CAfile",
                folder / authority,
                "-purpose",
                purpose,
                certificate,
            ],
            capture_output=True,
            check=False,
        ).returncode
        == 0
    }


@pytest.mark.parametrize(
    ("kind", "side"), [("gateway", "sslserver"), ("collector", "sslclient"), ("viewer", "sslclient")]
)
def test_a_certificate_is_good_for_one_side_of_a_connection(register, kind, side):
    issued = register.issue(Kind(kind), ("node7",))
    assert good_for(register.folder, issued.certificate) == {side}


def test_the_apis_certificate_is_no_gateways(register):
    """It is signed by another authority, so that nobody who has its key is taken for a gateway."""
    issued = register.issue(Kind.API, ("localhost",))
    assert good_for(register.folder, issued.certificate) == set()
    assert good_for(register.folder, issued.certificate, "api-ca.crt") == {"sslserver"}


def test_the_role_and_the_names_stand_in_it(register):
    issued = register.issue(Kind.GATEWAY, parse(Kind.GATEWAY, "node7.example,10.0.0.7,[::1]"))
    certificate = x509.load_pem_x509_certificate(issued.certificate.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == [
        "node7.example",
        "10.0.0.7",
        "::1",
        "fleetprof:role:gateway",
    ]
    assert issued.entry.names == ("node7.example", "10.0.0.7", "::1")


def test_keys_are_their_owners_alone_whatever_the_umask(register):
    issued = register.issue(Kind.COLLECTOR, ("main",))
    assert mode(register.folder) == 0o700
    assert mode(register.folder / "ca.key") == mode(issued.key) == 0o600
    assert mode(issued.certificate) == 0o644


def test_nothing_is_overwritten(register):
    issued = register.issue(Kind.GATEWAY, ("node7",))
    before = {path: path.read_bytes() for path in register.folder.rglob("*.*") if path.is_file()}
    with pytest.raises(CertificateProblem, match="already exists"):
        register.init()
    with pytest.raises(CertificateProblem, match="--replace"):
        register.issue(Kind.GATEWAY, ("node7",))
    assert {path: path.read_bytes() for path in before} == before
    again = register.issue(Kind.GATEWAY, ("node7",), replace=True)
    assert again.entry.fingerprint != issued.entry.fingerprint


def test_a_file_that_cannot_be_written_leaves_the_old_one_and_no_rest(register, monkeypatch):
    issued = register.issue(Kind.GATEWAY, ("node7",))
    before = issued.certificate.read_bytes()

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("services.certificates.key_files.os.fsync", full)
    with pytest.raises(CertificateProblem, match="No space left"):
        register.issue(Kind.GATEWAY, ("node7",), replace=True)
    assert issued.certificate.read_bytes() == before
    assert not list(register.folder.rglob("*.new"))


def test_elsewhere_goes_what_one_machine_needs_and_the_authoritys_key_stays(register, tmp_path):
    into = tmp_path / "gateway"
    issued = register.issue(Kind.GATEWAY, ("node7",), into=into)
    assert {path.name for path in into.iterdir()} == {"ca.crt", "node7.crt", "node7.key"}
    assert (into / "ca.crt").read_bytes() == (register.folder / "ca.crt").read_bytes()
    assert not (register.folder / "gateway/node7.key").exists()
    assert issued.key == into / "node7.key"


def test_keeping_what_is_good_and_replacing_what_is_not(register, tmp_path):
    def ask(names=("node7",), into="a", **options):
        return register.issue(Kind.GATEWAY, names, into=tmp_path / into, keep_days=30, **options)

    first = ask()
    assert first.is_new
    assert not ask().is_new
    assert ask(names=("node7", "10.0.0.7")).is_new  # for other names
    assert ask(names=("node7", "10.0.0.7"), into="b").is_new  # not there
    (tmp_path / "b/node7.key").write_bytes((register.folder / "ca.key").read_bytes())
    assert ask(names=("node7", "10.0.0.7"), into="b").is_new  # another key
    (tmp_path / "b/node7.key").write_bytes(b"")
    assert ask(names=("node7", "10.0.0.7"), into="b").is_new  # no key
    ask(into="c", days=20)
    assert ask(into="c").is_new  # ends soon
    other = Register(tmp_path / "other")
    other.init()
    assert other.issue(
        Kind.GATEWAY, ("node7",), into=tmp_path / "c", keep_days=30
    ).is_new  # another authority's


def test_renewing_keeps_names_and_key_so_that_only_the_certificate_is_copied(tmp_path):
    Register(tmp_path, now=NOW).init()
    old = Register(tmp_path, now=NOW).issue(Kind.GATEWAY, ("node7", "10.0.0.7"), days=40)
    Register(tmp_path, now=NOW).issue(Kind.COLLECTOR, ("main",), days=100)
    before = x509.load_pem_x509_certificate(old.certificate.read_bytes())
    later = Register(tmp_path, now=NOW + timedelta(days=20))
    (renewed,) = later.renew(within_days=30)
    after = x509.load_pem_x509_certificate(renewed.certificate.read_bytes())
    assert renewed.entry.names == ("node7", "10.0.0.7")
    assert after.public_key() == before.public_key()
    assert after.serial_number != before.serial_number
    assert renewed.entry.ends == NOW + timedelta(days=20 + 397)
    assert later.renew(within_days=30) == []
    (rekeyed, *_) = later.renew(within_days=500, new_keys=True)
    assert x509.load_pem_x509_certificate(rekeyed.certificate.read_bytes()).public_key() != after.public_key()


def test_new_keys_are_made_for_all_or_none(register, tmp_path):
    here = register.issue(Kind.GATEWAY, ("a",))
    register.issue(Kind.GATEWAY, ("b",), into=tmp_path / "elsewhere")
    before = here.key.read_bytes(), here.certificate.read_bytes()
    with pytest.raises(CertificateProblem, match="issue gateway b --replace --into"):
        register.renew(within_days=400, new_keys=True)
    assert (here.key.read_bytes(), here.certificate.read_bytes()) == before


def test_a_renewed_authority_vouches_for_what_the_old_one_signed(tmp_path):
    Register(tmp_path).init(days=20)
    issued = Register(tmp_path).issue(Kind.GATEWAY, ("node7",))
    assert issued.entry.ends == Register(tmp_path).init(keep=True).ends  # not longer than its authority
    renewed = Register(tmp_path).renew(within_days=30)
    assert {entry.entry.kind for entry in renewed} == {None, Kind.GATEWAY}
    assert good_for(tmp_path, issued.certificate) == {"sslserver"}


def test_the_authoritys_key_is_of_no_use_without_its_passphrase(tmp_path):
    Register(tmp_path, "open sesame").init()
    with pytest.raises(ValueError, match="password"):
        serialization.load_pem_private_key((tmp_path / "ca.key").read_bytes(), b"guess")
    assert Register(tmp_path, "open sesame").issue(Kind.VIEWER, ("grafana",)).is_new
    for wrong, says in (("", "is encrypted"), ("guess", "the passphrase is wrong")):
        with pytest.raises(CertificateProblem, match=says):
            Register(tmp_path, wrong).issue(Kind.VIEWER, ("other",))
    assert not (tmp_path / "viewer/other.key").exists()


def test_a_folder_without_an_authority_says_how_to_make_one(tmp_path):
    with pytest.raises(CertificateProblem, match="fleetprof certs init"):
        list(Register(tmp_path).entries())
    with pytest.raises(CertificateProblem, match="fleetprof certs init"):
        Register(tmp_path).issue(Kind.COLLECTOR, ("main",))


@pytest.mark.parametrize("name", ["", "node 7", "-node", "10.0.0", "10.0.0.256", "a/b", "../x", "node..7", "*.example", "x" * 64, "ü"])  # fmt: skip
def test_what_is_no_host(name):
    with pytest.raises(CertificateProblem):
        parse(Kind.GATEWAY, name)


@given(st.text(max_size=80))
def test_a_name_never_leaves_its_folder(text):
    for kind in Kind:
        try:
            names = parse(kind, text)
        except CertificateProblem:
            continue
        assert "/" not in names[0]
        assert names[0] not in {"", ".", ".."}


def test_the_commands_from_the_first_to_the_last(tmp_path):
    from services.cli import app

    def run(*words, status=0, **environment):
        done = CliRunner().invoke(
            app, ["certs", *words], env={"FLEETPROF_STATE_DIR": str(tmp_path), **environment}
        )
        assert done.exit_code == status, done.output
        return done.output

    assert "ca.crt is valid until" in run("init", FLEETPROF_CA_PASSPHRASE="x")
    run("issue", "robot", "r2", status=2)
    run("issue", "collector", "main", FLEETPROF_CA_PASSPHRASE="x")
    assert "node7.crt" in run("issue", "gateway", "node7", "node8", FLEETPROF_CA_PASSPHRASE="x")
    listed = json.loads(run("show", "--json"))
    assert [(row["kind"], row["names"][0]) for row in listed] == [
        ("authority", "fleetprof fleet CA"),
        ("gateway", "node7"),
        ("gateway", "node8"),
        ("collector", "main"),
    ]
    assert all(row["days_left"] in {396, 3649} for row in listed)
    assert "No certificate expires" in run("renew", FLEETPROF_CA_PASSPHRASE="x")
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("x\n")
    assert "copy it" in run("renew", "--within", "400", "--passphrase-file", str(passphrase))
    assert "396" in run("show")


def test_show_fails_when_something_has_ended(tmp_path):
    from services.cli import app

    past = datetime.now(UTC) - timedelta(days=10)
    Register(tmp_path, now=past).init()
    Register(tmp_path, now=past).issue(Kind.GATEWAY, ("node7",), days=5)
    done = CliRunner().invoke(app, ["certs", "show", "--folder", str(tmp_path)])
    assert done.exit_code == 1
    assert "expired" in done.output
