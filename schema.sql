-- The database of pmservice: tables hold facts under the names of the interface, triggers keep every count up to date.
--
-- Conventions: a link that is not set is NULL; a person is an account; a moment is UTC text,
-- YYYY-MM-DDThh:mm:ssZ; a day is YYYY-MM-DD; NULL is "unset". Defaults that never depend on the
-- request stand here and nowhere else. Records are never removed: `deleted`
-- takes them off lists and refuses changes; by its id a record is still shown.

-- An older database runs the parts that it lacks, in one transaction: the tables, indexes and triggers below a
-- version's line never change once it is released, and each part ends at its `user_version`.

-- === Version 1 ====================================================================================

PRAGMA application_id = 1886221174;  -- "pmsv": no other program's file is taken for ours

-- --- People and tokens ----------------------------------------------------------------------------

CREATE TABLE user (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    account  TEXT NOT NULL UNIQUE CHECK (length(account) BETWEEN 1 AND 30),
    realname TEXT NOT NULL,
    avatar   TEXT NOT NULL DEFAULT '',
    role     TEXT NOT NULL DEFAULT '',
    email    TEXT NOT NULL DEFAULT '',
    admin    INTEGER NOT NULL DEFAULT 0 CHECK (admin IN (0, 1)),
    password TEXT,  -- a salted scrypt hash; NULL: nobody can log in as this user
    deleted  INTEGER NOT NULL DEFAULT 0 CHECK (deleted = 0)
) STRICT;

CREATE TABLE token (
    hash    TEXT PRIMARY KEY,  -- SHA-256 of the token, which itself is kept nowhere
    account TEXT NOT NULL REFERENCES user (account),
    used    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- --- Programs, projects and executions: one sequence of ids, as `path` needs ----------------------

CREATE TABLE project (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    project        INTEGER REFERENCES project,  -- of an execution
    parent         INTEGER REFERENCES project,
    name           TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    code           TEXT NOT NULL DEFAULT '',
    model          TEXT NOT NULL DEFAULT '' CHECK (model IN ('', 'scrum', 'waterfall')),
    type           TEXT NOT NULL CHECK (type IN ('program', 'project', 'sprint', 'stage')),
    budget         INTEGER NOT NULL DEFAULT 0,
    budgetUnit     TEXT NOT NULL DEFAULT 'CNY' CHECK (budgetUnit IN ('CNY', 'USD')),
    begin          TEXT NOT NULL,
    end            TEXT NOT NULL,
    realBegan      TEXT,
    realEnd        TEXT,
    desc           TEXT NOT NULL DEFAULT '',
    openedBy       TEXT REFERENCES user (account),
    openedDate     TEXT,
    PM             TEXT REFERENCES user (account),
    acl            TEXT NOT NULL CHECK (acl IN ('open', 'private')),
    whitelist      TEXT NOT NULL DEFAULT ',' CHECK (whitelist LIKE ',%' AND whitelist LIKE '%,'),
    status         TEXT NOT NULL DEFAULT 'wait'
                   CHECK (status IN ('wait', 'doing', 'suspended', 'closed')),
    lifetime       TEXT NOT NULL DEFAULT '',
    attribute      TEXT NOT NULL DEFAULT '',
    percent        INTEGER NOT NULL DEFAULT 0,
    path           TEXT NOT NULL DEFAULT '',  -- '' until Store.place_projects has worked it out
    grade          INTEGER NOT NULL DEFAULT 0,
    days           INTEGER NOT NULL DEFAULT 0,
    version        INTEGER NOT NULL DEFAULT 0,
    openedVersion  TEXT NOT NULL DEFAULT '',
    lastEditedBy   TEXT REFERENCES user (account),
    lastEditedDate TEXT,
    closedBy       TEXT REFERENCES user (account),
    closedDate     TEXT,
    canceledBy     TEXT REFERENCES user (account),
    canceledDate   TEXT,
    PO             TEXT REFERENCES user (account),
    QD             TEXT REFERENCES user (account),
    RD             TEXT REFERENCES user (account),
    team           TEXT NOT NULL DEFAULT '',
    "order"        INTEGER,  -- id × 5 unless given
    deleted        INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    CHECK (begin <= end)
) STRICT;

CREATE INDEX project_unplaced ON project (id) WHERE path = '';
CREATE INDEX project_of_type ON project (type, deleted);
CREATE INDEX execution_of_project ON project (project, deleted) WHERE project IS NOT NULL;

CREATE TRIGGER project_numbered AFTER INSERT ON project WHEN NEW."order" IS NULL BEGIN
    UPDATE project SET "order" = NEW.id * 5 WHERE id = NEW.id;
END;

-- --- Products -------------------------------------------------------------------------------------

CREATE TABLE product (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    program        INTEGER REFERENCES project,
    name           TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    code           TEXT NOT NULL DEFAULT '',
    line           INTEGER NOT NULL DEFAULT 0,
    PO             TEXT REFERENCES user (account),
    QD             TEXT REFERENCES user (account),
    RD             TEXT REFERENCES user (account),
    type           TEXT NOT NULL DEFAULT 'normal' CHECK (type IN ('normal', 'branch', 'platform')),
    desc           TEXT NOT NULL DEFAULT '',
    acl            TEXT NOT NULL DEFAULT 'private' CHECK (acl IN ('open', 'private')),
    whitelist      TEXT NOT NULL DEFAULT ',' CHECK (whitelist LIKE ',%' AND whitelist LIKE '%,'),
    createdBy      TEXT REFERENCES user (account),
    createdDate    TEXT,
    status         TEXT NOT NULL DEFAULT 'normal' CHECK (status IN ('normal', 'closed')),
    reviewer       TEXT NOT NULL DEFAULT '',
    createdVersion TEXT NOT NULL DEFAULT '',
    "order"        INTEGER,  -- id × 5 unless given
    deleted        INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1))
) STRICT;

