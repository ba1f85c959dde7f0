import { relative, sep } from 'node:path';
import type { TraceFormat } from '../trace-format.js';
import { JOB_EVENTS, TASK_EVENTS } from './events.js';
import { findParts, holdsTables } from './parts.js';
import { readGoogle2011 } from './read.js';

/** The official 2011 Google cluster trace (ClusterData2011_2), as it is downloaded. */
export const google2011 = {
  name: 'google2011',
  sample: 'google2011',
  aJob: 'add more parts',
  endings: [],
  // One part of one table; `read` explains which folder to give instead.
  recognises: (firstLine) =>
    /^\d+,/.test(firstLine) &&
    [JOB_EVENTS.columns, TASK_EVENTS.columns].includes(firstLine.split(',').length),
  recognisesFolder: holdsTables,
  filesIn: async (folder) => {
    const parts = await findParts(folder);
    return [...parts.job_events, ...parts.task_events].map((file) =>
      relative(folder, file).replaceAll(sep, '/'),
    );
  },
  read: readGoogle2011,
} as const satisfies TraceFormat;
