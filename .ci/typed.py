"""What users write: mypy and pyright find nothing wrong in it, in a project that has installed the package."""

from datetime import datetime, timezone

import pytest

import pmservice


def test_fixture(pmservice: pmservice.Running) -> None:
    assert pmservice.url + pmservice.token


@pytest.mark.pmservice(token="t", now="2026-01-05T09:00:00Z")
def test_app(pmservice_app: pmservice.Service) -> None:
    pmservice_app.close()


def serve() -> str:
    moment = datetime(2026, 1, 5, tzinfo=timezone.utc)
    with pmservice.running("pm.db", token="t", load={"products": []}, clock=lambda: moment, control=True) as service:
        return service.url


def create() -> None:
    try:
        pmservice.create_app(password="secret", timezone="Asia/Shanghai", strict=True).close()
    except pmservice.StartError as error:
        print(error)
