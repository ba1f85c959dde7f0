import {
  CLASSES,
  ENDS,
  MESSAGE_TYPES,
  OUTCOMES,
  OVERLOADS,
  OWNER_REASONS,
  UNMATCHED_KINDS,
  WORKER_STATES,
} from '@goshawk/core';
import {
  DROP_REASONS,
  NO_ROUTE,
  REFUSAL_REASONS,
  REJECTION_REASONS,
  STATUS_CLASSES,
} from '@goshawk/transport';

const ROLES = ['central', 'scheduler', 'worker'] as const;
export const JOURNAL_STATES = ['open', 'full', 'lost', 'away', 'failed'] as const;
const PARTITIONS = ['general', 'short'] as const;

/** Values of a label: a closed list, or a description of the one value that each process has. */
type LabelValues = readonly string[] | { readonly one: string };

export interface MetricSpec {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels?: Readonly<Record<string, LabelValues>>;
  /** Whether all machines of a process report the same value, so that values must not be added. */
  readonly isShared?: true;
  /** Roles that have the metric. */
  readonly of: readonly (typeof ROLES)[number][] | 'scheduler with a journal';
}

const BY_CLASS = { class: CLASSES };
const BY_CLASS_AND_END = { class: CLASSES, outcome: ENDS };
/** Values of the label `user` that are not users. A user of this name is counted there. */
export const OTHER_USERS = '(other)';
export const NO_USER = '(none)';
/** Maximum number of users with separate series. */
export const METRICS_USERS_MAX = 200;
const BY_USER = {
  user: {
    one: `with the most load, at most \`--metrics-users\` of them; \`${OTHER_USERS}\`: all others; \`${NO_USER}\`: jobs without a user`,
  },
};
const BY_TYPE = { type: MESSAGE_TYPES };
const BY_WAY = { way: ['sent', 'received', 'local'] };
const BY_PARTITION_AND_STATE = { partition: PARTITIONS, state: WORKER_STATES };

type Labels = NonNullable<MetricSpec['labels']>;
type Unowned = Omit<MetricSpec, 'of'>;

const ofKind =
  (kind: MetricSpec['kind']) =>
  (help: string, labels?: Labels): Unowned => ({ kind, help, ...(labels && { labels }) });
const counter = ofKind('counter');
const gauge = ofKind('gauge');
const alike = (help: string, labels?: Labels): Unowned => ({ ...gauge(help, labels), isShared: true });
/** Creates a histogram that is recorded in ms and exported in seconds. */
const histogram = ofKind('histogram');

function of<Name extends string>(
  whom: MetricSpec['of'],
  metrics: Readonly<Record<Name, Unowned>>,
): Readonly<Record<Name, MetricSpec>> {
  const entries = Object.entries<Unowned>(metrics);
  return Object.fromEntries(entries.map(([name, spec]) => [name, { ...spec, of: whom }])) as Record<
    Name,
    MetricSpec
  >;
}

/**
 * All metrics. The roles, `docs/METRICS.md` and the lint test read this table. Names follow Prometheus.
 * Labels have closed lists of values, so there is no series per job, task or worker, and a bounded number by user.
 */
