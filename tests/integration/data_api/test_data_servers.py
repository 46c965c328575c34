"""GIVEN a running API WHEN data is streamed by gRPC or HTTP THEN both bring the same, to those who may."""

import json
import urllib.request
from urllib.parse import urlencode

import grpc
import pytest

from fleetpb import data_pb2, data_pb2_grpc
from tests.integration.data_api.conftest import HOUR, OPERATOR, VIEWER, Served

pytestmark = pytest.mark.integration

SELECTION = data_pb2.Selection(from_time=HOUR["from"], to_time=HOUR["to"])


def bearer(token: str):
    return (("authorization", f"Bearer {token}"),)


def test_both_ways_bring_the_same(served: Served, visit_ids):
    with grpc.insecure_channel(served.grpc) as channel:
        api = data_pb2_grpc.DataApiStub(channel)
        by_grpc = list(api.Profiles(data_pb2.ProfileQuery(selection=SELECTION), metadata=bearer(VIEWER)))
        raw = list(api.Captures(data_pb2.CaptureQuery(selection=SELECTION), metadata=bearer(OPERATOR)))
    assert [r.visit.visit.visit_id for r in by_grpc if r.HasField("visit")] == [str(id_) for id_ in visit_ids]

    request = urllib.request.Request(
        f"{served.http}/api/v1/data/profiles?{urlencode(HOUR)}", headers={"Authorization": f"Bearer {VIEWER}"}
    )
    with urllib.request.urlopen(request) as response:
        lines = [json.loads(line) for line in response]
    assert [line.get("visit", {}).get("visit", {}).get("visitId") for line in lines] == [
        r.visit.visit.visit_id or None for r in by_grpc
    ]
    assert len([r for r in raw if r.capture.capture]) == len(visit_ids)
