"""Replay exchanges with the real server, and judge whatever this service answers differently.

    .venv/bin/python .ci/recorded.py

`recorded.json.gz` holds exchanges with four versions of it: a selection, long answers shortened,
some states prepared by SQL. Each one is replayed on a state that is made of the exchange itself:
the records that its path, query, body and answer name, as they were before the request. Whatever
differs is covered by a row of DECIDED, which quotes the words of the contract that demand the
difference. Exit code 1 when a difference has no row, or a row no difference.
"""

from __future__ import annotations

import contextlib
import fnmatch
import gzip
import json
import re
import sys
import urllib.parse
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import webtest

import pmservice


class Exchange(NamedTuple):
    """A request to the real server and its answer. The name begins with "v16" if 16.x answered."""

    name: str
    method: str
    path: str
    body: Any
    status: int
    answer: Any

    @property
    def version(self) -> str:
        return "16" if self.name.startswith("v16") else "18"

    @property
    def call(self) -> str:
        """The name without the version."""
        return re.sub("^v16[^_]*_", "", self.name)

    @property
    def file(self) -> str:
        """The part of the name that exchanges with the same operations share."""
        return self.call.partition(".")[0]

    @property
    def is_early(self) -> bool:
        """True if it was recorded while the first users were there."""
        return self.call < "4"


RECORDED = Path(__file__).with_name("recorded.json.gz")
EXCHANGES = [Exchange(*one) for one in json.loads(gzip.decompress(RECORDED.read_bytes()))]
# fmt: off
LINKS = {"dept": "departments", "program": "programs", "project": "projects", "execution": "executions", "product": "products",
         "story": "stories", "plan": "plans", "build": "builds", "task": "tasks", "case": "testcases", "testtask": "testtasks",
         "products": "products", "executions": "executions", "stories": "stories", "bugs": "bugs", "testcases": "testcases", "duplicateStory": "stories"}
PARENTS = {"programs": "programs", "projects": "programs", "executions": "projects", "stories": "stories", "plans": "plans",
           "departments": "departments"}
ARRAYS = {**{array: array for array in (*LINKS.values(), "releases", "efforts", "results", "users")}, "productplans": "plans", "cases": "testcases",
          "effort": "efforts", "estimate": "efforts", "buildInfos": "builds", "profile": "users", "requirements": "stories"}
NEEDED = {"executions": "project", "builds": "execution project product", "testtasks": "execution project product", "tasks": "execution",
          "results": "case", "efforts": "task", **dict.fromkeys(("stories", "plans", "releases", "bugs", "testcases"), "product")}
FIRST_USERS = {"admin": (1, "admin"), "pm1": (2, "Pam Manager"), "po1": (3, "Olga Owner"), "dev1": (4, "Dan Dev"), "dev2": (5, "Dora Dev"),
               "qa1": (6, "Quin Test"), "qd1": (7, "Qadir Lead"), "rd1": (8, "Rod Release")}
LATER_USERS = {"admin": (1, "admin"), "dev1": (2, "Dan Dev"), "dev2": (3, "Dora Dev"), "qa1": (4, "Quinn QA"), "pm1": (5, "Pat PM"), "po1": (6, "Olga PO")}
JOINED = re.compile("(product|project|execution|program|story|build|plan|parent)(Name|Title|Status|Type|PM)")
SET_NOW = re.compile(r'"(?:opened|created|lastEdited|assigned|closed|canceled)Date": "(2[-0-9]*)(.)([:0-9]*)')
# fmt: on


