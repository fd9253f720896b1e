"""Tests of pmservice, in the module's order.

The specification stands here a second time, as data: SPECIFIED says which fields a record has and of which
sort, SHOWN how each operation shows them. Both are written from the specification's words; nothing of them
is imported from the module, so a changed cell there turns a test red here. Besides, every answer that a test
receives through a Client is held against the service's own OpenAPI document.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import fnmatch
import gzip
import hashlib
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
import runpy
import select
import shutil
import signal
import socket
import socketserver
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
from collections import ChainMap, Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from functools import cache, partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from jsonschema import Draft202012Validator

import pmservice

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


# --- The answers as the OpenAPI document describes them -------------------------------------------------

DOCUMENT = json.loads(pmservice.openapi_text(True))


def written_out(part: Any) -> Any:
    """Return a part of the document with every `$ref` replaced by what it refers to."""
    if isinstance(part, list):
        return [written_out(one) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return written_out(DOCUMENT["components"]["schemas"][part["$ref"].rpartition("/")[2]])
    return {name: written_out(value) for name, value in part.items()}


def validator(answer: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator(written_out(answer["content"]["application/json"]["schema"]))


DESCRIBED = {
    (method.upper(), path): {
        int(status): validator(answer) for status, answer in operation["responses"].items()
    }
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
    if method != "parameters"
}
REFUSAL = Draft202012Validator(written_out({"$ref": "#/components/schemas/Error"}))


def answers_of(method: str, path: str) -> dict[int, Draft202012Validator]:
    """Return the validators of a request's answers by status; {} for a path or method that the document lacks."""
    path = re.sub("^(/zentao)?/api.php/v1(?=/)", "", path.partition("?")[0])
    return DESCRIBED.get(
        (method, re.sub("/[1-9][0-9]*(?=/|$)", "/{id}", path.removesuffix("/"))), {}
    )


def hold_against_the_document(method: str, path: str, status: int, body: Any) -> None:
    described = answers_of(method, path)
    if (
        described and status != 500 and not ("/-/" in path and status == 404)
    ):  # the controls may be off
        assert status in described, f"{method} {path} is not described to answer {status}"
        described[status].validate(body)
    elif status >= 400:
        REFUSAL.validate(body)


# --- Fixtures and builders ----------------------------------------------------------------------------


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
    """Return the scrypt hash of "secret". Its MD5 is what is hashed, because clients send either."""
    md5 = hashlib.md5(b"secret").hexdigest()
    return hashlib.scrypt(md5.encode(), salt=bytes.fromhex(salt), n=n, r=8, p=1).hex()


SALT = "0123456789abcdef" * 2
SECRET = f"scrypt:{SALT}:{scrypted(SALT, 16384)}"  # the password "secret", hashed once: each hash takes its time


class Client:
    """An app on a database. Requests carry the operator's token unless a test says otherwise."""

    def __init__(self, path: Any, **settings: Any):
        self.path, self.clock, self.token = path, Clock(), "t"
        self.service = pmservice.create_app(path, **{"token": "t", "clock": self.clock, **settings})
        self.app = webtest.TestApp(self.service)

    def close(self) -> None:
        self.service.close()

    def call(
        self, method: str, path: str, body: Any = None, **headers: str | None
    ) -> webtest.TestResponse:
        """Send a request; return the answer, whatever its status. A body that is not bytes is sent as JSON."""
        raw = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        sent = {"Token": self.token, "Content-Type": "application/json", **headers}
        sent = {name.replace("_", "-"): value for name, value in sent.items() if value is not None}
        environ = {"REQUEST_URI": path}  # as the server gives it, before any tidying
        answer = self.app.request(
            path, environ=environ, method=method, body=raw, headers=sent, expect_errors=True
        )
        assert answer.content_type == "application/json"
        if "Origin" not in headers:
            assert not [
                name for name in answer.headers if name.lower().startswith("access-control")
            ]
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
        """Send a request that must be refused, must change nothing and must end its transaction; return the refusal."""
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

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self.service.database.writing() as store:
            return [tuple(row) for row in store.run(statement, values)]

    def token_of(self, account: str) -> str:
        """Return a new token of a user without a login, which would have to hash a password."""
        token = os.urandom(16).hex()
        hash = hashlib.sha256(token.encode()).hexdigest()
        self.sql("INSERT INTO token (hash, account, used) VALUES (?, ?, ?)", hash, account, NOW_ISO)
        return token

    def login(self, account: str, password: str = "secret") -> str:
        return str(
            self.call("POST", "/tokens", {"account": account, "password": password}).json["token"]
        )


class Connections(list[sqlite3.Connection]):
    """Connections to databases. `ran` of a connection lists its statements, each with its values."""

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
    """Every connection opened from now on. Request this before the fixture that opens the database."""
    return watch(monkeypatch)


# In memory, as a file would be: without controls. Tests in which a file matters take `filed` or `filed_world`.


@pytest.fixture(autouse=True)
def log_as_it_was():
    """Take off the log's handler after a test of the command line: it ends a process that has no memory left."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Return a function that runs the command line in an empty folder: its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: (pmservice.main(arguments), *capsys.readouterr())


@pytest.fixture
def client():
    """Yield an app on a new database."""
    with contextlib.closing(Client(":memory:", control=False)) as client:
        yield client


@pytest.fixture
def world(client):
    """Yield an app that holds WORLD."""
    client.load(**WORLD)
    return client


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
    with contextlib.closing(Client(":memory:", control=False, timezone="Asia/Shanghai")) as client:
        yield client


# --- The specification as data ------------------------------------------------------------------------
# The fields of each record by the sort of value that the specification gives them: described fields and
# those seen only in samples alike. A moment is a datetime; `stamp` is the one that is "string" in every sample.

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
                  " openedBuild resolution linkBug entry lines v1 v2 repoType",
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
         "counts": COUNTS, "null": None, "boolean": False, "number": 0, "array": []}
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


def reference(account): return {"id": USERS[account][0], "account": account, "avatar": "", "realname": USERS[account][1]}
def plain(value): return value
def iso(moment): return moment
def spaced(moment): return moment.replace("T", " ").rstrip("Z")
def digit(flag): return "1" if flag else "0"
def references(accounts): return [reference(account) for account in accounts]
def commas(accounts): return "," + "".join(f"{account}," for account in accounts)
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
        return {"deleted": self.deleted, "whitelist": self.whitelist, "status": self.status}.get(sort, plain)(value)


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
    """Return JSON as lines: they tell 8 from 8.0 and 0 from false, and pytest shows which differ."""
    return json.dumps(value, indent=0, sort_keys=True, ensure_ascii=False).splitlines()


def without(facts: dict[str, Any], *fields: str) -> dict[str, Any]:
    return {field: value for field, value in facts.items() if field not in fields}


# --- 1 Words and 4 Records: the structure -------------------------------------------------------------

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


class TestStructure:
    """A field is named once in Python and once in SQL."""

    @staticmethod
    def columns(client, table):
        return {name for (name,) in client.sql("SELECT name FROM pragma_table_info(?)", table)}

    @EVERY_RECORD
    def test_given_fields_are_the_columns_of_the_table(self, client, record):
        derived_but_kept = {"project": {"path", "grade"}}
        assert self.columns(client, record.table) - derived_but_kept.get(
            record.table, set()
        ) == set(record.settable())

    @each("name", SPECIFIED)
    def test_fields_are_those_of_the_specification(self, name):
        record = RECORDS[name]
        assert set(record.fields) - set(record.extra.split()) == set(SORTS[name])

    def test_enumerations_are_those_of_the_specification(self):
        enumerated = {
            (record.table, field): set(kind.schema["enum"])
            for record in RECORDS.values()
            for field, kind in record.fields.items()
            if "enum" in kind.schema and kind.look == "quoted" and kind.source == "given"
        }
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
            pmservice.Resource("note", "note", {"id": pmservice.ID}, defaults={})

    def test_record_is_looked_up_where_the_link_to_it_leads(self):
        for operation in pmservice.OPERATIONS:
            if isinstance(operation.shows, pmservice.Listing) and operation.target:
                within = operation.shows.within
                link = operation.shows.view.resource.fields.get(within)
                above = {"execution": "execution or project"}.get(
                    within, within
                )  # of those that are linked otherwise
                assert operation.target == (link.target if link else above), operation.path

    @each(
        "change",
        ["ADD COLUMN stranger TEXT", "RENAME COLUMN keywords TO stranger", "DROP COLUMN keywords"],
    )
    def test_file_with_other_columns_than_the_fields_is_refused(self, filed, change):
        filed.close()
        with contextlib.closing(sqlite3.connect(filed.path)) as file:
            file.execute(f"ALTER TABLE bug {change}")
        with pytest.raises(
            pmservice.StartError,
            match=r"pm\.db: the columns of its table bug .*(stranger|keywords)",
        ):
            pmservice.create_app(filed.path)

    def test_every_operation_of_the_specification_can_be_called(self):
        offered = {
            f"{one.method} {one.path.replace('<id>', ':id')}" for one in pmservice.OPERATIONS
        }
        assert offered >= {*SHOWN, "POST /tokens"}


# --- 5 Views: how it looks ----------------------------------------------------------------------------
# Each operation on a record with everything and on one with nothing, against its row of SHOWN.

EDITED = {"lastEditedBy": "admin", "lastEditedDate": NOW_ISO}
EMPTIED = dict.fromkeys(("closedBy", "closedDate", "canceledBy", "canceledDate")) | {
    "closedReason": ""
}
UNFINISHED = {**EMPTIED, "finishedBy": None, "finishedDate": None}


def facts_of(array: str, id: int, **more: Any) -> dict[str, Any]:
    """Return the fields that WORLD gives a record, with further ones."""
    return {**next(record for record in WORLD[array] if record["id"] == id), **more}


# fmt: off
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
NEW_STEPS   = [dict(id=6, parent=0, case=3, version=1, type="step", desc="a", expect="b"), dict(id=7, parent=0, case=3, version=1, type="step", desc="c", expect="")]
ANSWERS = [
    # operation                   path                     body                                      the facts shown
    ("GET /products",             "/products",             None,                                     [PRODUCT_1, PRODUCT_2]),
    ("POST /products",            "/products",             NEW_PRODUCT,                              dict(NEW_PRODUCT, id=3, programName="Alpha")),
    ("POST /products",            "/products",             dict(name="P"),                           dict(name="P", id=3)),
    ("GET /products/:id/bugs",    "/products/1/bugs",      None,                                     [dict(id=2, product=1, title="Bug two"), BUG_1]),
    ("POST /products/:id/testcases", "/products/2/testcases", dict(NEW_CASE, steps=STEPS),           dict(NEW_CASE, id=3, product=2, storyVersion=0, steps=NEW_STEPS)),
    ("GET /testcases/:id",        "/testcases/1",          None,                                     CASE_1),
    ("GET /testcases/:id",        "/testcases/2",          None,                                     dict(id=2, product=2, title="Case two", caseFails=0)),
    ("POST /programs",            "/programs",             dict(NEW_PROGRAM, parent="1", budget=3),  dict(NEW_PROGRAM, id=7, type="program", parent=1, path=",1,7,", grade=2, budget="3")),
    ("POST /programs",            "/programs",             dict(name="N", begin="2026-02-01", end="2026-06-30"), dict(id=7, name="N", type="program", acl="open", begin="2026-02-01", end="2026-06-30")),
    ("GET /programs/:id",         "/programs/1",           None,                                     facts_of("programs", 1, type="program", budget="200000")),
    ("GET /programs/:id",         "/programs/4",           None,                                     dict(id=4, name="Beta", type="program", acl="open", begin="2026-11-20", end="2059-12-31")),
    ("POST /projects",            "/projects",             dict(NEW_PROJECT, products=[1, 2]),       dict(NEW_PROJECT, **EDITED, id=7, type="project", path=",1,7,", grade=2, team="N")),
    ("POST /projects",            "/projects",             dict(name="N", begin="2026-02-01", end="2026-06-30", products=[1]), dict(EDITED, id=7, name="N", type="project", model="scrum", acl="private", team="N", begin="2026-02-01", end="2026-06-30")),
    ("GET /projects/:id/releases", "/projects/2/releases", None,                                     [dict(id=2, project=2, product=2, name="R2", date="2026-11-20", productName="P two", projectName="Pr one"), facts_of("releases", 1, buildID=4, productName="P one", projectName="Pr one")]),
    ("POST /executions/:id/tasks", "/executions/3/tasks",  dict(NEW_TASK, assignedTo=["dev1"]),      dict(NEW_TASK, id=3, project=2, execution=3, left=1.5, assignedTo="dev1", assignedDate=NOW_ISO, assignedToRealName="Dan Dev", **OF_STORY_2)),
    ("POST /executions/:id/tasks", "/executions/5/tasks",  dict(NEW_TASK),                           dict(NEW_TASK, id=3, project=5, execution=5, left=1.5, **OF_STORY_2)),
    ("PUT /tasks/:id",            "/tasks/1",              dict(pri=3),                              dict(TASK_1, **EDITED | dict(pri=3), cases={"1": "Case one"})),
    ("PUT /tasks/:id",            "/tasks/2",              dict(pri=3),                              dict(TASK_2, **EDITED, pri=3, cases={})),
    ("POST /tasks/:id/start",     "/tasks/1/start",        dict(consumed=3, left=4),                 dict(TASK_1, **EDITED | UNFINISHED | dict(consumed=3, left=4, status="doing", progress=43, realStarted=NOW_ISO))),
    ("POST /tasks/:id/start",     "/tasks/2/start",        dict(left=0),                             dict(TASK_2, **EDITED, status="doing", realStarted=NOW_ISO)),
    ("POST /tasks/:id/finish",    "/tasks/1/finish",       dict(finishedDate="2026-02-09 17:00:00", currentConsumed=1), dict(TASK_1, **EDITED | EMPTIED | dict(consumed=3.5, left=0, status="done", progress=100, finishedBy="admin", finishedDate="2026-02-09T17:00:00Z"))),
    ("POST /tasks/:id/finish",    "/tasks/2/finish",       dict(finishedDate="2026-11-21", realStarted="2026-11-20"), dict(TASK_2, **EDITED, status="done", progress=100, finishedBy="admin", assignedTo="admin", assignedToRealName="admin", assignedDate=NOW_ISO, realStarted="2026-11-20T00:00:00Z", finishedDate="2026-11-21T00:00:00Z")),
    ("POST /tasks/:id/restart",   "/tasks/1/restart",      dict(consumed=6, left=4),                 dict(TASK_1, **EDITED | UNFINISHED | dict(consumed=6, left=4, status="doing", progress=60))),
    ("POST /tasks/:id/restart",   "/tasks/2/restart",      dict(consumed=0.5, left=2),               dict(TASK_2, **EDITED, consumed=0.5, left=2, status="doing", progress=20)),
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
        response = world.call(operation.split()[0], path, body)
        creating = operation.startswith("POST") and not re.search("start|finish", operation)
        assert response.status_int == (201 if creating else 200)
        answer, shown = response.json, SHOWN[operation]
        if isinstance(facts, list):
            assert lines(answer[path.split("/")[-1]]) == lines(
                [shown.of(**record) for record in facts]
            )
        elif operation == "POST /products":
            record = shown.of(**facts)
            assert lines(answer) == lines({**record, "total": 1, "products": [record]})
        else:
            assert lines(answer) == lines(shown.of(**facts))

    def test_every_operation_is_looked_at(self):
        assert {row[0] for row in ANSWERS} == set(SHOWN)

    @each(("path", "around"), [
        ("/products", {"total": 2}), ("/products?limit=1&page=2", {"page": 2, "total": 2, "limit": 1}),
        ("/products/1/bugs", {"page": 1, "total": 2, "limit": 20}), ("/projects/2/releases", {"total": 2}),
    ])  # fmt: skip
    def test_list_has_its_numbers_around_it(self, world, path, around):
        answer = world.get(path)
        key = next(key for key in ("products", "bugs", "releases") if key in answer)
        assert without(answer, key) == around

    def test_whole_hours_are_written_without_a_fraction(self, world):
        text = world.call("POST", "/tasks/1/restart", {"consumed": 8.0, "left": 0.25}).text
        assert '"consumed":8,"left":0.25,' in text


# The same beyond the specification: persons as references, ISO datetimes, null when unset, `deleted` boolean.
# The fields of the resources that the specification lacks are those of version 16.5 of the real server.

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
                  **dict.fromkeys(("stages", "files", "reviewer", "notReview", "tasks", "children", "bugs", "cases", "requirements"), "array"),
                  **dict.fromkeys(("executions", "extraStories", "planTitle"), "object")}
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
beyond = partial(Shown, person=reference, nobody=None, moment=iso, never=None, no_day=None, deleted=plain, status=plain)
COMPANIONS = {
    **{record: beyond(record) for record in (*PUBLISHED, "profile", "story", "project's testtask", "product", "release", "bug", "task", "testcase")},
    "project":         beyond("project", no_day="0000-00-00"),  # and program, execution
    "whole testcase":  beyond("testcase", adds="caseFails"),
    "listed plan":     beyond("plan", adds="stories bugs hour project projectID expired"),
    "whole plan":      beyond("plan", adds="stories bugs"),
    "listed build":    beyond("build", adds="executionID branchName"),
    "execution's build": beyond("build", adds="branchName"),
    "linked story":    beyond("listed story", adds="project story order productType"),
    "whole build":     beyond("build", adds="productType files"),
    "whole testtask":  beyond("testtask", adds="productType files testcases"),
    "tested case":     beyond("testcase", adds="task case assignedTo caseVersion storyTitle caseStatus bugs results caseFails stepNumber"),
}
ENDLESS   = dict(begin="2026-11-20", end="2059-12-31")
PROGRAM_1 = facts_of("programs", 1, type="program", budget="200000")
PROGRAM_4 = dict(id=4, name="Beta", type="program", acl="open", **ENDLESS)
PROJECT_2 = without(facts_of("projects", 2, type="project", team="Pr one", path=",1,2,", grade=2), "products")
PROJECT_5 = dict(id=5, name="Pr two", type="project", model="scrum", acl="private", team="Pr two", **ENDLESS)
STAGE_3   = dict(id=3, name="Ex one", type="stage", acl="private", project=2, parent=2, path=",2,3,", team="Ex one", **ENDLESS)
SPRINT_6  = dict(id=6, name="Ex two", type="sprint", acl="private", project=5, parent=5, path=",5,6,", team="Ex two", **ENDLESS)
RELEASE_1 = facts_of("releases", 1, buildID=4, productName="P one", projectName="Pr one")
RELEASE_2 = dict(id=2, project=2, product=2, name="R2", date="2026-11-20", productName="P two", projectName="Pr one")
BUG_2     = dict(id=2, product=1, title="Bug two")
CASE_2    = dict(id=2, product=2, title="Case two")
NEW_BUG   = dict(title="N", severity=1, pri=2, type="config", branch=1, module=2, project=2, execution=3, plan=4, story=5, task=6, keywords="k", os="o",
                 browser="b", hardware="h", found="f", steps="<p>s</p>", deadline="2026-12-01", case=7, caseVersion=8, result=9, testtask=10, color="#00f",
                 feedbackBy="fb", notifyEmail="n@x.org", linkBug="1")
NEW_STAGE = dict(name="N", begin="2026-02-01", end="2026-04-30", code="C", days=20, lifetime="short", desc="d", acl="private")
PEOPLED   = dict(PM="pm1", PO="po1", QD="qd1", RD="rd1", whitelist=["dev1"])
NEW_RELEASE = dict(name="N", date="2026-03-06", product=2, branch=1, desc="r", status="terminate", marker="1", stories="1,2", bugs="3", leftBugs="4")
REOPENED  = dict(status="active", resolution="", resolvedBy=None, resolvedDate=None, resolvedBuild="", duplicateBug=0, closedBy=None, closedDate=None)
WORKS     = facts_of("departments", 1, path=",1,", managerName="Pam Manager")
WORKSHOP  = facts_of("departments", 2, path=",1,2,", grade=2)
LISTED_1  = without(facts_of("stories", 1, plan="1", stage="released", parentName="Need", planTitle="Plan one", productStatus="closed"),
                    "spec", "verify", "versions", "executions", "plans", "reviewers")
LISTED_2  = dict(id=2, product=2, title="Story two", stage="wait")
LISTED_3  = dict(id=3, product=1, title="Need", type="requirement", parent=-1, childStories="1", estimate=2.5, productStatus="closed")
STORY_1   = dict(LISTED_1, spec="<p>s</p>", verify="v", planTitle={"1": "Plan one"}, reviewer=["dev2", "qa1"], notReview=["dev2"], parentPri=3, productName="P one",
                 executions={"3": dict(project=3, name="Ex one", status="wait", type="stage")}, requirements=[dict(id=3, title="Need")])
STORY_2   = without(dict(LISTED_2, productName="P two"), "planTitle")
STORY_3   = dict(LISTED_3, productName="P one", extraStories={"1": "Story one"}, children=[COMPANIONS["listed story"].of(**LISTED_1)])
NEW_STORY = dict(title="N", spec="s", verify="v", pri=2, category="feature", source="po", sourceNote="n", keywords="k", estimate=3, mailto=["dev1"],
                 assignedTo="dev2", module=1, branch=1)
ACTIVE    = dict(status="active", closedBy=None, closedDate=None, closedReason="", activatedDate=NOW_ISO)
LISTED_PLAN_1 = facts_of("plans", 1, stories=1, bugs=0, hour=2.5, project=0, projectID="", expired=False)
LISTED_PLAN_2 = dict(id=2, product=2, title="Plan two", stories=0, bugs=0, hour=0, project=0, projectID="", expired=False)
LISTED_PLAN_3 = facts_of("plans", 3, parent=-1, stories=0, bugs=0, hour=0, project=0, projectID="", expired=False)
PLAN_1    = facts_of("plans", 1, stories=[COMPANIONS["listed story"].of(**LISTED_1)], bugs=[])
PLAN_2    = dict(id=2, product=2, title="Plan two", stories=[], bugs=[])
NEW_PLAN  = dict(title="N", begin="2027-02-01", end="2027-03-01", desc="d", branch=1)
BUILD_1   = facts_of("builds", 1, executionName="Ex one", productName="P one", productType="platform", files=[])
BUILD_2   = dict(id=2, project=2, product=2, execution=2, name="Build two", executionName="Pr one", productName="P two")
NEW_BUILD = dict(execution=3, product=1, name="N", builder="dev2", date="2026-03-05", scmPath="vcs", filePath="zip", desc="d", branch=1, stories=[1], bugs=[2])
TESTTASK_1 = without(facts_of("testtasks", 1, executionName="Ex one", buildName="Build one", productName="P one"), "testcases")
TESTTASK_2 = dict(id=2, project=2, product=2, execution=2, name="Round two", executionName="Pr one", productName="P two")
TESTED_1  = COMPANIONS["tested case"].of(**without(CASE_1, "case"), task=1, case=1, assignedTo="", caseVersion=4, storyTitle=None, caseStatus="blocked", bugs=0,
                                         results=1, stepNumber=1)
NEW_ROUND = dict(product=1, execution=3, name="N", begin="2026-03-05", end="2026-03-06", type="system", owner="qa1", pri=1, desc="d", status="doing", mailto=["dev1"],
                 report="r")
RESULT_1  = facts_of("results", 1)
WHOLE_1   = dict(TESTTASK_1, productType="platform", files=[], testcases=[TESTED_1])
def listed(build, **more): return without(dict(build, executionID=build["execution"], branchName="", **more), "productType", "files")


COMPANION_ANSWERS = [
    # operation                     path                       body                                   status state   envelope      shown       the facts
    ("GET /tokens",                 "/tokens",                 None,                                     200, None,  None,         None,       {"message": "POST account and password here to get a token."}),
    ("GET /ping",                   "/ping",                   None,                                     200, None,  None,         None,       {"token": "t", "tokenLife": "86400"}),
    ("GET /configurations",         "/configurations",         None,                                     200, None,  None,         None,       [dict(key=key, value=value) for key, value in dict(language="en", version="16.5", charset="UTF-8", timezone="UTC", systemMode="new", hourUnit="h", CRProduct="1", CRExecution="1").items()]),
    ("GET /configurations/:name",   "/configurations/version", None,                                     200, None,  None,         None,       {"name": "version", "value": "16.5"}),
    ("GET /groups",                 "/groups",                 None,                                     200, None,  None,         None,       [dict(id=1, project=0, vision="rnd", name="ADMIN", role="admin", desc="for administrators", acl="", developer="1", privs={}, accounts={"admin": "admin"})]),
    ("GET /user",                   "/user",                   None,                                     200, None,  "profile",    "profile",  dict(id=1, account="admin", realname="admin", admin=True)),
    ("GET /users",                  "/users",                  None,                                     200, None,  "users",      "brief user", [dict(id=id, account=one, realname=name) for one, (id, name) in reversed(USERS.items())]),
    ("POST /users",                 "/users",                  dict(account="new1", password="secret", realname="N", role="dev", email="n@x.org"), 201, None, None, "user", dict(id=9, account="new1", realname="N", email="n@x.org", role="dev")),
    ("POST /users",                 "/users",                  dict(account="new1", password="secret"),  201, None,  None,         "user",     dict(id=9, account="new1", realname="new1")),
    ("GET /users/:user",            "/users/4",                None,                                     200, None,  None,         "user",     dict(id=4, account="dev1", realname="Dan Dev")),
    ("GET /users/:user",            "/users/dev1",             None,                                     200, None,  None,         "user",     dict(id=4, account="dev1", realname="Dan Dev")),
    ("PUT /users/:user",            "/users/dev1",             dict(realname="D", dept=2, role="qa", gender="m", join="2020-04-05", email="d@x.org"), 200, None, None, "user", dict(id=4, account="dev1", realname="D", dept=2, role="qa", gender="m", join="2020-04-05", email="d@x.org")),
    ("DELETE /users/:user",         "/users/8",                None,                                     200, None,  None,         "success",  None),
    ("GET /departments",            "/departments",            None,                                     200, None,  None,         None,       [COMPANIONS["department"].of(**WORKS) | dict(children=[COMPANIONS["department"].of(**WORKSHOP)], actions={"delete": False})]),
    ("GET /departments/:id",        "/departments/2",          None,                                     200, None,  None,         "department", WORKSHOP),
    ("POST /departments",           "/departments",            dict(name="N", parent=1, manager="qa1"),  201, None,  None,         "department", dict(id=3, name="N", parent=1, path=",1,3,", grade=2, order=20, manager="qa1", managerName="Quin Test")),
    ("PUT /departments/:id",        "/departments/2",          dict(name="N", parent=0),                 200, None,  None,         "department", dict(id=2, name="N", path=",2,")),
    ("DELETE /departments/:id",     "/departments/2",          None,                                     200, None,  None,         "success",  None),
    ("GET /programs",               "/programs",               None,                                     200, None,  "programs",   "project",  [PROGRAM_1, PROGRAM_4]),
    ("PUT /programs/:id",           "/programs/1",             dict(name="N", budget=7, realEnd="2026-12-29"), 200, None, None,    "project",  {**PROGRAM_1, **EDITED, "name": "N", "budget": "7", "realEnd": "2026-12-29"}),
    ("GET /programs/:id/products",  "/programs/1/products",    None,                                     200, None,  "products",   "product",  [PRODUCT_1]),
    ("GET /programs/:id/projects",  "/programs/1/projects",    None,                                     200, None,  "projects",   "project",  [PROJECT_2]),
    ("GET /projects",               "/projects",               None,                                     200, None,  "projects",   "project",  [PROJECT_2, PROJECT_5]),
    ("GET /projects/:id",           "/projects/2",             None,                                     200, None,  None,         "project",  PROJECT_2),
    ("PUT /projects/:id",           "/projects/5",             dict(name="N", PM="pm1", parent=4),       200, None,  None,         "project",  {**PROJECT_5, **EDITED, "name": "N", "team": "N", "PM": "pm1", "parent": 4, "path": ",4,5,", "grade": 2}),
    ("GET /projects/:id/executions", "/projects/2/executions", None,                                     200, None,  "executions", "project",  [STAGE_3]),
    ("POST /projects/:id/executions", "/projects/2/executions", dict(NEW_STAGE, **PEOPLED),              201, None,  None,         "project",  dict(NEW_STAGE, **PEOPLED, **EDITED, id=7, type="stage", project=2, parent=2, path=",2,7,", team="N", openedVersion=pmservice.__version__)),
    ("POST /executions",            "/executions?project=2",   dict(NEW_STAGE, **PEOPLED),               201, None,  None,         "project",  dict(NEW_STAGE, **PEOPLED, **EDITED, id=7, type="stage", project=2, parent=2, path=",2,7,", team="N", openedVersion=pmservice.__version__)),
    ("POST /projects/:id/releases", "/projects/2/releases",    dict(NEW_RELEASE, build=[5], mailto=["dev1", "qa1"]), 201, None, None, "release", dict(NEW_RELEASE, id=3, project=2, build=5, buildID=5, mailto="dev1,qa1", productName="P two", projectName="Pr one")),
    ("GET /releases",               "/releases",               None,                                     200, None,  "releases",   "release",  [RELEASE_2, RELEASE_1]),
    ("GET /releases/:id",           "/releases/1",             None,                                     200, None,  None,         "release",  RELEASE_1),
    ("PUT /releases/:id",           "/releases/1",             dict(name="N", build=1, status="normal"), 200, None,  None,         "release",  dict(RELEASE_1, name="N", build=1, buildID=1, buildName="Build one", status="normal")),
    ("GET /executions",             "/executions",             None,                                     200, None,  "executions", "project",  [STAGE_3, SPRINT_6]),
    ("GET /executions/:id",         "/executions/3",           None,                                     200, None,  None,         "project",  STAGE_3),
    ("PUT /executions/:id",         "/executions/6",           dict(name="N", status="doing", PO="po1"), 200, None,  None,         "project",  {**SPRINT_6, **EDITED, "name": "N", "team": "N", "status": "doing", "PO": "po1"}),
    ("GET /executions/:id/tasks",   "/executions/3/tasks",     None,                                     200, None,  "tasks",      "task",     [TASK_1]),
    ("POST /executions/:id/tasks/batchCreate", "/executions/3/tasks/batchCreate", dict(tasks=[dict(NEW_TASK), dict(name="M", type="misc")]), 201, None, None, None,
        {"task": {"3": COMPANIONS["task"].of(**dict(NEW_TASK, id=3, project=2, execution=3, left=1.5, **OF_STORY_2)), "4": COMPANIONS["task"].of(id=4, project=2, execution=3, name="M")}}),
    ("GET /products/:id",           "/products/1",             None,                                     200, None,  None,         "product",  PRODUCT_1),
    ("PUT /products/:id",           "/products/1",             dict(name="N", status="normal", line=4),  200, None,  None,         "product",  dict(PRODUCT_1, name="N", status="normal", line=4)),
    ("GET /product/:id",            "/product/1",              None,                                     200, None,  None,         "product",  PRODUCT_1),
    ("PUT /product/:id",            "/product/2",              dict(name="N", PO="po1"),                 200, None,  None,         "product",  dict(PRODUCT_2, name="N", PO="po1")),
    ("GET /products/:id/projects",  "/products/1/projects",    None,                                     200, None,  "projects",   "project",  [PROJECT_2]),
    ("GET /products/:id/testcases", "/products/1/testcases",   None,                                     200, None,  "testcases",  "testcase", [without(CASE_1, "caseFails")]),
    ("GET /projects/:id/testcases", "/projects/2/testcases",   None,                                     200, None,  "cases",      "testcase", [without(CASE_1, "caseFails")]),
    ("GET /executions/:id/testcases", "/executions/3/testcases", None,                                   200, None,  "cases",      "testcase", [without(CASE_1, "caseFails")]),
    ("PUT /testcases/:id",          "/testcases/1",            dict(pri=2, precondition="q", steps=[dict(desc="x")]), 200, None, None, "testcase", {**without(CASE_1, "caseFails"), **EDITED, "pri": 2, "precondition": "q", "version": 5, "currentVersion": 5, "steps": [dict(id=6, parent=0, case=1, version=5, type="step", desc="x", expect="")]}),
    ("GET /testcases/:id/results",  "/testcases/1/results",    None,                                     200, None,  "results",    "result",   [RESULT_1]),
    ("POST /testcases/:id/results", "/testcases/2/results",    dict(steps=[]),                           201, None,  None,         "result",   dict(id=3, case=2)),
    ("GET /products/:id/releases",  "/products/2/releases",    None,                                     200, None,  "releases",   "release",  [RELEASE_2]),
    ("POST /products/:id/bugs",     "/products/1/bugs",        dict(NEW_BUG, openedBuild=["trunk", "b1"], assignedTo="dev1"), 201, None, None, "bug", dict(NEW_BUG, id=3, product=1, storyVersion=0, openedBuild="trunk,b1", assignedTo="dev1", assignedDate=NOW_ISO)),
    ("POST /bugs",                  "/bugs",                   dict(NEW_BUG, product=2, openedBuild="trunk"), 201, None, None,     "bug",      dict(NEW_BUG, id=3, product=2, storyVersion=0, openedBuild="trunk")),
    ("GET /bugs",                   "/bugs",                   None,                                     200, None,  "bugs",       "bug",      [BUG_2, BUG_1]),
    ("GET /projects/:id/bugs",      "/projects/2/bugs",        None,                                     200, None,  "bugs",       "bug",      [BUG_1]),
    ("GET /executions/:id/bugs",    "/executions/3/bugs",      None,                                     200, None,  "bugs",       "bug",      [BUG_1]),
    ("GET /bugs/:id",               "/bugs/1",                 None,                                     200, None,  None,         "bug",      BUG_1),
    ("GET /bugs/:id",               "/bugs/2",                 None,                                     200, None,  None,         "bug",      BUG_2),
    ("PUT /bugs/:id",               "/bugs/1",                 dict(NEW_BUG, assignedTo="dev2"),         200, None,  None,         "bug",      {**BUG_1, **NEW_BUG, **EDITED, "storyVersion": 0, "assignedTo": "dev2", "assignedDate": NOW_ISO}),
    ("PUT /bugs/:id",               "/bugs/1",                 {},                                       200, None,  None,         "bug",      {**BUG_1, **EDITED}),
    ("POST /bugs/:id/assign",       "/bugs/2/assign",          dict(assignedTo="dev1"),                  200, None,  None,         "bug",      dict(BUG_2, **EDITED, assignedTo="dev1", assignedDate=NOW_ISO)),
    ("POST /bugs/:id/confirm",      "/bugs/2/confirm",         dict(pri=1, type="install"),              200, None,  None,         "bug",      dict(BUG_2, **EDITED, pri=1, type="install", confirmed=1)),
    ("POST /bugs/:id/resolve",      "/bugs/2/resolve",         dict(resolution="fixed", resolvedBuild="b1"), 200, None, None,      "bug",      dict(BUG_2, **EDITED, status="resolved", resolution="fixed", resolvedBuild="b1", resolvedBy="admin", resolvedDate=NOW_ISO, confirmed=1, assignedTo="admin", assignedDate=NOW_ISO)),
    ("POST /bugs/:id/close",        "/bugs/2/close",           {},                                       200, "resolved", None,    "bug",      dict(BUG_2, **EDITED, status="closed", closedBy="admin", closedDate=NOW_ISO)),
    ("POST /bugs/:id/active",       "/bugs/1/active",          {},                                       200, None,  None,         "bug",      {**BUG_1, **EDITED, **REOPENED, "activatedCount": 3, "activatedDate": NOW_ISO}),
    ("POST /bugs/:id/activate",     "/bugs/1/activate",        dict(assignedTo="dev2", openedBuild="b3"), 200, None, None,         "bug",      {**BUG_1, **EDITED, **REOPENED, "activatedCount": 3, "activatedDate": NOW_ISO, "assignedTo": "dev2", "assignedDate": NOW_ISO, "openedBuild": "b3"}),
    ("GET /tasks",                  "/tasks",                  None,                                     200, None,  "tasks",      "task",     []),
    ("GET /tasks/:id",              "/tasks/1",                None,                                     200, None,  None,         "task",     TASK_1),
    ("GET /tasks/:id",              "/tasks/2",                None,                                     200, None,  None,         "task",     TASK_2),
    ("POST /tasks/:id/pause",       "/tasks/2/pause",          {},                                       200, None,  None,         "task",     dict(TASK_2, **EDITED, status="pause")),
    ("POST /tasks/:id/close",       "/tasks/1/close",          dict(closedReason="bydesign"),            200, None,  None,         "task",     {**TASK_1, **EDITED, "status": "closed", "closedBy": "admin", "closedDate": NOW_ISO, "closedReason": "bydesign"}),
    ("POST /tasks/:id/close",       "/tasks/2/close",          {},                                       200, "done", None,        "task",     dict(TASK_2, **EDITED, status="closed", closedBy="admin", closedDate=NOW_ISO, closedReason="done")),
    ("POST /tasks/:id/cancel",      "/tasks/1/cancel",         {},                                       200, None,  None,         "task",     {**TASK_1, **EDITED, "status": "cancel", "canceledBy": "admin", "canceledDate": NOW_ISO}),
    ("POST /tasks/:id/active",      "/tasks/1/active",         dict(left=4),                             200, None,  None,         "task",     {**TASK_1, **EDITED, **UNFINISHED, "status": "doing", "left": 4, "progress": 38, "activatedDate": NOW_ISO}),
    ("POST /tasks/:id/assignto",    "/tasks/2/assignto",       dict(assignedTo="dev1"),                  200, None,  None,         "task",     dict(TASK_2, **EDITED, assignedTo="dev1", assignedDate=NOW_ISO, assignedToRealName="Dan Dev")),
    ("GET /tasks/:id/estimate",     "/tasks/1/estimate",       None,                                     200, None,  "effort",     "effort",   [facts_of("efforts", 1)]),
    ("POST /tasks/:id/estimate",    "/tasks/2/estimate",       dict(dates=["2026-11-20"], consumed=[1], left=[3]), 200, None, None, "task",    dict(TASK_2, **EDITED, status="doing", consumed=1, left=3, progress=25, realStarted=NOW_ISO, assignedTo="admin", assignedDate=NOW_ISO, assignedToRealName="admin")),
    ("GET /products/:id/stories",   "/products/1/stories",     None,                                     200, None,  "stories",    "listed story", [LISTED_1]),
    ("POST /products/:id/stories",  "/products/1/stories",     NEW_STORY,                                201, None,  None,         "story",    dict(NEW_STORY, id=4, product=1, assignedDate=NOW_ISO, productName="P one", productStatus="closed")),
    ("POST /stories",               "/stories?product=2",      NEW_STORY,                                201, None,  None,         "story",    dict(NEW_STORY, id=4, product=2, assignedDate=NOW_ISO, productName="P two")),
    ("GET /stories",                "/stories?product=1",      None,                                     200, None,  "stories",    "listed story", [LISTED_1]),
    ("GET /projects/:id/stories",   "/projects/2/stories",     None,                                     200, None,  "stories",    "linked story", [dict(LISTED_1, project=2, story=1, order=1, productType="platform")]),
    ("GET /executions/:id/stories", "/executions/3/stories",   None,                                     200, None,  "stories",    "linked story", [dict(LISTED_1, project=3, story=1, order=1, productType="platform")]),
    ("GET /stories/:id",            "/stories/1",              None,                                     200, None,  None,         "story",    STORY_1),
    ("GET /stories/:id",            "/stories/2",              None,                                     200, None,  None,         "story",    STORY_2),
    ("GET /stories/:id",            "/stories/3",              None,                                     200, None,  None,         "story",    STORY_3),
    ("PUT /stories/:id",            "/stories/1",              dict(title="N", pri=2, plan=[3]),         200, None,  None,         "story",    {**STORY_1, **EDITED, "title": "N", "pri": 2, "plan": "3", "planTitle": {"3": "Plan three"}}),
    ("POST /stories/:id/change",    "/stories/2/change",       dict(spec="new"),                         200, None,  None,         "story",    dict(STORY_2, **EDITED, spec="new", version=2)),
    ("POST /stories/:id/review",    "/stories/2/review",       dict(result="pass", reviewedDate="2026-11-19"), 200, "draft", None, "story",    dict(STORY_2, **EDITED, reviewedBy="admin", reviewedDate="2026-11-19T00:00:00Z")),
    ("POST /stories/:id/close",     "/stories/1/close",        dict(closedReason="cancel"),              200, None,  None,         "story",    {**STORY_1, **EDITED, "status": "closed", "stage": "closed", "closedBy": "admin", "closedDate": NOW_ISO, "closedReason": "cancel"}),
    ("POST /stories/:id/active",    "/stories/1/active",       {},                                       200, None,  None,         "story",    {**STORY_1, **EDITED, **ACTIVE}),
    ("POST /stories/:id/activate",  "/stories/1/activate",     dict(assignedTo="dev2"),                  200, None,  None,         "story",    {**STORY_1, **EDITED, **ACTIVE, "assignedTo": "dev2", "assignedDate": NOW_ISO}),
    ("POST /stories/:id/assign",    "/stories/2/assign",       dict(assignedTo="dev2"),                  200, None,  None,         "story",    dict(STORY_2, **EDITED, assignedTo="dev2", assignedDate=NOW_ISO)),
    ("DELETE /stories/:id/recall",  "/stories/1/recall",       None,                                     200, None,  None,         "success",  None),
    ("GET /products/:id/plans",     "/products/1/plans",       None,                                     200, None,  "plans",      "listed plan", [LISTED_PLAN_1, LISTED_PLAN_3]),
    ("POST /products/:id/plans",    "/products/1/plans",       NEW_PLAN,                                 201, None,  None,         "whole plan", dict(NEW_PLAN, id=4, product=1, stories=[], bugs=[])),
    ("POST /productplans",          "/productplans?product=2", dict(title="N"),                          201, None,  None,         "whole plan", dict(id=4, product=2, title="N", stories=[], bugs=[])),
    ("GET /productplans",           "/productplans",           None,                                     200, None,  "plans",      "listed plan", [LISTED_PLAN_2, LISTED_PLAN_1, LISTED_PLAN_3]),
    ("GET /productplans/:id",       "/productplans/1",         None,                                     200, None,  None,         "whole plan", PLAN_1),
    ("PUT /productplans/:id",       "/productplans/1",         dict(title="N", status="done"),           200, None,  None,         "whole plan", dict(PLAN_1, title="N", status="done", stories=[COMPANIONS["listed story"].of(**{**LISTED_1, "planTitle": "N"})])),
    ("POST /productplans/:id/linkstories", "/productplans/2/linkstories", dict(stories=[2]),             200, None,  None,         "whole plan", dict(PLAN_2, stories=[COMPANIONS["listed story"].of(**dict(LISTED_2, stage="planned", plan="2", planTitle="Plan two"))])),
    ("POST /productplans/:id/unlinkstories", "/productplans/1/unlinkstories", dict(stories=[1]),         200, None,  None,         "whole plan", dict(PLAN_1, stories=[])),
    ("POST /productplans/:id/linkbugs", "/productplans/1/linkbugs", dict(bugs=[2]),                      200, None,  None,         "whole plan", dict(PLAN_1, bugs=[COMPANIONS["bug"].of(**BUG_2, plan=1)])),
    ("POST /productplans/:id/unlinkbugs", "/productplans/1/unlinkbugs", dict(bugs=[1]),                  200, None,  None,         "whole plan", PLAN_1),
    ("GET /builds",                 "/builds",                 None,                                     200, None,  "builds",     "listed build", [listed(BUILD_2), listed(BUILD_1)]),
    ("GET /projects/:id/builds",    "/projects/2/builds",      None,                                     200, None,  "builds",     "listed build", [listed(BUILD_2), listed(BUILD_1)]),
    ("GET /executions/:id/builds",  "/executions/3/builds",    None,                                     200, None,  "builds",     "execution's build", [without(listed(BUILD_1), "executionID")]),
    ("POST /projects/:id/builds",   "/projects/2/builds",      NEW_BUILD,                                201, None,  None,         "whole build", dict(NEW_BUILD, id=3, project=2, executionName="Ex one", productName="P one", productType="platform", files=[])),
    ("POST /builds",                "/builds?project=2",       NEW_BUILD,                                201, None,  None,         "whole build", dict(NEW_BUILD, id=3, project=2, executionName="Ex one", productName="P one", productType="platform", files=[])),
    ("GET /builds/:id",             "/builds/1",               None,                                     200, None,  None,         "whole build", BUILD_1),
    ("PUT /builds/:id",             "/builds/1",               dict(name="N", stories=[], bugs=[2]),     200, None,  None,         "whole build", dict(BUILD_1, name="N", stories=[], bugs=[2])),
    ("GET /testtasks",              "/testtasks",              None,                                     200, None,  "testtasks",  "testtask", [TESTTASK_2, TESTTASK_1]),
    ("GET /projects/:id/testtasks", "/projects/2/testtasks",   None,                                     200, None,  "testtasks",  "project's testtask", [without(one, "productName", "executionName") for one in (TESTTASK_2, TESTTASK_1)]),
    ("POST /projects/:id/testtasks", "/projects/2/testtasks",  dict(NEW_ROUND, build=1, testcases=[1]),  201, None,  None,         "whole testtask", dict(WHOLE_1, **NEW_ROUND | dict(id=3, build="1", realFinishedDate=None, testcases=[{**TESTED_1, "task": 3}]))),
    ("POST /testtasks",             "/testtasks",              dict(NEW_ROUND, build="trunk"),           201, None,  None,         "whole testtask", dict(WHOLE_1, **NEW_ROUND | dict(id=3, build="trunk", buildName="", realFinishedDate=None, testcases=[]))),
    ("GET /testtasks/:id",          "/testtasks/1",            None,                                     200, None,  None,         "whole testtask", WHOLE_1),
    ("PUT /testtasks/:id",          "/testtasks/1",            dict(name="N", status="blocked", testcases=[]), 200, None, None,    "whole testtask", dict(WHOLE_1, name="N", status="blocked", testcases=[])),
] + [(f"DELETE /{path}/:id", f"/{path}/{id}", None, 200, None, None, "success", None) for path, id in dict(
    programs=4, projects=2, executions=3, products=1, product=1, tasks=1, bugs=1, testcases=1, stories=2, productplans=1, productsplan=1, builds=1, releases=1, testtasks=1,
).items()]
AROUND = {  # what is around a list, if it is not always a page of 20
    "releases": {}, "builds": {}, "effort": None, "results": None, "GET /products/:id/stories": {"page": 1, "limit": 500, "requirements": {"3": "Need"}},
    "GET /stories": {"page": 1, "limit": 500, "requirements": {"3": "Need"}},
}
WRITES = [  # method, path and body of each of these requests that changes WORLD as it stands
    (operation.split()[0], path, body)
    for operation, path, body, *_ in ANSWERS + [row for row in COMPANION_ANSWERS if not row[4]] if not operation.startswith("GET")
]
# fmt: on


class TestLooksOfCompanions:
    """Every field of every answer that goes beyond the specification, on the records of WORLD."""

    @each("row", COMPANION_ANSWERS, ids=[f"{row[0]} on {row[1]}" for row in COMPANION_ANSWERS])
    def test_answer_has_the_record_s_fields(self, world, row):
        operation, path, body, status, state, envelope, shown, facts = row
        if state:
            world.sql(f"UPDATE {TABLES[path.split('/')[1]]} SET status = ? WHERE id = 2", state)
        response = world.call(operation.split()[0], path, body)
        assert response.status_int == status
        if shown == "success":
            expected = {"message": "success"}
        elif shown is None:
            expected = facts
        elif isinstance(facts, list):
            records = [COMPANIONS[shown].of(**one) for one in facts]
            around = AROUND.get(operation, AROUND.get(envelope, {"page": 1, "limit": 20}))
            expected = (
                {envelope: records}
                if around is None
                else {"total": len(facts), envelope: records, **around}
            )
        else:
            record = COMPANIONS[shown].of(**facts)
            expected = {envelope: record} if envelope else record
        assert lines(response.json) == lines(expected)

    def test_choices_of_a_bug_are_those_of_its_fields_and_the_builds_of_its_product(self, world):
        choices = world.get("/options/bug?product=1")["options"]
        assert set(choices) == {"type", "pri", "severity", "modules", "build"}
        assert list(choices["type"]) == ["", *WORDS["bug", "type"].split()]
        assert choices["build"] == {"": "", "trunk": "Trunk", "1": "Build one"}

    def test_every_companion_is_looked_at(self):
        offered = {
            f"{one.method} {one.path.replace('<', ':').replace('>', '')}"
            for one in pmservice.OPERATIONS
        }
        assert {row[0] for row in COMPANION_ANSWERS} == offered - {
            *SHOWN,
            "POST /tokens",
            "GET /options/bug",
        }


# --- Recorded answers of the real server --------------------------------------------------------------
# Requests that were sent to four versions of the reference, on the same state here. An answer is what SHOWN makes
# of the recorded facts; where the recorded answer differs from that, the row says how, and under which sentence.

VERSIONED = "createdVersion, where the reference shows its own version, is this service's"
ROUNDED = "progress … rounded to an int"
STATED = "status is the bug's own state"
NO_CASES = "cases (… present in the modify-task response only)"
CREATED = "201 where something is created"
SAMPLED = "unset datetimes appear … (in bug records) as 1969-12-31T16:00:00Z; an unset bug deadline is 1970-01-01"
ALL_KEPT = "all request fields are kept"
BY_ACCOUNT = "in the create-project and create-case responses they are returned as a plain account string, an unset one as ''"
UNSET_DATES = "an unset real start or end of a project is 0000-00-00; create-project shows unset datetimes as '', deleted as '0'"
UNSET_PERSON = "no person is null"
NESTED = "`parent` as given, `path` and `grade` set: the recorded version ignored the parent"
TYPED = "the types are the specification's"
CLEARED = "restart: finish and close fields empty"


class Recorded(NamedTuple):
    """A request to the real server: the state and the time in which it was sent, and what was answered."""

    name: str
    clock: str
    state: dict[str, Any]
    operation: str
    path: str
    body: Any
    facts: dict[str, Any]
    differences: dict[str, dict[str, Any]]
    place: int = 0  # of the record in a list
    around: dict[str, Any] | None = None  # of a list: its numbers


def east(moment: str) -> str:
    return str(datetime.fromisoformat(moment[:-1]) + timedelta(hours=8))


# fmt: off
V16B, V165, V165_, V18, BUGGED = "2026-11-20T07:47:59Z", "2026-11-20T07:42:16Z", "2026-11-20T07:42:17Z", "2026-11-20T07:30:22Z", "2026-11-20T07:48:14Z"
BUGS_18 = "2026-11-20T07:35:14Z"
ALPHA = dict(id=1, name="Alpha", begin="2026-01-05", end="2026-12-31")
P_ONE, P_TWO = dict(name="P one", code="P1"), dict(name="P two", program=1, code="P2", PO="po1", QD="qa1", RD="dev1", desc="<p>x</p>", whitelist=["dev1", "qa1"])
FOUR = [dict(P_ONE, id=1), dict(P_TWO, id=2), dict(id=3, name="P3"), dict(id=4, name="P4")]
ONE_PRODUCT = {"programs": [ALPHA], "products": [dict(P_ONE, id=1)]}
COUNTED = [dict(product=1, title=f"B{n}", assignedTo="dev1" if n > 3 else None, status="closed" if n == 1 else "resolved" if n == 2 else "active",
                resolution="fixed" if n == 1 else "") for n in range(1, 8)]
COUNTED_165 = [*COUNTED[:1], dict(COUNTED[1], assignedTo="dev1"), dict(COUNTED[1], assignedTo="dev1", openedDate="2026-11-01"), *COUNTED[4:]]
STORY_NO_1 = dict(id=1, product=1, title="Story1")
STORIES_165 = [dict(product=1, title="S", status=status) for status in ("changed", "active", "active", "draft", "draft", "closed")]
BUG_STATE = {"products": [dict(P_ONE, id=1)], "bugs": [dict(id=n, product=1, title=f"Bug{n}", severity=n % 4 or 4, pri=n % 4 or 4, openedBuild="Trunk")
                                                    for n in range(1, 6)]}
BUG_6 = dict(id=6, product=1, title="Bug6", severity=3, pri=3, story=1, openedBuild="Trunk", openedDate=BUGGED)
BUG_7 = dict(id=7, product=1, title="Bug7", severity=4, pri=4, openedBuild="Trunk", assignedTo="dev1", assignedDate=BUGGED, openedDate=BUGGED)
BUG_17 = dict(id=17, product=1, title="Bug16", severity=1, pri=1, openedBuild="Trunk", openedDate=BUGS_18)
BUG_18 = dict(id=18, product=1, title="Bug17", severity=2, pri=2, openedBuild="Trunk", assignedTo="dev1", assignedDate=BUGS_18, openedDate=BUGS_18)
UNSET_BUG = dict.fromkeys(("activatedDate", "deadline", "resolvedDate", "closedDate", "lastEditedDate"))
RECORDED_CASE = dict(title="Case1", type="feature", stage="system", precondition="p", pri=1, keywords="k")
RECORDED_STEPS = [dict(desc="a", expect="b"), dict(desc="c", expect="d")]
SHOWN_STEPS = [dict(step, id=id, parent=0, case=1, version=1, type="step") for id, step in enumerate(RECORDED_STEPS, 1)]
BETA = dict(name="Beta", PM="pm1", budgetUnit="CNY", desc="d", begin="2026-02-01", end="2026-06-30", acl="private", whitelist=["dev1", "qa1"])
UNDATED = dict(realBegan=None, realEnd=None)
PR_ONE, PR_TWO = dict(name="Pr one", begin="2026-01-10", end="2026-06-30", code="PR1"), dict(name="Pr two", begin="2026-01-10", end="2026-06-30", code="PR2",
                                                                                      model="waterfall", parent=1, PM="pm1", acl="private", whitelist=["dev1", "qa1"])
EDITOR = dict(openedBy=reference("admin"), lastEditedBy=reference("admin"), closedBy=None, canceledBy=None)
NOT_BLANK = dict(UNDATED, closedDate=None, canceledDate=None, deleted=False)
HOMES = {"products": [dict(P_ONE, id=1)], "projects": [dict(PR_ONE, id=4, products=[1]), dict(id=26, name="Pr 26")],
         "executions": [dict(id=7, project=4, name="Ex one"), dict(id=61, project=26, name="Ex 61")]}
DATED = dict(type="devel", estStarted="2026-02-02", deadline="2026-02-20")
PLACED = dict(project=26, execution=61)
MOVED = dict(PLACED, type="devel", estimate=10, estStarted="2026-02-02", deadline="2026-12-20", assignedTo="dev1", left=8)
V18_TYPES = dict(designVersion=1, mailto=[], storyID="", storyTitle="", latestStoryVersion="", storyStatus="")
V18_BLANK = dict(V18_TYPES, mailto="")
SENT = dict(assignedTo="dev2", realStarted="2026-02-06 08:30:00", comment="go")


def moving(id, clock, opened, **state):
    """Return the fixture of a recorded transition, and the facts that its answer keeps."""
    task = dict(MOVED, id=id, name=f"Trans {id}", openedDate=opened, assignedDate=opened, **state)
    return {**HOMES, "tasks": [task]}, dict(task, lastEditedBy="admin", lastEditedDate=clock, assignedToRealName="Dan Dev")


RESTARTING = dict(assignedTo="dev2", realStarted="2026-02-07 08:30:00", consumed=6, left=4, comment="again")
S64, T64 = moving(64, "2026-11-20T07:32:41Z", "2026-11-20T07:32:40Z")
S68, T68 = moving(68, "2026-11-20T07:32:41Z", "2026-11-20T07:32:41Z", status="doing", consumed=2, realStarted="2026-02-03T01:00:00Z")
S126, T126 = moving(126, "2026-11-20T07:33:44Z", "2026-11-20T07:33:44Z", status="doing", consumed=2, realStarted="2026-02-03T01:00:00Z")
S75, T75 = moving(75, "2026-11-20T07:32:41Z", "2026-11-20T07:32:41Z", status="done", consumed=3, finishedBy="admin", finishedDate="2026-02-05T10:00:00Z")
S72, T72 = moving(72, "2026-11-20T07:32:41Z", "2026-11-20T07:32:41Z", status="pause", consumed=2)
TO_DEV2 = dict(assignedTo="dev2", assignedToRealName="Dora Dev")
RESTARTED = dict(TO_DEV2, assignedDate="2026-11-20T07:32:41Z", realStarted="2026-02-07T00:30:00Z", consumed=6, left=4, status="doing", progress=60, finishedBy=None, finishedDate=None)
DONE = dict(status="done", left=0, progress=100, finishedBy="admin", finishedDate="2026-02-09T09:00:00Z")

RECORDED = [
    Recorded("01 counted by 16.0", V16B, {**ONE_PRODUCT, "products": FOUR, "bugs": COUNTED, "stories": [STORY_NO_1]}, "GET /products", "/products", None,
             dict(P_ONE, id=1, createdDate=V16B, bugs=7, unResolved=5, closedBugs=1, fixedBugs=1, thisWeekBugs=7, assignToNull=3, stories=counts(active=1)),
             {VERSIONED: dict(createdVersion="16.0.beta1")}, 0, dict(total=4)),
    Recorded("01 with persons by 16.0", V16B, {**ONE_PRODUCT, "products": FOUR}, "GET /products", "/products", None,
             dict(P_TWO, id=2, createdDate=V16B, programName="Alpha"), {VERSIONED: dict(createdVersion="16.0.beta1")}, 1, dict(total=4)),
    Recorded("01 counted by 16.5", V165, {**ONE_PRODUCT, "products": FOUR, "bugs": COUNTED_165, "releases": [dict(name="R", product=1)], "stories": STORIES_165, "plans": [dict(product=1, title="Plan", end="2030-01-01")]}, "GET /products", "/products", None,
             dict(P_ONE, id=1, createdDate=V165, releases=1, bugs=6, unResolved=3, closedBugs=1, fixedBugs=1, thisWeekBugs=5, assignToNull=1, plans=1, progress=17,
                  stories=counts(changed=1, active=2, draft=2, closed=1)),
             {VERSIONED: dict(createdVersion="16.5"), ROUNDED: dict(progress=16.7)}, 0, dict(total=4)),
    Recorded("01 limit 3 page 2", V18, {"products": [dict(id=n, name=f"Q{n}") for n in (1, 2, 3, 5, 8, *range(40, 65))]}, "GET /products", "/products?limit=3&page=2", None,
             dict(id=5, name="Q5", createdDate=V18), {VERSIONED: dict(createdVersion="18.10")}, 0, dict(page=2, total=30, limit=3)),
    Recorded("02 full", V16B, ONE_PRODUCT, "POST /products", "/products", dict(P_TWO, line=0, type="normal", acl="private"),
             dict(P_TWO, id=2, createdDate=V16B, programName="Alpha"), {VERSIONED: dict(createdVersion="16.0.beta1"), CREATED: dict(status_int=200)}),
    Recorded("02 three fields", V16B, {}, "POST /products", "/products", dict(P_ONE, program=0),
             dict(P_ONE, id=1, createdDate=V16B), {VERSIONED: dict(createdVersion="16.0.beta1"), CREATED: dict(status_int=200)}),
    Recorded("02 minimal", V18, {}, "POST /products", "/products", dict(name="Prod minimal"),
             dict(id=1, name="Prod minimal", createdDate=V18), {VERSIONED: dict(createdVersion="18.10")}),
    Recorded("03 assigned", BUGGED, {**BUG_STATE, "bugs": [*BUG_STATE["bugs"], BUG_6, BUG_7]}, "GET /products/:id/bugs", "/products/1/bugs?status=all", None,
             BUG_7, {SAMPLED: UNSET_BUG}, 0, dict(page=1, total=7, limit=20)),
    Recorded("03 of a story", BUGGED, {**BUG_STATE, "bugs": [*BUG_STATE["bugs"], BUG_6, BUG_7], "stories": [dict(STORY_NO_1, version=2)]}, "GET /products/:id/bugs", "/products/1/bugs?status=all", None,
             dict(BUG_6, needconfirm=True), {SAMPLED: dict(UNSET_BUG, assignedDate=None), STATED: dict(status=dict(code="storyChanged", name="Changed"))}, 1),
    Recorded("03 limit 5 page 2", BUGS_18, {"products": [dict(P_ONE, id=1)], "bugs": [dict(id=n, product=1, title="B") for n in range(5, 24) if n not in (17, 18)] + [BUG_17, BUG_18]},
             "GET /products/:id/bugs", "/products/1/bugs?limit=5&page=2", None, BUG_18,
             {SAMPLED: UNSET_BUG, TYPED: dict(status="active", mailto=[], linkBug="0")}, 0, dict(page=2, total=19, limit=5)),
    Recorded("03 limit 5 page 2, next", BUGS_18, {"products": [dict(P_ONE, id=1)], "bugs": [dict(id=n, product=1, title="B") for n in range(5, 24) if n not in (17, 18)] + [BUG_17, BUG_18]},
             "GET /products/:id/bugs", "/products/1/bugs?limit=5&page=2", None, BUG_17,
             {SAMPLED: dict(UNSET_BUG, assignedDate=None), TYPED: dict(status="active", mailto=[], linkBug="0")}, 1),
    Recorded("04 full", V165_, ONE_PRODUCT, "POST /products/:id/testcases", "/products/1/testcases", dict(RECORDED_CASE, branch=0, module=0, story=0, steps=RECORDED_STEPS),
             dict(RECORDED_CASE, id=1, product=1, openedDate=V165_, steps=SHOWN_STEPS),
             {ALL_KEPT: dict(keywords=""), BY_ACCOUNT: dict(openedBy=reference("admin"), reviewedBy=None, lastEditedBy=None), CREATED: dict(status_int=200)}),
    Recorded("05 get", V165_, {**ONE_PRODUCT, "testcases": [dict(RECORDED_CASE, product=1, keywords="", steps=RECORDED_STEPS)]}, "GET /testcases/:id", "/testcases/1", None,
             dict(RECORDED_CASE, id=1, product=1, keywords="", openedDate=V165_, steps=SHOWN_STEPS, caseFails=0), {}),
    Recorded("06 full", V165, {"programs": [ALPHA]}, "POST /programs", "/programs", dict(BETA, parent="1", budget=200000),
             dict(BETA, id=2, type="program", budget="200000", parent=1, path=",1,2,", grade=2, openedDate=V165),
             {NESTED: dict(parent=0, path=",2,", grade=1), UNSET_DATES: UNDATED, UNSET_PERSON: dict(lastEditedBy="")}),
    Recorded("06 minimal", V165, {}, "POST /programs", "/programs", without(ALPHA, "id"),
             dict(ALPHA, type="program", acl="open", openedDate=V165), {UNSET_DATES: UNDATED, UNSET_PERSON: dict(lastEditedBy="")}),
    Recorded("07 get", V165, {"programs": [ALPHA, dict(BETA, id=2, budget=200000)]}, "GET /programs/:id", "/programs/2", None,
             dict(BETA, id=2, type="program", budget="200000", openedDate=V165), {UNSET_DATES: UNDATED, UNSET_PERSON: dict(lastEditedBy="")}),
    Recorded("08 full", V16B, {"programs": [ALPHA], "products": FOUR, "projects": [dict(id=4, name="Pr one")]}, "POST /projects", "/projects", dict(PR_TWO, products=[2]),
             dict(PR_TWO, id=5, type="project", path=",1,5,", grade=2, team="Pr two", openedDate=V16B, lastEditedBy="admin", lastEditedDate=V16B),
             {NESTED: dict(parent=0, path=",5,", grade=1), UNSET_DATES: NOT_BLANK, BY_ACCOUNT: dict(EDITOR, PM=reference("pm1"), whitelist=references(["dev1", "qa1"]))}),
    Recorded("08 minimal", V165, {"programs": [dict(ALPHA, id=3)], "products": [dict(P_ONE, id=1)]}, "POST /projects", "/projects", dict(PR_ONE, products=[1]),
             dict(PR_ONE, id=4, type="project", model="scrum", acl="private", team="Pr one", openedDate=V165, lastEditedBy="admin", lastEditedDate=V165),
             {UNSET_DATES: NOT_BLANK, BY_ACCOUNT: dict(EDITOR, PM=None, whitelist=[])}),
    Recorded("09 of 16.5", V165, {**HOMES, "releases": [dict(project=4, product=1, build=1, buildName="b1", name="R1", date="2026-03-05")]}, "GET /projects/:id/releases", "/projects/4/releases", None,
             dict(id=1, project=4, product=1, build=1, buildID=1, buildName="b1", name="R1", date="2026-03-05", productName="P one", projectName="Pr one"), {TYPED: dict(mailto=None)}, 0, dict(total=1)),
    Recorded("09 limit 1", V18, {**HOMES, "releases": [dict(id=n, project=26, product=1, build=1, name=f"R{n}.0", date="2026-04-07", desc="<p>r</p>", mailto="dev1,") for n in range(2, 8)]},
             "GET /projects/:id/releases", "/projects/26/releases?limit=1", None,
             dict(id=7, project=26, product=1, build=1, buildID=1, name="R7.0", date="2026-04-07", desc="<p>r</p>", mailto="dev1,", productName="P one", projectName="Pr 26"),
             {TYPED: dict(project="26", branch="0", build="1", mailto=references(["dev1"]), notify="")}, 0, dict(page=1, total=6, limit=1)),
    Recorded("10 full", V165_, {**HOMES, "tasks": [dict(id=1, name="T", execution=7)]}, "POST /executions/:id/tasks", "/executions/7/tasks",
             dict(DATED, assignedTo=["dev1"], name="Tfull", module=0, story=0, fromBug=0, pri=1, estimate=8),
             dict(DATED, id=2, project=4, execution=7, name="Tfull", pri=1, estimate=8, left=8, openedDate=V165_, assignedTo="dev1", assignedDate=V165_, assignedToRealName="Dan Dev"), {}),
    Recorded("10 for two", "2026-11-20T07:31:32Z", {**HOMES, "tasks": [dict(id=8, name="T", execution=61)]}, "POST /executions/:id/tasks", "/executions/61/tasks",
             dict(DATED, name="Task 18", assignedTo=["dev1", "dev2"]),
             dict(DATED, **PLACED, **TO_DEV2, id=10, name="Task 18", openedDate="2026-11-20T07:31:32Z", assignedDate="2026-11-20T07:31:32Z"), {TYPED: V18_TYPES}),
    Recorded("10 with a story", "2026-11-20T07:44:14Z", {**HOMES, "tasks": [dict(id=220, name="T", execution=61)], "testcases": [dict(id=31, product=1, story=1, title="StoryCase")], "stories": [STORY_NO_1]},
             "POST /executions/:id/tasks", "/executions/61/tasks", dict(DATED, name="StTask", assignedTo=["dev1"], story=1),
             dict(DATED, **PLACED, id=221, name="StTask", story=1, openedDate="2026-11-20T07:44:14Z", assignedTo="dev1", assignedDate="2026-11-20T07:44:14Z", assignedToRealName="Dan Dev",
                  storyID=1, storyTitle="Story1", latestStoryVersion=1, storyStatus="active"),
             {TYPED: dict(designVersion=1, mailto=[]), NO_CASES: dict(cases={"31": "StoryCase"})}),
    Recorded("11 of a done task", V165_, {**HOMES, "tasks": [dict(DATED, id=5, execution=7, name="T", estimate=8, consumed=5, left=0, status="done", finishedBy="admin", finishedDate=V165_, assignedTo="dev1")]},
             "PUT /tasks/:id", "/tasks/5", dict(name="Renamed", assignedTo="dev2", pri=2),
             dict(DATED, **TO_DEV2, id=5, project=4, execution=7, name="Renamed", pri=2, estimate=8, consumed=5, status="done", version=2, openedDate=V165_, assignedDate=V165_,
                  finishedBy="admin", finishedDate=V165_, lastEditedBy="admin", lastEditedDate=V165_, progress=100, cases={}), {}),
    Recorded("12 from wait", "2026-11-20T07:32:41Z", S64, "POST /tasks/:id/start", "/tasks/64/start", dict(SENT, consumed=6, left=6),
             dict(T64, **TO_DEV2 | dict(assignedDate="2026-11-20T07:32:41Z", realStarted="2026-02-06T00:30:00Z", consumed=6, left=6, status="doing", progress=50)), {TYPED: V18_BLANK}),
    Recorded("13 from doing", "2026-11-20T07:32:41Z", S68, "POST /tasks/:id/finish", "/tasks/68/finish", dict(SENT, currentConsumed=1, finishedDate="2026-02-09 17:00:00"),
             dict(T68, **TO_DEV2 | DONE | dict(realStarted="2026-02-06T00:30:00Z", consumed=3)), {TYPED: V18_BLANK}),
    Recorded("13 without currentConsumed", "2026-11-20T07:33:44Z", S126, "POST /tasks/:id/finish", "/tasks/126/finish", dict(finishedDate="2026-02-09 17:00:00"),
             dict(T126, **DONE), {TYPED: V18_BLANK}),
    Recorded("14 from done", "2026-11-20T07:32:41Z", S75, "POST /tasks/:id/restart", "/tasks/75/restart", RESTARTING, dict(T75, **RESTARTED),
             {TYPED: V18_BLANK, CLEARED: dict(finishedBy="admin", finishedDate="2026-02-05 18:00:00")}),
    Recorded("14 from pause", "2026-11-20T07:32:41Z", S72, "POST /tasks/:id/restart", "/tasks/72/restart", RESTARTING, dict(T72, **RESTARTED), {TYPED: V18_BLANK}),
]
RECORDED_REFUSALS = [  # the status is the recorded one; the sentences are this service's own, but for a missing token's
    ("POST /products", dict(name=""), 400, "name"),
    ("POST /products", dict(program=1, code="x"), 400, "name"),
    ("POST /products/1/testcases", dict(type="feature", pri=2, steps=[dict(expect="a")], title="Case24"), 400, "steps[0].desc"),
    ("POST /products/1/testcases", dict(type="feature", pri=2, steps=[dict(desc="open", expect="opened")]), 400, "title"),
    ("GET /testcases/9999", None, 404, None),
    ("POST /programs", dict(name="Feb 30 prog", begin="2026-02-30", end="2026-12-31"), 400, "begin"),
    ("POST /programs", dict(name="Bad dates", begin="2026-12-31", end="2026-01-05"), 400, "end"),
    ("GET /programs/9999", None, 404, None),
    ("POST /projects", dict(name="P mp", begin="2026-01-10", end="2026-06-30"), 400, "products"),
    ("POST /executions/3/tasks", dict(name="Task 35", type="devel", assignedTo=["dev1"], estStarted="2026-03-20", deadline="2026-03-01"), 400, "deadline"),
    ("POST /tasks/1/finish", dict(currentConsumed=3), 400, "finishedDate"),
    ("POST /tasks/1/restart", dict(left=5), 400, "consumed"),
    ("POST /tasks/1/restart", dict(consumed=3), 400, "left"),
]
# fmt: on


class TestRecordedAnswers:
    @each("recorded", RECORDED, ids=lambda recorded: recorded.name)
    def test_answer_is_the_recorded_one_but_for_the_named_differences(self, shanghai, recorded):
        shanghai.clock.set(recorded.clock)
        shanghai.load(users=WORLD["users"], **recorded.state)
        answer = shanghai.call(recorded.operation.split()[0], recorded.path, recorded.body)
        shown = SHOWN[recorded.operation]
        expected = (shown._replace(moment=east) if shown.moment is spaced else shown).of(
            **recorded.facts
        )
        body = answer.json
        key = recorded.operation.split("/")[-1]
        if recorded.operation.startswith("GET") and key in body:
            assert recorded.around in (None, without(body, key))
            body = body[key][recorded.place]
        assert lines({field: body[field] for field in expected}) == lines(expected)
        body["status_int"] = answer.status_int
        for differing in recorded.differences.values():
            assert not [
                field
                for field, value in differing.items()
                if field in body and lines(body[field]) == lines(value)
            ]

    @each(("request_line", "body", "status", "field"), RECORDED_REFUSALS)
    def test_what_was_refused_is_refused(self, world, request_line, body, status, field):
        refusal = world.refused(*request_line.split(), body, status=status)
        assert list(refusal.get("fields", {})) == ([field] if field else [])

    def test_no_token_is_answered_in_the_same_words(self, client):
        assert client.refused("GET", "/products", status=401, Token=None)["error"] == "Unauthorized"


# --- Recorded answers, every one ------------------------------------------------------------------------
# Each exchange of `.ci/recorded.json.gz` is replayed on a state that `.ci/recorded.py` makes of the exchange itself.
# Whatever differs is covered by a row of DECIDED, which quotes the words of the contract that demand the difference.
# In which way a value can differ: its meaning (value), or only how the same is written: another way to say "none"
# (unset), a person, a moment, a flag, a number. The answer lacks or adds a field or a record, or has another order.

recorded = SimpleNamespace(**runpy.run_path(str(HERE / ".ci" / "recorded.py")))

# fmt: off
ONLY_OURS = "Of the spec's records only the spec's fields are sent, all of them, in every answer that shows the record."
NOT_18 = "18.10 adds and renames fields, and its additions are not ours."
V165 = "Where two versions differ, 16.5 (V165) is ours"
DEFECT = "unless its answer is plainly a defect"
V165_FIELDS = "The fields of V165 in its order"
LOOKS = "persons as references, moments ISO or null, days plain or null, `deleted` boolean, ids of other records as ints"
ELSEWHERE = "| elsewhere | reference | null | ISO | null | boolean | everything beyond the fourteen, single bugs included: there `status` is text"
RAW = "The reference's raw forms (accounts as text here, local times there) are not copied"
KEPT_RECORD = "Programs, projects and executions keep the spec's record in every answer, `0000-00-00` included."
LEFT_OUT = "`actions` and `preAndNext` are left out"
CREATED = "201 where something is created (operations 2, 4, 6, 8, 10, tokens), else 200."
CREATIONS = "**Creations 201**, the rest 200, the record itself"
ABSENT = "404 for what is not there or not visible"
NEVER_200 = "never 200 with an unchanged record, an empty body, or another record"
SAME_NAMES = "Duplicate names are allowed (the reference refuses some; the spec does not), but of builds."
VERSIONED = "`createdVersion`, where the reference shows its own version, is this service's."
EVERYTHING = "Where the reference needs `?product=` and none is given: everything visible."
OP_3 = "unset `deadline` `1970-01-01`; `status` is `{\"code\",\"name\"}`"
OP_8 = "`whitelist` is text: `,dev1,qa1,`, empty `,`; unset real dates `0000-00-00`"
OP_11 = "| 11 modify task | reference | null | ISO | null | boolean | `cases` |"
EMPTIED = "`whitelist` is emptied when `acl` is `open`"
NO_SUCH_LINK = "Links of the new resources must exist and be visible"
TRANSITIONS = "`PUT` with `resolution`, `closedBy`, `status` (which clients send): the transitions, or 400"
UNCHANGED_IS_400 = "what the reference refuses by answering the unchanged record is 400 here"
SMALL = "`groups` (one: administrators), `options/bug` (English)"
UNSAID = "(the contract says nothing about it)"
PRODUCTS, RELEASES, CASES = "01_* 02_* 47_puts.product* 54_*product*", "09_* 23_* 43_*", "04_* 05_* 47_*testcase* 54_*case-* 55_*testcases"
HOMES, BUGS, TASKS = "06_* 07_* 08_* 20_* 47_puts.pro[gj]* 47_puts.exec* 48_* 54_*.execution", "03_* 21_* 41_* 49_* 5[01]_* 54_*bug*", "1[0-5]_* 5[234]_*task* 52_*"
PLANS, OTHERS = "41_*", "22_* 41_* 42_* 44_*"
DECIDED = [
    # version, calls, in which way, fields, the words of the contract that demand it
    # statuses and refusals
    ("*",  "00_*.wrong-password-[56]", "words",  "error",  "no lock-out, which would let any page lock the owner out"),
    ("*",  "*",                "words",  "error",   "`{\"error\": \"<one sentence for a person>\"}`"),
    ("18", "47_*.project-end-before-begin", "lacks", "fields.days", "400 with every broken field"),
    ("16", "0[24]_* 54_*case-create*", "status", "200-201",  CREATED),
    ("16", "40_*.create.* 41_*.create.* 49_bug_post.*", "status", "200-201",  CREATIONS),
    ("18", "53_task_batch.ok", "status", "200-201", "201 `{\"task\": {id: record}}`, all or none"),
    ("18", "60_*.post.ok",     "status value", "200-201 ", "201 with the result"),
    ("18", "23_create_release.full", "status", "500-201",  CREATIONS),
    ("18", "55_*.tokens-get",  "status", "500-200", "`GET /tokens` answers 200 `{\"message\": …}` that says to POST"),
    ("*",  "2[01]_*.unknown-pro* *-unknown *.unknown",  "status", "20[01]-404 400-404",  ABSENT),
    ("18", "40_*.estimate.get 50_*.estimate-get 55_*-nosuch", "status", "400-404",  ABSENT),
    ("18", "48_*.execution-tasks-after", "status", "200-404",  ABSENT),
    ("*",  "55_*.langs* 55_*.modules* 55_*.tabs* 55_*-issues 55_*.stakeholders 55_*.repos 56_* 57_* 58_* 59_*", "status", "20[01]-404 400-404",
     "Not ours: feedbacks and tickets (the open edition has none), todos, test suites, documents, files, langs, modules, tabs, reports, issues, risks, meetings, repositories, CI."),
    ("*",  "23_*.duplicate-name 40_*.duplicate-* 47_*-duplicate-name", "status", "400-20[01]",  SAME_NAMES),
    ("18", "40_*.close.duplicate-without-id 40_*.put.draft-no-reviewer 41_*.put.partial", "status", "400-200",  V165),
    ("18", "40_*-no-product 41_*.list.*-no-product 42_*-no-project 49_*.bugs-no-product", "status", "400-200",  EVERYTHING),
    ("18", "41_*.create.*-no-product", "status", "400-201",  UNSAID),
    ("*",  "40_*.list.project* 40_*.list.execution*", "value", "stories.order",  UNSAID),
    ("18", "40_*.review-reject-from-active", "status", "200-400",  "review (draft or changed;"),
    ("18", "46_*.delete.self", "status", "200-400", "nobody can delete themselves"),
    ("*",  "47_*.program-several", "status", "200-400",  "An int field takes an int or its text"),
    ("18", "49_*-status-nosuch", "status", "200-400",  "A value that is not of these forms: 400 that names what is allowed"),
    ("18", "51_*.status-resolved", "status", "200-400",  TRANSITIONS),
    ("18", "47_*.testcase-empty-title 51_*.empty-title 52_*.future-date 52_*.empty-object", "status", "200-400",  NEVER_200),
    ("16", "53_*",             "status", "200-400",  UNCHANGED_IS_400),
    # products, users
    ("18", PRODUCTS,           "lacks",  "shadow feedback ticket PMT *Stories unresolvedBugs totalBugs closedDate vision programPM",  NOT_18),
    ("16", PRODUCTS,           "lacks",  "feedback vision",  ONLY_OURS),
    ("*",  PRODUCTS,           "lacks",  "builds cases projects executions docs caseReview",  ONLY_OURS),
    ("*",  PRODUCTS,           "adds",   "lineName programName stories requirements plans releases bugs unResolved closedBugs fixedBugs thisWeekBugs assignToNull progress",  ONLY_OURS),
    ("*",  "02_*",             "adds",   "total products",  "the record's fields at the top level **and** `total` 1 and `products` with that one full record"),
    ("*",  PRODUCTS,           "value",  "createdVersion",  VERSIONED),
    ("18", "01_*",             "value",  "products.program",  "`program` 0 or one that exists"),
    ("*",  PRODUCTS,           "value",  "progress",  "`progress` 100 × closed / all stories of both types, rounded to an int"),
    ("18", "54_*.products-counters", "lacks", "page limit",  "1 and 9 answer everything with `total` unless `page` or `limit` is asked for"),
    ("18", "54_*.product-get-counters", "lacks adds", "stories.changing stories.reviewing stories.changed", V165),
    ("*",  "47_*.product-get-after 54_*.products-*", "value", "whitelist",  EMPTIED),
    ("*",  "47_*.product-* 54_*.product-get-*", "person flag", "PO QD RD createdBy whitelist deleted",  ELSEWHERE),
    ("18", "00_users.list 46_*", "lacks", "group users.group.*",  NOT_18),
    ("18", "00_user.me",       "lacks",  "profile.view.account",  UNSAID),
    ("16", "46_users.list.*",  "adds",   "users.group",  UNSAID),
    ("*",  "46_*",             "adds",   "admin resetToken superReviewer view",  UNSAID),
    ("*",  "46_*",             "value",  "visions",  UNSAID),
    ("*",  "46_*",             "unset",  "birthday join locked last",  ELSEWHERE),
    ("18", "45_*.get.ok 45_*.put.*", "adds", "managerName",  "`manager` an account beside `managerName`"),
    # programs, projects and executions
    ("16", HOMES,              "lacks",  "vision fluidBoard displayCards suspendedDate total* progress teamMembers products caseReview",  KEPT_RECORD),
    ("18", HOMES,              "lacks",  "vision fluidBoard displayCards suspendedDate category charter closedReason colWidth minColWidth maxColWidth consumed delay division"
                                         " estimate firstEnd hasProduct left market multiple progress total* teamCount caseReview",  KEPT_RECORD),
    ("*",  HOMES,              "unset",  "realBegan realEnd",  KEPT_RECORD),
    ("16", "0[68]_*",          "value",  "parent path grade",  "`parent` (text or int) must exist. `path`, `grade` follow the parent's."),
    ("16", "08_*",             "person unset flag",  "*By *Date PM whitelist deleted",  OP_8),
    ("*",  "06_* 07_* 47_* 48_*", "unset person", "lastEditedBy PO QD RD",  ELSEWHERE),
    ("16", "06_*.put-parent",  "value",  "lastEdited*",  DEFECT),
    ("18", "47_*.program-parent", "value", "budget",  "An int field takes an int or its text"),
    ("18", "20_*",             "value",  "openedVersion",  VERSIONED),
    ("18", "20_*",             "value",  "days",  KEPT_RECORD),
    ("18", "55_*-projects",    "person adds lacks",  "projects.*",  KEPT_RECORD),
    ("18", "55_*-projects",    "adds",   "page limit",  "**Lists** page as 3 does"),
    # bugs
    ("*",  BUGS,               "lacks",  "injection identify feedback issueKey mr priOrder severityOrder statusName productName productStatus moduleTitle executionName"
                                         " projectName planTitle planName storyTitle storyStatus latestStoryVersion taskName linkMRTitles toCases files delay",  ONLY_OURS),
    ("*",  BUGS,               "lacks",  "actions preAndNext",  LEFT_OUT),
    ("*",  BUGS,               "adds",   "needconfirm",  ONLY_OURS),
    ("*",  "03_*",             "unset",  "bugs.*Date bugs.deadline",  "| 3 list bugs | reference | null | ISO | `1969-12-31T16:00:00Z` | boolean |"),
    ("*",  "03_*",             "value",  "bugs.status bugs.status.*",  OP_3),
    ("*",  BUGS,               "unset value", "mailto",  ONLY_OURS),
    ("18", "21_create_bug.*",  "value",  "linkBug",  ONLY_OURS),
    ("18", "21_resolve_bug",   "value",  "product",  ABSENT),
    ("*",  "21_* 49_* 5[01]_*", "unset person moment", "*By *To *Date deadline",  ELSEWHERE),
    ("*",  "49_*",             "value",  "bugs.status",  ELSEWHERE),
    ("*",  "49_*.project-page2 49_*.execution-page2", "lacks", "bugs",  "default newest id first for bugs and releases"),
    ("18", "50_*.from-closed", "value",  "assignedTo",  V165),
    ("16", "51_*.several",     "value",  "os deadline",  DEFECT),
    ("16", "54_*.bug-*",       "value",  "openedBuild",  ONLY_OURS),
    # test cases
    ("16", "04_* 54_*case-create*", "person unset", "*By",  "| 4 create case | plain account | `\"\"` | ISO | null | boolean |"),
    ("16", "04_*",             "value",  "keywords",  "All request fields are kept."),
    ("16", "54_*case-create*", "value",  "project execution",  UNSAID),
    ("16", "55_*.project-testcases", "lacks", "cases.case cases.count cases.bugs cases.results cases.caseFails cases.stepNumber cases.statusName",  ONLY_OURS),
    ("16", "55_*.project-testcases", "adds", "cases.steps cases.toBugs cases.files cases.currentVersion",  ONLY_OURS),
    ("16", "55_*.project-testcases", "unset person flag", "cases.*",  ELSEWHERE),
    ("16", "55_*.project-testcases", "value", "cases.project",  "`PUT`; lists of projects and executions"),
    ("*",  CASES,              "lacks",  "needconfirm script scene sort storyTitle storyStatus latestStoryVersion",  ONLY_OURS),
    ("18", "47_*.testcase-without-steps", "value lacks", "version currentVersion steps",  V165),
    # releases
    ("18", RELEASES,           "lacks",  "shadow branchName branches buildInfos builds createdBy createdDate productType",  NOT_18),
    ("16", RELEASES,           "lacks",  "execution executionName filePath scmPath productType",  ONLY_OURS),
    ("*",  RELEASES,           "lacks",  "files",  ONLY_OURS),
    ("*",  RELEASES,           "adds",   "buildID buildName projectName",  ONLY_OURS),
    ("*",  RELEASES,           "number flag unset person", "project branch build deleted mailto notify",  ONLY_OURS),
    ("*",  "43_*.create.*",    "value",  "marker",  DEFECT),
    ("18", "43_*.list.*",      "lacks",  "page limit",  "builds and releases come whole unless `page` or `limit` is asked for"),
    ("16", "43_*.put.ok",      "lacks",  "message",  "the record itself (also `PUT /releases/:id`)"),
    # tasks
    ("*",  TASKS,              "lacks",  "delay storySpec storyVerify storyFiles executionName executionStatus moduleTitle linkedBranch",  ONLY_OURS),
    ("*",  TASKS,              "lacks",  "actions preAndNext",  LEFT_OUT),
    ("*",  TASKS,              "adds",   "mode fromIssue order team storyID storyTitle latestStoryVersion storyStatus assignedToRealName children members files needConfirm progress",  ONLY_OURS),
    ("*",  "1[01]_* 53_* 54_*", "adds lacks", "cases",  OP_11),
    ("18", TASKS,              "value unset", "designVersion mailto storyID storyTitle latestStoryVersion storyStatus",  ONLY_OURS),
    ("18", "14_*.from-done",   "value",  "finished*",  "Both clear the finish, close and cancel fields."),
    ("18", "15_* 53_*",        "unset person moment flag", "*By *Date *To realStarted estStarted deadline deleted",  ELSEWHERE),
    ("18", "15_close_*",       "value",  "assigned*",  "the assignee stays; `closedReason` as in close"),
    ("18", "15_*.team",        "value lacks",  "mode members team",  "for several accounts one task each is made"),
    ("18", "15_*.team",        "value",  "progress",  "rounded half up to an int"),
    ("18", "15_*.from-done-no-left 15_*.empty-body-*", "value", "status finished* activatedDate lastEdited*",  NEVER_200),
    ("16", "52_*.ok-one 52_*.from-done", "value", "realStarted finished*",  "effects as V18's"),
    ("16", "53_*",             "value",  "realStarted",  "`realStarted` is never wiped"),
    ("16", "53_*-to-cancel",   "value",  "assigned*",  "the assignee stays"),
    ("18", "53_task_batch.ok", "value",  "task.*.assigned*",  DEFECT),
    ("18", "52_*.get.*",       "lacks adds", "effort.*",  V165),
    ("18", "52_*.get.*",       "order unset", "effort",  V165),
    # stories
    ("*",  "40_*",             "unset person moment flag", "*By *Date *To mailto deleted executions requirements *planTitle",  LOOKS),
    ("18", "40_* 41_*",        "lacks",  "changedBy changedDate releasedDate linkRequirements twins BSA duration demand submitedBy roadmap priOrder multiple files",  NOT_18),
    ("*",  "40_*",             "lacks",  "actions preAndNext",  LEFT_OUT),
    ("*",  "40_*",             "adds",   "parentName extraStories reviewer notReview parentPri planTitle productName productStatus moduleTitle bugs cases requirements files",  V165_FIELDS),
    ("18", "40_*.create.*",    "value",  "status",  "New: active, or draft when it has `reviewer`s."),
    ("16", "40_*.create.ok-no-reviewer", "value", "assigned*",  DEFECT),
    ("16", "40_*.list.project-page2", "value", "stories.stage",  "projected by an execution"),
    ("18", "40_*.list.*",      "value",  "stories.status",  "draft, active, changed, closed."),
    ("*",  "40_*.put.several", "value",  "stage title",  "PUT takes the counted fields, `title` (into the present version), not `product`, `stage`, `spec`, `verify`"),
    ("*",  "40_*.close.*",     "value",  "assigned*",  "close from any but closed; the assignee stays"),
    ("18", "40_*.active.ok",   "value",  "status stage stages closed*",  "from closed, changed or draft, the body's `status` ignored; closed fields emptied"),
    ("18", "40_*.duplicate-ok", "lacks", "extraStories.*",  UNSAID),
    ("18", "40_*.pass-by-last", "value", "reviewedBy",  LOOKS),
    # plans, builds, test tasks
    ("*",  OTHERS,             "unset person moment flag number", "*",  LOOKS),
    ("18", OTHERS,             "lacks",  "finishedDate closedDate createdBy createdDate projects projectName builds artifactRepoID allBugs allStories members multiple",  NOT_18),
    ("18", "41_*.list.ok",     "lacks",  "plans.children",  V165_FIELDS),
    ("18", "41_*.list.*",      "adds",   "plans.project plans.projectID",  V165_FIELDS),
    ("18", PLANS,              "value",  "order",  V165),
    ("18", "41_*.title-only",  "value",  "begin",  "`begin` default today, or `end` if that is earlier"),
    ("18", "41_*.list.ok",     "value",  "plans.title",  "`title` required (the reference takes `{}`)"),
    ("*",  PLANS,              "lacks adds", "stories.story stories.order stories.planTitle stories.productStatus stories.parentName",  RAW),
    ("*",  PLANS,              "value",  "stories.reviewedBy",  LOOKS),
    ("*",  "42_*.list.*",      "value order", "builds builds.product builds.productName builds.branchName",  NO_SUCH_LINK),
    ("18", "44_*.create.*",    "adds",   "testcases",  "`testcases` as ids in POST and PUT, as records in GET"),
    ("18", "44_*.get.*",       "lacks",  "testcases",  V165),
    ("16", "44_*.get.*",       "value",  "testcases.assignedTo",  "`testcases` as ids in POST and PUT, as records in GET"),
    ("16", "44_*.get.*",       "adds",   "testcases.steps testcases.toBugs testcases.files testcases.currentVersion",  ONLY_OURS),
    ("18", "44_*",             "value",  "executionName",  V165),
    ("*",  "44_*.list.*",      "value",  "testtasks.branch",  LOOKS),
    # results, small ones
    ("18", "60_*.list",        "lacks",  "ZTFResult node nodeName results.stepResults.files",  NOT_18),
    ("18", "60_*.list",        "person moment", "results.lastRunner results.date",  LOOKS),
    ("18", "60_*.list",        "adds",   "results.testtask",  UNSAID),
    ("18", "55_*.configuration*", "value", "value",  "`configurations` (with a token; version 16.5)"),
    ("18", "55_*.groups",      "value lacks adds", " desc privs.* accounts.*",  SMALL),
]
# fmt: on


@cache
def matcher(patterns: str) -> re.Pattern[str]:
    """Return an expression that matches what one of some shell patterns matches; spaces separate the patterns."""
    return re.compile("|".join(map(fnmatch.translate, patterns.split(" "))))


def is_one_of(text: str, patterns: str) -> bool:
    return matcher(patterns).match(text) is not None


def decision_on(exchange: Any, difference: Any) -> Any:
    """Return the first row of DECIDED that covers a difference; None if there is none."""
    field, way, *_ = difference
    for row in DECIDED:
        version, calls, ways, fields, _ = row
        answers = version in ("*", exchange.version) and is_one_of(exchange.call, calls)
        names = is_one_of(field, fields) or is_one_of(field.rpartition(".")[2], fields)
        if answers and way in ways.split(" ") and names:
            return row
    return None


def replay(client: Client, exchange: Any) -> list[Any]:
    """Send a recorded request to an empty service, in the state before it; return what was compared."""
    state, caller = recorded.State(exchange), recorded.caller_of(exchange)
    client.clock.set(recorded.moment_of(exchange))
    client.load(**state.fixture(SECRET))
    client.token = (
        None if exchange.status == 401 else "t" if caller == "admin" else client.login(caller)
    )
    password = (
        {"password": "secret" if exchange.status < 300 else "wrong"}
        if "password" in state.body
        else {}
    )
    answer = client.call(
        exchange.method, exchange.path, {**exchange.body, **password} if password else exchange.body
    )
    client.token = "t"
    client.post("/-/reset")
    return recorded.compared(exchange, answer.status_int, answer.json)


class TestEveryRecordedAnswer:
    def test_every_difference_is_decided_and_every_decision_is_needed(self):
        exchanges, values, needed, others = Counter(), Counter(), set(), []
        verdicts = ["equal", "decided", "unsaid", "other"]
        with contextlib.closing(Client(":memory:", timezone="Asia/Shanghai")) as client:
            for exchange in recorded.EXCHANGES:
                found = set()
                for difference in replay(client, exchange):
                    row = decision_on(exchange, difference) if difference.way else ""
                    verdict = 0 if row == "" else 3 if row is None else 2 if UNSAID in row else 1
                    others += (
                        [f"{exchange.name}: {' '.join(map(str, difference))}"]
                        if verdict == 3
                        else []
                    )
                    values[verdicts[verdict]] += 1
                    found.add(verdict)
                    needed.add(row)
                exchanges[verdicts[max(found)]] += 1
        print(f"exchanges: {dict(exchanges)}, values: {dict(values)}")
        assert others == []
        assert [row for row in DECIDED if row not in needed] == []
        assert exchanges == {"equal": 28, "decided": 332, "unsaid": 16}

    def test_every_state_that_is_described_is_used(self):
        names = [name for exchange in recorded.EXCHANGES for name in (exchange.name, exchange.call)]
        assert [row for row in recorded.BEFORE if not fnmatch.filter(names, row[0])] == []


# --- 7 Rules: what the operations mean ----------------------------------------------------------------


class TestProgramsAndProjects:
    def test_ids_order_path_and_grade_follow_the_parents(self, client):
        top = client.program()
        below = client.program(parent=str(top["id"]))
        project = client.project(parent=below["id"])
        numbers = [
            (one["id"], one["order"], one["path"], one["grade"]) for one in (top, below, project)
        ]
        assert numbers == [(1, 5, ",1,", 1), (2, 10, ",1,2,", 2), (3, 15, ",1,2,3,", 3)]

    def test_programs_projects_and_executions_share_one_sequence_of_ids(self, client):
        client.load(
            executions=[{"id": 8, "name": "E", "project": 7}], projects=[{"id": 7, "name": "P"}]
        )
        assert client.program()["id"] == 9

    @each("parent", [0, "0", None])
    def test_parent_0_means_none(self, client, parent):
        assert client.program(parent=parent)["parent"] == 0

    def test_get_program_answers_for_programs_only(self, world):
        for id in (2, 3, 99):
            world.refused("GET", f"/programs/{id}", status=404)

    def test_white_list_is_emptied_when_the_program_is_open(self, client):
        assert client.program(acl="open", whitelist=["dev1"])["whitelist"] == []
        assert client.project(acl="open", whitelist=["dev1"])["whitelist"] == ","
        assert client.product(acl="open", whitelist=["dev1"])["whitelist"] == []

    @each("whitelist", [
        ["dev1", "qa1"], "dev1,qa1", ",dev1,qa1,", [4, 6], [reference("dev1"), {"id": 6}], ["dev1", "qa1", "dev1", ""],
    ])  # fmt: skip
    def test_white_list_takes_an_array_or_comma_text(self, world, whitelist):
        shown = world.program(acl="private", whitelist=whitelist)["whitelist"]
        assert shown == references(["dev1", "qa1"])
        assert world.project(whitelist=whitelist)["whitelist"] == ",dev1,qa1,"

    def test_project_is_linked_to_its_products(self, world):
        id = world.project(products=[2, "1"])["id"]
        assert next(one for one in world.dump()["projects"] if one["id"] == id)["products"] == [
            1,
            2,
        ]


class TestProductCounters:
    @each(("bug", "counted"), [
        (dict(),                                        dict(bugs=1, unResolved=1, assignToNull=1)),
        (dict(assignedTo="dev1"),                       dict(bugs=1, unResolved=1)),
        (dict(status="resolved", resolution="fixed"),   dict(bugs=1, assignToNull=1)),
        (dict(status="closed", resolution="postponed"), dict(bugs=1, closedBugs=1, assignToNull=1)),
        (dict(status="closed", resolution="fixed"),     dict(bugs=1, closedBugs=1, fixedBugs=1, assignToNull=1)),
        (dict(deleted=True),                            dict()),
    ])  # fmt: skip
    @each("times", [1, 3])
    def test_bugs_that_are_not_deleted_are_counted_by_what_they_are(
        self, client, bug, counted, times
    ):
        old = {"product": 1, "title": "B", "openedDate": "2020-01-01", **bug}
        client.load(products=[{"name": "P"}, {"name": "Q"}], bugs=[old] * times)
        first, second = client.get("/products")["products"]
        names = ("bugs", "unResolved", "closedBugs", "fixedBugs", "thisWeekBugs", "assignToNull")
        assert [first[name] for name in names] == [counted.get(name, 0) * times for name in names]
        assert not any(second[name] for name in names)

    def test_releases_are_counted_for_those_who_may_see_them(self, client):
        client.load(
            products=[{"name": "P", "acl": "open"}],
            projects=[
                {"id": 1, "name": "O", "acl": "open"},
                {"id": 2, "name": "P", "acl": "private", "PM": "dev1"},
            ],
            releases=[{"name": "R", "product": 1, "project": project} for project in (1, 2)],
            users=[{"account": "dev2"}],
        )
        for account, seen in (("admin", 2), ("dev1", 2), ("dev2", 1)):
            client.token = client.token_of(account)
            assert client.get("/products/1/releases")["total"] == seen
            assert client.get("/products/1")["releases"] == seen
            assert client.get("/products")["products"][0]["releases"] == seen

    def test_releases_are_those_of_the_list_whatever_they_belong_to_and_whatever_happens(
        self, client
    ):
        projects = [
            dict(id=1, name="O", acl="open"),
            *(dict(id=id, name="P", PM="dev1") for id in (2, 3)),
        ]
        client.load(
            users=[{"account": "dev1"}, {"account": "dev2"}],
            products=[{"id": id, "name": "P", "acl": "open"} for id in (1, 2)],
            projects=[{"acl": "private", "products": [1, 2], **project} for project in projects],
            releases=[
                dict(name="R", product=product, deleted=deleted, project=project)
                for product, project, deleted in itertools.product(
                    (1, 2), (0, 1, 1, 2, 3, 3), (False, True)
                )
            ],
        )
        tokens = {account: client.token_of(account) for account in ("admin", "dev1", "dev2")}

        def counted() -> list[int]:
            counts = []
            for client.token in tokens.values():
                counts.append(client.get("/products/1")["releases"])
                assert client.get("/products/1/releases")["total"] == counts[-1]
                assert client.get("/products")["products"][0]["releases"] == counts[-1]
            client.token = "t"
            return counts

        assert counted() == [6, 6, 3]
        made = client.post("/projects/2/releases", name="R", date="2026-03-05", product=1)
        assert counted() == [7, 7, 3]
        client.put("/projects/2", acl="open")
        assert counted() == [7, 7, 5]
        client.call("DELETE", f"/releases/{made['id']}")
        client.put("/projects/3", PM="dev2")
        assert counted() == [6, 4, 6]
        client.put("/projects/1", acl="private")
        assert counted() == [6, 2, 4]

    def test_releases_that_are_not_deleted_are_counted(self, client):
        releases = [
            {"name": "R", "product": 1, "deleted": deleted} for deleted in (False, True, False)
        ]
        client.load(products=[{"name": "P"}], releases=releases)
        assert client.get("/products")["products"][0]["releases"] == 2

    @each(("zone", "opened", "counted"), [
        ("UTC",                "2026-11-15T23:59:59Z", 0), ("UTC",                "2026-11-16T00:00:00Z", 1),
        ("UTC",                "2026-11-22T23:59:59Z", 1), ("UTC",                "2026-11-23T00:00:00Z", 0),
        ("Asia/Shanghai",      "2026-11-15T15:59:59Z", 0), ("Asia/Shanghai",      "2026-11-15T16:00:00Z", 1),
        ("Asia/Shanghai",      "2026-11-22T15:59:59Z", 1), ("Asia/Shanghai",      "2026-11-22T16:00:00Z", 0),
        ("Asia/Kathmandu",     "2026-11-15T18:14:59Z", 0), ("Asia/Kathmandu",     "2026-11-15T18:15:00Z", 1),
        ("America/St_Johns",   "2026-11-16T03:29:59Z", 0), ("America/St_Johns",   "2026-11-16T03:30:00Z", 1),
    ])  # fmt: skip
    def test_this_week_is_monday_to_sunday_in_the_zone_of_the_service(self, zone, opened, counted):
        with contextlib.closing(Client(":memory:", control=False, timezone=zone)) as client:
            client.load(
                products=[{"name": "P"}], bugs=[{"product": 1, "title": "B", "openedDate": opened}]
            )
            assert client.get("/products")["products"][0]["thisWeekBugs"] == counted

    def test_this_week_moves_on_with_the_clock(self, world):
        for forward, counted in ((2, 1), (1, 0)):  # from Friday to Sunday, to Monday
            world.clock.forward(days=forward)
            assert world.get("/products")["products"][0]["thisWeekBugs"] == counted


# fmt: off
CLOCK_CHANGES = [  # zone, a moment of the week, its first second and that of the next week
    ("Europe/Berlin",        "2026-03-25T12:00:00Z", "2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z"),  # forward on Sunday
    ("Europe/Berlin",        "2026-03-29T21:59:59Z", "2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z"),  # after it
    ("Europe/Berlin",        "2026-03-29T22:00:00Z", "2026-03-29T22:00:00Z", "2026-04-05T22:00:00Z"),  # the week after it
    ("Europe/Berlin",        "2026-10-21T12:00:00Z", "2026-10-18T22:00:00Z", "2026-10-25T23:00:00Z"),  # back on Sunday
    ("Europe/Berlin",        "2026-10-25T22:59:59Z", "2026-10-18T22:00:00Z", "2026-10-25T23:00:00Z"),
    ("Europe/Berlin",        "2026-10-25T23:00:00Z", "2026-10-25T23:00:00Z", "2026-11-01T23:00:00Z"),
    ("America/New_York",     "2026-03-04T12:00:00Z", "2026-03-02T05:00:00Z", "2026-03-09T04:00:00Z"),
    ("America/New_York",     "2026-10-28T12:00:00Z", "2026-10-26T04:00:00Z", "2026-11-02T05:00:00Z"),
    ("Africa/Cairo",         "2026-04-22T12:00:00Z", "2026-04-19T22:00:00Z", "2026-04-26T21:00:00Z"),  # on Friday
    ("Australia/Lord_Howe",  "2026-04-01T12:00:00Z", "2026-03-29T13:00:00Z", "2026-04-05T13:30:00Z"),  # by half an hour
    ("Australia/Lord_Howe",  "2026-09-30T12:00:00Z", "2026-09-27T13:30:00Z", "2026-10-04T13:00:00Z"),
]
# fmt: on


class TestWeekOfAClockChange:
    """A week with a change to or from summer time is an hour shorter or longer than 7 × 24 hours."""

    @each(("zone", "now", "monday", "next_monday"), CLOCK_CHANGES)
    def test_this_week_is_monday_to_sunday_by_the_clocks_on_the_wall(
        self, zone, now, monday, next_monday
    ):
        first, after = (
            datetime.fromisoformat(moment.replace("Z", "+00:00"))
            for moment in (monday, next_monday)
        )
        second = timedelta(seconds=1)
        opened = {
            1: first - second,
            2: first,
            3: after - second,
            4: after,
        }  # the day before, Monday, Sunday, Monday
        bugs = [dict(product=id, title="B", openedDate=opened[id].isoformat()) for id in opened]
        with contextlib.closing(Client(":memory:", control=False, timezone=zone)) as client:
            client.clock.set(now)
            client.load(products=[dict(id=id, name="P") for id in opened], bugs=bugs)
            counted = {
                one["id"]: one["thisWeekBugs"] for one in client.get("/products")["products"]
            }
            assert counted == {1: 0, 2: 1, 3: 1, 4: 0}


class TestTestCases:
    def test_step_ids_run_on_over_all_cases(self, client):
        product = client.product()["id"]
        steps = [
            client.case(product, steps=[{"desc": "a"}, {"desc": "b"}])["steps"] for _ in range(2)
        ]
        assert [[(step["id"], step["case"]) for step in one] for one in steps] == [
            [(1, 1), (2, 1)],
            [(3, 2), (4, 2)],
        ]

    @each(("stage", "kept"), [
        ("bvt", "bvt"), ("bvt,smoke", "bvt,smoke"), (["unittest", "intergrate"], "unittest,intergrate"), ("", ""), (None, ""),
    ])  # fmt: skip
    def test_stage_is_a_word_or_several_joined_by_commas(self, client, stage, kept):
        case = client.case(stage=stage)
        assert case["stage"] == client.get(f"/testcases/{case['id']}")["stage"] == kept

    def test_expect_of_a_step_is_empty_unless_sent(self, client):
        assert client.case(steps=[{"desc": "a"}])["steps"][0]["expect"] == ""


class TestCreateTask:
    def test_project_can_stand_for_the_execution(self, client):
        project = client.project()["id"]
        task = client.task(project)
        assert (task["execution"], task["project"]) == (project, project)

    def test_task_of_an_execution_belongs_to_its_project(self, world):
        assert [world.task(3)[field] for field in ("execution", "project")] == [3, 2]

    def test_program_is_no_execution(self, world):
        world.refused("POST", "/executions/1/tasks", {}, status=404)

    @each(("sent", "names"), [
        (["dev1", "dev2"], ["dev1", "dev2"]), ("dev1", ["dev1"]), (["dev1"], ["dev1"]), ([4, reference("dev2")], ["dev1", "dev2"]),
    ])  # fmt: skip
    def test_each_assignee_gets_a_task_and_the_last_is_the_answer(self, world, sent, names):
        answer = world.task(3, assignedTo=sent)
        made = world.dump()["tasks"][2:]
        assert [task["assignedTo"] for task in made] == names
        assert {task["assignedDate"] for task in made} == {NOW_ISO}
        assert (answer["id"], answer["assignedTo"]["account"]) == (made[-1]["id"], names[-1])

    @each("nobody", [None, [], "", [""]])
    def test_task_without_assignee_has_no_assigned_date(self, client, nobody):
        task = client.task(assignedTo=nobody)
        assert (task["assignedTo"], task["assignedDate"], task["assignedToRealName"]) == (
            None,
            None,
            "",
        )
        assert len(client.dump()["tasks"]) == 1

    def test_one_wrong_assignee_means_no_task_and_no_user(self, world):
        body = {**NEW_TASK, "assignedTo": ["new1", "not an account"]}
        assert "assignedTo" in world.refused("POST", "/executions/3/tasks", body)["fields"]

    def test_what_is_left_starts_as_the_estimate(self, client):
        assert client.task(estimate="3.5")["left"] == 3.5


class TestModifyTask:
    def test_what_is_not_sent_stays(self, world):
        before = world.put("/tasks/1")
        after = world.put("/tasks/1", desc="new")
        assert lines(after) == lines({**before, "desc": "new"})

    @each(("body", "version"), [
        (dict(name="Other"), 5), (dict(estStarted="2026-02-01"), 5), (dict(deadline="2026-02-21"), 5),
        (dict(name="Other", deadline="2026-02-21"), 5), (dict(name="Task one", estStarted="2026-02-02"), 4),
        (dict(pri=2, desc="x", type="ui", estimate=9, assignedTo="dev2", story=0, module=1, fromBug=0), 4),
    ])  # fmt: skip
    def test_version_grows_when_name_or_plan_change(self, world, body, version):
        assert world.put("/tasks/1", **body)["version"] == version

    @each(("sent", "account", "since"), [
        ("dev2", "dev2", NOW_ISO), ("dev1", "dev1", "2026-01-02T04:00:00Z"), (4, "dev1", "2026-01-02T04:00:00Z"), ("", None, NOW_ISO),
    ])  # fmt: skip
    def test_assigned_date_is_now_when_the_assignee_changes(self, world, sent, account, since):
        task = world.put("/tasks/1", assignedTo=sent)
        assert (task["assignedTo"] and task["assignedTo"]["account"], task["assignedDate"]) == (
            account,
            since,
        )

    @each(("field", "after"), [
        ("assignedTo", None), ("deadline", None), ("estStarted", None), ("type", "devel"), ("pri", 1), ("estimate", 8), ("story", 7), ("module", 2),
    ])  # fmt: skip
    def test_empty_text_unsets_a_person_or_a_day_and_nothing_else(self, world, field, after):
        assert world.put("/tasks/1", **{field: ""})[field] == after

    def test_cases_are_those_of_the_story_that_are_not_deleted(self, client):
        cases = [
            dict(title="A", story=3),
            dict(title="B", story=3, deleted=True),
            dict(title="C", story=4),
            dict(title="D"),
        ]
        stories = [dict(id=id, product=1, title="S") for id in (3, 4)]
        client.load(
            products=[{"name": "P"}],
            stories=stories,
            testcases=[dict(case, product=1) for case in cases],
        )
        id = client.task(story=3)["id"]
        assert client.put(f"/tasks/{id}")["cases"] == {"1": "A"}
        assert client.put(f"/tasks/{id}", story=4)["cases"] == {"3": "C"}
        assert client.put(f"/tasks/{id}", story=0)["cases"] == {}


EVERY_STATE = each("state", WORDS["task", "status"].split())


class TestTransitions:
    @staticmethod
    def in_state(client, state):
        client.sql("UPDATE task SET status = ? WHERE id = 1", state)
        return client

    @EVERY_STATE
    def test_start_is_from_any_state_but_doing(self, world, state):
        self.in_state(world, state)
        if state == "doing":
            assert "doing" in world.refused("POST", "/tasks/1/start", {"left": 1})["error"]
        else:
            assert world.post("/tasks/1/start", left=1)["status"] == "doing"

    @EVERY_STATE
    def test_restart_and_finish_are_from_any_state(self, world, state):
        assert (
            self.in_state(world, state).post("/tasks/1/restart", consumed=3, left=0)["status"]
            == "doing"
        )
        assert (
            self.in_state(world, state).post("/tasks/1/finish", finishedDate="2026-02-09")["status"]
            == "done"
        )

    @each(("sent", "total"), [({}, 2.5), ({"consumed": 2.5}, 2.5), ({"consumed": "7"}, 7)])
    def test_start_takes_the_new_total_of_hours(self, world, sent, total):
        assert world.post("/tasks/1/start", left=0, **sent)["consumed"] == total

    def test_start_leaves_what_is_left_unless_it_is_sent(self, world):
        for sent, left in (({}, 5.5), ({"left": 0}, 0), ({"left": 1}, 1)):
            answer = self.in_state(world, "pause").post("/tasks/1/start", **sent)
            assert (answer["status"], answer["left"]) == ("doing", left)

    @each("consumed", [2.5, 7])
    def test_restart_takes_the_new_total_of_hours_and_those_that_are_left(self, world, consumed):
        answer = world.post("/tasks/1/restart", consumed=consumed, left=3)
        assert (answer["consumed"], answer["left"]) == (consumed, 3)

    @each(("sent", "total"), [
        ({}, 2.5), ({"currentConsumed": 0}, 2.5), ({"currentConsumed": 1.25}, 3.75),
    ])  # fmt: skip
    def test_finish_adds_the_hours_of_this_time(self, world, sent, total):
        answer = world.post("/tasks/1/finish", finishedDate="2026-02-09", **sent)
        assert (answer["consumed"], answer["left"], answer["progress"]) == (total, 0, 100)

    def test_hours_add_up_as_a_person_adds_them(self, world):
        world.post("/tasks/2/restart", consumed=0.1, left=0, realStarted="2026-02-08")
        assert (
            world.post("/tasks/2/finish", finishedDate="2026-02-09", currentConsumed=0.2)[
                "consumed"
            ]
            == 0.3
        )

    @each(("transition", "body", "started"), [
        ("start", {"left": 1}, "2026-11-20 07:42:17"),
        ("start", {"left": 1, "realStarted": "2026-02-06 08:30:00"}, "2026-02-06 08:30:00"),
        ("start", {"left": 1, "realStarted": "2026-02-06"}, "2026-02-06 00:00:00"),
        ("start", {"left": 1, "realStarted": "2026-02-09 17:00:00.5"}, "2026-02-09 17:00:00"),
        ("start", {"left": 1, "realStarted": "2026-02-09T17:00:00.123Z"}, "2026-02-09 17:00:00"),
        ("restart", {"consumed": 3, "left": 1}, "2026-01-03 04:00:00"),
        ("restart", {"consumed": 3, "left": 1, "realStarted": "2026-02-06T08:30:00+02:00"}, "2026-02-06 06:30:00"),
        ("finish", {"finishedDate": "2026-02-09"}, "2026-01-03T04:00:00Z"),
        ("finish", {"finishedDate": "2026-02-09", "realStarted": "2026-02-09"}, "2026-02-09T00:00:00Z"),
    ])  # fmt: skip
    def test_real_start_is_what_was_sent_or_what_was_known(self, world, transition, body, started):
        assert world.post(f"/tasks/1/{transition}", **body)["realStarted"] == started

    @each("transition", ["start", "restart", "finish"])
    @each(("sent", "account", "since"), [
        ({}, "dev1", "2026-01-02T04:00:00Z"), ({"assignedTo": "dev2"}, "dev2", NOW_ISO),
    ])  # fmt: skip
    def test_assignee_stays_unless_sent(self, world, transition, sent, account, since):
        world.post(f"/tasks/1/{transition}", consumed=3, left=1, finishedDate="2026-02-09", **sent)
        task = world.dump()["tasks"][0]
        assert (task["assignedTo"], task["assignedDate"]) == (account, since)

    def test_finished_task_that_is_nobodys_goes_to_its_opener(self, world):
        world.put("/tasks/1", assignedTo="")
        assert world.post("/tasks/1/finish", finishedDate="2026-02-09")["assignedTo"] == "pm1"

    def test_whoever_calls_has_finished_it(self, world):
        world.load(users=[dict(account="dev1", admin=True)])
        world.token = world.token_of("dev1")
        assert world.post("/tasks/1/finish", finishedDate="2026-02-09")["finishedBy"] == "dev1"

    @each(("consumed", "left", "progress"), [
        (0, 0, 0), (0, 5, 0), (1, 0, 100), (1, 1, 50), (1, 2, 33), (2, 1, 67), (1, 7, 13), (1, 199, 1), (1, 200, 0), (2.3, 1.7, 58), (0.7, 4.9, 13),
    ])  # fmt: skip
    def test_progress_is_rounded_half_up(self, world, consumed, left, progress):
        assert world.post("/tasks/2/restart", consumed=consumed, left=left)["progress"] == progress

    @each("transition", ["start", "restart", "finish"])
    def test_comment_is_kept_with_who_when_and_what(self, world, transition):
        world.post(
            f"/tasks/1/{transition}",
            consumed=3,
            left=1,
            finishedDate="2026-02-09",
            comment="“go” 🚀",
        )
        log = world.sql("SELECT objectType, objectID, actor, action, date, comment FROM action")
        assert log == [("task", 1, "admin", transition + "ed", NOW_ISO, "“go” 🚀")]

    def test_moments_without_zone_are_local_to_the_service(self, shanghai):
        task = f"/tasks/{shanghai.task()['id']}"
        started = shanghai.post(f"{task}/start", left=1, realStarted="2026-02-06 08:30:00")
        assert (started["realStarted"], started["openedDate"]) == (
            "2026-02-06 08:30:00",
            "2026-11-20 15:42:17",
        )
        assert shanghai.put(task)["realStarted"] == "2026-02-06T00:30:00Z"
        finished = shanghai.post(f"{task}/finish", finishedDate="2026-02-09")
        assert (finished["realStarted"], finished["finishedDate"]) == (
            "2026-02-06T00:30:00Z",
            "2026-02-08T16:00:00Z",
        )


# --- 2 Errors, 3 Kinds and 4 Records: refusals --------------------------------------------------------

# fmt: off
PRODUCTS, PROGRAMS, PROJECTS = "POST /products", "POST /programs", "POST /projects"
TASKS, CASES, MODIFY = "POST /executions/3/tasks", "POST /products/1/testcases", "PUT /tasks/1"
START, FINISH, RESTART = "POST /tasks/1/start", "POST /tasks/1/finish", "POST /tasks/1/restart"
GOOD = {
    PRODUCTS: dict(name="P"), PROGRAMS: without(ALPHA, "id"), PROJECTS: dict(PR_ONE, products=[1]), TASKS: dict(DATED, name="T"),
    CASES: dict(title="C", type="unit", pri=1, steps=[]), MODIFY: {}, START: dict(left=1), FINISH: dict(finishedDate="2026-02-09"),
    RESTART: dict(consumed=3, left=1),
}
NEEDED = {
    PRODUCTS: "name", PROGRAMS: "name begin end", PROJECTS: "name begin end products", CASES: "title type pri steps",
    TASKS: "name type estStarted deadline", FINISH: "finishedDate", RESTART: "consumed left",
}
REFUSED = {  # operation: broken field, what is sent, a word of the rule
    PRODUCTS: [
        ("name", "", "blank"), ("name", " \t\u3000", "blank"), ("name", "x" * 256, "255"), ("name", "a\0b", "NUL"),
        ("name", "a\ud800b", "surrogate"), ("name", "\ude00\ud83d", "surrogate"), ("name", True, "text"), ("name", ["x"], "text"), ("desc", "é" * 32769, "65536"),
        ("desc", {"html": "x"}, "text"), ("code", 2**63, "64 bits"), ("program", 99, "program"), ("program", 2, "program"),
        ("program", -1, "0 or more (got -1)"), ("line", "x", "whole number"), ("line", True, "whole number"), ("line", 1.5, "whole number"), ("line", 1.0, "whole number"),
        ("line", "٣", "whole number"), ("line", 2**63, "or less (got"), ("type", "other", "normal, branch, platform"),
        ("acl", "custom", "open, private"), ("acl", {}, "open, private"), ("PO", 99, "existing user"), ("PO", "a b", "letters"),
        ("PO", "x" * 31, "30"), ("PO", ["po1"], "user"), ("PO", {"realname": "x"}, "user"), ("QD", True, "user"),
        ("RD", {"id": 99}, "existing user"), ("whitelist", ["dev1", 99], "existing user"), ("whitelist", "dev1,a b", "letters"),
        ("whitelist", {"0": "dev1"}, "array"), ("whitelist", 4, "array"), ("whitelist", ",".join(f"x{n}" for n in range(1001)), "1000 persons"),
    ],
    PROGRAMS: [
        ("begin", "2026-02-30", "real day"), ("begin", "2026-02-29", "real day"), ("begin", "0000-01-01", "real day"), ("begin", "20260101", "real day"), ("begin", "2026-W01-1", "real day"),
        ("begin", "٢٠٢٦-01-01", "real day"), ("end", 20260101, "real day"), ("end", "2026-01-04", "before"),
        ("parent", "99", "program"), ("parent", 2, "program"), ("PM", 99, "existing user"), ("budget", "many", "whole number"),
        ("budgetUnit", "EUR", "CNY, USD"), ("acl", "none", "open, private"),
    ],
    PROJECTS: [
        ("products", [], "empty"), ("products", [1, 99], "product"), ("products", [True], "whole number"), ("products", "1", "array"),
        ("model", "kanban", "scrum, waterfall"), ("parent", 99, "program"), ("end", "2026-01-09", "before"),
    ],
    CASES: [
        ("type", "step", "feature, performance, config, install, security, interface, unit, other"),
        ("stage", "integrate", "unittest, feature, intergrate, system, smoke, bvt"), ("stage", ["bvt", 1], "intergrate"),
        ("pri", "high", "whole number"), ("steps", "a", "array"), ("steps[0]", ["a"], "object"),
        ("steps[1].desc", [{"desc": "a"}, {"expect": "b"}], "required"), ("steps[0].desc", [{"desc": ""}], "blank"),
    ],
    TASKS: [
        ("type", "code", "design, devel, request, test, study, discuss, ui, affair, misc"), ("deadline", "2026-02-01", "before"),
        ("estimate", -0.5, "0 or more"), ("estimate", "8h", "hours"), ("estimate", True, "hours"), ("estimate", 2.0**64, "or less"), ("estimate", "1e400", "or less"),
        ("assignedTo", 99, "existing user"), ("assignedTo", ["dev1", None], "user"),
    ],
    MODIFY: [
        ("name", "", "blank"), ("type", "code", "devel"), ("deadline", "2026-02-01", "before"), ("assignedTo", ["dev1"], "user"),
    ],
    START: [
        ("consumed", 2, "2.5"), ("left", -1, "0 or more"), ("realStarted", "yesterday", "YYYY-MM-DD hh:mm:ss"),
        ("realStarted", "2026-02-06 24:00:00", "YYYY-MM-DD hh:mm:ss"), ("realStarted", "0001-01-01", "YYYY-MM-DD hh:mm:ss"),
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
# fmt: on


class TestRefusals:
    @each(
        ("operation", "place", "value", "word"),
        [(operation, *row) for operation, rows in REFUSED.items() for row in rows],
        ids=[
            f"{operation} {row[0]} {n}"
            for operation, rows in REFUSED.items()
            for n, row in enumerate(rows)
        ],
    )
    def test_refusal_names_the_field_and_the_rule_and_writes_nothing(
        self, world, operation, place, value, word
    ):
        field = re.split(r"[\[.]", place)[0]
        refusal = world.refused(*operation.split(), {**GOOD[operation], field: value})
        assert list(refusal["fields"]) == [place]
        assert word in refusal["fields"][place]
        assert refusal["error"].rstrip(".") == f"{place} {refusal['fields'][place]}"

    @each(
        ("operation", "field"),
        [(one, field) for one, fields in NEEDED.items() for field in fields.split()],
    )
    @each("absent", [{}, None], ids=["left out", "null"])
    def test_needed_fields_are_needed(self, world, operation, field, absent):
        body = (
            without(GOOD[operation], field)
            if absent is not None
            else {**GOOD[operation], field: None}
        )
        fields = world.refused(*operation.split(), body)["fields"]
        assert list(fields) == [field]
        assert fields[field].startswith("is required and must be ")

    @each("operation", GOOD)
    def test_what_the_table_changes_is_good_by_itself(self, world, operation):
        assert world.call(*operation.split(), GOOD[operation]).status_int in (200, 201)

    def test_every_broken_field_is_named(self, client):
        refusal = client.refused(
            "POST", "/programs", {"name": "", "begin": "x", "budgetUnit": "EUR"}
        )
        assert set(refusal["fields"]) == {"name", "begin", "end", "budgetUnit"}
        assert all(field in refusal["error"] for field in refusal["fields"])

    @each(("operation", "body", "fields"), [
        ("PUT /tasks/1",         dict(name="", deadline="2026-02-01"),             "name deadline"),
        ("PUT /tasks/1",         dict(estStarted="x", deadline="2026-02-01"),      "estStarted"),
        ("POST /tasks/1/start",  dict(consumed=1, left=-1),                        "left consumed"),
        ("POST /tasks/1/start",  dict(consumed=1, left=1, assignedTo=999),         "consumed assignedTo"),
        ("POST /tasks/1/restart", dict(consumed=1),                                "left consumed"),
        ("POST /tasks/2/finish", dict(),                                           "finishedDate realStarted"),
        ("POST /tasks/2/finish", dict(realStarted="x", finishedDate="2026-02-09"), "realStarted"),
        ("POST /tasks/1/finish", dict(finishedDate="2020-01-01", currentConsumed=-1), "finishedDate currentConsumed"),
        ("POST /projects/2/executions", dict(name="", begin="2020-01-01", end="2020-01-02"), "name begin end"),
    ])  # fmt: skip
    def test_those_that_what_is_stored_makes_wrong_are_named_with_the_others(
        self, world, operation, body, fields
    ):
        assert set(world.refused(*operation.split(), body)["fields"]) == set(fields.split())

    def test_task_that_was_never_started_needs_its_real_start_to_be_finished(self, world):
        refusal = world.refused("POST", "/tasks/2/finish", {"finishedDate": "2026-02-09"})
        assert list(refusal["fields"]) == ["realStarted"]

    def test_hours_stay_within_64_bits(self, world):
        world.sql("UPDATE task SET consumed = ? WHERE id = 1", 2.0**62)
        refusal = world.refused(
            "POST", "/tasks/1/finish", {"finishedDate": "2026-02-09", "currentConsumed": 2.0**62}
        )
        assert list(refusal["fields"]) == ["currentConsumed"]

    def test_refused_request_makes_no_user(self, world):
        world.refused("POST", "/products", {"PO": "newcomer", "whitelist": ["other1"]})
        assert not world.sql("SELECT * FROM user WHERE account IN ('newcomer', 'other1')")

    @each(("operation", "field", "sent", "shown"), [
        (PRODUCTS, "line", "7", 7), (PRODUCTS, "line", "-3", -3), (PRODUCTS, "line", -(2**63), -(2**63)), (PRODUCTS, "line", 2**63 - 1, 2**63 - 1),
        (PRODUCTS, "code", 12, "12"), (PRODUCTS, "code", 1.5, "1.5"), (PRODUCTS, "name", 2026, "2026"), (PRODUCTS, "name", "x" * 255, "x" * 255),
        (PRODUCTS, "name", "𝕏" * 255, "𝕏" * 255), (TASKS, "estimate", -0.0, 0), (TASKS, "estimate", 1e18, 10**18),
        (PRODUCTS, "desc", "x" * 65536, "x" * 65536), (PRODUCTS, "program", "1", 1), (PROGRAMS, "budget", "200000", "200000"),
        (TASKS, "estimate", "2.5", 2.5), (TASKS, "estimate", 8, 8), (TASKS, "estimate", 8.0, 8), (TASKS, "pri", "2", 2),
        (PROGRAMS, "end", "2026-01-05", "2026-01-05"), (TASKS, "deadline", "2026-02-02", "2026-02-02"),
    ])  # fmt: skip
    def test_numbers_and_texts_are_taken_in_each_other_s_form(
        self, world, operation, field, sent, shown
    ):
        assert lines(
            world.call(*operation.split(), {**GOOD[operation], field: sent}).json[field]
        ) == lines(shown)

    @each("text", [
        "“Ünïcode” 🚀\n\t", "<script>alert('x')</script>", "a\u2028b\x7f\x01", "%s %d %%", "'; DROP TABLE",
    ])  # fmt: skip
    def test_strings_are_returned_as_they_were_sent(self, client, text):
        id = client.product(name=text, code=text, desc=text)["id"]
        product = client.get("/products")["products"][0]
        assert [product[field] for field in ("id", "name", "code", "desc")] == [
            id,
            text,
            text,
            text,
        ]

    def test_duplicate_names_and_unknown_fields_are_fine(self, client):
        assert (
            client.product(name="Same")["id"]
            != client.product(name="Same", unknown=1, total=7)["id"]
        )


# --- 6 Store: lists -----------------------------------------------------------------------------------


def ids(records: list[dict[str, Any]]) -> list[int]:
    return [record["id"] for record in records]


class TestLists:
    @pytest.fixture
    def five(self, client):
        """Five products and, in the first of them, five bugs and a deleted one; five releases of a project."""
        numbers = range(1, 6)
        client.load(
            products=[dict(id=n, name=f"P{n % 3}", order=10 - n) for n in numbers],
            projects=[dict(id=1, name="Pr")],
            bugs=[
                dict(id=n, product=1, title=f"B{n}", severity=n % 3, deleted=n > 5)
                for n in range(1, 7)
            ],
            releases=[dict(id=n, product=n, project=1, name=f"R{n}") for n in numbers],
        )
        return client

    @each(("path", "order"), [
        ("products", [1, 2, 3, 4, 5]), ("products/1/bugs", [5, 4, 3, 2, 1]), ("projects/1/releases", [5, 4, 3, 2, 1]),
    ])  # fmt: skip
    def test_pages_follow_one_another_in_the_default_order(self, five, path, order):
        key = path.split("/")[-1]
        for page, wanted in (
            (1, order[:2]),
            (2, order[2:4]),
            (3, order[4:]),
            (4, []),
            (2**63 - 1, []),
        ):
            answer = five.get(f"/{path}?limit=2&page={page}")
            assert (ids(answer.pop(key)), answer) == (
                wanted,
                {"page": page, "total": 5, "limit": 2},
            )

    def test_page_or_limit_alone_makes_pages(self, five):
        assert without(five.get("/products?page=1"), "products") == {
            "page": 1,
            "total": 5,
            "limit": 20,
        }
        assert without(five.get("/projects/1/releases?limit=3"), "releases") == {
            "page": 1,
            "total": 5,
            "limit": 3,
        }

    @each(("query", "order"), [
        ("/products/1/bugs?order=severity_asc", [3, 1, 4, 2, 5]), ("/products/1/bugs?order=severity_desc", [5, 2, 4, 1, 3]),
        ("/products/1/bugs?order=id", [1, 2, 3, 4, 5]),       ("/products/1/bugs?order=severity_asc&limit=2&page=2", [4, 2]),
        ("/products?order=name_desc", [5, 2, 4, 1, 3]),           ("/products?order=order_asc", [5, 4, 3, 2, 1]),
        ("/projects/1/releases?order=product_asc", [1, 2, 3, 4, 5]),
    ])  # fmt: skip
    def test_order_is_by_any_field(self, five, query, order):
        answer = five.get(query)
        assert ids(next(value for value in answer.values() if isinstance(value, list))) == order

    def test_order_tells_nothing_of_what_is_not_shown(self, world):
        assert list(world.refused("GET", "/users?order=password_asc")["fields"]) == ["order"]
        assert world.get("/users?order=account_asc&limit=1")["users"][0]["account"] == "admin"

    def test_order_is_that_of_the_values_shown(self, client):
        client.load(
            products=[dict(id=1, name="A"), dict(id=2, name="B", order=3)]
        )  # the first shows 5
        for page, order in (("", [2, 1]), ("&limit=1", [2])):
            assert ids(client.get(f"/products?order=order_asc{page}")["products"]) == order

    @each("number", ["0", "-1", "x", "1.5", "%D9%A1", str(2**64)])
    @each("name", ["page", "limit"])
    @each("path", ["/products", "/products/1/bugs", "/projects/1/releases"])
    def test_page_and_limit_have_bounds(self, five, path, name, number):
        assert list(five.refused("GET", f"{path}?{name}={number}")["fields"]) == [name]

    def test_limit_is_100_000_at_most(self, five):
        assert five.get("/products/1/bugs?limit=100000")["limit"] == 100_000
        assert "100000" in five.refused("GET", "/products/1/bugs?limit=100001")["error"]
        five.refused("GET", f"/products?{'a=1&' * 101}")

    def test_unknown_and_empty_parameters_are_ignored(self, five):
        assert five.get("/products/1/bugs?colour=red&limit=2&_=1")["total"] == 5
        assert five.get("/products?page=&limit=&order=&status=") == five.get("/products")

    @each(("query", "nearest"), [
        ("severty", "severity"), ("colour_asc", "color_asc"), ("severity_up", "severity"), ("id_asc;--", "id_asc"),
    ])  # fmt: skip
    def test_unknown_order_is_refused_with_the_nearest(self, five, query, nearest):
        rule = five.refused("GET", f"/products/1/bugs?order={query}")["fields"]["order"]
        assert nearest in rule
        assert len(rule) < 200  # it does not list all of them

    @each(("path", "allowed", "found"), [
        ("/products",           "all noclosed closed",  {"all": "12345", "noclosed": "1345", "closed": "2"}),
        ("/projects/1/releases", "all normal terminate", {"all": "12345", "normal": "1234", "terminate": "5"}),
    ])  # fmt: skip
    def test_status_of_products_and_releases_is_one_of_few_words(self, five, path, allowed, found):
        five.sql("UPDATE product SET status = 'closed' WHERE id = 2")
        five.sql("UPDATE release SET status = 'terminate' WHERE id = 5")
        for status, wanted in found.items():
            answer = five.get(f"{path}?status={status}&order=id")
            assert (ids(records_in(answer)), answer["total"]) == (
                [int(id) for id in wanted],
                len(wanted),
            )
        rule = five.refused("GET", f"{path}?status=whatever")["fields"]["status"]
        assert all(word in rule for word in allowed.split())

    def test_products_are_narrowed_to_those_of_a_program_or_a_project(self, world):
        for query, found in (
            ("program=1", [1]),
            ("program=4", []),
            ("project=2", [1, 2]),
            ("project=5", []),
            ("program=1&project=2", [1]),
        ):
            answer = world.get(f"/products?{query}")
            assert (ids(answer["products"]), answer["total"]) == (found, len(found)), query

    @each(("status", "found"), [
        ("all", "123456789"), ("unclosed", "12456789"), ("unresolved", "1246789"), ("unconfirmed", "1356789"), ("assigntome", "4"),
        ("openedbyme", "12345789"), ("assigntonull", "1235678"), ("toclosed", "5"), ("postponedbugs", "5"), ("overduebugs", "7"),
        ("active", "1246789"), ("resolved", "5"), ("closed", "3"), ("", "123456789"), ("resolvedbyme", "5"), ("closedbyme", "3"), ("assignedbyme", ""), ("needconfirm", "9"),
        ("longlifebugs", "6"), ("open", None),
    ])  # fmt: skip
    def test_status_is_a_kind_of_browsing_or_a_plain_status(self, client, status, found):
        old = dict(openedDate="2026-11-01")
        more = {2: dict(confirmed=1), 3: dict(status="closed", closedBy="admin"), 4: dict(assignedTo="admin", confirmed=1),
                5: dict(old, status="resolved", resolution="postponed", resolvedBy="admin"), 6: dict(old, openedBy="qa1"), 7: dict(deadline="2026-11-19"),
                8: dict(old, deadline="2026-11-20", lastEditedDate="2026-11-15"), 9: dict(assignedTo="dev1", story=1)}  # fmt: skip
        client.load(
            products=[dict(id=1, name="P")],
            stories=[dict(id=1, product=1, title="S", version=2)],
            bugs=[dict(id=n, product=1, title="B", **more.get(n, {})) for n in range(1, 10)],
        )
        path = f"/products/1/bugs?status={status}&order=id_asc"
        if found is None:
            allowed = client.refused("GET", path)["fields"]["status"]
            assert all(word in allowed for word in ("unclosed", "overduebugs", "resolved"))
        else:
            answer = client.get(path)
            assert (ids(answer["bugs"]), answer["total"]) == ([int(n) for n in found], len(found))

    def test_long_list_is_the_sum_of_its_pages_and_comes_in_pieces(self, filed):
        persons = [f"user{n}" for n in range(450)]
        filed.load(
            products=[dict(id=1, name="P")],
            bugs=[dict(product=1, title="B", assignedTo=one) for one in persons],
        )
        pages = [
            filed.get(f"/products/1/bugs?limit=100&page={page}")["bugs"] for page in range(1, 7)
        ]
        assert filed.get("/products/1/bugs?limit=1000")["bugs"] == list(itertools.chain(*pages))
        assert [len(page) for page in pages] == [100, 100, 100, 100, 50, 0]
        environ = webtest.TestRequest.blank(
            "/products/1/bugs?limit=1000", headers={"Token": "t"}
        ).environ
        answer = filed.service(environ, lambda *_: None)
        assert len(list(answer)) > 2
        answer.close()


class TestOrders:
    """The orders of lists: each field sorts all pages of a list, either way."""

    LISTS = (
        "/products", "/users", "/products/1/bugs", "/products/1/testcases", "/tasks", "/stories", "/productplans",
        "/builds", "/releases", "/testtasks",
    )  # fmt: skip

    def test_every_field_sorts_all_pages_of_a_list_either_way(self, client):
        def listed(path: str, order: str, page: str) -> list[dict[str, Any]]:
            query = f"{path}?order={order}&{page}"
            return records_in(client.app.get(query, headers={"Token": "t"}).json)

        client.load(**pmservice.demo(NOW))
        rows = [row for row in pmservice.OPERATIONS if row.method == "GET"]
        shows = {re.sub("<.*>", "1", row.path): row.shows for row in rows}
        for path in self.LISTS:
            fields = shows[path].shape.fields["order"].schema["enum"]
            for field in [field for field in fields if f"{field}_asc" in fields]:
                whole = listed(path, f"{field}_asc", "limit=1000")
                assert len(whole) > 5
                numbers = [one[field] for one in whole if type(one[field]) in (int, float)]
                if field != "parent":  # which also says that there are children
                    assert numbers == sorted(numbers), (path, field)
                there, back = ids(whole), ids(whole)[::-1]
                assert ids(listed(path, field, "limit=3&page=2")) == there[3:6], (path, field)
                assert ids(listed(path, f"{field}_desc", "limit=4")) == back[:4], (path, field)


class TestLongRecords:
    """Records that contain long lists: they are read in batches, from one state of the database."""

    MANY = 450  # of each in a list: above two batches
    FIXTURE = dict(
        products=[dict(id=1, name="P", acl="open")],
        projects=[dict(id=1, name="Pr", acl="open", products=[1])],
        executions=[dict(id=2, name="E", project=1)],
        plans=[dict(id=1, product=1, title="Plan")],
        stories=[
            dict(id=1, product=1, title="S", plans=[1]),
            *[dict(product=1, title="S", plans=[1], parent=1) for _ in range(MANY)],
        ],
        bugs=[
            dict(product=1, title="B", plan=1, story=1, assignedTo=f"user{n % 9}")
            for n in range(MANY)
        ],
        tasks=[dict(execution=2, name="T", story=1) for _ in range(MANY)],
        testcases=[dict(product=1, title="C", story=1) for _ in range(MANY)],
        testtasks=[dict(id=1, product=1, execution=2, name="R", testcases=[*range(1, MANY + 1)])],
    )
    RECORDS = {
        "/productplans/1": "stories bugs",
        "/stories/1": "tasks children bugs cases",
        "/stories/1?fields=plans,versions": "tasks children bugs cases",
        "/testtasks/1": "testcases",
    }

    @pytest.fixture
    def long(self, filed):
        """Yield an app on a file that holds FIXTURE."""
        filed.load(**self.FIXTURE)
        return filed

    @staticmethod
    def pieces(client: Client, path: str) -> Any:
        """Return the answer to a request, of which nothing is read yet."""
        environ = webtest.TestRequest.blank(path, headers={"Token": "t"}).environ
        return client.service(environ, lambda *_: None)

    @each("path", RECORDS)
    def test_it_comes_in_pieces_and_says_what_memory_says(self, long, path):
        pieces = list(self.pieces(long, path))
        with contextlib.closing(Client(":memory:", control=False)) as client:
            client.load(**self.FIXTURE)
            [whole] = self.pieces(client, path)
        assert len(pieces) > 2
        assert max(map(len, pieces)) < len(whole) / 2
        assert b"".join(pieces) == whole
        record = json.loads(whole)
        for key in self.RECORDS[path].split():
            assert len(record[key]) >= self.MANY
        assert ("versions" in record) == ("versions" in path)

    def test_plan_shows_its_bugs_and_stories_as_lists_do(self, long):
        plan = b"".join(self.pieces(long, "/productplans/1"))
        for path in ("/bugs?limit=1000", "/stories?status=all&limit=1000"):
            listed = b"".join(self.pieces(long, path)).partition(b"[")[2].rpartition(b"]")[0]
            listed = listed.rpartition(b'],"requirements"')[0] or listed
            assert listed in plan

    def test_it_is_of_one_state_whatever_is_written_meanwhile(self, long):
        with contextlib.closing(self.pieces(long, "/productplans/1")) as answer:
            pieces = iter(answer)
            begun = next(pieces)
            long.post("/productplans/1/unlinkbugs", bugs=[1, 2, 3])
            long.put("/bugs/4", title="Renamed")
            plan = json.loads(begun + b"".join(pieces))
        assert sorted(ids(plan["bugs"])) == list(range(1, self.MANY + 1))
        assert "Renamed" not in {bug["title"] for bug in plan["bugs"]}
        assert len(long.get("/productplans/1")["bugs"]) == self.MANY - 3

    def test_reader_who_leaves_early_holds_up_nobody(self, long):
        answer = self.pieces(long, "/productplans/1")
        next(iter(answer))
        answer.close()
        database = long.service.database
        assert not [one for one, _ in database.idle if one.in_transaction]
        assert len(database.idle) == 1

    def test_record_that_is_not_there_has_its_own_status(self, long):
        long.refused("GET", "/productplans/99", status=404)


class TestOneState:
    """Everything in an answer is of one moment, also if others write between its statements."""

    @pytest.fixture
    def interrupted(self, connections, filed_world):
        """Return a function that gets a path; all bugs are deleted just before they are listed."""

        def write(connection: sqlite3.Connection, sql: str) -> None:
            if re.match("SELECT .*FROM bug .*LIMIT", sql, re.DOTALL):
                connections.before = Connections().before
                other.execute("UPDATE bug SET deleted = 1")

        def get(path: str) -> Any:
            connections.before = write
            shown = filed_world.get(path)
            assert connections.before != write, "no bugs were listed"
            return shown

        with contextlib.closing(sqlite3.connect(filed_world.path, isolation_level=None)) as other:
            yield get

    def test_total_is_that_of_the_records_beside_it(self, interrupted):
        shown = interrupted("/products/1/bugs")
        assert (shown["total"], ids(shown["bugs"])) == (2, [2, 1])

    def test_lists_inside_of_a_record_are_of_the_same_moment(self, interrupted, filed_world):
        filed_world.sql("UPDATE bug SET plan = 1")
        assert ids(interrupted("/productplans/1")["bugs"]) == [2, 1]


# Each index, and a request that reads or searches with it: without the index it would look at more rows.
INDEXES = {
    "project_unplaced":     ("POST", "/programs", GOOD[PROGRAMS]),
    "project_of_type":      ("GET", "/projects", None),
    "execution_of_project": ("GET", "/projects/2/executions", None),
    "product_listed":       ("GET", "/products?limit=1", None),
    "release_of_project":   ("GET", "/projects/2/releases", None),
    "release_of_product":   ("GET", "/products/1/releases", None),
    "release_in_project":   ("GET", "/products/1", None),
    "bug_of_product":       ("GET", "/products/1/bugs", None),
    "bug_in_status":        ("GET", "/products/1/bugs?status=resolved", None),
    "bug_assigned":         ("GET", "/products/1/bugs?status=assigntome", None),
    "bug_opened_by":        ("GET", "/products/1/bugs?status=openedbyme", None),
    "bug_unconfirmed":      ("GET", "/products/1/bugs?status=unconfirmed", None),
    "bug_postponed":        ("GET", "/products/1/bugs?status=postponedbugs", None),
    "task_of_execution":    ("GET", "/executions/3/tasks", None),
    "task_of_assignee":     ("GET", "/tasks", None),
    "testcase_of_product":  ("GET", "/products/1/testcases", None),
    "testcase_of_story":    ("PUT", "/tasks/1", {}),
    "step_of_case":         ("GET", "/testcases/1", None),
    "action_of_object":     ("GET", "/products/1/bugs?status=assignedbyme", None),
    "bug_resolved_by":      ("GET", "/products/1/bugs?status=resolvedbyme", None),
    "bug_closed_by":        ("GET", "/products/1/bugs?status=closedbyme", None),
    "bug_of_project":       ("GET", "/projects/2/bugs", None),
    "bug_of_execution":     ("GET", "/executions/3/bugs", None),
    "bug_with_story":       ("GET", "/products/1/bugs?status=needconfirm", None),
    "bug_of_story":         ("GET", "/stories/1", None),
    "bug_of_plan":          ("GET", "/productplans/1", None),
    "bug_of_case":          ("GET", "/testtasks/1", None),
    "task_of_story":        ("GET", "/stories/1", None),
    "testcase_of_project":  ("GET", "/projects/2/testcases", None),
    "testcase_of_execution": ("GET", "/executions/3/testcases", None),
    "result_of_case":       ("GET", "/testcases/1/results", None),
    "effort_of_task":       ("GET", "/tasks/1/estimate", None),
    "product_of_program":   ("GET", "/programs/1/products", None),
    "project_of_parent":    ("GET", "/programs/1/projects", None),
    "project_of_product":   ("GET", "/products/1/projects", None),
    "story_of_product":     ("GET", "/products/1/stories?status=all", None),
    "story_in_status":      ("GET", "/products/1/stories?status=active", None),
    "story_unclosed":       ("GET", "/products/1/stories", None),
    "story_of_parent":      ("GET", "/stories/3", None),
    "story_opened_by":      ("GET", "/products/1/stories?status=openedbyme", None),
    "story_assigned":       ("GET", "/products/1/stories?status=assignedtome", None),
    "story_closed_by":      ("GET", "/products/1/stories?status=closedbyme", None),
    "story_asked":          ("GET", "/products/1/stories?status=reviewbyme", None),
    "project_of_story":     ("GET", "/stories/1", None),
    "plan_of_product":      ("GET", "/products/1/plans", None),
    "plan_of_parent":       ("GET", "/productplans/3", None),
    "plan_of_story":        ("GET", "/stories/1", None),
    "build_of_project":     ("GET", "/projects/2/builds", None),
    "build_of_execution":   ("GET", "/executions/3/builds", None),
    "build_named":          ("PUT", "/builds/1", dict(name="N")),
    "testtask_of_product":  ("GET", "/testtasks?product=1", None),
    "testtask_of_project":  ("GET", "/projects/2/testtasks", None),
    **dict.fromkeys(("task_in_state", "release_dated", "execution_running"), ("BROWSE", "/", None)),
}  # fmt: skip
# Indexes that only triggers and the checks of foreign keys search with, or nothing of this version.
UNREAD = {
    "task_of_project",
    "story_of_release",
    "department_of_parent",
    "user_of_department",
    "testtask_of_execution",
}
# Scans that a query plan may have: of all users, of the accounts in an answer, of the steps of one test case, of the
# departments, and of the departments above and below one.
SMALL = {"user", "json_each", "steps", "department", "up", "below"}
# Lists that may be sorted: those of two types come one after the other from their index; those by day; one task's efforts.
SORTED = {
    "/executions",
    "/projects/2/builds",
    "/executions/3/builds",
    "/builds",
    "/products/1/plans",
    "/productplans",
    "/tasks/1/estimate",
}
# Lists of all records of a resource: they read that resource whole, unless a query parameter narrows them.
WHOLE = {
    "/stories": "story story_count",
    "/productplans": "plan",
    "/builds": "build",
    "/releases": "release",
    "/testtasks": "testtask",
    "/bugs": "bug",
}
RARE = {
    "PUT /projects/:id": {"project"},
    "DELETE /users/:user": {"token"},
}  # a project is moved, a user's tokens are deleted
STATELESS = {
    "/tokens",
    "/ping",
    "/configurations",
    "/configurations/version",
}  # answered without a look at a record


class TestPlans:
    """The query plans of the statements that requests run: rows are found by an index, however large the table."""

    @pytest.fixture
    def planned(self, connections):
        """Return a function that gives the plan of every statement that a request on WORLD runs, a line for each table."""
        with contextlib.closing(Client(":memory:", load=WORLD)) as client:

            def planned(method: str, path: str, body: Any = None, token: str = "t") -> list[str]:
                client.post("/-/reset?only=records")
                client.sql(
                    "UPDATE project SET status = 'doing' WHERE id = 3"
                )  # what the overview shows
                for connection in connections:
                    connection.ran = []
                if method == "BROWSE":
                    browse(client, path, token)
                else:
                    assert client.call(method, path, body, Token=token).status_int in (200, 201)
                ran = [one for connection in connections for one in connection.ran]
                readable = [
                    one
                    for one in ran
                    if re.match(r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b", one[0])
                ]
                assert readable, "no statement of the service was seen"
                # A connection without foreign keys: plans show their checks also where they are not made.
                with contextlib.closing(
                    sqlite3.connect(client.service.database.uri, uri=True)
                ) as other:
                    plans = [
                        other.execute(f"EXPLAIN QUERY PLAN {sql}", *values)
                        for sql, *values in readable
                    ]
                    return [line[3] for plan in plans for line in plan]

            planned.tokens = ("t", client.token_of("dev1"))
            yield planned

    @staticmethod
    def scanned(plan: list[str]) -> set[str]:
        """Return the tables of which a plan reads every row, or every entry of an index that may be long."""
        scans = [
            line for line in plan if "project_unplaced" not in line
        ]  # empty but within a request
        subqueries = {
            line.partition(" ")[2] for line in plan if re.match("CO-ROUTINE|MATERIALIZE", line)
        }
        found = {
            found[1]
            for line in scans
            if (found := re.match(r"SCAN (?:TABLE )?(?!CONSTANT ROW)(\w+)", line))
        }
        return found - SMALL - subqueries

    def test_no_request_reads_a_whole_table(self, planned):
        scanned = {}
        for operation, path, body, *_ in [*ANSWERS, *COMPANION_ANSWERS]:
            if path in STATELESS or path in (
                "/bugs/2/close",
                "/stories/2/review",
            ):  # which have to be in another state before
                continue
            may = RARE.get(operation, set()) | set(WHOLE.get(path, "").split())
            scanned[f"{operation} on {path}"] = (
                self.scanned(planned(operation.split()[0], path, body)) - may
            )
        assert {request: tables for request, tables in scanned.items() if tables} == {}

    def test_no_list_reads_a_whole_table_or_sorts_it(self, planned):
        bad = {}
        for operation in pmservice.OPERATIONS:
            if not isinstance(operation.shows, pmservice.Listing):
                continue
            id = {"projects": "2", "executions": "3"}.get(operation.path.split("/")[1], "1")
            path = operation.path.replace("<id>", id)
            filters = [
                f"&{name}={id}"
                for name, id in (("product", 1), ("project", 2))
                if name in operation.shows.filters
            ]
            narrow = filters[0] if filters else ""
            words = operation.shows.browse if len(operation.shows.browse) > 1 else ()
            for token in planned.tokens:
                for query in (
                    "",
                    "limit=1&page=2",
                    narrow,
                    *(f"status={word}" for word in words),
                    *(f"status={word}{narrow}" for word in words),
                ):
                    plan = planned("GET", f"{path}?{query}", None, token)
                    sorts = path not in SORTED and any("FOR ORDER BY" in line for line in plan)
                    whole = (
                        set() if narrow and narrow in query else set(WHOLE.get(path, "").split())
                    )
                    if sorts or self.scanned(plan) - whole:
                        bad[f"{path}?{query}"] = plan
        assert bad == {}

    def test_overview_scans_products_and_their_counts_only(self, planned):
        for token in planned.tokens:
            plan = planned("BROWSE", "/", None, token)
            assert self.scanned(plan) <= {"product", "product_count"}, [
                line for line in plan if "SCAN" in line
            ]

    def test_each_index_serves_a_request(self, planned):
        plans = {index: "\n".join(planned(*request)) for index, request in INDEXES.items()}
        assert [
            index for index, plan in plans.items() if not re.search(rf"INDEX {index}\b", plan)
        ] == []

    def test_every_index_is_looked_at(self, client):
        made = client.sql("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")
        assert {name for (name,) in made} - UNREAD == set(INDEXES)


# --- 7 Rules: fixtures, in and out --------------------------------------------------------------------

SCRYPTED = "scrypt:" + "0" * 32 + ":" + "1" * 128
# Records that have what those of WORLD cannot have at once: deleted, or open with an empty white list.
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
}  # fmt: skip
FULL = {array: [*WORLD.get(array, []), *OTHERS.get(array, [])] for array in {**WORLD, **OTHERS}}
TABLES = {"users": "user", "programs": "project", "projects": "project", "executions": "project", "products": "product",
          "releases": "release", "bugs": "bug", "tasks": "task", "testcases": "testcase", "departments": "department", "stories": "story",
          "plans": "plan", "builds": "build", "testtasks": "testtask", "efforts": "effort", "results": "result"}  # fmt: skip


class TestFixtures:
    def test_loaded_dump_is_dumped_the_same(self, client):
        client.load(**FULL)
        dumped = client.dump()
        with contextlib.closing(Client(":memory:", control=False)) as again:
            assert again.load(**dumped) == sum(map(len, dumped.values()))
            assert lines(again.dump()) == lines(dumped)

    def test_dump_has_what_was_loaded(self, client):
        client.load(**FULL)
        dumped = client.dump()
        for array, records in FULL.items():
            shown = {record["id"]: record for record in dumped[array]}
            for record in records:
                wanted = (
                    {**record, "budget": str(record["budget"])} if "budget" in record else record
                )
                wanted = (
                    without(wanted, "steps") if array == "testcases" else wanted
                )  # dumped steps also have `case`
                assert lines({field: shown[record["id"]][field] for field in wanted}) == lines(
                    wanted
                )

    @EVERY_RECORD
    def test_these_fixtures_set_every_field_that_can_be_set(self, client, record):
        """Each has at least two values in the dump: a field that is lost on the way has only its default."""
        client.load(**FULL)
        arrays = [array for array, table in TABLES.items() if table == record.table]
        dumped = client.dump()
        for field in record.settable():
            values = {json.dumps(one[field]) for array in arrays for one in dumped[array]}
            assert len(values) > 1, f"{record.table}.{field} is never anything but {values}"

    @each(("fixture", "complaint"), [
        (dict(bugs=[dict(product=1, title="B")] * 3 + [dict(product=1, title="B", severity="x")]), r"bugs\[3\]\.severity .*whole number"),
        (dict(bugs=[dict(product=1)]),                              r"bugs\[0\]\.title is required"),
        (dict(bugs=[dict(title="B")]),                              r"bugs\[0\]\.product is required"),
        (dict(bugs=[dict(product=0, title="B")]),                   r"bugs\[0\]\.product must name an existing product"),
        (dict(bugs=[dict(product=1, title="B", deleted="maybe")]),  r"bugs\[0\]\.deleted must be true or false"),
        (dict(bugs=[dict(product=9, title="B")]),                   r"bugs\[0\]\.product .*product \(got 9\)"),
        (dict(bugs=[dict(product=1, title="B", openedBy=99)]),      r"bugs\[0\]\.openedBy .*user \(got 99\)"),
        (dict(bugs=[dict(product=1, title="B", status="gone")]),    r"bugs\[0\]\.status .*active, resolved, closed"),
        (dict(bugs=[dict(product=1, title="B", colour="red")]),     r"bugs\[0\]\.colour is not a field of a bug"),
        (dict(bugs=[dict(product=1, title="B", repo=7)]),           r"bugs\[0\]\.repo is always 0"),
        (dict(bugs=["B"]),                                          r"bugs\[0\] must be an object"),
        (dict(bugs={}),                                             r"bugs must be an array"),
        (dict(bugs=[dict(product=1, title="B"), dict(product=1, title="B", severity=float("nan"))]), r"JSON has no NaN"),
        (dict(products=[dict(name="P", bugs=float("inf"))]),        r"JSON has no Infinity"),
        (dict(projects=[dict(id=2, name="P"), dict(name="Q", project=2, parent=1)], programs=[dict(id=1, name="R")]), r"projects\[1\]\.parent must be the project"),
        (dict(projects=[dict(name="P", parent=2)]),                 r"projects\[0\]\.parent .*\(got 2\)"),
        (dict(projects=[dict(id=1, name="P"), dict(name="P", parent=1)]), r"projects\[1\]\.parent .*program \(got 1\)"),
        (dict(projects=[dict(id=1, name="P")], programs=[dict(name="P", parent=1)]), r"programs\[0\]\.parent .*program \(got 1\)"),
        (dict(projects=[dict(name="P", products=[1, 9])]),          r"projects\[0\]\.products .*product \(got 9\)"),
        (dict(projects=[dict(name="P", type="program")]),           r"projects\[0\]\.type .*project"),
        (dict(programs=[dict(name="P", begin="2026-02-30")]),       r"programs\[0\]\.begin .*real day"),
        (dict(programs=[dict(name="P", begin="2026-02-02", end="2026-02-01")]), r"programs\[0\]\.end must not be before begin"),
        (dict(programs=[dict(id=5, name="P", parent=6), dict(id=6, name="Q", parent=5)]), r"programs\[0\]\.parent .*own ancestor"),
        (dict(executions=[dict(name="E")]),                         r"executions\[0\]\.project is required"),
        (dict(executions=[dict(name="E", project=9)]),              r"executions\[0\]\.project .*\(got 9\)"),
        (dict(projects=[dict(id=1, name="P"), dict(id=2, name="Q")], executions=[dict(name="E", project=1, parent=2)]), r"executions\[0\]\.parent must be the project"),
        (dict(projects=[dict(id=1, name="P"), dict(id=2, name="Q")], tasks=[dict(name="T", execution=1), dict(name="T", execution=1, project=2)]), r"tasks\[1\]\.project .*its execution"),
        (dict(tasks=[dict(name="T")]),                              r"tasks\[0\]\.execution is required"),
        (dict(tasks=[dict(name="T", execution=9)]),                 r"tasks\[0\]\.execution .*\(got 9\)"),
        (dict(testcases=[dict(product=1, title="C", steps=[dict(expect="x")])]), r"testcases\[0\]\.steps\[0\]\.desc is required"),
        (dict(products=[dict(id=1, name="P")]),                     r"products\[0\]\.id is taken"),
        (dict(users=[dict(account="a b")]),                         r"users\[0\]\.account .*letters"),
        (dict(things=[]),                                           r"things"),
    ])  # fmt: skip
    def test_wrong_fixture_loads_nothing_and_says_where_it_is_wrong(
        self, client, fixture, complaint
    ):
        client.product()
        before = client.dump()
        with pytest.raises(pmservice.StartError, match=complaint):
            client.load(**{"users": [{"account": "early"}], **fixture})
        assert client.dump() == before

    @each("text", [
        '{"bugs": [], "bugs": []}', '{"products": [{"name": "P", "name": "Q"}]}',
        "", "{", "[]", "null", '{"bugs": []} x', '{"bugs": [NaN]}', '{"bugs" []}', '{"bugs": [{]}',
    ])  # fmt: skip
    def test_what_is_no_fixture_is_refused(self, client, text):
        with pytest.raises(pmservice.StartError, match=r"^name: "):
            pmservice.load_text(client.service.database, text, "name")

    def test_null_is_not_given(self, client):
        assert client.load(bugs=None, products=[dict(name="P", desc=None)]) == 1

    def test_records_may_name_others_that_come_later(self, client):
        client.load(**dict(reversed(WORLD.items())))
        assert [len(client.dump()[array]) for array in ("bugs", "products", "programs")] == [
            2,
            2,
            2,
        ]

    def test_ids_are_kept_and_the_next_come_after_them(self, client):
        client.load(products=[dict(id=70, name="P"), dict(name="Q")])
        assert [client.product()["id"], *ids(client.get("/products")["products"])] == [
            72,
            70,
            71,
            72,
        ]

    def test_persons_become_users(self, client):
        client.load(products=[dict(name="P", PO="new1", whitelist=["new2"])])
        names = {
            user["account"]: (user["realname"], user["password"]) for user in client.dump()["users"]
        }
        assert names == {"admin": ("admin", None), "new1": ("new1", None), "new2": ("new2", None)}

    def test_users_are_changed_when_they_are_known(self, world):
        world.load(users=[dict(account="dev1", realname="Daniel")])
        assert {user["id"]: user["realname"] for user in world.dump()["users"]}[4] == "Daniel"

    def test_fixture_can_be_loaded_on_top_of_others(self, world):
        world.load(bugs=[dict(product=2, title="B")])
        assert world.get("/products/2/bugs")["total"] == 1

    def test_app_takes_a_fixture_while_it_holds_no_records(self, tmp_path):
        document = tmp_path / "f.json"
        document.write_text(json.dumps({"products": [{"name": "From a file"}]}))
        for load, names in (
            ({"products": [{"name": "From a dict"}]}, ["From a dict"]),
            (document, ["From a dict"]),
        ):
            with contextlib.closing(Client(tmp_path / "pm.db", load=load)) as client:
                assert [one["name"] for one in client.get("/products")["products"]] == names
        with contextlib.closing(Client(":memory:", load=document)) as client:
            assert client.get("/products")["products"][0]["name"] == "From a file"

    @each("load", [{"bugs": [{}]}, "absent.json", {"products": [{"name": "P", "id": 0}]}])
    def test_app_that_cannot_load_its_fixture_does_not_start(self, tmp_path, load):
        with pytest.raises(pmservice.StartError):
            pmservice.create_app(tmp_path / "pm.db", load=load)


# --- 7 Rules: the companions --------------------------------------------------------------------------

# fmt: off
MOVES = {
    # record, move:        what is sent,                     from which states,                 to which
    ("task", "start"):    (dict(left=1),                     "wait done pause closed cancel",       "doing"),
    ("task", "restart"):  (dict(consumed=3, left=1),         "wait doing done pause closed cancel", "doing"),
    ("task", "finish"):   (dict(finishedDate="2026-02-09"),  "wait doing done pause closed cancel", "done"),
    ("task", "pause"):    ({},                               "wait doing",                          "pause"),
    ("task", "close"):    ({},                               "wait doing done pause cancel",        "closed"),
    ("task", "cancel"):   ({},                               "wait doing pause",                    "cancel"),
    ("task", "active"):   ({},                               "done pause closed cancel",            "doing"),
    ("bug", "confirm"):   ({},                               "active",                              "active"),
    ("bug", "resolve"):   (dict(resolution="fixed"),         "active",                              "resolved"),
    ("bug", "close"):     ({},                               "resolved",                            "closed"),
    ("bug", "active"):    ({},                               "resolved closed",                     "active"),
    ("bug", "activate"):  ({},                               "resolved closed",                     "active"),
}
LISTS = [
    "/users", "/programs", "/projects", "/projects/1/executions", "/executions", "/executions/1/tasks", "/tasks", "/products/1/bugs",
    "/products/1/testcases", "/bugs", "/projects/1/bugs", "/projects/1/testcases", "/productplans", "/products/1/plans", "/testtasks",
    "/projects/1/testtasks", "/projects/1/stories",
]
COUNTERS = ("bugs", "unResolved", "closedBugs", "fixedBugs", "thisWeekBugs", "assignToNull", "releases")
BUG = dict(title="B", severity=3, pri=3, type="codeerror", openedBuild="trunk")
DELETED = [  # record, its list, a change of it
    ("/programs/4",  "/programs",              None),
    ("/projects/5",  "/projects",              ("POST", "/projects/5/executions")),
    ("/products/1",  "/products",              ("POST", "/products/1/bugs")),
    ("/tasks/1",     "/executions/3/tasks",    ("PUT", "/tasks/1")),
    ("/bugs/1",      "/products/1/bugs",       ("POST", "/bugs/1/active")),
    ("/testcases/1", "/products/1/testcases",  ("POST", "/testcases/1/results")),
    ("/executions/6", "/executions",           ("POST", "/executions/6/tasks")),
    ("/stories/2",   "/products/2/stories",    ("POST", "/stories/2/assign")),
    ("/productplans/2", "/products/2/plans",   ("PUT", "/productplans/2")),
    ("/builds/2",    "/projects/2/builds",     ("PUT", "/builds/2")),
    ("/releases/1",  "/projects/2/releases",   ("PUT", "/releases/1")),
    ("/testtasks/1", "/projects/2/testtasks",  ("PUT", "/testtasks/1")),
]
# fmt: on


def records_in(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the records of a list's answer."""
    return next(value for value in answer.values() if isinstance(value, list))


class TestCompanions:
    @each(
        ("record", "move", "state"),
        [(*key, state) for key in MOVES for state in WORDS[key[0], "status"].split()],
    )
    def test_move_leads_where_it_should_or_names_the_states_it_is_made_from(
        self, world, record, move, state
    ):
        sent, sources, to = MOVES[record, move]
        world.sql(f"UPDATE {record} SET status = ? WHERE id = 1", state)
        if state in sources.split():
            moved = world.post(f"/{record}s/1/{move}", comment="“go” 🚀", **sent)["status"]
            assert moved == to
            log = world.sql("SELECT objectType, objectID, actor, date, comment FROM action")
            assert log == [(record, 1, "admin", NOW_ISO, "“go” 🚀")]
        else:
            error = world.refused("POST", f"/{record}s/1/{move}", sent)["error"]
            assert all(source in error for source in sources.split())

    def test_bug_lives_from_opener_to_assignee_and_back(self, world):
        world.load(users=[dict(account=one, admin=True) for one in ("qa1", "dev1")])
        opener, fixer = world.token_of("qa1"), world.token_of("dev1")
        world.token = opener
        bug = world.post("/products/2/bugs", **BUG, assignedTo="dev1")
        path = f"/bugs/{bug['id']}"
        assert (bug["openedBy"], bug["confirmed"], bug["status"]) == (reference("qa1"), 0, "active")
        world.token = fixer
        assert world.post(f"{path}/confirm")["confirmed"] == 1
        fixed = world.post(
            f"{path}/resolve", resolution="fixed", resolvedDate="2026-11-19 10:00:00"
        )
        assert (fixed["resolvedBy"], fixed["resolvedDate"]) == (
            reference("dev1"),
            "2026-11-19T10:00:00Z",
        )
        assert (fixed["assignedTo"], fixed["status"]) == (reference("qa1"), "resolved")
        world.token = opener
        assert world.post(f"{path}/close")["closedBy"] == reference("qa1")
        for count in (1, 2):
            again = world.post(f"{path}/activate", assignedTo="dev1")
            assert (again["activatedCount"], again["assignedTo"], again["resolution"]) == (
                count,
                reference("dev1"),
                "",
            )
            world.post(f"{path}/resolve", resolution="duplicate", duplicateBug=1, assignedTo="dev2")
            assert world.get(path)["assignedTo"] == reference("dev2")
        assert world.get(path)["duplicateBug"] == 1

    def test_product_counters_follow_every_step_of_a_bug_at_once(self, client):
        client.product()
        steps = [  # the step, and the counters after it, in the order of COUNTERS
            (("POST", "/products/1/bugs", BUG), (1, 1, 0, 0, 1, 1, 0)),
            (("POST", "/bugs/1/confirm", {"assignedTo": "dev1"}), (1, 1, 0, 0, 1, 0, 0)),
            (("PUT", "/bugs/1", {"assignedTo": ""}), (1, 1, 0, 0, 1, 1, 0)),
            (("POST", "/bugs/1/resolve", {"resolution": "fixed"}), (1, 0, 0, 0, 1, 0, 0)),
            (("POST", "/bugs/1/close", {}), (1, 0, 1, 1, 1, 0, 0)),
            (("POST", "/bugs/1/active", {}), (1, 1, 0, 0, 1, 0, 0)),
            (("POST", "/bugs/1/resolve", {"resolution": "postponed"}), (1, 0, 0, 0, 1, 0, 0)),
            (("POST", "/bugs/1/close", {}), (1, 0, 1, 0, 1, 0, 0)),
            (("POST", "/products/1/bugs", BUG), (2, 1, 1, 0, 2, 1, 0)),
            (("DELETE", "/bugs/1", None), (1, 1, 0, 0, 1, 1, 0)),
            (("DELETE", "/bugs/2", None), (0, 0, 0, 0, 0, 0, 0)),
        ]
        for step, counted in steps:
            assert client.call(*step).status_int in (200, 201)
            listed, single = client.get("/products")["products"][0], client.get("/products/1")
            assert (
                [listed[one] for one in COUNTERS]
                == [single[one] for one in COUNTERS]
                == list(counted)
            ), step
            for status, place in (
                ("all", 0),
                ("unresolved", 1),
                ("closed", 2),
                ("assigntonull", 5),
            ):
                assert client.get(f"/products/1/bugs?status={status}")["total"] == counted[place], (
                    step,
                    status,
                )

    def test_releases_are_listed_and_counted_as_they_are_made(self, client):
        project = client.project()["id"]
        for n in (1, 2):
            made = client.post(
                f"/projects/{project}/releases", name=f"R{n}", date="2026-03-05", product=1
            )
            assert (made["id"], made["productName"], made["projectName"]) == (n, "P one", "Pr one")
        for path in (f"/projects/{project}/releases", "/products/1/releases"):
            assert (ids(client.get(path)["releases"]), client.get(path)["total"]) == ([2, 1], 2)
        assert client.get("/products/1")["releases"] == 2

    @each(("model", "type"), [("scrum", "sprint"), ("waterfall", "stage")])
    def test_execution_is_a_sprint_or_a_stage_for_the_project_s_products(self, client, model, type):
        for _ in range(3):
            client.product()
        project = client.project(model=model, products=[1, 3])["id"]
        days = dict(begin="2026-01-10", end="2026-06-30")
        path = f"/projects/{project}/executions"
        made = [client.post(path, name="E", **days, **more) for more in ({}, {"products": [2]})]
        assert [(one["type"], one["project"], one["acl"]) for one in made] == [
            (type, project, "private")
        ] * 2
        assert [one["products"] for one in client.dump()["executions"]] == [[1, 3], [2]]
        assert ids(client.get(path)["executions"]) == ids(made)
        task = client.task(made[0]["id"])
        assert client.get(f"/tasks/{task['id']}") == task
        assert client.get(f"/executions/{made[0]['id']}/tasks")["tasks"] == [task]

    @each(("begin", "end", "broken"), [
        ("2026-01-09", "2026-06-30", ["begin"]), ("2026-01-10", "2026-07-01", ["end"]), ("2025-01-01", "2027-01-01", ["begin", "end"]),
        ("2026-03-02", "2026-03-01", ["end"]), ("2026-02-30", "2026-03-01", ["begin"]),
    ])  # fmt: skip
    def test_execution_lies_in_the_project_s_days(self, world, begin, end, broken):
        refusal = world.refused(
            "POST", "/projects/2/executions", dict(name="E", begin=begin, end=end)
        )
        assert list(refusal["fields"]) == broken

    @each(("request_line", "needed"), [
        ("POST /products/1/bugs", "title severity pri type openedBuild"), ("POST /bugs/2/resolve", "resolution"),
        ("POST /projects/2/executions", "name begin end"), ("POST /projects/2/releases", "name date product"),
        ("POST /users", "account password"), ("POST /departments", "name"), ("POST /products/1/stories", "title spec pri category"),
        ("POST /stories/1/review", "result"), ("POST /products/1/plans", "title"), ("POST /productplans/1/linkstories", "stories"),
        ("POST /productplans/1/linkbugs", "bugs"), ("POST /projects/2/builds", "execution product name builder date"),
        ("POST /tasks/1/assignto", "assignedTo"), ("POST /tasks/1/estimate", "consumed left"), ("POST /executions/3/tasks/batchCreate", "tasks"),
    ])  # fmt: skip
    def test_needed_fields_are_needed(self, world, request_line, needed):
        fields = world.refused(*request_line.split(), {})["fields"]
        assert set(fields) == set(needed.split())
        assert all(rule.startswith("is required and must be ") for rule in fields.values())

    @each(("request_line", "body", "word"), [
        ("POST /bugs/2/resolve", dict(resolution="mended"), "bydesign, duplicate, external, fixed, notrepro, postponed, willnotfix"),
        ("POST /bugs/2/resolve", dict(resolution=""), "required"), ("POST /bugs/2/resolve", dict(resolution="fixd"), "did you mean fixed"),
        ("PUT /bugs/2", dict(type="crash"), "codeerror"), ("PUT /bugs/2", dict(execution=1), "execution"), ("PUT /bugs/2", dict(title=" "), "blank"),
        ("POST /products/1/bugs", dict(BUG, project=99), "project"), ("POST /tasks/1/active", dict(left=-1), "0 or more"),
        ("POST /projects/2/releases", dict(name="R", date="2026-03-05", product=99), "product"),
        ("POST /projects/2/releases", dict(name="R", date="2026-03-05", product=1, build=[1, 2]), "whole number"),
        ("POST /users", dict(account="a b", password="secret"), "letters"), ("POST /users", dict(account="dev9", password=""), "password"),
    ])  # fmt: skip
    def test_refusal_says_what_is_allowed(self, world, request_line, body, word):
        assert word in world.refused(*request_line.split(), body)["error"]

    def test_mine_are_the_tasks_assigned_to_whoever_asks(self, world):
        world.token = world.token_of("dev1")
        assert lines(world.get("/tasks")["tasks"]) == lines([COMPANIONS["task"].of(**TASK_1)])
        for status, total in (
            ("all", 1),
            ("unclosed", 1),
            ("pause", 1),
            ("doing", 0),
            ("closed", 0),
        ):
            assert world.get(f"/tasks?status={status}")["total"] == total
        assert "unclosed" in world.refused("GET", "/tasks?status=open")["fields"]["status"]

    def test_first_start_begins_the_execution_and_its_project(self, shanghai):
        shanghai.load(
            **{
                array: WORLD[array]
                for array in ("users", "programs", "projects", "executions", "products", "tasks")
            }
        )
        shanghai.clock.set("2026-11-20T17:00:00Z")  # the 21st in Shanghai
        begun = [(path, shanghai.get(path)) for path in ("/executions/6", "/projects/5")]
        shanghai.post("/tasks/2/start", left=1)
        for path, before in begun:
            after = shanghai.get(path)
            assert lines(after) == lines({**before, "status": "doing", "realBegan": "2026-11-21"})
        shanghai.clock.forward(days=1)
        shanghai.post(f"/tasks/{shanghai.task(6)['id']}/start", left=1)
        assert [shanghai.get(path)["realBegan"] for path, _ in begun] == ["2026-11-21"] * 2
        assert shanghai.get("/executions/3")["status"] == "wait"

    def test_what_has_really_begun_keeps_its_day_when_its_first_task_starts(self, client):
        client.load(
            projects=[dict(id=1, name="P", realBegan="2026-01-12")],
            executions=[dict(id=2, name="E", project=1, realBegan="2026-01-13")],
            tasks=[dict(id=1, name="T", execution=2)],
        )
        client.post("/tasks/1/start", left=1)
        shown = [client.get(path) for path in ("/projects/1", "/executions/2")]
        assert [(one["status"], one["realBegan"]) for one in shown] == [
            ("doing", "2026-01-12"),
            ("doing", "2026-01-13"),
        ]

    @each(
        ("state", "reason"),
        [("wait", ""), ("doing", ""), ("done", "done"), ("pause", ""), ("cancel", "cancel")],
    )
    def test_closed_task_says_for_which_reason_unless_one_is_sent(self, world, state, reason):
        for sent, kept in (({}, reason), (dict(closedReason="bydesign"), "bydesign")):
            world.sql("UPDATE task SET status = ?, closedReason = 'old' WHERE id = 2", state)
            assert world.post("/tasks/2/close", **sent)["closedReason"] == kept

    @each(("path", "listed", "change"), DELETED)
    def test_deleted_record_leaves_its_list_and_is_still_shown_by_itself(
        self, world, path, listed, change
    ):
        world.refused("DELETE", path, b"[")
        id, before, shown = int(path.split("/")[-1]), world.get(listed), world.get(path)
        assert world.call("DELETE", path).json == {"message": "success"}
        after = world.get(listed)
        assert after["total"] == before["total"] - 1
        assert records_in(after) == [one for one in records_in(before) if one["id"] != id]
        assert lines(world.get(path)) == lines({**shown, "deleted": True})
        world.refused("DELETE", path, status=404)
        if change:
            world.refused(*change, {}, status=404)

    def test_nothing_can_be_made_below_what_is_deleted_nor_its_lists_be_read(self, world):
        for path in ("/products/1", "/projects/2", "/programs/1"):
            world.call("DELETE", path)
        for line in ("GET /products/1/bugs", "GET /products/1/testcases", "GET /products/1/releases", "POST /products/1/testcases",
                     "GET /projects/2/releases", "GET /projects/2/executions", "POST /projects/2/releases", "POST /executions/2/tasks"):  # fmt: skip
            world.refused(*line.split(), status=404)
        assert list(world.refused("POST", "/products", dict(name="P", program=1))["fields"]) == [
            "program"
        ]
        assert list(
            world.refused("POST", "/projects", dict(GOOD[PROJECTS], products=[1, 2]))["fields"]
        ) == ["products"]

    def test_deleted_release_is_no_more_counted(self, world):
        world.sql("UPDATE release SET deleted = 1 WHERE id = 1")
        assert (
            world.get("/products/1")["releases"],
            world.get("/projects/2/releases")["total"],
        ) == (0, 1)

    @each("path", LISTS)
    def test_lists_are_cut_into_pages(self, client, path):
        numbers = range(1, 24)
        client.load(
            programs=[dict(id=n, name="G") for n in range(101, 124)],
            projects=[dict(id=1, name="P", acl="open"), *(dict(name="P") for _ in numbers)],
            executions=[dict(project=1, name="E") for _ in numbers],
            products=[dict(id=1, name="P")],
            tasks=[dict(execution=1, name="T", assignedTo="admin") for _ in numbers],
            users=[dict(account=f"u{n}") for n in numbers],
            releases=[dict(product=1, project=1, name="R") for _ in numbers],
            bugs=[dict(product=1, project=1, title="B") for _ in numbers],
            testcases=[dict(product=1, project=1, title="C") for _ in numbers],
            plans=[dict(product=1, title="P") for _ in numbers],
            stories=[dict(product=1, title="S", executions=[1]) for _ in numbers],
            testtasks=[dict(product=1, project=1, name="T") for _ in numbers],
        )
        whole = client.get(f"{path}?limit=1000")
        assert whole["total"] == len(records_in(whole)) >= 23
        first = client.get(path)
        assert (first["page"], first["limit"], first["total"]) == (1, 20, whole["total"])
        pages = [client.get(f"{path}?limit=8&page={page}") for page in (1, 2, 3, 4)]
        assert list(itertools.chain(*map(records_in, pages))) == records_in(whole)
        assert [page["total"] for page in pages] == [whole["total"]] * 4
        way = "asc" if ids(records_in(whole))[0] > ids(records_in(whole))[-1] else "desc"
        assert (
            records_in(client.get(f"{path}?limit=1000&order=id_{way}")) == records_in(whole)[::-1]
        )
        assert list(client.refused("GET", f"{path}?page=0")["fields"]) == ["page"]

    def test_users_are_made_by_administrators_and_can_log_in(self, world):
        world.load(users=[dict(account="dev1", password=SECRET)])
        made = world.post("/users", account="qa9", password="pass word", realname="Qi")
        assert world.get(f"/users/{made['id']}") == made
        assert "password" not in json.dumps(made)
        assert (
            world.post("/users", account="qa1", password="another")["id"] == 6
        )  # a person field had made this user, without a password
        for account in ("dev1", "qa9"):
            taken = world.refused("POST", "/users", dict(account=account, password="secret"))
            assert taken["fields"] == {"account": "is taken"}
        assert world.login("qa1", "another")
        world.token = world.login("qa9", "pass word")
        assert world.get("/user") == {"profile": {**made, "role": {"code": "", "name": ""}}}
        for body in (dict(account="qa8", password="secret"), {}, b"{"):
            world.refused("POST", "/users", body, status=403)


# --- 9 OpenAPI ----------------------------------------------------------------------------------------


# The query parameters of the operations: those of lists, further ones, and fields of the body that may come there.
# fmt: off
PAGES = "page limit order"
QUERIES = {f"GET {path}": f"{PAGES} {more}" for path, more in {
    "/products": "status program project", "/products/<id>/bugs": "status", "/projects/<id>/releases": "status",
    "/users": "", "/programs": "", "/programs/<id>/products": "status", "/programs/<id>/projects": "", "/projects": "",
    "/projects/<id>/executions": "", "/projects/<id>/stories": "status", "/projects/<id>/bugs": "status", "/projects/<id>/testcases": "",
    "/projects/<id>/builds": "", "/projects/<id>/testtasks": "status", "/executions": "project", "/executions/<id>/tasks": "status",
    "/executions/<id>/stories": "status", "/executions/<id>/bugs": "status", "/executions/<id>/testcases": "", "/executions/<id>/builds": "",
    "/products/<id>/projects": "", "/products/<id>/stories": "status type", "/products/<id>/plans": "status", "/products/<id>/testcases": "",
    "/products/<id>/releases": "status", "/stories": "status product type", "/productplans": "status product", "/builds": "project",
    "/releases": "status product", "/testtasks": "status product", "/testcases/<id>/results": "", "/bugs": "status product",
    "/tasks": "status", "/tasks/<id>/estimate": "",
}.items()} | {
    **dict.fromkeys(("GET /projects/<id>", "GET /executions/<id>", "GET /stories/<id>"), "fields"), "GET /options/bug": "product", "POST /executions": "project", "POST /products/<id>/stories": "type objectID", "POST /stories": "type objectID product",
    "POST /productplans": "product", "POST /builds": "project", "POST /testcases/<id>/results": "testtask version", "POST /bugs": "product",
}
# fmt: on


TAKING = {
    "PUT": ("/-/clock", "/-/faults"),
    "POST": ("/-/load", "/-/faults"),
}  # controls with a body


class TestOpenAPI:
    """Every answer that a Client gets is held against the document as it comes; here the document itself."""

    def test_document_is_valid_and_open(self, client):
        document = client.call("GET", "/openapi.json", Token=None).json
        pytest.importorskip("openapi_spec_validator").validate(document)
        off = {"/-/live", "/-/ready"}  # the only controls of this service
        assert document["paths"] == {
            path: item
            for path, item in DOCUMENT["paths"].items()
            if path[:3] != "/-/" or path in off
        }
        assert document["components"] == DOCUMENT["components"]

    @each(
        "operation",
        pmservice.OPERATIONS,
        ids=lambda operation: f"{operation.method} {operation.path}",
    )
    def test_every_operation_is_in_it_with_its_parameters_and_fields(self, operation):
        item = DOCUMENT["paths"][operation.path.replace("<", "{").replace(">", "}")]
        described = item[operation.method.lower()]
        asked = QUERIES.get(f"{operation.method} {operation.path}", "")
        assert [one["name"] for one in described.get("parameters", [])] == asked.split()
        assert [one["name"] for one in item.get("parameters", [])] == re.findall(
            "<(.+?)>", operation.path
        )
        line = f"{operation.method} {operation.path.replace('<id>', ':id')}"
        assert described["tags"] == (
            ["specified"] if line in (*SHOWN, "POST /tokens") else ["companion"]
        )
        assert described.get("security") == ([] if operation.path == "/tokens" else None)
        success = [status for status in described["responses"] if status < "300"]
        assert success == [str(operation.status)]
        if operation.reads.fields:
            schema = described["requestBody"]["content"]["application/json"]["schema"]
            assert set(schema["properties"]) == set(operation.reads.fields)
            assert set(schema["required"]) == set(operation.reads.required)
        else:
            assert "requestBody" not in described

    @each("control", pmservice.CONTROLS, ids=lambda row: f"{row.method} {row.path}")
    def test_every_control_is_in_it(self, control):
        described = DOCUMENT["paths"][control.path.replace("<", "{").replace(">", "}")][
            control.method.lower()
        ]
        assert (described["tags"], described["summary"]) == (["control"], control.purpose)
        assert [one["name"] for one in described.get("parameters", [])] == list(control.parameters)
        assert ("requestBody" in described) == (control.path in TAKING.get(control.method, ()))

    @each(("operation", "shown"), SHOWN.items(), ids=list(SHOWN))
    def test_answer_that_lacks_a_field_or_has_another_is_not_as_described(
        self, world, operation, shown
    ):
        line, path, body = next(
            (row[0].split()[0], *row[1:3]) for row in ANSWERS if row[0] == operation
        )
        answer, listed = world.call(line, path, body), path.split("/")[-1]
        validator, good = answers_of(line, path)[answer.status_int], answer.json
        record = good[listed][0] if line == "GET" and listed in good else good
        assert validator.is_valid(good)
        for field in list(record):
            kept = record.pop(field)
            assert not validator.is_valid(good), field
            record[field] = kept
        record["another"] = 1
        assert not validator.is_valid(good)


# --- 11 Control ---------------------------------------------------------------------------------------

CLOSED_CONTROLS = [row for row in pmservice.CONTROLS if not row.open]
EVERY_CONTROL = each("control", CLOSED_CONTROLS, ids=lambda row: f"{row.method} {row.path}")


class TestControls:
    @pytest.fixture
    def memory(self):
        """Yield an app in memory with controls, started with WORLD. dev1 can log in."""
        users = [
            {**one, "password": SECRET} if one["account"] == "dev1" else one
            for one in WORLD["users"]
        ]
        with contextlib.closing(Client(":memory:", load={**WORLD, "users": users})) as client:
            yield client

    def test_live_and_ready_need_no_token(self, client):
        for path, word in (("/-/live", "live"), ("/-/ready", "ready")):
            assert client.call("GET", path, Token=None).json == {"status": word}

    @EVERY_CONTROL
    def test_others_need_an_administrator_and_are_not_there_without_control(
        self, memory, client, control
    ):
        path = control.path.replace("<name>", "one")
        memory.refused(control.method, path, status=401, Token=None)
        memory.refused(control.method, path, status=403, Token=memory.token_of("dev1"))
        client.refused(control.method, path, status=404)

    @each("control", [True, None, False])
    @each("path", [":memory:", "pm.db"])
    def test_controls_are_on_by_themselves_in_memory_only(self, tmp_path, path, control):
        with contextlib.closing(
            Client(path if path == ":memory:" else tmp_path / path, control=control)
        ) as client:
            on = path == ":memory:" if control is None else control
            assert client.call("GET", "/-/clock").status_int == (200 if on else 404)

    def test_service_that_is_loading_is_live_and_not_ready(self, client):
        client.service.loading = True
        for path, status in (("/-/live", 200), ("/-/ready", 503), ("/products", 503)):
            assert client.call("GET", path).status_int == status

    @OPEN_FILES
    @each(
        "loss",
        [
            "removed",
            "replaced",
            "moved with its folder",
            "emptied",
            "log removed",
            "index removed",
            "index replaced",
        ],
    )
    def test_file_that_is_gone_is_not_ready_and_takes_no_writes(self, filed_world, loss):
        if loss == "emptied":
            os.truncate(filed_world.path, 0)
        else:
            place = {
                "log": f"{filed_world.path}-wal",
                "index": f"{filed_world.path}-shm",
                "moved": filed_world.path.parent,
            }
            lost = place.get(loss.split()[0], filed_world.path)
            os.rename(lost, f"{lost}.old")
            if "replaced" in loss:
                shutil.copy(f"{lost}.old", lost)
        for change in (pmservice.take_snapshot, pmservice.apply_snapshot):
            with pytest.raises(pmservice.Refusal, match="removed or replaced"):
                change(filed_world.service.database, "now")
        assert filed_world.call("GET", "/-/ready").status_int == 503
        for request in WRITES:
            assert "written" in filed_world.call(*request).json["error"], request
        if loss != "emptied":
            assert filed_world.get("/products")["total"] == 2

    def test_use_of_a_token_is_noted_when_nothing_is_in_the_way(self, tmp_path):
        with contextlib.closing(Client(tmp_path / "pm.db", token_lifetime=1e15)) as client:
            client.load(users=[dict(account="dev1")])
            client.token, noted = client.token_of("dev1"), "SELECT used FROM token"
            client.clock.forward(hours=1)
            with client.service.database.writing():
                assert client.get("/products")["total"] == 0  # it waits for no writer
            with contextlib.closing(
                sqlite3.connect(client.service.database.uri, uri=True)
            ) as other:
                other.execute("BEGIN IMMEDIATE")
                assert client.get("/products")["total"] == 0  # nor for another program
            assert client.sql(noted) == [(NOW_ISO,)]
            assert client.get("/products")["total"] == 0
            assert client.sql(noted) == [(NOW_ISO.replace("T07", "T08"),)]

    def test_reset_brings_back_records_and_numbering(self, memory):
        start = memory.dump()
        for _ in range(2):
            made = [memory.product(), memory.program(), memory.task(3), *memory.case(1)["steps"]]
            assert ids(made) == [3, 7, 3, 6]
            memory.call("DELETE", "/bugs/1")
            assert memory.post("/-/reset") == {"message": "success"}
            assert lines(memory.dump()) == lines(start)
            assert not memory.sql("SELECT * FROM action")

    def test_reset_brings_back_the_clock_and_takes_faults_calls_and_tokens_away(self, memory):
        memory.put("/-/snapshots/kept")
        memory.put("/-/clock", now="2030-01-01T00:00:00Z")
        memory.call("PUT", "/-/faults", [{"match": "GET /programs", "status": 500}])
        token = memory.login("dev1")
        memory.get("/products")
        memory.product()
        memory.post("/-/reset")
        assert memory.get("/-/clock") == {"now": NOW_ISO, "frozen": False, "offset": 0}
        assert memory.call("GET", "/-/faults").json == []
        assert memory.get("/-/journal") == {"total": 0, "calls": []}
        assert memory.call("GET", "/programs").status_int == 200
        assert memory.call("GET", "/user", Token=token).status_int == 401
        assert memory.get("/products")["total"] == 2
        assert memory.get("/-/snapshots") == {"snapshots": ["kept"]}
        memory.post("/-/snapshots/kept/restore")

    def test_reset_of_the_records_alone_leaves_everything_else(self, memory):
        memory.put("/-/clock", now="2030-01-01T00:00:00Z")
        memory.call("PUT", "/-/faults", [{"match": "GET /programs", "status": 500}])
        token = memory.login("dev1")
        memory.product()
        for wrong in ("only=recrods", "only=tokens", "onli=records"):
            assert memory.refused("POST", f"/-/reset?{wrong}")["fields"]
        assert memory.refused("POST", "/-/reset", {"onli": "records"})["fields"]
        memory.post("/-/reset", only="records")
        assert memory.get("/products")["total"] == 2
        memory.product()
        memory.post("/-/reset?only=records")
        assert memory.get("/products")["total"] == 2
        assert memory.get("/-/clock")["frozen"]
        assert memory.call("GET", "/programs").status_int == 500
        assert memory.call("GET", "/user", Token=token).status_int == 200
        journal = memory.get("/-/journal")["calls"]
        assert [call["path"] for call in journal] == [
            "/tokens",
            *["/products"] * 4,
            "/programs",
            "/user",
        ]

    def test_tokens_made_before_serving_outlive_a_reset(self, tmp_path):
        users = [{"account": "dev1", "password": SECRET}]
        with contextlib.closing(Client(tmp_path / "pm.db", load={"users": users})) as client:
            before = client.login("dev1")
        with contextlib.closing(Client(tmp_path / "pm.db", control=True)) as client:
            during = client.login("dev1")
            client.post("/-/reset")
            assert client.call("GET", "/user", Token=before).status_int == 200
            assert client.call("GET", "/user", Token=during).status_int == 401

    @each("flags", [[], ["--demo"]])
    def test_credentials_that_were_printed_outlive_a_reset(self, tmp_path, flags):
        with Live(tmp_path, "--database", ":memory:", *flags) as live:
            told = live.hear("token  ")
            password, token = (
                re.search(rf"{word} +(\S+)\n", told)[1] for word in ("password", "token")
            )
            for _ in range(2):
                assert live.call("POST", "/-/reset", Token=token)[0] == 200
            for account in ("admin", *(["marta"] if flags else [])):
                assert (
                    live.call("POST", "/tokens", {"account": account, "password": password})[0]
                    == 201
                )

    @pytest.fixture
    def controls(self, memory):
        """Return the controls of `memory`."""
        return next(one for one in pmservice.Controls.alive if one.service is memory.service)

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
        answer = memory.refused("GET", "/-/journal?count=1&wait=60", status=409)
        assert answer["error"] == "The service was reset meanwhile."

    def test_call_that_is_delayed_ends_with_a_reset_and_writes_nothing(
        self, memory, reset_meanwhile
    ):
        memory.call("PUT", "/-/faults", [{"match": "*", "delay": 60}])
        answer = memory.refused("POST", "/products", {"name": "late"}, status=503)
        assert answer["error"] == "The service was reset while this call was delayed."
        assert memory.get("/-/journal")["total"] == 0
        assert memory.get("/products")["total"] == 2

    @each("path", [":memory:", "pm.db"])
    def test_resets_under_four_writers_leave_no_error_and_no_mixed_state(self, tmp_path, path):
        fixture = {
            "products": [dict(id=1, name="P", acl="open")],
            "bugs": [dict(product=1, title="B")] * 20,
        }
        settings = dict(load=fixture, control=True)
        with contextlib.closing(
            Client(path if path == ":memory:" else tmp_path / path, **settings)
        ) as client:
            start, stop = client.dump(), threading.Event()

            def write() -> Counter[str]:
                seen: Counter[str] = Counter()
                while not stop.is_set():
                    id = client.product()["id"]
                    for _ in range(2):  # its product may be gone by now
                        seen[str(client.call("POST", f"/products/{id}/bugs", BUG).status_int)] += 1
                return seen

            with ThreadPoolExecutor(4) as threads:
                writers = [threads.submit(write) for _ in range(4)]
                try:
                    for _ in range(15):
                        assert client.call("POST", "/-/reset").status_int == 200
                        with client.service.database.reading() as store:
                            assert list(pmservice.problems_of(store)) == []
                            assert store.number("SELECT count(*) FROM bug WHERE product = 1") == 20
                        listed = client.get("/products")
                        assert listed["total"] == len(listed["products"])
                finally:
                    stop.set()
                seen = sum((writer.result() for writer in writers), Counter())
            assert seen["201"]
            assert set(seen) <= {"201", "404"}
            client.post("/-/reset")
            assert lines(client.dump()) == lines(start)

    def test_reset_that_fails_half_way_changes_nothing(self, memory):
        memory.product()
        # Every table is empty when this fails.
        memory.sql(
            "CREATE TRIGGER failing BEFORE INSERT ON user BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        memory.refused("POST", "/-/reset", status=500)
        assert memory.product()["id"] == 4

    @each("method", ["PUT", "POST"])
    def test_snapshots_are_gone_back_to_by_name(self, memory, method):
        states = {}
        for name in ("one", "two", "one"):  # the second of a name takes the first one's place
            memory.product(name=name)
            assert memory.call(method, f"/-/snapshots/{name}").json == {"message": "success"}
            states[name] = memory.dump()
        for name in ("two", "one", "two"):
            memory.product()
            memory.post(f"/-/snapshots/{name}/restore")
            assert lines(memory.dump()) == lines(states[name])
        assert (
            "did you mean two?"
            in memory.refused("POST", "/-/snapshots/tow/restore", status=404)["error"]
        )
        memory.refused(method, "/-/snapshots/a%20b", status=404)

    def test_snapshots_take_so_many_bytes_together(self, memory, monkeypatch):
        ((pages,),), ((size,),) = memory.sql("PRAGMA page_count"), memory.sql("PRAGMA page_size")
        monkeypatch.setattr(pmservice, "MAX_SNAPSHOT_BYTES", int(2.5 * pages * size))
        for name in ("a", "b", "b"):  # one takes the place of the other
            memory.put(f"/-/snapshots/{name}")
        for method in ("PUT", "POST"):
            assert "snapshots" in memory.refused(method, "/-/snapshots/c")["error"]
        assert memory.get("/-/snapshots") == {"snapshots": ["a", "b"]}
        memory.product(name="Later")
        memory.post("/-/snapshots/a/restore")
        assert memory.get("/products")["total"] == 2
        assert memory.call("DELETE", "/-/snapshots/a").json == {"message": "success"}
        memory.put("/-/snapshots/c")
        assert memory.get("/-/snapshots") == {"snapshots": ["b", "c"]}
        memory.post("/-/reset")

    def test_snapshot_that_was_deleted_is_gone(self, memory):
        start = memory.dump()
        memory.put("/-/snapshots/one")
        refusal = memory.refused("DELETE", "/-/snapshots/on", status=404)
        assert "did you mean one?" in refusal["error"]
        assert memory.call("DELETE", "/-/snapshots/one").json == {"message": "success"}
        for method, path in (("DELETE", "/-/snapshots/one"), ("POST", "/-/snapshots/one/restore")):
            assert "There is no snapshot one" in memory.refused(method, path, status=404)["error"]
        memory.product()
        memory.post("/-/reset")  # the state at the start is not among those with names
        assert lines(memory.dump()) == lines(start)

    def test_dump_can_be_loaded_elsewhere(self, memory):
        dumped = memory.get("/-/dump")
        assert dumped == memory.dump()
        with contextlib.closing(Client(":memory:")) as other:
            assert other.post("/-/load", **dumped) == {"records": sum(map(len, dumped.values()))}
            assert lines(other.get("/-/dump")) == lines(dumped)
            for wrong in ({"bugs": [{"title": "B"}]}, {"things": []}, b"{", b"\xff"):
                other.refused("POST", "/-/load", wrong)

    def test_frozen_clock_dates_everything(self, memory):
        frozen = "2026-01-05T09:00:00Z"
        assert memory.put("/-/clock", now=frozen) == {"now": frozen, "frozen": True, "offset": 0}
        memory.clock.forward(days=1)
        task = memory.task(6)
        product = memory.product()
        bug = memory.post("/products/2/bugs", **BUG, assignedTo="dev1")
        dates = [product["createdDate"], task["openedDate"], bug["openedDate"], bug["assignedDate"]]
        dates += [memory.post(f"/bugs/{bug['id']}/resolve", resolution="fixed")["resolvedDate"]]
        dates += [memory.put("/tasks/1", pri=1)["lastEditedDate"], memory.get("/-/clock")["now"]]
        memory.post(f"/tasks/{task['id']}/start", left=1, comment="go")
        assert (
            memory.get("/executions/6")["realBegan"]
            == memory.get("/projects/5")["realBegan"]
            == "2026-01-05"
        )
        dates += [
            memory.get(f"/tasks/{task['id']}")["realStarted"],
            memory.sql("SELECT max(date) FROM action")[0][0],
        ]
        assert dates == [frozen] * len(dates)
        assert memory.get("/products")["products"][1]["thisWeekBugs"] == 1
        memory.put("/-/clock", now="2026-01-12T00:00:00Z")
        assert memory.get("/products")["products"][1]["thisWeekBugs"] == 0

    def test_clock_is_shifted_and_set_free(self, memory):
        token = memory.token_of("dev1")
        assert memory.put("/-/clock", offset=3600)["now"] == "2026-11-20T08:42:17Z"
        memory.clock.forward(hours=1)
        assert memory.product()["createdDate"] == "2026-11-20T09:42:17Z"
        memory.put("/-/clock", offset=25 * 3600)
        assert memory.call("GET", "/user", Token=token).status_int == 401
        assert memory.put("/-/clock") == {
            "now": "2026-11-20T08:42:17Z",
            "frozen": False,
            "offset": 0,
        }
        assert memory.call("GET", "/user", Token=token).status_int == 200

    @each(("body", "field"), [
        (dict(now="yesterday"), "now"), (dict(now=5), "now"), (dict(offset="1"), "offset"), (dict(offset=True), "offset"), (dict(offset=1e10), "offset"), (dict(offset=10**10), "offset"), (dict(offset=-(10**10)), "offset"), (dict(ofset=1), "ofset"),
    ])  # fmt: skip
    def test_clock_is_set_to_moments_and_seconds_only(self, memory, body, field):
        assert list(memory.refused("PUT", "/-/clock", body)["fields"]) == [field]
        assert memory.get("/-/clock")["now"] == NOW_ISO

    def test_journal_says_who_called_what_and_hides_secrets(self, memory):
        token = memory.login("dev1")
        memory.post("/users", account="new1", password="hush hush")
        memory.call("GET", "/api.php/v1/products/?limit=1", Token=token)
        memory.call("POST", "/tasks/99/start", {"left": 1})
        journal = memory.get("/-/journal")
        calls = [
            tuple(call[field] for field in ("method", "path", "status", "account"))
            for call in journal["calls"]
        ]
        assert calls == [
            ("POST", "/tokens", 201, "-"), ("POST", "/users", 201, "admin"), ("GET", "/products", 200, "dev1"), ("POST", "/tasks/99/start", 404, "admin"),
        ]  # fmt: skip
        assert journal["total"] == 4
        assert journal["calls"][0]["body"] == {"account": "dev1", "password": "***"}
        assert journal["calls"][1]["body"] == {"account": "new1", "password": "***"}
        assert all(call["duration"] >= 0 for call in journal["calls"])
        assert not re.search(f"secret|hush|{token}", json.dumps(journal))
        found = {
            "method=POST": 3,
            "path=/tasks/*": 1,
            "status=201": 2,
            "method=POST&status=404": 1,
            "method=PUT": 0,
        }
        for query, total in found.items():
            assert memory.get(f"/-/journal?{query}")["total"] == total
        memory.call("DELETE", "/-/journal")
        assert memory.get("/-/journal") == {"total": 0, "calls": []}

    def test_journal_waits_for_the_calls_of_others(self, memory):
        memory.call("PUT", "/-/faults", [{"match": "GET /programs", "delay": 0.2}])
        with ThreadPoolExecutor(2) as threads:
            for _ in range(2):
                threads.submit(memory.get, "/programs")
            found = memory.get("/-/journal?path=/programs&status=200&count=2&wait=30")
        assert (found["total"], [call["path"] for call in found["calls"]]) == (2, ["/programs"] * 2)

    def test_journal_that_has_other_calls_says_which_are_nearest(self, memory):
        memory.get("/products")
        error = memory.refused("GET", "/-/journal?path=/product&count=1", status=409)["error"]
        assert "GET /products 200" in error
        assert memory.refused("GET", "/-/journal?path=/products&count=0&wait=0", status=409)
        assert memory.get("/-/journal?path=/product&count=0")["total"] == 0
        assert list(memory.refused("GET", "/-/journal?count=some")["fields"]) == ["count"]

    def test_journal_keeps_the_last_thousand(self, memory):
        memory.get("/programs")
        for _ in range(1000):
            memory.call("GET", "/nothing")
        assert memory.get("/-/journal")["total"] == 1000
        assert memory.get("/-/journal?path=/programs")["total"] == 0

    LONG_CALLS = {
        "text": ("POST", "/products", {"name": "x" * 50_000}),
        "many values": ("POST", "/products", {"name": "x", "more": [[]] * 12_000}),
        "no JSON": ("POST", "/products", b"x" * 50_000),
        "path": ("GET", f"/nothing/{'x' * 50_000}", None),
        "query": ("GET", f"/user?x={'x' * 50_000}", None),
        "headers": ("GET", "/user", None),
    }

    @each("long", LONG_CALLS)
    def test_journal_keeps_so_many_bytes(self, memory, controls, monkeypatch, long):
        monkeypatch.setattr(pmservice, "MAX_JOURNAL_BYTES", 200_000)
        headers = {f"X-{n:03}": "v" * 80 for n in range(500)} if long == "headers" else {}
        for _ in range(15):
            memory.call(*self.LONG_CALLS[long], **headers)
        memory.get("/programs")
        journal = memory.get("/-/journal")
        calls = journal["calls"]
        numbers = [int(call["id"].rpartition("-")[2]) for call in calls]
        assert calls[-1]["path"] == "/programs"
        assert journal["total"] == len(numbers) > 2
        assert numbers == list(range(numbers[0], numbers[-1] + 1))  # the last ones, without a gap
        for kept in (calls, list(controls.answered)):
            assert len(json.dumps(kept)) < 400_000
        memory.call("DELETE", "/-/journal")
        assert memory.get("/-/journal")["total"] == 0
        for _ in range(3):  # they fit again
            memory.call(*self.LONG_CALLS[long], **headers)
        assert memory.get("/-/journal")["total"] == 3

    def test_journal_keeps_twelve_megabytes(self):
        assert pmservice.MAX_JOURNAL_BYTES == 12 * 1024 * 1024

    def test_journal_keeps_a_hundred_headers_of_a_call_and_cuts_each(self, memory):
        memory.call("GET", "/user", **{f"X-{n:03}": "v" for n in range(300)})
        name = "n" * 3000
        memory.call("GET", "/user", **{f"X-{name}": "v" * 3000, f"Y-{name}-Token": "hush"})
        many, long = (call["headers"] for call in memory.get("/-/journal")["calls"])
        assert len(many) == 100
        assert {len(text) for text in (*long, *long.values()) if len(text) > 100} == {1000}
        assert [value for name, value in long.items() if name.startswith("Y-")] == ["***"]
        assert "hush" not in json.dumps(long)

    def test_journal_counts_to_a_thousand(self, memory):
        assert list(memory.refused("GET", "/-/journal?count=1001")["fields"]) == ["count"]

    @each("match", ["GET", "get /products", "/products", "", 1])
    def test_fault_that_could_never_strike_is_refused(self, memory, match):
        memory.refused("PUT", "/-/faults", [{"match": match, "drop": True}])
        faults = [{"match": "*", "drop": True, "times": 0}, {"match": "P?T /x", "delay": 0}]
        assert memory.call("PUT", "/-/faults", faults).json == faults

    @each(("sent", "kept"), [
        (b'{"name": "", "x": {"Token": 1, "y": [{"password": 2}]}}', {"name": "", "x": {"Token": "***", "y": [{"password": "***"}]}}),
        (b'{"name": "", "x": 1e400, "y": "\\ud800", "password": "p"}', {"name": "", "x": "Infinity", "y": "?", "password": "***"}),
        (b'{"name": "", "x": "%s"}' % (b"x" * 99_999), "100020 bytes"),
    ])  # fmt: skip
    def test_journal_keeps_what_json_can_say_and_nothing_long(self, memory, sent, kept):
        memory.call("POST", "/products", sent)
        memory.call("GET", "/" + "x" * 100_000)
        calls = memory.get("/-/journal")["calls"]
        assert (calls[0]["body"], len(calls[1]["path"])) == (kept, 1000)

    @each(("method", "path", "body"), [
        ("POST", "/-/load", b'{"products": [{"name": "caf\xe9"}]}'), ("POST", "/-/load", b'{"products": [{"name": ["x"]}]}'[:-1]),
        ("POST", "/-/load", b"{[]: 1}"), ("POST", "/-/load", b"[" * 99_999), ("POST", "/-/load", b'{"bugs": [' + b"[" * 99_999),
        ("POST", "/-/load", b'{"\\ud800": 1}'), ("PUT", "/-/faults", b"[" * 99_999), ("PUT", "/-/clock", b'{"\\ud800": 1}'),
    ])  # fmt: skip
    def test_controls_refuse_what_they_cannot_read(self, memory, method, path, body):
        assert memory.refused(method, path, body)["error"]

    def test_fault_strikes_as_often_as_it_was_told(self, memory):
        faults = [{"match": "POST /products", "status": 503, "times": 2}]
        assert memory.call("PUT", "/-/faults", faults).json == faults
        answers = [memory.call("POST", "/products", {"name": "P"})]
        while answers[-1].status_int == 503:  # a client that tries again
            assert "503" in answers[-1].json["error"]
            answers.append(memory.call("POST", "/products", {"name": "P"}))
        assert [answer.status_int for answer in answers] == [503, 503, 201]
        assert memory.get("/-/journal?method=POST&path=/products&count=3")["total"] == 3
        assert memory.get("/products")["total"] == 3
        assert memory.call("GET", "/-/faults").json == [dict(faults[0], times=0)]

    def test_wait_or_delay_for_which_there_is_no_place_is_refused(self, memory, monkeypatch):
        monkeypatch.setattr(pmservice, "MAX_WAITING", 0)
        memory.call("PUT", "/-/faults", [{"match": "GET /user", "delay": 5}])
        for path in ("/user", "/-/journal?count=9&wait=5"):
            assert "0 calls wait" in memory.refused("GET", path, status=503)["error"]
        assert memory.get("/-/journal?count=1&wait=5&path=/user")["total"] == 1  # it need not wait

    def test_faults_match_patterns_and_are_put_in_the_place_of_others(self, memory):
        memory.call(
            "PUT",
            "/-/faults",
            [{"match": "POST /tasks/*", "status": 500}, {"match": "*", "delay": 0.05}],
        )
        assert memory.call("POST", "/tasks/1/start", {"left": 1}).status_int == 500
        began = time.monotonic()
        assert memory.call("GET", "/api.php/v1/tasks/1").status_int == 200
        assert time.monotonic() - began >= 0.05
        assert memory.call("GET", "/-/live").status_int == 200
        memory.call("DELETE", "/-/faults")
        assert memory.call("GET", "/-/faults").json == []
        assert memory.call("POST", "/tasks/1/start", {"left": 1}).status_int == 200

    def test_dropped_connection_has_no_answer(self):
        with (
            pmservice.running(token="t") as served,
            contextlib.closing(connection_to(served.url)) as connection,
        ):
            assert (
                ask(
                    connection,
                    "PUT",
                    "/-/faults",
                    [{"match": "GET /products", "drop": True, "times": 1}],
                )[0]
                == 200
            )
            with pytest.raises(http.client.RemoteDisconnected):
                ask(connection, "GET", "/products")
            assert ask(connection, "GET", "/products") == (200, {"total": 0, "products": []})

    @each("body", [
        b"{}", b"[1]", b"x", [{}], [{"match": "*", "status": 199}], [{"match": "*", "times": 0}], [{"match": "*", "delay": -1}], [{"match": ""}], [{"match": "*", "state": 503}],
    ])  # fmt: skip
    def test_what_is_no_list_of_faults_is_refused(self, memory, body):
        memory.refused("PUT", "/-/faults", body)

    @EVERY_CONTROL
    def test_misspelled_parameter_of_a_control_is_refused(self, memory, control):
        path = control.path.replace("<name>", "one")
        name = next(iter(control.parameters), "x")
        refusal = memory.refused(control.method, f"{path}?{name}x=1")
        assert refusal["fields"] == {
            f"{name}x": "is not known here" + f"; did you mean {name}?" * (name != "x")
        }

    @each("path", ["/-/rest", "/-/resett", "/-/snapshot"])
    def test_misspelled_control_is_told_the_right_one(self, memory, path):
        assert "; did you mean /-/" in memory.refused("POST", path, status=404)["error"]

    def test_journal_keeps_what_was_sent_and_why_it_was_refused(self, memory):
        sent = {
            "User-Agent": "tests",
            "Authorization": "Basic eA==",
            "X-Api-Secret": "s",
            "Cookie": "a=b",
        }
        memory.call(
            "POST",
            "/products?limit=1&token=s&%70assword=s&=",
            {"name": "", "password": "s"},
            **sent,
        )
        (call,) = memory.get("/-/journal")["calls"]
        assert call["query"] == "limit=1&token=***&%70assword=***&="
        assert (call["error"], call["fault"]) == (
            "name must be 1 to 255 characters, not blank.",
            None,
        )
        assert call["ignored"] == "password, ?limit, ?token, ?password"
        assert call["body"] == {"name": "", "password": "***"}
        blanked = {"Token": "***", "Authorization": "***", "X-Api-Secret": "***", "Cookie": "***"}
        assert {**call["headers"], **blanked, "User-Agent": "tests"} == call["headers"]
        assert call["headers"]["Content-Type"] == "application/json"
        sent_at, now = datetime.fromisoformat(call["time"]), datetime.now(timezone.utc)
        assert now - timedelta(minutes=5) < sent_at <= now

    def test_secret_that_a_refusal_quotes_is_not_kept(self, memory):
        sent = b'{"account": "admin", "password": hunter2}'
        assert "reads: hunter2}" in memory.refused("POST", "/tokens", sent)["error"]
        (call,) = memory.get("/-/journal")["calls"]
        assert call["error"] == "The body must be JSON, but line 1, column 34"
        assert call["body"] == '{"account": "admin", "pass***'

    @each(
        "name",
        ["zentaosid", "apiKey", "api_key", "Session-Id", "jwt", "private_key", "credentials"],
    )
    def test_journal_blanks_what_is_named_like_a_secret(self, memory, name):
        memory.call(
            "POST", f"/products?{name}=hush", {"name": "P", name: "hush"}, **{f"X-{name}": "hush"}
        )
        assert "hush" not in json.dumps(memory.get("/-/journal"))
        memory.call("POST", "/products/1/bugs", {**BUG, "keywords": "seen"})
        assert memory.get("/-/journal")["calls"][-1]["body"]["keywords"] == "seen"

    def test_paths_of_faults_and_of_the_journal_have_no_prefix_and_no_slash_at_the_end(
        self, memory
    ):
        fault = {"match": "GET /api.php/v1/products/", "status": 503}
        assert memory.call("POST", "/-/faults", fault).json == [
            {"match": "GET /products", "status": 503}
        ]
        assert memory.call("GET", "/zentao/api.php/v1/products").status_int == 503
        for path in ("/products", "/products/", "/api.php/v1/products"):
            assert memory.get(f"/-/journal?path={path}")["total"] == 1

    @each(("sent", "kept"), [
        (b"{'name': 'Shop'}", "{'name': 'Shop'}"), (b"name=\xff", "name=\ufffd"), (b"[1]", "[1]"), (b'{"name": "Shop"', '{"name": "Shop"'),
        (b"{'name': 'x', 'Password': 'hush'}", "{'name': 'x', 'Pass***"), (b"x" * 70_000, "70002 bytes"),
    ])  # fmt: skip
    def test_journal_keeps_the_text_of_a_body_that_is_not_json(self, memory, sent, kept):
        memory.refused("POST", "/products", sent)
        assert memory.get("/-/journal")["calls"][0]["body"] == kept

    def test_journal_keeps_the_body_of_a_call_that_was_refused_before_it_was_read(self, memory):
        memory.refused("PUT", "/products/99", {"name": "x", "secret": "s"}, status=404)
        assert memory.get("/-/journal")["calls"][0]["body"] == {"name": "x", "secret": "***"}

    @each(("fault", "status", "kind", "body"), [
        (dict(status=502, body="<html>Bad gateway</html>"), 502, "text/html", "<html>Bad gateway</html>"),
        (dict(body={"page": 1}), 200, "application/json", '{"page":1}'), (dict(body=""), 200, "text/html", ""),
        (dict(status=503, body="busy", headers={"content-type": "text/plain"}), 503, "text/plain", "busy"),
        (dict(status=429, headers={"Retry-After": 7}), 429, "application/json", '{"error":"This is the fault 429 that was asked for."}'),
        (dict(headers={"Retry-After": "7", "Vary": "Fault"}), 200, "application/json", '{"total":2,'),
    ])  # fmt: skip
    def test_fault_makes_an_answer_of_its_own_or_adds_headers(
        self, memory, fault, status, kind, body
    ):
        memory.call("PUT", "/-/faults", [{"match": "GET /products", **fault, "times": 1}])
        answer = memory.app.get("/products", headers={"Token": "t"}, status="*")
        assert (answer.status_int, answer.content_type) == (status, kind)
        assert answer.text.startswith(body)
        headers = fault.get("headers", {})
        assert answer.headers.getall("Vary") == [headers.get("Vary", "Accept, Origin")]
        assert answer.headers.get("Retry-After") == (
            str(headers["Retry-After"]) if "Retry-After" in headers else None
        )
        assert memory.get("/-/journal")["calls"][-1]["fault"] == "GET /products"
        assert memory.get("/products")["total"] == 2

    @each(("fault", "field"), [
        (dict(headers={"Content-Length": "3"}), "headers"), (dict(headers={"Connection": "close"}), "headers"), (dict(headers={"a b": "c"}), "headers"),
        (dict(headers={"X": "a\r\nb"}), "headers"), (dict(headers={"X": "é"}), "headers"), (dict(headers={"X": [1]}), "headers"), (dict(headers=["X"]), "headers"),
        (dict(headers={"X": True}), "headers"), (dict(body={"a": "\ud800"}), "body"), (dict(body="\ud800"), "body"), (dict(truncate=-1), "truncate"), (dict(drip=61), "drip"), (dict(status=600), "status"), (dict(truncat=1), "truncat"),
    ])  # fmt: skip
    def test_fault_with_a_wrong_effect_is_refused(self, memory, fault, field):
        assert list(memory.refused("POST", "/-/faults", {"match": "*", **fault})["fields"]) == [
            field
        ]

    def test_faults_can_be_added_one_by_one(self, memory):
        memory.call("PUT", "/-/faults", [{"match": "GET /user", "status": 500, "times": 1}])
        assert (
            len(
                memory.call(
                    "POST", "/-/faults", {"match": "GET /user", "status": 503, "times": 1}
                ).json
            )
            == 2
        )
        assert [memory.call("GET", "/user").status_int for _ in range(3)] == [500, 503, 200]
        assert (
            memory.refused("POST", "/-/faults", [{"match": "*"}])["error"]
            == "A fault must be a JSON object."
        )
        assert memory.refused("POST", "/-/faults", {"match": "* \ud800", "drop": True})[
            "fields"
        ].keys() == {"match"}
        assert (
            "status, headers, body, delay"
            in memory.refused("POST", "/-/faults", {"match": "*"})["error"]
        )

    def test_there_are_a_hundred_faults_at_most(self, memory):
        fault = {"match": "GET /user", "status": 503}
        assert len(memory.call("PUT", "/-/faults", [fault] * 99).json) == 99
        assert len(memory.call("POST", "/-/faults", fault).json) == 100
        assert "100" in memory.refused("POST", "/-/faults", fault)["error"]
        assert "100" in memory.refused("PUT", "/-/faults", [fault] * 101)["error"]
        assert memory.call("GET", "/-/faults").json == [fault] * 100

    @each(
        "path", ["/products", "/products/1/bugs?limit=1000"]
    )  # in one piece, and in several without a length
    @each("truncate", [0, 1, 20])
    def test_truncated_answer_is_that_of_a_call_that_was_performed(self, tmp_path, path, truncate):
        fixture = {
            "products": [dict(id=1, name="P", acl="open")],
            "bugs": [dict(product=1, title="B")] * 500,
        }
        with pmservice.running(tmp_path / "pm.db", token="t", load=fixture, control=True) as served:
            served.fail("*", truncate=truncate, times=2)
            with contextlib.closing(connection_to(served.url)) as connection:
                connection.request("GET", path, headers={"Token": "t"})
                if truncate:
                    with pytest.raises(http.client.IncompleteRead) as cut:
                        connection.getresponse().read()
                    assert len(cut.value.partial) == truncate
                else:
                    with pytest.raises(http.client.RemoteDisconnected):
                        connection.getresponse()
            with pytest.raises(ConnectionError):
                served.post("/products", {"name": "Made"})
            assert served.get("/products")["total"] == 2

    @each(
        ("length", "drip", "pieces"),
        [(1000, 9, [100] * 10), (25, 9, [3] * 8 + [1]), (1, 9, [1]), (0, 9, []), (1000, 0, [1000])],
    )
    def test_dripping_answer_comes_in_pieces_with_pauses(
        self, controls, monkeypatch, length, drip, pieces
    ):
        pauses: list[float] = []
        monkeypatch.setattr(controls, "wait", lambda done, seconds: pauses.append(seconds))
        assert [len(piece) for piece in controls.spoil({"drip": drip}, [b"x" * length])] == pieces
        assert pauses == [1] * (len(pieces) - 1 if drip else 0)

    def test_unread_answer_from_memory_holds_up_no_writer(self):
        fixture = {
            "products": [dict(id=1, name="P", acl="open")],
            "bugs": [dict(product=1, title="B", steps="s" * 2000)] * 9000,
        }
        with (
            pmservice.running(load=fixture) as served,
            contextlib.closing(connection_to(served.url)) as slow,
        ):
            slow.request("GET", "/products/1/bugs?limit=9000", headers={"Token": served.token})
            assert slow.getresponse().read(1)
            assert served.post("/products", {"name": "Meanwhile"})["id"] == 2

    def test_dripping_answer_is_whole(self):
        with pmservice.running(token="t") as served:
            served.fail("GET /products", drip=0.1)
            assert served.get("/products") == {"total": 0, "products": []}

    def test_answer_for_which_there_is_no_place_to_wait_does_not_drip(self, memory, monkeypatch):
        monkeypatch.setattr(pmservice, "MAX_WAITING", 0)
        memory.call("PUT", "/-/faults", [{"match": "*", "drip": 60}])
        assert memory.get("/products")["total"] == 2

    def test_same_script_on_the_same_fixture_and_clock_answers_the_same_bytes(self, tmp_path):
        def script(client: Client) -> list[tuple[int, bytes]]:
            calls = [row[:3] for row in ANSWERS] + [
                row[:3] for row in COMPANION_ANSWERS if row[0] != "POST /users"
            ]
            answers = [
                client.call(operation.split()[0], path, body) for operation, path, body in calls
            ]
            return [
                (answer.status_int, answer.body)
                for answer in [*answers, client.call("GET", "/-/dump")]
            ]

        runs = []
        for path in (":memory:", tmp_path / "one.db", tmp_path / "two.db"):
            with contextlib.closing(Client(path, load=WORLD, control=True)) as client:
                client.put("/-/clock", now=NOW_ISO)
                runs.append(script(client))
                client.post("/-/reset")
                runs.append(script(client))
        assert len(runs[0]) > 50
        assert runs == [runs[0]] * 6


class TestWhatIsKept:
    """What a process keeps of the requests that it has answered has a bound."""

    # fmt: off
    OPTIONAL = dict(program=0, line=1, PO="po1", QD="qd1", RD="rd1", type="normal", desc="d", acl="open", status="normal")
    LISTS = ("/products", "/products/<id>/bugs", "/bugs", "/stories", "/products/<id>/testcases", "/users", "/projects/<id>/releases")
    # fmt: on

    @staticmethod
    def sizes(bounded: bool) -> dict[str, int]:
        """Return how many results each function keeps, of those with a bound or of the others."""
        caches = {name: one for name, one in vars(pmservice).items() if hasattr(one, "cache_info")}
        infos = {name: one.cache_info() for name, one in caches.items()}
        chosen = [name for name in infos if (infos[name].maxsize is not None) == bounded]
        return {name: infos[name].currsize for name in chosen}

    def ask(self, client: Client, chance: random.Random) -> None:
        """Send requests that name other fields than others do, in another order."""
        names = chance.sample([*self.OPTIONAL], chance.randint(1, len(self.OPTIONAL)))
        given = {name: self.OPTIONAL[name] for name in names}
        client.post("/products", name="P", **given)
        client.put("/products/2", **given)
        client.load(products=[dict(name="P", **given)])
        path = chance.choice(self.LISTS)
        rows = {row.path: row for row in pmservice.OPERATIONS if row.method == "GET"}
        listing = rows[path].shows
        orders = listing.shape.fields["order"].schema["enum"]
        query = dict(order=chance.choice(orders), status=chance.choice([*listing.browse]))
        client.get(f"{path.replace('<id>', '1')}?{urllib.parse.urlencode(query)}")

    def test_no_cache_without_a_bound_grows_with_different_requests(self, filled):
        first, second = random.Random(1), random.Random(2)
        for _ in range(25):
            self.ask(filled, first)
        before = self.sizes(bounded=False)
        for _ in range(25):
            self.ask(filled, second)
        assert self.sizes(bounded=False) == before
        assert self.sizes(bounded=True)  # otherwise there was nothing to look at


class Read(html.parser.HTMLParser):
    """A page as it was read: it must be well-formed. `sections` has the rows of each table by its heading."""

    VOID = ("meta", "link")

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.words, self.links, self.tags, self.titles = [], [], [], []
        self.sections: dict[str, list[list[str]]] = {}
        self.heading = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        assert len(dict(attributes)) == len(attributes)
        if tag not in self.VOID:
            self.open.append(tag)
        self.links += [value for name, value in attributes if name == "href" and tag == "a"]
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
        elif {"td", "th"} & {*self.open} and data.strip():
            row = self.sections[self.heading][-1]
            row[-1] = f"{row[-1]} {data.strip()}".strip()

    @property
    def text(self) -> str:
        return "".join(self.words)


CHROME = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"
FIREFOX = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/png,image/svg+xml,*/*;q=0.8"
SAFARI = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
PROGRAMS = {
    "curl, fetch, requests": "*/*", "Java": "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "axios": "application/json, text/plain, */*",
    "none": "", "an image": "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8",
}  # fmt: skip


def basic(account: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{account}:{password}".encode()).decode()


SEALED = {  # what a page may load and send, and who may frame it: only its own styles and drawings
    "default-src": "'none'",
    "style-src": "'unsafe-inline'",
    "img-src": "data:",
    "form-action": "'none'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}


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


PAGES = {  # what stands for the ids and names in paths of FILLED
    "department": 1, "user": "dev1", "program": 6, "project": 1, "execution": 2, "execution or project": 2, "product": 1, "plan": 1, "story": 1,
    "build": 1, "release": 1, "bug": 1, "task": 1, "testcase": 1, "testtask": 1, "": "language",
}  # fmt: skip
GETS = [(row.path, row.target) for row in pmservice.OPERATIONS if row.method == "GET"]


class TestTokensOfVanishedUsers:
    """Going back to records in which a user is not there, or deleted, ends the user's tokens."""

    @pytest.fixture
    def memory(self):
        """Yield an app in memory with the users dev1 and dev2; the snapshot "gone" has dev1 deleted."""
        users = [{"account": "dev1", "password": SECRET}, {"account": "dev2", "password": SECRET}]
        with contextlib.closing(Client(":memory:", load={"users": users})) as client:
            client.call("DELETE", "/users/dev1")
            client.put("/-/snapshots/gone")
            client.post("/-/reset")
            client.put("/-/snapshots/start")
            yield client

    BACK = ("/-/reset?only=records", "/-/snapshots/start/restore", "/-/snapshots/gone/restore")

    @each("back", BACK)
    def test_token_of_a_user_who_is_not_there_is_forgotten(self, memory, back):
        memory.post("/users", account="new1", password="secret")
        token, other = memory.login("new1"), memory.login("dev2")
        memory.post(back)
        assert memory.sql("SELECT account FROM token") == [("dev2",)]
        assert memory.sql("PRAGMA foreign_key_check") == []
        memory.post("/users", account="new1", password="secret")
        assert memory.call("GET", "/user", Token=token).status_int == 401
        assert memory.call("GET", "/user", Token=other).status_int == 200

    def test_token_of_a_user_who_is_deleted_there_is_worth_nothing(self, memory):
        token, other = memory.login("dev1"), memory.login("dev2")
        memory.post("/-/snapshots/gone/restore")
        for method, path in (("GET", "/user"), ("GET", "/products"), ("POST", "/products")):
            assert memory.call(method, path, {"name": "P"}, Token=token).status_int == 401
        assert memory.call("GET", "/user", Token=other).status_int == 200
        memory.post("/-/snapshots/start/restore")
        assert memory.call("GET", "/user", Token=token).status_int == 401

    def test_tokens_of_others_are_as_they_were(self, memory):
        tokens = [memory.login(account) for account in ("dev1", "dev2", "dev2")]
        kept = memory.sql("SELECT * FROM token")
        memory.post("/-/snapshots/start/restore")
        assert memory.sql("SELECT * FROM token") == kept
        assert [memory.call("GET", "/user", Token=token).status_int for token in tokens] == [
            200,
            200,
            200,
        ]


class TestPage:
    @pytest.fixture
    def secured(self, client):
        """Yield an app with the user dev1, whose password is "secret"."""
        client.load(users=[dict(account="dev1", realname="Dan Dev", password=SECRET)])
        return client

    @pytest.fixture
    def hashed(self, monkeypatch):
        """Return a list that grows by one with every password that is hashed."""
        calls, scrypt = [], pmservice.scrypt
        monkeypatch.setattr(
            pmservice, "scrypt", lambda *given: calls.append(given) or scrypt(*given)
        )
        return calls

    # Which requests get a page

    @each("accept", [CHROME, FIREFOX, SAFARI], ids=["Chrome", "Firefox", "Safari"])
    @each("path", ["/", "/products", "/products/1/", "/nothing"])
    def test_browsers_get_pages(self, filled, accept, path):
        browse(filled, path, Accept=accept, status=404 if path == "/nothing" else 200)

    @each("accept", PROGRAMS.values(), ids=PROGRAMS)
    @each("path", ["/", "/products", "/products/1"])
    def test_programs_get_json(self, filled, accept, path):
        for token in ("t", None, "wrong"):
            answer = filled.call("GET", path, Accept=accept, Token=token)
            assert answer.status_int == (404 if path == "/" else 200 if token == "t" else 401)
            assert "WWW-Authenticate" not in answer.headers

    @each("path", [
        "/api.php/v1/products", "/zentao/api.php/v1/products", "/openapi.json", "/openapi.json/", "/-/live", "/-/clock", "/-/nothing",
    ])  # fmt: skip
    def test_what_is_for_programs_only_answers_browsers_json_too(self, filled, path):
        assert filled.call("GET", path, Accept=CHROME, Token=None).status_int in (200, 401, 404)

    def test_token_header_and_other_methods_get_json(self, filled):
        assert filled.call("GET", "/products", Accept=CHROME).json["total"] == 2
        assert filled.call("GET", "/products", Accept=CHROME, Token="").status_int == 401
        assert (
            filled.call("POST", "/products", {"name": "P"}, Accept=CHROME, Token=None).status_int
            == 401
        )

    def test_head_gets_the_headers_alone(self, filled):
        answer = filled.app.head("/", headers={"Accept": CHROME, "Authorization": basic("x", "t")})
        assert (answer.status_int, answer.body, answer.content_type) == (200, b"", "text/html")

    # Logging in

    @each("password", ["secret", hashlib.md5(b"secret").hexdigest()], ids=["password", "its MD5"])
    def test_account_and_password_log_in(self, secured, password):
        assert "Dan Dev" in browse(secured, "/user", Authorization=basic("dev1", password)).text

    def test_token_logs_in_as_a_password_of_any_account(self, secured):
        token = secured.token_of("dev1")
        for account in ("dev1", "", "nobody", "ü"):
            assert "Dan Dev" in browse(secured, "/user", Authorization=basic(account, token)).text
        assert "admin" in browse(secured, "/user").sections[""][1]

    @each("authorization", [
        None, "", "Basic", "Basic ", "Basic !", "Basic ZGV2MQ", "Basic /w==", "Bearer t", "Basic " + "A" * 5000, "Basic ä", basic("dev1", ""), basic("dev1", "Secret"),
        basic("nobody", "secret"), basic("", ""), basic("admin", ""), basic("dev1\0", "secret"), basic("' OR 1", "secret"), basic("ghost", ""), basic("ghost", "None"),
        basic("gone", "secret"),
    ])  # fmt: skip
    def test_wrong_log_in_is_401_and_the_page_says_how_to_get_in(self, secured, authorization):
        secured.load(
            users=[dict(account="ghost"), dict(account="gone", password=SECRET, deleted=True)]
        )
        headers = {} if authorization is None else {"Authorization": authorization}
        page = browse(secured, "/products", None, 401, **headers)
        assert "pmservice user admin --password" in page.text
        assert "/tokens" in page.text
        assert set(page.links) == {"/"}
        sent = secured.app.get("/", headers={"Accept": CHROME, **headers}, status=401)
        assert sent.headers["WWW-Authenticate"] == 'Basic realm="pmservice", charset="UTF-8"'

    def test_account_that_is_unknown_takes_as_much_hashing_as_a_wrong_password(
        self, secured, hashed
    ):
        for account in ("dev1", "nobody"):
            hashed.clear()
            browse(secured, "/", None, 401, Authorization=basic(account, "wrong"))
            assert len(hashed) == 1

    def test_password_is_remembered_for_ten_minutes_and_until_it_changes(self, secured, hashed):
        moment = [1000.0]
        secured.service.page.now = lambda: moment[0]

        def log_in(password="secret", status=200):
            return browse(secured, "/user", None, status, Authorization=basic("dev1", password))

        for after, hashes in ((0, 1), (0, 1), (599, 1), (2, 2), (1, 2)):
            moment[0] += after
            log_in()
            assert len(hashed) == hashes, after
        log_in("wrong", 401)
        secured.put("/users/dev1", password="another")
        log_in("secret", 401)
        log_in("another")
        secured.put("/users/dev1", realname="Danny")
        hashed.clear()
        assert "Danny" in log_in("another").text
        assert not hashed
        secured.call("DELETE", "/users/dev1")
        log_in("another", 401)

    def test_request_for_a_page_may_take_long_unless_its_reader_is_remembered(self, secured):
        moment, headers = [1000.0], {"ACCEPT": CHROME, "AUTHORIZATION": basic("dev1", "secret")}
        secured.service.page.now = lambda: moment[0]
        class_of = partial(secured.service.class_of, "GET", "/user")
        assert (class_of(headers), class_of({"ACCEPT": CHROME})) == ("login", "login")
        browse(secured, "/user", None, Authorization=basic("dev1", "secret"))
        assert class_of(headers) == "html"
        assert class_of({**headers, "AUTHORIZATION": basic("dev1", "Secret")}) == "login"
        assert class_of({**headers, "AUTHORIZATION": basic("dev2", "secret")}) == "login"
        moment[0] += 601
        assert class_of(headers) == "login"

    def test_reader_whose_password_has_changed_is_forgotten(self, secured):
        headers = {"ACCEPT": CHROME, "AUTHORIZATION": basic("dev1", "secret")}
        browse(secured, "/user", None, Authorization=headers["AUTHORIZATION"])
        secured.put("/users/dev1", password="another")
        browse(secured, "/user", None, 401, Authorization=headers["AUTHORIZATION"])
        assert (
            secured.service.class_of("GET", "/user", headers) == "login"
        )  # guesses wait for others

    def test_so_many_readers_are_remembered(self, secured, hashed, monkeypatch):
        monkeypatch.setattr(pmservice, "MOST_REMEMBERED", 3)
        accounts = [f"reader{n}" for n in range(5)]
        secured.load(users=[dict(account=account, password=SECRET) for account in accounts])
        for account in accounts:
            browse(secured, "/user", None, Authorization=basic(account, "secret"))
            assert len(secured.service.page.checked) <= 3
        hashed.clear()
        for account in reversed(accounts[2:]):
            browse(secured, "/user", None, Authorization=basic(account, "secret"))
        assert not hashed
        browse(secured, "/user", None, Authorization=basic(accounts[0], "secret"))
        assert len(hashed) == 1

    # Where the request comes from

    @each(("site", "mode", "dest", "status"), [
        ("same-origin", "cors",        "empty",    200), ("same-origin", "navigate", "document", 200), ("same-origin", "navigate", "iframe", 200),
        ("none",        "navigate",    "document", 200), ("none",        "",         "",         200), ("",            "",         "",       200),
        ("cross-site",  "navigate",    "document", 200), ("same-site",   "navigate", "document", 200),
        ("cross-site",  "no-cors",     "image",    403), ("cross-site",  "no-cors",  "script",   403), ("same-site",   "no-cors",  "style",  403),
        ("cross-site",  "no-cors",     "empty",    403), ("cross-site",  "cors",     "empty",    403), ("same-site",   "cors",     "empty",  403),
        ("cross-site",  "navigate",    "iframe",   403), ("cross-site",  "navigate", "frame",    403), ("cross-site",  "navigate", "embed",  403),
        ("cross-site",  "navigate",    "object",   403), ("same-site",   "navigate", "iframe",   403), ("cross-site",  "no-cors",  "document", 403),
        ("cross-site",  "",            "",         403), ("cross-site",  "navigate", "",         403), ("cross-site",  "",         "document", 403),
        ("elsewhere",   "",            "",         403), ("CROSS-SITE",  "no-cors",  "image",    403),
    ])  # fmt: skip
    def test_page_is_for_who_opens_it_not_for_other_sites(
        self, secured, monkeypatch, site, mode, dest, status
    ):
        sent = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
        headers = {"Accept": CHROME, **{name: value for name, value in sent.items() if value}}
        known = {**headers, "Authorization": basic("dev1", "secret")}
        if status == 403:
            monkeypatch.setattr(pmservice, "scrypt", lambda *_: pytest.fail("hashed"))
            reads = lambda *_, **__: pytest.fail("read")  # noqa: E731
            monkeypatch.setattr(secured.service.database, "transaction", reads)
        for path in ("/", "/user", "/products", "/nothing"):
            answer = secured.app.get(path, headers=known, status="*")
            assert answer.status_int == (404 if (path, status) == ("/nothing", 200) else status)
            assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        stranger = secured.app.get("/user", headers=headers, status="*")
        assert stranger.status_int == (401 if status == 200 else 403)
        assert ("WWW-Authenticate" in stranger.headers) == (status == 200)

    def test_programs_and_pages_with_a_token_are_answered_wherever_they_are(self, secured):
        elsewhere = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "cors"}
        elsewhere["Origin"] = "http://localhost:3000"
        for path in ("/products", "/api.php/v1/products", "/openapi.json"):
            answer = secured.call("GET", path, Accept=CHROME, **elsewhere)
            assert answer.status_int == 200

    def test_what_is_remembered_is_not_the_password(self, secured):
        browse(secured, "/user", None, Authorization=basic("dev1", "secret"))
        [digest] = secured.service.page.checked
        assert len(digest) == 32
        assert digest not in (
            hashlib.sha256(b"secret").digest(),
            hashlib.sha256(basic("dev1", "secret").encode()).digest(),
        )

    # The contents of pages

    def test_every_get_operation_is_a_page_and_its_links_lead_to_pages(self, filled):
        filled.post("/tasks/1/estimate", date="2026-11-20", consumed=1, left=1, work="Drawn")
        filled.post(
            "/testcases/1/results?testtask=1",
            steps=[dict(result="fail", real="a"), dict(result="pass")],
        )
        filled.post("/productplans/1/linkstories", stories=[1, 2])
        filled.put("/releases/1", stories="1", build=1)
        links = set()
        for path, target in GETS:
            page = browse(filled, re.sub("<.*>", str(PAGES[target]), path))
            assert [tag for tag, _ in page.tags if tag == "h1"] == ["h1"]
            links |= {*page.links}
        assert len(links) > 250
        for link in links - {"/openapi.json"}:
            assert link.startswith("/")
            browse(filled, link)

    def test_every_record_of_a_company_is_a_page(self, client):
        client.load(**pmservice.demo(NOW))
        paths = {row.shows.resource.array: row.path for row in pmservice.OPERATIONS
                 if row.method == "GET" and row.target and isinstance(row.shows, pmservice.View)}  # fmt: skip
        shown = 0
        for array, records in client.dump().items():
            for record in records if array in paths else ():
                page = browse(client, re.sub("<.*>", str(record["id"]), paths[array]))
                assert record.get("title", record.get("name", "")) in page.text
                shown += 1
        assert shown > 1000

    def test_record_is_told_with_names_links_local_times_and_its_action_log(self, shanghai):
        shanghai.load(**FILLED)
        shanghai.post("/bugs/1/assign", assignedTo="qa1", comment="To you,\nQuinn")
        page = browse(shanghai, "/bugs/1")
        rows = dict(page.sections[""])
        assert rows["product"] == "Shop"
        assert rows["assignedDate"] == "2026-11-20 15:42"
        assert rows["status"] == "active"
        assert rows["deadline"] == "2026-12-01"
        assert {"/products/1", f"/users/{shanghai.get('/users/qa1')['id']}"} <= {*page.links}
        assert page.sections["Action log"][1:] == [
            ["2026-11-20 15:42", "admin", "assigned", "To you,\nQuinn"]
        ]
        assert not {"resolvedBy", "closedDate", "branch", "lines", "deleted"} & rows.keys()
        assert {"/products/1/bugs", "/products/1/stories", "/products/1/releases"} <= {
            *browse(shanghai, "/products/1").links
        }

    @each(
        "nasty",
        [
            "<script>alert(1)</script>",
            "\"'><img src=x onerror=alert(1)>",
            "'><b x='",
            "&amp; {{1}} % end",
            "</style><svg/onload=1>",
        ],
    )
    def test_what_records_say_is_never_markup(self, filled, nasty):
        filled.put("/products/1", name=nasty, desc=nasty, acl="open")
        filled.put("/bugs/1", title=nasty, steps=nasty, keywords=nasty, comment=nasty)
        filled.put("/users/dev1", realname=nasty)
        filled.put("/executions/2", name=nasty, status="doing")
        filled.put("/releases/1", name=nasty, date="2026-11-19")
        for path in (
            "/",
            "/products",
            "/products/1",
            "/products/1/bugs",
            "/bugs/1",
            "/users/dev1",
            "/users",
            f"/bugs?status={urllib.parse.quote(nasty)}",
            f"/{urllib.parse.quote(nasty)}",
        ):
            answer = filled.app.get(
                path, headers={"Accept": CHROME, "Authorization": basic("x", "t")}, status="*"
            )
            page = Read(answer.text)
            assert not {"script", "img", "b"} & {tag for tag, _ in page.tags}
            assert not [
                name
                for _, attributes in page.tags
                for name in attributes
                if name.startswith("on") or name == "style"
            ]
            assert nasty in page.text or "users" in path or answer.status_int >= 400, path
            assert not re.findall(r"(?:src|href)=.?(?:https?:)?//", answer.text)

    def test_what_the_caller_may_not_see_is_on_no_page(self, filled):
        filled.put("/products/1", acl="private", name="Covert")
        filled.put("/projects/1", acl="private", name="Hidden project")
        filled.put("/executions/2", name="Hidden sprint", status="doing")
        filled.put("/products/2", acl="open")
        filled.load(users=[dict(account="outsider")])
        token = filled.token_of("outsider")
        filled.post("/bugs/2/assign", assignedTo="outsider")
        for path, target in GETS:
            path = re.sub("<.*>", str({**PAGES, "bug": 2, "product": 2}[target]), path)
            status = filled.call("GET", path, Token=token).status_int
            page = browse(filled, path, token, status)
            assert not re.search("Covert|Hidden", page.text), path
        assert "Covert" in browse(filled).text
        assert [row[0] for row in browse(filled, "/", token).sections["Products"][1:]] == ["Till"]

    def test_refusals_are_pages_with_the_sentence_of_the_json(self, filled, monkeypatch):
        for path in (
            "/bugs/99",
            "/nothing",
            "/bugs?order=nope",
            "/bugs?page=0",
            "/bugs?limit=x",
            "/products?program=99",
        ):
            refusal = filled.call("GET", path)
            page = browse(filled, path, status=refusal.status_int)
            assert refusal.json["error"] in page.text
        filled.service.loading = True
        monkeypatch.setattr(pmservice.Page, "caller", None)  # a password could not be read now
        assert pmservice.LOADING in browse(filled, "/bugs", status=503).text
        monkeypatch.undo()
        filled.service.loading = False
        monkeypatch.setattr(pmservice.Sheet, "listing", None)
        assert pmservice.FAILED in browse(filled, "/bugs", status=500).text

    def test_wrong_names_in_a_query_are_told(self, filled):
        filled.service.strict = True
        assert "pagesize" in browse(filled, "/bugs?pagesize=1", status=400).text

    def test_list_is_paged_sorted_and_narrowed_by_links(self, client):
        client.load(products=[dict(id=1, name="P", acl="open")])
        states = dict(active={}, closed=dict(status="closed", resolution="fixed"))
        client.load(
            bugs=[
                dict(product=1, title=f"Bug {n:03}", **states["closed" if n % 4 else "active"])
                for n in range(120)
            ]
        )
        rows = lambda page: [row[1] for row in page.sections[""][1:]]  # noqa: E731
        page = browse(client, "/products/1/bugs")
        assert len(rows(page)) == 50
        assert "1 to 50 of 120" in page.text
        [following] = [link for link in page.links if "page=2" in link]
        page = browse(client, following)
        [following] = [link for link in page.links if "page=3" in link]
        last = browse(client, following)
        assert rows(last) == [f"Bug {n:03}" for n in range(19, -1, -1)]
        assert not [link for link in last.links if "page=4" in link]
        [by_title] = [link for link in last.links if "order=title_asc" in link]
        page = browse(client, by_title)
        assert rows(page) == [f"Bug {n:03}" for n in range(50)]
        assert [sorted["aria-sort"] for tag, sorted in page.tags if "aria-sort" in sorted] == [
            "ascending"
        ]
        [narrowed] = [link for link in page.links if "status=active" in link]
        page = browse(client, narrowed)
        assert rows(page) == [f"Bug {n:03}" for n in range(0, 120, 4)]
        assert "1 to 30 of 30" in page.text
        assert rows(browse(client, "/products/1/bugs?page=9")) == []
        assert len(rows(browse(client, "/bugs?limit=100000"))) == 120

    def test_no_page_has_more_than_five_hundred_rows_of_a_list(self, client):
        client.load(products=[dict(id=1, name="P")], plans=[dict(product=1, title="T")])
        client.load(bugs=[dict(product=1, title=f"Bug {n:03}", plan=1) for n in range(510)])
        rows = lambda page, title="": [row[1] for row in page.sections[title][1:]]  # noqa: E731
        for limit in ("501", "999", "100000", "000501", "0100000"):
            assert len(rows(browse(client, f"/bugs?limit={limit}"))) == 500
        assert len(rows(browse(client, "/bugs?limit=0005"))) == 5
        browse(client, "/bugs?limit=100001", status=400)
        browse(client, f"/bugs?limit={'9' * 5000}", status=400)
        plan = browse(client, "/productplans/1")
        assert len(rows(plan, "bugs")) == 500
        assert "510 in all." in plan.text

    def test_page_of_a_deleted_record_has_no_dead_links_and_its_plan_no_title(self, filled):
        bug = filled.get("/products/1/bugs")["bugs"][0]["id"]
        filled.post("/productplans/1/linkbugs", bugs=[bug])
        assert "/productplans/1" in browse(filled, f"/bugs/{bug}").links
        filled.call("DELETE", "/productplans/1")
        assert not [
            link
            for link in browse(filled, f"/bugs/{bug}").links
            if link.startswith("/productplans/")
        ]
        filled.call("DELETE", "/products/1")
        assert not [
            link for link in browse(filled, "/products/1").links if link.startswith("/products/1/")
        ]

    def test_method_that_is_not_allowed_names_those_that_are(self, filled):
        answer = filled.app.get(
            "/tasks/1/start",
            headers={"Accept": "application/xhtml+xml", "Authorization": basic("x", "t")},
            status=405,
        )
        assert (answer.headers["Allow"], answer.content_type) == ("POST", "text/html")

    def test_service_without_records_says_how_to_put_some_in(self, client):
        page = browse(client)
        assert "--demo" in page.text
        assert (
            """curl -s -H "Token: $T" http://localhost:80/products -d '{"name": "Shop"}'"""
            in page.text
        )
        assert "Products" not in page.sections

    def test_lines_are_for_the_shell_of_who_looks(self, client):
        text = browse(client, User_Agent="Mozilla/5.0 (Windows NT 10.0; Win64; x64)").text
        assert "Invoke-RestMethod http://localhost:80/products -Headers @{Token = $T}\n" in text
        assert """-Headers @{Token = $T} -Method Post -Body '{"name": "Shop"}'""" in text
        assert "curl" not in text

    def test_lines_for_a_shell_work(self):
        if not (shutil.which("curl") and shutil.which("sh")):
            pytest.skip("there is no curl")
        with pmservice.running(password="pass") as served:
            request = urllib.request.Request(
                served.url, headers={"Accept": CHROME, "Authorization": basic("admin", "pass")}
            )
            page = Read(urllib.request.urlopen(request).read().decode())
            [lines] = re.findall("T=.*(?:\n.+)+", page.text)
            lines = lines.replace("PASSWORD", "pass").replace("python3", sys.executable)
            done = subprocess.run(["sh", "-c", lines], capture_output=True, text=True, check=True)
            assert '"total":0' in done.stdout
            assert '"name":"Shop"' in done.stdout
            assert served.token not in page.text

    # Controls

    def test_controls_are_shown_to_administrators_if_they_are_on(self):
        fixture = dict(FILLED, users=[*FILLED.get("users", ()), dict(account="member")])
        with contextlib.closing(Client(":memory:", control=True, load=fixture)) as client:
            client.call("PUT", "/-/clock", {"now": "2026-01-05T09:00:00Z"})
            client.call("PUT", "/-/faults", [{"match": "GET /bugs/2", "status": 503}])
            for _ in range(20):
                client.call("GET", "/bugs/1")
            client.call("GET", "/bugs/2")
            page = browse(client)
            assert "2026-01-05 09:00:00 and is frozen" in page.text
            assert page.sections["Controls"] == [['{"match":"GET /bugs/2","status":503}']]
            calls = page.sections["Last calls"][1:]
            assert [call[:4] for call in calls] == [
                ["GET", "/bugs/2", "503", "-"],
                *[["GET", "/bugs/1", "200", "admin"]] * 14,
            ]
            client.call("PUT", "/-/clock", {"offset": 90})
            assert "shifted by 90 seconds" in browse(client).text
            assert (
                not {"Controls", "Last calls"}
                & browse(client, "/", client.token_of("member")).sections.keys()
            )
            browse(client, "/bugs/2")  # no fault applies to a page
            assert len(client.call("GET", "/-/journal").json["calls"]) == 21

    def test_controls_that_are_off_are_not_shown(self, filled):
        assert not {"Controls", "Last calls"} & browse(filled).sections.keys()


class TestOverview:
    """The figures of the overview, compared with what the dump says."""

    @pytest.fixture(params=["UTC", "Asia/Shanghai", "America/New_York"])
    def busy(self, request):
        """Yield an app with the demo's records and more, after many changes, in a time zone."""
        with contextlib.closing(
            Client(":memory:", control=False, timezone=request.param)
        ) as client:
            client.load(**pmservice.demo(NOW))
            client.load(users=[dict(account="outsider")])
            running = [
                one["project"] for one in client.dump()["executions"] if one["status"] == "doing"
            ]
            for path in ("/products/2", "/products/3", f"/projects/{running[0]}"):
                client.put(path, acl="private")
            self.change(client)
            yield client

    @staticmethod
    def change(client):
        """Take records through the operations that the figures depend on."""
        rng = random.Random(1)
        stories = client.get("/stories?status=all&limit=1000")["stories"]
        for n, one in enumerate(stories):
            plans = [
                plan["id"] for plan in client.get(f"/products/{one['product']}/plans")["plans"]
            ]
            if n % 3 == 0 and plans:
                client.call(
                    "POST", f"/productplans/{plans[0]}/linkstories", dict(stories=[one["id"]])
                )
            if n % 4 == 0:
                client.call("PUT", f"/releases/{n % 40 + 1}", dict(stories=str(one["id"])))
            if n % 5 == 0:
                client.call("POST", f"/stories/{one['id']}/close", dict(closedReason="done"))
            if n % 6 == 0:
                client.call("DELETE", f"/stories/{one['id']}")
            if n % 8 == 0:
                client.call("PUT", f"/stories/{one['id']}", dict(product=one["product"] % 9 + 1))
            if n % 10 == 0:
                client.call("POST", f"/stories/{one['id']}/active", {})
        client.call("DELETE", "/productplans/1")
        client.call("PUT", "/releases/5", dict(stories=""))
        client.call("DELETE", "/releases/9")
        for id in rng.sample(range(1, 301), 90):
            path, body = rng.choice(
                [
                    ("/close", {}),
                    ("/active", {}),
                    ("/resolve", dict(resolution="fixed")),
                    ("", dict(product=rng.randint(1, 9))),
                    ("delete", None),
                ]
            )
            client.call(
                "DELETE" if path == "delete" else "PUT" if not path else "POST",
                f"/bugs/{id}" + path.replace("delete", ""),
                body,
            )
        for id in rng.sample(range(1, 401), 90):
            client.call(
                *rng.choice(
                    [
                        ("DELETE", f"/tasks/{id}"),
                        ("POST", f"/tasks/{id}/start", dict(left=3)),
                        ("POST", f"/tasks/{id}/cancel"),
                    ]
                )
            )

    @each("who", ["admin", "outsider"])
    def test_figures_are_those_of_the_records(self, busy, who):
        dumped, token = busy.dump(), "t" if who == "admin" else busy.token_of("outsider")
        page = browse(busy, "/", token)
        seen = {
            one["id"]: one for one in dumped["products"] if who == "admin" or one["acl"] == "open"
        }
        homes = {one["id"] for one in dumped["projects"] if who == "admin" or one["acl"] == "open"}
        bugs = [bug for bug in dumped["bugs"] if not bug["deleted"] and bug["product"] in seen]
        today = self.local(busy, NOW_ISO).date()
        self.check_weeks(busy, page, bugs, today)
        rows = {
            row[0]: [int(number) for number in row[2:]] for row in page.sections["Products"][1:]
        }
        for one in seen.values():
            states = Counter(bug["status"] for bug in bugs if bug["product"] == one["id"])
            assert rows.pop(one["name"]) == [
                *(states[state] for state in ("active", "resolved", "closed")),
                states.total(),
            ]
        assert not rows
        tiles = page.sections[""][1]
        assert (tiles[0], tiles[3]) == (
            str(sum(bug["status"] == "active" for bug in bugs)),
            str(len(seen)),
        )
        stories = [
            one
            for one in busy.get("/stories?status=all&limit=1000")["stories"]
            if one["product"] in seen
        ]
        stages = Counter(one["stage"] for one in stories)
        assert len(stages) >= 4
        assert {row[0]: int(row[2]) for row in page.sections["Stories by stage"]} == {
            stage: stages[stage] for stage in STAGES
        }
        self.check_executions(page, dumped, homes)
        releases = [
            one
            for one in dumped["releases"]
            if not one["deleted"]
            and one["product"] in seen
            and (not one["project"] or one["project"] in homes)
        ]
        shown = [link for link in page.links if link.startswith("/releases/")]
        first = str(today - timedelta(weeks=26))
        assert sorted(shown) == sorted(
            f"/releases/{one['id']}" for one in releases if one["date"] >= first
        )

    @staticmethod
    def local(client, moment):
        zone = client.service.database.zone
        return datetime.fromisoformat(moment.replace("Z", "+00:00")).astimezone(zone)

    def check_weeks(self, client, page, bugs, today):
        wanted = {today - timedelta(today.weekday(), weeks=n): Counter() for n in range(26)}
        for bug in bugs:
            for word in ("opened", "resolved"):
                if bug[f"{word}Date"]:
                    day = self.local(client, bug[f"{word}Date"]).date()
                    monday = day - timedelta(day.weekday())
                    if monday in wanted:
                        wanted[monday][word] += 1
        titles = [title for title in page.titles if title.startswith("week of")]
        assert titles == [
            f"week of {day}: {wanted[day]['opened']} opened, {wanted[day]['resolved']} resolved"
            for day in sorted(wanted)
        ]
        assert page.sections[""][1][1:3] == [
            str(wanted[max(wanted)][word]) for word in ("opened", "resolved")
        ]

    @staticmethod
    def check_executions(page, dumped, homes):
        rows = {row[0]: row[2:] for row in page.sections["Running executions"][1:]}
        running = [
            one
            for one in dumped["executions"]
            if one["status"] == "doing" and not one["deleted"] and one["project"] in homes
        ]
        assert {*rows} == {one["name"] for one in running}
        assert running
        for one in running:
            tasks = [
                task
                for task in dumped["tasks"]
                if task["execution"] == one["id"] and not task["deleted"]
            ]
            states = Counter(task["status"] for task in tasks)
            hours = [f"{sum(task[field] for task in tasks):,.1f}" for field in ("consumed", "left")]
            assert rows[one["name"]] == [
                *(
                    str(states[state])
                    for state in ("wait", "doing", "done", "pause", "closed", "cancel")
                ),
                *hours,
                one["end"],
            ]

    def test_counts_are_those_of_a_recount(self, busy):
        with busy.service.database.reading() as store:
            assert list(pmservice.problems_of(store)) == []

    def test_counts_survive_a_reset(self):
        fixture = dict(FILLED, releases=[dict(FILLED["releases"][0], stories="1")])
        fixture["stories"] = [
            dict(one, plans=[one["id"]] if one["id"] < 3 else []) for one in FILLED["stories"]
        ]
        with contextlib.closing(Client(":memory:", control=True, load=fixture)) as client:
            before = {
                heading: rows
                for heading, rows in browse(client).sections.items()
                if heading != "Last calls"
            }
            assert before["Stories by stage"][1:4:2] == [
                ["planned", "", "1"],
                ["released", "", "1"],
            ]
            for path in ("/bugs/1", "/stories/1", "/productplans/2", "/releases/1"):
                client.call("DELETE", path)
            assert browse(client).sections["Stories by stage"] != before["Stories by stage"]
            client.call("POST", "/-/reset")
            after = browse(client).sections
            assert {heading: after[heading] for heading in before} == before
            with client.service.database.reading() as store:
                assert list(pmservice.problems_of(store)) == []

    def test_products_with_most_active_bugs_come_first(self, client):
        client.load(
            products=[dict(id=id, name=f"P{id:02}", acl="open") for id in range(1, 15)],
            bugs=[dict(product=n % 14 + 1, title="B") for n in range(20)],
        )
        page = browse(client)
        assert [row[0] for row in page.sections["Products"][1:]] == [
            f"P{id:02}" for id in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
        ]
        assert page.sections[""][1][3] == "14"

    def test_time_line_goes_from_half_a_year_ago_to_what_is_planned(self, client):
        days = ["2026-05-21", "2026-05-22", "2026-11-20", "2026-11-21", "2027-08-01"]
        client.load(
            products=[dict(id=1, name="P", acl="open")],
            releases=[
                dict(id=id, product=1, name=f"R{id}", date=day) for id, day in enumerate(days, 1)
            ],
        )
        page = browse(client)
        assert page.sections["Releases"] == [
            ["May 2026", "22 R2"],
            ["November 2026", "20 R3", "21 R4"],
            ["August 2027", "1 R5"],
        ]
        looks = [
            attributes["class"]
            for tag, attributes in page.tags
            if tag == "td" and attributes.get("class") in ("past", "planned")
        ]
        assert looks == ["past", "past", "planned", "planned"]


STAGES = ("wait", "planned", "projected", "released", "closed")


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# .ci/run sets this: there the browser's tests must not be left out.
BROWSER_NEEDED = bool(os.environ.get("BROWSER_NEEDED"))
CALLING_PAGE = """<!DOCTYPE html><link rel="icon" href="data:,"><title>calls</title><script>
async function call(url) {
    const answer = await fetch(url + "/tokens", {method: "POST", body: JSON.stringify({account: "admin", password: "pass"})});
    const headers = {Token: (await answer.json()).token, "Content-Type": "application/json"};
    const made = await fetch(url + "/products?mode=x", {method: "POST", headers, body: JSON.stringify({name: "Made by a page"})});
    return [made.status, (await made.json()).name, made.headers.get("Ignored-Fields"), made.headers.get("X-Request-Id")];
}
</script>"""


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
    with pmservice.running(password="pass", load=pmservice.demo(NOW), clock=lambda: NOW) as served:
        yield served


@pytest.mark.skipif(not BROWSER_NEEDED and not CHROMIUM, reason="there is no Chromium")
class TestBrowser:
    """The pages in Chromium, and pages that call the service."""

    @pytest.fixture
    def visit(self, browser, served):
        """Return a function that opens a path as the administrator. The browser must find nothing to complain about."""
        with contextlib.ExitStack() as stack:
            complaints: list[str] = []

            def visit(path: str, **settings: Any) -> Any:
                login = {"username": "admin", "password": "pass"}
                context = browser.new_context(**{"http_credentials": login, **settings})
                stack.callback(context.close)
                context.set_default_timeout(60_000)
                page = context.new_page()
                page.on("console", lambda message: complaints.append(message.text))
                page.on("pageerror", lambda error: complaints.append(str(error)))
                page.on("requestfailed", lambda request: complaints.append(request.url))
                page.on(
                    "request",
                    lambda request: (
                        complaints.append(request.url)
                        if not request.url.startswith((served.url, "data:"))
                        else None
                    ),
                )
                assert page.goto(served.url + path).status == 200
                return page

            yield visit
            assert complaints == []

    @pytest.fixture
    def calling(self):
        """Yield the port of a server whose page calls the service."""

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(CALLING_PAGE.encode())

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            yield server.server_port
            server.shutdown()
            thread.join()

    def test_overview_shows_the_figures_in_both_schemes(self, visit, served):
        request = urllib.request.Request(f"{served.url}/products", headers={"Token": served.token})
        products = json.load(urllib.request.urlopen(request))["products"]
        shades = {}
        for scheme in ("light", "dark"):
            page = visit("/", color_scheme=scheme)
            assert page.title() == "Overview · pmservice"
            for one in products:
                row = page.get_by_role("row").filter(
                    has=page.get_by_role("link", name=one["name"], exact=True)
                )
                bugs = [
                    one["unResolved"],
                    one["bugs"] - one["unResolved"] - one["closedBugs"],
                    one["closedBugs"],
                    one["bugs"],
                ]
                assert row.first.get_by_role("cell").all_inner_texts()[2:] == [
                    str(number) for number in bugs
                ]
            chart = page.get_by_role("img", name="Bugs a week").bounding_box()
            assert chart["width"] > 300
            assert chart["height"] > 150
            shades[scheme] = [
                page.evaluate(f"getComputedStyle(document.body).{style}")
                for style in ("backgroundColor", "color")
            ]
        assert shades["light"] == shades["dark"][::-1] or shades["light"][0] != shades["dark"][0]
        assert self.contrast(*shades["light"]) > 4.5 < self.contrast(*shades["dark"])

    @staticmethod
    def contrast(*colors: str) -> float:
        """Return the contrast of two colours, as WCAG 2 defines it."""

        def light(color: str) -> float:
            parts = [int(part) / 255 for part in re.findall("[0-9]+", color)[:3]]
            red, green, blue = (
                part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
                for part in parts
            )
            return 0.2126 * red + 0.7152 * green + 0.0722 * blue

        dark, bright = sorted(map(light, colors))
        return (bright + 0.05) / (dark + 0.05)

    @each("scheme", ["light", "dark"])
    @each("path", ["/", "/bugs", "/bugs/7"])
    def test_every_text_stands_out_from_what_is_behind_it(self, visit, scheme, path):
        found = visit(path, color_scheme=scheme).evaluate("""() => [...document.querySelectorAll("body *")]
            .filter(one => [...one.childNodes].some(inner => inner.nodeType === 3 && inner.data.trim()) && one.offsetParent)
            .map(one => {
                let behind = one;
                while (behind && /, 0\\)$/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
                return [one.textContent.trim(), getComputedStyle(one).color, getComputedStyle(behind).backgroundColor];
            })""")
        assert len(found) > 30
        assert [text for text, *colors in found if self.contrast(*colors) < 4.5] == []

    @each("path", ["/", "/bugs", "/bugs/7", "/executions", "/products/1", "/groups"])
    @each("width", [360, 390])
    def test_page_fits_a_phone(self, visit, path, width):
        page = visit(path, viewport={"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate("getComputedStyle(document.body).fontSize") == "15px"

    def test_keyboard_goes_through_the_links_and_the_focus_is_visible(self, visit):
        page = visit("/")
        seen = []
        for _ in range(5):
            page.keyboard.press("Tab")
            seen.append(
                page.evaluate(
                    "[document.activeElement.innerText, getComputedStyle(document.activeElement).outlineStyle]"
                )
            )
        assert [text for text, _ in seen][:2] == ["pmservice", "products"]
        assert {outline for _, outline in seen} == {"solid"}
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Enter")
        page.wait_for_url("**/programs")

    def test_list_leads_to_the_record_and_the_record_to_its_product(self, visit):
        page = visit("/products/1/bugs")
        page.get_by_role("link", name="active", exact=True).click()
        page.wait_for_url("**status=active**")
        page.locator("tbody tr").first.get_by_role("link").nth(1).click()
        page.wait_for_url("**/bugs/*")
        page.get_by_role("link", name="Web Shop", exact=True).click()
        page.wait_for_url("**/products/1")
        assert page.get_by_role("heading", level=1).inner_text() == "Product 1: Web Shop"

    def test_without_a_password_the_browser_is_asked_for_one(self, browser, served):
        from playwright.sync_api import Error

        with contextlib.closing(browser.new_context()) as context:
            page = context.new_page()
            statuses = []
            page.on(
                "response",
                lambda answer: statuses.append(
                    (answer.status, answer.headers.get("www-authenticate"))
                ),
            )
            with pytest.raises(
                Error, match="ERR_INVALID_AUTH_CREDENTIALS"
            ):  # nobody answers the dialogue
                page.goto(served.url)
            assert statuses in ([], [(401, 'Basic realm="pmservice", charset="UTF-8"')])

    def test_page_of_this_machine_may_call(self, browser, served, calling):
        status, name, ignored, number = self.call(
            browser, f"http://127.0.0.1:{calling}", served.url
        )
        assert (status, name, ignored) == (201, "Made by a page", "?mode")
        assert number

    def test_page_of_another_origin_may_call_only_if_it_is_named(self, browser, served, calling):
        from playwright.sync_api import Error

        origin = f"http://app.example:{calling}"
        with pytest.raises(Error, match="Failed to fetch"):
            self.call(browser, origin, served.url)
        with pmservice.running(password="pass", origin=origin) as named:
            assert self.call(browser, origin, named.url)[:2] == [201, "Made by a page"]

    @staticmethod
    def call(browser, origin, url):
        """Let a page of an origin log in and create a product; return what it reads of the answer."""
        with contextlib.closing(browser.new_context()) as context:
            page = context.new_page()
            page.goto(f"{origin}/")
            return page.evaluate("url => call(url)", url)


DATE_LIKE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?")
OPEN_ENDS = ("2059-12-31", "2030-01-01")  # of what has no end; a plan's
WORKERS = {"marta", "diego", "tomas", "priya", "emma"}
UNSET = (None, "", 0, [], {}, "0000-00-00", "1970-01-01", "1969-12-31T16:00:00Z")
# Fields that are empty in every record of a list, and why.
# fmt: off
EMPTY_IN_DEMO = {
    "deleted": "lists leave deleted records out", "branch": "every product is of type normal", "module": "there are no modules here",
    "line": "there are no product lines here", "color": "colors are for users to give", "task.order": "tasks are in no order of their own", "testcase.order": "so are cases",
    **{f"{span}.{field}": why for field, why in (("version", "only the real server counts changes"), ("canceledBy", "nothing cancels one"), ("canceledDate", "nothing cancels one"))
       for span in ("program", "project", "execution")},
    **{f"{span}.{field}": f"only a {kind} has one" for span in ("program", "project") for field, kind in (("project", "sprint"), ("lifetime", "sprint"), ("attribute", "stage"), ("percent", "stage"))},
    **dict.fromkeys(("program.closedBy", "program.closedDate", "program.realEnd"), "no program is closed"),
    "program.model": "only projects have one", "execution.model": "only projects have one", "program.whitelist": "every program is open",
    "bug.toStory": "no bug became a story", "bug.task": "no bug was found in a task", "bug.duplicateBug": "no bug is a duplicate", "story.fromBug": "no bug became a story",
    "story.duplicateStory": "no story is a duplicate", "story.activatedDate": "no story was closed by mistake", "task.parent": "no task is divided", "task.finishedList": "nobody works with others on a task",
    "task.activatedDate": "no task was finished by mistake", "testcase.fromBug": "no case was made from a bug", "testcase.fromCaseID": "no case is a copy", "testcase.linkCase": "no case is linked to others",
}
# fmt: on


class TestDemo:
    """A made-up company, around any day."""

    @pytest.fixture
    def demo(self):
        with contextlib.closing(Client(":memory:", load=pmservice.demo(NOW))) as client:
            yield client

    def test_it_has_the_size_of_a_company_and_records_in_all_states(self, demo):
        dumped = demo.dump()
        counted = {
            name: len(records)
            for name, records in dumped.items()
            if name not in ("efforts", "results")
        }
        assert counted == {"departments": 6, "users": 12, "programs": 3, "projects": 6, "executions": 12, "products": 9, "plans": 20,
                           "stories": 90, "builds": 37, "releases": 40, "bugs": 300, "tasks": 400, "testcases": 200, "testtasks": 20}  # fmt: skip
        assert len(dumped["efforts"]) > 300
        assert len(dumped["results"]) > 100
        assert len([one for one in dumped["programs"] if one["parent"]]) == 1
        for array in ("releases", "bugs", "tasks", "testcases", "stories", "plans", "testtasks"):
            assert {one["status"] for one in dumped[array]} == set(
                WORDS[TABLES[array], "status"].split()
            ), array
        spans = dumped["projects"] + dumped["executions"]
        assert {one["status"] for one in spans} == set(WORDS["project", "status"].split())
        stories = demo.get("/stories?status=all&limit=1000")["stories"]
        assert {one["stage"] for one in stories} == {
            "wait",
            "planned",
            "projected",
            "released",
            "closed",
        }
        with demo.service.database.reading() as store:
            assert list(pmservice.problems_of(store)) == []

    @each("days", range(8))
    def test_nothing_is_done_in_the_future_at_night_or_on_a_weekend(self, days):
        now = NOW + timedelta(days=days)
        seen = Counter()
        with contextlib.closing(Client(":memory:", load=pmservice.demo(now))) as client:
            for records in client.dump().values():
                for record in records:
                    done = {
                        field: value
                        for field, value in record.items()
                        if re.fullmatch(DATE_LIKE, str(value)) and "T" in value
                    }
                    for value in done.values():
                        moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
                        assert moment <= now
                        assert moment.weekday() < 5
                        assert 9 <= moment.hour < 18
                        seen[moment.minute] += 1
            began = [one["realBegan"] for one in client.dump()["executions"] if one["realBegan"]]
            assert max(began) <= now.isoformat()[:10]
        assert len(seen) == 60

    def test_its_dates_are_in_order(self, demo):
        dumped = demo.dump()
        lives = {
            "projects": "openedDate realBegan realEnd closedDate", "executions": "openedDate realBegan realEnd closedDate",
            "stories": "openedDate assignedDate reviewedDate closedDate", "bugs": "openedDate activatedDate resolvedDate closedDate",
            "tasks": "openedDate assignedDate realStarted finishedDate closedDate", "testcases": "openedDate reviewedDate",
        }  # fmt: skip
        for array, fields in lives.items():
            for record in dumped[array]:
                dates = [
                    record[field][:10] if "real" in field and array != "tasks" else record[field]
                    for field in fields.split()
                    if record[field]
                ]
                assert [one[:10] for one in dates] == sorted(one[:10] for one in dates), record
                assert len(dates[0]) == 20
        for bug in dumped["bugs"]:
            solved = ["active", "resolved", "closed"].index(bug["status"])
            assert [bool(bug[field]) for field in ("resolvedDate", "closedDate")] == [
                solved > 0,
                solved > 1,
            ]
            assert bool(bug["resolution"]) == bool(bug["resolvedBuild"]) == (solved > 0)
            assert not bug["assignedTo"] or bug["openedDate"] <= bug["assignedDate"]

    def test_work_on_its_tasks_adds_up(self, demo):
        dumped = demo.dump()
        efforts: dict[int, list[Any]] = {}
        for effort in dumped["efforts"]:
            efforts.setdefault(effort["task"], []).append(effort)
        homes = {one["id"]: one for one in dumped["executions"]}
        assert len(efforts) > 150
        for task in dumped["tasks"]:
            days = [one["date"] for one in efforts.get(task["id"], [])]
            assert sum(one["consumed"] for one in efforts.get(task["id"], [])) == task["consumed"]
            assert days == sorted(days)
            assert not days or days[0] >= task["realStarted"][:10]
            assert not days or days[-1] <= (task["finishedDate"] or NOW_ISO)[:10]
            assert not days or efforts[task["id"]][-1]["left"] == task["left"]
            assert (
                (task["left"] == 0)
                == (task["status"] in ("done", "closed"))
                == bool(task["finishedBy"])
            )
            assert bool(task["realStarted"]) == (task["status"] not in ("wait", "cancel"))
            if homes[task["execution"]]["status"] == "closed":
                assert task["status"] in ("closed", "cancel")
            if homes[task["execution"]]["status"] == "wait":
                assert task["status"] == "wait"
        for home in homes.values():
            states = {task["status"] for task in dumped["tasks"] if task["execution"] == home["id"]}
            assert home["status"] != "doing" or states >= {"wait", "closed"}
        running = {
            task["status"]
            for task in dumped["tasks"]
            if homes[task["execution"]]["status"] == "doing"
        }
        assert running == set(WORDS["task", "status"].split())

    @each("days", range(0, 60, 5))
    def test_more_bugs_were_solved_than_found_lately(self, days):
        now = NOW + timedelta(days=days)
        bugs = pmservice.demo(now)["bugs"]
        lately = (now - timedelta(days=30)).isoformat()
        opened, resolved, closed = (
            sum(bug.get(f"{verb}Date", "") > lately for bug in bugs)
            for verb in ("opened", "resolved", "closed")
        )
        assert resolved > opened > 10
        assert closed > opened
        for verb in ("opened", "resolved"):
            monday = (now - timedelta(days=now.weekday())).date()
            weeks = Counter(
                (monday - datetime.fromisoformat(bug[f"{verb}Date"]).date()).days // 7
                for bug in bugs
                if f"{verb}Date" in bug
            )
            assert all(0 < weeks[week] < 25 for week in range(1, 26)), weeks

    def test_its_products_and_releases_are_on_their_way(self, demo):
        products = demo.get("/products")["products"]
        assert sum(one["bugs"] for one in products) == 300
        assert all(one["bugs"] > one["closedBugs"] > one["fixedBugs"] > 0 for one in products)
        assert sum(one["thisWeekBugs"] for one in products) > 0
        days = sorted(one["date"] for one in demo.get("/releases")["releases"])
        assert len([day for day in days if NOW_ISO[:10] < day < "2027-01-25"]) == 4
        assert days[0] < "2026-06-01"
        assert max(days) < "2027-01-25"

    def test_every_field_of_every_list_is_filled(self, demo):
        lists = [one for one in pmservice.OPERATIONS if isinstance(one.shows, pmservice.Listing)]
        ids = {array: [one["id"] for one in records] for array, records in demo.dump().items()}
        arrays = {resource.name: resource.array for resource in pmservice.RESOURCES.values()} | {
            "execution or project": "executions"
        }
        assert len(lists) > 30
        used, empty = set(), set()
        for operation in lists:
            places = [
                operation.path.replace("<id>", str(id))
                for id in (ids[arrays[operation.target]] if "<id>" in operation.path else [0])
            ]
            types = (
                ["&type=story", "&type=requirement"]
                if "type=story" in operation.shows.filters
                else [""]
            )
            shown = []
            for place, type, token in itertools.product(
                places,
                types,
                [demo.token_of(one) for one in WORKERS] if operation.path == "/tasks" else ["t"],
            ):
                demo.token = token
                shown += demo.get(f"{place}?limit=1000&status=all{type}")[operation.shows.key]
            assert shown, operation.path
            for field in operation.shows.view.columns:
                values = [record[field] for record in shown]
                names = {field, f"{operation.shows.view.resource.name}.{field}"}
                if all(value in UNSET for value in values) and all(
                    value == values[0] for value in values
                ):
                    used |= names & EMPTY_IN_DEMO.keys()
                    empty |= (
                        {(operation.path, field)} if not names & EMPTY_IN_DEMO.keys() else set()
                    )
        assert empty == set()
        assert EMPTY_IN_DEMO.keys() - used == set()

    def test_its_texts_say_something(self, demo):
        bugs = demo.dump()["bugs"]
        assert len({bug["title"] for bug in bugs}) == 300
        for bug in bugs:
            parts = re.fullmatch(
                r"\[Steps\]\n1\. .+\n2\. .+\n3\. .+\n\[Result\]\n(.+)\.\n\[Expected\]\n.+\.",
                bug["steps"],
            )
            assert parts[1] == bug["title"]
        assert len({(bug["pri"], bug["severity"]) for bug in bugs}) > 10
        assert all(
            re.fullmatch(r"[a-z]+@[a-z.]+", user["email"]) and user["phone"]
            for user in demo.dump()["users"]
        )

    def test_its_records_belong_together(self, demo):
        dumped = demo.dump()
        by_id = {array: {one["id"]: one for one in records} for array, records in dumped.items()}
        links = {"bugs": {"story": "stories", "plan": "plans", "case": "testcases", "testtask": "testtasks"}, "tasks": {"story": "stories"},
                 "testcases": {"story": "stories"}, "testtasks": {"build": "builds"}, "releases": {"build": "builds"}}  # fmt: skip
        for array, fields in links.items():
            for field, other in fields.items():
                linked = [
                    (one, by_id[other][int(one[field])])
                    for one in dumped[array]
                    if one[field] not in (0, None, "trunk")
                ]
                assert len(linked) > len(dumped[array]) / 10, (array, field)
                for one, target in linked:
                    home = by_id["executions"][one["execution"]] if array == "tasks" else one
                    assert target["product"] in (home.get("product"), *home.get("products", ()))
                    if "openedDate" in one and "openedDate" in target:
                        assert target["openedDate"] <= one["openedDate"]
        for task in dumped["tasks"]:
            assert (
                not task["story"]
                or task["execution"] in by_id["stories"][task["story"]]["executions"]
            )
        for bug in dumped["bugs"]:
            assert (
                bug["openedBuild"] == "trunk"
                or by_id["builds"][int(bug["openedBuild"])]["product"] == bug["product"]
            )
            if bug["result"]:
                result = by_id["results"][bug["result"]]
                assert (result["case"], result["testtask"], result["caseResult"]) == (
                    bug["case"],
                    bug["testtask"],
                    "fail",
                )
                assert result["date"] <= bug["openedDate"]
        fixed = [by_id["bugs"][bug] for build in dumped["builds"] for bug in build["bugs"]]
        assert len(fixed) > 50
        assert {bug["resolution"] for bug in fixed} == {"fixed"}
        failures = Counter(one["case"] for one in dumped["results"] if one["caseResult"] == "fail")
        assert len(failures) > 10
        assert all(
            demo.get(f"/testcases/{case}")["caseFails"] == count for case, count in failures.items()
        )

    def test_it_is_the_same_each_time(self):
        assert pmservice.demo(NOW) == pmservice.demo(NOW)

    @each("zone", ["Asia/Shanghai", "America/New_York"])
    def test_people_work_by_day_in_the_service_s_time_zone(self, tmp_path, zone):
        with contextlib.closing(
            pmservice.Database(":memory:", pmservice.zone_of(zone), lambda: NOW)
        ) as database:
            pmservice.furnish_demo(database)
            with database.reading() as store:
                opened = [one for (one,) in store.run("SELECT openedDate FROM bug")]
        hours = {int(pmservice.local(one, pmservice.zone_of(zone))[11:13]) for one in opened}
        assert hours == set(range(9, 18))
        assert max(opened) <= NOW_ISO

    def test_five_people_and_the_administrator_can_log_in_and_have_work(self, tmp_path):
        with Live(tmp_path, "--demo", "--password", "secret") as live:
            for account in (*sorted(WORKERS), "admin"):
                token = live.call("POST", "/tokens", {"account": account, "password": "secret"})[1][
                    "token"
                ]
                bugs = live.call("GET", "/bugs?status=assigntome&limit=1000", Token=token)[1][
                    "bugs"
                ]
                tasks = live.call("GET", "/tasks?limit=1000", Token=token)[1]["tasks"]
                assert "active" in {bug["status"] for bug in bugs}, account
                assert {"wait", "doing"} & {task["status"] for task in tasks}, account
                asked = live.call("GET", "/stories?status=reviewbyme", Token=token)[1]["total"]
                assert (asked > 0) == (account in ("marta", "diego"))
                assert live.call("GET", "/products?limit=1", Token=token)[1]["total"] > 6
            assert live.call("POST", "/tokens", {"account": "hana", "password": "secret"})[0] == 400
        lines = live.told.splitlines()
        assert (
            "A made-up company: 9 products, 6 projects, 90 stories, 400 tasks, 300 bugs, 40 releases."
            in lines
        )
        assert (
            "You can log in as marta (Marta Nowak), diego (Diego Ramos), tomas (Tomas Berg), priya (Priya Nair), emma (Emma Lee) with the password of admin."
            in lines
        )
        assert "secret" not in live.told
        with Live(tmp_path, "--demo") as again:
            pass
        assert "company" not in again.told
        assert "moved" not in again.told

    def test_made_up_password_of_the_administrator_is_that_of_the_five(self, tmp_path):
        with Live(tmp_path, "--demo") as live:
            pass
        told = live.told.splitlines()
        login = {"password": told[5].split()[1]}
        with Live(tmp_path) as again:
            assert {
                again.call("POST", "/tokens", {"account": one, **login})[0] for one in WORKERS
            } == {201}
        assert "log in as marta" in told[2]

    def test_five_follow_a_new_password_of_the_administrator_but_not_their_own(self, tmp_path):
        with Live(tmp_path, "--demo", "--password", "one") as live:
            own = live.call("POST", "/tokens", {"account": "emma", "password": "one"})[1]["token"]
            assert live.call("PUT", "/users/emma", {"password": "her own"}, Token=own)[0] == 200
        with Live(tmp_path, "--demo", "--password", "two") as live:
            log_in = lambda one, password: live.call(  # noqa: E731
                "POST", "/tokens", {"account": one, "password": password}
            )[0]
            assert [log_in(one, "two") for one in ("admin", "marta", "emma")] == [201, 201, 400]
            assert [log_in(one, "one") for one in ("admin", "marta", "emma")] == [400, 400, 400]
            assert log_in("emma", "her own") == 201
        assert "log in as" not in live.told

    def test_nobody_is_said_to_be_able_to_log_in_before_the_administrator_is(self, tmp_path, run):
        with Live(tmp_path, "--demo", "--token", "t") as live:
            pass
        assert "log in as" not in live.told
        assert (
            run("user", "admin", "--password", "secret", "--database", str(tmp_path / "pm.db"))[0]
            == 0
        )
        with Live(tmp_path, "--demo", "--token", "t") as live:
            assert (
                live.call("POST", "/tokens", {"account": "marta", "password": "secret"})[0] == 201
            )
        assert "log in as marta" in live.told


def dates_in(database: Any) -> dict[tuple[str, str, Any], str]:
    """Return everything in a database that looks like a day or a moment, by table, column and row; not the use of tokens."""
    found = {}
    with database.reading() as store:
        tables = [
            name
            for (name,) in store.run("SELECT name FROM sqlite_schema WHERE type = 'table'")
            if name != "token"
        ]
        for table in set(tables) - {"plans_ending"}:  # which is held against its recount
            for number, row in enumerate(map(dict, store.run(f"SELECT * FROM {table}"))):
                found |= {
                    (table, column, row.get("id", number)): value
                    for column, value in row.items()
                    if DATE_LIKE.fullmatch(str(value))
                }
    return found


class TestAgeOfTheDemo:
    """The dates of a demo are moved by whole weeks when it is served again."""

    @pytest.fixture
    def made(self, tmp_path):
        """Yield a client of a database with a demo in which somebody has worked at once."""
        clock = Clock()
        with contextlib.closing(
            pmservice.Database(tmp_path / "pm.db", timezone.utc, clock)
        ) as database:
            pmservice.furnish_demo(database)
        with contextlib.closing(Client(tmp_path / "pm.db")) as client:
            client.put("/bugs/300", pri=1, comment="Seen again")
            client.post("/products/1/plans", title="Some day")
            client.program(name="For ever", end=OPEN_ENDS[0])
            client.put("/users/diego", birthday="1990-02-28", join="2020-02-29")
            client.post("/tasks/1/assignto", assignedTo="yu", left=2)
            client.token_of("marta")
            yield client

    def test_every_date_is_moved_by_the_same_whole_weeks(self, made):
        database = made.service.database
        before, tokens, totals = (
            dates_in(database),
            made.sql("SELECT * FROM token"),
            made.sql("SELECT * FROM total ORDER BY 1, 2"),
        )
        columns = {key[:2] for key in before}
        assert len(columns) > 45
        assert {table for table, _ in columns} == {"user", "project", "product", "release", "bug", "task", "testcase", "story", "plan", "build",
                                                   "testtask", "effort", "result", "action", "demo"}  # fmt: skip
        made.clock.forward(days=21)
        assert (
            pmservice.furnish_demo(database)
            == "The demo's dates were moved by 3 weeks, to the present."
        )
        after = dates_in(database)
        assert after.keys() == before.keys()
        constant = {key for key, value in before.items() if value in OPEN_ENDS}
        assert {key[:2] for key in constant} == {("project", "end"), ("plan", "end")}
        for key, value in before.items():
            days = (
                datetime.fromisoformat(after[key].rstrip("Z"))
                - datetime.fromisoformat(value.rstrip("Z"))
            ).days
            assert days == (0 if key in constant else 21), key
            assert after[key][10:] == value[10:]
        assert made.sql("SELECT * FROM token") == tokens
        assert made.sql("SELECT * FROM total WHERE records > 0 ORDER BY 1, 2") == [
            row for row in totals if row[2]
        ]

    def test_moved_demo_is_sound_and_looks_like_the_one_of_that_day(self, made, tmp_path):
        made.clock.forward(days=21)
        assert "3 weeks" in pmservice.furnish_demo(made.service.database)
        with made.service.database.reading() as store:
            assert list(pmservice.problems_of(store)) == []
            assert store.run("SELECT monday FROM demo").fetchall()[0][0] == "2026-12-07"
        moved = made.dump()
        assert sum(one["thisWeekBugs"] for one in made.get("/products")["products"]) > 0
        new = pmservice.demo(NOW + timedelta(days=21))
        assert [bug["openedDate"][:16] for bug in moved["bugs"]] == [
            bug["openedDate"][:16] for bug in new["bugs"]
        ]
        assert {one["name"]: one["end"] for one in moved["executions"]} == {
            one["name"]: one["end"] for one in new["executions"]
        }
        with contextlib.closing(Client(":memory:", control=False)) as again:
            again.load(**moved)
            assert lines(again.dump()) == lines(moved)

    @each(("later", "weeks"), [
        ({"days": 6, "hours": 23}, 0), ({"days": 7}, 1), ({"days": 3}, 0), ({"days": 10}, 1), ({"days": 13}, 1), ({"days": 14}, 2), ({"days": -7}, 0),
        ({"days": -400}, 0), ({"days": 364}, 52),
    ])  # fmt: skip
    def test_nothing_that_was_done_comes_to_lie_in_the_future(self, made, later, weeks):
        before = dates_in(made.service.database)
        made.clock.forward(**later)
        told = pmservice.furnish_demo(made.service.database)
        assert told == (
            f"The demo's dates were moved by {weeks} week{'s' * (weeks > 1)}, to the present."
            if weeks
            else ""
        )
        after = dates_in(made.service.database)
        if weeks:
            assert max(value for value in after.values() if "T" in value) <= made.clock().strftime(
                "%Y-%m-%dT%H:%M:%SZ"
            )
            assert pmservice.furnish_demo(made.service.database) == ""
        assert (after == before) == (weeks == 0)
        assert after == dates_in(made.service.database)

    def test_demo_in_which_somebody_works_stays_for_a_week(self, made):
        made.clock.forward(days=20)
        made.put("/bugs/1", pri=3)
        made.clock.forward(days=1)
        assert pmservice.furnish_demo(made.service.database) == ""
        made.clock.forward(days=6)
        assert "by 1 week," in pmservice.furnish_demo(made.service.database)

    def test_plan_that_would_begin_after_its_open_end_stays(self, made):
        made.post("/products/1/plans", title="Late", begin="2029-12-31")
        made.clock.forward(days=7)
        assert "by 1 week," in pmservice.furnish_demo(made.service.database)
        assert made.sql("SELECT begin, end FROM plan WHERE title = 'Late'") == [
            ("2029-12-31", "2030-01-01")
        ]
        with made.service.database.reading() as store:
            assert list(pmservice.problems_of(store)) == []

    def test_days_at_the_end_of_the_calendar_stay(self, made):
        made.put("/bugs/300", deadline="9999-12-31")
        made.clock.forward(days=7)
        pmservice.furnish_demo(made.service.database)
        assert made.get("/bugs/300")["deadline"] == "9999-12-31"

    def test_nothing_is_moved_on_other_databases(self, filed_world, caplog):
        before = dates_in(filed_world.service.database)
        filed_world.clock.forward(days=70)
        assert pmservice.furnish_demo(filed_world.service.database) == ""
        assert "holds records already" in caplog.text
        assert dates_in(filed_world.service.database) == before
        assert before
        pmservice.share_password(filed_world.service.database)
        assert filed_world.sql("SELECT count(*) FROM user WHERE password IS NOT NULL") == [(0,)]

    def test_command_moves_it_before_the_snapshot_for_resets(self, tmp_path):
        ago = datetime.now(timezone.utc) - timedelta(days=21, minutes=1)
        with contextlib.closing(
            pmservice.Database(tmp_path / "pm.db", timezone.utc, lambda: ago)
        ) as database:
            pmservice.furnish_demo(database)
            before = dates_in(database)
        with Live(tmp_path, "--demo", "--control", "--token", "t", "--password", "secret") as live:
            served = live.call("GET", "/-/dump")[1]
            live.call("PUT", "/bugs/1", {"title": "Something else"})
            live.call("POST", "/-/reset")
            assert live.call("GET", "/-/dump")[1] == served
            assert live.call("POST", "/tokens", {"account": "emma", "password": "secret"})[0] == 201
        assert "The demo's dates were moved by 3 weeks" in live.told
        assert served["bugs"][0]["openedDate"] != before["bug", "openedDate", 1]
        checked = subprocess.run(
            [sys.executable, HERE / "pmservice.py", "check"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert "is sound" in checked.stdout


class TestSharedPassword:
    """The people of the demo that one can log in as share the administrator's password."""

    @pytest.fixture
    def demo(self, client):
        """Return an app that holds a demo with nothing but users; the administrator's password is "secret"."""
        own = SECRET.replace(":", ":16384:8:1:", 1)
        client.load(
            users=[
                {"account": "admin", "password": SECRET},
                {"account": "marta"},
                {"account": "diego", "deleted": True},
                {"account": "tomas", "password": own},
                {"account": "zoe"},
            ]
        )
        client.sql("INSERT INTO demo VALUES ('2026-11-16')")
        return client

    def stored(self, client):
        return dict(client.sql("SELECT account, password FROM user"))

    def test_people_of_the_demo_who_have_none_get_it(self, demo):
        before = self.stored(demo)
        told = pmservice.share_password(demo.service.database)
        assert self.stored(demo) == {**before, "marta": SECRET}
        assert told == "You can log in as marta (marta) with the password of admin."
        assert demo.login("marta")

    def test_deleted_people_get_none(self, demo):
        demo.call("DELETE", "/users/marta")
        before = self.stored(demo)
        assert (before["marta"], before["diego"]) == (None, None)
        assert pmservice.share_password(demo.service.database) == ""
        assert self.stored(demo) == before
        for account in ("marta", "diego"):
            refusal = demo.refused(
                "POST", "/tokens", {"account": account, "password": "secret"}, Token=None
            )
            assert refusal == LOGIN_FAILED

    @each("change", ["DELETE FROM demo", "UPDATE user SET password = NULL WHERE account = 'admin'"])
    def test_nobody_gets_one_elsewhere_or_if_there_is_none(self, demo, change):
        demo.sql(change)
        before = self.stored(demo)
        assert pmservice.share_password(demo.service.database) == ""
        assert self.stored(demo) == before


# --- 12 Service: reaching it ---------------------------------------------------------------------------


class TestReachingIt:
    @each("prefix", ["", "/api.php/v1", "/zentao/api.php/v1"])
    @each("slash", ["", "/"])
    def test_paths_are_found_under_the_prefixes_of_the_reference(self, world, prefix, slash):
        assert world.get(f"{prefix}/products{slash}?limit=1")["total"] == 2
        assert world.post(f"{prefix}/tasks/1/start{slash}", left=1)["id"] == 1

    @each(
        "path",
        ["/tasks/01", "/tasks/0", "/tasks/-1", "/tasks/+1", "/tasks/1.0", "/tasks/1e0", "/tasks/%D9%A1", "/tasks/%FF1", "/tasks/1%00", "/tasks/1%20", "//tasks/1", "/tasks%2F1", "/tasks/1%2f",
         "/tasks//1", "/tasks/1//", "/tasks/1%0A", "/tasks/1%0A/", "/tasks/1%0A%0A", "/tasks/9223372036854775808", "/tasks/9999999999999999999", "/tasks/9223372036854775807",
         "/api.php/v1/api.php/v1/tasks/1", "/api.php/v2/tasks/1", "/TASKS/1", "/tasks/1/stop"],
    )  # fmt: skip
    def test_other_paths_are_not_found(self, world, path):
        world.refused("PUT", path, {}, status=404)

    @each("method", ["OPTIONS", "PATCH", "TRACE"])
    @each(("path", "template"), [
        ("/products", None), ("/tasks/1/start", "/tasks/<id>/start"), ("/api.php/v1/tasks/1/", "/tasks/<id>"),
    ])  # fmt: skip
    def test_other_methods_are_not_allowed(self, world, method, path, template):
        answer = world.call(method, path)
        allowed = {one.method for one in pmservice.OPERATIONS if one.path == (template or path)}
        assert answer.status_int == 405
        assert set(answer.headers["Allow"].replace(" ", "").split(",")) - {"HEAD"} == allowed
        assert method in answer.json["error"]

    def test_head_is_a_get_without_its_body(self, world):
        head, get = world.call("HEAD", "/products"), world.call("GET", "/products")
        assert (head.status_int, head.body, head.headers["Content-Length"]) == (
            200,
            b"",
            str(len(get.body)),
        )
        assert world.call("HEAD", "/nothing").status_int == 404

    @each(("content_type", "body"), [
        ("application/json", b'{"name": "x"}'), (None, b'{"name": "x"}'), ("text/plain", b'{"name": "x"}'), ("nonsense", b'{"name": "x"}'),
        ("application/x-www-form-urlencoded", b'{"name": "x"}'), ("application/x-www-form-urlencoded", b' {"name": "x"} '),
        ("application/x-www-form-urlencoded", b"name=x"), ("application/x-www-form-urlencoded; charset=utf-8", b"name=%78&type="[:8]),
        ("application/json", b'\n{"name":\t"x", "type": null, "unknown": [1]}\r\n'),
        ("application/json", b'{"unknown": ' + b"[" * 99 + b"]" * 99 + b', "name": "x"}'), ("application/json", b'{"desc": "' + b"[" * 200 + b'", "name": "x"}'),
        ("application/json", b'{"name": "first", "name": "x"}'), ("application/json", b'{"name": "x", "\\ud800": 1}'),
    ])  # fmt: skip
    def test_body_is_read_as_json_whatever_it_is_called(self, client, content_type, body):
        answer = client.call("POST", "/products", body, Content_Type=content_type)
        assert (answer.status_int, answer.json["name"]) == (201, "x")

    @each("people", [
        b"assignedTo[]=dev1&assignedTo%5B%5D=dev2", b"assignedTo[0]=dev1&assignedTo%5B1%5D=dev2", b"assignedTo=pm1&assignedTo[]=dev1&assignedTo[]=dev2",
    ])  # fmt: skip
    def test_form_has_texts_and_arrays(self, world, people):
        body = (
            b"name=a+%C3%A9&type=devel&estStarted=2026-02-02&deadline=2026-02-20&estimate=2.5&"
            + people
        )
        answer = world.call(
            "POST", "/executions/3/tasks", body, Content_Type="application/x-www-form-urlencoded"
        ).json
        assert [answer[field] for field in ("id", "name", "estimate")] == [4, "a é", 2.5]
        assert answer["assignedTo"] == reference("dev2")

    @each("content_type", ["application/json", None, "application/x-www-form-urlencoded"])
    @each("body", [b"", b" \n", b"null", b"{}"])
    def test_nothing_is_an_empty_object(self, world, content_type, body):
        assert (
            world.call("PUT", "/tasks/1", body, Content_Type=content_type).json["name"]
            == "Task one"
        )

    @each(("body", "word"), [
        (b"[]", "object"), (b'"x"', "object"), (b"1", "object"), (b"true", "object"), (b"name=x", "JSON"), (b"{", "JSON"), (b"{'name': 1}", "JSON"),
        (b'{"name": "x"} x', "JSON"), (b'{"name": NaN}', "NaN"), (b'{"estimate": Infinity}', "Infinity"), (b'{"x": -Infinity}', "Infinity"),
        (b'{"name": "\xff"}', "UTF-8"), ('{"name": "x"}'.encode("utf-16"), "UTF-8"), (b"\xef\xbb\xbf{}", "JSON"), (b"[" * 5000 + b"]" * 5000, "deep"),
        (b'{"a":' * 101 + b"1" + b"}" * 101, "deep"), (b"[" * 101 + b'"' + b'\\"' * 200_000, "deep"), (b'{"line": ' + b"9" * 5000 + b"}", "JSON"), (b'{"a" "b"}', "JSON"),
        (b'{"name": "a\0b"}', "JSON"), (b'{"name": "a\nb"}', "JSON"),
    ])  # fmt: skip
    def test_what_is_no_json_object_is_refused(self, world, body, word):
        assert word in world.refused("PUT", "/tasks/1", body)["error"]

    @each("body", [b"name=%FF", b"name=\xff", b"x=1&" * 1001])
    def test_what_is_no_form_is_refused(self, world, body):
        world.refused("PUT", "/tasks/1", body, Content_Type="application/x-www-form-urlencoded")

    def test_number_beyond_floats_is_refused_where_it_is_read(self, world):
        for field in ("estimate", "pri", "name"):
            assert list(
                world.refused("PUT", "/tasks/1", b'{"%s": 1e400}' % field.encode())["fields"]
            ) == [field]

    def test_body_has_a_limit(self):
        name = b'{"name": "x", "unknown": "%s"}'
        with contextlib.closing(Client(":memory:", control=False, body_limit=100)) as client:
            assert (
                client.call("POST", "/products", name % (b"x" * (102 - len(name)))).status_int
                == 201
            )
            client.refused("POST", "/products", name % (b"x" * (103 - len(name))), status=413)
        with contextlib.closing(Client(":memory:", control=False)) as client:
            assert (
                client.call("POST", "/products", b" " * (2**20 - 13) + b'{"name": "x"}').status_int
                == 201
            )
            client.refused("POST", "/products", b" " * (2**20 - 12) + b'{"name": "x"}', status=413)

    @each("length", ["-1", "x", "1e3", "٣"])
    def test_length_of_a_body_is_a_number(self, client, length):
        environ = webtest.TestRequest.blank(
            "/products", method="POST", headers={"Token": "t"}
        ).environ
        statuses = []
        client.service(
            {**environ, "CONTENT_LENGTH": length}, lambda status, *_: statuses.append(status)
        )
        assert statuses == ["400 Bad Request"]

    @each(
        "host", ["localhost", "LocalHost:8080", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8080"]
    )
    def test_names_of_this_machine_are_answered(self, client, host):
        assert client.call("GET", "/products", Host=host).status_int == 200

    @each("host", [
        "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.2", "localhost:x", "user@localhost", "", "[::1]x",
        "evil.example#localhost", "localhost@evil.example", "evil.example@localhost", "localhost:8080@evil.example", "127.1", "0.0.0.0", "2130706433",
        "[::ffff:127.0.0.1]", "::1", "[::]", "localhost.", "localhost:", "xn--localhost", "localhos\xb3", "localhost,evil.example",
    ])  # fmt: skip
    def test_other_host_names_are_misdirected(self, client, host):
        client.refused("GET", "/products", status=421, Host=host)
        client.refused("GET", "/products", status=421, Host=host, Token=None)
        with contextlib.closing(Client(":memory:", control=False, loopback_only=False)) as public:
            assert public.call("GET", "/products", Host=host).status_int == 200

    def test_first_mistake_in_the_order_of_checks_is_refused(self):
        """A request with every mistake at once; each is mended in turn, in the order of the contract."""
        settings = dict(body_limit=1000, control=True, password="secret", load=WORLD)
        with contextlib.closing(Client(":memory:", **settings)) as client:
            client.load(users=[dict(account="dev1", password=SECRET)])
            client.call("PUT", "/-/faults", [{"match": "PATCH *", "status": 599}])
            sent = dict(Host="evil.example", Origin="https://evil.example", Token=None)
            call, body = ["PATCH", "/departmens/99?order=x"], b"{" * 2000

            def status() -> int:
                return client.call(*call, body, **sent).status_int

            assert status() == 413
            body = b"{"
            assert status() == 421
            sent["Host"] = "localhost"
            assert status() == 403
            sent["Origin"] = "http://localhost:3000"
            assert status() == 599
            client.call("DELETE", "/-/faults")
            assert status() == 404
            call[1] = "/departments/99?order=x"
            assert status() == 405
            call[0] = "PUT"
            assert status() == 401
            sent["Token"] = client.token_of("dev1")
            client.service.loading = True
            assert status() == 503
            client.service.loading = False
            assert status() == 403  # only an administrator may
            call[:] = "PUT", "/tasks/99"
            assert status() == 404
            call[:] = "POST", "/testcases/99/results?version=x"
            assert client.call(*call, body, **sent).json["fields"] == {
                "version": "must be a whole number"
            }
            call[:] = "GET", "/products/99/bugs?order=x"
            assert list(client.call(*call, body, **sent).json["fields"]) == ["order"]
            call[:], sent["Token"] = ("PUT", "/tasks/1"), client.token
            assert (
                client.call(*call, body, **sent).json["error"].startswith("The body must be JSON")
            )

    @each("broken", ["table", "clock"])
    def test_failure_of_our_own_is_a_500_that_says_nothing_of_the_inside(
        self, world, caplog, broken
    ):
        if broken == "table":
            with contextlib.closing(sqlite3.connect(world.service.database.uri, uri=True)) as other:
                other.executescript(
                    "PRAGMA legacy_alter_table = ON; ALTER TABLE task RENAME TO gone"
                )
        else:
            world.clock.moment = "no time at all"
        answer = world.call("PUT", "/tasks/1", {})
        assert (answer.status_int, list(answer.json)) == (500, ["error"])
        assert "Traceback" in caplog.text
        assert not re.search("Traceback|Error|table|gone", answer.text)


class TestCallsFromPages:
    """Web pages of allowed origins may call; others are refused before anything else is looked at."""

    OWN = ["http://localhost", "http://localhost:5173", "https://127.0.0.1:8443", "http://[::1]:3000", "http://app.localhost:80",
           "http://127.1.2.3", "app://-", "tauri://localhost", "chrome-extension://abc", "capacitor://localhost", "HTTP://LOCALHOST:1"]  # fmt: skip
    OTHERS = ["http://evil.example", "https://localhost.evil.example", "http://evil.example:80", "null", "", "http://", "evil", "*",
              "http://localhost@evil.example", "http://evil.example/localhost", "http://localhost, http://evil.example", "http://127.0.0.1.evil.example",
              "http://notlocalhost", "https://pm.example.org:444", "http://xn--lcalhost-9ya", "http://é.example"]  # fmt: skip

    @staticmethod
    def shown(answer):
        return {
            name: value
            for name, value in answer.headers.items()
            if name.startswith("Access-Control-")
        }

    @pytest.fixture
    def served(self):
        settings = dict(
            origin="https://pm.example.org, http://other.example:81", loopback_only=False
        )
        with contextlib.closing(Client(":memory:", **settings)) as client:
            yield client

    @each("origin", OWN)
    def test_pages_of_this_machine_and_apps_may_call(self, client, origin):
        exposed = {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": "X-Request-Id, Ignored-Fields, Retry-After, Allow"}  # fmt: skip
        for method, path, token, status in (("GET", "/products", "t", 200), ("GET", "/products", None, 401), ("POST", "/products", "t", 400),
                                            ("GET", "/nothing", "t", 404), ("PUT", "/products", "t", 405)):  # fmt: skip
            answer = client.call(
                method, path, {} if method == "POST" else None, Origin=origin, Token=token
            )
            assert (answer.status_int, self.shown(answer)) == (status, exposed)
            assert answer.headers["Vary"] == "Accept, Origin"
            assert answer.headers["Cache-Control"] == "no-store"

    @each("origin", OTHERS)
    def test_pages_of_other_origins_are_refused_before_anything_is_hashed_or_written(
        self, client, monkeypatch, origin
    ):
        monkeypatch.setattr(pmservice, "scrypt", lambda *_: pytest.fail("hashed"))
        for method, path, body in (("GET", "/products", None), ("POST", "/products", {"name": "P"}), ("GET", "/nothing", None),
                                   ("POST", "/tokens", {"account": "admin", "password": "x"})):  # fmt: skip
            for token in ("t", None):
                answer = client.call(
                    method, path, body, Origin=origin.encode().decode("latin-1"), Token=token
                )
                assert (answer.status_int, self.shown(answer)) == (403, {})
        assert client.get("/products")["total"] == 0
        nameable = re.fullmatch(r"https?://[\w.-]+(:\d+)?|null", origin, re.ASCII)
        assert (f"--origin {origin}" in answer.json["error"]) == bool(nameable) or origin.endswith(
            (":80", "*")
        )
        preflight = {
            "Origin": origin.encode().decode("latin-1"),
            "Access-Control-Request-Method": "GET",
        }
        assert client.app.options("/products", headers=preflight, status="*").status_int == 403

    @each(("origin", "host", "status"), [
        ("http://pm.internal:8080", "pm.internal:8080", 200), ("https://pm.internal:8080", "pm.internal:8080", 200),
        ("https://PM.internal", "pm.INTERNAL", 200), ("http://pm.internal:8080", "pm.internal", 403), ("http://pm.internal:8080", "pm.internal:8081", 403),
        ("https://pm.example.org", "pm.internal", 200), ("http://other.example:81", "pm.internal", 200), ("http://pm.example.org", "pm.internal", 403),
        ("https://a.pm.example.org", "pm.internal", 403), ("null", "pm.internal", 403),
    ])  # fmt: skip
    def test_pages_of_the_same_host_and_of_named_origins_may_call(
        self, served, origin, host, status
    ):
        assert served.call("GET", "/products", Origin=origin, Host=host).status_int == status

    @each(("setting", "origin", "status"), [
        ("*", "http://evil.example", 200), ("*", "null", 200), ("null", "null", 200), ("null", "http://evil.example", 403), ("", "null", 403),
    ])  # fmt: skip
    def test_all_origins_can_be_allowed_and_files(self, setting, origin, status):
        with contextlib.closing(Client(":memory:", origin=setting)) as client:
            answer = client.call("GET", "/products", Origin=origin)
            assert (answer.status_int, answer.headers.get("Access-Control-Allow-Origin")) == (
                status,
                origin if status == 200 else None,
            )

    @each("path", ["/products", "/tokens", "/nothing", "/api.php/v1/tasks/1", "/-/clock"])
    def test_preflight_is_answered_without_a_token(self, served, path):
        asked = {
            "Origin": "http://localhost:3000",
            "Access-Control-Request-Method": "PUT",
            "Access-Control-Request-Headers": "token,content-type",
        }
        answer = served.app.options(path, headers=asked)
        assert (answer.status_int, answer.body, answer.headers.get("Content-Type")) == (
            204,
            b"",
            None,
        )
        assert self.shown(answer) == {
            "Access-Control-Allow-Origin": "http://localhost:3000",
            "Access-Control-Expose-Headers": "X-Request-Id, Ignored-Fields, Retry-After, Allow",
            "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, DELETE",
            "Access-Control-Allow-Headers": "Token, Content-Type",
            "Access-Control-Max-Age": "600",
        }
        assert served.get("/-/journal")["total"] == 0

    def test_options_that_is_no_preflight_is_a_method_that_is_not_allowed(self, client):
        assert client.call("OPTIONS", "/products", Origin="http://localhost").status_int == 405
        assert client.call("OPTIONS", "/products").status_int == 405

    def test_waitress_refuses_with_the_same_headers(self):
        with (
            pmservice.running(token="t", body_limit=10) as served,
            contextlib.closing(connection_to(served.url)) as connection,
        ):
            connection.request("POST", "/products", b"x" * 50, {"Origin": "http://localhost:3000"})
            answer = connection.getresponse()
            assert (answer.status, answer.getheader("Access-Control-Allow-Origin")) == (
                413,
                "http://localhost:3000",
            )
            assert "got 50" in json.load(answer)["error"]

    def test_host_can_be_named(self):
        with contextlib.closing(Client(":memory:", allowed_host="pm.example.org, pm")) as client:
            assert [
                client.call("GET", "/products", Host=host).status_int
                for host in ("pm.example.org:80", "PM", "localhost", "evil.example")
            ] == [200, 200, 200, 421]
            refusal = client.refused("GET", "/products", status=421, Host="evil.example:80")
            assert "--allowed-host evil.example" in refusal["error"]

    def test_hosts_that_are_named_count_on_every_address(self):
        hosts = (
            "pm.example.org:80",
            "PM",
            "localhost",
            "127.0.0.1:8080",
            "[::1]",
            "evil.example",
            "10.0.0.1",
        )
        for named, statuses in (("pm.example.org, pm", [200] * 5 + [421] * 2), ("", [200] * 7)):
            settings = {"loopback_only": False, "allowed_host": named}
            with contextlib.closing(Client(":memory:", **settings)) as client:
                assert [
                    client.call("GET", "/products", Host=host).status_int for host in hosts
                ] == statuses

    @each(("flags", "shown"), [
        ("--host 0.0.0.0 --allowed-host pm.example.org --allowed-host pm", r"pm\.example\.org"),
        ("--host :: --allowed-host pm,pm.example.org",                     "pm"),
        ("--host 0.0.0.0",                                                 r"(?!0\.0\.0\.0)[\w.-]+"),
        ("--host ::",                                                      r"(?!\[::\])([\w.-]+|\[[0-9a-f:]+\])"),
        ("--host 127.0.0.1 --allowed-host pm.example.org",                 r"127\.0\.0\.1"),
    ])  # fmt: skip
    def test_address_that_is_shown_can_be_opened_from_where_the_service_is_reached(
        self, monkeypatch, capfd, flags, shown
    ):
        class Listener(socket.socket):
            """A socket that listens on this machine alone, and says that it does on the host that was asked for."""

            host = ""

            def getsockname(self) -> Any:
                return (self.host, *super().getsockname()[1:])

        def on_this_machine(host: str, port: int) -> socket.socket:
            Listener.host = host
            listener.append(Listener(fileno=listen("127.0.0.1", port).detach()))
            listening.set()
            return listener[0]

        def call_and_stop() -> None:
            assert listening.wait(30)
            with socket.create_connection(
                ("127.0.0.1", listener[0].getsockname()[1])
            ) as connection:
                connection.sendall(b"GET /-/live HTTP/1.0\r\n\r\n")
                connection.recv(1000)
            signal.raise_signal(signal.SIGTERM)

        listener, listening, listen = [], threading.Event(), pmservice.listen
        monkeypatch.setattr(pmservice, "listen", on_this_machine)
        handlers = {number: signal.getsignal(number) for number in pmservice.STOPS}
        thread = threading.Thread(target=call_and_stop)
        thread.start()
        try:
            words = ["--database", ":memory:", "--port", "0", "--password", "secret"]
            assert pmservice.main([*flags.split(), *words]) == 0
        finally:
            thread.join()
            for number, handler in handlers.items():
                signal.signal(number, handler)
        out, told = capfd.readouterr()
        assert re.fullmatch(rf"http://({shown}):[0-9]+\n", out)
        assert f"{out.strip()}/products\n" in told


class TestIgnoredNames:
    """Names that an operation does not take: the answer names them, or they are refused."""

    @pytest.fixture
    def strict(self):
        with contextlib.closing(Client(":memory:", load=FULL, strict=True)) as client:
            yield client

    @pytest.fixture
    def kept(self):
        """Return a client of a service that keeps a journal."""
        with contextlib.closing(Client(":memory:", load=WORLD)) as client:
            yield client

    @each(("line", "body", "ignored"), [
        ("POST /products",              dict(name="P", progam=1),                                 "progam"),
        ("POST /products",              dict(name="P", progam=None),                              None),
        ("POST /products",              dict(name="P", program=1),                                None),
        ("POST /products?page=1",       dict(name="P"),                                           "?page"),
        ("POST /products",              dict(progam=1),                                           "progam"),
        ("GET /products?pagesize=1&limit=1&x=", None,                                             "?pagesize"),
        ("GET /tasks/1?fields=id",      None,                                                     "?fields"),
        ("GET /products?status=closd&pge=1", None,                                                "?pge"),
        ("POST /products/1/testcases",  dict(title="C", type="unit", pri=1, steps=[dict(desc="d"), dict(desc="e", expct="x")]), "steps[1].expct"),
        ("PUT /tasks/1",                dict({"a b,ü%\n": 1}, pri=2, comment="c", id=1),           "a%20b%2C%C3%BC%25%0A, id"),
        ("PUT /tasks/1?x=1&y=2",        dict(z=1),                                                "z, ?x, ?y"),
        ("POST /tokens",                dict(account="admin", password="x", remember=True),       "remember"),
        ("POST /bugs?product=1",        dict(BUG, product=1),                                     None),
        ("POST /stories?product=1&type=story", dict(title="S", spec="s", pri=1, category="feature", type="story"), None),
        ("DELETE /bugs/1",              dict(comment="c", reason="r"),                            "reason"),
    ])  # fmt: skip
    def test_answer_names_them(self, kept, line, body, ignored):
        answer = kept.call(*line.split(), body)
        assert answer.headers.get("Ignored-Fields") == ignored
        if "PUT" in line:
            assert kept.get("/-/journal")["calls"][-1]["ignored"] == ignored

    def test_form_fields_are_named_without_brackets(self, kept):
        answer = kept.call(
            "POST",
            "/products",
            b"name=P&colours[]=a&colours[]=b",
            Content_Type="application/x-www-form-urlencoded",
        )
        assert (answer.status_int, answer.headers["Ignored-Fields"]) == (201, "colours")

    def test_at_most_twenty_names_and_a_thousand_characters_are_named(self, kept):
        many = kept.call(
            "POST", "/products", {"name": "P", **{f"n{n}": n for n in range(99)}}
        ).headers["Ignored-Fields"]
        assert many == ", ".join(f"n{n}" for n in range(20))
        long = kept.call(
            "POST", "/products", {"name": "P", "a" * 390: 1, "é" * 100: 1, "b" * 20: 1}
        ).headers["Ignored-Fields"]
        assert long == "a" * 390 + ", " + "%C3%A9" * 100
        assert (
            kept.call("POST", "/products", {"name": "P", "b" * 5000: 1, "c": 1}).headers[
                "Ignored-Fields"
            ]
            == "b" * 1000
        )

    def test_log_names_them_too(self, tmp_path):
        with Live(tmp_path, "--verbose", "--token", "t") as live:
            live.call("POST", "/products", {"name": "P", "progam": 1})
        assert " ignored: progam" in live.told

    @each(("line", "body", "fields"), [
        ("POST /products",         dict(name="P", progam=1),            {"progam": "is not known here; did you mean program?"}),
        ("POST /products",         dict(name="P", xyzzy=1, id=7),       {"xyzzy": "is not known here"}),
        ("POST /products",         dict(name="P", xyzzy=None),          None),
        ("GET /products?pge=1",    None,                                {"?pge": "is not known here; did you mean page?"}),
        ("PUT /tasks/1",           dict(pri=2, comment="c"),            None),
        ("POST /tokens",           dict(account="a", password="b", pasword="c"), {"pasword": "is not known here; did you mean password?"}),
        ("POST /products/1/testcases", dict(title="C", type="unit", pri=1, steps=[dict(desc="d", expct="x")]), {"steps[0].expct": "is not known here; did you mean expect?"}),
    ])  # fmt: skip
    def test_strict_service_refuses_them(self, strict, line, body, fields):
        if fields is None:
            assert strict.call(*line.split(), body).status_int in (200, 201)
        else:
            assert strict.refused(*line.split(), body)["fields"] == fields

    def test_record_that_was_read_can_be_sent_back_to_a_strict_service(self, strict):
        sent = 0
        for operation in pmservice.OPERATIONS:
            read = next(
                (
                    one
                    for one in pmservice.OPERATIONS
                    if (one.method, one.path) == ("GET", operation.path)
                ),
                None,
            )
            if operation.method == "PUT" and read:
                id = {"/projects/<id>": 2, "/executions/<id>": 3}.get(operation.path, 1)
                path = operation.path.replace("<id>", str(id)).replace("<user>", "dev1")
                record = strict.get(path)
                answer = strict.call("PUT", path, record)
                assert answer.status_int == 200, (path, answer.text)
                sent += 1
        assert sent > 12

    @each(("path", "array"), [("/products/1/bugs", "bugs"), ("/bugs", "bugs"), ("/tasks/1", ""), ("/executions/3/tasks", "tasks"), ("/products", "products"),
                              ("/products/1/testcases", "testcases"), ("/products/1/stories", "stories"), ("/projects/2/builds", "builds")])  # fmt: skip
    def test_record_of_a_list_can_be_sent_back_but_not_with_a_mistake_in_it(
        self, strict, path, array
    ):
        answer = strict.get(path)
        record = answer[array][0] if array else answer
        place = f"/{array or 'tasks'}/{record['id']}"
        assert strict.call("PUT", place, record).status_int == 200
        changed = {"deleted": True, "xyzzy": 1, "nmae": 1}  # the last ones of many
        fields = strict.refused("PUT", place, {**record, **changed})["fields"]
        assert set(fields) == {"xyzzy", "nmae"}

    @each(("line", "body", "ignored"), [
        ("PUT /tasks/1",      dict(pri=2, execution=99),                "execution"),
        ("POST /products",    dict(name="P", id=7, total=1),            "id, total"),
        ("PUT /products/1",   dict(total=1, products=[], lastBug=None), "total, products"),
        ("PUT /users/dev1",   dict(profile={}),                         "profile"),
        ("PUT /stories/1",    dict(versions=[], children=[]),           "versions, children"),
        ("PUT /projects/2",   dict(products=[1], deleted="0"),          "products, deleted"),
        ("PUT /testcases/1",  dict(steps=[dict(desc="d", version=9)]),  "steps[0].version"),
        ("POST /executions/3/tasks/batchCreate", dict(tasks=[dict(name="T", type="devel", estStarted="2026-02-02", deadline="2026-02-03", id=7)]), "tasks[0].id"),
    ])  # fmt: skip
    def test_strict_service_ignores_names_that_answers_show(self, strict, line, body, ignored):
        answer = strict.call(*line.split(), body)
        assert answer.status_int in (200, 201), answer.text
        assert answer.headers["Ignored-Fields"] == ignored

    @each(("line", "body"), [
        ("DELETE /bugs/1",      dict(title="B")),
        ("POST /tokens",        dict(account="admin", password="x", token="t")),
        ("GET /products?name=P", None),
    ])  # fmt: skip
    def test_strict_service_refuses_them_where_no_record_is_sent_back(self, strict, line, body):
        assert strict.refused(*line.split(), body)["fields"]

    def test_strict_refusal_names_what_else_is_broken(self, strict):
        assert set(strict.refused("POST", "/products", {"progam": 1, "type": "q"})["fields"]) == {
            "progam",
            "type",
            "name",
        }
        assert set(strict.refused("GET", "/products?pagesize=1&limit=-1")["fields"]) == {
            "?pagesize",
            "limit",
        }
        assert strict.refused("POST", "/stories?product=99", {"foo": 1}, status=404)

    def test_strict_service_lets_steps_be_moved(self, strict):
        steps = strict.get("/testcases/1")["steps"]
        assert steps
        assert (
            len(strict.put("/testcases/1", steps=[dict(desc="first"), *steps])["steps"])
            == len(steps) + 1
        )

    def test_many_unknown_names_cost_no_time_and_twenty_are_refused(self, strict):
        fields = strict.refused(
            "POST", "/products", {"name": "P", **{f"n{n}": n for n in range(50_000)}}
        )["fields"]
        assert list(fields) == [f"n{n}" for n in range(20)]

    def test_name_that_is_cut_stays_decodable(self, kept):
        for name in (
            "é" * 400,
            "aé" * 400,
            "aaé" * 400,
            "€" * 400,
            "a€" * 400,
            "aa€" * 400,
            "😀" * 400,
            "a😀" * 400,
        ):
            ignored = kept.call("POST", "/products", {"name": "P", name: 1}).headers[
                "Ignored-Fields"
            ]
            assert 980 < len(ignored) <= 1000
            assert name.startswith(urllib.parse.unquote(ignored, errors="strict"))
        assert (
            kept.call("POST", "/products", {"name": "P", "": 1}).headers["Ignored-Fields"]
            == "%22%22"
        )

    def test_call_command_says_what_was_ignored_and_can_be_strict(self, run):
        assert (
            run("call", "POST", "/products", '{"name": "P", "progam": 1}')[2] == "ignored: progam\n"
        )
        code, out, _ = run("--strict", "call", "GET", "/products?pagesize=1")
        assert (code, list(json.loads(out)["fields"])) == (1, ["?pagesize"])

    def test_journal_blanks_misspelled_secrets(self, kept):
        kept.call(
            "POST",
            "/tokens",
            {"account": "admin", "passwrod": "geheim", "Token": "geheim", "pwd": "geheim"},
        )
        assert "geheim" not in json.dumps(kept.get("/-/journal"))


class TestMistakes:
    """Typical mistakes of new users, and the sentence that explains each."""

    @each(("line", "body", "sentence"), [
        ("POST /tokns",            {"account": "admin"},        "There is nothing at /tokns; did you mean /tokens?"),
        ("GET /product/1/bug",     None,                        "There is nothing at /product/1/bug; did you mean /products/1/bugs?"),
        ("GET /",                  None,                        "There is nothing at /; GET /openapi.json lists what there is."),
        ("PUT /products",          {},                          "PUT is not allowed at /products; allowed: GET, POST."),
        ("POST /products",         b"{'name': 'Shop'}",         "The body must be JSON, but line 1, column 2 reads: 'name': 'S"),
        ("POST /products",         b'{"name":\n "Shop"',        "The body must be JSON, but it ends at line 2, column 8."),
        ("POST /products",         b"name=Shop",                "The body must be JSON, but line 1, column 1 reads: name=Shop"),
        ("POST /products",         b'{"name": "a\x1b"}',         None),
        ("POST /products",         {"name": "x" * 300},         "name must be 1 to 255 characters, not blank (got 300)."),
        ("POST /products",         {"name": " "},               "name must be 1 to 255 characters, not blank."),
        ("POST /products",         {"name": "P", "PO": "y" * 40}, "PO must be an account: 1 to 30 letters, digits, _ . - @ (got 40)."),
        ("POST /products",         {"name": "P", "type": "norml"}, "type must be one of normal, branch, platform; did you mean normal?"),
        ("POST /products",         {},                          "name is required and must be 1 to 255 characters, not blank."),
        ("POST /projects",         {"name": "P", "begin": "2026-01-01", "end": "2026-02-01"}, "products is required and must be an array of ids, not empty."),
        ("POST /executions/3/tasks", {"name": "T", "estStarted": "2026-01-01", "deadline": "2026-01-02"},
            "type is required and must be one of design, devel, request, test, study, discuss, ui, affair, misc."),
        ("POST /tasks/1/assignto", {},                          "assignedTo is required and must be an account, a user's id or a user reference."),
        ("GET /products/1/bugs?order=openDate", None,           "order must be a field of the list, alone or with _asc or _desc; did you mean openedDate?"),
        ("POST /products",         b"9" * 5000,                 None),
        ("GET /tasks/01",          None,                        "There is nothing at /tasks/01; did you mean /tasks?"),
        ("GET /testcases",         None,                        "There is nothing at /testcases; did you mean /testcases/<id>?"),
        ("POST /products",         {"name": "x" * 70_000},      "name must be 1 to 255 characters, not blank (got 70000)."),
    ])  # fmt: skip
    def test_sentence_says_what_to_do(self, world, line, body, sentence):
        method, path = line.split()
        answer = world.call(method, path, body)
        assert answer.status_int in (400, 404, 405)
        assert answer.json["error"] == (sentence or answer.json["error"])
        assert answer.json["error"].isprintable()

    @each(("line", "told"), [
        ("--prot 80",              "--prot is not a flag; did you mean --port?"),
        ("--databse=x dump",       "--databse is not a flag; did you mean --database?"),
        ("user x --relname y",     "--relname is not a flag; did you mean --realname?"),
        ("--xyzzy",                "--xyzzy is not a flag; pmservice --help lists them"),
        ("--port none",            "--port must be a whole number (got 'none')"),
        ("--origin https://x.org/app", "--origin must be a scheme and a host such as https://app.example.org, with no path, or * or null (got 'https://x.org/app')"),
        ("--allowed-host pm:80",   "--allowed-host must be a name without a port, such as pm.example.org (got 'pm:80')"),
        ("user",                   "the following arguments are required: ACCOUNT; pmservice user --help says more"),
    ])  # fmt: skip
    def test_command_line_says_what_to_do(self, run, tmp_path, line, told):
        assert run(*line.split()) == (2, "", f"pmservice: {told}\n")
        assert not list(tmp_path.iterdir())

    def test_user_command_says_what_it_did(self, run):
        assert run("user", "dev1")[2] == "user 2, dev1, created\n"
        assert run("user", "dev1")[2] == "user 2, dev1, unchanged: nothing was asked for\n"
        assert run("user", "dev1", "--realname", "Dan")[2] == "user 2, dev1, changed\n"

    def test_misspelled_command_is_suggested(self, run):
        code, _, told = run("dmp")
        assert (code, told.endswith("; did you mean dump?\n")) == (2, True)

    @each(("word", "meant"), [
        ("https://App.Example.org", "https://app.example.org"), ("https://a:443", "https://a"), ("http://b:80", "http://b"), ("https://a:80", "https://a:80"),
        ("HTTPS://A", "https://a"), ("http://[::1]:80", "http://[::1]"), ("app://my_app", "app://my_app"), (" null , * ", "null,*"), ("", ""),
    ])  # fmt: skip
    def test_origins_are_read_as_browsers_send_them(self, word, meant):
        assert pmservice.read_origins(word) == meant

    @each(
        "word",
        [
            "https://*.example.org",
            "https://a:x",
            "https://[::1",
            "https://a:",
            "https://a\\b",
            "https://ä.example",
            "a.example",
            "NULL",
            "file://",
            "http://a/",
        ],
    )
    def test_origins_that_no_browser_sends_are_refused(self, run, word):
        code, _, told = run("--origin", word)
        assert (code, told.startswith("pmservice: --origin must be a scheme and a host")) == (
            2,
            True,
        )

    def test_flags_may_be_abbreviated_and_several_origins_given(self):
        given = vars(
            pmservice.make_parser().parse_args(
                ["--datab", "x", "--origin", "http://a", "--origin", "http://b,null"]
            )
        )
        assert pmservice.resolve(given)["origin"] == "http://a,http://b,null"

    def test_variable_that_is_none_is_named(self, run, monkeypatch):
        run("user", "admin")
        monkeypatch.setenv("PMSERVICE_TOKN", "x")
        monkeypatch.setenv("PMSERVICE_XYZZY", "x")
        monkeypatch.setenv("PMSERVICE_STRICT", "yes")
        told = [line.partition(" ")[2] for line in run("call", "GET", "/users/1")[2].splitlines()]
        assert told == [
            "PMSERVICE_TOKN is not a setting; did you mean PMSERVICE_TOKEN?", "PMSERVICE_XYZZY is not a setting.",
        ]  # fmt: skip
        monkeypatch.setenv("PMSERVICE_PORT", "tcp://10.0.0.1:80")
        assert run() == (
            2,
            "",
            "pmservice: PMSERVICE_PORT must be a whole number (got 'tcp://10.0.0.1:80')\n",
        )

    def test_settings_of_create_app_are_those_of_the_table(self):
        assert pmservice.ARGUMENTS.keys() == pmservice.Settings.__annotations__.keys()

    def test_misspelled_setting_of_create_app_is_suggested(self):
        with pytest.raises(TypeError, match=r"^tokn is not a setting; did you mean token\?$"):
            pmservice.create_app(tokn="t")

    def test_controls_that_are_off_say_how_to_get_them(self):
        with contextlib.closing(Client(":memory:", control=False)) as client:
            for call in ("POST /-/reset", "GET /-/clock", "GET /-/nothing"):
                assert client.call(*call.split(), Token=None).json == {
                    "error": "The controls are off; start the service with --control."
                }
        with contextlib.closing(Client(":memory:")) as client:
            assert client.call("POST", "/-/rest").json == {
                "error": "There is nothing at /-/rest; did you mean /-/reset?"
            }


class TestTroubleWithTheFile:
    """Errors of SQLite, provoked on a real file: each has its status and its sentence, and nothing is written."""

    @staticmethod
    def set(connections, pragma):
        for connection in connections:
            with contextlib.suppress(sqlite3.ProgrammingError):  # it is closed by now
                connection.execute(f"PRAGMA {pragma}")

    @staticmethod
    def write(client, status):
        """Send a write that must be refused while reading goes on; return the sentence of the refusal."""
        sentence = client.refused(
            "POST", "/products", {"name": "P", "desc": "x" * 60_000}, status=status
        )["error"]
        assert client.get("/products")["total"] == 2
        return sentence

    def test_locked_file_is_busy(self, connections, filed_world):
        self.set(connections, "busy_timeout = 0")
        with contextlib.closing(sqlite3.connect(filed_world.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert "busy" in self.write(filed_world, 503)
            other.execute("ROLLBACK")
        assert filed_world.product()["id"] == 3

    @each(("waited", "left"), [(0, 5000), (4.2, 800), (5.1, 0)])
    def test_writer_waits_five_seconds_in_all_for_this_process_and_for_others(
        self, filed_world, monkeypatch, waited, left
    ):
        class Lock:
            def acquire(self, timeout):
                monkeypatch.setattr(time, "monotonic", lambda: moment + waited)
                return timeout == 5

            def release(self):
                pass

        moment = 1000
        monkeypatch.setattr(time, "monotonic", lambda: moment)
        filed_world.service.database.write_lock = Lock()
        with filed_world.service.database.writing() as store:
            assert store.number("PRAGMA busy_timeout") == left

    def test_read_only_file_takes_no_writes(self, connections, filed_world):
        self.set(connections, "query_only = ON")
        assert "read-only" in self.write(filed_world, 503)

    def test_full_disk_takes_no_writes(self, connections, filed_world):
        self.set(connections, "max_page_count = 1")  # SQLite keeps to the present size
        assert "full" in self.write(filed_world, 507)

    @posix("Windows has no limit of the size of files")
    def test_disk_that_fails_takes_no_writes(self, filed_world):
        before, limits = filed_world.dump(), resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(
            resource.RLIMIT_FSIZE, (os.path.getsize(f"{filed_world.path}-wal"), limits[1])
        )
        try:
            answer = filed_world.call("POST", "/products", {"name": "P", "desc": "x" * 60_000})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert (answer.status_int, "cannot be read or written" in answer.json["error"]) == (
            503,
            True,
        )
        assert filed_world.dump() == before
        assert filed_world.product()["id"] == 3

    def test_every_connection_sorts_in_memory(self, connections, filed_world):
        with filed_world.service.database.reading(), filed_world.service.database.reading():
            filed_world.post("/products", name="P")
        assert len(connections) >= 3
        assert {one.execute("PRAGMA temp_store").fetchone()[0] for one in connections} == {2}

    @posix("Windows has no limit of the size of files")
    def test_full_disk_for_temporary_files_keeps_nobody_from_sorting(self, filed):
        texts = {id: f"{id * 37 % 100:02}" + "x" * 60_000 for id in range(1, 101)}
        bugs = [dict(id=id, product=1, title="B", steps=text) for id, text in texts.items()]
        filed.load(products=[dict(id=1, name="P")], bugs=bugs)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        try:
            answer = filed.call("GET", "/products/1/bugs?order=steps_asc&limit=100")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert answer.status_int == 200
        assert ids(answer.json["bugs"]) == sorted(texts, key=texts.get)

    @OPEN_FILES
    def test_removed_file_cannot_be_opened(self, filed_world):
        with filed_world.service.database.reading():  # takes the only open connection
            os.rename(filed_world.path, f"{filed_world.path}.old")
            answer = filed_world.call("GET", "/products")
        assert (answer.status_int, "cannot be opened" in answer.json["error"]) == (503, True)

    def test_damaged_page_is_named_as_such(self, filed_world):
        filed_world.close()
        with contextlib.closing(sqlite3.connect(filed_world.path)) as file:
            (page,) = file.execute(
                "SELECT rootpage FROM sqlite_schema WHERE name = 'bug'"
            ).fetchone()
            (size,) = file.execute("PRAGMA page_size").fetchone()
        with (
            contextlib.closing(Client(filed_world.path)) as again,
            open(filed_world.path, "r+b") as file,
        ):
            file.seek((page - 1) * size)
            file.write(b"\xff" * size)
            file.flush()
            answer = again.call("GET", "/bugs/1")
            assert (answer.status_int, "damaged" in answer.json["error"]) == (503, True)
            assert again.get("/products")["total"] == 2

    def test_reset_while_a_body_comes_in_takes_its_sender_away(self):
        with (
            contextlib.closing(Client(":memory:", load=WORLD)) as client,
            ThreadPoolExecutor(1) as thread,
        ):
            client.post("/users", account="new1", password="secret")
            request = webtest.TestRequest.blank(
                "/products", method="POST", headers={"Token": client.token_of("new1")}
            )

            class Body(io.BytesIO):
                def read(self, *size):
                    assert (
                        thread.submit(client.call, "POST", "/-/reset").result(30).status_int == 200
                    )
                    return super().read(*size)

            environ, statuses = (
                {**request.environ, "wsgi.input": Body(b'{"name": "P"}'), "CONTENT_LENGTH": "13"},
                [],
            )
            (answer,) = client.service(environ, lambda status, *_: statuses.append(status[:3]))
            assert (statuses, "reset" in json.loads(answer)["error"]) == (["503"], True)
            assert client.get("/products")["total"] == 2


class Fragile(sqlite3.Connection):
    """A connection to SQLite on which one statement fails: the one for which `left` counts down to 0."""

    left, error = 0, Exception

    def execute(self, *statement: Any) -> sqlite3.Cursor:
        Fragile.left -= 1
        if Fragile.left == 0:
            raise Fragile.error("made to fail")
        return super().execute(*statement)


class TestTheSystem:
    """The differences between Linux, macOS and Windows."""

    def test_every_connection_syncs_each_commit_checks_links_and_keeps_the_log(self, filed):
        wanted = {
            "synchronous": 2,
            "foreign_keys": 1,
            "journal_mode": "wal",
            "fullfsync": 1,
            "journal_size_limit": 4194304,
        }
        database = filed.service.database
        with contextlib.ExitStack() as stack:
            used = [stack.enter_context(database.reading()) for _ in range(3)]  # the pool has one
            used.append(stack.enter_context(database.writing()))
            for store in used:
                found = {name: store.row(f"PRAGMA {name}")[0] for name in wanted}
                assert found == wanted
        assert len({id(store.connection) for store in used}) == 4

    @each(("path", "uri"), [
        (PureWindowsPath(r"C:\Users\An na\pm.db"), "file:///C:/Users/An%20na/pm.db"),
        (PureWindowsPath(r"\\server\share\pm.db"), "file:////server/share/pm.db"),
        (PureWindowsPath(r"\\server\my share\pm.db"), "file:////server/my%20share/pm.db"),
        (PurePosixPath("/home/an na/pm?.db"),      "file:///home/an%20na/pm%3F.db"),
        (PurePosixPath("//server/share/pm.db"),    "file:////server/share/pm.db"),
    ])  # fmt: skip
    def test_uri_of_a_file_is_one_that_sqlite_takes(self, path, uri):
        assert pmservice.file_uri(path) == uri

    @each("database", [":memory:", "pm.db"])
    def test_sqlite_that_is_too_old_is_refused(self, run, tmp_path, monkeypatch, database):
        monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
        monkeypatch.setattr(sqlite3, "sqlite_version", "3.36.0")
        told = (
            "SQLite must be 3.37.0 or newer (got 3.36.0); run pmservice with a Python that has one"
        )
        assert run("--database", database, "--port", "0") == (2, "", f"pmservice: {told}\n")
        assert list(tmp_path.iterdir()) == []

    def test_without_poll_and_limits_it_serves_as_many_as_select_takes(self, monkeypatch):
        monkeypatch.delattr(select, "poll", raising=False)
        monkeypatch.setitem(sys.modules, "resource", None)
        assert (
            pmservice.connection_limit() + 128 + 2 <= 512
        )  # with those accepted as it stops, and its own sockets
        monkeypatch.setattr(pmservice, "FEW_CONNECTIONS", 10)
        with pmservice.running(token="t") as served, contextlib.ExitStack() as stack:
            for _ in range(20):
                connection = stack.enter_context(contextlib.closing(connection_to(served.url)))
                assert ask(connection, "GET", "/products")[0] == 200


class TestFailingStatements:
    ERRORS = (sqlite3.OperationalError, MemoryError)
    LOGIN = ("POST", "/tokens", dict(account="admin", password="secret"))
    REFUSED_LATE = [  # requests refused within their transaction, whose ROLLBACK may fail, too
        ("POST", "/products", dict(name="P", PO=99)),
        ("POST", "/executions/3/tasks", dict(DATED, name="T", assignedTo=["new1", 99])),
        ("PUT", "/tasks/1", dict(deadline="2026-02-01")),
        ("POST", "/tasks/1/start", dict(left=1, consumed=0)),
    ]

    @each(("method", "path", "body"), [LOGIN, *WRITES, *REFUSED_LATE])
    def test_any_leaves_no_trace_and_the_next_call_succeeds(
        self, tmp_path, monkeypatch, method, path, body
    ):
        file, connect = tmp_path / "pm.db", sqlite3.connect
        monkeypatch.setattr(sqlite3, "connect", partial(connect, factory=Fragile))
        with (
            contextlib.closing(Client(file, password="secret", load=WORLD)) as client,
            contextlib.closing(connect(file)) as plain,
        ):
            for n, error in ((n, error) for n in itertools.count(1) for error in self.ERRORS):
                before = list(plain.iterdump())
                Fragile.left, Fragile.error = n, error
                answer = client.call(method, path, body)
                left, Fragile.left = Fragile.left, 0
                if left > 0:
                    break
                assert (answer.status_int in (500, 503), "made to fail" in answer.text) == (
                    True,
                    False,
                ), answer.text
                assert list(plain.iterdump()) == before
                client.put("/tasks/1")
        assert n > 3  # at least BEGIN, one statement and COMMIT or ROLLBACK failed


# --- 12 Service: tokens and users ---------------------------------------------------------------------

LOGIN_FAILED = {"error": "Login failed. Please check your account and password."}


class TestTokens:
    @pytest.fixture
    def dev1(self, world):
        """Yield an app where dev1 can log in, with "secret"."""
        world.load(users=[dict(account="dev1", password=SECRET)])
        return world

    @each("password", ["secret", hashlib.md5(b"secret").hexdigest()])
    @each("path", ["/tokens", "/api.php/v1/tokens/"])
    def test_login_is_with_the_password_or_its_md5(self, dev1, path, password):
        answer = dev1.call("POST", path, {"account": "dev1", "password": password}, Token=None)
        assert (answer.status_int, list(answer.json)) == (201, ["token"])
        dev1.token = answer.json["token"]
        assert dev1.get("/products")["total"] == 1  # of those that dev1 may see

    @each(("account", "password"), [
        ("dev1", "Secret"), ("dev1", hashlib.md5(b"secret").hexdigest().upper()), ("dev1", hashlib.md5(b"other").hexdigest()),
        ("dev1", "\ud800"), ("nobody", "secret"), ("dev2", "secret"), ("admin", "admin"), ("x" * 99, "secret"), ("DEV1", "secret"),
        ("dev1", ""), ("dev1", " "), ("", "secret"),
    ])  # fmt: skip
    def test_wrong_password_and_unknown_account_are_answered_alike(self, dev1, account, password):
        refusal = dev1.refused(
            "POST", "/tokens", {"account": account, "password": password}, Token=None
        )
        assert refusal == LOGIN_FAILED or "surrogate" in refusal["fields"]["password"]

    def test_password_is_kept_as_a_scrypt_hash_that_says_how_it_was_made(self, client):
        client.load(users=[dict(account="dev1", password="secret")])
        ((kept,),) = client.sql("SELECT password FROM user WHERE account = 'dev1'")
        *made, salt, hash = kept.split(":")
        assert made == ["scrypt", "16384", "8", "1"]
        assert hash == scrypted(salt, 16384)
        assert len(salt) == 32

    @each(("made", "n"), [("scrypt", 16384), ("scrypt:16384:8:1", 16384)])
    def test_hash_of_any_form_is_loaded_and_lets_its_user_in(self, client, made, n):
        kept = f"{made}:{SALT}:{scrypted(SALT, n)}"
        client.load(users=[dict(account="dev1", password=kept)])
        assert {one["account"]: one["password"] for one in client.dump()["users"]}["dev1"] == kept
        for password in ("secret", hashlib.md5(b"secret").hexdigest()):
            assert (
                client.call("GET", "/user", Token=client.login("dev1", password)).status_int == 200
            )
        for password in ("Secret", kept):
            assert (
                client.refused("POST", "/tokens", {"account": "dev1", "password": password})
                == LOGIN_FAILED
            )

    @each("password", ["wrong", hashlib.md5(b"wrong").hexdigest()], ids=["password", "MD5"])
    def test_refused_login_costs_the_same_work_whoever_it_names(self, dev1, monkeypatch, password):
        work, plain = [], hashlib.scrypt

        def counted(secret, **parameters):
            work.append([parameters[name] for name in "nrp"])
            return plain(secret, **parameters)

        monkeypatch.setattr(hashlib, "scrypt", counted)
        costs = []
        for account in ("dev1", "dev2", "nobody"):  # dev2 has no password
            work.clear()
            assert (
                dev1.refused("POST", "/tokens", {"account": account, "password": password})
                == LOGIN_FAILED
            )
            costs.append(work.copy())
        assert costs[0]
        assert costs == [costs[0]] * 3

    def test_new_password_ends_what_the_old_one_began(self, dev1):
        old, of_another = dev1.login("dev1"), dev1.login("dev1")
        dev1.load(users=[dict(account="dev1", realname="Dan")])
        assert dev1.call("GET", "/user", Token=old).status_int == 200
        dev1.load(users=[dict(account="dev1", password="new")])
        assert {
            dev1.call("GET", "/user", Token=token).status_int for token in (old, of_another)
        } == {401}
        assert dev1.call("GET", "/user", Token=dev1.login("dev1", "new")).status_int == 200

    def test_login_is_never_locked_out(self, dev1):
        for _ in range(7):
            dev1.refused("POST", "/tokens", {"account": "dev1", "password": "wrong"})
        assert dev1.login("dev1")

    @each(("body", "fields"), [
        ({}, ["account", "password"]), ({"account": "dev1"}, ["password"]), ({"account": 1, "password": []}, ["password"]),
    ])  # fmt: skip
    def test_login_needs_both(self, dev1, body, fields):
        assert list(dev1.refused("POST", "/tokens", body, Token=None)["fields"]) == fields

    @each("token", [None, "", "t", "wrong"])
    def test_tokens_are_not_to_be_read_but_it_is_said_how_to_get_one(self, dev1, token):
        answer = dev1.call("GET", "/tokens", Token=token)
        assert (answer.status_int, list(answer.json)) == (200, ["message"])
        assert "POST" in answer.json["message"]

    def test_token_of_the_operator_may_be_any_text(self):
        with contextlib.closing(Client(":memory:", token="geheim-é")) as client:
            client.token = "geheim-é".encode().decode("latin-1")  # as WSGI passes its bytes
            assert client.get("/products")["total"] == 0

    @each("token", [
        None, "", " \t", "T", "t ", "tt", "t, t", "Bearer t", "é", "x" * 10_000, "null", hashlib.sha256(b"t").hexdigest(),
    ])  # fmt: skip
    def test_other_tokens_are_unauthorized(self, client, token):
        sent = None if token is None else token.encode().decode("latin-1")
        refusal = client.refused("GET", "/products", status=401, Token=sent)
        assert (list(refusal), refusal["error"]) == (["error", "hint"], "Unauthorized")
        assert "POST /tokens" in refusal["hint"]
        assert ("unknown" in refusal["hint"]) == bool(sent)

    @each(("headers", "words"), [
        ({}, "Send the header `Token: <token>`."),
        ({"Token": "old"}, "This token is unknown, or it has expired."),
        ({"Authorization": "Bearer x"}, "not as `Authorization: Bearer`."),
        ({"Authorization": "BASIC eDp5"}, "Only the page for browsers takes HTTP Basic."),
        ({"Authorization": "Digest x"}, "Send the header `Token: <token>`."),
        ({"Cookie": "zentaosid=x"}, "Cookies are not read."),
        ({"Token": "old", "Cookie": "zentaosid=x"}, "This token is unknown, or it has expired."),
    ])  # fmt: skip
    def test_hint_fits_what_was_sent(self, client, headers, words):
        assert (
            words
            in client.refused("GET", "/products", status=401, **{"Token": None, **headers})["hint"]
        )

    @each("token", [None, "wrong"])
    def test_every_operation_but_login_needs_a_token(self, world, token):
        for one in pmservice.OPERATIONS:
            if one.path != "/tokens":
                path = re.sub("<(id|user|name)>", "1", one.path)
                assert world.call(one.method, path, {}, Token=token).status_int == 401

    def test_several_tokens_live_at_once_and_survive_a_restart(self, filed_world):
        filed_world.load(users=[dict(account="dev1", password=SECRET)])
        tokens = [filed_world.login("dev1") for _ in range(3)]
        filed_world.close()
        with contextlib.closing(Client(filed_world.path)) as again:
            assert [again.call("GET", "/products", Token=token).status_int for token in tokens] == [
                200,
                200,
                200,
            ]
        assert len(set(tokens)) == 3

    def test_token_lives_a_day_after_its_last_use(self, dev1):
        dev1.token = dev1.token_of("dev1")
        for hours in (23, 23.9, 23.9):
            dev1.clock.forward(hours=hours)
            dev1.get("/products")
        dev1.clock.forward(hours=24.1)
        assert dev1.call("GET", "/products").status_int == 401

    def test_lifetime_of_tokens_can_be_set(self):
        with contextlib.closing(
            Client(":memory:", control=False, password="secret", token_lifetime=60)
        ) as client:
            client.token = client.login("admin")
            for seconds, status in ((50, 200), (50, 200), (70, 401)):
                client.clock.forward(seconds=seconds)
                assert client.call("GET", "/products").status_int == status

    def test_tokens_and_passwords_are_kept_as_hashes_only(self, filed):
        filed.post("/users", account="dev1", password="secret")
        token = filed.login("dev1")
        kept = b"".join(file.read_bytes() for file in filed.path.parent.iterdir())
        filed.close()
        kept += b"".join(file.read_bytes() for file in filed.path.parent.iterdir())
        assert hashlib.sha256(token.encode()).hexdigest().encode() in kept
        for secret in (token, "secret", hashlib.md5(b"secret").hexdigest()):
            assert secret.encode() not in kept

    @MODES
    def test_database_is_readable_by_its_owner_only(self, filed):
        modes = {
            file.name: file.stat().st_mode & 0o777 for file in filed.path.parent.glob("pm.db*")
        }
        assert modes == dict.fromkeys(("pm.db", "pm.db-wal", "pm.db-shm"), 0o600)

    @each("person", ["dev1", 4, reference("dev1"), {"id": 4}, {"account": "dev1"}])
    def test_person_is_an_account_an_id_or_a_reference(self, world, person):
        assert world.product(PO=person)["PO"] == reference("dev1")

    def test_unknown_account_becomes_a_user_who_cannot_log_in(self, world):
        made = world.product(PO="new.er-1@x_")["PO"]
        assert made == {"id": 9, "account": "new.er-1@x_", "avatar": "", "realname": "new.er-1@x_"}
        assert (
            world.refused("POST", "/tokens", {"account": "new.er-1@x_", "password": "new.er-1@x_"})
            == LOGIN_FAILED
        )

    def test_password_given_to_the_app_is_that_of_admin(self, tmp_path):
        for password, right, wrong in (
            ("1st", "1st", "2nd"),
            ("2nd", "2nd", "1st"),
            ("2nd", "2nd", "1st"),
            (None, "2nd", "1st"),
        ):
            with contextlib.closing(Client(tmp_path / "pm.db", password=password)) as client:
                assert client.login("admin", right)
                client.refused("POST", "/tokens", {"account": "admin", "password": wrong})


class TestLoginsUnderWay:
    """What happens to a user while a password is being hashed, which takes long and no transaction."""

    # How dev1 changes meanwhile, in words of a request or of the command, or by a fixture.
    CHANGES = {
        "deleted by a request": ("DELETE", "/users/dev1", None),
        "deleted by a fixture": dict(account="dev1", deleted=True),
        "another password by a request": ("PUT", "/users/dev1", {"password": "another"}),
        "another password by the command": ["user", "dev1", "--password", "another"],
        "another password by a fixture": dict(account="dev1", password="another"),
        "gone with the return to a snapshot": ("POST", "/-/snapshots/before/restore", None),
    }

    @pytest.fixture
    def app(self, tmp_path):
        """Yield an app on a file where dev1 can log in, and was unknown when a snapshot was taken."""
        with contextlib.closing(Client(tmp_path / "pm.db", control=True)) as client:
            client.put("/-/snapshots/before")
            client.load(users=[dict(account="dev1", password=SECRET)])
            yield client

    @staticmethod
    def change(app: Client, how: Any) -> None:
        if isinstance(how, dict):
            app.load(users=[how])
        elif isinstance(how, list):
            assert pmservice.main([*how, "--database", str(app.path)]) == 0
        else:
            assert app.call(*how).status_int == 200

    @pytest.fixture
    def meanwhile(self, app, monkeypatch):
        """Return a function; what it is given happens to dev1 once the next password is hashed."""
        plain = pmservice.scrypt

        def prepare(how: Any) -> None:
            def scrypt(*given: Any) -> str:
                monkeypatch.setattr(pmservice, "scrypt", plain)
                hashed = plain(*given)
                with ThreadPoolExecutor(1) as another:  # Bottle keeps one request for each thread
                    another.submit(self.change, app, how).result(30)
                return hashed

            monkeypatch.setattr(pmservice, "scrypt", scrypt)

        return prepare

    @staticmethod
    def tokens(app: Client) -> int:
        return app.sql("SELECT count(*) FROM token WHERE account = 'dev1'")[0][0]

    @each("change", CHANGES)
    def test_login_fails_if_its_user_changes_meanwhile(self, app, meanwhile, change):
        meanwhile(self.CHANGES[change])
        answer = app.call("POST", "/tokens", {"account": "dev1", "password": "secret"}, Token=None)
        assert (answer.status_int, answer.json) == (400, LOGIN_FAILED)
        assert self.tokens(app) == 0

    @each("change", CHANGES)
    def test_page_asks_anew_if_its_reader_changes_meanwhile(self, app, meanwhile, change):
        meanwhile(self.CHANGES[change])
        for _ in range(2):  # nothing is remembered, either
            browse(app, "/user", None, 401, Authorization=basic("dev1", "secret"))

    def test_login_succeeds_if_nothing_but_a_name_changes_meanwhile(self, app, meanwhile):
        meanwhile(("PUT", "/users/dev1", {"realname": "Dan Dev"}))
        assert app.call("GET", "/user", Token=app.login("dev1")).status_int == 200
        meanwhile(dict(account="dev1", realname="Danny"))
        assert "Danny" in browse(app, "/user", None, Authorization=basic("dev1", "secret")).text

    def test_rights_are_those_after_the_hashing(self, app, meanwhile):
        app.load(users=[dict(account="dev1", admin=True)])
        meanwhile(dict(account="dev1", admin=False))
        page = browse(app, "/", None, Authorization=basic("dev1", "secret"))
        assert "The clock says" not in page.text  # which administrators see

    def test_user_who_was_loaded_as_a_deleted_one_cannot_log_in(self, app):
        app.load(users=[dict(account="gone", password=SECRET, deleted=True)])
        assert (
            app.refused("POST", "/tokens", {"account": "gone", "password": "secret"})
            == LOGIN_FAILED
        )
        browse(app, "/user", None, 401, Authorization=basic("gone", "secret"))

    def test_token_of_a_deleted_user_is_worth_nothing(self, app):
        token = app.token_of("dev1")
        app.sql("UPDATE user SET deleted = 1 WHERE account = 'dev1'")
        assert self.tokens(app) == 1
        with app.service.database.reading() as store:
            assert store.token(pmservice.hash_token(token)) is None
        app.refused("GET", "/user", status=401, Token=token)
        browse(app, "/user", token, 401)

    def test_fixture_that_deletes_a_user_ends_the_tokens(self, app):
        token = app.token_of("dev1")
        app.load(users=[dict(account="dev1", deleted=True)])
        app.refused("GET", "/user", status=401, Token=token)


EXPENSIVE = (
    f"scrypt:131072:8:4:{SALT}:{'0' * 128}"  # a hash that takes a hundred times as long to compare
)
TOO_SHORT = "must be 6 to 65536 characters, not blank (got 5)"


class TestPasswords:
    """Which texts are passwords, and which ones are hashes that were stored before."""

    @pytest.fixture
    def app(self, filed):
        """Return an app on a file where dev1 can log in."""
        filed.load(users=[dict(account="dev1", password=SECRET)])
        return filed

    @each("text", [SECRET, EXPENSIVE], ids=["the usual hash", "an expensive hash"])
    @each("way", ["POST /users", "PUT /users/dev1", "PUT /users/dev1 by dev1", "the command"])
    def test_stored_hash_that_somebody_sends_is_hashed_as_any_text(self, app, way, text):
        account = "new1" if way == "POST /users" else "dev1"
        if way == "the command":
            assert (
                pmservice.main(["user", account, "--password", text, "--database", str(app.path)])
                == 0
            )
        else:
            method, path, *own = way.split()
            token = app.token_of("dev1") if own else "t"
            body = dict(account=account, password=text) if method == "POST" else dict(password=text)
            assert app.call(method, path, body, Token=token).status_int in (200, 201)
        ((stored,),) = app.sql("SELECT password FROM user WHERE account = ?", account)
        assert stored != text
        assert stored.startswith("scrypt:16384:8:1:")
        assert app.login(account, text)
        assert (
            app.refused("POST", "/tokens", dict(account=account, password="secret")) == LOGIN_FAILED
        )

    @each("text", [
        EXPENSIVE, f"scrypt:1024:8:1:{SALT}:{'0' * 128}", f"scrypt:16384:8:2:{SALT}:{'0' * 128}", f"scrypt:16384:16:1:{SALT}:{'0' * 128}",
        f"scrypt:16384:8:1:{SALT}:{'0' * 127}", f"scrypt:16384:8:1:{SALT[1:]}:{'0' * 128}", f"scrypt:{SALT}", "scrypt:", "scrypt:my own words",
        f"{SECRET} ", f"{SECRET}\n",
    ])  # fmt: skip
    def test_other_texts_that_look_like_hashes_are_refused_in_fixtures(self, app, run, text):
        users = [dict(account="new1"), dict(account="new2", password=text)]
        with pytest.raises(pmservice.StartError, match=r"fixture: users\[1\]\.password "):
            app.load(users=users)
        Path("fixture.json").write_text(json.dumps({"users": users}))
        code, out, told = run("load", "fixture.json", "--database", str(app.path))
        assert (code, out) == (2, "")
        assert "users[1].password " in told
        assert SALT not in told  # a hash has no place on a screen
        assert app.sql("SELECT account FROM user WHERE account LIKE 'new_'") == []

    def test_control_refuses_them_likewise(self):
        with contextlib.closing(Client(":memory:")) as client:
            error = client.refused(
                "POST", "/-/load", {"users": [dict(account="new1", password=EXPENSIVE)]}
            )["error"]
        assert error.startswith("users[0].password ")

    @each("way", ["POST /users", "PUT /users/dev1", "PUT /users/dev1 by dev1"])
    def test_password_that_comes_through_an_operation_has_six_characters(self, app, way):
        method, path, *own = way.split()
        token = app.token_of("dev1") if own else "t"
        for password, problem in (
            ("12345", TOO_SHORT),
            ("äöüß€", TOO_SHORT),
            (" " * 6, ""),
            ("x" * 65_537, ""),
        ):
            body = (
                dict(account="new1", password=password)
                if method == "POST"
                else dict(password=password)
            )
            fields = app.refused(method, path, body, Token=token)["fields"]
            assert list(fields) == ["password"]
            assert problem in fields["password"]
        body["password"] = "123456"
        assert app.call(method, path, body, Token=token).status_int in (200, 201)
        assert app.login(body.get("account", "dev1"), "123456")

    @each(("method", "path"), [("post", "/users"), ("put", "/users/{user}")])
    def test_document_says_how_long_a_password_is(self, method, path):
        content = DOCUMENT["paths"][path][method]["requestBody"]["content"]
        body = Draft202012Validator(written_out(content["application/json"]["schema"]))
        assert body.is_valid(dict(account="new1", password="123456"))
        assert not body.is_valid(dict(account="new1", password="12345"))

    def test_shorter_password_of_before_still_logs_in(self, app):
        app.load(users=[dict(account="dev1", password="short")])
        assert app.login("dev1", "short")


class TestOldTokens:
    """A token that has expired is removed when another one is used."""

    LIFETIME = 3600

    @pytest.fixture
    def two(self):
        """Yield an app on which tokens live an hour, and two tokens that were made now."""
        with contextlib.closing(
            Client(":memory:", control=False, token_lifetime=self.LIFETIME)
        ) as client:
            client.load(users=[{"account": "dev1"}, {"account": "dev2"}])
            yield client, client.token_of("dev1"), client.token_of("dev2")

    @staticmethod
    def use(client, token):
        return client.call("GET", "/products", Token=token).status_int

    def kept(self, client):
        return sorted(account for (account,) in client.sql("SELECT account FROM token"))

    def test_expired_token_is_removed_by_the_use_of_another(self, two):
        client, old, used = two
        client.clock.forward(seconds=self.LIFETIME - 100)
        assert self.use(client, used) == 200
        assert self.kept(client) == ["dev1", "dev2"]
        client.clock.forward(seconds=101)
        assert self.use(client, old) == 401
        assert self.kept(client) == ["dev1", "dev2"]  # what is refused writes nothing
        assert self.use(client, used) == 200
        assert self.kept(client) == ["dev2"]

    def test_token_that_has_not_expired_stays(self, two):
        client, old, used = two
        client.clock.forward(seconds=self.LIFETIME - 100)
        assert self.use(client, used) == 200
        client.clock.forward(seconds=99)
        assert self.use(client, used) == 200
        assert self.kept(client) == ["dev1", "dev2"]
        assert self.use(client, old) == 200

    def test_all_that_have_expired_are_removed_at_once(self, two):
        client, *_, used = two
        for _ in range(3):
            client.token_of("dev1")
        client.clock.forward(seconds=self.LIFETIME - 100)
        assert self.use(client, used) == 200
        client.clock.forward(hours=1)
        assert self.use(client, used) == 200
        assert self.kept(client) == ["dev2"]


class TestNamesLikeOneThatIsListed:
    """An account is in a white list as a whole: not if it is a part of one that is, or one is a part of it."""

    NEIGHBOURS = (
        "dev",
        "ev1",
        "d",
        "1",
        "DEV1",
        "dev11",
        "dev1.",
        ".dev1",
        "dev1@dev1",
        "a",
        "a.dev",
    )
    LISTS = (["dev1"], ["dev1", "zoe"], ["amy", "dev1"], ["amy", "dev1", "zoe"])
    PERSONS = (
        *({"whitelist": list} for list in LISTS),
        {"PO": "dev1"},
        {"QD": "dev1"},
        {"RD": "dev1"},
    )
    HOMES = (*PERSONS, {"PM": "dev1"}, {"openedBy": "dev1"})

    @pytest.fixture
    def seen(self, client):
        """Return a function that returns the paths and lists in which an account sees something."""

        def seen(account: str, *paths: str) -> list[str]:
            client.token = client.token_of(account)
            lists = [path for path in paths if path.count("/") == 1]
            found = [path for path in lists if records_in(client.get(path))]
            return found + [
                path
                for path in paths
                if path not in lists and client.call("GET", path).status_int == 200
            ]

        return seen

    @each("persons", [*PERSONS, {"createdBy": "dev1"}], ids=json.dumps)
    def test_private_product_is_for_those_who_are_named(self, client, seen, persons):
        users = [{"account": account} for account in ("dev1", "amy", "zoe", *self.NEIGHBOURS)]
        client.load(
            users=users,
            products=[{"id": 1, "name": "P", "acl": "private", "createdBy": "admin", **persons}],
            bugs=[{"id": 1, "product": 1, "title": "B"}],
            stories=[{"id": 1, "product": 1, "title": "S", "mailto": ["dev", "dev11"]}],
        )
        paths = ("/products", "/bugs", "/stories", "/products/1", "/bugs/1", "/stories/1")
        assert seen("dev1", *paths) == list(paths)
        for account in self.NEIGHBOURS:
            assert seen(account, *paths) == [], account

    @each("persons", HOMES, ids=json.dumps)
    def test_private_program_and_project_are_for_those_who_are_named(self, client, seen, persons):
        private = {"name": "N", "acl": "private", "openedBy": "admin", **persons}
        client.load(
            users=[{"account": account} for account in ("dev1", "amy", "zoe", *self.NEIGHBOURS)],
            programs=[{"id": 1, **private}],
            projects=[{"id": 2, **private}],
            executions=[{"id": 3, "name": "E", "project": 2}],
        )
        paths = (
            "/programs",
            "/projects",
            "/executions",
            "/programs/1",
            "/projects/2",
            "/executions/3",
        )
        assert seen("dev1", *paths) == list(paths)
        for account in self.NEIGHBOURS:
            assert seen(account, *paths) == [], account

    def test_who_gets_mail_sees_no_more_for_it(self, client, seen):
        mail = ["dev1", "amy"]
        client.load(
            users=[{"account": "dev1"}],
            products=[{"id": 1, "name": "P", "acl": "private"}],
            projects=[{"id": 1, "name": "J", "acl": "open", "products": [1]}],
            stories=[{"id": 1, "product": 1, "title": "S", "mailto": mail}],
            testtasks=[{"id": 1, "product": 1, "project": 1, "name": "T", "mailto": mail}],
            releases=[{"id": 1, "product": 1, "project": 1, "name": "R", "mailto": "dev1,amy"}],
        )
        paths = (
            "/products",
            "/stories",
            "/testtasks",
            "/releases",
            "/stories/1",
            "/testtasks/1",
            "/releases/1",
        )
        assert seen("dev1", *paths) == []


# For each resource, the private records in the world of TestWhoSeesWhat that a link to this resource can name.
HIDDEN = {
    "program": 2,
    "project": 4,
    "execution or project": 6,
    "product": 2,
    "story": 2,
    "plan": 2,
    "build": 2,
    "bug": 2,
    "testcase": 2,
    "testtask": 2,
}
LINKS = [
    (operation, field, kind)
    for operation in pmservice.OPERATIONS
    for field, kind in operation.reads.fields.items()
    if kind.target not in ("", "department")
]
EVERY_LINK = each(
    ("operation", "field", "kind"),
    LINKS,
    ids=[f"{one.method} {one.path} {field}" for one, field, _ in LINKS],
)


class TestWhoSeesWhat:
    """The access to private records through every operation that names or lists records.

    SIGHT says of each caller what they may see beyond what is open: "product" is private product 2 and what
    belongs to it, "project" are private program 2 and project 4 and what belongs to that. NAMED and LISTED have
    a row for each operation, or a test is red.
    """

    # fmt: off
    SIGHT = {
        "admin": "product project", "boss": "product project", "dev1": "product project", "po1": "product project", "qd1": "product project",
        "rd1": "product project", "qa1": "product project", "pm1": "project", "only1": "product", "dev2": "",
    }
    ROLES = dict(PO="po1", QD="qd1", RD="rd1")
    PRIVATE = {
        "users": [dict(account=one, admin=one == "boss") for one in SIGHT if one != "admin"],
        "programs": [dict(id=1, name="open"), dict(id=2, name="private", acl="private", openedBy="dev1", PM="pm1", whitelist=["qa1"], **ROLES), dict(id=7, name="open", parent=2), dict(id=9, name="private", acl="private", openedBy="dev1", PM="pm1", whitelist=["qa1"], **ROLES), dict(id=10, name="open")],
        "projects": [dict(id=3, name="open", acl="open", products=[1, 2]), dict(id=4, name="private", parent=10, openedBy="dev1", PM="pm1", whitelist=["qa1"], products=[1, 2], **ROLES), dict(id=8, name="open", acl="open", parent=2, products=[1])],
        "executions": [dict(id=5, name="open", project=3), dict(id=6, name="private", project=4, acl="open")],
        "products": [dict(id=1, name="open", acl="open"), dict(id=2, name="private", program=10, createdBy="dev1", whitelist=["qa1", "only1"], **ROLES), dict(id=3, name="open", acl="open", program=2)],
        "releases": [dict(id=1, name="R", product=1, project=3), dict(id=2, name="R", product=2, project=3), dict(id=3, name="R", product=1, project=4), dict(id=4, name="R", product=2, project=4)],
        "bugs": [dict(id=1, title="B", product=1, project=3, execution=5), dict(id=2, title="B", product=2, project=3, execution=5), dict(id=3, title="B", product=1, project=4, execution=6)],
        "tasks": [dict(id=1, name="T", execution=5, story=7, realStarted="2026-01-01"), dict(id=2, name="T", execution=6, story=1, realStarted="2026-01-01"), dict(id=3, name="T", execution=5, story=2)],
        "testcases": [dict(id=1, title="C", product=1, story=7, project=3, execution=5), dict(id=2, title="C", product=2, story=7, project=3, execution=5), dict(id=3, title="C", product=1, project=4, execution=6)],
        "departments": [dict(id=1, name="open")],
        "stories": [dict(id=1, title="open", product=1, executions=[5, 6], plans=[1]), dict(id=2, title="private", product=2, executions=[5], plans=[2]), dict(id=3, title="open", product=1, type="requirement"), dict(id=4, title="private", product=2, type="requirement")],
        "plans": [dict(id=1, title="open", product=1), dict(id=2, title="private", product=2)],
        "builds": [dict(id=1, name="open", product=1, project=3, execution=5), dict(id=2, name="private", product=2, project=3, execution=5), dict(id=3, name="private B", product=1, project=4, execution=6), dict(id=4, name="private C", product=2, project=4, execution=6)],
        "testtasks": [dict(id=1, name="open", product=1, project=3, execution=5, testcases=[1]), dict(id=2, name="private", product=2, project=3, execution=5), dict(id=3, name="private", product=1, project=4, execution=6), dict(id=4, name="private", product=2, project=4, execution=6)],
        "efforts": [dict(id=1, task=1), dict(id=2, task=2)],
        "results": [dict(id=1, case=1), dict(id=2, case=2), dict(id=3, case=3)],
    }
    OPEN = {"program": 1, "project": 3, "execution": 5, "execution or project": 5, **dict.fromkeys(("product", "bug", "task", "testcase", "user", "department"), 1), **dict.fromkeys(("story", "plan", "build", "release", "testtask"), 1)}
    OF_BOTH = {2: "product", 3: "project", 4: "product project"}  # builds, releases and test tasks: of a product and of a project
    STORY = dict(title="S", spec="s", pri=1, category="feature")
    NAMED = {  # operation: the private records that it names and which sight they need, a body, the state that it starts from
        "POST /products/<id>/testcases":  ({2: "product"}, GOOD[CASES]),
        "GET /testcases/<id>":            ({2: "product", 3: ""}, None),
        "DELETE /testcases/<id>":         ({2: "product", 3: ""}, None),
        "GET /programs/<id>":             ({2: "project", 7: ""}, None),
        "DELETE /programs/<id>":          ({9: "project", 7: ""}, None),
        "GET /projects/<id>":             ({4: "project", 8: ""}, None),
        "DELETE /projects/<id>":          ({4: "project", 8: ""}, None),
        "POST /projects/<id>/executions": ({4: "project"}, dict(name="E", begin="2027-01-01", end="2027-02-01")),
        "POST /projects/<id>/releases":   ({4: "project"}, dict(name="R", date="2026-03-05", product=1)),
        "GET /executions/<id>":           ({6: "project"}, None),
        "POST /executions/<id>/tasks":    ({4: "project", 6: "project"}, GOOD[TASKS]),
        "PUT /tasks/<id>":                ({2: "project"}, {}),
        "POST /tasks/<id>/start":         ({2: "project"}, GOOD[START]),
        "POST /tasks/<id>/finish":        ({2: "project"}, dict(finishedDate="2026-12-01")),
        "POST /tasks/<id>/restart":       ({2: "project"}, GOOD[RESTART]),
        "GET /tasks/<id>":                ({2: "project"}, None),
        "DELETE /tasks/<id>":             ({2: "project"}, None),
        "POST /tasks/<id>/pause":         ({2: "project"}, {}),
        "POST /tasks/<id>/close":         ({2: "project"}, {}),
        "POST /tasks/<id>/cancel":        ({2: "project"}, {}),
        "POST /tasks/<id>/active":        ({2: "project"}, {}, "done"),
        "GET /products/<id>":             ({2: "product", 3: ""}, None),
        "DELETE /products/<id>":          ({2: "product", 3: ""}, None),
        "POST /products/<id>/bugs":       ({2: "product"}, BUG),
        "GET /bugs/<id>":                 ({2: "product", 3: ""}, None),
        "PUT /bugs/<id>":                 ({2: "product", 3: ""}, {}),
        "DELETE /bugs/<id>":              ({2: "product", 3: ""}, None),
        "POST /bugs/<id>/confirm":        ({2: "product", 3: ""}, {}),
        "POST /bugs/<id>/resolve":        ({2: "product", 3: ""}, dict(resolution="fixed")),
        "POST /bugs/<id>/close":          ({2: "product", 3: ""}, {}, "resolved"),
        "POST /bugs/<id>/active":         ({2: "product", 3: ""}, {}, "closed"),
        "POST /bugs/<id>/activate":       ({2: "product", 3: ""}, {}, "closed"),
        "GET /users/<user>":              ({4: ""}, None),
        "GET /departments/<id>":          ({}, None),
        "PUT /programs/<id>":             ({2: "project", 7: ""}, {}),
        "PUT /projects/<id>":             ({4: "project", 8: ""}, {}),
        "PUT /executions/<id>":           ({6: "project"}, {}),
        "DELETE /executions/<id>":        ({6: "project"}, None),
        "POST /executions":               ({4: "project"}, dict(name="E", begin="2027-01-01", end="2027-02-01")),
        "POST /executions/<id>/tasks/batchCreate": ({4: "project", 6: "project"}, dict(tasks=[dict(name="T", type="misc")])),
        "PUT /products/<id>":             ({2: "product", 3: ""}, {}),
        "GET /product/<id>":              ({2: "product", 3: ""}, None),
        "PUT /product/<id>":              ({2: "product", 3: ""}, {}),
        "DELETE /product/<id>":           ({2: "product", 3: ""}, None),
        "POST /products/<id>/stories":    ({2: "product", 3: ""}, STORY),
        "POST /stories":                  ({2: "product", 3: ""}, STORY),
        "GET /stories/<id>":              ({2: "product"}, None),
        "PUT /stories/<id>":              ({2: "product"}, {}),
        "DELETE /stories/<id>":           ({2: "product"}, None),
        "POST /stories/<id>/change":      ({2: "product"}, {}),
        "POST /stories/<id>/review":      ({2: "product"}, dict(result="pass"), "draft"),
        "POST /stories/<id>/close":       ({2: "product"}, dict(closedReason="done")),
        "POST /stories/<id>/active":      ({2: "product"}, {}, "closed"),
        "POST /stories/<id>/activate":    ({2: "product"}, {}, "closed"),
        "POST /stories/<id>/assign":      ({2: "product"}, dict(assignedTo="dev1")),
        "DELETE /stories/<id>/recall":    ({2: "product"}, None, "draft"),
        "POST /products/<id>/plans":      ({2: "product", 3: ""}, dict(title="P")),
        "POST /productplans":             ({2: "product", 3: ""}, dict(title="P")),
        "GET /productplans/<id>":         ({2: "product"}, None),
        "PUT /productplans/<id>":         ({2: "product"}, {}),
        "DELETE /productplans/<id>":      ({2: "product"}, None),
        "DELETE /productsplan/<id>":      ({2: "product"}, None),
        "POST /productplans/<id>/linkstories":   ({2: "product"}, lambda one: dict(stories=[one])),
        "POST /productplans/<id>/unlinkstories": ({2: "product"}, lambda one: dict(stories=[one])),
        "POST /productplans/<id>/linkbugs":      ({2: "product"}, lambda one: dict(bugs=[one])),
        "POST /productplans/<id>/unlinkbugs":    ({2: "product"}, lambda one: dict(bugs=[one])),
        "POST /projects/<id>/builds":     ({4: "project"}, lambda one: dict(execution=one, product=1, name="B", builder="dev1", date="2026-03-05")),
        "POST /builds":                   ({4: "project"}, lambda one: dict(execution=one, product=1, name="B", builder="dev1", date="2026-03-05")),
        "GET /builds/<id>":               (OF_BOTH, None),
        "PUT /builds/<id>":               (OF_BOTH, {}),
        "DELETE /builds/<id>":            (OF_BOTH, None),
        "GET /releases/<id>":             (OF_BOTH, None),
        "PUT /releases/<id>":             (OF_BOTH, {}),
        "DELETE /releases/<id>":          (OF_BOTH, None),
        "POST /projects/<id>/testtasks":  ({4: "project"}, lambda one: dict(execution=one, product=1, build="trunk", name="B", begin="2026-03-05", end="2026-03-05")),
        "GET /testtasks/<id>":            (OF_BOTH, None),
        "PUT /testtasks/<id>":            (OF_BOTH, {}),
        "DELETE /testtasks/<id>":         (OF_BOTH, None),
        "PUT /testcases/<id>":            ({2: "product", 3: ""}, {}),
        "POST /testcases/<id>/results":   ({2: "product", 3: ""}, dict(steps=[])),
        "POST /bugs":                     ({2: "product", 3: ""}, BUG),
        "POST /bugs/<id>/assign":         ({2: "product", 3: ""}, dict(assignedTo="dev1")),
        "POST /tasks/<id>/assignto":      ({2: "project"}, dict(assignedTo="dev1")),
        "POST /tasks/<id>/estimate":      ({2: "project"}, dict(date="2026-11-20", consumed=1, left=1)),
    }
    LISTED = {  # operation: of each record that the path names, which sight it needs, and what is listed below it with the sight that needs
        "GET /users":                     {None: ("", dict.fromkeys(range(1, 11), ""))},
        "GET /programs":                  {None: ("", {1: "", 2: "project", 7: "", 9: "project", 10: ""})},
        "GET /projects":                  {None: ("", {3: "", 4: "project", 8: ""})},
        "GET /executions":                {None: ("", {5: "", 6: "project"})},
        "GET /products":                  {None: ("", {1: "", 2: "product", 3: ""})},
        "GET /tasks":                     {None: ("", {1: "", 2: "project", 3: ""})},
        "GET /projects/<id>/executions":  {3: ("", {5: ""}), 4: ("project", {6: "project"})},
        "GET /projects/<id>/releases":    {3: ("", {1: "", 2: "product"}), 4: ("project", {3: "project", 4: "product project"})},
        "GET /products/<id>/releases":    {1: ("", {1: "", 3: "project"}), 2: ("product", {2: "product", 4: "product project"})},
        "GET /products/<id>/bugs":        {1: ("", {1: "", 3: ""}), 2: ("product", {2: "product"})},
        "GET /products/<id>/testcases":   {1: ("", {1: "", 3: ""}), 2: ("product", {2: "product"})},
        "GET /executions/<id>/tasks":     {3: ("", {}), 5: ("", {1: "", 3: ""}), 4: ("project", {}), 6: ("project", {2: "project"})},
        "GET /programs/<id>/products":    {1: ("", {}), 10: ("", {2: "product"}), 2: ("project", {3: ""})},
        "GET /programs/<id>/projects":    {1: ("", {}), 10: ("", {4: "project"}), 2: ("project", {8: ""})},
        "GET /products/<id>/projects":    {1: ("", {3: "", 4: "project", 8: ""}), 2: ("product", {3: "", 4: "project"})},
        "GET /stories":                   {None: ("", {1: "", 2: "product"})},
        "GET /products/<id>/stories":     {1: ("", {1: ""}), 2: ("product", {2: "product"})},
        "GET /projects/<id>/stories":     {3: ("", {1: "", 2: "product"}), 4: ("project", {1: ""})},
        "GET /executions/<id>/stories":   {3: ("", {1: "", 2: "product"}), 5: ("", {1: "", 2: "product"}), 4: ("project", {1: ""}), 6: ("project", {1: ""})},
        "GET /productplans":              {None: ("", {1: "", 2: "product"})},
        "GET /products/<id>/plans":       {1: ("", {1: ""}), 2: ("product", {2: "product"})},
        "GET /builds":                    {None: ("", {1: "", **OF_BOTH})},
        "GET /projects/<id>/builds":      {3: ("", {1: "", 2: "product"}), 4: ("project", {3: "project", 4: "product project"})},
        "GET /executions/<id>/builds":    {3: ("", {}), 5: ("", {1: "", 2: "product"}), 4: ("project", {}), 6: ("project", {3: "project", 4: "product project"})},
        "GET /releases":                  {None: ("", {1: "", **OF_BOTH})},
        "GET /testtasks":                 {None: ("", {1: "", **OF_BOTH})},
        "GET /projects/<id>/testtasks":   {3: ("", {1: "", 2: "product"}), 4: ("project", {3: "project", 4: "product project"})},
        "GET /bugs":                      {None: ("", {1: "", 2: "product", 3: ""})},
        "GET /projects/<id>/bugs":        {3: ("", {1: "", 2: "product"}), 4: ("project", {3: ""})},
        "GET /executions/<id>/bugs":      {3: ("", {}), 5: ("", {1: "", 2: "product"}), 4: ("project", {}), 6: ("project", {3: ""})},
        "GET /projects/<id>/testcases":   {3: ("", {1: "", 2: "product"}), 4: ("project", {3: ""})},
        "GET /executions/<id>/testcases": {3: ("", {}), 5: ("", {1: "", 2: "product"}), 4: ("project", {}), 6: ("project", {3: ""})},
        "GET /testcases/<id>/results":    {1: ("", {1: ""}), 3: ("", {3: ""}), 2: ("product", {2: "product"})},
        "GET /tasks/<id>/estimate":       {1: ("", {1: ""}), 2: ("project", {2: "project"})},
    }
    # Links that those records never have, or that always follow from the record above.
    IMPLIED = {("GET /programs", "project"), ("GET /projects", "project"), ("GET /projects/<id>/executions", "parent"), ("GET /executions/<id>/tasks", "project"),
               ("GET /programs/<id>/projects", "project"), ("GET /programs/<id>/projects", "parent"), ("GET /products/<id>/projects", "project"),
               *((f"GET /projects/<id>/{records}", "execution") for records in ("builds", "bugs", "testcases", "testtasks")),
               *((f"GET /executions/<id>/{records}", "project") for records in ("builds", "bugs", "testcases"))}
    # fmt: on

    @pytest.fixture
    def private(self):
        """Yield an app that holds PRIVATE, in which each caller's token is the caller's account; the operator's is "admin"."""
        with contextlib.closing(Client(":memory:", token="admin", load=self.PRIVATE)) as client:
            client.token = "admin"
            client.sql("UPDATE task SET openedBy = 'admin'")
            for account in self.SIGHT:
                hashed = hashlib.sha256(account.encode()).hexdigest()
                client.sql(
                    "INSERT INTO token (hash, account, used) VALUES (?, ?, ?)",
                    hashed,
                    account,
                    NOW_ISO,
                )
            yield client

    @classmethod
    def sees(cls, caller, needed):
        return set(needed.split()) <= set(cls.SIGHT[caller].split())

    @staticmethod
    def line(operation):
        return f"{operation.method} {operation.path}"

    @each(
        "operation",
        [
            one
            for one in pmservice.OPERATIONS
            if one.target
            and not one.admin
            and not isinstance(one.shows, pmservice.Listing)
            and one.path[:7] != "/users/"
        ],
        ids=lambda one: f"{one.method} {one.path}",
    )
    def test_private_record_is_there_for_those_only_who_may_see_it(self, private, operation):
        line = self.line(operation)
        assert line in self.NAMED, (
            f"NAMED has no row for {line}: which private record does it name?"
        )
        named, body, *state = self.NAMED[line]
        for (id, needed), caller in itertools.product(
            {self.OPEN[operation.target]: "", **named}.items(), self.SIGHT
        ):
            if state:
                private.sql(f"UPDATE {operation.target} SET status = ? WHERE id = ?", *state, id)
            path = operation.path.replace("<id>", str(id)) + (
                f"?{operation.by}={id}" if operation.by else ""
            )
            sent = body(id) if callable(body) else body
            status = private.call(operation.method, path, sent, Token=caller).status_int
            assert status == (operation.status if self.sees(caller, needed) else 404), (
                caller,
                path,
            )
            if status != 404 and operation.method != "GET":
                private.post("/-/reset?only=records")

    @each(
        "operation",
        [one for one in pmservice.OPERATIONS if isinstance(one.shows, pmservice.Listing)],
        ids=lambda one: f"{one.method} {one.path}",
    )
    def test_list_and_its_total_leave_out_what_one_may_not_see(self, private, operation):
        line = self.line(operation)
        assert line in self.LISTED, (
            f"LISTED has no row for {line}: which private records does it leave out?"
        )
        self.has_what_could_be_seen(private, operation)
        for (id, (above, below)), caller in itertools.product(
            self.LISTED[line].items(), self.SIGHT
        ):
            path = operation.path.replace("<id>", str(id))
            private.sql(
                "UPDATE task SET assignedTo = ?", caller
            )  # GET /tasks lists those of the caller
            if not self.sees(caller, above):
                private.refused("GET", path, status=404, Token=caller)
                continue
            seen = {one for one, needed in below.items() if self.sees(caller, needed)}
            for query in (
                "limit=1000",
                *(f"limit=1000&status={word}" for word in operation.shows.browse),
            ):
                answer = private.call("GET", f"{path}?{query}", Token=caller).json
                shown = ids(records_in(answer))
                assert set(shown) <= seen, (caller, path, query)
                assert answer.get("total", len(shown)) == len(shown), (caller, path, query)
                assert set(shown) == seen or "status=" in query, (caller, path)

    def has_what_could_be_seen(self, private, operation):
        """Assert that a row of LISTED has every record, and for each link one below an open record that links to something private."""
        line = self.line(operation)
        rows, table = self.LISTED[line], operation.shows.view.resource.table
        for id, (_, below) in rows.items():
            private.sql("UPDATE task SET assignedTo = 'admin'")
            listed = private.get(operation.path.replace("<id>", str(id)) + "?limit=1000")
            assert set(ids(records_in(listed))) == set(below), (
                "LISTED is not what an administrator sees"
            )
        assert not operation.target or any(above for above, _ in rows.values()), (
            "nothing private is above"
        )
        own = {"execution or project": "execution"}.get(operation.target, operation.target)
        links = private.sql(
            'SELECT "from", "table" FROM pragma_foreign_key_list(?) WHERE "table" IN (\'project\', \'product\')',
            table,
        )
        for field, to in links:
            if field == own or (line, field) in self.IMPLIED:
                continue
            private_ids = {"project": "2, 4, 6", "product": "2"}[to]
            found = private.sql(f"SELECT id FROM {table} WHERE {field} IN ({private_ids})")
            open_ones = {id for above, below in rows.values() if not above for id in below}
            assert {id for (id,) in found} & open_ones, (
                f"{line}: nothing is listed whose {field} is private"
            )

    @EVERY_LINK
    def test_link_to_what_one_may_not_see_is_refused_like_one_to_what_does_not_exist(
        self, private, operation, field, kind
    ):
        path = operation.path.replace("<id>", str(self.OPEN.get(operation.target)))
        path += f"?{operation.by}={self.OPEN[operation.target]}" if operation.by else ""
        hidden, several = HIDDEN[kind.target], kind.schema.get("type") == "array"
        told = []
        for id in (hidden, 99):
            body = {field: [id] if several else id}
            refusal = private.refused(operation.method, path, body, Token="dev2")
            told.append(refusal["fields"][field].replace(str(id), "99"))
        assert told[0] == told[1]
        rule = private.call(
            operation.method, path, {field: [hidden] if several else hidden}
        ).json.get("fields", {})
        assert rule.get(field) != told[1], "an administrator may name it"

    @each(
        "operation",
        [one for one in pmservice.OPERATIONS if one.by],
        ids=lambda one: f"{one.method} {one.path}",
    )
    def test_what_a_query_names_is_refused_alike_if_it_is_private_and_if_it_does_not_exist(
        self, private, operation
    ):
        body = self.NAMED[self.line(operation)][1]
        told = []
        for id in (HIDDEN[operation.target], 99):
            sent = body(id) if callable(body) else body
            answer = private.call(
                operation.method, f"{operation.path}?{operation.by}={id}", sent, Token="dev2"
            )
            told.append((answer.status_int, answer.text.replace(str(id), "99")))
        assert told[0] == told[1]

    @each(("line", "target"), [
        ("/stories?product={}", "product"), ("/productplans?product={}", "product"), ("/builds?project={}", "project"),
        ("/releases?product={}", "product"), ("/testtasks?product={}", "product"), ("/bugs?product={}", "product"), ("/executions?project={}", "project"),
        ("/products?program={}", "program"), ("/products?project={}", "project"), ("/options/bug?product={}", "product"),
    ])  # fmt: skip
    def test_list_that_is_narrowed_to_something_private_tells_no_more_than_one_of_nothing(
        self, private, line, target
    ):
        told = []
        for id in (HIDDEN[target], 99):
            answer = private.call("GET", line.format(id), Token="dev2")
            told.append((answer.status_int, answer.text.replace(f" {id}", " 99")))
        assert told[0] == told[1]

    @each(
        "operation",
        [one for one in pmservice.OPERATIONS if one.admin],
        ids=lambda one: f"{one.method} {one.path}",
    )
    def test_users_and_departments_are_for_administrators_to_change(self, private, operation):
        path = re.sub("<.+>", "1", operation.path)
        private.refused(operation.method, path, {}, status=403, Token="dev2")

    def test_everybody_changes_the_own_profile_only(self, private):
        own = dict(realname="Dora", email="d@x.org")
        assert private.call("PUT", "/users/dev2", own, Token="dev2").json["realname"] == "Dora"
        private.refused("PUT", "/users/dev1", own, status=403, Token="dev2")

    def test_everyone_may_add_to_what_is_open(self, private):
        private.token = "dev2"
        for path in ("/executions/3/tasks", "/executions/5/tasks"):
            assert private.post(path, **GOOD[TASKS])["openedBy"]["account"] == "dev2"

    def test_record_that_names_a_private_one_keeps_its_id_only(self, private):
        private.sql("UPDATE story SET version = 2 WHERE id = 2")
        private.sql("UPDATE bug SET story = 2 WHERE id = 1")
        private.sql("UPDATE testcase SET story = 2 WHERE id = 1")
        for caller in self.SIGHT:
            private.token = caller
            seen = self.sees(caller, "product")
            title, status, version = ("private", "active", 2) if seen else (None, None, None)
            for task in (private.get("/tasks/3"), private.get("/executions/5/tasks")["tasks"][0]):
                assert task["story"] == 2
                told = [
                    task[field]
                    for field in ("storyTitle", "storyStatus", "latestStoryVersion", "needConfirm")
                ]
                assert told == [title, status, version, seen], caller
            case = private.get("/testtasks/1")["testcases"][0]
            assert (case["story"], case["storyTitle"]) == (2, title), caller
            assert (
                private.get("/bugs/1")["needconfirm"]
                == private.get("/products/1/bugs")["bugs"][-1]["needconfirm"]
                == seen
            ), caller
            assert private.get("/products/1/bugs?status=needconfirm")["total"] == seen, caller

    def test_story_shows_what_is_linked_to_it_to_those_who_may_see_that(self, private):
        for caller in self.SIGHT:
            private.token = caller
            story, seen = private.get("/stories/1"), self.sees(caller, "project")
            assert list(story["executions"]) == (["5", "6"] if seen else ["5"]), caller
            assert ids(story["tasks"]) == ([2] if seen else []), caller

    def test_requirements_beside_the_stories_are_those_that_one_may_see(self, private):
        for caller in self.SIGHT:
            private.token = caller
            assert private.get("/products/1/stories")["requirements"] == {"3": "open"}
            assert "private" not in json.dumps(private.get("/stories")) or self.sees(
                caller, "product"
            ), caller

    def test_choices_of_builds_are_those_that_one_may_see(self, private):
        for caller in self.SIGHT:
            private.token = caller
            builds = private.get("/options/bug?product=1")["options"]["build"]
            assert set(builds) - {"", "trunk"} == (
                {"1", "3"} if self.sees(caller, "project") else {"1"}
            ), caller

    def test_release_names_its_build_to_those_who_may_see_it(self, private):
        private.sql("UPDATE release SET build = 3 WHERE id = 1")
        for caller in self.SIGHT:
            private.token = caller
            release = private.get("/releases/1")
            assert release["buildID"] == 3
            assert (release["buildName"] == "private B") == self.sees(caller, "project"), caller

    def test_cases_of_a_task_are_those_that_one_may_see(self, private):
        assert private.put("/tasks/1")["cases"] == {"1": "C", "2": "C"}
        private.token = "dev2"
        assert private.put("/tasks/1")["cases"] == {"1": "C"}

    def test_product_names_its_program_to_those_who_may_see_that(self, private):
        for caller in self.SIGHT:
            private.token = caller
            name = "private" if self.sees(caller, "project") else ""
            for product in (private.get("/products/3"), private.get("/products")["products"][-1]):
                assert (product["id"], product["program"], product["programName"]) == (
                    3,
                    2,
                    name,
                ), caller

    def test_creator_sees_what_he_made(self, private):
        private.token = "dev2"
        product = private.product(acl="private")["id"]
        project = private.project(products=[product], acl="private")["id"]
        assert private.task(project)["project"] == project
        assert product in ids(private.get("/products")["products"])


class TestWhatNamesTell:
    """A name that is in use, and children that keep a program, say nothing of records that one may not see."""

    PRIVATE, SIGHT, private = (
        TestWhoSeesWhat.PRIVATE,
        TestWhoSeesWhat.SIGHT,
        TestWhoSeesWhat.private,
    )
    BUILD = dict(execution=5, product=1, builder="dev1", date="2026-03-05")
    NAME_REFUSED = {
        "error": "name cannot be given to a build of this product; choose another.",
        "fields": {"name": "cannot be given to a build of this product; choose another"},
    }

    @each("caller", ["admin", "dev2"])
    def test_name_of_a_build_is_refused_in_the_same_words_whoever_sees_it(self, private, caller):
        visible, hidden = "open", "private B"
        private.post("/projects/3/builds", **self.BUILD, name="mine")
        for name in (visible, hidden):
            for line in ("POST /projects/3/builds", "POST /builds?project=3", "PUT /builds/5"):
                assert (
                    private.refused(*line.split(), {**self.BUILD, "name": name}, Token=caller)
                    == self.NAME_REFUSED
                )

    def test_name_is_free_in_another_product_and_again_after_a_deletion(self, private):
        assert (
            private.post("/projects/3/builds", **{**self.BUILD, "product": 2}, name="private B")[
                "product"
            ]
            == 2
        )
        private.call("DELETE", "/builds/3")
        private.token = "dev2"
        made = private.post("/projects/3/builds", **self.BUILD, name="private B")
        assert (
            private.put(f"/builds/{made['id']}", name="private B")["name"] == "private B"
        )  # its own name

    VISIBLE, HIDDEN = (
        "This program has children; delete or move them first.",
        "This program cannot be deleted.",
    )

    @each(("parent", "caller", "error"), [
        (10, "admin", VISIBLE), (10, "pm1", VISIBLE), (10, "dev2", HIDDEN), (10, "only1", HIDDEN), (2, "admin", VISIBLE),
    ])  # fmt: skip
    def test_program_with_children_is_kept_and_hidden_ones_are_not_mentioned(
        self, private, parent, caller, error
    ):
        assert private.refused("DELETE", f"/programs/{parent}", Token=caller)["error"] == error

    def test_program_with_a_hidden_and_a_visible_child_names_the_visible_one(self, private):
        private.put("/projects/3", parent=10)
        assert private.refused("DELETE", "/programs/10", Token="dev2")["error"] == self.VISIBLE
        private.call("DELETE", "/projects/3")
        assert private.refused("DELETE", "/programs/10", Token="dev2")["error"] == self.HIDDEN
        private.call("DELETE", "/projects/4")
        assert private.call("DELETE", "/programs/10", Token="dev2").status_int == 200


class TestReleasedStories:
    """A story is released by the releases of its own product that name it, and by no others."""

    RECORDS = dict(
        products=[dict(id=1, name="P", acl="open"), dict(id=2, name="Q", acl="private", PO="po1")],
        projects=[dict(id=1, name="J", acl="open", products=[1, 2])],
        stories=[
            dict(id=id, title="S", product=product) for id, product in ((1, 1), (2, 1), (3, 2))
        ],
        users=[dict(account="dev2")],
    )

    @staticmethod
    def stages(client):
        listed = client.get("/stories?status=all")["stories"]
        stages = {story["id"]: story["stage"] for story in listed}
        assert stages == {id: client.get(f"/stories/{id}")["stage"] for id in stages}
        return [stages[id] for id in (1, 2, 3)]

    def test_member_releases_no_story_of_another_product(self, client):
        client.load(**self.RECORDS)
        member = client.token_of("dev2")
        release = dict(name="R", date="2026-03-05", product=1, stories="1,3")
        made = client.call("POST", "/projects/1/releases", release, Token=member).json
        assert made["stories"] == "1,3"
        assert self.stages(client) == ["released", "wait", "wait"]
        client.call("PUT", f"/releases/{made['id']}", {"stories": "3,2"}, Token=member)
        assert self.stages(client) == ["wait", "released", "wait"]
        client.call("DELETE", f"/releases/{made['id']}", Token=member)
        assert self.stages(client) == ["wait", "wait", "wait"]

    @each("releases_first", [False, True])
    def test_releases_of_a_fixture_release_their_own_product_s_stories(
        self, client, releases_first
    ):
        releases = [dict(name="R", product=product, project=1, stories="1,3") for product in (1, 2)]
        for number, stages in (
            (1, ["released", "wait", "wait"]),
            (2, ["released", "wait", "released"]),
        ):
            fixture = dict(self.RECORDS, releases=releases[:number])
            if releases_first:
                fixture = dict(reversed(fixture.items()))
            with contextlib.closing(Client(":memory:", load=fixture)) as client:
                assert self.stages(client) == stages
                with client.service.database.reading() as store:
                    assert list(pmservice.problems_of(store)) == []


@pytest.fixture(scope="class")
def members():
    """Yield a function that returns a member of TestHiddenStaysHidden; each is made once."""
    with contextlib.ExitStack() as stack:
        known: dict[str, SimpleNamespace] = {}

        def member(account: str) -> SimpleNamespace:
            if account not in known:
                known[account] = TestHiddenStaysHidden.member(account, stack)
            return known[account]

        yield member


class TestHiddenStaysHidden:
    """The writes of members, in databases that differ in what those members may not see.

    The records are those of TestWhoSeesWhat, and LINKS between hidden and visible ones. In the second database
    everything hidden says something else, in the third it is deleted; ids and sequences are the same in all.
    """

    MEMBERS = ("dev2", "pm1", "only1")
    WRITES = tuple(
        one for one in pmservice.OPERATIONS if one.method != "GET" and not (one.admin or one.open)
    )
    # fmt: off
    GUARDED = {  # array: the records that not everybody sees, with the sight that each needs
        "programs": {2: "project", 9: "project"}, "projects": {4: "project"}, "executions": {6: "project"}, "products": {2: "product"},
        "stories": {2: "product", 4: "product"}, "plans": {2: "product"}, "bugs": {2: "product"}, "testcases": {2: "product"},
        "builds": TestWhoSeesWhat.OF_BOTH, "releases": TestWhoSeesWhat.OF_BOTH, "testtasks": TestWhoSeesWhat.OF_BOTH,
        "tasks": {2: "project"}, "efforts": {2: "project"}, "results": {2: "product"},
    }
    LINKS = {  # array: id: what a record has beyond PRIVATE
        "bugs": {1: dict(story=2, plan=2, case=2, task=2, testtask=2, toStory=2, toTask=2, duplicateBug=2, openedBuild="2,3", linkBug="2"),
                 2: dict(story=1, plan=1, case=1, task=1)},
        "releases": {1: dict(build=3, stories="2", bugs="2"), 2: dict(build=1), 3: dict(build=1)},
        "testcases": {1: dict(story=2), 2: dict(story=1)},
        "testtasks": {1: dict(build=3), 3: dict(testcases=[1])},
        "results": {1: dict(testtask=3)}, "tasks": {2: dict(fromBug=1)},
    }
    PEOPLE = dict(PO="dev1", QD="dev1", RD="dev1", whitelist=["po1"])
    DATES = dict(begin="2026-02-02", end="2026-02-03")
    OTHERS = {  # array: what all hidden records are in the second database, besides their names
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
    EXECUTION = 5
    NEXT = {  # table: the id of the next record
        "project": 11, "product": 4, "story": 5, "plan": 3, "bug": 4, "testcase": 4, "build": 5, "release": 5, "testtask": 5, "task": 4,
    }
    LEAST = {  # bodies of those operations that TestWhoSeesWhat.NAMED lacks
        "POST /products": dict(name="P"),
        "POST /programs": dict(name="N", begin="2026-02-01", end="2026-06-30"),
        "POST /projects": dict(name="N", begin="2026-02-01", end="2026-06-30", products=[1]),
        "POST /testtasks": dict(execution=5, product=1, build="trunk", name="N", begin="2026-03-05", end="2026-03-05"),
        "PUT /users/<user>": {},
    }
    STATES = dict(task="wait", bug="active", story="active")  # that records start from, unless NAMED says otherwise
    # The numbers in bodies: those that name a record of an array although they are no links, and the others.
    NUMBERED = dict(story="stories", plan="plans", build="builds", task="tasks", case="testcases", testtask="testtasks", result="results",
                    fromBug="bugs", duplicateBug="bugs")
    NUMBERS = {"branch", "module", "pri", "severity", "line", "days", "steps", "tasks", "version", "caseVersion"}
    # Of a hidden record, what repeats visible ones that it names, or that name it: "`story, plan, build, module, task, case, fromBug` … stay as sent".
    REPEATED = {"programName", "projectName", "productName", "executionName", "buildName", "storyTitle", "storyStatus", "latestStoryVersion",
                "needConfirm", "needconfirm", "executions", "tasks", "cases", "testcases"}
    REPEATED_IN = {"stories": ["bugs"]}
    MOVED = {  # "Moving a program, project or execution moves the paths of all below and the `project` of tasks"
        "PUT /programs/<id>": {"path", "grade"}, "PUT /executions/<id>": {"project", "executions"},
    }
    TELLING = {  # where an answer has to depend on what is hidden: how it is refused, in the same words whatever is hidden
        # "a name once a product among those not deleted"
        **dict.fromkeys(("POST /projects/<id>/builds", "POST /builds", "PUT /builds/<id>"), "name cannot be given to a build of this product; choose another."),
        # "A program that has children cannot be deleted"
        "DELETE /programs/<id>": "This program cannot be deleted.",
    }
    # fmt: on

    @classmethod
    def hidden_from(cls, account):
        """Return the ids of the records that a member does not see, by array."""
        sees = TestWhoSeesWhat.sees
        return {
            array: {id for id, needed in records.items() if not sees(account, needed)}
            for array, records in cls.GUARDED.items()
        }

    @classmethod
    def fixture(cls, hidden, others, deleted):
        """Return the records; those that are hidden are others, or deleted."""
        fixture = json.loads(json.dumps(TestWhoSeesWhat.PRIVATE))
        for array in fixture:
            for record in fixture[array]:
                record.update(cls.LINKS.get(array, {}).get(record.get("id"), {}))
                if record.get("id") not in hidden.get(array, ()):
                    continue
                if others:
                    names = {"name", "title"} & record.keys()
                    record.update(
                        cls.OTHERS[array], **dict.fromkeys(names, f"other {record['id']}")
                    )
                if deleted and array not in ("efforts", "results"):
                    record["deleted"] = True
        return fixture

    @classmethod
    def member(cls, account, stack):
        """Return a member, whose token is the account: apps on the three databases, what is hidden in each."""
        member = SimpleNamespace(account=account, hidden=cls.hidden_from(account), clients=[])
        for others, deleted in ((False, False), (True, False), (False, True)):
            fixture = cls.fixture(member.hidden, others, deleted)
            client = Client(":memory:", token="admin", load=fixture)
            stack.enter_context(contextlib.closing(client))
            client.token = "admin"
            hashed = hashlib.sha256(account.encode()).hexdigest()
            client.sql("INSERT INTO token VALUES (?, ?, ?)", hashed, account, NOW_ISO)
            member.clients.append(client)
        member.facts = [cls.facts(client, member.hidden)[1] for client in member.clients]
        member.shown = cls.shown_to_admin(member.clients[0], member.hidden)
        return member

    @staticmethod
    def answer(client, method, path, token, body=None):
        """Return the status, the headers and the bytes of an answer."""
        raw = json.dumps(body or {}).encode()
        request = webtest.TestRequest.blank(path, method=method, headers={"Token": token}, body=raw)
        given = request.get_response(client.service)
        headers = [header for header in given.headerlist if header[0] != "X-Request-Id"]
        return given.status_int, headers, given.body

    @staticmethod
    def records_of(target):
        """Return (array, id) of every record that a link to a resource could name."""
        arrays = [pmservice.RESOURCES[target].array]
        if target == "execution or project":
            arrays = ["projects", "executions"]
        records = []
        for array in arrays:
            records += [(array, record["id"]) for record in TestWhoSeesWhat.PRIVATE[array]]
        return records

    @classmethod
    def visible_ids(cls, target, member):
        """Return the ids of the records of a resource that a member sees."""
        return [id for array, id in cls.records_of(target) if id not in member.hidden[array]]

    @classmethod
    def bodies(cls, operation, id, hidden):
        """Yield bodies: the least, and those that name hidden records, for each field and record."""
        line = f"{operation.method} {operation.path}"
        least = TestWhoSeesWhat.NAMED[line][1] if line in TestWhoSeesWhat.NAMED else cls.LEAST[line]
        if callable(least):
            least = least(cls.EXECUTION if operation.target == "project" else id)
        least, fields = least or {}, operation.reads.fields
        yield least
        yield {**least, **dict(cls.texts_and_people(fields))}
        for field, value in cls.naming(fields, hidden):
            yield {**least, field: value}
        for field in fields:
            if isinstance(fields[field].read, pmservice.Items) and least.get(field):
                item, inner = least[field][0], fields[field].read.shape.fields
                yield {**least, field: [{**item, **dict(cls.texts_and_people(inner))}]}
                for name, value in cls.naming(inner, hidden):
                    yield {**least, field: [{**item, name: value}]}
        if "acl" in fields:
            yield {**least, "acl": "private"}
        if isinstance(operation.shows, pmservice.View):
            array = operation.shows.resource.array
            records, ids = TestWhoSeesWhat.PRIVATE[array], hidden.get(array, ())
            for field in {"name", "title"} & fields.keys():
                for name in sorted({record[field] for record in records if record["id"] in ids}):
                    yield {**least, field: name}

    @staticmethod
    def texts_and_people(fields):
        """Yield every text as ids, and every person."""
        for field, kind in fields.items():
            if kind.look == "text" and field not in ("email", "phone", "mobile", "stage", "role"):
                yield field, "2,3,4"
            if kind.look in ("person", "people", "whitelist"):
                yield field, "dev1" if kind.look == "person" else ["dev1"]

    @classmethod
    def naming(cls, fields, hidden):
        """Yield (field, value) that name each hidden record, and one that is visible."""
        for field, kind in fields.items():
            named = []
            if kind.target and kind.target != "department":
                named = cls.records_of(kind.target)
            elif kind.look == "plain" and field in cls.NUMBERED:
                named = [(cls.NUMBERED[field], id) for id in hidden[cls.NUMBERED[field]]]
            out_of_sight = [id for array, id in named if id in hidden[array]]
            in_sight = [id for array, id in named if id not in hidden[array]]
            for id in out_of_sight + in_sight[-1:]:
                yield field, [id] if kind.schema.get("type") == "array" else id

    # What is seen.

    @classmethod
    def reads(cls, member):
        """Return the paths of all that a member can read, and of the next record of each table."""
        paths = ["/options/bug?product=1"]
        for operation in pmservice.OPERATIONS:
            ids = [0]
            alone = "<name>" in operation.path or operation.target == "department"
            if operation.method != "GET" or alone:
                continue
            if "<id>" in operation.path:
                ids = cls.visible_ids(operation.target, member)
            path = operation.path.replace("<user>", member.account)
            if isinstance(operation.shows, pmservice.Listing):
                path += "?limit=1000"
            elif "<id>" in path:
                ids.append(cls.NEXT[pmservice.RESOURCES[operation.target].table])
            paths += [path.replace("<id>", str(id)) for id in ids]
        return paths

    @staticmethod
    def facts(client, hidden):
        """Return the facts of the visible and of the hidden records, by array."""
        visible, others = {}, {}
        for array, records in client.dump().items():
            ids = hidden.get(array, ())
            visible[array] = [record for record in records if record["id"] not in ids]
            others[array] = [record for record in records if record["id"] in ids]
        return visible, others

    @classmethod
    def shown_to_admin(cls, client, hidden):
        """Return what an administrator is shown of hidden records, but for what repeats visible ones."""
        shown = {}
        for array in sorted(hidden.keys() - {"efforts", "results"}):
            path = {"plans": "productplans"}.get(array, array)
            shown[array] = []
            for id in sorted(hidden[array]):
                record = json.loads(cls.answer(client, "GET", f"/{path}/{id}", "admin")[2])
                shown[array].append(without(record, *cls.REPEATED, *cls.REPEATED_IN.get(array, ())))
        return shown

    @staticmethod
    def changed(before, after):
        """Return (array, id, field) of every value that changed in records."""
        changed = []
        for array in before:
            for old, new in zip(before[array], after[array], strict=True):
                changed += [(array, old["id"], field) for field in old if new[field] != old[field]]
        return changed

    def test_every_number_in_a_body_names_a_record_or_is_known_to_name_none(self):
        numbers = set()
        for operation in self.WRITES:
            kinds = operation.reads.fields
            numbers |= {
                field for field in kinds if kinds[field].look == "plain" and not kinds[field].target
            }
        assert numbers == self.NUMBERED.keys() | self.NUMBERS

    @each("account", MEMBERS)
    def test_member_sees_the_same_whatever_is_hidden(self, members, account):
        member = members(account)
        assert member.facts[0] != member.facts[1] != member.facts[2]
        self.reset(member)
        self.see_the_same(member)

    @staticmethod
    def reset(member):
        for client in member.clients:
            client.post("/-/reset?only=records")

    def see_the_same(self, member):
        for path in self.reads(member):
            first, *others = (
                self.answer(client, "GET", path, member.account) for client in member.clients
            )
            assert others == [first, first], path

    @each("account", MEMBERS)
    @each("operation", WRITES, ids=lambda one: f"{one.method} {one.path}")
    def test_write_neither_tells_nor_changes_anything_hidden(self, members, operation, account):
        member, ids = members(account), [0]
        if operation.target not in ("", "user"):
            ids = self.visible_ids(operation.target, member)
        bodies = list(self.bodies(operation, ids[0], member.hidden))
        alike = self.write(member, operation, ids[0], bodies, operation.status)
        if alike and account == "dev2":
            self.see_the_same(member)
            for id in ids[1:]:
                bodies = itertools.islice(self.bodies(operation, id, member.hidden), 2)
                self.write(member, operation, id, bodies)

    def write(self, member, operation, id, bodies, status=None):
        """Write to a record of this id, and return whether all was answered alike.

        Assert that visible records then have the same facts everywhere, hidden ones those of before.
        status: that with which the first body must be answered.
        """
        path = operation.path.replace("<id>", str(id)).replace("<user>", member.account)
        path += f"?{operation.by}={id}" if operation.by else ""
        self.reset(member)
        alike = self.send(member, operation, path, bodies, status)
        moved = self.MOVED.get(f"{operation.method} {operation.path}", ())
        facts = [self.facts(client, member.hidden) for client in member.clients]
        assert not alike or facts[0][0] == facts[1][0] == facts[2][0], path
        changed = self.changed(member.shown, self.shown_to_admin(member.clients[0], member.hidden))
        for before, (_, after) in zip(member.facts, facts, strict=True):
            changed += self.changed(before, after)
        assert [one for one in changed if one[2] not in moved] == [], path
        return alike

    def send(self, member, operation, path, bodies, status):
        """Send bodies one after another; return False after one that TELLING says is not answered alike."""
        line = f"{operation.method} {operation.path}"
        state = self.STATES.get(operation.target)
        if len(TestWhoSeesWhat.NAMED.get(line, ())) == 3:
            state = TestWhoSeesWhat.NAMED[line][2]
        for number, body in enumerate(bodies):
            answers = []
            for client in member.clients:
                if state:
                    table, id = operation.target, path.split("/")[2]
                    client.sql(f"UPDATE {table} SET status = ? WHERE id = ?", state, id)
                answers.append(self.answer(client, operation.method, path, member.account, body))
            alike = answers[0] == answers[1] == answers[2]
            if line in self.TELLING and not alike:
                refused = [json.loads(answer[2])["error"] for answer in answers if answer[0] >= 400]
                assert set(refused) == {self.TELLING[line]}, (path, body)
                return False
            assert alike, (path, body, answers)
            assert number or status in (None, answers[0][0]), (path, body)
        return True


# --- 13 Command: settings, the server, the command line -----------------------------------------------


class Live:
    """The command in a process of its own, serving on a free port."""

    errors = subprocess.PIPE

    def __init__(self, folder: Path, *arguments: str, **environment: str):
        self.process = subprocess.Popen(
            [sys.executable, HERE / "pmservice.py", "--port", "0", *arguments],
            cwd=folder, env={**os.environ, **{f"PMSERVICE_{name}": value for name, value in environment.items()}},
            stdout=subprocess.PIPE, stderr=self.errors, encoding="utf-8",
        )  # fmt: skip
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
        if (
            os.name == "nt"
        ):  # a signal goes to every process of a console there, and to none under Wine
            self.hear("press Ctrl-C to stop")
            self.process.kill()
        else:
            self.process.send_signal(signal.SIGINT)
        self.rest, self.told = self.process.communicate(timeout=30)
        self.told = self.heard + (self.told or "")


class AtTerminal(Live):
    """The command at a terminal, which shows its stderr."""

    def __init__(self, folder: Path, *arguments: str, **environment: str):
        self.screen, self.errors = os.openpty()
        super().__init__(folder, *arguments, **environment)
        os.close(self.errors)

    def __exit__(self, *ended: object) -> None:
        super().__exit__(*ended)
        shown = b""
        with contextlib.suppress(OSError):  # the process has closed its end, and all was read
            while piece := os.read(self.screen, 4096):
                shown += piece
        os.close(self.screen)
        self.told = shown.decode().replace("\r\n", "\n")


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


def ask_raw(url: str, request: str) -> tuple[int, Any]:
    """Send these Latin-1 characters on a new connection and return the status and JSON of its first answer."""
    with contextlib.closing(connection_to(url)) as connection:
        connection.connect()
        connection.sock.sendall(request.encode("latin-1"))
        with contextlib.closing(http.client.HTTPResponse(connection.sock)) as answer:
            answer.begin()
            assert answer.getheader("Content-Type") == "application/json"
            return answer.status, json.loads(answer.read())


@pytest.fixture
def live(tmp_path):
    """Yield a server on an empty database, with the token t."""
    with Live(tmp_path, "--token", "t") as live:
        yield live


class TestOverASocket:
    @each("path", [
        "//products", "/products%2F", "/%70roducts/%2F1", "/products/1/bugs%0a", "/tasks/%D9%A1", "/tasks/%FF1", "/tasks/01", "/%00",
    ])  # fmt: skip
    def test_paths_that_only_a_server_s_tidying_makes_ours_are_not_found(self, live, path):
        assert live.call("GET", path)[0] == 404
        assert live.call("GET", "/%70roducts")[0] == 200

    @each("database", [":memory:", "pm.db"])
    def test_head_sends_no_body(self, tmp_path, database):
        """Not even the chunk that ends an answer in pieces, which only a file's lists are."""
        bugs = [{"product": 1, "title": "B"}] * 300
        file = database if database == ":memory:" else tmp_path / database
        load = {"products": [{"name": "P"}], "bugs": bugs}
        with pmservice.running(file, load=load, token="t", control=True) as served:
            for path in ("/products/1/bugs?limit=300", "/-/dump", "/products/1"):
                with contextlib.closing(connection_to(served.url)) as connection:
                    connection.connect()
                    connection.sock.sendall(
                        f"HEAD {path} HTTP/1.1\r\nToken: t\r\nConnection: close\r\n\r\n".encode()
                    )
                    with connection.sock.makefile("rb") as received:
                        head, _, body = received.read().partition(b"\r\n\r\n")
                assert (head[:12], body) == (b"HTTP/1.1 200", b"")

    def test_bodies_too_large_are_refused_in_json(self, live):
        for size in (2**20 + 1, 3 * 2**20):
            with contextlib.closing(live.connect()) as connection:
                connection.putrequest("POST", "/products")
                connection.putheader("Token", "t")
                connection.putheader("Content-Length", str(size))
                connection.endheaders()
                with contextlib.suppress(ConnectionError):
                    connection.send(b" " * size)
                answer = connection.getresponse()
                assert (answer.status, answer.getheader("Content-Type")) == (
                    413,
                    "application/json",
                )
                assert json.loads(answer.read())["error"]

    @each(("request_line", "header", "status"), [
        ("GET /products HTTP/1.1", "Transfer-Encoding: gzip", 400), ("GET /products HTTP/1.1", "Content-Length: x", 400),
        ("GET /products HTTP/1.1", "no header", 400), ("POST /products HTTP/1.1", "Content-Length: 9999999", 413),
        ("GET http://[::1/products HTTP/1.1", "X: x", 400), ("POST /products HTTP/1.1", "Content-Length: " + "9" * 5000, 400),
    ])  # fmt: skip
    def test_what_is_no_http_is_refused_in_json(self, request_line, header, status):
        with pmservice.running() as served:
            answer = ask_raw(served.url, f"{request_line}\r\nHost: localhost\r\n{header}\r\n\r\n")
        assert (answer[0], list(answer[1])) == (status, ["error"])

    @each(("request_line", "headers", "status"), [
        ("GET /products HTTP/1.0",                     "Token: t",                                          200),
        ("GET http://localhost/products HTTP/1.1",     "Token: t\r\nHost: localhost",                       200),
        ("GET http://evil.example/products HTTP/1.1",  "Token: t\r\nHost: localhost",                       421),
        ("GET /products HTTP/1.1",                     "Token: t\r\nHost: localhost\r\nHost: evil.example", 421),
        ("GET /products HTTP/1.1",                     "Token: t\r\nHost: evil.example\r\nHost: localhost", 421),
        ("GET /products HTTP/1.1",                     "Token: t\r\nToken: t\r\nHost: localhost",           401),
        ("GET /products HTTP/1.1",                     "Token: t\xf6\r\nHost: localhost",                   401),
        ("GET /products HTTP/1.1",                     "Authorization: Bearer t\r\nHost: localhost",        401),
    ])  # fmt: skip
    def test_host_and_token_are_read_as_they_were_sent(self, request_line, headers, status):
        with pmservice.running(token="t") as served:
            assert ask_raw(served.url, f"{request_line}\r\n{headers}\r\n\r\n")[0] == status

    @each("sent", [-3, None], ids=["within the body", "before the answer"])
    def test_client_that_leaves_holds_up_no_writer(self, live, sent):
        request = b'POST /products HTTP/1.1\r\nHost: localhost\r\nToken: t\r\nContent-Length: 13\r\n\r\n{"name": "x"}'
        with contextlib.closing(live.connect()) as leaving:
            leaving.connect()
            leaving.sock.sendall(request[:sent])
        assert live.call("POST", "/products", {"name": "P"})[0] == 201

    @each(("lines", "status"), [
        ("", 200), ("Content-Length: 0\r\n", 200), ("Content-Length: x\r\n", 400), ("Content-Length: 9999999\r\n", 413),
    ])  # fmt: skip
    def test_who_expects_to_continue_without_a_body_is_answered_and_nobody_takes_its_place(
        self, lines, status
    ):
        with (
            pmservice.running(token="t") as served,
            contextlib.closing(connection_to(served.url)) as connection,
        ):
            connection.connect()
            connection.sock.sendall(
                f"GET /user HTTP/1.1\r\nToken: t\r\nExpect: 100-continue\r\n{lines}\r\n".encode()
            )
            with connection.sock.makefile("rb") as received:
                assert received.readline().split()[1] == str(status).encode()
                if status == 200:
                    connection.sock.sendall(b"GET /user HTTP/1.1\r\nConnection: close\r\n\r\n")
                    assert re.findall(rb"HTTP/1.1 ([0-9]+)", received.read()) == [b"401"]

    def test_eight_threads_create_and_move_at_once_and_nothing_is_lost(self, live):
        product = live.call("POST", "/products", {"name": "P"})[1]["id"]
        project = live.call("POST", "/projects", {**PR_ONE, "products": [product]})[1]["id"]
        tasks = f"/executions/{project}/tasks"
        shared = live.call("POST", tasks, GOOD[TASKS])[1]["id"]

        def work(worker: int) -> Counter[int]:
            statuses: Counter[int] = Counter()
            with contextlib.closing(live.connect()) as connection:
                for _ in range(20):
                    status, task = ask(
                        connection, "POST", tasks, {**GOOD[TASKS], "assignedTo": f"w{worker}"}
                    )
                    moves = [
                        (f"/tasks/{task['id']}/start", {"left": 1, "consumed": 2}),
                        (
                            f"/tasks/{shared}/finish",
                            {**GOOD[FINISH], "currentConsumed": 1, "realStarted": "2026-01-01"},
                        ),
                        ("/products", {"name": "P"}),
                        (
                            f"/products/{product}/testcases",
                            {**GOOD[CASES], "steps": [{"desc": "a"}]},
                        ),
                    ]
                    statuses.update(
                        [status, *(ask(connection, "POST", path, body)[0] for path, body in moves)]
                    )
            return statuses

        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(work, range(8)), Counter()) == {201: 480, 200: 320}
        assert live.call("GET", "/products")[1]["total"] == 161
        assert live.call("PUT", f"/tasks/{shared}", {})[1]["consumed"] == 160
        assert live.call("GET", "/testcases/160")[1]["steps"][0]["id"] == 160


class TestSlowClients:
    """Clients that keep the server waiting are dropped. The tests move the clocks; nothing waits."""

    @pytest.fixture
    def served(self, monkeypatch):
        """Return a function that moves a clock of a server, which answers /products/1/bugs with 12 MB."""
        ahead = {"time": 0.0, "monotonic": 0.0}
        for name, clock in {name: getattr(time, name) for name in ahead}.items():
            monkeypatch.setattr(time, name, lambda name=name, clock=clock: clock() + ahead[name])
        bugs = [{"product": 1, "title": "B", "steps": "x" * 60_000}] * 200
        with (
            pmservice.listen("127.0.0.1", 0) as listener,
            contextlib.closing(
                pmservice.create_app(load={"products": [{"name": "P"}], "bugs": bugs}, token="t")
            ) as app,
        ):
            self.server = pmservice.Server(app, listener)
            self.url, thread = self.server.url, threading.Thread(target=self.server.run)
            thread.start()
            yield lambda seconds, clock="monotonic": ahead.__setitem__(
                clock, ahead[clock] + seconds
            )
            self.server.stop()
            thread.join()

    def connected(self, client):
        """Return whether the server still has a connection to this client."""
        return client.sock.getsockname() in [
            channel.addr for channel in list(self.server.active_channels.values())
        ]

    def is_timed(self, client):
        """Return whether the server has seen what a client has sent, and counts the time."""
        channels = [
            one
            for one in list(self.server.active_channels.values())
            if one.addr == client.sock.getsockname()
        ]
        return any((one.request and one.request.began) or one.ends < math.inf for one in channels)

    def answer_others(self):
        """Make the server look at all its connections, by requests on others."""
        for _ in range(3):
            with contextlib.closing(connection_to(self.url)) as other:
                assert ask(other, "GET", "/user")[0] == 200

    @contextlib.contextmanager
    def asking_for_much(self):
        """Yield a client that asks for 12 MB and takes little of it unread."""
        with contextlib.closing(connection_to(self.url)) as client:
            client.sock = socket.socket()
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            client.sock.settimeout(30)
            client.sock.connect((client.host, client.port))
            client.request("GET", "/products/1/bugs?limit=1000", headers={"Token": "t"})
            assert client.sock.recv(1, socket.MSG_PEEK)
            yield client

    @each("jump", [0, 3600, -3600])
    @each(("sent", "kept", "dropped"), [
        ("GET /products HTTP/1.1\r\nHost: local", 5, 15),
        ("POST /products HTTP/1.1\r\nToken: t\r\nContent-Length: 9\r\n\r\n{", 50, 70),
        ("", 100, 140),
        ("POST /products HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n{", 5, 15),
    ], ids=["headers", "body", "idle", "refused"])  # fmt: skip
    def test_connection_is_dropped_when_its_time_is_over_whatever_the_system_clock_says(
        self, served, sent, kept, dropped, jump
    ):
        with contextlib.closing(connection_to(self.url)) as slow:
            slow.connect()
            slow.sock.sendall(sent.encode())
            self.answer_others()
            while sent and not self.is_timed(slow):
                served(1.1)
                self.answer_others()
            served(jump, "time")
            served(kept)
            self.answer_others()
            assert self.connected(slow)
            served(dropped - kept)
            self.answer_others()
            assert not self.connected(slow)

    def test_answer_that_nobody_reads_is_dropped(self, served):
        with self.asking_for_much() as slow:
            for _ in range(
                10_000
            ):  # until the server has sent what the system takes, and moved on in time
                if not self.connected(slow):
                    break
                served(15)
                self.answer_others()
            with pytest.raises((ConnectionError, http.client.IncompleteRead)):
                slow.getresponse().read()

    def test_client_that_reads_steadily_gets_everything(self, served):
        with self.asking_for_much() as slow:
            for _ in range(12):
                read = 0
                while read < 200_000:
                    read += len(slow.sock.recv(200_000 - read))
                self.answer_others()
                served(9)
                self.answer_others()
                assert self.connected(slow)

    def test_time_in_which_the_service_does_not_read_does_not_count(self, served):
        with contextlib.closing(connection_to(self.url)) as one:
            one.connect()
            wait, user = (
                "GET /-/journal?count=1000&wait=30 HTTP/1.1\r\nToken: t\r\n\r\n",
                "GET /user HTTP/1.1\r\n\r\n",
            )
            one.sock.sendall((wait + user * 100 + user[:12]).encode())
            for _ in range(4):
                self.answer_others()
                served(7)
            self.answer_others()
            served(3)  # the wait is over
            with one.sock.makefile("rb") as received:
                for status in [b"409"] + 100 * [b"401"]:
                    assert received.readline().split()[1] == status
                    length = next(
                        int(line[15:]) for line in received if line.startswith(b"Content-Length:")
                    )
                    list(iter(received.readline, b"\r\n"))
                    received.read(length)
                served(2)
                self.answer_others()
                one.sock.sendall(user[12:].encode())
                assert received.readline().split()[1] == b"401"

    def test_next_request_waits_until_earlier_answers_are_read(self, served):
        with contextlib.closing(connection_to(self.url)) as greedy:
            greedy.connect()
            greedy.sock.sendall(b"GET /openapi.json HTTP/1.1\r\n\r\n" * 100)
            until = time.monotonic() + 30
            while not self.server.parked and time.monotonic() < until:
                time.sleep(0.01)
            [channel] = self.server.parked
            assert pmservice.UNSENT < channel.total_outbufs_len < pmservice.UNSENT + 500_000
            self.answer_others()
            received = b""
            while received.count(b"HTTP/1.1 200 OK") < 100:
                received += greedy.sock.recv(1 << 20)

    def test_refusal_is_seen_by_who_is_still_sending(self, served):
        for _ in range(3):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"{self.url}/products", b"x" * 5_000_000, timeout=30)
            with refused.value as answer:
                assert answer.code == 413
                assert "1048576 bytes" in json.loads(answer.read())["error"]


class TestServing:
    def test_first_start_says_on_stderr_how_to_begin_and_the_url_alone_on_stdout(self, tmp_path):
        with Live(tmp_path) as first:
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+", first.url)
            assert first.call("GET", "/products")[0] == 401
        assert first.rest == ""
        password, token = (
            re.search(rf"{word} +(\S+)", first.told).group(1) for word in ("password", "token")
        )
        assert "account   admin\n" in first.told
        curl = "curl.exe" if os.name == "nt" else "curl"
        assert f'  {curl} -H "Token: {token}" {first.url}/products\n' in first.told
        with Live(tmp_path) as again:
            assert again.call("GET", "/products", Token=token) == (
                200,
                {"total": 0, "products": []},
            )
            assert (
                again.call("POST", "/tokens", {"account": "admin", "password": password})[0] == 201
            )
        assert "password" not in again.told
        assert token not in again.told

    def test_password_of_an_older_database_is_not_said_to_be_of_a_new_one(self, tmp_path):
        pmservice.create_app(tmp_path / "pm.db").close()
        with Live(tmp_path) as live:
            pass
        assert (
            "Nobody could log in as admin yet. Note these credentials; they are not shown again.\n"
            in live.told
        )
        assert "new database" not in live.told
        with Live(tmp_path) as again:
            login = {"account": "admin", "password": re.search(r"password +(\S+)", live.told)[1]}
            assert again.call("POST", "/tokens", login)[0] == 201
        assert again.told.count("\n") == 1

    def test_with_a_password_given_a_new_database_shows_a_token_only(self, tmp_path):
        with Live(tmp_path, "--password", "pass-word") as live:
            pass
        assert (
            "This is a new database. Note these credentials; they are not shown again.\n  token  "
            in live.told
        )

    @each("flags", [[], ["--database", ":memory:"]])
    def test_who_gives_a_token_in_a_program_gets_no_password(self, tmp_path, flags):
        for _ in range(2):
            with Live(tmp_path, "--token", "t", *flags) as live:
                assert live.call("POST", "/tokens", {"account": "admin", "password": ""})[0] == 400
            hint = "admin has no password. To set one, run: pmservice user admin --password --database pm.db"
            assert live.told.splitlines()[1:] == ([] if flags else [hint])

    @TERMINALS
    def test_who_gives_a_token_at_a_terminal_gets_a_password(self, tmp_path):
        with AtTerminal(tmp_path, "--token", "t") as live:
            pass
        assert re.search(r"^  password  \S{16}$", live.told, re.MULTILINE)
        assert "or try:" not in live.told

    def test_flags_go_before_the_environment_and_that_before_the_defaults(self, tmp_path):
        (tmp_path / "f.json").write_text('{"products": [{"name": "P"}]}')
        with Live(
            tmp_path, "--token", "t", TOKEN="other", DATABASE="named.db", LOAD="f.json"
        ) as live:
            assert live.call("GET", "/products")[1]["total"] == 1
            assert live.call("GET", "/products", Token="other")[0] == 401
        assert [file.name for file in tmp_path.glob("*.db")] == ["named.db"]

    @each("number", sorted(pmservice.STOPS))
    def test_interrupt_stops_it(self, tmp_path, monkeypatch, capfd, number):
        monkeypatch.chdir(tmp_path)
        port = str(free_port())
        handlers = {number: signal.getsignal(number) for number in pmservice.STOPS}

        answers = []

        def interrupt() -> None:
            until = time.monotonic() + 30
            while not answers and time.monotonic() < until:
                with (
                    contextlib.suppress(OSError),
                    socket.create_connection(("127.0.0.1", int(port))) as connection,
                ):
                    connection.sendall(b"GET /products HTTP/1.0\r\nToken: t\r\n\r\n")
                    answers.append(connection.recv(12))
                time.sleep(0.01)
            signal.raise_signal(number)

        thread = threading.Thread(target=interrupt)
        thread.start()
        try:
            assert pmservice.main(["--port", port, "serve", "--database", ":memory:"]) in (0, 130)
        finally:
            thread.join()
            for number, handler in handlers.items():
                signal.signal(number, handler)
        assert answers == [b"HTTP/1.0 401"]
        assert capfd.readouterr().out == f"http://127.0.0.1:{port}\n"
        assert list(tmp_path.iterdir()) == []


@posix("Windows has no such streams")
class TestStreams:
    """stdout and stderr that nobody reads, that take nothing, or that are closed, all from the start."""

    @pytest.fixture
    def streams(self):
        """Yield a function that returns a stream of a kind for a process, None for a closed one."""
        with contextlib.ExitStack() as stack:
            self.readers = {}

            def stream(kind: str) -> Any:
                if kind == "full":
                    reader, writer = os.pipe()
                    self.readers[writer] = stack.enter_context(open(reader, "rb"))
                    stack.callback(os.close, writer)
                    os.set_blocking(writer, False)
                    with contextlib.suppress(BlockingIOError):
                        while True:
                            os.write(writer, b"x" * 4096)
                    os.set_blocking(writer, True)
                    return writer
                if kind == "read":
                    return stack.enter_context(tempfile.TemporaryFile())
                return None if kind == "closed" else stack.enter_context(open("/dev/full", "wb"))

            yield stream

    @staticmethod
    @contextlib.contextmanager
    def process(
        folder: Path, out: Any, err: Any, *arguments: str
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Yield a process of the command with these streams, which is killed if it does not end by itself."""
        closed = [words for words, stream in ((">&-", out), ("2>&-", err)) if stream is None]
        process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" {" ".join(closed)}', "sh", sys.executable, HERE / "pmservice.py", *arguments],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
        )  # fmt: skip
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    @staticmethod
    def answered(process: subprocess.Popen[bytes], port: int) -> int | None:
        """Return the status of a call to a service that is ready, None if the process ends instead."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with (
                contextlib.suppress(OSError),
                contextlib.closing(connection_to(f"http://127.0.0.1:{port}")) as connection,
            ):
                status, _ = ask(connection, "GET", "/products")
                if status != 503:
                    return status
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
                return None
        pytest.fail("the service neither answers nor ends")

    KINDS = ("read", "full", "/dev/full", "closed")

    @each("err", KINDS)
    @each("out", KINDS)
    def test_service_ends_at_a_signal_or_with_2_if_it_cannot_say_where_it_is(
        self, streams, tmp_path, out, err
    ):
        port, stdout, stderr = free_port(), streams(out), streams(err)
        with self.process(
            tmp_path, stdout, stderr, "--port", str(port), "--token", "t", "--password", "secret"
        ) as process:
            if out != "/dev/full":
                assert self.answered(process, port) == 200
                process.send_signal(signal.SIGTERM)
            code = process.wait(30)
        assert code == (2 if out == "/dev/full" else 0)
        if err == "read":
            stderr.seek(0)
            told = stderr.read().decode()
            assert told.count("\n") == 1
            assert code == 0 or re.fullmatch("pmservice: .*No space left on device.*\n", told)
        if out == "read":
            stdout.seek(0)
            assert stdout.read().decode() == f"http://127.0.0.1:{port}\n"

    def test_url_reaches_a_reader_who_comes_late(self, streams, tmp_path):
        port, stdout, stderr = free_port(), streams("full"), streams("full")
        with self.process(tmp_path, stdout, stderr, "--port", str(port), "--token", "t") as process:
            assert self.answered(process, port) == 200
            url, read = f"http://127.0.0.1:{port}\n".encode(), b""
            while url not in read:
                read += self.readers[stdout].read1(4096)
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        assert read.lstrip(b"x") == url

    @each("arguments", [["dump"], ["check"], ["call", "GET", "/products"]], ids=" ".join)
    def test_answer_that_cannot_be_written_is_an_error(self, streams, tmp_path, arguments):
        pmservice.create_app(tmp_path / "pm.db").close()
        stderr = streams("read")
        with self.process(tmp_path, streams("/dev/full"), stderr, *arguments) as process:
            assert process.wait(30) == 2
        stderr.seek(0)
        assert re.fullmatch(r"pmservice: .*No space left on device.*\n", stderr.read().decode())

    @each("err", ["/dev/full", "closed"])
    def test_work_is_done_though_nobody_can_be_told(self, streams, tmp_path, err):
        (tmp_path / "f.json").write_text(json.dumps(WORLD))
        for arguments in (["load", "f.json"], ["user", "new1"], ["backup", "copy.db"]):
            with self.process(tmp_path, streams("read"), streams(err), *arguments) as process:
                assert process.wait(30) == 0, arguments
        with contextlib.closing(Client(tmp_path / "copy.db")) as client:
            assert (client.get("/products")["total"], client.get("/users/new1")["account"]) == (
                2,
                "new1",
            )


class TestIndexOfTheLog:
    """The file with "-shm" in its name: an index of the write-ahead log that all processes share.

    Who has lost it no longer sees what others write to the log, and may write over that.
    """

    SERVING = """
import sys, threading, wsgiref.simple_server, pmservice
service = pmservice.create_app("pm.db", token="t")
with wsgiref.simple_server.make_server("127.0.0.1", 0, service) as server:
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    sys.stdin.readline()
    server.shutdown()
    thread.join()
if sys.argv[1] == "closes":
    service.close()
"""

    @pytest.fixture(params=["closes", "exits", "stops"])
    def first(self, request, tmp_path):
        """Yield the URL of a service in a process of its own, and a function that ends it: in three ways."""
        if request.param == "stops":
            with Live(tmp_path, "--token", "t") as live:
                yield live.url, partial(live.__exit__)
            return
        command = [sys.executable, "-c", self.SERVING, request.param]
        streams = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
        environment = {**os.environ, "PYTHONPATH": str(HERE)}
        with subprocess.Popen(
            command, cwd=tmp_path, env=environment, **streams, stderr=subprocess.DEVNULL, text=True
        ) as process:
            yield process.stdout.readline().strip(), partial(process.communicate, "\n", 60)

    @staticmethod
    def lose(index: Path, loss: str) -> None:
        """Remove the index, or put another one in its place, or cut it."""
        if loss == "cut":
            os.truncate(index, 0)
            return
        index.rename(f"{index}.old")
        if loss == "replaced":
            shutil.copy(f"{index}.old", index)

    @OPEN_FILES
    @each("order", ["first", "second"])
    @each("loss", ["removed", "replaced", "cut"])
    def test_service_that_lost_it_takes_no_writes_and_loses_none(
        self, first, tmp_path, loss, order
    ):
        url, end = first
        acknowledged = []

        def write(name: str, status: int) -> None:
            with contextlib.closing(connection_to(url)) as connection:
                answered, body = ask(connection, "POST", "/products", {"name": name})
                assert (answered, "removed or replaced" in str(body)) == (status, status == 503)
            if status == 201:
                acknowledged.append(name)

        for n in range(3):
            write(f"first {n}", 201)
        self.lose(tmp_path / "pm.db-shm", loss)
        write("refused", 503)
        with contextlib.closing(connection_to(url)) as connection:
            assert ask(connection, "GET", "/-/ready")[0] == 503
        with contextlib.closing(Client(tmp_path / "pm.db")) as second:
            for n in range(3):
                acknowledged.append(second.product(name=f"second {n}")["name"])
            if loss != "cut":
                write("refused again", 503)
            if order == "first":
                end()
            acknowledged.append(second.product(name="second 3")["name"])
        if order == "second":
            end()
        with contextlib.closing(Client(tmp_path / "pm.db")) as again:
            assert [one["name"] for one in again.get("/products")["products"]] == acknowledged
            assert again.sql("PRAGMA integrity_check") == [("ok",)]


class TestThreads:
    """Which thread answers: quick reads the one that receives requests, everything else one of eight others."""

    @pytest.fixture
    def slow(self, monkeypatch):
        """Serve; /slow waits for `go`. `calls` gets the path and the patience of each attempt to answer."""
        begun, go, plain = threading.Semaphore(0), threading.Event(), pmservice.Service.__call__
        self.calls = []

        def call(service, environ, start_response):
            self.calls.append((environ["PATH_INFO"], environ["pmservice.patience"]))
            if environ["PATH_INFO"] == "/slow":
                begun.release()
                go.wait(30)
            return plain(service, environ, start_response)

        monkeypatch.setattr(pmservice.Service, "__call__", call)
        self.clock = Clock()
        records = {"testcases": [{"title": "T", "product": 1}], "products": [{"name": "P"}]}
        with (
            pmservice.running(token="t", load=records, clock=self.clock) as served,
            ThreadPoolExecutor(50) as pool,
        ):
            self.service, self.url, self.pool = served.app, served.url, pool
            yield begun, go
            go.set()

    def status(
        self, path: str = "/products/1", method: str = "GET", body: Any = None, **headers: str
    ) -> int:
        with contextlib.closing(connection_to(self.url)) as connection:
            return ask(connection, method, path, body, **headers)[0]

    def attempts(self, path: str) -> list[bool]:
        """Return for each attempt to answer a path whether it might wait: whether another thread made it."""
        return [patience > 0 for called, patience in self.calls if called == path]

    @each(("path", "others"), [
        ("/testcases/1",                           [False]),
        ("/api.php/v1/testcases/1/",               [False]),
        ("/zentao/api.php/v1/products/1",          [False]),
        ("/user",                                  [False]),
        ("/tasks/9",                               [False]),
        ("/-/live",                                [False]),
        ("/products/1/bugs",                       [False]),
        ("/products/1/bugs?limit=100&page=2",      [False]),
        ("/products/1/bugs?status=unresolved",     [False]),
        ("/products?limit=20",                     [False]),
        ("/products/1/bugs?limit=101",             [False, True]),
        ("/products/1/bugs?limit=100&page=102",    [False, True]),
        ("/products/1/bugs?order=pri_desc",        [False, True]),
        ("/products/1/bugs?status=overduebugs",    [False, True]),
        ("/products/1/bugs?status=unclosed",       [False, True]),
        ("/products/1/bugs?status=assigntonull",   [False, True]),
        ("/products",                              [False, True]),
        ("/users",                                 [False, True]),
        ("/-/ready",                               [True]),
        ("/openapi.json",                          [True]),
        ("//products/1",                           [True]),
    ])  # fmt: skip
    def test_quick_reads_are_answered_where_they_are_received(self, slow, path, others):
        self.status(path)
        assert self.attempts(re.sub("^//", "/", path).partition("?")[0]) == others

    @each(("account", "others"), [("admin", [False]), ("dev1", [False, True])])
    def test_page_is_quick_for_those_who_see_everything(self, slow, account, others):
        with self.service.database.writing() as store:
            store.add_person(account)
            token = pmservice.give_token(store, account)
        assert self.status("/products?limit=20", Token=token) == 200
        assert self.attempts("/products") == others

    def test_reads_are_answered_while_every_other_thread_is_busy(self, slow, monkeypatch):
        begun, go = slow
        late = [self.pool.submit(self.status, "/slow") for _ in range(pmservice.CONTROL_THREADS)]
        for _ in late:
            assert begun.acquire(timeout=30)
        queued, hand_over = threading.Event(), pmservice.Server.hand_over
        monkeypatch.setattr(
            pmservice.Server, "hand_over", lambda *call: (hand_over(*call), queued.set())
        )
        write = self.pool.submit(self.status, "/products", "POST", {"name": "Q"})
        assert queued.wait(30)
        assert [self.status(path) for path in ("/testcases/1", "/products/1/bugs", "/-/live")] == [
            200
        ] * 3
        assert not write.done()
        ahead, clock = time.monotonic() + 60, time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: max(ahead, clock()))
        go.set()
        assert (write.result(30), {answer.result(30) for answer in late}) == (201, {404})
        assert [patience for path, patience in self.calls if path == "/products"] == [
            0.5
        ]  # it has waited long enough

    def test_request_that_is_handed_to_another_thread_takes_one_id(self):
        with (
            pmservice.running(token="t") as served,
            contextlib.closing(connection_to(served.url)) as connection,
        ):
            numbers = []
            for _ in range(3):
                connection.request("GET", "/products", headers={"Token": "t"})
                answer = connection.getresponse()
                answer.read()
                numbers.append(answer.getheader("X-Request-Id").partition("-")[2])
        assert numbers == ["1", "2", "3"]

    def test_without_controls_eight_threads_answer(self):
        with pmservice.running(control=False) as served:
            assert threads_of_servers() == 10  # one of them for logins, one for pages
            assert pmservice.THREADS == 8
            with contextlib.closing(connection_to(served.url)) as connection:
                assert ask(connection, "POST", "/products")[0] == 401

    def test_use_of_a_token_is_recorded_in_the_background(self, slow, monkeypatch):
        with self.service.database.writing() as store:
            token = pmservice.give_token(store, "admin")
        threads, answered, recorded, plain = (
            set(),
            threading.Event(),
            threading.Event(),
            pmservice.record_use,
        )

        def record_use(*values):
            threads.add(threading.current_thread().name)
            answered.wait(
                30
            )  # a read beside this write would be handed over, as memory has no write-ahead log
            plain(*values)
            recorded.set()

        monkeypatch.setattr(pmservice, "record_use", record_use)
        self.clock.forward(seconds=61)
        assert [self.status("/user", Token=token) for _ in range(2)] == [200, 200]
        assert self.attempts("/user") == [False, False]
        answered.set()
        assert recorded.wait(
            30
        )  # not asked for meanwhile: beside a read the write would be skipped
        with self.service.database.querying() as store:
            used = pmservice.moment_of(store.row("SELECT used FROM token")["used"])
        assert (used, threads) == (self.clock(), {"background_0"})

    def test_read_beside_a_write_in_memory_waits_in_another_thread(self, slow):
        with self.service.database.writing() as store:
            store.add_person("dev1")
            store.insert("product", {"name": "Q"})
            read = self.pool.submit(self.status, "/testcases/1")
            until = time.monotonic() + 30
            while len(self.calls) < 2 and time.monotonic() < until:
                time.sleep(0.01)
        assert (read.result(30), self.attempts("/testcases/1")) == (200, [False, True])

    def test_faults_are_for_the_other_threads(self, slow):
        assert self.status("/-/faults", "PUT", [{"match": "GET /user", "delay": 0.01}]) == 200
        assert (self.status("/user"), self.attempts("/user")) == (200, [False, True])

    def test_requests_of_one_connection_are_answered_in_turn(self, slow):
        begun, go = slow
        with contextlib.closing(connection_to(self.url)) as connection:
            connection.connect()
            for line, end in (
                ("GET /slow", ""),
                ("GET /-/live", ""),
                ("PUT /-/live", "Connection: close\r\n"),
            ):
                connection.sock.sendall(f"{line} HTTP/1.1\r\nHost: localhost\r\n{end}\r\n".encode())
            assert begun.acquire(timeout=30)
            assert self.status() == 200
            go.set()
            with connection.sock.makefile("rb") as received:
                assert re.findall(rb"HTTP/1.1 ([0-9]+)", received.read()) == [
                    b"404",
                    b"200",
                    b"405",
                ]

    def test_who_comes_later_is_not_kept_waiting_by_a_queue_on_one_connection(
        self, slow, monkeypatch
    ):
        calls, plain = [], pmservice.Service.__call__
        many, one = connection_to(self.url), connection_to(self.url)
        with contextlib.closing(many), contextlib.closing(one):
            one.connect()
            ask(many, "GET", "/products/1")  # both are accepted now

            def call(service, environ, start_response):
                calls.append(environ["PATH_INFO"])
                if len(calls) == 10:
                    one.sock.sendall(b"GET /user HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return plain(service, environ, start_response)

            monkeypatch.setattr(pmservice.Service, "__call__", call)
            many.sock.sendall(b"GET /tasks/1 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000)
            assert one.sock.recv(12) == b"HTTP/1.1 401"
            assert calls.index("/user") < 900

    def test_logins_take_no_thread_from_writers(self, slow, monkeypatch):
        begun, go, plain = threading.Semaphore(0), threading.Event(), hashlib.scrypt

        def scrypt(*values, **named):
            begun.release()
            go.wait(60)
            return plain(*values, **named)

        monkeypatch.setattr(hashlib, "scrypt", scrypt)
        body = {"account": "admin", "password": "p"}
        logins = [self.pool.submit(self.status, "/tokens", "POST", body) for _ in range(40)]
        try:
            assert begun.acquire(timeout=30)
            write = self.pool.submit(self.status, "/products", "POST", {"name": "Q"})
            assert write.result(30) == 201
            assert not begun.acquire(blocking=False)
        finally:
            go.set()
        assert {login.result(60) for login in logins} == {400}

    def page(self, password: str) -> int:
        """Return the status of the page that dev1 asks for with a password."""
        with contextlib.closing(connection_to(self.url)) as connection:
            headers = {"Accept": CHROME, "Authorization": basic("dev1", password)}
            connection.request("GET", "/user", headers=headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status

    def test_readers_who_are_remembered_wait_for_no_password(self, slow, monkeypatch):
        begun, go, plain = threading.Semaphore(0), threading.Event(), hashlib.scrypt
        users = {"users": [dict(account="dev1", password=SECRET)]}
        pmservice.load_text(self.service.database, json.dumps(users), "fixture")
        assert self.page("secret") == 200

        def scrypt(*values, **named):
            begun.release()
            go.wait(60)
            return plain(*values, **named)

        monkeypatch.setattr(hashlib, "scrypt", scrypt)
        guesses = [self.pool.submit(self.page, f"guess {n}") for n in range(20)]
        body = {"account": "dev1", "password": "wrong"}
        logins = [self.pool.submit(self.status, "/tokens", "POST", body) for _ in range(5)]
        try:
            assert begun.acquire(timeout=30)
            assert self.pool.submit(self.page, "secret").result(30) == 200
            assert not begun.acquire(blocking=False)  # one password at a time
        finally:
            go.set()
        assert {page.result(60) for page in guesses} == {401}
        assert {login.result(60) for login in logins} == {400}

    def test_quick_read_stays_one_however_often_it_comes(self, slow):
        bugs = json.dumps({"bugs": [dict(product=1, title="B")] * 100})
        pmservice.load_text(self.service.database, bugs, "fixture")
        with contextlib.closing(connection_to(self.url)) as connection:
            pages = [ask(connection, "GET", "/products/1/bugs?limit=100") for _ in range(60)]
        assert pages == [pages[0]] * 60
        assert self.attempts("/products/1/bugs") == [False] * 60

    @each(("path", "account", "many"), [
        ("/testcases/2",          "admin", "steps"),
        ("/products/1/testcases", "admin", "steps"),
        ("/products/1",           "dev1",  "releases"),
        ("/products?limit=20",    "admin", ""),
        ("/testcases/1",          "admin", ""),
    ])  # fmt: skip
    def test_long_read_is_left_to_another_thread(self, slow, path, account, many):
        steps = [dict(desc="a", expect="b")] * (12_000 if many == "steps" else 1)
        cases = [dict(id=2, product=1, title="T", steps=steps)]
        more = json.dumps(dict(testcases=cases, projects=[dict(id=1, name="Pr", acl="open")]))
        pmservice.load_text(self.service.database, more, "fixture")
        with self.service.database.writing() as store:
            store.run("UPDATE product SET acl = 'open'")
            store.add_person(account)
            token = pmservice.give_token(store, account)
            store.run(
                """WITH RECURSIVE number(n) AS
                    (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
                INSERT INTO release (product, project, name, date)
                SELECT 1, 1, 'R', '2026-11-20' FROM number""",
                (50_000 if many == "releases" else 1,),
            )
        with contextlib.closing(connection_to(self.url)) as connection:
            status, answer = ask(connection, "GET", path, Token=token)
        assert status == 200
        assert self.attempts(path.partition("?")[0]) == ([False, True] if many else [False])
        if many == "releases":
            assert answer["releases"] == 50_000
        elif many:
            assert len(answer.get("testcases", [answer])[0]["steps"]) == 12_000

    def test_page_that_others_follow_is_left_to_another_thread(self, slow):
        with contextlib.closing(connection_to(self.url)) as connection:
            connection.connect()
            page = "GET /products/1/bugs HTTP/1.1\r\nToken: t\r\n"
            connection.sock.sendall(f"{page}\r\n{page}Connection: close\r\n\r\n".encode())
            with connection.sock.makefile("rb") as received:
                assert re.findall(rb"HTTP/1.1 ([0-9]+)", received.read()) == [b"200", b"200"]
        assert self.attempts("/products/1/bugs") == [True, False]

    @each(
        "sent",
        [b"BAD\r\n\r\n", b"GET /user HTTP/1.1\r\n\r\n", b"GET /openapi.json HTTP/1.1\r\n\r\n" * 9],
    )
    def test_client_that_resets_its_connection_ends_nothing(self, slow, sent):
        for _ in range(20):
            with socket.create_connection(
                ("127.0.0.1", int(self.url.rpartition(":")[2]))
            ) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.sendall(sent)
        assert self.status() == 200

    @each("path", ["/tasks/1", "/slow"])
    def test_connection_that_fails_ends_alone(self, slow, monkeypatch, caplog, path):
        plain = pmservice.HTTPChannel.service

        def service(channel):
            if channel.requests[0].path == path:
                raise RuntimeError("waitress failed")
            plain(channel)

        monkeypatch.setattr(pmservice.HTTPChannel, "service", service)
        with pytest.raises(ConnectionError):
            self.status(path)
        assert self.status() == 200
        assert "waitress failed" in caplog.text

    @each("method", ["serve_once", "handle_accept"])
    def test_server_that_cannot_go_on_ends(self, monkeypatch, method):
        monkeypatch.setattr(pmservice.Server, method, lambda *_: 1 / 0)
        with (
            pmservice.listen("127.0.0.1", 0) as listener,
            contextlib.closing(pmservice.create_app()) as service,
        ):
            server = pmservice.Server(service, listener)
            with socket.create_connection(listener.getsockname()), pytest.raises(ZeroDivisionError):
                server.run()
            server.stop()  # must not touch its descriptors, which may be in other hands by now

    def test_connections_whose_request_has_come_make_no_room_for_others(self, monkeypatch):
        ahead, clock = [0.0], time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: clock() + ahead[0])
        with (
            pmservice.listen("127.0.0.1", 0) as listener,
            contextlib.closing(pmservice.create_app()) as service,
            contextlib.ExitStack() as sockets,
        ):
            server, clients, channels = pmservice.Server(service, listener), {}, {}
            for name in ("idle", "halted", "asked", "new"):
                ahead[0] += 2 * (name == "new")
                client = clients[name] = sockets.enter_context(
                    socket.create_connection(listener.getsockname())
                )
                client.sendall(b"GET /us" if name == "halted" else b"")
                while name not in channels or (name == "halted" and not channels[name].request):
                    server.serve_once()
                    opened = {channel.addr: channel for channel in server.active_channels.values()}
                    if client.getsockname() in opened:
                        channels[name] = opened[client.getsockname()]
            clients["asked"].sendall(b"GET /user HTTP/1.1\r\n\r\n")
            select.select([channels["asked"].socket], [], [], 30)  # it has come, but was not read
            server.make_room()
            assert {name for name, channel in channels.items() if channel.will_close} == {
                "idle",
                "halted",
            }
            server.stop()
            server.run()

    def test_threads_that_wait_for_readers_end_with_the_server(self, monkeypatch):
        monkeypatch.setattr(pmservice, "GRACE", 0.1)
        bugs = [
            {"product": 1, "title": "B", "steps": "x" * 60_000}
        ] * 500  # more than the server buffers
        with contextlib.ExitStack() as sockets:
            with pmservice.running(
                load={"products": [{"name": "P"}], "bugs": bugs}, token="t"
            ) as served:
                for _ in range(3):
                    one = sockets.enter_context(contextlib.closing(connection_to(served.url)))
                    one.request("GET", "/products/1/bugs?limit=1000", headers={"Token": "t"})
                with contextlib.closing(connection_to(served.url)) as other:
                    assert (
                        ask(other, "GET", "/-/journal?path=/products/1/bugs&count=3&wait=30")[0]
                        == 200
                    )
            assert threads_of_servers() == 0

    def test_one_thread_hashes_passwords(self, monkeypatch):
        seen, plain = set(), hashlib.scrypt

        def scrypt(*values, **named):
            seen.add(threading.get_ident())
            return plain(*values, **named)

        monkeypatch.setattr(hashlib, "scrypt", scrypt)
        with pmservice.running(password="p") as served, ThreadPoolExecutor(4) as pool:

            def log_in() -> int:
                with contextlib.closing(connection_to(served.url)) as connection:
                    return ask(
                        connection, "POST", "/tokens", {"account": "admin", "password": "p"}
                    )[0]

            assert {answer.result(30) for answer in [pool.submit(log_in) for _ in range(8)]} == {
                201
            }
        assert len(seen) == 1

    def test_login_without_a_thread_to_hash_is_refused(self, monkeypatch):
        def start(thread):
            raise RuntimeError("can't start new thread")

        body = {"account": "admin", "password": "p"}
        with (
            contextlib.closing(Client(":memory:", password="p")) as client,
            monkeypatch.context() as without,
        ):
            pmservice.background.cache_clear()
            without.setattr(threading.Thread, "start", start)
            assert "thread" in client.refused("POST", "/tokens", body, status=503)["error"]
            without.undo()
            assert client.call("POST", "/tokens", body).status_int == 201

    def test_use_of_a_token_without_a_thread_to_record_it_is_recorded_later(self, monkeypatch):
        def start(thread):
            raise RuntimeError("can't start new thread")

        clock = Clock()
        database = pmservice.Database(":memory:", timezone.utc, clock)
        with contextlib.closing(database), monkeypatch.context() as without:
            with database.writing() as store:
                hash = pmservice.hash_token(pmservice.give_token(store, "admin"))
            clock.forward(seconds=61)
            pmservice.background.cache_clear()
            without.setattr(threading.Thread, "start", start)
            assert pmservice.authenticate(database, hash, 3600, patience=0).account == "admin"
            without.undo()
            assert pmservice.authenticate(database, hash, 3600, patience=1).account == "admin"
            with database.querying() as store:
                used = pmservice.moment_of(store.row("SELECT used FROM token")["used"])
            assert used == clock()


def threads_of_servers() -> int:
    """Return how many of waitress's threads run in this process."""
    return sum(thread.name.startswith("waitress") for thread in threading.enumerate())


@SIGNALS
class TestStopping:
    """Signals to a serving process."""

    @staticmethod
    def busy(live: Live, threads: ThreadPoolExecutor, seconds: float) -> Any:
        """Return a request that is being answered now, which takes that many seconds."""
        live.call("PUT", "/-/faults", [{"match": "POST /products", "delay": seconds, "times": 1}])
        request = threads.submit(live.call, "POST", "/products", {"name": "P"})
        while not request.done() and live.call("GET", "/-/faults")[1][0]["times"]:
            pass
        return request

    @each("number", [signal.SIGTERM, signal.SIGINT])
    def test_signal_ends_it_with_0_after_what_runs(self, tmp_path, number):
        with Live(tmp_path, "--token", "t", "--control") as live, ThreadPoolExecutor(1) as threads:
            request = self.busy(live, threads, 0.3)
            live.process.send_signal(number)
            assert request.result()[0] == 201
            assert live.process.wait(30) == 0
        with contextlib.closing(Client(tmp_path / "pm.db")) as again:
            assert again.get("/products")["total"] == 1

    @staticmethod
    @contextlib.contextmanager
    def unread(folder: Path) -> Any:
        """Yield a server, and a connection on which a list of 600 bugs waits to be read."""
        bugs = [{"product": 1, "title": "B", "steps": "x" * 9999}] * 600  # more than sockets buffer
        (folder / "f.json").write_text(json.dumps({"products": [{"name": "P"}], "bugs": bugs}))
        live = Live(folder, "--token", "t", "--control", "--load", "f.json")
        with live, contextlib.closing(live.connect()) as connection:
            connection.sock = socket.socket()
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            connection.sock.connect((connection.host, connection.port))
            connection.request("GET", "/products/1/bugs?limit=1000", headers={"Token": "t"})
            assert live.call("GET", "/-/journal?path=/products/1/bugs&count=1&wait=30")[0] == 200
            yield live, connection

    def test_answer_that_is_on_its_way_is_sent_to_its_end(self, tmp_path):
        with self.unread(tmp_path) as (live, connection):
            live.process.send_signal(signal.SIGTERM)
            with pytest.raises(subprocess.TimeoutExpired):
                live.process.wait(0.3)  # it waits for this client to read
            assert len(json.loads(connection.getresponse().read())["bugs"]) == 600
            connection.close()
            assert live.process.wait(30) == 0

    def test_clients_that_have_connected_are_answered_though_it_stops_before_it_has_seen_them(self):
        with (
            pmservice.listen("127.0.0.1", 0) as listener,
            contextlib.closing(pmservice.create_app(token="t")) as service,
            contextlib.ExitStack() as stack,
        ):
            server = pmservice.Server(service, listener)
            waiting = [connection_to(server.url) for _ in range(5)]
            for connection in waiting:
                stack.enter_context(contextlib.closing(connection))
                connection.request("GET", "/products", headers={"Token": "t"})
            server.stop()
            server.quiet_time = pmservice.QUIET
            server.run()
            for connection in waiting:
                answer = connection.getresponse()
                assert (answer.status, json.loads(answer.read())["total"]) == (200, 0)

    def test_second_signal_ends_it_at_once(self, tmp_path):
        with self.unread(tmp_path) as (live, connection):
            live.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(ConnectionError):
                while True:  # until the first signal is handled: connections are refused then
                    with contextlib.closing(live.connect()) as knocking:
                        knocking.connect()
            live.process.send_signal(signal.SIGTERM)
            assert live.process.wait(30) == -signal.SIGTERM
            with pytest.raises((ConnectionError, http.client.IncompleteRead)):
                connection.getresponse().read()


class TestLog:
    @each("flag", ["--verbose", "--log-json"])
    def test_each_request_is_a_line_with_its_id_and_no_secret(self, tmp_path, flag):
        secrets = ["tok-en-of-the-operator", "pass-of-admin", "pass-of-dev", "not-a-token"]
        with Live(tmp_path, flag, "--token", secrets[0], "--password", secrets[1]) as live:
            operator = {"Token": secrets[0]}
            calls = [
                ("POST", "/tokens", {"account": "admin", "password": secrets[1]}, {}, 201, "-"),
                (
                    "POST",
                    "/users",
                    {"account": "dev1", "password": secrets[2]},
                    operator,
                    201,
                    "admin",
                ),
                ("GET", "/products", None, {"Token": secrets[3]}, 401, "-"),
                ("GET", "/nothing", None, operator, 404, "-"),
                ("GET", f"/products?token={secrets[0]}", None, {}, 401, "-"),
                (
                    "POST",
                    "/tokens",
                    f'{{"account": "admin", "password": "{secrets[1]}"'.encode(),
                    {},
                    400,
                    "-",
                ),
            ]
            answers = b""
            numbers = []
            for method, path, body, headers, status, _ in calls:
                with contextlib.closing(live.connect()) as connection:
                    connection.request(
                        method, path, body if isinstance(body, bytes) else json.dumps(body), headers
                    )
                    answer = connection.getresponse()
                    assert answer.status == status
                    shown = json.loads(answer.read())
                    secrets.append(shown.pop("token", secrets[0]))
                    answers += json.dumps(shown).encode()
                    numbers.append(answer.getheader("X-Request-Id"))
        logged = [
            line for line in live.told.splitlines() if f"at {live.url};" not in line
        ]  # without the greeting
        assert len(set(numbers)) == len(logged) == len(calls)
        for line, number, (method, path, _, _, status, account) in zip(
            logged, numbers, calls, strict=True
        ):
            if flag == "--log-json":
                entry = json.loads(line)
                wanted = dict(
                    method=method,
                    path=path.partition("?")[0],
                    status=status,
                    account=account,
                    id=number,
                )
                assert {name: entry[name] for name in wanted} == wanted
                assert (entry["level"], entry["duration"] > 0) == ("info", True)
                assert datetime.fromisoformat(entry["time"]).tzinfo
            else:
                path = path.partition("?")[0]
                assert re.fullmatch(
                    rf"\d\d:\d\d:\d\d {method} {path} {status} [0-9.]+ ms {account} {number}", line
                )
        kept = (
            b"".join(file.read_bytes() for file in tmp_path.iterdir())
            + (live.rest + live.told).encode()
            + answers
        )
        assert not [secret for secret in secrets if secret.encode() in kept]

    def test_quiet_unless_asked(self, tmp_path):
        with Live(tmp_path, "--token", "tok-en", "--password", "pass-word") as live:
            live.call("GET", "/nothing")
        assert re.search("\n.|tok-en|pass-word", live.told) is None

    @TERMINALS
    @each(
        ("environment", "lines"),
        [({}, 1), ({"VERBOSE": "no"}, 0), ({"VERBOSE": "no", "LOG_JSON": "yes"}, 0)],
    )
    def test_at_a_terminal_each_request_is_a_line_unless_it_is_turned_off(
        self, tmp_path, environment, lines
    ):
        with AtTerminal(tmp_path, "--password", "pass-word", **environment) as live:
            live.call("GET", "/programs")
        logged = re.findall(
            r"^\d\d:\d\d:\d\d GET /programs 401 [0-9.]+ ms - \S+$", live.told, re.MULTILINE
        )
        assert (len(logged), live.told.count("/programs")) == (lines, lines)

    def test_a_warning_tells_its_time(self, tmp_path):
        (tmp_path / "f.json").write_text('{"products": [{"name": "P"}]}')
        with Live(tmp_path, "--token", "t", "--load", "f.json"):
            pass
        with Live(tmp_path, "--token", "t", "--load", "f.json") as again:
            assert again.call("GET", "/products")[1]["total"] == 1
        assert re.search(r"^\d\d:\d\d:\d\d pm\.db holds records already", again.told, re.MULTILINE)


class TestWhatIsShown:
    def test_path_neither_breaks_a_line_of_the_log_nor_turns_the_terminal(self, tmp_path):
        with Live(tmp_path, "--verbose", "--token", "t") as live:
            live.call("GET", "/a%0aGET%20/-/reset%1b%5b31m")
        logged = re.findall("^[0-9:]{8} (.*) 404 .*$", live.told, re.MULTILINE)
        assert logged == [r"GET /a\nGET /-/reset\x1b[31m"]


class TestNonBlockingHandler:
    def test_want_of_memory_stops_the_service_once(self, monkeypatch):
        raised = []
        monkeypatch.setattr(signal, "raise_signal", raised.append)
        monkeypatch.setattr(pmservice.NonBlockingHandler, "memory_ran_out", False)
        with open(os.devnull, "w") as stream:
            logger, handler = logging.Logger("x"), pmservice.NonBlockingHandler(stream)
            logger.addHandler(handler)
            for error in (ValueError(), MemoryError(), MemoryError()):
                logger.error("failed", exc_info=error)
        assert (raised, pmservice.NonBlockingHandler.memory_ran_out) == ([signal.SIGTERM], True)

    @posix("Windows cannot tell whether a pipe is full")
    def test_what_nobody_reads_is_dropped(self):
        reader, writer = os.pipe()
        with open(reader, "rb") as reading, open(writer, "w") as writing:
            handler = pmservice.NonBlockingHandler(writing)
            for size in (100, 100_000, 100):
                handler.emit(logging.makeLogRecord({"msg": "x" * size}))
            writing.close()
            assert reading.read().startswith(b"x" * 100 + b"\n" + b"x" * 4096)

    def test_what_cannot_be_written_is_no_error(self):
        reader, writer = os.pipe()
        with (
            contextlib.suppress(OSError),
            open(writer, "w") as writing,
        ):  # closing it writes what is left
            os.close(reader)
            handler = pmservice.NonBlockingHandler(writing)
            handler.emit(logging.makeLogRecord({"msg": "x"}))
        handler.emit(logging.makeLogRecord({"msg": "x"}))

    def test_without_select_on_files_lines_are_written_plainly(self, monkeypatch):
        monkeypatch.delattr(select, "PIPE_BUF", raising=False)  # as on Windows
        monkeypatch.setattr(select, "select", pytest.fail)
        reader, writer = os.pipe()
        with (
            open(reader, encoding="utf-8") as reading,
            open(writer, "w", encoding="utf-8") as writing,
        ):
            handler = pmservice.NonBlockingHandler(writing)
            handler.emit(logging.makeLogRecord({"msg": "Päper"}))
            writing.close()
            handler.emit(logging.makeLogRecord({"msg": "lost"}))
            assert reading.read() == "Päper\n"

    @posix("Windows has no POSIX shell")
    def test_without_stderr_it_serves_and_stdout_has_the_url_alone(self, tmp_path):
        command = f"exec '{sys.executable}' '{HERE / 'pmservice.py'}' --verbose --port 0 2>&-"
        with subprocess.Popen(
            command, shell=True, cwd=tmp_path, stdout=subprocess.PIPE, text=True
        ) as process:
            url = process.stdout.readline().strip()
            with contextlib.closing(connection_to(url)) as connection:
                assert ask(connection, "GET", "/products")[0] == 401
            process.send_signal(signal.SIGTERM)
            assert (process.stdout.read(), process.wait(30)) == ("", 0)


class TestInTests:
    """The fixtures and the mark that this package gives to pytest."""

    def test_running_serves_on_a_free_port_until_the_context_ends(self):
        threads = threading.active_count()
        with pmservice.running(load=WORLD, token="t") as one, pmservice.running() as two:
            assert isinstance(one.app, pmservice.Service)
            for served, total in ((one, 2), (two, 0)):
                with contextlib.closing(connection_to(served.url)) as connection:
                    assert (
                        ask(connection, "GET", "/products", Token=served.token)[1]["total"] == total
                    )
            assert one.url != two.url
        assert threading.active_count() == threads
        with pytest.raises(ConnectionRefusedError):
            connection_to(one.url).connect()

    def test_running_that_cannot_start_leaves_nothing(self, tmp_path):
        threads = threading.active_count()
        with pytest.raises(pmservice.StartError), pmservice.running(tmp_path):
            pass
        assert threading.active_count() == threads

    def test_five_lines_use_the_fixtures_and_the_mark(self, pytester):
        pytester.makefile(
            ".json", seed=json.dumps({"products": [{"name": "Seeded", "acl": "open"}]})
        )
        pytester.makepyfile(r"""
            import json, pytest, urllib.request, webtest

            def call(served, path, *body):
                return json.load(urllib.request.urlopen(urllib.request.Request(served.url + path, *body, headers={"Token": served.token})))

            @pytest.mark.parametrize("run", [1, 2])
            def test_a_product_is_listed(pmservice, run):
                assert call(pmservice, "/products", b'{"name": "Shop"}')["id"] == 1

            @pytest.mark.pmservice(load="seed.json", now="2026-01-05T09:00:00Z")
            class TestSeeded:
                def test_service(self, pmservice):
                    assert call(pmservice, "/products")["products"][0]["name"] == "Seeded"
                    assert call(pmservice, "/products", b'{"name": "Shop"}')["createdDate"] == "2026-01-05T09:00:00Z"

                @pytest.mark.pmservice(now="2026-01-06 18:00:00", token="mine", timezone="Asia/Shanghai")
                def test_app(self, pmservice_app):
                    app = webtest.TestApp(pmservice_app)
                    answer = app.post_json("/products", {"name": "Shop"}, headers={"Token": "mine"}).json
                    assert (answer["id"], answer["createdDate"]) == (2, "2026-01-06T10:00:00Z")
        """)
        outcome = pytester.runpytest_inprocess(
            "--strict-markers", "-W", "ignore::DeprecationWarning"
        )
        outcome.assert_outcomes(passed=4)
        outcome = pytester.runpytest_inprocess("--markers")
        outcome.stdout.fnmatch_lines(["@pytest.mark.pmservice(load=*"])
        outcome = pytester.runpytest_inprocess("--fixtures")
        for name in ("pmservice", "pmservice_shared", "pmservice_app", "pmservice_settings"):
            outcome.stdout.re_match_lines(
                [rf"{name}( \[session scope\])? -- ", r"    (Serve|Create|Return) "]
            )

    def test_example_of_the_readme_passes(self, pytester):
        (example,) = re.findall(r"## In tests.*?```python\n(.*?)```", README, re.DOTALL)
        pytester.makepyfile(example)
        pytester.runpytest_inprocess("-W", "error").assert_outcomes(passed=1)

    def test_report_of_a_failed_test_shows_the_calls_that_were_answered(self, pytester):
        pytester.makepyfile(r"""
            import pmservice as module, webtest

            def test_before(pmservice_shared):
                pmservice_shared.get("/programs")

            def test_refused(pmservice, pmservice_shared):
                pmservice_shared.get("/user?x=1")
                pmservice.fail("GET /products", status=500, times=1)
                pmservice.call("GET", "/products")
                with module.running() as own:
                    own.post("/programs", {"name": "Alpha", "begin": "2026-01-05", "end": "2026-12-31", "progam": 1})
                pmservice.call("POST", "/products", b"{\x1b[31m\n'name': 'Shop', 'token': 'hush'}")
                pmservice.reset()
                assert pmservice.call("POST", "/products", {"name": ""}).status == 201

            def test_many(pmservice):
                for _ in range(25):
                    pmservice.call("GET", "/products")
                pmservice.post("/programs", {})

            def test_without_a_call(pmservice):
                assert not pmservice

            def test_application(pmservice_app):
                webtest.TestApp(pmservice_app).get("/programs", headers={"Token": pmservice_app.token})
                raise ValueError
        """)
        outcome = pytester.runpytest_inprocess("-W", "ignore::DeprecationWarning")
        outcome.assert_outcomes(passed=1, failed=4)
        text = re.sub(
            r"\d\d:\d\d:\d\d\.\d{3} ", "AT ", re.sub(r"\d+\.\d ms", "MS", outcome.stdout.str())
        )
        sections = re.findall(
            r"^-+ pmservice at http://127.0.0.1:\d+: (\d+) calls? -+\n(.*?)\n(?=[-_=]{5})",
            text,
            re.MULTILINE | re.DOTALL,
        )
        assert sections[0] == ("1", "AT GET /user?x=1 200 MS admin\n    ignored ?x")
        assert sections[1] == ("3", "\n".join([
            "AT GET /products 500 MS -", "    fault   GET /products",
            "AT POST /products 400 MS admin", "    body    {\\x1b[31m\\n'name': 'Shop', 'token***", "    error   The body must be JSON, but line 1, column 2",
            "AT POST /products 400 MS admin", '    body    {"name":""}', "    error   name must be 1 to 255 characters, not blank.",
        ]))  # fmt: skip
        assert sections[2][0] == "1"
        assert "    ignored progam" in sections[2][1]
        assert sections[3] == (
            "26",
            "\n".join(
                [
                    "… 6 earlier calls",
                    *["AT GET /products 200 MS admin"] * 19,
                    *sections[3][1].splitlines()[20:],
                ]
            ),
        )
        assert "AT POST /programs 400 MS admin" in sections[3][1]
        assert len(sections) == 4
        assert re.search(
            r"^-+ pmservice: 1 call -+\nAT GET /programs 200 MS admin$", text, re.MULTILINE
        )
        outcome.stdout.fnmatch_lines(
            ["E *assert 400 == 201", 'E *where 400 = <400 {"error":"name must be *>.status']
        )
        outcome.stdout.fnmatch_lines(
            ["E *CallError: POST /programs was answered 400: name is required and *"]
        )
        assert "def succeed" not in text

    def test_shared_service_shows_nothing_of_an_earlier_test(self, pytester):
        pytester.makeconftest("""
            import pytest

            @pytest.fixture(scope="session")
            def pmservice_settings():
                return {"load": {"products": [{"name": "Seeded"}], "users": [{"account": "dev1"}]}, "token": "t"}
        """)
        pytester.makepyfile("""
            import pytest

            urls, tokens = set(), []

            @pytest.fixture(scope="session")
            def whole_session(pmservice_shared):
                return pmservice_shared

            def test_fails(pmservice_shared):
                urls.add(pmservice_shared.url)
                pmservice_shared.put("/users/dev1", {"password": "secret"})
                tokens.append(pmservice_shared.post("/tokens", {"account": "dev1", "password": "secret"})["token"])
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
        """)
        pytester.runpytest_inprocess("-W", "error").assert_outcomes(passed=3, failed=1)

    def test_shared_service_is_reset_for_tests_that_do_not_name_it(self, pytester):
        pytester.makepyfile("""
            import pytest

            @pytest.fixture(params=["pmservice_shared"])
            def service(request):
                return request.getfixturevalue(request.param)

            @pytest.fixture(scope="module", autouse=True)
            def clock(request):
                request.getfixturevalue("pmservice_shared").freeze("2020-01-01T00:00:00Z")

            @pytest.mark.parametrize("run", [1, 2])
            def test(service, run):
                assert service.get("/products")["total"] == 0
                assert service.get("/-/clock")["frozen"] == (run == 1)
                service.post("/products", {"name": "Shop"})

            def test_other():
                pass
        """)
        pytester.runpytest_inprocess("-W", "error").assert_outcomes(passed=3)

    def test_file_to_load_is_beside_the_test_whose_mark_names_it(self, pytester):
        for folder in (pytester.path, pytester.mkdir("inner")):
            (folder / "seed.json").write_text(json.dumps({"products": [{"name": folder.name}]}))
        pytester.makeconftest("""
            import pytest

            @pytest.fixture(scope="session")
            def pmservice_settings():
                return {"load": "seed.json"}
        """)
        (pytester.path / "inner" / "test_inner.py").write_text("""if True:
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
        """)
        pytester.runpytest_inprocess("-W", "error").assert_outcomes(passed=4)

    def test_mark_of_a_module_is_for_those_tests_that_use_the_fixture(self, pytester):
        pytester.makepyfile("""
            import pytest

            pytestmark = pytest.mark.pmservice(now="2026-01-05T09:00:00Z")

            def test_without():
                pass

            def test_both(pmservice, pmservice_shared):
                assert pmservice.get("/-/clock") == {"now": "2026-01-05T09:00:00Z", "frozen": True, "offset": 0}
                pmservice.put("/-/clock", {})
                assert pmservice.get("/-/clock")["now"] > "2026-06"
                pmservice.reset()
                assert pmservice.get("/-/clock")["now"] == "2026-01-05T09:00:00Z"
                assert pmservice_shared.get("/-/clock")["now"] > "2026-06"

            def test_late(request):
                assert request.getfixturevalue("pmservice").get("/-/clock")["frozen"]
        """)
        pytester.runpytest_inprocess("-W", "error").assert_outcomes(passed=3)

    @each(("settings", "sentence"), [
        (dict(token=5), "token must not be empty, nor begin or end with a space, nor contain control characters (got 5)"), (dict(token="a\nb"), "token must not"),
        (dict(password=b"x"), "password must not be empty"), (dict(origin="nonsense"), "origin must be a scheme and a host"), (dict(origin=["http://a"]), "origin must be"),
        (dict(allowed_host="http://a"), "allowed_host must be a name without a port"), (dict(body_limit="x"), "body_limit must be a number above 0 (got 'x')"),
        (dict(token_lifetime=-5), "token_lifetime must be a number above 0"), (dict(clock="x"), "clock must be a function that returns the time with its zone"),
        (dict(clock=lambda: 1), "clock must be"), (dict(clock=datetime.now), "clock must be"), (dict(strict="no"), "strict must be True or False (got 'no')"),
        (dict(control=1), "control must be True or False"), (dict(loopback_only="x"), "loopback_only must be"), (dict(timezone=5), "time zone 5: not known here"),
        (dict(load=5), "load must be a file or a dict (got 5)"), (dict(load=[1]), "load must be"), (dict(now="today"), "now must be a moment, such as 2026"), (dict(now=5), "now must be"),
    ])  # fmt: skip
    def test_wrong_value_of_a_setting_is_one_sentence(self, settings, sentence):
        with pytest.raises(pmservice.StartError, match=f"^{re.escape(sentence)}"):
            pmservice.create_app(**settings)

    @each(
        "settings",
        [
            dict(token=None, password=None, load=None, control=None, now=None),
            dict(body_limit="7", token_lifetime="1.5"),
        ],
    )
    def test_settings_may_be_left_unset_or_written_as_text(self, settings):
        with contextlib.closing(pmservice.create_app(**settings)) as service:
            assert service.body_limit in (7, pmservice.MAX_BODY)

    @each(("mark", "fixture", "sentence"), [
        ('load="sed.json"', "pmservice", "pmservice cannot start: */sed.json: No such file or directory"),
        ('load="bad.json"', "pmservice_app", "pmservice cannot start: */bad.json: products[[]0[]].name is required *"),
        ('lod="seed.json"', "pmservice", "pmservice cannot start: lod is not a setting; did you mean load[?]"),
        ('now="today"', "pmservice", "pmservice cannot start: now must be a moment, such as *"), ('timezone="Mars"', "pmservice_app", "pmservice cannot start: time zone Mars: *"),
        ('"seed.json"', "pmservice", "pmservice cannot start: name the settings: *"),
        ('token="t"', "pmservice_shared", "the mark pmservice is for the fixtures pmservice and pmservice_app; *"),
    ])  # fmt: skip
    def test_wrong_mark_is_one_sentence(self, pytester, mark, fixture, sentence):
        pytester.makefile(".json", bad='{"products": [{}]}')
        pytester.makepyfile(
            f"import pytest\n\n@pytest.mark.pmservice({mark})\ndef test({fixture}): pass"
        )
        outcome = pytester.runpytest_inprocess()
        outcome.assert_outcomes(errors=1)
        outcome.stdout.fnmatch_lines([sentence])
        assert "Traceback" not in outcome.stdout.str()
        assert "During handling" not in outcome.stdout.str()

    def test_seed_is_named_relative_to_the_test_s_file(self, pytester):
        folder = pytester.mkdir("deep")
        (folder / "seed.json").write_text('{"products": [{"name": "Deep"}]}')
        (folder / "test_it.py").write_text(
            'import pytest\n\n@pytest.mark.pmservice(load="seed.json")\ndef test(pmservice):\n'
            '    assert pmservice.get("/products")["products"][0]["name"] == "Deep"\n'
        )
        pytester.runpytest_inprocess().assert_outcomes(passed=1)

    def test_helpers_return_any_json(self):
        with pmservice.running() as served:
            assert served.get("/configurations")[0]["key"] == "language"
            assert served.post("/-/faults", {"match": "GET /x", "status": 503}) == [
                {"match": "GET /x", "status": 503}
            ]
            served.fail("*", body="<html>")
            with pytest.raises(
                pmservice.CallError, match=r"^GET /products was answered 200: <html>$"
            ):
                served.get("/products")
        with pytest.raises(ConnectionError, match=rf"^GET {served.url}/products: "):
            served.get("/products")

    def test_helpers_do_what_the_controls_do(self, tmp_path):
        with pmservice.running(token="t", load=WORLD) as served:
            service = pmservice.Client(served.url, served.token)
            start = service.dump()
            assert service.post("/products", {"name": "Süß"})["name"] == "Süß"
            service.snapshot("a")
            assert service.put("/products/3", {"name": "Other"})["name"] == "Other"
            assert service.delete("/products/3") == {"message": "success"}
            service.restore("a")
            assert service.get("/products/3?fields=ß")["name"] == "Süß"
            service.reset(only_records=True)
            assert lines(service.dump()) == lines(start)
            assert service.load({"products": [{"name": "A"}, {"name": "B"}]}) == 2
            (tmp_path / "one.json").write_text('{"products": [{"name": "C"}]}')
            assert service.load(tmp_path / "one.json") == 1
            service.freeze("2026-01-05T09:00:00Z")
            assert service.post("/products", {"name": "D"})["createdDate"] == "2026-01-05T09:00:00Z"
            service.freeze(datetime(2026, 1, 6, 9, 0, 0, 5, timezone(timedelta(hours=8))))
            assert service.get("/-/clock")["now"] == "2026-01-06T01:00:00Z"
            service.shift(-3600.5)
            assert service.get("/-/clock")["offset"] == -3600.5
            assert [call["path"] for call in service.calls(method="put")] == ["/products/3"]
            assert service.calls(path="/products/*", status=404) == []
            service.clear_calls()
            service.fail("GET /programs", status=503, headers={"Retry-After": 1}, times=1)
            service.fail("GET /products", body="<html>", status=502)
            answer = service.call("GET", "/programs", headers={"X-Mine": "1", "Content-Type": None})
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert answer.json == {"error": "This is the fault 503 that was asked for."}
            assert service.call("GET", "/products").text == "<html>"
            service.clear_faults()
            (call,) = service.wait_for_calls(1, path="/programs")
            assert (call["status"], call["headers"]["X-Mine"], call["fault"]) == (
                503,
                "1",
                "GET /programs",
            )
            assert "Content-Type" not in call["headers"]
            assert service.call("GET", "/products", headers={"Token": None}).status == 401
            service.reset()
            assert lines(service.dump()) == lines(start)
            assert repr(served) == f"<pmservice at {served.url}>"

    @each(("call", "message"), [
        (lambda one: one.get("/prodcts"), "GET /prodcts was answered 404: There is nothing at /prodcts; did you mean /products?"),
        (lambda one: one.post("/products", {}), "POST /products was answered 400: name is required and must be 1 to 255 characters, not blank."),
        (lambda one: one.put("/products/9", {}), "PUT /products/9 was answered 404: There is no product 9."),
        (lambda one: one.delete("/products"), "DELETE /products was answered 405: DELETE is not allowed at /products; allowed: GET, POST."),
        (lambda one: pmservice.Client(one.url, "x").get("/user"), "GET /user was answered 401: Unauthorized. This token is unknown, or it has expired. *"),
        (lambda one: one.restore("a"), "POST /-/snapshots/a/restore was answered 404: There is no snapshot a."),
        (lambda one: one.load({"thing": []}), 'POST /-/load was answered 400: unknown array "thing"; expected one of *'),
        (lambda one: one.freeze("today"), "PUT /-/clock was answered 400: now must be a moment, *"),
        (lambda one: one.fail("*", statu=503), "POST /-/faults was answered 400: statu is not known here; did you mean status?"),
        (lambda one: one.wait_for_calls(1, seconds=0), "GET /-/journal* was answered 409: 0 calls match, not 1; nearest: none."),
        (lambda one: one.calls(pth="/products"), "GET /-/journal* was answered 400: pth is not known here; did you mean path?"),
    ])  # fmt: skip
    def test_helper_that_is_refused_says_why(self, call, message):
        with pmservice.running() as served, pytest.raises(pmservice.CallError) as refused:
            call(served)
        assert fnmatch.fnmatchcase(str(refused.value), message.replace("?", "[?]")), str(
            refused.value
        )
        assert refused.value.answer.status >= 400

    @each(
        ("body", "words"),
        [
            ("<html>" + "x" * 400, "<html>" + "x" * 294 + "…"),
            ([1], "[1]"),
            ({"error": None}, '{"error":null}'),
            ({"message": "x"}, '{"message":"x"}'),
            ("", ""),
        ],
    )
    def test_helper_that_is_refused_by_something_else_shows_its_answer(self, body, words):
        with pmservice.running() as served:
            served.fail("*", status=502, body=body)
            with pytest.raises(pmservice.CallError) as refused:
                served.get("/products")
        assert str(refused.value) == f"GET /products was answered 502: {words}"

    def test_service_imports_no_pytest(self, tmp_path):
        script = (
            "import sys, urllib.request, pmservice\n"
            "with pmservice.running() as served:\n"
            "    urllib.request.urlopen(urllib.request.Request(served.url + '/products', headers={'Token': served.token}))\n"
            "assert not [name for name in sys.modules if name.partition('.')[0] in ('pytest', '_pytest')]"
        )
        subprocess.run([sys.executable, "-c", script], cwd=HERE, check=True, timeout=30)

    def test_module_has_no_other_names_that_come_late(self):
        with pytest.raises(AttributeError, match="no attribute 'pytest_plugins'"):
            _ = pmservice.pytest_plugins


NOISE = random.Random(2).randbytes(4096)


def stdin_of(sent: bytes) -> io.TextIOWrapper:
    """Return a stdin that holds these bytes, in an encoding that cannot read them."""
    return io.TextIOWrapper(io.BytesIO(sent), encoding="ascii")


class TestCommandLine:
    def test_load_and_dump_are_each_other_s_inverse(self, run, tmp_path, monkeypatch):
        (tmp_path / "f.json").write_text(json.dumps(WORLD))
        assert run("load", "f.json")[:2] == (0, "")
        code, dumped, _ = run("dump", "--database", "pm.db")
        assert (code, len(json.loads(dumped)["bugs"])) == (0, 2)
        monkeypatch.setattr(sys, "stdin", stdin_of(dumped.encode()))
        assert "records loaded" in run("--database", "again.db", "load", "-")[2]
        assert run("dump", "--database", "again.db")[1] == dumped

    @each("bom", [b"", b"\xef\xbb\xbf"])
    def test_fixtures_and_bodies_are_utf_8_with_or_without_a_mark_before_them(
        self, run, tmp_path, monkeypatch, bom
    ):
        (tmp_path / "f.json").write_bytes(bom + '{"products": [{"name": "Päper"}]}'.encode())
        assert run("load", "f.json")[2] == "1 records loaded into pm.db\n"
        monkeypatch.setattr(sys, "stdin", stdin_of((tmp_path / "f.json").read_bytes()))
        assert run("load", "-")[2] == "1 records loaded into pm.db\n"
        monkeypatch.setattr(sys, "stdin", stdin_of(bom + '{"name": "Päper"}'.encode()))
        assert run("call", "POST", "/products", "-")[0] == 0
        assert [one["name"] for one in json.loads(run("dump")[1])["products"]] == ["Päper"] * 3

    def test_stdin_that_is_not_utf_8_is_refused(self, run, monkeypatch):
        for arguments in (["load", "-"], ["call", "POST", "/products", "-"]):
            monkeypatch.setattr(sys, "stdin", stdin_of(b'{"name": "P\xe4per"}'))
            assert run(*arguments) == (2, "", "pmservice: stdin must be text in UTF-8\n")

    @each("encoding", ["cp437", "ascii"])
    def test_output_is_utf_8_whatever_the_system_s_encoding_is(self, tmp_path, encoding):
        fixture = json.dumps({"products": [{"name": "Päper ✓"}]}, ensure_ascii=False).encode()
        (tmp_path / "✓.json").write_bytes(fixture)
        for arguments in (
            ["load", "✓.json"],
            ["call", "GET", "/products"],
            ["dump"],
            ["check", "--database", "✓.db"],
        ):
            done = subprocess.run(
                [sys.executable, HERE / "pmservice.py", *arguments],
                cwd=tmp_path, capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding},
            )  # fmt: skip
            assert (arguments[0] in ("load", "check")) or "Päper ✓".encode() in done.stdout
        assert done.stderr.decode().startswith("pmservice: ✓.db: there is no such database")

    def test_password_of_admin_is_nobody_else_s(self, run, tmp_path):
        assert run("--password", "of-admin", "user", "dev1", "--realname", "Dan")[0] == 0
        code, _, told = run("user", "admin", "--password", "")
        assert (code, told) == (
            2,
            "pmservice: password must be 1 to 65536 characters, not blank.\n",
        )
        with contextlib.closing(Client(tmp_path / "pm.db")) as client:
            assert client.sql("SELECT account FROM user WHERE password IS NOT NULL") == []

    @each("arguments", [
        ["--control", "off"], ["--token", " t"], ["--token", "a\nb"], ["--password", " "], ["--demo", "--load", "f.json"], ["dump"], ["check"],
        ["call", "POST", "/products", '{"name": "\udcff"}'],
    ])  # fmt: skip
    def test_what_makes_no_sense_is_one_line(self, run, tmp_path, monkeypatch, arguments):
        (tmp_path / "pm.db").write_bytes(b"")
        if arguments[0] == "--control":
            monkeypatch.setenv("PMSERVICE_CONTROL", "maybe")
            arguments = []
        code, out, told = run("--port", "0", *arguments)
        assert (code, out, told.count("\n")) == (2, "", 1)

    @each(("word", "status"), [("off", 404), ("No", 404), ("on", 200), ("1", 200), ("", 404)])
    def test_words_for_yes_and_no(self, tmp_path, word, status):
        with Live(tmp_path, "--token", "t", CONTROL=word) as live:
            assert live.call("GET", "/-/clock")[0] == status

    def test_reading_commands_wait_for_no_writer(self, connections, run, tmp_path):
        def impatient(connection: sqlite3.Connection, sql: str) -> None:
            if sql.startswith("BEGIN IMMEDIATE"):
                connection.execute("PRAGMA busy_timeout = 0")

        connections.before = impatient
        with (
            contextlib.closing(Client(tmp_path / "pm.db")) as client,
            client.service.database.writing(),
        ):
            assert (
                run("check")[0]
                == run("backup", "copy.db")[0]
                == run("call", "GET", "/products")[0]
                == 0
            )
            code, _, told = run("user", "dev1")
            assert (code, told) == (2, "pmservice: The database is busy; try again.\n")

    @each("fixture", ['{"bugs": ' + "[" * 99_999, "{[]: 1}", "[]", '{"bugs": [1]}', "\xff"])
    @each("arguments", [["load", "f.json"], ["--port", "0", "--load", "f.json"]])
    def test_fixture_that_cannot_be_loaded_is_one_line(self, run, tmp_path, fixture, arguments):
        (tmp_path / "f.json").write_bytes(fixture.encode("latin-1"))
        code, out, told = run(*arguments)
        assert (code, out, told.count("\n")) == (2, "", 1)
        assert told.startswith("pmservice: f.json: ")

    def test_loading_stops_with_the_service(self, tmp_path):
        fixture = {"products": [{"name": "P"}] * 5}
        with contextlib.closing(Client(tmp_path / "pm.db")) as client:
            with pytest.raises(pmservice.StartError, match="stopped"):
                pmservice.load_text(
                    client.service.database, json.dumps(fixture), "fixture", lambda: True
                )
            assert client.get("/products")["total"] == 0

    def test_backup_that_fails_leaves_no_copy(self, run, tmp_path, monkeypatch):
        def broken(database: pmservice.Database) -> Any:
            raise sqlite3.OperationalError("disk I/O error")

        pmservice.create_app(tmp_path / "pm.db").close()
        monkeypatch.setattr(pmservice.Database, "reading", broken)
        assert run("backup", "copy.db") == (
            2,
            "",
            "pmservice: copy.db: disk I/O error; nothing was copied\n",
        )
        assert not (tmp_path / "copy.db").exists()

    def test_without_its_tables_it_says_where_they_belong(self, tmp_path):
        shutil.copy(HERE / "pmservice.py", tmp_path)
        ended = subprocess.run(
            [sys.executable, "pmservice.py", "--port", "0"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert (ended.returncode, ended.stdout) == (2, "")
        assert re.fullmatch(
            r"pmservice: .*schema\.sql: .*; it belongs beside pmservice\.py\n", ended.stderr
        )

    def test_user_is_made_and_changed(self, run, tmp_path):
        assert (
            "created"
            in run("user", "boss", "--realname", "B", "--password", "secret", "--admin")[2]
        )
        assert "changed" in run("user", "boss", "--realname", "Bo")[2]
        with contextlib.closing(Client(tmp_path / "pm.db")) as client:
            client.token = client.login("boss")
            assert client.product(PO="boss")["PO"] == {
                "id": 2,
                "account": "boss",
                "avatar": "",
                "realname": "Bo",
            }

    def test_version_is_shown(self, capsys):
        with pytest.raises(SystemExit, match="0"):
            pmservice.main(["--version"])
        assert capsys.readouterr().out.strip() == pmservice.__version__

    @each(("arguments", "word"), [
        (["load", "absent.json"],                                   "absent.json"),
        (["load", "wrong.json"],                                    r"wrong.json: bugs\[0\]\.title"),
        (["load", "binary.json"],                                   "binary.json"),
        (["--load", "wrong.json", "--port", "0"],                   r"wrong.json: bugs\[0\]\.title"),
        (["--load", "absent.json", "--port", "0"],                  "absent.json"),
        (["dump", "--database", "absent.db"],                       "absent.db"),
        (["dump", "--database", "foreign.db"],                      "foreign.db"),
        (["--database", "foreign.db", "--port", "0"],               "foreign.db: .*another program"),
        (["--database", "newer.db", "--port", "0"],                 "newer.db: .*newer"),
        (["--database", "empty.db", "--port", "0"],                 "empty.db: .*another program"),
        (["--database", "garbage.db", "--port", "0"],               "garbage.db"),
        (["--database", "folder", "--port", "0"],                   "folder"),
        (["--database", "absent/pm.db", "--port", "0"],             "absent/pm.db"),
        (["--port", "TAKEN"],                                       "cannot listen on .*: address already in use; pick"),
        (["--port", "99999"],                                       "port"),
        (["--port", "http"],                                        "--port"),
        (["--token-lifetime", "long"],                              "--token-lifetime"),
        (["--timezone", "Mars/Olympus", "--port", "0"],             "Mars/Olympus"),
        (["--host", "0.0.0.0", "--port", "0"],                      "--token or --password"),
        (["--host", "::", "--port", "0"],                           "--token or --password"),
        (["--host", "host.invalid", "--port", "0", "--token", "t"], "host.invalid"),
        (["user", "a b"],                                           "account"),
        (["user", "dev1", "--password"],                            "--password"),
        (["--body-limit", "0"],                                     "--body-limit"),
    ])  # fmt: skip
    def test_what_cannot_be_done_is_one_line_and_2_and_changes_nothing(
        self, run, tmp_path, arguments, word
    ):
        (tmp_path / "folder").mkdir()
        (tmp_path / "wrong.json").write_text(
            '{"products": [{"id": 1, "name": "P"}], "bugs": [{"product": 1}]}'
        )
        (tmp_path / "binary.json").write_bytes(b'{"\xff')
        (tmp_path / "garbage.db").write_bytes(b"no database " * 500)
        newer = "PRAGMA application_id = 1886221174; PRAGMA user_version = 99"
        empty = "PRAGMA application_id = 7"
        for name, script in (
            ("foreign.db", "CREATE TABLE t (x)"),
            ("newer.db", newer),
            ("empty.db", empty),
        ):
            with contextlib.closing(sqlite3.connect(tmp_path / name)) as other:
                other.executescript(script)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            before = {file: file.read_bytes() for file in tmp_path.glob("*.*")}
            code, out, told = run(
                *(str(taken.getsockname()[1]) if one == "TAKEN" else one for one in arguments)
            )
        assert (code, out.rpartition("http://127.0.0.1:")[0]) == (2, "")
        assert re.fullmatch(f"pmservice: .*{word}.*\n", told)
        assert {file: file.read_bytes() for file in before} == before

    def test_environment_is_read_for_what_no_flag_says(self, run, monkeypatch):
        monkeypatch.setenv("PMSERVICE_PORT", "none")
        assert "'none'" in run("--database", "x.db")[2]
        monkeypatch.setenv("PMSERVICE_DEMO", "yes")
        assert pmservice.resolve({"port": "1"})["demo"] is True

    def test_exit_code_reaches_the_shell(self, tmp_path):
        command = [sys.executable, HERE / "pmservice.py", "dump"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)

    def test_check_finds_a_tampered_count_and_a_broken_link(self, run, tmp_path):
        (tmp_path / "f.json").write_text(json.dumps(WORLD))
        run("load", "f.json")
        assert run("check") == (0, "pm.db is sound: pages, links and counts are right.\n", "")
        kept = Path("pm.db").read_bytes()
        for statement, word in (
            ("UPDATE product_count SET bugs = 9 WHERE product = 1", "product_count: (1, 1, 9,"),
            ("UPDATE total SET records = 9 WHERE list = 'tasks'", "total"),
            ("UPDATE bugs_dated SET opened = 9", "bugs_dated"),
            ("INSERT INTO bugs_dated VALUES (1, 1, 0, 9)", "bugs_dated: (1, 1, 0, 9)"),
            ("DELETE FROM user WHERE account = 'dev1'", "names a row of user that does not exist"),
            ("UPDATE project SET status = 'gone'", "CHECK constraint failed in project"),
        ):  # fmt: skip
            with contextlib.closing(sqlite3.connect("pm.db", isolation_level=None)) as other:
                other.execute("PRAGMA ignore_check_constraints = ON")
                other.execute(statement)
            code, out, _ = run("check")
            assert (code, word in out) == (1, True), out
            Path("pm.db").write_bytes(kept)
        assert run("check")[0] == 0

    def test_backup_has_nothing_that_was_written_while_it_copied(self, run, tmp_path, monkeypatch):
        """A copy that began again after each write would never end beside a busy service."""
        shown, copied = pmservice.show_progress, []

        def write(text: str) -> None:
            if text.endswith("%") and len(copied) < 3:
                copied.append(client.post("/products/1/bugs", **BUG)["id"])
            shown(text)

        with contextlib.closing(Client(tmp_path / "pm.db")) as client:
            bugs = [dict(product=1, title="B", steps="x" * 65_000)] * 600  # three pieces
            client.load(products=[dict(id=1, name="P")], bugs=bugs)
            monkeypatch.setattr(pmservice, "show_progress", write)
            assert run("backup", "copy.db")[0] == 0
        assert len(copied) == 3
        with contextlib.closing(Client(tmp_path / "copy.db")) as copy:
            assert copy.get("/products/1")["bugs"] == 600

    def test_backup_is_of_one_moment_while_others_write(self, run, tmp_path):
        with (
            contextlib.closing(Client(tmp_path / "pm.db")) as client,
            ThreadPoolExecutor(1) as threads,
        ):
            client.load(
                products=[dict(id=1, name="P")],
                bugs=[dict(product=1, title="B", steps="x" * 9999)] * 500,
            )
            stop, written = threading.Event(), threading.Event()

            def write() -> int:
                for number in itertools.count(1):
                    client.post("/products/1/bugs", **BUG)
                    written.set()
                    if stop.is_set():
                        return number

            writer = threads.submit(write)
            written.wait(30)
            for n in range(3):
                assert run("backup", f"copy{n}.db") == (0, "", f"pm.db copied to copy{n}.db\n")
            stop.set()
            total = 500 + writer.result()
        for n in range(3):
            assert run("--database", f"copy{n}.db", "check")[0] == 0
            with contextlib.closing(Client(tmp_path / f"copy{n}.db")) as copy:
                bugs = [id for (id,) in copy.sql("SELECT id FROM bug ORDER BY id")]
                assert bugs == list(range(1, copy.get("/products/1")["bugs"] + 1))
                assert 500 < len(bugs) <= total
        if os.name == "posix":
            assert (tmp_path / "copy0.db").stat().st_mode & 0o777 == 0o600
        taken = "pmservice: copy0.db: File exists; name a file that does not exist yet\n"
        assert run("backup", "copy0.db") == (2, "", taken)

    @each(("arguments", "code", "shown"), [
        (["GET", "/products"],                          0, {"total": 0, "products": []}),
        (["get", "/api.php/v1/products?limit=5"],       0, {"page": 1, "total": 0, "limit": 5, "products": []}),
        (["GET", "/products/9/bugs"],                   1, {"error": "There is no product 9."}),
        (["POST", "/products", "{"],                    1, None),
        (["GET", "/prodcts"],                           1, {"error": "There is nothing at /prodcts; did you mean /products?"}),
        (["PUT", "/products", "{}"],                    1, {"error": "PUT is not allowed at /products; allowed: GET, POST."}),
        (["GET", "/-/clock"],                           1, None),
    ])  # fmt: skip
    def test_call_prints_the_answer_and_exits_with_1_from_400(self, run, arguments, code, shown):
        assert run("user", "admin")[0] == 0  # makes the file, as reading does not
        exit, out, told = run("--log-json", "call", *arguments)
        assert exit == code
        assert json.loads(out) == (shown or json.loads(out))
        assert json.loads(told)["method"] == arguments[0].upper()

    def test_call_takes_its_body_from_the_line_or_stdin(self, run, monkeypatch):
        assert (
            json.loads(run("call", "POST", "/products", '{"name": "Päper"}')[1])["name"] == "Päper"
        )
        monkeypatch.setattr(sys, "stdin", stdin_of(b'{"name": "Two"}'))
        assert json.loads(run("call", "POST", "/products", "-")[1])["id"] == 2
        assert [one["name"] for one in json.loads(run("dump")[1])["products"]] == ["Päper", "Two"]

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def test_long_work_shows_progress_on_a_terminal(self, run, tmp_path, monkeypatch):
        (tmp_path / "f.json").write_text(json.dumps({"products": [{"name": "P"}] * 1001}))
        for command, words in (
            ("load f.json", "1,000 records"),
            ("backup copy.db", "100 %"),
            ("check", "checking …"),
        ):
            monkeypatch.setattr(sys, "stderr", self.Terminal())
            assert pmservice.main(command.split()) == 0
            assert words in sys.stderr.getvalue()

    def test_only_serving_logs_requests_at_a_terminal_unasked(self, run, monkeypatch):
        pmservice.create_app("pm.db").close()
        for flags, lines in (([], 0), (["--verbose"], 1)):
            monkeypatch.setattr(sys, "stderr", self.Terminal())
            assert pmservice.main([*flags, "call", "GET", "/products"]) == 0
            assert sys.stderr.getvalue().count("GET /products 200") == lines

    @each(("at", "bytes_there"), [
        (0, bytes(4096)), (16, b"\0\7"), (16, NOISE[:84]), (100, b"\xff" * 3996), (100, NOISE[100:]),  # the first page
        (60, b"\0\0\0\x63"), (68, b"\0\0\0\7"), (68, bytes(4)),  # a newer version, the id of another program, no id
        (0.5, NOISE), (0.5, bytes(4096)), (-4096, NOISE),  # a page in the middle, the last one
        (100, None), (4096, None), (0.5, None), (-1000, None),  # cut off
    ])  # fmt: skip
    def test_damaged_or_strange_database_is_refused_and_left_as_it_is(
        self, run, tmp_path, at, bytes_there
    ):
        with contextlib.closing(Client(tmp_path / "good.db")) as client:
            client.load(**WORLD)
        good = (tmp_path / "good.db").read_bytes()
        at = len(good) // 8192 * 4096 if at == 0.5 else at % len(good)
        bad = (
            good[:at]
            if bytes_there is None
            else good[:at] + bytes_there + good[at + len(bytes_there) :]
        )
        (tmp_path / "bad.db").write_bytes(bad)
        for arguments in (["dump"], ["check"], ["call", "GET", "/products"], ["--port", "0"]):
            code, out, told = run("--database", "bad.db", *arguments)
            assert (code, out, told.count("\n")) == (2, "", 1), (arguments, told)
            assert "bad.db" in told
            assert (tmp_path / "bad.db").read_bytes() == bad

    @each("byte", [b"\xff", b"Q", b"\0"])
    @each("text", [b"CREATE TABLE bug", b"CREATE TRIGGER", b"CREATE INDEX", b"tablebugbug"])
    def test_damaged_text_of_the_schema_is_named_as_such(self, run, tmp_path, text, byte):
        pmservice.create_app(tmp_path / "pm.db").close()
        (tmp_path / "f.json").write_text("{}")
        good = (tmp_path / "pm.db").read_bytes()
        bad = good.replace(text, text[:3] + byte + text[4:])  # everywhere: some are in unused space
        (tmp_path / "pm.db").write_bytes(bad)
        for command in (
            "check",
            "dump",
            "call GET /products",
            "backup copy.db",
            "load f.json",
            "user new1",
            "--port 0",
        ):
            code, out, told = run(*command.split())
            assert (code, out) == (2, ""), command
            rule = r"pmservice: pm\.db: damaged \(.+\); restore a backup, or name another file with --database\n"
            assert re.fullmatch(rule, told), command
            assert (tmp_path / "pm.db").read_bytes() == bad
        assert sorted(os.listdir()) == ["f.json", "pm.db"]

    def test_name_of_a_strange_file_does_not_make_it_busy(self, tmp_path):
        with contextlib.closing(sqlite3.connect(tmp_path / "locked.db")) as other:
            other.execute("CREATE TABLE a (b)")
        with pytest.raises(pmservice.StartError, match="another program") as refused:
            pmservice.create_app(tmp_path / "locked.db")
        assert not isinstance(refused.value, pmservice.Busy)  # which a start would wait for

    @MODES
    @each(("name", "file_mode", "folder_mode"), [
        ("pm.db", 0o444, 0o777), ("pm.db", 0o444, 0o555), ("new.db", 0o666, 0o555), ("pm.db", 0o666, 0o555),
    ])  # fmt: skip
    def test_database_that_cannot_be_written_is_refused(
        self, run, monkeypatch, name, file_mode, folder_mode
    ):
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as undo:
            monkeypatch.chdir(folder)
            pmservice.create_app("pm.db").close()
            before = Path("pm.db").read_bytes()
            undo.callback(os.chmod, folder, 0o755)
            os.chmod("pm.db", file_mode)
            os.chmod(folder, folder_mode)
            if os.geteuid() == 0:  # root may write everything
                undo.callback(os.seteuid, 0)
                os.seteuid(65534)
            code, out, told = run("--port", "0", "--database", name)
            assert (code, out) == (2, "")
            assert re.fullmatch(f"pmservice: {name}: .*; name another file with --database\n", told)
            assert (os.listdir(), Path("pm.db").read_bytes()) == (["pm.db"], before)

    READING = ("check", "dump", "call GET /products", "call HEAD /products/1")

    @MODES
    @each("is_served", [False, True])
    def test_file_that_can_only_be_read_is_read_and_nothing_is_created(
        self, run, monkeypatch, is_served
    ):
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as undo:
            monkeypatch.chdir(folder)
            with contextlib.closing(Client("pm.db")) as client:
                client.product(name="in the file")
            if is_served:
                live = undo.enter_context(Live(Path(folder), "--token", "t"))
                assert live.call("POST", "/products", {"name": "in the log"})[0] == 201
            before = {path: path.read_bytes() for path in Path().iterdir()}
            undo.callback(os.chmod, folder, 0o755)
            for path in before:
                os.chmod(path, 0o444)
            os.chmod(folder, 0o555)
            if os.geteuid() == 0:  # root may write everything
                undo.callback(os.seteuid, 0)
                os.seteuid(65534)
            answers = {command: run(*command.split()) for command in self.READING}
            for command, (code, _, told) in answers.items():
                assert (code, told) == (0, ""), command
            for command in ("dump", "call GET /products"):
                names = [one["name"] for one in json.loads(answers[command][1])["products"]]
                assert names == ["in the file", *(["in the log"] if is_served else [])]
            assert {path: path.read_bytes() for path in Path().iterdir()} == before

    @MODES
    def test_file_that_can_only_be_read_takes_no_writes(self, run, monkeypatch):
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as undo:
            monkeypatch.chdir(folder)
            pmservice.create_app("pm.db").close()
            before = Path("pm.db").read_bytes()
            undo.callback(os.chmod, folder, 0o755)
            os.chmod("pm.db", 0o444)
            os.chmod(folder, 0o555)
            if os.geteuid() == 0:  # root may write everything
                undo.callback(os.seteuid, 0)
                os.seteuid(65534)
            for command in ("call POST /products {}", "user new1"):
                code, out, told = run(*command.split())
                assert (code, out) == (2, ""), command
                assert re.fullmatch(
                    "pmservice: pm.db: .*; name another file with --database\n", told
                )
            assert (os.listdir(), Path("pm.db").read_bytes()) == (["pm.db"], before)

    @each("is_empty", [False, True])
    @each("command", READING)
    def test_reading_creates_no_database(self, run, command, is_empty):
        if is_empty:
            Path("pm.db").touch()
        told = "pmservice: pm.db: there is no such database; name one with --database\n"
        assert run(*command.split()) == (2, "", told)
        assert os.listdir() == (["pm.db"] if is_empty else [])
        assert not is_empty or os.path.getsize("pm.db") == 0


# --- 19 Pull: the records of a running server ----------------------------------------------------------

# fmt: off
ODD = "  \t\"quoted\" \\ / </p> %s %% {0} \x01\x7f\r\n\u2028\ufeff a\u0301 \u202e \U0001f600 0000-00-00, null [] 汉字 "
FILLED_PROJECT = without(WORLD["programs"][0], "id", "name", "acl", "whitelist")
MORE = {  # records that are hard to copy
    "departments": [dict(id=3, name=ODD, parent=2, manager="gone"), dict(id=7, name="Other", order=3), dict(id=5, name="Inner", parent=7)],
    "users": [
        dict(id=1, account="zoe"), dict(id=30, account="admin", realname="Ada", email="ada@x.org"), dict(id=23, account="10086", realname="Ten", admin=True),
        dict(id=20, account="gone", realname="Gone", email="gone@x.org", deleted=True), dict(id=21, account="left", realname="Left", mobile="12345", deleted=True),
        dict(id=22, account="A_b.c-d@e", realname=ODD, avatar="a.png", role="qa", email="a@x.org", dept=3, type="outside", commiter="c", birthday="1980-02-29", gender="m", skype="s", qq="1",
             mobile="+49 30 1234567", phone="030 1234567", weixin="w", dingding="d", slack="l", whatsapp="p", address=ODD, join="2020-01-01", password=SECRET),
    ],
    "programs": [dict(id=10, name=ODD, parent=1), dict(id=11, name="Deep", parent=10, acl="private", whitelist=["left", "dev1"]), dict(id=12, name="Old", deleted=True)],
    "projects": [
        dict(id=13, name=ODD, parent=11, products=[1, 3, 4], **without(FILLED_PROJECT, "parent")), dict(id=14, name="Of an old program", parent=12, budget=-5, whitelist=["qa1"], products=[3]),
        dict(id=18, name="Deleted", deleted=True),
    ],
    "executions": [
        dict(id=15, name=ODD, project=13, products=[3], type="stage", whitelist=["qa1"], **FILLED_PROJECT), dict(id=16, name="Deleted", project=13, deleted=True), dict(id=17, name="E", project=13, products=[1, 4]),
    ],
    "products": [dict(id=3, name=ODD, program=11, desc=ODD, acl="open", PO="gone", type="branch"), dict(id=4, name="Deleted", program=12, deleted=True)],
    "plans": [
        dict(id=4, title="Above", product=3), dict(id=5, title=ODD, product=3, parent=4, status="closed", closedReason="done", begin="2026-01-01", end="2026-01-01"),
        dict(id=6, title="Deleted", product=3, deleted=True), dict(id=7, title="Deleted below", product=3, parent=4, deleted=True),
    ],
    "stories": [
        dict(id=4, title=ODD, product=3, version=3, spec=ODD, verify="3", status="draft",
             versions=[dict(version=1, title="One", spec="1", verify=""), dict(version=2, title=ODD, spec="", verify=ODD), dict(version=3, title=ODD, spec=ODD, verify="3")],
             reviewers=[dict(account=account, result=result) for account, result in dict(zoe="reject", gone="pass", dev1="", qa1="clarify", pm1="revert").items()]),
        dict(id=5, title="Above", product=3, estimate=4), dict(id=6, title="Below", product=3, parent=5, estimate=1.5),
        dict(id=7, title="Below", product=3, parent=5, estimate=2.5, status="closed", closedReason="duplicate", duplicateStory=9), dict(id=8, title="Of a project", product=3, executions=[13]),
        dict(id=9, title="Deleted", product=3, parent=5, deleted=True, reviewers=[dict(account="left", result="pass")], plans=[6], executions=[17]),
        dict(id=10, title="Of executions", product=3, executions=[13, 15, 16, 17], plans=[4, 5, 7], mailto=["left"]), dict(id=11, title="Need", product=3, type="requirement", status="closed"),
        dict(id=12, title="Of another product", product=2, executions=[14]),
    ],
    "builds": [
        dict(id=3, name=ODD, product=3, project=13, stories=[4, 9], bugs=[3, 4, 5]), dict(id=4, name="B", product=3, execution=15, deleted=True, stories=[8]), dict(id=5, name="B", product=3, execution=15),
    ],
    "releases": [
        dict(id=3, name=ODD, product=3, project=13, build=5, stories="4,9", mailto="dev1,left"), dict(id=4, name="Of a deleted build", product=3, project=13, build=4, buildName="As it was"),
        dict(id=5, name="Without a project", product=3),
    ],
    "bugs": [
        dict(id=3, title=ODD, product=3, steps=ODD, severity=0, deadline="2026-05-05", openedBuild="trunk,3", assignedTo="A_b.c-d@e"), dict(id=5, title="Deleted", product=3, deleted=True, execution=16),
        dict(id=4, title="Resolved", product=3, execution=15, status="resolved", resolution="duplicate", duplicateBug=3, assignedTo="gone"), dict(id=6, title="Of a project", product=3, project=18),
    ],
    "tasks": [
        dict(id=3, name=ODD, project=13, desc=ODD, estimate=0.1, consumed=1e15, left=0.30000000000000004),
        *(dict(id=id, name=state, execution=15, status=state) for id, state in enumerate(WORDS["task", "status"].split(), 4)),
    ],
    "efforts": [dict(id=3, task=3, work=ODD, consumed=1e15, account="gone"), dict(id=4, task=4, consumed=0, left=0.5)],
    "testcases": [
        dict(id=3, title=ODD, product=3, precondition=ODD, stage="unittest,feature", steps=[
            dict(id=9, type="group", desc=ODD, expect=""), dict(id=10, type="item", parent=9, desc="b", expect=ODD), dict(id=12, type="step", desc="c", version=3)]),
        dict(id=4, title="Without steps", product=3),
    ],
    "testtasks": [
        dict(id=3, name=ODD, product=3, execution=15, build="4", testcases=[1, 3, 4], mailto=["gone"]), dict(id=4, name="Of the trunk", product=3, project=13, build="trunk", status="blocked"),
        dict(id=5, name="Deleted", product=3, project=13, deleted=True),
    ],
    "results": [
        dict(id=3, case=3, testtask=5, caseResult="blocked", stepResults=[dict(id=9, desc=ODD, expect="", result="n/a", real=ODD)], lastRunner="left"), dict(id=4, case=3, caseResult="n/a"),
    ],
}
COMPANY = {array: [*WORLD[array], *MORE[array]] for array in WORLD}
NEVER_FILLED = {  # fields of a fixture that no list and no link lets anybody copy, or that cannot be set
    ("programs", "project"), ("programs", "products"), ("projects", "project"), ("tasks", "deleted"), ("releases", "deleted"), ("testcases", "deleted"),
}
SHARED = {  # two products in one project, a third one in another
    "programs": [dict(id=1, name="Above"), dict(id=2, name="Of one", parent=1), dict(id=3, name="Of a project"), dict(id=4, name="Of three")],
    "products": [dict(id=1, name="One", program=2), dict(id=2, name="Two"), dict(id=3, name="Three", program=4)],
    "projects": [dict(id=5, name="Of both", products=[1, 2], parent=3), dict(id=6, name="Of two", products=[2]), dict(id=7, name="Of three", products=[3]), dict(id=8, name="Of a bug")],
    "executions": [dict(id=9, name="Of one", project=5, products=[1]), dict(id=10, name="Of two", project=5, products=[2]), dict(id=11, name="Of three", project=7)],
    "bugs": [*(dict(id=id, title="B", product=id, execution=9, plan=id) for id in (1, 2, 3)), dict(id=4, title="B", product=1, project=8)],
    "stories": [dict(id=id, title="S", product=id, plans=[id], executions=[9]) for id in (1, 2, 3)],
    "testtasks": [dict(id=id, name="T", product=id, execution=8 + id, testcases=[1, 2, 3]) for id in (1, 2, 3)],
    "builds": [dict(id=id, name="B", product=id, execution=8 + id) for id in (1, 2, 3)],
    "tasks": [dict(id=id, name="T", execution=8 + id) for id in (1, 2, 3)],
    "releases": [dict(id=id, name="R", product=id, project=home) for id, home in ((1, 5), (2, 5), (3, 7))],
    **{array: [dict(id=id, title="P", product=id) for id in (1, 2, 3)] for array in ("plans", "testcases")},
    **{array: [{"id": id, name: id} for id in (1, 2, 3)] for array, name in (("efforts", "task"), ("results", "case"))},
}
TWO_LOGINS = {"users": [dict(account=account, password=SECRET) for account in ("admin", "dev1")], "products": [dict(id=1, name="P", acl="open")]}
# fmt: on


def dump_of(served: Any) -> list[str]:
    """Return the lines of a running service's dump, without passwords."""
    text = served.call("GET", "/-/dump").body.decode()
    return re.sub('"password":"[^"]*"', '"password":null', text).split("\n")


def token_of(served: Any, account: str) -> str:
    """Return a new token of a user of a running service, without a login, which would have to hash a password."""
    with served.app.database.writing() as store:
        store.add_person(account)
        return pmservice.give_token(store, account)


def getter(served: Any, token: str) -> Any:
    """Return a function that returns what a GET answers to the owner of a token, without a connection."""
    app = webtest.TestApp(served.app)
    return lambda path: app.get(path, headers={"Token": token}).json


def listed_ids(get: Any) -> dict[str, set[int]]:
    """Return the ids that lists show to a caller, by array: of the lists below every record that one shows, too."""
    shown: dict[str, set[int]] = {array: set() for array in pmservice.FIXTURE}
    departments = get("/departments")
    while departments:
        departments.extend(departments[0].get("children", ()))
        shown["departments"].add(departments.pop(0)["id"])
    arrays = {
        **HOMES_OF,
        **{resource.name: [array] for array, resource in pmservice.FIXTURE.items()},
    }
    asked, before = set(), -1
    while before < len(asked):
        before = len(asked)
        for row in pmservice.OPERATIONS:
            if isinstance(listing := row.shows, pmservice.Listing):
                homes = (
                    sorted(set().union(*(shown[array] for array in arrays[row.target])))
                    if row.target
                    else [0]
                )
                state = "allstory" if "allstory" in listing.browse else "all"
                types = (
                    WORDS["story", "type"].split() if "type" in listing.filter_defaults else [""]
                )
                for home, type in itertools.product(homes, types):
                    words = {
                        "limit": 1000,
                        "status": state if len(listing.browse) > 1 else "",
                        "type": type,
                    }
                    path = f"{row.path.replace('<id>', str(home))}?{urllib.parse.urlencode(words)}"
                    if path not in asked:
                        asked.add(path)
                        shown[listing.view.resource.array] |= set(ids(records_in(get(path))))
    return shown


HOMES_OF = {"execution or project": ["projects", "executions"]}


def same(one: list[str], other: list[str]) -> None:
    """Check that two dumps are the same. Only the first lines that differ are shown: a dump is long."""
    pairs = itertools.zip_longest(one, other)
    assert [(mine, yours) for mine, yours in pairs if mine != yours][:3] == []


@pytest.fixture
def dumped(run):
    """Return a function that returns the lines of a database's dump."""

    def dumped(name: str) -> list[str]:
        code, out, _ = run("dump", "--database", name)
        assert code == 0
        return out.split("\n")

    return dumped


@pytest.fixture
def pull(run, monkeypatch):
    """Return a function that pulls from a service: with its token, unless the environment says otherwise."""
    monkeypatch.setattr(pmservice, "PAUSES", (0, 0))  # before the second and the third attempt
    monkeypatch.setattr(sys, "stdin", stdin_of(b""))  # no terminal

    def pull(
        source: Any, *arguments: str, before: Any = (), **environment: str
    ) -> tuple[int, str, str]:
        url = source if isinstance(source, str) else source.url
        secrets = environment or ({} if isinstance(source, str) else {"TOKEN": source.token})
        for name in ("TOKEN", "PASSWORD"):
            monkeypatch.delenv(f"PMSERVICE_PULL_{name}", raising=False)
        for name, secret in secrets.items():
            monkeypatch.setenv(f"PMSERVICE_PULL_{name}", secret)
        code, out, told = run(*before, "pull", url, *arguments)
        assert not [secret for secret in secrets.values() if secret in out + told]
        return code, out, told

    return pull


def refused(answer: tuple[int, str, str]) -> str:
    """Return the line with which a command was refused, after lines of the log."""
    code, out, told = answer
    assert (code, out) == (2, "")
    *log, line = told.splitlines()
    assert line.startswith("pmservice: ")
    assert all(one.endswith("; trying again") for one in log)
    return line.removeprefix("pmservice: ")


@pytest.fixture(scope="class")
def services():
    """Yield services by name. They serve all tests of a class, because each takes its time to start."""
    with contextlib.ExitStack() as stack:
        yield {
            name: stack.enter_context(
                pmservice.running(load=fixture, clock=lambda: NOW, **settings)
            )
            for name, fixture, settings in (
                ("company", COMPANY, {"timezone": "Asia/Shanghai"}),
                ("shared", SHARED, {}),
                ("small", TWO_LOGINS, {"allowed_host": "127.1"}),
            )
        }


class TestPullOfOurOwn:
    """Copies of what this service serves."""

    @pytest.fixture
    def company(self, services):
        """Return a service that serves COMPANY, as it was at its start."""
        services["company"].reset()
        return services["company"]

    @pytest.fixture
    def shared(self, services):
        """Return a service that serves SHARED."""
        services["shared"].reset()
        return services["shared"]

    @pytest.fixture
    def small(self, services):
        """Return a service with a product, in which admin and dev1 have the password "secret"."""
        services["small"].reset()
        return services["small"]

    @pytest.fixture
    def is_copied(self, pull, dumped):
        """Return a function that checks that a copy of a fixture's records is the same byte for byte."""

        def is_copied(*arguments: str, **fixture: Any) -> None:
            with pmservice.running(load=fixture) as served:
                assert pull(served, *arguments)[0] == 0
                same(dumped("pm.db"), dump_of(served))

        return is_copied

    # Copies

    def test_release_that_names_a_story_twice_is_copied(self, is_copied):
        named = dict(
            stories=[dict(id=1, title="S", product=1)],
            releases=[dict(name="R", product=1, stories="1,1")],
        )
        is_copied(products=[dict(id=1, name="P")], **named)

    def test_company_has_every_field_of_every_array(self, company):
        filled = {
            (array, field)
            for array, records in company.dump().items()
            for record in records
            for field, value in record.items()
            if value not in (None, 0, "", "0", [], False)
        }
        every = {
            (array, field)
            for array, one in pmservice.FIXTURE.items()
            for field in one.fixture.fields
        }
        assert every - filled == NEVER_FILLED

    def test_copy_is_the_same_byte_for_byte_but_for_passwords(self, company, pull, run, dumped):
        assert pull(company, "--database", "copy.db")[0] == 0
        same(dumped("copy.db"), dump_of(company))
        assert run("check", "--database", "copy.db")[0] == 0

    def test_fixture_has_the_bytes_of_a_dump(self, company, pull, run, dumped):
        assert pull(company, "-o", "f.json")[:2] == (0, "")
        written = Path("f.json").read_bytes().decode()
        same(written.split("\n"), dump_of(company))
        assert run("load", "f.json", "--database", "new.db")[0] == 0
        same(dumped("new.db"), dump_of(company))
        assert pull(company, "-o", "again.json")[0] == 0
        assert Path("again.json").read_bytes().decode() == written

    def test_copy_of_a_copy_is_the_same(self, company, pull, dumped):
        assert pull(company, "--database", "copy.db")[0] == 0
        with pmservice.running("copy.db", control=True) as served:
            assert pull(served, "--database", "again.db")[0] == 0
        same(dumped("again.db"), dumped("copy.db"))

    def test_demo_is_copied_byte_for_byte(self, pull, run, dumped):
        with pmservice.running(load=pmservice.demo(NOW), clock=lambda: NOW) as served:
            assert pull(served, "--database", "copy.db")[0] == 0
            same(dumped("copy.db"), dump_of(served))
        assert run("check", "--database", "copy.db")[0] == 0

    def test_what_was_copied_is_counted(self, company, pull):
        told = pull(company, "--database", "copy.db")[2].splitlines()
        counts = {array: str(len(records)) for array, records in company.dump().items()}
        assert [line.split()[:2] for line in told[:-1]] == [list(count) for count in counts.items()]
        assert re.fullmatch(
            rf"Pulled from {company.url} into copy\.db: [0-9]+ requests, [0-9]+ s\.", told[-1]
        )

    def test_terminal_is_shown_how_far_it_is(self, company, pull, monkeypatch):
        monkeypatch.setattr(sys, "stderr", terminal := TestCommandLine.Terminal())
        assert pull(company)[0] == 0
        assert re.search(r" of [0-9,]+, [0-9]+:[0-9]{2} left *\r", terminal.getvalue())
        assert "Pulled from" in terminal.getvalue()
        assert company.token not in terminal.getvalue()

    def test_deleted_user_whose_account_is_a_number_is_copied(self, is_copied):
        number = dict(id=5, account="1234", email="a@x.org", deleted=True)
        is_copied(users=[number], products=[dict(name="P", PO="1234")])

    def test_days_around_the_start_of_1970_are_copied(self, is_copied):
        is_copied(users=[dict(account="dev1", birthday="1970-01-01", join="1969-12-31")])

    def test_deleted_story_of_a_task_is_copied(self, pull, tmp_path):
        stories = [dict(id=9, title="Deleted", product=1, deleted=True)]
        fixture = {
            "products": [dict(id=1, name="P")],
            "projects": [dict(id=1, name="Pr")],
            "stories": stories,
        }
        with pmservice.running(
            load={**fixture, "tasks": [dict(name="T", execution=1, story=9)]}
        ) as served:
            assert pull(served)[0] == 0
            shown = served.get("/tasks/1")
        assert shown["storyTitle"] == "Deleted"
        with contextlib.closing(Client(tmp_path / "pm.db")) as copy:
            assert copy.get("/tasks/1") == shown

    # The rights of the account

    @each("account", ["dev1", "pm1", "only1", "dev2"])
    def test_member_gets_what_lists_show_him_and_no_more(
        self, pull, run, dumped, tmp_path, account
    ):
        with pmservice.running(load=TestWhoSeesWhat.PRIVATE) as served:
            token = token_of(served, account)
            assert pull(served, TOKEN=token)[0] == 0
            shown = listed_ids(getter(served, token))
            whole = dump_of(served)
        with contextlib.closing(Client(tmp_path / "pm.db")) as copy:
            assert listed_ids(copy.get) == shown
        assert run("check")[0] == 0
        (tmp_path / "f.json").write_text("\n".join(dumped("pm.db")), encoding="utf-8")
        assert run("load", "f.json", "--database", "again.db")[0] == 0
        same(dumped("again.db"), dumped("pm.db"))
        assert (dumped("pm.db") == whole) == (TestWhoSeesWhat.SIGHT[account] == "product project")

    def test_text_of_a_record_that_an_account_may_not_see_is_not_in_its_copy(self, pull, dumped):
        with pmservice.running(load=TestWhoSeesWhat.PRIVATE) as served:
            assert pull(served, TOKEN=token_of(served, "dev2"))[0] == 0
        copied = "\n".join(dumped("pm.db"))
        assert '"name":"open"' in copied
        assert not re.search('"(name|title)":"private', copied)

    # Some products

    @each(("products", "ids_of_homes"), [
        ("1",     dict(programs=[1, 2, 3], projects=[5, 8], executions=[9, 10], tasks=[1, 2], bugs=[1, 4])),
        ("3",     dict(programs=[3, 4], projects=[5, 7], executions=[9, 11], tasks=[3], bugs=[3])),
        ("1,3,1", dict(programs=[1, 2, 3, 4], projects=[5, 7, 8], executions=[9, 10, 11], tasks=[1, 2, 3], bugs=[1, 3, 4])),
    ])  # fmt: skip
    def test_products_come_with_what_belongs_to_them_and_what_they_need(
        self, shared, pull, run, dumped, products, ids_of_homes
    ):
        assert pull(shared, "--products", products)[0] == 0
        assert run("check")[0] == 0
        copied = {
            array: ids(records) for array, records in json.loads("\n".join(dumped("pm.db"))).items()
        }
        chosen = sorted({int(id) for id in products.split(",")})
        wanted = dict.fromkeys(
            ("products", "plans", "stories", "testcases", "builds", "testtasks", "releases"), chosen
        )
        wanted |= {
            "users": [1],
            "departments": [],
            "efforts": ids_of_homes["tasks"],
            "results": chosen,
            **ids_of_homes,
        }
        assert copied == wanted

    def test_links_to_other_products_are_unset(self, shared, pull, dumped):
        assert pull(shared, "--products", "1")[0] == 0
        copied = json.loads("\n".join(dumped("pm.db")))
        assert [(one["id"], one["products"]) for one in copied["projects"]] == [(5, [1]), (8, [])]
        assert [(one["id"], one["products"]) for one in copied["executions"]] == [
            (9, [1]),
            (10, []),
        ]
        assert [one["testcases"] for one in copied["testtasks"]] == [[1]]

    def test_all_products_leave_out_only_what_belongs_to_none(self, shared, pull, dumped):
        assert pull(shared, "--products", "1,2,3")[0] == 0
        same(dumped("pm.db"), dump_of(shared))

    def test_deleted_plan_of_a_chosen_product_is_copied(self, is_copied):
        plans = [dict(id=1, title="P", product=1, deleted=True)]
        stories = [dict(id=1, title="S", product=1, plans=[1])]
        is_copied("--products", "1", products=[dict(id=1, name="P")], plans=plans, stories=stories)

    def test_links_that_are_unset_are_counted_where_they_were(self, shared, pull):
        told = pull(shared, "--products", "1")[2]
        unset = "links to products left out, because they were not copied ("
        counts = {line.split()[0]: line.partition(unset)[1] for line in told.splitlines()}
        assert [array for array, words in counts.items() if words] == ["projects", "executions"]

    @each("products", ["9", "1,9", "4503599627370496"])
    def test_product_that_is_not_there_is_named(self, shared, pull, products):
        line = refused(pull(shared, "--products", products))
        assert line == f"this account sees no product {products.split(',')[-1]}"
        assert os.listdir() == []

    def test_product_that_an_account_may_not_see_is_not_there(self, pull):
        with pmservice.running(load={"products": [dict(id=1, name="P", acl="private")]}) as served:
            told = refused(pull(served, "--products", "1", TOKEN=token_of(served, "dev1")))
        assert told == "this account sees no product 1"

    @each(
        "products", ["0", "01", "-1", "1,", ",1", "1,,2", "1, 2", "1;2", "a", "1.0", "١", "1" * 17]
    )
    def test_ids_that_are_none_are_refused(self, shared, pull, products):
        assert refused(pull(shared, f"--products={products}")).startswith(
            "--products must be ids, separated by commas"
        )
        assert (os.listdir(), shared.calls()) == ([], [])

    # Where it goes

    def test_database_is_that_of_the_settings(self, small, pull, dumped, monkeypatch):
        assert "into pm.db" in pull(small)[2]
        monkeypatch.setenv("PMSERVICE_DATABASE", "other.db")
        assert "into other.db" in pull(small)[2]
        assert sorted(os.listdir()) == ["other.db", "pm.db"]
        same(dumped("pm.db"), dump_of(small))
        same(dumped("other.db"), dump_of(small))

    def test_database_that_holds_records_is_refused_before_anything_is_sent(
        self, small, pull, filed_world
    ):
        filed_world.close()
        before = {path: path.read_bytes() for path in Path().iterdir()}
        assert (
            refused(pull(small)) == "pm.db holds records already; name another file with --database"
        )
        assert {path: path.read_bytes() for path in Path().iterdir()} == before
        assert small.calls() == []
        assert pull(small, "-o", "f.json")[0] == 0
        assert {
            path: path.read_bytes() for path in Path().iterdir() if path.name != "f.json"
        } == before

    @each(("before", "after"), [([], ["--database", "x.db"]), (["--database", "x.db"], [])])
    def test_database_and_fixture_together_are_refused(self, small, pull, before, after):
        assert "--database and -o" in refused(pull(small, "-o", "f.json", *after, before=before))
        assert (os.listdir(), small.calls()) == ([], [])

    def test_fixture_is_written_though_the_environment_names_a_database(
        self, small, pull, monkeypatch
    ):
        monkeypatch.setenv("PMSERVICE_DATABASE", "x.db")
        assert pull(small, "-o", "f.json")[0] == 0
        assert os.listdir() == ["f.json"]

    def test_database_without_records_keeps_its_passwords_and_its_users(
        self, company, pull, run, tmp_path
    ):
        assert run("user", "admin", "--password", "mine")[0] == 0
        assert run("user", "local", "--password", "mine", "--realname", "Lo")[0] == 0
        assert pull(company)[0] == 0
        with contextlib.closing(Client(tmp_path / "pm.db")) as copy:
            copy.token = copy.login("admin", "mine")
            assert copy.get("/user")["profile"]["realname"] == "Ada"
            assert copy.login("local", "mine")
            users = {one["account"]: one["id"] for one in copy.dump()["users"]}
        copied = {one["account"]: one["id"] for one in company.dump()["users"]}
        assert users == {**copied, "local": users["local"]}
        assert run("check")[0] == 0

    @each("broken", [
        dict(status=500), dict(status=429, headers={"Retry-After": "0"}), dict(body="<html>"), dict(body={"bugs": 5}), dict(drop=True),
        dict(status=401), dict(status=302, headers={"Location": "https://pm.example.org"}),
    ])  # fmt: skip
    def test_pull_that_fails_leaves_nothing(self, small, pull, broken):
        small.fail("GET /products/*/bugs", **broken)
        refused(pull(small))
        assert os.listdir() == []

    @each("out", ["f.json", "-"])
    def test_pull_that_fails_writes_no_part_of_a_fixture(self, small, pull, out):
        small.fail("GET /products/*/bugs", status=401)
        refused(pull(small, "-o", out))
        assert os.listdir() == []

    def test_pull_that_fails_leaves_a_database_and_a_fixture_as_they_were(
        self, small, pull, run, dumped
    ):
        assert run("user", "local", "--password", "mine")[0] == 0
        Path("f.json").write_text("{}")
        before = dumped("pm.db")
        small.fail("GET /products/*/bugs", status=500)
        for arguments in ((), ("-o", "f.json")):
            refused(pull(small, *arguments))
            assert (dumped("pm.db"), Path("f.json").read_text()) == (before, "{}")
        assert sorted(os.listdir()) == ["f.json", "pm.db"]

    def test_whole_fixture_takes_the_place_of_another(self, small, pull):
        Path("f.json").write_text("x" * 99_999)
        assert pull(small, "-o", "f.json")[0] == 0
        same(Path("f.json").read_bytes().decode().split("\n"), dump_of(small))
        assert os.listdir() == ["f.json"]

    @MODES
    def test_copies_are_for_their_owner_only(self, small, pull):
        assert pull(small)[0] == pull(small, "-o", "f.json")[0] == 0
        assert [os.stat(name).st_mode & 0o777 for name in ("pm.db", "f.json")] == [0o600, 0o600]

    def test_fixture_is_written_to_stdout(self, small, pull):
        code, out, told = pull(small, "-o", "-")
        assert (code, out.split("\n"), os.listdir()) == (0, dump_of(small), [])
        assert "Pulled from" in told

    @each(
        "arguments",
        [["-o", "absent/f.json"], ["--database", "absent/pm.db"], ["-o", "."], ["--database", "."]],
    )
    def test_place_that_cannot_be_written_is_one_line(self, small, pull, arguments):
        assert arguments[1] in refused(pull(small, *arguments))
        assert os.listdir() == []

    @SIGNALS
    @each("arguments", [["--database", "copy.db"], ["-o", "f.json"]])
    def test_pull_that_is_stopped_leaves_nothing(self, small, tmp_path, arguments):
        small.fail("GET /departments", delay=60)
        command = [sys.executable, HERE / "pmservice.py", "pull", small.url, *arguments]
        environment = {**os.environ, "PMSERVICE_PULL_TOKEN": small.token, "TMPDIR": str(tmp_path)}
        with subprocess.Popen(
            command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE
        ) as pulling:
            small.wait_for_calls(1, 30, path="/user")
            pulling.terminate()
            told = pulling.stderr.read()
        assert (pulling.returncode, told) == (128 + signal.SIGTERM, b"")
        assert list(tmp_path.iterdir()) == []

    # Logging in

    @each(("flags", "secrets"), [
        ([], dict(TOKEN="t-1")), ([], dict(PASSWORD="secret")), (["--verbose"], dict(TOKEN="t-1", PASSWORD="wrong-1")), (["--log-json"], dict(PASSWORD="secret")),
    ])  # fmt: skip
    def test_secrets_come_from_the_environment_and_are_shown_nowhere(self, pull, flags, secrets):
        with pmservice.running(load=TWO_LOGINS, token="t-1") as served:
            code, out, told = pull(served, "-o", "-", before=flags, **secrets)
        assert (code, "is not a setting" in told) == (0, False)
        assert '"password":null' in out
        assert not re.search('t-1|secret|wrong-1|scrypt|"password":"', out + told)

    def test_other_account_logs_in_with_its_password(self, small, pull):
        assert pull(small, "--account", "dev1", PASSWORD="secret")[0] == 0
        assert {call["account"] for call in small.calls(method="GET", status=200)} == {"dev1"}

    @each(("secrets", "sentence"), [
        (dict(PASSWORD="wrong-1"),                  "was answered 400 Login failed. Please check your account and password."),
        (dict(TOKEN="wrong-1"),                     "the server refuses the token"),
        (dict(TOKEN="wrong-1", PASSWORD="secret"),  "the server refuses the token"),
    ])  # fmt: skip
    def test_account_that_cannot_log_in_is_one_line(self, small, pull, secrets, sentence):
        assert refused(pull(small, **secrets)).endswith(sentence)
        assert os.listdir() == []

    def test_account_that_does_not_exist_is_refused_like_a_wrong_password(self, small, pull):
        wrong = refused(pull(small, PASSWORD="wrong-1"))
        assert refused(pull(small, "--account", "nobody", PASSWORD="secret")) == wrong

    def test_without_a_secret_and_without_a_terminal_the_variable_is_named(self, small, pull):
        told = refused(pull(small.url))
        assert (
            told == "there is no terminal to ask for the password at; set PMSERVICE_PULL_PASSWORD"
        )
        assert os.listdir() == []

    def test_token_that_expires_is_replaced_if_the_password_is_known(self, small, pull, dumped):
        small.fail("GET /products", status=401, times=1)
        assert pull(small, PASSWORD="secret")[0] == 0
        assert len(small.calls(path="/tokens")) == 2
        same(dumped("pm.db"), dump_of(small))

    def test_token_that_cannot_be_sent_is_refused_without_showing_it(self, small, pull):
        for ending in ("\n", "\r\nX: x", "\x01", "ā"):
            code, out, told = pull(small, TOKEN=f"hidden-1{ending}")
            assert (code, out, told.count("\n")) == (2, "", 1)
            assert ("PMSERVICE_PULL_TOKEN" in told, "hidden-1" in told) == (True, False)

    @TERMINALS
    def test_password_is_asked_for_at_a_terminal_and_not_shown(self, small, tmp_path):
        screen, keyboard = os.openpty()
        command = [
            sys.executable,
            HERE / "pmservice.py",
            "pull",
            small.url,
            "--account",
            "dev1",
            "-o",
            "f.json",
        ]
        with subprocess.Popen(
            command,
            cwd=tmp_path,
            stdin=keyboard,
            stdout=keyboard,
            stderr=keyboard,
            start_new_session=True,
        ) as pulling:
            os.close(keyboard)
            shown = b""
            while b"Password of dev1 at" not in shown:
                shown += os.read(screen, 4096)
            os.write(screen, b"secret\n")
            with contextlib.suppress(OSError):  # the process has closed its end, and all was read
                while piece := os.read(screen, 4096):
                    shown += piece
        os.close(screen)
        assert pulling.returncode == 0
        assert b"Pulled from" in shown
        assert b"secret" not in shown
        same((tmp_path / "f.json").read_bytes().decode().split("\n"), dump_of(small))

    # Encryption

    UNENCRYPTED = "passwords, tokens and records can be read on the way"

    @staticmethod
    def elsewhere(served):
        """Return the URL of a service under a name that does not say that it is on this machine."""
        return served.url.replace("127.0.0.1", "127.1")

    @each(
        "url",
        [
            "http://pm.example.org",
            "HTTP://pm.example.org/zentao",
            "http://10.0.0.1:80",
            "http://localhost.org",
        ],
    )
    def test_other_machine_without_encryption_is_refused(self, pull, url):
        told = refused(pull(url, PASSWORD="secret-1"))
        assert self.UNENCRYPTED in told
        assert "--insecure-http" in told
        assert os.listdir() == []

    def test_nothing_is_sent_without_encryption_unless_it_is_wanted(self, small, pull):
        refused(pull(self.elsewhere(small), TOKEN=small.token))
        assert small.calls() == []
        code, _, told = pull(self.elsewhere(small), "--insecure-http", TOKEN=small.token)
        assert (code, self.UNENCRYPTED in told) == (0, False)

    @each("answer", ["", "\n", "n\n", "yes, no\n", "y\n", " YES \n"])
    def test_person_is_asked_whether_to_go_on_without_encryption(
        self, small, pull, monkeypatch, answer
    ):
        monkeypatch.setattr(sys, "stdin", TestCommandLine.Terminal(answer))
        code, _, told = pull(self.elsewhere(small), TOKEN=small.token)
        assert told.count(f"{self.UNENCRYPTED}. Go on? [y/N] ") == 1
        agreed = answer.strip().lower() in ("y", "yes")
        assert (code, bool(small.calls())) == ((0, True) if agreed else (2, False))
        assert told.endswith("pmservice: nothing was sent\n") != agreed

    # The address

    @each(
        "path",
        ["", "/", "/api.php/v1", "/api.php/v1/", "/zentao", "/zentao/", "/zentao/api.php/v1"],
    )
    def test_interface_is_found_below_the_address(self, small, pull, path):
        code, out, _ = pull(small.url + path, "-o", "-", TOKEN=small.token)
        assert (code, out.split("\n")) == (0, dump_of(small))

    @each("url", [
        "127.0.0.1:8080", "pm.example.org", "//pm.example.org", "/", "", "ftp://pm.example.org", "http:pm.example.org", "http://", "http:///zentao",
        "https://pm.example.org?x=1", "https://pm.example.org#top", "https://pm.example.org/a b", " https://pm.example.org", "https://pm.example.org\n",
        "https://pm.example.org:0", "https://pm.example.org:99999", "https://pm.example.org:http", "https://[::1", "https://pm.exämple.org",
        "https://admin@pm.example.org", "https://admin:secret-1@pm.example.org", "https://pm.example.org\udcff",
    ])  # fmt: skip
    def test_what_is_no_address_is_one_line(self, pull, url):
        assert refused(pull(url, TOKEN="secret-2")).startswith(
            "URL must be an address such as https://"
        )
        assert os.listdir() == []

    def test_password_in_an_address_is_not_shown_again(self, pull):
        assert "secret-1" not in refused(
            pull("https://admin:secret-1@pm.example.org", TOKEN="secret-2")
        )

    def test_server_that_is_none_of_ours_or_not_there_is_one_line(self, small, pull):
        small.fail("GET *", body="<html>")
        assert "is not a server that can be read" in refused(pull(small))
        assert "cannot be reached" in refused(
            pull(f"http://127.0.0.1:{free_port()}", TOKEN="secret-2")
        )
        assert os.listdir() == []

    # Requests

    def test_only_reads_and_the_login_are_sent_over_one_connection(
        self, company, pull, monkeypatch
    ):
        connected, connect = [], http.client.HTTPConnection.connect
        monkeypatch.setattr(
            http.client.HTTPConnection,
            "connect",
            lambda self: (connected.append(self), connect(self)),
        )
        code, _, told = pull(company, "--account", "A_b.c-d@e", PASSWORD="secret")
        assert (code, len(connected)) == (0, 1)
        sent = company.calls()
        assert (
            f" {len(sent)} requests" in told
        )  # no other request, such as a control's, which no journal has
        assert {call["method"] for call in sent} == {"GET", "POST"}
        assert [call["path"] for call in sent if call["method"] == "POST"] == ["/tokens"]
        assert [call["path"] for call in sent if call["status"] == 401] == ["/user"]

    def test_everything_is_read_once(self, company, pull):
        assert pull(company)[0] == 0
        sent = Counter((call["path"], call["query"]) for call in company.calls())
        assert [call for call, times in sent.items() if times > 1] == []

    def test_long_lists_are_read_in_pages_of_at_most_1000(self, pull, dumped):
        bugs = [dict(product=1, title="B")] * 2001
        with pmservice.running(load={"products": [dict(id=1, name="P")], "bugs": bugs}) as served:
            assert pull(served)[0] == 0
            sent = [call["query"] for call in served.calls(path="/products/1/bugs")]
            assert sent == [f"status=all&limit=1000&page={page}" for page in (1, 2, 3)]
            limits = [
                query.get("limit")
                for call in served.calls()
                if (query := dict(urllib.parse.parse_qsl(call["query"])))
            ]
            assert set(limits) == {"1000"}
            same(dumped("pm.db"), dump_of(served))


class TestPartsOfARecord:
    """The query parameter `fields`, which adds to an answer what only a fixture says of a record."""

    PARTS = {  # of the first record of WORLD
        "/stories/1": dict(
            versions=[dict(version=1, title="Story", spec="", verify=""), dict(version=2, title="Story one", spec="<p>s</p>", verify="v")],
            reviewers=[dict(account="dev2", result=""), dict(account="qa1", result="pass")],
            plans=[1],
        ),
        "/projects/2": dict(products=[1, 2]),
        "/executions/3": dict(products=[]),
    }  # fmt: skip
    EVERY = each(("path", "fields"), [(path, ",".join(parts)) for path, parts in PARTS.items()])

    def test_operations_that_show_one_of_these_records_take_it_and_no_others(self):
        asked = {
            path
            for path, item in DOCUMENT["paths"].items()
            for method, operation in item.items()
            if method != "parameters"
            and "fields" in [one["name"] for one in operation.get("parameters", ())]
        }
        assert asked == {re.sub("[0-9]", "{id}", path) for path in self.PARTS}

    @EVERY
    def test_parts_stand_behind_the_record(self, world, path, fields):
        plain, whole = world.get(path), world.get(f"{path}?fields={fields}")
        assert lines(whole) == lines({**plain, **self.PARTS[path]})
        assert list(whole) == [*plain, *fields.split(",")]

    @EVERY
    def test_without_being_asked_for_nothing_is_added(self, world, path, fields):
        plain = world.get(path)
        assert not self.PARTS[path].keys() & plain.keys()
        assert lines(world.get(f"{path}?fields=")) == lines(plain)

    @each(
        "fields",
        [
            "versions",
            "reviewers,versions",
            "plans,versions,reviewers",
            "versions,versions",
            "versions,plans,versions",
        ],
    )
    def test_parts_are_chosen_by_name_in_any_order_and_shown_once(self, world, fields):
        parts = {name: self.PARTS["/stories/1"][name] for name in fields.split(",")}
        assert lines(world.get(f"/stories/1?fields={fields}")) == lines(
            {**world.get("/stories/1"), **parts}
        )
        assert world.call("GET", f"/stories/1?fields={fields}").text.count('"versions":') == 1

    def test_parts_of_an_execution_with_products_of_its_own(self, world):
        world.load(executions=[dict(id=9, name="Own", project=2, products=[2])])
        assert world.get("/executions/9?fields=products")["products"] == [2]

    @each(
        "fields",
        [
            "version",
            "Versions",
            "versions,",
            ",versions",
            "versions;plans",
            "versions, plans",
            "products",
            "title",
            "*",
        ],
    )
    @each("strict", [False, True])
    def test_unknown_part_is_refused(self, fields, strict):
        with contextlib.closing(
            Client(":memory:", strict=strict, control=False, load=WORLD)
        ) as client:
            told = client.refused("GET", f"/stories/1?fields={urllib.parse.quote(fields)}")[
                "fields"
            ]
        assert told.keys() == {"fields"}
        assert told["fields"].startswith("must be one of versions, reviewers, plans")

    @EVERY
    def test_strict_service_takes_it(self, path, fields):
        with contextlib.closing(
            Client(":memory:", strict=True, control=False, load=WORLD)
        ) as client:
            assert lines(client.get(f"{path}?fields={fields}")) == lines(
                {**client.get(path), **self.PARTS[path]}
            )

    @each(
        "path",
        [
            "/bugs/1",
            "/products/1",
            "/testtasks/1",
            "/testcases/1",
            "/builds/1",
            "/users/1",
            "/stories",
        ],
    )
    def test_it_is_unknown_elsewhere(self, world, path):
        answer = world.call("GET", f"{path}?fields=versions")
        assert (answer.json, answer.headers["Ignored-Fields"]) == (world.get(path), "?fields")

    def test_strict_service_refuses_it_elsewhere(self):
        with contextlib.closing(
            Client(":memory:", strict=True, control=False, load=WORLD)
        ) as client:
            assert list(client.refused("GET", "/bugs/1?fields=versions")["fields"]) == ["?fields"]

    @EVERY
    def test_changes_do_not_take_it(self, world, path, fields):
        answer = world.call("PUT", f"{path}?fields={fields}", {})
        assert answer.status_int == 200
        assert not self.PARTS[path].keys() & answer.json.keys()

    @EVERY
    def test_deleted_record_shows_its_parts(self, world, path, fields):
        before = world.get(f"{path}?fields={fields}")
        with world.service.database.writing() as store:
            table = {"stories": "story"}.get(path.split("/")[1], "project")
            store.run(f"UPDATE {table} SET deleted = 1 WHERE id = ?", (path.split("/")[2],))
        after = world.get(f"{path}?fields={fields}")
        assert after["deleted"] is True
        assert {name: after[name] for name in self.PARTS[path]} == {
            name: before[name] for name in self.PARTS[path]
        }

    def test_parts_are_for_those_who_see_the_record(self, world):
        world.load(
            products=[dict(id=9, name="P", acl="private")],
            stories=[dict(id=9, title="S", product=9)],
        )
        stranger = world.token_of("dev2")
        hidden = world.refused("GET", "/stories/9?fields=versions", status=404, Token=stranger)
        absent = world.refused("GET", "/stories/99?fields=versions", status=404)
        assert (hidden, absent) == (
            {"error": "There is no story 9."},
            {"error": "There is no story 99."},
        )

    @each("fields", [
        "versions", "versions,reviewers,plans",
        "versions,reviewers", "plans,versions,plans",
    ])  # fmt: skip
    def test_document_describes_what_is_taken(self, world, fields):
        parameters = written_out(DOCUMENT["paths"]["/stories/{id}"]["get"]["parameters"])
        schema = next(one["schema"] for one in parameters if one["name"] == "fields")
        assert world.call("GET", f"/stories/1?fields={fields}").status_int == 200
        Draft202012Validator(schema).validate(fields)


class TestUsersOfAFixture:
    """Users of a fixture keep their ids, whatever ids those of the database have."""

    @each(("users", "kept"), [
        ([dict(id=1, account="zoe")],                                                       {"zoe": 1, "admin": 2}),
        ([dict(id=1, account="zoe"), dict(id=2, account="yan")],                            {"zoe": 1, "yan": 2, "admin": 3}),
        ([dict(id=1, account="zoe"), dict(id=7, account="admin")],                          {"zoe": 1, "admin": 7}),
        ([dict(id=7, account="admin"), dict(id=1, account="zoe")],                          {"zoe": 1, "admin": 7}),
        ([dict(id=2, account="admin"), dict(id=1, account="zoe"), dict(account="new")],     {"zoe": 1, "admin": 2, "new": 3}),
        ([dict(id=9, account="admin")],                                                     {"admin": 9}),
        ([dict(id=5, account="zoe")],                                                       {"admin": 1, "zoe": 5}),
        ([],                                                                                {"admin": 1}),
    ])  # fmt: skip
    def test_ids_are_kept_and_a_dump_loads_as_it_is(self, client, users, kept):
        named = [
            dict(
                id=1,
                name="P",
                createdBy="zoe",
                PO="admin",
                whitelist=["zoe", "admin"],
                acl="private",
            )
        ]
        client.load(users=users, products=named if users else [])
        dumped = client.dump()
        found = {one["account"]: one["id"] for one in dumped["users"]}
        assert {account: found[account] for account in kept} == kept
        with contextlib.closing(Client(":memory:", control=False)) as again:
            again.load(**dumped)
            assert lines(again.dump()) == lines(dumped)

    def test_records_name_the_same_persons_afterwards(self, client):
        token = client.token_of("admin")
        client.load(
            users=[dict(id=1, account="zoe", realname="Zo"), dict(id=2, account="yan", dept=1)],
            departments=[dict(id=1, name="D", manager="zoe")],
            products=[dict(id=1, name="P", createdBy="zoe", PO="admin", QD="yan")],
        )
        holds(client.get("/products/1"), createdBy="zoe", PO="admin", QD="yan")
        assert client.get("/products/1")["createdBy"] == {
            "id": 1,
            "account": "zoe",
            "avatar": "",
            "realname": "Zo",
        }
        assert client.call("GET", "/user", Token=token).json["profile"]["id"] == 3
        assert client.get("/user")["profile"]["account"] == "admin"
        assert client.get("/users/1")["account"] == "zoe"
        assert client.post("/users", account="next", password="secret")["id"] == 4

    def test_administrator_keeps_the_password(self, run, tmp_path):
        assert run("user", "admin", "--password", "mine")[0] == 0
        (tmp_path / "f.json").write_text(
            json.dumps({"users": [dict(id=1, account="zoe", password=SECRET)]})
        )
        assert run("load", "f.json")[0] == 0
        with contextlib.closing(Client(tmp_path / "pm.db")) as client:
            assert client.login("admin", "mine")
            assert client.login("zoe")

    def test_fixture_that_is_refused_leaves_the_users_as_they_were(self, world):
        before = world.dump()
        for fixture in (
            dict(users=[dict(id=1, account="zoe")], bugs=[dict(title="B")]),
            dict(users=[dict(id=1, account="zoe"), dict(id=1, account="yan")]),
        ):
            with pytest.raises(pmservice.StartError):
                world.load(**fixture)
            assert world.dump() == before

    @each("first", [dict(id=2, account="zoe"), dict(account="zoe")])
    def test_two_users_of_one_id_are_refused(self, client, first):
        with pytest.raises(pmservice.StartError, match=r"users\[1\]\.id is taken"):
            client.load(users=[first, dict(id=2, account="yan")])

    def test_person_may_be_named_by_the_id_of_a_user_who_is_there(self, world):
        world.load(products=[dict(id=9, name="P", createdBy=1, PO=4)])
        holds(world.get("/products/9"), createdBy="admin", PO="dev1")

    def test_link_of_a_known_user_that_names_nothing_is_refused_like_others(self, client):
        with pytest.raises(
            pmservice.StartError,
            match=r"users\[0\]\.dept must name an existing department \(got 9\)",
        ):
            client.load(users=[dict(account="admin", dept=9)])

    def test_what_is_unset_in_a_dump_stays_unset(self, world):
        world.sql("UPDATE bug SET openedBy = NULL, openedDate = NULL WHERE id = 2")
        dumped = world.dump()
        with contextlib.closing(Client(":memory:", control=False)) as again:
            again.load(**dumped)
            assert lines(again.dump()) == lines(dumped)


class TestResolvedBugs:
    """The table that counts the bugs resolved in each quarter of an hour."""

    def test_it_follows_every_change_of_a_bug(self, client):
        client.load(products=[dict(id=1, name="P"), dict(id=2, name="Q")])
        fixed = dict(status="resolved", resolution="fixed", resolvedDate="2026-01-05T10:20:00Z")
        client.load(
            bugs=[
                dict(BUG, product=1, **fixed),
                dict(BUG, product=1),
                dict(BUG, product=1, **fixed),
            ]
        )
        quarter = 1767608100 // 900  # of 10:15 on that day
        counted = lambda: client.sql(  # noqa: E731
            "SELECT product, quarter, resolved FROM bugs_dated WHERE product > 0 AND resolved > 0"
        )
        assert counted() == [(1, quarter, 2)]
        client.call("PUT", "/bugs/1", {"product": 2})
        assert counted() == [(1, quarter, 1), (2, quarter, 1)]
        client.post("/bugs/2/resolve", resolution="fixed", resolvedDate="2026-01-05T10:30:00Z")
        assert counted() == [(1, quarter, 1), (1, quarter + 1, 1), (2, quarter, 1)]
        client.call("DELETE", "/bugs/1")
        client.post("/bugs/3/active")
        assert counted() == [(1, quarter + 1, 1)]
        with client.service.database.reading() as store:
            assert list(pmservice.problems_of(store)) == []


# What `pull` makes of a real server. `.ci/recorded.json.gz` holds exchanges with five: the versions 16.5 and 18.10 were recorded
# twice, the first time ("early") with other users and records. A stand-in answers a pull as one of them did.

API = "/api.php/v1"
ARRAY_OF = {
    "productplans": "plans",
    "cases": "testcases",
}  # what paths and answers call differently
LISTS_OF = {  # by array, the records that have a list of it; "": there is one list of all
    **dict.fromkeys(("users", "programs", "products", "projects"), ""), **dict.fromkeys(("executions", "builds", "testtasks"), "projects"),
    **dict.fromkeys(("plans", "stories", "releases", "bugs", "testcases"), "products"), "tasks": "executions",
}  # fmt: skip


class StandIn:
    """A WSGI application that answers as a recorded server did.

    A list shows records as they were recorded in it. Records that only other answers show, also those of POST and PUT, are
    in the list of their kind and at their own path, too, as the last of these answers shows them.

    instead: what is answered at some paths, with its status; "*" stands for all.  wrong: requests that a pull must not send.
    """

    def __init__(self, exchanges: list[Any], instead: dict[str, tuple[int, Any]] | None = None):
        self.version, self.instead, self.wrong = exchanges[0].version, instead or {}, []
        self.exact: dict[str, Any] = {
            "/departments": []
        }  # answers that are shown as they are, by path
        self.listed, self.elsewhere, self.got, self.told = (
            defaultdict(dict) for _ in range(4)
        )  # records by id
        for exchange in exchanges:
            if exchange.status < 300 and exchange.answer and exchange.method != "DELETE":
                self.learn(exchange)

    def learn(self, exchange: Any) -> None:
        """Keep the records of an answer, or the answer itself if it shows something else."""
        path, _, query = exchange.path.removeprefix(API).partition("?")
        words, answer = path.strip("/").split("/"), exchange.answer
        arrays = [
            array
            for word in words
            if (array := ARRAY_OF.get(word, word)) in {"departments", "testsuites", *LISTS_OF}
        ]
        record = answer.get("message", answer) if isinstance(answer, dict) else {}
        items = record.get(words[-1], record.get("cases"))
        if "id" in record and arrays:
            (self.got if exchange.method == "GET" else self.told)[arrays[-1]][record["id"]] = record
            for product in (
                exchange.body["products"]
                if (exchange.method, arrays) == ("POST", ["projects"])
                else ()
            ):
                self.listed[f"/products/{product}/projects"][record["id"]] = record
        elif "batchCreate" in words:
            self.told["tasks"] |= {task["id"]: task for task in answer["task"].values()}
        elif items is not None and words[-1] in LISTS_OF:
            product = dict(urllib.parse.parse_qsl(query)).get("product")
            for item in items:
                self.listed[f"/products/{product}{path}" if product else path][item["id"]] = item
                self.elsewhere[arrays[-1]][item["id"]] = item
        else:
            self.exact[path] = answer

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        path, query = environ["PATH_INFO"], dict(urllib.parse.parse_qsl(environ["QUERY_STRING"]))
        status, answer = 404, b"<!DOCTYPE html><title>404 Not Found</title>"  # as Apache answers
        if path.startswith(f"{API}/"):
            has_token = environ.get("HTTP_TOKEN") == "of-admin"
            status, answer = self.answer(
                environ["REQUEST_METHOD"], path.removeprefix(API), query, has_token
            )
        text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        start_response(f"{status} As recorded", [("Content-Length", str(len(text)))])
        return [text]

    def answer(
        self, method: str, path: str, query: dict[str, str], has_token: bool
    ) -> tuple[int, Any]:
        """Return the status and the answer of a request; bytes are sent as they are."""
        if (method, path) == ("POST", "/tokens"):
            return 201, {"token": "of-admin"}
        if not has_token or method != "GET":
            self.wrong += [f"{method} {path}"] if (method, path) != ("GET", "/user") else []
            return 401, {"error": "Unauthorized"}
        if found := self.instead.get(path, self.instead.get("*")):
            return found
        words = path.strip("/").split("/")
        none = {
            "estimate": {"effort": [] if self.version == "16" else {}},
            "results": {"results": []},
        }.get(words[-1])
        if path in self.exact or none:
            return 200, self.exact.get(path, none)
        if len(words) == 2:
            return self.record(ARRAY_OF.get(words[0], words[0]), words[1])
        return 200, self.page(path, query)

    def record(self, array: str, name: str) -> tuple[int, Any]:
        """Return the answer with one record. For an unknown id there is "no common rule"."""
        known = ChainMap(self.got[array], self.told[array])
        for record in known.values():
            if name in (str(record["id"]), record.get("account")):
                return 200, record
        if array == "executions" and known:
            return 200, next(iter(known.values()))  # "GET of it then answers another execution"
        if array in ("stories", "releases", "testtasks"):
            return 400, {"error": "error"}
        return (
            (200, b"") if array == "users" and name.isdigit() else (404, {"error": "404 Not found"})
        )

    def page(self, path: str, query: dict[str, str]) -> dict[str, Any]:
        """Return the answer with a list, or a page of it."""
        *home, array = path.strip("/").split("/")
        shown = ChainMap(
            self.listed[path], self.elsewhere[array], self.got[array], self.told[array]
        )
        records = [
            shown[id]
            for id in sorted(shown, reverse=True)
            if self.is_in(path, home, array, shown[id])
        ]
        if array == "stories" and home[0] == "products":
            # "anything else (also `all`, `active`, `closed`): empty list"
            wanted = query.get("type", "story") if query.get("status") == "allstory" else ""
            records = [record for record in records if record["type"] == wanted]
        children = {child["id"] for record in records for child in record.get("children") or ()}
        records = [record for record in records if record["id"] not in children]
        total = len(records) + len(
            children
        )  # "nested in the parent's `children`, though `total` counts both"
        whole = ("products", "releases") if self.version == "16" else ()
        if array in ("builds", *whole) or (home[:1], array) == (["products"], "projects"):
            return {"total": total, array: records}  # "`total` only and no paging"
        # "page past the end answers the last page and says so"
        limit = int(query.get("limit", 20))
        page = min(int(query.get("page", 1)), math.ceil(len(records) / limit) or 1)
        return {
            "page": page,
            "total": total,
            "limit": limit,
            array: records[(page - 1) * limit : page * limit],
        }

    def is_in(self, path: str, home: list[str], array: str, record: dict[str, Any]) -> bool:
        """Tell whether a list has a record: it was recorded there, or it names the list's owner and is not deleted."""
        last = self.got[array].get(record["id"], record)
        owner = (
            [LISTS_OF[array], str(record.get(LISTS_OF[array].removesuffix("s")))]
            if LISTS_OF[array]
            else []
        )
        return record["id"] in self.listed[path] or (
            home == owner and last.get("deleted") not in (True, "1")
        )


@contextlib.contextmanager
def standing_in(
    exchanges: list[Any], instead: dict[str, tuple[int, Any]] | None = None
) -> Iterator[str]:
    """Serve a stand-in; afterwards, require that it was asked for nothing but GETs and a token."""
    quiet = type(
        "Quiet", (wsgiref.simple_server.WSGIRequestHandler,), {"log_message": lambda *_: None}
    )
    app = StandIn(exchanges, instead)
    with wsgiref.simple_server.make_server("127.0.0.1", 0, app, handler_class=quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
    assert app.wrong == []


def recorded_of(version: str, is_early: bool) -> list[Any]:
    """Return the exchanges of one of the recorded servers."""
    versions = [
        (re.match("v(16[.][05])|", one.name)[1] or "18.10", one) for one in recorded.EXCHANGES
    ]
    return [one for of, one in versions if (of, one.is_early) == (version, is_early)]


def these(*names: str) -> list[Any]:
    """Return exchanges by their names."""
    return [one for one in recorded.EXCHANGES if one.name in names]


def also(name: str, /, **facts: Any) -> Any:
    """Return an exchange that was not recorded: with another record, in the shape of the one in this answer."""
    (exchange,) = these(name)
    return exchange._replace(answer={**exchange.answer, **facts})


SPRINT, PROJECT = "47_puts.execution-status", "47_puts.project-several"
NOBODY_S = dict(parent=0, PM=None, whitelist=[], team="")
OTHER_EDITION = [  # what administrators, other editions and PHP make of records; each shows what is named here
    also(PROJECT, id=90, name="Board", model="kanban", acl="program", whitelist=",dev1,qa1,", parent=0, deleted="0"),
    also(SPRINT, id=91, name="Lane", type="kanban", project=90, parent=90, acl="custom", PO="closed", days="22", PM=""),
    also(SPRINT, id=92, name="Stage", type="stage", project=90, parent=90),
    also(SPRINT, id=93, name="Stage below", type="stage", project=90, parent=92, path=",90,92,93,"),
    also("46_users.get.ok", id=90, account="zed", dept=9999, type="outside", gender="", birthday="-0001-11-30"),
    also("41_plans.create.ok", id=90, begin="2027-05-01", end="2027-04-30"),
    also("40_stories.put.several", id=90, status="changing", plan=",1,4,", reviewer=["qa1", "pm1"], notReview=["pm1"], closedReason="other"),
    also("42_builds.create.ok", id=90, stories="1,2", bugs="1"),
    also("43_releases.create.with-build", id=90, status="fail"),
    also("51_bug_put.empty-title", id=90, type="usability", status="delay", resolution="fixed", title=""),
    also("51_bug_put.empty-title", id=91, status={"code": "confirmed", "name": "Confirmed"}, deadline="1970-01-01", openedBuild=["trunk"]),
    also("52_estimates.post.ok-one", id=90, type="ops", estimate="8.00", deadline="2026-12-04 00:00:00"),
    also("52_estimates.post.ok-one", id=91, left="-1"),
    also("47_puts.testcase-several-with-steps", id=90, type="smoke", stage=",unittest,feature,",
         steps={"7": {"id": 8, "desc": "go", "expect": "gone", "type": "step", "files": []}, "9": {"id": 9, "desc": " "}}),
    also("47_puts.testcase-empty-title", id=91, status="void", steps=""),
    also("44_testtasks.create.ok", id=90, build="9999", owner="nobody here", status="", mailto={"1": "qa1", "3": ""}),
]  # fmt: skip
SHOP_165 = [
    *recorded_of("16.5", False),
    also(f"v16.5_{PROJECT}", id=2, name="Shop relaunch", **NOBODY_S),
]
SHOP_1810 = [*recorded_of("18.10", False), also(SPRINT, id=3, name="Sprint 1")]
SERVERS = {  # the exchanges, with those of records that these only name, and what is answered instead
    "16.0": (recorded_of("16.0", True), {}),
    "16.5 early": (recorded_of("16.5", True), {}),
    "16.5": (SHOP_165, {}),
    "18.10 early": ([*recorded_of("18.10", True), also(PROJECT, id=26, name="Proj minimal", **NOBODY_S)], {}),
    "18.10": (SHOP_1810, {}),
    "16.5 without privileges": (SHOP_165, {"*": (403, {"error": "Access not allowed"})}),  # "account without a group"
    "16.5 without a project": (recorded_of("16.5", False), {}),
    "16.5 with a deleted bug": ([*SHOP_165, also("v16.5_54_story_links.bug-with-changed-story", deleted=True)], {}),
    "18.10 without privileges": (SHOP_1810, {"/users": (400, {"error": "error"})}),  # "only GET /users refuses (400)"
    "18.10 without a sprint": (recorded_of("18.10", False), {}),
    "18.10 of another edition": ([*SHOP_1810, *OTHER_EDITION], {}),
    "18.10 with odd builds": ([*SHOP_1810, also("42_builds.create.ok", id=90, name="Of a project", execution=0),
                        also("43_releases.create.with-build", id=90, build=",1,2,")], {}),
    "18.10 early with a release": (these("02_create_product.minimal", "23_create_release.minimal"), {}),
    "18.10 early with a team": ([*these("15_get_task.team", "12_start_task.from-wait", "20_create_execution.minimal"),
                                 also(PROJECT, id=26, **NOBODY_S), also("46_users.get.ok", id=5, account="zed"),
                                 also("46_users.get.deleted", id=6, realname="Quin Test")], {}),
}  # fmt: skip
# fmt: off
FACTS = [
    # server       array          id    what the record became
    # Persons are references; the status of a bug is an object, and of one whose story is newer {"code": "storyChanged"}.
    ("16.0",        "users",        1,    dict(account="admin", realname="admin", admin=True)),
    ("16.0",        "users",        4,    dict(account="dev1", realname="Dan Dev", admin=False, role="", dept=0, gender="f", join=None, deleted=False)),
    ("16.0",        "projects",     5,    dict(name="Pr two", code="PR2", model="waterfall", budget="0", PM="pm1", PO=None, openedBy="admin", closedBy=None,
                                               whitelist=["dev1", "qa1"], realBegan=None, canceledDate=None, openedDate="2026-11-20T07:47:59Z", products=[2])),
    ("16.0",        "products",     1,    dict(name="P one", PO=None, whitelist=[], acl="private", createdBy="admin", createdVersion="16.0.beta1", deleted=False)),
    ("16.0",        "products",     2,    dict(program=0, PO="po1", QD="qa1", RD="dev1", desc="<p>x</p>", whitelist=["dev1", "qa1"])),
    ("16.0",        "bugs",         6,    dict(status="active", story=1, storyVersion=1, assignedTo=None, assignedDate=None, deadline=None, deleted=False)),
    ("16.0",        "bugs",         7,    dict(status="active", severity=4, openedBuild="Trunk", assignedTo="dev1", assignedDate="2026-11-20T07:48:14Z", resolution="")),
    ("16.5 early",  "programs",     1,    dict(name="Alpha", PM=None, acl="open", whitelist=[], budget="0", lastEditedBy=None, lastEditedDate=None, model="")),
    ("16.5 early",  "programs",     2,    dict(name="Beta", parent=0, PM="pm1", budget="200000", acl="private", whitelist=["dev1", "qa1"], deleted=False)),
    ("16.5 early",  "projects",     4,    dict(name="Pr one", model="scrum", parent=0, PM=None, QD=None, lastEditedBy="admin", products=[1])),
    ("16.5 early",  "products",     2,    dict(program=1, createdVersion="16.5", PO="po1")),
    # The release's build cannot be read, so that its name stays.
    ("16.5 early",  "releases",     1,    dict(project=4, product=1, build=1, buildName="b1", marker="0", stories="", mailto="", deleted=False)),
    ("16.5 early",  "testcases",    1,    dict(stage="system", precondition="p", steps=[
                                               dict(id=1, parent=0, case=1, version=1, type="step", desc="a", expect="b"),
                                               dict(id=2, parent=0, case=1, version=1, type="step", desc="c", expect="d")])),
    # Departments were not recorded of this server; admin, pm1 and po1 are known from references, dev1 from his own record.
    ("16.5",        "users",        1,    dict(account="admin", realname="admin", admin=True)),
    ("16.5",        "users",        2,    dict(account="dev1", realname="Dan Dev", role="dev", dept=0, type="inside", birthday=None, join=None, gender="f", deleted=False)),
    ("16.5",        "users",        4,    dict(account="qa1", realname="Quinn QA", role="qa", dept=0)),
    ("16.5",        "users",        5,    dict(account="pm1", realname="Pat PM", role="")),
    ("16.5",        "users",        6,    dict(account="po1", realname="Olga PO")),
    ("16.5",        "programs",     5,    dict(budgetUnit="USD", parent=0, PM="pm1", whitelist=["dev1", "qa1"])),
    ("16.5",        "projects",     6,    dict(name="Second project b", parent=0, PM="pm1", whitelist=["dev1"], begin="2026-02-02", openedDate="2026-11-21T20:02:03Z")),
    ("16.5",        "executions",   3,    dict(project=2, parent=2, type="sprint", realBegan="2026-11-22", realEnd=None, days=40, PM="pm1", PO=None, acl="open", products=[1])),
    ("16.5",        "executions",   4,    dict(lifetime="short", days=22, PO="po1", RD="dev1", whitelist=["dev2"], status="wait")),
    ("16.5",        "products",     2,    dict(program=0, name="Mobile app 2", acl="open", whitelist=[], PO="po1")),  # a white list counts for private ones only
    ("16.5",        "products",     9999, dict(name="product 9999", createdBy=None, createdDate=None)),
    ("16.5",        "plans",        1,    dict(title="Spring release", begin="2027-03-01", end="2027-04-30", desc="<p>all for spring</p>", parent=0)),
    ("16.5",        "plans",        3,    dict(begin="2030-01-01", end="2030-01-01", status="wait", deleted=False)),
    # parent -1: it has children; "0000-00-00 00:00:00" is unset
    ("16.5",        "stories",      1,    dict(parent=0, executions=[2, 3], mailto=["qa1", "pm1"], activatedDate=None, version=1, plans=[], reviewers=[],
                                               versions=[dict(version=1, title="Guest checkout", spec="<p>As a <b>guest</b> I pay without an account</p>", verify="order is placed")])),
    ("16.5",        "stories",      3,    dict(plans=[1], executions=[2, 3], mailto=["dev2"], assignedTo="dev2", estimate=3)),
    # as POST …/change answers: persons are accounts, deleted is "0"
    ("16.5",        "stories",      4,    dict(status="changed", version=2, openedBy="admin", assignedTo="qa1", closedBy=None, reviewedBy=None, mailto=[], deleted=False,
                                               versions=[dict(version=2, title="Wish list shared", spec="shared lists", verify="v")])),
    # in lists only, as GET answers 400: there is no `spec`
    ("16.5",        "stories",      5,    dict(status="closed", closedBy="pm1", closedDate="2026-11-10T02:00:00Z", closedReason="done", spec="", verify="")),
    ("16.5",        "stories",      16,   dict(type="requirement", category="safe", title="Req: be safe")),
    # in the `children` of another: persons are accounts, times are those of the server's zone, dates of zeros are unset
    ("16.5",        "stories",      18,   dict(parent=1, openedBy="admin", openedDate="2026-11-21T19:55:50Z", assignedTo=None, assignedDate=None, lastEditedDate=None, deleted=False)),
    # as POST …/active answers: the same
    ("16.5",        "stories",      57,   dict(product=2, status="active", assignedTo="dev1", assignedDate="2026-11-21T19:57:36Z", activatedDate="2026-11-21T19:57:36Z", closedBy=None,
                                               closedDate=None, reviewedDate=None, closedReason="")),
    ("16.5",        "builds",       1,    dict(project=2, execution=3, stories=[1, 2], bugs=[1], builder="dev1", date="2026-11-20")),
    ("16.5",        "builds",       3,    dict(product=9999, name="Unknown product", stories=[], bugs=[])),
    ("16.5",        "builds",       4,    dict(builder=None, name="Unknown builder")),
    ("16.5",        "releases",     1,    dict(project=2, build=1, buildName="", stories="1,2", bugs="1", leftBugs="2", status="terminate", mailto="")),
    # lists of projects: persons are accounts, the status is another word
    ("16.5",        "bugs",         1,    dict(status="active", story=1, storyVersion=1, openedBy="admin", assignedTo="dev1", execution=3, project=2, deadline=None, openedBuild="trunk")),
    ("16.5",        "bugs",         3,    dict(status="active", confirmed=1, assignedTo="dev2", resolvedBy=None)),
    ("16.5",        "bugs",         4,    dict(status="resolved", resolution="fixed", resolvedBy="admin", resolvedDate="2026-11-20T02:00:00Z", closedBy=None, execution=0)),
    ("16.5",        "bugs",         14,   dict(type="config", story=1, storyVersion=2, assignedTo="dev2", steps="<p>n</p>", keywords="k")),
    ("16.5",        "tasks",        1,    dict(project=2, execution=3, story=1, storyVersion=1, estimate=8, left=8, estStarted="2026-11-23", realStarted=None)),
    ("16.5",        "tasks",        3,    dict(status="done", consumed=8, left=0, finishedBy="admin", finishedDate="2026-11-21T20:04:43Z", realStarted="2026-11-15T16:00:00Z")),
    ("16.5",        "tasks",        20,   dict(status="cancel", canceledBy="admin", canceledDate="2026-11-21T20:04:45Z", activatedDate=None)),
    ("16.5",        "tasks",        69,   dict(story=9999, storyVersion=0)),  # "story kept, storyVersion 0"
    ("16.5",        "testcases",    1,    dict(version=3, story=1, openedBy="admin", lastRunDate=None, reviewedBy=None, project=2, execution=3, steps=[], deleted=False)),
    ("16.5",        "testcases",    3,    dict(version=2, steps=[
                                               dict(id=6, parent=0, case=3, version=2, type="step", desc="go", expect="gone"),
                                               dict(id=7, parent=0, case=3, version=2, type="step", desc="pay", expect="paid")])),
    # the project's list: persons are accounts, `mailto` is "dev1,"
    ("16.5",        "testtasks",    1,    dict(build="1", owner="qa1", mailto=[], testcases=[1], realFinishedDate=None, project=2, execution=3, deleted=False)),
    ("16.5",        "testtasks",    2,    dict(build="2", owner="qa1", mailto=["dev1"], testcases=[])),
    ("16.5",        "testtasks",    3,    dict(build="trunk", owner=None, mailto=[], status="done")),
    ("16.5",        "efforts",      2,    dict(task=3, date="2026-11-17", left=5, consumed=3, account="admin", work="code")),
    ("18.10 early", "users",        4,    dict(account="dev1", realname="Dan Dev")),
    ("18.10 early", "users",        8,    dict(account="rd1", realname="Rod Release", role="rd", email="rd1@example.com")),
    ("18.10 early", "products",     8,    dict(program=0, name="Prod ghost program")),  # of program 9999
    ("18.10 early", "executions",   61,   dict(project=26, days=0, code="", PO=None, realEnd=None)),  # `days` is ""
    ("18.10 early", "builds",       1,    dict(project=26, execution=61, builder="dev1", stories=[], bugs=[], branch=0)),  # `branch` is "0"
    ("18.10 early", "releases",     1,    dict(project=26, build=0, buildName="")),  # the project is "26", the build ""
    ("18.10 early", "releases",     7,    dict(project=26, build=1, buildName="", branch=0, mailto="dev1")),  # the build is "1", `mailto` a reference
    # as POST …/close answers: persons are references, but for `resolvedBy`; its date is local
    ("18.10 early", "bugs",         5,    dict(status="closed", assignedTo=None, resolvedBy="admin", resolvedDate="2026-11-20T07:35:14Z", closedBy="admin", closedDate="2026-11-20T07:35:14Z",
                                               deadline=None, activatedDate=None)),
    ("18.10 early", "bugs",         18,   dict(status="active", assignedTo="dev1", openedBuild="Trunk")),
    # as POST …/start, …/finish, …/close answer: persons are accounts, times are local or not, `closed` is nobody
    ("18.10 early", "tasks",        64,   dict(status="doing", openedDate="2026-11-20T07:32:40Z", assignedTo="dev2", realStarted="2026-02-06T00:30:00Z", finishedDate=None, deleted=False)),
    ("18.10 early", "tasks",        68,   dict(status="done", openedDate="2026-11-20T07:32:41Z", finishedBy="admin", finishedDate="2026-02-09T09:00:00Z", assignedTo="dev2")),
    ("18.10 early", "tasks",        85,   dict(status="closed", assignedTo=None, finishedDate="2026-02-05T10:00:00Z", closedBy="admin", closedReason="done")),
    ("18.10 early", "tasks",        87,   dict(activatedDate="2026-11-20T07:32:43Z", realStarted="2026-02-03T01:00:00Z", finishedBy=None)),
    ("18.10 early", "tasks",        221,  dict(story=1, storyVersion=1, estimate=0)),
    ("18.10 early", "tasks",        224,  dict(assignedTo="admin", consumed=5, left=4)),  # of a team
    ("18.10",       "departments",  1,    dict(name="Engineering", parent=0, order=10, manager="dev1")),
    ("18.10",       "departments",  3,    dict(name="Frontend", parent=1, order=20, manager=None)),
    ("18.10",       "users",        2,    dict(account="dev1", dept=2, realname="Dan Dev", join=None, birthday=None)),
    ("18.10",       "users",        3,    dict(account="dev2", dept=3, realname="Dorothea", deleted=False)),
    ("18.10",       "programs",     5,    dict(status="doing", lastEditedBy="admin", lastEditedDate="2026-11-21T20:01:46Z", PM="pm1")),  # `lastEditedBy` is an account
    # in the list of a product's projects only: persons are accounts
    ("18.10",       "projects",     2,    dict(name="Shop relaunch", openedBy="admin", PM="pm1", parent=0, products=[1], openedDate="2026-11-21T19:55:00Z")),
    ("18.10",       "executions",   4,    dict(status="doing", project=2, parent=2, PO="po1", whitelist=["dev2"], realBegan=None)),
    ("18.10",       "products",     1,    dict(PO="po1", createdBy="admin", createdVersion="18.10")),
    ("18.10",       "plans",        1,    dict(parent=0, title="Spring release")),
    ("18.10",       "plans",        2,    dict(parent=1, title="Spring part 1", end="2027-03-31")),  # in the `children` of plan 1
    ("18.10",       "plans",        6,    dict(title="plan 6", begin="2027-03-01")),  # the title is ""
    ("18.10",       "plans",        7,    dict(title="plan 7", begin="2030-01-01", end="2030-01-01")),
    ("18.10",       "stories",      1,    dict(parent=0, executions=[2, 3], mailto=["qa1", "pm1"], assignedTo="dev1", activatedDate=None)),
    ("18.10",       "stories",      2,    dict(status="active", reviewedBy=None, reviewedDate="2026-11-19T16:00:00Z", lastEditedBy="pm1")),
    ("18.10",       "stories",      3,    dict(plans=[1], executions=[2, 3], mailto=["dev2"], assignedTo="ghost", version=2, title="Search by colour, size, price", deleted=False)),
    ("18.10",       "stories",      13,   dict(status="draft", mailto=[])),  # "reviewing"
    ("18.10",       "stories",      17,   dict(parent=1, openedDate="2026-11-21T19:55:49Z", assignedDate=None)),
    ("18.10",       "stories",      74,   dict(status="closed", closedReason="duplicate", duplicateStory=1, assignedTo=None)),
    ("18.10",       "builds",       1,    dict(project=2, execution=3, stories=[1, 2], bugs=[1])),  # a list of the execution only
    ("18.10",       "builds",       6,    dict(builder=None, branch=0)),
    ("18.10",       "releases",     1,    dict(project=2, build=1, branch=0, buildName="", stories="1,2")),  # the project is ",2,", the build ",1,"
    ("18.10",       "bugs",         1,    dict(status="active", openedBy="admin", assignedTo="dev1", story=1)),
    ("18.10",       "bugs",         5,    dict(status="closed", product=2, resolvedDate="2026-11-20T02:00:00Z")),
    ("18.10",       "bugs",         6,    dict(status="active", deadline="2026-11-01")),  # "delay"
    ("18.10",       "bugs",         10,   dict(status="resolved", confirmed=1, resolvedBy="admin", resolvedBuild="")),
    ("18.10",       "tasks",        1,    dict(openedDate="2026-11-21T19:56:43Z", assignedTo="dev1", realStarted="2026-11-21T20:04:09Z", finishedBy=None)),
    ("18.10",       "tasks",        66,   dict(openedDate="2026-11-21T20:04:08Z", assignedTo=None, assignedDate=None, deleted=False, consumed=0)),  # of a batch
    ("18.10",       "tasks",        67,   dict(type="test", story=1, storyVersion=2, deadline=None, estStarted=None)),
    ("18.10",       "testcases",    1,    dict(version=3, steps=[
                                               dict(id=4, parent=0, case=1, version=3, type="step", desc="go", expect="gone"),
                                               dict(id=5, parent=0, case=1, version=3, type="step", desc="pay", expect="paid")])),
    ("18.10",       "testtasks",    1,    dict(testcases=[1], build="1", owner="qa1")),  # the case is "case_1"
    ("18.10",       "testtasks",    2,    dict(testcases=[], build="2", owner="qa1", mailto=["dev1"])),
    ("18.10",       "efforts",      4,    dict(task=70, date="2026-11-18", left=3, consumed=2, account="admin", work="more code")),  # the task is `objectID`
    ("18.10",       "results",      1,    dict(case=1, version=4, caseResult="fail", lastRunner="admin", date="2026-11-21T20:05:47Z", testtask=0, stepResults=[
                                               dict(id=6, parent=0, case=1, version=4, type="step", desc="go", expect="gone", result="fail", real="stuck")])),
    ("18.10",       "results",      3,    dict(caseResult="pass", stepResults=[dict(id=6, parent=0, case=1, version=4, type="step", desc="go", expect="gone")])),
    ("18.10 without privileges",   "users",      2,  dict(account="dev1", realname="Dan Dev", role="", dept=0)),
    ("18.10 of another edition",   "projects",   90, dict(model="scrum", acl="private", whitelist=["dev1", "qa1"])),
    ("18.10 of another edition",   "executions", 91, dict(type="sprint", acl="private", PO=None, PM=None, days=22)),
    ("18.10 of another edition",   "executions", 93, dict(type="stage", project=90, parent=90)),
    ("18.10 of another edition",   "users",      90, dict(dept=0, type="outside", gender="f", birthday=None)),
    ("18.10 of another edition",   "plans",      90, dict(begin="2027-05-01", end="2030-01-01")),
    ("18.10 of another edition",   "stories",    90, dict(status="changed", plans=[1, 4], closedReason="", reviewers=[dict(account="qa1", result="pass"), dict(account="pm1", result="")])),
    ("18.10 of another edition",   "builds",     90, dict(name="Shop 1.0 (90)", stories=[1, 2], bugs=[1])),
    ("18.10 of another edition",   "releases",   90, dict(status="normal")),
    ("18.10 of another edition",   "bugs",       90, dict(type="others", status="resolved", title="bug 90")),
    ("18.10 of another edition",   "bugs",       91, dict(status="active", deadline=None, openedBuild="trunk")),
    ("18.10 of another edition",   "tasks",      90, dict(type="misc", estimate=8, left=8, deadline="2026-12-04")),
    ("18.10 of another edition",   "tasks",      91, dict(type="devel", estimate=10, left=10)),
    ("18.10 of another edition",   "testcases",  90, dict(type="other", stage="unittest,feature", steps=[
                                                        dict(id=8, parent=0, case=90, version=1, type="step", desc="go", expect="gone")])),
    ("18.10 of another edition",   "testcases",  91, dict(type="config", status="normal", steps=[])),
    ("18.10 of another edition",   "testtasks",  90, dict(build="trunk", owner=None, status="wait", mailto=["qa1"])),
    ("16.5 without a project",     "projects",   2,  dict(name="project 2", begin="1970-01-01", openedBy=None)),
    ("16.5 without a project",     "executions", 3,  dict(name="Sprint 1", project=2)),  # known from bugs
    ("16.5 with a deleted bug",    "bugs",       1,  dict(deleted=True, status="active", assignedTo="dev1", execution=3)),  # known from its build
    ("18.10 without a sprint",     "bugs",       1,  dict(project=2, execution=3)),
    ("18.10 with odd builds",      "builds",     90, dict(project=2, execution=2)),  # "a build of the project"
    ("18.10 with odd builds",      "releases",   90, dict(build=1)),
    ("18.10 early with a release", "releases",   1,  dict(project=0, product=1)),
    ("18.10",                      "users",      5,  dict(account="pm1", realname="Pat PM")),
    ("18.10 early with a team",    "users",      6,  dict(account="dev2", realname="dev2", deleted=False)),
    ("18.10 without a sprint",     "builds",     1,  dict(project=2, execution=3)),
    ("18.10 without a sprint",     "stories",    1,  dict(executions=[2, 3])),
    ("16.5 with a deleted bug",    "bugs",       1,  dict(openedBuild="trunk")),
]
# fmt: on
REPORTS = {  # lines of the reports; of the recorded servers all
    "16.0": """
departments         0
users               5
programs            0
projects            1
executions          0
products            2  1 links to program left out, because they were not copied (program 1)
plans               0
stories             0
builds              0
releases            0
bugs                2
tasks               0
testcases           0
testtasks           0
efforts             0
results             0
""",
    "16.5 early": """
departments         0
users               5
programs            2
projects            1
executions          0
products            2
plans               0
stories             0
builds              0
releases            1
bugs                0
tasks               0
testcases           1
testtasks           0
efforts             0
results             0
""",
    "16.5": """
departments         0
users               6  2 known from their list only (such as user 4)  3 links to dept left out, because they were not copied (such as department 2)
programs            1
projects            2  1 links to parent left out, because they were not copied (program 1)
executions          2
products            5  3 links to program left out, because they were not copied (such as program 1)  1 placeholders for records that were not copied (product 9999)
plans               3
stories             9  2 known from their list only (such as story 5)
builds              4
releases            1
bugs                6
tasks              16
testcases           3
testtasks           3  2 known from their list only (such as testtask 3)
efforts             3
results             0
""",
    "18.10 early": """
departments         0
users               5  2 known from their list only (such as user 8)
programs            0
projects            1
executions          2
products            3  1 links to program left out, because they were not copied (program 9999)
plans               0
stories             0
builds              1
releases            2
bugs                6
tasks              15
testcases           0
testtasks           0
efforts             0
results             0
""",
    "18.10": """
departments         4
users               7  1 known from their list only (user 4)
programs            1  1 links to parent left out, because they were not copied (program 1)
projects            1  1 known from their list only (project 2)  1 links to parent left out, because they were not copied (program 1)
executions          2
products            5  4 links to program left out, because they were not copied (such as program 1)  1 placeholders for records that were not copied (product 9999)
plans               9
stories            12  5 known from their list only (such as story 13)
builds              5
releases            1
bugs                9
tasks               7
testcases           1
testtasks           2  1 known from their list only (testtask 2)
efforts             3
results             3
""",
    "16.5 without privileges": """
departments         0  1 lists not answered (GET /departments: 403 Access not allowed)
users               1  1 lists not answered (GET /users: 403 Access not allowed)
programs            0  1 lists not answered (GET /programs: 403 Access not allowed)
projects            0  1 lists not answered (GET /projects: 403 Access not allowed)
products            0  1 lists not answered (GET /products: 403 Access not allowed)
tasks               0
""",
    "16.5 without a project": """
projects            2  1 links to parent left out, because they were not copied (program 1)  1 placeholders for records that were not copied (project 2)
builds              1
""",
    "18.10 without a sprint": """
projects            1  1 known from their list only (project 2)  1 links to parent left out, because they were not copied (program 1)
executions          2  1 placeholders for records that were not copied (execution 3)
""",
    "18.10 of another edition": """
users               8  1 known from their list only (user 4)  1 links to dept left out, because they were not copied (department 9999)
executions          5  1 values of parent not taken (92 of 93)
plans              10  1 values of end not taken ('2027-04-30' of 90)
stories            13  1 values of closedReason not taken ('other' of 90)  5 known from their list only (such as story 13)
builds              6  1 changed to keep a rule (build 90: name is taken by another build of its product)
releases            2  1 values of status not taken ('fail' of 90)
bugs               11  1 values of type not taken ('usability' of 90)
tasks               9  1 values of left not taken ('-1' of 91)  1 values of type not taken ('ops' of 90)
testcases           3  1 values of status not taken ('void' of 91)  1 values of type not taken ('smoke' of 90)
testtasks           3  1 values of owner not taken ('nobody here' of 90)  1 known from their list only (testtask 2)  1 links to build left out, because they were not copied (build 9999)
""",
    "18.10 early with a release": """
projects            0
releases            1  1 links to project left out, because they were not copied (project 26)
""",
}


class TestPullOfRecordedVersions:
    """What the records of recorded servers become in a copy, and what the report says of the rest."""

    copies: dict[str, tuple[str, list[str]]] = {}

    @pytest.fixture
    def pull(self, run, monkeypatch):
        """Return a function that pulls from a stand-in; the recorded servers were in Shanghai's time zone."""
        monkeypatch.setenv("PMSERVICE_PULL_PASSWORD", "secret")

        def pull(server, *arguments):
            with standing_in(*SERVERS[server]) as url:
                return run("pull", url, "--timezone", "Asia/Shanghai", *arguments)

        return pull

    @pytest.fixture
    def copy(self, pull):
        """Return a function that gives the fixture that is pulled from a server, once for all tests, and the report."""

        def copy(server):
            if server not in self.copies:
                code, out, told = pull(server, "-o", "f.json")
                assert (code, out) == (0, "")
                self.copies[server] = Path("f.json").read_text(encoding="utf-8"), told.splitlines()
            return self.copies[server]

        return copy

    @each("server", SERVERS)
    def test_copy_is_sound_and_the_next_one_is_the_same(self, run, pull, copy, server):
        text, _ = copy(server)
        assert pull(server, "--database", "pm.db")[0] == 0
        assert set(run("dump")[1].splitlines()) ^ set(text.splitlines()) == set()
        assert run("check")[:2] == (0, "pm.db is sound: pages, links and counts are right.\n")

    @each("server", SERVERS)
    def test_copy_can_be_loaded(self, run, copy, server):
        Path("f.json").write_text(copy(server)[0], encoding="utf-8")
        assert run("load", "f.json")[0] == 0  # which refuses fields that only later versions have
        assert run("check")[0] == 0
        assert set(run("dump")[1].splitlines()) ^ set(copy(server)[0].splitlines()) == set()

    @each("server", ["16.5", "18.10"])
    def test_lists_are_read_to_their_ends_on_pages_of_any_size(
        self, pull, copy, monkeypatch, server
    ):
        text, told = copy(server)
        monkeypatch.setattr(pmservice, "PULL_LIMIT", 2)
        assert pull(server, "-o", "f.json")[2].splitlines()[:-1] == told[:-1]
        assert Path("f.json").read_bytes() == text.encode()

    @each(("server", "array", "id", "facts"), FACTS)
    def test_record_becomes(self, copy, server, array, id, facts):
        (record,) = [one for one in json.loads(copy(server)[0])[array] if one["id"] == id]
        assert {field: record[field] for field in facts} == facts

    @each(("server", "line"), [
        *((server, line) for server, lines in REPORTS.items() for line in lines.strip().split("\n")),
    ])  # fmt: skip
    def test_report_says(self, copy, server, line):
        assert sorted(line.split("  ")) in [sorted(told.split("  ")) for told in copy(server)[1]]

    @each("server", SERVERS)
    def test_report_has_a_line_for_each_array_and_one_for_all(self, copy, server):
        text, (*lines, last) = copy(server)
        counts = {array: f"{len(records):,}" for array, records in json.loads(text).items()}
        assert [tuple(line.split()[:2]) for line in lines] == [*counts.items()]
        assert re.fullmatch(
            "Pulled from http://127.0.0.1:[0-9]+/api.php/v1 into f.json: [0-9]+ requests, [0-9]+ s[.]",
            last,
        )

    # fmt: off
    @each(("value", "first"), [
        (None, None), ([], None), ("", ""), (0, 0), ("0", "0"), (7, 7), ("7", "7"), (",1,", "1"), (",0,", "0"), ("1,2", "1"), ([7, 8], 7), (["trunk"], "trunk"),
        (8.0, 8), ("8.00", 8), ("5000.5", 5000), (-1.5, -1), ("18.10.1", "18.10.1"), (False, False), ("trunk", "trunk"), (",", ""),
    ])
    def test_first_of_several_values(self, value, first):
        found = pmservice.first_in(value)
        assert (found, type(found)) == (first, type(first))

    @each(("value", "id"), [
        (None, 0), ("", 0), (0, 0), ("0", 0), (-1, 0), ("-1", 0), ("0000-00-00", 0), ([], 0), ({}, 0), ("trunk", 0), ("case_7", 0), ("07", 0), ("٧", 0), (True, 0),
        (7, 7), ("7", 7), (",7,", 7), (",7,8,", 7), ([7], 7), (["7", "8"], 7), (7.0, 7), ("7.00", 7), ("9" * 15, 10**15 - 1), ("9" * 17, 0),
    ])
    def test_id(self, value, id):
        assert pmservice.id_in(value) == id

    @each(("value", "ids"), [
        (None, []), ("", []), (0, []), ([], []), ({}, []), ("1,2", [1, 2]), (",1,2,", [1, 2]), ("0", []), ([1, "2", 0, None], [1, 2]),
        ([{"id": 1}, {"id": "2", "case": 0}, {"id": "case_3", "case": 3}, {}], [1, 2, 3]), ({"3": {"project": 3, "name": "Sprint 1"}, "18": "Child of 1"}, [3, 18]),
    ])
    def test_ids(self, value, ids):
        assert pmservice.ids_in(value) == ids

    @each(("value", "account"), [
        (None, None), ("", None), (0, None), ("closed", None), ("dev1", "dev1"), ({"id": 4, "account": "dev1", "avatar": "", "realname": "Dan Dev"}, "dev1"),
        ({}, None), ({"account": ""}, None), ([], []),
    ])
    def test_account(self, value, account):
        assert pmservice.account_in(value) == account

    @each(("value", "accounts"), [
        (None, []), ("", []), (",", []), ("dev1", ["dev1"]), ("dev1,", ["dev1"]), (",dev1,qa1,", ["dev1", "qa1"]), ([], []), ({}, []), (["dev1", "", None], ["dev1"]),
        ([{"id": 4, "account": "dev1"}, None, "closed"], ["dev1"]), ({"1": "dev1", "3": {"account": "qa1"}}, ["dev1", "qa1"]),
    ])
    def test_accounts(self, value, accounts):
        assert pmservice.accounts_of(value) == accounts

    @each("value", [
        None, "", 0, "0000-00-00", "0000-00-00 00:00:00", "0000-00-00T00:00:00Z", "-0001-11-30", "-0001-11-29T15:54:17Z", "1970-01-01 08:00:00", "1969-12-31T16:00:00Z",
    ])
    def test_unset_moments(self, value):
        assert pmservice.moment_in(value) is None

    @each("value", ["2026-11-22 03:55:50", "2026-11-21T19:55:50Z", "2026-11-22", "2030-01-01", "1970-01-01", "2059-12-31"])
    def test_moments(self, value):
        assert pmservice.moment_in(value) == value

    @each(("bug", "state"), [
        (dict(status="active"), "active"), (dict(status="resolved", resolution="fixed"), "resolved"), (dict(status="closed"), "closed"),
        (dict(status={"code": "resolved", "name": "Resolved"}), "resolved"), (dict(status={"code": "storyChanged", "name": "Changed"}), "active"),
        *((dict(status=word, resolution="", closedDate=None), "active") for word in ("confirmed", "postponed", "delay", "storyChanged")),
        (dict(status="storyChanged", resolution="fixed", closedDate="0000-00-00 00:00:00"), "resolved"),
        (dict(status="storyChanged", resolution="fixed", closedDate="2026-11-20 10:00:00"), "closed"), ({}, "active"),
    ])
    def test_state_of_a_bug(self, bug, state):
        assert pmservice.bug_state(bug) == state

    @each(("story", "votes"), [
        ({}, []), (dict(reviewer=[], notReview=[]), []), (dict(reviewer=["admin"], notReview=["admin"]), [dict(account="admin", result="")]),
        (dict(reviewer=["qa1", "pm1"], notReview=["pm1"]), [dict(account="qa1", result="pass"), dict(account="pm1", result="")]),
        (dict(reviewer="qa1,pm1", notReview=""), [dict(account="qa1", result="pass"), dict(account="pm1", result="pass")]),
        (dict(reviewer=["qa1"], reviewers=[dict(account="qa1", result="reject")]), [dict(account="qa1", result="reject")]),
    ])
    def test_votes_on_a_story(self, story, votes):
        assert pmservice.votes_on(story) == votes

    @each(("value", "steps"), [
        (None, []), ("", []), ([], []), ({}, []), ([None, "go"], []), ([dict(desc=" ", expect="gone")], []), ([dict(desc="go", expect="", files=[])], [dict(desc="go", expect="")]),
        ({"1": dict(id=6, desc="go"), "4": dict(id=7, desc="pay")}, [dict(id=6, desc="go"), dict(id=7, desc="pay")]),
    ])
    def test_steps(self, value, steps):
        assert pmservice.steps_in(value, pmservice.LOADED_STEP) == steps

    def test_steps_of_a_run_need_no_text(self):
        step = dict(id=6, desc="", result="fail", real="stuck")
        assert pmservice.steps_in([dict(step, files=[])], pmservice.LOADED_STEP_RESULT) == [step]

    @each(("array", "record", "facts"), [
        ("departments", dict(id=2, name="Backend", parent=1, manager="dev1", path=",1,2,"), dict(parent=1, manager="dev1")),
        ("users",       dict(id=1, account="admin", role={}, dept="0", birthday="0000-00-00", deleted="0"), dict(role=None, dept=0, birthday=None, deleted="0")),
        ("products",    dict(id=7, name=" ", acl="custom", whitelist=",dev1", createdDate="0000-00-00 00:00:00", line="0"), dict(name="product 7", acl="private", whitelist=["dev1"], createdDate=None, line="0")),
        ("projects",    dict(id=7, name="P" * 300, model="ipd", budget="5000.5", begin="2026-01-05 00:00:00", realBegan="0000-00-00"), dict(name="P" * 255, model="waterfall", budget=5000, begin="2026-01-05", realBegan=None)),
        ("projects",    dict(id=7, name="P", model="agileplus", acl="program", products=[{"id": 1, "name": "Shop", "plans": []}]), dict(model="scrum", acl="private", products=[1])),
        ("executions",  dict(id=7, name="E", type="kanban", project="2", days="", status="doing"), dict(type="sprint", project=2, status="doing")),
        ("plans",       dict(id=7, title="", product=1, parent=-1, stories=[], begin="2030-01-01"), dict(title="plan 7", parent=0, begin="2030-01-01")),
        ("stories",     dict(id=7, title="S", plan="1,2", parent="-1", status="changing", mailto="qa1,pm1", executions={"3": {"name": "Sprint 1"}}), dict(plans=[1, 2], parent=0, status="changed", mailto=["qa1", "pm1"], executions=[3], reviewers=[])),
        ("builds",      dict(id=7, name="B", project=2, execution=3, branch="0", stories="1,2", bugs=[], builder=None), dict(execution=3, branch="0", stories=[1, 2], bugs=[], builder=None)),
        ("releases",    dict(id=7, name="R", project=",2,", build=",1,", branch=",0,", mailto=[{"id": 4, "account": "dev1"}], notify=None), dict(project=2, build="1", branch="0", mailto="dev1")),
        ("bugs",        dict(id=7, title="B", deadline="2026-12-01 00:00:00", openedBuild=["1", "trunk"], resolution="", resolvedBy="", linkBug="0"), dict(deadline="2026-12-01", openedBuild="1,trunk", resolvedBy=None, linkBug="0", status="active")),
        ("tasks",       dict(id=7, name="T", execution=0, project=2, assignedTo="closed", estimate="8.00", activatedDate=""), dict(project=2, assignedTo=None, estimate="8.00", activatedDate=None)),
        ("testtasks",   dict(id=7, name="R", build="trunk", mailto="dev1,", owner="", testcases=[{"id": "case_4", "case": 4}]), dict(build="trunk", mailto=["dev1"], owner=None, testcases=[4])),
        ("testtasks",   dict(id=7, name="R", build="3"), dict(build=3)),
        ("efforts",     dict(id=2, objectType="task", objectID=70, task=70, product=",1,", begin="0000", date="2026-11-16", left=8), dict(task=70, date="2026-11-16", left=8)),
    ])
    def test_record_as_a_fixture_writes_it(self, array, record, facts):
        written = pmservice.as_fixture(array, record)
        assert {field: written.get(field) for field in facts} == facts
        assert written.keys() <= pmservice.FIXTURE[array].fixture.fields.keys()

    @each("array", ["builds", "tasks", "testtasks"])
    def test_project_follows_from_the_execution(self, array):
        assert "project" not in pmservice.as_fixture(array, dict(id=7, name="N", project=2, execution=3))
    # fmt: on


NEXT_VERSION = pmservice.SCHEMA_VERSION + 1
NEXT_PART = f"""
CREATE TABLE note (product INTEGER PRIMARY KEY REFERENCES product, text TEXT NOT NULL) STRICT;
INSERT INTO note SELECT id, name FROM product;
CREATE TRIGGER product_noted AFTER INSERT ON product BEGIN INSERT INTO note VALUES (NEW.id, NEW.name); END;
CREATE TABLE later_department (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, parent INTEGER REFERENCES department,
    "order" INTEGER NOT NULL DEFAULT 10, manager TEXT REFERENCES user (account)
) STRICT;
INSERT INTO later_department SELECT id, name, parent, "order", manager FROM department;
DROP TABLE department;
ALTER TABLE later_department RENAME TO department;
PRAGMA user_version = {NEXT_VERSION};
"""


def make_later(schema: Any = pmservice.schema) -> None:
    """Give this process a schema with a further part, as a later version of the service has."""
    pmservice.schema = lambda: {**schema(), NEXT_VERSION: NEXT_PART}
    pmservice.SCHEMA_VERSION = NEXT_VERSION


@pytest.fixture
def later(monkeypatch):
    """Return a function that makes this process one of a later version, until the test ends."""
    monkeypatch.setattr(pmservice, "schema", pmservice.schema)
    monkeypatch.setattr(pmservice, "SCHEMA_VERSION", pmservice.SCHEMA_VERSION)
    return make_later


KILLED_UPGRADE = """
import itertools, os, signal, sys
import test_pmservice

test_pmservice.make_later()
statements, spared = test_pmservice.pmservice.statements_of, int(sys.argv[2])

def kill_after(script):
    for number, statement in enumerate(statements(script)):
        if number == spared:
            os.kill(os.getpid(), signal.SIGKILL)
        yield statement

test_pmservice.pmservice.statements_of = kill_after
test_pmservice.pmservice.create_app(sys.argv[1])
"""


class TestUpgrades:
    """A file of an older version runs the parts of the schema that it lacks: here one that the tests make up."""

    @pytest.fixture
    def kept(self, tmp_path):
        """Return the path of a file of this version, with some of everything."""
        with contextlib.closing(Client(tmp_path / "kept.db")) as client:
            client.load(**FILLED)
        return tmp_path / "kept.db"

    @staticmethod
    def content(path: Path) -> tuple[int, dict[str, list[Any]]]:
        """Return the version of a file and the rows of its tables."""
        with contextlib.closing(sqlite3.connect(path)) as file:
            names = file.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
            ).fetchall()
            rows = {name: file.execute(f"SELECT * FROM {name}").fetchall() for (name,) in names}
            return file.execute("PRAGMA user_version").fetchone()[0], rows

    def test_upgraded_file_has_all_that_was_in_it_and_can_be_read_and_written(
        self, kept, later, capsys
    ):
        _, before = self.content(kept)
        later()
        pmservice.create_app(kept).close()
        version, after = self.content(kept)
        assert (version, after.pop("note")) == (NEXT_VERSION, [(1, "Shop"), (2, "Till")])
        assert {**after, "sqlite_sequence": []} == {**before, "sqlite_sequence": []}
        with contextlib.closing(Client(kept)) as client:
            ids = [
                client.product(name="New")["id"],
                client.post("/departments", name="New", parent=1)["id"],
            ]
        _, after = self.content(kept)
        assert ids == [3, 5]
        assert after["note"][2:] == [(3, "New")]
        assert pmservice.main(["--database", str(kept), "check"]) == 0, capsys.readouterr().out

    def test_new_file_runs_all_parts(self, tmp_path, later):
        later()
        with contextlib.closing(Client(tmp_path / "new.db")) as client:
            client.product(name="P")
        version, rows = self.content(tmp_path / "new.db")
        assert (version, rows["note"]) == (NEXT_VERSION, [(1, "P")])

    def test_upgrade_that_is_interrupted_anywhere_leaves_the_old_version_and_is_made_up_for(
        self, connections, kept, later
    ):
        class Interrupted(Exception):
            pass

        def interrupt(*_: object) -> None:
            if next(left) == 0:
                raise Interrupted

        later()
        image, old, seen = kept.read_bytes(), self.content(kept), Counter()
        connections.before = interrupt
        for spared in itertools.count():
            kept.write_bytes(image)
            left = itertools.count(spared, -1)
            try:
                pmservice.create_app(kept).close()
                break
            except Interrupted:
                for connection in connections:
                    connection.close()
                version, rows = self.content(kept)
                assert rows == old[1] if version == old[0] else version == NEXT_VERSION
                seen[version] += 1
                pmservice.create_app(kept).close()
                assert self.content(kept)[0] == NEXT_VERSION
        assert spared > 5
        assert seen[old[0]] > 1

    @posix("Windows has no SIGKILL")
    @each("spared", range(len(list(pmservice.statements_of(NEXT_PART)))))
    def test_upgrade_that_is_killed_leaves_the_old_version_and_is_made_up_for(
        self, kept, later, spared
    ):
        before = self.content(kept)
        words = [sys.executable, "-c", KILLED_UPGRADE, kept, str(spared)]
        killed = subprocess.run(words, cwd=HERE, capture_output=True, text=True)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert self.content(kept) == before
        later()
        pmservice.create_app(kept).close()
        assert self.content(kept)[0] == NEXT_VERSION

    @each("command", ["check", "dump", "load x.json", "user dev1", "backup copy.db", "--port 0"])
    @each("version", range(1, pmservice.FIRST_VERSION))
    def test_file_from_before_the_first_release_is_refused_with_the_way_out(
        self, kept, run, command, version
    ):
        with contextlib.closing(sqlite3.connect(kept)) as file:
            file.execute(f"PRAGMA user_version = {version}")
        Path("x.json").write_text("{}")
        image = kept.read_bytes()
        code, out, told = run("--database", "kept.db", *command.split())
        assert (code, out) == (2, "")
        assert told == (
            "pmservice: kept.db: written by a pmservice from before the first release; let that one write its records"
            " to a file (pmservice dump) and load them into a new database (pmservice load)\n"
        )
        assert (kept.read_bytes(), sorted(os.listdir())) == (image, ["kept.db", "x.json"])

    def test_killed_writer_of_another_program_leaves_its_file_to_that(self, tmp_path):
        with contextlib.closing(
            sqlite3.connect(tmp_path / "killed.db", isolation_level=None)
        ) as killed:
            killed.execute("CREATE TABLE half (text)")
            killed.execute("PRAGMA cache_size = 1")
            killed.execute("BEGIN")
            killed.executemany("INSERT INTO half VALUES (?)", [("x" * 3000,)] * 99)
            for suffix in ("", "-journal"):
                shutil.copy(tmp_path / f"killed.db{suffix}", tmp_path / f"pm.db{suffix}")
        (tmp_path / "text.db").write_text("A text.\n" * 999)
        (tmp_path / "text.db-journal").write_text("Notes on it.\n")
        kept = {file: file.read_bytes() for file in tmp_path.glob("[pt]*")}
        for name, word in (("pm.db", "another program"), ("text.db", "not a database")):
            with pytest.raises(pmservice.StartError, match=word):
                pmservice.create_app(tmp_path / name)
        assert {file: file.read_bytes() for file in tmp_path.glob("[pt]*")} == kept

    @each("image", ["new", "kept"])
    def test_file_whose_writer_was_killed_while_it_committed_is_rolled_back(
        self, tmp_path, kept, image
    ):
        if image == "kept":
            kept.rename(tmp_path / "killed.db")
        with contextlib.closing(
            sqlite3.connect(tmp_path / "killed.db", isolation_level=None)
        ) as killed:
            killed.execute("PRAGMA journal_mode = DELETE")
            killed.execute(
                "PRAGMA cache_size = 1"
            )  # pages reach the file before the transaction ends
            killed.execute("BEGIN")
            killed.execute("CREATE TABLE half (text)")
            killed.executemany("INSERT INTO half VALUES (?)", [("x" * 3000,)] * 99)
            for suffix in ("", "-journal"):
                shutil.copy(tmp_path / f"killed.db{suffix}", tmp_path / f"pm.db{suffix}")
        with contextlib.closing(Client(tmp_path / "pm.db")) as client:
            assert client.product()["id"] == (3 if image == "kept" else 1)
            assert client.sql("SELECT count(*) FROM sqlite_schema WHERE name = 'half'") == [(0,)]


# --- 19 Pull: servers that misbehave ------------------------------------------------------------------
# The server behaves well, but for what a test says instead.

# fmt: off
DAN = {"id": 2, "account": "dev1", "avatar": "", "realname": "Dan Dev"}
YEAR_2026, PART = dict(begin="2026-01-01", end="2026-12-31"), dict(begin="2026-02-01", end="2026-03-31")
REMOTE = {  # the records of a server, as it shows them
    "departments": [dict(id=1, name="D", parent=0)],
    "users":       [dict(id=1, account="admin", realname="Ada"), dict(DAN, dept=1)],
    "programs":    [dict(id=9, name="G", parent=0, **YEAR_2026)],
    "projects":    [dict(id=1, name="Pr", parent=9, **YEAR_2026)],
    "executions":  [dict(id=2, name="Ex", parent=1, project=1, **PART)],
    "products":    [dict(id=1, name="Shop", acl="open", PO=DAN)],
    "plans":       [dict(id=1, product=1, title="Pl", parent=0, **YEAR_2026)],
    "stories":     [dict(id=1, product=1, title="S", plan="1")],
    "builds":      [dict(id=1, product=1, project=1, execution=2, name="B1", date="2026-02-02", builder=DAN)],
    "releases":    [dict(id=1, product=1, project=1, build=1, name="R", date="2026-02-03")],
    "bugs":        [dict(id=id, product=1, title=f"Bug {id}", openedBy=DAN) for id in (1, 2, 3)],
    "tasks":       [dict(id=1, project=1, execution=2, name="T", assignedTo=DAN)],
    "testcases":   [dict(id=1, product=1, title="C", steps=[dict(id=1, desc="a", expect="b")])],
    "testtasks":   [dict(id=1, product=1, project=1, execution=2, build="1", name="Round", **PART)],
    "efforts":     [dict(id=1, task=1, account="dev1", date="2026-02-06", consumed=1, left=2)],
    "results":     [dict(id=1, case=1, caseResult="pass", date="2026-02-07 10:00:00")],
}
LINKS = {"products": "product", "projects": "project", "executions": "execution", "tasks": "task", "testcases": "case"}
# fmt: on


class Answer(NamedTuple):
    """An answer. A body that is not bytes is written as JSON; a header that is None is left out."""

    body: Any = b""
    status: int = 200
    headers: dict[str, str | None] = {}


class Asked(NamedTuple):
    """A request. times: how often the same one came before."""

    line: str
    path: str
    query: dict[str, str]
    token: str | None
    times: int
    handler: Any

    @property
    def page(self) -> int:
        return int(self.query.get("page", 1))

    def good(self, **headers: str | None) -> Answer:
        """Return the answer of a server that behaves well, with other headers."""
        return self.handler.server.good_answer(self)._replace(
            headers={name.replace("_", "-"): value for name, value in headers.items()}
        )

    def stall(self) -> bytes:
        """Send nothing until the test ends."""
        self.handler.server.stalling.set()
        self.handler.server.ended.wait()
        return b""

    def reset(self) -> bytes:
        """Reset the connection as soon as the request is done."""
        linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
        self.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.handler.connection.close()
        return b""

    def close(self) -> None:
        """Close the connection after the answer without saying so before, as when keep-alive times out."""
        self.handler.close_connection = True

    def send(self, pieces: Any) -> bytes:
        """Send pieces as long as the client takes them."""
        with contextlib.suppress(OSError):
            for piece in pieces:
                self.handler.wfile.write(piece)
        return b""


def at(path: str, *answers: Any) -> Any:
    """Return a behaviour: what is asked at a path gets these answers, or what a function of the request answers.

    The same request gets the next answer when it comes again, and the last one for ever. None is the good answer;
    bytes are sent as they are, and the connection is closed.
    """

    def behave(asked: Asked) -> Any:
        if asked.path == path:
            answer = answers[min(asked.times, len(answers) - 1)]
            return answer(asked) if callable(answer) else answer
        return None

    return behave


def paged(asked: Asked, key: str, records: list[Any], limit: int, **more: Any) -> dict[str, Any]:
    """Return the page of a list that a request asks for."""
    start = (asked.page - 1) * limit
    return {
        "page": asked.page,
        "total": len(records),
        "limit": limit,
        **more,
        key: records[start : start + limit],
    }


class RemoteServer(socketserver.ThreadingTCPServer):
    """A server with the records of REMOTE, or others in their place, that behaves as a function says.

    sent: the requests that it got, with the `tokens` of each.  connections: how many were made to it.
    """

    def __init__(self, behave: Any = None, **records: list[Any]):
        super().__init__(("127.0.0.1", 0), RemoteHandler)
        self.behave, self.records = behave or (lambda asked: None), {**REMOTE, **records}
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.sent: list[str] = []
        self.tokens: list[str | None] = []
        self.connections = 0
        self.stalling, self.ended = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.serve_forever, args=(0.002,))
        self.thread.start()

    def __exit__(self, *ended: object) -> None:
        """Stop, when every request is noted: its thread ends with the client's connection."""
        self.ended.set()
        self.shutdown()
        self.thread.join()
        super().__exit__(*ended)

    def handle_error(self, request: Any, address: Any) -> None:
        """Say nothing of a client that is gone."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, address)

    def good_answer(self, asked: Asked) -> Answer:
        if asked.line == "POST /tokens":
            return Answer({"token": "from-login"}, 201)
        if not asked.token:
            return Answer({"error": "Unauthorized"}, 401)
        *home, last = asked.path.strip("/").split("/")
        array = {"estimate": "efforts"}.get(last, last)
        if array in self.records and len(home) in (0, 2):
            records = [
                one
                for one in self.records[array]
                if not home or one.get(LINKS[home[0]]) == int(home[1])
            ]
            key = {"efforts": "effort"}.get(array, array)
            return Answer(paged(asked, key, records, int(asked.query.get("limit", 20))))
        for record in self.records.get("/".join(home), ()):
            if last in (str(record["id"]), record.get("account")):
                return Answer(record)
        return Answer({"error": "not found"}, 404)


class RemoteHandler(http.server.BaseHTTPRequestHandler):
    protocol_version, timeout = "HTTP/1.1", 60

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        line, address = f"{self.command} {self.path}", urllib.parse.urlsplit(self.path)
        times, token = self.server.sent.count(line), self.headers["Token"]
        asked = Asked(
            line, address.path, dict(urllib.parse.parse_qsl(address.query)), token, times, self
        )
        self.server.sent.append(line)
        self.server.tokens.append(token)
        answer = self.server.behave(asked)
        if isinstance(answer, bytes):
            self.close_connection = True
            self.wfile.write(answer)
            return
        body, status, headers = asked.good() if answer is None else answer
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
        self.close_connection |= headers.get("Connection") == "close"
        told = [f"{name}: {value}" for name, value in headers.items() if value is not None]
        head = "\r\n".join([f"HTTP/1.1 {status} Said", *told, "", ""])
        self.wfile.write(
            head.encode("latin-1") + body
        )  # in one piece, so that no half of it is awaited

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def nested(levels: int) -> str:
    """Return departments, each of which is the only child of the one before."""
    heads = (
        f'{{"id": {id}, "name": "D", "parent": {id - 1}, "children": ['
        for id in range(1, levels + 1)
    )
    return f"[{''.join(heads)}{']}' * levels}]"


BUGS = "/products/1/bugs"
BUGS_ASKED = f"{BUGS}?status=all&limit=1000&page=1"
NOT_JSON = "the answer is not JSON: "
GZIPPED = gzip.compress(b'{"bugs": []}', mtime=0)
# fmt: off
FAILED_ANSWERS = {  # what is answered for ever, and why that fails
    "500":                            (Answer({"error": "boom"}, 500), "it was answered 500"),
    "502 with a page":                (Answer(b"<html>\x1b[31mBad gateway</html>", 502), "it was answered 502"),
    "503 and no time to wait":        (Answer({}, 503, {"Retry-After": "0"}), "it was answered 503"),
    "429":                            (Answer({}, 429), "it was answered 429"),
    "status 999":                     (Answer({"bugs": []}, 999), "it was answered 999"),
    "a reset":                        (Asked.reset, "[Errno]"),
    "nothing":                        (b"", "Remote end closed connection without response"),
    "no HTTP":                        (b"SSH-2.0-\x1b[31mServer\r\n", r"SSH-2.0-\x1b[31mServer\r\n"),
    "too many headers":               (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200, "got more than 100 headers"),
    "too long a header":              (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000, "got more than 65536 bytes when reading header line"),
    "a body that is cut":             (Answer(b"12", headers={"Content-Length": "9", "Connection": "close"}), "IncompleteRead(2 bytes read, 7 more expected)"),
    "a length beyond all bounds":     (Answer(b"12", headers={"Content-Length": "9" * 20, "Connection": "close"}), f"IncompleteRead(2 bytes read, {'9' * 18}97 more expected)"),
    "a chunk without a size":         (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n[]\r\n0\r\n\r\n", "IncompleteRead(0 bytes read)"),
    "a chunk that is cut":            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n[]", "IncompleteRead(0 bytes read)"),
    "chunks without an end":          (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n", "IncompleteRead(0 bytes read)"),
    "JSON that is cut":               (Answer(b'{"bugs": [{"id": 1, "ti'), NOT_JSON + '{"bugs": [{"id": 1, "ti'),
    "JSON with an escape in it":      (Answer(b'{"bugs": \x1b[31m'), NOT_JSON + r'{"bugs": \x1b[31m'),
    "two values":                     (Answer(b"[][]"), NOT_JSON + "[][]"),
    "a page":                         (Answer(b"<html>Log in</html>"), NOT_JSON + "<html>Log in</html>"),
    "a page that is no UTF-8":        (Answer(b"<p>\xe4</p>"), NOT_JSON + "<p>\ufffd</p>"),
    "JSON that is no UTF-8":          (Answer(b'{"bugs": [{"title": "\xe4"}]}'), NOT_JSON + '{"bugs": [{"title": "\ufffd"}]}'),
    "gzip, which nobody asked for":   (Answer(GZIPPED, headers={"Content-Encoding": "gzip"}),
                                       NOT_JSON + GZIPPED.decode(errors="replace").encode("unicode_escape").decode()),
    "100,000 arrays in each other":   (Answer(b"[" * 100_000), f"{NOT_JSON}{'[' * 300}…"),
    "100,000 objects in each other":  (Answer(b'{"a":' * 100_000), NOT_JSON + '{"a":' * 60 + "…"),
    "10,000 children in each other":  (Answer(nested(10_000).encode()), f"{NOT_JSON}{nested(9)[:300]}…"),
}
if os.name == "nt":
    del FAILED_ANSWERS["a reset"]  # under Wine it looks like a connection that was closed
NO_LISTS = {  # what is answered, as it is printed
    "a number": "5", "a text": '"\\u001b[31mx"', "a truth value": "true", "an object": "{}", "an error": '{"error":"\\u001b[31mno\\nmore"}', "a number instead of the list": '{"bugs":5}',
    "a text instead of the list": '{"total":1,"bugs":"1,2"}', "an object without any list": '{"status":"success","data":{"a":1}}',
    "600 characters": '{"text":"' + "x" * 600 + '"}',
}
UNTAKEN_IDS = (None, 0, -1, 2**53 + 1, 2**63, 10**400, True, False, "", "x", "1e3", "\u0663", [], {}, {"id": 7}, float("nan"), float("inf"))
# fmt: on


def builds(*names: str) -> list[dict[str, Any]]:
    return [dict(REMOTE["builds"][0], id=id, name=name) for id, name in enumerate(names, 1)]


# fmt: off
ANCESTOR, NAMED_TWICE = "parent makes it its own ancestor", "name is taken by another build of its product"
CHANGED = "changed to keep a rule"
PAST = dict(begin="2027-01-01", end="2026-01-01")
TWO_PRODUCTS = [dict(id=1, name="A"), dict(id=2, name="B")]
ABOVE_EACH_OTHER = [dict(id=id, parent=parent, name="N", title="N", product=1) for id, parent in ((1, 2), (2, 1), (3, 3))]
POISON = {  # records, and what is noted of them
    "program above itself": (dict(programs=[dict(id=9, name="G", parent=9)]), {
        "programs": [f"1 {CHANGED} (project N: {ANCESTOR})"], "projects": [f"1 {CHANGED} (project N: {ANCESTOR})"]}),
    "programs above each other": (dict(programs=[dict(id=9, name="G", parent=8), dict(id=8, name="H", parent=9)]), {
        "programs": [f"2 {CHANGED} (project N: {ANCESTOR})"], "projects": [f"1 {CHANGED} (project N: {ANCESTOR})"]}),
    "departments above each other": (dict(departments=ABOVE_EACH_OTHER), {"departments": [f"3 {CHANGED} (department N: {ANCESTOR}, or more than 50 levels)"]}),
    "stories above each other": (dict(stories=ABOVE_EACH_OTHER), {"stories": [f"3 {CHANGED} (story N: parent must be a story that has no parent itself)"]}),
    "stories on three levels": (dict(stories=[dict(id=id, product=1, title="S", parent=id - 1) for id in (1, 2, 3)]), {
        "stories": [f"1 {CHANGED} (story N: parent must be a story that has no parent itself)"]}),
    "plans above each other": (dict(plans=ABOVE_EACH_OTHER), {"plans": [f"3 {CHANGED} (plan N: parent must be a plan that has no parent itself)"]}),
    "project below a project": (dict(projects=[dict(id=1, name="A", parent=3), dict(id=3, name="B", parent=2)]), {
        "projects": ["2 links to parent left out, because they were not copied (program 2)"]}),
    "execution of no project": (dict(executions=[dict(id=2, name="E", parent=77, project=77)]), {
        "projects": ["1 placeholders for records that were not copied (project 77)"]}),
    "execution with another parent": (dict(executions=[dict(id=2, name="E", parent=9, project=1)]), {"executions": ["1 values of parent not taken (9 of 2)"]}),
    "two builds with one name": (dict(builds=builds("B", "B")), {"builds": [f"1 {CHANGED} (build N: {NAMED_TWICE})"]}),
    "two builds with a long name": (dict(builds=builds("x" * 300, "x" * 300)), {"builds": [f"1 {CHANGED} (build N: {NAMED_TWICE})"]}),
    "build of no product": (dict(builds=[dict(REMOTE["builds"][0], product=77)]), {"products": ["1 placeholders for records that were not copied (product 77)"]}),
    "story in the plan of another product": (dict(products=TWO_PRODUCTS, plans=[dict(id=1, product=2, title="P")]), {
        "stories": [f"1 {CHANGED} (story N: product must be that of the plan it names)"]}),
    "story below one of another product": (dict(products=TWO_PRODUCTS, stories=[dict(id=1, product=1, title="S"), dict(id=2, product=2, title="T", parent=1)]), {
        "stories": [f"1 {CHANGED} (story N: product must be that of the parent it names)"]}),
    "steps with taken ids": (dict(testcases=[dict(id=id, product=1, title="C", steps=[dict(id=step, desc="a") for step in steps]) for id, steps in ((1, [1]), (2, [1]), (3, [5, 5]))]), {
        "testcases": ["2 left out (testcase 2: UNIQUE constraint failed: step.id)"]}),
    "end before begin": (dict(programs=[dict(id=9, name="G", **PAST)], projects=[dict(id=1, name="P", **PAST)], executions=[dict(id=2, name="E", project=1, **PAST)], plans=[dict(id=1, product=1, title="P", **PAST)],
                              testtasks=[dict(REMOTE["testtasks"][0], **PAST)], tasks=[dict(id=1, execution=2, name="T", estStarted="2027-01-01", deadline="2026-01-01")]), {
        **{array: [f"1 values of end not taken ('2026-01-01' of {id})"] for array, id in (("programs", 9), ("projects", 1), ("executions", 2), ("plans", 1), ("testtasks", 1))},
        "tasks": ["1 values of deadline not taken ('2026-01-01' of 1)"]}),
    "begin after the last day": (dict(plans=[dict(id=1, product=1, title="P", begin="2099-01-01", end="0000-00-00")]), {
        "plans": ["1 left out (plan 1: CHECK constraint failed: begin <= end)"], "stories": ["1 links to plans left out, because they were not copied (plan 1)"]}),
    "days that are none": (dict(projects=[dict(id=1, name="P", begin="soon", end="2026-02-30")], bugs=[dict(id=1, product=1, title="B", deadline="2026-13-01", openedDate="yesterday", closedDate=5, resolvedDate="0000-00-00 00:00:00")]), {
        "projects": ["1 values of begin not taken ('soon' of 1)", "1 values of end not taken ('2026-02-30' of 1)"],
        "bugs": ["1 values of closedDate not taken (5 of 1)", "1 values of deadline not taken ('2026-13-01' of 1)", "1 values of openedDate not taken ('yesterday' of 1)"]}),
    "texts beyond 64 KiB": (dict(bugs=[dict(id=1, product=1, title="B", steps="\xe4" * 35_000), dict(id=2, product=1, title="x" * 70_000)]), {"bugs": [f"1 values of steps not taken ('{'ä' * 299}…)"]}),
    "characters that no text has": (dict(bugs=[dict(id=1, product=1, title="B", steps="a\0b", keywords="\ud800", openedBy="\udfff"), dict(id=2, product=1, title="a\0b")]), {
        "bugs": [r"1 values of keywords not taken ('\ud800' of 1)", r"1 values of openedBy not taken ('\udfff' of 1)", r"1 values of steps not taken ('a\x00b' of 1)", r"1 values of title not taken ('a\x00b' of 2)",
                 "1 left out (bug 2: title is required and must be 1 to 255 characters, not blank.)"]}),
    "numbers that are none": (dict(bugs=[dict(id=1, product=1, title="B", pri=float("nan"), severity=float("inf"), steps=float("-inf"), confirmed=10**400)]), {
        "bugs": [f"1 values of confirmed not taken (1{'0' * 299}…)", "1 values of pri not taken (nan of 1)", "1 values of severity not taken (inf of 1)", "1 values of steps not taken (-inf of 1)"]}),
    "arrays in each other": (dict(bugs=[dict(id=1, product=1, title="B", pri=json.loads("[" * 400 + "]" * 400))]), {"bugs": [f"1 values of pri not taken ({'[' * 300}…)"]}),
    "accounts that are none": (dict(users=[dict(id=1, account="admin"), dict(DAN), *(dict(id=id, account=account) for id, account in enumerate(("a b", "x" * 40, "\xfcber", "../x", "\x1b[1m", 5, None, {}, []), 3))]), {
        "users": ["7 values of account not taken ('a b' of 3)", "9 left out (user 3: account is required and must be an account: 1 to 30 letters, digits, _ . - @.)"]}),
    "persons that are none": (dict(bugs=[dict(id=1, product=1, title="B", openedBy=dict(DAN, account="a b"), assignedTo="x" * 40, resolvedBy=["\xfc"], closedBy={"account": {}}, lastEditedBy=77), dict(id=2, product=1, title="B", openedBy={"account": "gone", "realname": "\x1b[1m"})]), {
        "bugs": [f"1 values of assignedTo not taken ('{'x' * 40}' of 1)", "1 values of lastEditedBy not taken (77 of 1)", "1 values of openedBy not taken ('a b' of 1)", "1 values of resolvedBy not taken (['ü'] of 1)"]}),
    "2,000 persons on a white list": (dict(products=[dict(id=1, name="P", acl="private", whitelist=["person"] * 2000)]), {"products": [f"1 values of whitelist not taken ({repr(['person'] * 99)[:300]}…)"]}),
    "white lists that are none": (dict(products=[dict(id=1, name="P", acl="private", whitelist=["a b", "dev1"]), dict(id=2, name="Q", acl="private", whitelist=5)]), {"products": ["1 values of whitelist not taken (['a b', 'dev1'] of 1)"]}),
    "hours that are none": (dict(tasks=[dict(id=1, execution=2, name="T", estimate=-5, consumed="-1.5", left="1e400")], efforts=[dict(id=1, task=1, consumed=-3, left="much", account="dev1")]), {
        "tasks": ["1 values of consumed not taken ('-1.5' of 1)", "1 values of estimate not taken (-5 of 1)", "1 values of left not taken ('1e400' of 1)"],
        "efforts": ["1 values of consumed not taken (-3 of 1)", "1 values of left not taken ('much' of 1)"]}),
    "words that are none": (dict(bugs=[dict(id=1, product=1, title="B", status="wild", type="\x1b[31m", resolution="no", severity=-3, pri="high")], tasks=[dict(id=1, execution=2, name="T", type="x", status={"code": ["a"]})],
                                 testcases=[dict(id=1, product=1, title="C", type="odd", stage="x,y", steps=[dict(desc="a", type="z")])]), {
        "bugs": ["1 values of pri not taken ('high' of 1)", "1 values of resolution not taken ('no' of 1)", "1 values of severity not taken (-3 of 1)", r"1 values of type not taken ('\x1b[31m' of 1)"],
        "tasks": ["1 values of status not taken ('a' of 1)", "1 values of type not taken ('x' of 1)"],
        "testcases": ["1 values of stage not taken ('x,y' of 1)", "1 values of steps not taken ([{'type': 'z', 'desc': 'a'}] of 1)", "1 values of type not taken ('odd' of 1)"]}),
    "links to nothing": (dict(builds=[dict(REMOTE["builds"][0], stories="1,99", bugs=[98, {"id": 1}])], testtasks=[dict(REMOTE["testtasks"][0], build=97)], results=[dict(id=1, case=1, testtask=96)],
                              stories=[dict(id=1, product=1, title="S", plan="1,95", duplicateStory=94, parent=93)], bugs=[dict(id=1, product=1, title="B", project=92, execution=9)]), {
        array: [f"1 links to {field} left out, because they were not copied ({target})" for field, target in links.items()] for array, links in {
            "stories": {"duplicateStory": "story 94", "parent": "story 93", "plans": "plan 95"}, "builds": {"bugs": "bug 98", "stories": "story 99"}, "testtasks": {"build": "build 97"},
            "results": {"testtask": "testtask 96"}, "bugs": {"execution": "execution or project 9", "project": "project 92"}}.items()}),
    "versions that contradict each other": (dict(stories=[dict(id=1, product=1, title="S", version=1, versions=[dict(version=5, title="x")]), dict(id=2, product=1, title="T", versions="x", reviewers=[{"account": "dev1"}] * 2)]), {
        "stories": ["2 values of versions not taken ([{'version': 5, 'title': 'x'}] of 1)"]}),
}
# fmt: on


class TestPullOfHostileServers:
    """Pulling ends with one line that says what was read and why it failed, or succeeds with notes that are counted."""

    @pytest.fixture(autouse=True)
    def pulling(self, run, tmp_path, tmp_path_factory, monkeypatch):
        """Pull with a token, in an empty folder, without pauses between the attempts."""
        self.run, self.monkeypatch, self.temporary = (
            run,
            monkeypatch,
            tmp_path_factory.mktemp("temporary"),
        )
        self.set(PAUSES=(0, 0))
        monkeypatch.setattr(tempfile, "tempdir", str(self.temporary))
        monkeypatch.setenv("PMSERVICE_PULL_TOKEN", "secret-token")

    def set(self, **constants: Any) -> None:
        for name, value in constants.items():
            self.monkeypatch.setattr(pmservice, name, value)

    def with_password(self) -> None:
        self.monkeypatch.delenv("PMSERVICE_PULL_TOKEN")
        self.monkeypatch.setenv("PMSERVICE_PULL_PASSWORD", "secret-password")

    def pull(self, url: str, *arguments: str) -> tuple[int, str, list[str]]:
        """Return the exit code, stdout and the lines of stderr without what differs from run to run."""
        code, out, told = self.run("pull", url, *arguments)
        assert "secret" not in out + told
        assert all(line.isprintable() for line in told.split("\n"))
        for pattern, instead in (
            (r"(?m)^\d\d:\d\d:\d\d ", ""), (re.escape(url), "URL"), (r"(?m)\d+ s\.$", "0 s."),
            (r"\(such as ", "("), (r"(changed to keep a rule \(\w+) \d+:", r"\1 N:"),
            (r"\[(Errno|WinError) -?\d+\] [^;\n]+", "[Errno]"),
        ):  # fmt: skip
            told = re.sub(pattern, instead, told)
        return code, out, told.splitlines()

    def left(self) -> list[str]:
        """Return the names of the files that are there after a pull."""
        return sorted(os.listdir()) + os.listdir(self.temporary)

    def fails(
        self, behave: Any, *lines: str, repeated: Any = (), **records: list[Any]
    ) -> list[str]:
        """Pull into a new database and into a file that exists: both print these lines and leave everything as it was.

        repeated: how often those requests were sent that were sent more than once. Return what was sent at last.
        """
        Path("old.json").write_text("old")
        for arguments in ([], ["-o", "old.json"]):
            with RemoteServer(behave, **records) as server:
                assert self.pull(server.url, *arguments) == (2, "", list(lines))
            assert {
                line: times for line, times in Counter(server.sent).items() if times > 1
            } == dict(repeated)
            assert (self.left(), Path("old.json").read_text()) == (["old.json"], "old")
        assert all(line.startswith("GET ") or line == "POST /tokens" for line in server.sent)
        return server.sent

    def succeeds(
        self,
        behave: Any = None,
        notes: Any = (),
        warned: Any = (),
        repeated: Any = (),
        **records: list[Any],
    ) -> dict[str, Any]:
        """Pull into a new database, which is sound. Return its fixture, which can be loaded.

        notes: by array.  warned: the lines before the report.  repeated: how often those requests were sent that were
        sent more than once.  None: they do not matter.
        """
        with RemoteServer(behave, **records) as server:
            code, out, told = self.pull(server.url)
        assert (code, out) == (0, ""), told
        self.sent, self.tokens, self.connections = server.sent, server.tokens, server.connections
        *report, end = told[len(warned) :]
        found = [re.fullmatch(r"(\w+) +[\d,]+((?:  .+)*)", line) for line in report]
        self.notes = {
            array: sorted(notes.split("  ")[1:]) for array, notes in map(re.Match.groups, found)
        }
        assert told[: len(warned)] == list(warned)
        assert list(self.notes) == list(pmservice.FIXTURE)
        noted = {array: notes for array, notes in self.notes.items() if notes}
        assert notes is None or noted == {
            array: sorted(notes) for array, notes in dict(notes).items()
        }
        assert re.fullmatch(r"Pulled from URL into pm\.db: [\d,]+ requests, 0 s\.", end)
        sent = {line: times for line, times in Counter(server.sent).items() if times > 1}
        assert repeated is None or sent == dict(repeated)
        assert self.left() == ["pm.db"]
        assert self.run("check") == (0, "pm.db is sound: pages, links and counts are right.\n", "")
        fixture = json.loads(self.run("dump")[1])
        with contextlib.closing(Client(":memory:", control=False)) as client:
            client.load(**fixture)
            assert {array: ids(records) for array, records in client.dump().items()} == {
                array: ids(records) for array, records in fixture.items()
            }
        os.unlink("pm.db")
        return fixture

    def bugs(self, answer: Any, **more: Any) -> list[tuple[int, str]]:
        """Return the ids and titles of the bugs that are pulled if their list is answered so."""
        return [
            (bug["id"], bug["title"]) for bug in self.succeeds(at(BUGS, answer), **more)["bugs"]
        ]

    def asked_for_bugs(self) -> int:
        """Return how many pages of bugs the last pull asked for."""
        return sum(line.startswith(f"GET {BUGS}?") for line in self.sent)

    # A server that behaves well

    def test_server_that_behaves_well_is_asked_once_for_everything(self):
        with RemoteServer() as server:
            code, out, told = self.pull(server.url, "-o", "-")
        fixture = json.loads(out)
        assert {array: ids(records) for array, records in fixture.items()} == {
            array: ids(records) for array, records in REMOTE.items()
        }
        report = [f"{array:11} {len(REMOTE[array]):9}" for array in pmservice.FIXTURE]
        assert (code, told) == (
            0,
            [*report, f"Pulled from URL into -: {len(server.sent)} requests, 0 s."],
        )
        assert server.tokens == [None] + ["secret-token"] * (len(server.sent) - 1)
        assert (max(Counter(server.sent).values()), server.connections) == (1, 1)

    def test_more_than_a_thousand_bugs_come_page_by_page(self):
        self.set(PULL_LIMIT=100)
        bugs = [dict(id=id, product=1, title=f"Bug {id}") for id in range(1, 1051)]
        assert len(self.succeeds(bugs=bugs)["bugs"]) == 1050
        assert [line for line in self.sent if BUGS in line] == [
            f"GET {BUGS}?status=all&limit=100&page={page}" for page in range(1, 12)
        ]

    # Connections and answers

    def test_server_that_never_answers_is_given_up(self):
        self.set(SILENCE=0.2)
        assert self.fails(
            at("/user", Asked.stall), "pmservice: URL cannot be reached: timed out"
        ) == ["GET /user"]

    def test_server_that_falls_silent_is_asked_three_times(self):
        self.set(SILENCE=0.2)  # all its requests are silent, so nothing good can be late
        with (
            RemoteServer(lambda asked: asked.stall()) as server,
            pytest.raises(pmservice.StartError) as failed,
        ):
            pmservice.Remote(server.url).get("/products")
        assert (
            str(failed.value)
            == f"GET {server.url}/products failed three times; the last time timed out"
        )
        assert server.sent == ["GET /products"] * 3

    @each("name", FAILED_ANSWERS)
    def test_answer_that_fails_is_asked_for_three_times(self, name):
        answer, why = FAILED_ANSWERS[name]
        again = f"{BUGS_ASKED}: {why}; trying again"
        end = f"pmservice: GET URL{BUGS_ASKED} failed three times; the last time {why}"
        self.fails(at(BUGS, answer), again, again, end, repeated={f"GET {BUGS_ASKED}": 3})

    def test_body_that_does_not_end_is_given_up(self):
        self.set(LONGEST_ANSWER=-1)
        endless = lambda asked: asked.send(  # noqa: E731
            itertools.chain([b"HTTP/1.1 200 OK\r\n\r\n"], itertools.repeat(b" "))
        )
        self.fails(endless, "pmservice: URL cannot be reached: the answer did not end")

    def test_body_that_is_too_large_is_given_up(self):
        self.set(LARGEST_ANSWER=10_000)
        again = f"{BUGS_ASKED}: the answer did not end; trying again"
        end = f"pmservice: GET URL{BUGS_ASKED} failed three times; the last time the answer did not end"
        large = Answer({"bugs": [], "more": "x" * 10_000})
        self.fails(at(BUGS, large), again, again, end, repeated={f"GET {BUGS_ASKED}": 3})

    @each("values", [
        b"[" + b"[]," * 2000 + b"[]]", b"[" + b"{}," * 2000 + b"{}]", b"[" + b"0," * 2000 + b"0]", b"{" + b'"":0,' * 2000 + b'"":0}',
        b"[" + b"[[[]]]," * 2000 + b"0]", b"[" + b"[ ]\n,\t" * 2000 + b"[]]",
    ], ids=["arrays", "objects", "numbers", "fields", "nested arrays", "arrays with spaces"])  # fmt: skip
    @each("place", [
        b"%s", b'{"bugs": %s}', b'{"total": 1, "bugs": [{"id": 1, "title": "B", "product": 1, "more": %s}]}',
    ], ids=["answer", "list", "field"])  # fmt: skip
    def test_answer_of_too_many_values_is_refused(self, place, values):
        self.set(MOST_VALUES=1000)
        with RemoteServer(at(BUGS, Answer(place % values))) as server:
            code, out, told = self.pull(server.url)
        assert (code, out, self.left()) == (2, "", [])
        assert re.match(rf"pmservice: GET (URL)?{BUGS}", told[-1])
        assert re.search(r"\bvalues\b", told[-1])
        assert len(told[-1]) < 500

    def test_commas_and_brackets_in_texts_are_no_values(self):
        self.set(MOST_VALUES=2000)
        steps = 'Open, click [Save], see {"a": [1, 2]}; ' * 500
        answer = Answer({"bugs": [dict(id=1, product=1, title="B", steps=steps)]})
        [bug] = self.succeeds(at(BUGS, answer))["bugs"]
        assert bug["steps"] == steps

    def test_million_values_are_taken(self):
        assert pmservice.MOST_VALUES == 1_000_000

    def test_head_or_trailer_that_does_not_end_is_given_up(self):
        def drip(head: bytes, piece: bytes) -> Any:
            yield head
            for _ in range(30):
                time.sleep(0.01)
                yield piece
            yield b"\r\n" if head else b"HTTP/1.1 401 Said\r\nContent-Length: 2\r\n\r\n{}"

        self.set(LONGEST_ANSWER=0.05)
        for head, piece in (
            (b"HTTP/1.1 401 Said\r\nX: ", b"y"),
            (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
            (
                b"HTTP/1.1 401 Said\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n",
                b"X: y\r\n",
            ),
        ):
            with RemoteServer(lambda asked, sent=(head, piece): asked.send(drip(*sent))) as server:
                code, _, told = self.pull(server.url)
            assert (code, len(told), server.sent) == (2, 1, ["GET /user"])
            assert told[0].startswith("pmservice: URL cannot be reached: ")

    def test_answer_that_fails_twice_is_taken_the_third_time(self):
        again = f"{BUGS_ASKED}: it was answered 500; trying again"
        behave = at(BUGS, Answer(status=500), Answer(status=500), None)
        assert (
            len(
                self.succeeds(behave, warned=[again] * 2, repeated={f"GET {BUGS_ASKED}": 3})["bugs"]
            )
            == 3
        )

    @each(("wanted", "slept"), [
        (None, [1, 5]), ("7", [7, 7]), ("3", [3, 5]), ("0", [1, 5]), ("9999", [60, 60]), ("9" * 30, [1, 5]), ("-1", [1, 5]),
        ("0.5", [1, 5]), ("soon", [1, 5]), ("Wed, 21 Oct 2099 07:28:00 GMT", [1, 5]), ("\u00b2", [1, 5]),
    ])  # fmt: skip
    @each("status", [503, 429])
    def test_pauses_are_as_long_as_the_server_asks_but_no_longer_than_a_minute(
        self, status, wanted, slept
    ):
        pauses = []
        self.set(PAUSES=(1, 5))
        self.monkeypatch.setattr(time, "sleep", pauses.append)
        busy = Answer({}, status, {"Retry-After": wanted})
        with RemoteServer(at("/products", busy)) as server:
            remote = pmservice.Remote(server.url)
            with (
                contextlib.closing(remote.connection),
                pytest.raises(pmservice.StartError, match=f"answered {status}"),
            ):
                remote.get("/products")
        assert pauses == slept

    @each(
        "headers",
        [{"Connection": "close"}, {"Connection": "close", "Content_Length": None}],
        ids=["length", "end"],
    )
    def test_connection_that_is_closed_after_each_answer_will_do(self, headers):
        self.succeeds(lambda asked: asked.good(**headers))
        assert self.connections == len(self.sent)

    def test_connection_that_is_closed_unannounced_is_made_again(self):
        with RemoteServer(Asked.close) as server:
            code, _, told = self.pull(server.url)
        *warned, end = (line for line in told if line.split()[0] not in pmservice.FIXTURE)
        assert (code, end[:24], self.left()) == (0, "Pulled from URL into pm.", ["pm.db"])
        assert all(line.endswith("; trying again") for line in warned)
        assert (max(Counter(server.sent).values()), server.connections) == (1, len(server.sent))

    def test_server_that_closes_the_connection_during_a_pause_is_asked_three_times(self):
        def busy(asked: Asked) -> Answer:
            asked.close()
            return Answer(status=503)

        again = f"{BUGS_ASKED}: it was answered 503; trying again"
        self.succeeds(
            at(BUGS, busy, busy, None), warned=[again] * 2, repeated={f"GET {BUGS_ASKED}": 3}
        )

    def test_chunks_bytes_before_the_text_and_repeated_names_are_read(self):
        chunked = Answer(
            b'5\r\n{"bug\r\n7\r\ns": []}\r\n0\r\n\r\n',
            200,
            {"Transfer-Encoding": "chunked", "Content-Length": None},
        )
        assert self.bugs(chunked) == self.bugs(Answer(b'\xef\xbb\xbf{"bugs": []}')) == []
        assert self.bugs(
            Answer(b'{"bugs": 5, "bugs": [{"id": 5, "id": 6, "title": "B", "product": 1}]}')
        ) == [(6, "B")]
        assert self.connections == 1

    @each(("url", "line"), [
        ("http://127.0.0.1:PORT",  "URL cannot be reached: [Errno]"),
        ("http://host.invalid",    "URL cannot be reached: [Errno]"),
        ("https://127.0.0.1:OPEN", "URL cannot be reached: .*"),
        ("http://127.0.0.1:99999", "URL must be an address such as https://pm.example.org, without a password and a query"),
        ("http://127.0.0.1:0",     "URL must be an address such as https://pm.example.org, without a password and a query"),
    ])  # fmt: skip
    def test_server_that_cannot_be_reached_is_one_line(self, url, line):
        with RemoteServer() as server:
            port = server.server_address[1]
            url = url.replace("PORT", str(free_port())).replace("OPEN", str(port))
            code, out, told = self.pull(url, "--insecure-http")
        assert (code, out, len(told), self.left()) == (2, "", 1, [])
        assert re.fullmatch(re.escape(f"pmservice: {line}").replace(r"\.\*", ".*"), told[0])
        assert server.sent == []

    @each(("answer", "said"), [
        (Answer({}, 404), "was answered 404"), (Answer({}, 403), "was answered 403"), (Answer({}, 500), "was answered 500"),
        (Answer({"profile": {}}), "was answered 200"), (Answer(b"<html>", 401), "was answered 401"), (Answer([], 401), "was answered 401"),
        (Answer(b"<html>"), NOT_JSON + "<html>"), (b"", "Remote end closed connection without response"),
    ])  # fmt: skip
    def test_server_of_another_kind_is_told_at_once_and_gets_no_token(self, answer, said):
        places = [f"{prefix}/user" for prefix in ("", "/api.php/v1", "/zentao/api.php/v1")]
        problems = " ".join(
            f"{place} {said}." if said.startswith("was") else f"{said}." for place in places
        )
        line = f"pmservice: URL is not a server that can be read: {problems}"
        assert self.fails(lambda asked: answer, line) == [f"GET {place}" for place in places]

    # What is answered

    @each("name", NO_LISTS)
    def test_answer_without_a_list_is_shown(self, name):
        shown = NO_LISTS[name] if len(NO_LISTS[name]) <= 300 else NO_LISTS[name][:300] + "…"
        line = f"pmservice: GET {BUGS} was answered without a list: {shown}"
        self.fails(at(BUGS, Answer(NO_LISTS[name].encode())), line)

    def test_number_that_json_does_not_know_instead_of_a_list_is_one_line(self):
        for body in ("NaN", "-Infinity", "1e999", '{"bugs": NaN}', '{"bugs": 1e999}'):
            with RemoteServer(at(BUGS, Answer(body.encode()))) as server:
                code, _, told = self.pull(server.url)
            assert (code, self.left()) == (2, [])
            assert re.fullmatch(rf"pmservice: GET .*{BUGS}.*", told[-1])

    def test_number_that_json_does_not_know_is_shown_in_a_refusal(self):
        for body in ('{"error": NaN}', '{"message": [1e999]}'):
            assert self.bugs(Answer(body.encode(), 403), notes=None) == []
            assert self.notes["bugs"][0].startswith(f"1 lists not answered (GET {BUGS}: 403")

    def test_array_of_errors_is_no_list_of_records(self):
        for body in ({"error": ["no rights"]}, {"message": [], "result": "fail"}):
            with RemoteServer(at(BUGS, Answer(body))) as server:
                assert f"GET {BUGS}" in str(self.pull(server.url)[2])
            with contextlib.suppress(FileNotFoundError):  # told by a note
                os.unlink("pm.db")

    def test_empty_lists_make_an_empty_database(self):
        fixture = self.succeeds(lambda asked: Answer([]) if asked.token else None)
        assert {array: len(records) for array, records in fixture.items() if records} == {
            "users": 1
        }
        assert len(self.sent) == 7
        assert (
            self.bugs(Answer({"total": 0, "bugs": None})) == self.bugs(Answer({"data": []})) == []
        )

    # Pages

    def small(self, total: Any, *, of: int = 25) -> Any:
        """Return the answer of a server that gives ten bugs at a time, whatever limit was asked for."""
        bugs = [dict(id=id, product=1, title=f"Bug {id}") for id in range(1, of + 1)]
        return lambda asked: Answer(paged(asked, "bugs", bugs, 10, total=total))

    @each("total", [25, "25", "25.0", 25.0, [25]], ids=repr)
    def test_list_in_small_pages_is_read_to_its_total(self, total):
        assert len(self.bugs(self.small(total))) == 25
        assert self.asked_for_bugs() == 3

    def test_list_in_small_pages_without_a_total_is_read_to_the_first_page_with_nothing_new(self):
        for total in (None, 0, -1, "", "many", True, {}, []):
            assert len(self.bugs(self.small(total))) == 25
            assert self.asked_for_bugs() == 4

    def test_list_without_an_end_and_a_total_is_given_up(self):
        self.set(MOST_PAGES=50)
        endless = lambda asked: Answer({"bugs": [dict(id=asked.page, product=1, title="B")]})  # noqa: E731
        self.fails(
            at(BUGS, endless), f"pmservice: GET {BUGS}: the list does not end; 50 pages were read"
        )

    @each(("answer", "bugs", "pages"), [
        (lambda bugs, asked: paged(asked, "bugs", bugs, 25), 25, 1),
        (lambda bugs, asked: {"total": 40, "bugs": bugs}, 25, 2),
        (lambda bugs, asked: {"total": 99, "bugs": bugs[20:] if asked.page > 2 else bugs[asked.page * 10 - 10 :][:10]}, 25, 4),
        (lambda bugs, asked: paged(asked, "bugs", [dict(bugs[0], id=90 + asked.page), *bugs], 10, total=25 + asked.page), 26, 4),
        (lambda bugs, asked: paged(asked, "bugs", bugs[asked.page - 1 :], 10), 23, 3),
        (lambda bugs, asked: {"total": 25, "bugs": [] if asked.page == 2 else bugs[:10]}, 10, 2),
    ], ids=["no limit", "no pages", "last page again", "grows", "shrinks", "gap"])  # fmt: skip
    def test_pages_that_overlap_give_each_record_once(self, answer, bugs, pages):
        there = [dict(id=id, product=1, title="B") for id in range(1, 26)]
        assert len(self.bugs(lambda asked: Answer(answer(there, asked)), notes=None)) == bugs
        assert self.asked_for_bugs() == pages

    def test_list_that_ends_before_its_total_is_noted(self):
        assert len(self.bugs(self.small(40), notes=None)) == 25
        assert self.notes["bugs"] == [f"15 counted but not shown (GET {BUGS})"]

    @each("more", [{"total": 10**9}, {"total": "9" * 15}, {}], ids=["huge", "text", "growing"])
    def test_list_without_an_end_is_given_up(self, more):
        def answer(asked: Asked) -> Answer:
            return Answer(
                {
                    "total": asked.page + 1,
                    **more,
                    "bugs": [dict(id=asked.page, product=1, title="B")],
                }
            )

        self.set(MOST_PAGES=50)
        line = f"pmservice: GET {BUGS}: the list does not end; 50 pages were read"
        sent = self.fails(at(BUGS, answer), line)
        assert sent[-50:] == [
            f"GET {BUGS}?status=all&limit=1000&page={page}" for page in range(1, 51)
        ]

    def test_links_without_an_end_are_given_up(self):
        def behave(asked: Asked) -> Answer | None:
            found = re.fullmatch("/stories/([0-9]+)", asked.path)
            id = int(found[1]) if found else 0
            return (
                Answer(dict(id=id, product=1, title="S", duplicateStory=id + 1))
                if 0 < id < 100
                else None
            )

        self.set(MOST_STEPS=20)
        self.succeeds(behave, notes=None, repeated=None)
        assert self.notes["stories"] == [
            "1 links to duplicateStory left out, because they were not copied (story 22)"
        ]
        assert sum("/stories/" in line for line in self.sent) < 50

    # Ids and what is no record

    def test_id_that_comes_twice_is_read_once(self):
        once = dict(id=1, product=1, title="first")
        assert self.bugs(
            Answer({"bugs": [once, dict(once, title="second"), dict(once, id="1")]})
        ) == [(1, "first")]
        two_pages = lambda asked: Answer(  # noqa: E731
            {"total": 2, "bugs": [dict(once, title=f"of page {asked.page}")]}
        )
        assert self.bugs(two_pages, notes=None) == [(1, "of page 1")]
        assert self.asked_for_bugs() == 2

    def test_ids_may_be_text_or_have_a_fraction_of_zero(self):
        bugs = [dict(id=id, product=1, title="B") for id in ("7", 8.0, "9.0", [10], 2**53)]
        assert self.bugs(Answer({"bugs": bugs})) == [(id, "B") for id in (7, 8, 9, 10, 2**53)]

    def test_record_without_a_usable_id_is_left_out(self):
        bugs = [dict(id=id, product=1, title=f"{id!r:.9}") for id in UNTAKEN_IDS]
        assert self.bugs(
            Answer({"bugs": [*bugs, dict(id=1, product=1, title="B")]}), notes=None
        ) == [(1, "B")]
        assert f"{len(UNTAKEN_IDS)} left out" in str(self.notes["bugs"])

    def test_record_without_an_id_does_no_harm(self):
        for array, home, record in (
            ("bugs", "products", {}),
            ("bugs", "products", {"title": " "}),
            ("builds", "projects", dict(REMOTE["builds"][0], id=0)),
            ("stories", "products", dict(product=1, title="S", parent=5, id=None)),
        ):
            levels = [dict(id=4, product=1, title="U"), dict(id=5, product=1, title="V", parent=4)]
            records = [*REMOTE[array], *levels] if array == "stories" else REMOTE[array]
            behave = at(f"/{home}/1/{array}", Answer({array: [*records, record]}))
            assert ids(self.succeeds(behave, notes=None, **{array: records})[array]) == ids(records)
            assert "left out" in str(self.notes[array])

    def test_what_is_no_object_is_passed_over(self):
        odd = [
            1,
            "x",
            None,
            True,
            [],
            [dict(id=7, product=1, title="B")],
            dict(id=5, product=1, title="B"),
        ]
        assert self.bugs(Answer({"bugs": odd}), notes=None) == [(5, "B")]
        by_id = {"8": dict(id=8, product=1, title="B"), "9": 9}
        assert self.bugs(Answer({"bugs": by_id}), notes=None) == [(8, "B")]

    def test_answer_of_another_kind_instead_of_a_record_is_passed_over(self):
        for answer in (
            [],
            [1],
            "x",
            5,
            None,
            {},
            dict(id=99, title="other"),
            dict(id="1 ", title="other"),
        ):
            read = self.succeeds(at("/stories/1", Answer(answer)), notes=None)["stories"]
            assert [(story["id"], story["title"], story["plans"]) for story in read] == [
                (1, "S", [1])
            ]

    def test_user_who_is_asked_for_by_name_is_nobody_else(self):
        bugs = [dict(id=1, product=1, title="B", openedBy="gone")]
        other = at("/users/gone", Answer(dict(id=1, account="admin", realname="Mallory")))
        read = self.succeeds(other, notes=None, bugs=bugs)["users"]
        assert [(user["account"], user["realname"]) for user in read] == [
            ("admin", "Ada"),
            ("dev1", "Dan Dev"),
            ("gone", "gone"),
        ]

    def test_children_that_contain_their_parent_are_read_once(self):
        inner = dict(id=2, name="E", parent=1, children=[dict(id=1, name="D", parent=2)])
        tree = [
            dict(id=1, name="D", parent=0, children=[inner]),
            dict(id=3, name="F", children="x"),
            dict(id=4, name="G", children={"5": dict(id=5, name="H")}),
        ]
        read = self.succeeds(at("/departments", Answer(tree)))["departments"]
        assert [(one["id"], one["parent"]) for one in read] == [
            (1, 0),
            (2, 1),
            (3, 0),
            (4, 0),
            (5, 0),
        ]

    def test_departments_that_are_nested_too_deep_are_put_at_the_top(self):
        problem = "department N: parent makes it its own ancestor, or more than 50 levels"
        notes = {"departments": [f"250 changed to keep a rule ({problem})"]}
        assert (
            len(
                self.succeeds(at("/departments", Answer(nested(300).encode())), notes)[
                    "departments"
                ]
            )
            == 300
        )

    # Redirections, logins and refusals

    @each("status", [301, 303, 307])
    @each(
        ("path", "asked"),
        [("/products", "/products?status=all&limit=1000&page=1"), ("/tokens", "/tokens")],
    )
    def test_redirection_is_not_followed_and_the_other_server_learns_nothing(
        self, path, asked, status
    ):
        self.with_password()
        with RemoteServer() as other:
            where = other.url + path
            line = f"pmservice: {asked} redirects to {where}, which is not followed; give that address instead"
            self.fails(at(path, Answer(status=status, headers={"Location": where})), line)
        assert (other.sent, other.connections) == ([], 0)

    @each(("where", "shown"), [
        (None, "nowhere"), ("", "nowhere"), ("/login", "/login"), ("https://pm.example.org/products", "https://pm.example.org/products"),
        ("http://x/\x1b[31m\x9b\xe4", r"http://x/\x1b[31m\x9b\xe4"),
    ])  # fmt: skip
    def test_redirection_is_shown_without_what_controls_a_terminal(self, where, shown):
        line = f"pmservice: {BUGS_ASKED} redirects to {shown}, which is not followed; give that address instead"
        self.fails(at(BUGS, Answer(status=302, headers={"Location": where})), line)

    def test_redirection_of_the_first_request_is_not_followed(self):
        with RemoteServer() as other:
            places = [f"{prefix}/user" for prefix in ("", "/api.php/v1", "/zentao/api.php/v1")]
            said = f"redirects to {other.url}, which is not followed; give that address instead."
            problems = " ".join(f"{place} {said}" for place in places)
            line = f"pmservice: URL is not a server that can be read: {problems}"
            self.fails(lambda asked: Answer(status=301, headers={"Location": other.url}), line)
        assert other.connections == 0

    def test_token_that_has_expired_is_replaced_once(self):
        self.with_password()
        first = f"GET {BUGS_ASKED}"
        self.succeeds(at(BUGS, Answer({}, 401), None), repeated={"POST /tokens": 2, first: 2})
        place = self.sent.index(first)
        assert self.sent[place : place + 3] == [first, "POST /tokens", first]
        assert self.tokens[place : place + 3] == ["from-login", None, "from-login"]
        refused = f"pmservice: GET URL{BUGS_ASKED}: the server refuses the token"
        self.fails(at(BUGS, Answer({}, 401)), refused, repeated={"POST /tokens": 2, first: 2})
        self.fails(lambda asked: Answer({}, 401) if asked.path == BUGS or (asked.path == "/tokens" and asked.times) else None,
                   "pmservice: POST URL/tokens was answered 401", repeated={"POST /tokens": 2})  # fmt: skip

    def test_token_that_was_given_cannot_be_replaced(self):
        line = f"pmservice: GET URL{BUGS_ASKED}: the server refuses the token"
        assert "POST /tokens" not in self.fails(at(BUGS, Answer({}, 401), None), line)

    @each(("answer", "said"), [
        (Answer({"error": "wrong \x1b[31mpassword\n"}, 401), r"401 wrong \x1b[31mpassword\n"), (Answer(b"<html>", 404), "404"),
        (Answer({"error": {"why": ["\x9b"]}}, 400), r'400 {"why":["\x9b"]}'), (Answer({"message": "x" * 400}, 403), f"403 {'x' * 300}…"),
        *((Answer(body, 201), "201 without a token") for body in (b"", {}, [], "t", 5)),
        *((Answer({"token": token}, 201), "201 without a token") for token in (None, 5, True, ["t"], {}, "a\r\nX: y", "\x1b[31m", "t\0", "\xe9", "\u202e", "\ud800")),
    ])  # fmt: skip
    def test_login_without_a_token_is_one_line(self, answer, said):
        self.with_password()
        sent = self.fails(at("/tokens", answer), f"pmservice: POST URL/tokens was answered {said}")
        assert sent == ["GET /user", "POST /tokens"]

    def test_login_with_an_empty_token_is_one_line(self):
        self.with_password()
        for token in ("", " "):
            with RemoteServer(at("/tokens", Answer({"token": token}, 201))) as server:
                code, _, told = self.pull(server.url)
            assert (code, len(told), server.sent) == (2, 1, ["GET /user", "POST /tokens"])
            assert told[0].startswith("pmservice: POST URL/tokens")

    @each(("answer", "why"), [
        (Answer(status=500), "it was answered 500"), (Answer(b"<html>"), NOT_JSON + "<html>"), (b"", "Remote end closed connection without response"),
    ])  # fmt: skip
    def test_login_that_fails_is_tried_three_times(self, answer, why):
        self.with_password()
        again = f"/tokens: {why}; trying again"
        end = f"pmservice: POST URL/tokens failed three times; the last time {why}"
        self.fails(at("/tokens", answer), again, again, end, repeated={"POST /tokens": 3})

    def test_token_that_no_header_can_carry_is_refused_and_not_shown(self):
        for token in ("secret-token\n", "secret\r\nX: y", "secret\u4e2d"):
            self.monkeypatch.setenv("PMSERVICE_PULL_TOKEN", token)
            with RemoteServer() as server:
                code, _, told = self.pull(server.url)
            assert (code, len(told), server.sent.count("GET /user")) == (2, 1, len(server.sent))
            assert re.fullmatch("pmservice: PMSERVICE_PULL_TOKEN .+", told[0])

    @each(("answer", "said"), [
        (Answer({"error": "not yours\x1b[2J\nx"}, 403), r"403 not yours\x1b[2J\nx"), (Answer({"message": ["a", {"b": 1}]}, 404), '404 ["a",{"b":1}]'),
        (Answer(b"<html>", 400), "400"), (Answer({"error": "x" * 400}, 410), f"410 {'x' * 300}"), (Answer({"error": "\ud800\u202e"}, 451), r"451 \ud800\u202e"),
    ])  # fmt: skip
    def test_list_that_is_refused_is_noted(self, answer, said):
        note = f"1 lists not answered (GET {BUGS}: {said})"
        shortened = f"{note[: note.index('GET') + 300]}…)" if len(note) > 300 else note
        assert self.bugs(answer, notes={"bugs": [shortened]}) == []

    def test_refusal_of_every_list_is_noted(self):
        lists = ("departments", "users", "programs", "projects", "products")
        notes = {array: [f"1 lists not answered (GET /{array}: 403 no)"] for array in lists}
        self.succeeds(lambda asked: Answer({"error": "no"}, 403) if asked.token else None, notes)
        assert len(self.sent) == 7

    def test_records_that_cannot_be_read_one_by_one_are_taken_from_their_lists(self):
        fixture = self.succeeds(
            lambda asked: (
                Answer({"error": "no"}, 404) if re.fullmatch("/[a-z]+/[0-9]+", asked.path) else None
            ),
            notes=None,
        )
        assert {array: ids(records) for array, records in fixture.items()} == {
            array: ids(records) for array, records in REMOTE.items()
        }

    def test_record_that_cannot_be_read_by_itself_is_noted(self):
        self.succeeds(at("/testcases/1", Answer({"error": "no"}, 404)), notes=None)
        assert self.notes["testcases"] == ["1 known from their list only (testcase 1)"]

    # Records that break rules

    @each("name", POISON)
    def test_records_that_break_rules_are_mended_or_left_out(self, name):
        records, notes = POISON[name]
        self.succeeds(notes=notes, **records)

    def test_record_whose_needed_link_names_no_record_of_its_kind_does_not_end_the_pull(self):
        for array, behave, records in (
            (
                "executions",
                None,
                {"executions": [dict(REMOTE["executions"][0], parent=9, project=9)]},
            ),
            (
                "executions",
                None,
                {"executions": [dict(REMOTE["executions"][0], parent=2, project=2)]},
            ),
            ("executions", None, {"programs": [dict(id=2, name="G")]}),
            ("builds", None, {"builds": [dict(REMOTE["builds"][0], execution=9)]}),
            ("testtasks", None, {"testtasks": [dict(REMOTE["testtasks"][0], execution=9)]}),
        ):
            assert len(self.succeeds(behave, notes=None, repeated=None, **records)["bugs"]) == 3
            assert any(self.notes[one] for one in (array, "projects", "tasks", "testcases"))

    def test_builds_with_one_name_get_names_of_their_own(self):
        for names, renamed in (
            (["B", "B", "B"], ["B", "B (2)", "B (3)"]),
            (["B", "B", "B (2)"], ["B", "B (2)", "B (2) (3)"]),
            (["B", "B (3)", "B"], ["B", "B (3)", "B (3) (3)"]),
        ):
            read = self.succeeds(builds=builds(*names), notes=None)["builds"]
            assert [build["name"] for build in read] == renamed

    def test_passwords_of_the_other_server_are_not_taken(self):
        users = [
            dict(id=1, account="admin", password="known"),
            dict(DAN, password="e10adc3949ba59abbe56e057f20f883e"),
        ]
        assert [user["password"] for user in self.succeeds(users=users)["users"]] == [None, None]

    def test_what_is_stored_of_records_that_break_rules(self):
        names = ["x" * 300, " \t", "", None, ["a"], 8, "\x1b[31mred\x1b[0m", "\xe4" * 300]
        fixture = self.succeeds(
            notes=None,
            projects=[dict(REMOTE["projects"][0], **PAST)],
            products=[
                *REMOTE["products"],
                *(dict(id=id, name=name) for id, name in enumerate(names, 2)),
            ],
            stories=[
                dict(id=1, product=1, title="S", parent=2),
                dict(id=2, product=1, title="T", parent=1),
            ],
        )
        assert (fixture["projects"][0]["begin"], fixture["projects"][0]["end"]) == (
            "2027-01-01",
            "2059-12-31",
        )
        shown = [
            "x" * 255,
            "product 3",
            "product 4",
            "product 5",
            "a",
            "8",
            "\x1b[31mred\x1b[0m",
            "\xe4" * 255,
        ]
        assert [product["name"] for product in fixture["products"]] == ["Shop", *shown]
        assert [story["parent"] for story in fixture["stories"]] == [0, 0]

    # Interruptions and files

    @contextlib.contextmanager
    def pulling_in_a_process(self, *arguments: str) -> Any:
        """Yield the process of a pull and the server, which has fallen silent in the middle of it."""
        with RemoteServer(at(BUGS, Asked.stall, None)) as server:
            process = subprocess.Popen(
                [sys.executable, HERE / "pmservice.py", "pull", server.url, *arguments],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env={**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self.temporary))},
                # A shell lets what it starts in the background ignore this signal.
                preexec_fn=None if os.name == "nt" else partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
            )  # fmt: skip
            try:
                assert server.stalling.wait(60)
                yield process, server
            finally:
                process.kill()
                process.communicate()

    @SIGNALS
    @each(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    @each("arguments", [[], ["-o", "old.json"], ["-o", "-"]], ids=" ".join)
    def test_pull_that_is_interrupted_leaves_nothing(self, number, code, arguments):
        Path("old.json").write_text("old")
        with self.pulling_in_a_process(*arguments) as (process, _):
            process.send_signal(number)
            out, told = process.communicate(timeout=60)
        assert (process.returncode, out, told) == (code, "", "")
        assert (self.left(), Path("old.json").read_text()) == (["old.json"], "old")

    @each("arguments", [[], ["-o", "old.json"]], ids=" ".join)
    def test_pull_that_is_killed_leaves_a_file_that_the_next_one_can_use(self, arguments):
        Path("old.json").write_text("old")
        with self.pulling_in_a_process(*arguments) as (process, server):
            process.kill()
            process.wait(60)
            assert Path("old.json").read_text() == "old"
            code, out, told = self.pull(server.url, *arguments)
        assert (code, out, told[-1][:19]) == (0, "", "Pulled from URL int")
        if arguments:
            assert self.run("load", "old.json")[0] == 0
        assert self.run("check") == (0, "pm.db is sound: pages, links and counts are right.\n", "")
        assert len(json.loads(self.run("dump")[1])["bugs"]) == 3

    @each(("arguments", "line"), [
        (["--database", "missing/pm.db"], "missing/pm.db: No such file or directory; name another file with --database"),
        (["--database", "folder"],        "folder: Is a directory; name another file with --database"),
        (["--database", "other.db"],      "other.db: file is not a database; name another file with --database"),
        (["--database", "full.db"],       "full.db holds records already; name another file with --database"),
        (["-o", "missing/f.json"],        "missing/f.json: No such file or directory"),
        (["-o", "f.json", "--database", "pm.db"], "--database and -o: only one of them can be written"),
        (["-o", "folder"],                "folder: Is a directory"),
    ])  # fmt: skip
    def test_place_that_cannot_be_written_is_told_before_anything_is_asked(self, arguments, line):
        os.mkdir("folder")
        Path("other.db").write_bytes(b"no database " * 500)
        with contextlib.closing(Client("full.db")) as client:
            client.product()
        before = {file: file.read_bytes() for file in Path().glob("*.db")}
        with RemoteServer() as server:
            assert self.pull(server.url, *arguments) == (2, "", [f"pmservice: {line}"])
        assert ({file: file.read_bytes() for file in Path().glob("*.db")}, server.sent) == (
            before,
            [],
        )
        assert (self.left(), os.listdir("folder")) == (["folder", "full.db", "other.db"], [])

    @MODES
    @each(("arguments", "line"), [
        ([], "pm.db: Permission denied; name another file with --database"), (["-o", "f.json"], "f.json: Permission denied"),
    ])  # fmt: skip
    def test_folder_that_cannot_be_written_is_told_before_anything_is_asked(self, arguments, line):
        self.monkeypatch.setattr(
            tempfile, "tempdir", None
        )  # the other user sees no folders of tests
        with (
            tempfile.TemporaryDirectory() as folder,
            contextlib.ExitStack() as undo,
            RemoteServer() as server,
        ):
            self.monkeypatch.chdir(folder)
            undo.callback(os.chmod, folder, 0o755)
            os.chmod(folder, 0o555)
            if os.geteuid() == 0:  # root may write everything
                undo.callback(os.seteuid, 0)
                os.seteuid(65534)
            assert self.pull(server.url, *arguments) == (2, "", [f"pmservice: {line}"])
            assert (os.listdir(), server.sent) == ([], [])

    def test_empty_database_that_was_there_stays_as_it_was(self):
        pmservice.create_app("pm.db").close()
        before = Path("pm.db").read_bytes()
        with RemoteServer(at(BUGS, Answer(status=302))) as server:
            code, _, told = self.pull(server.url)
        assert (code, len(told), self.left()) == (2, 1, ["pm.db"])
        assert Path("pm.db").read_bytes() == before
        with RemoteServer() as server:
            assert self.pull(server.url)[0] == 0


class Meanwhile:
    """Another process. It acts once, at one of the moments at which a command touches a file or its database.

    act: what it does; it raises an error if it cannot.  left: how many moments pass before.  acted: whether it could;
    None until it has tried.  is_late: whether the command had begun to write by then.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, file: str):
        self.file, self.act, self.left, self.acted, self.is_late = file, None, 0, False, False
        watch(monkeypatch).before = self.before_a_statement
        for module, name in (
            (os, "open"),
            (os, "link"),
            (os, "rename"),
            (os, "replace"),
            (sqlite3, "connect"),
        ):
            monkeypatch.setattr(module, name, self.noticed(getattr(module, name)))

    def noticed(self, function: Any) -> Any:
        """Return a function of the system: a call of it that names the file is a moment."""

        def call(*arguments: Any, **options: Any) -> Any:
            if any(self.file in str(one) for one in arguments):
                self.come()
            return function(*arguments, **options)

        return call

    def before_a_statement(self, connection: sqlite3.Connection, sql: str) -> None:
        if self.acted is None and sql.startswith("BEGIN IMMEDIATE"):
            self.is_late = True
        if sql.startswith(("BEGIN", "COMMIT", "PRAGMA")):
            self.come()

    def wait(self, act: Any, moments: int) -> None:
        """Act when so many moments have passed."""
        self.act, self.left, self.acted, self.is_late = act, moments, None, False

    def come(self) -> None:
        """Act if the moment has come. What this process does itself is no moment."""
        if self.acted is None:
            self.left -= 1
            if self.left < 0:
                self.try_to_act()

    def try_to_act(self) -> None:
        self.acted = False
        with contextlib.suppress(OSError, sqlite3.OperationalError):
            self.act()
            self.acted = True


# fmt: off
EVERY_MOMENT = [  # command, the file that is there, what another process does, the outcomes if it could do that and if it could not
    # An outcome is an exit code and the records that the file then has, in the order of their ids. The first one must occur.
    # A file that is replaced after the command has begun to write takes along what that wrote.
    ("pull",    "",       "makes",    "2 theirs",                    "0 mine"),
    ("pull",    "",       "writes",   "0 mine theirs",               "0 mine"),
    ("pull",    "empty",  "writes",   "2 theirs|0 mine theirs",      "0 mine"),
    ("pull",    "empty",  "replaces", "2 theirs",                    "0 mine"),
    ("pull -o", "",       "makes",    "2 theirs",                    "0 mine"),
    ("backup",  "",       "makes",    "2 theirs",                    "0 mine"),
    ("load",    "",       "makes",    "0 theirs mine",               "0 mine"),
    ("load",    "empty",  "writes",   "0 theirs mine|0 mine theirs", "0 mine"),
    ("load",    "empty",  "replaces", "2 theirs|0 theirs mine",      "0 mine"),
    ("user",    "",       "makes",    "0 theirs mine",               "0 mine"),
    ("user",    "empty",  "writes",   "0 theirs mine",               "0 mine"),
    ("user",    "empty",  "replaces", "2 theirs|0 theirs mine",      "0 mine"),
    ("start",   "",       "makes",    "0 theirs",                    "0"),
    ("start",   "empty",  "replaces", "2 theirs|0 theirs",           "0"),
    ("start",   "old",    "writes",   "0 old theirs",                "0 old"),
    ("start",   "old",    "replaces", "2 theirs|0 theirs",           "0 old"),
    ("serve",   "",       "makes",    "0 theirs",                    "0 mine"),
    ("serve",   "",       "writes",   "0 theirs|0 mine theirs",      "0 mine"),
    ("serve",   "empty",  "writes",   "0 theirs|0 mine theirs",      "0 mine"),
    ("serve",   "empty",  "replaces", "2 theirs|0 theirs",           "0 mine"),
]
# fmt: on


class TestFilesOfOthers:
    """Whatever another process does with a file, and whenever: what it wrote is kept, and nothing is mixed with it."""

    FULL = "pmservice: pm.db holds records already; name another file with --database\n"
    FILES = {
        "pull -o": "copy.json",
        "backup": "copy.db",
    }  # that a command makes or changes; of the others pm.db

    @pytest.fixture(autouse=True)
    def folders(self, run, tmp_path_factory, monkeypatch):
        """Work in an empty folder. In another one are the files that commands read and other processes prepare."""
        self.run, self.others = run, tmp_path_factory.mktemp("others")
        monkeypatch.setattr(pmservice, "PAUSES", (0, 0))
        monkeypatch.setenv("PMSERVICE_PULL_TOKEN", "secret-token")
        for name, records in (
            ("empty", []),
            ("mine", [dict(id=50, name="mine")]),
            ("theirs", [dict(name="theirs")]),
        ):
            (self.others / f"{name}.json").write_text(json.dumps({"products": records}))
            with contextlib.closing(Client(self.others / f"{name}.db")) as client:
                client.load(products=records)
        shutil.copy(self.others / "mine.db", self.others / "old.db")

    # The commands: each returns its exit code and what it tells a person

    @contextlib.contextmanager
    def server(self, behave: Any = None) -> Iterator[RemoteServer]:
        """Yield a server that has one product, 50, with the name "mine"."""
        records = {
            **{array: [] for array in REMOTE},
            "products": [dict(id=50, name="mine", acl="open")],
        }
        with RemoteServer(behave, **records) as server:
            yield server

    def pull(self, *arguments: str, behave: Any = None) -> tuple[int, str]:
        with self.server(behave) as server:
            return self.run("pull", server.url, *arguments)[::2]

    def start(self, **settings: Any) -> tuple[int, str]:
        try:
            pmservice.create_app("pm.db", **settings).close()
        except pmservice.StartError as error:
            return 2, f"pmservice: {error}\n"
        return 0, ""

    def perform(self, command: str) -> tuple[int, str]:
        mine = str(self.others / "mine")
        perform = {
            "pull": self.pull,
            "pull -o": partial(self.pull, "-o", "copy.json"),
            "start": self.start,
            "serve": partial(self.start, load=f"{mine}.json"),
        }
        words = {
            "load": ["load", f"{mine}.json"],
            "user": ["user", "mine", "--realname", "mine"],
            "backup": ["backup", "copy.db", "--database", f"{mine}.db"],
        }
        return perform[command]() if command in perform else self.run(*words[command])[::2]

    # What another process does

    def prepared(self, file: str) -> Path:
        """Return a file of another process's, to which it is about to give this name."""
        source = self.others / f"theirs{Path(file).suffix}"
        return Path(shutil.copy(source, self.others / f"prepared{source.suffix}"))

    def makes(self, file: str) -> None:
        os.link(self.ready, file)
        os.unlink(self.ready)

    def writes(self, file: str) -> None:
        uri = f"{Path(file).absolute().as_uri()}?mode=rw"
        with (
            contextlib.closing(sqlite3.connect(uri, uri=True, timeout=0)) as connection,
            connection,
        ):
            connection.execute("INSERT INTO product (name) VALUES ('theirs')")

    def replaces(self, file: str) -> None:
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{file}{suffix}")
        os.replace(self.ready, file)

    # What is there afterwards

    def content(self, file: str) -> list[str]:
        """Return the names of the products and of users with a real name that a file has."""
        if not os.path.exists(file):
            return []
        if file.endswith(".json"):
            return [one["name"] for one in json.loads(Path(file).read_text())["products"]]
        with contextlib.closing(sqlite3.connect(file)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            names = "SELECT name FROM (SELECT name, id FROM product ORDER BY id)"
            return [
                name
                for (name,) in connection.execute(
                    f"{names} UNION ALL SELECT realname FROM user WHERE account = 'mine'"
                )
            ]

    def leaves_nothing_but(self, *files: str) -> None:
        suffixes = ("", "-wal", "-shm")
        assert {*os.listdir()} <= {f"{file}{suffix}" for file in files for suffix in suffixes}

    @each(("command", "there", "act", "outcomes", "without"), EVERY_MOMENT)
    def test_whatever_the_moment_what_another_process_wrote_is_kept_and_not_mixed(
        self, monkeypatch, later, command, there, act, outcomes, without
    ):
        file, seen = self.FILES.get(command, "pm.db"), Counter()
        old = self.content(str(self.others / "old.db"))
        if there == "old":
            later()
        meanwhile = Meanwhile(monkeypatch, file)
        for moment in itertools.count():
            for name in os.listdir():
                os.unlink(name)
            if there:
                shutil.copy(self.others / f"{there}.db", file)
            self.ready = self.prepared(file)
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
            assert code == 0 or re.fullmatch(rf"pmservice: .*{re.escape(file)}.*\n", told)
            self.leaves_nothing_but(file)
            seen[outcome] += 1
            if has_ended:
                break
        assert outcomes.split("|")[0] in seen

    def test_copy_for_which_there_is_no_space_names_its_file_and_leaves_nothing(self, monkeypatch):
        def full(*_: object) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr(pmservice, "give_name", full)
        told = "pmservice: pm.db: database or disk is full; nothing was copied\n"
        assert (self.pull(), os.listdir()) == ((2, told), [])

    # A pull waits for its server, and so for long

    @contextlib.contextmanager
    def asking(self, act: Any, then: Any = None) -> Iterator[RemoteServer]:
        """Yield a server that has another process act at the first request, and answers that for departments so."""
        acted = []

        def behave(asked: Asked) -> Any:
            if not acted:
                acted.append(True)
                act()
            return then if asked.path == "/departments" else None

        with self.server(behave) as server:
            yield server

    ENDINGS = [(None, "holds records already"), (Answer(status=302), "redirects to nowhere")]

    @each("there", ["", "empty"])
    @each(("answer", "words"), ENDINGS, ids=["succeeds", "fails"])
    def test_service_that_is_started_on_the_file_of_a_pull_keeps_every_write(
        self, there, answer, words
    ):
        if there:
            shutil.copy(self.others / f"{there}.db", "pm.db")
        with contextlib.ExitStack() as stack:
            served = []

            def serve() -> None:
                served.append(stack.enter_context(contextlib.closing(Client("pm.db"))))
                for n in range(20):
                    served[0].product(name=f"theirs {n}")

            with self.asking(serve, answer) as server:
                code, out, told = self.run("pull", server.url)
            assert (code, out) == (2, "")
            assert re.fullmatch(f"pmservice: .*{words}.*\n", told)
            assert served[0].call("GET", "/-/ready").status_int == 200
            served[0].product(name="theirs 20")
        assert self.content("pm.db") == [f"theirs {n}" for n in range(21)]
        assert self.run("check")[0] == 0
        assert os.listdir() == ["pm.db"]

    @each("there", ["", "empty"])
    @each(("mine", "theirs", "winner"), [
        (None, None, "theirs"), (Answer(status=302), None, "theirs"), (None, Answer(status=302), "mine"),
    ], ids=["both succeed", "the first fails", "the second fails"])  # fmt: skip
    def test_of_two_pulls_into_one_file_one_gets_it_whole(self, there, mine, theirs, winner):
        if there:
            shutil.copy(self.others / f"{there}.db", "pm.db")
        codes = []

        def pull() -> None:
            products = [dict(id=id, name="theirs", acl="open") for id in (7, 50, 60)]
            with RemoteServer(
                at("/departments", theirs),
                **{array: [] for array in REMOTE} | {"products": products},
            ) as server:
                command = [sys.executable, HERE / "pmservice.py", "pull", server.url]
                codes.append(subprocess.run(command, stderr=subprocess.DEVNULL).returncode)

        with self.asking(pull, mine) as server:
            code, _, told = self.run("pull", server.url)
        assert [code, *codes] == ([0, 2] if winner == "mine" else [2, 0])
        assert winner == "mine" or mine or told == self.FULL
        assert self.content("pm.db") == {"mine": ["mine"], "theirs": ["theirs"] * 3}[winner]
        assert self.run("check")[0] == 0
        assert os.listdir() == ["pm.db"]

    @each("source", [None, "copy.json", "database"])
    def test_older_file_that_changes_during_a_pull_is_left_to_who_changed_it(self, source):
        after = []
        Path("copy.json").write_text("old")

        def change() -> None:
            if source:
                ready = shutil.copy(
                    self.others / "theirs.db" if source == "database" else source, "ready"
                )
                os.replace(ready, "copy.json")
            else:
                Path("copy.json").write_text("theirs, longer")
            after.append(Path("copy.json").read_bytes())

        with self.asking(change) as server:
            code, out, told = self.run("pull", server.url, "-o", "copy.json")
        assert (code, out, told.count("\n")) == (2, "", 1)
        assert told.startswith("pmservice: copy.json: ")
        assert ([Path("copy.json").read_bytes()], os.listdir()) == (after, ["copy.json"])

    def refuses_to_replace_a_database(self) -> None:
        before = os.stat("pm.db")
        code, told = self.pull("-o", "pm.db")
        assert (code, told.count("\n")) == (2, 1)
        assert told.startswith("pmservice: pm.db: ")
        assert os.path.samestat(os.stat("pm.db"), before)

    def test_fixture_takes_the_place_of_no_database(self):
        with contextlib.closing(Client("pm.db")) as client:
            client.product(name="theirs")
            self.refuses_to_replace_a_database()
            client.product(name="theirs 2")
        self.refuses_to_replace_a_database()
        assert self.content("pm.db") == ["theirs", "theirs 2"]
        assert os.listdir() == ["pm.db"]

    @each("command", FILES)
    def test_copies_need_no_hard_links(self, monkeypatch, command):
        def refuse(*_: Any) -> None:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

        monkeypatch.setattr(os, "link", refuse)
        file = self.FILES[command]
        assert self.perform(command)[0] == 0
        assert (self.content(file), os.listdir()) == (["mine"], [file])
        if command == "backup":
            assert self.perform(command)[0] == 2
            assert (self.content(file), os.listdir()) == (["mine"], [file])

    @posix("Windows lets only administrators make links")
    def test_backup_replaces_no_link_to_nothing(self):
        os.symlink("absent.db", "copy.db")
        code, told = self.perform("backup")
        assert (code, told.count("\n")) == (2, 1)
        assert told.startswith("pmservice: copy.db: ")
        assert (os.readlink("copy.db"), os.listdir()) == ("absent.db", ["copy.db"])


class TestSideBySide:
    def test_apps_in_one_process_do_not_mix(self):
        with (
            contextlib.closing(Client(":memory:")) as one,
            contextlib.closing(Client(":memory:", token="u")) as two,
        ):
            one.product()
            two.token = "u"
            assert (one.get("/products")["total"], two.get("/products")["total"]) == (1, 0)
            assert two.call("GET", "/products", Token="t").status_int == 401

    def test_opening_a_file_again_gives_up_no_lock_on_it(self, tmp_path):
        path, command = (
            str(tmp_path / "pm.db"),
            [sys.executable, HERE / "pmservice.py", "--database"],
        )
        with contextlib.closing(Client(path)) as client:
            client.product()
            with contextlib.closing(
                pmservice.create_app(path)
            ):  # its checks must not close a descriptor of their own
                subprocess.run([*command, path, "check"], check=True, capture_output=True)
                client.product()
                dumped = subprocess.run(
                    [*command, path, "dump"], check=True, capture_output=True
                ).stdout
        assert len(json.loads(dumped)["products"]) == 2

    def test_file_is_found_wherever_the_process_goes(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with contextlib.closing(Client("pm.db")) as client:
            monkeypatch.chdir("/")
            assert client.product()["id"] == 1
            assert client.call("GET", "/-/ready").status_int == 200

    def test_database_in_memory_serves_threads(self):
        def write_and_read(_: int) -> int:
            made = client.product()["id"]
            assert client.get(f"/products/{made}")["id"] == made
            return made

        with contextlib.closing(Client(":memory:")) as client, ThreadPoolExecutor(8) as threads:
            made = list(threads.map(write_and_read, range(80)))
            assert sorted(made) == ids(client.get("/products")["products"]) == list(range(1, 81))

    @posix("Windows does not list the descriptors of a process")
    def test_closed_apps_leave_no_connection_descriptor_or_thread(self, tmp_path):
        def held() -> tuple[int, int]:
            return len(os.listdir("/dev/fd")), threading.active_count()

        connections, before = [], held()
        for n in range(60):
            path = (":memory:", tmp_path / "same.db", tmp_path / f"{n}.db")[n % 3]
            with contextlib.closing(Client(path)) as client:
                client.product()
                with client.service.database.reading(), client.service.database.reading():
                    pass  # two transactions at once take two connections
                connections += [connection for connection, _ in client.service.database.idle]
        assert (held(), len(connections)) == (before, 120)
        for connection in connections:
            with pytest.raises(sqlite3.ProgrammingError):
                connection.execute("SELECT 1")

    def test_closing_leaves_a_connection_that_is_in_use_to_its_thread(self, tmp_path):
        with contextlib.closing(pmservice.create_app(tmp_path / "pm.db")) as service:
            with service.database.reading() as store:
                service.close()
                assert store.number("SELECT count(*) FROM user") == 1
            with pytest.raises(sqlite3.ProgrammingError):
                store.number("SELECT count(*) FROM user")

    def test_two_apps_on_one_file_see_the_same(self, filed):
        with contextlib.closing(Client(filed.path)) as other:
            assert [filed.product()["id"], other.product()["id"], filed.product()["id"]] == [
                1,
                2,
                3,
            ]
            assert other.get("/products") == filed.get("/products")


# --- 7 Rules: the whole published interface -----------------------------------------------------------

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
    "bugs": [dict(id=id, product=product, title="B", severity=3, pri=3, type="codeerror", openedBuild="trunk", deadline="2026-12-01", assignedTo="dev1", plan=6) for id, product in ((1, 1), (2, 2))],
    "builds": [dict(id=id, project=1, execution=2, product=1, name=f"B{id}", builder="dev1", date="2026-11-20") for id in (1, 2)],
    "releases": [dict(id=1, project=1, product=1, name="R", date="2026-03-05")],
    "tasks": [dict(id=1, execution=2, name="T", type="devel", pri=2, estimate=3, left=3, story=5, storyVersion=0, assignedTo="dev1", openedBy="pm1", estStarted="2026-02-02", deadline="2026-02-20")],
    "testcases": [dict(id=1, product=1, project=1, execution=2, title="C", type="feature", pri=1, stage="bvt", steps=[dict(desc="a"), dict(desc="b")]), dict(id=2, product=1, title="D", project=4, execution=5)],
    "testtasks": [dict(id=1, product=1, project=1, execution=2, build="trunk", name="Round", begin="2026-11-23", end="2026-11-27")],
}
BARE_STORY = dict(title="S", spec="s", pri=3, category="feature")
BARE_BUILD = dict(execution=2, product=1, name="B9", builder="dev1", date="2026-11-20")
BARE_RUN = dict(product=1, execution=2, build="trunk", name="Round", begin="2026-11-23", end="2026-11-27")
BARE_CASE = dict(title="C", type="unit", pri=1, steps=[])
NEW = {  # request: all that it needs
    "POST /products/1/stories": BARE_STORY, "POST /projects/1/builds": BARE_BUILD, "POST /testtasks": BARE_RUN, "POST /projects/1/testtasks": BARE_RUN,
    "POST /products/1/plans": dict(title="P"), "POST /departments": dict(name="D"), "POST /tasks/1/assignto": dict(assignedTo="dev1"), "POST /stories/1/review": dict(result="pass"),
}
NEW_STORIES, NEW_BUILDS, NEW_PLANS, NEW_RUNS, NEW_BUGS = "POST /products/1/stories", "POST /projects/1/builds", "POST /products/1/plans", "POST /projects/1/testtasks", "POST /products/1/bugs"
BROKEN = [  # request, what is sent beside what NEW has, the broken fields
    (NEW_STORIES, dict(title=" "), "title"), (NEW_STORIES, dict(title="x" * 256, pri=-1), "pri title"), (NEW_STORIES, dict(pri="high", estimate=-1), "estimate pri"), (NEW_STORIES, dict(estimate="x"), "estimate"),
    (NEW_STORIES, dict(parent=99), "parent"), (NEW_STORIES, dict(plan="99"), "plan"), (NEW_STORIES, dict(reviewer=[99]), "reviewer"), (NEW_STORIES, dict(mailto=["a b"]), "mailto"),
    ("PUT /stories/1", dict(parent=1), "parent"), ("PUT /stories/1", dict(pri=-1, title=""), "pri title"), ("POST /stories/1/close", dict(closedReason="bored"), "closedReason"),
    ("POST /stories/1/assign", dict(assignedTo=99), "assignedTo"), ("POST /stories/1/change", dict(title=" "), "title"), ("POST /stories/1/review", dict(result="maybe"), "result"),
    (NEW_PLANS, dict(title=""), "title"), (NEW_PLANS, dict(begin="2026-04-30", end="2026-03-01"), "end"), (NEW_PLANS, dict(begin="2026-02-31"), "begin"), (NEW_PLANS, dict(parent=99), "parent"),
    (NEW_PLANS, dict(MARCH, parent=1, begin="2026-02-28"), "begin"), (NEW_PLANS, dict(MARCH, parent=1, end="2026-05-01"), "end"), (NEW_PLANS, dict(parent=1, begin="2026-03-02"), "end"),
    ("PUT /productplans/1", dict(status="open", title=""), "status title"), ("PUT /productplans/2", dict(begin="2031-01-01"), "end"), ("PUT /productplans/3", dict(end="2026-05-01"), "end"), ("PUT /productplans/1", dict(parent=3), "parent"),
    *((f"POST /productplans/1/{move}{what}", sent, what) for what in ("stories", "bugs") for move in ("link", "unlink") for sent in ({what: [1, 99]}, {what: [1, 3]}, {what: "x"}, {what: [True]}) if what + str(sent) != "bugs{'bugs': [1, 3]}"),
    *((f"POST /productplans/1/link{what}", sent, what) for what in ("stories", "bugs") for sent in ({}, {what: []})), ("POST /productplans/1/linkbugs", dict(bugs=[1, 2]), "bugs"),
    (NEW_BUILDS, dict(execution=5), "execution"), (NEW_BUILDS, dict(execution=99), "execution"), (NEW_BUILDS, dict(execution=4), "execution"), (NEW_BUILDS, dict(execution=0), "execution"), (NEW_BUILDS, dict(product=99), "product"), (NEW_BUILDS, dict(name="B1"), "name"),
    (NEW_BUILDS, dict(name="", date="soon"), "date name"), (NEW_BUILDS, dict(builder=99), "builder"), (NEW_BUILDS, dict(stories=[1, 99], bugs=[99]), "bugs stories"), ("POST /projects/4/builds", dict(BARE_BUILD, execution=5), "product"),
    ("PUT /builds/1", dict(name="B2"), "name"), ("PUT /builds/1", dict(name="", stories=[99], date="x"), "date name stories"), ("PUT /releases/1", dict(name="", status="gone"), "name status"),
    *((NEW_RUNS, sent, *sent) for sent in (dict(product=99), dict(execution=99), dict(execution=5), dict(build=99), dict(build="main"), dict(name=" "), dict(end="2026-11-22"), dict(begin="x"), dict(status="gone"),
                                      dict(pri=-1), dict(owner=99), dict(testcases=[99]), dict(testcases="x"))), ("PUT /testtasks/1", dict(end="2026-11-01"), "end"),
    ("PUT /testcases/1", dict(title="", type="x", pri=-1), "pri title type"), ("PUT /testcases/1", dict(steps=[{}]), "steps[0].desc"), ("POST /products/1/testcases", dict(BARE_CASE, steps=[dict(desc="a", type="part")]), "steps[0].type"),
    ("PUT /departments/1", dict(parent=1), "parent"), ("PUT /departments/1", dict(parent=3), "parent"), ("PUT /departments/1", dict(parent=99), "parent"), ("PUT /departments/1", dict(name="", manager=99), "manager name"),
    ("POST /departments", dict(parent=99), "parent"), ("PUT /users/dev2", dict(dept=99), "dept"), ("PUT /users/dev1", dict(realname=""), "realname"), ("PUT /users/4", dict(password=""), "password"),
    ("PUT /programs/6", dict(name="", end="2025-01-01", acl="x", budgetUnit="EUR"), "acl budgetUnit end name"), ("PUT /programs/6", dict(parent=6), "parent"), ("PUT /programs/6", dict(parent=7), "parent"), ("PUT /programs/6", dict(parent=1), "parent"),
    ("PUT /products/1", dict(name=" ", status="gone", program=99), "name program status"), ("PUT /products/1", dict(type="x"), "type"), ("PUT /products/1", dict(program=1), "program"), ("PUT /programs/7", dict(begin="2026-02-30"), "begin"),
    ("PUT /projects/1", dict(begin="2026-02-02"), "begin"), ("PUT /projects/1", dict(end="2026-11-29"), "end"), ("PUT /projects/1", dict(MARCH), "begin end"), ("PUT /projects/1", dict(parent=99), "parent"), ("PUT /projects/1", dict(parent=3), "parent"),
    ("PUT /executions/2", dict(begin="2025-12-31"), "begin"), ("PUT /executions/2", dict(end="2027-01-01"), "end"), ("PUT /executions/2", dict(begin="2026-03-02", end="2026-03-01"), "end"), ("PUT /executions/2", dict(name="", project=6), "name project"),
    *((line, dict(acl="private", whitelist=wrong), "whitelist") for line in ("PUT /programs/6", "PUT /products/1", "PUT /projects/1", "PUT /executions/2") for wrong in (7, {"account": "dev1"}, True)),
    ("POST /products", dict(name="P", whitelist=7), "whitelist"), ("POST /programs", dict(name="G", whitelist=0, **YEAR), "whitelist"), ("POST /projects", dict(name="P", products=[1], whitelist={"id": 4}, **YEAR), "whitelist"),
    ("POST /bugs/1/assign", dict(assignedTo=99), "assignedTo"), (NEW_BUGS, dict(BUG, severity=-1, pri="-1"), "pri severity"), ("PUT /bugs/1", dict(pri=-1, severity=-2), "pri severity"), ("PUT /tasks/1", dict(pri=-1), "pri"),
    ("POST /executions/2/tasks", dict(DATED, name="T", pri=-1), "pri"), ("POST /products/1/testcases", dict(BARE_CASE, pri=-1), "pri"),
    # what is empty is not given, but it is needed
    ("POST /executions/2/tasks", dict(DATED, name="T", type=""), "type"), ("POST /programs", dict(YEAR, name="G", begin=""), "begin"), (NEW_BUGS, dict(BUG, severity=""), "severity"), ("POST /tasks/1/restart", dict(consumed="", left=1), "consumed"),
    ("POST /tasks/1/finish", dict(finishedDate="", realStarted="2026-02-02"), "finishedDate"), ("POST /bugs/1/resolve", dict(resolution=""), "resolution"), ("POST /products/1/testcases", dict(BARE_CASE, type=""), "type"),
]
NOT_GIVEN = [  # request, what is sent empty (or without seconds), what the record then has
    ("POST /products",          dict(name="P", type="", acl="", program="", line=""),                 dict(type="normal", acl="private", program=0, line=0)),
    ("POST /programs",          dict(name="G", acl="", budget="", budgetUnit="", parent="", **YEAR),  dict(acl="open", budget="0", budgetUnit="CNY", parent=0)),
    ("POST /projects",          dict(name="P", products=[1], model="", acl="", parent="", **YEAR),    dict(model="scrum", acl="private", parent=0)),
    (NEW_BUGS,                      dict(BUG, deadline="", project="", story="", assignedTo=""),          dict(deadline=None, project=0, story=0, assignedTo=None)),
    ("POST /executions/2/tasks", dict(DATED, name="T", estimate="", pri="", story="", assignedTo=""), dict(estimate=0, story=0, assignedTo=None, left=0)),
    ("POST /products/1/testcases", dict(BARE_CASE, stage="", story="", module=""),                     dict(stage="", story=0, module=0)),
    ("PUT /tasks/1",            dict(deadline="", assignedTo=""),                                     dict(deadline=None, assignedTo=None, estStarted="2026-02-02")),
    ("PUT /tasks/1",            dict(estStarted=""),                                                  dict(deadline="2026-02-20", estStarted=None)),
    ("PUT /tasks/1",            dict(type="", pri="", estimate="", left="", story="", status="", consumed=""), dict(type="devel", pri=2, estimate=3, left=3, story=5, status="wait", consumed=0)),
    ("POST /tasks/1/start",     dict(realStarted="", left="", consumed=""),                           dict(realStarted="2026-11-20 07:42:17", left=3, consumed=0)),
    ("POST /tasks/1/start",     dict(realStarted="2026-02-09 17:00"),                                 dict(realStarted="2026-02-09 17:00:00")),
    ("POST /tasks/1/finish",    dict(realStarted="2026-02-09T17:00Z", finishedDate="2026-02-09 17:01", currentConsumed=""), dict(finishedDate="2026-02-09T17:01:00Z", consumed=0)),
    ("PUT /bugs/1",             dict(deadline="", assignedTo=""),                                     dict(deadline=None, assignedTo=None)),
    ("PUT /bugs/1",             dict(type="", severity="", pri="", plan=""),                          dict(type="codeerror", severity=3, pri=3, plan=6)),
    ("PUT /products/1",         dict(type="", acl="", PO="", program="", status="", line=""),         dict(type="normal", acl="open", PO=None, status="normal", line=0)),
    ("PUT /projects/1",         dict(begin="", end="", acl="", PM="", parent="", model=""),           dict(acl="open", PM=None, parent=6, model="scrum", **YEAR)),
    ("PUT /executions/2",       dict(begin="", end="", status="", project=""),                        dict(status="wait", project=1, **SPAN)),
    ("PUT /testcases/1",        dict(type="", pri="", stage=""),                                      dict(type="feature", pri=1, stage="")),
    ("PUT /stories/1",          dict(pri="", estimate="", parent=""),                                 dict(pri=3, estimate=4, parent=0)),
    ("PUT /productplans/1",     dict(begin="", end="", status=""),                                    dict(status="wait", **MARCH)),
]
SETTABLE = {  # path: the fields that a PUT sets, each with a new value
    "/programs/6":     dict(name="N", PM="dev1", budget="7", budgetUnit="USD", desc="d", begin="2026-01-02", end="2026-12-30", realBegan="2026-02-01", realEnd="2026-02-02", acl="open"),
    "/products/1":     dict(name="N", line=3, PO="po1", QD="qd1", RD="rd1", type="branch", desc="d", acl="private", status="closed", program=6),
    "/projects/1":     dict(name="N", begin="2026-01-02", end="2026-12-30", acl="private", desc="d", PM="dev1", parent=0),
    "/executions/2":   dict(name="N", begin="2026-02-02", end="2026-11-29", lifetime="long", desc="d", days=9, acl="private", status="doing", PO="po1", PM="pm1", QD="qd1", RD="rd1"),
    "/stories/1":      dict(title="N", pri=1, category="safe", source="customer", sourceNote="n", keywords="k", estimate=2.5, module=7, parent=2, mailto=["qa1", "dev1"], plan="1"),
    "/productplans/2": dict(title="N", begin="2026-03-02", end="2026-04-29", desc="d", status="doing", parent=1),
    "/builds/1":       dict(name="N", builder="qa1", date="2026-11-22", desc="d", scmPath="s", filePath="f", stories=[1], bugs=[1]),
    "/releases/1":     dict(name="N", build=1, status="terminate", desc="d"),
    "/testtasks/1":    dict(name="N", build="1", owner="qa1", status="done", begin="2026-11-22", end="2026-12-01", desc="d", pri=1, type="integrate"),
    "/testcases/1":    dict(title="N", pri=4, type="unit", stage="bvt,smoke", product=2, module=7, branch=1, precondition="p", story=1),
    "/departments/3":  dict(name="N", parent=1, manager="qa1"),
    "/users/4":        dict(realname="N", email="d@x.org", role="qa", dept=3, mobile="13800000000", gender="m", phone="010-12345678", qq="2", weixin="3", address="a"),
    "/tasks/1":        dict(desc="d", pri=1, type="ui", module=2),
    "/bugs/1":         dict(title="N", pri=1, severity=1, type="config", steps="x", keywords="k", plan=1, module=3, task=4),
}
FOLLOW = {  # what follows a field that was set
    "parent": "path grade parentName parentPri childStories order", "program": "programName", "plan": "planTitle stage planName", "name": "team", "status": "realBegan", "begin": "days", "end": "days", "build": "buildID buildName filePath scmPath",
    "story": "storyVersion storyTitle storyStatus latestStoryVersion", "manager": "managerName", "product": "productName",
}
DELETABLE = [  # path, the lists that showed it
    ("/stories/1", "/stories /products/1/stories"), ("/productplans/3", "/productplans /products/1/plans"), ("/builds/1", "/builds /projects/1/builds /executions/2/builds"), ("/executions/2", "/executions /projects/1/executions"),
    ("/releases/1", "/releases /products/1/releases /projects/1/releases"), ("/testtasks/1", "/testtasks /projects/1/testtasks"), ("/bugs/1", "/bugs?product=1 /bugs"), ("/testcases/1", "/projects/1/testcases /executions/2/testcases"),
]
DEAD_LINKS = [  # what is deleted, the request that would link to it anew, what it sends beside what NEW has
    ("/stories/1", NEW_BUILDS, dict(stories=[1])), ("/stories/1", "PUT /builds/2", dict(stories=[1])), ("/stories/1", "POST /productplans/2/linkstories", dict(stories=[1])), ("/stories/1", NEW_STORIES, dict(parent=1)),
    ("/stories/1", "PUT /stories/2", dict(parent=1)), ("/bugs/1", NEW_BUILDS, dict(bugs=[1])), ("/bugs/1", "PUT /builds/2", dict(bugs=[1])), ("/bugs/1", "POST /productplans/2/linkbugs", dict(bugs=[1])),
    ("/builds/1", NEW_RUNS, dict(build=1)), ("/builds/1", "PUT /testtasks/2", dict(build=1)), ("/testcases/1", NEW_RUNS, dict(testcases=[1])), ("/testcases/1", "PUT /testtasks/2", dict(testcases=[1])),
    ("/productplans/2", NEW_STORIES, dict(plan="2")), ("/productplans/2", "PUT /stories/2", dict(plan="2")), ("/productplans/2", NEW_PLANS, dict(parent=2)), ("/executions/2", NEW_BUILDS, dict(execution=2)),
    ("/executions/2", NEW_RUNS, dict(execution=2)), ("/programs/7", "PUT /projects/1", dict(parent=7)), ("/programs/7", "PUT /products/1", dict(program=7)), ("/projects/4", "PUT /executions/2", dict(project=4)),
]
EVERY_LIST = [
    "/products/1/bugs", "/products/1/stories", "/products/1/plans", "/projects/1/builds", "/projects/1/releases", "/testtasks", "/products/1/testcases", "/users", "/executions/2/tasks",
    "/executions", "/projects", "/programs", "/tasks", "/stories", "/productplans", "/builds", "/releases", "/bugs", "/products", "/projects/1/stories", "/executions/2/bugs", "/projects/1/testtasks",
]
# fmt: on


@pytest.fixture
def shop(client):
    """Yield an app that holds SHOP."""
    client.load(**SHOP)
    return client


@pytest.fixture
def filled(client):
    """Yield an app that holds FILLED."""
    client.load(**FILLED)
    return client


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
    return " ".join(sorted(client.refused(*line.split(), body)["fields"]))


def remove(client: Client, *paths: str) -> None:
    for path in paths:
        assert client.call("DELETE", path).json == {"message": "success"}


def story(client: Client, query: str = "", **body: Any) -> Any:
    return client.post(f"/products/1/stories{query}", **{**BARE_STORY, **body})


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


class TestEveryFamily:
    @each(("line", "field"), [(line, field) for line, body in NEW.items() for field in body])
    @each("absent", [{}, None], ids=["left out", "null"])
    def test_what_the_reference_requires_is_required(self, filled, line, field, absent):
        body = without(NEW[line], field) if absent is not None else {**NEW[line], field: None}
        assert "is required" in filled.refused(*line.split(), body)["fields"][field]

    @each(("line", "body", "fields"), BROKEN)
    def test_broken_fields_are_named_and_nothing_changes(self, filled, line, body, fields):
        assert broken(filled, line, {**NEW.get(line, {}), **body}) == fields

    @each(("line", "sent", "wanted"), NOT_GIVEN)
    def test_empty_text_is_not_given_or_unsets(self, filled, line, sent, wanted):
        answer = filled.call(*line.split(), sent)
        assert answer.status_int in (200, 201), answer.text
        holds(answer.json, **wanted)

    @each(
        ("path", "field"), [(path, field) for path, fields in SETTABLE.items() for field in fields]
    )
    def test_put_sets_what_counts_and_the_rest_stays(self, filled, path, field):
        before = filled.get(path)
        filled.put(path, **{field: SETTABLE[path][field]})
        after = filled.get(path)
        holds(after, **{field: SETTABLE[path][field]})
        unchanged_but(before, after, field, *FOLLOW.get(field, "").split())

    @each("path", SETTABLE)
    def test_record_that_was_read_can_be_sent_back(self, filled, path):
        for body in ({}, SETTABLE[path]):
            filled.put(path, **body)
            before = filled.get(path)
            for sent in (before, {**before, "comment": "c"}, SETTABLE[path] if body else {}):
                answer = filled.call("PUT", path, sent)
                assert answer.status_int == 200, answer.text
                unchanged_but(before, filled.get(path))

    @each(("path", "sent"), [
        ("/stories/1", dict(product=2, stage="released", spec="x", verify="x", status="closed", version=9, openedBy="dev1")), ("/users/4", dict(account="boss")),
        ("/testcases/1", dict(status="blocked")), ("/bugs/1", dict(openedBy="dev1")), ("/products/1", dict(code="X")), ("/builds/1", dict(project=4)),
    ])  # fmt: skip
    def test_what_does_not_count_is_ignored(self, filled, path, sent):
        before = filled.get(path)
        answer = filled.call("PUT", path, sent)
        assert answer.status_int == 200
        unchanged_but(before, filled.get(path))

    @each(("path", "lists"), DELETABLE)
    def test_deleted_record_is_shown_alone_and_takes_no_changes(self, filled, path, lists):
        before, id = filled.get(path), int(path.split("/")[-1])
        assert all(id in ids(records_in(filled.get(one))) for one in lists.split())
        remove(filled, path)
        assert lines(filled.get(path)) == lines({**before, "deleted": True})
        assert not any(id in ids(records_in(filled.get(one))) for one in lists.split())
        filled.refused("PUT", path, {}, status=404)
        filled.refused("DELETE", path, status=404)
        for method in ("GET", "PUT", "DELETE"):
            filled.refused(
                method, f"{path.rpartition('/')[0]}/99", None if method == "GET" else {}, status=404
            )

    @each(("path", "line", "sent"), DEAD_LINKS)
    def test_what_is_deleted_cannot_be_linked_anew(self, filled, path, line, sent):
        (
            filled.put("/builds/1", stories=[1], bugs=[1]),
            filled.put("/testtasks/1", testcases=[1], build=1),
        )
        (
            filled.put("/stories/1", plan="1,2"),
            filled.load(testtasks=[dict(BARE_RUN, id=2, project=1)]),
        )
        remove(filled, path)
        filled.put("/testtasks/1", testcases=[1], build=1)  # these links exist
        assert broken(filled, line, {**NEW.get(line, {}), **sent}) == "".join(sent)

    @each("path", EVERY_LIST)
    def test_empty_parameters_are_not_given_and_a_bare_order_ascends(self, filled, path):
        assert filled.get(f"{path}?page=&limit=&order=&status=") == filled.get(path)
        assert filled.get(f"{path}?order=id") == filled.get(f"{path}?order=id_asc")

    @each(("path", "field", "word"), [
        ("/products?status=open", "status", "noclosed"), ("/projects/1/releases?status=open", "status", "terminate"), ("/products?order=nam", "order", "name"),
        ("/products/1/bugs?status=open", "status", "needconfirm"), ("/products?program=x", "program", "whole number"), ("/products/1/stories?order=titel", "order", "title"),
        ("/testtasks?status=open", "status", "blocked"), ("/productplans?status=open", "status", "doing"), ("/stories?status=x", "status", "closedstory"),
    ])  # fmt: skip
    def test_wrong_parameters_are_refused_by_what_is_allowed(self, filled, path, field, word):
        assert word in filled.refused("GET", path)["fields"][field]

    @each(("line", "body"), [
        ("POST /stories", BARE_STORY), ("POST /productplans", dict(title="P")), ("POST /bugs", BUG), ("POST /builds", BARE_BUILD), ("POST /executions", dict(name="E", **SPAN)),
    ])  # fmt: skip
    def test_home_stands_in_query_or_body(self, filled, line, body):
        method, path = line.split()
        home = "project" if path in ("/builds", "/executions") else "product"
        assert home in filled.refused(method, path, without(body, home))["error"]
        for query, more in ((f"?{home}=1", {}), ("", {home: 1}), (f"?{home}=", {home: "1"})):
            named = (
                dict(name=f"N{query}") if "name" in body else {}
            )  # the name of a build must be a new one
            answer = filled.call(method, path + query, {**body, **named, **more})
            assert (answer.status_int, answer.json.get(home)) == (201, 1), answer.text
        filled.refused(method, f"{path}?{home}=99", without(body, home), status=404)

    def test_what_follows_a_hidden_product_is_hidden(self, filled):
        filled.post("/projects/1/releases", name="R", date="2026-03-05", product=1, build=1)
        filled.post("/projects/4/releases", name="R", date="2026-03-05", product=2, build=1)
        (
            filled.put("/tasks/1", story=1),
            filled.post("/testcases/1/results"),
            filled.put("/products/1", acl="private"),
        )
        filled.token = filled.token_of("dev2")
        for path in ("/stories/1", "/productplans/1", "/testtasks/1", "/builds/1", "/releases/1", "/testcases/1/results", "/products/1/stories", "/stories?product=1"):  # fmt: skip
            filled.refused("GET", path, status=404)
        for path in (
            "/stories",
            "/productplans",
            "/testtasks",
            "/builds",
            "/projects/1/builds",
            "/bugs",
        ):
            assert filled.get(path)["total"] == (1 if path in ("/stories", "/bugs") else 0), path
        holds(
            filled.get("/tasks/1"),
            story=1,
            storyTitle=None,
            storyStatus=None,
            latestStoryVersion=None,
        )
        hidden = dict(BARE_BUILD, execution=5, product=2, stories=[1])
        assert broken(filled, "POST /projects/4/builds", hidden) == "stories"

    def test_dump_of_everything_loads_as_it_was(self, filled):
        (
            filled.post("/productplans/1/linkstories", stories=[1, 2]),
            filled.post("/stories/1/change", title="New"),
        )
        reviewed(
            filled, story(filled, "?objectID=2", reviewer=["qa1", "dev1"])["id"], "qa1", "clarify"
        )
        filled.put("/builds/1", stories=[1], bugs=[1]), filled.put("/testtasks/1", testcases=[1])
        (
            filled.put("/users/4", dept=3),
            filled.post("/testcases/1/results", steps=[dict(result="fail", real="r")]),
        )
        filled.post("/tasks/1/estimate", dates=["2026-11-16"], consumed=[2], left=[8], work=["w"])
        dumped = filled.dump()
        assert set(dumped) >= set(FILLED) | {"efforts", "results"}
        with contextlib.closing(Client(":memory:", control=False)) as again:
            again.load(**dumped)
            assert lines(again.dump()) == lines(dumped)
            for path in ("/stories/1", "/stories/4", "/productplans/1", "/builds/1", "/testtasks/1", "/testcases/1", "/tasks/1", "/tasks/1/estimate", "/departments", "/products"):  # fmt: skip
                assert lines(again.get(path)) == lines(filled.get(path))


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
STORY_LISTS = [  # path, status, the stories that qa1 finds among those of the test below
    ("/products/1", "", "123568"), ("/products/1", "all", "1234568"), ("/products/1", "unclosed", "123568"), ("/products/1", "allstory", "1234568"), ("/products/1", "draftstory", "1"),
    ("/products/1", "activestory", "2568"), ("/products/1", "changedstory", "3"), ("/products/1", "closedstory", "4"), ("/products/1", "assignedtome", "135"), ("/products/1", "openedbyme", "6"),
    ("/products/1", "reviewbyme", "1"), ("/products/1", "reviewedbyme", "8"), ("/products/1", "closedbyme", "4"), ("/products/1", "draft", "1"), ("/products/1", "active", "2568"),
    ("/products/1", "changed", "3"), ("/products/1", "closed", "4"), ("/projects/1", "", "2"), ("/projects/1", "all", "24"), ("/executions/2", "", "24"), ("/executions/2", "unclosed", "2"),
    ("/executions/2", "closed", "4"), ("/executions/3", "", ""), ("/projects/4", "all", ""), ("", "closed", "4"), ("", "", "1235689"), ("/products/2", "", "9"),
]
# fmt: on


class TestStories:
    def test_deleted_story_is_in_no_total_of_an_execution_or_its_project(self, client):
        stories = [
            dict(title="S", product=1, executions=[2], deleted=deleted) for deleted in (True, False)
        ]
        client.load(
            products=[dict(id=1, name="P")],
            projects=[dict(id=1, name="Pr", products=[1])],
            executions=[dict(id=2, name="E", project=1)],
            stories=stories,
        )
        for path in ("/projects/1/stories", "/executions/2/stories"):
            assert client.get(path)["total"] == 1

    def test_total_of_each_state_is_its_own_number_of_stories(self, shop):
        numbers = dict(draft=1, active=2, changed=3, closed=4)
        states = [state for state, number in numbers.items() for _ in range(number)]
        for type, extra in (("story", 0), ("requirement", 1)):
            one = dict(product=1, title="S", type=type)
            loaded = [{**one, "status": state} for state in [*states, *["draft"] * extra]]
            shop.load(stories=[*loaded, dict(one, status="draft", deleted=True)])
            counted = {**numbers, "draft": 1 + extra, "all": 10 + extra, "unclosed": 6 + extra}
            words = {
                **counted,
                **{f"{state}story": counted[state] for state in numbers},
                "allstory": 10 + extra,
                "changingstory": 3,
            }
            for path, word in itertools.product(("/products/1/stories", "/stories"), words):
                listed = shop.get(f"{path}?type={type}&status={word}&limit=1000")
                assert listed["total"] == len(listed["stories"]) == words[word], (path, word)

    def test_new_story_is_active_and_has_the_usual_values(self, shop):
        sent = dict(BARE_STORY, verify="v", source="call", estimate=5, mailto=["qa1"])
        answer = shop.call("POST", "/products/1/stories", sent)
        assert answer.status_int == 201
        holds(
            answer.json,
            **sent,
            id=1,
            product=1,
            status="active",
            stage="wait",
            type="story",
            version=1,
        )
        holds(
            answer.json,
            openedBy="admin",
            openedDate=NOW_ISO,
            parent=0,
            plan="",
            childStories="",
            tasks=[],
        )
        holds(answer.json, assignedTo=None, closedBy=None, closedReason="", deleted=False)

    def test_story_to_be_reviewed_is_a_draft_of_its_first_reviewer(self, shop):
        holds(
            story(shop, reviewer=["qa1", "dev1"]),
            status="draft",
            assignedTo="qa1",
            assignedDate=NOW_ISO,
        )
        seen = shop.get("/stories/1")
        assert sorted(seen["reviewer"]) == sorted(seen["notReview"]) == ["dev1", "qa1"]

    def test_type_in_the_query_makes_a_requirement(self, shop):
        holds(story(shop, "?type=requirement"), type="requirement", status="active")
        assert (
            "requirement"
            in shop.refused("POST", "/products/1/stories?type=epic", BARE_STORY)["error"]
        )

    @each("plan", ["2", 2, "1,2", [1, 2]])
    def test_plan_is_an_id_or_several(self, filled, plan):
        wanted = "2" if str(plan) == "2" else "1,2"
        holds(story(filled, plan=plan), plan=wanted, stage="planned")
        holds(filled.put("/stories/1", plan=plan), plan=wanted, stage="planned")
        holds(filled.put("/stories/1", plan=""), plan=wanted)  # not given

    @each("state", ["draft", "active", "changed", "closed"])
    @each("move", STORY_MOVES)
    def test_move_leads_where_it_should_or_is_refused(self, shop, move, state):
        sent, sources, to = STORY_MOVES[move]
        method, name = move.split()
        path = f"/stories/{story_in(shop, state)}"
        if state in sources.split():
            answer = shop.call(method, f"{path}/{name}", sent)
            assert answer.status_int == 200, answer.text
            assert name == "recall" or answer.json["status"] == (to or state)
            holds(shop.get(path), status=to or state)
        else:
            shop.refused(method, f"{path}/{name}", sent)

    @each(("state", "after"), [("draft", "draft"), ("active", "changed"), ("changed", "changed")])
    def test_changed_story_with_reviewers_is_to_be_reviewed_again(self, shop, state, after):
        id = story_in(shop, state, "qa1")
        holds(shop.post(f"/stories/{id}/change", spec="new"), status=after)
        holds(shop.get(f"/stories/{id}"), notReview=["qa1"])
        assert reviewed(shop, id, "qa1", "pass").json["status"] == "active"

    @each(("sent", "version"), [
        (dict(title="S", spec="s", verify=""), 1), ({}, 1), (dict(comment="c"), 1), (dict(title="T"), 2), (dict(spec="T"), 2), (dict(verify="T"), 2),
    ])  # fmt: skip
    def test_change_makes_a_version_of_what_differs(self, shop, sent, version):
        story(shop)
        texts = {"title": "S", "spec": "s", "verify": "", **without(sent, "comment")}
        holds(shop.post("/stories/1/change", **sent), version=version, status="active", **texts)

    @each(("votes", "state"), [
        ("qa1 pass", "draft"), ("qa1 reject", "draft"), ("qa1 pass, dev1 pass", "active"), ("dev1 pass, qa1 pass", "active"),
        ("qa1 pass, dev1 reject", "closed"), ("qa1 reject, dev1 pass", "closed"), ("qa1 clarify, dev1 pass", "draft"),
        ("qa1 reject, dev1 clarify", "draft"), ("qa1 clarify, dev1 reject", "closed"),
    ])  # fmt: skip
    def test_last_vote_that_is_not_pass_decides_when_all_have_voted(self, shop, votes, state):
        story(shop, reviewer=["qa1", "dev1"])
        for vote in votes.split(", "):
            assert reviewed(shop, 1, *vote.split()).status_int == 200
            assert (
                vote.split()[0] not in shop.get("/stories/1").get("notReview", [])
                or state == "draft"
            )
        holds(shop.get("/stories/1"), status=state)

    def test_revert_brings_the_version_before_back(self, shop):
        id = story_in(shop, "active", "qa1")
        shop.post(f"/stories/{id}/change", title="New", spec="new")
        holds(shop.put(f"/stories/{id}", title="Mended"), version=2, title="Mended", spec="new")
        assert reviewed(shop, id, "qa1", "revert").status_int == 200
        holds(shop.get(f"/stories/{id}"), version=1, title="S", spec="s", status="active")
        kept = [one["versions"] for one in shop.dump()["stories"] if one["id"] == id]
        assert [version["version"] for version in kept[0]] == [
            1
        ]  # otherwise the dump could not be loaded again
        first, token = story_in(shop, "draft", "qa1"), shop.token_of("qa1")
        shop.refused("POST", f"/stories/{first}/review", dict(result="revert"), Token=token)

    def test_only_reviewers_vote_where_there_are_any(self, shop):
        id, token = story_in(shop, "draft", "qa1"), shop.token_of("dev1")
        shop.refused("POST", f"/stories/{id}/review", dict(result="pass"), status=403, Token=token)
        anybody = story_in(shop, "draft")
        holds(
            reviewed(shop, anybody, "dev1", "pass").json,
            status="active",
            reviewedBy="dev1",
            reviewedDate=NOW_ISO,
        )

    @each(
        "reason",
        ["done", "subdivided", "duplicate", "postponed", "willnotdo", "cancel", "bydesign"],
    )
    def test_closed_story_is_active_again_without_traces(self, shop, reason):
        story(shop), shop.post("/stories/1/assign", assignedTo="dev1")
        closed = shop.post("/stories/1/close", closedReason=reason, comment="c")
        holds(
            closed,
            status="closed",
            stage="closed",
            closedBy="admin",
            closedDate=NOW_ISO,
            closedReason=reason,
        )
        holds(closed, assignedTo="dev1")
        shop.clock.forward(hours=1)
        again = shop.post("/stories/1/active", assignedTo="qa1")
        holds(again, status="active", stage="wait", closedBy=None, closedDate=None, closedReason="")
        holds(again, assignedTo="qa1", activatedDate=LATER)

    def test_stage_follows_what_the_story_is_linked_with(self, filled):
        for line, body, stage in (
            ("POST /productplans/1/linkstories", dict(stories=[1]), "planned"),
            ("POST /executions/2/tasks", dict(DATED, name="T", story=1), "projected"),
            ("POST /projects/1/releases", dict(name="R", date="2026-03-05", product=1, stories="2,1"), "released"),
            ("POST /stories/1/close", {}, "closed"), ("POST /stories/1/active", {}, "released"), ("DELETE /releases/2", None, "projected"),
            ("POST /productplans/1/unlinkstories", dict(stories=[1]), "projected"),
        ):  # fmt: skip
            assert filled.call(*line.split(), body).status_int in (200, 201)
            listed = {
                one["id"]: one["stage"]
                for one in filled.get("/products/1/stories?status=all")["stories"]
            }
            assert [filled.get("/stories/1")["stage"], listed[1]] == [stage] * 2, line

    def test_plan_title_executions_tasks_bugs_and_cases_are_shown(self, filled):
        made = story(filled, "?objectID=3", plan="1,2")
        filled.task(2, story=4, assignedTo="dev1"), filled.case(1, story=4)
        filled.post("/products/1/bugs", **BUG, story=4)
        seen = filled.get(f"/stories/{made['id']}")
        holds(seen, plan="1,2", stage="projected", productName="Shop", productStatus="normal")
        titles = seen["planTitle"]
        assert list(titles.values() if isinstance(titles, dict) else titles) == ["P", "P"]
        assert {id: one["name"] for id, one in seen["executions"].items()} == {"2": "E2", "3": "E3"}
        holds(seen["tasks"][0], id=2, name="T", type="devel", status="wait", assignedTo="dev1")
        assert seen["bugs"] == [dict(id=3, title="B", status="active", pri=3, severity=3)]
        holds(seen["cases"][0], id=3, title="C", pri=1, status="normal")
        remove(filled, "/productplans/2", "/tasks/2", "/bugs/3", "/testcases/3")
        seen = filled.get("/stories/4")
        assert [len(seen[field]) for field in ("planTitle", "tasks", "bugs", "cases")] == [
            1,
            0,
            0,
            0,
        ]

    def test_parent_has_its_children_and_the_sum_of_their_hours(self, shop):
        story(shop, "?type=requirement", title="Top", estimate=9)
        for hours in (3, 0.5, 4):
            story(shop, parent=1, estimate=hours)
        holds(shop.get("/stories/1"), parent=-1, childStories="2,3,4", estimate=7.5)
        holds(shop.get("/stories/2"), parent=1, parentName="Top")
        shop.put("/stories/2", estimate=1), remove(shop, "/stories/4")
        holds(shop.get("/stories/1"), parent=-1, childStories="2,3", estimate=1.5)
        shop.put("/stories/3", parent=0)
        holds(shop.get("/stories/1"), childStories="2", estimate=1)
        assert broken(shop, "PUT /stories/1", dict(parent=2)) == "parent"

    @each(("path", "status", "found"), STORY_LISTS)
    def test_status_words_choose(self, shop, path, status, found):
        qa = shop.token_of("qa1")
        story(shop, reviewer=["qa1"]), story(shop, "?objectID=2"), story_in(shop, "changed", "dev1")
        story(shop, "?objectID=2"), shop.call("POST", "/stories/4/close", {}, Token=qa)
        (
            story(shop),
            shop.call("POST", "/products/1/stories", BARE_STORY, Token=qa),
            story(shop, "?type=requirement"),
        )
        story_in(shop, "active", "qa1"), shop.post("/products/2/stories", **BARE_STORY)
        for id, account in ((3, "qa1"), (5, "qa1"), (8, "pm1")):
            shop.post(f"/stories/{id}/assign", assignedTo=account)
        shop.token = qa
        answer = shop.get(f"{path}/stories?status={status}")
        assert ids(answer["stories"]) == sorted(ids(answer["stories"]), reverse=True)
        seen = {one["id"] for one in answer["stories"] if one["type"] == "story"}
        assert seen == set(map(int, found))
        assert path != "/products/1" or answer["requirements"] == {"7": "S"}

    @each(("path", "limit"), [("/products/1", 500), ("/projects/1", 20), ("/executions/2", 20)])
    def test_lists_of_stories_have_their_own_limits(self, shop, path, limit):
        answer = shop.get(f"{path}/stories")
        assert (answer["page"], answer["total"], answer["limit"], answer["stories"]) == (
            1,
            0,
            limit,
            [],
        )
        assert not answer.get("requirements")
        assert shop.get(f"{path}/stories?limit=3")["limit"] == 3

    def test_listed_story_is_the_story_without_its_texts_and_links(self, shop):
        story(shop, reviewer=["qa1"])
        listed, single = shop.get("/products/1/stories")["stories"][0], shop.get("/stories/1")
        assert not {"spec", "tasks", "executions", "children"} & set(listed)
        unchanged_but({field: single[field] for field in listed}, listed, "planTitle")

    def test_life_of_a_story_is_counted_at_each_step(self, shop):
        def counted(stories: dict[str, int], requirements: dict[str, int], *numbers: int) -> None:
            for product in (
                *shop.get("/products")["products"][:1],
                *shop.get("/products?limit=1")["products"],
            ):
                for field, wanted in (("stories", stories), ("requirements", requirements)):
                    index = (
                        {}
                        if wanted
                        else {"0": "", "1": "draft", "2": "active", "3": "closed", "4": "changed"}
                    )
                    counts = {"draft": 0, "active": 0, "closed": 0, "changed": 0, "": 0, **wanted}
                    assert lines(product[field]) == lines({**index, **counts}), field
                    assert list(product[field])[: len(index)] == list(index)
                assert [product[field] for field in ("plans", "releases", "progress")] == list(
                    numbers
                )

        counted({}, {}, 0, 0, 0)
        requirement = story(shop, "?type=requirement", title="Sell abroad")["id"]
        counted({}, dict(active=1), 0, 0, 0)
        plan = shop.post("/products/1/plans", title="Spring", end="2027-03-01")["id"]
        id = story(shop, "?objectID=2", parent=requirement, plan=str(plan), estimate=3)["id"]
        holds(shop.get(f"/stories/{id}"), stage="projected", parent=requirement)
        counted(dict(active=1), dict(active=1), 1, 0, 0)
        path = f"/tasks/{shop.task(2, story=id)['id']}"
        case = str(shop.case(1, story=id, title="It sells")["id"])
        bug = shop.post("/products/1/bugs", **BUG, story=id)["id"]
        holds(
            shop.get(path),
            storyID=id,
            storyTitle="S",
            storyStatus="active",
            storyVersion=1,
            latestStoryVersion=1,
        )
        holds(shop.put(path), needConfirm=False, cases={case: "It sells"})
        holds(shop.get(f"/testcases/{case}"), story=id, storyVersion=1)
        holds(shop.get(f"/bugs/{bug}"), storyVersion=1, needconfirm=False)

        shop.post(f"/stories/{id}/change", title="Sells in euro")
        holds(
            shop.get(path),
            storyTitle="Sells in euro",
            storyVersion=1,
            latestStoryVersion=2,
            needConfirm=True,
        )
        holds(shop.get(f"/bugs/{bug}"), storyVersion=1, needconfirm=True)
        assert ids(shop.get("/products/1/bugs?status=needconfirm")["bugs"]) == [bug]
        holds(shop.put(path), cases={case: "It sells"})
        holds(shop.put(path, story=id), storyVersion=2, needConfirm=False, cases={})
        shop.put(f"/bugs/{bug}", story=0)
        holds(shop.put(f"/bugs/{bug}", story=id), storyVersion=2, needconfirm=False)

        build = shop.post("/projects/1/builds", **BARE_BUILD, stories=[id])
        holds(build, stories=[id], project=1)
        release = dict(name="1.0", date="2026-11-20", product=1, build=build["id"], stories=str(id))
        shop.post("/projects/1/releases", **release)
        holds(shop.get(f"/stories/{id}"), stage="released")
        counted(dict(active=1), dict(active=1), 1, 1, 0)
        shop.post(f"/stories/{id}/close", closedReason="done")
        holds(shop.get(path), storyStatus="closed", needConfirm=False)
        counted(dict(closed=1), dict(active=1), 1, 1, 50)
        story(shop, reviewer=["qa1"])
        counted(dict(closed=1, draft=1), dict(active=1), 1, 1, 33)
        remove(shop, "/stories/3"), shop.post(f"/stories/{requirement}/close", closedReason="done")
        counted(dict(closed=1), dict(closed=1), 1, 1, 100)
        remove(shop, f"/stories/{id}", f"/productplans/{plan}", "/releases/1")
        counted({}, dict(closed=1), 0, 0, 100)
        assert broken(shop, NEW_BUILDS, dict(BARE_BUILD, name="N", stories=[id])) == "stories"


class TestProductPlans:
    @each(("sent", "begin", "end"), [
        ({}, "2026-11-20", "2030-01-01"), (dict(end="2026-03-01"), "2026-03-01", "2026-03-01"), (dict(end="2026-12-01"), "2026-11-20", "2026-12-01"),
        (dict(begin="", end=""), "2026-11-20", "2030-01-01"), (dict(begin="2027-01-01", end="2027-01-01"), "2027-01-01", "2027-01-01"),
    ])  # fmt: skip
    def test_days_have_defaults(self, shop, sent, begin, end):
        answer = shop.call("POST", "/products/1/plans", dict(title="P", **sent))
        assert answer.status_int == 201
        holds(
            answer.json,
            product=1,
            parent=0,
            title="P",
            status="wait",
            desc="",
            deleted=False,
            stories=[],
            bugs=[],
        )
        holds(answer.json, begin=begin, end=end)

    def test_parent_shows_that_it_has_children_and_keeps_around_them(self, filled):
        listed = filled.get("/products/1/plans")["plans"]
        assert {one["id"]: one["parent"] for one in listed} == {1: -1, 2: 0, 3: 1}
        filled.refused("PUT", "/productplans/1", dict(end="2026-04-01"))
        filled.put("/productplans/3", begin="2026-03-02", end="2026-04-01")
        holds(filled.put("/productplans/1", end="2026-04-01"), parent=-1, end="2026-04-01")
        remove(filled, "/productsplan/3")
        holds(filled.get("/productplans/1"), parent=0)

    @each("what", ["stories", "bugs"])
    def test_stories_and_bugs_are_linked_to_several_plans_or_one(self, shop, what):
        for _ in range(2):
            (
                story(shop),
                shop.post("/products/1/bugs", **BUG),
                shop.post("/products/1/plans", title="P"),
            )
        for _ in range(2):
            linked = shop.post(f"/productplans/1/link{what}", **{what: [1, "2"]})
            assert ids(linked[what]) == [2, 1]
            assert linked == shop.get("/productplans/1")
        shop.post(f"/productplans/2/link{what}", **{what: [1]})
        both = what == "stories"
        assert [ids(shop.get(f"/productplans/{plan}")[what]) for plan in (1, 2)] == [
            [2, 1] if both else [2],
            [1],
        ]
        assert shop.get("/bugs/1")["plan"] == (0 if both else 2)
        assert shop.post(f"/productplans/2/unlink{what}", **{what: [1, 2]})[what] == []
        assert ids(shop.get("/productplans/1")[what]) == ([2, 1] if both else [2])
        remove(shop, "/productplans/2")
        for plan in (2, 99):
            shop.refused("POST", f"/productplans/{plan}/link{what}", {what: [1]}, status=404)

    def test_list_counts_what_a_plan_holds(self, shop):
        for hours in (3, 0.5, 9):
            story(shop, estimate=hours)
        shop.post("/products/1/bugs", **BUG)
        for end in ("2026-11-19", "2026-11-20", "2030-01-01"):
            shop.post("/products/1/plans", title="P", begin="2026-01-01", end=end)
        (
            shop.post("/productplans/1/linkstories", stories=[1, 2]),
            shop.post("/productplans/2/linkbugs", bugs=[1]),
        )
        for plan in shop.get("/products/1/plans")["plans"]:
            wanted = {1: (2, 0, 3.5, True), 2: (0, 1, 0, False), 3: (0, 0, 0, False)}[plan["id"]]
            holds(plan, **dict(zip(("stories", "bugs", "hour", "expired"), wanted, strict=True)))
        assert (
            shop.get("/products/1")["plans"] == shop.get("/products")["products"][0]["plans"] == 1
        )
        remove(shop, "/productplans/3")
        assert shop.get("/products")["products"][0]["plans"] == 0

    FRACTIONS = ([8.67768396311207] * 3, [1 / 3] * 6, [1e-9, 0.1 + 0.2, 1234.5678], [10**9, 1e-6])

    @each("hours", FRACTIONS)
    def test_hours_of_a_plan_are_a_sum_that_any_order_of_changes_keeps(self, shop, hours):
        for estimate in hours:
            story(shop, estimate=estimate, plan=shop.post("/products/1/plans", title="P")["id"])
        shop.post("/productplans/1/linkstories", stories=[*range(1, len(hours) + 1)])
        for number, estimate in enumerate(reversed(hours), 1):
            shop.put(f"/stories/{number}", estimate=estimate)
            with shop.service.database.reading() as store:
                assert list(pmservice.problems_of(store)) == []
        shown = {plan["id"]: plan["hour"] for plan in shop.get("/products/1/plans")["plans"]}
        counted = [min(estimate, 10**8) for estimate in hours]  # more would not fit in 64 bits
        assert shown[1] == pytest.approx(sum(counted), abs=1e-5)
        shop.post("/productplans/1/unlinkstories", stories=[*range(1, len(hours) + 1)])
        assert {plan["id"]: plan["hour"] for plan in shop.get("/products/1/plans")["plans"]}[1] == 0

    def test_deleted_stories_and_bugs_of_a_plan_are_not_counted(self, client):
        """One of three comes deleted with a fixture, one is deleted in the plan."""
        three = [dict(id=id, product=1, deleted=id == 1) for id in (1, 2, 4)]
        client.load(
            products=[dict(id=1, name="P")],
            plans=[dict(id=1, product=1, title="P")],
            stories=[dict(one, title="S", estimate=one["id"], plans=[1]) for one in three],
            bugs=[dict(one, title="B", plan=1) for one in three],
        )
        holds(client.get("/productplans")["plans"][0], stories=2, hour=6, bugs=2)
        remove(client, "/stories/2", "/bugs/2")
        holds(client.get("/productplans")["plans"][0], stories=1, hour=4, bugs=1)
        inside = client.get("/productplans/1")
        assert [ids(inside[what]) for what in ("stories", "bugs")] == [[4], [4]]

    def test_deleted_story_stays_uncounted_while_its_child_changes(self, shop):
        parent = story(shop)["id"]
        child = story(shop, parent=parent, estimate=3)["id"]
        shop.post("/products/1/plans", title="P")
        shop.post("/productplans/1/linkstories", stories=[parent, child])
        remove(shop, f"/stories/{parent}")
        shop.put(f"/stories/{child}", estimate=5)
        holds(shop.get("/productplans")["plans"][0], stories=1, hour=5)

    def test_lists_take_a_status_and_begin_with_the_latest(self, shop):
        for id, (month, status) in enumerate(
            ((1, "wait"), (3, "doing"), (2, "done"), (4, "closed")), 1
        ):
            shop.post("/products/1/plans", title="P", begin=f"2026-0{month}-01")
            holds(shop.put(f"/productplans/{id}", status=status), status=status)
        for path in ("/products/1/plans?", "/productplans?", "/productplans?product=1&"):
            assert ids(shop.get(f"{path}status=all")["plans"]) == [4, 2, 3, 1]
            for id, status in ((1, "wait"), (2, "doing"), (3, "done"), (4, "closed")):
                assert ids(shop.get(f"{path}status={status}")["plans"]) == [id]
        assert shop.get("/productplans?product=2")["total"] == 0


class TestBuildsAndReleases:
    def test_project_can_stand_for_the_execution_of_a_build(self, shop):
        holds(
            shop.post("/projects/1/builds", **{**BARE_BUILD, "execution": 1}),
            execution=1,
            project=1,
        )

    def test_name_is_taken_once_a_product_until_the_build_is_deleted(self, filled):
        holds(
            filled.post("/projects/1/builds", **{**BARE_BUILD, "product": 2, "name": "B1"}),
            name="B1",
            product=2,
        )
        holds(filled.put("/builds/1", name="B1", desc="d"), name="B1", desc="d")
        remove(filled, "/builds/1")
        holds(filled.put("/builds/2", name="B1"), name="B1")

    def test_new_build_keeps_the_ids_of_stories_and_bugs(self, filled):
        answer = filled.call(
            "POST", "/projects/1/builds", dict(BARE_BUILD, stories=[2, "1"], bugs=[1], scmPath="s")
        )
        assert (answer.status_int, answer.json) == (201, filled.get("/builds/3"))
        holds(
            answer.json, **BARE_BUILD, project=1, scmPath="s", filePath="", bugs=[1], deleted=False
        )
        holds(answer.json, productName="Shop", executionName="E2")
        assert sorted(answer.json["stories"]) == [1, 2]
        holds(filled.put("/builds/3", stories=[], bugs=[]), stories=[], bugs=[], scmPath="s")

    @each("path", ["/projects/1/builds", "/executions/2/builds", "/builds?project=1", "/builds"])
    def test_builds_come_whole_unless_a_page_is_asked_for(self, shop, path):
        days = {n: "2026-11-21" if n == 4 else "2026-11-20" for n in range(1, 23)}
        shop.load(
            builds=[
                dict(BARE_BUILD, id=n, project=1, name=f"B{n}", date=day) for n, day in days.items()
            ]
        )
        whole = shop.get(path)
        assert (set(whole), whole["total"], len(whole["builds"])) == ({"total", "builds"}, 22, 22)
        assert ids(whole["builds"])[:3] == [4, 22, 21]  # the latest day first
        page = shop.get(f"{path}{'&' if '?' in path else '?'}limit=5&page=5")
        assert page == {"page": 5, "total": 22, "limit": 5, "builds": whole["builds"][20:]}

    def test_release_shows_its_build_s_name_while_there_is_one(self, filled):
        release = dict(name="R", date="2026-03-05", product=1, build=1, stories="1,2", bugs="3")
        assert filled.call("POST", "/projects/1/releases", release).status_int == 201
        filled.put("/builds/1", name="N")
        for path in (
            "/projects/1/releases",
            "/products/1/releases",
            "/releases?product=1",
            "/releases",
        ):
            answer = filled.get(path)
            holds(
                answer["releases"][0],
                build=1,
                buildID=1,
                buildName="N",
                stories="1,2",
                bugs="3",
                projectName="Pr",
            )
            assert set(answer) == {"total", "releases"}
        holds(
            filled.get("/releases/2"),
            buildID=1,
            buildName="N",
            stories="1,2",
            bugs="3",
            productName="Shop",
        )
        remove(filled, "/builds/1")
        for seen in (filled.get("/releases/2"), filled.get("/projects/1/releases")["releases"][0]):
            assert (seen["build"], bool(seen["buildName"])) == (1, False)
        holds(filled.post("/projects/1/releases", **{**release, "build": 77}), build=77)
        assert [filled.get(f"/releases?product={product}")["total"] for product in (1, 2)] == [3, 0]

    @each(("query", "found"), [("", [2, 1]), ("status=all", [2, 1]), ("status=normal", [1]), ("status=terminate", [2]), ("order=id", [1, 2])])  # fmt: skip
    def test_releases_of_a_project_take_a_status(self, filled, query, found):
        filled.load(releases=[dict(id=2, project=1, product=1, name="R", status="terminate")])
        assert ids(filled.get(f"/projects/1/releases?{query}")["releases"]) == found


class TestTestTasks:
    def test_test_task_has_defaults(self, shop):
        answer = shop.call("POST", "/testtasks", BARE_RUN)
        assert answer.status_int == 201
        holds(
            answer.json,
            **BARE_RUN,
            project=1,
            owner=None,
            status="wait",
            pri=3,
            type="",
            desc="",
            testcases=[],
        )
        holds(answer.json, realFinishedDate=None, productName="Shop", executionName="E2")

    def test_cases_go_in_as_ids_and_come_out_as_records(self, filled):
        run = filled.post(
            "/testtasks", **{**BARE_RUN, "build": 1}, owner="qa1", testcases=[1, 2], status="doing"
        )
        holds(run, id=2, build="1", buildName="B1", owner="qa1", status="doing")
        assert [(one["case"], one["title"], one["task"]) for one in run["testcases"]] == [
            (1, "C", 2),
            (2, "D", 2),
        ]
        run = filled.put("/testtasks/2", testcases=["2"])
        holds(run, build="1", owner="qa1", name="Round")
        (case,) = run["testcases"]
        holds(case, case=2, title="D", status="normal")
        holds(filled.put("/testtasks/2", build="trunk", owner=""), build="trunk", owner=None)
        assert len(filled.get("/testtasks/2")["testcases"]) == 1

    def test_lists_take_product_and_status(self, filled):
        states = ["wait", "doing", "done", "blocked"]
        filled.load(
            testtasks=[dict(BARE_RUN, id=id, project=1, status=states[id - 1]) for id in (2, 3, 4)]
        )
        filled.post("/testtasks", **{**BARE_RUN, "execution": 5, "product": 2}, status="doing")
        for path, found in {
            "/testtasks": [5, 4, 3, 2, 1], "/testtasks?product=1": [4, 3, 2, 1], "/testtasks?product=2": [5], "/testtasks?status=totalStatus": [5, 4, 3, 2, 1],
            "/testtasks?status=doing": [5, 2], "/projects/1/testtasks?status=blocked": [4], "/projects/1/testtasks?status=wait": [1], "/projects/4/testtasks": [5],
        }.items():  # fmt: skip
            answer = filled.get(path)
            assert (ids(answer["testtasks"]), answer["total"], answer["limit"]) == (
                found,
                len(found),
                20,
            )


class TestCasesAgain:
    def test_item_of_a_fixture_belongs_to_no_group_after_it(self, client):
        steps = [dict(id=9, type="group", desc="G"), dict(id=5, type="item", desc="I")]
        client.load(
            products=[dict(id=1, name="P")],
            testcases=[dict(id=1, title="C", product=1, steps=steps)],
        )
        shown = client.get("/testcases/1")["steps"]
        assert [(step["id"], step["parent"]) for step in shown] == [(5, 0), (9, 0)]

    def test_steps_make_a_version_with_new_ids(self, filled):
        for version, sent in enumerate(
            ([dict(desc="x", expect="y"), dict(desc="z")], [dict(desc="q")]), 2
        ):
            filled.put("/testcases/1", steps=sent)
            case = filled.get("/testcases/1")
            assert [(one["desc"], one["version"]) for one in case["steps"]] == [
                (one["desc"], version) for one in sent
            ]
            holds(case, version=version)
        assert ids(case["steps"]) == [5]
        filled.put("/testcases/1", steps=[])
        unchanged_but(case, filled.get("/testcases/1"))

    def test_items_lie_below_the_last_group_before_them(self, shop):
        kinds = ["step", "group", "item", "item", "step", "group", "item"]
        sent = [dict(desc="a", type=kind) for kind in kinds]
        del sent[0]["type"]
        for case in (shop.case(1, steps=sent), shop.put("/testcases/1", steps=sent)):
            first = case["steps"][0]["id"]
            below = [
                (one["type"], one["parent"] and one["parent"] - first) for one in case["steps"]
            ]
            assert below == list(zip(kinds, [0, 0, 1, 1, 0, 0, 5], strict=True))

    @each(("path", "found"), [
        ("/projects/1", [1]), ("/projects/4", [2]), ("/executions/2", [1]), ("/executions/3", []), ("/executions/5", [2]),
    ])  # fmt: skip
    def test_cases_are_listed_by_project_and_execution(self, filled, path, found):
        answer = filled.get(f"{path}/testcases")
        assert (ids(records_in(answer)), answer["total"], answer["page"], answer["limit"]) == (
            found,
            len(found),
            1,
            20,
        )

    @each(("results", "outcome"), [
        ("", "pass"), ("pass pass", "pass"), ("pass fail", "fail"), ("fail fail", "fail"), ("fail blocked", "fail"), ("n/a fail", "fail"), ("pass n/a", "pass"),
    ])  # fmt: skip
    def test_result_fails_when_a_step_fails(self, filled, results, outcome):
        before, steps = (
            filled.get("/testcases/1"),
            [dict(result=one, real="r") for one in results.split()],
        )
        answer = filled.call(
            "POST", "/testcases/1/results", dict(steps=steps), Token=filled.token_of("qa1")
        )
        assert answer.status_int == 201, answer.text
        holds(answer.json, case=1, caseResult=outcome, lastRunner="qa1", date=NOW_ISO, version=1)
        case = filled.get("/testcases/1")
        holds(
            case,
            lastRunner="qa1",
            lastRunDate=NOW_ISO,
            lastRunResult=outcome,
            caseFails=int(outcome == "fail"),
        )
        unchanged_but(before, case, "lastRunner", "lastRunDate", "lastRunResult", "caseFails")
        assert ids(filled.get("/testcases/1/results")["results"]) == [1]

    def test_results_are_of_a_test_task_and_a_version(self, filled):
        (
            filled.put("/testcases/1", steps=[dict(desc="x"), dict(desc="y")]),
            filled.put("/testtasks/1", testcases=[1]),
        )
        filled.post(
            "/testcases/1/results?testtask=1&version=2",
            steps=[dict(result="fail"), dict(result="pass")],
        )
        filled.post("/testcases/1/results?version=1", steps=[dict(result="pass")])
        for query, steps in (("", [dict(result="maybe")]), ("?testtask=99", []), ("", "x")):
            assert filled.call(
                "POST", f"/testcases/1/results{query}", dict(steps=steps)
            ).status_int in (400, 404)
        kept = {
            one["id"]: (one["version"], one["caseResult"])
            for one in filled.get("/testcases/1/results")["results"]
        }
        assert kept == {1: (2, "fail"), 2: (1, "pass")}
        holds(filled.get("/testcases/1"), lastRunResult="pass", caseFails=1)


# fmt: off
IN_STATE = dict(wait=(0, 10), doing=(4, 6), pause=(4, 6), done=(4, 0), cancel=(0, 10), closed=(4, 0))  # consumed, left
PUT_STATUS = {  # the state that a PUT leads to; None: it is refused
    #         from:   wait      doing     pause     done      cancel    closed
    "wait":          ("wait",   "doing",  "doing",  "wait",   "wait",   None),
    "doing":         ("doing",  "doing",  "doing",  None,     "doing",  None),
    "pause":         ("pause",  "pause",  "pause",  None,     "pause",  None),
    "done":          (None,     "done",   "done",   "done",   None,     "done"),
    "cancel":        ("cancel", "cancel", "cancel", "cancel", "cancel", "cancel"),
    "closed":        ("closed", "closed", "closed", "closed", "closed", "closed"),
    "gone":          (None,     None,     None,     None,     None,     None),
}
PUT_HOURS = [
    # from,    what is sent,                          state, consumed, left
    ("wait",   dict(consumed=3),                      ("doing", 3, 10)), ("wait",   dict(consumed=3, left=0),   ("wait", 3, 0)),
    ("wait",   dict(consumed=3, left=5),              ("doing", 3, 5)),  ("wait",   dict(left=4),               ("wait", 0, 4)),
    ("wait",   dict(estimate=12),                     ("wait", 0, 12)),  ("wait",   dict(estimate=12, left=3),  ("wait", 0, 3)),
    ("wait",   dict(status="done", consumed=5),       ("done", 5, 0)),   ("wait",   dict(status="doing", left=0), None),
    ("doing",  dict(consumed=6),                      ("doing", 6, 6)),  ("doing",  dict(consumed="4"),         ("doing", 4, 6)),
    ("doing",  dict(consumed=2),                      None),             ("doing",  dict(left=0),               None),
    ("doing",  dict(left=9),                          ("doing", 4, 9)),  ("doing",  dict(estimate=12),          ("doing", 4, 6)),
    ("doing",  dict(consumed=-1),                     None),             ("doing",  dict(left="x"),             None),
    ("doing",  dict(status="done", consumed=7, left=2), ("done", 7, 0)), ("pause",  dict(left=0),               None),
    ("doing",  dict(closedReason="done"),             None),             ("doing",  dict(status="pause", left=1), ("pause", 4, 1)),
    ("wait",   dict(status="pause", left=0),          None),             ("wait",   dict(estimate=-1),              None),
    ("done",   dict(status="doing", left=3),          ("doing", 4, 3)),  ("done",   dict(consumed=3),           None),
    ("closed", dict(consumed=4, left=0),              ("closed", 4, 0)), ("done",   dict(status="wait", consumed=3), None),
]
EFFORTS = [
    # state,   what is sent,                                                                      state, consumed, left
    ("wait",   dict(dates=["2026-11-16"], consumed=[2], left=[8], work=["w"]),                    ("doing", 2, 8)),
    ("wait",   dict(date="2026-11-16", consumed=2, left=8, work="w"),                             ("doing", 2, 8)),
    ("wait",   dict(date=["2026-11-16"], consumed=["2"], left=["8"], id=[7]),                     ("doing", 2, 8)),
    ("wait",   dict(dates="2026-11-20", consumed=0.5, left=0.25),                                 ("doing", 0.5, 0.25)),
    ("doing",  dict(dates=["2026-11-17", "2026-11-18"], consumed=[3, 2], left=[5, 3]),            ("doing", 9, 3)),
    ("doing",  dict(dates=["2026-11-18", "2026-11-17"], consumed=[3, 2], left=[3, 5]),            ("doing", 9, 3)),
    ("doing",  dict(dates=["2026-11-18"], consumed=[3], left=[0]),                                ("done", 7, 0)),
    ("pause",  dict(dates=["2026-11-18"], consumed=[3], left=[2]),                                ("doing", 7, 2)),
    ("done",   dict(dates=["2026-11-18"], consumed=[1], left=[2]),                                ("doing", 5, 2)),
    ("cancel", dict(dates=["2026-11-18"], consumed=[1], left=[2]),                                ("doing", 1, 2)),
    ("closed", dict(dates=["2026-11-18"], consumed=[1], left=[2]),                                ("doing", 5, 2)),
    ("wait",   dict(dates=["2026-11-18"], consumed=[0], left=[2]),                                None),
    ("wait",   dict(dates=["2026-11-18"], consumed=[-1], left=[2]),                               None),
    ("wait",   dict(dates=["2026-11-18"], consumed=["x"], left=[2]),                              None),
    ("wait",   dict(dates=["2026-11-18"], consumed=[1]),                                          None),
    ("wait",   dict(dates=["2026-11-18"], consumed=[1], left=[-1]),                               None),
    ("wait",   dict(dates=["2026-11-18"], left=[1]),                                              None),
    ("wait",   dict(dates=["2026-11-21"], consumed=[1], left=[1]),                                None),
    ("wait",   dict(dates=["2026-02-30"], consumed=[1], left=[1]),                                None),
    ("wait",   dict(dates=["2026-11-17", "2026-11-18"], consumed=[1, 0], left=[1, 1]),            None),
    ("wait",   dict(dates=["2026-11-17", "2026-11-21"], consumed=[1, 1], left=[1, 1]),            None),
    ("wait",   dict(dates=["2026-11-17", "2026-11-18"], consumed=[1, 1], left=[1]),               None),
    ("wait",   {},                                                                                None),
    ("wait",   dict(dates=[], consumed=[], left=[]),                                              None),
]
# fmt: on


class TestDepartments:
    @staticmethod
    def tree(client):
        def row(one: dict[str, Any]) -> list[Any]:
            return [
                one["id"],
                one["path"],
                one["grade"],
                one["order"],
                *map(row, one.get("children", [])),
            ]

        return [row(one) for one in client.get("/departments")]

    def test_departments_are_a_bare_list_of_trees(self, shop):
        for name, parent in (("Dev", 0), ("Web", 1), ("Shop", 2), ("QA", 0)):
            assert (
                shop.call("POST", "/departments", dict(name=name, parent=parent)).status_int == 201
            )
        assert self.tree(shop) == [
            [1, ",1,", 1, 10, [2, ",1,2,", 2, 10, [3, ",1,2,3,", 3, 10]]],
            [4, ",4,", 1, 20],
        ]
        shop.put("/departments/4", manager="qa1")
        holds(shop.get("/departments")[1], name="QA", manager="qa1", managerName="Quin Test")
        assert "children" not in shop.get("/departments/1")

    def test_moving_a_department_moves_all_below_it(self, filled):
        holds(
            filled.put("/departments/2", parent=4, name="Net"),
            parent=4,
            path=",4,2,",
            grade=2,
            name="Net",
        )
        assert self.tree(filled)[1][4][:3] == [2, ",4,2,", 2]
        holds(filled.get("/departments/3"), path=",4,2,3,", grade=3)
        holds(filled.put("/departments/2", parent=0), parent=0, path=",2,", grade=1)
        holds(filled.get("/departments/3"), path=",2,3,", grade=2)

    def test_department_is_really_removed_once_it_is_empty(self, filled):
        filled.put("/users/dev1", dept=3)
        for id in (1, 2, 3):
            filled.refused("DELETE", f"/departments/{id}")
        remove(filled, "/departments/4")
        for method in ("GET", "DELETE"):
            filled.refused(method, "/departments/4", status=404)
        (
            filled.put("/users/dev1", dept=0),
            remove(filled, "/departments/3", "/departments/2", "/departments/1"),
        )
        assert (filled.get("/departments"), filled.dump()["departments"]) == ([], [])

    @each("line", ["POST /departments", "PUT /departments/1", "DELETE /departments/4", "POST /users", "PUT /users/dev2", "DELETE /users/dev2"])  # fmt: skip
    def test_administrators_alone_change_departments_and_other_users(self, filled, line):
        body, token = (
            dict(name="x", realname="x", account="x", password="secret"),
            filled.token_of("dev1"),
        )
        filled.refused(
            *line.split(), None if line.startswith("DELETE") else body, status=403, Token=token
        )
        for path in ("/departments", "/departments/1", "/users/dev2"):
            assert filled.call("GET", path, Token=token).status_int == 200


class TestLevelsOfDepartments:
    """There are at most 50 levels, however a department comes to its place."""

    @staticmethod
    def chain(first, levels, parent=0):
        """Return departments below each other."""
        return [
            dict(id=id, name="D", parent=id - 1 if id > first else parent)
            for id in range(first, first + levels)
        ]

    def test_fixture_has_50_levels_at_most(self, client):
        with pytest.raises(
            pmservice.StartError, match=r"departments\[50\]\.parent .* more than 50 levels"
        ):
            client.load(departments=self.chain(1, 51))
        assert client.get("/departments") == []
        client.load(departments=self.chain(1, 50))
        assert client.get("/departments/50")["grade"] == 50

    def test_new_department_makes_50_levels_at_most(self, client):
        client.load(departments=self.chain(1, 49))
        made = client.post("/departments", name="D", parent=49)
        assert made["grade"] == 50
        assert list(
            client.refused("POST", "/departments", dict(name="D", parent=made["id"]))["fields"]
        ) == ["parent"]
        assert client.get("/departments/50") == made

    @each(("levels", "below"), [(1, 49), (2, 48), (25, 25), (49, 1)])
    def test_moved_department_takes_its_levels_along(self, client, levels, below):
        client.load(departments=self.chain(1, 50) + self.chain(101, levels))
        refusal = client.refused("PUT", "/departments/101", dict(parent=below + 1))
        assert "more than 50 levels" in refusal["fields"]["parent"]
        assert client.put("/departments/101", parent=below)["grade"] == below + 1
        assert client.get(f"/departments/{100 + levels}")["grade"] == 50
        assert client.put("/departments/101", parent=0)["grade"] == 1


class TestUsersAgain:
    @each("who", ["4", "dev1"])
    def test_users_are_named_by_id_or_account(self, shop, who):
        holds(shop.put(f"/users/{who}", realname="Daniel"), id=4, account="dev1", realname="Daniel")
        assert shop.get(f"/users/{who}") == shop.get("/users/4")
        remove(shop, f"/users/{who}")
        assert 4 not in ids(shop.get("/users?limit=100")["users"])
        for method, who in itertools.product(("GET", "PUT", "DELETE"), ("99", "nobody")):
            shop.refused(method, f"/users/{who}", {} if method == "PUT" else None, status=404)

    def test_everybody_may_change_the_own_name_email_and_password(self, shop):
        id = shop.post("/users", account="eve", password="old one")["id"]
        eve = shop.login("eve", "old one")
        for path in ("/users/eve", f"/users/{id}"):
            answer = shop.call("PUT", path, dict(realname="Eve", email="e@x.org"), Token=eve)
            holds(answer.json, realname="Eve", email="e@x.org")
        before = shop.get("/users/eve")
        for sent in (dict(role="top"), dict(admin=True), dict(dept=0, admin=True)):
            shop.call("PUT", "/users/eve", sent, Token=eve)
            assert shop.get("/users/eve") == before
        shop.refused("PUT", "/users/dev1", dict(realname="x"), status=403, Token=eve)
        assert shop.call("PUT", "/users/eve", dict(password="new one"), Token=eve).status_int == 200
        shop.refused("GET", "/user", status=401, Token=eve)  # a new password ends the tokens
        assert (
            shop.call("GET", "/user", Token=shop.login("eve", "new one")).json["profile"][
                "realname"
            ]
            == "Eve"
        )
        shop.refused("POST", "/tokens", dict(account="eve", password="old one"))

    def test_last_administrator_and_oneself_cannot_be_deleted(self, shop):
        shop.load(users=[dict(account="boss", password="p", admin=True)])
        boss = shop.login("boss", "p")
        assert "yourself" in shop.refused("DELETE", "/users/boss", Token=boss)["error"]
        assert shop.call("DELETE", "/users/admin", Token=boss).status_int == 200
        assert (
            "last administrator" in shop.refused("DELETE", "/users/boss")["error"]
        )  # by the fixed token
        assert shop.get("/users/boss")["deleted"] == "0"

    def test_deleted_user_is_logged_out_and_stays_out(self, shop):
        shop.post("/users", account="eve", password="old one")
        eve = shop.login("eve", "old one")
        remove(shop, "/users/eve")
        shop.refused("GET", "/user", status=401, Token=eve)
        shop.refused("POST", "/tokens", dict(account="eve", password="old one"))


class TestModifyHomes:
    """The tree: program 6 has the program 7 and the project 1, which has the executions 2 and 3; project 4 has 5."""

    @each(("path", "sent", "places"), [
        ("/programs/7", dict(parent=0), {"programs/7": (",7,", 1)}), ("/programs/6", dict(name="N"), {"projects/1": (",6,1,", 2), "executions/3": (",1,3,", 1)}),
        ("/projects/1", dict(parent=7), {"projects/1": (",6,7,1,", 3), "executions/3": (",1,3,", 1)}), ("/projects/1", dict(parent=0), {"projects/1": (",1,", 1), "executions/3": (",1,3,", 1)}),
        ("/projects/4", dict(parent="6"), {"projects/4": (",6,4,", 2), "executions/5": (",4,5,", 1)}), ("/executions/3", dict(project=4), {"executions/3": (",4,3,", 1), "projects/1": (",6,1,", 2)}),
    ])  # fmt: skip
    def test_moving_moves_the_paths_of_all_below(self, shop, path, sent, places):
        shop.put(path, **sent)
        for place, (path, grade) in places.items():
            holds(shop.get(f"/{place}"), path=path, grade=grade)

    def test_moving_a_whole_tree_reaches_its_leaves(self, shop):
        shop.put("/projects/1", parent=7), shop.put("/programs/6", parent=shop.program()["id"])
        holds(shop.get("/programs/7"), path=",8,6,7,", grade=3)
        holds(shop.get("/projects/1"), path=",8,6,7,1,", grade=4)
        holds(shop.get("/executions/2"), path=",1,2,", grade=1)

    def test_tasks_go_with_their_execution_to_another_project(self, filled):
        other = filled.task(1)["id"]
        holds(filled.put("/executions/2", project=4), project=4, parent=4)
        assert [filled.get(f"/tasks/{id}")["project"] for id in (1, other)] == [4, 1]
        assert sorted(ids(filled.get("/projects/4/executions")["executions"])) == [2, 5]

    def test_stories_go_with_their_execution_and_stay_with_the_old_project(self, shop):
        made = story(shop, "?objectID=2")["id"]
        assert ids(shop.get("/projects/1/stories")["stories"]) == [made]
        assert ids(shop.get("/projects/4/stories")["stories"]) == []
        shop.put("/executions/2", project=4)
        for path in ("/executions/2", "/projects/4", "/projects/1"):
            listed = shop.get(f"{path}/stories")
            assert (ids(listed["stories"]), listed["total"]) == ([made], 1), path

    @each("path", ["/programs/6", "/products/1", "/projects/1", "/executions/2"])
    def test_whitelist_is_emptied_when_it_is_opened(self, filled, path):
        private = dict(acl="private", whitelist=["dev1"])
        for sent, kept in (
            (private, ["dev1"]),
            (dict(acl="open"), []),
            (dict(whitelist=["dev1"]), []),
        ):
            filled.put(path, **sent)
            holds(filled.get(path), whitelist=kept)

    def test_program_with_children_cannot_be_deleted(self, shop):
        shop.refused("DELETE", "/programs/6")
        shop.put("/programs/7", parent=0), shop.refused("DELETE", "/programs/6")
        shop.put("/projects/1", parent=7), shop.refused("DELETE", "/programs/7")
        remove(shop, "/programs/6", "/projects/1", "/programs/7")

    def test_tasks_of_a_deleted_execution_stay(self, filled):
        before = filled.get("/tasks/1")
        remove(filled, "/executions/2")
        assert lines(filled.get("/tasks/1")) == lines(before)
        filled.refused("POST", "/executions/2/tasks", {}, status=404)
        holds(filled.post("/tasks/1/start", left=1), status="doing")


class TestDaysOfAnExecution:
    """An execution has at most as many working days as days, the first and the last one counted."""

    @each(("begin", "end", "most"), [
        ("2026-03-02", "2026-03-02", 1), ("2026-03-02", "2026-03-03", 2), ("2026-03-02", "2026-03-06", 5),
        ("2026-02-27", "2026-03-02", 4), ("2026-03-28", "2026-03-30", 3), ("2026-01-10", "2026-06-30", 172),
    ])  # fmt: skip
    def test_days_are_at_most_those_from_begin_to_end(self, world, begin, end, most):
        for days in (0, most):
            assert world.put("/executions/3", begin=begin, end=end, days=days)["days"] == days
        rule = {"days": f"must be at most {most}, from begin to end"}
        assert (
            world.refused("PUT", "/executions/3", dict(begin=begin, end=end, days=most + 1))[
                "fields"
            ]
            == rule
        )
        assert world.refused("PUT", "/executions/3", dict(days=most + 1))["fields"] == rule
        assert world.refused("PUT", "/executions/3", dict(days=-1))["fields"] == {
            "days": "must be 0 or more"
        }

    def test_days_that_are_there_already_must_fit_too(self, world):
        world.put("/executions/3", begin="2026-03-02", end="2026-03-06", days=5)
        assert list(world.refused("PUT", "/executions/3", dict(end="2026-03-05"))["fields"]) == [
            "days"
        ]
        assert list(world.refused("PUT", "/executions/3", dict(begin="2026-03-03"))["fields"]) == [
            "days"
        ]
        assert world.put("/executions/3", end="2026-03-05", days=4)["days"] == 4


# fmt: off
BUG_MOVES = [  # the bug's state, what is sent, the state it has then (None: it is refused)
    ("active", dict(resolution="fixed"), "resolved"), ("active", dict(status="resolved", resolution="postponed"), "resolved"), ("active", dict(closedBy="qa1"), None), ("active", dict(status="closed"), None),
    ("active", dict(status="resolved"), None), ("active", dict(status="active"), "active"), ("active", dict(status="gone"), None), ("active", dict(resolution="mended"), None),
    ("resolved", dict(closedBy="qa1"), "closed"), ("resolved", dict(status="closed"), "closed"), ("resolved", dict(status="active"), "active"), ("resolved", dict(status="resolved"), "resolved"),
    ("resolved", dict(resolution="fixed"), "resolved"), ("closed", dict(status="active"), "active"), ("closed", dict(status="closed"), "closed"), ("closed", dict(status="resolved"), None),
]
LONG_AGO, LATELY = "2026-11-12T07:42:16Z", "2026-11-14T00:00:00Z"
BROWSED = [  # bugs for the kinds of browsing; qa1 then resolves 2, closes 3, assigns 4
    {}, {}, dict(status="resolved"), {}, dict(story=1, storyVersion=1), dict(openedDate=LONG_AGO, lastEditedDate="2026-11-19T00:00:00Z"), dict(openedDate=LONG_AGO, lastEditedDate=LONG_AGO),
    dict(openedDate=LONG_AGO, status="closed"), dict(story=1, storyVersion=2), dict(openedDate=LATELY), dict(openedDate=LONG_AGO),
]
# fmt: on


class TestBugsAgain:
    @each("sent", [
        dict(execution=3), dict(execution=5), dict(execution=0), dict(project=4), dict(product=2), dict(deleted=1),
    ])  # fmt: skip
    def test_bug_that_moves_is_counted_where_it_is_then(self, filled, sent):
        filled.put("/bugs/1", project=1, execution=2)
        if "deleted" in sent:
            remove(filled, "/bugs/1")
        else:
            holds(filled.put("/bugs/1", **sent), **sent)
        bug = filled.get("/bugs/1")
        for array, field, several in (
            ("products", "product", (1, 2)),
            ("projects", "project", (1, 4)),
            ("executions", "execution", (2, 3, 5)),
        ):
            for id in several:
                listed = filled.get(f"/{array}/{id}/bugs")
                here = bug[field] == id and not bug["deleted"]
                others = [2] if (array, id) == ("products", 2) else []
                assert sorted(ids(listed["bugs"])) == sorted([1] * here + others)
                assert listed["total"] == len(listed["bugs"])

    @staticmethod
    def in_state(client, state):
        moves = {"active": [], "resolved": ["resolve"], "closed": ["resolve", "close"]}[state]
        for move in moves:
            client.post(f"/bugs/1/{move}", **dict(resolution="fixed") if move == "resolve" else {})
        return client.get("/bugs/1")

    @each(("path", "found"), [
        ("/bugs", [4, 3, 2, 1]), ("/bugs?product=1", [2, 1]), ("/bugs?product=", [4, 3, 2, 1]), ("/projects/1/bugs", [2, 1]), ("/projects/4/bugs", [3]),
        ("/executions/2/bugs", [1]), ("/executions/3/bugs", []), ("/executions/5/bugs?status=active", [3]), ("/bugs?limit=2&page=2", [2, 1]),
    ])  # fmt: skip
    def test_bugs_are_listed_by_project_execution_and_product(self, shop, path, found):
        homes = ((1, 1, 2), (1, 1, 0), (2, 4, 5), (2, 0, 0))
        names = ("product", "project", "execution")
        shop.load(
            bugs=[
                dict(zip(names, home, strict=True), id=id, title="B")
                for id, home in enumerate(homes, 1)
            ]
        )
        answer = shop.get(path)
        assert (ids(answer["bugs"]), list(answer)) == (found, ["page", "total", "limit", "bugs"])
        assert answer["bugs"] == [one for one in shop.get("/bugs")["bugs"] if one["id"] in found]

    @each(("status", "found"), [("resolvedbyme", [2]), ("closedbyme", [3]), ("assignedbyme", [4]), ("needconfirm", [5]), ("longlifebugs", [7, 11])])  # fmt: skip
    def test_more_kinds_of_browsing(self, shop, status, found):
        versions = [dict(version=version, title="S", spec="", verify="") for version in (1, 2)]
        shop.load(
            stories=[
                dict(id=1, product=1, title="S", status="active", version=2, versions=versions)
            ]
        )
        shop.load(
            bugs=[dict(id=id, product=1, title="B", **bug) for id, bug in enumerate(BROWSED, 1)]
        )
        shop.token = shop.token_of("qa1")
        shop.post("/bugs/2/resolve", resolution="fixed"), shop.post("/bugs/3/close")
        shop.post("/bugs/4/assign", assignedTo="dev1")
        for path in ("/products/1/bugs", "/bugs"):
            assert sorted(ids(shop.get(f"{path}?status={status}")["bugs"])) == found

    @each("state", ["active", "resolved", "closed"])
    def test_bug_is_assigned_in_any_state_and_can_be_sent_back(self, filled, state):
        before = self.in_state(filled, state)
        filled.put("/bugs/1", **before)
        unchanged_but(before, filled.get("/bugs/1"))
        filled.clock.forward(hours=1)
        assigned = filled.post("/bugs/1/assign", assignedTo="qa1", comment="c")
        holds(assigned, assignedTo="qa1", assignedDate=LATER, status=state)
        unchanged_but(before, filled.get("/bugs/1"), "assignedTo", "assignedDate")
        holds(filled.post("/bugs/1/assign", assignedTo=""), assignedTo=None)

    @each(("state", "sent", "to"), BUG_MOVES)
    def test_put_moves_a_bug_as_the_transitions_do_or_is_refused(self, filled, state, sent, to):
        self.in_state(filled, state)
        if to is None:
            filled.refused("PUT", "/bugs/1", sent)
            return
        filled.clock.forward(hours=1)
        holds(filled.put("/bugs/1", **sent), status=to)
        bug = filled.get("/bugs/1")
        if to == "resolved" and state == "active":
            holds(
                bug,
                resolvedBy="admin",
                resolvedDate=LATER,
                confirmed=1,
                resolution=sent["resolution"],
            )
        if to == "closed" and state != to:
            holds(bug, closedBy=sent.get("closedBy", "admin"), closedDate=LATER, resolution="fixed")
        if to == "active" and state != to:
            holds(bug, resolution="", resolvedBy=None, closedBy=None, activatedCount=1)

    def test_single_bug_shows_its_status_as_text_and_nothing_as_null(self, shop):
        unset = dict(resolvedDate=None, closedDate=None, activatedDate=None, deadline=None)
        made = shop.post("/products/1/bugs", **BUG)
        for bug in (
            made,
            shop.get("/bugs/1"),
            shop.put("/bugs/1"),
            shop.post("/bugs/1/assign", assignedTo=""),
        ):
            holds(bug, status="active", resolvedBy=None, **unset)
        listed = shop.get("/products/1/bugs")["bugs"][0]
        holds(
            listed,
            status=coded("active"),
            **{**dict.fromkeys(unset, EPOCH), "deadline": "1970-01-01"},
        )


class TestTasksAgain:
    @pytest.fixture
    def tasks(self, shop):
        """Yield an app with a task in each state: 1 wait, 2 doing, 3 pause, 4 done, 5 cancel, 6 closed; opened by pm1, of dev1."""
        known = dict(
            wait={}, doing=dict(realStarted=NOW_ISO), pause=dict(realStarted=NOW_ISO), cancel=dict(canceledBy="qa1", canceledDate=NOW_ISO),
            done=dict(realStarted=NOW_ISO, finishedBy="qa1", finishedDate=NOW_ISO),
            closed=dict(realStarted=NOW_ISO, finishedBy="qa1", finishedDate=NOW_ISO, closedBy="qa1", closedDate=NOW_ISO, closedReason="done"),
        )  # fmt: skip
        shop.load(tasks=[
            dict(id=id, execution=2, name="T", type="devel", status=state, consumed=spent, left=left, estimate=10, openedBy="pm1", assignedTo="dev1",
                 estStarted="2026-11-01", deadline="2026-11-30", assignedDate="2026-11-01T00:00:00Z", **known[state])
            for id, (state, (spent, left)) in enumerate(IN_STATE.items(), 1)
        ])  # fmt: skip
        shop.clock.forward(hours=1)
        return shop

    @staticmethod
    def path(state):
        return f"/tasks/{[*IN_STATE].index(state) + 1}"

    @each("state", IN_STATE)
    @each("status", PUT_STATUS)
    def test_put_of_a_status_moves_a_task_or_is_refused(self, tasks, state, status):
        to, path = PUT_STATUS[status][[*IN_STATE].index(state)], self.path(state)
        if to is None:
            tasks.refused("PUT", path, dict(status=status))
            return
        before = tasks.get(path)
        task = tasks.put(path, status=status, comment="“so”")
        spent, left = IN_STATE[state]
        holds(task, status=to, consumed=spent, left=0 if to == "done" else left, version=1)
        holds(task, assignedTo="dev1", assignedDate="2026-11-01T00:00:00Z")
        if to == state:
            unchanged_but(before, tasks.get(path))
            return
        holds(task, realStarted=before["realStarted"] or (LATER if to == "doing" else None))
        for field, states in (("finished", "done"), ("closed", "closed"), ("canceled", "cancel")):
            if to == states:
                holds(task, **{f"{field}By": "admin", f"{field}Date": LATER})
            elif state in ("done", "closed", "cancel") and to in ("wait", "doing", "pause"):
                holds(task, **{f"{field}By": None, f"{field}Date": None}, closedReason="")
        if to == "closed":
            holds(task, closedReason={"done": "done", "cancel": "cancel"}.get(state, ""))
        log = tasks.sql("SELECT objectType, objectID, actor, comment FROM action")
        assert log == [("task", before["id"], "admin", "“so”")]

    @each(("state", "sent", "wanted"), PUT_HOURS)
    def test_put_of_hours(self, tasks, state, sent, wanted):
        if wanted is None:
            assert set(tasks.refused("PUT", self.path(state), sent)["fields"]) <= {
                *sent,
                "left",
                "status",
            }
        else:
            task = tasks.put(self.path(state), **sent)
            assert lines([task[field] for field in ("status", "consumed", "left")]) == lines(wanted)
            holds(task, realStarted=tasks.get(self.path(state))["realStarted"], assignedTo="dev1")

    @each("state", IN_STATE)
    def test_record_that_was_read_can_be_sent_back_in_every_state(self, tasks, state):
        before = tasks.get(self.path(state))
        for body in (
            before,
            {**before, "assignedTo": "dev1"},
            dict(status=state, left=before["left"]),
        ):
            answer = tasks.call("PUT", self.path(state), body)
            assert answer.status_int == 200, answer.text
            unchanged_but(before, tasks.get(self.path(state)))
        changed = tasks.put(self.path(state), **{**before, "desc": "new"})
        holds(changed, desc="new", status=state, realStarted=before["realStarted"])

    @each(("state", "sent", "wanted"), EFFORTS)
    def test_efforts_add_hours_or_nothing_of_them_is_kept(self, tasks, state, sent, wanted):
        path = f"{self.path(state)}/estimate"
        if wanted is None:
            tasks.refused("POST", path, sent)
            assert tasks.get(path)["effort"] == []
            return
        answer = tasks.call("POST", path, sent, Token=tasks.token_of("qa1"))
        assert answer.status_int in (200, 201), answer.text
        task = tasks.get(self.path(state))
        assert lines([task[field] for field in ("status", "consumed", "left")]) == lines(wanted)
        assert task["realStarted"] is not None
        done = wanted[0] == "done"
        holds(
            task,
            finishedBy="qa1" if done else None,
            finishedDate=LATER if done else None,
            closedReason="",
        )
        holds(task, **dict.fromkeys(("closedBy", "closedDate", "canceledBy", "canceledDate")))
        rows = tasks.get(path)["effort"]
        assert sorted(row["date"] for row in rows) == sorted(
            re.findall("2026-..-..", json.dumps(sent))
        )
        assert {(row["account"], row["task"]) for row in rows} == {("qa1", task["id"])}
        assert {row["work"] for row in rows} == ({"w"} if "work" in sent else {""})

    def test_earlier_effort_only_adds_its_hours(self, tasks):
        path = f"{self.path('doing')}/estimate"
        rows = ((16, 5, 5), (10, 9, 5), (16, 4, 4), (15, 1, 4), (19, 3, 3))
        for day, left, wanted in rows:
            tasks.post(path, dates=[f"2026-11-{day}"], consumed=[1], left=[left])
            holds(tasks.get(self.path("doing")), left=wanted)
        assert tasks.get(self.path("doing"))["consumed"] == 9
        kept = sorted(tasks.get(path)["effort"], key=lambda row: row["id"])
        assert [(row["date"], row["left"]) for row in kept] == [
            (f"2026-11-{day}", left) for day, left, _ in rows
        ]

    def test_only_estimates_make_efforts(self, tasks):
        tasks.post("/tasks/1/start", consumed=1, left=2), tasks.put("/tasks/1", consumed=2)
        tasks.post("/tasks/1/finish", finishedDate="2026-11-21", currentConsumed=1)
        assert tasks.get("/tasks/1/estimate")["effort"] == []
        tasks.refused("GET", "/tasks/99/estimate", status=404)
        tasks.refused("POST", "/tasks/99/estimate", EFFORTS[0][1], status=404)

    @each("state", IN_STATE)
    def test_task_is_assigned_in_any_state(self, tasks, state):
        path = self.path(state)
        before = tasks.get(path)
        tasks.post(f"{path}/assignto", assignedTo="qa1", comment="c")
        holds(tasks.get(path), assignedTo="qa1", assignedDate=LATER)
        unchanged_but(before, tasks.get(path), "assignedTo", "assignedToRealName", "assignedDate")
        if state == "wait":
            tasks.post(f"{path}/assignto", assignedTo="qa1", left=7)
            holds(tasks.get(path), left=7, estimate=10, status="wait")

    def test_batch_makes_all_tasks_or_none(self, tasks):
        path = "/executions/2/tasks/batchCreate"
        good = dict(name="A", type="devel")
        sent = [dict(good, assignedTo="dev1", estimate=3), dict(good, name="B", pri=2)]
        answer = tasks.call("POST", path, dict(tasks=sent))
        assert (answer.status_int, list(answer.json), list(answer.json["task"])) == (
            201,
            ["task"],
            ["7", "8"],
        )
        holds(
            answer.json["task"]["7"],
            id=7,
            name="A",
            status="wait",
            left=3,
            project=1,
            assignedTo="dev1",
        )
        holds(tasks.get("/tasks/8"), name="B", pri=2, openedBy="admin")
        for wrong in (None, [], "x", [7]):
            tasks.refused("POST", path, dict(tasks=wrong))
        for wrong in (
            dict(name="D"),
            dict(type="devel"),
            dict(good, name=""),
            dict(good, type="x"),
        ):
            tasks.refused("POST", path, dict(tasks=[good, wrong]))
        tasks.refused("POST", "/executions/99/tasks/batchCreate", dict(tasks=[]), status=404)

    def test_start_keeps_what_is_left_and_restart_never_lowers_the_hours(self, tasks):
        for state in ("wait", "pause", "done", "cancel", "closed"):
            started, (spent, left) = tasks.post(f"{self.path(state)}/start"), IN_STATE[state]
            holds(started, status="doing", consumed=spent, left=left, assignedTo="dev1")
            holds(started, finishedBy="", closedBy="", canceledBy="", closedReason="")
        for state in ("doing", "done"):
            assert (
                broken(tasks, f"POST {self.path(state)}/restart", dict(consumed=3.5, left=1))
                == "consumed"
            )
            holds(
                tasks.post(f"{self.path(state)}/restart", consumed=4, left=0),
                status="doing",
                consumed=4,
                left=0,
            )

    def test_finish_without_an_assignee_gives_the_task_to_its_opener(self, tasks):
        for id, sent, account in (
            (2, dict(assignedTo=""), "pm1"),
            (3, {}, "dev1"),
            (6, dict(assignedTo="qa1"), "qa1"),
        ):
            done = tasks.post(f"/tasks/{id}/finish", finishedDate="2026-11-20 08:00", **sent)
            holds(done, assignedTo=account, status="done", finishedDate="2026-11-20T08:00:00Z")
            holds(done, closedBy="", closedDate=None, closedReason="")


class TestSmallOnes:
    @each(("query", "found"), [
        ("", [1, 2, 3, 4]), ("status=all", [1, 2, 3, 4]), ("status=noclosed", [1, 3, 4]), ("status=closed", [2]), ("program=6", [3, 4]), ("program=6&status=closed", []),
        ("project=1", [1, 2]), ("project=4", [2]), ("project=4&status=noclosed", []), ("order=id", [1, 2, 3, 4]), ("order=name", [4, 1, 2, 3]), ("order=id_desc", [4, 3, 2, 1]),
    ])  # fmt: skip
    def test_products_take_filters(self, shop, query, found):
        shop.product(name="Till2", program=6), shop.product(name="Aaa", program=6)
        shop.put("/products/2", status="closed")
        answer = shop.get(f"/products?{query}")
        assert (ids(answer["products"]), answer["total"], len(answer)) == (found, len(found), 2)
        page = shop.get(f"/products?{query}&limit=1")
        assert (ids(page["products"]), page["total"]) == (found[:1], len(found))

    def test_ping_shows_the_caller_s_token(self, shop):
        token = shop.token_of("dev1")
        assert shop.call("GET", "/ping", Token=token).json == {"token": token, "tokenLife": "86400"}
        shop.refused("GET", "/ping", status=401, Token=None)

    def test_configurations_need_a_token(self, shop):
        known = {one["key"]: one["value"] for one in shop.get("/configurations")}
        assert (
            " ".join(known)
            == "language version charset timezone systemMode hourUnit CRProduct CRExecution"
        )
        holds(known, version="16.5", language="en", charset="UTF-8", systemMode="new")
        assert shop.get("/configurations/version") == {"name": "version", "value": "16.5"}
        shop.refused("GET", "/configurations", status=401, Token=None)
        shop.refused("GET", "/configurations/nosuch", status=404)

    def test_group_options_and_login_path(self, shop):
        shop.load(users=[dict(account="boss", realname="Bo", admin=True)])
        (group,) = shop.get("/groups")
        assert (group["role"], group["accounts"]) == ("admin", {"admin": "admin", "boss": "Bo"})
        shop.post("/projects/1/builds", **BARE_BUILD)
        options = shop.get("/options/bug?product=1&execution=2")["options"]
        assert list(options) == ["type", "pri", "severity", "modules", "build"]
        assert [one for one in options["type"] if one] == WORDS["bug", "type"].split()
        assert [one for one in options["build"] if one] == ["trunk", "1"]
        answer = shop.call("GET", "/tokens", Token=None)
        assert (answer.status_int, "POST" in answer.json["message"]) == (200, True)

    def test_aliases_are_the_same_operations(self, shop):
        product = shop.product(program=6)["id"]
        assert ids(shop.get("/programs/6/products")["products"]) == [product]
        answer = shop.get("/products/2/projects")
        assert (sorted(ids(answer["projects"])), answer["total"]) == ([1, 4], 2)
        assert shop.get("/product/1") == shop.get("/products/1")
        holds(shop.put("/product/1", name="N"), name="N")
        remove(shop, "/product/1")
        for path in ("/api.php/v1/stories", "/zentao/api.php/v1/stories/", "/stories/"):
            assert shop.get(path)["total"] == 0


STORED = dict(
    products=[dict(id=1, name="P"), dict(id=2, name="Q")], projects=[dict(id=1, name="J", products=[1])], executions=[dict(id=2, project=1, name="E")],
    stories=[dict(id=1, product=1, title="s"), dict(id=2, product=1, title="t", parent=1), dict(id=3, product=1, title="u")],
    tasks=[dict(id=1, execution=2, name="t", status="done", consumed=9e18)], bugs=[dict(id=1, product=1, title="b")],
    testcases=[dict(id=1, product=1, title="c", steps=[dict(desc="a")])],
)  # fmt: skip


# fmt: off
LAST_ID = 2**53
LAST = {  # array: a record of FILLED's world, and a request that would make the next one
    "departments": (dict(name="D"),                                  "POST /departments", dict(name="D")),
    "users":       (dict(account="last"),                            "POST /users", dict(account="next", password="secret")),
    "programs":    (dict(name="G"),                                  "POST /programs", dict(name="G", **YEAR)),
    "projects":    (dict(name="P"),                                  "POST /projects", dict(name="P", products=[1], **YEAR)),
    "executions":  (dict(name="E", project=1),                       "POST /projects/1/executions", dict(name="E", **SPAN)),
    "products":    (dict(name="P"),                                  "POST /products", dict(name="P")),
    "releases":    (dict(name="R", product=1),                       "POST /projects/1/releases", dict(name="R", date="2026-03-05", product=1)),
    "bugs":        (dict(product=1, title="B"),                      "POST /products/1/bugs", dict(title="B", severity=1, pri=1, type="config", openedBuild="trunk")),
    "tasks":       (dict(name="T", execution=2),                     "POST /executions/2/tasks", dict(name="T", type="devel", estStarted="2026-02-02", deadline="2026-02-20")),
    "testcases":   (dict(product=1, title="C"),                      "POST /products/1/testcases", BARE_CASE),
    "stories":     (dict(product=1, title="S"),                      "POST /products/1/stories", BARE_STORY),
    "plans":       (dict(product=1, title="P"),                      "POST /products/1/plans", dict(title="P")),
    "builds":      (dict(product=1, project=1, name="B"),            "POST /projects/1/builds", BARE_BUILD),
    "testtasks":   (dict(product=1, project=1, name="R"),            "POST /testtasks", BARE_RUN),
    "efforts":     (dict(task=1),                                    "POST /tasks/1/estimate", dict(consumed=1, left=1)),
    "results":     (dict(case=1),                                    "POST /testcases/1/results", {}),
}
# fmt: on


class TestLastIds:
    """Ids end at 2^53, up to which every reader of JSON is exact."""

    @each("array", TABLES)
    def test_no_record_is_made_beyond_the_last_id(self, filled, array):
        record, request, body = LAST[array]
        filled.load(**{array: [{**record, "id": LAST_ID}]})
        filled.refused(*request.split(), body)
        with pytest.raises(pmservice.StartError):
            filled.load(**{array: [{**record, "account": "after"} if array == "users" else record]})
        dumped = filled.dump()
        with contextlib.closing(Client(":memory:", control=False)) as again:
            again.load(**dumped)
            assert lines(again.dump()) == lines(dumped)

    @each("array", TABLES)
    def test_last_id_itself_is_given(self, filled, array):
        record, request, body = LAST[array]
        filled.load(**{array: [{**record, "id": LAST_ID - 1}]})
        assert filled.call(*request.split(), body).status_int in (200, 201)
        dumped = filled.dump()
        assert max(one["id"] for one in dumped[array]) == LAST_ID
        with contextlib.closing(Client(":memory:", control=False)) as again:
            again.load(**dumped)

    @each(("method", "path", "body"), [
        ("POST", "/products/1/testcases", dict(BARE_CASE, steps=[dict(desc="a")])), ("PUT", "/testcases/1", dict(steps=[dict(desc="b")])),
    ])  # fmt: skip
    def test_no_step_is_made_beyond_the_last_id(self, filled, method, path, body):
        filled.load(testcases=[dict(product=1, title="C", steps=[dict(id=LAST_ID, desc="a")])])
        filled.refused(method, path, body)

    @each(("method", "path", "body"), [
        ("PUT", "/products/1", dict(PO="next")), ("POST", "/products", dict(name="P", whitelist=["next"], acl="private")), ("POST", "/bugs/1/assign", dict(assignedTo="next")),
    ])  # fmt: skip
    def test_no_person_becomes_a_user_beyond_the_last_id(self, filled, method, path, body):
        filled.load(users=[dict(account="last", id=LAST_ID)])
        filled.refused(method, path, body)

    def test_user_who_makes_room_gets_no_id_beyond_the_last_one(self, client):
        users = [dict(id=1, account="first"), dict(id=LAST_ID, account="last")]
        with pytest.raises(pmservice.StartError, match=str(LAST_ID)):
            client.load(users=users)  # the administrator has the id 1, and there is none above
        assert ids(client.dump()["users"]) == [1]
        client.load(users=[users[0], dict(users[1], id=LAST_ID - 1)])
        assert ids(client.dump()["users"]) == [1, LAST_ID - 1, LAST_ID]

    @each(("path", "body"), [
        ("/executions/2/tasks", dict(assignedTo=["dev1", "qa1"])), ("/executions/2/tasks/batchCreate", dict(tasks=[dict(name="T", type="devel")] * 2)),
    ])  # fmt: skip
    def test_several_tasks_of_which_one_is_beyond_the_last_id_are_none(self, filled, path, body):
        filled.load(tasks=[dict(execution=2, name="T", id=LAST_ID - 1)])
        filled.refused("POST", path, {**LAST["tasks"][2], **body})


class TestWhatIsStored:
    """Requests and fixtures that are refused because of other records, or of the stored record itself."""

    @each(("line", "sent", "field"), [
        ("PUT /stories/1",                       dict(parent=3),                         "parent"),
        ("PUT /stories/1",                       dict(estimate=99),                      "estimate"),
        ("POST /stories/1/close",                dict(duplicateStory=1),                 "duplicateStory"),
        ("POST /products/1/plans",               dict(title="x", begin="2031-01-01"),    "end"),
        ("PUT /executions/2",                    dict(days=-1),                          "days"),
        ("POST /testcases/1/results",            dict(version=9),                        "version"),
        ("POST /testcases/1/results",            dict(steps=[{}, {}]),                   "steps"),
        ("PUT /tasks/1",                         dict(left=3),                           "left"),
        ("POST /tasks/1/estimate",               dict(consumed=9e18, left=1),            "consumed"),
        ("POST /executions/2/tasks/batchCreate", dict(tasks=[dict(name="a", type="devel", assignedTo=99)]), "tasks[0].assignedTo"),
        ("PUT /bugs/1",                          dict(resolvedBuild="x"),                "resolvedBuild"),
    ])  # fmt: skip
    def test_request_is_refused_by_what_is_stored(self, client, line, sent, field):
        client.load(**STORED)
        assert list(client.refused(*line.split(), sent)["fields"]) == [field]

    def test_text_of_a_release_names_stories_only_by_ids_of_64_bits(self, client):
        client.load(**STORED)
        for text in ("1,99999999999999999999", "1, 2,", "x", "1.5,true", "[1]"):
            client.post(
                "/projects/1/releases", name="r", date="2026-01-05", product=1, stories=text
            )
        assert [client.get(f"/stories/{id}")["stage"] for id in (1, 2, 3)] == [
            "released",
            "released",
            "wait",
        ]

    def test_bug_of_an_execution_is_one_of_its_project(self, client):
        client.load(**STORED)
        assert (
            client.post(
                "/products/1/bugs",
                title="x",
                severity=1,
                pri=1,
                type="config",
                openedBuild="trunk",
                execution=2,
            )["project"]
            == 1
        )

    @each(("array", "records", "place"), [
        ("stories",     [dict(product=1, title="s", version=2, versions=[dict(version=1, title="a"), dict(version=1, title="b")])], "stories[0].versions"),
        ("stories",     [dict(product=1, title="s", versions=[dict(version=1, title="another")])],                    "stories[0].versions"),
        ("stories",     [dict(product=2, title="s", parent=1)],                                                       "stories[0].product"),
        ("stories",     [dict(product=1, title="s", parent=2)],                                                       "stories[0].parent"),
        ("builds",      [dict(project=1, product=1, name="b"), dict(project=1, product=1, name="b")],                 "builds[1].name"),
        ("builds",      [dict(project=1, product=2, name="b", stories=[1])],                                          "builds[0].product"),
        ("departments", [dict(id=1, name="a", parent=2), dict(id=2, name="b", parent=1)],                             "departments[1].parent"),
        ("departments", [dict(id=n, name="d", parent=n - 1) for n in range(1, 52)],                                   "departments[50].parent"),
    ])  # fmt: skip
    def test_fixture_is_refused_by_what_does_not_belong_together(
        self, client, array, records, place
    ):
        client.load(**STORED)
        with pytest.raises(pmservice.StartError, match=f"fixture: {re.escape(place)} "):
            client.load(**{array: records})

    def test_build_and_test_task_of_a_fixture_are_of_the_execution_s_project(self, client):
        client.load(
            **STORED,
            builds=[dict(product=1, name="b", execution=2)],
            testtasks=[dict(product=1, name="t", execution=2)],
        )
        assert client.get("/builds/1")["project"] == client.get("/testtasks/1")["project"] == 1


# --- Properties ---------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=300)
NAMES = TEXTS.filter(lambda text: text.strip() and len(text) <= 255)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20)
    | st.sampled_from(["2026-02-02", "dev1", "open", "private", "normal", "devel", "0", "1", 1, 2]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["desc", "account", "id", "x"]), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@pytest.fixture(scope="module")
def in_memory():
    """Yield an app that the examples of one property share."""
    with contextlib.closing(Client(":memory:")) as client:
        client.load(**WORLD)
        yield client


class TestProperties:
    @given(name=NAMES, text=TEXTS)
    def test_what_goes_in_comes_out(self, in_memory, name, text):
        sent = {"name": name, "desc": text, "code": text}
        made = in_memory.product(**sent)
        assert (
            {field: made[field] for field in sent}
            == {field: made["products"][0][field] for field in sent}
            == sent
        )
        case = in_memory.case(
            1, title=name, precondition=text, steps=[{"desc": name, "expect": text}]
        )
        shown = in_memory.get(f"/testcases/{case['id']}")
        step = shown["steps"][0]
        assert [shown["title"], shown["precondition"], step["desc"], step["expect"]] == [
            name,
            text,
            name,
            text,
        ]

    OTHER_BODIES = {
        f"{method} {path}": body for method, path, body in WRITES if body
    }  # of the companions, mostly

    @each("operation", [*GOOD, "POST /tokens", *(one for one in OTHER_BODIES if one not in GOOD)])
    def test_no_body_whatsoever_is_a_failure_of_our_own(self, in_memory, operation):
        good = GOOD.get(operation) or self.OTHER_BODIES.get(operation, {})
        fields = [
            *{**good, **SORTS["task"], **SORTS["product"]},
            "comment",
            "currentConsumed",
            "password",
        ]
        some = st.dictionaries(st.sampled_from(fields), VALUES, max_size=6)

        @given(body=VALUES | some.map(lambda some: {**good, **some}))
        def answered(body: Any) -> None:
            assert in_memory.call(*operation.split(), body).status_int < 500

        answered()


class TaskLife(RuleBasedStateMachine):
    """The life of a task, compared with a model that has the rules in a few lines."""

    hours = st.integers(0, 40).map(lambda quarters: quarters / 4)

    @initialize(estimate=hours)
    def create(self, estimate):
        self.client = Client(":memory:")
        task = self.client.task(estimate=estimate)
        self.path = f"/tasks/{task['id']}"
        self.task = dict(
            status="wait",
            consumed=0,
            left=estimate,
            version=1,
            realStarted=None,
            finishedDate=None,
            name="T",
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
        may = self.task["status"] != "doing" and consumed >= self.task["consumed"]
        self.try_to(
            may, "start", body, **body, status="doing", realStarted=NOW_ISO, finishedDate=None
        )

    @rule(consumed=hours, left=hours)
    def restart(self, consumed, left):
        body = dict(consumed=consumed, left=left)
        may = consumed >= self.task["consumed"]
        self.try_to(may, "restart", body, **body, status="doing", finishedDate=None)

    @rule(more=hours, day=st.sampled_from(["2026-11-20", "2026-11-21"]))
    def finish(self, more, day):
        may = self.task["realStarted"] is not None and day == "2026-11-21"
        changes = dict(
            status="done",
            left=0,
            consumed=self.task["consumed"] + more,
            finishedDate=f"{day}T00:00:00Z",
        )
        self.try_to(may, "finish", dict(currentConsumed=more, finishedDate=day), **changes)

    @rule(name=st.sampled_from("TUV"))
    def rename(self, name):
        self.task.update(version=self.task["version"] + (name != self.task["name"]), name=name)
        self.client.put(self.path, name=name)

    @invariant()
    def looks_like_the_model(self):
        if hasattr(self, "task"):
            shown, spent, left = (
                self.client.put(self.path),
                self.task["consumed"],
                self.task["left"],
            )
            progress = (
                100
                if self.task["status"] == "done"
                else int(100 * spent / (spent + left) + 0.5)
                if spent
                else 0
            )
            assert {**self.task, "progress": progress} == {
                field: shown[field] for field in (*self.task, "progress")
            }


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
LINKED_TO = dict(project=1, execution=2, plan=1, story=1)
AT_FIRST = {  # FILLED with stories of a plan, with a story and a bug in each state, and with links between all
    **FILLED,
    "stories": [
        *({**one, "plans": [1] if one["product"] == 1 else [], "executions": [2]} for one in FILLED["stories"]),
        *(dict(id=id, product=1, title="S", status=status, estimate=1 / 3, plans=[id % 2 + 1], reviewers=[dict(account="admin")])
          for id, status in ((4, "draft"), (5, "changed"), (6, "closed"))),
        dict(id=7, product=1, parent=6, title="S", estimate=2.5),
    ],
    "bugs": [
        dict(LINKED_TO, id=1, product=1, title="B", case=1, assignedTo="dev1"), dict(id=2, product=2, title="B"),
        *(dict(LINKED_TO, id=id, product=1, title="B", status=status, resolution="fixed", resolvedDate="2026-11-19T09:00:00Z")
          for id, status in ((3, "resolved"), (4, "closed"))),
    ],
    "tasks": [*FILLED["tasks"], dict(id=2, execution=2, name="T", story=1, status="done", consumed=0.5)],
    "builds": [dict(FILLED["builds"][0], stories=[1], bugs=[1]), FILLED["builds"][1]],
    "releases": [dict(one, stories="1, 2", bugs="1") for one in FILLED["releases"]],
    "testtasks": [dict(FILLED["testtasks"][0], testcases=[1]), dict(FILLED["testtasks"][0], id=2)],
}
# fmt: on
NOT_DRAWN = {"id", "version", "versions", "stepResults"}  # these would have to fit to others
BY_NUMBER = {"story": "story", "plan": "plan", "case": "testcase", "task": "task", "build": "build"}
COUNTED = ("hours", "quoted", "people", "person", "day", "moment")  # looks of fields that may count
CALLABLE = {f"{one.method} {one.path}": one for one in pmservice.OPERATIONS if not one.open}
WRITING = {name: one for name, one in CALLABLE.items() if one.method != "GET"}
CREATING = [name for name, one in WRITING.items() if one.status == 201]
PUTTING = [name for name, one in WRITING.items() if one.method == "PUT"]
MOVING = [name for name, one in WRITING.items() if one.method == "POST" and one.status == 200]
REMOVING = [name for name, one in WRITING.items() if one.method == "DELETE"]
LISTED = [one for one in pmservice.OPERATIONS if isinstance(one.shows, pmservice.Listing)]
LIST_OF_COUNTER = dict(
    bugs="all", unResolved="active", closedBugs="closed", assignToNull="assigntonull"
)
RESTORING = ["PUT /-/snapshots/old", "POST /-/snapshots/old/restore", "POST /-/reset"]


MEMBER = "dev2"  # who sees everything, but is no administrator


def ids_of(client, target, deleted=False):
    """Return the ids of a resource's records; of users without those who ask for lists."""
    resource = pmservice.RESOURCES[target]
    condition = "TRUE" if deleted else resource.undeleted
    if target == "user":
        condition += f" AND account NOT IN ('admin', '{MEMBER}')"
    with client.service.database.reading() as store:
        return store.ids(resource, condition)


def choices(client, field, kind, deleted=False):
    """Return values for a field: links are to the first few records, so that several meet."""
    if target := kind.target or BY_NUMBER.get(field, ""):
        ids = ids_of(client, target, deleted)[:5] or [99]
        if kind.table or kind.schema.get("type") == "array":
            return [*([id] for id in ids), ids[:2]]
        return [*ids, "trunk" if kind.look == "build" else 0]
    words = kind.schema.get("enum") if kind.look == "quoted" else None
    return DRAWN.get(field) or words or DRAWN.get(kind.look) or [0, 7]


def drawn_fields(shape):
    """Return the fields of a shape for which requests are made up."""
    return {field: kind for field, kind in shape.fields.items() if field not in NOT_DRAWN}


def path_of(operation, id):
    """Return the path at which an operation is called for a record."""
    path = re.sub("<.*>", str(id), operation.path)
    return f"{path}?{operation.by}={id}" if operation.by else path


def problems(client):
    """Return what is wrong with the counts of a client's database."""
    with client.service.database.reading() as store:
        return list(pmservice.problems_of(store))


class TestEveryChange:
    """Every operation that writes, with one further field at a time, leaves every count right."""

    def least(self, client, shape):
        """Return the smallest body that a shape takes."""
        needed = sorted(shape.required)
        return {field: self.first(client, field, shape.fields[field]) for field in needed}

    def first(self, client, field, kind):
        if isinstance(kind.read, pmservice.Items):
            return [self.least(client, kind.read.shape)]
        return choices(client, field, kind)[0]

    def bodies(self, client, shape):
        """Return the smallest body, and it with one further field: each that may count."""
        least = self.least(client, shape)
        found = [least]
        for field, kind in drawn_fields(shape).items():
            if kind.target or kind.look in COUNTED or field in (*DRAWN, *BY_NUMBER):
                found += [{**least, field: value} for value in choices(client, field, kind)[:4]]
        return found

    @each("name", [name for name, one in WRITING.items() if not one.purpose.startswith("alias")])
    def test_it_leaves_every_count_right(self, name):
        operation, accepted = WRITING[name], 0
        most = 1 if operation.status == 201 else 4  # what is created depends on no state
        with contextlib.closing(Client(":memory:", load=AT_FIRST)) as client:
            bodies = self.bodies(client, operation.reads)
            ids = ids_of(client, operation.target)[:most] if operation.target else [0]
            for id, body in itertools.product(ids, bodies):
                answer = client.call(operation.method, path_of(operation, id), body)
                assert answer.status_int in (200, 201, 400, 403), answer.text
                if answer.status_int < 400:
                    assert problems(client) == [], (path_of(operation, id), body)
                    client.post("/-/reset?only=records")
                    accepted += 1
        assert accepted, "every request was refused"


class EveryWrite(RuleBasedStateMachine):
    """All operations that write, in any order, with loads and restores: every count stays right.

    The table of operations says what a request sends: for each field a value of its kind, for a
    link a record that is there. A rule may refuse it; the service may not fail.
    """

    steps: Counter[tuple[str, bool]] = Counter()  # of all examples, by whether they succeeded

    def __init__(self):
        super().__init__()
        self.client = Client(":memory:", load=AT_FIRST)
        self.call("PUT", "/-/snapshots/old")

    def teardown(self):
        try:
            self.every_total_is_the_number_of_records()
            self.every_counter_is_the_number_of_records()
        finally:
            self.client.close()

    def call(self, method, path, body=None):
        """Send a request; return whether it was accepted."""
        answer = self.client.call(method, path, body)
        assert answer.status_int in (200, 201, 400, 403, 404), answer.text
        return answer.status_int < 400

    def value(self, data, field, kind, deleted):
        """Draw a value for a field."""
        if isinstance(kind.read, pmservice.Items):
            size = data.draw(st.integers(kind.read.least, 2), field)
            return [self.body(data, kind.read.shape, deleted) for _ in range(size)]
        return data.draw(st.sampled_from(choices(self.client, field, kind, deleted)), field)

    def body(self, data, shape, deleted=False):
        """Draw a body: what is required, and a few other fields, mostly such as are counted."""
        fields = drawn_fields(shape)
        counted = [f for f, kind in fields.items() if kind.target or kind.look in COUNTED]
        hours = [f for f in counted if fields[f].look == "hours"]
        likely = [*fields, *counted * 2, *hours * 3]
        some = st.lists(st.sampled_from(likely), max_size=4, unique=True)
        chosen = {*shape.required, *data.draw(some, "fields")}
        if "acl" in fields:
            chosen.add("acl")  # open: the member sees everything
        return {f: self.value(data, f, fields[f], deleted) for f in fields if f in chosen}

    def write(self, name, data):
        """Send a request for an operation to a record that is there."""
        operation = WRITING[name]
        ids = ids_of(self.client, operation.target) if operation.target else [0]
        id = data.draw(st.sampled_from(ids or [99]), "id")
        body = self.body(data, operation.reads)
        self.steps[name, self.call(operation.method, path_of(operation, id), body)] += 1

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

    @rule(array=st.sampled_from([*pmservice.FIXTURE]), size=st.integers(1, 3), data=st.data())
    def load(self, array, size, data):
        """Load records of an array, the first of them deleted; they may name deleted ones."""
        shape = pmservice.FIXTURE[array].fixture
        records = [self.body(data, shape, deleted=True) for _ in range(size)]
        if "deleted" in shape.fields and array != "users":
            records[0]["deleted"] = True
        self.steps["load", self.call("POST", "/-/load", {array: records})] += 1

    @rule(name=st.sampled_from(RESTORING))
    def restore(self, name):
        self.steps[name, self.call(*name.split())] += 1

    @invariant()
    def every_count_is_that_of_the_records(self):
        found = problems(self.client)
        assert not found, found

    def every_total_is_the_number_of_records(self):
        """Compare the total of each list with its records, for both who see all of them."""
        member = self.client.token_of(MEMBER)
        for operation in LISTED:
            listing = operation.shows
            ids = ids_of(self.client, operation.target)[:2] if operation.target else [0]
            for id, word in itertools.product(ids, listing.browse):
                path = operation.path.replace("<id>", str(id)) + "?limit=1000"
                path += f"&status={word}" if len(listing.browse) > 1 else ""
                for self.client.token in (member, "t"):
                    shown = self.client.get(path)
                    found = len(shown[listing.key])
                    assert shown.get("total", found) == found, path

    def every_counter_is_the_number_of_records(self):
        """Compare the numbers that products and plans show with the lists of what they count."""
        get = self.client.get
        for product in get("/products")["products"]:
            path, counted = f"/products/{product['id']}", {}
            for field, word in LIST_OF_COUNTER.items():
                counted[field] = get(f"{path}/bugs?limit=1&status={word}")["total"]
            counted["releases"] = get(f"{path}/releases")["total"]
            assert counted == {field: product[field] for field in counted}, path
            for state in ("draft", "active", "changed", "closed"):
                stories = get(f"{path}/stories?limit=1&status={state}")
                assert stories["total"] == product["stories"][state], path
        for plan in get("/productplans?limit=1000")["plans"]:
            inside = get(f"/productplans/{plan['id']}")
            assert plan["stories"] == len(inside["stories"]), plan["id"]
            assert plan["bugs"] == len(inside["bugs"]), plan["id"]
            hours = math.fsum(min(one["estimate"], 10**8) for one in inside["stories"])
            assert plan["hour"] == pytest.approx(hours, abs=1e-4), plan["id"]


TestEveryWrite = EveryWrite.TestCase
TestEveryWrite.settings = settings(max_examples=3, stateful_step_count=40)


# --- The whole of it ----------------------------------------------------------------------------------


class TestTheWholeLife:
    def test_from_login_to_restart(self, tmp_path):
        with contextlib.closing(Client(tmp_path / "pm.db", password="secret", token="x")) as client:
            client.token = client.login("admin")
            program = client.program(name="Phones")["id"]
            nested = client.program(name="Firmware", parent=str(program))
            product = client.product(name="Modem", program=nested["id"], PO="olga")["id"]
            project = client.project(name="Modem 1.0", parent=nested["id"], products=[product])
            assert client.get(f"/programs/{nested['id']}")["path"] == ",1,2,"
            assert project["path"] == ",1,2,3,"

            task = client.task(project["id"], name="Write driver", assignedTo=["dan"], estimate=8)
            path = f"/tasks/{task['id']}"
            assert (task["status"], task["left"]) == ("wait", 8)
            assert client.put(path, name="Write the driver")["version"] == 2
            started = client.post(
                f"{path}/start", consumed=2, left=6, realStarted="2026-11-20 08:00:00", comment="go"
            )
            assert (started["status"], started["progress"], started["assignedTo"]) == (
                "doing",
                25,
                "dan",
            )
            finished = client.post(
                f"{path}/finish", currentConsumed=5, finishedDate="2026-11-20 17:00:00"
            )
            assert (finished["status"], finished["consumed"], finished["finishedBy"]) == (
                "done",
                7,
                "admin",
            )
            again = client.post(f"{path}/restart", consumed=7, left=1)
            assert (again["status"], again["finishedBy"], again["realStarted"]) == (
                "doing",
                "",
                "2026-11-20 08:00:00",
            )

            case = client.case(
                product, title="It starts", steps=[{"desc": "power on", "expect": "light"}]
            )["id"]
            assert client.get(f"/testcases/{case}")["steps"][0]["expect"] == "light"
            client.load(
                releases=[dict(name="1.0", project=3, product=1)],
                bugs=[dict(title="It hangs", product=1)],
            )
            assert client.get(f"/products/{product}/bugs")["bugs"][0]["title"] == "It hangs"
            assert (
                client.get(f"/projects/{project['id']}/releases")["releases"][0]["projectName"]
                == "Modem 1.0"
            )
            counted = client.get("/products")["products"][0]
            assert [
                counted[field] for field in ("bugs", "unResolved", "releases", "thisWeekBugs")
            ] == [1, 1, 1, 1]


class TestAClientsDay:
    @each("password", ["secret", hashlib.md5(b"secret").hexdigest()], ids=["password", "MD5"])
    def test_each_answer_holds_what_the_one_before_changed(self, tmp_path, password):
        with contextlib.closing(
            Client(tmp_path / "pm.db", password="secret", token="x", load=WORLD)
        ) as client:
            client.token = client.login("admin", password)
            product = client.get("/products")["products"][0]
            bugs = f"/products/{product['id']}/bugs"
            before = client.get(bugs)
            bug = client.post(bugs, **BUG, assignedTo="dev1")
            path = f"/bugs/{bug['id']}"
            after = client.get(bugs)
            assert (after["total"], after["bugs"][1:]) == (before["total"] + 1, before["bugs"])
            assert (
                after["bugs"][0].items() >= without(bug, "status", "deadline", *UNSET_BUG).items()
            )
            resolved = client.post(f"{path}/resolve", resolution="fixed", resolvedBuild="trunk")
            assert (resolved["status"], resolved["assignedTo"]) == ("resolved", reference("admin"))
            closed = client.post(f"{path}/close", comment="well done")
            assert (closed["status"], closed["resolution"]) == ("closed", "fixed")
            assert closed["closedBy"] == reference("admin")
            assert client.get(path) == closed
            assert client.get(f"{bugs}?status=closed")["bugs"][0]["status"] == coded("closed")
            counted = client.get("/products")["products"][0]
            assert {name: counted[name] - product[name] for name in COUNTERS if counted[name] != product[name]} == {
                "bugs": 1, "closedBugs": 1, "fixedBugs": 1, "thisWeekBugs": 1,
            }  # fmt: skip

            project = client.get("/projects")["projects"][0]["id"]
            execution = client.get(f"/projects/{project}/executions")["executions"][0]["id"]
            task = client.task(execution, assignedTo=["dev1"], estimate=8)
            path = f"/tasks/{task['id']}"
            assert (
                client.get(path) == task == client.get(f"/executions/{execution}/tasks")["tasks"][0]
            )
            client.post(f"{path}/start", consumed=2, left=6)
            doing = client.get(path)
            assert (doing["status"], doing["consumed"], doing["left"], doing["progress"]) == (
                "doing",
                2,
                6,
                25,
            )
            assert (doing["realStarted"], client.get(f"/executions/{execution}")["status"]) == (
                NOW_ISO,
                "doing",
            )
            client.post(f"{path}/finish", currentConsumed=5, finishedDate="2026-11-21 17:00:00")
            done = client.get(path)
            assert (done["status"], done["consumed"], done["left"], done["progress"]) == (
                "done",
                7,
                0,
                100,
            )
            assert (done["finishedBy"], done["finishedDate"]) == (
                reference("admin"),
                "2026-11-21T17:00:00Z",
            )
            assert done["realStarted"] == doing["realStarted"]


# --- The README ---------------------------------------------------------------------------------------

README = (HERE / "README.md").read_text("utf-8")


class TestReadme:
    def test_tables_say_what_the_module_s_tables_say(self):
        rows = re.findall(
            r"^\| ([A-Z]+) \| `(/[^`]+)` \| (.+?) \|(?: (.*)\|)?$", README, re.MULTILINE
        )
        rows.sort(
            key=lambda row: row[1].startswith("/-/")
        )  # the controls stand before the operations
        offered = (*pmservice.SPECIFIED, *pmservice.COMPANIONS, *pmservice.CONTROLS)
        assert [row[:3] for row in rows] == [(one.method, one.path, one.purpose) for one in offered]
        for row, operation in zip(rows, pmservice.OPERATIONS, strict=False):
            named = set(re.findall("`([A-Za-z]+)`", row[3])), set(re.findall(r"`\?(\w+)=`", row[3]))
            assert named == (operation.reads.required, {operation.by} - {""}), row

    def test_it_names_every_word_of_status_and_every_array_of_a_fixture(self):
        (lists,) = re.findall(r"^\*\*Lists\*\*(.*?)^Long lists", README, re.MULTILINE | re.DOTALL)
        offered = {
            word
            for one in pmservice.OPERATIONS
            if isinstance(one.shows, pmservice.Listing) and len(one.shows.browse) > 1
            for word in one.shows.browse
        }
        assert {word.lower() for word in offered} <= {
            word.lower() for word in re.findall("`([^`]+)`", lists)
        }
        (arrays,) = re.findall(r"## Seeding.*?any of the arrays (.*?)\.", README, re.DOTALL)
        assert set(re.findall("`([a-z]+)`", arrays)) == set(pmservice.FIXTURE)

    def test_commands_and_settings_it_names_are_there(self):
        flags = set(
            re.findall(
                r"(?<![\w-])--([a-z][a-z-]+)", " ".join(re.findall(r"pmservice[^`\n]*", README))
            )
        )
        known = {setting.flag.strip("-") for setting in pmservice.FLAGS}
        known |= {flag.strip("-") for one in pmservice.COMMANDS.values() for flag in one.arguments}
        assert flags <= known | {
            "help",
            "version",
            "prot",
        }  # the last one is a mistake that is shown
        assert set(re.findall(r"\$ pmservice ([a-z]+)", README)) <= set(pmservice.COMMANDS)

    def test_fixture_of_the_readme_can_be_loaded(self, client):
        (fixture,) = re.findall(r"## Seeding.*?```json\n(.*?)```", README, re.DOTALL)
        assert client.load(**json.loads(fixture)) == 4

    @pytest.mark.skipif(
        not (shutil.which("bash") and shutil.which("curl")), reason="needs bash and curl"
    )
    def test_session_goes_as_it_is_written(self, tmp_path):
        (session,) = re.findall(r"## A session\n.*?```console\n(.*?)```", README, re.DOTALL)
        with Live(tmp_path, "--password", "secret") as live:
            session = session.replace("http://127.0.0.1:8080", live.url)
            steps = [
                step.partition("\n") for step in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]
            ]
            mark = "--- next"
            script = "".join(f"{command}\necho; echo '{mark}'\n" for command, _, _ in steps)
            done = subprocess.run(
                ["bash", "-c", script], capture_output=True, text=True, timeout=60, check=True
            )
        printed = [part.strip() for part in done.stdout.split(mark)[:-1]]
        assert printed == [expected.strip() for _, _, expected in steps]
        assert done.stderr == ""


class TestWorkingOffline:
    def test_copy_of_the_demo_is_made_as_it_is_written(self, run, tmp_path, monkeypatch):
        (session,) = re.findall(r"## Work offline.*?```console\n(.*?)```", README, re.DOTALL)
        export, *steps = re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]
        monkeypatch.setenv(*export.split()[1].split("="))
        # How many tasks are open, and so shown to a member, depends on the day of the week.
        with pmservice.running(
            tmp_path / "demo.db", password="secret", now="2026-11-22T12:00:00Z"
        ) as source:
            pmservice.furnish_demo(source.app.database)
            pmservice.share_password(source.app.database)
            for step in steps:
                command, _, expected = step.replace("http://127.0.0.1:8080", source.url).partition(
                    "\n"
                )
                code, out, told = run(*command.split()[1:])
                assert code == 0
                if expected:
                    assert re.sub("[0-9]+ s[.]", "1 s.", out + told) == expected
        assert json.loads((tmp_path / "everything.json").read_bytes())["bugs"][299]["id"] == 300
        assert run("check", "--database", "pm.db")[0] == 2

    @each(("arguments", "told"), [
        (["--products", ""],        "--products must be ids, separated by commas, such as 1,7 (got '')"),
        (["-o", ""],                "the copy needs a file: name one with --database or -o"),
        (["--database", ":memory:"], "the copy needs a file: name one with --database or -o"),
    ])  # fmt: skip
    def test_nothing_is_copied_to_nowhere_or_for_an_empty_word(self, run, arguments, told):
        assert run("pull", "http://127.0.0.1:1", *arguments) == (2, "", f"pmservice: {told}\n")
        assert os.listdir() == []

    @posix("Windows has no such links and pipes")
    def test_link_and_pipe_stay_what_they_are(self, run, tmp_path, monkeypatch):
        (tmp_path / "old.json").write_text("old")
        (tmp_path / "link.json").symlink_to("old.json")
        os.mkfifo(tmp_path / "pipe")
        with pmservice.running(token="t") as source, ThreadPoolExecutor(1) as reader:
            monkeypatch.setenv("PMSERVICE_PULL_TOKEN", "t")
            piped = reader.submit((tmp_path / "pipe").read_text)
            assert [run("pull", source.url, "-o", name)[0] for name in ("link.json", "pipe")] == [
                0,
                0,
            ]
            assert json.loads(piped.result())["users"][0]["account"] == "admin"
        assert (tmp_path / "link.json").is_symlink()
        assert (tmp_path / "pipe").is_fifo()
        assert (tmp_path / "old.json").read_text() == piped.result()

    @pytest.mark.skipif(
        not shutil.which("openssl"), reason="there is no openssl to make a certificate"
    )
    def test_certificate_must_be_one_that_the_system_or_its_user_trusts(
        self, client, run, tmp_path, monkeypatch
    ):
        made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 2"
        names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
        subprocess.run(
            ["openssl", *made.split(), *names], cwd=tmp_path, check=True, capture_output=True
        )
        client.call("POST", "/products", {"name": "Shop"})
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
        quiet = type(
            "Quiet", (wsgiref.simple_server.WSGIRequestHandler,), {"log_message": lambda *_: None}
        )
        with wsgiref.simple_server.make_server(
            "127.0.0.1", 0, client.service, handler_class=quiet
        ) as server:
            server.socket = context.wrap_socket(server.socket, server_side=True)
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            monkeypatch.setenv("PMSERVICE_PULL_TOKEN", "t")
            url = f"https://127.0.0.1:{server.server_port}"
            try:
                code, out, told = run("pull", url, "-o", "copy.json")
                assert (code, out, os.path.exists("copy.json")) == (2, "", False)
                assert told.startswith(
                    f"pmservice: {url} cannot be reached: [SSL: CERTIFICATE_VERIFY_FAILED]"
                )
                monkeypatch.setenv("SSL_CERT_FILE", "cert.pem")
                assert run("pull", url, "-o", "copy.json")[0] == 0
            finally:
                server.shutdown()
                thread.join()
        assert [one["name"] for one in json.loads(Path("copy.json").read_bytes())["products"]] == [
            "Shop"
        ]


class TestInOtherLanguages:
    """The README's recipes for other languages, run as they stand."""

    PART = README[README.index("## In other languages") : README.index("## Front ends")]
    NODE = pytest.mark.skipif(not shutil.which("node"), reason="needs Node")
    SHELL = pytest.mark.skipif(
        not (shutil.which("mkfifo") and shutil.which("curl")), reason="needs mkfifo and curl"
    )
    LONG = {
        "shop.test.mjs": "test('waits', () => new Promise(() => setInterval(() => {}, 1000)));",
        "run": "while :; do sleep 0.1; done",
    }

    @pytest.fixture(autouse=True)
    def recipes(self, tmp_path, monkeypatch):
        """Enter a folder with the recipes as files; the command `pmservice` is on the path."""
        for language, name in (("js", "shop.test.mjs"), ("sh", "run")):
            (recipe,) = re.findall(
                rf"^```{language}\n(.*?)```", self.PART, re.MULTILINE | re.DOTALL
            )
            (tmp_path / name).write_text(recipe)
        command = tmp_path / "pmservice"
        command.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{HERE / 'pmservice.py'}' \"$@\"\n")
        command.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
        monkeypatch.chdir(tmp_path)

    def has_ended(self, printed: str) -> bool:
        """Tell whether nobody listens any longer at the URL that the service told on stderr."""
        (url,) = re.findall("serves :memory: at (http://[0-9.:]+)", printed)
        with (
            contextlib.closing(connection_to(url)) as connection,
            pytest.raises(ConnectionRefusedError),
        ):
            connection.connect()
        return True

    @NODE
    def test_node_s_tests_pass_and_stop_the_service(self):
        done = subprocess.run(
            ["node", "--test"], capture_output=True, text=True, timeout=60, check=True
        )
        assert re.search("^. pass 2$", done.stdout, re.MULTILINE)
        assert self.has_ended(done.stdout)

    @SHELL
    def test_script_creates_resets_and_lists_and_stops_the_service(self):
        done = subprocess.run(["sh", "run"], capture_output=True, text=True, timeout=60, check=True)
        created, _, listed = map(json.loads, done.stdout.splitlines())
        assert (created["id"], listed["total"]) == (1, 0)
        assert self.has_ended(done.stderr)

    @each(
        "words",
        [pytest.param(["node", "--test"], marks=NODE), pytest.param(["sh", "run"], marks=SHELL)],
        ids=" ".join,
    )
    def test_service_that_cannot_start_fails_them_at_once_and_says_why(self, words, monkeypatch):
        monkeypatch.setenv("PMSERVICE_LOAD", "missing.json")
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        assert "missing.json: No such file or directory" in done.stdout + done.stderr

    @each(
        "words",
        [
            pytest.param(["node", "shop.test.mjs"], marks=NODE),
            pytest.param(["sh", "run"], marks=SHELL),
        ],
        ids=" ".join,
    )
    def test_service_ends_with_a_recipe_that_is_terminated(self, words, tmp_path):
        with (tmp_path / words[1]).open("a") as recipe:
            recipe.write(self.LONG[words[1]])
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            told = next(line for line in process.stdout if "serves :memory:" in line)
            process.terminate()
            process.communicate(timeout=30)  # to the end of stderr, which the service has, too
        assert self.has_ended(told)


class TestRunningItForReal:
    """The files and commands of the README's section of this name, as far as they need no container and no systemd."""

    PART = README[README.index("## Running it for real") : README.index("## Limits")]

    def block(self, beginning: str) -> str:
        """Return the block of code that begins so."""
        (block,) = re.findall(
            rf"^```[a-z]*\n({re.escape(beginning)}.*?)```", self.PART, re.MULTILINE | re.DOTALL
        )
        return block

    def healthy(self, url: str) -> bool:
        """Run the image's health check on this service; its exit code is 0 or 1."""
        (check,) = re.findall(r"HEALTHCHECK .*\n +CMD (.*)", self.block("FROM "))
        _, *words = json.loads(check.replace("http://127.0.0.1:8080", url))
        return {0: True, 1: False}[
            subprocess.run([sys.executable, *words], stderr=subprocess.DEVNULL).returncode
        ]

    @OPEN_FILES
    def test_health_check_tells_a_service_that_can_work_from_others(self, tmp_path):
        assert not self.healthy(f"http://127.0.0.1:{free_port()}")
        with Live(tmp_path, "--token", "t") as live:
            assert any(
                self.healthy(live.url) for _ in range(10)
            )  # on a busy machine it can take too long
            (tmp_path / "pm.db").rename(tmp_path / "away.db")
            assert not self.healthy(live.url)

    def test_image_has_the_files_that_installing_needs(self):
        ignored, *wanted = self.block("*\n").splitlines()
        needed = ["pmservice.py", "schema.sql", "pyproject.toml", "README.md", ".ci/stubs.py"]
        assert (ignored, wanted) == ("*", [f"!{name}" for name in needed])

    def test_command_lines_of_the_image_and_the_unit_are_understood(self):
        (image,) = re.findall("^CMD (.*)", self.block("FROM "), re.MULTILINE)
        (unit,) = re.findall("^ExecStart=(.*)", self.block("[Unit]"), re.MULTILINE)
        parse = pmservice.make_parser().parse_args
        assert vars(parse(json.loads(image)[1:])) == {"command": None, "host": "0.0.0.0"}
        assert vars(parse(unit.split()[1:])) == {
            "command": None,
            "database": "/var/lib/pmservice/pm.db",
        }

    def test_parts_of_the_compose_file_fit_together(self):
        yaml = pytest.importorskip("yaml")
        composed = yaml.safe_load(self.block("services:"))
        service, front = composed["services"]["pm"], composed["services"]["web"]
        (port,) = re.findall("^EXPOSE ([0-9]+)", self.block("FROM "), re.MULTILINE)
        (folder,) = re.findall("^VOLUME (.*)", self.block("FROM "), re.MULTILINE)
        named = {name.removeprefix(pmservice.PREFIX) for name in service["environment"]}
        assert named <= {setting.name.upper() for setting in pmservice.FLAGS}
        assert service["ports"] == [f"127.0.0.1:{port}:{port}"]
        assert service["volumes"] == [f"{name}:{folder}" for name in composed["volumes"]]
        assert front["environment"]["PM_URL"] == f"http://pm:{port}"
        assert front["depends_on"] == {"pm": {"condition": "service_healthy"}}

    @posix("Windows has no POSIX shell")
    def test_nightly_backup_makes_a_copy_and_removes_old_ones_then_only(self, tmp_path):
        line = self.block("17 3 * * * root ").split(maxsplit=6)[6].replace(r"\%", "%")
        line = line.replace(
            "/opt/pmservice/bin/pmservice", f"'{sys.executable}' '{HERE / 'pmservice.py'}'"
        )
        line = line.replace("/var/backups/pmservice", f"'{tmp_path}'").replace(
            "/var/lib/pmservice/pm.db", "served.db"
        )
        old, recent = tmp_path / "pm-2026-01-05.db", tmp_path / "pm-2026-01-06.db"
        for file, days in ((old, 16), (recent, 13)):
            file.touch()
            os.utime(file, (time.time() - days * 86_400,) * 2)
        assert subprocess.run(["sh", "-c", line], stderr=subprocess.DEVNULL).returncode == 2
        assert sorted(tmp_path.iterdir()) == [old, recent]
        with Live(tmp_path, "--token", "t", "--database", "served.db") as live:
            live.call("POST", "/products", {"name": "P"})
            subprocess.run(["sh", "-c", line], check=True, stderr=subprocess.DEVNULL)
        (copy,) = set(tmp_path.glob("pm-*.db")) - {recent}
        assert re.fullmatch(r"pm-\d{4}-\d\d-\d\d\.db", copy.name)
        with contextlib.closing(Client(copy)) as client:
            assert client.get("/products")["total"] == 1
