import {
  CLASSES,
  ENDS,
  MESSAGE_TYPES,
  OUTCOMES,
  OVERLOADS,
  UNMATCHED_KINDS,
  WAITING_REASONS,
  WORKER_STATES,
} from '@goshawk/core';
import { DROP_REASONS, REFUSAL_REASONS, REJECTION_REASONS } from '@goshawk/transport';

const ROLES = ['central', 'scheduler', 'worker'] as const;
export const JOURNAL_STATES = ['open', 'full', 'away', 'failed'] as const;
const PARTITIONS = ['general', 'short'] as const;

/** The values that a label may have: a closed list, or a word for the one value that each process has. */
type LabelValues = readonly string[] | { readonly one: string };

export interface MetricSpec {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels?: Readonly<Record<string, LabelValues>>;
  /** All machines of one process say the same: it does not add up. */
  readonly alike?: true;
  /** Who has it. */
  readonly of: readonly (typeof ROLES)[number][] | 'scheduler with a journal';
}

const BY_CLASS = { class: CLASSES };
const BY_CLASS_AND_END = { class: CLASSES, outcome: ENDS };
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
const alike = (help: string, labels?: Labels): Unowned => ({ ...gauge(help, labels), alike: true });
/** Of ms, shown in seconds. */
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
 * All metrics; the roles, `docs/METRICS.md` and the tests' lint read this table. Names follow Prometheus, and labels have closed
 * lists of values: no series for single jobs, tasks, workers or users.
 */
