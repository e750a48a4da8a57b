-- The first schema: jobs and their steps, evaluations and the attempts at them, and the events that clients watch.
-- Times are microseconds since 1970, UTC. Blobs are serialized messages of proto/fsr/v1.

CREATE TABLE task_versions (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  content BLOB NOT NULL, -- Task
  created_at_us INTEGER NOT NULL
) STRICT;

CREATE INDEX task_versions_by_name ON task_versions (name, id);

CREATE TABLE jobs (
  id INTEGER PRIMARY KEY, -- the number in the name
  name TEXT NOT NULL UNIQUE,
  request_id TEXT UNIQUE, -- NULL: the client gave none
  content_hash TEXT NOT NULL,
  task_version_id INTEGER NOT NULL REFERENCES task_versions (id),
  device_kind TEXT NOT NULL,
  generator BLOB NOT NULL, -- GeneratorSpec
  options BLOB NOT NULL, -- JobOptions
  prompt_templates BLOB NOT NULL, -- CreateJobRequest with that field only
  prompts_hash TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('QUEUED', 'RUNNING', 'FINISHED', 'CANCELLED', 'FAILED')),
  stop_reason TEXT NOT NULL,
  incumbent INTEGER, -- a candidate number; NULL: none yet
  created_at_us INTEGER NOT NULL,
  finished_at_us INTEGER,
  CHECK ((state IN ('QUEUED', 'RUNNING')) = (finished_at_us IS NULL)),
  FOREIGN KEY (id, incumbent) REFERENCES candidates (job_id, number)
) STRICT;

CREATE INDEX jobs_unfinished ON jobs (id) WHERE state IN ('QUEUED', 'RUNNING');
CREATE INDEX jobs_by_task ON jobs (task_version_id);

