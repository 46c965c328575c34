"""What is uploaded, and what mixes are foretold of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
from fastapi.testclient import TestClient

from services.api import experiments as described
from services.api.problems import ProblemDocument
from storage.query.answers.answer import adapter
from storage.query.answers.interference import InterferenceAnswer
from tests.experiment_files import PEAK, Lab, name

VIEWER, OPERATOR = "v" * 24, "o" * 24
BASE = "http://127.0.0.1:7070"
TARGETS = (3, 7)
Json = dict[str, Any]
Fleetprof = Callable[..., tuple[int, str, str]]


def upload(client: TestClient, content: bytes, called: str, status: int = 200, **query: str) -> Json:
    response = client.post("/api/v1/experiments", content=content, params={"name": called, **query})
    assert response.status_code == status, response.text
    model = described.AddedExperiments if status == 200 else ProblemDocument
    model.model_validate(response.json())
    return dict(response.json())


def asked(client: TestClient, **query: Any) -> Json:
    response = client.get("/api/v1/analysis/interference", params={"peak_gbs": PEAK, **query})
    assert response.status_code == 200, response.text
    adapter(InterferenceAnswer).validate_python(response.json())
    return dict(response.json())


def foretold(client: TestClient, measured: Lab, **query: Any) -> tuple[np.ndarray, np.ndarray]:
    """Errors of PD in mixes that nobody uploaded: of the function, and of the mean of the training mixes."""
    errors, plain = [], []
    for target, mixes in measured.unseen.items():
        for members in mixes:
            beside = ",".join(name(member) for member in members[1:])
            found = asked(client, target=name(target), beside=beside, **query)
            assert found["because"] is None, found["because"]
            assert found["source"]["trained_by"] == "experiments"
            if found["mix"]["because"] is not None:
                continue
            true = measured.true(members)
            errors.append(abs(found["mix"]["degradation"]["value"] - true))
            plain.append(abs(found["mix"]["baseline"] - true))
    return np.array(errors), np.array(plain)