export const METRICS = {
  ...of(ROLES, {
    goshawk_build_info: gauge('Always 1; the labels name the version.', {
      version: { one: 'of Goshawk' },
      node_version: { one: 'of Node' },
    }),
    goshawk_ready: gauge('1 while /readyz answers 200.'),
    goshawk_process_start_time_seconds: gauge('When the process started, in seconds since 1970.'),
    goshawk_process_clock_seconds: gauge('Clock of its machine, in seconds since 1970.'),
    goshawk_process_cpu_seconds_total: counter('Processor time of the process with its threads.'),
    goshawk_process_resident_memory_bytes: gauge('Memory of the process.'),
    goshawk_process_open_fds: gauge('Open file descriptors; Linux only.'),
    goshawk_process_max_fds: gauge('Limit of open file descriptors (ulimit -n); Linux only.'),
    goshawk_process_heap_used_bytes: gauge('JavaScript heap in use.'),
    goshawk_process_heap_limit_bytes: gauge(
      'Maximum size of the JavaScript heap; the process crashes beyond it.',
    ),
    goshawk_event_loop_delay_seconds: histogram('How late timers fire.'),
    goshawk_event_loop_busy_seconds_total: counter(
      'Busy time of the event loop; 1 s per second is full load.',
    ),
    goshawk_timers_fired_total: counter('Fired timers of the state machines.'),

    goshawk_connections: gauge('Open connections.', { way: ['inbound', 'outbound'] }),
    goshawk_mailbox_messages_total: counter(
      'Messages sent, received, or delivered within the process.',
      BY_WAY,
    ),
    goshawk_mailbox_frames_total: counter('Frames sent, received, or delivered within the process.', BY_WAY),
    goshawk_mailbox_bytes_total: counter(
      'Bytes of frames sent, received, or delivered within the process.',
      BY_WAY,
    ),
    goshawk_mailbox_dropped_total: counter('Messages that were not delivered.', {
      reason: DROP_REASONS,
    }),
    goshawk_mailbox_cuts_total: counter(
      'How often all connections were closed because one exceeded its memory limit.',
    ),
    goshawk_mailbox_refused_total: counter(
      'Frames refused on arrival; otherVersion: from a process with another protocol version.',
      { reason: REFUSAL_REASONS },
    ),
    goshawk_connections_rejected_total: counter(
      'Rejected connections: without a key of this cluster, or with another protocol; incomplete: ended before the handshake, as on a busy machine.',
      { reason: REJECTION_REASONS },
    ),
    goshawk_messages_received_total: counter(
      'Messages received by machines, by type; types without messages are absent.',
      BY_TYPE,
    ),
    goshawk_messages_sent_total: counter(
      'Messages sent by machines, by type; types without messages are absent.',
      BY_TYPE,
    ),
    goshawk_messages_refused_total: counter(
      'Invalid messages, and messages that the sender was not permitted to send.',
    ),
    goshawk_messages_unsendable_total: counter(
      'Messages of this process that did not match their declaration: a bug in Goshawk.',
    ),
    goshawk_messages_failed_total: counter(
      'Messages dropped because a state machine failed on them: a bug in Goshawk.',
    ),
    goshawk_log_lines_dropped_total: counter('Lost log lines: the disk is full, or the reader is stuck.'),
    goshawk_http_request_seconds: histogram(
      'Time from an HTTP request to the end of its answer; a stream lasts as long as it is open.',
      {
        route: {
          one: `method and template of the path, such as \`GET /v1/jobs/{id}\`; \`${NO_ROUTE}\`: there is no such path`,
        },
        status: STATUS_CLASSES,
      },
    ),
    goshawk_http_refused_total: counter('Refused HTTP requests.', { reason: ['token', 'host'] }),
  }),
  ...of(['scheduler'], {
    goshawk_scheduler_jobs: gauge('Number of active jobs.', { state: ['waiting', 'running'] }),
    goshawk_scheduler_jobs_accepted_total: counter('Accepted jobs.'),
    goshawk_scheduler_jobs_refused_total: counter(
      'Submissions refused temporarily, by the limit that was reached; journal: the journal is unavailable.',
      { reason: OVERLOADS },
    ),
    goshawk_scheduler_jobs_ended_total: counter('Ended jobs, by class and outcome.', BY_CLASS_AND_END),
    goshawk_scheduler_cancellations_total: counter('Cancelled jobs.'),
    goshawk_scheduler_job_duration_seconds: histogram('Time from a job’s acceptance to its end.', BY_CLASS),
    goshawk_scheduler_queueing_seconds: histogram(
      'Time from a task becoming ready to its first binding.',
      BY_CLASS,
    ),
    goshawk_waiting_tasks: gauge('Waiting tasks, by class and reason.', {
      class: CLASSES,
      reason: OWNER_REASONS,
    }),
    goshawk_oldest_waiting_seconds: gauge(
      'Waiting time of the longest-waiting ready task; 0 if none waits.',
      BY_CLASS,
    ),
    goshawk_scheduler_running_tasks: gauge('Tasks bound to workers and not ended.', BY_CLASS),
    goshawk_scheduler_user_jobs: gauge('Active jobs, by user.', BY_USER),
    goshawk_scheduler_user_running_tasks: gauge('Tasks bound to workers and not ended, by user.', BY_USER),
    goshawk_scheduler_user_running_cpus: gauge('CPUs that running tasks request, by user.', BY_USER),
    goshawk_scheduler_user_waiting_tasks: gauge('Tasks that have not started, by user.', BY_USER),
    goshawk_scheduler_tasks_bound_total: counter('Bindings of tasks to workers.'),
    goshawk_scheduler_tasks_ended_total: counter('Ended tasks, by class and outcome.', BY_CLASS_AND_END),
    goshawk_scheduler_retries_total: counter('Failed attempts that were retried.'),
    goshawk_scheduler_attempts_lost_total: counter(
      'Attempts that were lost or stopped with their worker, preempted, or ended with their gang; they use no retry.',
    ),
    goshawk_scheduler_stale_reports_total: counter('Refused reports of stale attempts.'),
    goshawk_scheduler_probes_sent_total: counter('Probes sent to workers.'),
    goshawk_scheduler_probes_recalled_total: counter('Probes cancelled before a worker served them.'),
    goshawk_scheduler_probes_out: gauge('Probes not served yet.'),
    goshawk_scheduler_asks_refused_total: counter('Probes served after the last task was bound.'),
    goshawk_scheduler_estimator_failures_total: counter(
      'Exceptions and invalid answers of the estimator; the submitter’s estimate is then used.',
    ),
    goshawk_scheduler_known_workers: alike('Workers known to the scheduler.'),
    goshawk_scheduler_central_silent: alike(
      '1 while central is silent: short jobs continue, long jobs wait.',
    ),
    goshawk_scheduler_held_answers: gauge('Replies delayed until their records are durable.'),
    goshawk_scheduler_active_jobs_bytes: gauge(
      'Estimated memory of active jobs, and of the keys of ended ones.',
    ),
  }),
  ...of('scheduler with a journal', {
    goshawk_journal_state: alike(
      '1 for the current state of the journal: full, lost (the data folder is gone) and away accept no new jobs, failed accepts no records.',
      { state: JOURNAL_STATES },
    ),
    goshawk_journal_file_bytes: alike('Size of the journal’s file.'),
    goshawk_journal_used_bytes: alike('Bytes in use in the journal’s file.'),
    goshawk_journal_disk_free_bytes: alike(
      'Free space on the journal’s disk; absent if it cannot be determined.',
    ),
    goshawk_journal_backup_age_seconds: alike(
      'Time since the last `goshawk journal backup` of the data folder; absent if there was none.',
    ),
    goshawk_journal_records_appended_total: counter('Records passed to the journal.'),
    goshawk_journal_records_written_total: counter('Durable records.'),
    goshawk_journal_commit_seconds: histogram('Time of a group commit.'),
  }),
  ...of(['central'], {
    goshawk_central_workers: gauge('Workers in the cluster.', BY_PARTITION_AND_STATE),
    goshawk_central_slots: gauge('CPUs of the workers in the cluster.', BY_PARTITION_AND_STATE),
    goshawk_central_schedulers: gauge(
      'Schedulers: present; away, seen before with a journal that is kept; missing, expected but not seen since central started.',
      { state: ['present', 'away', 'missing'] },
    ),
    goshawk_central_lost_workers: gauge(
      'Workers lost within the last hour that have not returned; `goshawk workers` lists them.',
    ),
    goshawk_central_unowned_journals: gauge(
      'Journals in a shared database that no scheduler owns; `goshawk takeover --all` assigns them.',
    ),
    goshawk_central_disputed_addresses: gauge(
      'Addresses that two running processes claim; `goshawk workers` lists them.',
    ),
    goshawk_central_workers_joined_total: counter('Workers that joined.'),
    goshawk_central_leases_lost_total: counter(
      'Parties whose lease expired, or that returned as a new incarnation.',
      { party: ['worker', 'scheduler'] },
    ),
    goshawk_central_tasks_placed_total: counter('Tasks placed by central.'),
    goshawk_central_placed_tasks: gauge('Tasks placed by central and not known to have ended.'),
    goshawk_central_pending_tasks: gauge('Tasks that currently fit no worker.'),
    goshawk_central_matches_total: counter('Free places at workers matched with a job.'),
    goshawk_central_unmatched_tasks: gauge('Tasks that need a free worker, by kind of job.', {
      kind: UNMATCHED_KINDS,
    }),
    goshawk_central_matching: gauge('1 while central matches short jobs; 0 while it is overloaded.'),
    goshawk_central_policy_failures_total: counter(
      'Exceptions of a custom policy; tasks then start in order of arrival.',
    ),
    goshawk_central_policy_replaced: gauge(
      '1 after central has restarted with goshawk, because a custom policy did not return or ended its process.',
    ),
  }),
  ...of(['worker'], {
    goshawk_worker_workers: gauge('Workers of this process, by membership of the cluster.', {
      state: ['member', 'apart'],
    }),
    goshawk_worker_slots: gauge('CPUs of the workers in this process.'),
    goshawk_worker_busy_slots: gauge('Tasks that run or are being fetched.', BY_CLASS),
    goshawk_worker_paused_tasks: gauge('Tasks that are paused, because other tasks use their CPUs.'),
    goshawk_worker_queued_entries: gauge('Queued probes and placed tasks.'),
    goshawk_worker_unconfirmed_reports: gauge('Task reports not yet confirmed by their owners.'),
    goshawk_worker_tasks_started_total: counter('Started tasks.'),
    goshawk_worker_tasks_ended_total: counter('Ended runs of tasks, by class and outcome.', {
      class: CLASSES,
      outcome: OUTCOMES,
    }),
    goshawk_worker_task_run_seconds: histogram('Run time of tasks.', BY_CLASS),
    goshawk_worker_steal_attempts_total: counter('Steal requests.'),
    goshawk_worker_steals_total: counter('Steal requests that returned probes.'),
    goshawk_worker_probes_stolen_total: counter('Stolen probes.'),
    goshawk_worker_pauses_total: counter(
      'Quarantines of a worker: it could not start tasks, failed tasks that others complete, or was suspended.',
    ),
    goshawk_worker_lent_cpu_seconds_total: counter(
      'CPU time that paused tasks have lent to others, counted when a loan ends.',
    ),
    goshawk_worker_declined_total: counter('Probes and tasks returned unserved.'),
  }),
};

export type MetricName = keyof typeof METRICS;
