#!/usr/bin/env python3
"""A project-management service in one file and one database: ZenTao's REST API v1, quirks included.

Programs, projects, products, stories, plans, builds, releases, tasks, bugs, test cases and test
tasks over HTTP with JSON, for clients that were written for the real server. `pmservice` serves it;
`create_app()` returns the WSGI application.

Read the file from top to bottom: each room uses only the rooms above it, types aside. Rooms 1 to 12
are the product; the others surround it. To find out what a request does, search for its path in
OPERATIONS (room 11): the row names the view or list that shows the answer (rooms 5 and 6), the body
that the operation reads (room 4) and the function that performs it (room 8). What a record shows,
and who sees it, are the views of schema.sql. All routes stand at the head of room 16.

    1 Words         the specification's enumerations and odd constants
    2 Errors        how a request is refused
    3 Kinds         the types of fields: how requests write them, how answers show them
    4 Resources     one row a resource: table, fields, defaults; the bodies of requests
    5 Views         one row a way of showing a record
    6 Store         the queries: lists, rules between records, rows
    7 Database      the file: opening, transactions
    8 Rules         what the operations do; the table of transitions
    9 Users         users, their passwords and tokens
    10 Fixtures     all records as one JSON document, in and out
    11 Operations   the table of what can be called
    12 Exchange     a request: its path, query and body; the answers of operations as JSON
    13 OpenAPI      the tables above as a document
    14 Control      clock, journal, faults and snapshots, for tests
    15 Page         what browsers are shown
    16 Service      the WSGI application: all routes, for programs and for browsers
    17 Server       waitress: connections and threads
    18 Demo         a made-up company
    19 Application  create_app(), running() and what the pytest plugin calls
    20 Pull         the records of a running server, read over HTTP
    21 Command      settings and the command line

To add
    a field       a column in a new part of schema.sql; its name in the fields of the resource
                  (room 4), with its kind unless it is a text, and in the bodies that take it; its
                  labels (room 15)
    a list        a row of OPERATIONS made by lists(); its states are conditions in a BROWSE_… table
                  (room 6); a row of NARROWINGS (room 6) if its records have no column with the id
                  of the record in the path
    an operation  a row of OPERATIONS. Creating, changing or deleting a record needs no function; a
                  new state needs a row of the table of transitions (room 8) and moves(); anything
                  else a function of room 8
    a resource    a table and its views in schema.sql, with its line in the table of who sees what;
                  its enumerations (room 1), fields, row, bodies and name in RESOURCES (room 4),
                  views (room 5), states and row of HOMES (room 6), rows of OPERATIONS, labels and
                  row of LAYOUTS (room 15), a line in PULLED (room 20) if real servers have it
    a rule        between fields: a function of room 4; between records: a row of CONSTRAINTS
    a control     a row of CONTROLS and a method of Controls (room 14)
    a page        a row of PAGES and its function (room 16), what it shows in Sheet, its labels
                  (room 15)
    a setting     a row of SETTINGS (room 19), and its line in Settings

The tests say all of this again from the specification: they name what lacks a row there.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import dataclasses
import errno
import fnmatch
import functools
import hashlib
import hmac
import http.client
import io
import ipaddress
import itertools
import json
import logging
import math
import operator
import os
import re
import secrets
import select
import shlex
import signal
import socket
import sqlite3
import stat
import sys
import threading
import time
import unicodedata
import urllib.parse
import weakref
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import MAXYEAR, MINYEAR, date, datetime, timedelta, timezone, tzinfo
from http import HTTPStatus
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, TextIO, TypedDict
from wsgiref.util import is_hop_by_hop

try:
    import bottle
    from waitress.channel import ClientDisconnected, HTTPChannel
    from waitress.parser import HTTPRequestParser, ParsingError
    from waitress.server import TcpWSGIServer
    from waitress.task import WSGITask
except ImportError as error:
    if __name__ != "__main__":
        raise
    remedy = "to install what it needs, run: pip install bottle waitress"
    print(f"pmservice: {error}; {remedy}", file=sys.stderr)
    sys.exit(2)

if TYPE_CHECKING:
    from typing_extensions import Unpack  # type checkers bring it; typing has it since Python 3.11

__version__ = "1.0.0"
__all__ = [
    "Answer",
    "CallError",
    "Client",
    "Running",
    "Service",
    "Settings",
    "StartError",
    "create_app",
    "running",
]

log = logging.getLogger("pmservice")

# --- 1 Words: the specification's enumerations and odd constants ----------------------------------
# Plain values, each quoted from the specification or from the contract that fills its gaps.

# fmt: off
ACLS            = ("open", "private")
BUDGET_UNITS    = ("CNY", "USD")
PRODUCT_TYPES   = ("normal", "branch", "platform")
PRODUCT_STATES  = ("normal", "closed")
MODELS          = ("scrum", "waterfall")
PROJECT_TYPES   = ("program", "project", "sprint", "stage")
PROJECT_STATES  = ("wait", "doing", "suspended", "closed")
RELEASE_STATES  = ("normal", "terminate")
TASK_TYPES      = ("design", "devel", "request", "test", "study", "discuss", "ui", "affair", "misc")
TASK_STATES     = ("wait", "doing", "done", "pause", "closed", "cancel")
BUG_TYPES       = ("codeerror", "config", "install", "security", "performance", "standard", "automation",
                   "designdefect", "others")
BUG_TYPE_NAMES  = ("CodeError", "Configuration", "Installation", "Security", "Performance", "Standard Specification",
                   "TestScript", "DesignDefect", "Others")  # in English, as the real server offers them
BUG_STATES      = ("active", "resolved", "closed")
RESOLUTIONS     = ("bydesign", "duplicate", "external", "fixed", "notrepro", "postponed", "willnotfix")
CASE_TYPES      = ("feature", "performance", "config", "install", "security", "interface", "unit", "other")
CASE_STAGES     = ("unittest", "feature", "intergrate", "system", "smoke", "bvt")  # "spelling exactly as given"
CASE_STATES     = ("wait", "normal", "blocked", "investigate")
# Beyond the specification: the words of ZenTao's REST API v1.
USER_TYPES      = ("inside", "outside")
GENDERS         = ("f", "m")
STEP_TYPES      = ("step", "group", "item")
RUN_RESULTS     = ("pass", "fail", "blocked", "n/a")
STORY_TYPES     = ("story", "requirement")
STORY_STATES    = ("draft", "active", "closed", "changed")  # in the order of a product's counters
STORY_REASONS   = ("done", "subdivided", "duplicate", "postponed", "willnotdo", "cancel", "bydesign")
STORY_STAGES    = ("wait", "planned", "projected", "released", "closed")
VOTES           = ("pass", "reject", "clarify", "revert")
PLAN_STATES     = ("wait", "doing", "done", "closed")
TESTTASK_STATES = ("wait", "doing", "done", "blocked")
WITH_MODULES    = ("story", "task", "bug", "case")

# How an unset value is written in answers, as JSON text.
NULL, BLANK = "null", '""'
UNSET_MOMENT = "1969-12-31T16:00:00Z"
EPOCH       = f'"{UNSET_MOMENT}"'       # "Unset datetimes appear … (in bug records) as `1969-12-31T16:00:00Z`"
EPOCH_DAY   = '"1970-01-01"'            # "an unset bug deadline is `1970-01-01`"
ZERO_DAY    = '"0000-00-00"'            # "an unset real start or end of a project is `0000-00-00`"

# fmt: on

ADMIN = "admin"
LONG_TERM = "2059-12-31"  # the end that the real server gives to what has none
OPEN_END = "2030-01-01"  # the end that the real server gives to a plan that has none
MAX_INT = 2**63 - 1
# The largest id of a record: JSON readers are exact up to it, and the default of `order`, five
# times the id, still fits in 64 bits.
MAX_ID = 2**53
MAX_NAME = 255  # characters
MOST_ITEMS = 1000  # of an array in a body: reading more would hold up others
MOST_BUILDS = 100  # of a bug that are shown with their titles
MOST_BROKEN = 20  # broken items of an array that a refusal names
SECRET = re.compile("password|token", re.IGNORECASE)  # each name of a secret has one of these words
MAX_TEXT = 64 * 1024  # bytes
MAX_LEVELS = 50  # of departments, and of programs


# --- 2 Errors: how a request is refused -----------------------------------------------------------
# Each refusal carries its HTTP status and the sentence that the client reads. Nothing here knows
# who sends it.


Members = dict[str, Any]  # of a JSON object, by name
Fields = Mapping[str, Any]  # the same, only read: a body, a record, a JSON Schema
NO_FIELDS: Fields = MappingProxyType({})


class Refusal(Exception):
    """A request that the service refuses: an HTTP status, a sentence for a person."""

    def __init__(self, status: int, sentence: str, **hint: str):
        super().__init__(sentence)
        self.status = status
        self.body: Members = {"error": sentence, **hint}


class Invalid(Refusal):
    """A body or query that breaks rules; `fields` maps every broken field to the rule it breaks.

    As for a dict, fields can also be given as keywords.
    """

    def __init__(self, fields: Mapping[str, str] = NO_FIELDS, **more: str):
        self.fields = {**fields, **more}
        broken = [f"{field} {rule}" for field, rule in self.fields.items()]
        super().__init__(400, sentences(broken))
        self.body["fields"] = self.fields


class StartError(Exception):
    """The service cannot start or a command cannot run; the text says what to do, on one line."""


BUSY = "The database is busy; try again."


class Busy(Refusal, StartError):
    """Another writer held the database for as long as this could wait.

    A request reads it as a refusal, a command as the reason why it stops.
    """

    def __init__(self, sentence: str = BUSY):
        super().__init__(503, sentence)


def sentences(parts: Iterable[str]) -> str:
    """Return texts as sentences on one line, because rules contain commas and semicolons."""
    return " ".join(part if part.endswith(("?", ".")) else f"{part}." for part in parts)


# --- 3 Kinds: the types of fields -----------------------------------------------------------------
# A kind reads one JSON value, or raises ValueError with the rule it breaks, worded to follow the
# field's name. Nothing here knows the database: links and persons are resolved against it later, by
# `Settler` (room 8).


# From a JSON value to a checked one; raises ValueError with the rule that it breaks.
Reader = Callable[[Any], Any]


class Part(NamedTuple):
    """Where the rows are that are a part of a record.

    owner: the column of the record's id.  item: if a row is only the id of another record, the
    column of that, else "".  hides: whether answers leave out the items that the caller cannot
    find; a change keeps those.
    """

    table: str
    owner: str
    item: str = ""
    hides: bool = False


class Kind(NamedTuple):
    """A field's type: how requests write it and how answers show it.

    look: how answers write it (View.writer, room 5) and how it is stored (Settler, room 8): "text",
        "nullable", "number", "hours", "flag", "boolean", "person", "people", "references",
        "moment", "stamp", "day"; "commas" for a text that may be sent as an array; "plain" as
        SQLite returns it; "word" for texts that never need escaping, which are only put between
        quotes.
    read: how requests write it.
    schema: the JSON Schema of what requests may send; any text unless given.
    absent: the values that count as "not sent": null; "", except for texts and persons, where it is
        a value; and the placeholder that some answers show for an unset value.
    source: where values come from.
        "given": a column that requests or fixtures set.
        "derived": worked out by the resource's view.
        "part": rows of another table, see `part`.
        "fixed": the constant `value`, which every answer shows.
    target: the resource that a link must name (a key of RESOURCES).
    needed: whether a link that is sent must not be 0, and a person not "".
    shown: the JSON Schema of answers, for the looks "plain" and "word", which have no Writer (room
        5).
    sql: the expression that answers show, "" for the column that is called like the field.
    part: where the rows of a part are.
    """

    look: str
    read: Reader
    schema: Fields = {"type": "string"}
    absent: tuple[Any, ...] = (None, "")
    source: str = "given"
    value: object = None
    target: str = ""
    needed: bool = False
    shown: Fields = {"type": "integer", "format": "int64"}
    sql: str = ""
    part: Part | None = None


ASCII_INT = re.compile(r"-?[0-9]{1,19}")
ASCII_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
ASCII_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
ASCII_MOMENT = re.compile(
    r"""
    ([0-9]{4}-[0-9]{2}-[0-9]{2})                 # the day
    (?:
        [ T]
        ((?!24)[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)  # the time; only Python 3.14 would take 24:00
        (?:(?<=:[0-9]{2}:[0-9]{2})\.[0-9]+)?     # a fraction, only after seconds; it is dropped
        (Z|[-+][0-9]{2}:[0-9]{2})?               # the zone
    )?
    """,
    re.VERBOSE,
)
ASCII_ACCOUNT = re.compile(r"[A-Za-z0-9_.@-]{1,30}")


to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def is_number(value: object) -> bool:
    """Tell whether a JSON value is a number; Python counts booleans among them."""
    return type(value) in (int, float)


def bounded(value: Any, least: float, most: float) -> Any:
    """Return a number if it lies between two inclusive bounds. Raises ValueError."""
    if not value >= least:  # `not >=` also rejects NaN
        raise ValueError(f"must be {least} or more")
    if value > most:
        raise ValueError(f"must be {most} or less")
    return value


def as_whole(value: object) -> Any:
    """Return a number without a fraction, such as 3.0, as an int, and anything else as it is."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def next_count(count: int) -> int:
    """Return the number after a counter's, which ends where a fixture's numbers do."""
    return min(count + 1, MAX_ID)


def whole(least: int, most: int = MAX_INT) -> Callable[[Any], int]:
    """Return a reader of an int, of its text or of 3.0, between two inclusive bounds."""

    def read(value: object) -> int:
        value = as_whole(value)
        if isinstance(value, str) and ASCII_INT.fullmatch(value):
            value = int(value)
        if not is_number(value) or isinstance(value, float):
            raise ValueError("must be a whole number")
        return int(bounded(value, least, most))

    return read


def number_of(unit: str, least: int, most: int) -> Reader:
    """Return a reader of an int, a float or their text, between two inclusive bounds."""

    def read(value: object) -> float:
        if isinstance(value, str) and ASCII_NUMBER.fullmatch(value):
            value = float(value)
        if not is_number(value):
            raise ValueError(f"must be a number of {unit}")
        # Before it becomes a float, which a huge int cannot, and after, because rounding may lift
        # it past `most`: 2^63 - 1 becomes 2^63.
        checked = bounded(value, least, most)
        return float(bounded(float(checked), least, most))

    return read


def read_text(value: Any) -> str:
    """Return text, also from a number: no NUL, no lone surrogate, at most 64 KiB."""
    if is_number(value):
        if not -MAX_INT - 1 <= value <= MAX_INT:
            raise ValueError("must be text, or a number within 64 bits")
        value = str(as_whole(value))
    if not isinstance(value, str):
        raise ValueError("must be text")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise ValueError("must not contain a lone surrogate") from None
    if size > MAX_TEXT:
        raise ValueError(f"must be at most {MAX_TEXT} bytes long")
    if "\0" in value:
        raise ValueError("must not contain a NUL character")
    return value


def filled(most: int, *, least: int = 1) -> Reader:
    """Return a reader of text that is not blank and has so many characters."""

    def read(value: object) -> str:
        words = read_text(value)
        if not (words.strip() and least <= len(words) <= most):
            raise ValueError(f"must be {least} to {most} characters, not blank")
        return words

    return read


def id_or_value(item: object) -> Any:
    """Return the id of an object, as answers show linked records, or the item itself."""
    return item.get("id") if isinstance(item, dict) else item


def read_commas(value: object) -> str | list[str]:
    """Return text, or the items of an array of texts, or of objects with an `id`.

    `Settler` joins the items by commas; together they are as long as a text may be.
    """
    if not (isinstance(value, (str, list)) or is_number(value)):
        raise ValueError("must be text or an array of texts")
    if not isinstance(value, list):
        return read_text(value)
    items = [read_text(id_or_value(one)) for one in value]
    read_text(",".join(items))
    return items


def read_filled_commas(value: object) -> str | list[str]:
    """Return what `read_commas` does, unless that is nothing but commas and blanks."""
    words = read_commas(value)
    if not "".join(words).replace(",", "").strip():
        raise ValueError("must be text or an array of texts, not empty")
    return words


def items_between(commas: str) -> list[str]:
    """Return the accounts of a stored white list, `,dev1,qa1,`, or other items between commas."""
    return [item for item in commas.split(",") if item]


def split_commas(text: str) -> list[str]:
    """Return what stands between the commas of a text. Raises ValueError for too many items."""
    refuse_many(text.count(",") + 1)
    return text.split(",")


def refuse_many(count: int) -> None:
    """Raise ValueError if this is more than an array of a body may have."""
    if count > MOST_ITEMS:
        raise ValueError(f"must have at most {MOST_ITEMS:,} items (got {count})")


def matching(pattern: str, what: str) -> Reader:
    """Return a reader of text that is empty or matches a pattern; `what` says what it must be."""

    def read(value: object) -> str:
        words = read_text(value)
        if words and not re.fullmatch(pattern, words):
            raise ValueError(f"must be {what}")
        return words

    return read


def read_day(value: object) -> str:
    """Return a real day, YYYY-MM-DD."""
    if isinstance(value, str) and ASCII_DAY.fullmatch(value):
        with contextlib.suppress(ValueError):
            return date.fromisoformat(value).isoformat()
    raise ValueError("must be a real day, YYYY-MM-DD")


def read_moment(value: object) -> datetime:
    """Return a moment from YYYY-MM-DD hh:mm:ss, a day (its midnight), or ISO 8601 with its zone.

    Seconds may be left out. Without a zone the result is naive: the service's is not known here.
    """
    if isinstance(value, str) and (match := ASCII_MOMENT.fullmatch(value)):
        day, clock, zone = match.groups()
        offset = "+00:00" if zone == "Z" else zone or ""
        if not MINYEAR < int(day[:4]) < MAXYEAR:  # room for every zone's offset
            raise ValueError("must be in the years 2 to 9998")
        with contextlib.suppress(ValueError):
            return datetime.fromisoformat(f"{day}T{clock or '00:00'}{offset}")
    raise ValueError("must be a moment, YYYY-MM-DD hh:mm:ss")


def read_account(value: object) -> str:
    """Return an account: 1 to 30 letters, digits and _ . - @ signs."""
    if isinstance(value, str) and ASCII_ACCOUNT.fullmatch(value):
        return value
    raise ValueError("must be an account: 1 to 30 letters, digits, _ . - @")


def read_person(value: object) -> str | int | None:
    """Return the account or the id of a user, also from a user reference object; None for ""."""
    if isinstance(value, dict):
        value = value.get("account") or value.get("id")
    if value == "":
        return None
    if isinstance(value, str):
        return read_account(value)
    with contextlib.suppress(ValueError):
        return whole(1)(value)
    raise ValueError("must be an account, a user's id or a user reference")


def read_people(value: object) -> list[str | int]:
    """Return persons from an array, from accounts separated by commas, or from one person."""
    if isinstance(value, str):
        value = split_commas(value)
    given = value if isinstance(value, list) else [value]
    people = dict.fromkeys(map(read_person, given))
    return [person for person in people if person is not None]


def read_whitelist(value: object) -> list[str | int]:
    """Return persons from an array or from accounts separated by commas."""
    if not isinstance(value, (list, str)):
        raise ValueError("must be an array of persons, or accounts separated by commas")
    return read_people(value)


def read_flag(value: object) -> int:
    """Return 0 or 1 from a boolean as the interface and queries write it."""
    if value in (0, 1, "0", "1"):  # True equals 1, False equals 0
        return int(value)
    if value in ("false", "true"):
        return int(value == "true")
    raise ValueError("must be true or false")


def read_ids(value: object, least: int = 1) -> list[int]:
    """Return the record ids of an array, or of text with commas, without duplicates."""
    if isinstance(value, str):
        value = [id for id in split_commas(value) if id]
    if not isinstance(value, list):
        raise ValueError("must be an array of ids")
    read_id = whole(least)
    try:
        ids = [read_id(id_or_value(one)) for one in value]
    except ValueError:
        raise ValueError(f"must be an array of ids: whole numbers from {least}") from None
    return list(dict.fromkeys(ids))


def read_some_ids(value: object) -> list[int]:
    """Return the record ids of an array that is not empty, without duplicates."""
    if not isinstance(value, list) or not value:
        raise ValueError("must be an array of ids, not empty")
    return read_ids(value)


def read_plan_ids(value: object) -> list[int]:
    """Return the record ids of an array, or one id as an array; 0 names none."""
    listed = value if isinstance(value, (list, str)) else [value]
    return [id for id in read_ids(listed, least=0) if id]


def only_one(read: Reader) -> Reader:
    """Return a reader that takes the array of one value, which some clients send, for the value."""

    def read_one(value: object) -> Any:
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        return read(value)

    return read_one


def read_trunk_or_build(value: object) -> int:
    """Return the id of a build, 0 for "trunk"."""
    if value == "trunk":
        return 0
    with contextlib.suppress(ValueError):
        return whole(1)(value)
    raise ValueError("must be trunk or the id of a build")


def read_stages(value: object) -> str:
    """Return stages joined by commas, from an array or from text that is joined already."""
    if not isinstance(value, list):
        value = items_between(read_text(value))
    if not all(word in CASE_STAGES for word in value):
        raise ValueError(f"must be one or more of {', '.join(CASE_STAGES)}")
    return read_text(",".join(value))


def refuse_constant(name: str) -> NoReturn:
    """Raise Refusal for NaN or Infinity, which Python reads but JSON does not have."""
    raise Refusal(400, f"JSON has no {name}.")


ALIKE = 0.7  # the least ratio of difflib at which one word is suggested for another


def suggest(word: object, known: Iterable[str], prefix: str = "") -> str:
    """Return "; did you mean WORD?" for the known word most like an unknown one, or ""."""
    import difflib  # here, because most processes never need it

    near = difflib.get_close_matches(str(word)[:MAX_NAME], known, 1, ALIKE)
    return f"; did you mean {prefix}{near[0]}?" if near else ""


def words_of(words: Sequence[str]) -> Callable[[Any], str]:
    """Return a reader of one word of an enumeration."""

    def read(value: object) -> str:
        if isinstance(value, str) and value in words:
            return value
        allowed = ", ".join(word or "(empty)" for word in words)
        raise ValueError(f"must be one of {allowed}{suggest(value, words)}")

    return read


def read_bug_state(value: object) -> str:
    """Return the state of a bug, also from the object that answers show."""
    if isinstance(value, dict):
        value = value.get("code")
    return words_of(BUG_STATES)(value)


# The `$anchor` of a schema is its name among the components of the OpenAPI document (room 13).
INTEGER = {"type": "integer", "format": "int64"}
STRING = {"type": "string"}
ANY_OBJECT = {"type": "object", "additionalProperties": True}


def text_schema(pattern: str) -> Fields:
    """Return the schema of text that matches a pattern."""
    return {"type": "string", "pattern": pattern}


# fmt: off
NOUNS = {"case": "TestCase", "testcase": "TestCase", "testtask": "TestTask",
         "testcases": "TestCases", "testtasks": "TestTasks"}  # words that are not written as one
# fmt: on


def spelled(words: str) -> str:
    """Return words as the name of a component: TestCases for "testcases"."""
    return "".join(NOUNS.get(word) or word.title() for word in words.lower().split("_"))


def object_of(properties: Fields, name: str) -> Members:
    """Return the schema of an object that has all of these properties."""
    return {
        "$anchor": name,
        "type": "object",
        "properties": properties,
        "required": list(properties),
    }


def or_null(schema: Fields) -> Fields:
    """Return the schema of a value that may also be null."""
    if "$anchor" in schema:  # a reference cannot have another type beside it
        return {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}


def array_of(items: Fields, **bounds: int) -> Fields:
    return {"type": "array", "items": items, **bounds}


def named(name: str, schema: Fields) -> Fields:
    """Return a schema with a name among the components."""
    return {"$anchor": name, **schema}


def one_of(name: str, *words: str) -> Kind:
    """Return the kind of an enumeration, with its name among the components.

    What is sent need not be "", even if that is a word.
    """
    sent = named(name, {"type": "string", "enum": [word for word in words if word]})
    shown = sent
    if "" in words:
        shown = {**sent, "$anchor": f"{name}OrEmpty", "enum": list(words)}
    return Kind("word", words_of(words), sent, shown=shown)


def whole_kind(least: int = -MAX_INT - 1, most: int = MAX_INT) -> Kind:
    """Return the kind of an int between two inclusive bounds."""
    bounds = {"minimum": least, "maximum": most}
    ends = (-MAX_INT - 1, MAX_INT)  # of 64 bits, which go without saying
    schema = {name: bound for name, bound in bounds.items() if bound not in ends}
    return Kind("plain", whole(least, most), INTEGER | schema)


def link(target: str) -> Kind:
    """Return the kind of the id of a `target` record. 0 means unset, stored as NULL."""
    return NATURAL._replace(target=target)


def needed(target: str) -> Kind:
    """Return the kind of a link that must name a record."""
    return link(target)._replace(needed=True)


def rows_of(part: Part, target: str) -> Kind:
    """Return the kind of an array of ids of `target` records, each of them a row of a part."""
    return Kind(
        "plain",
        read_ids,
        array_of(INTEGER),
        source="part",
        target=target,
        shown=array_of(INTEGER),
        part=part,
    )


def each_of(kind: Kind) -> Kind:
    """Return the kind of an array of values, or of one value that stands for an array of one."""

    def read(value: object) -> list[Any]:
        values = value if isinstance(value, list) else [value]
        return [kind.read(one) for one in values]

    return kind._replace(read=read, schema=array_of(kind.schema))


def emptied(kind: Kind) -> Kind:
    """Return a kind for which "" and the placeholder of an unset value empty the field.

    For the given kind they mean "not sent", as null does for both.
    """

    def read(value: object) -> Any:
        return None if value in kind.absent else kind.read(value)

    return kind._replace(absent=(None,), read=read)


def fixed(value: object) -> Kind:
    """Return the kind of a constant field: the specification's samples show this value."""
    return Kind("plain", read_text, source="fixed", value=value)


# Make a kind for which "" is a value: of texts and persons.
text_kind = functools.partial(Kind, absent=(None,))

# The schemas say what clients should send. The readers take more, such as the text of a number.
ONE_ACCOUNT = "[A-Za-z0-9_.@-]{1,30}"
TIME_PATTERN = "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$"
FLOAT = {"type": "number", "format": "double"}
HOURS_SCHEMA = {**FLOAT, "minimum": 0}
ACCOUNT_SCHEMA = text_schema(f"^{ONE_ACCOUNT}$")
DAY_SCHEMA = {**STRING, "format": "date"}
FLAG_SCHEMA = {"type": "boolean"}
# fmt: off
INT          = whole_kind()
ID           = whole_kind(1, MAX_ID)
NATURAL      = whole_kind(0)
COUNTER      = whole_kind(0, MAX_ID)
DEPARTMENT_ORDER = whole_kind(0, 10**9)  # so that the orders that continue from it, see schema.sql, still fit
PAGE         = whole_kind(1)._replace(absent=(None, "", "0"))
LIMIT        = whole_kind(1, 100_000)._replace(absent=(None, "", "0"))
MAYBE_INT    = INT._replace(look="number")
MONEY        = INT._replace(look="word", shown=STRING)  # "int (sent) / string (returned)"
RELEASE_BUILD = NATURAL._replace(read=only_one(whole(0)))
#                   look         read               schema of a request
HOURS        = Kind("hours",     number_of("hours", 0, MAX_INT), HOURS_SCHEMA)
ESTIMATE     = Kind("hours",     number_of("hours", 0, 10**9), HOURS_SCHEMA)  # so that sums stay within 64 bits
NAME         = text_kind("text",      filled(MAX_NAME),  {**STRING, "minLength": 1, "maxLength": MAX_NAME})
TEXT         = text_kind("text",      read_text)
MAYBE_TEXT   = TEXT._replace(look="nullable")
EMAIL        = text_kind("text",      matching(r"[^@\s]+@[^@\s]+", "an e-mail address"))
PHONE        = text_kind("text",      matching(r"\+?[0-9][0-9 ()-]{4,24}", "a phone number"))
FILLED       = text_kind("text",      filled(MAX_TEXT),  {**STRING, "minLength": 1})
COMMAS       = text_kind("commas",    read_commas)
FILLED_COMMAS = COMMAS._replace(read=read_filled_commas, schema=FILLED.schema)
ACCOUNT      = text_kind("text",      read_account,      ACCOUNT_SCHEMA)
PASSWORD     = FILLED._replace(look="nullable")
NEW_PASSWORD = text_kind("nullable",  filled(MAX_TEXT, least=6), {**STRING, "minLength": 6})
DAYS         = Kind("day",       read_day,          DAY_SCHEMA, absent=(None, "", "0000-00-00"))
DEADLINE     = DAYS._replace(absent=(None, "", "1970-01-01"))
MOMENT       = Kind("moment",    read_moment,       text_schema(TIME_PATTERN), absent=(None, "", UNSET_MOMENT))  # "the form `YYYY-MM-DD hh:mm:ss`"
STAMP        = MOMENT._replace(look="stamp", absent=(None, ""))  # a moment that every answer shows as "" when unset
PERSON       = text_kind("person",    read_person,       text_schema(f"^({ONE_ACCOUNT})?$"))
SOMEBODY     = PERSON._replace(needed=True)
ASSIGNEE     = PERSON._replace(read=only_one(read_person))
PEOPLE       = text_kind("people",    read_people,       array_of(ACCOUNT_SCHEMA))
WHITELIST    = text_kind("references", read_whitelist,    PEOPLE.schema)
FLAG         = Kind("flag",      read_flag,         FLAG_SCHEMA)
YES_NO       = FLAG._replace(look="boolean")  # a flag that every answer shows as a boolean
STAGES       = text_kind("text",      read_stages,       one_of("TestCaseStage", *CASE_STAGES).schema)
BUG_STATE    = one_of("BugState", *BUG_STATES)._replace(read=read_bug_state)
PRODUCTS     = Kind("plain",     read_some_ids,     array_of(INTEGER, minItems=1), target="product")
STORY_IDS    = PRODUCTS._replace(target="story")
BUG_IDS      = PRODUCTS._replace(target="bug")
# fmt: on


def derived(kind: Kind = INT, sql: str = "") -> Kind:
    """Return the kind of a field that the resource's view works out."""
    return kind._replace(source="derived", sql=sql)


# From the names of fields to what is wrong with them.
Problems = Mapping[str, str]
# See Shape.
Rule = Callable[[Fields, Fields], Problems]
# From a field, its kind and a checked value to the value that is stored.
Settle = Callable[[str, Kind, Any], Any]


def unsettled(field: str, kind: Kind, value: object) -> Any:
    """Return a checked value as it is, where there is no database to resolve it against."""
    return value


def expectation(kind: Kind) -> str:
    """Return " and must be …", the rule that a missing value breaks, or ""."""
    # "" first: it breaks the more exact rule, such as a length. Whoever takes "" refuses None.
    for nothing in ("", None):
        try:
            kind.read(nothing)
        except ValueError as error:
            return f" and {error}"
    return ""


class Shape:
    """The fields that a body may have: their kinds, the required ones, and the rules between them.

    A rule is called as rule(record, after) and returns {field: problem}. record: the row that is to
    be changed, {} for a new record. after: the same with the checked values, without the broken
    fields.

    repeats: whether a refusal repeats the value that breaks a rule.
    bounded: whether its arrays have at most MOST_ITEMS. Not those of a fixture, because requests
        add to some one by one, and every dump must load again.
    called: its name among the components.
    """

    def __init__(
        self,
        fields: Mapping[str, Kind],
        required: str = "",
        *rules: Rule,
        repeats: bool = True,
        bounded: bool = True,
        called: str = "",
    ):
        self.fields = dict(fields)
        self.required = frozenset(required.split())
        self.rules = rules
        self.repeats = repeats
        self.bounded = bounded
        self.called = called


MOST_REPEATED = 50  # characters of a value that breaks a rule


def with_value(rule: str, field: str, value: object) -> str:
    """Return a rule with the value that breaks it, as it was sent: "must be 0 or more (got -3)".

    A secret is not repeated, because the log and the journal keep refusals.
    """
    if value is None or rule.startswith("is required") or "(got " in rule:
        return rule
    sent = json.dumps(value, ensure_ascii=False)
    if len(sent) > MOST_REPEATED:
        sent = f"{sent[:MOST_REPEATED]}…"
    if SECRET.search(field) or SECRET.search(sent):
        return rule
    words, mark, remedy = rule.partition("; ")
    return f"{words} (got {sent}){mark}{remedy}"


def check(
    shape: Shape, given: Fields, settle: Settle = unsettled, record: Fields = NO_FIELDS
) -> Members:
    """Return the checked values of the fields that were given; others are ignored.

    settle: from a checked value to the stored one.  record: the row that is to be changed; a value
    that it has already breaks no rule of its field. Raises Invalid with every broken field.
    """
    values: Members = {}
    broken: dict[str, str] = {}
    sent = given if shape.repeats else NO_FIELDS
    wanted = shape.required | given.keys()
    for field in shape.fields:
        if field not in wanted:
            continue
        try:
            check_field(shape, field, given.get(field), settle, record, values)
        except Invalid as error:
            # An inner name is "[2].name" or "[2]", see inside().
            broken |= {field + inner: rule for inner, rule in error.fields.items()}
        except ValueError as error:
            broken[field] = with_value(str(error), field, sent.get(field))
    for rule in shape.rules:  # a later one does not see what an earlier one found broken
        after = {**record, **values}
        sound = {field: value for field, value in after.items() if field not in broken}
        for field, problem in rule(record, sound).items():
            broken.setdefault(field, with_value(problem, field, sent.get(field)))
    if broken:
        raise Invalid(broken)
    return values


class Items:
    """A reader of an array of objects: it returns the checked fields of each.

    may_be_empty: whether {} is taken, even if fields are required.
    """

    def __init__(self, shape: Shape, may_be_empty: bool = False):
        self.shape = shape
        self.may_be_empty = may_be_empty

    def __call__(self, value: object, settle: Settle = unsettled) -> list[Members]:
        """Return the checked objects, with settled values. Raises Invalid."""
        if not isinstance(value, list):
            raise ValueError("must be an array of objects")
        read = []
        refused: list[dict[str, str]] = []
        for place, item in enumerate(value):
            try:
                if not isinstance(item, dict):
                    raise Invalid({"": with_value("must be an object", "", item)})
                is_left_out = self.may_be_empty and not item
                read.append({} if is_left_out else check(self.shape, item, settle))
            except Invalid as error:
                rules = error.fields.items()
                refused.append({inside(place, field): rule for field, rule in rules})
        if refused:
            raise Invalid(first_broken(refused))
        return read


def first_broken(refused: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return what is wrong with the first broken items, and how many more there are."""
    broken: dict[str, str] = {}
    for item in refused[:MOST_BROKEN]:
        broken |= item
    more = len(refused) - MOST_BROKEN
    if more > 0:
        broken[""] = f"has {more:,} more broken items"
    return broken


def inside(place: int, field: str) -> str:
    """Return "[2].name" for a field of an array's item, "[2]" for the item itself."""
    return f"[{place}].{field}" if field else f"[{place}]"


def check_field(
    shape: Shape, field: str, value: object, settle: Settle, record: Fields, values: Members
) -> None:
    """Add the checked value of a field to `values`, if it is given. Raises ValueError, Invalid."""
    kind = shape.fields[field]
    if value not in kind.absent:
        if isinstance(value, list) and shape.bounded:
            refuse_many(len(value))
        read = kind.read
        try:
            found = read(value, settle) if isinstance(read, Items) else read(value)
        except ValueError:
            if field in record and is_stored(value, record[field]):
                return  # what is stored already is not refused
            raise
        values[field] = settle(field, kind, found)
        if values[field] is None and kind.needed:
            raise ValueError(f"must name an existing {kind.target or 'user'}")
    elif field in shape.required:
        raise ValueError(f"is required{expectation(kind)}")


def is_stored(value: object, stored: object) -> bool:
    """Tell whether a value is the stored one, which of an array has its items between commas."""
    if isinstance(value, bool):  # true is no 1
        return False
    if isinstance(value, list):
        value = ",".join(str(id_or_value(one)) for one in value)
    return bool(value == stored)


def in_order(first: str, last: str) -> Rule:
    """Return the rule that one day must not be before another."""

    def rule(record: Fields, after: Fields) -> Problems:
        begin, end = after.get(first), after.get(last)
        if begin and end and begin > end and differs(record, after, first, last):
            return {last: f"must not be before {first}"}
        return {}

    return rule


def differs(record: Any, after: Fields, *fields: str) -> bool:
    """Tell whether a change gives one of these fields another value; in a new record all are."""
    sent = [field for field in fields if field in after]
    return not record or any(after[field] != record[field] for field in sent)


def flat_object(name: str, integers: str, strings: str, objects: str = "") -> Members:
    """Return the schema of an object with these integer, string and object fields."""
    fields = dict.fromkeys(integers.split(), INTEGER)
    fields |= dict.fromkeys(strings.split(), STRING)
    return object_of(fields | dict.fromkeys(objects.split(), ANY_OBJECT), name)


STEP = Shape(
    {"type": one_of("StepType", *STEP_TYPES), "desc": FILLED, "expect": TEXT}, "desc", called="Step"
)
STEP_SHOWN = flat_object("TestCaseStep", "id parent case version", "type desc expect")
OUTCOME: Fields = {"result": one_of("RunResult", *RUN_RESULTS), "real": TEXT}
STEP_RESULT = Shape({"id": ID, **OUTCOME}, "result", called="StepResult")
VERSION = Shape({"version": ID, "title": NAME, "spec": TEXT, "verify": TEXT}, "version title")
REVIEWER = Shape({"account": SOMEBODY, "result": one_of("Vote", *VOTES)}, "account")
# The schema of an array of objects is made of their shape (room 13).
STEPS = Kind("plain", Items(STEP), {}, shown=array_of(STEP_SHOWN))
STEP_RESULTS = Kind("plain", Items(STEP_RESULT, may_be_empty=True), {})


# Moments are stored as UTC text, YYYY-MM-DDThh:mm:ssZ.


def utc(moment: datetime, zone: tzinfo) -> str:
    """Return a moment as it is stored; one without a zone is local to `zone`."""
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    return zoned.astimezone(timezone.utc).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def checked_utc(moment: datetime, zone: tzinfo) -> str:
    """Return a given moment as it is stored. Raises ValueError if it could not be read again."""
    stored = utc(moment, zone)
    if not "0002" <= stored < "9999":
        raise ValueError("must be in the years 2 to 9998")
    if stored == UNSET_MOMENT:  # of another zone; a dump with it would not load as it was
        raise ValueError(f"must not be the moment {UNSET_MOMENT}, which stands for none")
    return stored


def moment_of(stored: str) -> datetime:
    """Return a stored moment as an aware datetime."""
    return datetime.fromisoformat(stored[:-1] + "+00:00")


def local(stored: str, zone: tzinfo) -> str:
    """Return the wall-clock time of a stored moment in a zone, YYYY-MM-DD hh:mm:ss."""
    return str(moment_of(stored).astimezone(zone).replace(tzinfo=None))


# --- 4 Resources: one row a resource; the bodies of requests --------------------------------------
# The table, the fields and the defaults of each resource, and the bodies of requests. No statement
# is run here.
#
# How constants are called: a body CREATE_BUG or START_TASK, the verb first; a view BUG_SHOWN or
# TASK_STARTED, a participle last (room 5); a transition TASK_START, the verb last (room 8).


# From the Store (room 6) and what is given of a new record to the value of a field.
Default = Callable[["Store", Fields], Any]


def caller(store: Store, given: Fields) -> str:
    return store.me.account


def now(store: Store, given: Fields) -> str:
    return store.now


def today(store: Store, given: Fields) -> str:
    return store.today


def same(field: str) -> Default:
    """Return the default that takes the value of another field of the same record."""

    def value(store: Store, given: Fields) -> Any:
        return given.get(field)

    return value


def assigned_now(store: Store, given: Fields) -> str | None:
    """Return the present moment if a new record is assigned to somebody, else None."""
    return store.now if given.get("assignedTo") else None


def end_of_plan(store: Store, given: Fields) -> str:
    """Return the last day of a new plan: that of its parent, if it has one."""
    parent = store.get("plan", given.get("parent"))
    return str(parent["end"]) if parent else OPEN_END


def begin_of_plan(store: Store, given: Fields) -> str:
    """Return the first day of a new plan, whose end is known.

    It is today, or the nearest day in the parent's and before the end.
    """
    begin = store.today
    parent = store.get("plan", given.get("parent"))
    if parent:
        begin = min(max(begin, parent["begin"]), parent["end"])
    return min(begin, str(given["end"]))


def results_in(steps: Iterable[Fields]) -> list[Any]:
    """Return the results of the steps that were run."""
    return [step["result"] for step in steps if step.get("result")]


def worst_result(results: Iterable[Any]) -> str:
    """Return the result of a run: the worst of these; "n/a" without one."""
    given = {*results, "n/a"}
    return next(word for word in ("fail", "blocked", "pass", "n/a") if word in given)


def result_of_steps(store: Store, given: Fields) -> str | None:
    """Return the result of a loaded run: that of its steps, if one was run."""
    results = results_in(json.loads(given.get("stepResults") or "[]"))
    return worst_result(results) if results else None


def of_execution(store: Store, given: Fields) -> int:
    """Return the project of a record's execution; 0 if that is not there yet, in a fixture."""
    return store.project_of(given["execution"])


@dataclasses.dataclass(eq=False)
class Resource:
    """A resource: a row of RESOURCES.

    name: what messages, paths and links call it.
    table: its table in the database.
    array: its array in a fixture, "" if it has none.
    required: the fields that a fixture must give.
    fields: the kinds of its fields.
    defaults: what a new record gets in fields that it is not given, as a value or a Default: only
        what depends on the request, or differs between resources of one table. All other defaults
        stand in schema.sql.
    types: the values of `type` that distinguish its rows from others of the table, "" if it has the
        table alone.
    rules: the rules between the fields of a whole record, after its defaults.
    hidden: the fields that a view shows only if its `adds` names them.
    """

    name: str
    table: str
    array: str
    required: str
    fields: dict[str, Kind]
    defaults: Fields
    types: str = ""
    rules: tuple[Rule, ...] = ()
    hidden: str = ""

    @property
    def of_types(self) -> str:
        """The SQL condition that a row of the table is one of this resource, "" if all are."""
        if not self.types:
            return ""
        words = ", ".join(f"'{type}'" for type in self.types.split())
        return f"{self.table}.type IN ({words})"

    @property
    def undeleted(self) -> str:
        """The SQL condition that a row is not deleted, "" if rows are removed instead."""
        return f"{self.table}.deleted = 0" if "deleted" in self.fields else ""

    def settable(self, *sources: str) -> dict[str, Kind]:
        """Return the fields that requests and fixtures may set, and those with one of `sources`."""
        wanted = ("given", *sources)
        return {field: kind for field, kind in self.fields.items() if kind.source in wanted}

    def body(
        self, names: str, required: str = "", *rules: Rule, called: str = "", **others: Kind
    ) -> Shape:
        """Return the shape of a body with the named fields, as the resource has them.

        others: the fields that only this body has, or writes differently.
        """
        fields = {name: self.fields[name] for name in names.split()}
        # not NewTask, because that is Go's name for the function that makes a Task
        called = called or f"{spelled(self.name)}ToCreate"
        return Shape(fields | others, required, *rules, called=called)

    def change(
        self, names: str, required: str = "", *rules: Rule, called: str = "", **others: Kind
    ) -> Shape:
        """Return the shape of a body that changes a record: it may have a comment, too."""
        called = called or f"{spelled(self.name)}Change"
        return self.body(names, required, *rules, called=called, **others, comment=TEXT)

    def parts_and_columns(
        self, values: Fields, kinds: Mapping[str, Kind] | None = None
    ) -> tuple[list[tuple[Part, Any]], Members]:
        """Return the values that are rows of other tables, with their places, and the columns.

        kinds: the kinds of a fixture's fields; without them, the resource's.
        """
        kinds = kinds or self.fields
        parts, columns = [], {}
        for field, value in values.items():
            # Names that are no fields of the resource, such as `comment`, are not stored.
            kind = kinds.get(field)
            if kind and kind.part:
                parts.append((kind.part, value))
            elif kind and kind.source == "given":
                columns[field] = value
        return parts, columns


# Constants that several resources show.
EMPTY, ZERO, NO_ITEMS, ABSENT = fixed(""), fixed(0), fixed([]), fixed(None)
# A home is an execution or, for a record without one, its project: the resource HOME, which
# refusals call "execution or project".
HOME_LINK = link("execution or project")
PROJECT_LINK, PRODUCT_LINK = link("project"), needed("product")
PRODUCTS_OF_PROJECT = Part("project_product", "project", "product", hides=True)
# Derived kinds: their reader is never called.
MAP = derived(Kind("plain", read_text, shown=ANY_OBJECT))
MAP_OR_LIST = MAP._replace(shown={"anyOf": [ANY_OBJECT, array_of({}, maxItems=0)]})
TEXTS = MAP._replace(shown=array_of(STRING))
BUG_TITLES = MAP._replace(shown=array_of(flat_object("BugTitle", "id", "title")))
BUILDS = MAP._replace(shown=array_of(flat_object("BuildTitle", "", "id title")))
PARTS = Kind("plain", read_text, source="part", shown=array_of(ANY_OBJECT))
PLAN_TITLES = array_of(flat_object("PlanTitle", "id", "title"))
PRODUCT_IN_PROJECT = object_of(
    {"id": INTEGER, "name": STRING, "plans": PLAN_TITLES}, "ProductInProject"
)
# The fields that the GET of a project or an execution adds to the specification's.
PRODUCTS_IN_FULL = {
    "products": MAP._replace(shown=array_of(PRODUCT_IN_PROJECT), sql="project.productsInFull")
}
HOURS_OF_TASKS = {
    **dict.fromkeys(("totalEstimate", "totalConsumed", "totalLeft"), derived(HOURS)),
    "progress": derived(),
}
# The kinds of fields that the views derive.
DERIVED_INT, DERIVED_TEXT, DERIVED_FLAG = derived(), derived(TEXT), derived(YES_NO)
OF_THE_LIST = derived(sql=":within")  # the record that narrows the list, see Store.page
# An id, or "trunk", which is stored as NULL.
BUILD_OR_TRUNK = Kind(
    "word", read_trunk_or_build, target="build", shown=STRING, sql="testtask.buildOrTrunk"
)
# "-1 = has children"
STORY_PARENT = link("story")._replace(absent=(None, "", -1), sql="story.parentShown")
PLAN_PARENT = link("plan")._replace(absent=(None, "", -1), sql="plan.parentShown")

# The usual kind of each field, by its name; a name that is not here is a text. Where a resource
# means something else by a name, its fields below say so.
# fmt: off
KINDS_OF_NAMES = {
    # given by requests or fixtures, in columns
    "id": ID,
    "account": ACCOUNT,
    "name title": NAME,
    """order percent days line branch module toTask toStory task story plan storyVersion confirmed
       duplicateBug case caseVersion result testtask fromBug fromCaseID fromCaseVersion""": INT,
    "pri severity": NATURAL,
    "version activatedCount caseFails": COUNTER,
    "estimate consumed left": HOURS,
    "budget": MONEY,
    """manager openedBy PM lastEditedBy closedBy canceledBy PO QD RD createdBy resolvedBy finishedBy
       reviewedBy builder owner""": PERSON,
    "assignedTo": ASSIGNEE,
    "whitelist": WHITELIST,
    """openedDate lastEditedDate closedDate canceledDate createdDate assignedDate resolvedDate
       activatedDate realStarted finishedDate reviewedDate lastRunDate realFinishedDate""": MOMENT,
    "birthday join begin end realBegan realEnd date estStarted": DAYS,
    "deadline": DEADLINE,
    "deleted": FLAG,
    "admin": YES_NO,
    "password": PASSWORD,
    "openedBuild": FILLED_COMMAS,
    "stepResults": Kind("plain", read_text, shown=array_of(ANY_OBJECT)),
    "acl": one_of("Acl", *ACLS),
    "budgetUnit": one_of("BudgetUnit", *BUDGET_UNITS),
    "caseResult": one_of("RunResult", *RUN_RESULTS),
    "gender": one_of("Gender", *GENDERS),
    "model": one_of("Model", "", *MODELS),
    "resolution": one_of("Resolution", "", *RESOLUTIONS),
    # links
    "product": PRODUCT_LINK,
    "project": PROJECT_LINK,
    "execution": HOME_LINK,
    "program": link("program"),
    "dept": link("department"),
    "duplicateStory": link("story"),
    "products": rows_of(PRODUCTS_OF_PROJECT, "product"),
    "testcases": rows_of(Part("testtask_case", "testtask", "case", hides=True), "testcase"),
    "versions": PARTS._replace(read=Items(VERSION), part=Part("story_version", "story")),
    "reviewers": PARTS._replace(read=Items(REVIEWER), part=Part("story_reviewer", "story")),
    # worked out by the views
    """grade plans releases bugs unResolved closedBugs fixedBugs thisWeekBugs assignToNull progress results
       stepNumber parentPri buildID currentVersion executionID""": DERIVED_INT,
    """path managerName programName productName projectName assignedToRealName childStories parentName
       productStatus executionName productType caseStatus""": DERIVED_TEXT,
    "needconfirm needConfirm expired": DERIVED_FLAG,
    "hour": derived(HOURS),
    "storyID latestStoryVersion": derived(MAYBE_INT),
    "storyTitle storyStatus": derived(MAYBE_TEXT),
    "notReview": TEXTS,
    "toBugs": BUG_TITLES,
    "stories requirements cases extraStories": MAP,
    "executions": MAP_OR_LIST,
    # constants
    """position function pinyin nickname zipcode nature analysis strategy ip ranzhi ldap resetToken output
       auth subStatus lineName entry lines v1 v2 repoType mode frame howRun scriptedBy scriptStatus
       scriptLocation stagedBy linkStories projectID branchName xml""": EMPTY,
    """company visits fails feedback score scoreLevel parentVersion planDuration realDuration repo design
       designVersion fromIssue mr lib fromStory toBug testreport run job compile duration deploy""": ZERO,
    "locked mailto notify scriptedDate approvedDate": ABSENT,
    "children members files stages": NO_ITEMS,
    "milestone bind storyChanged URChanged": fixed("0"),
    "frequency": fixed("1"),
    "fromVersion": fixed(1),
    "auto": fixed("no"),
    "vision": fixed("rnd"),
    "visions": fixed("rnd,lite"),
    "moduleTitle": fixed("/"),
    "last": fixed("1970-01-01T00:00:00Z"),
    "clientStatus": fixed("offline"),
    "clientLang": fixed("zh-cn"),
    "superReviewer": fixed(False),
    "group": fixed({}),
    "view": fixed({"programs": "", "products": "", "projects": "", "sprints": ""}),
}
# fmt: on
KIND_OF_NAME: dict[str, Kind] = {}
for _names, _kind in KINDS_OF_NAMES.items():
    KIND_OF_NAME.update(dict.fromkeys(_names.split(), _kind))


def fields_of(names: str, **others: Kind) -> dict[str, Kind]:
    """Return the kinds of a resource's fields. others: where a name means something else."""
    return {name: others.get(name) or KIND_OF_NAME.get(name, TEXT) for name in names.split()}


# The fields in the order of answers: that of the specification, described fields first, then those
# seen only in samples; at the end, what only some operations or fixtures show.
# fmt: off
DEPARTMENT_FIELDS = fields_of("""
    id name parent path grade order position function manager managerName
""", parent=link("department"), order=COUNTER)
USER_FIELDS = fields_of("""
    id account avatar realname admin password role email dept pinyin group company type nickname commiter
    birthday gender skype qq mobile phone weixin dingding slack whatsapp address zipcode nature analysis
    strategy join visits visions ip last fails locked feedback ranzhi ldap score scoreLevel resetToken
    deleted clientStatus clientLang superReviewer view
""", type=one_of("UserType", *USER_TYPES), feedback=fixed("0"))
PROJECT_FIELDS = fields_of("""
    id name code model type budget budgetUnit parent begin end realBegan realEnd desc openedBy openedDate PM
    acl whitelist status project lifetime attribute percent milestone output auth path grade days subStatus
    pri version parentVersion planDuration realDuration openedVersion lastEditedBy lastEditedDate closedBy
    closedDate canceledBy canceledDate PO QD RD team order deleted products
""", parent=link("program"), type=one_of("ProjectType", *PROJECT_TYPES),
    status=one_of("ProjectState", *PROJECT_STATES), pri=fixed("1"), version=INT)
PRODUCT_FIELDS = fields_of("""
    id program name code line PO QD RD type desc acl whitelist createdBy createdDate status bind subStatus
    reviewer createdVersion order deleted lineName programName stories requirements plans releases bugs
    unResolved closedBugs fixedBugs thisWeekBugs assignToNull progress
""", type=one_of("ProductType", *PRODUCT_TYPES), status=one_of("ProductState", *PRODUCT_STATES))
RELEASE_FIELDS = fields_of("""
    id project product branch build name date desc status marker stories bugs leftBugs mailto notify
    subStatus deleted productName buildID buildName projectName
""", build=RELEASE_BUILD, status=one_of("ReleaseState", *RELEASE_STATES), stories=TEXT, bugs=TEXT, mailto=COMMAS,
    buildName=TEXT._replace(sql="release.nameOfBuild"))
BUG_FIELDS = fields_of("""
    id product branch module project execution toTask toStory title keywords severity pri type os browser
    steps task story openedBy openedDate deadline assignedTo assignedDate resolvedBy resolvedDate
    resolvedBuild closedBy closedDate plan storyVersion hardware found status subStatus color confirmed
    activatedCount activatedDate feedbackBy notifyEmail mailto openedBuild resolution duplicateBug linkBug
    case caseVersion result repo entry lines v1 v2 repoType testtask lastEditedBy lastEditedDate deleted
    needconfirm
""", type=one_of("BugType", *BUG_TYPES), status=BUG_STATE)
TASK_FIELDS = fields_of("""
    id project parent execution module story fromBug name type pri estimate consumed left deadline status
    desc openedBy openedDate assignedTo assignedDate estStarted realStarted finishedBy finishedDate closedBy
    closedDate team design storyVersion designVersion feedback fromIssue mode subStatus color mailto version
    finishedList canceledBy canceledDate planDuration realDuration closedReason lastEditedBy lastEditedDate
    activatedDate order repo mr entry lines v1 v2 deleted vision storyID storyTitle latestStoryVersion
    storyStatus assignedToRealName children members files needConfirm progress cases
""", parent=INT, type=one_of("TaskType", *TASK_TYPES), status=one_of("TaskState", *TASK_STATES), deadline=DAYS, activatedDate=STAMP, team=NO_ITEMS)
TESTCASE_FIELDS = fields_of("""
    id product branch module story storyVersion title precondition pri type stage steps fromBug fromCaseID
    openedBy openedDate status project execution lib path keywords auto frame howRun scriptedBy scriptedDate
    scriptStatus scriptLocation subStatus color frequency order reviewedBy reviewedDate lastEditedBy
    lastEditedDate version linkCase fromCaseVersion deleted lastRunner lastRunDate lastRunResult toBugs
    files currentVersion caseFails task case assignedTo caseVersion storyTitle caseStatus bugs results
    stepNumber
""", type=one_of("TestCaseType", *CASE_TYPES), stage=STAGES, status=one_of("TestCaseState", *CASE_STATES), path=ZERO,
    steps=STEPS._replace(source="part", part=Part("step", "case")), task=OF_THE_LIST, assignedTo=EMPTY,
    case=DERIVED_INT, caseVersion=DERIVED_INT)
STORY_FIELDS = fields_of("""
    id vision parent product branch module plan source sourceNote fromBug feedback title keywords type
    category pri estimate status subStatus color stage stagedBy mailto lib fromStory fromVersion openedBy
    openedDate assignedTo assignedDate approvedDate lastEditedBy lastEditedDate reviewedBy reviewedDate
    closedBy closedDate closedReason activatedDate toBug childStories linkStories duplicateStory version
    storyChanged feedbackBy notifyEmail URChanged deleted spec verify parentName executions stages
    extraStories reviewer notReview parentPri planTitle files productName productStatus moduleTitle versions
    reviewers plans
""", parent=STORY_PARENT, plan=DERIVED_TEXT, plans=rows_of(Part("plan_story", "story", "plan"), "plan"), type=one_of("StoryType", *STORY_TYPES),
    status=one_of("StoryState", *STORY_STATES), category=FILLED, spec=FILLED, stage=derived(one_of("StoryStage", *STORY_STAGES)),
    closedReason=one_of("StoryReason", "", *STORY_REASONS),
    version=ID, estimate=ESTIMATE, mailto=WHITELIST, planTitle=TEXTS._replace(sql="story.planTitles"), reviewer=TEXTS, feedbackBy=EMPTY, notifyEmail=EMPTY)
PLAN_FIELDS = fields_of("""
    id product branch parent title status desc begin end order closedReason deleted stories bugs hour
    project projectID expired
""", parent=PLAN_PARENT, order=EMPTY, status=one_of("PlanState", *PLAN_STATES), project=ZERO, stories=DERIVED_INT)
BUILD_FIELDS = fields_of("""
    id project product branch execution name scmPath filePath date stories bugs builder desc deleted
    executionName executionID productName productType branchName files
""", project=needed("project"), execution=needed("execution or project"),
    stories=rows_of(Part("build_story", "build", "story"), "story"), bugs=rows_of(Part("build_bug", "build", "bug"), "bug"))
TESTTASK_FIELDS = fields_of("""
    id project product name execution build type owner pri begin end realFinishedDate mailto desc report
    status testreport auto subStatus deleted productName productType branch executionName buildName files
    testcases
""", project=needed("project"), execution=needed("execution or project"), build=BUILD_OR_TRUNK, type=TEXT,
    status=one_of("TestTaskState", *TESTTASK_STATES), mailto=WHITELIST, branch=ZERO, buildName=DERIVED_TEXT)
EFFORT_FIELDS = fields_of("""
    id task date left consumed account work
""", account=PERSON, task=needed("task"))
RESULT_FIELDS = fields_of("""
    id run case version job compile caseResult stepResults lastRunner date duration xml deploy build files
    testtask
""", version=NATURAL, build=ZERO, date=MOMENT, case=needed("testcase"), testtask=link("testtask"), lastRunner=PERSON)
# fmt: on


def require_own_project(record: Fields, after: Fields) -> Problems:
    """Require that the parent of an execution is its project."""
    parent, project = after.get("parent"), after.get("project")
    if parent and project and parent != project:
        return {"parent": "must be the project"}
    return {}


def require_home(record: Fields, after: Fields) -> Problems:
    """Require that a record has an execution or a project."""
    if after.get("execution") or after.get("project"):
        return {}
    return {"execution": "is required"}


def require_past_hours(task: Fields, after: Fields) -> Problems:
    """Require that no fewer hours are consumed than before."""
    if after.get("consumed", MAX_INT) < task["consumed"]:
        rule = f"must not be below the {task['consumed']:g} hours already consumed"
        return {"consumed": rule}
    return {}


def days_fit(record: Fields, after: Fields) -> Problems:
    """Require that an execution has no more working days than days."""
    if not differs(record, after, "begin", "end", "days"):
        return {}
    begin, end, days = after.get("begin"), after.get("end"), after.get("days", 0)
    if days < 0:
        return {"days": "must be 0 or more"}
    if not (begin and end):
        return {}
    most = (date.fromisoformat(end) - date.fromisoformat(begin)).days + 1
    if days > most > 0:  # otherwise begin is after end, which another rule reports
        return {"days": f"must be at most {most}, from begin to end"}
    return {}


def leave_nothing(record: Fields, after: Fields) -> Problems:
    """Require that no hours are left of a task that is done."""
    if after.get("status") == "done" and after.get("left") and differs(record, after, "left"):
        return {"left": "must be 0 for a task in state done"}
    return {}


def require_hours(task: Fields, after: Fields) -> Problems:
    """Require that hours are left of a task that becomes, or stays, in progress or paused."""
    status, left = after["status"], after.get("left")
    if status in ("doing", "pause") and left == 0 and differs(task, after, "left", "status"):
        return {"left": f"must be above 0 for a task in state {status}"}
    return {}


def estimated(store: Store, given: Fields) -> Any:
    """Return the hours left of a new task: its estimate, unless it is done already."""
    return 0 if given.get("status") == "done" else given.get("estimate")


BEGIN_TO_END = in_order("begin", "end")
REAL_BEGIN_TO_END = in_order("realBegan", "realEnd")
START_TO_DEADLINE = in_order("estStarted", "deadline")
LASTING = {"begin": today, "end": LONG_TERM}
OPENED = {"openedBy": caller, "openedDate": now}
CREATED = {"createdBy": caller, "createdDate": now, "createdVersion": __version__}
ASSIGNED = {**OPENED, "assignedDate": assigned_now}
# In this order: without an execution, the project itself is the home; then the project follows from
# the execution. It is 0 while a fixture has not loaded the execution: see Store.place_records.
AT_HOME = {"execution": same("project"), "project": of_execution}
RUN_NOW = {"date": now, "lastRunner": caller, "caseResult": result_of_steps}
A_PROGRAM = {"acl": "open", "type": "program", **LASTING, **OPENED}
PRIVATE = {**LASTING, **OPENED, "acl": "private", "team": same("name")}
A_PROJECT = {**PRIVATE, "type": "project", "model": "scrum"}
AN_EXECUTION = {**PRIVATE, "type": "sprint", "parent": same("project")}
# Plans as a request names them, in `plan`; see plans_and_reviewers (room 8).
PLAN_IDS = STORY_FIELDS["plans"]._replace(read=read_plan_ids)
STORY_WHOLE = (  # not in lists
    "spec verify executions stages extraStories reviewer notReview parentPri"
    " files productName moduleTitle"
)
# The fields that come first where stories are listed for a project or an execution.
IN_PROJECT = {
    "project": OF_THE_LIST,
    "product": link("product"),
    "branch": INT,
    "story": derived(sql="story.id"),
    "version": ID,
    "order": derived(sql="story.id"),
    "productType": DERIVED_TEXT,
    "planTitle": DERIVED_TEXT,
}
CASE_IN_TESTTASK = "task case assignedTo caseVersion storyTitle caseStatus bugs results stepNumber"


# fmt: off
# THE TABLE OF RESOURCES, in the order of a fixture.
#                     name          table         array          required         fields             defaults
DEPARTMENT = Resource("department", "department", "departments", "name",          DEPARTMENT_FIELDS, {})
USER       = Resource("user",       "user",       "users",       "account",       USER_FIELDS,       {"realname": same("account")},
                      hidden="password group")
PROGRAM    = Resource("program",    "project",    "programs",    "name",          PROJECT_FIELDS,    A_PROGRAM,
                      types="program", rules=(BEGIN_TO_END, REAL_BEGIN_TO_END), hidden="products")
PROJECT    = Resource("project",    "project",    "projects",    "name",          PROJECT_FIELDS,    A_PROJECT,
                      types="project", rules=(BEGIN_TO_END,), hidden="products")
EXECUTION  = Resource("execution",  "project",    "executions",  "name project",  PROJECT_FIELDS,    AN_EXECUTION,
                      types="sprint stage", rules=(BEGIN_TO_END, days_fit, require_own_project), hidden="products")
HOME       = Resource("execution or project", "project", "", "",                PROJECT_FIELDS,    {},
                      types="project sprint stage")
PRODUCT    = Resource("product",    "product",    "products",    "name",          PRODUCT_FIELDS,    CREATED)
PLAN       = Resource("plan",       "plan",       "plans",       "title product", PLAN_FIELDS,       {"end": end_of_plan, "begin": begin_of_plan},
                      rules=(BEGIN_TO_END,), hidden="stories bugs hour project projectID expired")
STORY      = Resource("story",      "story",      "stories",     "title product", STORY_FIELDS,      ASSIGNED,
                      hidden=f"{STORY_WHOLE} versions reviewers plans")
BUILD      = Resource("build",      "build",      "builds",      "name product",  BUILD_FIELDS,      {"date": today, **AT_HOME},
                      rules=(require_home,), hidden="executionID branchName productType files")
RELEASE    = Resource("release",    "release",    "releases",    "name product",  RELEASE_FIELDS,    {"date": today})
BUG        = Resource("bug",        "bug",        "bugs",        "title product", BUG_FIELDS,        ASSIGNED)
TASK       = Resource("task",       "task",       "tasks",       "name",          TASK_FIELDS,
                      {**ASSIGNED, "left": estimated, **AT_HOME}, rules=(START_TO_DEADLINE, leave_nothing, require_home), hidden="cases")
TESTCASE   = Resource("testcase",   "testcase",   "testcases",   "title product", TESTCASE_FIELDS,   OPENED,
                      hidden=f"caseFails {CASE_IN_TESTTASK}")
TESTTASK   = Resource("testtask",   "testtask",   "testtasks",   "name product",  TESTTASK_FIELDS,   {**LASTING, **AT_HOME},
                      rules=(BEGIN_TO_END, require_home), hidden="productName branch executionName productType files testcases")
EFFORT     = Resource("effort",     "effort",     "efforts",     "task",          EFFORT_FIELDS,     {"date": today, "account": caller})
RESULT     = Resource("result",     "result",     "results",     "case",          RESULT_FIELDS,     RUN_NOW)
RESOURCES = {row.name: row for row in (
    DEPARTMENT, USER, PROGRAM, PROJECT, EXECUTION, HOME, PRODUCT, PLAN, STORY, BUILD, RELEASE, BUG, TASK, TESTCASE,
    TESTTASK, EFFORT, RESULT,
)}
# fmt: on
FIXTURE = {resource.array: resource for resource in RESOURCES.values() if resource.array}


def check_effort(task: Fields, after: Fields) -> Problems:
    """Require that other arrays are as long as `consumed`, and hours above 0.

    Clients send either `dates` or `date`.
    """
    if "consumed" not in after:  # it is broken
        return {}
    consumed = after["consumed"]
    broken = {}
    for field in ("dates", "date", "work", "left"):
        if field in after and len(after[field]) != len(consumed):
            broken[field] = f"must have as many items as consumed ({len(consumed)})"
    if not consumed or min(consumed) <= 0:
        broken["consumed"] = "must be above 0"
    return broken


def check_finish(task: Fields, after: Fields) -> Problems:
    """Require that a finished task was started before, and that its hours stay within 64 bits."""
    started, finished = after.get("realStarted"), after.get("finishedDate")
    broken = {}
    if not started:
        broken["realStarted"] = "is required, because this task was never started"
    elif finished and started > finished:
        broken["finishedDate"] = f"must not be before realStarted, {started}"
    if task["consumed"] + after.get("currentConsumed", 0) > MAX_INT:
        broken["currentConsumed"] = "makes the consumed hours too many"
    return broken


BUDGETED = "budget budgetUnit desc acl whitelist PM"
PROFILE_SENT = (
    "realname email password role dept type gender birthday join commiter mobile phone qq"
    " dingding weixin skype whatsapp slack address"
)
CHECKED_PROFILE: Fields = {
    "realname": NAME,
    "email": EMAIL,
    "mobile": PHONE,
    "phone": PHONE,
    "password": NEW_PASSWORD,
}
EXECUTION_SENT = "name begin end days lifetime desc acl whitelist PM PO QD RD"
PRODUCT_SENT = "line PO QD RD type desc acl whitelist"
PLAN_SENT = "title begin end desc parent branch status"
RELEASE_SENT = "build desc status marker stories bugs leftBugs mailto"
CASE_SENT = "branch module story title type stage precondition pri"
BUG_SENT = (
    "title severity pri type openedBuild branch module project execution plan story task keywords"
    " os browser hardware found steps deadline assignedTo case caseVersion result testtask color"
    " feedbackBy notifyEmail linkBug"
)
BUG_MODIFIED_ONLY = (
    "product resolution resolvedBy resolvedDate resolvedBuild duplicateBug closedBy status"
)
TASK_SENT = "module story fromBug name type assignedTo pri estimate estStarted deadline desc"
STORY_SENT = (
    "title pri category source sourceNote keywords estimate mailto module parent type branch color"
)
REVIEW_SENT = "reviewedDate closedReason duplicateStory assignedTo pri estimate"
BUILD_SENT = "execution product name builder date scmPath filePath desc branch stories bugs"
TESTTASK_SENT = (
    "product execution build name begin end owner type pri status desc mailto report testcases"
)
WORDS_OF_MINE = {**STRING, "description": "bug, task and story, separated by commas"}
FIELDS_OF_CALLER = Kind("plain", split_commas, WORDS_OF_MINE)  # the keys of MINE, room 6
STORY_PEOPLE_AND_PLANS: Fields = {"reviewer": PEOPLE, "plan": PLAN_IDS}
# fmt: off
# THE BODIES OF REQUESTS: the resource's kinds, except where a request writes a field differently; the required fields; rules.
NOTHING           = Shape({})
COMMENT           = Shape({"comment": TEXT}, called="Comment")
WITH_MINE         = Shape({"fields": FIELDS_OF_CALLER})
IN_MODULES        = Shape({"type": one_of("WithModule", *WITH_MODULES), "id": ID}, "type id")
LOGIN             = Shape({"account": TEXT, "password": TEXT}, "account password", repeats=False, called="Login")
CREATE_DEPARTMENT = DEPARTMENT.body("name parent manager", "name", order=DEPARTMENT_ORDER)
MODIFY_DEPARTMENT = DEPARTMENT.change("name parent manager", order=DEPARTMENT_ORDER)
CREATE_USER       = USER.body(f"account {PROFILE_SENT}", "account password", **CHECKED_PROFILE)
MODIFY_USER       = USER.change(PROFILE_SENT, **CHECKED_PROFILE, birthday=emptied(DAYS), join=emptied(DAYS))
CREATE_PROGRAM    = PROGRAM.body(f"name begin end parent {BUDGETED}", "name begin end", BEGIN_TO_END)
MODIFY_PROGRAM    = PROGRAM.change(f"name begin end realBegan realEnd parent {BUDGETED}", "", BEGIN_TO_END, REAL_BEGIN_TO_END)
CREATE_PROJECT    = PROJECT.body(f"name begin end code parent {BUDGETED} PO QD RD days", "name begin end products", BEGIN_TO_END,
                                 model=one_of("Model", *MODELS), products=PRODUCTS)
MODIFY_PROJECT    = PROJECT.change("name begin end acl parent desc PM whitelist", "", BEGIN_TO_END, model=one_of("Model", *MODELS))
CREATE_EXECUTION  = EXECUTION.body(f"{EXECUTION_SENT} code products", "name begin end", BEGIN_TO_END, days_fit)
MODIFY_EXECUTION  = EXECUTION.change(f"{EXECUTION_SENT} project products status", "", BEGIN_TO_END, days_fit)
CREATE_PRODUCT    = PRODUCT.body(f"name program code {PRODUCT_SENT}", "name")
MODIFY_PRODUCT    = PRODUCT.change(f"name program {PRODUCT_SENT} status")
CREATE_PLAN       = PLAN.body(PLAN_SENT, "title", BEGIN_TO_END)
MODIFY_PLAN       = PLAN.change(PLAN_SENT, "", BEGIN_TO_END)
LINK_STORIES      = PLAN.change("", "stories", stories=STORY_IDS, called="LinkStories")
LINK_BUGS         = PLAN.change("", "bugs", bugs=BUG_IDS, called="LinkBugs")
# objectID: the execution or project that the story is created for
CREATE_STORY      = STORY.body(f"{STORY_SENT} spec verify assignedTo", "title spec pri category", **STORY_PEOPLE_AND_PLANS, objectID=HOME_LINK)
MODIFY_STORY      = STORY.change(STORY_SENT, **STORY_PEOPLE_AND_PLANS)
CREATE_STORY_VERSION = STORY.change("title spec verify", reviewer=PEOPLE, called="StoryVersionToCreate")
REVIEW_STORY      = STORY.change(REVIEW_SENT, "result", result=one_of("Vote", *VOTES), called="ReviewStory")
CLOSE_STORY       = STORY.change("duplicateStory", closedReason=one_of("StoryReason", *STORY_REASONS), called="CloseStory")
ASSIGN            = STORY.change("assignedTo", called="Assign")  # of bugs, too
CREATE_BUILD      = BUILD.body(BUILD_SENT, "execution product name builder date", builder=SOMEBODY)
MODIFY_BUILD      = BUILD.change(BUILD_SENT)
CREATE_RELEASE    = RELEASE.body(f"name date product branch {RELEASE_SENT}", "name date product")
MODIFY_RELEASE    = RELEASE.change(f"name date {RELEASE_SENT}")
CREATE_CASE       = TESTCASE.body(f"{CASE_SENT} keywords steps", "title type pri steps")
MODIFY_CASE       = TESTCASE.change(f"product {CASE_SENT} steps")
RUN_CASE          = RESULT.change("", result=OUTCOME["result"], steps=STEP_RESULTS, testtask=link("testtask"), version=NATURAL, called="RunTestCase")
CREATE_TESTTASK   = TESTTASK.body(TESTTASK_SENT, "product execution build name begin end", BEGIN_TO_END)
MODIFY_TESTTASK   = TESTTASK.change(TESTTASK_SENT, "", BEGIN_TO_END)
CREATE_BUG        = BUG.body(BUG_SENT, "title severity pri type openedBuild")
MODIFY_BUG        = BUG.change(f"{BUG_SENT} {BUG_MODIFIED_ONLY}", deadline=emptied(DEADLINE), resolvedDate=emptied(MOMENT))
CONFIRM_BUG       = BUG.change("pri type assignedTo", called="ConfirmBug")
RESOLVE_BUG       = BUG.change("resolvedDate resolvedBuild assignedTo duplicateBug", "resolution",
                                 resolution=one_of("Resolution", *RESOLUTIONS), called="ResolveBug")
ACTIVATE_BUG      = BUG.change("assignedTo openedBuild", called="ActivateBug")
CREATE_TASK       = TASK.body(TASK_SENT, "name type estStarted deadline", START_TO_DEADLINE, assignedTo=PEOPLE)
BATCH_TASK        = TASK.body(TASK_SENT, "name type", START_TO_DEADLINE, called="BatchTask")
CREATE_TASKS      = Shape({"tasks": Kind("plain", Items(BATCH_TASK), {}, absent=(None, "", []))}, "tasks", called="TasksToCreate")
MODIFY_TASK       = TASK.change(f"{TASK_SENT} status consumed left closedReason", "", START_TO_DEADLINE, require_past_hours,
                                estStarted=emptied(DAYS), deadline=emptied(DAYS))
START_TASK        = TASK.change("assignedTo realStarted consumed left", "", require_past_hours, called="StartTask")
RESTART_TASK      = TASK.change("assignedTo realStarted consumed left", "consumed left", require_past_hours, called="RestartTask")
FINISH_TASK       = TASK.change("assignedTo realStarted finishedDate", "finishedDate", check_finish, currentConsumed=HOURS, called="FinishTask")
ACTIVATE_TASK     = TASK.change("assignedTo left", called="ActivateTask")
CLOSE_TASK        = TASK.change("closedReason", called="CloseTask")
ASSIGN_TASK       = TASK.change("assignedTo left", "assignedTo", leave_nothing, require_hours, assignedTo=ASSIGNEE._replace(needed=True), called="AssignTask")
ADD_EFFORT        = EFFORT.change("", "consumed left", check_effort, dates=each_of(DAYS), date=each_of(DAYS), work=each_of(TEXT),
                                  consumed=each_of(HOURS), left=each_of(HOURS), called="AddEffort")
# fmt: on


# --- 5 Views: one row a way of showing a record ---------------------------------------------------
# Writers of JSON text, one for each sort of value, and the quirk table. Nothing here runs a
# statement or knows what a value means.

Column = Iterable[Any]
Written = Iterable[str]
# Return text as JSON, written in C; it escapes only what JSON requires.
quote = json.encoder.encode_basestring


class Scene(NamedTuple):
    """The context of a writer: the user references of the answer by account, and the time zone."""

    people: Mapping[Any, str]
    zone: tzinfo


# From the values of a column, the scene and the text for "unset" to JSON texts.
Write = Callable[[Column, Scene, str], Written]


class Writer(NamedTuple):
    """How values are written, and their JSON Schema."""

    write: Write
    schema: Fields


def one_by_one(write_one: Callable[[Any], str]) -> Write:
    """Return the function that writes each value by itself; none of them is unset."""

    def write(values: Column, scene: Scene, unset: str) -> Written:
        return map(write_one, values)

    return write


def write_references(values: Column, scene: Scene, unset: str) -> Written:
    people = {None: unset, **scene.people}
    return map(people.__getitem__, values)


def if_set(write_one: Callable[[Any], str]) -> Write:
    """Return the function that writes each value that is set by itself."""

    def write(values: Column, scene: Scene, unset: str) -> Written:
        return [unset if value is None else write_one(value) for value in values]

    return write


def write_spaced(values: Column, scene: Scene, unset: str) -> Written:
    return [unset if value is None else f'"{local(value, scene.zone)}"' for value in values]


def write_hours(values: Column, scene: Scene, unset: str) -> Written:
    """Write hours; typed clients read 8, but not 8.0, as an int."""
    return [str(int(value)) if value.is_integer() else repr(value) for value in values]


def write_state(state: str) -> str:
    return f'{{"code":"{state}","name":"{state.capitalize()}"}}'


def write_role(role: str) -> str:
    """Write a role as an object with a code and a name, which are the same."""
    return f'{{"code":{quote(role)},"name":{quote(role)}}}'


def write_whitelists(values: Column, scene: Scene, unset: str) -> Written:
    return [
        f"[{','.join(map(scene.people.__getitem__, items_between(value)))}]" for value in values
    ]


def write_accounts(whitelist: str) -> str:
    return to_json(items_between(whitelist))


REFERENCE_SCHEMA = flat_object("UserReference", "id", "account avatar realname")
STATE_SCHEMA = object_of({"code": BUG_STATE.schema, "name": STRING}, "CodedState")


# fmt: off
# Persons, datetimes and days, which may be unset.
AS_REFERENCE  = Writer(write_references, REFERENCE_SCHEMA)  # "user reference: object"
AS_ACCOUNT    = Writer(if_set(quote),    STRING)  # "a plain account string"
AS_DAY        = Writer(if_set(quote),    DAY_SCHEMA)
AS_ISO        = Writer(if_set(quote),    {**STRING, "format": "date-time"})
AS_SPACED     = Writer(write_spaced,     STRING)
# Flags.
AS_BOOLEAN    = Writer(one_by_one(("false", "true").__getitem__), FLAG_SCHEMA)
AS_DIGIT      = Writer(one_by_one(('"0"', '"1"').__getitem__), STRING)
# Other values.
AS_TEXT       = Writer(one_by_one(quote),   STRING)
AS_NULLABLE   = Writer(if_set(quote),    STRING)
AS_NUMBER     = Writer(if_set(str),      INTEGER)
AS_HOURS      = Writer(write_hours,      HOURS_SCHEMA)
AS_CODED      = Writer(one_by_one(write_state), STATE_SCHEMA)  # "object (`code` string, `name` string)"
AS_ROLE       = Writer(one_by_one(write_role), flat_object("Role", "", "code name"))
AS_REFERENCES = Writer(write_whitelists, array_of(REFERENCE_SCHEMA))
AS_ACCOUNTS   = Writer(one_by_one(write_accounts), array_of(STRING))
# The writers that every view shares, by the look of a kind.
WRITERS = {"text": AS_TEXT, "commas": AS_TEXT, "hours": AS_HOURS, "boolean": AS_BOOLEAN,
           "references": AS_REFERENCES}
# fmt: on


class Envelope(NamedTuple):
    """The JSON around a record in an answer.

    wrap: takes and returns JSON text.  schema: takes and returns properties of JSON Schema.
    optional: the fields that an answer may lack.
    """

    wrap: Callable[[str], str]
    schema: Callable[[Fields], Fields]
    optional: tuple[str, ...] = ()


def with_members(record: str, members: Mapping[str, str]) -> str:
    """Return the JSON text of a record with members after its own. members: JSON texts by name."""
    added = "".join(f',"{name}":{text}' for name, text in members.items())
    return f"{record[:-1]}{added}}}"


# A created product is sent twice: at the top level, where real clients read `id`, and in
# `products`, because "the sample response is the same envelope as operation 1".
BOTH_WAYS = Envelope(
    lambda record: with_members(record, {"total": "1", "products": f"[{record}]"}),
    lambda fields: {
        **fields,
        "total": INTEGER,
        "products": array_of(object_of(fields, "ProductInList")),
    },
)
# Lists leave out the reviewers of a story if nobody was asked. No text can have what is replaced:
# its quotes are escaped. The two fields are neighbours in STORY_FIELDS.
IF_ASKED = Envelope(
    lambda record: record.replace('"reviewer":[],"notReview":[],', ""),
    lambda fields: fields,
    ("reviewer", "notReview"),
)
PROFILE = Envelope(
    lambda record: f'{{"profile":{record}}}',
    lambda fields: {"profile": object_of(fields, "Profile")},
)


@dataclasses.dataclass(eq=False)
class View:
    """How one operation shows a record: a row of the quirk table, which says what is odd.

    title: its name among the components, if that is not the resource's.
    person, nobody: the writer of persons, and how nobody is written.
    moment, never: the same for datetimes.
    no_day: how an unset day is written.
    flag: the writer of `deleted`.
    stamp: how an unset datetime of the look "stamp" is written; the others follow `never`.
    adds: fields that only this view shows.
    logged: whether the answer ends with `actions`, the action log of the record.
    only: the fields that it shows instead of all.
    exceptions: the writers of single fields.
    kinds: of fields that it shows by another kind.
    envelope: what the answer puts around the record.

    Records are written a column at a time and put together row by row: one call in C for each field
    of all rows is about twice as fast as a call for each value.
    """

    resource: Resource
    title: str = ""
    _: dataclasses.KW_ONLY
    person: Writer = AS_REFERENCE
    nobody: str = NULL
    moment: Writer = AS_ISO
    never: str = NULL
    no_day: str = NULL
    flag: Writer = AS_BOOLEAN
    stamp: str = BLANK
    adds: str = ""
    logged: bool = False
    only: str = ""
    exceptions: Mapping[str, Writer] = dataclasses.field(default_factory=dict)
    kinds: Mapping[str, Kind] = dataclasses.field(default_factory=dict)
    envelope: Envelope | None = None

    @functools.cached_property
    def fields(self) -> dict[str, Kind]:
        """The fields that are shown, in their order."""
        fields = {**self.resource.fields, **self.kinds}
        if self.only:
            return {field: fields[field] for field in self.only.split()}
        hidden = set(self.resource.hidden.split()) - set(self.adds.split())
        return {field: kind for field, kind in fields.items() if field not in hidden}

    @functools.cached_property
    def columns(self) -> list[str]:
        """The fields that a statement must select, in their order: all but the constant ones."""
        return [field for field, kind in self.fields.items() if kind.source != "fixed"]

    def writer(self, field: str) -> tuple[Writer | None, str]:
        """Return the writer of a field, None to send SQLite's value, and the text for "unset"."""
        cells = {
            "person": (self.person, self.nobody),
            "moment": (self.moment, self.never),
            "stamp": (self.moment, self.stamp),
            "day": (AS_DAY, self.no_day),
            "flag": (self.flag, ""),
            "nullable": (AS_NULLABLE, NULL),
            "number": (AS_NUMBER, NULL),
        }
        look = self.fields[field].look
        writer, unset = cells.get(look) or (WRITERS.get(look), "")
        return self.exceptions.get(field, writer), unset

    @functools.cached_property
    def template(self) -> str:
        """The JSON object with a %s for each column; the constant fields are written out."""
        members = []
        for field, kind in self.fields.items():
            value = "%s"
            if kind.source == "fixed":
                value = to_json(kind.value).replace("%", "%%")
            elif kind.look == "word" and field not in self.exceptions:
                value = '"%s"'
            members.append(f"{quote(field)}:{value}")
        return f"{{{','.join(members)}}}"

    @functools.cached_property
    def writers(self) -> list[tuple[int, Writer, str]]:
        """The places of the columns that have writers, the writers, and the texts for "unset"."""
        found = [(place, *self.writer(field)) for place, field in enumerate(self.columns)]
        return [(place, writer, unset) for place, writer, unset in found if writer]

    def show(self, rows: Iterable[Sequence[Any]], scene: Scene) -> list[str]:
        """Return the JSON text of rows, at least one, with values in the order of `columns`."""
        columns: list[Iterable[Any]] = list(zip(*rows, strict=True))
        for place, writer, unset in self.writers:
            columns[place] = writer.write(columns[place], scene, unset)
        shown = map(self.template.__mod__, zip(*columns, strict=True))
        if self.envelope:
            return list(map(self.envelope.wrap, shown))
        return list(shown)

    @functools.cached_property
    def references(self) -> list[int]:
        """The places of the columns that show persons as user references."""
        return [
            place for place, writer, _ in self.writers if writer in (AS_REFERENCE, AS_REFERENCES)
        ]

    def people_in(self, rows: Sequence[Sequence[Any]]) -> set[str]:
        """Return the accounts of everyone whom these rows show as a user reference."""
        cells = set()  # accounts and white lists
        for place in self.references:
            cells.update([row[place] for row in rows])
        cells.discard(None)
        return set().union(*map(items_between, cells))


# fmt: off
# THE QUIRK TABLE: one row a way of showing a record.
#                       resource   what is odd
PRODUCT_LISTED  = View(PRODUCT,    "ProductInList",    flag=AS_DIGIT)
PRODUCT_CREATED = View(PRODUCT,    "ProductCreated",   flag=AS_DIGIT, envelope=BOTH_WAYS)
BUG_LISTED      = View(BUG,        "BugInList",        never=EPOCH, no_day=EPOCH_DAY, exceptions={"status": AS_CODED})
CASE_CREATED    = View(TESTCASE,   "TestCaseCreated",  person=AS_ACCOUNT, nobody=BLANK)
CASE_SHOWN      = View(TESTCASE,                       adds="caseFails")
PROGRAM_SHOWN   = View(PROGRAM,                        no_day=ZERO_DAY)
PROJECT_CREATED = View(PROJECT,    "ProjectCreated",   person=AS_ACCOUNT, nobody=BLANK, never=BLANK, no_day=ZERO_DAY, flag=AS_DIGIT,
                                                    exceptions={"whitelist": AS_TEXT})
RELEASE_SHOWN   = View(RELEASE)
TASK_CREATED    = View(TASK)
TASK_MODIFIED   = View(TASK,       "TaskModified",     adds="cases")
TASK_STARTED    = View(TASK,       "TaskStarted",      person=AS_ACCOUNT, nobody=BLANK, moment=AS_SPACED, never=BLANK, no_day=BLANK,
                                                    flag=AS_DIGIT)  # and restarted
TASK_FINISHED   = View(TASK,       "TaskFinished",     person=AS_ACCOUNT, nobody=BLANK, flag=AS_DIGIT)
# Beyond the specification.
DEPARTMENT_SHOWN = View(DEPARTMENT,                     person=AS_ACCOUNT, nobody=BLANK)
USER_LISTED     = View(USER,       "UserInList",       flag=AS_DIGIT, only="id dept account realname role pinyin email group")
USER_SHOWN      = View(USER,                           flag=AS_DIGIT)
MY_PROFILE      = View(USER,       "MyProfile",        flag=AS_DIGIT, exceptions={"role": AS_ROLE}, envelope=PROFILE)
PROJECT_SHOWN   = View(PROJECT,                        no_day=ZERO_DAY)
EXECUTION_SHOWN = View(EXECUTION,                      no_day=ZERO_DAY)
PROJECT_IN_FULL = View(PROJECT,    "ProjectInFull",    no_day=ZERO_DAY, adds="products", kinds=PRODUCTS_IN_FULL)
EXECUTION_IN_FULL = View(EXECUTION,  "ExecutionInFull",  no_day=ZERO_DAY, adds="products", kinds={**PRODUCTS_IN_FULL, **HOURS_OF_TASKS})
PRODUCT_SHOWN   = View(PRODUCT)
PLAN_SHOWN      = View(PLAN)  # and then the lists of ENCLOSED, room 6
PLAN_LISTED     = View(PLAN,       "PlanInList",       adds=PLAN.hidden)
STORY_SHOWN     = View(STORY,                          adds=STORY_WHOLE)  # and then the lists of ENCLOSED, room 6
STORY_IN_FULL   = View(STORY,      "StoryInFull",      adds=STORY_WHOLE, logged=True)
STORY_LISTED    = View(STORY,      "StoryInList",      adds="reviewer notReview productStatus", kinds={"planTitle": DERIVED_TEXT}, envelope=IF_ASKED)
STORY_LINKED    = View(STORY,      "StoryLinked",      kinds=IN_PROJECT, only=" ".join({**IN_PROJECT, **STORY_LISTED.fields}), envelope=IF_ASKED)
BUILD_SHOWN     = View(BUILD,                          adds="productType files")
BUILD_LISTED    = View(BUILD,      "BuildInList",      adds="executionID branchName")
BUILD_LINKED    = View(BUILD,      "BuildLinked",      adds="branchName")
BUG_SHOWN       = View(BUG,                            kinds={"openedBuild": BUILDS._replace(sql="bug.openedBuilds")}, logged=True)
BUG_BRIEF       = View(BUG,        "BugBrief")
TASK_SHOWN      = TASK_CREATED
TASK_IN_FULL    = View(TASK,       "TaskInFull",       logged=True)
CASE_LISTED     = View(TESTCASE,   "TestCaseInList")
TESTTASK_SHOWN  = View(TESTTASK,                       adds="productName branch executionName productType files")  # and then the lists of ENCLOSED, room 6
TESTTASK_LISTED = View(TESTTASK,   "TestTaskInList",   adds="productName branch executionName")
TESTTASK_LINKED = View(TESTTASK,   "TestTaskLinked")
TESTTASK_CASE   = View(TESTCASE,   "TestTaskTestCase", adds=f"caseFails {CASE_IN_TESTTASK}")
EFFORT_LISTED   = View(EFFORT,     "EffortInList",     person=AS_ACCOUNT, nobody=BLANK)
RESULT_SHOWN    = View(RESULT)
# Inside of a story.
STORY_TASK      = View(TASK,       "StoryTask",        only="id name type status assignedTo")
STORY_BUG       = View(BUG,        "StoryBug",         only="id title status pri severity")
STORY_CASE      = View(TESTCASE,   "StoryTestCase",    only="id title pri status")
STORY_NAMED     = View(STORY,      "StoryNamed",       only="id title")
# fmt: on

# The schemas of answers that are no records.
MESSAGE = flat_object("Message", "", "message")
TOKEN = flat_object("Token", "", "token")
PING = flat_object("Ping", "", "token tokenLife")
# Not "Configuration": clients that are made of the document have a class of that name.
CONFIGURATION = flat_object("Setting", "", "name value")
CONFIGURATION_LIST = named("SettingList", array_of(flat_object("SettingInList", "", "key value")))
GROUP = flat_object("Group", "id project", "vision name role desc acl developer", "privs accounts")
MODULES = object_of({"modules": array_of({}, maxItems=0)}, "ModuleList")
BUG_OPTIONS = flat_object("BugOptions", "", "", "options")
ACTION = object_of(
    {
        **dict.fromkeys(("id", "objectID"), INTEGER),
        **dict.fromkeys(("objectType", "actor", "action", "comment"), STRING),
        "date": or_null({**STRING, "format": "date-time"}),
        "history": array_of({}, maxItems=0),
    },
    "Action",
)
GROUP_LIST = named("GroupList", array_of(GROUP))
DEPARTMENT_TREE = flat_object(
    "DepartmentTree", "id parent grade order", "name path position function manager managerName"
)
DEPARTMENT_TREE["properties"].update(children=array_of(ANY_OBJECT), actions=ANY_OBJECT)
DEPARTMENTS = named("DepartmentTrees", array_of(DEPARTMENT_TREE))
# Of a fixture: its arrays.
RECORDS = dict.fromkeys(FIXTURE, array_of(ANY_OBJECT))
FIXTURE_DOCUMENT = named("Fixture", {"type": "object", "properties": RECORDS})

SUCCESS = {"message": "success"}


# --- 6 Store: the queries: lists, rules between records, rows -------------------------------------
# Every statement on records; rows in, rows out. No HTTP, and no JSON but user references. What the
# caller may see is selected from the views of schema.sql, with the table's name as the alias:
# seen_bug AS bug. Names in statements come from the tables above only. A quoted column is always
# qualified, because SQLite takes an unknown "name" for the text 'name'.


Record = sqlite3.Row
Now = Callable[[], datetime]  # a clock: the present moment, with its zone
TOKEN_LIFETIME = 24 * 60 * 60  # seconds after its last use
PATIENCE = 5  # seconds that a transaction waits for locks, of this process and of others together


class Caller(NamedTuple):
    """The user who makes a request, and the token that came with it."""

    account: str
    admin: bool
    token: str = ""


ADMINISTRATOR = Caller(ADMIN, True)

ASKED_ME = """story.id IN (
    SELECT asked.story FROM story_reviewer AS asked
    WHERE asked.account = me() AND asked.result = '')"""
VOTED_BY_ME = """story.id IN (
    SELECT asked.story FROM story_reviewer AS asked
    WHERE asked.account = me() AND asked.result <> '')"""
HAS_REVIEWERS = "EXISTS (SELECT 1 FROM story_reviewer AS asked WHERE asked.story = story.id)"
ASSIGNED_BY_ME = """+{0}.id IN (
    SELECT action.objectID FROM action
    WHERE action.objectType = '{0}' AND action.action = 'assigned' AND action.actor = me())"""


def browsing(table: str, states: Iterable[str], **others: str) -> dict[str, str]:
    """Return the words that `status` may ask for, and their conditions: all, others, each state."""
    in_state = {state: f"{table}.status = '{state}'" for state in states}
    return {"all": "", **others, **in_state}


BROWSE_ALL = {"all": ""}
# The real server's kinds of browsing, and the plain states.
BROWSE_BUGS = browsing(
    "bug",
    BUG_STATES,
    unclosed="bug.status <> 'closed'",
    unresolved="bug.status = 'active'",
    unconfirmed="bug.confirmed = 0",
    assigntome="bug.assignedTo = me()",
    openedbyme="bug.openedBy = me()",
    assigntonull="bug.assignedTo IS NULL AND bug.status <> 'closed'",
    toclosed="bug.status = 'resolved'",
    postponedbugs="bug.resolution = 'postponed'",
    overduebugs="bug.status = 'active' AND bug.deadline < today()",
    resolvedbyme="bug.resolvedBy = me()",
    closedbyme="bug.closedBy = me()",
    assignedbyme=ASSIGNED_BY_ME.format("bug"),
    needconfirm="bug.story <> 0"  # as the partial index says
    " AND bug.storyVersion < (SELECT version FROM seen_story WHERE id = bug.story)",
    longlifebugs="bug.status = 'active'"
    " AND coalesce(bug.lastEditedDate, bug.openedDate) < week_ago()",
    # ours: what the overview counts
    openedthisweek="bug.openedDate >= monday()",
    resolvedthisweek="bug.resolvedDate >= monday()",
)
BROWSE_TASKS = browsing(
    "task",
    TASK_STATES,
    unclosed="task.status NOT IN ('closed', 'cancel')",
    undone="task.status IN ('wait', 'doing')",
    assignedtome="task.assignedTo = me()",
    myinvolved="me() IN (task.assignedTo, task.finishedBy, task.openedBy)",
    assignedbyme=ASSIGNED_BY_ME.format("task"),
    finishedbyme="task.finishedBy = me()",
    delayed="task.status IN ('wait', 'doing') AND task.deadline < today()",
    needconfirm="task.story <> 0 AND task.storyVersion < ("
    "SELECT version FROM seen_story WHERE id = task.story AND status = 'active')",
)
BROWSE_PLANS = browsing("plan", PLAN_STATES, undone="plan.status IN ('wait', 'doing')")
BROWSE_TESTTASKS = browsing("testtask", TESTTASK_STATES, totalstatus="")
BROWSE_PRODUCTS = browsing("product", PRODUCT_STATES, noclosed="product.status <> 'closed'")
# Also of executions.
BROWSE_PROJECTS = browsing("project", PROJECT_STATES, undone="project.status <> 'closed'")
BROWSE_RELEASES = browsing("release", RELEASE_STATES)
# fmt: off
BROWSE_STORIES = {
    "unclosed":       "story.status <> 'closed'",
    "all":            "",
    "allstory":       "",
    "draft":          "story.status = 'draft'",
    "draftstory":     "story.status = 'draft'",
    "active":         "story.status = 'active'",
    "activestory":    "story.status = 'active'",
    "closed":         "story.status = 'closed'",
    "closedstory":    "story.status = 'closed'",
    "changed":        "story.status = 'changed'",
    "changedstory":   "story.status = 'changed'",
    "changingstory":  "story.status = 'changed'",
    "reviewingstory": f"story.status IN ('draft', 'changed') AND {HAS_REVIEWERS}",
    "assignedtome":   "story.assignedTo = me()",
    "openedbyme":     "story.openedBy = me()",
    "reviewbyme":     f"story.status IN ('draft', 'changed') AND {ASKED_ME}",
    "reviewedbyme":   f"(story.reviewedBy = me() OR {VOTED_BY_ME})",
    "closedbyme":     "story.closedBy = me()",
    "assignedbyme":   ASSIGNED_BY_ME.format("story"),
    # ours: what the overview counts; "closed" is above
    **{stage: f"(SELECT stage FROM story_stage WHERE id = story.id) = '{stage}'" for stage in STORY_STAGES[:-1]},
}
# fmt: on

# CROSS JOIN: SQLite begins with the few linked stories.
CASES_OF_HOME_OR_ITS_STORIES = """testcase.id IN (
    SELECT own.id FROM testcase AS own WHERE own.{0} = :{0}
    UNION ALL
    SELECT linked.id FROM project_story
    CROSS JOIN testcase AS linked ON linked.story = project_story.story AND linked.story <> 0
    WHERE project_story.project = :{0}
    AND EXISTS (SELECT 1 FROM seen_story AS story WHERE story.id = linked.story))"""
# The SQL conditions of lists that are narrowed to one other record, which the path
# (/projects/<id>/stories) or the query (?project=3) names. Key: the table that is listed, and the
# parameter. A pair that is not here is narrowed by the column of that name: bug.product = :product.
# "parent_of": the requirement whose child a story is (ENCLOSED).
# fmt: off
NARROWINGS = {
    "story project":      "story.id IN (SELECT story FROM project_story WHERE project_story.project = :project)",
    "story execution":    "story.id IN (SELECT story FROM project_story WHERE project_story.project = :execution)",
    "story plan":         "story.id IN (SELECT story FROM plan_story WHERE plan_story.plan = :plan)",
    "story parent_of":    "story.id = (SELECT child.parent FROM story AS child WHERE child.id = :parent_of) AND story.type = 'requirement'",
    "testcase project":   CASES_OF_HOME_OR_ITS_STORIES.format("project"),
    "testcase execution": CASES_OF_HOME_OR_ITS_STORIES.format("execution"),
    "testcase testtask":  'testcase.id IN (SELECT "case" FROM testtask_case WHERE testtask_case.testtask = :testtask)',
    "product project":    "product.id IN (SELECT product FROM project_product WHERE project_product.project = :project)",
    "project product":    "project.id IN (SELECT project FROM project_product WHERE project_product.product = :product)",
    "project program":    "project.parent = :program",
    "task story":         "task.story = :story AND task.story <> 0",  # as the partial index says
    "task search":        "",  # only lifts the scope
    "bug story":          "bug.story = :story AND bug.story <> 0",
    "testcase story":     "testcase.story = :story AND testcase.story <> 0",
    "bug plan":           "bug.plan = :plan AND bug.plan <> 0 AND bug.product = (SELECT plan.product FROM plan WHERE plan.id = :plan)",
}
# fmt: on


MOST_STATEMENTS = 500  # that a function caches; filters, orders and states have more combinations
NEWEST, OLDEST = ("id", "desc"), ("id", "asc")
# "object id → title of the product's active requirements"
REQUIREMENTS = (
    "requirements",
    """SELECT json_group_object(CAST(story.id AS TEXT), story.title) FROM story
       WHERE story.product = :product AND story.type = 'requirement'
       AND story.deleted = 0 AND story.status = 'active'""",
)
NAMES = ("title", "name", "realname")  # fields that name a record
MOST_WORDS = 20  # of a search, because each is looked for in every name


def read_words(value: object) -> str:
    """Return the text of a search, which has at most MOST_WORDS words."""
    text: str = NAME.read(value)
    count = len(text.split())
    if count > MOST_WORDS:
        raise ValueError(f"must have at most {MOST_WORDS} words (got {count})")
    return text


ACCENTS = re.compile("[\u0300-\u036f]+")
# Letters that Unicode does not take apart, and what they are searched and sorted as.
LETTERS = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe"})


def folded(text: str) -> str:
    """Return a text in the form in which texts are searched and sorted, in all languages.

    Upper and lower case are the same, and letters are those without their accents: "Äpfel" stands
    between "Apfel" and "Birne".
    """
    if text.isascii():
        return text.lower()
    letters = unicodedata.normalize("NFKD", text.casefold().translate(LETTERS))
    return ACCENTS.sub("", letters)


@functools.lru_cache(1)
def folded_words(text: str) -> list[str]:
    """Return the words of a search, as `folded` writes them."""
    return list(dict.fromkeys(folded(text).split()))


def has_words(text: str, name: str) -> bool:
    """Tell whether every word of a search is a part of a name."""
    words, wanted = folded(name), folded_words(text)
    return bool(wanted) and all(word in words for word in wanted)


def read_assignee(value: str) -> str | int | None:
    """Return the account or the id of a user from a query; digits are an id, as in a path."""
    return read_person(int(value) if ASCII_INT.fullmatch(value) else value)


WORDS = Kind("plain", read_words, NAME.schema)
EVERYBODY = {**FLAG_SCHEMA, "description": "true: everybody's, not only the caller's"}
# The kinds of filters; the others are links. `title` is ours.
FILTER_KINDS = {
    "type": one_of("StoryType", *STORY_TYPES),
    "title": WORDS,
    "name": WORDS,
    "pri": NATURAL,
    "execution": HOME_LINK,
    "assignedTo": PERSON._replace(read=read_assignee, schema=ACCOUNT_SCHEMA, absent=(None, "")),
    "search": FLAG._replace(schema=EVERYBODY, absent=(None, "", "0", "false")),
}


@dataclasses.dataclass(eq=False)
class Listing:
    """A list of records.

    key: its name in the answer.
    view: how it shows a record.
    within: the name of the record in the path that narrows it (see NARROWINGS), "" without one.
    browse: what `status` may ask for.
    order: field and direction by default.
    limit: the records of a page, unless the request says.
    whole: whether all records are shown, unless the request asks for a page.
    bare: whether the answer shows no page, total or limit.
    filters: the query parameters that narrow it, some with a default, as in "type=story".
    default: the status if none is asked for.
    scope: a further condition on a record, unless one of the filters in `unscoped` is set.
    beside: a field after the list, and the query that gives its JSON.
    """

    key: str
    view: View
    within: str = ""
    browse: Mapping[str, str] = dataclasses.field(default_factory=BROWSE_ALL.copy)
    order: tuple[str, str] = NEWEST
    limit: int = 20
    whole: bool = False
    bare: bool = False
    filters: str = ""
    default: str = "all"
    scope: str = ""
    unscoped: str = ""
    beside: tuple[str, str] = ("", "")

    @functools.cached_property
    def filter_defaults(self) -> dict[str, str]:
        """The default of each filter, "" without one."""
        filters = self.filters.split()
        if self.name_column:
            filters.append("title")
        parted = (filter.partition("=") for filter in filters)
        return {name: default for name, _, default in parted}

    @property
    def name_column(self) -> str:
        """The column that names a record, which the filter `title` searches; "" without one."""
        return next((field for field in NAMES if field in self.view.resource.fields), "")

    @functools.cached_property
    def shape(self) -> Shape:
        """The query parameters that the list takes."""
        fields = {"page": PAGE, "limit": LIMIT, "order": self.orders}
        if len(self.browse) > 1:
            array = RESOURCES[self.view.resource.table].array
            fields["status"] = one_of(f"{spelled(array)}Filter", *self.browse)
        for name in self.filter_defaults:
            kind = FILTER_KINDS.get(name) or link(name)
            if kind.target:  # 0 names none
                kind = kind._replace(absent=(None, "", "0"))
            fields[name] = kind
        return Shape(fields)

    @functools.cached_property
    def sortable(self) -> list[str]:
        """The fields that `order` may name."""
        given = self.view.resource.settable()
        return [field for field in self.view.columns if field in given]

    @property
    def orders(self) -> Kind:
        """The kind of the parameter `order`: a field of the list, alone or with _asc or _desc."""
        orders = {}
        for field in self.sortable:
            orders[field] = orders[f"{field}_asc"] = (field, "asc")
            orders[f"{field}_desc"] = (field, "desc")
        in_lower_case = {word.lower(): order for word, order in orders.items()}

        def read(word: object) -> tuple[str, str]:
            order = in_lower_case.get(str(word).lower())
            if order:
                return order
            near = suggest(re.sub("_(asc|desc)$", "", str(word)), self.sortable)
            raise ValueError(f"must be a field of the list, alone or with _asc or _desc{near}")

        return Kind("plain", read, text_schema("^[A-Za-z]+(_asc|_desc)?$"))


# The lists inside of single records, which follow the fields of the view.
ENCLOSED: dict[View, tuple[Listing, ...]] = {
    PLAN_SHOWN: (Listing("stories", STORY_LISTED, "plan"), Listing("bugs", BUG_BRIEF, "plan")),
    TESTTASK_SHOWN: (Listing("testcases", TESTTASK_CASE, "testtask", order=OLDEST),),
    STORY_SHOWN: (
        Listing("tasks", STORY_TASK, "story"),
        Listing("children", STORY_LISTED, "parent", order=OLDEST),
        Listing("bugs", STORY_BUG, "story", order=OLDEST),
        Listing("cases", STORY_CASE, "story", order=OLDEST),
        # The requirement whose child this story is.
        Listing("requirements", STORY_NAMED, "parent_of", order=OLDEST),
    ),
}
ENCLOSED[STORY_IN_FULL] = ENCLOSED[STORY_SHOWN]


def mine(view: View) -> Listing:
    """Return the list of what is assigned to the caller and not closed."""
    table = view.resource.table
    scope = f"{table}.assignedTo = me() AND {table}.status <> 'closed'"
    return Listing(view.resource.array, view, whole=True, scope=scope)


# The lists that GET /user?fields=bug,task adds to the profile.
MINE = {"bug": mine(BUG_BRIEF), "task": mine(TASK_SHOWN), "story": mine(STORY_LISTED)}


def all_of(*conditions: str) -> str:
    """Return the SQL condition that all of these hold; "" always does."""
    return " AND ".join(filter(None, conditions)) or "TRUE"


def column(view: View, field: str) -> str:
    """Return the expression of a field, with 0 for an unset link."""
    kind = view.fields[field]
    if kind.sql:
        return kind.sql
    name = f'{view.resource.table}."{field}"'
    return f"coalesce({name}, 0)" if kind.target else name


@functools.lru_cache(MOST_STATEMENTS)
def select_statement(view: View, page: str = "") -> str:
    """Return the statement that selects a view's columns, in its order.

    page: a query for the ids of the records, in their order; without it, all records.
    """
    columns = ", ".join(column(view, field) for field in view.columns)
    table = view.resource.table
    source = f"shown_{table} AS {table}"
    if page:
        # CROSS JOIN keeps the order of the page, so that only ids are sorted, not whole records.
        source = f"({page}) AS page CROSS JOIN {source} ON {table}.id = page.id"
    return f"SELECT {columns} FROM {source}"


# What records belong to: by their table, the columns of ids and the tables of these. What belongs
# to a deleted record is in no list and no count but its own, and takes no new records; see live_…
# in schema.sql.
HOMES = {
    "plan": {"product": "product"},
    "story": {"product": "product"},
    "bug": {"product": "product"},
    "testcase": {"product": "product"},
    "build": {"product": "product", "execution": "project"},
    "testtask": {"product": "product", "execution": "project"},
    "release": {"product": "product", "project": "project"},
    "task": {"execution": "project"},
    "project": {"id": "project"},
    "product": {"id": "product"},
}


def of_the_living(table: str, known: Iterable[str] = (), many: bool = True) -> list[str]:
    """Return the SQL conditions that the caller may see what a row belongs to, and that it lives.

    known: the columns of which that is known already.  many: whether many rows are looked at: then
    SQLite works out what lives once for all of them. The + keeps it from beginning with that.
    """
    conditions = []
    for column, home in HOMES.get(table, {}).items():
        if column in known:
            continue
        lives = f"EXISTS (SELECT 1 FROM live_{home} AS home WHERE home.id = {table}.{column})"
        if many:
            lives = f"+{table}.{column} IN (SELECT id FROM live_{home})"
        if (table, column) == ("release", "project"):  # which a release need not have
            lives = f"(release.project IS NULL OR {lives})"
        conditions.append(lives)
    return conditions


@functools.cache
def find_statement(target: str, id: str = ":id", living: bool = True) -> str:
    """Return the statement that finds an undeleted row of a resource that the caller may see.

    id: the expression of the id.  living: whether what the row belongs to must not be deleted.
    """
    named = RESOURCES[target]
    table = named.table
    conditions = [f"{table}.id = {id}", named.undeleted, named.of_types]
    if living:
        conditions += of_the_living(table, many=False)
    return f"SELECT {table}.* FROM seen_{table} AS {table} WHERE {all_of(*conditions)}"


@functools.lru_cache(MOST_STATEMENTS)
def list_statements(
    listing: Listing, names: tuple[str, ...], status: str, order: tuple[str, str]
) -> tuple[str, str]:
    """Return the statements that count the records of a list and select a page of them.

    names: what narrows the list; the caller may see the records that these name, and they live.
    Only ids are sorted and skipped, then the page is fetched.
    """
    resource = listing.view.resource
    table = resource.table
    conditions = [resource.undeleted, resource.of_types, *of_the_living(table, names)]
    for name in names:
        condition = f'{table}."{name}" = :{name}'
        if FILTER_KINDS.get(name) is WORDS:
            condition = f"has_words(:{name}, {table}.{listing.name_column})"
        conditions.append(NARROWINGS.get(f"{table} {name}", condition))
    if not {*names} & {*listing.unscoped.split()}:
        conditions.append(listing.scope)
    conditions.append(listing.browse[status])
    where = all_of(*conditions)
    field, way = order
    sorting = f"{table}.id {way}"
    if field != "id":
        key = f'{table}."{field}"'
        if field in NAMES:
            key = f"folded({key})"
        sorting = f"{key} {way}, {sorting}"
    rows = table if table in HOMES else f"seen_{table} AS {table}"
    source = f"{rows} WHERE {where}"
    page = f"SELECT {table}.id FROM {source} ORDER BY {sorting}"
    count = f"SELECT count(*) FROM {source}"
    return count, select_statement(listing.view, f"{page} LIMIT :limit OFFSET :offset")


# A story that is linked to an execution is linked to the execution's project, too. A further
# condition may follow.
LINK_TO_PROJECTS = """
    INSERT OR IGNORE INTO project_story
    SELECT home.project, story FROM project_story
    JOIN project AS home ON home.id = project_story.project
    WHERE home.project IS NOT NULL"""


class Constraint(NamedTuple):
    """A rule between records: a row of CONSTRAINTS.

    table: the table whose rows the rule is about.
    field: the field that the refusal names.
    when: a request that changes one of these fields checks the rule; "" if only fixtures do.
    query: selects the rows that break the rule: `id`; `link`, the wrong id (0 where the field is no
        link); and the columns that `rule` names.
    rule: the text of the refusal; {column} stands for a column of the query.
    in_fixture: whether a fixture is checked, too. False where a later change of another record may
        break the rule, because every dump must load again.
    """

    table: str
    field: str
    when: str
    query: str
    rule: str
    in_fixture: bool = True


NOT_AN_EXECUTION = """
    SELECT id, project AS link FROM project
    WHERE project IS NOT NULL AND type IN ('program', 'project')
    ORDER BY id"""


def too_deep(table: str, condition: str = "TRUE") -> str:
    """Return the query for the rows that make too many levels or lie below themselves.

    The deepest comes first.  condition: which rows have a place among the levels.
    """
    return f"""
        SELECT id, link FROM (
            SELECT {table}.id, {table}.parent AS link, (
                WITH RECURSIVE up(id, level) AS (
                    SELECT {table}.parent, 1
                    UNION ALL
                    SELECT above.parent, level + 1
                    FROM up JOIN {table} AS above ON above.id = up.id
                    WHERE level <= {MAX_LEVELS})
                SELECT max(level) FROM up) AS level, (
                WITH RECURSIVE down(id, level) AS (
                    SELECT {table}.id, 0
                    UNION ALL
                    SELECT below.id, level + 1
                    FROM down JOIN {table} AS below ON below.parent = down.id
                    WHERE level < {MAX_LEVELS} AND {condition.format("below")})
                SELECT max(level) FROM down) AS below
            FROM {table}
            WHERE {table}.parent IS NOT NULL AND {condition.format(table)})
        WHERE level + below > {MAX_LEVELS}
        ORDER BY level DESC, id"""


def outside(table: str, above: str, day: str) -> str:
    """Return the query for the rows that begin or end outside of the days of the row above.

    above: the column of its id.
    """
    return f"""
        SELECT below.id, 0 AS link, above_it.begin, above_it.end
        FROM {table} AS below JOIN {table} AS above_it ON above_it.id = below.{above}
        WHERE below.{day} NOT BETWEEN above_it.begin AND above_it.end
        AND NOT below.deleted AND NOT above_it.deleted"""


def not_covering(table: str, above: str, condition: str) -> str:
    """Return the query for the rows whose days do not cover those of the rows below."""
    return f"""
        SELECT above_it.id, 0 AS link, min(below.begin) AS begin, max(below.end) AS end
        FROM {table} AS above_it JOIN {table} AS below ON below.{above} = above_it.id
        WHERE NOT below.deleted
        GROUP BY above_it.id HAVING {condition}"""


def parent_elsewhere(table: str) -> str:
    """Return the query for the records whose parent is of another product."""
    return f"""
        SELECT {table}.id, {table}.product, up.id AS link
        FROM {table} JOIN {table} AS up ON up.id = {table}.parent
        WHERE up.product <> {table}.product
        ORDER BY {table}.id"""


def grandparent(table: str) -> str:
    """Return the query for the records whose parent has a parent."""
    return f"""
        SELECT {table}.id, up.id AS link
        FROM {table} JOIN {table} AS up ON up.id = {table}.parent
        WHERE up.parent IS NOT NULL AND NOT {table}.deleted
        ORDER BY {table}.id"""


NOT_THE_SUM = """
    SELECT id, 0 AS link, sum FROM (
        SELECT id, estimate, (
            SELECT round(sum(estimate), 9) FROM story AS child
            WHERE child.parent = story.id AND NOT child.deleted) AS sum
        FROM story)
    WHERE estimate <> sum"""
HIGH_CHILD = """
    SELECT id, 0 AS link FROM story
    WHERE parent IS NOT NULL AND estimate > 1e9"""


def has_children(table: str) -> str:
    """Return the query for the records that have a parent and children."""
    return f"""
        SELECT id, parent AS link FROM {table}
        WHERE parent IS NOT NULL AND EXISTS (
            SELECT 1 FROM {table} AS child WHERE child.parent = {table}.id AND NOT child.deleted)"""


def other_project(table: str) -> str:
    """Return the query for the records whose execution is of another project."""
    return f"""
        SELECT {table}.id, {table}.project, home.id AS link
        FROM {table} JOIN project AS home ON home.id = {table}.execution
        WHERE {table}.project <> coalesce(home.project, home.id)
        ORDER BY {table}.id"""


def items_elsewhere(table: str, name: str, items: str) -> str:
    """Return the query for the records that are linked to items of another product.

    name: the column of an item's id in the table of links.
    """
    links = f"{table}_{name}"
    return f"""
        SELECT {table}.id, {table}.product, item.id AS link
        FROM {table}
        JOIN {links} ON {links}.{table} = {table}.id
        JOIN {items} AS item ON item.id = {links}."{name}"
        WHERE item.product <> {table}.product
        ORDER BY {table}.id"""


def like(name: str) -> str:
    """Return the rule that a link must be of the same product."""
    return f"must belong to product {{product}}, like the {name} (got {{link}})"


PLANS_ELSEWHERE = """
    SELECT story.id, story.product, plan.id AS link
    FROM story JOIN plan_story ON plan_story.story = story.id JOIN plan ON plan.id = plan_story.plan
    WHERE plan.product <> story.product
    ORDER BY story.id"""
NOT_OF_PROJECT = """
    SELECT id, project, product AS link FROM build
    WHERE NOT EXISTS (
        SELECT 1 FROM project_product AS of
        WHERE of.project = build.project AND of.product = build.product)"""
SAME_NAME = """
    SELECT id, 0 AS link FROM build
    WHERE NOT deleted AND EXISTS (
        SELECT 1 FROM build AS other
        WHERE other.product = build.product AND other.name = build.name
            AND NOT other.deleted AND other.id <> build.id)
    ORDER BY id DESC"""  # of two in a fixture, the later one is refused
BUILD_STORIES = items_elsewhere("build", "story", "story")
BUILD_BUGS = items_elsewhere("build", "bug", "bug")
TESTTASK_CASES = items_elsewhere("testtask", "case", "testcase")
TESTTASK_BUILD = """
    SELECT testtask.id, testtask.product, build.id AS link
    FROM testtask JOIN build ON build.id = testtask.build
    WHERE build.product <> testtask.product"""
BEGINS_LATE = "above_it.begin > min(below.begin)"
ENDS_EARLY = "above_it.end < max(below.end)"
WITHIN = "must lie within the {}'s days, {{begin}} to {{end}}"
COVERING = "must cover the days of the {}, {{begin}} to {{end}}"
IN_PROJECT_DAYS, IN_PLAN_DAYS = WITHIN.format("project"), WITHIN.format("parent")
OVER_EXECUTIONS, OVER_PLANS = COVERING.format("executions"), COVERING.format("child plans")
TOO_DEEP = f"must not be the {{}} itself, lie below it, or make more than {MAX_LEVELS} levels"
ITS_PROJECT = "must be the project of its execution"
OF_THE_PROJECT = "must be an execution of project {project}, or the project itself"
# Not "is taken": the caller may not see that build.
ANOTHER_NAME = "cannot be given to a build of this product; choose another"
# fmt: off
# THE RULES BETWEEN RECORDS, for a row that a request changed and for all rows that a fixture loaded.
CONSTRAINTS = (
    #          table         field        when               query                       rule
    Constraint("project",    "parent",    "parent",          too_deep("project", "{}.type = 'program'"), TOO_DEEP.format("program")),
    Constraint("project",    "begin",     "begin project",   outside("project", "project", "begin"), IN_PROJECT_DAYS, in_fixture=False),
    Constraint("project",    "end",       "end project",     outside("project", "project", "end"), IN_PROJECT_DAYS, in_fixture=False),
    Constraint("project",    "begin",     "begin",           not_covering("project", "project", BEGINS_LATE), OVER_EXECUTIONS, in_fixture=False),
    Constraint("project",    "end",       "end",             not_covering("project", "project", ENDS_EARLY), OVER_EXECUTIONS, in_fixture=False),
    Constraint("project",    "project",   "",                NOT_AN_EXECUTION,           "must be 0: only executions belong to projects"),
    Constraint("department", "parent",    "parent",          too_deep("department"), TOO_DEEP.format("department")),
    Constraint("story",      "parent",    "parent",          parent_elsewhere("story"),  like("story")),
    Constraint("story",      "plan",      "plans",           PLANS_ELSEWHERE,            like("story"), in_fixture=False),
    Constraint("story",      "plans",     "",                PLANS_ELSEWHERE,            like("story")),  # their name in a fixture
    Constraint("story",      "parent",    "parent",          grandparent("story"),       "must be a story that has no parent itself (got {link})"),
    Constraint("story",      "parent",    "parent",          has_children("story"),      "must be 0, because this story has children", in_fixture=False),
    Constraint("story",      "estimate",  "estimate",        NOT_THE_SUM,                "must be {sum:g}, the sum of its children's"),
    Constraint("story",      "estimate",  "estimate parent", HIGH_CHILD,                 "must be 1000000000 or less in a story that has a parent"),
    Constraint("plan",       "parent",    "parent",          parent_elsewhere("plan"),   like("plan")),
    Constraint("plan",       "parent",    "parent",          grandparent("plan"),        "must be a plan that has no parent itself (got {link})"),
    Constraint("plan",       "parent",    "parent",          has_children("plan"),       "must be 0, because this plan has children", in_fixture=False),
    Constraint("plan",       "begin",     "begin parent",    outside("plan", "parent", "begin"), IN_PLAN_DAYS),
    Constraint("plan",       "end",       "end parent",      outside("plan", "parent", "end"), IN_PLAN_DAYS),
    Constraint("plan",       "begin",     "begin",           not_covering("plan", "parent", BEGINS_LATE), OVER_PLANS, in_fixture=False),
    Constraint("plan",       "end",       "end",             not_covering("plan", "parent", ENDS_EARLY), OVER_PLANS, in_fixture=False),
    Constraint("build",      "execution", "execution",       other_project("build"),     OF_THE_PROJECT, in_fixture=False),
    Constraint("build",      "product",   "product",         NOT_OF_PROJECT,             "must be a product of project {project}", in_fixture=False),
    Constraint("build",      "name",      "name product",    SAME_NAME,                  ANOTHER_NAME),
    Constraint("build",      "stories",   "stories product", BUILD_STORIES,              like("build")),
    Constraint("build",      "bugs",      "bugs product",    BUILD_BUGS,                 like("build"), in_fixture=False),
    Constraint("build",      "project",   "",                other_project("build"),     ITS_PROJECT),
    Constraint("task",       "project",   "",                other_project("task"),      ITS_PROJECT),
    Constraint("testtask",   "project",   "",                other_project("testtask"),  ITS_PROJECT),
    Constraint("testtask",   "execution", "execution",       other_project("testtask"),  OF_THE_PROJECT, in_fixture=False),
    Constraint("testtask",   "build",     "build product",   TESTTASK_BUILD,             like("testtask"), in_fixture=False),
    Constraint("testtask",   "testcases", "testcases product", TESTTASK_CASES,             like("testtask"), in_fixture=False),
)
# fmt: on


# How stories and bugs are linked to a plan and unlinked. A bug has one plan, a story several.
PLAN_LINKS = {
    "linked stories": """
        INSERT OR IGNORE INTO plan_story SELECT :plan, value FROM json_each(:ids)""",
    "unlinked stories": """
        DELETE FROM plan_story
        WHERE plan = :plan AND story IN (SELECT value FROM json_each(:ids))""",
    "linked bugs": """
        UPDATE bug SET plan = :plan WHERE id IN (SELECT value FROM json_each(:ids))""",
    "unlinked bugs": """
        UPDATE bug SET plan = 0
        WHERE plan = :plan AND id IN (SELECT value FROM json_each(:ids))""",
}


def refuse_beyond_last(id: int) -> None:
    """Raise Refusal for an id above MAX_ID: a fixture with it could not be loaded again."""
    if id > MAX_ID:
        raise Refusal(400, f"Ids end at {MAX_ID}: there can be no further record of this kind.")


def rows_of_part(id: int, part: Part, values: Iterable[Any]) -> Iterator[Members]:
    """Yield the rows of a part of a record: values are objects, or ids of other records."""
    for item in values:
        yield {part.owner: id, **({part.item: item} if part.item else item)}


class Store:
    """The records, through one connection, inside one transaction of one caller at a time.

    me, clock, labels: of the transaction, see `begin`.
    ignored: the fields that were given without effect, which the answer names.
    written: the table and the id of the row that the request wrote, see `written` in schema.sql.
    timeout: milliseconds that the connection waits for SQLite's locks.
    """

    me: Caller
    clock: Now
    labels: Mapping[str, str]
    ignored: list[str]
    written: tuple[str, int]
    timeout = PATIENCE * 1000  # see Database.connect

    def __init__(self, connection: sqlite3.Connection, zone: tzinfo):
        self.connection, self.zone = connection, zone
        self.run = connection.execute

    def begin(self, clock: Now, me: Caller, labels: Mapping[str, str]) -> None:
        """Begin a transaction.

        labels: the labels of the service's language by word, see LABELS (room 15); {} for English.
        """
        self.clock, self.me, self.labels = clock, me, labels
        self.ignored, self.written = [], ("", 0)
        for name in ("now", "today"):  # those of the transaction before
            vars(self).pop(name, None)

    @functools.cached_property
    def now(self) -> str:
        """The time of the transaction, as it is stored."""
        return utc(self.clock(), self.zone)

    @functools.cached_property
    def today(self) -> str:
        """Today in the service's time zone."""
        return local(self.now, self.zone)[:10]

    def begin_of_week(self, later: int = 0) -> str:
        """Return the moment in which a week begins: this one, or so many weeks later."""
        midnight = datetime.fromisoformat(self.today).replace(tzinfo=self.zone)
        return utc(midnight + timedelta(later * 7 - midnight.weekday()), self.zone)

    def week_ago(self) -> str:
        """Return the moment a week ago."""
        return utc(self.clock() - timedelta(7), self.zone)

    # Running statements

    def row(self, sql: str, values: Any = ()) -> Record | None:
        """Return the first row of a query, None without one."""
        found: Record | None = self.run(sql, values).fetchone()
        return found

    def value(self, sql: str, values: Any = ()) -> Any:
        """Return the first value of a query's first row, None without one."""
        row = self.row(sql, values)
        return row[0] if row else None

    # Any resource

    def insert(self, table: str, values: Fields, conflict: str = "") -> int:
        """Insert a row and return its id. Raises Refusal if ids are used up."""
        columns = ", ".join(f'"{name}"' for name in values)
        places = ", ".join("?" for _ in values)
        sql = f"INSERT {conflict} INTO {table} ({columns}) VALUES ({places})"
        id = int(self.run(sql, tuple(values.values())).lastrowid or 0)
        refuse_beyond_last(id)
        return id

    def insert_record(
        self, resource: Resource, values: Fields, kinds: Mapping[str, Kind] | None = None
    ) -> int:
        """Insert a record and its parts, which are rows of other tables; return its id."""
        parts, columns = resource.parts_and_columns(values, kinds)
        id = self.insert(resource.table, columns)
        for part, items in parts:
            for row in rows_of_part(id, part, items):
                # An id may be sent twice. A row with its own id (a fixture's step) must be new.
                conflict = "" if "id" in row else "OR IGNORE"
                self.insert(part.table, row, conflict)
        return id

    def replace_part(self, id: int, part: Part, values: Iterable[Any]) -> None:
        """Replace the rows of a part of a record; those that are wanted again stay as they are."""
        wanted = {frozenset(row.items()): row for row in rows_of_part(id, part, values)}
        sql = f'SELECT * FROM {part.table} WHERE "{part.owner}" = ?'
        for row in self.run(sql, (id,)).fetchall():
            stored = dict(row)
            if wanted.pop(frozenset(stored.items()), None) is None:
                self.delete(part.table, **stored)
        for row in wanted.values():
            self.insert(part.table, row)

    def update(self, table: str, id: int, changes: Fields) -> None:
        columns = ", ".join(f'"{name}" = ?' for name in changes)
        self.run(f"UPDATE {table} SET {columns} WHERE id = ?", (*changes.values(), id))

    def update_record(self, resource: Resource, id: int, values: Fields) -> None:
        """Change a record; parts that are given replace the stored ones."""
        parts, columns = resource.parts_and_columns(values)
        if columns:
            self.update(resource.table, id, columns)
        for part, items in parts:
            self.replace_part(id, part, items)

    def delete(self, table: str, **key: Any) -> None:
        """Delete the rows with these values. Raises IntegrityError if another row names one."""
        conditions = " AND ".join(f'"{name}" = ?' for name in key)
        self.run(f"DELETE FROM {table} WHERE {conditions}", tuple(key.values()))

    def get(self, table: str, id: int | None) -> Any:
        """Return a row, None without one."""
        return self.row(f"SELECT * FROM {table} WHERE id = ?", (id,))

    def find(self, target: str, id: int, living: bool = True) -> Record | None:
        """Return the row of a resource if it is not deleted and the caller may see it.

        living: whether what it belongs to must not be deleted either.
        """
        return self.row(find_statement(target, living=living), {"id": id})

    def select(self, view: View, id: int) -> list[Record]:
        """Return the row of one record as a view shows it, in a list; an empty list without it."""
        named = all_of(f"{view.resource.table}.id = ?", view.resource.of_types)
        statement = f"{select_statement(view)} WHERE {named}"
        return self.run(statement, (id,)).fetchall()

    def page(
        self, listing: Listing, narrowed: Fields, query: Fields, counted: bool = True
    ) -> tuple[int, sqlite3.Cursor]:
        """Return how many records a list has in all, and the rows of the requested page.

        query: the checked parameters, with `offset` made of `page`.
        counted: whether the total is needed; otherwise it is 0.
        """
        status = query.get("status", listing.default)
        order = query.get("order", listing.order)
        count, select = list_statements(listing, tuple(narrowed), status, order)
        values = {
            "within": narrowed.get(listing.within, 0),  # for OF_THE_LIST
            "limit": query["limit"],
            "offset": query["offset"],
            **narrowed,
        }
        total = self.value(count, values) if counted else 0
        return total, self.run(select, values)

    def has_children(self, program: int) -> bool:
        """Tell whether a program has undeleted programs or projects below it."""
        sql = "SELECT 1 FROM project WHERE parent = ? AND NOT deleted"
        return self.row(sql, (program,)) is not None

    def breaking(self, constraint: Constraint, id: int = 0) -> Iterator[tuple[int, int, str]]:
        """Yield the rows that break a constraint: the id, the wrong link or 0, and the rule.

        id: of the only row that can break it.
        """
        sql = constraint.query
        if id:
            sql = f"SELECT * FROM ({sql}) WHERE id = {id}"
        for row in self.run(sql):
            yield row["id"], row["link"], constraint.rule.format(**row)

    def linked(self, part: Part, id: int) -> list[int]:
        """Return the ids in the rows of a part of a record."""
        sql = f'SELECT "{part.item}" FROM {part.table} WHERE {part.owner} = ?'
        return [item for (item,) in self.run(sql, (id,))]

    def found(self, target: str, ids: list[int]) -> set[int]:
        """Return those of some ids that name living records that the caller may see."""
        sql = f"SELECT value FROM json_each(:ids) WHERE EXISTS ({find_statement(target, 'value')})"
        return {id for (id,) in self.run(sql, {"ids": json.dumps(ids)})}

    def stranger(self, table: str, ids: list[int], product: int) -> int | None:
        """Return the first id of a row that does not belong to a product, None without one."""
        sql = f"""
            SELECT value FROM json_each(?)
            JOIN {table} ON {table}.id = value
            WHERE product <> ?
        """
        id: int | None = self.value(sql, (json.dumps(ids), product))
        return id

    # People and tokens

    def people(self, accounts: set[str]) -> dict[str, str]:
        """Return the user references of these accounts, as JSON text."""
        sql = """
            SELECT account, json_object(
                'id', user.id, 'account', account, 'avatar', avatar, 'realname', realname)
            FROM json_each(?) CROSS JOIN user ON account = value
        """
        return dict(self.run(sql, (to_json(list(accounts)),)))

    def user(self, person: str | int) -> Record | None:
        """Return the row of a user by account, in any case, or id; None if it is unknown."""
        if isinstance(person, int):
            return self.row("SELECT * FROM user WHERE id = ?", (person,))
        # Earlier versions took DEV1 for another user than dev1: the same spelling comes first.
        sql = "SELECT * FROM user WHERE account = :name COLLATE NOCASE ORDER BY account <> :name"
        return self.row(sql, {"name": person})

    def login(self, account: str) -> tuple[str, str | None]:
        """Return an account as it is stored, and the hash of its password.

        The hash is None if nobody can log in as this user.
        """
        user = self.user(account)
        if not user or user["deleted"]:
            return account, None
        return user["account"], user["password"]

    def id_of(self, name: int | str) -> int:
        """Return the id that a path names, as a number or an account; 0 if none can have it."""
        if isinstance(name, int):
            return name if name <= MAX_INT else 0
        user = self.user(name)
        return user["id"] if user else 0

    def add_person(self, account: str) -> None:
        """Insert a user if the account is unknown. Without a password nobody can log in as it."""
        if not self.user(account):
            self.insert("user", {"account": account, "realname": account})

    def administrators(self) -> dict[str, str]:
        """Return the real names of the administrators by account."""
        return dict(self.run("SELECT account, realname FROM user WHERE admin AND NOT deleted"))

    def token(self, hash: str) -> Record | None:
        """Return the account of a token, whether it is an administrator's, and its last use.

        A token of a deleted user counts as unknown.
        """
        sql = """
            SELECT token.account, admin, used FROM token
            JOIN user ON user.account = token.account AND NOT user.deleted
            WHERE hash = ?
        """
        return self.row(sql, (hash,))

    def use_token(self, hash: str) -> None:
        """Record that a token is used now, and delete those that have expired."""
        self.run("UPDATE token SET used = ? WHERE hash = ?", (self.now, hash))
        expired = "(julianday(?) - julianday(used)) * 86400 > ?"
        self.run(f"DELETE FROM token WHERE {expired}", (self.now, TOKEN_LIFETIME))

    def change_password(self, account: str, old_hash: str | None, new_hash: str) -> None:
        """Replace the stored hash of a password, and log out everybody who knew the old one.

        Users who have a copy of admin's hash (see share_password, room 18) get admin's new one.
        """
        copies = f"account = :account OR (:account = '{ADMIN}' AND password = :old)"
        logins = f"SELECT account FROM user WHERE {copies}"
        values = {"account": account, "old": old_hash, "new": new_hash}
        self.run(f"DELETE FROM token WHERE account IN ({logins})", values)
        self.run(f"UPDATE user SET password = :new WHERE {copies}", values)

    # Single operations

    def begin_projects(self, task: Record) -> None:
        """Set the execution and the project of a task to `doing` if they wait.

        Their real begin is today, unless it is set.
        """
        sql = """
            UPDATE project SET status = 'doing', realBegan = coalesce(realBegan, ?)
            WHERE id IN (?, ?) AND status = 'wait'
        """
        self.run(sql, (self.today, task["execution"], task["project"]))

    def move_execution(self, id: int) -> None:
        """Give what belongs to an execution the project to which it was moved."""
        self.run(f"{LINK_TO_PROJECTS} AND home.id = ?", (id,))
        for table in ("task", "build", "testtask"):
            sql = f"""
                UPDATE {table} SET project = home.project
                FROM project AS home
                WHERE home.id = execution AND execution = ? AND {table}.project <> home.project
            """
            self.run(sql, (id,))

    def votes(self, story: int) -> dict[str, str]:
        """Return a story's votes by account, in their order; first "" of who has not voted."""
        sql = "SELECT account, result FROM story_reviewer WHERE story = ? ORDER BY rowid"
        return dict(self.run(sql, (story,)))

    def vote(self, story: int, account: str, result: str) -> None:
        """Keep a reviewer's vote; with the new rowid of REPLACE it is the last one in `votes`."""
        vote = {"story": story, "account": account, "result": result}
        self.insert("story_reviewer", vote, "OR REPLACE")

    def keep_version(self, story: int) -> None:
        """Keep what a story says as its present version."""
        sql = """
            INSERT OR REPLACE INTO story_version
            SELECT id, version, title, spec, verify FROM story WHERE id = ?
        """
        self.run(sql, (story,))

    def story_at(self, story: int, version: int) -> Members:
        """Return what a story said in a version, or in the last one before it that is kept."""
        sql = """
            SELECT version, title, spec, verify FROM story_version
            WHERE story = ? AND version <= ?
            ORDER BY version DESC
        """
        return dict(self.row(sql, (story, version)) or {})

    def latest_version(self, story: int) -> int | None:
        """Return the version of a story, even a deleted one, None if the caller may not see it."""
        version: int | None = self.value("SELECT version FROM seen_story WHERE id = ?", (story,))
        return version

    def link_story(self, execution: int, story: int) -> None:
        """Link a story to an execution and its project."""
        sql = """
            INSERT OR IGNORE INTO project_story (project, story)
            SELECT :execution, :story
            UNION
            SELECT coalesce(project, id), :story FROM project WHERE id = :execution
        """
        self.run(sql, {"story": story, "execution": execution})

    def build_names(self, product: int) -> dict[str, str]:
        """Return the names of a product's builds that the caller may see, by id."""
        sql = """
            SELECT CAST(id AS TEXT), title FROM shown_build AS build
            WHERE product = ? AND NOT deleted
            AND EXISTS (SELECT 1 FROM live_project AS home WHERE home.id = build.execution)
        """
        return dict(self.run(sql, (product,)))

    def steps(self, case: int) -> list[Record]:
        """Return the steps of a test case."""
        sql = """
            SELECT id, parent, "case", version, type, desc, expect FROM step
            WHERE "case" = ?
            ORDER BY id
        """
        return self.run(sql, (case,)).fetchall()

    def last_effort(self, task: int) -> str:
        """Return the day of a task's last effort, "" without one."""
        return self.value("SELECT max(date) FROM effort WHERE task = ?", (task,)) or ""

    def actions(self, table: str, id: int) -> str:
        """Return the action log of a record as JSON; who opened it comes first."""
        sql = f"""
            SELECT json_group_array(json_object(
                'id', id, 'objectType', :table, 'objectID', :id, 'actor', actor,
                'action', action, 'date', date, 'comment', comment, 'history', json_array()))
            FROM (
                SELECT 0 AS id, coalesce(openedBy, '') AS actor, 'opened' AS action,
                    openedDate AS date, '' AS comment
                FROM {table} WHERE id = :id
                UNION ALL
                SELECT id, actor, action, date, comment FROM action
                WHERE objectType = :table AND objectID = :id
                ORDER BY id)
        """
        return str(self.value(sql, {"table": table, "id": id}))

    def log_action(self, table: str, id: int, action: str, body: Fields) -> None:
        """Log who did what to a record, with the comment in the body."""
        entry = {
            "objectType": table,
            "objectID": id,
            "actor": self.me.account,
            "action": action,
            "date": self.now,
            "comment": body.get("comment", ""),
        }
        self.insert("action", entry)

    def project_of(self, home: int | None) -> int:
        """Return the project of an execution, or the project itself; 0 for what is not there."""
        sql = "SELECT coalesce(project, id) FROM project WHERE id = ?"
        return self.value(sql, (home,)) or 0

    # Fixtures

    def is_empty(self) -> bool:
        """Tell whether the database holds no project and no product yet."""
        return self.row("SELECT 1 FROM project UNION ALL SELECT 1 FROM product") is None

    def place_records(self) -> None:
        """Work out what loaded records take from others.

        A task, build or test task takes its project from its execution, a story is linked to the
        projects of its executions, and its estimate is the sum of its children's.
        """
        for table in ("task", "build", "testtask"):
            self.run(f"""
                UPDATE {table} SET project = coalesce((
                    SELECT coalesce(home.project, home.id) FROM project AS home
                    WHERE home.id = execution
                ), 0)
                WHERE project = 0
            """)
        self.run(LINK_TO_PROJECTS)
        self.run("""
            UPDATE story SET estimate = children.estimate
            FROM (
                SELECT parent, round(sum(estimate), 9) AS estimate FROM story
                WHERE parent IS NOT NULL AND NOT deleted
                GROUP BY parent
            ) AS children
            WHERE story.id = children.parent AND story.estimate <> children.estimate
        """)

    def records(self, view: View) -> sqlite3.Cursor:
        """Return the rows of a resource, by id."""
        rows = all_of(view.resource.of_types)
        return self.run(f"{select_statement(view)} WHERE {rows} ORDER BY {view.resource.table}.id")

    def dangling(self, resource: Resource, field: str, kind: Kind) -> sqlite3.Cursor:
        """Return the id and the link of each record whose link names no record of its target."""
        named = RESOURCES[kind.target]
        table, owner, item, condition = resource.table, "id", field, all_of(resource.of_types)
        if kind.part:
            table, owner, item, _ = kind.part
            condition = f"{owner} IN (SELECT id FROM {resource.table} WHERE {condition})"
        links = f"SELECT {named.table}.id FROM {named.table} WHERE {all_of(named.of_types)}"
        return self.run(f"""
            SELECT {table}."{owner}" AS id, {table}."{item}" AS link FROM {table}
            WHERE {condition} AND {table}."{item}" <> 0 AND {table}."{item}" NOT IN ({links})
        """)

    def free_ids(self, users: Iterable[Fields]) -> None:
        """Make the ids free that a fixture gives to users.

        A stored user with one of them and another account moves to an id above all others.
        """
        given = {user["id"]: user.get("account") for user in users if "id" in user}
        last = max([self.value("SELECT max(id) FROM user"), *given])
        sql = "UPDATE user SET id = ? WHERE id = ? AND account <> ? COLLATE NOCASE"
        for id, account in given.items():
            last += self.run(sql, (last + 1, id, account)).rowcount
        refuse_beyond_last(last)


# --- 7 Database: the file -------------------------------------------------------------------------
# The file, its connections and transactions. No statement on records, but for the first user.

APPLICATION_ID = 1886221174  # "pmsv", as schema.sql sets it
SQLITE_LEAST = (3, 37, 0)  # has STRICT tables
WRITE_AHEAD = "PRAGMA journal_mode = WAL"  # readers never wait for the writer; kept in the file
# Off by default, and ignored when set inside a transaction.
LINKS_CHECKED = "PRAGMA foreign_keys = ON"
LINKS_UNCHECKED = "PRAGMA foreign_keys = OFF"
PRAGMAS = (  # of every connection
    "PRAGMA synchronous = FULL",  # an acknowledged write survives a power cut: one sync a commit
    "PRAGMA fullfsync = ON",  # on macOS, a sync otherwise ends in the disk's cache
    LINKS_CHECKED,
    "PRAGMA journal_size_limit = 4194304",  # cuts a log that a long read made grow back to 4 MiB
    "PRAGMA temp_store = MEMORY",  # sorts lists even when the disk of temporary files is full
)
# Files up to this size, in bytes, get a full quick_check when opened (a few milliseconds).
CHECK_SIZE = 4 * 1024 * 1024


class Database:
    """One database file, or one in memory, and its pool of idle connections.

    A connection serves one transaction of one thread at a time and then returns to the pool:
    threads that work at the same time have one each, and no two ever share one.

    existing: whether the file must exist already. Then nothing is written to it.
    older: whether a file of an older version may be read, which lacks what queries name.
    """

    def __init__(
        self, path: str, zone: tzinfo, clock: Now, existing: bool = False, older: bool = False
    ):
        self.path, self.zone, self.clock = path, zone, clock
        self.labels: Mapping[str, str] = {}  # of its stores
        self.idle: list[Store] = []
        self.closed = False
        self.in_memory = path == ":memory:"
        self.file = path if self.in_memory else absolute(path)
        self.inode: int | None = None  # of the file that is written, once it is open
        self.read_only = existing and not self.in_memory
        self.older = older
        if self.in_memory:
            self.uri = memory_uri()
        elif self.read_only and (has_log(self.file) or not is_writable(path)):
            # The last connection that may write moves the log into the file when it is closed.
            self.uri = reading_uri(self.file)
        else:
            self.uri = f"{Path(self.file).as_uri()}?mode=rw"  # never creates a file
        # By name: the URI of a memory database, and a connection that keeps it alive (room 14).
        self.snapshots: dict[str, tuple[str, sqlite3.Connection]] = {}
        self.write_lock = threading.Lock()
        try:
            if existing:
                refuse_missing(path)
            self.created = self.open()
        except BaseException as error:
            self.close()
            if isinstance(error, (OSError, sqlite3.Error, UnicodeDecodeError)):
                raise explain(path, error) from None
            raise

    # Opening and closing

    def open(self) -> bool:
        """Open the database, creating it if needed. Return whether it was created."""
        refuse_old_sqlite()
        if self.in_memory:
            with self.querying() as store:
                empty_database().backup(store.connection)
                store.run("PRAGMA shrink_memory")  # forgets the pages that the copy went through
            return True
        if not self.read_only:
            # With mode 0600, unless it exists: SQLite would give it 0644.
            with contextlib.suppress(FileExistsError):
                Path(self.path).touch(mode=0o600, exist_ok=False)
        refuse_strange(self.path, self.read_only)
        return self.open_file()

    def open_file(self) -> bool:
        """Open a file that is there, upgrading it if needed. Return whether it was empty."""
        inode = os.stat(self.file).st_ino
        with self.querying() as store:
            version: int = store.value("PRAGMA user_version")
            last = max(schema().versions)
            if version < last and not self.older:
                self.upgrade()
                if version:
                    words = f"upgraded from version {version} of its tables to {last}"
                    log.warning("%s: %s; older versions of pmservice refuse it", self.path, words)
            if self.read_only:
                return False
            # Only now: `upgrade` must commit `application_id` to the database file itself, before
            # there is a write-ahead log.
            store.run(WRITE_AHEAD)
        self.inode = inode
        return version == 0

    def upgrade(self) -> None:
        """Run the parts of the schema that the file lacks: all of them in an empty file.

        Raises StartError if the file is only to be read.
        """
        if self.read_only:
            raise StartError(
                f"{self.path}: written by an older pmservice; upgrade it by serving it once"
            )
        # Its own connection has no views: SQLite renames no table while one names what is gone.
        with contextlib.closing(self.connect()) as connection:
            connection.execute(LINKS_UNCHECKED)  # lets a table be made anew that others name
            connection.execute("BEGIN IMMEDIATE")
            run_schema(connection)
            connection.execute("COMMIT")

    def close(self) -> None:
        """Close every connection; one that is in use is closed when it is returned."""
        self.closed = True
        with contextlib.suppress(IndexError):
            while True:
                self.idle.pop().connection.close()
        for _, keeper in self.snapshots.values():
            keeper.close()

    # Transactions

    @contextlib.contextmanager
    def transaction(
        self,
        begin: str,
        me: Caller = ADMINISTRATOR,
        patience: float = PATIENCE,
        links: str = LINKS_CHECKED,
    ) -> Iterator[Store]:
        """Run the block in one transaction: all of it happens, or nothing.

        A transaction takes an idle store out of the pool, or opens a new connection. A reader waits
        for nobody; a writer waits for the lock of this process's writers and then for SQLite's
        lock, which another process may hold: up to `patience` seconds for both, before it raises
        Busy. The end of the block commits; an error, also one of the COMMIT, rolls back and is
        raised again. Then the store returns to the pool; it is closed instead if it cannot roll
        back, or if the database was closed meanwhile.

        begin: the statement that begins the transaction, "" for a single statement.
        links: LINKS_CHECKED or LINKS_UNCHECKED.
        """
        timeout = int(patience * 1000)
        try:
            store = self.idle.pop()
        except IndexError:
            store = self.new_store()
        run = store.run
        try:
            store.begin(self.clock, me, self.labels)
            if timeout != store.timeout:
                run(f"PRAGMA busy_timeout = {timeout}")
                store.timeout = timeout
            if links != LINKS_CHECKED:
                run(links)
            if begin:
                run(begin)
            yield store
            # as COMMIT would with LINKS_CHECKED
            if links != LINKS_CHECKED and store.row("PRAGMA foreign_key_check"):
                raise sqlite3.IntegrityError("FOREIGN KEY constraint failed")
            if begin:
                run("COMMIT")
        finally:
            self.take_back(store, links)

    def take_back(self, store: Store, links: str) -> None:
        """End a transaction that is still open, and return its store to the pool."""
        connection = store.connection
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if links != LINKS_CHECKED:
                connection.execute(LINKS_CHECKED)
        except BaseException:
            # Not just dropped: the traceback would keep it open, and its lock would block writers.
            connection.close()
            raise
        self.idle.append(store)
        if self.closed:
            self.close()

    def querying(self) -> contextlib.AbstractContextManager[Store]:
        """Run the block without a transaction: each statement is one by itself."""
        return self.transaction("")

    def reading(self, me: Caller = ADMINISTRATOR) -> contextlib.AbstractContextManager[Store]:
        """Run the block in a transaction: all statements see one state, whatever others write."""
        return self.transaction("BEGIN", me)

    @contextlib.contextmanager
    def writing(
        self, me: Caller = ADMINISTRATOR, patience: float = PATIENCE, links: str = LINKS_CHECKED
    ) -> Iterator[Store]:
        """Run the block as the only writer: what it reads stays true until it ends. Raises Busy."""
        until = time.monotonic() + patience
        try:
            with self.lock(patience):
                rest = max(0, until - time.monotonic())
                with self.transaction("BEGIN IMMEDIATE", me, rest, links) as store:
                    yield store
        except sqlite3.OperationalError as error:
            # From BEGIN IMMEDIATE, when another process kept SQLite's lock.
            if "locked" in str(error):
                raise Busy from None
            raise

    # For a fixture: `problems_in` (room 10) checks its links when everything is there. With foreign
    # keys on, SQLite would scan whole tables whenever a record is inserted after one that names it.
    loading = functools.partialmethod(writing, links=LINKS_UNCHECKED)

    @contextlib.contextmanager
    def lock(self, patience: float = PATIENCE) -> Iterator[None]:
        """Hold the lock of this process's writers.

        They queue for it, because SQLite would make them sleep and poll. Raises Busy, a Refusal
        (503), if it is not free within `patience` seconds, and Refusal (503) if the file is gone.
        """
        if not self.write_lock.acquire(timeout=patience):
            raise Busy
        try:
            if not self.in_place():
                raise Refusal(
                    503, "The database file was removed or replaced; nothing was written."
                )
            yield
        finally:
            self.write_lock.release()

    def new_store(self) -> Store:
        """Return a store with a new connection."""
        connection = self.connect()
        try:
            store = Store(connection, self.zone)
            add_functions(store)
            if not self.in_memory:  # its views cannot be replaced by another process
                connection.executescript(schema().views)
        except BaseException:
            connection.close()
            raise
        return store

    def connect(self) -> sqlite3.Connection:
        """Return a new connection, which may go from thread to thread."""
        connection = sqlite3.connect(
            self.uri,
            uri=True,
            timeout=PATIENCE,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        connection.row_factory = sqlite3.Row
        try:
            for pragma in PRAGMAS:
                connection.execute(pragma)
        except BaseException:
            connection.close()
            raise
        return connection

    # The state of the file

    def in_place(self) -> bool:
        """Tell whether the file is still the one that was opened; else writes would be lost.

        In memory, and in a file that is only read, there is nothing to lose.
        """
        if self.inode is None:
            return True
        try:
            return os.stat(self.file).st_ino == self.inode
        except OSError:
            return False

    def ready(self) -> bool:
        """Tell whether records can be read and written in the file that was opened."""
        writable = self.in_memory or is_writable(self.file)
        if not (writable and self.in_place()):
            return False
        with self.reading() as store:
            return bool(store.value("SELECT count(*) FROM user"))


# Which databases are refused


def explain(path: str, error: Exception) -> StartError:
    """Return the error that says why a database cannot be opened, and what to do."""
    if isinstance(error, OSError):
        return unusable(path, str(error.strerror))
    # In Python 3.10, this error has no message when the schema is not text.
    problem = str(error) or "malformed schema"
    # SQLite's message quotes the damaged schema, which Python cannot decode.
    if isinstance(error, UnicodeDecodeError) or "malformed" in problem:
        return damaged(path, problem)
    # As where processes cannot share memory by a file, which the write-ahead log needs.
    if "disk I/O" in problem:
        remedy = "keep the database on a local disk or, in a container, in a named volume, or "
        return unusable(path, f"this file system cannot hold the database ({problem})", remedy)
    if "locked" in problem:
        # Busy is a StartError, too.
        return Busy(f"{path}: another process is writing to this database; try again later")
    return unusable(path, problem)


def unusable(path: str, problem: str, remedy: str = "") -> StartError:
    """Return the error for a file that cannot be the database.

    remedy: put before "name another file", so it ends in "or ": "restore a backup, or ".
    """
    return StartError(f"{path}: {problem}; {remedy}name another file with --database")


def damaged(path: str, problem: str) -> StartError:
    """Return the error for a damaged file. SQLite's problems may have several lines."""
    return unusable(path, f"damaged ({' '.join(problem.split())})", "restore a backup, or ")


def refuse_old_sqlite() -> None:
    """Raise StartError if this Python's SQLite lacks what schema.sql uses."""
    if sqlite3.sqlite_version_info < SQLITE_LEAST:
        least = ".".join(map(str, SQLITE_LEAST))
        raise StartError(
            f"SQLite must be {least} or newer (got {sqlite3.sqlite_version});"
            " run pmservice with a Python that has one"
        )


def refuse_missing(path: str) -> None:
    """Raise StartError if there is no database at a path."""
    if not (os.path.exists(path) and os.path.getsize(path)):
        raise StartError(f"{path}: there is no such database; name one with --database")


def refuse_strange(path: str, read_only: bool) -> None:
    """Raise StartError for a file that is another program's, of another version or damaged.

    Such a file is never written; only a transaction that was cut off is rolled back first.
    The file is read through SQLite alone: closing a descriptor of our own would release the locks
    of this process's other connections to it.
    """
    if os.path.isdir(path):
        raise unusable(path, "Is a directory")
    if not (read_only or is_writable(path)):
        raise unusable(path, "Permission denied")
    if os.path.exists(f"{path}-journal") and is_writable(path):
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_schema")  # the first read rolls back
    if os.path.getsize(path) == 0:
        return
    with contextlib.closing(sqlite3.connect(reading_uri(path), uri=True)) as reader:
        refuse_version(path, reader)
        refuse_damaged(path, reader)


def refuse_version(path: str, reader: sqlite3.Connection) -> None:
    """Raise StartError for a file of another program or of a version that is never upgraded."""
    if pragma_value(reader, "application_id") != APPLICATION_ID:
        raise unusable(path, "a database of another program")
    version = pragma_value(reader, "user_version")
    versions = schema().versions
    if version > max(versions):
        raise unusable(path, "written by a newer pmservice", "upgrade, or ")
    if 0 < version < min(versions):
        raise StartError(
            f"{path}: written by a pmservice from before the first release; let that one write"
            " its records to a file (pmservice dump) and load them into a new database"
            " (pmservice load)"
        )


def refuse_damaged(path: str, reader: sqlite3.Connection) -> None:
    """Raise StartError for a damaged file; one above CHECK_SIZE is checked for its length only."""
    size = os.path.getsize(path)
    problem = "ok"
    if size <= CHECK_SIZE:
        problem = pragma_value(reader, "quick_check(1)")
    missing = pragma_value(reader, "page_size") * pragma_value(reader, "page_count") - size
    # Pages that the file lacks may still be in the log.
    if missing > 0 and not has_log(path):
        problem = f"{missing} bytes are missing"
    if problem != "ok":
        raise damaged(path, problem)


def pragma_value(connection: sqlite3.Connection, pragma: str) -> Any:
    return connection.execute(f"PRAGMA {pragma}").fetchone()[0]


# Files and their names


def absolute(path: str) -> str:
    """Return the absolute path of a file, in case the process changes its directory.

    Raises StartError if the path is relative and the current folder is gone.
    """
    try:
        return os.path.realpath(path)
    except FileNotFoundError:
        words = "the current folder was removed; change to another one"
        raise StartError(f"{path}: {words}, or give an absolute path") from None


def is_writable(path: str) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def memory_uri() -> str:
    """Return the URI of a new memory database that the connections of this process share.

    A named memdb locks as a file does; a shared cache failed 69 % of concurrent writes.
    """
    return f"file:/{secrets.token_hex(8)}?vfs=memdb"


def reading_uri(path: str) -> str:
    """Return the URI that opens a file for reading and creates no other file beside it.

    Without a log, `immutable` keeps SQLite from creating one.
    """
    uri = f"{Path(path).resolve().as_uri()}?mode=ro"
    return uri if has_log(path) else f"{uri}&immutable=1"


def has_log(path: str) -> bool:
    """Tell whether a database has a write-ahead log: it is open, or its process was killed."""
    return os.path.exists(f"{path}-wal")


# The tables


class Schema(NamedTuple):
    """The parts of schema.sql: by the version of the tables that each leads to, and the views."""

    versions: dict[int, str]
    views: str


@functools.cache
def schema() -> Schema:
    """Return the parts of schema.sql, which lies beside this file.

    An older database runs the versions that it lacks; one with an older version than the first is
    refused.
    """
    path = Path(__file__).with_name("schema.sql")
    try:
        script = path.read_text("utf-8")
    except OSError as error:
        raise StartError(f"{path}: {error.strerror}; it belongs beside pmservice.py") from None
    # The text before the first banner, then banners and parts in turn.
    _, *parts = re.split(r"^-- === (Version [0-9]+|Views).*$", script, flags=re.MULTILINE)
    named = dict(zip(parts[::2], parts[1::2], strict=True))
    views = named.pop("Views")
    return Schema({int(name.split()[1]): part for name, part in named.items()}, views)


def add_functions(store: Store) -> None:
    """Give a connection the functions by which the views of schema.sql ask its store."""
    functions: dict[str, Callable[[], Any]] = {
        "me": lambda: store.me.account,
        "sees_all": lambda: store.me.admin,
        "today": lambda: store.today,
        "monday": store.begin_of_week,
        "next_monday": lambda: store.begin_of_week(1),
        "week_ago": store.week_ago,
    }
    for name, answer in functions.items():
        # SQLite takes "deterministic" to mean: within one statement.
        store.connection.create_function(name, 0, answer, deterministic=True)
    store.connection.create_function("written", 2, lambda *row: store.written == row)
    store.connection.create_function("has_words", 2, has_words, deterministic=True)
    store.connection.create_function("folded", 1, folded, deterministic=True)


def statements_of(script: str) -> Iterator[str]:
    """Yield the statements of an SQL script: `executescript` would commit their transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def run_schema(connection: sqlite3.Connection) -> None:
    """Run the versions of the schema that a database lacks.

    An empty database gets its first user, too.
    """
    version = pragma_value(connection, "user_version")
    # The first release stored its views, which may name what the versions below take away.
    stored = "SELECT name FROM sqlite_schema WHERE name GLOB 'seen_*' OR name GLOB 'shown_*'"
    for (view,) in connection.execute(stored).fetchall():
        connection.execute(f"DROP VIEW {view}")
    for number, part in schema().versions.items():
        if number > version:
            for statement in statements_of(part):
                connection.execute(statement)
    if not version:
        sql = "INSERT INTO user (account, realname, admin) VALUES (:admin, :admin, 1)"
        connection.execute(sql, {"admin": ADMIN})


@functools.cache
def empty_database() -> sqlite3.Connection:
    """Return a memory database with empty tables: copying it takes 0.2 ms, making it 9 ms.

    Each table and index takes a page at least. With pages of 1,024 bytes these take 148 kB, with
    SQLite's own 450.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA page_size = 1024")
    run_schema(connection)
    connection.executescript(schema().views.replace("TEMP VIEW", "VIEW"))
    return connection


# --- 8 Rules: what the operations do --------------------------------------------------------------
# First what all operations share, then the operations: plain functions on rows. No HTTP, no SQL.
#
# A function that performs an operation has one of three forms. A write gets the store of its
# transaction, the record that the path names (None without one) and the checked body, and returns
# the id of the record to show, or several. A read gets the store and the query, and returns a JSON
# value, or the id of the record to show. The log-in gets the database.
#
# The values of a body are settled before: `Settler` has found every link and person and turned
# moments into UTC. (`story` of a task is a plain number and may name nothing.) Names in the values
# that are no field of the resource are dropped by the store. A transition refuses a record that is
# not in one of its source states. The rules between records are checked after the write: an error
# undoes all that the transaction wrote.
#
# `modify` and `move` end in `save`, which logs the action; a function that changes a record in
# another way calls `log_action` itself. Creating a record logs nothing.

Performer = Callable[..., Any]


@dataclasses.dataclass
class Settler:
    """Resolves checked values against the database: links, persons and moments.

    record: the stored record, if there is one; the links and persons that it has already are never
        refused.
    loading: whether the values are a fixture's: then links are looked up once everything is loaded,
        and deleted users may be named.
    """

    store: Store
    record: Fields = dataclasses.field(default_factory=dict)
    loading: bool = False

    def __call__(self, field: str, kind: Kind, value: Any) -> Any:
        """Return a checked value as it is stored. Raises ValueError."""
        if kind.target:
            return self.link(field, kind, value)
        if value is None:
            return None
        if kind.look in ("moment", "stamp"):
            return checked_utc(value, self.store.zone)
        if kind.look == "person":
            return self.present(value, self.record.get(field))
        if kind.look == "people":
            return self.accounts(value, self.store.votes(self.record["id"]) if self.record else ())
        if kind.look == "references":  # as ZenTao stores them: ",dev1,qa1,"
            accounts = self.accounts(value, items_between(self.record.get(field, "")))
            return "," + "".join(f"{account}," for account in accounts)
        if isinstance(value, list) and kind.look == "commas":
            # GET /bugs/<id> shows the builds of a text without its odd commas, and only the first.
            stored = self.record.get(field, "")
            is_stored = value == items_between(stored)[:MOST_BUILDS]
            return stored if is_stored else ",".join(value)
        return value

    def link(self, field: str, kind: Kind, value: object) -> Any:
        """Return an id or a list of ids if they name records that the caller may see.

        0, which names nothing, becomes None.
        """
        if value == 0:
            return None
        if self.loading:
            return value
        unchanged: set[Any] = {self.record.get(field)}
        if self.record and kind.part:
            unchanged = set(self.store.linked(kind.part, self.record["id"]))
        ids = value if isinstance(value, list) else [value]
        new = [id for id in dict.fromkeys(ids) if id not in unchanged]
        found = self.store.found(kind.target, new)
        missing = next((id for id in new if id not in found), None)
        if missing:
            raise ValueError(f"must name an existing {kind.target} (got {missing})")
        return value

    def user(self, person: str | int) -> Record:
        """Return the user that a person is, added if the account is unknown. Raises ValueError."""
        if isinstance(person, str):
            self.store.add_person(person)
        user = self.store.user(person)
        if not user:
            raise ValueError(f"must name an existing user (got {person})")
        return user

    def present(self, person: str | int, *stored: str | None) -> str:
        """Return the account of a person who is not deleted. Raises ValueError.

        stored: the accounts that the field has already, which may be deleted users'.
        """
        user = self.user(person)
        if user["deleted"] and user["account"] not in stored and not self.loading:
            raise ValueError(f"must not name a deleted user (got {person})")
        return str(user["account"])

    def accounts(self, people: Iterable[str | int], stored: Iterable[str]) -> list[str]:
        """Return the accounts of several persons, see `present`."""
        return list(dict.fromkeys(self.present(person, *stored) for person in people))


def complete(
    store: Store, resource: Resource, given: Fields, without: Iterable[str] = ()
) -> Members:
    """Return a new record with the resource's defaults where nothing was given.

    without: the fields that get no default.

    The specification: `whitelist` "takes effect only when acl is `private`". A record with acl
    "open" therefore gets an empty one.
    """
    values = dict(given)
    for field, default in resource.defaults.items():
        if values.get(field) is None and field not in without:
            values[field] = default(store, values) if callable(default) else default
    if values.get("acl") == "open":
        empty_whitelist(store, values)
    check_whole(resource, values)
    return {field: value for field, value in values.items() if value is not None}


def empty_whitelist(store: Store, values: Members) -> None:
    """Empty the white list of an open record; one that was given is ignored."""
    if values.get("whitelist") not in (None, ","):
        store.ignored.append("whitelist")
    values["whitelist"] = ","


def with_story_version(store: Store, resource: Resource, values: Fields, row: Any = None) -> Fields:
    """Return a record's values with the present version of the story that they name.

    row: the stored record, None for a new one.

    `storyVersion` becomes the story's present version when `story` changes; for a task also when
    the same story is sent again, which confirms its changes (`needConfirm`). For a story that the
    caller may not see it becomes 0, or stays if `story` stays.
    """
    story = values.get("story")
    if not story or "storyVersion" not in resource.fields:
        return values
    is_same = row is not None and story == row["story"]
    if is_same and resource is not TASK:
        return values
    version = store.latest_version(story)
    if is_same and version is None:
        return values
    return {**values, "storyVersion": version or 0}


def check_whole(resource: Resource, after: Fields, record: Any = NO_FIELDS) -> None:
    """Raise Invalid if a whole record breaks a rule between its fields.

    record: the row that was changed to it.
    """
    for rule in resource.rules:
        broken = rule(record, after)
        if broken:
            raise Invalid(broken)


def check_constraints(
    store: Store,
    resource: Resource,
    id: int,
    changed: Iterable[str],
    linked: Mapping[str, Sequence[int]] = NO_FIELDS,
) -> None:
    """Raise Invalid if a row breaks a rule between records now that these fields are changed.

    linked: the ids that fields were linked with before; they may stay.
    """
    names = set(changed)
    broken: dict[str, str] = {}
    for constraint in CONSTRAINTS:
        if constraint.table != resource.table:
            continue
        causes = names & set(constraint.when.split())
        if not causes:
            continue
        may_stay = linked.get(constraint.field, ()) if causes == {constraint.field} else ()
        for _, link, rule in store.breaking(constraint, id):
            if link not in may_stay:
                broken.setdefault(constraint.field, rule)
    if broken:
        raise Invalid(broken)


def create(store: Store, resource: Resource, given: Fields) -> int:
    """Insert a record completed by its defaults, and return its id. Raises Invalid."""
    values = complete(store, resource, with_story_version(store, resource, given))
    id = store.insert_record(resource, values)
    check_constraints(store, resource, id, values)
    return id


def create_within(
    store: Store, parent: Record | None, body: Fields, resource: Resource, within: str
) -> int:
    """Create a record. within: the field that takes the id of the record in the path, if any."""
    given = {**body, within: parent["id"]} if parent else body
    return create(store, resource, given)


def delete_record(store: Store, row: Record, body: Fields, resource: Resource) -> int:
    """Soft-delete a record: it leaves lists and counters, and takes no more changes."""
    id: int = row["id"]
    store.update(resource.table, id, {"deleted": 1})
    store.log_action(resource.table, id, "deleted", body)
    return id


def delete_program(store: Store, row: Record, body: Fields) -> int:
    """Delete a program.

    One with children is refused.
    """
    if store.has_children(row["id"]):
        # no child is named: the caller may not see it
        raise Refusal(400, "A program with children cannot be deleted; delete or move them first.")
    return delete_record(store, row, body, PROGRAM)


def show_me(store: Store, query: Fields) -> int:
    """Show the caller, whose id this returns."""
    return store.id_of(store.me.account)


def last_edit(store: Store) -> dict[str, str]:
    """Return the fields that say who edited a record and when: the caller, now."""
    return {"lastEditedBy": store.me.account, "lastEditedDate": store.now}


def save(store: Store, resource: Resource, row: Any, changes: Fields, action: str) -> int:
    """Store the changes of a record, log the action with their comment, and return the id.

    A new assignee sets `assignedDate` to now.
    """
    id: int = row["id"]
    changes = with_story_version(store, resource, changes, row)
    changes = {**changes, **last_edit(store)}
    if differs(row, changes, "assignedTo"):
        changes["assignedDate"] = store.now
    store.update_record(resource, id, changes)
    store.log_action(resource.table, id, action, changes)
    return id


def modify(store: Store, row: Any, body: Fields, resource: Resource) -> int:
    """Change what is sent of a record, and return its id. Raises Invalid."""
    changes = dict(body)
    after = {**row, **body}
    check_whole(resource, after, row)
    if after.get("acl") == "open":
        empty_whitelist(store, changes)
    linked = take_unchanged_links(store, resource, row, changes)
    id = save(store, resource, row, changes, "edited")
    # Fields that are no columns, such as the steps of a case, count as changed.
    stored = set(row.keys())
    changed = [name for name in changes if name not in stored or differs(row, changes, name)]
    check_constraints(store, resource, id, changed, linked)
    return id


def take_unchanged_links(
    store: Store, resource: Resource, row: Any, changes: Members
) -> dict[str, list[int]]:
    """Take the links of a record that do not change out of its changes.

    Return the ids that the others were linked with before. Links that answers leave out, because
    the caller cannot find what they name, stay.
    """
    before = {}
    for field in list(changes):
        kind = resource.fields.get(field)
        if not (kind and kind.part and kind.part.item):
            continue
        linked = store.linked(kind.part, row["id"])
        wanted = list(changes[field])
        if kind.part.hides:
            found = store.found(kind.target, linked)
            wanted += [id for id in linked if id not in found]
        if set(wanted) == set(linked):
            del changes[field]
        else:
            changes[field], before[field] = wanted, linked
    return before


class Transition(NamedTuple):
    """A change of a record's state: a row of the table of transitions.

    action: its word in the action log and in refusals.
    sources: the states that it may start from.
    to: the state that it leads to, "" if the state stays or the body sets it.
    signs: the fields …By and …Date of this name become the caller and the present moment.
    sets: the fields that become a value, or what a function of the row returns.
    """

    resource: Resource
    action: str
    sources: tuple[str, ...]
    to: str = ""
    signs: str = ""
    sets: Fields = {}


# fmt: off
# Source states
IDLE                = ("wait", "done", "pause", "closed", "cancel")
IN_REVIEW           = ("draft", "changed")
# Fields to empty
RESOLUTION_FIELDS   = {"resolvedBy": None, "resolvedDate": None, "resolvedBuild": "", "duplicateBug": 0}
UNRESOLVED          = {"resolution": "", **RESOLUTION_FIELDS, "closedBy": None, "closedDate": None}
UNCLOSED            = {"closedBy": None, "closedDate": None, "closedReason": ""}
UNSTOPPED           = {**UNCLOSED, "canceledBy": None, "canceledDate": None}
UNFINISHED          = {"finishedBy": None, "finishedDate": None, **UNSTOPPED}
# Fields to set
DONE                = {**UNSTOPPED, "left": 0}
TO_OPENER           = {"assignedTo": operator.itemgetter("openedBy")}
CONFIRMED_TO_OPENER = {"confirmed": 1, **TO_OPENER}
STATE_AS_REASON     = {"closedReason": lambda task: task["status"] if task["status"] in ("done", "cancel") else ""}
CLOSED              = {**UNFINISHED, **STATE_AS_REASON}
REACTIVATED         = {**UNRESOLVED, "activatedCount": lambda bug: next_count(bug["activatedCount"])}
# THE TABLE OF TRANSITIONS. The sources are those of the real server, quirks included.
#                            resource action         sources                                       to          signs        sets
TASK_START      = Transition(TASK,  "started",       IDLE,                                         "doing",    "",          UNFINISHED)
TASK_RESTART    = Transition(TASK,  "restarted",     TASK_STATES,                                  "doing",    "",          UNFINISHED)
TASK_FINISH     = Transition(TASK,  "finished",      TASK_STATES,                                  "done",     "finished",  DONE)
TASK_PAUSE      = Transition(TASK,  "paused",        ("wait", "doing"),                            "pause")
TASK_CLOSE      = Transition(TASK,  "closed",        ("wait", "doing", "done", "pause", "cancel"), "closed",   "closed",    STATE_AS_REASON)
TASK_CANCEL     = Transition(TASK,  "canceled",      ("wait", "doing", "pause"),                   "cancel",   "canceled")
TASK_ACTIVATE   = Transition(TASK,  "activated",     ("done", "pause", "closed", "cancel"),        "doing",    "activated", UNFINISHED)
TASK_ASSIGN     = Transition(TASK,  "assigned",      TASK_STATES)
EFFORT_ADD      = Transition(TASK,  "worked on",     TASK_STATES,                                  "doing",    "",          UNFINISHED)
EFFORT_LAST     = Transition(TASK,  "worked on",     TASK_STATES,                                  "done",     "finished",  {**DONE, **TO_OPENER})

BUG_CONFIRM     = Transition(BUG,   "confirmed",     ("active",),                                  "active",   "",          {"confirmed": 1})
BUG_RESOLVE     = Transition(BUG,   "resolved",      ("active",),                                  "resolved", "resolved",  CONFIRMED_TO_OPENER)
BUG_CLOSE       = Transition(BUG,   "closed",        ("resolved",),                                "closed",   "closed")
BUG_ACTIVATE    = Transition(BUG,   "activated",     ("resolved", "closed"),                       "active",   "activated", REACTIVATED)
BUG_ASSIGN      = Transition(BUG,   "assigned",      BUG_STATES)
STORY_CHANGE    = Transition(STORY, "changed",       ("draft", "active", "changed"))  # change_story sets "changed"
STORY_VOTE      = Transition(STORY, "reviewed",      IN_REVIEW)
STORY_PASS      = Transition(STORY, "reviewed",      IN_REVIEW,                                    "active")
STORY_REJECT    = Transition(STORY, "reviewed",      IN_REVIEW,                                    "closed",   "closed")
STORY_CLARIFY   = Transition(STORY, "reviewed",      IN_REVIEW,                                    "draft")
STORY_RECALL    = Transition(STORY, "recalled",      IN_REVIEW,                                    "draft")
STORY_CLOSE     = Transition(STORY, "closed",        ("draft", "active", "changed"),               "closed",   "closed")
STORY_ACTIVATE  = Transition(STORY, "activated",     ("closed", "changed", "draft"),               "active",   "activated", UNCLOSED)
STORY_ASSIGN    = Transition(STORY, "assigned",      STORY_STATES)
# By the "status" that PUT /tasks/<id> sends
SET_TO = {
    "wait":         Transition(TASK,  "set to wait",   ("doing", "pause", "done", "cancel"),         "wait",     "",          UNFINISHED),
    "doing":        Transition(TASK,  "set to doing",  ("wait", "pause", "done", "cancel"),          "doing",    "",          UNFINISHED),
    "pause":        Transition(TASK,  "set to pause",  ("wait", "doing", "done", "cancel"),          "pause",    "",          UNFINISHED),
    "done":         Transition(TASK,  "set to done",   ("doing", "pause", "closed"),                 "done",     "finished",  DONE),
    "cancel":       Transition(TASK,  "set to cancel", ("wait", "doing", "pause", "done", "closed"), "cancel",   "canceled",  UNFINISHED),
    "closed":       Transition(TASK,  "set to closed", ("wait", "doing", "pause", "done", "cancel"), "closed",   "closed",    CLOSED),
}
# By the deciding vote, "" until all have voted. For "revert", review_story restores the texts
REVIEWED = {"": STORY_VOTE, "pass": STORY_PASS, "reject": STORY_REJECT, "clarify": STORY_CLARIFY, "revert": STORY_PASS}
# fmt: on


def move(store: Store, row: Any, body: Fields, transition: Transition, source: str = "") -> int:
    """Take a record to its next state, and return its id.

    What is sent wins over what the transition sets, except for the state.

    source: the state that it counts as being in, if that is another than its own.
    """
    resource, action, sources, to, signs, sets = transition
    state = source or row["status"]
    if state not in sources:
        refused = f'A {resource.name} in state "{state}" cannot be {action}'
        raise Refusal(400, f"{refused}; allowed states: {', '.join(sources)}.")
    changes: Members = {}
    for field, value in sets.items():
        changes[field] = value(row) if callable(value) else value
    if signs:
        changes[f"{signs}By"] = store.me.account
        changes[f"{signs}Date"] = store.now
    changes |= body
    if to:
        changes["status"] = to
    return save(store, resource, row, changes, action)


# Programs, projects and executions: rows of the table `project`, whose column `project` is NULL
# except in an execution


def create_project(store: Store, program: Record | None, body: Fields) -> int:
    """Create a project, which counts as edited by its creator."""
    given = {**body, **last_edit(store)}
    if program:
        given["parent"] = program["id"]
    return create(store, PROJECT, given)


def create_execution(store: Store, project: Record, body: Fields) -> int:
    """Create a sprint, or a stage in a waterfall project.

    It is for the project's products unless some are named.
    """
    id = project["id"]
    linked = store.linked(PRODUCTS_OF_PROJECT, id)
    given = {
        **body,
        "type": "stage" if project["model"] == "waterfall" else "sprint",
        "project": id,
        "products": body.get("products") or list(store.found("product", linked)),
        "openedVersion": __version__,  # quirk: the version of the server that made it
        **last_edit(store),
    }
    return create(store, EXECUTION, given)


def modify_project(store: Store, row: Record, body: Fields, resource: Resource) -> int:
    """Change what is sent of a program, a project or an execution."""
    changes = dict(body)
    if differs(row, body, "name"):
        changes["team"] = body["name"]  # quirk: the team is named like the project
    if resource is EXECUTION:  # its parent is always its project
        changes["project"] = changes["parent"] = body.get("project") or row["project"]
    id = modify(store, row, changes, resource)
    if resource is EXECUTION and differs(row, changes, "project"):
        store.move_execution(id)
    return id


# Departments and users


def delete_department(store: Store, row: Record, body: Fields) -> int:
    """Remove a department for good."""
    id: int = row["id"]
    try:
        store.delete("department", id=id)
    except sqlite3.IntegrityError:
        rule = "has users or departments below it; delete or move them first"
        raise Refusal(400, f"This department {rule}.") from None
    store.log_action("department", id, "deleted", body)
    return id


def list_departments(store: Store, query: Fields) -> list[Fields]:
    """Return the trees of departments; only those with children have `children` and `actions`."""
    rows = store.records(DEPARTMENT_SHOWN).fetchall()
    if not rows:
        return []
    scene = Scene({}, store.zone)
    shown = DEPARTMENT_SHOWN.show(rows, scene)
    # A view writes JSON text; it is read again to be nested.
    departments = [json.loads(text) for text in shown]
    departments.sort(key=operator.itemgetter("order"))  # they are in the order of their ids
    children = defaultdict(list)
    for department in departments:
        above = department["parent"]
        children[above].append(department)
    for department in departments:
        below = children.get(department["id"])
        if below:
            department["children"] = below
            department["actions"] = {"delete": False}
    return children[0]


# Stories


def create_story(store: Store, product: Record, body: Fields) -> int:
    """Create a story: active, or a draft when there are reviewers.

    The first reviewer gets it, unless it is assigned to somebody else.
    """
    reviewers = body.get("reviewer")
    given = {
        **body,
        **plans_and_reviewers(body),
        "product": product["id"],
        "status": "draft" if reviewers else "active",
    }
    if reviewers:
        given["assignedTo"] = body.get("assignedTo") or reviewers[0]
    id = create(store, STORY, given)
    # The trigger story_estimated runs after an UPDATE only; it adds the estimate to the parent's.
    # After each INSERT, it would make loading many children of one story slow.
    store.update("story", id, {"parent": given.get("parent")})
    # The execution or project that it is created for.
    home = body.get("objectID")
    if home:
        store.link_story(home, id)
    return id


def plans_and_reviewers(body: Fields, votes: Fields = NO_FIELDS) -> Fields:
    """Return the plans and the reviewers that a request gives a story.

    votes: those that reviewers keep, by account.
    """
    parts = {}
    if "plan" in body:
        parts["plans"] = body["plan"]
    if "reviewer" in body:
        parts["reviewers"] = [
            {"account": account, "result": votes.get(account, "")} for account in body["reviewer"]
        ]
    return parts


def modify_story(store: Store, story: Record, body: Fields) -> int:
    """Change what is sent of a story.

    A new title replaces that of the present version; it makes no new one.
    """
    votes = store.votes(story["id"])
    changes = {**body, **plans_and_reviewers(body, votes)}
    return modify(store, story, changes, STORY)


def change_story(store: Store, story: Record, body: Fields) -> int:
    """Write a new version of a story if it says something else.

    Its reviewers must vote again; an active story with reviewers waits for them.
    """
    changes = dict(body)
    if differs(story, body, "title", "spec", "verify"):
        store.keep_version(story["id"])
        changes["version"] = next_count(story["version"])
    reviewers = list(store.votes(story["id"]))
    reviewers = body.get("reviewer", reviewers)
    if reviewers and story["status"] == "active":
        changes["status"] = "changed"
        changes["assignedTo"] = reviewers[0]
    changes |= plans_and_reviewers({"reviewer": reviewers})  # without votes
    return move(store, story, changes, STORY_CHANGE)


def review_story(store: Store, story: Record, body: Fields) -> int:
    """Keep a vote, and let the votes decide about the story."""
    id: int = story["id"]
    version = story["version"]
    me, result = store.me.account, body["result"]
    votes = store.votes(id)
    if votes and me not in votes:
        raise Refusal(403, f"Only its reviewers may review this story: {', '.join(votes)}.")
    if result == "revert" and version == 1:
        raise Invalid(result="cannot be revert, because this is the first version")
    if votes:
        store.vote(id, me, result)
        del votes[me]  # an earlier vote
    results = [*votes.values(), result]
    deciding = deciding_vote(results)
    changes = {"reviewedDate": store.now, **body, "reviewedBy": me}
    if deciding == "revert":
        changes |= store.story_at(id, version - 1)  # its texts and its version number
    if deciding != "reject":
        changes.pop("closedReason", None)
    move(store, story, changes, REVIEWED[deciding])
    check_constraints(store, STORY, id, body)
    return id


def deciding_vote(results: list[str]) -> str:
    """Return the vote that decides about a story, "" as long as somebody has not voted.

    When all have voted, it is the last one that is not for the story.

    results: of all reviewers in the order of their votes; "" stands for one who has not voted.
    """
    if "" in results:
        return ""
    against = [result for result in results if result != "pass"]
    return against[-1] if against else "pass"


def recall_story(store: Store, story: Record, body: Fields) -> int:
    """Take a story back from its reviewers, who will have to vote again."""
    reviewers = list(store.votes(story["id"]))
    changes = {**body, **plans_and_reviewers({"reviewer": reviewers})}  # without votes
    return move(store, story, changes, STORY_RECALL)


# Plans, builds, test tasks


def make_link(table: str, on: bool) -> Performer:
    """Return the operation that links stories or bugs to a plan, or unlinks them: all or none."""
    field = RESOURCES[table].array
    action = f"linked {field}" if on else f"unlinked {field}"

    def perform(store: Store, plan: Record, body: Fields) -> int:
        id: int = plan["id"]
        stranger = store.stranger(table, body[field], plan["product"])
        if stranger:
            rule = like("plan").format(product=plan["product"], link=stranger)
            raise Invalid({field: rule})
        store.run(PLAN_LINKS[action], {"plan": id, "ids": json.dumps(body[field])})
        store.log_action("plan", id, action, body)
        return id

    return perform


def modify_testtask(store: Store, testtask: Record, body: Fields) -> int:
    """Modify a test task.

    It follows its execution into another project.
    """
    changes = dict(body)
    if "execution" in body:
        changes["project"] = store.project_of(body["execution"])
    return modify(store, testtask, changes, TESTTASK)


# Test cases and their results


def modify_case(store: Store, case: Record, body: Fields) -> int:
    """Change what is sent of a test case. Steps that say something else make a new version.

    Without `steps`, or with the same ones, the stored steps stay.
    """
    changes = dict(body)
    steps = changes.pop("steps", ())
    if steps and texts_of(steps) != texts_of(store.steps(case["id"])):
        version = next_count(case["version"])
        changes["version"] = version
        changes["steps"] = [{**step, "version": version} for step in steps]
    return modify(store, case, changes, TESTCASE)


def texts_of(steps: Iterable[Any]) -> list[tuple[str, str, str]]:
    """Return what steps say, sent or stored: (type, desc, expect) of each."""
    said = operator.itemgetter("type", "desc", "expect")
    return [said({"type": "step", "expect": "", **step}) for step in steps]


def run_case(store: Store, case: Record, body: Fields) -> int:
    """Record a run of a test case. Return the id of its result."""
    id, latest = case["id"], case["version"]
    version = body.get("version") or latest
    if version > latest:
        raise Invalid(version=f"must be at most {latest}, the test case's version")
    # Quirk: always the present steps, whatever version is run.
    steps = list(map(dict, store.steps(id))) or [{}]  # without steps, it takes one result
    if not (body.get("steps") or body.get("result")):
        raise Invalid(result="is required, unless steps have one")
    add_results(steps, body.get("steps", []))
    result = worst_result([*results_in(steps), body.get("result")])
    run: Members = {
        "lastRunner": store.me.account,
        "lastRunDate": store.now,
        "lastRunResult": result,
    }
    if result == "fail":
        run["caseFails"] = next_count(case["caseFails"])
    store.update("testcase", id, run)
    store.log_action("testcase", id, "run", body)
    made = {
        **body,
        "case": id,
        "version": version,
        "caseResult": result,
        "stepResults": to_json(list(filter(None, steps))),
    }
    return create(store, RESULT, made)


def add_results(steps: list[Members], given: list[Fields]) -> None:
    """Add the results that a request gives to the steps of a test case. Raises Invalid.

    A result belongs to the step that its `id` names. Without ids they are in the order of the
    steps: of those that are no groups, or of all if there are as many. {} is a step that was not
    run.
    """
    runnable = [step for step in steps if step.get("type") != "group"]
    if any("id" in item for item in given):
        ordered = named_steps(steps, given)
    elif len(given) == len(steps):
        ordered = steps
    elif len(given) <= len(runnable):
        ordered = runnable
    else:
        rule = "must have at most one item for each step of the test case"
        raise Invalid(steps=f"{rule}: {len(runnable)} (got {len(given)})")
    for step, item in zip(ordered, given, strict=False):
        if item:
            step |= {"result": item["result"], "real": item.get("real", "")}


def named_steps(steps: Iterable[Members], given: Iterable[Fields]) -> list[Members]:
    """Return the step that each result names, {} for one that is left out. Raises Invalid."""
    by_id = {step.get("id"): step for step in steps}
    broken, named = {}, []
    for place, item in enumerate(given):
        step = by_id.pop(item.get("id"), None) if item else {}
        if step is None:
            rule = "must be the id of a step of this test case, in all items or in none, and once"
            broken[f"steps{inside(place, 'id')}"] = rule
        named.append(step or {})
    if broken:
        raise Invalid(broken)
    return named


# Tasks

HOUR_DIGITS = 9  # rounds sums of hours as a person adds them: 0.1 + 0.2 is 0.3


def create_task(store: Store, home: Record, body: Fields) -> int:
    """Create one task for each assignee, all or none. Return the id of the last."""
    execution = home["id"]
    given = {**body, "execution": execution}
    link_story_of(store, execution, body)
    for account in body.get("assignedTo") or [None]:
        given["assignedTo"] = account
        id = create(store, TASK, given)
    return id


def create_tasks(store: Store, home: Record, body: Fields) -> list[int]:
    """Create several tasks, all or none. Return their ids."""
    ids = []
    for task in body["tasks"]:
        several = {**task, "assignedTo": [task.get("assignedTo")]}  # as `create_task` takes it
        ids.append(create_task(store, home, several))
    return ids


def link_story_of(store: Store, execution: int, body: Fields) -> None:
    """Link the story that a task names, if there is one, to the task's execution."""
    story = body.get("story")
    if story and store.find("story", story):
        store.link_story(execution, story)


# The fields of PUT /tasks/<id> that change more than themselves, and what else they change:
#   name, estStarted, deadline   a new version
#   estimate                     as many hours left, before any work, unless `left` is sent
#   consumed, left               the state doing, if the task has hours of both and waits
#   status                       a transition of SET_TO, if it is another one
#   story                        a link of the story to the task's execution


def modify_task(store: Store, task: Record, body: Fields) -> int:
    """Change a task: first its hours, which may change the state, then the state."""
    if differs(task, body, "story"):
        link_story_of(store, task["execution"], body)
    changes = dict(body)
    waits = task["status"] == "wait"
    if differs(task, body, "name", "estStarted", "deadline"):
        changes["version"] = next_count(task["version"])
    if "estimate" in body and waits and not task["consumed"]:
        # Before any work, what is left is the estimate.
        changes.setdefault("left", body["estimate"])
    changes["status"] = state_by_hours(task, {**task, **changes})
    check_hours(task, {**task, **changes})
    if not differs(task, changes, "status"):
        return modify(store, task, changes, TASK)
    return set_state(store, task, changes)


def state_by_hours(task: Record, after: Fields) -> str:
    """Return the state to which a change leads: the one that is sent, or the present one.

    A task in state wait that gets hours consumed and hours left becomes doing. Raises Invalid if it
    cannot become doing from its present state.
    """
    state: str = after["status"]
    has_hours = after["consumed"] > 0 and after["left"] > 0
    begins = has_hours and differs(task, after, "consumed", "left", "status")
    if state != "wait" or not begins:
        return state
    if task["status"] not in SET_TO["doing"].sources:
        rule = f"must not be wait for a task in state {task['status']}"
        raise Invalid(status=f"{rule} with hours consumed and left")
    return "doing"


def check_hours(task: Record, after: Fields) -> None:
    """Raise Invalid unless the hours left and `closedReason` fit the state of a changed task."""
    status, reason = after["status"], after["closedReason"]
    broken = require_hours(dict(task), after)
    if broken:
        raise Invalid(broken)
    if status != "closed" and reason not in ("", task["closedReason"]):
        raise Invalid(closedReason="is set by closing the task")


def set_state(store: Store, task: Record, changes: Members) -> int:
    """Change a task whose state becomes another one, and return its id."""
    source, status = task["status"], changes["status"]
    if status == "done":
        changes["left"] = 0
        if source == "wait" and changes.get("consumed", task["consumed"]) > 0:
            source = "doing"  # a task with hours counts as begun
    if status == "doing":
        store.begin_projects(task)
        changes["realStarted"] = start_of(store, task)
    return move(store, task, changes, SET_TO[status], source)


def start_of(store: Store, task: Record, day: str = "") -> str:
    """Return when a task was started; if it has not been yet: when `day` begins, or now."""
    started: str | None = task["realStarted"]
    if day and not started:
        # A day at the end of time, or that of UNSET_MOMENT, has no moment that can be stored.
        with contextlib.suppress(ValueError, OverflowError):
            return checked_utc(datetime.fromisoformat(day), store.zone)
    return started or store.now


def start_task(store: Store, task: Record, body: Fields) -> int:
    """Start a task, now unless `realStarted` is sent.

    The execution and the project begin with their first task.
    """
    store.begin_projects(task)
    changes = {"realStarted": store.now, **body}
    return move(store, task, changes, TASK_START)


def restart_task(store: Store, task: Record, body: Fields) -> int:
    """Take a task up again. It keeps its `realStarted`; one that was never started starts now."""
    changes = {"realStarted": start_of(store, task), **body}
    return move(store, task, changes, TASK_RESTART)


def finish_task(store: Store, task: Record, body: Fields) -> int:
    """Finish a task: `currentConsumed` is added to its hours.

    A task without an assignee goes to its opener.
    """
    assignee = body.get("assignedTo", task["assignedTo"])
    consumed = task["consumed"] + body.get("currentConsumed", 0)
    changes = {
        **body,
        "assignedTo": assignee or task["openedBy"],
        "consumed": round(consumed, HOUR_DIGITS),
    }
    return move(store, task, changes, TASK_FINISH)


def add_effort(store: Store, task: Record, body: Fields) -> int:
    """Record efforts of a task.

    The effort of the latest day decides `left` and the state. If a stored one is later, only the
    consumed hours change.
    """
    consumed = task["consumed"] + sum(body["consumed"])
    if consumed > MAX_INT:
        raise Invalid(consumed="makes the consumed hours too many")
    id = task["id"]
    efforts = efforts_of(store, body)
    latest = efforts[-1]
    stored_day = store.last_effort(id)
    for effort in efforts:
        create(store, EFFORT, {"task": id, **effort})
    changes = {"comment": body.get("comment", ""), "consumed": round(consumed, HOUR_DIGITS)}
    if latest["date"] < stored_day:
        return modify(store, task, changes, TASK)
    changes["left"] = latest["left"]
    store.begin_projects(task)
    changes["realStarted"] = start_of(store, task, efforts[0]["date"])
    if not latest["left"]:
        return move(store, task, changes, EFFORT_LAST)
    if task["status"] != "doing":
        # Quirk: whoever records work on a task that is not in progress gets it.
        changes["assignedTo"] = store.me.account
    return move(store, task, changes, EFFORT_ADD)


def efforts_of(store: Store, body: Fields) -> list[Fields]:
    """Return the efforts that a request lists, the earliest day first.

    Without days, they are of today. Raises Invalid for a day to come.
    """
    hours, today = body["consumed"], store.today
    field = "dates" if "dates" in body else "date"  # clients send either name
    days = body.get(field) or [today for _ in hours]
    works = body.get("work") or ["" for _ in hours]
    if max(days) > today:
        raise Invalid({field: f"must not be after today, {today}"})
    # `check_effort` saw that all arrays are as long as `consumed`.
    columns = zip(days, hours, body["left"], works, strict=True)
    efforts = [
        {"date": day, "consumed": consumed, "left": left, "work": work}
        for day, consumed, left, work in columns
    ]
    return sorted(efforts, key=operator.itemgetter("date"))


# Bugs


def with_case_version(store: Store, values: Fields) -> Fields:
    """Return a bug's values with the present version of its test case, unless one is sent."""
    case = store.find("testcase", values["case"]) if "case" in values else None
    return {"caseVersion": case["version"], **values} if case else values


def create_bug(store: Store, product: Record, body: Fields) -> int:
    """Create a bug; it belongs to its execution's project unless another is named."""
    given = {**body, "product": product["id"]}
    execution = body.get("execution")
    if execution and not body.get("project"):
        given["project"] = store.project_of(execution)
    return create(store, BUG, with_case_version(store, given))


# The fields of PUT /bugs/<id> whose values are new and not empty, and what they change:
#   status                       takes the bug to that state
#   resolution, closedBy         take it to resolved, to closed
#   RESOLUTION_FIELDS            need a resolution, unless the bug has one
#   assignedTo, openedBuild      go to the transition, if there is one that takes them
#   title and all others         are changed before any transition
#
# By the state to which it is taken, in their order: the transition, the fields that lead there even
# without a `status`, and the fields that the transition takes.
# fmt: off
BUG_STEPS = {
    "resolved": (BUG_RESOLVE,  {"resolution"}, ("resolution", *RESOLUTION_FIELDS, "assignedTo")),
    "closed":   (BUG_CLOSE,    {"closedBy"},   ("closedBy",)),
    "active":   (BUG_ACTIVATE, set(),          ("assignedTo", "openedBuild")),
}
# fmt: on


def modify_bug(store: Store, bug: Record, body: Fields) -> int:
    """Change what is sent of a bug. Then take it to the states that are asked for."""
    id: int = bug["id"]
    states = states_asked(bug, body)
    taken = {"status", "closedBy"}
    for state in states:
        taken.update(BUG_STEPS[state][2])
    plain = {field: value for field, value in body.items() if field not in taken}
    modify(store, bug, with_case_version(store, plain), BUG)
    for state in states:
        transition, _, fields = BUG_STEPS[state]
        given = {field: body[field] for field in fields if body.get(field)}
        if state == "resolved":  # quirk: unlike POST /bugs/<id>/resolve, the assignee stays
            assignee = body.get("assignedTo", bug["assignedTo"])
            given["assignedTo"] = assignee or bug["openedBy"]
        move(store, store.get("bug", id), given, transition)
    return id


def states_asked(bug: Record, body: Fields) -> list[str]:
    """Return the states to which a change of a bug leads, in their order. Raises Invalid."""
    names = ("status", "closedBy", "resolution", *RESOLUTION_FIELDS)
    # Only a new value asks for something; an empty one never does.
    asked = {name for name in names if body.get(name) and differs(bug, body, name)}
    status = body["status"] if "status" in asked else ""
    states = [
        state for state, (_, leads, _) in BUG_STEPS.items() if state == status or leads & asked
    ]
    if "resolved" in states:
        if not body.get("resolution"):
            raise Invalid(resolution="is required to resolve a bug")
    elif bug["status"] == "active":  # RESOLUTION_FIELDS make no sense without a resolution
        strays = sorted(asked & RESOLUTION_FIELDS.keys())
        if strays:
            raise Invalid(dict.fromkeys(strays, "needs a resolution"))
    return states


# Reads whose answer is not a record but a JSON value; `query` has the query parameters, and `name`
# from the path


def say_how_to_log_in(store: Store, query: Fields) -> Fields:
    """Say how to log in, for a published client that asks before it does."""
    return {"message": "POST account and password here to get a token."}


def ping(store: Store, query: Fields) -> Fields:
    """Return the caller's token, and how many seconds it lives after its last use."""
    return {"token": store.me.token, "tokenLife": str(TOKEN_LIFETIME)}


# fmt: off
CONFIGURATIONS = {"language": "en", "version": "16.5", "charset": "UTF-8", "timezone": "", "systemMode": "new", "hourUnit": "h",
                  "CRProduct": "1", "CRExecution": "1"}
ADMINISTRATORS = {"id": 1, "project": 0, "vision": "rnd", "name": "ADMIN", "role": "admin", "desc": "for administrators", "acl": "", "developer": "1"}
# fmt: on


def configurations(store: Store) -> Fields:
    """Return the settings that clients ask for; the version is that of the real server."""
    return {**CONFIGURATIONS, "timezone": str(store.zone)}


def list_configurations(store: Store, query: Fields) -> list[Fields]:
    """Return every setting."""
    settings = configurations(store)
    return [{"key": name, "value": value} for name, value in settings.items()]


def get_configuration(store: Store, query: Fields) -> Fields:
    """Return one setting. Raises Refusal (404)."""
    name = query["name"]
    settings = configurations(store)
    if name not in settings:
        raise Refusal(404, f"There is no configuration {name}.")
    return {"name": name, "value": settings[name]}


def list_groups(store: Store, query: Fields) -> list[Fields]:
    """Return the one group that there is, the administrators."""
    return [{**ADMINISTRATORS, "privs": {}, "accounts": store.administrators()}]


def list_modules(store: Store, query: Fields) -> Fields:
    """Return the modules of a product or an execution: there are none."""
    return {"modules": []}


def list_bug_options(store: Store, query: Fields) -> Fields:
    """Return what a form for bugs offers; the builds of `?product=`, if it is given."""
    product = query.get("product")
    names = zip(BUG_TYPES, BUG_TYPE_NAMES, strict=True)
    types = {word: store.labels.get(word, name) for word, name in names}
    builds = {"": "", "trunk": store.labels.get("trunk", "Trunk")}
    if product:
        if not store.find("product", product):
            raise Refusal(404, f"There is no product {product}.")
        builds |= store.build_names(product)
    options = {
        "type": {"": "", **types},
        "pri": ["", *"1234"],
        "severity": {number: number for number in "1234"},
        "modules": ["/"],
        "build": builds,
    }
    return {"options": options}


# --- 9 Users: users, their passwords and tokens ---------------------------------------------------
# A password is stored as the scrypt hash of its MD5 in hex, because existing clients send either
# the password or that MD5. A token is random and stored as its SHA-256 only.

LOGIN_FAILED = "Login failed. Please check your account and password."
OWN_FIELDS = {"realname", "email", "password"}  # what members may change of themselves
SCRYPT = {"n": 16384, "r": 8, "p": 1}  # takes 16 MiB and about 30 ms
ONE_HASH = threading.Lock()  # leaves the other cores to others, and takes the memory once
METHOD = "scrypt:16384:8:1"  # begins each hash, so that a later version can raise the parameters
# An earlier version did not write the parameters; its hashes have the same ones. A fixture may not
# bring others: whoever wrote it would decide how long each check of the password takes.
STORED_PASSWORD = re.compile("scrypt:(16384:8:1:)?[0-9a-f]{32}:[0-9a-f]{128}")
# Compared with when there is no such account, so that this takes as long as a wrong password.
NO_PASSWORD = f"{METHOD}:{'0' * 32}:{'0' * 128}"


def md5(password: str) -> str:
    """Return what clients send instead of a password."""
    text = password.encode("utf-8", "surrogatepass")
    return hashlib.md5(text, usedforsecurity=False).hexdigest()


def scrypt(secret: str, salt: str) -> str:
    """Return the scrypt hash of a secret, in hex."""
    with ONE_HASH:
        return hashlib.scrypt(secret.encode(), salt=bytes.fromhex(salt), **SCRYPT).hex()


def password_matches(given: str, stored: str | None) -> bool:
    """Tell whether a text is the password, or its MD5 in lower-case hex.

    `stored` is None if there is no such account or it has no password: then NO_PASSWORD is
    compared, which takes the same time.
    """
    *_, salt, expected = (stored or NO_PASSWORD).split(":")
    candidates = [md5(given)]
    if re.fullmatch("[0-9a-f]{32}", given):
        candidates.append(given)
    # A list: all are hashed, so that the time does not tell which matched.
    matches = [hmac.compare_digest(scrypt(one, salt), expected) for one in candidates]
    return any(matches) and stored is not None


def with_hash(user: Fields) -> Fields:
    """Return the values of a user with the hash in place of the password, if one is given.

    It is stored as "scrypt:n:r:p:salt:hash".
    """
    password = user.get("password")
    if not password:
        return user
    salt = secrets.token_hex(16)
    hashed = f"{METHOD}:{salt}:{scrypt(md5(password), salt)}"
    return {**user, "password": hashed}


def save_user(store: Store, given: Fields) -> int:
    """Create a user, or change a known one, and return the id. A password is given as its hash."""
    known = store.user(given["account"])
    if not known:
        return create(store, USER, given)
    account = known["account"]
    if given.get("password"):
        # Also logs out; in a demo, changes the copies, too.
        store.change_password(account, known["password"], given["password"])
    if given.get("deleted"):
        store.delete("token", account=account)
    store.update("user", known["id"], {**given, "account": account})
    id: int = given.get("id", known["id"])  # a fixture may give a known account another id
    return id


def hashed_user(given: Fields) -> Fields:
    """Return a user of a fixture, which has a password or, as dumps do, its hash, with the hash."""
    password = given.get("password") or ""
    if STORED_PASSWORD.fullmatch(password):
        return given
    if password.startswith("scrypt:"):
        rule = "must be a password, or a hash with the parameters that this version writes"
        raise Invalid(password=rule)
    return with_hash(given)


def modify_user(store: Store, user: Record, body: Fields) -> int:
    """Change what is sent of a user. Members may change their OWN_FIELDS only."""
    account = user["account"]
    changes = {}
    _, sent = USER.parts_and_columns(body)
    for field, value in sent.items():
        # A password is always a change, even if it equals the stored text: that is the hash, and
        # whoever sends it does not send the password.
        if field == "password" or value != user[field]:
            changes[field] = value
    is_own = account == store.me.account
    if not (store.me.admin or (is_own and changes.keys() <= OWN_FIELDS)):
        others = "other users, and more than one's own realname, email and password"
        raise Refusal(403, f"Only an administrator may change {others}.")
    changes["account"] = account
    id = save_user(store, with_hash(changes))
    store.log_action("user", id, "edited", body)
    return id


def delete_user(store: Store, user: Record, body: Fields) -> int:
    """Soft-delete a user, who leaves the department and loses tokens and password."""
    id: int = user["id"]
    account = user["account"]
    if account == store.me.account:
        raise Refusal(400, "You cannot delete yourself.")
    if [account] == list(store.administrators()):
        raise Refusal(400, "The last administrator cannot be deleted.")
    store.update("user", id, {"deleted": 1, "password": None, "dept": None})
    store.delete("token", account=account)
    store.log_action("user", id, "deleted", body)
    return id


def create_user(store: Store, row: None, body: Fields) -> int:
    """Create a user who can log in; a person field may have made a user of the account before."""
    known = store.user(body["account"])
    if known and (known["password"] or known["deleted"]):
        raise Invalid(account="is taken")
    return save_user(store, with_hash(body))


def hash_token(token: str) -> str:
    """Return a token as it is stored."""
    text = token.encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()


def give_token(store: Store, account: str) -> str:
    """Insert a new token of this account and return it; only its hash is stored."""
    token = secrets.token_hex(16)
    row = {"hash": hash_token(token), "account": account, "used": store.now}
    store.insert("token", row)
    return token


def log_in(database: Database, body: Fields) -> Members:
    """Return a token for an account and its password, or the MD5 of it.

    It is given the database instead of a store, because hashing takes too long for a transaction.
    """
    with database.querying() as store:
        account, stored = store.login(body["account"])
    if not password_matches(body["password"], stored):
        raise Refusal(400, LOGIN_FAILED)
    with database.writing() as store:
        # changed, or the user was deleted, meanwhile
        if store.login(account) != (account, stored):
            raise Refusal(400, LOGIN_FAILED)
        return {"token": give_token(store, account)}


def authenticate(database: Database, hash: str) -> Caller | None:
    """Return the user whose token has this hash, or None if it is unknown or has expired.

    Its use is recorded at most once a minute, because reads should not write: best effort, skipped
    when the database cannot be written at once.
    """
    with database.querying() as store:
        found = store.token(hash)
    if not found:
        return None
    unused = (database.clock() - moment_of(found["used"])).total_seconds()
    if unused > TOKEN_LIFETIME:
        return None
    if unused >= 60:
        with contextlib.suppress(Refusal, sqlite3.Error), database.writing(patience=0) as store:
            store.use_token(hash)
    return Caller(found["account"], bool(found["admin"]))


# --- 10 Fixtures: all records as one JSON document, in and out ------------------------------------
# An object with an array for each resource; records in the interface's field names, persons as
# accounts. No HTTP, and no statement.

BATCH = 200  # rows that are fetched and shown at a time
Places = dict[str, list[int]]  # the ids of each array's records, in the fixture's order


FIXTURE_STEP = Shape({"id": ID, "parent": INT, "version": INT, **STEP.fields}, "desc")
# In the order of `run_case`, so that a dump is the same when it was loaded.
FIXTURE_STEP_RESULT = Shape(
    {**dict.fromkeys(("id", "parent", "case", "version"), INT), **STEP.fields, **OUTCOME}
)


def read_step_results(value: object) -> str:
    """Return the results of a run's steps as the JSON text that is stored."""
    return to_json(Items(FIXTURE_STEP_RESULT)(value))


# The fields that a fixture writes differently from a request, or that it alone has.
FIXTURE_KINDS = {
    EXECUTION: {"project": needed("project"), "parent": PROJECT_LINK},
    PLAN: {"parent": link("plan")},
    STORY: {
        "parent": link("story"),
        "estimate": HOURS,  # of a parent: a sum, which may be more than one story may have
        "category": TEXT,
        "spec": TEXT,
        "executions": rows_of(Part("project_story", "story", "project"), HOME.name)._replace(
            sql="story.homes"
        ),
    },
    RELEASE: {"buildName": TEXT},
    BUG: {"openedBuild": COMMAS},
    TESTCASE: {"steps": TESTCASE_FIELDS["steps"]._replace(read=Items(FIXTURE_STEP))},
    RESULT: {"stepResults": Kind("plain", read_step_results)},
    USER: {field: kind for field, kind in CHECKED_PROFILE.items() if field != "password"},
}


@functools.cache
def fixture_shape(resource: Resource) -> Shape:
    """Return the fields that a record of a fixture may have, and the rules between them."""
    fields = {**resource.settable("part"), **FIXTURE_KINDS.get(resource, {})}
    if resource.types:
        fields["type"] = one_of("", *resource.types.split())
    return Shape(fields, resource.required, *resource.rules, bounded=False)


def read_members(pairs: list[tuple[str, Any]]) -> Members:
    """Return the members of a JSON object. Raises Refusal if one is there twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise Refusal(400, f"{name} is given twice in one object.")
    return members


def parse_fixture(text: str) -> Members:
    """Return the arrays of a fixture by name. Raises Refusal."""
    try:
        document = json.loads(text, parse_constant=refuse_constant, object_pairs_hook=read_members)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"A fixture must be JSON: {error}.") from None
    if not isinstance(document, dict):
        raise Refusal(400, "A fixture must be a JSON object.")
    for array, records in document.items():
        if array not in FIXTURE:
            expected = ", ".join(FIXTURE)
            raise Refusal(400, f'unknown array "{array}"; expected one of {expected}.')
        if not (records is None or isinstance(records, list)):
            raise Refusal(400, f"{array} must be an array.")
    return document


def load(store: Store, document: Fields) -> int:
    """Insert the records of a fixture, all or none, inside of `loading` (room 7).

    Return how many it has. Raises Refusal that says which record is wrong. Users come first, since
    other records name them by their ids, too. What else a record names may come later.
    """
    places: Places = {}
    for array in dict.fromkeys(["users", *document]):
        places[array] = load_array(store, array, document.get(array) or ())
    store.place_records()
    for problem in problems_in(store):
        refuse_loaded(places, problem)
    return sum(map(len, places.values()))


def load_array(store: Store, array: str, records: Sequence[Any]) -> list[int]:
    """Insert the records of an array, and return their ids. Raises Refusal."""
    resource, place = FIXTURE[array], 0
    checked: list[Members] = []
    ids: list[int] = []
    try:
        for record in records:
            place = len(checked)
            checked.append(check_record(store, resource, record))
        if resource is USER and store.is_empty():
            store.free_ids(checked)
        for values in checked:
            place = len(ids)
            ids.append(insert_loaded(store, resource, values))
    except Invalid as error:
        broken = [f"{array}{inside(place, field)} {rule}" for field, rule in error.fields.items()]
        raise Refusal(400, sentences(broken)) from None
    return ids


def check_record(store: Store, resource: Resource, record: object) -> Members:
    """Return the values of one record of a fixture. Raises Invalid.

    A person or a moment that is null stays unset, without a default: in a dump, null means that it
    is not known.
    """
    if not isinstance(record, dict):
        raise Invalid({"": "must be an object"})
    refuse_unknown(resource, record)
    given = check(fixture_shape(resource), record, Settler(store, loading=True))
    if resource is USER:
        return dict(hashed_user(given))
    kinds = resource.fields
    unknown = [
        field
        for field in resource.defaults
        if record.get(field, "") is None and kinds[field].look in ("person", "moment")
    ]
    return complete(store, resource, given, unknown)


def insert_loaded(store: Store, resource: Resource, values: Members) -> int:
    """Insert one checked record, whose links may be wrong, and return its id. Raises Invalid."""
    try:
        if resource is USER:
            return save_user(store, values)
        return store.insert_record(resource, values, fixture_shape(resource).fields)
    except sqlite3.IntegrityError as error:
        # SQLite says "UNIQUE constraint failed: step.id" for an id of a test case's steps.
        field = "steps: an id" if " step." in str(error) else "id"
        if "UNIQUE" not in str(error):
            raise
        rule = "is taken"
        if field == "id" and resource.table == "project":
            rule += "; programs, projects and executions share one numbering"
        raise Invalid({field: with_value(rule, field, values.get(field))}) from None


def refuse_unknown(resource: Resource, record: Fields) -> None:
    """Raise Invalid for an unknown field, or another value of a constant one.

    No unknown name is ignored, because a fixture is written by hand. Derived fields may stand in
    it, as in an answer; they are not read.
    """
    known = fixture_shape(resource).fields
    for field, value in record.items():
        kind = known.get(field) or resource.fields.get(field)
        if not kind:
            near = suggest(field, known)
            raise Invalid({field: f"is not a field of a {resource.name}{near}"})
        if kind.source == "fixed" and value != kind.value:
            rule = f"is always {json.dumps(kind.value)} here"
            raise Invalid({field: with_value(rule, field, value)})


class Problem(NamedTuple):
    """A field of a loaded record that breaks a rule between records.

    link: the wrong id, 0 where the field is no link.
    """

    resource: Resource
    id: int
    field: str
    rule: str
    link: int


def problems_in(store: Store) -> Iterator[Problem]:
    """Yield what breaks a rule between records: links that name none, and what does not fit."""
    for resource in FIXTURE.values():
        # A task's project follows from its execution, and stands before it in the fields. Going
        # backwards, the execution is checked first, and so named as the cause.
        for field, kind in reversed(fixture_shape(resource).fields.items()):
            if not kind.target:
                continue
            for id, link in store.dangling(resource, field, kind):
                rule = f"must name an existing {kind.target} (got {link})"
                yield Problem(resource, id, field, rule, link)
    for constraint in CONSTRAINTS:
        if constraint.in_fixture:
            resource = RESOURCES[constraint.table]
            for id, link, rule in store.breaking(constraint):
                yield Problem(resource, id, constraint.field, rule, link)


def refuse_loaded(places: Places, problem: Problem) -> None:
    """Raise Refusal for a row that was loaded just now; those that were there are passed over."""
    for array, ids in places.items():
        if FIXTURE[array].table == problem.resource.table and problem.id in ids:
            place = ids.index(problem.id)
            raise Refusal(400, f"{array}[{place}].{problem.field} {problem.rule}.")


def dumped(resource: Resource) -> View:
    """Return how a fixture shows records: all that it may give, persons as accounts."""
    fields = fixture_shape(resource).fields
    # White lists as arrays of accounts.
    whitelists = {field: AS_ACCOUNTS for field, kind in fields.items() if kind is WHITELIST}
    return View(
        resource,
        person=AS_ACCOUNT,
        stamp=NULL,
        only=" ".join(fields),
        exceptions=whitelists,
        kinds=FIXTURE_KINDS.get(resource, {}),
    )


DUMPED = {array: dumped(resource) for array, resource in FIXTURE.items()}


def dump(store: Store) -> Iterator[str]:
    """Yield, in pieces of JSON text, the fixture that makes this database's records again."""
    scene = Scene({}, store.zone)
    before = "{"
    for array, view in DUMPED.items():
        yield f'{before}\n"{array}":['
        before = ","
        cursor = store.records(view)
        separator = "\n"
        while rows := cursor.fetchmany(BATCH):
            records = view.show(rows, scene)
            yield separator + ",\n".join(records)
            separator = ",\n"
        yield "]"
    yield "\n}\n"


# --- 11 Operations: what can be called ------------------------------------------------------------
# THE TABLE OF OPERATIONS. The routes, the OpenAPI document, the README's list and the tests are
# read from it or held against it.


# The resource that an id in a path names, by the word before the id.
BY_WORD = {**FIXTURE, "product": PRODUCT, "productplans": PLAN, "productsplan": PLAN}
# The columns that narrow a list to one of its records, where they have another name.
COLUMN_OF = {HOME.name: "execution", TESTCASE.name: "case"}


def target_of(path: str) -> str:
    """Return the name of the resource that the id in a path names, "" without one."""
    word, *rest = path.strip("/").split("/")
    if word == "executions" and len(rest) > 1:  # something of an execution
        return HOME.name  # a project can stand in for it
    return BY_WORD[word].name if rest and word in BY_WORD else ""


@dataclasses.dataclass(eq=False)
class Operation:
    """An operation: a row of OPERATIONS or CONTROLS.

    purpose: what it does, in a few words.
    view: how the answer shows records, None if it shows none.
    reads: the fields of the body.
    perform: the function that is called with the store, the row that the path names and the body;
        for a GET with the store and the query, for a control with the Controls and what it takes,
        for a log-in with the database and the body. None: the view or the list is all.
    status: of success.
    open: whether it needs no token.
    admin: whether it is for administrators.
    query: fields of the body that may come as query parameters, too; a GET has these only.
    by: where the path has no id, the field of the body or query parameter that names the record, as
        in POST /stories?product=3.
    listing: the list that it shows.
    key: the field of an answer that has several new records, by id.
    schema: the JSON Schema of an answer without records.
    body: the JSON Schema of a body that is not an object with the fields of `reads`.
    """

    method: str
    path: str
    purpose: str
    view: View | None
    reads: Shape = NOTHING
    perform: Any = None  # a Performer, which is called only where there is one
    status: int = 200
    open: bool = False
    admin: bool = False
    query: str = ""
    by: str = ""
    listing: Listing | None = None
    key: str = ""
    schema: Fields = dataclasses.field(default_factory=lambda: MESSAGE)
    body: Fields | None = None

    @functools.cached_property
    def target(self) -> str:
        """The name of the resource that the path or the field `by` names, "" without one."""
        return self.by or target_of(self.path)

    @property
    def needs_living(self) -> bool:
        """Whether it lists or makes records below the one that the path names.

        Then nothing to which this one belongs may be deleted.
        """
        return bool(self.listing) or self.status == 201 or self.perform is add_effort

    @functools.cached_property
    def parameters(self) -> dict[str, Kind]:
        """The query parameters that it takes."""
        parameters = dict(self.listing.shape.fields) if self.listing else {}
        for name in f"{self.query} {self.by}".split():
            # A name that is no field of the body is an id.
            parameters[name] = self.reads.fields.get(name, ID)
        return parameters

    @functools.cached_property
    def query_shape(self) -> Shape:
        """The query parameters, as a shape that they are checked by."""
        required = self.reads.required & self.parameters.keys()
        return Shape(self.parameters, " ".join(required))


get = functools.partial(Operation, "GET")
post = functools.partial(Operation, "POST")


def creates(
    path: str,
    purpose: str,
    view: View,
    reads: Shape,
    perform: Performer | None = None,
    by: str = "",
    **more: Any,
) -> Operation:
    """Return the row that creates a record, within the one that the path or the body names."""
    within = by or target_of(path)
    if not perform:
        perform = functools.partial(create_within, resource=view.resource, within=within)
    return Operation("POST", path, purpose, view, reads, perform, 201, by=by, **more)


def put(
    path: str, purpose: str, view: View, reads: Shape, perform: Performer | None = None, **more: Any
) -> Operation:
    """Return the row that changes what is sent of a record."""
    perform = perform or functools.partial(modify, resource=view.resource)
    return Operation("PUT", path, purpose, view, reads, perform, **more)


def moves(path: str, purpose: str, view: View, reads: Shape, transition: Transition) -> Operation:
    """Return the row that is a transition and nothing else."""
    return post(path, purpose, view, reads, functools.partial(move, transition=transition))


def deletes(path: str, purpose: str, perform: Performer | None = None, **more: Any) -> Operation:
    """Return the row that deletes a record."""
    if not perform:
        perform = functools.partial(delete_record, resource=RESOURCES[target_of(path)])
    return Operation("DELETE", path, purpose, None, COMMENT, perform, **more)


def tells(
    path: str, purpose: str, schema: Fields, perform: Performer, reads: Shape = NOTHING, **more: Any
) -> Operation:
    """Return the row of a GET whose answer has no records."""
    return get(path, purpose, None, reads, perform, schema=schema, **more)


def lists(
    path: str,
    purpose: str,
    view: View,
    browse: Mapping[str, str] = BROWSE_ALL,
    key: str = "",
    **more: Any,
) -> Operation:
    """Return the row of a list: of all records, or of those within the one that the path names.

    view, browse, key and more: the attributes of the Listing; its key is usually the resource's.
    """
    target = target_of(path)
    within = COLUMN_OF.get(target, target)
    listing = Listing(key or view.resource.array, view, within, browse, **more)
    return get(path, purpose, view, listing=listing)


# fmt: off
SPECIFIED = (
    #       path                                purpose                              view              reads              perform
    # lists:                                                                         view, browse; more as in Listing
    post(   "/tokens",                          "log in",                            None,             LOGIN,             log_in, 201, open=True, schema=TOKEN),
    lists(  "/products",                        "list products",                     PRODUCT_LISTED,   BROWSE_PRODUCTS,
                                                                                     order=OLDEST, whole=True, filters="program project"),
    creates("/products",                        "create a product",                  PRODUCT_CREATED,  CREATE_PRODUCT),
    lists(  "/products/<id>/bugs",              "list bugs of a product",            BUG_LISTED,       BROWSE_BUGS),
    creates("/products/<id>/testcases",         "create a test case of a product",   CASE_CREATED,     CREATE_CASE),
    get(    "/testcases/<id>",                  "get a test case",                   CASE_SHOWN),
    creates("/programs",                        "create a program",                  PROGRAM_SHOWN,    CREATE_PROGRAM),
    get(    "/programs/<id>",                   "get a program",                     PROGRAM_SHOWN),
    creates("/projects",                        "create a project",                  PROJECT_CREATED,  CREATE_PROJECT,    create_project),
    lists(  "/projects/<id>/releases",          "list releases of a project",        RELEASE_SHOWN,    BROWSE_RELEASES, whole=True),
    creates("/executions/<id>/tasks",           "create a task of an execution",     TASK_CREATED,     CREATE_TASK,       create_task),
    put(    "/tasks/<id>",                      "modify a task",                     TASK_MODIFIED,    MODIFY_TASK,       modify_task),
    post(   "/tasks/<id>/start",                "start a task",                      TASK_STARTED,     START_TASK,        start_task),
    post(   "/tasks/<id>/finish",               "finish a task",                     TASK_FINISHED,    FINISH_TASK,       finish_task),
    post(   "/tasks/<id>/restart",              "restart a task",                    TASK_STARTED,     RESTART_TASK,      restart_task),
)
COMPANIONS = (  # beyond the specification: the rest of the published interface
    #       path                                purpose                              view              reads              perform
    tells(  "/tokens",                          "say how to log in",                 MESSAGE, say_how_to_log_in, open=True),
    tells(  "/ping",                            "show the token of the caller",      PING, ping),
    get(    "/user",                            "get the caller",                    MY_PROFILE,       WITH_MINE,         show_me, query="fields"),
    tells(  "/configurations",                  "list configurations",               CONFIGURATION_LIST, list_configurations),
    tells(  "/configurations/<name>",           "get a configuration",               CONFIGURATION, get_configuration),
    tells(  "/groups",                          "list the groups of users",          GROUP_LIST, list_groups),
    tells(  "/options/bug",                     "list the choices for a bug",        BUG_OPTIONS, list_bug_options, query="product"),
    tells(  "/modules",                         "list modules",                      MODULES, list_modules, IN_MODULES, query="type id"),
    tells(  "/departments",                     "list departments",                  DEPARTMENTS, list_departments),
    creates("/departments",                     "create a department",               DEPARTMENT_SHOWN, CREATE_DEPARTMENT, admin=True),
    get(    "/departments/<id>",                "get a department",                  DEPARTMENT_SHOWN),
    put(    "/departments/<id>",                "modify a department",               DEPARTMENT_SHOWN, MODIFY_DEPARTMENT, admin=True),
    deletes("/departments/<id>",                "remove a department",               delete_department, admin=True),
    lists(  "/users",                           "list users",                        USER_LISTED),
    creates("/users",                           "create a user",                     USER_SHOWN,       CREATE_USER,       create_user, admin=True),
    get(    "/users/<user>",                    "get a user",                        USER_SHOWN),
    put(    "/users/<user>",                    "modify a user",                     USER_SHOWN,       MODIFY_USER,       modify_user),
    deletes("/users/<user>",                    "delete a user",                     delete_user, admin=True),
    lists(  "/programs",                        "list programs",                     PROGRAM_SHOWN, order=OLDEST),
    put(    "/programs/<id>",                   "modify a program",                  PROGRAM_SHOWN,    MODIFY_PROGRAM,
                                                                                     functools.partial(modify_project, resource=PROGRAM)),
    deletes("/programs/<id>",                   "delete a program",                  delete_program),
    lists(  "/programs/<id>/products",          "list products of a program",        PRODUCT_SHOWN,    BROWSE_PRODUCTS, order=OLDEST),
    creates("/programs/<id>/products",          "create a product of a program",     PRODUCT_CREATED,  CREATE_PRODUCT),
    lists(  "/programs/<id>/projects",          "list projects of a program",        PROJECT_SHOWN,    BROWSE_PROJECTS, order=OLDEST),
    creates("/programs/<id>/projects",          "create a project of a program",     PROJECT_CREATED,  CREATE_PROJECT,    create_project),
    lists(  "/projects",                        "list projects",                     PROJECT_SHOWN,    BROWSE_PROJECTS, order=OLDEST),
    get(    "/projects/<id>",                   "get a project",                     PROJECT_IN_FULL),
    put(    "/projects/<id>",                   "modify a project",                  PROJECT_SHOWN,    MODIFY_PROJECT,
                                                                                     functools.partial(modify_project, resource=PROJECT)),
    deletes("/projects/<id>",                   "delete a project"),
    lists(  "/projects/<id>/executions",        "list executions of a project",      EXECUTION_SHOWN,  BROWSE_PROJECTS),
    creates("/projects/<id>/executions",        "create an execution of a project",  EXECUTION_SHOWN,  CREATE_EXECUTION,  create_execution),
    lists(  "/projects/<id>/stories",           "list stories of a project",         STORY_LINKED,     BROWSE_STORIES, default="unclosed"),
    lists(  "/projects/<id>/bugs",              "list bugs of a project",            BUG_BRIEF,        BROWSE_BUGS),
    lists(  "/projects/<id>/testcases",         "list test cases of a project",      CASE_LISTED, key="cases"),
    lists(  "/projects/<id>/builds",            "list builds of a project",          BUILD_LISTED, order=("date", "desc"), whole=True),
    creates("/projects/<id>/builds",            "create a build of a project",       BUILD_SHOWN,      CREATE_BUILD),
    creates("/projects/<id>/releases",          "create a release of a project",     RELEASE_SHOWN,    CREATE_RELEASE),
    lists(  "/projects/<id>/testtasks",         "list test tasks of a project",      TESTTASK_LINKED,  BROWSE_TESTTASKS),
    creates("/projects/<id>/testtasks",         "create a test task of a project",   TESTTASK_SHOWN,   CREATE_TESTTASK),
    lists(  "/executions",                      "list executions",                   EXECUTION_SHOWN,  BROWSE_PROJECTS, filters="project"),
    creates("/executions",                      "create an execution",               EXECUTION_SHOWN,  CREATE_EXECUTION,  create_execution, by="project"),
    get(    "/executions/<id>",                 "get an execution",                  EXECUTION_IN_FULL),
    put(    "/executions/<id>",                 "modify an execution",               EXECUTION_SHOWN,  MODIFY_EXECUTION,
                                                                                     functools.partial(modify_project, resource=EXECUTION)),
    deletes("/executions/<id>",                 "delete an execution"),
    lists(  "/executions/<id>/tasks",           "list tasks of an execution",        TASK_SHOWN,       BROWSE_TASKS),
    creates("/executions/<id>/tasks/batchCreate", "create tasks of an execution",    TASK_SHOWN,       CREATE_TASKS,      create_tasks, key="task"),
    lists(  "/executions/<id>/stories",         "list stories of an execution",      STORY_LINKED,     BROWSE_STORIES),
    lists(  "/executions/<id>/bugs",            "list bugs of an execution",         BUG_BRIEF,        BROWSE_BUGS),
    lists(  "/executions/<id>/testcases",       "list test cases of an execution",   CASE_LISTED, key="cases"),
    lists(  "/executions/<id>/builds",          "list builds of an execution",       BUILD_LINKED, order=("date", "desc"), whole=True),
    get(    "/products/<id>",                   "get a product",                     PRODUCT_SHOWN),
    put(    "/products/<id>",                   "modify a product",                  PRODUCT_SHOWN,    MODIFY_PRODUCT),
    deletes("/products/<id>",                   "delete a product"),
    get(    "/product/<id>",                    "get a product (alias)",             PRODUCT_SHOWN),
    put(    "/product/<id>",                    "modify a product (alias)",          PRODUCT_SHOWN,    MODIFY_PRODUCT),
    deletes("/product/<id>",                    "delete a product (alias)"),
    lists(  "/products/<id>/projects",          "list projects of a product",        PROJECT_SHOWN,    BROWSE_PROJECTS, order=OLDEST),
    lists(  "/products/<id>/stories",           "list stories of a product",         STORY_LISTED,     BROWSE_STORIES,
                                                                                     limit=500, filters="type=story", default="unclosed", beside=REQUIREMENTS),
    creates("/products/<id>/stories",           "create a story of a product",       STORY_SHOWN,      CREATE_STORY,      create_story, query="type objectID"),
    lists(  "/products/<id>/plans",             "list plans of a product",           PLAN_LISTED,      BROWSE_PLANS, order=("begin", "desc")),
    creates("/products/<id>/plans",             "create a plan of a product",        PLAN_SHOWN,       CREATE_PLAN),
    lists(  "/products/<id>/testcases",         "list test cases of a product",      CASE_LISTED),
    lists(  "/products/<id>/releases",          "list releases of a product",        RELEASE_SHOWN,    BROWSE_RELEASES, whole=True),
    creates("/products/<id>/bugs",              "create a bug of a product",         BUG_BRIEF,        CREATE_BUG,        create_bug),
    lists(  "/stories",                         "list stories",                      STORY_LISTED,     BROWSE_STORIES, limit=500,
                                                                                     filters="product type=story", default="unclosed", beside=REQUIREMENTS),
    creates("/stories",                         "create a story",                    STORY_SHOWN,      CREATE_STORY,
                                                                                     create_story, query="type objectID", by="product"),
    get(    "/stories/<id>",                    "get a story",                       STORY_IN_FULL),
    put(    "/stories/<id>",                    "modify a story",                    STORY_SHOWN,      MODIFY_STORY,      modify_story),
    deletes("/stories/<id>",                    "delete a story"),
    post(   "/stories/<id>/change",             "write a new version of a story",    STORY_SHOWN,      CREATE_STORY_VERSION, change_story),
    post(   "/stories/<id>/review",             "review a story",                    STORY_SHOWN,      REVIEW_STORY,      review_story),
    moves(  "/stories/<id>/close",              "close a story",                     STORY_SHOWN,      CLOSE_STORY,       STORY_CLOSE),
    moves(  "/stories/<id>/active",             "activate a story",                  STORY_SHOWN,      ASSIGN,            STORY_ACTIVATE),
    moves(  "/stories/<id>/activate",           "activate a story (alias)",          STORY_SHOWN,      ASSIGN,            STORY_ACTIVATE),
    moves(  "/stories/<id>/assign",             "assign a story",                    STORY_SHOWN,      ASSIGN,            STORY_ASSIGN),
    deletes("/stories/<id>/recall",             "recall a story",                    recall_story),
    lists(  "/productplans",                    "list plans",                        PLAN_LISTED,      BROWSE_PLANS,
                                                                                     order=("begin", "desc"), filters="product"),
    creates("/productplans",                    "create a plan",                     PLAN_SHOWN,       CREATE_PLAN, by="product"),
    get(    "/productplans/<id>",               "get a plan",                        PLAN_SHOWN),
    put(    "/productplans/<id>",               "modify a plan",                     PLAN_SHOWN,       MODIFY_PLAN),
    deletes("/productplans/<id>",               "delete a plan"),
    deletes("/productsplan/<id>",               "delete a plan (alias)"),
    post(   "/productplans/<id>/linkstories",   "link stories to a plan",            PLAN_SHOWN,       LINK_STORIES,      make_link("story", True)),
    post(   "/productplans/<id>/unlinkstories", "unlink stories from a plan",        PLAN_SHOWN,       LINK_STORIES,      make_link("story", False)),
    post(   "/productplans/<id>/linkbugs",      "link bugs to a plan",               PLAN_SHOWN,       LINK_BUGS,         make_link("bug", True)),
    post(   "/productplans/<id>/unlinkbugs",    "unlink bugs from a plan",           PLAN_SHOWN,       LINK_BUGS,         make_link("bug", False)),
    lists(  "/builds",                          "list builds",                       BUILD_LISTED, order=("date", "desc"), whole=True, filters="project"),
    creates("/builds",                          "create a build",                    BUILD_SHOWN,      CREATE_BUILD, by="project"),
    get(    "/builds/<id>",                     "get a build",                       BUILD_SHOWN),
    put(    "/builds/<id>",                     "modify a build",                    BUILD_SHOWN,      MODIFY_BUILD),
    deletes("/builds/<id>",                     "delete a build"),
    lists(  "/releases",                        "list releases",                     RELEASE_SHOWN,    BROWSE_RELEASES, whole=True, filters="product"),
    get(    "/releases/<id>",                   "get a release",                     RELEASE_SHOWN),
    put(    "/releases/<id>",                   "modify a release",                  RELEASE_SHOWN,    MODIFY_RELEASE),
    deletes("/releases/<id>",                   "delete a release"),
    lists(  "/testtasks",                       "list test tasks",                   TESTTASK_LISTED,  BROWSE_TESTTASKS, filters="product"),
    creates("/testtasks",                       "create a test task",                TESTTASK_SHOWN,   CREATE_TESTTASK),
    get(    "/testtasks/<id>",                  "get a test task",                   TESTTASK_SHOWN),
    put(    "/testtasks/<id>",                  "modify a test task",                TESTTASK_SHOWN,   MODIFY_TESTTASK,
                                                                                     modify_testtask),
    deletes("/testtasks/<id>",                  "delete a test task"),
    lists(  "/testcases",                       "list test cases",                   CASE_LISTED, filters="product"),
    creates("/testcases",                       "create a test case",                CASE_CREATED,     CREATE_CASE, by="product"),
    put(    "/testcases/<id>",                  "modify a test case",                CASE_LISTED,      MODIFY_CASE,       modify_case),
    deletes("/testcases/<id>",                  "delete a test case"),
    lists(  "/testcases/<id>/results",          "list results of a test case",       RESULT_SHOWN, whole=True, bare=True),
    creates("/testcases/<id>/results",          "run a test case",                   RESULT_SHOWN,     RUN_CASE,          run_case, query="testtask version"),
    lists(  "/bugs",                            "list bugs",                         BUG_BRIEF,        BROWSE_BUGS, filters="product"),
    creates("/bugs",                            "create a bug",                      BUG_BRIEF,        CREATE_BUG,        create_bug, by="product"),
    get(    "/bugs/<id>",                       "get a bug",                         BUG_SHOWN),
    put(    "/bugs/<id>",                       "modify a bug",                      BUG_BRIEF,        MODIFY_BUG,        modify_bug),
    deletes("/bugs/<id>",                       "delete a bug"),
    moves(  "/bugs/<id>/assign",                "assign a bug",                      BUG_BRIEF,        ASSIGN,            BUG_ASSIGN),
    moves(  "/bugs/<id>/confirm",               "confirm a bug",                     BUG_BRIEF,        CONFIRM_BUG,       BUG_CONFIRM),
    moves(  "/bugs/<id>/resolve",               "resolve a bug",                     BUG_BRIEF,        RESOLVE_BUG,       BUG_RESOLVE),
    moves(  "/bugs/<id>/close",                 "close a bug",                       BUG_BRIEF,        COMMENT,           BUG_CLOSE),
    moves(  "/bugs/<id>/active",                "activate a bug",                    BUG_BRIEF,        ACTIVATE_BUG,      BUG_ACTIVATE),
    moves(  "/bugs/<id>/activate",              "activate a bug (alias)",            BUG_BRIEF,        ACTIVATE_BUG,      BUG_ACTIVATE),
    lists(  "/tasks",                           "list tasks assigned to the caller", TASK_SHOWN,       BROWSE_TASKS,
                                                                                     filters="assignedTo search name pri execution",
                                                                                     scope="task.assignedTo = me()", unscoped="assignedTo search"),
    get(    "/tasks/<id>",                      "get a task",                        TASK_IN_FULL),
    deletes("/tasks/<id>",                      "delete a task"),
    moves(  "/tasks/<id>/assignto",             "assign a task",                     TASK_SHOWN,       ASSIGN_TASK,       TASK_ASSIGN),
    moves(  "/tasks/<id>/pause",                "pause a task",                      TASK_SHOWN,       COMMENT,           TASK_PAUSE),
    moves(  "/tasks/<id>/close",                "close a task",                      TASK_SHOWN,       CLOSE_TASK,        TASK_CLOSE),
    moves(  "/tasks/<id>/cancel",               "cancel a task",                     TASK_SHOWN,       COMMENT,           TASK_CANCEL),
    moves(  "/tasks/<id>/active",               "activate a task",                   TASK_SHOWN,       ACTIVATE_TASK,     TASK_ACTIVATE),
    moves(  "/tasks/<id>/activate",             "activate a task (alias)",           TASK_SHOWN,       ACTIVATE_TASK,     TASK_ACTIVATE),
    lists(  "/tasks/<id>/estimate",             "list efforts of a task",            EFFORT_LISTED, key="effort", order=OLDEST, whole=True, bare=True),
    post(   "/tasks/<id>/estimate",             "record efforts of a task",          TASK_SHOWN,       ADD_EFFORT,        add_effort),
)
# fmt: on
OPERATIONS = SPECIFIED + COMPANIONS


# --- 12 Exchange: a request and its answer --------------------------------------------------------
# This room reads a request, performs its operation, and writes the answer as JSON. No SQL stands
# here, and nothing that only one operation means.
#
# A request, from its first byte to its last:
# 1. waitress receives it, and room 17 chooses the thread that answers it.
# 2. Service.__call__ (room 16) makes an Exchange: all that is known of the request.
# 3. `before_route` checks its size, Host and Origin, and cleans its path. Then a fault may answer a
#    program (room 14), and a browser that wants a page must have logged in.
# 4. Bottle looks the path up among the routes, or refuses it (404, 405).
# 5. `needs_token` finds out whose token a program sent (401).
# 6. A GET reads all that it shows from one state of the database. A write receives its body before
#    its transaction, so that a slow client holds no lock; within it, it finds the record in the
#    path (404), checks the fields, performs the operation, and writes the answer.
# 7. `as_answer` makes HTML of a page (room 15), and a refusal of each error: what a write has done
#    is then rolled back. `answer_error` says it as JSON or as a page.
# 8. Service.__call__ adds the headers that all answers have, the line in the log and the entry in
#    the journal. The answer is whole before its first byte is sent, so no reader holds a
#    transaction open.

Environ = Members  # of WSGI
Texts = dict[str, str]
Handler = Callable[..., Any]
Headers = list[tuple[str, str]]

NOBODY = Caller("", False)  # no account is called so
PREFIXES = ("/zentao/api.php/v1", "/api.php/v1")  # where clients of the real server look
# The pages and forms below /-/.
LOGIN_PATH, LOGOUT_PATH = "/-/in", "/-/out"
JOURNAL_PATH, TASKS_PATH = "/-/journal", "/-/tasks"
HOST = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?")
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
# The controls that always exist. Whoever runs the service calls them by its address, so that they
# are answered whatever the Host is.
PROBES = ("/-/live", "/-/ready")
ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([^\s/?#@,]+)")
ORIGIN_WITHOUT_HOST = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*://")  # file://, as web views send
DEFAULT_PORTS = {"http": ":80", "https": ":443"}  # which browsers leave out
LOOPBACK_ORIGIN = re.compile(r"https?://([a-z0-9.-]+\.)?(localhost|127\.[0-9.]+|\[::1\])(:[0-9]+)?")
EXPOSED = "X-Request-Id, Ignored-Fields, Retry-After, Allow"  # to scripts of other origins
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")
PREFLIGHT = {
    "Access-Control-Allow-Methods": ", ".join(METHODS),
    "Access-Control-Max-Age": "600",  # seconds
}
# The names of headers that a preflight asks for.
ASKED_HEADERS = re.compile("[A-Za-z0-9_, -]{1,1000}")
ABSOLUTE = re.compile(r"\A[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)")  # GET http://host/path
# Paths of the real server that this service does not have.
NOT_OURS = """
    /todos /testsuites /docs /doclibs /files /issues /risks /meetings /repos /jobs /feedbacks
    /tickets /langs /views /tabs /mr /reports /host /ztf /z /gitlab /ciresults
    /programs/<id>/stakeholders /products/<id>/issues /products/<id>/testsuites
    /projects/<id>/issues /projects/<id>/risks /projects/<id>/meetings /stories/<id>/estimate
    /bugs/<id>/estimate /tasks/batchCreate
"""
ID_IN_PATH = re.compile("/([1-9][0-9]{0,18})(?=/|$)")
# An id, or an account that is not all digits.
ONE_USER = "[1-9][0-9]{0,18}|(?![0-9]+(?:/|$))[A-Za-z0-9_.@-]{1,30}"
FORM = "application/x-www-form-urlencoded"
FORM_ITEM = re.compile(r"(.*)\[[0-9]*\]")
MOST_FIELDS = 3000  # of a form or a query
AT_MOST = f"with at most {MOST_FIELDS:,} fields"
BODY_FORMS = "a JSON object, or a form in UTF-8 such as name=Shop&acl=open"  # what a body must be
MAX_BODY = 1024 * 1024  # bytes
MAX_LOAD = 64 * MAX_BODY  # bytes of a fixture that a control loads
MAX_PATH = 1000  # characters of a path in the journal and the log
MAX_METHOD = 20  # of a method
MOST_IGNORED = 20  # names that an answer says were ignored
MAX_IGNORED_NAME = 50  # characters of each
# The numbers of this process's calls, in the order in which they begin. A reset and the beginning
# of a test take one, too: the calls since then have higher numbers.
NUMBERS = itertools.count(1)
LEAST_PATIENCE = 0.5  # seconds that a write may wait for others, however long it was queued
FAILED = "The service failed; its log says why."
ADMIN_ONLY = "Only an administrator may do this."
LOADING = "The service is still loading."
NESTED_TOO_DEEP = "The body is nested too deep."
UNAUTHORIZED = "Unauthorized"
# The hints of a 401: without a token, with one in another header, with a wrong one.
LOG_IN = 'POST /tokens {"account": "admin", "password": "…"} returns one.'
SEND_TOKEN = f"No token was sent. Send one in the header `Token`. {LOG_IN}"
OTHER_HEADER = (
    f"Authorization and cookies are not read. Send a token in the header `Token`. {LOG_IN}"
)
WRONG_TOKEN = f"This token is unknown or has expired. {LOG_IN}"
# SQLite's errors by a part of the message: Python 3.10's sqlite3 does not expose their codes.
STORAGE_ERRORS = {
    "locked": (503, BUSY),
    "readonly": (503, "The database is read-only; nothing was written."),
    "unable to open": (503, "The database cannot be opened now."),
    "disk I/O": (503, "The database cannot be read or written now."),
    "malformed": (503, "The database file is damaged; stop the service and run `pmservice check`."),
    "full": (507, "The disk is full; nothing was written."),
    # Links are checked before they are written: a broken one means that the records were replaced.
    "FOREIGN KEY": (503, "The records were reset meanwhile; nothing was written."),
}


@dataclasses.dataclass(eq=False)
class Exchange:
    """A request, and what becomes known of it on the way to its answer.

    number: see NUMBERS.
    raw_path: the path as WSGI gives it; `path` is without a prefix and a trailing slash.
    method: cut and printable, for messages.
    is_html: whether a browser asks for a page; otherwise the answer is JSON.
    aside: whether the journal leaves it out: a page, a preflight, what is no operation.
    caller: who sent it, NOBODY until the token is known.
    body: its bytes, once they are read.
    ignored: the names in the body and the query that are not taken.
    tried: the account of a log-in.
    error, hint: the sentences of a refusal.
    fault: the fault that it met (room 14).
    duration: milliseconds.
    answered: when it was answered, in seconds by the system's clock, whatever the service's says.
    """

    service: Service
    environ: Environ
    number: int
    raw_path: str
    path: str
    method: str
    is_html: bool
    aside: bool
    caller: Caller = NOBODY
    body: bytes = b""
    ignored: list[str] = dataclasses.field(default_factory=list)
    tried: str = ""
    error: str = ""
    hint: str = ""
    fault: Fields = dataclasses.field(default_factory=dict)
    status: int = 0
    answer: list[bytes] = dataclasses.field(default_factory=list)
    duration: float = 0.0
    answered: float = 0.0

    @property
    def id(self) -> str:
        """The id of the request, for its client, the log and the journal."""
        return f"{self.service.id_prefix}-{self.number}"

    @property
    def shown_path(self) -> str:
        """The path on one line, for the log and the journal."""
        return logged_text(self.path).replace(" ", "%20")

    @property
    def ignored_text(self) -> str:
        """The ignored names, as they stand in a header and in the log."""
        cut = [name[:MAX_IGNORED_NAME] for name in self.ignored[:MOST_IGNORED]]
        return ", ".join(urllib.parse.quote(name, "[]?.", errors="replace") for name in cut)

    def header(self, name: str, default: str = "") -> str:
        """Return a text of the environ by its key, such as HTTP_HOST for the header Host.

        Bottle's get_header() fails at some bytes.
        """
        text: str = self.environ.get(name, default)
        return text

    def note_ignored(self, found: Iterable[str]) -> None:
        """Note the first names that are ignored, before those that were noted already."""
        self.ignored[:0] = itertools.islice(found, MOST_IGNORED)

    def read_body(self) -> bytes:
        """Read the bytes of the body, and return them."""
        length = int(self.header("CONTENT_LENGTH") or 0)
        self.body = bytes(self.environ["wsgi.input"].read(length))
        return self.body

    def refuse_encoded(self) -> None:
        """Raise Refusal (400) for a body that was read and is compressed or multipart."""
        if not self.body:
            return
        encoding = self.header("HTTP_CONTENT_ENCODING").lower()
        kind = self.header("CONTENT_TYPE").partition(";")[0].lower()
        if encoding not in ("", "identity"):
            name = printable(encoding[:MAX_NAME])
            raise Refusal(400, f"A body with Content-Encoding {name} is not read; send plain JSON.")
        if kind.startswith("multipart/") and self.body.lstrip().startswith(b"--"):
            raise Refusal(
                400, f"A {printable(kind[:MAX_NAME])} body is not read; send {BODY_FORMS}."
            )

    def fields(self) -> Fields:
        """Return the fields of the body that was read. Raises Refusal."""
        self.refuse_encoded()
        return parse_body(self.body, self.header("CONTENT_TYPE"))

    @functools.cached_property
    def parameters(self) -> Texts:
        """The query parameters, which the page of a list completes; an empty one is not given.

        Raises Refusal.
        """
        query = self.header("QUERY_STRING")
        try:
            return dict(urllib.parse.parse_qsl(query, max_num_fields=MOST_FIELDS))
        except ValueError:
            raise Refusal(400, f"The query must be like page=2&limit=50, {AT_MOST}.") from None

    def query(self, shape: Shape) -> Texts:
        """Return the query parameters that a shape has, and note the others."""
        given = self.parameters
        self.note_ignored(ignored_fields(shape, given, "?"))
        return {name: given[name] for name in given if name in shape.fields}

    def asked_for(self) -> str:
        """Return the path and query, as a link."""
        path = urllib.parse.quote(self.raw_path, "/", "latin-1", "replace")
        query = self.header("QUERY_STRING")
        return f"{path}?{query}" if query else path


def this_exchange() -> Exchange:
    """Return the exchange that this thread is answering."""
    exchange: Exchange = bottle.request.environ["pmservice.exchange"]
    return exchange


# Size, Host and Origin


def refuse_size(exchange: Exchange) -> None:
    """Raise Refusal (413) for a body that is too large, (400) for an unreadable length."""
    length = exchange.header("CONTENT_LENGTH")
    if not length:
        return
    if not re.fullmatch("[0-9]{1,18}", length):
        raise Refusal(400, "The Content-Length must be a number of bytes.")
    limit = MAX_LOAD if bare_path(exchange.raw_path) == "/-/load" else MAX_BODY
    if int(length) > limit:
        raise Refusal(413, f"The body must be at most {limit} bytes long (got {length}).")


def refuse_host(exchange: Exchange, names: Iterable[str]) -> None:
    """Raise Refusal (421) for a Host that is not one of these names, which stops DNS rebinding."""
    if bare_path(exchange.raw_path) in PROBES:
        return
    absolute = ABSOLUTE.match(exchange.header("REQUEST_URI"))  # wins over the Host header
    host = absolute[1] if absolute else exchange.environ.get("HTTP_HOST")
    if host is None:
        return
    named = HOST.fullmatch(host)
    if named and named[1].lower() in names:
        return
    sentence = f"The Host must be {' or '.join(sorted(names))}"
    if named:
        sentence += f"; start the service with --allowed-host {named[1]} to add it"
    raise Refusal(421, f"{sentence}.")


def listed(words: str) -> list[str]:
    """Return the words of a setting that may have several, separated by commas."""
    return [word for word in map(str.strip, words.split(",")) if word]


def read_origins(words: str) -> str:
    """Return origins, separated by commas, as browsers send them. Raises ValueError for others."""
    origins = []
    for word in listed(words):
        parts = ORIGIN.fullmatch(word.lower())
        if word in ("*", "null"):
            origins.append(word)
        elif ORIGIN_WITHOUT_HOST.fullmatch(word.lower()):
            origins.append(word.lower())
        elif parts and HOST.fullmatch(parts[2]):
            default_port = DEFAULT_PORTS.get(parts[1], "")
            origins.append(parts[0].removesuffix(default_port))
        else:
            raise ValueError
    return ",".join(origins)


def is_loopback(host: str) -> bool:
    """Tell whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def service_url() -> str:
    """Return where the request found the service; the Host was checked."""
    environ = bottle.request.environ
    host = environ.get("HTTP_HOST") or environ["SERVER_NAME"]
    return f"{environ['wsgi.url_scheme']}://{host}"


# Paths


def normalize_path(exchange: Exchange) -> tuple[str, str]:
    """Return (path, reason): reason is "" or says why the path is refused.

    The path is without a prefix and a trailing slash. Refused are paths that are not UTF-8, and
    those that only a proxy or server would turn into one of our paths: with a leading double slash
    or an encoded slash.
    """
    try:
        path = exchange.raw_path.encode("latin-1").decode()
    except UnicodeError:
        return exchange.raw_path, "This path is not UTF-8."
    raw = exchange.header("REQUEST_URI").partition("?")[0]
    # a path that ends in "\n" would match a route, whose `$` matches before it
    if raw.startswith("//") or "%2f" in raw.lower() or "\n" in path:
        return bare_path(path), f"There is nothing at {raw or path}."
    return bare_path(path), ""


def bare_path(path: str) -> str:
    """Return a path without a prefix and a trailing slash."""
    for prefix in PREFIXES:
        if path.startswith(f"{prefix}/"):
            path = path.removeprefix(prefix)
            break
    return path if path in ("/", "/-/") else path.removesuffix("/")


def pattern_of(path: str) -> str:
    """Return a path with <id> for its numbers, as OPERATIONS writes it."""
    return ID_IN_PATH.sub("/<id>", path)


def nothing_at(method: str, path: str) -> str:
    """Return the sentence that there is nothing at a path, with the path that was nearly meant."""
    for known in NOT_OURS.split():
        if f"{pattern_of(path)}/".startswith(f"{known}/"):
            return f"ZenTao has {known}; pmservice does not."
    near = nearest_path(method, path)
    remedy = f"did you mean {near}?" if near else "GET /openapi.json lists what there is."
    return f"There is nothing at {path}; {remedy}"


def nearest_path(method: str, path: str) -> str:
    """Return the path of an operation that was nearly meant by another path, "" without one.

    The operation has this method.
    """
    words = re.sub("/[0-9][^/]*", "/<id>", path).split("/")
    found = []
    for row in OPERATIONS:
        known = row.path.split("/")
        if row.method != method.replace("HEAD", "GET") or len(known) != len(words):
            continue
        if all(map(is_nearly, words, known)):
            found.append(known)
    found.sort(key=lambda segments: sum(map(operator.ne, words, segments)))
    return "/".join(found[0]) if found else ""


def is_nearly(word: str, known: str) -> bool:
    """Tell whether a segment of a path is another one, but for swapped, missing or added letters.

    No other differences count: who asks to clone a task does not mean to close it.
    """
    if known in (word, "<user>", "<name>"):
        return True
    word = word.lower().replace("y", "ie")  # "story" is nearly "stories"
    short, long = sorted((word, known), key=len)
    rest = iter(long)
    is_inside = len(long) - len(short) <= 2 and all(letter in rest for letter in short)
    return word[:1] == known[:1] and (is_inside or sorted(word) == sorted(known))


# Bodies and queries


def decode(body: bytes) -> str:
    """Return the text of a body, without a byte order mark. Raises Refusal."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refusal(400, "The body must be JSON in UTF-8.") from None


def parse_body(body: bytes, content_type: str) -> Fields:
    """Return the fields of a body: JSON, unless it is labelled as a form and looks like one."""
    text = decode(body)
    stripped = text.strip()
    if stripped in ("", "null"):
        return {}
    # Some clients send JSON under a form's label.
    if content_type.lower().startswith(FORM) and stripped[0] != "{":
        return parse_form(stripped)
    value = parse_json(text)
    if not isinstance(value, dict):
        raise Refusal(400, "The body must be a JSON object.")
    return value


def parse_json(text: str, object_hook: Callable[[Members], Any] | None = None) -> Any:
    """Return the value of a JSON text. Raises Refusal, also for NaN and Infinity."""
    try:
        return json.loads(text, parse_constant=refuse_constant, object_hook=object_hook)
    except json.JSONDecodeError as error:  # its own words differ between versions of Python
        place = f"line {error.lineno}, column {error.colno}"
        raise Refusal(400, f"The body must be JSON, but {place} is wrong.") from None
    except ValueError:
        raise Refusal(400, "The body must be JSON; it has a number with too many digits.") from None


def parse_form(text: str) -> Fields:
    """Return the fields of a form; those whose name ends in [] or [0], [1], … are arrays."""
    try:
        pairs = urllib.parse.parse_qsl(
            text,
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError:
        raise Refusal(400, f"The body must be {BODY_FORMS}, {AT_MOST}.") from None
    fields = {}
    arrays: dict[str, list[str]] = {}
    for name, value in pairs:
        item = FORM_ITEM.fullmatch(name)
        if item:
            arrays.setdefault(item[1], []).append(value)
        else:
            fields[name] = value
    return {**fields, **arrays}


def with_page(query: Fields, listing: Listing) -> Fields:
    """Return the query of a list with limit (-1: everything), offset and, if it is paged, page."""
    if listing.whole and not {"page", "limit"} & query.keys():
        return {**query, "limit": -1, "offset": 0}
    paged = {"page": 1, "limit": listing.limit, **query}
    before = paged["page"] - 1
    paged["offset"] = min(before * paged["limit"], MAX_INT)
    return paged


def ignored_fields(shape: Shape, given: Fields, within: str = "") -> Iterator[str]:
    """Yield the names that a shape does not have, also those in the objects of arrays.

    within: what goes before each name: "steps[0]." or "?".
    """
    for name, value in given.items():
        kind = shape.fields.get(name)
        if kind is None:
            if value is not None:
                yield within + (name or '""')
        elif isinstance(kind.read, Items) and isinstance(value, list):
            for number, item in enumerate(value[:MOST_ITEMS]):  # more are refused
                if isinstance(item, dict):
                    place = f"{within}{name}[{number}]."
                    yield from ignored_fields(kind.read.shape, item, place)


# Performing an operation


def find_named(store: Store, operation: Operation, id: int | str) -> Record | None:
    """Return the row that the path names. Raises Refusal (404) for what the caller may not see."""
    if not operation.target:
        return None
    row = store.find(operation.target, store.id_of(id), operation.needs_living)
    if not row:
        raise Refusal(404, f"There is no {operation.target} {id}.")
    return row


def carry_out(store: Store, operation: Operation, row: Record | None, fields: Fields) -> Any:
    """Check the fields of a request, perform its operation, and return what that returns.

    row: the record that the path names.
    """
    record: Members = {}
    if row and operation.status != 201:  # in a creation, the path names the parent
        record = dict(row)
    body = check(operation.reads, fields, Settler(store, record), record)
    try:
        return operation.perform(store, row, body)
    except Invalid as error:  # of room 8, which does not know what was sent
        rules = error.fields.items()
        broken = {name: with_value(rule, name, fields.get(name)) for name, rule in rules}
        raise Invalid(broken) from None


def filters_of(store: Store, listing: Listing, query: Fields) -> Fields:
    """Return the filters that are set. Raises Refusal (404) for a record that is not visible."""
    filters = {}
    for name, default in listing.filter_defaults.items():
        value: Any = query.get(name, default)
        if value == "":
            continue
        kind = listing.shape.fields[name]
        if kind.target and not store.find(kind.target, value):
            raise Refusal(404, f"There is no {kind.target} {value}.")
        if kind.look == "person":
            user = store.user(value)
            if not user:
                raise Refusal(404, f"There is no user {value}.")
            value = user["account"]
        filters[name] = value
    return filters


def answer_login(exchange: Exchange, operation: Operation, id: object) -> str:
    """Log in, and return the answer's JSON.

    This takes the database, not a store: no transaction is open while the password is hashed.
    """
    service = exchange.service
    if service.loading:  # its users may not be there yet
        raise Refusal(503, LOADING)
    exchange.query(NOTHING)
    exchange.read_body()
    fields = exchange.fields()
    service.note_login(exchange, fields.get("account"))
    exchange.note_ignored(ignored_fields(operation.reads, fields))
    body = check(operation.reads, fields)
    return to_json(operation.perform(service.database, body))


def merged(body: Fields, query: Fields) -> Members:
    """Return the fields of a body and of a query: the body wins, unless it is empty there."""
    not_empty = {name: value for name, value in body.items() if value not in (None, "")}
    return {**body, **query, **not_empty}


def answer_write(exchange: Exchange, operation: Operation, id: Any) -> str:
    """Perform an operation that changes something, and return its answer's JSON."""
    exchange.read_body()
    if operation.admin and not exchange.caller.admin:
        raise Refusal(403, ADMIN_ONLY)
    query = exchange.query(operation.query_shape)
    # Only refuses: wrong parameters come before a missing record (404). Their values are read
    # in `carry_out`, together with the body.
    check(operation.query_shape, query)
    waited = exchange.environ.get("pmservice.waited", 0.0)  # see Task in room 17
    patience = max(LEAST_PATIENCE, PATIENCE - waited)
    with exchange.service.database.writing(exchange.caller, patience) as store:
        row = None
        if not operation.by:
            row = find_named(store, operation, id)
        fields = exchange.fields()  # only now: a missing record is refused before a wrong body
        taken = Shape({**operation.parameters, **operation.reads.fields})
        exchange.note_ignored(ignored_fields(taken, fields))
        fields = merged(fields, query)
        if operation.by:
            named = check(Shape(operation.parameters, operation.by), fields)
            row = find_named(store, operation, named[operation.by])
        changed = carry_out(store, operation, row, fields)
        exchange.note_ignored(store.ignored)
        return written_text(store, operation, changed)


# Answers, as JSON


def answer_text(
    store: Store, exchange: Exchange, operation: Operation, id: Any, most: int = -1
) -> str:
    """Return a list, the record that the path names, even a deleted one, or another JSON value.

    most: the records that a list inside a record may have; -1: all.
    """
    if operation.listing:
        return list_text(store, exchange, operation, operation.listing, id)
    checked = check(operation.query_shape, exchange.query(operation.query_shape))
    view = operation.view
    if not view:
        # The name in the path is for GET /configurations/<name>.
        return to_json(operation.perform(store, {**checked, "name": id}))
    if not operation.target:  # GET /user: the caller
        id = operation.perform(store, {})
        profile = record_text(store, view, id)
        return with_mine(store, exchange, profile, checked.get("fields", ()))
    return record_text(store, view, id, operation.target, most)


def with_mine(store: Store, exchange: Exchange, profile: str, words: Iterable[str]) -> str:
    """Return the caller's profile with the lists of MINE that these words name."""
    members = {}
    for word in dict.fromkeys(filter(None, words)):
        listing = MINE.get(word)
        if not listing:
            exchange.note_ignored([f"?fields.{word}"])
            continue
        members[word] = page_text(store, listing, {}, with_page({}, listing))
    return with_members(profile, members)


def list_text(
    store: Store, exchange: Exchange, operation: Operation, listing: Listing, id: int
) -> str:
    """Return a list: its numbers, its records, and what stands beside them."""
    given = exchange.query(operation.query_shape)
    if "status" in given:
        given["status"] = given["status"].lower()
    checked = check(operation.query_shape, given)
    query = with_page(checked, listing)
    find_named(store, operation, id)  # only to refuse
    narrowed = filters_of(store, listing, query)
    if listing.within:
        narrowed = {listing.within: id, **narrowed}
    return page_text(store, listing, narrowed, query)


def page_text(store: Store, listing: Listing, narrowed: Fields, query: Fields) -> str:
    """Return a page of a list as JSON; see Store.page."""
    total, rows = store.page(listing, narrowed, query)
    numbers: Members = {"page": query.get("page"), "total": total, "limit": query["limit"]}
    if listing.bare:
        numbers = {}
    elif "page" not in query:
        numbers = {"total": total}
    begin = "".join(f'"{name}":{number},' for name, number in numbers.items())
    end = ""
    field, statement = listing.beside  # such as the requirements beside the stories of a product
    if field and "product" in narrowed:
        end = f',"{field}":{store.value(statement, narrowed)}'
    return f'{{{begin}"{listing.key}":[{render_all(store, listing.view, rows)}]{end}}}'


def record_text(store: Store, view: View, id: int | str, target: str = "", most: int = -1) -> str:
    """Return a record. Raises Refusal (404). most: see answer_text."""
    number = store.id_of(id)
    rows = store.select(view, number)
    if not rows:
        raise Refusal(404, f"There is no {target} {id}.")
    members = {}
    for listing in ENCLOSED.get(view, ()):
        place = {"limit": most, "offset": 0}
        _, items = store.page(listing, {listing.within: number}, place, counted=False)
        members[listing.key] = f"[{render_all(store, listing.view, items)}]"
    if view.logged:
        members["actions"] = store.actions(view.resource.table, number)
    (record,) = rendered(store, view, rows)
    return with_members(record, members)


def written_text(store: Store, operation: Operation, changed: Any) -> str:
    """Return what a write answers. changed: the id or the ids that perform returned."""
    view = operation.view
    if not view:
        return to_json(SUCCESS)
    if not operation.key:
        store.written = (view.resource.table, changed)
        return record_text(store, view, changed)
    sql = select_statement(view, "SELECT value AS id FROM json_each(?)")
    rows = store.run(sql, (to_json(changed),)).fetchall()
    texts = zip(changed, rendered(store, view, rows), strict=True)
    by_id = ",".join(f'"{id}":{text}' for id, text in texts)
    return f'{{"{operation.key}":{{{by_id}}}}}'


def render_all(store: Store, view: View, cursor: sqlite3.Cursor) -> str:
    """Return the JSON of all rows, some at a time, because their values take more memory."""
    batches = iter(functools.partial(cursor.fetchmany, BATCH), [])
    return ",".join(",".join(rendered(store, view, rows)) for rows in batches)


def rendered(store: Store, view: View, rows: Sequence[Record]) -> list[str]:
    """Return the JSON of each record, of at least one, as a view shows it."""
    accounts = view.people_in(rows)
    people = store.people(accounts) if accounts else {}
    return view.show(rows, Scene(people, store.zone))


# The log


def printable(text: str) -> str:
    """Return a text for one line: nothing in it breaks the line or controls the terminal."""
    return text if text.isprintable() else text.encode("unicode_escape").decode()


def logged_text(text: object) -> str:
    """Return the beginning of a text for the log."""
    return printable(str(text)[:MAX_PATH])


def log_call(exchange: Exchange) -> None:
    """Write the line of a call to the log."""
    line = f"{exchange.method} {exchange.shown_path} {exchange.status} {exchange.duration:.1f} ms"
    line += f" {exchange.caller.account or '-'} {exchange.id}"
    client = exchange.header("REMOTE_ADDR")
    if client and not is_loopback(client.removeprefix("::ffff:")):  # IPv4 at a socket for both
        line += f" from {client}"
    if exchange.status >= 400:
        if exchange.tried:
            line += f" tried {exchange.tried}"
        refused = sentences(filter(None, (exchange.error, exchange.hint)))
        line += f": {logged_text(refused)}"
    if exchange.ignored:
        line += f" ignored: {exchange.ignored_text}"
    log.info("%s", line)


# --- 13 OpenAPI: the tables above as a document ---------------------------------------------------
# Made from OPERATIONS, the shapes and the views, so that it cannot differ from what they do. It is
# written for programs that make clients of it, with nothing that some of them do not understand.


def map_of(values: Fields) -> Fields:
    return {"type": "object", "additionalProperties": values}


ERROR_FIELDS = {"error": STRING, "hint": STRING, "fields": map_of(STRING)}
ERROR = {**object_of(ERROR_FIELDS, "Error"), "required": ["error"]}


# fmt: off
# The records of the demo that paths and bodies name in examples; they belong together.
EXAMPLE_IDS = {"project": 3, "execution": 16, "execution or project": 16, "plan": 5, "story": 15,
               "build": 17, "release": 8, "bug": 68, "task": 29, "testcase": 17, "testtask": 5, "department": 2,
               "user": "admin", "": "version"}
# By path: the id in its example, and the parameters and fields that differ from EXAMPLE_VALUES.
EXAMPLES_AT: Mapping[str, Members] = {
    "/tokens":                {"account": "admin"},
    "/modules":               {"type": "story", "id": 1},
    "/departments/<id>":      {"id": 5},
    "/users/<user>":          {"id": "jonas"},
    "/programs/<id>":         {"id": 20},
    "/stories/<id>/review":   {"id": 24},
    "/stories/<id>/active":   {"id": 1},
    "/stories/<id>/activate": {"id": 1},
    "/stories/<id>/recall":   {"id": 24},
    "/testcases/<id>/results": {"result": "pass"},
    "/bugs/<id>/close":       {"id": 50},
    "/bugs/<id>/active":      {"id": 50},
    "/bugs/<id>/activate":    {"id": 50},
    "/tasks/<id>/start":      {"id": 27},
    "/tasks/<id>/active":     {"id": 10},
    "/tasks/<id>/activate":   {"id": 10},
}
EXAMPLE_VALUES = {
    "account":  "lena",       "password": "secret", "name":  "Labels that scan", "title":      "Labels that scan",
    "spec":     "Any angle.", "category": "feature",  "pri":   3,                  "severity":   3,
    "builder":  "admin",      "build":    "trunk",    "openedBuild": "trunk",      "resolution": "fixed",
    "assignedTo": "jonas",    "consumed": 12,         "left":  4,                  "comment":    "Agreed today.",
    "desc":     "Scan it.",   "expect":   "It beeps.", "match": "GET /bugs",        "realname":   "Lena Kahn",
    "delay":    0.5,
}
# What an example gives although it is not required.
IN_EXAMPLES = ("name", "title", "realname", "delay", "assignedTo", "realStarted", "consumed", "left", "comment", "expect")
# fmt: on
JSON_SCHEMAS: dict[type, Fields] = {
    str: STRING,
    int: INTEGER,
    bool: FLAG_SCHEMA,
    dict: ANY_OBJECT,
    list: array_of({}, maxItems=0),
    type(None): or_null(STRING),
}


def field_schema(view: View, field: str) -> Fields:
    """Return the schema of a field as a view shows it."""
    kind = view.fields[field]
    if kind.source == "fixed":
        return JSON_SCHEMAS[type(kind.value)]
    writer, unset = view.writer(field)
    if not writer:
        return kind.shown
    if unset == NULL:
        return or_null(writer.schema)
    # "" and "0000-00-00" do not fit the formats date-time and date.
    return STRING if unset in (BLANK, ZERO_DAY) else writer.schema


def answer_schema(operation: Operation) -> Fields:
    """Return the schema of an answer."""
    if operation.listing:
        return list_schema(operation.listing)
    if not operation.view:
        return operation.schema
    shown = view_schema(operation.view)
    if operation.key:
        return object_of({operation.key: map_of(shown)}, f"{title_of(operation.view)}ById")
    return shown


def title_of(view: View) -> str:
    """Return the name of what a view shows among the components."""
    return view.title or spelled(view.resource.name)


@functools.cache
def view_schema(view: View) -> Fields:
    """Return the schema of what a view shows, with its envelope and lists."""
    fields = {field: field_schema(view, field) for field in view.fields}
    for listing in ENCLOSED.get(view, ()):
        fields[listing.key] = array_of(view_schema(listing.view))
    if view.logged:
        fields["actions"] = array_of(ACTION)
    optional: Iterable[str] = ()
    if view.envelope:
        fields = dict(view.envelope.schema(fields))
        optional = view.envelope.optional
    if view is MY_PROFILE:
        for word, listing in MINE.items():
            fields[word] = {**list_schema(listing), "$anchor": f"My{spelled(listing.key)}"}
        optional = MINE
    shown = object_of(fields, title_of(view))
    shown["required"] = [field for field in fields if field not in optional]
    return shown


def list_schema(listing: Listing) -> Fields:
    """Return the schema of a list.

    page, total and limit are required only where the list has pages by default.
    """
    numbers = dict.fromkeys(("page", "total", "limit"), INTEGER)
    shown = view_schema(listing.view)
    # A list of BugInList is BugsInList. A list of Bug is BugList, not Bugs: in Python clients made
    # of the document, a class Bugs could not have a field `bugs`.
    one, several = spelled(listing.view.resource.name), spelled(listing.key)
    if one == several:  # the list "effort"
        several += "s"
    name = title_of(listing.view)
    title = f"{name}List" if name == one else name.replace(one, several)
    schema = object_of({**numbers, listing.key: array_of(shown)}, title)
    if listing.beside[0]:
        schema["properties"][listing.beside[0]] = ANY_OBJECT
    if listing.bare:
        schema["required"] = [listing.key]
    elif listing.whole:
        schema["required"] = ["total", listing.key]
    return schema


def sent_schema(kind: Kind) -> Fields:
    """Return the schema of a field or a parameter of requests; "" stands for "not given" there."""
    if isinstance(kind.read, Items):
        least = 1 if [] in kind.absent else 0
        return array_of(body_schema(kind.read.shape), minItems=least, maxItems=MOST_ITEMS)
    if kind.schema.get("type") == "array":
        return {**kind.schema, "maxItems": MOST_ITEMS}
    return kind.schema


def body_schema(reads: Shape) -> Fields:
    """Return the schema of a body that is an object with these fields."""
    fields = {field: sent_schema(kind) for field, kind in reads.fields.items()}
    return {**object_of(fields, reads.called), "required": sorted(reads.required)}


def example_of(reads: Shape, day: date, special: Fields = NO_FIELDS) -> Members:
    """Return a body that works on the demo. special: from EXAMPLES_AT."""
    example = {}
    for field, kind in reads.fields.items():
        if field in special:
            example[field] = special[field]
        elif field in reads.required or field in IN_EXAMPLES:
            example[field] = example_value(field, kind, day)
    return example


def example_value(field: str, kind: Kind, day: date) -> Any:
    """Return the value of a field in an example."""
    if isinstance(kind.read, Items):
        return [example_of(kind.read.shape, day)]
    schema = sent_schema(kind)
    if kind.look == "moment":
        return f"{day} 09:00:00"
    if schema.get("format") == "date":
        is_last = field in ("end", "deadline")
        return str(day + timedelta(days=7) if is_last else day)
    value = EXAMPLE_VALUES.get(field)
    if value is None:
        value = schema["enum"][0] if "enum" in schema else EXAMPLE_IDS.get(kind.target, 1)
    return [value] if schema.get("type") == "array" else value


def name_operation(purpose: str) -> str:
    """Return a purpose as the name of a function: startTask for "start a task"."""
    words = re.findall("[A-Za-z]+", purpose)
    first, *others = (word for word in words if word not in ("a", "an", "the"))
    return "".join([first, *map(str.capitalize, others)])


def sentence_about(operation: Operation) -> str:
    """Return a sentence about an operation: its function's, or else its purpose."""
    perform = operation.perform
    if isinstance(perform, FunctionType) and perform.__doc__:
        return re.split(r"(?<=\.)\s", perform.__doc__)[0]
    return f"{operation.purpose.capitalize()}."


def tag_of(operation: Operation) -> str:
    """Return the group of an operation: the resource that it shows or changes."""
    if operation.path.startswith("/-/"):
        return "controls"
    resource = RESOURCES.get(operation.target)
    if operation.view:
        resource = operation.view.resource
    if resource:
        return str(resource.array)
    word = operation.path.split("/")[1]
    return word if word in ("tokens", *FIXTURE) else "service"


def describe(operation: Operation, day: date) -> Fields:
    """Return an operation of the document. day: today, for the example of its body."""
    done = json_content(answer_schema(operation))
    answers = {
        str(operation.status): {"description": "Done.", **done},
        "default": {"$ref": "#/components/responses/Refused"},
    }
    described: Members = {
        "operationId": name_operation(operation.purpose),
        "summary": operation.purpose.capitalize(),
        "description": sentence_about(operation),
        "tags": [tag_of(operation)],
        "responses": answers,
    }
    if operation.open:
        described["security"] = []
    if operation.parameters:
        described["parameters"] = [
            query_parameter(operation, name, kind) for name, kind in operation.parameters.items()
        ]
    reads = operation.reads
    reads_body = operation.body or reads is not NOTHING
    if reads_body and operation.method != "GET":  # a GET reads its query only
        schema = operation.body or body_schema(reads)
        example: object = example_of(reads, day, EXAMPLES_AT.get(operation.path, NO_FIELDS))
        if schema["type"] == "array":
            example = [example]
        required = bool(operation.body or reads.required)
        described["requestBody"] = {"required": required, **json_content(schema, example=example)}
    return described


def query_parameter(operation: Operation, name: str, kind: Kind) -> Fields:
    """Return a query parameter of an operation."""
    described = {"name": name, "in": "query", "schema": sent_schema(kind)}
    if name == operation.by:
        # It may also come in the body; a client that is made of this sends it here.
        return {**described, "required": True, "example": EXAMPLE_IDS.get(name, 1)}
    if operation.method == "GET" and name in operation.reads.required:
        example = EXAMPLES_AT[operation.path][name]
        return {**described, "required": True, "example": example}
    return {**described, "required": False}


def path_parameter(name: str, operation: Operation) -> Fields:
    """Return a parameter in a path: <id>, <user> or <name>."""
    schema = PAGE.schema if name == "id" else STRING
    special = EXAMPLES_AT.get(operation.path, NO_FIELDS)
    example = special.get("id", EXAMPLE_IDS.get(operation.target, 1))
    return {"name": name, "in": "path", "required": True, "schema": schema, "example": example}


def json_content(schema: Fields, **example: Any) -> Members:
    """Return the content of a body or answer that is JSON."""
    return {"content": {"application/json": {"schema": schema, **example}}}


def hoist(part: object, components: Members) -> Any:
    """Return a part of the document in which references stand for the schemas that have a name.

    A schema has one if it has an `$anchor`; it is added to the components.
    """
    if isinstance(part, list):
        return [hoist(one, components) for one in part]
    if not isinstance(part, dict):
        return part
    name = part.get("$anchor")
    if name not in components:
        rest = {key: hoist(one, components) for key, one in part.items() if key != "$anchor"}
        if not name:
            return rest
        components[name] = rest
    return {"$ref": f"#/components/schemas/{name}"}


def openapi(url: str, day: date, further: Iterable[Operation]) -> Members:
    """Return the OpenAPI 3.1 document of the service.

    url: where it is served.  day: today, for the examples.  further: operations of other tables.
    """
    paths: dict[str, Members] = {}
    tags = {}
    for row in (*OPERATIONS, *further):
        path = row.path.replace("<", "{").replace(">", "}")
        item = paths.setdefault(path, {})
        if names := re.findall("<(.*?)>", row.path):
            item["parameters"] = [path_parameter(name, row) for name in names]
        item[row.method.lower()] = describe(row, day)
        tag = tag_of(row)
        tags[tag] = {"name": tag, "description": f"Operations on {tag}."}
    schemas: Members = {}
    refused = "Refused: `error` says why, `fields` names each broken rule, `hint` helps to log in."
    components = {
        "responses": {"Refused": {"description": refused, **json_content(ERROR)}},
        "securitySchemes": {"Token": {"type": "apiKey", "in": "header", "name": "Token"}},
    }
    described = hoist({"paths": paths, "components": components}, schemas)
    described["components"]["schemas"] = dict(sorted(schemas.items()))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "pmservice",
            "version": __version__,
            "description": __doc__.partition("\n\n")[0],
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": url}],
        "security": [{"Token": []}],
        "tags": list(tags.values()),
        **described,
    }


# --- 14 Control: clock, journal, faults and snapshots, for tests ----------------------------------
# The routes under /-/, by which tests and demos steer a service and see what it was asked. Nothing
# here changes what operations mean.

MAX_CALLS = 1000  # calls that the journal keeps
MAX_KEPT = 8 * 1024  # bytes of a body or an answer that it keeps
MAX_OFFSET = 10**9  # seconds by which the clock can be shifted
MAX_WAIT = 60  # seconds of a delay, or of waiting for calls
MAX_WAITING = 24  # calls that wait at once: the other workers (room 17) answer the other calls
START_SNAPSHOT = ""  # a name that no path can have
BLANKED = "***"
CONTROLS_OFF = "The controls are off; start the service with --control."
# The keys of the environ that the journal keeps besides the headers.
OTHERS_SENT = ("CONTENT_TYPE", "CONTENT_LENGTH", "REQUEST_URI", "QUERY_STRING")
SECRET_HEADERS = ("Token", "Authorization", "Cookie")
OTHER_CALLS = ("GET /", "GET /openapi.json")  # that are no operations
URL_MARKS = "/?&=%:,;@!$'()*+[]~"  # the characters of a URL that stay as they are
# The `match` of a fault: a pattern that begins with *; or a method, a space and a path.
CALL_PATTERN = r"\*.*|[A-Z*?]+ [/*?].*"
ONE_SEGMENT = re.compile(r"<[^/<>]*>|\{[^/{}]*\}|(?<=/):\w+")  # <id>, {id} or :id in such a pattern
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\n[\t -~]*")

# The tables that triggers and SQLite itself write.
TRIGGER_TABLES = ("release_story", "tally", "sqlite_sequence")


# The clock


@dataclasses.dataclass
class Clock:
    """The time by which everything is dated: that of `base`, shifted, or a frozen moment."""

    base: Now
    offset: float = 0.0  # seconds
    frozen: datetime | None = None

    def __call__(self) -> datetime:
        """Return the present moment, aware."""
        shift = timedelta(seconds=self.offset)
        return self.frozen or self.base() + shift

    def freeze(self, moment: datetime, zone: tzinfo) -> None:
        """Stop at a moment, in UTC and whole seconds, as moments are stored. Raises Invalid.

        zone: of a moment that has none.
        """
        try:
            self.frozen = moment_of(checked_utc(moment, zone))
        except ValueError as error:
            raise Invalid(now=f"{error} (got {moment})") from None

    def advance(self, seconds: float) -> None:
        """Move the moment at which it is frozen. Raises Invalid beyond the years of a moment."""
        with contextlib.suppress(OverflowError):
            moved = self() + timedelta(seconds=seconds)
            if MINYEAR < moved.year < MAXYEAR:
                self.frozen = moved
                return
        raise Invalid(advance=f"must lead to the years 2 to 9998 (got {seconds})")

    def state(self) -> Members:
        """Return what GET /-/clock answers."""
        now = utc(self(), timezone.utc)
        is_frozen = self.frozen is not None
        return {"now": now, "frozen": is_frozen, "offset": self.offset}


# The journal


def cut_for_journal(exchange: Exchange) -> None:
    """Forget what the journal does not show; the rest is made into JSON when somebody reads it."""
    environ = exchange.environ
    headers = [name for name in environ if name.startswith("HTTP_")]
    exchange.environ = {name: environ.get(name, "")[:MAX_PATH] for name in (*headers, *OTHERS_SENT)}
    exchange.body = kept(exchange.body)
    exchange.answer = list(map(kept, exchange.answer))


def kept(content: bytes) -> bytes:
    """Return a body or an answer, above MAX_KEPT only its size, as a JSON text."""
    return content if len(content) <= MAX_KEPT else b'"%d bytes"' % len(content)


def matches(call: Exchange, wanted: Fields) -> bool:
    """Tell whether a call has the wanted method, status and path (* matches anything)."""
    return (
        call.method.upper() == wanted.get("method", call.method).upper()
        and call.status == wanted.get("status", call.status)
        and fnmatch.fnmatchcase(call.shown_path, wanted.get("path", "*"))
    )


def shown_call(call: Exchange) -> str:
    """Return a call of the journal as JSON, with its secrets blanked."""
    moment = datetime.fromtimestamp(call.answered, timezone.utc)
    query = "&".join(map(blank_parameter, call.environ["QUERY_STRING"].split("&")))
    entry = {
        "time": moment.isoformat(timespec="milliseconds"),
        "id": call.id,
        "method": call.method,
        "path": call.shown_path,
        "status": call.status,
        "account": call.caller.account or "-",
        "duration": call.duration,
        "url": sent_url(call, query),
        "query": query,
        "headers": shown_headers(call),
        "body": blanked(call.body, call.header("CONTENT_TYPE")),
        "ignored": call.ignored_text or None,
        "error": call.error[:MAX_KEPT].encode(errors="replace").decode() or None,
        "hint": call.hint or None,
        "fault": call.fault.get("match"),
        "answer": blanked(b"".join(call.answer)),
    }
    return to_json(entry)


def sent_url(call: Exchange, query: str) -> str:
    """Return the path of a request as it was sent, with the query whose secrets are blanked."""
    path = call.environ["REQUEST_URI"] or call.asked_for()  # as with other servers than this one's
    url = ABSOLUTE.sub("", path).partition("?")[0]
    if query:
        url += f"?{query}"
    return urllib.parse.quote(url, URL_MARKS, "latin-1", "replace")


def blank_parameter(parameter: str) -> str:
    """Return a parameter of a query string, blanked if it is a secret."""
    name = parameter.partition("=")[0]
    if SECRET.search(urllib.parse.unquote_plus(name)):
        return f"{name}={BLANKED}"
    return parameter


def shown_headers(call: Exchange) -> dict[str, str]:
    """Return the headers of a request by name, with those that are secrets blanked."""
    headers = {}
    for key, value in sorted(call.environ.items()):
        if value and key.startswith(("HTTP_", "CONTENT_")):
            name = key.removeprefix("HTTP_").replace("_", "-").title()
            headers[name] = BLANKED if name in SECRET_HEADERS else value
    return headers


def blanked(content: bytes, content_type: str = "") -> Any:
    """Return a body with its secrets blanked: the value of JSON or of a form, None without one.

    Anything else is returned as text up to its first secret.
    """
    text = content.decode("utf-8-sig", "replace")
    with contextlib.suppress(Refusal, ValueError, RecursionError):
        value = read_json(parse_json(text.strip() or "null", blank_fields))
        if not isinstance(value, str):
            return value
        text = value  # such as an object that was written as JSON twice
    with contextlib.suppress(Refusal):
        if content_type.lower().startswith(FORM):
            return blank_fields(parse_form(text))
    secret = SECRET.search(text)
    return text[: secret.end()] + BLANKED if secret else text


def blank_fields(fields: Fields) -> Members:
    """Return the fields of an object, with the secrets blanked."""
    return {name: BLANKED if SECRET.search(name) else fields[name] for name in fields}


# The fields of requests to controls


@functools.lru_cache
def call_pattern(match: str) -> re.Pattern[str]:
    """Return the regular expression of the calls that the `match` of a fault means."""
    # A segment becomes NUL, which no `match` has and fnmatch leaves alone; ? and [ are put into
    # brackets, where they mean themselves. fnmatch matches what lies between two * as an atomic
    # group, without backtracking: a greedy [^/]+ could take too much there, so it is "+?".
    plain = re.sub(r"[?[]", r"[\g<0>]", ONE_SEGMENT.sub("\0", match))
    translated = fnmatch.translate(plain)
    return re.compile(translated.replace("\0", "[^/]+?"))


def fits(match: str, calls: Iterable[str]) -> bool:
    """Tell whether a `match` fits one of these calls."""
    method, space, path = match.partition(" ")
    pattern = call_pattern(method.replace("HEAD", "GET") + space + path)
    # A segment of the pattern may be an id or an account: try each in place of <id> or <user>.
    for name in ("1", *match.replace("*", "").split("/")[:9]):
        is_id = "*" in match or ID_IN_PATH.fullmatch(f"/{name}")
        places = "<.*>" if is_id else "<user>|<name>"
        if any(pattern.match(name.join(re.split(places, call))) for call in calls):
            return True
    return False


def read_match(value: object) -> str:
    """Return the pattern of calls: a method, a space and a path.

    * matches anything, and <id>, {id} or :id one segment. Raises ValueError if no call matches.
    """
    if not isinstance(value, str) or not re.fullmatch(CALL_PATTERN, read_text(value)):
        raise ValueError('must be a method and a path, such as "POST /tasks/*"')
    method, space, path = value.partition(" ")
    match = method + space + bare_path(path)
    calls = [*OTHER_CALLS, *(f"{row.method} {row.path}" for row in OPERATIONS)]
    if not fits(match, calls):
        meant = ONE_SEGMENT.sub("<id>", pattern_of(match))
        remedy = suggest(meant, calls) or "; GET /openapi.json lists all calls"
        if "/-/" in match:
            remedy = "; faults never apply to controls"
        raise ValueError(f"fits no call (got {printable(match[:MAX_NAME])}){remedy}")
    return match


def read_headers(value: object) -> dict[str, str]:
    """Return the headers that a fault adds to an answer."""
    if not isinstance(value, dict):
        raise ValueError('must be an object such as {"Retry-After": "1"}')
    for name, given in value.items():
        given = as_whole(given)
        is_sendable = type(given) in (int, str) and HEADER.fullmatch(f"{name}\n{given}")
        if not is_sendable or is_hop_by_hop(name) or name.lower() == "content-length":
            rule = "must be a header that is not the server's own, with a text in ASCII or a number"
            raise ValueError(f"{printable(name)} {rule}")
    return {name: str(as_whole(given)) for name, given in value.items()}


def read_json(value: object) -> Any:
    """Return a JSON value that an answer can carry."""
    try:
        to_json(value).encode()
    except UnicodeEncodeError:
        raise ValueError("must not contain a lone surrogate") from None
    return value


Fault = Members

# fmt: off
#                look     read                               schema of a request
SECONDS   = Kind("plain", number_of("seconds", 0, MAX_WAIT), {**HOURS_SCHEMA, "maximum": MAX_WAIT})
COUNT     = whole_kind(0, MAX_CALLS)
OFFSET    = Kind("plain", number_of("seconds", -MAX_OFFSET, MAX_OFFSET), {**FLOAT, "minimum": -MAX_OFFSET, "maximum": MAX_OFFSET})
MATCH     = text_kind("plain", read_match,                      {"type": "string", "pattern": f"^({CALL_PATTERN})$"})
CALL_PATH = TEXT._replace(read=lambda value: bare_path(read_text(value)))
EFFECTS   = {
    "status":   whole_kind(200, 599),
    "headers":  Kind("plain", read_headers,                  map_of(STRING)),
    "body":     text_kind("plain", read_json,                {}),
    "delay":    SECONDS,
    "drop":     FLAG._replace(read=lambda value: bool(read_flag(value))),
}
FAULT     = Shape({"match": MATCH, **EFFECTS, "skip": COUNT, "times": COUNT, "hits": NATURAL}, "match", called="Fault")
CLOCK     = Shape({"now": MOMENT, "offset": OFFSET, "advance": OFFSET}, called="Clock")
# fmt: on
JOURNAL = Shape(  # a status is a COUNT, because every status is below MAX_CALLS
    {"method": TEXT, "path": CALL_PATH, "status": COUNT, "count": COUNT, "wait": SECONDS}
)
# Of the page of calls; `every`: seconds after which it is loaded again.
CALLS_QUERY = Shape({"text": TEXT, "every": whole_kind(1, 3600)})


def check_exactly(shape: Shape, given: Fields) -> Members:
    """Return the checked values like `check`, but refuse fields that the shape does not have."""
    if unknown := sorted(given.keys() - shape.fields.keys()):
        known = ", ".join(shape.fields) or "nothing"
        raise Invalid(dict.fromkeys(unknown, f"is not known here; known: {known}"))
    return check(shape, given)


def read_fault(given: object) -> Fault:
    """Return a fault from JSON. Raises Refusal."""
    if not isinstance(given, dict):
        raise Refusal(400, "A fault must be a JSON object.")
    fault = check_exactly(FAULT, given)
    if not EFFECTS.keys() & fault.keys():
        raise Refusal(400, f"A fault needs one of {', '.join(EFFECTS)}.")
    return {**fault, "hits": 0}


def takes_turn(fault: Fault) -> bool:
    """Count a call that a fault matches. Return whether the fault applies to it."""
    if fault.get("skip"):
        fault["skip"] -= 1
        return False
    if fault.get("times") == 0:
        return False
    if "times" in fault:
        fault["times"] -= 1
    fault["hits"] += 1
    return True


def faulty_answer(fault: Fault) -> bottle.HTTPResponse:
    """Return the answer that a fault makes: a text as HTML, anything else as JSON."""
    # A call that is dropped gets an answer only for the journal; none of it is sent.
    status = fault.get("status", 503 if fault.get("drop") else 200)
    body = fault.get("body", {"error": f"This is the fault {status} that was asked for."})
    kind = "text/html; charset=utf-8"
    if not isinstance(body, str):
        kind = "application/json"
        body = to_json(body)
    headers = {"Content-Type": kind}
    return bottle.HTTPResponse(body.encode(), status, headers)


class Controls:
    """The state behind the control routes, and what they add to a service.

    on: whether the routes exist; if not, nothing is noted, and no fault applies.
    used: whether a call came since the start or the last reset. If not, the plugin (room 19) does
        not reset the shared service before a test.
    calls: the journal: the last answered calls, in the order of their answers; see
        `cut_for_journal`.
    cleared: when it was cleared, in NUMBERS. The reports of tests show older calls, too.
    changed: notified when a call is noted, at a reset, and when the service stops. Its lock is that
        of the faults, too: two calls must not both take the last turn of one.
    faulted: when faults were given, in NUMBERS.
    places: of the calls that wait.
    resets: how often the service was reset.

    The methods in CONTROLS are given one thing: the name in the path, the body or the checked
    parameters. They return a JSON value, its text in bytes, or None for success.
    """

    alive: ClassVar[weakref.WeakSet[Controls]] = weakref.WeakSet()  # those that keep a journal

    def __init__(self, service: Service, clock: Clock, on: bool):
        self.service = service
        self.database = service.database
        self.clock = clock
        self.on = on
        self.changed = threading.Condition()
        self.places = threading.BoundedSemaphore(MAX_WAITING)
        self.calls = deque[Exchange](maxlen=MAX_CALLS)
        self.resets = 0
        self.frozen_at_start = clock.frozen
        self.return_to_start()
        if on:
            self.alive.add(self)

    def open_service(self) -> None:
        """Let calls in, now that everything is loaded; a reset will return to this moment."""
        if self.on:
            self.save_snapshot(START_SNAPSHOT)
        self.service.loading = False

    def return_to_start(self) -> None:
        """Set the clock, the faults and the journal to what they are at the start."""
        self.used = False
        self.clock.offset = 0.0
        self.clock.frozen = self.frozen_at_start
        with self.changed:
            self.faults: list[Fault] = []
            self.faulted = 0
            self.resets += 1
            self.changed.notify_all()
        self.clear_journal()

    # Around a call

    def begin_call(self, exchange: Exchange) -> None:
        """Apply the first fault that matches a call.

        Refuse the paths of controls when these are off, but for the open ones.
        """
        is_control = exchange.path.startswith("/-/")
        if is_control and not self.on and exchange.path not in PROBES:
            raise Refusal(404, CONTROLS_OFF)
        if is_control or not self.on or not self.faults:
            return
        exchange.fault = fault = self.take_fault(exchange)  # its headers and drop: Service.__call__
        if "delay" in fault and self.wait_or_reset(fault["delay"]):
            raise Refusal(503, "The service was reset while this call was delayed.")
        if fault.get("drop") or "status" in fault or "body" in fault:
            exchange.read_body()  # for the journal
            raise faulty_answer(fault)

    def take_fault(self, exchange: Exchange) -> Fault:
        """Return the fault that applies to a call, counted down; {} if none does."""
        call = f"{exchange.environ['REQUEST_METHOD']} {exchange.path}"
        with self.changed:
            for fault in self.faults:
                if call_pattern(fault["match"]).match(call) and takes_turn(fault):
                    return fault
        return {}

    def wait_or_reset(self, seconds: float, have_come: Callable[[], bool] | None = None) -> bool:
        """Wait until `have_come` returns True, the time is up, or the service is reset or stops.

        Return whether it was reset. Raises Refusal (503) if too many calls wait.
        """
        resets: int = self.resets

        def is_over() -> bool:
            if self.service.stopping or self.resets > resets:
                return True
            return have_come is not None and have_come()

        if not seconds or is_over():
            return self.resets > resets
        if not self.places.acquire(blocking=False):
            rule = f"{MAX_WAITING} calls wait or are delayed already"
            raise Refusal(503, f"{rule}; try again when fewer do.")
        try:
            with self.changed:
                self.changed.wait_for(is_over, seconds)
        finally:
            self.places.release()
        return self.resets > resets

    def wake(self) -> None:
        """Let the calls that wait look whether they still have to."""
        with self.changed:
            self.changed.notify_all()

    def record(self, exchange: Exchange) -> None:
        """Add a call to the journal, unless it is for a control or a page, or a preflight."""
        if exchange.path != "/-/reset":
            self.used = True
        if exchange.path.startswith("/-/") or exchange.aside:
            return
        exchange.answered = time.time()
        cut_for_journal(exchange)
        self.calls.append(exchange)
        self.wake()

    # The state of the service

    def list_controls(self, _: object) -> Any:
        """Return the method, the path and the purpose of every control."""
        rows = [
            {"method": row.method, "path": row.path, "purpose": row.purpose} for row in CONTROLS
        ]
        return {"controls": rows}

    def live(self, _: object) -> Any:
        """Say that the process answers."""
        return {"status": "live"}

    def ready(self, _: object) -> Any:
        """Refuse (503) until all records are loaded, and while the file cannot be written."""
        if self.service.loading:
            raise Refusal(503, LOADING)
        if not self.database.ready():
            raise Refusal(503, "The database cannot be written.")
        return {"status": "ready"}

    def reset(self, query: Fields) -> None:
        """Return to the start; with `only=records`, clock, faults, journal and tokens stay."""
        self.restore(START_SNAPSHOT, to_start="only" not in query)

    def get_clock(self, _: object) -> Any:
        """Return the time of the service, and how the clock differs from the machine's."""
        return self.clock.state()

    def put_clock(self, body: bytes) -> Any:
        """Freeze the clock at `now`, shift it by `offset` seconds, or release it with neither.

        `advance` moves the frozen clock by seconds.
        """
        values = check_exactly(CLOCK, parse_body(body, ""))
        clock = self.clock
        if "advance" in values:
            if not clock.frozen or len(values) > 1:
                rule = "must come alone, to a frozen clock: freeze it first, or use offset"
                raise Invalid({"advance": rule})
            clock.advance(values["advance"])
            return clock.state()
        if "now" in values:
            clock.freeze(values["now"], self.database.zone)
        else:
            clock.frozen = None
        clock.offset = values.get("offset", 0)
        return clock.state()

    # Records

    def dump_all(self, _: object) -> bytes:
        """Write everything as a fixture."""
        with self.database.reading() as store:
            return "".join(dump(store)).encode()

    def load_all(self, body: bytes) -> Any:
        """Load a fixture."""
        document = parse_fixture(decode(body))
        with self.database.loading() as store:
            return {"records": load(store, document)}

    def list_snapshots(self, _: object) -> Any:
        """Return the names of the snapshots."""
        names = self.database.snapshots.keys() - {START_SNAPSHOT}
        return {"snapshots": sorted(names)}

    def save_snapshot(self, name: str) -> None:
        """Save the records under a name."""
        uri, database = memory_uri(), self.database
        with database.lock(), database.querying() as store:
            keeper = sqlite3.connect(uri, uri=True, check_same_thread=False)
            if database.in_memory:
                # Several times as fast as VACUUM, and every fresh service of a test does it.
                store.connection.backup(keeper)
                keeper.execute("PRAGMA shrink_memory")  # it is read only when it is restored
            else:
                # A backup would be in WAL mode, which memory cannot have.
                store.run("VACUUM INTO ?", (uri,))
            _, old_keeper = database.snapshots.get(name, (uri, None))
            database.snapshots[name] = (uri, keeper)
            if old_keeper:
                old_keeper.close()

    def find_snapshot(self, name: str) -> tuple[str, sqlite3.Connection]:
        """Return the URI of a snapshot and the connection that keeps it. Raises Refusal (404)."""
        snapshots = self.database.snapshots
        if name not in snapshots:
            raise Refusal(404, f"There is no snapshot {name}.")
        return snapshots[name]

    def restore(self, name: str, to_start: bool = False) -> None:
        """Return to the records of a snapshot.

        The sequences of ids return, too, all in one transaction.

        to_start: whether the tokens are restored, too, and clock, faults and journal return to the
            start before anybody else can write. Otherwise the present tokens stay, but for those of
            users whom the snapshot lacks or has deleted.

        Raises Refusal (404) without such a snapshot.
        """
        with self.database.lock(), contextlib.closing(self.database.connect()) as connection:
            uri, _ = self.find_snapshot(name)
            run = connection.execute
            run("PRAGMA foreign_keys = OFF")  # a snapshot is consistent in itself
            run("ATTACH ? AS saved", (uri,))
            run("BEGIN IMMEDIATE")  # rolled back when the connection is closed before the COMMIT
            names = run("SELECT name FROM saved.sqlite_schema WHERE type = 'table'")
            tables = [name for (name,) in names]
            if not to_start:
                tables.remove("token")
            restore_tables(run, tables)
            # of the tokens that stayed, those whose users are gone
            run(
                "DELETE FROM token"
                " WHERE account NOT IN (SELECT account FROM user WHERE NOT deleted)"
            )
            run("COMMIT")
            if to_start:
                self.return_to_start()

    def remove_snapshot(self, name: str) -> None:
        """Remove a snapshot."""
        with self.database.lock():
            _, keeper = self.find_snapshot(name)
            del self.database.snapshots[name]
            keeper.close()

    # The journal

    def get_journal(self, wanted: Fields) -> bytes:
        """Return the calls that match; with `count`, wait for that many answered ones.

        Raises Refusal (409) if there are fewer or more, or if the service is reset meanwhile.
        """
        count: int = wanted.get("count", 0)

        def have_come() -> bool:
            return len(self.matching(wanted)) >= count

        if self.wait_or_reset(wanted.get("wait", 0), have_come):
            raise Refusal(409, "The service was reset meanwhile.")
        calls = self.matching(wanted)
        if "count" in wanted and len(calls) != count:
            what = "call" if count == 1 else "calls"
            words = [str(wanted[name]) for name in ("method", "path", "status") if name in wanted]
            if words:
                what += f" of {' '.join(words)}"
            raise Refusal(409, f"expected {count} {what}, {len(calls)} came.")
        texts = ",".join(map(shown_call, calls))
        return f'{{"total":{len(calls)},"calls":[{texts}]}}'.encode()

    def matching(self, wanted: Fields, since: int | None = None) -> list[Exchange]:
        """Return the calls that match, since a number, by default since the journal was cleared."""
        if since is None:
            since = self.cleared
        calls = self.calls.copy()  # in one step, while other threads add calls
        return [call for call in calls if call.number > since and matches(call, wanted)]

    def clear_journal(self, _: object = None) -> None:
        """Forget the calls."""
        self.cleared = next(NUMBERS)  # those under way, too

    # Faults

    def list_faults(self, _: object) -> Any:
        """Return the faults, the first that matches a call first."""
        return self.faults

    def add_fault(self, body: bytes) -> Any:
        """Add a fault behind the others."""
        fault = read_fault(parse_json(decode(body)))
        with self.changed:
            self.faults = [*self.faults, fault]
            self.faulted = next(NUMBERS)
            return self.faults

    def put_faults(self, body: bytes) -> Any:
        """Replace the faults."""
        given = parse_json(decode(body))
        if not isinstance(given, list):
            raise Refusal(400, "The body must be a JSON array of faults.")
        # one assignment needs no lock; a call that takes its turn has the old faults or the new
        self.faults = [read_fault(fault) for fault in given]
        self.faulted = next(NUMBERS)
        return self.faults

    def clear_faults(self, _: object) -> None:
        """Remove all faults."""
        self.faults = []


def restore_tables(run: Callable[..., sqlite3.Cursor], tables: Iterable[str]) -> None:
    """Replace the rows of these tables by those of the attached snapshot."""
    # Triggers fill these while the records return: empty them first, so that nothing collides, and
    # at last replace what the triggers wrote by the saved rows.
    for table in TRIGGER_TABLES:
        run(f"DELETE FROM main.{table}")
    records = [table for table in tables if table not in TRIGGER_TABLES]
    for table in (*records, *TRIGGER_TABLES):
        names = run("SELECT name FROM pragma_table_info(?, 'saved')", (table,))
        columns = ", ".join(f'"{name}"' for (name,) in names)  # without the generated ones
        run(f"DELETE FROM main.{table}")
        run(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM saved.{table}")


def control(
    method: str,
    path: str,
    purpose: str,
    perform: Callable[[Controls, Any], Any],
    schema: Fields = MESSAGE,
    **more: Any,
) -> Operation:
    """Return the row of a control.

    If it has no body of its own, its parameters may come in a JSON body as well as in the query.
    open: it needs no token, and exists even when controls are off.
    """
    return Operation(method, path, purpose, None, perform=perform, schema=schema, **more)


# fmt: off
ONLY  = Shape({"only": one_of("ResetPart", "records")}, called="Reset")
FAULTS = named("FaultList", array_of(body_schema(FAULT)))
STATE = flat_object("State", "", "status")
TIME  = object_of({"now": STRING, "frozen": FLAG_SCHEMA, "offset": FLOAT}, "ServiceTime")
SAVED = object_of({"snapshots": array_of(STRING)}, "SnapshotList")
LOADED = flat_object("Loaded", "records", "")
CONTROL_LIST = object_of({"controls": array_of(flat_object("ControlInList", "", "method path purpose"))}, "ControlList")
CALLS = object_of({"total": INTEGER, "calls": array_of(ANY_OBJECT)}, "CallList")
# THE TABLE OF CONTROLS.
CONTROLS = (
    #        method    path                           purpose                                         perform, shows
    control("GET",    "/-/",                         "list the controls",                            Controls.list_controls, CONTROL_LIST),
    control("GET",    "/-/live",                     "tell whether the process answers",             Controls.live, STATE, open=True),
    control("GET",    "/-/ready",                    "tell whether records can be read and written", Controls.ready, STATE, open=True),
    control("POST",   "/-/reset",                    "return to the start",                          Controls.reset, reads=ONLY, query="only"),
    control("GET",    "/-/snapshots",                "list the snapshots",                           Controls.list_snapshots, SAVED),
    control("PUT",    "/-/snapshots/<name>",         "save a snapshot of the records",               Controls.save_snapshot),
    control("POST",   "/-/snapshots/<name>",         "save a snapshot of the records (alias)",       Controls.save_snapshot),
    control("DELETE", "/-/snapshots/<name>",         "remove a snapshot",                            Controls.remove_snapshot),
    control("POST",   "/-/snapshots/<name>/restore", "restore a snapshot",                           Controls.restore),
    control("GET",    "/-/dump",                     "write all records as a fixture",               Controls.dump_all, FIXTURE_DOCUMENT),
    control("POST",   "/-/load",                     "load a fixture",                               Controls.load_all, LOADED, body=FIXTURE_DOCUMENT),
    control("GET",    "/-/clock",                    "show the time of the service",                 Controls.get_clock, TIME),
    control("PUT",    "/-/clock",                    "set the clock",                                Controls.put_clock, TIME, reads=CLOCK),
    control("GET",    "/-/journal",                  "list the last calls",                          Controls.get_journal, CALLS, reads=JOURNAL,
                                                                                                     query=" ".join(JOURNAL.fields)),
    control("DELETE", "/-/journal",                  "forget the calls",                             Controls.clear_journal),
    control("GET",    "/-/faults",                   "list the faults",                              Controls.list_faults, FAULTS),
    control("POST",   "/-/faults",                   "add a fault",                                  Controls.add_fault, FAULTS, reads=FAULT),
    control("PUT",    "/-/faults",                   "replace the faults",                           Controls.put_faults, FAULTS, reads=FAULT, body=FAULTS),
    control("DELETE", "/-/faults",                   "remove all faults",                            Controls.clear_faults),
)
# fmt: on


# --- 15 Page: what browsers are shown -------------------------------------------------------------
# Pages for people: an overview, and the answer of every GET as tables, made from OPERATIONS, the
# lists and the views. Sheet collects what a page says, TEMPLATE writes it as HTML. The template
# escapes every value of a record or a request, and no page runs a script.
# The pages only show records: none changes one.

WEEKS = 26  # of the chart of bugs
UNITS = {  # of times, in seconds
    "years": 365 * 86400,
    "months": 30 * 86400,
    "weeks": 7 * 86400,
    "days": 86400,
    "hours": 3600,
    "minutes": 60,
}
# Limits of a page.
TOP = 12  # products, and running executions
RELEASES = 6  # past ones, and as many planned ones
CALLS_SHOWN = 100
MOST_SHOWN = 5000  # characters of each part of a call
MOST_TRANSLATED = 1000  # of a refusal: the patterns take time that grows faster than its length
ACTIONS = 1000
ROWS = 50  # of a list, unless its query has a limit
MOST_ROWS = 500
BELOW = 10  # rows of each list on a record's page that has a page of its own
PAGE_HEADERS = {  # the headers of every page
    "Content-Type": "text/html; charset=utf-8",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    # With "no-referrer", browsers send the form that logs in with `Origin: null`.
    "Referrer-Policy": "same-origin",
}
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self';"
    " base-uri 'none'; frame-ancestors "
)
# The labels that people read instead of the interface's words: fields, states, orders, filters and
# titles. A row is the word, its English label and its Chinese one; a row of two is an English text
# and the Chinese one. The Chinese ones follow ZenTao's own pages.
# fmt: off
LABELS_TEXT = """
    account | Account | 账号
    acl | Access | 访问控制
    activatedCount | Times activated | 激活次数
    activatedDate | Activated | 激活日期
    address | Address | 地址
    admin | Administrator | 管理员
    assignToNull | Unassigned bugs | 未指派的 Bug
    assignedDate | Assigned | 指派日期
    assignedTo | Assigned to | 指派给
    attribute | Kind of stage | 阶段类型
    begin | Begins | 开始日期
    birthday | Birthday | 生日
    browser | Browser | 浏览器
    budget | Budget | 预算
    budgetUnit | Currency | 预算单位
    bugs | Bugs | Bug
    bug | Bug | Bug
    build | Build | 版本
    builder | Built by | 构建者
    builds | Builds | 版本
    canceledBy | Cancelled by | 取消者
    canceledDate | Cancelled | 取消时间
    case | Test case | 用例
    caseFails | Times failed | 失败次数
    caseResult | Result | 测试结果
    cases | Test cases | 用例
    category | Category | 类别
    children | Child stories | 子需求
    closedBugs | Closed bugs | 已关闭的 Bug
    closedBy | Closed by | 关闭者
    closedDate | Closed | 关闭日期
    closedReason | Close reason | 关闭原因
    code | Code | 代号
    commiter | Commits as | 源代码账号
    confirmed | Confirmed | 已确认
    consumed | Hours spent | 已消耗工时
    createdBy | Created by | 创建者
    createdDate | Created | 创建日期
    date | Date | 日期
    days | Working days | 可用工作日
    deadline | Deadline | 截止日期
    deleted | Deleted | 已删除
    department | Department | 部门
    dept | Department | 所属部门
    desc | Description | 描述
    dingding | DingTalk | 钉钉
    duplicateBug | Duplicate of | 重复 Bug
    duplicateStory | Duplicate of | 重复需求
    effort | Work log | 工时记录
    email | E-mail | 邮箱
    end | Ends | 结束日期
    estStarted | Planned start | 预计开始
    estimate | Estimated hours | 预计工时
    execution | Execution | 执行
    executions | Executions | 执行
    expect | Expected | 预期
    extraStories | Further stories | 相关需求
    feedbackBy | Reported by | 反馈者
    filePath | Download | 下载地址
    finishedBy | Finished by | 完成者
    finishedDate | Finished | 实际完成
    finishedList | Finished by (all) | 完成者列表
    fixedBugs | Fixed bugs | 已修复的 Bug
    found | Found in | 如何发现
    fromBug | From bug | 来源 Bug
    fromCaseID | From case | 来源用例
    hardware | Hardware | 硬件平台
    id | ID | ID
    join | Joined | 入职日期
    keywords | Keywords | 关键词
    lastEditedBy | Last edited by | 最后修改者
    lastEditedDate | Last edited | 最后修改日期
    lastRunDate | Last run | 执行时间
    lastRunResult | Last result | 上次结果
    lastRunner | Last run by | 执行人
    left | Hours left | 剩余工时
    leftBugs | Bugs left | 遗留的 Bug
    lifetime | Lifetime | 迭代类型
    linkBug | Related bugs | 相关 Bug
    linkCase | Related cases | 相关用例
    mailto | Cc | 抄送给
    manager | Manager | 负责人
    marker | Milestone | 里程碑
    mobile | Mobile | 手机
    model | Model | 管理方式
    name | Name | 名称
    needConfirm | Story changed | 需求变更
    needconfirm | Story changed | 需求变更
    notReview | Not reviewed by | 待评审人员
    notifyEmail | E-mail to notify | 通知邮箱
    openedBuild | Affected build | 影响版本
    openedBy | Opened by | 创建者
    openedDate | Opened | 创建日期
    os | Operating system | 操作系统
    owner | Owner | 负责人
    parent | Parent | 父级
    phone | Phone | 电话
    plan | Plan | 计划
    plans | Plans | 计划
    PM | Manager | 负责人
    PO | Product owner | 产品负责人
    precondition | Precondition | 前置条件
    pri | Priority | 优先级
    product | Product | 产品
    products | Products | 产品
    program | Program | 项目集
    programs | Programs | 项目集
    progress | Progress | 进度
    project | Project | 项目
    projects | Projects | 项目
    QD | Test lead | 测试负责人
    RD | Release manager | 发布负责人
    realBegan | Actual start | 实际开始
    realEnd | Actual end | 实际完成
    realFinishedDate | Finished | 实际完成时间
    realStarted | Started | 实际开始
    realname | Name | 姓名
    release | Release | 发布
    releases | Releases | 发布
    report | Report | 测试总结
    requirements | Requirements | 用户需求
    resolution | Resolution | 解决方案
    resolvedBuild | Resolved in build | 解决版本
    resolvedBy | Resolved by | 解决者
    resolvedDate | Resolved | 解决日期
    result | Result | 结果
    results | Results | 结果
    reviewedBy | Reviewed by | 评审人
    reviewedDate | Reviewed | 评审时间
    reviewer | Reviewers | 指定评审人
    role | Role | 职位
    scmPath | Source code | 源代码地址
    severity | Severity | 严重程度
    source | Source | 来源
    sourceNote | Note on the source | 来源备注
    spec | Specification | 需求描述
    stage | Stage | 阶段
    status | Status | 状态
    step | Step | 操作
    steps | Steps | 步骤
    stories | Stories | 需求
    story | Story | 需求
    task | Task | 任务
    tasks | Tasks | 任务
    testcase | Test case | 用例
    testcases | Test cases | 用例
    testtask | Test task | 测试单
    testtasks | Test tasks | 测试单
    thisWeekBugs | Bugs this week | 本周新增 Bug
    title | Title | 标题
    totalConsumed | Hours spent | 已消耗工时
    totalEstimate | Estimated hours | 预计工时
    totalLeft | Hours left | 剩余工时
    toBugs | Bugs found | 产生的 Bug
    toStory | Became story | 转需求
    toTask | Became task | 转任务
    type | Type | 类型
    unResolved | Active bugs | 激活的 Bug
    user | User | 用户
    users | Users | 用户
    verify | Acceptance criteria | 验收标准
    version | Version | 版本号
    weixin | WeChat | 微信
    whitelist | Whitelist | 白名单
    work | Work | 工作内容

    acceptance | Acceptance test | 验收测试
    active | Active | 激活
    affair | Affair | 事务
    all | All | 全部
    total | Total | 合计
    assignedbyme | Assigned by me | 由我指派
    assignedtome | Assigned to me | 指派给我
    assigntome | Assigned to me | 指派给我
    assigntonull | Unassigned | 未指派
    automation | Test script | 测试脚本
    blocked | Blocked | 被阻塞
    branch | Branches | 多分支
    bvt | Build verification test | 版本验证
    bydesign | By design | 设计如此
    cancel | Cancelled | 已取消
    changed | Changed | 已变更
    clarify | To be clarified | 有待明确
    closed | Closed | 已关闭
    closedbyme | Closed by me | 由我关闭
    codeerror | Code error | 代码错误
    competitor | Competitor | 竞争对手
    config | Configuration | 配置相关
    customer | Customer | 客户
    design | Design | 设计
    designdefect | Design defect | 设计缺陷
    dev | Developer | 研发工程师
    devel | Development | 开发
    discuss | Discussion | 讨论
    doing | In progress | 进行中
    done | Done | 已完成
    draft | Draft | 草稿
    duplicate | Duplicate | 重复
    experience | Experience | 体验
    external | External cause | 外部原因
    fail | Failed | 失败
    feature | Feature | 功能
    fixed | Fixed | 已解决
    forum | Forum | 论坛
    improve | Improvement | 改进
    inside | Internal | 内部
    install | Installation | 安装部署
    integrate | Integration test | 集成测试
    interface | Interface | 接口
    intergrate | Integration test | 集成测试
    investigate | Under investigation | 研究中
    long | Long-term | 长期
    longlifebugs | Untouched for a week | 久未处理
    market | Market | 市场
    misc | Miscellaneous | 其他
    n/a | Not applicable | 忽略
    noclosed | Open | 未关闭
    normal | Normal | 正常
    notrepro | Not reproducible | 无法重现
    open | Public | 公开
    openedbyme | Opened by me | 由我创建
    openedthisweek | Bugs opened this week | 本周新增 Bug
    operation | Operations | 运营
    ops | Operations | 运维
    other | Other | 其他
    others | Others | 其他
    outside | External | 外部
    overduebugs | Overdue | 已过期
    partner | Partner | 合作伙伴
    pass | Passed | 通过
    pause | Paused | 已暂停
    performance | Performance | 性能
    planned | Planned | 已计划
    platform | Platforms | 多平台
    pm | Project manager | 项目经理
    po | Product owner | 产品经理
    postponed | Postponed | 延期处理
    postponedbugs | Postponed | 已延期
    private | Private | 私有
    projected | In a project | 已立项
    qa | Tester | 测试工程师
    reject | Rejected | 拒绝
    released | Released | 已发布
    request | Requirements work | 需求
    requirement | Requirement | 用户需求
    resolved | Resolved | 已解决
    resolvedbyme | Resolved by me | 由我解决
    resolvedthisweek | Bugs resolved this week | 本周解决 Bug
    reviewbyme | To be reviewed by me | 待我评审
    reviewedbyme | Reviewed by me | 我评审过
    reviewingstory | Under review | 评审中
    safe | Security | 安全
    scrum | Scrum | Scrum
    security | Security | 安全相关
    service | Customer service | 客服
    short | Short-term | 短期
    smoke | Smoke test | 冒烟测试
    sprint | Sprint | 迭代
    standard | Standard | 标准规范
    study | Research | 研究
    subdivided | Subdivided | 已细分
    support | Support | 技术支持
    suspended | Suspended | 已挂起
    system | System test | 系统测试
    terminate | Discontinued | 停止维护
    test | Test | 测试
    top | Senior management | 高层管理
    trunk | Trunk | 主干
    ui | Interface designer | 界面设计师
    unclosed | Open | 未关闭
    unconfirmed | Not confirmed | 未确认
    undone | Unfinished | 未完成
    unit | Unit test | 单元测试
    unittest | Unit test | 单元测试
    wait | Waiting | 未开始
    waterfall | Waterfall | 瀑布
    willnotdo | Will not be done | 不做
    willnotfix | Will not be fixed | 不予解决
    yes | Yes | 是

    assigned | Assigned | 指派
    activated | Activated | 激活
    commented | Commented | 评论
    canceled | Cancelled | 取消
    edited | Edited | 修改
    finished | Finished | 完成
    opened | Opened | 创建
    created | Created | 创建
    paused | Paused | 暂停
    linked bugs | Linked bugs | 关联 Bug
    unlinked bugs | Unlinked bugs | 取消关联 Bug
    linked stories | Linked stories | 关联需求
    unlinked stories | Unlinked stories | 取消关联需求
    recalled | Recalled | 撤回
    set to wait | Set to waiting | 改为未开始
    set to doing | Set to in progress | 改为进行中
    set to pause | Set to paused | 改为已暂停
    set to done | Set to done | 改为已完成
    set to cancel | Set to cancelled | 改为已取消
    set to closed | Set to closed | 改为已关闭
    restarted | Continued | 继续
    reviewed | Reviewed | 评审
    run | Ran it | 执行
    started | Started | 开始
    worked on | Logged hours | 记录工时

    Overview | 概览
    my tasks | My tasks | 我的任务
    Plan | 规划
    Build | 开发
    Test | 测试
    Company | 组织
    For developers | 开发者
    API calls | 接口调用
    Menu | 菜单
    In English | 英文原文
    Back to {} | 返回 {}
    Close | 关闭
    Lists | 列表
    Where this is | 当前位置
    Skip to the content | 跳到正文
    Log in | 登录
    Log in as | 选择身份登录
    Log out | 退出
    Password or token | 密码或令牌
    A made-up company: a click on a name is enough. | 这是一家示例公司，点击姓名即可登录。
    Log in with a password | 用密码登录
    A made-up company: everybody has the same password as admin. | 这是一家示例公司，所有人的密码都与 admin 的密码相同。
    Login failed. Please check your account and password. | 登录失败，账号或密码错误。
    Summary | 概况
    More | 更多
    Mine | 与我有关
    To look at | Needs attention | 待处理
    This week | 本周
    More states | 更多状态
    Stage | 阶段
    Show | 显示
    Search names | Search names or IDs | 搜索名称或 ID
    Search | 搜索
    severity 1 | highest | 致命
    severity 2 | high | 严重
    severity 3 | medium | 一般
    severity 4 | low | 轻微
    pri 1 | highest | 最高
    pri 2 | high | 较高
    pri 3 | medium | 中等
    pri 4 | low | 较低
    share of task | {} % of the hours | {}%（按工时）
    share of execution | {} % of the hours | {}%（按工时）
    share of product | {} % of the stories | {}%（按需求）
    {} of {} stories | {} of {} stories closed | 已关闭 {} / {} 个需求
    {} of {} open | {} of {} open | {}（未关闭共 {}）
    open bugs | Open bugs | 未关闭的 Bug
    open stories | Open stories | 未关闭的需求
    open tasks | Open tasks | 未关闭的任务
    contained bugs | Bugs fixed | 解决的 Bug
    contained stories | Stories done | 完成的需求
    contained leftBugs | Bugs left | 遗留的 Bug
    release normal | Not discontinued | 维护中
    not run | Not run | 未执行
    {} · late | {} · overdue | {} · 已逾期
    just now | 刚刚
    {} minutes ago | {} 分钟前
    {} hours ago | {} 小时前
    {} days ago | {} 天前
    {} weeks ago | {} 周前
    {} months ago | {} 个月前
    {} years ago | {} 年前
    Details | 详情
    People | 人员
    Dates | 日期
    Links | 关联
    History | 历史记录
    ‹ previous | ‹ Previous | ‹ 上一页
    next › | Next › | 下一页 ›
    Bugs per week | 每周 Bug
    New | Opened | 新增
    Resolved | Resolved | 解决
    Show all | 查看全部
    Sort by | 排序
    Empty fields ({}) | 空字段（{}）
    Bugs by product | 各产品的 Bug
    Stories by stage | 各阶段的需求
    Running executions | 进行中的执行
    Next releases | 即将发布
    Latest releases | 最近发布
    Nothing matches. | 没有符合条件的记录。
    There is nothing here yet. | 这里还没有内容。
    {} creates one. | 用 {} 创建。
    There is nothing to show yet | 暂无内容
    Start the service with --demo to see a made-up company. | 用 --demo 启动服务，可以看到一家示例公司。
    Load your own records with --load FILE, or with pmservice load FILE. | 用 --load FILE 或 pmservice load FILE 载入自己的数据。
    POST /products creates a product. | POST /products 创建产品。
    Last calls | 最近的调用
    list departments | Departments | 部门
    show the token of the caller | Token of the caller | 当前令牌
    say how to log in | How to log in | 如何登录
    list the groups of users | Groups of users | 用户组
    list modules | Modules | 模块
    list configurations | Configurations | 配置
    get a configuration | Configuration | 配置
    list the choices for a bug | Choices for a bug | Bug 的可选项
    Controls | Clock and simulated faults | 时钟与模拟故障
    Body | Request body | 请求体
    Answer | Response | 响应
    Ignored | Ignored fields | 被忽略的字段
    Fault | Simulated fault | 模拟故障
    match | Simulated fault | 模拟故障
    times | times left | 剩余次数
    hits | times applied | 触发次数
    clock True | The clock is frozen at {}. | 时钟停在 {}。
    clock False | The clock says {}. | 当前时间 {}。
    offset | It is shifted by {} seconds. | 时钟偏移 {} 秒。
    no faults | There are no simulated faults. | 没有设置模拟故障。
    demo in en | The demo is in English. | 当前演示数据为英文。如需中文数据，请在启动时加上参数 --language zh。
    demo in zh | The demo is in Chinese; start it with --language en for English. | 演示数据是中文的。
    Headers | 请求头
    Bad Request | Bad request | 请求有误
    Forbidden | 无权访问
    Not Found | Not found | 页面不存在
    Method Not Allowed | Method not allowed | 不支持的操作
    Service Unavailable | Service unavailable | 服务暂不可用
    Misdirected Request | Misdirected request | 主机名有误
    Request Entity Too Large | Too large | 内容过大
    Content Too Large | Too large | 内容过大
    Insufficient Storage | The disk is full | 磁盘已满
    Internal Server Error | Internal error | 服务出错
    ,  | ,  | 、
    {0:%b} | {0.month}月

    There is no {} {}. | “{} {}”不存在，或者您无权查看。
    There is nothing at {}; GET /openapi.json lists what there is. | 没有 {} 这个地址，全部地址见 GET /openapi.json。
    There is nothing at {}; did you mean {}? | 没有 {} 这个地址，您要找的是不是 {}？
    There is nothing at {}. | 没有 {} 这个地址。
    ZenTao has {}; pmservice does not. | 禅道有 {}，但 pmservice 没有。
    {} is not allowed at {}; allowed: {}. | {1} 不支持 {0}，只支持 {2}。
    {} is not known here; known: {}. | 这里没有参数 {}，只有 {}。
    {} must be a whole number (got {}). | {} 必须是整数（现为 {}）。
    {} must be {} or more (got {}). | {} 不能小于 {}（现为 {}）。
    {} must be {} or less (got {}). | {} 不能大于 {}（现为 {}）。
    {} must be one of {} (got {}); did you mean {}? | {} 只能是 {}（现为 {}）；是不是 {}？
    {} must be one of {} (got {}). | {} 只能是 {}（现为 {}）。
    {} must be a field of the list, alone or with _asc or _desc (got {}); did you mean {}? | {} 应为列表的字段，可加 _asc 或 _desc（现为 {}）；是不是 {}？
    {} must be a field of the list, alone or with _asc or _desc (got {}). | {} 应为列表的字段，可加 _asc 或 _desc（现为 {}）。
    {} must have at most {} words (got {}). | {} 最多有 {} 个词，现在有 {} 个。
    {} must be {} to {} characters, not blank (got {}). | {} 必须有 {} 到 {} 个字，不能为空（现为 {}）。
    The query must be like page=2&limit=50, with at most {} fields. | 参数应写成 page=2&limit=50 的形式，最多 {} 个。
    Only an administrator may do this. | 只有管理员可以查看。
    The controls are off; start the service with --control. | 测试控制未开启，请用 --control 启动服务。
    Pages of other origins cannot log in or out. | 其他网站的页面不能登录或退出。
    Pages of {} may not call this service; start it with --origin {} to allow them. | {} 的页面不能调用本服务；如要允许，请用 --origin {} 启动服务。
    The Host must be {}; start the service with --allowed-host {} to add it. | 只能用主机名 {} 访问；如要加上现在的主机名，请用 --allowed-host {} 启动服务。
    The service is still loading. | 服务还在载入数据，请稍后再试。
    The database is busy; try again. | 数据库正忙，请重试。
    The database is read-only; nothing was written. | 数据库只读，未写入任何内容。
    The disk is full; nothing was written. | 磁盘已满，未写入任何内容。
    The service failed; its log says why. | 服务处理请求时出错，原因见日志。
"""
# fmt: on


def read_labels(text: str) -> dict[str, dict[str, str]]:
    """Return the labels of words by language."""
    english, chinese = {}, {}
    for line in filter(str.strip, text.split("\n")):
        columns = line.strip().split(" | ")
        english[columns[0]], chinese[columns[0]] = columns[-2:]
    return {"en": english, "zh": chinese}


LABELS = read_labels(LABELS_TEXT)
LANGUAGES = tuple(LABELS)


# The sentences among them, by a pattern of the texts in which {} stands for what varies.
SENTENCES = {
    re.escape(words).replace(r"\{\}", "(.*?)"): words
    for words in LABELS["en"]
    if words.endswith((".", "?"))
}


def label(language: str, word: str) -> str:
    """Return what people read instead of a word; the word itself if it has no label."""
    return LABELS[language].get(word, word)


def translated(language: str, sentence: str) -> str:
    """Return the sentence of a refusal in a language; itself if there is no translation."""
    if language == "en" or len(sentence) > MOST_TRANSLATED:
        return sentence
    for pattern, words in SENTENCES.items():
        found = re.fullmatch(pattern, sentence, re.DOTALL)
        if found:
            # Only resources have labels here; parameters and values are named as they are sent.
            given = (label(language, one) if one in RESOURCES else one for one in found.groups())
            return label(language, words).format(*given)
    return sentence


class Layout(NamedTuple):
    """Where the fields of a resource stand: a row of LAYOUTS.

    above: the field that links to the record that it belongs to.
    facts: those under the title.
    below: the lists at the end of the page.
    columns: those of its lists, after the id and the name; a "-" at the end hides one on phones.
    """

    above: str
    facts: str
    below: str
    columns: str


# fmt: off
# resource | above     | facts                                    | below                                  | columns of lists
LAYOUTS_TEXT = """
department |           | manager                                  | users                                  |
user       | dept      | role dept email                          | tasks bugs stories testcases           | account role dept email-
program    | parent    | PM begin end                             | projects products                      | PM parent- begin- end
project    | parent    | status model PM begin end                | executions                             | status PM parent- begin- end
execution  | project   | status progress totalConsumed totalLeft PM begin end | tasks              | status PM project begin- end
product    | program   | unResolved PO program                    | bugs                                   | unResolved bugs- releases- PO program
plan       | product   | status progress begin end product        | stories bugs                           | status product stories- bugs- begin- end
story      | product   | status stage pri assignedTo product      | tasks children bugs cases requirements | status stage pri- product assignedTo
build      | product   | date builder product execution           |                                        | product execution builder- date
release    | product   | status date product build                |                                        | status product date
bug        | product   | status severity pri assignedTo product   |                                        | status severity pri- product assignedTo openedDate-
task       | execution | status pri assignedTo deadline execution | effort                                 | status execution- assignedTo deadline left-
testcase   | product   | lastRunResult pri type product           |                                        | lastRunResult type pri- product lastRunner-
testtask   | product   | status pri owner begin end product       | testcases                              | status product owner begin- end
effort     |           |                                          |                                        | date account work consumed left
result     |           |                                          |                                        | date lastRunner caseResult version-
"""
# fmt: on


def read_layouts(text: str) -> dict[str, Layout]:
    """Return the layouts of resources by name."""
    layouts = {}
    for line in text.strip().split("\n"):
        resource, *cells = map(str.strip, line.split("|"))
        layouts[resource] = Layout(*cells)
    return layouts


LAYOUTS = read_layouts(LAYOUTS_TEXT)
# The fields that have HTML on real servers.
RICH = "desc report spec steps verify"
# How pages show fields whose kind does not tell: "word" and "state" are words of LABELS, a state
# with a color; a "flag" is yes or nothing; a "level" may have a word; a "share" is a number of
# percent; a "text" is long; "hidden" fields mean nothing to people, or another field says the same
# in words. The name of a resource means links to its
# records, by their ids or accounts, also in a text with commas.
FIELDS_BY_STYLE = {
    "word": "acl attribute category closedReason lifetime model resolution role source type",
    "state": "caseResult lastRunResult stage status",
    "flag": "confirmed marker",
    "level": "pri severity",
    "share": "progress",
    "text": f"{RICH} precondition",
    "hidden": """
        assignedToRealName avatar branch buildID buildName caseVersion childStories color
        createdVersion currentVersion executionName fromCaseVersion gender grade
        id latestStoryVersion line managerName module name openedVersion order parentName parentPri
        path percent planTitle productName productStatus productType programName projectName
        realname storyID storyStatus storyTitle storyVersion team title
    """,
    "bug": "duplicateBug fromBug linkBug toBugs",
    "build": "openedBuild resolvedBuild",
    "execution": "executions",
    "product": "products",
    "story": "extraStories toStory",
    "task": "toTask",
    "testcase": "case fromCaseID linkCase",
    "user": "finishedList lastRunner mailto manager notReview reviewer whitelist",
}
# The style of a value by its kind's look; others are text.
STYLES_OF_LOOKS = {
    "person": "user",
    "day": "day",
    "moment": "moment",
    "stamp": "moment",
    "flag": "flag",
    "boolean": "flag",
}
# Where a record's page shows a field, by the CSS class of its cell; others are details.
HEADINGS = {
    "person": "People",
    "day": "Dates",
    "day late": "Dates",
    "moment": "Dates",
    "link": "Links",
}
# A field that is left out if another one has the same value.
REPEATED = {"reviewer": "reviewedBy", "notReview": "reviewer", "parent": "project"}
DUE_STATES = ("active", "doing", "pause", "wait")  # states in which a deadline counts
DEFAULT_TEXTS = {"budget": "0", "budgetUnit": "CNY"}  # of fields that nobody has set
# The records of a build or a release; of the latter as a text of ids.
LISTS_OF_IDS = {"stories": "story", "bugs": "bug", "leftBugs": "bug"}
ALL_TASKS = lists(TASKS_PATH, "list all tasks", TASK_SHOWN, BROWSE_TASKS)  # of pages
CALLABLE = {(row.method, row.path) for row in OPERATIONS}
READS = {row.path: row for row in (*OPERATIONS, ALL_TASKS) if row.method == "GET"}
LISTS = {path: row.listing for path, row in READS.items() if row.listing}
# The query of lists on pages, where it is not that of the operation: as of stories, the open bugs.
ON_PAGES = {BUG: {"status": "unclosed"}, RELEASE: {"order": "date_desc"}}
# Lists on the pages of a department and of a person, which have no pages of their own.
OF_NO_PATH = {
    DEPARTMENT: (Listing("users", USER_LISTED, "dept"),),
    USER: (
        Listing("tasks", TASK_SHOWN, "assignedTo", BROWSE_TASKS, default="unclosed"),
        Listing("bugs", BUG_LISTED, "assignedTo", BROWSE_BUGS),
        Listing("stories", STORY_LISTED, "assignedTo", BROWSE_STORIES, default="unclosed"),
        Listing("testcases", CASE_LISTED, "openedBy"),
    ),
}
# The path above each resource's records, such as /bugs. A resource may have several: reading the
# table in reverse lets the first one win.
RECORD_PATHS = {
    row.target: path.rpartition("/")[0]
    for path, row in reversed(READS.items())
    if row.target and row.view and not row.listing
}
LIST_PATHS = {**RECORD_PATHS, "task": TASKS_PATH}  # of all records that the reader may see
# By field; a field that is called as a resource links to one.
STYLES = {resource: resource for resource in RECORD_PATHS}
for _style, _fields in FIELDS_BY_STYLE.items():
    STYLES.update(dict.fromkeys(_fields.split(), _style))
# The navigation: paths in groups, and the words that stand for them.
NAV = {
    "": "/ /tasks",
    "Plan": "/products /stories /productplans /releases",
    "Build": f"/programs /projects /executions {TASKS_PATH} /builds",
    "Test": "/bugs /testcases /testtasks",
    "Company": "/users",
    "For developers": JOURNAL_PATH,
}
NAV_PATHS = " ".join(NAV.values()).split()
# Where the navigation has what stands below other paths.
NAV_PLACES = {"/tasks": TASKS_PATH, "/product": "/products"}
NAV_PLACES |= dict.fromkeys(("/user", "/departments", "/groups"), "/users")
NAV_WORDS = {path: listing.key for path, listing in LISTS.items()}
NAV_WORDS |= {"/": "Overview", "/tasks": "my tasks", JOURNAL_PATH: "API calls"}
# Filters of lists that are not states; they unfold.
MORE = {
    "Mine": """
        assigntome assignedtome openedbyme resolvedbyme closedbyme assignedbyme reviewbyme
        reviewedbyme
    """,
    "To look at": """
        unconfirmed assigntonull postponedbugs overduebugs needconfirm longlifebugs reviewingstory
    """,
    "This week": "openedthisweek resolvedthisweek",
    "More states": "pause cancel",
    "Stage": "",  # of stories
}
GROUPS: Texts = {}
for _group, _words in MORE.items():
    GROUPS.update(dict.fromkeys(_words.split(), _group))
PLAN_PROGRESS = """
    SELECT count(*) FILTER (WHERE story.status = 'closed') AS done, count(*) AS total
    FROM plan_story JOIN seen_story AS story ON story.id = plan_story.story
    WHERE plan_story.plan = :id AND NOT story.deleted
"""
# The overview's queries. Its figures equal the totals of the lists that they lead to.
IN_ALL = """
    SELECT count(*) AS products, coalesce(sum(unResolved), 0) AS active
    FROM shown_product WHERE NOT deleted
"""
# :begins: a JSON array of the moments at which the weeks begin.
BUGS_BY_WEEK = f"""
    WITH week AS MATERIALIZED (
        SELECT value AS begin, lead(value, 1, '{MAXYEAR}') OVER (ORDER BY value) AS next
        FROM json_each(:begins))
    SELECT
        (SELECT count(*) FROM live_product AS product CROSS JOIN bug ON bug.product = product.id
            WHERE bug.deleted = 0 AND openedDate >= begin AND openedDate < next) AS opened,
        (SELECT count(*) FROM live_product AS product CROSS JOIN bug ON bug.product = product.id
            WHERE bug.deleted = 0 AND resolvedDate >= begin AND resolvedDate < next) AS resolved
    FROM week
    ORDER BY begin
"""
STORIES_BY_STAGE = """
    SELECT stage, count(*) FROM story_stage
    WHERE type = 'story' AND deleted = 0 AND +product IN (SELECT id FROM live_product)
    GROUP BY stage
"""
BUSIEST_PRODUCTS = f"""
    SELECT id, name, unResolved AS active, bugs - unResolved - closedBugs AS resolved,
        closedBugs AS closed, bugs AS total
    FROM shown_product
    WHERE NOT deleted
    ORDER BY unResolved DESC, id
    LIMIT {TOP}
"""
RUNNING = f"""
    SELECT id, name, end FROM live_project
    WHERE type IN ('sprint', 'stage') AND status = 'doing'
    ORDER BY end, id
    LIMIT {TOP}
"""
RUNNING_TASKS = f"""
    SELECT running.id, running.name, end,
        count(*) FILTER (WHERE task.status = 'wait') AS wait,
        count(*) FILTER (WHERE task.status = 'doing') AS doing,
        count(*) FILTER (WHERE task.status = 'done') AS done,
        count(*) FILTER (WHERE task.status = 'pause') AS pause,
        count(*) FILTER (WHERE task.status = 'closed') AS closed,
        count(*) FILTER (WHERE task.status = 'cancel') AS cancel,
        total(consumed) AS consumed, total("left") AS "left"
    FROM ({RUNNING}) AS running
    LEFT JOIN task ON task.execution = running.id AND task.deleted = 0
    GROUP BY running.id
    ORDER BY end, running.id
"""
RELEASED = f"""
    SELECT id, name, date FROM release
    WHERE NOT deleted AND {all_of(*of_the_living("release"))} AND date"""
PLANNED = f"{RELEASED} > today() ORDER BY date, id LIMIT {RELEASES}"
PAST = f"{RELEASED} <= today() AND status = 'normal' ORDER BY date DESC, id DESC LIMIT {RELEASES}"
# The action log of a record.
LOGGED = f"""
    SELECT date, actor, comment,
        iif(action = 'edited' AND comment <> '', 'commented', action) AS action
    FROM action
    WHERE objectType = :table AND objectID = :id
    ORDER BY id DESC
    LIMIT {ACTIONS}
"""
# The users on the page that logs in: those whose stored password is the administrator's. by_click:
# whether it is also :shared, see PageSettings (room 16).
SHARING = f"""
    SELECT account, realname, role, password = :shared AS by_click FROM user
    WHERE NOT deleted AND password = (SELECT password FROM user WHERE account = '{ADMIN}')
    ORDER BY id
"""
# How the keys of a proxy's headers begin.
PROXIES = ("HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_FORWARDED", "HTTP_X_REAL_IP")
OWN_PAGES = "same-origin"  # Sec-Fetch-Site of requests from our own pages
LOGIN_FORM = Shape({"account": TEXT, "password": TEXT, "to": TEXT}, repeats=False)


# A piece of a cell: (text, path of its link or ""). In a cell of the class "bar": (word, number).
Piece = tuple[str, Any]
Pieces = list[Piece]
# The CSS class and the contents. Of the classes "state" and "word", the contents are words of LABELS;
# of the class "bar", the template draws them; of the class "moment", the only piece is how long ago
# it was, and the time.
Cell = tuple[str, Pieces]
Say = Callable[[str], str]  # returns the label of a word

NOTHING_SET: Cell = ("", [])
UNSET: dict[str, Cell] = {"lastRunResult": ("state", [("not run", "")])}
ONLY_ZERO: Pieces = [("0", "")]


class Section(NamedTuple):
    """A part of a page. The template writes the labels of its words.

    css_class: of the part.
    text: sentences.
    heads: over the columns of the table.
    rows: of the table, with a Cell for each head.
    wide: the heads of columns that phones leave out.
    sorts: for the heads that sort the table: the path that does so, and how the table is sorted by
        it now, "ascending", "descending" or "" (not at all).
    links: below the table.
    weeks: of a chart: for each week, by the midnight that begins it, {word: number}.
    log: of actions: who, what, when, the comment.
    calls: of the journal; what was sent and answered unfolds.
    prose: a long text, or the steps of a test case.
    code: JSON.
    original: an English sentence that unfolds.
    """

    title: str = ""
    css_class: str = ""
    text: Sequence[str] = ()
    heads: Sequence[str] = ()
    rows: Sequence[Any] = ()
    wide: Iterable[str] = ()
    sorts: Fields = {}
    links: Pieces = []
    weeks: Mapping[datetime, Any] = {}
    log: Sequence[Any] = ()
    calls: Sequence[Fields] = ()
    prose: object = ""
    code: str = ""
    original: str = ""


class Contents(NamedTuple):
    """The contents of a page.

    css_class: of the page: the resource's name.
    above: links to what the page's subject belongs to.
    kind: what the subject is, as in "Bug 7".
    facts: fields with their cells, under the title.
    tabs: links to the summary and the lists of a record.
    filters: links by group; those of the group "" are always visible. A link without a path is the
        filter that is set now.
    search: the name of the search field.
    query: the parameters of the page, which the search sends again.
    beside: by heading, the fields beside the sections: (field, cell, moment at which it was set).
    unset: fields that unfold.
    refresh: seconds after which the browser loads the page again.
    login: of the page that logs in: `account` and `to`, which the form sends back, the `people`
        that it offers, the `alert`, a `note`, and whether it `is_demo`.
    """

    title: str
    sections: Sequence[Section] = ()
    css_class: str = ""
    above: Pieces = []
    kind: str = ""
    facts: Mapping[str, Cell] = {}
    tabs: Pieces = []
    filters: Mapping[str, Pieces] = {}
    search: str = ""
    query: Texts = {}
    beside: Fields = {}
    unset: Sequence[str] = ()
    refresh: str = ""
    login: Fields = {}


def figure(value: float | str, path: str = "") -> Cell:
    """Return the cell of a number, which may lead to what it counts, or of a day."""
    if isinstance(value, str):
        return "day", [(value, "")]
    text = f"{value:,.1f}".removesuffix(".0")
    return "number", [(text, path if value else "")]


def text_of(value: object, say: Say) -> str:
    """Return a JSON value in words."""
    if isinstance(value, list):
        return "\n".join(text_of(one, say) for one in value)
    if not isinstance(value, dict):
        return str(value)
    if "code" in value:  # of a bug's state, or of a role
        return str(value["code"])
    # Counts by state, such as {"0": "", "1": "draft", "": 0, "draft": 1}: the numbers with a name.
    counts = [
        f"{say(name)} {count}"
        for name, count in value.items()
        if name and count and isinstance(count, int)
    ]
    return say(", ").join(counts)


# Where real servers have HTML, and what stands in it.
TAG = re.compile(
    r"</?"
    r"(a|b|blockquote|br|code|div|em|font|h\d|hr|i|img|li|ol|p|pre|s|span|strong|su[bp]|t\w+|u|ul)"
    r"( [^<>]*)?/?>"
)
END_OF_LINE = re.compile(r"</(div|h\d|li|p|tr)>|<br ?/?>")


def plain_text(text: str) -> str:
    """Return the text of HTML; a text that does not begin with a tag is returned unchanged."""
    if not TAG.match(text):
        return text
    import html

    lines = END_OF_LINE.sub("\n", text)
    return html.unescape(TAG.sub("", lines)).strip()


def items_of(value: Any) -> list[Any]:
    """Return the items of a list or of a text with commas, or the keys of an object with ids.

    A user reference, like any other value, is the only item.
    """
    if isinstance(value, str):
        return listed(value)
    is_object = isinstance(value, dict) and "account" not in value
    return list(value) if is_object or isinstance(value, list) else [value]


def date_of(field: str) -> str:
    """Return the name of the moment that belongs to a person, such as openedDate to openedBy."""
    return re.sub("(By|To|ner)$", "", field) + "Date"  # lastRunner: lastRunDate


def default_status(listing: Listing) -> str:
    """Return which records of a list its page shows."""
    default = ON_PAGES.get(listing.view.resource, {}).get("status", "")
    return default if default in listing.browse else listing.default


def page_query(listing: Listing, given: Texts) -> Texts:
    """Return the query of a list with a status, a page and a limit that suit a page of HTML."""
    defaults = ON_PAGES.get(listing.view.resource, {})
    query = {"page": "1", "limit": str(ROWS), **defaults, **given}
    with contextlib.suppress(ValueError):  # the operation refuses what is not a limit
        query["limit"] = str(min(LIMIT.read(query["limit"]), MOST_ROWS))
    return query


class Address(NamedTuple):
    """The path and the query of a page; links of the page change some query parameters."""

    path: str
    query: Texts

    def link(self, **changes: Any) -> str:
        """Return the address with some query parameters changed, from the first page on."""
        changed = {**self.query, "page": "", **changes}
        given = {name: value for name, value in changed.items() if value}
        return f"{self.path}?{urllib.parse.urlencode(given)}"

    def sorts(self, listing: Listing) -> Fields:
        """Return the links that sort a list by its fields."""
        by, direction = listing.orders.read(self.query.get("order", "_".join(listing.order)))
        sorts = {}
        for field in listing.sortable:
            now = f"{direction}ending" if field == by else ""
            turned = "desc" if now == "ascending" else "asc"
            sorts[field] = self.link(order=f"{field}_{turned}"), now
        return sorts

    def filters(self, listing: Listing) -> dict[str, Pieces]:
        """Return links to the states of a list, by group."""
        browse = listing.browse
        if len(browse) == 1:
            return {}
        chosen = browse[self.query.get("status", listing.default).lower()]
        filters: dict[str, Pieces] = {group: [] for group in ("", *MORE)}
        for word, condition in browse.items():
            group = GROUPS.get(word, "")
            # "wait" is a stage of stories, but a state of tasks
            if listing.view.resource is STORY and word in STORY_STAGES[:-1]:  # "closed" is a state
                group = "Stage"
            if word not in LABELS["en"]:  # an alias of a word that has a label
                continue
            own = f"{listing.view.resource.name} {word}"
            shown = own if own in LABELS["en"] else word
            if condition == chosen:
                filters[""].append((shown, ""))
            else:
                filters[group].append((shown, self.link(status=word)))
        return filters

    def pages(self, count: int, answer: Fields) -> Pieces:
        """Return which records of a list a page has, and links to the pages before and after it."""
        page, total = answer.get("page", 1), answer.get("total", count)
        before = (page - 1) * answer.get("limit", 0)
        last = before + count
        links = [(f"{before + 1:,}–{last:,} / {total:,}" if count else "", "")]
        if page > 1:
            links.append(("‹ previous", self.link(page=page - 1)))
        if last < total:
            links.append(("next ›", self.link(page=page + 1)))
        return links


def top_of(weeks: Mapping[datetime, Any]) -> int:
    """Return the end of a scale for all numbers, which can be halved."""
    most: int = max(max(numbers.values()) for numbers in weeks.values())
    return max(2, most + most % 2)


class Sheet(NamedTuple):
    """The contents of the pages for one caller, read from one state of the database.

    say: for texts that are put together from several words.
    """

    store: Store
    say: Say

    def name(self, target: str, id: int) -> Piece:
        """Return a record's name and path; its id alone if the caller may not see it."""
        if target == "program":
            target = "program or project"  # the parent of an execution
        for resource in map(RESOURCES.__getitem__, target.split(" or ")):
            # the specification: "a deleted plan or build gives no title"
            kept = resource.undeleted if resource in (PLAN, BUILD) else ""
            name = next(field for field in NAMES if field in resource.fields)
            table = f"seen_{resource.table} AS {resource.table}"
            found = all_of("id = :id", resource.of_types, kept)
            for (shown,) in self.store.run(f"SELECT {name} FROM {table} WHERE {found}", {"id": id}):
                return shown, f"{RECORD_PATHS[resource.name]}/{id}"
        return str(id), ""

    def value_cell(self, view: View, field: str, record: Fields) -> Cell:
        """Return the cell of a record's field, with links; without pieces if it is unset."""
        kind, value = view.fields[field], record[field]
        style = STYLES_OF_LOOKS.get(kind.look) or STYLES.get(field, "")
        if style == "flag":
            return "word", [("yes", "")] if value in (1, "1") else []
        target = kind.target or (style if style in RECORD_PATHS else "")
        if isinstance(value, str):
            target = LISTS_OF_IDS.get(field, target)
        is_unset = value in ("", [], {}, DEFAULT_TEXTS.get(field), *kind.absent)
        if is_unset or (target and value == 0):
            return UNSET.get(field, NOTHING_SET)
        if target:
            css_class = "person" if target == "user" else "link"
            return css_class, [self.linked(target, item) for item in items_of(value)]
        if style == "moment":
            return style, [self.moment(value)]
        if style == "share":
            return style, [(self.say(f"share of {view.resource.name}").format(value), "")]
        level = f"{field} {value}" if style == "level" else ""
        if level in LABELS["en"]:
            return style, [(f"{value} · {self.say(level)}", "")]
        if view.resource is RELEASE and value == "normal":
            value = "planned" if record["date"] > self.store.today else "released"
        css_class = style
        if isinstance(value, (int, float)):
            css_class = "number"
        elif field == "deadline" and value < self.store.today and record["status"] in DUE_STATES:
            return "day late", [(self.say("{} · late").format(value), "")]
        text = text_of(value, self.say)
        words = listed(text) if style in ("word", "state") else [text]
        return css_class, [(word, "") for word in words if word]

    def linked(self, target: str, item: Any) -> Piece:
        """Return the name and the path of a user or record; of what is no id, its label.

        item: an id or an account, or an object that has it.
        """
        if target == "user":
            user = item if isinstance(item, dict) else self.store.user(item)
            if not user:
                return item, ""
            return user["realname"] or user["account"], f"/users/{user['id']}"
        text = str(item["id"] if isinstance(item, dict) else item)
        if re.fullmatch("[0-9]{1,18}", text):
            return self.name(target, int(text))
        return self.say(text), ""

    def moment(self, stored: str) -> Piece:
        """Return how long ago a stored moment was, "" if it was not, and its wall-clock time."""
        seconds = (self.store.clock() - moment_of(stored)).total_seconds()
        told = self.say("just now") if seconds >= 0 else ""
        for unit, size in UNITS.items():
            if seconds >= 1.5 * size:  # so that no unit is in the singular
                told = self.say(f"{{}} {unit} ago").format(round(seconds / size))
                break
        return told, local(stored, self.store.zone)[:16]

    def cell(self, view: View, field: str, record: Fields) -> Cell:
        """Return the cell of a field in a table; the record's own name is a link to its page."""
        css_class, pieces = self.value_cell(view, field, record)
        if field in NAMES:
            path = f"{RECORD_PATHS[view.resource.name]}/{record['id']}"
            return "title", [(text, path) for text, _ in pieces]
        if css_class == "moment":
            return "day", [(time[:10], "") for _, time in pieces]
        return css_class, pieces

    def table(
        self, listing: Listing, records: Sequence[Fields], same: str = "", **more: Any
    ) -> Section:
        """Return a table of records, with the columns of their layout.

        Left out are fields that are the same in all of them, because the list is narrowed by them,
        or because `same` says so, and fields that are set in none. more: of the section.
        """
        heads, wide = [], []
        layout = LAYOUTS[listing.view.resource.name]
        id = "id" if listing.name_column else "id-"
        for column in (id, *NAMES, *layout.columns.split()):
            field = column.removesuffix("-")
            if field not in listing.view.columns or field in (listing.within, same):
                continue
            if any(record[field] for record in records):
                heads.append(field)
                wide += [field] if field != column else []
        rows = []
        for record in records:
            rows.append([self.cell(listing.view, field, record) for field in heads])
        # the resource, because its states may have colors of their own
        css_class = f"rows {listing.view.resource.name}"
        return Section(heads=heads, rows=rows, wide=wide, css_class=css_class, **more)

    # Records

    def record(self, view: View, record: Fields) -> Contents:
        """Return a record: its facts, its texts and lists, its action log, and the other fields."""
        resource = view.resource
        cells = self.cells(view, record)
        page = self.header(view, record, cells)
        dated = {date_of(field) for field in cells if record.get(field)}
        # An edit at the moment of another action is that action.
        other_moments = [cells[field] for field in cells if field != "lastEditedDate"]
        beside: dict[str, Any] = {"Details": [], "People": [], "Dates": [], "Links": []}
        texts, unset = [], []
        for field, cell in cells.items():
            css_class, pieces = cell
            moment = cells.get(date_of(field), NOTHING_SET)
            # A moment is shown beside its person, a fact under the title. A person with a moment is
            # shown here even if it is a fact: its moment has no other place.
            is_elsewhere = field in dated or (field in page.facts and moment == NOTHING_SET)
            # No operation changes the status of a program. The `type` of most stories and projects
            # is the name of their resource, which stands above the title; that of others is normal.
            is_constant = resource is PROGRAM and field == "status"
            is_constant |= pieces in ([("normal", "")], [(resource.name, "")])
            is_same_edit = field == "lastEditedBy" and moment in other_moments
            is_repeated = is_same_edit or cells.get(REPEATED.get(field, "")) == cell
            says_nothing = is_elsewhere or is_constant or is_repeated
            if says_nothing or STYLES.get(field) == "hidden":
                continue
            if pieces in ([], ONLY_ZERO):
                unset.append(field)
            elif css_class == "text":
                texts.append(Section(field, prose=record[field]))
            elif css_class == "link" and field in LISTS_OF_IDS:
                texts.append(self.linked_records(field, pieces))
            elif css_class != "link" or cell not in page.facts.values():
                beside[HEADINGS.get(css_class, "Details")].append((field, cell, moment))
        log = self.log(resource, record["id"], cells)
        history = [Section("History", log=log)] if log else []
        inner = dict(page.tabs[1:])  # after the summary
        sections = [*texts, *self.below(view, record, inner), *history]
        return page._replace(sections=sections, beside=beside, unset=unset)

    def cells(self, view: View, record: Fields) -> dict[str, Cell]:
        """Return the cells of a record's fields, and of what its page says besides."""
        cells = {field: self.value_cell(view, field, record) for field in view.columns}
        if view.resource is PLAN:
            [(done, total)] = self.store.run(PLAN_PROGRESS, {"id": record["id"]})
            told = self.say("{} of {} stories").format(done, total)
            cells["progress"] = ("share", [(told, "")] if total else [])
        if view.resource is PRODUCT:
            still_open = record["bugs"] - record["closedBugs"]
            told = self.say("{} of {} open").format(record["unResolved"], still_open)
            cells["unResolved"] = ("", [(told, "")] if still_open else ONLY_ZERO)
        return cells

    def header(self, view: View, record: Fields, cells: Mapping[str, Cell]) -> Contents:
        """Return what the pages of a record and of its lists begin with."""
        resource = view.resource
        path = f"{RECORD_PATHS[resource.name]}/{record['id']}"
        inner = self.lists_in(resource, record)
        return Contents(
            next(record[field] for field in NAMES if field in record),
            css_class=resource.name,
            above=self.above(resource, cells),
            kind=f"{self.say(resource.name)} {record['id']}",
            facts={field: cells[field] for field in LAYOUTS[resource.name].facts.split()},
            tabs=[("Summary", path), *inner] if inner else [],
        )

    def linked_records(self, field: str, links: Pieces) -> Section:
        """Return a table of the records to which a build or a release leads."""
        listing = LISTS[RECORD_PATHS[LISTS_OF_IDS[field]]]
        # those that the reader may see
        ids = dict.fromkeys(path.rpartition("/")[2] for _, path in links if path)
        records = self.with_ids(listing.view, ids)
        return self.table(listing, records, "product", title=f"contained {field}")

    def with_ids(self, view: View, ids: Iterable[str]) -> list[Fields]:
        """Return the records with some ids, as JSON has them."""
        sql = select_statement(view, "SELECT value AS id FROM json_each(?)")
        return self.read(view, self.store.run(sql, (f"[{','.join(ids)}]",)))

    def read(self, view: View, rows: sqlite3.Cursor) -> list[Fields]:
        """Return records as JSON has them."""
        records: list[Fields] = json.loads(f"[{render_all(self.store, view, rows)}]")
        return records

    def above(self, resource: Resource, cells: Mapping[str, Cell]) -> Pieces:
        """Return links to what a record belongs to, and to its list there."""
        path = LIST_PATHS[resource.name]
        _, links = cells.get(LAYOUTS[resource.name].above, NOTHING_SET)
        for _, record_path in links:
            within = f"{record_path}/{resource.array}"
            path = within if pattern_of(within) in LISTS else path
        return [*links, (self.say(resource.array), path)] if pattern_of(path) in LISTS else links

    def lists_in(self, resource: Resource, record: Fields) -> Pieces:
        """Return links to the lists within a record, none if it or what is above it is deleted."""
        above = RECORD_PATHS[resource.name]
        if not self.store.find(resource.name, record["id"]):
            return []
        return [
            (listing.key, path.replace("<id>", str(record["id"])))
            for path, listing in LISTS.items()
            if path.startswith(f"{above}/<")
        ]

    def below(self, view: View, record: Fields, paths: Texts) -> Iterator[Section]:
        """Yield the lists on a record's page, of those with pages of their own the first rows.

        paths: of those pages, by the key of the list.
        """
        resource = view.resource
        others = (*OF_NO_PATH.get(resource, ()), *ENCLOSED.get(view, ()))
        listings = {listing.key: listing for listing in others}
        listings |= {key: LISTS[pattern_of(path)] for key, path in paths.items()}
        within = record["account" if resource is USER else "id"]
        for key in LAYOUTS[resource.name].below.split():
            if key not in listings:  # it is deleted
                continue
            listing, status = listings[key], default_status(listings[key])
            limit = BELOW if key in paths else MOST_ROWS
            query = {"status": status, "limit": limit, "offset": 0}
            total, rows = self.store.page(listing, {listing.within: within}, query)
            items = self.read(listing.view, rows)
            links = []
            if len(items) < total:
                links = [(f"{len(items):,} / {total:,}", "")]
                links += [("Show all", paths[key])] if key in paths else []
            if items:
                above = LAYOUTS[listing.view.resource.name].above
                title = key if status == "all" else f"open {key}"
                yield self.table(listing, items, above, title=title, links=links)

    def log(self, resource: Resource, id: int, cells: Mapping[str, Cell]) -> list[Any]:
        """Return the action log of a record, from its creation on."""
        log = []
        for row in self.store.run(LOGGED, {"table": resource.table, "id": id}):
            who = [self.linked("user", row["actor"])]
            when = ("moment", [self.moment(row["date"])])
            log.append((who, row["action"], when, plain_text(row["comment"])))
        for field in ("openedBy", "createdBy"):
            _, who = cells.get(field, NOTHING_SET)
            when = cells.get(date_of(field), NOTHING_SET)
            if who:
                log.append((who, field.removesuffix("By"), when, ""))
        return log[::-1]

    # Lists

    def listing(self, operation: Operation, address: Address, id: int, answer: Fields) -> Contents:
        """Return a page of a list, with links to other pages, orders and states of it.

        The record whose id is searched for stands above those whose names have the words.
        """
        listing: Any = operation.listing
        records = answer[listing.key]
        page = Contents(self.say(NAV_WORDS.get(operation.path, listing.key)))
        if operation.target:
            _, path = self.name(operation.target, id)
            view: Any = READS[pattern_of(path)].view
            (record,) = self.with_ids(view, [str(id)])
            page = self.header(view, record, self.cells(view, record))
        sections = list(self.searched_for(listing, address.query.get("title", "")))
        if records:
            links = address.pages(len(records), answer)
            sorts = address.sorts(listing)
            sections.append(self.table(listing, records, sorts=sorts, links=links))
        elif not sections:
            sections.append(self.nothing_in(operation, address, id))
        return page._replace(
            sections=sections,
            filters=address.filters(listing),
            search="title" if listing.name_column else "",
            query=address.query,
        )

    def searched_for(self, listing: Listing, words: str) -> Iterator[Section]:
        """Yield a table with the record whose id is searched for, as 7 or #7."""
        name = listing.view.resource.name
        asked = re.fullmatch("#?([1-9][0-9]{0,17})", words)
        if asked and self.store.find(name, int(asked[1])):
            title = f"{self.say(name)} {asked[1]}"
            yield self.table(listing, self.with_ids(listing.view, [asked[1]]), title=title)

    def nothing_in(self, operation: Operation, address: Address, id: int) -> Section:
        """Return why a list shows no record, and what to do."""
        listing: Any = operation.listing
        narrowed = dict(filters_of(self.store, listing, {}))
        if listing.within:
            narrowed[listing.within] = id
        count, _ = self.store.page(listing, narrowed, {"status": "all", "limit": 0, "offset": 0})
        default = default_status(listing)
        is_filtered = address.query.get("status", default) != default
        if count or is_filtered or "title" in address.query:
            every = address.link(status="all", title="")
            return Section(text=["Nothing matches."], links=[("Show all", every)])
        text = ["There is nothing here yet."]
        if ("POST", operation.path) in CALLABLE:
            text.append(self.say("{} creates one.").format(f"POST {address.path}"))
        return Section(text=text)

    def show(self, operation: Operation, address: Address, id: Any, value: Any) -> Contents:
        """Return the page of what a GET answers."""
        if operation.listing:
            return self.listing(operation, address, id, value)
        if operation.view:
            # the only view with an envelope that a GET shows
            return self.record(operation.view, value.get("profile", value))
        return Contents(self.say(operation.purpose), [Section(code=json_text(value))])

    # The overview

    def overview(self) -> Contents:
        """Return the overview."""
        bug_heads = ("product", "bugs", *BUG_STATES, "total")
        products = self.progress("Bugs by product", BUSIEST_PRODUCTS, bug_heads, BUG_STATES)
        task_heads = ("execution", "tasks", *TASK_STATES, "consumed", "left", "end")
        executions = self.progress("Running executions", RUNNING_TASKS, task_heads, TASK_STATES)
        planned = self.releases("Next releases", PLANNED)
        past = self.releases("Latest releases", PAST)
        shown = [part for part in (products, executions, planned, past) if part.rows]
        if not shown:
            return Contents(self.say("Overview"), [NO_RECORDS])
        weeks = self.count_weeks()
        bugs = Section("Bugs per week", "part", weeks=weeks)
        stages = Section("Stories by stage", "part", rows=self.stage_rows())
        this_week = weeks[max(weeks)]
        [(count, active)] = self.store.run(IN_ALL)
        facts = {
            "unResolved": figure(active, "/bugs?status=active"),
            "openedthisweek": figure(this_week["opened"], "/bugs?status=openedthisweek"),
            "resolvedthisweek": figure(this_week["resolved"], "/bugs?status=resolvedthisweek"),
            "products": figure(count, "/products"),
        }
        charts = [bugs, stages] if stages.rows else [bugs]
        return Contents(self.say("Overview"), [*charts, *shown], facts=facts)

    def count_weeks(self) -> dict[datetime, Any]:
        """Return how many bugs were opened and resolved in each week."""
        begins = [self.store.begin_of_week(-ago) for ago in reversed(range(WEEKS))]
        mondays = [moment_of(begin).astimezone(self.store.zone) for begin in begins]
        weeks = self.store.run(BUGS_BY_WEEK, {"begins": to_json(begins)})
        return dict(zip(mondays, map(dict, weeks), strict=True))

    def progress(
        self, title: str, sql: str, heads: Sequence[str], states: Sequence[str]
    ) -> Section:
        """Return a table of records with the numbers of their items by state, also as a bar.

        heads: the resource, the key of its items, then columns of the query. A state that no item
        is in gets no column.
        """
        resource, items, *columns = heads
        found = self.store.run(sql).fetchall()
        empty = set(states)
        for row in found:
            empty -= {state for state in states if row[state]}
        columns = [column for column in columns if column not in empty]
        rows = []
        for row in found:
            path = f"/{resource}s/{row['id']}"
            bar = [(state, row[state]) for state in states if row[state]]
            cells = [("title", [(row["name"], path)]), ("bar", bar)]
            for column in columns:
                status = "all" if column == "total" else column
                link = f"{path}/{items}?status={status}" if column in (*states, "total") else ""
                cells.append(figure(row[column], link))
            rows.append(cells)
        wide = ("total", "consumed", "end")
        return Section(title, "rows", heads=(resource, items, *columns), rows=rows, wide=wide)

    def stage_rows(self) -> list[list[Cell]]:
        """Return a row for each stage that has stories."""
        counts = dict(self.store.run(STORIES_BY_STAGE))
        rows = []
        for stage in filter(counts.get, STORY_STAGES):
            count = counts[stage]
            # An empty word fills each bar up to the longest, so that all bars have one scale.
            bar: Cell = ("bar", [(stage, count), ("", max(counts.values()) - count)])
            cell: Cell = ("state", [(stage, "")])
            rows.append([cell, bar, figure(count, f"/stories?status={stage}")])
        return rows

    def releases(self, title: str, sql: str) -> Section:
        """Return releases with their days."""
        rows = []
        for id, name, day in self.store.run(sql):
            rows.append([figure(day), ("title", [(name, f"/releases/{id}")])])
        return Section(title, "part days", rows=rows)


CSS = """
:root { color-scheme: light dark; --ink: #1b2430; --soft: #576170; --line: #dde2e8; --rule: #aab3bf;
  --back: #f4f6f8; --card: #fff; --link: #0a58b5;
  --orange: #bf4a00; --blue: #0072b2; --green: #007f5f; --yellow: #b98a00; --grey: #8b95a2; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ee; --soft: #a4aebb; --line: #303945; --rule: #5a6675;
    --back: #1a2028; --card: #12161b; --link: #82b9ff;
    --orange: #ff9a57; --blue: #4db3ff; --green: #35c99c; --yellow: #e6bd4a; --grey: #75808e; }
}
/* --word is the color of a word, such as a state, which is the class of what stands for it. Orange
   needs somebody, blue is under way, green done, yellow paused, a ring not begun, grey over. */
.active, .opened, .blocked, .changed, .fail { --word: var(--orange); }
.doing, .projected, .normal { --word: var(--blue); }
.resolved, .done, .released, .pass { --word: var(--green); }
.pause, .suspended { --word: var(--yellow); }
.story .active { --word: var(--blue); }
.wait, .draft, .planned { --word: transparent; --edge: var(--grey); }
.refused, .late { color: var(--orange) !important; }

*, ::before, ::after { box-sizing: border-box; }
body { margin: 0; display: grid; grid-template: 1fr auto / 13rem minmax(0, 1fr);
  min-height: 100vh; background: var(--card); color: var(--ink);
  font: 15px/1.5 -apple-system, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
a, td, dd { unicode-bidi: isolate; }
a { color: inherit; text-decoration: underline var(--rule); text-underline-offset: .2em; }
a:hover { text-decoration-color: currentColor; }
.title a, .pages a { color: var(--link); text-decoration: none; }
:is(.title, .pages) a:hover { text-decoration: underline; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 3px; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0; text-wrap: balance; }
h2 { font-size: 1.05rem; margin: 0 0 .5rem; }
h3 { font-size: .85rem; margin: .6rem 0 0; }
p, dl, dd, ul, ol, blockquote { margin: 0; padding: 0; list-style: none; }
.soft, dt, th, summary, footer, .above, aside h2, time, .day { color: var(--soft);
  font-size: .85rem; font-weight: 400; }
td.day { color: inherit; font-size: inherit; }
form { display: flex; gap: .5rem; }
input, button { font: inherit; color: inherit; background: var(--card); padding: .3rem .7rem;
  border: 1px solid var(--rule); border-radius: .35rem; min-width: 0; }
button, summary { cursor: pointer; }
::placeholder { color: var(--soft); opacity: 1; }
pre { overflow-x: auto; margin: .3rem 0 0; padding: .75rem; background: var(--back);
  border-radius: .3rem; font-size: .85rem; white-space: pre-wrap; }

/* The side of the page, which is a menu on phones */
.side { grid-row: 1 / 3; padding: 1.1rem .75rem 0; background: var(--back);
  border-right: 1px solid var(--line); }
.brand { display: flex; gap: .5rem; align-items: center; padding: 0 .6rem; font-size: 1rem;
  font-weight: 700; text-decoration: none; }
.brand svg { width: 1.25rem; height: 1.25rem; }
#menu p { padding: .9rem .6rem .15rem; }
#menu :is(a, form button) { display: block; padding: .15rem .6rem; border: 0;
  border-radius: .35rem; background: none; text-decoration: none; }
#menu :is(a, form button):hover, #menu [aria-current] { background: var(--line); }
[aria-current] { font-weight: 600; }
main { padding: 1.25rem 2rem 2.5rem; max-width: 78rem; }
footer { grid-column: 2; padding: .75rem 2rem; }

/* What a page begins with */
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; z-index: 2; padding: .5rem 1rem; background: var(--card); }
.above { display: flex; flex-wrap: wrap; align-items: baseline; margin-bottom: .35rem; }
.above > * + *::before { content: "›"; display: inline-block; margin: 0 .5rem; }
.facts { display: flex; flex-wrap: wrap; gap: .6rem 2.5rem; margin-top: 1rem; padding: .7rem 0;
  border-block: 1px solid var(--line); }
.facts dd { font-weight: 600; }
dd.number { text-align: left; }
.facts dd.day { color: inherit; font-size: inherit; font-weight: 600; }
span.state { white-space: nowrap; }
span.state::before { content: ""; display: inline-block; width: 10px; height: 10px;
  margin-right: .45em; border-radius: 50%; background: var(--word, var(--grey));
  box-shadow: inset 0 0 0 2px var(--edge, transparent); }

/* Tabs of a record; filters of a list, of which the rare ones unfold below them */
.tabs { display: flex; gap: 1.5rem; margin-top: 1rem; box-shadow: inset 0 -1px var(--line); }
.tabs > a { padding: .4rem 0; text-decoration: none; white-space: nowrap; }
.tabs > [aria-current] { box-shadow: inset 0 -2px var(--ink); }
.find { display: flex; flex-wrap: wrap; gap: .75rem 2rem; align-items: center;
  justify-content: space-between; margin-top: 1rem; position: relative; }
.find form { margin-left: auto; }
.filters { display: flex; flex-wrap: wrap; gap: .4rem; }
.filters > :is(a, span), .filters > details > summary { padding: .1rem .8rem; font-size: .9rem;
  border: 1px solid var(--line); border-radius: 1rem; text-decoration: none; }
.filters > a:hover { border-color: var(--rule); }
.filters > [aria-current] { background: var(--line); }
.filters details > div { position: absolute; z-index: 1; inset: calc(100% + .4rem) auto auto 0;
  width: min(42rem, 100%); columns: 3 9rem; padding: .9rem 1.1rem; background: var(--card);
  border: 1px solid var(--rule); border-radius: .5rem; box-shadow: 0 .5rem 1.5rem #0003; }
.filters ul { break-inside: avoid; padding-bottom: .7rem; }

/* Texts and tables, and beside them who, when and what a record belongs to */
.parts { display: grid; grid-template-columns: repeat(6, minmax(0, 1fr)); column-gap: 2.5rem;
  align-items: start; margin-top: 1.5rem; }
section { grid-column: 1 / -1; margin-bottom: 1.9rem; min-width: 0; }
.part { grid-column: span 4; }
.part + .part { grid-column: span 2; }
.part.days { grid-column: span 3; }
.record { display: grid; align-content: start; grid-template-columns: minmax(0, 1fr) 17rem;
  column-gap: 3rem; }
.record > header { grid-column: 1 / -1; }
.record > .parts { display: block; }
aside { margin-top: 1.5rem; }
aside section { margin-bottom: 1.25rem; }
aside h2 { font-weight: 600; padding-bottom: .25rem; border-bottom: 1px solid var(--line); }
aside dl { display: grid; grid-template-columns: 6.2rem minmax(0, 1fr); gap: .35rem .75rem; }
aside dt { padding-top: .1rem; }
time span { white-space: nowrap; }
aside time { display: block; }
aside dd:not(.moment) time span { display: none; }
dd > a { display: block; width: fit-content; }
.prose { white-space: pre-line; max-width: 44rem; }
.log { margin-left: .35rem; max-width: 44rem; }
.log li { position: relative; padding: 0 0 1rem 1.3rem; }
.log li:last-child { padding-bottom: 0; }
.log li::before { content: ""; position: absolute; left: -5px; top: 6px; width: 10px; height: 10px;
  border-radius: 50%; border: 2px solid var(--grey); }
.log li:not(:last-child)::after { content: ""; position: absolute; left: -1px; top: 18px;
  bottom: -4px; width: 2px; background: var(--line); }
.log blockquote { margin-top: .3rem; padding: .6rem .9rem; background: var(--back);
  border-radius: .4rem; white-space: pre-line; }

/* Tables: only titles wrap; what is wider scrolls inside of its box */
.box { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .45rem 1.1rem .45rem 0; text-align: left; vertical-align: baseline;
  white-space: nowrap; border-bottom: 1px solid var(--line); }
:is(th, td):last-child { padding-right: 0; }
th a { text-decoration: none; }
td a { text-decoration-color: var(--line); }
tr:hover td a { text-decoration-color: var(--rule); }
[aria-sort=ascending] a::after { content: " ↑"; }
[aria-sort=descending] a::after { content: " ↓"; }
[aria-sort] { color: var(--ink); font-weight: 600; }
tbody tr:hover { background: var(--back); }
.title { width: 55%; min-width: 12rem; white-space: normal; }
.number:first-child { width: 3rem; }
.bars .title { width: auto; }
.days .title { width: 99%; }
.days td { vertical-align: top; }
.text { white-space: pre-line; }
.number { text-align: right; }
.none { color: var(--soft); }
.pages { display: flex; gap: 1.5rem; align-items: baseline; padding-block: .7rem; }
.pages span { margin-right: auto; }

/* The overview */
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); margin: 1.5rem 0 0; border: 0;
  padding: 0; }
.tiles dd { font-size: 2rem; font-weight: 400; line-height: 1.2; margin-top: .3rem; }
.tiles a { text-decoration: none; }
.legend { display: flex; flex-wrap: wrap; gap: 0 1.25rem; margin-bottom: .6rem; }
.bar { display: flex; gap: 1px; min-width: 6rem; height: .75rem; }
.bars .full { width: 45%; }
.bar i { background: var(--word, var(--grey));
  box-shadow: inset 0 0 0 1px var(--edge, transparent); }
.chart { display: grid; grid-template-columns: auto 1fr; column-gap: .7rem; padding-top: .5rem; }
.scale { display: flex; flex-direction: column; justify-content: space-between;
  margin: -.5em 0; line-height: 1; text-align: right; }
.chart svg { width: 100%; height: 11rem; overflow: visible; }
.chart path { stroke: var(--line); vector-effect: non-scaling-stroke; }
.chart polyline { fill: none; stroke: var(--word); stroke-width: 2.5; stroke-linejoin: round;
  vector-effect: non-scaling-stroke; }
.chart rect { fill: transparent; }
.chart rect:hover { fill: var(--line); fill-opacity: .5; }
.chart ol { grid-column: 2; display: flex; margin-top: .4rem; }
.chart li { flex: 1; width: 0; white-space: nowrap; }

/* The page of calls */
.call[open] { padding-bottom: 1.5rem; }
.call pre { max-height: 24rem; overflow-y: auto; }
.call > summary { display: grid; padding: .3rem 0; gap: .8rem; color: var(--ink);
  grid-template-columns: 4.5rem 3.5rem minmax(6rem, 2fr) 2.5rem 5rem 5rem minmax(6rem, 2fr);
  border-top: 1px solid var(--line); }
.call > summary:hover { background: var(--back); }

/* Logging in */
.door { grid-template: none; place-content: center; background: var(--back); }
.door main { display: grid; gap: 1.25rem; padding: 1rem; width: min(24rem, 100vw); }
.door form { display: grid; gap: 1rem; }
.card { display: grid; gap: 1rem; padding: 1.75rem; background: var(--card);
  border: 1px solid var(--line); border-radius: .6rem; }
.door label { display: grid; gap: .25rem; }
.door .go { background: var(--link); border-color: var(--link); color: var(--card);
  font-weight: 600; padding: .5rem; }
.door .brand { padding: 0; }
.people { display: grid; gap: .4rem; }
.people > * { display: flex; gap: .2rem 1rem; justify-content: space-between;
  align-items: baseline; padding: .3rem .7rem;
  border: 1px solid var(--line); border-radius: .35rem; text-decoration: none; }
.people > :hover { background: var(--back); }
.people > a::after { content: "›"; }
.people .soft { margin-left: auto; }
.alert { padding-left: .7rem; border-left: 3px solid var(--orange); }

@media (min-width: 60.01rem) {
  #menu { display: block; position: sticky; inset: 0 auto auto; width: auto; height: auto;
    max-height: 100vh; margin: 0; padding: .75rem 0; border: 0; background: none;
    color: inherit; }
  .menu { display: none; }
}
@media (max-width: 80rem) {
  .record .rows .wide { display: none; }
}
@media (max-width: 75rem) {
  .rows .wide { display: none; }
  .record { display: block; }
}
@media (max-width: 60rem) {
  body:not(.door) { grid-template: auto 1fr auto / minmax(0, 1fr); }
  footer { grid-column: 1; }
  .side { grid-row: 1; display: flex; justify-content: space-between; align-items: center;
    padding: .5rem 1rem; border: 0; border-bottom: 1px solid var(--line); }
  .side > .brand { padding: .3rem 0; }
  #menu { inset: 0 0 0 auto; margin: 0; width: 16rem; height: auto; padding: .6rem; border: 0;
    background: var(--card); color: var(--ink); }
  #menu::backdrop { background: #0007; }
  #menu :is(a, form button) { padding-block: .25rem; }
  #menu p { padding-top: .5rem; }
  #menu .menu { display: block; margin-left: auto; }
  main, footer { padding-inline: 1rem; }
  .parts { display: block; }
  .call > summary { display: flex; flex-wrap: wrap; gap: 0 .8rem; }
  .call .url { flex: 1 0 60%; }
}
@media (max-width: 48rem) {
  h1 { font-size: 1.35rem; }
  .tiles { grid-template-columns: 1fr 1fr; gap: 1.5rem 1rem; }
  .facts:not(.tiles) { gap: .8rem 1.75rem; }
  .tabs { flex-wrap: wrap; gap: 0 1.1rem; box-shadow: none; }
  .tabs > a { box-shadow: inset 0 -1px var(--line); }
  /* The color of a state, as in the bar above it. */
  .rows td.key { padding-left: 1rem; background: radial-gradient(circle at 5px 50%,
    var(--word, var(--grey)) 3px, var(--edge, var(--word, var(--grey))) 3.5px 5px, #0000 5.5px); }
  .rows .number:first-child { width: auto; }
  a, dd > span, .filters > span { display: inline-block; line-height: 1.6rem; }
  summary { line-height: 1.6rem; }
  .find form, .find input { flex: 1; }
  /* A row is a line with the title and a grey one; above the rows stand the heads that sort. */
  .rows table, .rows tbody { display: block; }
  .rows tr { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1rem;
    padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .rows thead { display: block; }
  .rows thead tr { padding: 0 0 .3rem; }
  .rows thead tr:not([data-sort=""])::before { content: attr(data-sort); font-size: .85rem;
    white-space: nowrap; }
  .rows thead tr[data-sort=""] { display: none; }
  .rows :is(td, th) { border: 0; padding: 0; color: var(--soft); font-size: .85rem; }
  .rows td.title { order: -1; flex: 1 0 100%; font-size: 1rem; }
  .rows .full { flex: 1 0 100%; padding-block: .4rem; }
  .rows td:is(.wide, .blank), .rows th:not(:has(a)) { display: none; }
  .rows td:not([data-head=""])::before { content: attr(data-head) " "; }
}
"""

LOGO = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20" aria-hidden="true">'
    '<rect width="20" height="20" rx="5" fill="#0a58b5"/>'
    '<path d="M5 6.5l1.2 1.2L8.4 5.3M5 13l1.2 1.2 2.2-2.4M11 6.8h4.5M11 13.3h4.5" fill="none"'
    ' stroke="#fff" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round"/></svg>'
)
TEMPLATE = bottle.SimpleTemplate("""\
% # Write the pieces of a cell, each as a link or as plain text. Of the class "word", their texts
% # are words of LABELS, of "state", CSS classes, too; others are names and values.
% def show(css_class, pieces):
% if not pieces:
<span class="none">–</span>
% end
% for text, path in pieces:
% if css_class == "moment":
<time title="{{path}}">{{text}} <span>{{f"({path})" if text else path}}</span></time>
% elif path:
<a href="{{path}}">{{text}}</a>
% elif css_class == "state":
<span class="state {{text}}">{{label(text)}}</span>
% elif css_class == "word":
<span>{{label(text)}}</span>
% else:
<span class="{{"none" if text == "0" else ""}}">{{text}}</span>
% end
% end
% end
<!DOCTYPE html>
<html lang="{{language}}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
% if page.refresh:
<meta http-equiv="refresh" content="{{page.refresh}}">
% end
<link rel="icon" href="data:image/svg+xml,{{urllib.parse.quote(LOGO)}}">
% here = asked.partition("?")[0].rstrip("/") or "/"
% tabs = [label(text) for text, path in page.tabs[1:] if path == here]
% title = label("Log in") if page.login else page.title
<title>{{" · ".join(filter(None, (*tabs, title, page.kind, "pmservice")))}}</title>
<style>{{!CSS}}</style>
</head>
<body class="{{"" if me else "door"}}">
% if page.login:
% login = page.login
% by_click = any(one["by_click"] for one in login["people"])
<main>
<h1 class="brand">{{!LOGO}}pmservice</h1>
% if login["note"]:
<p>{{label(login["note"])}}</p>
% end
% if login["alert"]:
<p class="alert" role="alert">{{label(login["alert"])}}</p>
% end
% if by_click:
<form method="post" action="{{LOGIN_PATH}}" class="card">
<input type="hidden" name="to" value="{{login["to"]}}">
<h2>{{label("Log in as")}}</h2>
% if login["is_demo"]:
<p class="soft">{{label("A made-up company: a click on a name is enough.")}}</p>
% end
<div class="people">
% for one in login["people"]:
<button name="account" value="{{one["account"]}}"><span>{{one["realname"]}}</span>
<span class="soft">{{label(one["role"] or "admin")}}</span></button>
% end
</div>
</form>
% end
<form method="post" action="{{LOGIN_PATH}}" class="card">
<input type="hidden" name="to" value="{{login["to"]}}">
% if by_click:
<h2>{{label("Log in with a password")}}</h2>
% end
<label>{{label("account")}}
<input name="account" value="{{login["account"]}}" autocomplete="username" \
{{"" if login["account"] or by_click else "autofocus"}}></label>
<label>{{label("Password or token")}}
<input name="password" type="password" \
autocomplete="current-password" {{"autofocus" if login["account"] else ""}}></label>
<button class="go">{{label("Log in")}}</button>
</form>
% if len(login["people"]) > 1 and not by_click:
<div class="card">
<h2>{{label("Log in as")}}</h2>
<div class="people">
% for one in login["people"]:
% chosen = urllib.parse.urlencode({"account": one["account"], "to": login["to"]})
<a href="{{LOGIN_PATH}}?{{chosen}}"><span>{{one["realname"]}}</span>
<span class="soft">{{label(one["role"] or "admin")}}</span></a>
% end
</div>
<p class="soft">{{label("A made-up company: everybody has the same password as admin.")}}</p>
</div>
% end
</main>
% else:
% if me:
<a class="skip" href="#main">{{label("Skip to the content")}}</a>
<header class="side">
<a class="brand" href="/">{{!LOGO}}pmservice</a>
<button class="menu" popovertarget="menu">{{label("Menu")}}</button>
<nav id="menu" popover aria-label="{{label("Lists")}}">
<button class="menu" popovertarget="menu" popovertargetaction="hide">{{label("Close")}}</button>
% place = place_of(here)
% for group, paths in NAV.items():
% if paths == JOURNAL_PATH and not calls:
% continue
% end
% if group:
<p class="soft">{{label(group)}}</p>
% end
% for path in paths.split():
<a href="{{path}}" {{!'aria-current="page"' if path == place else ""}}>{{label(NAV_WORDS[path])}}</a>
% end
% end
<p class="soft me">{{me["realname"] or me["account"]}}</p>
<form method="post" action="{{LOGOUT_PATH}}"><button>{{label("Log out")}}</button></form>
</nav>
</header>
% end
<main id="main" class="{{page.css_class}} {{"record" if any(page.beside.values()) else ""}}">
<header>
% if page.above or page.kind:
<nav class="above" aria-label="{{label("Where this is")}}">
% for text, path in page.above:
% if path:
<span><a href="{{path}}">{{text}}</a></span>
% else:
<span>{{text}}</span>
% end
% end
<span>{{page.kind or page.title}}</span>
</nav>
% end
<h1>{{page.title}}</h1>
% if page.facts:
<dl class="facts {{"" if page.kind else "tiles"}}">
% for field, (css_class, pieces) in page.facts.items():
<div><dt>{{label(field)}}</dt><dd class="{{css_class}}">
% show(css_class, pieces)
</dd></div>
% end
</dl>
% end
% if page.tabs:
<nav class="tabs" aria-label="{{page.title}}">
% for text, path in page.tabs:
<a href="{{path}}" {{!'aria-current="page"' if path == here else ""}}>{{label(text)}}</a>
% end
</nav>
% end
% if page.filters or page.search:
<div class="find">
% if page.filters:
<nav class="filters" aria-label="{{label("Show")}}">
% for text, path in page.filters[""]:
% if path:
<a href="{{path}}">{{label(text)}}</a>
% else:
<span aria-current="page">{{label(text)}}</span>
% end
% end
% if any(links for group, links in page.filters.items() if group):
<details><summary>{{label("More")}}</summary><div>
% for group, links in page.filters.items():
% if group and links:
<ul>
<li class="soft">{{label(group)}}</li>
% for text, path in links:
<li><a href="{{path}}">{{label(text)}}</a></li>
% end
</ul>
% end
% end
</div></details>
% end
</nav>
% end
% if page.search:
<form role="search">
% words = label("Search names" if page.search == "title" else "Search")
<input type="search" name="{{page.search}}" value="{{page.query.get(page.search, "")}}" \
maxlength="255" aria-label="{{words}}" placeholder="{{words}}">
% for name, given in page.query.items():
% if name not in ("page", page.search):
<input type="hidden" name="{{name}}" value="{{given}}">
% end
% end
<button>{{label("Search")}}</button>
</form>
% end
</div>
% end
</header>
<div class="parts">
% for part in page.sections:
% name = label(part.title) if part.title else page.title
% has_bars = part.rows and any(css_class == "bar" for css_class, _ in part.rows[0])
<section class="{{part.css_class}} {{"bars" if has_bars else ""}}">
% if part.title:
<h2>{{name}}</h2>
% end
% for n, line in enumerate(part.text):
<p class="{{"soft" if n else ""}}">{{label(line)}}</p>
% end
% if isinstance(part.prose, list):
<div class="box"><table>
<thead><tr>
<th scope="col">{{label("step")}}</th><th scope="col">{{label("expect")}}</th>
</tr></thead>
% for step in part.prose:
<tr><td class="text">{{step["desc"]}}</td><td class="text">{{step["expect"]}}</td></tr>
% end
</table></div>
% elif part.prose:
<p class="prose">{{plain_text(part.prose)}}</p>
% end
% if part.weeks:
% top = top_of(part.weeks)
% width = len(part.weeks)
<p class="legend soft"><span class="state opened">{{label("New")}}</span>
<span class="state resolved">{{label("Resolved")}}</span></p>
<div class="chart">
<p class="scale soft"><span>{{top}}</span><span>{{top // 2}}</span><span>0</span></p>
<svg viewBox="0 0 {{width}} {{top}}" preserveAspectRatio="none" role="img">
<title>{{name}}</title>
<path d="M0 0H{{width}}M0 {{top / 2}}H{{width}}M0 {{top}}H{{width}}"/>
% for word in ("resolved", "opened"):
% points = [f"{n + .5} {top - numbers[word]}" for n, numbers in enumerate(part.weeks.values())]
<polyline class="{{word}}" points="{{" ".join(points)}}"/>
% end
% for n, (monday, numbers) in enumerate(part.weeks.items()):
% told = f'{label("New")} {numbers["opened"]}{label(", ")}{label("Resolved")} {numbers["resolved"]}'
<rect x="{{n}}" width="1" height="{{top}}"><title>{{monday.date()}} {{told}}</title></rect>
% end
</svg>
<ol class="soft">
% for monday in part.weeks:
<li>{{label("{0:%b}").format(monday) if monday.day < 8 else ""}}</li>
% end
</ol>
</div>
% end
% if part.rows:
<div class="box" tabindex="0" role="region" aria-label="{{name}}">
<table>
% if part.heads:
<thead><tr data-sort="{{label("Sort by") if part.sorts else ""}}">
% for head, (css_class, _) in zip(part.heads, part.rows[0]):
% css_class = {"number": "number", "bar": "full"}.get(css_class, "")
% path, order = part.sorts.get(head, ("", ""))
% sort = f' aria-sort="{order}"' if order else ""
<th scope="col" class="{{css_class}} {{"wide" if head in part.wide else ""}}"{{!sort}}>
% if path:
<a href="{{path}}">{{label(head)}}</a>
% else:
<span class="{{f"state {head}" if head in (*BUG_STATES, *TASK_STATES) else ""}}">{{label(head)}}</span>
% end
</th>
% end
</tr></thead>
% end
<tbody>
% for row in part.rows:
<tr>
% for head, (css_class, pieces) in zip(part.heads or [""] * len(row), row):
% is_blank = not pieces or pieces == [("0", "")]
% is_named = css_class.startswith(("number", "day", "level")) and head != "date"
% key = f"key {head}" if head in (*BUG_STATES, *TASK_STATES) else ""
% width = "blank" if is_blank else ""
% width = "wide" if head in part.wide else width
% name_shown = label(head) if is_named and head else ""
<td class="{{css_class.replace("bar", "full")}} {{width}} {{key}}" data-head="{{name_shown}}">
% if css_class == "bar":
% told = label(", ").join(f"{label(word)} {number}" for word, number in pieces if word)
<span class="bar" role="img" aria-label="{{told}}">
% for word, number in pieces:
<{{"i" if word else "b"}} class="{{word}}" style="flex: {{number}}"></{{"i" if word else "b"}}>
% end
</span>
% else:
% show(css_class, pieces)
% end
</td>
% end
</tr>
% end
</tbody>
</table>
</div>
% end
% for call in part.calls:
<details class="call"><summary>
<span class="soft">{{call["time"][11:19]}}</span>
<span>{{call["method"]}}</span>
<span class="url">{{call["url"]}}</span>
<span class="number {{"refused" if call["status"] >= 400 else ""}}">{{call["status"]}}</span>
<span class="number soft">{{round(call["duration"], 1)}} ms</span>
<span class="soft">{{call["account"]}}</span>
% if call["error"]:
<span class="refused">{{call["error"]}}</span>
% elif call["fault"]:
<span class="soft">{{label("Fault")}} {{call["fault"]}}</span>
% elif call["ignored"]:
<span class="soft">{{label("Ignored")}} {{call["ignored"]}}</span>
% end
</summary>
% for name in ("answer", "body", "ignored", "fault", "headers"):
% if call[name]:
<h3>{{label(name.capitalize())}}</h3>
<pre>{{json_text(call[name])[:MOST_SHOWN]}}</pre>
% end
% end
<h3>curl</h3>
<pre>{{curl_line(call)}}</pre>
</details>
% end
% if part.log:
<ol class="log">
% for who, action, when, comment in part.log:
<li>
% show("", who)
{{label(action).lower()}}
% show(*when)
% if comment:
<blockquote>{{comment}}</blockquote>
% end
</li>
% end
</ol>
% end
% if part.links:
<p class="pages soft">
% for text, path in part.links:
% if path:
<a href="{{path}}">{{label(text)}}</a>
% else:
<span>{{text}}</span>
% end
% end
</p>
% end
% if part.code:
<pre>{{part.code}}</pre>
% end
% if part.original:
<details><summary>{{label("In English")}}</summary>
<p lang="en">{{part.original}}</p></details>
% end
</section>
% end
</div>
% if page.beside or page.unset:
<aside>
% for heading, fields in page.beside.items():
% if fields:
<section><h2>{{label(heading)}}</h2>
<dl>
% for field, (css_class, pieces), when in fields:
<dt>{{label(field)}}</dt><dd class="{{css_class}}">
% show(css_class, pieces)
% if when != NOTHING_SET:
% show(*when)
% end
</dd>
% end
</dl></section>
% end
% end
% if page.unset:
<details><summary>{{label("Empty fields ({})").format(len(page.unset))}}</summary>
<p class="soft">{{label(", ").join(map(label, page.unset))}}</p></details>
% end
</aside>
% end
</main>
% if me:
<footer>pmservice {{__version__}} · <a href="/openapi.json">OpenAPI</a></footer>
% end
% end
</body>
</html>
""")

NO_RECORDS = Section(
    "There is nothing to show yet",
    text=[
        "Start the service with --demo to see a made-up company.",
        "Load your own records with --load FILE, or with pmservice load FILE.",
        "POST /products creates a product.",
    ],
)


def place_of(path: str) -> str:
    """Return which path of the navigation leads to a page or to a list above it."""
    first = f"/{path.split('/')[1]}"
    return path if path in NAV_PATHS else NAV_PLACES.get(first, first)


def json_text(value: object) -> str:
    """Return a JSON value as people read it; a text as it is."""
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=2, ensure_ascii=False)


def curl_line(call: Fields) -> str:
    """Return the line for a shell that sends a call of the journal again."""
    url = shlex.quote(service_url() + call["url"])
    line = f'curl -g -X {shlex.quote(call["method"])} {url} -H "Token: $TOKEN"'
    body = call["body"]
    return line if body is None else f"{line} --data-raw {shlex.quote(json_text(body))}"


# --- 16 Service: the WSGI application -------------------------------------------------------------
# All that may be asked for, by programs and by browsers, is a route of Bottle's. A handler is given
# the exchange, and returns JSON or the Contents of a page.
#
# Where Bottle's users look: application and routes are in `bottle_app`; the hook is `before_route`,
# the plugin `as_answer`, the error handler `answer_error`; the request is an Exchange (room 12),
# the response Bottle's own, the template TEMPLATE (room 15). Bottle's request.query, request.forms,
# get_cookie(), set_cookie() and redirect() are not used: they fail at bytes, cookies and sizes that
# clients send, or trust X-Forwarded-Host. Nor is abort(): a Refusal has more than a sentence.


@functools.cache
def bottle_app() -> bottle.Bottle:
    """Return Bottle's application; it is made once for all services of the process."""
    app = bottle.Bottle()
    vars(app)["router"] = Router()  # Bottle refuses to have it assigned
    app.router.filters.update(PATH_FILTERS)
    app.uninstall("json")  # Bottle's plugin would write the bodies of refusals
    app.install(as_answer)
    app.add_hook("before_request", as_answer(before_route))  # plugins do not wrap hooks
    app.default_error_handler = answer_error
    add_routes(app, OPERATIONS, make_handler)
    add_routes(app, CONTROLS, make_control)
    app.get("/", callback=get_root)
    app.get("/openapi.json", callback=get_document)
    app.get("/favicon.ico", callback=get_icon)
    for (method, path), handle in PAGES.items():
        app.route(rule_of(path), method, handle)
    return app


class Router(bottle.Router):  # type: ignore[misc]
    """Bottle's router, which looks up a path with an id as OPERATIONS writes it.

    Bottle compiles all routes with patterns anew whenever one is added, 20 times as slow in all,
    and tries one after another. So "/bugs/<id>" is added as if it were a plain text, and `match`
    looks up "/bugs/7" as that text.
    """

    def match(self, environ: Environ) -> tuple[Any, Fields]:
        """Return the route of a request, and what the path names. Raises HTTPError (404, 405)."""
        path = environ["PATH_INFO"]
        if "<" in path:  # as in the routes themselves
            raise bottle.HTTPError(404)
        id, pattern = ID_IN_PATH.search(path), pattern_of(path)
        if id and any(pattern in known for known in self.static.values()):
            route, _ = super().match({**environ, "PATH_INFO": pattern})
            return route, {"id": int(id[1])}
        found: tuple[Any, Fields] = super().match(environ)
        return found


# Bottle's filters: what a name in a path matches, how that is read, how it is written.
# fmt: off
PATH_FILTERS: dict[str, Callable[[str], Any]] = {
    "name": lambda _: ("[A-Za-z0-9_.-]{1,64}", str, str),
    "user": lambda _: (ONE_USER, lambda text: int(text) if text.isdigit() else text, str),
}
# fmt: on


def add_routes(
    app: bottle.Bottle, rows: Iterable[Operation], handler_of: Callable[[Operation], Handler]
) -> None:
    """Add the routes of a table."""
    for row in rows:
        decorators = [] if row.open else [needs_token]
        app.route(rule_of(row.path), row.method, handler_of(row), apply=decorators)


def rule_of(path: str) -> str:
    """Return a path as Bottle's rules write it.

    <id> becomes plain text, see Router; <user> becomes <user:user>, a name and its filter in
    PATH_FILTERS.
    """
    return re.sub("<(.*?)>", r"<\1:\1>", path).replace("<id:id>", r"\<id>")


# The application


@dataclasses.dataclass
class PageSettings:
    """The settings that only pages need.

    language: of browsers that ask for none of LANGUAGES, and of the demo.
    shared_password: the stored hash of the password that this start made, if only this machine can
        reach the service: users who have it log in with a click. "" if there is none.
    """

    language: str
    is_demo: bool
    shared_password: str = ""


class Service:
    """The WSGI application. `token` acts as the administrator; `close()` releases everything.

    settings: see Settings in room 19.
    names: the Hosts that are answered; None: every Host.
    allowed: the Hosts that --allowed-host adds.
    frames: the origins whose pages may show ours in a frame.
    url: where it is served, "" before.
    """

    def __init__(self, database: Database, settings: Fields, clock: Clock):
        self.database = database
        self.token: str = settings["token"] or secrets.token_hex(16)
        self.admin_hash = hash_token(self.token)
        self.origins = set(listed(read_origins(settings["origin"])))
        self.frames = listed(read_origins(settings["frame"]))
        self.allowed = listed(settings["allowed_host"])
        self.names: set[str] | None = None
        if self.allowed or settings["loopback_only"]:
            self.names = {*LOOPBACK_NAMES, *self.allowed}
        self.loading = False
        self.stopping = False
        self.url = ""
        self.id_prefix = secrets.token_hex(4)  # of the ids of requests
        self.page = PageSettings(settings["language"], settings["demo"])
        on = settings["control"]
        self.controls = Controls(self, clock, database.in_memory if on is None else on)
        self.app = bottle_app()  # of all services of the process: a request names its service

    def close(self) -> None:
        """Close the database's connections."""
        self.database.close()

    def __call__(self, environ: Environ, start_response: Handler) -> list[bytes]:
        """Answer a request; record it in the log and the journal."""
        began = time.perf_counter()
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        accept, token = environ.get("HTTP_ACCEPT", ""), environ.get("HTTP_TOKEN")
        is_html = wants_html(method, path, accept, token)
        shown_method = printable(method[:MAX_METHOD])
        exchange = Exchange(
            self,
            environ,
            number=next(NUMBERS),
            raw_path=path,
            path=path,
            method=shown_method,
            is_html=is_html,
            aside=is_html,
        )
        environ["pmservice.exchange"] = exchange

        def start(status: str, headers: Headers, *rest: Any) -> Any:
            exchange.status = int(status[:3])
            faulty: Texts = exchange.fault.get("headers", {})
            if "content-type" in map(str.lower, faulty):  # the only one that it replaces
                headers = [header for header in headers if header[0] != "Content-Type"]
            added = [*self.headers_of(exchange), *faulty.items()]
            return start_response(status, [*headers, *added], *rest)

        answer: list[bytes] = self.app(environ, start)
        exchange.answer = answer
        exchange.duration = round((time.perf_counter() - began) * 1000, 3)
        if log.isEnabledFor(logging.INFO):
            log_call(exchange)
        if self.controls.on:
            self.controls.record(exchange)
        del environ["pmservice.exchange"]  # the exchange has the environ: a cycle would keep both
        if exchange.fault.get("drop"):
            raise ClientDisconnected  # waitress then closes the connection
        return answer

    def headers_of(self, exchange: Exchange) -> Headers:
        """Return the headers that every answer has, refusals included."""
        environ = exchange.environ
        headers = [("Vary", "Accept, Origin"), ("Cache-Control", "no-store")]
        headers.append(("X-Request-Id", exchange.id))
        origin = environ.get("HTTP_ORIGIN")
        if origin is not None and self.may_call(origin, environ.get("HTTP_HOST")):
            headers.append(("Access-Control-Allow-Origin", origin))
            headers.append(("Access-Control-Expose-Headers", EXPOSED))
        if exchange.ignored:
            headers.append(("Ignored-Fields", exchange.ignored_text))
        return headers

    # Before a route is looked up

    def admit_origin(self, exchange: Exchange) -> None:
        """Refuse pages of an origin that may not call. Answer a preflight."""
        environ = exchange.environ
        origin = environ.get("HTTP_ORIGIN")
        if origin is not None and not self.may_call(origin, environ.get("HTTP_HOST")):
            name = printable(origin[:MAX_NAME])
            remedy = f"start it with --origin {name} to allow them"
            raise Refusal(403, f"Pages of {name} may not call this service; {remedy}.")
        asks = "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in environ
        if origin and asks and environ["REQUEST_METHOD"] == "OPTIONS":
            exchange.aside = True
            # Any header is allowed: else the browser blocks a request with `Authorization`, and its
            # page never sees the hint OTHER_HEADER.
            asked = environ.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS", "")
            allowed = asked if ASKED_HEADERS.fullmatch(asked) else "Token, Content-Type"
            headers = {**PREFLIGHT, "Access-Control-Allow-Headers": allowed}
            if environ.get("HTTP_ACCESS_CONTROL_REQUEST_PRIVATE_NETWORK") == "true":
                headers["Access-Control-Allow-Private-Network"] = "true"
            raise bottle.HTTPResponse(status=204, headers=headers)

    def may_call(self, origin: str, host: str | None) -> bool:
        """Tell whether pages of an origin may call: a named one, an app, this Host or machine."""
        if "*" in self.origins or origin in self.origins:
            return True
        # A match takes time that grows with the square of the length, so a long origin has none.
        parts = ORIGIN.fullmatch(origin.lower()) if len(origin) <= MAX_NAME else None
        if not parts:
            return False
        if parts[1] not in DEFAULT_PORTS:  # an app or a browser extension
            return True
        port = DEFAULT_PORTS[parts[1]]
        # a page that this service sent
        if host and parts[2].removesuffix(port) == host.lower().removesuffix(port):
            return True
        return LOOPBACK_ORIGIN.fullmatch(parts[0]) is not None

    # The caller of a token

    def caller(self, exchange: Exchange) -> Caller:
        """Return whose token was sent: in the cookie for a page, otherwise in the header.

        Raises Refusal (401), with a hint what programs are to send.
        """
        if exchange.is_html:
            found = self.caller_of(cookie_token(exchange))
            if found:
                return found  # without its token, which the page of GET /ping would show
            raise Refusal(401, UNAUTHORIZED)
        token = exchange.header("HTTP_TOKEN")
        raw = token.encode("latin-1", "replace")  # WSGI passes the header's bytes as Latin-1
        found = self.caller_of(raw.decode("utf-8", "surrogateescape"))
        if found:
            return found._replace(token=token)
        hint = SEND_TOKEN
        if token:
            hint = WRONG_TOKEN
        elif exchange.environ.keys() & {"HTTP_AUTHORIZATION", "HTTP_COOKIE"}:
            hint = OTHER_HEADER
        raise Refusal(401, UNAUTHORIZED, hint=hint)

    def caller_of(self, token: str) -> Caller | None:
        """Return whose token it is, None if it is unknown."""
        hash = hash_token(token)
        if hmac.compare_digest(hash, self.admin_hash):
            return ADMINISTRATOR
        return authenticate(self.database, hash)

    def note_login(self, exchange: Exchange, account: Any) -> None:
        """Note the account of a login for the log, unless it is malformed or is our token."""
        is_account = isinstance(account, str) and ASCII_ACCOUNT.fullmatch(account)
        if is_account and hash_token(account) != self.admin_hash:
            exchange.tried = account


# Programs and browsers


def wants_html(method: str, path: str, accept: str, token: str | None) -> bool:
    """Tell whether a browser asks: only browsers accept XHTML, only programs send a token.

    At /, HTML is enough.
    """
    is_at_root = path == "/" and "text/html" in accept.lower()
    if token is not None or not (is_at_root or "application/xhtml+xml" in accept):
        return False
    method = method.replace("HEAD", "GET")
    call = (method, pattern_of(path.removesuffix("/")))
    if call in PAGES or call == ("GET", JOURNAL_PATH):
        return True
    return method == "GET" and not f"{path}/".startswith(NO_PAGES)


# Around every handler


def before_route(exchange: Exchange) -> None:
    """Make the checks that come before any route is looked up, and set the path."""
    environ, service = exchange.environ, exchange.service
    if "pmservice.refused" in environ:  # malformed HTTP, see Task in room 17
        raise Refusal(*environ["pmservice.refused"])
    refuse_size(exchange)
    if service.names is not None:
        refuse_host(exchange, service.names)
    service.admit_origin(exchange)
    exchange.path, reason = normalize_path(exchange)
    environ["PATH_INFO"] = exchange.path
    bottle.response.content_type = "application/json"  # unless it is a page
    if exchange.is_html:
        admit_reader(exchange, reason)
        return
    service.controls.begin_call(exchange)
    if reason:  # only now: faults apply to these calls, too
        raise Refusal(404, reason)
    if exchange.path.startswith("/-/") and pattern_of(exchange.path) in PAGE_PATHS:
        raise bottle.HTTPError(404)


def admit_reader(exchange: Exchange, reason: str) -> None:
    """Find out who asks for a page. Raises Refusal (401), also for a path without a route.

    reason: why the path is refused, or "".
    """
    service = exchange.service
    if service.loading:  # its users and their passwords may not be there yet
        raise Refusal(503, LOADING)
    if reason:
        raise Refusal(404, reason)
    if exchange.method == "POST":
        if exchange.header("HTTP_SEC_FETCH_SITE", OWN_PAGES) != OWN_PAGES:
            raise Refusal(403, "Pages of other origins cannot log in or out.")
    elif exchange.path != LOGIN_PATH:  # here, because a path without a route needs a log-in, too
        exchange.caller = service.caller(exchange)


def needs_token(handle: Handler) -> Handler:
    """Decorate a handler: it is called once the token is known and everything is loaded."""

    def admitted(exchange: Exchange, **named: Any) -> Any:
        if not exchange.is_html:  # see admit_reader
            exchange.caller = exchange.service.caller(exchange)
            if exchange.service.loading:
                raise Refusal(503, LOADING)
        return handle(exchange, **named)

    return admitted


def as_answer(handle: Handler) -> Handler:
    """Give a handler the exchange; make HTML of its page, and a refusal of its error."""

    @functools.wraps(handle)
    def wrapper(**named: Any) -> Any:
        exchange = this_exchange()
        try:
            answer = handle(exchange, **named)
            return as_html(exchange, answer) if isinstance(answer, Contents) else answer
        except bottle.HTTPResponse:
            raise
        except Refusal as error:
            status, body = error.status, error.body
        except sqlite3.DatabaseError as error:
            known = (entry for part, entry in STORAGE_ERRORS.items() if part in str(error))
            status, sentence = next(known, (500, FAILED))
            body = {"error": sentence}
            log.error("database: %s", error, exc_info=status == 500)
        except RecursionError:  # a value of the body, where it is checked or quoted
            status, body = 400, {"error": NESTED_TOO_DEEP}
        except Exception:
            log.exception("%s %s failed", bottle.request.method, bottle.request.path)
            status, body = 500, {"error": FAILED}
        raise bottle.HTTPError(status, body)  # answer_error answers it

    return wrapper


def answer_error(error: bottle.HTTPError) -> str | bytes:
    """Return the answer of a refusal, ours or Bottle's own, as a page or as JSON."""
    exchange, body = this_exchange(), error.body
    if not isinstance(body, dict):  # Bottle's
        body = {"error": sentence_of(error, exchange)}
    exchange.error, exchange.hint = body["error"], body.get("hint", "")
    if exchange.is_html:
        # a browser, too, gets JSON if the database fails again
        with contextlib.suppress(Refusal, sqlite3.Error):
            return as_html(exchange, refusal_page(exchange, error.status_code))
    bottle.response.content_type = "application/json"
    return to_json(body).encode("utf-8", "replace")


def sentence_of(error: bottle.HTTPError, exchange: Exchange) -> str:
    """Return the sentence of a refusal of Bottle's: 404, 405, or 500 for a failure of its own."""
    path, method = exchange.path, exchange.method
    if error.status_code == 404:
        return nothing_at(method, path)
    if error.status_code == 405:
        allowed = error.get_header("Allow").replace(",", ", ")
        return f"{method} is not allowed at {path}; allowed: {allowed}."
    return FAILED


# Handlers


def make_handler(operation: Operation) -> Handler:
    """Return the function that Bottle calls for an operation."""
    answer: Callable[..., str | Contents] = answer_write
    if operation.method == "GET":
        answer = answer_read
    elif operation.open:  # POST /tokens
        answer = answer_login

    def handle(exchange: Exchange, **named: Any) -> str | Contents:
        bottle.response.status = operation.status
        id = next(iter(named.values()), 0)  # no path names two things
        return answer(exchange, operation, id)

    return handle


def answer_read(exchange: Exchange, operation: Operation, id: object) -> str | Contents:
    """Return what a GET shows, as JSON or as a page, from one state of the database."""
    with exchange.service.database.reading(exchange.caller) as store:
        if not exchange.is_html:
            return answer_text(store, exchange, operation, id)
        if operation.listing:
            exchange.parameters = page_query(operation.listing, exchange.parameters)
        # the operation itself: its answer is what the page shows
        value = json.loads(answer_text(store, exchange, operation, id, most=0))
        address = Address(exchange.path, exchange.parameters)
        return Sheet(store, sayer(exchange)).show(operation, address, id, value)


def make_control(control: Operation) -> Handler:
    """Return the function that Bottle calls for a control.

    Its `perform` is given the name in the path, the bytes of the body, or the parameters.
    """
    takes_body = control.body or not (control.query or control.reads is NOTHING)

    def handle(exchange: Exchange, name: str = "") -> bytes | Contents:
        if exchange.is_html:  # the only control that browsers ask for
            return calls_page(exchange)
        if not (control.open or exchange.caller.admin):
            raise Refusal(403, ADMIN_ONLY)
        body = exchange.read_body()
        exchange.refuse_encoded()
        parameters: Members = dict(exchange.parameters)
        if not takes_body:  # then parameters may also come in the body
            parameters |= parse_body(body, "")
        parameters = check_exactly(control.query_shape, parameters)
        given = name or (body if takes_body else parameters)
        answer = control.perform(exchange.service.controls, given)
        if isinstance(answer, bytes):
            return answer
        return to_json(SUCCESS if answer is None else answer).encode()

    return handle


def get_root(exchange: Exchange) -> str | Contents:
    """Show the overview. To programs, say what this is, and whether it is ready.

    Some tools ask for / until a service is there.
    """
    service = exchange.service
    if exchange.is_html:
        with service.database.reading(exchange.caller) as store:
            return Sheet(store, sayer(exchange)).overview()
    exchange.aside = True
    summary = {
        "name": "pmservice",
        "version": __version__,
        "document": f"{service_url()}/openapi.json",
        "ready": not service.loading and service.database.ready(),
    }
    return to_json(summary)


def get_document(exchange: Exchange) -> bytes:
    """Answer with the OpenAPI document."""
    service = exchange.service
    today = service.database.clock().astimezone(service.database.zone).date()
    return openapi_text(service_url(), today, service.controls.on)


@functools.lru_cache(4)
def openapi_text(url: str, day: date, on: bool) -> bytes:
    """Return the OpenAPI document of a service whose controls are on, or off, as JSON."""
    rows = [row for row in CONTROLS if on or row.open]
    return to_json(openapi(url, day, rows)).encode()


def get_icon(exchange: Exchange) -> bottle.HTTPResponse:
    """Answer that there is no icon: pages bring theirs; browsers ask for one beside JSON."""
    exchange.aside = True
    return bottle.HTTPResponse(status=204)


# Pages


def as_html(exchange: Exchange, page: Contents) -> str:
    """Return a page as HTML, and give its answer the headers of pages."""
    framing = " ".join(exchange.service.frames) or "'none'"
    bottle.response.headers.update(PAGE_HEADERS)
    bottle.response.set_header("Content-Security-Policy", POLICY + framing)
    html: str = TEMPLATE.render(
        globals(),  # for the tables and functions of room 15
        page=page,
        language=language_of(exchange),
        label=sayer(exchange),
        asked=exchange.asked_for(),
        me=reader(exchange),
        calls=exchange.caller.admin and exchange.service.controls.on,
    )
    return html


def reader(exchange: Exchange) -> Record | None:
    """Return the row of the user who asks; None if nobody has logged in, or after a failure."""
    with contextlib.suppress(Refusal, sqlite3.Error), exchange.service.database.querying() as store:
        return store.user(exchange.caller.account)
    return None


def language_of(exchange: Exchange) -> str:
    """Return the language of a page: browsers name first the one that their user likes best."""
    wanted = exchange.header("HTTP_ACCEPT_LANGUAGE").lower()
    named = re.search(rf"\b({'|'.join(LANGUAGES)})\b", wanted)
    return named[0] if named else exchange.service.page.language


def sayer(exchange: Exchange) -> Say:
    """Return the function that says words in the language of a page."""
    return functools.partial(label, language_of(exchange))


def refusal_page(exchange: Exchange, status: int) -> Contents:
    """Return the page of a refusal: the sentence of its JSON, and ways to go on."""
    if status == 401:
        return login_page(exchange, {"to": exchange.asked_for()})
    say = sayer(exchange)
    here = place_of(exchange.path)
    ways = [here, "/"] if here in NAV_PATHS and here != "/" else ["/"]
    sentence = translated(language_of(exchange), exchange.error)
    original = "" if sentence == exchange.error else exchange.error
    links = [(say("Back to {}").format(say(NAV_WORDS[path])), path) for path in ways]
    part = Section(text=[sentence], original=original, links=links)
    return Contents(say(HTTPStatus(status).phrase), [part])


def calls_page(exchange: Exchange) -> Contents:
    """Return the last calls whose JSON has the wanted text, and the state of the controls."""
    controls = exchange.service.controls
    if not controls.on:
        raise Refusal(404, CONTROLS_OFF)
    if not exchange.caller.admin:
        raise Refusal(403, ADMIN_ONLY)
    query = exchange.parameters
    wanted = check_exactly(CALLS_QUERY, query)
    words = wanted.get("text", "").lower()
    texts = map(shown_call, reversed(controls.matching({})))
    calls = [json.loads(text) for text in texts if words in text.lower()][:CALLS_SHOWN]
    say = sayer(exchange)
    shown = Section("Last calls", calls=calls)
    if not calls:
        shown = Section(text=["Nothing matches." if words else "There is nothing here yet."])
    return Contents(
        say("API calls"),
        [shown, controls_section(controls, say)],
        search="text",
        query=query,
        refresh=query.get("every", ""),
    )


def controls_section(controls: Controls, say: Say) -> Section:
    """Return what the clock says and which faults there are."""
    clock = controls.clock.state()
    now = clock["now"].replace("T", " ").replace("Z", " UTC")
    text = [say(f"clock {clock['frozen']}").format(now)]
    if clock["offset"]:
        text.append(say("offset").format(clock["offset"]))
    for fault in controls.faults:
        text.append(say(", ").join(f"{say(name)} {fault[name]}" for name in fault))
    if not controls.faults:
        text.append("no faults")
    return Section("Controls", text=text)


# Logging in and out


def people(exchange: Exchange) -> list[Record]:
    """Return the users that the form offers, each with `by_click`."""
    # a proxy on this machine may let others in
    is_proxied = any(name.startswith(PROXIES) for name in exchange.environ)
    shared = "" if is_proxied else exchange.service.page.shared_password
    with exchange.service.database.querying() as store:
        return store.run(SHARING, {"shared": shared}).fetchall()


def login_page(exchange: Exchange, given: Fields, alert: str = "") -> Contents:
    """Return the page that logs in. given: `account`, and `to`, where it leads."""
    settings, note = exchange.service.page, ""
    if settings.is_demo and settings.language != language_of(exchange):
        note = f"demo in {settings.language}"
    login = {
        "note": note,
        "is_demo": settings.is_demo,
        "account": given.get("account", ""),
        "to": local_path(given.get("to", "/")),
        "people": people(exchange),
        "alert": alert,
    }
    # Browsers do not send a Strict cookie when a link on another site is followed. So the page
    # loads itself again, and then they do.
    is_linked = exchange.header("HTTP_SEC_FETCH_SITE") == "cross-site"
    refresh = "0" if is_linked and bottle.response.status_code == 401 else ""
    return Contents("", refresh=refresh, login=login)


def local_path(address: str) -> str:
    """Return the path and query to which the form that logs in leads; "/" for another site's."""
    return address if re.match(r"/(?![/\\])[!-~]*\Z", address) else "/"


def get_form(exchange: Exchange) -> Contents:
    """Show the form that logs in."""
    return login_page(exchange, exchange.parameters)


def answer_form(exchange: Exchange) -> Contents:
    """Answer the form: with a cookie that leads to the page asked for, or with a refusal."""
    exchange.read_body()
    given = check(LOGIN_FORM, exchange.fields())
    exchange.service.note_login(exchange, given.get("account"))
    try:
        token = token_for(exchange, given)
    except Refusal as refused:
        bottle.response.status, exchange.error = refused.status, refused.body["error"]
        return login_page(exchange, given, exchange.error)
    exchange.caller = exchange.service.caller_of(token) or NOBODY  # for the log
    raise redirection(exchange, local_path(given.get("to", "/")), token)


def token_for(exchange: Exchange, given: Fields) -> str:
    """Return the token that was entered, or a new one for an account. Raises Refusal."""
    database = exchange.service.database
    account, password = given.get("account", ""), given.get("password", "")
    entered: str = password or account  # a token may stand in either field
    if exchange.service.caller_of(entered):
        return entered
    by_click = {one["account"] for one in people(exchange) if one["by_click"]}
    if account in by_click and not password:
        with database.writing() as store:
            return give_token(store, account)
    return str(log_in(database, {"account": account, "password": password})["token"])


def log_out(exchange: Exchange) -> NoReturn:
    """End the token of the cookie. Raises a redirection to the page that logs in."""
    with exchange.service.database.writing() as store:
        store.delete("token", hash=hash_token(cookie_token(exchange)))
    raise redirection(exchange, "/", "")


def redirection(exchange: Exchange, path: str, token: str) -> bottle.HTTPResponse:
    """Return the answer that leads to a path, with a new cookie or, without a token, none."""
    value = urllib.parse.quote(token, "")
    cookie = f"{cookie_name(exchange)}={value}; Path=/; HttpOnly"
    if exchange.service.frames:  # in a frame of another site, browsers send no other cookies
        cookie += "; SameSite=None; Secure; Partitioned"
    else:
        cookie += "; SameSite=Strict"
        if exchange.header("HTTP_ORIGIN").startswith("https:"):
            cookie += "; Secure"
    if not token:
        cookie += "; Max-Age=0"
    return bottle.HTTPResponse(status=303, headers={"Location": path, "Set-Cookie": cookie})


def cookie_name(exchange: Exchange) -> str:
    """Return the name of the cookie. Browsers send a cookie to all ports of a host."""
    port = exchange.header("HTTP_HOST").rpartition(":")[2]
    return f"pmservice{port}" if port.isdigit() else "pmservice"


def cookie_token(exchange: Exchange) -> str:
    """Return the token of the cookie, "" without one.

    Python's own parser drops all cookies if another one has a value that it does not know.
    """
    sent = exchange.header("HTTP_COOKIE")
    found = re.search(rf"(?:^|[; ]){cookie_name(exchange)}=([^; ]*)", sent)
    return urllib.parse.unquote(found[1]) if found else ""


# Where browsers get JSON, too, at these paths and below, but for PAGES and the journal.
NO_PAGES = tuple(f"{path}/" for path in (*PREFIXES, "/openapi.json", "/favicon.ico", "/-"))
# THE TABLE OF PAGES that programs do not find.
PAGES: dict[tuple[str, str], Handler] = {
    ("GET", TASKS_PATH): make_handler(ALL_TASKS),
    ("GET", LOGIN_PATH): get_form,
    ("POST", LOGIN_PATH): answer_form,
    ("POST", LOGOUT_PATH): log_out,
}
PAGE_PATHS = {path for _, path in PAGES}


# --- 17 Server: connections and threads -----------------------------------------------------------
# waitress reads and writes HTTP. This room decides which thread answers a request and how serving
# ends; it does not know what an answer says.
#
# The receiving thread runs Server.run: it waits for all sockets at once, accepts connections, and
# gives what it receives to waitress's parsers. When a request is complete, Server.queue_for chooses
# the thread that answers it; the first line that fits decides:
#     the workers           what may wait for other calls or for a delay: calls while faults are set
#                           or records are loading, and the journal
#     the hashing thread    log-ins, one after the other, so that they slow down nobody else
#     the receiving thread  what is quick, because handing it over takes as long: with a database in
#                           memory all else; with a file, where a write waits for the disk, single
#                           records and the first pages of lists
#     the workers           everything else
#
# The methods of waitress 3.0 that are overridden, each with the harm that this prevents:
#     Request               a request without a readable first line has no method and no path, and
#                           one whose address is no URL gets no answer
#     Task                  waitress refuses malformed requests in plain text, past log and journal
#     Task.write            header and body, sent one after the other, wake each client twice
#     Channel.service       a failure of waitress's own would end the receiving thread
#     Server.add_task       quick reads wait for writers and log-ins, because any thread answers
#     Server.pull_trigger   the receiving thread wakes itself after each answer
#     Server.handle_accept  a client that has gone already would end the server
#     Server.run            a stop cuts the answers that are being sent

THREADS = 8
CONTROL_THREADS = 32  # of a service whose controls are on, where MAX_WAITING calls may wait
CONNECTIONS = 900  # at most, where there is poll()
# Windows has no poll(), and its select() takes 512 descriptors, of which LAST_CLIENTS and a few
# others need some.
FEW_CONNECTIONS = 380
LAST_CLIENTS = 128  # that have connected already, which a server that stops still accepts
DESCRIPTORS = 100  # for all else
# Seconds of polling without sleep after an answer, because its client often asks again at once.
# Without it, a quick read takes a sixth longer.
EXPECTANT = 150e-6
# Bytes of a body that a connection takes, and of what it holds in memory: all of it, because a
# temporary file may find no room, and then half an answer would be sent.
MOST_RECEIVED = MAX_LOAD + 1
IN_MEMORY = 2**40
SENT_AT_ONCE = 64 * 1024  # bytes of a body that is sent together with its header
GRACE = 4.0  # seconds that running requests have to finish when the server stops
QUIET = 0.05  # seconds without a request after which a stopping server closes its connections
# The signals that stop the server; SIGBREAK is Ctrl-Break, on Windows only.
STOPS = {signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGBREAK", signal.SIGINT)}

# Calls: a method, and a path as OPERATIONS writes it.
LIVE_CALL = ("GET", "/-/live")
LOGIN_CALL = ("POST", "/tokens")
WAITING_CALL = ("GET", "/-/journal")
LIST_CALLS = {(row.method, row.path): row.listing for row in OPERATIONS if row.listing}
RECORD_CALLS = {
    (row.method, row.path)
    for row in OPERATIONS
    if row.method == "GET" and row.view and not row.listing and row.view not in ENCLOSED
}
# The page numbers and the limits with which a list is quick, as text in the query.
FIRST = {str(number) for number in range(101)}


def connection_limit() -> int:
    """Return how many connections there may be, after raising the limit of descriptors for them."""
    most = CONNECTIONS if hasattr(select, "poll") else FEW_CONNECTIONS
    try:
        import resource
    except ImportError:  # on Windows, which has no such limit
        return most
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most + DESCRIPTORS
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return most
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft - DESCRIPTORS


class Request(HTTPRequestParser):  # type: ignore[misc]
    """A request that is being received."""

    # until they are known
    command = "?"
    path = request_uri = query = ""
    url_scheme = "http"

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the first line and the headers. Raises ParsingError."""
        try:
            super().parse_header(header_plus)
        except ValueError as error:
            raise ParsingError(str(error)) from None


class Task(WSGITask):  # type: ignore[misc]
    """An answer of the WSGI application, also to a request that waitress refuses."""

    wrote_header: bool  # waitress sets it

    def get_environment(self) -> Members:
        """Return the WSGI environment, with how long the request has waited, and its refusal."""
        environ: Members = super().get_environment()
        # since the last byte of the request came
        environ["pmservice.waited"] = time.time() - self.channel.last_activity
        error = self.request.error
        if error:
            status = 400 if error.code == 501 else error.code  # the service has not failed
            reason = error.body.partition('"')[0].strip()  # without the header line that it quotes
            environ["pmservice.refused"] = status, sentences([f"{error.reason}: {reason}"])
        if error or self.channel.server.service.stopping:
            self.set_close_on_finish()  # the client is told
        return environ

    def write(self, data: bytes) -> None:
        """Send a body together with the header, unless it is long: that would copy it."""
        if self.wrote_header or not (self.has_body and 0 < len(data) <= SENT_AT_ONCE):
            super().write(data)
            return
        header = self.build_response_header()
        self.wrote_header = True
        self.content_bytes_written = len(data)
        self.channel.write_soon(header + data)


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection."""

    parser_class = Request
    task_class = error_task_class = Task

    def service(self) -> None:
        """Answer a request."""
        try:
            super().service()
        except Exception:  # waitress answers what fails in a request; this is its own failure
            self.cancel()
            self.server.pull_trigger()
            log.exception("A connection failed")


class Server(TcpWSGIServer):  # type: ignore[misc]
    """waitress on a socket, with quick answers and a graceful end."""

    channel_class = Channel
    receiver = 0  # the ident of the receiving thread
    expectant_until = 0.0  # by the monotonic clock
    quiet_time = 0.0  # seconds without a request after which a server that was stopped ends

    def __init__(self, service: Service, listener: socket.socket):
        self.service = service
        threads = CONTROL_THREADS if service.controls.on else THREADS
        self.workers = ThreadPoolExecutor(threads, "pmservice-worker")
        self.hashing = ThreadPoolExecutor(1, "pmservice-hashing")
        # Channels that wait for the receiving thread. Other threads append to these queues, too.
        self.quick = deque[Channel]()
        self.lists = deque[Channel]()
        super().__init__(
            service,
            dispatcher=self.workers,  # waitress wants one; add_task chooses
            _sock=listener,
            sockinfo=(listener.family, listener.type, listener.proto, listener.getsockname()),
            bind_socket=False,
            connection_limit=connection_limit(),
            max_request_body_size=MOST_RECEIVED,
            inbuf_overflow=IN_MEMORY,
            outbuf_overflow=IN_MEMORY,
            ident=None,  # no Server header
            clear_untrusted_proxy_headers=False,  # nothing here reads them
        )

    # Choosing the thread that answers

    def add_task(self, channel: Channel) -> None:
        """Queue a channel whose next request is complete."""
        queue = self.queue_for(channel.requests[0])
        if isinstance(queue, ThreadPoolExecutor):
            queue.submit(channel.service)
        else:
            queue.append(channel)

    def queue_for(self, request: Request) -> ThreadPoolExecutor | deque[Channel]:
        """Return the queue of the thread that answers a request: see the head of this room."""
        service, headers = self.service, request.headers
        if request.error:
            return self.quick
        method = request.command.replace("HEAD", "GET")
        call = (method, pattern_of(bare_path(request.path)))
        is_html = wants_html(method, request.path, headers.get("ACCEPT", ""), headers.get("TOKEN"))
        if call == LIVE_CALL:
            return self.quick
        if call == WAITING_CALL or service.controls.faults or service.loading:
            return self.workers
        if call == LOGIN_CALL or (is_html and method == "POST"):
            return self.hashing
        in_memory = service.database.in_memory
        if is_html and not in_memory:
            return self.workers
        if call in LIST_CALLS and (in_memory or is_first_page(LIST_CALLS[call], request.query)):
            return self.lists
        if call in RECORD_CALLS or in_memory:
            return self.quick
        return self.workers

    def serve_once(self) -> None:
        """Wait until something happens at a socket; then answer what this thread is to answer."""
        # waitress's own asyncore, with poll(), because select() fails above 1,024 descriptors
        self.asyncore.loop(self.wait_time(), use_poll=True, map=self._map, count=1)
        turns = [self.quick.popleft() for _ in range(len(self.quick))]
        if self.lists:  # only one, so that no record waits for more than one list
            turns.append(self.lists.popleft())
        for channel in turns:
            # Before a further answer, waitress may wait until the client has read this one; and a
            # fault that has been set meanwhile may delay it.
            if len(channel.requests) > 1 or self.service.controls.faults:
                self.workers.submit(channel.service)
            else:
                channel.service()
        if turns:
            self.expectant_until = time.monotonic() + EXPECTANT

    def wait_time(self) -> float:
        """Return how many seconds to wait at most until something happens at a socket."""
        if self.quick or self.lists or time.monotonic() < self.expectant_until:
            return 0
        if self.service.stopping:
            return 0.01  # finish() watches the clock
        return 1  # some systems handle signals only between two waits

    def pull_trigger(self) -> None:
        """Wake the receiving thread, unless this is it, or it has ended."""
        if threading.get_ident() != self.receiver and self._map:
            self.trigger.pull_trigger()

    def handle_accept(self) -> None:
        """Accept a connection, unless its client has gone before waitress has made its channel."""
        with contextlib.suppress(OSError):
            super().handle_accept()

    # Running and stopping

    def run(self) -> None:
        """Serve until stopped."""
        self.receiver = threading.get_ident()
        try:
            while not self.service.stopping:
                self.serve_once()
            self.service.controls.wake()
            self.finish()
        finally:
            for channel in list(self.active_channels.values()):
                channel.handle_close()  # wakes a thread that waits for this client to read
            self.workers.shutdown(cancel_futures=True)
            self.hashing.shutdown(cancel_futures=True)

    def close_all(self) -> None:
        """Close all sockets, now that nobody stops the server any more."""
        self.asyncore.close_all(self._map)

    def stop(self, number: int = 0, frame: object = None) -> None:
        """Stop accepting, and finish running requests.

        As a signal handler: a second signal ends the process at once.
        """
        if number:
            for each in STOPS:
                signal.signal(each, signal.SIG_DFL)
            # Clients still use a service that a signal stops: their connections get a moment for
            # one more request. A test's service ends at once.
            self.quiet_time = QUIET
        self.service.stopping = True
        if self._map:
            self.trigger.pull_trigger()  # also from the receiving thread, which a signal interrupts

    def finish(self) -> None:
        """Answer the clients that have connected already, for GRACE seconds at most."""
        for _ in range(LAST_CLIENTS):
            self.handle_accept()
        # only the listening socket: self.close() would also close what wakes this thread
        self.asyncore.dispatcher.close(self)
        now = time.monotonic()
        deadline, quiet = now + GRACE, now + self.quiet_time
        while self.active_channels and now < deadline:
            if self.is_busy():
                quiet = now + self.quiet_time
            elif now >= quiet:
                break
            self.serve_once()
            now = time.monotonic()

    def is_busy(self) -> bool:
        """Tell whether a request is being received or answered."""
        return any(
            channel.request or channel.requests or channel.total_outbufs_len
            for channel in list(self.active_channels.values())
        )


def is_first_page(listing: Listing, query: str) -> bool:
    """Tell whether a list is asked for one of its first pages, in the order of ids."""
    given = dict(urllib.parse.parse_qsl(query))
    if listing.whole and not {"page", "limit"} & given.keys():
        return False
    condition = listing.browse.get(given.get("status", "").lower(), "")
    if "title" in given or "SELECT" in condition:  # each record is looked up elsewhere
        return False
    page, limit = given.get("page", "1"), given.get("limit", str(listing.limit))
    return {page, limit} <= FIRST and given.get("order", "id").startswith("id")


# --- 18 Demo: a made-up company -------------------------------------------------------------------
# A shop that delivers what it sells, and half a year of its work, told by a script. Its rows become
# requests to the operations of room 11, which are performed as of the moments that the script says.

DEMO_LOGINS = ("marta", "diego", "tomas", "priya", "emma")  # the people one can log in as

# fmt: off
# THE SCRIPT. Each line is a row: its kind, then its cells in the columns that the first lines name. A line that begins with a space continues the one above.
# Times and days are workdays before now: 12 is some time in the day twelve workdays ago, 12.5 the middle of it, 0.5 the middle of today up to now, -2 the day
# after tomorrow. On one day, two things whose order matters have decimals, 0.05 apart at least. "title en" and "title zh" are the column "title" in two
# languages. Rows take the cells that they lack from the rows above, and belong to the last rows of other kinds: a task to the last story, execution, project
# and product. `plan`, `testcase` and `case` name a row by its key.
#   steps   of a bug: what was done // what was expected // what was found; of a test case: a step > its expectation // and so on
SCRIPT = """\
department: | opened | manager | name en | name zh
user:       | opened | account | role | email | realname en | realname zh
program:    | opened | begin | end | PM | acl | name en | name zh
product:    | opened | code | PO | QD | RD | name en | name zh | desc en | desc zh
plan:       | key | opened | closed | begin | end | status | title en | title zh
project:    | opened | begin | end | model | PM | acl | whitelist | name en | name zh | desc en | desc zh
execution:  | opened | suspended | closed | begin | end | name en | name zh
story:      | opened | reviewed | closed | reviewer | plan | pri | estimate | title en | title zh | spec en | spec zh
task:       | opened | started | worked | closed | type | assignedTo | estimate | consumed | left | deadline | name en | name zh
testcase:   | key | opened | type | pri | title en | title zh | steps en | steps zh
build:      | opened | name en | name zh
release:    | opened | stopped | date | marker | name en | name zh
testtask:   | opened | done | begin | end | type | name en | name zh
run:        | opened | by | testcase | steps
bug:        | opened | resolved | closed | by | assignedTo | severity | pri | type | resolution | case | title en | title zh | steps en | steps zh
note:       | opened | by | comment en | comment zh
then:       | opened | by | operation | sends | comment en | comment zh

department | 135 | tomas | Projects | 项目部
user | 134 | tomas | pm | tomas@kestrel.example | Tomas Berg | 汤明
user | 134 | aisha | pm | aisha@kestrel.example | Aisha Khan | 艾欣
department | 135 | marta | Products and design | 产品设计部
user | 134 | marta | po | marta@kestrel.example | Marta Nowak | 马婷
user | 134 | wei | po | wei@kestrel.example | Li Wei | 李伟
user | 134 | emma | ui | emma@kestrel.example | Emma Lee | 李曼
department | 135 | diego | Quality | 测试部
user | 134 | diego | qa | diego@kestrel.example | Diego Ramos | 戴磊
user | 134 | hana | qa | hana@kestrel.example | Hana Sato | 韩雪
department | 135 | jonas | Development | 研发部
user | 134 | jonas | dev | jonas@kestrel.example | Jonas Weber | 魏军
user | 134 | priya | dev | priya@kestrel.example | Priya Nair | 潘雅
user | 134 | yu | dev | yu@kestrel.example | Chen Yu | 陈雨
user | 134 | sofia | dev | sofia@kestrel.example | Sofia Rossi | 苏菲

program | 133.9 | 131 | -200 | tomas | open | Sales | 销售业务
product | 132.9 | shop | marta | diego | priya | Web Shop | 网上商城 | Customers search, order and pay here. | 供顾客搜索商品、下单和支付。
plan | find | 130.8 | 40 | 130 | 42 | doing | Better search | 搜索体验优化
plan | order | 62 | | 61 | -30 | doing | Simpler checkout | 简化下单流程
plan | again | 45.8 | | -31 | -99 | wait | Returns and repeat purchases | 退货与复购
project | 131.9 | 130 | -50 | scrum | tomas | open | | From search to order | 从搜索到下单 | Find it on page one, order it in two steps. | 首页找到，两步下单。
execution | 131.2 | | 64 | 130 | 66 | Typo-tolerant search | 搜索容错
story | 129 | 127 | 70 | wei | find | 2 | 13 | Search finds products despite a typo | 输错字也能搜到商品 | Customers want results even if they mistype. Done
        when one wrong letter still lists the product. | 顾客输错字时也希望找到商品。验收标准：错一个字仍能列出目标商品。
task | 126 | 124 | 112 | 111 | devel | yu | 24 | 26 | 0 | 112 | Index product names by syllable | 按拼音建立商品名索引
task | 126 | 121 | 110 | 108 | devel | priya | 16 | 15 | 0 | 110 | Rank products by sales instead of clicks | 搜索结果按销量而非点击量排序
task | 113 | 110 | 97 | 95 | test | hana | 8 | 10 | 0 | 97 | Test the search with the 200 most common typos | 用 200 个常见错字测试搜索
testcase | typo | 122 | feature | 2 | A product is found despite one wrong letter | 错一个字仍能搜到商品 | Search for "umbrela" > Umbrellas are listed // Type
        "tepot" > "Teapot" is suggested | 搜索“雨山” > 列出雨伞 // 输入“茶胡” > 联想词包含“茶壶”
story | 118 | 116 | 71 | wei | find | 3 | 5 | Suggestions while typing | 输入时显示联想词 | Customers want to choose a search term instead of typing it out.
        Done when up to three suggestions appear. | 顾客希望少打字就能选中搜索词。验收标准：输入时最多显示 3 条联想词。
task | 115.4 | 105 | 86 | 84 | devel | sofia | 12 | 14 | 0 | 86 | Suggest only products in stock | 联想词只推荐有货商品
testcase | empty | 75 | feature | 3 | An empty search is ignored | 空搜索不跳转 | Search with an empty field > The page stays | 搜索框留空搜索 > 停留在当前页
build | 130 | Web Shop 3.9 | 网上商城 3.9
release | 129 | 64 | 129 | 0 | Web Shop 3.9: larger pictures | 网上商城 3.9：商品大图
bug | 128 | 123 | 120 | hana | sofia | 2 | 2 | codeerror | fixed | | Two clicks on "Add to basket" add four items | 点击两次“加入购物车”会加入 4 件商品 | Click
        "Add to basket" twice on a mug's page//two mugs in the basket//four mugs | 在马克杯商品页点击两次“加入购物车”//购物车中有 2 件//有 4 件
build | 120 | Web Shop 4.0 beta | 网上商城 4.0 测试版
bug | 117 | 112 | 109 | diego | yu | 2 | 3 | codeerror | fixed | typo | Searching for "tea" lists steam irons first | 搜索“茶”时茶几排在茶叶前面 | Search for
        "tea"//teas come first, best sellers on top//the first six results are steam irons | 搜索“茶”//茶叶在前，按销量排序//前 6 个结果都是茶几
bug | 108 | 104 | 101 | hana | priya | 2 | 1 | codeerror | fixed | | A search with an apostrophe ends in an error page | 搜索词含单引号时报错 | Search for
        "men's coat"//coats are listed//an error page; the log has an SQL syntax error | 搜索“men's coat”//列出外套//显示错误页，日志中有 SQL 语法错误
bug | 103 | 100 | 97 | diego | yu | 1 | 1 | security | fixed | | The public sitemap lists customers' search terms | 站点地图泄露顾客的搜索词 | Open /sitemap.xml
        without logging in//only product pages//4,000 search terms, some of them names | 不登录访问 /sitemap.xml//只有商品页//有 4000 条搜索词，部分为姓名
bug | 94 | 87 | 84 | diego | priya | 3 | 3 | codeerror | notrepro | | Search results change their order on reload | 刷新页面后搜索结果顺序变化 | Search for
        "mug" and reload a few times//the order stays the same//results 4 to 9 change places | 搜索“马克杯”，多次刷新//顺序不变//第 4 至 9 个结果顺序变化
note | 89 | priya | I reloaded 40 times and the order never changed. Which browser did you use? | 我刷新了 40 次，顺序没有变化。你用的是哪个浏览器？
note | 88.6 | diego | Firefox. Since this morning I cannot reproduce it any more either. | Firefox。不过今天早上起我这边也复现不了了。
bug | 87 | 81 | 79 | diego | sofia | 2 | 2 | performance | fixed | | A list of 400 products freezes older phones | 商品达 400 个时列表页在旧手机上卡死 | Open
        "Kitchen" on a 2019 phone and scroll//smooth scrolling//the page hangs for 9 seconds | 用 2019 年的手机打开“厨房用品”并下滑//滚动流畅//卡死 9 秒
bug | 80 | 74 | 71 | marta | emma | 4 | 3 | designdefect | bydesign | | Sold-out products are still listed | 售罄商品仍显示在列表中 | Buy the last blue umbrella
        and open the list//the umbrella is not listed//it is listed in grey | 买下最后一把蓝色雨伞后打开列表//不显示该商品//仍显示该商品，只是变灰
note | 77 | emma | It stays so that customers can ask for a message when it is back in stock. | 保留是为了让顾客登记到货提醒。
note | 76 | marta | Then let us say so below the picture. You can resolve this as by design. | 那就在图片下方加一句说明，这个按“设计如此”处理。
bug | 77 | 73 | 71 | diego | yu | 2 | 2 | codeerror | fixed | | An empty search lists all 9,000 products | 空搜索会列出全部 9000 个商品 | Press "Search" with an
        empty field//the page stays as it is//9,000 products are listed after 8 seconds | 搜索框留空，点击“搜索”//停留在当前页//8 秒后列出 9000 个商品
bug | 72 | 70 | 69 | hana | sofia | 3 | 1 | standard | fixed | | Suggestions cover the menu on small tablets | 小屏平板上联想词遮挡菜单 | Type "um" into the
        search on a 7-inch tablet//the menu can be used//"Help" and "Basket" are covered | 在 7 英寸平板的搜索框输入“雨”//菜单可正常点击//“帮助”和“购物车”被遮挡
build | 69 | Web Shop 4.0 | 网上商城 4.0
release | 68 | 20 | 68 | 1 | Web Shop 4.0: typo-tolerant search | 网上商城 4.0：搜索容错
execution | 62 | | 22 | 62 | 23 | Guest checkout | 免登录下单
story | 60 | 58 | 21 | wei | order | 1 | 8 | Order without an account | 无需注册即可下单 | New customers want to order without registering. Done when a guest
        only has to give an address and an e-mail. | 新顾客希望不注册就能下单。验收标准：只填收货地址和邮箱即可提交订单。
task | 57.6 | 56 | 46 | 44 | devel | priya | 20 | 22 | 0 | 46 | Allow orders without an account | 支持无账号订单
task | 57.8 | 55 | 50 | 49 | design | emma | 6 | 5 | 0 | 50 | Design the order page for guests | 设计免登录下单页面
task | 45 | 38 | 28 | 27 | test | diego | 10 | 12 | 0 | 28 | Test guest checkout on twelve devices | 在 12 种设备上测试免登录下单
testcase | guest | 56 | feature | 1 | A guest orders and pays | 未登录用户下单并支付 | Choose "Continue as guest" > Only address and e-mail are required // Pay
        by card > The order number is shown | 选择“免登录下单” > 只要求填写地址和邮箱 // 用银行卡支付 > 显示订单号
testcase | day | 48 | feature | 2 | Guests choose the delivery day | 未登录用户可选送达日期 | Order as a guest at 23:10 > The earliest choice is the day after
        tomorrow | 23:10 免登录下单 > 最早可选后天
build | 59 | Web Shop 4.1 beta | 网上商城 4.1 测试版
bug | 55 | 52 | 49 | diego | priya | 1 | 1 | codeerror | fixed | guest | A guest's order goes to the previous guest | 未登录用户的订单寄给上一位用户 | Order as
        two guests on one device//each order has its own address//both have the first | 在同一设备上用不同地址免登录下两单//地址各不相同//都是第一个地址
bug | 50 | 47 | 44 | hana | sofia | 3 | 2 | codeerror | fixed | | Orders after 23:00 show a delivery day in the past | 23 点后下单，送达日期显示为昨天 | Put a
        mug into the basket at 23:10//delivery the day after tomorrow//delivery yesterday | 23:10 将马克杯加入购物车//送达日期为后天//送达日期为昨天
bug | 44 | 41 | 38 | diego | priya | 2 | 2 | codeerror | fixed | guest | The browser's back button leads to a second order | 浏览器后退再前进会重复下单 | Order
        as a guest//Press "Back", then "Forward"//the same confirmation//a second order | 免登录下单//点击浏览器的“后退”和“前进”//仍是原确认页//生成第二张订单
bug | 40 | 36 | 33 | marta | emma | 4 | 4 | designdefect | willnotfix | | The progress bar still shows five steps | 进度条仍显示 5 个步骤 | Go from the basket
        to the payment as a guest//three steps, one for each page//five steps | 免登录下单，从购物车走到支付页//3 个步骤，与页面数一致//仍是 5 个步骤
bug | 34 | 28 | 25 | diego | sofia | 2 | 1 | codeerror | fixed | | Reloading the page applies a voucher twice | 刷新页面后优惠券重复抵扣 | Enter a voucher for
        10 euros and reload the page//10 euros off//20 euros off, also in the e-mail | 输入 10 元优惠券后刷新页面//抵扣 10 元//抵扣 20 元，邮件中也一样
testtask | 31 | 24.8 | 31 | 25 | acceptance | Acceptance test of Web Shop 4.1 | 网上商城 4.1 验收测试
run | 29 | diego | guest | pass // fail
run | 28.4 | hana | day | pass
run | 27.6 | hana | empty | pass
run | 25.2 | diego | guest | pass // pass
bug | 30 | 27 | 26 | diego | sofia | 3 | 2 | codeerror | fixed | | Postcodes lose a leading zero | 邮编首位的 0 丢失 | Order to 01067 Dresden and open the
        order//the postcode is 01067//it is 1067 | 收货邮编填 010020，下单后查看订单//邮编为 010020//邮编为 10020
bug | 28 | | | hana | emma | 3 | 4 | standard | | | Screen readers skip the choice of the delivery day | 读屏软件跳过送达日期选项 | Turn on the screen reader
        and press Tab after the postcode//"Delivery day, Thursday"//"Card number" | 打开读屏软件，在邮编框按 Tab 键//朗读“送达日期，星期四”//朗读“卡号”
bug | 26 | 25.4 | 24.9 | hana | priya | 2 | 1 | codeerror | fixed | guest | Guests are addressed as "null" in e-mails | 未登录用户的确认邮件称呼显示为“null” |
        Order as a guest and open the e-mail//"Dear customer"//"Dear null" | 免登录下单后打开确认邮件//“尊敬的顾客”//“尊敬的 null”
build | 24.7 | Web Shop 4.1 | 网上商城 4.1
release | 24.2 | | 24 | 0 | Web Shop 4.1: guest checkout | 网上商城 4.1：免登录下单
execution | 20 | | | 19 | -8 | Two-step checkout | 两步结算
story | 20 | 18 | | wei | order | 1 | 13 | Address and payment on one page | 地址和支付合并为一页 | Customers want to enter everything once. Done when address
        and payment share one page and an order takes two steps. | 顾客希望信息只填一次。验收标准：地址和支付在同一页，两步完成下单。
task | 14.4 | 13 | 4 | 3 | design | emma | 12 | 13 | 0 | 4 | Design the page for phones | 设计手机端页面
task | 14.8 | 9 | 0.6 | | devel | priya | 24 | 15 | 8 | 1 | Merge the forms for address and payment | 合并地址与支付表单
task | 14.6 | | | | test | diego | 12 | | | -4 | Test two-step checkout on all devices | 在各种设备上测试两步结算
task | 10 | 6 | 1.2 | | study | tomas | 4 | 2 | 2 | -2 | Watch five customers try the prototype | 观察 5 位顾客试用原型
testcase | steps | 13 | feature | 1 | An order takes two steps | 两步完成下单 | Press "Checkout" > Address and payment on one page // Press "Pay" > The order
        number // Press "Back" > No second order | 点击“结算” > 地址和支付在同一页 // 点击“支付” > 显示订单号 // 点击“后退” > 不会重复下单
story | 19 | 17 | | wei | order | 2 | 5 | Pay with a saved card | 使用已保存的银行卡支付 | Regular customers want to pay without typing the card number. Done
        when only the security code is required. | 老顾客希望支付时不必重新输入卡号。验收标准：只需输入安全码即可支付。
task | 13 | 5 | 0.9 | | devel | yu | 10 | 6 | 4 | 0 | Store the card's token instead of its number | 只保存卡令牌，不保存卡号
task | 8 | | | | affair | admin | 1 | | | 1 | Set up the test devices for Web Shop 4.2 | 配置网上商城 4.2 的测试设备
testcase | saved | 6 | security | 1 | A saved card belongs to one account | 已保存的银行卡仅限本账号使用 | Log out > No card is offered // Log in with another
        account > No card is offered | 退出登录 > 不显示银行卡 // 换账号登录 > 不显示银行卡
build | 17 | Web Shop 4.2 candidate | 网上商城 4.2 候选版
release | 3 | | -9 | 0 | Web Shop 4.2: two-step checkout | 网上商城 4.2：两步结算
testtask | 2.9 | | 3 | -6 | acceptance | Acceptance test of Web Shop 4.2 | 网上商城 4.2 验收测试
run | 2.5 | diego | saved | fail // pass
run | 1.6 | diego | steps | pass // pass // fail
run | 0.6 | hana | typo | pass // pass
bug | 16.4 | 10.4 | 8.2 | diego | priya | 3 | 1 | codeerror | fixed | | The total is off by a cent with three discounts | 叠加 3 个折扣时总额相差 1 分 | Put
        three discounted items, together 29.97, into the basket//a total of 29.97//29.98 | 将 3 件打折商品加入购物车，各行合计 29.97//总额 29.97//29.98
note | 15.3 | priya | Each discount is rounded separately. Shall I round once, at the end? | 现在每个折扣单独取整，改为最后统一取整可以吗？
note | 14.6 | marta | Yes, in the customer's favour. Accounting needs the fix this week. | 可以，按对顾客有利的方向取整。财务希望本周改好。
bug | 13.3 | | | diego | priya | 2 | 1 | performance | | | The payment page is blocked until the chat plug-in loads | 支付页被客服插件加载阻塞 | Block the chat
        server and open the payment page//the form is shown at once//the page is blank for 30 seconds | 屏蔽客服服务器后打开支付页//立即显示表单//白屏 30 秒
bug | 11.4 | 6.2 | 3.1 | diego | priya | 2 | 1 | codeerror | fixed | | The basket is emptied when a card is declined | 银行卡被拒后购物车被清空 | Pay for two
        items with a test card that is declined//both stay in the basket//an empty basket | 购买 2 件商品，用会被拒的测试卡支付//购物车不变//购物车为空
then | 2 | diego | POST /bugs/<id>/active | comment assignedTo:priya | It still happens with cards that send a code by text. | 需要短信验证码的卡仍有此问题。
note | 1.7 | priya | The bank redirects these cards to another address. I am looking into it. | 银行对这类卡会跳转到另一个地址，我正在排查。
bug | 8.6 | | | hana | admin | 2 | 2 | security | | | The card form can be embedded by other sites | 支付表单可被第三方网站嵌入 | Put the payment page into an
        iframe on another site//the browser refuses it//the form is shown and works | 在其他网站用 iframe 嵌入支付页//浏览器拒绝加载//表单可正常提交
bug | 6.3 | 2.6 | | diego | emma | 3 | 2 | designdefect | fixed | | The keyboard covers the pay button on phones | 手机上“支付”按钮被键盘遮挡 | Enter the
        security code on a small phone//"Pay" can be pressed at once//the keyboard covers it | 在小屏手机上输入安全码//可直接点击“支付”//按钮被键盘遮挡
bug | 2.4 | 0.4 | | diego | yu | 1 | 1 | security | fixed | saved | Saved cards are shown to guests on shared devices | 共用设备上未登录用户可看到已保存的银行卡
        | Save a card, log out and order as a guest//no card is offered//its last four digits | 保存银行卡并退出，再免登录下单//不显示卡//显示卡号后 4 位
bug | 1.5 | | | diego | priya | 1 | 1 | codeerror | | steps | Pressing "Pay" twice within a second charges twice | 1 秒内连续点击“支付”会重复扣款 | Choose a
        test card and press "Pay" twice quickly//one order, one charge//one order, two charges | 选择测试卡，快速点击两次“支付”//1 张订单，扣款 1 次//扣款 2 次
note | 0.8 | marta | Is any customer of the live shop affected? | 线上有顾客受影响吗？
note | 0.35 | priya | No, only 4.2 has this page. I will lock the button and check on the server, too. | 没有，4.2 才有这个页面。我会锁定按钮，服务端也加校验。
execution | 6 | | | -9 | -40 | Mobile wallets | 移动钱包支付
story | 11 | 9 | | wei | order | 2 | 8 | Pay with a mobile wallet | 支持移动钱包支付 | Customers with a phone want to pay without typing. Done when the wallet
        provides both address and card. | 手机用户希望免输入完成支付。验收标准：收货地址和银行卡信息均由钱包提供。
task | 5 | | | | request | marta | 4 | | | -3 | Specify what a wallet order shows | 明确钱包订单需展示的内容
task | 4.8 | | | | study | priya | 6 | | | -5 | Compare the fees of the wallets | 比较各家钱包的手续费
story | 9 | 7 | | wei | again | 3 | 5 | Order the same items again | 再次购买相同商品 | Regular customers want to repeat an order. Done when one click puts all
        items still sold into the basket. | 老顾客希望快速复购。验收标准：点击一次，仍在售的商品全部加入购物车。
then | 3 | marta | POST /stories/<id>/change | spec=comment | Regular customers want to repeat an order. Done when one click puts all items still sold into the
        basket, at today's prices. | 老顾客希望快速复购。验收标准：点击一次，仍在售的商品全部按当前价格加入购物车。
story | 1.3 | | | marta,diego | again | 2 | 3 | Confirm a repeated order | 重复下单时再次确认 | Customers want to avoid ordering twice by mistake. Done when the
        same order within ten minutes must be confirmed. | 顾客希望避免误下重复订单。验收标准：10 分钟内提交相同订单时须再次确认。

product | 132.7 | club | wei | diego | yu | Loyalty Club | 会员俱乐部 | Points and invitations of the shop's members. | 商城会员的积分和邀请。
plan | points | 130.2 | 25 | 125 | 30 | doing | Points that can be checked | 积分明细可核对
plan | friends | 45.6 | | 44 | -35 | doing | Members invite members | 会员老带新
project | 131.7 | 129 | -45 | scrum | tomas | private | wei,marta,diego,hana,jonas,priya,yu,emma | Club relaunch | 会员俱乐部改版 | New pages. | 页面改版。
execution | 129 | | 28 | 128 | 30 | Points ledger | 积分账本
story | 122 | 120 | 78 | marta | points | 1 | 13 | Every point has an entry | 每笔积分都有明细 | Members want to know where their points come from. Done when
        all entries are listed and add up to the balance. | 会员希望了解积分从何而来。验收标准：列出全部明细，合计等于余额。
task | 117.8 | 114 | 98 | 96 | devel | yu | 30 | 33 | 0 | 98 | Store points as entries instead of a balance | 积分按明细记账，不直接存余额
task | 116 | 108 | 90 | 88 | devel | priya | 16 | 20 | 0 | 90 | Convert old balances into opening entries | 将旧余额转为期初明细
task | 100 | 91 | 81 | 79 | test | diego | 12 | 12 | 0 | 80 | Compare 1,000 ledgers with the old balances | 抽查 1000 个账本，与旧余额核对
testcase | balance | 116 | feature | 1 | The balance is the sum of the entries | 余额等于明细之和 | Buy for 40 euros > 40 points are added // Return half of it
        > 20 points are deducted | 消费 40 元 > 增加 40 积分 // 退货一半 > 扣回 20 积分
testcase | expiry | 115 | feature | 2 | Points expire at midnight | 积分到期日 24 点失效 | See the balance at 23:59 > Points remain | 23:59 查看余额 > 积分仍在
build | 127 | Loyalty Club 2.4 | 会员俱乐部 2.4
release | 126.8 | 69 | 126 | 0 | Loyalty Club 2.4: family accounts | 会员俱乐部 2.4：家庭账户
bug | 121 | 116 | 114 | wei | yu | 3 | 3 | codeerror | fixed | | Points expire a day too early | 积分提前一天失效 | Open the balance on the last day named in
        the e-mail//points are valid until midnight//no points | 在邮件写明的到期日查看余额//积分在 24 点前有效//0 点起已清零
build | 118 | Loyalty Club 3.0 beta | 会员俱乐部 3.0 测试版
testtask | 80 | 75 | 80 | 76 | system | Ledger with last year's entries | 用去年全部明细测试积分账本
run | 79 | diego | balance | pass // pass
run | 78.4 | diego | expiry | pass
bug | 114 | 109 | 106 | diego | yu | 2 | 2 | codeerror | fixed | balance | Points are kept after goods are returned | 退货后积分未扣回 | Buy for 40 euros and
        return half of it//20 points are deducted//all 40 points remain | 消费 40 元，再退货一半//扣回 20 积分//40 积分全部保留
bug | 99 | 93 | 90 | wei | yu | 2 | 1 | performance | fixed | | A ledger of 9,000 entries takes 31 seconds to load | 明细达 9000 条时账本加载需 31 秒 | Open the
        ledger of a member with 9,000 entries//the first page within 2 seconds//after 31 seconds | 打开有 9000 条明细的会员账本//2 秒内显示第一页//31 秒后才显示
bug | 89 | 84 | 82 | diego | priya | 3 | 4 | codeerror | postponed | | Members who moved abroad keep the old rate | 会员移居国外后仍按旧比例计分 | Change a
        member's country from Poland to Norway//Norway's rate from the next day//Poland's rate | 将会员的国家由波兰改为挪威//次日起按挪威比例//仍按波兰比例
note | 87 | priya | Only twelve members are affected. Can this wait for next year's rates? | 只影响 12 位会员，能否等明年调整比例时再改？
note | 86 | wei | Yes. Until then we pay the difference by hand. | 可以，在那之前我们人工补差额。
bug | 79 | 77 | 76 | hana | yu | 1 | 1 | security | fixed | | Another member's ledger can be opened by its number | 修改网址中的编号可查看他人账本 | Log in and
        change the number in the ledger's address//access is refused//the other member's ledger | 登录后修改账本网址中的编号//拒绝访问//显示他人账本
bug | 74 | 71 | 68 | diego | priya | 2 | 1 | config | fixed | | The test system sends e-mails to real members | 测试环境的邮件发给了真实会员 | Run the birthday
        job on a copy of the data//all e-mails go to the test mailbox//37 go to members | 用数据副本运行生日任务//邮件全部进入测试邮箱//37 封发给了会员
build | 74 | Loyalty Club 3.0 | 会员俱乐部 3.0
release | 73 | | 73 | 1 | Loyalty Club 3.0: points ledger | 会员俱乐部 3.0：积分账本
bug | 62 | 57 | 54 | wei | priya | 3 | 3 | codeerror | fixed | balance | Two returns on the same day share one entry | 同一天两次退货只生成 1 条明细 | Return
        two orders on the same day//two entries in the ledger//one entry, with the sum | 同一天退 2 张订单//账本中有 2 条明细//只有 1 条，积分合并
bug | 53 | 49 | 47 | wei | yu | 3 | 3 | others | external | | Points from partner petrol stations arrive a week late | 合作加油站的积分延迟一周到账 | Fill up at
        a partner's station with the club card//points the next morning//points eight days later | 在合作加油站出示会员卡加油//次日早上到账//8 天后到账
note | 51 | yu | They send one file a week, on Mondays. The contract allows it. | 对方每周一发一次文件，合同允许这样。
note | 50.6 | wei | Then the club page has to say so. I will write a story. | 那会员页上要写明，我来提需求。
bug | 36 | 32 | 29 | wei | priya | 3 | 2 | codeerror | fixed | | Customers with a single name cannot join | 姓名只有一个词的顾客无法入会 | Join as "Suharto",
        without a last name//the customer is a member//"Please give your full name" | 姓名填“Suharto”申请入会//入会成功//提示“请填写完整姓名”
execution | 27 | 8 | | 26 | -20 | Vouchers by text message | 短信优惠券
story | 29 | 27 | | marta | friends | 3 | 5 | A voucher on the member's birthday | 会员生日当天发送优惠券 | Marketing wants to win back members on their
        birthday. Done when the voucher arrives by text message at 10:00. | 市场部希望借生日促进会员回购。验收标准：生日当天 10:00 短信发送优惠券。
task | 24.8 | 21 | 12 | | devel | jonas | 10 | 4 | 6 | 7 | Connect the SMS provider | 接入短信服务商
then | 9 | jonas | POST /tasks/<id>/pause | comment | The provider is changing the contract; we cannot test yet. | 服务商正在变更合同，暂时无法测试。
task | 22 | | | | study | aisha | 4 | | | 9 | Compare three SMS providers | 比较 3 家短信服务商
then | 13 | tomas | POST /tasks/<id>/cancel | comment | The group has chosen one provider for all its companies. | 集团已统一选定服务商，无需比较。
execution | 26 | | | 25 | -10 | Invite a friend | 邀请好友
story | 28.8 | 26 | | marta | friends | 1 | 8 | Invite a friend by a link | 通过链接邀请好友 | Members want to invite friends by a link. Done when both get 500
        points, once, for the friend's first order. | 会员希望用链接邀请好友。验收标准：好友首次下单后双方各得 500 积分，仅一次。
task | 25 | 23 | 12 | 10 | devel | yu | 16 | 17 | 0 | 12 | Create links that cannot be guessed | 生成无法猜测的邀请链接
task | 17 | 11 | 1.5 | | test | diego | 8 | 5 | 3 | -1 | Test inviting oneself, members and new customers | 测试邀请自己、老会员和新顾客
then | 5.6 | diego | PUT /tasks/<id> | comment | Inviting oneself is refused. New customers come next. | 邀请自己会被拒绝，接下来测试新顾客。
testcase | invite | 25 | feature | 1 | Both get points for the first order | 首次下单双方得积分 | Order for the first time > Both get 500 points // Order again
        > Nobody gets points | 好友首次下单 > 双方各得 500 积分 // 好友再次下单 > 双方不再得积分
testcase | guess | 21 | security | 1 | Links cannot be guessed | 邀请链接无法猜测 | Change a letter of a link > "Not found" | 改动链接中一个字母 > 页面不存在
story | 18 | 16 | | marta | friends | 2 | 5 | See which friends have joined | 查看哪些好友已加入 | Members want to know who has accepted an invitation. Done
        when those friends are listed with their nicknames only. | 会员希望知道谁接受了邀请。验收标准：列出已加入的好友，只显示昵称。
task | 13 | 9 | 1.5 | | devel | priya | 8 | 9 | 0 | -2 | List friends by the day on which they joined | 按加入日期列出好友
build | 24.4 | Loyalty Club 3.1 candidate | 会员俱乐部 3.1 候选版
release | 3.5 | | -12 | 0 | Loyalty Club 3.1: invitations | 会员俱乐部 3.1：好友邀请
testtask | 1.5 | | 1 | -7 | acceptance | Acceptance test of Loyalty Club 3.1 | 会员俱乐部 3.1 验收测试
run | 1.3 | diego | invite | pass // pass
run | 1.2 | diego | guess | pass
bug | 22.6 | 18.4 | 15 | diego | yu | 3 | 2 | codeerror | fixed | invite | The invitation names the wrong member | 邀请页显示的邀请人不正确 | Open Anna's link,
        then Ben's in another browser//"Ben invites you"//"Anna invites you" | 先打开小王的链接，再换浏览器打开小李的链接//“小李邀请你”//“小王邀请你”
bug | 17.6 | | | wei | tomas | 3 | 3 | config | | | Invitations by e-mail come from the staging system | 邀请邮件的发件人显示为预发环境 | Invite a friend by
        e-mail//the sender is "Kestrel Club"//the sender is "staging-2" | 通过邮件邀请好友//发件人为“红隼会员俱乐部”//发件人为“staging-2”
bug | 14.5 | 9.1 | 7.9 | diego | yu | 2 | 1 | codeerror | fixed | invite | Points for an invitation are kept after a return | 邀请订单全部退货后积分未扣回 |
        Order by an invitation and return everything//both lose the 500 points//both keep them | 通过邀请下单，再全部退货//双方各扣回 500 积分//双方积分均保留
bug | 7.5 | | | diego | priya | 2 | 3 | performance | | | A list of 900 friends takes 12 seconds to load | 好友达 900 人时列表加载需 12 秒 | Open "My friends"
        as the test member with 900 friends//within 2 seconds//12 seconds | 用有 900 位好友的测试会员打开“我的好友”//2 秒内显示//12 秒后显示
note | 6.4 | diego | One real member has that many friends so far, and there will be more. | 目前真实会员中有一位达到这个数量，以后会更多。
note | 5.2 | wei | Let us fix it after the release. Until then it is acceptable. | 发布之后再改吧，在此之前可以接受。
bug | 5.6 | 1.2 | | hana | yu | 3 | 3 | codeerror | fixed | invite | Links in e-mails fail if a full stop follows | 邮件中的链接末尾带句号时失效 | Mail a link
        with a full stop after it and click on it//the friend's page//"Not found" | 发送链接末尾带句号的邀请并点击//打开好友页面//提示页面不存在
bug | 20.4 | | | wei | diego | 3 | 2 | automation | | | The nightly tests e-mail the managing director | 夜间自动化测试误向总经理发送邀请 | Open the log of the
        latest nightly run//only test addresses//one invitation to the managing director | 查看最近一次夜间测试的日志//只发给测试邮箱//有 1 封发给总经理
bug | 19.6 | 15.2 | 12.6 | diego | yu | 2 | 2 | codeerror | fixed | invite | Umlauts in the friend's name make the link invalid | 好友姓名含生僻字时链接失效 |
        Invite "Jürgen" and open the link//the invitation is shown//"This invitation is not valid" | 邀请“张垚燚”并打开链接//显示邀请页//提示“邀请无效”
story | 27 | 25 | | marta | friends | 4 | 13 | A plastic card for members | 实体会员卡 | Members want a card that they can show. Done when all with more than
        5,000 points have received one by post. | 会员希望有可出示的卡片。验收标准：积分超过 5000 的会员均收到邮寄的实体卡。
then | 20 | wei | POST /stories/<id>/close | closedReason:willnotdo comment | The survey shows no demand for it. | 调研显示没有这个需求。
story | 1.6 | | | marta,diego,admin | | 2 | 5 | Transfer points to another member | 积分转赠 | Members want to share points with their family. Done when they
        can transfer up to 1,000 points a month. | 会员希望把积分转给家人。验收标准：每月最多可转赠 1000 积分。

program | 133.5 | 131 | -200 | aisha | open | Delivery | 履约配送
product | 132.5 | depot | wei | hana | jonas | Warehouse | 仓储系统 | Receiving, picking and packing in two halls. | 两个库区的收货、拣货和打包。
plan | paper | 130.4 | 20 | 128 | 22 | doing | Paperless picking | 无纸化拣货
plan | parcels | 60 | | 58 | -40 | doing | Parcels without packing errors | 降低打包差错
project | 131.5 | 129 | -60 | waterfall | aisha | open | | Handhelds in the warehouse | 仓库手持终端 | Scanners replace paper lists. | 用扫码终端代替纸单。
execution | 124 | | 22 | 123 | 23 | Picking by scanner | 扫码拣货
story | 121 | 119 | 48 | marta | paper | 1 | 13 | Pick an order by scanning each item | 逐件扫码拣货 | Pickers want to notice mistakes at the shelf. Done when
        every item is scanned and a wrong one is refused. | 拣货员希望当场发现拣错。验收标准：商品逐件扫码，扫错时拒绝并提示。
task | 118 | 116 | 90 | 88 | devel | jonas | 32 | 38 | 0 | 90 | Develop the picking screen of the scanner | 开发终端拣货界面
task | 115.6 | 110 | 104 | 101 | design | emma | 6 | 8 | 0 | 104 | Choose sounds that can be heard in both halls | 选定两个库区都能听清的提示音
testcase | pick | 115 | feature | 1 | Scan a wrong item | 扫描错误的商品 | Scan an item of another order > A low sound, nothing is counted // Scan the right
        item > A high sound, one is counted | 扫描其他订单的商品 > 低音提示，不计数 // 扫描正确的商品 > 高音提示，计数加 1
story | 96 | 94 | | marta | paper | 2 | 8 | Pick several orders in one round | 多张订单合并拣货 | Pickers want to walk less. Done when up to six orders of
        one hall can be picked in one round. | 拣货员希望少走路。验收标准：同一库区最多 6 张订单可合并拣货。
then | 21 | marta | PUT /stories/<id> | comment | Stays open until both halls have used it for a month. | 两个库区试用满一个月后再关闭。
task | 86 | 69 | 54 | 52 | devel | yu | 24 | 27 | 0 | 54 | Sort the shelves of a round | 计算合并拣货的货架顺序
testcase | walk | 66 | performance | 2 | A round of six orders is planned quickly | 6 单合并时快速规划路径 | Put six orders into one round > The first shelf is
        shown within 2 seconds | 将 6 张订单合并拣货 > 2 秒内显示第一个货架
testcase | network | 43 | feature | 1 | Picking goes on offline | 断网不影响拣货 | Switch Wi-Fi off on a round > It goes on | 拣货途中关闭 Wi-Fi > 任务继续
build | 117 | Warehouse 2.0 beta | 仓储系统 2.0 测试版
testtask | 60 | 42 | 60 | 43 | system | Paperless work in both halls | 两个库区无纸化运行测试
run | 59 | hana | walk | fail
run | 57.5 | hana | pick | pass // pass
run | 46 | hana | walk | pass
bug | 112 | 106 | 103 | hana | jonas | 3 | 2 | codeerror | fixed | | Receiving counts a pallet as one item | 收货时整托商品只计 1 件 | Scan the label of a
        pallet of 48 mugs//the stock rises by 48//it rises by 1 | 扫描一托盘 48 个马克杯的标签//库存增加 48//库存只增加 1
bug | 106 | 101 | 98 | wei | jonas | 1 | 1 | codeerror | fixed | pick | Stock goes below zero when two take the last item | 两人同时拣最后一件时库存变为负数 |
        Scan the last mug with two scanners at once//the second one refuses it//the stock is -1 | 两台终端同时扫描最后一个马克杯//第二台拒绝//库存变为 -1
bug | 96 | 92 | 89 | hana | emma | 4 | 2 | designdefect | fixed | | Colour-blind pickers cannot tell the lamps apart | 色弱员工无法区分红绿指示灯 | Let a
        colour-blind picker work at belt 2//"stop" and "go" differ clearly//they look alike | 请色弱员工在 2 号传送带作业//“停”“走”易于区分//看起来一样
bug | 84 | 80 | 78 | wei | yu | 3 | 3 | codeerror | external | | Two suppliers use the same barcode for different teas | 两家供应商的不同茶叶条码重复 | Scan the
        green tea at shelf A-12 and the black tea at C-3//two teas//green tea at both | 扫描 A-12 的绿茶和 C-3 的红茶//识别为两种茶//都识别为绿茶
note | 83 | yu | One of them has used a number for years that is not theirs. We cannot fix that. | 其中一家多年来一直用着别人的条码，我们无法修复。
bug | 76 | 72 | 69 | hana | jonas | 2 | 1 | codeerror | fixed | pick | An item is counted twice if it is scanned twice quickly | 短时间内重复扫码会重复计数 |
        Scan an item twice within 0.1 seconds//one is counted//two are counted | 0.1 秒内扫描同一件商品两次//计 1 件//计 2 件
bug | 58 | 54 | 50 | hana | yu | 2 | 2 | performance | fixed | walk | Planning a round of six orders takes 11 seconds | 6 单合并时路径规划需 11 秒 | Put six
        orders with 40 shelves into one round//within 2 seconds//11 seconds, most for aisle 7 | 合并 6 单共 40 个货架//2 秒内完成//11 秒，主要耗在 7 号通道
bug | 46 | 43 | 41 | hana | jonas | 2 | 1 | performance | fixed | | Scanners lose the round when the connection drops | 终端断网后拣货任务丢失 | Go behind the
        cold room during a round//the round goes on//"No connection", and a new round | 拣货途中走到冷库后方//任务继续//提示“无连接”，任务重新开始
build | 40 | Warehouse 2.0 | 仓储系统 2.0
release | 38 | | 38 | 1 | Warehouse 2.0: paperless picking | 仓储系统 2.0：无纸化拣货
bug | 37 | 33 | 30 | hana | sofia | 3 | 2 | standard | fixed | | "Confirm" is hard to press with gloves on | 戴手套时“确认”键难以点中 | Confirm ten shelves in
        the cold room with gloves on//one press each//three to five presses each | 在冷库戴手套确认 10 个货架//每个点击 1 次//每个需点击 3 到 5 次
bug | 32 | | | aisha | tomas | 3 | 2 | config | | | Labels of hall 2 are printed in hall 1 | 2 号库区的标签在 1 号库区打印机打出 | Press "Print label" in hall
        2//the printer of hall 2 prints it//the printer of hall 1 does | 在 2 号库区点击“打印标签”//由 2 号库区打印机打出//由 1 号库区打印机打出
execution | 31 | | | 30 | -12 | Packing by scanner | 扫码打包
story | 35 | 33 | 8 | marta | parcels | 1 | 8 | Weigh each parcel before it is closed | 封箱前称重每个包裹 | Packers want to find missing items before shipping.
        Done when a supervisor must confirm any difference of over 50 grams. | 打包员希望发货前发现漏装。验收标准：误差超过 50 克须主管确认。
task | 30 | 29 | 12 | 10 | devel | jonas | 20 | 23 | 0 | 13 | Read the scales over the network | 通过网络读取电子秤
testcase | weigh | 29 | feature | 1 | A missing item is noticed | 漏装一件会被发现 | Leave a mug out > The scales show the difference // Close the parcel anyway
        > A supervisor must confirm | 漏放一个马克杯 > 显示重量差 // 强制封箱 > 须主管确认
story | 28.6 | 26 | | marta | parcels | 2 | 5 | The scanner proposes the box | 终端推荐箱型 | Packers want to pick the right box at once. Done when the scanner
        names the smallest one that holds everything. | 打包员希望一次选对箱子。验收标准：终端推荐能装下全部商品的最小箱型。
task | 24.6 | 21 | 0.4 | | devel | jonas | 16 | 11 | 6 | 1 | Choose the best of twelve boxes | 在 12 种箱型中选择最合适的
task | 7 | | | | affair | admin | 2 | | | -2 | Create accounts for the packers of the late shift | 为晚班打包员开通账号
task | 11 | 5 | 1.3 | | design | emma | 4 | 3 | 1 | 0 | Design an icon for fragile goods | 设计易碎品图标
testcase | | 9 | feature | 2 | Fragile goods come last | 易碎品最后装箱 | Pack two glasses and six tins > Glasses last | 打包 2 只玻璃杯和 6 罐汤 > 最后放玻璃杯
build | 28.6 | Warehouse 2.1 candidate | 仓储系统 2.1 候选版
release | 2.2 | | -12 | 0 | Warehouse 2.1: packing by scanner | 仓储系统 2.1：扫码打包
testtask | 1.6 | | 1 | -7 | acceptance | Acceptance test of Warehouse 2.1 | 仓储系统 2.1 验收测试
run | 1.4 | hana | weigh | pass // pass
run | 1.1 | hana | network | pass
bug | 27.4 | 22.5 | 20 | wei | jonas | 2 | 1 | codeerror | fixed | weigh | Things left on the scales hide a missing item | 秤上有遗留物时漏装未被发现 | Leave a
        mug out and a roll of tape on the scales//180 grams are missing//the weight is accepted | 漏放一个马克杯，留一卷胶带在秤上//提示少 180 克//称重通过
bug | 18.3 | 13.3 | | hana | sofia | 3 | 3 | codeerror | fixed | | The 30-litre box is recommended for posters | 海报类商品被推荐使用 30 L 箱 | Pack an order of
        a single poster//the tube is recommended//box 9, of 30 litres | 打包只含一张海报的订单//推荐圆筒//推荐 9 号箱（30 L）
note | 17.2 | sofia | Posters have no dimensions: two of their sides are 0. | 海报缺少尺寸数据，有两边为 0。
bug | 23.5 | 18.6 | 16.7 | wei | jonas | 3 | 3 | security | fixed | weigh | Parcels stay unlocked after a supervisor's badge | 主管刷卡后任何人都能开箱 | Open a
        parcel by badge, close it and open it without one//refused//it opens for ten minutes | 刷主管卡开箱并封箱，再不刷卡开箱//拒绝//10 分钟内都能打开
bug | 10.6 | 6.1 | | hana | sofia | 2 | 2 | codeerror | fixed | | Packing advice puts fragile goods below tins | 装箱建议将易碎品排在罐头下方 | Pack two glasses
        and six tins of soup//the scanner names the glasses last//it names them first | 打包 2 只玻璃杯和 6 罐汤//终端最后提示放玻璃杯//终端先提示放玻璃杯
bug | 5.9 | 0.03 | | hana | jonas | 2 | 2 | codeerror | fixed | weigh | Damp boxes exceed the weight limit | 纸箱受潮后称重超出误差范围 | Pack ten orders in
        boxes that stood at the open gate//the scales accept them//seven are too heavy | 用放在库门边的纸箱打包 10 单//称重通过//7 单超重
note | 4.4 | jonas | The boxes were damp from the rain. Shall the limit be a percentage instead of 50 grams? | 纸箱淋雨受潮了。误差由 50 克改为按百分比可以吗？
note | 3.2 | wei | Yes, 2 %, but never less than 50 grams. | 可以，按 2%，但不少于 50 克。
bug | 0.09 | | | hana | | 3 | 3 | codeerror | | | A picking task cannot be passed on to another picker | 拣货任务无法转派给他人 | Start a round and log in to
        the scanner as another picker//"Take over?"//an empty screen | 开始拣货后换其他拣货员登录终端//提示“是否接手？”//页面空白
execution | 5 | | | -14 | -50 | Trial in hall 2 | 2 号库区试运行
story | 12 | 10 | | marta | parcels | 2 | 5 | Packing by scanner in hall 2 | 2 号库区扫码打包 | Hall 2 wants to pack like hall 1. Done when its packers use the
        same screens with the shelves of their own hall. | 2 号库区希望与 1 号库区流程一致。验收标准：界面相同，货架为本库区数据。
task | 4.6 | | | | test | hana | 8 | | | -20 | Pack 100 orders in hall 2 | 在 2 号库区试打包 100 单
task | 3 | | | | affair | aisha | 3 | | | -15 | Train the late shift on the scanners | 给晚班做终端使用培训
project | 15 | -20 | -150 | waterfall | aisha | open | | Paperless returns | 无纸化退货 | Returns reach the shelf without a form. | 退货从验收到上架不用填单。
story | 6 | | | marta | | 3 | 8 | Check returned goods on arrival | 退货到仓即验收 | The returns team wants proof of the condition of goods. Done when each item
        is checked and photographed on arrival. | 退货组希望留存商品状态的凭证。验收标准：每件退货到仓即验收并拍照。

product | 132.3 | app | marta | hana | sofia | Driver App | 司机应用 | Routes, stops and signatures on each driver's phone. | 每位司机手机上的路线、站点和签收。
plan | tours | 130.6 | 20 | 126 | 21 | doing | Routes that adapt during the day | 路线随当天订单调整
plan | offline | 40 | | 38 | -30 | doing | Deliveries without a network | 断网也能配送
project | 131.3 | 128 | -48 | scrum | aisha | open | | Same-day delivery | 当日达 | Ordered before noon, delivered by nine. | 中午前下单，当天 21 点前送达。
execution | 128 | | 21 | 127 | 22 | Automatic route updates | 路线自动更新
story | 120 | 118 | 22 | wei | tours | 1 | 13 | Add new orders to a route under way | 新订单加入进行中的路线 | Dispatchers want to deliver new orders the same
        day. Done when a driver on the road can accept or refuse a stop. | 调度员希望新订单当天送达。验收标准：司机在途中可接受或拒绝新站点。
task | 117.6 | 110 | 94 | 92 | devel | sofia | 30 | 35 | 0 | 94 | Insert a stop with the shortest detour | 按绕行最短的方案插入站点
task | 115.8 | 108 | 99 | 97 | design | emma | 8 | 7 | 0 | 99 | Design how to refuse a stop with one hand | 设计单手拒绝站点的操作
task | 93 | 90 | 72 | 70 | test | hana | 12 | 15 | 0 | 72 | Test in a van for three days | 跟车实测 3 天
testcase | insert | 95 | feature | 1 | A stop is inserted into a route | 路线中插入站点 | Order with an address on the way > The driver is asked // Accept > The
        map shows the stop | 下一张顺路的订单 > 询问司机 // 接受 > 地图显示该站点
testcase | calloff | 54 | feature | 2 | A cancelled stop leaves the route | 已取消的站点从路线中移除 | Cancel an order that is out for delivery > The map drops
        the stop | 取消一张配送中的订单 > 地图不再显示该站点
story | 98 | 96 | 55 | wei | tours | 3 | 5 | Routes avoid school streets in the morning | 早高峰避开学校路段 | Drivers want to avoid traffic at schools. Done
        when routes avoid school streets at eight on school days. | 司机希望避开学校周边拥堵。验收标准：上学日早上 8 点的路线不经过学校路段。
task | 92 | 84 | 66 | 64 | devel | yu | 14 | 13 | 0 | 66 | Close streets by time of day | 按时段设置禁行路段
build | 127 | Driver App 5.4 | 司机应用 5.4
release | 126.6 | 40 | 126 | 0 | Driver App 5.4: signatures | 司机应用 5.4：电子签收
bug | 124 | 119 | 117 | hana | sofia | 3 | 2 | codeerror | fixed | | Signatures are cut off on the right | 签名右侧被截断 | Turn the phone sideways and sign//
        the whole signature on the receipt//its last third is missing | 手机横屏签名//签收单上签名完整//缺少最后三分之一
build | 116 | Driver App 6.0 beta | 司机应用 6.0 测试版
bug | 111 | 106 | 103 | hana | sofia | 2 | 2 | codeerror | fixed | | The map is empty after the phone was locked | 手机锁屏后地图空白 | Lock the phone for a
        minute during a route//the map is shown again//a grey area until the app is restarted | 配送途中锁屏 1 分钟后解锁//显示地图//一片灰色，重启 App 才恢复
bug | 101 | 97 | 94 | hana | sofia | 1 | 1 | codeerror | fixed | | Yesterday's route is started again | 前一天的路线被再次启动 | Leave a route open and open the
        app next morning//the new route//the old route; its customers get a message | 路线未结束，次日早上打开 App//新路线//旧路线，顾客还收到通知
bug | 92 | 87 | 84 | hana | sofia | 2 | 1 | performance | fixed | | The app uses up the battery by 15:00 | App 耗电过快，15 点前电量耗尽 | Drive a whole route
        with a charged phone//30 % are left at 18:00//it switches off at 15:00 | 手机充满电后跑完整条路线//18 点剩余 30% 电量//15 点自动关机
note | 91 | sofia | The position is requested every second, even in a traffic jam. | 目前每秒定位一次，堵车时也一样。
note | 90 | aisha | Every ten seconds is enough for the dispatchers. | 对调度来说 10 秒一次足够。
bug | 82 | 79 | 76 | hana | sofia | 2 | 2 | codeerror | fixed | insert | An inserted stop is placed after the depot | 插入的站点排在返仓之后 | Accept an order
        on the way with one stop left//the depot comes last//the new stop comes last | 只剩 1 站时接受顺路订单//返仓排在最后//新站点排在最后
bug | 67 | 63 | 60 | hana | sofia | 2 | 2 | security | fixed | | Photographs are not deleted from the phone | 送达照片未从手机中删除 | Open the gallery a week
        after a route with photographs//no picture of a customer's door//all 43 pictures | 路线结束一周后打开手机相册//没有顾客家门口的照片//43 张照片都在
testtask | 59 | 53 | 59 | 54 | system | Trial of Driver App 6.0 with ten vans | 司机应用 6.0 十车试运行
run | 58 | hana | insert | pass // fail
bug | 57 | 54 | 53 | hana | sofia | 2 | 1 | codeerror | fixed | insert | A cancelled stop stays on the map | 已取消的站点仍显示在地图上 | Cancel an order that
        is out for delivery//the stop leaves the map//it stays until the app is restarted | 取消一张配送中的订单//地图不再显示该站点//重启 App 前一直显示
build | 52 | Driver App 6.0 | 司机应用 6.0
release | 51 | | 51 | 1 | Driver App 6.0: automatic route updates | 司机应用 6.0：路线自动更新
bug | 47 | | 42 | hana | yu | 3 | 3 | codeerror | | | The map stays empty after a phone call | 接听电话后地图空白 | Take a phone call during a route and hang
        up//the map is shown//a grey area, as after locking | 配送途中接听电话后挂断//显示地图//一片灰色，与锁屏后相同
then | 44 | yu | POST /bugs/<id>/resolve | resolution:duplicate duplicateBug:7 comment | The same cause as with the locked phone. | 与锁屏后地图空白是同一原因。
execution | 23 | | | 22 | -11 | Offline routes | 离线路线
story | 22 | 20 | | wei | offline | 1 | 13 | A route goes on without a network | 断网时路线照常进行 | Drivers want to work without a network. Done when the
        whole route is on the phone and stops can be completed offline. | 司机希望断网时也能配送。验收标准：整条路线已下载，可离线完成站点。
task | 19 | 18 | 2.8 | 1.6 | devel | sofia | 24 | 26 | 0 | 3 | Download the whole route before departure | 出发前下载整条路线
task | 18 | 15 | 0.7 | | devel | yu | 20 | 13 | 7 | 2 | Merge the offline work of two phones | 合并两台手机的离线操作
task | 12 | 4 | 0.5 | | test | diego | 10 | 4 | 6 | -1 | Test offline routes in the port tunnel | 在港口隧道实测离线路线
testcase | tunnel | 20 | feature | 1 | A stop is completed in a tunnel | 在隧道里完成站点 | Switch the network off > The offline icon appears // Complete a stop
        > It is ticked // Switch the network on > Dispatchers see it | 关闭网络 > 显示离线图标 // 完成一站 > 标记已完成 // 打开网络 > 调度端可见
testcase | longest | 14 | performance | 2 | Long routes load quickly | 长路线快速下载 | Load 140 stops > Done in a minute | 下载 140 个站点 > 1 分钟内完成
story | 16 | 14 | 1.1 | wei | offline | 4 | 3 | Show since when the phone has been offline | 显示离线起始时间 | Drivers want to know how old the data are. Done
        when all lists show since when the phone has been offline. | 司机希望知道数据是否最新。验收标准：所有列表都显示从何时起离线。
task | 2.9 | 2.6 | 1.9 | 1.65 | devel | sofia | 3 | 4 | 0 | 1 | Show the offline time above the lists | 在列表上方显示离线时间
story | 10 | 8 | | wei | | 2 | 5 | Customers see where the van is | 顾客可查看车辆位置 | Customers want to know when to be at home. Done when those of the next
        three stops see the van on a map. | 顾客希望知道何时在家等候。验收标准：接下来 3 站的顾客可在地图上查看车辆。
build | 22 | Driver App 6.1 beta | 司机应用 6.1 测试版
release | 1.4 | | -13 | 0 | Driver App 6.1: offline routes | 司机应用 6.1：离线路线
testtask | 1.8 | | 2 | -5 | performance | One week on the road with 6.1 beta | 6.1 测试版一周路测
run | 1.6 | hana | insert | pass // pass
run | 1.25 | hana | calloff | pass
run | 0.75 | hana | longest | fail
run | 0.45 | diego | tunnel | pass // pass // fail
bug | 21.4 | 17.4 | 15 | hana | yu | 2 | 1 | codeerror | fixed | | A refused stop reappears after an hour offline | 离线 1 小时后已拒绝的站点重新出现 | Refuse a
        new stop and switch the network off for an hour//it stays refused//it is back on the list | 拒绝新站点后断网 1 小时//保持已拒绝//重新出现在列表中
bug | 15.6 | | | aisha | sofia | 2 | 2 | performance | | | Loading a route of 140 stops takes four minutes | 下载含 140 个站点的路线耗时 4 分钟 | Load the
        longest route at the depot, with 40 vans//within a minute//four minutes | 在配送站与 40 辆车同时下载最长的路线//1 分钟内完成//4 分钟
bug | 9.5 | 4.4 | 2.1 | hana | sofia | 3 | 1 | codeerror | fixed | tunnel | The app shows "Sent" before a stop was sent | 站点未上传却显示“已同步” | Complete a
        stop offline and switch the network on for a second//"Not sent"//"Sent" | 离线完成一站，联网 1 秒后再断开//显示“未同步”//显示“已同步”
bug | 10.2 | | | hana | marta | 4 | 3 | others | | | The meaning of "Merge" is unclear | “合并”文案含义不清 | Ask four drivers what "Merge" does//"It makes one
        list of two"//four different answers | 询问 4 位司机“合并”的作用//“两份记录合成一份”//4 种不同的回答
bug | 3.7 | 0.65 | | hana | sofia | 2 | 2 | codeerror | fixed | | The van's position is wrong without a network | 断网时车辆位置显示错误 | Drive along the river
        without a network//the last known position//a position in the river | 断网沿河行驶//显示最后已知位置//显示在河道中
bug | 0.42 | | | diego | yu | 1 | 1 | codeerror | | tunnel | Progress is lost if the phone restarts without a network | 断网时重启手机后路线进度丢失 | Complete
        two stops offline and restart the phone//the route goes on at stop 3//it begins at stop 1 | 断网完成 2 站后重启手机//从第 3 站继续//从第 1 站重新开始
note | 0.3 | aisha | This blocks the road test. When will it be fixed? | 这会阻塞路测，什么时候能修好？
note | 0.1 | yu | I have found the cause. The fix comes with the next build. | 原因已找到，下一个版本修复。
bug | 4.2 | | | hana | | 3 | 4 | designdefect | | | A map icon covers the house number | 地图图标遮挡门牌号 | Open a stop with a long address offline//the whole
        address is shown//the offline icon covers the house number | 断网时打开地址较长的站点//完整显示地址//离线图标遮挡门牌号
department | 4.2 | marta | Finance | 财务部
program | 4.1 | -20 | -260 | marta | open | Sales abroad | 海外销售
"""
# THE ACTS: what happens to the rows of a kind, in this order. Each line: the kind | when | who | the operation | what it sends.
#   when    the column that says when it happens, unless its cell is empty
#   who     the column with the account of the caller, or an account
#   sends   the fields of the body: `title` sends the cell of that column, `dept=department` the cell of another one, and `acl:open` this word
# A `then` names its operation and its fields in its own row.
ACTS = """\
department | opened    | admin      | POST /departments              | name manager
user       | opened    | admin      | PUT /users/<user>              | realname role email dept=department
program    | opened    | admin      | POST /programs                 | name begin end PM acl
product    | opened    | admin      | POST /programs/<id>/products   | name desc code PO QD RD acl
plan       | opened    | PO         | POST /products/<id>/plans      | title begin end status
plan       | closed    | PO         | PUT /productplans/<id>         | status:closed
project    | opened    | PM         | POST /programs/<id>/projects   | name desc code begin end model products PM PO QD RD acl whitelist
execution  | opened    | PM         | POST /projects/<id>/executions | name code begin end PM PO QD RD acl
execution  | suspended | PM         | PUT /executions/<id>           | status:suspended
execution  | closed    | PM         | PUT /executions/<id>           | status:closed
story      | opened    | PO         | POST /products/<id>/stories    | title spec reviewer plan pri estimate category:feature
story      | reviewed  | reviewer   | POST /stories/<id>/review      | result:pass assignedTo=RD
story      | closed    | PO         | POST /stories/<id>/close       | closedReason:done
task       | opened    | PM         | POST /executions/<id>/tasks    | name type pri assignedTo estimate story estStarted=opened deadline
task       | started   | assignedTo | POST /tasks/<id>/start         |
task       | worked    | assignedTo | POST /tasks/<id>/estimate      | consumed left work=name
task       | closed    | PM         | POST /tasks/<id>/close         |
testcase   | opened    | QD         | POST /products/<id>/testcases  | title type pri story steps
build      | opened    | RD         | POST /projects/<id>/builds     | name product execution builder=RD date=opened stories bugs
release    | opened    | PO         | POST /projects/<id>/releases   | name product build date marker stories bugs=fixed
release    | stopped   | PO         | PUT /releases/<id>             | status:terminate
testtask   | opened    | QD         | POST /projects/<id>/testtasks  | name product execution build begin end owner=QD type testcases status:doing
testtask   | done      | QD         | PUT /testtasks/<id>            | status:done
run        | opened    | by         | POST /testcases/<id>/results   | testtask steps
bug        | opened    | by         | POST /products/<id>/bugs       | title severity pri type steps assignedTo openedBuild=build execution case
bug        | resolved  | assignedTo | POST /bugs/<id>/resolve        | resolution resolvedBuild:trunk
bug        | closed    | by         | POST /bugs/<id>/close          |
note       | opened    | by         | PUT /bugs/<id>                 | comment
then       | opened    | by         |                                |
"""
# Columns of ids, which are looked up: a build or release has the stories of its execution that are done; a build, the bugs fixed since the last build;
# a release, those fixed since the last release.
IDS = {
    "testcases": "SELECT group_concat(id) FROM testcase WHERE product = :product",
    "stories":   "SELECT group_concat(story) FROM (SELECT story FROM task WHERE execution = :execution GROUP BY story HAVING min(status = 'closed'))",
    "bugs":      "SELECT group_concat(id) FROM bug WHERE product = :product AND resolution = 'fixed' AND id NOT IN (SELECT bug FROM build_bug)",
    "fixed":     "SELECT group_concat(id) FROM bug WHERE product = :product AND resolution = 'fixed' AND resolvedDate > "
                 "coalesce((SELECT max(date) FROM release WHERE product = :product), '')",
}
# fmt: on
DAYS_IN_SCRIPT = ("opened", "begin", "end", "date", "deadline")
EXPECTED_AND_FOUND = {"en": "Expected: {}\nFound: {}", "zh": "期望：{}\n实际：{}"}
GOLDEN = 0.618034  # see Play.perform_all


@dataclasses.dataclass(eq=False)
class Row:
    """A row of the script.

    cells: by column, its own cells and those that it takes from the rows above; by kind, the row
        itself and the last row above of each other kind, to which it belongs.
    id: of its record, once that is made; before that, of a user, the account.
    """

    kind: str
    cells: Members
    id: int | str = 0


def cells_in(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    return [cell.strip() for cell in line.split("|")]


def read_script(language: str) -> list[Row]:
    """Return the rows of the script, with the texts of one language."""
    columns: dict[str, list[str]] = {}
    keys: dict[str, Row] = {}
    above: Members = {}
    rows: list[Row] = []
    for line in re.sub(r"\n +", " ", SCRIPT).splitlines():
        kind, *cells = cells_in(line)
        if kind.endswith(":"):
            columns[kind[:-1]] = [cell.removesuffix(f" {language}") for cell in cells]
        elif kind:
            own: Members = dict(zip(columns[kind], cells, strict=True))
            for column in ("plan", "testcase", "case"):
                if own.get(column):
                    own[column] = keys[own[column]]
            if "steps" in own:
                own["steps"] = read_steps(kind, own["steps"], language)
            row = Row(kind, {**above, **own})
            row.cells[kind] = row
            above = row.cells
            rows.append(row)
            if "key" in own:
                keys[own["key"]] = row
    return rows


def read_steps(kind: str, cell: str, language: str) -> Any:
    """Return the steps of a bug, which are text, or of a test case or a run, which are a list."""
    steps = re.split(" *// *", cell)
    if kind == "bug":
        *done, expected, found = steps
        return "\n".join([*done, EXPECTED_AND_FOUND[language].format(expected, found)])
    if kind == "testcase":
        pairs = [step.split(" > ") for step in steps]
        return [{"desc": step, "expect": expected} for step, expected in pairs]
    return [{"result": step} for step in steps]


class Calendar:
    """The workdays up to now, from Monday to Friday, from 9 to 18 o'clock with lunch at 12."""

    def __init__(self, now: datetime):
        self.now = now
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        self.monday = midnight - timedelta(days=now.weekday())
        self.today = min(now.weekday(), 4)  # on a weekend, Friday

    def day(self, age: float) -> datetime:
        """Return the beginning of the day so many workdays before today."""
        weeks, weekday = divmod(self.today - math.floor(age), 5)
        return self.monday + timedelta(weeks=weeks, days=weekday)

    def moment(self, age: float) -> datetime:
        """Return the moment so many workdays before now.

        Today's work begins an hour ago at the latest, so that early on a Monday something was done
        this week already.
        """
        day = self.day(age)
        if age >= 1:
            worked = 8 - age % 1 * 8
            return day + timedelta(hours=9 + worked + (worked > 3))
        end = min(day + timedelta(hours=18), self.now)
        begin = max(day, min(day + timedelta(hours=9), end - timedelta(hours=1)))
        return end - age * (end - begin)


class Play:
    """The performance of the script in a database, up to now."""

    def __init__(self, store: Store, language: str):
        self.script = read_script(language)
        self.acts = [cells_in(line) for line in ACTS.splitlines()]
        self.store = store
        self.calendar = Calendar(store.clock().astimezone(store.zone))
        self.operations = {f"{row.method} {row.path}": row for row in OPERATIONS}

    def perform_all(self) -> None:
        """Perform the acts of all rows, in the order of their moments.

        The golden ratio's products with squares look like chance, and are the same at each start:
        so people do not act at the same minute, nor do the acts of a row lie evenly.
        """
        events: list[tuple[float, Row, str, str, str]] = []
        for row in self.script:
            if row.kind == "user":
                self.store.add_person(row.cells["account"])
                row.id = row.cells["account"]
            for kind, when, who, operation, sends in self.acts:
                if kind == row.kind and row.cells[when]:
                    age = float(row.cells[when])
                    spread = len(events) ** 2 * GOLDEN % 1
                    age += spread if age.is_integer() else spread / 20
                    events.append((age, row, who, operation, sends))
        events.sort(key=lambda event: -event[0])
        for event in events:
            self.perform(*event)

    def perform(self, age: float, row: Row, who: str, name: str, sends: str) -> None:
        """Perform one act, as the service performs a request."""
        moment = self.calendar.moment(age)
        account = row.cells.get(who, who)
        caller = Caller(account, account == ADMIN)
        store = self.store
        store.begin(lambda: moment, caller, store.labels)
        if not name:
            name, sends = row.cells["operation"], row.cells["sends"]
        operation = self.operations[name]
        kind = operation.target.removesuffix(" or project")  # an execution
        named = find_named(store, operation, row.cells[kind].id if kind else 0)
        fields = {}
        for word in sends.split():
            field, colon, value = word.partition(":")
            if not colon:
                field, _, column = word.partition("=")
                value = self.value(store, row, column or field)
            fields[field] = value
        row.id = carry_out(store, operation, named, fields)

    def value(self, store: Store, row: Row, column: str) -> Any:
        """Return what a column of a row sends."""
        if column in IDS:
            ids = {kind: cell.id for kind, cell in row.cells.items() if isinstance(cell, Row)}
            return store.value(IDS[column], ids)
        if column == "products":
            return [row.cells["product"].id]
        cell = row.cells[column]
        if isinstance(cell, Row):
            return cell.id
        if cell and column in DAYS_IN_SCRIPT:
            return str(self.calendar.day(float(cell)).date())
        return cell


def share_password(database: Database) -> str:
    """Give admin's password to the users of DEMO_LOGINS. Return the sentence that says so, or "".

    They get a copy of its hash, because hashing takes 30 ms. Who has a password is left out: a
    copy changes with admin's (Store.change_password). Their e-mail addresses, at a domain that
    nobody can own, tell the demo's people from others with these accounts.
    """
    with database.writing() as store:
        given = store.run(f"""
            UPDATE user SET password = admin.password FROM user AS admin
            WHERE admin.account = '{ADMIN}' AND admin.password IS NOT NULL
                AND user.password IS NULL AND NOT user.deleted
                AND user.account IN {DEMO_LOGINS}
                AND user.email = user.account || '@kestrel.example'
            RETURNING account, realname
        """).fetchall()
    names = dict(map(tuple, given))
    people = [f"{account} ({names[account]})" for account in DEMO_LOGINS if account in names]
    if not people:
        return ""
    return f"You can log in as {', '.join(people)} with the password of {ADMIN}."


# --- 19 Application: create_app(), running() and what the pytest plugin calls ---------------------
# The entry points for Python programs, and the table of settings, which the command line shares.
# Nothing here answers requests.

CALLS_REPORTED = 20  # of each service, when a test has failed
FilePath = str | os.PathLike[str]
FixtureSource = FilePath | Fields  # a file or a document
YES = ("1", "true", "yes", "on")
NO = ("0", "false", "no", "off")
utc_now = functools.partial(datetime.now, timezone.utc)


class SettingKind(NamedTuple):
    """A type of settings: the reader of their values, and the rule that these follow.

    The reader raises ValueError, TypeError or AttributeError for a value that breaks the rule.
    """

    read: Callable[[Any], Any]
    rule: str

    def value(self, given: object, name: str) -> Any:
        """Return the value of the setting that a message calls `name`. Raises StartError."""
        try:
            return self.read(given)
        except (ValueError, TypeError, AttributeError):
            got = "" if SECRET.search(name) else f" (got {given!r})"
            raise StartError(f"{name} {self.rule}{got}") from None


class Setting(NamedTuple):
    """A setting: its flag wins over its environment variable, and that over the default.

    `create_app` takes those that are in `Settings`.

    group: where the help shows the flag; without it, there is no flag.  short: its short form.
    """

    name: str
    default: object
    kind: SettingKind
    group: str = ""
    help: str = ""
    short: str = ""

    @property
    def flag(self) -> str:
        """The flag of the command line."""
        return f"--{self.name.replace('_', '-')}"


def sendable(word: str) -> str:
    """Return a word that a header can carry."""
    if not word or word != word.strip() or not word.isprintable():
        raise ValueError
    return word


def read_hosts(words: str) -> str:
    """Return the names of hosts, separated by commas, in lower case."""
    for word in listed(words):
        host = HOST.fullmatch(word)
        if not host or host[2]:  # a port
            raise ValueError
    return words.lower()


def read_port(value: Any) -> int:
    """Return the number of a port."""
    return range(65536).index(int(value))


def yes_or_no(value: object) -> bool:
    """Return the truth value of a boolean or a word."""
    word = str(value).lower()
    if word not in YES + NO:
        raise ValueError
    return word in YES


def read_language(word: str) -> str:
    """Return a language of LABELS."""
    if word not in LANGUAGES:
        raise ValueError
    return word


def read_clock(clock: Now) -> Now:
    """Return a function that returns aware datetimes."""
    if clock().tzinfo is None:
        raise ValueError
    return clock


def read_now(value: object) -> datetime:
    """Return a moment from a datetime or from text."""
    return value if isinstance(value, datetime) else read_moment(value)


def read_source(value: Any) -> FixtureSource:
    """Return the file or the document of a fixture."""
    return value if isinstance(value, Mapping) else Path(value)


# fmt: off
ANY_TEXT = SettingKind(str,          "")
WORD     = SettingKind(sendable,     "must not be empty, nor begin or end with a space, nor contain control characters")
PORT     = SettingKind(read_port,    "must be a whole number from 0 to 65535; 0 picks a free one")
SWITCH   = SettingKind(yes_or_no,    "must be yes or no")
HOSTS    = SettingKind(read_hosts,   "must be a name without a port, such as pm.example.org")
ORIGINS  = SettingKind(read_origins, "must be a scheme and a host such as https://app.example.org, with no path, or * or null")
LANGUAGE = SettingKind(read_language, "must be en or zh")
SOURCE   = SettingKind(read_source,  "must be a file or a dict")
INSTANT  = SettingKind(read_now,     "must be a moment, such as 2026-01-05T09:00:00Z")
TIMER    = SettingKind(read_clock,   "must be a function that returns the time with its zone")

SETTINGS = (
    #       name              default         kind      group      help
    Setting("database",       "pm.db",        ANY_TEXT, "data",    "the file that holds everything, created if needed; "
                                                                   ":memory: keeps nothing", "-d"),
    Setting("load",           None,           SOURCE,   "data",    "a fixture to load if the database holds no records yet"),
    Setting("demo",           False,          SWITCH,   "data",    "serve a made-up company, made anew in memory at each start; with "
                                                                   "--database, it is loaded if that file holds no records yet"),
    Setting("timezone",       "UTC",          ANY_TEXT, "data",    "the zone of datetimes that name none, such as Asia/Shanghai"),
    Setting("host",           "127.0.0.1",    ANY_TEXT, "network", "the address to listen on; other than loopback needs --token or --password"),
    Setting("port",           8080,           PORT,     "network", "the port to listen on; 0 picks a free one", "-p"),
    Setting("allowed_host",   "",             HOSTS,    "network", "a Host name to answer to, besides those of loopback; without one, "
                                                                   "every name unless listening on loopback; can be repeated"),
    Setting("token",          None,           WORD,     "network", "a token that acts as the administrator", "-t"),
    Setting("password",       None,           WORD,     "network", "the password of admin; without it a new database gets one, which is "
                                                                   "printed once"),
    Setting("origin",         "",             ORIGINS,  "browser", "an origin whose web pages may call, such as https://app.example.org; "
                                                                   "*: all; can be repeated"),
    Setting("frame",          "",             ORIGINS,  "browser", "an origin whose pages may show ours in a frame, such as "
                                                                   "https://demo.example.org; *: all; can be repeated"),
    Setting("language",       "en",           LANGUAGE, "browser", "the language of pages, unless the browser asks for another, of the demo "
                                                                   "and of GET /options/bug: en or zh"),
    Setting("control",        None,           SWITCH,   "tests",   "offer the controls under /-/; the default with :memory:"),
    Setting("with_parent",    False,          SWITCH,   "tests",   "stop when stdin ends: with the process that holds its other end, "
                                                                   "even if that is killed"),
    Setting("verbose",        None,           SWITCH,   "log",     "write a line for each request to stderr; the default at a terminal"),
    Setting("now",            None,           INSTANT),
    Setting("loopback_only",  True,           SWITCH),
    Setting("clock",          utc_now,        TIMER),
)
# fmt: on
FLAGS = [setting for setting in SETTINGS if setting.group]
DEFAULTS = {setting.name: setting.default for setting in SETTINGS}


class Settings(TypedDict, total=False):
    """The settings of `create_app` and `running`, beside the database."""

    token: str | None  # acts as the administrator; made up without one, see `.token` of the service
    password: str | None  # of `admin`, who cannot log in without one
    load: FixtureSource | None  # a fixture, a file or a dict, for a database without records
    demo: bool  # whether a database without records gets a made-up company
    language: str  # "en" or "zh": of the demo, and of pages unless a browser asks for another
    now: datetime | str | None  # the moment at which the clock is frozen at the start
    timezone: str  # an IANA name; of datetimes that name no zone
    loopback_only: bool  # whether only this machine's own Host names are answered
    # Host names, separated by commas, answered besides this machine's own; "": loopback_only
    # decides
    allowed_host: str
    origin: str  # the origins of other machines' pages that may call, separated by commas; "*": all
    frame: str  # the origins whose pages may show ours in a frame, separated by commas; "*": all
    clock: Callable[[], datetime]  # returns the current time, aware
    control: bool | None  # whether the routes under /-/ exist; None: for ":memory:" only


ARGUMENTS = {one.name: one.kind for one in SETTINGS if one.name in Settings.__annotations__}


def read_settings(given: Fields) -> Members:
    """Return all settings, checked; those that are not given, or None, have their defaults.

    Raises TypeError for an unknown name and StartError for a wrong value.
    """
    if unknown := sorted(given.keys() - ARGUMENTS.keys()):
        raise TypeError(f"{unknown[0]} is not a setting{suggest(unknown[0], ARGUMENTS)}")
    settings = dict(DEFAULTS)
    for name, value in given.items():
        if value is not None:
            settings[name] = ARGUMENTS[name].value(value, name)
    return settings


def zone_of(name: str) -> tzinfo:
    """Return a time zone by its IANA name. Raises StartError."""
    if name == "UTC":
        return timezone.utc  # needs no zone files, which small containers lack
    import zoneinfo  # reads files: imported only when it is needed

    try:
        return zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError, AttributeError):
        remedy = "not known here; use a name such as Asia/Shanghai, or UTC"
        if not zoneinfo.available_timezones():
            remedy = "this system has no files of time zones; run: pip install tzdata"
        raise StartError(f"time zone {name}: {remedy}") from None


def fixture_text(source: FixtureSource) -> str:
    """Return the JSON text of a fixture. Raises StartError."""
    if isinstance(source, Mapping):
        return json.dumps(source)
    path = Path(source)
    try:
        return path.read_text("utf-8-sig")  # Notepad and PowerShell begin files with a BOM
    except OSError as error:
        raise StartError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise StartError(f"{path}: a fixture must be JSON in UTF-8") from None


def show_progress(words: str) -> None:
    """Show at a terminal how far long work has come, on one line of 80 columns; "" clears it."""
    if sys.stderr.isatty():
        print(f"\r{words[:78]:78}\r", end="", file=sys.stderr, flush=True)


@contextlib.contextmanager
def naming(name: str) -> Iterator[None]:
    """Raise StartError that begins with a fixture's name if loading it in the block fails."""
    try:
        yield
    except Busy:  # a Refusal, too; `patiently` (room 21) tries again
        raise
    except (Refusal, sqlite3.Error) as error:
        raise StartError(f"{name}: {error}") from None
    finally:
        show_progress("")


def set_password(database: Database, password: str) -> None:
    """Make this the administrator's password, unless it is already."""
    with database.querying() as store:
        _, stored = store.login(ADMIN)
    if stored is None or not password_matches(password, stored):
        user = with_hash({"account": ADMIN, "password": password})  # before the transaction
        with database.writing() as store:
            save_user(store, user)


def fill(database: Database, settings: Fields) -> list[str]:
    """Set the administrator's password, and load a fixture or the demo into an empty database.

    Return what there is to say about the records. Raises StartError.
    """
    if settings["password"]:
        set_password(database, settings["password"])
    source = settings["load"]
    if not (source or settings["demo"]):
        return []
    name = "demo" if settings["demo"] else "load"
    if isinstance(source, Path):
        name = str(source)
    with naming(name), database.loading() as store:
        if not store.is_empty():
            words = "holds records already: nothing was loaded into it"
            log.warning("%s %s", database.path, words)
            return []
        if settings["demo"]:
            Play(store, settings["language"]).perform_all()
            return ["A made-up company was loaded."]
        show_progress(f"reading {name} …")
        total = load(store, parse_fixture(fixture_text(source)))
        return [f"{total:,} records loaded from {name}."]


def make_service(database: FilePath, chosen: Fields) -> Service:
    """Return a service that still has to be filled; see `create_app`."""
    if chosen["load"] and chosen["demo"]:
        raise StartError("load and demo: only one of them can be loaded")
    clock = Clock(chosen["clock"])
    zone = zone_of(chosen["timezone"])
    if chosen["now"]:
        clock.freeze(chosen["now"], zone)
    opened = Database(os.fspath(database), zone, clock)
    if chosen["language"] != "en":  # the English words are those of the real server
        opened.labels = LABELS[chosen["language"]]
    return Service(opened, chosen, clock)


def create_app(database: FilePath = ":memory:", **settings: Unpack[Settings]) -> Service:
    """Return the WSGI application on a database: a path, created if needed, or ":memory:".

    settings: see `Settings`; their defaults are in SETTINGS. Raises StartError.
    """
    chosen = read_settings(settings)
    service = make_service(database, chosen)
    try:
        fill(service.database, chosen)
        if chosen["demo"]:
            share_password(service.database)
        service.controls.open_service()
    except BaseException:
        service.close()
        raise
    return service


class Answer(NamedTuple):
    """An answer of a service. Names of headers are found in any case."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def __repr__(self) -> str:  # pytest shows it when an assertion fails
        return f"<{self.status} {shortened(self.text)}>"

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode(errors="replace")

    @property
    def json(self) -> Any:
        """The JSON value of the body. Raises ValueError if it is not JSON."""
        return json.loads(self.body)


def shortened(text: str) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= 300 else f"{text[:300]}…"


def reason_of(answer: Answer) -> str:
    """Return the sentences of a refusal; of an answer by something else, the beginning."""
    words = ""
    with contextlib.suppress(ValueError, TypeError, AttributeError):  # not our JSON
        body = answer.json
        words = sentences(body[name] for name in ("error", "hint") if name in body)
    return words or shortened(answer.text)


class CallError(Exception):
    """A call that was refused, in one sentence; `answer` is the answer.

    status, json: of the answer; json is None if its body is not JSON.
    """

    def __init__(self, call: str, answer: Answer):
        super().__init__(f"{call} was answered {answer.status}: {reason_of(answer)}")
        self.answer, self.status = answer, answer.status
        self.json: Any = None
        with contextlib.suppress(ValueError):
            self.json = answer.json


# pytest calls this with its ExceptionInfo: if the result is True, it shows the test's line instead
# of the lines of this file.
__tracebackhide__ = operator.methodcaller("errisinstance", (CallError, ConnectionError, StartError))


def snapshot_path(name: str) -> str:
    """Return the path of a snapshot."""
    return f"/-/snapshots/{urllib.parse.quote(name, safe='')}"


class Client:
    """A client of a running service whose controls are on, for tests.

    url: of the service, without a slash at the end.  token: sent with each call; the controls need
    an administrator's.
    """

    def __init__(self, url: str, token: str):
        self.url, self.token = url, token

    def __repr__(self) -> str:
        return f"<pmservice at {self.url}>"

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Answer:
        """Send a request and return the answer, whatever its status.

        body: sent as JSON, but for bytes.  headers: in addition to Token and Content-Type, or in
        their place; None leaves one out.  Raises ConnectionError without a whole answer.
        """
        named = {"Token": self.token, "Content-Type": "application/json", **(headers or {})}
        sent = {name: value for name, value in named.items() if value is not None}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        address = urllib.parse.urlsplit(self.url)
        target = urllib.parse.quote(address.path + path, URL_MARKS)
        secure = address.scheme == "https"
        connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = connect(address.netloc, timeout=2 * MAX_WAIT)
        with contextlib.closing(connection):
            try:
                connection.request(method, target, body, sent)
                answer = connection.getresponse()
                return Answer(answer.status, answer.headers, answer.read())
            except (http.client.HTTPException, OSError) as error:
                raise ConnectionError(f"{method} {self.url}{path}: {error}") from None

    def succeed(self, method: str, path: str, body: object = None) -> Any:
        """Send a request and return the JSON of its answer.

        Raises CallError for a refusal, and for an answer that is not JSON.
        """
        answer = self.call(method, path, body)
        if answer.status < 400:
            with contextlib.suppress(ValueError):
                return answer.json
        raise CallError(f"{method} {path}", answer)

    def get(self, path: str) -> Any:
        """Return what a GET answers. Raises CallError."""
        return self.succeed("GET", path)

    def post(self, path: str, body: object = None) -> Any:
        """Return what a POST answers. Raises CallError."""
        return self.succeed("POST", path, body)

    def put(self, path: str, body: object = None) -> Any:
        """Return what a PUT answers. Raises CallError."""
        return self.succeed("PUT", path, body)

    def delete(self, path: str) -> Any:
        """Return what a DELETE answers. Raises CallError."""
        return self.succeed("DELETE", path)

    def reset(self, only_records: bool = False) -> None:
        """Return to the start: records, numbering, clock, faults, journal and tokens.

        only_records: records and numbering alone.
        """
        self.post("/-/reset?only=records" if only_records else "/-/reset")

    def snapshot(self, name: str) -> None:
        """Save the records as they are now under a name."""
        self.put(snapshot_path(name))

    def restore(self, name: str) -> None:
        """Return to the records of a snapshot. Raises CallError if there is none of this name."""
        self.post(f"{snapshot_path(name)}/restore")

    def remove_snapshot(self, name: str) -> None:
        """Remove a snapshot. Raises CallError if there is none of this name."""
        self.delete(snapshot_path(name))

    def load(self, source: FixtureSource) -> int:
        """Load a fixture, a file or a dict, and return how many records it has.

        Raises CallError, StartError.
        """
        return int(self.post("/-/load", fixture_text(source).encode())["records"])

    def dump(self) -> Members:
        """Return all records as a fixture."""
        return dict(self.get("/-/dump"))

    def freeze(self, moment: datetime | str) -> None:
        """Freeze the clock; a moment without a zone is local to the service. Raises CallError."""
        if isinstance(moment, datetime):
            moment = moment.isoformat(timespec="seconds")
        self.put("/-/clock", {"now": moment})

    def advance(self, seconds: float) -> None:
        """Move the frozen clock forward; backward if negative. Raises CallError if it runs."""
        self.put("/-/clock", {"advance": seconds})

    def shift(self, seconds: float) -> None:
        """Let the clock run, so many seconds ahead of the real one; 0 ends that.

        seconds: if negative, it runs behind the real one.

        Raises CallError.
        """
        self.put("/-/clock", {"offset": seconds})

    def fail(self, match: str, **effects: Any) -> None:
        """Add a fault to those there are; the first that matches a call applies. Raises CallError.

        match: a method and a path, such as "POST /tasks/<id>/start".  effects: status, body,
        headers, delay, drop, skip and times; see the README, Controls.
        """
        self.post("/-/faults", {"match": match, **effects})

    def faults(self) -> list[Members]:
        """Return the faults, with their hits and what is left of skip and times."""
        return list(self.get("/-/faults"))

    def clear_faults(self) -> None:
        """Remove all faults."""
        self.delete("/-/faults")

    def calls(self, **wanted: str | int) -> list[Members]:
        """Return the calls of the journal that match, this client's included.

        They stand in the order of their answers. Each has id, time, method, path, status, account,
        duration (in milliseconds), url, query, headers, body, ignored, error, hint, fault and
        answer, with secrets blanked; of a body or answer above 8 KiB only the size.

        wanted: method, path (a pattern: * matches anything) and status.
        """
        return list(self.get(f"/-/journal?{urllib.parse.urlencode(wanted)}")["calls"])

    def wait_for_calls(self, count: int, seconds: float = 10, **wanted: str | int) -> list[Members]:
        """Return the answered calls that match as soon as there are `count`.

        Raises CallError if there are fewer in the end, or more.
        """
        query = urllib.parse.urlencode({**wanted, "count": count, "wait": seconds})
        return list(self.get(f"/-/journal?{query}")["calls"])

    def clear_calls(self) -> None:
        """Forget the calls."""
        self.delete("/-/journal")


class Running(Client):
    """A service that is being served, with a client's helpers. `app` is its WSGI application."""

    def __init__(self, url: str, token: str, app: Service):
        super().__init__(url, token)
        self.app = app


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises StartError.

    Callers bind it first, so that a taken port leaves no new database behind.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        # create_server adds "(while attempting to bind on address …)"
        words = str(error.strerror or error).partition(" (while")[0].lower()
        if error.errno == errno.EADDRINUSE:  # Windows says it in many words
            words = "address already in use"
        remedy = "pick another --host, or another --port (0 for a free one)"
        raise StartError(f"cannot listen on {host}:{port}: {words}; {remedy}") from None


def address_of_this_machine(family: int) -> str:
    """Return an address at which other machines reach this one, its name if there is none."""
    # An address that is reserved for documentation: connecting a UDP socket to it sends nothing.
    elsewhere = "2001:db8::1" if family == socket.AF_INET6 else "192.0.2.1"
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((elsewhere, 9))
        return str(probe.getsockname()[0])
    return socket.gethostname()


def url_to_show(listener: socket.socket, names: Iterable[str]) -> str:
    """Return the URL of a listening socket, with a name or address that other machines can open."""
    host, port = listener.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = next(iter(names), "") or address_of_this_machine(listener.family)
    if ":" in host:
        host = f"[{host}]"
    return f"http://{host}:{port}"


@contextlib.contextmanager
def serving(host: str, port: int, make: Callable[[], Service]) -> Iterator[Server]:
    """Yield a server for a service that is made once its socket listens; close both at the end."""
    with listen(host, port) as listener, contextlib.closing(make()) as service:
        service.url = url_to_show(listener, service.allowed)
        server = Server(service, listener)
        try:
            yield server
        finally:
            server.close_all()


@contextlib.contextmanager
def running(database: FilePath = ":memory:", **settings: Unpack[Settings]) -> Iterator[Running]:
    """Serve on a free port of 127.0.0.1, in a thread, while the block runs.

    The settings are those of `create_app`.
    """
    make = functools.partial(create_app, database, **settings)
    with serving("127.0.0.1", 0, make) as server:
        thread = threading.Thread(target=server.run, daemon=True)

        def end() -> None:
            """Stop the server, and wait for its thread."""
            server.stop()
            thread.join()

        thread.start()
        # A script may end without leaving the block. Python would then kill the daemon thread, so
        # the server is stopped before.
        atexit.register(end)
        service = server.service
        try:
            yield Running(service.url, service.token, service)
        finally:
            atexit.unregister(end)
            end()


# The sections that the pytest plugin, .ci/plugin.py, adds to the report of a failed test.


def calls_since(number: int) -> list[tuple[str, str]]:
    """Return sections for a test's report: what this process's services were asked since a number.

    They stand in the order of their first calls.
    """
    sections = {}
    for controls in list(Controls.alive):
        calls = controls.matching({}, number)
        unmet = [fault["match"] for fault in controls.faults if not fault.get("hits")]
        if not (calls or (unmet and controls.faulted > number)):
            continue
        lines = []
        if len(calls) > CALLS_REPORTED:
            lines.append(f"… {len(calls) - CALLS_REPORTED} earlier calls")
        for call in calls[-CALLS_REPORTED:]:
            try:
                lines += call_lines(json.loads(shown_call(call)))
            except Exception as error:  # it would end the whole run of pytest
                problem = type(error).__name__
                lines.append(f"{call.method} {call.shown_path} cannot be shown: {problem}")
        lines += [f"No call met the fault {match}" for match in unmet]
        noun = "call" if len(calls) == 1 else "calls"
        url = controls.service.url
        place = f" at {url}" if url else ""
        heading = f"pmservice{place}: {len(calls)} {noun}"
        first = calls[0].number if calls else next(NUMBERS)
        sections[first] = heading, "\n".join(lines)
    return [sections[first] for first in sorted(sections)]


def call_lines(call: Fields) -> Iterator[str]:
    """Yield the lines of a call in a test's report."""
    result = f"{call['status']} {call['duration']:.1f} ms {call['account']}"
    yield printable(f"{call['time'][11:23]} {call['method']} {call['url']} {result}")
    # the answer of a refusal is its sentences
    told = ("error", "hint") if call["error"] else ("answer",)
    for name in ("body", *told, "ignored", "fault"):
        if value := call[name]:
            text = value if isinstance(value, str) else to_json(value)
            yield f"    {name:8}{printable(shortened(text))}"


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return __all__


# --- 20 Pull: the records of a running server -----------------------------------------------------
# It reads what an account may see on another server, this service or a real one, and writes it as a
# fixture. Versions of the real server differ in the shapes of their answers. Only GETs and the POST
# that logs in are sent. No statement is run here.

PULL_LIMIT = 1000  # records that one request asks for
MOST_PAGES = 10_000  # of a list
MOST_ROUNDS = 20  # of repairs, because what is left out may be missed elsewhere
SILENCE = 60  # seconds in which the server may send nothing
LARGEST_ANSWER = 32 * 1024 * 1024  # bytes, which as empty arrays take 900 MB of memory
SERVER = re.compile(r"(https?)://((\[[0-9A-F:]+\]|[\w.-]+)(?::[0-9]+)?)(/[\w./~-]*)?", re.A | re.I)
ZERO_DATE = re.compile("0000|-0001|(1969-12-31|1970-01-01)[T ]")  # how an unset date can begin
ID_TEXT = re.compile(r"(?:case_)?([1-9][0-9]{0,14})(?:\.0*)?")
FRACTION = re.compile(r"^(-?[0-9]+)\.[0-9]*$")
ESCAPED = re.compile("&(?:amp|lt|gt|quot|#39|#039);")  # what PHP's htmlspecialchars() writes
ESCAPING = 17  # the first version that stores names escaped


class Remote:
    """A server that is read over one connection, which is kept alive.

    secrets: what no message may show, because a server may repeat it.
    """

    def __init__(self, url: str, insecure: bool):
        found = SERVER.fullmatch(url)
        if not found:
            raise StartError(f"URL must be an address such as https://pm.example.org (got {url!r})")
        scheme, netloc, host, path = found.groups("")
        secure = scheme == "https"
        if not (secure or insecure or is_loopback(host.strip("[]"))):
            warning = f"{url} is not encrypted: passwords and records can be read on the way"
            raise StartError(f"{warning}; use https, or --insecure-http if you trust the network")
        connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self.connection = connect(netloc, timeout=SILENCE)
        interface = PREFIXES[-1]
        self.base = path.rstrip("/").removesuffix(interface) + interface
        self.address = f"{scheme}://{netloc}{self.base}"
        # With the cookie, real servers list the bugs of all branches.
        self.headers = {"Cookie": "treeBranch=all"}

    def log_in(self, token: str, account: str, password: str) -> None:
        """Send a token from now on, or without one, that of an account.

        Raises Refusal and StartError.
        """
        self.secrets = [token, password]
        if not token:
            login = {"account": account, "password": password}
            token = str(dict_in(self.ask("POST", "/tokens", login)).get("token"))
            self.secrets.append(token)
        self.headers["Token"] = WORD.value(token, "token")
        self.ask("GET", "/user")

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON of an answer, None if it is empty.

        Raises Refusal for any other answer, and StartError if there is none. No redirect is
        followed: the token is for this address only.
        """
        show_progress(f"{method} {path}")
        said = f"{method} {self.address}{path}"
        try:
            sent = body and json.dumps(body)
            self.connection.request(method, self.base + path, sent, self.headers)
            answer = self.connection.getresponse()
            content = answer.read(LARGEST_ANSWER)
        except (OSError, OverflowError, http.client.HTTPException) as error:
            raise StartError(f"{said} was not answered: {self.masked(str(error))}") from None
        try:
            if len(content) == LARGEST_ANSWER:
                raise ValueError
            value = json.loads(content or "null")
            if answer.status < 300:
                return value
            words = str(dict_in(value).get("error", "no reason given"))
        except (ValueError, RecursionError):
            self.connection.close()  # the rest may still come
            words = f"not JSON, or more than {LARGEST_ANSWER:,} bytes"
        if place := answer.headers.get("Location"):
            words = f"a redirect to {place}, which is not followed; give that address instead"
        raise Refusal(answer.status, f"{said} was answered {answer.status}: {self.masked(words)}")

    def masked(self, words: str) -> str:
        """Return words of an answer for one line, without secrets."""
        for secret in filter(None, self.secrets):
            words = words.replace(secret, "***")
        return printable(shortened(words))


# From the values of an answer, whatever version it is of, to those of a fixture.


def dict_in(value: object) -> Fields:
    """Return an object, {} instead of anything else."""
    return value if isinstance(value, dict) else {}


def items_in(value: object) -> list[Any]:
    """Return the items of an array, or between commas; PHP writes some arrays as objects."""
    if isinstance(value, str):
        return items_between(value)
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else [value]


def ids_in(value: object) -> list[int]:
    """Return the ids in an array of ids or records, between commas, or of records by id."""
    ids = []
    for item in list(value) if isinstance(value, dict) else items_in(value):
        if found := ID_TEXT.fullmatch(str(dict_in(item).get("id", item))):
            ids.append(int(found[1]))
    return ids


def id_in(value: object) -> int:
    """Return the first id in a value, 0 without one."""
    return next(iter(ids_in(value)), 0)


def name_in(value: Any) -> Any:
    """Return the account of a person, the code of a word or the id of another object."""
    for name in ("account", "code", "id"):
        if name in dict_in(value):
            return value[name]
    return value


def names_in(value: object) -> list[Any]:
    """Return the accounts of several persons, or the ids of objects."""
    return [name_in(item) for item in items_in(value) if item]


def person_in(value: object) -> Any:
    """Return the account of a person, None of nobody."""
    # Real servers assign what is closed to "closed", which is no user.
    return name_in(value) if name_in(value) not in ("", 0, "closed") else None


def first_in(value: object) -> Any:
    """Return a word, or the first of several; of a number, what is before its fraction."""
    first = next(iter(items_in(name_in(value))), None)
    return FRACTION.sub(r"\1", first) if isinstance(first, str) else first


def text_in(value: object) -> Any:
    """Return text; the names of several objects are joined by commas."""
    return ",".join(map(str, names_in(value))) if isinstance(value, list) else name_in(value)


def date_in(value: object) -> Any:
    """Return a moment or a day, None for one that is unset."""
    return None if not value or ZERO_DATE.match(str(value)) else value


def unescape(text: str) -> str:
    """Return text without HTML's escapes, which a server may have written more than once."""
    import html

    while ESCAPED.search(text):
        text = html.unescape(text)
    return text


def bug_state(bug: Fields) -> Any:
    """Return the state of a bug, for which some lists show other words, such as "confirmed"."""
    code = first_in(bug.get("status"))
    if code in BUG_STATES:
        return code
    if date_in(bug.get("closedDate")):
        return "closed"
    return "resolved" if bug.get("resolution") else "active"


def votes_on(story: Fields) -> list[Members]:
    """Return the votes on a story: answers name who has not voted; all others have agreed."""
    voters, waiting = names_in(story.get("reviewer")), names_in(story.get("notReview"))
    return [{"account": one, "result": "" if one in waiting else "pass"} for one in voters]


def steps_in(case: Fields) -> list[Any]:
    """Return the steps of a test case that say something."""
    return [step for step in items_in(case.get("steps")) if dict_in(step).get("desc")]


# fmt: off
# By the look of a kind; others are taken as they are.
TAKEN: dict[str, Callable[[Any], Any]] = {
    "plain": first_in, "word": first_in, "text": text_in, "day": date_in, "moment": date_in, "stamp": date_in,
    "person": person_in, "people": names_in, "references": names_in,
}
# The fields of a fixture that are made of several of an answer, or of one of another name.
MADE_OF: dict[str, dict[str, Callable[[Fields], Any]]] = {
    "bugs":      {"status": bug_state},
    "stories":   {"plans": lambda story: ids_in(story.get("plan")), "reviewers": votes_on},
    "testcases": {"steps": steps_in},
    "results":   {"stepResults": lambda run: items_in(run.get("stepResults") or [])},
}
OTHER_WORDS = {  # of later versions and other editions, for what is called differently here
    "acl":    {"custom": "private", "program": "private"},
    "model":  {"agileplus": "scrum", "waterfallplus": "waterfall", "ipd": "waterfall"},
    "status": {"reviewing": "draft", "changing": "changed"},
}
# THE TABLE OF WHAT IS PULLED, in the order of reading: together, these lists show all records that any list shows, on
# every version. Each row: the array; a list, with {} for an id; the array of these ids; the field for that id.
PULLED = """
    departments  /departments?                                                      -           -
    users        /users?                                                            -           -
    programs     /programs?showClosed=1&                                            -           -
    products     /products?status=all&                                              -           -
    projects     /projects?                                                         -           -
    products     /projects/{}?fields=products                                       projects    -
    projects     /products/{}/projects?                                             products    products
    executions   /projects/{}/executions?status=all&                                projects    project
    executions   /executions?status=all&                                            -           -
    plans        /products/{}/plans?branch=all&                                     products    product
    stories      /products/{}/stories?status=allstory&type=story&branch=all&        products    product
    stories      /products/{}/stories?status=allstory&type=requirement&branch=all&  products    product
    stories      /projects/{}/stories?status=all&                                   projects    executions
    stories      /executions/{}/stories?status=all&                                 executions  executions
    builds       /projects/{}/builds?                                               projects    project
    builds       /executions/{}/builds?                                             executions  execution
    releases     /products/{}/releases?branch=all&                                  products    product
    releases     /projects/{}/releases?                                             projects    project
    bugs         /products/{}/bugs?status=all&                                      products    product
    tasks        /executions/{}/tasks?status=all&                                   executions  execution
    tasks        /executions/{}/tasks?status=all&                                   projects    execution
    testcases    /products/{}/testcases?branch=all&                                 products    product
    testcases    /products/{}/testcases?status=bysearch&branch=all&                 products    product
    testtasks    /projects/{}/testtasks?                                            projects    project
    efforts      /tasks/{}/estimate                                                 tasks       task
    results      /testcases/{}/results                                              testcases   case
"""
# fmt: on
# Real servers refuse these lists to projects that have no products or no executions.
OF_A_PROJECT = re.compile("/(?:projects|executions)/([0-9]+)/(?:stories|tasks)")
ALONE = ("users", "projects", "executions", "stories", "testcases", "testtasks")  # read by id, too
NOT_TAKEN = ("password", "buildName")  # no server gives the one; the other follows from the build


class Pull:
    """The records of a server as a fixture has them, and what of them was left out.

    records: by array and id.  left_out: how many values, by array and field, and how many records,
    by array.  hidden: (array, id) of those whose product may not be opened.  refused: the sentences
    of what was not answered.  zone: of moments that name none.
    """

    def __init__(self, remote: Remote):
        self.remote = remote
        self.records: dict[str, dict[int, Any]] = {array: {} for array in FIXTURE}
        self.left_out: Counter[str] = Counter()
        self.hidden: set[tuple[str, int]] = set()
        self.refused: list[str] = []
        self.zone = zone_of(self.setting("timezone") or "UTC")
        self.escapes = id_in(self.setting("version").partition(".")[0]) >= ESCAPING

    def get(self, path: str) -> Any:
        """Return an answer, None if it is refused; note that, unless it is usual."""
        try:
            return self.remote.ask("GET", path)
        except Refusal as error:
            found = OF_A_PROJECT.match(path)
            if not (found and int(found[1]) in self.records["projects"]):
                self.refused.append(str(error))
            return None

    def setting(self, name: str) -> str:
        """Return a setting of the server, "" if it does not tell."""
        return str(dict_in(self.get(f"/configurations/{name}")).get("value", ""))

    # Reading

    def read(self) -> None:
        """Read all records. Raises StartError."""
        for line in PULLED.strip().splitlines():
            array, source, owners, field = line.split()
            key = "effort" if array == "efforts" else array
            # "-" in PULLED: a list that is read once; its field "-" is dropped by as_fixture
            for home in [*self.records.get(owners, [0])]:
                for row in self.pages(source.format(home), key):
                    self.keep(array, row, field, home)
        self.left_out.update(array for array, _ in self.hidden)

    def keep(self, array: str, row: Fields, field: str, home: int) -> None:
        """Add the record of a row in a list of another record."""
        id, records = id_in(row.get("id")), self.records[array]
        # Programs are listed with their projects, and cases with the scenes that they are in.
        is_other = row.get("isScene") or (array, row.get("type")) == ("programs", "project")
        product = id_in(row.get("product"))
        if id in records and field in ("products", "executions"):
            records[id].setdefault(field, []).append(home)
            return
        if field != "product" and product and product not in self.records["products"]:
            self.hidden.add((array, id))  # of a product that the account may not open
            return
        if not id or id in records or is_other:
            return
        whole = self.get(f"/{array}/{id}") if array in ALONE else {}
        record = {**row, **dict_in(whole), "id": id}
        record[field] = record.get(field) or home
        records[id] = self.as_fixture(array, record)

    def pages(self, path: str, key: str) -> Iterator[Fields]:
        """Yield the rows of a list, each once, until a page is not full or has no new ones."""
        seen: set[str] = set()
        for page in range(1, MOST_PAGES + 1):
            paging = f"limit={PULL_LIMIT}&page={page}"
            answer = self.get(path + paging if path[-1] in "?&" else path)
            shown = answer.get(key) if isinstance(answer, dict) else answer
            waiting, before = items_in(shown or []), len(seen)
            for row in map(dict_in, waiting):  # which grows meanwhile
                waiting += items_in(row.get("children") or [])
                id = str(row.get("id"))
                if id not in seen:
                    seen.add(id)
                    yield row
            full = id_in(dict_in(answer).get("limit"))  # lists without pages show none
            if not full or len(seen) - before < full:
                break

    def as_fixture(self, array: str, record: Fields) -> Members:
        """Return a record of an answer as a fixture has it."""
        made = {field: make(record) for field, make in MADE_OF.get(array, {}).items()}
        for field, kind in fixture_shape(FIXTURE[array]).fields.items():
            if field in record and field not in (*NOT_TAKEN, *made):
                made[field] = self.converted(field, kind, record[field])
        return made

    def converted(self, field: str, kind: Kind, value: Any) -> Any:
        """Return a value of an answer as a fixture has it."""
        if kind.part and kind.part.item:
            return ids_in(value)
        if kind.target and value != "trunk":
            return id_in(value)
        if take := TAKEN.get(kind.look):
            value = take(value)
        value = OTHER_WORDS.get(field, {}).get(str(value), value)
        is_escaped = self.escapes and isinstance(value, str) and field not in RICH.split()
        return unescape(value) if is_escaped else value

    # Repairing

    def write(self) -> None:
        """Write what fits of the records to stdout, as a fixture. Raises StartError."""
        for _ in range(MOST_ROUNDS):
            copy = Database(":memory:", self.zone, utc_now)
            # of the COMMIT: a link names nothing, which is among the problems
            may_fail = contextlib.suppress(sqlite3.IntegrityError)
            with contextlib.closing(copy), may_fail, copy.loading() as store:
                self.fill(store)
                problems = [*problems_in(store)]
                if not problems:
                    sys.stdout.writelines(dump(store))
                    return
            for problem in problems:
                self.unset(problem.resource.array, problem.id, problem.field, problem.link)
        raise StartError("the records that were read do not fit together")

    def fill(self, store: Store) -> None:
        """Insert the records into an empty database."""
        store.free_ids(self.records["users"].values())
        for array in dict.fromkeys(["users", *self.records]):
            for id in [*self.records[array]]:
                values = self.sound(store, array, id)
                if values:
                    insert_loaded(store, FIXTURE[array], values)
        store.place_records()

    def sound(self, store: Store, array: str, id: int) -> Members | None:
        """Return the checked values of a record, without broken ones; None if it needs one."""
        record = self.records[array][id]
        while True:
            try:
                return check_record(store, FIXTURE[array], record)
            except Invalid as error:
                broken = {re.split(r"\W", name)[0] for name in error.fields}
            given = broken & record.keys()
            for field in given:
                self.unset(array, id, field)
            if not given:
                del self.records[array][id]
                self.left_out[array] += 1
                return None

    def unset(self, array: str, id: int, field: str, link: int = 0) -> None:
        """Unset a field or, of several links in it, a single one."""
        record = self.records[array].get(id, {})
        value = record.pop(field, None)
        if link and isinstance(value, list):
            record[field] = [one for one in value if one != link]
        self.left_out[f"{array}.{field}"] += 1

    def report(self) -> Iterator[str]:
        """Yield how many records there are, and what was left out of them."""
        for array, records in self.records.items():
            yield f"{array} {len(records):,}"
        for what, count in sorted(self.left_out.items()):
            yield f"{what} left out: {count:,}"
        yield from self.refused


# --- 21 Command: settings and the command line ----------------------------------------------------
# stdout carries what programs read (the base URL, a dump); everything for people goes to stderr.
# A setting is read from its flag, or from the environment variable PMSERVICE_<NAME>.

PREFIX = "PMSERVICE_"
# Kubernetes describes a Service called pmservice to the containers beside it by PMSERVICE_PORT, a
# URL, and by variables with these names.
OF_KUBERNETES = re.compile(
    "(.+_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_.+)?)"
)
ADDRESS = re.compile("(tcp|udp|sctp)://.*")
PULL_VARIABLES = ("PULL_TOKEN", "PULL_PASSWORD")  # secrets have no place on a command line
USAGE = """\
pmservice [SETTING ...]
       pmservice COMMAND [SETTING ...]"""
ABOUT = """\
A project-management service with ZenTao's REST API v1.
Without a command it serves, and prints its URL when it is ready."""
EXAMPLES = """\
examples:
  pmservice --demo                      serve a made-up company
  pmservice -d team.db -p 9000          serve a file at another port
  pmservice load seed.json -d team.db   fill that file
  pmservice COMMAND --help              what a command takes

Each setting can also be given as a variable of the environment:
PMSERVICE_DATABASE, PMSERVICE_ALLOWED_HOST and so on.
"""
SERVE = "serve"  # a command that other programs have; here it may be left out
ASKED_FOR = object()  # the password of --password alone


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    prepare_streams()
    try:
        return run_command(sys.argv[1:] if arguments is None else arguments)
    except (KeyboardInterrupt, EOFError):  # Ctrl-C, or no answer to a question
        show_progress("")
        return 130
    except BrokenPipeError:
        sys.stdout = discard()  # or Python would fail again when it flushes stdout at exit
        return 141  # as of a program that SIGPIPE ends
    except (StartError, Refusal, OSError, sqlite3.Error, UnicodeError) as error:
        words = str(error)
        if isinstance(error, OSError):
            # If stdout failed, Python would fail again when it flushes stdout at exit.
            sys.stdout = discard()
            words = f"{error.filename or 'stdout'}: {error.strerror or words}"
        show_progress("")
        tell(f"pmservice: {printable(words)}")
        return 2


def run_command(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name and return its exit code."""
    if arguments and arguments[0] == SERVE:
        arguments = arguments[1:]
    name = arguments[0] if arguments and not arguments[0].startswith("-") else ""
    if name and name not in COMMANDS:
        remedy = suggest(name, (SERVE, *COMMANDS)) or "; pmservice --help lists them"
        if name in DEFAULTS:
            remedy = f"; did you mean --{name}?"
        raise StartError(f"{name} is not a command{remedy}")
    parser = command_parser(name) if name else serving_parser()
    try:
        options = parser.parse_args(arguments[1:] if name else arguments)
    except StartError:
        if not name:
            refuse_early_settings(arguments)
        raise
    run = COMMANDS[name].run if name else command_serve
    settings = resolve(vars(options), serving=not name)
    set_up_log(settings["verbose"], serving=not name)
    warn_of_unknown_variables()
    code = run(settings, options)
    sys.stdout.flush()
    return code or 0


def refuse_early_settings(arguments: Sequence[str]) -> None:
    """Raise StartError if the settings stand before a command."""
    for place, command in enumerate(arguments):
        if command in (SERVE, *COMMANDS):
            meant = [command, *arguments[place + 1 :], *arguments[:place]]
            raise StartError(f"settings go after the command: pmservice {shlex.join(meant)}")


def discard() -> TextIO:
    """Return a stream whose text goes nowhere."""
    return open(os.devnull, "w", encoding="utf-8")


def prepare_streams() -> None:
    """Let stdout and stderr take any text, even if they are closed."""
    # A closed stream is None, and print(file=None) writes to stdout.
    sys.stdout = sys.stdout or discard()
    sys.stderr = sys.stderr or discard()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # on Windows it has the console's code page
            stream.reconfigure(encoding="utf-8", errors=stream.errors)


def warn_of_unknown_variables() -> None:
    """Log each environment variable that looks like a setting and is none."""
    known = [setting.name.upper() for setting in FLAGS]
    known += PULL_VARIABLES
    for variable in sorted(os.environ):
        name = variable.removeprefix(PREFIX)
        is_known = name in known or OF_KUBERNETES.fullmatch(name)
        if name != variable and not is_known:
            log.warning("%s is not a setting%s", variable, suggest(name, known, PREFIX) or ".")


def write_out(stream: TextIO, text: str, wait: bool = False) -> None:
    """Write to stdout or stderr. Raises StartError if stdout cannot be written.

    wait: for the reader; otherwise what cannot be written at once is dropped.
    """
    try:
        file = stream.fileno()
    except io.UnsupportedOperation:  # no descriptor: a test's stream
        file = -1
    try:
        if file < 0 or not hasattr(select, "PIPE_BUF"):  # on Windows, select() takes sockets only
            stream.write(text)
            stream.flush()
            return
        line = text.encode("utf-8", "backslashreplace")
        while line:
            _, writable, _ = select.select([], [file], [], None if wait else 0)
            if not writable:
                return
            written = os.write(file, line[: select.PIPE_BUF])  # it takes so much without blocking
            line = line[written:]
    except OSError as error:  # the reader is gone, or the disk is full
        if stream is sys.stdout:
            raise StartError(f"stdout: {error.strerror}") from None


def tell(*lines: str) -> None:
    """Write lines for a person to stderr."""
    write_out(sys.stderr, "".join(f"{line}\n" for line in lines))


class NonBlockingHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Log lines to stderr, but drop what nobody reads: a full pipe must not stop the service."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record's line as far as that is possible without waiting."""
        # stderr may be closed, and a thread that logs must not end
        with contextlib.suppress(ValueError):
            write_out(self.stream, f"{self.format(record)}\n")


def set_up_log(verbose: bool | None, serving: bool) -> None:
    """Log to stderr: warnings and errors, and if `verbose` also a line for each request.

    verbose: None means while serving at a terminal.
    """
    if verbose is None:
        verbose = serving and sys.stderr.isatty()
    handler = NonBlockingHandler()
    day = "" if sys.stderr.isatty() else "%Y-%m-%d "  # for who reads it later
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", f"{day}%H:%M:%S"))
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, handlers=[handler], force=True)


class Parser(argparse.ArgumentParser):
    """A parser that raises StartError for a mistake; argparse would print the usage above it."""

    def error(self, message: str) -> NoReturn:
        """Raise StartError."""
        raise StartError(f"{message}; {self.prog} --help says more")


def serving_parser() -> Parser:
    """Return the parser of the settings of serving, whose help lists the commands, too."""
    commands = [f"  {name:8}{command.help}" for name, command in COMMANDS.items()]
    below = "\n".join(["commands:", *commands, "", EXAMPLES])
    layout = argparse.RawDescriptionHelpFormatter
    parser = Parser("pmservice", USAGE, ABOUT, below, formatter_class=layout)
    parser.add_argument("--version", action="version", version=__version__, help="show the version")
    for group in dict.fromkeys(setting.group for setting in FLAGS):
        helps = {setting.name: setting.help for setting in FLAGS if setting.group == group}
        add_settings(parser.add_argument_group(group), helps)
    return parser


def command_parser(name: str) -> Parser:
    """Return the parser of a command."""
    command = COMMANDS[name]
    example = f"Example: pmservice {command.example}"
    parser = Parser(f"pmservice {name}", description=command.more, epilog=example)
    add_settings(parser, command.settings)
    for flag, options in command.arguments.items():
        parser.add_argument(flag, **options)
    return parser


def add_settings(to: argparse._ActionsContainer, helps: Mapping[str, str]) -> None:
    """Add the flags of settings, with their help, by name.

    They have no default: `resolve` looks for a value in the environment first.
    """
    for setting in FLAGS:
        if setting.name not in helps:
            continue
        options: Members = {
            "default": argparse.SUPPRESS,
            "help": helps[setting.name] or setting.help,
        }
        if setting.default:
            options["help"] += f" (default {setting.default})"
        if setting.kind is SWITCH:
            options |= {"action": "store_const", "const": "yes"}
        elif setting.kind is SOURCE:
            options["metavar"] = "FILE"
        else:
            # the last word: HOST for --allowed-host
            options["metavar"] = setting.name.upper().rpartition("_")[2]
        if setting.kind in (ORIGINS, HOSTS):
            options["action"] = "append"
        to.add_argument(*filter(None, [setting.short, setting.flag]), **options)


def resolve(given: Fields, serving: bool) -> Members:
    """Return every setting's value. Raises StartError for one that cannot be read.

    given: the texts of flags, a list for one that can be repeated.
    """
    chosen = {}
    for setting in FLAGS:
        name, variable = setting.name, PREFIX + setting.name.upper()
        if name in given:
            text, source = given[name], setting.flag
        else:
            # an empty variable counts as unset; an empty flag does not
            text, source = os.environ.get(variable) or None, variable
            if text and ADDRESS.fullmatch(text):
                text = None
        if isinstance(text, list):
            if "" in text:
                raise StartError(f"{source} must not be empty")
            text = ",".join(text)
        if text is not None:
            chosen[name] = setting.kind.value(text, source)
    settings = {**DEFAULTS, **chosen}
    # PMSERVICE_DEMO must not turn another command to an empty database.
    if serving and settings["demo"] and "database" not in chosen:
        settings["database"] = ":memory:"
    return settings


@contextlib.contextmanager
def open_database(
    settings: Fields, existing: bool = False, older: bool = False
) -> Iterator[Database]:
    """Open the database of a command. existing, older: see Database."""
    path, zone = settings["database"], zone_of(settings["timezone"])
    with contextlib.closing(Database(path, zone, utc_now, existing, older)) as database:
        yield database


def stdin_text() -> str:
    """Return what stdin holds: UTF-8, whatever the system's encoding is. Raises StartError."""
    if sys.stdin is None:
        raise StartError("stdin is closed; name a file, or open stdin")
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise StartError("stdin must be text in UTF-8") from None


def command_load(settings: Fields, options: argparse.Namespace) -> None:
    """Load a fixture from a file or stdin."""
    name = options.file
    show_progress(f"reading {name} …")
    text = stdin_text() if name == "-" else fixture_text(name)
    with open_database(settings) as database, naming(name), database.loading() as store:
        records = load(store, parse_fixture(text))
    tell(f"{records:,} records loaded into {settings['database']}")


def command_dump(settings: Fields, options: argparse.Namespace) -> None:
    """Write everything to stdout as a fixture."""
    with open_database(settings, existing=True) as database, database.reading() as store:
        sys.stdout.writelines(dump(store))


def typed_password(whose: str, remedy: str) -> str:
    """Return the password that a person types.

    Raises StartError, with the remedy, where there is no terminal.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        raise StartError(f"there is no terminal to ask for the password at; {remedy}")
    import getpass

    show_progress("")
    return getpass.getpass(f"Password of {whose}: ")


def command_user(settings: Fields, options: argparse.Namespace) -> None:
    """Create a user, or change what is given of one that exists."""
    account, password = options.account, options.new_password
    if password is ASKED_FOR:
        password = typed_password(account, "give it as --password PASSWORD")
    named = {"realname": options.realname, "admin": options.admin, "password": password}
    given = {field: value for field, value in named.items() if value is not None}
    try:
        values = with_hash(check(fixture_shape(USER), {"account": account, **given}))
    except Invalid as error:
        raise StartError(str(error)) from None
    with open_database(settings) as database, database.writing() as store:
        known = store.user(account)
        if known and known["deleted"]:
            raise StartError(f"user {known['id']}, {account}, is deleted: nothing was changed")
        id = save_user(store, values)
    tell(f"user {id}, {account}, {'changed' if known else 'created'}")


def give_name(part: str, path: str) -> None:
    """Give a finished file its name without ever replacing another file. Raises FileExistsError."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: the name is taken first
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.replace(part, path)


def command_pull(settings: Fields, options: argparse.Namespace) -> int:
    """Write the records of a running server to stdout; return 1 if it refused some."""
    remote = Remote(options.url, options.insecure_http)
    token, password = (os.environ.get(PREFIX + name, "") for name in PULL_VARIABLES)
    if not (token or password):
        remedy = f"set {PREFIX}PULL_PASSWORD"
        password = typed_password(f"{options.account} at {options.url}", remedy)
    with contextlib.closing(remote.connection):
        remote.log_in(token, options.account, password)
        pull = Pull(remote)
        pull.read()
    pull.write()
    show_progress("")
    tell(*pull.report())
    return 1 if pull.refused else 0


def command_backup(settings: Fields, options: argparse.Namespace) -> None:
    """Copy the database, as it is now, to a new file, which gets its name when it is whole."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # removes half a copy, as Ctrl-C
    out = options.out
    if os.path.lexists(out):
        raise StartError(f"{out}: File exists; name a file that does not exist yet")
    part = f"{os.path.abspath(out)}.{secrets.token_hex(4)}.part"  # SQLite reads "file:" as a URI
    try:
        opened = open_database(settings, existing=True, older=True)
        with opened as database, database.querying() as store:
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            store.run("VACUUM INTO ?", (part,))
        give_name(part, out)
    except (OSError, sqlite3.Error) as error:
        raise StartError(f"{out}: {getattr(error, 'strerror', None) or error}") from None
    finally:
        with contextlib.suppress(OSError):  # it has its name, or was never created
            os.unlink(part)
    tell(f"{settings['database']} copied to {out}")


# The tables that triggers keep: the query that makes their rows again, and that for the rows.
KEPT_BY_TRIGGERS = {
    "tally": (
        "SELECT product, counter, count(*) FROM counted GROUP BY product, counter",
        "SELECT product, counter, number FROM tally WHERE number <> 0",
    ),
    "release_story": (
        "SELECT release, story FROM named_story",
        "SELECT release, story FROM release_story",
    ),
}


def problems_of(store: Store) -> Iterator[str]:
    """Yield what is wrong with the file or its records, a line each."""
    for (line,) in store.run("PRAGMA integrity_check"):
        if line != "ok":
            yield str(line)
    for table, id, other, _ in store.run("PRAGMA foreign_key_check"):
        yield f"{table} {id} names a row of {other} that does not exist"
    for table, (made, stored) in KEPT_BY_TRIGGERS.items():
        for row in store.run(f"{made} EXCEPT {stored}"):
            yield f"{table} lacks the row {tuple(row)}"
        for row in store.run(f"{stored} EXCEPT {made}"):
            yield f"{table} has the row {tuple(row)}, which is wrong"
    for problem in problems_in(store):
        yield f"{problem.resource.name} {problem.id}: {problem.field} {problem.rule}"


def command_check(settings: Fields, options: argparse.Namespace) -> int:
    """Check the file and the rules between records; return 1 if one is wrong."""
    with open_database(settings, existing=True) as database, database.reading() as store:
        problems = list(itertools.islice(problems_of(store), 100))
    if problems:
        print("\n".join(problems))
        return 1
    print(f"{settings['database']} is sound: pages, links and rules are right.")
    return 0


# Seconds after which a thread at work lets others on. With Python's 0.005, a quick read beside HTML
# pages took 4.9 ms, with this 1.8.
SWITCH_TIME = 0.001


def command_serve(settings: Fields, options: argparse.Namespace) -> None:
    """Serve until stopped. While a fixture is being loaded, only /-/live and /-/ready answer."""
    path, host, loopback = settings["database"], settings["host"], is_loopback(settings["host"])
    if not loopback and not (settings["token"] or settings["password"]):
        raise StartError(f"{host} can be reached from outside: set --token or --password first")
    if settings["with_parent"]:
        refuse_stdin_without_parent()
    chosen = {**settings, "loopback_only": loopback}
    sys.setswitchinterval(SWITCH_TIME)
    make = functools.partial(patiently, path, make_service, path, chosen)
    with serving(host, settings["port"], make) as server:
        service = server.service
        if service.names is not None and loopback:
            service.names.add(host)
        for number in STOPS:
            signal.signal(number, server.stop)
        if settings["with_parent"]:
            threading.Thread(target=stop_with_parent, args=(server,), daemon=True).start()
        service.loading = bool(settings["load"] or settings["demo"])
        failures = []

        def start() -> None:
            """Finish the start; if that fails, stop the server."""
            try:
                finish_start(service, settings)
            except Exception as error:
                failures.append(error)
                server.stop()

        # A daemon: a server that is stopped does not wait for what is still being loaded.
        starter = threading.Thread(target=start, daemon=True)
        starter.start()
        server.run()
        if not service.loading:
            starter.join(GRACE)  # what it still says; Python may crash at its end beside a daemon
        if failures:
            raise failures[0]


def refuse_stdin_without_parent() -> None:
    """Raise StartError unless stdin is a pipe, which another process can hold open."""
    if sys.stdin is not None:
        mode = os.fstat(sys.stdin.fileno()).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):  # Node's pipes are sockets
            return
    rule = "must be a pipe, held open by the process that starts the service"
    raise StartError(f"--with-parent: stdin {rule}")


def stop_with_parent(server: Server) -> None:
    """Wait for the end of stdin, then stop the server."""
    stdin = sys.stdin.fileno()
    is_open = True
    while is_open:
        try:
            # not sys.stdin.read(), whose lock would make Python fail at its exit
            is_open = bool(os.read(stdin, 4096))
        except BlockingIOError:  # a pipe in non-blocking mode holds nothing now
            select.select([stdin], [], [])
        except OSError:
            is_open = False
    server.stop()


def patiently(path: str, work: Callable[..., Any], *arguments: Any) -> Any:
    """Return what `work` returns; try again while another process is writing to the database.

    `work` itself waits some seconds for the lock before it raises Busy.
    """
    while True:
        try:
            return work(*arguments)
        except Busy:
            log.warning("%s: waiting for another process that is writing to it", path)


def finish_start(service: Service, settings: Fields) -> None:
    """Load what is to be served, make credentials, and print that the service is ready.

    Raises StartError.
    """
    database, url = service.database, service.url
    patient = functools.partial(patiently, settings["database"])
    said = patient(fill, database, settings)
    password, token = patient(make_credentials, database, settings)
    by_click = password and service.names is not None and not service.allowed  # this machine alone
    if by_click:
        with database.querying() as store:
            _, stored = store.login(ADMIN)
        service.page.shared_password = stored or ""
        if settings["demo"]:
            said.append("Open the URL in a browser and click on a name.")
    if settings["demo"]:  # only now admin has a password to share
        said.append(patient(share_password, database))
    patient(service.controls.open_service)
    write_out(sys.stdout, f"{url}\n", wait=True)
    # at a terminal, the line above has just shown the URL
    place = "" if sys.stdout.isatty() and sys.stderr.isatty() else f" at {url}"
    serving = f"pmservice {__version__} serves {settings['database']}{place}; press Ctrl-C to stop."
    call = "" if settings["demo"] and by_click else f"{url}/products"
    # in one write, so that no request's line comes between
    credentials = credential_lines(database, password, token, call)
    tell(serving, *filter(None, said), *credentials)


def make_credentials(database: Database, settings: Fields) -> tuple[str, str]:
    """Make a password and a token for the administrator if they are needed; return them.

    "" stands for one that is not made: a program that gave a token needs neither in its log.
    """
    own_token = settings["token"]
    is_read_by_person = not own_token or sys.stderr.isatty()
    with database.querying() as store:
        admin = store.user(ADMIN)
    if admin is None or admin["deleted"]:  # by a fixture
        return "", ""
    needs_password = admin["password"] is None and is_read_by_person
    needs_token = not own_token and (needs_password or database.created)
    if not (needs_password or needs_token):
        return "", ""
    password, token = "", ""
    with database.writing() as store:  # both or neither, because both are shown only now
        # another process that starts on this file may just have set one
        if needs_password and store.login(ADMIN) == (ADMIN, None):
            password = secrets.token_urlsafe(12)
            save_user(store, with_hash({"account": ADMIN, "password": password}))
        if needs_token:
            token = give_token(store, ADMIN)
    return password, token


def credential_lines(database: Database, password: str, token: str, call: str) -> Iterator[str]:
    """Yield the lines that show new credentials; "" stands for none.

    call: the URL of an example for the token, "" for no example.
    """
    if not (password or token):
        return
    found = (
        "This is a new database. " if database.created else f"Nobody could log in as {ADMIN} yet. "
    )
    if database.in_memory:  # it is new at each start
        found = ""
    yield f"{found}Note these credentials; they are not shown again."
    if password:
        yield f"  account   {ADMIN}"
        yield f"  password  {password}"
    if token:
        yield f"  token     {token}"
    if token and call:
        curl = "curl.exe" if os.name == "nt" else "curl"  # PowerShell has another curl
        yield "Open the URL in a browser, or try:"
        yield f'  {curl} -H "Token: {token}" {call}'


class Command(NamedTuple):
    """A command.

    help: its line in the list of commands.  more: what its own help says, with what it prints.
    example: a line, after "pmservice ".  settings: the help of those that it uses, "" for the
    setting's own.  arguments: its own, with the options of argparse.
    """

    run: Callable[[Fields, argparse.Namespace], int | None]
    help: str
    more: str
    example: str
    settings: Mapping[str, str]
    arguments: Mapping[str, Fields] = {}


# fmt: off
COMMANDS = {
    "load": Command(command_load, "load a fixture into the database",
        "Load a fixture into the database, whole or not at all, and tell on stderr how many records it has.",
        "load seed.json -d team.db",
        {"database": "the file to load it into, created if needed", "timezone": ""},
        {"file":            dict(metavar="FILE", help="a JSON document; - reads stdin")}),
    "dump": Command(command_dump, "write the database to stdout as a fixture",
        "Write all records of the database to stdout, as a fixture, which `load` takes. The histories of records are left out.",
        "dump -d team.db > team.json",
        {"database": "the file to read, which must exist"}),
    "backup": Command(command_backup, "copy the database to a new file",
        "Copy the database to a new file, which only its owner can read, also while it is being served. Say so on stderr.",
        "backup monday.db -d team.db",
        {"database": "the file to copy, which must exist"},
        {"out":             dict(metavar="OUT", help="the new file, which must not exist")}),
    "pull": Command(command_pull, "copy the records of a running server",
        "Write what an account may see on a running server to stdout, as a fixture. How many records of each kind came, and what was left "
        "out, is told on stderr. The exit code is 1 if the server refused some.",
        "pull https://pm.example.org --account dev1 > copy.json", {}, {
        "url":             dict(metavar="URL", help="the server's address, such as https://pm.example.org"),
        "--account":       dict(default=ADMIN, help=f"the account to log in with (default {ADMIN}); its password is asked for, or read from "
                                f"{PREFIX}PULL_PASSWORD; a token in {PREFIX}PULL_TOKEN is used instead of logging in"),
        "--insecure-http": dict(action="store_true", help="send the password to another machine without encryption")}),
    "check": Command(command_check, "check the file and the rules between records",
        "Check the file, its links and the rules between records. Print a line for each of the first 100 problems, or one that says that "
        "there is none. The exit code is 1 if there are problems.",
        "check -d team.db",
        {"database": "the file to check, which must exist"}),
    "user": Command(command_user, "create or change a user",
        "Create a user, or change what is given of one that exists, and tell on stderr which. A new password ends the user's tokens.",
        "user dev1 --password --realname 'Dana Li'",
        {"database": "the file that has the users, created if needed"}, {
        "account":         dict(metavar="ACCOUNT", help="1 to 30 letters, digits, _ . - @"),
        "--password":      dict(dest="new_password", metavar="PASSWORD", nargs="?", const=ASKED_FOR,
                                help="set the password; ask for it if none is given"),
        "--realname":      dict(help="set the real name"),
        "--admin":         dict(action="store_const", const=True, help="make the user an administrator")}),
}
# fmt: on

if __name__ == "__main__":
    sys.exit(main())