export const METRICS = {
  ...of(ROLES, {
    goshawk_build_info: gauge('Always 1; the labels name the version.', {
      version: { one: 'of Goshawk' },
      node_version: { one: 'of Node' },
    }),
    goshawk_ready: gauge('1 while /readyz answers 200.'),
    goshawk_process_start_time_seconds: gauge('When the process started, in seconds since 1970.'),
    goshawk_process_cpu_seconds_total: counter('Processor time of the process with its threads.'),
    goshawk_process_resident_memory_bytes: gauge('Memory of the process.'),
    goshawk_process_heap_used_bytes: gauge('JavaScript heap in use.'),
    goshawk_process_heap_limit_bytes: gauge(
      'The JavaScript heap may grow to this; beyond it the process ends.',
    ),
    goshawk_event_loop_delay_seconds: histogram('Delay of timers behind their due time.'),
    goshawk_event_loop_busy_seconds_total: counter('Busy time of the event loop; 1 s a second is full load.'),
    goshawk_timers_fired_total: counter('Timers of machines that fired.'),

    goshawk_connections: gauge('Connections that are open.', { way: ['inbound', 'outbound'] }),
    goshawk_mailbox_messages_total: counter('Messages that left, arrived, or stayed in the process.', BY_WAY),
    goshawk_mailbox_frames_total: counter('Frames that left, arrived, or stayed in the process.', BY_WAY),
    goshawk_mailbox_bytes_total: counter(
      'Bytes of frames that left, arrived, or stayed in the process.',
      BY_WAY,
    ),
    goshawk_mailbox_dropped_total: counter('Messages that did not reach their party.', {
      reason: DROP_REASONS,
    }),
    goshawk_mailbox_cuts_total: counter(
      'Times that all connections were cut, because one exceeded its memory bound.',
    ),
    goshawk_mailbox_refused_total: counter('Frames refused on arrival.', { reason: REFUSAL_REASONS }),
    goshawk_connections_rejected_total: counter(
      'Rejected connections, without a key of this cluster or with another protocol.',
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
      'Invalid messages, and messages that their sender has no right to.',
    ),
    goshawk_messages_unsendable_total: counter(
      'Messages of this process that broke their declaration: a bug of Goshawk.',
    ),
    goshawk_messages_failed_total: counter(
      'Messages dropped because a machine failed on them: a bug of Goshawk.',
    ),
    goshawk_log_lines_dropped_total: counter(
      'Lost lines of the log: its disk is full, or its reader is stuck.',
    ),
    goshawk_http_requests_total: counter('HTTP requests.'),
    goshawk_http_refused_total: counter('Refused HTTP requests.', { reason: ['token', 'host'] }),
  }),
  ...of(['scheduler'], {
    goshawk_scheduler_jobs: gauge('Jobs that have not ended.', { state: ['waiting', 'running'] }),
    goshawk_scheduler_jobs_accepted_total: counter('Accepted jobs.'),
    goshawk_scheduler_jobs_refused_total: counter(
      'Submissions refused for now, with a time to retry, by what there is too much of; journal: it is away.',
      { reason: OVERLOADS },
    ),
    goshawk_scheduler_jobs_ended_total: counter('Ended jobs, by class and outcome.', BY_CLASS_AND_END),
    goshawk_scheduler_cancellations_total: counter('Cancelled jobs.'),
    goshawk_scheduler_job_duration_seconds: histogram('From a job’s acceptance to its end.', BY_CLASS),
    goshawk_scheduler_queueing_seconds: histogram(
      'Time from a task’s readiness to its first binding.',
      BY_CLASS,
    ),
    goshawk_waiting_tasks: gauge('Waiting tasks, by class and reason.', {
      class: CLASSES,
      reason: WAITING_REASONS,
    }),
    goshawk_oldest_waiting_seconds: gauge(
      'Wait so far of the task that could start and has waited for longest; 0 where none waits.',
      BY_CLASS,
    ),
    goshawk_scheduler_running_tasks: gauge('Tasks bound to workers and not ended.', BY_CLASS),
    goshawk_scheduler_tasks_bound_total: counter('Bindings of tasks to workers.'),
    goshawk_scheduler_tasks_ended_total: counter('Ended tasks, by class and outcome.', BY_CLASS_AND_END),
    goshawk_scheduler_retries_total: counter('Failed attempts that were retried.'),
    goshawk_scheduler_attempts_lost_total: counter('Attempts lost with their worker.'),
    goshawk_scheduler_stale_reports_total: counter('Refused reports of outdated attempts.'),
    goshawk_scheduler_probes_sent_total: counter('Probes sent to workers.'),
    goshawk_scheduler_probes_recalled_total: counter('Probes cancelled before a worker served them.'),
    goshawk_scheduler_probes_out: gauge('Probes not served yet.'),
    goshawk_scheduler_asks_refused_total: counter('Probes served after the last task was bound.'),
    goshawk_scheduler_known_workers: alike('Workers that it knows of.'),
    goshawk_scheduler_central_silent: alike(
      '1 while nothing is heard of central: short jobs go on, long ones wait.',
    ),
    goshawk_scheduler_held_answers: gauge('Answers held until their records are durable.'),
    goshawk_scheduler_active_jobs_bytes: gauge(
      'Estimated memory of active jobs, and of the keys of ended ones.',
    ),
  }),
  ...of('scheduler with a journal', {
    goshawk_journal_state: alike(
      '1 for the state that the journal is in: full and away take no new jobs, failed takes nothing.',
      { state: JOURNAL_STATES },
    ),
    goshawk_journal_file_bytes: alike('Size of the journal’s file.'),
    goshawk_journal_used_bytes: alike('What is in use of the journal’s file.'),
    goshawk_journal_disk_free_bytes: alike(
      'Free space of the disk that the journal is on; not there where it cannot be watched.',
    ),
    goshawk_journal_records_appended_total: counter('Records given to the journal.'),
    goshawk_journal_records_written_total: counter('Durable records.'),
    goshawk_journal_commit_seconds: histogram('Time of a group commit.'),
  }),
  ...of(['central'], {
    goshawk_central_workers: gauge('Workers in the cluster.', BY_PARTITION_AND_STATE),
    goshawk_central_slots: gauge('Slots of the workers in the cluster.', BY_PARTITION_AND_STATE),
    goshawk_central_schedulers: gauge(
      'Schedulers: present; away, which central has seen and whose journals are kept; missing, which are expected and have not come since central started.',
      { state: ['present', 'away', 'missing'] },
    ),
    goshawk_central_lost_workers: gauge(
      'Workers that were lost within the last hour and have not come back; `goshawk workers` names them.',
    ),
    goshawk_central_unowned_journals: gauge(
      'Journals in a shared database that no scheduler has; `goshawk takeover --all` assigns them.',
    ),
    goshawk_central_disputed_addresses: gauge(
      'Addresses that two running processes claim; `goshawk workers` names them.',
    ),
    goshawk_central_workers_joined_total: counter('Workers that joined.'),
    goshawk_central_leases_lost_total: counter(
      'Parties whose lease expired, or that returned as a new incarnation.',
      { party: ['worker', 'scheduler'] },
    ),
    goshawk_central_tasks_placed_total: counter('Tasks placed by central.'),
    goshawk_central_placed_tasks: gauge('Tasks placed by central and not known to have ended.'),
    goshawk_central_pending_tasks: gauge('Tasks without a fitting worker at present.'),
    goshawk_central_matches_total: counter('Free slots matched with a job.'),
    goshawk_central_unmatched_tasks: gauge('Tasks in need of a free slot, by what is known of their job.', {
      kind: UNMATCHED_KINDS,
    }),
    goshawk_central_matching: gauge('1 while central matches short jobs; 0 while it is overloaded.'),
    goshawk_central_policy_failures_total: counter(
      'Exceptions of a custom policy; tasks then start in order of arrival.',
    ),
  }),
  ...of(['worker'], {
    goshawk_worker_workers: gauge('Workers of this process, by membership of the cluster.', {
      state: ['member', 'apart'],
    }),
    goshawk_worker_slots: gauge('Slots of the workers in this process.'),
    goshawk_worker_busy_slots: gauge('Slots with a task or a request for one.', BY_CLASS),
    goshawk_worker_queued_entries: gauge('Queued probes and placed tasks.'),
    goshawk_worker_unconfirmed_reports: gauge('Ends of tasks not confirmed by their owners.'),
    goshawk_worker_tasks_started_total: counter('Tasks that were started.'),
    goshawk_worker_tasks_ended_total: counter('Ended runs of tasks, by class and outcome.', {
      class: CLASSES,
      outcome: OUTCOMES,
    }),
    goshawk_worker_task_run_seconds: histogram('Run time of tasks.', BY_CLASS),
    goshawk_worker_steal_attempts_total: counter('Steal requests.'),
    goshawk_worker_steals_total: counter('Steal requests that got probes.'),
    goshawk_worker_probes_stolen_total: counter('Stolen probes.'),
    goshawk_worker_pauses_total: counter(
      'Quarantines of a worker: it could start nothing, failed tasks that others complete, or had stood still.',
    ),
    goshawk_worker_declined_total: counter('Probes and tasks returned unserved.'),
  }),
};

export type MetricName = keyof typeof METRICS;