def ids_in(value) -> list[int]:
    """Return the ids in a field: an int, text, ids between commas, an array. 9999 is nobody's."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list):
        value = [value]
    return [int(one) for one in value if re.fullmatch("[1-9][0-9]*", str(one)) and int(one) != 9999]


def records_in(value) -> list[dict[str, Any]]:
    """Return the records of an array, or of an object that holds them, or only their titles."""
    if isinstance(value, dict) and "id" not in value:
        titled = {id: one if isinstance(one, dict) else {"title": one} for id, one in value.items()}
        return [{**one, "id": id} for id, one in titled.items() if ids_in(id)]
    if not isinstance(value, list):
        value = [value]
    return [one for one in value if isinstance(one, dict) and "id" in one]


def is_unset(value) -> bool:
    is_no_day = str(value).startswith(("0000-00-00", "1970-01-01", "1969-12-31"))
    return is_no_day or value in (None, "", " ", ",", [], {})


def is_person(value) -> bool:
    return isinstance(value, dict) and value.keys() == {"id", "account", "avatar", "realname"}


def persons_in(value) -> list[dict[str, Any]]:
    """Return the user references in an answer."""
    if is_person(value):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    found = []
    for inner in value if isinstance(value, list) else ():
        found += persons_in(inner)
    return found


class State:
    """The records before a recorded request, by array and id."""

    def __init__(self, exchange):
        path, _, query = exchange.path.removeprefix("/api.php/v1/").partition("?")
        self.exchange, self.words = exchange, [*path.split("/"), "", ""]
        self.body = exchange.body if isinstance(exchange.body, dict) else {}
        self.records = {array: {} for array in pmservice.FIXTURE}
        self.home, self.named = ARRAYS.get(self.words[0], ""), ids_in(self.words[1])
        lists = self.words[2] in ARRAYS and (self.words[2], exchange.method) != ("estimate", "POST")
        self.array = ARRAYS[self.words[2]] if lists else self.home
        queries = urllib.parse.parse_qsl(query)
        self.owner = {field: int(value) for field, value in queries if field in LINKS}
        if self.named and (lists or self.words[2] == "batchCreate"):
            links = [link for link, array in LINKS.items() if array == self.home and link != array]
            self.owner |= dict.fromkeys(links, self.named[-1])
        if self.array == "stories" and "project" in self.owner:
            self.owner = {"execution": 3, **self.owner}
        for array, record in self.answered():
            self.add(array, record, **self.owner)
        self.add_people(FIRST_USERS if exchange.is_early else LATER_USERS)
        if self.home:
            for id in self.named:
                self.add(self.home, {"id": id})
            self.link(self.array, {**self.owner, **self.body})
            self.fill_pages()
            self.go_back()
        self.add_counted()

    def add_people(self, users):
        """Add the users that the answer shows, and the others of the recording."""
        for person in persons_in(self.exchange.answer):
            self.add("users", person)
        known = {user.get("account") for user in self.records["users"].values()}
        answer = self.exchange.answer if isinstance(self.exchange.answer, dict) else {}
        names = {str(answer.get("assignedTo")): answer.get("assignedToRealName")}
        for account, (id, realname) in users.items():
            if account not in known:
                realname = names.get(account) or realname
                self.add("users", dict(id=id, account=account, realname=realname))

    def answered(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the records of the answer, each with its array."""
        answer = self.exchange.answer
        if isinstance(answer, list) or (isinstance(answer, dict) and "id" in answer):
            yield from ((self.array, record) for record in records_in(answer) if self.array)
        elif isinstance(answer, dict):
            names = {*ARRAYS, "task", "message"} if self.array or "profile" in answer else {}
            for name in [name for name in answer if name in names]:
                for record in records_in(answer[name]):
                    more = {"type": "requirement"} if name == "requirements" else {}
                    yield ARRAYS.get(name, self.array), {**record, **more}
        if isinstance(answer, dict) and "options" in answer:
            for build in records_in(answer["options"]["build"]):
                yield "builds", {**build, "product": 1, "execution": 3, "project": 2}

    def add(self, array, given, **owner):
        """Add a record and those that it holds or names; what is known of one already stays."""
        given = {**given, **{link: id for link, id in owner.items() if not given.get(link)}}
        given["id"] = ids_in(str(given["id"]).removeprefix("case_"))[0]
        if array == "executions" and given.get("project") == given["id"]:
            del given["project"]
        if array == "stories" and given.get("stage") == "projected" and not given.get("executions"):
            given["execution"] = 3
        if array == "stories" and given.get("stage") == "released":
            release = {"product": given["product"], "stories": str(given["id"])}
            self.add("releases", {"id": given["id"], **release})
        if array == "plans" and given.get("parent") == -1 and "children" not in given:
            child = {"id": 1000 + given["id"], "parent": given["id"], "stories": [], "bugs": []}
            self.add("plans", {**given, **child})
        for child in ids_in(given.get("childStories")) if array == "stories" else []:
            self.add("stories", {"id": child, "product": given["product"], "parent": given["id"]})
        record = self.records[array].setdefault(given["id"], {})
        record.update({field: value for field, value in given.items() if field not in record})
        above = {link: given["id"] for link in LINKS if LINKS[link] == array and link != array}
        if array != "stories":
            links = ("product", "project", "execution")
            above |= {link: given[link] for link in links if ids_in(given.get(link))}
        for name, inner in given.items() if array != "products" else ():
            for one in records_in(inner) if name in ARRAYS else ():
                self.add(ARRAYS[name], {**above, **one})
            for one in records_in(inner) if name == "children" else ():
                self.add(array, {"parent": given["id"], "product": given.get("product"), **one})
        self.link(array, given)

    def link(self, array, given):
        """Add the records that the fields of another name, with what these say of them."""
        said = {link: {} for link in (*LINKS, "parent")}
        for field, value in given.items():
            if match := JOINED.fullmatch(field):
                part = {"Title": "name", "PM": "PM"}.get(match[2], match[2].lower())
                said[match[1]][part] = value.split("/")[-1] if isinstance(value, str) else value
        is_newer = given.get("needconfirm") or given.get("needConfirm")
        is_newer = is_newer or "storyChanged" in str(given.get("status"))
        version = (given.get("storyVersion") or 1) + bool(is_newer)
        said["story"]["version"] = given.get("latestStoryVersion") or version
        if array in ("stories", "plans"):
            said["parent"]["product"] = given.get("product")
        project = ids_in(given.get("project")) if array != "stories" else []
        if project:
            said["execution"]["project"] = said["build"]["project"] = project[0]
        for link, target in {**LINKS, "parent": PARENTS.get(array, "")}.items():
            counted = link == target and isinstance(given.get(link), int)
            if target and not counted and (array, link) != ("stories", "project"):
                for id in ids_in(given.get(link)):
                    self.add(target, {**said[link], "id": id})
        home = project or ([given["id"]] if array == "projects" and "id" in given else [])
        for product in ids_in(given.get("product")) if home else []:
            products = self.records["projects"][home[0]].setdefault("products", [])
            products += {product}.difference(products)

    def fill_pages(self):
        """Add records for those that a list counts but does not show: newer and older ones."""
        answer, records = self.exchange.answer, self.records[self.array]
        shown = []
        for array, one in self.answered():
            if array == self.array and one.get("type") != "requirement":
                shown.append(ids_in(one["id"])[0])
        if not (isinstance(answer, dict) and answer.get("total") and shown):
            return
        first, newest = records[shown[0]], max(records)
        common = {"product", "project", "execution", "executions"} & first.keys()
        alike = {link: first[link] for link in common}
        inside = [id for id, one in records.items() if self.is_inside(one)]
        missing = answer["total"] - len(inside)
        newer = (answer.get("page", 1) - 1) * answer.get("limit", 20)
        if self.array == "products":
            newer = missing - newer
        newer -= sum(id > max(shown) for id in inside)
        free = [*range(min(shown) - 1, 0, -1), *range(newest + 100, newest + 200)]
        for id in range(newest + 1, newest + 1 + min(newer, missing)):
            self.add(self.array, {**alike, "id": id, "begin": "2040-01-01", "end": "2040-01-01"})
        for id in [id for id in free if id not in records][: missing - newer]:
            self.add(self.array, {**alike, "id": id, "end": "2026-12-31"})

    def is_inside(self, record) -> bool:
        """Return whether the list of the answer counts a record."""
        if record.get("type") == "requirement":
            return False
        return all(ids_in(record.get(link)) == [own] for link, own in self.owner.items())

    def go_back(self):
        """Undo the request: what it made and sent is not there, and what BEFORE says was so."""
        exchange, last = self.exchange, self.exchange.path.partition("?")[0].rpartition("/")[2]
        if exchange.method == "POST" and last in {*ARRAYS, "batchCreate"} - {"estimate"}:
            made = [int(record["id"]) for array, record in self.answered() if array == self.array]
            for id in made:
                del self.records[self.array][id]
            people = self.body.get("assignedTo")
            several = len(people) if isinstance(people, list) else 1
            if made and made[0] > several:
                self.add(self.array, {**self.owner, "id": made[0] - several})
        elif exchange.method in ("PUT", "POST") and self.named and exchange.status < 300:
            for field in [*self.body, "lastEditedBy", "lastEditedDate"]:
                self.records[self.home][self.named[0]].pop(field, None)
        if "duplicate" in exchange.name and exchange.status == 400:
            self.add(self.array, {**self.owner, **self.body, "id": 90, "product": 1})
        for calls, array, id, facts in BEFORE:
            if fnmatch.fnmatch(exchange.call, calls) or fnmatch.fnmatch(exchange.name, calls):
                self.add(array, {"id": id or self.named[0]})
                self.records[array][id or self.named[0]].update(facts)

    def add_counted(self):
        """Add the bugs, stories, plans and releases that products and plans count."""
        for plan in [*self.records["plans"].values()]:
            for array in ("stories", "bugs"):
                count = plan.get(array)
                for place in range(count if isinstance(count, int) else 0):
                    more = dict(plan=plan["id"], product=plan["product"])
                    more["estimate"] = plan["hour"] / count
                    self.add(array, {**more, "id": 100 * plan["id"] + place})
        for product in [*self.records["products"].values()]:
            counts = {field: value for field, value in product.items() if isinstance(value, int)}
            number = Counter(counts)
            made = {
                "bugs": counted_bugs(number),
                "stories": counted_stories(product),
                "plans": [{} for _ in range(number["plans"])],
                "releases": [{} for _ in range(number["releases"])],
            }
            for array, records in made.items():
                for place, record in enumerate(records):
                    id = 1000 * product["id"] + place
                    self.add(array, {"product": product["id"], **record, "id": id})

    def fixture(self, password) -> dict[str, list[dict[str, Any]]]:
        """Return the records as a fixture, as far as it can say them, all users with a password."""
        for user in self.records["users"].values():
            user["password"] = password
        for array in reversed([*self.records]):
            for record in [*self.records[array].values()]:
                for link in NEEDED.get(array, "").split():
                    if not ids_in(record.get(link)):
                        usual = {"project": 2, "execution": 3}.get(link, 1)
                        record[link] = next(iter(self.records[LINKS[link]]), usual)
                        self.add(LINKS[link], {"id": record[link]})
        return {
            array: [written(resource, id, record) for id, record in self.records[array].items()]
            for array, resource in pmservice.FIXTURE.items()
        }


