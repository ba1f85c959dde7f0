import { JOB_STATES, type OutputsOf, type PublishedSchemas, publish, ROLES } from '@goshawk/core';
import { z } from 'zod';

/**
 * Schemas of outputs and files that only the command and its daemons write. Those shared with HTTP are in the
 * gateway.
 */
const count = z.int().nonnegative();
const seconds = z.number().nonnegative();
const time = z.iso.datetime();
const amounts = z.record(z.string(), z.number());

/** Metadata of a complete list. */
const untruncated = { total: count, truncated: z.literal(false), next: z.null() };

const autoscale = z.object({
  schema: z.literal('goshawk.autoscale/1'),
  at: time,
  pool: z.string(),
  action: z.enum(['start', 'drain', 'undo', 'end']),
  dryRun: z.boolean(),
  workers: z.array(z.string()),
  from: count.describe('Number of workers before and after.'),
  to: count,
  reason: z.string(),
});

const clusters = z.object({
  schema: z.literal('goshawk.clusters/1'),
  clusters: z.array(
    z.object({
      cluster: z.string(),
      dataFolder: z.string().nullable(),
      keys: z.string().nullable(),
      pid: count,
      startedAt: time.nullable(),
      here: z.boolean().describe('Whether it was started from this folder.'),
    }),
  ),
  ...untruncated,
});

const config = z.object({
  schema: z.literal('goshawk.config/1'),
  settings: z.array(
    z.object({
      commands: z.array(z.string()).describe('Commands that have the option; empty for every command.'),
      name: z.string(),
      value: z.union([z.string(), z.number(), z.boolean(), z.array(z.string()), z.null()]),
      unit: z.literal('ms').optional(),
      whenUnset: z.string().optional(),
      origin: z.enum(['flag', 'environment', 'file', 'default', 'not set']),
      source: z.string().describe('Name of the variable or of the file.'),
    }),
  ),
  ...untruncated,
});

const daemon = z.object({
  schema: z.literal('goshawk.daemon/1'),
  role: z.enum(['central', 'scheduler', 'worker', 'dashboard']),
  endpoint: z.string(),
});

const up = z.object({
  schema: z.literal('goshawk.up/1'),
  cluster: z.string(),
  dataFolder: z.string(),
  dashboard: z.string().nullable(),
  http: z.string().nullable(),
  httpTokenFile: z.string().nullable(),
  keys: z.string().nullable(),
  cutoffSeconds: seconds,
  cutoffJobs: count
    .nullable()
    .describe('Number of completed jobs that the cutoff was learned from; null if it was set.'),
});

const keygen = z.object({
  schema: z.literal('goshawk.keygen/1'),
  folder: z.string(),
  files: z.array(z.object({ role: z.enum(ROLES), path: z.string() })),
  step: z.enum([
    'made',
    'kept',
    'client',
    'worker',
    'scheduler',
    'revoked',
    'prepared',
    'switched',
    'finished',
  ]),
  client: z.string().nullable().describe('The client whose key was created, or the key that was revoked.'),
  key: z.string().nullable().describe('File of the key of one process that was created.'),
});

const keysList = z.object({
  schema: z.literal('goshawk.keys-list/1'),
  keys: z.array(
    z.object({
      name: z.string(),
      role: z.enum(ROLES),
      shared: z.boolean().describe('The key of all processes of the role without an individual key.'),
      rights: z.array(z.string()).nullable().describe('Rights of a client; null for other roles.'),
      names: z
        .array(z.string())
        .nullable()
        .describe(
          'Patterns of the names that the process may take; null: any that is not the name of another key.',
        ),
      bounds: z
        .string()
        .nullable()
        .describe('Attributes and size that the key permits workers, as text; null: any.'),
      expiresAt: z.string().nullable(),
    }),
  ),
  ...untruncated,
});

const keysRevoked = z.object({
  schema: z.literal('goshawk.keys-revoked/1'),
  folder: z.string(),
  name: z.string(),
});

const policies = z.object({
  schema: z.literal('goshawk.policies/1'),
  policies: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      options: z.array(
        z.object({
          name: z.string(),
          flag: z.string(),
          default: z.union([z.string(), z.number(), z.boolean()]),
          values: z.string(),
          help: z.string(),
        }),
      ),
      settings: z.array(z.object({ flag: z.string(), default: z.string(), help: z.string() })),
    }),
  ),
  ...untruncated,
});

const holder = {
  user: z.string().nullable(),
  weight: z
    .number()
    .positive()
    .nullable()
    .describe('Null if central does not know it, because all of the jobs are on hold or have not begun.'),
  userWeight: z.number().positive().nullable(),
  running: count,
  waiting: count,
  share: z.number().describe("Fraction of the cluster's `of`, the holder's dominant resource."),
  of: z.string().nullable(),
  dueShare: z.number().nullable().describe('Null if the policy does not enforce shares.'),
  has: amounts,
  due: amounts.nullable(),
};

const shares = z.object({
  schema: z.literal('goshawk.shares/1'),
  by: z.enum(['job', 'user']),
  sharedBy: z.enum(['job', 'user']).nullable(),
  capacity: amounts,
  shares: z.array(z.union([z.object({ job: z.string(), ...holder }), z.object({ jobs: count, ...holder })])),
  total: count,
  truncated: z.boolean(),
  next: count.nullable(),
});

/** Output of `submit --resume` and `--skip-existing` if no task is left. */
const submitSkipped = z.object({
  schema: z.literal('goshawk.submit-skipped/1'),
  job: z.null(),
  skipped: z.object({ completed: count, active: count, existing: count }),
});

