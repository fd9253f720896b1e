"""Replay exchanges with the real server, and judge whatever this service answers differently.

    .venv/bin/python .ci/recorded.py

`recorded.json.gz` holds exchanges with four versions of it: a selection, long answers shortened.
With each stand the records that were there before it, as a fixture: as many as its answer depends
on. Whatever differs is covered by a row of DECIDED, which quotes the words of the contract that
demand the difference. Exit code 1 when a difference has no row, or a row no difference.
"""

from __future__ import annotations

import contextlib
import fnmatch
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import webtest

import pmservice


class Exchange(NamedTuple):
    """A request to the real server and its answer.

    name: begins with "v16" if 16.x answered.  before: the records that were there, as a fixture.
    caller: who asked: "t", the operator's token; an account that logs in; or "", nobody.
    """

    name: str
    method: str
    path: str
    caller: str
    body: Any
    status: int
    answer: Any
    now: str
    before: dict[str, list[dict[str, Any]]]

    @property
    def version(self) -> str:
        return "16" if self.name.startswith("v16") else "18"

    @property
    def call(self) -> str:
        """The name without the version."""
        return re.sub("^v16[^_]*_", "", self.name)


RECORDED = Path(__file__).with_name("recorded.json.gz")
EXCHANGES = [Exchange(**one) for one in json.loads(gzip.decompress(RECORDED.read_bytes()))]


def replay(exchange) -> tuple[int, Any]:
    """Send a recorded request in the state before it; return the status and the answer."""
    settings = {"token": "t", "timezone": "Asia/Shanghai", "now": exchange.now, "control": False}
    with contextlib.closing(pmservice.create_app(load=exchange.before, **settings)) as service:
        app = webtest.TestApp(service)
        token = exchange.caller
        if token not in ("t", ""):
            login = {"account": token, "password": "secret"}
            token = app.post_json("/tokens", login).json["token"]
        answer = app.request(
            exchange.path,
            method=exchange.method,
            headers={"Token": token, "Content-Type": "application/json"},
            body=b"" if exchange.body is None else json.dumps(exchange.body).encode(),
            expect_errors=True,
        )
    return answer.status_int, answer.json


# --- Differences: in which way two answers differ -------------------------------------------------


class Difference(NamedTuple):
    """A value that was compared: where, in which way it differs ("" for none), and both values."""

    field: str
    way: str
    recorded: Any
    ours: Any


def is_unset(value) -> bool:
    is_no_day = str(value).startswith(("0000-00-00", "1970-01-01", "1969-12-31"))
    return is_no_day or value in (None, "", " ", ",", [], {})


def is_person(value) -> bool:
    return isinstance(value, dict) and value.keys() == {"id", "account", "avatar", "realname"}


def are_objects(values) -> bool:
    return bool(values) and all(isinstance(one, dict) for one in values)


def are_records(values) -> bool:
    """Return whether the values of an array are records, which have ids."""
    return are_objects(values) and all("id" in one and not is_person(one) for one in values)


def meaning(value):
    """Return what a value says: an account, a UTC moment, a number, None for unset."""
    if is_unset(value):
        return None
    if is_person(value):
        return value["account"]
    if isinstance(value, list):
        return [meaning(one) for one in value]
    value = value.strip(",") if isinstance(value, str) else value
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", value):
        return f"{datetime.fromisoformat(value) - timedelta(hours=8):%Y-%m-%dT%H:%M:%SZ}"
    is_number = isinstance(value, (int, float)) or re.fullmatch(r"[0-9]+(\.[0-9]+)?", str(value))
    return float(value) if is_number else value


def split(value):
    """Return the parts of text between commas, and any other value as it is."""
    if isinstance(value, str) and "," in value:
        return [one for one in value.split(",") if one]
    return value