def counted_bugs(number) -> list[dict[str, Any]]:
    """Return the bugs that a product counts: active ones first, then closed, then resolved ones."""
    active, bugs = number["unResolved"], []
    for place in range(number["bugs"] or number["totalBugs"]):
        bug = dict(status="active", resolution="", assignedTo="admin", openedDate="2026-10-01")
        if active <= place:
            is_closed = place < active + number["closedBugs"]
            bug["status"] = "closed" if is_closed else "resolved"
        if active <= place < active + number["fixedBugs"]:
            bug["resolution"] = "fixed"
        if place < number["assignToNull"]:
            bug["assignedTo"] = None
        if place < number["thisWeekBugs"]:
            bug["openedDate"] = None
        bugs.append(bug)
    return bugs


def counted_stories(product) -> list[dict[str, Any]]:
    """Return the stories and requirements that a product counts by their states."""
    stories = []
    for field, type in (("stories", "story"), ("requirements", "requirement")):
        counts = product.get(field)
        for state, count in counts.items() if isinstance(counts, dict) else ():
            if isinstance(count, int) and state != "reviewing":
                status = state.replace("changing", "changed")
                stories += [dict(type=type, status=status) for _ in range(count)]
    return stories


def written(resource, id, shown) -> dict[str, Any]:
    """Return a record as a fixture writes it, without the values that it cannot have."""
    name = shown.get("name") or shown.get("title") or f"{resource.name} {id}"
    usual = {"account": f"user{id}", "begin": "2026-01-01", "end": "2027-12-31", "acl": "open"}
    record = {**usual, **shown, "name": name, "title": name, "id": id}
    if resource.name == "testcase" and not record.get("steps"):
        record["steps"] = [{"desc": "go"} for _ in range(record.get("stepNumber", 0))]
    if resource.name == "story":
        record |= parts_of_a_story(record)
    fixture = {}
    for field, kind in resource.fixture.fields.items():
        value = record.get(field)
        is_link = field in ("parent", *LINKS) and resource.name != "release"
        if isinstance(value, list) and field in LINKS:
            value = ids_in([one["id"] if isinstance(one, dict) else one for one in value])
        elif is_link or field in ("project", "build"):
            value = next(iter(ids_in(value)), None)
        if is_person(value) or (isinstance(value, list) and value and is_person(value[0])):
            value = meaning(value)
        with contextlib.suppress(ValueError, pmservice.Invalid):
            if not is_unset(value) and (field, value) != ("assignedTo", "closed"):
                kind.read(value)
                fixture[field] = value
    return fixture


