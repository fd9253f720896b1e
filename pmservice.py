#!/usr/bin/env python3
"""A project-management service in one file and one database: ZenTao's REST API v1, quirks included.

Programs, projects, products, releases, tasks, bugs and test cases over HTTP with JSON, for clients
that were written for the real server. `pmservice` serves; `create_app()` gives the WSGI application.

How to read it: top to bottom, each room uses only the rooms above it. Two tables are the interface:
OPERATIONS (room 8) says what can be called, the views (room 5) say how it looks.

    1 Words       the specification's enumerations and odd constants
    2 Errors      each refusal with its HTTP status
    3 Kinds       what a field may hold, and how a request may write it
    4 Records     each resource: its fields and their kinds; the bodies that requests may send
    5 Views       how each operation shows a record: one row an operation
    6 Store       the database: every SQL statement outside schema.sql
    7 Rules       what the operations mean, as functions on rows; fixtures in and out
    8 Operations  the table of what can be called
    9 OpenAPI     those tables as a document
    10 Wire       what a request is made of: the body, the path
    11 Control    clock, journal, faults, snapshots: what a test can turn
    12 Service    tokens, JSON in and out, the WSGI application
    13 Demo       a made-up company to look at
    14 Server     waitress, its connections and threads; running() and the pytest plugin
    15 Command    settings, the command line
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import errno
import fnmatch
import functools
import getpass
import hashlib
import hmac
import io
import ipaddress
import itertools
import json
import logging
import os
import random
import re
import secrets
import select
import signal
import socket
import sqlite3
import sys
import threading
import time
import urllib.parse
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import MAXYEAR, MINYEAR, date, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, NoReturn

import bottle
import waitress.adjustments
import waitress.server
from waitress.channel import ClientDisconnected, HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.task import ErrorTask, WSGITask

__version__ = "1.0.0"
__all__ = ["create_app"]

log = logging.getLogger("pmservice")

# --- 1 Words: the specification's enumerations and odd constants ------------------------------------
# Plain values only. Each is quoted from the specification or the contract that fills its gaps.

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
BUG_STATES      = ("active", "resolved", "closed")
RESOLUTIONS     = ("bydesign", "duplicate", "external", "fixed", "notrepro", "postponed", "willnotfix")
CASE_TYPES      = ("feature", "performance", "config", "install", "security", "interface", "unit", "other")
CASE_STAGES     = ("unittest", "feature", "intergrate", "system", "smoke", "bvt")  # "spelling exactly as given"
CASE_STATES     = ("wait", "normal", "blocked", "investigate")

NULL, BLANK = "null", '""'
EPOCH       = '"1969-12-31T16:00:00Z"'  # "Unset datetimes appear … (in bug records) as `1969-12-31T16:00:00Z`"
EPOCH_DAY   = '"1970-01-01"'            # "an unset bug deadline is `1970-01-01`"
ZERO_DAY    = '"0000-00-00"'            # "an unset real start or end of a project is `0000-00-00`"

# "objects holding a count per status …; the sample also carries index keys `0` to `4` mapping to the
# empty string and those four status names". Stories are no records here: every count is 0.
STORY_STATES = ("", "draft", "active", "closed", "changed")
STORY_COUNTS = {**{str(i): state for i, state in enumerate(STORY_STATES)}, **dict.fromkeys(STORY_STATES, 0)}
# fmt: on

PREFIXES = ("/zentao/api.php/v1", "/api.php/v1")  # where clients of the real server look
HOST = re.compile(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?")
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)")  # GET http://host/path
UNAUTHORIZED = "Unauthorized"
LOGIN_FAILED = "Login failed. Please check your account and password."
MAX_INT = 2**63 - 1
MAX_ID = 2**53  # of a record that a fixture names: every client counts so far, and `order` is five times as much
MAX_NAME = 255  # characters
MAX_PEOPLE = 1000  # on a white list, or to whom a task is given
MAX_TEXT = 64 * 1024  # bytes
MAX_BODY = 1024 * 1024  # bytes
MAX_DEPTH = 100  # of a JSON body: far above any client's, below every Python's own limit
DAY = 24 * 60 * 60  # seconds: how long an unused token lives
ADMIN = "admin"
HASH_PREFIX = "scrypt:"


# --- 2 Errors: each refusal with its HTTP status ----------------------------------------------------
# The message is the sentence that the client reads. Nothing here knows who sends it.


class Refusal(Exception):
    """A request that is answered with no; its text is one sentence for a person."""

    status = 400

    def body(self) -> dict[str, Any]:
        return {"error": str(self)}


class Invalid(Refusal):
    """A body that breaks rules; `fields` maps every broken field to what is wrong with it."""

    def __init__(self, fields: Mapping[str, str]):
        super().__init__("; ".join(f"{field} {rule}" for field, rule in fields.items()))
        self.fields = dict(fields)

    def body(self) -> dict[str, Any]:
        return {"error": str(self), "fields": self.fields}


class Unauthorized(Refusal):
    """There is no valid token."""

    status = 401


class Forbidden(Refusal):
    """Only an administrator may do this."""

    status = 403


class NotFound(Refusal):
    """There is nothing here, or nothing that the caller may see."""

    status = 404


class TooLarge(Refusal):
    """The body is too long."""

    status = 413


class Conflict(Refusal):
    """Not as many calls came as were expected."""

    status = 409


class Misdirected(Refusal):
    """The Host is not this service's."""

    status = 421


class Unavailable(Refusal):
    """Not now: somebody else writes, or nothing can be written."""

    status = 503


class StartError(Exception):
    """Why the service cannot start or a command cannot run: one line that says what to do."""


# SQLite's own refusals, by a part of its message (Python 3.10 does not tell the code).
STORAGE_ERRORS = {
    "locked": (503, "The database is busy; try again."),
    "readonly": (503, "The database is read-only; nothing was written."),
    "unable to open": (503, "The database cannot be opened now."),
    "disk I/O": (503, "The database cannot be read or written now."),
    "malformed": (503, "The database file is damaged; stop the service and run `pmservice check`."),
    "full": (507, "The disk is full; nothing was written."),
    "FOREIGN KEY": (503, "The records were reset meanwhile; nothing was written."),
}


# --- 3 Kinds: what a field may hold, and how a request may write it ---------------------------------
# A kind reads one JSON value, or raises ValueError with the rule it breaks, worded to follow the
# field's name. What needs the database or the time zone is settled later (room 7).


Schema = Mapping[str, Any]


class Kind(NamedTuple):
    """What a field holds.

    look: the cell of a view that shows it.  read: JSON value to checked value, ValueError(rule).
    schema: the JSON Schema of what requests may send.  source: "given" (a column that requests or
    fixtures set), "derived" (worked out by the database), "fixed" (always `value`).
    target: for a link, what it must name (a key of TARGETS).  shown: the schema of a plain look in answers.
    """

    look: str
    read: Callable[[Any], Any]
    schema: Schema
    source: str = "given"
    value: Any = None
    target: str = ""
    shown: Schema = {"type": "integer"}


ASCII_INT = re.compile(r"-?[0-9]{1,19}")
ASCII_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
ASCII_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
ASCII_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[ T]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})?)?"
)
ASCII_ACCOUNT = re.compile(r"[A-Za-z0-9_.@-]{1,30}")


def whole(least: int = -MAX_INT - 1, most: int = MAX_INT) -> Callable[[Any], int]:
    """Reader of an int, or of its text, between two bounds (inclusive)."""

    def read(value: Any) -> int:
        if isinstance(value, str) and ASCII_INT.fullmatch(value):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError("must be a whole number")
        if not least <= value <= most:
            raise ValueError(f"must be between {least} and {most}")
        return value

    return read


def read_hours(value: Any) -> float:
    """Work hours: an int, a float or their text; not negative, finite, within 64 bits."""
    if isinstance(value, str) and ASCII_NUMBER.fullmatch(value):
        value = float(value)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise ValueError("must be a number of hours")
    if not 0 <= value <= MAX_INT or float(value) > MAX_INT:
        raise ValueError("must be a number of hours, 0 or more, of 64 bits")
    return float(value)


