/** What of the tables did not become jobs as it was: counted, and told by `trace stats` and `trace convert`. */
export const COUNTS = {
  beforeTrace: {
    code: 'jobs-before-trace',
    what: 'jobs submitted before the trace began (time 0): left out',
  },
  withoutSubmission: {
    code: 'jobs-without-submission',
    what: 'jobs whose submission is not in these parts: left out',
  },
  withoutTasks: {
    code: 'jobs-without-tasks',
    what: 'jobs without a task event in these parts: left out',
  },
  cutOff: {
    code: 'jobs-cut-off',
    what: 'jobs with tasks that waited or ran when the parts end: left out',
  },
  nothingFinished: {
    code: 'jobs-nothing-finished',
    what: 'jobs of which no task finished: left out',
  },
  partlyFinished: {
    code: 'jobs-partly-finished',
    what: 'jobs of which some tasks did not finish: taken without those',
  },
  submittedAgain: {
    code: 'jobs-submitted-again',
    what: 'jobs submitted again under the same id after their end: taken as other jobs',
  },
  evicted: { code: 'tasks-evicted', what: 'tasks evicted and never run to their finish: left out' },
  failed: { code: 'tasks-failed', what: 'tasks that failed and never finished: left out' },
  killed: { code: 'tasks-killed', what: 'tasks killed before they finished: left out' },
  lost: { code: 'tasks-lost', what: 'tasks lost and never run to their finish: left out' },
  withoutStart: {
    code: 'tasks-without-start',
    what: 'tasks that finished without a start on record: left out',
  },
  withoutEnd: { code: 'tasks-without-end', what: 'tasks whose end was not recorded: left out' },
  ranAgain: {
    code: 'tasks-run-again',
    what: 'tasks that ran more than once: the last attempt that finished is taken',
  },
  requestsDiffer: {
    code: 'jobs-requests-differ',
    what: 'jobs whose tasks request different amounts: the largest of each is taken',
  },
  lateEvents: {
    code: 'events-late',
    what: 'task events long after the end of their job: ignored',
  },
} as const;
