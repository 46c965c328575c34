"""What of pg_restore's script an older server is not told."""

from io import BytesIO

import pytest

from services.deployment.backup import without_timeout

PREAMBLE = b"""--
-- PostgreSQL database dump
--

\\restrict abc

BEGIN;

SET statement_timeout = 0;
SET lock_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SELECT pg_catalog.set_config('search_path', '', false);
"""
REST = b"""
CREATE TABLE public.t (a text);

COPY public.t (a) FROM stdin;
SET transaction_timeout = 0;
\\.

COMMIT;
"""
TIMEOUT = b"SET transaction_timeout = 0;\n"


@pytest.mark.parametrize("preamble", [PREAMBLE, PREAMBLE.replace(TIMEOUT, b"")])
def test_the_setting_goes_and_data_like_it_stays(preamble: bytes):
    written = BytesIO()
    without_timeout(BytesIO(preamble + REST), written)
    assert written.getvalue() == preamble.replace(TIMEOUT, b"") + REST


def test_an_empty_script_stays_empty():
    written = BytesIO()
    without_timeout(BytesIO(b""), written)
    assert written.getvalue() == b""
