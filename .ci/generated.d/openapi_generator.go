// The session with the Go client of openapi-generator.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	pm "example.org/ci/client"
)

// done returns the answer of a call that must succeed.
func done[Answer any](answer *Answer, response *http.Response, err error) *Answer {
	var refused *pm.GenericOpenAPIError
	if errors.As(err, &refused) {
		err = fmt.Errorf("%w: %s", err, refused.Body())
	}
	if err != nil {
		panic(err)
	}
	fmt.Println(response.Request.Method, response.Request.URL.Path)
	return answer
}

func expect[Value comparable](found, wanted Value) {
	if found != wanted {
		panic(fmt.Errorf("expected %v, got %v", wanted, found))
	}
}

func main() {
	url, password, name := os.Args[1], os.Args[2], os.Args[3]
	settings := pm.NewConfiguration()
	settings.Servers = pm.ServerConfigurations{{URL: url}}
	client := pm.NewAPIClient(settings)
	ctx := context.Background()

	login := pm.NewLogin("admin", password)
	token := done(client.TokensAPI.LogIn(ctx).Login(*login).Execute())
	ctx = context.WithValue(ctx, pm.ContextAPIKeys, map[string]pm.APIKey{"Token": {Key: token.Token}})

	begin, end := "2026-03-02", "2026-03-27"
	newProgram := pm.NewProgramToCreate(name, begin, end)
	program := done(client.ProgramsAPI.CreateProgram(ctx).ProgramToCreate(*newProgram).Execute())
	expect(program.Begin, begin)

	newProduct := pm.NewProductToCreate(name)
	newProduct.SetProgram(program.Id)
	newProduct.SetPO("admin")
	newProduct.SetWhitelist([]string{"marta"})
	product := done(client.ProductsAPI.CreateProduct(ctx).ProductToCreate(*newProduct).Execute())
	expect(product.PO.Get().Account, "admin")
	expect(product.Whitelist[0].Account, "marta")

	newProject := pm.NewProjectToCreate(name, begin, end, []int64{product.Id})
	newProject.SetParent(program.Id)
	project := done(client.ProjectsAPI.CreateProject(ctx).ProjectToCreate(*newProject).Execute())
	expect(project.Status, pm.PROJECTSTATE_WAIT)

	newExecution := pm.NewExecutionToCreate(name, begin, end)
	newExecution.SetProducts([]int64{product.Id})
	execution := done(client.ExecutionsAPI.CreateExecutionOfProject(ctx, project.Id).
		ExecutionToCreate(*newExecution).Execute())
	expect(execution.Project, project.Id)

	newStory := pm.NewStoryToCreate(name, 3, "feature", "Any angle.")
	story := done(client.StoriesAPI.CreateStoryOfProduct(ctx, product.Id).
		StoryToCreate(*newStory).Execute())
	expect(story.Product, product.Id)
	expect(story.ClosedDate.Get() == nil, true)

	newBug := pm.NewBugToCreate(name, 3, 2, pm.BUGTYPE_CODEERROR, "trunk")
	newBug.SetStory(story.Id)
	newBug.SetAssignedTo("diego")
	bug := done(client.BugsAPI.CreateBugOfProduct(ctx, product.Id).BugToCreate(*newBug).Execute())
	expect(bug.Type, pm.BUGTYPE_CODEERROR)
	expect(bug.AssignedTo.Get().Account, "diego")
	expect(bug.ResolvedBy.Get() == nil, true)

	bugs := done(client.BugsAPI.ListBugsOfProduct(ctx, product.Id).Execute())
	expect(bugs.Total, 1)
	expect(bugs.Bugs[0].Id, bug.Id)
	expect(bugs.Bugs[0].Status.Code, pm.BUGSTATE_ACTIVE)

	step := pm.NewStep("Scan it.")
	step.SetExpect("It beeps.")
	newCase := pm.NewTestCaseToCreate(name, pm.TESTCASETYPE_FEATURE, 3, []pm.Step{*step})
	testCase := done(client.TestcasesAPI.CreateTestCaseOfProduct(ctx, product.Id).
		TestCaseToCreate(*newCase).Execute())
	read := done(client.TestcasesAPI.GetTestCase(ctx, testCase.Id).Execute())
	expect(read.Steps[0].Expect, "It beeps.")
	expect(read.OpenedBy.Get().Account, "admin")
	expect(read.LastEditedDate.Get() == nil, true)

	newTask := pm.NewTaskToCreate(name, pm.TASKTYPE_DEVEL, begin, end)
	newTask.SetAssignedTo([]string{"marta"})
	newTask.SetEstimate(8)
	task := done(client.TasksAPI.CreateTaskOfExecution(ctx, execution.Id).
		TaskToCreate(*newTask).Execute())
	expect(task.Status, pm.TASKSTATE_WAIT)
	expect(*task.Deadline.Get(), end)
	expect(task.FinishedDate.Get() == nil, true)

	start := pm.NewStartTask()
	start.SetRealStarted("2026-03-03 09:00:00")
	start.SetConsumed(1.5)
	start.SetLeft(6.5)
	started := done(client.TasksAPI.StartTask(ctx, task.Id).StartTask(*start).Execute())
	expect(started.Status, pm.TASKSTATE_DOING)
	expect(started.Consumed, 1.5)

	finish := pm.NewFinishTask("2026-03-04 17:30:00")
	finish.SetCurrentConsumed(4)
	finished := done(client.TasksAPI.FinishTask(ctx, task.Id).FinishTask(*finish).Execute())
	expect(finished.Status, pm.TASKSTATE_DONE)
	expect(finished.Left, 0)

	restart := pm.NewRestartTask(6, 2)
	restarted := done(client.TasksAPI.RestartTask(ctx, task.Id).RestartTask(*restart).Execute())
	expect(restarted.Status, pm.TASKSTATE_DOING)

	releases := done(client.ReleasesAPI.ListReleasesOfProject(ctx, project.Id).Execute())
	expect(len(releases.Releases), 0)

	projects := done(client.ProjectsAPI.ListProjects(ctx).Limit(100).Execute())
	done(client.ReleasesAPI.ListReleasesOfProject(ctx, projects.Projects[0].Id).Execute())
	products := done(client.ProductsAPI.ListProducts(ctx).Limit(100).Execute())
	named := false
	for _, listed := range products.Products {
		named = named || listed.Name == name
	}
	expect(named, true)
	every := done(client.BugsAPI.ListBugs(ctx).Product(1).Limit(100).Execute())
	resolved := map[bool]bool{}
	for _, listed := range every.Bugs {
		resolved[listed.ResolvedBy.Get() != nil] = true
	}
	expect(len(resolved), 2)
	done(client.TasksAPI.ListTasksAssignedToCaller(ctx).Execute())
	tasks := done(client.TasksAPI.ListTasksOfExecution(ctx, execution.Id).Execute())
	expect(tasks.Tasks[0].Id, task.Id)
	told := done(client.StoriesAPI.GetStory(ctx, story.Id).Execute())
	expect(told.Title, name)
	done(client.StoriesAPI.GetStory(ctx, 1).Execute())
	done(client.BugsAPI.GetBug(ctx, every.Bugs[0].Id).Execute())
	users := done(client.UsersAPI.ListUsers(ctx).Execute())
	expect(len(users.Users) > 1, true)
}