CREATE INDEX product_listed ON product (deleted);

CREATE TABLE project_product (
    project INTEGER NOT NULL REFERENCES project,
    product INTEGER NOT NULL REFERENCES product,
    PRIMARY KEY (project, product)
) STRICT, WITHOUT ROWID;

-- What GET /products counts, kept by the triggers below. A bug counts while it is not deleted.
CREATE TABLE product_count (
    product      INTEGER PRIMARY KEY REFERENCES product,
    releases     INTEGER NOT NULL DEFAULT 0,
    bugs         INTEGER NOT NULL DEFAULT 0,
    unResolved   INTEGER NOT NULL DEFAULT 0,
    closedBugs   INTEGER NOT NULL DEFAULT 0,
    fixedBugs    INTEGER NOT NULL DEFAULT 0,
    assignToNull INTEGER NOT NULL DEFAULT 0
) STRICT;

-- How many bugs of a product were opened in each quarter of an hour since 1970: the midnights of
-- every time zone fall on its edges, so a week in any of them is a sum over few rows.
CREATE TABLE bugs_opened (
    product INTEGER NOT NULL REFERENCES product,
    quarter INTEGER NOT NULL,
    bugs    INTEGER NOT NULL,
    PRIMARY KEY (product, quarter)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER product_numbered AFTER INSERT ON product WHEN NEW."order" IS NULL BEGIN
    UPDATE product SET "order" = NEW.id * 5 WHERE id = NEW.id;
END;

CREATE TRIGGER product_counted AFTER INSERT ON product BEGIN
    INSERT INTO product_count (product) VALUES (NEW.id) ON CONFLICT DO NOTHING;
END;

-- --- Releases -------------------------------------------------------------------------------------

CREATE TABLE release (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    project   INTEGER REFERENCES project,
    product   INTEGER NOT NULL REFERENCES product,
    branch    INTEGER NOT NULL DEFAULT 0,
    build     INTEGER NOT NULL DEFAULT 0,
    name      TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    date      TEXT NOT NULL,
    desc      TEXT NOT NULL DEFAULT '',
    status    TEXT NOT NULL DEFAULT 'normal' CHECK (status IN ('normal', 'terminate')),
    marker    TEXT NOT NULL DEFAULT '0',
    stories   TEXT NOT NULL DEFAULT '',
    bugs      TEXT NOT NULL DEFAULT '',
    leftBugs  TEXT NOT NULL DEFAULT '',
    mailto    TEXT NOT NULL DEFAULT '',
    buildName TEXT NOT NULL DEFAULT '',
    deleted   INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1))
) STRICT;

