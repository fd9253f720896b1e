"""The session with the models of datamodel-code-generator, and requests of the standard library."""

from __future__ import annotations

import sys
import urllib.request
from datetime import date
from typing import TypeVar

import models
from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)
url, password, name = sys.argv[1:]
headers = {"Content-Type": "application/json"}


def call(operation: str, path: str, answer: type[Model], body: BaseModel | None = None) -> Model:
    """Send a request, a POST if there is a body; return the answer, validated by its model."""
    sent = None
    if body is not None:
        sent = body.model_dump_json(by_alias=True, exclude_unset=True).encode()
    request = urllib.request.Request(url + path, sent, headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        found = answer.model_validate_json(response.read())
    print(operation)
    return found


token = call("logIn", "/tokens", models.Token, models.Login(account="admin", password=password))
headers["Token"] = token.token

begin, end = date(2026, 3, 2), date(2026, 3, 27)
program = call(
    "createProgram",
    "/programs",
    models.Program,
    models.ProgramToCreate(name=name, begin=begin, end=end),
)
assert program.begin == str(begin)

product = call(
    "createProduct",
    "/products",
    models.ProductCreated,
    models.ProductToCreate(name=name, program=program.id, PO="admin"),
)
assert product.PO is not None
assert product.PO.account == "admin"

project = call(
    "createProject",
    "/projects",
    models.ProjectCreated,
    models.ProjectToCreate(
        name=name, begin=begin, end=end, products=[product.id], parent=program.id
    ),
)
assert project.status is models.ProjectState.wait

execution = call(
    "createExecutionOfProject",
    f"/projects/{project.id}/executions",
    models.Execution,
    models.ExecutionToCreate(name=name, begin=begin, end=end, products=[product.id]),
)
assert execution.project == project.id

story = call(
    "createStoryOfProduct",
    f"/products/{product.id}/stories",
    models.Story,
    models.StoryToCreate(title=name, pri=3, category="feature", spec="Any angle."),
)
assert story.product == product.id
assert story.closedDate is None

bug = call(
    "createBugOfProduct",
    f"/products/{product.id}/bugs",
    models.BugBrief,
    models.BugToCreate(
        title=name,
        severity=3,
        pri=2,
        type=models.BugType.codeerror,
        openedBuild="trunk",
        story=story.id,
        assignedTo="diego",
    ),
)
assert bug.type is models.BugType.codeerror
assert bug.assignedTo is not None
assert bug.assignedTo.account == "diego"
assert bug.resolvedBy is None

bugs = call("listBugsOfProduct", f"/products/{product.id}/bugs", models.BugsInList)
assert [(found.id, found.status.code) for found in bugs.bugs] == [(bug.id, models.BugState.active)]
assert bugs.total == 1

case = call(
    "createTestCaseOfProduct",
    f"/products/{product.id}/testcases",
    models.TestCaseCreated,
    models.TestCaseToCreate(
        title=name,
        type=models.TestCaseType.feature,
        pri=3,
        steps=[models.Step(desc="Scan it.", expect="It beeps.")],
    ),
)
read = call("getTestCase", f"/testcases/{case.id}", models.TestCase)
assert [step.expect for step in read.steps] == ["It beeps."]
assert read.openedBy is not None
assert read.lastEditedDate is None

task = call(
    "createTaskOfExecution",
    f"/executions/{execution.id}/tasks",
    models.Task,
    models.TaskToCreate(
        name=name, type=models.TaskType.devel, estimate=8, estStarted=begin, deadline=end
    ),
)
assert task.status is models.TaskState.wait
assert task.deadline == end
assert task.finishedDate is None

started = call(
    "startTask",
    f"/tasks/{task.id}/start",
    models.TaskStarted,
    models.StartTask(realStarted="2026-03-03 09:00:00", consumed=1.5, left=6.5),
)
assert started.status is models.TaskState.doing
assert started.consumed == 1.5

finished = call(
    "finishTask",
    f"/tasks/{task.id}/finish",
    models.TaskFinished,
    models.FinishTask(finishedDate="2026-03-04 17:30:00", currentConsumed=4),
)
assert finished.status is models.TaskState.done
assert finished.left == 0

restarted = call(
    "restartTask",
    f"/tasks/{task.id}/restart",
    models.TaskStarted,
    models.RestartTask(consumed=6, left=2),
)
assert restarted.status is models.TaskState.doing

releases = call("listReleasesOfProject", f"/projects/{project.id}/releases", models.ReleaseList)
assert releases.releases == []

projects = call("listProjects", "/projects?limit=100", models.ProjectList)
assert project.id in [found.id for found in projects.projects]
demo = projects.projects[0].id
call("listReleasesOfProject", f"/projects/{demo}/releases", models.ReleaseList)
products = call("listProducts", "/products?limit=100", models.ProductsInList)
assert product.id in [found.id for found in products.products]
every = call("listBugs", "/bugs?product=1&limit=100", models.BugsBrief)
assert {found.resolvedBy is None for found in every.bugs} == {True, False}
call("listTasksAssignedToCaller", "/tasks", models.TaskList)
tasks = call("listTasksOfExecution", f"/executions/{execution.id}/tasks", models.TaskList)
assert [found.id for found in tasks.tasks] == [task.id]
told = call("getStory", f"/stories/{story.id}", models.Story)
assert told.title == name
call("getStory", "/stories/1", models.Story)
call("getBug", f"/bugs/{every.bugs[0].id}", models.Bug)
users = call("listUsers", "/users", models.UsersInList)
assert {"admin", "marta"} <= {user.account for user in users.users}
