// The session with openapi-fetch and the types of openapi-typescript.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[] }; // without @types/node
type Schemas = components["schemas"];
const [url, password, name] = process.argv.slice(2) as [string, string, string];
const client = createClient<paths>({ baseUrl: url });

/** Return the answer of a call that must succeed. */
async function done<Data>(
  operation: string,
  call: Promise<{ data?: Data; error?: unknown; response: Response }>,
): Promise<Data> {
  const { data, error, response } = await call;
  if (data === undefined) {
    throw new Error(`${operation}: ${response.status} ${JSON.stringify(error)}`);
  }
  console.log(operation);
  return data;
}

function expect(found: unknown, wanted: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) {
    throw new Error(`expected ${JSON.stringify(wanted)}, got ${JSON.stringify(found)}`);
  }
}

const login: Schemas["Login"] = { account: "admin", password };
const { token } = await done("logIn", client.POST("/tokens", { body: login }));
client.use({
  onRequest({ request }) {
    request.headers.set("Token", token);
    return request;
  },
});

const begin = "2026-03-02";
const end = "2026-03-27";
const program = await done(
  "createProgram",
  client.POST("/programs", { body: { name, begin, end } }),
);
expect(program.begin, begin);

const product = await done(
  "createProduct",
  client.POST("/products", {
    body: { name, program: program.id, PO: "admin", whitelist: ["marta"] },
  }),
);
expect(product.PO?.account, "admin");
expect(product.whitelist.map((person) => person.account), ["marta"]);

const project = await done(
  "createProject",
  client.POST("/projects", {
    body: { name, begin, end, products: [product.id], parent: program.id },
  }),
);
const waiting: Schemas["ProjectState"] = "wait";
expect(project.status, waiting);

const execution = await done(
  "createExecutionOfProject",
  client.POST("/projects/{id}/executions", {
    params: { path: { id: project.id } },
    body: { name, begin, end, products: [product.id] },
  }),
);
expect(execution.project, project.id);

const story = await done(
  "createStoryOfProduct",
  client.POST("/products/{id}/stories", {
    params: { path: { id: product.id } },
    body: { title: name, pri: 3, category: "feature", spec: "Any angle." },
  }),
);
expect(story.closedDate, null);

const newBug: Schemas["BugToCreate"] = {
  title: name,
  severity: 3,
  pri: 2,
  type: "codeerror",
  openedBuild: "trunk",
  story: story.id,
  assignedTo: "diego",
};
const bug = await done(
  "createBugOfProduct",
  client.POST("/products/{id}/bugs", { params: { path: { id: product.id } }, body: newBug }),
);
expect(bug.assignedTo?.account, "diego");
expect(bug.resolvedBy, null);

const bugs = await done(
  "listBugsOfProduct",
  client.GET("/products/{id}/bugs", { params: { path: { id: product.id } } }),
);
const active: Schemas["BugState"] = "active";
expect(bugs.bugs.map((listed) => [listed.id, listed.status.code]), [[bug.id, active]]);
expect(bugs.total, 1);

const testCase = await done(
  "createTestCaseOfProduct",
  client.POST("/products/{id}/testcases", {
    params: { path: { id: product.id } },
    body: {
      title: name,
      type: "feature",
      pri: 3,
      steps: [{ desc: "Scan it.", expect: "It beeps." }],
    },
  }),
);
const read = await done(
  "getTestCase",
  client.GET("/testcases/{id}", { params: { path: { id: testCase.id } } }),
);
expect(read.steps.map((step) => step.expect), ["It beeps."]);
expect(read.lastEditedDate, null);

const newTask: Schemas["TaskToCreate"] = {
  name,
  type: "devel",
  assignedTo: ["marta"],
  estimate: 8,
  estStarted: begin,
  deadline: end,
};
const task = await done(
  "createTaskOfExecution",
  client.POST("/executions/{id}/tasks", {
    params: { path: { id: execution.id } },
    body: newTask,
  }),
);
expect([task.status, task.deadline, task.finishedDate], ["wait", end, null]);

const path = { id: task.id };
const started = await done(
  "startTask",
  client.POST("/tasks/{id}/start", {
    params: { path },
    body: { realStarted: "2026-03-03 09:00:00", consumed: 1.5, left: 6.5 },
  }),
);
expect([started.status, started.consumed], ["doing", 1.5]);
const finished = await done(
  "finishTask",
  client.POST("/tasks/{id}/finish", {
    params: { path },
    body: { finishedDate: "2026-03-04 17:30:00", currentConsumed: 4 },
  }),
);
expect([finished.status, finished.left], ["done", 0]);
const restarted = await done(
  "restartTask",
  client.POST("/tasks/{id}/restart", { params: { path }, body: { consumed: 6, left: 2 } }),
);
expect(restarted.status, "doing");

const releases = await done(
  "listReleasesOfProject",
  client.GET("/projects/{id}/releases", { params: { path: { id: project.id } } }),
);
expect(releases.releases, []);

const query = { limit: 100 };
const projects = await done("listProjects", client.GET("/projects", { params: { query } }));
expect(projects.projects.some((listed) => listed.id === project.id), true);
const demo = projects.projects.map((listed) => listed.id)[0] ?? 0;
await done(
  "listReleasesOfProject",
  client.GET("/projects/{id}/releases", { params: { path: { id: demo } } }),
);
const products = await done("listProducts", client.GET("/products", { params: { query } }));
expect(products.products.some((listed) => listed.id === product.id), true);
const every = await done(
  "listBugs",
  client.GET("/bugs", { params: { query: { product: 1, limit: 100 } } }),
);
expect(every.bugs.some((listed) => listed.resolvedBy === null), true);
expect(every.bugs.some((listed) => typeof listed.resolvedBy?.account === "string"), true);
await done("listTasksAssignedToCaller", client.GET("/tasks"));
const tasks = await done(
  "listTasksOfExecution",
  client.GET("/executions/{id}/tasks", { params: { path: { id: execution.id } } }),
);
expect(tasks.tasks.map((listed) => listed.id), [task.id]);
const told = await done(
  "getStory",
  client.GET("/stories/{id}", { params: { path: { id: story.id } } }),
);
expect(told.title, name);
await done("getStory", client.GET("/stories/{id}", { params: { path: { id: 1 } } }));
await done("getBug", client.GET("/bugs/{id}", { params: { path: { id: bug.id } } }));
const users = await done("listUsers", client.GET("/users"));
expect(users.users.some((user) => user.account === "marta"), true);