CREATE INDEX release_of_project ON release (project, deleted);
CREATE INDEX release_of_product ON release (product, deleted);

CREATE TRIGGER release_opened AFTER INSERT ON release WHEN NOT NEW.deleted BEGIN
    INSERT INTO product_count (product, releases) VALUES (NEW.product, 1)
    ON CONFLICT DO UPDATE SET releases = releases + 1;
END;

CREATE TRIGGER release_moved AFTER UPDATE OF deleted ON release BEGIN
    UPDATE product_count SET releases = releases + OLD.deleted - NEW.deleted WHERE product = NEW.product;
END;

-- --- Bugs -----------------------------------------------------------------------------------------

CREATE TABLE bug (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    product        INTEGER NOT NULL REFERENCES product,
    branch         INTEGER NOT NULL DEFAULT 0,
    module         INTEGER NOT NULL DEFAULT 0,
    project        INTEGER REFERENCES project,
    execution      INTEGER REFERENCES project,
    toTask         INTEGER NOT NULL DEFAULT 0,
    toStory        INTEGER NOT NULL DEFAULT 0,
    title          TEXT NOT NULL CHECK (length(title) BETWEEN 1 AND 255),
    keywords       TEXT NOT NULL DEFAULT '',
    severity       INTEGER NOT NULL DEFAULT 3,
    pri            INTEGER NOT NULL DEFAULT 3,
    type           TEXT NOT NULL DEFAULT 'codeerror' CHECK (type IN ('codeerror', 'config', 'install', 'security',
                   'performance', 'standard', 'automation', 'designdefect', 'others')),
    os             TEXT NOT NULL DEFAULT '',
    browser        TEXT NOT NULL DEFAULT '',
    steps          TEXT NOT NULL DEFAULT '',
    task           INTEGER NOT NULL DEFAULT 0,
    story          INTEGER NOT NULL DEFAULT 0,
    openedBy       TEXT REFERENCES user (account),
    openedDate     TEXT,
    deadline       TEXT,
    assignedTo     TEXT REFERENCES user (account),
    assignedDate   TEXT,
    resolvedBy     TEXT REFERENCES user (account),
    resolvedDate   TEXT,
    resolvedBuild  TEXT NOT NULL DEFAULT '',
    closedBy       TEXT REFERENCES user (account),
    closedDate     TEXT,
    plan           INTEGER NOT NULL DEFAULT 0,
    storyVersion   INTEGER NOT NULL DEFAULT 1,
    hardware       TEXT NOT NULL DEFAULT '',
    found          TEXT NOT NULL DEFAULT '',
    status         TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'resolved', 'closed')),
    color          TEXT NOT NULL DEFAULT '',
    confirmed      INTEGER NOT NULL DEFAULT 0,
    activatedCount INTEGER NOT NULL DEFAULT 0,
    activatedDate  TEXT,
    feedbackBy     TEXT NOT NULL DEFAULT '',
    notifyEmail    TEXT NOT NULL DEFAULT '',
    openedBuild    TEXT NOT NULL DEFAULT '',
    resolution     TEXT NOT NULL DEFAULT '' CHECK (resolution IN ('', 'bydesign', 'duplicate', 'external', 'fixed',
                   'notrepro', 'postponed', 'willnotfix')),
    duplicateBug   INTEGER NOT NULL DEFAULT 0,
    linkBug        TEXT NOT NULL DEFAULT '',
    "case"         INTEGER NOT NULL DEFAULT 0,
    caseVersion    INTEGER NOT NULL DEFAULT 1,
    result         INTEGER NOT NULL DEFAULT 0,
    testtask       INTEGER NOT NULL DEFAULT 0,
    lastEditedBy   TEXT REFERENCES user (account),
    lastEditedDate TEXT,
    deleted        INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1))
) STRICT;