def parts_of_a_story(story) -> dict[str, Any]:
    """Return a story's versions, executions, plans and reviewers, as a fixture writes them."""
    texts = {"title": story["title"], "spec": story.get("spec"), "verify": story.get("verify")}
    numbers = range(1, (story.get("version") or 1) + 1)
    waiting = story.get("notReview", ())
    reviewers = []
    for account in story.get("reviewer", ()):
        reviewers.append({"account": account, "result": "" if account in waiting else "pass"})
    return {
        "versions": [{**texts, "version": number} for number in numbers],
        "executions": [*(story.get("executions") or []), story.get("execution")],
        "plans": ids_in(story.get("plan")),
        "reviewers": reviewers,
    }


# fmt: off
WAITING = dict(status="wait", consumed=0, left=10, realStarted=None, assignedTo="dev1", assignedDate=None)
GOING = dict(status="doing", consumed=2, left=8, finishedBy=None, finishedDate=None)
NOT_OVER = dict(closedBy=None, closedDate=None, canceledBy=None, canceledDate=None)
GOING_4 = dict(GOING, consumed=4, left=6, realStarted="2026-11-23 09:00:00", assignedTo="dev1", **NOT_OVER)
OPEN = dict(status="active", closedBy=None, closedDate=None, closedReason=None, duplicateStory=None)
SHUT = dict(status="closed", closedBy="admin", closedDate="2026-11-20 10:00:00", closedReason="done", activatedDate=None)
UNRESOLVED = dict(status="active", confirmed=0, resolution=None, resolvedBy=None, resolvedDate=None, resolvedBuild=None, assignedTo=None)
EFFORT = dict(task=3, date="2026-11-16", left=8, consumed=2, account="admin", work="read the papers")
GONE_STEPS = [dict(id=2, desc="go", expect="gone", version=2), dict(id=3, desc="pay", expect="paid", version=2)]
BEFORE = [
    # exchanges                           array          id  what a record was before (id 0: the one that the path names)
    ("11_*",                               "tasks",       0,  dict(version=1)),
    ("12_*",                               "tasks",       0,  WAITING),
    ("13_*",                               "tasks",       0,  dict(GOING, realStarted="2026-02-03 09:00:00")),
    ("14_*.from-done",                     "tasks",       0,  dict(status="done", consumed=3, left=0)),
    ("14_*.from-pause",                    "tasks",       0,  dict(status="pause", consumed=2, left=8)),
    ("15_activate_task.from-closed",       "tasks",       0,  dict(SHUT, consumed=5, left=0, finishedBy="admin", finishedDate="2026-02-05 18:00:00")),
    ("15_close_task.from-*",               "tasks",       0,  dict(OPEN, status="wait", assignedTo="dev1", assignedDate="2026-11-20 15:00:00")),
    ("15_close_task.from-done",            "tasks",       0,  dict(status="done")),
    ("15_pause_task.from-doing",           "tasks",       0,  dict(status="doing")),
    ("15_pause_task.from-wait",            "tasks",       0,  dict(status="wait")),
    ("20_create_execution.*",              "projects",    26, dict(begin="2026-01-10", end="2026-06-30")),
    ("20_create_execution.waterfall",      "projects",    27, dict(model="waterfall")),
    ("21_close_bug",                       "bugs",        0,  dict(OPEN, status="resolved")),
    ("21_confirm_bug",                     "bugs",        0,  dict(confirmed=0)),
    ("21_resolve_bug",                     "bugs",        0,  UNRESOLVED),
    ("40_stories.change.*",                "stories",     0,  dict(version=1, status="active")),
    ("40_stories.change.with-reviewer",    "stories",     0,  dict(assignedTo=None)),
    ("40_stories.close.*",                 "stories",     0,  dict(OPEN, assignedTo="dev1")),
    ("40_stories*.active*",                "stories",     0,  SHUT),
    ("40_stories.review.pass-by-last",     "stories",     0,  dict(status="draft", reviewer=["qa1", "pm1"], notReview=["pm1"], reviewedDate=None)),
    ("40_*.review-reject-from-active",     "stories",     0,  OPEN),
    ("40_*.review-clarify-*",              "stories",     0,  dict(reviewedBy=None)),
    ("40_stories.recall.delete",           "stories",     0,  dict(status="changed", version=2)),
    ("41_plans.linkstories.ok",            "stories",     1,  dict(plan=None)),
    ("41_plans.linkstories.ok",            "stories",     2,  dict(plan=None)),
    ("41_plans.linkbugs.ok",               "bugs",        1,  dict(plan=None)),
    ("41_plans.unlinkstories.ok",          "stories",     2,  dict(plan=1, product=1)),
    ("41_plans.unlinkbugs.ok",             "bugs",        1,  dict(plan=1, product=1)),
    ("45_departments.delete.with-users",   "users",       2,  dict(dept=2)),
    ("45_*.delete.with-children",          "departments", 2,  dict(parent=1)),
    ("47_puts.testcase-several-*",         "testcases",   0,  dict(version=1, steps=[dict(id=1, desc="go")])),
    ("v16*_47_puts.testcase-several-*",    "testcases",   0,  dict(steps=[dict(id=5, desc="go")])),
    ("47_puts.execution-*",                "executions",  4,  dict(project=2, begin="2027-01-05", end="2027-02-05")),
    ("48_deletes.execution-tasks-after",   "executions",  0,  dict(deleted=True)),
    ("60_testresults.post.ok",             "testcases",   0,  dict(steps=[dict(id=6, desc="go"), dict(id=7, desc="pay")])),
    ("47_puts.testcase-without-steps",     "testcases",   0,  dict(version=2, steps=GONE_STEPS)),
    ("47_puts.project-shrink-*",           "executions",  3,  dict(project=2, begin="2026-11-02", end="2026-12-31")),
    ("47_puts.project-shrink-*",           "executions",  4,  dict(project=2, begin="2027-01-05", end="2027-01-31")),
    ("47_puts.execution-*",                "projects",    2,  dict(begin="2026-02-01", end="2027-06-30")),
    ("51_bug_put.resolution",              "bugs",        0,  dict(UNRESOLVED, assignedTo="dev1")),
    ("51_bug_put.closedBy",                "bugs",        0,  dict(status="resolved", closedDate=None)),
    ("52_estimates.post.ok-one",           "tasks",       0,  WAITING),
    ("52_estimates.post.ok-two",           "tasks",       0,  dict(consumed=2, left=8)),
    ("52_estimates.post.ok-two",           "efforts",     1,  EFFORT),
    ("52_estimates.post.left-0",           "tasks",       0,  dict(GOING, consumed=7, left=3)),
    ("52_estimates.post.left-0",           "efforts",     3,  dict(EFFORT, date="2026-11-18", left=3)),
    ("52_estimates.post.from-closed",      "tasks",       0,  dict(SHUT, consumed=10, left=0)),
    ("52_estimates.post.from-done",        "tasks",       0,  dict(status="done", consumed=10, left=0)),
    ("53_task_put.*wait-*",                "tasks",       0,  WAITING),
    ("53_task_put.*doing-*",               "tasks",       0,  GOING_4),
    ("54_*.task-start-of-*",               "tasks",       0,  dict(WAITING, left=8)),
]
# fmt: on


