"""Tests of pmservice, in the module's order, from outside.

A test goes through HTTP, WSGI, the command line, the public functions or the database file; faults
come from a file system, another process, a clock, or the statements of a connection. So the inside
can be rewritten while its tests stay: what they name of it stands below, each with its reason.

The specification stands here a second time, as data: SPECIFIED says which fields a record has and
of which sort, SHOWN how each operation shows them. Both are written from the specification's words;
nothing of them is imported from the module, so a changed cell there turns a test red here. Besides,
every answer that a test receives through a Client is held against the service's own OpenAPI
document. What else tests know of an operation is its row of INTERFACE.

The tables use five notations, besides requests ("PUT /bugs/1") and operations ("PUT /bugs/<id>"):
    words      "id name": a list
    phrases    "PUT /bugs/1 title; PUT /tasks/1 name": a list of such lines, see `phrases`
    sorts      "int: id product; string: name": the fields of each sort of value, see SPECIFIED
    digits     "351": the records with these ids, in this order
    sights     "2p 3": ids, each with the sight that its record needs, see INTERFACE
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import gzip
import hashlib
import html
import html.parser
import http.client
import http.server
import importlib.util
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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime, timedelta, timezone
from functools import cache, partial
from pathlib import Path
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

# The names of the module's inside that tests use, because nothing outside of it shows the rule.
SILENCE = "SILENCE"  # for how long `pull` listens to a silent server: a minute

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


def only_if(is_so: object, reason: str) -> pytest.MarkDecorator:
    """Return a mark that leaves tests out unless something is so; pytest says why at the end."""
    if is_so:
        return pytest.mark.skipif(False, reason=reason)
    return pytest.mark.skip(reason)  # the reason is said once for all; a `skipif` says it each time


def needs(*programs: str) -> pytest.MarkDecorator:
    """Return a mark for a test that runs these programs."""
    return only_if(all(map(shutil.which, programs)), f"install {' and '.join(programs)} to run it")


POSIX = os.name != "nt"
SIGNALS = only_if(POSIX, "Windows sends no signals to a single process")
MODES = only_if(POSIX, "Windows has access lists, no file modes")
OPEN_FILES = only_if(POSIX, "Windows neither renames nor removes open files")
TERMINALS = only_if(POSIX, "Windows has no pseudo-terminals that tests can open")
pytest_plugins = ["pytester"]


# --- The answers as the OpenAPI document describes them -------------------------------------------

with contextlib.closing(pmservice.create_app(":memory:", token="t", now=NOW_ISO)) as described_app:
    DOCUMENT = webtest.TestApp(described_app).get("/openapi.json").json


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


CONNECT = sqlite3.connect  # for tests; services may be given another one


@contextlib.contextmanager
def connecting(before: Callable[..., None] | None = None) -> Iterator[list[str]]:
    """Yield a list of the databases to which services connect within the block.

    before: is called with the connection, the statement and its values before each statement that
        a service runs there. It can look, write by another connection, or raise an error.
    """

    class Observed(sqlite3.Connection):
        def execute(self, *statement: Any) -> sqlite3.Cursor:
            before(self, *statement)
            return super().execute(*statement)

    opened, connect = [], sqlite3.connect
    factory = {"factory": Observed} if before else {}

    def connect_to(database: str, **options: Any) -> sqlite3.Connection:
        opened.append(database)
        return connect(database, **options, **factory)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", connect_to)
        yield opened


def ignore(*_: Any) -> None:
    """Do nothing."""


@pytest.fixture
def statements():
    """Yield an object; its `before` is called before each statement of services made from now on.

    A test may set it, see `connecting`.
    """
    observer = SimpleNamespace(before=ignore)
    with connecting(lambda *statement: observer.before(*statement)):
        yield observer
    observer.before = ignore  # of connections that are kept for other tests


def connect_again(path: Any) -> sqlite3.Connection:
    """Return a connection to a database that waits for nobody."""
    return CONNECT(path, isolation_level=None, uri=True, timeout=0, check_same_thread=False)


def another_program(path: Any) -> contextlib.closing[sqlite3.Connection]:
    """Return a connection to a database that waits for nobody, for a `with` that closes it."""
    return contextlib.closing(connect_again(path))


TABLES_OF = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name"


@cache
def contents(records: sqlite3.Connection) -> tuple[list[Any], dict[str, Any]]:
    """Return the tables of a database that does not change, and their rows by the query."""
    tables = records.execute(TABLES_OF).fetchall()
    rows = {}
    for table, sql in tables:
        query = f"SELECT * FROM {table}"
        if "WITHOUT ROWID" not in sql:
            query = f"SELECT rowid AS rowid, * FROM {table}"
        rows[query] = records.execute(query).fetchall()
    return tables, rows


def replace_rows(connection: sqlite3.Connection, records: sqlite3.Connection) -> bool:
    """Give a database the rows of another one; tell whether it has the same ones then.

    Triggers may write to tables that were the same, so that all are compared again.
    """
    tables, wanted = contents(records)
    if connection.execute(TABLES_OF).fetchall() != tables:
        return False
    run = connection.execute
    run("PRAGMA foreign_keys = OFF")
    for _ in range(3):
        differing = [query for query in wanted if run(query).fetchall() != wanted[query]]
        if not differing:
            return True
        run("BEGIN IMMEDIATE")
        for query in differing:
            fields = run(f"{query} LIMIT 0").description
            columns = ", ".join(f'"{name}"' for name, *_ in fields)
            marks = ", ".join("?" * len(fields))
            table = query.split()[-1]
            run(f"DELETE FROM {table}")
            sql = f"INSERT INTO {table} ({columns}) VALUES ({marks})"
            connection.executemany(sql, wanted[query])
        run("COMMIT")
    return False


HOURS_OF_TASKS = "totalEstimate totalConsumed totalLeft progress"
SHOWN_BY_GET = {  # the fields that only the GET of a single record shows
    **dict.fromkeys(("bugs", "tasks", "stories"), "actions"),
    "projects": "products",
    "executions": f"products {HOURS_OF_TASKS}",
}


class Client:
    """An app on a database. Requests carry the operator's token unless a test says otherwise.

    uri: of the database, so that a test can look into it, or write there, as another program would.
    """

    def __init__(self, path: Any = ":memory:", **settings: Any):
        self.path, self.clock, self.token = path, Clock(), "t"
        self.given_tokens, self.has_begun = 0, False
        self.spare: list[sqlite3.Connection] = []
        settings = {"token": "t", "clock": self.clock, "control": True, **settings}
        with connecting() as opened:
            self.service = pmservice.create_app(path, **settings)
        self.uri = opened[0] if path == ":memory:" else Path(path).absolute().as_uri()
        self.app = webtest.TestApp(self.service)

    def close(self) -> None:
        for connection in self.spare:
            connection.close()
        self.service.close()

    @contextlib.contextmanager
    def as_another_program(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection of another program, which checks links as the service does.

        One to memory is kept for the next time, because each new one has to read the schema.
        """
        connection = self.spare.pop() if self.spare else connect_again(self.uri)
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            yield connection
            connection.rollback()
        except BaseException:
            connection.close()
            raise
        if self.path == ":memory:":
            self.spare.append(connection)
        else:
            connection.close()

    def begin_with(self, records: sqlite3.Connection) -> None:
        """Replace the records by a copy of those of another database.

        From the second time on, only rows are replaced: after a copy of the whole, SQLite reads the
        schema anew, and the service prepares all its statements again. The restore of the controls
        keeps them, too, but takes seven times as long.
        """
        self.token = "t"
        self.clock.moment = NOW
        with self.as_another_program() as connection:
            if not (self.has_begun and replace_rows(connection, records)):
                records.backup(connection)
        self.has_begun = True

    def sql(self, statement: str, *values: Any, **named: Any) -> list[tuple[Any, ...]]:
        with self.as_another_program() as connection:
            return connection.execute(statement, named or values).fetchall()

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows of every table, but for tokens: a call may note when one was used."""
        with self.as_another_program() as connection:
            run = connection.execute
            names = run("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'token'")
            return {name: run(f"SELECT * FROM {name}").fetchall() for (name,) in names.fetchall()}

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

    def succeed(self, method: str, path: str, body: Any = None, **headers: str | None) -> Any:
        """Send a request that must succeed, and return the answer."""
        answer = self.call(method, path, body, **headers)
        assert answer.status_int in (200, 201), (method, path, body, answer.text)
        return answer.json

    def get(self, path: str) -> Any:
        """Return what a GET answers; of a record only what other answers show, too."""
        shown = self.succeed("GET", path)
        if match := re.fullmatch("/([a-z]+)/[0-9]+", path):
            for field in SHOWN_BY_GET.get(match[1], "").split():
                del shown[field]
        return shown

    def post(self, path: str, **body: Any) -> Any:
        return self.succeed("POST", path, body)

    def put(self, path: str, **body: Any) -> Any:
        return self.succeed("PUT", path, body)

    def refused(
        self, method: str, path: str, body: Any = None, status: int = 400, **headers: str | None
    ) -> Any:
        """Send a request that must be refused, and return the refusal.

        It must change nothing and end its transaction.
        """
        before = self.rows()
        answer = self.call(method, path, body, **headers)
        assert answer.status_int == status, answer.text
        assert isinstance(answer.json["error"], str)
        assert answer.json["error"]
        assert self.rows() == before
        if status < 500:
            self.sql("BEGIN IMMEDIATE")
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
        return self.post(f"/executions/{home or self.project()['id']}/tasks", **{**TASK, **body})

    def case(self, product: int = 0, **body: Any) -> Any:
        least = {"title": "C", "type": "feature", "pri": 1, "steps": [{"desc": "a", "expect": "b"}]}
        return self.post(
            f"/products/{product or self.product()['id']}/testcases", **{**least, **body}
        )

    def load(self, **fixture: Any) -> int:
        """Load a fixture through the controls; return how many records it had."""
        answer = self.app.post_json("/-/load", fixture, headers={"Token": "t"}, status="*")
        assert answer.status_int == 200, answer.text
        return answer.json["records"]

    def cannot_load(self, **fixture: Any) -> str:
        """Return why a fixture is refused."""
        return self.refused("POST", "/-/load", fixture, Token="t")["error"]

    def dump(self) -> Any:
        """Return all records as a fixture."""
        return self.app.get("/-/dump", headers={"Token": "t"}).json

    def dumped(self) -> bytes:
        """Return the fixture of all records as it is sent."""
        return bytes(self.app.get("/-/dump", headers={"Token": "t"}).body)

    def give_token(self, account: str, token: str) -> None:
        """Let a user call with this token, without a login, which would have to hash a password."""
        hash = hashlib.sha256(token.encode()).hexdigest()
        self.sql("INSERT INTO token VALUES (?, ?, ?)", hash, account, NOW_ISO)

    def token_of(self, account: str) -> str:
        """Return a new token of a user."""
        self.given_tokens += 1
        token = f"{account}'s {self.given_tokens}"
        self.give_token(account, token)
        return token

    def login(self, account: str, password: str = "secret") -> str:
        return str(
            self.call("POST", "/tokens", {"account": account, "password": password}).json["token"]
        )


# A service in a process of its own: as a module, it is compiled once for all of them.
SERVICE = (sys.executable, "-m", "pmservice")


@pytest.fixture(autouse=True, scope="session")
def nothing_twice(tmp_path_factory):
    """Let nothing be compiled twice, in a folder of this run, nor a password hashed alike twice.

    Other processes find the module here.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(HERE), prepend=os.pathsep)
        patch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.mktemp("bytecode")))
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setattr(hashlib, "scrypt", cache(hashlib.scrypt))
        yield


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


# The databases from which tests begin: making a copy of one takes a tenth of loading the records.


@cache
def database_of(world: str) -> sqlite3.Connection:
    """Return a database that holds the records of WORLD, SHOP ...; "": none."""
    records = globals()[world] if world else {}
    return copy_of(Client(load=records))


def copy_of(client: Client) -> sqlite3.Connection:
    """Return a copy of a client's database, and close the client."""
    copy = sqlite3.connect(":memory:")
    with client.as_another_program() as connection:
        connection.backup(copy)
    client.close()
    return copy


@pytest.fixture(scope="class")
def shared():
    """Yield an app that the tests of a class share, because its statements stay prepared.

    Each test begins with its own records, at NOW. Tests that use the controls, or note the
    statements, need an app of their own.
    """
    with contextlib.closing(Client()) as client:
        yield client


@pytest.fixture
def client():
    """Yield an app on a new database in memory."""
    with contextlib.closing(Client()) as client:
        yield client


def holding(records: str) -> Any:
    """Return a fixture: an app that holds WORLD, SHOP ..."""

    @pytest.fixture
    def client(shared):
        shared.begin_with(database_of(records))
        return shared

    return client


world, shop, filled, listed = map(holding, ("WORLD", "SHOP", "FILLED", "TO_LIST"))


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
    with contextlib.closing(Client(timezone="Asia/Shanghai")) as client:
        yield client


def name_lacking(lacking: list[tuple[str, Any]]) -> None:
    """Let the tests fail if tables lack rows, each given as (table, row); name all of them."""
    if lacking:
        told = [f"{table} has no row for {row}" for table, row in lacking]
        pytest.fail("\n".join(told), pytrace=False)


class Table(dict[Any, Any]):
    """A table of these tests, which says which row it lacks."""

    def __init__(self, name: str, rows: dict[Any, Any]) -> None:
        super().__init__(rows)
        self.name = name

    def must_have(self, *rows: Any) -> None:
        """Let the tests fail unless these rows are there."""
        name_lacking([(self.name, row) for row in rows if row not in self])

    def __missing__(self, row: Any) -> None:
        self.must_have(row)


def phrases(text: str) -> list[str]:
    """Return the phrases of a text: ["PUT /bugs/1 title", "PUT /tasks/1 name"]."""
    return [one.strip() for one in text.split(";") if one.strip()]


# --- The specification as data --------------------------------------------------------------------
# The fields of each record by the sort of value that the specification gives them: described fields
# and those seen only in samples alike. A moment is a datetime; `stamp` is the one that is "string"
# in every sample.

# fmt: off
SPECIFIED = {
    "product": """
        int: id program line order plans releases bugs unResolved closedBugs fixedBugs thisWeekBugs assignToNull
             progress;
        string: name code type desc acl status bind subStatus reviewer createdVersion lineName programName;
        person: PO QD RD createdBy; moment: createdDate; whitelist: whitelist; deleted: deleted;
        counts: stories requirements
    """,
    "bug": """
        int: id product branch module project execution toTask toStory severity pri task story plan storyVersion
             confirmed activatedCount duplicateBug case caseVersion result repo testtask;
        string: title keywords type os browser steps resolvedBuild hardware found subStatus color feedbackBy notifyEmail
                resolution linkBug entry lines v1 v2 repoType;
        person: openedBy assignedTo resolvedBy closedBy lastEditedBy; day: deadline; builds: openedBuild;
        status: status; moment: openedDate assignedDate resolvedDate closedDate activatedDate lastEditedDate;
        null: mailto; deleted: deleted; boolean: needconfirm
    """,
    "task": """
        int: id project parent execution module story fromBug pri design storyVersion designVersion feedback fromIssue
             version planDuration realDuration order repo mr progress;
        string: name type status desc mode subStatus color finishedList closedReason entry lines v1 v2 vision
                assignedToRealName;
        person: openedBy assignedTo finishedBy closedBy canceledBy lastEditedBy; day: deadline estStarted;
        moment: openedDate assignedDate realStarted finishedDate closedDate canceledDate lastEditedDate;
        stamp: activatedDate; number: estimate consumed left;
        null: mailto storyID storyTitle latestStoryVersion storyStatus; array: team children members files;
        deleted: deleted; boolean: needConfirm
    """,
    "testcase": """
        int: id product branch module story storyVersion pri fromBug fromCaseID project execution lib path order version
             fromCaseVersion currentVersion;
        string: title precondition type stage status keywords auto frame howRun scriptedBy scriptStatus scriptLocation
                subStatus color frequency linkCase lastRunner lastRunResult;
        person: openedBy reviewedBy lastEditedBy; array: steps toBugs files; deleted: deleted;
        moment: openedDate scriptedDate reviewedDate lastEditedDate lastRunDate
    """,
    "project": """
        int: id parent project percent grade days version parentVersion planDuration realDuration order;
        string: name code model type budget budgetUnit desc acl status lifetime attribute milestone output auth path
                subStatus pri openedVersion team;
        person: openedBy PM lastEditedBy closedBy canceledBy PO QD RD; day: begin end realBegan realEnd;
        moment: openedDate lastEditedDate closedDate canceledDate; whitelist: whitelist; deleted: deleted
    """,
    "release": """
        int: id project product branch build buildID;
        string: name desc status marker stories bugs leftBugs mailto subStatus productName buildName projectName;
        day: date; null: notify; deleted: deleted
    """,
}


def sorts_of(record: str) -> dict[str, str]:
    """Return the sort of each field of a record, given as "sort: fields; sort: fields"."""
    sorts = {}
    for part in record.split(";"):
        sort, fields = part.split(":")
        sorts |= dict.fromkeys(fields.split(), sort.strip())
    return sorts


SORTS = Table("SPECIFIED or PUBLISHED", {name: sorts_of(record) for name, record in SPECIFIED.items()})
# "objects holding a count per status under the keys …; the sample also carries index keys 0 to 4"
NO_STORIES = {"": 0, "draft": 0, "active": 0, "closed": 0, "changed": 0}
COUNTS = {"0": "", "1": "draft", "2": "active", "3": "closed", "4": "changed", **NO_STORIES}
EMPTY = {  # the empty value of each sort, where it is not None
    "int": 0, "string": "", "whitelist": [], "deleted": False, "counts": COUNTS, "builds": "", "boolean": False,
    "number": 0, "array": [], "object": {},
}
OPENED = {"openedBy": "admin", "openedDate": NOW_ISO}
USUAL = Table("USUAL", {  # the defaults of a record, where they are not the empty value of the field's sort
    "product":  dict(type="normal", acl="private", createdBy="admin", createdDate=NOW_ISO, status="normal", bind="0",
                     createdVersion=pmservice.__version__),
    "bug":      dict(OPENED, severity=3, pri=3, type="codeerror", status="active", storyVersion=1, caseVersion=1),
    "task":     dict(OPENED, type="misc", status="wait", storyVersion=1, version=1, vision="rnd"),
    "testcase": dict(OPENED, storyVersion=1, pri=3, type="feature", status="normal", auto="no", frequency="1",
                     version=1, fromCaseVersion=1, currentVersion=1),
    "project":  dict(OPENED, budget="0", budgetUnit="CNY", status="wait", milestone="0", pri="1", grade=1),
    "release":  dict(status="normal", marker="0"),
})
USERS = {  # account: id, real name
    "admin": (1, "admin"), "pm1": (2, "Pam Manager"), "po1": (3, "Olga Owner"), "dev1": (4, "Dan Dev"),
    "dev2": (5, "Dora Dev"), "qa1": (6, "Quin Test"), "qd1": (7, "Qadir Lead"), "rd1": (8, "Rod Release"),
}
BUILD_TITLES = {"trunk": "Trunk", "1": "Build one"}


def reference(account): return dict(id=USERS[account][0], account=account, avatar="", realname=USERS[account][1])
def plain(value): return value
def iso(moment): return moment
def spaced(moment): return moment.replace("T", " ").rstrip("Z")
def digit(flag): return "1" if flag else "0"
def references(accounts): return [reference(account) for account in accounts]
def commas(accounts): return "," + "".join(f"{account}," for account in accounts)
def titled(builds): return [dict(id=one, title=BUILD_TITLES.get(one.lower(), "")) for one in builds.split(",") if one]
def coded(status): return {"code": status, "name": status.capitalize()}
# fmt: on


class Shown(NamedTuple):
    """How an operation shows a record: a function or a value for each sort of field."""

    record: str
    person: Any = reference
    nobody: Any = None
    moment: Any = iso
    never: Any = None
    no_day: Any = None
    deleted: Any = plain
    whitelist: Any = references
    adds: str = ""
    status: Any = plain
    builds: Any = plain

    def of(self, body: Any = None, **facts: Any) -> dict[str, Any]:
        """Return a record as this operation shows it.

        It has what a body says, as far as no fact says otherwise, and else its usual values. Facts
        are accounts and UTC moments.
        """
        sorts = {**SORTS[self.record], **dict.fromkeys(self.adds.split(), "")}
        sent = {field: value for field, value in (body or {}).items() if field in sorts}
        known = {**USUAL[self.record], **sent, **facts}
        assert known.keys() <= sorts.keys(), "a fact of this test is no field"
        if self.record in ("product", "project"):
            known = {"order": known["id"] * 5, "path": f",{known['id']},", **known}
        known = {**{field: EMPTY.get(sort) for field, sort in sorts.items()}, **known}
        return {field: self.cell(sort, known[field]) for field, sort in sorts.items()}

    def check_fields(self, answer: dict[str, Any]) -> None:
        """Let a test fail if a record shows a field that the tables lack."""
        table = "SPECIFIED" if self.record in SPECIFIED else "PUBLISHED"
        for field in answer.keys() - SORTS[self.record].keys() - {*self.adds.split()}:
            pytest.fail(f"{table} has no field {field} of a {self.record}", pytrace=False)

    def cell(self, sort: str, value: Any) -> Any:
        """Return a value of a sort. The fields of this class are called as sorts are."""
        if value is None:
            unset = {"person": self.nobody, "moment": self.never, "stamp": "", "day": self.no_day}
            return unset.get(sort)
        return getattr(self, "moment" if sort == "stamp" else sort, plain)(value)


# fmt: off
SHOWN = Table("SHOWN", {  # by operation: what is shown otherwise than by the defaults of Shown
    #                                     record     persons nobody datetime unset no day        deleted
    "GET /products":                Shown("product",                                             deleted=digit),
    "POST /products":               Shown("product",                                             deleted=digit),
    "GET /products/:id/bugs":       Shown("bug",  never="1969-12-31T16:00:00Z", no_day="1970-01-01", status=coded),
    "POST /products/:id/testcases": Shown("testcase", plain, ""),
    "GET /testcases/:id":           Shown("testcase", adds="caseFails"),
    "POST /programs":               Shown("project",                         no_day="0000-00-00"),
    "GET /programs/:id":            Shown("project",                         no_day="0000-00-00"),
    "POST /projects":               Shown("project",  plain, "",    iso,     "",   "0000-00-00", digit, commas),
    "GET /projects/:id/releases":   Shown("release"),
    "POST /executions/:id/tasks":   Shown("task"),
    "PUT /tasks/:id":               Shown("task",     adds="cases"),
    "POST /tasks/:id/start":        Shown("task",     plain, "",    spaced,  "",   "",           digit),
    "POST /tasks/:id/finish":       Shown("task",     plain, "",    iso,     None, None,         digit),
    "POST /tasks/:id/restart":      Shown("task",     plain, "",    spaced,  "",   "",           digit),
})

# A fixture in which the first record of each sort has every field that can be set at another value than the usual one,
# and the second none.
WORLD = {
    "users": [dict(id=id, account=account, realname=name) for account, (id, name) in USERS.items() if id > 1],
    "programs": [
        dict(id=1, name="Alpha", code="A", model="scrum", budget=200000, budgetUnit="USD", begin="2026-01-05",
             end="2026-12-31", realBegan="2026-01-06", realEnd="2026-12-30", desc="d", openedBy="pm1",
             openedDate="2026-01-01T01:00:00Z", PM="pm1", acl="private", whitelist=["dev1", "qa1"], status="doing",
             lifetime="long", attribute="a", percent=7, days=9, version=2, openedVersion="16.5", lastEditedBy="dev2",
             lastEditedDate="2026-01-02T01:00:00Z", closedBy="po1", closedDate="2026-01-03T01:00:00Z", canceledBy="qa1",
             canceledDate="2026-01-04T01:00:00Z", PO="po1", QD="qd1", RD="rd1", team="Aces", order=77),
        dict(id=4, name="Beta")],
    "projects": [
        dict(id=2, name="Pr one", parent=1, code="PR1", model="waterfall", begin="2026-01-10", end="2026-06-30",
             acl="open", products=[1, 2]),
        dict(id=5, name="Pr two")],
    "executions": [dict(id=3, name="Ex one", project=2, type="stage"), dict(id=6, name="Ex two", project=5)],
    "products": [
        dict(id=1, program=1, name="P one", code="P1", line=3, PO="po1", QD="qd1", RD="rd1", type="platform",
             desc="<p>x</p>", whitelist=["dev1", "qa1"], createdBy="pm1", createdDate="2026-01-01T02:00:00Z",
             status="closed", reviewer="dev2", createdVersion="16.5", order=78),
        dict(id=2, name="P two")],
    "releases": [
        dict(id=1, project=2, product=1, branch=1, build=4, name="R1", date="2026-03-05", desc="r", status="terminate",
             marker="1", stories="1,2", bugs="3", leftBugs="4", mailto="dev1,", buildName="b1"),
        dict(id=2, project=2, product=2, name="R2")],
    "bugs": [
        dict(id=1, product=1, branch=1, module=2, project=2, execution=3, toTask=4, toStory=5, title="Bug one",
             keywords="k", severity=1, pri=2, type="security", os="linux", browser="lynx", steps="<p>s</p>", task=6,
             story=7, openedBy="qa1", openedDate="2026-01-01T03:00:00Z", deadline="2026-02-01", assignedTo="dev1",
             assignedDate="2026-01-02T03:00:00Z", resolvedBy="dev1", resolvedDate="2026-01-03T03:00:00Z",
             resolvedBuild="b2", closedBy="qa1", closedDate="2026-01-04T03:00:00Z", plan=8, storyVersion=9,
             hardware="h", found="f", status="closed", color="#f00", confirmed=1, activatedCount=2,
             activatedDate="2026-01-05T03:00:00Z", feedbackBy="fb", notifyEmail="n@x.org", openedBuild="Trunk",
             resolution="fixed", duplicateBug=10, linkBug="11", case=12, caseVersion=13, result=14, testtask=15,
             lastEditedBy="qd1", lastEditedDate="2026-01-06T03:00:00Z"),
        dict(id=2, product=1, title="Bug two")],
    "tasks": [
        dict(id=1, project=2, parent=9, execution=3, module=2, story=7, fromBug=1, name="Task one", type="devel", pri=1,
             estimate=8, consumed=2.5, left=5.5, deadline="2026-02-20", status="pause", desc="d", openedBy="pm1",
             openedDate="2026-01-01T04:00:00Z", assignedTo="dev1", assignedDate="2026-01-02T04:00:00Z",
             estStarted="2026-02-02", realStarted="2026-01-03T04:00:00Z", finishedBy="dev1",
             finishedDate="2026-01-04T04:00:00Z", closedBy="pm1", closedDate="2026-01-05T04:00:00Z", storyVersion=3,
             color="#0f0", version=4, finishedList="dev1", canceledBy="po1", canceledDate="2026-01-06T04:00:00Z",
             closedReason="done", lastEditedBy="qa1", lastEditedDate="2026-01-07T04:00:00Z",
             activatedDate="2026-01-08T04:00:00Z", order=6),
        dict(id=2, execution=6, name="Task two")],
    "testcases": [
        dict(id=1, product=1, branch=1, module=2, story=7, storyVersion=3, title="Case one", precondition="p", pri=1,
             type="unit", stage="bvt,smoke", steps=[dict(id=5, parent=1, version=2, type="group", desc="a",
             expect="b")], fromBug=1, fromCaseID=2, openedBy="qa1", openedDate="2026-01-01T05:00:00Z", status="blocked",
             project=2, execution=3, keywords="k", color="#00f", order=3, reviewedBy="qd1",
             reviewedDate="2026-01-02T05:00:00Z", lastEditedBy="dev1", lastEditedDate="2026-01-03T05:00:00Z", version=4,
             linkCase="2", fromCaseVersion=5, lastRunner="qa1", lastRunDate="2026-01-04T05:00:00Z",
             lastRunResult="fail", caseFails=3),
        dict(id=2, product=2, title="Case two")],
    "departments": [dict(id=1, name="Works", order=7, manager="pm1"), dict(id=2, name="Workshop", parent=1)],
    "stories": [
        dict(id=1, parent=3, product=1, branch=1, module=2, source="customer", sourceNote="n", fromBug=4,
             title="Story one", keywords="k", category="feature", pri=1, estimate=2.5, status="changed", color="#ff0",
             mailto=["dev1", "qa1"], openedBy="po1", openedDate="2026-01-01T06:00:00Z", assignedTo="dev1",
             assignedDate="2026-01-02T06:00:00Z", lastEditedBy="qd1", lastEditedDate="2026-01-03T06:00:00Z",
             reviewedBy="qa1", reviewedDate="2026-01-04T06:00:00Z", closedBy="pm1", closedDate="2026-01-05T06:00:00Z",
             closedReason="done", activatedDate="2026-01-06T06:00:00Z", duplicateStory=2, version=2, spec="<p>s</p>",
             verify="v", versions=[dict(version=1, title="Story", spec="", verify=""), dict(version=2,
             title="Story one", spec="<p>s</p>", verify="v")], executions=[2, 3], plans=[1],
             reviewers=[dict(account="dev2", result=""), dict(account="qa1", result="pass")]),
        dict(id=2, product=2, title="Story two"),
        dict(id=3, product=1, title="Need", type="requirement")],
    "plans": [
        dict(id=1, product=1, branch=1, parent=3, title="Plan one", status="doing", desc="d", begin="2026-03-01",
             end="2026-12-01", closedReason="c"),
        dict(id=2, product=2, title="Plan two"),
        dict(id=3, product=1, title="Plan three", begin="2026-01-01", end="2027-01-01")],
    "builds": [
        dict(id=1, project=2, product=1, branch=1, execution=3, name="Build one", scmPath="vcs", filePath="zip",
             date="2026-03-04", stories=[1], bugs=[1], builder="dev1", desc="d"),
        dict(id=2, project=2, product=2, name="Build two")],
    "testtasks": [
        dict(id=1, project=2, product=1, name="Round one", execution=3, build="1", type="integrate", owner="qa1", pri=1,
             begin="2026-03-05", end="2026-03-06", realFinishedDate="2026-03-06T06:00:00Z", mailto=["dev1"], desc="d",
             report="r", status="done", testcases=[1]),
        dict(id=2, project=2, product=2, name="Round two")],
    "efforts": [
        dict(id=1, task=1, date="2026-01-03", left=5.5, consumed=2.5, account="dev1", work="w"),
        dict(id=2, task=2)],
    "results": [
        dict(id=1, case=1, version=4, caseResult="fail", lastRunner="qa1", date="2026-01-04T05:00:00Z", testtask=1,
             stepResults=[dict(id=5, parent=1, version=2, type="group", desc="a", expect="b", case=1, result="fail",
             real="r")]),
        dict(id=2, case=2)],
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
    sends: dict[str, Any] = {}  # what a request sends although no single field is required


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
INTERFACE = Table("INTERFACE", {
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
    "GET /user":                                 Row(asks="fields"),
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
    "POST /testcases/<id>/results":              Row("2p 3", asks="testtask version", sends=dict(result="pass")),
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
    "GET /tasks":                                List({"": "1 2j 3"}, "status assignedTo search name pri execution"),
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
})
# fmt: on


def least(line: str, id: int = 1) -> Any:
    """Return the smallest body that an operation takes, for a record of this id."""
    row = INTERFACE[line]
    needs = json.dumps({**row.needs, **row.sends} if isinstance(row, Row) else {})
    return json.loads(needs.replace(json.dumps(ID), str(id)))


def operation_of(request: str) -> str:
    """Return the operation that a request is sent to: "GET /users/<user>" of "GET /users/dev1"."""
    method, path = request.split()
    path = re.sub("/users/[^?]+", "/users/<user>", path.partition("?")[0])
    path = re.sub("/[0-9]+", "/<id>", path)
    return f"{method} {path.replace('/version', '/<name>')}"


def good(request: str, **fields: Any) -> dict[str, Any]:
    """Return the smallest body of a request, with further fields."""
    id = re.search("[0-9]+", request)
    return {**least(operation_of(request), int(id[0]) if id else 1), **fields}


# The operations, as the document describes them

ADMINISTRATORS_ONLY = {
    "POST /departments",
    "PUT /departments/<id>",
    "DELETE /departments/<id>",
    "POST /users",
    "DELETE /users/<user>",
}
# fmt: off
# a name in a path: its array
PATHS = {"product": "products", "productplans": "plans", "productsplan": "plans", "estimate": "efforts"}
ARRAYS = [*WORLD]
LINKS = {  # field: the arrays of the records that it can name
    "program": ["programs"], "product": ["products"], "products": ["products"], "project": ["projects"],
    "execution": ["projects", "executions"], "objectID": ["projects", "executions"], "plan": ["plans"],
    "stories": ["stories"], "duplicateStory": ["stories"], "bugs": ["bugs"], "build": ["builds"],
    "testtask": ["testtasks"], "testcases": ["testcases"], "dept": ["departments"],
}
# fmt: on


class Operation(NamedTuple):
    """What the document says of an operation."""

    line: str  # "POST /tasks/<id>/start"
    status: int  # of its success
    fields: dict[str, Any]  # of its body: the schema of each
    required: list[str]
    query: dict[str, Any]  # the schema of each parameter
    home: str  # the parameter that names what is above a new record, if it has to be given

    @property
    def method(self) -> str:
        return self.line.split()[0]

    @property
    def path(self) -> str:
        return self.line.split()[1]

    @property
    def array(self) -> str:
        """The array of what it lists, creates, changes or shows: "tasks"."""
        _, first, *rest = [one for one in self.path.split("/") if "<" not in one]
        last = rest[-1] if rest else first
        last = PATHS.get(last, last)
        return last if last in ARRAYS else PATHS.get(first, first)

    @property
    def named(self) -> list[str]:
        """The arrays of the records that its path or its query can name."""
        if self.home:
            return LINKS[self.home]
        if "<id>" not in self.path:
            return []
        if self.path.startswith("/executions/<id>/"):
            return ["projects", "executions"]
        name = self.path.split("/")[1]
        return [PATHS.get(name, name)]

    @property
    def words(self) -> list[str]:
        """The words of its parameter `status`."""
        return self.query.get("status", {}).get("enum", [])

    @property
    def links(self) -> dict[str, list[str]]:
        """The fields that must name records that are there, and the arrays of those."""
        links = {}
        for field, schema in self.fields.items():
            kind = schema.get("items", schema).get("type")
            is_link = kind == "integer" and ("minimum" in schema or "items" in schema)
            if field == "build":
                is_link = kind == "string"  # "trunk", or an id
            if field == "parent":
                links[field] = ["programs"] if self.array == "projects" else [self.array]
            elif field in LINKS and is_link:
                links[field] = LINKS[field]
        return links

    def at(self, id: int | str) -> str:
        """Return its path for a record or user of this id, or below it."""
        path = re.sub("<.*>", str(id), self.path)
        return f"{path}?{self.home}={id}" if self.home else path


def all_described() -> dict[str, Any]:
    """Return what the document says of each operation and control, by "GET /tasks/<id>"."""
    described = {}
    for path, item in DOCUMENT["paths"].items():
        for method, description in item.items():
            line = f"{method.upper()} {path}".replace("{", "<").replace("}", ">")
            if method != "parameters":
                described[line] = description
    return described


DESCRIBED = all_described()


def operation(line: str) -> Operation:
    """Return an operation of the document."""
    description = DESCRIBED[line]
    (status,) = description["responses"].keys() - {"default"}
    body = {}
    if "requestBody" in description:
        body = written_out(description["requestBody"]["content"]["application/json"]["schema"])
    parameters = [one for one in description.get("parameters", ()) if one["in"] == "query"]
    query = {one["name"]: written_out(one["schema"]) for one in parameters}
    homes = [one["name"] for one in parameters if one["required"]]
    home = homes[0] if line.startswith("POST") and homes else ""
    required = body.get("required", [])
    return Operation(line, int(status), body.get("properties", {}), required, query, home)


OPERATIONS = [operation(line) for line in DESCRIBED if " /-/" not in line]
INTERFACE.must_have(*(one.line for one in OPERATIONS))
LISTING = [one for one in OPERATIONS if isinstance(INTERFACE[one.line], List)]
FOR_ADMINISTRATORS = [one for one in OPERATIONS if one.line in ADMINISTRATORS_ONLY]
WRITING = [one for one in OPERATIONS if one.method != "GET" and one.path != "/tokens"]


def each_of(operations: list[Operation]) -> pytest.MarkDecorator:
    """Return a mark that runs a test for each of some operations."""
    return each("operation", operations, ids=[one.line for one in operations])


def shows(client: Client, path: str, id: str) -> bool:
    """Tell whether a list shows a record."""
    return int(id) in ids(records_in(client.get(path)))


def sights(records: str) -> dict[int, str]:
    """Return the sight that each of some records needs: {2: "p", 3: ""} of "2p 3"."""
    return {int(one.rstrip("pj")): one.lstrip("0123456789") for one in records.split()}


# --- Records, builders and servers that several rooms use -----------------------------------------


# fmt: off
WORDS = {
    ("product", "type"): "normal branch platform", ("product", "acl"): "open private",
    ("product", "status"): "normal closed", ("project", "acl"): "open private", ("project", "budgetUnit"): "CNY USD",
    ("project", "model"): " scrum waterfall", ("project", "type"): "program project sprint stage",
    ("project", "status"): "wait doing suspended closed", ("release", "status"): "normal terminate",
    ("task", "type"): "design devel request test study discuss ui affair misc",
    ("task", "status"): "wait doing done pause closed cancel",  # a recorded restart begins in `pause`
    ("bug", "type"): "codeerror config install security performance standard automation designdefect others",
    ("bug", "status"): "active resolved closed",
    ("bug", "resolution"): " bydesign duplicate external fixed notrepro postponed willnotfix",
    ("testcase", "type"): "feature performance config install security interface unit other",
    ("testcase", "status"): "wait normal blocked investigate", ("user", "type"): "inside outside",
    ("user", "gender"): "f m", ("story", "type"): "story requirement",
    ("story", "status"): "draft active changed closed",
    ("story", "closedReason"): " done subdivided duplicate postponed willnotdo cancel bydesign",
    ("plan", "status"): "wait doing done closed", ("testtask", "status"): "wait doing done blocked",
    ("result", "caseResult"): "pass fail blocked n/a",
}
# fmt: on


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
        dict(id=9, account="boss", realname="Bo", avatar="/a.png", admin=True, password=SCRYPTED, role="top",
             email="b@x.org", dept=2, type="outside", gender="m", birthday="1970-02-03", join="2020-04-05",
             commiter="c", skype="s", qq="q", mobile="12345", phone="+1 234", weixin="w", dingding="d", slack="sl",
             whatsapp="wa", address="ad"),
        dict(id=10, account="gone", deleted=True)],
    "programs": [dict(id=10, name="Gone", deleted=True)],
    "projects": [dict(id=11, name="Open", acl="open", deleted=True)],
    "products": [dict(id=3, name="Open", acl="open", deleted=True)],
    "tasks": [dict(id=3, execution=3, name="Gone", deleted=True)],
    "releases": [dict(id=3, product=2, name="Gone", deleted=True)],
    **{array: [dict(id=3, product=2, title="Gone", deleted=True)] for array in ("bugs", "testcases")},
    **{array: [dict(id=3, product=2, project=5, name="Gone", deleted=True)] for array in ("builds", "testtasks")},
    "stories": [dict(id=4, product=2, title="Gone", deleted=True),
                dict(id=5, product=2, title="Draft", status="draft", reviewers=[dict(account="admin", result="")])],
    "plans": [dict(id=4, product=2, title="Gone", deleted=True)],
}
FULL = {array: [*WORLD.get(array, []), *OTHERS.get(array, [])] for array in {**WORLD, **OTHERS}}
TABLES = Table("WORLD", {array: array[:-1] for array in WORLD})
TABLES |= {"programs": "project", "executions": "project", "stories": "story"}
# fmt: on


def records_in(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the records of a list's answer."""
    return next(value for value in answer.values() if isinstance(value, list))


def digits(answer: dict[str, Any]) -> str:
    """Return the ids of the records of a list, of which each has one digit."""
    return "".join(map(str, ids(records_in(answer))))


class Read(html.parser.HTMLParser):
    """A page, which must be well-formed.

    sections: the rows of each table by its heading.  fields: those of a record with their texts.
    log: the lines of the action log.  calls: those of the page of calls.
    figures: the numbers that are links, by path.
    """

    VOID = ("meta", "link", "input")

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.words, self.links, self.tags, self.titles = [], [], [], []
        self.sections: dict[str, list[list[str]]] = {}
        self.heading = self.field = ""
        self.fields: dict[str, str] = {}
        self.log: list[str] = []
        self.calls: list[str] = []
        self.figures: dict[str, str] = {}
        self.is_number = self.is_logged = False
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        assert len(dict(attributes)) == len(attributes)
        classes = (dict(attributes).get("class") or "").split()
        if tag not in self.VOID:
            self.open.append(tag)
        self.links += [value for name, value in attributes if name == "href" and tag == "a"]
        if tag in ("td", "dd"):
            self.is_number = "number" in classes
        if "call" in classes:
            self.calls.append("")
        if tag == "ol":
            self.is_logged = "log" in classes
        if tag == "li" and self.is_logged:
            self.log.append("")
        if tag == "dt":
            self.field = ""
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
        word = data.strip()
        if self.is_number and "a" in self.open and word:
            self.figures[self.links[-1]] = word
        if "title" in self.open:
            self.titles.append(data)
        elif "h2" in self.open:
            self.heading += data
        elif "summary" in self.open and self.calls:
            self.calls[-1] = f"{self.calls[-1]} {word}".strip()
        elif "dt" in self.open:
            self.field += word
        elif "dd" in self.open:
            self.fields[self.field] = f"{self.fields.get(self.field, '')} {word}".strip()
        elif self.is_logged and "li" in self.open:
            self.log[-1] = f"{self.log[-1]} {word}".strip()
        elif {"td", "th"} & {*self.open} and word:
            row = self.sections[self.heading][-1]
            row[-1] = f"{row[-1]} {word}".strip()

    @property
    def text(self) -> str:
        return "".join(self.words)


IMAGES = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp"
CHROME = f"{IMAGES},image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"
FIREFOX = f"{IMAGES},image/png,image/svg+xml,*/*;q=0.8"
SAFARI = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def as_browser(token: str | None = "t", **headers: str) -> dict[str, str]:
    """Return the headers of a browser that has logged in at http://localhost:80."""
    cookie = {} if token is None else {"Cookie": f"pmservice80={urllib.parse.quote(token)}"}
    return {"Accept": CHROME, **cookie, **headers}


def browse(
    client: Client, path: str = "/", token: str | None = "t", status: Any = 200, **headers: str
) -> Read:
    """Ask as a browser does; return the page. status: "*" is any."""
    answer = client.app.get(path, headers=as_browser(token, **headers), status="*")
    assert status in (answer.status_int, "*"), path
    assert answer.content_type == "text/html"
    assert answer.charset.lower() == "utf-8"
    rules = answer.headers["Content-Security-Policy"].split("; ")
    assert dict(one.split(" ", 1) for one in rules) == SEALED
    assert answer.headers["Cache-Control"] == "no-store"
    assert "WWW-Authenticate" not in answer.headers
    return Read(answer.text)


def enter(client: Client, status: int = 303, **fields: str) -> Any:
    """Send the form that logs in, as a browser does; return the answer."""
    answer = client.app.post("/-/in", fields, headers=as_browser(None), status=status)
    client.app.reset()  # it has the cookie now, and would send it with every request
    return answer


class Live:
    """The command in a process of its own, serving on a free port."""

    errors = subprocess.PIPE

    def __init__(self, folder: Path, *arguments: str, **environment: str):
        named = {f"PMSERVICE_{name}": value for name, value in environment.items()}
        self.process = subprocess.Popen(
            [*SERVICE, "--port", "0", *arguments],
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
    """Return the threads of services that run in this process."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("pmservice")}


def have_ended(threads: set[threading.Thread]) -> bool:
    """Tell whether these threads end, within a minute each."""
    for thread in threads:
        thread.join(60)
    return not any(thread.is_alive() for thread in threads)


# fmt: off
YEAR, SPAN = dict(begin="2026-01-01", end="2026-12-31"), dict(begin="2026-02-01", end="2026-11-30")
SHOP = {
    "users": WORLD["users"],
    "programs": [dict(id=id, name="G", parent=parent, **YEAR) for id, parent in ((6, 0), (7, 6))],
    "products": [dict(id=1, name="Shop", acl="open"), dict(id=2, name="Till", acl="open")],
    "projects": [dict(id=1, name="Pr", acl="open", parent=6, products=[1, 2], **YEAR),
                 dict(id=4, name="Qr", acl="open", products=[2], **YEAR)],
    "executions": [dict(id=id, name=f"E{id}", acl="open", project=project, **SPAN) for id,
                   project in ((2, 1), (3, 1), (5, 4))],
}
MARCH, LATER = dict(begin="2026-03-01", end="2026-04-30"), "2026-11-20T08:42:17Z"
FILLED = {  # the same with some of everything; the second department is below the first, the third plan below the first
    **SHOP,
    "departments": [dict(id=id, name=f"D{id}", parent=parent) for id, parent in ((1, 0), (2, 1), (3, 2), (4, 0))],
    "stories": [dict(id=id, product=product, title="S", category="feature", pri=3, estimate=4) for id,
                product in ((1, 1), (2, 1), (3, 2))],
    "plans": [dict(id=id, product=1, title="P", parent=parent, **MARCH) for id, parent in ((1, 0), (2, 0), (3, 1))],
    "bugs": [dict(BUG, id=id, product=product, deadline="2026-12-01", assignedTo="dev1", plan=6) for id,
             product in ((1, 1), (2, 2))],
    "builds": [dict(id=id, project=1, execution=2, product=1, name=f"B{id}", builder="dev1",
                    date="2026-11-20") for id in (1, 2)],
    "releases": [dict(RELEASE, id=1, project=1)],
    "tasks": [dict(TASK, id=1, execution=2, pri=2, estimate=3, left=3, story=5, storyVersion=0, assignedTo="dev1",
                   openedBy="pm1")],
    "testcases": [dict(id=1, product=1, project=1, execution=2, title="C", type="feature", pri=1, stage="bvt",
                       steps=[dict(desc="a"), dict(desc="b")]),
        dict(id=2, product=1, title="D", project=4, execution=5)],
    "testtasks": [dict(id=1, product=1, project=1, execution=2, build="trunk", name="Round", begin="2026-11-23",
                       end="2026-11-27")],
}
# fmt: on


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
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copy.db")
        with contextlib.closing(CONNECT(copy)) as target, client.as_another_program() as source:
            source.backup(target)
        told = io.StringIO()
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            code = pmservice.main(["check", "--database", copy])
    return [] if code == 0 else told.getvalue().splitlines()


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
def company() -> sqlite3.Connection:
    """Return a database with the demo, and with a record of each array that it lacks."""
    client = Client(demo=True, password="secret")
    dumped = client.dump()
    for operation in WRITING:
        if operation.status == 201 and dumped.get(operation.array) == []:
            client.succeed(*example_of(operation.line))
    return copy_of(client)


@pytest.fixture
def demo(shared):
    """Return an app that holds the demo."""
    shared.begin_with(company())
    return shared


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


def move_of(line: str) -> tuple[str, str] | None:
    """Return the array and the move of "POST /bugs/<id>/close"; None for what is none.

    What adds efforts is no move: TestEfforts has it.
    """
    match = re.fullmatch("POST /(stories|bugs|tasks)/<id>/(?!estimate)([a-z]+)", line)
    return match and (match[1], match[2])


class TestStructure:
    """Facts that the document states. Room 10 compares fields and columns."""

    @each(("table", "field"), WORDS)
    def test_enumerations_are_those_of_the_document(self, table, field):
        words = WORDS[table, field].split(" ")
        schemas = DOCUMENT["components"]["schemas"].items()
        [fields] = [one["properties"] for name, one in schemas if name.lower() == table]
        assert {*written_out(fields[field])["enum"]} == {*words}


class TestTables:
    """The tables of these tests have a row for all that the document and the fixtures have."""

    def test_every_array_has_its_records(self, client):
        tables = {  # the arrays that each may lack: what belongs to others, what everybody sees
            "WORLD": set(), "OTHERS": {"executions", "departments", "efforts", "results"},
            "FILLED": {"efforts", "results"}, "PRIVATE": set(),
            "GUARDED": {"departments", "users"}, "OTHERWISE": {"departments", "users"},
        }  # fmt: skip
        arrays = client.dump().keys()
        lacking = []
        for table, others in tables.items():
            there = globals()[table].keys()
            lacking += [(table, array) for array in arrays - others - there]
        name_lacking(lacking)

    def test_every_move_has_a_row(self):
        tables = {"stories": "STORY_MOVES", "bugs": "BUG_MOVES", "tasks": "TASK_MOVES"}
        lacking = []
        for operation in WRITING:
            if found := move_of(operation.line):
                array, move = found
                rows = globals()[tables[array]]
                moves = {row.split()[1] if isinstance(row, str) else row[0] for row in rows}
                if move not in moves:
                    lacking.append((tables[array], operation.line))
        name_lacking(lacking)

    def test_every_answer_has_a_row(self):
        """But for two with tests of their own, moves, and those with a parameter for a path."""
        asked = {"POST /tokens", "GET /options/bug"}
        asked |= {operation_of(f"{method} {path}") for method, path, _ in REQUESTS}
        asked |= {operation_of(request) for request, *_ in CHANGES}
        reads = "READ, IN_LISTS or ALIKE"
        tables = {"GET": reads, "POST": "CHANGES", "PUT": "CHANGES", "DELETE": "REMOVED"}
        lacking = []
        for operation in OPERATIONS:
            line = operation.line
            if line not in asked and not operation.home and not move_of(line):
                is_new = operation.status == 201
                lacking.append(("MADE" if is_new else tables[operation.method], line))
        name_lacking(lacking)


# fmt: off
PRODUCTS, PROGRAMS, PROJECTS = "POST /products", "POST /programs", "POST /projects"
TASKS, CASES, MODIFY = "POST /executions/3/tasks", "POST /products/1/testcases", "PUT /tasks/1"
START, FINISH, RESTART = "POST /tasks/1/start", "POST /tasks/1/finish", "POST /tasks/1/restart"
REFUSED = {  # request: the broken field, a word of the rule, what is sent for it
    PRODUCTS: [
        ("name", "blank", "", " \t\u3000"), ("name", "255", "x" * 256), ("name", "NUL", "a\0b"),
        ("name", "text", True, ["x"]), ("name", "surrogate", "a\ud800b", "\ude00\ud83d"),
        ("desc", "65536", "é" * 32769), ("desc", "text", {"html": "x"}), ("code", "64 bits", 2**63),
        ("program", "program", 99, 2), ("program", "0 or more (got -1)", -1),
        ("line", "whole number", "x", True, 1.5, "1.0", "٣"), ("line", "or less (got", 2**63),
        ("type", "normal, branch, platform", "other"), ("acl", "open, private", "custom", {}),
        ("PO", "existing user", 99), ("PO", "letters", "a b"), ("PO", "30", "x" * 31),
        ("PO", "user", ["po1"], {"realname": "x"}, True), ("PO", "existing user", {"id": 99}),
        ("whitelist", "existing user", ["newcomer", 99]), ("whitelist", "array", {"0": "dev1"}, 4, True),
        ("whitelist", "at most 1,000 items (got 1001)", ",".join(f"x{n}" for n in range(1001))),
    ],
    PROGRAMS: [
        ("begin", "real day", "2026-02-29", "0000-01-01", 20260101, "20260101", "2026-W01-1", "٢٠٢٦-01-01"),
        ("end", "before", "2026-01-04"), ("parent", "program", "99", 2), ("budget", "whole number", "many"),
    ],
    PROJECTS: [
        ("products", "empty", []), ("products", "product", [1, 99]), ("products", "whole number", [True]),
        ("products", "array", "1"), ("model", "scrum, waterfall", "kanban"),
    ],
    CASES: [
        ("type", "unit, other", "step"), ("stage", "unittest, feature, intergrate", "integrate", ["bvt", 1]),
        ("pri", "whole number", "high"), ("steps", "array", "a"), ("steps[0]", "object", ["a"]),
        ("steps[1].desc", "required", [{"desc": "a"}, {"expect": "b"}]), ("steps[0].desc", "blank", [{"desc": ""}]),
    ],
    TASKS: [
        ("type", "misc", "code"), ("deadline", "before", "2026-02-01"), ("assignedTo", "user", ["dev1", None]),
        ("estimate", "0 or more", -0.5), ("estimate", "hours", "8h", True), ("estimate", "or less", 2.0**64, "1e400"),
    ],
    START: [
        ("comment", "text", ["x"]), ("realStarted", "YYYY-MM-DD hh:mm:ss", "yesterday", "2026-02-06 24:00:00"),
        ("realStarted", "in the years 2 to 9998", "0001-01-01", "9998-12-31T23:59:59-12:00",
         "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"),
    ],
    FINISH: [("currentConsumed", "or less", 2**63 - 1), ("finishedDate", "before", "2026-01-03 03:59:59")],
}
BROKEN_TOGETHER = [  # by themselves or with what is stored: request, body, the fields that are named
    (PROGRAMS,                    dict(name="", begin="x", budgetUnit="EUR"),            "begin budgetUnit end name"),
    (MODIFY,                      dict(name="", type="code", deadline="2026-02-01"),     "deadline name type"),
    (MODIFY,                      dict(estStarted="x", deadline="2026-02-01"),           "estStarted"),
    (START,                       dict(consumed=1, left=-1, assignedTo=999),             "assignedTo consumed left"),
    (RESTART,                     dict(consumed=1),                                      "consumed left"),
    ("POST /tasks/2/finish",      dict(finishedDate="2026-02-09"),                       "realStarted"),
    (FINISH, dict(finishedDate="2020-01-01", currentConsumed=-1),                       "currentConsumed finishedDate"),
    ("POST /projects/2/executions", dict(name="", begin="2060-01-02", end="2020-01-01"), "end name"),
]
TAKEN = [  # request, field, what is sent for it and what is shown
    (PRODUCTS, "line", ("7", 7), (3.0, 3), (-2e3, -2000), (-(2**63), -(2**63)), (2**63 - 1, 2**63 - 1)),
    (PRODUCTS, "code", (1.5, "1.5"), (7.0, "7")),
    (PRODUCTS, "name", (2026, "2026"), ("𝕏" * 255, "𝕏" * 255)),
    (PRODUCTS, "desc", ("x" * 65536, "x" * 65536)),
    (PROGRAMS, "end", ("2026-03-01", "2026-03-01")),
    (TASKS, "deadline", ("2026-02-02", "2026-02-02")),
    (TASKS, "estimate", (-0.0, 0), (1e18, 10**18), ("2.5", 2.5), (8, 8), (8.0, 8)),
    (CASES, "stage", (["unittest", "intergrate"], "unittest,intergrate")),
    (START, "realStarted", ("2026-02-09 17:00", "2026-02-09 17:00:00")),
    (FINISH, "realStarted", ("2026-02-09T17:00Z", "2026-02-09T17:00:00Z"), ("2026-02-09", "2026-02-09T00:00:00Z")),
    (FINISH, "finishedDate", ("2026-02-09 17:01", "2026-02-09T17:01:00Z")),
]
# fmt: on


class TestRefusals:
    """The values of fields that are refused, and those that are taken."""

    @each("request_line", REFUSED)
    def test_refusal_names_the_field_and_the_rule_and_writes_nothing(self, world, request_line):
        for place, word, *values in REFUSED[request_line]:
            for value in values:
                body = good(request_line, **{place.partition("[")[0]: value})
                refusal = world.refused(*request_line.split(), body)
                [(name, rule)] = refusal["fields"].items()
                assert name == place, value
                assert word in rule, value
                assert refusal["error"].rstrip(".") == f"{place} {rule}"

    @each(("request_line", "body", "fields"), BROKEN_TOGETHER)
    def test_every_broken_field_is_named(self, world, request_line, body, fields):
        assert broken(world, request_line, body) == fields

    def test_hours_stay_within_64_bits(self, world):
        world.sql("UPDATE task SET consumed = ? WHERE id = 1", 2.0**62)
        body = good(FINISH, currentConsumed=2.0**62)
        assert broken(world, FINISH, body) == "currentConsumed"

    def test_secret_in_a_value_is_not_repeated(self, world):
        for sent in ({"password": "hush"}, [{"Token": "hush"}]):
            refusal = world.refused("PUT", "/tasks/1", dict(name=sent))
            assert refusal["fields"] == {"name": "must be text"}

    @each("request_line", [TASKS, "POST /products/1/bugs", "PUT /bugs/2", "PUT /tasks/2"])
    def test_deleted_user_is_given_nothing(self, world, request_line):
        remove(world, "/users/8")
        for person in (8, "rd1"):
            body = good(request_line, assignedTo=person)
            assert broken(world, request_line, body) == "assignedTo", person

    @each("row", TAKEN)
    def test_value_is_taken_in_another_form(self, world, row):
        request_line, field, *values = row
        for sent, shown in values:
            answer = world.call(*request_line.split(), good(request_line, **{field: sent}))
            assert lines(answer.json[field]) == lines(shown)

    def test_duplicate_names_and_unknown_fields_are_fine(self, client):
        client.product(name="Same")
        assert client.product(name="Same", unknown=1, total=7)["id"] == 2


# --- 5 Views: how it looks ------------------------------------------------------------------------


# fmt: off
EMPTIED = dict(closedBy=None, closedDate=None, canceledBy=None, canceledDate=None, closedReason="")
UNFINISHED = dict(EMPTIED, finishedBy=None, finishedDate=None)
ENDLESS   = dict(begin="2026-11-20", end="2059-12-31")
PRODUCT_1 = facts_of("products", 1, programName="Alpha", releases=1, bugs=2, unResolved=1, closedBugs=1, fixedBugs=1,
                     thisWeekBugs=1, assignToNull=1, plans=2,
                     stories=dict(NO_STORIES, changed=1), requirements=dict(NO_STORIES, active=1))
PRODUCT_2 = dict(id=2, name="P two", releases=1, stories=dict(NO_STORIES, active=1), plans=1)
RELEASE_1 = facts_of("releases", 1, buildID=4, productName="P one", projectName="Pr one")
RELEASE_2 = dict(id=2, project=2, product=2, name="R2", date="2026-11-20", productName="P two", projectName="Pr one")
BUG_1     = facts_of("bugs", 1)
BUG_2     = dict(id=2, product=1, title="Bug two")
CASE_1    = facts_of("testcases", 1, currentVersion=4,
                     steps=[dict(id=5, parent=1, case=1, version=2, type="group", desc="a", expect="b")])
TASK_1    = facts_of("tasks", 1, assignedToRealName="Dan Dev", progress=31)
TASK_2    = facts_of("tasks", 2, project=5)
SPRING    = dict(name="N", begin="2026-02-01", end="2026-06-30")
NEW_TASK  = dict(module=1, story=2, fromBug=1, name="N", type="ui", pri=2, estimate=1.5, estStarted="2026-02-02",
                 deadline="2026-02-20")
OF_STORY_2 = dict(storyID=2, storyTitle="Story two", latestStoryVersion=1, storyStatus="active")
NEW_STEPS = [dict(id=6, parent=0, case=3, version=1, type="step", desc="a", expect="b"),
             dict(id=7, parent=0, case=3, version=1, type="step", desc="c", expect="")]
ANSWERS = [  # operation, path, body, the facts shown beside those of the body
    ("GET /products", "/products", None, [PRODUCT_1, PRODUCT_2]),
    ("POST /products", "/products",
     dict(name="P", program=1, code="C", line=4, PO="po1", QD="qd1", RD="rd1", type="branch", desc="d", acl="private",
          whitelist=["dev2"]),
     dict(id=3, programName="Alpha")),
    ("POST /products", "/products", dict(name="P"), dict(id=3)),
    ("POST /products", "/programs/4/products", dict(name="P", program=1), dict(id=3, program=4, programName="Beta")),
    ("GET /products/:id/bugs", "/products/1/bugs", None, [BUG_2, BUG_1]),
    ("POST /products/:id/testcases", "/products/2/testcases",
     dict(branch=1, module=2, story=7, title="C", type="unit", stage="bvt", precondition="p", pri=1, keywords="k",
          steps=[dict(desc="a", expect="b"), dict(desc="c")]),
     dict(id=3, product=2, storyVersion=0, steps=NEW_STEPS)),
    ("GET /testcases/:id", "/testcases/1", None, CASE_1),
    ("GET /testcases/:id", "/testcases/2", None, dict(id=2, product=2, title="Case two", caseFails=0)),
    ("POST /programs", "/programs",
     dict(SPRING, PM="pm1", budgetUnit="USD", desc="d", acl="private", whitelist=["dev1", "qa1"], parent="1", budget=3),
     dict(id=7, type="program", parent=1, path=",1,7,", grade=2, budget="3")),
    ("POST /programs", "/programs", SPRING, dict(id=7, type="program", acl="open")),
    ("GET /programs/:id", "/programs/1", None, facts_of("programs", 1, type="program", budget="200000")),
    ("GET /programs/:id", "/programs/4", None, dict(ENDLESS, id=4, name="Beta", type="program", acl="open")),
    ("POST /projects", "/projects",
     dict(SPRING, code="C", model="waterfall", parent=1, PM="pm1", acl="private", whitelist=["dev1"], products=[1, 2]),
     dict(EDITED, id=7, type="project", path=",1,7,", grade=2, team="N")),
    ("POST /projects", "/programs/4/projects", dict(SPRING, products=[1], parent=1),
     dict(EDITED, id=7, type="project", model="scrum", acl="private", team="N", parent=4, path=",4,7,", grade=2)),
    ("GET /projects/:id/releases", "/projects/2/releases", None, [RELEASE_2, RELEASE_1]),
    ("POST /executions/:id/tasks", "/executions/3/tasks", dict(NEW_TASK, assignedTo=["dev1"]),
     dict(OF_STORY_2, id=3, project=2, execution=3, left=1.5, assignedTo="dev1", assignedDate=NOW_ISO,
          assignedToRealName="Dan Dev")),
    ("POST /executions/:id/tasks", "/executions/5/tasks", NEW_TASK,
     dict(OF_STORY_2, id=3, project=5, execution=5, left=1.5)),
    ("PUT /tasks/:id", "/tasks/1", dict(pri=3), dict(TASK_1, **EDITED, pri=3, cases={"1": "Case one"})),
    ("PUT /tasks/:id", "/tasks/2", dict(pri=3), dict(TASK_2, **EDITED, cases={})),
    ("POST /tasks/:id/start", "/tasks/1/start", dict(consumed=3, left=4),
     dict(TASK_1, **EDITED, **UNFINISHED, consumed=3, left=4, status="doing", progress=43, realStarted=NOW_ISO)),
    ("POST /tasks/:id/start", "/tasks/2/start", dict(left=0),
     dict(TASK_2, **EDITED, status="doing", realStarted=NOW_ISO)),
    ("POST /tasks/:id/finish", "/tasks/1/finish", dict(finishedDate="2026-02-09 17:00:00", currentConsumed=1),
     dict(TASK_1, **EDITED, **EMPTIED, consumed=3.5, left=0, status="done", progress=100, finishedBy="admin",
          finishedDate="2026-02-09T17:00:00Z")),
    ("POST /tasks/:id/finish", "/tasks/2/finish", dict(finishedDate="2026-11-21", realStarted="2026-11-20"),
     dict(TASK_2, **EDITED, status="done", progress=100, finishedBy="admin", assignedTo="admin",
          assignedToRealName="admin", assignedDate=NOW_ISO, realStarted="2026-11-20T00:00:00Z",
          finishedDate="2026-11-21T00:00:00Z")),
    ("POST /tasks/:id/restart", "/tasks/1/restart", dict(consumed=6, left=4),
     dict(TASK_1, **EDITED, **UNFINISHED, consumed=6, left=4, status="doing", progress=60)),
    ("POST /tasks/:id/restart", "/tasks/2/restart", dict(consumed=0.5, left=2),
     dict(TASK_2, **EDITED, status="doing", progress=20, realStarted=NOW_ISO)),
]
PAGED = {"page": 1, "limit": 20}
AROUND = [  # a list of two records, what stands around it beside the total; unknown parameters count for nothing
    ("/products", {}), ("/products?page=1", PAGED), ("/projects/2/releases", {}),
    ("/products/1/bugs?colour=red&limit=5&_=1", dict(page=1, limit=5)), ("/products/1/bugs?page=0&limit=0", PAGED),
    ("/projects/2/releases?page=0&limit=0", {}), ("/projects/2/releases?limit=3", dict(page=1, limit=3)),
]
# fmt: on


class TestLooks:
    """Every field of every answer: its name, its JSON type, its value, its quirk."""

    @each(("operation", "path", "body", "facts"), ANSWERS)
    def test_answer_is_what_the_specification_says(self, world, operation, path, body, facts):
        method = operation.split()[0]
        creates = method == "POST" and "/tasks/:id" not in operation
        response = world.call(method, path, body)
        assert response.status_int == (201 if creates else 200)
        answer, look = response.json, SHOWN[operation]
        if isinstance(facts, list):
            wanted = [look.of(**record) for record in facts]
            answer = records_in(answer)
            look.check_fields(answer[0])
        else:
            wanted = look.of(body, **facts)
            look.check_fields(without(answer, "total", "products"))
        if operation == "POST /products":
            wanted = {**wanted, "total": 1, "products": [wanted]}
        assert lines(answer) == lines(wanted)

    @each(("path", "around"), AROUND)
    def test_list_has_its_numbers_around_it(self, world, path, around):
        answer = world.get(path)
        assert without(answer, "products", "bugs", "releases") == dict(around, total=2)


# PUBLISHED does for the resources that the specification lacks what SPECIFIED does for its own. The
# fields are those of version 16.5 of the real server. Everywhere but in the operations of SHOWN,
# persons are references, datetimes ISO or null, `deleted` is a boolean. SORTS and USUAL grow.

# fmt: off
PUBLISHED = {
    "user": """
        int: id company dept visits fails score scoreLevel; day: birthday join; null: locked;
        boolean: admin superReviewer;
        string: type account realname role pinyin nickname commiter avatar gender email skype qq mobile phone weixin
                dingding slack whatsapp address zipcode nature analysis strategy visions ip last feedback ranzhi ldap
                resetToken deleted clientStatus clientLang;
        view: view
    """,
    "brief user": "int: id dept; string: account realname role pinyin email; group: group",
    "department": "int: id parent grade order; string: name path position function manager managerName",
    "listed story": """
        int: id parent product branch module fromBug feedback pri lib fromStory fromVersion toBug duplicateStory
             version;
        string: vision plan source sourceNote title keywords type category status subStatus color stage stagedBy
                closedReason childStories linkStories storyChanged feedbackBy notifyEmail URChanged parentName planTitle
                productStatus;
        number: estimate; person: openedBy assignedTo lastEditedBy reviewedBy closedBy; whitelist: mailto;
        null: approvedDate; moment: openedDate assignedDate lastEditedDate reviewedDate closedDate activatedDate;
        deleted: deleted
    """,
    "plan": """
        int: id product branch parent; string: title status desc order closedReason; day: begin end; deleted: deleted
    """,
    "build": """
        int: id project product branch execution; string: name scmPath filePath desc executionName productName;
        day: date; person: builder; deleted: deleted; array: stories bugs
    """,
    "testtask": """
        int: id project product execution pri testreport branch; person: owner; day: begin end;
        moment: realFinishedDate;
        string: name build type desc report status auto subStatus productName executionName buildName;
        whitelist: mailto; deleted: deleted
    """,
    "effort": "int: id task; number: left consumed; day: date; string: account work",
    "result": """
        int: id run case version job compile duration deploy build testtask; string: caseResult xml; person: lastRunner;
        moment: date; array: stepResults files
    """,
}
SORTS |= {name: sorts_of(record) for name, record in PUBLISHED.items()}
SORTS["profile"] = {**SORTS["user"], "role": "role"}
SORTS["story"] = SORTS["listed story"] | sorts_of("""
    int: parentPri; string: spec verify productName moduleTitle; object: extraStories;
    array: stages files reviewer notReview tasks children bugs cases requirements executions planTitle
""")
SORTS["project's testtask"] = without(SORTS["testtask"], "branch", "productName", "executionName")
USUAL |= {
    "user": dict(type="inside", gender="f", visions="rnd,lite", last="1970-01-01T00:00:00Z", feedback="0", deleted="0",
                 clientStatus="offline", clientLang="zh-cn",
                 view=dict.fromkeys(("programs", "products", "projects", "sprints"), "")),
    "brief user": dict(group={}),
    "department": dict(order=10, grade=1),
    "listed story": dict(OPENED, vision="rnd", type="story", pri=3, status="active", stage="wait", fromVersion=1,
                         version=1, storyChanged="0", URChanged="0", productStatus="normal"),
    "plan": dict(status="wait", begin="2026-11-20", end="2030-01-01"),
    "build": dict(date="2026-11-20"),
    "testtask": dict(ENDLESS, build="trunk", pri=3, status="wait", auto="no"),
    "effort": dict(date="2026-11-20", account="admin"),
    "result": dict(version=1, caseResult="pass", lastRunner="admin", date=NOW_ISO),
}
USUAL["profile"] = dict(USUAL["user"], role={"code": "", "name": ""})
USUAL["project's testtask"] = USUAL["testtask"]
USUAL["story"] = dict(USUAL["listed story"], moduleTitle="/")
COMPANIONS = Table("COMPANIONS", {
    **{record: Shown(record) for record in SORTS},
    "whole bug":         Shown("bug", builds=titled),
    "project":           Shown("project", no_day="0000-00-00"),  # and program, execution
    "listed plan":       Shown("plan", adds="stories bugs hour project projectID expired"),
    "whole plan":        Shown("plan", adds="stories bugs"),
    "listed build":      Shown("build", adds="executionID branchName"),
    "execution's build": Shown("build", adds="branchName"),
    "asked story":       Shown("listed story", adds="reviewer notReview"),
    "linked story":      Shown("listed story", adds="reviewer notReview project story order productType"),
    "whole build":       Shown("build", adds="productType files"),
    "whole testtask":    Shown("testtask", adds="productType files testcases"),
    "tested case":       Shown("testcase", adds="task case assignedTo caseVersion storyTitle caseStatus bugs results"
                               " caseFails stepNumber"),
})
NEW_BUG   = dict(title="N", severity=1, pri=2, type="config", branch=1, module=2, project=2, execution=3, plan=4,
                 story=5, task=6, keywords="k", os="o", browser="b", hardware="h", found="f", steps="<p>s</p>",
                 deadline="2026-12-01", case=7, caseVersion=8, result=9, testtask=10, color="#00f", feedbackBy="fb",
                 notifyEmail="n@x.org", linkBug="1")
REOPENED  = dict(status="active", resolution="", resolvedBy=None, resolvedDate=None, resolvedBuild="", duplicateBug=0,
                 closedBy=None, closedDate=None)
PLAIN     = dict(ENDLESS, acl="private")
PROJECT_2 = without(facts_of("projects", 2, type="project", team="Pr one", path=",1,2,", grade=2), "products")
WORKS     = facts_of("departments", 1, path=",1,", managerName="Pam Manager")
WORKSHOP  = facts_of("departments", 2, path=",1,2,", grade=2)
LISTED_1  = without(facts_of("stories", 1, plan="1", stage="released", parentName="Need", planTitle="Plan one",
                             productStatus="closed", reviewer=["dev2", "qa1"], notReview=["dev2"]),
                    "spec", "verify", "versions", "executions", "plans", "reviewers")
LISTED_2  = dict(id=2, product=2, title="Story two", stage="wait")
ASKED_1   = COMPANIONS["asked story"].of(**LISTED_1)
LINKED_1  = dict(LISTED_1, story=1, order=1, productType="platform")
STORY_1   = dict(LISTED_1, spec="<p>s</p>", verify="v", planTitle=["Plan one"], parentPri=3, productName="P one",
                 executions={"3": dict(project=3, name="Ex one", status="wait", type="stage")},
                 requirements=[dict(id=3, title="Need")])
STORY_3   = dict(id=3, product=1, title="Need", type="requirement", parent=-1, childStories="1", estimate=2.5,
                 productStatus="closed", productName="P one", extraStories={"1": "Story one"}, children=[ASKED_1])
ACTIVE    = dict(status="active", closedBy=None, closedDate=None, closedReason="", activatedDate=NOW_ISO)
UNLINKED  = dict(stories=0, bugs=0, hour=0, project=0, projectID="", expired=False)
LISTED_PLAN_1 = dict(UNLINKED, **facts_of("plans", 1, stories=1, hour=2.5))
LISTED_PLAN_2 = dict(UNLINKED, id=2, product=2, title="Plan two")
LISTED_PLAN_3 = dict(UNLINKED, **facts_of("plans", 3, parent=-1))
BUILD_1   = facts_of("builds", 1, executionName="Ex one", productName="P one", branchName="")
BUILD_2   = dict(id=2, project=2, product=2, execution=2, name="Build two", executionName="Pr one", productName="P two",
                 branchName="")
IN_FULL   = dict(executionName="Ex one", productName="P one", productType="platform", files=[])
NEW_BUILD = dict(execution=3, product=1, name="N", builder="dev2", date="2026-03-05", scmPath="vcs", filePath="zip",
                 desc="d", branch=1, stories=[1], bugs=[2])
ROUND_1   = without(facts_of("testtasks", 1, executionName="Ex one", buildName="Build one", productName="P one"),
                    "testcases")
ROUND_2   = dict(id=2, project=2, product=2, execution=2, name="Round two", executionName="Pr one", productName="P two")
TESTED_1  = COMPANIONS["tested case"].of(**CASE_1, task=1, case=1, assignedTo="", caseVersion=4, storyTitle=None,
                                         caseStatus="blocked", bugs=0, results=1, stepNumber=1)
NEW_ROUND = dict(product=1, execution=3, name="N", begin="2026-03-05", end="2026-03-06", type="system", owner="qa1",
                 pri=1, desc="d", status="doing", mailto=["dev1"], report="r")
CONFIGURATION = dict(language="en", version="16.5", charset="UTF-8", timezone="UTC", systemMode="new", hourUnit="h",
                     CRProduct="1", CRExecution="1")
ADMINISTRATORS = dict(id=1, project=0, vision="rnd", name="ADMIN", role="admin", desc="for administrators", acl="",
                      developer="1", privs={}, accounts={"admin": "admin"})


def shown(look, body=None, **facts): return COMPANIONS[look].of(body, **facts)


TOLD = [  # what is neither a record nor a page of records
    ("/tokens",                 {"message": "POST account and password here to get a token."}),
    ("/ping",                   {"token": "t", "tokenLife": "86400"}),
    ("/user",                   {"profile": shown("profile", id=1, account="admin", realname="admin", admin=True)}),
    ("/configurations",         [dict(key=key, value=value) for key, value in CONFIGURATION.items()]),
    ("/configurations/version", {"name": "version", "value": "16.5"}),
    ("/groups",                 [ADMINISTRATORS]),
    ("/modules?type=bug&id=1",  {"modules": []}),
    ("/departments",            [dict(shown("department", **WORKS), children=[shown("department", **WORKSHOP)],
                                      actions={"delete": False})]),
    ("/tasks/1/estimate",       {"effort": [shown("effort", **facts_of("efforts", 1))]}),
    ("/testcases/1/results",    {"results": [shown("result", **facts_of("results", 1))]}),
]
READ = [  # a record as it is read by itself: paths, how it looks, the facts
    ("/users/4 /users/dev1",   "user",           dict(id=4, account="dev1", realname="Dan Dev")),
    ("/departments/2",         "department",     WORKSHOP),
    ("/projects/2",            "project",        PROJECT_2),
    ("/projects/5",            "project",        dict(PLAIN, id=5, name="Pr two", type="project", team="Pr two",
                                                 model="scrum")),
    ("/executions/3",          "project",        dict(PLAIN, id=3, name="Ex one", type="stage", project=2, parent=2,
                                                 path=",2,3,", team="Ex one")),
    ("/products/1 /product/1", "product",        PRODUCT_1),
    ("/products/2",            "product",        PRODUCT_2),
    ("/releases/1",            "release",        RELEASE_1),
    ("/releases/2",            "release",        RELEASE_2),
    ("/bugs/1",                "whole bug",      BUG_1),
    ("/bugs/2",                "whole bug",      BUG_2),
    ("/tasks/1",               "task",           TASK_1),
    ("/tasks/2",               "task",           TASK_2),
    ("/stories/1",             "story",          STORY_1),
    ("/stories/2",             "story",          dict(LISTED_2, productName="P two", planTitle=[])),
    ("/stories/3",             "story",          STORY_3),
    ("/productplans/1",        "whole plan",     facts_of("plans", 1, stories=[ASKED_1], bugs=[])),
    ("/builds/1",              "whole build",    facts_of("builds", 1, **IN_FULL)),
    ("/testtasks/1",           "whole testtask", dict(ROUND_1, **IN_FULL, testcases=[TESTED_1])),
]
REQUIRING = {"page": 1, "limit": 500, "requirements": {"3": "Need"}}
PEOPLE = [dict(id=id, account=account, realname=name) for account, (id, name) in reversed(USERS.items())]
IN_LISTS = [  # where records look otherwise than by themselves: paths, key, look, facts, what is around beside `total`
    ("/users", "users", "brief user", PEOPLE, PAGED),
    ("/products/1/testcases /testcases?product=1", "testcases", "testcase", [without(CASE_1, "caseFails")], PAGED),
    ("/projects/2/testcases /executions/3/testcases", "cases", "testcase", [without(CASE_1, "caseFails")], PAGED),
    ("/products/1/stories /stories?product=1", "stories", "asked story", [LISTED_1], REQUIRING),
    ("/projects/2/stories", "stories", "linked story", [dict(LINKED_1, project=2)], PAGED),
    ("/executions/3/stories", "stories", "linked story", [dict(LINKED_1, project=3)], PAGED),
    ("/bugs", "bugs", "bug", [BUG_2, BUG_1], PAGED),
    ("/projects/2/bugs /executions/3/bugs", "bugs", "bug", [BUG_1], PAGED),
    ("/products/1/plans", "plans", "listed plan", [LISTED_PLAN_1, LISTED_PLAN_3], PAGED),
    ("/productplans", "plans", "listed plan", [LISTED_PLAN_2, LISTED_PLAN_1, LISTED_PLAN_3], PAGED),
    ("/builds /projects/2/builds", "builds", "listed build",
     [dict(BUILD_2, executionID=2), dict(BUILD_1, executionID=3)], {}),
    ("/executions/3/builds", "builds", "execution's build", [BUILD_1], {}),
    ("/testtasks", "testtasks", "testtask", [ROUND_2, ROUND_1], PAGED),
    ("/projects/2/testtasks", "testtasks", "project's testtask",
     [without(one, "productName", "executionName") for one in (ROUND_2, ROUND_1)], PAGED),
]
ALIKE = {  # lists in which records look as by themselves: path, the records in their order
    "/programs": [1, 4], "/projects": [2, 5], "/executions": [6, 3], "/releases": [2, 1], "/programs/1/products": [1],
    "/programs/1/projects": [2], "/projects/2/executions": [3], "/executions/3/tasks": [1], "/products/1/projects": [2],
    "/products/2/releases": [2], "/tasks": [],
}
NEW_USER = dict(account="new1", password="secret")
MADE = [  # a record that is created: path, body, how it looks, the facts beside those of the body
    ("/users", dict(NEW_USER, realname="N", role="dev", email="n@x.org"), "user", dict(id=9)),
    ("/users", NEW_USER, "user", dict(id=9, realname="new1")),
    ("/departments", dict(name="N", parent=1, manager="qa1"), "department",
     dict(id=3, path=",1,3,", grade=2, order=20, managerName="Quin Test")),
    ("/projects/2/executions",
     dict(name="N", begin="2026-02-01", end="2026-04-30", code="C", days=20, lifetime="short", desc="d", acl="private",
          PM="pm1", PO="po1", QD="qd1", RD="rd1", whitelist=["dev1"]), "project",
     dict(EDITED, id=7, type="stage", project=2, parent=2, path=",2,7,", team="N",
          openedVersion=pmservice.__version__)),
    ("/projects/2/releases",
     dict(name="N", date="2026-03-06", product=2, branch=1, desc="r", status="terminate", marker="1", stories="1,2",
          bugs="3", leftBugs="4", build=[5], mailto=["dev1", "qa1"]), "release",
     dict(id=3, project=2, build=5, buildID=5, mailto="dev1,qa1", productName="P two", projectName="Pr one")),
    ("/testcases/2/results", dict(result="pass"), "result", dict(id=3, case=2)),
    ("/products/1/bugs", dict(NEW_BUG, openedBuild=["trunk", "b1"], assignedTo="dev1"), "bug",
     dict(id=3, product=1, storyVersion=0, openedBuild="trunk,b1", assignedDate=NOW_ISO)),
    ("/products/1/stories",
     dict(title="N", spec="s", verify="v", pri=2, category="feature", source="po", sourceNote="n", keywords="k",
          estimate=3, mailto=["dev1"], assignedTo="dev2", module=1, branch=1), "story",
     dict(id=4, product=1, assignedDate=NOW_ISO, productName="P one", productStatus="closed")),
    ("/products/1/plans", dict(title="N", begin="2027-02-01", end="2027-03-01", desc="d", branch=1), "whole plan",
     dict(id=4, product=1, stories=[], bugs=[])),
    ("/projects/2/builds", NEW_BUILD, "whole build", dict(IN_FULL, id=3, project=2)),
    ("/projects/2/testtasks", dict(NEW_ROUND, build=1, testcases=[1]), "whole testtask",
     dict(IN_FULL, id=3, project=2, build="1", buildName="Build one", testcases=[dict(TESTED_1, task=3)])),
    ("/testtasks", dict(NEW_ROUND, build="trunk"), "whole testtask", dict(IN_FULL, id=3, project=2, testcases=[])),
]
SEVERAL = [NEW_TASK, dict(name="M", type="misc")]
TO_DEV2 = dict(assignedTo=reference("dev2"), assignedDate=NOW_ISO)
CHANGES = [  # request, body, what it changes beside the body's fields and `lastEdited…`; the state before, if another
    # None: room 8 says what it changes
    ("PUT /users/dev1", dict(realname="D", join="2020-04-05"), {}),
    ("PUT /departments/2", dict(parent=0), dict(path=",2,", grade=1)),
    ("PUT /programs/1", dict(name="N", budget=7), dict(team="N", budget="7")),
    ("PUT /projects/5", dict(name="N", PM="pm1", parent=4), dict(team="N", PM=reference("pm1"), path=",4,5,", grade=2)),
    ("PUT /executions/6", dict(name="N", PO="po1"), dict(team="N", PO=reference("po1"))),
    ("PUT /products/1", dict(line=4), {}),
    ("PUT /product/2", dict(PO="po1"), dict(PO=reference("po1"))),
    ("PUT /releases/1", dict(build=1), dict(buildID=1, buildName="Build one")),
    ("PUT /testcases/1", dict(pri=2, story=0, steps=[dict(desc="x")]),
     dict(version=5, currentVersion=5, steps=[dict(NEW_STEPS[0], case=1, version=5, desc="x", expect="")])),
    ("PUT /bugs/1", dict(NEW_BUG, assignedTo="dev2"), dict(TO_DEV2, storyVersion=0)),
    ("PUT /bugs/1",
     dict(deadline="", resolvedDate="", assignedTo="", openedBuild=[dict(id="trunk", title="T"), dict(id=1), "b"]),
     dict(deadline=None, resolvedDate=None, assignedTo=None, assignedDate=NOW_ISO, openedBuild=titled("trunk,1,b"))),
    ("POST /bugs/2/assign", dict(assignedTo="dev2"), None),
    ("POST /bugs/2/confirm", dict(pri=1, type="install"), None),
    ("POST /bugs/2/resolve", dict(resolution="fixed", resolvedBuild="b1"), None),
    ("POST /bugs/2/close", {}, None, "resolved"),
    ("POST /bugs/1/active", {}, None),
    ("POST /bugs/1/activate", dict(assignedTo="dev2", openedBuild="b3"),
     dict(REOPENED, **TO_DEV2, activatedCount=3, activatedDate=NOW_ISO, openedBuild=titled("b3"))),
    ("POST /tasks/2/pause", {}, None),
    ("POST /tasks/1/close", dict(closedReason="bydesign"), None),
    ("POST /tasks/1/cancel", {}, None),
    ("POST /tasks/1/active", dict(left=4), None),
    ("POST /tasks/1/activate", dict(left=4), dict(UNFINISHED, status="doing", progress=38, activatedDate=NOW_ISO)),
    ("POST /tasks/2/assignto", dict(assignedTo="dev2"), None),
    ("POST /tasks/2/estimate", dict(dates="2026-11-20", consumed=1, left=3), None),
    ("PUT /stories/1", dict(plan=[3]), dict(plan="3", planTitle=["Plan three"])),
    ("POST /stories/2/change", dict(spec="new"), dict(version=2)),
    ("POST /stories/2/review", dict(result="pass", reviewedDate="2026-11-19"),
     dict(reviewedBy=reference("admin"), reviewedDate="2026-11-19T00:00:00Z", status="active"), "draft"),
    ("POST /stories/1/close", dict(closedReason="cancel"),
     dict(status="closed", stage="closed", closedBy=reference("admin"), closedDate=NOW_ISO)),
    ("POST /stories/1/active", {}, ACTIVE),
    ("POST /stories/1/activate", dict(assignedTo="dev2"), dict(ACTIVE, **TO_DEV2)),
    ("POST /stories/2/assign", dict(assignedTo="dev2"), TO_DEV2),
    ("PUT /productplans/1", dict(title="N", status="done"), dict(stories=[dict(ASKED_1, planTitle="N")])),
    ("POST /productplans/2/linkstories", dict(stories=[2]),
     dict(stories=[shown("listed story", **dict(LISTED_2, stage="planned", plan="2", planTitle="Plan two"))])),
    ("POST /productplans/1/unlinkstories", dict(stories=[1]), dict(stories=[])),
    ("POST /productplans/1/linkbugs", dict(bugs=[2]), dict(bugs=[shown("bug", **BUG_2, plan=1)])),
    ("POST /productplans/1/unlinkbugs", dict(bugs=[1]), dict(bugs=[])),
    ("PUT /builds/1", dict(stories=[], bugs=[2]), {}),
    ("PUT /testtasks/1", dict(status="blocked", testcases=[]), {}),
]
REMOVED = """
    /programs/4 /projects/2 /executions/3 /products/1 /product/1 /tasks/1 /bugs/1 /testcases/1 /stories/2
    /productplans/1 /productsplan/1 /builds/1 /releases/1 /testtasks/1 /users/8 /departments/2 /stories/1/recall
"""
WRITES = [  # method, path and body of requests that change WORLD as it stands
    *((operation.split()[0], path, body) for operation, path, body, _ in ANSWERS if body),
    *(("POST", path, body) for path, body, *_ in MADE),
    ("POST", "/executions/3/tasks/batchCreate", dict(tasks=SEVERAL)),
    *((*request.split(), body) for request, body, _, *state in CHANGES if not state),
    *(("DELETE", path, None) for path in REMOVED.split()),
]
READ_PATHS = [
    *(path for _, path, body, _ in ANSWERS if not body), *(row[0] for row in (*TOLD, *READ, *IN_LISTS)), *ALIKE,
]
REQUESTS = [*(("GET", path, None) for path in " ".join(READ_PATHS).split()), *WRITES]
# fmt: on


def answered(array: str, record: dict[str, Any]) -> dict[str, Any]:
    """Return a record, as a GET shows it, as the answer to a change of it does."""
    if array == "testcases":
        return without(record, "caseFails")
    if array == "bugs":  # without the titles of builds
        return {**record, "openedBuild": ",".join(build["id"] for build in record["openedBuild"])}
    return record


class TestLooksOfCompanions:
    """Every field of every answer that goes beyond the specification, on the records of WORLD."""

    @each(("path", "told"), TOLD)
    def test_answer_is_no_record(self, world, path, told):
        assert lines(world.get(path)) == lines(told)

    @each(("paths", "look", "facts"), READ)
    def test_record_has_all_its_fields(self, world, paths, look, facts):
        for path in paths.split():
            answer = world.get(path)
            COMPANIONS[look].check_fields(answer)
            assert lines(answer) == lines(shown(look, **facts))

    @each(("paths", "key", "look", "facts", "around"), IN_LISTS)
    def test_list_has_all_its_fields(self, world, paths, key, look, facts, around):
        records = [shown(look, **one) for one in facts]
        wanted = {key: records, "total": len(records), **around}
        for path in paths.split():
            answer = world.get(path)
            COMPANIONS[look].check_fields(answer[key][0])
            assert lines(answer) == lines(wanted)

    @each("path", ALIKE)
    def test_list_shows_records_as_they_are_by_themselves(self, world, path):
        key = path.split("/")[-1]
        records = [world.get(f"/{key}/{id}") for id in ALIKE[path]]
        around = {} if key == "releases" else PAGED
        assert lines(world.get(path)) == lines({"total": len(records), key: records, **around})

    @each(("path", "body", "look", "facts"), MADE)
    def test_new_record_has_what_was_sent_and_the_usual_values(
        self, world, path, body, look, facts
    ):
        answer = world.call("POST", path, body)
        assert answer.status_int == 201
        assert lines(answer.json) == lines(shown(look, body, **facts))

    def test_new_tasks_of_a_batch_are_shown_by_id(self, world):
        answer = world.call("POST", "/executions/3/tasks/batchCreate", dict(tasks=SEVERAL))
        assert answer.status_int == 201
        made = partial(shown, "task", project=2, execution=3)
        first = made(SEVERAL[0], id=3, left=1.5, **OF_STORY_2)
        assert lines(answer.json) == lines({"task": {"3": first, "4": made(SEVERAL[1], id=4)}})

    @each("row", CHANGES, ids=[row[0] for row in CHANGES])
    def test_change_changes_this_and_nothing_else(self, world, row):
        request, body, changes, *state = row
        method, path = request.split()
        _, array, id, *_ = path.split("/")
        record = f"/{array}/{id}"
        if state:
            world.sql(f"UPDATE {TABLES[array]} SET status = ? WHERE id = 2", *state)
        before = world.get(record)
        answer = world.call(method, path, body)
        assert answer.status_int == 200
        after = world.get(record)
        sent = {field: value for field, value in body.items() if field in before}
        edited = {}
        if "lastEditedBy" in before:
            edited = dict(EDITED, lastEditedBy=reference("admin"))
        if changes is None:
            holds(after, **sent)
        else:
            assert lines(after) == lines({**before, **edited, **sent, **changes})
        assert lines(answer.json) == lines(answered(array, after))

    def test_choices_of_a_bug_are_those_of_its_fields_and_the_builds_of_its_product(self, world):
        world.refused("GET", "/options/bug?product=99", status=404)
        choices = world.get("/options/bug?product=1")["options"]
        assert list(choices.pop("type")) == ["", *WORDS["bug", "type"].split()]
        assert choices == dict(
            pri=["", "1", "2", "3", "4"],
            severity={"1": "1", "2": "2", "3": "3", "4": "4"},
            modules=["/"],
            build={"": "", "trunk": "Trunk", "1": "Build one"},
        )

    def test_build_that_is_released_is_called_as_its_release(self, world):
        world.put("/releases/1", build=1)
        world.put("/bugs/1", openedBuild="1.0,01")  # a name; ids are written without more
        assert world.get("/bugs/1")["openedBuild"] == titled("1.0,01")
        world.put("/bugs/1", openedBuild="1")
        choices = world.get("/options/bug?product=1")["options"]
        assert choices["build"]["1"] == "R1"
        assert world.get("/bugs/1")["openedBuild"] == [{"id": "1", "title": "R1"}]
        remove(world, "/releases/1")
        assert world.get("/bugs/1")["openedBuild"] == titled("1")
        remove(world, "/builds/1")
        assert world.get("/bugs/1")["openedBuild"] == [{"id": "1", "title": ""}]


# --- 6 Store: lists, and who sees what ------------------------------------------------------------


# fmt: off
TO_LIST = {  # records that differ in what lists sort them by, and in what the parameter `status` asks for
    "products": [dict(id=1, name="P", order=9), dict(id=2, name="Q", status="closed")],
    "programs": [dict(id=9, name="Pg")],
    "projects": [dict(id=1, name="Pr", parent=9, products=[1]), dict(id=2, name="Pr", status="doing", products=[1]),
                 *(dict(id=id, name="Pr", parent=9, status=status) for id,
                   status in ((3, "suspended"), (4, "closed")))],
    "executions": [dict(id=5, name="Ex", project=1, status="closed"), dict(id=6, name="Ex", project=1),
                   dict(id=7, name="Ex", project=2)],
    "releases": [dict(id=1, product=1, project=1, name="R"),
                 dict(id=2, product=2, project=1, name="S", status="terminate")],
    "stories": [dict(id=1, product=1, title="S", version=2),
                dict(id=2, product=1, title="D", status="draft", version=2)],
    "plans": [dict(product=1, title="P", status=status) for status in ("wait", "doing", "done", "closed")],
    "testtasks": [dict(product=1, project=1, name="R", status=status) for status in ("wait", "doing", "blocked")],
    "tasks": [dict(execution=6, name="T", status=status, assignedTo=account, **more) for status, account, more in (
        ("pause",  "admin", dict(openedBy="dev1", deadline="2026-11-19", estStarted="2026-11-19", story=2)),
        ("cancel", "admin", dict(openedBy="dev1", deadline="2026-11-19")),
        ("closed", "admin", dict(openedBy="dev1", story=1)),
        ("wait",   "dev1",  dict(openedBy="dev1", deadline="2026-11-19", story=1, storyVersion=2, pri=2)),
        ("doing",  "dev1",  dict(openedBy="admin", deadline="2026-11-20")),
        ("done",   "dev1",  dict(openedBy="dev1", finishedBy="admin")),
    )],
    "bugs": [dict(product=1, title="B", **more) for more in (
        dict(id=1),
        dict(id=2, confirmed=1),
        dict(id=3, status="closed", closedBy="admin", severity=1),
        dict(id=4, assignedTo="admin", confirmed=1),
        dict(id=5, status="resolved", resolution="postponed", resolvedBy="admin", openedDate="2026-11-01", severity=1),
        dict(id=6, openedBy="qa1", openedDate="2026-11-01"),
        dict(id=7, deadline="2026-11-19"),
        dict(id=8, deadline="2026-11-20", openedDate="2026-11-01", lastEditedDate="2026-11-15"),
        dict(id=9, assignedTo="dev1", story=1),
        dict(id=10, deleted=True),
    )],
}
STATUSES = {  # path: status: the ids listed, each of one digit
    "/products": {"all": "12", "noclosed": "1", "closed": "2", "normal": "1", "NORMAL": "1"},
    "/projects/1/releases": {"all": "12", "normal": "1", "terminate": "2"},
    "/projects": {"": "1234", "all": "1234", "undone": "123", "wait": "1", "doing": "2", "suspended": "3",
                  "closed": "4"},
    "/programs/9/projects": {"": "134", "undone": "13", "closed": "4"},
    "/products/1/projects": {"": "12", "undone": "12", "doing": "2"},
    "/executions": {"": "567", "all": "567", "undone": "67", "wait": "67", "closed": "5"},
    "/projects/1/executions": {"": "56", "undone": "6", "suspended": ""},
    "/products/1/plans": {"": "1234", "all": "1234", "undone": "12", "wait": "1", "doing": "2"},
    "/productplans": {"undone": "12", "done": "3", "closed": "4"},
    "/testtasks": {"": "123", "totalStatus": "123", "wait": "1", "doing": "2", "done": ""},
    "/projects/1/testtasks": {"": "123", "blocked": "3"},
    "/tasks": {"": "123", "all": "123", "unclosed": "1", "pause": "1", "closed": "3"},
    "/executions/6/tasks": {
        "": "123456", "all": "123456", "unclosed": "1456", "wait": "4", "cancel": "2", "undone": "45", "delayed": "4",
        "assignedtome": "123", "assignedToMe": "123", "myinvolved": "12356", "assignedbyme": "", "finishedbyme": "6",
        "needconfirm": "3",
    },
    "/products/1/bugs": {
        "": "123456789", "all": "123456789", "unclosed": "12456789", "unresolved": "1246789", "unconfirmed": "1356789",
        "assigntome": "4", "openedbyme": "12345789", "assigntonull": "125678", "toclosed": "5", "postponedbugs": "5",
        "overduebugs": "7", "active": "1246789", "resolved": "5", "closed": "3", "resolvedbyme": "5", "closedbyme": "3",
        "assignedbyme": "", "needconfirm": "9", "longlifebugs": "6",
    },
}
DEFAULT_ORDERS = [  # path, the ids in the default order
    ("/products", "12"), ("/products/1/bugs", "987654321"), ("/projects/1/releases", "21"),
    ("/projects/1/executions", "65"), ("/tasks", "321"),
]
ORDERED = [  # request, the ids in the order that it asks for
    ("/products/1/bugs?order=severity_asc",    "351246789"),
    ("/products?order=name_desc",              "21"),
    ("/products?order=order_asc",              "12"),  # the last one, which has no `order`, shows 10
    ("/projects/1/releases?order=product_asc", "12"),
    ("/products?order=id_DESC", "21"), ("/products?order=NAME_Desc", "21"), ("/products?order=Id", "12"),
]
MISSPELT = [  # order, the nearest one
    ("severty", "severity"), ("colour_asc", "color?"), ("severity_up", "severity"), ("id;", "id?"),
    ("id_asc;--", "a field of the list"),
]
NARROWED = [  # lists of WORLD that are narrowed, the ids in them
    ("/products?program=1", "1"), ("/products?program=4", ""), ("/products?project=2", "12"),
    ("/products?project=5", ""), ("/products?program=1&project=2", "1"), ("/bugs?product=1", "21"),
    ("/bugs?product=2", ""), ("/productplans?product=2", "2"), ("/builds?project=2", "21"), ("/builds?project=5", ""),
    ("/releases?product=2", "2"), ("/testtasks?product=2", "2"), ("/executions?project=2", "3"),
]
TASKS_OF = [  # the query of GET /tasks on TO_LIST, the ids in it; dev1 is user 2 there
    ("", "321"), ("search=0", "321"), ("search=1", "654321"), ("search=true", "654321"), ("assignedTo=dev1", "654"),
    ("assignedTo=DEV1&search=1", "654"), ("assignedTo=2", "654"), ("search=1&pri=2", "4"), ("pri=0", "321"),
    ("pri=2", ""),
    ("search=1&name=t", "654321"), ("search=1&name=x", ""), ("search=1&title=T&status=delayed", "4"),
    ("search=1&execution=6", "654321"), ("search=1&execution=7", ""), ("execution=6", "321"),
    ("search=1&execution=1", ""),
]
NAMES_BY_ID = "Zebra äpfel Apfel ÖL Ärger Łódź Éclair élan Żuk straße STRASSE Яблоко яма"
IN_ORDER_OF_NAMES = "äpfel Apfel Ärger Éclair élan Łódź ÖL straße STRASSE Zebra Żuk Яблоко яма"
FOUND_BY_WORDS = {  # words of a search, the names that have them
    "ÄPFEL": "äpfel Apfel", "lodz": "Łódź", "\u0308": "", "straße": "straße STRASSE", "ZUK": "Żuk", "ЯБЛ": "Яблоко",
    "l E": "äpfel Apfel Éclair élan",
}
MANY = 450  # records in a list: more than are rendered at once, twice
# fmt: on


class TestLists:
    """The pages of lists, and the query parameters that page, order and narrow them."""

    @each(("path", "order"), DEFAULT_ORDERS)
    def test_pages_follow_one_another_in_the_default_order(self, listed, path, order):
        for page in (1, 2, 3, 4, 2**63 - 1):
            answer = listed.get(f"{path}?limit=2&page={page}")
            assert digits(answer) == order[2 * page - 2 : 2 * page]
            holds(answer, page=page, total=len(order), limit=2)

    @each(("request_line", "order"), ORDERED)
    def test_order_is_by_any_field_as_it_is_shown(self, listed, request_line, order):
        assert digits(listed.get(request_line)) == order

    def test_order_tells_nothing_of_what_is_not_shown(self, world):
        assert broken(world, "GET /users?order=password_asc", None) == "order"

    @each(("order", "nearest"), MISSPELT)
    def test_unknown_order_is_refused_with_the_nearest(self, listed, order, nearest):
        refusal = listed.refused("GET", f"/products/1/bugs?order={order}")
        rule = refusal["fields"]["order"]
        assert nearest in rule
        assert len(rule) < 200  # it does not list all of them

    @each("name", ["page", "limit"])
    @each("number", ["00", "-1", "x", "1.5", "%D9%A1", str(2**64)])
    def test_page_and_limit_have_bounds(self, listed, name, number):
        for path, _ in DEFAULT_ORDERS:
            assert broken(listed, f"GET {path}?{name}={number}", None) == name

    def test_search_has_twenty_words_at_most(self, listed):
        words = [f"w{n}" for n in range(21)]
        for path, _ in DEFAULT_ORDERS:
            assert listed.get(f"{path}?title={'+'.join(words[:20])}")["total"] == 0
            assert broken(listed, f"GET {path}?title={'+'.join(words)}", None) == "title"

    def test_query_and_form_have_three_thousand_fields_at_most(self, listed):
        many = "&".join(["a=1"] * 3001)
        for path in ("/products", "/tasks/1", "/users"):
            assert "at most 3,000 fields" in listed.refused("GET", f"{path}?{many}")["error"]
        for count, words in ((3000, "name is required"), (3001, "at most 3,000 fields")):
            form = "&".join(["a=1"] * count).encode()
            refusal = listed.refused("POST", "/products", form, Content_Type=FORM)
            assert words in refusal["error"]

    def test_limit_is_100_000_at_most(self, listed):
        assert listed.get("/products/1/bugs?limit=100000")["limit"] == 100_000
        assert "100000" in listed.refused("GET", "/products/1/bugs?limit=100001")["error"]

    @each("path", STATUSES)
    def test_status_narrows_a_list_and_another_word_is_refused(self, listed, path):
        rule = listed.refused("GET", f"{path}?status=whatever")["fields"]["status"]
        for status, found in STATUSES[path].items():
            answer = listed.get(f"{path}?status={status}&order=id")
            assert digits(answer) == found, status
            assert answer["total"] == len(found), status
            assert status.lower() in rule

    @each(("path", "found"), NARROWED)
    def test_list_is_narrowed_to_what_its_query_names(self, world, path, found):
        answer = world.get(path)
        assert digits(answer) == found
        assert answer.get("total", len(found)) == len(found)

    @each(("query", "found"), TASKS_OF)
    def test_tasks_are_of_the_caller_of_one_person_or_of_everybody(self, listed, query, found):
        answer = listed.get(f"/tasks?{query}")
        assert digits(answer) == found
        assert answer["total"] == len(found)

    def test_tasks_of_everybody_are_those_that_the_caller_may_see(self, world):
        world.token = world.token_of("dev2")
        shown = world.get("/executions/3/tasks")["tasks"]
        assert world.get("/tasks?search=1")["tasks"] == shown
        refusal = world.refused("GET", "/tasks?assignedTo=ghost", status=404)
        assert refusal["error"] == "There is no user ghost."
        assert (
            broken(world, "GET /tasks?assignedTo=a+b&pri=-1&search=2", None)
            == "assignedTo pri search"
        )

    @each(("array", "field"), [("products", "name"), ("users", "realname")])
    def test_names_are_sorted_and_searched_in_all_languages(self, client, array, field):
        def names(query: str) -> list[str]:
            records = client.get(f"/{array}?limit=50&{query}")[array]
            return [record[field] for record in records if record[field] != "admin"]

        records = [{field: name} for name in NAMES_BY_ID.split()]
        if array == "users":
            records = [{**record, "account": f"u{n}"} for n, record in enumerate(records)]
        client.load(**{array: records})
        in_order = IN_ORDER_OF_NAMES.split()
        assert names(f"order={field}") == in_order
        assert names(f"order={field}_desc") == in_order[::-1]
        for words, found in FOUND_BY_WORDS.items():
            assert names(f"order={field}&title={urllib.parse.quote(words)}") == found.split()

    def test_long_lists_are_whole_also_in_a_record(self, client):
        bugs = [dict(product=1, title="B", plan=1, assignedTo=f"user{n}") for n in range(MANY)]
        stories = [dict(product=1, title="S", plans=[1])] * MANY
        product, plan = dict(id=1, name="P", acl="open"), dict(product=1, title="P")
        client.load(products=[product], plans=[plan], bugs=bugs, stories=stories)
        plan = client.get("/productplans/1")
        for array in ("bugs", "stories"):
            assert len(plan[array]) == MANY
            assert plan[array] == client.get(f"/{array}?limit=1000")[array]


class TestOrders:
    """The orders of lists: each field sorts all pages of a list, either way."""

    LISTS = """
        /products /users /products/1/bugs /products/1/testcases /tasks /stories /productplans
        /builds /releases /testtasks
    """

    @each("path", LISTS.split())
    def test_every_field_sorts_all_pages_of_a_list_either_way(self, demo, path):
        def listed(query: str) -> list[dict[str, Any]]:
            """Return the records of a list, not held against the document, which takes longer."""
            answer = demo.app.get(f"{path}?{query}", headers={"Token": "t"})
            return records_in(answer.json)

        [operation] = [one for one in LISTING if one.line == operation_of(f"GET {path}")]
        columns = demo.sql("SELECT name FROM pragma_table_info(?)", TABLES[operation.array])
        for field in {name for (name,) in columns} & listed("limit=1")[0].keys() - {"steps"}:
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


# Scans that a query plan may have: of all users, of the accounts in an answer, of the builds that
# one bug names, of the departments, and of what is above or below one record.
SMALL = {"user", "json_each", "named", "department", "up", "below"}


# fmt: off
# Lists that may be sorted: those of two types come one after the other from their index; those by
# day; one task's efforts. The bugs of a week are sorted, too: they are few.
SORTED = {
    "/executions", "/projects/2/builds", "/executions/3/builds", "/builds", "/products/1/plans",
    "/productplans", "/tasks/1/estimate",
}
WHOLE = {  # lists of all records of a resource, which they read whole unless a parameter narrows them
    "/stories": {"story"}, "/productplans": {"plan"}, "/builds": {"build"},
    "/releases": {"release"}, "/testtasks": {"testtask"}, "/bugs": {"bug"}, "/testcases": {"testcase"},
}
# Other requests that read a table whole: one moves a project, one deletes a user's tokens.
RARE = {"PUT /projects/<id>": {"project"}, "DELETE /users/<user>": {"token"}}
# Indexes for triggers and for the checks of links, of which SQLite shows no plan.
OF_TRIGGERS = {"step_group", "story_of_release", "task_of_project", "user_of_department"}
# The functions of the views, with their numbers of parameters.
FUNCTIONS = {
    "me": 0, "sees_all": 0, "today": 0, "monday": 0, "next_monday": 0, "week_ago": 0, "written": 2,
}
# Beside REQUESTS: what belongs to an execution moves along to another project.
MOVED = ("PUT", "/executions/3", dict(project=5))
# Paths that are answered without a look at a record.
STATELESS = {"/tokens", "/ping", "/configurations", "/configurations/version", "/modules?type=bug&id=1"}
# fmt: on


def add_functions(connection: sqlite3.Connection) -> None:
    """Add the functions of the views to a connection that explains statements and runs none."""
    for name, parameters in FUNCTIONS.items():
        connection.create_function(name, parameters, ignore, deterministic=True)


class TestPlans:
    """The query plans of what requests run: rows are found by an index."""

    @pytest.fixture
    def planned(self, statements):
        """Yield a function that returns the plans of all that a request runs, as one text."""
        ran = []

        def explain(_: sqlite3.Connection, sql: str, *values: Any) -> None:
            """Note the plan of a statement before it runs."""
            if re.match(r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b", sql):
                rows = other.execute(f"EXPLAIN QUERY PLAN {sql}", *values)
                ran.extend(detail for *_, detail in rows)

        def planned(request: str, body: Any = None, token: str = "t") -> str:
            method, path = request.split()
            ran.clear()
            statements.before = explain
            if method == "BROWSE":
                browse(client, path, token)
            else:
                assert client.call(method, path, body, Token=token).status_int in (200, 201)
            statements.before = ignore
            assert ran or path in STATELESS, "no statement of the service was seen"
            if method not in ("GET", "BROWSE"):
                client.post("/-/reset?only=records")
                client.sql(running)
            return "\n".join(ran)

        running = "UPDATE project SET status = 'doing' WHERE id = 3"  # what the overview shows
        with contextlib.closing(Client(load=WORLD)) as client, another_program(client.uri) as other:
            client.sql(running)
            add_functions(other)
            planned.tokens = ("t", client.token_of("dev1"))
            named = "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
            planned.indexes = {name for (name,) in client.sql(named)}
            yield planned

    @staticmethod
    def scanned(plan: str) -> set[str]:
        """Return the tables of which a plan reads every row or every entry of an index."""
        subqueries = re.findall("^(?:CO-ROUTINE|MATERIALIZE) (.*)", plan, re.MULTILINE)
        scan = r"^SCAN (?:TABLE )?(?!CONSTANT ROW)(\w+)"
        return set(re.findall(scan, plan, re.MULTILINE)) - SMALL - set(subqueries)

    def test_no_request_reads_a_whole_table(self, planned):
        for method, path, body in [*REQUESTS, MOVED]:
            if path in STATELESS:
                continue
            request = f"{method} {path}"
            line = operation_of(request)
            whole = RARE.get(line) or WHOLE.get(path, set())
            plan = planned(request, body)
            assert self.scanned(plan) <= whole, (request, plan)

    @staticmethod
    def lists_of(operation: Operation) -> set[str]:
        """Return the paths of a list, with what narrows and pages it."""
        ids = {"projects": 2, "executions": 3}
        path = operation.at(ids.get(operation.path.split("/")[1], 1))
        narrow = ""
        if "project" in operation.query:
            narrow = "project=2"
        if "product" in operation.query:
            narrow = "product=1"
        queries = {"", "limit=1&page=2", narrow}
        for word in operation.words:
            queries |= {f"status={word}", f"status={word}&{narrow}"}
        return {f"{path}?{query}" for query in queries}

    @each_of(LISTING)
    def test_no_list_reads_a_whole_table_or_sorts_it(self, planned, operation):
        for path, token in itertools.product(self.lists_of(operation), planned.tokens):
            plan = planned(f"GET {path}", None, token)
            scanned = self.scanned(plan)
            name, _, query = path.partition("?")
            if "product=" in query or "project=" in query:
                assert not scanned, (path, plan)
            assert scanned <= WHOLE.get(name, set()), (path, plan)
            if name not in SORTED and "thisweek" not in query:
                assert "FOR ORDER BY" not in plan, (path, plan)

    def test_every_index_is_used(self, planned):
        requests = [*REQUESTS, MOVED]
        plans = [planned(f"{method} {path}", body) for method, path, body in requests]
        for operation in LISTING:
            plans += [planned(f"GET {path}") for path in self.lists_of(operation)]
        plans.append(planned("BROWSE /"))
        used = set(re.findall(r"INDEX (\w+)", "\n".join(plans)))
        assert planned.indexes - used == OF_TRIGGERS

    def test_overview_scans_products_and_counts_bugs_and_stories_in_an_index(self, planned):
        counted = re.compile("^SCAN (bug|story) USING COVERING INDEX .*", re.MULTILINE)
        for token in planned.tokens:
            plan = planned("BROWSE /", None, token)
            assert self.scanned(counted.sub("", plan)) == {"product"}, plan


# fmt: off
# The private records that each account sees, besides all open ones. p: product 2 and what belongs to it; j: program 2,
# project 4 and what belongs to them.
SIGHT = {
    "admin": "pj", "boss": "pj", "dev1": "pj", "po1": "pj", "qd1": "pj", "rd1": "pj", "qa1": "pj", "pm1": "j",
    "only1": "p", "dev2": "",
}
ROLES = dict(PO="po1", QD="qd1", RD="rd1")
OF_DEV1 = dict(ROLES, acl="private", openedBy="dev1", PM="pm1", whitelist=["qa1"])
IN_OPEN, IN_PRIVATE = dict(project=3, execution=5), dict(project=4, execution=6)
SINCE = dict(begin="2026-01-01")
PRIVATE = Table("PRIVATE", {
    "users": [dict(account=one, admin=one == "boss") for one in SIGHT if one != "admin"],
    "programs": [
        dict(id=1, name="open"), dict(OF_DEV1, id=2, name="private"), dict(id=7, name="open", parent=2),
        dict(OF_DEV1, id=9, name="private"), dict(id=10, name="open"),
    ],
    "projects": [
        dict(SINCE, id=3, name="open", acl="open", products=[1, 2]),
        dict(OF_DEV1, **SINCE, id=4, name="private", parent=10, products=[1, 2]),
        dict(SINCE, id=8, name="open", acl="open", parent=2, products=[1]),
    ],
    "executions": [dict(id=5, name="open", project=3), dict(id=6, name="private", project=4, acl="open")],
    "products": [
        dict(id=1, name="open", acl="open"),
        dict(ROLES, id=2, name="private", program=10, createdBy="dev1", whitelist=["boss", "qa1", "only1"]),
        dict(id=3, name="open", acl="open", program=2),
    ],
    "releases": [
        dict(id=id, name="R", product=product, project=project, mailto="dev2,")
        for id, product, project in ((1, 1, 3), (2, 2, 3), (3, 1, 4), (4, 2, 4))
    ],
    "bugs": [
        dict(IN_OPEN, id=1, title="B", product=1), dict(IN_OPEN, id=2, title="B", product=2),
        dict(IN_PRIVATE, id=3, title="B", product=1),
    ],
    "tasks": [
        dict(id=id, name="T", execution=execution, story=story, realStarted="2026-01-01", openedBy="admin")
        for id, execution, story in ((1, 5, 7), (2, 6, 1), (3, 5, 2))
    ],
    "testcases": [
        dict(IN_OPEN, id=1, title="C", product=1, story=7), dict(IN_OPEN, id=2, title="C", product=2, story=7),
        dict(IN_PRIVATE, id=3, title="C", product=1),
    ],
    "departments": [dict(id=1, name="open")],
    "stories": [
        dict(id=1, title="open", product=1, executions=[5, 6], plans=[1]),
        dict(id=2, title="private", product=2, executions=[5], plans=[2], mailto=["dev2"]),
        dict(id=3, title="open", product=1, type="requirement"),
        dict(id=4, title="private", product=2, type="requirement"),
    ],
    "plans": [dict(id=1, title="open", product=1), dict(id=2, title="private", product=2)],
    "builds": [
        dict(IN_OPEN, id=1, name="open", product=1), dict(IN_OPEN, id=2, name="private", product=2),
        dict(IN_PRIVATE, id=3, name="private B", product=1), dict(IN_PRIVATE, id=4, name="private C", product=2),
    ],
    "testtasks": [
        dict(IN_OPEN, id=1, name="open", product=1, testcases=[1]), dict(IN_OPEN, id=2, name="private", product=2),
        dict(IN_PRIVATE, id=3, name="private", product=1, mailto=["dev2"]),
        dict(IN_PRIVATE, id=4, name="private", product=2),
    ],
    "efforts": [dict(id=1, task=1), dict(id=2, task=2)],
    "results": [dict(id=1, case=1), dict(id=2, case=2), dict(id=3, case=3)],
})
OPEN = {"projects": 3, "executions": 5}  # array: the first record that is open, if it is not 1
HIDDEN = {"projects": 4, "executions": 6}  # array: the first one that is private, if it is not 2
# fmt: on
NAMING = []  # what names a record and needs no administrator
for operation in OPERATIONS:
    if operation.named and operation not in (*LISTING, *FOR_ADMINISTRATORS):
        NAMING.append(operation)
OF_QUERY = [one for one in OPERATIONS if one.home]
LINKING = []  # (operation, field that names records, the last array of those)
for operation in OPERATIONS:
    for field, arrays in operation.links.items():
        if arrays != ["departments"]:
            LINKING.append((operation, field, arrays[-1]))


def sees(caller: str, needed: str) -> bool:
    """Tell whether a caller has the sight that a record needs."""
    return set(needed) <= set(SIGHT[caller])


@cache
def private_records() -> sqlite3.Connection:
    """Return a database with PRIVATE, in which an account is its own token."""
    client = Client(load=PRIVATE)
    for account in SIGHT:
        client.give_token(account, account)
    return copy_of(client)


@pytest.fixture
def private(shared):
    """Return an app that holds PRIVATE, in which each caller's token is the caller's account."""
    shared.begin_with(private_records())
    shared.token = "admin"
    return shared


# fmt: off
IN_QUERIES = [  # requests whose query ends with the id of a private record
    "GET /stories?product=2", "GET /productplans?product=2", "GET /builds?project=4", "GET /releases?product=2",
    "GET /testtasks?product=2",
    "GET /bugs?product=2", "GET /executions?project=4", "GET /products?program=2", "GET /products?project=4",
    "GET /options/bug?product=2", *(f"POST {one.at(HIDDEN.get(one.named[-1], 2))}" for one in OF_QUERY),
]
# fmt: on


class TestWhoSeesWhat:
    """The access to private records through every operation that names or lists records."""

    @each_of(NAMING)
    def test_private_record_is_there_for_who_may_see_it(self, private, operation):
        row = INTERFACE[operation.line]
        open_one = OPEN.get(operation.named[-1], 1)
        records = {open_one: "", **sights(row.private)}
        for (id, needed), caller in itertools.product(records.items(), SIGHT):
            if row.state:
                private.sql(f"UPDATE {TABLES[operation.array]} SET status = ?", row.state)
            path = operation.at(id)
            body = least(operation.line, id)
            answer = private.call(operation.method, path, body, Token=caller)
            if not sees(caller, needed):
                assert answer.status_int == 404, (caller, path)
                continue
            assert answer.status_int == operation.status, (caller, path, answer.text)
            if operation.method != "GET":
                private.begin_with(private_records())

    @each_of(LISTING)
    def test_list_and_its_total_leave_out_what_one_may_not_see(self, private, operation):
        rows = INTERFACE[operation.line].shows
        assert not operation.named or {"p", "j"} & set("".join(rows)), "nothing private"
        for (above, below), caller in itertools.product(rows.items(), SIGHT):
            [(id, needed)] = sights(above or "0").items()
            path = operation.at(id)
            private.token = caller
            private.sql("UPDATE task SET assignedTo = ?", caller)  # GET /tasks lists the caller's
            if not sees(caller, needed):
                private.refused("GET", path, status=404)
                continue
            records = sights(below)
            seen = {id for id in records if sees(caller, records[id])}
            for word in ("", *operation.words):
                query = f"?limit=1000&status={word}" if word else "?limit=1000"
                answer = private.get(path + query)
                shown = ids(records_in(answer))
                assert seen.issuperset(shown), (caller, path, query)
                if not word:
                    assert seen == set(shown), (caller, path)
                assert answer.get("total", len(shown)) == len(shown), (caller, path, query)

    @each(
        ("operation", "field", "array"),
        LINKING,
        ids=[f"{operation.line} {field}" for operation, field, _ in LINKING],
    )
    def test_link_to_what_is_private_is_refused_like_one_to_nothing(
        self, private, operation, field, array
    ):
        def rule(id: int, caller: str) -> str:
            """Return what is wrong with the field when a caller names this id."""
            value = [id] if "items" in operation.fields[field] else id
            answer = private.call(operation.method, path, {field: value}, Token=caller)
            fields = answer.json.get("fields", {})
            return fields.get(field, "").replace(str(id), "99")

        home = operation.named[-1] if operation.named else ""
        path = operation.at(OPEN.get(home, 1))
        hidden = HIDDEN.get(array, 2)
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

    @each("caller", SIGHT)
    def test_views_have_what_the_caller_may_see(self, private, caller):
        """Of efforts and results, too, which requests reach through their task or case only."""
        hidden = defaultdict(set)
        for array, records in GUARDED.items():
            needed = sights(records)
            hidden[TABLES[array]] |= {id for id in needed if not sees(caller, needed[id])}
        with another_program(private.uri) as connection:
            connection.create_function("me", 0, partial(str, caller))
            connection.create_function("sees_all", 0, partial(bool, caller in ("admin", "boss")))
            for table, ids in hidden.items():
                every = {id for (id,) in connection.execute(f"SELECT id FROM {table}")}
                seen = {id for (id,) in connection.execute(f"SELECT id FROM seen_{table}")}
                assert seen == every - ids, table

    @each_of(FOR_ADMINISTRATORS)
    def test_users_and_departments_are_for_administrators_to_change(self, private, operation):
        private.refused(operation.method, operation.at(1), {}, status=403, Token="dev2")

    # accounts like those in white lists
    @each(
        "account", ["qa", "a1", "1", "qa11", "qa1.", ".qa1", "qa1@qa1", "only1@boss", "oss", "only"]
    )
    def test_account_is_in_a_white_list_as_a_whole(self, private, account):
        load_user(private, account)
        private.token = private.token_of(account)
        for path in ("/products/2", "/programs/2", "/projects/4"):
            private.refused("GET", path, status=404)

    def test_creator_sees_what_he_made(self, private):
        private.token = "dev2"
        product = private.product(acl="private")["id"]
        project = private.project(products=[product], acl="private")["id"]
        assert private.task(project)["project"] == project
        assert shows(private, "/products", product)

    def test_link_to_what_is_hidden_is_an_id_without_a_title(self, private):
        private.token = "dev2"
        empty = dict.fromkeys(("storyID", "storyTitle", "storyStatus", "latestStoryVersion"))
        holds(private.get("/tasks/3"), story=2, **empty)


NAME_TAKEN = 'cannot be given to a build of this product (got "{}"); choose another'
# fmt: off
GUARDED = {  # array: the records that not everybody sees, with the sight that each needs
    "programs": "2j 9j", "projects": "4j", "executions": "6j", "products": "2p", "stories": "2p 4p", "plans": "2p",
    "bugs": "2p", "testcases": "2p",
    "builds": "2p 3j 4pj", "releases": "2p 3j 4pj", "testtasks": "2p 3j 4pj", "tasks": "2j", "efforts": "2j",
    "results": "2p",
}
BESIDES = {  # array: id: what a record has beyond PRIVATE
    "bugs": {
        1: dict(story=2, plan=2, case=2, task=2, testtask=2, toStory=2, toTask=2, duplicateBug=2, openedBuild="2,3",
                linkBug="2"),
        2: dict(story=1, plan=1, case=1, task=1),
    },
    "releases": {1: dict(build=3, stories="2", bugs="2"), 2: dict(build=1), 3: dict(build=1)},
    "testcases": {1: dict(story=2), 2: dict(story=1)},
    "testtasks": {1: dict(build=3), 3: dict(testcases=[1])}, "stories": {2: dict(version=2)},
    "results": {1: dict(testtask=3)}, "tasks": {2: dict(fromBug=1)},
}
ROLES_OF_OTHERS = dict(PO="dev1", QD="dev1", RD="dev1", whitelist=["po1"])
DATES = dict(begin="2026-02-02", end="2026-02-03")
OTHERWISE = Table("OTHERWISE", {  # array: what all hidden records are in the second database, besides their names
    "programs": dict(ROLES_OF_OTHERS, **DATES, PM="dev1", openedBy="qd1", status="doing", code="o", desc="o"),
    "projects": dict(
        ROLES_OF_OTHERS, **DATES, PM="dev1", openedBy="qd1", status="closed", code="o", model="waterfall", days=1,
    ),
    "executions": dict(DATES, type="stage", status="doing"),
    "products": dict(ROLES_OF_OTHERS, createdBy="qd1", status="closed", type="branch", line=7),
    "releases": dict(date="2026-02-03", status="terminate", bugs="1", build=0, buildName="o"),
    "bugs": dict(status="closed", resolution="fixed", assignedTo="dev2", severity=1, openedDate="2026-11-19T00:00:00Z",
                 story=0, plan=0, case=0),
    "tasks": dict(status="done", consumed=3, estimate=9, assignedTo="dev2", story=0, fromBug=0),
    "testcases": dict(status="wait", version=3, story=0, caseFails=3),
    "stories": dict(status="closed", version=1, estimate=5, openedBy="dev2"),
    "plans": dict(DATES, status="doing"),
    "builds": dict(date="2026-02-03", builder="dev1"),
    "testtasks": dict(DATES, status="doing", owner="dev2", testcases=[]),
    "efforts": dict(date="2026-02-03", consumed=4, left=5, account="dev1"),
    "results": dict(caseResult="fail", lastRunner="dev1"),
})
STATES = dict(tasks="wait", bugs="active", stories="active")  # that records start from, unless INTERFACE says otherwise
# The numbers in bodies: those that name a record of an array although they are no links, and the others.
NUMBERED = dict(story="stories", plan="plans", build="builds", task="tasks", case="testcases", testtask="testtasks",
                result="results", fromBug="bugs", duplicateBug="bugs")
NUMBERS = {"branch", "module", "pri", "severity", "line", "days", "budget", "version", "caseVersion"}
# Of a hidden record, what repeats visible ones that it names, or that name it: "`story, plan, build, module, task,
# case, fromBug` … stay as sent".
REPEATED = {"programName", "projectName", "productName", "executionName", "buildName", "storyTitle", "storyStatus",
            "latestStoryVersion", "needConfirm", "needconfirm", "executions", "tasks", "cases", "testcases"}
REPEATED_IN = {"stories": {"bugs"}}
MOVING_BELOW = {  # "Moving a program, project or execution moves the paths of all below and the `project` of tasks"
    "PUT /programs/<id>": {"path", "grade"}, "PUT /executions/<id>": {"project", "executions"},
    # "the undeleted bugs whose `case` it is"
    "POST /products/<id>/bugs": {"toBugs"}, "POST /bugs": {"toBugs"}, "PUT /bugs/<id>": {"toBugs"},
    "DELETE /bugs/<id>": {"toBugs"},
    # what belongs to a deleted record leaves the counts and lists of others
    "DELETE /projects/<id>": {"releases"}, "DELETE /products/<id>": {"toBugs"}, "DELETE /product/<id>": {"toBugs"},
}
TELLING = {  # where an answer has to depend on what is hidden: how it is refused, in the same words whatever is hidden
    # "a name once a product among those not deleted"
    **dict.fromkeys(("POST /projects/<id>/builds", "POST /builds", "PUT /builds/<id>"), f"name {NAME_TAKEN}."),
    # "A program that has children cannot be deleted"
    "DELETE /programs/<id>": "A program with children cannot be deleted; delete or move them first.",
}
# fmt: on
MEMBERS = ("dev2", "pm1", "only1")
OF_THE_CALLER = {"/user", "/ping", "/tasks?limit=1000"}  # paths
WRITING_AS_MEMBER = [one for one in WRITING if one not in FOR_ADMINISTRATORS]


class Member:
    """A member, whose token is the account, and three databases that differ in what is hidden.

    The records are those of PRIVATE, and BESIDES between hidden and visible ones. In the second
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
            made = Client(load=self.fixture(hidden))
            made.give_token(account, account)
            self.facts.append(self.facts_in(made)[1])
            self.databases.append(copy_of(made))
        self.begin()
        self.shown = self.shown_to_admin()

    def begin(self) -> None:
        """Begin again with the three databases."""
        for client, records in zip(self.clients, self.databases, strict=True):
            client.begin_with(records)

    def fixture(self, hidden: str) -> dict[str, Any]:
        """Return the records; those that are hidden are "as they are", "others" or "deleted"."""
        fixture = json.loads(json.dumps(PRIVATE))
        for array, records in fixture.items():
            for record in records:
                id = record.get("id")
                links = BESIDES.get(array, {})
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

    def visible_ids(self, arrays: list[str]) -> list[int]:
        """Return the ids of the records of some arrays that this member sees."""
        return [id for array, id in ids_in(arrays) if id not in self.hidden.get(array, ())]

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
        yield from ("/options/bug?product=1", "/products/1/bugs?status=needconfirm")
        for operation in OPERATIONS:
            path = operation.path.replace("<user>", self.account)
            if operation.method != "GET" or re.search("departments/|<name>", path):
                continue
            found = [0]
            if "<id>" in path:
                found = self.visible_ids(operation.named)
            if operation in LISTING:
                path += "?limit=1000"
            elif "<id>" in path:
                found.append(next_id(operation.array))
            for id in found:
                yield path.replace("<id>", str(id))

    def see_the_same(self) -> None:
        """Assert that whatever this member reads is the same in all three."""
        for path in self.reads():
            first, second, third = self.answers("GET", path)
            assert first == second == third, path


def answer_of(client: Client, method: str, path: str, token: str, body: Any = None) -> Any:
    """Return the status, the headers and the bytes of an answer, without what webtest looks at."""
    path, _, query = path.partition("?")
    sent = json.dumps(body or {}).encode()
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": query}
    environ |= {"CONTENT_LENGTH": str(len(sent)), "wsgi.input": io.BytesIO(sent)}
    environ["HTTP_TOKEN"] = token
    wsgiref.util.setup_testing_defaults(environ)
    started = []
    content = b"".join(client.service(environ, lambda *answer: started.append(answer)))
    [(status, headers, *_)] = started
    headers = [header for header in headers if header[0] != "X-Request-Id"]
    return int(status.split()[0]), headers, content


def ids_in(arrays: list[str]) -> list[tuple[str, int]]:
    """Return (array, id) of every record of some arrays of PRIVATE."""
    found = []
    for array in arrays:
        found += [(array, record["id"]) for record in PRIVATE[array]]
    return found


def next_id(array: str) -> int:
    """Return the id that the next record of an array gets in PRIVATE."""
    alike = [one for one in PRIVATE if TABLES[one] == TABLES[array]]
    return 1 + max(id for _, id in ids_in(alike))


def telling_bodies(operation: Operation, id: int, hidden: Any) -> Iterator[Any]:
    """Yield bodies: the least, and those that name hidden records, for each field and record."""
    body = least(operation.line, id or 5)
    fields = operation.fields
    yield body
    for more in telling_fields(fields, operation.links, hidden):
        yield {**body, **more}
    for field, schema in fields.items():
        items = schema.get("items", {}).get("properties", {})
        if items and body.get(field):
            for more in telling_fields(items, {}, hidden):
                yield {**body, field: [body[field][0] | more]}
    if "acl" in fields:
        yield {**body, "acl": "private"}
    for record in PRIVATE.get(operation.array, ()):
        if record.get("id") in hidden.get(operation.array, ()):
            for field in {"name", "title"} & fields.keys():
                yield {**body, field: record[field]}


def telling_fields(fields: Any, links: Any, hidden: Any) -> Iterator[dict[str, Any]]:
    """Yield what may tell of hidden records: all texts and persons, then each id by itself."""
    yield dict(texts_and_people(fields))
    for field, schema in fields.items():
        for id in ids_to_name(field, links, hidden):
            yield {field: [id] if "items" in schema else id}


def texts_and_people(fields: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every text as ids, and every person."""
    for field, schema in fields.items():
        if "@" in schema.get("pattern", ""):
            yield field, "dev1"
        elif "@" in schema.get("items", {}).get("pattern", ""):
            yield field, ["dev1"]
        elif schema == {"type": "string"} and field not in ("email", "phone", "mobile", "role"):
            yield field, "2,3,4"


def ids_to_name(field: str, links: Any, hidden: Any) -> list[int]:
    """Return the ids of all hidden records that a field can name, and of one that is visible."""
    named = []
    if field in NUMBERED:
        named = [(NUMBERED[field], id) for id in hidden[NUMBERED[field]]]
    if field in links:
        named = ids_in(links[field])
    out_of_sight = [id for array, id in named if id in hidden.get(array, ())]
    in_sight = [id for array, id in named if id not in hidden.get(array, ())]
    return out_of_sight + in_sight[-1:]


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
        clients = [Client() for _ in range(3)]
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
            for field in operation.fields.keys() - operation.links.keys():
                schema = operation.fields[field]
                if schema.get("items", schema).get("type") == "integer":
                    numbers.add(field)
        assert numbers == NUMBERED.keys() | NUMBERS

    @each("account", MEMBERS)
    def test_member_sees_the_same_whatever_is_hidden(self, members, account):
        member = members(account)
        first, second, third = member.facts
        assert first != second != third
        member.see_the_same()

    def test_member_who_may_see_everything_is_shown_what_an_administrator_is(self, members):
        member = members("dev1")
        assert not any(member.hidden.values())
        for path in {*member.reads()} - OF_THE_CALLER:
            first, *_ = member.answers("GET", path)
            assert first == answer_of(member.clients[0], "GET", path, "t"), path

    def test_stage_and_cases_follow_what_the_caller_may_see(self, private):
        """A story of an open product in a hidden project, and a case of a hidden story there."""
        private.load(
            stories=[
                dict(id=20, product=1, title="S", executions=[6]),
                dict(id=21, product=2, title="H", executions=[5]),
            ],
            testcases=[dict(id=20, product=1, title="C", story=21)],
            releases=[dict(id=20, product=1, project=4, name="R", stories="20")],
        )
        for token, stage, cases in (("dev1", "released", [20, 2, 1]), ("dev2", "wait", [1])):
            private.token = token
            assert private.get("/stories/20")["stage"] == stage
            assert shows(private, "/stories?status=wait", "20") == (stage == "wait")
            assert ids(private.get("/projects/3/testcases")["cases"]) == cases
            assert ids(private.get("/executions/5/testcases")["cases"]) == cases

    def test_user_called_like_nobody_is_nobody(self, private):
        private.load(users=[dict(account="-", realname="Secret Name")])
        for path in ("/", "/prodcts", "/bugs/1"):
            assert "Secret Name" not in browse(private, path, None, 401).text

    @each("account", MEMBERS)
    @each_of(WRITING_AS_MEMBER)
    def test_write_neither_tells_nor_changes_anything_hidden(self, members, operation, account):
        member = members(account)
        ids = [0]
        if "<user>" in operation.path:
            ids = [account]
        elif operation.named:
            ids = member.visible_ids(operation.named)
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
        path = operation.at(id)
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
        moved = MOVING_BELOW.get(operation.line, ())
        for array, id, field in found:
            assert field in moved, (path, array, id)
        return alike

    def send(self, member, operation, path, bodies):
        """Send bodies; return False after one that TELLING says is not answered alike.

        The first body must be taken.
        """
        line = operation.line
        state = INTERFACE[line].state
        if operation.named == [operation.array]:
            state = state or STATES.get(operation.array)
        for number, body in enumerate(bodies):
            if state:
                sql = f"UPDATE {TABLES[operation.array]} SET status = ? WHERE id = ?"
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


def in_another_thread(call: Callable[..., Any], *values: Any) -> Any:
    """Call from another thread, because Bottle keeps one request for each."""
    with ThreadPoolExecutor(1) as another:
        return another.submit(call, *values).result(30)


@each("path", ["/products/1/bugs", "/productplans/1"])
def test_everything_in_an_answer_is_of_one_moment(statements, filed_world, path):
    def delete_bugs(_, sql: str, *values: Any) -> None:
        """Delete all bugs just before they are listed."""
        if re.match("SELECT .*FROM bug WHERE .*LIMIT", sql, re.DOTALL):
            other.execute("UPDATE bug SET deleted = 1")

    filed_world.sql("UPDATE bug SET plan = 1")
    with another_program(filed_world.uri) as other:
        statements.before = delete_bugs
        shown = filed_world.get(path)
        assert other.execute("SELECT count(*) FROM bug WHERE NOT deleted").fetchone() == (0,)
    assert ids(shown["bugs"]) == [2, 1]
    assert shown.get("total", 2) == 2


def timeouts_in(statements: list[str]) -> set[int]:
    """Return the milliseconds that statements let transactions wait for SQLite's lock."""
    return {int(sql.split()[-1]) for sql in statements if sql.startswith("PRAGMA busy_timeout")}


def refuses(
    client: Client, status: int, word: str, method: str = "POST", path: str = "/products"
) -> None:
    """Send a request, a long product unless another is given; check that it is refused so."""
    answer = client.call(method, path, dict(name="P", desc="x" * 60_000))
    assert answer.status_int == status
    assert word in answer.json["error"]


def setting_pragma(pragma: str) -> Callable[..., None]:
    """Return a function that sets a pragma before each statement."""

    def set_pragma(connection: sqlite3.Connection, *_: Any) -> None:
        connection.cursor().execute(f"PRAGMA {pragma}")

    return set_pragma


# fmt: off
WRITES_FAIL_BY = [  # a setting, the status and a word of the refusal
    ("max_page_count = 1", 507, "full"),  # SQLite keeps to the present size
    ("query_only = ON", 503, "read-only"),
]
# fmt: on


class TestTroubleWithTheFile:
    """Errors of SQLite, provoked on a real file: each has its status and its sentence."""

    @each(("setting", "status", "word"), WRITES_FAIL_BY)
    def test_full_disk_or_read_only_file_takes_no_writes(
        self, statements, filed_world, setting, status, word
    ):
        statements.before = setting_pragma(setting)
        refuses(filed_world, status, word)
        assert filed_world.get("/products")["total"] == 2

    def test_locked_file_is_busy(self, statements, filed_world):
        with filed_world.as_another_program() as other:
            other.execute("BEGIN IMMEDIATE")
            statements.before = setting_pragma("busy_timeout = 0")
            refuses(filed_world, 503, "busy")
            assert filed_world.get("/products")["total"] == 2
            other.execute("ROLLBACK")
        assert filed_world.product()["id"] == 3

    def test_writer_waits_five_seconds_for_all_locks_together(self, statements, client):
        """Writers that have waited for others here wait less for another process."""

        def note(_, sql, *values):
            said.append(sql)

        said = []
        statements.before = note
        with ThreadPoolExecutor(8) as threads:
            until = time.monotonic() + 60
            while not timeouts_in(said) - {5000}:
                assert time.monotonic() < until
                wait([threads.submit(client.product) for _ in range(8)])
        assert max(timeouts_in(said)) <= 5000

    @only_if(POSIX, "Windows has no limit of the size of files")
    def test_files_that_cannot_grow_take_no_writes_but_are_read_and_sorted(self, filed):
        filed.load(**bugs_of_one_product(100, steps="x" * 60_000))
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        try:
            refuses(filed, 503, "cannot be read or written")
            shown = filed.get("/products/1/bugs?order=steps_asc&limit=100")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert len(shown["bugs"]) == 100
        assert filed.product()["id"] == 2

    @OPEN_FILES
    def test_removed_file_cannot_be_opened(self, statements, filed_world):
        def remove(*_):
            statements.before = ignore
            os.rename(filed_world.path, f"{filed_world.path}.old")
            in_another_thread(refuses, filed_world, 503, "cannot be opened", "GET")

        statements.before = remove  # while the only open connection is in use
        assert filed_world.get("/products")["total"] == 2

    def test_damaged_pages_are_named_as_such(self, filed_world):
        filed_world.close()
        with opened(filed_world.path, control=False) as again:  # which has read no records
            with open(filed_world.path, "r+b") as file:
                file.seek(4096)
                file.write(b"\xff" * 10**6)
            refuses(again, 503, "damaged", "GET", "/bugs/1")

    def test_reset_while_a_body_comes_in_takes_its_sender_away(self):
        class Late(io.BytesIO):
            def read(self, *size: int) -> bytes:
                in_another_thread(client.post, "/-/reset")
                return super().read(*size)

        with opened() as client:
            client.load(users=[dict(account="new1", admin=True)])
            token = client.token_of("new1")
            request = webtest.TestRequest.blank(
                "/products",
                method="POST",
                headers={"Token": token, "Content-Length": "13"},
                body_file_raw=Late(b'{"name": "P"}'),
            )
            answer = client.app.do_request(request, expect_errors=True)
            assert answer.status_int == 503
            assert "reset" in answer.json["error"]


# fmt: off
MORE_WRITES = [  # a login, and two that are refused within their transaction, whose ROLLBACK may fail, too
    ("POST", "/tokens",             b'{"account": "dev1", "password": "secret"}'),
    ("POST", "/products",           b'{"name": "P", "PO": 99}'),
    ("POST", "/executions/3/tasks", dict(TASK, assignedTo=["new1", 99])),
]
# fmt: on


class TestFailingStatements:
    ERRORS = (sqlite3.OperationalError, MemoryError)

    @pytest.fixture
    def world(self, statements):
        """Yield an app of its own, whose statements are seen, that holds WORLD."""
        with contextlib.closing(Client()) as client:
            client.begin_with(database_of("WORLD"))
            yield client

    @each(("method", "path", "body"), [*WRITES, *MORE_WRITES])
    def test_any_leaves_no_trace_and_no_lock(self, statements, world, method, path, body):
        def fail(*_):
            self.left -= 1
            if self.left == 0:
                raise self.ERRORS[failing % 2]("made to fail")

        world.load(users=[dict(account="dev1", password=SECRET)])
        with world.as_another_program() as other:
            changes = partial(other.execute, "PRAGMA data_version")  # each commit of others is one
            before = changes().fetchone()
            statements.before = fail
            for failing in itertools.count(1):
                self.left = failing
                answer = world.call(method, path, body)
                if self.left > 0:  # it has fewer statements
                    break
                assert answer.status_int in (500, 503), answer.text
                assert "made to fail" not in answer.text
                assert changes().fetchone() == before
                other.execute("BEGIN IMMEDIATE")
                other.execute("ROLLBACK")
        assert failing > 3  # at least BEGIN, one statement and COMMIT or ROLLBACK failed
        assert answer.status_int < 500


class TestSideBySide:
    def test_token_of_an_app_may_have_any_letters(self):
        with opened(token="geheim-é") as client:
            client.token = "geheim-é".encode().decode("latin-1")  # as WSGI passes its bytes
            assert client.get("/products")["total"] == 0

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
            command = [*SERVICE, "check", "--database", filed.path]
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

    @only_if(POSIX, "Windows does not list the descriptors of a process")
    @each("is_in_use", [False, True])
    def test_closed_app_leaves_no_descriptor_or_thread(self, statements, tmp_path, is_in_use):
        """A connection that is in use is closed when it is returned."""

        def take_another(*_):
            statements.before = ignore
            in_another_thread(client.get, "/products")
            if is_in_use:
                client.close()

        threads, files = {*threading.enumerate()}, len(os.listdir("/dev/fd"))
        client = Client(tmp_path / "pm.db")
        statements.before = take_another
        assert client.product()["id"] == 1
        if not is_in_use:
            client.close()
        assert not {*threading.enumerate()} - threads
        assert len(os.listdir("/dev/fd")) <= files

    def test_closed_app_in_memory_leaves_no_records(self, client):
        client.product()
        client.close()
        assert client.sql("SELECT * FROM sqlite_schema") == []

    @MODES
    def test_database_is_readable_by_its_owner_only(self, filed):
        filed.product()
        folder = filed.path.parent
        assert set(os.listdir(folder)) == {"pm.db", "pm.db-wal", "pm.db-shm"}
        for file in folder.iterdir():
            assert file.stat().st_mode & 0o777 == 0o600, file


SCHEMA = (HERE / "schema.sql").read_text("utf-8")
PARTS = [int(one) for one in re.findall("^-- === Version ([0-9]+)", SCHEMA, re.MULTILINE)]
NEXT_VERSION = PARTS[-1] + 1
NEXT_PART = f"""
-- === Version {NEXT_VERSION}
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


def module_in(folder: Path, name: str, schema: str) -> Any:
    """Return a copy of the module of this name that lies beside another schema."""
    shutil.copy(HERE / "pmservice.py", folder / f"{name}.py")
    (folder / "schema.sql").write_text(schema, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        return importlib.import_module(name)


@pytest.fixture(scope="module")
def later(tmp_path_factory):
    """Return a module of a later version."""
    return module_in(tmp_path_factory.mktemp("later"), "pmservice_later", SCHEMA + NEXT_PART)


# In a copy with these views, everybody sees every product, and answers show nothing else.
OPEN_TO_ALL = re.sub("(VIEW seen_product AS SELECT [*] FROM product)[^;]*;", r"\1;", SCHEMA)
OPEN_TO_ALL = re.sub("(VIEW shown_user AS SELECT [*] FROM) user;", r"\1 nothing;", OPEN_TO_ALL)


@pytest.fixture(scope="module")
def careless(tmp_path_factory):
    """Return a module of this version whose views show more, or name what is not there."""
    return module_in(tmp_path_factory.mktemp("careless"), "pmservice_careless", OPEN_TO_ALL)


# fmt: off
ODD_ROWS = [
    "INSERT INTO user (account, realname, admin) VALUES ('admin', 'admin', 1)",
    "INSERT INTO user (account, realname, email, phone, mobile) VALUES ('a', '  ', 'x y', 'call me', '+49 123 456')",
    "INSERT INTO department (name, \"order\") VALUES ('d', 9007199254740993)",
    "INSERT INTO project (id, type, name, begin, end, acl)"
    " VALUES (1, 'project', 'J', '2026-02-02', '2026-02-03', 'open')",
    "INSERT INTO project (id, type, name, begin, end, acl, project, parent, days)"
    " VALUES (2, 'sprint', 'E', '2026-02-02', '2026-02-03', 'open', 1, 1, 500)",
    "INSERT INTO project (id, type, name, begin, end, acl, realBegan, realEnd)"
    " VALUES (3, 'program', 'P', '2026-02-02', '2026-02-03', 'open', '2026-02-02', '2026-02-01')",
    "INSERT INTO product (id, name) VALUES (1, 'P')", "UPDATE product SET \"order\" = 5",
    "UPDATE project SET \"order\" = 5, model = 'scrum'",
    "INSERT INTO story (id, product, title, version) VALUES (1, 1, 'S', 9007199254740993)",
    "INSERT INTO story (id, product, title, parent, estimate) VALUES (2, 1, 'T', 1, 5e9)",
    "INSERT INTO task (id, project, execution, name, status, \"left\") VALUES (1, 1, 2, 'T', 'done', 4)",
    "INSERT INTO bug (product, title, status, resolution, activatedCount)"
    " VALUES (1, 'B', 'closed', 'fixed', 9007199254740993)",
    "INSERT INTO bug (product, title, openedBuild) SELECT 1, 'B', hex(zeroblob(40000))",
    "INSERT INTO release (product, name, date, mailto) SELECT 1, 'R', '2026-02-02', hex(zeroblob(40000))",
    "INSERT INTO testcase (product, title, caseFails) VALUES (1, 'C', 9007199254740993)",
    "INSERT INTO plan (id, product, title, begin, end) VALUES (1, 1, 'P', '2026-03-01', '2026-03-31')",
    "INSERT INTO plan (id, product, parent, title, begin, end) VALUES (2, 1, 1, 'P', '2026-02-01', '2026-04-30')",
]
# fmt: on


class TestUpgrades:
    """A file of an older version runs the parts of the schema that it lacks: here NEXT_PART."""

    @pytest.fixture
    def kept(self, tmp_path):
        """Return the path of a file of this version, with some of everything."""
        path = tmp_path / "kept.db"
        Client(path, load=FILLED).close()
        return path

    @staticmethod
    def content(path: Path) -> list[str]:
        """Return the statements that make the tables and rows of a file."""
        with another_program(path) as file:
            return list(file.iterdump())

    def test_upgraded_file_has_all_that_was_in_it(self, statements, kept, later):
        def look(connection, *_):
            checked.extend(connection.cursor().execute("PRAGMA foreign_keys").fetchone())

        checked = []
        with pmservice.running(kept, control=True) as served:
            before = served.dump()
        with later.running(kept, control=True) as served:
            statements.before = look
            assert served.dump() == before
            served.post("/products", {"name": "New"})
        assert {*checked} == {1}
        with another_program(kept) as file:
            noted = file.execute("SELECT text FROM note").fetchall()
            assert noted == [("Shop",), ("Till",), ("New",)]
        assert later.main(["check", "--database", str(kept)]) == 0

    def test_views_of_a_file_decide_nothing_and_stay(self, kept):
        """Of an earlier version, which stored them, or of anybody else."""
        with another_program(kept) as file:
            file.execute("CREATE VIEW seen_product AS SELECT * FROM product")
            file.execute("CREATE VIEW shown_bug AS SELECT 1 AS id")
            file.execute("CREATE VIEW bugs_of_mine AS SELECT * FROM bug")
        with opened(kept) as client:
            assert client.get("/bugs/1")["title"]
        with another_program(kept) as file:
            views = dict(file.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'view'"))
        assert views["shown_bug"] == "CREATE VIEW shown_bug AS SELECT 1 AS id"
        assert views.keys() == {
            "named_story",
            "counted",
            "seen_product",
            "shown_bug",
            "bugs_of_mine",
        }

    READING = ("check", "dump", "backup copy.db")

    @staticmethod
    def bytes_of(path: Path) -> dict[str, bytes]:
        """Return what a file and its log hold.

        Another process reads them: closing a file gives up the locks of its whole process.
        """
        script = "import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read())"
        paths = [str(one) for one in (path, Path(f"{path}-wal")) if one.exists()]
        runs = {one: [sys.executable, "-c", script, one] for one in paths}
        return {one: subprocess.check_output(command) for one, command in runs.items()}

    @each("command", READING)
    @each("state", ["closed", "backup", "served", "killed"])
    def test_command_that_reads_changes_no_byte(self, kept, run, tmp_path, state, command):
        """Of a file that is closed, a backup, served, or whose service was killed."""
        with contextlib.ExitStack() as stack:
            if state == "backup":
                assert run("backup", "other.db", "-d", "kept.db")[0] == 0
                os.replace("other.db", "kept.db")
            if state in ("served", "killed"):
                stack.enter_context(opened(kept)).product()
            if state == "killed":
                for suffix in ("", "-wal"):
                    shutil.copy(f"kept.db{suffix}", f"left.db{suffix}")
                kept = tmp_path / "left.db"
            before = self.bytes_of(kept)
            code, shown, _ = run(*command.split(), "-d", str(kept))
            assert code == 0
            assert self.bytes_of(kept) == before
            if state in ("served", "killed") and command == "dump":
                assert len(json.loads(shown)["products"]) == 3

    @each("command", READING)
    def test_reading_upgrades_nothing(self, kept, later, monkeypatch, capsys, command):
        """A backup of an old file is as old: the old version can still serve it."""
        monkeypatch.chdir(kept.parent)
        before = self.bytes_of(kept)
        code = later.main([*command.split(), "-d", "kept.db"])
        told = capsys.readouterr().err
        assert self.bytes_of(kept) == before
        if "backup" in command:
            assert code == 0
            with opened("copy.db") as client:
                assert client.get("/bugs/1")["title"]
        else:
            assert code == 2
            assert "written by an older pmservice; upgrade it by serving it once" in told

    @each("command", [*READING, "user dev9", "load x.json"])
    def test_another_copy_shows_nobody_more(self, tmp_path, careless, monkeypatch, command):
        """Whatever a command of a copy with other views does beside a running service."""
        monkeypatch.chdir(tmp_path)
        Path("x.json").write_text('{"products": [{"name": "Q"}]}')
        with opened("pm.db", load=PRIVATE) as client:
            client.give_token("dev2", "dev2")
            seen = client.call("GET", "/products", Token="dev2").json["products"]
            careless.main([*shlex.split(command, posix=False), "-d", "pm.db"])
            for again in (client, another := Client("pm.db")):
                products = again.call("GET", "/products", Token="dev2").json["products"]
                assert products == seen
                assert again.call("GET", "/users", Token="dev2").status_int == 200
            another.close()

    def test_upgrade_mends_what_a_dump_could_not_load(self, tmp_path):
        """Mend the rows that version 10 took, and count the bugs anew."""
        path = tmp_path / "old.db"
        first = SCHEMA[SCHEMA.index("-- === Version 10") : SCHEMA.index("-- === Version 11")]
        with another_program(path) as file:
            file.executescript(first)
            for statement in ODD_ROWS:
                file.execute(statement)
        with opened(path) as client:
            loads_the_same(client)
            assert client.get("/executions/2")["days"] == 2
            holds(client.get("/users/a"), realname="a", email="", phone="", mobile="+49 123 456")
            assert client.get("/tasks/1")["left"] == 0
            assert [one["estimate"] for one in client.dump()["stories"]] == [10**9, 10**9]
            holds(client.get("/products/1"), bugs=2, unResolved=1, closedBugs=1, fixedBugs=1)
            holds(client.get("/productplans/1"), begin="2026-02-01", end="2026-04-30")
            assert problems(client) == []

    def test_upgrade_says_so_in_the_log(self, kept, later, capsys):
        told = f"kept.db: upgraded from version {NEXT_VERSION - 1} of its tables to {NEXT_VERSION}"
        for path, words in ((kept, [told]), (kept, []), (kept.with_name("new.db"), [])):
            assert later.main(["user", "new1", "--database", str(path)]) == 0
            assert re.findall("[a-z]+.db: upgraded from .*(?=;)", capsys.readouterr().err) == words

    def test_interrupted_upgrade_leaves_the_old_version_and_is_made_up_for(
        self, statements, kept, later
    ):
        def interrupt(*_):
            if next(left) == 0:
                raise MemoryError

        def upgrade():
            later.create_app(kept, token="t").close()

        image, old = kept.read_bytes(), self.content(kept)
        upgrade()
        new = self.content(kept)
        for spared in itertools.count():
            kept.write_bytes(image)
            left = itertools.count(spared, -1)
            statements.before = interrupt
            try:
                upgrade()
                break
            except MemoryError:
                statements.before = ignore
                assert self.content(kept) in (old, new)
            upgrade()
            assert self.content(kept) == new
        assert spared > 3

    @each("command", ["check", "dump", "load x.json", "user dev1", "backup copy.db", "--port 0"])
    def test_file_from_before_the_first_release_is_refused(self, kept, run, command):
        Path("x.json").write_text("{}")
        with another_program(kept) as file:
            file.execute(f"PRAGMA user_version = {PARTS[0] - 1}")
        image = kept.read_bytes()
        code, shown, told = run(*command.split(), "--database", "kept.db")
        assert (code, shown) == (2, "")
        assert re.fullmatch("pmservice: kept.db: .* first release;.*pmservice dump.*\n", told)
        assert kept.read_bytes() == image
        assert sorted(os.listdir()) == ["kept.db", "x.json"]

    @each(("image", "first"), [("new", 1), ("kept", 3)])
    def test_file_whose_writer_was_killed_is_rolled_back(self, tmp_path, kept, image, first):
        path = tmp_path / f"{image}.db"
        with another_program(path) as killed:
            killed.execute("PRAGMA journal_mode = DELETE")
            killed.execute("PRAGMA cache_size = 1")  # pages reach the file before a commit
            killed.execute("BEGIN")
            killed.execute("CREATE TABLE half (text)")
            killed.executemany("INSERT INTO half VALUES (?)", [("x" * 3000,)] * 99)
            for suffix in ("", "-journal"):
                shutil.copy(f"{path}{suffix}", tmp_path / f"pm.db{suffix}")
        with opened(tmp_path / "pm.db") as client:
            assert client.product()["id"] == first
            assert client.sql("SELECT count(*) FROM sqlite_schema WHERE name = 'half'") == [(0,)]


# --- 8 Rules: what the operations do --------------------------------------------------------------


def send(client, line, body=None, **headers):
    """Send a request that must succeed, and return the answer."""
    return client.succeed(*line.split(), body, **headers)


def follow(client, steps):
    """Send one request after the other, and check some fields of a record after each.

    A step: the request, its body, the path of the record ("": it is the answer) and its fields.
    """
    for line, body, path, facts in steps:
        answer = send(client, line, body)
        record = client.get(path) if path else answer
        holds(record, **facts)


# fmt: off
HOMES_MOVED = [  # one after the other: the request, what is sent, and the paths and grades that change
    ("POST /programs",    dict(HOME, parent="7"), {8: (",6,7,8,", 3)}),
    ("PUT /projects/1",   dict(parent=7),         {1: (",6,7,1,", 3)}),
    ("PUT /programs/7",   dict(parent=0),         {7: (",7,", 1), 1: (",7,1,", 2), 8: (",7,8,", 2)}),
    ("PUT /programs/8",   dict(parent="0"),       {8: (",8,", 1)}),
    ("PUT /projects/4",   dict(parent="6"),       {4: (",6,4,", 2)}),
    ("PUT /programs/6",   dict(parent=8),         {6: (",8,6,", 2), 4: (",8,6,4,", 3)}),
    ("PUT /executions/3", dict(project=4),        {3: (",4,3,", 1)}),
]
WHITELISTS = [  # each names dev1 and qa1
    ["dev1", "qa1"], "dev1,qa1", [4, 6], [reference("dev1"), {"id": 6}], ["dev1", "qa1", "dev1", ""],
    ["dev1", 4, "qa1"],
]
OPEN_WITH_LIST = dict(acl="open", whitelist=["dev1"])
OPENED_LATER = [  # what is sent to an open record, one after the other, and its white list after that
    (dict(OPEN_WITH_LIST, acl="private"), ["dev1"]), (dict(acl="open"), []), (dict(whitelist=["dev1"]), []),
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

    def test_moving_one_moves_all_below(self, shop):
        expected = places(shop)
        for line, sent, changed in HOMES_MOVED:
            send(shop, line, sent)
            expected |= changed
            assert places(shop) == expected, (line, sent)

    @each("whitelist", WHITELISTS)
    def test_whitelist_is_an_array_or_comma_text(self, shop, whitelist):
        program = shop.program(acl="private", whitelist=whitelist)
        holds(program, whitelist=["dev1", "qa1"])
        project = shop.project(whitelist=whitelist)
        holds(project, whitelist=",dev1,qa1,")

    @each("array", ["programs", "products", "projects", "projects/1/executions"])
    def test_open_record_has_no_whitelist(self, shop, array):
        line = f"POST /{array}"
        body = good(line, **OPEN_WITH_LIST)
        id = send(shop, line, body)["id"]
        path = f"/{array.split('/')[-1]}/{id}"
        assert shop.get(path)["whitelist"] == []
        for sent, kept in OPENED_LATER:
            changed = shop.put(path, **sent)
            holds(changed, whitelist=kept)


class TestProjects:
    def test_project_has_products_that_are_not_deleted(self, shop):
        made = shop.project(products=[2, "1"])
        listed = shop.get(f"/products?project={made['id']}")
        assert ids(listed["products"]) == [1, 2]
        remove(shop, "/products/2")
        body = dict(HOME, products=[1, 2])
        assert broken(shop, "POST /projects", body) == "products"

    def test_deleted_one_has_no_tasks_of_its_own(self, shop):
        remove(shop, "/projects/4")
        shop.refused("GET", "/executions/4/tasks", status=404)
        shop.refused("POST", "/executions/4/tasks", TASK, status=404)


# fmt: off
DAYS = [  # one after the other: what is sent to an execution, and the most days if it has too many
    (dict(begin="2026-03-02", end="2026-03-06", days=5), 0), (dict(days=6), 5), (dict(end="2026-03-05"), 4),
    (dict(begin="2026-03-03"), 4),
]
# fmt: on


class TestExecutions:
    def test_new_one_lies_within_its_projects_days(self, shop):
        assert (
            broken(
                shop,
                "POST /projects/1/executions",
                dict(name="E", begin="2020-01-01", end="2060-01-02"),
            )
            == "begin end"
        )

    def test_it_moves_only_to_a_project_whose_days_cover_its_own(self, shop):
        short = dict(MARCH, id=9, name="Short")
        shop.load(projects=[short])
        move = dict(project=9)
        assert broken(shop, "PUT /executions/2", move) == "begin end"
        moved = shop.put("/executions/2", **move, **MARCH)
        assert moved["project"] == 9

    def test_it_is_a_sprint_for_all_products_or_some_and_as_long_as_its_project(self, shop):
        made = shop.post("/projects/1/executions", **HOME)
        holds(made, type="sprint", acl="private")
        shop.post("/projects/1/executions", name="E", **YEAR, products=[2])
        *_, first, second = shop.dump()["executions"]
        assert first["products"] == [1, 2]
        assert second["products"] == [2]

    def test_days_are_at_most_those_from_begin_to_end(self, shop):
        for sent, most in DAYS:
            if most:
                refusal = shop.refused("PUT", "/executions/3", sent)
                rule = f"must be at most {most}, from begin to end"
                assert rule in refusal["fields"]["days"], sent
            else:
                changed = shop.put("/executions/3", **sent)
                holds(changed, **sent)

    def test_tasks_go_along_to_another_project_and_stories_stay_in_both(self, filled):
        story(filled, "?objectID=2")
        other = filled.task(1)["id"]
        assert filled.get("/projects/4/stories")["total"] == 0
        moved = filled.put("/executions/2", project=4)
        holds(moved, project=4, parent=4)
        for id, project in ((1, 4), (other, 1)):
            task = filled.get(f"/tasks/{id}")
            assert task["project"] == project
        for path in ("/executions/2", "/projects/4", "/projects/1"):
            listed = filled.get(f"{path}/stories")
            assert listed["total"] == 1
            assert len(listed["stories"]) == 1

    def test_tasks_of_a_deleted_one_stay(self, filled):
        before = filled.get("/tasks/1")
        remove(filled, "/executions/2")
        assert filled.get("/tasks/1") == before

    def test_project_may_begin_and_end_with_its_executions(self, filled):
        execution = filled.get("/executions/2")
        days = dict(begin=execution["begin"], end=execution["end"])
        holds(filled.put("/projects/1", **days), **days)


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
WEEKS = [  # zone, a moment of the week, the seconds before and after its begin, and those of the next week
    ("UTC", NOW_ISO,
     ["2026-11-15T23:59:59Z", "2026-11-16T00:00:00Z", "2026-11-22T23:59:59Z", "2026-11-23T00:00:00Z"]),
    *(("Europe/Berlin", now,  # an hour shorter
       ["2026-03-22T22:59:59Z", "2026-03-22T23:00:00Z", "2026-03-29T21:59:59Z", "2026-03-29T22:00:00Z"])
      for now in ("2026-03-25T12:00:00Z", "2026-03-29T21:59:59Z")),
]
# fmt: on


class TestProducts:
    def test_bugs_are_counted_by_what_they_are(self, shop):
        expected = Counter()
        for place, (bug, counters) in enumerate(COUNTED_BUGS):
            number = 2**place  # so that each sum says what is in it
            one = {"product": 1, "title": "B", "openedDate": "2020-01-01", **bug}
            shop.load(bugs=[one] * number)
            expected.update(dict.fromkeys(counters.split(), number))
        product, *_ = shop.get("/products")["products"]
        holds(product, **expected)

    @each(("zone", "now", "moments"), WEEKS)
    def test_this_week_is_monday_to_sunday_by_local_clocks(self, zone, now, moments):
        with opened(timezone=zone) as client:
            for id, moment in enumerate(moments, 1):
                bug = dict(product=id, title="B", openedDate=moment)
                client.load(products=[dict(name="P")], bugs=[bug])
            for moment, counted in ((now, [0, 1, 1, 0]), (moments[-1], [0, 0, 0, 1])):
                client.clock.set(moment)
                products = client.get("/products")["products"]
                assert [product["thisWeekBugs"] for product in products] == counted

    def test_releases_are_counted_for_those_who_see_them(self, private):
        release = dict(name="R", product=1)
        private.load(releases=[release, dict(release, deleted=True)])
        for private.token in SIGHT:
            for product in private.get("/products")["products"]:
                path = f"/products/{product['id']}"
                total = private.get(f"{path}/releases")["total"]
                assert product["releases"] == private.get(path)["releases"] == total

    def test_counts_have_their_keys_in_the_order_of_the_specification(self, world):
        first, second = world.get("/products")["products"]
        assert [*first["stories"]] == [*NO_STORIES]
        assert [*second["requirements"]] == [*COUNTS]


# fmt: off
STORY_MOVES = {
    # move:         what is sent,             from which states,             to which ("": it stays)
    "POST change":   (dict(title="New"),      "draft active changed",        ""),
    "POST close":    ({},                     "draft active changed",        "closed"),
    "POST active":   (dict(status="draft"),   "closed changed draft",        "active"),
    "POST activate": ({},                     "closed changed draft",        "active"),
    "DELETE recall": (None,                   "draft changed",               "draft"),
    "POST assign":   (dict(assignedTo="qa1"), "draft active changed closed", ""),
    "POST review":   (dict(result="pass"),    "draft changed",               "active"),
}
VERDICTS = [  # the votes of both reviewers, the state that they lead to, and who closed the story
    ("dev1 pass",   "qa1 pass",     "active", None),   ("qa1 reject",  "dev1 pass", "closed", "dev1"),
    ("qa1 reject",  "dev1 clarify", "draft",  None),   ("qa1 clarify", "dev1 pass", "draft",  None),
    ("qa1 clarify", "dev1 reject",  "closed", "dev1"),
]
MAKE_STORY = "POST /products/1/stories"
CHANGE_STORY = "POST /stories/1/change"
STORY_VERSIONS = [  # of a story without a text
    (CHANGE_STORY, dict(title="S"),    "", dict(version=1)),
    (CHANGE_STORY, dict(title="new"),  "", dict(version=2, title="new", spec="", status="active")),
    (CHANGE_STORY, dict(spec="new"),   "", dict(version=3, spec="new")),
    (CHANGE_STORY, dict(verify="new"), "", dict(version=4, verify="new")),
]
# one after the other: the request, and the stages of the stories 1 to 3 after it; 3 is another product's
STORY_STAGES = [
    ("POST /productplans/1/linkstories",   dict(stories=[1]),               "planned wait wait"),
    ("POST /executions/2/tasks",           dict(TASK, story=1),             "projected wait wait"),
    ("POST /projects/1/releases",          dict(RELEASE, stories="3,1"),    "released wait wait"),
    ("POST /stories/1/close",              {},                              "closed wait wait"),
    ("POST /stories/1/active",             {},                              "released wait wait"),
    ("PUT /releases/2",                    dict(stories="3,2"),             "projected released wait"),
    ("DELETE /releases/2",                 None,                            "projected wait wait"),
    ("POST /productplans/1/unlinkstories", dict(stories=[1]),               "projected wait wait"),
    ("DELETE /projects/1",                 None,                            "projected wait wait"),
    ("DELETE /executions/2",               None,                            "wait wait wait"),
]
BUG_OF_STORY = dict(id=3, title="B", status="active", pri=3, severity=3)
CASE_OF_STORY = dict(id=3, title="C", pri=1, status="normal")
STORY_SHOWN = [
    (MAKE_STORY + "?objectID=3",   dict(STORY, plan=2),     "",           dict(plan="2", planTitle=["P"])),
    ("PUT /stories/4",             dict(plan="1,2"),        "",           dict(plan="1,2", planTitle=["P", "P"])),
    ("PUT /stories/4",             dict(plan=""),           "",           dict(plan="1,2")),
    ("POST /executions/2/tasks",   dict(TASK, story=4),     "/stories/4", dict(stage="projected")),
    ("POST /products/1/bugs",      dict(BUG, story=4),      "/stories/4", dict(bugs=[BUG_OF_STORY])),
    ("POST /products/1/testcases", dict(CASE, story=4),     "/stories/4", dict(cases=[CASE_OF_STORY])),
    ("DELETE /productplans/2",     None,                    "/stories/4", dict(plan="1,2", planTitle=["P"])),
    ("DELETE /bugs/3",             None,                    "/stories/4", dict(bugs=[])),
    ("DELETE /testcases/3",        None,                    "/stories/4", dict(cases=[])),
]
STORY_CHILDREN = [
    (MAKE_STORY + "?type=requirement", dict(STORY, title="Top", estimate=9), "", dict(type="requirement", estimate=9)),
    (MAKE_STORY, dict(STORY, parent=1, estimate=3), "",           dict(type="story", parent=1, parentName="Top")),
    (MAKE_STORY, dict(STORY, parent=1, estimate=1), "/stories/1", dict(parent=-1, childStories="2,3", estimate=4)),
    ("PUT /stories/3",    dict(estimate=4.5),       "/stories/1", dict(estimate=7.5)),
    ("PUT /stories/3",    dict(parent=0),           "/stories/1", dict(parent=-1, childStories="2", estimate=3)),
    ("PUT /stories/3",    dict(parent=1),           "/stories/1", dict(childStories="2,3", estimate=7.5)),
    ("DELETE /stories/3", None,                     "/stories/1", dict(childStories="2", estimate=3)),
    ("DELETE /stories/2", None,                     "/stories/1", dict(childStories="", parent=0, extraStories={})),
]
STORY_CONFIRMED = [
    ("POST /products/1/testcases", dict(CASE, story=1), "",         dict(story=1, storyVersion=1)),
    ("POST /products/1/testcases", dict(CASE, story=1), "",         {}),
    ("POST /products/1/testcases", dict(CASE, story=2), "",         {}),
    ("DELETE /testcases/4",        None,                "",         {}),
    ("POST /products/1/bugs",      dict(BUG, story=1),  "/bugs/3",  dict(storyVersion=1, needconfirm=False)),
    ("GET /bugs?status=needconfirm", None,              "",         dict(total=0)),
    ("POST /executions/2/tasks",   dict(TASK, story=1), "",         dict(storyTitle="S", storyStatus="active")),
    ("PUT /tasks/2",               {},                  "",
         dict(storyVersion=1, latestStoryVersion=1, needConfirm=False, cases={"3": "C"})),
    (CHANGE_STORY,                 dict(title="New"),   "/tasks/2", dict(storyTitle="New", latestStoryVersion=2)),
    ("PUT /bugs/3",                dict(title="N"),     "/bugs/3",  dict(storyVersion=1, needconfirm=True)),
    ("PUT /tasks/2", {},            "", dict(storyVersion=1, needConfirm=True, cases={"3": "C"})),
    ("PUT /tasks/2", dict(story=1), "", dict(storyVersion=2, needConfirm=False, cases={})),
    ("PUT /bugs/3",                dict(story=0),       "",         dict(needconfirm=False)),
    ("PUT /bugs/3",                dict(story=1),       "",         dict(storyVersion=2, needconfirm=False)),
    (CHANGE_STORY,                 dict(title="Newer"), "/tasks/2", dict(needConfirm=True)),
    ("POST /stories/1/close",      {},                  "/tasks/2", dict(storyStatus="closed", needConfirm=False)),
]
STORY_COUNTS = [  # one after the other: the type and state of a story that is added, and the product's progress
    ("requirement", "active", 0), ("story", "closed", 50), ("story", "draft", 33), ("requirement", "closed", 50),
    ("requirement", "closed", 60), ("story", "closed", 67),
]
STORY_STATES = {  # status: the states that a list then shows
    "unclosed": "draft active changed", "all": "draft active changed closed", "allstory": "draft active changed closed",
    "draft": "draft", "active": "active", "changed": "changed", "closed": "closed", "draftstory": "draft",
    "activestory": "active", "changedstory": "changed", "closedstory": "closed", "changingstory": "changed",
}
STORY_KINDS = [*itertools.product(("story", "requirement"), ("draft", "active", "changed", "closed"))]
STATE_LISTS = {  # list: the types that it shows
    "/products/1/stories?type=story": "story", "/products/1/stories?type=requirement": "requirement",
    "/stories?type=story": "story", "/stories?type=requirement": "requirement",
    "/projects/1/stories?": "story requirement", "/executions/2/stories?": "story requirement",
}
OF_CALLER = [{"product": 1, "title": "S", **one} for one in (  # with the ids 1 to 11; qa1 calls
    dict(status="draft", assignedTo="qa1", reviewers=[dict(account="qa1")]),
    dict(executions=[2]),
    dict(status="changed", assignedTo="qa1", reviewers=[dict(account="dev1")]),
    dict(status="closed", closedBy="qa1", reviewers=[dict(account="qa1")], executions=[2]),
    dict(assignedTo="qa1"), dict(openedBy="qa1"), dict(type="requirement"),
    dict(assignedTo="pm1", reviewers=[dict(account="qa1", result="pass")]), dict(product=2),
    dict(type="requirement", status="draft"), dict(type="requirement", deleted=True),
)]
CALLERS_LISTS = [  # path, status, the stories that qa1 finds
    ("/products/1", "",           "123568"),  ("/products/1",   "assignedtome",   "135"),
    ("/products/1", "openedbyme", "6"),       ("/products/1",   "reviewedbyme",   "8"),
    ("/products/1", "reviewbyme", "1"),       ("/products/1",   "assignedbyme",   "6"),
    ("/products/1", "closedbyme", "4"),       ("/products/1",   "reviewingstory", "13"),
    ("/projects/1", "",           "2"),       ("/executions/2", "",               "24"),
    ("",            "",           "1235689"),
]
# fmt: on


class TestStories:
    def test_story_with_reviewers_is_a_draft_of_the_first(self, shop):
        made = story(shop, reviewer=["qa1", "dev1"])
        by_account = ["dev1", "qa1"]
        holds(made, status="draft", assignedTo="qa1", reviewer=by_account, notReview=by_account)
        assigned = story(shop, reviewer=["qa1"], assignedTo="dev1")
        holds(assigned, status="draft", assignedTo="dev1")

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

    # by a change, with reviewers
    @each(("state", "after"), {"draft": "draft", "active": "changed", "changed": "changed"}.items())
    def test_changed_story_is_to_be_reviewed_again(self, shop, state, after):
        id = story_in(shop, state, "qa1")
        changed = shop.post(f"/stories/{id}/change", spec="new")
        holds(changed, status=after, assignedTo="qa1", notReview=["qa1"])
        passed = reviewed(shop, id, "qa1", "pass")
        assert passed.json["status"] == "active"

    def test_change_makes_a_version_of_what_differs(self, filled):
        follow(filled, STORY_VERSIONS)

    @each(("first", "last", "state", "closed_by"), VERDICTS)
    def test_last_vote_against_decides_once_all_voted(self, shop, first, last, state, closed_by):
        story(shop, reviewer=["qa1", "dev1"])
        waiting, _ = last.split()
        half = reviewed(shop, 1, *first.split())
        holds(half.json, status="draft", notReview=[waiting])
        whole = reviewed(shop, 1, *last.split())
        holds(whole.json, status=state, closedBy=closed_by)

    def test_later_vote_takes_the_place_of_the_reviewer_s_earlier_one(self, shop):
        story(shop, reviewer=["qa1", "dev1"])
        reviewed(shop, 1, "dev1", "reject")
        reviewed(shop, 1, "dev1", "pass")
        assert reviewed(shop, 1, "qa1", "pass").json["status"] == "active"

    def test_revert_brings_the_version_before_back_if_there_is_one(self, shop):
        story_in(shop, "active", "qa1")
        shop.post("/stories/1/change", title="New", spec="new")
        mended = shop.put("/stories/1", title="Mended")
        holds(mended, version=2, title="Mended", spec="new")
        reverted = reviewed(shop, 1, "qa1", "revert")
        holds(reverted.json, version=1, status="active", title="S", spec="s")
        (stored,) = shop.dump()["stories"]
        assert len(stored["versions"]) == 1  # more could not be loaded
        story_in(shop, "draft", "qa1")
        shop.token = shop.token_of("qa1")
        revert = dict(result="revert")
        assert broken(shop, "POST /stories/2/review", revert) == "result"

    def test_only_reviewers_vote_where_there_are_any(self, shop):
        story_in(shop, "draft", "qa1")
        vote = dict(result="pass")
        shop.refused("POST", "/stories/1/review", vote, 403, Token=shop.token_of("dev1"))
        story_in(shop, "draft")
        passed = reviewed(shop, 2, "dev1", "pass")
        holds(passed.json, status="active", reviewedBy="dev1", reviewedDate=NOW_ISO)

    def test_stage_follows_what_the_story_is_linked_with(self, filled):
        for line, body, stages in STORY_STAGES:
            send(filled, line, body)
            listed = filled.get("/stories?status=all&order=id")["stories"]
            single = [filled.get(f"/stories/{id}") for id in (1, 2, 3)]
            for stories in (listed, single):
                assert " ".join(one["stage"] for one in stories) == stages, line

    def test_releases_and_stories_are_loaded_in_any_order(self, shop):
        *first, last = FILLED["stories"]
        release = dict(name="R", project=1, product=1, stories="1,3")
        other = dict(release, product=2, stories="2,3")
        shop.load(stories=first)
        shop.load(releases=[release, other])
        shop.load(stories=[last])
        released = shop.get("/stories?status=released")["stories"]
        assert ids(released) == [3, 1]
        assert problems(shop) == []

    def test_story_shows_what_names_it(self, filled):
        follow(filled, STORY_SHOWN)
        shown = filled.get("/stories/4")
        names = {id: one["name"] for id, one in shown["executions"].items()}
        assert names == {"2": "E2", "3": "E3"}
        (task,) = shown["tasks"]
        holds(task, id=2, name="T", type="devel", status="wait")
        filled.task(2, story=4)
        assert ids(filled.get("/stories/4")["tasks"]) == [3, 2]
        remove(filled, "/tasks/3", "/tasks/2")
        assert filled.get("/stories/4")["tasks"] == []

    def test_parent_has_the_sum_of_its_children_s_hours(self, shop):
        follow(shop, STORY_CHILDREN)

    def test_new_version_is_to_be_confirmed_by_tasks_and_bugs(self, filled):
        follow(filled, STORY_CONFIRMED)

    def test_status_of_lists_chooses_by_state(self, shop):
        linked = dict(product=1, title="S", executions=[2])
        loaded = [dict(linked, type=type, status=state) for type, state in STORY_KINDS]
        deleted = [dict(one, deleted=True) for one in loaded]
        shop.load(stories=loaded + deleted)
        for status, path in itertools.product(STORY_STATES, STATE_LISTS):
            found = []
            for id, (type, state) in enumerate(STORY_KINDS, 1):
                if type in STATE_LISTS[path] and state in STORY_STATES[status]:
                    found.append(id)
            listed = shop.get(f"{path}&status={status}&order=id")
            assert ids(listed["stories"]) == found, (path, status)
            assert listed["total"] == len(found), (path, status)

    def test_status_of_lists_chooses_for_the_caller(self, shop):
        shop.load(stories=OF_CALLER)
        shop.post("/stories/3/assign", assignedTo="qa1")
        shop.token = shop.token_of("qa1")
        shop.post("/stories/6/assign", assignedTo="dev1")
        beside = shop.get("/products/1/stories")["requirements"]
        assert beside == {"7": "S"}  # the active ones
        for path, status, found in CALLERS_LISTS:
            listed = shop.get(f"{path}/stories?status={status}&order=id")
            assert digits(listed) == found, (path, status)

    def test_product_counts_its_stories_by_state(self, shop):
        for type, state, progress in STORY_COUNTS:
            shop.load(stories=[dict(product=1, title="S", type=type, status=state)])
            product = shop.get("/products/1")
            assert product["progress"] == progress
        assert product["stories"] == dict(NO_STORIES, draft=1, closed=2)
        assert product["requirements"] == dict(NO_STORIES, active=1, closed=2)


# fmt: off
PLAN_DAYS = [  # what is sent, begin, end
    ({},                     "2026-11-20", "2030-01-01"), (dict(end="2026-03-01"),   "2026-03-01", "2026-03-01"),
    (dict(end="2026-12-01"), "2026-11-20", "2026-12-01"), (dict(begin="2027-01-01"), "2027-01-01", "2030-01-01"),
]
PARENT_PLAN = [
    ("PUT /productplans/3",    dict(end="2026-04-01"), "/productplans/1", dict(parent=-1, end="2026-04-30")),
    ("PUT /productplans/1",    dict(end="2026-04-01"), "/productplans/3", dict(parent=1, end="2026-04-01")),
    ("DELETE /productsplan/3", None,                   "/productplans/1", dict(parent=0, end="2026-04-01")),
]
TWO = [dict(id=id, product=1, title="X") for id in (1, 2)]
ENDING = [dict(id=id, product=1, title="P", begin="2026-01-01", end=end)
          for id, end in ((1, "2026-11-19"), (2, "2026-11-20"), (3, "2030-01-01"))]
IN_PLAN = dict(product=1, title="X", plans=[1])
OF_PLAN = [
    dict(IN_PLAN, id=1, parent=2, estimate=1), dict(IN_PLAN, id=2), dict(IN_PLAN, id=4, estimate=4, deleted=True),
    dict(IN_PLAN, id=5, estimate=10**9),
]
MOST = 10**8  # hours of a story that a plan counts, so that sums fit in 64 bits
# fmt: on


def plans(client):
    """Return the listed plans of product 1 by id."""
    listed = client.get("/products/1/plans")["plans"]
    return {plan["id"]: plan for plan in listed}


# fmt: off
# request on FILLED, whose plan 3 is a child of plan 1 (MARCH), what is sent, the broken fields or the days then
DAYS_OF_PLANS = [
    ("PUT /productplans/3",     dict(begin="2026-02-28"),                     "begin"),
    ("PUT /productplans/3",     dict(end="2026-05-01"),                       "end"),
    ("PUT /productplans/3",     dict(begin="2026-01-01", end="2026-12-31"),   "begin end"),
    ("PUT /productplans/3",     dict(begin="2026-03-02", end="2026-04-29"),   "2026-03-02 2026-04-29"),
    ("PUT /productplans/1",     dict(begin="2026-03-02"),                     "begin"),
    ("PUT /productplans/1",     dict(end="2026-04-29"),                       "end"),
    ("PUT /productplans/1",     dict(begin="2026-02-01", end="2026-05-31"),   "2026-02-01 2026-05-31"),
    ("PUT /productplans/2",     dict(parent=1, begin="2026-02-01"),           "begin"),
    ("PUT /productplans/2",     dict(parent=1),                               "2026-03-01 2026-04-30"),
    ("POST /products/1/plans",  dict(title="P", parent=2, end="2026-05-01"),  "end"),
    ("POST /products/1/plans",  dict(title="P", parent=2, begin="2026-02-01"), "begin"),
    ("POST /products/1/plans",  dict(title="P", parent=2, begin="2026-04-01"), "2026-04-01 2026-04-30"),
    ("POST /products/1/plans",  dict(title="P", parent=2, end="2026-04-01"),  "2026-04-01 2026-04-01"),
    ("POST /products/1/plans",  dict(title="P", parent=2),                    "2026-04-30 2026-04-30"),  # before today
    ("POST /productplans?product=1", dict(title="P"),                         "2026-11-20 2030-01-01"),
]
# fmt: on


class TestDaysOfPlans:
    """The days of a child plan lie within its parent's."""

    @each(("line", "sent", "wanted"), DAYS_OF_PLANS)
    def test_days_of_a_child_lie_within_its_parents(self, filled, line, sent, wanted):
        if wanted[0].isdigit():
            plan = send(filled, line, sent)
            assert f"{plan['begin']} {plan['end']}" == wanted
        else:
            assert broken(filled, line, sent) == wanted

    def test_child_of_a_plan_to_come_begins_with_it(self, filled):
        filled.put("/productplans/2", begin="2027-01-01", end="2027-02-01")
        plan = filled.post("/products/1/plans", title="P", parent=2)
        holds(plan, begin="2027-01-01", end="2027-02-01")

    def test_deleted_child_does_not_count(self, filled):
        remove(filled, "/productplans/3")
        assert filled.put("/productplans/1", end="2026-03-02")["end"] == "2026-03-02"

    def test_fixture_is_held_to_it_too(self, client):
        plans = [
            dict(MARCH, id=1, product=1, title="P"),
            dict(id=2, product=1, title="Q", parent=1),
        ]
        client.load(products=[dict(id=1, name="P")])
        for days, field in ((dict(begin="2026-02-28"), "begin"), (dict(end="2026-05-01"), "end")):
            told = client.cannot_load(plans=[plans[0], {**plans[1], **MARCH, **days}])
            assert told.startswith(f"plans[1].{field} must lie within the parent's days")
        client.load(plans=[plans[0], dict(plans[1], **YEAR, deleted=True)])

    def test_child_of_a_deleted_plan_is_free(self, filled):
        remove(filled, "/productplans/1")
        assert filled.put("/productplans/3", begin="2020-01-01")["begin"] == "2020-01-01"
        loads_the_same(filled)


class TestProductPlans:
    @each(("sent", "begin", "end"), PLAN_DAYS)
    def test_days_have_defaults(self, shop, sent, begin, end):
        made = shop.post("/products/1/plans", title="P", **sent)
        holds(made, begin=begin, end=end)

    def test_parent_shows_that_it_has_children(self, filled):
        follow(filled, PARENT_PLAN)

    # of both, when another plan gets the first
    @each(("what", "kept"), {"stories": [2, 1], "bugs": [2]}.items())
    def test_story_has_several_plans_and_a_bug_one(self, shop, what, kept):
        shop.load(stories=TWO, bugs=TWO, plans=TWO)
        first = {what: [1]}
        both = {what: [1, "2"]}
        for _ in range(2):  # what is linked already can be linked again
            linked = send(shop, f"POST /productplans/1/link{what}", both)
            assert ids(linked[what]) == [2, 1]
            assert plans(shop)[1][what] == 2
        linked = send(shop, f"POST /productplans/2/link{what}", first)
        assert ids(linked[what]) == [1]
        left = send(shop, f"POST /productplans/2/unlink{what}", both)
        assert left[what] == []
        other = shop.get("/productplans/1")
        assert ids(other[what]) == kept

    def test_plan_expires_after_its_end_and_a_product_counts_those_which_end_later(self, shop):
        shop.load(plans=ENDING)
        expired = {id: plan["expired"] for id, plan in plans(shop).items()}
        assert expired == {1: True, 2: False, 3: False}
        assert shop.get("/products/1")["plans"] == 1
        remove(shop, "/productplans/3")
        assert shop.get("/products/1")["plans"] == 0

    def test_plan_sums_the_hours_of_stories_that_are_not_deleted(self, shop):
        """One of four comes deleted with a fixture, one is deleted in the plan: a parent."""
        shop.load(plans=TWO, stories=OF_PLAN)
        holds(plans(shop)[1], stories=3, hour=MOST + 2)
        remove(shop, "/stories/2")
        holds(plans(shop)[1], stories=2, hour=MOST + 1)
        assert ids(shop.get("/productplans/1")["stories"]) == [5, 1]

    def test_fields_come_in_the_order_of_the_real_server(self, world):
        fields = "id product branch parent title status desc begin end order closedReason deleted"
        assert " ".join(world.get("/productplans/1")) == f"{fields} stories bugs"


QA1 = reference("qa1")
ENDED = dict.fromkeys(("finishedBy", "closedBy", "canceledBy"), "pm1")
ENDED |= dict.fromkeys(("finishedDate", "closedDate", "canceledDate"), NOW_ISO)
# fmt: off
# The states of tasks; hours consumed and left
HOURS_IN = dict(wait=(0, 10), doing=(4, 6), pause=(4, 6), done=(4, 0), cancel=(0, 10), closed=(4, 0))
FIXED = dict(resolution="fixed", resolvedBy="dev1", resolvedDate=NOW_ISO, resolvedBuild="b1", confirmed=1)
GIVEN_TO_DEV1 = dict(openedBy="pm1", assignedTo="dev1", assignedDate=NOW_ISO)
WORK = {  # a task and a bug in each state; every task has the fields of all ends
    "tasks": [
        dict(GIVEN_TO_DEV1, **ENDED, execution=2, name="T", type="devel", status=state, consumed=spent, left=left,
             estimate=10, estStarted="2026-11-01", deadline="2026-11-30", closedReason="old",
             realStarted=NOW_ISO if spent else None)
        for state, (spent, left) in HOURS_IN.items()
    ],
    "bugs": [
        dict(BUG, **GIVEN_TO_DEV1, product=1),
        dict(BUG, **GIVEN_TO_DEV1, product=1, **FIXED, status="resolved"),
        dict(BUG, **GIVEN_TO_DEV1, product=1, **FIXED, status="closed", closedBy="pm1", closedDate=NOW_ISO,
             activatedCount=4),
    ],
}
# fmt: on


@pytest.fixture
def work(shop):
    """Return an app that holds SHOP and WORK, an hour later; qa1 calls."""
    shop.load(**WORK)
    shop.clock.forward(hours=1)
    shop.token = shop.token_of("qa1")
    return shop


def task_in(state):
    """Return the path of the task of WORK that is in a state."""
    return f"/tasks/{[*HOURS_IN].index(state) + 1}"


def hours_of(task):
    """Return a task's state and its hours: "doing 4 6"."""
    return f"{task['status']} {task['consumed']} {task['left']}"


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
            if move and "fields" not in refusal:  # it is not a field that is refused
                errors.append(refusal["error"])
            continue
        sources.append(before["status"])
        answer = send(work, line, body)
        wanted = dict(before, status=state)
        word = "edited"
        if move or state != before["status"]:
            word = action.format(state)
            for field, value in changes.items():
                wanted[field] = value(before) if callable(value) else value
        after = work.get(path)
        if move and f"POST /{array}/:id/{move}" not in SHOWN:
            assert lines(answer) == lines(answered(array, after))
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
    (["dev1", "dev2"], ["dev1", "dev2"]), ([4, reference("dev2")], ["dev1", "dev2"]), ("dev1", ["dev1"]),
    (None, [None]), ([""], [None]),
]
VERSIONS = [  # what is sent to a task, its version then
    (dict(estStarted="2026-02-01"), 2), (dict(deadline="2026-02-21"), 2),
    (dict(name="T", estStarted="2026-02-02", deadline="2026-02-20"), 1),
    (dict(pri=1, type="ui", estimate=9, assignedTo="dev2"), 1),
]
ASSIGNING = [
    "POST /bugs/2/assign", "PUT /bugs/2", "POST /stories/2/assign",
    "POST /tasks/1/assignto", "POST /tasks/1/start", "PUT /tasks/1",
]
DEVEL = dict(name="A", type="devel")
# fmt: on


class TestTasks:
    @each(("sent", "names"), ASSIGNEES)
    def test_each_assignee_gets_a_task_and_the_last_is_the_answer(self, shop, sent, names):
        answer = shop.task(2, assignedTo=sent)
        made = shop.dump()["tasks"]
        for task, name in zip(made, names, strict=True):
            since = NOW_ISO if name else None
            holds(task, assignedTo=name, assignedDate=since)
        assert answer["id"] == task["id"]

    @each("line", ASSIGNING)
    def test_array_with_one_account_is_taken_for_one_assignee(self, filled, line):
        assigned = send(filled, line, dict(assignedTo=["dev2"]))
        holds(assigned, assignedTo="dev2")
        assert broken(filled, line, dict(assignedTo=["dev1", "dev2"])) == "assignedTo"

    def test_batch_makes_at_most_a_thousand_tasks(self, shop):
        path = "/executions/2/tasks/batchCreate"
        refusal = shop.refused("POST", path, dict(tasks=[DEVEL] * 1001))
        assert refusal["fields"] == {"tasks": "must have at most 1,000 items (got 1001)"}
        schema = DOCUMENT["components"]["schemas"]["TasksToCreate"]["properties"]["tasks"]
        assert (schema["minItems"], schema["maxItems"]) == (1, 1000)

    @each(("body", "version"), VERSIONS)
    def test_version_grows_when_name_or_plan_change(self, filled, body, version):
        task = filled.put("/tasks/1", **body)
        assert task["version"] == version


# fmt: off
def known_start(task): return task["realStarted"] or LATER
def reason_of(task): return {"done": "done", "cancel": "cancel"}.get(task["status"], "")
TO_QA1, TO_PM1 = [dict(assignedTo=reference(account), assignedDate=LATER) for account in ("qa1", "pm1")]
BY_QA1 = dict(TO_QA1, assignedToRealName="Quin Test")
TAKE, ONWARD = dict(assignedTo="qa1"), dict(consumed=4, left=1)
THEN = dict(realStarted=NOW_ISO, finishedDate="2026-11-20T08:00:00Z")
DONE = dict(EMPTIED, finishedBy=QA1, finishedDate=LATER, left=0)
CLOSED = dict(closedBy=QA1, closedDate=LATER, closedReason=reason_of)
CANCELED = dict(canceledBy=QA1, canceledDate=LATER)
STARTED = {**UNFINISHED, **BY_QA1, "realStarted": LATER}
RESTARTED = {**STARTED, **ONWARD, "realStarted": known_start}
FINISHED = {**DONE, **BY_QA1, **THEN}
REACTIVATED = dict(UNFINISHED, activatedDate=LATER)
AT_ONCE = dict(UNFINISHED, left=6, realStarted=known_start)
AT_REST = dict(UNFINISHED, left=6)
SET_CANCEL, SET_CLOSED = {**UNFINISHED, **CANCELED}, {**UNFINISHED, **CLOSED}
TASK_MOVES = [
    # move,      what is sent,      leads, from: wait   doing  pause  done   cancel closed   changes      logged
    ("start",    TAKE,                          "doing  -      doing  doing  doing  doing",  STARTED,     "started"),
    ("restart",  dict(ONWARD, **TAKE),          "doing  doing  doing  doing  doing  doing",  RESTARTED,   "restarted"),
    ("finish",   dict(THEN, **TAKE),            "done   done   done   done   done   done",   FINISHED,    "finished"),
    ("pause",    {},                            "pause  pause  -      -      -      -",      {},          "paused"),
    ("close",    {},                            "closed closed closed closed closed -",      CLOSED,      "closed"),
    ("cancel",   {},                            "cancel cancel cancel -      -      -",      CANCELED,    "canceled"),
    ("active",   {},                            "-      -      doing  doing  doing  doing",  REACTIVATED, "activated"),
    ("activate", {},                            "-      -      doing  doing  doing  doing",  REACTIVATED, "activated"),
    ("assignto", TAKE,                          "wait   doing  pause  done   cancel closed", BY_QA1,      "assigned"),
    ("assignto", dict(assignedTo="dev1", left=7), "wait doing  pause  -      cancel closed", {"left": 7}, "assigned"),
    ("",         dict(status="wait"),           "wait   -      doing  wait   wait   -",      UNFINISHED,  "set to {}"),
    ("",         dict(status="doing", left=6),  "doing  doing  doing  doing  doing  -",      AT_ONCE,     "set to {}"),
    ("",         dict(status="pause", left=6),  "pause  pause  pause  pause  pause  -",      AT_REST,     "set to {}"),
    ("",         dict(status="done"),           "-      done   done   done   -      done",   DONE,        "set to {}"),
    ("",         dict(status="cancel"),         "cancel cancel cancel cancel cancel cancel", SET_CANCEL,  "set to {}"),
    ("",         dict(status="closed"),         "closed closed closed closed closed closed", SET_CLOSED,  "set to {}"),
    ("",         dict(status="gone"),           "-      -      -      -      -      -",      {}),
]
PUT_HOURS = [  # the task's state; what is sent; then "state consumed left", or the broken field
    ("wait",   dict(consumed=3),             "doing 3 10"),   ("wait",   dict(consumed=3, left=0),         "wait 3 0"),
    ("doing",  dict(estimate=12),            "doing 4 6"),    ("wait",   dict(status="done", consumed=5),  "done 5 0"),
    ("wait",   dict(estimate=12),            "wait 0 12"),    ("wait",   dict(estimate=12, left=3),        "wait 0 3"),
    ("wait",   dict(status="doing", left=0), "left"),         ("done",   dict(status="pause"),             "left"),
    ("doing",  dict(consumed=6),             "doing 6 6"),    ("doing",  dict(consumed=2),                 "consumed"),
    ("doing",  dict(left=9),                 "doing 4 9"),    ("doing",  dict(left=0),                     "left"),
    ("doing",  dict(status="wait"),          "status"),
    ("doing",  dict(status="done", consumed=7, left=2), "done 7 0"),
    ("pause",  dict(left=0),                 "left"),         ("done",   dict(left=3),                     "left"),
    ("doing",  dict(closedReason="done"),    "closedReason"), ("pause",  dict(estimate=12, consumed=5),    "pause 5 6"),
]
BEGINNING = dict(
    executions=[dict(id=9, name="F", project=1, realBegan="2026-01-12")],
    tasks=[dict(name="T", execution=home) for home in (2, 2, 9)],
)
BEGUN_ON = {"/projects/1": "2026-11-21", "/executions/2": "2026-11-21", "/executions/9": "2026-01-12"}
REAL_STARTS = {  # what is sent, in any form and zone: the real start in Shanghai
    "2026-02-06": "2026-02-06 00:00:00", "2026-02-06T08:30:00+02:00": "2026-02-06 14:30:00",
    "2026-02-09T17:00:00.523Z": "2026-02-10 01:00:00", "2026-02-06 08:30:00": "2026-02-06 08:30:00",
}
# fmt: on


class TestTaskMoves:
    """From which states a task gets into which, and what changes with it."""

    @each("row", TASK_MOVES)
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

    def test_estimate_of_begun_work_leaves_what_is_left(self, work):
        work.put("/tasks/1", consumed=3, left=0)
        task = work.put("/tasks/1", estimate=12)
        assert hours_of(task) == "wait 3 0"

    @each("state", HOURS_IN)
    def test_record_that_was_read_can_be_sent_back(self, work, state):
        path = task_in(state)
        before = work.get(path)
        work.put(path, **{**before, "desc": "new"})
        unchanged_but(before, work.get(path), "desc")

    def test_moments_without_zone_are_local_to_the_service(self, shanghai):
        path = f"/tasks/{shanghai.task()['id']}"
        for sent, shown in REAL_STARTS.items():
            task = shanghai.post(f"{path}/restart", realStarted=sent, consumed=1, left=1)
            holds(task, realStarted=shown, openedDate="2026-11-20 15:42:17")
        finished = shanghai.post(f"{path}/finish", finishedDate="2026-02-09")
        holds(finished, realStarted="2026-02-06T00:30:00Z", finishedDate="2026-02-08T16:00:00Z")

    def test_hours_add_up_and_progress_is_rounded_as_a_person_does_it(self, filled):
        for consumed, left, progress in ((1, 199, 1), (1, 200, 0), (2.3, 1.7, 58)):
            task = filled.post("/tasks/1/restart", consumed=consumed, left=left)
            assert task["progress"] == progress
        filled.post("/tasks/1/restart", consumed=8.1, left=0)
        done = filled.post("/tasks/1/finish", currentConsumed=0.2, finishedDate="2026-11-21")
        assert done["consumed"] == 8.3

    def test_finish_with_an_empty_assignee_gives_the_task_to_its_opener(self, work):
        task = work.post("/tasks/2/finish", finishedDate="2026-11-21", assignedTo="")
        holds(task, assignedTo="pm1", assignedDate=LATER)

    @each("request_line", ["POST /tasks/1/start", "PUT /tasks/1", "POST /tasks/1/estimate"])
    def test_first_start_begins_the_execution_and_its_project(self, shanghai, request_line):
        shanghai.load(**SHOP)
        shanghai.load(**BEGINNING)
        shanghai.clock.set("2026-11-20T17:00:00Z")  # the 21st in Shanghai
        body = dict(status="doing", consumed=1, left=1)
        send(shanghai, request_line, body)
        shanghai.clock.forward(days=1)
        assert shanghai.get("/executions/9")["status"] == "wait"
        shanghai.post("/tasks/2/start")
        shanghai.post("/tasks/3/start")
        for path, day in BEGUN_ON.items():
            home = shanghai.get(path)
            holds(home, status="doing", realBegan=day)


# fmt: off
EFFORTS = [  # the task's state, its efforts (day, hours consumed, hours left), the state and the hours then
    ("wait",   "2026-11-16 2 8",                 "doing 2 8"), ("done",  "2026-11-18 1 0",                 "done 5 0"),
    ("doing",  "2026-11-17 3 5; 2026-11-18 2 3", "doing 9 3"), ("doing", "2026-11-18 3 3; 2026-11-17 2 5", "doing 9 3"),
    ("doing",  "2026-11-18 3 0",                 "done 7 0"),  ("pause", "2026-11-18 3 2",                 "doing 7 2"),
    ("done",   "2026-11-18 1 2",                 "doing 5 2"), ("cancel", "2026-11-18 1 2",                "doing 1 2"),
    ("closed", "2026-11-18 1 2",                 "doing 5 2"), ("wait",  "2026-11-18 1 0",                 "done 1 0"),
]
ONE_BY_ONE = {  # efforts of a task that has 6 hours left, the hours left after each
    "2026-11-16 1 5": 5, "2026-11-10 1 9": 5, "2026-11-16 1 4": 4, "2026-11-15 1 0": 4, "2026-11-19 1 3": 3,
}
# fmt: on


def effort_body(efforts):
    """Return what a request says of efforts, "2026-11-17 3 5; 2026-11-18 2 3", in arrays."""
    rows = [effort.split() for effort in phrases(efforts)]
    dates, consumed, left = zip(*rows, strict=True)
    return dict(dates=dates, consumed=consumed, left=left)


class TestEfforts:
    @each(("state", "efforts", "wanted"), EFFORTS)
    def test_efforts_add_hours_and_move_the_task(self, work, state, efforts, wanted):
        path = task_in(state)
        before = work.get(path)
        after = work.post(f"{path}/estimate", **effort_body(efforts))
        assert hours_of(after) == wanted
        begun = f"{min(effort_body(efforts)['dates'])}T00:00:00Z"
        changes = dict(UNFINISHED, realStarted=before["realStarted"] or begun)
        if after["status"] == "done":
            opener = dict(TO_PM1, assignedToRealName="Pam Manager")
            changes |= dict(DONE, **opener)
        elif state != "doing":
            changes |= BY_QA1
        changed = {**before, **changes}
        unchanged_but(changed, after, "status", "consumed", "left", "progress", "cases")
        recorded = []
        for effort in work.get(f"{path}/estimate")["effort"]:
            recorded.append(f"{effort['date']} {effort['consumed']} {effort['left']}")
            holds(effort, task=before["id"], account="qa1", work="")
        assert recorded == sorted(phrases(efforts))

    def test_first_effort_of_a_past_day_lets_the_task_be_finished_on_it(self, shanghai):
        shanghai.load(**SHOP)
        path = f"/tasks/{shanghai.task(2)['id']}"
        shanghai.post(
            f"{path}/estimate", dates=["2026-11-17", "2026-11-16"], consumed=[1, 1], left=[1, 2]
        )
        assert shanghai.get(path)["realStarted"] == "2026-11-15T16:00:00Z"
        shanghai.post(f"{path}/estimate", date="2026-11-18", consumed=1, left=1)
        finished = shanghai.post(f"{path}/finish", finishedDate="2026-11-18")
        holds(finished, realStarted="2026-11-15T16:00:00Z", consumed=3)

    @each("day", ["0001-01-01", "1970-01-01"])  # a day without a moment that can be stored
    def test_effort_of_the_first_of_all_days_starts_a_task_now(self, shanghai, day):
        shanghai.load(**SHOP)
        path = f"/tasks/{shanghai.task(2)['id']}"
        shanghai.post(f"{path}/estimate", date=day, consumed=1, left=1)
        assert shanghai.get(path)["realStarted"] == NOW_ISO

    def test_placeholder_of_an_unset_day_counts_as_no_day(self, work):
        work.post("/tasks/1/estimate", consumed=1, left=2, date="0000-00-00")
        assert work.get("/tasks/1/estimate")["effort"][0]["date"] == "2026-11-20"

    def test_one_effort_needs_no_arrays_and_no_day(self, work):
        today = dict(work="w", consumed=2, left=8)
        yesterday = dict(date="2026-11-19", work="v", consumed=1, left=7)
        work.post("/tasks/1/start", consumed=1, left=9)  # this is no effort
        work.post("/tasks/1/estimate", **today)
        work.post("/tasks/1/estimate", **yesterday, id=[7])
        first, second = work.get("/tasks/1/estimate")["effort"]
        holds(first, **today, date="2026-11-20")
        holds(second, **yesterday)

    def test_earlier_effort_only_adds_its_hours(self, work):
        for effort, left in ONE_BY_ONE.items():
            sent = effort_body(effort)
            task = work.post("/tasks/2/estimate", **sent)
            holds(task, left=left, status="doing")
        assert task["consumed"] == 9

    def test_hours_of_other_calls_are_no_efforts(self, work):
        work.post("/tasks/1/start", **ONWARD)
        work.post("/tasks/1/restart", **ONWARD)
        work.post("/tasks/1/finish", **THEN, currentConsumed=1)
        work.put("/tasks/1", consumed=9, status="done")
        assert work.get("/tasks/1/estimate")["effort"] == []


# fmt: off
POSTPONED = dict(resolution="postponed")
TWICE = dict(resolution="duplicate", duplicateBug=2, resolvedDate="2026-11-19T10:00:00Z")
RESOLVED = dict(confirmed=1, resolution="fixed", resolvedBy=QA1, resolvedDate=LATER)
TO_OPENER = dict(RESOLVED, **TO_PM1)
DUPLICATE = {**RESOLVED, **TO_QA1, **TWICE}
SHUT = dict(closedBy=QA1, closedDate=LATER)
ACTIVATED = dict(REOPENED, activatedCount=lambda bug: bug["activatedCount"] + 1, activatedDate=LATER)
TAKEN_UP = {**ACTIVATED, **TO_QA1}
SHUT_BY_DEV2 = {**SHUT, "closedBy": reference("dev2")}
TO_NOBODY = dict(TO_QA1, assignedTo=None)
BUG_MOVES = [
    # move,      what is sent,             leads, from: active   resolved closed    changes                logged
    ("confirm",  {},                                   "active   -        -",       dict(confirmed=1),     "confirmed"),
    ("resolve",  dict(resolution="fixed"),             "resolved -        -",       TO_OPENER,             "resolved"),
    ("resolve",  dict(TWICE, assignedTo="qa1"),        "resolved -        -",       DUPLICATE,             "resolved"),
    ("close",    {},                                   "-        closed   -",       SHUT,                  "closed"),
    ("active",   {},                                   "-        active   active",  ACTIVATED,             "activated"),
    ("activate", TAKE,                                 "-        active   active",  TAKEN_UP,              "activated"),
    ("assign",   TAKE,                                 "active   resolved closed",  TO_QA1,                "assigned"),
    ("assign",   dict(assignedTo=""),                  "active   resolved closed",  TO_NOBODY,             "assigned"),
    ("",         dict(resolution="fixed"),             "resolved resolved closed",  RESOLVED),
    ("",         dict(POSTPONED, status="resolved"),   "resolved -        -",       {**RESOLVED, **POSTPONED}),
    ("",         dict(status="closed"),                "-        closed   closed",  SHUT),
    ("",         dict(closedBy="dev2"),                "-        closed   -",       SHUT_BY_DEV2),
    ("",         dict(status="resolved"),              "-        resolved -",       {}),
    ("",         dict(status="active"),                "active   active   active",  ACTIVATED),
    ("",         dict(resolvedBuild="b1"),             "-        resolved closed",  {}),
    ("",         dict(resolution="mended"),            "-        -        -",       {}),
    ("",         dict(status="gone"),                  "-        -        -",       {}),
]
MOVED_BUG = dict(product=2, project=4, execution=3)
LISTS_OF_BUG = ("/products/2/bugs", "/bugs?product=2", "/projects/4/bugs", "/executions/3/bugs")  # these have it then
WEEK_AGO = [dict(product=1, title="B", openedDate=f"2026-11-13T07:42:{second}Z") for second in (17, 16)]
# fmt: on


class TestBugs:
    def test_unset_dates_of_a_list_stay_unset_when_they_are_sent_back(self, shop):
        shop.post("/products/1/bugs", **BUG)
        (bug,) = shop.get("/products/1/bugs")["bugs"]
        assert bug["deadline"] == "1970-01-01"
        kept = shop.put("/bugs/1", **bug)
        assert kept["deadline"] is None

    @each("row", BUG_MOVES)
    def test_move_leads_where_it_should_and_changes_nothing_else(self, work, row):
        make_moves(work, "bugs", *row)

    def test_put_resolves_and_closes_at_once_and_gives_the_bug_to_its_opener(self, work):
        sent = dict(status="closed", resolution="fixed")
        bug = work.put("/bugs/1", **sent, assignedTo="")
        holds(bug, **sent, assignedTo="pm1", assignedDate=LATER, resolvedBy="qa1", closedBy="qa1")

    def test_new_bug_belongs_to_the_project_of_its_execution(self, shop):
        # what is sent with execution 5, the project of the bug
        for sent, project in [({}, 4), (dict(project=1), 1)]:
            bug = shop.post("/products/1/bugs", **BUG, execution=5, **sent)
            holds(bug, execution=5, project=project)

    def test_bug_is_listed_where_it_belongs_now(self, filled):
        for path in LISTS_OF_BUG:
            assert not shows(filled, path, "1")
        bug = filled.put("/bugs/1", **MOVED_BUG)
        holds(bug, **MOVED_BUG)
        for path in LISTS_OF_BUG:
            assert shows(filled, path, "1")

    def test_kinds_of_browsing_have_their_bounds(self, shop):
        shop.load(bugs=WEEK_AGO)
        listed = shop.get("/bugs?status=longlifebugs")["bugs"]
        assert ids(listed) == [2]
        shop.post("/bugs/1/assign", assignedTo="dev1")
        shop.token = shop.token_of("qa1")
        shop.post("/bugs/2/assign", assignedTo="dev1")
        listed = shop.get("/bugs?status=assignedbyme")["bugs"]
        assert ids(listed) == [2]

    def test_first_hundred_builds_are_shown_and_all_are_kept(self, shop):
        """Sent back as they are shown, they change nothing; others replace them."""
        text = ",".join(f"b{n}" for n in range(150))
        bug = shop.post("/products/1/bugs", **{**BUG, "openedBuild": text})
        path = f"/bugs/{bug['id']}"
        shown = shop.get(path)["openedBuild"]
        assert [one["id"] for one in shown] == text.split(",")[:100]
        assert shop.put(path, openedBuild=shown)["openedBuild"] == text
        fewer = shop.put(path, openedBuild=shown[:99])["openedBuild"]
        assert fewer == ",".join(text.split(",")[:99])


# fmt: off
SAME_STEPS = [dict(desc="a"), dict(desc="b")]
BUG_OF_CASE = [
    ("POST /products/1/bugs", dict(BUG, case=1),            "",             dict(caseVersion=1)),
    ("PUT /testcases/1",      dict(steps=SAME_STEPS[::-1]), "/bugs/3",      dict(caseVersion=1)),
    ("PUT /bugs/3",           dict(title="N"),              "/bugs/3",      dict(caseVersion=1)),
    ("PUT /bugs/3",           dict(case=1),                 "/bugs/3",      dict(caseVersion=2)),
    ("PUT /bugs/3",           dict(case=2, caseVersion=3),  "/bugs/3",      dict(caseVersion=3)),
    ("PUT /bugs/3",           dict(case=99),                "/bugs/3",      dict(caseVersion=3)),
    ("PUT /bugs/3",           dict(case=0),                 "/testcases/1", dict(toBugs=[])),
    ("PUT /bugs/3",           dict(case=1),                 "/testcases/1", dict(toBugs=[dict(id=3, title="N")])),
    ("DELETE /bugs/3",        None,                         "/testcases/1", dict(toBugs=[])),
]
GROUPED_STEPS = [  # the type of a step, its parent
    ("step", 0), ("group", 0), ("item", 2), ("item", 2), ("step", 0), ("group", 0), ("item", 6),
]
STEPS_SENT = [  # the steps that are sent to a case with SAME_STEPS, its version then
    (SAME_STEPS, 1), ([], 1), ([dict(desc="a", type="step", expect=""), dict(desc="b")], 1),
    (SAME_STEPS[:1], 2), (SAME_STEPS[::-1], 2),
    ([dict(desc="a", expect="c"), dict(desc="b")], 2), ([dict(desc="a", type="group"), dict(desc="b")], 2),
]
PASS, FAIL = dict(result="pass"), dict(result="fail", real="r")
# The steps of a new case on FILLED, with the ids 3 to 6: a group with two items, and a step.
GROUPED = [dict(desc="G", type="group"), dict(desc="a", type="item"), dict(desc="b", type="item"), dict(desc="c")]
RUNS = [  # what is sent, the result of the run, the results of the four steps
    (dict(steps=[PASS, FAIL]),                       "fail",    "- pass fail -"),
    (dict(steps=[PASS, PASS, FAIL]),                 "fail",    "- pass pass fail"),
    (dict(steps=[PASS, PASS, PASS, FAIL]),           "fail",    "pass pass pass fail"),
    (dict(steps=[{}, FAIL]),                         "fail",    "- - fail -"),
    (dict(steps=[{}, {}, {}]),                       "n/a",     "- - - -"),
    (dict(steps=[dict(FAIL, id=6), dict(PASS, id=4)]), "fail",  "- pass - fail"),
    (dict(steps=[dict(FAIL, id=3.0), {}]),           "fail",    "fail - - -"),
    (dict(result="fail"),                            "fail",    "- - - -"),
    (dict(result="blocked", steps=[PASS]),           "blocked", "- pass - -"),
    (dict(result="pass", steps=[FAIL]),              "fail",    "- fail - -"),
    (dict(result="n/a"),                             "n/a",     "- - - -"),
    (dict(result="n/a", steps=[PASS]),               "pass",    "- pass - -"),
    (dict(steps=[dict(result="n/a")]),               "n/a",     "- n/a - -"),
    (dict(steps=[dict(result="n/a")], result="pass"), "pass",   "- n/a - -"),
]
WRONG_RUNS = [  # what is sent to the same case, the fields that are refused
    ({}, "result"), (dict(steps=[]), "result"), (dict(steps=None, result=""), "result"),
    (dict(result="failed"), "result"),
    (dict(steps=[PASS] * 5), "steps"), (dict(steps=[PASS, dict(status="fail")]), "steps[1].result"),
    (dict(steps=[dict(real="crashed")]), "steps[0].result"), (dict(steps=[dict(result="FAILED")]), "steps[0].result"),
    (dict(steps=[dict(id=4)]), "steps[0].result"), (dict(steps=[dict(PASS, id=2)]), "steps[0].id"),
    (dict(steps=[dict(PASS, id=4), dict(FAIL, id=4)]), "steps[1].id"),
    (dict(steps=[dict(PASS, id=4), FAIL]), "steps[1].id"),
    (dict(steps=[dict(PASS, id="x")]), "steps[0].id"), (dict(steps=[7]), "steps[0]"), (dict(steps=FAIL), "steps"),
]
RUNS_WITHOUT_STEPS = [  # what is sent to a case without steps, the result, what it shows of steps
    (dict(steps=[FAIL]), "fail", [FAIL]), (dict(result="fail"), "fail", []), (dict(result="pass"), "pass", []),
    (dict(steps=[PASS], result="blocked"), "blocked", [dict(PASS, real="")]),
]
RESULTS = [  # the results of the steps, the result of the case
    ("pass", "pass"), ("pass pass", "pass"), ("pass fail", "fail"), ("fail blocked", "fail"),
    ("pass n/a", "pass"), ("pass blocked", "blocked"),
]
# fmt: on


class TestCases:
    def test_bugs_of_a_case_know_its_version_and_it_knows_them(self, filled):
        follow(filled, BUG_OF_CASE)

    def test_items_lie_below_the_last_group_before_them(self, shop):
        types, parents = zip(*GROUPED_STEPS, strict=True)
        sent = [dict(desc="a", type=type) for type in types]
        del sent[0]["type"]
        made = shop.case(1, steps=sent)["steps"]
        for step, type, parent in zip(made, types, parents, strict=True):
            holds(step, type=type, parent=parent)
        # In a fixture, the ids say which step is before another.
        steps = [dict(id=99, type="group", desc="G"), dict(id=95, type="item", desc="I")]
        shop.load(testcases=[dict(product=1, title="C", steps=steps)])
        item, group = shop.get("/testcases/2")["steps"]
        assert (item["parent"], group["parent"]) == (0, 0)

    @each(("sent", "version"), STEPS_SENT)
    def test_other_steps_make_a_version_with_new_ids(self, filled, sent, version):
        before = filled.get("/testcases/1")["steps"]
        case = filled.put("/testcases/1", steps=sent)
        assert case["version"] == version
        if version == 1:
            assert case["steps"] == before
        else:
            new_ids = [3, 4]
            assert ids(case["steps"]) == new_ids[: len(sent)]
            for made, step in zip(case["steps"], sent, strict=True):
                holds(made, version=2, **step)

    @each(("results", "outcome"), RESULTS)
    def test_result_fails_when_a_step_fails(self, filled, results, outcome):
        before = filled.get("/testcases/1")
        steps = [dict(result=one, real="r") for one in results.split()]
        filled.token = filled.token_of("qa1")
        for id in (1, 2):
            result = filled.post("/testcases/1/results", steps=steps)
            holds(result, id=id, case=1, caseResult=outcome, lastRunner="qa1", date=NOW_ISO)
        for step, shown in zip(steps, result["stepResults"], strict=False):
            holds(shown, **step)
        fails = 2 if outcome == "fail" else 0
        before |= dict(lastRunner="qa1", lastRunDate=NOW_ISO)
        before |= dict(lastRunResult=outcome, caseFails=fails)
        after = filled.get("/testcases/1")
        assert lines(after) == lines(before)

    @each(("sent", "outcome", "by_step"), RUNS)
    def test_results_belong_to_steps_and_no_failure_passes(self, filled, sent, outcome, by_step):
        case = filled.case(1, steps=GROUPED)["id"]
        result = filled.post(f"/testcases/{case}/results", **sent)
        holds(result, case=case, caseResult=outcome)
        shown = [step.get("result", "-") for step in result["stepResults"]]
        assert shown == by_step.split()
        holds(filled.get(f"/testcases/{case}"), lastRunResult=outcome)
        loads_the_same(filled)

    def test_loaded_run_has_the_worst_result_of_its_steps(self, filled):
        runs = [[FAIL, PASS], [PASS, {}], [dict(result="n/a")], []]
        filled.load(results=[dict(case=1, stepResults=steps) for steps in runs])
        shown = filled.get("/testcases/1/results")["results"]
        assert [one["caseResult"] for one in shown[::-1]] == ["fail", "pass", "n/a", "pass"]

    @each(("sent", "fields"), WRONG_RUNS)
    def test_wrong_results_are_refused_by_their_place(self, filled, sent, fields):
        filled.case(1, steps=GROUPED)
        assert broken(filled, "POST /testcases/3/results", sent) == fields

    @each(("sent", "outcome", "shown"), RUNS_WITHOUT_STEPS)
    def test_case_without_steps_takes_one_result(self, filled, sent, outcome, shown):
        result = filled.post("/testcases/2/results", **sent)
        holds(result, caseResult=outcome, stepResults=shown)
        for wrong in (dict(steps=[PASS, PASS]), dict(steps=[dict(PASS, id=1)]), dict(steps=[]), {}):
            filled.refused("POST", "/testcases/2/results", wrong)
        loads_the_same(filled)

    def test_results_are_of_a_test_task_and_a_version(self, filled):
        path = "/testcases/1/results"
        filled.put("/testcases/1", steps=SAME_STEPS[::-1])
        failed = dict(result="fail")
        filled.post(f"{path}?testtask=1&version=2", steps=[failed, {}])
        filled.post(f"{path}?version=1", steps=[dict(result="pass", real="r")])
        second, first = filled.get(path)["results"]
        holds(first, id=1, version=2, testtask=1, caseResult="fail")
        holds(second, id=2, version=1, testtask=0, caseResult="pass")
        _, not_run = first["stepResults"]
        assert "result" not in not_run
        step, _ = second["stepResults"]
        holds(step, result="pass", real="r")


class TestBuilds:
    def test_name_is_free_in_another_product_and_after_a_deletion(self, filled):
        line = "POST /projects/1/builds"
        send(filled, line, good(line, name="B1", product=2))
        remove(filled, "/builds/1")
        made = send(filled, line, good(line, name="B1"))
        filled.put(f"/builds/{made['id']}", name="B1")

    def test_build_keeps_a_product_that_has_left_the_project(self, filled):
        filled.sql("DELETE FROM project_product WHERE product = 1")
        sent = dict(product=1, desc="d")
        kept = filled.put("/builds/1", **sent)
        holds(kept, **sent)

    def test_builds_come_whole_unless_a_page_is_asked_for(self, shop):
        build = dict(least("POST /builds", 2), project=1)
        builds = [dict(build, name=f"B{n}") for n in range(22)]
        builds[3]["date"] = "2026-11-21"
        shop.load(builds=builds)
        for path in ("/projects/1/builds", "/executions/2/builds", "/builds"):
            listed = shop.get(path)["builds"]
            latest_first = ids(listed)
            assert latest_first == [4, *range(22, 4, -1), 3, 2, 1]
            page = shop.get(f"{path}?limit=5&page=5")
            assert page["builds"] == listed[20:]


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
            filled.call("DELETE", "/builds/1")


class TestTestTasks:
    def test_cases_go_in_as_ids_and_come_out_as_records(self, filled):
        run = filled.put("/testtasks/1", testcases=[1, "2"], build=1)
        holds(run, build="1", buildName="B1")
        tested = [case["case"] for case in run["testcases"]]
        assert tested == [1, 2]
        filled.put("/testtasks/1", testcases=["2"])
        run = filled.put("/testtasks/1", build="trunk")
        tested = [case["case"] for case in run["testcases"]]
        assert tested == [2]


def chain(first, levels):
    """Return departments of which each is below the one before."""
    departments = [dict(id=id, name="D", parent=id - 1) for id in range(first, first + levels)]
    departments[0]["parent"] = 0
    return departments


class TestDepartments:
    def test_new_one_comes_last(self, client):
        made = [client.post("/departments", name="D") for _ in range(3)]
        assert [one["order"] for one in made] == [10, 20, 30]

    def test_list_is_of_trees_and_moving_one_moves_all_below(self, filled):
        first, last = filled.get("/departments")
        [below] = first["children"]
        [lowest] = below["children"]
        holds(lowest, path=",1,2,3,", grade=3)
        assert last["path"] == ",4,"
        assert "children" not in filled.get("/departments/1")
        for parent, path, grade in ((4, ",4,2,3,", 3), (0, ",2,3,", 2)):
            filled.put("/departments/2", parent=parent)
            lowest = filled.get("/departments/3")
            holds(lowest, path=path, grade=grade)

    def test_empty_one_is_really_removed(self, filled):
        filled.put("/users/dev1", dept=3)
        for id in (1, 2, 3):
            filled.refused("DELETE", f"/departments/{id}")
        remove(filled, "/departments/4")
        filled.put("/users/qa1", dept=1)
        filled.put("/users/dev1", dept=0)
        remove(filled, "/users/qa1", "/departments/3", "/departments/2", "/departments/1")
        assert filled.dump()["departments"] == []

    def test_programs_nest_50_deep_at_most(self, client):
        refusal = client.cannot_load(programs=chain(1, 51))
        assert "programs[50].parent" in refusal
        client.load(programs=chain(1, 49) + chain(101, 25))
        last = client.program(parent=49)
        assert last["grade"] == 50
        assert broken(client, "POST /programs", dict(HOME, parent=last["id"])) == "parent"
        project = dict(HOME, parent=last["id"], products=[client.product()["id"]])
        assert client.post("/projects", **project)["grade"] == 51
        refusal = client.refused("PUT", "/programs/101", dict(parent=26))
        assert "more than 50 levels" in refusal["fields"]["parent"]
        client.put("/programs/101", parent=25)
        assert client.get("/programs/125")["grade"] == 50

    def test_there_are_50_levels_at_most(self, client):
        refusal = client.cannot_load(departments=chain(1, 51))
        assert "departments[50].parent" in refusal
        client.load(departments=chain(1, 49) + chain(101, 25))
        last = client.post("/departments", name="D", parent=49)
        assert last["grade"] == 50
        below = dict(name="D", parent=last["id"])
        assert broken(client, "POST /departments", below) == "parent"
        # A department that moves takes the levels below it along.
        refusal = client.refused("PUT", "/departments/101", dict(parent=26))
        assert "more than 50 levels" in refusal["fields"]["parent"]
        moved = client.put("/departments/101", parent=25)
        assert moved["grade"] == 26
        assert client.get("/departments/125")["grade"] == 50


EVE = dict(id=20, account="eve", password=SECRET)
AS_EVE = dict(account="eve", password="secret")
BOSS = dict(account="boss", realname="Bo", admin=True)


class TestUsers:
    def test_account_is_taken_by_those_with_a_password(self, shop):
        shop.load(users=[EVE])
        taken = shop.refused("POST", "/users", AS_EVE)
        assert taken["fields"] == {"account": 'is taken (got "eve")'}
        made = shop.post("/users", account="qa1", password="another")
        assert made["id"] == 6  # a person field had made this user, without a password
        assert shop.login("qa1", "another")

    def test_everybody_changes_the_own_name_and_password_until_being_deleted(self, shop):
        shop.load(users=[EVE])
        shop.token = shop.token_of("eve")
        own = dict(realname="Eve", email="e@x.org")
        changed = shop.put("/users/eve", **own)
        holds(changed, **own)
        holds(shop.get("/user")["profile"], **own, role=dict(code="", name=""))
        assert shop.get("/ping")["token"] == shop.token
        promotion = dict(role="top", admin=True)
        shop.refused("PUT", "/users/eve", promotion, status=403)
        shop.put("/users/eve", password="another")
        shop.refused("GET", "/user", status=401)
        shop.refused("POST", "/tokens", AS_EVE)
        shop.token = shop.login("eve", "another")
        send(shop, "DELETE /users/eve", Token="t")
        assert tokens_in(shop) == ""
        shop.refused("GET", "/user", status=401)
        shop.refused("POST", "/tokens", dict(AS_EVE, password="another"))
        refusal = shop.refused("POST", "/users", AS_EVE, Token="t")
        assert [*refusal["fields"]] == ["account"]

    def test_last_administrator_and_oneself_stay(self, shop):
        shop.load(users=[BOSS])
        boss = shop.token_of("boss")
        refusal = shop.refused("DELETE", "/users/boss", Token=boss)
        assert "yourself" in refusal["error"]
        send(shop, "DELETE /users/admin", Token=boss)
        refusal = shop.refused("DELETE", "/users/boss")  # with the fixed token
        assert "last administrator" in refusal["error"]

    @each("sent", [dict(realname="N"), dict(email="n@x.org"), dict(password="another")])
    def test_member_changes_no_other_user(self, shop, sent):
        shop.token = shop.token_of("dev1")
        shop.refused("PUT", "/users/dev2", sent, status=403)

    def test_empty_day_of_a_user_unsets_it(self, world):
        world.put("/users/4", birthday="1970-02-03")
        assert world.put("/users/4", birthday="")["birthday"] is None

    def test_digits_in_a_path_are_an_id(self, shop):
        shop.load(users=[dict(id=50, account="4"), dict(id=51, account="4000")])
        assert shop.get("/users/4")["account"] == "dev1"
        shop.refused("GET", "/users/4000", status=404)


# fmt: off
REFUSED_WORDS = [  # the status, the request, what is sent, words of the refusal
    (400, "POST /projects/1/releases",          dict(RELEASE, build=[1, 2]),          "whole number"),
    (400, "POST /products/1/stories?type=epic", STORY,                                "story, requirement"),
    (400, "DELETE /programs/6",                 None,
     "A program with children cannot be deleted; delete or move them first."),
    (404, "GET /programs/1",                    None,                                 "no program 1"),
    (404, "POST /executions/6/tasks",           TASK,                                 "no execution or project 6"),
    (404, "GET /configurations/versoin",        None,                                 "no configuration versoin."),
]
# fmt: on


def word(array):
    """Return the word of a resource by its array: "bug" of "bugs"."""
    return {"stories": "story"}.get(array, array[:-1])


class TestActions:
    """The action log at the end of single bugs, tasks and stories."""

    @each("array", ["bugs", "tasks", "stories"])
    def test_log_begins_with_who_opened_a_record_and_has_all_comments(self, filled, array):
        path = f"/{array}/1"
        move = {"bugs": "assign", "tasks": "assignto", "stories": "assign"}[array]
        opened = filled.succeed("GET", path)
        filled.clock.forward(hours=1)
        filled.token = filled.token_of("qa1")
        filled.put(path, comment='first "words"')
        filled.clock.forward(hours=1)
        filled.post(f"{path}/{move}", assignedTo="dev2", comment="then")
        shown = filled.succeed("GET", path)
        assert [*shown][-1] == "actions"
        same = dict(objectType=word(array), objectID=1, history=[])
        opener = opened["openedBy"]["account"]
        assert shown["actions"][0] == dict(
            same, id=0, actor=opener, action="opened", date=NOW_ISO, comment=""
        )
        told = [
            (one["actor"], one["action"], one["date"], one["comment"])
            for one in shown["actions"][1:]
        ]
        assert told == [
            ("qa1", "edited", "2026-11-20T08:42:17Z", 'first "words"'),
            ("qa1", "assigned", "2026-11-20T09:42:17Z", "then"),
        ]
        ids_of = [one["id"] for one in shown["actions"]]
        assert ids_of == sorted({*ids_of})
        assert filled.call("PUT", path, shown).status_int == 200
        answer = filled.call("PUT", path, {"actions": shown["actions"]})
        assert answer.headers["Ignored-Fields"] == "actions"

    def test_record_that_nobody_opened_has_no_actor(self, shop):
        shop.load(bugs=[dict(BUG, product=1, openedBy=None, openedDate=None)])
        (action,) = shop.succeed("GET", "/bugs/1")["actions"]
        assert (action["actor"], action["date"]) == ("", None)

    def test_log_is_no_part_of_lists_and_other_answers(self, filled):
        for path in ("/products/1/bugs", "/executions/2/tasks", "/products/1/stories"):
            assert "actions" not in filled.call("GET", path).text
        for path in ("/bugs/1", "/tasks/1", "/stories/1"):
            assert "actions" not in filled.put(path, comment="c")


class TestBesideARecord:
    """The fields that the GET of a project or an execution adds to the specification's."""

    def test_products_are_those_of_the_caller_with_their_plans(self, filled):
        filled.put("/products/2", acl="private")
        filled.load(plans=[dict(id=9, product=2, title="Q", **MARCH)])
        remove(filled, "/productplans/2")
        titles = [dict(id=1, title="P"), dict(id=3, title="P")]
        shop = dict(id=1, name="Shop", plans=titles)
        till = dict(id=2, name="Till", plans=[dict(id=9, title="Q")])
        filled.put("/executions/2", products=[1, 2])
        for path in ("/projects/1", "/executions/2"):
            shown = filled.succeed("GET", path)
            assert [*shown][-1] == ("products" if path == "/projects/1" else "progress")
            assert shown["products"] == [shop, till]
            assert filled.call("PUT", path, shown).status_int == 200
            assert filled.succeed("GET", path)["products"] == [shop, till]
        filled.token = filled.token_of("dev2")
        assert filled.succeed("GET", "/executions/2")["products"] == [shop]
        filled.token = "t"
        remove(filled, "/products/1")
        assert filled.succeed("GET", "/projects/1")["products"] == [till]

    def test_hours_are_those_of_the_tasks_of_an_execution(self, shop):
        hours = [  # estimate, consumed, left, and the state
            (3, 2.5, 6, "doing"),
            (0.1, 1, 2, "closed"),
            (0.2, 0, 0.5, "wait"),
            (9, 9, 9, "cancel"),
            (2, 0.5, 0, "done"),
        ]
        shop.load(
            tasks=[
                dict(
                    execution=2,
                    name="T",
                    estimate=estimate,
                    consumed=consumed,
                    left=left,
                    status=status,
                )
                for estimate, consumed, left, status in hours
            ]
        )
        remove(shop, f"/tasks/{shop.task(2, estimate=50)['id']}")
        shown = shop.succeed("GET", "/executions/2")
        holds(shown, totalEstimate=5.3, totalConsumed=4, totalLeft=6.5, progress=38)
        empty = shop.succeed("GET", "/executions/3")
        holds(empty, totalEstimate=0, totalConsumed=0, totalLeft=0, progress=0, products=[])


class TestMine:
    """GET /user?fields=…: what is assigned to the caller and not closed."""

    def test_lists_are_those_that_are_asked_for(self, filled):
        filled.load(
            stories=[
                dict(product=1, title="S", assignedTo="dev1", status=status)
                for status in ("active", "closed")
            ],
            bugs=[
                dict(BUG, product=1, assignedTo="dev1", status=status)
                for status in ("resolved", "closed")
            ],
        )
        filled.token = filled.token_of("dev1")
        answer = filled.call("GET", "/user?fields=bug,task,story,bug,,todo")
        assert answer.headers["Ignored-Fields"] == "?fields.todo"
        shown = answer.json
        assert [*shown] == ["profile", "bug", "task", "story"]
        assert shown["profile"] == filled.get("/user")["profile"]
        assert (shown["bug"]["total"], ids(shown["bug"]["bugs"])) == (3, [3, 2, 1])
        assert shown["task"] == {"total": 1, "tasks": filled.get("/tasks")["tasks"]}
        assert (shown["story"]["total"], ids(shown["story"]["stories"])) == (1, [4])

    def test_without_the_parameter_it_is_the_profile_alone(self, filled):
        for query in ("", "?fields=", "?fields=profile"):
            assert [*filled.get(f"/user{query}")] == ["profile"]


class TestSmallOnes:
    @each(("status", "line", "body", "words"), REFUSED_WORDS)
    def test_refusal_says_what_is_allowed_or_missing(self, filled, status, line, body, words):
        refusal = filled.refused(*line.split(), body, status)
        assert words in refusal["error"]

    def test_administrators_are_the_only_group(self, shop):
        shop.load(users=[BOSS])
        (group,) = shop.get("/groups")
        assert group["accounts"] == {"admin": "admin", "boss": "Bo"}


# --- 9 Users: users, their passwords and tokens ---------------------------------------------------


LOGIN_FAILED = {"error": "Login failed. Please check your account and password."}
SECRET_MD5 = hashlib.md5(b"secret").hexdigest()


def fail_to_log_in(client, account, password="secret"):
    body = dict(account=account, password=password)
    answer = client.call("POST", "/tokens", body, Token=None)
    assert (answer.status_int, answer.json) == (400, LOGIN_FAILED)


def status_with(client, token="t", **headers):
    return client.call("GET", "/user", Token=token, **headers).status_int


def load_user(client, account, **facts):
    client.load(users=[dict(account=account, **facts)])


def tokens_in(client):
    """Return the accounts of all tokens."""
    return " ".join(account for (account,) in client.sql("SELECT account FROM token ORDER BY 1"))


@pytest.fixture
def hashing(monkeypatch):
    """Yield an object; its `before` is called with the parameters of each hash of a password."""
    observer, scrypt = SimpleNamespace(before=ignore), hashlib.scrypt

    def observed(secret: bytes, **parameters: Any) -> bytes:
        observer.before(parameters)
        return scrypt(secret, **parameters)

    monkeypatch.setattr(hashlib, "scrypt", observed)
    return observer


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
NAMED_IN_CAPITALS = [  # request on FILLED, a field, what is sent, what is shown
    ("POST /products", "PO", "DEV1", "dev1"), ("PUT /products/1", "QD", {"account": "DEV1"}, "dev1"),
    ("POST /products", "whitelist", ["DEV1", "dev1"], ["dev1"]), ("PUT /products/2", "RD", "Dev2", "dev2"),
    ("POST /bugs/1/assign", "assignedTo", ["Dev2"], "dev2"), ("POST /tasks/1/assignto", "assignedTo", "QA1", "qa1"),
    ("POST /projects/1/builds", "builder", "DEV1", "dev1"), ("PUT /departments/1", "manager", "DEV1", "dev1"),
    ("PUT /stories/1", "mailto", ["DEV1"], ["dev1"]), ("POST /products/1/stories", "reviewer", ["DEV1"], ["dev1"]),
]
BROKEN_LOGINS = [  # a body, the fields that are refused
    (b"{}",                                         "account password"),
    (b'{"account": 1, "password": []}',             "password"),
    (b'{"account": "dev1", "password": "\\ud800"}', "password"),
]
# fmt: on


class TestAccountsInAnyCase:
    """DEV1 is dev1, and shown as it was first written."""

    def test_login_is_in_any_case_and_gives_a_token_of_the_user(self, dev1):
        users = dev1.get("/users")["total"]
        for account in ("DEV1", "Dev1"):
            dev1.token = dev1.login(account)
            assert dev1.get("/user")["profile"]["account"] == "dev1"
        dev1.token = "t"
        assert dev1.get("/users")["total"] == users
        assert dev1.get("/users/DEV1") == dev1.get("/users/dev1")
        dev1.put("/users/DEV1", password="secret2")
        assert tokens_in(dev1) == ""
        assert dev1.login("dEV1", "secret2")

    @each(("line", "field", "value", "shown"), NAMED_IN_CAPITALS)
    def test_person_is_the_same_in_any_case(self, filled, line, field, value, shown):
        before = filled.get("/users?limit=100")
        record = send(filled, line, good(line, **{field: value}))
        holds(record, **{field: shown})
        assert filled.get("/users?limit=100") == before

    def test_several_spellings_make_one_person(self, shop):
        task = shop.task(2, assignedTo=["Dev1", "dev1", "DEV1"])
        assert (task["id"], task["assignedTo"]["account"]) == (1, "dev1")

    def test_user_who_was_only_named_before_can_be_made_in_any_case(self, client):
        client.product(PO="Zoe")
        made = client.post("/users", account="zoe", password="secret")
        assert made["account"] == "Zoe"
        assert broken(client, "POST /users", dict(account="zOE", password="secret")) == "account"
        assert client.login("ZOE")

    def test_fixture_names_people_in_any_case(self, client):
        users = [dict(account="Dev1", id=7), dict(account="DEV1", realname="Dan")]
        client.load(users=users, products=[dict(name="P", PO="dev1", whitelist=["dEV1"])])
        product = client.get("/products/1")
        holds(product, PO="Dev1", whitelist=["Dev1"])
        assert [one["account"] for one in client.get("/users")["users"]] == ["Dev1", "admin"]
        loads_the_same(client)

    def test_two_spellings_of_an_earlier_version_stay_two_users(self, filed):
        """It took DEV1 for another user than dev1."""
        filed.load(users=[dict(account="dev1", realname="small")])
        filed.sql("INSERT INTO user (account, realname) VALUES ('DEV1', 'LARGE')")
        for account, name in (("dev1", "small"), ("DEV1", "LARGE"), ("Dev1", "small")):
            assert filed.get(f"/users/{account}")["realname"] == name


class TestLogins:
    @each(("path", "password"), [("/tokens", "secret"), ("/api.php/v1/tokens/", SECRET_MD5)])
    def test_login_is_with_the_password_or_its_md5(self, dev1, path, password):
        body = dict(account="dev1", password=password)
        answer = dev1.call("POST", path, body, Token=None)
        assert (answer.status_int, [*answer.json]) == (201, ["token"])
        dev1.token = answer.json["token"]
        assert dev1.get("/products")["total"] == 1  # of those that dev1 may see

    def test_failed_logins_are_answered_alike_and_lock_nobody_out(self, dev1):
        for password in ["Secret", SECRET_MD5.upper(), "", " "]:
            fail_to_log_in(dev1, "dev1", password)
        # dev2 has no password
        for account in ["nobody", "dev2", "DEV2", ""]:
            fail_to_log_in(dev1, account)
        assert dev1.login("dev1")

    # a wrong password, how many hashes are made of it
    @each(("password", "hashes"), [("wrong", 1), (SECRET_MD5.upper(), 1), (SALT, 2)])
    def test_failed_login_costs_the_same_work_whoever_it_names(
        self, dev1, hashing, password, hashes
    ):
        for account in ("dev1", "dev2", "nobody"):
            work = []
            hashing.before = work.append
            fail_to_log_in(dev1, account, password)
            costs = [(one["n"], one["r"], one["p"]) for one in work]
            assert costs == [(16384, 8, 1)] * hashes

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
        for person in ["dev1", 4, reference("dev1"), {"id": 4}, {"account": "dev1"}]:
            assert world.product(PO=person)["PO"] == reference("dev1")

    def test_new_person_becomes_a_user_who_cannot_log_in(self, world):
        account = "new.er-1@x_"
        shown = dict(id=9, account=account, avatar="", realname=account)
        assert world.product(PO=account)["PO"] == shown
        fail_to_log_in(world, account, account)


# fmt: off
HINTS = [  # what is sent, a part of the hint
    ({},                              "No token was sent. Send one in the header `Token`."),
    ({"Token": ""},                   "No token was sent. Send one in the header `Token`."),
    ({"Authorization": "Bearer x"},   "Authorization and cookies are not read. Send a token in the header `Token`."),
    ({"Authorization": "BASIC eDp5"}, "Authorization and cookies are not read. Send a token in the header `Token`."),
    ({"Cookie": "zentaosid=x"},       "Authorization and cookies are not read. Send a token in the header `Token`."),
    ({"Token": "old", "Cookie": "x"}, "This token is unknown or has expired."),
]
UNKNOWN_TOKENS = [
    " \t", "T", "t ", "Bearer t", "\xc3\xa9", "x" * 10_000, hashlib.sha256(b"t").hexdigest(),
]
# fmt: on


class TestTokens:
    @each(("headers", "words"), HINTS)
    def test_request_without_a_known_token_is_unauthorized(self, client, headers, words):
        refusal = client.refused("GET", "/products", status=401, **{"Token": None, **headers})
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
        assert len({*tokens}) == 2
        assert min(map(len, tokens)) >= 32
        filed.close()
        kept = filed.path.read_bytes()
        for secret in (*tokens, "secret", SECRET_MD5):
            assert secret.encode() not in kept
        with opened(filed.path) as again:
            for token in tokens:
                assert hashlib.sha256(token.encode()).hexdigest().encode() in kept
                assert status_with(again, token) == 200

    def test_token_lives_a_day_after_its_last_use_and_the_use_of_another_removes_it(self, client):
        load_user(client, "dev1")
        unused, used = client.token_of("admin"), client.token_of("dev1")
        client.clock.forward(hours=23)
        assert status_with(client, used) == 200
        client.clock.forward(hours=2)
        assert status_with(client, unused) == 401
        assert tokens_in(client) == "admin dev1"  # what is refused writes nothing
        assert status_with(client, used) == 200
        assert tokens_in(client) == "dev1"
        for hours, status in ((23.9, 200), (23.9, 200), (24.1, 401)):  # after the last use
            client.clock.forward(hours=hours)
            assert status_with(client, used) == status


# fmt: off
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

    # to records without new1
    @each(
        "back", ["/-/reset?only=records", "/-/snapshots/start/restore", "/-/snapshots/gone/restore"]
    )
    def test_token_of_a_user_who_is_not_there_is_forgotten(self, two_users, back):
        two_users.put("/-/snapshots/start")
        load_user(two_users, "new1")
        token, other = two_users.token_of("new1"), two_users.token_of("dev2")
        two_users.post(back)
        assert tokens_in(two_users) == "dev2"
        load_user(two_users, "new1")
        assert status_with(two_users, token) == 401
        assert status_with(two_users, other) == 200

    def test_deleted_user_has_no_token_and_cannot_log_in(self, two_users):
        two_users.put("/-/snapshots/back")
        old = two_users.token_of("dev1")
        two_users.post("/-/snapshots/gone/restore")
        load_user(two_users, "dev1", password=SECRET)
        for token in (old, two_users.token_of("dev1")):
            assert status_with(two_users, token) == 401
            browse(two_users, "/user", token, 401)
        fail_to_log_in(two_users, "dev1")
        enter(two_users, 400, account="dev1", password="secret")
        two_users.post("/-/snapshots/back/restore")
        assert status_with(two_users, old) == 401


# fmt: off
ANOTHER = f"scrypt:{SALT}:{'0' * 128}"  # the hash of another password
CHANGES_OF_DEV1 = [
    ("POST",   "/-/load",                      dict(users=[dict(account="dev1", deleted=True)])),
    ("DELETE", "/users/dev1",                  None),
    ("POST",   "/-/load",                      dict(users=[dict(account="dev1", password=ANOTHER)])),
    ("POST",   "/-/snapshots/gone/restore",    None),
]
# fmt: on


class TestLoginsUnderWay:
    """Changes of a user while a password is hashed, which takes long and no transaction."""

    @pytest.fixture
    def meanwhile(self, two_users, hashing):
        """Return a function; the request that it gets comes when the next password is hashed."""

        def prepare(*request: Any) -> None:
            def send(_: Any) -> None:
                hashing.before = ignore
                assert in_another_thread(two_users.call, *request).status_int == 200

            hashing.before = send

        return prepare

    @each("change", CHANGES_OF_DEV1)
    def test_nobody_logs_in_whose_user_changes_meanwhile(self, two_users, meanwhile, change):
        meanwhile(*change)
        fail_to_log_in(two_users, "dev1")
        assert tokens_in(two_users) == ""
        two_users.post("/-/reset")
        meanwhile(*change)
        enter(two_users, 400, account="dev1", password="secret")
        assert tokens_in(two_users) == ""

    def test_login_succeeds_if_nothing_but_a_name_changes_meanwhile(self, two_users, meanwhile):
        meanwhile("PUT", "/users/dev1", dict(realname="Dan Dev"))
        assert status_with(two_users, two_users.login("dev1")) == 200
        meanwhile("PUT", "/users/dev1", dict(realname="Danny"))
        enter(two_users, account="dev1", password="secret")


# fmt: off
ZEROS = "0" * 128
EXPENSIVE = f"scrypt:131072:8:4:{SALT}:{ZEROS}"  # takes a hundred times as long to compare
LIKE_HASHES = [
    EXPENSIVE, f"scrypt:1024:8:1:{SALT}:{ZEROS}",
    f"scrypt:16384:8:2:{SALT}:{ZEROS}", f"scrypt:16384:16:1:{SALT}:{ZEROS}",
    f"scrypt:16384:8:1:{SALT}:{ZEROS[1:]}", f"scrypt:16384:8:1:{SALT[1:]}:{ZEROS}", f"scrypt:{SALT}", "scrypt:",
    f"{SECRET} ", f"{SECRET}\n",
]
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
        *made, salt, hash = self.stored(client, "dev1").split(":")
        assert made == ["scrypt", "16384", "8", "1"]
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
        # passwords that are too short or too long
        for password in ["12345", "äöüß€", " " * 6, "x" * 65_537]:
            assert broken(dev1, line, dict(body, password=password)) == "password"
        # A hash that is stored is a text as any other, also for the user who has it.
        send(dev1, line, dict(body, password=SECRET))
        assert self.stored(dev1, account).startswith("scrypt:16384:8:1:")
        assert dev1.login(account, SECRET)
        fail_to_log_in(dev1, account)
        dev1.token = "t"
        assert dev1.put(f"/users/{account}", password="123456")

    def test_command_hashes_a_stored_hash_too(self, filed):
        command = ["user", "new1", "--password", EXPENSIVE, "--database", str(filed.path)]
        assert pmservice.main(command) == 0
        assert filed.login("new1", EXPENSIVE)

    @each("text", LIKE_HASHES)
    def test_other_texts_that_look_like_hashes_are_refused_in_fixtures(self, client, text):
        refusal = client.cannot_load(users=[dict(account="new1", password=text)])
        assert refusal.startswith("users[0].password ")
        assert SALT not in refusal  # a hash has no place on a screen

    def test_document_says_how_long_a_password_is(self):
        content = DOCUMENT["paths"]["/users"]["post"]["requestBody"]["content"]
        body = validator(content["application/json"]["schema"])
        assert body.is_valid(dict(account="new1", password="123456"))
        assert not body.is_valid(dict(account="new1", password="12345"))


# --- 10 Fixtures: in and out ----------------------------------------------------------------------


# fmt: off
STORED = dict(
    products=[dict(id=1, name="P"), dict(id=2, name="Q")], projects=[dict(id=1, name="J", products=[1])],
    executions=[dict(id=2, project=1, name="E")],
    stories=[dict(id=id, product=1, title="s", parent=parent) for id, parent in ((1, 0), (2, 1), (3, 0))],
    tasks=[dict(id=1, execution=2, name="t", status="done", consumed=9e18)],
)
WRONG = [  # a part of a fixture, the place in it that is named, a part of what is said
    ('"bugs": [{"product": 1, "title": "B"}, {"product": 1, "title": "B", "severity": "x"}]',
     "bugs[1].severity", "a whole number"),
    ('"bugs": [{"product": 1}]', "bugs[0].title", "is required"),
    ('"bugs": [{"title": "B", "product": 0}]', "bugs[0].product", "an existing product"),
    ('"bugs": [{"title": "B", "product": 9}]', "bugs[0].product", "product (got 9)"),
    ('"bugs": [{"title": "B", "product": 1, "deleted": "maybe"}]', "bugs[0].deleted", "must be true or false"),
    ('"bugs": [{"title": "B", "product": 1, "openedBy": 99}]', "bugs[0].openedBy", "user (got 99)"),
    ('"bugs": [{"title": "B", "product": 1, "status": "gone"}]', "bugs[0].status", "active, resolved, closed"),
    ('"bugs": [{"title": "B", "product": 1, "colour": "red"}]', "bugs[0].colour", "is not a field of a bug"),
    ('"bugs": [{"title": "B", "product": 1, "repo": 7}]', "bugs[0].repo", "is always 0"),
    ('"bugs": [{"title": "B", "product": 1, "severity": NaN}]', "JSON", "has no NaN"),
    ('"bugs": ["B"]', "bugs[0]", "must be an object"),
    ('"bugs": {}', "bugs", "must be an array"),
    ('"things": []', "unknown array", "things"),
    ('"bugs": [], "bugs": []', "bugs", "is given twice in one object."),
    ('"products": [{"name": "P", "acl": "open", "name": "Q"}]', "name",
     'is given twice in one object.'),
    ('"testcases": [{"product": 1, "title": "C", "steps": [{"desc": "a", "desc": "b"}]}]', "desc", "is given twice"),
    ('"users": [{"account": "new1", "realname": " "}]', "users[0].realname", "not blank"),
    ('"users": [{"account": "new1", "email": "x"}]', "users[0].email", "must be an e-mail address"),
    ('"executions": [{"name": "E", "project": 1, "begin": "2026-02-02", "end": "2026-02-03", "days": 3}]',
     "executions[0].days", "must be at most 2"),
    ('"programs": [{"name": "P", "realBegan": "2026-02-02", "realEnd": "2026-02-01"}]', "programs[0].realEnd",
     "realBegan"),
    ('"tasks": [{"name": "T", "execution": 2, "status": "done", "left": 1}]', "tasks[0].left", "must be 0"),
    ('"stories": [{"product": 1, "title": "s", "parent": 1, "estimate": 2e9}]', "stories[0].estimate",
     "1000000000 or less"),
    ('"users": [{"id": 1e999, "account": "x"}]', "users[0].id", "must be a whole number"),
    ('"products": [{"id": 0, "name": "P"}]', "products[0].id", "1 or more"),
    ('"products": [{"id": 1, "name": "P"}]', "products[0].id", "is taken (got 1)."),
    ('"programs": [{"id": 11, "name": "P"}], "projects": [{"id": 11, "name": "Q"}]',
     "projects[0].id", "programs, projects and executions share one numbering."),
    ('"programs": [{"name": "P", "begin": "2026-02-02", "end": "2026-02-01"}]',
     "programs[0].end", "must not be before begin"),
    ('"programs": [{"id": 5, "name": "P", "parent": 6}, {"id": 6, "name": "Q", "parent": 5}]',
     "programs[0].parent", "lie below it"),
    ('"projects": [{"name": "Q", "parent": 1}]', "projects[0].parent", "program (got 1)"),
    ('"projects": [{"name": "Q", "project": 1}]', "projects[0].project", "must be 0: only executions"),
    ('"projects": [{"name": "P", "products": [1, 9]}]', "projects[0].products", "product (got 9)"),
    ('"projects": [{"name": "P", "type": "program"}]', "projects[0].type", "project"),
    ('"executions": [{"name": "E"}]', "executions[0].project", "is required"),
    ('"projects": [{"id": 11, "name": "Q"}], "executions": [{"name": "E", "project": 1, "parent": 11}]',
     "executions[0].parent", "must be the project"),
    ('"projects": [{"id": 11, "name": "Q"}], "tasks": [{"name": "T", "execution": 2, "project": 11}]',
     "tasks[0].project", "its execution"),
    ('"testcases": [{"product": 1, "title": "C", "steps": [{"expect": "x"}]}]',
     "testcases[0].steps[0].desc", "is required"),
    ('"stories": [{"product": 2, "title": "s", "parent": 1}]', "stories[0].parent",
     "product 2, like the story (got 1)"),
    ('"stories": [{"product": 1, "title": "s", "parent": 2}]', "stories[0].parent", "a story that has no parent"),
    ('"builds": [{"project": 1, "product": 1, "name": "b"}, {"project": 1, "product": 1, "name": "b"}]',
     "builds[1].name", "cannot be given to a build of this product"),
    ('"builds": [{"project": 1, "product": 2, "name": "b", "stories": [1]}]', "builds[0].stories",
     "product 2, like the build (got 1)"),
    ('"departments": [{"id": 1, "name": "a", "parent": 2}, {"id": 2, "name": "b", "parent": 1}]',
     "departments[0].parent", "lie below it"),
]
ADDED = [  # requests that add to FULL what only operations write
    ("POST /stories/1/change",              dict(title="New")),
    ("POST /products/1/stories?objectID=3", dict(STORY, reviewer=["admin", "dev1"])),
    ("POST /stories/6/review",              dict(result="clarify")),
    ("PUT /users/4",                        dict(dept=2)),
    ("POST /testcases/1/results",           dict(steps=[dict(result="fail", real="r")])),
    ("POST /tasks/1/estimate",              dict(dates=["2026-11-16"], consumed=[2], left=[8], work=["w"])),
]
LAST_COUNT = 2**53
AT_THE_END = {  # records whose counters are at their end, and then the requests that would go beyond
    "stories":     (dict(product=1, title="s", version=LAST_COUNT), "POST /stories/4/change", dict(title="new")),
    "tasks":       (dict(execution=2, name="t", version=LAST_COUNT), "PUT /tasks/2", dict(name="new")),
    "testcases":   (dict(product=1, title="c", version=LAST_COUNT, steps=[dict(desc="a")]),
                    "PUT /testcases/1", dict(steps=[dict(desc="b")])),
    "results":     (dict(case=1), "POST /testcases/1/results", dict(steps=[dict(result="fail")])),
    "bugs":        (dict(product=1, title="b", status="closed", activatedCount=LAST_COUNT), "POST /bugs/1/active", {}),
    "departments": (dict(name="d", order=LAST_COUNT), "POST /departments", dict(name="next")),
}
JOINED = [  # requests that join an array to a text, and the field
    ("POST /products/1/bugs",      "openedBuild"), ("PUT /bugs/1",     "openedBuild"),
    ("POST /bugs/1/activate", "openedBuild"),
    ("POST /projects/1/releases",  "mailto"),      ("PUT /releases/1", "mailto"),
]
NO_FIXTURES = (
    "", "{", "[]", "null", '{"bugs": [NaN]}', "[" * 200_000,
)
# fmt: on


def fixture_of_links(n: int) -> dict[str, Any]:
    """Return a fixture where n records of each kind name a record, or are named by one."""
    numbers = [*range(1, n + 1)]
    story = dict(product=1, title="S", openedBy="unknown", plans=[1])
    return {
        "projects": [dict(id=1, name="J", products=numbers)],
        "products": [dict(id=id, name="P") for id in numbers],
        "plans": [dict(id=1, product=1, title="of all")],
        "stories": [dict(story, id=id) for id in numbers],
        "builds": [dict(project=1, product=1, name="of all", stories=numbers)],
    }


def loads_the_same(client):
    """Assert that a dump, loaded into an empty database, is dumped again as the same bytes."""
    dumped = client.dumped()
    with opened() as again:
        answer = again.call("POST", "/-/load", dumped, Token="t")
        assert answer.status_int == 200, answer.text
        assert answer.json["records"] == sum(map(len, client.dump().values()))
        assert again.dumped() == dumped
        assert problems(again) == []


class TestFixtures:
    def test_no_load_leaves_a_link_to_nothing(self, client):
        client.sql("""CREATE TRIGGER lost AFTER INSERT ON bug
            BEGIN DELETE FROM user WHERE account = NEW.assignedTo; END""")
        bug = dict(product=1, title="B", assignedTo="nobody")
        fixture = dict(products=[dict(name="P")], bugs=[bug])
        client.refused("POST", "/-/load", fixture, status=503)
        assert problems(client) == []

    def test_dump_has_what_was_loaded_which_sets_every_field_and_loads_again(self, client):
        """A field that is lost on the way has only its default in the dump."""
        client.load(**FULL)
        dumped, given = client.dump(), defaultdict(set)
        for array, records in FULL.items():
            given[TABLES[array]].update(*records)
            found = {record["id"]: record for record in dumped[array]}
            for record in records:
                wanted = without(record, "steps", "budget")
                shown = {field: found[record["id"]][field] for field in wanted}
                assert lines(shown) == lines(wanted)
        assert dumped["programs"][0]["budget"] == "200000"
        assert dumped["tasks"][1]["activatedDate"] is None  # as every unset moment
        for array, records in dumped.items():
            for field in records[0].keys() - given[TABLES[array]]:
                pytest.fail(f"WORLD and OTHERS have no {field} of {array}", pytrace=False)
        loads_the_same(client)
        for request, body in ADDED:
            send(client, request, body)
        loads_the_same(client)

    @each(("part", "place", "words"), WRONG)
    def test_wrong_fixture_loads_nothing_and_says_where_it_is_wrong(
        self, client, part, place, words
    ):
        client.load(**STORED)
        fixture = '{"plans": [{"product": 1, "title": "early"}], ' + part + "}"
        refusal = client.refused("POST", "/-/load", fixture.encode())["error"]
        assert refusal.startswith(f"{place} ")
        assert words in refusal

    @each("array", AT_THE_END)
    def test_counters_stop_where_a_fixture_ends(self, client, array):
        record, request, body = AT_THE_END[array]
        case = dict(product=1, title="c", caseFails=LAST_COUNT, steps=[dict(desc="a")])
        client.load(**{**STORED, "testcases": [case] if array == "results" else []})
        client.load(**{array: [record]})
        send(client, request, body)
        loads_the_same(client)

    @each(("line", "field"), JOINED)
    def test_array_is_as_long_as_the_text_that_it_becomes(self, filled, line, field):
        if line.endswith("activate"):
            filled.post("/bugs/1/resolve", resolution="fixed")
        item = "x" * 32_768
        assert broken(filled, line, good(line, **{field: [item, item]})) == field
        send(filled, line, good(line, **{field: [item, item[1:]]}))
        loads_the_same(filled)

    @each(("kind", "new"), [("stories", "stories"), ("productplans", "plans")])
    def test_deleted_child_stands_in_the_way_of_no_dump(self, shop, kind, new):
        new = f"/products/1/{new}"
        told = dict(title="T", spec="S", pri=1, category="c")
        above, other = (shop.post(new, **told)["id"] for _ in range(2))
        remove(shop, f"/{kind}/{shop.post(new, **told, parent=other)['id']}")
        assert shop.put(f"/{kind}/{other}", parent=above)["parent"] == above
        loads_the_same(shop)

    @each("text", NO_FIXTURES)
    def test_what_is_no_fixture_is_refused(self, client, text):
        client.refused("POST", "/-/load", text.encode())

    def test_work_grows_with_the_number_of_links_not_with_its_square(self):
        def steps(n: int) -> int:
            """Return how many times SQLite has done a hundred steps when n records are loaded."""
            rounds = itertools.count()

            def count(connection, *_):
                connection.set_progress_handler(lambda: next(rounds) < 0, 100)

            with connecting(count), opened() as client:
                client.load(**fixture_of_links(n))
            return next(rounds)

        assert steps(1600) < 5 * steps(400)

    def test_ids_are_kept_persons_become_users_and_null_is_not_given(self, client):
        named = dict(id=70, name="P", desc=None, PO=7)
        unnamed = dict(name="Q", PO="new2", whitelist=["new3"])
        user = dict(id=7, account="new1")
        assert client.load(bugs=None, users=[user], products=[named, unnamed]) == 3
        client.product()
        assert ids(client.get("/products")["products"]) == [70, 71, 72]
        assert client.get("/products/70")["PO"]["account"] == "new1"
        for account in ("new2", "new3"):
            holds(client.get(f"/users/{account}"), account=account, realname=account)

    def test_app_takes_a_fixture_while_it_holds_no_records(self, tmp_path):
        for name in ("P", "Q"):
            with opened(tmp_path / "pm.db", load={"products": [{"name": name}]}) as client:
                assert [one["name"] for one in client.get("/products")["products"]] == ["P"]

    def test_flag_may_be_a_digit_as_answers_show_it(self, client):
        client.load(products=[dict(name="P", deleted="1"), dict(name="Q", deleted="0")])
        assert ids(client.get("/products")["products"]) == [2]


# fmt: off
REFUSED_BY_RECORDS = [  # request, what is sent, the field that is broken by what is stored
    ("PUT /stories/1",                       dict(parent=3),                         "parent"),  # 1 has a child
    ("POST /products/1/stories",             dict(STORY, parent=2),                  "parent"),  # 2 is a child
    ("PUT /stories/1",                       dict(estimate=99),                      "estimate"),
    ("POST /tasks/1/estimate",               dict(consumed=9e18, left=1),            "consumed"),
]
# fmt: on


class TestWhatIsStored:
    """Requests that are refused because of what is stored, and what is not."""

    @each(("request_line", "sent", "field"), REFUSED_BY_RECORDS)
    def test_request_is_refused_by_what_is_stored(self, client, request_line, sent, field):
        client.load(**STORED)
        assert broken(client, request_line, sent) == field

    def test_name_of_a_deleted_build_is_free_and_its_project_that_of_its_execution(self, client):
        one = dict(product=1, execution=2, name="b")
        client.load(**STORED, builds=[dict(one, deleted=True), one], testtasks=[one])
        for path in ("/builds/2", "/testtasks/1"):
            assert client.get(path)["project"] == 1
        loads_the_same(client)

    def test_text_of_a_release_names_stories_only_by_ids_of_64_bits(self, client):
        client.load(**STORED)
        for text in ("1,99999999999999999999", "1, 2,", "x", "1.5,true", "[1]"):
            client.post("/projects/1/releases", **RELEASE, stories=text)
        stages = {story["id"]: story["stage"] for story in client.get("/stories")["stories"]}
        assert stages == {1: "released", 2: "released", 3: "wait"}


# fmt: off
LAST_ID = 2**53
LAST = {  # what the last record has other than the first one of FILLED
    "users": dict(account="last"), "builds": dict(name="L"), "efforts": dict(task=1), "results": dict(case=1),
}
LAST_STEP = dict(product=1, title="L", steps=[dict(id=LAST_ID, desc="a")])
LAST_USER, LAST_TASK_BUT_ONE = dict(account="last", id=LAST_ID), dict(execution=2, name="T", id=LAST_ID - 1)
BEYOND_LAST = [  # array, a record of it, a request that needs ids beyond the last one, what is sent
    ("testcases", LAST_STEP,         "POST /products/1/testcases", dict(CASE, steps=[dict(desc="a")])),
    ("users",     LAST_USER,         "PUT /products/1",            dict(PO="next")),
    ("tasks",     LAST_TASK_BUT_ONE, "POST /executions/2/tasks",   dict(TASK, assignedTo=["dev1", "qa1"])),
]
# fmt: on


class TestLastIds:
    """Ids end at 2^53, up to which every reader of JSON is exact."""

    @each("array", TABLES)
    def test_last_id_is_given_and_none_beyond_it(self, filled, array):
        first, *_ = FILLED.get(array, [{}])
        making = [one for one in OPERATIONS if one.array == array and one.method == "POST"]
        line = " ".join(on_filled(making[0].line))
        record = {**without(first, "id"), **LAST.get(array, {})}
        filled.load(**{array: [dict(record, id=LAST_ID - 1)]})
        send(filled, line, good(line))
        dumped = filled.dump()
        assert max(ids(dumped[array])) == LAST_ID
        another = {"account": "new2"} if array == "users" else {}
        filled.refused(*line.split(), good(line, **another))
        filled.cannot_load(**{array: [{**record, **another}]})
        loads_the_same(filled)

    @each(("array", "record", "line", "body"), BEYOND_LAST)
    def test_request_makes_nothing_beyond_the_last_id(self, filled, array, record, line, body):
        filled.load(**{array: [record]})
        filled.refused(*line.split(), body)

    def test_user_who_makes_room_gets_no_id_beyond_the_last_one(self, client):
        first = dict(id=1, account="first")
        # The administrator has the id 1, and there is none above the last one.
        assert str(LAST_ID) in client.cannot_load(users=[first, LAST_USER])
        client.load(users=[first, dict(LAST_USER, id=LAST_ID - 1)])
        assert ids(client.dump()["users"]) == [1, LAST_ID - 1, LAST_ID]


# --- 11 Operations: every one ---------------------------------------------------------------------


# fmt: off
BROKEN_ALIKE = {  # a value, and the requests with the fields that refuse it: in each request all at once
    "": """
        PUT /stories/1 title; POST /stories/1/change title; POST /products/1/plans title; PUT /productplans/1 title;
        POST /projects/1/builds name; PUT /builds/1 name; PUT /releases/1 name; PUT /testcases/1 title;
        PUT /departments/1 name; PUT /users/dev2 realname password; PUT /programs/6 name; PUT /executions/2 name;
        POST /programs begin; POST /products/1/bugs severity; POST /executions/2/tasks type;
        POST /tasks/1/restart consumed;
        POST /products/1/testcases type; POST /bugs/1/resolve resolution
    """,
    " ": "POST /products/1/stories title; POST /projects/1/testtasks name; PUT /products/1 name",
    -1: """
        POST /products/1/stories pri estimate; PUT /stories/1 pri; POST /projects/1/testtasks pri; PUT /testcases/1 pri;
        POST /products/1/testcases pri; POST /products/1/bugs severity pri; PUT /bugs/1 severity pri; PUT /tasks/1 pri;
        POST /executions/2/tasks pri
    """,
    99: """
        POST /stories/1/assign assignedTo; POST /bugs/1/assign assignedTo; POST /projects/1/builds builder execution;
        POST /projects/1/testtasks owner; POST /departments parent manager; PUT /departments/1 parent manager;
        PUT /users/dev2 dept; PUT /products/1 program; POST /products/1/stories reviewer
    """,
    "a b": """
        POST /products/1/stories pri estimate mailto; POST /stories/1/close closedReason; POST /stories/1/review result;
        POST /products/1/plans begin; PUT /productplans/1 status; POST /productplans/1/linkstories stories;
        POST /productplans/1/unlinkstories stories; POST /productplans/1/linkbugs bugs; PUT /releases/1 status;
        POST /productplans/1/unlinkbugs bugs; POST /projects/1/builds date; PUT /builds/1 stories date;
        POST /projects/1/testtasks begin build status testcases; PUT /testcases/1 type; PUT /programs/6 acl budgetUnit;
        PUT /programs/7 begin; PUT /products/1 status type
    """,
}
WHITELIST_7 = dict(acl="private", whitelist=7)
BROKEN = {  # what is sent beside the smallest body: each field of it is broken, or those that stand beside it
    "PUT /stories/1":        [dict(parent=1)],
    "POST /products/1/plans": [(dict(begin="2031-01-01"), "end"), (dict(begin="2026-04-30", end="2026-03-01"), "end"),
                               dict(begin="2026-02-31")],
    "PUT /productplans/1":   [dict(parent=3)],
    "PUT /productplans/2":   [(dict(begin="2031-01-01"), "end")],
    "POST /productplans/1/linkstories":   [dict(stories=[1, 3]), dict(stories=[True]), dict(stories=[])],
    "POST /productplans/1/unlinkstories": [dict(stories=[1, 3])],
    "POST /productplans/2/linkbugs":      [dict(bugs=[True]), dict(bugs=[]), dict(bugs=[1, 2])],
    "POST /projects/1/builds": [dict(execution=5), dict(execution=4), dict(execution=0), dict(name="B1")],
    "POST /projects/4/builds": [(dict(execution=5), "product")],
    "PUT /builds/1":         [dict(name="B2"), dict(stories=[99])],
    "POST /projects/1/testtasks": [dict(execution=5), dict(end="2026-11-22")],
    "PUT /testtasks/1":      [dict(end="2026-11-01")],
    "PUT /testcases/1":      [(dict(steps=[{}]), "steps[0].desc")],
    "POST /products/1/testcases": [(dict(steps=[dict(desc="a", type="part")]), "steps[0].type")],
    "PUT /departments/1":    [dict(parent=1), dict(parent=3)],
    "PUT /programs/6":       [dict(end="2025-01-01"), dict(parent=6), dict(parent=7), dict(parent=1)],
    "PUT /products/1":       [dict(program=1)],
    "PUT /projects/1":       [dict(begin="2026-02-02"), dict(end="2026-11-29"), dict(MARCH), dict(parent=3)],
    "PUT /executions/2": [
        dict(begin="2025-12-31"), dict(end="2027-01-01"), (dict(begin="2026-03-02", end="2026-03-01"), "end"),
        dict(project=6), dict(days=-1),
    ],
    **{request: [(WHITELIST_7, "whitelist")] for request in (
        "PUT /programs/7", "PUT /products/2", "PUT /projects/4", "PUT /executions/3", "POST /projects",
        "POST /programs",
    )},
    "POST /testcases/1/results": [(dict(steps=[dict(result="maybe")]), "steps[0].result"), dict(steps=[{}, {}, {}])],
    "POST /testcases/1/results?version=2":   [({}, "version")],
    "POST /testcases/1/results?testtask=99": [({}, "testtask")],
    "POST /executions/2/tasks/batchCreate": [
        dict(tasks=[]), dict(tasks="x"), (dict(tasks=[DEVEL, 7]), "tasks[1]"),
        (dict(tasks=[{}]), "tasks[0].name tasks[0].type"),
        (dict(tasks=[DEVEL, dict(name="", type="x")]), "tasks[1].name tasks[1].type"),
        (dict(tasks=[DEVEL, dict(DEVEL, assignedTo=99)]), "tasks[1].assignedTo"),
    ],
    "POST /tasks/1/estimate": [
        (dict(consumed=[], left=[]), "consumed"), dict(consumed=[1, 0], left=[1, -1]), dict(date="2026-11-21"),
        dict(dates="2026-02-30"), (dict(consumed=[1, 1], work="w", dates="2026-11-18"), "dates left work"),
        (dict(consumed=[1, 1], left=[1, 1], dates=["2026-11-17", "2026-11-21"]), "dates"),
    ],
    "POST /tasks/1/finish":  [(dict(finishedDate="", realStarted="2026-02-02", currentConsumed=""), "finishedDate")],
}
NOT_GIVEN = [  # request, the fields that are sent empty beside the smallest body, what is not as before or not sent
    ("POST /products",      "type acl program line",      dict(type="normal", acl="private", program=0, line=0)),
    ("POST /programs",      "acl budget budgetUnit parent", dict(acl="open", budget="0", budgetUnit="CNY", parent=0)),
    ("POST /projects",      "model acl parent",           dict(model="scrum", acl="private", parent=0)),
    ("POST /products/1/bugs", "deadline project story assignedTo",
                                                          dict(deadline=None, project=0, story=0, assignedTo=None)),
    ("POST /executions/2/tasks", "estimate pri story assignedTo", dict(estimate=0, story=0, assignedTo=None, left=0)),
    ("POST /products/1/testcases", "stage story module",  dict(stage="", story=0, module=0)),
    ("PUT /tasks/1",        "deadline assignedTo",        dict(deadline=None, assignedTo=None)),
    ("PUT /tasks/1",        "estStarted",                 dict(estStarted=None)),
    ("PUT /tasks/1",        "type pri estimate left story status consumed", {}),
    ("POST /tasks/1/start", "realStarted left consumed",  dict(realStarted="2026-11-20 07:42:17", left=3, consumed=0)),
    ("PUT /bugs/1",         "type severity pri plan",     {}),
    ("PUT /products/1",     "type acl PO program status line", dict(PO=None)),
    ("PUT /projects/1",     "begin end acl PM parent model", dict(PM=None)),
    ("PUT /executions/2",   "begin end status project",   {}),
    ("PUT /testcases/1",    "type pri stage",             dict(stage="")),
    ("PUT /stories/1",      "pri estimate parent",        {}),
    ("PUT /productplans/1", "begin end status",           {}),
]
SETTABLE = {  # path: the fields that a PUT sets, each with a new value
    "/programs/6": dict(
        name="N", PM="dev1", budget="7", budgetUnit="USD", desc="d", begin="2026-01-02", end="2026-12-30",
        realBegan="2026-02-01", realEnd="2026-02-02", acl="open",
    ),
    "/products/1": dict(
        name="N", line=3, PO="po1", QD="qd1", RD="rd1", type="branch", desc="d", acl="private", status="closed",
        program=6,
    ),
    "/projects/1": dict(
        name="N", begin="2026-01-02", end="2026-12-30", acl="private", desc="d", PM="dev1", parent=0,
    ),
    "/executions/2": dict(
        name="N", begin="2026-02-02", end="2026-11-29", lifetime="long", desc="d", days=9, acl="private",
        status="doing", PO="po1", PM="pm1", QD="qd1", RD="rd1",
    ),
    "/stories/1": dict(
        title="N", pri=1, category="safe", source="customer", sourceNote="n", keywords="k", estimate=2.5, module=7,
        parent=2, mailto=["qa1", "dev1"], plan="1",
    ),
    "/productplans/2": dict(title="N", begin="2026-03-02", end="2026-04-29", desc="d", status="doing", parent=1),
    "/builds/1": dict(
        name="N", builder="qa1", date="2026-11-22", desc="d", scmPath="s", filePath="f", stories=[1], bugs=[1],
    ),
    "/releases/1": dict(name="N", build=1, status="terminate", desc="d"),
    "/testtasks/1": dict(
        name="N", build="1", owner="qa1", status="done", begin="2026-11-22", end="2026-12-01", desc="d", pri=1,
        type="integrate",
    ),
    "/testcases/1": dict(
        title="N", pri=4, type="unit", stage="bvt,smoke", product=2, module=7, branch=1, precondition="p", story=1,
    ),
    "/departments/3": dict(name="N", parent=1, manager="qa1"),
    "/users/4": dict(
        realname="N", email="d@x.org", role="qa", dept=3, mobile="13800000000", gender="m", phone="010-12345678",
        qq="2", weixin="3", address="a",
    ),
    "/tasks/1": dict(desc="d", pri=1, type="ui", module=2),
    "/bugs/1": dict(title="N", pri=1, severity=1, type="config", steps="x", keywords="k", plan=1, module=3, task=4),
}
FOLLOW = {  # what follows a field that was set
    "parent": "path grade parentName parentPri childStories order", "program": "programName",
    "plan": "planTitle stage planName", "name": "team", "status": "realBegan", "begin": "days", "end": "days",
    "build": "buildID buildName filePath scmPath", "manager": "managerName", "product": "productName",
    "story": "storyVersion storyTitle storyStatus latestStoryVersion",
}
DEAD_LINKS = {  # what is deleted: the requests that would link to it anew, with the field that names it
    "/stories/1": """
        POST /projects/1/builds stories; PUT /builds/2 stories; POST /productplans/2/linkstories stories;
        POST /products/1/stories parent; PUT /stories/2 parent
    """,
    "/bugs/1": "POST /projects/1/builds bugs; PUT /builds/2 bugs; POST /productplans/2/linkbugs bugs",
    "/builds/1": "POST /projects/1/testtasks build; PUT /testtasks/2 build",
    "/testcases/1": "POST /projects/1/testtasks testcases; PUT /testtasks/2 testcases",
    "/productplans/2": "POST /products/1/stories plan; PUT /stories/2 plan; POST /products/1/plans parent",
    "/executions/2": "POST /projects/1/builds execution; POST /projects/1/testtasks execution",
    "/programs/7": "PUT /projects/1 parent; PUT /products/1 program",
    "/projects/4": "PUT /executions/2 project",
}
HELD = {  # beside those of FILLED
    "efforts": dict(task=1), "results": dict(case=1), "releases": dict(RELEASE, project=1, product=2, id=2),
}
BELOW = [  # what is deleted, and the fields that name it or what is below it
    ("/products/1", dict(product=[1])), ("/projects/1", dict(project=[1], execution=[1, 2, 3])),
    ("/executions/2", dict(execution=[2])),
]
BELOW_ARRAYS = {
    "/products/1": "stories plans bugs builds releases testcases testtasks",
    "/projects/1": "executions builds releases tasks testtasks", "/executions/2": "builds tasks",
}
MAKING_BELOW = [  # what makes records below another one
    "POST /executions/<id>/tasks", "POST /executions/<id>/tasks/batchCreate", "POST /tasks/<id>/estimate",
    "POST /testcases/<id>/results",
]
REFUSED_EVERYWHERE = [  # array, what is sent, what is said of its last field, the bodies in which it is right
    ("executions", dict(begin="2026-03-02", end="2026-03-03", days=3), "at most 2", ""),
    ("executions", dict(begin="2026-03-02", end="2026-03-03", days=-1), "0 or more", ""),
    ("executions", dict(begin="2026-03-03", end="2026-03-02"), "before begin", ""),
    ("stories", dict(estimate=99), "must be 4, the sum", "POST /stories; POST /products/<id>/stories"),
    ("stories", dict(estimate=1e9 + 1), "1000000000 or less", ""),
    ("stories", dict(reviewer=["gone"]), "deleted user", ""),
    ("tasks", dict(left=1), "must be 0 for a task in state done",  # the others lead to doing
     "POST /tasks/<id>/start; POST /tasks/<id>/restart; POST /tasks/<id>/activate; POST /tasks/<id>/active"),
    ("tasks", dict(estStarted="2026-03-03", deadline="2026-03-02"), "before estStarted", ""),
    ("users", dict(realname=" "), "not blank", ""),
    ("users", dict(email="x"), "an e-mail address", ""),
    ("users", dict(phone="x"), "a phone number", ""),
    ("products", dict(acl="private", whitelist=["gone"]), "deleted user", ""),
    ("testtasks", dict(begin="2026-03-03", end="2026-03-02"), "before begin", ""),
]
BOUNDS = ("type", "minimum", "maximum", "minLength", "maxLength", "pattern", "format", "minItems", "maxItems")
SPECIAL = {  # fields that bodies of a resource bound in different ways, as the contract says
    ("tasks", "assignedTo"),
}
ALSO_ARRAYS = {"openedBuild", "stage"}  # texts that may come as arrays
# that may not come as texts
ONLY_ARRAYS = {"steps", "tasks", "consumed", "left", "date", "dates", "work", "products", "stories", "bugs"}
WITH_LINKS = dict(
    bugs=[dict(id=id, product=1, title="B", openedBuild=",1,,trunk,") for id in (1, 2, 3)]
    + [dict(id=4, product=2, title="B")],
    testcases=[dict(id=id, product=1, title="C", steps=[dict(desc="a", type="group")]) for id in (1, 2, 3)],
    plans=[dict(id=1, product=1, title="P"), dict(id=2, product=1, title="Q", parent=1)],
    stories=[
        dict(id=1, product=1, title="S", plans=[1, 2], executions=[1], estimate=3),
        dict(id=2, product=1, title="T", parent=1, estimate=3),
        dict(id=3, product=1, title="U", status="draft", mailto=["dev1"],
             reviewers=[dict(account="qa1", result="reject"), dict(account="dev1", result="pass"),
                        dict(account="boss")]),
    ],
    builds=[dict(id=1, project=1, product=1, name="b", bugs=[1, 2], stories=[1])],
    testtasks=[dict(id=id, project=1, product=1, name="t", testcases=[1, 2, 3]) for id in (1, 2)],
    tasks=[dict(id=1, execution=1, name="T", story=1), dict(id=2, execution=1, name="T", status="done")],
    releases=[dict(id=1, project=1, product=1, name="R", stories="1,2", mailto="dev1,,qa1,")],
    departments=[dict(id=1, name="a"), dict(id=2, name="b", parent=1, order=2 * 10**9)],
)
UNLINKED = [  # what happens to records that others are linked with
    ("PUT /bugs/1", dict(product=2)), ("PUT /testcases/1", dict(product=2)), ("DELETE /testcases/2", None),
    ("DELETE /productplans/1", None), ("DELETE /stories/1", None), ("DELETE /bugs/2", None),
]
NOT_SETTABLE = [  # path, fields that a PUT ignores
    ("/stories/1",   dict(product=2, stage="released", spec="x", verify="x", status="closed", version=9,
                          openedBy="dev1")),
    ("/users/4",     dict(account="boss")),
    ("/testcases/1", dict(status="blocked")),
    ("/bugs/1",      dict(openedBy="dev1")),
    ("/products/1",  dict(code="X")),
    ("/builds/1",    dict(project=4)),
]
WRONG_PARAMETERS = [  # path, parameter, a word of what it allows
    ("/products?program=x",              "program", "whole number"),
    ("/stories?status=x",                "status",  "closedstory"),
    ("/modules?type=product&id=1",       "type",    "story, task, bug, case"),
    ("/modules?type=bug",                "id",      "required"),
    ("/modules?id=1",                    "type",    "required"),
]
# fmt: on


def on_filled(line: str) -> tuple[str, str]:
    """Return the method and path of an operation on the first records of FILLED."""
    method, path = line.split()
    array = path.split("/")[1]
    # in FILLED, where it is not 1
    id = {"programs": "6", "departments": "4", "executions": "2", "users": "4"}.get(array, "1")
    path = re.sub("<.+>", id, path)
    home = INTERFACE[line].asks.rpartition(" ")[2]
    if method == "POST" and home in ("product", "project"):
        path += f"?{home}=1"
    return method, path


def path_of(array: str) -> str:
    """Return the name of an array's records in paths."""
    return {"plans": "productplans"}.get(array, array)


@cache
def facts_in(table: str) -> str:
    """Return the columns of a table but who edited its rows and when, and an order.

    A task that is sent its story again takes the story's present version, which confirms it.
    """
    with opened() as client:
        columns = [name for _, name, *_ in client.sql(f"PRAGMA table_info({table})")]
    left_out = {"lastEditedBy", "lastEditedDate", "storyVersion" if table == "task" else ""}
    names = ", ".join(f'"{name}"' for name in columns if name not in left_out)
    return f"{names} FROM {table} ORDER BY {'rowid' if table == 'story_reviewer' else '1, 2'}"


def stored(client: Client) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of all tables but the action log, without who edited them."""
    with client.as_another_program() as connection:
        run = connection.execute
        tables = {name for name, _ in run(TABLES_OF)} - {"action", "sqlite_sequence", "token"}
        return {table: run(f"SELECT {facts_in(table)}").fetchall() for table in tables}


def sends_back(client: Client, path: str, token: str) -> None:
    """Send a record back as a caller reads it: nothing changes but who edited it."""
    read = client.call("GET", path, Token=token).json
    if "error" in read or read.get("deleted") in (True, "1"):
        return
    before = stored(client)
    answer = client.call("PUT", path, read, Token=token)
    assert answer.status_int == 200, (path, answer.text)
    assert stored(client) == before, path


# fmt: off
EMPTY_AND_REQUIRED = {  # a required text or array: the bodies that have it, what makes it empty
    "openedBuild": ("POST /products/1/bugs; POST /bugs?product=1; PUT /bugs/1; POST /bugs/3/activate",
                    ["", [], [""], ["", ""], ",", " ", "\u3000,\t", [" "]]),
    "category":    ("POST /products/1/stories; POST /stories?product=1; PUT /stories/1", ["", " "]),
    "spec":        ("POST /products/1/stories; POST /stories/4/change", ["", "\n"]),
}
WHOLE_NUMBERS = [  # request, what is sent, what is shown
    ("PUT /products/1", dict(program=6.0, line=3.0), dict(program=6, line=3)),
    ("PUT /tasks/1", dict(pri=2.0, module=-3.0), dict(pri=2, module=-3)),
    ("PUT /builds/1", dict(stories=[1.0, 2.0], bugs=[{"id": 1.0}]), dict(stories=[1, 2], bugs=[1])),
    ("POST /projects", dict(HOME, products=[1.0], days=5e0, budget=100.0), dict(days=5, budget="100")),
    ("POST /bugs/1/assign", dict(assignedTo=2.0), dict(assignedTo="pm1")),
    ("PUT /products/1", dict(PO={"id": 2.0}), dict(PO="pm1")),
    ("PUT /stories/1", dict(plan=1.0), dict(plan="1")), ("PUT /stories/1", dict(plan=[1.0, 2]), dict(plan="1,2")),
    ("PUT /bugs/1", dict(openedBuild=[1.0, "trunk"]), dict(openedBuild="1,trunk")),
    ("PUT /products/1", dict(name=7.0), dict(name="7")),
    ("PUT /testtasks/1", dict(build=1.0, testcases=[1.0]), dict(build="1", testcases=[])),
    ("PUT /users/dev2", dict(dept=1.0), dict(dept=1)), ("PUT /departments/1", dict(order=7.0), dict(order=7)),
    ("POST /tasks/1/restart", dict(consumed=2.0, left=1.5), dict(consumed=2, left=1.5)),
]
# fmt: on


class TestValues:
    """Values as data frames, other languages and half-filled forms write them."""

    @each("field", EMPTY_AND_REQUIRED)
    def test_what_is_required_may_not_be_empty_either(self, filled, field):
        filled.load(bugs=[dict(BUG, id=3, product=1, status="closed")])
        filled.load(stories=[dict(STORY, id=4, product=1)])
        lines, empty = EMPTY_AND_REQUIRED[field]
        for line in phrases(lines):
            for value in empty:
                assert broken(filled, line, good(line, **{field: value})) == field
        refusal = filled.refused(*phrases(lines)[0].split(), {field: None})
        assert refusal["fields"][field].startswith("is required and must be ")

    @each("field", EMPTY_AND_REQUIRED)
    @each("empty", ["", " "])
    def test_what_is_empty_already_may_stay_so(self, filled, field, empty):
        """A fixture may leave it out, or give blanks."""
        filled.load(bugs=[dict(product=1, title="B", id=3, status="closed", openedBuild=empty)])
        filled.load(stories=[dict(product=1, title="S", id=4)])
        loads_the_same(filled)
        for path in ("/bugs/3", "/stories/4"):
            record = filled.succeed("GET", path)
            assert filled.call("PUT", path, record).status_int == 200
        lines, _ = EMPTY_AND_REQUIRED[field]
        value = empty if field == "openedBuild" else ""
        for line in phrases(lines):
            method, path = re.sub("/[0-9]", "/3" if "/bugs/" in line else "/4", line).split()
            if re.match("/(bugs|stories)/[0-9]", path):
                assert filled.call(method, path, {field: value}).status_int == 200

    @each(("line", "sent", "shown"), WHOLE_NUMBERS)
    def test_number_without_a_fraction_is_a_whole_number(self, filled, line, sent, shown):
        body = json.dumps(good(line, **sent)).encode()
        answer = filled.call(*line.split(), body)
        assert answer.status_int in (200, 201), answer.text
        shown = {field: value for field, value in shown.items() if value != []}
        holds(answer.json, **shown)

    def test_boolean_is_not_the_stored_one_or_zero(self, filled):
        filled.put("/bugs/1", pri=1)
        assert (
            broken(filled, "PUT /bugs/1", dict(pri=True, duplicateBug=False)) == "duplicateBug pri"
        )
        assert filled.put("/bugs/1", pri=1.0, duplicateBug=0)["pri"] == 1

    @each("value", [1.5, -0.5, 1e300, 2.0**63, True, "3.0"])
    def test_other_numbers_are_no_whole_numbers(self, filled, value):
        assert broken(filled, "PUT /products/1", dict(line=value)) == "line"
        assert broken(filled, "PUT /builds/1", dict(stories=[value])) == "stories"

    def test_whole_numbers_of_fixtures_and_faults_may_have_a_point(self, client):
        client.load(
            products=[dict(id=5.0, name="P", line=2.0)],
            bugs=[dict(product=5.0, title="B", pri=1.0)],
        )
        assert client.get("/products/5")["line"] == 2
        assert client.get("/bugs/1")["pri"] == 1
        fault = dict(
            match="GET /user", status=503.0, times=1.0, skip=0.0, headers={"Retry-After": 2.0}
        )
        assert client.post("/-/faults", **fault)[0]["times"] == 1
        answer = client.call("GET", "/user")
        assert (answer.status_int, answer.headers["Retry-After"]) == (503, "2")

    # ways to say that a story has none
    @each("value", [0, 0.0, "0", [0], ["0"], [], [0, 0.0]])
    def test_zero_is_no_plan(self, filled, value):
        story = filled.post("/products/1/stories", **STORY, plan=value)
        assert story["plan"] == ""
        assert filled.put("/stories/1", plan=[1])["plan"] == "1"
        assert filled.put("/stories/1", plan=value)["plan"] == ""
        for wrong in ([True], False, [-1], -1, [1.5]):
            assert broken(filled, "PUT /stories/1", dict(plan=wrong)) == "plan"


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

    @each("value", BROKEN_ALIKE)
    def test_broken_value_is_refused_by_each_field(self, filled, value):
        for request in phrases(BROKEN_ALIKE[value]):
            method, path, *fields = request.split()
            line = f"{method} {path}"
            body = good(line, **dict.fromkeys(fields, value))
            assert broken(filled, line, body) == " ".join(sorted(fields))

    @each("line", BROKEN)
    def test_broken_fields_are_named(self, filled, line):
        for row in BROKEN[line]:
            if isinstance(row, tuple):
                sent, wrong = row
            else:
                sent, wrong = row, " ".join(sorted(row))
            body = good(line, **sent)
            assert broken(filled, line, body) == wrong, sent

    @each(("line", "fields", "wanted"), NOT_GIVEN)
    def test_empty_text_is_not_given_or_unsets(self, filled, line, fields, wanted):
        method, path = line.split()
        before = filled.get(path) if method == "PUT" else {}
        body = good(line, **dict.fromkeys(fields.split(), ""))
        answer = send(filled, line, body)
        holds(answer, **wanted)
        kept = before.keys() & fields.split() - wanted.keys()
        assert lines({field: answer[field] for field in kept}) == lines(
            {field: before[field] for field in kept}
        )

    @each("path", SETTABLE)
    def test_put_sets_each_field_and_the_rest_stays(self, filled, path):
        for field, value in SETTABLE[path].items():
            sent = {field: value}
            filled.begin_with(database_of("FILLED"))
            before = filled.get(path)
            filled.put(path, **sent)
            after = filled.get(path)
            holds(after, **sent)
            followers = FOLLOW.get(field, "").split()
            unchanged_but(before, after, field, *followers)

    @each(("array", "sent", "words", "not_in"), REFUSED_EVERYWHERE)
    def test_rule_stands_for_every_body_that_has_the_field(
        self, filled, array, sent, words, not_in
    ):
        """The last of the fields is the broken one."""
        filled.load(stories=[dict(FILLED["stories"][0], id=9, parent=1)])
        filled.sql("UPDATE task SET status = 'done', left = 0")
        filled.load(users=[dict(account="gone", deleted=True)])
        filled.sql("UPDATE story SET status = 'draft'")
        bodies = [one for one in WRITING if one.array == array and {*sent} <= {*one.fields}]
        spared = {*phrases(not_in)}
        asked = [one for one in bodies if one.line not in spared]
        assert asked
        assert spared <= {one.line for one in bodies}
        for one in asked:
            method, path = on_filled(one.line)
            refusal = filled.refused(method, path, good(f"{method} {path}", **sent))
            assert words in refusal["fields"][[*sent][-1]], one.line

    def test_bodies_of_a_resource_have_the_same_bounds(self):
        """But where SPECIAL says so."""
        bounds = defaultdict(lambda: defaultdict(set))
        for one in WRITING:
            for field, schema in one.fields.items():
                limits = {name: schema[name] for name in BOUNDS if name in schema}
                bounds[one.array, field][json.dumps(limits)].add(one.line)
        differing = {key for key, found in bounds.items() if len(found) > 1}
        assert differing == SPECIAL

    @each_of(WRITING)
    def test_arrays_have_a_thousand_items_at_most(self, filled, operation):
        method, path = on_filled(operation.line)
        for field, schema in operation.fields.items():
            if "items" in schema:
                assert schema["maxItems"] == 1000
            elif field not in ALSO_ARRAYS:
                continue
            for many in ([1] * 1001, ",".join("1" * 1001)):
                if isinstance(many, str) and (field in ALSO_ARRAYS or field in ONLY_ARRAYS):
                    continue
                refusal = filled.refused(method, path, good(f"{method} {path}", **{field: many}))
                assert refusal["fields"][field] == "must have at most 1,000 items (got 1001)"

    def test_refusal_names_twenty_broken_items_and_counts_the_others(self, filled):
        steps = [dict(desc="", expect=[])] * 500
        refusal = filled.refused("POST", "/products/1/testcases", dict(CASE, steps=steps))
        places = {re.match(r"steps\[([0-9]+)", one)[1] for one in refusal["fields"] if "[" in one}
        assert places == {*map(str, range(20))}
        assert refusal["fields"]["steps"] == "has 480 more broken items"

    @each("path", SETTABLE)
    def test_record_that_was_read_can_be_sent_back(self, filled, path):
        for body in ({}, SETTABLE[path]):
            filled.put(path, **body)
            before = filled.get(path)
            for sent in (before, {**before, "comment": "c"}, body):
                answer = filled.call("PUT", path, sent)
                assert answer.status_int == 200, answer.text
                unchanged_but(before, filled.get(path))

    def test_what_was_read_changes_nothing_when_it_is_sent_back(self, shop):
        """Whatever happened to what the records are linked with."""
        shop.load(**WITH_LINKS)
        for request, body in UNLINKED:
            send(shop, request, body)
        for operation in PUTTING:
            if "<user>" not in operation.path:
                for id in ids(shop.dump()[operation.array]):
                    sends_back(shop, operation.at(id), "t")

    def test_votes_keep_their_order_when_reviewers_are_sent_back(self, shop):
        """The last vote against a story decides."""
        body = dict(STORY, reviewer=["dev1", "qa1", "boss", "dev2"])
        id = shop.post("/products/1/stories", **body)["id"]
        for account, result in (("qa1", "reject"), ("dev1", "clarify"), ("boss", "pass")):
            reviewed(shop, id, account, result)
        shop.put(f"/stories/{id}", reviewer=["dev2", "dev1", "boss", "qa1"])
        assert reviewed(shop, id, "dev2", "pass").json["status"] == "draft"

    def test_change_keeps_links_that_are_not_shown(self, shop):
        shop.load(**WITH_LINKS)
        remove(shop, "/testcases/1")
        shop.put("/testtasks/1", testcases=[3])
        assert shop.sql('SELECT "case" FROM testtask_case WHERE testtask = 1') == [(1,), (3,)]

    def test_only_new_links_are_held_to_the_rules(self, shop):
        shop.load(**WITH_LINKS)
        shop.put("/bugs/1", product=2)
        assert shop.put("/builds/1", bugs=[1, 2])["bugs"] == [1, 2]
        assert broken(shop, "PUT /builds/1", dict(bugs=[1, 2, 4])) == "bugs"

    @each(("path", "sent"), NOT_SETTABLE)
    def test_put_ignores_what_it_does_not_set(self, filled, path, sent):
        before = filled.get(path)
        filled.put(path, **sent)
        unchanged_but(before, filled.get(path))

    @each("line", [line for line in INTERFACE if re.match("DELETE .*>$", line)])
    def test_deleted_record_is_shown_alone_has_no_lists_and_takes_no_changes(self, filled, line):
        _, path = on_filled(line)
        if path == "/programs/6":  # which has others below it
            path = "/programs/7"
        _, name, id = path.split("/")
        array = PATHS.get(name, name)
        lists = [on_filled(one.line)[1] for one in LISTING if one.array == array]
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
        for one in INTERFACE:
            method, other = one.split()
            if (other == pattern and method != "GET") or other.startswith(f"{pattern}/"):
                filled.refused(method, other.replace(pattern, path), least(one), status=404)

    @each(("path", "homes"), BELOW)
    def test_what_lies_below_a_deleted_record_is_shown_by_its_id_alone(self, filled, path, homes):
        """It leaves all lists and what they count, and takes no new records."""
        for array, record in HELD.items():
            filled.load(**{array: [record]})
        below = {
            (array, record["id"]): f"/{path_of(array)}/{record['id']}"
            for array, records in filled.dump().items()
            for record in records
            if any(record.get(field) in ids for field, ids in homes.items())
            and array in BELOW_ARRAYS[path].split()
        }
        assert {array for array, _ in below} == {*BELOW_ARRAYS[path].split()}
        remove(filled, path)
        for operation in LISTING:
            _, listed = on_filled(operation.line)
            answer = filled.call("GET", f"{listed}?limit=1000")
            if answer.status_int == 200:
                found = {(operation.array, one["id"]) for one in records_in(answer.json)}
                assert not found & below.keys(), operation.line
                assert answer.json.get("total", len(found)) == len(found)
        for (array, id), shown in below.items():
            if array in ("efforts", "results"):
                continue
            assert filled.get(shown)["id"] == id
            for line in MAKING_BELOW:
                if line.split()[1].startswith(f"/{path_of(array)}/<id>"):
                    method, other = line.split()
                    other = other.replace("<id>", str(id))
                    filled.refused(method, other, good(f"{method} {other}"), status=404)

    @each("line", [line for line in INTERFACE if re.search("<id>|<user>", line)])
    def test_record_that_is_not_there_is_404(self, filled, line):
        method, path = line.split()
        path = re.sub("<id>|<user>", "99", path)
        body = good(line)
        filled.refused(method, path, body, status=404)

    @each("path", DEAD_LINKS)
    def test_deleted_record_cannot_be_linked_anew(self, filled, path):
        links = dict(testcases=[1], build=1)
        filled.put("/testtasks/1", **links)
        filled.load(testtasks=[dict(FILLED["testtasks"][0], id=2)])
        remove(filled, path)
        filled.put("/testtasks/1", **links)  # these exist
        id = path.split("/")[-1]
        for request in phrases(DEAD_LINKS[path]):
            method, other, field = request.split()
            line = f"{method} {other}"
            body = good(line, **{field: [id] if field.endswith("s") else id})
            assert broken(filled, line, body) == field

    @each_of(LISTING)
    def test_empty_parameters_are_not_given_and_a_bare_order_ascends(self, filled, operation):
        _, path = on_filled(operation.line)
        listed = filled.get(path)
        assert filled.get(f"{path}?page=&limit=&order=&status=") == listed
        ascending = filled.get(f"{path}?order=id_asc")
        assert filled.get(f"{path}?order=id") == ascending

    @each(("path", "field", "word"), WRONG_PARAMETERS)
    def test_wrong_parameters_are_refused_by_what_is_allowed(self, filled, path, field, word):
        refusal = filled.refused("GET", path)
        assert word in refusal["fields"][field]

    @each_of(OF_QUERY)
    def test_home_stands_in_query_or_body(self, filled, operation):
        path, home = operation.path, operation.home
        body = without(good(operation.line), home)
        refusal = filled.refused("POST", path, body)
        assert home in refusal["error"]
        ways = ((f"?{home}=1", None), ("", 1), (f"?{home}=", "1"), (f"?{home}=1", ""))
        for number, (query, value) in enumerate(ways):
            if "name" in body:
                body["name"] = f"N{number}"  # builds have different names
            made = filled.post(path + query, **body, **{home: value})
            assert made[home] == 1
        filled.refused("POST", f"{path}?{home}=99", body, status=404)

    @each("path", SETTABLE)
    def test_null_is_not_given_in_a_change(self, filled, path):
        filled.put(path, **SETTABLE[path])
        before = filled.get(path)
        filled.put(path, **dict.fromkeys(TAKING_FIELDS[operation_of(f"PUT {path}")].fields))
        unchanged_but(before, filled.get(path))


class TestProperties:
    """Rules that hold for whatever is sent."""

    @given(name=NAMES, text=TEXTS)
    def test_what_goes_in_comes_out(self, in_memory, name, text):
        sent = {"name": name, "desc": text, "code": text}
        assert in_memory.product(**sent).items() >= sent.items()
        step = {"desc": name, "expect": text}
        texts = {"title": name, "precondition": text}
        case = in_memory.case(1, steps=[step], **texts)
        shown = in_memory.get(f"/testcases/{case['id']}")
        assert shown.items() >= texts.items()
        assert shown["steps"][0].items() >= step.items()

    @each_of([one for one in OPERATIONS if one.method != "GET"])
    def test_no_body_whatsoever_is_a_failure_of_our_own(self, filled, operation):
        request = on_filled(operation.line)
        body = good(" ".join(request))
        fields = st.sampled_from([*operation.fields, "comment"])

        @given(sent=VALUES | st.dictionaries(fields, VALUES, max_size=6))
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
DRAWN = {  # the values that a request gives a field, by its name or by the kind of its schema
    "email": ["a@b.org"], "mobile": ["13800000000"], "phone": ["13800000000"], "acl": ["open"],
    "account": ["dev1", "new1", "new2", "new3"], "password": ["secret"], "name": [f"N{n}" for n in range(20)],
    "stories": ["", "1,2", "3", "1,99"], "bugs": ["", "1"], "begin": EARLY, "estStarted": EARLY, "realBegan": EARLY,
    "realStarted": ["2026-02-09T17:00:00Z"], "moment": ["2026-11-19 23:59:59", "2026-11-20T08:00:00Z"], "date": LATE,
    "string": ["a", "b"], "number": HOURS, "boolean": [True, False], "integer": [0, 1, 2, 3],
    "person": ["dev1", "qa1", "pm1", "someone", ""],
}
BUG_LISTS = dict(bugs="all", unResolved="active", closedBugs="closed",
                 assignToNull="assigntonull")  # counter: status of what it counts
RESTORING = ("PUT /-/snapshots/old", "POST /-/snapshots/old/restore", "POST /-/reset")
COUNTED = ("number", "enum", "person", "date", "moment")  # kinds of fields that may count
# fmt: on


CREATING = [one for one in WRITING if one.status == 201]
PUTTING = [one for one in WRITING if one.method == "PUT"]
REMOVING = [one for one in WRITING if one.method == "DELETE"]
MOVING = [one for one in WRITING if one not in (*CREATING, *PUTTING, *REMOVING)]


def kind_of(schema: dict[str, Any]) -> str:
    """Return the kind of a field: "enum", "person", "moment", "date" or its type."""
    if "enum" in schema:
        return "enum"
    pattern = schema.get("pattern", "")
    if pattern:
        return "person" if "@" in pattern else "moment"
    return "date" if schema.get("format") == "date" else schema["type"]


def may_count(operation: Operation, field: str) -> bool:
    """Tell whether a field may change a count."""
    schema = operation.fields[field]
    return field in operation.links or kind_of(schema.get("items", schema)) in COUNTED


class EveryWrite(RuleBasedStateMachine):
    """All operations that write, in any order, with loads and restores: every count stays right.

    The document says what a request sends: for each field a value of its schema, for a link a
    record that is there. A rule may refuse it; the service may not fail.
    """

    steps: Counter[tuple[str, bool]] = Counter()  # of all examples, by whether they succeeded

    def __init__(self):
        super().__init__()
        self.client = Client(load=FULL)
        self.client.put("/-/snapshots/old")

    def teardown(self):
        try:
            loads_the_same(self.client)
            self.every_count_is_that_of_the_records()
            self.every_counter_is_the_number_of_records()
        finally:
            self.client.close()

    def call(self, line, path, body=None):
        """Send a request for an operation, and count whether it was accepted."""
        answer = self.client.call(line.split()[0], path, body)
        status = answer.status_int
        assert status in (200, 201, 400, 403, 404), answer.text
        self.steps[line, status < 400] += 1

    def ids(self, arrays, deleted=False):
        """Return the ids of the records of some arrays, without the user who asks for lists."""
        found = []
        for array in arrays:
            for record in self.dumped[array]:
                is_caller = record.get("account") == "admin"
                if not is_caller and (deleted or not record.get("deleted")):
                    found.append(record["id"])
        return found

    def value(self, data, field, schema, arrays):
        """Draw a value for a field; links are to the first few records, so that several meet."""
        if "properties" in schema:
            return self.body(data, schema["properties"], schema.get("required", ()), {})
        if "items" in schema:
            sizes = st.integers(max(1, schema.get("minItems", 0)), 2)
            size = data.draw(sizes, field)
            return [self.value(data, field, schema["items"], arrays) for _ in range(size)]
        if arrays or field in NUMBERED:
            ids = self.ids(arrays or [NUMBERED[field]])[:5] or [99]
            values = [*ids, "trunk" if field == "build" else 0]
        elif field == "acl" or (field in DRAWN and "enum" not in schema):
            values = DRAWN[field]
        else:
            values = schema.get("enum") or DRAWN[kind_of(schema)]
        return data.draw(st.sampled_from(values), field)

    def body(self, data, fields, required, links, likely=()):
        """Draw a body: what is required, and a few other fields, mostly such as are likely."""
        some = st.lists(st.sampled_from([*fields, *likely]), max_size=4, unique=True)
        chosen = {*required, *data.draw(some, "fields")}
        body = {}
        for field, schema in fields.items():
            if field in chosen and field != "version":
                body[field] = self.value(data, field, schema, links.get(field, ()))
        return body

    def write(self, operation, data):
        """Send a request for an operation to a record that is there."""
        self.dumped = self.client.dump()
        named = ["users"] if "<user>" in operation.path else operation.named
        ids = (self.ids(named) or [99]) if named else [0]
        id = data.draw(st.sampled_from(ids), "id")
        fields = operation.fields
        counted = [field for field in fields if may_count(operation, field)]
        hours = [field for field in counted if fields[field].get("type") == "number"]
        likely = [*counted * 2, *hours * 3]
        body = {}
        if fields:
            body = self.body(data, fields, operation.required, operation.links, likely)
        self.call(operation.line, operation.at(id), body)

    @rule(operation=st.sampled_from(CREATING), data=st.data())
    def create(self, operation, data):
        self.write(operation, data)

    @rule(operation=st.sampled_from(PUTTING), data=st.data())
    def modify(self, operation, data):
        self.write(operation, data)

    @rule(operation=st.sampled_from(MOVING), data=st.data())
    def move(self, operation, data):
        self.write(operation, data)

    @rule(operation=st.sampled_from(REMOVING), data=st.data())
    def remove(self, operation, data):
        self.write(operation, data)

    @rule(array=st.sampled_from(ARRAYS), data=st.data())
    def load(self, array, data):
        """Load records like those of an array, the first of them deleted, with other links.

        They may name deleted records.
        """
        self.dumped = self.client.dump()
        there = st.sampled_from(self.dumped[array] or WORLD[array])
        records = []
        for model in data.draw(st.lists(there, min_size=1, max_size=3), "like"):
            record = without(model, "id", "version", "versions", "stepResults")
            for field in record.keys() & {*LINKS, *NUMBERED, "account", "name", "estimate"}:
                record[field] = self.other(data, field, record[field])
            records.append(record)
        if "deleted" in records[0] and array != "users":
            records[0]["deleted"] = True
        self.call("POST /-/load", "/-/load", {array: records})

    def other(self, data, field, value):
        """Draw another value for the field of a record in a fixture."""
        arrays = LINKS.get(field) or [NUMBERED[field]] if field in {*LINKS, *NUMBERED} else []
        ids = [*self.ids(arrays, deleted=True)[:5], 0]
        values = DRAWN["number"] if field == "estimate" else DRAWN.get(field, [value])
        if type(value) is int and arrays:
            values = ids
        if isinstance(value, list) and arrays:
            values = [[], ids[:1], ids[:2]]
        return data.draw(st.sampled_from(values), field)

    @rule(operation=st.sampled_from(PUTTING), data=st.data())
    def send_back(self, operation, data):
        """Send a record back as it was read."""
        self.dumped = self.client.dump()
        arrays = ["users"] if "<user>" in operation.path else operation.named
        found = self.ids(arrays)
        if found:
            sends_back(self.client, operation.at(data.draw(st.sampled_from(found), "id")), "t")

    @rule(request=st.sampled_from(RESTORING))
    def restore(self, request):
        self.every_count_is_that_of_the_records()  # now, because a restored count is right
        self.call(request, request.split()[1])

    def every_count_is_that_of_the_records(self):
        found = problems(self.client)
        assert not found, found

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
    (None, b'{"name": "x"}'), ("nonsense", b'{"name": "x"}'), (FORM, b' {"name": "x"} '), (FORM, b"name=x"),
    (f"{FORM}; charset=utf-8", b"name=%78"),
    ("application/json", b'\n{"name":\t"x", "type": null, "unknown": [1]}\r\n'),
    ("application/json", b'{"unknown": ' + b"[" * 99 + b"]" * 99 + b', "name": "x"}'),
    ("application/json", b'{"desc": "' + b"[" * 200 + b'", "name": "x"}'),
    ("application/json", b'{"name": "x", "\\ud800": 1}'), ("application/json", b'\xef\xbb\xbf{"name": "x"}'),
]
NO_OBJECTS = {  # a word of the refusal: bodies
    "object": [b"[]", b'"x"'],
    "JSON": [b"name=x", b"{", b"{'name': 1}", b'{"name": "x"} x', b"\xef\xbb\xbf\xef\xbb\xbf{}", b'{"a" "b"}',
             b'{"line": ' + b"9" * 5000 + b"}", b'{"name": "a\0b"}', b'{"name": "a\nb"}'],
    "NaN": [b'{"name": NaN}'],
    "Infinity": [b'{"x": -Infinity}'],
    "UTF-8": [b'{"name": "\xff"}', '{"name": "x"}'.encode("utf-16")],
    "deep": [b"[" * 200_000 + b"]" * 200_000, b'{"a":' * 100_000],
}
ALLOWED = [  # a method, a path, the methods that it has
    ("OPTIONS", "/products",            "GET POST"),
    ("PATCH",   "/tasks/1/start",       "POST"),
    ("TRACE",   "/api.php/v1/tasks/1/", "DELETE GET PUT"),
]
FORMS_OF_PEOPLE = [
    b"assignedTo[]=dev1&assignedTo%5B%5D=dev2", b"assignedTo[0]=dev1&assignedTo%5B1%5D=dev2",
    b"assignedTo=pm1&assignedTo[]=dev1&assignedTo[]=dev2",
]
HOSTS = [  # the setting `allowed_host`, whether only this machine can connect, the status of others
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
    (403, "line",    "PUT /tasks/99?order=x"),  # only an administrator may
    (404, "line",    "POST /testcases/99/results?version=x"),
    (400, "line",    "GET /products/99/bugs?order=x"),
    (400, "line",    "PUT /tasks/1"),
]
# fmt: on


# fmt: off
CUT = ['{"name": "\\u00e9\\\\é", "line": -1.5e+3, "x": [true, false, null, {"a": "b"}]}', '{ "name" : "汉字" }']
UNREAD = [  # headers, what the refusal says
    (dict(Content_Type="multipart/form-data; boundary=x"),
     "A multipart/form-data body is not read; send a JSON object, or a form"),
    (dict(Content_Type="Multipart/Mixed"),                 "A multipart/mixed body is not read"),
    (dict(Content_Encoding="gzip"),                        "A body with Content-Encoding gzip is not read"),
    (dict(Content_Encoding="BR", Content_Type="application/json"), "A body with Content-Encoding br is not read"),
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

    @each("prefix", ["", "/api.php/v1", "/zentao/api.php/v1"])
    @each("slash", ["", "/"])
    def test_paths_are_found_under_the_prefixes_of_the_reference(self, world, prefix, slash):
        assert world.get(f"{prefix}/products{slash}?limit=1")["total"] == 2
        assert world.put(f"{prefix}/tasks/1{slash}")["id"] == 1

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
        body += b"colours[]=a&colours[]=b&" + people
        answer = world.call("POST", "/executions/3/tasks", body, Content_Type=FORM)
        holds(answer.json, id=4, name="a é", estimate=2.5, assignedTo="dev2")
        assert answer.headers["Ignored-Fields"] == "colours"

    @each("body", [b"", b" \n", b"null", b"{}", b"\xef\xbb\xbf"])
    def test_nothing_is_an_empty_object(self, world, body):
        for content_type in ("application/json", FORM):
            answer = world.call("PUT", "/tasks/1", body, Content_Type=content_type)
            assert answer.json["name"] == "Task one"

    @each("word", NO_OBJECTS)
    def test_what_is_no_json_object_is_refused(self, client, word):
        for body in NO_OBJECTS[word]:
            refusal = client.refused("POST", "/products", body)
            assert word in refusal["error"]

    @each("whole", CUT)
    def test_json_that_is_cut_or_wrong_is_refused_with_the_place(self, client, whole):
        bodies = [whole.encode()[:end] for end in range(1, len(whole.encode()))]
        bodies += [b"{'a': 1}", b'{"a": tru}', b'{"a": 1} e', b'{"a": "\\x"}', b"{a: 1}"]
        for body in bodies:
            refusal = client.refused("POST", "/products", body)
            place = "line 1, column [0-9]+ is wrong|in UTF-8"
            assert re.fullmatch(rf"The body must be JSON.*({place})\.", refusal["error"]), body

    @each(("sent", "words"), UNREAD)
    def test_body_that_is_not_read_is_named(self, client, sent, words):
        body = b"\x1f\x8b\x08\x00" if "encoding" in str(sent).lower() else b"--x\r\nname=x"
        for path in ("/products", "/tokens", "/-/load", "/-/faults"):
            refusal = client.refused("POST", path, body, **sent)
            assert words in refusal["error"]

    def test_label_does_not_matter_to_json(self, client):
        for sent in (dict(Content_Type="multipart/form-data"), dict(Content_Encoding="Identity")):
            assert client.call("POST", "/products", {"name": "P"}, **sent).status_int == 201
            assert client.call("PUT", "/products/1", b" null", **sent).status_int == 200
        for sent in (dict(Content_Type="multipart/form-data"), dict(Content_Encoding="gzip")):
            for path in ("/products", "/-/journal"):
                assert client.call("GET", path, **sent).status_int == 200

    def test_array_labelled_as_a_form_is_told_that_an_object_is_wanted(self, client):
        refusal = client.refused("POST", "/products", b"[]", Content_Type=FORM)
        assert refusal["error"].startswith("The body must be a JSON object, or a form")

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
        answer = app.get("/products", extra_environ={"CONTENT_LENGTH": length}, status=400)
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
        refusal = client.refused("GET", "/user", status=421, Host="evil.example:80")
        assert "--allowed-host evil.example to add it" in refusal["error"]

    @each("path", ["/-/live", "/-/ready", "/-/ready/", "/api.php/v1/-/live"])
    def test_probes_come_by_any_address(self, client, path):
        for host in ("10.1.2.3:8080", "evil.example", ""):
            assert client.call("GET", path, Token=None, Host=host).status_int == 200
            assert client.call("GET", f"{path}x", Token=None, Host=host).status_int == 421

    @each(("named", "loopback_only", "others"), HOSTS)
    def test_hosts_that_are_named_count_on_every_address(self, named, loopback_only, others):
        with opened(allowed_host=named, loopback_only=loopback_only) as client:
            for host in ("pm.example.org:80", "PM", "localhost", "127.0.0.1:8080", "[::1]"):
                assert status_with(client, Host=host) == 200
            assert status_with(client, Host="10.0.0.1") == others

    def test_first_mistake_in_the_order_of_checks_is_refused(self, world):
        """Mend a request with every mistake one by one, in the order of the contract."""
        world.post("/-/faults", match="*", status=599, times=1)
        body = b"{" * (1024 * 1024 + 1)
        sent = dict(Host="evil.example", Origin="https://evil.example", Token=None, body=body)
        line = "PATCH /departmens/99?order=x"
        for status, mended, right in IN_ORDER:
            answer = world.call(*line.split(), **sent)
            assert answer.status_int == status, line
            if mended == "line":
                line = right
            elif mended == "Token":
                sent["Token"] = world.token_of(right)
            else:
                sent[mended] = right
            if status == 400:  # the query comes before the record
                assert {*answer.json["fields"]} <= {"version", "order"}
        answer = world.call(*line.split(), **sent)
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
    ("",     "localhost",        OWN,                        ""),
    ("",     "pm.internal:8080", "http://pm.internal:8080 https://pm.internal:8080",
     "http://pm.internal:8081 http://pm.internal null"),
    ("",     "pm.INTERNAL",      "https://PM.internal",      "http://pm.internal:8080"),
    ("",     "pm.internal:443",  "https://pm.internal https://pm.internal:443",
     "http://pm.internal https://pm.internal:80"),
    ("",     "pm.internal:80",   "http://pm.internal http://pm.internal:80", "https://pm.internal"),
    ("",     "pm.internal",      "https://pm.internal:443 http://pm.internal:80", "https://pm.internal:80"),
    ("file://,CONTENT://", "pm", "file:// content://",       "http://evil.example"),
    ("",     "pm",               "",                         "file:// content:// https://"),
    ("*",    "pm",               "http://evil.example null", ""),
    ("null", "pm",               "null",                     "http://evil.example"),
    ("https://pm.example.org, http://other.example:81", "pm",
     "https://pm.example.org http://other.example:81", "http://pm.example.org https://a.pm.example.org"),
    ("HTTPS://App.Example.org,https://a:443,http://b:80", "pm", "https://app.example.org https://a http://b", ""),
    ("https://a:80,http://[::1]:80,app://my_app", "pm", "https://a:80 http://[::1] app://my_app", ""),
    (" null , * ", "pm",              "null http://any.example", ""),
]
URLS_SHOWN = [  # the flags, the host that is shown
    ("--host 0.0.0.0 --allowed-host pm.example.org,pm", r"pm\.example\.org"),
    ("--host 0.0.0.0",                                  r"(?!0\.0\.0\.0)[\w.-]+"),
    ("--host ::",                                       r"(?!\[::\])([\w.-]+|\[[0-9a-f:]+\])"),
    ("--allowed-host pm.example.org",                   r"127\.0\.0\.1"),
]
# fmt: on


class TestCallsFromPages:
    """Web pages of allowed origins may call; others are refused before anything is looked at."""

    EXPOSED = {"Access-Control-Expose-Headers": "X-Request-Id, Ignored-Fields, Retry-After, Allow"}

    @staticmethod
    def shown(answer):
        """Return the headers of an answer that are meant for browsers."""
        headers = answer.headers
        return {name: headers[name] for name in headers if name.startswith("Access-Control-")}

    @each(("line", "status"), [("GET /products", 200), ("POST /tokens", 400), ("PUT /users", 405)])
    def test_every_answer_to_them_can_be_read(self, client, line, status):
        answer = client.call(*line.split(), Origin="app://-")
        assert answer.status_int == status
        assert self.shown(answer) == {"Access-Control-Allow-Origin": "app://-", **self.EXPOSED}
        assert answer.headers["Vary"] == "Accept, Origin"
        assert answer.headers["Cache-Control"] == "no-store"

    @each("line", ["POST /products", "GET /nothing", "POST /tokens"])
    @each("token", ["t", None])
    def test_pages_of_other_origins_are_refused_first(self, statements, line, token):
        with opened() as client:
            statements.before = pytest.fail  # nothing is read
            body = dict(account="admin", password="x", name="P")
            client.refused(*line.split(), body, 403, Origin="http://evil.example", Token=token)

    @each("origin", ["http://evil.example:80", *NAMEABLE.split(), *NAMELESS.split()])
    def test_refusal_names_the_origin_and_the_setting(self, client, origin):
        sent = origin.encode().decode("latin-1")
        refusal = client.refused("GET", "/products", status=403, Origin=sent)
        if origin.isascii():
            assert f"--origin {origin} to allow" in refusal["error"]
        asked = {"Origin": sent, "Access-Control-Request-Method": "GET"}
        client.app.options("/products", headers=asked, status=403)

    def test_long_origin_is_refused_without_looking_for_what_it_is(self, client):
        """It could keep a regular expression busy for minutes."""
        for origin in ("http://" + "127." * 50_000 + "x", "x" * 200_000 + "://a"):
            client.refused("GET", "/products", status=403, Origin=origin)

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

    def test_preflight_is_answered_without_a_token_and_allows_the_headers_that_are_asked_for(self):
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
            private = {**asked, "Access-Control-Request-Private-Network": "true"}
            answer = client.app.options("/products", headers=private, status=204)
            assert self.shown(answer) == {**shown, "Access-Control-Allow-Private-Network": "true"}
            client.app.options(
                "/products", headers={**private, "Origin": "http://evil.example"}, status=403
            )
            usual, others = "Token, Content-Type", "authorization,x-requested-with"
            for names, allowed in ((others, others), ("", usual), ("Token\x0b", usual)):
                asked["Access-Control-Request-Headers"] = names
                answer = client.app.options("/products", headers=asked, status=204)
                assert answer.headers["Access-Control-Allow-Headers"] == allowed

    @each(("flags", "shown"), URLS_SHOWN)
    def test_url_that_is_shown_can_be_opened_from_other_machines(self, tmp_path, flags, shown):
        if "::" in flags:
            try:
                socket.create_server(("::", 0), family=socket.AF_INET6).close()
            except OSError:
                pytest.skip("there is no IPv6")
        with Live(tmp_path, "--token", "t", *flags.split()) as live:
            assert re.fullmatch(f"http://{shown}:[0-9]+", live.url)


# fmt: off
IGNORED = [  # request, its body, the header of the answer
    ("POST /products",      b'{"name": "P", "progam": 1}',                  "progam"),
    ("POST /products",      b'{"name": "P", "progam": null, "program": 1}', None),
    ("GET /products?pagesize=1&limit=1&x=", b"",                            "?pagesize"),
    ("POST /products/1/testcases",
     b'{"title": "C", "type": "unit", "pri": 1, "steps": [{"desc": "d"}, {"desc": "e", "expct": "x"}]}',
     "steps[1].expct"),
    ("PUT /tasks/1?x=1&y=2", b'{"a b,\\u00fc%\\n": 1, "pri": 2, "comment": "c", "id": 1}',
     "a%20b%2C%C3%BC%25%0A, id, ?x, ?y"),
    ("POST /tokens",        b'{"account": "admin", "password": "x", "remember": true}', "remember"),
    ("POST /stories?product=1&type=story",
     b'{"title": "S", "spec": "s", "pri": 3, "category": "feature", "type": "story", "product": 1}', None),
    ("DELETE /bugs/1",      b'{"comment": "c", "reason": "r"}',             "reason"),
    ("POST /products",      b'{"name": "P", "": 1}',                        "%22%22"),
    ("POST /products?x=1",  b'{"name": "P", "y": 1, "acl": "open", "whitelist": ["dev1"]}', "whitelist, y, ?x"),
    ("POST /products",      b'{"name": "P", "whitelist": ["dev1"]}',        None),
    ("PUT /products/1",     b'{"acl": "open", "whitelist": []}',            None),
    ("PUT /products/1",     b'{"acl": "open", "whitelist": "dev1"}',        "whitelist"),
    ("PUT /projects/2",     b'{"whitelist": ["dev1"]}',                     "whitelist"),
    ("POST /programs",      b'{"name": "H", "begin": "2026-03-01", "end": "2026-04-30", "whitelist": ["dev1"]}',
     "whitelist"),
    ("POST /products",      dict.fromkeys(("name", *map(chr, range(65, 91))), "P"), ", ".join("ABCDEFGHIJKLMNOPQRST")),
    ("POST /products",      {"name": "P", "b" * 5000: 1, "é" * 51: 1},      "b" * 50 + ", " + "%C3%A9" * 50),
]
# fmt: on


class TestIgnoredNames:
    """Names that an operation does not take: they are ignored, and the answer names them."""

    @each(("line", "body", "ignored"), IGNORED)
    def test_answer_names_them(self, world, line, body, ignored):
        answer = world.call(*line.split(), body)
        assert answer.headers.get("Ignored-Fields") == ignored

    @each("path", ["/products/1/bugs", "/bugs", "/executions/3/tasks", "/projects/2/builds"])
    def test_record_of_a_list_can_be_sent_back(self, world, path):
        record = records_in(world.get(path))[0]
        array = path.split("/")[-1]
        answer = world.call("PUT", f"/{array}/{record['id']}", record)
        assert answer.status_int == 200, answer.text


# --- 13 OpenAPI -----------------------------------------------------------------------------------


TAKING_A_BODY = ("POST /-/reset", "PUT /-/clock", "POST /-/load", "PUT /-/faults", "POST /-/faults")
ASKED_OF_CONTROLS = {"POST /-/reset": "only", "GET /-/journal": "method path status count wait"}


CONTROLS = sorted(line for line in DESCRIBED if " /-/" in line)


def item_of(line: str) -> dict[str, Any]:
    """Return the item of the document that describes the path of an operation."""
    path = line.split()[1].replace("<", "{").replace(">", "}")
    return DOCUMENT["paths"][path]


def body_of(line: str) -> dict[str, Any]:
    """Return the JSON that the body of an operation is described to be: schema and example."""
    return DESCRIBED[line]["requestBody"]["content"]["application/json"]


def example_of(line: str) -> tuple[str, str, Any]:
    """Return the method, the path and the body that the document gives as an example."""
    method, path = line.split()
    for parameter in item_of(line).get("parameters", []):
        path = re.sub("<.*?>", str(parameter["example"]), path)
    needed = [one for one in DESCRIBED[line].get("parameters", []) if one["required"]]
    query = urllib.parse.urlencode({one["name"]: one["example"] for one in needed})
    body = body_of(line)["example"] if line in TAKING_FIELDS else None
    return method, f"{path}?{query}", body


IDS_ON_FILLED = {"programs": 6, "executions": 2, "users": "dev1", "configurations": "language"}


def address_of(line: str, **ids: int) -> str:
    """Return the path of an operation on a record of FILLED: the one with this id in its array."""
    path = line.split()[1]
    id = {**IDS_ON_FILLED, **ids}.get(path.split("/")[1], 1)
    return re.sub("<.*>", str(id), path)


TAKING_FIELDS = {one.line: one for one in OPERATIONS if "requestBody" in DESCRIBED[one.line]}


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


class TestOpenAPI:
    """The document itself; every answer that a Client gets is held against it."""

    def test_document_is_valid_and_open(self):
        with opened(control=False) as client:
            document = client.call("GET", "/openapi.json", Token=None).json
        pytest.importorskip("openapi_spec_validator").validate(document)
        paths = {"/-/live", "/-/ready"}  # the only controls of this service
        paths |= {path for path in DOCUMENT["paths"] if not path.startswith("/-/")}
        assert document["paths"] == {path: DOCUMENT["paths"][path] for path in paths}

    def test_every_operation_is_in_it_with_its_parameters_and_answers(self):
        assert DESCRIBED.keys() == {*INTERFACE, *CONTROLS}
        for line, row in INTERFACE.items():
            described = DESCRIBED[line]
            asked = row.asks.split()
            if isinstance(row, List):
                asked = ["page", "limit", "order", *asked]
                if line not in UNNAMED:
                    asked.append("title")
            assert parameters_of(described) == asked
            assert parameters_of(item_of(line)) == re.findall("<(.+?)>", line)
            for parameter in described.get("parameters", []):
                is_home = parameter["name"] in ("product", "project") and line.startswith("POST")
                assert parameter["required"] == (is_home or line == "GET /modules")
            security = [] if line.endswith("/tokens") else None
            assert described.get("security") == security
            assert [*described["responses"]][1:] == ["default"]
            if line in TAKING_FIELDS:
                assert {*TAKING_FIELDS[line].required} == row.needs.keys()
            else:
                assert not (isinstance(row, Row) and row.needs)

    @each("line", TAKING_FIELDS)
    def test_body_is_described_with_the_fields_that_are_taken(self, filled, line):
        """Send the fields of all bodies, twenty at once: those of other bodies are ignored."""
        own = {*TAKING_FIELDS[line].fields, *INTERFACE[line].asks.split()}
        names = set().union(*(other.fields for other in TAKING_FIELDS.values()))
        left = [*own, *sorted(names - own)]
        if line.startswith("DELETE"):
            left = left[:20]  # only once
        while left:
            sent, left = left[:20], left[20:]
            answer = filled.call(line.split()[0], address_of(line), {name: {} for name in sent})
            ignored = ", ".join(name for name in sent if name not in own)
            assert answer.headers.get("Ignored-Fields", "") == ignored

    def test_every_control_is_in_it(self, client):
        lines = []
        for control in client.get("/-/")["controls"]:
            line = f"{control['method']} {control['path']}"
            lines.append(line)
            description = DESCRIBED[line]
            assert description["tags"] == ["controls"]
            assert description["summary"].lower() == control["purpose"].lower()
            assert parameters_of(description) == ASKED_OF_CONTROLS.get(line, "").split()
            assert ("requestBody" in description) == (line in TAKING_A_BODY)
        assert sorted(lines) == CONTROLS

    def test_what_is_described_in_full_has_a_name(self):
        for schema in inner_schemas({**DOCUMENT, "components": {}}):
            assert "properties" not in schema
        for component in DOCUMENT["components"]["schemas"].values():
            assert "title" not in component  # some generators name a class by it
            for schema in inner_schemas({**component, "type": None}):
                assert not {"properties", "enum"} & schema.keys()

    def test_values_are_of_forms_that_every_generator_takes(self):
        for schema in inner_schemas(DOCUMENT):
            assert not {"const", "oneOf", "not", "default"} & schema.keys()
            types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            assert types[1:] in ([], ["null"])
            assert schema.get("additionalProperties") is not False
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
        for operation in TAKING_FIELDS.values():
            for schema in inner_schemas(operation.fields):
                assert "" not in schema.get("enum", ())

    def test_operations_are_named_like_functions(self):
        names = [operation["operationId"] for operation in DESCRIBED.values()]
        assert len(set(names)) == len(names)
        assert {"listBugsOfProduct", "startTask", "createTaskOfExecution", "logIn"} <= {*names}
        tags = {tag["name"] for tag in DOCUMENT["tags"]}
        for operation in DESCRIBED.values():
            assert re.fullmatch("[a-z]+([A-Z][a-z]*)+", operation["operationId"])
            assert re.fullmatch(r"[^.!?]+(?:[.!?]\S[^.!?]*)*[.!?]", operation["description"])
            assert {*operation["tags"]} <= tags

    def test_server_is_not_what_a_stranger_says(self, client):
        forwarded = {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "ftp"}
        document = client.call("GET", "/openapi.json", Host="localhost:9000", **forwarded).json
        assert document["servers"] == [{"url": "http://localhost:9000"}]

    @each("line", [*INTERFACE])
    def test_example_works_on_the_demo(self, demo, line):
        """The record that the path names, and the fields and parameters that are required."""
        demo.succeed(*example_of(line))

    def test_every_body_and_answer_has_a_name(self):
        for line, operation in DESCRIBED.items():
            parts = [*operation["responses"].values(), operation.get("requestBody", {})]
            for part in parts:
                for content in part.get("content", {}).values():
                    assert [*content["schema"]] == ["$ref"], line

    def test_answer_that_lacks_a_field_or_has_another_is_not_as_described(self, world):
        for line in SHOWN:
            answers = without(DESCRIBED[line.replace(":id", "<id>")]["responses"], "default")
            for schema in inner_schemas(written_out(answers)):
                optional = schema.get("properties", {}).keys() - {*schema.get("required", ())}
                assert optional <= {"page", "limit"}, line
        task, validators = world.get("/tasks/1"), answers_of("GET", "/tasks/1")
        assert not validators["200"].is_valid({**task, "another": 1})

    @each_of([one for one in WRITING if one.status == 200])
    def test_comment_is_taken_by_what_changes_a_record(self, operation):
        assert "comment" in operation.fields

    def test_moments_are_date_times_unless_an_answer_writes_something_else(self):
        task = DOCUMENT["components"]["schemas"]["Task"]["properties"]
        for field, sort in SORTS["task"].items():
            if sort in ("moment", "stamp"):
                assert task[field].get("format") == ("date-time" if sort == "moment" else None)


# --- 14 Control: clock, journal, faults and snapshots ---------------------------------------------


class Controlled(Client):
    """An app with what tests ask the controls."""

    def total(self) -> int:
        """Return how many products there are."""
        return self.get("/products")["total"]

    def status(self, path: str, token: str = "t") -> int:
        """Return the status of a GET."""
        return self.call("GET", path, Token=token).status_int

    def calls(self, query: str = "") -> list[dict[str, Any]]:
        """Return the calls of the journal."""
        return self.get(f"/-/journal?{query}")["calls"]

    def fail(self, match: str, **effects: Any) -> Any:
        """Add a fault; return all of them."""
        return self.post("/-/faults", match=match, **effects)


@pytest.fixture
def memory():
    """Yield an app with controls whose start is WORLD."""
    with contextlib.closing(Controlled(load=WORLD)) as client:
        yield client


OPEN_CONTROLS = {"GET /-/live", "GET /-/ready"}
# fmt: off
# database, control, status
SWITCHES = [(":memory:", None, 200), (":memory:", False, 404), ("pm.db", None, 404), ("pm.db", True, 200)]
UNREADABLE = [
    ("POST /-/load",  b'{"products": [{"name": "caf\xe9"}]}'), ("POST /-/load",  b'{"\\ud800": 1}'),
    ("PUT /-/faults", b"[" * 99_999), ("PUT /-/faults", {}),
    ("PUT /-/faults", [1]), ("PUT /-/faults", [{}]), ("POST /-/faults", {"match": "*"}),
]
WRONG_VALUES = [  # an array of values; faults have "match" and "drop" as well
    ("POST /-/reset",  "only",     '["recrods", "tokens"]'),
    ("GET /-/journal", "count",    "[1001]"),
    ("GET /-/journal", "wait",     "[61]"),
    ("PUT /-/clock",   "now",      '["yesterday", 5]'),
    ("PUT /-/clock",   "offset",   '["x", true, 1000000001, -1000000001]'),
    ("PUT /-/clock",   "advance",  '["x", 1000000001]'),
    ("PUT /-/clock",   "ofset",    "[1]"),
    ("POST /-/faults", "match",    r'["GET", "get /products", "", 1, "* \ud800"]'),
    ("POST /-/faults", "status",   "[199, 600]"),
    ("POST /-/faults", "times",    "[-1]"),
    ("POST /-/faults", "skip",     "[1001]"),
    ("POST /-/faults", "hits",     "[-1]"),
    ("POST /-/faults", "delay",    "[-1, 61]"),
    ("POST /-/faults", "body",     r'[{"a": "\ud800"}]'),
    ("POST /-/faults", "headers",
     r"""[{"Content-Length": "3"}, {"content-length": 3}, {"Connection": "close"}, ["X"], {"a b": "c"}, {"a:b": "c"},
          {"X": "a\r\nb"}, {"X": "é"}, {"X": true}]"""),
]
# fmt: on


class TestControls:
    """The controls: the callers who may use them, and the requests that they refuse."""

    def test_controls_are_in_no_journal_and_at_their_own_path_alone(self, memory):
        listed = memory.get("/-/")["controls"]
        assert {"method": "POST", "path": "/-/reset", "purpose": "return to the start"} in listed
        assert memory.calls() == []
        refusal = memory.refused("GET", "/-", status=404)
        assert refusal["error"] == "There is nothing at /-; GET /openapi.json lists what there is."

    def test_controls_need_an_administrator_and_can_be_off(self, memory):
        token = memory.token_of("dev1")
        with opened(control=False) as off:
            for line in {*CONTROLS} - OPEN_CONTROLS:
                call = line.replace("<name>", "one").split()
                memory.refused(*call, status=401, Token=None)
                memory.refused(*call, status=403, Token=token)
                refusal = off.refused(*call, status=404)
                assert "--control" in refusal["error"]
                method, path = call
                refusal = memory.refused(method, f"{path}?onli=1")
                assert [*refusal["fields"]] == ["onli"]

    def test_fixture_may_have_64_mib(self, memory):
        assert memory.call("POST", "/-/load", b"{}".ljust(2**26)).json == {"records": 0}
        refusal = memory.refused("POST", "/-/load", b"{}".ljust(2**26 + 1), status=413)
        assert refusal["error"] == "The body must be at most 67108864 bytes long (got 67108865)."

    @each(("path", "control", "status"), SWITCHES)
    def test_controls_are_on_by_themselves_in_memory_only(self, tmp_path, path, control, status):
        path = path if path == ":memory:" else tmp_path / path
        with opened(path, control=control) as client:
            assert client.call("GET", "/-/clock").status_int == status

    @each(("line", "body"), UNREADABLE)
    def test_controls_refuse_what_they_cannot_read(self, memory, line, body):
        memory.refused(*line.split(), body)

    @each(("line", "field", "values"), WRONG_VALUES)
    def test_wrong_value_is_refused_by_its_name(self, memory, line, field, values):
        body = {"match": "*", "drop": True} if "faults" in line else {}
        for value in json.loads(values):
            refusal = memory.refused(*line.split(), {**body, field: value})
            assert [*refusal["fields"]] == [field]


@contextlib.contextmanager
def process_of(*arguments, redirections="", **options):
    """Yield a process of the command, whose streams a shell may redirect; end it afterwards."""
    words = [*SERVICE, *arguments]
    if redirections:
        words = ["sh", "-c", f'exec "$@" {redirections}', "sh", *words]
    with subprocess.Popen(words, **options) as process:
        try:
            yield process
        finally:
            process.kill()


# Requests that a service refuses while it is loading, whatever their query or record.
WHILE_LOADING = ["GET /-/ready", "GET /products/99/bugs?order=x", "PUT /tasks/1", "POST /tokens"]


class TestReadiness:
    """The answers to probes, also when the file is gone."""

    @only_if(POSIX, "Windows has no named pipes among its files")
    def test_service_that_is_loading_is_live_and_not_ready(self, tmp_path):
        fixture, port = tmp_path / "f.json", free_port()
        os.mkfifo(fixture)
        flags = f"--token t --load f.json --port {port}"
        url, told = f"http://127.0.0.1:{port}", "The service is still loading."
        streams = dict(cwd=tmp_path, stdout=subprocess.PIPE)
        with process_of(*flags.split(), **streams) as process:
            while process.poll() is None:
                with contextlib.suppress(ConnectionError):
                    assert ask_once(url, "GET", "/-/live")[0] == 200
                    break
            for line in WHILE_LOADING:
                assert ask_once(url, *line.split()) == (503, {"error": told})
            for path, token, status in (("/user", "", 401), ("/nothing", "t", 404)):
                assert ask_once(url, "GET", path, Token=token)[0] == status
            assert ask_once(url, "GET", "/-/live", Token="") == (200, {"status": "live"})
            with client_of(url) as connection:
                connection.request("GET", "/bugs", headers=as_browser())
                page = connection.getresponse()
                assert page.status == 503
                assert told.encode() in page.read()
            fixture.write_text('{"products": [{"name": "P"}]}')
            assert process.stdout.readline().strip() == url.encode()
            assert ask_once(url, "GET", "/-/ready", Token="") == (200, {"status": "ready"})
            assert ask_once(url, "GET", "/products")[1]["total"] == 1

    @OPEN_FILES
    # ".": its folder
    @each(("name", "loss"), [("pm.db", "removed"), ("pm.db", "replaced"), (".", "removed")])
    def test_lost_file_is_not_ready_and_takes_no_writes(self, filed_world, name, loss):
        lost = filed_world.path.parent / name
        lost.rename(f"{lost}.old")
        if loss == "replaced":
            shutil.copy(f"{lost}.old", lost)
        answer = filed_world.call("GET", "/-/ready")
        assert answer.status_int == 503
        for request in [*WRITES[::7], ("PUT", "/-/snapshots/now"), ("POST", "/-/reset")]:
            answer = filed_world.call(*request)
            assert "removed or replaced" in answer.json["error"], request
        assert filed_world.get("/products")["total"] == 2

    def test_use_of_a_token_is_noted_when_nothing_is_in_the_way(self, tmp_path, statements):
        def look(_, sql, *__):
            """Read in another thread, before a product is inserted."""
            if "INTO product " in sql:
                seen.append(threads.submit(client.total).result(30))

        seen = []
        client = Controlled(tmp_path / "pm.db")
        with contextlib.closing(client), ThreadPoolExecutor(1) as threads:
            client.load(users=[dict(account="dev1")])
            client.token = client.token_of("dev1")
            client.clock.forward(hours=1)
            statements.before = look
            client.call("POST", "/products", {"name": "P", "acl": "open"}, Token="t")
            assert seen == [0]  # a reader waits for no writer
            with client.as_another_program() as other:  # nor for another program
                other.execute("BEGIN IMMEDIATE")
                assert client.total() == 1
            noted = "SELECT used FROM token"
            assert client.sql(noted) == [(NOW_ISO,)]
            assert client.total() == 1
            assert client.sql(noted) == [("2026-11-20T08:42:17Z",)]


class TestReset:
    """The way back to the start."""

    def run_script(self, client: Client) -> list[bytes]:
        """Return the answers to every write, and then to a dump."""
        client.put("/-/clock", now=NOW_ISO)
        requests = [one for one in WRITES if one[1] != "/users"]  # its hash is salted
        requests.append(("GET", "/-/dump"))
        return [client.call(*one).body for one in requests]

    def test_same_script_answers_the_same_bytes(self, memory, filed_world):
        first = self.run_script(memory)
        memory.post("/-/reset")
        assert self.run_script(memory) == first
        assert self.run_script(filed_world) == first

    def test_reset_brings_back_records_and_empties_the_action_log(self, memory):
        start = lines(memory.dump())
        memory.call("DELETE", "/bugs/1")
        assert memory.post("/-/reset") == {"message": "success"}
        assert lines(memory.dump()) == start
        assert memory.sql("SELECT * FROM action") == []
        assert problems(memory) == []

    def test_reset_leaves_snapshots_alone_and_one_of_the_records_all_but_them(self, memory):
        memory.put("/-/clock", now="2026-11-20T09:00:00Z", offset=60)
        memory.fail("GET /programs", status=500)
        memory.put("/-/snapshots/kept")
        token = memory.token_of("dev1")
        for path, body in (("/-/reset", {"only": "records"}), ("/-/reset?only=records", {})):
            memory.product()
            memory.post(path, **body)
            assert memory.total() == 2
        assert memory.get("/-/clock")["frozen"]
        assert memory.status("/programs") == 500
        assert memory.status("/user", token) == 200
        assert len(memory.calls()) == 6
        memory.product()
        memory.post("/-/reset")
        assert memory.get("/-/clock") == {"now": NOW_ISO, "frozen": False, "offset": 0}
        assert memory.get("/-/faults") == []
        assert memory.get("/-/journal") == {"total": 0, "calls": []}
        assert memory.status("/user", token) == 401
        assert memory.total() == 2
        assert memory.get("/-/snapshots") == {"snapshots": ["kept"]}
        memory.post("/-/snapshots/kept/restore")

    def test_tokens_made_before_serving_outlive_a_reset(self, filed_world):
        before = filed_world.token_of("dev1")
        with opened(filed_world.path) as client:
            client.give_token("dev1", "during")
            client.post("/-/reset")
            assert status_with(client, before) == 200
            assert status_with(client, "during") == 401

    def test_reset_ends_calls_that_wait_of_which_there_are_24_at_most(self, memory):
        memory.fail("POST *", delay=60)
        requests = [("GET", "/-/journal?count=9&wait=60"), ("POST", "/products", {"name": "late"})]
        with ThreadPoolExecutor(30) as threads:
            calls = [threads.submit(memory.call, *request) for request in requests * 15]
            while len(wait(calls, 0.05).done) < 6:
                pass
            memory.get("/-/journal?path=/x&count=0&wait=60")  # it need not wait
            memory.post("/-/reset")
        told = Counter(call.result().json["error"] for call in calls)
        assert told.pop("24 calls wait or are delayed already; try again when fewer do.") == 6
        assert told.keys() == {
            "The service was reset meanwhile.",
            "The service was reset while this call was delayed.",
        }
        assert {call.result().status_int for call in calls} == {409, 503}
        assert memory.calls() == []
        assert memory.total() == 2

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
        assert refusal["error"] == "There is no snapshot on."
        remove(memory, "/-/snapshots/one")
        memory.refused("DELETE", "/-/snapshots/one", status=404)
        memory.refused("POST", "/-/snapshots/one/restore", status=404)
        memory.post("/-/reset")  # the state at the start is not among those with names

    def test_snapshots_are_in_no_file(self, filed):
        filed.product()
        before = sorted(os.listdir(filed.path.parent))
        filed.put("/-/snapshots/a")
        assert sorted(os.listdir(filed.path.parent)) == before
        filed.close()
        with opened(filed.path) as again:
            assert again.get("/-/snapshots") == {"snapshots": []}


ALONE = "must come alone, to a frozen clock: freeze it first, or use offset"
FROZEN = {"now": "2026-01-05T09:00:00Z"}
# The clock before, and what is sent with `advance`.
NOT_ADVANCED = [({}, {}), ({"offset": 5}, {}), ({}, FROZEN), (FROZEN, {"offset": 0})]
YEARS_LEFT = [  # a moment, and seconds that lead out of the years 2 to 9998
    ("9998-12-31T23:59:59Z", 1),
    ("9998-12-31T23:59:59Z", 10**9),
    ("0002-01-01T00:00:00Z", -0.5),
]


class TestControlledClock:
    """The clock that tests freeze and shift."""

    def test_frozen_clock_dates_everything_and_is_advanced(self, memory):
        frozen = FROZEN["now"]
        state = {"now": frozen, "frozen": True, "offset": 60}
        assert memory.put("/-/clock", now=frozen, offset=60) == state
        memory.clock.forward(days=1)
        assert memory.product()["createdDate"] == frozen
        memory.post("/tasks/2/start", left=1)
        assert memory.sql("SELECT max(date) FROM action") == [(frozen,)]
        assert memory.get("/executions/6")["realBegan"] == "2026-01-05"
        for seconds in (3600.5, 0.5, -1):  # fractions add up
            state = memory.put("/-/clock", advance=seconds)
        assert state == {"now": "2026-01-05T10:00:00Z", "frozen": True, "offset": 60}
        assert memory.product()["createdDate"] == state["now"]
        assert memory.put("/-/clock", advance=0) == state

    def test_clock_is_shifted_and_released(self, memory):
        token = memory.token_of("dev1")
        memory.put("/-/clock", **FROZEN)
        later = {"now": "2026-11-20T08:42:17Z", "frozen": False, "offset": 3600}
        assert memory.put("/-/clock", offset=3600) == later
        memory.clock.forward(hours=1)
        assert memory.product()["createdDate"] == "2026-11-20T09:42:17Z"
        memory.put("/-/clock", offset=25 * 3600)
        assert memory.status("/user", token) == 401
        assert memory.put("/-/clock") == dict(later, offset=0)

    def test_clock_that_cannot_be_advanced_or_set_stays(self, memory):
        for state, more in NOT_ADVANCED:
            before = memory.put("/-/clock", **state)
            refusal = memory.refused("PUT", "/-/clock", {"advance": 1, **more})
            assert refusal["fields"] == {"advance": ALONE}
            assert memory.get("/-/clock") == before
        for now, seconds in YEARS_LEFT:
            before = memory.put("/-/clock", now=now)
            refusal = memory.refused("PUT", "/-/clock", {"advance": seconds})
            assert "must lead to the years 2 to 9998" in refusal["fields"]["advance"]
            assert memory.get("/-/clock") == before
        for now in ("9998-12-31T23:59:59-12:00", "0002-01-01T00:00:00+14:00"):
            refusal = memory.refused("PUT", "/-/clock", {"now": now, "offset": 77})
            assert "must be in the years 2 to 9998" in refusal["fields"]["now"]
            assert memory.get("/-/clock") == before


# fmt: off
FOUND = {  # how many of the calls NOTED match a query
    "method=post": 2, "path=/tasks/*": 2, "path=/products/": 1, "path=/api.php/v1/products": 1,
    "status=404": 2, "method=POST&status=404": 1,
}
NOTED_BODIES = [
    # what is sent to a path that is not there,                  what the journal keeps
    (b"{'name': 'Shop'}",                                        "{'name': 'Shop'}"),
    (b"name=\xff",                                               "name=\ufffd"),
    (b"{'name': 'x', 'Password': 'hush'}",                       "{'name': 'x', 'Password***"),
    (b"x" * 8192,                                                "x" * 8192),
    (b"x" * 8193,                                                "8193 bytes"),
    (b'{"name": "", "x": 1e400, "y": "\\ud800"}',                '{"name": "", "x": 1e400, "y": "\\ud800"}'),
    ({"name": "", "x": {"Token": 1, "y": [{"password": 2}]}},
     {"name": "", "x": {"Token": "***", "y": [{"password": "***"}]}}),
    (b'"{\\"name\\": 1, \\"password\\": \\"hush\\"}"',             '{"name": 1, "password***'),
]
SENT_URLS = [
    # what is sent,                                what the journal keeps,                       its path
    ("/api.php/v1/api.php/v1/products/?limit=1",  "/api.php/v1/api.php/v1/products/?limit=1",   "/api.php/v1/products"),
    ("/zentao/api.php/v1/user/?token=hush&x=%3F",  "/zentao/api.php/v1/user/?token=***&x=%3F",   "/user"),
    ("/tasks/%D9%A1?x=%C3%A9",                     "/tasks/%D9%A1?x=%C3%A9",                     "/tasks/١"),
    ("//products",                                 "//products",                                 "//products"),
    ("http://localhost/products?Token=hush",       "/products?Token=***",                        "/products"),
    ("http://x:hush@localhost/products/",          "/products/",                                 "/products/"),
]
NO_FORMS = [
    (FORM, "'{account:admin,password:hush}'"), (FORM, '\ufeff{"account":"admin","password":"hush"}'),
    (FORM, '["hush"]'), (FORM, "hush"), (FORM, '"hush"'),
    ("application/json", "hush"), ("application/json", '{"password": hush}'), ("", "token hush"),
]
OTHER_NUMBERS = {  # query of the journal: the refusal
    "path=/products&count=1": "expected 1 call of /products, 2 came.",
    "path=/product&count=1":  "expected 1 call of /product, 0 came.",
    "path=/products&method=get&status=200&count=0&wait=0.1": "expected 0 calls of get /products 200, 2 came.",
    "count=3":                "expected 3 calls, 2 came.",
}
# Answers of faults that cannot be read as JSON, or not written as JSON again.
NO_JSON = ["[" * 20_000, "[" * 8000, "NaN", "1e999", '"\\ud800"', "{"]
# fmt: on


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
        told = [f"{one['account']} {one['method']} {one['path']} {one['status']}" for one in calls]
        expected = "dev1 GET /products 200, admin POST /tasks/99/start 404, - GET /user 401"
        assert ", ".join(told) == expected

    def test_journal_lists_calls_that_match(self, memory):
        for line in ("POST /zentao/api.php/v1/products/", "POST /tasks/99/start", "GET /tasks/99"):
            memory.call(*line.split(), {"name": "P"})
        for query, total in FOUND.items():
            assert memory.get(f"/-/journal?{query}")["total"] == total, query
        memory.call("DELETE", "/-/journal")
        assert memory.get("/-/journal") == {"total": 0, "calls": []}

    def test_answer_that_is_no_json_is_kept_as_text(self, memory):
        for text in NO_JSON:
            memory.call("PUT", "/-/faults", [{"match": "GET /user", "body": text}])
            memory.app.get("/user", headers={"Token": "t"})
            *_, call = memory.calls()
            assert call["answer"] in (text, f"{len(text)} bytes")
            assert call["answer"][:50] in browse(memory, "/-/journal").text

    def test_answer_that_nests_as_deep_as_it_can_is_kept(self, memory):
        """As a value or as text: each Python gives up at another depth."""
        for depth in range(900, 1000, 9):
            text = "[" * depth + "]" * depth
            memory.call("PUT", "/-/faults", [{"match": "GET /user", "body": text}])
            memory.app.get("/user", headers={"Token": "t"})
            *_, call = memory.calls()
            assert json.dumps(call["answer"]).strip('"') == text

    def test_journal_waits_for_the_calls_of_others(self, memory):
        memory.fail("GET /programs", delay=0.1)
        with ThreadPoolExecutor(2) as threads:
            for _ in range(2):
                threads.submit(memory.get, "/programs")
            found = memory.calls("path=/programs&status=200&count=2&wait=30")
        assert [call["path"] for call in found] == ["/programs", "/programs"]

    @each("line", ["DELETE /-/journal", "POST /-/reset"])
    def test_call_that_began_before_the_journal_was_emptied_does_not_return(self, memory, line):
        class Body(io.BytesIO):
            """A body during whose reading another thread empties the journal."""

            def read(self, size: int | None = -1) -> bytes:
                with ThreadPoolExecutor(1) as threads:
                    threads.submit(memory.call, *line.split()).result()
                return super().read(size)

        environ = {"wsgi.input": Body(b"{}"), "CONTENT_LENGTH": "2", "HTTP_TOKEN": "t"}
        memory.app.request("/programs", 400, environ=environ, method="POST")
        assert memory.calls() == []

    def test_journal_keeps_urls_as_they_were_sent(self):
        with pmservice.running(token="t") as served, client_of(served.url) as connection:
            for sent, url, path in SENT_URLS:
                connection.request("GET", sent, headers={"Token": "t", "Host": "localhost"})
                connection.getresponse().read()
                *_, call = served.calls()
                assert call["url"] == url
                assert call["path"] in (path, path.replace("//", "/"))
                assert "hush" not in json.dumps(call)

    def test_journal_keeps_urls_of_other_servers_that_name_no_uri(self, memory):
        sent = "/api.php/v1/tasks/%D9%A1%3F%25/?x=1&password=hush"
        memory.app.get(sent, headers={"Token": "t"}, status=404)
        (call,) = memory.calls()
        assert call["url"] == "/api.php/v1/tasks/%D9%A1%3F%25/?x=1&password=***"

    def test_other_number_of_calls_is_told(self, memory):
        for _ in range(2):
            memory.get("/products")
        for query, words in OTHER_NUMBERS.items():
            refusal = memory.refused("GET", f"/-/journal?{query}", status=409)
            assert refusal["error"] == words
        assert memory.calls("path=/product&count=0") == []

    def test_journal_keeps_the_last_thousand_calls(self, memory):
        for number in range(1, 1003):
            memory.call("GET", f"/bugs/{number}")
        paths = [call["path"] for call in memory.calls()]
        assert paths == [f"/bugs/{number}" for number in range(3, 1003)]

    @pytest.mark.filterwarnings("ignore:Unknown REQUEST_METHOD")
    def test_journal_cuts_what_is_long(self, memory):
        name = "n" * 3000
        memory.call("A" * 60_000, f"/{name}?x={name}", X="v" * 3000)
        (call,) = memory.calls(f"method={'A' * 20}")
        for text in (call["path"], call["query"], call["headers"]["X"]):
            assert len(text) == 1000

    @each(("sent", "kept"), NOTED_BODIES)
    def test_journal_keeps_bodies_without_their_secrets(self, memory, sent, kept):
        for path in ("/products", "/tasks/99/start"):  # the second is refused before it is read
            memory.call("POST", path, sent)
        assert [call["body"] for call in memory.calls()] == [kept, kept]

    def test_journal_keeps_what_was_sent_and_why_it_was_refused(self, memory):
        sent = {"User-Agent": "tests", "Authorization": "Basic eA==", "Cookie": "a=b"}
        path = "/products?limit=1&token=s&%70assword=s&="
        memory.call("POST", path, {"name": ""}, **sent)
        (call,) = memory.calls()
        assert call["query"] == "limit=1&token=***&%70assword=***&="
        assert call["error"] == 'name must be 1 to 255 characters, not blank (got "").'
        holds(call, fault=None, hint=None, ignored="?limit, ?token, ?password")
        headers = call["headers"]
        assert headers["User-Agent"] == "tests"
        assert headers["Content-Type"] == "application/json"
        for name in ("Token", "Authorization", "Cookie"):
            assert headers[name] == "***"
        age = datetime.now(timezone.utc) - datetime.fromisoformat(call["time"])
        assert abs(age) < timedelta(minutes=5)  # whatever the service's clock says

    def test_secret_that_a_refusal_quotes_is_not_kept(self, memory):
        sent = b'{"account": "admin", "password": hunter2}'
        refusal = memory.refused("POST", "/tokens", sent)
        (call,) = memory.calls()
        sentence = "The body must be JSON, but line 1, column 34 is wrong."
        assert call["error"] == refusal["error"] == sentence
        assert call["body"] == '{"account": "admin", "password***'

    def test_answers_are_kept_without_their_secrets(self, memory):
        memory.fail("GET /user", body="<p>Try again, or send the token 12</p>")
        load_user(memory, "dev1", password=SECRET)
        memory.put("/products/1", desc="d" * 8192)
        memory.call("DELETE", "/-/journal")
        memory.login("dev1")
        for path in ("/bugs/99", "/user", "/products"):
            memory.app.get(path, headers={"Token": "t"}, status="*")
        *first, long = [call["answer"] for call in memory.calls()]
        missing = {"error": "There is no bug 99."}
        assert first == [{"token": "***"}, missing, "<p>Try again, or send the token***"]
        assert re.fullmatch("[0-9]{4,} bytes", long)

    def test_body_that_is_no_form_names_nothing(self, memory, caplog):
        caplog.set_level(logging.INFO, "pmservice")
        for label, body in NO_FORMS:
            memory.call("POST", "/tokens", body.encode(), Content_Type=label)
        calls = memory.calls()
        assert {call["status"] for call in calls} == {400}
        told = [[call["error"], call["ignored"]] for call in calls]
        assert "hush" not in f"{told} {caplog.text}"


# fmt: off
MADE_ANSWERS = [
    # fault,                                  status, content type,     beginning
    ('{"status": 502, "body": "<html>Bad</html>"}', 502, "text/html",        "<html>Bad</html>"),
    ('{"body": {"page": 1}}',                       200, "application/json", '{"page":1}'),
    ('{"body": ""}',                                200, "text/html",        ""),
    ('{"status": 429}',                             429, "application/json",
     '{"error":"This is the fault 429 that was asked for."}'),
]
MEANT = [
    # a fault's match, a call that it matches, one that it does not match
    ("POST /tasks/<id>/start",            "POST /tasks/2/start",    "POST /tasks/2/x/start"),
    ("POST /tasks/{task_id}/start/",      "POST /tasks/2/start",    "POST /tasks//start"),
    ("* /api.php/v1/tasks/<>",            "GET /tasks/2",           "POST /tasks/2/start"),
    ("GET /users/{}*",                    "GET /users/dev1",        "GET /users"),
    ("GET /*<id>",                        "GET /users/dev1",        "POST /products"),
    ("PUT /tasks/:id",                    "PUT /tasks/2",           "PUT /tasks/2/x"),
    ("GET /*a[12]",                       "GET /a[12]",             "GET /a1"),
    ("HEAD /products",                    "HEAD /products",         "GET /products"),
    ("GET /products",                     "GET /products",          "HEAD /products"),
    ("G*T /user",                         "GET /user",              "PUT /user"),
]
FITTING = """
    *; * *; GET *; * /*; */finish; PUT /*; POST /tasks/7/*; POST /tasks/7/finish; GET /products/27*bugs;
    GET /users/\\q*; * /{a}/{b}/{c}/*; GET /tasks/9223372036854775807; GET /users/dev1;
    GET /users/a.b@c-d; GET /users/<account>;
    GET /configurations/language;
    GET /openapi.json; HEAD /openapi.json/; GET /api.php/v1/products/; POST /zentao/api.php/v1/tasks/{id}/start
"""
UNFITTING = {  # what the error says after the match
    "POST /task/7/finish":    "; did you mean POST /tasks/<id>/finish?",
    "GET /Products":          "; did you mean GET /products?",
    "GET /tasks/{id}/finish": "; did you mean POST /tasks/<id>/finish?",
    "GET /products?page=2":   "; did you mean GET /products?",
    "POST /-/reset":          "; faults never apply to controls.",
    "GET /" + "x" * 300:      "; GET /openapi.json lists all calls.",
    "GET /products/(":        "; did you mean GET /products?",
    "GET /tasks/0":           "; did you mean GET /tasks?",
    "PSOT /tasks/*":          "; did you mean PUT /tasks/<id>?",
    "POST /tsks/<id>/start":  "; did you mean POST /tasks/<id>/start?",
    "PATCH /tasks/*":         "; GET /openapi.json lists all calls.",
    "GET /tasks/estimate":    "; did you mean GET /tasks/<id>/estimate?",
    "PUT /tasks/*/start":     "; did you mean POST /tasks/<id>/start?",
    "* /task/7":              "; did you mean PUT /tasks/<id>?",
    "* /{a}/{b}/{c}/{d}/*":   "; GET /openapi.json lists all calls.",
    "DELETE /products/*/x":   "; did you mean DELETE /products/<id>?",
    "GET /-/*":               "; faults never apply to controls.",
}
# fmt: on


class TestFaults:
    """Trouble that tests ask for."""

    def test_fault_lets_calls_pass_and_then_strikes_as_often_as_it_was_told(self, memory):
        memory.fail("POST /prod*", status=503, skip=2, times=1)
        memory.fail("POST /products", status=500, times=2)  # what the first lets pass comes to this
        memory.call("GET", "/products")  # does not count
        for status in (500, 500, 503, 201):
            answer = memory.call("POST", "/products", {"name": "P"})
            assert answer.status_int == status
        assert [call["status"] for call in memory.calls()] == [200, 500, 500, 503, 201]
        assert memory.total() == 3
        first, second = memory.get("/-/faults")
        holds(first, skip=0, times=0, hits=1)
        holds(second, times=0, hits=2)

    def test_fault_delays_calls_but_no_controls(self, memory):
        memory.fail("*", delay=0.05, times=1)
        assert memory.get("/-/faults")[0]["times"] == 1
        began = time.monotonic()
        assert memory.status("/users") == 200
        assert time.monotonic() - began >= 0.05

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
            others = [f"GET /users/dev{n}" for n in range(80)]
            list(threads.map(partial(memory.fail, status=503), others))
        assert statuses.count(503) == 30
        fault, *added = memory.get("/-/faults")
        holds(fault, skip=0, hits=30)
        assert len(added) == 80

    def test_name_in_angle_or_curly_brackets_is_one_segment(self, memory):
        for match, line, other in MEANT:
            memory.call("PUT", "/-/faults", [{"match": match, "delay": 0.001}])
            for call in (line, other):
                memory.call(*call.split())
            *_, first, second = memory.calls()
            assert first["fault"], match
            assert not second["fault"], match

    def test_match_that_fits_no_call_is_refused_with_the_nearest(self, memory):
        for match in phrases(FITTING):
            memory.fail(match, status=503)
        for match, rest in UNFITTING.items():
            fault = {"match": match, "status": 503}
            for method, body in (("POST", fault), ("PUT", [fault])):
                refusal = memory.refused(method, "/-/faults", body)
                assert refusal["error"] == f"match fits no call (got {match[:255]}){rest}"

    def test_faults_can_be_replaced_and_removed(self, memory):
        fault = {"match": "GET /user", "status": 503}
        memory.call("PUT", "/-/faults", [fault] * 99)
        assert len(memory.fail(**fault)) == 100
        assert memory.get("/-/faults") == [{**fault, "hits": 0}] * 100
        other = {"match": "GET /openapi.json", "status": 500}
        assert memory.call("PUT", "/-/faults", [other]).json == [{**other, "hits": 0}]
        for status in (500, 200):
            assert memory.status("/openapi.json") == status
            memory.call("DELETE", "/-/faults")
        assert memory.get("/-/faults") == []

    @each(("fault", "status", "kind", "body"), MADE_ANSWERS)
    def test_fault_makes_an_answer(self, memory, fault, status, kind, body):
        memory.fail("GET /products", **json.loads(fault), times=1)
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

    @each("effects", [{}, {"body": "busy"}, {"body": {"a": 1}, "status": 503}])
    def test_fault_may_say_another_content_type(self, memory, effects):
        memory.fail("GET /products", headers={"content-type": "text/plain"}, **effects)
        answer = memory.app.get("/products", headers={"Token": "t"}, expect_errors=True)
        assert answer.headers.getall("Content-Type") == ["text/plain"]

    @each("effects", [{"status": 503}, {"body": {"error": "e"}, "status": 500}, {"drop": True}])
    def test_body_of_a_call_that_a_fault_answered_is_kept(self, memory, effects):
        memory.fail("POST /products", times=1, **effects)
        with contextlib.suppress(pmservice.ClientDisconnected):
            memory.call("POST", "/products", {"name": "P", "password": "x"})
        memory.post("/products", name="P", password="y")
        first, second = memory.calls()
        assert first["body"] == second["body"] == {"name": "P", "password": "***"}
        assert first["fault"]

    def test_dropped_call_is_not_performed_and_has_no_answer(self):
        with pmservice.running() as served:
            served.fail("POST *", drop=True)
            with pytest.raises(ConnectionError, match="without response"):
                served.post("/products", {"name": "P"})
            assert served.get("/products")["total"] == 0
            assert [call["status"] for call in served.calls()] == [503, 200]

    def test_unread_answer_from_memory_holds_up_no_writer(self):
        load = bugs_of_one_product(300, steps="s" * 60_000)
        with pmservice.running(token="t", load=load) as served, client_of(served.url) as slow:
            slow.request("GET", "/products/1/bugs?limit=300", headers={"Token": "t"})
            assert slow.getresponse().read(1)
            assert served.post("/products", {"name": "Meanwhile"})["id"] == 2


# --- 15 Page: what browsers are shown -------------------------------------------------------------

# fmt: off
NO_BROWSERS = [  # what they accept: curl, fetch and requests; Java; axios; none; an image
    "*/*", "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "application/json, text/plain, */*",
    "", "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8",
]
# fmt: on
SEALED = {  # what a page may load and send, and who may frame it: only its own styles and drawings
    "default-src": "'none'",
    "style-src": "'unsafe-inline'",
    "img-src": "data:",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}

GETS = [line for line in INTERFACE if line.startswith("GET")]


def column_of(page: Read, column: int, heading: str = "") -> list[str]:
    """Return a column of a table, without its head."""
    _, *rows = page.sections[heading]
    return [row[column] for row in rows]


def links_with(page: Read, part: str) -> list[str]:
    """Return the links of a page that have this part."""
    return [link for link in page.links if part in link]


def values(page: Read, tag: str, name: str) -> list[str | None]:
    """Return an attribute of each element of a page with this tag."""
    return [attributes.get(name) for one, attributes in page.tags if one == tag]


def states_linked(page: Read) -> list[str]:
    """Return the states by which the links of a page narrow a list."""
    return re.findall("status=([a-z]+)", " ".join(page.links))


def links_here(page: Read) -> list[str]:
    """Return the links of the navigation that lead to where the page is."""
    return [one["href"] for tag, one in page.tags if tag == "a" and "aria-current" in one]


# The texts of a page of which each language has its own: names of fields, words of states, headings
# and links to lists; then the fields that are not set.
WORDS_SHOWN = re.compile(r"""
    <(?:dt|h2|h3|summary|button|p|p\ class="soft"|li\ class="soft")>([^<]*?)[0-9\s]*<
    |<th[^>]*>\s*<(?:a|span)[^>]*>(.*?)<
    |<span\ class="state[^>]*>(.*?)<
    |<(?:td|dd)\ class="word\s*"[^>]*>\s*<span>(.*?)<
    |<span\ aria-current[^>]*>(.*?)<
    |<a\ href="/(?:\w*|-/\w+|\w+/\d+/\w+|[^"]*status=[^"]*)"[^>]*>
        ([^<\d/]+)<""", re.VERBOSE)  # fmt: skip


def words_on(client: Client, path: str, language: str) -> set[str]:
    """Return the texts of a page of which each language has its own."""
    page = client.app.get(path, headers=as_browser(Accept_Language=language)).text
    words = set()
    for found in WORDS_SHOWN.findall(page):
        words.update(re.split(", |、", "".join(found).strip()))
    return words - {""}


# fmt: off
FOR_PROGRAMS = """
    /api.php/v1/products /zentao/api.php/v1/products /openapi.json /openapi.json/ /-/live /-/clock /-/nothing
"""
COOKIES = [  # what a browser sends of this host's cookies
    "pmservice80={}", "a=b; pmservice80={}", 'x={{"a": 1}}; pmservice80={}; c', "pmservice80={};pmservice81=x",
]
OTHER_COOKIES = ["", "pmservice={}", "pmservice8080={}", "xpmservice80={}", "pmservice80=x{}", "token={}"]
LED_TO = {  # what the form says, where it leads
    "/bugs?status=active&page=2": "/bugs?status=active&page=2", "//evil.example": "/", "/\\evil.example": "/",
    "https://evil.example": "/", "/a b": "/", "/x\r\nSet-Cookie: a=b": "/", "": "/",
}
REFUSED_PAGES = [
    "/bugs/99", "/nothing", "/tasks/1/start", "/bugs?order=nope", "/bugs?limit=x", "/bugs?limit=100001",
    f"/bugs?limit={'9' * 5000}", "/bugs?page=x", "/products?program=99",
]
UNNAMED = ["GET /testcases/<id>/results", "GET /tasks/<id>/estimate"]  # lists of what has no name
TITLES_FOUND = {
    "off": ["The OFFER", "Total is off"], "is TOTAL": ["Total is off"], "of f": ["The OFFER", "Total is off"],
    "%": ["100%"],
}
LINKED = [  # a record, ids of others that it gets, what is shown of them
    ("/bugs/1",       '{"linkBug": "2", "openedBuild": "1", "case": 1}',
     {"Related bugs": "B", "Affected build": "B1", "Test case": "C"}),
    ("/stories/1",    '{"mailto": ["dev1", "qa1"]}', {"Cc": "Dan Dev Quin Test"}),
    ("/executions/2", "{}",                          {"Project": "Pr"}),
]
ACCEPTED = [  # what a browser accepts, the setting, the language of pages
    ("zh-CN,zh;q=0.9,en;q=0.8", "en", "zh"), ("en-US,en;q=0.5", "zh", "en"), ("de-DE, fr", "zh", "zh"),
    ("", "en", "en"),
    ("zhx, x;q=y", "en", "en"), ("de, EN-gb;q=0.7, zh;q=0.5", "zh", "en"), ("zh", "en", "zh"),
]
WORDS_WITH_LABELS = {
    **WORDS, ("testcase", "stage"): "unittest feature intergrate system smoke bvt",
    ("user", "role"): "dev qa pm po top",
    ("story", "source"): "customer user market service operation support competitor partner forum bug",
    ("story", "category"): "feature experience improve", ("project", "lifetime"): "short long ops",
}
UNLABELLED = "qq skype slack whatsapp"  # names that are no words
CALLS_SHOWN = ["POST /products?token=*** 201 admin Ignored fields password, ?token", "GET /products 200 admin",
               "GET /bugs/2 503 - Simulated fault GET /bugs/2",
               "GET /bgus 404 - There is nothing at /bgus; did you mean /bugs?",
               "GET /bugs/1 200 admin"]
CALLS_FOUND = {"": 5, "text=admin": 3, "text=Quiet": 1, "text=mean": 1, "text=nowhere": 0}
CLOCKS_SHOWN = [(dict(offset=90), "It is shifted by 90.0 seconds."),
                (FROZEN, "The clock is frozen at 2026-01-05 09:00:00 UTC."),
                ({}, "The clock says 20")]
CHINESE_REFUSALS = [
    ("/bugs/99", "“Bug 99”不存在"), ("/productplans/99", "“计划 99”不存在"), ("/users/nobody", "“用户 nobody”不存在"),
    ("/products/99/bugs", "“产品 99”不存在"), ("/nothing", "没有 /nothing 这个地址，全部地址见"),
    ("/bgus", "没有 /bgus 这个地址，您要找的是不是 /bugs？"), ("/todos", "禅道有 /todos，但 pmservice 没有"),
    ("/tasks/1/start", "/tasks/1/start 不支持 GET，只支持 POST"), ("/bugs?page=1.5", 'page 必须是整数（现为 "1.5"）'),
    ("/bugs?limit=100001", 'limit 不能大于 100000（现为 "100001"）'), ("/bugs?page=-1", 'page 不能小于 1（现为 "-1"）'),
    ("/stories?type=x", 'type 只能是 story, requirement（现为 "x"）'), ("/bugs?status=closd", "是不是 closed？"),
    ("/bugs?order=x", '应为列表的字段，可加 _asc 或 _desc（现为 "x"）'), ("/bugs?order=tilte", "是不是 title？"),
    (f"/bugs?title={'a+' * 21}", "title 最多有 20 个词，现在有 21 个"),
    (f"/bugs?title={'a' * 256}", "title 必须有 1 到 255 个字，不能为空"),
]  # fmt: skip
LISTS_OF_ALL = """
    /programs /products /projects /executions /productplans /stories /builds /releases /bugs /testcases /testtasks
    /tasks /-/tasks /users
"""
NOT_IN_THE_MENU = ["/configurations", "/configurations/language", "/modules?type=bug&id=1", "/options/bug", "/ping",
                   "/tokens"]  # of no list
NOT_LINKED = {  # the shape of a path without a page that leads to it, and the path
    "/configurations/0": "/configurations/language", "/product/0": "/product/1", "/modules": "/modules?type=bug&id=1",
    "/configurations": "/configurations", "/departments": "/departments", "/groups": "/groups", "/ping": "/ping",
    "/options/bug": "/options/bug", "/tokens": "/tokens", "/user": "/user",
}  # shape: path
ABOVE = [  # a page, and its links to what it belongs to
    ("/bugs/1",       "/products/1 /products/1/bugs"),       ("/tasks/1",         "/executions/2 /executions/2/tasks"),
    ("/executions/2", "/projects/1 /projects/1/executions"),
    ("/products/1/bugs", "/products /products/1 /products/1/bugs"),
    ("/testtasks/1",  "/products/1 /testtasks"),             ("/programs/6",      "/programs"),
]
TABS_AND_MORE_OF_BUGS = """
    all unclosed active resolved closed
    assigntome resolvedbyme closedbyme assignedbyme unconfirmed assigntonull postponedbugs overduebugs needconfirm
    longlifebugs openedthisweek resolvedthisweek
"""
PAGES_WITH_TITLES = dict.fromkeys(["/", "/-/journal", "/-/tasks", "/-/in", "/tasks", "/products", "/departments",
                                   "/groups"], 200)
FOLKS = ["admin", "tomas", "marta", "emma", "diego", "priya"]
NASTY = """<script>alert(1)</script>"'><img src=x onerror=alert(1)>'><b x='&amp; {{1}} % end</style><svg/onload=1>"""
SHOWN_ON_PAGES = {"/": 200, "/products": 200, "/products/1": 200, "/products/1/bugs": 200, "/bugs/1": 200,
                  "/users/dev1": 200, "/bugs?status=%s": 400, "/%s": 404}
# fmt: on


class TestPage:
    # Which requests get a page

    def test_browsers_get_pages(self, filled):
        for accept in (CHROME, FIREFOX, SAFARI, "application/xhtml+xml"):
            for path in ("/", "/products/1/"):
                browse(filled, path, Accept=accept)
            browse(filled, "/nothing", Accept=accept, status=404)

    def test_first_page_that_a_thread_answers_may_be_a_refusal(self, filled):
        with ThreadPoolExecutor(1) as fresh:
            fresh.submit(browse, filled, "/nothing", status=404).result()

    def test_programs_get_json_and_so_does_who_asks_for_what_is_for_them(self, filled):
        for accept in NO_BROWSERS:
            assert filled.get("/programs/6")["id"] == 6
            sent = dict(Accept=accept, Token=None, Cookie="pmservice80=t")
            answer = filled.call("GET", "/products", **sent)  # a cookie is for pages alone
            assert answer.status_int == 401
        for path in FOR_PROGRAMS.split():
            answer = filled.call("GET", path, Accept=CHROME, Token=None)
            assert answer.status_int in (200, 401, 404)

    @each("accept", [None, "", "*/*", "application/json, text/plain, */*", "text/plain"])
    @each("token", [None, "t", "wrong"])
    def test_root_says_what_this_is_and_whether_it_is_ready(self, client, accept, token):
        shown = dict(name="pmservice", version=pmservice.__version__, ready=True)
        for path in ("/", "/api.php/v1/"):
            answer = client.call("GET", path, Accept=accept, Token=token)
            assert answer.json == dict(shown, document="http://localhost:80/openapi.json")
            assert client.call("HEAD", path, Accept=accept, Token=token).status_int == 200
        client.service.loading = True
        assert client.call("GET", "/", Token=token).json == dict(answer.json, ready=False)
        client.service.loading = False
        assert client.get("/-/journal")["total"] == 0

    def test_html_is_enough_to_get_a_page_at_the_root_alone(self, client):
        for accept in ("text/html", "text/html,*/*;q=0.8"):
            page = client.app.get("/", headers={"Accept": accept}, status=401)
            assert page.content_type == "text/html"
            assert client.call("GET", "/products", Accept=accept, Token=None).status_int == 401
            assert client.call("GET", "/", Accept=accept, Token="t").json["name"] == "pmservice"

    def test_icon_is_answered_and_in_no_journal(self, client):
        for accept in ("image/avif,image/webp,*/*", CHROME):
            answer = client.app.get("/favicon.ico", headers={"Accept": accept}, status=204)
            assert answer.body == b""
        assert client.get("/-/journal")["total"] == 0

    def test_token_header_and_other_methods_get_json(self, filled):
        elsewhere = {"Sec_Fetch_Site": "cross-site", "Origin": "http://localhost:3000"}
        assert filled.call("GET", "/products", Accept=CHROME, **elsewhere).json["total"] == 2
        for method, token in (("GET", ""), ("POST", None)):
            answer = filled.call(method, "/products", Accept=CHROME, Token=token)
            assert answer.status_int == 401

    def test_head_gets_the_headers_alone(self, client):
        answer = client.app.head("/", headers=as_browser(), status=200)
        assert answer.body == b""
        assert answer.content_type == "text/html"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "same-origin"

    # Logging in

    def test_form_takes_a_password_or_a_token_and_sets_a_cookie(self, client):
        load_user(client, "dev1", realname="Dan Dev", password=SECRET)
        for fields in [{}, dict(account="dev1"), dict(account="dev1", password="Secret")]:
            answer = enter(client, 400, **fields)
            assert "Set-Cookie" not in answer.headers
            page = Read(answer.text)
            assert "Login failed." in page.text
            assert values(page, "input", "value") == ["/", fields.get("account", ""), None]
        password, token = hashlib.md5(b"secret").hexdigest(), client.token_of("dev1")
        for entered in ("secret", password, token):
            answer = enter(client, account="dev1", password=entered)
            cookie, rules = answer.headers["Set-Cookie"].split("; ", 1)
            assert rules == "Path=/; HttpOnly; SameSite=Strict"
            page = browse(client, "/user", None, Cookie=cookie)
            assert "Dan Dev" in page.text
            assert cookie.partition("=")[2] not in page.text
        for fields in [dict(account="t"), dict(account="x", password="t"), dict(password="t")]:
            answer = enter(client, **fields)
            assert answer.headers["Set-Cookie"].startswith("pmservice80=t;")
        assert token not in browse(client, "/ping", token).text
        client.put("/users/dev1", password="another")
        browse(client, "/user", token, 401)

    def test_cookie_is_that_of_this_port_whatever_stands_beside_it(self, client):
        for cookie in COOKIES:
            browse(client, "/user", None, Cookie=cookie.format("t"))
        for cookie in OTHER_COOKIES:
            browse(client, "/user", None, 401, Cookie=cookie.format("t"))

    def test_token_of_any_characters_that_a_header_can_carry_logs_in(self):
        with opened(token='a;"b= é') as client:
            answer = enter(client, password='a;"b= é')
            browse(client, "/user", None, Cookie=answer.headers["Set-Cookie"].partition("; ")[0])

    def test_form_leads_to_the_page_that_was_asked_for_and_to_no_other_site(self, client):
        for path in ("/bugs?status=active&page=2", "/%C3%A9?x=1"):
            page = browse(client, path, None, 401)
            assert values(page, "input", "value") == [path, "", None]
        for to, path in LED_TO.items():
            answer = enter(client, account="t", to=to)
            assert (answer.headers["Location"], answer.headers["Content-Length"]) == (path, "0")

    def test_cookie_is_secure_where_the_form_was(self, client):
        for origin, is_secure in (("https://localhost:80", True), ("http://localhost:80", False)):
            answer = client.app.post(
                "/-/in", {"account": "t"}, headers=as_browser(None, Origin=origin)
            )
            assert answer.headers["Set-Cookie"].endswith("; Secure") == is_secure
            client.app.reset()

    def test_log_out_ends_the_token(self, client):
        token = client.token_of("admin")
        client.app.post("/-/out", headers=as_browser(token), status=303)
        assert client.call("GET", "/user", Token=token).status_int == 401
        client.app.post("/-/out", headers=as_browser(None), status=303)  # it has ended already
        answer = client.app.post("/-/out", headers=as_browser("t"), status=303)
        assert answer.headers["Location"] == "/"
        assert answer.headers["Set-Cookie"].startswith("pmservice80=; Path=/; HttpOnly;")
        assert answer.headers["Set-Cookie"].endswith("; Max-Age=0")
        browse(client, "/user", "t")  # the operator's own token does not end

    def test_page_of_another_origin_cannot_log_anybody_in_or_out(self, client):
        for path in ("/-/in", "/-/out"):
            for origin in ("https://evil.example", "null"):
                headers = as_browser(Origin=origin)
                answer = client.app.post(path, {"account": "t"}, headers=headers, status=403)
                assert "Set-Cookie" not in answer.headers
            for site in ("same-site", "cross-site", "none"):  # such as another port of this machine
                headers = as_browser(Origin="http://localhost:3000", **{"Sec-Fetch-Site": site})
                client.app.post(path, {"account": "t"}, headers=headers, status=403)

    def test_people_of_the_demo_are_named_and_may_be_chosen(self):
        with opened(demo=True, password="pass") as client:
            page = browse(client, "/bugs", None, 401)
            chosen = links_with(page, "/-/in?account=")
            assert chosen == [f"/-/in?account={account}&to=%2Fbugs" for account in FOLKS]
            page = browse(client, chosen[2], None)
            assert values(page, "input", "name") == ["to", "account", "password"]
            assert values(page, "input", "value") == ["/bugs", "marta", None]
            enter(client, 400, account="marta")
            assert enter(client, account="marta", password="pass").headers["Location"] == "/"

    def test_click_logs_in_who_shares_a_password_that_this_start_made(self):
        with opened(demo=True, password="pass") as client:
            client.load(users=[dict(account="bob", password="secret of bob")])
            [(stored,)] = client.sql("SELECT password FROM user WHERE account = 'admin'")
            client.service.page.shared_password = stored
            page = browse(client, "/", None, 401)
            assert values(page, "button", "value") == [*FOLKS, None]
            for account in (*FOLKS, "bob", "hana"):
                enter(client, 303 if account in FOLKS else 400, account=account)
            for name in ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP"):
                proxied = as_browser(None, **{name: "192.0.2.1"})
                client.app.post("/-/in", {"account": "admin"}, headers=proxied, status=400)
            enter(client, 400, account="admin", password="wrong")
            client.put("/users/admin", password="a new one")
            enter(client, 400, account="admin")

    @each(("demo", "language", "accepted", "said"), [
        (True, "en", "zh-CN", "--language zh"), (True, "zh", "en", "--language en"),
        (True, "en", "de", ""), (True, "zh", "zh", ""), (False, "en", "zh", ""),
    ])  # fmt: skip
    def test_page_that_logs_in_says_how_to_get_the_demo_in_the_language_of_the_reader(
        self, demo, language, accepted, said
    ):
        with opened(demo=demo, language=language) as client:
            page = browse(client, "/", None, 401, Accept_Language=accepted)
            assert ("--language" in page.text) == bool(said)
            assert said in page.text
            assert "--language" not in browse(client, "/", Accept_Language=accepted).text

    def test_link_of_another_site_leads_to_the_page_that_gets_the_cookie(self, client):
        for site, times in (("cross-site", ["0"]), ("same-origin", []), ("none", [])):
            page = browse(client, "/", None, 401, **{"Sec-Fetch-Site": site})
            refreshes = [one["content"] for _, one in page.tags if "http-equiv" in one]
            assert refreshes == times

    # The contents of pages

    def test_links_lead_to_every_page_and_to_pages_alone(self, demo):
        seen = defaultdict(set, {("/openapi.json",): {"/openapi.json"}})
        waiting = ["/", *NOT_LINKED.values()]
        while waiting:
            path = waiting.pop()
            page = browse(demo, path)
            for link in page.links:
                pattern, _, query = re.sub("[0-9]+", "0", link).partition("?")
                links = seen[(pattern, *urllib.parse.parse_qs(query))]
                if link not in links and len(links) < 2:
                    links.add(link)
                    waiting.append(link)
        linked = {path for path, *_ in seen}
        unlinked = {re.sub("<.*>", "0", line.split()[1]) for line in GETS} - linked
        assert unlinked == NOT_LINKED.keys()

    def test_record_is_told_with_names_links_local_times_and_its_action_log(self, shanghai):
        shanghai.load(**FILLED)
        shanghai.post("/bugs/1/assign", assignedTo="qa1", comment="To you,\nQuinn")
        page = browse(shanghai, "/bugs/1")
        assert page.titles[0] == "B · Bug 1 · pmservice"
        holds(page.fields, Product="Shop", Deadline="2026-12-01")
        assert page.fields["Assigned to"] == "Quin Test Quin Test just now (2026-11-20 15:42)"
        empty = {"Resolved by", "Closed", "branch", "lines", "Deleted"}
        assert not empty & page.fields.keys()
        who, when = page.fields["Opened by"].split(maxsplit=1)
        now = "just now (2026-11-20 15:42)"
        assert page.log == [f"{who} opened {when}", f"admin assigned {now} To you,\nQuinn"]
        shanghai.put("/bugs/1", comment="Soon.")
        assert browse(shanghai, "/bugs/1").log[2] == f"admin commented {now} Soon."
        user = shanghai.get("/users/qa1")
        assert {f"/users/{user['id']}", "/products/1"} <= {*page.links}
        page = browse(shanghai, "/products/1")
        lists = {f"/products/1/{name}" for name in ("bugs", "stories", "releases")}
        assert lists <= {*page.links}

    @each("path", ["/bugs/1", "/products/1/bugs"])
    def test_page_shows_one_moment(self, statements, filed, path):
        filed.load(**FILLED)

        def rename(_, sql, *__):
            if "SELECT name FROM seen_product" in sql:
                filed.sql("UPDATE product SET name = 'renamed'")

        statements.before = rename
        page = browse(filed, path)
        assert filed.sql("SELECT DISTINCT name FROM product") == [("renamed",)]
        assert "Shop" in page.text
        assert "renamed" not in page.text

    # fmt: off
    TEXTS = [  # what a field has, and what its page shows
        ("<p>As a user<br />I want &lt;it&gt; &amp; 需求</p>\n<ul><li>ok</li></ul>",
         "As a user\nI want <it> & 需求\n\nok"),
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
        assert f"\n{shown}\n" in page.text
        assert page.titles[0] == f"{text[:80]} · Product 1 · pmservice"  # which is no rich text
        assert browse(filled, "/bugs/1").log[-1].endswith(f" {shown}")

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
        filled.load(users=[dict(account="outsider")])
        token = filled.token_of("outsider")
        filled.post("/bugs/2/assign", assignedTo="outsider")
        filled.sql("UPDATE bug SET project = 1, execution = 2 WHERE id = 2")
        for line in GETS:
            path = address_of(line, bugs=2, products=2, product=2)
            answer = filled.call("GET", path, Token=token)
            page = browse(filled, path, token, answer.status_int)
            assert not re.search("Covert|Hidden", page.text), path
        page = browse(filled)
        assert "Covert" in page.text
        page = browse(filled, "/", token)
        assert column_of(page, 0, "Bugs by product") == ["Till"]

    def test_refusals_are_pages_with_the_sentence_of_the_json(self, statements):
        def fail(_, sql, *__):
            if "FROM plan WHERE" in sql:
                raise ValueError

        with opened(load=FILLED) as client:
            statements.before = fail
            for path in (*REFUSED_PAGES, "/productplans"):
                refusal = client.call("GET", path)
                assert refusal.status_int >= 400
                page = browse(client, path, status=refusal.status_int)
                assert refusal.json["error"] in page.text
                assert links_with(page, "/")[-2:] == ["/", "/openapi.json"]  # a way to go on
                assert "In English" not in page.text
                page = browse(client, path, status=refusal.status_int, Accept_Language="zh-CN")
                assert refusal.json["error"] in page.text
                assert not page.titles[0].isascii()

    @each(("path", "chinese"), CHINESE_REFUSALS)
    def test_frequent_refusals_are_told_in_chinese_and_the_english_unfolds(
        self, filled, path, chinese
    ):
        english = filled.call("GET", path).json["error"]
        page = browse(filled, path, status="*", Accept_Language="zh")
        assert chinese in page.text
        opened = page.tags.index(("details", {}))
        assert english in page.text.partition("英文原文")[2]
        assert ("p", {"lang": "en"}) in page.tags[opened:]

    def test_sentence_that_would_take_long_to_translate_stays_english(self, filled):
        name = urllib.parse.quote(" must be  to  characters, not blank (got " * 120)
        page = browse(filled, f"/-/journal?{name}=x", status="*", Accept_Language="zh")
        assert "英文原文" not in page.text

    @each("path", ["/bugs/99", "/products/99/bugs", "/bugs?limit=x", "/nothing"])
    def test_page_of_a_refusal_leads_to_the_list_and_the_overview(self, filled, path):
        main = browse(filled, path, status="*").links[-3:]
        lists = {"/bugs/99": "/bugs", "/products/99/bugs": "/products", "/bugs?limit=x": "/bugs"}
        assert main[-2:] == ["/", "/openapi.json"]
        assert path not in lists or main[0] == lists[path]

    def test_list_is_paged_sorted_and_narrowed_by_links(self, client):
        titles = [f"Bug {n:02}" for n in range(60)]
        bugs = [dict(product=1, title=title) for title in titles]
        client.load(products=[dict(name="P")], bugs=bugs)
        client.sql("UPDATE bug SET status = 'closed' WHERE id > 40")
        page = browse(client, "/products/1/bugs?status=all")
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
            assert ("Next ›" in page.text) == (len(shown) == 50)
            assert ("‹ Previous" in page.text) == ("51" in said)
            orders = [one["aria-sort"] for _, one in page.tags if "aria-sort" in one]
            assert orders == ["ascending" if "asc" in part else "descending"]
            assert links_here(page) == ["/products", "/products/1/bugs"]
        for query, said in (("limit=0&page=2", "21–40 / 40"), ("limit=2&page=0", "1–2 / 40")):
            assert said in browse(client, f"/bugs?{query}").text

    def test_no_page_has_more_than_five_hundred_rows_of_a_list(self, client):
        plan = dict(product=1, title="T")
        client.load(plans=[plan], **bugs_of_one_product(510, plan=1))
        for limit, count in (("0100000", 500), ("0005", 5), ("", 50)):
            page = browse(client, f"/bugs?limit={limit}")
            assert len(column_of(page, 0)) == count
        plan = browse(client, "/productplans/1")
        assert len(column_of(plan, 0, "Bugs")) == 500
        assert "500 / 510" in plan.text
        assert "Show all" not in plan.text

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
        assert links_here(page) == ["/"]

    def test_words_of_titles_narrow_a_list(self, client):
        bugs = [dict(product=1, title=title) for title in ("Total is off", "The OFFER", "100%")]
        client.load(products=[dict(name="Shop")], bugs=bugs)
        for words, found in TITLES_FOUND.items():
            quoted = urllib.parse.quote(words)
            page = browse(client, f"/bugs?status=active&title={quoted}")
            assert column_of(page, 1) == found
            listed = client.get(f"/products/1/bugs?title={quoted}")
            assert [bug["title"] for bug in listed["bugs"]] == found
            assert listed["total"] == len(found)
            hidden = [one for tag, one in page.tags if tag == "input" and one["type"] == "hidden"]
            kept = {one["name"]: one["value"] for one in hidden}
            assert kept == {"status": "active", "limit": "50"}

    def test_links_lead_to_what_ids_and_accounts_stand_for(self, filled):
        for path, body, shown in LINKED:
            filled.put(path, **json.loads(body))
            assert shown.items() <= browse(filled, path).fields.items()
        filled.put("/releases/1", bugs="1,2", stories="1", leftBugs="2")
        page = browse(filled, "/releases/1")
        shown = {"Bugs fixed": ["B", "B"], "Stories done": ["S"], "Bugs left": ["B"]}
        for heading, titles in shown.items():
            assert column_of(page, 1, heading) == titles
            assert page.sections[heading][0][:3] == ["ID", "Title", "Status"]
        assert "History" not in page.sections

    def test_what_means_nothing_to_people_is_not_shown_and_what_is_unset_unfolds(self, filled):
        page = browse(filled, "/programs/6")
        assert not {"path", "grade", "order", "Path"} & page.fields.keys()
        assert "Budget" not in page.fields
        filled.sql("UPDATE task SET consumed = 0 WHERE id = 1")
        assert "Hours spent" not in browse(filled, "/tasks/1").fields
        (unset,) = [one for tag, one in page.tags if tag == "details"]
        assert "open" not in unset
        assert "Budget, " in page.text

    @each(("path", "above"), ABOVE)
    def test_page_says_what_it_belongs_to(self, filled, path, above):
        links = " ".join(browse(filled, path).links)
        assert re.search(f" /users /\\S+ {above} ", f"{links} ")  # after the navigation

    def test_states_are_tabs_and_what_else_a_list_shows_unfolds(self, filled):
        page = browse(filled, "/bugs?status=openedbyme&order=id_asc")
        states = TABS_AND_MORE_OF_BUGS.split()
        shown = states_linked(page)
        assert shown[: len(states)] == states
        assert {*shown[len(states) :]} == {"openedbyme"}  # the heads, which sort
        links = links_with(page, "status=")
        assert all("order=id_asc" in link for link in links[: len(states)])
        chosen = page.tags.index(("span", {"aria-current": "page"}))
        assert chosen < page.tags.index(("details", {}))  # it stands among the tabs

    def test_header_and_tabs_of_a_record_stay_on_its_lists(self, filled):
        inside = [line for line in GETS if re.match("GET /[a-z]+/<id>/[a-z]+$", line)]
        seen = 0
        for line in inside:
            path = address_of(line)
            above = path.rpartition("/")[0]
            record, page = browse(filled, above), browse(filled, path)
            if path not in record.links:  # of an alias
                continue
            seen += 1
            assert page.titles[0].endswith(record.titles[0])
            assert page.fields.keys() <= record.fields.keys()
            tabs = [link for link in record.links if link.startswith(f"{above}/") or link == above]
            assert [link for link in page.links if link in tabs][: len(tabs)] == tabs
            assert links_here(page)[1:] == [path]
            assert links_here(record)[1:] == [above]
        assert seen > 20
        # a project's id serves as an execution's
        assert browse(filled, "/executions/1/tasks").titles[0].startswith("Pr · Project 1")

    def test_menu_shows_where_every_page_is(self, filled):
        for line in GETS:
            path = NOT_LINKED.get("/modules") if "/modules" in line else address_of(line)
            (*_, here) = ["", *links_here(browse(filled, path))][:2]
            first = path.partition("?")[0].split("/")[1]
            others = {"product": "/products", "user": "/users", "departments": "/users",
                      "groups": "/users"}  # fmt: skip
            if first == "tasks":
                assert here == ("/tasks" if path == "/tasks" else "/-/tasks")
            elif path in NOT_IN_THE_MENU:
                assert here == ""
            else:
                assert here == others.get(first, f"/{first}")
        assert links_here(browse(filled, "/bugs/99", status=404)) == ["/bugs"]
        assert links_here(browse(filled, "/-/journal")) == ["/-/journal"]

    def test_empty_list_says_how_to_fill_it_and_a_search_that_nothing_matches(self, client):
        nothing, no_match = "There is nothing here yet.", "Nothing matches."
        for path in LISTS_OF_ALL.split():
            text = browse(client, path).text
            assert (nothing in text) == (path != "/users")
            creates = f"POST {path}" in {*INTERFACE}
            assert (f"POST {path} creates one." in text) == (creates and path != "/users")
        for query in ("title=x", "status=active", "status=all&title=x"):
            page = browse(client, f"/bugs?{query}")
            assert no_match in page.text
            assert nothing not in page.text
        client.load(**bugs_of_one_product(1, status="closed"))
        for path in ("/bugs", "/products/1/bugs"):  # which show the open ones
            page = browse(client, path)
            assert no_match in page.text
            shown_all = browse(client, page.links[-2])
            assert column_of(shown_all, 1) == ["B"]
        assert nothing in browse(client, "/products/1/plans").text
        assert nothing in browse(client, "/-/journal").text
        assert no_match in browse(client, "/-/journal?text=nowhere").text

    def test_bugs_open_on_those_that_are_open(self, filled):
        filled.post("/bugs/2/resolve", resolution="fixed")
        filled.post("/bugs/2/close")
        for query, ids in (("", ["1"]), ("?status=all", ["2", "1"]), ("?status=closed", ["2"])):
            assert column_of(browse(filled, f"/bugs{query}"), 0) == ids
        assert filled.get("/bugs")["total"] == 2
        assert "Open bugs" not in browse(filled, "/products/2").sections

    def test_deadline_that_has_passed_says_so_in_words(self, filled):
        for day, said in (("2026-11-19", "2026-11-19 · overdue"), ("2026-11-20", "2026-11-20")):
            filled.put("/bugs/1", deadline=day)
            assert browse(filled, "/bugs/1").fields["Deadline"] == said

    def test_active_bugs_of_a_product_are_told_among_the_open_ones(self, filled):
        filled.load(
            bugs=[
                dict(product=1, title="x", status=one) for one in ("active", "resolved", "closed")
            ]
        )
        assert browse(filled, "/products/1").fields["Active bugs"] == "2 of 3 open"
        assert browse(filled, "/products").sections[""][1][2] == "2"

    def test_case_that_was_not_run_and_the_hours_of_a_task_are_told(self, filled):
        filled.post("/testcases/1/results", steps=[{"result": "pass"}] * 2)
        assert column_of(browse(filled, "/testcases"), 2) == ["Not run", "Passed"]
        filled.post("/tasks/1/estimate", consumed=2, left=5, work="Wrote it", date="2026-11-20")
        heads, row = browse(filled, "/tasks/1").sections["Work log"]
        assert row[heads.index("Work") :] == ["Wrote it", "2", "5"]

    def test_releases_come_by_date_and_rare_states_unfold(self, filled):
        filled.load(releases=[dict(RELEASE, id=9, project=1, name="Old", date="2020-01-01")])
        page = browse(filled, "/releases")
        assert column_of(page, 0) == ["1", "9"]
        assert "Not discontinued" in page.text
        assert filled.get("/releases")["releases"][0]["name"] == "Old"  # the newest record
        shown = states_linked(browse(filled, "/-/tasks"))
        assert shown.index("pause") > shown.index("assignedtome")

    def test_release_says_whether_it_is_out(self, filled):
        for day, status, said in (
            ("2026-11-20", "normal", "Released"),
            ("2026-11-21", "normal", "Planned"),
            ("2026-11-19", "terminate", "Discontinued"),
        ):
            filled.put("/releases/1", date=day, status=status)
            assert browse(filled, "/releases/1").fields["Status"] == said
            (row,) = browse(filled, "/releases").sections[""][1:]
            assert said in row

    def test_progress_says_of_what(self, filled):
        filled.put("/executions/2", status="doing")
        filled.post("/tasks/1/start", consumed=1, left=3, realStarted="2026-11-20 10:00:00")
        fields = browse(filled, "/executions/2").fields
        assert fields["Progress"] == browse(filled, "/tasks/1").fields["Progress"]
        assert fields["Progress"] == "25 % of the hours"
        assert (fields["Hours spent"], fields["Hours left"]) == ("1", "3")
        filled.post("/productplans/1/linkstories", stories=[1, 2])
        filled.post("/stories/2/close", closedReason="done")
        for language, word, said in (
            ("en", "Progress", "1 of 2 stories closed"),
            ("zh", "进度", "已关闭 1 / 2 个需求"),
        ):
            page = browse(filled, "/productplans/1", Accept_Language=language)
            assert page.fields[word] == said
        assert browse(filled, "/productplans/2").fields["Progress"] == "–"
        assert browse(filled, "/products/1").fields["Progress"] == "50 % of the stories"

    @each(
        ("level", "said"), [(1, "1 · highest"), (2, "2 · high"), (3, "3 · medium"), (4, "4 · low")]
    )
    def test_severity_and_priority_have_words(self, filled, level, said):
        filled.put("/bugs/1", severity=level, pri=level)
        fields = browse(filled, "/bugs/1").fields
        assert (fields["Severity"], fields["Priority"]) == (said, said)
        (row,) = [row for row in browse(filled, "/bugs").sections[""] if row[0] == "1"]
        assert row.count(said) == 2

    def test_search_finds_an_id(self, filled):
        filled.load(
            bugs=[dict(product=1, title="Room 2"), dict(product=2, title="x", status="closed")]
        )
        for words in ("2", "%232"):
            page = browse(filled, f"/bugs?title={words}")
            assert column_of(page, 0, "Bug 2") == ["2"]
            assert [row[1] for row in page.sections[""][1:]] == (["Room 2"] if words == "2" else [])
            assert "Nothing matches." not in page.text
        assert column_of(browse(filled, "/bugs?title=4"), 0, "Bug 4") == ["4"]  # a closed one
        for words in ("99", "%23", "2x", "0", "-1", "9" * 19):
            assert "Nothing matches." in browse(filled, f"/bugs?title={words}").text
        filled.put("/products/2", acl="private")
        filled.load(users=[dict(account="outsider")])
        page = browse(filled, "/bugs?title=2", filled.token_of("outsider"))
        assert "Bug 2" not in page.sections
        for path in ("/stories", "/users", "/-/tasks", "/executions/2/tasks", "/departments"):
            browse(filled, f"{path}?title=1")

    @each(("ago", "said"), [
        (dict(seconds=0), "just now"),     (dict(seconds=89), "just now"),   (dict(seconds=91), "2 minutes ago"),
        (dict(minutes=89), "89 minutes ago"), (dict(minutes=90), "2 hours ago"), (dict(hours=35), "35 hours ago"),
        (dict(hours=36), "2 days ago"),    (dict(days=10), "10 days ago"),   (dict(days=12), "2 weeks ago"),
        (dict(days=44), "6 weeks ago"),    (dict(days=60), "2 months ago"),  (dict(days=800), "2 years ago"),
        (dict(days=-1), ""),
    ])  # fmt: skip
    def test_times_are_told_by_how_long_ago_they_were_beside_the_moment(self, filled, ago, said):
        moment = NOW - timedelta(**ago)
        told = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
        filled.sql("UPDATE bug SET openedDate = ? WHERE id = 1", told)
        page = browse(filled, "/bugs/1")
        minute = f"{moment:%Y-%m-%d %H:%M}"
        assert page.log[0].endswith(f"opened {said} ({minute})" if said else f"opened {minute}")
        assert ("time", {"title": minute}) in page.tags
        (row,) = [row for row in browse(filled, "/bugs").sections[""] if row[0] == "1"]
        assert row[-1] == minute[:10]  # which can be compared

    def test_details_that_repeat_others_are_left_out(self, filled):
        filled.sql("UPDATE bug SET openedDate = '2026-11-19T07:42:00Z', assignedDate = NULL")
        filled.put("/bugs/1", title="T")
        assert "Last edited by" in browse(filled, "/bugs/1").fields
        filled.sql("UPDATE bug SET openedDate = lastEditedDate WHERE id = 1")
        assert "Last edited by" not in browse(filled, "/bugs/1").fields
        story = filled.post("/products/1/stories", title="S", spec="x", category="feature", pri=1,
                            estimate=1, reviewer=["qa1"])  # fmt: skip
        path = f"/stories/{story['id']}"
        fields = browse(filled, path).fields
        assert "Reviewers" in fields
        assert "Not reviewed by" not in fields
        filled.sql("UPDATE story SET reviewedBy = 'qa1' WHERE id = ?", story["id"])
        assert "Reviewers" not in browse(filled, path).fields

    def test_page_of_a_person_has_their_work(self, filled):
        filled.post("/stories/1/assign", assignedTo="dev1")
        filled.load(bugs=[dict(product=1, title="Over", status="closed", assignedTo="dev1")],
                    testcases=[dict(product=1, title="Mine", openedBy="dev1")])  # fmt: skip
        page = browse(filled, "/users/dev1")
        work = {"Open tasks": TASK["name"], "Open stories": "S", "Test cases": "Mine"}
        for heading, name in work.items():
            assert column_of(page, 1, heading) == [name]
        assert column_of(page, 0, "Open bugs") == ["2", "1"]
        filled.put("/products/2", acl="private")
        filled.load(users=[dict(account="outsider")])
        page = browse(filled, "/users/dev1", filled.token_of("outsider"))
        assert column_of(page, 0, "Open bugs") == ["1"]
        assert {*browse(filled, "/user").sections} <= {"", "History", *work, "Open bugs"}
        assert "/users/4" in browse(filled, "/bugs/1").links  # from their name

    def test_lists_of_a_record_stand_below_it(self, filled):
        bugs = [dict(product=1, title=f"Bug {n:02}") for n in range(12)]
        filled.load(bugs=bugs)
        page = browse(filled, "/products/1")
        assert column_of(page, 1, "Open bugs")[:2] == ["Bug 11", "Bug 10"]
        assert len(column_of(page, 1, "Open bugs")) == 10
        assert links_with(page, "/products/1/bugs") == ["/products/1/bugs"] * 2
        filled.post("/productplans/1/linkbugs", bugs=[1])
        (heads, _) = browse(filled, "/productplans/1").sections["Bugs"]
        assert {"Title", "Status"} <= {*heads}
        assert "Product" not in heads  # it is the plan's
        page = browse(filled, "/testcases/1")
        assert page.sections["Steps"] == [["Step", "Expected"], ["a", ""], ["b", ""]]
        for account in ("dev1", "qa1"):
            filled.put(f"/users/{account}", dept=2)
        page = browse(filled, "/departments/2")
        assert sorted(column_of(page, 1, "Users")) == ["Dan Dev", "Quin Test"]

    @each("text", ["²", "9" * 20, "x,1,²", "0"])
    def test_what_is_no_id_is_shown_as_it_is(self, filled, text):
        filled.put("/bugs/1", linkBug=text, openedBuild=text)
        page = browse(filled, "/bugs/1")
        for word in text.split(","):
            assert word in page.fields.get("Related bugs", "0") or word == "1"

    @each("name", ["open", "404", "0", "CNY", "Plan", "all"])
    def test_name_that_is_also_a_word_or_a_default_stays_as_it_is(self, filled, name):
        filled.put("/products/1", name=name)
        for language in ("en", "zh"):
            page = browse(filled, "/products/1", Accept_Language=language)
            assert page.titles[0].partition(" · ")[0] == name
            (row,) = [row for row in browse(filled, "/products").sections[""] if row[0] == "1"]
            assert row[1] == name

    def test_stages_of_stories_are_no_states(self, filled):
        shown = states_linked(browse(filled, "/stories"))
        assert shown[:4] == ["all", "draft", "active", "closed"]
        assert shown[-4:] == ["wait", "planned", "projected", "released"]
        assert shown.index("assignedtome") < len(shown) - 4
        assert "wait" in states_linked(browse(filled, "/-/tasks"))

    @each(("task", "is_late"), [
        ("doing 2026-11-19", True), ("doing 2026-11-20", False), ("wait 2026-11-19",   True),
        ("pause 2026-11-19", True), ("done 2026-11-19",  False), ("closed 2026-11-19", False),
    ])  # fmt: skip
    def test_deadline_that_has_passed_stands_out(self, filled, task, is_late):
        filled.sql("UPDATE task SET status = ?, deadline = ? WHERE id = 1", *task.split())
        for path in ("/tasks/1", "/executions/2/tasks"):
            page = browse(filled, path)
            late = [one for _, one in page.tags if "late" in (one.get("class") or "").split()]
            assert bool(late) == is_late

    def test_tasks_have_a_page_of_all_and_one_of_those_of_the_reader(self, filled):
        filled.task(2, assignedTo="qa1")
        token = filled.token_of("dev1")
        for path, shown in (("/tasks", ["1"]), ("/-/tasks", ["2", "1"])):
            assert column_of(browse(filled, path, token), 0) == shown
        assert filled.call("GET", "/-/tasks").status_int == 404

    def test_task_of_a_project_leads_to_the_tasks_of_all(self, filled):
        task = filled.post("/executions/1/tasks", **TASK)
        page = browse(filled, f"/tasks/{task['id']}")
        links = [one.get("href") for _, one in page.tags]
        assert links.count("/-/tasks") == 2  # one of them in the menu

    def test_navigation_names_the_reader_and_has_calls_for_administrators(self, filled):
        for token, name, links in (
            ("t", "admin", ["/-/journal"]),
            (filled.token_of("dev1"), "Dan Dev", []),
        ):
            page = browse(filled, "/", token)
            assert links_with(page, "/-/journal") == links
            assert f"\n{name}\n" in page.text.replace(" ", " ")

    # Languages

    @each(("accepted", "setting", "language"), ACCEPTED)
    def test_language_is_the_browser_s_or_that_of_the_service(self, accepted, setting, language):
        with opened(language=setting, load=FILLED) as client:
            page = browse(client, "/bugs/1", Accept_Language=accepted)
            offered = client.get("/options/bug")["options"]
        assert ("html", {"lang": language}) in page.tags
        assert {"en": "Status", "zh": "状态"}[language] in page.fields
        words = {"en": ("Configuration", "Trunk"), "zh": ("配置相关", "主干")}[setting]
        assert (offered["type"]["config"], offered["build"]["trunk"]) == words

    def test_every_word_of_a_page_has_a_label_in_both_languages(self, client):
        child = dict(product=1, title="S", parent=1)
        client.load(**FILLED)
        client.load(results=[dict(case=1)], efforts=[dict(task=1)], stories=[child])
        english, chinese = set(), set()

        def look(path):
            english.update(words_on(client, path, "en"))
            chinese.update(words_on(client, path, "zh"))

        for path, status in {**PAGES_WITH_TITLES, "/nothing": 404}.items():
            page = browse(client, path, status=status, Accept_Language="zh")
            assert not page.titles[0].partition(" · ")[0].isascii(), path
        look("/")
        look("/-/journal")
        for line in {*GETS} - {"GET /modules"}:
            look(address_of(line))
        pages = {table: address_of(f"GET /{array}/<id>") for array, table in TABLES.items()}
        pages |= {"plan": "/productplans/1", "result": "/testcases/1/results"}
        for (table, field), words in WORDS_WITH_LABELS.items():
            for word in {*words.split()} - {"program", "project"}:
                client.sql(f"UPDATE {table} SET {field} = ?", word)
                look(pages[table])
        assert {word for word in english if word[0].islower()} == {*UNLABELLED.split()}
        same = {"ID", "Bug", "Scrum", *UNLABELLED.split()}
        assert {word for word in chinese if word.isascii()} == same

    # Framing

    def test_named_origins_may_frame_pages_which_then_get_a_cookie_that_says_so(self):
        with opened(frame="https://a.example,https://b.example") as client:
            answer = client.app.get("/", headers=as_browser(), status=200)
            policy = answer.headers["Content-Security-Policy"]
            assert policy.endswith("; frame-ancestors https://a.example https://b.example")
            cookie = enter(client, account="t").headers["Set-Cookie"]
            assert cookie.endswith("; Path=/; HttpOnly; SameSite=None; Secure; Partitioned")

    # Calls

    @pytest.fixture
    def watched(self):
        """Yield an app with controls and five calls, the last one refused by a fault."""
        with contextlib.closing(Controlled(load=FILLED)) as client:
            client.fail("GET /bugs/2", status=503)
            for request in ["GET /bugs/1", "GET /bgus", "GET /bugs/2", "GET /products"]:
                client.call(*request.split())
            client.post("/products?token=hush", name="Quiet", password="hush")
            yield client

    def test_calls_are_shown_with_what_was_sent_and_answered_and_the_clock(self, watched):
        page = browse(watched, "/-/journal")
        lines = [re.sub(r"^\S+ | [0-9.]+ ms", "", line) for line in page.calls]
        assert lines == CALLS_SHOWN
        for text in ('"name": "Quiet"', '"password": "***"', "token=***", "did you mean"):
            assert text in page.text
        assert "hush" not in page.text
        assert "Simulated fault GET /bugs/2, Status 503, times applied 1" in page.text
        for body, shown in CLOCKS_SHOWN:
            watched.put("/-/clock", **body)
            assert shown in browse(watched, "/-/journal").text

    @needs("curl", "sh")
    def test_line_of_a_call_sends_it_again(self):
        with pmservice.running(token="t") as served:
            served.post("/products?mode=x", {"name": 'It\'s "odd" $HOME'})
            served.call("`ID`", "/products")
            served.call("POST", "/products", b"@/etc/passwd")
            port = served.url.rpartition(":")[2]
            headers = as_browser(None, Cookie=f"pmservice{port}=t", Token=None)
            text = Read(served.call("GET", "/-/journal", headers=headers).text).text
            assert "curl -g -X '`ID`' http" in text
            assert "--data-raw @/etc/passwd" in text
            (line,) = re.findall(r"curl -g -X POST .*'{\n(?:.*\n)*?}'", text)
            subprocess.check_output(["sh", "-c", f"TOKEN=t; {line} -s"])
            names = [one["name"] for one in served.get("/products")["products"]]
        assert names == ['It\'s "odd" $HOME'] * 2

    def test_answer_of_a_call_stands_first(self, watched):
        text = browse(watched, "/-/journal").text
        assert 0 < text.index("\nResponse\n") < text.index("\nRequest body\n")
        watched.call("DELETE", "/-/faults")
        assert "There are no simulated faults." in browse(watched, "/-/journal").text

    def test_calls_are_found_by_words_and_loaded_again(self, watched):
        for query, count in CALLS_FOUND.items():
            page = browse(watched, f"/-/journal?{query}")
            assert len(page.calls) == count
        page = browse(watched, "/-/journal?every=2&text=quiet")
        refreshes = [one["content"] for tag, one in page.tags if "http-equiv" in one]
        assert refreshes == ["2"]
        for wrong in ("0.5", "3601"):
            page = browse(watched, f"/-/journal?every={wrong}", status=400)
            assert "every must be " in page.text

    def test_calls_are_for_administrators_and_need_the_controls(self, watched):
        page = browse(watched, "/-/journal/", watched.token_of("dev1"), 403)
        assert "Only an administrator may do this." in page.text
        with opened(control=False) as off:
            page = browse(off, "/-/journal", status=404)
            assert "start the service with --control" in page.text
            assert links_with(browse(off), "/-/journal") == []


# fmt: off
STAGES = dict(wait="Waiting", planned="Planned", projected="In a project", released="Released", closed="Closed")
OVERVIEW_CHANGES = {  # requests on every seventh record of an array, in turn; refused ones change nothing
    "bugs":     ["POST /bugs/%(id)s/close {}", "POST /bugs/%(id)s/active {}", "DELETE /bugs/%(id)s {}",
                 'POST /bugs/%(id)s/resolve {"resolution":"fixed"}', 'PUT /bugs/%(id)s {"product":1}'],
    "tasks":    ['POST /tasks/%(id)s/start {"left":3}', "POST /tasks/%(id)s/cancel {}", "DELETE /tasks/%(id)s {}"],
    "stories":  ['POST /stories/%(id)s/close {"closedReason":"done"}', "POST /stories/%(id)s/active {}",
                 'PUT /stories/%(id)s {"product":1}', 'PUT /releases/%(product)s {"stories":"%(id)s"}',
                 "DELETE /stories/%(id)s {}"],
    "releases": ['PUT /releases/%(id)s {"stories":""}', "DELETE /releases/%(id)s {}"],
}
SEEN = "acl = 'open' OR :admin"  # whether the reader is an administrator
FIGURES = {  # the rows of the overview's tables, read from the tables of the database
    "Bugs by product": f"""
        SELECT name, '', count(*) FILTER (WHERE bug.status = 'active') AS active,
            count(*) FILTER (WHERE bug.status = 'resolved'), count(*) FILTER (WHERE bug.status = 'closed'),
            count(bug.id)
        FROM product LEFT JOIN bug ON bug.product = product.id AND NOT bug.deleted
        WHERE {SEEN} GROUP BY product.id ORDER BY active DESC, product.id""",
    "Running executions": f"""
        SELECT project.name, '',
            count(*) FILTER (WHERE task.status = 'wait'), count(*) FILTER (WHERE task.status = 'doing'),
            count(*) FILTER (WHERE task.status = 'done'), count(*) FILTER (WHERE task.status = 'pause'),
            count(*) FILTER (WHERE task.status = 'closed'), count(*) FILTER (WHERE task.status = 'cancel'),
            round(sum(consumed), 1), round(sum(left), 1), end
        FROM project LEFT JOIN task ON task.execution = project.id AND NOT task.deleted
        WHERE project.status = 'doing' AND project.type IN ('sprint', 'stage')
            AND project.project IN (SELECT id FROM project WHERE {SEEN})
        GROUP BY project.id ORDER BY end, project.id""",
}
SEEN_BY_DATE = f"""
    SELECT date, name FROM release
    WHERE NOT deleted AND product IN (SELECT id FROM product WHERE {SEEN})
        AND project IN (SELECT id FROM project WHERE {SEEN} UNION SELECT 0)"""
SEEN_RELEASES = {
    "Next releases": f"{SEEN_BY_DATE} AND date > '2026-11-20' ORDER BY date, id LIMIT 6",
    "Latest releases": f"{SEEN_BY_DATE} AND date <= '2026-11-20' AND status = 'normal'"
                       " ORDER BY date DESC, id DESC LIMIT 6",
}
TILES = ["Active bugs", "Bugs opened this week", "Bugs resolved this week", "Products"]
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
    return [cell if isinstance(cell, str) else f"{cell:,}".removesuffix(".0") for cell in row]


@cache
def worked_company() -> sqlite3.Connection:
    """Return a database with the demo after changes on which the overview's figures depend."""
    client = Client(demo=True)
    for array, changes in OVERVIEW_CHANGES.items():
        for n, record in enumerate(client.dump()[array][::7]):
            method, path, body = (changes[n % len(changes)] % record).split()
            client.call(method, path, body.encode())
    return copy_of(client)


class TestOverview:
    """The figures of the overview, compared with the records."""

    # With few private products, a page subtracts their sums from those of all.
    @each(("zone", "shift", "private"), [("UTC", "+0 hours", 1), ("Asia/Shanghai", "+8 hours", 3)])
    @each("admin", [True, False])
    def test_figures_are_those_of_the_records_and_of_the_lists_that_they_lead_to(
        self, zone, shift, private, admin
    ):
        client = Client(timezone=zone)
        client.begin_with(worked_company())
        client.load(users=[dict(account="outsider")])
        client.sql("UPDATE product SET acl = iif(id <= ?, 'private', 'open')", private)
        client.sql(f"UPDATE project SET acl = 'private' WHERE id = ({A_BUSY_PROJECT})")
        if not admin:
            client.token = client.token_of("outsider")
        page = browse(client, "/", client.token)
        for heading, sql in FIGURES.items():
            _, *shown = page.sections[heading]
            assert shown
            rows = client.sql(sql, admin=admin)
            # states in which nothing is are left out
            kept = [cells for cells in zip(*rows, strict=True) if any(cells) or cells[0] == ""]
            assert shown == [shown_as(row) for row in zip(*kept, strict=True)]
        weeks = client.sql(BUG_WEEKS, admin=admin, shift=shift)
        bars = [title for title in page.titles if re.match("[0-9-]{10} ", title)]
        assert bars == ["{} Opened {}, Resolved {}".format(*week) for week in weeks]
        active = column_of(page, 2, "Bugs by product")
        _, opened, resolved = weeks[-1]
        tiles = (sum(map(int, active)), opened, resolved, len(active))
        assert [page.fields[name] for name in TILES] == shown_as(tiles)
        listed = client.get("/stories?status=all&limit=1000")
        stages = Counter(one["stage"] for one in listed["stories"])
        rows = [[label, "", str(stages[stage])] for stage, label in STAGES.items() if stages[stage]]
        assert page.sections["Stories by stage"] == rows
        assert not admin or stages.keys() == STAGES.keys()
        for heading, sql in SEEN_RELEASES.items():
            assert page.sections.get(heading, []) == [
                [*row] for row in client.sql(sql, admin=admin)
            ]
        client.call("DELETE", "/products/2", Token="t")
        page = browse(client, "/", client.token)
        assert len(page.figures) > (20 if admin else 15)
        for path, shown in page.figures.items():
            separator = "&" if "?" in path else "?"
            listed = client.get(f"{path}{separator}limit=1")
            assert shown == f"{listed['total']:,}", path
        client.close()

    def test_most_active_bugs_come_first_and_the_nearest_releases(self, client):
        ids = range(1, 15)
        bugs = [dict(product=id, title="B") for id in (*ids, *ids[8:])]
        releases = [dict(product=1, name=f"R{day}", date=f"2026-11-{day}") for day in range(10, 30)]
        client.load(products=[dict(name=f"P{id}") for id in ids], bugs=bugs, releases=releases)
        page = browse(client)
        names = column_of(page, 0, "Bugs by product")
        assert " ".join(names) == "P9 P10 P11 P12 P13 P14 P1 P2 P3 P4 P5 P6"
        assert [page.fields[name] for name in TILES] == ["20", "20", "0", "14"]
        assert "/bugs?status=resolvedthisweek" not in page.links  # there are none
        for heading, days in (
            ("Next releases", range(21, 27)),
            ("Latest releases", range(20, 14, -1)),
        ):
            assert page.sections[heading] == [[f"2026-11-{day}", f"R{day}"] for day in days]


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")  # None: Playwright's own
BROWSER = (
    "to run the browser's tests: pip install -e '.[browser]', and, unless there is a Chromium, "
)
BROWSER += "playwright install chromium"
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


PHONE_PATHS = """
    / /bugs /bugs/7 /tasks /executions /executions/16 /products/1 /stories/1 /testcases/1 /groups
    /-/tasks /-/journal /bugs/999 /-/in /products/1/bugs /users/10 /productplans/1 /releases/1 /bugs?title=none
"""
PLACES_SHOWN = {
    "/": "Overview", "/tasks": "My tasks", "/tasks/1": "Tasks", "/bugs/7": "Bugs", "/bugs/9999": "Bugs",
    "/products/1/bugs": "Products", "/users/3": "Users", "/departments/1": "Users",
    "/executions/16/tasks": "Executions",
    "/-/journal": "API calls",
}  # fmt: skip
# Returns the links that are lower than a finger needs.
LOW_LINKS = """() => [...document.querySelectorAll("a:not(.skip), summary, button")]
    .filter(one => one.offsetParent && one.getBoundingClientRect().height < 24)
    .map(one => one.innerText)"""
# Returns the tables, and the heads that sort them, that are wider than their place.
CUT_TABLES = """() => [...document.querySelectorAll(".box, thead tr")]
    .filter(box => box.scrollWidth > box.clientWidth).map(box => box.innerText)"""


@pytest.fixture(scope="class")
def browser():
    """Yield Chromium, for which http://app.example is this machine."""
    from playwright import sync_api

    mapped = "--host-resolver-rules=MAP app.example 127.0.0.1"
    arguments = ["--no-sandbox", "--disable-dev-shm-usage", mapped]
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=arguments, timeout=60_000
        )
        yield browser
        browser.close()


@pytest.fixture(scope="class")
def served():
    """Yield a running service with the records of the demo and the password "pass"."""
    with pmservice.running(password="pass", token="t", demo=True, clock=Clock()) as served:
        yield served


@only_if(importlib.util.find_spec("playwright"), BROWSER)
class TestBrowser:
    """The pages in Chromium, and pages that call the service."""

    @pytest.fixture
    def visit(self, browser, served):
        """Return a function that opens a page in a browser of its own.

        Unless a test says otherwise, the administrator has logged in. No page may have errors, run
        a script, or ask for anything but itself.
        """
        complaints = []

        def visit(path="/", log_in=True, url=served.url, **settings):
            context = browser.new_context(**settings)
            stack.callback(context.close)
            context.set_default_timeout(60_000)
            page = context.new_page()
            if log_in:
                cookie = {"name": f"pmservice{url.rpartition(':')[2]}", "value": "t", "url": url}
                context.add_cookies([cookie])
            for event in ("pageerror", "requestfailed", "console"):
                page.on(event, complain)
            page.on("request", note)
            assert page.goto(url + path).status == 200 or not log_in
            return page

        def complain(what):
            # of the pages of refusals, and of a log-in in a frame
            expected = "Failed to load resource|Blocked autofocusing"
            if not re.match(expected, getattr(what, "text", "")):
                complaints.append(what)

        def note(sent):
            is_drawing = sent.url.startswith("data:image/svg+xml,")
            if sent.resource_type != "document" and not is_drawing:
                complaints.append(sent)

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

    def test_people_log_in_with_a_password_and_out_again(self, visit, served):
        page = visit("/bugs?status=closed", log_in=False)
        page.get_by_label("Account").fill("marta")
        page.get_by_label("Password or token").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        assert "Login failed." in page.get_by_role("alert").inner_text()
        assert page.get_by_label("Account").input_value() == "marta"
        page.get_by_label("Password or token").fill("pass")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{served.url}/bugs?status=closed")
        assert page.get_by_role("navigation", name="Lists").get_by_text("Marta Nowak").count() == 1
        (cookie,) = page.context.cookies()
        holds(cookie, httpOnly=True, sameSite="Strict", secure=False, expires=-1)
        assert page.evaluate("document.cookie") == ""
        page.get_by_role("button", name="Log out").click()
        page.wait_for_url(f"{served.url}/")
        page.get_by_label("Account").wait_for()
        assert page.context.cookies() == []
        assert served.call("GET", "/user", headers={"Token": cookie["value"]}).status == 401

    def test_person_of_the_demo_is_chosen_with_a_click(self, visit):
        page = visit(log_in=False)
        page.get_by_role("link", name="Diego Ramos").click()
        page.get_by_label("Password or token").fill("pass")
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("heading", name="Overview").wait_for()

    def test_figure_leads_to_a_list_to_a_record_and_back(self, visit, served):
        page = visit()
        figure = page.get_by_role("row", name="Web Shop").get_by_role("link").nth(1)
        count = int(figure.inner_text())
        figure.click()
        assert page.get_by_role("row").count() == count + 1
        title = page.get_by_role("row").nth(1).get_by_role("link").first
        name = title.inner_text()
        title.click()
        assert page.get_by_role("heading", level=1).inner_text() == name
        page.get_by_role("navigation", name="Where this is").get_by_role("link").first.click()
        assert page.get_by_role("heading", level=1).inner_text() == "Web Shop"
        page.get_by_role("link", name="Overview").click()
        assert page.url == f"{served.url}/"

    def test_menu_of_a_phone_opens_without_a_script(self, visit):
        page = visit(viewport={"width": 360, "height": 700}, java_script_enabled=False)
        link = page.get_by_role("link", name="Test tasks")
        assert not link.is_visible()
        page.get_by_role("button", name="Menu").click()
        link.click()
        assert page.get_by_role("heading", level=1).inner_text() == "Test tasks"

    def test_close_of_the_menu_covers_no_link(self, visit):
        page = visit(viewport={"width": 360, "height": 700})
        page.get_by_role("button", name="Menu").click()
        close = page.get_by_role("button", name="Close").bounding_box()
        first = page.get_by_role("link", name="Overview").bounding_box()
        assert close["y"] + close["height"] <= first["y"]

    def test_tabs_of_a_record_stay_on_its_lists_and_look_unlike_filters(self, visit):
        page = visit("/products/1")
        tabs = page.get_by_role("navigation", name="Web Shop")
        names = tabs.get_by_role("link").all_inner_texts()
        for name in names:
            tabs.get_by_role("link", name=name, exact=True).click()
            assert page.get_by_role("heading", level=1).inner_text() == "Web Shop"
            assert tabs.get_by_role("link").all_inner_texts() == names
            assert tabs.locator("[aria-current]").all_inner_texts() == [name]
        tabs.get_by_role("link", name="Bugs").click()
        filters = page.get_by_role("navigation", name="Show")
        assert filters.locator("[aria-current]").all_inner_texts() == ["Open"]
        for style in ("borderTopStyle", "borderTopLeftRadius"):
            look = f"one => getComputedStyle(one).{style}"
            tab = tabs.get_by_role("link", name="Bugs").evaluate(look)
            assert tab != filters.get_by_role("link", name="All").evaluate(look)

    def test_menu_shows_where_one_is(self, visit, served):
        page = visit("/")
        menu = page.get_by_role("navigation", name="Lists")
        for path, name in PLACES_SHOWN.items():
            page.goto(served.url + path)
            assert menu.locator("[aria-current]").all_inner_texts() == [name], path

    def test_search_finds_an_id_and_nothing_says_what_to_do(self, visit):
        page = visit("/bugs")
        for words in ("57", "#57"):
            page.get_by_role("searchbox").fill(words)
            page.get_by_role("button", name="Search").click()
            page.get_by_role("heading", name="Bug 57").wait_for()
        page.get_by_role("searchbox").fill("no such thing")
        page.get_by_role("searchbox").press("Enter")
        page.get_by_text("Nothing matches.").wait_for()
        page.get_by_role("link", name="Show all").click()
        assert page.get_by_role("row").count() > 40
        assert page.get_by_role("searchbox").input_value() == ""

    def test_empty_list_says_how_to_fill_it(self, visit):
        with pmservice.running(token="t") as empty:
            page = visit("/bugs", url=empty.url)
            page.get_by_text("There is nothing here yet.").wait_for()
            page.get_by_text("POST /bugs creates one.").wait_for()

    def test_name_leads_to_a_page_of_the_work_of_that_person(self, visit):
        page = visit("/bugs")
        name = page.get_by_role("row", name="Active").get_by_role("link", name="Priya Nair").first
        name.click()
        for heading in ("Open tasks", "Open bugs", "Open stories"):
            table = page.get_by_role("region", name=heading)
            table.get_by_role("link").first.wait_for()
        page.get_by_role("region", name="Open bugs").get_by_role("link").first.click()
        facts = page.get_by_role("definition").filter(has_text="Priya Nair")
        assert facts.count() >= 1

    def test_page_of_a_refusal_has_a_way_back(self, visit, served):
        page = visit("/", locale="zh-CN")
        page.goto(f"{served.url}/bugs/9999")
        page.get_by_text("“Bug 9999”不存在").wait_for()
        english = page.get_by_text("There is no bug 9999.")
        assert not english.is_visible()
        page.get_by_text("英文原文").click()
        assert english.is_visible()
        page.get_by_role("main").get_by_role("link", name="Bug").click()
        assert page.url == f"{served.url}/bugs"

    def test_link_of_another_site_opens_the_page_for_who_has_logged_in(
        self, visit, served, calling
    ):
        page = visit()
        page.goto(f"http://app.example:{calling}/")
        page.set_content(f'<a href="{served.url}/bugs/7">bug</a>')
        page.get_by_role("link").click()
        page.get_by_role("heading", name="History").wait_for()

    def test_page_of_another_origin_cannot_use_the_cookie(self, visit, browser, served, calling):
        context = visit().context
        headers = """{headers: {"Accept": "application/xhtml+xml"}, credentials: "include"}"""
        for origin in (f"http://127.0.0.1:{calling}", f"http://app.example:{calling}"):
            page = context.new_page()
            page.goto(f"{origin}/")
            with pytest.raises(Exception, match="Failed to fetch"):
                page.evaluate(f"url => fetch(url, {headers})", f"{served.url}/bugs")
            page.set_content(f'<iframe src="{served.url}/bugs"></iframe>')
            page.frames[1].wait_for_url(re.compile("chrome-error:"))
        page.set_content(
            f'<form method="post" action="{served.url}/-/out"><button>x</button></form>'
        )
        page.get_by_role("button").click()
        page.get_by_text("may not call this service").wait_for()
        page.goto(f"{served.url}/bugs")
        assert page.get_by_role("heading", level=1).inner_text() == "Bugs"

    def test_frame_of_a_named_origin_has_a_log_in_of_its_own(self, visit, calling):
        origin = f"http://127.0.0.1:{calling}"
        with pmservice.running(password="pass", demo=True, frame=origin) as framed:
            page = visit("/", log_in=False, url=origin)
            page.set_content(f'<iframe src="{framed.url}/bugs" width="900" height="700"></iframe>')
            frame = page.frame_locator("iframe")
            frame.get_by_label("Account").fill("admin")
            frame.get_by_label("Password or token").fill("pass")
            frame.get_by_role("button", name="Log in").click()
            frame.get_by_role("heading", name="Bugs").wait_for()

    def test_keyboard_goes_through_the_links_and_the_focus_is_visible(self, visit):
        page = visit("/")
        for text in ("Skip to the content", "pmservice", "Overview", "My tasks", "Products"):
            page.keyboard.press("Tab")
            focus = page.locator(":focus")
            assert focus.inner_text() == text
            assert focus.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"

    @each(("scheme", "locale"), [("light", "en-US"), ("dark", "zh-CN")])
    def test_every_text_stands_out_from_what_is_behind_it(self, visit, served, scheme, locale):
        page = visit("/", color_scheme=scheme, locale=locale)
        for path in (
            *("/", "/bugs", "/bugs/7", "/executions/16", "/products/1/bugs", "/users/10"),
            *("/-/journal", "/bugs/999", "/-/in"),
        ):
            page.goto(served.url + path)
            for summary in page.get_by_role("group").all():
                summary.evaluate("one => one.open = true")
            texts = page.evaluate(CONTRASTS)
            assert len(texts) > (5 if path in ("/bugs/999", "/-/in") else 30)
            for text, contrast, is_light in texts:
                is_button = text in ("Log in", "登录") and contrast >= 4.5
                assert contrast >= 4.5, text
                assert is_light == (scheme == "light") or is_button, text

    def test_page_fits_a_phone(self, visit, served):
        served.post("/products", {"name": "x", "colour": "red"})
        phone = {"width": 360, "height": 700}
        page = visit("/", viewport=phone)
        assert page.title() == "Overview · pmservice"
        chart = page.get_by_role("img", name="Bugs per week").bounding_box()
        assert chart["width"] > 250
        assert chart["height"] > 150
        for path in PHONE_PATHS.split():
            page.goto(served.url + path)
            assert page.evaluate("document.documentElement.scrollWidth") == 360, path
            assert page.evaluate(CUT_TABLES) == [], path
            assert page.evaluate(LOW_LINKS) == [], path
            assert page.evaluate("getComputedStyle(document.body).fontSize") == "15px"

    @each("width", [700, 770, 1000, 1280])
    def test_list_fits_its_place(self, visit, served, width):
        page = visit("/", viewport={"width": width, "height": 700})
        for path in ("/bugs", "/stories", "/testcases", "/executions/16", "/users/10", "/tasks/33"):
            page.goto(served.url + path)
            assert page.evaluate(CUT_TABLES) == [], path

    def test_pages_of_this_machine_and_of_named_origins_alone_may_call(
        self, browser, served, calling
    ):
        def call(origin, url):
            """Let a page of an origin create a product; return what it reads of the answer."""
            with contextlib.closing(browser.new_context()) as context:
                page = context.new_page()
                page.goto(f"{origin}/")
                return page.evaluate("url => call(url)", url)

        told = call(f"http://127.0.0.1:{calling}", served.url)
        assert told == [201, "Made by a page", "?mode", True]
        origin = f"http://app.example:{calling}"
        with pytest.raises(Exception, match="Failed to fetch"):
            call(origin, served.url)
        with pmservice.running(password="pass", origin=origin) as named:
            assert call(origin, named.url)[0] == 201


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

    Return the statuses of all answers, and the head and the body of the first.
    """
    with client_of(url) as client:
        client.sock.sendall(sent.encode("latin-1"))
        with client.sock.makefile("rb") as answers:
            received = answers.read().decode()
    statuses = re.findall("HTTP/1.[01] ([0-9]+) ", received)
    head, _, body = received.partition("\r\n\r\n")
    return [int(status) for status in statuses], head, body


@pytest.fixture(scope="module")
def shared_url():
    """Yield the URL of a server that tests share."""
    with pmservice.running(token="t") as served:
        yield served.url


# fmt: off
LARGEST = '{"name": "x"}'.ljust(2**20 - 4)  # two empty lines follow
HTTP_REQUESTS = [  # the request line, headers, the status, and how the error begins
    ("GET /%70roducts HTTP/1.1",                  "Token: t",                       200, None),
    ("GET //products HTTP/1.1",                   "Token: t",                       404,
         "There is nothing at //products"),
    ("GET /products%2F HTTP/1.1",                 "Token: t",                       404,
         "There is nothing at /products%2F"),
    ("GET /tasks/%FF1 HTTP/1.1",                  "Token: t",                       404, "This path is not UTF-8."),
    ("GET /products HTTP/1.0",                    "Token: t",                       200, None),
    ("GET http://localhost/products HTTP/1.1",    "Token: t\r\nHost: localhost",    200, None),
    ("GET http://evil.example/products HTTP/1.1", "Token: t\r\nHost: localhost",    421, "The Host must be "),
    ("GET /products HTTP/1.1", "Token: t\r\nHost: localhost\r\nHost: evil.example", 421, "The Host must be "),
    ("GET /products HTTP/1.1", "Token: t\r\nHost: evil.example\r\nHost: localhost", 421, "The Host must be "),
    ("GET /products HTTP/1.1", "Token: t\r\nToken: t",                              401, "Unauthorized"),
    ("GET /products HTTP/1.1", "Token: t\xf6",                                      401, "Unauthorized"),
    ("GET /products HTTP/1.1", "Transfer-Encoding: gzip",                           400,
         "Not Implemented: Transfer-Encoding requested is not supported."),
    ("GET /products HTTP/1.1", "Content-Length: x",                                 400,
         "Bad Request: Content-Length is invalid."),
    ("POST /products HTTP/1.1", f"Token: t\r\nContent-Length: 1048576\r\n\r\n{LARGEST}", 201, None),
    ("POST /products HTTP/1.1", f"Content-Length: 1048577\r\n\r\n{'x' * 1048575}",  413,
         "The body must be at most 1048576 bytes long (got 1048577)."),
    ("GET /user HTTP/1.1", "Content-Length: 1073741823",                            413,
         "Request Entity Too Large: exceeds max_body of 67108865."),
    ("GET /user HTTP/1.1", "Content-Length: 67108865",                            413,
         "Request Entity Too Large: exceeds max_body of 67108865."),
    ("\x00", "",                                                                    400, "Bad Request: "),
    ("GET http://[::1 HTTP/1.1", "Host: localhost",                                 400,
         "Bad Request: Invalid IPv6 URL."),
    ("GET /user HTTP/1.1", f"X: {'x' * 262144}",                                    431,
         "Request Header Fields Too Large: exceeds max_header of 262144."),
    ("POST /products HTTP/1.1", f"Transfer-Encoding: chunked\r\n\r\n100001\r\n{'x' * 1048577}\r\n0", 413,
         "The body must be at most 1048576 bytes long (got 1048577)."),
]
# fmt: on


class TestOverASocket:
    @each(("line", "headers", "status", "words"), HTTP_REQUESTS)
    def test_request_is_read_strictly_as_it_was_sent(
        self, shared_url, line, headers, status, words
    ):
        sent = f"{line}\r\nConnection: close\r\n{headers}\r\n\r\n"
        statuses, head, body = answers_to(shared_url, sent)
        assert statuses == [status]
        error = json.loads(body).get("error")
        assert error == words or error.startswith(words)
        _, noted = ask_once(shared_url, "GET", "/-/journal", Token="t")
        call = noted["calls"][-1]
        holds(call, status=status, error=error)
        assert f"X-Request-Id: {call['id']}" in head

    def test_body_that_is_too_large_is_refused_to_a_client_that_still_sends(self, shared_url):
        with pytest.raises(urllib.error.HTTPError, match="413") as refused:
            urllib.request.urlopen(f"{shared_url}/products", b"x" * 5_000_000, timeout=60)
        with refused.value as answer:
            assert "1048576 bytes" in json.loads(answer.read())["error"]

    def test_head_sends_no_body(self, shared_url):
        for path in ("/products?limit=300", "/-/dump", "/tasks/99"):
            head = f"HEAD {path} HTTP/1.1\r\nToken: t\r\nConnection: close\r\n\r\n"
            statuses, head, body = answers_to(shared_url, head)
            assert statuses in ([200], [404])
            assert re.search("Content-Length: [1-9]", head)
            assert body == ""

    def test_eight_threads_create_and_move_at_once_and_nothing_is_lost(self, tmp_path):
        finished = dict(finishedDate="2026-02-09", currentConsumed=1, realStarted="2026-01-01")
        create = ("/executions/2/tasks", dict(TASK, assignedTo="new1"))
        requests = [create, ("/tasks/1/finish", finished)] * 8

        def work(_):
            with client_of(served.url) as connection:
                return [ask(connection, "POST", *request)[0] for request in requests]

        with pmservice.running(tmp_path / "pm.db", load=FILLED, token="t") as served:
            with ThreadPoolExecutor(8) as threads:
                assert list(threads.map(work, range(8))) == [[201, 200] * 8] * 8
            assert served.get("/executions/2/tasks")["total"] == 65
            assert served.get("/tasks/1")["consumed"] == 64


MUCH = bugs_of_one_product(200, steps="x" * 60_000)


@contextlib.contextmanager
def asking_for_much(url):
    """Yield a client to whom 12 MB are being sent by a server that has MUCH."""
    with client_of(url) as client:
        client.request("GET", "/products/1/bugs?limit=1000", headers={"Token": "t"})
        assert client.sock.recv(1, socket.MSG_PEEK)
        yield client


def await_stop(url):
    """Wait until a server that is being stopped takes no more connections."""
    with contextlib.suppress(ConnectionError):
        while True:
            with client_of(url):
                pass


class HeldUp:
    """A place where threads are held up until `go` is set; `begun` counts them.

    word: holds up those alone that run an SQL statement with this end.
    """

    def __init__(self, word: str = ""):
        self.word, self.statements = word, []
        self.begun, self.go = threading.Semaphore(0), threading.Event()

    def __call__(self, _: Any, sql: str = "", *values: Any) -> None:
        self.statements.append(sql)
        if sql.endswith(self.word):
            self.begun.release()
            self.go.wait(60)

    def await_one(self) -> None:
        """Wait for one more thread that is held up."""
        assert self.begun.acquire(timeout=60)


def readable(clients):
    """Return the sockets of these clients that have received something."""
    return select.select([client.sock for client in clients], [], [], 0)[0]


CHECKED = "SELECT count(*) FROM user"  # by GET /-/ready, in a worker
# fmt: off
QUICK_READS = [
    "/testcases/1", "/products/1", "/api.php/v1/testcases/1/", "/zentao/api.php/v1/products/1", "/user", "/-/live",
    "/products?limit=20", "/users", "/products/1/bugs", "/products/1/bugs?limit=100&page=100",
    "/products/1/bugs?status=overduebugs", "/products/1/bugs?status=unclosed", "/products/1/bugs?order=id_asc",
]
SLOW_READS = [  # lists that are long, far down or sorted; what is no record
    "/products/1/bugs?limit=101", "/products/1/bugs?limit=100&page=101", "/products/1/bugs?order=pri_desc",
    "/bugs?title=B", "/bugs?status=needConfirm", "/stories?status=planned", "/stories?status=reviewbyme",
    "/products", "/products?limit=", "/stories", "/-/ready", "/openapi.json", "//products/1",
]
SERVED = {
    **SHOP, "testcases": [dict(product=1, title="T")], "bugs": [dict(product=1, title="B")] * 100,
    "users": [dict(account="dev1", password=SECRET)],
}
# In memory, the receiving thread answers these, too.
SWIFT_CALLS = [
    *SLOW_READS, "/-/dump", "/-/clock", "/-/faults", ("/products", {"name": "Q"}), ("/-/load", {"users": []}),
    ("/-/snapshots/a", {}), ("/-/snapshots/a/restore", {}), ("/-/reset", {}),
]
LOGIN = dict(account="dev1", password="secret")
# fmt: on


class TestThreads:
    """Requests that are answered while others wait."""

    @pytest.fixture
    def serve(self, statements):
        """Return a function that serves SERVED, and gives the URL."""
        with contextlib.ExitStack() as self.stack:

            def serve(path: Any = ":memory:", **settings: Any) -> str:
                running = pmservice.running(path, load=SERVED, token="t", **settings)
                self.served = self.stack.enter_context(running)
                return self.served.url

            yield serve

    def send(self, path, body=None, **headers):
        """Send a request on a new connection, a POST if it has a body; return the connection."""
        client = self.stack.enter_context(client_of(self.served.url))
        method, sent = ("GET", None) if body is None else ("POST", json.dumps(body))
        client.request(method, path, sent, headers or {"Token": "t"})
        return client

    @staticmethod
    def statuses(clients):
        return {client.getresponse().status for client in clients}

    def test_quick_reads_are_answered_while_all_eight_workers_are_busy(
        self, statements, serve, tmp_path
    ):
        serve(tmp_path / "pm.db", control=False)
        statements.before = held = HeldUp(CHECKED)
        late = []
        for _ in range(8):
            late.append(self.send("/-/ready"))
            held.await_one()
        late.append(self.send("/products", {"name": "Q"}))
        late += [self.send(path) for path in SLOW_READS]
        for path in QUICK_READS:
            assert self.statuses([self.send(path)]) == {200}
        assert not readable(late)
        held.go.set()
        assert self.statuses(late) == {200, 201, 404}
        # A request that has waited for a worker waits less than five seconds for the lock.
        assert timeouts_in(held.statements) - {0, 5000}

    def test_in_memory_calls_that_wait_for_nothing_need_no_other_thread(self, serve):
        others = threads_of_servers()
        serve()
        for call in [*QUICK_READS, *SWIFT_CALLS]:
            path, body = (call, None) if isinstance(call, str) else call
            assert self.send(path, body).getresponse().status in (200, 201, 404), path
        assert threads_of_servers() == others

    @each(("match", "call"), [("GET /user", ["/user"]), ("POST /tokens", ["/tokens", LOGIN])])
    def test_delayed_call_keeps_nobody_waiting(self, serve, match, call):
        serve()
        self.served.fail(match, delay=60, times=1)
        late = self.send(*call)
        while self.served.faults()[0]["times"]:
            pass  # until the call is delayed
        assert self.statuses([self.send(*call)]) <= {200, 201}
        self.served.reset()
        assert self.statuses([late]) == {503}

    def test_fault_delays_calls_that_have_come_with_it(self, statements, serve):
        serve()
        statements.before = held = HeldUp("COMMIT")
        first = self.send("/users")
        held.await_one()
        statements.before = ignore
        fault = self.send("/-/faults", dict(match="GET /user", delay=60))
        late = self.send("/user")
        held.go.set()
        assert self.statuses([first, fault, self.send("/-/live")]) == {200}
        self.served.reset()
        assert self.statuses([late]) == {503}

    def test_head_of_a_journal_that_waits_keeps_nobody_waiting(self, serve):
        serve()
        late = self.stack.enter_context(client_of(self.served.url))
        late.request("HEAD", "/-/journal?count=9&wait=60", headers={"Token": "t"})
        assert self.statuses([self.send("/user")]) == {200}
        self.served.reset()
        assert self.statuses([late]) <= {200, 409}

    def test_requests_of_one_connection_are_answered_in_turn(self, statements, serve):
        url = serve()
        statements.before = held = HeldUp(CHECKED)
        sent = "GET /-/ready HTTP/1.1\r\n\r\nGET /-/live HTTP/1.1\r\n\r\n"
        sent += "PUT /-/live HTTP/1.1\r\nConnection: close\r\n\r\n"
        with ThreadPoolExecutor(1) as another:
            answers = another.submit(answers_to, url, sent)
            held.await_one()
            assert self.statuses([self.send("/products/1")]) == {200}
            held.go.set()
            assert answers.result(30)[0] == [200, 200, 405]

    def test_queue_on_one_connection_keeps_no_other_waiting(self, statements, serve):
        url = serve()
        with client_of(url) as many, client_of(url) as one:
            asked = itertools.count()

            def ask_meanwhile(*_):
                if next(asked) == 10:
                    one.sock.sendall(b"GET /user HTTP/1.1\r\nToken: t\r\n\r\n")

            statements.before = ask_meanwhile
            many.sock.sendall(b"GET /tasks/1 HTTP/1.1\r\nToken: t\r\n\r\n" * 500)
            assert one.sock.recv(12) == b"HTTP/1.1 200"
        paths = [call["path"] for call in self.served.calls()]
        assert paths.index("/user") < 400

    def test_one_password_is_checked_at_a_time_and_nobody_else_waits(self, hashing, serve):
        serve(control=False)
        hashing.before = held = HeldUp()
        logins = [self.send("/tokens", dict(LOGIN, password="wrong")) for _ in range(10)]
        guesses = [self.send("/-/in", LOGIN, Accept=CHROME) for _ in range(5)]
        held.await_one()
        assert self.statuses([self.send("/products", {"name": "Q"})]) == {201}
        assert self.statuses([self.send("/user", Accept=CHROME)]) == {401}  # the page that logs in
        assert not held.begun.acquire(blocking=False)
        held.go.set()
        assert self.statuses(logins) == {400}
        assert self.statuses(guesses) == {303}

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

    def test_stop_waits_for_readers_but_leaves_no_thread_to_others(self, tmp_path):
        def read_late():
            await_stop(served.url)
            return json.loads(clients[0].getresponse().read())

        others = threads_of_servers()
        with contextlib.ExitStack() as stack, ThreadPoolExecutor(1) as another:
            with pmservice.running(tmp_path / "pm.db", load=MUCH, token="t") as served:
                clients = [stack.enter_context(asking_for_much(served.url)) for _ in range(3)]
                own = threads_of_servers() - others
                late = another.submit(read_late)
            assert len(late.result(30)["bugs"]) == 200
            assert own
            assert have_ended(own)


@SIGNALS
class TestStopping:
    """Signals to a serving process."""

    @each(("number", "received"), [(signal.SIGTERM, 13), (signal.SIGINT, 13), (signal.SIGTERM, 5)])
    def test_signal_ends_it_with_0_after_what_has_begun(self, tmp_path, number, received):
        head, body = b"Token: t\r\nContent-Length: 13\r\n\r\n", b'{"name": "P"}'
        with Live(tmp_path, "--token", "t") as live, client_of(live.url) as client:
            with another_program(tmp_path / "pm.db") as other:
                other.execute("BEGIN IMMEDIATE")  # for which a whole request waits
                client.sock.sendall(b"POST /products HTTP/1.1\r\n" + head + body[:received])
                live.call("GET", "/user")  # it has read what was sent before
                live.process.send_signal(number)
                with pytest.raises(subprocess.TimeoutExpired):
                    live.process.wait(0.3)
            client.sock.sendall(body[received:])
            assert client.sock.recv(12) == b"HTTP/1.1 201"
            assert live.process.wait(30) == 0
        with opened(tmp_path / "pm.db") as again:
            assert again.get("/products")["total"] == 1

    def test_clients_that_have_connected_are_answered(self, live):
        live.process.send_signal(signal.SIGSTOP)
        with contextlib.ExitStack() as sockets:
            waiting = [sockets.enter_context(client_of(live.url)) for _ in range(5)]
            for client in waiting:
                client.request("GET", "/products", headers={"Token": "t"})
            live.process.send_signal(signal.SIGTERM)
            live.process.send_signal(signal.SIGCONT)
            for client in waiting:
                assert client.getresponse().status == 200
        assert live.process.wait(30) == 0

    def test_second_signal_ends_it_at_once(self, tmp_path):
        (tmp_path / "f.json").write_text(json.dumps(MUCH))
        with (
            Live(tmp_path, "--token", "t", "--load", "f.json") as live,
            asking_for_much(live.url) as client,
        ):
            live.process.send_signal(signal.SIGTERM)
            await_stop(live.url)
            live.process.send_signal(signal.SIGTERM)
            assert live.process.wait(30) == -signal.SIGTERM
            with pytest.raises((ConnectionError, http.client.IncompleteRead)):
                client.getresponse().read()


class TestTheSystem:
    """The differences between Linux, macOS and Windows."""

    @only_if(POSIX, "Windows cannot tell whether a pipe is full")
    def test_lines_of_the_log_that_nobody_reads_are_dropped(self, tmp_path):
        with Live(tmp_path, "--token", "t", "--verbose") as live:
            for _ in range(100):
                assert live.call("GET", f"/{'x' * 4000}")[0] == 404
        assert 5 < live.told.count(" GET /xxx") < 100

    def test_connections_sync_each_commit_check_links_and_keep_the_log(self, statements, filed):
        filed.load(products=[dict(name="P")])
        filed.cannot_load(bugs=[dict(product=9, title="B")])  # checks no links before its end
        wanted = dict(synchronous=2, foreign_keys=1, journal_mode="wal", fullfsync=1)
        wanted["journal_size_limit"] = 4194304

        found = []

        def look(connection, *_):
            run = connection.cursor().execute
            found.append({name: run(f"PRAGMA {name}").fetchone()[0] for name in wanted})

        statements.before = look
        filed.product()
        assert found[0] == wanted

    def test_sqlite_that_is_too_old_is_refused(self, run, monkeypatch):
        monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
        code, _, told = run("--database", "pm.db", "--port", "0")
        assert code == 2
        assert re.fullmatch("pmservice: SQLite must be 3.37.0 or newer .*\n", told)
        assert os.listdir() == []

    def test_neither_poll_nor_limits_nor_pytest_are_needed(self):
        script = """if True:
            import select, sys
            vars(select).pop("poll", None)
            sys.modules["resource"] = None
            import pmservice
            with pmservice.running() as served:
                served.get("/products")
            assert not {"pytest", "_pytest"} & {*sys.modules}
        """
        subprocess.run([sys.executable, "-c", script], cwd=HERE, check=True, timeout=60)


# --- 17 Demo --------------------------------------------------------------------------------------


WORKERS = ("marta", "diego", "tomas", "priya", "emma", "admin")
CHINESE = re.compile("[\u3000-\u9fff\uff00-\uffef]")

# fmt: off
IN_DEMO = """
    departments 5; users 12; programs 3; projects 5; executions 12; products 4; plans 9; stories 25; builds 17;
    releases 12; bugs 70; tasks 40; testcases 19; testtasks 8; efforts 32; results 21
"""  # arrays, and how many records each has
AT_LEAST = {"product": "stories 5; bugs 15; testcases 4; plans 2; builds 3; releases 2", "execution": "tasks 2"}
TITLED = "products projects executions plans stories tasks testcases builds releases testtasks bugs"
SAID = "name title desc spec steps realname team versions work stepResults"  # to people
MOMENTS = [  # a Saturday, early on a Monday, a leap day, the end and the beginning of a year, when clocks change
    "2026-11-21T10:00:00", "2026-11-23T00:00:05", "2028-02-29T23:59:59", "2026-12-31T17:30:00",
    "2027-01-01T08:00:00", "2026-11-01T01:30:00",
]
ENDS_OF_WEEKS = [  # a Monday's morning, the middle of a week, a Friday's evening, a Sunday, a New Year's Day
    "2026-11-23T09:10:00Z", "2026-11-25T12:00:00Z", "2026-11-20T18:30:00Z", "2026-11-22T12:00:00Z",
    "2027-01-01T08:00:00Z",
]
NAMED_IN_DEMO = """
    bugs openedBuild builds; bugs execution executions; bugs case testcases; tasks execution executions;
    tasks story stories; testcases story stories; builds execution executions; releases build builds
"""  # an array, a field, and the array of the records that it names
# fmt: on


def titles_of(document: Any, array: str) -> list[str]:
    return [record.get("title") or record["name"] for record in document[array]]


class TestDemo:
    """The made-up company of the demo, around any day."""

    def test_it_has_these_records_and_keeps_every_rule(self, demo, client):
        assert problems(demo) == []
        dumped = demo.dump()
        there = {f"{array} {len(records)}" for array, records in dumped.items()}
        assert {*phrases(IN_DEMO)} <= there
        client.load(**dumped)
        assert client.dump() == dumped

    def test_it_is_told_in_either_language_and_otherwise_the_same(self, demo):
        english = demo.dump()
        with opened(demo=True, language="zh") as client:
            chinese = client.dump()
        assert not CHINESE.search(json.dumps(english, ensure_ascii=False))
        for array in TITLED.split():
            assert all(CHINESE.search(title) for title in titles_of(chinese, array)), array
        for array, records in english.items():
            for one, other in zip(records, chinese[array], strict=True):
                differing = {field for field in one if one[field] != other[field]}
                assert differing <= {*SAID.split(), "password"}, array
                for field in {"desc", "spec", "steps"} & differing:
                    assert CHINESE.search(json.dumps(other[field], ensure_ascii=False))

    @each("moment", MOMENTS)
    def test_it_is_alive_and_the_same_at_any_moment(self, demo, moment):
        from zoneinfo import ZoneInfo

        place = "America/New_York"
        now = datetime.fromisoformat(moment).replace(tzinfo=ZoneInfo(place))
        with opened(demo=True, clock=lambda: now, timezone=place) as client:
            assert problems(client) == []
            there, document = demo.dump(), client.dump()
            for array in TITLED.split():
                assert titles_of(document, array) == titles_of(there, array)
            for word in ("openedthisweek", "resolvedthisweek"):
                assert client.get(f"/bugs?status={word}")["total"] > 0
            self.check_hours(client, now)
        today = str(now.date())
        assert sum(one["end"] > today for one in self.doing(document, "executions")) >= 4
        assert sum(one["deadline"] < today for one in self.doing(document, "tasks")) >= 3

    def doing(self, document, array):
        return [one for one in document[array] if one["status"] == "doing"]

    def check_hours(self, client, now):
        """Check that all was done on workdays from 9 to 18 o'clock, or in today's last hour."""
        told = client.sql("SELECT date FROM action ORDER BY id")
        moments = [datetime.fromisoformat(iso.replace("Z", "+00:00")) for (iso,) in told]
        assert moments == sorted(moments)
        assert moments[-1] <= now
        for moment in moments:
            there = moment.astimezone(now.tzinfo)
            is_new = there.date() == now.date() and now - moment <= timedelta(hours=1)
            in_hours = 9 <= there.hour + there.minute / 60 <= 18
            assert is_new or (there.weekday() < 5 and in_hours)

    def test_every_state_resolution_and_type_occurs(self, demo):
        dumped = demo.dump()
        for array in ("executions", "stories", "bugs", "tasks"):
            states = {one["status"] for one in dumped[array]}
            assert states == {*WORDS[TABLES[array], "status"].split()}
        listed = demo.get("/stories?status=all&limit=1000")
        assert {one["stage"] for one in listed["stories"]} == {*STAGES}
        bugs = dumped["bugs"]
        assert {bug["resolution"] for bug in bugs} == {"", *WORDS["bug", "resolution"].split()}
        assert {bug["type"] for bug in bugs} == {*WORDS["bug", "type"].split()} - {"install"}

    def test_people_have_work(self, demo):
        for account in WORKERS:
            demo.token = demo.token_of(account)
            bugs = demo.get("/bugs?status=assigntome&limit=1000")
            assert "active" in {bug["status"] for bug in bugs["bugs"]}
            tasks = demo.get("/tasks?limit=1000")
            assert {"wait", "doing"} & {task["status"] for task in tasks["tasks"]}

    def test_command_serves_it_from_memory_and_people_can_log_in(self, tmp_path):
        with Live(tmp_path, "--demo") as live:
            told = live.hear("token  ")
            (password,) = re.findall(r"password +(\S+)\n", told)
            (token,) = re.findall(r"token +(\S+)\n", told)
            assert live.call("POST", "/-/reset", Token=token)[0] == 200
            for account in WORKERS:
                login = {"account": account, "password": password}
                assert live.call("POST", "/tokens", login)[0] == 201
        assert "serves :memory:" in told
        assert list(tmp_path.iterdir()) == []

    def test_file_that_is_named_gets_it_once(self, tmp_path):
        for title in ("Search finds products despite a typo", "Changed"):
            with Live(tmp_path, "--token", "t", DEMO="yes", DATABASE="x.db") as live:
                assert live.call("GET", "/stories/1")[1]["title"] == title
                live.call("PUT", "/stories/1", {"title": "Changed"})
        told = r"\d\d:\d\d:\d\d x\.db holds records already: nothing was loaded into it\n"
        assert re.search(told, live.told)

    def test_other_commands_do_not_know_it(self, run, monkeypatch):
        monkeypatch.setenv("PMSERVICE_DEMO", "yes")
        assert run("user", "dev1")[0] == 0
        assert Path("pm.db").exists()

    def test_only_its_people_get_the_administrator_s_password(self, serve):
        own = SECRET.replace(":", ":16384:8:1:", 1)
        passwords = dict(admin=SECRET, marta=None, tomas=own, hana=None)
        users = [dict(account="emma", email="emma@other.example")]
        for account, password in passwords.items():
            email = f"{account}@kestrel.example"
            users.append(dict(account=account, password=password, email=email))
        Client("pm.db", load=dict(users=users, products=[dict(name="P")])).close()
        told = "You can log in as marta (marta) with the password of admin.\n"
        for is_first in (True, False):
            shown = serve("--demo", "--database", "pm.db", "--token", "t")[1]
            assert (told in shown) == ("can log in" in shown) == is_first
        with opened("pm.db") as client:
            there = dict(client.sql("SELECT account, password FROM user"))
        assert there == {**passwords, "marta": SECRET, "emma": None}

    @each("language", ["en", "zh"])
    @each("moment", ENDS_OF_WEEKS)
    def test_work_is_spread_like_that_of_people(self, moment, language):
        with opened(demo=True, language=language, now=moment) as client:
            dumped = client.dump()
        now = datetime.fromisoformat(moment.replace("Z", "+00:00"))
        tomorrow = now.replace(hour=0, minute=0) + timedelta(1)
        monday = tomorrow - timedelta(now.weekday() + 1)
        found, resolved, meeting = Counter(), Counter(), 0
        for bug in dumped["bugs"]:
            told = [bug[f"{word}Date"] for word in ("opened", "resolved", "closed")]
            moments = [datetime.fromisoformat(iso.replace("Z", "+00:00")) for iso in told if iso]
            assert moments == sorted(moments)
            meeting += len({moment.minute for moment in moments}) < len(moments)
            found[(moments[0] - monday).days // 7] += 1
            resolved[(moments[1] - monday).days // 7 if len(moments) > 1 else None] += 1
        weeks = [found[week] for week in range(-25, 0)]
        assert 1 <= min(weeks) <= max(weeks) <= 6
        assert max(abs(one - other) for one, other in itertools.pairwise(weeks)) <= 2
        assert sum(weeks[-4:]) > sum(weeks[-8:-4]) >= sum(weeks[:8]) / 2
        assert 2 <= found[0] <= 6
        assert max(resolved[week] for week in range(-25, 1)) <= 6
        assert meeting <= 0.05 * len(dumped["bugs"])
        today = str(now.date())
        states = Counter((one["status"], one["date"] > today) for one in dumped["releases"])
        assert states == {("normal", True): 4, ("normal", False): 4, ("terminate", False): 4}

    def test_lists_have_sizes_that_people_have(self, demo):
        dumped = demo.dump()
        for owner, phrase in AT_LEAST.items():
            for words in phrases(phrase):
                array, number = words.split()
                sizes = Counter(record[owner] for record in dumped[array])
                ids = [record["id"] for record in dumped[f"{owner}s"]]
                assert min(sizes[id] for id in ids) >= int(number), words

    def test_nothing_names_what_comes_later(self, demo):
        dumped = demo.dump()
        begun = {
            (array, one["id"]): one.get("openedDate") or one["date"]
            for array in (
                "bugs",
                "tasks",
                "stories",
                "testcases",
                "executions",
                "builds",
                "releases",
            )
            for one in dumped[array]
        }
        for words in phrases(NAMED_IN_DEMO):
            array, column, named = words.split()
            links = [(one["id"], int(one[column] or 0)) for one in dumped[array]]
            assert any(other for _, other in links), words
            for id, other in links:
                assert not other or begun[named, other] <= begun[array, id], (words, id)
        bugs = {bug["id"]: bug for bug in dumped["bugs"]}
        for build in dumped["builds"]:
            for id in build["bugs"]:
                assert bugs[id]["resolvedDate"][:10] <= build["date"]
        (twice,) = [bug for bug in bugs.values() if bug["resolution"] == "duplicate"]
        assert "was locked" in bugs[twice["duplicateBug"]]["title"]
        ended: set[int] = set()
        logged = "SELECT objectID, action, date FROM action WHERE objectType = 'bug' ORDER BY id"
        for id, action, moment in demo.sql(logged):
            if action == "edited":
                assert id not in ended
                assert moment > bugs[id]["openedDate"]
            elif action == "activated":
                ended.remove(id)
            else:
                ended.add(id)

    def test_it_tells_half_a_year(self, demo):
        ((first,),) = demo.sql("SELECT min(date) FROM action")
        assert 150 < (NOW - datetime.fromisoformat(first.replace("Z", "+00:00"))).days < 200


# --- 18 Application: in a test of one's own -------------------------------------------------------


# fmt: off
WRONG_SETTINGS = [
    (dict(token=5), "token must not be empty"), (dict(password=b"x"), "password must not be empty"),
    (dict(allowed_host="http://a"), "allowed_host must be a name without a port"),
    (dict(clock="x"), "clock must be a function that returns the time with its zone"),
    (dict(clock=lambda: 1), "clock must be"), (dict(clock=datetime.now), "clock must be"),
    (dict(control=2), "control must be yes or no (got 2)"),
    (dict(timezone=5), "time zone 5: not known here"), (dict(load=5), "load must be a file or a dict (got 5)"),
    (dict(now="today"), "now must be a moment, such as 2026"),
]
# fmt: on


class TestRunning:
    """Services that Python programs start, and their settings."""

    def test_running_serves_on_a_free_port_until_the_context_ends(self):
        with pmservice.running() as served:
            assert served.get("/products")["total"] == 0
            assert isinstance(served.app, pmservice.Service)
            assert repr(served) == f"<pmservice at {served.url}>"
        with pytest.raises(ConnectionError, match=f"^GET {served.url}/products: "):
            served.get("/products")

    @each("end", ["pass", "raise KeyboardInterrupt", "sys.exit(3)"])
    def test_script_that_never_leaves_it_ends(self, tmp_path, end):
        script = tmp_path / "script.py"
        script.write_text(
            "import contextlib, sys, pmservice\n"
            "stack = contextlib.ExitStack()\n"
            "served = stack.enter_context(pmservice.running())\n"
            f"served.get('/products')\n{end}\n"
        )
        ran = subprocess.run([sys.executable, script], timeout=60, capture_output=True)
        assert ran.returncode == {"pass": 0, "sys.exit(3)": 3}.get(end, ran.returncode)

    def test_nothing_needs_a_temporary_file(self, monkeypatch):
        with pmservice.running(
            load=dict(products=[dict(name="P", desc="x" * 60_000)] * 40)
        ) as served:
            monkeypatch.setattr(tempfile, "tempdir", "/nowhere/at/all")
            dumped = served.dump()
            assert len(json.dumps(dumped)) > 2 * 1024 * 1024
            assert served.load(dict(products=dumped["products"][:0], bugs=[])) == 0
            long = dict(products=[dict(name="Q", desc="x" * 60_000)] * 20)
            assert served.load(long) == 20

    def test_services_of_one_process_stay_apart(self):
        with (
            pmservice.running(now="2026-01-05T09:00:00Z") as one,
            pmservice.running(load=WORLD) as two,
        ):
            one.fail("GET /products", status=503)
            assert one.post("/products", {"name": "P"})["createdDate"] == "2026-01-05T09:00:00Z"
            assert one.call("GET", "/user", headers={"Token": two.token}).status == 401
            one.reset()
            assert two.get("/products")["total"] == 2
            assert [call["path"] for call in two.calls()] == ["/products"]

    def test_running_that_cannot_start_leaves_nothing(self, tmp_path):
        others = {*threading.enumerate()}
        with pytest.raises(pmservice.StartError), pmservice.running(tmp_path):
            pass
        assert not {*threading.enumerate()} - others

    @each(("settings", "sentence"), WRONG_SETTINGS)
    def test_wrong_value_of_a_setting_is_one_sentence(self, settings, sentence):
        with pytest.raises(pmservice.StartError, match=f"^{re.escape(sentence)}"):
            pmservice.create_app(**settings)


# fmt: off
REFUSED_HELPERS = [
    (lambda one: one.wait_for_calls(1, seconds=0), "GET /-/journal* was answered 409: expected 1 call, 0 came."),
    (lambda one: one.wait_for_calls(3, 0.01, method="POST", path="/x"),
     "GET /-/journal* 409: expected 3 calls of POST /x, 0 came."),
    (lambda one: one.get("/prodcts"),
     "GET /prodcts was answered 404: There is nothing at /prodcts; did you mean /products[?]"),
    (lambda one: pmservice.Client(one.url, "x").get("/user"),
     "GET /user was answered 401: Unauthorized. This token is unknown or has expired. *"),
    (lambda one: one.fail("*", statu=503),
     "POST /-/faults was answered 400: statu is not known here; known: match, status, *"),
]
STRANGE_ANSWERS = [  # status, body, what the error says
    (502, "<html>" + "x" * 400, "<html>" + "x" * 294 + "…"), (502, {"error": None}, '{"error":null}'), (502, "", ""),
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
        start = served.dump()
        served.post("/products", {"name": "Süß"})
        served.snapshot("a.b-1")
        served.put("/products/3", {"name": "Other"})
        assert served.delete("/products/3") == {"message": "success"}
        served.restore("a.b-1")
        assert served.get("/products/3?x=ß")["name"] == "Süß"
        served.remove_snapshot("a.b-1")
        assert served.get("/-/snapshots") == {"snapshots": []}
        served.freeze(NOW)
        served.reset(only_records=True)
        assert served.dump() == start
        assert served.get("/-/clock")["frozen"]
        file = tmp_path / "one.json"
        file.write_text('{"products": [{"name": "C"}]}')
        assert served.load(file) == 1
        assert served.load({"products": [{"name": "A"}, {"name": "B"}]}) == 2
        served.reset()
        assert not served.get("/-/clock")["frozen"]

    def test_refused_call_has_the_status_and_the_json_of_its_answer(self, served):
        with pytest.raises(pmservice.CallError) as refused:
            served.post("/products", {"name": ""})
        error = refused.value
        assert (error.status, error.answer.status) == (400, 400)
        assert error.json == error.answer.json
        assert [*error.json["fields"]] == ["name"]
        served.fail("GET /user", status=502, body="<html>")
        with pytest.raises(pmservice.CallError) as refused:
            served.get("/user")
        assert (refused.value.status, refused.value.json) == (502, None)

    def test_freeze_advance_and_shift(self, served):
        east = timezone(timedelta(hours=8))
        for moment in (datetime(2026, 1, 6, 9, 0, 0, 5, east), "2026-01-06T01:00:00Z"):
            served.freeze(moment)
            assert served.get("/-/clock")["now"] == "2026-01-06T01:00:00Z"
        served.advance(90)
        served.advance(-30.0)
        assert served.get("/-/clock")["now"] == "2026-01-06T01:01:00Z"
        served.shift(-3600.5)
        assert served.get("/-/clock")["offset"] == -3600.5

    def test_faults_and_calls(self, served):
        served.fail("GET /programs", status=503, headers={"Retry-After": 1}, times=1)
        sent = {"X-Mine": "1", "Content-Type": None, "Token": None}
        answer = served.call("GET", "/programs", headers=sent)
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert answer.json == {"error": "This is the fault 503 that was asked for."}
        (fault,) = served.faults()
        assert (fault["times"], fault["hits"]) == (0, 1)
        (call,) = served.wait_for_calls(1, path="/programs")
        assert call["headers"]["X-Mine"] == "1"
        assert not {"Content-Type", "Token"} & call["headers"].keys()
        served.get("/products")
        (call,) = served.calls(method="get", path="/prod*")
        assert call["path"] == "/products"
        served.clear_faults()
        served.clear_calls()
        assert served.faults() == served.calls() == []

    def test_module_lists_its_public_names_alone(self):
        assert dir(pmservice) == sorted(pmservice.__all__)
        assert not hasattr(pmservice, "pytest_plugins")
        for name in dir(pmservice):
            assert getattr(pmservice, name).__doc__

    def test_helper_that_is_refused_says_why_and_shows_the_answer_of_something_else(self):
        with pmservice.running() as served:
            for call, message in REFUSED_HELPERS:
                with pytest.raises(pmservice.CallError) as refused:
                    call(served)
                assert fnmatch.fnmatchcase(str(refused.value), message), message
                assert refused.value.answer.status >= 400
            for status, body, words in STRANGE_ANSWERS:
                served.fail("GET /products", status=status, body=body, times=1)
                with pytest.raises(pmservice.CallError) as refused:
                    served.get("/products")
                assert str(refused.value) == f"GET /products was answered {status}: {words}"


# fmt: off
FIXTURES = "the mark pmservice is for the fixtures pmservice and pmservice_app; "
WRONG_MARKS = [
    ('load="sed.json"', "pmservice", "pmservice cannot start: */sed.json: No such file or directory"),
    ('load="bad.json"', "pmservice_app", "pmservice cannot start: */bad.json: products[[]0[]].name is required *"),
    ('lod="seed.json"', "pmservice", "pmservice cannot start: lod is not a setting; did you mean load[?]"),
    ('"seed.json"', "pmservice", "pmservice cannot start: name the settings: *"),
    ('token="t"', "pmservice_shared", f"{FIXTURES}pmservice_shared has .load() and .freeze()"),
    ('token="t"', "monkeypatch", f"{FIXTURES}this test uses neither"),
]
MARKED = """
    import pytest, webtest

    @pytest.mark.parametrize("run", [1, 2])
    def test_a_product_is_listed(pmservice, run):
        assert pmservice.post("/products", {"name": "Shop"})["id"] == 1

    @pytest.mark.pmservice(load="seed.json", now="2026-01-05T09:00:00Z")
    class TestSeeded:
        def test_service(self, pmservice):
            assert pmservice.get("/products")["products"][0]["name"] == "Seeded"
            made = pmservice.post("/products", {"name": "Shop"})
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

    def test_deep(pmservice):
        pmservice.fail("GET /products", body="[" * 8000)
        assert pmservice.call("GET", "/products").status == 503

    def test_without_a_call(pmservice):
        assert not pmservice

    def test_fault_without_a_call(pmservice, pmservice_shared):
        pmservice.fail("GET /users", status=503)
        pmservice_shared.fail("GET /users", status=503)
        pmservice_shared.clear_faults()
        assert not pmservice

    def test_application(pmservice_app):
        app = webtest.TestApp(pmservice_app)
        app.get("/programs", headers={"Token": pmservice_app.token})
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
LISTED = """\
AT GET /products 200 MS admin
    answer  {"total":0,"products":[[]]}
"""
REPORTED = [  # heading and lines of each section, with AT for the time and MS for the duration
    ("1 call", """\
AT GET /api.php/v1/user/?x=1 200 MS admin
    answer  {"profile":*…
    ignored ?x"""),
    ("4 calls", """\
AT GET /products 500 MS -
    answer  {"error":"This is the fault 500 that was asked for."}
    fault   GET /products
AT GET /user 401 MS -
    error   Unauthorized
    hint    No token was sent. Send one in the header `Token`. POST /tokens *
AT POST /products 400 MS admin
    body    {\\x1b[[]31m\\n'name': 'Shop', 'token***
    error   The body must be JSON, but line 1, column 2 is wrong.
AT POST /products 400 MS admin
    body    {"name":""}
    error   name must be 1 to 255 characters, not blank (got "").
No call met the fault PUT /products/[*]"""),
    ("1 call", """\
AT POST /products 201 MS admin
    body    {"name":"P","progam":1}
    answer  {"id":1,"program":0,*…
    ignored progam"""),
    ("26 calls", f"""\
… 6 earlier calls
{LISTED * 19}AT POST /programs 400 MS admin
    error   name is required *"""),
    ("1 call", """\
AT GET /products 200 MS -
    answer  [[][[][[]*"""),
    ("0 calls", "No call met the fault GET /users"),
    ("1 call", """\
AT GET /programs 200 MS admin
    answer  {*}"""),
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

    @pytest.mark.pmservice(now="2026-01-05T09:00:00Z")
    def test_other_mark(pmservice, request):
        assert loaded(pmservice) == request.config.rootpath.name

    @pytest.mark.pmservice(load="seed.json")
    class TestMarked:
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

    class TestMore:
        pytestmark = pytest.mark.pmservice(token="mine")

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

    def test_fixtures_serve_as_the_marks_of_a_test_say(self, pytester):
        pytester.makefile(".json", seed='{"products": [{"name": "Seeded", "acl": "open"}]}')
        pytester.makepyfile(MARKED)
        options = ("--strict-markers", "-W", "ignore::DeprecationWarning")
        pytester.runpytest_inprocess(*options).assert_outcomes(passed=4)

    def test_example_of_the_readme_passes(self, pytester):
        pytester.makepyfile(code_of("Test", "python")[0])
        pytester.runpytest_inprocess("-W", "error").assert_outcomes(passed=1)

    def test_report_of_a_failed_test_shows_the_calls_that_were_answered(self, pytester):
        pytester.makepyfile(FAILING)
        outcome = pytester.runpytest_inprocess("-W", "ignore::DeprecationWarning")
        outcome.assert_outcomes(passed=1, failed=6)
        text = re.sub(r"\d\d:\d\d:\d\d\.\d{3} ", "AT ", outcome.stdout.str())
        text = re.sub(r"\d+\.\d ms", "MS", text)
        head = r"^-+ pmservice(?: at http://127.0.0.1:\d+)?: (\d+ calls?) -+\n"
        sections = re.findall(rf"{head}(.*?)\n(?=[-_=]{{5}})", text, re.MULTILINE | re.DOTALL)
        for (heading, shown), (wanted, pattern) in zip(sections, REPORTED, strict=True):
            assert heading == wanted
            assert fnmatch.fnmatchcase(shown, pattern)
        refused = "E *CallError: POST /programs was answered 400: name is required and *"
        patterns = ["E *assert 400 == 201", 'E *<400 {"error":"name must *', refused]
        outcome.stdout.fnmatch_lines(patterns)
        assert "def succeed" not in text

    @each("workers", [(), ("-n1",)])
    def test_file_of_junit_has_the_calls_of_a_failed_test(self, pytester, workers):
        pytester.makepyfile(NOTED_BY_JUNIT)
        outcome = pytester.runpytest_subprocess("--junitxml=junit.xml", *workers)
        outcome.assert_outcomes(passed=2, failed=1, errors=2)
        shown = {}
        for test in ElementTree.parse(pytester.path / "junit.xml").iter("testcase"):
            for noted in test.iter("property"):
                shown[test.get("name")] = noted.get("value")
                assert noted.get("name") == "pmservice"
        assert sorted(shown) == ["test_in_its_body", "test_in_its_setup", "test_in_its_teardown"]
        for name, text in shown.items():
            heading = r"pmservice at http://127.0.0.1:\d+: [12] calls?"
            assert re.match(rf"{heading}\n.*GET /programs\?of={name}", text)

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

    def test_run_that_does_not_use_it_does_not_import_it(self, pytester):
        pytester.makepyfile("""
            import sys

            def test_alone():
                assert not {"pmservice", "bottle", "waitress"} & {*sys.modules}
        """)
        outcome = pytester.runpytest_subprocess()
        outcome.assert_outcomes(passed=1)
        fixtures = pytester.runpytest_subprocess("--fixtures")
        fixtures.stdout.fnmatch_lines(["pmservice -- *", "*Serve a fresh service in memory*"])

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
        pytester.runpytest_inprocess("-W", "error").assert_outcomes(passed=2)

    def test_mark_of_a_module_is_for_those_tests_that_use_the_fixture(self, pytester):
        pytester.makepyfile(MARKED_MODULE)
        pytester.runpytest_inprocess("-W", "error").assert_outcomes(passed=4)

    def test_wrong_mark_is_one_sentence(self, pytester):
        pytester.makefile(".json", bad='{"products": [{}]}')
        source = "import pytest\n"
        for n, (mark, fixture, _) in enumerate(WRONG_MARKS):
            source += f"@pytest.mark.pmservice({mark})\ndef test_{n}({fixture}): pass\n"
        pytester.makepyfile(source)
        outcome = pytester.runpytest_inprocess()
        outcome.assert_outcomes(errors=len(WRONG_MARKS))
        outcome.stdout.fnmatch_lines([sentence for *_, sentence in WRONG_MARKS])
        assert "Traceback" not in outcome.stdout.str()
        assert "During handling" not in outcome.stdout.str()


# --- 19 Pull: the records of a running server -----------------------------------------------------


class TestUsersOfAFixture:
    """Users of a fixture keep their ids, whatever ids those of the database have."""

    # fmt: off
    IDS_KEPT = [  # the ids of accounts in the fixture, and afterwards
        (dict(zoe=1, yan=2),             dict(zoe=1, yan=2, admin=3)),
        (dict(admin=7, zoe=1),           dict(zoe=1, admin=7)),
        (dict(admin=2, zoe=1, new=None), dict(zoe=1, admin=2, new=3)),
        (dict(admin=9),                  dict(admin=9, zoe=10)),
        (dict(zoe=5),                    dict(admin=1, zoe=5)),
    ]
    # fmt: on

    @each(("users", "kept"), IDS_KEPT)
    def test_ids_are_kept_and_a_dump_loads_as_it_is(self, client, users, kept):
        client.token = client.token_of("admin")
        client.sql("UPDATE user SET password = ?", SECRET)
        records = [dict(account=account, id=id) for account, id in users.items()]
        named = dict(id=1, name="P", createdBy="zoe", PO="admin", whitelist=["zoe", "admin"])
        client.load(users=records, products=[dict(named, acl="private")])
        dumped = client.dump()
        there = [(one["account"], one["id"]) for one in dumped["users"]]
        assert there == [*kept.items()]
        assert client.get("/user")["profile"]["id"] == kept["admin"]
        holds(client.get("/products/1"), **named)
        passwords = client.sql("SELECT account FROM user WHERE password = ?", SECRET)
        assert passwords == [("admin",)]
        client.begin_with(database_of(""))
        client.load(**dumped)
        assert lines(client.dump()) == lines(dumped)

    # fmt: off
    REFUSED_USERS = [
        ('[{"id": 1, "account": "zoe"}, {"account": ""}]',             "users[1].account "),
        ('[{"id": 2, "account": "zoe"}, {"id": 2, "account": "yan"}]', "users[1].id is taken"),
        ('[{"account": "zoe"}, {"id": 2, "account": "yan"}]',          "users[1].id is taken"),
        ('[{"account": "admin", "dept": 9}]', "users[0].dept must name an existing department"),
    ]
    # fmt: on

    @each(("users", "told"), REFUSED_USERS)
    def test_fixture_that_is_refused_leaves_the_users_as_they_were(self, client, users, told):
        assert told in client.cannot_load(users=json.loads(users))


@pytest.fixture
def pull(run, monkeypatch):
    """Return a function that pulls from a URL with the given secrets, which must not be shown."""

    def pull(url, *arguments, **secrets):
        for name, secret in secrets.items():
            monkeypatch.setenv(f"PMSERVICE_PULL_{name}", secret)
        code, out, told = run("pull", url, *arguments)
        assert not [secret for secret in secrets.values() if secret in out + told]
        return code, out, told

    return pull


@pytest.fixture
def kept(run):
    """Return a function that loads what a pull wrote, checks it, and returns it."""

    def kept(text):
        Path("copy.json").write_text(text)
        assert run("load", "copy.json", "--database", "copy.db")[0] == 0
        assert run("check", "--database", "copy.db")[0] == 0
        assert run("dump", "--database", "copy.db")[1] == text
        return json.loads(text)

    return kept


class OtherHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.server.asked.append(f"{self.command} {self.path}")
        answer = self.server.answer(self)
        if isinstance(answer, dict):
            answer = 200, {}, json.dumps(answer).encode()
        if isinstance(answer, tuple):
            status, headers, body = answer
            told = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            head = f"HTTP/1.1 {status} Said\r\n{told}Content-Length: {len(body)}\r\n\r\n"
            answer = head.encode() + body
        self.close_connection = not answer.startswith(b"HTTP/") or answer.endswith(b"cut")
        self.wfile.write(answer)

    do_POST = do_GET
    log_message = ignore


@contextlib.contextmanager
def other_server(answer):
    """Serve what a function answers: an object, status, headers and body, or plain bytes."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), OtherHandler) as server:
        server.answer, server.asked = answer, []
        server.handle_error = ignore  # the client may be gone
        server.url = f"http://127.0.0.1:{server.server_port}"
        with ThreadPoolExecutor(1) as thread:
            thread.submit(server.serve_forever, 0.002)
            try:
                yield server
            finally:
                server.shutdown()


def showing(**answers):
    """Return a server's answers by path, with "_" for "/"; others are empty."""

    def answer(request):
        path = request.path.partition("?")[0].removeprefix("/api.php/v1/")
        return answers.get(path.replace("/", "_"), {"token": "given-token"})

    return other_server(answer)


def recorded_server(version):
    """Serve what a real server answered to two accounts."""
    lines = {}
    with gzip.open(HERE / ".ci" / "pull" / f"{version}.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in map(json.loads, file):
            lines[line["account"], ordered(line["path"]), line.get("cookie")] = line

    def answer(request):
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
            source.put("/testtasks/1", {"build": "trunk"})
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
    RECORDED = [  # a version, an account, the records by array
        ("18.10", "admin", "3 9 3 11 9 10 8 22 5 5 20 23 11 3 19 6"),
        ("18.10", "gus",   "3 9 2 8 6 7 6 20 3 4 18 20 9 2 17 6"),
        ("16.5",  "admin", "3 9 4 10 9 9 7 22 6 5 19 23 11 3 18 6"),
        ("16.5",  "gus",   "3 9 4 7 6 6 5 20 4 4 17 20 9 2 16 6"),
    ]
    # fmt: on

    def test_what_belongs_to_a_product_that_may_not_be_opened_is_counted(self, pull, kept):
        """Lists of projects and executions show it; it is asked for no further."""
        days = dict(begin="2026-01-01", end="2026-12-31")
        stories = [
            dict(id=id, product=product, title="S") for id, product in ((1, 1), (2, 9), (3, 9))
        ]
        build = dict(id=1, product=9, project=1, execution=2, name="B", date="2026-01-01")
        shown = showing(
            products=dict(products=[dict(id=1, name="P")]),
            projects=dict(projects=[dict(id=1, name="J", **days)]),
            projects_1_executions=dict(executions=[dict(id=2, name="E", **days)]),
            projects_1_stories=dict(stories=stories[:2]),
            executions_2_stories=dict(stories=stories),
            executions_2_builds=dict(builds=[build]),
        )
        with shown as server:
            code, out, told = pull(server.url, TOKEN="given-token")
        assert code == 0
        assert ids(kept(out)["stories"]) == [1]
        assert re.findall("(.*) left out: (.*)", told) == [("builds", "1"), ("stories", "2")]
        assert not [line for line in server.asked if re.search("stories/[23]", line)]

    @each(("version", "account", "counts"), RECORDED)
    def test_real_server_gives_all_that_its_lists_show(self, pull, kept, version, account, counts):
        with recorded_server(version) as server:
            code, out, told = pull(server.url, TOKEN=f"token-of-{account}")
        copy = kept(out)
        assert code == 0
        assert {line.split()[0] for line in server.asked} == {"GET"}
        kinds = json.loads((HERE / ".ci" / "pull" / f"{version}.json").read_text())
        numbers = [str(len(records)) for array, records in copy.items() if array in kinds]
        assert " ".join(numbers) == counts
        left_out = re.findall(r"(.*) left out: (\d+)\n", told)
        expected = {"executions.parent", "projects.model", "stories.plans"}
        expected |= {f"{array}.type" for array in ("bugs", "executions", "tasks", "testcases")}
        if version == "16.5":
            expected.add("builds.execution")
        assert left_out == [(field, "1") for field in sorted(expected)]
        for array in kinds.keys() & copy.keys():
            assert {*ids(copy[array])} <= {*kinds[array]["undeleted"]}

    # fmt: off
    HOMES = {  # by path, what is above the records of the table below
        "configurations_version":  '{"value": "18.10"}',
        "configurations_timezone": '{"value": "Asia/Shanghai"}',
        "products":                '{"products": [{"id": 1, "name": "P"}]}',
        "projects":                '{"projects": [{"id": 2, "name": "J"}]}',
        "products_1_projects":     '{"projects": [{"id": 2}]}',
        "projects_2_executions":   '{"executions": [{"id": 3, "name": "E"}]}',
        "products_1_plans":
            '{"plans": [{"id": 1, "title": "A", "children": [{"id": 2, "title": "B", "parent": 1}]}]}',
    }
    QUIRKS = [  # path, what a record in it shows, what the copy has, what is told
        ("products_1_bugs", '{"status": "postponed", "resolution": "postponed"}', '{"status": "resolved"}', ""),
        ("products_1_bugs", '{"status": "postponed", "closedDate": "2026-01-02 03:00:00"}',
            '{"status": "closed", "closedDate": "2026-01-01T19:00:00Z"}', ""),
        ("products_1_bugs", '{"status": {"code": "closed", "name": "Closed"}}', '{"status": "closed"}', ""),
        ("products_1_bugs",
            """{"status": "delay", "assignedTo": "closed", "title": "&amp;lt;b&gt;", "steps": "&lt;", "plan": "2,1",
                "openedBy": {"id": 2, "account": "dev1", "avatar": "", "realname": "Dan"},
                "openedBuild": [{"id": "trunk"}, {"id": 1}], "deadline": "0000-00-00", "openedDate": "-0001-11-30"}""",
            """{"status": "active", "assignedTo": null, "title": "<b>", "steps": "&lt;", "plan": 2,
                "openedBy": "dev1", "openedBuild": "trunk,1", "deadline": null, "openedDate": null}""", ""),
        ("products_1_bugs", '{"type": "own", "severity": -1, "project": 9, "execution": 3}',
            '{"type": "codeerror", "execution": 3}', "bugs.project 1 bugs.severity 1 bugs.type 1"),
        ("products_1_bugs", '{"product": 9}', None, "bugs 1 bugs.product 1"),
        ("products_1_bugs", '{"title": ""}', None, "bugs 1 bugs.title 1"),
        ("products_1_stories",
            """{"plan": "1,2,9", "reviewer": ["dev1", "qa1"], "notReview": ["qa1"], "status": "reviewing",
                "mailto": [{"id": 2, "account": "dev1", "realname": "Dan"}], "estimate": "2.5", "parent": -1}""",
            """{"plans": [1, 2], "reviewers": [{"account": "dev1", "result": "pass"}, {"account": "qa1", "result": ""}],
                "status": "draft", "mailto": ["dev1"], "estimate": 2.5, "parent": 0}""", "stories.plans 1"),
        ("products_1_testcases", '{"id": "case_7", "steps": {"1": {"id": 4, "desc": "a"}, "2": {"desc": ""}}}',
            '{"title": "T"}', ""),
        ("products_1_testcases", '{"isScene": true}', None, ""),
        ("projects_2_builds", '{"execution": 0, "stories": [9], "product": 1}',
            '{"execution": 2}', "builds.execution 1 builds.stories 1"),
        ("programs", '{"type": "program", "budget": "9.46", "acl": "program"}',
            '{"budget": "9", "acl": "private"}', ""),
        ("programs", '{"type": "project"}', None, ""),
        ("projects", '{"id": 2, "model": "ipd", "deleted": "0"}', '{"model": "waterfall", "products": [1]}', ""),
        ("projects_2_executions", '{"type": "kanban", "whitelist": ",dev1,"}',
            '{"type": "sprint", "whitelist": ["dev1"]}', "executions.type 1"),
        ("executions_3_tasks", '{"children": [{"id": 8, "name": "T", "parent": 7}]}',
            '{"execution": 3, "project": 2}', ""),
        ("users", '{"account": "qa1", "role": {"code": "qa"}, "password": "a"}',
            '{"role": "qa", "password": null}', ""),
    ]
    # fmt: on

    @each(("path", "shown", "taken", "left_out"), QUIRKS)
    def test_record_is_taken_as_this_service_has_it(self, pull, kept, path, shown, taken, left_out):
        array = path.rpartition("_")[2]
        record = {"id": 7, "name": "T", "title": "T", **json.loads(shown)}
        homes = {home: json.loads(answer) for home, answer in self.HOMES.items()}
        with showing(**{**homes, path: {array: [record]}}) as server:
            code, out, told = pull(server.url, TOKEN="t-t-t")
        assert code == 0
        told = re.findall(r"(.*) left out: (\d+)\n", told)
        assert " ".join(map(" ".join, told)) == left_out
        found = [one for one in kept(out)[array] if one["id"] in (2, 7)] if taken else []
        for one in found:
            assert json.loads(taken).items() <= one.items()
        assert bool(found) == bool(taken)

    def test_pages_are_read_until_one_is_not_full(self, pull):
        def answer(request: Any) -> Any:
            asked = re.fullmatch(r"/api.php/v1/products\?.*page=(\d+)", request.path)
            if not asked:
                return {}
            page = int(asked[1])
            shown = [dict(id=id, name="P") for id in range(2 * page, 2 * page + 2)]
            return {"limit": 2, "products": shown[:1] * 2 if page == 5 else shown}

        with other_server(answer) as server:
            assert "products 9\n" in pull(server.url, TOKEN="t-t-t")[2]
        assert sum("/products?" in line for line in server.asked) == 5

    # fmt: off
    UNREADABLE = "GET URL/products was answered 200: not JSON, or more than 33,554,432 bytes"
    HOSTILE = [  # path, answer, exit code, what is told
        ("tokens",   (400, {}, b'{"error": "Login failed. given-password"}'), 2,
            "POST URL/tokens was answered 400: Login failed. ***"),
        ("tokens",   (302, {"Location": "https://x.example/?given-password"}, b""), 2,
            "POST URL/tokens was answered 302: a redirect to https://x.example/?***, which is not"
            " followed; give that address instead"),
        ("tokens",   {"token": "a\nb"}, 2, f"token {pmservice.WORD.rule}"),
        ("user",     (200, {}, b"<html>Log in</html>"), 2, UNREADABLE.replace("products", "user")),
        ("user",     b"given-token\r\n", 2, "GET URL/user was not answered: ***\\r\\n"),
        ("products", (403, {}, rb'{"error": "\u001b[2J"}'), 1, "GET URL/products was answered 403: \\x1b[2J"),
        ("products", (200, {}, b"[" * 100_000), 1, UNREADABLE),
        ("products", (200, {}, b"[" + b"[]," * 11_200_000), 1, UNREADABLE),
        ("products", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n[cut", 1, UNREADABLE),
        ("products", b"", 2, "GET URL/products was not answered: Remote end closed connection without response"),
        ("products", (200, {}, b"[1]"), 0, ""),
        ("programs",
            (200, {}, b'{"programs": [{"id": 5, "name": "A", "parent": 6}, {"id": 6, "name": "B", "parent": 5}]}'), 2,
            "the records that were read do not fit together"),
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
        monkeypatch.setattr(pmservice, SILENCE, 0.1)
        ended = threading.Event()

        def answer(_):
            ended.wait(60)
            return b""

        with other_server(answer) as server:
            code, _, told = pull(server.url, TOKEN="t-t-t")
            ended.set()
        assert code == 2
        assert told.endswith("/user was not answered: timed out\n")

    # fmt: off
    ADDRESSES = [
        ("http://pm.example.org", "http://pm.example.org is not encrypted: passwords and records can be read on the"
            " way; use https, or --insecure-http if you trust the network"),
        *((url, f"URL must be an address such as https://pm.example.org (got {url!r})") for url in (
          "pm.example.org", "ftp://pm.example.org", "https://", "https://u:p@h", "https://h/?a=b", "https://h:x",
          "https://h/ ")),
    ]
    # fmt: on

    @each(("url", "line"), ADDRESSES)
    def test_nothing_is_sent_to_such_an_address(self, pull, url, line):
        assert pull(url, PASSWORD="given-password") == (2, "", f"pmservice: {line}\n")

    def test_password_is_asked_for_only_at_a_terminal(self):
        rule = "there is no terminal to ask for the password at; set PMSERVICE_PULL_PASSWORD"
        assert refused(run_on(b"", "pull", "http://127.0.0.1:9")) == rule

    @TERMINALS
    def test_terminal_is_shown_how_far_it_is(self, pull):
        with showing() as server, contextlib.redirect_stderr(to_terminal()) as screen:
            assert pull(server.url, "--insecure-http", TOKEN="t-t-t")[0] == 0
        assert re.search(r"\rGET /products\?status=all[^\r]* *\r", screen.shown())


# --- 20 Command: settings and the command line ----------------------------------------------------


def refused(answer: tuple[int, str, str]) -> str:
    """Return the line with which a command was refused."""
    code, out, told = answer
    assert (code, out, told.count("\n")) == (2, "", 1)
    assert told.startswith("pmservice: ")
    return told.removeprefix("pmservice: ").strip()


# fmt: off
SENTENCES = [  # line, body, sentence
    ("POST /tokns",         b"{}", "There is nothing at /tokns; did you mean /tokens?"),
    ("GET /product/1/bug",  None, "There is nothing at /product/1/bug; did you mean /products/<id>/bugs?"),
    ("GET /Products",       None, "There is nothing at /Products; did you mean /products?"),
    ("POST /tasks/1/begin", b"{}", "There is nothing at /tasks/1/begin; GET /openapi.json lists what there is."),
    ("GET /tasks/01",       None, "There is nothing at /tasks/01; did you mean /tasks/<id>?"),
    ("GET /product",        None, "There is nothing at /product; did you mean /products?"),
    ("OPTIONS /product",    None, "There is nothing at /product; GET /openapi.json lists what there is."),
    ("PUT /products",       b"{}", "PUT is not allowed at /products; allowed: GET, POST."),
    ("POST /products",      b"{'name': 'Shop'}",  "The body must be JSON, but line 1, column 2 is wrong."),
    ("POST /products",      b'{"name":\n "Shop"',
        "The body must be JSON, but line 2, column 8 is wrong."),
    ("POST /products",      b'{"name": "a\x1b"}', None),
    ("POST /products",      b'{"name": "P", "PO": "' + b"y" * 40 + b'"}',
        f'PO must be an account: 1 to 30 letters, digits, _ . - @ (got "{"y" * 40}").'),
    ("POST /products",      b'{"name": "P", "type": "norml"}',
        'type must be one of normal, branch, platform (got "norml"); did you mean normal?'),
    ("POST /projects",      b'{"name": "P", "begin": "2026-01-01", "end": "2026-02-01"}',
        "products is required and must be an array of ids, not empty."),
    ("POST /products",      b'{"name": " ", "program": "1.5"}',
        'name must be 1 to 255 characters, not blank (got " "). program must be a whole number (got "1.5").'),
    ("PUT /programs/1",     b'{"parent": 1}',
     "parent must not be the program itself, lie below it, or make more than 50 levels (got 1)."),
    ("POST /testcases?product=1",
        b'{"title": "C", "type": "unit", "pri": 1, "steps": [{"desc": ["\\u6c49", 2]}, 7]}',
        'steps[0].desc must be text (got ["汉", 2]). steps[1] must be an object (got 7).'),
    ("POST /bugs?product=1", dict(BUG, severity={"a": "b" * 60}),
        f'severity must be a whole number (got {{"a": "{"b" * 43}…).'),
    ("PUT /users/4",        b'{"password": "short", "email": "a@ b"}',
        'email must be an e-mail address (got "a@ b"). password must be 6 to 65536 characters, not blank.'),
    ("POST /tokens",        b'{"account": ["admin", "hidden"], "password": 7.5e300}',
        "account must be text. password must be text, or a number within 64 bits."),
    ("POST /tasks/1/start", b'{"realStarted": "2026-02-30"}',
        'realStarted must be a moment, YYYY-MM-DD hh:mm:ss (got "2026-02-30").'),
    ("POST /tasks/1/finish", b'{"finishedDate": "2026-01-02"}',
        'finishedDate must not be before realStarted, 2026-01-03T04:00:00Z (got "2026-01-02").'),
    ("GET /products/1/bugs?order=openDate", None,
        'order must be a field of the list, alone or with _asc or _desc (got "openDate"); did you mean openedDate?'),
]
# fmt: on


# fmt: off
NEARLY_MEANT = {  # a path: the one that is suggested
    "GET /tasc": "", "GET /tsak": "", "GET /tasjks": "/tasks", "GET /tsaks": "/tasks",
    "GET /bugs/1/estimates": "", "GET /product/1/bug": "/products/<id>/bugs", "GET /story/1": "/stories/<id>",
    "GET /Products/1": "/products/<id>", "GET /execution": "/executions", "POST /bugs/1/clsoe": "/bugs/<id>/close",
    "POST /bugs/1/closed": "/bugs/<id>/close", "POST /tasks/1/strat": "/tasks/<id>/start",
    "POST /task/1/start": "/tasks/<id>/start",
    "POST /tasks/1/assign": "/tasks/<id>/assignto", "POST /bugs/1/assignto": "/bugs/<id>/assign",
    "DELETE /user/lena": "/users/<user>",
    "GET /products/1/bug?x=1": "/products/<id>/bugs", "DELETE /product/0": "/product/<id>", "POST /token": "/tokens",
    "HEAD /project": "/projects",
    # other verbs, and what nobody has
    "POST /bugs/1/comments": "", "POST /tasks/1/begin": "", "POST /tasks/1/deactivate": "",
    "POST /bugs/1/unconfirm": "",
    "POST /tasks/1/clone": "", "POST /bugs/1/unassign": "", "POST /stories/1/revert": "", "POST /tasks/1/complete": "",
    "POST /tasks/1/stop": "", "POST /tasks/1/resume": "", "POST /bugs/1/reopen": "", "POST /bugs/1/reject": "",
    "POST /tasks/1/unpause": "", "POST /tasks/1/parse": "", "POST /productplans/1/linktasks": "", "GET /sprints": "",
    "GET /boards": "", "GET /labels": "", "GET /teams": "", "GET /search": "", "GET /options/story": "",
    "PATCH /product": "",
}
ONLY_THERE = """
    /todos /todos/1 /todos/1/finish /testsuites /docs/7 /doclibs /files /issues /risks/1 /meetings /repos
    /repos/rules /jobs
    /feedbacks /tickets/2/close /langs /reports /tabs/work /mr /ciresults /api.php/v1/todos /zentao/api.php/v1/tickets
"""
# fmt: on


class TestMistakes:
    """Typical mistakes of new users, and the sentence that explains each."""

    @each(("line", "body", "sentence"), SENTENCES)
    def test_sentence_says_what_to_do(self, world, line, body, sentence):
        answer = world.call(*line.split(), body)
        assert answer.status_int in (400, 404, 405)
        assert answer.json["error"] == (sentence or answer.json["error"])
        assert answer.json["error"].isprintable()

    @each("line", NEARLY_MEANT)
    def test_only_what_was_nearly_meant_is_suggested(self, world, line):
        answer = world.call(*line.split())
        assert answer.status_int == 404
        path, near = line.split()[1].partition("?")[0], NEARLY_MEANT[line]
        remedy = f"did you mean {near}?" if near else "GET /openapi.json lists what there is."
        if not line.startswith("HEAD"):
            assert answer.json["error"] == f"There is nothing at {path}; {remedy}"

    def test_what_only_the_real_server_has_is_named(self, world):
        for path in ONLY_THERE.split():
            bare = re.sub("^(/zentao)?/api.php/v1", "", path)
            (first,) = re.findall("^/[a-z]+", bare)
            for method in ("GET", "POST", "DELETE"):
                error = world.refused(method, path, status=404)["error"]
                assert error == f"ZenTao has {first}; pmservice does not."
        for path in ("/bugs/1/estimate", "/projects/5/risks", "/products/1/testsuites"):
            known = re.sub("[0-9]", "<id>", path)
            error = world.refused("GET", path, status=404)["error"]
            assert error == f"ZenTao has {known}; pmservice does not."

    def test_origins_that_no_browser_sends_are_refused(self, run):
        words = "https://*.example.org https://a:x https://[::1 https://a: https://a\\b"
        words += " https://ä.example a.example NULL http:// file:///a http://a/ http://a/b"
        for word in words.split():
            assert "--origin must be a scheme and a host" in refused(run("--origin", word)), word

    @each("token", ["", " t", "t ", "t\n", "a\tb"])
    def test_token_that_no_header_can_carry_is_refused(self, run, token):
        assert "--token" in refused(run("--token", token, "--database", ":memory:"))

    def test_variable_that_is_no_setting_is_named(self, run, monkeypatch):
        run("user", "admin")
        monkeypatch.setenv("PMSERVICE_TOKN", "x")
        monkeypatch.setenv("PMSERVICE_XYZZY", "x")
        first, second = run("check")[2].splitlines()
        assert first.endswith(" PMSERVICE_TOKN is not a setting; did you mean PMSERVICE_TOKEN?")
        assert second.endswith(" PMSERVICE_XYZZY is not a setting.")

    def test_create_app_takes_the_settings_that_it_declares(self):
        with opened(**dict.fromkeys(pmservice.Settings.__annotations__)) as client:
            assert client.call("GET", "/products").status_int == 401


class Stream(io.TextIOWrapper):
    """A stream to a pipe or a terminal, whose other end is read here."""

    END = "\0"

    def __init__(self, reader: int, writer: int) -> None:
        super().__init__(io.BufferedWriter(io.FileIO(writer, "w")), "utf-8", line_buffering=True)
        self.reader, self.got = reader, b""

    def shown_until(self, words: str) -> str:
        """Return what was written, as soon as it has these words."""
        while not (words.encode() in self.got or self.END.encode() in self.got):
            self.got += os.read(self.reader, 4096)
        return self.got.decode()

    def shown(self) -> str:
        """Close the stream; return all that was written."""
        self.write(self.END)
        self.flush()
        shown = self.shown_until(self.END)
        self.close()
        os.close(self.reader)
        return shown.partition(self.END)[0].replace("\r\n", "\n")


def to_terminal() -> Stream:
    return Stream(*os.openpty())


def run_words(*words, **options):
    """Run a program to its end; return its exit code, stdout and stderr."""
    done = subprocess.run(words, capture_output=True, timeout=60, **options)
    shown = [stream.decode().replace("\r\n", "\n") for stream in (done.stdout, done.stderr)]
    return done.returncode, *shown


def run_on(stdin, *arguments, **environment):
    """Give bytes to a process of the command; return its exit code, stdout and stderr."""
    variables = {**os.environ, **environment}
    return run_words(*SERVICE, *arguments, input=stdin, env=variables)


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """Return a function that serves in this process while another thread calls work(url).

    It returns what `work` returned and what was told to stderr, a pipe or a terminal.
    """
    monkeypatch.chdir(tmp_path)

    def serve(*arguments, work=str, is_screen=False, **environment):
        told = to_terminal() if is_screen else Stream(*os.pipe())
        handlers = {one: signal.getsignal(one) for one in STOPS}

        def visit():
            url = re.search(r"at (http\S+);", told.shown_until("; press Ctrl-C"))[1]
            try:
                return work(url)
            finally:
                signal.raise_signal(signal.SIGINT)
                with contextlib.suppress(OSError), client_of(url):
                    pass  # the thread that handles signals waits for connections

        with monkeypatch.context() as process, ThreadPoolExecutor(1) as thread:
            for name, value in environment.items():
                process.setenv(f"PMSERVICE_{name}", value)
            visited = thread.submit(visit)
            try:
                with contextlib.redirect_stderr(told):
                    assert pmservice.main(["--port", "0", *arguments]) == 0
            finally:
                told.write(Stream.END)
                told.flush()
                for one, handler in handlers.items():
                    signal.signal(one, handler)
        return visited.result(), told.shown()

    return serve


STOPS = sorted({signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGBREAK", signal.SIGINT)})


def get_products(url):
    return ask_once(url, "GET", "/products")


NOTE_THESE = r"Note these credentials; they are not shown again\.\n"
NEW_FILE = rf"This is a new database\. {NOTE_THESE}"
IN_MEMORY = NOTE_THESE  # which is new at each start
OLD_FILE = rf"Nobody could log in as admin yet\. {NOTE_THESE}"
SHOWN_PASSWORD = r"  account +admin\n  password +(\S+)\n"
PEOPLE = r"You can log in as marta .* with the password of admin\.\n"
SHOWN_TOKEN = r"  token +(\S+)\nOpen .*, or try:\n  curl\S* .*\n"


class TestServing:
    @only_if(sys.platform != "darwin", "macOS has 127.0.0.1 only")
    def test_every_address_of_this_machine_answers_to_its_own_name(self, tmp_path):
        with Live(tmp_path, "--host", "127.0.0.2", "--token", "t") as live:
            assert live.url.startswith("http://127.0.0.2:")
            assert ask_once(live.url, "GET", "/user")[0] == 200

    def test_first_start_says_on_stderr_how_to_begin_and_the_url_alone_on_stdout(
        self, tmp_path, serve
    ):
        with Live(tmp_path) as first:
            first.hear("/products")  # the last line; the URL comes before all of them
        assert first.rest == ""
        password, token = re.search(NEW_FILE + SHOWN_PASSWORD + SHOWN_TOKEN, first.told).groups()
        curl = "curl.exe" if os.name == "nt" else "curl"
        assert f'  {curl} -H "Token: {token}" {first.url}/products\n' in first.told
        login = {"account": "admin", "password": password}

        def again(url):
            assert ask_once(url, "GET", "/products", Token=token)[0] == 200
            assert ask_once(url, "POST", "/tokens", login)[0] == 201

        told = serve(work=again)[1]
        assert told.count("\n") == 1
        assert password not in told

    @each(("is_old", "flags", "is_screen", "told"), [
        (True,  "",                                False, OLD_FILE + SHOWN_PASSWORD + SHOWN_TOKEN),
        (False, "--password pass-word",            False, NEW_FILE + SHOWN_TOKEN),
        (False, "--password pass-word --token t",  False, ""),
        (False, "--token t",                       False, ""),  # to a program
        (True,  "--token t",                       False, ""),
        (False, "--token t --database :memory:",   False, ""),
        (False, "--database :memory:",             False, IN_MEMORY + SHOWN_PASSWORD + SHOWN_TOKEN),
        (False, "--token t",                       True,  NEW_FILE + SHOWN_PASSWORD),  # to a person
    ])  # fmt: skip
    @TERMINALS
    def test_start_tells_what_a_person_needs_to_log_in(self, serve, is_old, flags, is_screen, told):
        if is_old:
            pmservice.create_app("pm.db").close()
        url, shown = serve("--verbose", *flags.split(), is_screen=is_screen)
        assert re.fullmatch(
            rf"pmservice \S+ serves \S+ at {url}; press Ctrl-C to stop\.\n{told}", shown
        )

    @each(("flags", "told"), [
        ("", rf"Open .* and click on a name\.\n{PEOPLE}{NOTE_THESE}{SHOWN_PASSWORD}  token +\S+\n"),
        ("--password pass-word", rf"{PEOPLE}{NOTE_THESE}{SHOWN_TOKEN}"),  # nobody is let in by a click
    ])  # fmt: skip
    def test_demo_says_to_click_before_it_shows_credentials(self, serve, flags, told):
        shown = serve("--demo", *flags.split())[1]
        assert re.fullmatch(rf"pmservice .*\nA made-up company was loaded\.\n{told}", shown)

    @each(("flags", "other_urls"), [("--demo", 0), ("--token t", 0), ("", 1)])  # 1: of an example
    @TERMINALS
    def test_url_is_printed_once_at_a_terminal(self, tmp_path, flags, other_urls):
        reader, screen = os.openpty()
        words = [*SERVICE, "--port", "0", *flags.split()]
        process = subprocess.Popen(words, cwd=tmp_path, stdout=screen, stderr=screen)
        os.close(screen)
        shown = ""
        with contextlib.suppress(OSError):  # Linux raises it at the end, macOS reads nothing
            while got := os.read(reader, 4096):
                shown += got.decode()
                if "Ctrl-C to stop" in shown:
                    process.send_signal(signal.SIGINT)
        os.close(reader)
        assert process.wait(30) == 0
        assert len(re.findall(r"(?:^|[\r\n])http://[0-9.:]+\r\n", shown)) == 1
        assert shown.count("http://") == 1 + other_urls
        assert re.search(r"serves \S+; press Ctrl-C to stop\.", shown)

    @each(("flags", "status"), [
        ("", 303),
        ("--demo", 303),
        ("--password pass", 400),
        ("--allowed-host pm.example.org", 400),  # a proxy lets others in
        ("--host 0.0.0.0 --password pass", 400),
    ])  # fmt: skip
    def test_click_logs_in_at_the_first_start_on_this_machine_alone(self, serve, flags, status):
        def work(url):
            form = {**as_browser(None), "Content-Type": "application/x-www-form-urlencoded"}
            with client_of(url) as connection:
                connection.request("POST", "/-/in", "account=admin", form)
                return connection.getresponse().status

        assert serve(*flags.split(), work=work)[0] == status
        if flags != "--demo":  # the database is there now, and its password is known
            assert serve(*flags.split(), work=work)[0] == 400

    def test_no_credentials_are_shown_for_a_deleted_administrator(self, serve, run):
        Path("f.json").write_text('{"users": [{"account": "admin", "deleted": true}]}')
        assert run("load", "f.json")[0] == 0
        assert serve("--verbose")[1].count("\n") == 1

    def test_flags_go_before_the_environment_and_that_before_the_defaults(self, serve):
        Path("f.json").write_text('{"products": [{"name": "P"}, {"name": "Q"}]}')
        variables = dict(TOKEN="other", DATABASE="named.db", LOAD="f.json")
        (status, products), told = serve("--token", "t", work=get_products, **variables)
        assert (status, products["total"]) == (200, 2)
        assert told.splitlines()[1] == "2 records loaded from f.json."
        assert {Path(name).stem for name in os.listdir()} == {"named", "f"}

    def test_flags_may_be_short_abbreviated_joined_to_their_values_and_repeated(self, serve):
        def work(url):
            assert url.endswith(f":{port}")
            for origin in ("http://a", "http://b", "null"):
                assert ask_once(url, "GET", "/products", Origin=origin)[0] == 200

        port = free_port()
        for words in (f"-p{port} -t t -d y.db", f"-p {port} --tok t --datab y.db"):
            serve(*words.split(), "--origin", "http://a", "--origin", "http://b,null", work=work)
        assert {Path(name).stem for name in os.listdir()} == {"y"}


WITH_PARENT = ("--with-parent", "--port", "0", "--database", ":memory:", "--token", "t")


class TestParent:
    """The service ends with the process that started it, when its stdin ends."""

    @staticmethod
    def started(*arguments, stdin=subprocess.PIPE, **options):
        """Yield a process of the service, whose stdin is a pipe or what is given."""
        streams = dict(stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return process_of(*WITH_PARENT, *arguments, **streams, **options)

    def test_what_stdin_brings_is_ignored_until_it_ends(self):
        with self.started() as process:
            url = process.stdout.readline().strip()
            process.stdin.write("DELETE /products\n" * 10_000)
            process.stdin.flush()
            assert get_products(url)[0] == 200
            out, _ = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, "")

    @only_if(POSIX, "Windows has no such pipes")
    def test_stdin_that_does_not_block_is_waited_for(self):
        reader, writer = socket.socketpair()
        with reader, writer:
            reader.setblocking(False)
            with self.started(stdin=reader) as process:
                url = process.stdout.readline().strip()
                writer.send(b"hello")
                assert get_products(url)[0] == 200
                writer.close()
                assert process.wait(60) == 0

    @only_if(POSIX, "Windows has no POSIX shell")
    @each("redirection", ["<&-", "</dev/null", f"<'{HERE / 'schema.sql'}'"])
    def test_stdin_that_no_process_holds_is_refused(self, redirection):
        with self.started(redirections=redirection) as process:
            streams = process.communicate(timeout=60)
        assert refused((process.returncode, *streams)) == (
            "--with-parent: stdin must be a pipe, held open by the process that starts the service"
        )

    def test_open_stdin_does_not_keep_a_service_that_failed(self):
        with self.started("--load", "missing.json") as process:
            assert process.wait(60) == 2
            assert "missing.json: No such file or directory" in process.stderr.read()

    @SIGNALS
    def test_signal_ends_it_while_stdin_is_open(self):
        with self.started() as process:
            assert process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0

    @TERMINALS
    def test_terminal_is_refused(self):
        terminal, stdin = os.openpty()
        try:
            with self.started(stdin=stdin) as process:
                assert process.wait(60) == 2
                assert "stdin must be a pipe" in process.stderr.read()
        finally:
            os.close(stdin)
            os.close(terminal)


# fmt: off
REDIRECTIONS = [  # of stdout and stderr, otherwise a full pipe, and the exit code
    (">out 2>err", 0), ("", 0), (">&- 2>&-", 0), (">out 2>&-", 0), (">out 2>/dev/full", 0), (">/dev/full 2>err", 2),
    (">/dev/full 2>&-", 2),
]
# fmt: on


@only_if(POSIX, "Windows has no such streams")
class TestStreams:
    """stdout and stderr that nobody reads, that take nothing, or that are closed."""

    NO_SPACE = r"pmservice: .*No space left on device.*\n"

    @pytest.fixture(autouse=True)
    def full_pipe(self, tmp_path, monkeypatch):
        """Enter a folder; make a pipe that takes nothing until something is read from it."""
        monkeypatch.chdir(tmp_path)
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(self.writer, b"x" * 4096)
        os.set_blocking(self.writer, True)
        yield
        os.close(self.reader)
        os.close(self.writer)

    def process(self, redirections, flags):
        """Yield a process of the command with these streams."""
        streams = dict(stdout=self.writer, stderr=self.writer)
        buffered = {**os.environ, "PYTHONUNBUFFERED": ""}
        return process_of(*flags.split(), redirections=redirections, env=buffered, **streams)

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

    @each(("redirections", "code"), REDIRECTIONS)
    def test_service_ends_at_a_signal_or_with_2_if_it_cannot_say_where_it_is(
        self, redirections, code
    ):
        port = free_port()
        flags = f"--port {port} --token t --password secret"
        if "2>&-" in redirections:
            flags += " --verbose"  # what is told must not go to stdout
        files = [Path(name) for name in ("out", "err") if f">{name}" in redirections]
        with self.process(redirections, flags) as process:
            if code == 0:
                assert self.answered(port) == 200
                for file in files:
                    while not file.read_text().endswith("\n"):
                        pass  # it says so just after it has begun to answer
                process.send_signal(signal.SIGTERM)
            assert process.wait(30) == code
        for file in files:
            told = file.read_text()
            assert told.count("\n") == 1
            assert file.name == "err" or told == f"http://127.0.0.1:{port}\n"
            assert code == 0 or re.fullmatch(self.NO_SPACE, told)

    def test_stop_does_not_wait_for_what_is_still_loaded(self):
        os.mkfifo("f.json")  # whose text never comes
        port = free_port()
        with self.process("", f"--port {port} --token t --load f.json") as process:
            while process.poll() is None:
                with contextlib.suppress(OSError):
                    assert ask_once(f"http://127.0.0.1:{port}", "GET", "/products")[0] == 503
                    process.send_signal(signal.SIGTERM)
                    assert process.wait(30) == 0

    def test_url_reaches_a_reader_who_comes_late(self):
        port = free_port()
        read = ""
        with self.process("2>/dev/null", f"--port {port} --token t") as process:
            assert self.answered(port) == 200
            while not read.endswith("\n"):
                read += os.read(self.reader, 4096).decode()
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        assert read.lstrip("x") == f"http://127.0.0.1:{port}\n"

    def test_pipe_that_nobody_reads_any_more_ends_a_dump(self, tmp_path):
        Client(tmp_path / "pm.db", load=MUCH).close()
        with process_of("dump", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait(30) == 141

    def test_answer_that_cannot_be_written_is_an_error(self):
        Client("pm.db").close()
        with self.process(">/dev/full 2>err", "dump") as process:
            assert process.wait(30) == 2
        assert re.fullmatch(self.NO_SPACE, Path("err").read_text())

    @each("command", ["load -", "user new1 --password", "pull http://127.0.0.1:9"])
    def test_closed_stdin_is_one_sentence(self, command):
        streams = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with process_of(*command.split(), redirections="<&-", **streams) as process:
            out, told = process.communicate(timeout=60)
        assert refused((process.returncode, out, told)).startswith(
            ("stdin is closed", "there is no terminal")
        )

    @each(("line", "words"), [
        ("-d pm.db", "the current folder was removed"), ("check", "the current folder was removed"),
        ("load x.json -d pm.db", "x.json: No such file or directory"),
    ])  # fmt: skip
    def test_folder_that_is_gone_is_named(self, tmp_path, line, words):
        gone = tmp_path / "gone"
        gone.mkdir()
        shell = f'cd "{gone}" && rmdir "{gone}" && exec "$0" "{HERE / "pmservice.py"}" {line}'
        ran = subprocess.run(["sh", "-c", shell, sys.executable], capture_output=True, text=True)
        assert words in refused((ran.returncode, ran.stdout, ran.stderr))

    def test_memory_needs_no_folder(self, tmp_path):
        gone = tmp_path / "gone"
        gone.mkdir()
        shell = f'cd "{gone}" && rmdir "{gone}" && exec "$0" "{HERE / "pmservice.py"}" user new1 -d :memory:'
        assert (
            subprocess.run(["sh", "-c", shell, sys.executable], capture_output=True).returncode == 0
        )

    @each("redirection", ["2>/dev/full", "2>&-"])
    def test_work_is_done_though_nobody_can_be_told(self, redirection):
        Path("f.json").write_text(json.dumps(WORLD))
        for command in ("load f.json", "user new1", "backup copy.db"):
            with self.process(redirection, command) as process:
                assert process.wait(30) == 0
        with opened("copy.db") as client:
            assert client.get("/users/new1")["account"] == "new1"


# fmt: off
LOGGED = [  # whether it is at a terminal, variables, lines
    (False, {}, 0), (True, {}, 1), (True, {"VERBOSE": "No"}, 0), (True, {"VERBOSE": "off"}, 0),
    (True, {"VERBOSE": ""}, 1), (False, {"VERBOSE": "on"}, 1), (False, {"VERBOSE": "1"}, 1),
]
# fmt: on


class TestLog:
    # fmt: off
    OURS = {"Token": "tok-en"}
    LOGIN = '{"account": "admin", "password": "pass-word"}'
    CALLS = [  # request, body, headers, status, who called, what stands after the id
        ("POST /tokens",  LOGIN, {}, 201, "-", ""),
        ("POST /users",   '{"account": "dev1", "password": "pass-of-dev"}', OURS, 201, "admin", ""),
        ("GET /products", None, {"Token": "tok-en-of-nobody"}, 401, "-", ": Unauthorized."),
        ("GET /products", None, OURS, 200, "admin", ""),  # in two threads, but with one id
        ("HEAD /prodcts", None, OURS, 404, "-", ": There is nothing at /prodcts; did you mean /products?"),
        ("GET /products?token=tok-en", None, {}, 401, "-", ": Unauthorized."),
        ("POST /tokens",  LOGIN[:-1], {}, 400, "-", ": The body must be JSON"),
        ("POST /products", '{"nmae": "x"}', OURS, 400, "admin",
            ": name is required and must be 1 to 255 characters, not blank. ignored: nmae"),
        ("POST /tokens",  '{"account": "olga", "password": "pass"}', {}, 400, "-",
            " tried olga: Login failed. Please check your account and password."),
        # neither tokens nor what is no account
        ("POST /tokens", '{"account": "0123456789abcdef0123456789abcdef", "password": "pa"}', {}, 400, "-", ": Login"),
        ("POST /tokens",  '{"account": "tok-en", "password": "pass"}', {}, 400, "-", ": Login"),
        ("POST /tokens",  '{"account": "x 200", "password": "pass"}', {}, 400, "-", ": Login"),
        ("POST /tokens",  '{"account": {"a": "b"}, "password": "pass"}', {}, 400, "-", ": account must be"),
        ("GET /products", None, {**OURS, "Origin": "https://evil.example"}, 403, "-",
            ": Pages of https://evil.example may not call this service; start it with --origin"),
        ("GET /",         None, {"Accept": CHROME}, 401, "-", ": Unauthorized."),
        ("POST /-/in",    '{"account": "marta", "password": "pass-worf"}', {"Accept": CHROME}, 400, "-",
            " tried marta: Login failed."),
        ("POST /-/in",    '{"account": "x", "password": "tok-en"}', {"Accept": CHROME}, 303, "admin", ""),
    ]
    # fmt: on

    def test_each_request_is_a_line_with_its_id_and_the_reason_and_no_secret(self, serve):
        def work(url):
            for line, body, headers, *_ in self.CALLS:
                with client_of(url) as connection:
                    connection.request(*line.split(), body, headers)
                    answer = connection.getresponse()
                    ids.append(answer.getheader("X-Request-Id"))
                    shown.append(answer.read().decode())

        ids, shown = [], []
        flags = ("--verbose", "--token", "tok-en", "--password", "pass-word")
        told = serve(*flags, work=work)[1]
        _, *logged = told.splitlines()
        for line, id, (request, _, _, *words, more) in zip(logged, ids, self.CALLS, strict=True):
            path = request.partition("?")[0]
            pattern = rf"[0-9-]{{10}} [0-9:]{{8}} {path} {words[0]} [0-9.]+ ms {words[1]} {id}"
            assert re.fullmatch(pattern + (more and re.escape(more) + ".*"), line)
        numbers = [int(id.partition("-")[2]) for id in ids]
        assert numbers == sorted(set(numbers))
        login, *kept = shown
        for name in os.listdir():
            kept.append(Path(name).read_bytes().decode("latin-1"))
        for secret in ("tok-en", "pass-", json.loads(login)["token"]):
            assert secret not in told + "".join(kept)

    @TERMINALS
    @each(("is_screen", "variables", "lines"), LOGGED)
    def test_requests_are_logged_at_a_terminal_unless_it_is_turned_off(
        self, serve, is_screen, variables, lines
    ):
        flags = ("--token", "tok-en", "--password", "pass-word")
        told = serve(*flags, work=get_products, is_screen=is_screen, **variables)[1]
        day = "" if is_screen else "[0-9-]{10} "
        assert len(re.findall(f"^{day}[0-9:]{{8}} GET /products 401 ", told, re.M)) == lines
        assert told.count("\n") == 1 + lines

    def test_path_neither_breaks_a_line_nor_turns_the_terminal(self, serve):
        call = partial(ask_once, method="GET", path="/a%0aGET%20/-/reset%1b%5b31m")
        told = serve("--verbose", "--token", "t", work=call)[1]
        (logged,) = re.findall("^[0-9-]{10} [0-9:]{8} (.*) 404 .*$", told, re.MULTILINE)
        assert logged == r"GET /a\nGET%20/-/reset\x1b[31m"

    @each(("address", "shown"), [("127.0.0.1", None), ("192.0.2.7", " from 192.0.2.7")])
    def test_address_of_another_machine_is_logged(self, client, caplog, address, shown):
        caplog.set_level(logging.INFO, "pmservice")
        client.app.get("/products", extra_environ={"REMOTE_ADDR": address}, status="*")
        assert re.search(r"-\d+( from \S+)?: Unauth", caplog.messages[-1])[1] == shown


READING = ("check", "dump")
NOISE = random.Random(2).randbytes(4096)
MIDDLE = 50 * 4096  # of a file that holds WORLD
DAMAGED = r"pm\.db: damaged \(.+\); restore a backup, or name another file with --database"


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
    ("--prot 80",              "unrecognized arguments: --prot 80; pmservice --help says more"),
    ("user x --relname y",     "unrecognized arguments: --relname y; pmservice user --help says more"),
    ("load -p 80 f.json",      "unrecognized arguments: -p "),
    ("--origin= --port 0",     "--origin must not be empty"),
    ("dmp",                    "; did you mean dump?"),
    ("user",                   "the following arguments are required: ACCOUNT; pmservice user --help says more"),
    ("user a/b",               'account must be an account: 1 to 30 letters, digits, _ . - @ (got "a/b").'),
    ("user dev1 --realname \u3000", "realname must be 1 to 255 characters, not blank"),
    ("user dev1 --password",   "there is no terminal to ask for the password at; give it as --password PASSWORD"),
    ("--allowed-host pm:80",   "--allowed-host must be a name without a port, such as pm.example.org (got 'pm:80')"),
    ("--port none",            "--port must be a whole number from 0 to 65535; 0 picks a free one (got 'none')"),
    ("--port 99999",           "--port must be a whole number from 0 to 65535; 0 picks a free one (got '99999')"),
    ("--port TAKEN",           "address already in use; pick another --host, or another --port (0 for a free one)"),
    ("--host host.invalid --port 0 --token t", "cannot listen on host.invalid:0: "),
    ("--host 0.0.0.0 --port 0", "0.0.0.0 can be reached from outside: set --token or --password first"),
    ("--host :: --port 0",     ":: can be reached from outside: set --token or --password first"),
    ("version",                "version is not a command; pmservice --help lists them"),
    ("-d pm.db load absent.json", "settings go after the command: pmservice load absent.json -d pm.db\n"),
    ("-d pm.db user dev1 --password", "settings go after the command: pmservice user dev1 --password -d pm.db\n"),
    ("--port 0 serve",         "settings go after the command: pmservice serve --port 0\n"),
    ("--port 0 absent.json",   "unrecognized arguments: absent.json; pmservice --help says more"),
    ("load absent.json dump",  "unrecognized arguments: dump; pmservice load --help says more"),
    ("demo",                   "demo is not a command; did you mean --demo?\n"),
    ("serv",                   "serv is not a command; did you mean serve?\n"),
    ("serve --port x",         "--port must be a whole number from 0 to 65535"),
    ("--timezone Mars/Olympus --port 0", "time zone Mars/Olympus: not known here; use a name such as Asia/Shanghai"),
    ("--token \tt --port 0",   "--token must not be empty, nor begin or end with a space, nor contain control"
                               " characters\n"),
    ("--password \u3000 --port 0", "--password must not be empty"),
    ("load absent.json",       "absent.json: No such file or directory"),
    ("--load f.json --demo --port 0", "load and demo: only one of them can be loaded"),
    ("--database other.db --port 0", "other.db: a database of another program; name another file with --database"),
    ("--database newer.db --port 0", "newer.db: written by a newer pmservice; upgrade, or name another file"),
    ("--database empty.db --port 0", "empty.db: a database of another program"),
    ("--database garbage.db --port 0", "garbage.db: file is not a database; name another file with --database"),
    ("--database folder --port 0", "folder: "),
    ("--database absent/pm.db --port 0", "absent/pm.db: No such file or directory; name another file with --database"),
    ("user admin --password ", "password must be 1 to 65536 characters, not blank."),
    *((f"{line} -d {file}", f"{file}: there is no such database; name one with --database")
      for line in READING for file in ("none.db", "blank.db")),
]
DAMAGES = [  # at, bytes_there
    (0, bytes(4096)), (16, b"\0\7"), (100, NOISE[100:]),  # the first page
    (60, b"\0\0\0\x63"), (68, b"\0\0\0\7"), (68, bytes(4)),  # a newer version, the id of another program, no id
    (MIDDLE, NOISE), (MIDDLE, bytes(4096)), (-4096, NOISE),  # a page in the middle, the last one
    (100, None), (4096, None), (-1000, None),  # cut off
    # the fourth byte of a text of the schema
    (b"CREATE TABLE bug", b"\xff"), (b"CREATE TABLE bug", b"Q"), (b"CREATE TRIGGER", b"\0"),
    (b"CREATE TRIGGER", b"\xff"), (b"CREATE INDEX", b"Q"), (b"tablebugbug", b"\0"),
]
UNWRITABLE = [  # command, mode of the folder, mode of its files
    ("--port 0", 0o777, 0o444), ("--port 0", 0o555, 0o666), ("--port 0 --database new.db", 0o555, 0o666),
    ("user new1", 0o555, 0o444),
]
# fmt: on


COMMANDS = ("", "load", "dump", "backup", "check", "user", "pull")  # "": serving


def help_of(*words: str, flag: str = "--help") -> str:
    """Return what a flag shows behind these words, which must be known."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), pytest.raises(SystemExit, match="0"):
        pmservice.main([*words, flag])
    return told.getvalue()


# fmt: off
OF_KUBERNETES = {
    "PORT": "tcp://10.96.12.3:8080", "SERVICE_HOST": "10.96.12.3", "SERVICE_PORT": "8080", "SERVICE_PORT_HTTP": "8080",
    "PORT_8080_TCP": "tcp://10.96.12.3:8080", "PORT_8080_TCP_PROTO": "tcp", "PORT_8080_TCP_PORT": "8080",
    "PORT_8080_TCP_ADDR": "10.96.12.3", "PORT_53_UDP_ADDR": "10.96.12.3", "DB_SERVICE_HOST": "10.96.12.4",
    "DB_PORT_5432_TCP": "tcp://10.96.12.4:5432",
}
# fmt: on


class TestCommandLine:
    def test_load_and_dump_are_each_other_s_inverse_in_utf_8(self, run):
        """Whatever the system's encoding is, and with and without the mark of UTF-8."""
        ascii = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
        product = dict(name="Päper ✓.json")
        Path("✓.json").write_text(json.dumps({**WORLD, "departments": [product]}), "utf-8-sig")
        assert run("load", "✓.json")[:2] == (0, "")
        code, dumped, _ = run_on(b"", "dump", **ascii)
        assert code == 0
        assert "Päper ✓" in dumped
        told = run_on(dumped.encode("utf-8-sig"), "load", "-", "--database", "again.db")[2]
        assert "records loaded into again.db" in told
        assert run("dump", "--database", "again.db")[1] == dumped
        assert "✓.json" in run_on(b"", "load", "no ✓.json", **ascii)[2]
        told = refused(run_on(b'{"name": "P\xe4per"}', "load", "-"))
        assert told == "stdin must be text in UTF-8"

    @each("command", COMMANDS)
    def test_help_fits_a_terminal_and_is_true_for_the_command(self, monkeypatch, command):
        monkeypatch.setenv("COLUMNS", "80")
        help = help_of(*command.split())
        assert max(map(len, help.splitlines())) <= 80
        if not command:
            titles = re.findall("^([a-z]+):$", help, re.MULTILINE)
            groups = ["data", "network", "browser", "tests", "log"]
            assert titles == ["options", *groups, "commands", "examples"]
        told = " ".join(help.split())
        assert ("--database DATABASE the file" in told) == (command != "pull")
        assert (", which must exist (default pm.db)" in told) == (
            command in ("dump", "backup", "check")
        )
        examples = re.findall("^(?:Example:| ) (pmservice .*?)(?:  .*)?$", help, re.MULTILINE)
        assert examples
        for line in examples:
            words = shlex.split(line.partition(" > ")[0])[1:]
            if "COMMAND" not in words:
                help_of(*words)

    def test_variables_that_kubernetes_makes_are_passed_over(self, run, monkeypatch):
        """For a Service that is called pmservice, with a named port, and for pmservice-db."""
        for name, value in OF_KUBERNETES.items():
            monkeypatch.setenv(f"PMSERVICE_{name}", value)
        assert run("user", "new1")[2] == "user 2, new1, created\n"

    def test_variable_that_cannot_be_read_is_named(self, run, monkeypatch):
        monkeypatch.setenv("PMSERVICE_CONTROL", "maybe")
        assert refused(run()) == "PMSERVICE_CONTROL must be yes or no (got 'maybe')"

    def test_system_without_zone_files_is_told_to_install_them(self, run, monkeypatch):
        monkeypatch.setattr("zoneinfo.available_timezones", set)
        told = refused(run("--timezone", "Mars/Olympus", "--port", "0"))
        assert told == (
            "time zone Mars/Olympus: this system has no files of time zones; run: pip install tzdata"
        )

    def test_file_system_that_shares_no_memory_is_named(self, statements, run):
        """As some mounts of containers."""

        def fail(_, sql, *__):
            if "journal_mode" in sql:
                raise sqlite3.OperationalError("disk I/O error")

        Client("pm.db").close()
        before = {file: file.read_bytes() for file in Path().glob("pm.db*")}
        statements.before = fail
        told = refused(run("user", "new1"))
        assert told == (
            "pm.db: this file system cannot hold the database (disk I/O error); keep the database on"
            " a local disk or, in a container, in a named volume, or name another file with --database"
        )
        assert {file: file.read_bytes() for file in Path().glob("*")} == before

    def test_reading_commands_wait_for_no_writer(self, statements, run):
        def lose_patience(connection, sql, *_):
            if sql.startswith("BEGIN IMMEDIATE"):
                connection.execute("PRAGMA busy_timeout = 0")

        Client("pm.db").close()
        statements.before = lose_patience
        with another_program("pm.db") as writer:
            writer.execute("BEGIN IMMEDIATE")
            for command in ("check", "backup copy.db", "dump"):
                assert run(*command.split())[0] == 0
            assert refused(run("user", "dev1")) == "The database is busy; try again."

    @each("fixture", [
        '{"bugs": ' + "[" * 99_999, "{[]: 1}", "[]", '{"bugs": [1]}', "\xff",
        '{"products": [{"name": "P"}, {}]}',
    ])  # fmt: skip
    @each("command", ["load f.json", "load f.json --database sub.db", "--load f.json --port 0"])
    def test_fixture_that_cannot_be_loaded_is_one_line_and_loads_nothing(
        self, run, fixture, command
    ):
        Path("f.json").write_bytes(fixture.encode("latin-1"))
        assert refused(run(*command.split())).startswith("f.json: ")
        for file in Path().glob("*.db"):
            with another_program(file) as connection:
                assert connection.execute("SELECT count(*) FROM product").fetchone() == (0,)

    @each(("command", "statement", "error", "code", "told"), [
        ("load f.json", "COMMIT", KeyboardInterrupt(), 130, ""),
        ("backup copy.db", "VACUUM", sqlite3.OperationalError("is full"), 2,
            "pmservice: copy.db: is full\n"),
    ])  # fmt: skip
    def test_work_that_is_stopped_or_fails_leaves_nothing(
        self, statements, run, command, statement, error, code, told
    ):
        def fail(_, sql, *__):
            if sql.startswith(statement):
                raise error

        Client("pm.db").close()
        Path("f.json").write_text('{"products": [{"name": "P"}]}')
        statements.before = fail
        assert run(*command.split()) == (code, "", told)
        statements.before = ignore
        assert json.loads(run("dump")[1])["products"] == []
        assert sorted(os.listdir()) == ["f.json", "pm.db"]

    def test_without_its_libraries_or_tables_it_says_what_to_do(self, tmp_path):
        told = refused(run_words(sys.executable, "-IS", HERE / "pmservice.py"))
        assert told.startswith("No module named 'bottle'; to install what it needs, run: pip inst")
        alone = shutil.copy(HERE / "pmservice.py", tmp_path)
        told = refused(run_words(sys.executable, alone, "--port", "0", cwd=tmp_path))
        assert re.fullmatch(r".*schema\.sql: .*; it belongs beside pmservice\.py", told)

    def test_user_is_made_and_changed_until_it_is_deleted(self, run):
        for flags, done in (("--realname B --admin", "created"), ("--realname Bo", "changed")):
            assert run("user", "boss", *flags.split())[2] == f"user 2, boss, {done}\n"
        with opened("pm.db") as client:
            assert client.sql("SELECT realname, admin, password FROM user WHERE id = 2") == [
                ("Bo", 1, None)
            ]
            assert run("user", "boss", "--password", "secret")[0] == 0
            assert client.login("boss")
            remove(client, "/users/2")
        told = "user 2, boss, is deleted: nothing was changed"
        assert refused(run("user", "boss", "--realname", "B")) == told

    def test_version_is_shown(self):
        assert help_of(flag="--version").strip() == pmservice.__version__

    @each(("line", "words"), REFUSED_LINES)
    def test_what_cannot_be_done_is_one_line_and_2_and_changes_nothing(
        self, run, monkeypatch, line, words
    ):
        monkeypatch.setenv("PMSERVICE_LOAD", "absent.json")  # what is served all the same ends here
        os.mkdir("folder")
        Path("garbage.db").write_bytes(b"no database " * 500)
        schema = (HERE / "schema.sql").read_text("utf-8")
        next_version = max(map(int, re.findall("=== Version ([0-9]+)", schema))) + 1
        for name, script in (
            ("other", "CREATE TABLE t (x)"),
            ("newer", f"PRAGMA application_id = 1886221174; PRAGMA user_version = {next_version}"),
            ("empty", "PRAGMA application_id = 7"),
        ):
            with another_program(f"{name}.db") as other:
                other.executescript(script)
        Path("blank.db").touch()
        before = {file: file.read_bytes() for file in Path().glob("*.*")}
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            told = refused(run(*line.replace("TAKEN", port).split(" ")))
        assert words in f"{told}\n"
        assert {file: file.read_bytes() for file in Path().glob("*.*")} == before

    @each(("statement", "word"), [
        ("INSERT INTO release_story VALUES (77, 1)", "release_story has the row (1, 77), which is wrong"),
        ("DELETE FROM release_story WHERE story = 2", "release_story lacks the row (1, 2)"),
        ("UPDATE tally SET number = 9 WHERE counter = 'bug active'",
         "tally lacks the row (1, 'bug active', 1)"),
        ("INSERT INTO tally VALUES (1, 'story gone', 2)", "tally has the row (1, 'story gone', 2)"),
        ("DELETE FROM user WHERE account = 'dev1'", "names a row of user that does not exist"),
        ("UPDATE project SET deleted = 2", "CHECK constraint failed in project"),
        ("UPDATE project SET parent = 1 WHERE id = 1", "project 1: parent must not be the program"),
    ])  # fmt: skip
    def test_check_finds_a_tampered_row_and_a_broken_link(
        self, run, file_of_world, statement, word
    ):
        Path("pm.db").write_bytes(file_of_world)
        assert run("check") == (0, "pm.db is sound: pages, links and rules are right.\n", "")
        with another_program("pm.db") as other:
            other.execute("PRAGMA ignore_check_constraints = ON")
            other.execute(statement)
        code, out, _ = run("check")
        assert code == 1
        assert word in out

    def test_backup_is_a_whole_copy_that_only_its_owner_can_read(self, run):
        with opened("pm.db", load=MUCH) as client:
            removed = client.product()["id"]
            assert run("backup", "copy.db") == (0, "", "pm.db copied to copy.db\n")
            remove(client, f"/products/{removed}")
        if os.name == "posix":
            assert os.stat("copy.db").st_mode & 0o777 == 0o600
        assert run("check", "--database", "copy.db")[0] == 0
        taken = "copy.db: File exists; name a file that does not exist yet"
        assert refused(run("backup", "copy.db")) == taken
        with opened("copy.db") as copy:
            assert copy.get(f"/products/{removed}")["deleted"] is False
            assert copy.product()["id"] == removed + 1

    @TERMINALS
    def test_long_work_is_named_on_a_terminal(self, run):
        Path("f.json").write_text(json.dumps({"products": [{"name": "P"}] * 1001}))
        for command, words in (
            ("load f.json", "reading f.json …"),
            ("load absent.json", "reading absent.json …"),
        ):
            with contextlib.redirect_stderr(to_terminal()) as screen:
                pmservice.main(command.split())
            *shown, last = screen.shown().split("\r")
            assert words in "\r".join(shown)
            assert "…" not in last
            assert shown[-1].strip() == ""  # the line is cleared

    @each(("at", "there"), DAMAGES)
    def test_damaged_or_strange_database_is_refused_and_left_as_it_is(
        self, run, file_of_world, at, there
    ):
        told = r"pm\.db: .*"
        bad = bytearray(file_of_world)
        if isinstance(at, bytes):
            told = DAMAGED
            bad = bad.replace(at, at[:3] + there + at[4:])  # also in unused space
        elif there is None:
            del bad[at:]
        else:
            at %= len(bad)
            bad[at : at + len(there)] = there
        Path("pm.db").write_bytes(bad)
        Path("f.json").write_text("{}")
        for command in (*READING, "backup copy.db", "load f.json", "user new1", "--port 0"):
            assert re.fullmatch(told, refused(run(*command.split()))), command
            assert Path("pm.db").read_bytes() == bad
        assert sorted(os.listdir()) == ["f.json", "pm.db"]

    @MODES
    @each(("command", "folder_mode", "file_mode"), UNWRITABLE)
    def test_database_that_cannot_be_written_is_refused(
        self, run, unwritable, command, folder_mode, file_mode
    ):
        Client("pm.db").close()
        before = Path("pm.db").read_bytes()
        unwritable(folder_mode, file_mode)
        name = "new.db" if "new.db" in command else "pm.db"
        told = refused(run(*command.split()))
        assert re.fullmatch(f"{name}: .*; name another file with --database", told)
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

    def test_password_is_asked_for_at_a_terminal_and_ends_the_tokens(self, run, monkeypatch):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
        monkeypatch.setattr("getpass.getpass", lambda _: "typed")
        with opened("pm.db", load=dict(users=[dict(account="dev1")])) as client:
            token = client.token_of("dev1")
            assert run("user", "dev1", "--password")[0] == 0
            assert status_with(client, token) == 401
            assert client.login("dev1", "typed")


class Meanwhile:
    """Another process. It acts once, at one of the moments at which a command may touch a file.

    act: what it does; it raises an error if it cannot.  left: how many moments pass before.
    acted: whether it could; None until it has tried.  has_links: whether the file system has them.
    is_late: whether the command had begun to write by then.
    """

    ASKED = ("application_id", "user_version", "quick_check", "journal_mode")
    MOMENTS = ("BEGIN", "COMMIT", *map("PRAGMA {}".format, ASKED))
    acted = False

    def wait(self, act, moments):
        """Act when so many moments have passed."""
        self.act, self.left, self.acted, self.is_late = act, moments, None, False

    def call(self, function, *arguments, **options):
        """Call a function of the system: a moment."""
        self.come()
        if function.__name__ == "link" and not self.has_links:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        return function(*arguments, **options)

    def before_a_statement(self, _, sql, *__):
        """Take a statement as a moment if it begins or ends something, or asks what file it is."""
        if sql.startswith(self.MOMENTS):
            if self.acted is None and sql.startswith("BEGIN IMMEDIATE"):
                self.is_late = True
            self.come()

    def come(self, at_last=False):
        """Act if the moment has come. What this process does itself is no moment."""
        if self.acted is None:
            self.left -= 1
            if self.left < 0 or at_last:
                self.acted = False
                with contextlib.suppress(OSError, sqlite3.OperationalError):
                    self.act()
                    self.acted = True


# The outcomes if it could do that, of which the first one must occur, and if it could not. Each is
# an exit code and the records that the file then has, in the order of their ids. A file that is
# replaced after the command has begun to write takes along what that wrote.
# fmt: off
EVERY_MOMENT = [  # command, which file is there, what the other process does, outcomes, outcomes otherwise
    ("backup",  "-",     "makes",    "2 theirs",                    "0 mine"),
    ("move",    "-",     "makes",    "2 theirs",                    "0 mine"),
    ("load",    "-",     "makes",    "0 theirs mine",               "0 mine"),
    ("load",    "empty", "writes",   "0 theirs mine; 0 mine theirs", "0 mine"),
    ("load",    "empty", "replaces", "2 theirs; 0 theirs mine",      "0 mine"),
    ("wrong",   "-",     "makes",    "2 theirs",                    "2 nothing"),
    ("wrong",   "-",     "writes",   "2 theirs",                    "2 nothing"),
    ("wrong",   "blank", "writes",   "2 theirs",                    "2 nothing"),
    ("start",   "-",     "makes",    "0 theirs",                    "0 nothing"),
    ("start",   "empty", "replaces", "0 theirs",                    "0 nothing"),
    ("upgrade", "old",   "writes",   "0 old theirs",                "0 old"),
    ("upgrade", "old",   "replaces", "0 theirs",                    "0 old"),
    ("--load",  "-",     "makes",    "0 theirs",                    "0 mine"),
    ("--load",  "-",     "writes",   "0 theirs; 0 mine theirs",      "0 mine"),
    ("--load",  "empty", "writes",   "0 theirs; 0 mine theirs",      "0 mine"),
    ("--load",  "empty", "replaces", "2 theirs; 0 theirs",           "0 mine"),
]
# fmt: on


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Return the folder of files that commands read and other processes prepare."""
    folder = tmp_path_factory.mktemp("others")
    for name, products in (
        ("empty", "[]"),
        ("mine", '[{"id": 50, "name": "mine"}]'),
        ("theirs", '[{"name": "theirs"}]'),
        ("old", '[{"name": "old"}]'),
    ):
        fixture = folder / f"{name}.json"
        fixture.write_text(f'{{"products": {products}}}')
        Client(folder / f"{name}.db", load=fixture).close()
    (folder / "wrong.json").write_text('{"products": [{}]}')
    (folder / "blank.db").touch()
    return folder


class TestFilesOfOthers:
    """Whatever another process does with a file, and whenever: what it wrote is kept."""

    FILES = {"backup": "copy.db", "move": "copy.db"}  # what a command makes, if not pm.db

    @pytest.fixture(autouse=True)
    def prepare(self, run, others, later):
        """Work in an empty folder."""
        self.run, self.others, self.later = run, others, later

    @pytest.fixture
    def meanwhile(self, statements):
        """Yield the other process."""
        meanwhile = Meanwhile()
        statements.before = meanwhile.before_a_statement
        with pytest.MonkeyPatch.context() as patch:
            for module, names in ((os, "open link rename replace"), (sqlite3, "connect")):
                for name in names.split():
                    patch.setattr(module, name, partial(meanwhile.call, getattr(module, name)))
            yield meanwhile

    def perform(self, command):
        """Return the exit code of a command and what it tells a person."""
        fixture = str(self.others / ("wrong.json" if command == "wrong" else "mine.json"))
        if command in self.FILES:
            return self.run("backup", "copy.db", "--database", str(self.others / "mine.db"))[::2]
        if command in ("load", "wrong"):
            return self.run("load", fixture)[::2]
        module = self.later if command == "upgrade" else pmservice
        try:
            module.create_app("pm.db", load=fixture if command == "--load" else None).close()
        except module.StartError as error:
            return 2, f"pmservice: {error}\n"
        return 0, ""

    def act(self, how, file):
        """Do what another process does."""
        if how == "makes":
            with open(file, "xb") as made:
                made.write(Path(self.ready).read_bytes())
        elif how == "replaces":
            for suffix in ("-wal", "-shm"):
                Path(f"{file}{suffix}").unlink(missing_ok=True)
            os.replace(self.ready, file)
        else:
            other = another_program(f"{Path(file).absolute().as_uri()}?mode=rw")
            with other as connection:
                connection.execute("INSERT INTO product (name) VALUES ('theirs')")

    def content(self, file):
        """Return the names of the products and users that a file has."""
        if not os.path.exists(file):
            return []
        with another_program(file) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            names = connection.execute("SELECT name FROM product ORDER BY id").fetchall()
            names += connection.execute("SELECT account FROM user WHERE id > 1").fetchall()
        return [name for (name,) in names] or ["nothing"]

    @each(("command", "there", "does", "outcomes", "otherwise"), EVERY_MOMENT)
    def test_what_another_process_wrote_at_any_moment_is_kept_and_not_mixed(
        self, meanwhile, command, there, does, outcomes, otherwise
    ):
        file = self.FILES.get(command, "pm.db")
        meanwhile.has_links = command != "move"
        seen = Counter()
        for moment in itertools.count():
            for name in os.listdir():
                os.unlink(name)
            if there != "-":
                shutil.copy(self.others / f"{there}.db", file)
            self.ready = shutil.copy(self.others / "theirs.db", self.others / "prepared.db")
            meanwhile.wait(partial(self.act, does, file), moment)
            code, told = self.perform(command)
            if has_ended := meanwhile.acted is None:
                meanwhile.come(at_last=True)
            outcome = " ".join([str(code), *self.content(file)])
            possible = phrases(outcomes if meanwhile.acted else otherwise)
            if does == "replaces" and (meanwhile.is_late or has_ended):
                possible.append("0 theirs")
            assert outcome in possible, (seen, told)
            assert code == 0 or refused((code, "", told))
            assert {*os.listdir()} <= {file, f"{file}-wal", f"{file}-shm"}
            seen[outcome] += 1
            if has_ended:
                break
        assert phrases(outcomes)[0] in seen

    @only_if(POSIX, "Windows lets only administrators make links")
    def test_backup_replaces_no_link_to_nothing(self):
        os.symlink("absent.db", "copy.db")
        code, told = self.perform("backup")
        assert refused((code, "", told)).startswith("copy.db: ")
        assert os.readlink("copy.db") == "absent.db"
        assert os.listdir() == ["copy.db"]


# --- The README -----------------------------------------------------------------------------------


README = (HERE / "README.md").read_text("utf-8")
README_URL = "http://127.0.0.1:8080"


def section_of(heading: str) -> str:
    """Return the text below a heading of the README, with the headings below it."""
    (marks,) = re.findall(rf"^(##+) {re.escape(heading)}$", README, re.MULTILINE)
    _, _, text = README.partition(f"\n{marks} {heading}\n")
    return re.split(rf"^#{{2,{len(marks)}}} ", text, maxsplit=1, flags=re.MULTILINE)[0]


def code_of(heading: str, language: str) -> list[str]:
    """Return the blocks of code in a language below a heading."""
    pattern = rf"^```{language}\n(.*?)```"
    return re.findall(pattern, section_of(heading), re.MULTILINE | re.DOTALL)


def rows_of(heading: str) -> list[list[str]]:
    """Return the rows of the table below a heading, without its head."""
    (table,) = re.findall(r"(?:^\|.*\n)+", section_of(heading), re.MULTILINE)
    lines = table.splitlines()
    return [[*map(str.strip, line[1:-1].split("|"))] for line in lines[2:]]


def items_of(heading: str) -> list[str]:
    """Return the items of the lists below a heading, each as a line."""
    items = re.findall(r"^- (.*\n(?:  .*\n)*)", section_of(heading), re.MULTILINE)
    return [" ".join(item.split()) for item in items]


def alternatives_in(path: str) -> list[str]:
    """Return the paths that one with a list in braces stands for."""
    before, brace, rest = path.partition("{")
    if not brace:
        return [path]
    words, _, after = rest.partition("}")
    return [before + word + after for word in words.split(",")]


def calls_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield the calls that a text names: methods, and the paths that follow them."""
    methods: list[str] = []
    last = ""
    for word in re.findall(r"`[^`]*`|\b(?:GET|POST|PUT|DELETE)\b", text):
        if word.startswith("`"):
            if word.startswith("`/"):
                for path in alternatives_in(word.strip("`")):
                    yield from ((method, path) for method in methods)
        elif last.startswith("`"):
            methods = [word]
        else:
            methods.append(word)
        last = word


def default_of(setting: pmservice.Setting) -> str:
    """Return what the table of settings says of a setting's default."""
    if told := re.search(r"the default (with \S+|at a terminal)", setting.help):
        return f"on {told[1]}"
    if setting.default is False:
        return "off"
    return str(setting.default or "none")


CURL = needs("bash", "curl")
TESTS = "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/pytest -n auto"
# Methods of Client that the README leaves to those who read the module.
UNTOLD = {"succeed"}
# Calls that follow the first command of the controls' session, with a fault on two of them.
FAULTY = """
for number in 1 2 3; do
    curl -s -o told -w "%{http_code} " -H "Token: $T" $U/tasks/$number/start -d {}
done
"""


class TestPromises:
    """Promises of the README and the interface that the classes above do not test."""

    @each("path", ["/products/1/bugs?limit=100", "/bugs?limit=100"])
    def test_list_of_many_rows_takes_as_many_statements_as_one_of_few(self, statements, path):
        def ran(count):
            with opened(load=bugs_of_one_product(count)) as client:
                said = []
                statements.before = lambda *one: said.append(one)
                client.get(path)
                statements.before = ignore
            return len(said)

        assert ran(2) == ran(60)

    @each_of([one for one in WRITING if one.status == 200 and one.method != "DELETE"])
    def test_comment_of_a_change_is_kept(self, filled, operation):
        method, path = on_filled(operation.line)
        if state := INTERFACE[operation.line].state:
            filled.sql(f"UPDATE {TABLES[operation.array]} SET status = ?", state)
        begun = dict(realStarted="2026-11-19 09:00:00") if path.endswith("/finish") else {}
        filled.succeed(method, path, good(f"{method} {path}", comment="why", **begun))
        kept = filled.sql("SELECT DISTINCT actor FROM action WHERE comment = 'why'")
        assert kept == [("admin",)]

    def test_deleted_build_gives_a_test_task_no_title(self, filled):
        filled.put("/testtasks/1", build=1)
        assert filled.get("/testtasks/1")["buildName"] == "B1"
        remove(filled, "/builds/1")
        assert filled.get("/testtasks/1")["buildName"] == ""

    def test_links_to_bugs_that_are_not_there_are_stored_as_sent(self, filled):
        holds(filled.task(2, fromBug=99), fromBug=99)
        bug = filled.post("/bugs/1/resolve", resolution="duplicate", duplicateBug=99)
        holds(bug, duplicateBug=99)

    def test_role_of_the_profile_is_an_object(self, filled):
        filled.put("/users/4", role="qa")
        filled.token = filled.token_of("dev1")
        assert filled.get("/user")["profile"]["role"] == dict(code="qa", name="qa")

    def test_efforts_and_results_that_are_loaded_change_no_hours_and_no_counts(self, filled):
        before = filled.get("/tasks/1"), filled.get("/testcases/1")
        result = dict(case=1, caseResult="fail")
        filled.load(efforts=[dict(task=1, consumed=2, left=0)], results=[result])
        assert (filled.get("/tasks/1"), filled.get("/testcases/1")) == before

    def test_document_has_the_names_and_tags_of_the_resources(self):
        assert DOCUMENT["openapi"].startswith("3.1.")
        schemas = DOCUMENT["components"]["schemas"]
        assert {"Task", "BugInList", "TaskToCreate", "TaskChange"} <= schemas.keys()
        used = {tag for one in DESCRIBED.values() for tag in one["tags"]}
        assert used == {tag["name"] for tag in DOCUMENT["tags"]}
        assert "controls" in used

    @each_of([one for one in LISTING if one.line not in UNNAMED])
    def test_words_of_titles_narrow_every_list(self, filled, operation):
        _, path = on_filled(operation.line)
        assert records_in(filled.get(f"{path}?title=nosuchword")) == []

    def test_backup_is_put_back_as_the_readme_says(self, run):
        with opened("pm.db") as client:
            client.post("/products", name="P")
            assert run("backup", "copy.db")[0] == 0
            client.post("/products", name="Q")
        for suffix in ("-wal", "-shm"):
            Path(f"pm.db{suffix}").unlink(missing_ok=True)
        shutil.copy("copy.db", "pm.db")
        with opened("pm.db") as client:
            assert client.get("/products")["total"] == 1

    def test_two_services_share_a_database(self, tmp_path):
        path = tmp_path / "pm.db"
        with opened(path) as one, opened(path) as other:
            ids = [client.post("/products", name="P")["id"] for client in (one, other)]
            assert ids == [1, 2]
            assert one.get("/products")["total"] == other.get("/products")["total"] == 2

    def test_path_has_the_ids_of_hidden_programs(self, private):
        private.token = "dev2"
        shown = private.get("/projects")["projects"]
        assert any(project["path"] != f",{project['id']}," for project in shown)

    def test_long_lists_come_whole_or_by_500(self, filled):
        assert filled.get("/stories")["limit"] == 500
        filled.load(efforts=[dict(task=1)] * 25, results=[dict(case=1)] * 25)
        for path in ("/tasks/1/estimate", "/testcases/1/results"):
            assert len(records_in(filled.get(path))) == 25

    def test_errors_are_english_in_every_language(self):
        with opened(language="zh") as client:
            refusal = client.call("GET", "/bugs/99")
        assert refusal.json["error"] == "There is no bug 99."

    def test_container_has_all_files_that_the_package_is_made_of(self):
        copied = " ".join(re.findall("COPY (.*) \\S+", section_of("In a container"))).split()
        project = (HERE / "pyproject.toml").read_text("utf-8").partition("sdist]")[0]
        needed = re.findall(r'"((?:\.ci/)?[\w.]+\.(?:py|sql|md)|\.ci/LICENSE)"', project)
        assert {*needed, "pyproject.toml"} - {*copied} == {"pytest_pmservice.py"}  # made of another

    def test_dropped_call_has_its_status_in_the_journal(self):
        with pmservice.running(token="t") as service:
            service.fail("GET /user", drop=True, status=418)
            with pytest.raises(ConnectionError):
                service.get("/user")
            (call,) = service.calls()
        assert call["status"] == 418
        for send in (service.delete, partial(service.put, body={}), partial(service.call, "GET")):
            with pytest.raises(ConnectionError):
                send(path="/products")

    def test_classes_that_are_named_to_choose_tests_are_there(self):
        assert all(name in globals() for name in re.findall(r"-k (Test\w+)", README))


class TestReadme:
    """The README's statements, tried."""

    def test_picture_shows_what_the_page_says(self):
        with opened(demo=True, now="2026-11-20T07:42:00Z") as client:
            page = client.app.get("/", headers=as_browser()).text
        (main,) = re.findall(r"<main[^>]*>(.*)</main>", page, re.DOTALL)
        words = html.unescape(re.sub("<[^>]*>", " ", main)).split()
        told = html.unescape((HERE / ".ci" / "page.txt").read_text("utf-8")).split()
        assert words == told, "run .ci/picture"

    def test_reference_comes_after_what_most_come_for(self):
        headings = re.findall(r"^## (.*)", README, re.MULTILINE)
        expected = ["Embed it in a demo", "Test", "Write a client", "Work offline"]
        expected += ["Run it for others", "Change it", "Reference", "中文", "Licence"]
        assert headings == expected
        assert README.index("**Run the tests**") < README.index("**What it is.**")

    def test_blocks_can_be_pasted(self):
        blocks = re.findall(r"^```sh\n(.*?)```", README, re.MULTILINE | re.DOTALL)
        for block in blocks:
            assert not re.search(r"^\$ ", block, re.MULTILINE)
            if "set -eu" not in block and "#!/bin/sh" not in block:  # no script of a file
                assert " # " not in block  # at its prompt, zsh takes a comment for words
            if re.search(r"\bURL\b", block):
                before = README[: README.index(block)].rsplit("\n\n", 1)[1]
                assert "`URL` " in before
        assert "console" not in re.findall(r"^```(\w+)$", README, re.MULTILINE)
        assert "source .venv" not in README  # POSIX has the dot only

    def test_lines_are_few_and_short(self):
        lines = README.splitlines()
        assert len(lines) <= 480
        assert max(map(len, lines)) <= 125

    def test_fourteen_operations_are_named_with_what_is_odd(self, world):
        items = items_of("The fourteen exact operations")
        named = [f"{method} {path}" for item in items for method, path in calls_in(item)]
        fourteen = {
            f"{row.method} {row.path}" for row in pmservice.SPECIFIED if row.path != "/tokens"
        }
        assert {*named} == fourteen
        assert len(fourteen) == 14
        first, second = world.get("/products")["products"]
        assert [*first] == [*second]  # the same order
        assert first["deleted"] == "0"

    def test_links_lead_somewhere(self):
        headings = re.findall(r"^##+ (.*)", README, re.MULTILINE)
        anchors = {heading.lower().replace(" ", "-") for heading in headings}
        assert not re.search(r"</details>\n(?!\n|<details>)", README)  # it would swallow a heading
        links = re.findall(r"\]\((?!https:)([^)]*)\)", README)
        assert {link[1:] for link in links if link.startswith("#")} <= anchors
        assert all((HERE / link).exists() for link in links if not link.startswith("#"))

    @each("heading", ["", "中文"])
    def test_first_commands_serve_the_demo_and_run_the_tests(self, heading, tmp_path):
        text = section_of(heading) if heading else README
        demo, tests, *_ = re.findall(r"^```sh\n(.*?)```", text, re.MULTILINE | re.DOTALL)
        assert tests == f"{TESTS}\n"
        assert demo.startswith("git clone URL pmservice && cd pmservice && python3 -m venv .venv")
        command = re.findall(r"\.venv/bin/pmservice (.*)", demo)
        with Live(tmp_path, *command[0].split()) as live:
            assert live.hear("A made-up company was loaded.")
            with contextlib.closing(live.connect()) as connection:
                connection.request("GET", "/", headers=as_browser())
                page = connection.getresponse().read().decode()
        assert '<button name="account" value="' in page  # a click logs in

    def test_families_name_every_operation(self):
        named = []
        for item in items_of("Operations"):
            named += [f"{method} {path}" for method, path in calls_in(item.partition(": ")[2])]
        for line in INTERFACE.keys() ^ {*named}:
            assert line in named, f"the README does not name {line}"
            assert line in INTERFACE, f"the README names {line}"
        numbers = {int(number) for number in re.findall("([0-9]+) operations", README)}
        assert numbers == {len(INTERFACE)} == {len(named)}

    def test_controls_and_helpers_are_all_named(self, client):
        named = Counter()
        for item in items_of("Controls"):
            named.update(calls_in(item.partition(": ")[0]))
        listed = client.get("/-/")["controls"]
        assert named == Counter((one["method"], one["path"]) for one in listed)
        helpers = {name for name in vars(pmservice.Client) if not name.startswith("_")}
        told = {*re.findall(r"`(\w+)\(", section_of("Controls"))}
        told |= {*re.findall(r"`(\w+)\([a-z, ]+\)`", section_of("Test"))}
        assert told == helpers - UNTOLD

    def test_arrays_of_fixtures_are_named_and_its_fixture_can_be_loaded(self, client):
        (arrays,) = re.findall(r"any of the arrays (.*?)\.", section_of("Seeding"), re.DOTALL)
        assert {*re.findall(r"`(\w+)`", arrays)} == {*client.dump()}
        (fixture,) = code_of("Seeding", "json")
        (mistake,) = re.findall(r"`(bugs\[0\][^`]*)`", section_of("Seeding"))
        wrong = json.loads(fixture.replace("severity", "severty"))
        assert client.cannot_load(**wrong) == mistake
        assert client.load(**json.loads(fixture)) == 3

    def test_settings_are_told_with_their_defaults(self):
        told = {}
        for _, names, default, meaning in rows_of("Commands and settings"):
            told[names.replace("`", "")] = default.replace("`", "")
            assert meaning
        expected = {}
        for one in pmservice.FLAGS:
            names = f"{one.short}, {one.flag}" if one.short else one.flag
            expected[names] = default_of(one)
        assert told == expected

    def test_commands_are_told_with_what_they_take(self):
        told = []
        for item in items_of("Commands and settings"):
            command, _, purpose = item.partition(": ")
            name, _, arguments = command.strip("`").removeprefix("pmservice").strip().partition(" ")
            usage = " ".join(help_of(*name.split()).split())
            assert arguments in usage
            assert purpose
            told.append(name)
        assert sorted(told) == sorted(COMMANDS)

    def test_settings_it_names_are_there(self):
        known = "".join(help_of(*command.split()) for command in COMMANDS)
        named = " ".join(re.findall(r"pmservice[^`\n]*", README))
        flags = {*re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", named)}
        flags |= {f"--{name.lower()}" for name in re.findall(r"PMSERVICE_([A-Z]+)\b", README)}
        assert flags <= {*re.findall("--[a-z-]+", known)}
        commands = {*re.findall(r"(?:^|(?<!Error\()`)pmservice ([a-z]+)", README, re.MULTILINE)}
        assert {"load", "dump", "pull"} <= commands <= {*COMMANDS}

    @CURL
    def test_session_goes_as_it_is_written(self, tmp_path):
        (script,), (expected,) = code_of("A session", "sh"), code_of("A session", "text")
        assert self.bash(tmp_path, script) == expected

    @CURL
    def test_first_calls_of_the_chinese_section_are_answered(self, tmp_path):
        script = code_of("中文", "sh")[-1].replace("curl -s", r"curl -sS --fail -w '\n'")
        printed = self.bash(tmp_path, script).splitlines()
        changed, found = map(json.loads, filter(None, printed))
        assert changed["name"] == "网上商城"
        assert [product["name"] for product in found["products"]] == ["网上商城"]

    @CURL
    def test_calls_of_the_controls_do_what_they_say(self, tmp_path):
        (script,) = code_of("Controls", "sh")
        settings = ("--database", ":memory:", "--token", "t")
        again = script.splitlines()[-1]
        told = self.bash(tmp_path, f"{script}echo\n{script}echo\n{again}\n", *settings)
        faults, refused = '"match":"POST /tasks/*"', '"error":"This is the fault 503'
        first, second, third = told.splitlines()
        for line in (first, second):
            assert line.count(faults) == 1
        assert first.count(refused) == 2 * 2  # in the answers and in the journal
        calls = json.loads(first[first.index('{"total"') :])["calls"]
        assert sorted(call["status"] for call in calls) == [404, 503, 503]
        # six calls are not exactly three
        assert '"error":"expected 3 calls of POST /tasks/*, 6 came."' in second
        assert '"error":"expected 3 calls of POST /tasks/*, 6 came."' in third

    def test_fields_of_a_call_are_told(self, client):
        client.get("/products")
        (call,) = client.get("/-/journal")["calls"]
        assert {*re.findall(r"`(\w+)`", self.item("A call in the journal"))} == {*call}

    def test_faults_and_the_calls_that_they_answer_are_as_told(self):
        told = self.item("The body of a fault")
        with pmservice.running(token="t") as service:
            for body, kind in (("<p>", "text/html; charset=utf-8"), ([1], "application/json")):
                service.fail("GET /bugs", body=body, times=1)
                answer = service.call("GET", "/bugs")
                assert (answer.status, answer.headers["Content-Type"]) == (200, kind)
            with pytest.raises(pmservice.CallError, match="A fault needs one of"):
                service.fail("GET /bugs", body=None)
            service.clear_calls()
            service.fail("POST /products", status=503)
            service.fail("GET /bugs", drop=True)
            answer = service.call("POST", "/products", {"name": "P"})
            with pytest.raises(ConnectionError):
                service.get("/bugs")
            assert f"`{json.dumps(answer.json)}`" in told
            assert service.get("/products")["total"] == 0
            refused, dropped, _ = service.calls()
        for call, match in ((refused, "POST /products"), (dropped, "GET /bugs")):
            shown = [call[name] for name in ("fault", "status", "account", "error")]
            assert shown == [match, 503, "-", None]
        assert refused["answer"] == answer.json

    def test_journal_leaves_out_what_is_told(self, client):
        client.get("/-/clock")
        client.get("/")
        browse(client, "/bugs")
        assert client.get("/-/journal")["calls"] == []
        assert "Controls, pages and `/` are left out" in self.item("A call in the journal")

    def test_demo_has_what_is_told(self):
        with opened(demo=True) as client:
            there = client.dump()
        (told,) = re.findall(r"four products, (\d+)\s+bugs", section_of("Embed it in a demo"))
        assert (len(there["products"]), len(there["bugs"])) == (4, int(told))

    def test_deleted_records_are_as_told(self, client):
        client.load(products=[dict(id=1, name="P")], departments=[dict(id=1, name="D")])
        for path in ("/products/1", "/departments/1"):
            client.succeed("DELETE", path)
        assert client.get("/products")["total"] == 0
        assert client.get("/products/1")["deleted"]
        for method, path in (("PUT", "/products/1"), ("GET", "/departments/1")):
            assert client.call(method, path, {}).status_int == 404
        (product,) = client.dump()["products"]  # "all records, also deleted ones"
        assert product["deleted"] is True

    def test_clock_is_released_and_text_is_no_json_as_told(self):
        with pmservice.running(token="t") as service:
            service.freeze("2026-01-05T09:00:00Z")
            assert "or release it\n  (`{}`)" in section_of("Controls")
            assert service.put("/-/clock", {})["frozen"] is False
            service.fail("GET /bugs", body="<p>")
            answer = service.call("GET", "/bugs")
            with pytest.raises(json.JSONDecodeError):
                print(answer.json)

    def test_demo_in_python_is_entered_with_its_token(self):
        with opened(demo=True, token="t") as client:
            enter(client, password="t")

    def test_people_of_a_fixture_log_in_with_their_password(self, client):
        client.load(users=[dict(account="ann", password="a secret")])
        client.post("/tokens", account="ann", password="a secret")

    def test_hours_and_dates_of_tasks_are_as_told(self, world):
        task = world.task(2, left=3)
        path = f"/tasks/{task['id']}"
        assert task["activatedDate"] == ""
        refused = world.call("POST", f"{path}/finish", dict(finishedDate="2026-11-20 10:00:00"))
        assert "realStarted" in refused.json["fields"]  # it was never started
        answer = world.call(
            "POST", f"{path}/estimate", dict(consumed=2, left=0, work="w", date="2026-11-20")
        )
        assert answer.status_int == 200
        after = world.get(path)
        assert (after["consumed"], after["status"]) == (2, "done")

    def test_lists_have_the_numbers_that_are_told(self, filled):
        for path, numbers in (("/bugs", {"page", "total", "limit"}), ("/products", {"total"}),
                              ("/tasks/1/estimate", set()), ("/testcases/1/results", set())):  # fmt: skip
            answer = filled.get(path)
            assert {name for name, value in answer.items() if isinstance(value, int)} == numbers
        assert filled.get("/products?order=id")["products"][0]["id"] == 1

    def item(self, words: str) -> str:
        """Return an item of the controls' list, after the words in bold that it begins with."""
        (item,) = [one for one in items_of("Controls") if one.startswith(f"**{words}**")]
        return item.removeprefix(f"**{words}**")

    def test_call_errors_have_what_is_told(self):
        (sentence,) = re.findall(
            r"they raise\s(`pmservice\.CallError`.*?\.`) ", section_of("Test"), re.DOTALL
        )
        _, *names, message = re.findall("`([^`]+)`", sentence)
        with pmservice.running(token="t") as service:
            with pytest.raises(pmservice.CallError) as refusal:
                service.get("/tasks/7")
            service.fail("GET /bugs", body="<p>")
            with pytest.raises(pmservice.CallError) as no_json:
                service.get("/bugs")
        assert str(refusal.value) == message
        for name in names:
            assert hasattr(refusal.value, name.removeprefix("."))
        assert (refusal.value.status, no_json.value.status) == (404, 200)
        assert refusal.value.json == {"error": "There is no task 7."}
        assert no_json.value.json is None

    def test_python_without_pytest_goes_as_it_is_written(self, tmp_path):
        (tmp_path / "seed.json").write_text(code_of("Seeding", "json")[0])
        words = [sys.executable, "-c", code_of("Test", "python")[1]]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert done.stderr == ""
        assert "'name': 'Shop'" in done.stdout

    def bash(self, folder: Path, script: str, *settings: str) -> str:
        """Run a script of the README at a new service; return what it prints."""
        with Live(folder, *(settings or ("--password", "secret"))) as live:
            words = ["bash", "-e", "-c", script.replace(README_URL, live.url)]
            done = subprocess.run(
                words, cwd=folder, capture_output=True, encoding="utf-8", timeout=60
            )
        assert done.stderr == ""
        return done.stdout

    RECIPES = ("field", "list", "operation", "resource", "rule", "control", "page", "setting")

    @each("one", RECIPES)
    def test_head_of_the_module_has_a_recipe(self, one):
        head = (HERE / "pmservice.py").read_text("utf-8").partition('"""\n\nfrom')[0]
        assert re.search(rf"^To add\n(?:.*\n)*? {{4}}an? {one} ", head, re.MULTILINE)

    def test_settings_of_create_app_are_told(self):
        (told,) = re.findall(r"`create_app\(\)` takes all but (.*?)\.", README, re.DOTALL)
        others, also = (re.findall(r"`(\w+)`", one) for one in told.split("and also"))
        settings = {one.name for one in pmservice.FLAGS} - {*others} | {*also}
        assert settings - {"database"} == pmservice.Settings.__annotations__.keys()


class TestWorkingOffline:
    """Copies of what a server holds."""

    def test_copy_of_the_demo_is_made_as_it_is_written(self, run, monkeypatch):
        export, *commands = code_of("Work offline", "sh")[0].splitlines()
        first, last = re.findall(
            r"`(departments \d+|\d+ records[^`]*)`", section_of("Work offline")
        )
        monkeypatch.setenv(*export.split()[1].split("="))
        # How many tasks are open, and so shown to a member, depends on the day of the week.
        settings = dict(demo=True, password="secret", now="2026-11-22T12:00:00Z")
        shown = ""
        with pmservice.running(**settings) as source:
            for command in commands:
                words, _, file = command.replace(README_URL, source.url).partition(" > ")
                code, out, told = run(*words.split()[1:])
                assert code == 0
                if file:
                    Path(file).write_text(out)
                shown += told if file else told + out
        assert shown.splitlines()[0] == first
        assert shown.splitlines()[-1] == last

    @needs("openssl")
    def test_certificate_must_be_trusted(self, client, run, monkeypatch):
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
        command += " -keyout key.pem -out cert.pem -days 2"
        command += " -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
        subprocess.run(command.split(), check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("cert.pem", "key.pem")
        monkeypatch.setenv("PMSERVICE_PULL_TOKEN", "t")
        server = wsgiref.simple_server.make_server("127.0.0.1", 0, client.service)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = f"https://127.0.0.1:{server.server_port}"
        with server, ThreadPoolExecutor(1) as thread:
            thread.submit(server.serve_forever, 0.05)
            code, out, told = run("pull", url)
            monkeypatch.setenv("SSL_CERT_FILE", "cert.pem")
            trusted, *_ = run("pull", url)
            server.shutdown()
        assert (code, out, trusted) == (2, "", 0)
        assert "/user was not answered: [SSL: CERTIFICATE_VERIFY_FAILED]" in told


OTHER_LANGUAGES = "Other languages"
NODE = needs("node")
SHELL = needs("mkfifo", "curl")
# A program for unittest around the line that the README gives.
UNITTEST = """
import unittest
import pmservice

class ShopTest(unittest.TestCase):
    def setUp(self):
        BEGIN

    def test_a_product_is_listed(self):
        self.service.post("/products", {"name": "Shop"})
        self.assertEqual(self.service.get("/products")["total"], 1)
"""
# A test that stands behind those of the recipe, and kills them.
KILLING = """
test("it is killed", () => process.kill(process.pid, "SIGKILL"));
"""
# fmt: off
KILLED = [  # command, its file, of which the last line kills the process that runs it
    pytest.param("node killed.mjs", code_of(OTHER_LANGUAGES, "js")[0] + KILLING, marks=NODE),
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
        recipe = Path("shop.test.mjs").read_text()
        before, start, test = recipe.partition('test("')
        again = start + test  # it finds no product of the first one
        Path("shop.test.mjs").write_text(before + start + test + again)
        done = self.run_recipe("node --test")
        assert re.search("^. pass 2$", done.stdout, re.MULTILINE)
        self.check_ended(done.stdout)

    @SHELL
    def test_script_creates_and_lists_and_stops_the_service(self):
        done = self.run_recipe("sh run")
        created, listed = map(json.loads, done.stdout.splitlines())
        assert (created["id"], listed["total"]) == (1, 1)
        self.check_ended(done.stderr)

    @each("words", [pytest.param("node --test", marks=NODE), pytest.param("sh run", marks=SHELL)])
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

    @only_if(sys.version_info >= (3, 11), "enterContext() came with Python 3.11")
    def test_unittest_passes(self):
        (begin,) = re.findall(
            r"`(self\.service = .*?)` in `setUp\(\)`", section_of(OTHER_LANGUAGES)
        )
        Path("test_shop.py").write_text(UNITTEST.replace("BEGIN", begin))
        done = subprocess.run([sys.executable, "-m", "unittest"], capture_output=True, text=True)
        assert done.returncode == 0
        assert "Ran 1 test in" in done.stderr


class TestRunningItForReal:
    """The files and commands for running it that need no container and no systemd."""

    SECTION = section_of("In a container")

    def health(self, url: str) -> int:
        """Return the exit code of the image's health check on this service."""
        (check,) = re.findall(r"HEALTHCHECK .*\n +CMD (.*)", self.SECTION)
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

    @only_if(POSIX, "Windows has no POSIX shell")
    def test_nightly_backup_makes_a_copy_and_removes_old_ones_then_only(self, tmp_path):
        def nightly() -> int:
            return subprocess.run(["sh", "-e", "-c", script], stderr=subprocess.DEVNULL).returncode

        (script,) = code_of("Run it for others", "sh")
        assert script.startswith("#!/bin/sh -e\n")
        for name, here in (
            ("/opt/pmservice/bin/pmservice", f"'{sys.executable}' '{HERE / 'pmservice.py'}'"),
            ("/var/backups/pmservice", f"'{tmp_path}'"),
            ("/var/lib/pmservice/pm.db", "served.db"),
        ):
            script = script.replace(name, here)
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
        with another_program(copy) as kept:
            assert kept.execute("SELECT count(*) FROM product").fetchone() == (2,)
