-- Language models: the calls to them with what they cost, the branch for kernels that broke a rule, and the temperature
-- that a prompt asks for. SQLite cannot change a CHECK, so `prompts` is made anew.

CREATE TABLE prompts_with_temperature (
  job_id INTEGER NOT NULL,
  number INTEGER NOT NULL CHECK (number > 0),
  round INTEGER NOT NULL,
  branch TEXT NOT NULL CHECK (branch IN ('TASK', 'COMPILE_FAILURE', 'RUN_FAILURE', 'MISMATCH_FAILURE', 'PERFORMANCE',
    'REJECTED_FAILURE')),
  dialogue INTEGER NOT NULL CHECK (dialogue > 0),
  parent_candidate INTEGER,
  system_text TEXT NOT NULL,
  user_text TEXT NOT NULL,
  temperature REAL, -- NULL: the model's own
  completion TEXT, -- NULL: not answered yet
  change TEXT NOT NULL,
  answered_at_us INTEGER,
  PRIMARY KEY (job_id, number),
  CHECK ((completion IS NULL) = (answered_at_us IS NULL)),
  FOREIGN KEY (job_id, round) REFERENCES rounds (job_id, number),
  FOREIGN KEY (job_id, parent_candidate) REFERENCES candidates (job_id, number)
) STRICT;

INSERT INTO prompts_with_temperature
SELECT job_id, number, round, branch, dialogue, parent_candidate, system_text, user_text, NULL, completion, change,
  answered_at_us
FROM prompts;
DROP TABLE prompts;
ALTER TABLE prompts_with_temperature RENAME TO prompts;

CREATE INDEX prompts_waiting ON prompts (job_id, number) WHERE completion IS NULL;

CREATE TABLE model_calls (
  job_id INTEGER NOT NULL REFERENCES jobs (id),
  number INTEGER NOT NULL CHECK (number > 0),
  prompt INTEGER NOT NULL, -- the first of those that it answers
  state TEXT NOT NULL CHECK (state IN ('OPEN', 'ANSWERED', 'FAILED', 'LOST')),
  input_tokens INTEGER NOT NULL,
  cached_input_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_usd REAL NOT NULL,
  content BLOB NOT NULL, -- ModelCall
  PRIMARY KEY (job_id, number),
  FOREIGN KEY (job_id, prompt) REFERENCES prompts (job_id, number)
) STRICT;

CREATE INDEX model_calls_by_prompt ON model_calls (job_id, prompt);