CREATE TABLE rounds (
  job_id INTEGER NOT NULL REFERENCES jobs (id),
  number INTEGER NOT NULL CHECK (number > 0),
  started_at_us INTEGER NOT NULL,
  PRIMARY KEY (job_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE prompts (
  job_id INTEGER NOT NULL,
  number INTEGER NOT NULL CHECK (number > 0),
  round INTEGER NOT NULL,
  branch TEXT NOT NULL
    CHECK (branch IN ('TASK', 'COMPILE_FAILURE', 'RUN_FAILURE', 'MISMATCH_FAILURE', 'PERFORMANCE')),
  dialogue INTEGER NOT NULL CHECK (dialogue > 0),
  parent_candidate INTEGER,
  system_text TEXT NOT NULL,
  user_text TEXT NOT NULL,
  completion TEXT, -- NULL: not answered yet
  change TEXT NOT NULL,
  answered_at_us INTEGER,
  PRIMARY KEY (job_id, number),
  CHECK ((completion IS NULL) = (answered_at_us IS NULL)),
  FOREIGN KEY (job_id, round) REFERENCES rounds (job_id, number),
  FOREIGN KEY (job_id, parent_candidate) REFERENCES candidates (job_id, number)
) STRICT;

CREATE TABLE evaluations (
  id INTEGER PRIMARY KEY,
  job_id INTEGER REFERENCES jobs (id), -- NULL: a single one, without a job
  purpose TEXT NOT NULL CHECK (purpose IN ('BASELINE', 'CANDIDATE', 'REMEASURE', 'SINGLE')),
  candidate INTEGER, -- whose kernel it is
  task_version_id INTEGER NOT NULL REFERENCES task_versions (id),
  device_kind TEXT NOT NULL,
  spec BLOB NOT NULL, -- EvaluationSpec without its task
  state TEXT NOT NULL CHECK (state IN ('WAITING', 'LEASED', 'FINISHED', 'CANCELLED')),
  outcome TEXT CHECK (outcome IN ('MEASURED', 'COMPILE_ERROR', 'LAUNCH_ERROR', 'RUNTIME_FAULT', 'TIMEOUT', 'MISMATCH',
    'REJECTED', 'UNSUPPORTED')),
  latency_us REAL, -- NULL: not measured
  estimated INTEGER CHECK (estimated IN (0, 1)),
  measured_on TEXT, -- the kind of the device itself, where device_kind may be 'cuda'
  result BLOB, -- Evaluation
  enqueued_at_us INTEGER NOT NULL,
  ended_at_us INTEGER,
  CHECK ((purpose = 'SINGLE') = (job_id IS NULL)),
  CHECK ((purpose IN ('CANDIDATE', 'REMEASURE')) = (candidate IS NOT NULL)),
  CHECK ((state = 'FINISHED') = (result IS NOT NULL)),
  CHECK ((state = 'FINISHED') = (outcome IS NOT NULL)),
  CHECK ((state IN ('WAITING', 'LEASED')) = (ended_at_us IS NULL)),
  CHECK ((latency_us IS NULL) = (estimated IS NULL)),
  CHECK ((latency_us IS NULL) = (measured_on IS NULL))
) STRICT;

CREATE INDEX evaluations_waiting ON evaluations (id) WHERE state = 'WAITING';
CREATE INDEX evaluations_waiting_by_device ON evaluations (device_kind, id) WHERE state = 'WAITING';
CREATE INDEX evaluations_single_open ON evaluations (id) WHERE purpose = 'SINGLE' AND state IN ('WAITING', 'LEASED');
CREATE INDEX evaluations_by_job ON evaluations (job_id, purpose, state, outcome, latency_us);
CREATE INDEX evaluations_measured ON evaluations (task_version_id, estimated, latency_us)
  WHERE purpose = 'CANDIDATE' AND outcome = 'MEASURED';
CREATE UNIQUE INDEX one_baseline_a_job ON evaluations (job_id) WHERE purpose = 'BASELINE';
CREATE UNIQUE INDEX one_remeasure_a_candidate ON evaluations (job_id, candidate) WHERE purpose = 'REMEASURE';
CREATE UNIQUE INDEX one_evaluation_a_candidate ON evaluations (job_id, candidate) WHERE purpose = 'CANDIDATE';

CREATE TABLE candidates (
  job_id INTEGER NOT NULL REFERENCES jobs (id),
  number INTEGER NOT NULL CHECK (number > 0),
  prompt INTEGER NOT NULL,
  source TEXT NOT NULL,
  source_hash TEXT NOT NULL,
  duplicate_of INTEGER, -- the first candidate with this source
  evaluation_id INTEGER REFERENCES evaluations (id), -- of duplicate_of where that is set
  refused BLOB, -- Evaluation, of a candidate that never was evaluated
  change TEXT NOT NULL,
  was_incumbent INTEGER NOT NULL CHECK (was_incumbent IN (0, 1)),
  created_at_us INTEGER NOT NULL,
  PRIMARY KEY (job_id, number),
  UNIQUE (job_id, prompt),
  CHECK ((evaluation_id IS NULL) = (refused IS NOT NULL)),
  FOREIGN KEY (job_id, prompt) REFERENCES prompts (job_id, number),
  FOREIGN KEY (job_id, duplicate_of) REFERENCES candidates (job_id, number)
) STRICT;

CREATE INDEX candidates_by_evaluation ON candidates (evaluation_id);
CREATE INDEX candidates_duplicate ON candidates (job_id, duplicate_of) WHERE duplicate_of IS NOT NULL;

CREATE TABLE attempts (
  lease_id TEXT PRIMARY KEY,
  evaluation_id INTEGER NOT NULL REFERENCES evaluations (id),
  number INTEGER NOT NULL CHECK (number > 0), -- of the evaluation
  worker_id TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('OPEN', 'FINISHED', 'LOST', 'RETURNED', 'CANCELLED')),
  reason TEXT NOT NULL, -- why it ended without a result
  leased_at_us INTEGER NOT NULL,
  ended_at_us INTEGER,
  UNIQUE (evaluation_id, number),
  CHECK ((state = 'OPEN') = (ended_at_us IS NULL))
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX one_open_attempt_an_evaluation ON attempts (evaluation_id) WHERE state = 'OPEN';
CREATE INDEX attempts_open_by_worker ON attempts (worker_id) WHERE state = 'OPEN';

CREATE TABLE events (
  job_id INTEGER NOT NULL REFERENCES jobs (id),
  sequence INTEGER NOT NULL CHECK (sequence > 0), -- from 1, without gaps
  content BLOB NOT NULL, -- Event
  PRIMARY KEY (job_id, sequence)
) STRICT;
