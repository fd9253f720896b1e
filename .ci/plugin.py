"""The pytest plugin of pmservice, which a wheel has as `pytest_pmservice`.

It is a module by itself, so that a run of pytest that does not use pmservice does not import it.
"""

import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def pmservice_settings() -> dict[str, Any]:
    """Return the settings of every pmservice fixture.

    To give some, define a fixture pmservice_settings in conftest.py.
    """
    return {}


@pytest.fixture
def pmservice(request: Any, pmservice_settings: Any) -> Iterator[Any]:
    """Serve a fresh service in memory on a free port: .url, .token, .app and helpers.

    The helpers: call, get, post, put, delete, reset, snapshot, restore, remove_snapshot, load,
    dump, freeze, advance, shift, fail, faults, clear_faults, calls, wait_for_calls, clear_calls.
    The mark pmservice(load="seed.json", now="2026-01-05T09:00:00Z") loads a fixture, named relative
    to the test's file, and freezes the clock.
    """
    import pmservice

    yield from pmservice.serve_fresh(request, pmservice_settings)


@pytest.fixture(scope="session")
def pmservice_shared(request: Any, pmservice_settings: Any) -> Iterator[Any]:
    """Serve one service, like pmservice, for all tests; it is reset before each test.

    Its settings are those of the fixture pmservice_settings.
    """
    import pmservice

    yield from pmservice.serve_shared(request, pmservice_settings)


@pytest.fixture
def pmservice_app(request: Any, pmservice_settings: Any) -> Iterator[Any]:
    """Create a fresh WSGI application in memory, with the settings of pmservice."""
    import pmservice

    yield from pmservice.create_fresh(request, pmservice_settings)


def pytest_configure(config: Any) -> None:
    """Tell pytest of the mark."""
    words = "settings of pmservice and pmservice_app, those of create_app; now freezes the clock"
    config.addinivalue_line("markers", f"pmservice(load=…, now=…, …): {words}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: Any) -> None:
    """Reset the service that tests share, if it was used; fail a test whose mark has no effect."""
    if "pmservice" in sys.modules or item.get_closest_marker("pmservice"):
        import pmservice

        pmservice.prepare_test(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any) -> Iterator[None]:
    """Add to a failed test's report the calls to the services of this process since it began."""
    report = (yield).get_result()
    if report.failed and "pmservice" in sys.modules:
        import pmservice

        pmservice.complete_report(item, report)
