import {
  CLASSES,
  ENDS,
  MESSAGE_TYPES,
  OUTCOMES,
  UNMATCHED_KINDS,
  WAITING_REASONS,
  WORKER_STATES,
} from '@goshawk/core';
import { DROP_REASONS, REFUSAL_REASONS, REJECTION_REASONS } from '@goshawk/transport';

export const ROLES = ['central', 'scheduler', 'worker'] as const;
export const JOURNAL_STATES = ['open', 'full', 'away', 'failed'] as const;
const PARTITIONS = ['general', 'short'] as const;

/** The values that a label may have: a closed list, or a word for the one value that each process has. */
export type LabelValues = readonly string[] | { readonly one: string };

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
    goshawk_build_info: gauge('Always 1; what runs is in the labels.', {
      version: { one: 'of Goshawk' },
      node_version: { one: 'of Node' },
    }),
    goshawk_ready: gauge('1 while /readyz says so.'),
    goshawk_process_start_time_seconds: gauge('When the process started, in seconds since 1970.'),
    goshawk_process_cpu_seconds_total: counter('Processor time of the process, of its threads too.'),
    goshawk_process_resident_memory_bytes: gauge('Memory of the process.'),
    goshawk_process_heap_used_bytes: gauge('JavaScript heap in use.'),
    goshawk_process_heap_limit_bytes: gauge(
      'The JavaScript heap may grow to this; beyond it the process ends.',
    ),
    goshawk_event_loop_delay_seconds: histogram('How much later than due the timers of the process fired.'),
    goshawk_event_loop_busy_seconds_total: counter(
      'For how long the event loop had something to do; it can do no more than a second in a second.',
    ),
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
      'How often all connections to the process were cut, since one of them took memory without end.',
    ),
    goshawk_mailbox_refused_total: counter('Frames that were not let in.', { reason: REFUSAL_REASONS }),
    goshawk_connections_rejected_total: counter(
      'Connections refused to who has no key of this cluster, or does not speak its protocol.',
      { reason: REJECTION_REASONS },
    ),
    goshawk_messages_received_total: counter(
      'Messages that machines took, by type; types without any are left out.',
      BY_TYPE,
    ),
    goshawk_messages_sent_total: counter(
      'Messages that machines sent, by type; types without any are left out.',
      BY_TYPE,
    ),
    goshawk_messages_refused_total: counter('Messages that were none, or not their sender’s to send.'),
    goshawk_messages_unsendable_total: counter(
      'Messages that a machine wanted to send and that were not as declared: a bug of Goshawk.',
    ),
    goshawk_messages_failed_total: counter(
      'Messages that a machine could not take, so that they were dropped: a bug of Goshawk.',
    ),
    goshawk_log_lines_dropped_total: counter(
      'Lines of the log that were lost: its disk is full, or its reader stands still.',
    ),
    goshawk_http_requests_total: counter('Requests to this door.'),
    goshawk_http_refused_total: counter('Requests that were turned away.', { reason: ['token', 'host'] }),
  }),
  ...of(['scheduler'], {
    goshawk_scheduler_jobs: gauge('Jobs that have not ended.', { state: ['waiting', 'running'] }),
    goshawk_scheduler_jobs_accepted_total: counter('Jobs that were taken.'),
    goshawk_scheduler_jobs_refused_total: counter('Submissions that were told to come back later.'),
    goshawk_scheduler_jobs_ended_total: counter(
      'Jobs that have ended, by class and by what became of them.',
      BY_CLASS_AND_END,
    ),
    goshawk_scheduler_cancellations_total: counter('Jobs that somebody has cancelled.'),
    goshawk_scheduler_job_duration_seconds: histogram('From a job’s acceptance to its end.', BY_CLASS),
    goshawk_scheduler_queueing_seconds: histogram(
      'From when a task might start to when it was first given to a worker.',
      BY_CLASS,
    ),
    goshawk_waiting_tasks: gauge('Tasks that wait, by class and by why they do.', {
      class: CLASSES,
      reason: WAITING_REASONS,
    }),
    goshawk_scheduler_running_tasks: gauge(
      'Tasks that workers have been given and have not ended.',
      BY_CLASS,
    ),
    goshawk_scheduler_tasks_bound_total: counter('Tasks that were given to a worker, each time.'),
    goshawk_scheduler_tasks_ended_total: counter(
      'Tasks that have come to their end, by class and by what became of them.',
      BY_CLASS_AND_END,
    ),
    goshawk_scheduler_retries_total: counter('Attempts that failed and were tried again.'),
    goshawk_scheduler_attempts_lost_total: counter('Attempts that were cut short with their worker.'),
    goshawk_scheduler_stale_reports_total: counter(
      'Reports of attempts that no longer count, and were refused.',
    ),
    goshawk_scheduler_probes_sent_total: counter('Probes sent to workers.'),
    goshawk_scheduler_probes_recalled_total: counter(
      'Probes that were taken back before a worker served them.',
    ),
    goshawk_scheduler_probes_out: gauge('Probes that no worker has served.'),
    goshawk_scheduler_asks_refused_total: counter('Probes that were served when no task was left for them.'),
    goshawk_scheduler_known_workers: alike('Workers that it knows of.'),
    goshawk_scheduler_central_silent: alike(
      '1 while nothing is heard of central: short jobs go on, long ones wait.',
    ),
    goshawk_scheduler_held_answers: gauge('Answers that wait for the disk.'),
    goshawk_scheduler_active_jobs_bytes: gauge('Memory that jobs take that have not ended, estimated.'),
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
    goshawk_journal_records_written_total: counter('Records that are on the disk.'),
    goshawk_journal_commit_seconds: histogram('How long it took to bring a group of records to the disk.'),
  }),
  ...of(['central'], {
    goshawk_central_workers: gauge('Workers in the cluster.', BY_PARTITION_AND_STATE),
    goshawk_central_slots: gauge('Slots of the workers in the cluster.', BY_PARTITION_AND_STATE),
    goshawk_central_schedulers: gauge(
      'Schedulers in the cluster, and those that are gone and expected back with their journals.',
      { state: ['present', 'away'] },
    ),
    goshawk_central_disputed_addresses: gauge(
      'Addresses that two processes claim, both of which are heard; `goshawk workers` names them.',
    ),
    goshawk_central_workers_joined_total: counter('Workers that joined.'),
    goshawk_central_leases_lost_total: counter(
      'Parties whose lease ended, or that came back as another incarnation.',
      { party: ['worker', 'scheduler'] },
    ),
    goshawk_central_tasks_placed_total: counter('Tasks for which it chose a worker.'),
    goshawk_central_placed_tasks: gauge(
      'Tasks for which it chose a worker and that are not known to have ended.',
    ),
    goshawk_central_pending_tasks: gauge('Tasks to be placed that no worker can take at present.'),
    goshawk_central_matches_total: counter('Free slots that were brought together with a job.'),
    goshawk_central_unmatched_tasks: gauge(
      'Tasks that wait for a free slot, by what is known of their job.',
      { kind: UNMATCHED_KINDS },
    ),
    goshawk_central_matching: gauge(
      '1 while central matches short jobs; 0 while it has too much to do for that.',
    ),
    goshawk_central_policy_failures_total: counter(
      "What a policy of one's own has thrown; what waited was started in order of arrival instead.",
    ),
  }),
  ...of(['worker'], {
    goshawk_worker_workers: gauge('Workers in this process: members of the cluster, and others.', {
      state: ['member', 'apart'],
    }),
    goshawk_worker_slots: gauge('Slots of the workers in this process.'),
    goshawk_worker_busy_slots: gauge('Slots that serve a task, or ask for one.', BY_CLASS),
    goshawk_worker_queued_entries: gauge('Probes and placed tasks that wait in the queues.'),
    goshawk_worker_unconfirmed_reports: gauge('Ends of tasks that their owners have not confirmed.'),
    goshawk_worker_tasks_started_total: counter('Tasks that were started.'),
    goshawk_worker_tasks_ended_total: counter('Runs of tasks that have ended, by class and by how.', {
      class: CLASSES,
      outcome: OUTCOMES,
    }),
    goshawk_worker_task_run_seconds: histogram('For how long tasks ran.', BY_CLASS),
    goshawk_worker_steal_attempts_total: counter('Workers asked for probes.'),
    goshawk_worker_steals_total: counter('Workers asked for probes that gave some.'),
    goshawk_worker_probes_stolen_total: counter('Probes taken from others.'),
    goshawk_worker_pauses_total: counter(
      'Times that a worker has set itself aside: it could start nothing, failed what others complete, or had stood still.',
    ),
    goshawk_worker_declined_total: counter('Probes and tasks given back unserved.'),
  }),
};

export type MetricName = keyof typeof METRICS;