const event = z.object({
  schema: z.literal('goshawk.event/1'),
  number: count,
  at: time,
  kind: z.string(),
  text: z.string(),
  worker: z.string().nullable(),
  scheduler: z.string().nullable(),
  by: z
    .string()
    .nullable()
    .describe(
      'Name of the key of the client that requested it; null: nobody did, or the cluster has no keys.',
    ),
});

const takeover = z.object({
  schema: z.literal('goshawk.takeover/1'),
  scheduler: z.string(),
  jobs: count.nullable().describe('Number of unfinished jobs at its last heartbeat; null: unknown.'),
  schedulers: count.optional(),
});

const journal = z.object({
  schema: z.literal('goshawk.journal/1'),
  tag: z.string(),
  format: count,
  version: z.string().describe('Version of Goshawk that created the journal.'),
  formers: z.array(z.string()),
  fileBytes: count,
  usedBytes: count,
  jobs: count,
  jobsEnded: count,
  records: count,
  firstAt: z.number().optional().describe('Milliseconds since 1970; absent without records.'),
  lastAt: z.number().optional(),
  holder: z.string().optional().describe('Owner of a journal in PostgreSQL.'),
  epoch: count.optional(),
});

const damaged = z.object({
  job: count,
  place: count,
  problem: z.string(),
});

const journalInit = z.object({
  schema: z.literal('goshawk.journal-init/1'),
  before: count.describe('Previous version of the tables; 0 without tables.'),
  version: count,
});

const journalOwners = z.object({
  schema: z.literal('goshawk.journal-owners/1'),
  journals: z.array(
    z.object({
      name: z.string(),
      tag: z.string(),
      owner: z.string().nullable(),
      lastOwner: z.string(),
      epoch: count,
      jobs: count,
      activeJobs: count,
    }),
  ),
});

const journalVerify = z.object({
  schema: z.literal('goshawk.journal-verify/1'),
  records: count,
  jobs: count,
  damaged: z.array(damaged),
});

const journalRepair = z.object({
  schema: z.literal('goshawk.journal-repair/1'),
  tag: z.string(),
  records: count,
  jobs: count,
  damaged: z.array(damaged),
  problems: z.array(z.string()),
  kept: z.string().nullable().describe('Folder of the damaged journal; null if nothing was damaged.'),
});

const journalImport = z.object({
  schema: z.literal('goshawk.journal-import/1'),
  tag: z.string(),
  records: count,
  jobs: count,
});

const journalBackup = z.object({
  schema: z.literal('goshawk.journal-backup/1'),
  tag: z.string(),
  file: z.string(),
  records: count,
  damaged: count.describe('Records that cannot be read and are left out.'),
});

/** Notification that a scheduler posts to the URL of `--notify`. */
const notification = z.object({
  schema: z.literal('goshawk.notification/1'),
  event: z.literal('ended'),
  job: z.string(),
  name: z.string(),
  user: z.string().nullable(),
  state: z.enum(JOB_STATES),
  tasks: z.object({
    total: count,
    waiting: count,
    running: count,
    completed: count,
    failed: count,
    cancelled: count,
  }),
  submittedAt: time,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
});

const schemas = z.object({ schema: z.literal('goshawk.schemas/1'), names: z.array(z.string()) });

/** `/status` of a daemon. Counters differ between roles and versions. */
const status = z.object({
  schema: z.literal('goshawk.status/1'),
  version: z.string(),
  role: z.enum(ROLES),
  endpoint: z.string(),
  encrypted: z.boolean(),
  startedAt: time,
  notReady: z.array(z.string()),
  mailbox: z.record(z.string(), z.unknown()),
  machines: z.record(z.string(), z.record(z.string(), z.unknown())),
});

/** Fields of every line of `--audit-log`. */
const audited = { schema: z.literal('goshawk.audit/1'), at: time, by: z.string() };

const audit = z.union([
  z.object({
    ...audited,
    action: z
      .string()
      .describe(
        '`submit`, `cancel` and other changes; the type of the message for a refused request that only reads.',
      ),
    outcome: z.enum(['done', 'pending', 'refused']),
    code: z.string().optional(),
    key: z.string().nullable(),
    client: z.string(),
    from: z.string().nullable(),
    job: z.string().optional(),
    jobs: count.optional().describe('Number of affected jobs.'),
    worker: z.string().optional(),
    scheduler: z.string().optional(),
    idempotencyKey: z.string().optional(),
    name: z.string().optional(),
    user: z.string().optional(),
    on: z.boolean().optional().describe('Present for `drain`; false accepts tasks again.'),
    deadlineMs: count.optional().describe('Present for `drain --deadline`.'),
  }),
  z.object({
    ...audited,
    action: z.literal('connection'),
    outcome: z.literal('refused'),
    attempts: count,
    noKey: count.optional(),
    unknownKey: count.optional(),
    wrongServerKey: count.optional(),
    malformed: count.optional(),
    incomplete: count.optional(),
    addresses: z.array(z.string()),
  }),
  z.object({
    ...audited,
    action: z.literal('keys'),
    outcome: z.literal('done'),
    file: z.string(),
    generations: count,
    added: z.array(z.string()),
    revoked: z.array(z.string()),
  }),
]);

const SHAPES = [
  autoscale,
  clusters,
  config,
  daemon,
  journal,
  journalBackup,
  journalImport,
  journalInit,
  journalOwners,
  journalRepair,
  journalVerify,
  keygen,
  keysList,
  keysRevoked,
  notification,
  policies,
  schemas,
  shares,
  status,
  submitSkipped,
  event,
  takeover,
  up,
] as const;

declare module '@goshawk/core' {
  interface Outputs extends OutputsOf<(typeof SHAPES)[number]> {}
}

/** Returns the schemas that the HTTP API does not share. */

export function commandSchemas(): PublishedSchemas {
  return publish(SHAPES, { 'goshawk.audit/1': audit });
}
