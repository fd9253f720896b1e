"""Tests of pmservice, in the module's order.

The specification stands here a second time, as data: SPECIFIED says which fields a record has and
of which sort, SHOWN how each operation shows them. Both are written from the specification's words;
nothing of them is imported from the module, so a changed cell there turns a test red here. Besides,
every answer that a test receives through a Client is held against the service's own OpenAPI
document. What else tests know of an operation is its row of INTERFACE.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import fnmatch
import gzip
import hashlib
import html
import html.parser
import http.client
import http.server
import io
import itertools
import json
import logging
import math
import os
import random
import re
import select
import shlex
import shutil
import signal
import socket
import sqlite3
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import warnings
import wsgiref.simple_server
import wsgiref.util
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import date, datetime, timedelta, timezone
from functools import cache, partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import SimpleNamespace
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import pmservice

try:
    from jsonschema_rs import Draft202012Validator  # 200 times as fast
except ImportError:  # where no compiled package is to be had
    from jsonschema import Draft202012Validator

try:
    import resource
except ImportError:  # on Windows
    resource = None

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # WebOb imports cgi
    import webtest

HERE = Path(__file__).parent
NOW = datetime(2026, 11, 20, 7, 42, 17, tzinfo=timezone.utc)  # a Friday
NOW_ISO = "2026-11-20T07:42:17Z"
settings.register_profile(
    "repeatable",
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")
each = pytest.mark.parametrize


def posix(reason: str) -> pytest.MarkDecorator:
    """Return a mark for what only POSIX has."""
    return pytest.mark.skipif(os.name == "nt", reason=reason)


SIGNALS = posix("Windows sends no signals to a single process")
MODES = posix("Windows has access lists, no file modes")
OPEN_FILES = posix("Windows neither renames nor removes open files")
TERMINALS = posix("Windows has no pseudo-terminals that tests can open")
pytest_plugins = ["pytester"]


# --- The answers as the OpenAPI document describes them -------------------------------------------

DOCUMENT = json.loads(pmservice.openapi_text("http://127.0.0.1:80", date.today(), True))


def written_out(part: Any, closed: bool = False) -> Any:
    """Return a part of the document with every `$ref` replaced by what it refers to.

    closed: let no object have other properties than those that it lists. The document allows more,
        but the service sends none.
    """
    if isinstance(part, list):
        return [written_out(one, closed) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        _, _, kind, name = part["$ref"].split("/")
        return written_out(DOCUMENT["components"][kind][name], closed)
    written = {name: written_out(value, closed) for name, value in part.items()}
    if closed and isinstance(part.get("properties"), dict) and "type" in part:
        written["additionalProperties"] = False
    return written


def validator(schema: Any, closed: bool = False) -> Draft202012Validator:
    return Draft202012Validator(written_out(schema, closed))


REFUSAL = validator({"$ref": "#/components/schemas/Error"})


@cache
def described(method: str, pattern: str) -> dict[str, Draft202012Validator]:
    """Return the validators of an operation's answers by status; "default" is of refusals."""
    operation = DOCUMENT["paths"].get(pattern, {}).get(method.lower(), {"responses": {}})
    validators = {}
    for status, answer in operation["responses"].items():
        content = written_out(answer)["content"]
        closed = status != "default"
        validators[status] = validator(content["application/json"]["schema"], closed)
    return validators


def answers_of(method: str, path: str) -> dict[str, Draft202012Validator]:
    """Return the validators of a request's answers by status; "default" is of refusals."""
    path = re.sub("^(/zentao)?/api.php/v1(?=/)", "", path.partition("?")[0])
    if path != "/-/":
        path = path.removesuffix("/")
    return described(method, re.sub("/[1-9][0-9]*(?=/|$)", "/{id}", path))


def hold_against_the_document(method: str, path: str, status: int, body: Any) -> None:
    """Assert that the document describes an answer."""
    answers = answers_of(method, path)
    if status >= 400:
        answers.get("default", REFUSAL).validate(body)
    elif answers:
        assert str(status) in answers, f"{method} {path} is not described to answer {status}"
        answers[str(status)].validate(body)


# --- Fixtures and builders ------------------------------------------------------------------------


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.moment = NOW

    def __call__(self) -> datetime:
        return self.moment

    def set(self, iso: str) -> None:
        self.moment = datetime.fromisoformat(iso.replace("Z", "+00:00"))

    def forward(self, **by: float) -> None:
        self.moment += timedelta(**by)


def scrypted(salt: str, n: int) -> str:
    """Return the scrypt hash of "secret": of its MD5, because clients send either."""
    md5 = hashlib.md5(b"secret").hexdigest()
    return hashlib.scrypt(md5.encode(), salt=bytes.fromhex(salt), n=n, r=8, p=1).hex()


SALT = "0123456789abcdef" * 2
SECRET = f"scrypt:{SALT}:{scrypted(SALT, 16384)}"  # "secret", hashed once


def token_in(database: pmservice.Database, account: str) -> str:
    """Return a new token of a user without a login, which would have to hash a password."""
    with database.writing() as store:
        return pmservice.give_token(store, account)


def give_token(database: pmservice.Database, account: str, token: str) -> None:
    """Let a user call with this token, without a login."""
    hash = hashlib.sha256(token.encode()).hexdigest()
    with database.writing() as store:
        store.run("INSERT INTO token VALUES (?, ?, ?)", (hash, account, NOW_ISO))


class Client:
    """An app on a database. Requests carry the operator's token unless a test says otherwise."""

    def __init__(self, path: Any, **settings: Any):
        self.path, self.clock, self.token = path, Clock(), "t"
        self.service = pmservice.create_app(path, **{"token": "t", "clock": self.clock, **settings})
        self.app = webtest.TestApp(self.service)
        self.pristine = [(part, dict(vars(part))) for part in (self.service, self.service.page)]

    def close(self) -> None:
        self.service.close()

    def begin_with(self, records: pmservice.Database) -> None:
        """Leave everything that a test did behind, and begin again with a copy of these records."""
        self.clock.moment, self.token = NOW, "t"
        self.service.database.close()
        fresh = pmservice.Database(":memory:", self.service.database.zone, self.clock)
        with records.querying() as source, fresh.querying() as copy:
            source.connection.backup(copy.connection)
        for part, attributes in self.pristine:
            vars(part).update(attributes, database=fresh)
        self.service.page.checked.clear()

    def call(
        self, method: str, path: str, body: Any = None, **headers: str | None
    ) -> webtest.TestResponse:
        """Send a request and return the answer. A body that is not bytes is sent as JSON."""
        raw = body
        if not isinstance(body, bytes):
            raw = b"" if body is None else json.dumps(body).encode()
        sent = {"Token": self.token, "Content-Type": "application/json", **headers}
        sent = {name.replace("_", "-"): value for name, value in sent.items() if value is not None}
        environ = {"REQUEST_URI": path}  # as the server gives it, before any tidying
        answer = self.app.request(
            path, environ=environ, method=method, body=raw, headers=sent, expect_errors=True
        )
        assert answer.content_type == "application/json"
        if "Origin" not in headers:
            names = [name.lower() for name in answer.headers]
            assert not [name for name in names if name.startswith("access-control")]
        if method != "HEAD":
            shown = json.loads(answer.body, parse_constant=pytest.fail)
            hold_against_the_document(method, path, answer.status_int, shown)
        return answer

    def get(self, path: str) -> Any:
        answer = self.call("GET", path)
        assert answer.status_int == 200, answer.text
        return answer.json

    def post(self, path: str, **body: Any) -> Any:
        answer = self.call("POST", path, body)
        assert answer.status_int in (200, 201), answer.text
        return answer.json

    def put(self, path: str, **body: Any) -> Any:
        answer = self.call("PUT", path, body)
        assert answer.status_int == 200, answer.text
        return answer.json

    def refused(
        self, method: str, path: str, body: Any = None, status: int = 400, **headers: str | None
    ) -> Any:
        """Send a request that must be refused, and return the refusal.

        It must change nothing and end its transaction.
        """
        before = self.dump()
        answer = self.call(method, path, body, **headers)
        assert answer.status_int == status, answer.text
        assert isinstance(answer.json["error"], str)
        assert answer.json["error"]
        assert self.dump() == before
        if status < 500:
            with self.service.database.writing():
                pass
        return answer.json

    def program(self, **body: Any) -> Any:
        return self.post(
            "/programs", **{"name": "Alpha", "begin": "2026-01-05", "end": "2026-12-31", **body}
        )

    def product(self, **body: Any) -> Any:
        return self.post("/products", **{"name": "P one", **body})

    def project(self, **body: Any) -> Any:
        if "products" not in body:
            body["products"] = [self.product()["id"]]
        return self.post(
            "/projects", **{"name": "Pr one", "begin": "2026-01-10", "end": "2026-06-30", **body}
        )

    def task(self, home: int = 0, **body: Any) -> Any:
        least = {"name": "T", "type": "devel", "estStarted": "2026-02-02", "deadline": "2026-02-20"}
        return self.post(f"/executions/{home or self.project()['id']}/tasks", **{**least, **body})

    def case(self, product: int = 0, **body: Any) -> Any:
        least = {"title": "C", "type": "feature", "pri": 1, "steps": [{"desc": "a", "expect": "b"}]}
        return self.post(
            f"/products/{product or self.product()['id']}/testcases", **{**least, **body}
        )

    def load(self, **fixture: Any) -> int:
        return pmservice.load_text(self.service.database, json.dumps(fixture), "fixture")

    def dump(self) -> Any:
        with self.service.database.reading() as store:
            return json.loads("".join(pmservice.dump(store)))

    def sql(self, statement: str, *values: Any, **named: Any) -> list[tuple[Any, ...]]:
        with self.service.database.writing() as store:
            return [tuple(row) for row in store.run(statement, named or values)]

    def token_of(self, account: str) -> str:
        """Return a new token of a user."""
        return token_in(self.service.database, account)

    def login(self, account: str, password: str = "secret") -> str:
        return str(
            self.call("POST", "/tokens", {"account": account, "password": password}).json["token"]
        )


class Connections(list[sqlite3.Connection]):
    """Connections to databases. `ran` of one lists its statements with their values."""

    def before(self, connection: sqlite3.Connection, sql: str) -> None:
        """Do nothing before each statement; a test may replace this."""


def watch(monkeypatch: pytest.MonkeyPatch) -> Connections:
    """Return a list to which every connection is added that is opened from now on."""
    opened, connect = Connections(), sqlite3.connect

    class Watched(sqlite3.Connection):
        def execute(self, *statement):
            opened.before(self, statement[0])
            self.__dict__.setdefault("ran", []).append(statement)
            return super().execute(*statement)

    def watched(*arguments, **options):
        opened.append(connect(*arguments, **options, factory=Watched))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", watched)
    return opened


@pytest.fixture
def connections(monkeypatch):
    """Return a list of all connections that are opened from now on."""
    return watch(monkeypatch)


@pytest.fixture(autouse=True)
def log_as_it_was():
    """Take off the handler of the command line's log: it ends a process without memory."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Return a function that runs a command: its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: (pmservice.main(arguments), *capsys.readouterr())


# In memory, as a file would be: without controls. Tests in which a file matters take `filed` or
# `filed_world`.


@cache
def shared_app(timezone: str) -> Client:
    """Return the app that tests share: making one takes ten times as long as a new database."""
    return Client(":memory:", control=False, timezone=timezone)


@cache
def records_of(fixture: str = "") -> pmservice.Database:
    """Return a database from which tests begin: with WORLD, SHOP ..., or empty ("")."""
    records = globals()[fixture] if fixture else {}
    first = Client(":memory:")
    first.load(**records)
    return first.service.database


def begun(records: pmservice.Database, timezone: str = "UTC") -> Iterator[Client]:
    """Yield the shared app of a time zone with a copy of these records; close its database."""
    client = shared_app(timezone)
    client.begin_with(records)
    yield client
    client.close()


@pytest.fixture
def client():
    """Yield an app on a new database."""
    yield from begun(records_of())


@pytest.fixture
def world():
    """Yield an app that holds WORLD."""
    yield from begun(records_of("WORLD"))


@pytest.fixture
def filed(tmp_path):
    """Yield an app on a new database file."""
    with contextlib.closing(Client(tmp_path / "pm.db")) as client:
        yield client


@pytest.fixture
def filed_world(filed):
    """Yield an app on a file that holds WORLD."""
    filed.load(**WORLD)
    return filed


@pytest.fixture
def shanghai():
    """Yield an app eight hours east of UTC."""
    yield from begun(records_of(), "Asia/Shanghai")


# --- The specification as data --------------------------------------------------------------------
# The fields of each record by the sort of value that the specification gives them: described fields
# and those seen only in samples alike. A moment is a datetime; `stamp` is the one that is "string"
# in every sample.

# fmt: off
SPECIFIED = {
    "product": {
        "int": "id program line order plans releases bugs unResolved closedBugs fixedBugs thisWeekBugs assignToNull progress",
        "string": "name code type desc acl status bind subStatus reviewer createdVersion lineName programName",
        "person": "PO QD RD createdBy", "moment": "createdDate", "whitelist": "whitelist", "deleted": "deleted",
        "counts": "stories requirements",
    },
    "bug": {
        "int": "id product branch module project execution toTask toStory severity pri task story plan storyVersion confirmed"
               " activatedCount duplicateBug case caseVersion result repo testtask",
        "string": "title keywords type os browser steps resolvedBuild hardware found subStatus color feedbackBy notifyEmail"
                  " resolution linkBug entry lines v1 v2 repoType",
        "builds": "openedBuild",
        "person": "openedBy assignedTo resolvedBy closedBy lastEditedBy", "day": "deadline", "status": "status",
        "moment": "openedDate assignedDate resolvedDate closedDate activatedDate lastEditedDate", "null": "mailto",
        "deleted": "deleted", "boolean": "needconfirm",
    },
    "task": {
        "int": "id project parent execution module story fromBug pri design storyVersion designVersion feedback fromIssue"
               " version planDuration realDuration order repo mr progress",
        "string": "name type status desc mode subStatus color finishedList closedReason entry lines v1 v2 vision assignedToRealName",
        "number": "estimate consumed left", "day": "deadline estStarted", "stamp": "activatedDate",
        "person": "openedBy assignedTo finishedBy closedBy canceledBy lastEditedBy",
        "moment": "openedDate assignedDate realStarted finishedDate closedDate canceledDate lastEditedDate",
        "null": "mailto storyID storyTitle latestStoryVersion storyStatus", "array": "team children members files",
        "deleted": "deleted", "boolean": "needConfirm",
    },
    "testcase": {
        "int": "id product branch module story storyVersion pri fromBug fromCaseID project execution lib path order version"
               " fromCaseVersion currentVersion",
        "string": "title precondition type stage status keywords auto frame howRun scriptedBy scriptStatus scriptLocation"
                  " subStatus color frequency linkCase lastRunner lastRunResult",
        "person": "openedBy reviewedBy lastEditedBy",
        "moment": "openedDate scriptedDate reviewedDate lastEditedDate lastRunDate", "array": "steps toBugs files",
        "deleted": "deleted",
    },
    "project": {
        "int": "id parent project percent grade days version parentVersion planDuration realDuration order",
        "string": "name code model type budget budgetUnit desc acl status lifetime attribute milestone output auth path"
                  " subStatus pri openedVersion team",
        "person": "openedBy PM lastEditedBy closedBy canceledBy PO QD RD", "day": "begin end realBegan realEnd",
        "moment": "openedDate lastEditedDate closedDate canceledDate", "whitelist": "whitelist", "deleted": "deleted",
    },
    "release": {
        "int": "id project product branch build buildID",
        "string": "name desc status marker stories bugs leftBugs mailto subStatus productName buildName projectName",
        "day": "date", "null": "notify", "deleted": "deleted",
    },
}
SORTS = {record: {f: sort for sort, fs in sorts.items() for f in fs.split()} for record, sorts in SPECIFIED.items()}

# "objects holding a count per status under the keys …; the sample also carries index keys 0 to 4"
COUNTS = {"0": "", "1": "draft", "2": "active", "3": "closed", "4": "changed",
          "": 0, "draft": 0, "active": 0, "closed": 0, "changed": 0}
EMPTY = {"int": 0, "string": "", "person": None, "moment": None, "stamp": None, "day": None, "whitelist": [], "deleted": False,
         "counts": COUNTS, "builds": "", "null": None, "boolean": False, "number": 0, "array": []}
OPENED = {"openedBy": "admin", "openedDate": NOW_ISO}
USUAL = {  # the defaults of a record, where they are not the empty value of the field's sort
    "product":  {"type": "normal", "acl": "private", "createdBy": "admin", "createdDate": NOW_ISO, "status": "normal", "bind": "0",
                 "createdVersion": pmservice.__version__},
    "bug":      {**OPENED, "severity": 3, "pri": 3, "type": "codeerror", "status": "active", "storyVersion": 1, "caseVersion": 1},
    "task":     {**OPENED, "type": "misc", "status": "wait", "storyVersion": 1, "version": 1, "vision": "rnd"},
    "testcase": {**OPENED, "storyVersion": 1, "pri": 3, "type": "feature", "status": "normal", "auto": "no", "frequency": "1", "version": 1,
                 "fromCaseVersion": 1, "currentVersion": 1},
    "project":  {**OPENED, "budget": "0", "budgetUnit": "CNY", "status": "wait", "milestone": "0", "pri": "1", "grade": 1},
    "release":  {"status": "normal", "marker": "0"},
}
USERS = {  # account: id, real name
    "admin": (1, "admin"), "pm1": (2, "Pam Manager"), "po1": (3, "Olga Owner"), "dev1": (4, "Dan Dev"), "dev2": (5, "Dora Dev"),
    "qa1": (6, "Quin Test"), "qd1": (7, "Qadir Lead"), "rd1": (8, "Rod Release"),
}


BUILD_TITLES = {"trunk": "Trunk", "1": "Build one"}


def reference(account): return {"id": USERS[account][0], "account": account, "avatar": "", "realname": USERS[account][1]}
def plain(value): return value
def iso(moment): return moment
def spaced(moment): return moment.replace("T", " ").rstrip("Z")
def digit(flag): return "1" if flag else "0"
def references(accounts): return [reference(account) for account in accounts]
def commas(accounts): return "," + "".join(f"{account}," for account in accounts)
def titled(builds): return [{"id": one, "title": BUILD_TITLES.get(one.lower(), "")} for one in builds.split(",") if one]
def coded(status): return {"code": status, "name": status.capitalize()}


class Shown(NamedTuple):
    """How an operation shows its record: a function or a value for each kind of field."""

    record: str
    person: Any
    nobody: Any
    moment: Any
    never: Any
    no_day: Any
    deleted: Any
    whitelist: Any = references
    adds: str = ""
    status: Any = coded
    builds: Any = plain

    def of(self, **facts: Any) -> dict[str, Any]:
        """Return the record as this operation shows it. Facts are accounts and UTC moments; the rest has its usual values."""
        known = {**{field: EMPTY[sort] for field, sort in SORTS[self.record].items() if sort in EMPTY}, **USUAL[self.record], **facts}
        if self.record in ("product", "project"):
            known["order"] = facts.get("order", known["id"] * 5)
        if self.record == "project":
            known["path"] = facts.get("path", f",{known['id']},")
        sorts = {**SORTS[self.record], **dict.fromkeys(self.adds.split(), "")}
        assert set(known) <= set(sorts), "a fact of this test is no field"
        return {field: self.cell(sort, known[field]) for field, sort in sorts.items()}

    def cell(self, sort: str, value: Any) -> Any:
        cells = {"person": (self.nobody, self.person), "moment": (self.never, self.moment), "stamp": ("", self.moment), "day": (self.no_day, plain)}
        if sort in cells:
            unset, write = cells[sort]
            return unset if value is None else write(value)
        return {"deleted": self.deleted, "whitelist": self.whitelist, "status": self.status, "builds": self.builds}.get(sort, plain)(value)


EPOCH = "1969-12-31T16:00:00Z"
SHOWN = {
    #                                    record      persons    nobody datetime unset  no day        deleted  more
    "GET /products":               Shown("product",  reference, None,  iso,     None,  None,         digit),
    "POST /products":              Shown("product",  reference, None,  iso,     None,  None,         digit),
    "GET /products/:id/bugs":      Shown("bug",      reference, None,  iso,     EPOCH, "1970-01-01", plain),
    "POST /products/:id/testcases": Shown("testcase", plain,    "",    iso,     None,  None,         plain),
    "GET /testcases/:id":          Shown("testcase", reference, None,  iso,     None,  None,         plain, adds="caseFails"),
    "POST /programs":              Shown("project",  reference, None,  iso,     None,  "0000-00-00", plain),
    "GET /programs/:id":           Shown("project",  reference, None,  iso,     None,  "0000-00-00", plain),
    "POST /projects":              Shown("project",  plain,     "",    iso,     "",    "0000-00-00", digit, whitelist=commas),
    "GET /projects/:id/releases":  Shown("release",  None,      None,  None,    None,  None,         plain),
    "POST /executions/:id/tasks":  Shown("task",     reference, None,  iso,     None,  None,         plain),
    "PUT /tasks/:id":              Shown("task",     reference, None,  iso,     None,  None,         plain, adds="cases"),
    "POST /tasks/:id/start":       Shown("task",     plain,     "",    spaced,  "",    "",           digit),
    "POST /tasks/:id/finish":      Shown("task",     plain,     "",    iso,     None,  None,         digit),
    "POST /tasks/:id/restart":     Shown("task",     plain,     "",    spaced,  "",    "",           digit),
}

# A fixture in which the first record of each sort has every field that can be set at another value than the
# usual one, and the second none.
WORLD = {
    "users": [{"id": id, "account": account, "realname": realname} for account, (id, realname) in USERS.items() if account != "admin"],
    "programs": [
        dict(id=1, name="Alpha", code="A", model="scrum", budget=200000, budgetUnit="USD", begin="2026-01-05", end="2026-12-31",
             realBegan="2026-01-06", realEnd="2026-12-30", desc="d", openedBy="pm1", openedDate="2026-01-01T01:00:00Z", PM="pm1",
             acl="private", whitelist=["dev1", "qa1"], status="doing", lifetime="long", attribute="a", percent=7, days=9, version=2,
             openedVersion="16.5", lastEditedBy="dev2", lastEditedDate="2026-01-02T01:00:00Z", closedBy="po1",
             closedDate="2026-01-03T01:00:00Z", canceledBy="qa1", canceledDate="2026-01-04T01:00:00Z", PO="po1", QD="qd1", RD="rd1",
             team="Aces", order=77),
        dict(id=4, name="Beta"),
    ],
    "projects": [
        dict(id=2, name="Pr one", parent=1, code="PR1", model="waterfall", begin="2026-01-10", end="2026-06-30", acl="open", products=[1, 2]),
        dict(id=5, name="Pr two"),
    ],
    "executions": [dict(id=3, name="Ex one", project=2, type="stage"), dict(id=6, name="Ex two", project=5)],
    "products": [
        dict(id=1, program=1, name="P one", code="P1", line=3, PO="po1", QD="qd1", RD="rd1", type="platform", desc="<p>x</p>",
             whitelist=["dev1", "qa1"], createdBy="pm1", createdDate="2026-01-01T02:00:00Z", status="closed", reviewer="dev2",
             createdVersion="16.5", order=78),
        dict(id=2, name="P two"),
    ],
    "releases": [
        dict(id=1, project=2, product=1, branch=1, build=4, name="R1", date="2026-03-05", desc="r", status="terminate", marker="1",
             stories="1,2", bugs="3", leftBugs="4", mailto="dev1,", buildName="b1"),
        dict(id=2, project=2, product=2, name="R2"),
    ],
    "bugs": [
        dict(id=1, product=1, branch=1, module=2, project=2, execution=3, toTask=4, toStory=5, title="Bug one", keywords="k", severity=1,
             pri=2, type="security", os="linux", browser="lynx", steps="<p>s</p>", task=6, story=7, openedBy="qa1",
             openedDate="2026-01-01T03:00:00Z", deadline="2026-02-01", assignedTo="dev1", assignedDate="2026-01-02T03:00:00Z",
             resolvedBy="dev1", resolvedDate="2026-01-03T03:00:00Z", resolvedBuild="b2", closedBy="qa1", closedDate="2026-01-04T03:00:00Z",
             plan=8, storyVersion=9, hardware="h", found="f", status="closed", color="#f00", confirmed=1, activatedCount=2,
             activatedDate="2026-01-05T03:00:00Z", feedbackBy="fb", notifyEmail="n@x.org", openedBuild="Trunk", resolution="fixed",
             duplicateBug=10, linkBug="11", case=12, caseVersion=13, result=14, testtask=15, lastEditedBy="qd1",
             lastEditedDate="2026-01-06T03:00:00Z"),
        dict(id=2, product=1, title="Bug two"),
    ],
    "tasks": [
        dict(id=1, project=2, parent=9, execution=3, module=2, story=7, fromBug=1, name="Task one", type="devel", pri=1, estimate=8,
             consumed=2.5, left=5.5, deadline="2026-02-20", status="pause", desc="d", openedBy="pm1", openedDate="2026-01-01T04:00:00Z",
             assignedTo="dev1", assignedDate="2026-01-02T04:00:00Z", estStarted="2026-02-02", realStarted="2026-01-03T04:00:00Z",
             finishedBy="dev1", finishedDate="2026-01-04T04:00:00Z", closedBy="pm1", closedDate="2026-01-05T04:00:00Z", storyVersion=3,
             color="#0f0", version=4, finishedList="dev1", canceledBy="po1", canceledDate="2026-01-06T04:00:00Z", closedReason="done",
             lastEditedBy="qa1", lastEditedDate="2026-01-07T04:00:00Z", activatedDate="2026-01-08T04:00:00Z", order=6),
        dict(id=2, execution=6, name="Task two"),
    ],
    "testcases": [
        dict(id=1, product=1, branch=1, module=2, story=7, storyVersion=3, title="Case one", precondition="p", pri=1, type="unit",
             stage="bvt,smoke", steps=[dict(id=5, parent=1, version=2, type="group", desc="a", expect="b")], fromBug=1, fromCaseID=2,
             openedBy="qa1", openedDate="2026-01-01T05:00:00Z", status="blocked", project=2, execution=3, keywords="k", color="#00f",
             order=3, reviewedBy="qd1", reviewedDate="2026-01-02T05:00:00Z", lastEditedBy="dev1", lastEditedDate="2026-01-03T05:00:00Z",
             version=4, linkCase="2", fromCaseVersion=5, lastRunner="qa1", lastRunDate="2026-01-04T05:00:00Z", lastRunResult="fail",
             caseFails=3),
        dict(id=2, product=2, title="Case two"),
    ],
    "departments": [dict(id=1, name="Works", order=7, manager="pm1"), dict(id=2, name="Workshop", parent=1)],
    "stories": [
        dict(id=1, parent=3, product=1, branch=1, module=2, source="customer", sourceNote="n", fromBug=4, title="Story one", keywords="k",
             category="feature", pri=1, estimate=2.5, status="changed", color="#ff0", mailto=["dev1", "qa1"], openedBy="po1",
             openedDate="2026-01-01T06:00:00Z", assignedTo="dev1", assignedDate="2026-01-02T06:00:00Z", lastEditedBy="qd1",
             lastEditedDate="2026-01-03T06:00:00Z", reviewedBy="qa1", reviewedDate="2026-01-04T06:00:00Z", closedBy="pm1",
             closedDate="2026-01-05T06:00:00Z", closedReason="done", activatedDate="2026-01-06T06:00:00Z", duplicateStory=2, version=2,
             spec="<p>s</p>", verify="v", versions=[dict(version=1, title="Story", spec="", verify=""),
             dict(version=2, title="Story one", spec="<p>s</p>", verify="v")], executions=[2, 3], plans=[1],
             reviewers=[dict(account="dev2", result=""), dict(account="qa1", result="pass")]),
        dict(id=2, product=2, title="Story two"),
        dict(id=3, product=1, title="Need", type="requirement"),
    ],
    "plans": [
        dict(id=1, product=1, branch=1, parent=3, title="Plan one", status="doing", desc="d", begin="2026-03-01", end="2026-12-01",
             closedReason="c"),
        dict(id=2, product=2, title="Plan two"),
        dict(id=3, product=1, title="Plan three", begin="2026-01-01", end="2027-01-01"),
    ],
    "builds": [
        dict(id=1, project=2, product=1, branch=1, execution=3, name="Build one", scmPath="vcs", filePath="zip", date="2026-03-04",
             stories=[1], bugs=[1], builder="dev1", desc="d"),
        dict(id=2, project=2, product=2, name="Build two"),
    ],
    "testtasks": [
        dict(id=1, project=2, product=1, name="Round one", execution=3, build="1", type="integrate", owner="qa1", pri=1,
             begin="2026-03-05", end="2026-03-06", realFinishedDate="2026-03-06T06:00:00Z", mailto=["dev1"], desc="d", report="r",
             status="done", testcases=[1]),
        dict(id=2, project=2, product=2, name="Round two"),
    ],
    "efforts": [dict(id=1, task=1, date="2026-01-03", left=5.5, consumed=2.5, account="dev1", work="w"), dict(id=2, task=2)],
    "results": [
        dict(id=1, case=1, version=4, caseResult="fail", lastRunner="qa1", date="2026-01-04T05:00:00Z", testtask=1,
             stepResults=[dict(id=5, parent=1, version=2, type="group", desc="a", expect="b", case=1, result="fail", real="r")]),
        dict(id=2, case=2),
    ],
}
# fmt: on


def lines(value: Any) -> list[str]:
    """Return JSON as lines, which tell 8 from 8.0 and 0 from false."""
    return json.dumps(value, indent=0, sort_keys=True, ensure_ascii=False).splitlines()


def without(facts: dict[str, Any], *fields: str) -> dict[str, Any]:
    return {field: value for field, value in facts.items() if field not in fields}


# --- The operations, a row each -------------------------------------------------------------------
# Each row says whose records an operation names or lists, and what it needs; how its answers look
# stands in SHOWN and COMPANIONS. The records are those of PRIVATE (see 6 Store). `2p 3j 4pj` are
# the ids 2, 3 and 4; a letter says which sight a record needs: p that of private products, j that
# of private programs, projects and executions.

ID = "<id>"  # in a body: the id in the path, or the one that the query names


class Row(NamedTuple):
    """An operation on a record, or none."""

    private: str = ""  # the records that the path or the query can name, beside the first open one
    needs: dict[str, Any] = {}  # the required fields, each with a value that is taken
    asks: str = ""  # the parameters of the query
    state: str = ""  # the state that the record must be in


class List(NamedTuple):
    """An operation that lists records."""

    shows: dict[str, str]  # for each record that the path names ("": none): the records below it
    asks: str = ""  # the parameters of the query, beside `page`, `limit` and `order`


# fmt: off
HOME    = dict(name="H", begin="2026-03-01", end="2026-04-30")
CASE    = dict(title="C", type="unit", pri=1, steps=[])
TASK    = dict(name="T", type="devel", estStarted="2026-02-02", deadline="2026-02-20")
BATCH   = dict(tasks=[dict(name="T", type="misc")])
BUG     = dict(title="B", severity=3, pri=3, type="codeerror", openedBuild="trunk")
STORY   = dict(title="S", spec="s", pri=3, category="feature")
BUILD   = dict(execution=ID, product=1, name="B9", builder="dev1", date="2026-11-20")
RELEASE = dict(name="R", date="2026-03-05", product=1)
RUN     = dict(product=1, execution=ID, build="trunk", name="Round", begin="2026-11-23", end="2026-11-27")
INTERFACE: dict[str, Row | List] = {
    "POST /tokens":                              Row("", dict(account="admin", password="secret")),
    "GET /products":                             List({"": "1 2p 3"}, "status program project"),
    "POST /products":                            Row("", dict(name="P")),
    "GET /products/<id>/bugs":                   List({"1": "1 3", "2p": "2p"}, "status"),
    "POST /products/<id>/testcases":             Row("2p", CASE),
    "GET /testcases/<id>":                       Row("2p 3"),
    "POST /programs":                            Row("", HOME),
    "GET /programs/<id>":                        Row("2j 7"),
    "POST /projects":                            Row("", dict(HOME, products=[1])),
    "GET /projects/<id>/releases":               List({"3": "1 2p", "4j": "3j 4pj"}, "status"),
    "POST /executions/<id>/tasks":               Row("4j 6j", TASK),
    "PUT /tasks/<id>":                           Row("2j"),
    "POST /tasks/<id>/start":                    Row("2j"),
    "POST /tasks/<id>/finish":                   Row("2j", dict(finishedDate="2026-12-01")),
    "POST /tasks/<id>/restart":                  Row("2j", dict(consumed=3, left=1)),
    "GET /tokens":                               Row(),
    "GET /ping":                                 Row(),
    "GET /user":                                 Row(),
    "GET /configurations":                       Row(),
    "GET /configurations/<name>":                Row(),
    "GET /groups":                               Row(),
    "GET /options/bug":                          Row(asks="product"),
    "GET /modules":                              Row(asks="type id"),
    "GET /departments":                          Row(),
    "POST /departments":                         Row("", dict(name="D")),
    "GET /departments/<id>":                     Row(),
    "PUT /departments/<id>":                     Row(),
    "DELETE /departments/<id>":                  Row(),
    "GET /users":                                List({"": "1 2 3 4 5 6 7 8 9 10"}),
    "POST /users":                               Row("", dict(account="new1", password="secret")),
    "GET /users/<user>":                         Row("4"),
    "PUT /users/<user>":                         Row(),
    "DELETE /users/<user>":                      Row(),
    "GET /programs":                             List({"": "1 2j 7 9j 10"}),
    "PUT /programs/<id>":                        Row("2j 7"),
    "DELETE /programs/<id>":                     Row("9j 7"),
    "GET /programs/<id>/products":               List({"1": "", "10": "2p", "2j": "3"}, "status"),
    "POST /programs/<id>/products":              Row("2j", dict(name="P")),
    "GET /programs/<id>/projects":               List({"1": "", "10": "4j", "2j": "8"}, "status"),
    "POST /programs/<id>/projects":              Row("2j", dict(HOME, products=[1])),
    "GET /projects":                             List({"": "3 4j 8"}, "status"),
    "GET /projects/<id>":                        Row("4j 8"),
    "PUT /projects/<id>":                        Row("4j 8"),
    "DELETE /projects/<id>":                     Row("4j 8"),
    "GET /projects/<id>/executions":             List({"3": "5", "4j": "6j"}, "status"),
    "POST /projects/<id>/executions":            Row("4j", HOME),
    "GET /projects/<id>/stories":                List({"3": "1 2p", "4j": "1"}, "status"),
    "GET /projects/<id>/bugs":                   List({"3": "1 2p", "4j": "3"}, "status"),
    "GET /projects/<id>/testcases":              List({"3": "1 2p", "4j": "3"}),
    "GET /projects/<id>/builds":                 List({"3": "1 2p", "4j": "3j 4pj"}),
    "POST /projects/<id>/builds":                Row("4j", BUILD),
    "POST /projects/<id>/releases":              Row("4j", RELEASE),
    "GET /projects/<id>/testtasks":              List({"3": "1 2p", "4j": "3j 4pj"}, "status"),
    "POST /projects/<id>/testtasks":             Row("4j", RUN),
    "GET /executions":                           List({"": "5 6j"}, "status project"),
    "POST /executions":                          Row("4j", HOME, asks="project"),
    "GET /executions/<id>":                      Row("6j"),
    "PUT /executions/<id>":                      Row("6j"),
    "DELETE /executions/<id>":                   Row("6j"),
    "GET /executions/<id>/tasks":                List({"3": "", "5": "1 3", "4j": "", "6j": "2j"}, "status"),
    "POST /executions/<id>/tasks/batchCreate":   Row("4j 6j", BATCH),
    "GET /executions/<id>/stories":              List({"3": "1 2p", "5": "1 2p", "4j": "1", "6j": "1"}, "status"),
    "GET /executions/<id>/bugs":                 List({"3": "", "5": "1 2p", "4j": "", "6j": "3"}, "status"),
    "GET /executions/<id>/testcases":            List({"3": "", "5": "1 2p", "4j": "", "6j": "3"}),
    "GET /executions/<id>/builds":               List({"3": "", "5": "1 2p", "4j": "", "6j": "3j 4pj"}),
    "GET /products/<id>":                        Row("2p 3"),
    "PUT /products/<id>":                        Row("2p 3"),
    "DELETE /products/<id>":                     Row("2p 3"),
    "GET /product/<id>":                         Row("2p 3"),
    "PUT /product/<id>":                         Row("2p 3"),
    "DELETE /product/<id>":                      Row("2p 3"),
    "GET /products/<id>/projects":               List({"1": "3 4j 8", "2p": "3 4j"}, "status"),
    "GET /products/<id>/stories":                List({"1": "1", "2p": "2p"}, "status type"),
    "POST /products/<id>/stories":               Row("2p 3", STORY, asks="type objectID"),
    "GET /products/<id>/plans":                  List({"1": "1", "2p": "2p"}, "status"),
    "POST /products/<id>/plans":                 Row("2p 3", dict(title="P")),
    "GET /products/<id>/testcases":              List({"1": "1 3", "2p": "2p"}),
    "GET /products/<id>/releases":               List({"1": "1 3j", "2p": "2p 4pj"}, "status"),
    "POST /products/<id>/bugs":                  Row("2p", BUG),
    "GET /stories":                              List({"": "1 2p"}, "status product type"),
    "POST /stories":                             Row("2p 3", STORY, asks="type objectID product"),
    "GET /stories/<id>":                         Row("2p"),
    "PUT /stories/<id>":                         Row("2p"),
    "DELETE /stories/<id>":                      Row("2p"),
    "POST /stories/<id>/change":                 Row("2p"),
    "POST /stories/<id>/review":                 Row("2p", dict(result="pass"), state="draft"),
    "POST /stories/<id>/close":                  Row("2p"),
    "POST /stories/<id>/active":                 Row("2p", state="closed"),
    "POST /stories/<id>/activate":               Row("2p", state="closed"),
    "POST /stories/<id>/assign":                 Row("2p"),
    "DELETE /stories/<id>/recall":               Row("2p", state="draft"),
    "GET /productplans":                         List({"": "1 2p"}, "status product"),
    "POST /productplans":                        Row("2p 3", dict(title="P"), asks="product"),
    "GET /productplans/<id>":                    Row("2p"),
    "PUT /productplans/<id>":                    Row("2p"),
    "DELETE /productplans/<id>":                 Row("2p"),
    "DELETE /productsplan/<id>":                 Row("2p"),
    "POST /productplans/<id>/linkstories":       Row("2p", dict(stories=[ID])),
    "POST /productplans/<id>/unlinkstories":     Row("2p", dict(stories=[ID])),
    "POST /productplans/<id>/linkbugs":          Row("2p", dict(bugs=[ID])),
    "POST /productplans/<id>/unlinkbugs":        Row("2p", dict(bugs=[ID])),
    "GET /builds":                               List({"": "1 2p 3j 4pj"}, "project"),
    "POST /builds":                              Row("4j", BUILD, asks="project"),
    "GET /builds/<id>":                          Row("2p 3j 4pj"),
    "PUT /builds/<id>":                          Row("2p 3j 4pj"),
    "DELETE /builds/<id>":                       Row("2p 3j 4pj"),
    "GET /releases":                             List({"": "1 2p 3j 4pj"}, "status product"),
    "GET /releases/<id>":                        Row("2p 3j 4pj"),
    "PUT /releases/<id>":                        Row("2p 3j 4pj"),
    "DELETE /releases/<id>":                     Row("2p 3j 4pj"),
    "GET /testtasks":                            List({"": "1 2p 3j 4pj"}, "status product"),
    "POST /testtasks":                           Row("", RUN),
    "GET /testtasks/<id>":                       Row("2p 3j 4pj"),
    "PUT /testtasks/<id>":                       Row("2p 3j 4pj"),
    "DELETE /testtasks/<id>":                    Row("2p 3j 4pj"),
    "GET /testcases":                            List({"": "1 2p 3"}, "product"),
    "POST /testcases":                           Row("2p 3", CASE, asks="product"),
    "PUT /testcases/<id>":                       Row("2p 3"),
    "DELETE /testcases/<id>":                    Row("2p 3"),
    "GET /testcases/<id>/results":               List({"1": "1", "3": "3", "2p": "2p"}),
    "POST /testcases/<id>/results":              Row("2p 3", asks="testtask version"),
    "GET /bugs":                                 List({"": "1 2p 3"}, "status product"),
    "POST /bugs":                                Row("2p 3", BUG, asks="product"),
    "GET /bugs/<id>":                            Row("2p 3"),
    "PUT /bugs/<id>":                            Row("2p 3"),
    "DELETE /bugs/<id>":                         Row("2p 3"),
    "POST /bugs/<id>/assign":                    Row("2p 3"),
    "POST /bugs/<id>/confirm":                   Row("2p 3"),
    "POST /bugs/<id>/resolve":                   Row("2p 3", dict(resolution="fixed")),
    "POST /bugs/<id>/close":                     Row("2p 3", state="resolved"),
    "POST /bugs/<id>/active":                    Row("2p 3", state="closed"),
    "POST /bugs/<id>/activate":                  Row("2p 3", state="closed"),
    "GET /tasks":                                List({"": "1 2j 3"}, "status"),
    "GET /tasks/<id>":                           Row("2j"),
    "DELETE /tasks/<id>":                        Row("2j"),
    "POST /tasks/<id>/assignto":                 Row("2j", dict(assignedTo="dev1")),
    "POST /tasks/<id>/pause":                    Row("2j"),
    "POST /tasks/<id>/close":                    Row("2j"),
    "POST /tasks/<id>/cancel":                   Row("2j"),
    "POST /tasks/<id>/active":                   Row("2j", state="done"),
    "POST /tasks/<id>/activate":                 Row("2j", state="done"),
    "GET /tasks/<id>/estimate":                  List({"1": "1", "2j": "2j"}),
    "POST /tasks/<id>/estimate":                 Row("2j", dict(consumed=1, left=1)),
}
# fmt: on


def least(line: str, id: int = 1) -> Any:
    """Return the smallest body that an operation takes, for a record of this id."""
    row = INTERFACE[line]
    needs = json.dumps(row.needs if isinstance(row, Row) else {})
    return json.loads(needs.replace(json.dumps(ID), str(id)))


def operation_of(request: str) -> str:
    """Return the operation that a request is sent to: "GET /users/<user>" of "GET /users/dev1"."""
    method, path = request.split()
    for pattern, group in (
        (r"\?.*", ""),
        (r"/\d+", "/<id>"),
        ("/dev[0-9]", "/<user>"),
        ("/version", "/<name>"),
    ):
        path = re.sub(pattern, group, path)
    return f"{method} {path.replace('users/<id>', 'users/<user>')}"


def good(request: str, **fields: Any) -> dict[str, Any]:
    """Return the smallest body of a request, with further fields."""
    id = re.search("[0-9]+", request)
    return {**least(operation_of(request), int(id[0]) if id else 1), **fields}


def operation_name(operation: pmservice.Operation) -> str:
    """Return the name of an operation: "GET /tasks/<id>"."""
    return f"{operation.method} {operation.path}"


LISTING = [one for one in pmservice.OPERATIONS if isinstance(one.shows, pmservice.Listing)]


def shows(client: Client, path: str, id: str) -> bool:
    """Tell whether a list shows a record."""
    return int(id) in ids(records_in(client.get(path)))


def sights(records: str) -> dict[int, str]:
    """Return the sight that each of some records needs: {2: "p", 3: ""} of "2p 3"."""
    return {int(one.rstrip("pj")): one.lstrip("0123456789") for one in records.split()}


# --- Records, builders and servers that several rooms use -----------------------------------------

PR_ONE = dict(name="Pr one", begin="2026-01-10", end="2026-06-30", code="PR1")


# fmt: off
WORDS = {
    ("product", "type"): "normal branch platform", ("product", "acl"): "open private", ("product", "status"): "normal closed",
    ("project", "acl"): "open private", ("project", "budgetUnit"): "CNY USD", ("project", "model"): " scrum waterfall",
    ("project", "type"): "program project sprint stage", ("project", "status"): "wait doing suspended closed",
    ("release", "status"): "normal terminate",
    ("task", "type"): "design devel request test study discuss ui affair misc",
    ("task", "status"): "wait doing done pause closed cancel",  # a recorded restart begins in `pause`
    ("bug", "type"): "codeerror config install security performance standard automation designdefect others",
    ("bug", "status"): "active resolved closed",
    ("bug", "resolution"): " bydesign duplicate external fixed notrepro postponed willnotfix",
    ("testcase", "type"): "feature performance config install security interface unit other",
    ("testcase", "status"): "wait normal blocked investigate",
    ("user", "type"): "inside outside", ("user", "gender"): "f m",
    ("story", "type"): "story requirement", ("story", "status"): "draft active changed closed",
    ("story", "closedReason"): " done subdivided duplicate postponed willnotdo cancel bydesign",
    ("plan", "status"): "wait doing done closed", ("testtask", "status"): "wait doing done blocked",
    ("result", "caseResult"): "pass fail blocked n/a",
}
# fmt: on


RECORDS = {
    resource.table: resource for resource in reversed(pmservice.RESOURCES.values())
}  # one for each table


EVERY_RECORD = each("record", RECORDS.values(), ids=list(RECORDS))


# Each operation on a record with everything and on one with nothing, against its row of SHOWN.

EDITED = {"lastEditedBy": "admin", "lastEditedDate": NOW_ISO}


def facts_of(array: str, id: int, **more: Any) -> dict[str, Any]:
    """Return the fields that WORLD gives a record, with further ones."""
    return {**next(record for record in WORLD[array] if record["id"] == id), **more}


def ids(records: list[dict[str, Any]]) -> list[int]:
    return [record["id"] for record in records]


SCRYPTED = "scrypt:" + "0" * 32 + ":" + "1" * 128


# Records that have what those of WORLD cannot have at once: deleted, or open with an empty white
# list.
# fmt: off
OTHERS = {
    "users": [
        dict(id=9, account="boss", realname="Bo", avatar="/a.png", admin=True, password=SCRYPTED, role="top", email="b@x.org", dept=2,
             type="outside", gender="m", birthday="1970-02-03", join="2020-04-05", commiter="c", skype="s", qq="q", mobile="m", phone="p",
             weixin="w", dingding="d", slack="sl", whatsapp="wa", address="ad"),
        dict(id=10, account="gone", deleted=True),
    ],
    "programs": [dict(id=10, name="Gone", deleted=True)],
    "projects": [dict(id=11, name="Open", acl="open", deleted=True)],
    "products": [dict(id=3, name="Open", acl="open", deleted=True)],
    **{array: [dict(id=3, product=2, deleted=True, **name)] for array, name in
       (("releases", dict(name="Gone")), ("bugs", dict(title="Gone")), ("testcases", dict(title="Gone")), ("builds", dict(name="Gone", project=5)),
        ("testtasks", dict(name="Gone", project=5)))},
    **{array: [dict(id=4, product=2, title="Gone", deleted=True)] for array in ("stories", "plans")},
    "tasks": [dict(id=3, execution=3, name="Gone", deleted=True)],
}


FULL = {array: [*WORLD.get(array, []), *OTHERS.get(array, [])] for array in {**WORLD, **OTHERS}}
TABLES = {"users": "user", "programs": "project", "projects": "project", "executions": "project", "products": "product",
          "releases": "release", "bugs": "bug", "tasks": "task", "testcases": "testcase", "departments": "department", "stories": "story",
          "plans": "plan", "builds": "build", "testtasks": "testtask", "efforts": "effort", "results": "result"}
COUNTERS = ("bugs", "unResolved", "closedBugs", "fixedBugs", "thisWeekBugs", "assignToNull", "releases")
# fmt: on


def records_in(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the records of a list's answer."""
    return next(value for value in answer.values() if isinstance(value, list))


class Read(html.parser.HTMLParser):
    """A page, which must be well-formed.

    sections: the rows of each table by its heading.  calls: the lines of the page of calls.
    figures: the numbers that are links, by path.
    """

    VOID = ("meta", "link", "input")

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.words, self.links, self.tags, self.titles = [], [], [], []
        self.sections: dict[str, list[list[str]]] = {}
        self.heading = ""
        self.calls: list[str] = []
        self.figures: dict[str, str] = {}
        self.in_number = False
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        assert len(dict(attributes)) == len(attributes)
        if tag not in self.VOID:
            self.open.append(tag)
        self.links += [value for name, value in attributes if name == "href" and tag == "a"]
        if tag == "td":
            self.in_number = ("class", "number") in attributes
        if ("class", "call") in attributes:
            self.calls.append("")
        if tag == "section":
            self.heading = ""
            self.sections.setdefault("", [])
        if tag == "tr":
            self.sections.setdefault(self.heading, []).append([])
        if tag in ("td", "th"):
            self.sections[self.heading][-1].append("")

    def handle_startendtag(self, tag, attributes):
        assert {"svg"} & {*self.open}, f"<{tag}/> outside of SVG"
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)
        if "title" in self.open:
            self.titles.append(data)
        elif "h2" in self.open:
            self.heading += data
        elif "summary" in self.open and self.calls:
            self.calls[-1] = f"{self.calls[-1]} {data.strip()}".strip()
        elif {"td", "th"} & {*self.open} and data.strip():
            if self.in_number and "a" in self.open:
                self.figures[self.links[-1]] = data
            row = self.sections[self.heading][-1]
            row[-1] = f"{row[-1]} {data.strip()}".strip()

    @property
    def text(self) -> str:
        return "".join(self.words)


IMAGES = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp"
CHROME = f"{IMAGES},image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"
FIREFOX = f"{IMAGES},image/png,image/svg+xml,*/*;q=0.8"
SAFARI = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def basic(account: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{account}:{password}".encode()).decode()


def browse(
    client: Client, path: str = "/", password: str | None = "t", status: int = 200, **headers: str
) -> Read:
    """Ask as a browser does; return the page. Any account may stand beside a token."""
    sent = {"Accept": CHROME, **headers}
    if password is not None:
        sent.setdefault("Authorization", basic("anybody", password))
    answer = client.app.get(path, headers=sent, status="*")
    assert (answer.status_int, answer.content_type) == (status, "text/html"), path
    assert answer.charset.lower() == "utf-8"
    rules = answer.headers["Content-Security-Policy"].split("; ")
    assert dict(one.split(" ", 1) for one in rules) == SEALED
    assert answer.headers["Cache-Control"] == "no-store"
    assert ("WWW-Authenticate" in answer.headers) == (status == 401)
    return Read(answer.text)


class Live:
    """The command in a process of its own, serving on a free port."""

    errors = subprocess.PIPE

    def __init__(self, folder: Path, *arguments: str, **environment: str):
        named = {f"PMSERVICE_{name}": value for name, value in environment.items()}
        self.process = subprocess.Popen(
            [sys.executable, HERE / "pmservice.py", "--port", "0", *arguments],
            cwd=folder,
            env={**os.environ, **named},
            stdout=subprocess.PIPE,
            stderr=self.errors,
            encoding="utf-8",
        )
        self.heard = ""
        self.url = self.process.stdout.readline().strip()

    def hear(self, word: str) -> str:
        """Return the lines of stderr up to the one with a word."""
        while word not in self.heard and (line := self.process.stderr.readline()):
            self.heard += line
        return self.heard

    def connect(self) -> http.client.HTTPConnection:
        return connection_to(self.url)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        with contextlib.closing(self.connect()) as connection:
            return ask(connection, method, path, body, **headers)

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server. Afterwards `rest` is the rest of its stdout, `told` its stderr."""
        if os.name == "nt":
            # A signal goes to every process of a console there, and to none under Wine.
            self.hear("press Ctrl-C to stop")
            self.process.kill()
        else:
            self.process.send_signal(signal.SIGINT)
        self.rest, self.told = self.process.communicate(timeout=30)
        self.told = self.heard + (self.told or "")


def free_port() -> int:
    """Return a port below those that the system gives away: no other process gets it meanwhile."""
    for port in range(10_000 + os.getpid() % 20_000, 32_000):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise OSError("every port is taken")


def connection_to(url: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=60)


def ask(
    connection: http.client.HTTPConnection, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, Any]:
    """Send a request over a socket; return the status and the JSON of the answer."""
    connection.request(
        method, path, json.dumps(body) if body is not None else None, {"Token": "t", **headers}
    )
    answer = connection.getresponse()
    assert answer.getheader("Content-Type") == "application/json"
    return answer.status, json.loads(answer.read())


@pytest.fixture
def live(tmp_path):
    """Yield a server on an empty database, with the token t."""
    with Live(tmp_path, "--token", "t") as live:
        yield live


def threads_of_servers() -> set[threading.Thread]:
    """Return waitress's threads that run in this process."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("waitress")}


def have_ended(threads: set[threading.Thread]) -> bool:
    """Tell whether these threads end, within a minute each."""
    for thread in threads:
        thread.join(60)
    return not any(thread.is_alive() for thread in threads)


def stdin_of(sent: bytes) -> io.TextIOWrapper:
    """Return a stdin that holds these bytes, in an encoding that cannot read them."""
    return io.TextIOWrapper(io.BytesIO(sent), encoding="ascii")


# fmt: off
YEAR, SPAN = dict(begin="2026-01-01", end="2026-12-31"), dict(begin="2026-02-01", end="2026-11-30")
SHOP = {
    "users": WORLD["users"],
    "programs": [dict(id=id, name="G", parent=parent, **YEAR) for id, parent in ((6, 0), (7, 6))],
    "products": [dict(id=1, name="Shop", acl="open"), dict(id=2, name="Till", acl="open")],
    "projects": [dict(id=1, name="Pr", acl="open", parent=6, products=[1, 2], **YEAR), dict(id=4, name="Qr", acl="open", products=[2], **YEAR)],
    "executions": [dict(id=id, name=f"E{id}", acl="open", project=project, **SPAN) for id, project in ((2, 1), (3, 1), (5, 4))],
}
MARCH, LATER = dict(begin="2026-03-01", end="2026-04-30"), "2026-11-20T08:42:17Z"
FILLED = {  # the same with some of everything; the second department is below the first, the third plan below the first
    **SHOP,
    "departments": [dict(id=id, name=f"D{id}", parent=parent) for id, parent in ((1, 0), (2, 1), (3, 2), (4, 0))],
    "stories": [dict(id=id, product=product, title="S", category="feature", pri=3, estimate=4) for id, product in ((1, 1), (2, 1), (3, 2))],
    "plans": [dict(id=id, product=1, title="P", parent=parent, **MARCH) for id, parent in ((1, 0), (2, 0), (3, 1))],
    "bugs": [dict(id=id, product=product, title="B", severity=3, pri=3, type="codeerror", openedBuild="trunk", deadline="2026-12-01", assignedTo="dev1",
        plan=6) for id, product in ((1, 1), (2, 2))],
    "builds": [dict(id=id, project=1, execution=2, product=1, name=f"B{id}", builder="dev1", date="2026-11-20") for id in (1, 2)],
    "releases": [dict(id=1, project=1, product=1, name="R", date="2026-03-05")],
    "tasks": [dict(id=1, execution=2, name="T", type="devel", pri=2, estimate=3, left=3, story=5, storyVersion=0, assignedTo="dev1", openedBy="pm1",
        estStarted="2026-02-02", deadline="2026-02-20")],
    "testcases": [dict(id=1, product=1, project=1, execution=2, title="C", type="feature", pri=1, stage="bvt", steps=[dict(desc="a"), dict(desc="b")]),
        dict(id=2, product=1, title="D", project=4, execution=5)],
    "testtasks": [dict(id=1, product=1, project=1, execution=2, build="trunk", name="Round", begin="2026-11-23", end="2026-11-27")],
}
# fmt: on


@pytest.fixture
def shop():
    """Yield an app that holds SHOP."""
    yield from begun(records_of("SHOP"))


@pytest.fixture
def filled():
    """Yield an app that holds FILLED."""
    yield from begun(records_of("FILLED"))


def bugs_of_one_product(count: int, **fields: Any) -> dict[str, Any]:
    """Return a fixture with an open product that has so many bugs."""
    product = dict(id=1, name="P", acl="open")
    bug = dict(product=1, title="B", **fields)
    return {"products": [product], "bugs": [bug] * count}


def holds(record: dict[str, Any], **facts: Any) -> None:
    """Check some fields of a record; persons are given as accounts."""

    def cell(value: Any) -> Any:
        if isinstance(value, list):
            return [cell(one) for one in value]
        return value["account"] if isinstance(value, dict) and "account" in value else value

    assert lines({field: cell(record[field]) for field in facts}) == lines(facts)


def unchanged_but(before: dict[str, Any], after: dict[str, Any], *fields: str) -> None:
    """Check that two records differ in no other fields, but perhaps in who edited them."""
    fields += ("lastEditedBy", "lastEditedDate")
    assert lines(without(before, *fields)) == lines(without(after, *fields))


def broken(client: Client, line: str, body: Any) -> str:
    """Send a request that must be refused; return the names of its broken fields."""
    refusal = client.refused(*line.split(), body)
    assert all(f"{field} {rule}" in refusal["error"] for field, rule in refusal["fields"].items())
    return " ".join(sorted(refusal["fields"]))


def problems(client: Client) -> list[str]:
    """Return what is wrong with the counts of a client's database."""
    with client.service.database.reading() as store:
        return list(pmservice.problems_of(store))


def remove(client: Client, *paths: str) -> None:
    for path in paths:
        assert client.call("DELETE", path).json == {"message": "success"}


def story(client: Client, query: str = "", **body: Any) -> Any:
    return client.post(f"/products/1/stories{query}", **{**STORY, **body})


def reviewed(client: Client, id: int, account: str, result: str) -> Any:
    """Let a user vote on a story; return the answer."""
    return client.call(
        "POST", f"/stories/{id}/review", dict(result=result), Token=client.token_of(account)
    )


def story_in(client: Client, state: str, *reviewers: str) -> int:
    """Return the id of a new story in that state. Reviewers let one pass that is no draft."""
    if not reviewers:
        client.load(stories=[dict(product=1, title="S", status=state)])
        return client.get("/stories?status=all")["stories"][0]["id"]
    id = story(client, reviewer=[*reviewers])["id"]
    for one in reviewers if state != "draft" else ():
        reviewed(client, id, one, "pass")
    if state == "changed":
        client.post(f"/stories/{id}/change", title="Other")
    return id


@cache
def company(days: int = 0, zone: Any = timezone.utc) -> pmservice.Database:
    """Return a database with the demo as made so many days after NOW, from which tests begin."""
    moment = NOW + timedelta(days=days)
    database = pmservice.Database(":memory:", zone, lambda: moment)
    pmservice.fill(database, dict(pmservice.DEFAULTS, demo=True))
    return database


@pytest.fixture
def demo():
    """Yield an app that holds the demo."""
    yield from begun(company())


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=300)
NAMES = TEXTS.filter(lambda text: text.strip() and len(text) <= 255)
NUMBERS_AND_TEXTS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(["2026-02-02", "dev1", "open", "private", "normal", "devel", "0", "1", 1, 2]),
)
KEYS = st.sampled_from(["desc", "account", "id", "x"])
VALUES = st.recursive(
    NUMBERS_AND_TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def in_memory():
    """Yield an app that the examples of one property share."""
    with contextlib.closing(Client(":memory:", load=FILLED)) as client:
        yield client


# --- 1 Words, 3 Kinds and 4 Resources: the structure ----------------------------------------------


class TestStructure:
    """A field is named once in Python and once in SQL, and no name means two things."""

    @EVERY_RECORD
    def test_given_fields_are_the_columns_of_the_table(self, client, record):
        columns = client.sql("SELECT name FROM pragma_table_info(?)", record.table)
        fields = set(record.settable())
        if record.table == "project":
            fields |= {"path", "grade"}  # derived, but kept
        assert {name for (name,) in columns} == fields

    @each("name", SPECIFIED)
    def test_fields_are_those_of_the_specification(self, name):
        record = RECORDS[name]
        fields = record.fields.keys() - record.extra.split()
        assert fields == SORTS[name].keys()

    def test_enumerations_are_those_of_the_specification(self):
        enumerated = {}
        for record in RECORDS.values():
            for field, kind in record.fields.items():
                given = kind.look == "quoted" and kind.source == "given"
                if given and "enum" in kind.schema:
                    enumerated[record.table, field] = set(kind.schema["enum"])
        assert enumerated == {place: set(words.split(" ")) for place, words in WORDS.items()}

    @each(("table", "field"), WORDS)
    def test_enumerations_are_what_the_database_accepts(self, world, table, field):
        for word in WORDS[table, field].split(" "):
            world.sql(f"UPDATE {table} SET {field} = ? WHERE id = 1", word)
        with pytest.raises(sqlite3.IntegrityError):
            world.sql(f"UPDATE {table} SET {field} = 'neither' WHERE id = 1")

    def test_database_itself_refuses_a_link_to_nothing(self, world):
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            world.sql("UPDATE release SET product = 99")

    def test_resource_cannot_be_written_without_saying_who_may_see_it(self):
        with pytest.raises(TypeError, match="guard"):
            pmservice.Resource("note", "note", "notes", "", {"id": pmservice.ID}, defaults={})

    def test_no_parameter_of_a_statement_is_a_number(self):
        """Python 3.12.0 to 3.12.3 warns of "?" with a number as of a name without a mapping."""
        source = Path(pmservice.__file__).read_text("utf-8")
        assert not re.findall(r".*\?[0-9].*", source)


# fmt: off
PRODUCTS, PROGRAMS, PROJECTS = "POST /products", "POST /programs", "POST /projects"
TASKS, CASES, MODIFY = "POST /executions/3/tasks", "POST /products/1/testcases", "PUT /tasks/1"
START, FINISH, RESTART = "POST /tasks/1/start", "POST /tasks/1/finish", "POST /tasks/1/restart"
REFUSED = {  # request: the broken field, what is sent for it, a word of the rule
    PRODUCTS: [
        ("name", "", "blank"), ("name", " \t\u3000", "blank"), ("name", "x" * 256, "255"), ("name", "a\0b", "NUL"),
        ("name", "a\ud800b", "surrogate"), ("name", "\ude00\ud83d", "surrogate"), ("name", True, "text"), ("name", ["x"], "text"),
        ("desc", "é" * 32769, "65536"),
        ("desc", {"html": "x"}, "text"), ("code", 2**63, "64 bits"), ("program", 99, "program"), ("program", 2, "program"),
        ("program", -1, "0 or more (got -1)"), ("line", "x", "whole number"), ("line", True, "whole number"), ("line", 1.5, "whole number"),
        ("line", 1.0, "whole number"),
        ("line", "٣", "whole number"), ("line", 2**63, "or less (got"), ("type", "other", "normal, branch, platform"),
        ("acl", "custom", "open, private"), ("acl", {}, "open, private"), ("PO", 99, "existing user"), ("PO", "a b", "letters"),
        ("PO", "x" * 31, "30"), ("PO", ["po1"], "user"), ("PO", {"realname": "x"}, "user"), ("QD", True, "user"),
        ("RD", {"id": 99}, "existing user"), ("whitelist", ["dev1", 99], "existing user"), ("whitelist", "dev1,a b", "letters"),
        ("whitelist", {"0": "dev1"}, "array"), ("whitelist", 4, "array"), ("whitelist", ",".join(f"x{n}" for n in range(1001)), "1000 persons"),
    ],
    PROGRAMS: [
        ("begin", "2026-02-30", "real day"), ("begin", "2026-02-29", "real day"), ("begin", "0000-01-01", "real day"), ("begin", "20260101", "real day"),
        ("begin", "2026-W01-1", "real day"),
        ("begin", "٢٠٢٦-01-01", "real day"), ("end", 20260101, "real day"), ("end", "2026-01-04", "before"),
        ("parent", "99", "program"), ("parent", 2, "program"), ("PM", 99, "existing user"), ("budget", "many", "whole number"),
        ("budgetUnit", "EUR", "CNY, USD"), ("acl", "none", "open, private"),
    ],
    PROJECTS: [
        ("products", [], "empty"), ("products", [1, 99], "product"), ("products", [True], "whole number"), ("products", "1", "array"),
        ("model", "kanban", "scrum, waterfall"), ("end", "2026-01-09", "before"),
    ],
    CASES: [
        ("type", "step", "feature, performance, config, install, security, interface, unit, other"),
        ("stage", "integrate", "unittest, feature, intergrate, system, smoke, bvt"), ("stage", ["bvt", 1], "intergrate"),
        ("pri", "high", "whole number"), ("steps", "a", "array"), ("steps[0]", ["a"], "object"),
        ("steps[1].desc", [{"desc": "a"}, {"expect": "b"}], "required"), ("steps[0].desc", [{"desc": ""}], "blank"),
    ],
    TASKS: [
        ("type", "code", "design, devel, request, test, study, discuss, ui, affair, misc"), ("deadline", "2026-02-01", "before"),
        ("estimate", -0.5, "0 or more"), ("estimate", "8h", "hours"), ("estimate", True, "hours"), ("estimate", 2.0**64, "or less"),
        ("estimate", "1e400", "or less"),
        ("assignedTo", 99, "existing user"), ("assignedTo", ["dev1", None], "user"),
    ],
    MODIFY: [
        ("name", "", "blank"), ("type", "code", "devel"), ("deadline", "2026-02-01", "before"), ("assignedTo", ["dev1", "qa1"], "user"),
    ],
    START: [
        ("consumed", 2, "2.5"), ("left", -1, "0 or more"), ("realStarted", "yesterday", "YYYY-MM-DD hh:mm:ss"),
        ("realStarted", "2026-02-06 24:00:00", "YYYY-MM-DD hh:mm:ss"), ("realStarted", "0001-01-01", "in the years 2 to 9998"),
        ("comment", ["x"], "text"),
    ],
    RESTART: [
        ("consumed", -1, "0 or more"), ("consumed", 2, "2.5"),
    ],
    FINISH: [
        ("currentConsumed", -1, "0 or more"), ("currentConsumed", 2**63 - 1, "or less"),
        ("finishedDate", "2026-01-03 03:59:59", "before"), ("finishedDate", "09.02.2026", "YYYY-MM-DD hh:mm:ss"),
    ],
}
TAKEN = [  # request, field, what is sent for it, what is shown
    (PRODUCTS, "line", "7", 7), (PRODUCTS, "line", "-3", -3), (PRODUCTS, "line", -(2**63), -(2**63)), (PRODUCTS, "line", 2**63 - 1, 2**63 - 1),
    (PRODUCTS, "code", 12, "12"), (PRODUCTS, "code", 1.5, "1.5"), (PRODUCTS, "name", 2026, "2026"), (PRODUCTS, "name", "x" * 255, "x" * 255),
    (PRODUCTS, "name", "𝕏" * 255, "𝕏" * 255), (PRODUCTS, "desc", "x" * 65536, "x" * 65536), (PRODUCTS, "program", "1", 1),
    (PROGRAMS, "budget", "200000", "200000"), (PROGRAMS, "end", "2026-03-01", "2026-03-01"), (TASKS, "deadline", "2026-02-02", "2026-02-02"),
    (TASKS, "estimate", -0.0, 0), (TASKS, "estimate", 1e18, 10**18), (TASKS, "estimate", "2.5", 2.5), (TASKS, "estimate", 8, 8),
    (TASKS, "estimate", 8.0, 8), (TASKS, "pri", "2", 2),
]
BROKEN_TOGETHER = [  # by themselves or with what is stored: request, body, the fields that are named
    ("POST /programs",        dict(name="", begin="x", budgetUnit="EUR"),       "begin budgetUnit end name"),
    ("PUT /tasks/1",          dict(name="", deadline="2026-02-01"),             "deadline name"),
    ("PUT /tasks/1",          dict(estStarted="x", deadline="2026-02-01"),      "estStarted"),
    ("POST /tasks/1/start",   dict(consumed=1, left=-1),                        "consumed left"),
    ("POST /tasks/1/start",   dict(consumed=1, left=1, assignedTo=999),         "assignedTo consumed"),
    ("POST /tasks/1/restart", dict(consumed=1),                                 "consumed left"),
    ("POST /tasks/2/finish",  dict(),                                           "finishedDate realStarted"),
    ("POST /tasks/2/finish",  dict(finishedDate="2026-02-09"),                  "realStarted"),
    ("POST /tasks/2/finish",  dict(realStarted="x", finishedDate="2026-02-09"), "realStarted"),
    ("POST /tasks/1/finish",  dict(finishedDate="2020-01-01", currentConsumed=-1), "currentConsumed finishedDate"),
    ("POST /projects/2/executions", dict(name="", begin="2020-01-01", end="2020-01-02"), "begin end name"),
]
# fmt: on


class TestRefusals:
    """The values of fields that are refused, and those that are taken."""

    @each("request_line", REFUSED)
    def test_refusal_names_the_field_and_the_rule_and_writes_nothing(self, world, request_line):
        for place, value, word in REFUSED[request_line]:
            field = place.partition("[")[0]
            body = good(request_line, **{field: value})
            refusal = world.refused(*request_line.split(), body)
            [(name, rule)] = refusal["fields"].items()
            assert name == place, value
            assert word in rule, value
            assert refusal["error"].rstrip(".") == f"{place} {rule}"

    @each(("request_line", "body", "fields"), BROKEN_TOGETHER)
    def test_every_broken_field_is_named(self, world, request_line, body, fields):
        refusal = world.refused(*request_line.split(), body)
        named = sorted(refusal["fields"])
        assert named == fields.split()
        for field in named:
            assert field in refusal["error"]

    def test_hours_stay_within_64_bits(self, world):
        world.sql("UPDATE task SET consumed = ? WHERE id = 1", 2.0**62)
        body = good(FINISH, currentConsumed=2.0**62)
        assert broken(world, FINISH, body) == "currentConsumed"

    @each("request_line", [TASKS, "POST /products/1/bugs", "PUT /bugs/2", "PUT /tasks/2"])
    def test_deleted_user_is_given_nothing(self, world, request_line):
        remove(world, "/users/8")
        for person in (8, "rd1"):
            body = good(request_line, assignedTo=person)
            assert broken(world, request_line, body) == "assignedTo", person

    def test_refused_request_makes_no_user(self, world):
        world.refused("POST", "/products", {"PO": "newcomer", "whitelist": ["other1"]})
        assert not world.sql("SELECT * FROM user WHERE account IN ('newcomer', 'other1')")

    @each(("request_line", "field", "sent", "shown"), TAKEN)
    def test_numbers_and_texts_are_taken_in_each_other_s_form(
        self, world, request_line, field, sent, shown
    ):
        body = good(request_line, **{field: sent})
        answer = world.call(*request_line.split(), body)
        assert lines(answer.json[field]) == lines(shown)

    def test_duplicate_names_and_unknown_fields_are_fine(self, client):
        client.product(name="Same")
        again = client.product(name="Same", unknown=1, total=7)
        assert again["id"] == 2


# fmt: off
NEIGHBOURS = ("dev", "ev1", "d", "1", "DEV1", "dev11", "dev1.", ".dev1", "dev1@dev1", "a", "a.dev")  # accounts like dev1
ACCOUNTS = [dict(account=account) for account in ("dev1", "amy", "zoe", *NEIGHBOURS)]
NAMING_DEV1 = [
    dict(whitelist=["dev1"]), dict(whitelist=["dev1", "zoe"]), dict(whitelist=["amy", "dev1"]), dict(whitelist=["amy", "dev1", "zoe"]),
    dict(PO="dev1"), dict(QD="dev1"), dict(RD="dev1"),
]
WITH_MAIL = {  # what nobody is told of but for its e-mail
    "users": [dict(account="dev1")],
    "products": [dict(id=1, name="P", acl="private")],
    "projects": [dict(id=1, name="J", acl="open", products=[1])],
    "stories": [dict(id=1, product=1, title="S", mailto=["dev1", "amy"])],
    "testtasks": [dict(id=1, product=1, project=1, name="T", mailto=["dev1", "amy"])],
    "releases": [dict(id=1, product=1, project=1, name="R", mailto="dev1,amy")],
}
# fmt: on


class TestNamesLikeOneThatIsListed:
    """An account is in a white list as a whole, not as a part of another one."""

    def seen(self, client: Client, account: str, records: str) -> list[str]:
        """Return the paths of records that an account sees, and of lists that show it any."""
        client.token = client.token_of(account)
        found = []
        for record in records.split():
            path = record.rpartition("/")[0]
            if records_in(client.get(path)):
                found.append(path)
            if client.call("GET", record).status_int == 200:
                found.append(record)
        return found

    def is_for_dev1(self, client: Client, records: str) -> None:
        """Assert that dev1 sees these records, by themselves and in lists, and the others none."""
        seen = self.seen(client, "dev1", records)
        assert len(seen) == 2 * len(records.split())
        for account in NEIGHBOURS:
            assert self.seen(client, account, records) == [], account

    @each("persons", [*NAMING_DEV1, dict(createdBy="dev1")], ids=json.dumps)
    def test_private_product_is_for_those_who_are_named(self, client, persons):
        private = {"name": "P", "acl": "private", "createdBy": "admin", **persons}
        client.load(
            users=ACCOUNTS,
            products=[{"id": 1, **private}],
            bugs=[dict(product=1, title="B")],
            stories=[dict(product=1, title="S", mailto=["dev", "dev11"])],
        )
        self.is_for_dev1(client, "/products/1 /bugs/1 /stories/1")

    @each("persons", [*NAMING_DEV1, dict(PM="dev1"), dict(openedBy="dev1")], ids=json.dumps)
    def test_private_program_and_project_are_for_those_who_are_named(self, client, persons):
        private = {"name": "N", "acl": "private", "openedBy": "admin", **persons}
        client.load(
            users=ACCOUNTS,
            programs=[{"id": 1, **private}],
            projects=[{"id": 2, **private}],
            executions=[dict(id=3, name="E", project=2)],
        )
        self.is_for_dev1(client, "/programs/1 /projects/2 /executions/3")

    def test_who_gets_mail_sees_no_more_for_it(self, client):
        client.load(**WITH_MAIL)
        records = "/products/1 /stories/1 /testtasks/1 /releases/1"
        assert self.seen(client, "dev1", records) == []


# --- 5 Views: how it looks ------------------------------------------------------------------------


# fmt: off
EMPTIED = dict(closedBy=None, closedDate=None, canceledBy=None, canceledDate=None, closedReason="")
UNFINISHED = dict(EMPTIED, finishedBy=None, finishedDate=None)


def counts(**stories): return {**dict.fromkeys(("", "draft", "active", "closed", "changed"), 0), **stories}


PRODUCT_1 = without(facts_of("products", 1, programName="Alpha", releases=1, bugs=2, unResolved=1, closedBugs=1, fixedBugs=1, thisWeekBugs=1, assignToNull=1,
                             stories=counts(changed=1), requirements=counts(active=1), plans=2))
PRODUCT_2 = dict(id=2, name="P two", releases=1, stories=counts(active=1), plans=1)
BUG_1     = facts_of("bugs", 1)
CASE_1    = facts_of("testcases", 1, currentVersion=4, steps=[dict(id=5, parent=1, case=1, version=2, type="group", desc="a", expect="b")])
TASK_1    = facts_of("tasks", 1, assignedToRealName="Dan Dev", progress=31)
TASK_2    = facts_of("tasks", 2, project=5)
NEW_PRODUCT = dict(name="P", program=1, code="C", line=4, PO="po1", QD="qd1", RD="rd1", type="branch", desc="d", acl="private", whitelist=["dev2"])
NEW_CASE    = dict(branch=1, module=2, story=7, title="C", type="unit", stage="bvt", precondition="p", pri=1, keywords="k")
NEW_PROGRAM = dict(name="N", PM="pm1", budgetUnit="USD", desc="d", begin="2026-02-01", end="2026-06-30", acl="private", whitelist=["dev1", "qa1"])
NEW_PROJECT = dict(name="N", begin="2026-01-10", end="2026-06-30", code="C", model="waterfall", parent=1, PM="pm1", acl="private", whitelist=["dev1"])
NEW_TASK    = dict(module=1, story=2, fromBug=1, name="N", type="ui", pri=2, estimate=1.5, estStarted="2026-02-02", deadline="2026-02-20")
OF_STORY_2  = dict(storyID=2, storyTitle="Story two", latestStoryVersion=1, storyStatus="active")
STEPS       = [dict(desc="a", expect="b"), dict(desc="c")]
NEW_STEPS   = [dict(id=6, parent=0, case=3, version=1, type="step", desc="a", expect="b"),
    dict(id=7, parent=0, case=3, version=1, type="step", desc="c", expect="")]
ANSWERS = [
    # operation                   path                     body                                      the facts shown
    ("GET /products",             "/products",             None,                                     [PRODUCT_1, PRODUCT_2]),
    ("POST /products",            "/products",             NEW_PRODUCT,                              dict(NEW_PRODUCT, id=3, programName="Alpha")),
    ("POST /products",            "/products",             dict(name="P"),                           dict(name="P", id=3)),
    ("GET /products/:id/bugs",    "/products/1/bugs",      None,                                     [dict(id=2, product=1, title="Bug two"), BUG_1]),
    ("POST /products/:id/testcases", "/products/2/testcases", dict(NEW_CASE, steps=STEPS),
         dict(NEW_CASE, id=3, product=2, storyVersion=0, steps=NEW_STEPS)),
    ("GET /testcases/:id",        "/testcases/1",          None,                                     CASE_1),
    ("GET /testcases/:id",        "/testcases/2",          None,                                     dict(id=2, product=2, title="Case two", caseFails=0)),
    ("POST /programs",            "/programs",             dict(NEW_PROGRAM, parent="1", budget=3),
         dict(NEW_PROGRAM, id=7, type="program", parent=1, path=",1,7,", grade=2, budget="3")),
    ("POST /programs",            "/programs",             dict(name="N", begin="2026-02-01", end="2026-06-30"),
         dict(id=7, name="N", type="program", acl="open", begin="2026-02-01", end="2026-06-30")),
    ("GET /programs/:id",         "/programs/1",           None,                                     facts_of("programs", 1, type="program", budget="200000")),
    ("GET /programs/:id",         "/programs/4",           None,
         dict(id=4, name="Beta", type="program", acl="open", begin="2026-11-20", end="2059-12-31")),
    ("POST /projects",            "/projects",             dict(NEW_PROJECT, products=[1, 2]),
         dict(NEW_PROJECT, **EDITED, id=7, type="project", path=",1,7,", grade=2, team="N")),
    ("POST /projects",            "/projects",             dict(name="N", begin="2026-02-01", end="2026-06-30", products=[1]),
         dict(EDITED, id=7, name="N", type="project", model="scrum", acl="private", team="N", begin="2026-02-01", end="2026-06-30")),
    ("GET /projects/:id/releases", "/projects/2/releases", None,
         [dict(id=2, project=2, product=2, name="R2", date="2026-11-20", productName="P two", projectName="Pr one"),
         facts_of("releases", 1, buildID=4, productName="P one", projectName="Pr one")]),
    ("POST /executions/:id/tasks", "/executions/3/tasks",  dict(NEW_TASK, assignedTo=["dev1"]),
         dict(NEW_TASK, id=3, project=2, execution=3, left=1.5, assignedTo="dev1", assignedDate=NOW_ISO, assignedToRealName="Dan Dev", **OF_STORY_2)),
    ("POST /executions/:id/tasks", "/executions/5/tasks",  dict(NEW_TASK),
         dict(NEW_TASK, id=3, project=5, execution=5, left=1.5, **OF_STORY_2)),
    ("PUT /tasks/:id",            "/tasks/1",              dict(pri=3),
         dict(TASK_1, **EDITED | dict(pri=3), cases={"1": "Case one"})),
    ("PUT /tasks/:id",            "/tasks/2",              dict(pri=3),                              dict(TASK_2, **EDITED, pri=3, cases={})),
    ("POST /tasks/:id/start",     "/tasks/1/start",        dict(consumed=3, left=4),
         dict(TASK_1, **EDITED | UNFINISHED | dict(consumed=3, left=4, status="doing", progress=43, realStarted=NOW_ISO))),
    ("POST /tasks/:id/start",     "/tasks/2/start",        dict(left=0),
         dict(TASK_2, **EDITED, status="doing", realStarted=NOW_ISO)),
    ("POST /tasks/:id/finish",    "/tasks/1/finish",       dict(finishedDate="2026-02-09 17:00:00", currentConsumed=1),
         dict(TASK_1, **EDITED | EMPTIED | dict(consumed=3.5, left=0, status="done", progress=100, finishedBy="admin", finishedDate="2026-02-09T17:00:00Z"))),
    ("POST /tasks/:id/finish",    "/tasks/2/finish",       dict(finishedDate="2026-11-21", realStarted="2026-11-20"),
         dict(TASK_2, **EDITED, status="done", progress=100, finishedBy="admin", assignedTo="admin", assignedToRealName="admin", assignedDate=NOW_ISO,
         realStarted="2026-11-20T00:00:00Z", finishedDate="2026-11-21T00:00:00Z")),
    ("POST /tasks/:id/restart",   "/tasks/1/restart",      dict(consumed=6, left=4),
         dict(TASK_1, **EDITED | UNFINISHED | dict(consumed=6, left=4, status="doing", progress=60))),
    ("POST /tasks/:id/restart",   "/tasks/2/restart",      dict(consumed=0.5, left=2),
         dict(TASK_2, **EDITED, consumed=0.5, left=2, status="doing", progress=20, realStarted=NOW_ISO)),
]
AROUND = [  # the path of a list, what stands around its records; unknown parameters count for nothing
    ("/products",                               {"total": 2}),
    ("/products?page=1",                        {"page": 1, "total": 2, "limit": 20}),
    ("/products?limit=1&page=2",                {"page": 2, "total": 2, "limit": 1}),
    ("/products/1/bugs",                        {"page": 1, "total": 2, "limit": 20}),
    ("/products/1/bugs?colour=red&limit=5&_=1", {"page": 1, "total": 2, "limit": 5}),
    ("/projects/2/releases",                    {"total": 2}),
    ("/projects/2/releases?limit=3",            {"page": 1, "total": 2, "limit": 3}),
    ("/projects/2/releases?page=&limit=4",      {"page": 1, "total": 2, "limit": 4}),
    ("/projects/2/releases?page=0&limit=0",     {"total": 2}),
    ("/products/1/bugs?page=0&limit=0",         {"page": 1, "total": 2, "limit": 20}),
]
# fmt: on


EVERY_ANSWER = each(
    ("operation", "path", "body", "facts"),
    ANSWERS,
    ids=[f"{row[0]} on {row[1]}" for row in ANSWERS],
)


class TestLooks:
    """Every field of every answer: its name, its JSON type, its value, its quirk."""

    @EVERY_ANSWER
    def test_answer_is_what_the_specification_says(self, world, operation, path, body, facts):
        method = operation.split()[0]
        response = world.call(method, path, body)
        moves = path.endswith(("/start", "/restart", "/finish"))
        creates = method == "POST" and not moves
        assert response.status_int == (201 if creates else 200)
        answer, shown = response.json, SHOWN[operation]
        if isinstance(facts, list):
            wanted = [shown.of(**record) for record in facts]
            answer = records_in(answer)
        else:
            wanted = shown.of(**facts)
        if operation == "POST /products":
            wanted = {**wanted, "total": 1, "products": [wanted]}
        assert lines(answer) == lines(wanted)

    def test_every_operation_is_looked_at(self):
        assert {row[0] for row in ANSWERS} == set(SHOWN)

    @each(("path", "around"), AROUND)
    def test_list_has_its_numbers_around_it(self, world, path, around):
        answer = world.get(path)
        assert without(answer, "products", "bugs", "releases") == around

    def test_whole_hours_are_written_without_a_fraction(self, world):
        hours = {"consumed": 8.0, "left": 0.25}
        answer = world.call("POST", "/tasks/1/restart", hours)
        assert '"consumed":8,"left":0.25,' in answer.text


# PUBLISHED does for the resources that the specification lacks what SPECIFIED does for its own. The
# fields are those of version 16.5 of the real server. Everywhere but in the operations of SHOWN,
# persons are references, datetimes ISO or null, `deleted` is a boolean. SORTS, EMPTY and USUAL
# grow.

# fmt: off
PUBLISHED = {
    "user": {
        "int": "id company dept visits fails score scoreLevel", "day": "birthday join", "null": "locked", "boolean": "admin superReviewer",
        "string": "type account realname role pinyin nickname commiter avatar gender email skype qq mobile phone weixin dingding slack"
                  " whatsapp address zipcode nature analysis strategy visions ip last feedback ranzhi ldap resetToken deleted"
                  " clientStatus clientLang",
        "view": "view",
    },
    "brief user": {"int": "id dept", "string": "account realname role pinyin email", "group": "group"},
    "department": {"int": "id parent grade order", "string": "name path position function manager managerName"},
    "listed story": {
        "int": "id parent product branch module fromBug feedback pri lib fromStory fromVersion toBug duplicateStory version",
        "string": "vision plan source sourceNote title keywords type category status subStatus color stage stagedBy closedReason"
                  " childStories linkStories storyChanged feedbackBy notifyEmail URChanged parentName planTitle productStatus",
        "number": "estimate", "person": "openedBy assignedTo lastEditedBy reviewedBy closedBy", "whitelist": "mailto", "null": "approvedDate",
        "moment": "openedDate assignedDate lastEditedDate reviewedDate closedDate activatedDate", "deleted": "deleted",
    },
    "plan": {"int": "id product branch parent", "string": "title status desc order closedReason", "day": "begin end", "deleted": "deleted"},
    "build": {
        "int": "id project product branch execution", "string": "name scmPath filePath desc executionName productName", "day": "date",
        "person": "builder", "deleted": "deleted", "array": "stories bugs",
    },
    "testtask": {
        "int": "id project product execution pri testreport branch", "person": "owner", "day": "begin end", "moment": "realFinishedDate",
        "string": "name build type desc report status auto subStatus productName executionName buildName", "whitelist": "mailto",
        "deleted": "deleted",
    },
    "effort": {"int": "id task", "number": "left consumed", "day": "date", "string": "account work"},
    "result": {
        "int": "id run case version job compile duration deploy build testtask", "string": "caseResult xml", "person": "lastRunner",
        "moment": "date", "array": "stepResults files",
    },
}
SORTS |= {record: {f: sort for sort, fs in sorts.items() for f in fs.split()} for record, sorts in PUBLISHED.items()}
SORTS["profile"] = {**SORTS["user"], "role": "role"}
SORTS["story"] = {**SORTS["listed story"], **dict.fromkeys(("spec", "verify", "productName", "moduleTitle"), "string"), "parentPri": "int",
                  **dict.fromkeys(("stages", "files", "reviewer", "notReview", "tasks", "children", "bugs", "cases", "requirements",
                                   "executions", "planTitle"), "array"), "extraStories": "object"}
SORTS["project's testtask"] = without(SORTS["testtask"], "branch", "productName", "executionName")
EMPTY["object"] = {}
USUAL |= {
    "user": dict(type="inside", gender="f", visions="rnd,lite", last="1970-01-01T00:00:00Z", feedback="0", deleted="0", clientStatus="offline",
                 clientLang="zh-cn", view=dict.fromkeys(("programs", "products", "projects", "sprints"), "")),
    "brief user": dict(group={}),
    "department": dict(order=10, grade=1),
    "listed story": dict(OPENED, vision="rnd", type="story", pri=3, status="active", stage="wait", fromVersion=1, version=1, storyChanged="0", URChanged="0",
                         productStatus="normal"),
    "plan": dict(status="wait", begin="2026-11-20", end="2030-01-01"),
    "build": dict(date="2026-11-20"),
    "testtask": dict(build="trunk", pri=3, begin="2026-11-20", end="2059-12-31", status="wait", auto="no"),
    "effort": dict(date="2026-11-20", account="admin"),
    "result": dict(version=1, caseResult="pass", lastRunner="admin", date=NOW_ISO),
}
USUAL["profile"] = dict(USUAL["user"], role={"code": "", "name": ""})
USUAL["project's testtask"] = USUAL["testtask"]
USUAL["story"] = dict(USUAL["listed story"], moduleTitle="/")
companion = partial(Shown, person=reference, nobody=None, moment=iso, never=None, no_day=None, deleted=plain, status=plain)
COMPANIONS = {
    **{record: companion(record) for record in (*PUBLISHED, "profile", "story", "project's testtask", "product", "release", "task", "testcase")},
    "bug":             companion("bug", builds=titled),
    "listed bug":      companion("bug"),
    "project":         companion("project", no_day="0000-00-00"),  # and program, execution
    "whole testcase":  companion("testcase", adds="caseFails"),
    "listed plan":     companion("plan", adds="stories bugs hour project projectID expired"),
    "whole plan":      companion("plan", adds="stories bugs"),
    "listed build":    companion("build", adds="executionID branchName"),
    "execution's build": companion("build", adds="branchName"),
    "asked story":     companion("listed story", adds="reviewer notReview"),
    "linked story":    companion("listed story", adds="reviewer notReview project story order productType"),
    "whole build":     companion("build", adds="productType files"),
    "whole testtask":  companion("testtask", adds="productType files testcases"),
    "tested case":     companion("testcase", adds="task case assignedTo caseVersion storyTitle caseStatus bugs results caseFails stepNumber"),
}
ENDLESS   = dict(begin="2026-11-20", end="2059-12-31")
PROJECT_2 = without(facts_of("projects", 2, type="project", team="Pr one", path=",1,2,", grade=2), "products")
PROJECT_5 = dict(id=5, name="Pr two", type="project", model="scrum", acl="private", team="Pr two", **ENDLESS)
STAGE_3   = dict(id=3, name="Ex one", type="stage", acl="private", project=2, parent=2, path=",2,3,", team="Ex one", **ENDLESS)
SPRINT_6  = dict(id=6, name="Ex two", type="sprint", acl="private", project=5, parent=5, path=",5,6,", team="Ex two", **ENDLESS)
RELEASE_1 = facts_of("releases", 1, buildID=4, productName="P one", projectName="Pr one")
RELEASE_2 = dict(id=2, project=2, product=2, name="R2", date="2026-11-20", productName="P two", projectName="Pr one")
BUG_2     = dict(id=2, product=1, title="Bug two")
NEW_BUG   = dict(title="N", severity=1, pri=2, type="config", branch=1, module=2, project=2, execution=3, plan=4, story=5, task=6, keywords="k", os="o",
                 browser="b", hardware="h", found="f", steps="<p>s</p>", deadline="2026-12-01", case=7, caseVersion=8, result=9, testtask=10, color="#00f",
                 feedbackBy="fb", notifyEmail="n@x.org", linkBug="1")
NEW_STAGE = dict(name="N", begin="2026-02-01", end="2026-04-30", code="C", days=20, lifetime="short", desc="d", acl="private")
PEOPLED   = dict(PM="pm1", PO="po1", QD="qd1", RD="rd1", whitelist=["dev1"])
NEW_RELEASE = dict(name="N", date="2026-03-06", product=2, branch=1, desc="r", status="terminate", marker="1", stories="1,2", bugs="3", leftBugs="4")
REOPENED  = dict(status="active", resolution="", resolvedBy=None, resolvedDate=None, resolvedBuild="", duplicateBug=0, closedBy=None, closedDate=None)
WORKS     = facts_of("departments", 1, path=",1,", managerName="Pam Manager")
WORKSHOP  = facts_of("departments", 2, path=",1,2,", grade=2)
LISTED_1  = without(facts_of("stories", 1, plan="1", stage="released", parentName="Need", planTitle="Plan one", productStatus="closed",
                             reviewer=["dev2", "qa1"], notReview=["dev2"]),
                    "spec", "verify", "versions", "executions", "plans", "reviewers")
LISTED_2  = dict(id=2, product=2, title="Story two", stage="wait")
LISTED_3  = dict(id=3, product=1, title="Need", type="requirement", parent=-1, childStories="1", estimate=2.5, productStatus="closed")
STORY_1   = dict(LISTED_1, spec="<p>s</p>", verify="v", planTitle=["Plan one"], parentPri=3,
    productName="P one",
                 executions={"3": dict(project=3, name="Ex one", status="wait", type="stage")}, requirements=[dict(id=3, title="Need")])
STORY_2   = without(dict(LISTED_2, productName="P two"), "planTitle")
STORY_3   = dict(LISTED_3, productName="P one", extraStories={"1": "Story one"}, children=[COMPANIONS["asked story"].of(**LISTED_1)])
NEW_STORY = dict(title="N", spec="s", verify="v", pri=2, category="feature", source="po", sourceNote="n", keywords="k", estimate=3, mailto=["dev1"],
                 assignedTo="dev2", module=1, branch=1)
ACTIVE    = dict(status="active", closedBy=None, closedDate=None, closedReason="", activatedDate=NOW_ISO)
LISTED_PLAN_1 = facts_of("plans", 1, stories=1, bugs=0, hour=2.5, project=0, projectID="", expired=False)
LISTED_PLAN_2 = dict(id=2, product=2, title="Plan two", stories=0, bugs=0, hour=0, project=0, projectID="", expired=False)
LISTED_PLAN_3 = facts_of("plans", 3, parent=-1, stories=0, bugs=0, hour=0, project=0, projectID="", expired=False)
PLAN_1    = facts_of("plans", 1, stories=[COMPANIONS["asked story"].of(**LISTED_1)], bugs=[])
PLAN_2    = dict(id=2, product=2, title="Plan two", stories=[], bugs=[])
NEW_PLAN  = dict(title="N", begin="2027-02-01", end="2027-03-01", desc="d", branch=1)
BUILD_1   = facts_of("builds", 1, executionName="Ex one", productName="P one", productType="platform", files=[])
BUILD_2   = dict(id=2, project=2, product=2, execution=2, name="Build two", executionName="Pr one", productName="P two")
NEW_BUILD = dict(execution=3, product=1, name="N", builder="dev2", date="2026-03-05", scmPath="vcs", filePath="zip", desc="d", branch=1, stories=[1], bugs=[2])
TESTTASK_1 = without(facts_of("testtasks", 1, executionName="Ex one", buildName="Build one", productName="P one"), "testcases")
TESTTASK_2 = dict(id=2, project=2, product=2, execution=2, name="Round two", executionName="Pr one", productName="P two")
TESTED_1  = COMPANIONS["tested case"].of(**without(CASE_1, "case"), task=1, case=1, assignedTo="", caseVersion=4, storyTitle=None, caseStatus="blocked", bugs=0,
                                         results=1, stepNumber=1)
NEW_ROUND = dict(product=1, execution=3, name="N", begin="2026-03-05", end="2026-03-06", type="system", owner="qa1", pri=1, desc="d", status="doing",
    mailto=["dev1"],
                 report="r")
RESULT_1  = facts_of("results", 1)
WHOLE_1   = dict(TESTTASK_1, productType="platform", files=[], testcases=[TESTED_1])
def listed(build, **more): return without(dict(build, executionID=build["execution"], branchName="", **more), "productType", "files")


CONFIGURATION = dict(language="en", version="16.5", charset="UTF-8", timezone="UTC", systemMode="new", hourUnit="h", CRProduct="1", CRExecution="1")
ADMINISTRATORS = dict(id=1, project=0, vision="rnd", name="ADMIN", role="admin", desc="for administrators", acl="", developer="1", privs={},
                      accounts={"admin": "admin"})
TOLD = [  # what is no record
    ("/tokens",                 {"message": "POST account and password here to get a token."}),
    ("/ping",                   {"token": "t", "tokenLife": "86400"}),
    ("/configurations",         [dict(key=key, value=value) for key, value in CONFIGURATION.items()]),
    ("/configurations/version", {"name": "version", "value": "16.5"}),
    ("/groups",                 [ADMINISTRATORS]),
    ("/modules?type=bug&id=1",  {"modules": []}),
    ("/departments",            [COMPANIONS["department"].of(**WORKS) | dict(children=[COMPANIONS["department"].of(**WORKSHOP)], actions={"delete": False})]),
]
READ = [  # a record as it is read by itself: path, what it is around, how it looks, the facts
    ("/user",           "profile", "profile",        dict(id=1, account="admin", realname="admin", admin=True)),
    ("/users/4",        None,      "user",           dict(id=4, account="dev1", realname="Dan Dev")),
    ("/users/dev1",     None,      "user",           dict(id=4, account="dev1", realname="Dan Dev")),
    ("/departments/2",  None,      "department",     WORKSHOP),
    ("/projects/2",     None,      "project",        PROJECT_2),
    ("/projects/5",     None,      "project",        PROJECT_5),
    ("/executions/3",   None,      "project",        STAGE_3),
    ("/executions/6",   None,      "project",        SPRINT_6),
    ("/products/1",     None,      "product",        PRODUCT_1),
    ("/products/2",     None,      "product",        PRODUCT_2),
    ("/releases/1",     None,      "release",        RELEASE_1),
    ("/releases/2",     None,      "release",        RELEASE_2),
    ("/bugs/1",         None,      "bug",            BUG_1),
    ("/bugs/2",         None,      "bug",            BUG_2),
    ("/tasks/1",        None,      "task",           TASK_1),
    ("/tasks/2",        None,      "task",           TASK_2),
    ("/stories/1",      None,      "story",          STORY_1),
    ("/stories/2",      None,      "story",          STORY_2),
    ("/stories/3",      None,      "story",          STORY_3),
    ("/productplans/1", None,      "whole plan",     PLAN_1),
    ("/productplans/2", None,      "whole plan",     PLAN_2),
    ("/builds/1",       None,      "whole build",    BUILD_1),
    ("/testtasks/1",    None,      "whole testtask", WHOLE_1),
]
REQUIRING = {"page": 1, "limit": 500, "requirements": {"3": "Need"}}
PAGED = {"page": 1, "limit": 20}
IN_LISTS = [  # a list in which records look otherwise than by themselves: path, its key, how they look, the facts, what is around it beside `total`
    ("/users",                  "users",     "brief user",        [dict(id=id, account=one, realname=name) for one, (id, name) in reversed(USERS.items())],
         PAGED),
    ("/tasks/1/estimate",       "effort",    "effort",            [facts_of("efforts", 1)],                       None),
    ("/testcases/1/results",    "results",   "result",            [RESULT_1],                                     None),
    ("/products/1/testcases",   "testcases", "testcase",          [without(CASE_1, "caseFails")],                 PAGED),
    ("/testcases?product=1",    "testcases", "testcase",          [without(CASE_1, "caseFails")],                 PAGED),
    ("/projects/2/testcases",   "cases",     "testcase",          [without(CASE_1, "caseFails")],                 PAGED),
    ("/executions/3/testcases", "cases",     "testcase",          [without(CASE_1, "caseFails")],                 PAGED),
    ("/products/1/stories",     "stories",   "asked story",       [LISTED_1],                                     REQUIRING),
    ("/stories?product=1",      "stories",   "asked story",       [LISTED_1],                                     REQUIRING),
    ("/projects/2/stories",     "stories",   "linked story",      [dict(LISTED_1, project=2, story=1, order=1, productType="platform")], PAGED),
    ("/executions/3/stories",   "stories",   "linked story",      [dict(LISTED_1, project=3, story=1, order=1, productType="platform")], PAGED),
    ("/bugs",                   "bugs",      "listed bug",        [BUG_2, BUG_1],                                 PAGED),
    ("/projects/2/bugs",        "bugs",      "listed bug",        [BUG_1],                                        PAGED),
    ("/executions/3/bugs",      "bugs",      "listed bug",        [BUG_1],                                        PAGED),
    ("/products/1/plans",       "plans",     "listed plan",       [LISTED_PLAN_1, LISTED_PLAN_3],                 PAGED),
    ("/productplans",           "plans",     "listed plan",       [LISTED_PLAN_2, LISTED_PLAN_1, LISTED_PLAN_3],  PAGED),
    ("/builds",                 "builds",    "listed build",      [listed(BUILD_2), listed(BUILD_1)],             {}),
    ("/projects/2/builds",      "builds",    "listed build",      [listed(BUILD_2), listed(BUILD_1)],             {}),
    ("/executions/3/builds",    "builds",    "execution's build", [without(listed(BUILD_1), "executionID")],      {}),
    ("/testtasks",              "testtasks", "testtask",          [TESTTASK_2, TESTTASK_1],                       PAGED),
    ("/projects/2/testtasks",   "testtasks", "project's testtask", [without(one, "productName", "executionName") for one in (TESTTASK_2, TESTTASK_1)], PAGED),
]
ALIKE = {  # lists in which records look as by themselves: path, the records in their order and what is around the list beside `total`
    "/programs": ([1, 4], PAGED), "/projects": ([2, 5], PAGED), "/executions": ([6, 3], PAGED), "/releases": ([2, 1], {}),
    "/programs/1/products": ([1], PAGED), "/programs/1/projects": ([2], PAGED), "/projects/2/executions": ([3], PAGED),
    "/executions/3/tasks": ([1], PAGED), "/products/1/projects": ([2], PAGED), "/products/2/releases": ([2], {}),
    "/tasks": ([], PAGED),
}
OF_STAGE = dict(NEW_STAGE, **PEOPLED, **EDITED, id=7, type="stage", project=2, parent=2, path=",2,7,", team="N", openedVersion=pmservice.__version__)
OF_BUILD = dict(NEW_BUILD, id=3, project=2, executionName="Ex one", productName="P one", productType="platform", files=[])
MADE = [  # a record that is created: path, body, how it looks, the facts
    ("/users",                dict(account="new1", password="secret", realname="N", role="dev", email="n@x.org"), "user",
         dict(id=9, account="new1", realname="N", email="n@x.org", role="dev")),
    ("/users",                dict(account="new1", password="secret"),         "user",       dict(id=9, account="new1", realname="new1")),
    ("/departments",          dict(name="N", parent=1, manager="qa1"),         "department",
         dict(id=3, name="N", parent=1, path=",1,3,", grade=2, order=20, manager="qa1", managerName="Quin Test")),
    ("/projects/2/executions", dict(NEW_STAGE, **PEOPLED),                     "project",    OF_STAGE),
    ("/projects/2/releases",  dict(NEW_RELEASE, build=[5], mailto=["dev1", "qa1"]), "release",
         dict(NEW_RELEASE, id=3, project=2, build=5, buildID=5, mailto="dev1,qa1", productName="P two", projectName="Pr one")),
    ("/testcases/2/results",  dict(steps=[]),                                  "result",     dict(id=3, case=2)),
    ("/products/1/bugs",      dict(NEW_BUG, openedBuild=["trunk", "b1"], assignedTo="dev1"), "listed bug",
         dict(NEW_BUG, id=3, product=1, storyVersion=0, openedBuild="trunk,b1", assignedTo="dev1", assignedDate=NOW_ISO)),
    ("/products/1/stories",   NEW_STORY,                                       "story",
         dict(NEW_STORY, id=4, product=1, assignedDate=NOW_ISO, productName="P one", productStatus="closed")),
    ("/products/1/plans",     NEW_PLAN,                                        "whole plan", dict(NEW_PLAN, id=4, product=1, stories=[], bugs=[])),
    ("/projects/2/builds",    NEW_BUILD,                                       "whole build", OF_BUILD),
    ("/projects/2/testtasks", dict(NEW_ROUND, build=1, testcases=[1]),         "whole testtask",
         {**WHOLE_1, **NEW_ROUND, "id": 3, "build": "1", "realFinishedDate": None, "testcases": [{**TESTED_1, "task": 3}]}),
    ("/testtasks",            dict(NEW_ROUND, build="trunk"),                  "whole testtask",
         {**WHOLE_1, **NEW_ROUND, "id": 3, "build": "trunk", "buildName": "", "realFinishedDate": None, "testcases": []}),
]
BELOW_PROGRAM = [  # what is created below a program, the field that names the program elsewhere, the body
    ("products", "program", dict(name="N")), ("projects", "parent", dict(PR_ONE, products=[1])),
]
SEVERAL = [dict(NEW_TASK), dict(name="M", type="misc")]
SHOWN_OF_SEVERAL = {
    "3": dict(NEW_TASK, id=3, project=2, execution=3, left=1.5, **OF_STORY_2),
    "4": dict(id=4, project=2, execution=3, name="M"),
}
TO_DEV2 = dict(assignedTo=reference("dev2"), assignedDate=NOW_ISO)
TO_ADMIN = dict(assignedTo=reference("admin"), assignedDate=NOW_ISO)
ACTIVE_BUG = dict(REOPENED, activatedCount=3, activatedDate=NOW_ISO)
DONE_BY_ADMIN = dict(closedBy=reference("admin"), closedDate=NOW_ISO)
CHANGES = [  # a change of a record: request, body, what it changes beside `lastEditedBy` and `lastEditedDate`; the state before, if it has to be another
    ("PUT /users/dev1",            dict(realname="D", dept=2, role="qa", gender="m", join="2020-04-05", email="d@x.org"),
         dict(realname="D", dept=2, role="qa", gender="m", join="2020-04-05", email="d@x.org")),
    ("PUT /departments/2",         dict(name="N", parent=0),                 dict(name="N", parent=0, path=",2,", grade=1)),
    ("PUT /programs/1",            dict(name="N", budget=7, realEnd="2026-12-29"), dict(name="N", team="N", budget="7", realEnd="2026-12-29")),
    ("PUT /projects/5",            dict(name="N", PM="pm1", parent=4),       dict(name="N", team="N", PM=reference("pm1"), parent=4, path=",4,5,", grade=2)),
    ("PUT /executions/6",          dict(name="N", status="doing", PO="po1"), dict(name="N", team="N", status="doing", PO=reference("po1"))),
    ("PUT /products/1",            dict(name="N", status="normal", line=4),  dict(name="N", status="normal", line=4)),
    ("PUT /product/2",             dict(name="N", PO="po1"),                 dict(name="N", PO=reference("po1"))),
    ("PUT /releases/1",            dict(name="N", build=1, status="normal"), dict(name="N", build=1, buildID=1, buildName="Build one", status="normal")),
    ("PUT /testcases/1",           dict(pri=2, precondition="q", steps=[dict(desc="x")]),
         dict(pri=2, precondition="q", version=5, currentVersion=5, steps=[dict(id=6, parent=0, case=1, version=5, type="step", desc="x", expect="")])),
    ("PUT /bugs/1",                dict(NEW_BUG, assignedTo="dev2"),         dict(NEW_BUG, **TO_DEV2, storyVersion=0)),
    ("PUT /testcases/1",           dict(story=0),                            dict(story=0)),
    ("PUT /bugs/1",                dict(openedBuild=[dict(id="trunk", title="Trunk"), {"id": 1}, "b"]), dict(openedBuild=titled("trunk,1,b"))),
    ("PUT /bugs/1",                dict(deadline="", resolvedDate="", assignedTo=""),
         dict(deadline=None, resolvedDate=None, assignedTo=None, assignedDate=NOW_ISO)),
    ("PUT /bugs/1",                {},                                       {}),
    ("POST /bugs/2/assign",        dict(assignedTo="dev2"),                  TO_DEV2),
    ("POST /bugs/2/confirm",       dict(pri=1, type="install"),              dict(pri=1, type="install", confirmed=1)),
    ("POST /bugs/2/resolve",       dict(resolution="fixed", resolvedBuild="b1"),
         dict(TO_ADMIN, status="resolved", resolution="fixed", resolvedBuild="b1", resolvedBy=reference("admin"), resolvedDate=NOW_ISO, confirmed=1)),
    ("POST /bugs/2/close",         {},                                       dict(DONE_BY_ADMIN, status="closed"), "resolved"),
    ("POST /bugs/1/active",        {},                                       ACTIVE_BUG),
    ("POST /bugs/1/activate",      dict(assignedTo="dev2", openedBuild="b3"), dict(ACTIVE_BUG, **TO_DEV2, openedBuild=titled("b3"))),
    ("POST /tasks/2/pause",        {},                                       dict(status="pause")),
    ("POST /tasks/1/close",        dict(closedReason="bydesign"),            dict(DONE_BY_ADMIN, status="closed", closedReason="bydesign")),
    ("POST /tasks/2/close",        {},                                       dict(DONE_BY_ADMIN, status="closed", closedReason="done", progress=0), "done"),
    ("POST /tasks/1/cancel",       {},                                       dict(status="cancel", canceledBy=reference("admin"), canceledDate=NOW_ISO)),
    ("POST /tasks/1/active",       dict(left=4),                             dict(UNFINISHED, status="doing", left=4, progress=38, activatedDate=NOW_ISO)),
    ("POST /tasks/1/activate",     dict(left=4),                             dict(UNFINISHED, status="doing", left=4, progress=38, activatedDate=NOW_ISO)),
    ("POST /tasks/2/assignto",     dict(assignedTo="dev2"),                  dict(TO_DEV2, assignedToRealName="Dora Dev")),
    ("POST /tasks/2/estimate",     dict(dates=["2026-11-20"], consumed=[1], left=[3]),
         dict(TO_ADMIN, status="doing", consumed=1, left=3, progress=25, realStarted=NOW_ISO, assignedToRealName="admin")),
    ("PUT /stories/1",             dict(title="N", pri=2, plan=[3]),         dict(title="N", pri=2, plan="3", planTitle=["Plan three"])),
    ("POST /stories/2/change",     dict(spec="new"),                         dict(spec="new", version=2)),
    ("POST /stories/2/review",     dict(result="pass", reviewedDate="2026-11-19"),
         dict(reviewedBy=reference("admin"), reviewedDate="2026-11-19T00:00:00Z", status="active"), "draft"),
    ("POST /stories/1/close",      dict(closedReason="cancel"),              dict(DONE_BY_ADMIN, status="closed", stage="closed", closedReason="cancel")),
    ("POST /stories/1/active",     {},                                       ACTIVE),
    ("POST /stories/1/activate",   dict(assignedTo="dev2"),                  dict(ACTIVE, **TO_DEV2)),
    ("POST /stories/2/assign",     dict(assignedTo="dev2"),                  TO_DEV2),
    ("PUT /productplans/1",        dict(title="N", status="done"),
         dict(title="N", status="done", stories=[COMPANIONS["asked story"].of(**{**LISTED_1, "planTitle": "N"})])),
    ("POST /productplans/2/linkstories", dict(stories=[2]),                  dict(stories=[COMPANIONS["listed story"].of(**dict(LISTED_2, stage="planned",
         plan="2", planTitle="Plan two"))])),
    ("POST /productplans/1/unlinkstories", dict(stories=[1]),                dict(stories=[])),
    ("POST /productplans/1/linkbugs", dict(bugs=[2]),                        dict(bugs=[COMPANIONS["listed bug"].of(**BUG_2, plan=1)])),
    ("POST /productplans/1/unlinkbugs", dict(bugs=[1]),                      {}),
    ("PUT /builds/1",              dict(name="N", stories=[], bugs=[2]),     dict(name="N", stories=[], bugs=[2])),
    ("PUT /testtasks/1",           dict(name="N", status="blocked", testcases=[]), dict(name="N", status="blocked", testcases=[])),
]
REMOVED = ["/programs/4", "/projects/2", "/executions/3", "/products/1", "/product/1", "/tasks/1", "/bugs/1", "/testcases/1", "/stories/2", "/productplans/1",
           "/productsplan/1", "/builds/1", "/releases/1", "/testtasks/1", "/users/8", "/departments/2", "/stories/1/recall"]
WRITES = [  # method, path and body of requests that change WORLD as it stands
    *((operation.split()[0], path, body) for operation, path, body, _ in ANSWERS if operation[:3] != "GET"),
    *(("POST", path, body) for path, body, *_ in MADE), ("POST", "/executions/3/tasks/batchCreate", dict(tasks=SEVERAL)),
    *((*request.split(), body) for request, body, _, *state in CHANGES if not state), *(("DELETE", path, None) for path in REMOVED),
]
REQUESTS = [  # reads first
    *(("GET", path, body) for operation, path, body, _ in ANSWERS if operation[:3] == "GET"),
    *(("GET", path, None) for path, *_ in (*TOLD, *READ, *IN_LISTS)), *(("GET", path, None) for path in ALIKE), *WRITES,
]
# fmt: on


class TestLooksOfCompanions:
    """Every field of every answer that goes beyond the specification, on the records of WORLD."""

    @each(("path", "told"), TOLD)
    def test_answer_is_no_record(self, world, path, told):
        assert lines(world.get(path)) == lines(told)

    @each(("path", "key", "shown", "facts"), READ)
    def test_record_has_all_its_fields(self, world, path, key, shown, facts):
        wanted = COMPANIONS[shown].of(**facts)
        if key:
            wanted = {key: wanted}
        assert lines(world.get(path)) == lines(wanted)

    @each(("path", "key", "shown", "facts", "around"), IN_LISTS)
    def test_list_has_all_its_fields(self, world, path, key, shown, facts, around):
        records = [COMPANIONS[shown].of(**one) for one in facts]
        wanted = {key: records}
        if around is not None:
            wanted |= around
            wanted["total"] = len(facts)
        assert lines(world.get(path)) == lines(wanted)

    @each("path", ALIKE)
    def test_list_shows_records_as_they_are_by_themselves(self, world, path):
        in_order, around = ALIKE[path]
        answer = world.get(path)
        key = path.split("/")[-1]
        records = [world.get(f"/{key}/{id}") for id in in_order]
        wanted = {"total": len(records), key: records, **around}
        assert lines(answer) == lines(wanted)

    @each(("path", "body", "shown", "facts"), MADE)
    def test_new_record_has_what_was_sent_and_the_usual_values(
        self, world, path, body, shown, facts
    ):
        answer = world.call("POST", path, body)
        assert answer.status_int == 201
        record = COMPANIONS[shown].of(**facts)
        assert lines(answer.json) == lines(record)

    @each(("array", "field", "body"), BELOW_PROGRAM)
    def test_what_is_created_below_a_program_is_shown_as_elsewhere(self, world, array, field, body):
        elsewhere = world.call("POST", f"/{array}", {**body, field: 4})
        world.begin_with(records_of("WORLD"))
        below = world.call("POST", f"/programs/4/{array}", {**body, field: 1})
        assert (below.status_int, below.text) == (201, elsewhere.text)

    def test_new_tasks_of_a_batch_are_shown_by_id(self, world):
        answer = world.call("POST", "/executions/3/tasks/batchCreate", dict(tasks=SEVERAL))
        assert answer.status_int == 201
        shown = COMPANIONS["task"]
        tasks = {id: shown.of(**facts) for id, facts in SHOWN_OF_SEVERAL.items()}
        assert lines(answer.json) == lines({"task": tasks})

    @each("row", CHANGES, ids=[f"{row[0]} {row[1]}" for row in CHANGES])
    def test_change_changes_this_and_nothing_else(self, world, row):
        request, body, changes, *state = row
        method, path = request.split()
        _, array, id, *_ = path.split("/")
        record = f"/{array}/{id}"
        if state:
            table = TABLES[array]
            world.sql(f"UPDATE {table} SET status = ? WHERE id = 2", *state)
        before = world.get(record)
        if "lastEditedBy" in before:
            edited = dict(EDITED, lastEditedBy=reference("admin"))
            changes = edited | changes
        answer = world.call(method, path, body)
        assert answer.status_int == 200
        after = world.get(record)
        assert lines(after) == lines({**before, **changes})
        # Of the answers about a case, only the one to a GET has `caseFails`, and only that about a
        # bug has titles in `openedBuild`.
        after.pop("caseFails", None)
        if array == "bugs":
            after["openedBuild"] = ",".join(build["id"] for build in after["openedBuild"])
        assert lines(answer.json) == lines(after)

    def test_choices_of_a_bug_are_those_of_its_fields_and_the_builds_of_its_product(self, world):
        choices = world.get("/options/bug?product=1")["options"]
        assert set(choices) == {"type", "pri", "severity", "modules", "build"}
        types = WORDS["bug", "type"].split()
        assert list(choices["type"]) == ["", *types]
        assert choices["pri"] == ["", "1", "2", "3", "4"]
        assert choices["severity"] == {"1": "1", "2": "2", "3": "3", "4": "4"}
        assert choices["modules"] == ["/"]
        assert choices["build"] == {"": "", "trunk": "Trunk", "1": "Build one"}

    def test_build_that_is_released_is_called_as_its_release(self, world):
        world.put("/releases/1", build=1)
        world.put("/bugs/1", openedBuild="1.0,01")  # a name; ids are written without more
        assert world.get("/bugs/1")["openedBuild"] == titled("1.0,01")
        world.put("/bugs/1", openedBuild="1")
        for product, title in ((1, "R1"), (2, "Build two")):
            choices = world.get(f"/options/bug?product={product}")["options"]
            assert choices["build"][str(product)] == title
        assert world.get("/bugs/1")["openedBuild"] == [{"id": "1", "title": "R1"}]
        remove(world, "/releases/1")
        assert world.get("/bugs/1")["openedBuild"] == titled("1")
        remove(world, "/builds/1")
        assert world.get("/bugs/1")["openedBuild"] == [{"id": "1", "title": ""}]

    def test_every_operation_is_looked_at(self):
        requests = ["GET /options/bug", "GET /product/1", "POST /tokens"]
        requests += [f"POST /programs/4/{array}" for array, *_ in BELOW_PROGRAM]
        requests += [f"{method} {path}" for method, path, _ in REQUESTS]
        requests += [request for request, *_ in CHANGES]
        # The others are the same with the home in the query: see TestEveryOperation.
        offered = {operation_name(one) for one in pmservice.OPERATIONS if not one.by}
        assert set(map(operation_of, requests)) == offered


# --- 6 Store: lists, and who sees what ------------------------------------------------------------


# fmt: off
FIVE = {  # five products, each with a release, and six bugs; the last product has no `order` of its own, the last bug is deleted
    "products": [dict(id=1, name="P1", order=9), dict(id=2, name="P2", order=8), dict(id=3, name="P0", order=7), dict(id=4, name="P1", order=6),
        dict(id=5, name="P2")],
    "projects": [dict(id=1, name="Pr")],
    "executions": [dict(id=id, project=1, name="Ex") for id in (2, 3, 4, 5, 6)],
    "releases": [dict(id=id, product=id, project=1, name=f"R{id}") for id in (1, 2, 3, 4, 5)],
    "bugs": [dict(id=id, product=1, title="B", severity=id % 3, deleted=id == 6) for id in (1, 2, 3, 4, 5, 6)],
}
DEFAULT_ORDERS = [  # path, the ids in the default order
    ("/products", [1, 2, 3, 4, 5]), ("/products/1/bugs", [5, 4, 3, 2, 1]), ("/projects/1/releases", [5, 4, 3, 2, 1]),
    ("/projects/1/executions", [6, 5, 4, 3, 2]),
]
ORDERED = [  # request, the ids in the order that it asks for
    ("/products/1/bugs?order=severity_asc",                [3, 1, 4, 2, 5]),
    ("/products?order=name_desc",                          [5, 2, 4, 1, 3]),
    ("/products?order=order_asc",                          [4, 3, 2, 1, 5]),  # the last one shows 25
    ("/projects/1/releases?order=product_asc",             [1, 2, 3, 4, 5]),
]
MISSPELT = [  # order, the nearest one
    ("severty", "severity"), ("colour_asc", "color_asc"), ("severity_up", "severity"), ("id_asc;--", "id_asc"),
]
NARROWED = [  # query, the products of WORLD that belong to this program or project
    ("program=1", [1]), ("program=4", []), ("project=2", [1, 2]), ("project=5", []), ("program=1&project=2", [1]),
]
# fmt: on


class TestLists:
    """The pages of lists, and the query parameters that page, order and narrow them."""

    @pytest.fixture
    def five(self):
        """Yield an app that holds FIVE."""
        yield from begun(records_of("FIVE"))

    @each(("path", "order"), DEFAULT_ORDERS)
    def test_pages_follow_one_another_in_the_default_order(self, five, path, order):
        for page in (1, 2, 3, 4, 2**63 - 1):
            answer = five.get(f"{path}?limit=2&page={page}")
            shown = ids(records_in(answer))
            assert shown == order[2 * page - 2 : 2 * page]
            holds(answer, page=page, total=5, limit=2)

    @each(("request_line", "order"), ORDERED)
    def test_order_is_by_any_field_as_it_is_shown(self, five, request_line, order):
        assert ids(records_in(five.get(request_line))) == order

    def test_order_tells_nothing_of_what_is_not_shown(self, world):
        assert broken(world, "GET /users?order=password_asc", None) == "order"

    @each(("order", "nearest"), MISSPELT)
    def test_unknown_order_is_refused_with_the_nearest(self, five, order, nearest):
        refusal = five.refused("GET", f"/products/1/bugs?order={order}")
        rule = refusal["fields"]["order"]
        assert nearest in rule
        assert len(rule) < 200  # it does not list all of them

    @each("name", ["page", "limit"])
    @each("number", ["00", "-1", "x", "1.5", "%D9%A1", str(2**64)])
    def test_page_and_limit_have_bounds(self, five, name, number):
        for path, _ in DEFAULT_ORDERS:
            assert broken(five, f"GET {path}?{name}={number}", None) == name

    def test_pages_have_the_size_that_the_row_of_the_list_says(self, five, monkeypatch):
        rows = [row for row in pmservice.OPERATIONS if row.path == "/bugs" and row.listing]
        monkeypatch.setattr(rows[0].shows, "limit", 3)
        listed = five.get("/bugs")
        holds(listed, page=1, total=5, limit=3)
        assert len(listed["bugs"]) == 3

    def test_limit_is_100_000_at_most(self, five):
        assert five.get("/products/1/bugs?limit=100000")["limit"] == 100_000
        assert "100000" in five.refused("GET", "/products/1/bugs?limit=100001")["error"]

    def test_query_has_100_parameters_at_most(self, five):
        five.get(f"/products?{'a=1&' * 99}")
        five.refused("GET", f"/products?{'a=1&' * 101}")

    @each(("query", "found"), NARROWED)
    def test_products_are_narrowed_to_a_program_or_a_project(self, world, query, found):
        answer = world.get(f"/products?{query}")
        assert ids(answer["products"]) == found
        assert answer["total"] == len(found)


# fmt: off
STATES_IN_LISTS = {  # records that differ in what the parameter `status` of a list asks for
    "products": [dict(id=1, name="P"), dict(id=2, name="Q", status="closed")],
    "programs": [dict(id=9, name="Pg")],
    "projects": [dict(id=1, name="Pr", parent=9, products=[1]), dict(id=2, name="Pr", status="doing", products=[1]),
                 *(dict(id=id, name="Pr", parent=9, status=status) for id, status in ((3, "suspended"), (4, "closed")))],
    "executions": [dict(id=5, name="Ex", project=1, status="closed"), dict(id=6, name="Ex", project=1), dict(id=7, name="Ex", project=2)],
    "releases": [dict(id=1, product=1, project=1, name="R"), dict(id=2, product=1, project=1, name="S", status="terminate")],
    "stories": [dict(id=1, product=1, title="S", version=2)],
    "bugs": [dict(product=1, title="B", **more) for more in (
        dict(id=1),
        dict(id=2, confirmed=1),
        dict(id=3, status="closed", closedBy="admin"),
        dict(id=4, assignedTo="admin", confirmed=1),
        dict(id=5, status="resolved", resolution="postponed", resolvedBy="admin", openedDate="2026-11-01"),
        dict(id=6, openedBy="qa1", openedDate="2026-11-01"),
        dict(id=7, deadline="2026-11-19"),
        dict(id=8, deadline="2026-11-20", openedDate="2026-11-01", lastEditedDate="2026-11-15"),
        dict(id=9, assignedTo="dev1", story=1),
    )],
}
STATUSES = {  # path: status: the ids listed
    "/products": {"all": [1, 2], "noclosed": [1], "closed": [2]},
    "/projects/1/releases": {"all": [1, 2], "normal": [1], "terminate": [2]},
    "/projects": {"": [1, 2, 3, 4], "all": [1, 2, 3, 4], "undone": [1, 2, 3], "wait": [1], "doing": [2], "suspended": [3], "closed": [4]},
    "/programs/9/projects": {"": [1, 3, 4], "undone": [1, 3], "closed": [4]},
    "/products/1/projects": {"": [1, 2], "undone": [1, 2], "doing": [2]},
    "/executions": {"": [5, 6, 7], "all": [5, 6, 7], "undone": [6, 7], "wait": [6, 7], "closed": [5]},
    "/projects/1/executions": {"": [5, 6], "undone": [6], "suspended": []},
    "/products/1/bugs": {
        "": [1, 2, 3, 4, 5, 6, 7, 8, 9], "all": [1, 2, 3, 4, 5, 6, 7, 8, 9], "unclosed": [1, 2, 4, 5, 6, 7, 8, 9], "unresolved": [1, 2, 4, 6, 7, 8, 9],
        "unconfirmed": [1, 3, 5, 6, 7, 8, 9], "assigntome": [4], "openedbyme": [1, 2, 3, 4, 5, 7, 8, 9], "assigntonull": [1, 2, 5, 6, 7, 8],
        "toclosed": [5], "postponedbugs": [5], "overduebugs": [7], "active": [1, 2, 4, 6, 7, 8, 9], "resolved": [5], "closed": [3],
        "resolvedbyme": [5], "closedbyme": [3], "assignedbyme": [], "needconfirm": [9], "longlifebugs": [6],
    },
}
# fmt: on


class TestStatusOfLists:
    """The query parameter `status`: a state, or a kind of browsing."""

    @each("path", STATUSES)
    def test_status_narrows_a_list_and_another_word_is_refused(self, client, path):
        client.load(**STATES_IN_LISTS)
        rule = client.refused("GET", f"{path}?status=whatever")["fields"]["status"]
        for status, found in STATUSES[path].items():
            answer = client.get(f"{path}?status={status}&order=id")
            assert ids(records_in(answer)) == found, status
            assert answer["total"] == len(found), status
            assert status in rule


class TestOrders:
    """The orders of lists: each field sorts all pages of a list, either way."""

    LISTS = (
        "/products",
        "/users",
        "/products/1/bugs",
        "/products/1/testcases",
        "/tasks",
        "/stories",
        "/productplans",
        "/builds",
        "/releases",
        "/testtasks",
    )

    @each("path", LISTS)
    def test_every_field_sorts_all_pages_of_a_list_either_way(self, demo, path):
        def listed(query: str) -> list[dict[str, Any]]:
            """Return the records of a list, not held against the document, which takes longer."""
            answer = demo.app.get(f"{path}?{query}", headers={"Token": "t"})
            return records_in(answer.json)

        line = operation_of(f"GET {path}")
        [operation] = [one for one in LISTING if operation_name(one) == line]
        for field in operation.shows.sortable:
            whole = listed(f"order={field}_asc&limit=1000")
            half = len(whole) // 2
            assert half
            values = [one[field] for one in whole]
            numbers = [value for value in values if type(value) in (int, float)]
            if field != "parent":  # which also says that there are children
                assert numbers == sorted(numbers), field
            second_page = listed(f"order={field}&limit={half}&page=2")
            assert second_page == whole[half : 2 * half], field
            backwards = listed(f"order={field}_desc&limit=1000")
            assert backwards == whole[::-1], field


def pieces_of(client: Client, path: str) -> Any:
    """Return the answer to a request, of which nothing is read yet."""
    request = webtest.TestRequest.blank(path, headers={"Token": "t"})
    return client.service(request.environ, ignore)


def ignore(*_: Any) -> None:
    """Do nothing with the status and the headers of an answer."""


# fmt: off
MANY = 450  # records in a list: more than fit into two batches
LONG = {  # records that contain long lists
    "products": [dict(id=1, name="P", acl="open")],
    "projects": [dict(id=1, name="Pr", acl="open", products=[1])],
    "executions": [dict(id=2, name="E", project=1)],
    "plans": [dict(id=1, product=1, title="Plan")],
    "stories": [dict(id=1, product=1, title="S", plans=[1]), *[dict(product=1, title="S", plans=[1], parent=1)] * MANY],
    "bugs": [dict(product=1, title="B", plan=1, story=1, assignedTo=f"user{n}") for n in range(MANY)],
    "tasks": [dict(execution=2, name="T", story=1)] * MANY,
    "testcases": [dict(product=1, title="C", story=1)] * MANY,
    "testtasks": [dict(id=1, product=1, execution=2, name="R", testcases=[*range(1, MANY + 1)])],
}
IN_PIECES = [  # path, the long lists in the answer
    ("/productplans/1", "stories bugs"),
    ("/stories/1", "tasks children bugs cases"),
    ("/testtasks/1", "testcases"),
    ("/products/1/bugs?limit=1000", "bugs"),
]
# fmt: on


class TestLongAnswers:
    """Answers with long lists: they are read in batches, from one state of the database."""

    @pytest.fixture
    def long(self, filed):
        """Return an app on a file that holds LONG."""
        filed.load(**LONG)
        return filed

    def test_they_come_in_pieces_and_say_what_memory_says(self, long):
        with opened(control=False, load=LONG) as client:
            for path, keys in IN_PIECES:
                pieces = list(pieces_of(long, path))
                [whole] = pieces_of(client, path)
                assert b"".join(pieces) == whole
                assert len(pieces) > 2
                longest = max(map(len, pieces))
                assert longest < len(whole) / 2
                record = json.loads(whole)
                for key in keys.split():
                    assert len(record[key]) >= MANY or key == "versions"

    def test_plan_shows_its_bugs_and_stories_as_lists_do(self, long):
        plan = long.get("/productplans/1")
        assert plan["bugs"] == long.get("/bugs?limit=1000")["bugs"]
        assert plan["stories"] == long.get("/stories?status=all&limit=1000")["stories"]

    def test_they_are_of_one_state_whatever_is_written_meanwhile(self, long):
        with contextlib.closing(pieces_of(long, "/productplans/1")) as answer:
            pieces = iter(answer)
            first = next(pieces)
            long.post("/productplans/1/unlinkbugs", bugs=[1, 2, 3])
            long.put("/bugs/4", title="Renamed")
            rest = b"".join(pieces)
        bugs = json.loads(first + rest)["bugs"]
        assert sorted(ids(bugs)) == list(range(1, MANY + 1))
        assert "Renamed" not in {bug["title"] for bug in bugs}
        assert len(long.get("/productplans/1")["bugs"]) == MANY - 3

    def test_reader_who_leaves_early_holds_up_nobody(self, long):
        answer = pieces_of(long, "/productplans/1")
        next(iter(answer))
        answer.close()
        [(connection, _)] = long.service.database.idle
        assert not connection.in_transaction

    def test_record_that_is_not_there_has_its_own_status(self, long):
        long.refused("GET", "/productplans/99", status=404)


# Scans that a query plan may have: of all users, of the accounts in an answer, of the steps of one
# test case, of the departments, and of the departments above and below one.
SMALL = {"user", "json_each", "steps", "department", "up", "below"}


# Lists that may be sorted: those of two types come one after the other from their index; those by
# day; one task's efforts.
SORTED = {
    "/executions",
    "/projects/2/builds",
    "/executions/3/builds",
    "/builds",
    "/products/1/plans",
    "/productplans",
    "/tasks/1/estimate",
}


# Lists of all records of a resource: they read that resource whole, unless a query parameter
# narrows them.
WHOLE = {
    "/stories": {"story", "story_count"},
    "/productplans": {"plan"},
    "/builds": {"build"},
    "/releases": {"release"},
    "/testtasks": {"testtask"},
    "/bugs": {"bug"},
    "/testcases": {"testcase"},
}


# Other requests that read a table whole: one moves a project, one deletes a user's tokens.
RARE = {"PUT /projects/<id>": {"project"}, "DELETE /users/<user>": {"token"}}


# Paths that are answered without a look at a record.
STATELESS = {
    "/tokens",
    "/ping",
    "/configurations",
    "/configurations/version",
    "/modules?type=bug&id=1",
}


class TestPlans:
    """The query plans of what requests run: rows are found by an index."""

    @pytest.fixture
    def planned(self, connections):
        """Yield a function that returns the plans of all that a request runs, as one text."""
        with contextlib.ExitStack() as stack:
            client = stack.enter_context(opened(load=WORLD))
            # This connection checks no foreign keys; plans show their checks nevertheless.
            explaining = stack.enter_context(another_program(client.service.database.uri))
            running = "UPDATE project SET status = 'doing' WHERE id = 3"  # what the overview shows
            client.sql(running)

            def planned(request: str, body: Any = None, token: str = "t") -> str:
                for connection in connections:
                    connection.ran = []
                method, path = request.split()
                if method == "BROWSE":
                    browse(client, path, token)
                else:
                    answer = client.call(method, path, body, Token=token)
                    assert answer.status_int in (200, 201)
                plan = []
                ran = [connection.ran for connection in connections]
                for sql, *values in itertools.chain(*ran):
                    if re.match(r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b", sql):
                        rows = explaining.execute(f"EXPLAIN QUERY PLAN {sql}", *values)
                        plan += [detail for *_, detail in rows]
                assert plan, "no statement of the service was seen"
                if method not in ("GET", "BROWSE"):
                    client.post("/-/reset?only=records")
                    client.sql(running)
                return "\n".join(plan)

            planned.tokens = ("t", client.token_of("dev1"))
            yield planned

    @staticmethod
    def scanned(plan: str) -> set[str]:
        """Return the tables of which a plan reads every row or every entry of an index."""
        subqueries = re.findall("^(?:CO-ROUTINE|MATERIALIZE) (.*)", plan, re.MULTILINE)
        # The index project_unplaced is empty but within a request.
        scan = r"^SCAN (?:TABLE )?(?!CONSTANT ROW)(?!.*project_unplaced)(\w+)"
        return set(re.findall(scan, plan, re.MULTILINE)) - SMALL - set(subqueries)

    def test_no_request_reads_a_whole_table(self, planned):
        for method, path, body in REQUESTS:
            if path in STATELESS:
                continue
            request = f"{method} {path}"
            line = operation_of(request)
            whole = RARE.get(line) or WHOLE.get(path, set())
            plan = planned(request, body)
            assert self.scanned(plan) <= whole, request

    @each("operation", LISTING, ids=operation_name)
    def test_no_list_reads_a_whole_table_or_sorts_it(self, planned, operation):
        id = 1
        if operation.path.startswith("/projects/"):
            id = 2
        if operation.path.startswith("/executions/"):
            id = 3
        path = path_to(operation, id)
        shown = operation.shows
        narrow = ""
        if "project" in shown.filters:
            narrow = "project=2"
        if "product" in shown.filters:
            narrow = "product=1"
        queries = {"", "limit=1&page=2", narrow}
        if len(shown.browse) > 1:
            for word in shown.browse:
                queries |= {f"status={word}", f"status={word}&{narrow}"}
        for query, token in itertools.product(queries, planned.tokens):
            plan = planned(f"GET {path}?{query}", None, token)
            scanned = self.scanned(plan)
            if "product=" in query or "project=" in query:
                assert not scanned, (query, plan)
            assert scanned <= WHOLE.get(path, set()), (query, plan)
            if path not in SORTED:
                assert "FOR ORDER BY" not in plan, (query, plan)

    def test_overview_scans_products_and_their_counts_only(self, planned):
        for token in planned.tokens:
            plan = planned("BROWSE /", None, token)
            assert self.scanned(plan) <= {"product", "product_count"}


# fmt: off
SIGHT = {  # who sees what beyond what is open: p private product 2 and what belongs to it, j private program 2 and project 4 and what belongs to them
    "admin": "pj", "boss": "pj", "dev1": "pj", "po1": "pj", "qd1": "pj", "rd1": "pj", "qa1": "pj", "pm1": "j", "only1": "p", "dev2": "",
}
ROLES = dict(PO="po1", QD="qd1", RD="rd1")
OF_DEV1 = dict(ROLES, acl="private", openedBy="dev1", PM="pm1", whitelist=["qa1"])
IN_OPEN, IN_PRIVATE = dict(project=3, execution=5), dict(project=4, execution=6)
SINCE = dict(begin="2026-01-01")
PRIVATE = {
    "users": [dict(account=one, admin=one == "boss") for one in SIGHT if one != "admin"],
    "programs": [
        dict(id=1, name="open"), dict(OF_DEV1, id=2, name="private"), dict(id=7, name="open", parent=2), dict(OF_DEV1, id=9, name="private"),
        dict(id=10, name="open"),
    ],
    "projects": [
        dict(SINCE, id=3, name="open", acl="open", products=[1, 2]), dict(OF_DEV1, **SINCE, id=4, name="private", parent=10, products=[1, 2]),
        dict(SINCE, id=8, name="open", acl="open", parent=2, products=[1]),
    ],
    "executions": [dict(id=5, name="open", project=3), dict(id=6, name="private", project=4, acl="open")],
    "products": [
        dict(id=1, name="open", acl="open"), dict(ROLES, id=2, name="private", program=10, createdBy="dev1", whitelist=["qa1", "only1"]),
        dict(id=3, name="open", acl="open", program=2),
    ],
    "releases": [dict(id=id, name="R", product=product, project=project) for id, product, project in ((1, 1, 3), (2, 2, 3), (3, 1, 4), (4, 2, 4))],
    "bugs": [dict(IN_OPEN, id=1, title="B", product=1), dict(IN_OPEN, id=2, title="B", product=2), dict(IN_PRIVATE, id=3, title="B", product=1)],
    "tasks": [
        dict(id=id, name="T", execution=execution, story=story, realStarted="2026-01-01", openedBy="admin")
        for id, execution, story in ((1, 5, 7), (2, 6, 1), (3, 5, 2))
    ],
    "testcases": [
        dict(IN_OPEN, id=1, title="C", product=1, story=7), dict(IN_OPEN, id=2, title="C", product=2, story=7), dict(IN_PRIVATE, id=3, title="C", product=1),
    ],
    "departments": [dict(id=1, name="open")],
    "stories": [
        dict(id=1, title="open", product=1, executions=[5, 6], plans=[1]), dict(id=2, title="private", product=2, executions=[5], plans=[2]),
        dict(id=3, title="open", product=1, type="requirement"), dict(id=4, title="private", product=2, type="requirement"),
    ],
    "plans": [dict(id=1, title="open", product=1), dict(id=2, title="private", product=2)],
    "builds": [
        dict(IN_OPEN, id=1, name="open", product=1), dict(IN_OPEN, id=2, name="private", product=2),
        dict(IN_PRIVATE, id=3, name="private B", product=1), dict(IN_PRIVATE, id=4, name="private C", product=2),
    ],
    "testtasks": [
        dict(IN_OPEN, id=1, name="open", product=1, testcases=[1]), dict(IN_OPEN, id=2, name="private", product=2),
        dict(IN_PRIVATE, id=3, name="private", product=1), dict(IN_PRIVATE, id=4, name="private", product=2),
    ],
    "efforts": [dict(id=1, task=1), dict(id=2, task=2)],
    "results": [dict(id=1, case=1), dict(id=2, case=2), dict(id=3, case=3)],
}
OPEN = {"project": 3, "execution": 5, "execution or project": 5}  # the first record of each resource that is open, if it is not 1
HIDDEN = {"project": 4, "execution or project": 6}  # the first one that is private, if it is not 2
# Links that the records in a list never have, or that follow from the record in the path.
IMPLIED = {
    ("GET /programs", "project"), ("GET /projects", "project"), ("GET /projects/<id>/executions", "parent"), ("GET /executions/<id>/tasks", "project"),
    ("GET /programs/<id>/projects", "project"), ("GET /programs/<id>/projects", "parent"), ("GET /products/<id>/projects", "project"),
    *((f"GET /projects/<id>/{records}", "execution") for records in ("builds", "bugs", "testcases", "testtasks")),
    *((f"GET /executions/<id>/{records}", "project") for records in ("builds", "bugs", "testcases")),
}
# fmt: on
NAMING = [
    one
    for one in pmservice.OPERATIONS
    if one.target not in ("", "user") and not one.admin and one not in LISTING
]
OF_QUERY = [one for one in pmservice.OPERATIONS if one.by]
LINKING = []  # (operation, field, kind of that field), where the field names a record
for operation in pmservice.OPERATIONS:
    for field, kind in operation.reads.fields.items():
        if kind.target not in ("", "department"):
            LINKING.append((operation, field, kind))


def sees(caller: str, needed: str) -> bool:
    """Tell whether a caller has the sight that a record needs."""
    return set(needed) <= set(SIGHT[caller])


@cache
def private_records() -> pmservice.Database:
    """Return a database with PRIVATE, in which an account is its own token."""
    database = Client(":memory:", load=PRIVATE).service.database
    for account in SIGHT:
        give_token(database, account, account)
    return database


@pytest.fixture
def private(client):
    """Yield an app that holds PRIVATE, in which each caller's token is the caller's account."""
    client.begin_with(private_records())
    client.token = "admin"
    return client


def path_to(operation: pmservice.Operation, id: int | str) -> str:
    """Return the path at which an operation is called for a record or user, or below it."""
    path = re.sub("<.*>", str(id), operation.path)
    return f"{path}?{operation.by}={id}" if operation.by else path


# fmt: off
IN_QUERIES = [  # requests whose query ends with the id of a private record
    "GET /stories?product=2", "GET /productplans?product=2", "GET /builds?project=4", "GET /releases?product=2", "GET /testtasks?product=2",
    "GET /bugs?product=2", "GET /executions?project=4", "GET /products?program=2", "GET /products?project=4", "GET /options/bug?product=2",
    *(f"POST {path_to(one, HIDDEN.get(one.target, 2))}" for one in OF_QUERY),
]
# fmt: on


class TestWhoSeesWhat:
    """The access to private records through every operation that names or lists records."""

    @each("operation", NAMING, ids=operation_name)
    def test_private_record_is_there_for_who_may_see_it(self, private, operation):
        line = operation_name(operation)
        row = INTERFACE[line]
        open_one = OPEN.get(operation.target, 1)
        records = {open_one: "", **sights(row.private)}
        for (id, needed), caller in itertools.product(records.items(), SIGHT):
            if row.state:
                private.sql(f"UPDATE {operation.target} SET status = ?", row.state)
            path = path_to(operation, id)
            body = least(line, id)
            answer = private.call(operation.method, path, body, Token=caller)
            if not sees(caller, needed):
                assert answer.status_int == 404, (caller, path)
                continue
            assert answer.status_int == operation.status, (caller, path, answer.text)
            if operation.method != "GET":
                private.begin_with(private_records())

    @each("operation", LISTING, ids=operation_name)
    def test_list_and_its_total_leave_out_what_one_may_not_see(self, private, operation):
        rows = INTERFACE[operation_name(operation)].shows
        self.shows_every_record_to_an_administrator(private, operation, rows)
        for (above, below), caller in itertools.product(rows.items(), SIGHT):
            [(id, needed)] = sights(above or "0").items()
            path = path_to(operation, id)
            private.token = caller
            private.sql("UPDATE task SET assignedTo = ?", caller)  # GET /tasks lists the caller's
            if not sees(caller, needed):
                private.refused("GET", path, status=404)
                continue
            records = sights(below)
            seen = {id for id in records if sees(caller, records[id])}
            for word in ("", *operation.shows.browse):
                query = f"?limit=1000&status={word}" if word else "?limit=1000"
                answer = private.get(path + query)
                shown = ids(records_in(answer))
                assert seen.issuperset(shown), (caller, path, query)
                if not word:
                    assert seen == set(shown), (caller, path)
                assert answer.get("total", len(shown)) == len(shown), (caller, path, query)

    def shows_every_record_to_an_administrator(self, private, operation, rows):
        """Assert that a row has every record, and for each link a private one."""
        private.sql("UPDATE task SET assignedTo = 'admin'")
        open_ones = set()
        for above, below in rows.items():
            path = path_to(operation, int(above.rstrip("pj") or 0))
            listed = private.get(f"{path}?limit=1000")
            below = set(sights(below))
            assert set(ids(records_in(listed))) == below, "not what is there"
            if above.isdigit() or not above:
                open_ones |= below
        needed = "".join(rows)
        assert not operation.target or {"p", "j"} & set(needed), "nothing private"
        table = operation.shows.view.resource.table
        own = operation.target.partition(" ")[0]
        for link in private.sql('SELECT "from", "table" FROM pragma_foreign_key_list(?)', table):
            field, to = link
            hidden = {"project": "2, 4, 6", "product": "2"}.get(to)
            if not hidden or field == own or (operation_name(operation), field) in IMPLIED:
                continue
            found = private.sql(f"SELECT id FROM {table} WHERE {field} IN ({hidden})")
            assert {id for (id,) in found} & open_ones, f"no record whose {field} is private"

    @each(
        ("operation", "field", "kind"),
        LINKING,
        ids=[f"{operation_name(operation)} {field}" for operation, field, _ in LINKING],
    )
    def test_link_to_what_is_private_is_refused_like_one_to_nothing(
        self, private, operation, field, kind
    ):
        def rule(id: int, caller: str) -> str:
            """Return what is wrong with the field when a caller names this id."""
            value = [id] if kind.schema.get("type") == "array" else id
            answer = private.call(operation.method, path, {field: value}, Token=caller)
            fields = answer.json.get("fields", {})
            return fields.get(field, "").replace(str(id), "99")

        home = OPEN.get(operation.target, 1)
        path = path_to(operation, home)
        hidden = HIDDEN.get(kind.target, 2)
        refusal = rule(99, "dev2")
        assert refusal
        assert rule(hidden, "dev2") == refusal
        assert rule(hidden, "admin") != refusal

    @each("request_line", IN_QUERIES)
    def test_private_home_in_a_query_is_answered_like_none(self, private, request_line):
        body = good(request_line)
        told = []
        for id in (request_line[-1], "99"):
            method, path = f"{request_line[:-1]}{id}".split()
            answer = private.call(method, path, body, Token="dev2")
            text = answer.text.replace(f" {id}", " 99")
            told.append((answer.status_int, text))
        assert told[0] == told[1]

    @each("operation", [one for one in pmservice.OPERATIONS if one.admin], ids=operation_name)
    def test_users_and_departments_are_for_administrators_to_change(self, private, operation):
        path = re.sub("<.+>", "1", operation.path)
        private.refused(operation.method, path, {}, status=403, Token="dev2")

    def test_creator_sees_what_he_made(self, private):
        private.token = "dev2"
        product = private.product(acl="private")["id"]
        project = private.project(products=[product], acl="private")["id"]
        assert private.task(project)["project"] == project
        assert shows(private, "/products", product)


# fmt: off
PRIVATE_STORY = dict(story=2, storyTitle="private", storyStatus="active", latestStoryVersion=2, needConfirm=True)
TOLD_OF_OTHERS = [  # path, key of a list whose last record is meant, the sight that is needed, what is shown with it
    ("/tasks/3",                      "",          "p", PRIVATE_STORY),
    ("/executions/5/tasks?order=id",  "tasks",     "p", PRIVATE_STORY),
    ("/testtasks/1",                  "testcases", "p", dict(story=2, storyTitle="private")),
    ("/bugs/1",                       "",          "p", dict(needconfirm=True)),
    ("/products/1/bugs?order=id_desc", "bugs",     "p", dict(needconfirm=True)),
    ("/stories/1",                    "tasks",     "j", dict(id=2)),
    ("/releases/1",                   "",          "j", dict(buildID=3, buildName="private B")),
    ("/products/3",                   "",          "j", dict(program=2, programName="private")),
    ("/products?order=id",            "products",  "j", dict(program=2, programName="private")),
]
# fmt: on


class TestWhatRecordsTell:
    """The fields about other records, such as `storyTitle`: who is shown them, and who not."""

    @each(("path", "key", "needed", "shown"), TOLD_OF_OTHERS)
    def test_title_or_count_is_shown_to_who_may_see_the_other(
        self, private, path, key, needed, shown
    ):
        private.sql("UPDATE story SET version = 2 WHERE id = 2")
        private.sql("UPDATE bug SET story = 2 WHERE id = 1")
        private.sql("UPDATE testcase SET story = 2 WHERE id = 1")
        private.sql("UPDATE release SET build = 3 WHERE id = 1")
        for private.token in SIGHT:
            if sees(private.token, needed):
                record = private.get(path)
                if key:
                    record = record[key][-1]
                holds(record, **shown)

    def test_bug_is_not_to_be_confirmed_for_a_story_that_is_hidden(self, private):
        private.sql("UPDATE story SET version = 2 WHERE id = 2")
        private.sql("UPDATE bug SET story = 2 WHERE id = 1")
        for private.token, total in (("only1", 1), ("dev2", 0)):
            assert private.get("/products/1/bugs?status=needconfirm")["total"] == total

    def test_lists_in_a_record_hold_what_a_member_may_see(self, private):
        private.token = "pm1"
        assert list(private.get("/stories/1")["executions"]) == ["5", "6"]
        assert "3" in private.get("/options/bug?product=1")["options"]["build"]
        private.token = "only1"
        assert list(private.put("/tasks/1")["cases"]) == ["1", "2"]


NAME_TAKEN = 'cannot be given to a build of this product (got "{}"); choose another'
# fmt: off
GUARDED = {  # array: the records that not everybody sees, with the sight that each needs
    "programs": "2j 9j", "projects": "4j", "executions": "6j", "products": "2p", "stories": "2p 4p", "plans": "2p", "bugs": "2p", "testcases": "2p",
    "builds": "2p 3j 4pj", "releases": "2p 3j 4pj", "testtasks": "2p 3j 4pj", "tasks": "2j", "efforts": "2j", "results": "2p",
}
LINKED = {  # array: id: what a record has beyond PRIVATE
    "bugs": {1: dict(story=2, plan=2, case=2, task=2, testtask=2, toStory=2, toTask=2, duplicateBug=2, openedBuild="2,3", linkBug="2"),
             2: dict(story=1, plan=1, case=1, task=1)},
    "releases": {1: dict(build=3, stories="2", bugs="2"), 2: dict(build=1), 3: dict(build=1)},
    "testcases": {1: dict(story=2), 2: dict(story=1)},
    "testtasks": {1: dict(build=3), 3: dict(testcases=[1])},
    "results": {1: dict(testtask=3)}, "tasks": {2: dict(fromBug=1)},
}
PEOPLE = dict(PO="dev1", QD="dev1", RD="dev1", whitelist=["po1"])
DATES = dict(begin="2026-02-02", end="2026-02-03")
OTHERWISE = {  # array: what all hidden records are in the second database, besides their names
    "programs": dict(PEOPLE, **DATES, PM="dev1", openedBy="qd1", status="doing", code="o", desc="o"),
    "projects": dict(PEOPLE, **DATES, PM="dev1", openedBy="qd1", status="closed", code="o", model="waterfall", days=1),
    "executions": dict(DATES, type="stage", status="doing"),
    "products": dict(PEOPLE, createdBy="qd1", status="closed", type="branch", line=7),
    "releases": dict(date="2026-02-03", status="terminate", bugs="1", build=0, buildName="o"),
    "bugs": dict(status="closed", resolution="fixed", assignedTo="dev2", severity=1, openedDate="2026-11-19T00:00:00Z", story=0, plan=0, case=0),
    "tasks": dict(status="done", consumed=3, estimate=9, assignedTo="dev2", story=0, fromBug=0),
    "testcases": dict(status="wait", version=3, story=0, caseFails=3),
    "stories": dict(status="closed", version=4, estimate=5, openedBy="dev2"),
    "plans": dict(DATES, status="doing"),
    "builds": dict(date="2026-02-03", builder="dev1"),
    "testtasks": dict(DATES, status="doing", owner="dev2", testcases=[]),
    "efforts": dict(date="2026-02-03", consumed=4, left=5, account="dev1"),
    "results": dict(caseResult="fail", lastRunner="dev1"),
}
NEXT = {  # table: the id of the next record
    "project": 11, "product": 4, "story": 5, "plan": 3, "bug": 4, "testcase": 4, "build": 5, "release": 5, "testtask": 5, "task": 4,
}
STATES = dict(task="wait", bug="active", story="active")  # that records start from, unless INTERFACE says otherwise
# The numbers in bodies: those that name a record of an array although they are no links, and the others.
NUMBERED = dict(story="stories", plan="plans", build="builds", task="tasks", case="testcases", testtask="testtasks", result="results",
                fromBug="bugs", duplicateBug="bugs")
NUMBERS = {"branch", "module", "pri", "severity", "line", "days", "steps", "tasks", "version", "caseVersion"}
# Of a hidden record, what repeats visible ones that it names, or that name it: "`story, plan, build, module, task, case, fromBug` … stay as sent".
REPEATED = {"programName", "projectName", "productName", "executionName", "buildName", "storyTitle", "storyStatus", "latestStoryVersion",
            "needConfirm", "needconfirm", "executions", "tasks", "cases", "testcases"}
REPEATED_IN = {"stories": {"bugs"}}
MOVING_BELOW = {  # "Moving a program, project or execution moves the paths of all below and the `project` of tasks"
    "PUT /programs/<id>": {"path", "grade"}, "PUT /executions/<id>": {"project", "executions"},
    # "the undeleted bugs whose `case` it is"
    "POST /products/<id>/bugs": {"toBugs"}, "POST /bugs": {"toBugs"}, "PUT /bugs/<id>": {"toBugs"}, "DELETE /bugs/<id>": {"toBugs"},
}
TELLING = {  # where an answer has to depend on what is hidden: how it is refused, in the same words whatever is hidden
    # "a name once a product among those not deleted"
    **dict.fromkeys(("POST /projects/<id>/builds", "POST /builds", "PUT /builds/<id>"), f"name {NAME_TAKEN}."),
    # "A program that has children cannot be deleted"
    "DELETE /programs/<id>": "This program cannot be deleted.",
}
# fmt: on
MEMBERS = ("dev2", "pm1", "only1")
WRITING_AS_MEMBER = [
    one for one in pmservice.OPERATIONS if one.method != "GET" and not (one.admin or one.open)
]


class Member:
    """A member, whose token is the account, and three databases that differ in what is hidden.

    The records are those of PRIVATE, and LINKED between hidden and visible ones. In the second
    database everything hidden is something else, in the third it is deleted; ids and sequences are
    the same in all.
    """

    def __init__(self, account: str, clients: list[Client]):
        self.account, self.clients = account, clients
        self.hidden = {}
        for array, records in GUARDED.items():
            needed = sights(records)
            self.hidden[array] = {id for id in needed if not sees(account, needed[id])}
        self.databases, self.facts = [], []
        for hidden in ("as they are", "others", "deleted"):
            made = Client(":memory:", load=self.fixture(hidden))
            database = made.service.database
            give_token(database, account, account)
            self.databases.append(database)
            self.facts.append(self.facts_in(made)[1])
        self.begin()
        self.shown = self.shown_to_admin()

    def begin(self) -> None:
        """Begin again with the three databases."""
        for client, database in zip(self.clients, self.databases, strict=True):
            client.begin_with(database)

    def fixture(self, hidden: str) -> dict[str, Any]:
        """Return the records; those that are hidden are "as they are", "others" or "deleted"."""
        fixture = json.loads(json.dumps(PRIVATE))
        for array, records in fixture.items():
            for record in records:
                id = record.get("id")
                links = LINKED.get(array, {})
                record.update(links.get(id, {}))
                if id not in self.hidden.get(array, ()):
                    continue
                if hidden == "others":
                    record.update(OTHERWISE[array])
                    for name in {"name", "title"} & record.keys():
                        record[name] = f"other {id}"
                if hidden == "deleted" and array not in ("efforts", "results"):
                    record["deleted"] = True
        return fixture

    def visible_ids(self, target: str) -> list[int]:
        """Return the ids of the records of a resource that this member sees."""
        return [id for array, id in ids_in(target) if id not in self.hidden[array]]

    def answers(self, method: str, path: str, body: Any = None) -> list[Any]:
        """Return the three answers to a request of this member."""
        return [answer_of(client, method, path, self.account, body) for client in self.clients]

    def facts_in(self, client: Client) -> tuple[Any, Any]:
        """Return the facts of the visible and of the hidden records, by array."""
        visible, hidden = defaultdict(list), defaultdict(list)
        for array, records in client.dump().items():
            for record in records:
                if record["id"] in self.hidden.get(array, ()):
                    hidden[array].append(record)
                else:
                    visible[array].append(record)
        return visible, hidden

    def shown_to_admin(self) -> dict[str, Any]:
        """Return what hidden records show an administrator, but for what repeats others."""
        shown = defaultdict(list)
        for array, ids in self.hidden.items():
            if array in ("efforts", "results"):
                continue
            path = {"plans": "productplans"}.get(array, array)
            repeated = REPEATED | REPEATED_IN.get(array, set())
            for id in ids:
                record = self.clients[0].get(f"/{path}/{id}")
                shown[array].append(without(record, *repeated))
        return shown

    def reads(self) -> Iterator[str]:
        """Yield the paths of all that this member can read, and of the next records."""
        yield "/options/bug?product=1"
        for operation in pmservice.OPERATIONS:
            if operation.method != "GET" or operation.target == "department":
                continue
            path = operation.path.replace("<user>", self.account)
            if "<name>" in path:
                continue
            found = [0]
            if "<id>" in path:
                found = self.visible_ids(operation.target)
            if operation in LISTING:
                path += "?limit=1000"
            elif "<id>" in path:
                resource = pmservice.RESOURCES[operation.target]
                found.append(NEXT[resource.table])
            for id in found:
                yield path.replace("<id>", str(id))

    def see_the_same(self) -> None:
        """Assert that whatever this member reads is the same in all three."""
        for path in self.reads():
            first, second, third = self.answers("GET", path)
            assert first == second == third, path


def answer_of(client: Client, method: str, path: str, token: str, body: Any = None) -> Any:
    """Return the status, the headers and the bytes of an answer."""
    request = webtest.TestRequest.blank(path, method=method, headers={"Token": token})
    request.body = json.dumps(body or {}).encode()
    answer = request.get_response(client.service)
    answer.headers.pop("X-Request-Id", None)
    return answer.status_int, answer.headerlist, answer.body


def ids_in(target: str) -> list[tuple[str, int]]:
    """Return (array, id) of every record of PRIVATE that a link to a resource could name."""
    arrays = [pmservice.RESOURCES[target].array]
    if target == "execution or project":
        arrays = ["projects", "executions"]
    found = []
    for array in arrays:
        found += [(array, record["id"]) for record in PRIVATE[array]]
    return found


def telling_bodies(operation: pmservice.Operation, id: int, hidden: Any) -> Iterator[Any]:
    """Yield bodies: the least, and those that name hidden records, for each field and record."""
    body = least(operation_name(operation), id or 5)
    fields = operation.reads.fields
    yield body
    for more in telling_fields(fields, hidden):
        yield {**body, **more}
    for field, kind in fields.items():
        if isinstance(kind.read, pmservice.Items) and body.get(field):
            first = body[field][0]
            for more in telling_fields(kind.read.shape.fields, hidden):
                yield {**body, field: [first | more]}
    if "acl" in fields:
        yield {**body, "acl": "private"}
    if isinstance(operation.shows, pmservice.View):
        array = operation.shows.resource.array
        hidden_ids = hidden.get(array, ())
        for record in PRIVATE[array]:
            if record.get("id") in hidden_ids:
                for field in {"name", "title"} & fields.keys():
                    yield {**body, field: record[field]}


def telling_fields(fields: dict[str, Any], hidden: Any) -> Iterator[dict[str, Any]]:
    """Yield what may tell of hidden records: all texts and persons, then each id by itself."""
    yield dict(texts_and_people(fields))
    for field, value in naming(fields, hidden):
        yield {field: value}


def texts_and_people(fields: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every text as ids, and every person."""
    for field, kind in fields.items():
        if kind.look == "text" and field not in ("email", "phone", "mobile", "stage", "role"):
            yield field, "2,3,4"
        if kind.look == "person":
            yield field, "dev1"
        if kind.look in ("people", "whitelist"):
            yield field, ["dev1"]


def naming(fields: dict[str, Any], hidden: Any) -> Iterator[tuple[str, Any]]:
    """Yield (field, value) that name each hidden record, and one that is visible."""
    for field, kind in fields.items():
        named = []
        if kind.target and kind.target != "department":
            named = ids_in(kind.target)
        elif kind.look == "plain" and field in NUMBERED:
            array = NUMBERED[field]
            named = [(array, id) for id in hidden[array]]
        out_of_sight = [id for array, id in named if id in hidden[array]]
        in_sight = [id for array, id in named if id not in hidden[array]]
        is_array = kind.schema.get("type") == "array"
        for id in out_of_sight + in_sight[-1:]:
            yield field, [id] if is_array else id


def changed(before: Any, after: Any) -> Iterator[tuple[str, int, str]]:
    """Yield (array, id, field) of every value that changed in records."""
    for array, records in before.items():
        for old, new in zip(records, after[array], strict=True):
            for field, value in old.items():
                if new[field] != value:
                    yield array, old["id"], field


@pytest.fixture(scope="class")
def members():
    """Yield a function that returns a member; each is made once."""
    with contextlib.ExitStack() as stack:
        clients = [Client(":memory:", control=False) for _ in range(3)]
        for client in clients:
            stack.enter_context(contextlib.closing(client))
        known: dict[str, Member] = {}

        def member(account: str) -> Member:
            if account not in known:
                known[account] = Member(account, clients)
                for database in known[account].databases:
                    stack.callback(database.close)
            known[account].begin()
            return known[account]

        yield member


class TestHiddenStaysHidden:
    """The writes of members, in databases that differ in what those members may not see."""

    def test_every_number_in_a_body_is_known(self):
        numbers = set()
        for operation in WRITING_AS_MEMBER:
            for field, kind in operation.reads.fields.items():
                if kind.look == "plain" and not kind.target:
                    numbers.add(field)
        assert numbers == NUMBERED.keys() | NUMBERS

    @each("account", MEMBERS)
    def test_member_sees_the_same_whatever_is_hidden(self, members, account):
        member = members(account)
        first, second, third = member.facts
        assert first != second != third
        member.see_the_same()

    @each("account", MEMBERS)
    @each("operation", WRITING_AS_MEMBER, ids=operation_name)
    def test_write_neither_tells_nor_changes_anything_hidden(self, members, operation, account):
        member = members(account)
        ids = [0]
        if operation.target == "user":
            ids = [account]
        elif operation.target:
            ids = member.visible_ids(operation.target)
        first, *others = ids
        bodies = telling_bodies(operation, first, member.hidden)
        alike = self.write(member, operation, first, bodies)
        if alike and account == "dev2":
            member.see_the_same()
            for id in others:
                bodies = telling_bodies(operation, id, member.hidden)
                self.write(member, operation, id, itertools.islice(bodies, 2))

    def write(self, member, operation, id, bodies):
        """Write to a record of this id, and return whether all was answered alike.

        Assert that visible records then have the same facts everywhere, hidden ones those of
        before.
        """
        path = path_to(operation, id)
        member.begin()
        alike = self.send(member, operation, path, bodies)
        shown = member.shown_to_admin()
        found = list(changed(member.shown, shown))
        visible = []
        for client, before in zip(member.clients, member.facts, strict=True):
            facts, hidden = member.facts_in(client)
            visible.append(facts)
            found += changed(before, hidden)
        if alike:
            assert visible[0] == visible[1] == visible[2], path
        moved = MOVING_BELOW.get(operation_name(operation), ())
        for array, id, field in found:
            assert field in moved, (path, array, id)
        return alike

    def send(self, member, operation, path, bodies):
        """Send bodies; return False after one that TELLING says is not answered alike.

        The first body must be taken.
        """
        line = operation_name(operation)
        state = INTERFACE[line].state or STATES.get(operation.target)
        for number, body in enumerate(bodies):
            if state:
                sql = f"UPDATE {operation.target} SET status = ? WHERE id = ?"
                for client in member.clients:
                    client.sql(sql, state, path.split("/")[2])
            answers = member.answers(operation.method, path, body)
            first, second, third = answers
            if line in TELLING and not first == second == third:
                for status, _, answer in answers:
                    if status >= 400:
                        assert json.loads(answer)["error"] == TELLING[line].format(
                            body.get("name")
                        ), body
                return False
            assert first == second == third, (path, body)
            if number == 0:
                assert first[0] == operation.status, (path, body, first)
        return True


# --- 7 Database: the file -------------------------------------------------------------------------


def opened(path: Any = ":memory:", **settings: Any) -> contextlib.closing[Client]:
    """Return an app, for a `with` that closes it."""
    return contextlib.closing(Client(path, **settings))


def another_program(path: Any) -> contextlib.closing[sqlite3.Connection]:
    """Return a connection to a database, for a `with` that closes it."""
    return contextlib.closing(sqlite3.connect(path, isolation_level=None, uri=True))


@each("path", ["/products/1/bugs", "/productplans/1"])
def test_everything_in_an_answer_is_of_one_moment(connections, filed_world, path):
    def delete_bugs(_, sql: str) -> None:
        """Delete all bugs just before they are listed."""
        if re.match("SELECT .*FROM bug .*LIMIT", sql, re.DOTALL):
            other.execute("UPDATE bug SET deleted = 1")

    filed_world.sql("UPDATE bug SET plan = 1")
    with another_program(filed_world.path) as other:
        connections.before = delete_bugs
        shown = filed_world.get(path)
        assert other.execute("SELECT count(*) FROM bug WHERE NOT deleted").fetchone() == (0,)
    assert ids(shown["bugs"]) == [2, 1]
    assert shown.get("total", 2) == 2


def refuses(
    client: Client, status: int, word: str, method: str = "POST", path: str = "/products"
) -> None:
    """Send a request, a long product unless another is given; check that it is refused so."""
    product = dict(name="P", desc="x" * 60_000)
    answer = client.call(method, path, product)
    assert answer.status_int == status
    assert word in answer.json["error"]


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let this process write no file beyond a size."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


# fmt: off
WRITES_FAIL_BY = [  # a setting, the status and a word of the refusal
    ("max_page_count = 1", 507, "full"),  # SQLite keeps to the present size
    ("query_only = ON", 503, "read-only"),
]
# fmt: on


class TestTroubleWithTheFile:
    """Errors of SQLite, provoked on a real file: each has its status and its sentence."""

    @each(("setting", "status", "word"), WRITES_FAIL_BY)
    def test_full_disk_or_read_only_file_takes_no_writes(self, filed_world, setting, status, word):
        filed_world.sql(f"PRAGMA {setting}")
        refuses(filed_world, status, word)
        assert filed_world.get("/products")["total"] == 2

    def test_locked_file_is_busy(self, filed_world, monkeypatch):
        monkeypatch.setattr(pmservice, "PATIENCE", 0.01)
        with another_program(filed_world.path) as other:
            other.execute("BEGIN IMMEDIATE")
            refuses(filed_world, 503, "busy")
            assert filed_world.get("/products")["total"] == 2
            other.execute("ROLLBACK")
            other.execute("PRAGMA busy_timeout = 0")
            locked = pytest.raises(sqlite3.OperationalError, match="locked")
            with filed_world.service.database.writing(), locked:
                other.execute("BEGIN IMMEDIATE")
        assert filed_world.product()["id"] == 3

    @each(("waited", "left"), [(4.2, 800), (5.1, 0)])
    def test_writer_waits_five_seconds_for_all_locks_together(
        self, client, monkeypatch, waited, left
    ):
        class Lock:
            moment = 1000

            def acquire(self, timeout):
                self.moment += waited
                return timeout == 5

            def release(self):
                pass

            def monotonic(self):
                return self.moment

        lock = Lock()
        monkeypatch.setattr(time, "monotonic", lock.monotonic)
        client.service.database.write_lock = lock
        with client.service.database.writing() as store:
            assert store.number("PRAGMA busy_timeout") == left

    @posix("Windows has no limit of the size of files")
    def test_write_that_the_system_refuses_is_no_write(self, filed_world):
        with largest_file(os.path.getsize(f"{filed_world.path}-wal")):
            refuses(filed_world, 503, "cannot be read or written")
        assert filed_world.product()["id"] == 3

    @posix("Windows has no limit of the size of files")
    def test_full_disk_for_temporary_files_keeps_nobody_from_sorting(self, filed):
        filed.load(**bugs_of_one_product(100, steps="x" * 60_000))
        with largest_file(4096):
            shown = filed.get("/products/1/bugs?order=steps_asc&limit=100")
        assert len(shown["bugs"]) == 100

    @OPEN_FILES
    def test_removed_file_cannot_be_opened(self, filed_world):
        with filed_world.service.database.reading():  # takes the only open connection
            os.rename(filed_world.path, f"{filed_world.path}.old")
            refuses(filed_world, 503, "cannot be opened", "GET")

    def test_damaged_pages_are_named_as_such(self, filed_world):
        filed_world.close()
        with opened(filed_world.path) as again:
            with open(filed_world.path, "r+b") as file:
                file.seek(4096)
                file.write(b"\xff" * 10**6)
            refuses(again, 503, "damaged", "GET", "/bugs/1")

    def test_reset_while_a_body_comes_in_takes_its_sender_away(self, monkeypatch):
        def read_late(_):
            monkeypatch.undo()
            with ThreadPoolExecutor(1) as another:  # Bottle keeps one request for each thread
                another.submit(client.post, "/-/reset").result(30)
            return b'{"name": "P"}'

        with opened() as client:
            client.load(users=[dict(account="new1", admin=True)])
            client.token = client.token_of("new1")
            monkeypatch.setattr(pmservice, "read_body", read_late)
            refuses(client, 503, "reset")


class Fragile(sqlite3.Connection):
    """A connection on which one statement fails: when `left` has counted down to 0."""

    left = 0
    error = Exception

    def execute(self, *statement: Any) -> sqlite3.Cursor:
        Fragile.left -= 1
        if Fragile.left == 0:
            raise Fragile.error("made to fail")
        return super().execute(*statement)


@pytest.fixture
def fragile(monkeypatch):
    """Make every connection that is opened from now on a fragile one."""
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Fragile))


# fmt: off
MORE_WRITES = [  # a login, and two that are refused within their transaction, whose ROLLBACK may fail, too
    ("POST", "/tokens",             b'{"account": "dev1", "password": "secret"}'),
    ("POST", "/products",           b'{"name": "P", "PO": 99}'),
    ("POST", "/executions/3/tasks", dict(TASK, assignedTo=["new1", 99])),
]
# fmt: on


class TestFailingStatements:
    ERRORS = (sqlite3.OperationalError, MemoryError)

    @each(("method", "path", "body"), [*WRITES, *MORE_WRITES])
    def test_any_leaves_no_trace_and_no_lock(self, fragile, world, monkeypatch, method, path, body):
        world.load(users=[dict(account="dev1", password=SECRET)])
        with another_program(world.service.database.uri) as other:
            changes = partial(other.execute, "PRAGMA data_version")  # each commit of others is one
            before = changes().fetchone()
            for failing in itertools.count(1):
                monkeypatch.setattr(Fragile, "left", failing)
                monkeypatch.setattr(Fragile, "error", self.ERRORS[failing % 2])
                answer = world.call(method, path, body)
                if Fragile.left > 0:  # it has fewer statements
                    break
                assert answer.status_int in (500, 503), answer.text
                assert "made to fail" not in answer.text
                assert changes().fetchone() == before
                world.sql("SELECT 1")  # within a transaction that writes
        assert failing > 3  # at least BEGIN, one statement and COMMIT or ROLLBACK failed


class TestSideBySide:
    def test_apps_in_one_process_have_their_own_tokens_and_records(self, client):
        client.product()
        with opened(token="geheim-é") as other:
            assert other.call("GET", "/products").status_int == 401
            other.token = "geheim-é".encode().decode("latin-1")  # as WSGI passes its bytes
            assert other.get("/products")["total"] == 0

    def test_credentials_that_several_first_starts_print_all_work(self, tmp_path):
        with contextlib.ExitStack() as stack, ThreadPoolExecutor(3) as threads:
            starts = [threads.submit(Live, tmp_path) for _ in range(3)]
            lives = [stack.enter_context(start.result(60)) for start in starts]
        told = "".join(live.told for live in lives)
        (password,) = re.findall(r"  password +(\S+)", told)
        with contextlib.closing(Client(tmp_path / "pm.db")) as client:
            client.login("admin", password)
            for token in re.findall(r"  token +(\S+)", told):
                assert status_with(client, token) == 200

    def test_opening_a_file_again_gives_up_no_lock_on_it(self, filed):
        filed.product()
        # The checks of the second app must not close a descriptor of their own.
        with contextlib.closing(pmservice.create_app(filed.path)):
            command = [sys.executable, HERE / "pmservice.py", "check", "--database", filed.path]
            subprocess.run(command, check=True, capture_output=True)
            filed.product()
        filed.close()
        with opened(filed.path) as again:
            assert again.get("/products")["total"] == 2

    def test_file_is_found_wherever_the_process_goes(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with opened("pm.db") as client:
            monkeypatch.chdir("/")
            assert client.product()["id"] == 1
            assert client.call("GET", "/-/ready").status_int == 200

    @posix("Windows does not list the descriptors of a process")
    def test_closed_apps_leave_no_descriptor_or_thread(self, tmp_path):
        def held() -> tuple[int, int]:
            return len(os.listdir("/dev/fd")), threading.active_count()

        before = held()
        for path in (":memory:", tmp_path / "pm.db"):
            with opened(path) as client:
                client.product()
                database = client.service.database
                with database.reading(), database.reading():
                    pass  # two transactions at once take two connections
        assert held() == before

    def test_connection_in_use_is_closed_when_it_is_returned(self, client):
        database = client.service.database
        with database.reading() as another:
            pass
        with database.reading() as store:
            client.close()
            assert store.number("SELECT count(*) FROM user") == 1
        for closed in (another, store):
            with pytest.raises(sqlite3.ProgrammingError):
                closed.number("SELECT count(*) FROM user")

    @MODES
    def test_database_is_readable_by_its_owner_only(self, filed):
        filed.product()
        folder = filed.path.parent
        assert set(os.listdir(folder)) == {"pm.db", "pm.db-wal", "pm.db-shm"}
        for file in folder.iterdir():
            assert file.stat().st_mode & 0o777 == 0o600, file


NEXT_VERSION = pmservice.SCHEMA_VERSION + 1


NEXT_PART = f"""
CREATE TABLE note (product INTEGER PRIMARY KEY REFERENCES product, text TEXT NOT NULL) STRICT;
INSERT INTO note SELECT id, name FROM product;
CREATE TRIGGER product_noted AFTER INSERT ON product BEGIN
    INSERT INTO note VALUES (NEW.id, NEW.name);
END;
CREATE TABLE later_department (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, parent INTEGER REFERENCES department,
    "order" INTEGER NOT NULL DEFAULT 10, manager TEXT REFERENCES user (account)
) STRICT;
INSERT INTO later_department SELECT id, name, parent, "order", manager FROM department;
DROP TABLE department;
ALTER TABLE later_department RENAME TO department;
PRAGMA user_version = {NEXT_VERSION};
"""


@pytest.fixture
def later(monkeypatch):
    """Return a function that makes this process one of a later version, until the test ends."""
    schema = {**pmservice.schema(), NEXT_VERSION: NEXT_PART}

    def make_later() -> None:
        monkeypatch.setattr(pmservice, "schema", schema.copy)
        monkeypatch.setattr(pmservice, "SCHEMA_VERSION", NEXT_VERSION)

    return make_later


@cache
def image_of_filled() -> bytes:
    """Return the bytes of a file of this version that holds FILLED."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pm.db"
        with opened(path, load=FILLED):
            pass
        return path.read_bytes()


def kill_while_writing(path: Path, copy: Path) -> None:
    """Make the copy of a file what a killed process leaves in the middle of a large transaction."""
    with another_program(path) as killed:
        killed.execute("PRAGMA journal_mode = DELETE")
        killed.execute("PRAGMA cache_size = 1")  # pages reach the file before the transaction ends
        killed.execute("BEGIN")
        killed.execute("CREATE TABLE half (text)")
        killed.executemany("INSERT INTO half VALUES (?)", [("x" * 3000,)] * 99)
        for suffix in ("", "-journal"):
            shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")


TOO_OLD = """\
pmservice: kept.db: written by a pmservice from before the first release; \
let that one write its records to a file (pmservice dump) and load them into a new database \
(pmservice load)
"""


class TestUpgrades:
    """A file of an older version runs the parts of the schema that it lacks: here NEXT_PART."""

    @pytest.fixture
    def kept(self, tmp_path):
        """Return the path of a file of this version, with some of everything."""
        path = tmp_path / "kept.db"
        path.write_bytes(image_of_filled())
        return path

    @staticmethod
    def open(path: Path) -> None:
        """Open a file as the service does, upgrade it, and close it again."""
        pmservice.Database(str(path), timezone.utc, Clock()).close()

    @staticmethod
    def content(path: Path) -> list[str]:
        """Return the statements that make the tables and rows of a file."""
        with another_program(path) as file:
            return list(file.iterdump())

    def test_upgraded_file_has_all_that_was_in_it(self, kept, later, capsys):
        with opened(kept) as client:
            before = client.dump()
        later()
        with opened(kept) as client:
            assert client.dump() == before
            client.product(name="New")
            assert client.post("/departments", name="New", parent=1)["id"] == 5
            assert client.sql("SELECT text FROM note") == [("Shop",), ("Till",), ("New",)]
            assert client.sql("PRAGMA user_version") == [(NEXT_VERSION,)]
            assert client.sql("PRAGMA foreign_keys") == [(1,)]
        code = pmservice.main(["check", "--database", str(kept)])
        assert code == 0, capsys.readouterr().out

    def test_upgrade_leaves_closed_bugs_out_of_those_without_an_assignee(
        self, tmp_path, monkeypatch
    ):
        path, schema = tmp_path / "pm.db", pmservice.schema()
        bugs = [dict(product=1, title="B", status=state) for state in ("active", "closed")]
        with monkeypatch.context() as earlier:
            earlier.setattr(pmservice, "schema", lambda: {7: schema[7]})
            earlier.setattr(pmservice, "SCHEMA_VERSION", 7)
            with opened(path, load=dict(products=[dict(id=1, name="P")], bugs=bugs)) as client:
                assert client.get("/products/1")["assignToNull"] == 2
        with opened(path) as client:
            assert client.get("/products/1")["assignToNull"] == 1
        assert pmservice.main(["check", "--database", str(path)]) == 0

    def test_upgrade_says_so_in_the_log(self, kept, later, run):
        later()
        told = f"kept.db: upgraded from version {NEXT_VERSION - 1} of its tables to {NEXT_VERSION}"
        assert told in run("call", "POST", "products", "{}", "--database", "kept.db")[2]
        assert "upgraded" not in run("call", "GET", "products", "--database", "kept.db")[2]
        assert "upgraded" not in run("user", "dev1", "--database", "new.db")[2]

    def test_new_file_runs_all_parts(self, later, tmp_path):
        later()
        with opened(tmp_path / "new.db") as client:
            client.product()
            assert client.sql("SELECT text FROM note") == [("P one",)]

    def test_interrupted_upgrade_leaves_the_old_version_and_is_made_up_for(
        self, connections, kept, later
    ):
        class Interrupted(Exception):
            pass

        def interrupt(_, sql: str) -> None:
            if "table_info" not in sql and next(left) == 0:
                raise Interrupted

        later()
        old = self.content(kept)
        self.open(kept)
        new = self.content(kept)
        connections.before = interrupt
        for spared in itertools.count():
            kept.write_bytes(image_of_filled())
            left = itertools.count(spared, -1)
            try:
                self.open(kept)
                break
            except Interrupted:
                assert self.content(kept) in (old, new)
            left = itertools.count(-1, -1)  # is not interrupted
            self.open(kept)
            assert self.content(kept) == new
        assert spared > 3

    @each("command", ["check", "dump", "load x.json", "user dev1", "backup copy.db", "--port 0"])
    def test_file_from_before_the_first_release_is_refused(self, kept, run, command):
        Path("x.json").write_text("{}")
        for version in (1, pmservice.FIRST_VERSION - 1):
            with another_program(kept) as file:
                file.execute(f"PRAGMA user_version = {version}")
            image = kept.read_bytes()
            assert run(*command.split(), "--database", "kept.db") == (2, "", TOO_OLD)
            assert kept.read_bytes() == image
            assert sorted(os.listdir()) == ["kept.db", "x.json"]

    @each(("image", "first"), [("new", 1), ("kept", 3)])
    def test_file_whose_writer_was_killed_is_rolled_back(self, tmp_path, kept, image, first):
        kill_while_writing(tmp_path / f"{image}.db", tmp_path / "pm.db")
        with opened(tmp_path / "pm.db") as client:
            assert client.product()["id"] == first
            assert client.sql("SELECT count(*) FROM sqlite_schema WHERE name = 'half'") == [(0,)]


# --- 8 Rules: what the operations do --------------------------------------------------------------


def send(client, line, body=None, **headers):
    """Send a request that must succeed, and return the answer."""
    method, path = line.split()
    answer = client.call(method, path, body, **headers)
    succeeded = answer.status_int in (200, 201)
    assert succeeded, (line, body, answer.text)
    return answer.json


def follow(client, steps):
    """Send one request after the other, and check some fields of a record after each.

    A step: the request, its body, the path of the record ("": it is the answer) and its fields.
    """
    for line, body, path, facts in steps:
        answer = send(client, line, body)
        record = client.get(path) if path else answer
        holds(record, **facts)


# fmt: off
HOMES_MADE = [
    ("POST /programs",    HOME,                                 "",   dict(order=5, path=",1,", grade=1)),
    ("POST /programs",    dict(HOME, parent="1"),               "",   dict(order=10, path=",1,2,", grade=2)),
    ("POST /products",    dict(name="P"),                       "",   dict(order=5)),
    ("POST /projects",    dict(HOME, parent=2, products=[1]),   "",   dict(order=15, path=",1,2,3,", grade=3)),
    ("POST /programs",    dict(HOME, parent="0"),               "",   dict(parent=0, path=",4,", grade=1)),
]
HOMES_MOVED = [  # one after the other: the request, and the paths and grades that change
    ("/programs/6",   dict(name="N"),    {}),
    ("/programs/7",   dict(parent=0),    {7: (",7,", 1)}),
    ("/projects/1",   dict(parent=7),    {1: (",7,1,", 2)}),
    ("/programs/7",   dict(parent=6),    {7: (",6,7,", 2), 1: (",6,7,1,", 3)}),
    ("/projects/4",   dict(parent="6"),  {4: (",6,4,", 2)}),
    ("/programs/6",   dict(parent=8),    {6: (",8,6,", 2), 7: (",8,6,7,", 3), 1: (",8,6,7,1,", 4), 4: (",8,6,4,", 3)}),
    ("/executions/3", dict(project=4),   {3: (",4,3,", 1)}),
    ("/projects/1",   dict(parent=0),    {1: (",1,", 1)}),
]
WHITELISTS = [  # each names dev1 and qa1
    ["dev1", "qa1"], "dev1,qa1", ",dev1,qa1,", [4, 6], [reference("dev1"), {"id": 6}], ["dev1", "qa1", "dev1", ""],
]
OPENING = [  # what is sent to a record, one after the other, and its white list after that
    (dict(acl="private", whitelist=["dev1"]), ["dev1"]), (dict(acl="open"), []), (dict(whitelist=["dev1"]), []),
]
# fmt: on


def places(client):
    """Return the path and the grade of each program, project and execution."""
    found = {}
    for array in ("programs", "projects", "executions"):
        for home in client.get(f"/{array}")[array]:
            id = home["id"]
            found[id] = (home["path"], home["grade"])
    return found


class TestPrograms:
    """Programs, and what projects and executions have in common with them."""

    def test_new_one_stands_below_its_parent(self, client):
        follow(client, HOMES_MADE)

    @each("request_line", ["GET /programs/2", "GET /programs/3", "POST /executions/1/tasks"])
    def test_home_of_another_type_is_not_found(self, world, request_line):
        world.refused(*request_line.split(), status=404)

    def test_moving_one_moves_all_below(self, shop):
        shop.program()
        expected = places(shop)
        for path, sent, changed in HOMES_MOVED:
            shop.put(path, **sent)
            expected |= changed
            assert places(shop) == expected, (path, sent)

    def test_one_with_children_cannot_be_deleted(self, shop):
        refusal = shop.refused("DELETE", "/programs/6")
        assert refusal["error"] == "This program has children; delete or move them first."

    @each("whitelist", WHITELISTS)
    def test_whitelist_is_an_array_or_comma_text(self, world, whitelist):
        program = world.program(acl="private", whitelist=whitelist)
        holds(program, whitelist=["dev1", "qa1"])
        project = world.project(whitelist=whitelist)
        holds(project, whitelist=",dev1,qa1,")

    @each("array", ["programs", "products", "projects"])
    def test_new_open_record_has_no_whitelist(self, shop, array):
        body = good(f"POST /{array}", acl="open", whitelist=["dev1"])
        made = shop.post(f"/{array}", **body)
        nobody = "," if array == "projects" else []
        assert made["whitelist"] == nobody

    @each("path", ["/programs/6", "/products/1", "/projects/1", "/executions/2"])
    def test_whitelist_is_emptied_by_opening(self, filled, path):
        for sent, kept in OPENING:
            changed = filled.put(path, **sent)
            holds(changed, whitelist=kept)


class TestProjects:
    def test_project_has_its_products(self, world):
        made = world.project(products=[2, "1"])
        listed = world.get(f"/products?project={made['id']}")
        assert ids(listed["products"]) == [1, 2]

    def test_its_products_must_not_be_deleted(self, world):
        remove(world, "/products/2")
        body = dict(HOME, products=[1, 2])
        assert broken(world, "POST /projects", body) == "products"

    def test_deleted_one_has_no_tasks_of_its_own(self, world):
        remove(world, "/projects/2")
        world.refused("GET", "/executions/2/tasks", status=404)
        world.refused("POST", "/executions/2/tasks", TASK, status=404)


# fmt: off
TYPES = {"scrum": "sprint", "waterfall": "stage"}  # of executions by the model of their project
MOST_DAYS = [  # begin, end, the days from the first to the last
    ("2026-03-02", "2026-03-02", 1), ("2026-03-02", "2026-03-06", 5), ("2026-01-10", "2026-06-30", 172),
]
FOUR_DAYS = [dict(end="2026-03-05"), dict(begin="2026-03-03")]  # what makes FIVE_DAYS shorter
FIVE_DAYS = dict(begin="2026-03-02", end="2026-03-06", days=5)
OUT_OF_PROJECT = [  # begin, end, the broken fields; the project lasts from 2026-01-10 to 2026-06-30
    ("2026-01-09", "2026-06-30", "begin"), ("2026-01-10", "2026-07-01", "end"), ("2025-01-01", "2027-01-01", "begin end"),
    ("2026-03-02", "2026-03-01", "end"),
]
# fmt: on


class TestExecutions:
    def test_it_moves_only_to_a_project_whose_days_cover_its_own(self, filled):
        short = dict(MARCH, id=9, name="Short")
        filled.load(projects=[short])
        move = dict(project=9)
        assert broken(filled, "PUT /executions/2", move) == "begin end"
        moved = filled.put("/executions/2", **move, **MARCH)
        assert moved["project"] == 9

    @each(("model", "type"), TYPES.items())
    def test_it_is_a_sprint_or_stage_of_its_project(self, client, model, type):
        id = client.project(model=model)["id"]
        made = client.post(f"/projects/{id}/executions", **HOME)
        holds(made, type=type, acl="private")

    def test_it_is_for_some_of_the_products(self, shop):
        shop.post("/projects/1/executions", **HOME)
        shop.post("/projects/1/executions", **HOME, products=[2])
        *_, first, second = shop.dump()["executions"]
        assert first["products"] == [1, 2]
        assert second["products"] == [2]

    @each(("begin", "end", "fields"), OUT_OF_PROJECT)
    def test_it_lies_within_its_project(self, world, begin, end, fields):
        execution = dict(name="E", begin=begin, end=end)
        wrong = broken(world, "POST /projects/2/executions", execution)
        assert wrong == fields

    @each(("begin", "end", "most"), MOST_DAYS)
    def test_days_are_at_most_those_from_begin_to_end(self, world, begin, end, most):
        execution = "/executions/3"
        for days in (0, most):
            changed = world.put(execution, begin=begin, end=end, days=days)
            assert changed["days"] == days
        longer = dict(days=most + 1)
        refusal = world.refused("PUT", execution, longer)
        assert (
            refusal["error"] == f"days must be at most {most}, from begin to end (got {most + 1})."
        )

    def test_stored_days_must_fit_too(self, world):
        world.put("/executions/3", **FIVE_DAYS)
        for shorter in FOUR_DAYS:
            assert broken(world, "PUT /executions/3", shorter) == "days"
            world.put("/executions/3", **shorter, days=4)
            world.put("/executions/3", **FIVE_DAYS)

    def test_tasks_go_along_to_another_project(self, filled):
        other = filled.task(1)["id"]
        moved = filled.put("/executions/2", project=4)
        holds(moved, project=4, parent=4)
        for id, project in ((1, 4), (other, 1)):
            task = filled.get(f"/tasks/{id}")
            assert task["project"] == project
        listed = filled.get("/projects/4/executions")["executions"]
        assert sorted(ids(listed)) == [2, 5]

    def test_stories_go_along_and_stay_in_the_old_project(self, shop):
        story(shop, "?objectID=2")
        assert shop.get("/projects/1/stories")["total"] == 1
        assert shop.get("/projects/4/stories")["total"] == 0
        shop.put("/executions/2", project=4)
        for path in ("/executions/2", "/projects/4", "/projects/1"):
            listed = shop.get(f"{path}/stories")
            assert listed["total"] == 1
            assert len(listed["stories"]) == 1

    def test_tasks_of_a_deleted_one_stay(self, filled):
        before = filled.get("/tasks/1")
        remove(filled, "/executions/2")
        assert filled.get("/tasks/1") == before
        started = filled.post("/tasks/1/start", left=1)
        assert started["status"] == "doing"


# fmt: off
COUNTED_BUGS = [  # a bug, and what it adds to
    (dict(),                                        "bugs unResolved assignToNull"),
    (dict(assignedTo="dev1"),                       "bugs unResolved"),
    (dict(openedDate=NOW_ISO, assignedTo="dev1"),   "bugs unResolved thisWeekBugs"),
    (dict(status="resolved", resolution="fixed"),   "bugs assignToNull"),
    (dict(status="closed", resolution="postponed"), "bugs closedBugs"),
    (dict(status="closed", resolution="fixed"),     "bugs closedBugs fixedBugs"),
    (dict(deleted=True),                            ""),
]
WEEKS = [  # zone, a moment of the week, its first second and that of the next week
    ("UTC",                  NOW_ISO,                "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z"),
    ("Asia/Shanghai",        NOW_ISO,                "2026-11-15T16:00:00Z", "2026-11-22T16:00:00Z"),
    ("Asia/Kathmandu",       NOW_ISO,                "2026-11-15T18:15:00Z", "2026-11-22T18:15:00Z"),
    ("America/St_Johns",     NOW_ISO,                "2026-11-16T03:30:00Z", "2026-11-23T03:30:00Z"),
    ("Europe/Berlin",        "2026-03-25T12:00:00Z", "2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z"),  # an hour shorter
    ("Europe/Berlin",        "2026-03-29T21:59:59Z", "2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z"),  # after the change
    ("Europe/Berlin",        "2026-03-29T22:00:00Z", "2026-03-29T22:00:00Z", "2026-04-05T22:00:00Z"),  # the week after it
    ("Europe/Berlin",        "2026-10-21T12:00:00Z", "2026-10-18T22:00:00Z", "2026-10-25T23:00:00Z"),  # an hour longer
    ("Europe/Berlin",        "2026-10-25T22:59:59Z", "2026-10-18T22:00:00Z", "2026-10-25T23:00:00Z"),
    ("Europe/Berlin",        "2026-10-25T23:00:00Z", "2026-10-25T23:00:00Z", "2026-11-01T23:00:00Z"),
    ("Africa/Cairo",         "2026-04-22T12:00:00Z", "2026-04-19T22:00:00Z", "2026-04-26T21:00:00Z"),  # a change on Friday
    ("Australia/Lord_Howe",  "2026-04-01T12:00:00Z", "2026-03-29T13:00:00Z", "2026-04-05T13:30:00Z"),  # by half an hour
    ("Australia/Lord_Howe",  "2026-09-30T12:00:00Z", "2026-09-27T13:30:00Z", "2026-10-04T13:00:00Z"),
]
PRIVATE_OF_DEV1 = dict(name="P", acl="private", PM="dev1", products=[1, 2])
RELEASING = dict(
    users=[dict(account="dev1"), dict(account="dev2")],
    products=[dict(id=1, name="P", acl="open"), dict(id=2, name="P", acl="open")],
    projects=[dict(PRIVATE_OF_DEV1, id=1, acl="open"), dict(PRIVATE_OF_DEV1, id=2), dict(PRIVATE_OF_DEV1, id=3)],
    releases=[dict(name="R", product=product, project=project, deleted=deleted)
              for product in (1, 2) for project in (0, 1, 1, 2, 3, 3) for deleted in (False, True)],
)
RELEASES_SEEN = [  # one after the other: the request, and how many releases of product 1 these users see after it
    ("GET /products",             None,                       dict(admin=6, dev1=6, dev2=3)),
    ("POST /projects/2/releases", RELEASE,                    dict(admin=7, dev1=7, dev2=3)),
    ("PUT /projects/2",           dict(acl="open"),           dict(admin=7, dev1=7, dev2=5)),
    ("DELETE /releases/25",       None,                       dict(admin=6, dev1=6, dev2=4)),
    ("PUT /projects/3",           dict(PM="dev2"),            dict(admin=6, dev1=4, dev2=6)),
    ("PUT /projects/1",           dict(acl="private", PM=""), dict(admin=6, dev1=2, dev2=4)),
]
# fmt: on


def releases_seen(client, account):
    """Return how many releases of product 1 a user sees, alike in their list and in counters."""
    client.token = client.token_of(account)
    number = client.get("/products/1/releases")["total"]
    listed, *_ = client.get("/products")["products"]
    for product in (client.get("/products/1"), listed):
        assert product["releases"] == number
    client.token = "t"
    return number


class TestProducts:
    @staticmethod
    def this_week(client, moment):
        """Return how many bugs of each product were opened in the week of that moment."""
        client.clock.set(moment)
        products = client.get("/products")["products"]
        return [product["thisWeekBugs"] for product in products]

    def test_bugs_are_counted_by_what_they_are(self, client):
        for id, (bug, _) in enumerate(COUNTED_BUGS, 1):
            product = dict(id=id, name="P")
            one = {"product": id, "title": "B", "openedDate": "2020-01-01", **bug}
            client.load(products=[product])
            client.load(bugs=[one, one, one])
        listed = client.get("/products")["products"]
        for id, (_, counted) in enumerate(COUNTED_BUGS):
            product = listed[id]
            for counter in COUNTERS:
                number = 3 if counter in counted.split() else 0
                assert product[counter] == number, counter

    @each(("zone", "now", "monday", "next_monday"), WEEKS)
    def test_this_week_is_monday_to_sunday_by_local_clocks(self, zone, now, monday, next_monday):
        edges = itertools.product([monday, next_monday], [-1, 0])
        with opened(control=False, timezone=zone) as client:
            for moment, seconds in edges:
                client.clock.set(moment)
                client.clock.forward(seconds=seconds)
                product = client.product()
                client.post(f"/products/{product['id']}/bugs", **BUG)
            counted = self.this_week(client, now)
            assert counted == [0, 1, 1, 0]
            counted = self.this_week(client, next_monday)
            assert counted == [0, 0, 0, 1]

    def test_releases_are_counted_for_those_who_see_them(self, client):
        client.load(**RELEASING)
        for line, sent, seen in RELEASES_SEEN:
            send(client, line, sent)
            for account, number in seen.items():
                assert releases_seen(client, account) == number, line


# fmt: off
STORY_MOVES = {
    # move:         what is sent,             from which states,             to which ("": it stays)
    "POST change":   (dict(title="New"),      "draft active changed",        ""),
    "POST close":    ({},                     "draft active changed",        "closed"),
    "POST active":   ({},                     "closed changed draft",        "active"),
    "POST activate": (dict(status="closed"),  "closed changed draft",        "active"),
    "DELETE recall": (None,                   "draft changed",               "draft"),
    "POST assign":   (dict(assignedTo="qa1"), "draft active changed closed", ""),
    "POST review":   (dict(result="pass"),    "draft changed",               "active"),
}
PLANS_SENT = [("2", "2"), (2, "2"), ("1,2", "1,2"), ([1, 2], "1,2")]  # and as which they are stored
CHANGED_STATES = {"draft": "draft", "active": "changed", "changed": "changed"}  # what a change makes of a story with reviewers
VERDICTS = [  # the votes of both reviewers, the state that they lead to, and who closed the story
    ("qa1 pass",    "dev1 pass",    "active", None),   ("dev1 pass",   "qa1 pass",     "active", None),
    ("qa1 pass",    "dev1 reject",  "closed", "dev1"), ("qa1 reject",  "dev1 pass",    "closed", "dev1"),
    ("qa1 clarify", "dev1 pass",    "draft",  None),   ("qa1 reject",  "dev1 clarify", "draft",  None),
    ("qa1 clarify", "dev1 reject",  "closed", "dev1"),
]
MAKE_STORY = "POST /products/1/stories"
STORY_VERSIONS = [
    (MAKE_STORY,                     STORY,                                   "",           dict(version=1)),
    ("POST /stories/1/change",       dict(STORY, verify="", comment="c"),     "",           dict(version=1)),
    ("POST /stories/1/change",       dict(title="new"),                       "",           dict(version=2, title="new", spec="s", status="active")),
    ("POST /stories/1/change",       dict(spec="new"),                        "",           dict(version=3, spec="new")),
    ("POST /stories/1/change",       dict(verify="new"),                      "",           dict(version=4, verify="new")),
]
STORY_STAGES = [  # one after the other: the request, and the stage of story 1 after it
    ("POST /productplans/1/linkstories",   dict(stories=[1]),               "planned"),
    ("POST /executions/2/tasks",           dict(TASK, story=1),             "projected"),
    ("POST /projects/1/releases",          dict(RELEASE, stories="2,1"),    "released"),
    ("POST /stories/1/close",              {},                              "closed"),
    ("POST /stories/1/active",             {},                              "released"),
    ("DELETE /releases/2",                 None,                            "projected"),
    ("POST /productplans/1/unlinkstories", dict(stories=[1]),               "projected"),
    ("DELETE /projects/1",                 None,                            "projected"),
    ("DELETE /executions/2",               None,                            "wait"),
]
BUG_OF_STORY = dict(id=3, title="B", status="active", pri=3, severity=3)
STORY_SHOWN = [
    (MAKE_STORY + "?objectID=3",     dict(STORY, plan="1,2"),                 "",           dict(plan="1,2", planTitle=["P", "P"])),
    ("POST /executions/2/tasks",     dict(TASK, story=4),                     "/stories/4", dict(stage="projected")),
    ("POST /products/1/bugs",        dict(BUG, story=4),                      "/stories/4", dict(bugs=[BUG_OF_STORY])),
    ("POST /products/1/testcases",   dict(CASE, story=4),                     "/stories/4", dict(cases=[dict(id=3, title="C", pri=1, status="normal")])),
    ("DELETE /productplans/2",       None,                                    "/stories/4", dict(planTitle=["P"])),
    ("DELETE /bugs/3",               None,                                    "/stories/4", dict(bugs=[])),
    ("DELETE /testcases/3",          None,                                    "/stories/4", dict(cases=[])),
]
STORY_CHILDREN = [
    (MAKE_STORY + "?type=requirement", dict(STORY, title="Top", estimate=9),  "",           dict(type="requirement", estimate=9, parent=0)),
    (MAKE_STORY,                     dict(STORY, parent=1, estimate=3),       "",           dict(type="story", parent=1, parentName="Top")),
    (MAKE_STORY,                     dict(STORY, parent=1, estimate=0.5),     "/stories/1", dict(parent=-1, childStories="2,3", estimate=3.5)),
    ("PUT /stories/3",               dict(estimate=4),                        "/stories/1", dict(estimate=7)),
    ("PUT /stories/3",               dict(parent=0),                          "/stories/1", dict(parent=-1, childStories="2", estimate=3)),
    ("PUT /stories/3",               dict(parent=1),                          "/stories/1", dict(childStories="2,3", estimate=7)),
    ("DELETE /stories/3",            None,                                    "/stories/1", dict(childStories="2", estimate=3)),
]
STORY_CONFIRMED = [
    (MAKE_STORY,                     STORY,                                   "",           {}),
    ("POST /products/1/testcases",   dict(CASE, story=1),                     "",           dict(story=1, storyVersion=1)),
    ("POST /products/1/bugs",        dict(BUG, story=1),                      "/bugs/1",    dict(storyVersion=1, needconfirm=False)),
    ("POST /executions/2/tasks",     dict(TASK, story=1),                     "",           dict(storyTitle="S", storyStatus="active", latestStoryVersion=1)),
    ("PUT /tasks/1",                 {},                                      "",           dict(storyVersion=1, needConfirm=False, cases={"1": "C"})),
    ("POST /stories/1/change",       dict(title="New"),                       "/tasks/1",   dict(storyTitle="New", latestStoryVersion=2)),
    ("PUT /bugs/1",                  dict(title="N"),                         "/bugs/1",    dict(storyVersion=1, needconfirm=True)),
    ("PUT /tasks/1",                 {},                                      "",           dict(storyVersion=1, needConfirm=True, cases={"1": "C"})),
    ("PUT /tasks/1",                 dict(story=1),                           "",           dict(storyVersion=2, needConfirm=False, cases={})),
    ("PUT /bugs/1",                  dict(story=0),                           "",           dict(needconfirm=False)),
    ("PUT /bugs/1",                  dict(story=1),                           "",           dict(storyVersion=2, needconfirm=False)),
    ("POST /stories/1/change",       dict(title="Newer"),                     "/tasks/1",   dict(needConfirm=True)),
    ("POST /stories/1/close",        {},                                      "/tasks/1",   dict(storyStatus="closed", needConfirm=False)),
]
STORY_COUNTS = [  # one after the other: the request, and the stories, requirements and progress of the product
    (MAKE_STORY + "?type=requirement", STORY,                                 dict(),                  dict(active=1), 0),
    (MAKE_STORY,                     dict(STORY, parent=1),                   dict(active=1),          dict(active=1), 0),
    ("POST /stories/2/close",        {},                                      dict(closed=1),          dict(active=1), 50),
    (MAKE_STORY,                     dict(STORY, reviewer=["qa1"]),           dict(closed=1, draft=1), dict(active=1), 33),
    ("DELETE /stories/3",            None,                                    dict(closed=1),          dict(active=1), 50),
    ("POST /stories/1/close",        {},                                      dict(closed=1),          dict(closed=1), 100),
    ("DELETE /stories/2",            None,                                    dict(),                  dict(closed=1), 100),
]
STORY_STATES = {  # status: the states that a list then shows
    "unclosed": "draft active changed", "all": "draft active changed closed", "allstory": "draft active changed closed",
    "draft": "draft", "active": "active", "changed": "changed", "closed": "closed",
    "draftstory": "draft", "activestory": "active", "changedstory": "changed", "closedstory": "closed", "changingstory": "changed",
}
EMPTY_STORY = dict(product=1, title="S", executions=[2])
STORY_NUMBERS = [  # type, state, how many there are
    ("story", "draft", 1), ("story", "active", 2), ("story", "changed", 3), ("story", "closed", 4),
    ("requirement", "draft", 3), ("requirement", "active", 1), ("requirement", "changed", 4), ("requirement", "closed", 2),
]
STATE_LISTS = {  # list: the types that it shows; most of their totals are kept, not counted
    "/products/1/stories?type=story": "story", "/products/1/stories?type=requirement": "requirement", "/stories?type=story": "story",
    "/stories?type=requirement": "requirement", "/projects/1/stories?": "story requirement", "/executions/2/stories?": "story requirement",
}
STORY_LISTS = [  # path, status, the stories that qa1 finds among those of the test below
    ("/products/1", "", "123568"), ("/products/1", "allstory", "1234568"), ("/products/1", "assignedtome", "135"), ("/products/1", "openedbyme", "6"),
    ("/products/1", "reviewbyme", "1"), ("/products/1", "reviewedbyme", "8"), ("/products/1", "closedbyme", "4"), ("/products/1", "reviewingstory", "13"),
    ("/products/1", "assignedbyme", "6"),
    ("/projects/1", "", "2"), ("/projects/1", "all", "24"), ("/executions/2", "", "24"), ("/executions/2", "unclosed", "2"), ("/executions/2", "closed", "4"),
    ("/executions/3", "", ""), ("/projects/4", "all", ""), ("", "closed", "4"), ("", "", "1235689"), ("/products/2", "", "9"),
]
# fmt: on


def number_of(types, states):
    """Return how many of STORY_NUMBERS have one of these types and one of these states."""
    found = 0
    for type, state, number in STORY_NUMBERS:
        if type in types and state in states:
            found += number
    return found


def story_counts(states):
    """Return how a product shows the numbers of its stories: with index keys if there are none."""
    named = {**without(COUNTS, *"01234"), **states}
    return named if states else COUNTS


class TestStories:
    def test_story_with_reviewers_is_a_draft_of_the_first(self, shop):
        made = story(shop, reviewer=["qa1", "dev1"])
        by_account = ["dev1", "qa1"]
        holds(made, status="draft", assignedTo="qa1", assignedDate=NOW_ISO)
        holds(made, reviewer=by_account, notReview=by_account)
        assigned = story(shop, reviewer=["qa1"], assignedTo="dev1")
        holds(assigned, status="draft", assignedTo="dev1")

    def test_type_in_the_query_is_one_of_two_words(self, shop):
        refusal = shop.refused("POST", "/products/1/stories?type=epic", STORY)
        assert "story, requirement" in refusal["error"]

    @each(("plan", "stored"), PLANS_SENT)
    def test_plan_is_an_id_or_several(self, filled, plan, stored):
        made = story(filled, plan=plan)
        holds(made, plan=stored, stage="planned")
        unchanged = filled.put(f"/stories/{made['id']}", plan="")  # not given
        holds(unchanged, plan=stored)

    @each("move", STORY_MOVES)
    def test_move_leads_from_some_states_to_one(self, shop, move):
        sent, sources, to = STORY_MOVES[move]
        method, name = move.split()
        for state in WORDS["story", "status"].split():
            path = f"/stories/{story_in(shop, state)}"
            if state in sources.split():
                send(shop, f"{method} {path}/{name}", sent)
                moved = shop.get(path)
                assert moved["status"] == (to or state)
            else:
                shop.refused(method, f"{path}/{name}", sent)

    @each(("state", "after"), CHANGED_STATES.items())
    def test_changed_story_is_to_be_reviewed_again(self, shop, state, after):
        id = story_in(shop, state, "qa1")
        changed = shop.post(f"/stories/{id}/change", spec="new")
        holds(changed, status=after, assignedTo="qa1")
        holds(changed, notReview=["qa1"])
        passed = reviewed(shop, id, "qa1", "pass")
        assert passed.json["status"] == "active"

    def test_change_makes_a_version_of_what_differs(self, shop):
        follow(shop, STORY_VERSIONS)

    @each(("first", "last", "state", "closed_by"), VERDICTS)
    def test_last_vote_against_decides_once_all_voted(self, shop, first, last, state, closed_by):
        story(shop, reviewer=["qa1", "dev1"])
        waiting, _ = last.split()
        half = reviewed(shop, 1, *first.split())
        holds(half.json, status="draft", notReview=[waiting])
        whole = reviewed(shop, 1, *last.split())
        holds(whole.json, status=state, closedBy=closed_by)

    def test_revert_brings_the_version_before_back(self, shop):
        story_in(shop, "active", "qa1")
        shop.post("/stories/1/change", title="New", spec="new")
        mended = shop.put("/stories/1", title="Mended")
        holds(mended, version=2, title="Mended", spec="new")
        reverted = reviewed(shop, 1, "qa1", "revert")
        holds(reverted.json, version=1, status="active")
        holds(reverted.json, title="S", spec="s")
        (stored,) = shop.dump()["stories"]
        assert len(stored["versions"]) == 1  # more could not be loaded

    def test_first_version_cannot_be_reverted(self, shop):
        story_in(shop, "draft", "qa1")
        shop.token = shop.token_of("qa1")
        revert = dict(result="revert")
        assert broken(shop, "POST /stories/1/review", revert) == "result"

    def test_only_reviewers_vote_where_there_are_any(self, shop):
        story_in(shop, "draft", "qa1")
        refused = reviewed(shop, 1, "dev1", "pass")
        assert refused.status_int == 403
        assert shop.get("/stories/1")["status"] == "draft"
        story_in(shop, "draft")
        passed = reviewed(shop, 2, "dev1", "pass")
        holds(passed.json, status="active")
        holds(passed.json, reviewedBy="dev1", reviewedDate=NOW_ISO)

    def test_stage_follows_what_the_story_is_linked_with(self, filled):
        for line, body, stage in STORY_STAGES:
            send(filled, line, body)
            *_, listed = filled.get("/products/1/stories?status=all")["stories"]
            for shown in (filled.get("/stories/1"), listed):
                assert shown["stage"] == stage, line

    def test_story_shows_what_names_it(self, filled):
        follow(filled, STORY_SHOWN)
        shown = filled.get("/stories/4")
        names = {id: one["name"] for id, one in shown["executions"].items()}
        assert names == {"2": "E2", "3": "E3"}
        (task,) = shown["tasks"]
        holds(task, id=2, name="T", type="devel", status="wait")
        filled.task(2, story=4)
        assert ids(filled.get("/stories/4")["tasks"]) == [3, 2]
        remove(filled, "/tasks/3")
        remove(filled, "/tasks/2")
        shown = filled.get("/stories/4")
        assert shown["tasks"] == []

    def test_parent_has_the_sum_of_its_children_s_hours(self, shop):
        follow(shop, STORY_CHILDREN)

    def test_new_version_is_to_be_confirmed_by_tasks_and_bugs(self, shop):
        follow(shop, STORY_CONFIRMED)

    def test_status_of_lists_chooses_by_state(self, shop):
        loaded = []
        for type, state, number in STORY_NUMBERS:
            one = dict(EMPTY_STORY, type=type, status=state)
            deleted = dict(one, deleted=True)
            loaded.append(deleted)
            loaded += itertools.repeat(one, number)
        shop.load(stories=loaded)
        for status, path in itertools.product(STORY_STATES, STATE_LISTS):
            listed = shop.get(f"{path}&status={status}")
            types = STATE_LISTS[path]
            states = STORY_STATES[status]
            found = number_of(types, states)
            assert listed["total"] == found, (path, status)
            assert len(listed["stories"]) == found, (path, status)

    def test_status_of_lists_chooses_for_the_caller(self, shop):
        qa = shop.token_of("qa1")
        story(shop, reviewer=["qa1"])
        story(shop, "?objectID=2")
        story_in(shop, "changed", "dev1")
        story(shop, "?objectID=2", reviewer=["qa1"], assignedTo="pm1")
        send(shop, "POST /stories/4/close", {}, Token=qa)
        story(shop, assignedTo="qa1")
        send(shop, MAKE_STORY, STORY, Token=qa)
        story(shop, "?type=requirement")
        story_in(shop, "active", "qa1")
        shop.post("/products/2/stories", **STORY)
        shop.post("/stories/3/assign", assignedTo="qa1")
        shop.post("/stories/8/assign", assignedTo="pm1")
        story(shop, "?type=requirement", reviewer=["qa1"])
        deleted = story(shop, "?type=requirement")
        remove(shop, f"/stories/{deleted['id']}")
        send(shop, "POST /stories/6/assign", dict(assignedTo="dev1"), Token=qa)
        shop.token = qa
        beside = shop.get("/products/1/stories")["requirements"]
        assert beside == {"7": "S"}  # the active ones
        for path, status, found in STORY_LISTS:
            listed = shop.get(f"{path}/stories?status={status}")["stories"]
            digits = map(str, reversed(ids(listed)))
            assert "".join(digits) == found, (path, status)

    def test_product_counts_its_stories_by_state(self, shop):
        for line, sent, stories, requirements, progress in STORY_COUNTS:
            send(shop, line, sent)
            product, *_ = shop.get("/products")["products"]
            assert product["progress"] == progress, line
            shown = [product["stories"], product["requirements"]]
            numbers = [story_counts(stories), story_counts(requirements)]
            assert json.dumps(shown) == json.dumps(numbers), line  # in the same order
            page = shop.get("/products?limit=1")
            assert page["products"] == [product]


# fmt: off
PLAN_DAYS = [  # what is sent, begin, end
    ({},                                         "2026-11-20", "2030-01-01"), (dict(end="2026-03-01"),   "2026-03-01", "2026-03-01"),
    (dict(begin="2027-01-01", end="2027-01-01"), "2027-01-01", "2027-01-01"), (dict(end="2026-12-01"),   "2026-11-20", "2026-12-01"),
    (dict(begin="", end=""),                     "2026-11-20", "2030-01-01"),
]
PARENT_PLAN = [
    ("PUT /productplans/3",       dict(begin="2026-03-02", end="2026-04-01"), "/productplans/1", dict(parent=-1, end="2026-04-30")),
    ("PUT /productplans/1",       dict(end="2026-04-01"),                     "/productplans/3", dict(parent=1, end="2026-04-01")),
    ("DELETE /productsplan/3",    None,                                       "/productplans/1", dict(parent=0, end="2026-04-01")),
]
FRACTIONS = ([8.67768396311207] * 3, [1 / 3] * 6, [1e-9, 0.1 + 0.2, 1234.5678], [10**9, 1e-6])  # hours of stories
LEFT_IN_PLAN = {"stories": [2, 1], "bugs": [2]}  # of both, when another plan gets the first
TWO = [dict(id=1, product=1, title="X"), dict(id=2, product=1, title="X")]
PLANNED = dict(
    stories=[dict(product=1, title="S", estimate=hours, plans=plans) for hours, plans in ((3, [1]), (0.5, [1]), (9, []))],
    bugs=[dict(product=1, title="B", plan=2)],
    plans=[dict(id=id, product=1, title="P", begin="2026-01-01", end=end) for id, end in ((1, "2026-11-19"), (2, "2026-11-20"), (3, "2030-01-01"))],
)
PLAN_NUMBERS = {
    1: dict(stories=2, bugs=0, hour=3.5, expired=True), 2: dict(stories=0, bugs=1, hour=0, expired=False), 3: dict(stories=0, bugs=0, hour=0, expired=False),
}
THREE = [dict(id=id, product=1, title="S", estimate=id, plans=[1], deleted=id == 4) for id in (1, 2, 4)]
THREE_BUGS = [dict(id=id, product=1, title="B", plan=1, deleted=id == 4) for id in (1, 2, 4)]
PLANS = [  # with the ids 1 to 4
    dict(product=1, title="P", status=status, begin=f"2026-0{month}-01") for status, month in (("wait", 1), ("doing", 3), ("done", 2), ("closed", 4))
]
PLAN_LISTS = {"all": [4, 2, 3, 1], "undone": [2, 1], "wait": [1], "doing": [2], "done": [3], "closed": [4]}
# fmt: on


def plans(client):
    """Return the listed plans of product 1 by id."""
    listed = client.get("/products/1/plans")["plans"]
    return {plan["id"]: plan for plan in listed}


class TestProductPlans:
    @each(("sent", "begin", "end"), PLAN_DAYS)
    def test_days_have_defaults(self, shop, sent, begin, end):
        made = shop.post("/products/1/plans", title="P", **sent)
        holds(made, begin=begin, end=end)

    def test_parent_shows_that_it_has_children(self, filled):
        listed = plans(filled)
        assert listed[1]["parent"] == -1
        assert listed[3]["parent"] == 1
        follow(filled, PARENT_PLAN)

    @each(("what", "kept"), LEFT_IN_PLAN.items())
    def test_story_has_several_plans_and_a_bug_one(self, shop, what, kept):
        shop.load(stories=TWO, bugs=TWO, plans=TWO)
        first = {what: [1]}
        both = {what: [1, "2"]}
        for _ in range(2):  # what is linked already can be linked again
            linked = send(shop, f"POST /productplans/1/link{what}", both)
            assert ids(linked[what]) == [2, 1]
        linked = send(shop, f"POST /productplans/2/link{what}", first)
        assert ids(linked[what]) == [1]
        left = send(shop, f"POST /productplans/2/unlink{what}", both)
        assert left[what] == []
        other = shop.get("/productplans/1")
        assert ids(other[what]) == kept

    def test_list_counts_what_a_plan_holds(self, shop):
        shop.load(**PLANNED)
        listed = plans(shop)
        for id, facts in PLAN_NUMBERS.items():
            holds(listed[id], **facts)

    def test_product_counts_those_which_end_after_today(self, shop):
        shop.load(**PLANNED)
        assert shop.get("/products/1")["plans"] == 1
        remove(shop, "/productplans/3")
        assert shop.get("/products/1")["plans"] == 0

    @each("hours", FRACTIONS)
    def test_hours_are_a_sum_in_any_order_of_changes(self, shop, hours):
        shop.load(plans=TWO)
        for estimate in hours:
            story(shop, estimate=estimate, plan="1,2")
        for id, estimate in enumerate(reversed(hours), 1):
            shop.put(f"/stories/{id}", estimate=estimate)
            assert problems(shop) == []
        most = 10**8  # a story with more hours counts as this, so that sums fit in 64 bits
        total = sum(min(estimate, most) for estimate in hours)
        plan = plans(shop)[1]
        assert plan["hour"] == pytest.approx(total, abs=1e-5)
        listed = shop.get("/stories")["stories"]
        shop.post("/productplans/1/unlinkstories", stories=ids(listed))
        plan = plans(shop)[1]
        assert plan["hour"] == 0

    def test_deleted_stories_and_bugs_are_not_counted(self, shop):
        """One of three comes deleted with a fixture, one is deleted in the plan."""
        shop.load(plans=TWO, stories=THREE, bugs=THREE_BUGS)
        before = plans(shop)[1]
        holds(before, stories=2, hour=3, bugs=2)
        remove(shop, "/stories/2", "/bugs/2")
        after = plans(shop)[1]
        holds(after, stories=1, hour=1, bugs=1)
        whole = shop.get("/productplans/1")
        assert ids(whole["stories"]) == [1]
        assert ids(whole["bugs"]) == [1]

    def test_deleted_parent_stays_uncounted_while_its_child_changes(self, shop):
        shop.load(plans=TWO)
        parent = story(shop, plan=1)["id"]
        hours = dict(parent=parent, estimate=3)
        child = story(shop, plan=1, **hours)
        remove(shop, f"/stories/{parent}")
        shop.put(f"/stories/{child['id']}", estimate=5)
        plan = plans(shop)[1]
        holds(plan, stories=1, hour=5)

    def test_lists_begin_with_the_latest_and_take_a_status(self, shop):
        shop.load(plans=PLANS)
        for path in ("/products/1/plans?", "/productplans?", "/productplans?product=1&"):
            for status, found in PLAN_LISTS.items():
                listed = shop.get(f"{path}status={status}")["plans"]
                assert ids(listed) == found, (path, status)
        assert shop.get("/productplans?product=2")["total"] == 0


class TestReleasedStories:
    """A story is released by the releases of its own product that name it, and by no others."""

    # fmt: off
    RECORDS = dict(
        products=[dict(id=1, name="P", acl="open"), dict(id=2, name="Q", acl="private", PO="po1")],
        projects=[dict(id=1, name="J", acl="open", products=[1, 2])],
        stories=[dict(id=id, title="S", product=product) for id, product in ((1, 1), (2, 1), (3, 2), (4, 2))],
        users=[dict(account="dev2")],
    )
    RELEASES = [dict(name="R", project=1, product=product, stories=stories) for product, stories in ((1, "1,3"), (2, "2,4"))]
    # fmt: on

    @staticmethod
    def released(client):
        """Return the ids of the released stories, which their list and each by itself must show."""
        client.token = "t"
        listed = client.get("/stories?status=all")["stories"]
        found = []
        for one in listed:
            single = client.get(f"/stories/{one['id']}")
            assert single["stage"] == one["stage"]
            if one["stage"] == "released":
                found.append(one["id"])
        return sorted(found)

    def test_member_releases_no_story_of_another_product(self, client):
        client.load(**self.RECORDS)
        client.token = client.token_of("dev2")
        made = client.post("/projects/1/releases", **RELEASE, stories="1,3")
        assert made["stories"] == "1,3"
        assert self.released(client) == [1]
        client.put(f"/releases/{made['id']}", stories="3,2")
        assert self.released(client) == [2]
        remove(client, f"/releases/{made['id']}")
        assert self.released(client) == []

    def test_fixture_s_releases_do_so_in_either_order(self, client):
        fixture = dict(self.RECORDS, releases=self.RELEASES)
        backwards = dict(reversed(fixture.items()))
        for arrays in (fixture, backwards):
            client.begin_with(records_of())
            client.load(**arrays)
            assert self.released(client) == [1, 4]
            assert problems(client) == []


QA1 = reference("qa1")
ENDED = dict.fromkeys(("finishedBy", "closedBy", "canceledBy"), "pm1")
ENDED |= dict.fromkeys(("finishedDate", "closedDate", "canceledDate"), NOW_ISO)
# fmt: off
HOURS_IN = dict(wait=(0, 10), doing=(4, 6), pause=(4, 6), done=(4, 0), cancel=(0, 10), closed=(4, 0))  # hours consumed and left
FIXED = dict(resolution="fixed", resolvedBy="dev1", resolvedDate=NOW_ISO, resolvedBuild="b1", confirmed=1)
WORK = {  # SHOP with a task and a bug in each state, opened by pm1, of dev1; every task has the fields of all ends
    **SHOP,
    "tasks": [
        dict(ENDED, id=id, execution=2, name="T", type="devel", status=state, consumed=spent, left=left, estimate=10, openedBy="pm1", assignedTo="dev1",
             estStarted="2026-11-01", deadline="2026-11-30", assignedDate=NOW_ISO, closedReason="old", realStarted=NOW_ISO if spent else None)
        for id, (state, (spent, left)) in enumerate(HOURS_IN.items(), 1)
    ],
    "bugs": [
        dict(BUG, id=id, product=1, openedBy="pm1", assignedTo="dev1", assignedDate=NOW_ISO, status=state, **more)
        for id, state, more in ((1, "active", {}), (2, "resolved", FIXED), (3, "closed", dict(FIXED, closedBy="pm1", closedDate=NOW_ISO, activatedCount=4)))
    ],
}
# fmt: on


@pytest.fixture
def work():
    """Yield an app that holds WORK, an hour later; qa1 calls."""
    for client in begun(records_of("WORK")):
        client.clock.forward(hours=1)
        client.token = client.token_of("qa1")
        yield client


def task_in(state):
    """Return the path of the task of WORK that is in a state."""
    return f"/tasks/{[*HOURS_IN].index(state) + 1}"


def hours_of(task):
    """Return a task's state and its hours: "doing 4 6"."""
    return f"{task['status']} {task['consumed']} {task['left']}"


def name_of_move(row):
    """Return what names a row of TASK_MOVES or BUG_MOVES: the move and what is sent."""
    return f"{row[0]} {row[1]}"


def make_moves(work, array, move, sent, leads, changes, action="edited"):
    """Send a move, or a PUT, to the record in each state; check all that it changes.

    leads: the state after it for each state before it, "-" if it is refused.
    """
    kind = array.removesuffix("s")
    logged = []
    sources = []
    errors = []
    body = dict(sent, comment="“go” 🚀")
    for id, state in enumerate(leads.split(), 1):
        path = f"/{array}/{id}"
        line = f"POST {path}/{move}" if move else f"PUT {path}"
        before = work.get(path)
        if state == "-":
            refusal = work.refused(*line.split(), body)
            if move:
                errors.append(refusal["error"])
            continue
        sources.append(before["status"])
        send(work, line, body)
        wanted = dict(before, status=state)
        word = "edited"
        if move or state != before["status"]:
            word = action.format(state)
            for field, value in changes.items():
                wanted[field] = value(before) if callable(value) else value
        after = work.get(path)
        unchanged_but(wanted, after, "progress")
        holds(after, lastEditedBy="qa1", lastEditedDate=LATER)
        entry = (kind, id, "qa1", word, LATER, body["comment"])
        logged.append(entry)
    columns = "objectType, objectID, actor, action, date, comment"
    entries = work.sql(f"SELECT {columns} FROM action WHERE comment != ''")
    assert entries == logged
    for error, source in itertools.product(errors, sources):
        assert source in error


# fmt: off
ASSIGNEES = [  # what is sent, the assignees of the tasks that are made
    (["dev1", "dev2"], ["dev1", "dev2"]), ([4, reference("dev2")], ["dev1", "dev2"]), ("dev1", ["dev1"]), (None, [None]), ([], [None]), ([""], [None]),
]
VERSIONS = [  # what is sent to a task of version 4, its version then
    (dict(name="Other"), 5), (dict(estStarted="2026-02-01"), 5), (dict(deadline="2026-02-21"), 5), (dict(name="Other", deadline="2026-02-21"), 5),
    (dict(name="Task one", estStarted="2026-02-02", deadline="2026-02-20"), 4), (dict(pri=2, desc="x", type="ui", estimate=9, assignedTo="dev2", story=0), 4),
]
ASSIGNING = ["POST /bugs/2/assign", "PUT /bugs/2", "POST /stories/2/assign", "POST /tasks/2/assignto", "POST /tasks/2/start", "PUT /tasks/2"]
REASSIGNED = [  # what is sent to a task of dev1, its assignee then, since when
    ("dev1", "dev1", NOW_ISO), (4, "dev1", NOW_ISO), ("dev2", "dev2", LATER), ("", None, LATER),
]
DEVEL = dict(name="A", type="devel")
WRONG_BATCHES = [  # the tasks of a batch, the broken fields
    (None, "tasks"), ([], "tasks"), ("x", "tasks"), ([DEVEL, dict(name="D")], "tasks[1].type"), ([DEVEL, dict(type="devel")], "tasks[1].name"),
    ([DEVEL, dict(name="", type="x")], "tasks[1].name tasks[1].type"), ([DEVEL, dict(DEVEL, assignedTo=99)], "tasks[1].assignedTo"), ([DEVEL, 7], "tasks[1]"),
]
OF_STORIES = [  # cases 3 to 6
    dict(product=1, story=3, title="A"), dict(product=1, story=3, title="B", deleted=True), dict(product=1, story=2, title="C"),
    dict(product=1, story=3, title="E", storyVersion=2),
]
CASES_OF_STORY = {3: {"3": "A"}, 2: {"5": "C"}, 0: {}}  # a task's story: the cases that the task then shows
MINE = dict(all=[6, 5, 4, 3, 2, 1], unclosed=[4, 3, 2, 1], pause=[3], closed=[6])
PROGRESS = [  # hours consumed, hours left, the progress
    (0, 0, 0), (0, 5, 0), (1, 2, 33), (1, 7, 13), (1, 199, 1), (1, 200, 0), (2.3, 1.7, 58), (0.7, 4.9, 13),
]
# fmt: on


class TestTasks:
    """Creating and changing tasks."""

    @each(("sent", "names"), ASSIGNEES)
    def test_each_assignee_gets_a_task_and_the_last_is_the_answer(self, world, sent, names):
        answer = world.task(3, assignedTo=sent)
        made = world.dump()["tasks"][2:]
        for task, name in zip(made, names, strict=True):
            since = NOW_ISO if name else None
            holds(task, assignedTo=name, assignedDate=since)
        assert answer["id"] == task["id"]

    @each("line", ASSIGNING)
    def test_array_with_one_account_is_taken_for_one_assignee(self, world, line):
        assigned = send(world, line, dict(assignedTo=["dev2"]))["assignedTo"]
        assert assigned in ("dev2", reference("dev2"))
        assert broken(world, line, dict(assignedTo=["dev1", "dev2"])) == "assignedTo"

    def test_one_wrong_assignee_means_no_task_and_no_user(self, world):
        accounts = ["new1", "not an account"]
        body = good(TASKS, assignedTo=accounts)
        assert broken(world, TASKS, body) == "assignedTo"

    @each(("sent", "wrong"), WRONG_BATCHES)
    def test_batch_makes_all_tasks_or_none(self, shop, sent, wrong):
        batch = dict(tasks=sent)
        assert broken(shop, "POST /executions/2/tasks/batchCreate", batch) == wrong

    def test_batch_makes_at_most_a_thousand_tasks(self, shop):
        line = "POST /executions/2/tasks/batchCreate"
        refusal = shop.refused(*line.split(), dict(tasks=[DEVEL] * 1001))
        assert refusal["fields"] == {"tasks": "must have at most 1,000 items (got 1001)"}
        made = send(shop, line, dict(tasks=[DEVEL] * 1000))
        assert len(made["task"]) == 1000
        schema = DOCUMENT["components"]["schemas"]["TasksToCreate"]["properties"]["tasks"]
        assert (schema["minItems"], schema["maxItems"]) == (1, 1000)

    @each(("body", "version"), VERSIONS)
    def test_version_grows_when_name_or_plan_change(self, world, body, version):
        task = world.put("/tasks/1", **body)
        assert task["version"] == version

    @each(("sent", "account", "since"), REASSIGNED)
    def test_assigned_date_is_now_when_the_assignee_changes(self, work, sent, account, since):
        task = work.put("/tasks/1", assignedTo=sent)
        holds(task, assignedTo=account, assignedDate=since)

    def test_cases_are_those_of_the_story_in_its_version(self, filled):
        filled.load(testcases=OF_STORIES)
        for story, cases in CASES_OF_STORY.items():
            task = filled.put("/tasks/1", story=story)
            assert task["cases"] == cases

    def test_mine_are_the_tasks_assigned_to_whoever_asks(self, work):
        assert work.get("/tasks")["total"] == 0
        work.token = work.token_of("dev1")
        for status, found in MINE.items():
            tasks = work.get(f"/tasks?status={status}")["tasks"]
            assert ids(tasks) == found
        refusal = work.refused("GET", "/tasks?status=open")
        assert "unclosed" in refusal["fields"]["status"]

    @each(("consumed", "left", "progress"), PROGRESS)
    def test_progress_is_rounded_half_up(self, world, consumed, left, progress):
        hours = dict(consumed=consumed, left=left)
        task = world.post("/tasks/2/restart", **hours)
        assert task["progress"] == progress


# fmt: off
DONE = dict(EMPTIED, finishedBy=QA1, finishedDate=LATER, left=0)
CLOSED = dict(closedBy=QA1, closedDate=LATER, closedReason=lambda task: {"done": "done", "cancel": "cancel"}.get(task["status"], ""))
CANCELED = dict(canceledBy=QA1, canceledDate=LATER)
TO_QA1, TO_PM1 = [dict(assignedTo=reference(account), assignedDate=LATER) for account in ("qa1", "pm1")]
BY_QA1 = dict(TO_QA1, assignedToRealName="Quin Test")
BEGUN, ONWARD = {**UNFINISHED, **BY_QA1}, dict(consumed=4, left=1)
THEN = dict(realStarted=NOW_ISO, finishedDate="2026-11-20T08:00:00Z")
def known_start(task): return task["realStarted"] or LATER
AT_ONCE = dict(UNFINISHED, left=6, realStarted=known_start)
RESTARTED = {**BEGUN, **ONWARD, "realStarted": known_start}
TASK_MOVES = [
    # move,      what is sent,            leads, from: wait   doing  pause  done   cancel closed   changes                              logged
    ("start",    dict(assignedTo="qa1"),              "doing  -      doing  doing  doing  doing",  {**BEGUN, "realStarted": LATER},      "started"),
    ("restart",  dict(ONWARD, assignedTo="qa1"),      "doing  doing  doing  doing  doing  doing",  RESTARTED,                            "restarted"),
    ("finish",   dict(THEN, assignedTo="qa1"),        "done   done   done   done   done   done",   {**DONE, **BY_QA1, **THEN},           "finished"),
    ("pause",    {},                                  "pause  pause  -      -      -      -",      {},                                   "paused"),
    ("close",    {},                                  "closed closed closed closed closed -",      CLOSED,                               "closed"),
    ("cancel",   {},                                  "cancel cancel cancel -      -      -",      CANCELED,                             "canceled"),
    ("active",   {},                                  "-      -      doing  doing  doing  doing",  dict(UNFINISHED, activatedDate=LATER), "activated"),
    ("assignto", dict(assignedTo="qa1"),              "wait   doing  pause  done   cancel closed", BY_QA1,                               "assigned"),
    ("assignto", dict(assignedTo="dev1", left=7),     "wait   doing  pause  done   cancel closed", dict(left=7),                         "assigned"),
    ("",         dict(status="wait"),                 "wait   -      doing  wait   wait   -",      UNFINISHED,                           "set to {}"),
    ("",         dict(status="doing", left=6),        "doing  doing  doing  doing  doing  -",      AT_ONCE,                              "set to {}"),
    ("",         dict(status="pause", left=6),        "pause  pause  pause  pause  pause  -",      dict(UNFINISHED, left=6),             "set to {}"),
    ("",         dict(status="done"),                 "-      done   done   done   -      done",   DONE,                                 "set to {}"),
    ("",         dict(status="cancel"),               "cancel cancel cancel cancel cancel cancel", {**UNFINISHED, **CANCELED},           "set to {}"),
    ("",         dict(status="closed"),               "closed closed closed closed closed closed", {**UNFINISHED, **CLOSED},             "set to {}"),
    ("",         dict(status="gone"),                 "-      -      -      -      -      -",      {},                                   ""),
]
PUT_HOURS = [  # the task's state; what is sent; then "state consumed left", or the broken field
    ("wait",   dict(consumed=3),                "doing 3 10"),   ("wait",   dict(consumed=3, left=0),            "wait 3 0"),
    ("wait",   dict(left=4),                    "wait 0 4"),     ("wait",   dict(status="done", consumed=5),     "done 5 0"),
    ("wait",   dict(estimate=12),               "wait 0 12"),    ("wait",   dict(estimate=12, left=3),           "wait 0 3"),
    ("wait",   dict(status="doing", left=0),    "left"),         ("done",   dict(status="pause"),                "left"),
    ("doing",  dict(consumed=6),                "doing 6 6"),    ("doing",  dict(consumed=2),                    "consumed"),
    ("doing",  dict(left=9),                    "doing 4 9"),    ("doing",  dict(left=0),                        "left"),
    ("doing",  dict(estimate=12),               "doing 4 6"),    ("doing",  dict(status="done", consumed=7, left=2), "done 7 0"),
    ("pause",  dict(left=0),                    "left"),         ("done",   dict(left=3),                        "left"),
    ("doing",  dict(closedReason="done"),       "closedReason"), ("pause",  dict(estimate=12, consumed=5),       "pause 5 6"),
]
REFUSED_WAITS = [  # the task's state, what is sent beside "wait", the rule
    (state, sent, f"must not be wait for a task in state {state} with hours consumed and left (got \"wait\")")
    for state, sent in (("doing", {}), ("doing", dict(consumed=5, name="N")), ("closed", dict(left=3)))
]
WAITING = {  # the tasks 1 and 2 are of execution 2
    "projects": [dict(id=1, name="P")],
    "executions": [dict(id=2, name="E", project=1), dict(id=3, name="F", project=1, realBegan="2026-01-12")],
    "tasks": [dict(id=id, name="T", execution=home) for id, home in ((1, 2), (2, 2), (3, 3))],
}
BEGUN_ON = {"/projects/1": "2026-11-21", "/executions/2": "2026-11-21", "/executions/3": "2026-01-12"}
STARTED = [  # move, the real start that is sent, the one that is shown: in any form and zone
    ("start",   "2026-02-06 08:30:00",       "2026-02-06 08:30:00"), ("start",  "2026-02-06",               "2026-02-06 00:00:00"),
    ("restart", "2026-02-06T08:30:00+02:00", "2026-02-06 06:30:00"), ("start",  "2026-02-09T17:00:00.523Z", "2026-02-09 17:00:00"),
    ("restart", None,                        "2026-01-03 04:00:00"), ("finish", None,                       "2026-01-03T04:00:00Z"),
]
# fmt: on


class TestTaskMoves:
    """From which states a task gets into which, and what changes with it."""

    @each("row", TASK_MOVES, ids=name_of_move)
    def test_move_leads_where_it_should_and_changes_nothing_else(self, work, row):
        make_moves(work, "tasks", *row)

    @each(("state", "sent", "wanted"), PUT_HOURS)
    def test_put_of_hours(self, work, state, sent, wanted):
        path = task_in(state)
        if " " in wanted:
            task = work.put(path, **sent)
            assert hours_of(task) == wanted
        else:
            assert broken(work, f"PUT {path}", sent) == wanted

    @each(("state", "sent", "rule"), REFUSED_WAITS)
    def test_begun_task_cannot_be_sent_back_to_wait(self, work, state, sent, rule):
        path = task_in(state)
        refusal = work.refused("PUT", path, {"status": "wait", **sent})
        assert refusal["fields"] == {"status": rule}

    def test_estimate_of_begun_work_leaves_what_is_left(self, work):
        work.put("/tasks/1", consumed=3, left=0)
        task = work.put("/tasks/1", estimate=12)
        assert hours_of(task) == "wait 3 0"

    @each("state", HOURS_IN)
    def test_record_that_was_read_can_be_sent_back(self, work, state):
        path = task_in(state)
        before = work.get(path)
        work.put(path, **before)
        unchanged_but(before, work.get(path))
        changed = {**before, "desc": "new"}
        sent = {**changed, "assignedTo": "dev1"}
        work.put(path, **sent)
        unchanged_but(changed, work.get(path))

    @each(("move", "sent", "shown"), STARTED)
    def test_real_start_is_what_was_sent_or_known(self, world, move, sent, shown):
        request = f"POST /tasks/1/{move}"
        body = good(request, realStarted=sent)
        task = send(world, request, body)
        assert task["realStarted"] == shown

    def test_restart_of_a_task_that_was_never_started_starts_it_now(self, world):
        restarted = world.post("/tasks/2/restart", consumed=1, left=2)
        assert restarted["realStarted"] == spaced(NOW_ISO)
        finished = world.post("/tasks/2/finish", finishedDate="2026-11-21")
        assert finished["realStarted"] == NOW_ISO

    def test_moments_without_zone_are_local_to_the_service(self, shanghai):
        task = f"/tasks/{shanghai.task()['id']}"
        started = shanghai.post(f"{task}/start", realStarted="2026-02-06 08:30:00")
        holds(started, realStarted="2026-02-06 08:30:00", openedDate="2026-11-20 15:42:17")
        finished = shanghai.post(f"{task}/finish", finishedDate="2026-02-09")
        holds(finished, realStarted="2026-02-06T00:30:00Z", finishedDate="2026-02-08T16:00:00Z")

    def test_hours_add_up_as_a_person_adds_them(self, world):
        world.post("/tasks/1/restart", consumed=8.1, left=0)
        last = good(FINISH, currentConsumed=0.2)
        done = world.post("/tasks/1/finish", **last)
        assert done["consumed"] == 8.3

    def test_finish_without_an_assignee_gives_the_task_to_its_opener(self, work):
        work.put("/tasks/2", assignedTo="")
        day = dict(finishedDate="2026-11-21")
        work.post("/tasks/2/finish", **day)
        work.post("/tasks/3/finish", **day, assignedTo="")
        for path in ("/tasks/2", "/tasks/3"):
            task = work.get(path)
            holds(task, assignedTo="pm1", assignedDate=LATER)

    @each("request_line", ["POST /tasks/1/start", "PUT /tasks/1", "POST /tasks/1/estimate"])
    def test_first_start_begins_the_execution_and_its_project(self, shanghai, request_line):
        shanghai.load(**WAITING)
        shanghai.clock.set("2026-11-20T17:00:00Z")  # the 21st in Shanghai
        body = dict(status="doing", consumed=1, left=1)
        send(shanghai, request_line, body)
        shanghai.clock.forward(days=1)
        assert shanghai.get("/executions/3")["status"] == "wait"
        shanghai.post("/tasks/2/start")
        shanghai.post("/tasks/3/start")
        for path, day in BEGUN_ON.items():
            home = shanghai.get(path)
            holds(home, status="doing", realBegan=day)


# fmt: off
EFFORTS = [  # the task's state, its efforts (day, hours consumed, hours left), the state and the hours then
    ("wait",   "2026-11-16 2 8",                 "doing 2 8"), ("wait",  "2026-11-20 0.5 0.25",            "doing 0.5 0.25"),
    ("doing",  "2026-11-17 3 5, 2026-11-18 2 3", "doing 9 3"), ("doing", "2026-11-18 3 3, 2026-11-17 2 5", "doing 9 3"),
    ("doing",  "2026-11-18 3 0",                 "done 7 0"),  ("pause", "2026-11-18 3 2",                 "doing 7 2"),
    ("done",   "2026-11-18 1 2",                 "doing 5 2"), ("cancel", "2026-11-18 1 2",                "doing 1 2"),
    ("closed", "2026-11-18 1 2",                 "doing 5 2"), ("wait",  "2026-11-18 1 0",                 "done 1 0"),
    ("pause",  "2026-11-18 3 0",                 "done 7 0"),  ("done",  "2026-11-18 1 0",                 "done 5 0"),
    ("cancel", "2026-11-18 1 0",                 "done 1 0"),  ("closed", "2026-11-18 1 0",                "done 5 0"),
]
ONE_BY_ONE = {  # efforts of a task that has 6 hours left, the hours left after each
    "2026-11-16 1 5": 5, "2026-11-10 1 9": 5, "2026-11-16 1 4": 4, "2026-11-15 1 0": 4, "2026-11-19 1 3": 3,
}
NO_EFFORTS = [  # what is sent, the broken fields
    (dict(consumed=[], left=[]), "consumed"), (dict(consumed=0, left=-1), "consumed left"), (dict(consumed="x", left=2), "consumed"),
    (dict(consumed=[1, 0], left=[1, 1]), "consumed"), (dict(consumed=[1, 1], left=1, work="w", dates="2026-11-18"), "dates left work"),
    (dict(consumed=1, left=1, date="2026-11-21"), "date"), (dict(consumed=1, left=1, dates="2026-02-30"), "dates"),
    (dict(consumed=[1, 1], left=[1, 1], dates=["2026-11-17", "2026-11-21"]), "dates"),
]
# fmt: on


def effort_body(efforts):
    """Return what a request says of efforts, "2026-11-17 3 5, 2026-11-18 2 3", in arrays."""
    rows = [effort.split() for effort in efforts.split(", ")]
    dates, consumed, left = zip(*rows, strict=True)
    return dict(dates=dates, consumed=consumed, left=left)


class TestEfforts:
    @each(("state", "efforts", "wanted"), EFFORTS)
    def test_efforts_add_hours_and_move_the_task(self, work, state, efforts, wanted):
        path = task_in(state)
        sent = effort_body(efforts)
        before = work.get(path)
        after = work.post(f"{path}/estimate", **sent)
        assert hours_of(after) == wanted
        changes = dict(UNFINISHED, realStarted=before["realStarted"] or LATER)
        if after["status"] == "done":
            opener = dict(TO_PM1, assignedToRealName="Pam Manager")
            changes |= dict(DONE, **opener)
        elif state != "doing":
            changes |= BY_QA1
        wanted = {**before, **changes}
        unchanged_but(wanted, after, "status", "consumed", "left", "progress", "cases")
        recorded = work.get(f"{path}/estimate")["effort"]
        hours = sum(effort["consumed"] for effort in recorded)
        assert after["consumed"] == before["consumed"] + hours
        days = [effort["date"] for effort in recorded]
        assert days == sorted(sent["dates"])
        for effort in recorded:
            assert effort["task"] == before["id"]
            holds(effort, account="qa1", work="")

    def test_one_effort_needs_no_arrays_and_no_day(self, work):
        path = f"{task_in('wait')}/estimate"
        today = dict(work="w", consumed=2, left=8)
        yesterday = dict(date="2026-11-19", work="v", consumed=1, left=7)
        work.post(path, **today)
        work.post(path, **yesterday, id=[7])
        first, second = work.get(path)["effort"]
        holds(first, **today, date="2026-11-20")
        holds(second, **yesterday)

    @each(("sent", "wrong"), NO_EFFORTS)
    def test_of_wrong_efforts_nothing_is_kept(self, work, sent, wrong):
        assert broken(work, "POST /tasks/1/estimate", sent) == wrong

    def test_earlier_effort_only_adds_its_hours(self, work):
        path = task_in("doing")
        for effort, left in ONE_BY_ONE.items():
            sent = effort_body(effort)
            task = work.post(f"{path}/estimate", **sent)
            holds(task, left=left, status="doing")
        assert task["consumed"] == 9
        recorded = work.get(f"{path}/estimate")["effort"]
        in_order = [effort["left"] for effort in recorded]
        assert in_order == [5, 9, 4, 0, 3]

    def test_only_estimates_make_efforts(self, work):
        work.post("/tasks/1/start", consumed=1, left=2)
        work.put("/tasks/1", consumed=2)
        work.post("/tasks/1/finish", finishedDate="2026-11-21", currentConsumed=1)
        recorded = work.get("/tasks/1/estimate")
        assert recorded["effort"] == []


# fmt: off
RESOLVED = dict(confirmed=1, resolution="fixed", resolvedBy=QA1, resolvedDate=LATER)
SHUT = dict(closedBy=QA1, closedDate=LATER)
TWICE = dict(resolution="duplicate", duplicateBug=2, resolvedDate="2026-11-19T10:00:00Z")
ACTIVATED = dict(REOPENED, activatedCount=lambda bug: bug["activatedCount"] + 1, activatedDate=LATER)
BUG_MOVES = [
    # move,     what is sent,               leads, from: active   resolved closed     changes                                    logged
    ("confirm", {},                                     "active   -        -",        dict(confirmed=1),                         "confirmed"),
    ("resolve", dict(resolution="fixed"),               "resolved -        -",        dict(RESOLVED, **TO_PM1),                  "resolved"),
    ("resolve", dict(TWICE, assignedTo="qa1"),          "resolved -        -",        {**RESOLVED, **TO_QA1, **TWICE},           "resolved"),
    ("close",   {},                                     "-        closed   -",        SHUT,                                      "closed"),
    ("active",  {},                                     "-        active   active",   ACTIVATED,                                 "activated"),
    ("activate", dict(assignedTo="qa1"),                "-        active   active",   {**ACTIVATED, **TO_QA1},                   "activated"),
    ("assign",  dict(assignedTo="qa1"),                 "active   resolved closed",   TO_QA1,                                    "assigned"),
    ("assign",  dict(assignedTo=""),                    "active   resolved closed",   dict(TO_QA1, assignedTo=None),             "assigned"),
    ("",        dict(resolution="fixed"),               "resolved resolved closed",   RESOLVED),
    ("",        dict(status="resolved", resolution="postponed"), "resolved -   -",    dict(RESOLVED, resolution="postponed")),
    ("",        dict(status="closed"),                  "-        closed   closed",   SHUT),
    ("",        dict(closedBy="dev2"),                  "-        closed   -",        dict(SHUT, closedBy=reference("dev2"))),
    ("",        dict(status="resolved"),                "-        resolved -",        {}),
    ("",        dict(status="active"),                  "active   active   active",   ACTIVATED),
    ("",        dict(resolvedBuild="b1"),               "-        resolved closed",   {}),
    ("",        dict(resolution="mended"),              "-        -        -",        {}),
    ("",        dict(status="gone"),                    "-        -        -",        {}),
]
# fmt: on


# fmt: off
PROJECT_OF_BUG = [({}, 4), (dict(project=1), 1)]  # what is sent with execution 5, the project of the bug
HOMES = [  # what is sent to a bug, the list that has it then
    (dict(execution=3), "/executions/3/bugs"), (dict(project=4), "/projects/4/bugs"),
    (dict(product=2), "/products/2/bugs"), (dict(product=2), "/bugs?product=2"),
]
BROWSING = dict(needconfirm=2, longlifebugs=4, assignedbyme=2)  # a kind of browsing: the one bug of BROWSED that it finds
BROWSED = {
    "stories": [dict(id=1, product=1, title="S", version=2)],
    "bugs": [dict(more, product=1, title="B") for more in (dict(story=1, storyVersion=2), dict(story=1, storyVersion=1),
                                                           dict(openedDate="2026-11-13T07:42:17Z"), dict(openedDate="2026-11-13T07:42:16Z"))],
}
# fmt: on


class TestBugs:
    def test_unset_dates_of_a_list_stay_unset_when_they_are_sent_back(self, world):
        bug, *_ = world.get("/products/1/bugs")["bugs"]
        assert bug["deadline"] == "1970-01-01"
        bug["title"] = "N"
        kept = world.put(f"/bugs/{bug['id']}", **bug)
        holds(kept, deadline=None, title="N")

    @each("row", BUG_MOVES, ids=name_of_move)
    def test_move_leads_where_it_should_and_changes_nothing_else(self, work, row):
        make_moves(work, "bugs", *row)

    def test_put_resolves_and_closes_at_once(self, work):
        work.put("/bugs/1", assignedTo="")
        sent = dict(status="closed", resolution="fixed")
        bug = work.put("/bugs/1", **sent)
        holds(bug, **sent, assignedTo="pm1")
        holds(bug, resolvedBy="qa1", closedBy="qa1")

    def test_resolved_bug_that_is_taken_from_its_assignee_goes_to_its_opener(self, work):
        bug = work.put("/bugs/1", resolution="fixed", assignedTo="")
        holds(bug, status="resolved", assignedTo="pm1", assignedDate=LATER)

    def test_new_bug_belongs_to_the_project_of_its_execution(self, shop):
        for sent, project in PROJECT_OF_BUG:
            body = dict(BUG, execution=5, **sent)
            bug = shop.post("/products/1/bugs", **body)
            holds(bug, execution=5, project=project)

    @each(("sent", "path"), HOMES)
    def test_bug_is_listed_where_it_belongs_now(self, filled, sent, path):
        assert not shows(filled, path, "1")
        bug = filled.put("/bugs/1", **sent)
        holds(bug, **sent)
        assert shows(filled, path, "1")

    def test_kinds_of_browsing_have_their_bounds(self, shop):
        shop.load(**BROWSED)
        shop.post("/bugs/1/assign", assignedTo="dev1")
        shop.token = shop.token_of("qa1")
        shop.post("/bugs/2/assign", assignedTo="dev1")
        for status, found in BROWSING.items():
            (bug,) = shop.get(f"/bugs?status={status}")["bugs"]
            assert bug["id"] == found


# fmt: off
WRONG_RESULTS = [  # query, steps, the broken field
    ("", [dict(result="maybe")], "steps[0].result"), ("", [{}, {}, {}], "steps"), ("", "x", "steps"),
    ("?version=2", [], "version"), ("?testtask=99", [], "testtask"),
]
GROUPED_STEPS = [  # the type of a step, its parent
    ("step", 0), ("group", 0), ("item", 2), ("item", 2), ("step", 0), ("group", 0), ("item", 6),
]
GROUP_AND_ITEM = [dict(id=9, type="group", desc="G"), dict(id=5, type="item", desc="I")]
RESULTS = [  # the results of the steps, the result of the case
    ("", "pass"), ("pass pass", "pass"), ("pass fail", "fail"), ("fail blocked", "fail"), ("n/a fail", "fail"), ("pass n/a", "pass"),
    ("pass blocked", "blocked"),
]
SAME_STEPS = [dict(desc="a"), dict(desc="b")]
STEPS_SENT = [  # the steps that are sent to a case with the first two, its version then
    (SAME_STEPS, 1), ([], 1), ([dict(desc="a", type="step", expect=""), dict(desc="b")], 1), (SAME_STEPS[:1], 2), (SAME_STEPS[::-1], 2),
    ([dict(desc="a", expect="c"), dict(desc="b")], 2), ([dict(desc="a", type="group"), dict(desc="b")], 2),
]
# fmt: on


class TestCases:
    """Test cases, their steps, and the results of their runs."""

    def test_bugs_of_a_case_know_its_version_and_it_knows_them(self, world):
        bug = world.post("/products/1/bugs", **BUG, case=1)
        assert bug["caseVersion"] == 4
        world.put("/testcases/1", steps=[dict(desc="other")])
        path = f"/bugs/{bug['id']}"
        for sent, version in (
            (dict(title="N"), 4),
            (dict(case=1), 5),
            (dict(case=2, caseVersion=3), 3),
            (dict(case=0), 3),
            (dict(case=99), 3),
        ):
            assert world.put(path, **sent)["caseVersion"] == version
            found = [dict(id=bug["id"], title="N")] if sent.get("case") == 1 else []
            if "case" in sent:
                assert world.get("/testcases/1")["toBugs"] == found
        world.put(path, case=1)
        remove(world, path)
        assert world.get("/testcases/1")["toBugs"] == []

    def test_stages_are_joined_by_commas(self, shop):
        case = shop.case(1, stage=["unittest", "intergrate"])
        assert case["stage"] == "unittest,intergrate"

    def test_items_lie_below_the_last_group_before_them(self, shop):
        types, parents = zip(*GROUPED_STEPS, strict=True)
        sent = [dict(desc="a", type=type) for type in types]
        del sent[0]["type"]
        made = shop.case(1, steps=sent)["steps"]
        for step, type, parent in zip(made, types, parents, strict=True):
            assert step["type"] == type
            assert step["parent"] == parent
        changed = shop.put("/testcases/1", steps=sent[1:4])
        group, *items = changed["steps"]
        assert group["parent"] == 0
        for item in items:
            assert item["parent"] == group["id"]

    def test_item_of_a_fixture_belongs_to_no_group_after_it(self, shop):
        case = dict(OF_PRODUCT, steps=GROUP_AND_ITEM)
        shop.load(testcases=[case])
        item, group = shop.get("/testcases/1")["steps"]
        holds(item, id=5, parent=0)
        holds(group, id=9, parent=0)

    @each(("sent", "version"), STEPS_SENT)
    def test_other_steps_make_a_version_with_new_ids(self, filled, sent, version):
        before = filled.get("/testcases/1")["steps"]
        case = filled.put("/testcases/1", steps=sent)
        assert case["version"] == version
        if version == 1:
            assert case["steps"] == before
        else:
            shown = case["steps"]
            new_ids = [3, 4]
            assert ids(shown) == new_ids[: len(sent)]
            for made, step in zip(shown, sent, strict=True):
                holds(made, version=2, **step)

    @each(("results", "outcome"), RESULTS)
    def test_result_fails_when_a_step_fails(self, filled, results, outcome):
        before = filled.get("/testcases/1")
        steps = [dict(result=one, real="r") for one in results.split()]
        filled.token = filled.token_of("qa1")
        for id in (1, 2):
            result = filled.post("/testcases/1/results", steps=steps)
            holds(result, id=id, case=1, caseResult=outcome)
            holds(result, lastRunner="qa1", date=NOW_ISO)
        ran = result["stepResults"]
        for step, shown in zip(steps, ran, strict=False):
            assert shown.items() >= step.items()
        fails = 2 if outcome == "fail" else 0
        after = filled.get("/testcases/1")
        before |= dict(lastRunner="qa1", lastRunDate=NOW_ISO)
        before |= dict(lastRunResult=outcome, caseFails=fails)
        assert lines(after) == lines(before)

    def test_results_are_of_a_test_task_and_a_version(self, filled):
        path = "/testcases/1/results"
        filled.put("/testcases/1", steps=SAME_STEPS[::-1])
        failed = dict(result="fail")
        filled.post(f"{path}?testtask=1&version=2", steps=[failed, {}])
        filled.post(f"{path}?version=1", steps=[dict(real="r")])
        second, first = filled.get(path)["results"]
        assert ids([first, second]) == [1, 2]
        holds(first, version=2, testtask=1, caseResult="fail")
        holds(second, version=1, testtask=0, caseResult="pass")
        _, not_run = first["stepResults"]
        assert "result" not in not_run
        step, _ = second["stepResults"]
        holds(step, result="pass", real="r")
        case = filled.get("/testcases/1")
        holds(case, lastRunResult="pass", caseFails=1)

    @each(("query", "steps", "wrong"), WRONG_RESULTS)
    def test_wrong_results_are_refused(self, filled, query, steps, wrong):
        body = dict(steps=steps)
        assert broken(filled, f"POST /testcases/1/results{query}", body) == wrong


class TestBuilds:
    def test_name_is_free_in_another_product_and_after_a_deletion(self, filled):
        path = "/projects/1/builds"
        body = good(f"POST {path}", name="B1")
        rule = NAME_TAKEN.format("B1")
        assert filled.refused("POST", path, body)["fields"] == {"name": rule}
        elsewhere = {**body, "product": 2}
        filled.post(path, **elsewhere)
        remove(filled, "/builds/1")
        made = filled.post(path, **body)
        assert filled.put(f"/builds/{made['id']}", name="B1")["name"] == "B1"

    def test_build_keeps_a_product_that_has_left_the_project(self, filled):
        filled.sql("DELETE FROM project_product WHERE product = 1")
        sent = dict(product=1, desc="d")
        kept = filled.put("/builds/1", **sent)
        holds(kept, **sent)

    @each(
        "path", ["/projects/1/builds?", "/executions/2/builds?", "/builds?project=1&", "/builds?"]
    )
    def test_builds_come_whole_unless_a_page_is_asked_for(self, shop, path):
        build = dict(least("POST /builds", 2), project=1)
        builds = [dict(build, name=f"B{n}") for n in range(22)]
        builds[3]["date"] = "2026-11-21"
        shop.load(builds=builds)
        whole = shop.get(path)
        listed = whole.pop("builds")
        assert whole == {"total": 22}
        assert len(listed) == 22
        latest_first = ids(listed)
        assert latest_first[:3] == [4, 22, 21]
        page = shop.get(f"{path}limit=5&page=5")
        assert page.pop("builds") == listed[20:]
        assert page == dict(page=5, total=22, limit=5)
        assert shop.get("/builds?project=4")["total"] == 0


class TestReleases:
    def test_release_shows_its_build_s_name_while_there_is_one(self, filled):
        sent = dict(RELEASE, build=1, stories="1,2", bugs="3")
        made = filled.post("/projects/1/releases", **sent)
        holds(made, buildID=1, buildName="B1")
        filled.put("/builds/1", name="N")
        lists = ("/projects/1/releases", "/products/1/releases", "/releases?product=1", "/releases")
        for build_name in ("N", ""):
            shown = [filled.get("/releases/2")]
            for path in lists:
                first, *_ = filled.get(path)["releases"]
                shown.append(first)
            for release in shown:
                holds(release, **sent, buildName=build_name)
                holds(release, projectName="Pr", productName="Shop")
            if build_name:
                remove(filled, "/builds/1")
        assert filled.get("/releases?product=2")["total"] == 0


# fmt: off
USUAL_ROUND = dict(owner=None, status="wait", pri=3, type="", desc="", testcases=[], project=1, realFinishedDate=None)
ROUNDS = {  # list: the ids of its test tasks
    "/testtasks?status=totalStatus": [5, 4, 3, 2, 1], "/testtasks?status=doing": [5, 2],
    "/testtasks?product=2": [5], "/projects/1/testtasks?status=blocked": [4],
}
# fmt: on


class TestTestTasks:
    def test_test_task_has_defaults(self, shop):
        run = least("POST /projects/<id>/testtasks", 2)
        answer = shop.call("POST", "/testtasks", run)
        assert answer.status_int == 201
        holds(answer.json, **run, **USUAL_ROUND)

    def test_cases_go_in_as_ids_and_come_out_as_records(self, filled):
        run = filled.put("/testtasks/1", testcases=[1, "2"], build=1)
        holds(run, build="1", buildName="B1")
        first, second = run["testcases"]
        holds(first, case=1, title="C", task=1)
        holds(second, case=2, title="D", task=1)
        filled.put("/testtasks/1", testcases=["2"])
        run = filled.put("/testtasks/1", build="trunk")
        assert run["build"] == "trunk"
        (kept,) = run["testcases"]
        assert kept["case"] == 2

    def test_lists_take_product_and_status(self, filled):
        run = least("POST /projects/<id>/testtasks", 2)
        for state in ("doing", "done", "blocked"):
            one = dict(run, status=state)
            filled.load(testtasks=[one])
        body = good("POST /projects/5/testtasks", product=2, status="doing")
        filled.post("/testtasks", **body)
        for path, found in ROUNDS.items():
            listed = filled.get(path)["testtasks"]
            assert ids(listed) == found, path


# fmt: off
TREES = [[1, ",1,", 1, 10, [2, ",1,2,", 2, 10, [3, ",1,2,3,", 3, 10]]], [4, ",4,", 1, 20]]
DEPARTMENTS_MOVED = [
    ("PUT /departments/2",    dict(parent=4, name="Net"),  "",                 dict(parent=4, path=",4,2,", grade=2, name="Net")),
    ("GET /departments/3",    None,                        "",                 dict(path=",4,2,3,", grade=3)),
    ("PUT /departments/2",    dict(parent=0),              "/departments/3",   dict(path=",2,3,", grade=2)),
]
# fmt: on


def chain(first, levels):
    """Return departments of which each is below the one before."""
    departments = [dict(id=first, name="D")]
    for id in range(first + 1, first + levels):
        below = dict(id=id, name="D", parent=id - 1)
        departments.append(below)
    return departments


def trees(departments):
    """Return id, path, grade and order of each department, with the trees below it."""
    found = []
    for one in departments:
        children = one.get("children", [])
        below = trees(children)
        place = one["id"], one["path"], one["grade"], one["order"]
        found.append([*place, *below])
    return found


class TestDepartments:
    def test_list_is_of_trees(self, shop):
        for parent in (0, 1, 2, 0):
            shop.post("/departments", name="D", parent=parent)
        listed = shop.get("/departments")
        assert trees(listed) == TREES
        single = shop.get("/departments/1")
        assert "children" not in single

    def test_moving_one_moves_all_below(self, filled):
        follow(filled, DEPARTMENTS_MOVED)

    def test_empty_one_is_really_removed(self, filled):
        filled.put("/users/dev1", dept=3)
        for id in (1, 2, 3):
            filled.refused("DELETE", f"/departments/{id}")
        remove(filled, "/departments/4")
        for method in ("GET", "DELETE"):
            filled.refused(method, "/departments/4", status=404)
        filled.put("/users/dev1", dept=0)
        remove(filled, "/departments/3", "/departments/2", "/departments/1")
        assert filled.get("/departments") == []
        assert filled.dump()["departments"] == []

    def test_fixture_has_50_levels_at_most(self, client):
        refusal = r"departments\[50\]\.parent .* more than 50 levels"
        with pytest.raises(pmservice.StartError, match=refusal):
            client.load(departments=chain(1, 51))
        assert client.get("/departments") == []
        client.load(departments=chain(1, 50))
        assert client.get("/departments/50")["grade"] == 50

    def test_new_one_makes_50_levels_at_most(self, client):
        client.load(departments=chain(1, 49))
        last = client.post("/departments", name="D", parent=49)
        assert last["grade"] == 50
        below = dict(name="D", parent=50)
        assert broken(client, "POST /departments", below) == "parent"

    @each("levels", [1, 25, 49])
    def test_moved_one_takes_its_levels_along(self, client, levels):
        below = 50 - levels
        client.load(departments=chain(1, 50))
        client.load(departments=chain(101, levels))
        too_low = dict(parent=below + 1)
        refusal = client.refused("PUT", "/departments/101", too_low)
        assert "more than 50 levels" in refusal["fields"]["parent"]
        moved = client.put("/departments/101", parent=below)
        assert moved["grade"] == below + 1
        last = client.get(f"/departments/{100 + levels}")
        assert last["grade"] == 50
        moved = client.put("/departments/101", parent=0)
        assert moved["grade"] == 1


EVE = dict(id=20, account="eve", password=SECRET)
AS_EVE = dict(account="eve", password="secret")
BOSS = dict(account="boss", realname="Bo", admin=True)


class TestUsers:
    def test_administrators_make_users_who_can_log_in(self, world):
        user = dict(account="qa9", password="pass word", realname="Qi")
        made = world.post("/users", **user)
        assert world.get(f"/users/{made['id']}") == made
        assert "password" not in made
        world.token = world.login("qa9", "pass word")
        no_role = {"code": "", "name": ""}
        profile = {**made, "role": no_role}
        assert world.get("/user") == {"profile": profile}

    def test_account_is_taken_by_those_with_a_password(self, world):
        world.load(users=[EVE])
        taken = world.refused("POST", "/users", AS_EVE)
        assert taken["fields"] == {"account": 'is taken (got "eve")'}
        made = world.post("/users", account="qa1", password="another")
        assert made["id"] == 6  # a person field had made this user, without a password
        assert world.login("qa1", "another")

    def test_unknown_account_is_not_found(self, shop):
        for method in ("GET", "PUT", "DELETE"):
            shop.refused(method, "/users/nobody", {}, status=404)

    @pytest.fixture
    def eve(self, shop):
        """Yield an app that eve calls, whose password is "secret"."""
        shop.load(users=[EVE])
        shop.token = shop.token_of("eve")
        return shop

    def test_everybody_changes_the_own_name_and_email(self, eve):
        for path in ("/users/eve", "/users/20"):
            changed = eve.put(path, realname="Eve", email="e@x.org")
            holds(changed, realname="Eve", email="e@x.org")
        promotion = dict(role="top", admin=True)
        eve.refused("PUT", "/users/eve", promotion, status=403)

    def test_own_new_password_ends_the_tokens(self, eve):
        eve.put("/users/eve", password="another")
        eve.refused("GET", "/user", status=401)
        eve.refused("POST", "/tokens", AS_EVE)
        assert eve.login("eve", "another")

    def test_deleted_one_is_logged_out_and_stays_out(self, eve):
        send(eve, "DELETE /users/eve", Token="t")
        assert tokens_in(eve) == ""
        eve.refused("GET", "/user", status=401)
        eve.refused("POST", "/tokens", AS_EVE)

    def test_last_administrator_and_oneself_stay(self, shop):
        shop.load(users=[BOSS])
        boss = shop.token_of("boss")
        refusal = shop.refused("DELETE", "/users/boss", Token=boss)
        assert "yourself" in refusal["error"]
        send(shop, "DELETE /users/admin", Token=boss)
        refusal = shop.refused("DELETE", "/users/boss")  # with the fixed token
        assert "last administrator" in refusal["error"]


# fmt: off
REFUSED_WORDS = [  # the request, what is sent, a word of the refusal
    ("POST /bugs/2/resolve",      dict(resolution="mended"),                 "bydesign, duplicate, external, fixed, notrepro, postponed, willnotfix"),
    ("POST /bugs/2/resolve",      dict(resolution="fixd"),                   "did you mean fixed"),
    ("PUT /bugs/2",               dict(execution=1),                         "execution"),
    ("POST /tasks/1/active",      dict(left=-1),                             "0 or more"),
    ("POST /projects/2/releases", dict(RELEASE, build=[1, 2]),               "whole number"),
    ("POST /users",               dict(account="a b", password="secret"),    "letters"),
]
SOME_OF_EACH = [
    "/programs/4", "/projects/5", "/executions/6", "/products/1", "/stories/2", "/productplans/2", "/builds/2", "/releases/1", "/testtasks/1",
    "/bugs/1", "/testcases/1", "/tasks/1",
]
# fmt: on


class TestSmallOnes:
    @each(("line", "body", "word"), REFUSED_WORDS)
    def test_refusal_says_what_is_allowed(self, world, line, body, word):
        refusal = world.refused(*line.split(), body)
        assert word in refusal["error"]

    @each("path", SOME_OF_EACH)
    def test_deleted_record_has_no_lists_and_takes_no_moves(self, world, path):
        remove(world, path)
        _, array, id = path.split("/")
        below = f"/{array}/<id>/"
        for line in INTERFACE:
            if below in line:
                method, moved = line.replace("<id>", id).split()
                body = least(line)
                world.refused(method, moved, body, status=404)

    def test_ping_shows_the_caller_s_token(self, shop):
        token = shop.token_of("dev1")
        answer = shop.call("GET", "/ping", Token=token)
        assert answer.json == {"token": token, "tokenLife": "86400"}

    def test_unknown_configuration_is_not_found(self, shop):
        refusal = shop.refused("GET", "/configurations/versoin", status=404)
        assert "did you mean version" in refusal["error"]

    def test_administrators_are_the_only_group(self, shop):
        shop.load(users=[BOSS])
        (group,) = shop.get("/groups")
        assert group["accounts"] == {"admin": "admin", "boss": "Bo"}


# --- 9 Passwords: passwords and tokens ------------------------------------------------------------


LOGIN_FAILED = {"error": "Login failed. Please check your account and password."}
SECRET_MD5 = hashlib.md5(b"secret").hexdigest()
USUAL_COST = [16384, 8, 1]  # the parameters n, r and p of every hash that is made


def fail_to_log_in(client, account, password="secret"):
    body = dict(account=account, password=password)
    answer = client.call("POST", "/tokens", body, Token=None)
    assert answer.status_int == 400
    assert answer.json == LOGIN_FAILED


def status_with(client, token="t", **headers):
    answer = client.call("GET", "/user", Token=token, **headers)
    return answer.status_int


def load_user(client, account, **facts):
    user = dict(account=account, **facts)
    client.load(users=[user])


def tokens_in(client):
    """Return the accounts of all tokens."""
    rows = client.sql("SELECT account FROM token ORDER BY 1")
    accounts = [account for (account,) in rows]
    return " ".join(accounts)


@pytest.fixture
def dev1(world):
    """Yield an app where dev1 can log in, with "secret"."""
    load_user(world, "dev1", password=SECRET)
    return world


@pytest.fixture
def two_users():
    """Yield an app with controls, where dev1 can log in, but is deleted in the snapshot "gone"."""
    dev1 = dict(account="dev1", password=SECRET)
    dev2 = dict(account="dev2")
    with opened(load={"users": [dev1, dev2]}) as client:
        remove(client, "/users/dev1")
        client.put("/-/snapshots/gone")
        client.post("/-/reset")
        yield client


# fmt: off
WRONG_PASSWORDS = ["Secret", SECRET_MD5.upper(), "", " "]
WRONG_ACCOUNTS = ["nobody", "dev2", "DEV1", "x" * 99, ""]  # dev2 has no password
PASSWORDS_SENT = [("/tokens", "secret"), ("/api.php/v1/tokens/", SECRET_MD5)]
HASHES_MADE = [("wrong", 1), (SECRET_MD5.upper(), 1), (SALT, 2)]  # a wrong password, how many hashes are made of it
PERSONS_SENT = ["dev1", 4, reference("dev1"), {"id": 4}, {"account": "dev1"}]
BROKEN_LOGINS = [  # a body, the fields that are refused
    (b"{}",                                         "account password"),
    (b'{"account": 1, "password": []}',             "password"),
    (b'{"account": "dev1", "password": "\\ud800"}', "password"),
]
# fmt: on


class TestLogins:
    @each(("path", "password"), PASSWORDS_SENT)
    def test_login_is_with_the_password_or_its_md5(self, dev1, path, password):
        body = dict(account="dev1", password=password)
        answer = dev1.call("POST", path, body, Token=None)
        assert answer.status_int == 201
        assert list(answer.json) == ["token"]
        dev1.token = answer.json["token"]
        assert dev1.get("/products")["total"] == 1  # of those that dev1 may see

    def test_failed_logins_are_answered_alike_and_lock_nobody_out(self, dev1):
        for password in WRONG_PASSWORDS:
            fail_to_log_in(dev1, "dev1", password)
        for account in WRONG_ACCOUNTS:
            fail_to_log_in(dev1, account)
        assert dev1.login("dev1")

    @each(("password", "hashes"), HASHES_MADE)
    def test_failed_login_costs_the_same_work_whoever_it_names(
        self, dev1, monkeypatch, password, hashes
    ):
        def scrypt(_, **parameters: Any) -> bytes:
            work.append([parameters[name] for name in "nrp"])
            return bytes(64)  # which is what unknown accounts are compared with

        monkeypatch.setattr(hashlib, "scrypt", scrypt)
        for account in ("dev1", "dev2", "nobody"):
            work = []
            fail_to_log_in(dev1, account, password)
            assert len(work) == hashes
            for cost in work:
                assert cost == USUAL_COST

    @each(("body", "fields"), BROKEN_LOGINS)
    def test_login_needs_two_texts(self, client, body, fields):
        assert broken(client, "POST /tokens", body) == fields

    @each("token", [None, "wrong"])
    def test_how_to_get_a_token_is_said_without_one(self, client, token):
        send(client, "GET /tokens", Token=token)

    def test_password_given_to_the_app_is_that_of_admin(self, tmp_path):
        path = tmp_path / "pm.db"
        with opened(path, password="first") as client:
            old = client.login("admin", "first")
        with opened(path, password="second") as client:
            assert status_with(client, old) == 401
            fail_to_log_in(client, "admin", "first")
            new = client.login("admin", "second")
        for password in ("second", None):  # neither is another one
            with opened(path, password=password) as client:
                assert status_with(client, new) == 200

    def test_person_is_an_account_an_id_or_a_reference(self, world):
        for person in PERSONS_SENT:
            product = world.product(PO=person)
            assert product["PO"] == reference("dev1")

    def test_new_person_becomes_a_user_who_cannot_log_in(self, world):
        account = "new.er-1@x_"
        product = world.product(PO=account)
        shown = product["PO"]
        assert shown == dict(id=9, account=account, avatar="", realname=account)
        fail_to_log_in(world, account, account)


# fmt: off
HINTS = [  # what is sent, a part of the hint
    ({},                              "Send the header `Token: <token>`."),
    ({"Token": ""},                   "Send the header `Token: <token>`."),
    ({"Authorization": "Bearer x"},   "not as `Authorization: Bearer`."),
    ({"Authorization": "BASIC eDp5"}, "Only the page for browsers takes HTTP Basic."),
    ({"Authorization": "Digest x"},   "Send the header `Token: <token>`."),
    ({"Cookie": "zentaosid=x"},       "Cookies are not read."),
    ({"Token": "old", "Cookie": "x"}, "This token is unknown, or it has expired."),
]
USES = [(23, 200), (23.9, 200), (23.9, 200), (24.1, 401)]  # hours after the use before, the status
UNKNOWN_TOKENS = [" \t", "T", "t ", "tt", "t, t", "Bearer t", "\xc3\xa9", "x" * 10_000, hashlib.sha256(b"t").hexdigest()]
# fmt: on


class TestTokens:
    @each(("headers", "words"), HINTS)
    def test_request_without_a_known_token_is_unauthorized(self, client, headers, words):
        sent = {"Token": None, **headers}
        refusal = client.refused("GET", "/products", status=401, **sent)
        assert refusal["error"] == "Unauthorized"
        assert words in refusal["hint"]
        assert "POST /tokens" in refusal["hint"]

    @each("token", UNKNOWN_TOKENS)
    def test_no_other_text_is_a_token(self, client, token):
        assert status_with(client, token) == 401

    def test_every_operation_but_login_needs_a_token(self, client):
        for line in INTERFACE:
            if "/tokens" not in line:
                request = re.sub("<.+>", "1", line)
                client.refused(*request.split(), {}, status=401, Token=None)

    def test_several_live_at_once_and_survive_a_restart_as_hashes_only(self, filed):
        filed.post("/users", account="dev1", password="secret")
        tokens = [filed.login("dev1") for _ in range(2)]
        filed.close()
        kept = filed.path.read_bytes()
        for secret in (*tokens, "secret", SECRET_MD5):
            assert secret.encode() not in kept
        with opened(filed.path) as again:
            for token in tokens:
                hash = hashlib.sha256(token.encode()).hexdigest()
                assert hash.encode() in kept
                assert status_with(again, token) == 200

    def test_token_lives_a_day_after_its_last_use(self, client):
        token = client.token_of("admin")
        for hours, status in USES:
            client.clock.forward(hours=hours)
            assert status_with(client, token) == status

    def test_expired_token_is_removed_by_the_use_of_another(self):
        with opened() as client:
            load_user(client, "dev1")
            unused = client.token_of("admin")
            used = client.token_of("dev1")
            client.clock.forward(hours=23)
            assert status_with(client, used) == 200
            assert tokens_in(client) == "admin dev1"
            client.clock.forward(hours=2)
            assert status_with(client, unused) == 401
            assert tokens_in(client) == "admin dev1"  # what is refused writes nothing
            assert status_with(client, used) == 200
            assert tokens_in(client) == "dev1"


# fmt: off
BACK = ["/-/reset?only=records", "/-/snapshots/start/restore", "/-/snapshots/gone/restore"]  # to records without new1
LOADED_ANEW = [  # what a fixture says of a user, the status of its tokens then, the tokens that are left
    (dict(realname="Dan"), 200, "dev1 dev1"),
    (dict(password="new"), 401, ""),
    (dict(deleted=True),   401, ""),
]
# fmt: on


class TestEndOfTokens:
    """A new password, a deletion, and the return to records without a user end the tokens."""

    @each(("user", "status", "left"), LOADED_ANEW)
    def test_fixture_with_a_new_password_or_a_deletion_ends_them(self, dev1, user, status, left):
        tokens = [dev1.token_of("dev1") for _ in range(2)]
        load_user(dev1, "dev1", **user)
        for token in tokens:
            assert status_with(dev1, token) == status
        assert tokens_in(dev1) == left

    @each("back", BACK)
    def test_token_of_a_user_who_is_not_there_is_forgotten(self, two_users, back):
        two_users.put("/-/snapshots/start")
        load_user(two_users, "new1")
        token = two_users.token_of("new1")
        other = two_users.token_of("dev2")
        two_users.post(back)
        assert tokens_in(two_users) == "dev2"
        load_user(two_users, "new1")
        assert status_with(two_users, token) == 401
        assert status_with(two_users, other) == 200

    def test_token_of_a_user_who_is_deleted_there_is_worth_nothing(self, two_users):
        two_users.put("/-/snapshots/back")
        token = two_users.token_of("dev1")
        for snapshot in ("gone", "back"):
            two_users.post(f"/-/snapshots/{snapshot}/restore")
            assert status_with(two_users, token) == 401

    def test_token_of_a_deleted_user_is_worth_nothing(self, client):
        load_user(client, "gone", password=SECRET, deleted=True)
        token = client.token_of("gone")
        assert status_with(client, token) == 401
        browse(client, "/user", token, 401)
        fail_to_log_in(client, "gone")
        authorization = basic("gone", "secret")
        browse(client, "/user", None, 401, Authorization=authorization)


# fmt: off
CHANGES_OF_DEV1 = [
    ("POST",   "/-/load",                      dict(users=[dict(account="dev1", deleted=True)])),
    ("DELETE", "/users/dev1",                  None),
    ("PUT",    "/users/dev1",                  dict(password="another")),
    ("POST",   "/-/snapshots/gone/restore",    None),
]
# fmt: on


class TestLoginsUnderWay:
    """Changes of a user while a password is hashed, which takes long and no transaction."""

    @pytest.fixture
    def meanwhile(self, two_users, monkeypatch):
        """Return a function; the request that it gets comes once the next password is hashed."""
        plain = pmservice.scrypt

        def prepare(*request: Any) -> None:
            def scrypt(*given: Any) -> str:
                monkeypatch.setattr(pmservice, "scrypt", plain)
                with ThreadPoolExecutor(1) as another:  # Bottle keeps one request for each thread
                    call = another.submit(two_users.call, *request)
                    answer = call.result(30)
                assert answer.status_int == 200
                return plain(*given)

            monkeypatch.setattr(pmservice, "scrypt", scrypt)

        return prepare

    @staticmethod
    def page(client, path, status: int):
        """Return the text of a page that is shown to dev1, who logs in with it."""
        authorization = basic("dev1", "secret")
        page = browse(client, path, None, status, Authorization=authorization)
        return page.text

    @each("change", CHANGES_OF_DEV1)
    def test_login_fails_if_its_user_changes_meanwhile(self, two_users, meanwhile, change):
        meanwhile(*change)
        fail_to_log_in(two_users, "dev1")
        assert tokens_in(two_users) == ""

    @each("change", CHANGES_OF_DEV1)
    def test_page_asks_anew_if_its_reader_changes_meanwhile(self, two_users, meanwhile, change):
        meanwhile(*change)
        for _ in range(2):  # nothing is remembered, either
            self.page(two_users, "/user", 401)

    def test_login_succeeds_if_nothing_but_a_name_changes_meanwhile(self, two_users, meanwhile):
        meanwhile("PUT", "/users/dev1", dict(realname="Dan Dev"))
        token = two_users.login("dev1")
        assert status_with(two_users, token) == 200
        meanwhile("PUT", "/users/dev1", dict(realname="Danny"))
        page = self.page(two_users, "/user", 200)
        assert "Danny" in page

    def test_rights_are_those_after_the_hashing(self, two_users, meanwhile):
        load_user(two_users, "dev1", admin=True)
        member = dict(account="dev1", admin=False)
        meanwhile("POST", "/-/load", dict(users=[member]))
        page = self.page(two_users, "/", 200)
        assert "The clock says" not in page  # which administrators see


# fmt: off
EXPENSIVE = f"scrypt:131072:8:4:{SALT}:{'0' * 128}"  # takes a hundred times as long to compare
LIKE_HASHES = [
    EXPENSIVE, f"scrypt:1024:8:1:{SALT}:{'0' * 128}", f"scrypt:16384:8:2:{SALT}:{'0' * 128}", f"scrypt:16384:16:1:{SALT}:{'0' * 128}",
    f"scrypt:16384:8:1:{SALT}:{'0' * 127}", f"scrypt:16384:8:1:{SALT[1:]}:{'0' * 128}", f"scrypt:{SALT}", "scrypt:", f"{SECRET} ", f"{SECRET}\n",
]
UNFIT = ["12345", "äöüß€", " " * 6, "x" * 65_537]  # passwords that are too short or too long
SETTING_PATHS = [("/users", "post"), ("/users/{user}", "put")]
SETTING = [  # an operation that sets a password, whose, who calls
    ("POST", "/users",      "new1", "admin"),
    ("PUT",  "/users/dev1", "dev1", "admin"),
    ("PUT",  "/users/dev1", "dev1", "dev1"),
]
# fmt: on


class TestPasswords:
    """Which texts are passwords, and which ones are hashes that were stored before."""

    @staticmethod
    def stored(client, account):
        ((password,),) = client.sql("SELECT password FROM user WHERE account = ?", account)
        return password

    def test_password_is_kept_as_a_scrypt_hash_that_says_how_it_was_made(self, client):
        load_user(client, "dev1", password="secret")
        stored = self.stored(client, "dev1")
        *made, salt, hash = stored.split(":")
        assert made == ["scrypt", *map(str, USUAL_COST)]
        assert hash == scrypted(salt, 16384)
        assert len(salt) == 32

    @each("made", ["scrypt", "scrypt:16384:8:1"])
    def test_hash_of_any_form_is_loaded_and_lets_its_user_in(self, client, made):
        kept = f"{made}:{SALT}:{scrypted(SALT, 16384)}"
        load_user(client, "dev1", password=kept)
        assert self.stored(client, "dev1") == kept
        assert client.login("dev1", "secret")
        fail_to_log_in(client, "dev1", kept)

    @each(("method", "path", "account", "caller"), SETTING)
    def test_password_of_an_operation_has_six_characters_and_is_hashed(
        self, dev1, method, path, account, caller
    ):
        dev1.token = dev1.token_of(caller)
        line, body = f"{method} {path}", dict(account=account)
        for password in UNFIT:
            wrong = dict(body, password=password)
            assert broken(dev1, line, wrong) == "password"
        # A hash that is stored is a text as any other, also for the user who has it.
        like_a_hash = dict(body, password=SECRET)
        send(dev1, line, like_a_hash)
        stored = self.stored(dev1, account)
        assert stored.startswith("scrypt:16384:8:1:")
        assert dev1.login(account, SECRET)
        fail_to_log_in(dev1, account)
        dev1.token = "t"
        assert dev1.put(f"/users/{account}", password="123456")

    def test_command_hashes_a_stored_hash_too(self, filed):
        settings = ["--password", EXPENSIVE, "--database", str(filed.path)]
        code = pmservice.main(["user", "new1", *settings])
        assert code == 0
        assert filed.login("new1", EXPENSIVE)

    @each("text", LIKE_HASHES)
    def test_other_texts_that_look_like_hashes_are_refused_in_fixtures(self, client, text):
        with pytest.raises(pmservice.StartError) as refused:
            load_user(client, "new1", password=text)
        refusal = str(refused.value)
        assert "fixture: users[0].password " in refusal
        assert SALT not in refusal  # a hash has no place on a screen

    @each(("path", "method"), SETTING_PATHS)
    def test_document_says_how_long_a_password_is(self, path, method):
        operation = DOCUMENT["paths"][path][method]
        content = operation["requestBody"]["content"]
        body = validator(content["application/json"]["schema"])
        long = dict(account="new1", password="123456")
        short = dict(account="new1", password="12345")
        assert body.is_valid(long)
        assert not body.is_valid(short)


# --- 10 Fixtures: in and out ----------------------------------------------------------------------


# fmt: off
WRONG = [  # a fixture, what is said of it
    (dict(bugs=[dict(product=1, title="B")] * 3 + [dict(product=1, title="B", severity="x")]), r"bugs\[3\]\.severity .*whole number"),
    (dict(bugs=[dict(product=1)]), r"bugs\[0\]\.title is required"),
    (dict(bugs=[dict(title="B")]), r"bugs\[0\]\.product is required"),
    (dict(bugs=[dict(product=0, title="B")]), r"bugs\[0\]\.product must name an existing product"),
    (dict(bugs=[dict(product=1, title="B", deleted="maybe")]), r"bugs\[0\]\.deleted must be true or false"),
    (dict(bugs=[dict(product=9, title="B")]), r"bugs\[0\]\.product .*product \(got 9\)"),
    (dict(bugs=[dict(product=1, title="B", openedBy=99)]), r"bugs\[0\]\.openedBy .*user \(got 99\)"),
    (dict(bugs=[dict(product=1, title="B", status="gone")]), r"bugs\[0\]\.status .*active, resolved, closed"),
    (dict(bugs=[dict(product=1, title="B", colour="red")]), r"bugs\[0\]\.colour is not a field of a bug"),
    (dict(bugs=[dict(product=1, title="B", repo=7)]), r"bugs\[0\]\.repo is always 0"),
    (dict(bugs=["B"]), r"bugs\[0\] must be an object"),
    (dict(bugs={}), r"bugs must be an array"),
    (dict(bugs=[dict(product=1, title="B"), dict(product=1, title="B", severity=float("nan"))]), r"JSON has no NaN"),
    (dict(projects=[dict(id=2, name="P"), dict(name="Q", project=2, parent=1)], programs=[dict(id=1, name="R")]), r"projects\[1\]\.parent must be the project"),
    (dict(projects=[dict(id=1, name="P"), dict(name="P", parent=1)]), r"projects\[1\]\.parent .*program \(got 1\)"),
    (dict(projects=[dict(name="P", products=[1, 9])]), r"projects\[0\]\.products .*product \(got 9\)"),
    (dict(projects=[dict(name="P", type="program")]), r"projects\[0\]\.type .*project"),
    (dict(programs=[dict(name="P", begin="2026-02-02", end="2026-02-01")]), r"programs\[0\]\.end must not be before begin"),
    (dict(programs=[dict(id=5, name="P", parent=6), dict(id=6, name="Q", parent=5)]), r"programs\[0\]\.parent .*own ancestor"),
    (dict(executions=[dict(name="E")]), r"executions\[0\]\.project is required"),
    (dict(projects=[dict(id=1, name="P"), dict(id=2, name="Q")], executions=[dict(name="E", project=1, parent=2)]),
     r"executions\[0\]\.parent must be the project"),
    (dict(projects=[dict(id=1, name="P"), dict(id=2, name="Q")], tasks=[dict(name="T", execution=1), dict(name="T", execution=1, project=2)]),
     r"tasks\[1\]\.project .*its execution"),
    (dict(testcases=[dict(product=1, title="C", steps=[dict(expect="x")])]), r"testcases\[0\]\.steps\[0\]\.desc is required"),
    (dict(products=[dict(id=1, name="P")]), r"products\[0\]\.id is taken \(got 1\)\."),
    (dict(programs=[dict(id=1, name="P")], projects=[dict(id=1, name="Q")]),
     r"projects\[0\]\.id is taken \(got 1\); programs, projects and executions share one numbering\."),
    (dict(products=[dict(id=0, name="P")]), r"products\[0\]\.id "),
    (dict(things=[]), r"things"),
]
NO_FIXTURES = (
    '{"bugs": [], "bugs": []}', '{"products": [{"name": "P", "name": "Q"}]}', "", "{", "[]", "null", '{"bugs": [NaN]}',
)
# fmt: on


def fixture_of_links(kind: str, n: int) -> dict[str, Any]:
    """Return a fixture of n records that name a record, or are named by one before them."""
    numbers = range(1, n + 1)
    product = dict(id=1, name="P")
    project = dict(id=1, name="J", products=[1])
    execution = dict(id=2, name="E", project=1)
    home = dict(products=[product], projects=[project], executions=[execution])
    own = dict(product=1, execution=2, name="of all")
    named = [dict(id=id, product=1, title="T") for id in numbers]
    if kind == "products":
        return dict(projects=[dict(project, products=[*numbers])],
                    products=[dict(id=id, name="P") for id in numbers])  # fmt: skip
    if kind == "persons":
        return dict(home, stories=[dict(one, openedBy="unknown") for one in named])
    if kind == "plans":
        plan = dict(id=1, product=1, title="of all")
        return dict(home, stories=[dict(one, plans=[1]) for one in named], plans=[plan])
    if kind == "executions":
        return dict(stories=[dict(one, executions=[2]) for one in named], **home)
    if kind == "testcases":
        return dict(home, testtasks=[dict(own, testcases=[*numbers])], testcases=named)
    if kind == "releases":
        release = dict(product=1, project=1, build=1, name="R", stories=",".join(map(str, numbers)))
        build = dict(own, id=1)
        return dict(home, releases=[release], builds=[build], stories=named)
    return {**home, "builds": [dict(own, **{kind: [*numbers]})], kind: named}


NAMED_AHEAD = [
    "stories",
    "bugs",
    "products",
    "persons",
    "plans",
    "executions",
    "testcases",
    "releases",
]


def loads_the_same(dumped):
    """Assert that a dump, loaded into an empty database, is dumped again as it was."""
    with opened(control=False) as again:
        number = sum(map(len, dumped.values()))
        assert again.load(**dumped) == number
        dumped_again = again.dump()
        assert lines(dumped_again) == lines(dumped)


class TestFixtures:
    def test_no_load_leaves_a_link_to_nothing(self, client, monkeypatch):
        monkeypatch.setattr(pmservice.Store, "add_person", lambda *_: None)
        bug = dict(product=1, title="B", assignedTo="nobody")
        fixture = dict(products=[dict(name="P")], bugs=[bug])
        with pytest.raises(pmservice.StartError, match="FOREIGN KEY"):
            client.load(**fixture)
        assert client.dump()["products"] == []
        assert problems(client) == []

    def test_dump_has_what_was_loaded(self, client):
        client.load(**FULL)
        dumped = client.dump()
        for array, records in FULL.items():
            found = {record["id"]: record for record in dumped[array]}
            for record in records:
                wanted = without(record, "steps", "budget")
                shown = found[record["id"]]
                same = {field: shown[field] for field in wanted}
                assert lines(same) == lines(wanted)
        program, *_ = dumped["programs"]
        assert program["budget"] == "200000"

    def test_these_fixtures_set_every_field_that_can_be_set(self, client):
        """A field that is lost on the way has only its default in the dump."""
        client.load(**FULL)
        dumped = client.dump()
        for table, record in RECORDS.items():
            records = []
            for array in TABLES:
                if TABLES[array] == table:
                    records += dumped[array]
            for field in record.settable():
                values = {json.dumps(one[field]) for one in records}
                assert len(values) > 1, f"{table}.{field} is never anything but {values}"

    @each(("fixture", "complaint"), WRONG)
    def test_wrong_fixture_loads_nothing_and_says_where_it_is_wrong(
        self, client, fixture, complaint
    ):
        client.product()
        before = client.dump()
        early = {"users": [{"account": "early"}]}
        with pytest.raises(pmservice.StartError, match=complaint):
            client.load(**early | fixture)
        assert client.dump() == before

    @each("text", NO_FIXTURES)
    def test_what_is_no_fixture_is_refused(self, client, text):
        database = client.service.database
        with pytest.raises(pmservice.StartError, match=r"^name: "):
            pmservice.load_text(database, text, "name")

    def test_number_that_is_too_large_is_no_id(self, client):
        database = client.service.database
        with pytest.raises(pmservice.StartError, match=r"users\[0\]\.id must be a whole number"):
            pmservice.load_text(database, '{"users": [{"id": 1e999, "account": "x"}]}', "name")

    @each("kind", NAMED_AHEAD)
    def test_work_grows_with_the_number_of_links_not_with_its_square(self, client, kind):
        def steps(n: int) -> int:
            """Return how many times SQLite has done a hundred steps when n records are loaded."""
            rounds = itertools.count()
            with contextlib.suppress(Undone), client.service.database.loading() as store:
                store.connection.set_progress_handler(lambda: next(rounds) < 0, 100)
                pmservice.load(store, fixture_of_links(kind, n))
                raise Undone
            return next(rounds)

        class Undone(Exception):
            pass

        assert steps(1600) < 6 * steps(400)

    def test_records_are_checked_before_other_writers_have_to_wait(self, filed, run):
        Path("wrong.json").write_text('{"bugs": [{"product": 1}]}')
        with filed.service.database.writing():
            code, _, told = run("load", "wrong.json", "--database", str(filed.path))
        assert code == 2
        assert "bugs[0].title is required" in told

    def test_links_are_checked_again_after_loading(self, client):
        client.load(products=[dict(name="P")])
        with pytest.raises(pmservice.StartError):
            client.load(bugs=[dict(product=9, title="B")])
        for connection, _ in client.service.database.idle:
            assert connection.execute("PRAGMA foreign_keys").fetchone()[0] == 1

    def test_person_may_be_the_id_of_a_user_of_the_fixture(self, client):
        client.load(products=[dict(name="P", PO=7)], users=[dict(id=7, account="new1")])
        (product,) = client.get("/products")["products"]
        assert product["PO"]["account"] == "new1"

    def test_null_is_not_given(self, client):
        product = dict(name="P", desc=None)
        number = client.load(bugs=None, products=[product])
        assert number == 1

    def test_ids_are_kept_and_the_next_come_after_them(self, client):
        first = dict(id=70, name="P")
        second = dict(name="Q")
        client.load(products=[first, second])
        client.product()
        listed = client.get("/products")["products"]
        assert ids(listed) == [70, 71, 72]

    def test_persons_become_users(self, client):
        product = dict(name="P", PO="new1", whitelist=["new2"])
        client.load(products=[product])
        _, *users = client.dump()["users"]
        accounts = [user["account"] for user in users]
        assert accounts == ["new1", "new2"]
        for user in users:
            assert user["realname"] == user["account"]
            assert user["password"] is None

    def test_app_takes_a_fixture_while_it_holds_no_records(self, tmp_path):
        file = tmp_path / "f.json"
        file.write_text('{"products": [{"name": "Q"}]}')
        fixture = {"products": [{"name": "P"}]}
        database = tmp_path / "pm.db"
        for path, load, name in (
            (database, fixture, "P"),
            (database, file, "P"),
            (":memory:", file, "Q"),
        ):
            with opened(path, load=load) as client:
                (product,) = client.get("/products")["products"]
                assert product["name"] == name


# fmt: off
STORED = dict(
    products=[dict(id=1, name="P"), dict(id=2, name="Q")], projects=[dict(id=1, name="J", products=[1])],
    executions=[dict(id=2, project=1, name="E")],
    stories=[dict(id=1, product=1, title="s"), dict(id=2, product=1, title="t", parent=1), dict(id=3, product=1, title="u")],
    tasks=[dict(id=1, execution=2, name="t", status="done", consumed=9e18)],
)
REFUSED_BY_RECORDS = [  # request, what is sent, the field that is broken by what is stored
    ("PUT /stories/1",                       dict(parent=3),                         "parent"),  # 1 has a child
    ("POST /products/1/stories",             dict(STORY, parent=2),                  "parent"),  # 2 is a child
    ("PUT /stories/1",                       dict(estimate=99),                      "estimate"),
    ("POST /stories/1/close",                dict(duplicateStory=1),                 "duplicateStory"),
    ("POST /products/1/plans",               dict(title="x", begin="2031-01-01"),    "end"),
    ("PUT /executions/2",                    dict(days=-1),                          "days"),
    ("POST /tasks/1/estimate",               dict(consumed=9e18, left=1),            "consumed"),
]
TWO_VERSIONS = [dict(version=1, title="a"), dict(version=1, title="b")]
IN_A_RING = [dict(id=1, name="a", parent=2), dict(id=2, name="b", parent=1)]
REFUSED_TOGETHER = [  # array, records, the place that is broken by another record
    ("stories",     [dict(product=1, title="s", version=2, versions=TWO_VERSIONS)],                "stories[0].versions"),
    ("stories",     [dict(product=1, title="s", versions=[dict(version=1, title="another")])],     "stories[0].versions"),
    ("stories",     [dict(product=2, title="s", parent=1)],                                        "stories[0].product"),
    ("stories",     [dict(product=1, title="s", parent=2)],                                        "stories[0].parent"),
    ("builds",      [dict(project=1, product=1, name="b"), dict(project=1, product=1, name="b")],  "builds[1].name"),
    ("builds",      [dict(project=1, product=2, name="b", stories=[1])],                           "builds[0].product"),
    ("departments", IN_A_RING,                                                                     "departments[1].parent"),
]
# fmt: on


class TestWhatIsStored:
    """Requests and fixtures that are refused because of what is stored."""

    @each(("request_line", "sent", "field"), REFUSED_BY_RECORDS)
    def test_request_is_refused_by_what_is_stored(self, client, request_line, sent, field):
        client.load(**STORED)
        assert broken(client, request_line, sent) == field

    @each(("array", "records", "place"), REFUSED_TOGETHER)
    def test_fixture_is_refused_by_what_does_not_belong_together(
        self, client, array, records, place
    ):
        client.load(**STORED)
        refusal = f"fixture: {re.escape(place)} "
        with pytest.raises(pmservice.StartError, match=refusal):
            client.load(**{array: records})

    def test_name_of_a_deleted_build_is_free(self, client):
        build = dict(product=1, project=1, name="b")
        deleted = dict(build, deleted=True)
        client.load(**STORED, builds=[deleted, build])
        loads_the_same(client.dump())

    def test_text_of_a_release_names_stories_only_by_ids_of_64_bits(self, client):
        client.load(**STORED)
        for text in ("1,99999999999999999999", "1, 2,", "x", "1.5,true", "[1]"):
            client.post("/projects/1/releases", **RELEASE, stories=text)
        listed = client.get("/stories")["stories"]
        stages = {story["id"]: story["stage"] for story in listed}
        assert stages == {1: "released", 2: "released", 3: "wait"}

    def test_build_and_test_task_are_of_the_execution_s_project(self, client):
        one = dict(product=1, name="b", execution=2)
        client.load(**STORED, builds=[one], testtasks=[one])
        for path in ("/builds/1", "/testtasks/1"):
            assert client.get(path)["project"] == 1


# fmt: off
LAST_ID = 2**53
OF_PRODUCT, OF_PROJECT = dict(product=1, title="L"), dict(product=1, project=1, name="L")
LAST = {  # array: a record of it on top of FILLED, and a request that would make the next one
    "departments": (dict(name="L"), "POST /departments"),                 "users":     (dict(account="last"), "POST /users"),
    "programs":    (dict(name="L"), "POST /programs"),                    "projects":  (dict(name="L"), "POST /projects"),
    "executions":  (dict(name="L", project=1), "POST /projects/1/executions"), "products": (dict(name="L"), "POST /products"),
    "releases":    (dict(name="L", product=1), "POST /projects/1/releases"), "bugs":   (OF_PRODUCT, "POST /products/1/bugs"),
    "tasks":       (dict(name="L", execution=2), "POST /executions/2/tasks"), "testcases": (OF_PRODUCT, "POST /products/1/testcases"),
    "stories":     (OF_PRODUCT, "POST /products/1/stories"),              "plans":     (OF_PRODUCT, "POST /products/1/plans"),
    "builds":      (OF_PROJECT, "POST /projects/1/builds"),               "testtasks": (OF_PROJECT, "POST /testtasks"),
    "efforts":     (dict(task=1), "POST /tasks/1/estimate"),              "results":   (dict(case=1), "POST /testcases/1/results"),
}
LAST_STEP = dict(OF_PRODUCT, steps=[dict(id=LAST_ID, desc="a")])
LAST_USER, LAST_TASK_BUT_ONE = dict(account="last", id=LAST_ID), dict(execution=2, name="T", id=LAST_ID - 1)
BEYOND_LAST = [  # array, a record of it, a request that needs ids beyond the last one, what is sent
    ("testcases", LAST_STEP,         "POST /products/1/testcases",           dict(CASE, steps=[dict(desc="a")])),
    ("testcases", LAST_STEP,         "PUT /testcases/1",                     dict(steps=[dict(desc="b")])),
    ("users",     LAST_USER,         "PUT /products/1",                      dict(PO="next")),
    ("users",     LAST_USER,         "POST /products",                       dict(name="P", whitelist=["next"], acl="private")),
    ("users",     LAST_USER,         "POST /bugs/1/assign",                  dict(assignedTo="next")),
    ("tasks",     LAST_TASK_BUT_ONE, "POST /executions/2/tasks",             dict(TASK, assignedTo=["dev1", "qa1"])),
    ("tasks",     LAST_TASK_BUT_ONE, "POST /executions/2/tasks/batchCreate", dict(tasks=[TASK, TASK])),
]
# fmt: on


class TestLastIds:
    """Ids end at 2^53, up to which every reader of JSON is exact."""

    @each("array", TABLES)
    def test_last_id_is_given_and_none_beyond_it(self, filled, array):
        record, line = LAST[array]
        but_one = dict(record, id=LAST_ID - 1)
        filled.load(**{array: [but_one]})
        send(filled, line, good(line))
        dumped = filled.dump()
        newest = max(ids(dumped[array]))
        assert newest == LAST_ID
        another = {"account": "new2"} if array == "users" else {}
        next_record = {**record, **another}
        filled.refused(*line.split(), good(line, **another))
        with pytest.raises(pmservice.StartError):
            filled.load(**{array: [next_record]})
        loads_the_same(dumped)

    @each(("array", "record", "line", "body"), BEYOND_LAST)
    def test_request_makes_nothing_beyond_the_last_id(self, filled, array, record, line, body):
        filled.load(**{array: [record]})
        filled.refused(*line.split(), body)

    def test_user_who_makes_room_gets_no_id_beyond_the_last_one(self, client):
        first = dict(id=1, account="first")
        with pytest.raises(pmservice.StartError, match=str(LAST_ID)):
            # The administrator has the id 1, and there is none above the last one.
            client.load(users=[first, LAST_USER])
        dumped = client.dump()
        assert ids(dumped["users"]) == [1]
        but_one = dict(LAST_USER, id=LAST_ID - 1)
        client.load(users=[first, but_one])
        dumped = client.dump()
        assert ids(dumped["users"]) == [1, LAST_ID - 1, LAST_ID]


# --- 11 Operations: every one ---------------------------------------------------------------------


# fmt: off
BROKEN = {  # what is sent beside the smallest body: each field of it is broken, or those that stand beside it
    "POST /products/1/stories": [
        dict(title=" "), dict(title="x" * 256, pri=-1), dict(pri="high", estimate=-1), dict(estimate="x"),
        dict(reviewer=[99]), dict(mailto=["a b"]),
    ],
    "PUT /stories/1":        [dict(parent=1), dict(pri=-1, title="")],
    "POST /stories/1/close": [dict(closedReason="bored")],
    "POST /stories/1/assign": [dict(assignedTo=99)],
    "POST /stories/1/change": [dict(title=" ")],
    "POST /stories/1/review": [dict(result="maybe")],
    "POST /products/1/plans": [
        dict(title=""), dict(begin="2026-02-31"), (dict(begin="2026-04-30", end="2026-03-01"), "end"),
    ],
    "PUT /productplans/1":   [dict(status="open", title=""), dict(parent=3)],
    "PUT /productplans/2":   [(dict(begin="2031-01-01"), "end")],
    **{f"POST /productplans/1/{move}stories": [dict(stories=wrong) for wrong in ([1, 3], "x", [True])] for move in ("link", "unlink")},
    **{f"POST /productplans/1/{move}bugs": [dict(bugs=wrong) for wrong in ("x", [True])] for move in ("link", "unlink")},
    "POST /productplans/2/linkstories": [dict(stories=[])],
    "POST /productplans/2/linkbugs": [dict(bugs=[]), dict(bugs=[1, 2])],
    "POST /projects/1/builds": [
        dict(execution=5), dict(execution=4), dict(execution=0), dict(name="B1"), dict(name="", date="soon"), dict(builder=99),
    ],
    "POST /projects/4/builds": [(dict(execution=5), "product")],
    "PUT /builds/1":         [dict(name="B2"), dict(stories=7), dict(name="", stories=[99], date="x")],
    "PUT /releases/1":       [dict(name="", status="gone")],
    "POST /projects/1/testtasks": [
        dict(execution=5), dict(end="2026-11-22"), dict(begin="x"),
        dict(build="main", name=" ", status="gone", pri=-1, owner=99, testcases="x"),
    ],
    "PUT /testtasks/1":      [dict(end="2026-11-01")],
    "PUT /testcases/1":      [dict(title="", type="x", pri=-1), (dict(steps=[{}]), "steps[0].desc")],
    "POST /products/1/testcases": [(dict(steps=[dict(desc="a", type="part")]), "steps[0].type"), dict(pri=-1), dict(type="")],
    "PUT /departments/1":    [dict(parent=1), dict(parent=3), dict(parent=99), dict(name="", manager=99)],
    "POST /departments":     [dict(parent=99)],
    "PUT /users/dev2":       [dict(dept=99), dict(realname=""), dict(password="")],
    "PUT /programs/6":       [dict(name="", end="2025-01-01", acl="x", budgetUnit="EUR"), dict(parent=6), dict(parent=7), dict(parent=1)],
    "PUT /programs/7":       [dict(begin="2026-02-30")],
    "PUT /products/1":       [dict(name=" ", status="gone", program=99), dict(type="x"), dict(program=1)],
    "PUT /projects/1":       [dict(begin="2026-02-02"), dict(end="2026-11-29"), dict(MARCH), dict(parent=3)],
    "PUT /executions/2":     [dict(begin="2025-12-31"), dict(end="2027-01-01"), (dict(begin="2026-03-02", end="2026-03-01"), "end"), dict(name="", project=6)],
    **{request: [(dict(acl="private", whitelist=wrong), "whitelist") for wrong in (7, {"account": "dev1"}, True)]
       for request in ("PUT /programs/7", "PUT /products/2", "PUT /projects/4", "PUT /executions/3", "POST /products", "POST /projects")},
    "POST /programs":        [dict(whitelist=0), dict(begin="")],
    "POST /bugs/1/assign":   [dict(assignedTo=99)],
    "POST /products/1/bugs": [dict(severity=-1, pri="-1"), dict(severity="")],
    "PUT /bugs/1":           [dict(pri=-1, severity=-2)],
    "PUT /tasks/1":          [dict(pri=-1)],
    "POST /executions/2/tasks": [dict(pri=-1), dict(type="")],  # what is empty is not given, but it is needed
    "POST /tasks/1/restart": [dict(consumed="")],
    "POST /tasks/1/finish":  [(dict(finishedDate="", realStarted="2026-02-02"), "finishedDate")],
    "POST /bugs/1/resolve":  [dict(resolution="")],
}
NOT_GIVEN = [  # request, what is sent empty (or without seconds) beside the smallest body, what the record then has
    ("POST /products",      dict(type="", acl="", program="", line=""),                    dict(type="normal", acl="private", program=0, line=0)),
    ("POST /programs",      dict(acl="", budget="", budgetUnit="", parent=""),             dict(acl="open", budget="0", budgetUnit="CNY", parent=0)),
    ("POST /projects",      dict(model="", acl="", parent=""),                             dict(model="scrum", acl="private", parent=0)),
    ("POST /products/1/bugs", dict(deadline="", project="", story="", assignedTo=""),      dict(deadline=None, project=0, story=0, assignedTo=None)),
    ("POST /executions/2/tasks", dict(estimate="", pri="", story="", assignedTo=""),       dict(estimate=0, story=0, assignedTo=None, left=0)),
    ("POST /products/1/testcases", dict(stage="", story="", module=""),                    dict(stage="", story=0, module=0)),
    ("PUT /tasks/1",        dict(deadline="", assignedTo=""),                              dict(deadline=None, assignedTo=None, estStarted="2026-02-02")),
    ("PUT /tasks/1",        dict(estStarted=""),                                           dict(deadline="2026-02-20", estStarted=None)),
    ("PUT /tasks/1",        dict(type="", pri="", estimate="", left="", story="", status="", consumed=""),
                            dict(type="devel", pri=2, estimate=3, left=3, story=5, status="wait", consumed=0)),
    ("POST /tasks/1/start", dict(realStarted="", left="", consumed=""),                    dict(realStarted="2026-11-20 07:42:17", left=3, consumed=0)),
    ("POST /tasks/1/start", dict(realStarted="2026-02-09 17:00"),                          dict(realStarted="2026-02-09 17:00:00")),
    ("POST /tasks/1/finish", dict(realStarted="2026-02-09T17:00Z", finishedDate="2026-02-09 17:01", currentConsumed=""),
                             dict(finishedDate="2026-02-09T17:01:00Z", consumed=0)),
    ("PUT /bugs/1",         dict(type="", severity="", pri="", plan=""),                   dict(type="codeerror", severity=3, pri=3, plan=6)),
    ("PUT /products/1",     dict(type="", acl="", PO="", program="", status="", line=""),  dict(type="normal", acl="open", PO=None, status="normal", line=0)),
    ("PUT /projects/1",     dict(begin="", end="", acl="", PM="", parent="", model=""),    dict(acl="open", PM=None, parent=6, model="scrum", **YEAR)),
    ("PUT /executions/2",   dict(begin="", end="", status="", project=""),                 dict(status="wait", project=1, **SPAN)),
    ("PUT /testcases/1",    dict(type="", pri="", stage=""),                               dict(type="feature", pri=1, stage="")),
    ("PUT /stories/1",      dict(pri="", estimate="", parent=""),                          dict(pri=3, estimate=4, parent=0)),
    ("PUT /productplans/1", dict(begin="", end="", status=""),                             dict(status="wait", **MARCH)),
]
SETTABLE = {  # path: the fields that a PUT sets, each with a new value
    "/programs/6":     dict(name="N", PM="dev1", budget="7", budgetUnit="USD", desc="d", begin="2026-01-02", end="2026-12-30", realBegan="2026-02-01",
        realEnd="2026-02-02", acl="open"),
    "/products/1":     dict(name="N", line=3, PO="po1", QD="qd1", RD="rd1", type="branch", desc="d", acl="private", status="closed", program=6),
    "/projects/1":     dict(name="N", begin="2026-01-02", end="2026-12-30", acl="private", desc="d", PM="dev1", parent=0),
    "/executions/2":   dict(name="N", begin="2026-02-02", end="2026-11-29", lifetime="long", desc="d", days=9, acl="private", status="doing", PO="po1",
        PM="pm1", QD="qd1", RD="rd1"),
    "/stories/1":      dict(title="N", pri=1, category="safe", source="customer", sourceNote="n", keywords="k", estimate=2.5, module=7, parent=2,
        mailto=["qa1", "dev1"], plan="1"),
    "/productplans/2": dict(title="N", begin="2026-03-02", end="2026-04-29", desc="d", status="doing", parent=1),
    "/builds/1":       dict(name="N", builder="qa1", date="2026-11-22", desc="d", scmPath="s", filePath="f", stories=[1], bugs=[1]),
    "/releases/1":     dict(name="N", build=1, status="terminate", desc="d"),
    "/testtasks/1":    dict(name="N", build="1", owner="qa1", status="done", begin="2026-11-22", end="2026-12-01", desc="d", pri=1, type="integrate"),
    "/testcases/1":    dict(title="N", pri=4, type="unit", stage="bvt,smoke", product=2, module=7, branch=1, precondition="p", story=1),
    "/departments/3":  dict(name="N", parent=1, manager="qa1"),
    "/users/4":        dict(realname="N", email="d@x.org", role="qa", dept=3, mobile="13800000000", gender="m", phone="010-12345678", qq="2", weixin="3",
        address="a"),
    "/tasks/1":        dict(desc="d", pri=1, type="ui", module=2),
    "/bugs/1":         dict(title="N", pri=1, severity=1, type="config", steps="x", keywords="k", plan=1, module=3, task=4),
}
FOLLOW = {  # what follows a field that was set
    "parent": "path grade parentName parentPri childStories order", "program": "programName", "plan": "planTitle stage planName", "name": "team",
    "status": "realBegan", "begin": "days", "end": "days", "build": "buildID buildName filePath scmPath", "manager": "managerName", "product": "productName",
    "story": "storyVersion storyTitle storyStatus latestStoryVersion",
}
DEAD_LINKS = {  # what is deleted: the requests that would link to it anew, what they send beside the smallest body
    "/stories/1": [
        ("POST /projects/1/builds", dict(stories=[1])), ("PUT /builds/2", dict(stories=[1])), ("POST /productplans/2/linkstories", dict(stories=[1])),
        ("POST /products/1/stories", dict(parent=1)), ("PUT /stories/2", dict(parent=1)),
    ],
    "/bugs/1": [("POST /projects/1/builds", dict(bugs=[1])), ("PUT /builds/2", dict(bugs=[1])), ("POST /productplans/2/linkbugs", dict(bugs=[1]))],
    "/builds/1": [("POST /projects/1/testtasks", dict(build=1)), ("PUT /testtasks/2", dict(build=1))],
    "/testcases/1": [("POST /projects/1/testtasks", dict(testcases=[1])), ("PUT /testtasks/2", dict(testcases=[1]))],
    "/productplans/2": [("POST /products/1/stories", dict(plan="2")), ("PUT /stories/2", dict(plan="2")), ("POST /products/1/plans", dict(parent=2))],
    "/executions/2": [("POST /projects/1/builds", dict(execution=2)), ("POST /projects/1/testtasks", dict(execution=2))],
    "/programs/7": [("PUT /projects/1", dict(parent=7)), ("PUT /products/1", dict(program=7))],
    "/projects/4": [("PUT /executions/2", dict(project=4))],
}
NOT_SETTABLE = [  # path, fields that a PUT ignores
    ("/stories/1",   dict(product=2, stage="released", spec="x", verify="x", status="closed", version=9, openedBy="dev1")),
    ("/users/4",     dict(account="boss")),
    ("/testcases/1", dict(status="blocked")),
    ("/bugs/1",      dict(openedBy="dev1")),
    ("/products/1",  dict(code="X")),
    ("/builds/1",    dict(project=4)),
]
WRONG_PARAMETERS = [  # path, parameter, a word of what it allows
    ("/products?status=open",            "status",  "noclosed"),
    ("/projects/1/releases?status=open", "status",  "terminate"),
    ("/products?order=nam",              "order",   "name"),
    ("/products/1/bugs?status=open",     "status",  "needconfirm"),
    ("/products?program=x",              "program", "whole number"),
    ("/products/1/stories?order=titel",  "order",   "title"),
    ("/testtasks?status=open",           "status",  "blocked"),
    ("/productplans?status=open",        "status",  "doing"),
    ("/stories?status=x",                "status",  "closedstory"),
    ("/modules?type=product&id=1",       "type",    "story, task, bug, case"),
    ("/modules?type=bug",                "id",      "required"),
    ("/modules?id=1",                    "type",    "required"),
]
BUG_LINKS = dict(project=1, execution=2, plan=1, story=1)
ALL_LINKED = {  # FILLED with stories of a plan, with a story and a bug in each state, and with links between all
    **FILLED,
    "stories": [
        *({**one, "plans": [1] if one["product"] == 1 else [], "executions": [2]} for one in FILLED["stories"]),
        *(dict(id=id, product=1, title="S", status=status, estimate=1 / 3, plans=[id % 2 + 1], reviewers=[dict(account="admin")])
          for id, status in ((4, "draft"), (5, "changed"), (6, "closed"))),
        dict(id=7, product=1, parent=6, title="S", estimate=2.5),
    ],
    "bugs": [
        dict(BUG_LINKS, id=1, product=1, title="B", case=1, assignedTo="dev1"), dict(id=2, product=2, title="B"),
        *(dict(BUG_LINKS, id=id, product=1, title="B", status=status, resolution="fixed", resolvedDate="2026-11-19T09:00:00Z")
          for id, status in ((3, "resolved"), (4, "closed"))),
    ],
    "tasks": [*FILLED["tasks"], dict(id=2, execution=2, name="T", story=1, status="done", consumed=0.5)],
    "builds": [dict(FILLED["builds"][0], stories=[1], bugs=[1]), FILLED["builds"][1]],
    "releases": [dict(one, stories="1, 2", bugs="1") for one in FILLED["releases"]],
    "testtasks": [dict(FILLED["testtasks"][0], testcases=[1]), dict(FILLED["testtasks"][0], id=2)],
}
WRITTEN = [  # requests that add to ALL_LINKED what only operations write
    ("POST /stories/1/change",           dict(title="New")),
    ("POST /products/1/stories?objectID=2", dict(STORY, reviewer=["admin", "dev1"])),
    ("POST /stories/8/review",           dict(result="clarify")),
    ("PUT /users/4",                     dict(dept=3)),
    ("POST /testcases/1/results",        dict(steps=[dict(result="fail", real="r")])),
    ("POST /tasks/1/estimate",           dict(dates=["2026-11-16"], consumed=[2], left=[8], work=["w"])),
]
OTHER_KEYS = {"productplans": "plans", "productsplan": "plans", "product": "products"}  # path: the key of its lists
FIRST_IDS = {"programs": "6", "departments": "4", "executions": "2", "users": "4"}  # in FILLED, where it is not 1
# fmt: on


def on_filled(line: str) -> tuple[str, str]:
    """Return the method and path of an operation on the first records of FILLED."""
    method, path = line.split()
    array = path.split("/")[1]
    id = FIRST_IDS.get(array, "1")
    path = re.sub("<.+>", id, path)
    home = INTERFACE[line].asks.rpartition(" ")[2]
    if method == "POST" and home in ("product", "project"):
        path += f"?{home}=1"
    return method, path


FILLED_LISTS = [on_filled(line)[1] for line, row in INTERFACE.items() if isinstance(row, List)]


@pytest.fixture
def linked():
    """Yield an app that holds ALL_LINKED."""
    yield from begun(records_of("ALL_LINKED"))


class TestEveryOperation:
    """Rules of all operations alike: those of INTERFACE and the tables above."""

    @each("line", [line for line, row in INTERFACE.items() if isinstance(row, Row) and row.needs])
    def test_required_fields_are_required(self, filled, line):
        request = on_filled(line)
        body = good(" ".join(request))
        for field in INTERFACE[line].needs:
            others = without(body, field)
            for sent in (others, {**others, field: None}):
                wrong = filled.refused(*request, sent)["fields"]
                # The task was never started.
                assert wrong.keys() - {"realStarted"} == {field}
                assert wrong[field].startswith("is required and must be ")

    @each("line", BROKEN)
    def test_broken_fields_are_named(self, filled, line):
        for row in BROKEN[line]:
            if isinstance(row, tuple):
                sent, wrong = row
            else:
                sent, wrong = row, " ".join(sorted(row))
            body = good(line, **sent)
            assert broken(filled, line, body) == wrong, sent

    @each(("line", "sent", "wanted"), NOT_GIVEN)
    def test_empty_text_is_not_given_or_unsets(self, filled, line, sent, wanted):
        body = good(line, **sent)
        answer = filled.call(*line.split(), body)
        holds(answer.json, **wanted)

    @each("path", SETTABLE)
    def test_put_sets_each_field_and_the_rest_stays(self, filled, path):
        for field, value in SETTABLE[path].items():
            sent = {field: value}
            filled.begin_with(records_of("FILLED"))
            before = filled.get(path)
            filled.put(path, **sent)
            after = filled.get(path)
            holds(after, **sent)
            followers = FOLLOW.get(field, "").split()
            unchanged_but(before, after, field, *followers)

    @each("path", SETTABLE)
    def test_record_that_was_read_can_be_sent_back(self, filled, path):
        for body in ({}, SETTABLE[path]):
            filled.put(path, **body)
            before = filled.get(path)
            for sent in (before, {**before, "comment": "c"}, body):
                answer = filled.call("PUT", path, sent)
                assert answer.status_int == 200, answer.text
                unchanged_but(before, filled.get(path))

    @each(("path", "sent"), NOT_SETTABLE)
    def test_put_ignores_what_it_does_not_set(self, filled, path, sent):
        before = filled.get(path)
        filled.put(path, **sent)
        unchanged_but(before, filled.get(path))

    @each("line", [line for line in INTERFACE if re.match("DELETE .*>$", line)])
    def test_deleted_record_is_shown_alone_and_takes_no_changes(self, filled, line):
        _, path = on_filled(line)
        if path == "/programs/6":  # which has others below it
            path = "/programs/7"
        _, array, id = path.split("/")
        keys = (array, OTHER_KEYS.get(array))
        lists = [one for one in FILLED_LISTS if one.split("/")[-1] in keys]
        shown = [one for one in lists if shows(filled, one, id)]
        assert shown or array == "departments"
        pattern = line.split()[1]
        stays_visible = f"GET {pattern}" in INTERFACE and array not in ("departments", "users")
        before = filled.get(path) if stays_visible else {}
        remove(filled, path)
        assert problems(filled) == []
        if stays_visible:
            after = filled.get(path)
            assert lines(after) == lines({**before, "deleted": True})
        for one in lists:
            assert not shows(filled, one, id)
        for method in ("PUT", "DELETE"):
            if f"{method} {pattern}" in INTERFACE:
                filled.refused(method, path, {}, status=404)

    @each("line", [line for line in INTERFACE if re.search("<id>|<user>", line)])
    def test_record_that_is_not_there_is_404(self, filled, line):
        method, path = line.split()
        path = re.sub("<id>|<user>", "99", path)
        body = good(line)
        filled.refused(method, path, body, status=404)

    @each("path", DEAD_LINKS)
    def test_deleted_record_cannot_be_linked_anew(self, linked, path):
        links = dict(testcases=[1], build=1)
        linked.put("/testtasks/1", **links)
        remove(linked, path)
        linked.put("/testtasks/1", **links)  # these exist
        for request, sent in DEAD_LINKS[path]:
            body = good(request, **sent)
            assert broken(linked, request, body) == "".join(sent)

    @each("path", FILLED_LISTS)
    def test_empty_parameters_are_not_given_and_a_bare_order_ascends(self, filled, path):
        listed = filled.get(path)
        assert filled.get(f"{path}?page=&limit=&order=&status=") == listed
        ascending = filled.get(f"{path}?order=id_asc")
        assert filled.get(f"{path}?order=id") == ascending

    @each(("path", "field", "word"), WRONG_PARAMETERS)
    def test_wrong_parameters_are_refused_by_what_is_allowed(self, filled, path, field, word):
        refusal = filled.refused("GET", path)
        assert word in refusal["fields"][field]

    @each("operation", OF_QUERY, ids=operation_name)
    def test_home_stands_in_query_or_body(self, filled, operation):
        path = operation.path
        home = operation.by
        line = operation_name(operation)
        body = without(good(line), home)
        refusal = filled.refused("POST", path, body)
        assert home in refusal["error"]
        ways = (
            (f"?{home}=1", {}),
            ("", {home: 1}),
            (f"?{home}=", {home: "1"}),
            (f"?{home}=1", {home: ""}),
        )
        for query, more in ways:
            if "name" in body:
                body["name"] = f"N{query}{len(more)}"  # builds have different names
            answer = filled.call("POST", path + query, {**body, **more})
            assert answer.status_int == 201, answer.text
            assert answer.json[home] == 1
        filled.refused("POST", f"{path}?{home}=99", body, status=404)

    def test_dump_of_everything_loads_as_it_was(self, linked):
        for request, body in WRITTEN:
            send(linked, request, body)
        dumped = linked.dump()
        assert dumped.keys() >= {*ALL_LINKED, "efforts", "results"}
        paths = """
            /stories/1 /stories/4 /stories/8 /productplans/1 /builds/1 /testtasks/1
            /testcases/1 /tasks/1 /tasks/1/estimate /departments /products
        """
        with opened(control=False, load=dumped) as again:
            assert lines(again.dump()) == lines(dumped)
            for path in paths.split():
                shown = again.get(path)
                assert lines(shown) == lines(linked.get(path))


class TestProperties:
    """Rules that hold for whatever is sent."""

    @given(name=NAMES, text=TEXTS)
    def test_what_goes_in_comes_out(self, in_memory, name, text):
        sent = {"name": name, "desc": text, "code": text}
        made = in_memory.product(**sent)
        assert made.items() >= sent.items()
        inside = made["products"][0]
        assert inside.items() >= sent.items()
        step = {"desc": name, "expect": text}
        texts = {"title": name, "precondition": text}
        case = in_memory.case(1, steps=[step], **texts)
        shown = in_memory.get(f"/testcases/{case['id']}")
        assert shown.items() >= texts.items()
        assert shown["steps"][0].items() >= step.items()

    @each("line", [line for line in INTERFACE if line[:3] != "GET"])
    def test_no_body_whatsoever_is_a_failure_of_our_own(self, filled, line):
        request = on_filled(line)
        body = good(" ".join(request))
        more = ("comment", "currentConsumed", "password")
        fields = [*body, *SORTS["task"], *SORTS["product"], *more]
        some = st.dictionaries(st.sampled_from(fields), VALUES, max_size=6)

        @given(sent=VALUES | some)
        @settings(max_examples=12)
        def answered(sent: Any) -> None:
            if isinstance(sent, dict):
                sent = {**body, **sent}
            answer = filled.call(*request, sent)
            assert answer.status_int < 500

        answered()


class TaskLife(RuleBasedStateMachine):
    """The life of a task, compared with a model that has the rules in a few lines."""

    hours = st.sampled_from([quarters / 4 for quarters in range(41)])

    @initialize(estimate=hours)
    def create(self, estimate):
        self.client = Client(":memory:")
        task = self.client.task(estimate=estimate)
        self.path = f"/tasks/{task['id']}"
        self.task = dict(
            name="T",
            status="wait",
            consumed=0,
            left=estimate,
            version=1,
            realStarted=None,
            finishedDate=None,
        )

    def teardown(self):
        self.client.close()

    def try_to(self, may, move, body, **changes):
        answer = self.client.call("POST", f"{self.path}/{move}", body)
        assert answer.status_int == (200 if may else 400), answer.text
        if may:
            self.task.update(changes)

    @rule(consumed=hours, left=hours)
    def start(self, consumed, left):
        body = dict(consumed=consumed, left=left)
        is_idle = self.task["status"] != "doing"
        may = is_idle and consumed >= self.task["consumed"]
        changes = dict(body, status="doing", realStarted=NOW_ISO, finishedDate=None)
        self.try_to(may, "start", body, **changes)

    @rule(consumed=hours, left=hours)
    def restart(self, consumed, left):
        body = dict(consumed=consumed, left=left)
        may = consumed >= self.task["consumed"]
        began = self.task["realStarted"] or NOW_ISO
        changes = dict(body, status="doing", finishedDate=None, realStarted=began)
        self.try_to(may, "restart", body, **changes)

    @rule(more=hours, day=st.sampled_from(["2026-11-20", "2026-11-21"]))
    def finish(self, more, day):
        body = dict(currentConsumed=more, finishedDate=day)
        was_started = self.task["realStarted"] is not None
        may = was_started and day == "2026-11-21"
        spent = self.task["consumed"] + more
        finished = f"{day}T00:00:00Z"
        changes = dict(status="done", left=0, consumed=spent, finishedDate=finished)
        self.try_to(may, "finish", body, **changes)

    @rule(name=st.sampled_from("TUV"))
    def rename(self, name):
        if name != self.task["name"]:
            self.task["name"] = name
            self.task["version"] += 1
        self.client.put(self.path, name=name)

    def progress(self):
        """Return how much of the work is done, as a percentage."""
        if self.task["status"] == "done":
            return 100
        spent = self.task["consumed"]
        if spent == 0:
            return 0
        share = spent / (spent + self.task["left"])
        return int(100 * share + 0.5)

    @invariant()
    def looks_like_the_model(self):
        model = {**self.task, "progress": self.progress()}
        shown = self.client.put(self.path)
        assert {field: shown[field] for field in model} == model


TestTaskLife = TaskLife.TestCase


TestTaskLife.settings = settings(max_examples=12, stateful_step_count=15)


# fmt: off
HOURS = [0, 2.5, 0.1 + 0.2, 1 / 3, 2 / 3, 4e-7, 1e-9, 8.67768396311207, 123456.789, 10**9, 2.0**62]
EARLY, LATE = ["2026-03-01", "2026-03-02"], ["2026-04-30", "2026-11-20"]
DRAWN = {  # the values that a request gives a field, by its name or by the look of its kind
    "email": ["a@b.org"], "mobile": ["13800000000"], "phone": ["13800000000"], "account": ["dev1", "new1", "new2", "new3"],
    "acl": ["open"], "stories": ["", "1,2", "3", "1,99"], "bugs": ["", "1"], "begin": EARLY, "estStarted": EARLY, "realBegan": EARLY,
    "realStarted": ["2026-02-09T17:00:00Z"], "moment": ["2026-11-19 23:59:59", "2026-11-20T08:00:00Z"], "stamp": ["2026-11-20T08:00:00Z"],
    "name": [f"N{n}" for n in range(20)], "text": ["a", "b"], "nullable": ["secret"], "hours": HOURS, "day": LATE, "deadline": LATE,
    "flag": [True, False], "truth": [True, False], "plain": [0, 1, 2, 3], "person": ["dev1", "qa1", "pm1", "someone", ""],
    "people": [["admin"], ["qa1", "dev1"], []], "whitelist": [["dev1"], []],
}
BUG_LISTS = dict(bugs="all", unResolved="active", closedBugs="closed", assignToNull="assigntonull")  # counter: status of what it counts
RESTORING = ("PUT /-/snapshots/old", "POST /-/snapshots/old/restore", "POST /-/reset")
BY_NUMBER = {"story": "story", "plan": "plan", "case": "testcase", "task": "task", "build": "build"}  # fields that are links in requests only
COUNTED = ("hours", "quoted", "people", "person", "day", "moment")  # looks of fields that may count
# fmt: on


WRITING = {
    operation_name(one): one for one in pmservice.OPERATIONS if one.method != "GET" and not one.open
}
CREATING = [name for name, one in WRITING.items() if one.status == 201]
PUTTING = [name for name in WRITING if name.startswith("PUT")]
REMOVING = [name for name in WRITING if name.startswith("DELETE")]
MOVING = [name for name in WRITING if name not in (*CREATING, *PUTTING, *REMOVING)]
MEMBER = "dev2"  # who sees everything, but is no administrator


def ids_of(client, target, deleted=False):
    """Return the ids of a resource's records, of users without those who ask for lists.

    Return [0] without a resource.
    """
    if not target:
        return [0]
    resource = pmservice.RESOURCES[target]
    condition = "TRUE" if deleted else resource.undeleted
    if target == "user":
        condition += f" AND account NOT IN ('admin', '{MEMBER}')"
    found = client.sql(f"""
        SELECT id FROM {resource.table} WHERE {resource.rows} AND {condition} ORDER BY id
    """)
    return [id for (id,) in found]


def choices(client, field, kind, deleted=False):
    """Return values for a field: links are to the first few records, so that several meet."""
    target = kind.target or BY_NUMBER.get(field)
    if target:
        ids = ids_of(client, target, deleted)[:5] or [99]
        if kind.table or kind.schema.get("type") == "array":
            single = [[id] for id in ids]
            return [*single, ids[:2]]
        other = "trunk" if kind.look == "build" else 0
        return [*ids, other]
    if field in DRAWN:
        return DRAWN[field]
    if kind.look == "quoted" and "enum" in kind.schema:
        return kind.schema["enum"]
    return DRAWN.get(kind.look, [0, 7])


def drawn_fields(shape):
    """Return the fields of a shape but those that have to fit to others."""
    fields = dict(shape.fields)
    for field in ("id", "version", "versions", "stepResults"):
        fields.pop(field, None)
    return fields


def may_count(kind):
    """Tell whether a value of this kind may change a count."""
    return kind.target or kind.look in COUNTED


class EveryWrite(RuleBasedStateMachine):
    """All operations that write, in any order, with loads and restores: every count stays right.

    The table of operations says what a request sends: for each field a value of its kind, for a
    link a record that is there. A rule may refuse it; the service may not fail.
    """

    steps: Counter[tuple[str, bool]] = Counter()  # of all examples, by whether they succeeded

    def __init__(self):
        super().__init__()
        self.client = Client(":memory:", load=ALL_LINKED)
        self.client.put("/-/snapshots/old")

    def teardown(self):
        try:
            self.every_total_is_the_number_of_records()
            self.every_counter_is_the_number_of_records()
        finally:
            self.client.close()

    def call(self, name, path, body=None):
        """Send a request for an operation, and count whether it was accepted."""
        method = name.split()[0]
        answer = self.client.call(method, path, body)
        status = answer.status_int
        assert status in (200, 201, 400, 403, 404), answer.text
        self.steps[name, status < 400] += 1

    def value(self, data, field, kind, deleted):
        """Draw a value for a field."""
        if isinstance(kind.read, pmservice.Items):
            shape = kind.read.shape
            sizes = st.integers(kind.read.least, 2)
            size = data.draw(sizes, field)
            return [self.body(data, shape, deleted) for _ in range(size)]
        values = choices(self.client, field, kind, deleted)
        return data.draw(st.sampled_from(values), field)

    def body(self, data, shape, deleted=False):
        """Draw a body: what is required, and a few other fields, mostly such as are counted."""
        fields = drawn_fields(shape)
        counted = [field for field, kind in fields.items() if may_count(kind)]
        hours = [field for field in counted if fields[field].look == "hours"]
        likely = [*fields, *counted * 2, *hours * 3]
        some = st.lists(st.sampled_from(likely), max_size=4, unique=True)
        others = data.draw(some, "fields")
        chosen = {*shape.required, *others}
        if "acl" in fields:
            chosen.add("acl")  # open: the member sees everything
        body = {}
        for field, kind in fields.items():
            if field in chosen:
                body[field] = self.value(data, field, kind, deleted)
        return body

    def write(self, name, data):
        """Send a request for an operation to a record that is there."""
        operation = WRITING[name]
        ids = ids_of(self.client, operation.target) or [99]
        id = data.draw(st.sampled_from(ids), "id")
        body = self.body(data, operation.reads)
        self.call(name, path_to(operation, id), body)

    @rule(name=st.sampled_from(CREATING), data=st.data())
    def create(self, name, data):
        self.write(name, data)

    @rule(name=st.sampled_from(PUTTING), data=st.data())
    def modify(self, name, data):
        self.write(name, data)

    @rule(name=st.sampled_from(MOVING), data=st.data())
    def move(self, name, data):
        self.write(name, data)

    @rule(name=st.sampled_from(REMOVING), data=st.data())
    def remove(self, name, data):
        self.write(name, data)

    @rule(array=st.sampled_from([*pmservice.FIXTURE]), data=st.data())
    def load(self, array, data):
        """Load records of an array, the first of them deleted; they may name deleted ones."""
        shape = pmservice.FIXTURE[array].fixture
        size = data.draw(st.integers(1, 3), "size")
        records = []
        for _ in range(size):
            record = self.body(data, shape, deleted=True)
            records.append(record)
        if "deleted" in shape.fields and array != "users":
            records[0]["deleted"] = True
        self.call("POST /-/load", "/-/load", {array: records})

    @rule(name=st.sampled_from(RESTORING))
    def restore(self, name):
        self.call(name, name.split()[1])

    @invariant()
    def every_count_is_that_of_the_records(self):
        found = problems(self.client)
        assert not found, found

    def every_total_is_the_number_of_records(self):
        """Compare the total of each list with its records, for both who see all of them."""
        member = self.client.token_of(MEMBER)
        for operation in LISTING:
            listing = operation.shows
            ids = ids_of(self.client, operation.target)[:2]
            for id, word in itertools.product(ids, listing.browse):
                path = f"{path_to(operation, id)}?limit=1000"
                if len(listing.browse) > 1:
                    path += f"&status={word}"
                for self.client.token in (member, "t"):
                    shown = self.client.get(path)
                    found = len(shown[listing.key])
                    assert shown.get("total", found) == found, path

    def every_counter_is_the_number_of_records(self):
        """Compare the numbers that products and plans show with the lists of what they count."""
        get = self.client.get
        for product in get("/products")["products"]:
            path = f"/products/{product['id']}"
            for counter, word in BUG_LISTS.items():
                bugs = get(f"{path}/bugs?limit=1&status={word}")
                assert bugs["total"] == product[counter], path
            releases = get(f"{path}/releases")
            assert releases["total"] == product["releases"], path
            for state in ("draft", "active", "changed", "closed"):
                stories = get(f"{path}/stories?limit=1&status={state}")
                assert stories["total"] == product["stories"][state], path
        for plan in get("/productplans?limit=1000")["plans"]:
            path = f"/productplans/{plan['id']}"
            inside = get(path)
            assert plan["stories"] == len(inside["stories"]), path
            assert plan["bugs"] == len(inside["bugs"]), path
            estimates = [story["estimate"] for story in inside["stories"]]
            hours = math.fsum(min(estimate, 10**8) for estimate in estimates)
            assert plan["hour"] == pytest.approx(hours, abs=1e-4), path


TestEveryWrite = EveryWrite.TestCase


TestEveryWrite.settings = settings(max_examples=6, stateful_step_count=40)


# --- 12 Service: HTTP -----------------------------------------------------------------------------


FORM = "application/x-www-form-urlencoded"


# fmt: off
BODIES = [  # Content-Type, body: each sends the name x
    (None, b'{"name": "x"}'), ("nonsense", b'{"name": "x"}'), (FORM, b'{"name": "x"}'), (FORM, b' {"name": "x"} '), (FORM, b"name=x"),
    (f"{FORM}; charset=utf-8", b"name=%78"),
    ("application/json", b'\n{"name":\t"x", "type": null, "unknown": [1]}\r\n'),
    ("application/json", b'{"unknown": ' + b"[" * 99 + b"]" * 99 + b', "name": "x"}'),
    ("application/json", b'{"desc": "' + b"[" * 200 + b'", "name": "x"}'),
    ("application/json", b'{"name": "x", "\\ud800": 1}'),
]
NO_OBJECTS = {  # a word of the refusal: bodies
    "object": [b"[]", b'"x"', b"1", b"true"],
    "JSON": [b"name=x", b"{", b"{'name': 1}", b'{"name": "x"} x', b"\xef\xbb\xbf\xef\xbb\xbf{}", b'{"a" "b"}', b'{"line": ' + b"9" * 5000 + b"}",
             b'{"name": "a\0b"}', b'{"name": "a\nb"}'],
    "NaN": [b'{"name": NaN}'],
    "Infinity": [b'{"estimate": Infinity}', b'{"x": -Infinity}'],
    "UTF-8": [b'{"name": "\xff"}', '{"name": "x"}'.encode("utf-16")],
    "deep": [b"[" * 5000 + b"]" * 5000, b'{"a":' * 101 + b"1" + b"}" * 101, b"[" * 101 + b'"' + b'\\"' * 200_000],
}
# fmt: on


# fmt: off
ALLOWED = [  # a method, a path, the methods that it has
    ("OPTIONS", "/products",            "GET POST"),
    ("PATCH",   "/tasks/1/start",       "POST"),
    ("TRACE",   "/api.php/v1/tasks/1/", "DELETE GET PUT"),
]
FORMS_OF_PEOPLE = [
    b"assignedTo[]=dev1&assignedTo%5B%5D=dev2", b"assignedTo[0]=dev1&assignedTo%5B1%5D=dev2",
    b"assignedTo=pm1&assignedTo[]=dev1&assignedTo[]=dev2",
]
HOSTS = [  # the setting `allowed_host`, whether only this machine can connect, the status of other hosts
    ("PM.example.org, pm", True, 421), ("pm.example.org, pm", False, 421), ("", False, 200),
]
IN_ORDER = [  # the status of the first mistake, what is mended then
    (413, "body",    b"{"),
    (421, "Host",    "localhost"),
    (403, "Origin",  "http://localhost:3000"),
    (599, "line",    "PATCH /departmens/99?order=x"),  # the fault was for the first call
    (404, "line",    "PATCH /departments/99?order=x"),
    (405, "line",    "PUT /departments/99?order=x"),
    (401, "Token",   "dev1"),
    (503, "loading", None),
    (403, "line",    "PUT /tasks/99?order=x"),  # only an administrator may
    (404, "line",    "POST /testcases/99/results?version=x"),
    (400, "line",    "GET /products/99/bugs?order=x"),
    (400, "line",    "PUT /tasks/1"),
]
# fmt: on


# fmt: off
MARKED = [  # request, body, the status of the answer
    ("POST /products", '{"name": "P"}', 201), ("PUT /products/1", "null", 200), ("PUT /products/1", "", 200), ("POST /-/load", '{"products": []}', 200),
    ("POST /-/faults", '{"match": "GET /user", "status": 500}', 200), ("PUT /-/faults", "[]", 200), ("PUT /-/clock", '{"offset": 1}', 200),
]
# fmt: on


class TestReachingIt:
    NOWHERE = """
        /tasks/01 /tasks/0 /tasks/-1 /tasks/+1 /tasks/1.0 /tasks/1e0 /tasks/%D9%A1 /tasks/%FF1
        /tasks/1%00 /tasks/1%20 /tasks/1%0A /tasks/1%0A/ /tasks/1%0A%0A
        //tasks/1 /tasks%2F1 /tasks/1%2f /tasks//1 /tasks/1//
        /tasks/9223372036854775808 /tasks/9999999999999999999 /tasks/9223372036854775807
        /api.php/v1/api.php/v1/tasks/1 /api.php/v2/tasks/1 /TASKS/1 /tasks/1/stop
    """

    @each(("line", "body", "status"), MARKED)
    def test_byte_order_mark_before_json_is_passed_over(self, memory, line, body, status):
        marked = b"\xef\xbb\xbf" + body.encode()
        answer = memory.call(*line.split(), marked)
        assert answer.status_int == status, answer.text

    @each("prefix", ["", "/api.php/v1", "/zentao/api.php/v1"])
    @each("slash", ["", "/"])
    def test_paths_are_found_under_the_prefixes_of_the_reference(self, world, prefix, slash):
        listed = world.get(f"{prefix}/products{slash}?limit=1")
        assert listed["total"] == 2
        task = world.put(f"{prefix}/tasks/1{slash}")
        assert task["id"] == 1

    def test_other_paths_are_not_found(self, world):
        before = world.dump()
        for path in self.NOWHERE.split():
            answer = world.call("PUT", path, {})
            assert answer.status_int == 404, path
        assert world.dump() == before

    @each(("method", "path", "allowed"), ALLOWED)
    @each("origin", [None, "http://localhost"])  # which makes it no preflight yet
    def test_other_methods_are_not_allowed(self, client, method, path, allowed, origin):
        answer = client.call(method, path, Origin=origin)
        assert answer.status_int == 405
        named = re.findall("[A-Z]+", answer.headers["Allow"])
        assert {*named} - {"HEAD"} == {*allowed.split()}
        assert method in answer.json["error"]

    @each(("content_type", "body"), BODIES)
    def test_body_is_read_as_json_whatever_it_is_called(self, client, content_type, body):
        answer = client.call("POST", "/products", body, Content_Type=content_type)
        assert answer.status_int == 201
        assert answer.json["name"] == "x"

    @each("people", FORMS_OF_PEOPLE)
    def test_form_has_texts_and_arrays(self, world, people):
        body = b"name=a+%C3%A9&type=devel&estStarted=2026-02-02&deadline=2026-02-20&estimate=2.5&"
        body += people
        answer = world.call("POST", "/executions/3/tasks", body, Content_Type=FORM)
        task = answer.json  # the second one
        holds(task, id=4, name="a é", estimate=2.5, assignedTo="dev2")

    @each("body", [b"", b" \n", b"null", b"{}"])
    def test_nothing_is_an_empty_object(self, world, body):
        for content_type in ("application/json", FORM):
            answer = world.call("PUT", "/tasks/1", body, Content_Type=content_type)
            assert answer.json["name"] == "Task one"

    @each("word", NO_OBJECTS)
    def test_what_is_no_json_object_is_refused(self, client, word):
        for body in NO_OBJECTS[word]:
            refusal = client.refused("POST", "/products", body)
            assert word in refusal["error"]

    def test_what_is_no_form_is_refused(self, client):
        for body in (b"name=x%FF", b"name=x\xff", b"name=x&" * 1001):
            client.refused("POST", "/products", body, Content_Type=FORM)

    @each("field", ["estimate", "pri", "name"])
    def test_number_beyond_floats_is_refused_where_it_is_read(self, world, field):
        body = f'{{"{field}": 1e400}}'
        assert broken(world, "PUT /tasks/1", body.encode()) == field

    @each("length", ["-1", "x", "1e3", "٣"])
    def test_length_of_a_body_is_a_number(self, client, length):
        app = webtest.TestApp(client.service, lint=False)
        sent = {"HTTP_TOKEN": "t", "CONTENT_LENGTH": length}
        answer = app.get("/products", extra_environ=sent, status=400)
        assert "Content-Length" in answer.json["error"]

    def test_only_names_of_this_machine_are_answered(self, client):
        own = "localhost LocalHost:8080 127.0.0.1 127.0.0.1:1 [::1] [::1]:80"
        others = """
            evil.example localhost.evil.example 127.0.0.1.evil.example 127.0.0.2 localhost:x [::1]x
            user@localhost evil.example#localhost localhost@evil.example evil.example@localhost
            localhost:8080@evil.example 127.1 0.0.0.0 2130706433 [::ffff:127.0.0.1] ::1 [::]
            localhost. localhost: xn--localhost localhos\xb3 localhost,evil.example
        """
        for host in own.split():
            assert status_with(client, Host=host) == 200
        for host in ("", *others.split()):
            assert status_with(client, Host=host) == 421, host

    @each(("named", "loopback_only", "others"), HOSTS)
    def test_hosts_that_are_named_count_on_every_address(self, named, loopback_only, others):
        settings = dict(allowed_host=named, loopback_only=loopback_only)
        with opened(**settings) as client:
            for host in ("pm.example.org:80", "PM", "localhost", "127.0.0.1:8080", "[::1]"):
                assert status_with(client, Host=host) == 200
            assert status_with(client, Host="10.0.0.1") == others

    def test_refusal_of_a_host_says_how_to_allow_it(self, client):
        refusal = client.refused("GET", "/user", status=421, Host="evil.example:80")
        assert "--allowed-host evil.example to add it" in refusal["error"]

    def test_first_mistake_in_the_order_of_checks_is_refused(self):
        """Mend a request with every mistake one by one, in the order of the contract."""
        with opened(load=WORLD) as client:
            client.post("/-/faults", match="*", status=599, times=1)
            client.service.loading = True
            body = b"{" * (pmservice.MAX_BODY + 1)
            sent = dict(Host="evil.example", Origin="https://evil.example", Token=None, body=body)
            line = "PATCH /departmens/99?order=x"
            for status, mended, right in IN_ORDER:
                answer = client.call(*line.split(), **sent)
                assert answer.status_int == status, line
                if mended == "line":
                    line = right
                elif mended == "Token":
                    sent["Token"] = client.token_of(right)
                elif mended == "loading":
                    client.service.loading = False
                else:
                    sent[mended] = right
                if status == 400:  # the query comes before the record
                    assert {*answer.json["fields"]} <= {"version", "order"}
            answer = client.call(*line.split(), **sent)
            assert answer.json["error"].startswith("The body must be JSON")

    def test_failure_of_our_own_says_nothing_of_the_inside(self, world, caplog):
        world.clock.moment = "no time at all"
        answer = world.call("PUT", "/tasks/1", {})
        assert answer.status_int == 500
        assert list(answer.json) == ["error"]
        assert "Traceback" in caplog.text
        assert not re.search("Traceback|Error|time", answer.text)


# Origins of this machine and of apps, those that the setting can name, those that it cannot.
OWN = """
    http://localhost http://localhost:5173 https://127.0.0.1:8443 http://[::1]:3000
    HTTP://LOCALHOST:1 http://app.localhost:80 http://127.1.2.3
    app://- tauri://localhost chrome-extension://abc capacitor://localhost
"""
NAMEABLE = """
    http://evil.example https://localhost.evil.example https://pm.example.org:444 null *
    http://127.0.0.1.evil.example http://notlocalhost http://xn--lcalhost-9ya
"""
NAMELESS = (
    "http:// evil http://localhost@evil.example http://evil.example/localhost http://é.example"
)


# fmt: off
ORIGINS = [  # the setting `origin`, Host, origins that may call, origins that may not
    ("",     "localhost",        OWN,                                                ""),
    ("",     "pm.internal:8080", "http://pm.internal:8080 https://pm.internal:8080", "http://pm.internal:8081 http://pm.internal null"),
    ("",     "pm.INTERNAL",      "https://PM.internal",                              "http://pm.internal:8080"),
    ("*",    "pm",               "http://evil.example null",                         ""),
    ("null", "pm",               "null",                                             "http://evil.example"),
    ("https://pm.example.org, http://other.example:81", "pm",
     "https://pm.example.org http://other.example:81", "http://pm.example.org https://a.pm.example.org"),
]
ANSWERED = [("GET /products", 200), ("POST /tokens", 400), ("PUT /users", 405)]
URLS_SHOWN = [  # the address of the listener, hosts that are named, the host that is shown
    ("0.0.0.0",   "pm.example.org pm", r"pm\.example\.org"),
    ("::",        "pm",                "pm"),
    ("0.0.0.0",   "",                  r"(?!0\.0\.0\.0)[\w.-]+"),
    ("::",        "",                  r"(?!\[::\])([\w.-]+|\[[0-9a-f:]+\])"),
    ("127.0.0.1", "pm.example.org",    r"127\.0\.0\.1"),
]
# fmt: on


class TestCallsFromPages:
    """Web pages of allowed origins may call; others are refused before anything is looked at."""

    EXPOSED = {"Access-Control-Expose-Headers": "X-Request-Id, Ignored-Fields, Retry-After, Allow"}

    @staticmethod
    def shown(answer):
        """Return the headers of an answer that are meant for browsers."""
        shown = {}
        for name, value in answer.headers.items():
            if name.startswith("Access-Control-"):
                shown[name] = value
        return shown

    @each(("line", "status"), ANSWERED)
    def test_every_answer_to_them_can_be_read(self, client, line, status):
        answer = client.call(*line.split(), Origin="app://-")
        assert answer.status_int == status
        shown = {"Access-Control-Allow-Origin": "app://-", **self.EXPOSED}
        assert self.shown(answer) == shown
        assert answer.headers["Vary"] == "Accept, Origin"
        assert answer.headers["Cache-Control"] == "no-store"

    @each("line", ["POST /products", "GET /nothing", "POST /tokens"])
    @each("token", ["t", None])
    def test_pages_of_other_origins_are_refused_first(self, client, monkeypatch, line, token):
        monkeypatch.setattr(pmservice, "scrypt", None)  # nothing is hashed
        body = dict(account="admin", password="x", name="P")
        sent = {"Origin": "http://evil.example", "Token": token}
        client.refused(*line.split(), body, 403, **sent)

    @each("origin", ["http://evil.example:80", *NAMEABLE.split(), *NAMELESS.split()])
    def test_refusal_names_an_origin_as_browsers_send_it(self, client, origin):
        sent = origin.encode().decode("latin-1")
        refusal = client.refused("GET", "/products", status=403, Origin=sent)
        advice = f"--origin {origin.removesuffix(':80')} to allow"
        is_nameable = origin not in NAMELESS.split()
        assert (advice in refusal["error"]) == is_nameable
        asked = {"Origin": sent, "Access-Control-Request-Method": "GET"}
        client.app.options("/products", headers=asked, status=403)

    @each(("setting", "host", "allowed", "refused"), ORIGINS)
    def test_pages_of_this_machine_and_host_and_named_ones_may_call(
        self, setting, host, allowed, refused
    ):
        with opened(origin=setting, loopback_only=False) as client:
            for origin in allowed.split():
                answer = client.call("GET", "/products", Host=host, Origin=origin)
                assert answer.status_int == 200
                assert answer.headers["Access-Control-Allow-Origin"] == origin
            for origin in refused.split():
                answer = client.call("GET", "/products", Host=host, Origin=origin)
                assert answer.status_int == 403
                assert self.shown(answer) == {}

    def test_preflight_is_answered_without_a_token(self):
        asked = {"Origin": "http://localhost:3000", "Access-Control-Request-Method": "PUT"}
        shown = {
            "Access-Control-Allow-Origin": "http://localhost:3000",
            **self.EXPOSED,
            "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, DELETE",
            "Access-Control-Allow-Headers": "Token, Content-Type",
            "Access-Control-Max-Age": "600",
        }
        with opened() as client:
            for path in ("/products", "/tokens", "/nothing", "/api.php/v1/tasks/1", "/-/clock"):
                answer = client.app.options(path, headers=asked, status=204)
                assert answer.body == b""
                assert "Content-Type" not in answer.headers
                assert self.shown(answer) == shown
            assert client.get("/-/journal")["total"] == 0

    @each(("asked", "allowed"), [
        ("authorization,x-requested-with", "authorization,x-requested-with"),
        ("", "Token, Content-Type"), ("Token\x0b", "Token, Content-Type"),
    ])  # fmt: skip
    def test_preflight_allows_the_headers_that_it_asks_for(self, client, asked, allowed):
        headers = {"Origin": "http://localhost:3000", "Access-Control-Request-Method": "GET"}
        headers["Access-Control-Request-Headers"] = asked
        answer = client.app.options("/products", headers=headers, status=204)
        assert answer.headers["Access-Control-Allow-Headers"] == allowed

    @each(("host", "named", "shown"), URLS_SHOWN)
    def test_url_that_is_shown_can_be_opened_from_other_machines(self, host, named, shown):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        address = partial(tuple, [host, 8080])
        listener = SimpleNamespace(getsockname=address, family=family)
        url = pmservice.url_to_show(listener, named.split())
        assert re.fullmatch(f"http://{shown}:8080", url)

    def test_served_url_may_have_the_hosts_that_are_named(self, monkeypatch):
        def first(_, names):
            return f"http://{names[0]}"

        monkeypatch.setattr(pmservice, "url_to_show", first)
        with pmservice.running(allowed_host="pm.example.org, pm") as served:
            assert served.url == "http://pm.example.org"


# fmt: off
IGNORED = [  # request, its body, the header of the answer
    ("POST /products",                   b'{"name": "P", "progam": 1}',                  "progam"),
    ("POST /products",                   b'{"name": "P", "progam": null, "program": 1}', None),
    ("GET /products?pagesize=1&limit=1&x=", b"",                                         "?pagesize"),
    ("POST /products/1/testcases",       b'{"title": "C", "type": "unit", "pri": 1, "steps": [{"desc": "d"}, {"desc": "e", "expct": "x"}]}', "steps[1].expct"),
    ("PUT /tasks/1?x=1&y=2",             b'{"a b,\\u00fc%\\n": 1, "pri": 2, "comment": "c", "id": 1}', "a%20b%2C%C3%BC%25%0A, id, ?x, ?y"),
    ("POST /tokens",                     b'{"account": "admin", "password": "x", "remember": true}', "remember"),
    ("POST /bugs?product=1",             b'{"product": 1, "title": "B", "severity": 3, "pri": 3, "type": "codeerror", "openedBuild": "trunk"}', None),
    ("POST /stories?product=1&type=story", b'{"title": "S", "spec": "s", "pri": 1, "category": "feature", "type": "story"}', None),
    ("DELETE /bugs/1",                   b'{"comment": "c", "reason": "r"}',             "reason"),
    ("POST /products",                   b'{"name": "P", "": 1}',                        "%22%22"),
    ("POST /products?x=1",               b'{"name": "P", "y": 1, "acl": "open", "whitelist": ["dev1"]}', "whitelist, y, ?x"),
    ("POST /products",                   b'{"name": "P", "acl": "open", "whitelist": []}', None),
    ("POST /products",                   b'{"name": "P", "whitelist": ["dev1"]}',        None),
    ("PUT /products/1",                  b'{"acl": "open"}',                             None),
    ("PUT /products/1",                  b'{"acl": "open", "whitelist": "dev1"}',        "whitelist"),
    ("PUT /projects/2",                  b'{"whitelist": ["dev1"]}',                     "whitelist"),
    ("POST /programs",                   b'{"name": "P", "begin": "2026-01-01", "end": "2026-01-02", "whitelist": ["dev1"]}', "whitelist"),
    ("POST /projects/2/executions",      b'{"name": "E", "begin": "2026-02-01", "end": "2026-02-02", "whitelist": ["dev1"], "acl": "open"}', "whitelist"),
    ("POST /products",                   dict.fromkeys(("name", *map(chr, range(65, 91))), "P"),   ", ".join("ABCDEFGHIJKLMNOPQRST")),
    ("POST /products",                   {"name": "P", "a" * 390: 1, "é" * 100: 1, "b" * 20: 1},   "a" * 390 + ", " + "%C3%A9" * 100),
    ("POST /products",                   {"name": "P", "b" * 5000: 1, "c": 1},           "b" * 1000),
]
# fmt: on


class TestIgnoredNames:
    """Names that an operation does not take: they are ignored, and the answer names them."""

    @each(("line", "body", "ignored"), IGNORED)
    def test_answer_names_them(self, world, line, body, ignored):
        answer = world.call(*line.split(), body)
        assert answer.headers.get("Ignored-Fields") == ignored

    @each("letter", "é€😀")
    @each("begin", ["", "a", "aa"])
    def test_name_that_is_cut_stays_decodable(self, client, letter, begin):
        name = begin + letter * 400
        answer = client.call("POST", "/products", {"name": "P", name: 1})
        ignored = answer.headers["Ignored-Fields"]
        assert 980 < len(ignored) <= 1000
        assert name.startswith(urllib.parse.unquote(ignored, errors="strict"))

    def test_form_fields_are_named_without_brackets(self, client):
        body = b"name=P&colours[]=a&colours[]=b"
        answer = client.call("POST", "/products", body, Content_Type=FORM)
        assert answer.headers["Ignored-Fields"] == "colours"

    @each("path", ["/products/1/bugs", "/bugs", "/executions/3/tasks", "/projects/2/builds"])
    def test_record_of_a_list_can_be_sent_back(self, world, path):
        listed = world.get(path)
        record = records_in(listed)[0]
        array = path.split("/")[-1]
        answer = world.call("PUT", f"/{array}/{record['id']}", record)
        assert answer.status_int == 200, answer.text

    def test_call_command_says_what_was_ignored(self, run):
        body = '{"name": "P", "progam": 1}'
        _, _, told = run("call", "POST", "/products", body)
        assert told == "ignored: progam\n"


# --- 13 OpenAPI -----------------------------------------------------------------------------------


TAKING_A_BODY = ("PUT /-/clock", "POST /-/load", "PUT /-/faults", "POST /-/faults")
EVERY_OPERATION = each("operation", pmservice.OPERATIONS, ids=operation_name)
EVERY_ROW_OF_A_CONTROL = each("control", pmservice.CONTROLS, ids=operation_name)


def item_of(operation: Any) -> dict[str, Any]:
    """Return the item of the document that describes the path of an operation."""
    path = operation.path.replace("<", "{").replace(">", "}")
    return DOCUMENT["paths"][path]


def description_of(operation: Any) -> dict[str, Any]:
    """Return what the document says of an operation."""
    return item_of(operation)[operation.method.lower()]


def parameters_of(part: dict[str, Any]) -> list[str]:
    """Return the names of the parameters that an item or a description has."""
    return [parameter["name"] for parameter in part.get("parameters", [])]


def inner_schemas(part: Any) -> Iterator[dict[str, Any]]:
    """Yield every schema with a type in a part of the document."""
    if isinstance(part, list):
        for one in part:
            yield from inner_schemas(one)
    if isinstance(part, dict):
        if isinstance(part.get("type"), (str, list)) and part["type"] != "apiKey":
            yield part
        for name, one in part.items():
            if name not in ("example", "security"):
                yield from inner_schemas(one)


# Where and how to make the record for an example that no record of the demo allows.
NAMED = dict(name="N")
REVIEWED = dict(title="S", spec="", pri=3, category="feature", reviewer="admin")
HOMES_OF_EXAMPLES = {
    "DELETE /departments/<id>": ("/departments", NAMED),
    "DELETE /programs/<id>": ("/programs", dict(NAMED, begin="2026-01-01", end="2026-01-02")),
    "POST /stories/<id>/review": ("/products/1/stories", REVIEWED),
}


class TestOpenAPI:
    """The document itself; every answer that a Client gets is held against it."""

    def test_document_is_valid_and_open(self, client):
        answer = client.call("GET", "/openapi.json", Token=None)
        document = answer.json
        pytest.importorskip("openapi_spec_validator").validate(document)
        paths = {"/-/live", "/-/ready"}  # the only controls of this service
        paths |= {path for path in DOCUMENT["paths"] if not path.startswith("/-/")}
        assert document["paths"] == {path: DOCUMENT["paths"][path] for path in paths}
        components = DOCUMENT["components"]
        assert document["components"]["responses"] == components["responses"]
        assert document["components"]["schemas"].items() <= components["schemas"].items()

    @EVERY_OPERATION
    def test_every_operation_is_in_it_with_its_parameters_and_fields(self, operation):
        line = operation_name(operation)
        row = INTERFACE[line]
        description = description_of(operation)
        asked = row.asks.split()
        if isinstance(row, List):
            asked = ["page", "limit", "order", *asked]
            if line not in UNNAMED:
                asked.append("title")
        assert parameters_of(description) == asked
        in_path = re.findall("<(.+?)>", operation.path)
        assert parameters_of(item_of(operation)) == in_path
        security = [] if operation.path == "/tokens" else None
        assert description.get("security") == security
        assert [*description["responses"]] == [str(operation.status), "default"]
        if operation.reads.fields and operation.method != "GET":
            content = description["requestBody"]["content"]
            schema = written_out(content["application/json"]["schema"])
            assert schema["properties"].keys() == operation.reads.fields.keys()
            assert {*schema["required"]} == row.needs.keys()
        else:
            assert "requestBody" not in description

    @EVERY_ROW_OF_A_CONTROL
    def test_every_control_is_in_it(self, control):
        description = description_of(control)
        assert description["tags"] == ["controls"]
        assert description["summary"].lower() == control.purpose.lower()
        assert parameters_of(description) == list(control.parameters)
        takes_a_body = operation_name(control) in TAKING_A_BODY
        assert ("requestBody" in description) == takes_a_body

    def test_what_is_described_in_full_has_a_name(self):
        for schema in inner_schemas({**DOCUMENT, "components": {}}):
            assert "properties" not in schema
        for component in DOCUMENT["components"]["schemas"].values():
            assert "title" not in component  # some generators name a class by it
            for schema in inner_schemas({**component, "type": None}):
                assert not {"properties", "enum"} & schema.keys()

    def test_components_of_one_name_are_the_same(self):
        named = {}
        for operation in (*pmservice.OPERATIONS, *pmservice.CONTROLS):
            for schema in inner_schemas(pmservice.describe(operation, date.today())):
                if name := schema.get("$anchor"):
                    assert named.setdefault(name, schema) == schema

    def test_values_are_of_forms_that_every_generator_takes(self):
        for schema in inner_schemas(DOCUMENT):
            assert not {"const", "oneOf", "not", "default"} & schema.keys()
            types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            assert types[1:] in ([], ["null"])
            if "integer" in types:
                assert schema["format"] == "int64"
            if schema["type"] == "number":
                assert schema["format"] == "double"
            if schema["type"] == "array":
                assert schema["items"] or schema["maxItems"] == 0

    def test_words_are_listed_once_and_all_are_different(self):
        listed = [schema["enum"] for schema in inner_schemas(DOCUMENT) if "enum" in schema]
        assert len(listed) == len(set(map(tuple, listed)))
        for words in listed:
            assert len({word.lower() for word in words}) == len(words)

    @EVERY_OPERATION
    def test_no_body_lists_the_empty_word(self, operation):
        if "requestBody" in description_of(operation):
            content = description_of(operation)["requestBody"]["content"]
            for schema in inner_schemas(written_out(content["application/json"]["schema"])):
                assert "" not in schema.get("enum", ())

    def test_operations_are_named_like_functions(self):
        operations = [*pmservice.OPERATIONS, *pmservice.CONTROLS]
        described = [description_of(operation) for operation in operations]
        names = [operation["operationId"] for operation in described]
        assert len(set(names)) == len(names)
        assert {"listBugsOfProduct", "startTask", "createTaskOfExecution", "logIn"} <= {*names}
        tags = [tag["name"] for tag in DOCUMENT["tags"]]
        for operation in described:
            assert re.fullmatch("[a-z]+([A-Z][a-z]*)+", operation["operationId"])
            assert re.fullmatch("[A-Z`].*[.]", operation["description"])
            [tag] = operation["tags"]
            assert tag in tags

    def test_server_is_not_what_a_stranger_says(self, client):
        forwarded = {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "ftp"}
        document = client.call("GET", "/openapi.json", Host="localhost:9000", **forwarded).json
        assert document["servers"] == [{"url": "http://localhost:9000"}]

    def test_home_of_a_new_record_is_needed_where_the_path_names_none(self):
        for operation in pmservice.OPERATIONS:
            for parameter in description_of(operation).get("parameters", []):
                needed = operation.method != "GET" and parameter["name"] == operation.by
                if needed or operation.path == "/modules":
                    assert parameter["required"]
                else:
                    assert not parameter["required"]

    @EVERY_OPERATION
    def test_example_works_on_the_demo(self, demo, operation):
        """Some record of the demo is in a state that allows it: the one of the path, or another."""
        described = description_of(operation)
        if "requestBody" not in described or operation.path == "/tokens":
            return
        content = described["requestBody"]["content"]["application/json"]
        ids = [place["example"] for place in item_of(operation).get("parameters", [])]
        ids += ids_of(demo, operation.target)
        if home := HOMES_OF_EXAMPLES.get(operation_name(operation)):
            path, body = home
            made = demo.post(path, **body)
            ids = [made["id"]]
        query = f"?{operation.by}={ids[0]}" if operation.by else ""
        said = []
        for id in ids:
            path = re.sub("<.*?>", str(id), operation.path)
            answer = demo.call(operation.method, path + query, content["example"])
            said.append(answer.json)
            if answer.status_int < 300:
                return
        raise AssertionError(said[0])

    @each("path", ["/products", "/products/1/releases", "/projects/2/builds"])
    def test_whole_list_without_its_total_is_not_as_described(self, world, path):
        answer = world.get(path)
        del answer["total"]
        assert not answers_of("GET", path)["200"].is_valid(answer)

    @each("operation", SHOWN)
    def test_answer_that_lacks_a_field_or_has_another_is_not_as_described(self, world, operation):
        _, path, body, _ = next(row for row in ANSWERS if row[0] == operation)
        method = operation.split()[0]
        answer = world.call(method, path, body)
        validator = answers_of(method, path)[str(answer.status_int)]
        shown = record = answer.json
        array = path.split("/")[-1]
        if method == "GET" and array in shown:
            record = shown[array][0]
        assert validator.is_valid(shown)
        for field, value in list(record.items()):
            del record[field]
            assert not validator.is_valid(shown), field
            record[field] = value
        record["another"] = 1
        assert not validator.is_valid(shown)


# --- 14 Control: clock, journal, faults and snapshots ---------------------------------------------


class Controlled(Client):
    """An app whose controls are on."""

    def total(self) -> int:
        """Return how many products there are."""
        return self.get("/products")["total"]

    def status(self, path: str, token: str = "t") -> int:
        """Return the status of a GET."""
        answer = self.call("GET", path, Token=token)
        return answer.status_int

    def calls(self, query: str = "") -> list[dict[str, Any]]:
        """Return the calls of the journal."""
        return self.get(f"/-/journal?{query}")["calls"]

    def fail(self, match: str, **effects: Any) -> Any:
        """Add a fault; return all of them."""
        return self.post("/-/faults", match=match, **effects)


@cache
def shared_controls() -> Controlled:
    """Return the app with controls that tests share."""
    return Controlled(":memory:")


@pytest.fixture
def controls():
    """Return the controls of `memory`, with nothing of an earlier test."""
    service = shared_controls().service
    controls = next(one for one in pmservice.Controls.alive if one.service is service)
    controls.journal = pmservice.Journal()
    controls.return_to_start()
    return controls


@pytest.fixture
def memory(controls):
    """Yield an app with controls whose start is WORLD."""
    client = shared_controls()
    client.begin_with(records_of("WORLD"))
    controls.database = client.service.database
    controls.database.clock = controls.clock
    pmservice.take_snapshot(controls.database, pmservice.START_SNAPSHOT)
    yield client
    client.close()


CLOSED_CONTROLS = [row for row in pmservice.CONTROLS if not row.open]
EVERY_CONTROL = each("control", CLOSED_CONTROLS, ids=operation_name)
# fmt: off
# database, control, status
SWITCHES = [(":memory:", None, 200), (":memory:", False, 404), ("pm.db", None, 404), ("pm.db", True, 200)]
UNREADABLE = [
    ("POST /-/load",   b'{"products": [{"name": "caf\xe9"}]}'), ("POST /-/load",   b'{"\\ud800": 1}'), ("PUT /-/clock",   b'{"\\ud800": 1}'),
    ("PUT /-/faults",  b"[" * 99_999), ("PUT /-/faults",  {}), ("PUT /-/faults",  [1]), ("PUT /-/faults",  [{}]), ("POST /-/faults", {"match": "*"}),
]
WRONG_VALUES = [  # faults have "match" and "drop" as well
    ("POST /-/reset",  "only",     ["recrods", "tokens"]),
    ("POST /-/reset",  "onli",     ["records"]),
    ("GET /-/journal", "count",    ["some", 1001]),
    ("GET /-/journal", "wait",     [61]),
    ("PUT /-/clock",   "now",      ["yesterday", 5]),
    ("PUT /-/clock",   "offset",   ["1", True, 10**9 + 1, -(10**9) - 1]),
    ("PUT /-/clock",   "advance",  ["1", True, 10**9 + 1, -(10**9) - 1]),
    ("PUT /-/clock",   "ofset",    [1]),
    ("POST /-/faults", "match",    ["GET", "get /products", "", 1, "* \ud800"]),
    ("POST /-/faults", "status",   [199, 600]),
    ("POST /-/faults", "times",    [-1]),
    ("POST /-/faults", "skip",     [-1, 1001, "x"]),
    ("POST /-/faults", "hits",     [-1, "x"]),
    ("POST /-/faults", "delay",    [-1]),
    ("POST /-/faults", "dely",     [1]),
    ("POST /-/faults", "body",     [{"a": "\ud800"}]),
    ("POST /-/faults", "headers",  [{"Content-Length": "3"}, {"content-type": "text/plain"}, {"Connection": "close"}]),
    ("POST /-/faults", "headers",  [["X"], {"a b": "c"}, {"X": "a\r\nb"}, {"X": "é"}, {"X": True}]),
    ("POST /-/faults", "headers",  [{"X": [1]}, {"X": None}]),
]
# fmt: on


class TestControls:
    """The controls: the callers who may use them, and the requests that they refuse."""

    def test_controls_are_listed(self, memory):
        listed = memory.get("/-/")["controls"]
        named = [(one["method"], one["path"]) for one in listed]
        assert named == [(row.method, row.path) for row in pmservice.CONTROLS]
        assert {"method": "POST", "path": "/-/reset", "purpose": "return to the start"} in listed
        assert memory.calls() == []
        refusal = memory.refused("GET", "/-", status=404)
        assert refusal["error"] == "There is nothing at /-; did you mean /-/?"

    @EVERY_CONTROL
    def test_controls_need_an_administrator_and_can_be_off(self, memory, client, control):
        path = control.path.replace("<name>", "one")
        call = (control.method, path)
        memory.refused(*call, status=401, Token=None)
        token = memory.token_of("dev1")
        memory.refused(*call, status=403, Token=token)
        refusal = client.refused(*call, status=404)
        assert "--control" in refusal["error"]

    @each(("path", "control", "status"), SWITCHES)
    def test_controls_are_on_by_themselves_in_memory_only(self, run, path, control, status):
        client = Controlled(path, control=control)
        with contextlib.closing(client):
            assert client.status("/-/clock") == status

    @EVERY_CONTROL
    def test_misspelled_parameter_of_a_control_is_refused(self, memory, control):
        path = control.path.replace("<name>", "one")
        refusal = memory.refused(control.method, f"{path}?onli=1")
        assert [*refusal["fields"]] == ["onli"]

    @each(("line", "body"), UNREADABLE)
    def test_controls_refuse_what_they_cannot_read(self, memory, line, body):
        memory.refused(*line.split(), body)

    @each(("line", "field", "values"), WRONG_VALUES)
    def test_wrong_value_is_refused_by_its_name(self, memory, line, field, values):
        body = {"match": "*", "drop": True} if "faults" in line else {}
        for value in values:
            sent = {**body, field: value}
            refusal = memory.refused(*line.split(), sent)
            assert [*refusal["fields"]] == [field]


LOSSES = [("pm.db", "removed"), ("pm.db", "replaced"), (".", "removed")]  # ".": its folder


class TestReadiness:
    """The answers to probes, also when the file is gone."""

    def test_live_and_ready_need_no_token(self, filed):
        for word in ("live", "ready"):
            answer = filed.call("GET", f"/-/{word}", Token=None)
            assert answer.json == {"status": word}

    def test_service_that_is_loading_is_live_and_not_ready(self, client):
        client.service.loading = True
        for path, status in (("/-/live", 200), ("/-/ready", 503), ("/products", 503)):
            answer = client.call("GET", path)
            assert answer.status_int == status

    @OPEN_FILES
    @each(("name", "loss"), LOSSES)
    def test_lost_file_is_not_ready_and_takes_no_writes(self, filed_world, name, loss):
        lost = filed_world.path.parent / name
        lost.rename(f"{lost}.old")
        if loss == "replaced":
            shutil.copy(f"{lost}.old", lost)
        database = filed_world.service.database
        for change in (pmservice.take_snapshot, pmservice.apply_snapshot):
            with pytest.raises(pmservice.Refusal, match="removed or replaced"):
                change(database, "now")
        answer = filed_world.call("GET", "/-/ready")
        assert answer.status_int == 503
        for request in WRITES[::7]:
            answer = filed_world.call(*request)
            assert "written" in answer.json["error"], request
        assert filed_world.get("/products")["total"] == 2

    def test_use_of_a_token_is_noted_when_nothing_is_in_the_way(self, tmp_path):
        client = Controlled(tmp_path / "pm.db")
        with contextlib.closing(client):
            client.load(users=[dict(account="dev1")])
            client.token = client.token_of("dev1")
            client.clock.forward(hours=1)
            database = client.service.database
            with database.writing():  # a reader waits for no writer
                assert client.total() == 0
            other = sqlite3.connect(database.uri, uri=True)
            with contextlib.closing(other):  # nor for another program
                other.execute("BEGIN IMMEDIATE")
                assert client.total() == 0
            noted = "SELECT used FROM token"
            assert client.sql(noted) == [(NOW_ISO,)]
            assert client.total() == 0
            assert client.sql(noted) == [("2026-11-20T08:42:17Z",)]


class TestReset:
    """The way back to the start."""

    def run_script(self, client: Client) -> list[bytes]:
        """Return the answers to every write, and then to a dump."""
        client.put("/-/clock", now=NOW_ISO)
        requests = [one for one in WRITES if one[1] != "/users"]  # its hash is salted
        requests.append(("GET", "/-/dump"))
        return [client.call(*one).body for one in requests]

    def test_same_script_answers_the_same_bytes(self, memory, tmp_path):
        first = self.run_script(memory)
        memory.post("/-/reset")
        assert self.run_script(memory) == first
        file = Client(tmp_path / "pm.db", control=True, load=WORLD)
        with contextlib.closing(file):
            assert self.run_script(file) == first

    def test_reset_brings_back_records_and_numbering(self, memory):
        start = lines(memory.dump())
        assert lines(memory.get("/-/dump")) == start
        for _ in range(2):
            made = [memory.product(), memory.program(), memory.task(3)]
            assert ids(made) == [3, 7, 3]
            case = memory.case(1)
            assert ids(case["steps"]) == [6]
            memory.call("DELETE", "/bugs/1")
            assert memory.post("/-/reset") == {"message": "success"}
            assert lines(memory.dump()) == start
            assert memory.sql("SELECT * FROM action") == []
            assert problems(memory) == []

    @pytest.fixture
    def token(self, memory):
        """Change the clock, the faults and the records; return a new token."""
        memory.put("/-/clock", now="2026-11-20T09:00:00Z", offset=60)
        memory.fail("GET /programs", status=500)
        memory.put("/-/snapshots/kept")
        memory.product()
        return memory.token_of("dev1")

    def test_reset_takes_back_clock_faults_calls_and_tokens(self, memory, token):
        memory.post("/-/reset")
        assert memory.get("/-/clock") == {"now": NOW_ISO, "frozen": False, "offset": 0}
        assert memory.get("/-/faults") == []
        assert memory.get("/-/journal") == {"total": 0, "calls": []}
        assert memory.status("/user", token) == 401
        assert memory.total() == 2
        assert memory.get("/-/snapshots") == {"snapshots": ["kept"]}
        memory.post("/-/snapshots/kept/restore")

    def test_reset_of_the_records_leaves_everything_else(self, memory, token):
        memory.post("/-/reset", only="records")
        assert memory.total() == 2
        memory.product()
        memory.post("/-/reset?only=records")
        assert memory.total() == 2
        assert memory.get("/-/clock")["frozen"]
        assert memory.status("/programs") == 500
        assert memory.status("/user", token) == 200
        assert len(memory.calls()) == 6

    def test_tokens_made_before_serving_outlive_a_reset(self, filed_world):
        before = filed_world.token_of("dev1")
        client = Controlled(filed_world.path, control=True)
        with contextlib.closing(client):
            during = client.token_of("dev1")
            client.post("/-/reset")
            assert client.status("/user", before) == 200
            assert client.status("/user", during) == 401

    @pytest.fixture
    def reset_meanwhile(self, memory, controls, monkeypatch):
        """Reset the service of `memory` as soon as one of its calls waits."""

        class Stopping(threading.Event):
            def wait(self, timeout: float | None = None) -> bool:
                assert controls.waiting
                pmservice.reset(controls, {})
                return False

        monkeypatch.setattr(memory.service, "stopping", Stopping())

    def test_call_that_waits_on_the_journal_ends_with_a_reset(self, memory, reset_meanwhile):
        path = "/-/journal?count=1&wait=60"
        answer = memory.refused("GET", path, status=409)
        assert answer["error"] == "The service was reset meanwhile."

    def test_delayed_call_ends_with_a_reset_and_writes_nothing(self, memory, reset_meanwhile):
        memory.fail("*", delay=60)
        sent = {"name": "late"}
        answer = memory.refused("POST", "/products", sent, status=503)
        assert answer["error"] == "The service was reset while this call was delayed."
        assert memory.calls() == []

    def test_reset_that_fails_half_way_changes_nothing(self, memory):
        memory.product()
        # Every table is empty when this fails.
        fail = "BEGIN SELECT RAISE(ABORT, 'no'); END"
        memory.sql(f"CREATE TRIGGER failing BEFORE INSERT ON user {fail}")
        memory.refused("POST", "/-/reset", status=500)
        assert memory.product()["id"] == 4


class TestSnapshots:
    """States of the records under names."""

    @each("method", ["PUT", "POST"])
    def test_snapshots_are_gone_back_to_by_name(self, memory, method):
        states = {}
        for name in ("one", "two", "one"):  # the second of a name takes the first one's place
            memory.product(name=name)
            memory.call(method, f"/-/snapshots/{name}")
            states[name] = lines(memory.dump())
        memory.put("/-/clock", offset=60)
        for name in ("two", "one"):
            memory.post(f"/-/snapshots/{name}/restore")
            assert lines(memory.dump()) == states[name]
        assert memory.get("/-/clock")["offset"] == 60
        assert len(memory.calls()) == 3

    def test_deleted_snapshot_is_gone(self, memory):
        memory.put("/-/snapshots/one")
        refusal = memory.refused("DELETE", "/-/snapshots/on", status=404)
        assert refusal["error"] == "There is no snapshot on; did you mean one?"
        remove(memory, "/-/snapshots/one")
        memory.refused("DELETE", "/-/snapshots/one", status=404)
        memory.refused("POST", "/-/snapshots/one/restore", status=404)
        memory.post("/-/reset")  # the state at the start is not among those with names


ALONE = "must come alone, to a frozen clock: freeze it first, or use offset"
YEARS = "must lead to the years 2 to 9998 (got {})"
FROZEN = {"now": "2026-01-05T09:00:00Z"}
NOT_ADVANCED = [  # the clock before, the body, the rule that it breaks
    ({}, {"advance": 1}, ALONE),
    ({"offset": 5}, {"advance": 1}, ALONE),
    ({}, {"advance": 1, **FROZEN}, ALONE),
    (FROZEN, {"advance": 1, **FROZEN}, ALONE),
    (FROZEN, {"advance": 1, "offset": 0}, ALONE),
    ({"now": "9998-12-31T23:59:59Z"}, {"advance": 1}, YEARS.format(1)),
    ({"now": "9998-12-31T23:59:59Z"}, {"advance": 10**9}, YEARS.format(10**9)),
    ({"now": "0002-01-01T00:00:00Z"}, {"advance": -0.5}, YEARS.format(-0.5)),
    ({"now": "0002-01-01T00:00:00Z"}, {"advance": -(10**9)}, YEARS.format(-(10**9))),
]


class TestControlledClock:
    """The clock that tests freeze and shift."""

    def test_frozen_clock_dates_everything(self, memory):
        frozen = "2026-01-05T09:00:00Z"
        state = {"now": frozen, "frozen": True, "offset": 60}
        assert memory.put("/-/clock", now=frozen, offset=60) == state
        memory.clock.forward(days=1)
        made = memory.product()
        assert made["createdDate"] == frozen
        memory.post("/tasks/2/start", left=1)
        assert memory.sql("SELECT max(date) FROM action") == [(frozen,)]
        execution = memory.get("/executions/6")
        assert execution["realBegan"] == "2026-01-05"

    def test_clock_is_shifted_and_released(self, memory):
        token = memory.token_of("dev1")
        memory.put("/-/clock", now="2026-01-05T09:00:00Z")
        later = {"now": "2026-11-20T08:42:17Z", "frozen": False, "offset": 3600}
        assert memory.put("/-/clock", offset=3600) == later
        memory.clock.forward(hours=1)
        made = memory.product()
        assert made["createdDate"] == "2026-11-20T09:42:17Z"
        memory.put("/-/clock", offset=25 * 3600)
        assert memory.status("/user", token) == 401
        assert memory.put("/-/clock") == dict(later, offset=0)

    def test_frozen_clock_is_advanced(self, memory):
        memory.put("/-/clock", now="2026-01-05T09:00:00Z", offset=60)
        for seconds in (3600.5, 0.5, -1):  # fractions add up
            state = memory.put("/-/clock", advance=seconds)
        assert state == {"now": "2026-01-05T10:00:00Z", "frozen": True, "offset": 60}
        assert memory.product()["createdDate"] == state["now"]
        memory.put("/-/clock", advance=0)
        assert memory.get("/-/clock") == state

    @each(("state", "body", "rule"), NOT_ADVANCED)
    def test_clock_that_cannot_be_advanced_stays(self, memory, state, body, rule):
        before = memory.put("/-/clock", **state)
        refusal = memory.refused("PUT", "/-/clock", body)
        assert refusal["fields"] == {"advance": rule}
        assert memory.get("/-/clock") == before


# fmt: off
FOUND = [
    # query, how many of the calls NOTED match
    ("method=post", 2), ("path=/tasks/*", 2), ("path=/products/", 1), ("path=/api.php/v1/products", 1),
    ("status=404", 2), ("method=POST&status=404", 1),
]
NOTED = ("POST /zentao/api.php/v1/products/", "POST /tasks/99/start", "GET /tasks/99")
NOTED_BODIES = [
    # what is sent to a path that is not there,                  what the journal keeps
    (b"{'name': 'Shop'}",                                        "{'name': 'Shop'}"),
    (b"name=\xff",                                               "name=\ufffd"),
    (b"{'name': 'x', 'Password': 'hush'}",                       "{'name': 'x', 'Pass***"),
    (b"x" * 8191,                                                "8193 bytes"),
    (b'{"name": "", "x": 1e400, "y": "\\ud800"}',                {"name": "", "x": "Infinity", "y": "?"}),
    ({"name": "", "x": {"Token": 1, "y": [{"password": 2}]}},    {"name": "", "x": {"Token": "***", "y": [{"password": "***"}]}}),
]
WHO_CALLED = ("account", "method", "path", "status")
SENT_URLS = [
    # what is sent,                                what the journal keeps,                         its path
    ("/products",                                  "/products",                                    "/products"),
    ("/api.php/v1/api.php/v1/products/?limit=1",   "/api.php/v1/api.php/v1/products/?limit=1",     "/api.php/v1/products"),
    ("/zentao/api.php/v1/user/?token=hush&x=%3F",  "/zentao/api.php/v1/user/?token=***&x=%3F",     "/user"),
    ("/tasks/%D9%A1?x=%C3%A9",                     "/tasks/%D9%A1?x=%C3%A9",                       "/tasks/١"),
    ("//products",                                 "//products",                                   "//products"),
    ("http://localhost/products?Token=hush",       "/products?Token=***",                          "/products"),
    ("http://x:hush@localhost/products/",          "/products/",                                   "/products/"),
]
SECRET_NAMES = ("zentaosid", "apiKey", "api_key", "Session-Id", "jwt", "private_key", "credentials", "pwd", "bearer")
# fmt: on


# fmt: off
NO_FORMS = [
    (FORM, "'{account:admin,password:hush}'"), (FORM, '\ufeff{"account":"admin","password":"hush"}'), (FORM, '["hush"]'), (FORM, "hush"), (FORM, '"hush"'),
    ("application/json", "hush"), ("application/json", '{"password": hush}'), ("", "token hush"),
]
# fmt: on


OTHER_NUMBERS = [  # query of the journal, the refusal
    ("path=/products&count=1", "expected 1 call of /products, 2 came."),
    ("path=/product&count=1", "expected 1 call of /product, 0 came."),
    (
        "path=/products&method=get&status=200&count=0&wait=0.1",
        "expected 0 calls of get /products 200, 2 came.",
    ),
    ("count=3", "expected 3 calls, 2 came."),
]
# Answers of faults that cannot be read as JSON, or not written as JSON again.
NO_JSON = [
    "[" * 20_000,
    "[" * 8000,
    "[" * 950 + "]" * 950,
    "[" * 101 + "]" * 101,
    "NaN",
    "1e999",
    '"\\ud800"',
    "{",
]


class TestJournal:
    """The calls that the service was sent."""

    def test_journal_says_who_called_what(self, memory):
        token = memory.token_of("dev1")
        memory.call("GET", "/api.php/v1/products/", Token=token)
        memory.call("POST", "/tasks/99/start", {"left": 1})
        memory.call("GET", "/user", Token=None)
        calls = memory.calls()
        assert token not in json.dumps(calls)
        assert 0 < calls[0]["duration"] < 60_000
        told = []
        for call in calls:
            told.append([call[field] for field in WHO_CALLED])
        assert told == [
            ["dev1", "GET", "/products", 200],
            ["admin", "POST", "/tasks/99/start", 404],
            ["-", "GET", "/user", 401],
        ]

    @each(("query", "total"), FOUND)
    def test_journal_lists_calls_that_match(self, memory, query, total):
        for line in NOTED:
            memory.call(*line.split(), {"name": "P"})
        found = memory.get(f"/-/journal?{query}")
        assert found["total"] == total
        memory.call("DELETE", "/-/journal")
        assert memory.get("/-/journal") == {"total": 0, "calls": []}

    @each("text", NO_JSON, ids=lambda text: text[:12])
    def test_answer_that_is_no_json_is_kept_as_text(self, memory, text):
        memory.fail("GET /user", body=text)
        memory.app.get("/user", headers={"Token": "t"})
        (call,) = memory.calls()
        assert call["answer"] in (text, f"{len(text)} bytes")
        assert call["answer"][:50] in browse(memory, "/-/journal").text

    def test_journal_waits_for_the_calls_of_others(self, memory, controls):
        memory.fail("GET /programs", delay=0.1)
        with ThreadPoolExecutor(2) as threads:
            for _ in range(2):
                threads.submit(memory.get, "/programs")
            found = memory.calls("path=/programs&status=200&count=2&wait=30")
        paths = [call["path"] for call in found]
        assert paths == ["/programs", "/programs"]
        assert controls.waiting == []

    @pytest.mark.filterwarnings("ignore:Unknown REQUEST_METHOD")
    def test_method_is_cut(self, memory):
        memory.call("A" * 60_000, "/products")
        (call,) = memory.calls()
        assert call["method"] == "A" * 20
        assert call["error"] == f"{'A' * 20} is not allowed at /products; allowed: GET, POST."
        assert memory.calls(f"method={'A' * 20}") == [call]

    @each("line", ["DELETE /-/journal", "POST /-/reset"])
    def test_call_that_began_before_the_journal_was_emptied_does_not_return(self, memory, line):
        class Body(io.BytesIO):
            """A body during whose reading another thread empties the journal."""

            def read(self, size: int | None = -1) -> bytes:
                with ThreadPoolExecutor(1) as threads:
                    threads.submit(memory.call, *line.split()).result()
                return super().read(size)

        environ = {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": "/programs",
            "HTTP_TOKEN": "t",
            "wsgi.input": Body(b"{}"),
            "CONTENT_LENGTH": "2",
        }
        wsgiref.util.setup_testing_defaults(environ)
        answer = memory.service(environ, lambda *_: None)
        assert b"name is required" in b"".join(answer)
        assert memory.calls() == []

    @each(("sent", "url", "path"), SENT_URLS)
    def test_journal_keeps_urls_as_they_were_sent(self, sent, url, path):
        with (
            pmservice.running(token="t") as served,
            contextlib.closing(connection_to(served.url)) as connection,
        ):
            connection.request("GET", sent, headers={"Token": "t", "Host": "localhost"})
            connection.getresponse().read()
            (call,) = served.calls()
        assert call["url"] == url
        assert call["path"] in (path, path.replace("//", "/"))
        assert "hush" not in json.dumps(call)

    def test_journal_keeps_urls_of_other_servers_that_name_no_uri(self, memory):
        sent = "/api.php/v1/tasks/%D9%A1%3F%25/?x=1&password=hush"
        memory.app.get(sent, headers={"Token": "t"}, status=404)
        memory.app.get("/user", extra_environ={"SCRIPT_NAME": "/pm"}, status=401)
        urls = [call["url"] for call in memory.calls()]
        assert urls == ["/api.php/v1/tasks/%D9%A1%3F%25/?x=1&password=***", "/pm/user"]

    @each(("query", "words"), OTHER_NUMBERS)
    def test_other_number_of_calls_is_told(self, memory, query, words):
        for _ in range(2):
            memory.get("/products")
        refusal = memory.refused("GET", f"/-/journal?{query}", status=409)
        assert refusal["error"] == words
        assert memory.calls("path=/product&count=0") == []

    def test_journal_keeps_the_last_thousand_calls(self, memory):
        for number in range(1, 1003):
            memory.call("GET", f"/bugs/{number}")
        paths = [call["path"] for call in memory.calls()]
        assert paths == [f"/bugs/{number}" for number in range(3, 1003)]

    def test_journal_cuts_what_is_long_but_hides_secrets(self, memory):
        name = "n" * 3000
        sent = {f"Z{n}": "v" for n in range(300)}
        sent |= {f"X-{name}": "v" * 3000, f"Y-{name}-Token": "hush"}
        memory.call("GET", f"/{name}?x={name}", **sent)
        (call,) = memory.calls()
        headers = call["headers"]
        texts = [call["path"], call["query"], *headers, *headers.values()]
        lengths = [len(text) for text in texts if len(text) > 100]
        assert lengths == [1000] * 5
        assert len(headers) == 100
        assert "hush" not in json.dumps(call)

    @each(("sent", "kept"), NOTED_BODIES)
    def test_journal_keeps_bodies_without_their_secrets(self, memory, sent, kept):
        for path in ("/products", "/tasks/99/start"):  # the second is refused before it is read
            memory.call("POST", path, sent)
        bodies = [call["body"] for call in memory.calls()]
        assert bodies == [kept, kept]

    def test_journal_keeps_what_was_sent_and_why_it_was_refused(self, memory):
        sent = {"User-Agent": "tests", "Authorization": "Basic eA==", "Cookie": "a=b"}
        path = "/products?limit=1&token=s&%70assword=s&="
        memory.call("POST", path, {"name": ""}, **sent)
        (call,) = memory.calls()
        assert call["query"] == "limit=1&token=***&%70assword=***&="
        assert call["error"] == 'name must be 1 to 255 characters, not blank (got "").'
        assert call["fault"] is None
        assert call["hint"] is None
        assert call["ignored"] == "?limit, ?token, ?password"
        headers = call["headers"]
        assert headers["User-Agent"] == "tests"
        assert headers["Content-Type"] == "application/json"
        for name in ("Token", "Authorization", "Cookie"):
            assert headers[name] == "***"
        moment = datetime.fromisoformat(call["time"])
        age = datetime.now(timezone.utc) - moment
        assert abs(age) < timedelta(minutes=5)  # whatever the service's clock says

    def test_secret_that_a_refusal_quotes_is_not_kept(self, memory):
        sent = b'{"account": "admin", "password": hunter2}'
        refusal = memory.refused("POST", "/tokens", sent)
        (call,) = memory.calls()
        sentence = "The body must be JSON, but line 1, column 34 is wrong."
        assert call["error"] == refusal["error"] == sentence
        assert call["body"] == '{"account": "admin", "pass***'

    def test_answers_are_kept_without_their_secrets(self, memory, monkeypatch):
        memory.fail("GET /user", body="<p>Try again, or send the token 12</p>")
        load_user(memory, "dev1", password=SECRET)
        monkeypatch.setattr(pmservice, "MAX_KEPT", 100)
        memory.login("dev1")
        for path in ("/bugs/99", "/user", "/products"):
            memory.app.get(path, headers={"Token": memory.token}, status="*")
        answers = [call["answer"] for call in memory.calls()]
        missing = {"error": "There is no bug 99."}
        *first, long = answers
        assert first == [{"token": "***"}, missing, "<p>Try again, or send the token***"]
        assert re.fullmatch("[0-9]{3,} bytes", long)

    @each(("label", "body"), NO_FORMS)
    def test_body_that_is_no_form_names_nothing(self, memory, caplog, label, body):
        caplog.set_level(logging.INFO, "pmservice")
        memory.call("POST", "/tokens", body.encode(), Content_Type=label)
        (call,) = memory.calls()
        assert call["status"] == 400
        assert "hush" not in json.dumps([call["error"], call["ignored"]]) + caplog.text

    @each("name", SECRET_NAMES)
    def test_journal_blanks_what_is_named_like_a_secret(self, memory, name):
        body = {"name": "P", "keywords": "seen", name: "hush"}
        header = {f"X-{name}": "hush"}
        memory.call("POST", f"/products?{name}=hush", body, **header)
        (call,) = memory.calls()
        assert "hush" not in json.dumps(call)
        assert call["body"] == {**body, name: "***"}


OWN_FAULT = '{"error":"This is the fault 429 that was asked for."}'
# fmt: off
MADE_ANSWERS = [
    # fault,                                                                status, content type,      beginning
    (dict(status=502, body="<html>Bad</html>"),                                502, "text/html",        "<html>Bad</html>"),
    (dict(body={"page": 1}),                                                   200, "application/json", '{"page":1}'),
    (dict(body=""),                                                            200, "text/html",        ""),
    (dict(status=429),                                                         429, "application/json", OWN_FAULT),
]
MEANT = [
    # a fault's match, a call that it matches, one that it does not match
    ("POST /tasks/<id>/start",            "POST /tasks/2/start",    "POST /tasks/2/x/start"),
    ("POST /tasks/{task_id}/start/",      "POST /tasks/2/start",    "POST /tasks//start"),
    ("* /api.php/v1/tasks/<>",            "GET /tasks/2",           "POST /tasks/2/start"),
    ("* /{any}*sers",                     "GET /users",             "GET /user"),
    ("GET /users/{}*",                    "GET /users/dev1",        "GET /users"),
    ("GET /*<id>",                        "GET /users/dev1",        "POST /products"),
    ("GET /users/dev1",                   "GET /users/dev1",        "GET /users/dev2"),
    ("PUT /tasks/:id",                    "PUT /tasks/2",           "PUT /tasks/2/x"),
    ("GET /*a[12]",                       "GET /a[12]",             "GET /a1"),
    ("HEAD /products",                    "HEAD /products",         "GET /products"),
    ("GET /products",                     "GET /products",          "HEAD /products"),
]
FITTING = """
    *  * *  GET *  * /*  */finish  PUT /*  PATCH *  POST /tasks/7/*  POST /tasks/7/finish  GET /products/27*bugs  * /{a}/{b}/{c}/{d}/*
    GET /tasks/9223372036854775807  GET /users/dev1  GET /users/a.b@c-d  GET /users/<account>  GET /configurations/language
    GET /openapi.json  HEAD /openapi.json/  GET /api.php/v1/products/  POST /zentao/api.php/v1/tasks/{id}/start
"""
UNFITTING = {  # what the error says after the match
    "POST /task/7/finish": "; did you mean POST /tasks/<id>/finish?", "GET /Products": "; did you mean GET /products?",
    "GET /tasks/{id}/finish": "; did you mean POST /tasks/<id>/finish?", "GET /products?page=2": "; did you mean GET /products?",
    "HEAD /product": "; did you mean HEAD /products?", "POST /-/reset": "; faults never apply to controls.",
    "GET /product?": "; did you mean GET /products?", "GET /" + "x" * 300: "; GET /openapi.json lists all calls.",
    "GET /products/(": "; did you mean GET /products?", "GET /tasks/0": "; did you mean GET /tasks?",
}
# fmt: on


class TestFaults:
    """Trouble that tests ask for."""

    def test_fault_strikes_as_often_as_it_was_told(self, memory):
        for status in (500, 503):  # the first that matches applies
            memory.fail("POST /products", status=status, times=1)
        for status in (500, 503, 201):
            answer = memory.call("POST", "/products", {"name": "P"})
            assert answer.status_int == status
        statuses = [call["status"] for call in memory.calls()]
        assert statuses == [500, 503, 201]
        assert memory.total() == 3
        faults = memory.get("/-/faults")
        times = [fault["times"] for fault in faults]
        assert times == [0, 0]

    def test_fault_lets_as_many_calls_pass_as_it_was_told(self, memory):
        memory.fail("GET /user", status=503, skip=2, times=1)
        memory.fail("GET /user", status=500, times=1)  # what the first lets pass comes to this one
        memory.status("/users")  # does not count
        statuses = [memory.status("/user") for _ in range(4)]
        assert statuses == [500, 200, 503, 200]
        first, _ = memory.get("/-/faults")
        assert (first["skip"], first["times"]) == (0, 0)

    def test_faults_match_patterns(self, memory):
        memory.fail("G*T /user", status=500)
        memory.fail("* /pro*", status=503)
        memory.fail("*", delay=0.05)
        assert memory.status("/user") == 500
        assert memory.status("/products") == 503
        assert memory.status("/programs") == 503
        assert memory.status("/-/clock") == 200
        began = time.monotonic()
        assert memory.status("/users") == 200
        assert time.monotonic() - began >= 0.05

    def test_hits_say_how_often_a_fault_applied(self, memory):
        made = memory.fail("GET /user", status=503, skip=1, times=2)
        assert [fault["hits"] for fault in made] == [0]
        memory.fail("GET /us*", status=500, headers={"X": 1})
        for path in ("/user", "/user", "/users", "/user", "/user", "/products"):
            memory.status(path)
        faults = memory.get("/-/faults")
        assert [fault["hits"] for fault in faults] == [2, 3]

    def test_faults_that_were_read_can_be_sent_back(self, memory):
        memory.fail("GET /user", status=503, times=3)
        memory.fail("GET /user", delay=0, drop=False, headers={"X": "1"}, body=None, skip=1)
        memory.status("/user")
        faults = memory.get("/-/faults")
        answer = memory.call("PUT", "/-/faults", faults)
        assert faults[0]["hits"] == 1
        for fault in faults:  # what is left of `times` and `skip` stays; `hits` begin again
            fault["hits"] = 0
        assert answer.json == memory.get("/-/faults") == faults
        assert faults[0]["times"] == 2

    def test_threads_share_out_the_turns_of_a_fault(self, memory):
        memory.fail("GET /user", status=503, skip=20, times=30)
        with ThreadPoolExecutor(8) as threads:
            statuses = list(threads.map(memory.status, ["/user"] * 80))
        assert statuses.count(503) == 30
        (fault,) = memory.get("/-/faults")
        assert (fault["skip"], fault["times"], fault["hits"]) == (0, 0, 30)

    @each(("match", "line", "other"), MEANT)
    def test_name_in_angle_or_curly_brackets_is_one_segment(self, memory, match, line, other):
        memory.fail(match, delay=0.01)
        for call in (line, other):
            memory.call(*call.split())
        first, second = memory.calls()
        assert first["fault"]
        assert not second["fault"]

    @each("match", re.split("  +|\n +", FITTING.strip()))
    def test_match_that_fits_a_call_is_taken(self, memory, match):
        memory.fail(match, status=503)

    @each(("match", "rest"), UNFITTING.items())
    def test_match_that_fits_no_call_is_refused_with_the_nearest(self, memory, match, rest):
        fault = {"match": match, "status": 503}
        for method, body in (("POST", fault), ("PUT", [fault])):
            refusal = memory.refused(method, "/-/faults", body)
            assert refusal["error"] == f"match fits no call (got {match[:255]}){rest}"

    def test_fault_applies_to_the_document(self, memory):
        memory.fail("GET /openapi.json", status=503)
        assert memory.app.get("/openapi.json", expect_errors=True).status_int == 503

    def test_faults_are_replaced_and_removed(self, memory):
        memory.fail("GET /users", status=500)
        others = [{"match": "GET /user", "status": 500}]
        answer = memory.call("PUT", "/-/faults", others)
        assert answer.json == [{**others[0], "hits": 0}]
        assert memory.status("/user") == 500
        assert memory.status("/users") == 200
        memory.call("DELETE", "/-/faults")
        assert memory.get("/-/faults") == []
        assert memory.status("/user") == 200

    def test_there_are_a_hundred_faults_at_most(self, memory):
        fault = {"match": "GET /user", "status": 503}
        memory.call("PUT", "/-/faults", [fault] * 99)
        assert len(memory.fail(**fault)) == 100
        memory.refused("POST", "/-/faults", fault)
        memory.refused("PUT", "/-/faults", [fault] * 101)
        faults = memory.get("/-/faults")
        assert len(faults) == 100

    def test_wait_or_delay_without_a_place_is_refused(self, memory, monkeypatch):
        assert pmservice.MAX_WAITING == 24
        monkeypatch.setattr(pmservice, "MAX_WAITING", 0)
        memory.fail("GET /user", delay=5)
        for path in ("/user", "/-/journal?count=9&wait=5"):
            refusal = memory.refused("GET", path, status=503)
            assert "0 calls wait" in refusal["error"]
        memory.get("/-/journal?count=1&wait=5")  # it need not wait

    @each(("fault", "status", "kind", "body"), MADE_ANSWERS)
    def test_fault_makes_an_answer(self, memory, fault, status, kind, body):
        memory.fail("GET /products", **fault, times=1)
        answer = memory.app.get("/products", headers={"Token": "t"}, status=status)
        assert answer.content_type == kind
        assert answer.text.startswith(body)
        assert answer.headers.getall("Vary") == ["Accept, Origin"]
        (call,) = memory.calls()
        assert call["status"] == status
        assert call["fault"] == "GET /products"
        assert memory.total() == 2

    def test_fault_adds_headers(self, memory):
        memory.fail("GET /products", headers={"Retry-After": 7, "Vary": "Fault"})
        answer = memory.call("GET", "/products")
        assert answer.json["total"] == 2
        assert answer.headers["Retry-After"] == "7"
        assert answer.headers.getall("Vary") == ["Accept, Origin", "Fault"]

    def test_dropped_call_is_not_performed_and_has_no_answer(self):
        with pmservice.running() as served:
            served.fail("POST *", drop=True)
            with pytest.raises(ConnectionError, match="without response"):
                served.post("/products", {"name": "P"})
            products = served.get("/products")
            assert products["total"] == 0
            statuses = [call["status"] for call in served.calls()]
            assert statuses == [503, 200]

    def test_unread_answer_from_memory_holds_up_no_writer(self):
        load = bugs_of_one_product(300, steps="s" * 60_000)
        with (
            pmservice.running(token="t", load=load) as served,
            contextlib.closing(connection_to(served.url)) as slow,
        ):
            slow.request("GET", "/products/1/bugs?limit=300", headers={"Token": "t"})
            answer = slow.getresponse()
            assert answer.read(1)
            made = served.post("/products", {"name": "Meanwhile"})
            assert made["id"] == 2

    @each(
        ("line", "body"),
        [("DELETE /-/faults", None), ("PUT /-/faults", []), ("POST /-/reset", None)],
    )
    def test_faults_are_replaced_under_their_lock(self, memory, controls, line, body):
        memory.fail("GET /user", status=500)
        faults = controls.faults
        with ThreadPoolExecutor(1) as threads:
            with controls.fault_lock:
                sent = threads.submit(memory.call, *line.split(), body)
                assert not wait([sent], 0.1).done
            assert sent.result(30).status_int == 200
        assert (len(faults), controls.faults) == (1, [])


OPTIONAL = dict(line=1, PO="po1", type="normal", desc="d", acl="open")


class TestCaches:
    """A cache without a bound must not grow with the requests."""

    def sizes(self) -> list[int]:
        """Return how many results each function keeps, of those without a bound."""
        sizes = []
        for function in vars(pmservice).values():
            if hasattr(function, "cache_info"):
                cache = function.cache_info()
                if cache.maxsize is None:
                    sizes.append(cache.currsize)
        return sizes

    def test_no_cache_without_a_bound_grows_with_different_requests(self, filled):
        for count in range(1, len(OPTIONAL)):
            before = self.sizes()
            for names in itertools.combinations(OPTIONAL, count):
                given = {name: OPTIONAL[name] for name in names}
                filled.post("/products", name="P", **given)
                filled.load(products=[dict(name="P", **given)])
        assert self.sizes() == before


# --- 15 Page: what browsers are shown -------------------------------------------------------------

# fmt: off
USER_AGENTS = {  # what they accept
    "curl, fetch, requests": "*/*", "Java": "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "axios": "application/json, text/plain, */*",
    "none": "", "an image": "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8",
}
# fmt: on
SEALED = {  # what a page may load and send, and who may frame it: only its own styles and drawings
    "default-src": "'none'",
    "style-src": "'unsafe-inline'",
    "img-src": "data:",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}

# fmt: off
PAGES = {  # what stands for the ids and names in paths of FILLED
    "department": 1, "user": "dev1", "program": 6, "project": 1, "execution": 2, "execution or project": 2, "product": 1, "plan": 1, "story": 1,
    "build": 1, "release": 1, "bug": 1, "task": 1, "testcase": 1, "testtask": 1, "": "language",
}
# fmt: on
GETS = [(row.path, row.target) for row in pmservice.OPERATIONS if row.method == "GET"]


def page_class(client: Client, **headers: str) -> str:
    """Return the class of a browser's request: "login" may have to hash a password."""
    environ = {"ACCEPT": CHROME, **headers}
    return client.service.class_of("GET", "/user", environ)


def column_of(page: Read, column: int, heading: str = "") -> list[str]:
    """Return a column of a table, without its head."""
    _, *rows = page.sections[heading]
    return [row[column] for row in rows]


def links_with(page: Read, part: str) -> list[str]:
    """Return the links of a page that have this part."""
    return [link for link in page.links if part in link]


def words_on_page(operation: pmservice.Operation) -> Iterator[str]:
    """Yield the words that the page of an operation can show in a reader's language."""
    view = operation.view
    if operation.listing:
        view = operation.listing.view
        yield operation.listing.key
        yield from operation.listing.browse
    if operation.method != "GET" or not view:
        return
    yield view.resource.name
    views = [view]
    for listing in pmservice.ENCLOSED.get(view, ()):
        yield listing.key
        views.append(listing.view)
    for shown in views:
        yield from (field for field in shown.columns if pmservice.WAYS.get(field) != "hidden")
        given = shown.resource.settable()
        for field, kind in given.items():
            if pmservice.WAYS.get(field) in ("word", "state"):
                yield from kind.schema.get("enum", ())


def shape_of(link: str) -> tuple[str, ...]:
    """Return the path of a link, with 0 for each id, and the names in its query."""
    path, _, query = link.partition("?")
    pattern = re.sub("[0-9]+", "0", path)
    return pattern, *urllib.parse.parse_qs(query)


# fmt: off
FOR_PROGRAMS = [
    "/api.php/v1/products", "/zentao/api.php/v1/products", "/openapi.json", "/openapi.json/", "/-/live", "/-/clock", "/-/nothing",
]
WRONG_LOG_INS = [
    "", "Basic", "Basic !", "Basic ZGV2MQ", "Basic /w==", "Bearer t", "Basic " + "A" * 5000, "Basic ä", basic("dev1", ""),
    basic("dev1", "Secret"), basic("nobody", "secret"), basic("", ""), basic("dev1\0", "secret"), basic("ghost", ""),
    basic("ghost", "None"), basic("gone", "secret"),
]
FETCHES = [  # how a browser says where a request comes from, and whether it is answered
    # site          mode        destination
    ("same-origin", "cors",     "empty",    True),  ("none",       "",         "",         True),  ("same-site",  "navigate", "document", True),
    ("cross-site",  "no-cors",  "image",    False), ("same-site",  "no-cors",  "style",    False), ("cross-site", "navigate", "iframe",   False),
    ("cross-site",  "no-cors",  "document", False), ("cross-site", "navigate", "",         False), ("cross-site", "",         "",         False),
    ("elsewhere",   "",         "",         False), ("CROSS-SITE", "no-cors",  "image",    False),
]
REFUSED_PAGES = [
    "/bugs/99", "/nothing", "/bugs?order=nope", "/bugs?page=-1", "/bugs?limit=x", "/bugs?limit=100001", f"/bugs?limit={'9' * 5000}",
    "/products?program=99",
]
UNNAMED = ["GET /testcases/<id>/results", "GET /tasks/<id>/estimate"]  # lists of what has no name
LOG_INS = [(0, "login"), (599, "html"), (2, "login"), (1, "html")]  # seconds since the one before, class of the request
TITLES_FOUND = [
    ("off", ["The OFFER", "Total is off"]), ("is TOTAL", ["Total is off"]), ("of f", ["The OFFER", "Total is off"]), ("%", ["100%"]), ("nowhere", []),
]
LINKS_MADE = {  # a record with ids of others
    "/bugs/1":     dict(linkBug="2", openedBuild="1", case=1),
    "/stories/1":  dict(mailto=["dev1", "qa1"]),
    "/releases/1": dict(bugs="1,2", stories="1"),
    "/executions/2": {},
}
LINKS_SHOWN = {
    "/bugs/1":     {"Related bugs": "B", "Affected build": "B1", "Test case": "C"},
    "/stories/1":  {"Cc": "Dan Dev Quin Test"},
    "/releases/1": {"Bugs": "B B", "Stories": "S"},
    "/executions/2": {"Parent": "Pr", "Project": "Pr"},
}
ACCEPTED = [  # what a browser accepts, the setting, the language of pages
    ("zh-CN,zh;q=0.9,en;q=0.8", "en", "zh"), ("en-US,en;q=0.5", "zh", "en"), ("de-DE, fr", "zh", "zh"), ("", "en", "en"), ("zh-TW", "zh", "zh"),
    ("en;q=0.1, zh;q=0.9", "en", "zh"), ("zh;q=0", "en", "en"), ("zhx, x;q=y", "en", "en"),
    ("de, zh;q=0.5, EN-gb;q=0.7", "zh", "en"), ("zh; q=0.9", "en", "zh"), ("en;q=0.3, zh-CN ; q=0.9", "en", "zh"), ("zh; q=0", "en", "en"),
    ("zh; q=0.1, en; q=0.2", "zh", "en"),
]
UNLABELLED = "activestory allstory changedstory closedstory draftstory qq skype slack whatsapp"
SAME_IN_CHINESE = "ID Bug Scrum"
CALLS_WATCHED = ["GET /bugs/1", "GET /bgus", "GET /bugs/2", "GET /products"]
CALLS_SHOWN = ["POST /products 201 admin", "GET /products 200 admin", "GET /bugs/2 503 -", "GET /bgus 404 - There is nothing at /bgus; did you mean /bugs?",
               "GET /bugs/1 200 admin"]
CALLS_FOUND = [
    ("", 5), ("status=200", 2), ("path=/products", 2), ("account=admin", 3), ("text=quiet", 1), ("text=mean&status=404", 1), ("path=/nothing", 0),
]
CLOCKS_SHOWN = [(dict(offset=90), '"offset": 90\n'), (dict(now="2026-01-05T09:00:00Z"), '"frozen": true'), ({}, '"frozen": false')]
UNLINKED = {"/configurations/0": "/configurations/language", "/product/0": "/product/1",
            "/modules": "/modules?type=bug&id=1"}  # shape: path
NASTY = """<script>alert(1)</script>"'><img src=x onerror=alert(1)>'><b x='&amp; {{1}} % end</style><svg/onload=1>"""
SHOWN_ON_PAGES = {
    "/": 200, "/products": 200, "/products/1": 200, "/products/1/bugs": 200, "/bugs/1": 200, "/users/dev1": 200, "/bugs?status=%s": 400, "/%s": 404,
}
# fmt: on


class TestPage:
    @pytest.fixture
    def secured(self, client):
        """Yield an app with three users; the password of dev1 is "secret", ghost has none."""
        dev1 = dict(account="dev1", realname="Dan Dev", password=SECRET)
        gone = dict(account="gone", password=SECRET, deleted=True)
        ghost = dict(account="ghost")
        client.load(users=[dev1, gone, ghost])
        return client

    @pytest.fixture
    def hashed(self, monkeypatch):
        """Return a list that grows by one with every password that is hashed."""
        calls = []
        scrypt = pmservice.scrypt

        def counted(*given):
            calls.append(given)
            return scrypt(*given)

        monkeypatch.setattr(pmservice, "scrypt", counted)
        return calls

    # Which requests get a page

    @each("accept", [CHROME, FIREFOX, SAFARI])
    def test_browsers_get_pages(self, filled, accept):
        for path in ("/", "/products/1/"):
            browse(filled, path, Accept=accept)
        browse(filled, "/nothing", Accept=accept, status=404)

    @each("accept", USER_AGENTS.values(), ids=USER_AGENTS)
    def test_programs_get_json(self, filled, accept):
        answer = filled.call("GET", "/", Accept=accept)
        assert answer.status_int == 404
        answer = filled.call("GET", "/products", Accept=accept, Token=None)
        assert answer.status_int == 401
        assert "WWW-Authenticate" not in answer.headers

    @each("path", FOR_PROGRAMS)
    def test_what_is_for_programs_only_answers_browsers_json_too(self, filled, path):
        answer = filled.call("GET", path, Accept=CHROME, Token=None)
        assert answer.status_int in (200, 401, 404)

    def test_token_header_and_other_methods_get_json(self, filled):
        elsewhere = {"Sec_Fetch_Site": "cross-site", "Origin": "http://localhost:3000"}
        answer = filled.call("GET", "/products", Accept=CHROME, **elsewhere)
        assert answer.json["total"] == 2
        answer = filled.call("GET", "/products", Accept=CHROME, Token="")
        assert answer.status_int == 401
        sent = {"Accept": CHROME, "Token": None}
        answer = filled.call("POST", "/products", {}, **sent)
        assert answer.status_int == 401

    def test_head_gets_the_headers_alone(self, client):
        headers = {"Accept": CHROME, "Authorization": basic("x", "t")}
        answer = client.app.head("/", headers=headers, status=200)
        assert answer.body == b""
        assert answer.content_type == "text/html"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"

    # Logging in

    def test_account_and_password_log_in(self, secured):
        md5 = hashlib.md5(b"secret")
        for password in ("secret", md5.hexdigest()):
            right = basic("dev1", password)
            page = browse(secured, "/user", Authorization=right)
            assert "Dan Dev" in page.text

    def test_token_logs_in_as_a_password_of_any_account(self, secured):
        token = secured.token_of("dev1")
        for account in ("", "nobody", "ü"):
            right = basic(account, token)
            page = browse(secured, "/user", Authorization=right)
            assert "Dan Dev" in page.text
        page = browse(secured, "/ping", token)
        assert token not in page.text

    @each("authorization", WRONG_LOG_INS)
    def test_wrong_log_in_is_401(self, secured, authorization):
        browse(secured, "/products", None, 401, Authorization=authorization)

    def test_page_of_a_401_says_how_to_get_in(self, client):
        page = browse(client, "/products", None, 401)
        assert "pmservice user admin --password" in page.text
        assert set(page.links) == {"/"}
        headers = {"Accept": CHROME}
        answer = client.app.get("/", headers=headers, status=401)
        challenge = answer.headers["WWW-Authenticate"]
        assert challenge == 'Basic realm="pmservice", charset="UTF-8"'

    @each("account", ["dev1", "nobody"])
    def test_wrong_password_is_hashed_once_whatever_the_account(self, secured, hashed, account):
        wrong = basic(account, "wrong")
        browse(secured, "/", None, 401, Authorization=wrong)
        assert len(hashed) == 1

    def test_password_is_remembered_for_ten_minutes(self, secured, hashed):
        moment = 1000.0

        def now() -> float:
            return moment

        secured.service.page.now = now
        right = basic("dev1", "secret")
        for seconds, kind in LOG_INS:
            moment += seconds
            hashed.clear()
            assert page_class(secured, AUTHORIZATION=right) == kind
            browse(secured, "/user", Authorization=right)
            assert len(hashed) == (kind == "login")
        assert page_class(secured) == "login"
        (digest,) = secured.service.page.checked
        for guessed in (b"secret", right.encode()):
            assert digest != guessed
            assert digest != hashlib.sha256(guessed).digest()

    def test_password_is_remembered_until_it_changes(self, secured, hashed):
        old, new = basic("dev1", "secret"), basic("dev1", "another")
        browse(secured, "/user", Authorization=old)
        secured.put("/users/dev1", password="another")
        browse(secured, "/user", status=401, Authorization=old)
        assert page_class(secured, AUTHORIZATION=old) == "login"  # guesses wait for others
        browse(secured, "/user", Authorization=new)
        secured.put("/users/dev1", realname="Danny")
        hashed.clear()
        page = browse(secured, "/user", Authorization=new)
        assert "Danny" in page.text
        assert not hashed
        secured.call("DELETE", "/users/dev1")
        browse(secured, "/user", status=401, Authorization=new)

    def test_latest_readers_are_remembered(self, client, monkeypatch):
        monkeypatch.setattr(pmservice, "MOST_REMEMBERED", 2)
        for account in ("one", "two", "one", "three"):
            right = basic(account, "t")
            browse(client, Authorization=right)
        for account, kind in (("one", "html"), ("two", "login"), ("three", "html")):
            right = basic(account, "t")
            assert page_class(client, AUTHORIZATION=right) == kind

    # Where the request comes from

    @each(("site", "mode", "dest", "answered"), FETCHES)
    def test_page_is_for_who_opens_it(self, client, monkeypatch, site, mode, dest, answered):
        sent = {"Sec_Fetch_Site": site, "Sec_Fetch_Mode": mode, "Sec_Fetch_Dest": dest}
        headers = {name: value for name, value in sent.items() if value}
        if answered:
            browse(client, "/user", None, 401, **headers)
        else:
            headers["Authorization"] = basic("admin", "secret")
            monkeypatch.setattr(pmservice, "scrypt", None)  # nothing is hashed or read
            monkeypatch.setattr(client.service.database, "transaction", None)
        status = 200 if answered else 403
        for path in ("/", "/products"):
            browse(client, path, status=status, **headers)

    # The contents of pages

    def test_links_lead_to_every_page_and_to_pages_alone(self, demo):
        seen = defaultdict(set, {("/openapi.json",): {"/openapi.json"}, ("/-/out",): {"/-/out"}})
        waiting = ["/", *UNLINKED.values()]
        while waiting:
            path = waiting.pop()
            page = browse(demo, path)
            for link in page.links:
                shape = shape_of(link)
                links = seen[shape]
                if link not in links and len(links) < 2:
                    links.add(link)
                    waiting.append(link)
        linked = {path for path, *_ in seen}
        unlinked = {re.sub("<.*>", "0", path) for path, _ in GETS} - linked
        assert unlinked == UNLINKED.keys()

    def test_record_is_told_with_names_links_local_times_and_its_action_log(self, shanghai):
        shanghai.load(**FILLED)
        shanghai.post("/bugs/1/assign", assignedTo="qa1", comment="To you,\nQuinn")
        page = browse(shanghai, "/bugs/1")
        assert "Bug 1: B" in page.text
        rows = dict(page.sections[""])
        assert rows["Product"] == "Shop"
        assert rows["Assigned"] == "2026-11-20 15:42"
        assert rows["Deadline"] == "2026-12-01"
        empty = {"Resolved by", "Closed", "branch", "lines", "Deleted"}
        assert not empty & rows.keys()
        _, logged = page.sections["Action log"]
        assert logged == ["2026-11-20 15:42", "admin", "Assigned", "To you,\nQuinn"]
        user = shanghai.get("/users/qa1")
        assert f"/users/{user['id']}" in page.links
        assert "/products/1" in page.links
        page = browse(shanghai, "/products/1")
        for name in ("bugs", "stories", "releases"):
            assert f"/products/1/{name}" in page.links

    @each("path", ["/bugs/1", "/products/1/bugs"])
    def test_page_shows_one_moment(self, connections, filed, path):
        filed.load(**FILLED)

        def rename(_, sql):
            if "SELECT name FROM product" in sql:
                del connections.before
                filed.sql("UPDATE product SET name = 'renamed'")

        connections.before = rename
        page = browse(filed, path)
        assert "before" not in vars(connections)
        assert "Shop" in page.text
        assert "renamed" not in page.text

    # fmt: off
    TEXTS = [  # what a field has, and what its page shows
        ("<p>As a user<br />I want &lt;it&gt; &amp; 需求</p>\n<ul><li>ok</li></ul>", "As a user\nI want <it> & 需求\n\nok"),
        ('<div class="x"><strong>do</strong> <now></div>', "do <now>"),
        ("a <b> c, 1 < 2 &amp; 3", "a <b> c, 1 < 2 &amp; 3"),
        ("<unknown>x</unknown>", "<unknown>x</unknown>"),
    ]
    # fmt: on

    @each(("text", "shown"), TEXTS)
    def test_rich_text_is_shown_as_text_and_other_text_as_it_is(self, filled, text, shown):
        filled.put("/products/1", desc=text, name=text[:80])
        filled.post("/bugs/1/confirm", comment=text)
        page = browse(filled, "/products/1")
        rows = dict(page.sections[""])
        assert rows["Description"] == shown
        assert rows["Name"] == text[:80]  # which is no rich text
        assert browse(filled, "/bugs/1").sections["Action log"][1][-1] == shown

    def test_what_records_say_is_never_markup(self, filled):
        tags = {}
        for text in ("harmless", NASTY):
            quoted = urllib.parse.quote(text)
            filled.put("/products/1", name=text, desc=text)
            filled.put("/bugs/1", title=text, steps=text)
            filled.put("/users/dev1", realname=text)
            filled.put("/executions/2", name=text, status="doing")
            filled.put("/releases/1", name=text, date="2026-11-19")
            tags[text] = set()
            for path, status in SHOWN_ON_PAGES.items():
                path = path.replace("%s", quoted)
                page = browse(filled, path, status=status)
                assert text in page.text or status != 200
                for tag, attributes in page.tags:
                    tags[text].add((tag, *attributes))
        assert tags["harmless"] == tags[NASTY]

    def test_what_the_caller_may_not_see_is_on_no_page(self, filled):
        filled.put("/products/1", acl="private", name="Covert")
        filled.put("/projects/1", acl="private", name="Hidden project")
        filled.put("/executions/2", name="Hidden sprint", status="doing")
        outsider = dict(account="outsider")
        filled.load(users=[outsider])
        token = filled.token_of("outsider")
        filled.post("/bugs/2/assign", assignedTo="outsider")
        filled.sql("UPDATE bug SET project = 1, execution = 2 WHERE id = 2")
        ids = {**PAGES, "bug": 2, "product": 2}
        for path, target in GETS:
            id = str(ids[target])
            path = re.sub("<.*>", id, path)
            answer = filled.call("GET", path, Token=token)
            page = browse(filled, path, token, answer.status_int)
            assert not re.search("Covert|Hidden", page.text), path
        page = browse(filled)
        assert "Covert" in page.text
        page = browse(filled, "/", token)
        assert column_of(page, 0, "Products") == ["Till"]

    def test_refusals_are_pages_with_the_sentence_of_the_json(self, filled, monkeypatch):
        for path in REFUSED_PAGES:
            refusal = filled.call("GET", path)
            assert refusal.status_int >= 400
            page = browse(filled, path, status=refusal.status_int)
            assert refusal.json["error"] in page.text
        monkeypatch.setattr(pmservice.Sheet, "listing", None)
        page = browse(filled, "/bugs", status=500)
        assert pmservice.FAILED in page.text
        filled.service.loading = True
        monkeypatch.setattr(pmservice.Page, "caller", None)  # a password could not be read now
        page = browse(filled, "/bugs", status=503)
        assert pmservice.LOADING in page.text

    def test_method_that_is_not_allowed_names_those_that_are(self, filled):
        right = basic("x", "t")
        headers = {"Accept": "application/xhtml+xml", "Authorization": right}
        answer = filled.app.get("/tasks/1/start", headers=headers, status=405)
        assert answer.headers["Allow"] == "POST"
        assert answer.content_type == "text/html"

    def test_list_is_paged_sorted_and_narrowed_by_links(self, client):
        titles = [f"Bug {n:02}" for n in range(60)]
        bugs = [dict(product=1, title=title) for title in titles]
        product = dict(name="P")
        client.load(products=[product], bugs=bugs)
        client.sql("UPDATE bug SET status = 'closed' WHERE id > 40")
        page = browse(client, "/products/1/bugs")
        assert column_of(page, 1) == titles[:9:-1]
        for part, shown, said in (
            ("page=2", titles[9::-1], "51–60 / 60"),
            ("order=title_asc", titles[:50], "1–50 / 60"),
            ("order=title_desc", titles[:9:-1], "1–50 / 60"),
            ("status=active", titles[39::-1], "1–40 / 40"),
        ):
            (path,) = links_with(page, part)
            page = browse(client, path)
            assert column_of(page, 1) == shown
            assert said in page.text
            assert ("next ›" in page.text) == (len(shown) == 50)
            assert ("‹ previous" in page.text) == ("51" in said)
            orders = [one["aria-sort"] for _, one in page.tags if "aria-sort" in one]
            assert orders == ["ascending" if "asc" in part else "descending"]

    def test_no_page_has_more_than_five_hundred_rows_of_a_list(self, client):
        plan = dict(product=1, title="T")
        product = dict(name="P")
        client.load(products=[product], plans=[plan])
        bug = dict(product=1, title="B", plan=1)
        client.load(bugs=[bug] * 510)
        for limit, count in (("0100000", 500), ("0005", 5)):
            page = browse(client, f"/bugs?limit={limit}")
            rows = column_of(page, 0)
            assert len(rows) == count
        plan = browse(client, "/productplans/1")
        rows = column_of(plan, 0, "Bugs")
        assert len(rows) == 500
        assert "500 / 510" in plan.text

    def test_page_of_a_deleted_record_has_no_dead_links_and_its_plan_no_title(self, filled):
        filled.post("/productplans/1/linkbugs", bugs=[1])
        for links in (["/productplans/1"], []):
            page = browse(filled, "/bugs/1")
            assert links_with(page, "/productplans/") == links
            filled.call("DELETE", "/productplans/1")
        filled.call("DELETE", "/products/1")
        page = browse(filled, "/products/1")
        assert links_with(page, "/products/1/") == []

    def test_service_without_records_says_how_to_put_some_in(self, client):
        page = browse(client)
        assert "--demo" in page.text
        assert "Products" not in page.sections

    def test_lines_are_for_the_shell_of_who_looks(self, client):
        windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"
        text = browse(client, "/-/journal", User_Agent=windows).text
        assert "Invoke-RestMethod http://localhost:80/products -Headers @{Token = $T}\n" in text
        assert """-Headers @{Token = $T} -Method Post -Body '{"name": "Shop"}'""" in text
        assert "curl" not in text

    def test_lines_for_a_shell_work(self, client):
        if not (shutil.which("curl") and shutil.which("sh")):
            pytest.skip("there is no curl")
        page = browse(client, "/-/journal")
        lines = re.search("T=.*(?:\n.+)+", page.text)[0]
        with pmservice.running(password="pass") as served:
            lines = lines.replace("http://localhost:80", served.url)
            lines = lines.replace("PASSWORD", "pass")
            lines = lines.replace("python3", sys.executable)
            told = subprocess.check_output(["sh", "-c", lines], text=True)
        assert '"total":0' in told
        assert '"name":"Shop"' in told

    def test_words_of_titles_narrow_a_list(self, client):
        bugs = [dict(product=1, title=title) for title in ("Total is off", "The OFFER", "100%")]
        client.load(products=[dict(name="Shop")], bugs=bugs)
        for words, found in TITLES_FOUND:
            quoted = urllib.parse.quote(words)
            page = browse(client, f"/bugs?status=active&title={quoted}")
            rows = page.sections[""][1:]
            assert [row[1] for row in rows] == found
            listed = client.get(f"/products/1/bugs?title={quoted}")
            assert [bug["title"] for bug in listed["bugs"]] == found
            assert listed["total"] == len(found)
            hidden = [one for tag, one in page.tags if tag == "input" and one["type"] == "hidden"]
            kept = {one["name"]: one["value"] for one in hidden}
            assert kept == {"status": "active", "limit": "50"}

    def test_links_lead_to_what_ids_and_accounts_stand_for(self, filled):
        for path, body in LINKS_MADE.items():
            filled.put(path, **body)
            page = browse(filled, path)
            rows = dict(page.sections[""])
            for field, shown in LINKS_SHOWN[path].items():
                assert rows[field] == shown

    def test_what_means_nothing_to_people_is_not_shown(self, filled):
        page = browse(filled, "/programs/6")
        rows = dict(page.sections[""])
        shown = " ".join(rows)
        assert not re.search("path|grade|order|Path", shown)
        (unset,) = [one for tag, one in page.tags if tag == "details"]
        assert "open" not in unset
        assert "Budget" in page.text  # which unfolds

    def test_section_one_is_in_is_marked(self, filled):
        for path, section in (
            ("/", "/"),
            ("/bugs?page=2", "/bugs"),
            ("/products/1/bugs", "/products"),
        ):
            page = browse(filled, path)
            marked = [one["href"] for _, one in page.tags if "aria-current" in one]
            assert marked == [section]

    # Languages

    @each(("accepted", "setting", "language"), ACCEPTED)
    def test_language_is_the_browser_s_or_that_of_the_service(self, accepted, setting, language):
        client = Client(":memory:", language=setting)
        with contextlib.closing(client):
            client.load(**FILLED)
            page = browse(client, "/bugs/1", Accept_Language=accepted)
            (html,) = [one for tag, one in page.tags if tag == "html"]
            assert html["lang"] == language
            title = {"en": "Title", "zh": "标题"}[language]
            assert title in dict(page.sections[""])
            offered = client.get("/options/bug")["options"]["type"]
            assert offered["config"] == {"en": "Configuration", "zh": "配置相关"}[setting]
            builds = client.get("/options/bug")["options"]["build"]
            assert builds["trunk"] == {"en": "Trunk", "zh": "主干"}[setting]

    def test_every_word_of_a_page_has_a_label_in_both_languages(self, demo):
        words = {word for operation in pmservice.OPERATIONS for word in words_on_page(operation)}
        for language, labels in pmservice.LABELS.items():
            assert words - labels.keys() == {"", *UNLABELLED.split()}, language
        english, chinese = pmservice.LABELS.values()
        assert english.keys() == chinese.keys()
        for word, shown in chinese.items():
            known = not shown.isascii() or shown in SAME_IN_CHINESE.split()
            assert known or not word, word

    def test_refusals_stay_english(self, filled):
        page = browse(filled, "/bugs/99", status=404, Accept_Language="zh-CN")
        assert "There is no bug 99." in page.text

    # Ending a login

    def test_page_that_ends_a_login_is_refused_once(self, client):
        headers = {"Accept": CHROME, "Authorization": basic("x", "t")}
        first = client.app.get("/-/out", headers=headers, status=303)
        address = first.headers["Location"]
        assert re.fullmatch(r"/-/out\?once=[0-9a-f]{16}", address)
        page = browse(client, address, status=401)
        assert "/" in page.links
        page = browse(client, address, None)  # the browser has forgotten it
        assert "You are logged out." in page.text
        again = client.app.get(address, headers=headers, status=303)
        assert again.headers["Location"] == "/"

    # Framing

    def test_named_origins_may_frame_pages(self):
        client = Client(":memory:", frame="https://a.example,https://b.example")
        with contextlib.closing(client):
            headers = {"Accept": CHROME, "Authorization": basic("x", "t")}
            headers |= {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
            headers["Sec-Fetch-Dest"] = "iframe"
            answer = client.app.get("/", headers=headers, status=200)
            policy = answer.headers["Content-Security-Policy"]
            assert policy.endswith("; frame-ancestors https://a.example https://b.example")
            headers["Sec-Fetch-Mode"] = "no-cors"
            client.app.get("/", headers=headers, status=403)

    # Calls

    @pytest.fixture
    def watched(self):
        """Yield an app with controls and five calls, the last one refused by a fault."""
        client = Controlled(":memory:", load=FILLED)
        with contextlib.closing(client):
            client.fail("GET /bugs/2", status=503)
            secret = dict(name="Quiet", password="hush")
            for request in CALLS_WATCHED:
                client.call(*request.split())
            client.call("POST", "/products?token=hush", secret)
            yield client

    def test_calls_are_shown_with_what_was_sent_and_answered(self, watched):
        page = browse(watched, "/-/journal")
        lines = [re.sub(r"^\S+ | [0-9.]+ ms", "", line) for line in page.calls]
        assert lines == CALLS_SHOWN
        for text in ('"name": "Quiet"', '"password": "***"', "token=***", "did you mean", "Fault"):
            assert text in page.text
        assert "hush" not in page.text
        assert '"match": "GET /bugs/2",\n      "status": 503' in page.text

    @each(("query", "count"), CALLS_FOUND)
    def test_calls_are_narrowed_by_links_and_words(self, watched, query, count):
        page = browse(watched, f"/-/journal?{query}")
        assert len(page.calls) == count
        links = [link for link in page.links if link.startswith("/-/journal?")]
        assert links
        for link in links:
            browse(watched, link)

    def test_page_of_calls_is_loaded_again(self, watched):
        page = browse(watched, "/-/journal?every=2&status=404")
        refreshes = [one["content"] for tag, one in page.tags if "http-equiv" in one]
        assert refreshes == ["2"]
        for wrong in ("0", "0.5", "x", "3601"):
            page = browse(watched, f"/-/journal?every={wrong}", status=400)
            assert "every must be " in page.text

    def test_calls_are_for_administrators_and_need_the_controls(self, watched, filled):
        page = browse(watched, "/-/journal", watched.token_of("dev1"))
        assert "Last calls" not in page.sections
        assert pmservice.ADMIN_ONLY in page.text
        off = Client(":memory:", control=False)
        with contextlib.closing(off):
            page = browse(off, "/-/journal")
            assert "start the service with --control" in page.text
            assert "For API clients" in page.text

    def test_clock_of_the_controls_is_shown(self, watched):
        for body, shown in CLOCKS_SHOWN:
            watched.put("/-/clock", **body)
            page = browse(watched, "/-/journal")
            assert shown in page.text


# fmt: off
STAGES = ("wait", "planned", "projected", "released", "closed")
OVERVIEW_CHANGES = {  # requests on every seventh record of an array, in turn; what the service refuses changes nothing
    "bugs":     [("POST /bugs/%(id)s/close", "{}"), ("POST /bugs/%(id)s/active", "{}"), ("POST /bugs/%(id)s/resolve", '{"resolution": "fixed"}'),
                 ("PUT /bugs/%(id)s", '{"product": 1}'), ("DELETE /bugs/%(id)s", "")],
    "tasks":    [("POST /tasks/%(id)s/start", '{"left": 3}'), ("POST /tasks/%(id)s/cancel", "{}"), ("DELETE /tasks/%(id)s", "")],
    "stories":  [("POST /stories/%(id)s/close", '{"closedReason": "done"}'), ("POST /stories/%(id)s/active", "{}"), ("PUT /stories/%(id)s", '{"product": 1}'),
                 ("PUT /releases/%(product)s", '{"stories": "%(id)s"}'), ("DELETE /stories/%(id)s", "")],
    "releases": [("PUT /releases/%(id)s", '{"stories": ""}'), ("DELETE /releases/%(id)s", "")],
}
# fmt: on


# fmt: off
SEEN = "acl = 'open' OR :admin"  # whether the reader is an administrator
FIGURES = {  # the rows of the overview's tables, read from the tables of the database
    "Products": f"""
        SELECT name, '', count(*) FILTER (WHERE bug.status = 'active') AS active, count(*) FILTER (WHERE bug.status = 'resolved'),
            count(*) FILTER (WHERE bug.status = 'closed'), count(bug.id)
        FROM product LEFT JOIN bug ON bug.product = product.id AND NOT bug.deleted
        WHERE {SEEN} GROUP BY product.id ORDER BY active DESC, product.id""",
    "Running executions": f"""
        SELECT project.name, '', count(*) FILTER (WHERE task.status = 'wait'), count(*) FILTER (WHERE task.status = 'doing'),
            count(*) FILTER (WHERE task.status = 'done'), count(*) FILTER (WHERE task.status = 'pause'),
            count(*) FILTER (WHERE task.status = 'closed'), count(*) FILTER (WHERE task.status = 'cancel'),
            round(sum(consumed), 1), round(sum(left), 1), end
        FROM project LEFT JOIN task ON task.execution = project.id AND NOT task.deleted
        WHERE project.status = 'doing' AND project.type IN ('sprint', 'stage') AND project.project IN (SELECT id FROM project WHERE {SEEN})
        GROUP BY project.id ORDER BY end, project.id""",
}
SEEN_RELEASES = f"""
    SELECT '/releases/' || id FROM release
    WHERE NOT deleted AND product IN (SELECT id FROM product WHERE {SEEN}) AND project IN (SELECT id FROM project WHERE {SEEN} UNION SELECT 0)
        AND date >= :since ORDER BY date, id"""
A_BUSY_PROJECT = "SELECT project FROM project WHERE status = 'doing' AND type = 'sprint'"
BUG_WEEKS = f"""
    WITH RECURSIVE
        week(monday) AS (SELECT '2026-05-25' UNION ALL SELECT date(monday, '+7 days') FROM week LIMIT 26),
        seen AS (SELECT * FROM bug WHERE NOT deleted AND product IN (SELECT id FROM product WHERE {SEEN}))
    SELECT monday,
        (SELECT count(*) FROM seen WHERE date(openedDate, :shift, 'weekday 0', '-6 days') = monday),
        (SELECT count(*) FROM seen WHERE date(resolvedDate, :shift, 'weekday 0', '-6 days') = monday)
    FROM week"""
# fmt: on


def shown_as(row: tuple[Any, ...]) -> list[str]:
    """Return the cells of a row as a page shows them."""
    return [cell if isinstance(cell, str) else f"{cell:,}" for cell in row]


@cache
def worked_company() -> pmservice.Database:
    """Return the records of the demo after changes on which the overview's figures depend."""
    client = Client(":memory:", control=False)
    client.begin_with(company())
    for array, changes in OVERVIEW_CHANGES.items():
        records = client.dump()[array][::7]
        for n, record in enumerate(records):
            line, body = changes[n % len(changes)]
            request = line % record
            sent = body % record
            client.call(*request.split(), sent.encode())
    return client.service.database


class TestOverview:
    """The figures of the overview, compared with the records."""

    # With few private products, a page subtracts their sums from those of all.
    @each(("zone", "private"), [("UTC", 1), ("Asia/Shanghai", 3)])
    @each("admin", [True, False])
    def test_figures_are_those_of_the_records(self, zone, private, admin):
        client = shared_app(zone)
        client.begin_with(worked_company())
        outsider = dict(account="outsider")
        client.load(users=[outsider])
        client.sql("UPDATE product SET acl = iif(id <= ?, 'private', 'open')", private)
        client.sql(f"UPDATE project SET acl = 'private' WHERE id = ({A_BUSY_PROJECT})")
        if not admin:
            client.token = client.token_of("outsider")
        page = browse(client, "/", client.token)
        for heading, sql in FIGURES.items():
            _, *shown = page.sections[heading]
            rows = client.sql(sql, admin=admin)
            assert shown
            assert shown == [shown_as(row) for row in rows]
        shift = "+8 hours" if zone == "Asia/Shanghai" else "+0 hours"
        weeks = client.sql(BUG_WEEKS, admin=admin, shift=shift)
        told = "{}: Opened {}, Resolved {}"
        bars = [title for title in page.titles if re.match("[0-9-]{10}: ", title)]
        assert bars == [told.format(*week) for week in weeks]
        active = column_of(page, 2, "Products")
        _, opened, resolved = weeks[-1]
        total = sum(map(int, active))
        tiles = (total, opened, resolved, len(active))
        assert page.sections[""][1] == shown_as(tiles)
        listed = client.get("/stories?status=all&limit=1000")
        stages = Counter(one["stage"] for one in listed["stories"])
        rows = [[pmservice.label("en", stage), "", str(stages[stage])] for stage in STAGES]
        assert page.sections["Stories by stage"] == rows
        assert not admin or stages.keys() == {*STAGES}
        releases = client.sql(SEEN_RELEASES, admin=admin, since="2026-05-22")
        links = links_with(page, "/releases/")
        assert links == [path for (path,) in releases]
        client.close()

    @each("admin", [True, False])
    def test_figures_are_the_totals_of_the_lists_that_they_lead_to(self, admin):
        client = shared_app("UTC")
        client.begin_with(worked_company())
        client.call("DELETE", "/products/2")
        client.sql("UPDATE product SET acl = iif(id = 3, 'private', 'open')")
        client.load(users=[dict(account="outsider")])
        if not admin:
            client.token = client.token_of("outsider")
        page = browse(client, "/", client.token)
        assert len(page.figures) > 30
        for path, shown in page.figures.items():
            separator = "&" if "?" in path else "?"
            listed = client.get(f"{path}{separator}limit=1")
            assert shown == f"{listed['total']:,}", path
        client.close()

    def test_products_with_most_active_bugs_come_first(self, client):
        ids = range(1, 15)
        products = [dict(name=f"P{id}") for id in ids]
        bugs = [dict(product=id, title="B") for id in (*ids, *ids[8:])]
        client.load(products=products, bugs=bugs)
        page = browse(client)
        names = column_of(page, 0, "Products")
        assert " ".join(names) == "P9 P10 P11 P12 P13 P14 P1 P2 P3 P4 P5 P6"
        assert page.sections[""][1] == ["20", "20", "0", "14"]

    def test_time_line_goes_from_half_a_year_ago_to_what_is_planned(self, client):
        days = ["2026-05-21", "2026-05-22", "2026-11-20", "2026-11-21", "2027-08-01"]
        releases = [dict(product=1, name=f"R{day[8:]}", date=day) for day in days]
        client.load(products=[dict(name="P")], releases=releases)
        page = browse(client)
        assert page.sections["Releases"] == [
            ["May 2026", "22 R22"],
            ["November 2026", "20 R20", "21 R21"],
            ["August 2027", "1 R01"],
        ]
        looks = [attributes["class"] for tag, attributes in page.tags if tag == "td"]
        assert " ".join(looks[-4:]) == "past past planned planned"


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


# .ci/run sets this: there the browser's tests must not be left out.
BROWSER_NEEDED = bool(os.environ.get("BROWSER_NEEDED"))


CALLING_PAGE = """<!DOCTYPE html><link rel="icon" href="data:,"><title>calls</title><script>
async function send(url, body, headers) {
    return await fetch(url, {method: "POST", headers, body: JSON.stringify(body)});
}
async function call(url) {
    const answer = await send(url + "/tokens", {account: "admin", password: "pass"});
    const headers = {Token: (await answer.json()).token, "Content-Type": "application/json"};
    const made = await send(url + "/products?mode=x", {name: "Made by a page"}, headers);
    const number = made.headers.get("X-Request-Id");
    return [made.status, (await made.json()).name, made.headers.get("Ignored-Fields"), !!number];
}
</script>"""


# Returns the texts of a page with the contrast to what is behind them, as WCAG 2 defines it.
CONTRASTS = r"""() => {
    const shown = one => one.offsetParent && [...one.childNodes].some(
        inner => inner.nodeType === 3 && inner.data.trim());
    const back = one => getComputedStyle(one).backgroundColor;
    const linear = part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    const light = color => {
        const [red, green, blue] = color.match(/[0-9]+/g).map(part => linear(part / 255));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    return [...document.querySelectorAll("body *")].filter(shown).map(one => {
        let behind = one;
        while (behind && /, 0\)$/.test(back(behind))) behind = behind.parentElement;
        const [ink, paper] = [light(getComputedStyle(one).color), light(back(behind))];
        const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
        return [one.textContent.trim(), contrast, paper > ink];
    });
}"""


PHONE_PATHS = ("/", "/bugs", "/bugs/7", "/executions", "/products/1", "/stories/1", "/groups")
# Returns the tables that are wider than their place.
CUT_TABLES = """() => [...document.querySelectorAll(".box")]
    .filter(box => box.scrollWidth > box.clientWidth).map(box => box.innerText)"""


@pytest.fixture(scope="class")
def browser():
    """Yield Chromium, for which http://app.example is this machine."""
    try:
        from playwright import sync_api
    except ImportError:
        if BROWSER_NEEDED:
            raise
        pytest.skip("there is no Playwright")
    arguments = [
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--host-resolver-rules=MAP app.example 127.0.0.1",
    ]
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=arguments, timeout=60_000
        )
        yield browser
        browser.close()


@pytest.fixture(scope="class")
def served():
    """Yield a running service with the records of the demo and the password "pass"."""
    settings = dict(password="pass", demo=True, clock=Clock())
    with pmservice.running(**settings) as served:
        yield served


@pytest.mark.skipif(not BROWSER_NEEDED and not CHROMIUM, reason="there is no Chromium")
class TestBrowser:
    """The pages in Chromium, and pages that call the service."""

    @pytest.fixture
    def visit(self, browser, served):
        """Return a function that opens a path as the administrator; no page may have errors."""
        complaints: list[str] = []
        login = {"username": "admin", "password": "pass"}

        def complain(message: Any) -> None:
            complaints.append(str(message))

        def notice(request: Any) -> None:
            if not request.url.startswith((served.url, "data:")):
                complaints.append(request.url)

        def visit(path: str, **settings: Any) -> Any:
            context = browser.new_context(http_credentials=login, **settings)
            stack.callback(context.close)
            context.set_default_timeout(60_000)
            page = context.new_page()
            for event in ("console", "pageerror", "requestfailed"):
                page.on(event, complain)
            page.on("request", notice)
            assert page.goto(served.url + path).status == 200
            return page

        with contextlib.ExitStack() as stack:
            yield visit
            assert complaints == []

    @pytest.fixture
    def calling(self, tmp_path):
        """Yield the port of a server whose page calls the service."""
        (tmp_path / "index.html").write_text(CALLING_PAGE)
        handler = partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            yield server.server_port
            server.shutdown()
            thread.join()

    def test_keyboard_goes_through_the_links_and_the_focus_is_visible(self, visit):
        page = visit("/")
        for text in ("pmservice", "Products", "Users", "Programs"):
            page.keyboard.press("Tab")
            focus = page.locator(":focus")
            assert focus.inner_text() == text
            assert focus.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"

    @each(("scheme", "locale"), [("light", "en-US"), ("dark", "zh-CN")])
    def test_every_text_stands_out_from_what_is_behind_it(self, visit, served, scheme, locale):
        page = visit("/", color_scheme=scheme, locale=locale)
        for path in ("/", "/bugs", "/bugs/7", "/-/journal"):
            page.goto(served.url + path)
            texts = page.evaluate(CONTRASTS)
            assert len(texts) > 30
            for text, contrast, is_light in texts:
                assert contrast >= 4.5, text
                assert is_light == (scheme == "light"), text

    def test_page_fits_a_phone(self, visit, served):
        phone = {"width": 360, "height": 700}
        page = visit("/", viewport=phone)
        assert page.title() == "Overview · pmservice"
        chart = page.get_by_role("img", name="Bugs per week").bounding_box()
        assert chart["width"] > 250
        assert chart["height"] > 150
        for path in (*PHONE_PATHS, "/-/journal"):
            page.goto(served.url + path)
            assert page.evaluate("document.documentElement.scrollWidth") == 360, path
            assert page.evaluate(CUT_TABLES) == [], path
            assert page.evaluate("getComputedStyle(document.body).fontSize") == "15px"

    def test_page_of_this_machine_may_call(self, browser, served, calling):
        told = self.call(browser, f"http://127.0.0.1:{calling}", served.url)
        assert told == [201, "Made by a page", "?mode", True]

    def test_page_of_another_origin_may_call_only_if_it_is_named(self, browser, served, calling):
        origin = f"http://app.example:{calling}"
        with pytest.raises(Exception, match="Failed to fetch"):
            self.call(browser, origin, served.url)
        with pmservice.running(password="pass", origin=origin) as named:
            status, *_ = self.call(browser, origin, named.url)
            assert status == 201

    @staticmethod
    def call(browser, origin, url):
        """Let a page of an origin create a product; return what it reads of the answer."""
        with contextlib.closing(browser.new_context()) as context:
            page = context.new_page()
            page.goto(f"{origin}/")
            return page.evaluate("url => call(url)", url)


# --- 16 Server: connections and threads -----------------------------------------------------------


def ask_once(url, method, path, body=None, **headers):
    """Send a request on a new connection; return the status and the JSON of the answer."""
    with contextlib.closing(connection_to(url)) as connection:
        return ask(connection, method, path, body, **headers)


@contextlib.contextmanager
def client_of(url):
    """Yield a connection that is open, and takes little unread."""
    with contextlib.closing(connection_to(url)) as client:
        client.sock = socket.socket()
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        client.sock.settimeout(60)
        client.sock.connect((client.host, client.port))
        yield client


def answers_to(url, sent):
    """Send Latin-1 characters, and receive until the server closes the connection.

    Return the statuses of all answers, and the body of the first.
    """
    with client_of(url) as client:
        client.sock.sendall(sent.encode("latin-1"))
        with client.sock.makefile("rb") as answers:
            received = answers.read().decode()
    statuses = re.findall("HTTP/1.[01] ([0-9]+) ", received)
    return [int(status) for status in statuses], received.partition("\r\n\r\n")[2]


@pytest.fixture(scope="module")
def shared_url():
    """Yield the URL of a server that tests share."""
    with pmservice.running(token="t") as served:
        yield served.url


# fmt: off
HTTP_REQUESTS = [  # the request line, headers, the status, and how the error begins
    ("GET /%70roducts HTTP/1.1",                  "Token: t",                                         200, None),
    ("GET //products HTTP/1.1",                   "Token: t",                                         404, "There is nothing at //products"),
    ("GET /products%2F HTTP/1.1",                 "Token: t",                                         404, "There is nothing at /products%2F"),
    ("GET /tasks/%FF1 HTTP/1.1",                  "Token: t",                                         404, "This path is not UTF-8."),
    ("GET /products HTTP/1.0",                    "Token: t",                                         200, None),
    ("GET http://localhost/products HTTP/1.1",    "Token: t\r\nHost: localhost",                      200, None),
    ("GET http://evil.example/products HTTP/1.1", "Token: t\r\nHost: localhost",                      421, "The Host must be "),
    ("GET /products HTTP/1.1",                    "Token: t\r\nHost: localhost\r\nHost: evil.example", 421, "The Host must be "),
    ("GET /products HTTP/1.1",                    "Token: t\r\nHost: evil.example\r\nHost: localhost", 421, "The Host must be "),
    ("GET /products HTTP/1.1",                    "Token: t\r\nToken: t",                             401, "Unauthorized"),
    ("GET /products HTTP/1.1",                    "Token: t\xf6",                                     401, "Unauthorized"),
    ("GET /products HTTP/1.1",                    "Transfer-Encoding: gzip",                          400,
         "Not Implemented: Transfer-Encoding requested is not supported."),
    ("GET /products HTTP/1.1",                    "Content-Length: x",                                400, "Bad Request: Content-Length is invalid."),
    ("GET /products HTTP/1.1",                    "no header",                                        400, "Bad Request: Invalid header."),
    ("POST /products HTTP/1.1",                   f"Content-Length: 1048577\r\n\r\n{'x' * 1048575}",  413,
         "The body must be at most 1048576 bytes long (got 1048577)."),
    ("GET /user HTTP/1.1",                        "Content-Length: 67108865",                         413,
         "The body must be at most 67108864 bytes long (got 67108865)."),
    ("POST /products HTTP/1.1",                   f"Transfer-Encoding: chunked\r\n\r\n100001\r\n{'x' * 1048577}\r\n0", 413,
         "The body must be at most 1048576 bytes long (got 1048577)."),
]
# fmt: on


class TestOverASocket:
    @each(("line", "headers", "status", "words"), HTTP_REQUESTS)
    def test_request_is_read_strictly_as_it_was_sent(
        self, shared_url, line, headers, status, words
    ):
        sent = f"{line}\r\nConnection: close\r\n{headers}\r\n\r\n"
        statuses, body = answers_to(shared_url, sent)
        assert statuses == [status]
        error = json.loads(body).get("error")
        assert error == words or error.startswith(words)

    def test_largest_body_is_taken(self, shared_url):
        body = b" " * (2**20 - 13) + b'{"name": "x"}'
        with contextlib.closing(connection_to(shared_url)) as connection:
            connection.request("POST", "/products", body, {"Token": "t"})
            assert connection.getresponse().status == 201

    def test_body_that_is_too_large_is_refused_once_it_is_read(self, shared_url):
        with pytest.raises(urllib.error.HTTPError, match="413") as refused:
            urllib.request.urlopen(f"{shared_url}/products", b"x" * 5_000_000, timeout=30)
        with refused.value as answer:
            assert "1048576 bytes" in json.loads(answer.read())["error"]

    def test_head_sends_no_body(self, tmp_path):
        """Not even the chunk that ends an answer in pieces, which only a file's lists are."""
        load = bugs_of_one_product(300)
        with pmservice.running(tmp_path / "pm.db", load=load, token="t", control=True) as served:
            for path in ("/products/1/bugs?limit=300", "/-/dump", "/products/1"):
                head = f"HEAD {path} HTTP/1.1\r\nToken: t\r\nConnection: close\r\n\r\n"
                assert answers_to(served.url, head) == ([200], "")

    def test_eight_threads_create_and_move_at_once_and_nothing_is_lost(self, tmp_path):
        load = {"products": [dict(name="P")], "projects": [dict(PR_ONE, id=1, products=[1])]}
        load["tasks"] = [dict(execution=1, name="shared")]
        finished = dict(finishedDate="2026-02-09", currentConsumed=1, realStarted="2026-01-01")
        case = dict(CASE, steps=[dict(desc="a")])
        with pmservice.running(tmp_path / "pm.db", load=load, token="t") as served:

            def work(worker):
                task = dict(TASK, assignedTo=f"w{worker}")
                statuses = []
                with contextlib.closing(connection_to(served.url)) as connection:
                    post = partial(ask, connection, "POST")
                    for _ in range(8):
                        statuses.append(post("/executions/1/tasks", task)[0])
                        statuses.append(post("/tasks/1/finish", finished)[0])
                        statuses.append(post("/products/1/testcases", case)[0])
                return statuses

            with ThreadPoolExecutor(8) as threads:
                assert list(threads.map(work, range(8))) == [[201, 200, 201] * 8] * 8
            get = partial(ask_once, served.url, "GET")
            assert get("/executions/1/tasks")[1]["total"] == 65
            assert get("/tasks/1")[1]["consumed"] == 64
            assert get("/testcases/64")[1]["steps"][0]["id"] == 64


MUCH = bugs_of_one_product(200, steps="x" * 60_000)


@contextlib.contextmanager
def asking_for_much(url):
    """Yield a client to whom 12 MB are being sent by a server that has MUCH."""
    with client_of(url) as client:
        client.request("GET", "/products/1/bugs?limit=1000", headers={"Token": "t"})
        assert client.sock.recv(1, socket.MSG_PEEK)
        yield client


def hold_up(monkeypatch, owner, name):
    """Let calls of a function wait; return a semaphore that counts them, and the end of that."""
    begun = threading.Semaphore(0)
    go = threading.Event()
    plain = getattr(owner, name)

    def call(*values, **named):
        begun.release()
        go.wait(30)
        return plain(*values, **named)

    monkeypatch.setattr(owner, name, call)
    return begun, go


class TestThreads:
    """Which thread answers: the one that receives requests, if it is a quick read."""

    @pytest.fixture
    def serve(self, monkeypatch):
        """Serve. `calls` gets the path and the patience of each attempt to answer."""
        plain = pmservice.Service.__call__
        self.calls = []

        def call(service, environ, start_response):
            self.calls.append((environ["PATH_INFO"], environ["pmservice.patience"]))
            return plain(service, environ, start_response)

        monkeypatch.setattr(pmservice.Service, "__call__", call)
        self.clock = Clock()
        records = {
            "products": [dict(id=1, name="P", acl="open")],
            "projects": [dict(id=1, name="Pr", acl="open")],
            "testcases": [dict(product=1, title="T")],
            "bugs": [dict(product=1, title="B")] * 100,
            "users": [dict(account="dev1", password=SECRET)],
        }
        with (
            pmservice.running(token="t", load=records, clock=self.clock) as served,
            ThreadPoolExecutor(50) as self.pool,
        ):
            self.database = served.app.database
            self.url = served.url
            yield

    def status(self, path, method="GET", body=None, **headers):
        return ask_once(self.url, method, path, body, **headers)[0]

    def attempts(self, path):
        """Return for each attempt to answer a path whether it was made by another thread."""
        return [patience > 0 for called, patience in self.calls if called == path]

    # fmt: off
    RECEIVER = [False]
    BOTH = [False, True]
    WORKER = [True]
    ANSWERED_BY = {
        "admin /testcases/1":                        RECEIVER,
        "admin /testcases/2":                        BOTH,      # it has 12,000 steps
        "admin /products/1/testcases":               BOTH,
        "admin /products/1":                         RECEIVER,
        "dev1 /products/1":                          BOTH,      # its 50,000 releases are counted
        "admin /api.php/v1/testcases/1/":            RECEIVER,
        "admin /zentao/api.php/v1/products/1":       RECEIVER,
        "admin /user":                               RECEIVER,
        "admin /-/live":                             RECEIVER,
        "admin /products/1/bugs":                    RECEIVER,
        "admin /products/1/bugs?limit=100&page=2":   RECEIVER,
        "admin /products/1/bugs?status=unresolved":  RECEIVER,
        "admin /products?limit=20":                  RECEIVER,
        "dev1 /products?limit=20":                   BOTH,
        "admin /products/1/bugs?limit=101":          BOTH,
        "admin /products/1/bugs?limit=100&page=102": BOTH,
        "admin /products/1/bugs?order=pri_desc":     BOTH,
        "admin /products/1/bugs?status=overduebugs": BOTH,
        "admin /products/1/bugs?status=unclosed":    BOTH,
        "admin /products":                           BOTH,
        "admin /users":                              BOTH,
        "admin /-/ready":                            WORKER,
        "admin /openapi.json":                       WORKER,
        "admin //products/1":                        WORKER,
    }
    # fmt: on

    def test_quick_reads_are_answered_where_they_are_received(self, serve):
        case = dict(id=2, product=1, title="T", steps=[dict(desc="a")] * 12_000)
        pmservice.load_text(self.database, json.dumps({"testcases": [case]}), "fixture")
        with self.database.writing() as store:
            store.run(
                """WITH RECURSIVE number(n) AS
                    (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 50000)
                INSERT INTO release (product, project, name, date)
                SELECT 1, 1, 'R', '2026-11-20' FROM number"""
            )
        tokens = {"admin": "t", "dev1": token_in(self.database, "dev1")}
        found = {}
        for line in self.ANSWERED_BY:
            account, path = line.split()
            self.calls.clear()
            assert self.status(path, Token=tokens[account]) in (200, 404)
            found[line] = [patience > 0 for _, patience in self.calls]
        assert found == self.ANSWERED_BY

    def test_faults_are_for_the_other_threads(self, serve):
        assert self.status("/-/faults", "PUT", [{"match": "GET /user", "delay": 0.01}]) == 200
        assert self.status("/user") == 200
        assert self.attempts("/user") == self.BOTH

    def test_reads_are_answered_while_every_other_thread_is_busy(self, serve, monkeypatch):
        begun, go = hold_up(monkeypatch, pmservice, "openapi_text")
        late = []
        for _ in range(pmservice.CONTROL_THREADS):
            late.append(self.pool.submit(self.status, "/openapi.json"))
            assert begun.acquire(timeout=30)
        queued = threading.Event()
        hand_over = pmservice.Server.hand_over

        def note(*call):
            hand_over(*call)
            queued.set()

        monkeypatch.setattr(pmservice.Server, "hand_over", note)
        late.append(self.pool.submit(self.status, "/products", "POST", {"name": "Q"}))
        assert queued.wait(30)
        for path in ("/testcases/1", "/products/1/bugs", "/-/live"):
            assert self.status(path) == 200
        assert not late[-1].done()
        later = time.monotonic() + 60
        monkeypatch.setattr(time, "monotonic", partial(float, later))
        go.set()
        assert {answer.result(30) for answer in late} == {200, 201}
        assert ("/products", pmservice.LEAST_PATIENCE) in self.calls  # it has waited long enough

    def test_read_beside_a_write_in_memory_waits_in_another_thread(self, serve):
        with self.database.querying(), self.database.querying():
            pass  # now there is an idle connection for the reader
        with self.database.writing() as store:
            store.add_person("dev2")
            read = self.pool.submit(self.status, "/testcases/1")
            while len(self.attempts("/testcases/1")) < 2:
                self.status("/-/live")
        assert read.result(30) == 200
        assert self.attempts("/testcases/1") == self.BOTH

    def test_requests_of_one_connection_are_answered_in_turn(self, serve, monkeypatch):
        begun, go = hold_up(monkeypatch, pmservice, "openapi_text")
        sent = "GET /openapi.json HTTP/1.1\r\n\r\nGET /-/live HTTP/1.1\r\n\r\n"
        sent += "PUT /-/live HTTP/1.1\r\nConnection: close\r\n\r\n"
        answers = self.pool.submit(answers_to, self.url, sent)
        assert begun.acquire(timeout=30)
        assert self.status("/products/1") == 200
        go.set()
        assert answers.result(30)[0] == [200, 200, 405]

    def test_queue_on_one_connection_keeps_no_other_waiting(self, serve, monkeypatch):
        calls = []
        plain = pmservice.Service.__call__
        with client_of(self.url) as many, client_of(self.url) as one:
            ask(many, "GET", "/products/1")  # both are accepted now

            def call(service, environ, start_response):
                calls.append(environ["PATH_INFO"])
                if len(calls) == 10:
                    one.sock.sendall(b"GET /user HTTP/1.1\r\n\r\n")
                return plain(service, environ, start_response)

            monkeypatch.setattr(pmservice.Service, "__call__", call)
            many.sock.sendall(b"GET /tasks/1 HTTP/1.1\r\n\r\n" * 500)
            assert one.sock.recv(12) == b"HTTP/1.1 401"
            assert calls.index("/user") < 400

    @staticmethod
    def hash_quickly(password, **options):
        """Return the same for each password: none is right."""
        return bytes(64)

    def page(self, password):
        """Return the status of the page that dev1 asks for with a password."""
        headers = {"Accept": CHROME, "Authorization": basic("dev1", password)}
        with contextlib.closing(connection_to(self.url)) as connection:
            connection.request("GET", "/user", headers=headers)
            return connection.getresponse().status

    def test_one_password_is_checked_at_a_time_and_nobody_else_waits(self, serve, monkeypatch):
        assert self.page("secret") == 200
        monkeypatch.setattr(hashlib, "scrypt", self.hash_quickly)
        begun, go = hold_up(monkeypatch, hashlib, "scrypt")
        login = ("/tokens", "POST", {"account": "dev1", "password": "wrong"})
        logins = [self.pool.submit(self.status, *login) for _ in range(40)]
        guesses = [self.pool.submit(self.page, f"guess {n}") for n in range(5)]
        try:
            assert begun.acquire(timeout=30)
            assert self.status("/products", "POST", {"name": "Q"}) == 201
            assert self.page("secret") == 200  # it is remembered
            assert not begun.acquire(blocking=False)
        finally:
            go.set()
        assert {answer.result(60) for answer in logins} == {400}
        assert {answer.result(60) for answer in guesses} == {401}

    def test_without_a_thread_logins_are_refused_and_uses_recorded_later(self, monkeypatch):
        def start_no_thread(thread):
            raise RuntimeError("can't start new thread")

        body = {"account": "admin", "password": "p"}
        with contextlib.closing(Client(":memory:", password="p")) as client:
            hash = pmservice.hash_token(client.token_of("admin"))
            uses = partial(pmservice.authenticate, client.service.database, hash)
            client.clock.forward(seconds=61)
            with monkeypatch.context() as without:
                pmservice.background.cache_clear()
                without.setattr(threading.Thread, "start", start_no_thread)
                told = client.refused("POST", "/tokens", body, status=503)
                assert "thread" in told["error"]
                assert uses(patience=0).account == "admin"
            assert uses(patience=1).account == "admin"
            [(used,)] = client.sql("SELECT used FROM token")
            assert pmservice.moment_of(used) == client.clock()
            assert client.call("POST", "/tokens", body).status_int == 201

    @each("sent", [
        b"BAD\r\n\r\n",
        b"GET /user HTTP/1.1\r\n\r\n",
        b"GET /openapi.json HTTP/1.1\r\n\r\n",
        b"POST /products HTTP/1.1\r\nToken: t\r\nContent-Length: 13\r\n\r\n{",
    ])  # fmt: skip
    def test_client_that_resets_its_connection_ends_nothing(self, shared_url, sent):
        for _ in range(20):
            with client_of(shared_url) as client:
                linger = struct.pack("ii", 1, 0)
                client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                client.sock.sendall(sent * 9)
        assert ask_once(shared_url, "POST", "/products", {"name": "P"})[0] == 201

    def test_threads_are_started_when_calls_wait_and_at_most_eight(self, monkeypatch):
        begun, go = hold_up(monkeypatch, pmservice, "openapi_text")
        others = threads_of_servers()  # of servers that have just ended, or that tests share

        def started() -> int:
            return len(threads_of_servers() - others) - 2  # one is for logins, one for pages

        with pmservice.running(control=False) as served, ThreadPoolExecutor(9) as pool:
            counts = [started()]
            late = []
            for _ in range(8):
                late.append(pool.submit(ask_once, served.url, "GET", "/openapi.json"))
                assert begun.acquire(timeout=30)
                counts.append(started())
            with client_of(served.url) as ninth:
                ask(ninth, "GET", "/user")  # it is accepted now
                ninth.request("GET", "/openapi.json")
                assert ask_once(served.url, "GET", "/user")[0] == 401  # the ninth is queued by now
                counts.append(started())
                go.set()
                assert {answer.result(30)[0] for answer in late} == {200}
                assert ninth.getresponse().status == 200
            # The second thread may be started too early, if the first was not yet waiting for work.
            for calls, count in enumerate(counts[1:-1], 1):
                assert calls <= count <= calls + 1
            assert (counts[0], *counts[-3:]) == (1, 7, 8, 8)
            own = threads_of_servers() - others
        assert have_ended(own)

    def test_without_more_threads_those_that_there_are_go_on(self, monkeypatch):
        begun, go = hold_up(monkeypatch, pmservice, "openapi_text")
        refused = threading.Event()

        def start_no_thread(thread):
            refused.set()
            raise RuntimeError("can't start new thread")

        with (
            pmservice.running() as served,
            ThreadPoolExecutor(2) as pool,
            monkeypatch.context() as without,
        ):
            first = pool.submit(ask_once, served.url, "GET", "/openapi.json")
            assert begun.acquire(timeout=30)
            second = pool.submit(ask_once, served.url, "GET", "/user")  # starts the pool's thread
            assert second.result(30)[0] == 401
            without.setattr(threading.Thread, "start", start_no_thread)
            second = pool.submit(ask_once, served.url, "GET", "/openapi.json")
            assert refused.wait(30)
            go.set()
            assert [first.result(30)[0], second.result(30)[0]] == [200, 200]

    def test_threads_that_wait_for_readers_end_with_the_server(self, monkeypatch):
        monkeypatch.setattr(pmservice, "GRACE", 0.1)
        others = threads_of_servers()
        with contextlib.ExitStack() as clients:
            with pmservice.running(load=MUCH, token="t") as served:
                for _ in range(3):
                    clients.enter_context(asking_for_much(served.url))
                own = threads_of_servers() - others
            assert len(own) >= 3
            assert have_ended(own)

    @each("path", ["/tasks/1", "/openapi.json"])
    def test_connection_that_fails_ends_alone(self, shared_url, monkeypatch, path):
        plain = pmservice.HTTPChannel.service
        logged = threading.Event()

        def service(channel):
            if channel.requests[0].path == path:
                raise RuntimeError("waitress failed")
            plain(channel)

        monkeypatch.setattr(pmservice.HTTPChannel, "service", service)
        monkeypatch.setattr(pmservice.log, "exception", lambda _: logged.set())
        with pytest.raises(ConnectionError):
            ask_once(shared_url, "GET", path)
        assert ask_once(shared_url, "GET", "/user")[0] == 200
        assert logged.wait(60)


class TestServerAtRest:
    """A server that runs, if at all, in the thread of the test."""

    @pytest.fixture
    def server(self):
        with (
            pmservice.listen("127.0.0.1", 0) as listener,
            contextlib.closing(pmservice.create_app(token="t")) as service,
        ):
            yield pmservice.Server(service, listener)

    @each("method", ["serve_once", "handle_accept"])
    def test_server_that_cannot_go_on_ends(self, server, monkeypatch, method):
        monkeypatch.setattr(server, method, pytest.fail)  # not the class: other servers run
        with client_of(server.url), pytest.raises(pytest.fail.Exception):
            server.run()
        server.stop()  # must not touch its descriptors, which may be in other hands by now

    def test_clients_that_have_connected_are_answered_by_a_server_that_stops(self, server):
        with contextlib.ExitStack() as sockets:
            waiting = [sockets.enter_context(client_of(server.url)) for _ in range(5)]
            for client in waiting:
                client.request("GET", "/products", headers={"Token": "t"})
            server.stop()
            server.quiet_time = pmservice.QUIET
            server.run()
            for client in waiting:
                answer = client.getresponse()
                assert answer.status == 200
                assert json.loads(answer.read())["total"] == 0


@SIGNALS
class TestStopping:
    """Signals to a serving process."""

    @each("number", [signal.SIGTERM, signal.SIGINT])
    def test_signal_ends_it_with_0_after_what_runs(self, tmp_path, number):
        with Live(tmp_path, "--token", "t", "--control") as live, ThreadPoolExecutor(1) as threads:
            fault = {"match": "POST /products", "delay": 0.3, "times": 1}
            live.call("PUT", "/-/faults", [fault])
            request = threads.submit(live.call, "POST", "/products", {"name": "P"})
            while live.call("GET", "/-/faults")[1][0]["times"]:
                pass  # until the request is being answered
            live.process.send_signal(number)
            assert request.result()[0] == 201
            assert live.process.wait(30) == 0
        with contextlib.closing(Client(tmp_path / "pm.db")) as again:
            assert again.get("/products")["total"] == 1

    def test_request_that_is_half_received_is_answered(self, tmp_path):
        body = b'{"name": "P"}'
        with Live(tmp_path, "--token", "t") as live, client_of(live.url) as client:
            client.putrequest("POST", "/products")
            client.putheader("Token", "t")
            client.putheader("Content-Length", len(body))
            client.endheaders(body[:5])
            live.call("GET", "/user")  # it has read what was sent before
            live.process.send_signal(signal.SIGTERM)
            with pytest.raises(subprocess.TimeoutExpired):
                live.process.wait(0.3)
            client.send(body[5:])
            assert client.getresponse().status == 201
            assert live.process.wait(30) == 0

    @pytest.fixture
    def unread(self, tmp_path):
        """Yield a server, and a client to whom it sends much."""
        (tmp_path / "f.json").write_text(json.dumps(MUCH))
        with (
            Live(tmp_path, "--token", "t", "--load", "f.json") as live,
            asking_for_much(live.url) as client,
        ):
            yield live.process, client, live.url

    def test_answer_that_is_on_its_way_is_sent_to_its_end(self, unread):
        process, connection, _ = unread
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)  # it waits for this client to read
        assert len(json.loads(connection.getresponse().read())["bugs"]) == 200
        connection.close()
        assert process.wait(30) == 0

    def test_second_signal_ends_it_at_once(self, unread):
        process, connection, url = unread
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(ConnectionError):
            while True:  # until the first signal is handled: connections are refused then
                with client_of(url):
                    pass
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == -signal.SIGTERM
        with pytest.raises((ConnectionError, http.client.IncompleteRead)):
            connection.getresponse().read()


def log_line(text):
    return logging.makeLogRecord({"msg": text})


class TestNonBlockingHandler:
    @posix("Windows cannot tell whether a pipe is full")
    def test_what_nobody_reads_is_dropped(self):
        reader, writer = os.pipe()
        with open(reader, "rb") as reading, open(writer, "w") as writing:
            handler = pmservice.NonBlockingHandler(writing)
            for size in (100, 100_000, 100):
                handler.emit(log_line("x" * size))
            writing.close()
            assert reading.read().startswith(b"x" * 100 + b"\n" + b"x" * 4096)

    def test_without_select_on_files_lines_are_written_plainly(self, monkeypatch, tmp_path):
        monkeypatch.delattr(select, "PIPE_BUF", raising=False)  # as on Windows
        monkeypatch.setattr(select, "select", pytest.fail)
        file = tmp_path / "log"
        with open(file, "w", encoding="utf-8") as writing:
            handler = pmservice.NonBlockingHandler(writing)
            handler.emit(log_line("Päper"))
        handler.emit(log_line("lost"))
        assert file.read_text("utf-8") == "Päper\n"


class TestTheSystem:
    """The differences between Linux, macOS and Windows."""

    def test_every_connection_syncs_each_commit_checks_links_and_keeps_the_log(self, filed):
        wanted = dict(synchronous=2, foreign_keys=1, journal_mode="wal", fullfsync=1)
        wanted["journal_size_limit"] = 4194304
        database = filed.service.database
        with contextlib.ExitStack() as stack:
            used = [stack.enter_context(database.reading()) for _ in range(3)]  # the pool has one
            used.append(stack.enter_context(database.writing()))
            for store in used:
                assert {name: store.row(f"PRAGMA {name}")[0] for name in wanted} == wanted
        assert len({id(store.connection) for store in used}) == 4

    @each(("path", "uri"), [
        (PureWindowsPath(r"C:\Users\An na\pm.db"), "file:///C:/Users/An%20na/pm.db"),
        (PureWindowsPath(r"\\server\my share\pm.db"), "file:////server/my%20share/pm.db"),
        (PurePosixPath("/home/an na/pm?.db"),      "file:///home/an%20na/pm%3F.db"),
        (PurePosixPath("//server/share/pm.db"),    "file:////server/share/pm.db"),
    ])  # fmt: skip
    def test_uri_of_a_file_is_one_that_sqlite_takes(self, path, uri):
        assert pmservice.file_uri(path) == uri

    @each("database", [":memory:", "pm.db"])
    def test_sqlite_that_is_too_old_is_refused(self, run, monkeypatch, database):
        monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
        monkeypatch.setattr(sqlite3, "sqlite_version", "3.36.0")
        code, _, told = run("--database", database, "--port", "0")
        assert code == 2
        assert told.startswith("pmservice: SQLite must be 3.37.0 or newer (got 3.36.0); ")
        assert told.count("\n") == 1
        assert os.listdir() == []

    def test_without_poll_and_limits_it_serves_as_many_as_select_takes(self, monkeypatch):
        monkeypatch.delattr(select, "poll", raising=False)
        monkeypatch.setitem(sys.modules, "resource", None)
        # with the clients that are accepted as it stops, and its own sockets
        assert pmservice.connection_limit() + pmservice.LAST_CLIENTS + 2 <= 512
        with pmservice.running(token="t") as served, contextlib.ExitStack() as stack:
            for _ in range(20):
                connection = stack.enter_context(contextlib.closing(connection_to(served.url)))
                assert ask(connection, "GET", "/products")[0] == 200


# --- 17 Demo --------------------------------------------------------------------------------------


WORKERS = ("marta", "diego", "tomas", "priya", "emma")


IN_CHINESE = "zh"


CHINESE = re.compile("[\u3000-\u9fff\uff00-\uffef]")


# fmt: off
STATES_IN_DEMO = {
    "executions": "wait doing suspended closed", "stories": "draft active changed closed", "bugs": "active resolved closed",
    "tasks": "wait doing done pause cancel closed", "plans": "wait doing closed", "testtasks": "doing done", "projects": "wait doing",
}
TITLED = ("products", "projects", "executions", "plans", "stories", "tasks", "testcases", "builds", "releases", "testtasks", "bugs")
SAID = ("name", "title", "desc", "spec", "steps", "realname", "team", "versions", "work", "stepResults")  # to people
MOMENTS = [  # a Saturday, early on a Monday, a leap day, the end and the beginning of a year, when clocks change
    "2026-11-21T10:00:00", "2026-11-23T00:00:05", "2028-02-29T23:59:59", "2026-12-31T17:30:00", "2027-01-01T08:00:00", "2026-11-01T01:30:00",
]
# fmt: on


@cache
def company_in(language: str) -> Any:
    """Return the demo of a language as a fixture."""
    database = pmservice.Database(":memory:", timezone.utc, lambda: NOW)
    database.language = language
    with contextlib.closing(database):
        pmservice.fill(database, dict(pmservice.DEFAULTS, demo=True))
        with database.reading() as store:
            return json.loads("".join(pmservice.dump(store)))


def titles_of(document: Any, array: str) -> list[str]:
    return [record.get("title") or record["name"] for record in document[array]]


class TestDemo:
    """The made-up company of the demo, around any day."""

    def test_it_keeps_every_rule(self, demo, client):
        assert problems(demo) == []
        dumped = demo.dump()
        client.load(**dumped)
        assert client.dump() == dumped

    def test_it_is_told_in_either_language_and_otherwise_the_same(self, demo):
        english, chinese = demo.dump(), company_in(IN_CHINESE)
        assert not CHINESE.search(json.dumps(english, ensure_ascii=False))
        for array in TITLED:
            titles = titles_of(chinese, array)
            assert all(CHINESE.search(title) for title in titles), array
            assert len({*titles, *titles_of(english, array)}) == 2 * len(titles)
        for array, records in english.items():
            for one, other in zip(records, chinese[array], strict=True):
                differing = {field for field in one if one[field] != other[field]}
                assert differing <= {*SAID}, array

    @each("moment", MOMENTS)
    def test_it_is_alive_and_the_same_at_any_moment(self, demo, moment):
        zone = pmservice.zone_of("America/New_York")
        now = datetime.fromisoformat(moment).replace(tzinfo=zone)
        database = pmservice.Database(":memory:", zone, lambda: now)
        pmservice.fill(database, dict(pmservice.DEFAULTS, demo=True))
        with contextlib.closing(database), database.reading() as store:
            assert list(pmservice.problems_of(store)) == []
            there, document = demo.dump(), json.loads("".join(pmservice.dump(store)))
            for array in TITLED:
                assert titles_of(document, array) == titles_of(there, array)
            *_, week = pmservice.Sheet(store, str).count_weeks().values()
            assert min(week["opened"], week["resolved"]) > 0
            assert store.value("SELECT max(date) FROM action") <= store.now
            doing = "SELECT count(*) FROM {} WHERE status = 'doing' AND {} :today"
            for table, rule, least in (
                ("project", "project AND end >", 4),
                ("task", "deadline <", 3),
                ("testtask", "end >", 2),
            ):
                found = store.number(doing.format(table, rule), {"today": store.today})
                assert found >= least, table

    def test_work_is_done_on_workdays_in_hours_and_never_in_the_future(self):
        for hours in range(0, 24 * 8, 3):
            now = NOW + timedelta(hours=hours)
            calendar = pmservice.Calendar(now)
            moments = [calendar.moment(age / 7) for age in range(900)]
            assert moments == sorted(moments, reverse=True)
            assert moments[0] <= now
            for moment in moments:
                early = moment.date() == now.date() and now - moment <= timedelta(hours=1)
                assert moment.weekday() < 5 or early
                assert early or 9 <= moment.hour + moment.minute / 60 <= 18

    def test_every_state_occurs(self, demo):
        dumped = demo.dump()
        for array, words in STATES_IN_DEMO.items():
            assert {one["status"] for one in dumped[array]} == {*words.split()}, array
        listed = demo.get("/stories?status=all&limit=1000")
        assert {one["stage"] for one in listed["stories"]} == {*STAGES}

    @each(("language", "expected"), [("en", "Expected: "), (IN_CHINESE, "期望：")])
    def test_its_bugs_say_what_was_done_expected_and_found(self, language, expected):
        bugs = company_in(language)["bugs"]
        assert len(bugs) == 60
        for bug in bugs:
            *done, wanted, found = bug["steps"].splitlines()
            assert done
            assert wanted.startswith(expected)
            assert len(found) > 5

    def test_its_bugs_differ(self, demo):
        bugs = demo.dump()["bugs"]
        assert {bug["resolution"] for bug in bugs} == {"", *pmservice.RESOLUTIONS}
        assert {bug["type"] for bug in bugs} == {*pmservice.BUG_TYPES} - {"install"}
        assert {bug["severity"] for bug in bugs} == {bug["pri"] for bug in bugs} == {1, 2, 3, 4}
        assert sum(bug["severity"] != bug["pri"] for bug in bugs) > 20
        assert sum(bug["case"] > 0 for bug in bugs) > 10
        assert [bug["assignedTo"] for bug in bugs].count(None) >= 2
        [copy] = [bug for bug in bugs if bug["resolution"] == "duplicate"]
        original = demo.get(f"/bugs/{copy['duplicateBug']}")
        assert (original["product"], original["status"]) == (copy["product"], "closed")
        comments = "SELECT count(*) FROM action WHERE objectType = 'bug' AND comment <> ''"
        talks = demo.sql(f"{comments} GROUP BY objectID HAVING count(*) > 1")
        assert len(talks) >= 10

    def test_people_have_work(self, demo):
        for account in (*WORKERS, "admin"):
            demo.token = demo.token_of(account)
            bugs = demo.get("/bugs?status=assigntome&limit=1000")
            assert "active" in {bug["status"] for bug in bugs["bugs"]}
            tasks = demo.get("/tasks?limit=1000")
            assert {"wait", "doing"} & {task["status"] for task in tasks["tasks"]}
            assert demo.get("/products?limit=1")["total"] == 4
            assert demo.get("/projects?limit=1")["total"] == 5

    def test_program_gets_it_with_an_argument(self):
        settings = dict(demo=True, password="pass", language=IN_CHINESE, clock=Clock())
        with contextlib.closing(pmservice.create_app(**settings)) as service:
            login = dict(account="marta", password="pass")
            assert pmservice.log_in(service.database, login)["token"]
            with service.database.reading() as store:
                assert store.get("product", 1)["name"] == "网上商城"

    @each(("flags", "variables"), [(["--demo"], {}), ([], {"DEMO": "yes"})])
    def test_command_serves_it_from_memory_and_people_can_log_in(self, tmp_path, flags, variables):
        with Live(tmp_path, *flags, **variables) as live:
            told = live.hear("token  ")
            (password,) = re.findall(r"password +(\S+)\n", told)
            (token,) = re.findall(r"token +(\S+)\n", told)
            status, _ = live.call("POST", "/-/reset", Token=token)
            assert status == 200
            for account in (*WORKERS, "admin"):
                login = {"account": account, "password": password}
                status, _ = live.call("POST", "/tokens", login)
                assert status == 201
        assert "serves :memory:" in told
        assert list(tmp_path.iterdir()) == []

    @each(("flags", "variables"), [(["-d", "x.db"], {}), ([], {"DATABASE": "x.db"})])
    def test_file_that_is_named_gets_it_once(self, tmp_path, flags, variables):
        for title in ("Search finds products despite a typo", "Changed"):
            with Live(tmp_path, "--demo", "--password", "pass", *flags, **variables) as live:
                _, login = live.call("POST", "/tokens", {"account": "emma", "password": "pass"})
                _, story = live.call("GET", "/stories/1", Token=login["token"])
                assert story["title"] == title
                live.call("PUT", "/stories/1", {"title": "Changed"}, Token=login["token"])
        assert "x.db holds records already: nothing was loaded into it" in live.told

    def test_other_commands_do_not_know_it(self, run, monkeypatch):
        monkeypatch.setenv("PMSERVICE_DEMO", "yes")
        assert run("user", "dev1")[0] == 0
        assert Path("pm.db").exists()

    def test_only_its_people_get_the_administrator_s_password(self, client):
        own = SECRET.replace(":", ":16384:8:1:", 1)
        for account, password, domain in (
            ("admin", SECRET, "kestrel.example"),
            ("marta", None, "kestrel.example"),
            ("tomas", own, "kestrel.example"),
            ("hana", None, "kestrel.example"),
            ("emma", None, "other.example"),
        ):
            user = dict(account=account, password=password, email=f"{account}@{domain}")
            client.load(users=[user])
        told = pmservice.share_password(client.service.database)
        assert told == "You can log in as marta (marta) with the password of admin."
        passwords = dict(client.sql("SELECT account, password FROM user"))
        assert passwords == dict(admin=SECRET, marta=SECRET, tomas=own, hana=None, emma=None)
        assert pmservice.share_password(client.service.database) == ""

    @each("language", ["en", IN_CHINESE])
    def test_every_row_of_its_script_is_played(self, language):
        document = company_in(language)
        rows = Counter(row.kind for row in pmservice.read_script(language))
        for kind in ("department", "program", "plan", "story", "task", "bug", "testtask"):
            assert len(document[pmservice.RESOURCES[kind].array]) == rows[kind]
        assert len(document["users"]) == rows["user"] + 1
        assert len(document["results"]) == rows["run"]
        assert {act[0] for act in pmservice.ACTS} == {*rows}


# --- 18 Application: in a test of one's own -------------------------------------------------------


# fmt: off
WRONG_SETTINGS = [
    (dict(token=5), "token must not be empty, nor begin or end with a space, nor contain control characters"), (dict(token="a\nb"), "token must not"),
    (dict(password=b"x"), "password must not be empty"), (dict(origin="nonsense"), "origin must be a scheme and a host"),
    (dict(allowed_host="http://a"), "allowed_host must be a name without a port"),
    (dict(clock="x"), "clock must be a function that returns the time with its zone"),
    (dict(clock=lambda: 1), "clock must be"), (dict(clock=datetime.now), "clock must be"), (dict(demo="maybe"), "demo must be yes or no (got 'maybe')"),
    (dict(control=2), "control must be yes or no (got 2)"), (dict(timezone=5), "time zone 5: not known here"),
    (dict(load=5), "load must be a file or a dict (got 5)"),
    (dict(now="today"), "now must be a moment, such as 2026"),
]
# fmt: on


class TestRunning:
    """Services that Python programs start, and their settings."""

    def test_running_serves_on_a_free_port_until_the_context_ends(self):
        threads = threading.active_count()
        with pmservice.running(load=WORLD) as one, pmservice.running() as two:
            for served, total in ((one, 2), (two, 0)):
                products = served.get("/products")
                assert products["total"] == total
            assert isinstance(one.app, pmservice.Service)
        assert threading.active_count() == threads
        with pytest.raises(ConnectionError, match=f"^GET {one.url}/products: "):
            one.get("/products")

    def test_services_of_one_process_stay_apart(self):
        with (
            pmservice.running(now="2026-01-05T09:00:00Z") as one,
            pmservice.running(load=WORLD) as two,
            pmservice.running(control=False) as bare,
        ):
            one.fail("GET /user", status=503)
            assert one.post("/products", {"name": "P"})["createdDate"] == "2026-01-05T09:00:00Z"
            assert [one.call("GET", "/user").status, two.call("GET", "/user").status] == [503, 200]
            assert one.call("GET", "/products", headers={"Token": two.token}).status == 401
            assert one.get("/products")["total"] == 1
            assert two.get("/products")["total"] == 2
            assert bare.get("/products")["total"] == 0
            assert [call["path"] for call in two.calls()] == ["/user", "/products"]
            assert two.get("/-/clock")["frozen"] is False
            with pytest.raises(pmservice.CallError, match="The controls are off"):
                bare.get("/-/clock")
            paths = [each.get("/openapi.json")["paths"] for each in (one, bare)]
            assert ["/-/clock" in known for known in paths] == [True, False]
            one.reset()
            assert [one.get("/products")["total"], two.get("/products")["total"]] == [0, 2]

    def test_running_that_cannot_start_leaves_nothing(self, tmp_path):
        threads = threading.active_count()
        with pytest.raises(pmservice.StartError), pmservice.running(tmp_path):
            pass
        assert threading.active_count() == threads

    @each(("settings", "sentence"), WRONG_SETTINGS)
    def test_wrong_value_of_a_setting_is_one_sentence(self, settings, sentence):
        with pytest.raises(pmservice.StartError, match=f"^{re.escape(sentence)}"):
            pmservice.create_app(**settings)

    def test_settings_may_be_left_unset(self):
        unset = dict.fromkeys(("token", "password", "load", "control", "now"))
        pmservice.create_app(**unset).close()

    def test_service_imports_no_pytest(self):
        script = """if True:
            import sys, pmservice
            with pmservice.running() as served:
                served.get("/products")
            assert not {"pytest", "_pytest"} & {*sys.modules}
        """
        subprocess.run([sys.executable, "-c", script], cwd=HERE, check=True, timeout=30)

    def test_module_has_no_other_names_that_come_late(self):
        with pytest.raises(AttributeError, match="no attribute 'pytest_plugins'"):
            _ = pmservice.pytest_plugins


# fmt: off
REFUSED_HELPERS = [
    (lambda one: one.wait_for_calls(1, seconds=0), "GET /-/journal* was answered 409: expected 1 call, 0 came."),
    (lambda one: one.wait_for_calls(3, 0.01, method="POST", path="/x"), "GET /-/journal* 409: expected 3 calls of POST /x, 0 came."),
    (lambda one: one.get("/prodcts"), "GET /prodcts was answered 404: There is nothing at /prodcts; did you mean /products[?]"),
    (lambda one: one.post("/products", {}), "POST /products was answered 400: name is required and must be 1 to 255 characters, not blank."),
    (lambda one: pmservice.Client(one.url, "x").get("/user"), "GET /user was answered 401: Unauthorized. This token is unknown, or it has expired. *"),
    (lambda one: one.fail("*", statu=503), "POST /-/faults was answered 400: statu is not known here; did you mean status[?]"),
    (lambda one: one.advance(5), "PUT /-/clock was answered 400: advance must come alone, to a frozen clock: freeze it first, or use offset."),
    (lambda one: one.calls(pth="/products"), "GET /-/journal* was answered 400: pth is not known here; did you mean path[?]"),
]
STRANGE_ANSWERS = [  # status, body, what the error says
    (502, "<html>" + "x" * 400, "<html>" + "x" * 294 + "…"), (502, [1], "[1]"), (502, {"error": None}, '{"error":null}'),
    (502, {"message": "x"}, '{"message":"x"}'), (502, "", ""),
]
# fmt: on


class TestHelpers:
    """The methods of a client for tests."""

    @pytest.fixture
    def served(self):
        """Yield a client of a service that holds WORLD."""
        with pmservice.running(token="t", load=WORLD) as served:
            yield served

    def test_token_goes_over_tls_if_the_url_says_so(self):
        with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as threads:

            def receive():
                connection, _ = listener.accept()
                with connection:
                    return connection.recv(1000)

            received = threads.submit(receive)
            url = f"https://127.0.0.1:{listener.getsockname()[1]}"
            with pytest.raises(ConnectionError, match=f"GET {url}/user: "):
                pmservice.Client(url, "tok-en").get("/user")
        hello = received.result(30)
        assert b"tok-en" not in hello
        assert hello.startswith(b"\x16\x03")  # a record of TLS: a handshake

    def test_snapshot_restore_reset_and_load(self, served, tmp_path):
        start = lines(served.dump())
        served.post("/products", {"name": "Süß"})
        served.snapshot("a.b-1")
        changed = served.put("/products/3", {"name": "Other"})
        assert changed["name"] == "Other"
        assert served.delete("/products/3") == {"message": "success"}
        served.restore("a.b-1")
        restored = served.get("/products/3?x=ß")
        assert restored["name"] == "Süß"
        served.remove_snapshot("a.b-1")
        assert served.get("/-/snapshots") == {"snapshots": []}
        served.freeze(NOW)
        served.reset(only_records=True)
        assert lines(served.dump()) == start
        assert served.get("/-/clock")["frozen"]
        file = tmp_path / "one.json"
        file.write_text('{"products": [{"name": "C"}]}')
        assert served.load(file) == 1
        assert served.load({"products": [{"name": "A"}, {"name": "B"}]}) == 2
        served.reset()
        assert lines(served.dump()) == start
        assert not served.get("/-/clock")["frozen"]

    def test_freeze_advance_and_shift(self, served):
        east = timezone(timedelta(hours=8))
        for moment in (datetime(2026, 1, 6, 9, 0, 0, 5, east), "2026-01-06T01:00:00Z"):
            served.freeze(moment)
            clock = served.get("/-/clock")
            assert clock["now"] == "2026-01-06T01:00:00Z"
        served.advance(90)
        served.advance(-30.0)
        clock = served.get("/-/clock")
        assert clock["now"] == "2026-01-06T01:01:00Z"
        served.shift(-3600.5)
        clock = served.get("/-/clock")
        assert clock["offset"] == -3600.5

    def test_faults_and_calls(self, served):
        served.fail("GET /programs", status=503, headers={"Retry-After": 1}, times=1)
        sent = {"X-Mine": "1", "Content-Type": None}
        answer = served.call("GET", "/programs", headers=sent)
        assert answer.status == 503
        assert answer.headers["retry-after"] == "1"
        assert answer.json == {"error": "This is the fault 503 that was asked for."}
        served.fail("GET /programs", skip=1, delay=0.5)
        shared = {"match": "GET /programs", "hits": 0}
        assert served.faults() == [
            {**shared, "status": 503, "headers": {"Retry-After": "1"}, "times": 0, "hits": 1},
            {**shared, "skip": 1, "delay": 0.5},
        ]
        served.clear_faults()
        assert served.faults() == []
        for token, status in (("t", 200), (None, 401)):
            answer = served.call("GET", "/products", headers={"Token": token})
            assert answer.status == status
        (call,) = served.wait_for_calls(1, path="/programs")
        assert call["status"] == 503
        assert call["headers"]["X-Mine"] == "1"
        assert "Content-Type" not in call["headers"]
        calls = served.calls(method="get", path="/prod*")
        assert [call["status"] for call in calls] == [200, 401]
        served.clear_calls()
        assert served.calls() == []

    def test_module_lists_its_public_names_alone(self):
        assert dir(pmservice) == sorted(pmservice.__all__)
        for name in dir(pmservice):
            assert getattr(pmservice, name).__doc__

    def test_client_of_a_url_is_enough(self, served):
        client = pmservice.Client(served.url, "t")
        first, *_ = client.get("/configurations")
        assert first["key"] == "language"
        assert repr(client) == f"<pmservice at {served.url}>"

    def test_helper_that_is_refused_says_why(self):
        with pmservice.running() as served:
            for call, message in REFUSED_HELPERS:
                with pytest.raises(pmservice.CallError) as refused:
                    call(served)
                assert fnmatch.fnmatchcase(str(refused.value), message), message
                assert refused.value.answer.status >= 400

    def test_answer_of_something_else_is_shown(self):
        with pmservice.running() as served:
            for status, body, words in STRANGE_ANSWERS:
                served.fail("GET /products", status=status, body=body, times=1)
                with pytest.raises(pmservice.CallError) as refused:
                    served.get("/products")
                assert str(refused.value) == f"GET /products was answered {status}: {words}"


# fmt: off
WRONG_MARKS = [
    ('load="sed.json"', "pmservice", "pmservice cannot start: */sed.json: No such file or directory"),
    ('load="bad.json"', "pmservice_app", "pmservice cannot start: */bad.json: products[[]0[]].name is required *"),
    ('lod="seed.json"', "pmservice", "pmservice cannot start: lod is not a setting; did you mean load[?]"),
    ('"seed.json"', "pmservice", "pmservice cannot start: name the settings: *"),
    ('token="t"', "pmservice_shared", "the mark pmservice is for the fixtures pmservice and pmservice_app; pmservice_shared has .load() and .freeze()"),
    ('token="t"', "", "the mark pmservice is for the fixtures pmservice and pmservice_app; this test uses neither"),
    ('token="t"', "monkeypatch", "the mark pmservice is for the fixtures pmservice and pmservice_app; this test uses neither"),
]
BY_URLLIB = r"""
    import json, pytest, urllib.request, webtest

    def call(served, path, *body):
        headers = {"Token": served.token}
        request = urllib.request.Request(served.url + path, *body, headers=headers)
        return json.load(urllib.request.urlopen(request))

    @pytest.mark.parametrize("run", [1, 2])
    def test_a_product_is_listed(pmservice, run):
        assert call(pmservice, "/products", b'{"name": "Shop"}')["id"] == 1

    @pytest.mark.pmservice(load="seed.json", now="2026-01-05T09:00:00Z")
    class TestSeeded:
        def test_service(self, pmservice):
            assert call(pmservice, "/products")["products"][0]["name"] == "Seeded"
            made = call(pmservice, "/products", b'{"name": "Shop"}')
            assert made["createdDate"] == "2026-01-05T09:00:00Z"

        @pytest.mark.pmservice(now="2026-01-06 18:00:00", token="mine", timezone="Asia/Shanghai")
        def test_app(self, pmservice_app):
            app = webtest.TestApp(pmservice_app)
            answer = app.post_json("/products", {"name": "Shop"}, headers={"Token": "mine"})
            made = answer.json
            assert (made["id"], made["createdDate"]) == (2, "2026-01-06T10:00:00Z")
"""
FAILING = r"""
    import pmservice as module, webtest

    def test_before(pmservice_shared):
        pmservice_shared.get("/programs")

    def test_refused(pmservice, pmservice_shared):
        pmservice_shared.get("/api.php/v1/user/?x=1")
        pmservice.fail("GET /products", status=500, times=1)
        pmservice.call("GET", "/products")
        pmservice.call("GET", "/user", headers={"Token": None})
        with module.running() as own:
            own.post("/products", {"name": "P", "progam": 1})
        pmservice.call("POST", "/products", b"{\x1b[31m\n'name': 'Shop', 'token': 'hush'}")
        pmservice.reset()
        pmservice.fail("PUT /products/*", status=503)
        assert pmservice.call("POST", "/products", {"name": ""}).status == 201

    def test_many(pmservice):
        for _ in range(25):
            pmservice.call("GET", "/products")
        pmservice.post("/programs", {})

    def test_without_a_call(pmservice):
        assert not pmservice

    def test_application(pmservice_app):
        app = webtest.TestApp(pmservice_app)
        app.get("/programs", headers={"Token": pmservice_app.token})
        raise ValueError
"""
DEEP = """
    def test_meets_it(pmservice):
        pmservice.fail("GET /products", body="[" * 8000)
        assert pmservice.call("GET", "/products").status == 503

    def test_goes_on(pmservice):
        pass
"""
UNSHOWN = """
    import pmservice as module

    def test_is_not_shown(pmservice, monkeypatch):
        pmservice.get("/products")
        monkeypatch.setattr(module, "printable", None)
        raise ValueError
"""
NOTED_BY_JUNIT = """
    import pytest

    def test_passed(pmservice):
        pmservice.get("/programs")

    def test_in_its_body(pmservice):
        pmservice.get("/programs?of=test_in_its_body")
        assert pmservice.get("/users")["total"] == 9

    @pytest.fixture
    def failing(pmservice):
        pmservice.get("/programs?of=test_in_its_setup")
        raise ValueError

    def test_in_its_setup(failing):
        pass

    @pytest.fixture
    def left(pmservice):
        yield
        pmservice.get("/programs?of=test_in_its_teardown")
        raise ValueError

    def test_in_its_teardown(left):
        pass
"""
REPORTED = [  # heading and lines of each section, with AT for the time and MS for the duration
    ("1 call",   "AT GET /api.php/v1/user/?x=1 200 MS admin\n    answer  {\"profile\":*…\n    ignored ?x"),
    ("4 calls",  "AT GET /products 500 MS -\n    answer  {\"error\":\"This is the fault 500 that was asked for.\"}\n    fault   GET /products\n"
                 "AT GET /user 401 MS -\n    error   Unauthorized\n    hint    Send the header `Token: <token>`. POST /tokens *\n"
                 "AT POST /products 400 MS admin\n    body    {\\x1b[[]31m\\n'name': 'Shop', 'token***\n"
                 "    error   The body must be JSON, but line 1, column 2 is wrong.\n"
                 "AT POST /products 400 MS admin\n    body    {\"name\":\"\"}\n    error   name must be 1 to 255 characters, not blank (got \"\").\n"
                 "No call met the fault PUT /products/[*]"),
    ("1 call",   "AT POST /products 201 MS admin\n    body    {\"name\":\"P\",\"progam\":1}\n"
                 "    answer  {\"id\":1,\"program\":0,*…\n    ignored progam"),
    ("26 calls", "… 6 earlier calls\n" + "AT GET /products 200 MS admin\n    answer  {\"total\":0,\"products\":[[]]}\n" * 19
                 + "AT POST /programs 400 MS admin\n    error   name is required *"),
    ("1 call",   "AT GET /programs 200 MS admin\n    answer  {*}"),
]
SHARING = """
    import pytest

    urls, tokens = set(), []

    @pytest.fixture(scope="session")
    def whole_session(pmservice_shared):
        return pmservice_shared

    def test_fails(pmservice_shared):
        login = {"account": "dev1", "password": "secret"}
        urls.add(pmservice_shared.url)
        pmservice_shared.put("/users/dev1", {"password": "secret"})
        tokens.append(pmservice_shared.post("/tokens", login)["token"])
        pmservice_shared.post("/products", {"name": "Shop"})
        pmservice_shared.freeze("2020-01-01T00:00:00Z")
        pmservice_shared.fail("*", status=503)
        pmservice_shared.get("/products")

    @pytest.mark.parametrize("run", [1, 2])
    def test_sees_none_of_it(whole_session, run):
        urls.add(whole_session.url)
        assert whole_session.calls() == []
        assert whole_session.get("/products")["total"] == 1
        assert whole_session.call("GET", "/user", headers={"Token": tokens[0]}).status == 401
        assert not whole_session.get("/-/clock")["frozen"]
        made = whole_session.post("/products", {"name": "Shop"})
        assert made["id"] == 2 and made["createdDate"] > "2026"
        assert len(urls) == 1

    def test_fresh_one_has_the_same_settings(pmservice, pmservice_app):
        assert pmservice.get("/products")["total"] == 1
        assert (pmservice.token, pmservice_app.token) == ("t", "t")
        assert pmservice.url not in urls
"""
SHARING_UNNAMED = """
    import pytest

    @pytest.fixture(params=["pmservice_shared"])
    def service(request):
        return request.getfixturevalue(request.param)

    @pytest.fixture(scope="module", autouse=True)
    def clock(request):
        request.getfixturevalue("pmservice_shared").freeze("2020-01-01T00:00:00Z")

    @pytest.mark.parametrize("run", [1, 2])
    def test(service, run):
        assert service.get("/products")["total"] == 1
        assert service.get("/-/clock")["frozen"] == (run == 1)
        service.post("/products", {"name": "Shop"})

    def test_other():
        pass
"""
LOADING = """if True:
    import pytest

    def loaded(served):
        return served.get("/products")["products"][0]["name"]

    def test_settings(pmservice, request):
        assert loaded(pmservice) == request.config.rootpath.name

    @pytest.mark.pmservice(now="2026-01-05T09:00:00Z")
    def test_other_mark(pmservice, request):
        assert loaded(pmservice) == request.config.rootpath.name

    @pytest.mark.pmservice(load="seed.json")
    class TestMarked:
        def test_mark(self, pmservice):
            assert loaded(pmservice) == "inner"

        @pytest.mark.pmservice(now="2026-01-05T09:00:00Z")
        def test_mark_of_the_class(self, pmservice):
            assert loaded(pmservice) == "inner"
"""
MARKED_MODULE = """
    import pytest

    pytestmark = pytest.mark.pmservice(now="2026-01-05T09:00:00Z")

    def test_without():
        pass

    def test_both(pmservice, pmservice_shared):
        frozen = {"now": "2026-01-05T09:00:00Z", "frozen": True, "offset": 0}
        assert pmservice.get("/-/clock") == frozen
        pmservice.put("/-/clock", {})
        assert pmservice.get("/-/clock")["now"] > "2026-06"
        pmservice.reset()
        assert pmservice.get("/-/clock") == frozen
        assert pmservice_shared.get("/-/clock")["now"] > "2026-06"

    def test_late(request):
        assert request.getfixturevalue("pmservice").get("/-/clock")["frozen"]

    class TestMore:
        pytestmark = pytest.mark.pmservice(token="mine")

        def test_without(self, tmp_path):
            pass

        @pytest.mark.pmservice(now="2026-01-06T09:00:00Z")
        def test_late(self, request):
            served = request.getfixturevalue("pmservice")
            assert served.get("/-/clock")["now"] == "2026-01-06T09:00:00Z"
            assert served.token == "mine"

        @pytest.fixture
        def seeded(self, pmservice):
            return pmservice

        @pytest.mark.pmservice(token="own")
        def test_other_fixture(self, seeded):
            assert seeded.token == "own"
"""
# fmt: on


class TestPlugin:
    """The fixtures and the mark that this package gives to pytest."""

    def test_five_lines_use_the_fixtures_and_the_mark(self, pytester):
        pytester.makefile(".json", seed='{"products": [{"name": "Seeded", "acl": "open"}]}')
        pytester.makepyfile(BY_URLLIB)
        options = ("--strict-markers", "-W", "ignore::DeprecationWarning")
        pytester.runpytest_inprocess(*options).assert_outcomes(passed=4)
        outcome = pytester.runpytest_inprocess("--markers")
        outcome.stdout.fnmatch_lines(["@pytest.mark.pmservice(load=*"])
        outcome = pytester.runpytest_inprocess("--fixtures")
        for name in ("pmservice", "pmservice_shared", "pmservice_app", "pmservice_settings"):
            shown = [rf"{name}( \[session scope\])? -- ", "    (Serve|Create|Return) "]
            outcome.stdout.re_match_lines(shown)

    def test_example_of_the_readme_passes(self, pytester):
        pytester.makepyfile(code_of("Test", "python")[0])
        pytester.runpytest_inprocess("-W", "error").assert_outcomes(passed=1)

    def test_report_of_a_failed_test_shows_the_calls_that_were_answered(self, pytester):
        pytester.makepyfile(FAILING)
        outcome = pytester.runpytest_inprocess("-W", "ignore::DeprecationWarning")
        outcome.assert_outcomes(passed=1, failed=4)
        text = re.sub(r"\d\d:\d\d:\d\d\.\d{3} ", "AT ", outcome.stdout.str())
        text = re.sub(r"\d+\.\d ms", "MS", text)
        head = r"^-+ pmservice(?: at http://127.0.0.1:\d+)?: (\d+ calls?) -+\n"
        sections = re.findall(rf"{head}(.*?)\n(?=[-_=]{{5}})", text, re.MULTILINE | re.DOTALL)
        for (heading, shown), (wanted, pattern) in zip(sections, REPORTED, strict=True):
            assert heading == wanted
            if shown != pattern:  # a pattern does not match itself if there are brackets in it
                assert fnmatch.fnmatchcase(shown, pattern)
        refused = "E *CallError: POST /programs was answered 400: name is required and *"
        outcome.stdout.fnmatch_lines(["E *assert 400 == 201", 'E *<400 {"error":"name must *'])
        outcome.stdout.fnmatch_lines([refused])
        assert "def succeed" not in text

    def test_report_shows_an_answer_that_nests_deeply_as_text(self, pytester):
        pytester.makepyfile(DEEP)
        outcome = pytester.runpytest_inprocess("-W", "ignore::DeprecationWarning")
        outcome.assert_outcomes(failed=1, passed=1)
        assert outcome.ret == 1
        outcome.stdout.fnmatch_lines(["    answer  [[][[][[]*"])

    def test_call_that_cannot_be_shown_does_not_end_the_run(self, pytester):
        pytester.makepyfile(UNSHOWN)
        outcome = pytester.runpytest_inprocess("-W", "ignore::DeprecationWarning")
        outcome.assert_outcomes(failed=1)
        assert outcome.ret == 1
        outcome.stdout.fnmatch_lines(["GET /products cannot be shown: TypeError"])

    @each("workers", [(), ("-n1",)])
    def test_file_of_junit_has_the_calls_of_a_failed_test(self, pytester, workers):
        pytester.makepyfile(NOTED_BY_JUNIT)
        outcome = pytester.runpytest_subprocess("--junitxml=junit.xml", *workers)
        outcome.assert_outcomes(passed=2, failed=1, errors=2)
        file = ElementTree.parse(pytester.path / "junit.xml")
        shown = {}
        for test in file.iter("testcase"):
            for noted in test.iter("property"):
                shown[test.get("name")] = noted.get("value").split("\n")
                assert noted.get("name") == "pmservice"
        for name, (heading, first, *_) in shown.items():
            assert re.match(r"pmservice at http://127.0.0.1:\d+: [12] calls?", heading)
            assert f"GET /programs?of={name}" in first
        assert {*shown} == {"test_in_its_body", "test_in_its_setup", "test_in_its_teardown"}

    def test_shared_service_shows_nothing_of_an_earlier_test(self, pytester):
        pytester.makeconftest("""
            import pytest

            @pytest.fixture(scope="session")
            def pmservice_settings():
                load = {"products": [{"name": "Seeded"}], "users": [{"account": "dev1"}]}
                return {"load": load, "token": "t"}
        """)
        pytester.makepyfile(test_named=SHARING, test_unnamed=SHARING_UNNAMED)
        pytester.runpytest_inprocess("-W", "error").assert_outcomes(passed=6, failed=1)

    def test_file_to_load_is_beside_the_test_whose_mark_names_it(self, pytester):
        inner = pytester.mkdir("inner")
        for folder in (pytester.path, inner):
            seed = {"products": [{"name": folder.name}]}
            (folder / "seed.json").write_text(json.dumps(seed))
        pytester.makeconftest("""
            import pytest

            @pytest.fixture(scope="session")
            def pmservice_settings():
                return {"load": "seed.json"}
        """)
        (inner / "test_inner.py").write_text(LOADING)
        pytester.runpytest_inprocess("-W", "error").assert_outcomes(passed=4)

    def test_mark_of_a_module_is_for_those_tests_that_use_the_fixture(self, pytester):
        pytester.makepyfile(MARKED_MODULE)
        pytester.runpytest_inprocess("-W", "error").assert_outcomes(passed=6)

    def test_wrong_mark_is_one_sentence(self, pytester):
        pytester.makefile(".json", bad='{"products": [{}]}')
        source = "import pytest\n"
        for n, (mark, fixture, _) in enumerate(WRONG_MARKS):
            source += f"@pytest.mark.pmservice({mark})\ndef test_{n}({fixture}): pass\n"
        pytester.makepyfile(source)
        outcome = pytester.runpytest_inprocess()
        outcome.assert_outcomes(errors=len(WRONG_MARKS))
        sentences = [sentence for *_, sentence in WRONG_MARKS]
        outcome.stdout.fnmatch_lines(sentences)
        assert "Traceback" not in outcome.stdout.str()
        assert "During handling" not in outcome.stdout.str()


# --- 19 Pull: the records of a running server -----------------------------------------------------


class TestUsersOfAFixture:
    """Users of a fixture keep their ids, whatever ids those of the database have."""

    # fmt: off
    IDS_KEPT = [  # the ids of accounts, null for one that the fixture does not say
        ('{"zoe": 1}',                          '{"zoe": 1, "admin": 2}'),
        ('{"zoe": 1, "yan": 2}',                '{"zoe": 1, "yan": 2, "admin": 3}'),
        ('{"zoe": 1, "admin": 7}',              '{"zoe": 1, "admin": 7}'),
        ('{"admin": 7, "zoe": 1}',              '{"zoe": 1, "admin": 7}'),
        ('{"admin": 2, "zoe": 1, "new": null}', '{"zoe": 1, "admin": 2, "new": 3}'),
        ('{"admin": 9}',                        '{"admin": 9, "zoe": 10}'),
        ('{"zoe": 5}',                          '{"admin": 1, "zoe": 5}'),
    ]
    # fmt: on

    @each(("users", "kept"), IDS_KEPT)
    def test_ids_are_kept_and_a_dump_loads_as_it_is(self, client, users, kept):
        records = []
        for account, id in json.loads(users).items():
            records.append({"account": account})
            if id is not None:
                records[-1]["id"] = id
        named = dict(id=1, name="P", createdBy="zoe", PO="admin", whitelist=["zoe", "admin"])
        client.load(users=records, products=[dict(named, acl="private")])
        dumped = client.dump()
        there = {one["account"]: one["id"] for one in dumped["users"]}
        assert there == json.loads(kept)
        client.begin_with(records_of())
        client.load(**dumped)
        assert lines(client.dump()) == lines(dumped)

    def test_records_name_the_same_persons_afterwards(self, client):
        token = client.token_of("admin")
        client.load(
            users=[dict(id=1, account="zoe", realname="Zo")],
            products=[dict(id=1, name="P", createdBy="zoe", PO="admin")],
        )
        product = client.get("/products/1")
        holds(product, createdBy="zoe", PO="admin")
        assert product["createdBy"]["realname"] == "Zo"
        me = client.call("GET", "/user", Token=token).json
        assert me["profile"]["id"] == 2

    def test_administrator_keeps_the_password(self, run, tmp_path):
        run("user", "admin", "--password", "mine")
        users = [dict(id=1, account="zoe", password=SECRET)]
        Path("f.json").write_text(json.dumps({"users": users}))
        assert run("load", "f.json")[0] == 0
        with contextlib.closing(Client(tmp_path / "pm.db")) as client:
            assert client.login("admin", "mine")
            assert client.login("zoe")

    # fmt: off
    REFUSED_USERS = [
        ('[{"id": 1, "account": "zoe"}, {"account": ""}]',               r"users\[1\]\.account "),
        ('[{"id": 2, "account": "zoe"}, {"id": 2, "account": "yan"}]',   r"users\[1\]\.id is taken"),
        ('[{"account": "zoe"}, {"id": 2, "account": "yan"}]',            r"users\[1\]\.id is taken"),
        ('[{"account": "admin", "dept": 9}]',                            r"users\[0\]\.dept must name an existing department \(got 9\)"),
    ]
    # fmt: on

    @each(("users", "told"), REFUSED_USERS)
    def test_fixture_that_is_refused_leaves_the_users_as_they_were(self, client, users, told):
        before = client.dump()
        with pytest.raises(pmservice.StartError, match=told):
            client.load(users=json.loads(users))
        assert client.dump() == before

    def test_person_may_be_named_by_the_id_of_a_user(self, world):
        world.load(products=[dict(id=9, name="P", createdBy=1, PO=4)])
        holds(world.get("/products/9"), createdBy="admin", PO="dev1")


@pytest.fixture
def pull(run, monkeypatch):
    """Return a function that pulls from a URL with the given secrets, which must not be shown."""
    monkeypatch.setattr(sys, "stdin", stdin_of(b""))  # no terminal

    def pull(url: str, *arguments: str, **secrets: str) -> tuple[int, str, str]:
        for name, secret in secrets.items():
            monkeypatch.setenv(f"PMSERVICE_PULL_{name}", secret)
        code, out, told = run("pull", url, *arguments)
        assert not [secret for secret in secrets.values() if secret in out + told]
        return code, out, told

    return pull


@pytest.fixture
def kept(run):
    """Return a function that loads what a pull wrote, checks it, and returns it."""

    def kept(text: str) -> dict[str, list[Any]]:
        Path("copy.json").write_text(text)
        assert run("load", "copy.json", "--database", "copy.db")[0] == 0
        assert run("check", "--database", "copy.db")[0] == 0
        assert run("dump", "--database", "copy.db")[1] == text
        return json.loads(text)

    return kept


class OtherHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.server.asked.append(f"{self.command} {self.path}")
        answer = self.server.answer(self)
        if not isinstance(answer, bytes):
            status, headers, body = answer
            told = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            head = f"HTTP/1.1 {status} Said\r\n{told}Content-Length: {len(body)}\r\n\r\n"
            answer = head.encode() + body
        self.close_connection = not answer.startswith(b"HTTP/") or answer.endswith(b"cut")
        self.wfile.write(answer)

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def other_server(answer: Any) -> Iterator[Any]:
    """Serve what a function answers to a request: status, headers and body, or plain bytes."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), OtherHandler) as server:
        server.answer, server.asked = answer, []
        server.handle_error = lambda *_: None  # the client may be gone
        server.url = f"http://127.0.0.1:{server.server_port}"
        with ThreadPoolExecutor(1) as thread:
            thread.submit(server.serve_forever, 0.002)
            yield server
            server.shutdown()


def showing(**answers: Any) -> Any:
    """Return a server's answers by path, with "_" for "/"; others are empty."""

    def answer(request: Any) -> Any:
        path = request.path.partition("?")[0].removeprefix("/api.php/v1/")
        shown = answers.get(path.replace("/", "_"), {"token": "given-token"})
        if isinstance(shown, (bytes, tuple)):
            return shown
        return 200, {}, json.dumps(shown).encode()

    return other_server(answer)


def recorded_server(version: str) -> Any:
    """Serve what a real server answered to two accounts."""
    lines = {}
    with gzip.open(HERE / ".ci" / "pull" / f"{version}.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in map(json.loads, file):
            lines[line["account"], ordered(line["path"]), line.get("cookie")] = line

    def answer(request: Any) -> Any:
        account = request.headers["Token"].removeprefix("token-of-")
        path = ordered(request.path.removeprefix("/api.php/v1"))
        line = lines.get((account, path, request.headers["Cookie"]))
        line = line or lines[account, path, None]
        body = line["answer"]
        text = body if isinstance(body, str) else json.dumps(body)
        return line["status"], line["headers"], text.encode()

    return other_server(answer)


def ordered(path: str) -> tuple[str, ...]:
    """Return a path and its parameters in order."""
    path, _, query = path.partition("?")
    return path, *sorted(query.split("&"))


class TestPull:
    """The fixture that `pmservice pull` writes, and the sentences on what it could not read."""

    NOT_SHOWN = ("password", "products", "versions", "reviewers")  # products: of executions

    def test_all_of_this_service_comes_back(self, pull, kept):
        with pmservice.running(demo=True) as source:
            code, out, told = pull(f"{source.url}/", TOKEN=source.token)
            there = source.dump()
        copy = kept(out)
        assert code == 0
        assert told.splitlines() == [f"{array} {len(copy[array])}" for array in copy]
        for array, records in there.items():
            for one, other in zip(records, copy[array], strict=True):
                assert without(one, *self.NOT_SHOWN) == without(other, *self.NOT_SHOWN)
        assert [one["products"] for one in there["projects"]] == [
            one["products"] for one in copy["projects"]
        ]

    # fmt: off
    RECORDED = [
        ("18.10", "admin", "3 9 3 11 9 10 8 22 5 5 20 23 11 3 19 6"), ("18.10", "gus", "3 9 2 8 6 7 6 20 3 4 18 20 9 2 17 6"),
        ("16.5",  "admin", "3 9 4 10 9 9 7 22 6 5 19 23 11 3 18 6"),  ("16.5",  "gus", "3 9 4 7 6 6 5 20 4 4 17 20 9 2 16 6"),
    ]  # the records by array
    # fmt: on

    @each(("version", "account", "counts"), RECORDED)
    def test_real_server_gives_all_that_its_lists_show(self, pull, kept, version, account, counts):
        with recorded_server(version) as server:
            code, out, told = pull(server.url, TOKEN=f"token-of-{account}")
        copy = kept(out)
        assert code == 0
        assert " ".join(str(len(records)) for records in copy.values()) == counts
        left_out = re.findall(r"(.*) left out: (\d+)\n", told)
        expected = {"executions.parent", "projects.model", "stories.plans"}
        expected |= {f"{array}.type" for array in ("bugs", "executions", "tasks", "testcases")}
        if version == "16.5":
            expected.add("builds.execution")
        assert left_out == [(field, "1") for field in sorted(expected)]
        kinds = json.loads((HERE / ".ci" / "pull" / f"{version}.json").read_text())
        for array, records in copy.items():
            known = {*kinds[array]["undeleted"]}
            assert {*ids(records)} <= known
            if account == "admin":  # one task belongs to a project: only its id leads to it
                assert known - {*ids(records)} <= ({23} if array == "tasks" else set())

    # fmt: off
    DAN = {"id": 2, "account": "dev1", "avatar": "", "realname": "Dan"}
    HOMES = {
        "configurations_version": {"value": "18.10"}, "configurations_timezone": {"value": "Asia/Shanghai"},
        "products": {"products": [dict(id=1, name="P")]}, "projects": {"projects": [dict(id=2, name="J")]},
        "products_1_projects": {"projects": [dict(id=2)]}, "projects_2_executions": {"executions": [dict(id=3, name="E")]},
        "products_1_plans": {"plans": [dict(id=1, title="A", children=[dict(id=2, title="B", parent=1)])]},
    }
    QUIRKS = [  # path, what a record in it shows, what the copy has, what is told
        ("products_1_bugs", {"status": "delay"},                                       {"status": "active"}, ""),
        ("products_1_bugs", {"status": "postponed", "resolution": "postponed"},        {"status": "resolved"}, ""),
        ("products_1_bugs", {"status": "postponed", "closedDate": "2026-01-02 03:00:00"}, {"status": "closed", "closedDate": "2026-01-01T19:00:00Z"}, ""),
        ("products_1_bugs", {"status": {"code": "closed", "name": "Closed"}},          {"status": "closed"}, ""),
        ("products_1_bugs", {"assignedTo": "closed", "openedBy": DAN},                 {"assignedTo": None, "openedBy": "dev1"}, ""),
        ("products_1_bugs", {"title": "&amp;lt;b&gt;", "steps": "&lt;p&gt;"},          {"title": "<b>", "steps": "&lt;p&gt;"}, ""),
        ("products_1_bugs", {"openedBuild": [{"id": "trunk"}, {"id": 1}], "plan": "2,1"}, {"openedBuild": "trunk,1", "plan": 2}, ""),
        ("products_1_bugs", {"deadline": "0000-00-00", "openedDate": "-0001-11-30"},   {"deadline": None, "openedDate": None}, ""),
        ("products_1_bugs", {"type": "own", "severity": -1},                           {"type": "codeerror"}, "bugs.severity 1 bugs.type 1"),
        ("products_1_bugs", {"project": 9, "execution": 3},                            {"execution": 3}, "bugs.project 1"),
        ("products_1_bugs", {"product": 9},                                            None, "bugs 1 bugs.product 1"),
        ("products_1_bugs", {"title": ""},                                             None, "bugs 1 bugs.title 1"),
        ("products_1_stories", {"plan": "1,2,9", "reviewer": ["dev1", "qa1"], "notReview": ["qa1"], "status": "reviewing"},
            {"plans": [1, 2], "status": "draft", "reviewers": [{"account": "dev1", "result": "pass"}, {"account": "qa1", "result": ""}]}, "stories.plans 1"),
        ("products_1_stories", {"mailto": [DAN], "estimate": "2.5", "parent": -1},     {"mailto": ["dev1"], "estimate": 2.5, "parent": 0}, ""),
        ("products_1_testcases", {"id": "case_7", "steps": {"1": {"id": 4, "desc": "a"}, "2": {"desc": ""}}}, {"title": "T"}, ""),
        ("products_1_testcases", {"isScene": True},                                    None, ""),
        ("projects_2_builds", {"execution": 0, "stories": [9], "product": 1},          {"execution": 2}, "builds.execution 1 builds.stories 1"),
        ("programs", {"type": "program", "budget": "100.46", "acl": "program"},        {"budget": "100", "acl": "private"}, ""),
        ("programs", {"type": "project"},                                              None, ""),
        ("projects", {"id": 2, "model": "ipd", "deleted": "0"},                        {"model": "waterfall", "products": [1]}, ""),
        ("projects_2_executions", {"type": "kanban", "whitelist": ",dev1,"},           {"type": "sprint", "whitelist": ["dev1"]}, "executions.type 1"),
        ("executions_3_tasks", {"children": [{"id": 8, "name": "T", "parent": 7}]},    {"execution": 3, "project": 2}, ""),
        ("users", {"account": "qa1", "role": {"code": "qa"}, "password": SCRYPTED},    {"role": "qa", "password": None}, ""),
    ]
    # fmt: on

    @each(("path", "shown", "taken", "left_out"), QUIRKS)
    def test_record_is_taken_as_this_service_has_it(self, pull, kept, path, shown, taken, left_out):
        array = path.rpartition("_")[2]
        record = {"id": 7, "name": "T", "title": "T", **shown}
        with showing(**{**self.HOMES, path: {array: [record]}}) as server:
            code, out, told = pull(server.url, TOKEN="t-t-t")
        assert code == 0
        told = re.findall(r"(.*) left out: (\d+)\n", told)
        assert " ".join(map(" ".join, told)) == left_out
        found = [one for one in kept(out)[array] if one["id"] in (2, 7) and taken]
        assert [{**one, **taken} for one in found] == found
        assert bool(found) == bool(taken)

    def test_pages_are_read_until_one_is_not_full(self, pull):
        def answer(request: Any) -> Any:
            if not request.path.startswith("/api.php/v1/products?"):
                return 200, {}, b"{}"
            page = int(request.path.rpartition("=")[2])
            shown = [dict(id=id, name="P") for id in range(2 * page, 2 * page + 2)]
            shown = shown[: 6 - page] if page < 5 else shown[:1]
            return 200, {}, json.dumps({"limit": 2, "products": shown}).encode()

        with other_server(answer) as server:
            assert "products 9\n" in pull(server.url, TOKEN="t-t-t")[2]
        assert sum("/products?" in line for line in server.asked) == 5

    # fmt: off
    PAGE = (200, {"Content-Type": "text/html"}, b"<html>Log in</html>")
    HOSTILE = [  # path, answer, exit code, what is told
        ("tokens",   (400, {}, b'{"error": "Login failed. given-password"}'), 2, "POST URL/tokens was answered 400: Login failed. ***"),
        ("tokens",   (302, {"Location": "https://x.example/?given-password"}, b""), 2, "POST URL/tokens was answered 302: a redirect to"
            " https://x.example/?***, which is not followed; give that address instead"),
        ("tokens",   {"token": "a\nb"},                    2, "a token must be letters, digits and signs of ASCII, without spaces"),
        ("tokens",   b"",                                  2, "POST URL/tokens was not answered: Remote end closed connection without response"),
        ("user",     (401, {}, b'{"error": "Unauthorized"}'), 2, "GET URL/user was answered 401: Unauthorized"),
        ("user",     PAGE,                                 2, "GET URL/user was answered 200: not JSON, or more than 33,554,432 bytes"),
        ("user",     b"given-token\r\n",                   2, "GET URL/user was not answered: ***\\r\\n"),
        ("products", (403, {}, b'{"error": "\x1b[2J"}'.replace(b"\x1b", rb"\u001b")), 1, "GET URL/products was answered 403: \\x1b[2J"),
        ("products", (500, {}, b"<html>"),                 1, "GET URL/products was answered 500: not JSON, or more than 33,554,432 bytes"),
        ("products", (200, {}, b"[" * 100_000),            1, "GET URL/products was answered 200: not JSON, or more than 33,554,432 bytes"),
        ("products", (200, {}, b"[" + b"[]," * 11_200_000), 1, "GET URL/products was answered 200: not JSON, or more than 33,554,432 bytes"),
        ("products", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n[cut", 1,
            "GET URL/products was answered 200: not JSON, or more than 33,554,432 bytes"),
        ("products", b"",                                  2, "GET URL/products was not answered: Remote end closed connection without response"),
        ("products", (200, {}, b"[" + b"[]," * 99_999 + b"1]"), 0, ""),
        ("programs", {"programs": [dict(id=5, name="A", parent=6), dict(id=6, name="B", parent=5)]}, 2, "the records that were read do not fit together"),
    ]
    # fmt: on

    @each(("path", "answer", "code", "line"), HOSTILE, ids=range(len(HOSTILE)))
    def test_server_that_behaves_badly_is_told_in_a_sentence(self, pull, path, answer, code, line):
        with showing(**{path: answer}) as server:
            done, out, told = pull(server.url, PASSWORD="given-password")
        said = re.sub(r"\?\S*(?= was)", "", told.replace(f"{server.url}/api.php/v1", "URL"))
        others = [one for one in said.splitlines() if not re.fullmatch(r"\w+ \d+", one)]
        expected = f"pmservice: {line}" if code == 2 else line
        assert (done, bool(out)) == (code, code < 2)
        assert others == ([expected] if line else [])
        assert "given-token" not in told
        assert "POST /api.php/v1/tokens" in server.asked

    def test_server_that_falls_silent_is_given_up(self, pull, monkeypatch):
        monkeypatch.setattr(pmservice, "SILENCE", 0.1)
        ended = threading.Event()

        def answer(_: Any) -> bytes:
            ended.wait(60)
            return b""

        with other_server(answer) as server:
            code, _, told = pull(server.url, TOKEN="t-t-t")
            ended.set()
        assert code == 2
        assert told.endswith("/user was not answered: timed out\n")

    # fmt: off
    ADDRESSES = [
        ("http://pm.example.org", "http://pm.example.org is not encrypted: passwords and records can be read on the way;"
            " use https, or --insecure-http if you trust the network"),
        *((url, f"URL must be an address such as https://pm.example.org (got {url!r})") for url in
          ("pm.example.org", "ftp://pm.example.org", "https://", "https://u:p@h", "https://h/?a=b", "https://h:x", "https://h/ ")),
    ]
    # fmt: on

    @each(("url", "line"), ADDRESSES)
    def test_nothing_is_sent_to_such_an_address(self, pull, url, line):
        assert pull(url, PASSWORD="given-password") == (2, "", f"pmservice: {line}\n")

    def test_password_is_asked_for_only_at_a_terminal(self, pull):
        rule = "there is no terminal to ask for the password at; set PMSERVICE_PULL_PASSWORD"
        assert pull("http://127.0.0.1:9") == (2, "", f"pmservice: {rule}\n")

    def test_terminal_is_shown_how_far_it_is(self, pull, monkeypatch):
        monkeypatch.setattr(sys, "stderr", screen := TestCommandLine.Terminal())
        with showing() as server:
            assert pull(server.url, "--insecure-http", TOKEN="t-t-t")[0] == 0
        assert re.search(r"\rGET /products\?status=all[^\r]* *\r", screen.getvalue())


# --- 20 Command: settings and the command line ----------------------------------------------------


def refused(answer: tuple[int, str, str]) -> str:
    """Return the line with which a command was refused."""
    code, out, told = answer
    assert (code, out, told.count("\n")) == (2, "", 1)
    assert told.startswith("pmservice: ")
    return told.removeprefix("pmservice: ").strip()


# fmt: off
SENTENCES = [  # line, body, sentence
    ("POST /tokns",            {"account": "admin"},        "There is nothing at /tokns; did you mean /tokens?"),
    ("GET /product/1/bug",     None,                        "There is nothing at /product/1/bug; did you mean /products/1/bugs?"),
    ("GET /",                  None,                        "There is nothing at /; GET /openapi.json lists what there is."),
    ("GET /tasks/01",          None,                        "There is nothing at /tasks/01; the id must be a whole number, such as 1."),
    ("POST /product",          {},                          "There is nothing at /product; did you mean /products?"),
    ("GET /product",           None,                        "There is nothing at /product; did you mean /product/<id>?"),
    ("POST /task/7/strat",     {},                          "There is nothing at /task/7/strat; did you mean /tasks/7/start?"),
    ("OPTIONS /product",       None,                        "There is nothing at /product; GET /openapi.json lists what there is."),
    ("GET /options/bug?product=99", None,                   "There is no product 99."),
    ("GET /todos",             None,                        "todos are not part of this service; GET /openapi.json lists what is."),
    ("GET /products/1/issues", None,                        "issues are not part of this service; GET /openapi.json lists what is."),
    ("GET /configuration",     None,                        "There is nothing at /configuration; did you mean /configurations?"),
    ("GET /options",           None,                        "There is nothing at /options; did you mean /options/bug?"),
    ("POST /-/rest",           None,                        "The controls are off; start the service with --control."),
    ("PUT /products",          {},                          "PUT is not allowed at /products; allowed: GET, POST."),
    ("POST /products",         b"{'name': 'Shop'}",         "The body must be JSON, but line 1, column 2 reads: 'name': 'S"),
    ("POST /products",         b'{"name":\n "Shop"',        "The body must be JSON, but it ends at line 2, column 8."),
    ("POST /products",         b"name=Shop",                "The body must be JSON, but line 1, column 1 reads: name=Shop"),
    ("POST /products",         b'{"name": "a\x1b"}',        None),
    ("POST /products",         {"name": "x" * 300},         "name must be 1 to 255 characters, not blank (got 300)."),
    ("POST /products",         {"name": "P", "PO": "y" * 40}, "PO must be an account: 1 to 30 letters, digits, _ . - @ (got 40)."),
    ("POST /products",         {"name": "P", "type": "norml"}, 'type must be one of normal, branch, platform (got "norml"); did you mean normal?'),
    ("POST /projects",         {"name": "P", "begin": "2026-01-01", "end": "2026-02-01"}, "products is required and must be an array of ids, not empty."),
    ("POST /executions/3/tasks", {"name": "T", "estStarted": "2026-01-01", "deadline": "2026-01-02"},
        "type is required and must be one of design, devel, request, test, study, discuss, ui, affair, misc."),
    ("POST /tasks/1/assignto", {},                          "assignedTo is required and must be an account, a user's id or a user reference."),
    ("POST /products",         {"name": " ", "program": "1.5"},
        'name must be 1 to 255 characters, not blank (got " "). program must be a whole number (got "1.5").'),
    ("PUT /tasks/1",           {"estimate": "-3"},          'estimate must be 0 or more (got "-3").'),
    ("PUT /tasks/1",           {"pri": True},               "pri must be a whole number (got true)."),
    ("PUT /projects/2",        {"end": "2026-01-01"},       'end must not be before begin (got "2026-01-01").'),
    ("PUT /programs/1",        {"parent": 1},               "parent must not be the program itself or lie below it (got 1)."),
    ("POST /testcases?product=1", {"title": "C", "type": "unit", "pri": 1, "steps": [{"desc": ["汉", 2]}, 7]},
        'steps[0].desc must be text (got ["汉", 2]). steps[1] must be an object with desc (got 7).'),
    ("POST /bugs?product=1",   {"title": "B", "severity": {"a": "b" * 60}, "pri": 3, "type": "others", "openedBuild": "trunk"},
        f'severity must be a whole number (got {{"a": "{"b" * 43}…).'),
    ("PUT /users/4",           {"password": "short", "email": "a@ b"},
        'email must be an e-mail address (got "a@ b"). password must be 6 to 65536 characters, not blank (got 5).'),
    ("POST /tokens",           {"account": ["admin", "hidden"], "password": 7.5e300},
        "account must be text. password must be text, or a number within 64 bits."),
    ("GET /products?page=1x",  None,                        'page must be a whole number (got "1x").'),
    ("POST /tasks/1/start",    {"realStarted": "2026-02-30"}, 'realStarted must be a moment, YYYY-MM-DD hh:mm:ss (got "2026-02-30").'),
    ("POST /tasks/1/start",    {"realStarted": "0001-02-03 04:05:06"}, 'realStarted must be in the years 2 to 9998 (got "0001-02-03 04:05:06").'),
    ("POST /tasks/1/finish",   {"finishedDate": "2026-01-02"},
        'finishedDate must not be before realStarted, 2026-01-03T04:00:00Z (got "2026-01-02").'),
    ("GET /products/1/bugs?order=openDate", None,
        'order must be a field of the list, alone or with _asc or _desc (got "openDate"); did you mean openedDate?'),
]
# fmt: on


# fmt: off
ORIGIN_WORDS = [  # word, meant
    ("https://App.Example.org", "https://app.example.org"), ("https://a:443", "https://a"), ("http://b:80", "http://b"), ("https://a:80", "https://a:80"),
    ("HTTPS://A", "https://a"), ("http://[::1]:80", "http://[::1]"), ("app://my_app", "app://my_app"), (" null , * ", "null,*"), ("", ""),
]
# fmt: on


class TestMistakes:
    """Typical mistakes of new users, and the sentence that explains each."""

    @each(("line", "body", "sentence"), SENTENCES)
    def test_sentence_says_what_to_do(self, world, line, body, sentence):
        answer = world.call(*line.split(), body)
        assert answer.status_int in (400, 404, 405)
        assert answer.json["error"] == (sentence or answer.json["error"])
        assert answer.json["error"].isprintable()

    def test_head_suggests_what_get_does(self, in_memory):
        answer = in_memory.app.head("/prodcts", status=404)
        assert "did you mean /products?" in in_memory.service.controls.journal.calls[-1].text
        assert answer.body == b""

    def test_controls_that_are_on_suggest_paths(self, in_memory):
        told = "There is nothing at /-/rest; did you mean /-/reset?"
        assert in_memory.call("POST", "/-/rest").json == {"error": told}

    @each(("word", "meant"), ORIGIN_WORDS)
    def test_origins_are_read_as_browsers_send_them(self, word, meant):
        assert pmservice.read_origins(word) == meant

    def test_origins_that_no_browser_sends_are_refused(self, run):
        words = "https://*.example.org https://a:x https://[::1 https://a: https://a\\b"
        words += " https://ä.example a.example NULL file:// http://a/"
        for word in words.split():
            code, _, told = run("--origin", word)
            assert (code, "--origin must be a scheme and a host" in told) == (2, True), word

    def test_flags_may_be_abbreviated_and_several_origins_given(self):
        words = ["--datab", "x", "--origin", "http://a", "--origin", "http://b,null"]
        settings = pmservice.resolve(vars(pmservice.make_parser().parse_args(words)))
        assert settings["database"] == "x"
        assert settings["origin"] == "http://a,http://b,null"

    def test_variable_that_is_no_setting_is_named(self, run, monkeypatch):
        run("user", "admin")
        for name in ("TOKN", "XYZZY"):
            monkeypatch.setenv(f"PMSERVICE_{name}", "x")
        lines = run("call", "GET", "/users/1")[2].splitlines()
        told = [line.split(" ", 2)[2] for line in lines]
        meant = "PMSERVICE_TOKN is not a setting; did you mean PMSERVICE_TOKEN?"
        assert told == [meant, "PMSERVICE_XYZZY is not a setting."]

    def test_settings_of_create_app_are_those_of_the_table(self):
        assert pmservice.ARGUMENTS.keys() == pmservice.Settings.__annotations__.keys()

    def test_misspelled_setting_of_create_app_is_suggested(self):
        with pytest.raises(TypeError, match=r"^tokn is not a setting; did you mean token\?$"):
            pmservice.create_app(tokn="t")


class Announced(io.StringIO):
    """A stdout that tells by `begun` when the URL was printed."""

    def __init__(self):
        super().__init__()
        self.begun = threading.Event()

    def write(self, text):
        written = super().write(text)
        self.begun.set()
        return written


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """Return a function that serves in this process while another thread calls work(url).

    It returns what `work` returned, stdout and stderr.
    """
    monkeypatch.chdir(tmp_path)

    def serve(*arguments, work=str, number=signal.SIGINT, screen=io.StringIO, **environment):
        out = Announced()
        err = screen()
        handlers = {one: signal.getsignal(one) for one in pmservice.STOPS}

        def visit():
            assert out.begun.wait(30)
            url = out.getvalue().strip()
            try:
                return work(url)
            finally:
                signal.raise_signal(number)
                with contextlib.suppress(OSError), client_of(url):
                    pass  # the thread that handles signals waits for connections

        with monkeypatch.context() as process, ThreadPoolExecutor(1) as thread:
            for name, value in environment.items():
                process.setenv(f"PMSERVICE_{name}", value)
            process.setattr(sys, "stdout", out)
            process.setattr(sys, "stderr", err)
            visited = thread.submit(visit)
            try:
                assert pmservice.main(["--port", "0", *arguments]) == 0
            finally:
                for one, handler in handlers.items():
                    signal.signal(one, handler)
        return visited.result(), out.getvalue(), err.getvalue()

    return serve


def get_products(url):
    return ask_once(url, "GET", "/products")


NOTE_THESE = r"Note these credentials; they are not shown again\.\n"
NEW_FILE = rf"This is a new database\. {NOTE_THESE}"
OLD_FILE = rf"Nobody could log in as admin yet\. {NOTE_THESE}"
SHOWN_PASSWORD = r"  account +admin\n  password +(\S+)\n"
SHOWN_TOKEN = r"  token +(\S+)\nOpen .*, or try:\n  curl\S* .*\n"
HINT_AT_PASSWORD = (
    r"admin has no password\. To set one, run: pmservice user admin --password --database pm\.db\n"
)


class TestServing:
    @pytest.mark.skipif(sys.platform == "darwin", reason="macOS has 127.0.0.1 only")
    def test_every_address_of_this_machine_answers_to_its_own_name(self, tmp_path):
        with Live(tmp_path, "--host", "127.0.0.2", "--token", "t") as live:
            assert live.url.startswith("http://127.0.0.2:")
            assert ask_once(live.url, "GET", "/user")[0] == 200

    def test_first_start_says_on_stderr_how_to_begin_and_the_url_alone_on_stdout(
        self, tmp_path, serve
    ):
        with Live(tmp_path) as first:
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+", first.url)
        assert first.rest == ""
        password, token = re.search(NEW_FILE + SHOWN_PASSWORD + SHOWN_TOKEN, first.told).groups()
        curl = "curl.exe" if os.name == "nt" else "curl"
        assert f'  {curl} -H "Token: {token}" {first.url}/products\n' in first.told
        login = {"account": "admin", "password": password}

        def again(url):
            for sent, status in ((token, 200), ("", 401)):
                assert ask_once(url, "GET", "/products", Token=sent)[0] == status
            return ask_once(url, "POST", "/tokens", login)[0]

        status, _, told = serve(work=again)
        assert status == 201
        assert told.count("\n") == 1
        assert password not in told

    @each(("is_old", "flags", "is_screen", "told"), [
        (True,  "",                                False, OLD_FILE + SHOWN_PASSWORD + SHOWN_TOKEN),
        (False, "--password pass-word",            False, NEW_FILE + SHOWN_TOKEN),
        (False, "--password pass-word --token t",  False, ""),
        (False, "--token t",                       False, HINT_AT_PASSWORD),  # to a program
        (True,  "--token t",                       False, HINT_AT_PASSWORD),
        (False, "--token t --database :memory:",   False, ""),
        (False, "--token t",                       True,  NEW_FILE + SHOWN_PASSWORD),  # to a person
    ])  # fmt: skip
    def test_start_tells_what_a_person_needs_to_log_in(self, serve, is_old, flags, is_screen, told):
        if is_old:
            pmservice.create_app("pm.db").close()
        screen = TestCommandLine.Terminal if is_screen else io.StringIO
        url, _, shown = serve("--verbose", *flags.split(), screen=screen)
        assert re.fullmatch(
            rf"pmservice \S+ serves \S+ at {url}; press Ctrl-C to stop\.\n{told}", shown
        )

    def test_flags_go_before_the_environment_and_that_before_the_defaults(self, serve, tmp_path):
        (tmp_path / "f.json").write_text('{"products": [{"name": "P"}]}')
        variables = dict(TOKEN="other", DATABASE="named.db", LOAD="f.json")
        (status, products), _, _ = serve("--token", "t", work=get_products, **variables)
        assert status == 200
        assert products["total"] == 1
        assert {Path(name).stem for name in os.listdir()} == {"named", "f"}

    def test_start_says_what_was_loaded(self, serve, tmp_path):
        (tmp_path / "f.json").write_text('{"products": [{"name": "P"}, {"name": "Q"}]}')
        told = serve("--token", "t", "--load", "f.json")[2]
        assert told.splitlines()[1] == "2 records loaded from f.json."

    @each("number", sorted(pmservice.STOPS))
    def test_interrupt_stops_it(self, serve, number):
        handler = signal.getsignal(number)
        url, out, _ = serve("--database", ":memory:", number=number)
        assert out == f"{url}\n"
        assert os.listdir() == []
        assert signal.getsignal(number) == handler


# Starts a command, writes its process id, and holds its stdin open until it is killed.
PARENT = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
print(child.pid, flush=True)
child.wait()
"""
WITH_PARENT = [sys.executable, str(HERE / "pmservice.py"), "--with-parent"]
WITH_PARENT += ["--port", "0", "--database", ":memory:", "--token", "t"]


IN_BACKGROUND = """
import os, subprocess, sys

# a session's leader without a terminal gets the first one that it opens
os.open(os.ttyname(0), os.O_RDWR)
job = subprocess.Popen(sys.argv[1:], preexec_fn=os.setpgrp)
try:
    sys.exit(job.wait(30))
finally:
    job.kill()
"""


class TestParent:
    """The service ends with the process that started it, when its stdin ends."""

    NO_PIPE = (
        "--with-parent: stdin must be a pipe, held open by the process that starts the service"
    )

    @staticmethod
    @contextlib.contextmanager
    def started(*arguments, stdin=subprocess.PIPE):
        """Yield a process of the service, whose stdin is a pipe or what is given."""
        pipe, words = subprocess.PIPE, [*WITH_PARENT, *arguments]
        process = subprocess.Popen(words, stdin=stdin, stdout=pipe, stderr=pipe)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    @staticmethod
    def next_line(stream):
        return stream.readline().decode().strip()

    def test_it_ends_when_its_parent_is_killed(self):
        words = [sys.executable, "-c", PARENT, *WITH_PARENT]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
            number = int(self.next_line(parent.stdout))
            url = self.next_line(parent.stdout)
            assert get_products(url)[0] == 200
            parent.kill()
            try:
                # the service has this stdout, too, so it is at its end when both have ended
                assert parent.communicate(timeout=60) == (b"", None)
            except subprocess.TimeoutExpired:
                os.kill(number, signal.SIGTERM)
                raise
        with pytest.raises(ConnectionRefusedError):
            connection_to(url).connect()

    def test_what_stdin_brings_is_ignored_until_it_ends(self):
        with self.started() as process:
            url = self.next_line(process.stdout)
            process.stdin.write(b"DELETE /products\n" * 10_000)
            process.stdin.flush()
            assert get_products(url)[0] == 200
            out, _ = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, b"")

    @posix("Windows has no such pipes")
    @each("kind", ["pipe", "socket"])
    def test_stdin_that_does_not_block_is_waited_for(self, kind):
        ends = socket.socketpair() if kind == "socket" else map(open, os.pipe(), "rw")
        reader, writer = ends
        with reader, writer:
            os.set_blocking(reader.fileno(), False)
            with self.started(stdin=reader) as process:
                url = self.next_line(process.stdout)
                assert url
                for _ in range(10):
                    os.write(writer.fileno(), b"hello")
                    assert get_products(url)[0] == 200
                writer.close()
                assert process.wait(60) == 0

    @each("kind", ["closed", "null", "file"])
    def test_stdin_that_no_process_holds_is_refused(self, run, monkeypatch, kind):
        paths = {"null": os.devnull, "file": HERE / "schema.sql"}
        with contextlib.ExitStack() as stack:
            stdin = None if kind == "closed" else stack.enter_context(open(paths[kind]))
            monkeypatch.setattr(sys, "stdin", stdin)
            assert refused(run("--with-parent", "--port", "0")) == self.NO_PIPE
        assert os.listdir() == []

    def test_open_stdin_does_not_keep_a_service_that_failed(self):
        with self.started("--load", "missing.json") as process:
            assert process.wait(60) == 2
            assert b"missing.json: No such file or directory" in process.stderr.read()

    @SIGNALS
    def test_signal_ends_it_while_stdin_is_open(self):
        with self.started() as process:
            assert self.next_line(process.stdout)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0

    @TERMINALS
    def test_end_of_input_at_a_terminal_ends_it(self):
        terminal, stdin = os.openpty()
        try:
            with self.started(stdin=stdin) as process:
                assert self.next_line(process.stdout)
                os.write(terminal, b"hello\n\x04")  # the second one is Ctrl-D
                assert process.wait(60) == 0
        finally:
            os.close(stdin)
            os.close(terminal)

    @TERMINALS
    def test_terminal_is_refused_in_the_background(self):
        terminal, stdin = os.openpty()
        words = [sys.executable, "-c", IN_BACKGROUND, *WITH_PARENT]
        pipe = subprocess.PIPE
        try:
            with subprocess.Popen(
                words, stdin=stdin, stdout=pipe, stderr=pipe, start_new_session=True
            ) as shell:
                out, told = shell.communicate(timeout=60)
        finally:
            os.close(stdin)
            os.close(terminal)
        assert (out, shell.returncode) == (b"", 2)
        assert told.decode() == (
            "pmservice: --with-parent: stdin is the terminal, which a process in the background"
            " cannot read; start it in the foreground, or with a pipe as stdin\n"
        )


# fmt: off
BAD_STREAMS = [  # out, err
    ("read", "read"), ("full", "full"), ("closed", "closed"), ("read", "closed"), ("read", "/dev/full"), ("/dev/full", "read"), ("/dev/full", "closed"),
]
# fmt: on


@posix("Windows has no such streams")
class TestStreams:
    """stdout and stderr that nobody reads, that take nothing, or that are closed."""

    @pytest.fixture(autouse=True)
    def streams(self):
        """Close the streams of the test at its end."""
        with contextlib.ExitStack() as self.stack:
            yield

    def full_pipe(self):
        """Return the two ends of a pipe that takes nothing until something is read from it."""
        reader, writer = os.pipe()
        self.stack.callback(os.close, reader)
        self.stack.callback(os.close, writer)
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        os.set_blocking(writer, True)
        return reader, writer

    def stream(self, kind):
        """Return a stream of a kind for a process, None for a closed one."""
        if kind == "full":
            return self.full_pipe()[1]
        if kind == "read":
            return self.stack.enter_context(tempfile.TemporaryFile())
        return None if kind == "closed" else self.stack.enter_context(open(kind, "wb"))

    @staticmethod
    def content(stream):
        stream.seek(0)
        return stream.read().decode()

    @contextlib.contextmanager
    def process(self, out, err, flags):
        """Yield a process of the command with these streams."""
        script = 'exec "$@"'
        script += " >&-" if out is None else ""
        script += " 2>&-" if err is None else ""
        command = ["sh", "-c", script, "sh", sys.executable, HERE / "pmservice.py"]
        command += [*flags.split(), "--database", ":memory:"]
        buffered = {**os.environ, "PYTHONUNBUFFERED": ""}
        process = subprocess.Popen(command, stdout=out, stderr=err, env=buffered)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    @staticmethod
    def answered(port):
        """Return the status of a call to a service that is ready."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                status, _ = get_products(f"http://127.0.0.1:{port}")
                if status != 503:
                    return status
        pytest.fail("the service does not answer")

    NO_SPACE = r"pmservice: .*No space left on device.*\n"

    @each(("out", "err"), BAD_STREAMS)
    def test_service_ends_at_a_signal_or_with_2_if_it_cannot_say_where_it_is(self, out, err):
        port = free_port()
        stdout = self.stream(out)
        stderr = self.stream(err)
        flags = f"--port {port} --token t --password secret"
        if err == "closed":
            flags += " --verbose"  # what is told must not go to stdout
        with self.process(stdout, stderr, flags) as process:
            if out != "/dev/full":
                assert self.answered(port) == 200
                for stream, kind in ((stdout, out), (stderr, err)):
                    while kind == "read" and not self.content(stream).endswith("\n"):
                        pass  # it says so just after it has begun to answer
                process.send_signal(signal.SIGTERM)
            assert process.wait(30) == (2 if out == "/dev/full" else 0)
        if out == "read":
            assert self.content(stdout) == f"http://127.0.0.1:{port}\n"
        if err == "read":
            told = self.content(stderr)
            assert told.count("\n") == 1
            assert out == "read" or re.fullmatch(self.NO_SPACE, told)

    def test_stop_does_not_wait_for_what_is_still_loaded(self, tmp_path):
        os.mkfifo(tmp_path / "f.json")  # whose text never comes
        port = free_port()
        flags = f"--port {port} --token t --load {tmp_path / 'f.json'}"
        with self.process(None, None, flags) as process:
            while process.poll() is None:
                with contextlib.suppress(OSError):
                    assert ask_once(f"http://127.0.0.1:{port}", "GET", "/products")[0] == 503
                    process.send_signal(signal.SIGTERM)
                    assert process.wait(30) == 0

    def test_url_reaches_a_reader_who_comes_late(self):
        port = free_port()
        reader, stdout = self.full_pipe()
        read = ""
        with self.process(stdout, subprocess.DEVNULL, f"--port {port} --token t") as process:
            assert self.answered(port) == 200
            while not read.endswith("\n"):
                read += os.read(reader, 4096).decode()
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        assert read.lstrip("x") == f"http://127.0.0.1:{port}\n"

    def test_pipe_that_nobody_reads_any_more_ends_a_dump(self, tmp_path):
        Client(tmp_path / "pm.db", load=MUCH).close()
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, HERE / "pmservice.py", "dump"]
        try:
            ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path)
        finally:
            os.close(writer)
        assert (ended.returncode, ended.stderr) == (141, b"")

    def test_answer_that_cannot_be_written_is_an_error(self):
        stderr = self.stream("read")
        with self.process(self.stream("/dev/full"), stderr, "call GET /products") as process:
            assert process.wait(30) == 2
        assert re.fullmatch(self.NO_SPACE, self.content(stderr))

    @each("err", ["/dev/full", "closed"])
    def test_work_is_done_though_nobody_can_be_told(self, tmp_path, monkeypatch, err):
        monkeypatch.chdir(tmp_path)
        Path("f.json").write_text(json.dumps(WORLD))
        stream = self.stream(err)
        monkeypatch.setattr(sys, "stderr", stream and io.TextIOWrapper(stream))
        for command in ("load f.json", "user new1", "backup copy.db"):
            assert pmservice.main(command.split()) == 0
        with contextlib.closing(Client("copy.db")) as client:
            assert client.get("/products")["total"] == 2
            assert client.get("/users/new1")["account"] == "new1"
        sys.stderr.close()


# fmt: off
LOGGED = [  # is_screen, variables, lines
    (False, {}, 0), (True, {}, 1), (True, {"VERBOSE": "No"}, 0), (True, {"VERBOSE": "off"}, 0), (True, {"VERBOSE": ""}, 1),
    (False, {"VERBOSE": "on"}, 1), (False, {"VERBOSE": "1"}, 1),
]
# fmt: on


class TestLog:
    TIME = r"(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d"
    LINE = TIME + r" (\S+) (\S+) (\d+) [0-9.]+ ms (\S+) ([0-9a-f-]+)(?: tried \S+)?(?:: .*)?"

    def test_each_request_is_a_line_with_its_id_and_no_secret(self, serve):
        token, unknown = "tok-en-of-operator", "none"
        of_admin, of_dev = "pass-of-admin", "pass-of-dev"
        login = json.dumps(dict(account="admin", password=of_admin))
        calls = [
            ("POST /tokens",  login,          "",      "201", "-"),
            ("POST /users",   json.dumps(dict(account="dev1", password=of_dev)), token, "201", "admin"),
            ("GET /products", "",             unknown, "401", "-"),
            ("GET /products", "",             token,   "200", "admin"),  # in two threads, but with one id
            ("GET /nothing",  "",             token,   "404", "-"),
            (f"GET /products?token={token}", "", "",   "401", "-"),
            ("POST /tokens",  login[:-1],     "",      "400", "-"),
        ]  # fmt: skip
        secrets, wanted, kept = [token, of_admin, of_dev, unknown], [], ""

        def work(url):
            nonlocal kept
            for line, body, header, status, account in calls:
                method, path = line.split()
                with contextlib.closing(connection_to(url)) as connection:
                    connection.request(method, path, body, {"Token": header} if header else {})
                    answer = connection.getresponse()
                    shown = json.loads(answer.read())
                number = answer.getheader("X-Request-Id")
                wanted.append((method, path.partition("?")[0], status, account, number))
                secrets.append(shown.pop("token", token))
                kept += json.dumps(shown)

        _, out, told = serve("--verbose", "--token", token, "--password", of_admin, work=work)
        logged = [line for line in told.splitlines() if "press Ctrl-C" not in line]
        assert [re.fullmatch(self.LINE, line).groups() for line in logged] == wanted
        assert [int(number.partition("-")[2]) for *_, number in wanted] == [1, 2, 3, 4, 5, 6, 7]
        for name in os.listdir():
            kept += Path(name).read_bytes().decode("latin-1")
        assert not [secret for secret in secrets if secret in kept + out + told]

    @each(("is_screen", "variables", "lines"), LOGGED)
    def test_requests_are_logged_at_a_terminal_unless_it_is_turned_off(
        self, serve, is_screen, variables, lines
    ):
        screen = TestCommandLine.Terminal if is_screen else io.StringIO
        flags = ("--token", "tok-en", "--password", "pass-word")
        told = serve(*flags, work=get_products, screen=screen, **variables)[2]
        assert len(re.findall(f"^{self.LINE}$", told, re.MULTILINE)) == lines
        assert told.count("\n") == 1 + lines

    def test_path_neither_breaks_a_line_nor_turns_the_terminal(self, serve):
        call = partial(ask_once, method="GET", path="/a%0aGET%20/-/reset%1b%5b31m")
        told = serve("--verbose", "--token", "t", work=call)[2]
        (logged,) = re.findall("^[0-9-]{10} [0-9:]{8} (.*) 404 .*$", told, re.MULTILINE)
        assert logged == r"GET /a\nGET%20/-/reset\x1b[31m"

    def test_warning_tells_its_time(self, serve):
        Path("f.json").write_text('{"products": [{"name": "P"}]}')
        for _ in range(2):
            (_, products), _, told = serve("--token", "t", "--load", "f.json", work=get_products)
            assert products["total"] == 1
        assert re.search(f"^{self.TIME} pm\\.db holds records already", told, re.MULTILINE)

    @each("account", ["0123456789abcdef0123456789abcdef", "tok-en", "x 200", {"a": "b"}, ["c"]])
    def test_tokens_and_what_is_no_account_are_not_logged(self, client, caplog, account):
        caplog.set_level(logging.INFO, "pmservice")
        client.service.admin_hash = pmservice.hash_token("tok-en")
        client.call("POST", "/tokens", dict(account=account, password="hush"))
        assert " tried " not in caplog.messages[-1]

    def test_line_of_a_refused_call_says_why(self, serve):
        origin = "https://evil.example"
        calls = [
            ("POST", "/products", {"nmae": "x"}, {"Token": "t"}),
            ("POST", "/tokens", {"account": "olga", "password": "hush"}, {}),
            ("GET", "/products", None, {"Authorization": "Bearer t"}),
            ("GET", "/products", None, {"Token": "t", "Origin": origin}),
            ("GET", "/", None, {"Accept": CHROME, "Authorization": basic("marta", "hush")}),
        ]

        def work(url):
            for method, path, body, headers in calls:
                with contextlib.closing(connection_to(url)) as connection:
                    connection.request(method, path, json.dumps(body), headers)
                    assert connection.getresponse().status >= 400

        told = serve("--verbose", "--token", "t", "--password", "pass-word", work=work)[2]
        lines = [line for line in told.splitlines() if "press Ctrl-C" not in line]
        for line, (tried, error, ignored) in zip(lines, NOTED_LINES, strict=True):
            assert "hush" not in line
            assert f": {error}" in line
            assert (f" tried {tried}:" in line) == bool(tried)
            assert line.endswith(f" ignored: {ignored}") == bool(ignored)

    @each(("address", "shown"), [("127.0.0.1", ""), ("::1", ""), ("192.0.2.7", " from 192.0.2.7")])
    def test_address_of_another_machine_is_logged(self, client, caplog, address, shown):
        caplog.set_level(logging.INFO, "pmservice")
        client.app.get("/products", extra_environ={"REMOTE_ADDR": address}, status="*")
        line = caplog.messages[-1]
        assert re.search(r"[0-9a-f]{8}-[0-9]+(.*): Unauthorized\.", line)[1] == shown


NOTED_LINES = [  # of refused calls: the account that was tried, the sentence, what was ignored
    (None, "name is required and must be 1 to 255 characters, not blank.", "nmae"),
    ("olga", "Login failed. Please check your account and password.", None),
    (None, "Unauthorized. Send the token as `Token: <token>`", None),
    (None, "Pages of https://evil.example may not call this service; start it with --origin", None),
    ("marta", "Unauthorized.", None),
]
READING = ("check", "dump", "call GET /products", "call HEAD /products/1")
NOISE = random.Random(2).randbytes(4096)
DAMAGED = (
    r"pmservice: pm\.db: damaged \(.+\); restore a backup, or name another file with --database\n"
)


@pytest.fixture(scope="module")
def file_of_world(tmp_path_factory):
    """Return the content of a database file that holds WORLD."""
    file = tmp_path_factory.mktemp("world") / "pm.db"
    Client(file, load=WORLD).close()
    return file.read_bytes()


@pytest.fixture
def unwritable(monkeypatch):
    """Work in an open folder; return a function that sets its mode and that of its files."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as undo:
        monkeypatch.chdir(folder)

        def set_modes(folder_mode, file_mode):
            undo.callback(os.chmod, folder, 0o755)
            for name in os.listdir():
                os.chmod(name, file_mode)
            os.chmod(folder, folder_mode)
            if os.geteuid() == 0:  # root may write everything
                undo.callback(os.seteuid, 0)
                os.seteuid(65534)

        yield set_modes


# fmt: off
REFUSED_LINES = [  # line, words
    ("--prot 80",                             "--prot is not a setting; did you mean --port?"),
    ("user x --relname y",                    "--relname is not a setting; did you mean --realname?"),
    ("--xyzzy",                               "--xyzzy is not a setting; pmservice --help lists them"),
    ("-x",                                    "-x is not a setting; pmservice --help lists them"),
    ("-port 80",                              "-port is not a setting; did you mean --port?"),
    ("load -p 80 wrong.json",                 "unrecognized arguments: -p "),
    ("--origin= --port 0",                    "--origin must not be empty"),
    ("--allowed-host= --port 0",              "--allowed-host must not be empty"),
    ("dmp",                                   "; did you mean dump?"),
    ("user",                                  "the following arguments are required: ACCOUNT; pmservice user --help says more"),
    ("user a/b",                              'account must be an account: 1 to 30 letters, digits, _ . - @ (got "a/b").'),
    ("user dev1 --password",                  "there is no terminal to ask for the password at; give it as --password PASSWORD"),
    ("--origin https://x.org/app",
         "--origin must be a scheme and a host such as https://app.example.org, with no path, or * or null (got 'https://x.org/app')"),
    ("--allowed-host pm:80",                  "--allowed-host must be a name without a port, such as pm.example.org (got 'pm:80')"),
    ("--port none",                           "--port must be a whole number (got 'none')"),
    ("--port 99999",                          "--port: 99999 is not a port; use 0 to 65535, where 0 picks a free one"),
    ("--port TAKEN",                          "address already in use; pick another --host, or another --port (0 for a free one)"),
    ("--host host.invalid --port 0 --token t", "cannot listen on host.invalid:0: "),
    ("--host 0.0.0.0 --port 0",               "0.0.0.0 can be reached from outside: set --token or --password first"),
    ("--host :: --port 0",                    ":: can be reached from outside: set --token or --password first"),
    ("--strict",                              "--strict is not a setting; pmservice --help lists them"),
    ("version",                               "version is not a command; pmservice --help lists them"),
    ("-d pm.db load absent.json",             "load must come first, and its settings after it"),
    ("--timezone Mars/Olympus --port 0",      "time zone Mars/Olympus: not known here; use a name such as Asia/Shanghai, or UTC"),
    ("--token \tt --port 0",                  "--token must not be empty, nor begin or end with a space, nor contain control characters\n"),
    ("--password \u3000 --port 0",            "--password must not be empty"),
    ("load absent.json",                      "absent.json: No such file or directory"),
    ("--load wrong.json --demo --port 0",     "--load and --demo: only one of them can be loaded"),
    ("dump --database locked.db",             "locked.db: a database of another program; name another file with --database"),
    ("--database locked.db --port 0",         "locked.db: a database of another program; name another file with --database"),
    ("--database newer.db --port 0",          "newer.db: written by a newer pmservice; upgrade, or name another file with --database"),
    ("--database empty.db --port 0",          "empty.db: a database of another program"),
    ("--database garbage.db --port 0",        "garbage.db: file is not a database; name another file with --database"),
    ("--database folder --port 0",            "folder: "),
    ("--database absent/pm.db --port 0",      "absent/pm.db: No such file or directory; name another file with --database"),
    ("call POST /products \udcff",            "surrogates not allowed"),
]
# fmt: on


# fmt: off
CALL_COMMANDS = [  # arguments, code, shown
    (["GET", "/products"],                          0, {"total": 0, "products": []}),
    (["get", "/api.php/v1/products?limit=5"],       0, {"page": 1, "total": 0, "limit": 5, "products": []}),
    (["GET", "products"],                           0, {"total": 0, "products": []}),
    (["GET", "/products/9/bugs"],                   1, {"error": "There is no product 9."}),
    (["POST", "/products", "{"],                    1, None),
    (["GET", "/-/clock"],                           1, None),
]
# fmt: on


# fmt: off
DAMAGES = [  # at, bytes_there
    (0, bytes(4096)), (16, b"\0\7"), (16, NOISE[:84]), (100, b"\xff" * 3996), (100, NOISE[100:]),  # the first page
    (60, b"\0\0\0\x63"), (68, b"\0\0\0\7"), (68, bytes(4)),  # a newer version, the id of another program, no id
    (0.5, NOISE), (0.5, bytes(4096)), (-4096, NOISE),  # a page in the middle, the last one
    (100, None), (4096, None), (0.5, None), (-1000, None),  # cut off
    # the fourth byte of a text of the schema
    (b"CREATE TABLE bug", b"\xff"), (b"CREATE TABLE bug", b"Q"), (b"CREATE TRIGGER", b"\0"),
    (b"CREATE TRIGGER", b"\xff"), (b"CREATE INDEX", b"Q"), (b"tablebugbug", b"\0"),
]
# fmt: on


# fmt: off
UNWRITABLE = [  # command, folder_mode, file_mode
    ("--port 0", 0o777, 0o444), ("--port 0", 0o555, 0o444), ("--port 0", 0o555, 0o666), ("--port 0 --database new.db", 0o555, 0o666),
    ("call POST /products {}", 0o555, 0o444), ("user new1", 0o555, 0o444),
]
# fmt: on


DATABASES_OF = {  # what --help says of the database of each command
    "": "the file that holds everything, created if needed; :memory: keeps nothing",
    "load": "the file to load it into, created if needed",
    "dump": "the file to read, which must exist",
    "backup": "the file to copy, which must exist",
    "check": "the file to check, which must exist",
    "call": "the file that holds everything; only a write creates it; :memory: keeps nothing",
    "user": "the file that has the users, created if needed",
}
FAILING_LOADS = [
    "load f.json",
    "load f.json --database sub.db",
    "--load f.json --port 0",
    "--load none.json --port 0",
]


class TestCommandLine:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def test_load_and_dump_are_each_other_s_inverse(self, run, monkeypatch):
        Path("f.json").write_text(json.dumps(WORLD))
        assert run("load", "f.json")[:2] == (0, "")
        code, dumped, _ = run("dump", "--database", "pm.db")
        assert code == 0
        assert len(json.loads(dumped)["bugs"]) == 2
        monkeypatch.setattr(sys, "stdin", stdin_of(dumped.encode()))
        assert "records loaded" in run("load", "-", "--database", "again.db")[2]
        assert run("dump", "--database", "again.db")[1] == dumped

    def test_fixtures_and_bodies_may_begin_with_the_mark_of_utf_8(self, run, monkeypatch):
        product = '{"name": "Päper"}'
        fixture = f'{{"products": [{product}]}}'
        Path("f.json").write_text(fixture, "utf-8-sig")
        for sent, command in (
            (fixture, ["load", "f.json"]),
            (fixture, ["load", "-"]),
            (product, ["call", "POST", "/products", "-"]),
            (product, ["call", "POST", "/products", product]),
        ):
            monkeypatch.setattr(sys, "stdin", stdin_of(sent.encode("utf-8-sig")))
            assert run(*command)[0] == 0
        assert [one["name"] for one in json.loads(run("dump")[1])["products"]] == ["Päper"] * 4

    def test_call_gets_the_document_of_the_service_that_would_serve(self, run, monkeypatch):
        monkeypatch.setenv("PMSERVICE_PORT", "9000")
        code, out, told = run("call", "GET", "openapi.json", "-d", ":memory:")
        assert (code, told) == (0, "")
        assert json.loads(out)["servers"] == [{"url": "http://127.0.0.1:9000"}]

    @each(("command", "database"), DATABASES_OF.items())
    def test_help_of_a_command_says_what_is_true_for_it(self, capsys, command, database):
        with pytest.raises(SystemExit):
            pmservice.main([*command.split(), "--help"])
        told = " ".join(capsys.readouterr().out.split())
        assert f"--database DATABASE {database} (default pm.db)" in told
        serves = command == ""
        assert ("of pages" in told) == ("of the demo" in told) == serves
        assert ("of GET /options/bug: en or zh" in told) == (command == "call")

    def test_stdin_that_is_not_utf_8_is_refused(self, run, monkeypatch):
        for arguments in (["load", "-"], ["call", "POST", "/products", "-"]):
            monkeypatch.setattr(sys, "stdin", stdin_of(b'{"name": "P\xe4per"}'))
            assert run(*arguments) == (2, "", "pmservice: stdin must be text in UTF-8\n")

    @each("encoding", ["cp437", "ascii"])
    @each(
        ("stream", "command"),
        [("stdout", "dump"), ("stdout", "call GET /products"), ("stderr", "load ✓.json")],
    )
    def test_output_is_utf_8_whatever_the_system_s_encoding_is(
        self, run, monkeypatch, encoding, stream, command
    ):
        Client("pm.db", load={"products": [{"name": "✓.json"}]}).close()
        output = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, stream, output)
        pmservice.main(command.split())
        output.flush()
        assert "✓.json" in output.buffer.getvalue().decode()

    def test_password_of_admin_is_nobody_else_s(self, run):
        assert run("user", "dev1", "--realname", "Dan")[0] == 0
        told = "pmservice: password must be 1 to 65536 characters, not blank.\n"
        assert run("user", "admin", "--password", "") == (2, "", told)
        with contextlib.closing(Client("pm.db")) as client:
            assert client.sql("SELECT account FROM user WHERE password IS NOT NULL") == []

    @each(("name", "value", "rule"), [
        ("PORT", "tcp://10.0.0.1:80", "must be a whole number (got 'tcp://10.0.0.1:80')"),
        ("CONTROL", "maybe", "must be yes or no (got 'maybe')"),
    ])  # fmt: skip
    def test_variable_that_cannot_be_read_is_named(self, run, monkeypatch, name, value, rule):
        monkeypatch.setenv(f"PMSERVICE_{name}", value)
        assert run() == (2, "", f"pmservice: PMSERVICE_{name} {rule}\n")

    def test_reading_commands_wait_for_no_writer(self, connections, run):
        def lose_patience(connection, sql):
            if sql.startswith("BEGIN IMMEDIATE"):
                connection.execute("PRAGMA busy_timeout = 0")

        connections.before = lose_patience
        with contextlib.closing(Client("pm.db")) as client, client.service.database.writing():
            for command in ("check", "backup copy.db", "call GET /products"):
                assert run(*command.split())[0] == 0
            told = "pmservice: The database is busy; try again.\n"
            assert run("user", "dev1") == (2, "", told)

    @each("fixture", ['{"bugs": ' + "[" * 99_999, "{[]: 1}", "[]", '{"bugs": [1]}', "\xff"])
    def test_fixture_that_cannot_be_loaded_is_one_line(self, run, fixture):
        Path("f.json").write_bytes(fixture.encode("latin-1"))
        for arguments in (["load", "f.json"], ["--port", "0", "--load", "f.json"]):
            code, out, told = run(*arguments)
            assert code == 2
            assert out == ""
            assert told.count("\n") == 1
            assert told.startswith("pmservice: f.json: ")

    def test_short_flags_stand_for_long_ones(self):
        for words in ("call -d y GET /", "-p9 -t word", "-p 9 -t word"):
            options = pmservice.make_parser().parse_args(words.split())
            settings = pmservice.resolve(vars(options))
            wanted = ("y", 8080, None) if "-d" in words else ("pm.db", 9, "word")
            assert (settings["database"], settings["port"], settings["token"]) == wanted

    @each("command", ["", *pmservice.COMMANDS])
    def test_help_fits_a_terminal_and_has_an_example(self, run, capsys, monkeypatch, command):
        monkeypatch.setenv("COLUMNS", "80")
        with pytest.raises(SystemExit, match="0"):
            run(*command.split(), "--help")
        help = capsys.readouterr().out
        assert max(map(len, help.splitlines())) <= 80
        takes_more = command == "" or pmservice.COMMANDS[command].arguments
        examples = re.findall("^(?:Example:| ) (pmservice .*?)(?:  .*)?$", help, re.MULTILINE)
        assert bool(examples) == bool(takes_more)
        for line in examples:
            words = shlex.split(line.partition(" > ")[0])[1:]
            if "--help" not in words:
                pmservice.make_parser().parse_args(words)

    def test_call_is_indented_at_a_terminal_only(self, run, monkeypatch):
        Client("pm.db", load={"departments": [{"name": "开发"}]}).close()
        _, piped, _ = run("call", "GET", "departments")
        assert piped.count("\n") == 1
        monkeypatch.setattr(sys, "stdout", self.Terminal())
        for method, shown in (
            ("GET", json.dumps(json.loads(piped), indent=2, ensure_ascii=False)),
            ("HEAD", ""),
        ):
            sys.stdout.truncate(sys.stdout.seek(0))
            assert pmservice.main(["call", method, "departments"]) == 0
            assert sys.stdout.getvalue() == f"{shown}\n"

    def test_much_is_announced_to_those_who_use_the_database(self, run, monkeypatch):
        Path("f.json").write_text('{"products": [{"name": "P"}, {"name": "Q"}]}')
        monkeypatch.setattr(pmservice, "MANY_RECORDS", 1)
        words = "pm.db: loading 2 records; other writers wait meanwhile\n"
        for is_there in (False, True):
            assert (words in run("load", "f.json")[2]) == is_there

    def test_interrupted_load_says_that_nothing_was_loaded(self, run, monkeypatch):
        def interrupt(*_):
            raise KeyboardInterrupt

        pmservice.create_app("pm.db").close()
        Path("f.json").write_text('{"products": [{"name": "P"}]}')
        told = "pmservice: f.json: stopped; nothing was loaded\n"
        with monkeypatch.context() as patched:
            patched.setattr(pmservice, "problems_in", interrupt)
            assert run("load", "f.json") == (130, "", told)
        assert json.loads(run("call", "GET", "products")[1])["total"] == 0

    @each("command", FAILING_LOADS)
    def test_fixture_that_fails_leaves_no_new_database(self, run, command):
        Path("f.json").write_text('{"products": [{"name": "P"}, {}]}')
        code, _, told = run(*command.split())
        assert code == 2
        assert re.match(
            r"pmservice: (f.json: products\[1\].name is required|none.json: No such)", told
        )
        assert os.listdir() == ["f.json"]

    @each("others", ["file", "user", "connection"])
    def test_fixture_that_fails_removes_no_file_of_others(self, run, monkeypatch, others):
        with contextlib.ExitStack() as stack:

            def parse(text):
                if others == "user":
                    assert run("user", "dev1")[0] == 0
                if others == "connection":
                    reader = stack.enter_context(contextlib.closing(sqlite3.connect("pm.db")))
                    reader.execute("SELECT * FROM user").fetchall()
                return json.loads(text)

            if others == "file":
                Path("pm.db").touch()
            Path("f.json").write_text('{"products": [{}]}')
            monkeypatch.setattr(pmservice, "parse_fixture", parse)
            assert run("load", "f.json")[0] == 2
        assert run("call", "GET", "users/dev1")[0] == (0 if others == "user" else 1)

    @posix("Windows has no such files")
    def test_file_that_never_ends_is_refused(self, run):
        told = "pmservice: /dev/full: must be a file or a pipe\n"
        assert run("load", "/dev/full") == (2, "", told)

    def test_without_its_libraries_it_says_what_to_install(self):
        command = [sys.executable, "-IS", HERE / "pmservice.py"]
        ended = subprocess.run(command, capture_output=True, text=True)
        assert ended.returncode == 2
        remedy = "to install what it needs, run: pip install bottle waitress"
        assert ended.stderr == f"pmservice: No module named 'bottle'; {remedy}\n"

    def test_without_its_tables_it_says_where_they_belong(self, tmp_path):
        shutil.copy(HERE / "pmservice.py", tmp_path)
        command = [sys.executable, "pmservice.py", "--port", "0"]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert ended.returncode == 2
        assert ended.stdout == ""
        rule = r"pmservice: .*schema\.sql: .*; it belongs beside pmservice\.py\n"
        assert re.fullmatch(rule, ended.stderr)

    def test_user_is_made_and_changed(self, run):
        for flags, done in (
            ("--realname B --password secret --admin", "created"),
            ("", "unchanged: nothing was asked for"),
            ("--realname Bo", "changed"),
        ):
            assert run("user", "boss", *flags.split())[2] == f"user 2, boss, {done}\n"
        with contextlib.closing(Client("pm.db")) as client:
            client.token = client.login("boss")
            boss = {"id": 2, "account": "boss", "avatar": "", "realname": "Bo"}
            assert client.product(PO="boss")["PO"] == boss

    def test_deleted_user_is_not_changed(self, run):
        for command in (["user", "boss"], ["call", "DELETE", "/users/2"]):
            assert run(*command)[0] == 0
        told = "pmservice: user 2, boss, is deleted: nothing was changed\n"
        assert run("user", "boss", "--realname", "Bo") == (2, "", told)

    def test_version_is_shown(self, run, capsys):
        with pytest.raises(SystemExit, match="0"):
            run("--version")
        assert capsys.readouterr().out.strip() == pmservice.__version__

    @each(("line", "words"), REFUSED_LINES)
    def test_what_cannot_be_done_is_one_line_and_2_and_changes_nothing(
        self, run, monkeypatch, line, words
    ):
        monkeypatch.setattr(pmservice.Server, "run", lambda _: pytest.fail("it serves"))
        os.mkdir("folder")
        wrong = '{"products": [{"id": 1, "name": "P"}], "bugs": [{"product": 1}]}'
        Path("wrong.json").write_text(wrong)
        Path("garbage.db").write_bytes(b"no database " * 500)
        ours = "PRAGMA application_id = 1886221174"
        scripts = {
            "locked": "CREATE TABLE t (x)",  # a name that must not be taken for a reason to wait
            "newer": f"{ours}; PRAGMA user_version = {NEXT_VERSION}",
            "empty": "PRAGMA application_id = 7",
        }
        for name, script in scripts.items():
            with contextlib.closing(sqlite3.connect(f"{name}.db")) as other:
                other.executescript(script)
        before = {file: file.read_bytes() for file in Path().glob("*.*")}
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            code, out, told = run(*line.replace("TAKEN", port).split(" "))
        assert code == 2
        assert out == ""
        assert told.count("\n") == 1
        assert told.startswith("pmservice: ")
        assert words in told
        assert {file: file.read_bytes() for file in before} == before

    @each(("statement", "word"), [
        ("UPDATE product_count SET bugs = 9 WHERE product = 1", "product_count: (1, 1, 9,"),
        ("UPDATE total SET records = 9 WHERE list = 'tasks'", "total"),
        ("UPDATE bugs_dated SET opened = 9", "bugs_dated"),
        ("INSERT INTO bugs_dated VALUES (1, 1, 0, 9)", "bugs_dated: (1, 1, 0, 9)"),
        ("DELETE FROM user WHERE account = 'dev1'", "names a row of user that does not exist"),
        ("UPDATE project SET status = 'gone'", "CHECK constraint failed in project"),
    ])  # fmt: skip
    def test_check_finds_a_tampered_count_and_a_broken_link(
        self, run, file_of_world, statement, word
    ):
        Path("pm.db").write_bytes(file_of_world)
        assert run("check") == (0, "pm.db is sound: pages, links and counts are right.\n", "")
        with contextlib.closing(sqlite3.connect("pm.db", isolation_level=None)) as other:
            other.execute("PRAGMA ignore_check_constraints = ON")
            other.execute(statement)
        code, out, _ = run("check")
        assert code == 1
        assert word in out

    def test_backup_is_a_whole_copy_that_only_its_owner_can_read(self, run):
        with contextlib.closing(Client("pm.db", load=MUCH)) as client:
            removed = client.product()["id"]
            assert run("backup", "copy.db") == (0, "", "pm.db copied to copy.db\n")
            remove(client, f"/products/{removed}")
        if os.name == "posix":
            assert os.stat("copy.db").st_mode & 0o777 == 0o600
        assert sorted(os.listdir()) == ["copy.db", "pm.db"]
        assert run("check", "--database", "copy.db")[0] == 0
        taken = "pmservice: copy.db: File exists; name a file that does not exist yet\n"
        assert run("backup", "copy.db") == (2, "", taken)
        with contextlib.closing(Client("copy.db")) as copy:
            assert copy.get(f"/products/{removed}")["deleted"] is False
            assert copy.product()["id"] == removed + 1

    def test_backup_that_fails_leaves_no_copy(self, run, monkeypatch):
        def fail(*_):
            raise sqlite3.OperationalError("database or disk is full")

        pmservice.create_app("pm.db").close()
        monkeypatch.setattr(pmservice, "give_name", fail)
        told = "pmservice: copy.db: database or disk is full\n"
        assert run("backup", "copy.db") == (2, "", told)
        assert os.listdir() == ["pm.db"]

    @each(("arguments", "code", "shown"), CALL_COMMANDS)
    def test_call_prints_the_answer_and_exits_with_1_from_400(self, run, arguments, code, shown):
        assert run("user", "admin")[0] == 0  # makes the file, as reading does not
        exit, out, _ = run("call", *arguments)
        assert exit == code
        assert json.loads(out) == (shown or json.loads(out))

    def test_long_work_shows_progress_on_a_terminal(self, run, monkeypatch):
        Path("f.json").write_text(json.dumps({"products": [{"name": "P"}] * 1001}))
        for command, words in (
            ("load f.json", "reading f.json …"),
            ("load f.json", "checking 1,000 of 1,001 records"),
            ("load f.json", "\r1,000 of 1,001 records"),
            ("load absent.json", "reading absent.json …"),
        ):
            monkeypatch.setattr(sys, "stderr", self.Terminal())
            pmservice.main(command.split())
            *shown, last = sys.stderr.getvalue().split("\r")
            assert words in "\r".join(shown)
            assert "…" not in last
            assert shown[-1].strip() == ""  # the line is cleared

    def test_only_serving_logs_requests_at_a_terminal_unasked(self, run, monkeypatch):
        pmservice.create_app("pm.db").close()
        monkeypatch.setattr(sys, "stderr", self.Terminal())
        assert pmservice.main(["call", "GET", "/products"]) == 0
        assert sys.stderr.getvalue() == ""

    @each(("at", "there"), DAMAGES)
    def test_damaged_or_strange_database_is_refused_and_left_as_it_is(
        self, run, file_of_world, at, there
    ):
        told = r"pmservice: pm\.db: .*\n"
        if isinstance(at, bytes):
            told = DAMAGED
            bad = file_of_world.replace(at, at[:3] + there + at[4:])  # also in unused space
        else:
            at = len(file_of_world) // 8192 * 4096 if at == 0.5 else at % len(file_of_world)
            bad = file_of_world[:at]
            if there:
                bad += there + file_of_world[at + len(there) :]
        Path("pm.db").write_bytes(bad)
        Path("f.json").write_text("{}")
        for command in (*READING, "backup copy.db", "load f.json", "user new1", "--port 0"):
            code, out, err = run(*command.split())
            assert code == 2, command
            assert out == ""
            assert re.fullmatch(told, err), command
            assert Path("pm.db").read_bytes() == bad
        assert sorted(os.listdir()) == ["f.json", "pm.db"]

    @MODES
    @each(("command", "folder_mode", "file_mode"), UNWRITABLE)
    def test_database_that_cannot_be_written_is_refused(
        self, run, unwritable, command, folder_mode, file_mode
    ):
        pmservice.create_app("pm.db").close()
        before = Path("pm.db").read_bytes()
        unwritable(folder_mode, file_mode)
        code, out, told = run(*command.split())
        assert code == 2
        assert out == ""
        name = "new.db" if "new.db" in command else "pm.db"
        assert re.fullmatch(f"pmservice: {name}: .*; name another file with --database\n", told)
        assert os.listdir() == ["pm.db"]
        assert Path("pm.db").read_bytes() == before

    @MODES
    @each("is_served", [False, True])
    def test_file_that_can_only_be_read_is_read_and_nothing_is_created(
        self, run, unwritable, is_served
    ):
        Client("pm.db", load={"products": [{"name": "in the file"}]}).close()
        total = 1
        with contextlib.ExitStack() as stack:
            if is_served:
                live = stack.enter_context(Live(Path(), "--token", "t"))
                live.call("POST", "/products", {"name": "in the log"})
                total = 2
            before = {path: path.read_bytes() for path in Path().iterdir()}
            unwritable(0o555, 0o444)
            for command in READING:
                code, out, told = run(*command.split())
                assert code == 0, command
                assert told == ""
                assert not out.startswith("{") or out.count('"in the') == total
            assert {path: path.read_bytes() for path in Path().iterdir()} == before

    @each("is_empty", [False, True])
    def test_reading_creates_no_database(self, run, is_empty):
        if is_empty:
            Path("pm.db").touch()
        before = os.listdir()
        told = "pmservice: pm.db: there is no such database; name one with --database\n"
        for command in READING:
            assert run(*command.split()) == (2, "", told)
        assert os.listdir() == before
        assert not is_empty or os.path.getsize("pm.db") == 0


class Meanwhile:
    """Another process. It acts once, at one of the moments at which a command touches a file.

    act: what it does; it raises an error if it cannot.  left: how many moments pass before.
    acted: whether it could; None until it has tried.
    is_late: whether the command had begun to write by then.
    """

    ASKED = ("application_id", "user_version", "quick_check", "journal_mode")
    MOMENTS = ("BEGIN", "COMMIT", *map("PRAGMA {}".format, ASKED))

    def __init__(self, monkeypatch: pytest.MonkeyPatch, file: str):
        self.file = file
        self.act = None
        self.left = 0
        self.acted = False
        self.is_late = False
        watch(monkeypatch).before = self.before_a_statement
        for module, name in (
            (os, "open"),
            (os, "link"),
            (os, "rename"),
            (os, "replace"),
            (sqlite3, "connect"),
        ):
            monkeypatch.setattr(module, name, partial(self.call, getattr(module, name)))

    def call(self, function, *arguments, **options):
        """Call a function of the system: if that names the file, it is a moment."""
        names_it = any(self.file in str(one) for one in arguments)
        if names_it:
            self.come()
        result = function(*arguments, **options)
        if function.__name__ == "watched":
            result.is_to_it = names_it
        return result

    def before_a_statement(self, connection, sql):
        """Take a statement as a moment if it begins or ends something, or asks what file it is."""
        if connection.is_to_it and sql.startswith(self.MOMENTS):
            if self.acted is None and sql.startswith("BEGIN IMMEDIATE"):
                self.is_late = True
            self.come()

    def wait(self, act, moments):
        """Act when so many moments have passed."""
        self.act = act
        self.left = moments
        self.acted = None
        self.is_late = False

    def come(self):
        """Act if the moment has come. What this process does itself is no moment."""
        if self.acted is None:
            self.left -= 1
            if self.left < 0:
                self.try_to_act()

    def try_to_act(self):
        self.acted = False
        with contextlib.suppress(OSError, sqlite3.OperationalError):
            self.act()
            self.acted = True


# fmt: off
EVERY_MOMENT = [  # command, the file that is there, what another process does, the outcomes if it could do that and if it could not
    # An outcome is an exit code and the records that the file then has, in the order of their ids. The first one must occur.
    # A file that is replaced after the command has begun to write takes along what that wrote.
    ("backup",  "",       "makes",    "2 theirs",                    "0 mine"),
    ("load",    "",       "makes",    "0 theirs mine",               "0 mine"),
    ("load",    "empty",  "writes",   "0 theirs mine|0 mine theirs", "0 mine"),
    ("load",    "empty",  "replaces", "2 theirs|0 theirs mine",      "0 mine"),
    ("start",   "",       "makes",    "0 theirs",                    "0"),
    ("start",   "empty",  "replaces", "0 theirs",                    "0"),
    ("start",   "old",    "writes",   "0 old theirs",                "0 old"),
    ("start",   "old",    "replaces", "0 theirs",                    "0 old"),
    ("--load",  "",       "makes",    "0 theirs",                    "0 mine"),
    ("--load",  "",       "writes",   "0 theirs|0 mine theirs",      "0 mine"),
    ("--load",  "empty",  "writes",   "0 theirs|0 mine theirs",      "0 mine"),
    ("--load",  "empty",  "replaces", "2 theirs|0 theirs",           "0 mine"),
]
# fmt: on


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Return the folder of files that commands read and other processes prepare."""
    folder = tmp_path_factory.mktemp("others")
    for name, products in (
        ("empty", []),
        ("mine", [dict(id=50, name="mine")]),
        ("theirs", [dict(name="theirs")]),
    ):
        (folder / f"{name}.json").write_text(json.dumps({"products": products}))
        Client(folder / f"{name}.db", load={"products": products}).close()
    shutil.copy(folder / "mine.db", folder / "old.db")
    return folder


class TestFilesOfOthers:
    """Whatever another process does with a file, and whenever: what it wrote is kept."""

    FILES = {"backup": "copy.db"}  # what a command makes, if not pm.db

    @pytest.fixture(autouse=True)
    def prepare(self, run, others):
        """Work in an empty folder."""
        self.run = run
        self.others = others

    # The commands: each returns its exit code and what it tells a person

    def start(self, **settings):
        try:
            pmservice.create_app("pm.db", **settings).close()
        except pmservice.StartError as error:
            return 2, f"pmservice: {error}\n"
        return 0, ""

    def perform(self, command):
        mine = str(self.others / "mine")
        if command == "start":
            return self.start()
        if command == "--load":
            return self.start(load=f"{mine}.json")
        words = {
            "load": ["load", f"{mine}.json"],
            "backup": ["backup", "copy.db", "--database", f"{mine}.db"],
        }
        return self.run(*words[command])[::2]

    # Acts of another process

    def makes(self, file):
        os.link(self.ready, file)
        os.unlink(self.ready)

    def writes(self, file):
        uri = f"{Path(file).absolute().as_uri()}?mode=rw"
        with (
            contextlib.closing(sqlite3.connect(uri, uri=True, timeout=0)) as connection,
            connection,
        ):
            connection.execute("INSERT INTO product (name) VALUES ('theirs')")

    def replaces(self, file):
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{file}{suffix}")
        os.replace(self.ready, file)

    def content(self, file):
        """Return the names of the products that a file has."""
        if not os.path.exists(file):
            return []
        if file.endswith(".json"):
            return [one["name"] for one in json.loads(Path(file).read_text())["products"]]
        with contextlib.closing(sqlite3.connect(file)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            return [name for (name,) in connection.execute("SELECT name FROM product ORDER BY id")]

    @each(("command", "there", "act", "outcomes", "without"), EVERY_MOMENT)
    def test_what_another_process_wrote_at_any_moment_is_kept_and_not_mixed(
        self, monkeypatch, later, command, there, act, outcomes, without
    ):
        file = self.FILES.get(command, "pm.db")
        seen = Counter()
        old = self.content(str(self.others / "old.db"))
        if there == "old":
            later()
        meanwhile = Meanwhile(monkeypatch, file)
        theirs = self.others / f"theirs{Path(file).suffix}"
        for moment in itertools.count():
            for name in os.listdir():
                os.unlink(name)
            if there:
                shutil.copy(self.others / f"{there}.db", file)
            self.ready = shutil.copy(theirs, self.others / f"prepared{theirs.suffix}")
            meanwhile.wait(partial(getattr(self, act), file), moment)
            code, told = self.perform(command)
            if has_ended := meanwhile.acted is None:
                meanwhile.try_to_act()
            content = self.content(file)
            if there == "old" and content[: len(old)] == old:
                content[: len(old)] = ["old"]
            outcome = " ".join([str(code), *content])
            possible = (outcomes if meanwhile.acted else without).split("|")
            if act == "replaces" and (meanwhile.is_late or has_ended):
                possible.append("0 theirs")
            assert outcome in possible, (seen, told)
            assert code == 0 or re.fullmatch(
                rf"pmservice: .*({re.escape(file)}|file was removed or replaced).*\n", told
            )
            assert {*os.listdir()} <= {file, f"{file}-wal", f"{file}-shm"}
            seen[outcome] += 1
            if has_ended:
                break
        assert outcomes.split("|")[0] in seen

    def test_copies_need_no_hard_links(self, monkeypatch):
        def refuse(*_):
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

        monkeypatch.setattr(os, "link", refuse)
        assert self.perform("backup")[0] == 0
        assert self.content("copy.db") == ["mine"]
        assert os.listdir() == ["copy.db"]
        Path("part").write_text("other")
        with pytest.raises(FileExistsError):
            pmservice.give_name("part", "copy.db")
        assert self.content("copy.db") == ["mine"]

    @posix("Windows lets only administrators make links")
    def test_backup_replaces_no_link_to_nothing(self):
        os.symlink("absent.db", "copy.db")
        code, told = self.perform("backup")
        assert code == 2
        assert told.count("\n") == 1
        assert told.startswith("pmservice: copy.db: ")
        assert os.readlink("copy.db") == "absent.db"
        assert os.listdir() == ["copy.db"]


# --- The README -----------------------------------------------------------------------------------


README = (HERE / "README.md").read_text("utf-8")
README_URL = "http://127.0.0.1:8080"
WHOLE_LINES = re.MULTILINE | re.DOTALL


def section_of(heading: str) -> str:
    """Return the text below a heading of the README, with the headings below it."""
    (marks,) = re.findall(rf"^(##+) {re.escape(heading)}$", README, re.MULTILINE)
    _, _, text = README.partition(f"\n{marks} {heading}\n")
    return re.split(rf"^#{{2,{len(marks)}}} ", text, maxsplit=1, flags=re.MULTILINE)[0]


def code_of(heading: str, language: str = "[a-z]*", beginning: str = "") -> list[str]:
    """Return the blocks of code below a heading that begin so."""
    pattern = rf"^```{language}\n({re.escape(beginning)}.*?)```"
    return re.findall(pattern, section_of(heading), WHOLE_LINES)


def steps_of(heading: str) -> list[tuple[str, str]]:
    """Return the commands of the first session below a heading, each with what it prints."""
    _, *steps = re.split(r"^\$ ", code_of(heading, "console")[0], flags=re.MULTILINE)
    return [tuple(step.split("\n", 1)) for step in steps]


def rows_of(heading: str) -> list[list[str]]:
    """Return the rows of the first table below a heading, without its head."""
    lines = re.findall(r"(?:^\|.*\n)+", section_of(heading), re.MULTILINE)[0].splitlines()
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines[2:]]


def words_in(cell: str) -> set[str]:
    """Return the words that are marked as code."""
    return {*re.findall(r"`(\w+)`", cell)}


def calls_in(cell: str, needed: str = "", below: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Yield the calls that a cell names: the method, the path, its ?parameter= and its fields."""
    for clause in cell.split("; "):
        paths = re.findall(r"`(/[^`?]*)(?:\?(\w+)=)?`(?: \((`[^)]+)\))?", clause)
        methods = re.findall("GET|POST|PUT|DELETE", clause)
        for method in methods:
            for path, by, fields in paths:
                required = fields if methods == ["GET"] else ""
                if method == "POST":
                    required = fields or needed
                yield method, below + path, by, required


def bash(script: str, url: str) -> str:
    """Run a script of the README at this service; return what it prints."""
    words = ["bash", "-e", "-c", script.replace(README_URL, url)]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", timeout=60)
    assert done.stderr == ""
    return done.stdout


CURL = pytest.mark.skipif(
    not (shutil.which("bash") and shutil.which("curl")), reason="needs bash and curl"
)


class TestReadme:
    """The README's statements, tried."""

    def test_families_name_every_operation_and_what_it_requires(self):
        offered = {(one.method, one.path): one for one in pmservice.OPERATIONS}
        named = []
        for _, lists, single, more, needed, _ in rows_of("Reference"):
            (_, record, *_), *_ = [*calls_in(single), ("", "")]
            named += calls_in(lists, needed), calls_in(single), calls_in(more, below=record)
        named = [*itertools.chain(*named)]
        assert sorted(call[:2] for call in named) == sorted(offered)
        for method, path, by, required in named:
            operation = offered[method, path]
            assert words_in(required) == operation.reads.required
            assert by in ({operation.by} if method == "POST" else {"", *operation.parameters})

    def test_families_name_every_status(self):
        words = {(one.method, one.path): one.shows for one in pmservice.OPERATIONS}
        for _, lists, *_, statuses in rows_of("Reference"):
            shown = [words[call[:2]] for call in calls_in(lists) if call[0] == "GET"]
            taken = {word for shows in shown for word in getattr(shows, "browse", {})}
            assert {*map(str.lower, words_in(statuses) | {"all"})} == {
                *map(str.lower, taken | {"all"})
            }

    def test_it_counts_the_operations(self):
        count = len(pmservice.OPERATIONS)
        assert f"{count} operations" in README
        assert f"The other {count - 14} " in README

    def test_controls_are_all_named(self):
        named = [call[:2] for cell, _ in rows_of("Controls") for call in calls_in(cell)]
        assert sorted(named) == sorted((one.method, one.path) for one in pmservice.CONTROLS)

    def test_it_names_every_array_of_a_fixture(self):
        (arrays,) = re.findall(r"any of the arrays (.*?)\.", section_of("Seeding"), re.DOTALL)
        assert words_in(arrays) == {*pmservice.FIXTURE}

    def test_commands_and_settings_it_names_are_there(self):
        named = " ".join(re.findall(r"pmservice[^`\n]*", README))
        flags = {*re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", named)}
        known = {"--help", "--version", "--prot"}  # the last one is a mistake that is shown
        known |= {setting.flag for setting in pmservice.FLAGS}
        for command in pmservice.COMMANDS.values():
            known |= {*command.arguments}
        assert flags <= known
        commands = {*re.findall(r"(?:\$ |(?<!Error\()`)pmservice ([a-z]+)", README)}
        assert commands <= {*pmservice.COMMANDS}

    def test_fixture_of_the_readme_can_be_loaded(self, client):
        assert client.load(**json.loads(code_of("Seeding", "json")[0])) == 4

    @CURL
    def test_session_goes_as_it_is_written(self, tmp_path):
        script, expected = "", ""
        for command, told in steps_of("A session"):
            script += f"{command}\necho\n"
            expected += f"{told}\n"
        with Live(tmp_path, "--password", "secret") as live:
            assert bash(script, live.url).split() == expected.split()

    @CURL
    def test_first_calls_of_the_chinese_section_are_answered(self, tmp_path):
        script = code_of("中文", "sh")[-1].replace("curl -s", r"curl -sS --fail -w '\n'")
        with Live(tmp_path, "--password", "secret") as live:
            lines = bash(script, live.url).splitlines()
        changed, found = map(json.loads, filter(None, lines))
        assert changed["pri"] == 1
        assert [bug["title"] for bug in found["bugs"]] == ["登录失败"]


class TestWorkingOffline:
    """Copies of what a server holds."""

    def test_copy_of_the_demo_is_made_as_it_is_written(self, run, monkeypatch):
        (export, _), *steps = steps_of("Work offline with your own records")
        monkeypatch.setenv(*export.split()[1].split("="))
        # How many tasks are open, and so shown to a member, depends on the day of the week.
        settings = dict(demo=True, password="secret", now="2026-11-22T12:00:00Z")
        with pmservice.running(**settings) as source:
            for command, expected in steps:
                words, _, file = command.replace(README_URL, source.url).partition(" > ")
                code, out, told = run(*words.split()[1:])
                assert code == 0
                if file:
                    Path(file).write_text(out)
                shown = told if file else told + out
                for lines in expected.split("…\n"):  # it leaves out the others
                    assert lines in shown

    @pytest.fixture
    def encrypted(self, client, tmp_path):
        """Serve `client` over TLS; yield its URL. Its certificate, cert.pem, is its own issuer."""
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
        command += " -keyout key.pem -out cert.pem -days 2"
        command += " -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
        subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
        server = wsgiref.simple_server.make_server("127.0.0.1", 0, client.service)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        with server, ThreadPoolExecutor(1) as thread:
            thread.submit(server.serve_forever, 0.05)
            yield f"https://127.0.0.1:{server.server_port}"
            server.shutdown()

    @pytest.mark.skipif(
        not shutil.which("openssl"), reason="there is no openssl to make a certificate"
    )
    def test_certificate_must_be_trusted(self, encrypted, run, monkeypatch):
        monkeypatch.setenv("PMSERVICE_PULL_TOKEN", "t")
        code, out, told = run("pull", encrypted)
        assert (code, out) == (2, "")
        assert "/user was not answered: [SSL: CERTIFICATE_VERIFY_FAILED]" in told
        monkeypatch.setenv("SSL_CERT_FILE", "cert.pem")
        assert run("pull", encrypted)[0] == 0


OTHER_LANGUAGES = "In other languages"
NODE = pytest.mark.skipif(not shutil.which("node"), reason="needs Node")
SHELL = pytest.mark.skipif(
    not (shutil.which("mkfifo") and shutil.which("curl")), reason="needs mkfifo and curl"
)
RECIPES = [pytest.param("node --test", marks=NODE), pytest.param("sh run", marks=SHELL)]
# What vitest does with its recipe: start the service, take its URL, use it and stop it.
VITEST = """
import start from "./pmservice.mjs";
let url;
const stop = await start({provide: (name, value) => { if (name === "url") url = value; }});
console.log((await fetch(url + "/products", {headers: {Token: "t"}})).status);
"""
# fmt: off
KILLED = [  # command, its file, of which the last line kills the process that runs it
    pytest.param("node killed.mjs", VITEST + 'process.kill(process.pid, "SIGKILL");', marks=NODE),
    pytest.param("sh killed.sh",    code_of(OTHER_LANGUAGES, "sh")[0] + "kill -9 $$", marks=SHELL),
]
# fmt: on


class TestInOtherLanguages:
    """The README's recipes for other languages, run as they stand."""

    @pytest.fixture(autouse=True)
    def recipes(self, tmp_path, monkeypatch):
        """Enter a folder with the recipes as files; the command `pmservice` is on the path."""
        (tmp_path / "shop.test.mjs").write_text(code_of(OTHER_LANGUAGES, "js")[0])
        (tmp_path / "run").write_text(code_of(OTHER_LANGUAGES, "sh")[0])
        (tmp_path / "pmservice.mjs").write_text(code_of(OTHER_LANGUAGES, "js")[1])
        (tmp_path / "test_shop.py").write_text(code_of(OTHER_LANGUAGES, "python")[0])
        command = tmp_path / "pmservice"
        command.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{HERE / 'pmservice.py'}' \"$@\"\n")
        command.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
        monkeypatch.chdir(tmp_path)

    def run_recipe(self, words: str) -> subprocess.CompletedProcess[str]:
        """Run a recipe to its end."""
        return subprocess.run(words.split(), capture_output=True, text=True, timeout=60)

    def check_ended(self, printed: str) -> None:
        """Check that nobody listens any longer at the URL that the service told on stderr."""
        (url,) = re.findall("serves :memory: at (http://[0-9.:]+)", printed)
        with pytest.raises(ConnectionRefusedError):
            connection_to(url).connect()

    @NODE
    def test_node_s_tests_pass_and_stop_the_service(self):
        done = self.run_recipe("node --test")
        assert re.search("^. pass 2$", done.stdout, re.MULTILINE)
        self.check_ended(done.stdout)

    @SHELL
    def test_script_creates_resets_and_lists_and_stops_the_service(self):
        done = self.run_recipe("sh run")
        created, _, listed = map(json.loads, done.stdout.splitlines())
        assert (created["id"], listed["total"]) == (1, 0)
        self.check_ended(done.stderr)

    @each("words", RECIPES)
    def test_service_that_cannot_start_fails_them_and_says_why(self, words, monkeypatch):
        monkeypatch.setenv("PMSERVICE_LOAD", "missing.json")
        done = self.run_recipe(words)
        assert done.returncode == 1
        assert "missing.json: No such file or directory" in done.stdout + done.stderr

    @each(("words", "text"), KILLED)
    def test_service_ends_with_a_process_that_is_killed(self, words, text):
        Path(words.split()[1]).write_text(text)
        # it returns when nobody can write to stderr any longer, and so when the service has ended
        done = self.run_recipe(words)
        assert done.returncode == -signal.SIGKILL
        self.check_ended(done.stderr)

    @NODE
    def test_setup_of_vitest_starts_and_stops_the_service(self):
        Path("use.mjs").write_text(f"{VITEST}stop();")
        done = self.run_recipe("node use.mjs")
        assert (done.returncode, done.stdout) == (0, "200\n")
        self.check_ended(done.stderr)

    @pytest.mark.skipif(sys.version_info < (3, 11), reason="enterContext() came with Python 3.11")
    def test_unittest_passes(self, monkeypatch):
        monkeypatch.setenv("PYTHONPATH", str(HERE), prepend=os.pathsep)
        done = subprocess.run([sys.executable, "-m", "unittest"], capture_output=True, text=True)
        assert done.returncode == 0
        assert "Ran 1 test in" in done.stderr

    def test_go_and_node_start_the_same_service(self):
        node, vitest, _ = code_of(OTHER_LANGUAGES, "js")
        (go,) = code_of(OTHER_LANGUAGES, "go")
        for code in (node, vitest, go):
            (words,) = re.findall('"--with-parent".*"t"', code)
            assert json.loads(f"[{words}]") == WITH_PARENT[2:]

    def test_settings_of_the_container_are_known(self):
        *_, code = code_of(OTHER_LANGUAGES, "js")
        known = {f"{pmservice.PREFIX}{setting.name.upper()}" for setting in pmservice.FLAGS}
        named = {*re.findall("PMSERVICE_[A-Z]+", code)}
        assert len(named) == 2
        assert named <= known


def block(beginning: str) -> str:
    """Return the only block of code that begins so, of those for running the service for real."""
    (block,) = code_of("Run it for others", beginning=beginning)
    return block


# fmt: off
COMMAND_LINES = [  # the file that begins so, where its command line is, its settings
    ("FROM ",  r'^CMD \["pmservice", (.*)\]', {"host": "0.0.0.0"}),
    ("[Unit]", r"^ExecStart=\S+ (.*)",        {"database": "/var/lib/pmservice/pm.db"}),
]
# fmt: on


class TestRunningItForReal:
    """The files and commands of this section that need no container and no systemd."""

    def health(self, url: str) -> int:
        """Return the exit code of the image's health check on this service."""
        (check,) = re.findall(r"HEALTHCHECK .*\n +CMD (.*)", block("FROM "))
        _, *words = json.loads(check.replace(README_URL, url))
        return subprocess.run([sys.executable, *words], stderr=subprocess.DEVNULL).returncode

    @OPEN_FILES
    def test_health_check_tells_a_service_that_can_work_from_others(self, tmp_path):
        path = tmp_path / "pm.db"
        with pmservice.running(path) as served:
            # on a busy machine it can take too long
            assert any(self.health(served.url) == 0 for _ in range(10))
            path.rename(tmp_path / "away.db")
            assert self.health(served.url) == 1
        assert self.health(served.url) == 1

    @each(("beginning", "pattern", "settings"), COMMAND_LINES)
    def test_command_lines_of_the_image_and_the_unit_are_understood(
        self, beginning, pattern, settings
    ):
        (line,) = re.findall(pattern, block(beginning), re.MULTILINE)
        words = re.sub('[",]', "", line).split()
        parsed = pmservice.make_parser().parse_args(words)
        assert vars(parsed) == {"command": None, **settings}

    def test_settings_in_the_compose_file_are_known(self):
        composed = pytest.importorskip("yaml").safe_load(block("services:"))
        service, _ = composed["services"].values()
        known = {f"{pmservice.PREFIX}{setting.name.upper()}" for setting in pmservice.FLAGS}
        assert {*service["environment"]} <= known

    @posix("Windows has no POSIX shell")
    def test_nightly_backup_makes_a_copy_and_removes_old_ones_then_only(self, tmp_path):
        def nightly() -> int:
            return subprocess.run(["sh", "-c", line], stderr=subprocess.DEVNULL).returncode

        line = block("17 3 * * * root ").removeprefix("17 3 * * * root ").replace(r"\%", "%")
        command = f"'{sys.executable}' '{HERE / 'pmservice.py'}'"
        line = line.replace("/opt/pmservice/bin/pmservice", command)
        line = line.replace("/var/backups/pmservice", f"'{tmp_path}'")
        line = line.replace("/var/lib/pmservice/pm.db", "served.db")
        for name, days in (("pm-old.db", 16), ("pm-recent.db", 13)):
            (tmp_path / name).touch()
            then = time.time() - days * 86_400
            os.utime(tmp_path / name, (then, then))
        assert nightly() == 2
        assert {*os.listdir(tmp_path)} == {"pm-old.db", "pm-recent.db"}
        with pmservice.running(tmp_path / "served.db", load=WORLD):
            assert nightly() == 0
        copy, recent = sorted(tmp_path.glob("pm-*.db"))
        assert recent.name == "pm-recent.db"
        with opened(copy) as client:
            assert client.get("/products")["total"] == 2