def way_of(recorded, ours) -> str:
    """Return in which way two values differ: in what they say, or only in how they are written."""
    is_blanked = isinstance(ours, str) and re.fullmatch("<[A-Z ]+>", str(recorded))
    if is_blanked or json.dumps(recorded) == json.dumps(ours):
        return ""
    said, says = split(meaning(recorded)), split(meaning(ours))
    if said != says and [said] != says and said != [says]:
        return "value"
    if said is None:
        return "unset"
    if isinstance(said, float):
        return "flag" if isinstance(recorded, bool) or isinstance(ours, bool) else "number"
    return "moment" if str(said).endswith("Z") else "person"


def differences(recorded, ours, field="") -> Iterator[Difference]:
    """Yield what is compared. In the name of a field, "*" stands for an id."""
    pair = (recorded, ours)
    if all(isinstance(one, dict) for one in pair) and not is_person(recorded):
        for key in {**recorded, **ours}:
            name = f"{field}.{'*' if key.isdigit() else key}".strip(".")
            if key in recorded and key in ours:
                yield from differences(recorded[key], ours[key], name)
            else:
                way = "lacks" if key in recorded else "adds"
                yield Difference(name, way, recorded.get(key), ours.get(key))
        return
    are_lists = all(isinstance(one, list) for one in pair)
    if are_lists and are_records(recorded):
        yield from differences_of_records(recorded, ours, field)
    elif are_lists and len(recorded) == len(ours) and are_objects(recorded):
        for was, now in zip(recorded, ours, strict=True):
            yield from differences(was, now, field)
    else:
        yield Difference(field, way_of(recorded, ours), recorded, ours)


def differences_of_records(recorded, ours, field) -> Iterator[Difference]:
    """Yield what is compared of two lists of records: those of one id, and their order."""
    found = {one["id"]: one for one in ours}
    for record in recorded:
        if record["id"] in found:
            yield from differences(record, found[record["id"]], field)
        else:
            yield Difference(field, "lacks", record, None)
    known = [record["id"] for record in recorded]
    order = [id for id in found if id in known]
    is_same = order == [id for id in known if id in found]
    yield Difference(field, "" if is_same else "order", known, order)


def refused(exchange, ours) -> Iterator[Difference]:
    """Yield what is compared of two refusals: the sentence and the fields that the first names."""
    error = exchange.answer["error"]
    yield Difference("error", "" if error == ours["error"] else "words", error, ours["error"])
    reasons = error.get("message", error) if isinstance(error, dict) else ()
    missing = re.findall(r"\.missing-(\w+)$", exchange.name)
    for field in [*reasons, *missing] if isinstance(reasons, (dict, tuple)) else missing:
        known = ours.get("fields", ())
        yield Difference(f"fields.{field}", "" if field in known else "lacks", field, known)


def compared(exchange, status, answer) -> list[Difference]:
    """Return what is compared of an answer: all of it, or the status alone if that differs."""
    pair, recorded = f"{exchange.status}-{status}", exchange.answer
    first = Difference(pair, "" if exchange.status == status else "status", exchange.status, status)
    if first.way and not 200 <= exchange.status <= status <= 201:
        return [first]
    if status >= 400:
        return [first, *refused(exchange, answer)]
    if isinstance(recorded, dict) and isinstance(recorded.get("message"), dict):
        missing = Difference("message", "lacks", "a record", None)
        return [first, missing, *differences(recorded["message"], answer)]
    return [first, *differences(recorded, answer)]


# --- Decided: why an answer may differ ------------------------------------------------------------
# In which way a value can differ: its meaning (value), or only how the same is written: another way
# to say "none" (unset), a person, a moment, a flag, a number. The answer lacks or adds a field or a
# record, or has another order. A reason that begins with "here:" is our own, where the contract has
# no word on it.