CREATE INDEX bug_of_product ON bug (product, deleted);
CREATE INDEX bug_in_status ON bug (product, deleted, status);

CREATE TRIGGER bug_opened AFTER INSERT ON bug WHEN NOT NEW.deleted BEGIN
    INSERT INTO product_count (product, bugs, unResolved, closedBugs, fixedBugs, assignToNull) VALUES (
        NEW.product, 1, NEW.status = 'active', NEW.status = 'closed',
        NEW.status = 'closed' AND NEW.resolution = 'fixed', NEW.assignedTo IS NULL)
    ON CONFLICT DO UPDATE SET
        bugs         = bugs + 1,
        unResolved   = unResolved + excluded.unResolved,
        closedBugs   = closedBugs + excluded.closedBugs,
        fixedBugs    = fixedBugs + excluded.fixedBugs,
        assignToNull = assignToNull + excluded.assignToNull;
    INSERT INTO bugs_opened VALUES (NEW.product, coalesce(strftime('%s', NEW.openedDate) / 900, 0), 1)
    ON CONFLICT DO UPDATE SET bugs = bugs + 1;
END;

-- What the bug was is taken off, what it now is is added: true of a transition and of a deletion.
CREATE TRIGGER bug_moved AFTER UPDATE OF status, resolution, assignedTo, deleted ON bug BEGIN
    UPDATE product_count SET
        bugs         = bugs + OLD.deleted - NEW.deleted,
        unResolved   = unResolved - (NOT OLD.deleted AND OLD.status = 'active')
                                  + (NOT NEW.deleted AND NEW.status = 'active'),
        closedBugs   = closedBugs - (NOT OLD.deleted AND OLD.status = 'closed')
                                  + (NOT NEW.deleted AND NEW.status = 'closed'),
        fixedBugs    = fixedBugs - (NOT OLD.deleted AND OLD.status = 'closed' AND OLD.resolution = 'fixed')
                                 + (NOT NEW.deleted AND NEW.status = 'closed' AND NEW.resolution = 'fixed'),
        assignToNull = assignToNull - (NOT OLD.deleted AND OLD.assignedTo IS NULL)
                                    + (NOT NEW.deleted AND NEW.assignedTo IS NULL)
    WHERE product = NEW.product;
    UPDATE bugs_opened SET bugs = bugs + OLD.deleted - NEW.deleted
    WHERE product = NEW.product AND quarter = coalesce(strftime('%s', NEW.openedDate) / 900, 0);
END;

-- --- Tasks ----------------------------------------------------------------------------------------

CREATE TABLE task (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    project        INTEGER NOT NULL REFERENCES project,
    parent         INTEGER NOT NULL DEFAULT 0,
    execution      INTEGER NOT NULL REFERENCES project,
    module         INTEGER NOT NULL DEFAULT 0,
    story          INTEGER NOT NULL DEFAULT 0,
    fromBug        INTEGER NOT NULL DEFAULT 0,
    name           TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    type           TEXT NOT NULL DEFAULT 'misc' CHECK (type IN ('design', 'devel', 'request', 'test', 'study',
                   'discuss', 'ui', 'affair', 'misc')),
    pri            INTEGER NOT NULL DEFAULT 0,
    estimate       REAL NOT NULL DEFAULT 0 CHECK (estimate >= 0),
    consumed       REAL NOT NULL DEFAULT 0 CHECK (consumed >= 0),
    left           REAL NOT NULL DEFAULT 0 CHECK (left >= 0),
    deadline       TEXT,
    status         TEXT NOT NULL DEFAULT 'wait'
                   CHECK (status IN ('wait', 'doing', 'done', 'pause', 'closed', 'cancel')),
    desc           TEXT NOT NULL DEFAULT '',
    openedBy       TEXT REFERENCES user (account),
    openedDate     TEXT,
    assignedTo     TEXT REFERENCES user (account),
    assignedDate   TEXT,
    estStarted     TEXT,
    realStarted    TEXT,
    finishedBy     TEXT REFERENCES user (account),
    finishedDate   TEXT,
    closedBy       TEXT REFERENCES user (account),
    closedDate     TEXT,
    storyVersion   INTEGER NOT NULL DEFAULT 1,
    color          TEXT NOT NULL DEFAULT '',
    version        INTEGER NOT NULL DEFAULT 1,
    finishedList   TEXT NOT NULL DEFAULT '',
    canceledBy     TEXT REFERENCES user (account),
    canceledDate   TEXT,
    closedReason   TEXT NOT NULL DEFAULT '',
    lastEditedBy   TEXT REFERENCES user (account),
    lastEditedDate TEXT,
    activatedDate  TEXT,
    "order"        INTEGER NOT NULL DEFAULT 0,
    deleted        INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    CHECK (estStarted <= deadline)
) STRICT;