def read_text(value: Any) -> str:
    """Text or a number; no NUL, no lone surrogate, at most 64 KiB."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not -MAX_INT - 1 <= value <= MAX_INT:
            raise ValueError("must be text, or a number of 64 bits")
        value = str(value)
    if not isinstance(value, str):
        raise ValueError("must be text")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise ValueError("must not hold a lone surrogate") from None
    if size > MAX_TEXT:
        raise ValueError(f"must be at most {MAX_TEXT} bytes long")
    if "\0" in value:
        raise ValueError("must not hold a NUL character")
    return value


def read_name(value: Any) -> str:
    """A name or title: 1 to 255 characters, not blank."""
    name = read_text(value)
    if not name.strip() or len(name) > MAX_NAME:
        raise ValueError(f"must be 1 to {MAX_NAME} characters, not blank")
    return name


def read_filled(value: Any) -> str:
    """Text that is not blank."""
    if not (filled := read_text(value)).strip():
        raise ValueError("must not be blank")
    return filled


def read_day(value: Any) -> str:
    """A real day, YYYY-MM-DD."""
    if isinstance(value, str) and ASCII_DAY.fullmatch(value):
        with contextlib.suppress(ValueError):
            return date.fromisoformat(value).isoformat()
    raise ValueError("must be a real day, YYYY-MM-DD")


def read_moment(value: Any) -> datetime:
    """A moment: YYYY-MM-DD hh:mm:ss, a date alone (its midnight), or ISO 8601 with its zone.

    Without a zone the result is naive: the service's time zone is not known here.
    """
    if isinstance(value, str) and (match := ASCII_MOMENT.fullmatch(value)):
        day, clock, zone = match.groups()
        with contextlib.suppress(ValueError):
            moment = datetime.fromisoformat(f"{day}T{clock or '00:00:00'}{'+00:00' if zone == 'Z' else zone or ''}")
            if MINYEAR < moment.year < MAXYEAR:  # room for every zone's offset
                return moment
    raise ValueError("must be a moment, YYYY-MM-DD hh:mm:ss, of the years 2 to 9998")


def read_account(value: Any) -> str:
    """An account: 1 to 30 letters, digits, _ . - @"""
    if isinstance(value, str) and ASCII_ACCOUNT.fullmatch(value):
        return value
    raise ValueError("must be an account: 1 to 30 letters, digits, _ . - @")


def read_person(value: Any) -> str | int | None:
    """An account, a user's id or a user reference object; "" is nobody."""
    if isinstance(value, dict):
        value = value.get("account") or value.get("id")
    if value == "":
        return None
    if isinstance(value, str):
        return read_account(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_INT:
        return value
    raise ValueError("must be an account, a user's id or a user reference")


def read_people(value: Any) -> list[str | int]:
    """Persons as an array, or as accounts separated by commas."""
    given = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else [value]
    if len(given) > MAX_PEOPLE:
        raise ValueError(f"must be at most {MAX_PEOPLE} persons")
    people = [read_person(one) for one in given]
    return list(dict.fromkeys(one for one in people if one is not None))


def read_flag(value: Any) -> int:
    """A boolean, as the interface writes it: true, false, 0, 1, "0", "1"."""
    if value in (True, "1"):
        return 1
    if value in (False, "0"):
        return 0
    raise ValueError("must be true or false")


def read_ids(value: Any) -> list[int]:
    """An array of record ids, not empty."""
    if not isinstance(value, list) or not value:
        raise ValueError("must be an array of ids, not empty")
    with contextlib.suppress(ValueError):
        return list(dict.fromkeys(map(whole(1), value)))
    raise ValueError("must be an array of ids: whole numbers from 1")


def read_commas(value: Any) -> str:
    """Text, or an array of texts, which are joined by commas."""
    return ",".join(map(read_text, value)) if isinstance(value, list) else read_text(value)


def read_build(value: Any) -> int:
    """The id of a build, which clients also send as an array of one."""
    return whole(0)(value[0] if isinstance(value, list) and len(value) == 1 else value)


def read_stages(value: Any) -> str:
    """One stage, several joined by commas, or an array; joined by commas."""
    words = value if isinstance(value, list) else read_text(value).split(",")
    if not words or not all(word in CASE_STAGES for word in words):
        raise ValueError(f"must be of {', '.join(CASE_STAGES)}")
    return ",".join(words)


def hint(word: Any, known: Iterable[str]) -> str:
    """The known word that is nearest to one that is not, as the end of a sentence."""
    near = difflib.get_close_matches(str(word)[:MAX_NAME], known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def read_bug_state(value: Any) -> str:
    """A bug's status, also as answers write it: an object with `code`."""
    return words_of(BUG_STATES)(value.get("code") if isinstance(value, dict) else value)


def words_of(words: Sequence[str]) -> Callable[[Any], str]:
    """Reader of one word of an enumeration."""

    def read(value: Any) -> str:
        if value not in words or not isinstance(value, str):
            raise ValueError(f"must be one of {', '.join(word or '(empty)' for word in words)}{hint(value, words)}")
        return value

    return read


def either(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


def a_whole(least: int = -MAX_INT - 1, most: int = MAX_INT) -> Schema:
    """The schema of an int or its text."""
    digits = "^-?[0-9]{1,18}$" if least < 0 else "^[0-9]{1,18}$" if least == 0 else "^[1-9][0-9]{0,17}$"
    return either({"type": "integer", "minimum": least, "maximum": most}, {"type": "string", "pattern": digits})


def closed(properties: Mapping[str, Any]) -> Schema:
    """The schema of an object that has these properties, all of them and no others."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def array_of(items: Schema, **bounds: int) -> Schema:
    return {"type": "array", "items": items, **bounds}


def one_of(*words: str) -> Kind:
    return Kind("word", words_of(words), {"type": "string", "enum": list(words)})


def link(target: str) -> Kind:
    """The id of another record, 0 for none; `target` says of what sort."""
    return Kind("plain", whole(0), a_whole(0), target=target)


def derived(kind: Kind) -> Kind:
    return kind._replace(source="derived")


def fixed(value: Any) -> Kind:
    """A field of which nothing here ever changes the value that the samples show."""
    return Kind("fixed", lambda given: given, {}, source="fixed", value=value)


A_NUMBER = {"type": "number", "minimum": -MAX_INT - 1, "maximum": MAX_INT}
A_TEXT = {"type": "string", "pattern": "^[^\u0000]*$"}
NOT_BLANK = "^[^\u0000]*[^\\s\u0000][^\u0000]*$"
A_NAME = {"type": "string", "maxLength": MAX_NAME, "pattern": NOT_BLANK}
AN_ACCOUNT = {"type": "string", "pattern": "^[A-Za-z0-9_.@-]{1,30}$"}
A_PERSON = either(
    AN_ACCOUNT,
    {"const": ""},
    {"type": "integer", "minimum": 1, "maximum": MAX_INT},
    {"type": "object", "required": ["account"], "properties": {"account": AN_ACCOUNT}},
)
SOME_PEOPLE = either(
    array_of(A_PERSON), {"type": "string", "pattern": "^([A-Za-z0-9_.@-]{1,30}(,[A-Za-z0-9_.@-]{1,30})*)?$"}
)
A_DAY = {"type": "string", "format": "date"}
A_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
A_MOMENT = {"type": "string", "pattern": f"^[12][0-9]{{3}}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8]) {A_CLOCK}$"}
A_FLAG = {"enum": [True, False, 0, 1, "0", "1"]}
TEXTUAL = either(A_TEXT, A_NUMBER)
# fmt: off
#                look         read               schema of a request
ID        = Kind("plain",     whole(1, MAX_ID),  a_whole(1, MAX_ID))
INT       = Kind("plain",     whole(),           a_whole())
MONEY     = Kind("word",      whole(),           a_whole(),  shown={"type": "string"})  # "int (sent) / string (returned)"
HOURS     = Kind("hours",     read_hours,        either({**A_NUMBER, "minimum": 0}, {"type": "string", "pattern": "^[0-9]{1,15}$"}))
NAME      = Kind("text",      read_name,         either(A_NAME, A_NUMBER))
TEXT      = Kind("text",      read_text,         TEXTUAL)
COMMAS    = Kind("text",      read_commas,       either(A_TEXT, A_NUMBER, array_of(TEXTUAL)))
BUILD     = Kind("plain",     read_build,        either(a_whole(0), array_of(a_whole(0), minItems=1, maxItems=1)))
FILLED    = Kind("text",      read_filled,       either({"type": "string", "pattern": NOT_BLANK}, A_NUMBER))
ACCOUNT   = Kind("text",      read_account,      AN_ACCOUNT)
DAYS      = Kind("day",       read_day,          A_DAY)
MOMENT    = Kind("moment",    read_moment,       either(A_MOMENT, A_DAY))
STAMP     = Kind("stamp",     read_moment,       either(A_MOMENT, A_DAY))  # a moment that is "" when unset, in every answer
PERSON    = Kind("person",    read_person,       A_PERSON)
PEOPLE    = Kind("people",    read_people,       either(SOME_PEOPLE, A_PERSON))
WHITELIST = Kind("whitelist", read_people,       either(SOME_PEOPLE, A_PERSON))
FLAG      = Kind("deleted",   read_flag,         A_FLAG)
STAGES    = Kind("text",      read_stages,       either({"enum": list(CASE_STAGES)}, array_of({"enum": list(CASE_STAGES)}, minItems=1)))
PRODUCTS  = Kind("plain",     read_ids,          array_of(a_whole(1), minItems=1), target="product")
PAGE      = Kind("plain",     whole(1),          {"type": "integer", "minimum": 1, "maximum": MAX_INT})
LIMIT     = Kind("plain",     whole(1, 100_000), {"type": "integer", "minimum": 1, "maximum": 100_000})
# fmt: on
# Of a fixture or an execution: may be empty.
ANY_STAGES = STAGES._replace(read=lambda stages: "" if stages == "" else read_stages(stages))
PRODUCT_IDS = PRODUCTS._replace(read=lambda ids: [] if ids == [] else read_ids(ids), schema=array_of(a_whole(1)))


Fields = Mapping[str, Any]
Rule = Callable[[Fields, Fields], Mapping[str, str]]
Settle = Callable[[Kind, Any], Any]


class Shape:
    """The fields that a body may have: their kinds, which are needed, and the rules between them.

    A rule gets the record that the path names, if any, and the same with the checked values in it but without
    broken fields; it gives what is wrong with each field.
    """

    def __init__(self, fields: Mapping[str, Kind], needed: str = "", *rules: Rule):
        self.fields = dict(fields)
        self.needed = frozenset(needed.split())
        self.rules = rules


NO_FIELDS: Fields = {}


def unsettled(kind: Kind, value: Any) -> Any:
    """Settle nothing: for values that need neither the database nor the time zone."""
    return value


def check(shape: Shape, given: Fields, settle: Settle = unsettled, record: Fields = NO_FIELDS) -> dict[str, Any]:
    """The checked values of the fields that were given; null is not given, unknown fields are ignored.

    `record` is what the path names, if it names one. Raises Invalid with every field that breaks a rule.
    """
    values: dict[str, Any] = {}
    broken: dict[str, str] = {}
    for field, kind in shape.fields.items():
        if (value := given.get(field)) is None:
            if field in shape.needed:
                broken[field] = "is required"
            continue
        try:
            values[field] = settle(kind, kind.read(value))
            if values[field] is None and field in shape.needed:
                raise ValueError(f"must name an existing {kind.target}")
        except Invalid as error:
            broken.update((field + inner, rule) for inner, rule in error.fields.items())
        except ValueError as error:
            broken[field] = str(error)
    for rule in shape.rules:
        after = {field: value for field, value in {**record, **values}.items() if field not in broken}
        broken = {**rule(record, after), **broken}
    if broken:
        raise Invalid(broken)
    return values


def in_order(first: str, last: str) -> Rule:
    """Two days of which one must not be before the other."""

    def rule(record: Fields, after: Fields) -> Mapping[str, str]:
        begins, ends = after.get(first), after.get(last)
        return {last: f"must not be before {first}"} if begins and ends and begins > ends else {}

    return rule


STEP = Shape({"desc": FILLED, "expect": TEXT}, "desc")
STEP_GIVEN = Shape({"id": ID, "parent": INT, "version": INT, "type": TEXT, **STEP.fields}, "desc")  # in a fixture


def read_steps(value: Any, shape: Shape = STEP) -> list[dict[str, Any]]:
    """Ordered steps: an array of objects with `desc` and `expect`."""
    if not isinstance(value, list):
        raise ValueError("must be an array of steps")
    steps, broken = [], {}
    for place, step in enumerate(value):
        try:
            if not isinstance(step, dict):
                raise Invalid({"": "must be an object with desc and expect"})
            steps.append(check(shape, step))
        except Invalid as error:
            broken.update({f"[{place}].{inner}".rstrip("."): rule for inner, rule in error.fields.items()})
    if broken:
        raise Invalid(broken)
    return steps


A_STEP = {
    "type": "object",
    "required": ["desc"],
    "properties": {"desc": FILLED.schema, "expect": either(TEXTUAL, {"type": "null"})},
}
STEP_SHOWN = {name: {"type": "integer"} for name in ("id", "parent", "case", "version")} | {
    name: {"type": "string"} for name in ("type", "desc", "expect")
}
STEPS = Kind("plain", read_steps, array_of(A_STEP), shown=array_of(closed(STEP_SHOWN)))
STEPS_GIVEN = STEPS._replace(read=lambda steps: read_steps(steps, STEP_GIVEN))


# --- 4 Records: each resource's fields and their kinds; the bodies that requests may send -----------
# In the specification's order: described fields first, then those seen only in samples. A field is
# named here and in schema.sql, nowhere else.


class Record(NamedTuple):
    """A resource: the table's name, its fields, and those that only some operations show."""

    name: str
    fields: dict[str, Kind]
    extra: tuple[str, ...] = ()

    def given(self) -> dict[str, Kind]:
        """The fields that requests and fixtures may set."""
        return {field: kind for field, kind in self.fields.items() if kind.source == "given"}

    def taking(self, names: str, **others: Kind) -> dict[str, Kind]:
        """The named fields, and others that only a request has."""
        return {**{name: self.fields[name] for name in names.split()}, **others}


# fmt: off
USER = Record("user", dict(
    id=ID, account=ACCOUNT, avatar=TEXT, realname=TEXT, admin=FLAG, password=FILLED, role=TEXT,
    email=TEXT, dept=fixed(0), pinyin=fixed(""), group=fixed({}),
    company=fixed(0), type=fixed("inside"), nickname=fixed(""), commiter=fixed(""), birthday=fixed(None), gender=fixed("f"),
    skype=fixed(""), qq=fixed(""), mobile=fixed(""), phone=fixed(""), weixin=fixed(""), dingding=fixed(""), slack=fixed(""),
    whatsapp=fixed(""), address=fixed(""), zipcode=fixed(""), nature=fixed(""), analysis=fixed(""), strategy=fixed(""),
    join=fixed(None), visits=fixed(0), visions=fixed("rnd,lite"), ip=fixed(""), last=fixed("1970-01-01T00:00:00Z"), fails=fixed(0),
    locked=fixed(None), feedback=fixed("0"), ranzhi=fixed(""), ldap=fixed(""), score=fixed(0), scoreLevel=fixed(0),
    resetToken=fixed(""), deleted=fixed("0"), clientStatus=fixed("offline"), clientLang=fixed("zh-cn"),
    superReviewer=fixed(False), view=fixed({"programs": "", "products": "", "projects": "", "sprints": ""}),
))

PRODUCT = Record("product", dict(
    id=ID, program=link("program"), name=NAME, code=TEXT, line=INT, PO=PERSON, QD=PERSON, RD=PERSON,
    type=one_of(*PRODUCT_TYPES), desc=TEXT, acl=one_of(*ACLS), whitelist=WHITELIST, createdBy=PERSON,
    createdDate=MOMENT, status=one_of(*PRODUCT_STATES),
    bind=fixed("0"), subStatus=fixed(""), reviewer=TEXT, createdVersion=TEXT, order=INT, deleted=FLAG,
    lineName=fixed(""), programName=derived(TEXT), stories=fixed(STORY_COUNTS), requirements=fixed(STORY_COUNTS),
    plans=fixed(0), releases=derived(INT), bugs=derived(INT), unResolved=derived(INT), closedBugs=derived(INT),
    fixedBugs=derived(INT), thisWeekBugs=derived(INT), assignToNull=derived(INT), progress=fixed(0),
))

BUG = Record("bug", dict(
    id=ID, product=link("product"), branch=INT, module=INT, project=link("project"), execution=link("execution or project"),
    toTask=INT, toStory=INT, title=NAME, keywords=TEXT, severity=INT, pri=INT, type=one_of(*BUG_TYPES), os=TEXT,
    browser=TEXT, steps=TEXT, task=INT, story=INT, openedBy=PERSON, openedDate=MOMENT, deadline=DAYS,
    assignedTo=PERSON, assignedDate=MOMENT, resolvedBy=PERSON, resolvedDate=MOMENT, resolvedBuild=TEXT,
    closedBy=PERSON, closedDate=MOMENT,
    plan=INT, storyVersion=INT, hardware=TEXT, found=TEXT, status=one_of(*BUG_STATES)._replace(read=read_bug_state), subStatus=fixed(""),
    color=TEXT, confirmed=INT, activatedCount=INT, activatedDate=MOMENT, feedbackBy=TEXT, notifyEmail=TEXT,
    mailto=fixed(None), openedBuild=COMMAS, resolution=one_of("", *RESOLUTIONS), duplicateBug=INT, linkBug=TEXT,
    case=INT, caseVersion=INT, result=INT, repo=fixed(0), entry=fixed(""), lines=fixed(""), v1=fixed(""), v2=fixed(""),
    repoType=fixed(""), testtask=INT, lastEditedBy=PERSON, lastEditedDate=MOMENT, deleted=FLAG,
    needconfirm=fixed(False),
))

TASK = Record("task", dict(
    id=ID, project=link("project"), parent=INT, execution=link("execution or project"), module=INT, story=INT, fromBug=INT,
    name=NAME, type=one_of(*TASK_TYPES), pri=INT, estimate=HOURS, consumed=HOURS, left=HOURS, deadline=DAYS,
    status=one_of(*TASK_STATES), desc=TEXT, openedBy=PERSON, openedDate=MOMENT, assignedTo=PERSON,
    assignedDate=MOMENT, estStarted=DAYS, realStarted=MOMENT, finishedBy=PERSON, finishedDate=MOMENT,
    closedBy=PERSON, closedDate=MOMENT, team=fixed([]),
    design=fixed(0), storyVersion=INT, designVersion=fixed(0), feedback=fixed(0), fromIssue=fixed(0), mode=fixed(""),
    subStatus=fixed(""), color=TEXT, mailto=fixed(None), version=INT, finishedList=TEXT, canceledBy=PERSON,
    canceledDate=MOMENT, planDuration=fixed(0), realDuration=fixed(0), closedReason=TEXT, lastEditedBy=PERSON,
    lastEditedDate=MOMENT, activatedDate=STAMP, order=INT, repo=fixed(0), mr=fixed(0), entry=fixed(""),
    lines=fixed(""), v1=fixed(""), v2=fixed(""), deleted=FLAG, vision=fixed("rnd"), storyID=fixed(None),
    storyTitle=fixed(None), latestStoryVersion=fixed(None), storyStatus=fixed(None), assignedToRealName=derived(TEXT),
    children=fixed([]), members=fixed([]), files=fixed([]), needConfirm=fixed(False), progress=derived(INT),
    cases=derived(INT)._replace(shown={"type": "object", "additionalProperties": {"type": "string"}}),
), extra=("cases",))

TESTCASE = Record("testcase", dict(
    id=ID, product=link("product"), branch=INT, module=INT, story=INT, storyVersion=INT, title=NAME,
    precondition=TEXT, pri=INT, type=one_of(*CASE_TYPES), stage=STAGES, steps=STEPS._replace(source="derived"),
    fromBug=INT, fromCaseID=INT, openedBy=PERSON, openedDate=MOMENT, status=one_of(*CASE_STATES),
    project=link("project"), execution=link("execution or project"), lib=fixed(0), path=fixed(0), keywords=TEXT, auto=fixed("no"),
    frame=fixed(""), howRun=fixed(""), scriptedBy=fixed(""), scriptedDate=fixed(None), scriptStatus=fixed(""),
    scriptLocation=fixed(""), subStatus=fixed(""), color=TEXT, frequency=fixed("1"), order=INT, reviewedBy=PERSON,
    reviewedDate=MOMENT, lastEditedBy=PERSON, lastEditedDate=MOMENT, version=INT, linkCase=TEXT, fromCaseVersion=INT,
    deleted=FLAG, lastRunner=TEXT, lastRunDate=MOMENT, lastRunResult=TEXT, toBugs=fixed([]), files=fixed([]),
    currentVersion=derived(INT), caseFails=INT,
), extra=("caseFails",))

PROJECT = Record("project", dict(  # programs, projects and executions: "one record shape"
    id=ID, name=NAME, code=TEXT, model=one_of("", *MODELS), type=one_of(*PROJECT_TYPES), budget=MONEY,
    budgetUnit=one_of(*BUDGET_UNITS), parent=link("program"), begin=DAYS, end=DAYS, realBegan=DAYS, realEnd=DAYS,
    desc=TEXT, openedBy=PERSON, openedDate=MOMENT, PM=PERSON, acl=one_of(*ACLS), whitelist=WHITELIST,
    status=one_of(*PROJECT_STATES),
    project=link("project"), lifetime=TEXT, attribute=TEXT, percent=INT, milestone=fixed("0"), output=fixed(""),
    auth=fixed(""), path=derived(TEXT), grade=derived(INT), days=INT, subStatus=fixed(""), pri=fixed("1"), version=INT,
    parentVersion=fixed(0), planDuration=fixed(0), realDuration=fixed(0), openedVersion=TEXT, lastEditedBy=PERSON,
    lastEditedDate=MOMENT, closedBy=PERSON, closedDate=MOMENT, canceledBy=PERSON, canceledDate=MOMENT, PO=PERSON,
    QD=PERSON, RD=PERSON, team=TEXT, order=INT, deleted=FLAG, products=PRODUCTS._replace(source="derived"),
), extra=("products",))

RELEASE = Record("release", dict(
    id=ID, project=link("project"), product=link("product"), branch=INT, build=BUILD, name=NAME, date=DAYS, desc=TEXT,
    status=one_of(*RELEASE_STATES),
    marker=TEXT, stories=TEXT, bugs=TEXT, leftBugs=TEXT, mailto=COMMAS, notify=fixed(None), subStatus=fixed(""),
    deleted=FLAG, productName=derived(TEXT), buildID=derived(INT), buildName=TEXT, projectName=derived(TEXT),
))
# fmt: on

RECORDS = {record.name: record for record in (USER, PROJECT, PRODUCT, RELEASE, BUG, TASK, TESTCASE)}


# Rules of single bodies.


def not_below_consumed(task: Fields, after: Fields) -> Mapping[str, str]:
    """`consumed` is the new total, never below the old one."""
    if after.get("consumed", MAX_INT) < task["consumed"]:
        return {"consumed": f"must not be below the {task['consumed']:g} hours already consumed"}
    return {}


def begun_before(task: Fields, after: Fields) -> Mapping[str, str]:
    """A task is finished after it was begun; its hours stay within 64 bits."""
    started, finished = after.get("realStarted"), after.get("finishedDate")
    broken = {}
    if not started:
        broken["realStarted"] = "is required: this task was never started"
    elif finished and started > finished:
        broken["finishedDate"] = "must not be before realStarted"
    if task["consumed"] + after.get("currentConsumed", 0) > MAX_INT:
        broken["currentConsumed"] = "makes the consumed hours too many"
    return broken


def within_project(project: Fields, after: Fields) -> Mapping[str, str]:
    """An execution's days lie within its project's."""
    return {
        day: f"must lie in the project's days, {project['begin']} to {project['end']}"
        for day in ("begin", "end")
        if day in after and not project["begin"] <= after[day] <= project["end"]
    }


# The bodies of the operations. Kinds are the record's own, but where a request writes a field differently.
BUDGETED = "budget budgetUnit desc acl whitelist PM"
CREATE_PRODUCT = Shape(PRODUCT.taking("name program code line PO QD RD type desc acl whitelist"), needed="name")
CREATE_CASE = Shape(
    TESTCASE.taking("branch module story title type stage precondition pri keywords", steps=STEPS),
    needed="title type pri steps",
)
CREATE_PROGRAM = Shape(
    PROJECT.taking(f"name begin end {BUDGETED}", parent=link("program")), "name begin end", in_order("begin", "end")
)
CREATE_PROJECT = Shape(
    PROJECT.taking(
        f"name begin end code {BUDGETED} PO QD RD days",
        parent=link("program"),
        model=one_of(*MODELS),
        products=PRODUCTS,
    ),
    "name begin end products",
    in_order("begin", "end"),
)
MODIFY_TASK = Shape(
    TASK.taking("module story fromBug name type assignedTo pri estimate estStarted deadline desc"),
    "",
    in_order("estStarted", "deadline"),
)
CREATE_TASK = Shape({**MODIFY_TASK.fields, "assignedTo": PEOPLE}, "name type estStarted deadline", *MODIFY_TASK.rules)
START_TASK = Shape(TASK.taking("assignedTo realStarted consumed left", comment=TEXT), "left", not_below_consumed)
RESTART_TASK = Shape(START_TASK.fields, "consumed left")
FINISH_TASK = Shape(
    TASK.taking("assignedTo realStarted finishedDate", currentConsumed=HOURS, comment=TEXT),
    "finishedDate",
    begun_before,
)
NOTHING = Shape({})

# The companions', likewise.
CREATE_USER = Shape(USER.taking("account realname role email password"), "account password")
CREATE_EXECUTION = Shape(
    PROJECT.taking("name begin end code days lifetime desc acl whitelist PM PO QD RD", products=PRODUCT_IDS),
    "name begin end",
    within_project,
    in_order("begin", "end"),
)
CREATE_RELEASE = Shape(
    RELEASE.taking("name date product branch build desc status marker stories bugs leftBugs mailto"),
    "name date product",
)
MODIFY_BUG = Shape(
    BUG.taking(
        "title severity pri type openedBuild branch module project execution plan story task keywords os browser hardware"
        " found steps deadline assignedTo case caseVersion result testtask color feedbackBy notifyEmail linkBug"
    )
)
CREATE_BUG = Shape(MODIFY_BUG.fields, "title severity pri type openedBuild")
CONFIRM_BUG = Shape(BUG.taking("pri type assignedTo", comment=TEXT))
RESOLVE_BUG = Shape(
    BUG.taking("resolvedDate resolvedBuild assignedTo duplicateBug", resolution=one_of(*RESOLUTIONS), comment=TEXT),
    "resolution",
)
ACTIVATE_BUG = Shape(BUG.taking("assignedTo openedBuild", comment=TEXT))
ACTIVATE_TASK = Shape(TASK.taking("assignedTo left", comment=TEXT))
CLOSE_TASK = Shape(TASK.taking("closedReason", comment=TEXT))
COMMENT = Shape({"comment": TEXT})
LOGIN = Shape({"account": TEXT, "password": TEXT}, "account password")


# --- 5 Views: how each operation shows a record -----------------------------------------------------
# Writers of JSON text, one for each kind of value, and the quirk table. No meaning, no SQL.

quote = json.encoder.encode_basestring  # a text as JSON, written in C, no character escaped that need not be
to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class Scene(NamedTuple):
    """What a writer needs besides the value: the people of the answer, by account, and the time zone."""

    people: Mapping[str, str]
    zone: tzinfo


Column = Iterable[Any]  # the values of one field, of all rows that are shown
Writer = Callable[[Column, Scene], Iterable[str]]


def reference(unset: str) -> Writer:
    """Persons as user reference objects."""

    def write(accounts: Column, scene: Scene) -> Iterable[str]:
        people: dict[str | None, str] = {None: unset}
        people.update(scene.people)
        return map(people.__getitem__, accounts)

    return write


def account(unset: str) -> Writer:
    """Persons as "a plain account string"."""
    return lambda accounts, scene: [unset if account is None else f'"{account}"' for account in accounts]


def iso(unset: str) -> Writer:
    """Datetimes as "ISO 8601 UTC, form `YYYY-MM-DDThh:mm:ssZ`": as they are stored. Days likewise."""
    return lambda moments, scene: [unset if moment is None else f'"{moment}"' for moment in moments]


def spaced(unset: str) -> Writer:
    """Datetimes in "the form `YYYY-MM-DD hh:mm:ss`", local to the service's time zone."""
    return lambda moments, scene: [unset if moment is None else f'"{local(moment, scene.zone)}"' for moment in moments]


def local(moment: str, zone: tzinfo) -> str:
    """The wall-clock time in a zone, YYYY-MM-DD hh:mm:ss, of a UTC moment as it is stored."""
    return str(datetime.fromisoformat(moment[:-1] + "+00:00").astimezone(zone).replace(tzinfo=None))


def boolean(flags: Column, scene: Scene) -> Iterable[str]:
    return map(("false", "true").__getitem__, flags)


def digit(flags: Column, scene: Scene) -> Iterable[str]:
    return map(('"0"', '"1"').__getitem__, flags)


def text(values: Column, scene: Scene) -> Iterable[str]:
    return map(quote, values)


def secret(values: Column, scene: Scene) -> Iterable[str]:
    """The hash of a password, null for none."""
    return map(to_json, values)


def hours(values: Column, scene: Scene) -> Iterable[str]:
    """Whole hours without a fraction (8, not 8.0): typed clients read them as ints."""
    return [str(int(value)) if value.is_integer() else repr(value) for value in values]


def coded(states: Column, scene: Scene) -> Iterable[str]:
    """A bug's status: "object (`code` string, `name` string)"."""
    return [f'{{"code":"{state}","name":"{state.capitalize()}"}}' for state in states]


def references(whitelists: Column, scene: Scene) -> Iterable[str]:
    """White lists as arrays of user references."""
    return [f"[{','.join(scene.people[one] for one in listed(whitelist))}]" for whitelist in whitelists]


def accounts(whitelists: Column, scene: Scene) -> Iterable[str]:
    """White lists as arrays of accounts."""
    return [to_json(listed(whitelist)) for whitelist in whitelists]


def listed(whitelist: str) -> list[str]:
    """The accounts of a white list as it is stored: ",dev1,qa1,"."""
    return [account for account in whitelist.split(",") if account]


def role(codes: Column, scene: Scene) -> Iterable[str]:
    """Users' roles as objects."""
    return [f'{{"code":{quote(code)},"name":{quote(code)}}}' for code in codes]


def doubled(product: str) -> str:
    """Real clients read `id` at the top level; "the sample response is the same envelope as operation 1"."""
    return f'{product[:-1]},"total":1,"products":[{product}]}}'


def profile(user: str) -> str:
    return f'{{"profile":{user}}}'


NO_EXCEPTIONS: Mapping[str, Writer] = {}


class View:
    """How one operation shows a record: the quirks by kind, and `exceptions` for single fields.

    Made ready once: a template with the fixed fields written out, the columns that fill it in order,
    and the writers of those columns that are not written as they are. `wrap` puts the record into the
    answer where it is not the answer itself.
    """

    def __init__(
        self,
        record: Record,
        person: Callable[[str], Writer],
        nobody: str,
        moment: Callable[[str], Writer],
        never: str,
        no_day: str,
        deleted: Writer,
        adds: Iterable[str] = (),
        only: Iterable[str] = (),
        wrap: Callable[[str], str] | None = None,
        exceptions: Mapping[str, Writer] = NO_EXCEPTIONS,
    ):
        shown = only or [field for field in record.fields if field not in record.extra or field in adds]
        self.record, self.wrap, self.exceptions = record, wrap, exceptions
        self.fields = {field: record.fields[field] for field in shown}
        self.columns = [field for field, kind in self.fields.items() if kind.source != "fixed"]
        self.unset = {
            "person": (person, nobody),
            "moment": (moment, never),
            "stamp": (moment, BLANK),
            "day": (iso, no_day),
        }
        self.written: dict[str, Writer] = {"text": text, "hours": hours, "whitelist": references, "deleted": deleted}
        writers = {place: writer for place, field in enumerate(self.columns) if (writer := self.writer(field))}
        self.writers = tuple(writers.items())
        self.people = [place for place, field in enumerate(self.columns) if self.refers(field)]
        self.template = f"{{{','.join(f'{quote(field)}:{self.piece(field)}' for field in self.fields)}}}"

    def writer(self, field: str) -> Writer | None:
        """What writes a field, None if it is written as it is."""
        look = self.fields[field].look
        if field in self.exceptions or look not in self.unset:
            return self.exceptions.get(field) or self.written.get(look)
        factory, unset = self.unset[look]
        return factory(unset)

    def refers(self, field: str) -> bool:
        """Whether a field is written as user references."""
        look = self.fields[field].look
        return self.writer(field) is references or (look == "person" and self.unset["person"][0] is reference)

    def piece(self, field: str) -> str:
        """The part of the template for a field: a fixed one is written out, a word that needs no escape quoted."""
        kind = self.fields[field]
        if kind.source == "fixed":
            return to_json(kind.value).replace("%", "%%")
        return '"%s"' if kind.look == "word" and field not in self.exceptions else "%s"

    def show(self, rows: Iterable[Sequence[Any]], scene: Scene) -> list[str]:
        """The JSON text of each row, at least one, whose values are in the order of `columns`."""
        columns: list[Iterable[Any]] = list(zip(*rows, strict=True))
        for place, write in self.writers:
            columns[place] = write(columns[place], scene)
        shown = map(self.template.__mod__, zip(*columns, strict=True))
        return list(map(self.wrap, shown) if self.wrap else shown)

    def accounts(self, rows: Iterable[Sequence[Any]]) -> set[str]:
        """Everyone that these rows name."""
        cells = {row[place] for row in rows for place in self.people} - {None}
        return {account for cell in cells for account in listed(cell)}


USER_BRIEF = ("id", "dept", "account", "realname", "role", "pinyin", "email", "group")
USER_WHOLE = [field for field in USER.fields if field not in ("password", "group")]

# fmt: off
# THE QUIRK TABLE: one row an operation.
#                       record    person     nobody moment  never  no day     deleted  more
PRODUCT_SHOWN   = View(PRODUCT,  reference, NULL,  iso,    NULL,  NULL,      digit)
PRODUCT_CREATED = View(PRODUCT,  reference, NULL,  iso,    NULL,  NULL,      digit,   wrap=doubled)
BUG_SHOWN       = View(BUG,      reference, NULL,  iso,    EPOCH, EPOCH_DAY, boolean, exceptions={"status": coded})
CASE_CREATED    = View(TESTCASE, account,   BLANK, iso,    NULL,  NULL,      boolean)
CASE_SHOWN      = View(TESTCASE, reference, NULL,  iso,    NULL,  NULL,      boolean, adds=("caseFails",))
PROGRAM_SHOWN   = View(PROJECT,  reference, NULL,  iso,    NULL,  ZERO_DAY,  boolean)
PROJECT_CREATED = View(PROJECT,  account,   BLANK, iso,    BLANK, ZERO_DAY,  digit,   exceptions={"whitelist": text})
RELEASE_SHOWN   = View(RELEASE,  reference, NULL,  iso,    NULL,  NULL,      boolean)
TASK_CREATED    = View(TASK,     reference, NULL,  iso,    NULL,  NULL,      boolean)
TASK_MODIFIED   = View(TASK,     reference, NULL,  iso,    NULL,  NULL,      boolean, adds=("cases",))
TASK_STARTED    = View(TASK,     account,   BLANK, spaced, BLANK, BLANK,     digit)   # restarted likewise
TASK_FINISHED   = View(TASK,     account,   BLANK, iso,    NULL,  NULL,      digit)
# The companions': references, ISO, null, boolean, but single bugs keep what operation 3 shows.
PRODUCT_FOUND   = View(PRODUCT,  reference, NULL,  iso,    NULL,  NULL,      boolean)
PROJECT_SHOWN   = View(PROJECT,  reference, NULL,  iso,    NULL,  ZERO_DAY,  boolean)
CASE_LISTED     = View(TESTCASE, reference, NULL,  iso,    NULL,  NULL,      boolean)
TASK_SHOWN      = View(TASK,     reference, NULL,  iso,    NULL,  NULL,      boolean)
USER_LISTED     = View(USER,     reference, NULL,  iso,    NULL,  NULL,      boolean, only=USER_BRIEF)
USER_SHOWN      = View(USER,     reference, NULL,  iso,    NULL,  NULL,      boolean, only=USER_WHOLE, exceptions={"role": role})
MY_PROFILE      = View(USER,     reference, NULL,  iso,    NULL,  NULL,      boolean, only=USER_WHOLE, exceptions={"role": role}, wrap=profile)
# fmt: on

# Answers that are no record.
TOKEN = {"token": TEXT}
SUCCESS = {"message": "success"}

# What `dump` writes: what a fixture may give, persons as accounts.
DUMPED = {
    record.name: View(
        record, account, NULL, iso, NULL, NULL, boolean, adds=record.extra, only=only, exceptions=exceptions
    )
    for record, only, exceptions in (
        (USER, list(USER.given()), {"password": secret}),
        (PROJECT, [*PROJECT.given(), "products"], {"whitelist": accounts}),
        (PRODUCT, PRODUCT.given(), {"whitelist": accounts}),
        (RELEASE, RELEASE.given(), NO_EXCEPTIONS),
        (BUG, BUG.given(), NO_EXCEPTIONS),
        (TASK, TASK.given(), {"activatedDate": iso(NULL)}),
        (TESTCASE, [*TESTCASE.given(), "steps"], NO_EXCEPTIONS),
    )
}

# --- 6 Store: the database --------------------------------------------------------------------------
# Every SQL statement outside schema.sql; rows in, rows out. No HTTP, no JSON but what SQL itself reads.

APPLICATION_ID = 1886221174  # "pmsv", as schema.sql sets it
SCHEMA_VERSION = 2
PRAGMAS = (  # the write-ahead log first
    "PRAGMA journal_mode = WAL",  # readers never wait for the writer
    "PRAGMA synchronous = FULL",  # an acknowledged write survives a power cut: one sync a commit
    "PRAGMA foreign_keys = ON",  # off by default, and ignored when set inside a transaction
    "PRAGMA busy_timeout = 5000",  # ms that a writer waits for another process
)
PATIENCE = 5  # seconds that a writer waits for others of this process
CHECK_SIZE = 4 * 1024 * 1024  # bytes of a file of which every page is looked at when it is opened: some milliseconds
BATCH = 200  # rows fetched, shown and sent at a time

# Who sees what: administrators everything, everyone what is open, and what is private its creator,
# the people in its person fields and those on its white list. Records below follow what they belong to.
LISTED = "instr(whitelist, ',' || :me || ',')"
SEES_PRODUCT = f"(acl = 'open' OR :me IN (createdBy, PO, QD, RD) OR {LISTED})"
SEES_PROJECT = f"(acl = 'open' OR :me IN (openedBy, PM, PO, QD, RD) OR {LISTED})"
OF_PRODUCT = f"EXISTS (SELECT 1 FROM product WHERE product.id = {{0}}.product AND {SEES_PRODUCT})"
OF_PROJECT = f"EXISTS (SELECT 1 FROM project AS home WHERE home.id = {{0}} AND {SEES_PROJECT})"
GUARDS = {
    "product": f"(:admin OR {SEES_PRODUCT})",
    "project": f"(:admin OR {OF_PROJECT.format('coalesce(nullif(project.project, 0), project.id)')})",
    "release": f"(:admin OR {OF_PRODUCT.format('release')}"
    f" AND (coalesce(release.project, 0) = 0 OR {OF_PROJECT.format('release.project')}))",
    "bug": f"(:admin OR {OF_PRODUCT.format('bug')})",
    "testcase": f"(:admin OR {OF_PRODUCT.format('testcase')})",
    "task": f"(:admin OR {OF_PROJECT.format('task.project')})",
    "user": "TRUE",
}

# What an id in a path or a field may name: the table, and which of its rows.
TARGETS = {
    "program": ("project", "type = 'program'"),
    "project": ("project", "type = 'project'"),
    "execution": ("project", "type IN ('sprint', 'stage')"),
    "execution or project": ("project", "type <> 'program'"),
    "product": ("product", "TRUE"),
    "release": ("release", "TRUE"),
    "bug": ("bug", "TRUE"),
    "task": ("task", "TRUE"),
    "testcase": ("testcase", "TRUE"),
    "user": ("user", "TRUE"),
}

# Bugs opened in the current week: the one count that depends on the clock.
THIS_WEEK = """(SELECT coalesce(sum(opened.bugs), 0) FROM bugs_opened AS opened
    WHERE opened.product = product.id AND quarter >= :monday AND quarter < :next_monday) AS thisWeekBugs"""

# The reference's kinds of browsing, and the plain states: the condition on a bug.
BROWSE_BUGS = {
    "all": "TRUE",
    "unclosed": "status <> 'closed'",
    "unresolved": "status = 'active'",
    "unconfirmed": "confirmed = 0",
    "assigntome": "assignedTo = :me",
    "openedbyme": "openedBy = :me",
    "assigntonull": "assignedTo IS NULL",
    "toclosed": "status = 'resolved'",
    "postponedbugs": "resolution = 'postponed'",
    "overduebugs": "status = 'active' AND deadline < :today",
    "active": "status = 'active'",
    "resolved": "status = 'resolved'",
    "closed": "status = 'closed'",
}


BROWSE_TASKS = {"all": "TRUE", "unclosed": "status NOT IN ('closed', 'cancel')"} | {
    state: f"status = '{state}'" for state in TASK_STATES
}


class Listing(NamedTuple):
    """A list of records, within one that the path names.

    key: its name in the answer.  view: how a record looks.  scope: the condition on a record, :id being
    the path's.  order: the field and direction by default.  paged: whether it is cut into pages unasked.
    browse: what `status` may ask for, and the condition it stands for.  totals: for a status, where the
    number of records is kept; others are counted.  shared: whether all who see the path's record see all.
    """

    key: str
    view: View
    scope: str
    order: tuple[str, str]
    paged: bool
    browse: Mapping[str, str] = {}
    totals: Mapping[str, str] = {}
    shared: bool = False


def kept(list: str, parent: str = ":id") -> dict[str, str]:
    """Where the total of a list is kept."""
    return {"all": f"SELECT coalesce(sum(records), 0) FROM total WHERE list = '{list}' AND parent = {parent}"}


BUG_COUNTS = {
    "all": "bugs",
    "unclosed": "bugs - closedBugs",
    "unresolved": "unResolved",
    "active": "unResolved",
    "toclosed": "bugs - unResolved - closedBugs",
    "resolved": "bugs - unResolved - closedBugs",
    "closed": "closedBugs",
    "assigntonull": "assignToNull",
}
BUG_TOTALS = {status: f"SELECT {count} FROM product_count WHERE product = :id" for status, count in BUG_COUNTS.items()}

# fmt: off
#                           key         view           scope             order          paged
PRODUCTS_LISTED = Listing("products", PRODUCT_SHOWN, "TRUE",           ("id", "asc"),  False, {}, kept("products", "0"))
BUGS_LISTED     = Listing("bugs",     BUG_SHOWN,     "product = :id",  ("id", "desc"), True,  BROWSE_BUGS, BUG_TOTALS, shared=True)
RELEASES_LISTED = Listing("releases", RELEASE_SHOWN, "project = :id",  ("id", "desc"), False, {}, kept("releases"))
# The companions' all page.
USERS           = Listing("users",      USER_LISTED,   "TRUE",                        ("id", "desc"), True)
PROGRAMS        = Listing("programs",   PROJECT_SHOWN, "type = 'program'",            ("id", "asc"),  True)
PROJECTS        = Listing("projects",   PROJECT_SHOWN, "type = 'project'",            ("id", "asc"),  True)
EXECUTIONS      = Listing("executions", PROJECT_SHOWN, "type IN ('sprint', 'stage')", ("id", "asc"),  True)
ITS_EXECUTIONS  = Listing("executions", PROJECT_SHOWN, "project.project = :id",       ("id", "asc"),  True)
ITS_TASKS       = Listing("tasks",      TASK_SHOWN,    "execution = :id",             ("id", "desc"), True, BROWSE_TASKS, kept("tasks"), shared=True)
MY_TASKS        = Listing("tasks",      TASK_SHOWN,    "assignedTo = :me",            ("id", "desc"), True, BROWSE_TASKS)
ITS_CASES       = Listing("testcases",  CASE_LISTED,   "product = :id",               ("id", "desc"), True, {}, kept("testcases"), shared=True)
ITS_RELEASES    = Listing("releases",   RELEASE_SHOWN, "product = :id",               ("id", "desc"), True)
# fmt: on


class Caller(NamedTuple):
    """Who asks."""

    account: str
    admin: bool


# What the triggers keep, counted anew.
RECOUNTS = {
    "product_count": """SELECT product.id,
        (SELECT count(*) FROM release WHERE release.product = product.id AND NOT deleted),
        count(bug.id), coalesce(sum(bug.status = 'active'), 0), coalesce(sum(bug.status = 'closed'), 0),
        coalesce(sum(bug.status = 'closed' AND resolution = 'fixed'), 0), coalesce(sum(assignedTo IS NULL AND bug.id IS NOT NULL), 0)
        FROM product LEFT JOIN bug ON bug.product = product.id AND NOT bug.deleted GROUP BY product.id""",
    "(SELECT * FROM bugs_opened WHERE bugs > 0)": """SELECT product, coalesce(strftime('%s', openedDate) / 900, 0), count(*)
        FROM bug WHERE NOT deleted GROUP BY 1, 2""",
    "(SELECT * FROM total WHERE records > 0)": """SELECT 'products', 0, count(*) FROM product WHERE NOT deleted HAVING count(*) > 0
        UNION ALL SELECT 'releases', project, count(*) FROM release WHERE NOT deleted AND project IS NOT NULL GROUP BY project
        UNION ALL SELECT 'tasks', execution, count(*) FROM task WHERE NOT deleted GROUP BY execution
        UNION ALL SELECT 'testcases', product, count(*) FROM testcase WHERE NOT deleted GROUP BY product""",
}


# The cases of a task's story: those that the caller may see.
CASES = f"""(SELECT json_group_object(CAST(testcase.id AS TEXT), title) FROM testcase
    WHERE task.story <> 0 AND testcase.story = task.story AND testcase.deleted = 0
    AND {GUARDS["testcase"]}) AS cases"""
PROGRAM_NAME = f"""coalesce((SELECT home.name FROM project AS home
    WHERE home.id = product.program AND (:admin OR {SEES_PROJECT})), '') AS programName"""
# Fields that depend on when or by whom they are asked for.
ASKED = {"thisWeekBugs": THIS_WEEK, "cases": CASES, "programName": PROGRAM_NAME}


@functools.cache
def select_view(view: View) -> str:
    """The statement that gives a view's columns, in its order."""
    name, columns = view.record.name, ", ".join(ASKED.get(name) or f'"{name}"' for name in view.columns)
    return f"SELECT {columns} FROM {name}_record AS {name}"


@functools.cache
def one_of_view(view: View, target: str) -> str:
    """The statement that gives one row of a view; if a target is named, only of its sort and to who may see it."""
    table, condition = TARGETS.get(target, ("", "TRUE"))
    return f"{select_view(view)} WHERE id = :id AND {condition} AND {GUARDS[table] if target else 'TRUE'}"


@functools.cache
def insert_into(table: str, names: tuple[str, ...]) -> str:
    columns = ", ".join(f'"{name}"' for name in names)
    return f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(names))})"


