"""The pytest plugin of pmservice, which a wheel has as `pytest_pmservice`.

It is a module by itself, so that a run of pytest that does not use pmservice does not import it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pmservice import Running, Service, Settings

EXAMPLE = '@pytest.mark.pmservice(load="seed.json", now="2026-01-05T09:00:00Z")'
SHARED: list[Running] = []  # the service of pmservice_shared, once a test has used it


def settings_of(request: Any, settings: Settings) -> dict[str, Any]:
    """Return the settings of pmservice_settings, changed by a test's marks.

    Of several marks, the one nearest to the test wins. A file named by a mark is relative to the
    test's file, otherwise to pytest's root directory.
    """
    chosen: dict[str, Any] = {**settings}
    folder = request.config.rootpath
    for mark in reversed(list(request.node.iter_markers("pmservice"))):
        if mark.args:
            raise TypeError(f"name the settings: {EXAMPLE}")
        chosen |= mark.kwargs
        if "load" in mark.kwargs:
            folder = request.path.parent
    if isinstance(chosen.get("load"), (str, os.PathLike)):
        chosen["load"] = folder / chosen["load"]
    return chosen


@contextlib.contextmanager
def start_or_fail(start: Callable[..., Any], request: Any, settings: Settings) -> Iterator[Any]:
    """Yield what a function starts with a test's settings; fail the test if it cannot start."""
    from pmservice import StartError

    with contextlib.ExitStack() as stack:
        try:
            # not "with start(…)": the errors of the test itself must pass
            service = stack.enter_context(start(**settings_of(request, settings)))
        except (StartError, TypeError) as error:
            # as pytest.fail(), but without the first error
            raise pytest.fail.Exception(f"pmservice cannot start: {error}", pytrace=False) from None
        yield service


@pytest.fixture(scope="session")
def pmservice_settings() -> Settings:
    """Return the settings of every pmservice fixture.

    To give some, define a fixture pmservice_settings in conftest.py.
    """
    return {}


@pytest.fixture
def pmservice(request: Any, pmservice_settings: Settings) -> Iterator[Running]:
    """Serve a fresh service in memory on a free port: .url, .token, .app and helpers.

    The helpers: call, get, post, put, delete, reset, snapshot, restore, remove_snapshot, load,
    dump, freeze, advance, shift, fail, faults, clear_faults, calls, wait_for_calls, clear_calls.
    The mark pmservice(load="seed.json", now="2026-01-05T09:00:00Z") loads a fixture, named relative
    to the test's file, and freezes the clock.
    """
    from pmservice import running

    with start_or_fail(running, request, pmservice_settings) as served:
        yield served


@pytest.fixture(scope="session")
def pmservice_shared(request: Any, pmservice_settings: Settings) -> Iterator[Running]:
    """Serve one service, like pmservice, for all tests; it is reset before each test.

    Its settings are those of the fixture pmservice_settings.
    """
    from pmservice import running

    with start_or_fail(running, request, pmservice_settings) as served:
        SHARED.append(served)
        yield served
        SHARED.remove(served)


@pytest.fixture
def pmservice_app(request: Any, pmservice_settings: Settings) -> Iterator[Service]:
    """Create a fresh WSGI application in memory, with the settings of pmservice."""
    from pmservice import create_app

    def create_closing(**settings: Any) -> contextlib.closing[Service]:
        return contextlib.closing(create_app(**settings))

    with start_or_fail(create_closing, request, pmservice_settings) as service:
        yield service


def pytest_configure(config: Any) -> None:
    """Tell pytest of the mark."""
    words = "settings of pmservice and pmservice_app, those of create_app; now freezes the clock"
    config.addinivalue_line("markers", f"pmservice(load=…, now=…, …): {words}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: Any) -> None:
    """Note when a test begins, and reset the service that tests share if it was used.

    Fail a test whose mark has no effect.
    """
    item.pmservice_began = 0  # before all calls
    if "pmservice" in sys.modules:
        from pmservice import NUMBERS

        item.pmservice_began = next(NUMBERS)
    # Look at the services, not at item.fixturenames: a test can get the fixture by another way
    # (getfixturevalue).
    for served in SHARED:
        if served.app.controls.used:
            served.reset()
    names = set(getattr(item, "fixturenames", ()))
    if names & {"pmservice", "pmservice_app"} or not item.get_closest_marker("pmservice"):
        return
    # A class or a module may be marked for some of its tests only. With "request", a test can get
    # a fixture that is not named here.
    own = {mark.name for mark in item.own_markers}
    words = "the mark pmservice is for the fixtures pmservice and pmservice_app"
    if "pmservice_shared" in names:
        pytest.fail(f"{words}; pmservice_shared has .load() and .freeze()", pytrace=False)
    if "pmservice" in own and "request" not in names:
        pytest.fail(f"{words}; this test uses neither", pytrace=False)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any) -> Generator[None, Any, None]:
    """Add to a failed test's report the calls to the services of this process since it began."""
    report = (yield).get_result()
    if not report.failed or "pmservice" not in sys.modules:
        return
    from pmservice import NUMBERS, calls_since

    sections = calls_since(getattr(item, "pmservice_began", next(NUMBERS)))
    report.sections += sections
    noted = [("pmservice", "\n".join(section)) for section in sections]
    # pytest writes the properties of the teardown's report to a JUnit file; that report begins with
    # a copy of the item's.
    item.user_properties += noted
    report.user_properties += noted