CREATE INDEX task_of_execution ON task (execution, deleted);
CREATE INDEX task_of_project ON task (project, deleted);
CREATE INDEX task_of_assignee ON task (assignedTo, deleted);

-- --- Test cases and their steps -------------------------------------------------------------------

CREATE TABLE testcase (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    product         INTEGER NOT NULL REFERENCES product,
    branch          INTEGER NOT NULL DEFAULT 0,
    module          INTEGER NOT NULL DEFAULT 0,
    story           INTEGER NOT NULL DEFAULT 0,
    storyVersion    INTEGER NOT NULL DEFAULT 1,
    title           TEXT NOT NULL CHECK (length(title) BETWEEN 1 AND 255),
    precondition    TEXT NOT NULL DEFAULT '',
    pri             INTEGER NOT NULL DEFAULT 3,
    type            TEXT NOT NULL DEFAULT 'feature' CHECK (type IN ('feature', 'performance', 'config', 'install',
                    'security', 'interface', 'unit', 'other')),
    stage           TEXT NOT NULL DEFAULT '',
    fromBug         INTEGER NOT NULL DEFAULT 0,
    fromCaseID      INTEGER NOT NULL DEFAULT 0,
    openedBy        TEXT REFERENCES user (account),
    openedDate      TEXT,
    status          TEXT NOT NULL DEFAULT 'normal' CHECK (status IN ('wait', 'normal', 'blocked', 'investigate')),
    project         INTEGER REFERENCES project,
    execution       INTEGER REFERENCES project,
    keywords        TEXT NOT NULL DEFAULT '',
    color           TEXT NOT NULL DEFAULT '',
    "order"         INTEGER NOT NULL DEFAULT 0,
    reviewedBy      TEXT REFERENCES user (account),
    reviewedDate    TEXT,
    lastEditedBy    TEXT REFERENCES user (account),
    lastEditedDate  TEXT,
    version         INTEGER NOT NULL DEFAULT 1,
    linkCase        TEXT NOT NULL DEFAULT '',
    fromCaseVersion INTEGER NOT NULL DEFAULT 1,
    deleted         INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    lastRunner      TEXT NOT NULL DEFAULT '',
    lastRunDate     TEXT,
    lastRunResult   TEXT NOT NULL DEFAULT '',
    caseFails       INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX testcase_of_product ON testcase (product, deleted);
CREATE INDEX testcase_of_story ON testcase (story, deleted) WHERE story <> 0;

CREATE TABLE step (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    "case"  INTEGER NOT NULL REFERENCES testcase,
    parent  INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 1,
    type    TEXT NOT NULL DEFAULT 'step',
    desc    TEXT NOT NULL CHECK (length(desc) > 0),
    expect  TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX step_of_case ON step ("case");

-- --- The action log: who did what to which record, and the comment that came with it --------------

CREATE TABLE action (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    objectType TEXT NOT NULL,
    objectID   INTEGER NOT NULL,
    actor      TEXT NOT NULL REFERENCES user (account),
    action     TEXT NOT NULL,
    date       TEXT NOT NULL,
    comment    TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX action_of_object ON action (objectType, objectID);

PRAGMA user_version = 1;

-- === Version 2: lists as quick in a large product as in a small one ===============================

-- Of a product's bugs, those that a kind of browsing asks for, so that no list reads all of them.
CREATE INDEX bug_assigned ON bug (product, deleted, assignedTo) WHERE assignedTo IS NOT NULL;
CREATE INDEX bug_opened_by ON bug (product, deleted, openedBy) WHERE openedBy IS NOT NULL;
CREATE INDEX bug_unconfirmed ON bug (product, deleted) WHERE confirmed = 0;
CREATE INDEX bug_postponed ON bug (product, deleted) WHERE resolution = 'postponed';

-- The totals of lists, kept up by the triggers below.

CREATE TABLE total (
    list    TEXT NOT NULL,
    parent  INTEGER NOT NULL,  -- the project, execution or product whose list it is; 0 for the list of all
    records INTEGER NOT NULL,
    PRIMARY KEY (list, parent)
) STRICT, WITHOUT ROWID;

INSERT INTO total SELECT 'products', 0, count(*) FROM product WHERE deleted = 0;
INSERT INTO total SELECT 'releases', project, count(*) FROM release WHERE deleted = 0 AND project IS NOT NULL GROUP BY project;
INSERT INTO total SELECT 'tasks', execution, count(*) FROM task WHERE deleted = 0 GROUP BY execution;
INSERT INTO total SELECT 'testcases', product, count(*) FROM testcase WHERE deleted = 0 GROUP BY product;

CREATE TRIGGER product_added AFTER INSERT ON product WHEN NOT NEW.deleted BEGIN
    INSERT INTO total VALUES ('products', 0, 1) ON CONFLICT DO UPDATE SET records = records + 1;
END;

CREATE TRIGGER product_deleted AFTER UPDATE OF deleted ON product BEGIN
    UPDATE total SET records = records + OLD.deleted - NEW.deleted WHERE list = 'products' AND parent = 0;
END;

CREATE TRIGGER release_added AFTER INSERT ON release WHEN NOT NEW.deleted AND NEW.project IS NOT NULL BEGIN
    INSERT INTO total VALUES ('releases', NEW.project, 1) ON CONFLICT DO UPDATE SET records = records + 1;
END;

CREATE TRIGGER release_deleted AFTER UPDATE OF deleted ON release BEGIN
    UPDATE total SET records = records + OLD.deleted - NEW.deleted WHERE list = 'releases' AND parent = NEW.project;
END;

CREATE TRIGGER task_added AFTER INSERT ON task WHEN NOT NEW.deleted BEGIN
    INSERT INTO total VALUES ('tasks', NEW.execution, 1) ON CONFLICT DO UPDATE SET records = records + 1;
END;

CREATE TRIGGER task_deleted AFTER UPDATE OF deleted ON task BEGIN
    UPDATE total SET records = records + OLD.deleted - NEW.deleted WHERE list = 'tasks' AND parent = NEW.execution;
END;

CREATE TRIGGER testcase_added AFTER INSERT ON testcase WHEN NOT NEW.deleted BEGIN
    INSERT INTO total VALUES ('testcases', NEW.product, 1) ON CONFLICT DO UPDATE SET records = records + 1;
END;

CREATE TRIGGER testcase_deleted AFTER UPDATE OF deleted ON testcase BEGIN
    UPDATE total SET records = records + OLD.deleted - NEW.deleted WHERE list = 'testcases' AND parent = NEW.product;
END;

PRAGMA user_version = 2;

-- === Version 3: no views; the statements name every column =======================================

-- Files that were made as versions 1 and 2 have a view of each record.

DROP VIEW IF EXISTS user_record;
DROP VIEW IF EXISTS project_record;
DROP VIEW IF EXISTS product_record;
DROP VIEW IF EXISTS release_record;
DROP VIEW IF EXISTS bug_record;
DROP VIEW IF EXISTS task_record;
DROP VIEW IF EXISTS testcase_record;

PRAGMA user_version = 3;
