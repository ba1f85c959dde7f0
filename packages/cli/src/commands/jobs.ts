import { defineCommand, painter, plain } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import { counted, InputError, JOB_STATES, jobsJson, LIMITS, parseJobQuery } from '@goshawk/core';
import { jobsTable } from '../jobs/jobs-table.js';
import { noteWarnings } from '../jobs/note-warnings.js';
import { statesIn } from '../jobs/states.js';
import { STRICT, strictly } from '../jobs/strict.js';

/** Maximum number of users near their limit that are shown. */
const QUOTAS_SHOWN = 5;
const LISTED_MAX = LIMITS.jobsListedMax;

export const jobsCommand = defineCommand({
  name: 'jobs',
  words: '[QUERY…]',
  describe:
    'list active jobs and the last ten ended jobs, or the jobs that match a query such as name:etl* user:ann state:failed since:1h',
  examples: [
    ['goshawk jobs --state running,waiting', 'list only active jobs'],
    ["goshawk jobs 'name:etl* state:failed since:1h'", 'list jobs of the last hour that failed, by name'],
    [
      "goshawk jobs 'worker:w1 exit:137 since:2h until:1h'",
      'list jobs of a past hour of which a task was killed, at w1',
    ],
    [
      'goshawk jobs --user $USER --all --json',
      'list all my jobs, including every ended job that schedulers still keep',
    ],
  ],
  options: {
    state: {
      type: 'text',
      value: 'STATES',
      setting: false,
      suggests: JOB_STATES,
      describe: `only jobs in these states: ${JOB_STATES.join(', ')}, comma-separated`,
    },
    user: { type: 'text', value: 'NAME', setting: false, describe: 'only jobs of this user' },
    all: { type: 'flag', setting: false, describe: 'list all ended jobs, not only the last ten' },
    limit: {
      type: 'count',
      setting: false,
      default: 1_000,
      min: 1,
      max: LISTED_MAX,
      describe: 'maximum number of entries to list',
    },
    strict: STRICT,
    from: {
      type: 'count',
      setting: false,
      default: 0,
      describe: 'skip this many jobs, to continue a truncated list',
    },
  },
  async run(context, options, { words }) {
    const { from, user, limit } = options;
    const { id, ...query } = parseJobQuery(words.join(' '), Date.now());
    if (id !== undefined)
      throw new InputError('usage', `jobs: ${id} is a job id, not a query`, `use \`goshawk job ${id}\``);
    if (query.states !== undefined && options.state !== undefined)
      throw new InputError('usage', 'jobs: --state and state: cannot be used together', 'use one of them');
    const states = query.states ?? (options.state === undefined ? [] : statesIn(options.state));
    // A query searches all jobs.
    const all = options.all || words.length > 0;
    await using cluster = await openCluster(context);
    const signal = context.interrupted;
    const [listed, settings] = await Promise.all([
      cluster.jobs({ ...query, states, user, from, all, limit, signal }),
      context.global.json ? cluster.settings({ signal }) : undefined,
    ]);
    const { jobs, total, truncated, next = null, silent, warnings, quotas } = listed;
    if (context.global.json) {
      context.json(jobsJson(listed, { now: Date.now(), cutoff: settings?.policy ?? null }));
      return strictly(options.strict, silent);
    }
    if (jobs.length > 0) {
      context.out(jobsTable(jobs, Date.now(), painter(context)));
    } else {
      context.note(total > 0 ? 'no more jobs' : 'no jobs');
    }
    for (const scheduler of silent) context.note(`no answer from ${scheduler}: its jobs are not listed`);
    noteWarnings(context, { warnings });
    for (const { user, waiting, max, scheduler } of quotas.slice(0, QUOTAS_SHOWN))
      context.note(
        plain(`${user ?? '(no user)'} has ${waiting} of at most ${max} waiting tasks at ${scheduler}`),
      );
    // A page that the last job fills may be followed by an empty one.
    const more = total - from - jobs.length;
    if (truncated && more > 0) {
      // Without --all, only ended jobs beyond the last ten are omitted, unless the limit cuts the list.
      const isCut = all || from > 0 || jobs.length === limit;
      const goesOn = next === null ? '' : `; continue with --from ${next}`;
      context.note(`${counted(more, 'more job')}${isCut ? goesOn : '; --all lists them'}`);
    }
    return strictly(options.strict, silent);
  },
});
