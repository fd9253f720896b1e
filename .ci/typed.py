"""Calls without mistakes: with the package installed, mypy and pyright report no error."""

from datetime import datetime, timezone

import pytest

import pmservice


@pytest.fixture(scope="session")
def pmservice_settings() -> pmservice.Settings:
    return {"load": "seed.json", "language": "zh"}


def test_calls(pmservice: pmservice.Running) -> None:
    assert pmservice.url + pmservice.token
    pmservice.app.close()
    answer = pmservice.call(
        "POST", "/products", {"name": "Shop"}, headers={"Token": None, "X-Mine": "1"}
    )
    assert answer.status == 201
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.json["id"] == len(answer.text) + len(answer.body)
    assert pmservice.get("/products")["total"] + pmservice.post("/products", {"name": "Shop"})["id"]
    assert pmservice.put("/products/1", {"name": "Store"})["id"] + len(
        pmservice.delete("/products/1")
    )


def test_controls(pmservice_shared: pmservice.Running) -> None:
    pmservice_shared.snapshot("before")
    pmservice_shared.restore("before")
    pmservice_shared.remove_snapshot("before")
    assert pmservice_shared.load({"products": []}) + pmservice_shared.load("seed.json") == 0
    assert pmservice_shared.dump()["products"]
    pmservice_shared.freeze("2026-01-05T09:00:00Z")
    pmservice_shared.freeze(datetime(2026, 1, 5, tzinfo=timezone.utc))
    pmservice_shared.advance(60)
    pmservice_shared.shift(0.5)
    pmservice_shared.fail(
        "POST /tasks/*", status=503, times=2, headers={"Retry-After": 1}, body={"error": "busy"}
    )
    pmservice_shared.fail("GET *", delay=0.1, drop=False, skip=1)
    fault = pmservice_shared.faults()[0]
    assert fault["hits"] < len(fault["match"])
    pmservice_shared.clear_faults()
    for call in pmservice_shared.calls(method="POST", path="/tasks/*", status=503):
        assert call["headers"]["Token"] + call["url"]
    (answered,) = pmservice_shared.wait_for_calls(1, seconds=0.5, path="/tasks/*")
    assert answered["status"] == 200
    pmservice_shared.clear_calls()
    pmservice_shared.reset()
    pmservice_shared.reset(only_records=True)


def test_refusal() -> None:
    client = pmservice.Client("http://127.0.0.1:8080", "t")
    with pytest.raises(pmservice.CallError) as refused:
        client.get("/product")
    assert refused.value.answer.status == 404


@pytest.mark.pmservice(token="t", now="2026-01-05T09:00:00Z")
def test_app(pmservice_app: pmservice.Service) -> None:
    pmservice_app.close()


def moment() -> datetime:
    return datetime(2026, 1, 5, tzinfo=timezone.utc)


def serve() -> str:
    with pmservice.running(
        "pm.db", token="t", load={"products": []}, clock=moment, control=True
    ) as service:
        return service.url


def create() -> None:
    try:
        pmservice.create_app(password="secret", timezone="Asia/Shanghai", demo=True).close()
    except pmservice.StartError as error:
        print(error)