class Difference(NamedTuple):
    """A value that was compared: where, in which way it differs ("" for none), and both values."""

    field: str
    way: str
    recorded: Any
    ours: Any


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
    if are_lists and records_in(recorded) and not is_person(recorded[0]):
        yield from differences_of_records(recorded, records_in(ours), field)
    elif (
        are_lists and len(recorded) == len(ours) and any(isinstance(one, dict) for one in recorded)
    ):
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
    """Yield what is compared of two refusals: the sentence, the fields that the first one blames."""
    error = exchange.answer["error"]
    yield Difference("error", "" if error == ours["error"] else "words", error, ours["error"])
    reasons = error.get("message", error) if isinstance(error, dict) else ()
    missing = re.findall(r"\.missing-(\w+)$", exchange.name)
    for field in [*reasons, *missing] if isinstance(reasons, (dict, tuple)) else missing:
        known = ours.get("fields", ())
        yield Difference(f"fields.{field}", "" if field in known else "lacks", field, known)


def moment_of(exchange) -> str:
    """Return the moment of an exchange: the latest that the server itself set in the answer."""
    shown = SET_NOW.findall(json.dumps(exchange.answer))
    moments = ["2026-11-20T07:48:14Z" if exchange.is_early else "2026-11-21T20:06:37Z"]
    if shown:
        moments = [
            f"{day}T{clock}Z" if letter == "T" else meaning(f"{day} {clock}")
            for day, letter, clock in shown
        ]
    return str(max(moments))


def caller_of(exchange) -> str:
    """Return the account that sent a request."""
    changed = isinstance(exchange.answer, dict) and exchange.method != "GET"
    return str((changed and meaning(exchange.answer.get("lastEditedBy"))) or "admin")


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