# fmt: off
ONLY_OURS = (
    "Of the spec's records only the spec's fields are sent, all of them, in every answer that shows "
    "the record."
)
NOT_18 = "18.10 adds and renames fields, and its additions are not ours."
V165 = "Where two versions differ, 16.5 (V165) is ours"
DEFECT = "unless its answer is plainly a defect"
V165_FIELDS = "The fields of V165 in its order"
LOOKS = (
    "persons as references, moments ISO or null, days plain or null, `deleted` boolean, ids of other "
    "records as ints"
)
ELSEWHERE = (
    "| elsewhere | reference | null | ISO | null | boolean | everything beyond the fourteen, single "
    "bugs included: there `status` is text"
)
RAW = "The reference's raw forms (accounts as text here, local times there) are not copied"
KEPT_RECORD = (
    "Programs, projects and executions keep the spec's record in every answer, `0000-00-00` included"
)
LEFT_OUT = "`preAndNext` is left out"
LOGGED = "`GET` of a bug, a task, a story (not of the fourteen) ends with `actions`, oldest first"
IN_FULL = (
    "after it, `GET /executions/:id` has `products` (`[{id, name, plans: [{id, title}]}]`), "
    "`totalEstimate`, `totalConsumed`, `totalLeft`, `progress`, and `GET /projects/:id` `products`"
)
STARTED = "a task that was never started was really started on the effort's day"
CREATED = "201 where something is created (operations 2, 4, 6, 8, 10, tokens), else 200."
CREATIONS = "**Creations 201**, the rest 200, the record itself"
ABSENT = "404 for what is not there or not visible"
NEVER_200 = "never 200 with an unchanged record, an empty body, or another record"
SAME_NAMES = "Duplicate names are allowed (the reference refuses some; the spec does not), but of builds."
VERSIONED = "`createdVersion`, where the reference shows its own version, is this service's."
EVERYTHING = "Where the reference needs `?product=` and none is given: everything visible."
OP_3 = 'unset `deadline` `1970-01-01`; `status` is `{"code","name"}`'
OP_8 = "`whitelist` is text: `,dev1,qa1,`, empty `,`; unset real dates `0000-00-00`"
OP_11 = "| 11 modify task | reference | null | ISO | null | boolean | `cases` |"
WHITELIST_EMPTIED = "`whitelist` is emptied when `acl` is `open`"
NO_SUCH_LINK = "Links of the new resources must exist and be visible"
TRANSITIONS = "`PUT` with `resolution`, `closedBy`, `status` (which clients send): the transitions, or 400"
UNCHANGED_IS_400 = "what the reference refuses by answering the unchanged record is 400 here"
SMALL_ONES = (
    "`groups` (one: administrators), `options/bug` (in the service's language; `severity` an object, "
    "`pri` an array, as in 16.5;"
)
BELOW_PROGRAMS = (
    "`POST /programs/:id/products`, `/programs/:id/projects`: as `POST /products`, `/projects` with "
    "that program, 201"
)
BRIEF_STORIES = "a story lacks `spec`, `tasks`, `executions`, `children`"
PLAIN_CASES = '| 4 create case | plain account | `""` | ISO | null | boolean |'
PRODUCT_CALLS = "01_* 02_* 47_puts.product* 54_*product*"
RELEASE_CALLS = "09_* 23_* 43_*"
CASE_CALLS = "04_* 05_* 47_*testcase* 54_*case-* 55_*testcases 62_*.testcases-*"
HOME_CALLS = "06_* 07_* 08_* 20_* 47_puts.pro[gj]* 47_puts.exec* 48_* 54_*.execution 62_*.program-projects-*"
BUG_CALLS = "03_* 21_* 41_* 49_* 5[01]_* 54_*bug*"
TASK_CALLS = "1[0-5]_* 5[234]_*task* 52_*"
PLAN_CALLS = "41_*"
OTHER_CALLS = "22_* 41_* 42_* 44_*"
DECIDED = [
    # version, calls, in which way, fields, the words of the contract that demand it
    # statuses and refusals
    ("*",  "00_*.wrong-password-[56]", "words", "error", "no lock-out, which would let any page lock the owner out"),
    ("*",  "*",                   "words",        "error",              '`{"error": "<one sentence for a person>"}`'),
    ("18", "47_*.project-end-before-begin", "lacks", "fields.days", "400 with every broken field"),
    ("16", "0[24]_* 54_*case-create*", "status", "200-201",             CREATED),
    ("16", "40_*.create.* 41_*.create.* 49_bug_post.*", "status", "200-201",  CREATIONS),
    ("16", "62_*.program-*",      "status value", "200-201  parent path grade",  BELOW_PROGRAMS),
    ("18", "62_*.testcases-post*", "status", "200-201", CREATIONS),
    ("18", "53_task_batch.ok",    "status",       "200-201",            '201 `{"task": {id: record}}`, all or none'),
    ("18", "60_*.post.ok",        "status value", "200-201 ", "201 with the result"),
    ("18", "23_create_release.full", "status", "500-201", CREATIONS),
    ("18", "55_*.tokens-get",     "status",       "500-200",
     '`GET /tokens` answers 200 `{"message": …}` that says to POST'),
    ("*",  "2[01]_*.unknown-pro* *-unknown *.unknown", "status", "20[01]-404 400-404",  ABSENT),
    ("18", "40_*.estimate.get 50_*.estimate-get 55_*-nosuch", "status", "400-404",  ABSENT),
    ("18", "48_*.execution-tasks-after", "status", "200-404", ABSENT),
    ("*",  "55_*.langs* 55_*.tabs* 55_*-issues 55_*.stakeholders 55_*.repos 56_* 57_* 58_* 59_*", "status",
     "20[01]-404 400-404",
     "Not ours: feedbacks and tickets (the open edition has none), todos, test suites, documents, files, langs, "
     "tabs, reports, issues, risks, meetings, repositories, CI."),
    ("*",  "23_*.duplicate-name 40_*.duplicate-* 47_*-duplicate-name", "status", "400-20[01]",  SAME_NAMES),
    ("18", "40_*.close.duplicate-without-id 40_*.put.draft-no-reviewer 41_*.put.partial", "status", "400-200",  V165),
    ("18", "40_*-no-product 41_*.list.*-no-product 42_*-no-project 49_*.bugs-no-product", "status", "400-200",
     EVERYTHING),
    ("16", "62_*-no-product",     "status",       "400-200",            EVERYTHING),
    ("18", "41_*.create.*-no-product", "status", "400-201",             "Refusals are ours"),
    ("*",  "40_*.list.project* 40_*.list.execution*", "value", "stories.order",
     "here: a link has no order; the story's id stands for it"),
    ("18", "40_*.review-reject-from-active", "status", "200-400", "review (draft or changed;"),
    ("18", "46_*.delete.self",    "status",       "200-400",            "nobody can delete themselves"),
    ("*",  "47_*.program-several", "status", "200-400", "An int field takes an int or its text"),
    ("18", "49_*-status-nosuch",  "status",       "200-400",
     "A value that is not of these forms: 400 that names what is allowed"),
    ("18", "51_*.status-resolved", "status", "200-400", TRANSITIONS),
    ("18", "47_*.testcase-empty-title 51_*.empty-title 52_*.future-date 52_*.empty-object", "status", "200-400",
     NEVER_200),
    ("16", "53_*",                "status",       "200-400",            UNCHANGED_IS_400),
    # products, users
    ("18", PRODUCT_CALLS,         "lacks",
     "shadow feedback ticket PMT *Stories unresolvedBugs totalBugs closedDate vision programPM",
     NOT_18),
    ("16", PRODUCT_CALLS,         "lacks",        "feedback vision",    ONLY_OURS),
    ("*",  PRODUCT_CALLS,         "lacks",        "builds cases projects executions docs caseReview",  ONLY_OURS),
    ("*",  PRODUCT_CALLS,         "adds",
     "lineName programName stories requirements plans releases bugs unResolved closedBugs fixedBugs thisWeekBugs "
     "assignToNull progress",
     ONLY_OURS),
    ("*",  "02_*",                "adds",         "total products",
     "the record's fields at the top level **and** `total` 1 and `products` with that one full record"),
    ("*",  PRODUCT_CALLS,         "value",        "createdVersion",     VERSIONED),
    ("18", "01_*",                "value",        "products.program",   "`program` 0 or one that exists"),
    ("*",  PRODUCT_CALLS,         "value",        "progress",
     "`progress` 100 × closed / all stories of both types, rounded to an int"),
    ("18", "54_*.products-counters", "lacks", "page limit",
     "1 and 9 answer everything with `total` unless `page` or `limit` is asked for"),
    ("18", "54_*.product-get-counters", "lacks adds", "stories.changing stories.reviewing stories.changed",  V165),
    ("*",  "47_*.product-get-after 54_*.products-*", "value", "whitelist",  WHITELIST_EMPTIED),
    ("*",  "47_*.product-* 54_*.product-get-*", "person flag", "PO QD RD createdBy whitelist deleted",  ELSEWHERE),
    ("18", "00_users.list 46_*",  "lacks",        "group users.group.*",  NOT_18),
    ("18", "00_user.me",          "lacks",        "profile.view.account",  NOT_18),
    ("16", "46_users.list.*",     "adds",         "users.group",
     "here: one record of a user for both versions"),
    ("*",  "46_*",                "adds",         "admin resetToken superReviewer view",
     "here: one record of a user for both versions"),
    ("*",  "46_*",                "value",        "visions",            "here: everybody has both visions"),
    ("*",  "46_*",                "unset",        "birthday join locked last",  ELSEWHERE),
    ("18", "45_*.get.ok 45_*.put.*", "adds", "managerName", "`manager` an account beside `managerName`"),
    # programs, projects and executions
    ("16", HOME_CALLS,            "lacks",
     "vision fluidBoard displayCards suspendedDate total* progress teamMembers products caseReview",
     KEPT_RECORD),
    ("18", HOME_CALLS,            "lacks",
     "vision fluidBoard displayCards suspendedDate category charter closedReason colWidth minColWidth maxColWidth "
     "consumed delay division estimate firstEnd hasProduct left market multiple progress total* teamCount "
     "caseReview",
     KEPT_RECORD),
    ("*",  HOME_CALLS,            "unset",        "realBegan realEnd",  KEPT_RECORD),
    ("16", "0[68]_*",             "value",        "parent path grade",
     "`parent` (text or int) must exist. `path`, `grade` follow the parent's."),
    ("*",  "48_*-list-after",     "adds",         "executions.*",       KEPT_RECORD),
    ("16", "08_* 62_*.program-projects-*", "person unset flag", "*By *Date PM whitelist deleted",  OP_8),
    ("*",  "06_* 07_* 47_* 48_*", "unset person", "lastEditedBy PO QD RD",  ELSEWHERE),
    ("16", "06_*.put-parent",     "value",        "lastEdited*",        DEFECT),
    ("18", "47_*.program-parent", "value",        "budget",             "An int field takes an int or its text"),
    ("18", "20_*",                "value",        "openedVersion",      VERSIONED),
    ("18", "20_*",                "value",        "days",               KEPT_RECORD),
    ("18", "48_*.project-get-after", "adds",      "products",           IN_FULL),
    # The tasks of the recorded one were made by other calls than these.
    ("16", "54_*.execution",      "value",        "total* progress",    IN_FULL),
    ("18", "55_*-projects", "person adds lacks", "projects.*",          KEPT_RECORD),
    ("18", "55_*-projects",       "adds",         "page limit",         "**Lists** page as 3 does"),
    ("*",  f"{BUG_CALLS} {TASK_CALLS} 40_*", "lacks", "actions",            LOGGED),
    # bugs
    ("*",  BUG_CALLS,             "lacks",
     "injection identify feedback issueKey mr priOrder severityOrder statusName productName productStatus "
     "moduleTitle executionName projectName planTitle planName storyTitle storyStatus latestStoryVersion taskName "
     "linkMRTitles toCases files delay",
     ONLY_OURS),
    ("*",  BUG_CALLS,             "lacks",        "preAndNext",         LEFT_OUT),
    ("*",  BUG_CALLS,             "adds",         "needconfirm",        ONLY_OURS),
    ("*",  "03_*",                "unset",        "bugs.*Date bugs.deadline",
     "| 3 list bugs | reference | null | ISO | `1969-12-31T16:00:00Z` | boolean |"),
    ("*",  "03_*",                "value",        "bugs.status bugs.status.*",  OP_3),
    ("*",  BUG_CALLS,             "unset value",  "mailto",             ONLY_OURS),
    ("18", "21_create_bug.*",     "value",        "linkBug",            ONLY_OURS),
    ("18", "21_resolve_bug 51_*.get-after", "value", "product", ABSENT),
    ("*",  "21_* 49_* 5[01]_*", "unset person moment", "*By *To *Date deadline",  ELSEWHERE),
    ("*",  "49_*",                "value",        "bugs.status",        ELSEWHERE),
    ("*",  "49_*.project-page2 49_*.execution-page2", "lacks", "bugs",
     "default newest id first for bugs and releases"),
    ("18", "50_*.from-closed",    "value",        "assignedTo",         V165),
    ("16", "51_*.several",        "value",        "os deadline",        DEFECT),
    # test cases
    ("16", "04_* 54_*case-create*", "person unset", "*By", PLAIN_CASES),
    ("18", "62_*.testcases-post*", "person unset", "*By", PLAIN_CASES),
    ("16", "04_*",                "value",        "keywords",           "All request fields are kept."),
    ("16", "54_*case-create*",    "value",        "project execution",  "here: they do not follow the story"),
    ("16", "55_*-testcases 62_*-get", "lacks", "case count bugs results caseFails stepNumber statusName storyDeleted",
     ONLY_OURS),
    ("16", "55_*-testcases 62_*-get", "adds", "steps toBugs files currentVersion",  ONLY_OURS),
    ("16", "55_*.project-testcases", "unset person flag", "cases.*", ELSEWHERE),
    ("16", "55_*.project-testcases", "value", "cases.project", "`PUT`; lists of projects and executions"),
    ("*",  CASE_CALLS,            "lacks",
     "needconfirm script scene sort storyTitle storyStatus latestStoryVersion",
     ONLY_OURS),
    ("18", "47_*.testcase-without-steps", "value lacks", "version currentVersion steps",  V165),
    # releases
    ("18", RELEASE_CALLS,         "lacks",
     "shadow branchName branches buildInfos builds createdBy createdDate productType",
     NOT_18),
    ("16", RELEASE_CALLS,         "lacks",        "execution executionName filePath scmPath productType",  ONLY_OURS),
    ("*",  RELEASE_CALLS,         "lacks",        "files",              ONLY_OURS),
    ("*",  RELEASE_CALLS,         "adds",         "buildID buildName projectName",  ONLY_OURS),
    ("*",  RELEASE_CALLS, "number flag unset person", "project branch build deleted mailto notify",  ONLY_OURS),
    ("*",  "43_*.create.*",       "value",        "marker",             DEFECT),
    ("18", "43_*.list.*",         "lacks",        "page limit",
     "builds and releases come whole unless `page` or `limit` is asked for"),
    ("16", "43_*.put.ok",         "lacks",        "message",
     "the record itself (also `PUT /releases/:id`)"),
    # tasks
    ("*",  TASK_CALLS,            "lacks",
     "delay storySpec storyVerify storyFiles executionName executionStatus moduleTitle linkedBranch",
     ONLY_OURS),
    ("*",  TASK_CALLS,            "lacks",        "preAndNext",         LEFT_OUT),
    ("*",  TASK_CALLS,            "adds",
     "mode fromIssue order team storyID storyTitle latestStoryVersion storyStatus assignedToRealName children "
     "members files needConfirm progress",
     ONLY_OURS),
    ("*",  "1[01]_* 53_* 54_*",   "adds lacks",   "cases",              OP_11),
    ("18", TASK_CALLS,            "value unset",
     "designVersion mailto storyID storyTitle latestStoryVersion storyStatus",
     ONLY_OURS),
    ("18", "14_*.from-done",      "value",        "finished*",
     "Both clear the finish, close and cancel fields."),
    ("18", "15_* 53_*", "unset person moment flag", "*By *Date *To realStarted estStarted deadline deleted",
     ELSEWHERE),
    ("18", "15_close_*",          "value",        "assigned*",
     "the assignee stays; `closedReason` as in close"),
    ("18", "15_*.team",           "value lacks",  "mode members team",  "for several accounts one task each is made"),
    ("18", "15_*.team",           "value",        "progress",           "rounded half up to an int"),
    ("18", "15_*.from-done-no-left 15_*.empty-body-*", "value", "status finished* activatedDate lastEdited*",
     NEVER_200),
    ("16", "52_*.ok-one 52_*.from-done", "value", "realStarted finished*",  "effects as V18's"),
    ("*",  "52_*.ok-one 52_*.from-closed", "value", "realStarted",      STARTED),
    ("16", "53_*",                "value",        "realStarted",        "`realStarted` is never wiped"),
    ("16", "53_*-to-cancel",      "value",        "assigned*",          "the assignee stays"),
    ("18", "53_task_batch.ok",    "value",        "task.*.assigned*",   DEFECT),
    ("18", "52_*.get.*",          "lacks adds",   "effort.*",           V165),
    ("18", "52_*.get.*",          "order unset",  "effort",             V165),
    # stories
    ("*",  "40_*", "unset person moment flag", "*By *Date *To mailto deleted executions requirements *planTitle",
     LOOKS),
    ("18", "40_* 41_*",           "lacks",
     "changedBy changedDate releasedDate linkRequirements twins BSA duration demand submitedBy roadmap priOrder "
     "multiple files",
     NOT_18),
    ("*",  "40_*",                "lacks",        "preAndNext",         LEFT_OUT),
    ("*",  "40_*",                "adds",
     "parentName extraStories reviewer notReview parentPri planTitle productName productStatus moduleTitle bugs "
     "cases requirements files",
     V165_FIELDS),
    ("18", "40_*.create.*",       "value",        "status",
     "New: active, or draft when it has `reviewer`s."),
    ("16", "40_*.create.ok-no-reviewer", "value", "assigned*", DEFECT),
    ("16", "40_*.list.project-page2", "value", "stories.stage", "projected by an execution"),
    ("*",  "40_*.list.*",         "lacks",        "stories.children",   BRIEF_STORIES),
    ("16", "40_*.list.product",   "value",        "stories.reviewer stories.notReview",
     "here: reviewers stand in the order of accounts"),
    ("18", "40_*-limit-0",        "value",        "limit",
     "an empty one (`page=`), `page=0` and `limit=0` are not given"),
    ("18", "40_*-limit-0",        "value",        "stories.linkStories",  V165),
    ("18", "40_*.list.*",         "value",        "stories.status",     "draft, active, changed, closed."),
    ("*",  "40_*.put.several",    "value",        "stage title",
     "PUT takes the counted fields, `title` (into the present version), not `product`, `stage`, `spec`, `verify`"),
    ("*",  "40_*.close.*",        "value",        "assigned*",
     "close from any but closed; the assignee stays"),
    ("18", "40_*.active.ok",      "value",        "status stage stages closed*",
     "from closed, changed or draft, the body's `status` ignored; closed fields emptied"),
    ("18", "40_*.duplicate-ok",   "lacks",        "extraStories.*",     "here: a duplicate is no further story"),
    ("18", "40_*.pass-by-last",   "value",        "reviewedBy",         LOOKS),
    # plans, builds, test tasks
    ("*",  OTHER_CALLS, "unset person moment flag number", "*", LOOKS),
    ("18", OTHER_CALLS,           "lacks",
     "finishedDate closedDate createdBy createdDate projects projectName builds artifactRepoID allBugs allStories "
     "members multiple",
     NOT_18),
    ("18", "41_*.list.ok",        "lacks",        "plans.children",     V165_FIELDS),
    ("18", "41_*.list.*",         "adds",         "plans.project plans.projectID",  V165_FIELDS),
    ("18", PLAN_CALLS,            "value",        "order",              V165),
    ("18", "41_*.title-only",     "value",        "begin",
     "`begin` default today, or `end` if that is earlier"),
    ("18", "41_*.list.ok",        "value",        "plans.title",
     "`title` required (the reference takes `{}`)"),
    ("*",  PLAN_CALLS,            "lacks adds",
     "stories.story stories.order stories.planTitle stories.productStatus stories.parentName",
     RAW),
    ("*",  PLAN_CALLS,            "value",        "stories.reviewedBy", LOOKS),
    ("*",  "42_*.list.*",         "value order",  "builds builds.product builds.productName builds.branchName",
     NO_SUCH_LINK),
    ("18", "44_*.create.*",       "adds",         "testcases",
     "`testcases` as ids in POST and PUT, as records in GET"),
    ("18", "44_*.get.*",          "lacks",        "testcases",          V165),
    ("16", "44_*.get.*",          "value",        "testcases.assignedTo",
     "`testcases` as ids in POST and PUT, as records in GET"),
    ("16", "44_*.get.*",          "adds",
     "testcases.steps testcases.toBugs testcases.files testcases.currentVersion",
     ONLY_OURS),
    ("18", "44_*",                "value",        "executionName",      V165),
    ("*",  "44_*.list.*",         "value",        "testtasks.branch",   LOOKS),
    # results, small ones
    ("18", "60_*.list",           "lacks",        "ZTFResult node nodeName results.stepResults.files",  NOT_18),
    ("18", "60_*.list", "person moment", "results.lastRunner results.date",  LOOKS),
    ("18", "60_*.list",           "adds",         "results.testtask",   "here: what a result was sent for is shown"),
    ("18", "55_*.options-bug",    "value",        "options.severity",   SMALL_ONES),
    ("18", "55_*.configuration*", "value",        "value",
     "`configurations` (with a token; version 16.5)"),
    ("18", "55_*.groups", "value lacks adds", " desc privs.* accounts.*",  SMALL_ONES),
]
# fmt: on