FIND = {
    target: f"SELECT * FROM {table} WHERE id = :id AND deleted = 0 AND {condition} AND {GUARDS[table]}"
    for target, (table, condition) in TARGETS.items()
}
PEOPLE_OF = [
    f"SELECT account, id, avatar, realname FROM user WHERE account IN ({', '.join('?' * n)})" for n in range(9)
]
MANY_PEOPLE = "SELECT account, id, avatar, realname FROM user WHERE account IN (SELECT value FROM json_each(?))"


class Store:
    """The records, inside one transaction. `moment` is its time, `now` the same as it is stored, `day` the local day."""

    def __init__(self, connection: sqlite3.Connection, clock: Callable[[], datetime], zone: tzinfo):
        self.connection, self.run = connection, connection.execute
        self.clock, self.zone = clock, zone

    @functools.cached_property
    def moment(self) -> datetime:
        return self.clock()

    @functools.cached_property
    def now(self) -> str:
        return utc(self.moment, self.zone)

    @functools.cached_property
    def day(self) -> str:
        """Today in the service's time zone."""
        return local(self.now, self.zone)[:10]

    # Generic: names come from the tables above only.

    def insert(self, table: str, values: Mapping[str, Any]) -> int:
        """The id of the new row."""
        return int(self.run(insert_into(table, tuple(values)), tuple(values.values())).lastrowid or 0)

    def update(self, table: str, id: int, changes: Mapping[str, Any]) -> None:
        """Change a row."""
        names = ", ".join(f'"{name}" = ?' for name in changes)
        self.run(f"UPDATE {table} SET {names} WHERE id = ?", (*changes.values(), id))

    def find(self, target: str, id: int, me: Caller) -> sqlite3.Row | None:
        """The row that the target's id names, if it is not deleted and the caller may see it."""
        return self.row(FIND[target], {"id": id, "me": me.account, "admin": me.admin})

    def shown(self, view: View, id: int, me: Caller, target: str = "") -> list[sqlite3.Row]:
        """The one row of a record's view; if the target is named, only of its sort and if the caller may see it."""
        wanted = {"id": id, "me": me.account, "admin": me.admin, **self.dated(view)}
        return self.run(one_of_view(view, target), wanted).fetchall()

    def row(self, sql: str, values: Any = ()) -> sqlite3.Row | None:
        """The first row of an answer, None without one."""
        found: sqlite3.Row | None = self.run(sql, values).fetchone()
        return found

    def count(self, sql: str, values: Any = ()) -> int:
        """The number that is the whole answer."""
        return int(self.run(sql, values).fetchone()[0])

    def records(self, view: View, condition: str, values: Mapping[str, Any]) -> sqlite3.Cursor:
        """The rows of a record's view, columns in the order that the view shows them."""
        return self.run(f"{select_view(view)} WHERE {condition}", {**values, **self.dated(view)})

    def dated(self, view: View) -> dict[str, int]:
        """What a view asks of the clock."""
        return self.week() if "thisWeekBugs" in view.fields else {}

    def week(self) -> dict[str, int]:
        """The quarters of an hour since 1970 in which the current and the next week begin, in the service's zone."""
        midnight = datetime.fromisoformat(self.day)
        monday = midnight - timedelta(days=midnight.weekday())
        begins, ends = (day.replace(tzinfo=self.zone).timestamp() for day in (monday, monday + timedelta(days=7)))
        return {"monday": int(begins) // 900, "next_monday": int(ends) // 900}

    def page(
        self, listing: Listing, id: int, me: Caller, query: Mapping[str, Any], limit: int, offset: int
    ) -> tuple[int, sqlite3.Cursor]:
        """How many records a list has in all, and the rows of one page of it."""
        table = listing.view.record.name
        values = {"id": id, "me": me.account, "admin": me.admin, "today": self.day, "limit": limit, "offset": offset}
        status = query.get("status", "all")
        browse = listing.browse.get(status, "TRUE")
        guard = "TRUE" if me.admin or listing.shared else GUARDS[table]
        scope = f"FROM {table} WHERE deleted = 0 AND {listing.scope} AND {browse} AND {guard}"
        field, way = query.get("order", listing.order)
        order = f'"{field}" {way}, id {way}'
        chosen = f"SELECT id {scope} ORDER BY {order} LIMIT :limit OFFSET :offset"
        known = listing.totals.get(status) if me.admin or listing.shared else None
        total = self.count(known or f"SELECT count(*) {scope}", values)
        return total, self.records(listing.view, f"id IN ({chosen}) ORDER BY {order}", values)

    # People and tokens.

    def people(self, accounts: set[str]) -> dict[str, str]:
        """The user references of these accounts, as JSON text."""
        few = len(accounts) < len(PEOPLE_OF)
        found = (
            self.run(PEOPLE_OF[len(accounts)], tuple(accounts))
            if few
            else self.run(MANY_PEOPLE, (json.dumps(list(accounts)),))
        )
        return {
            name: f'{{"id":{id},"account":{quote(name)},"avatar":{quote(avatar)},"realname":{quote(realname)}}}'
            for name, id, avatar, realname in found
        }

    def user(self, account: str) -> sqlite3.Row | None:
        return self.row("SELECT * FROM user WHERE account = ?", (account,))

    def user_by_id(self, id: int) -> sqlite3.Row | None:
        return self.row("SELECT * FROM user WHERE id = ?", (id,))

    def add_person(self, account: str) -> None:
        """Make a user of an account that is not known yet; no password, so nobody can log in as it."""
        # Not ON CONFLICT DO NOTHING, which would use up an id each time.
        self.run(
            "INSERT INTO user (account, realname) SELECT :it, :it WHERE :it NOT IN (SELECT account FROM user)",
            {"it": account},
        )

    def token(self, hash: str) -> sqlite3.Row | None:
        return self.row(
            "SELECT token.account, admin, used FROM token JOIN user ON user.account = token.account WHERE hash = ?",
            (hash,),
        )

    def add_token(self, hash: str, account: str) -> None:
        self.run("INSERT INTO token (hash, account, used) VALUES (?, ?, ?)", (hash, account, self.now))

    def touch_token(self, hash: str) -> None:
        self.run("UPDATE token SET used = ? WHERE hash = ?", (self.now, hash))

    def forget_tokens(self, lifetime: float) -> None:
        """Those that were not used for so many seconds."""
        self.run("DELETE FROM token WHERE (julianday(?) - julianday(used)) * 86400 > ?", (self.now, lifetime))

    def drop_tokens(self, account: str) -> None:
        self.run("DELETE FROM token WHERE account = ?", (account,))

    # What one operation asks.

    def place_projects(self) -> None:
        """Work out `path` and `grade` of new programs, projects and executions from their parents'."""
        while self.run(
            """UPDATE project AS new SET
                path = CASE WHEN new.project IS NOT NULL THEN ',' || new.project || ','
                            ELSE coalesce((SELECT up.path FROM project AS up WHERE up.id = new.parent), ',')
                       END || new.id || ',',
                grade = CASE WHEN new.project IS NOT NULL THEN 1
                             ELSE 1 + coalesce((SELECT up.grade FROM project AS up WHERE up.id = new.parent), 0) END
            WHERE path = '' AND (new.project IS NOT NULL OR new.parent IS NULL
                                 OR (SELECT up.path FROM project AS up WHERE up.id = new.parent) <> '')"""
        ).rowcount:
            pass

    def begin_projects(self, ids: Sequence[int]) -> None:
        """Set those that still wait to `doing`, really begun today."""
        self.run(
            "UPDATE project SET status = 'doing', realBegan = coalesce(realBegan, ?) WHERE id IN (?, ?) AND status = 'wait'",
            (self.day, *ids),
        )

    def products_of(self, project: int) -> list[int]:
        return [id for (id,) in self.run("SELECT product FROM project_product WHERE project = ?", (project,))]

    def unplaced_project(self) -> int | None:
        """The id of a program or project that is its own ancestor, if there is one."""
        found = self.row("SELECT id FROM project WHERE path = ''")
        return int(found["id"]) if found else None

    def link_product(self, project: int, product: int) -> None:
        self.run(
            "INSERT INTO project_product (project, product) VALUES (?, ?) ON CONFLICT DO NOTHING", (project, product)
        )

    def place_tasks(self) -> None:
        """Give tasks that were loaded without their project that of their execution."""
        self.run(
            """UPDATE task SET project = coalesce(
                (SELECT coalesce(home.project, home.id) FROM project AS home WHERE home.id = execution), 0)
            WHERE project = 0"""
        )

    def dangling(self, table: str, rows: str, field: str, target: str) -> sqlite3.Row | None:
        """Of some rows, one whose link names nothing that its target allows: its id and the link."""
        other, condition = TARGETS[target]
        return self.row(
            f"""SELECT id, "{field}" AS link FROM {table} WHERE {rows} AND link <> 0
            AND link NOT IN (SELECT id FROM {other} WHERE {condition}) LIMIT 1"""
        )

    def misplaced_task(self) -> int | None:
        """The id of a task whose project is not that of its execution, if there is one."""
        found = self.row(
            "SELECT task.id FROM task JOIN project AS home ON home.id = execution"
            " WHERE task.project <> coalesce(home.project, home.id)"
        )
        return int(found["id"]) if found else None

    def dangling_product(self) -> sqlite3.Row | None:
        """A project whose `products` names none that exists: its id and the link."""
        return self.row(
            """SELECT project AS id, product AS link FROM project_product
            WHERE product NOT IN (SELECT id FROM product) LIMIT 1"""
        )

    def is_empty(self) -> bool:
        """Whether the database holds no record yet."""
        return not self.count("SELECT EXISTS (SELECT 1 FROM project) OR EXISTS (SELECT 1 FROM product)")

    def problems(self) -> Iterator[str]:
        """What is wrong with the file or with the counts, a line each."""
        for (line,) in self.run("PRAGMA integrity_check"):
            if line != "ok":
                yield str(line)
        for table, id, other, _ in self.run("PRAGMA foreign_key_check"):
            yield f"{table} {id} names a row of {other} that is not there"
        for table, recount in RECOUNTS.items():
            for row in self.run(f"SELECT * FROM ({recount}) EXCEPT SELECT * FROM {table}"):
                yield f"{table}: counted anew {tuple(row)}, not kept so"
            for row in self.run(f"SELECT * FROM {table} EXCEPT SELECT * FROM ({recount})"):
                yield f"{table}: kept {tuple(row)}, not counted so anew"

    def defer_links(self) -> None:
        """Let records of this transaction name others that come later; they are checked when it commits."""
        self.run("PRAGMA defer_foreign_keys = ON")


class Database:
    """One database file, or one in memory, and its idle connections.

    A connection serves one transaction of one thread at a time: threads that are at work at once have
    one each, and it is kept for the next call, so that no two ever share one.
    """

    def __init__(self, path: str, zone: tzinfo, clock: Callable[[], datetime]):
        self.path, self.zone, self.clock = path, zone, clock
        self.idle: list[sqlite3.Connection] = []
        self.closed = False
        self.in_memory = path == ":memory:"
        self.file = os.path.realpath(path)  # wherever this process goes
        self.log = f"{self.file}-wal"
        self.opened: tuple[int, ...] | None = None
        self.uri = memory_uri() if self.in_memory else f"{Path(self.file).as_uri()}?mode=rw"
        self.snapshots: dict[str, tuple[str, sqlite3.Connection]] = {}
        self.turn = threading.Lock()
        self.created = self.open()

    def open(self) -> bool:
        """Open the database, made and given its tables if it is new: then True. Raises StartError."""
        try:
            if not self.in_memory:
                with contextlib.suppress(FileExistsError):  # made before SQLite would make it 0644
                    os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
                refuse_strange(self.path)
            # The anchor stays open: a memory database lives as long as its last connection. It gets its write-ahead
            # log after the tables, so that whose file it is stands in the file itself and not in the log.
            write_ahead, *others = PRAGMAS
            self.anchor = self.connect(others)
            self.idle.append(self.anchor)
            version = self.version()
            if version < SCHEMA_VERSION:  # else nothing is written: nobody who writes is waited for
                with self.writing() as store:
                    self.adopt(store)
            self.anchor.execute(write_ahead)
            self.version()  # reads, which makes the log
            self.opened = self.identity()
            return version == 0
        except OSError as error:
            raise StartError(f"{self.path}: {error.strerror}; name another file with --database") from None
        except sqlite3.Error as error:
            advice = "try again later" if "locked" in str(error) else "name another file with --database"
            raise StartError(f"{self.path}: {error}; {advice}") from None

    def version(self) -> int:
        return int(self.anchor.execute("PRAGMA user_version").fetchone()[0])

    def adopt(self, store: Store) -> None:
        """Bring the file to this version, an empty one from nothing."""
        version = store.count("PRAGMA user_version")
        for part, script in schema().items():
            if part > version:
                for statement in statements_of(script):
                    store.run(statement)
        if version == 0:
            store.insert("user", {"account": ADMIN, "realname": ADMIN, "admin": 1})

    def connect(self, pragmas: Iterable[str] = PRAGMAS) -> sqlite3.Connection:
        """A new connection, which may go from thread to thread."""
        connection = sqlite3.connect(
            self.uri, uri=True, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        connection.row_factory = sqlite3.Row
        for pragma in pragmas:
            connection.execute(pragma)
        return connection

    @contextlib.contextmanager
    def transaction(self, begin: str) -> Iterator[Store]:
        """Everything inside happens together or not at all."""
        try:
            connection = self.idle.pop()
        except IndexError:
            connection = self.connect()
        try:
            if begin:
                connection.execute(begin)
            yield Store(connection, self.clock, self.zone)
            if begin:
                connection.execute("COMMIT")
        finally:
            try:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            except BaseException:
                connection.close()  # gives up the lock; kept by the traceback, it would block every writer
                raise
            self.idle.append(connection)
            if self.closed:
                self.close()

    def glancing(self) -> contextlib.AbstractContextManager[Store]:
        """For one statement, which is a transaction by itself."""
        return self.transaction("")

    def reading(self) -> contextlib.AbstractContextManager[Store]:
        """One state of the database, whatever others write meanwhile."""
        return self.transaction("BEGIN")

    @contextlib.contextmanager
    def writing(self) -> Iterator[Store]:
        """The only writer: what is read here is still true when it is written. Raises Unavailable if the file is gone."""
        with self.taking_turns(), self.transaction("BEGIN IMMEDIATE") as store:
            yield store

    @contextlib.contextmanager
    def taking_turns(self, patience: float = PATIENCE) -> Iterator[None]:
        """One writer of this process after another: at SQLite's own lock each would sleep and try again."""
        if not self.turn.acquire(timeout=patience):
            raise Unavailable("The database is busy; try again.")
        try:
            if not self.in_place():
                raise Unavailable("The database file was removed or replaced; nothing was written.")
            yield
        finally:
            self.turn.release()

    def note(self, work: Callable[[Store], None]) -> None:
        """Write what reading writes by the way; left out when somebody else writes, or nothing can be written."""
        with (
            contextlib.suppress(Unavailable, sqlite3.OperationalError),
            self.taking_turns(patience=0),
            contextlib.closing(self.connect([*PRAGMAS, "PRAGMA busy_timeout = 0"])) as connection,
        ):
            connection.execute("BEGIN IMMEDIATE")
            work(Store(connection, self.clock, self.zone))
            connection.execute("COMMIT")

    def in_place(self) -> bool:
        """Whether file and log are still those that were opened: what is written to removed ones is lost."""
        try:
            return self.opened is None or self.identity() == self.opened
        except OSError:
            return False

    def identity(self) -> tuple[int, ...]:
        """What tells the file from others that take its place, and whether its log is there."""
        if self.in_memory:
            return ()
        file = os.stat(self.file)
        # Not stat for the log, too: a file whose time was asked for syncs a quarter slower after its next write.
        return (file.st_ino, file.st_size > 0, os.access(self.log, os.F_OK))

    def take_snapshot(self, name: str) -> None:
        """Keep the records as they are now, in memory, under a name."""
        uri = memory_uri()
        keeper = sqlite3.connect(uri, uri=True, check_same_thread=False)
        try:
            with self.taking_turns(), self.glancing() as store:
                if self.in_memory:
                    store.connection.backup(keeper)  # several times as fast: every fresh service of a test does it
                else:
                    store.run("VACUUM INTO ?", (uri,))  # a backup would say WAL, which memory cannot
        except BaseException:
            keeper.close()
            raise
        _, old = self.snapshots.get(name, (uri, None))
        self.snapshots[name] = (uri, keeper)
        if old:
            old.close()

    def restore_snapshot(self, name: str) -> None:
        """Make the records what they were, ids' sequences included, in one transaction. KeyError if there is none.

        Tokens stay: whoever is logged in still is, if the user is still there.
        """
        with self.taking_turns(), contextlib.closing(self.connect()) as connection:
            connection.execute("PRAGMA foreign_keys = OFF")  # a snapshot is consistent in itself
            connection.execute("ATTACH ? AS kept", (self.snapshots[name][0],))
            try:
                connection.execute("BEGIN IMMEDIATE")
                tables = connection.execute("SELECT name FROM kept.sqlite_schema WHERE type = 'table'").fetchall()
                # The triggers count while records return, so the counts come last.
                for (table,) in sorted(tables, key=lambda row: (row[0] in COUNTS, row[0])):
                    if table != "token":
                        connection.execute(f"DELETE FROM main.{table}")
                        connection.execute(f"INSERT INTO main.{table} SELECT * FROM kept.{table}")
                connection.execute("DELETE FROM token WHERE account NOT IN (SELECT account FROM user)")
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def ready(self) -> bool:
        """Whether records can be read and written: the file is still the one that was opened, and writable."""
        if not self.in_place() or not (self.in_memory or os.access(self.file, os.W_OK)):
            return False
        with self.reading() as store:
            return store.count("SELECT count(*) FROM user") > 0

    def backup(self, path: str, progress: Callable[[int, int], None]) -> None:
        """Copy the database as it is now to a new file, while others read and write it. Raises StartError."""
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except OSError as error:
            raise StartError(f"{path}: {error.strerror}; name a file that is not there yet") from None
        try:
            with contextlib.closing(sqlite3.connect(path)) as copy, self.reading() as store:
                store.count("SELECT count(*) FROM user")  # begins to read: the copy is of this moment
                store.connection.backup(copy, pages=4096, progress=lambda _, left, whole: progress(whole - left, whole))
        except BaseException as error:
            os.unlink(path)  # half a copy is none
            if isinstance(error, sqlite3.Error):
                raise StartError(f"{path}: {error}; nothing was copied") from None
            raise

    def close(self) -> None:
        """Close every connection; one at which a thread still is, once it is done with it."""
        self.closed = True
        with contextlib.suppress(IndexError):
            while True:
                self.idle.pop().close()
        for _, keeper in self.snapshots.values():
            keeper.close()


def refuse_strange(path: str) -> None:
    """Raise StartError for a file that is not ours, of a newer version or damaged; it is only read.

    Through SQLite alone: closing a descriptor of our own would give up the locks that this process's other
    connections to the file hold. Of a large file only the header and the length are looked at.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    if not (size := os.path.getsize(path)):
        return
    unused = not os.path.exists(f"{path}-wal")  # closed by all: SQLite need not make files of its own to read it
    uri = f"{Path(path).resolve().as_uri()}?mode=ro{'&immutable=1' * unused}"
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as look:
        names = ("application_id", "user_version", "page_size", "page_count")
        owner, version, page, pages = (look.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
        if owner != APPLICATION_ID:
            raise StartError(f"{path}: a database of another program; name another file with --database")
        if version > SCHEMA_VERSION:
            raise StartError(f"{path}: written by a newer pmservice; upgrade, or name another file with --database")
        problem = look.execute("PRAGMA quick_check(1)").fetchone()[0] if size <= CHECK_SIZE else "ok"
    if unused and size < page * pages:
        problem = f"{page * pages - size} bytes are missing"
    if problem != "ok":
        words = " ".join(problem.split())
        raise StartError(f"{path}: damaged ({words}); restore a backup, or name another file with --database")


COUNTS = ("product_count", "bugs_opened", "total", "sqlite_sequence")  # what triggers and inserts change by themselves


def memory_uri() -> str:
    """A new database in memory that the connections of this process share: a named memdb, unlike a shared cache, locks as a file does."""
    return f"file:/{secrets.token_hex(8)}?vfs=memdb"


def schema() -> dict[int, str]:
    """The parts of schema.sql by the version that each leads to: an older database runs those that it lacks.

    The file lies beside this one: in a folder, a wheel or a zip archive.
    """
    path = os.path.join(os.path.dirname(__file__), "schema.sql")
    try:
        script = __loader__.get_data(path).decode()  # type: ignore[name-defined]
    except OSError as error:
        raise StartError(f"{path}: {error.strerror or error}; it belongs beside pmservice.py") from None
    parts = re.split(r"^-- === Version ([0-9]+).*$", script, flags=re.MULTILINE)
    return {int(version): part for version, part in zip(parts[1::2], parts[2::2], strict=True)}


def statements_of(script: str) -> Iterator[str]:
    """The statements of an SQL script: `executescript` would commit the transaction they belong to."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def utc(moment: datetime, zone: tzinfo) -> str:
    """A moment as it is stored: UTC text; one without a zone is local to `zone`."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    return aware.astimezone(timezone.utc).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


# --- 7 Rules: what the operations mean --------------------------------------------------------------
# Plain functions on rows: (store, me, target row, checked body). No HTTP, no JSON, no SQL. A creating or
# changing one returns the id of the record to show. Only log_in gets the database instead: it hashes, which
# takes too long for a transaction.

Body = Mapping[str, Any]


def settling(store: Store, me: Caller, people: dict[str, None] | None = None) -> Settle:
    """What turns a checked value into what is stored: links must exist, persons become accounts, moments UTC.

    While a fixture is loaded, `people` notes whom it names: they and what is linked may come later in it, and
    are looked at when all is there.
    """

    def account(person: str | int | None) -> str | None:
        if people is None or not isinstance(person, str):
            return account_of(store, person)
        people[person] = None
        return person

    def settle(kind: Kind, value: Any) -> Any:
        if kind.target:
            for id in () if people is not None else value if isinstance(value, list) else [value]:
                if id and not store.find(kind.target, id, me):
                    raise ValueError(f"must name an existing {kind.target}; {id} is none")
            return None if value == 0 else value
        if kind.look in ("moment", "stamp"):
            return utc(value, store.zone)
        if kind.look == "person":
            return account(value)
        if kind.look == "people":
            return [account(one) for one in value]
        if kind.look == "whitelist":
            return comma_text(map(account, value))
        return value

    return settle


def account_of(store: Store, person: str | int | None) -> str | None:
    """The account of a person; an account that is not known yet becomes a user, an unknown id is refused."""
    if isinstance(person, int):
        if not (user := store.user_by_id(person)):
            raise ValueError(f"must name an existing user; {person} is none")
        return str(user["account"])
    if person is not None:
        store.add_person(person)
    return person


def comma_text(accounts: Iterable[str | None]) -> str:
    """Accounts as the reference keeps a white list: ",dev1,qa1,"; "," for none."""
    return "," + "".join(f"{account}," for account in accounts)


def opener(store: Store, me: Caller, given: Body) -> str:
    return me.account


def now(store: Store, me: Caller, given: Body) -> str:
    return store.now


def today(store: Store, me: Caller, given: Body) -> str:
    return store.day


def when_assigned(store: Store, me: Caller, given: Body) -> str | None:
    """`assignedDate` is set when there is an assignee."""
    return store.now if given.get("assignedTo") else None


def same(field: str) -> Callable[[Store, Caller, Body], Any]:
    """The value of another field of the same record, if it was given."""
    return lambda store, me, given: given.get(field)


LONG_TERM = "2059-12-31"  # where the reference ends what has no end
SPAN = {"begin": today, "end": LONG_TERM}
OPENED = {"openedBy": opener, "openedDate": now}

# What a new record has when it is not given, from an operation or a fixture, and depends on the request
# or the kind of record; what never does is a DEFAULT in schema.sql.
# fmt: off
DEFAULTS: dict[str, dict[str, Any]] = {
    "users":      {"realname": same("account")},
    "programs":   {"acl": "open",    "type": "program", **SPAN, **OPENED},
    "projects":   {"acl": "private", "type": "project", **SPAN, **OPENED, "model": "scrum", "team": same("name")},
    "executions": {"acl": "private", "type": "sprint",  **SPAN, **OPENED, "parent": same("project"), "team": same("name")},
    "products":   {"acl": "private", "createdBy": opener, "createdDate": now, "createdVersion": __version__},
    "releases":   {"date": today},
    "bugs":       {**OPENED, "assignedDate": when_assigned},
    "tasks":      {**OPENED, "assignedDate": when_assigned, "left": same("estimate"), "execution": same("project"), "project": 0},
    "testcases":  {**OPENED},
}
# fmt: on


def complete(name: str, store: Store, me: Caller, given: Body) -> dict[str, Any]:
    """A record with everything that was not given; `whitelist` "takes effect only when acl is `private`"."""
    made = {f: value(store, me, given) if callable(value) else value for f, value in DEFAULTS[name].items()}
    sent = {field: value for field, value in given.items() if value is not None or field not in made}
    values = {**{field: value for field, value in made.items() if value is not None}, **sent}
    return {**values, "whitelist": ","} if values.get("acl") == "open" else values


def show(store: Store, me: Caller, target: sqlite3.Row, body: Body) -> int:
    """Change nothing: the answer is the record that the path names, or a list."""
    return int(target["id"])


def show_me(store: Store, me: Caller, target: None, body: Body) -> int:
    """The caller."""
    return int(store.user(me.account)["id"])  # type: ignore[index]  # every caller is a user


def create_product(store: Store, me: Caller, target: None, body: Body) -> int:
    return store.insert("product", complete("products", store, me, body))


def create_program(store: Store, me: Caller, target: None, body: Body) -> int:
    id = store.insert("project", complete("programs", store, me, body))
    store.place_projects()
    return id


def create_project(store: Store, me: Caller, target: None, body: Body) -> int:
    id = insert_with_parts(store, "project", {**complete("projects", store, me, body), **edited(store, me)})
    store.place_projects()
    return id


def create_case(store: Store, me: Caller, product: sqlite3.Row, body: Body) -> int:
    values = complete("testcases", store, me, {**body, "product": product["id"]})
    return insert_with_parts(store, "testcase", values)


def insert_with_parts(store: Store, table: str, values: Body) -> int:
    """The id of a new record, whose `products` and `steps` go to tables of their own; step ids run on over all cases."""
    own = dict(values)
    parts = own.pop(PARTS[table], ()) if table in PARTS else ()
    id = store.insert(table, own)
    for part in parts:
        if table == "project":
            store.link_product(id, part)
        else:
            store.insert("step", {**part, "case": id})
    return id


PARTS = {"project": "products", "testcase": "steps"}


def create_task(store: Store, me: Caller, home: sqlite3.Row, body: Body) -> int:
    """One task for each assignee, all or none; the last is the answer. `left` starts as `estimate`."""
    place = {"project": home["project"] or home["id"], "execution": home["id"]}
    ids = [
        store.insert("task", complete("tasks", store, me, {**body, **place, "assignedTo": account}))
        for account in body.get("assignedTo") or [None]
    ]
    return ids[-1]


def edited(store: Store, me: Caller) -> dict[str, Any]:
    return {"lastEditedBy": me.account, "lastEditedDate": store.now}


def reassigned(store: Store, row: sqlite3.Row, body: Body) -> dict[str, Any]:
    """`assignedDate` is now when the assignee changes; what is not sent stays."""
    changes = "assignedTo" in body and body["assignedTo"] != row["assignedTo"]
    return {"assignedTo": body["assignedTo"], "assignedDate": store.now} if changes else {}


def modify_task(store: Store, me: Caller, task: sqlite3.Row, body: Body) -> int:
    """What is not sent stays; `version` + 1 when name, estStarted or deadline changes."""
    revised = any(body.get(field, task[field]) != task[field] for field in ("name", "estStarted", "deadline"))
    changes = {**body, **reassigned(store, task, body), **edited(store, me), "version": task["version"] + revised}
    store.update("task", task["id"], changes)
    return int(task["id"])


class Move(NamedTuple):
    """A transition of a record's status.

    record: its table.  word: what the action log calls it.  sources: the states it may start from.  to: the
    state it leads to.  signs: of which …By and …Date become the caller and now.  empties: fields that become
    unset.  sets: fields that become a value, or what a function of the row says.
    """

    record: str
    word: str
    sources: tuple[str, ...]
    to: str
    signs: str = ""
    empties: tuple[str, ...] = ()
    sets: Mapping[str, Any] = {}


UNDONE = ("finishedBy", "finishedDate")
REOPENED = ("closedBy", "closedDate", "closedReason", "canceledBy", "canceledDate")
UNRESOLVED = ("resolution", "resolvedBy", "resolvedDate", "resolvedBuild", "duplicateBug", "closedBy", "closedDate")
CLOSED_REASON = {"done": "done", "cancel": "cancel"}
# fmt: off
# THE TABLE OF TRANSITIONS.
#                   record  word         from                                          to          signs        empties
START      = Move("task", "started",   ("wait", "done", "pause", "closed", "cancel"),  "doing",    "",          UNDONE + REOPENED)
RESTART    = Move("task", "restarted", TASK_STATES,                                    "doing",    "",          UNDONE + REOPENED)
FINISH     = Move("task", "finished",  TASK_STATES,                                    "done",     "finished",  REOPENED, {"left": 0})
PAUSE      = Move("task", "paused",    ("wait", "doing"),                              "pause")
CLOSE      = Move("task", "closed",    ("wait", "doing", "done", "pause", "cancel"),   "closed",   "closed",    (),
                  {"closedReason": lambda task: CLOSED_REASON.get(task["status"], "")})
CANCEL     = Move("task", "canceled",  ("wait", "doing", "pause"),                     "cancel",   "canceled")
ACTIVATE   = Move("task", "activated", ("done", "pause", "closed", "cancel"),          "doing",    "activated", UNDONE + REOPENED)
CONFIRM    = Move("bug",  "confirmed", ("active",),                                    "active",   "",          (), {"confirmed": 1})
RESOLVE    = Move("bug",  "resolved",  ("active",),                                    "resolved", "resolved",  (),
                  {"confirmed": 1, "assignedTo": lambda bug: bug["openedBy"]})
CLOSE_BUG  = Move("bug",  "closed",    ("resolved",),                                  "closed",   "closed")
REACTIVATE = Move("bug",  "activated", ("resolved", "closed"),                         "active",   "activated", UNRESOLVED,
                  {"activatedCount": lambda bug: bug["activatedCount"] + 1})
# fmt: on
EMPTY = {"text": "", "word": "", "plain": 0}  # what a field whose kind has this look is when unset; else None


def move(store: Store, me: Caller, rule: Move, row: sqlite3.Row, body: Body) -> int:
    """Take a record to its next state; what is sent wins over what the rule sets. Keeps who did it and the comment."""
    if row["status"] not in rule.sources:
        states = " or ".join(rule.sources)
        raise Refusal(f"This {rule.record} is {row['status']} and cannot be {rule.word}: it would have to be {states}.")
    fields = RECORDS[rule.record].fields
    changes = {field: EMPTY.get(fields[field].look) for field in rule.empties}
    changes |= {f"{rule.signs}By": me.account, f"{rule.signs}Date": store.now}
    changes |= {field: value(row) if callable(value) else value for field, value in rule.sets.items()}
    changes |= body
    changes |= {**reassigned(store, row, changes), "status": rule.to, **edited(store, me)}
    store.update(rule.record, row["id"], {field: value for field, value in changes.items() if field in fields})
    entry = {"objectType": rule.record, "objectID": row["id"], "actor": me.account, "action": rule.word}
    store.insert("action", {**entry, "date": store.now, "comment": body.get("comment", "")})
    return int(row["id"])


def moving(rule: Move) -> Callable[[Store, Caller, sqlite3.Row, Body], int]:
    """The operation that is this transition and nothing else."""
    return lambda store, me, row, body: move(store, me, rule, row, body)


def start_task(store: Store, me: Caller, task: sqlite3.Row, body: Body) -> int:
    """`realStarted` is now unless sent. The execution and the project begin with their first task."""
    store.begin_projects((task["execution"], task["project"]))
    return move(store, me, START, task, {"realStarted": store.now, **body})


def finish_task(store: Store, me: Caller, task: sqlite3.Row, body: Body) -> int:
    """Add the hours of this time; start and assignee stay unless sent, an unassigned task goes to its opener."""
    consumed = round(task["consumed"] + body.get("currentConsumed", 0), 9)  # 0.1 + 0.2 is 0.3 to a person
    kept = {"assignedTo": task["assignedTo"] or task["openedBy"], "consumed": consumed}
    return move(store, me, FINISH, task, {**kept, **body})


def create_user(store: Store, me: Caller, target: None, body: Body) -> int:
    """A user who can log in; a person field may have made a user of the account before."""
    if (known := store.user(body["account"])) and known["password"]:
        raise Invalid({"account": "is taken"})
    return save_user(store, me, body)


def create_execution(store: Store, me: Caller, project: sqlite3.Row, body: Body) -> int:
    """A sprint, in a waterfall project a stage; for the project's products unless some are named."""
    type = "stage" if project["model"] == "waterfall" else "sprint"
    made = {"type": type, "project": project["id"], "openedVersion": __version__, **edited(store, me)}
    products = body.get("products") or store.products_of(project["id"])
    id = insert_with_parts(store, "project", complete("executions", store, me, {**body, **made, "products": products}))
    store.place_projects()
    return id


def create_release(store: Store, me: Caller, project: sqlite3.Row, body: Body) -> int:
    return store.insert("release", complete("releases", store, me, {**body, "project": project["id"]}))


def create_bug(store: Store, me: Caller, product: sqlite3.Row, body: Body) -> int:
    return store.insert("bug", complete("bugs", store, me, {**body, "product": product["id"]}))


def modify_bug(store: Store, me: Caller, bug: sqlite3.Row, body: Body) -> int:
    """What is not sent stays."""
    store.update("bug", bug["id"], {**body, **reassigned(store, bug, body), **edited(store, me)})
    return int(bug["id"])


def deleting(table: str) -> Callable[[Store, Caller, sqlite3.Row, Body], int]:
    """The operation that deletes softly: `deleted` turns true, and the record leaves lists and counters."""

    def delete(store: Store, me: Caller, row: sqlite3.Row, body: Body) -> int:
        store.update(table, row["id"], {"deleted": 1})
        return int(row["id"])

    return delete


# Passwords and tokens. A password is kept as the scrypt hash of its MD5 in hex, because existing clients
# send either the password or that MD5. A token is random and kept as its SHA-256 only.

SCRYPT_TURN = threading.Lock()  # one at a time, so that a flood of logins starves nobody
KEPT_PASSWORD = re.compile(f"{HASH_PREFIX}[0-9a-f]{{32}}:[0-9a-f]{{128}}")  # as dump writes it
NO_HASH = f"{HASH_PREFIX}{'0' * 32}:{'0' * 128}"  # compared with when there is no such account: the same time


def hash_password(password: str) -> str:
    salt = secrets.token_hex(16)
    return f"{HASH_PREFIX}{salt}:{scrypt(md5(password), salt)}"


def md5(password: str) -> str:
    return hashlib.md5(password.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def scrypt(secret: str, salt: str) -> str:
    with SCRYPT_TURN:
        return hashlib.scrypt(secret.encode(), salt=bytes.fromhex(salt), n=2**14, r=8, p=1).hex()


def password_matches(given: str, kept: str | None) -> bool:
    """Whether the text is the password, or the lower-case hex MD5 of it; in the same time for any account."""
    salt, expected = (kept or NO_HASH)[len(HASH_PREFIX) :].split(":")
    candidates = [md5(given), *([given] if re.fullmatch("[0-9a-f]{32}", given) else [])]
    matches = [hmac.compare_digest(scrypt(candidate, salt), expected) for candidate in candidates]
    return any(matches) and kept is not None


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def give_token(store: Store, account: str) -> str:
    """A new token of this account; the token itself is kept nowhere."""
    token = secrets.token_hex(16)
    store.add_token(hash_token(token), account)
    return token


def log_in(database: Database, body: Body) -> dict[str, Any]:
    """A token for an account and its password, or the MD5 of it."""
    with database.reading() as store:
        user = store.user(body["account"])
    if not password_matches(body["password"], user["password"] if user else None):
        raise Refusal(LOGIN_FAILED)
    with database.writing() as store:
        return {"token": give_token(store, body["account"])}


def caller_of(database: Database, hash: str, lifetime: float) -> Caller:
    """Who holds the token of this hash. Its use is noted at most once a minute, so that reading does not write."""
    with database.glancing() as store:
        found, moment = store.token(hash), store.moment
    if not found or (idle := (moment - moment_of(found["used"])).total_seconds()) > lifetime:
        raise Unauthorized(UNAUTHORIZED)
    if idle >= min(60, lifetime / 60):

        def use(store: Store) -> None:
            store.touch_token(hash)
            store.forget_tokens(lifetime)

        database.note(use)
    return Caller(found["account"], bool(found["admin"]))


def moment_of(stored: str) -> datetime:
    return datetime.fromisoformat(stored[:-1] + "+00:00")


# Fixtures: one JSON document in and out, read and written one record at a time.

CHUNK = 1 << 16  # characters read at once
MAX_RECORD = 1 << 24  # characters of one record


class Reader:
    """A JSON document read as it comes: memory holds one record, not the document."""

    def __init__(self, file: IO[str]):
        self.file, self.text, self.at = file, "", 0

    def fill(self) -> bool:
        """Read on; False at the end of the file."""
        if more := self.file.read(CHUNK):
            self.text, self.at = self.text[self.at :] + more, 0
        return bool(more)

    def peek(self) -> str:
        """The next character that is not white space, "" at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.fill():
                return ""

    def take(self, *wanted: str) -> str:
        """The next character, which must be one of these."""
        if (found := self.peek()) not in wanted or not found:
            raise ValueError(f"expected {' or '.join(wanted)}, found {found or 'the end'}")
        self.at += 1
        return found

    def value(self) -> Any:
        """The next JSON value."""
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self.text, self.at)
            except RecursionError:
                raise ValueError("is nested too deep") from None
            except ValueError:
                if len(self.text) - self.at > MAX_RECORD or not self.fill():
                    raise
            else:
                if end < len(self.text) or not self.fill():  # a number at the edge may go on
                    self.at = end
                    return value

    def each(self, opens: str, closes: str) -> Iterator[None]:
        """Stop at each item of an array or object."""
        self.take(opens)
        if self.peek() == closes:
            self.take(closes)
            return
        while True:
            yield
            if self.take(",", closes) == closes:
                return


class NumberError(ValueError):
    """What looks like a number and is none that can be kept."""


def refuse_constant(name: str) -> NoReturn:
    raise NumberError(f"{name} is no number")


DECODER = json.JSONDecoder(parse_constant=refuse_constant)


def records_of(file: IO[str]) -> Iterator[tuple[str, int, Any]]:
    """Each record of a fixture: the name of its array, its place in it, and the record. ValueError if it is no JSON."""
    reader = Reader(file)
    for _ in reader.each("{", "}"):
        name = reader.value()
        reader.take(":")
        if not isinstance(name, str) or name not in FIXTURE:
            raise Refusal(f"{name}: is no part of a fixture; {', '.join(FIXTURE)} are")
        if reader.peek() == "n" and reader.value() is None:  # null: not given
            continue
        if reader.peek() != "[":
            raise FixtureError(f"{name}: must be an array")
        for place, _ in enumerate(reader.each("[", "]")):
            try:
                yield name, place, reader.value()
            except ValueError as error:
                raise FixtureError(f"{name}[{place}]: {getattr(error, 'msg', error)}") from None
    if reader.peek():
        raise ValueError("there is text after the document")


class FixtureError(Refusal):
    """A fixture that cannot be loaded; the text says where it is wrong."""


class Loaded(NamedTuple):
    """An array of a fixture: the table its records go to, what they may hold, which rows of the table are its own."""

    table: str
    shape: Shape
    rows: str = "TRUE"


def own_parent(record: Fields, after: Fields) -> Mapping[str, str]:
    """What lies above an execution is its project."""
    parent, project = after.get("parent"), after.get("project")
    return {"parent": "must be the project"} if parent and project and parent != project else {}


def spanned(type: Kind, needed: str, **others: Kind) -> Shape:
    """Programs, projects or executions in a fixture."""
    fields = {**PROJECT.given(), "type": type, "products": PRODUCT_IDS, **others}
    return Shape(fields, needed, in_order("begin", "end"), own_parent)


# fmt: off
FIXTURE = {
    "users":      Loaded("user",     Shape(USER.given(), "account")),
    "programs":   Loaded("project",  spanned(one_of("program"), "name"),                    "type = 'program'"),
    "projects":   Loaded("project",  spanned(one_of("project"), "name"),                    "type = 'project'"),
    "executions": Loaded("project",  spanned(one_of("sprint", "stage"), "name project", parent=link("project")), "type IN ('sprint', 'stage')"),
    "products":   Loaded("product",  Shape(PRODUCT.given(), "name")),
    "releases":   Loaded("release",  Shape(RELEASE.given(), "name product")),
    "bugs":       Loaded("bug",      Shape(BUG.given(), "title product")),
    "tasks":      Loaded("task",     Shape(TASK.given(), "name", *MODIFY_TASK.rules)),
    "testcases":  Loaded("testcase", Shape({**TESTCASE.given(), "stage": ANY_STAGES, "steps": STEPS_GIVEN}, "title product")),
}
# fmt: on


def load(store: Store, me: Caller, file: IO[str], progress: Callable[[int], None] = lambda records: None) -> int:
    """Load a fixture, all or nothing; how many records it held. FixtureError says where it is wrong."""
    store.defer_links()
    people: dict[str, None] = {}
    ids: dict[str, array[int]] = {name: array("q") for name in FIXTURE}
    try:
        for number, (name, place, record) in enumerate(records_of(file)):
            if number % 1000 == 0:
                progress(number)
            try:
                ids[name].append(load_record(store, me, name, record, people))
            except Invalid as error:
                broken = (f"{name}[{place}].{field}: {rule}" for field, rule in error.fields.items())
                raise FixtureError("; ".join(broken).replace(".:", ":")) from None
    except UnicodeDecodeError:
        raise FixtureError("no fixture: it is not UTF-8") from None
    except ValueError as error:
        raise FixtureError(f"no fixture: {error}") from None
    for account in people:
        store.add_person(account)
    store.place_tasks()
    store.place_projects()
    check_links(store, ids)
    return sum(map(len, ids.values()))


def load_record(store: Store, me: Caller, name: str, record: Any, people: dict[str, None]) -> int:
    """The id of one record of a fixture, now in the database. Raises Invalid."""
    table, shape, _ = FIXTURE[name]
    if not isinstance(record, dict):
        raise Invalid({"": "must be an object"})
    refuse_strangers(RECORDS[table], shape, record)
    given = check(shape, record, settling(store, me, people))
    values = complete(name, store, me, given)
    if name == "tasks" and not values.get("execution"):
        raise Invalid({"execution": "is required"})
    try:
        return save_user(store, me, given) if name == "users" else insert_with_parts(store, table, values)
    except sqlite3.IntegrityError as error:
        field = "steps: an id" if " step." in str(error) else "id"
        rule = "is taken" if "UNIQUE" in str(error) else f"breaks a rule of the database: {error}"
        raise Invalid({field: rule}) from None


def refuse_strangers(record: Record, shape: Shape, given: Mapping[str, Any]) -> None:
    """A fixture is written by hand: a field that no record has is a mistake, and so is another value of a fixed one."""
    for field, value in given.items():
        kind = shape.fields.get(field) or record.fields.get(field)
        if not kind:
            raise Invalid({field: f"is no field of a {record.name}{hint(field, shape.fields)}"})
        if kind.source == "fixed" and value != kind.value:
            raise Invalid({field: f"is always {json.dumps(kind.value)} here"})


def save_user(store: Store, me: Caller, given: Body) -> int:
    """The id of a user, made, or changed in what is given."""
    if (password := given.get("password")) and not KEPT_PASSWORD.fullmatch(password):
        given = {**given, "password": hash_password(password)}
    if not (known := store.user(given["account"])):
        return store.insert("user", complete("users", store, me, given))
    store.update("user", known["id"], given)
    if password:
        store.drop_tokens(known["account"])  # whoever knew the old one is out
    return int(given.get("id", known["id"]))


def check_links(store: Store, ids: Mapping[str, Sequence[int]]) -> None:
    """Every link of what was loaded names a record of the right sort. Raises FixtureError for the first that does not."""
    for name, (table, shape, rows) in FIXTURE.items():
        for field, kind in reversed(shape.fields.items()):  # those that others follow from come last in a record
            if not kind.target:
                continue
            row = store.dangling_product() if field == "products" else store.dangling(table, rows, field, kind.target)
            if row:
                refuse_link(
                    ids, row["id"], [name], f"{field}: must name an existing {kind.target}; {row['link']} is none"
                )
    if (lost := store.unplaced_project()) is not None:
        projects = [name for name, loaded in FIXTURE.items() if loaded.table == "project"]
        refuse_link(ids, lost, projects, "parent: makes it its own ancestor")
    if (lost := store.misplaced_task()) is not None:
        refuse_link(ids, lost, ["tasks"], "project: must be the project of its execution")


def refuse_link(ids: Mapping[str, Sequence[int]], id: int, names: Iterable[str], rule: str) -> None:
    """Raise FixtureError for a record of one of these arrays, if it was loaded just now."""
    for name in names:
        if id in ids[name]:
            raise FixtureError(f"{name}[{ids[name].index(id)}].{rule}")


def dump(store: Store) -> Iterator[str]:
    """The fixture that makes this database's records again, in pieces of JSON text."""
    for name, (table, _, rows) in FIXTURE.items():
        yield f'{"{" if name == "users" else ","}\n"{name}":['
        view = DUMPED[table]
        cursor = store.records(view, f"{rows} ORDER BY id", {})
        separator = "\n"
        while batch := cursor.fetchmany(BATCH):
            yield separator + ",\n".join(view.show(batch, Scene({}, store.zone)))
            separator = ",\n"
        yield "]"
    yield "\n}\n"


# --- 8 Operations: what can be called ---------------------------------------------------------------
# THE TABLE OF OPERATIONS. The README's table, the routes and the tests are read from it or held against it.


class Operation(NamedTuple):
    """One thing that can be called.

    target: what the id in the path names, "" without one.  reads: the fields of the body.  shows: the
    view of the answer, or the list that it is.  perform: the rule (room 7).  status: of success.  open: whether
    it needs no token.  admin: whether only administrators may call it.
    """

    method: str
    path: str
    purpose: str
    target: str
    reads: Shape
    shows: Any
    perform: Callable[..., Any]
    status: int = 200
    open: bool = False
    admin: bool = False


# fmt: off
SPECIFIED = (
    #          method  path                        purpose                       target                  reads           shows            perform         status
    Operation("POST", "/tokens",                  "log in",                     "",                     LOGIN,          TOKEN,           log_in,         201, open=True),
    Operation("GET",  "/products",                "list products",              "",                     NOTHING,        PRODUCTS_LISTED, show),
    Operation("POST", "/products",                "create a product",           "",                     CREATE_PRODUCT, PRODUCT_CREATED, create_product, 201),
    Operation("GET",  "/products/<id>/bugs",      "list bugs of a product",     "product",              NOTHING,        BUGS_LISTED,     show),
    Operation("POST", "/products/<id>/testcases", "create a test case",         "product",              CREATE_CASE,    CASE_CREATED,    create_case,    201),
    Operation("GET",  "/testcases/<id>",          "get a test case",            "testcase",             NOTHING,        CASE_SHOWN,      show),
    Operation("POST", "/programs",                "create a program",           "",                     CREATE_PROGRAM, PROGRAM_SHOWN,   create_program, 201),
    Operation("GET",  "/programs/<id>",           "get a program",              "program",              NOTHING,        PROGRAM_SHOWN,   show),
    Operation("POST", "/projects",                "create a project",           "",                     CREATE_PROJECT, PROJECT_CREATED, create_project, 201),
    Operation("GET",  "/projects/<id>/releases",  "list releases of a project", "project",              NOTHING,        RELEASES_LISTED, show),
    Operation("POST", "/executions/<id>/tasks",   "create a task",              "execution or project", CREATE_TASK,    TASK_CREATED,    create_task,    201),
    Operation("PUT",  "/tasks/<id>",              "modify a task",              "task",                 MODIFY_TASK,    TASK_MODIFIED,   modify_task),
    Operation("POST", "/tasks/<id>/start",        "start a task",               "task",                 START_TASK,     TASK_STARTED,    start_task),
    Operation("POST", "/tasks/<id>/finish",       "finish a task",              "task",                 FINISH_TASK,    TASK_FINISHED,   finish_task),
    Operation("POST", "/tasks/<id>/restart",      "restart a task",             "task",                 RESTART_TASK,   TASK_STARTED,    moving(RESTART)),
)
COMPANIONS = (  # beyond the specification: what existing clients call around it
    #          method    path                         purpose                         target                  reads             shows           perform             status
    Operation("GET",    "/user",                     "who the token belongs to",     "",                     NOTHING,          MY_PROFILE,     show_me),
    Operation("GET",    "/users",                    "list users",                   "",                     NOTHING,          USERS,          show),
    Operation("POST",   "/users",                    "create a user",                "",                     CREATE_USER,      USER_SHOWN,     create_user,        201, admin=True),
    Operation("GET",    "/users/<id>",               "get a user",                   "user",                 NOTHING,          USER_SHOWN,     show),
    Operation("GET",    "/programs",                 "list programs",                "",                     NOTHING,          PROGRAMS,       show),
    Operation("DELETE", "/programs/<id>",            "delete a program",             "program",              NOTHING,          SUCCESS,        deleting("project")),
    Operation("GET",    "/projects",                 "list projects",                "",                     NOTHING,          PROJECTS,       show),
    Operation("GET",    "/projects/<id>",            "get a project",                "project",              NOTHING,          PROJECT_SHOWN,  show),
    Operation("DELETE", "/projects/<id>",            "delete a project",             "project",              NOTHING,          SUCCESS,        deleting("project")),
    Operation("GET",    "/projects/<id>/executions", "list executions of a project", "project",              NOTHING,          ITS_EXECUTIONS, show),
    Operation("POST",   "/projects/<id>/executions", "create an execution",          "project",              CREATE_EXECUTION, PROJECT_SHOWN,  create_execution,   201),
    Operation("POST",   "/projects/<id>/releases",   "create a release",             "project",              CREATE_RELEASE,   RELEASE_SHOWN,  create_release,     201),
    Operation("GET",    "/executions",               "list executions",              "",                     NOTHING,          EXECUTIONS,     show),
    Operation("GET",    "/executions/<id>",          "get an execution",             "execution",            NOTHING,          PROJECT_SHOWN,  show),
    Operation("GET",    "/executions/<id>/tasks",    "list tasks of an execution",   "execution or project", NOTHING,          ITS_TASKS,      show),
    Operation("GET",    "/products/<id>",            "get a product",                "product",              NOTHING,          PRODUCT_FOUND,  show),
    Operation("DELETE", "/products/<id>",            "delete a product",             "product",              NOTHING,          SUCCESS,        deleting("product")),
    Operation("GET",    "/products/<id>/testcases",  "list test cases of a product", "product",              NOTHING,          ITS_CASES,      show),
    Operation("DELETE", "/testcases/<id>",           "delete a test case",           "testcase",             NOTHING,          SUCCESS,        deleting("testcase")),
    Operation("GET",    "/products/<id>/releases",   "list releases of a product",   "product",              NOTHING,          ITS_RELEASES,   show),
    Operation("POST",   "/products/<id>/bugs",       "create a bug",                 "product",              CREATE_BUG,       BUG_SHOWN,      create_bug,         201),
    Operation("GET",    "/bugs/<id>",                "get a bug",                    "bug",                  NOTHING,          BUG_SHOWN,      show),
    Operation("PUT",    "/bugs/<id>",                "modify a bug",                 "bug",                  MODIFY_BUG,       BUG_SHOWN,      modify_bug),
    Operation("DELETE", "/bugs/<id>",                "delete a bug",                 "bug",                  NOTHING,          SUCCESS,        deleting("bug")),
    Operation("POST",   "/bugs/<id>/confirm",        "confirm a bug",                "bug",                  CONFIRM_BUG,      BUG_SHOWN,      moving(CONFIRM)),
    Operation("POST",   "/bugs/<id>/resolve",        "resolve a bug",                "bug",                  RESOLVE_BUG,      BUG_SHOWN,      moving(RESOLVE)),
    Operation("POST",   "/bugs/<id>/close",          "close a bug",                  "bug",                  COMMENT,          BUG_SHOWN,      moving(CLOSE_BUG)),
    Operation("POST",   "/bugs/<id>/active",         "activate a bug again",         "bug",                  ACTIVATE_BUG,     BUG_SHOWN,      moving(REACTIVATE)),
    Operation("POST",   "/bugs/<id>/activate",       "the same",                     "bug",                  ACTIVATE_BUG,     BUG_SHOWN,      moving(REACTIVATE)),
    Operation("GET",    "/tasks",                    "list tasks assigned to me",    "",                     NOTHING,          MY_TASKS,       show),
    Operation("GET",    "/tasks/<id>",               "get a task",                   "task",                 NOTHING,          TASK_SHOWN,     show),
    Operation("DELETE", "/tasks/<id>",               "delete a task",                "task",                 NOTHING,          SUCCESS,        deleting("task")),
    Operation("POST",   "/tasks/<id>/pause",         "pause a task",                 "task",                 COMMENT,          TASK_SHOWN,     moving(PAUSE)),
    Operation("POST",   "/tasks/<id>/close",         "close a task",                 "task",                 CLOSE_TASK,       TASK_SHOWN,     moving(CLOSE)),
    Operation("POST",   "/tasks/<id>/cancel",        "cancel a task",                "task",                 COMMENT,          TASK_SHOWN,     moving(CANCEL)),
    Operation("POST",   "/tasks/<id>/active",        "activate a task again",        "task",                 ACTIVATE_TASK,    TASK_SHOWN,     moving(ACTIVATE)),
)
# fmt: on
OPERATIONS = SPECIFIED + COMPANIONS


def query_shape(listing: Listing) -> Shape:
    """What a list may be asked for."""
    fields = [field for field in listing.view.columns if field in listing.view.record.given()]
    orders = [f"{field}_{way}" for field in fields for way in ("asc", "desc")]
    order = one_of(*orders)._replace(read=lambda word: tuple(words_of(orders)(word).rsplit("_", 1)))
    browse = {"status": one_of(*listing.browse)} if listing.browse else {}
    return Shape({"page": PAGE, "limit": LIMIT, "order": order, **browse})


# --- 9 OpenAPI: the tables above, as a document ------------------------------------------------------
# Made from OPERATIONS, the shapes and the views, so that it cannot drift from what they do.

REFERENCE = {"$ref": "#/components/schemas/UserReference"}
# fmt: off
SCHEMAS: dict[Any, Schema] = {  # of what each writer writes
    reference:  REFERENCE,
    account:    {"type": "string"},
    iso:        {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?$"},
    spaced:     {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$"},
    boolean:    {"type": "boolean"},
    digit:      {"type": "string", "enum": ["0", "1"]},
    text:       {"type": "string"},
    hours:      {"type": "number", "minimum": 0},
    coded:      closed({"code": {"enum": list(BUG_STATES)}, "name": {"type": "string"}}),
    role:       closed({"code": {"type": "string"}, "name": {"type": "string"}}),
    references: array_of(REFERENCE),
}
# fmt: on
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "string"}, "fields": {"type": "object"}},
}
# fmt: off
REASONS: tuple[tuple[int, str, Callable[[Operation], Any]], ...] = (  # status, what it says, which operations may
    (400, "The request breaks a rule; `fields` names each.",            lambda row: row.method != "GET" or isinstance(row.shows, Listing)),
    (401, "There is no valid token.",                                   lambda row: not row.open),
    (403, "Only an administrator may do this.",                         lambda row: row.admin),
    (404, "There is no such record, or the caller may not see it.",     lambda row: row.target),
    (413, "The body is too large.",                                     lambda row: True),
    (421, "The Host is not this service's.",                            lambda row: True),
    (503, "The database is busy or cannot be written; try again later.", lambda row: True),
    (507, "The disk is full; nothing was written.",                      lambda row: row.method != "GET"),
)
# fmt: on


def field_schema(view: View, field: str) -> Schema:
    """The schema of a field as a view shows it."""
    kind = view.fields[field]
    if kind.source == "fixed":
        return {"const": kind.value}
    if field in view.exceptions:
        return SCHEMAS[view.exceptions[field]]
    if kind.look in view.unset:
        writer, unset = view.unset[kind.look]
        return either(SCHEMAS[writer], {"const": json.loads(unset)})
    if kind.look == "word":
        return kind.shown if kind is MONEY else kind.schema
    if kind.look == "plain":
        return kind.shown
    return SCHEMAS[view.written[kind.look]]


def answer_schema(shows: Any) -> Schema:
    """The schema of an answer."""
    if isinstance(shows, Listing):
        whole_number = {"type": "integer"}
        page = closed(dict.fromkeys(("page", "total", "limit"), whole_number) | {shows.key: array_of(ref(shows.view))})
        return page if shows.paged else {**page, "required": ["total", shows.key]}
    if not isinstance(shows, View):
        return closed({name: {"type": "string"} for name in shows})
    if shows.wrap is profile:
        return closed({"profile": ref(shows)})
    return ref(shows)


def ref(view: View) -> Schema:
    return {"$ref": f"#/components/schemas/{VIEW_NAMES[view]}"}


def view_schema(view: View) -> Schema:
    fields = {field: field_schema(view, field) for field in view.fields}
    if view.wrap is doubled:
        fields = fields | {"total": {"const": 1}, "products": array_of(closed(fields))}
    return closed(fields)


def body_schema(shape: Shape) -> Schema:
    """The schema of a request's body: null is not given, other fields are ignored."""
    fields = {
        f: kind.schema if f in shape.needed else either(kind.schema, {"type": "null"})
        for f, kind in shape.fields.items()
    }
    return {
        "type": "object" if shape.needed else ["object", "null"],
        "properties": fields,
        "required": sorted(shape.needed),
    }


def described(operation: Operation) -> dict[str, Any]:
    """An operation of the document."""
    answers = {status: ERROR_ANSWER | {"description": says} for status, says, may in REASONS if may(operation)}
    answers[operation.status] = {"description": "Done.", "content": json_content(answer_schema(operation.shows))}
    described: dict[str, Any] = {
        "operationId": re.sub(r"\W+", "_", f"{operation.method.lower()}{operation.path}").strip("_"),
        "summary": operation.purpose,
        "tags": ["specified" if operation in SPECIFIED else "companion"],
        "responses": {str(status): answers[status] for status in sorted(answers)},
    }
    if operation.open:
        described["security"] = []
    if isinstance(operation.shows, Listing):
        query = query_shape(operation.shows).fields.items()
        described["parameters"] = [{"name": name, "in": "query", "schema": kind.schema} for name, kind in query]
    if operation.reads.fields:
        described["requestBody"] = {
            "required": bool(operation.reads.needed),
            "content": json_content(body_schema(operation.reads)),
        }
    return described


def json_content(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


VIEW_NAMES = {view: name.title().replace("_", "") for name, view in list(globals().items()) if isinstance(view, View)}
ERROR_ANSWER = {"content": json_content({"$ref": "#/components/schemas/Error"})}


def openapi() -> dict[str, Any]:
    """The OpenAPI 3.1 document of the service."""
    id_parameter = {
        "name": "id",
        "in": "path",
        "required": True,
        "schema": {"type": "integer", "minimum": 1, "maximum": MAX_INT},
    }
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        path = paths.setdefault(
            operation.path.replace("<id>", "{id}"), {"parameters": [id_parameter]} if operation.target else {}
        )
        path[operation.method.lower()] = described(operation)
    reference_fields = {"id": {"type": "integer"}} | {
        field: {"type": "string"} for field in ("account", "avatar", "realname")
    }
    schemas = {"UserReference": closed(reference_fields), "Error": ERROR}
    return {
        "openapi": "3.1.0",
        "info": {"title": "pmservice", "version": __version__, "description": __doc__.partition("\n\n")[0]},
        "security": [{"Token": []}],
        "tags": [{"name": "specified"}, {"name": "companion", "description": "Beyond the specification."}],
        "paths": paths,
        "components": {
            "schemas": schemas | {name: view_schema(view) for view, name in VIEW_NAMES.items()},
            "securitySchemes": {"Token": {"type": "apiKey", "in": "header", "name": "Token"}},
        },
    }


@functools.cache
def openapi_text() -> bytes:
    return to_json(openapi()).encode()


# --- 10 Wire: bytes to bodies, the path ---------------------------------------------------------------
# What a request is made of, read once and strictly.

STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)  # also one that is not closed: never tried a second time
FORM_ITEM = re.compile(r"(.*)\[[0-9]*\]")
DEEPER = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def read_body(environ: Mapping[str, Any], limit: int) -> bytes:
    """The bytes of the body. Raises TooLarge beyond `limit` bytes."""
    length = environ.get("CONTENT_LENGTH") or "0"
    if not re.fullmatch("[0-9]{1,18}", length):
        raise Refusal("The Content-Length must be a number of bytes.")
    if int(length) > limit:
        raise TooLarge(f"The body must be at most {limit} bytes long.")
    return bytes(environ["wsgi.input"].read(int(length)))


def parse_body(body: bytes, content_type: str) -> dict[str, Any]:
    """The fields of a body: JSON whatever its label says, but a form that is labelled as one and does not look like JSON."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise Refusal("The body must be JSON in UTF-8.") from None
    if not text.strip():
        return {}
    if content_type.lower().startswith("application/x-www-form-urlencoded") and text.lstrip()[0] != "{":
        return {} if text.strip() == "null" else parse_form(text)
    if depth_of(body) > MAX_DEPTH:
        raise Refusal(f"The body must not be nested more than {MAX_DEPTH} deep.")
    try:
        value = json.loads(text, parse_constant=refuse_constant)
    except ValueError as error:  # what Python says of it differs from version to version
        reason = f": {error}" if isinstance(error, NumberError) else ""
        raise Refusal(f"The body must be JSON{reason}.") from None
    if value is not None and not isinstance(value, dict):
        raise Refusal("The body must be a JSON object.")
    return value or {}


def depth_of(body: bytes) -> int:
    """How deep a JSON text nests. Counted before parsing: each Python gives up at a depth of its own."""
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return 0
    return max(itertools.accumulate(DEEPER.get(byte, 0) for byte in STRING.sub(b"", body)))


def parse_form(text: str) -> dict[str, Any]:
    """The fields of a form; those whose name ends in [] or [0], [1], … are arrays."""
    fields: dict[str, str] = {}
    arrays: dict[str, list[str]] = {}
    try:
        pairs = urllib.parse.parse_qsl(text.strip(), keep_blank_values=True, errors="strict", max_num_fields=1000)
    except ValueError:
        raise Refusal("The body must be JSON, or a form in UTF-8.") from None
    for name, value in pairs:
        if item := FORM_ITEM.fullmatch(name):
            arrays.setdefault(item[1], []).append(value)
        else:
            fields[name] = value
    return {**fields, **arrays}


def plain_path(environ: Mapping[str, Any]) -> tuple[str, str]:
    """The path without the prefixes that clients put before it and without a trailing slash; and why there is nothing at it.

    That is so for a path that is no UTF-8, or that only a server's tidying makes one of ours: a leading double
    slash, an encoded slash.
    """
    raw = (environ.get("REQUEST_URI") or "").partition("?")[0]
    path = str(environ.get("bottle.raw_path", environ["PATH_INFO"]))
    try:
        path = path.encode("latin-1").decode()
    except UnicodeError:
        return path, "This path is no UTF-8."
    tidied = raw.startswith("//") or "%2f" in raw.lower() or "\n" in path  # $ in a pattern overlooks one
    stray = f"There is nothing at {raw or path}." if tidied else ""
    prefix = next((prefix for prefix in PREFIXES if path.startswith(prefix + "/")), "")
    path = path[len(prefix) :]
    return path[:-1] if path.endswith("/") and path != "/" else path, stray


# --- 11 Control: what a test or a demo can turn -----------------------------------------------------
# The clock, the journal, faults and snapshots, under /-/. Nothing of it touches the rules.

MAX_CALLS = 1000  # that the journal keeps
MAX_PATH = 1000  # characters of a path in the journal and the log
MAX_WAIT = 60  # seconds
TICK = 0.005  # seconds between two looks
MAX_WAITING = 24  # calls that wait at once, of CONTROL_THREADS: the others are always answered
CONTROL_THREADS = 32


class Clock:
    """The time by which everything here is dated: it can be frozen or shifted."""

    def __init__(self, base: Callable[[], datetime]):
        self.base, self.frozen, self.offset = base, None, 0.0

    frozen: datetime | None

    def __call__(self) -> datetime:
        return self.frozen or self.base() + timedelta(seconds=self.offset)

    def told(self) -> dict[str, Any]:
        return {"now": utc(self(), timezone.utc), "frozen": self.frozen is not None, "offset": self.offset}


def is_wanted(call: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a call's method, path (a pattern: * is anything) and status are the wanted ones."""
    return (
        call["method"] == wanted.get("method", call["method"]).upper()
        and call["status"] == wanted.get("status", call["status"])
        and fnmatch.fnmatchcase(call["path"], wanted.get("path", "*"))
    )


class Journal:
    """The last calls."""

    def __init__(self) -> None:
        self.calls: deque[dict[str, Any]] = deque(maxlen=MAX_CALLS)

    def matching(self, wanted: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The calls that are wanted."""
        return [call for call in list(self.calls) if is_wanted(call, wanted)]

    def awaited(self, wanted: Mapping[str, Any], count: int) -> Callable[[], bool]:
        """What tells whether so many calls are wanted, and looks at each only once: it is asked at every tick."""
        found, last = 0, None

        def enough() -> bool:
            nonlocal found, last
            calls = list(self.calls)
            new = list(itertools.takewhile(lambda call: call is not last, reversed(calls)))
            known = 0 if len(new) == len(calls) else found  # none is known: it begins, or all were forgotten
            found = known + sum(is_wanted(call, wanted) for call in new)
            last = calls[-1] if calls else None
            return found >= count

        return enough

    def nearest(self, path: str) -> str:
        """The last calls of paths like this one."""
        calls = list(self.calls)
        near = difflib.get_close_matches(path, {call["path"] for call in calls}, 3, 0.3)
        return ", ".join(
            [f"{call['method']} {call['path']} {call['status']}" for call in calls if call["path"] in near][-5:]
        )


def read_seconds(value: Any) -> float:
    """A time to wait."""
    with contextlib.suppress(ValueError):
        if (seconds := read_hours(value)) <= MAX_WAIT:
            return seconds
    raise ValueError(f"must be a number of seconds, 0 to {MAX_WAIT}")


def read_match(value: Any) -> str:
    """The pattern of the calls that a fault strikes: a method, a blank and a path, * standing for anything."""
    if isinstance(value, str) and re.fullmatch(r"\*.*|[A-Z*?]+ [/*?].*", value):
        return value
    raise ValueError('must be a method and a path, such as "POST /tasks/*"')


SECONDS = Kind("plain", read_seconds, {})
COUNT = Kind("plain", whole(0, MAX_CALLS), {})
DROP = FLAG._replace(read=lambda value: bool(read_flag(value)))
EFFECTS = {"status": Kind("plain", whole(400, 599), {}), "delay": SECONDS, "drop": DROP}
FAULT = Shape({"match": Kind("text", read_match, {}), **EFFECTS, "times": COUNT}, "match")
CALLS = Shape({"method": TEXT, "path": TEXT, "status": COUNT, "count": COUNT, "wait": SECONDS})


def check_exactly(shape: Shape, given: Fields, settle: Settle = unsettled) -> dict[str, Any]:
    """Checked values, of nothing but the shape's fields: what a tester mistypes must not go unnoticed."""
    if strange := given.keys() - shape.fields.keys():
        raise Invalid({field: f"is not known here{hint(field, shape.fields)}" for field in sorted(strange)})
    return check(shape, given, settle)


class Faults:
    """Errors, delays and dropped connections on demand: the first fault that matches a call strikes it."""

    def __init__(self) -> None:
        self.list: list[dict[str, Any]] = []
        self.lock = threading.Lock()

    def take(self, method: str, path: str) -> dict[str, Any] | None:
        """The fault for this call, one time fewer from now on."""
        with self.lock:
            for fault in self.list:
                if fnmatch.fnmatchcase(f"{method} {path}", fault["match"]) and fault.get("times", 1) > 0:
                    if "times" in fault:
                        fault["times"] -= 1
                    return fault
        return None


class Controls:
    """Everything that can be turned."""

    def __init__(self, database: Database, clock: Clock, on: bool):
        self.database, self.clock, self.on = database, clock, on
        self.journal, self.faults = Journal(), Faults()
        self.loading = False
        self.stopping = threading.Event()
        self.places = threading.Semaphore(MAX_WAITING)

    def wait(self, done: Callable[[], bool], seconds: float) -> None:
        """Wait until it is done, the time is up or the service stops; not at all when too many calls wait."""
        until = time.monotonic() + seconds
        if self.places.acquire(blocking=False):
            try:
                while not done() and (left := until - time.monotonic()) > 0 and not self.stopping.wait(min(left, TICK)):
                    pass
            finally:
                self.places.release()


class Asked(NamedTuple):
    """A call of a control: the name in its path, its query, its body."""

    name: str
    query: Mapping[str, str]
    body: bytes


Answer = Any  # a JSON value, or the pieces of one


def live(controls: Controls, asked: Asked) -> Answer:
    return {"status": "live"}


def ready(controls: Controls, asked: Asked) -> Answer:
    """503 until schema and fixture are in, and when the file was removed or cannot be written."""
    if controls.loading or not controls.database.ready():
        raise Unavailable("The service is still loading." if controls.loading else "The database cannot be written.")
    return {"status": "ready"}


def reset(controls: Controls, asked: Asked) -> Answer:
    controls.database.restore_snapshot(START_SNAPSHOT)
    return SUCCESS


def save_snapshot(controls: Controls, asked: Asked) -> Answer:
    controls.database.take_snapshot(asked.name)
    return SUCCESS


def restore_snapshot(controls: Controls, asked: Asked) -> Answer:
    if asked.name not in controls.database.snapshots:
        raise NotFound(f"There is no snapshot {asked.name}{hint(asked.name, controls.database.snapshots)}.")
    controls.database.restore_snapshot(asked.name)
    return SUCCESS


def dump_all(controls: Controls, asked: Asked) -> Answer:
    with controls.database.reading() as store:
        yield from dump(store)


def load_all(controls: Controls, asked: Asked) -> Answer:
    with controls.database.writing() as store:
        return {"records": load(store, Caller(ADMIN, True), io.TextIOWrapper(io.BytesIO(asked.body), "utf-8"))}


def get_clock(controls: Controls, asked: Asked) -> Answer:
    return controls.clock.told()


def put_clock(controls: Controls, asked: Asked) -> Answer:
    """`now` freezes, `offset` (seconds) shifts, neither sets the clock free."""
    body = check_exactly(
        CLOCK, parse_body(asked.body, ""), lambda kind, value: moment_at(value, controls.database.zone)
    )
    controls.clock.offset = body.get("offset", 0)
    controls.clock.frozen = body.get("now")
    return controls.clock.told()


def moment_at(value: Any, zone: tzinfo) -> Any:
    """A moment as an aware datetime, local to the service's zone if it names none; a number as it is."""
    return moment_of(utc(value, zone)) if isinstance(value, datetime) else value


def read_offset(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > 1e9:
        raise ValueError("must be a number of seconds, at most 1e9 either way")
    return value


CLOCK = Shape({"now": MOMENT, "offset": Kind("plain", read_offset, {})})


def get_journal(controls: Controls, asked: Asked) -> Answer:
    """The calls that match; with `count`, only when exactly that many do within `wait` seconds, else 409."""
    query = check_exactly(CALLS, asked.query)
    count = query.get("count")
    if count is not None:
        controls.wait(controls.journal.awaited(query, count), query.get("wait", 0))
    calls = controls.journal.matching(query)
    if count not in (None, len(calls)):
        near = controls.journal.nearest(query.get("path", ""))
        raise Conflict(f"{len(calls)} calls match, not {count}; nearest: {near or 'none'}.")
    return {"total": len(calls), "calls": calls}


def clear_journal(controls: Controls, asked: Asked) -> Answer:
    controls.journal.calls.clear()
    return SUCCESS


def get_faults(controls: Controls, asked: Asked) -> Answer:
    return controls.faults.list


def put_faults(controls: Controls, asked: Asked) -> Answer:
    """Put these in the place of all others."""
    try:
        given = json.loads(asked.body)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, list) or not all(isinstance(fault, dict) for fault in given):
        raise Refusal("The body must be a JSON array of faults.")
    faults = [check_exactly(FAULT, fault) for fault in given]
    if not all(EFFECTS.keys() & fault.keys() for fault in faults):
        raise Refusal("A fault needs a status, a delay or drop.")
    controls.faults.list = faults
    return faults


def clear_faults(controls: Controls, asked: Asked) -> Answer:
    controls.faults.list = []
    return SUCCESS


START_SNAPSHOT = ""  # a name that no path can have


class Control(NamedTuple):
    """One thing that can be turned; `open`: always there, without a token."""

    method: str
    path: str
    purpose: str
    perform: Callable[[Controls, Asked], Answer]
    open: bool = False


# fmt: off
CONTROLS = (
    Control("GET",    "/-/live",                     "whether the process answers",                    live,  open=True),
    Control("GET",    "/-/ready",                    "whether it is loaded and can write",             ready, open=True),
    Control("POST",   "/-/reset",                    "back to what was loaded at start",               reset),
    Control("PUT",    "/-/snapshots/<name>",         "keep the records as they are",                   save_snapshot),
    Control("POST",   "/-/snapshots/<name>",         "the same",                                       save_snapshot),
    Control("POST",   "/-/snapshots/<name>/restore", "back to what was kept",                          restore_snapshot),
    Control("GET",    "/-/dump",                     "everything as a fixture",                        dump_all),
    Control("POST",   "/-/load",                     "load a fixture",                                 load_all),
    Control("GET",    "/-/clock",                    "the service's time",                             get_clock),
    Control("PUT",    "/-/clock",                    "freeze, shift or free it",                       put_clock),
    Control("GET",    "/-/journal",                  "the last calls, or whether exactly so many came", get_journal),
    Control("DELETE", "/-/journal",                  "forget them",                                    clear_journal),
    Control("GET",    "/-/faults",                   "the faults to come",                             get_faults),
    Control("PUT",    "/-/faults",                   "set them",                                       put_faults),
    Control("DELETE", "/-/faults",                   "none",                                           clear_faults),
)
# fmt: on


# --- 12 Service: tokens, JSON in and out ------------------------------------------------------------
# The only room that knows HTTP. It reads a request, runs its row of OPERATIONS and writes the answer.


def read_query(environ: Mapping[str, Any], asked: Shape, paged: bool) -> dict[str, Any]:
    """What a list is asked for: page, limit, order, status. Unknown parameters are ignored."""
    try:
        given = dict(
            urllib.parse.parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True, max_num_fields=100)
        )
    except ValueError:
        raise Refusal("The query has too many parameters.") from None
    query = check(asked, {**given, **({"status": given["status"].lower()} if "status" in given else {})})
    if paged or "page" in query or "limit" in query:
        query = {"page": 1, "limit": 20, **query}
    return query


def utc_now() -> datetime:
    return datetime.now(timezone.utc)


def zone_of(name: str) -> tzinfo:
    """A time zone by its IANA name. Raises StartError."""
    if name == "UTC":
        return timezone.utc  # needs no zone files, which small containers lack
    from zoneinfo import ZoneInfo  # reads files: only when asked for

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise StartError(f"time zone {name}: not known here; use a name such as Asia/Shanghai, or UTC") from None


def set_password(database: Database, password: str) -> None:
    """Make this the administrator's password, unless it is already. Hashed before the lock is taken: it takes its time."""
    with database.glancing() as store:
        kept = administrator(store)["password"]
    if kept is None or not password_matches(password, kept):
        hashed = hash_password(password)
        with database.writing() as store:
            save_user(store, Caller(ADMIN, True), {"account": ADMIN, "password": hashed})


def administrator(store: Store) -> sqlite3.Row:
    """The row of `admin`, whom every database has."""
    return store.user(ADMIN)  # type: ignore[return-value]


def show_progress(words: str) -> None:
    """Tell a person at a terminal how far long work has come, on one line."""
    if sys.stderr.isatty():
        print(f"\r{words} ", end="", file=sys.stderr, flush=True)


def load_fixture(
    database: Database, fixture: str | os.PathLike[str] | Mapping[str, Any], stopped: Callable[[], bool]
) -> bool:
    """Load a fixture into a database that holds no records; False if it holds some. Raises StartError."""
    with database.reading() as store:
        if not store.is_empty():
            return False
    if isinstance(fixture, Mapping):
        load_file(database, io.StringIO(json.dumps(fixture)), "load", stopped)
    else:
        try:
            with open(fixture, encoding="utf-8") as file:
                load_file(database, file, os.fspath(fixture), stopped)
        except OSError as error:
            raise StartError(f"{os.fspath(fixture)}: {error.strerror}") from None
    return True


def load_file(database: Database, file: IO[str], name: str, stopped: Callable[[], bool] = lambda: False) -> int:
    """How many records were loaded from an open fixture. Raises StartError."""

    def progress(records: int) -> None:
        if stopped():
            raise StartError(f"{name}: stopped before all was loaded; nothing was")
        show_progress(f"{records:,} records")

    try:
        with database.writing() as store:
            return load(store, Caller(ADMIN, True), file, progress)
    except (Refusal, UnicodeDecodeError, sqlite3.Error) as error:
        raise StartError(f"{name}: {error}") from None


@contextlib.contextmanager
def compiled_once(router: bottle.Router) -> Iterator[None]:
    """Inside, routes are added: Bottle compiles the pattern of all of them at each one, here when all are there."""
    router._compile = lambda method: None
    yield
    del router._compile
    for method in router.dyna_routes:
        router._compile(method)


class Service:
    """The WSGI application. `token`: one that acts as the administrator; `close()` gives everything back."""

    def __init__(
        self,
        database: str | os.PathLike[str],
        token: str | None,
        timezone: str,
        lifetime: float,
        body_limit: int,
        loopback_only: bool,
        clock: Callable[[], datetime],
        control: bool | None,
    ):
        self.token = token or secrets.token_hex(16)
        self.operator, self.names = hash_token(self.token), set(LOOPBACK_NAMES)
        self.lifetime, self.body_limit, self.loopback_only = lifetime, body_limit, loopback_only
        movable = Clock(clock)
        self.database = Database(os.fspath(database), zone_of(timezone), movable)
        self.controls = Controls(self.database, movable, self.database.in_memory if control is None else control)
        self.start, self.numbers = secrets.token_hex(4), itertools.count(1)  # of which a request's id is made
        self.routes = bottle.Bottle()
        self.routes.router.add_filter("id", lambda _: ("[1-9][0-9]{0,18}", int, str))
        self.routes.router.add_filter("name", lambda _: ("[A-Za-z0-9_.-]{1,64}", str, str))
        self.routes.add_hook("before_request", self.admit)
        self.routes.default_error_handler = self.render
        with compiled_once(self.routes.router):
            self.add_routes()
        self.open_paths = {"/openapi.json"} | {row.path for row in (*OPERATIONS, *CONTROLS) if row.open}

    def add_routes(self) -> None:
        """The rows of the tables, and the document of them."""
        for operation in OPERATIONS:
            self.routes.route(operation.path.replace("<id>", "<id:id>"), operation.method, self.handler(operation))
        for row in CONTROLS:
            if row.open or self.controls.on:
                self.routes.route(row.path.replace("<name>", "<name:name>"), row.method, self.turner(row))
        self.routes.route("/openapi.json", "GET", self.answer_openapi)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request; note it in the log and, while controls are on, in the journal."""
        began, number = time.perf_counter(), f"{self.start}-{next(self.numbers)}"

        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            environ["pmservice.status"] = int(status[:3])
            return start_response(status, [*headers, ("X-Request-Id", number)], *rest)

        answer: Iterable[bytes] = self.routes(environ, start)
        self.note(environ, number, round((time.perf_counter() - began) * 1000, 3))
        if environ.get("pmservice.drop"):
            raise ClientDisconnected  # makes waitress close the connection without an answer
        return answer

    def note(self, environ: Mapping[str, Any], number: str, duration: float) -> None:
        """Write a request's line to the log, and to the journal unless it turned a control."""
        journal = self.controls.on and not environ["PATH_INFO"].startswith("/-/")
        if not journal and not log.isEnabledFor(logging.INFO):
            return
        account = environ["pmservice.caller"].account if "pmservice.caller" in environ else "-"
        call = {"id": number, "method": environ["REQUEST_METHOD"], "path": printable(environ["PATH_INFO"][:MAX_PATH])}
        call |= {"status": environ["pmservice.status"], "account": account, "duration": duration}
        log.info("%(method)s %(path)s %(status)d %(duration).1f ms %(account)s %(id)s", call, extra={"call": call})
        if journal:
            self.controls.journal.calls.append({**call, "body": recorded(environ.get("pmservice.body"))})

    def furnish(self, password: str | None, fixture: str | os.PathLike[str] | Mapping[str, Any] | None) -> None:
        """Set the administrator's password, load a fixture, keep this as what a reset goes back to. Raises StartError."""
        if password:
            set_password(self.database, password)
        if fixture and not load_fixture(self.database, fixture, self.controls.stopping.is_set):
            log.warning("%s holds records already: nothing was loaded into it", self.database.path)
        if self.controls.on:
            self.database.take_snapshot(START_SNAPSHOT)
        self.controls.loading = False

    def close(self) -> None:
        """Close the database's connections."""
        self.database.close()

    def admit(self) -> None:
        """Before any route is looked up: the Host, the path, the token."""
        environ = bottle.request.environ
        with refusing:
            target = ABSOLUTE.match(environ.get("REQUEST_URI", ""))  # what it names goes before the Host field
            host = target[1] if target else environ.get("HTTP_HOST")
            if self.loopback_only and host is not None:
                named = HOST.fullmatch(host)
                if not named or named[1].lower() not in self.names:
                    raise Misdirected(f"This service answers to {', '.join(sorted(self.names))} only.")
            environ["PATH_INFO"], stray = plain_path(environ)
            path = environ["PATH_INFO"]
            if self.controls.faults.list and not path.startswith("/-/"):
                self.strike(self.controls.faults.take(environ["REQUEST_METHOD"], path), environ)
            if path not in self.open_paths:
                environ["pmservice.caller"] = self.caller(environ.get("HTTP_TOKEN", ""))
                if self.controls.loading:
                    raise Unavailable("The service is still loading.")
            if stray:
                raise NotFound(stray)

    def strike(self, fault: Mapping[str, Any] | None, environ: dict[str, Any]) -> None:
        """Let a call meet its fault."""
        if fault:
            self.controls.wait(lambda: False, fault.get("delay", 0))
            environ["pmservice.drop"] = bool(fault.get("drop"))
            if "status" in fault or fault.get("drop"):
                status = fault.get("status", 503)
                raise answered(status, {"error": f"This is the fault {status} that was asked for."})

    def turner(self, control: Control) -> Callable[..., Any]:
        """The function that Bottle calls for a control."""

        def handle(name: str = "") -> Any:
            with refusing:
                environ = bottle.request.environ
                if not control.open and not environ["pmservice.caller"].admin:
                    raise Forbidden("Only an administrator may do this.")
                query = dict(urllib.parse.parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True))
                bottle.response.content_type = "application/json"
                answer = control.perform(self.controls, Asked(name, query, read_body(environ, self.body_limit)))
                if isinstance(answer, Iterator):
                    return in_pieces(piece.encode() for piece in answer)
                return to_json(answer).encode()

        return handle

    def caller(self, token: str) -> Caller:
        """Who sends this token, whose bytes WSGI passes as Latin-1. Raises Unauthorized."""
        hash = hash_token(token.encode("latin-1", "replace").decode("utf-8", "surrogateescape"))
        if hmac.compare_digest(hash, self.operator):
            return Caller(ADMIN, True)
        return caller_of(self.database, hash, self.lifetime)

    def handler(self, operation: Operation) -> Callable[..., Any]:
        """The function that Bottle calls for an operation."""
        if isinstance(operation.shows, Listing):
            answer: Callable[..., Any] = functools.partial(self.answer_list, query_shape(operation.shows))
        elif operation.method == "GET":
            answer = self.answer_record
        else:
            answer = self.answer_open if operation.open else self.answer_write

        def handle(id: int = 0) -> Any:
            with refusing:
                bottle.response.status = operation.status
                bottle.response.content_type = "application/json"
                return answer(operation, id, bottle.request.environ)

        return handle

    def answer_open(self, operation: Operation, id: int, environ: dict[str, Any]) -> bytes:
        """Perform an operation that needs no token and answers with a few words of its own."""
        fields = parse_body(read_body(environ, self.body_limit), environ.get("CONTENT_TYPE", ""))
        environ["pmservice.body"] = fields
        return to_json(operation.perform(self.database, check(operation.reads, fields))).encode()

    @staticmethod
    def answer_openapi() -> bytes:
        bottle.response.content_type = "application/json"
        return openapi_text()

    def answer_write(self, operation: Operation, id: int, environ: dict[str, Any]) -> bytes:
        """Perform an operation that changes something, and show the record that it made or changed."""
        raw, me = read_body(environ, self.body_limit), environ["pmservice.caller"]
        with self.database.writing() as store:
            target = self.target(store, operation, id, me)
            environ["pmservice.body"] = fields = parse_body(raw, environ.get("CONTENT_TYPE", ""))
            body = check(operation.reads, fields, settling(store, me), dict(target or {}))
            changed = operation.perform(store, me, target, body)
            if not isinstance(operation.shows, View):
                return to_json(operation.shows).encode()
            return self.text(store, operation.shows, store.shown(operation.shows, changed, me)).encode()

    def answer_record(self, operation: Operation, id: int, environ: dict[str, Any]) -> bytes:
        """Show the one record that the path names, also when it is deleted; without a target, the caller."""
        me: Caller = environ["pmservice.caller"]
        with self.database.reading() as store:
            shown = id if operation.target else operation.perform(store, me, None, {})
            rows = store.shown(operation.shows, shown, me, operation.target) if shown <= MAX_INT else []
            if not rows:
                raise NotFound(f"There is no {operation.target} {id}.")
            return self.text(store, operation.shows, rows).encode()

    def answer_list(
        self, asked: Shape, operation: Operation, id: int, environ: dict[str, Any]
    ) -> bytes | Iterator[bytes]:
        """A list: whole if it is short, else piece by piece as it is sent."""
        return in_pieces(self.pieces(asked, operation, id, environ))

    def pieces(self, asked: Shape, operation: Operation, id: int, environ: dict[str, Any]) -> Iterator[bytes]:
        """A list in pieces, from one state of the database."""
        me: Caller = environ["pmservice.caller"]
        with self.database.reading() as store:
            self.target(store, operation, id, me)
            yield from self.listed(store, operation.shows, id, me, read_query(environ, asked, operation.shows.paged))

    @staticmethod
    def target(store: Store, operation: Operation, id: int, me: Caller) -> sqlite3.Row | None:
        """The row that the path names. Raises NotFound, also for what the caller may not see."""
        if operation.admin and not me.admin:
            raise Forbidden("Only an administrator may do this.")
        if not operation.target:
            return None
        if id > MAX_INT or not (row := store.find(operation.target, id, me)):
            raise NotFound(f"There is no {operation.target} {id}.")
        return row

    @staticmethod
    def text(store: Store, view: View, rows: Sequence[sqlite3.Row]) -> str:
        """Records as a view shows them."""
        people = store.people(named) if (named := view.accounts(rows)) else {}
        return ",".join(view.show(rows, Scene(people, store.zone)))

    def listed(self, store: Store, listing: Listing, id: int, me: Caller, query: Mapping[str, Any]) -> Iterator[bytes]:
        """A list, a batch of records at a time: memory does not grow with `limit`."""
        limit = query.get("limit", -1)
        offset = min((query.get("page", 1) - 1) * limit, MAX_INT) if limit > 0 else 0
        total, cursor = store.page(listing, id, me, query, limit, offset)
        page = {"page": query["page"], "total": total, "limit": limit} if "page" in query else {"total": total}
        text = to_json(page)[:-1] + f",{quote(listing.key)}:["
        separator, more = "", True
        while more:
            if rows := cursor.fetchmany(BATCH):
                text += separator + self.text(store, listing.view, rows)
            separator, more = ",", len(rows) == BATCH
            if more:
                yield text.encode()
                text = ""
        yield (text + "]}").encode()

    def render(self, error: bottle.HTTPError) -> str:
        """Bottle's own refusals (unknown path, method not allowed, a failure of its own) as JSON."""
        path = bottle.request.environ["PATH_INFO"]
        known = {row.path for row in OPERATIONS}
        near = hint(re.sub("/[0-9]+", "/<id>", path), known)
        sentences = {
            404: f"There is nothing at {path}{near or '.'}",
            405: f"{bottle.request.method} is not allowed at {path}.",
        }
        if error.status_code == 500 and error.exception:
            log.error("%s %s failed", bottle.request.method, path, exc_info=error.exception)
        bottle.response.content_type = "application/json"
        return to_json({"error": sentences.get(error.status_code, FAILED)})


def printable(text: str) -> str:
    """A text as it can be shown on one line: nothing in it breaks the line or turns the terminal."""
    return text if text.isprintable() else text.encode("unicode_escape").decode()


FAILED = "The service failed; its log says why."
SECRETS = ("password", "token")


def recorded(body: Mapping[str, Any] | None) -> Any:
    """A body for the journal: without its secrets, with nothing that JSON cannot say, and no long one."""
    text = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    if len(text) > MAX_TEXT:
        return f"{len(text)} bytes"
    return json.loads(text, parse_constant=str, object_hook=blanked)


def blanked(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {field: "***" if field.lower() in SECRETS else value for field, value in fields.items()}


def in_pieces(pieces: Iterator[bytes]) -> bytes | Iterator[bytes]:
    """An answer in pieces: whole if it is short; else what is wrong with its first ones can still be refused."""
    first, second = next(pieces), next(pieces, None)
    return first if second is None else chained(first, second, pieces)


def chained(first: bytes, second: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces of a long answer; closed with it, whether or not the client took all."""
    with contextlib.closing(rest):  # type: ignore[type-var]
        yield first
        yield second
        yield from rest


class Refusing:
    """Turns every error inside into its answer: THE place where refusals are rendered."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Refusal):
            raise answered(error.status, error.body()) from None
        if isinstance(error, sqlite3.DatabaseError):
            known = (answer for part, answer in STORAGE_ERRORS.items() if part in str(error))
            status, sentence = next(known, (500, FAILED))
            log.error("database: %s", error, exc_info=status == 500)
            raise answered(status, {"error": sentence}) from None
        if isinstance(error, Exception) and not isinstance(error, bottle.HTTPResponse):
            log.error("%s %s failed", bottle.request.method, bottle.request.path, exc_info=error)
            raise answered(500, {"error": FAILED}) from None


refusing = Refusing()


def answered(status: int, body: Mapping[str, Any]) -> bottle.HTTPResponse:
    return bottle.HTTPResponse(to_json(body).encode("utf-8", "replace"), status, {"Content-Type": "application/json"})


def create_app(
    database: str | os.PathLike[str] = ":memory:",
    *,
    token: str | None = None,
    password: str | None = None,
    load: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    timezone: str = "UTC",
    token_lifetime: float = DAY,
    body_limit: int = MAX_BODY,
    loopback_only: bool = True,
    clock: Callable[[], datetime] = utc_now,
    control: bool | None = None,
) -> Service:
    """The WSGI application on a database, which is made if it is not there. Raises StartError.

    database: a path, or ":memory:".  token: acts as the administrator; made up without one, see `.token`.
    password: of `admin`, who cannot log in without one.  load: a fixture, file or dict, for a database without
    records.  timezone: IANA name.  token_lifetime: seconds after its last use.  body_limit: bytes.
    loopback_only: answer to this machine's own Host names only.  clock: the current time, aware.
    control: whether the routes under /-/ are there; None: for ":memory:" only.
    """
    service = Service(database, token, timezone, token_lifetime, body_limit, loopback_only, clock, control)
    with contextlib.ExitStack() as undo:
        undo.callback(service.close)
        service.furnish(password, load)
        undo.pop_all()
    return service


# --- 13 Demo: a made-up company ---------------------------------------------------------------------
# A shop that delivers what it sells, and half a year of its work, dated around now. A fixture like any other.

# fmt: off
STAFF = {"top": {"admin": "Grace Holm"}, "pm": {"tomas": "Tomas Berg", "aisha": "Aisha Khan"}, "ui": {"emma": "Emma Lee"},
          "po": {"marta": "Marta Nowak", "wei": "Li Wei"}, "qa": {"diego": "Diego Ramos", "hana": "Hana Sato"},
          "dev": {"jonas": "Jonas Weber", "priya": "Priya Nair", "yu": "Chen Yu", "sofia": "Sofia Rossi"}}
DEMO_PROGRAMS = (("Commerce", 0, "tomas"), ("Logistics", 0, "aisha"), ("Last-mile delivery", 2, "aisha"))  # name, parent, PM
DEMO_PROJECTS = (("Sign-on", 1, [9], -1, "closed", "SSO 6 closed"),  # name, program, products, last week, state, executions
    ("Loyalty", 1, [3], 8, "doing", "Club 5 closed/Club 6 doing"), ("App", 3, [6, 7], 9, "doing", "Road 11 closed/Road 12 doing"),
    ("Checkout", 1, [1, 2, 9], 9, "doing", "Cart 7 closed/Cart 8 doing/Cart 9 wait"), ("Figures", 2, [8], 6, "suspended", "Move suspended"),
    ("Depot", 2, [4, 5], 18, "doing", "Plan closed/Build doing/Trial wait"))
DEMO_HOME = {product: (id, project[1]) for id, project in enumerate(DEMO_PROJECTS, 4) for product in project[2]}  # project, program
DEMO_WEEKS = {"closed": (-6, -2), "doing": (-2, 2), "wait": (2, 6), "suspended": (-6, -1)}  # of an execution
DEMO_PRODUCTS = {
    "Web Shop": "Basket/Product search/Order list", "Payments": "Card form/Bank export/Refund screen",
    "Loyalty Club": "Points list/Gift wallet/Referral form", "Warehouse": "Pick list/Packing view/Receiving screen",
    "Stock Ledger": "Reservation table/Reorder form/Supplier list", "Driver App": "Tour overview/Damage report/Delivery receipt",
    "Route Planner": "Tour map/Shift editor/Driver roster", "Reports": "Sales dashboard/Export dialog/Scheduler",
    "Identity": "Login page/Role editor/Password reset"}
DEMO_TIMES = ("on iOS", "on tablets", "abroad", "for guests", "at month end", "for returns", "after midnight", "in dark mode")
DEMO_SPOTS = [(n, it, when) for n, text in enumerate(DEMO_PRODUCTS.values(), 1) for it in text.split("/") for when in DEMO_TIMES]
DEMO_BUGS = {"codeerror": "{} stays empty {}/{} ends in an error page {}/{} shows old data {}", "performance": "{} takes ten seconds to open {}",
        "security": "{} logs personal data", "config": "{} ignores the time zone", "install": "{} is missing after an upgrade",
        "standard": "{} needs a mouse", "automation": "{} breaks a test", "designdefect": "{} hides buttons {}", "others": "{} has no help"}
DEMO_RESOLUTIONS = ["fixed"] * 15 + ["bydesign", "external", "notrepro", "postponed", "willnotfix"]
DEMO_TASKS = {"devel": "Repair the {} {}/Extend the {} {}/Move the {} to the new API", "test": "Test the {} {}", "design": "Draft the new {}",
         "request": "Describe how the {} should behave {}", "study": "Profile the {} {}", "ui": "Rework the layout of the {}",
         "discuss": "Review the {} with its users", "affair": "Plan training on the {}", "misc": "Document the {} {}"}
DEMO_DOERS = {"test": "qa", "request": "po", "ui": "ui", "discuss": "pm", "affair": "pm"}  # of tasks; a developer's otherwise
DEMO_CASES = {"feature": "{} keeps a change {}", "performance": "{} is quick {}", "config": "{} speaks Polish", "unit": "{} has limits",
         "install": "{} survives an upgrade", "security": "{} keeps strangers out", "interface": "{} fits the API", "other": "{} works {}"}
DEMO_STEPS = [{"desc": step, "expect": sign} for step, sign in (
    ("Open it", "It loads within two seconds"), ("Change an entry", "The change is confirmed"), ("Reload", "The change is kept"),
    ("Switch the language", "Every label follows"), ("Log in as somebody else", "The entry is not shown"), ("Walk through with Tab", "The focus is visible"))]
# fmt: on


def demo(now: datetime) -> dict[str, Any]:
    """The company at this moment, the same for the same moment."""
    rng, projects, executions = random.Random(2026), list[dict[str, Any]](), list[dict[str, Any]]()  # noqa: S311
    users = [{"account": one, "realname": name, "role": role} for role in STAFF for one, name in STAFF[role].items()]
    programs = [
        span(now, -60, 60, "doing", pm) | {"name": name, "parent": parent} for name, parent, pm in DEMO_PROGRAMS
    ]
    for id, (name, program, products, last, status, parts) in enumerate(DEMO_PROJECTS, 4):
        (model, type), pm = (
            ("waterfall", "stage") if program == 2 else ("scrum", "sprint"),
            DEMO_PROGRAMS[program - 1][2],
        )
        row = {"id": id, "name": name, "model": model, "parent": program, "products": products}
        projects.append(row | span(now, -28, last, status, pm))
        for name, status in (part.rsplit(" ", 1) for part in parts.split("/")):
            row = {"id": 10 + len(executions), "name": name, "type": type, "project": id, "products": products}
            executions.append(row | span(now, *DEMO_WEEKS[status], status, pm))
    made: list[dict[str, Any]] = [{"name": name, "PO": "marta", "QD": "hana", "RD": "jonas"} for name in DEMO_PRODUCTS]
    shelf = [
        it | {"program": DEMO_HOME[n][1], "acl": "private" if n in (2, 9) else "open"} for n, it in enumerate(made, 1)
    ]
    out = [{"product": n % 9 + 1, "name": f"{shelf[n % 9]['name']} 2.{n // 9}"} for n in range(40)]
    out = [row | {"project": DEMO_HOME[n % 9 + 1][0], "date": at(now, 4 * n - 160)[:10]} for n, row in enumerate(out)]
    cases = [
        row | {"steps": rng.sample(DEMO_STEPS, rng.randint(2, 4)), "stage": rng.choice(CASE_STAGES)}
        for row in titles(rng, DEMO_CASES, 200)
    ]
    fixture = {"users": users, "programs": programs, "projects": projects, "executions": executions, "products": shelf}
    fixture |= {"releases": out, "bugs": bugs(rng, now), "tasks": tasks(rng, now, executions), "testcases": cases}
    return {name: [{"id": id} | row for id, row in enumerate(rows, 1)] for name, rows in fixture.items()}


def at(now: datetime, days: float) -> str:
    return f"{now + timedelta(days):%Y-%m-%dT%H:%M:%SZ}"


def span(now: datetime, first: int, last: int, status: str, pm: str) -> dict[str, Any]:
    """A program, project or execution from the Monday of one week to the Friday before another."""
    begin, end = (at(now, 7 * week - now.weekday() + days) for week, days in ((first, 0), (last, -3)))
    row = {"begin": begin[:10], "end": end[:10], "status": status, "acl": "open", "PM": pm, "openedBy": pm}
    row |= {"openedDate": at(now, 7 * first - 28)} | ({} if status == "wait" else {"realBegan": begin[:10]})
    return row | ({"realEnd": end[:10], "closedBy": pm, "closedDate": end} if status == "closed" else {})


def titles(rng: random.Random, table: dict[str, str], count: int) -> list[dict[str, Any]]:
    kinds = [(type, text) for type, texts in table.items() for text in texts.split("/")]
    found = {text.format(part, when): (type, id) for type, text in kinds for id, part, when in DEMO_SPOTS}
    return [{"title": text, "type": type, "product": id} for text, (type, id) in rng.sample([*found.items()], count)]


def bugs(rng: random.Random, now: datetime) -> list[dict[str, Any]]:
    """300 bugs, the newest last: the later one was found, the less likely it is solved by now."""
    for id, row in enumerate(rows := titles(rng, DEMO_BUGS, 300), 1):
        finder, fixer = (rng.choice(list(STAFF[role])) for role in ("qa", "dev"))
        opened, grade = -150 * (1 - id / 300) ** 2, rng.choice((1, 2, 2, 3, 3, 3, 4))
        closed = (resolved := opened + rng.expovariate(0.2 / grade)) + rng.expovariate(0.2)
        row |= {"project": DEMO_HOME[row["product"]][0], "status": "active", "severity": grade, "pri": grade}
        row |= {"openedBy": finder, "openedDate": at(now, opened), "deadline": at(now, opened + 5 * grade)[:10]}
        row |= {"assignedTo": rng.choice((None, *[fixer] * 4)), "confirmed": id % 2}
        row |= {"activatedCount": 1, "activatedDate": at(now, (opened + min(resolved, 0)) / 2)} if id % 11 == 0 else {}
        if resolved <= 0:
            row |= {"status": "resolved", "resolution": rng.choice(DEMO_RESOLUTIONS), "confirmed": 1}
            row |= {"resolvedBy": fixer, "resolvedDate": at(now, resolved), "assignedTo": finder}
        row |= {"status": "closed", "closedBy": finder, "closedDate": at(now, closed)} if closed <= 0 else {}
    return rows


def tasks(rng: random.Random, now: datetime, executions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """400 tasks as far as they have come by now, with two hours of work a day."""
    for row in (rows := titles(rng, DEMO_TASKS, 400)):
        home = rng.choice([one for one in executions if row["product"] in one["products"]])
        plan, stop = rng.choice((2, 3, 4, 6, 8, 8, 12, 16)), rng.choice(("cancel", "pause", *[""] * 9))
        start = 7 * rng.randrange(*DEMO_WEEKS[home["status"]]) + rng.randrange(3) - now.weekday()
        close = (finish := start + (spent := round(plan * rng.uniform(1.4, 2.8)) / 2) / 2) + rng.expovariate(0.2)
        status = "wait" if start >= 0 else stop or ("doing" if finish > 0 else "done" if close > 0 else "closed")
        done, owner = status in ("done", "closed"), rng.choice(list(STAFF[DEMO_DOERS.get(row["type"], "dev")]))
        used = 0 if status in ("wait", "cancel") else spent if done else max(0.5, round(min(spent - 1, -2 * start)))
        row |= {"name": row.pop("title"), "status": status, "execution": home["id"], "openedDate": home["openedDate"]}
        row |= {"estStarted": at(now, start)[:10], "deadline": at(now, start + rng.randint(1, 2))[:10]}
        row |= {"estimate": plan, "consumed": used, "left": 0 if done else max(0.5, plan - used)}
        row |= {"openedBy": home["PM"], "assignedTo": owner} | ({"realStarted": at(now, start)} if used else {})
        row |= {"finishedBy": owner, "finishedDate": at(now, finish)} if done else {}
        row |= {"closedBy": home["PM"], "closedDate": at(now, close)} if status == "closed" else {}
        row |= {"canceledBy": home["PM"], "canceledDate": at(now, start)} if status == "cancel" else {}
    return [{field: row[field] for field in row if field != "product"} for row in rows]


# --- 14 Server: connections and threads -------------------------------------------------------------
# waitress reads and writes HTTP; who answers when, who is dropped and how it ends is decided here.


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, bound before the database is touched. Raises StartError."""
    if not 0 <= port <= 65535:
        raise StartError(f"--port: {port} is no port; 0 to 65535 are, and 0 picks a free one")
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise StartError(
            f"cannot listen on {host} port {port} ({error}); choose another --host, or --port, where 0 is a free one"
        ) from None


class AnswerTask(WSGITask):  # type: ignore[misc]
    """An answer, after which a server that is stopping closes the connection, and says so."""

    def build_response_header(self) -> bytes:
        if self.channel.server.stopping:
            self.set_close_on_finish()
        return bytes(super().build_response_header())


class RefusalTask(ErrorTask):  # type: ignore[misc]
    """waitress's own refusals (malformed HTTP, too large a body) as JSON."""

    def execute(self) -> None:
        error = self.request.error
        limit = self.channel.adj.max_request_body_size - 1
        words = (
            f"The body must be at most {limit} bytes long." if error.code == 413 else f"{error.reason}: {error.body}."
        )
        body = to_json({"error": words}).encode()
        code, reason = (400, "Bad Request") if error.code == 501 else (error.code, error.reason)  # not our failure
        self.status = f"{code} {reason}"
        self.response_headers.append(("Content-Type", "application/json"))
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)


class Request(HTTPRequestParser):  # type: ignore[misc]
    """A request while it comes in, and since when it does."""

    def __init__(self, adj: Any):
        super().__init__(adj)
        self.began = time.time()

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError:  # of an odd target or length
            raise ParsingError("The request line or a header cannot be read") from None

    def received(self, data: bytes) -> int:
        consumed = int(super().received(data))
        if self.completed:
            self.expect_continue = False  # else waitress waits for a body, and takes the next request for it
        return consumed

    def overdue(self, now: float) -> bool:
        return self.began < now - (BODY_TIME if self.headers_finished else HEADER_TIME)


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection."""

    parser_class, task_class, error_task_class = Request, AnswerTask, RefusalTask

    def busy(self) -> bool:
        """Whether a request is coming in, running, or not answered whole."""
        return bool(self.request or self.answering())

    def answering(self) -> bool:
        return bool(self.requests or self.total_outbufs_len)


class Listener(waitress.server.TcpWSGIServer):  # type: ignore[misc]
    """waitress's server, which drops slow clients and makes room for new ones."""

    channel_class = Channel
    stopping = False
    stalled: Sequence[Channel] = ()  # to be closed before the next look at all connections

    def maintenance(self, now: float) -> None:
        """Drop connections that are idle, that take too long to send a request, or that do not read their answer."""
        super().maintenance(now)
        for channel in self.active_channels.values():
            if channel.request and channel.request.overdue(now):
                channel.will_close = True
        self.stalled = [
            channel
            for channel in self.active_channels.values()
            if channel.total_outbufs_len and channel.last_activity < now - READ_TIME
        ]

    def pull_trigger(self) -> None:
        """What waitress calls when there is something to send or to close."""
        self.task_dispatcher.wake()

    def readable(self) -> bool:
        """Before no more connections can be taken, close some on which nothing runs: first those never used, oldest first."""
        if len(self._map) >= self.adj.connection_limit - 1:
            idle = [channel for channel in self.active_channels.values() if not channel.answering()]
            idle.sort(key=lambda channel: (channel.last_activity > channel.creation_time, channel.last_activity))
            for channel in idle[:50]:
                channel.will_close = True
        return bool(super().readable())


class Server:
    """waitress on a socket, with the settings that measurements asked for, its own threads and a graceful end.

    One thread leads: it receives requests and answers them itself. To hand each request to another thread, as
    waitress does, takes as long as the answer, and threads that share the interpreter do half as much as one.
    While an answer takes long (the disk, a password, a long list, a slow reader), another thread leads, and the
    late one ends with its answer: the pattern Leader/Followers (POSA 2, 2000).
    """

    def __init__(self, service: Service, listener: socket.socket):
        self.service = service
        self.threads = CONTROL_THREADS if service.controls.on else THREADS
        self.waiting: deque[Channel] = deque()  # with requests that nobody has taken up
        self.leader = self.successor()
        self.late: set[threading.Thread] = set()  # who led before, and are still at their answers
        self.begun: float | None = None  # when the leader took up its request; who relieves it clears this
        self.closed = False
        self.lock = threading.RLock()  # of these four; a signal's handler may come while its thread has it
        self.taken_up, self.over = threading.Event(), threading.Event()
        self.ends: float | None = None  # by when a server that was stopped has ended
        self.quiet = self.last = 0.0
        settings = waitress.adjustments.Adjustments(
            sockets=[listener], max_request_body_size=service.body_limit + 1, **WAITRESS
        )
        address = (listener.family, listener.type, listener.proto, listener.getsockname())
        self.waitress = Listener(
            service, {}, _sock=listener, dispatcher=self, adj=settings, sockinfo=address, bind_socket=False
        )
        host, port = listener.getsockname()[:2]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def stop(self, number: int = 0, frame: Any = None) -> None:
        """Stop accepting, finish what runs. As a signal's handler: a second signal ends the process at once."""
        for each in (signal.SIGTERM, signal.SIGINT) if number else ():
            signal.signal(each, signal.SIG_DFL)
        self.quiet = QUIET if number else 0
        self.service.controls.stopping.set()
        self.waitress.stopping = True
        self.wake()

    def wake(self) -> None:
        """Have the leader look at all connections, as it does by itself after each answer."""
        with self.lock:
            if threading.current_thread() is not self.leader and not self.closed:
                self.waitress.trigger.pull_trigger()

    def run(self) -> None:
        """Serve until stopped. This thread answers nobody: it sees to it that there is a leader."""
        try:
            self.leader.start()
            while not self.over.is_set():
                if self.begun is None:
                    self.taken_up.wait(1)  # not for ever: there are systems on which a signal is heard only between
                    self.taken_up.clear()
                self.over.wait(LATE)
                self.relieve()
        finally:
            self.close()
        if not self.waitress.stopping:
            raise RuntimeError("serving failed; the log says why")

    def close(self) -> None:
        """Close all connections. Who is still at an answer gets half a second."""
        for channel in list(self.waitress.active_channels.values()):
            channel.handle_close()  # a thread that waits for its reader wakes
        until = time.monotonic() + 0.5
        for thread in [self.leader, *self.late]:
            if thread.is_alive():
                thread.join(max(0, until - time.monotonic()))
        with self.lock:  # from here on a descriptor may be another's
            self.closed = True
            self.waitress.asyncore.close_all(self.waitress._map)

    def successor(self) -> threading.Thread:
        """A thread that leads once it is started."""
        return threading.Thread(target=self.lead, daemon=True)

    def relieve(self) -> None:
        """Let another thread lead if the leader is late."""
        with self.lock:
            if self.begun is not None and self.begun <= time.monotonic() - LATE and not self.over.is_set():
                late, begun = self.leader, self.begun
                self.late.add(late)
                self.leader, self.begun = self.successor(), None
                try:
                    self.leader.start()
                except RuntimeError:  # the system has no thread to give: tried again
                    self.late.remove(late)
                    self.leader, self.begun = late, begun

    def lead(self) -> None:
        """Receive and answer, until the end or until another thread leads."""
        leading, expectant = True, 0.0
        try:
            while leading and not self.finished():
                for _ in range(len(self.waiting)):  # whoever comes meanwhile comes after those who are there by then
                    if leading and self.may_answer():
                        leading = self.answer(self.waiting.popleft())
                        expectant = time.monotonic() + EXPECTANT
                if leading:
                    at_once = self.may_answer() or time.monotonic() < expectant
                    self.poll(0 if at_once else 0.01 if self.waitress.stopping else 1)
        except Exception:
            log.exception("Serving failed")
        finally:
            if leading:
                self.over.set()
                self.taken_up.set()  # nobody waits for a request any more

    def may_answer(self) -> bool:
        """Whether a request is there, and a thread that could lead if its answer takes long."""
        return bool(self.waiting) and len(self.late) < self.threads

    def add_task(self, channel: Channel) -> None:
        """What waitress calls when a request has come in, maybe before that is done with the channel: answered later."""
        self.waiting.append(channel)

    def answer(self, channel: Channel) -> bool:
        """Answer a request; whether this thread leads afterwards."""
        self.begun = time.monotonic()
        self.taken_up.set()
        try:
            channel.service()
        except BaseException:  # waitress answers what fails in a request; this would be its own failure
            log.exception("A connection failed")
            channel.cancel()
        with self.lock:
            leading = threading.current_thread() is self.leader
            if leading:
                self.begun = None
            else:
                self.late.remove(threading.current_thread())
        if not leading:
            self.wake()  # the leader may take up one more
        return leading

    def finished(self) -> bool:
        """Whether a server that was stopped has answered everybody, or has tried for long enough."""
        if not self.waitress.stopping:
            return False
        now = time.monotonic()
        if self.ends is None:
            for _ in range(128):
                self.waitress.handle_accept()  # whoever has connected already is answered
            self.waitress.asyncore.dispatcher.close(self.waitress)  # the listener: nobody is accepted any more
            self.ends, self.last = now + GRACE, now
        channels = list(self.waitress.active_channels.values())
        if self.late or any(channel.busy() for channel in channels):
            self.last = now
            return now > self.ends
        return not channels or now >= self.last + self.quiet

    def poll(self, seconds: float) -> None:
        """Receive and send what is there; wait for it."""
        for channel in self.waitress.stalled:
            channel.handle_close()
        self.waitress.stalled = ()
        # poll(), because select() dies above 1,024 descriptors
        self.waitress.asyncore.loop(timeout=seconds, use_poll=True, map=self.waitress._map, count=1)


THREADS = 8  # which answer at once, when answers take long
LATE = 0.0015  # seconds after which an answer takes long: to change the leader costs a tenth of that
EXPECTANT = 50e-6  # seconds after an answer in which the next request is looked for without sleep, to wake from which takes as long
WAITRESS: dict[str, Any] = {
    "connection_limit": 900,
    "cleanup_interval": 2,  # seconds between two looks for slow and idle connections
    "ident": None,
}
GRACE = 4.0  # seconds that running requests have to finish
QUIET = 0.05  # seconds without a request after which none is believed to be on its way
HEADER_TIME = 10  # seconds that a client may take to send its headers
BODY_TIME = 60  # and its whole request
READ_TIME = 10  # seconds in which a client must read something of its answer: until then a thread waits for it


class Running(NamedTuple):
    """A service that is being served."""

    url: str
    token: str
    app: Service


@contextlib.contextmanager
def running(database: str | os.PathLike[str] = ":memory:", **settings: Any) -> Iterator[Running]:
    """Serve on a free port of 127.0.0.1, in a thread, while the context lasts; settings as create_app's."""
    with listen("127.0.0.1", 0) as listener, contextlib.closing(create_app(database, **settings)) as service:
        server = Server(service, listener)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield Running(server.url, service.token, service)
        finally:
            server.stop()
            thread.join()


def __getattr__(name: str) -> Any:
    """The pytest plugin, which pytest looks for here: made when it is asked for, so that serving imports no pytest."""
    if name != "pytest_plugin":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import pytest

    class Plugin:
        """Fixtures `pmservice`, a fresh running service, and `pmservice_app`, a fresh WSGI application."""

        def pytest_configure(self, config: Any) -> None:
            config.addinivalue_line("markers", "pmservice(load=…, now=…, …): settings of the pmservice fixtures")

        @pytest.fixture
        def pmservice(self, request: Any) -> Iterator[Running]:
            with running(**marked(request)) as served:
                yield served

        @pytest.fixture
        def pmservice_app(self, request: Any) -> Iterator[Service]:
            with contextlib.closing(create_app(**marked(request))) as service:
                yield service

    return Plugin()


def marked(request: Any) -> dict[str, Any]:
    """The settings in a test's marks, the nearest first; `now` freezes the clock."""
    marks = list(request.node.iter_markers("pmservice"))
    if any(mark.args for mark in marks):
        raise TypeError('name the settings: @pytest.mark.pmservice(load="seed.json", now="2026-01-05T09:00:00Z")')
    settings = {name: value for mark in reversed(marks) for name, value in mark.kwargs.items()}
    if now := settings.pop("now", None):
        moment = now if isinstance(now, datetime) else read_moment(now)
        frozen = moment_at(moment, zone_of(settings.get("timezone", "UTC")))
        settings["clock"] = lambda: frozen
    return settings


# --- 15 Command: settings, the command line ---------------------------------------------------------
# stdout carries what programs read (the base URL, a dump); everything for people goes to stderr.


class Setting(NamedTuple):
    """A setting: flag before environment (PMSERVICE_…) before default."""

    name: str
    convert: Callable[[str], Any]
    default: Any
    help: str


def positive(word: str) -> float:
    """A number above 0, whole if it is written so."""
    number = float(word)
    if not 0 < number < MAX_INT:
        raise ValueError
    return int(number) if number.is_integer() else number


def truth(word: str) -> bool:
    return WORDS_OF_TRUTH[word.lower()]


def sendable(word: str) -> str:
    """What can be sent: not blank, no blanks around it, no control characters."""
    if word != word.strip() or not word.isprintable() or not word:
        raise ValueError
    return word


WORDS_OF_TRUTH = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)
NEEDED = {positive: "number above 0", truth: "yes or no", int: "number", sendable: "text without blanks around it"}


# fmt: off
SETTINGS = (
    Setting("database",       str,   "pm.db",     "file that holds everything, made if absent; :memory: keeps nothing"),
    Setting("host",           str,   "127.0.0.1", "address to listen on; any but a loopback one needs --token or --password"),
    Setting("port",           int,   8080,        "port to listen on; 0 picks a free one"),
    Setting("token",          sendable, None,        "a token that acts as the administrator"),
    Setting("password",       sendable, None,        "the password of admin; made up and printed once if a new database gets none"),
    Setting("load",           str,   None,        "fixture to load if the database holds no records yet"),
    Setting("demo",           truth, False,       "load a made-up company, dated around now, if the database holds no records yet"),
    Setting("timezone",       str,   "UTC",       "zone of datetimes that name none, such as Asia/Shanghai"),
    Setting("token-lifetime", positive, DAY,         "seconds for which a token lives after its last use"),
    Setting("body-limit",     positive, MAX_BODY,    "bytes that a request body may have"),
    Setting("control",        truth, None,        "offer the controls under /-/ for tests; on by itself with :memory:"),
    Setting("verbose",        truth, False,       "write a line for each request to stderr"),
    Setting("log-json",       truth, False,       "the same as JSON, an object a line"),
)
# fmt: on


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; its exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed: print would take the other instead
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    try:
        options = parser().parse_args(arguments)
        settings = resolve(vars(options))
        set_up_log(settings["verbose"], settings["log_json"])
        code = COMMANDS[options.command or "serve"].run(settings, options) or 0
        sys.stdout.flush()
        return int(code)
    except (KeyboardInterrupt, BrokenPipeError, EOFError):
        return 130
    except (StartError, OSError, sqlite3.Error, UnicodeError) as error:
        print(f"pmservice: {printable(str(error))}", file=sys.stderr)
        return 2


class JsonLines(logging.Formatter):
    """A log record as a JSON object on one line; a request's with its fields."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds")
        fields = {"time": moment, "level": record.levelname.lower(), **getattr(record, "call", {})}
        if "method" not in fields:
            fields["message"] = super().format(record)
        return to_json(fields)


class Undrained(logging.StreamHandler):  # type: ignore[type-arg]
    """Lines to stderr. What nobody reads is dropped: a full pipe must not stop the service."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            file = self.stream.fileno()
        except io.UnsupportedOperation:  # no descriptor: a test's stream
            super().emit(record)
            return
        except ValueError:  # it was closed
            return
        line = f"{self.format(record)}\n".encode("utf-8", "backslashreplace")
        with contextlib.suppress(OSError):  # whoever read it is gone
            while line and select.select([], [file], [], 0)[1]:  # then so much can be written
                line = line[os.write(file, line[: select.PIPE_BUF]) :]


def set_up_log(verbose: bool, as_json: bool) -> None:
    """Quiet but for what went wrong; with a line for each request if that is asked for."""
    handler = Undrained()
    handler.setFormatter(JsonLines() if as_json else logging.Formatter("%(message)s"))
    logging.basicConfig(level=logging.INFO if verbose or as_json else logging.WARNING, handlers=[handler], force=True)


def parser() -> argparse.ArgumentParser:
    """The command line: the settings are accepted before and after the command."""
    top = argparse.ArgumentParser(
        "pmservice",
        description="A project-management service with ZenTao's REST API v1. Without a command it serves.",
        epilog="Every setting is also read from the environment: PMSERVICE_DATABASE, PMSERVICE_TOKEN_LIFETIME and so on.",
    )
    add_settings(top)
    top.add_argument("--version", action="version", version=__version__)
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, (_, words, settings, arguments) in COMMANDS.items():
        command = commands.add_parser(name, help=words, description=words)
        add_settings(command, settings)
        for flag, options in arguments.items():
            command.add_argument(flag, **{"default": argparse.SUPPRESS, **options})
    return top


def add_settings(to: argparse.ArgumentParser, names: Iterable[str] = ()) -> None:
    """A flag for each setting, without a default here: what is not given is looked for in the environment."""
    for name, convert, default, words in SETTINGS:
        flag = f"--{name}"
        if names and name not in names:
            continue
        if convert is truth:
            to.add_argument(flag, action="store_const", const="1", default=argparse.SUPPRESS, help=words)
        else:
            shown = "" if default is None else f" (default {default})"
            to.add_argument(flag, metavar=name.split("-")[-1].upper(), default=argparse.SUPPRESS, help=words + shown)


def resolve(given: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting's value. Raises StartError for one that cannot be read."""
    settings = {}
    for name, convert, default, _ in SETTINGS:
        key = name.replace("-", "_")
        text = given.get(key, os.environ.get(f"PMSERVICE_{key.upper()}") or None)
        try:
            settings[key] = default if text is None else convert(text)
        except (KeyError, ValueError):
            raise StartError(f"--{name}: {text!r} is no {NEEDED[convert]}") from None
    return settings


@contextlib.contextmanager
def database_of(settings: Mapping[str, Any], existing: bool = False) -> Iterator[Database]:
    """The database of a command; one that only reads makes none."""
    path = settings["database"]
    if existing and not (os.path.exists(path) and os.path.getsize(path)):
        raise StartError(f"{path}: no database; name it with --database")
    with contextlib.closing(Database(path, zone_of(settings["timezone"]), utc_now)) as database:
        yield database


def command_load(settings: Mapping[str, Any], options: argparse.Namespace) -> None:
    """Load a fixture from a file or stdin."""
    from_stdin = options.file == "-"
    try:
        with (
            contextlib.nullcontext(sys.stdin) if from_stdin else open(options.file, encoding="utf-8") as file,
            database_of(settings) as database,
        ):
            records = load_file(database, file, options.file)
    except OSError as error:
        raise StartError(f"{options.file}: {error.strerror}") from None
    print(f"{records} records loaded into {settings['database']}", file=sys.stderr)


def command_dump(settings: Mapping[str, Any], options: argparse.Namespace) -> None:
    """Write everything to stdout."""
    with database_of(settings, existing=True) as database, database.reading() as store:
        for piece in dump(store):
            sys.stdout.write(piece)


def ask_password(account: str) -> str:
    """A password that a person types. Raises StartError where nobody can."""
    if not sys.stdin.isatty():
        raise StartError("no terminal to ask for the password at; give it as --password PASSWORD")
    return getpass.getpass(f"Password of {account}: ")


def command_user(settings: Mapping[str, Any], options: argparse.Namespace) -> None:
    """Make a user, or change what was given of one that exists."""
    given = {field: getattr(options, field) for field in ("realname", "admin") if hasattr(options, field)}
    if hasattr(options, "new_password"):
        given["password"] = ask_password(options.account) if options.new_password is None else options.new_password
    try:
        values = check(FIXTURE["users"].shape, {"account": options.account, **given})
    except Invalid as error:
        raise StartError(str(error)) from None
    with database_of(settings) as database, database.writing() as store:
        known = store.user(options.account)
        id = save_user(store, Caller(ADMIN, True), values)
    print(f"user {id}, {options.account}, {'changed' if known else 'made'}", file=sys.stderr)


def command_backup(settings: Mapping[str, Any], options: argparse.Namespace) -> None:
    """Copy the database."""
    with database_of(settings, existing=True) as database:
        database.backup(options.out, lambda done, whole: show_progress(f"{100 * done // max(whole, 1)} %"))
    print(f"{settings['database']} copied to {options.out}", file=sys.stderr)


def command_check(settings: Mapping[str, Any], options: argparse.Namespace) -> int:
    """Exit code 1 if anything is wrong."""
    show_progress("checking …")
    with database_of(settings, existing=True) as database, database.reading() as store:
        problems = list(itertools.islice(store.problems(), 100))
    print("\n".join(problems) or f"{settings['database']} is sound: pages, links and counts")
    return 1 if problems else 0


def command_call(settings: Mapping[str, Any], options: argparse.Namespace) -> int:
    """One request without a server, as the administrator; exit code 1 from status 400."""
    body = (sys.stdin.read() if options.body == "-" else options.body).encode()
    path, _, query = options.path.partition("?")
    statuses: list[str] = []
    with contextlib.closing(create_app(settings["database"], timezone=settings["timezone"], control=False)) as service:
        environ = {
            "REQUEST_METHOD": options.method.upper(),
            "PATH_INFO": path.encode().decode("latin-1"),
            "QUERY_STRING": query,
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_TOKEN": service.token,
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
        }
        for piece in service(environ, lambda status, headers, *rest: statuses.append(status)):
            sys.stdout.write(piece.decode())
    print()
    return 1 if int(statuses[0][:3]) >= 400 else 0


def command_serve(settings: dict[str, Any], options: argparse.Namespace) -> None:
    """Serve until told to stop. While a fixture is loaded only /-/live and /-/ready answer."""
    host, loopback = settings["host"], is_loopback(settings["host"])
    if not loopback and not (settings["token"] or settings["password"]):
        raise StartError(f"{host} can be reached from outside: set --token or --password first")
    if settings["load"] and settings["demo"]:
        raise StartError("--load and --demo: only one of them can be loaded")
    names = ("database", "token", "timezone", "token_lifetime", "body_limit", "control")
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listen(host, settings["port"]))
        service = create_app(**{name: settings[name] for name in names}, loopback_only=loopback)
        stack.callback(service.close)
        service.names.add(host)
        server = Server(service, listener)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, server.stop)
        fixture = settings["load"] or (demo(service.database.clock()) if settings["demo"] else None)
        service.controls.loading = bool(fixture)
        failures: list[Exception] = []
        begin = threading.Thread(target=furnish, args=(service, fixture, settings, server, failures))
        begin.start()
        server.run()
        begin.join()
    if failures:
        raise failures[0]


def furnish(
    service: Service, fixture: Any, settings: Mapping[str, Any], server: Server, failures: list[Exception]
) -> None:
    """Load what there is to load and say that the service is ready, or stop it."""
    try:
        service.furnish(settings["password"], fixture)
        print(server.url, flush=True)
        greet(service.database, settings, server.url)
    except Exception as error:
        if not service.controls.stopping.is_set():
            failures.append(error)
        server.stop()


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def greet(database: Database, settings: Mapping[str, Any], url: str) -> None:
    """Tell a person on stderr how to begin: on a new database its password and a token, this once."""
    lines = [f"pmservice {__version__} serves {settings['database']} at {url}; Ctrl-C stops it."]
    with database.glancing() as store:
        unset = administrator(store)["password"] is None
    if unset:
        password = secrets.token_urlsafe(12)
        set_password(database, password)
        lines += [
            "A new database: note these, they are not shown again.",
            f"  account   {ADMIN}",
            f"  password  {password}",
        ]
    if (database.created or unset) and not settings["token"]:
        with database.writing() as store:
            token = give_token(store, ADMIN)
        lines += [f"  token     {token}", "Try it:", f"  curl -H 'Token: {token}' {url}/products"]
    print("\n".join(lines), file=sys.stderr, flush=True)


class Command(NamedTuple):
    """What a word of the command line does, its help, the settings it uses (all if none), its own arguments."""

    run: Callable[[dict[str, Any], argparse.Namespace], int | None]
    help: str
    settings: tuple[str, ...] = ()
    arguments: Mapping[str, Mapping[str, Any]] = {}


# fmt: off
COMMANDS = {
    "serve": Command(command_serve, "serve; what happens without a command"),
    "load":  Command(command_load,  "load a fixture into the database", ("database", "timezone"), {
        "file": dict(metavar="FILE", help="a JSON document; - is stdin")}),
    "dump":  Command(command_dump,  "write the database to stdout as a fixture", ("database",)),
    "backup": Command(command_backup, "copy the database to a new file, also while it is served", ("database",), {
        "out": dict(metavar="OUT", help="the new file")}),
    "check": Command(command_check, "check the file, its links and its counts; exit code 1 if one is wrong", ("database",)),
    "call":  Command(command_call,  "make one request without a server, as the administrator; exit code 1 from status 400",
        ("database", "timezone"), {
        "method":     dict(metavar="METHOD"),
        "path":       dict(metavar="PATH", help="such as /products or '/products/1/bugs?limit=5'"),
        "body":       dict(metavar="BODY", nargs="?", default="", help="a JSON object; - is stdin")}),
    "user":  Command(command_user,  "make or change a user", ("database",), {
        "account":    dict(metavar="ACCOUNT"),
        "--password": dict(dest="new_password", metavar="PASSWORD", nargs="?", const=None, help="set a password; asked for if it is not given here"),
        "--realname": dict(help="set the real name"),
        "--admin":    dict(action="store_true", help="make the user an administrator")}),
}
# fmt: on

if __name__ == "__main__":
    sys.exit(main())