# In which way a value can differ: its meaning (value), or only how the same is written: another way
# to say "none" (unset), a person, a moment, a flag, a number. The answer lacks or adds a field or a
# record, or has another order.

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
WHITELIST_EMPTIED = "`whitelist` is emptied when `acl` is `open`"
NO_SUCH_LINK = "Links of the new resources must exist and be visible"
TRANSITIONS = "`PUT` with `resolution`, `closedBy`, `status` (which clients send): the transitions, or 400"
UNCHANGED_IS_400 = "what the reference refuses by answering the unchanged record is 400 here"
SMALL_ONES = "`groups` (one: administrators), `options/bug` (in the service's language; `severity` an object, `pri` an array, as in 16.5;"
BELOW_PROGRAMS = "`POST /programs/:id/products`, `/programs/:id/projects`: as `POST /products`, `/projects` with that program, 201"
BRIEF_STORIES = "a story lacks `spec`, `tasks`, `executions`, `children`"
PLAIN_CASES = "| 4 create case | plain account | `\"\"` | ISO | null | boolean |"
OURS = "here: "  # begins a reason of our own, where the contract has no word on it
PRODUCT_CALLS, RELEASE_CALLS = "01_* 02_* 47_puts.product* 54_*product*", "09_* 23_* 43_*"
CASE_CALLS = "04_* 05_* 47_*testcase* 54_*case-* 55_*testcases 62_*.testcases-*"
HOME_CALLS = "06_* 07_* 08_* 20_* 47_puts.pro[gj]* 47_puts.exec* 48_* 54_*.execution 62_*.program-projects-*"
BUG_CALLS, TASK_CALLS = "03_* 21_* 41_* 49_* 5[01]_* 54_*bug*", "1[0-5]_* 5[234]_*task* 52_*"
PLAN_CALLS, OTHER_CALLS = "41_*", "22_* 41_* 42_* 44_*"
DECIDED = [
    # version, calls, in which way, fields, the words of the contract that demand it
    # statuses and refusals
    ("*",  "00_*.wrong-password-[56]", "words",  "error",  "no lock-out, which would let any page lock the owner out"),
    ("*",  "*",                "words",  "error",   "`{\"error\": \"<one sentence for a person>\"}`"),
    ("18", "47_*.project-end-before-begin", "lacks", "fields.days", "400 with every broken field"),
    ("16", "0[24]_* 54_*case-create*", "status", "200-201",  CREATED),
    ("16", "40_*.create.* 41_*.create.* 49_bug_post.*", "status", "200-201",  CREATIONS),
    ("16", "62_*.program-*",   "status value", "200-201  parent path grade", BELOW_PROGRAMS),
    ("18", "62_*.testcases-post*", "status", "200-201", CREATIONS),
    ("18", "53_task_batch.ok", "status", "200-201", "201 `{\"task\": {id: record}}`, all or none"),
    ("18", "60_*.post.ok",     "status value", "200-201 ", "201 with the result"),
    ("18", "23_create_release.full", "status", "500-201",  CREATIONS),
    ("18", "55_*.tokens-get",  "status", "500-200", "`GET /tokens` answers 200 `{\"message\": …}` that says to POST"),
    ("*",  "2[01]_*.unknown-pro* *-unknown *.unknown",  "status", "20[01]-404 400-404",  ABSENT),
    ("18", "40_*.estimate.get 50_*.estimate-get 55_*-nosuch", "status", "400-404",  ABSENT),
    ("18", "48_*.execution-tasks-after", "status", "200-404",  ABSENT),
    ("*",  "55_*.langs* 55_*.tabs* 55_*-issues 55_*.stakeholders 55_*.repos 56_* 57_* 58_* 59_*", "status", "20[01]-404 400-404",
     "Not ours: feedbacks and tickets (the open edition has none), todos, test suites, documents, files, langs, tabs, reports,"
     " issues, risks, meetings, repositories, CI."),
    ("*",  "23_*.duplicate-name 40_*.duplicate-* 47_*-duplicate-name", "status", "400-20[01]",  SAME_NAMES),
    ("18", "40_*.close.duplicate-without-id 40_*.put.draft-no-reviewer 41_*.put.partial", "status", "400-200",  V165),
    ("18", "40_*-no-product 41_*.list.*-no-product 42_*-no-project 49_*.bugs-no-product", "status", "400-200",  EVERYTHING),
    ("16", "62_*-no-product",  "status", "400-200",  EVERYTHING),
    ("18", "41_*.create.*-no-product", "status", "400-201",  "Refusals are ours"),
    ("*",  "40_*.list.project* 40_*.list.execution*", "value", "stories.order",  f"{OURS}a link has no order; the story's id stands for it"),
    ("18", "40_*.review-reject-from-active", "status", "200-400",  "review (draft or changed;"),
    ("18", "46_*.delete.self", "status", "200-400", "nobody can delete themselves"),
    ("*",  "47_*.program-several", "status", "200-400",  "An int field takes an int or its text"),
    ("18", "49_*-status-nosuch", "status", "200-400",  "A value that is not of these forms: 400 that names what is allowed"),
    ("18", "51_*.status-resolved", "status", "200-400",  TRANSITIONS),
    ("18", "47_*.testcase-empty-title 51_*.empty-title 52_*.future-date 52_*.empty-object", "status", "200-400",  NEVER_200),
    ("16", "53_*",             "status", "200-400",  UNCHANGED_IS_400),
    # products, users
    ("18", PRODUCT_CALLS,           "lacks",  "shadow feedback ticket PMT *Stories unresolvedBugs totalBugs closedDate vision programPM",  NOT_18),
    ("16", PRODUCT_CALLS,           "lacks",  "feedback vision",  ONLY_OURS),
    ("*",  PRODUCT_CALLS,           "lacks",  "builds cases projects executions docs caseReview",  ONLY_OURS),
    ("*",  PRODUCT_CALLS,           "adds",
         "lineName programName stories requirements plans releases bugs unResolved closedBugs fixedBugs thisWeekBugs assignToNull progress",  ONLY_OURS),
    ("*",  "02_*",             "adds",   "total products",  "the record's fields at the top level **and** `total` 1 and `products` with that one full record"),
    ("*",  PRODUCT_CALLS,           "value",  "createdVersion",  VERSIONED),
    ("18", "01_*",             "value",  "products.program",  "`program` 0 or one that exists"),
    ("*",  PRODUCT_CALLS,           "value",  "progress",  "`progress` 100 × closed / all stories of both types, rounded to an int"),
    ("18", "54_*.products-counters", "lacks", "page limit",  "1 and 9 answer everything with `total` unless `page` or `limit` is asked for"),
    ("18", "54_*.product-get-counters", "lacks adds", "stories.changing stories.reviewing stories.changed", V165),
    ("*",  "47_*.product-get-after 54_*.products-*", "value", "whitelist",  WHITELIST_EMPTIED),
    ("*",  "47_*.product-* 54_*.product-get-*", "person flag", "PO QD RD createdBy whitelist deleted",  ELSEWHERE),
    ("18", "00_users.list 46_*", "lacks", "group users.group.*",  NOT_18),
    ("18", "00_user.me",       "lacks",  "profile.view.account",  NOT_18),
    ("16", "46_users.list.*",  "adds",   "users.group",  f"{OURS}one record of a user for both versions"),
    ("*",  "46_*",             "adds",   "admin resetToken superReviewer view",  f"{OURS}one record of a user for both versions"),
    ("*",  "46_*",             "value",  "visions",  f"{OURS}everybody has both visions"),
    ("*",  "46_*",             "unset",  "birthday join locked last",  ELSEWHERE),
    ("18", "45_*.get.ok 45_*.put.*", "adds", "managerName",  "`manager` an account beside `managerName`"),
    # programs, projects and executions
    ("16", HOME_CALLS,              "lacks",  "vision fluidBoard displayCards suspendedDate total* progress teamMembers products caseReview",  KEPT_RECORD),
    ("18", HOME_CALLS,              "lacks",
         "vision fluidBoard displayCards suspendedDate category charter closedReason colWidth minColWidth maxColWidth consumed delay division"
                                         " estimate firstEnd hasProduct left market multiple progress total* teamCount caseReview",  KEPT_RECORD),
    ("*",  HOME_CALLS,              "unset",  "realBegan realEnd",  KEPT_RECORD),
    ("16", "0[68]_*",          "value",  "parent path grade",  "`parent` (text or int) must exist. `path`, `grade` follow the parent's."),
    ("*",  "48_*-list-after",  "adds",   "executions.*",  KEPT_RECORD),
    ("16", "08_* 62_*.program-projects-*", "person unset flag",  "*By *Date PM whitelist deleted",  OP_8),
    ("*",  "06_* 07_* 47_* 48_*", "unset person", "lastEditedBy PO QD RD",  ELSEWHERE),
    ("16", "06_*.put-parent",  "value",  "lastEdited*",  DEFECT),
    ("18", "47_*.program-parent", "value", "budget",  "An int field takes an int or its text"),
    ("18", "20_*",             "value",  "openedVersion",  VERSIONED),
    ("18", "20_*",             "value",  "days",  KEPT_RECORD),
    ("18", "55_*-projects",    "person adds lacks",  "projects.*",  KEPT_RECORD),
    ("18", "55_*-projects",    "adds",   "page limit",  "**Lists** page as 3 does"),
    # bugs
    ("*",  BUG_CALLS,               "lacks",
         "injection identify feedback issueKey mr priOrder severityOrder statusName productName productStatus moduleTitle executionName"
                                         " projectName planTitle planName storyTitle storyStatus latestStoryVersion taskName linkMRTitles toCases files delay",
                                             ONLY_OURS),
    ("*",  BUG_CALLS,               "lacks",  "actions preAndNext",  LEFT_OUT),
    ("*",  BUG_CALLS,               "adds",   "needconfirm",  ONLY_OURS),
    ("*",  "03_*",             "unset",  "bugs.*Date bugs.deadline",  "| 3 list bugs | reference | null | ISO | `1969-12-31T16:00:00Z` | boolean |"),
    ("*",  "03_*",             "value",  "bugs.status bugs.status.*",  OP_3),
    ("*",  BUG_CALLS,               "unset value", "mailto",  ONLY_OURS),
    ("18", "21_create_bug.*",  "value",  "linkBug",  ONLY_OURS),
    ("18", "21_resolve_bug 51_*.get-after", "value",  "product",  ABSENT),
    ("*",  "21_* 49_* 5[01]_*", "unset person moment", "*By *To *Date deadline",  ELSEWHERE),
    ("*",  "49_*",             "value",  "bugs.status",  ELSEWHERE),
    ("*",  "49_*.project-page2 49_*.execution-page2", "lacks", "bugs",  "default newest id first for bugs and releases"),
    ("18", "50_*.from-closed", "value",  "assignedTo",  V165),
    ("16", "51_*.several",     "value",  "os deadline",  DEFECT),
    # test cases
    ("16", "04_* 54_*case-create*", "person unset", "*By",  PLAIN_CASES),
    ("18", "62_*.testcases-post*", "person unset", "*By",  PLAIN_CASES),
    ("16", "04_*",             "value",  "keywords",  "All request fields are kept."),
    ("16", "54_*case-create*", "value",  "project execution",  f"{OURS}they do not follow the story"),
    ("16", "55_*-testcases 62_*-get", "lacks", "case count bugs results caseFails stepNumber statusName storyDeleted",  ONLY_OURS),
    ("16", "55_*-testcases 62_*-get", "adds", "steps toBugs files currentVersion",  ONLY_OURS),
    ("16", "55_*.project-testcases", "unset person flag", "cases.*",  ELSEWHERE),
    ("16", "55_*.project-testcases", "value", "cases.project",  "`PUT`; lists of projects and executions"),
    ("*",  CASE_CALLS,              "lacks",  "needconfirm script scene sort storyTitle storyStatus latestStoryVersion",  ONLY_OURS),
    ("18", "47_*.testcase-without-steps", "value lacks", "version currentVersion steps",  V165),
    # releases
    ("18", RELEASE_CALLS,           "lacks",  "shadow branchName branches buildInfos builds createdBy createdDate productType",  NOT_18),
    ("16", RELEASE_CALLS,           "lacks",  "execution executionName filePath scmPath productType",  ONLY_OURS),
    ("*",  RELEASE_CALLS,           "lacks",  "files",  ONLY_OURS),
    ("*",  RELEASE_CALLS,           "adds",   "buildID buildName projectName",  ONLY_OURS),
    ("*",  RELEASE_CALLS,           "number flag unset person", "project branch build deleted mailto notify",  ONLY_OURS),
    ("*",  "43_*.create.*",    "value",  "marker",  DEFECT),
    ("18", "43_*.list.*",      "lacks",  "page limit",  "builds and releases come whole unless `page` or `limit` is asked for"),
    ("16", "43_*.put.ok",      "lacks",  "message",  "the record itself (also `PUT /releases/:id`)"),
    # tasks
    ("*",  TASK_CALLS,              "lacks",  "delay storySpec storyVerify storyFiles executionName executionStatus moduleTitle linkedBranch",  ONLY_OURS),
    ("*",  TASK_CALLS,              "lacks",  "actions preAndNext",  LEFT_OUT),
    ("*",  TASK_CALLS,              "adds",
         "mode fromIssue order team storyID storyTitle latestStoryVersion storyStatus assignedToRealName children members files needConfirm progress",
         ONLY_OURS),
    ("*",  "1[01]_* 53_* 54_*", "adds lacks", "cases",  OP_11),
    ("18", TASK_CALLS,              "value unset", "designVersion mailto storyID storyTitle latestStoryVersion storyStatus",  ONLY_OURS),
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
    ("18", "40_* 41_*",        "lacks",
         "changedBy changedDate releasedDate linkRequirements twins BSA duration demand submitedBy roadmap priOrder multiple files",  NOT_18),
    ("*",  "40_*",             "lacks",  "actions preAndNext",  LEFT_OUT),
    ("*",  "40_*",             "adds",
         "parentName extraStories reviewer notReview parentPri planTitle productName productStatus moduleTitle bugs cases requirements files",  V165_FIELDS),
    ("18", "40_*.create.*",    "value",  "status",  "New: active, or draft when it has `reviewer`s."),
    ("16", "40_*.create.ok-no-reviewer", "value", "assigned*",  DEFECT),
    ("16", "40_*.list.project-page2", "value", "stories.stage",  "projected by an execution"),
    ("*",  "40_*.list.*",      "lacks",  "stories.children",  BRIEF_STORIES),
    ("16", "40_*.list.product", "value", "stories.reviewer stories.notReview",  f"{OURS}reviewers stand in the order of accounts"),
    ("18", "40_*-limit-0",     "value",  "limit",  "an empty one (`page=`), `page=0` and `limit=0` are not given"),
    ("18", "40_*-limit-0",     "value",  "stories.linkStories",  V165),
    ("18", "40_*.list.*",      "value",  "stories.status",  "draft, active, changed, closed."),
    ("*",  "40_*.put.several", "value",  "stage title",
         "PUT takes the counted fields, `title` (into the present version), not `product`, `stage`, `spec`, `verify`"),
    ("*",  "40_*.close.*",     "value",  "assigned*",  "close from any but closed; the assignee stays"),
    ("18", "40_*.active.ok",   "value",  "status stage stages closed*",  "from closed, changed or draft, the body's `status` ignored; closed fields emptied"),
    ("18", "40_*.duplicate-ok", "lacks", "extraStories.*",  f"{OURS}a duplicate is no further story"),
    ("18", "40_*.pass-by-last", "value", "reviewedBy",  LOOKS),
    # plans, builds, test tasks
    ("*",  OTHER_CALLS,             "unset person moment flag number", "*",  LOOKS),
    ("18", OTHER_CALLS,             "lacks",
         "finishedDate closedDate createdBy createdDate projects projectName builds artifactRepoID allBugs allStories members multiple",  NOT_18),
    ("18", "41_*.list.ok",     "lacks",  "plans.children",  V165_FIELDS),
    ("18", "41_*.list.*",      "adds",   "plans.project plans.projectID",  V165_FIELDS),
    ("18", PLAN_CALLS,              "value",  "order",  V165),
    ("18", "41_*.title-only",  "value",  "begin",  "`begin` default today, or `end` if that is earlier"),
    ("18", "41_*.list.ok",     "value",  "plans.title",  "`title` required (the reference takes `{}`)"),
    ("*",  PLAN_CALLS,              "lacks adds", "stories.story stories.order stories.planTitle stories.productStatus stories.parentName",  RAW),
    ("*",  PLAN_CALLS,              "value",  "stories.reviewedBy",  LOOKS),
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
    ("18", "60_*.list",        "adds",   "results.testtask",  f"{OURS}what a result was sent for is shown"),
    ("18", "55_*.options-bug", "value",  "options.severity",  SMALL_ONES),
    ("18", "55_*.configuration*", "value", "value",  "`configurations` (with a token; version 16.5)"),
    ("18", "55_*.groups",      "value lacks adds", " desc privs.* accounts.*",  SMALL_ONES),
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


HASHED = pmservice.with_hash({"password": "secret"})["password"]  # of every user, hashed once


def replay(exchange) -> list[Difference]:
    """Send a recorded request in the state before it; return what was compared."""
    state = State(exchange)
    service = pmservice.create_app(
        load=state.fixture(HASHED),
        token="t",
        timezone="Asia/Shanghai",
        control=False,
        clock=lambda: datetime.fromisoformat(moment_of(exchange).replace("Z", "+00:00")),
    )
    with contextlib.closing(service):
        app = webtest.TestApp(service)
        headers, body = {"Token": "t"}, exchange.body
        caller = caller_of(exchange)
        if exchange.status == 401:
            headers = {}
        elif caller != "admin":
            login = {"account": caller, "password": "secret"}
            headers = {"Token": app.post_json("/tokens", login).json["token"]}
        if "password" in state.body:
            password = "secret" if exchange.status < 300 else "wrong"
            body = {**body, "password": password}
        sent = b"" if body is None else json.dumps(body).encode()
        headers["Content-Type"] = "application/json"
        answer = app.request(
            exchange.path, method=exchange.method, headers=headers, body=sent, expect_errors=True
        )
    return compared(exchange, answer.status_int, answer.json)


def main() -> int:
    """Replay every exchange, print what was found, and return the exit code."""
    verdicts = ("equal", "decided", "decided here", "undecided")
    files, needed, undecided = defaultdict(Counter), [], []
    for exchange in EXCHANGES:
        worst = 0
        for difference in replay(exchange):
            verdict = 0
            if difference.way:
                row = decision_on(exchange, difference)
                needed.append(row)
                verdict = 1
                if row is None:
                    verdict = 3
                    undecided.append(f"undecided: {exchange.name} {difference}")
                elif row[4].startswith(OURS):
                    verdict = 2
            worst = max(worst, verdict)
        files[exchange.file][verdicts[worst]] += 1
    for file, counts in sorted(files.items()):
        print(f"{file}: {dict(counts)}")
    undecided += [f"not needed: {row}" for row in DECIDED if row not in needed]
    names = [name for exchange in EXCHANGES for name in (exchange.name, exchange.call)]
    for pattern, *_ in BEFORE:
        if not fnmatch.filter(names, pattern):
            undecided.append(f"not needed: the state before {pattern}")
    print(*undecided, sep="\n", end="\n" if undecided else "")
    print(f"all {len(EXCHANGES)} exchanges: {dict(sum(files.values(), Counter()))}")
    return 1 if undecided else 0


if __name__ == "__main__":
    sys.exit(main())