@cache
def matcher(patterns: str) -> re.Pattern[str]:
    """Return an expression for shell patterns with spaces between them."""
    expressions = map(fnmatch.translate, patterns.split(" "))
    return re.compile("|".join(expressions))


def is_one_of(text, patterns) -> bool:
    return matcher(patterns).match(text) is not None


def decision_on(exchange, difference):
    """Return the first row of DECIDED that covers a difference; None if there is none."""
    for row in DECIDED:
        version, calls, ways, fields, _ = row
        if version not in ("*", exchange.version) or difference.way not in ways.split(" "):
            continue
        last_name = difference.field.rpartition(".")[2]
        named = is_one_of(difference.field, fields) or is_one_of(last_name, fields)
        if named and is_one_of(exchange.call, calls):
            return row
    return None


def main() -> int:
    """Replay every exchange, print what was found, and return the exit code."""
    counts, needed, problems = Counter(), set(), []
    for exchange in EXCHANGES:
        verdict = "equal"
        for difference in compared(exchange, *replay(exchange)):
            if not difference.way:
                continue
            row = decision_on(exchange, difference)
            needed.add(row)
            if row is None:
                verdict = "undecided"
                problems.append(f"undecided: {exchange.name} {difference}")
            elif verdict == "equal":
                verdict = "decided"
        counts[verdict] += 1
    problems += [f"not needed: {row}" for row in DECIDED if row not in needed]
    for problem in problems:
        print(problem)
    print(f"all {len(EXCHANGES)} exchanges: {dict(counts)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
