-- Memory across jobs: what a job found out, and which lessons a job was told when it began. And the hash of the program
-- that an evaluation ran, so that the same program is not run twice in a job.

ALTER TABLE evaluations ADD COLUMN program_hash TEXT; -- NULL: not known

CREATE INDEX evaluations_by_program ON evaluations (job_id, program_hash, id)
  WHERE program_hash IS NOT NULL AND purpose = 'CANDIDATE';

CREATE TABLE lessons (
  id INTEGER PRIMARY KEY,
  job_id INTEGER NOT NULL UNIQUE REFERENCES jobs (id), -- that left it: one at most
  candidate INTEGER NOT NULL, -- the winner
  task TEXT NOT NULL,
  tags TEXT NOT NULL, -- one a line
  description TEXT NOT NULL, -- of the task
  device_kind TEXT NOT NULL, -- of the device itself
  speedup REAL NOT NULL CHECK (speedup > 1), -- over the baseline
  estimated INTEGER NOT NULL CHECK (estimated IN (0, 1)),
  text TEXT NOT NULL,
  created_at_us INTEGER NOT NULL,
  FOREIGN KEY (job_id, candidate) REFERENCES candidates (job_id, number)
) STRICT;

CREATE INDEX lessons_by_task ON lessons (task, device_kind, speedup);

-- The index over the words of `lessons`; lessons are never changed or deleted.
CREATE VIRTUAL TABLE lesson_words USING fts5 (
  task, tags, description, text, content = 'lessons', content_rowid = 'id', tokenize = 'porter unicode61'
);
CREATE TRIGGER lesson_words_of_new_lessons AFTER INSERT ON lessons BEGIN
  INSERT INTO lesson_words (rowid, task, tags, description, text)
  VALUES (new.id, new.task, new.tags, new.description, new.text);
END;

-- Kept with the job, so that its prompts are the same after a restart.
CREATE TABLE job_lessons (
  job_id INTEGER NOT NULL REFERENCES jobs (id),
  position INTEGER NOT NULL CHECK (position > 0), -- 1 is the most relevant
  lesson_id INTEGER NOT NULL REFERENCES lessons (id),
  PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;
