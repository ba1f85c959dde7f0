import { UNMATCHED_KINDS, WORKER_STATES } from '@goshawk/central';
import { CLASSES, MESSAGE_TYPES, OUTCOMES, WAITING_REASONS } from '@goshawk/core';
import { ENDS } from '@goshawk/scheduler';
import { DROP_REASONS, REFUSAL_REASONS, STRANGER_REASONS } from '../mailbox/counters.js';

export const ROLES = ['central', 'scheduler', 'worker'] as const;
export const JOURNAL_STATES = ['open', 'full', 'failed'] as const;
const PARTITIONS = ['general', 'short'] as const;

/** The values that a label may have: a closed list, or a word for the one value that each process has. */
export type LabelValues = readonly string[] | { readonly one: string };

export interface MetricSpec {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels?: Readonly<Record<string, LabelValues>>;
  /** Who has it. */
  readonly of: readonly (typeof ROLES)[number][] | 'scheduler with a journal';
}

/**
 * All that `/metrics` may say. What a role shows, `docs/OPERATIONS.md`, and the lint of the tests are made of this
 * table. Names are Prometheus's: base units, counters end in `_total`, and what a label may say is a closed list, so
 * that no series is there for a job, a task, a worker or a user.
 */
export const METRICS = {
  goshawk_build_info: {
    kind: 'gauge',
    help: 'Always 1; what runs is in the labels.',
    labels: { version: { one: 'of Goshawk' }, node_version: { one: 'of Node' } },
    of: ROLES,
  },
  goshawk_ready: { kind: 'gauge', help: '1 while /readyz says so.', of: ROLES },
  goshawk_process_start_time_seconds: {
    kind: 'gauge',
    help: 'When the process started, in seconds since 1970.',
    of: ROLES,
  },
  goshawk_process_cpu_seconds_total: {
    kind: 'counter',
    help: 'Processor time of the process, of its threads too.',
    of: ROLES,
  },
  goshawk_process_resident_memory_bytes: { kind: 'gauge', help: 'Memory of the process.', of: ROLES },
  goshawk_process_heap_used_bytes: { kind: 'gauge', help: 'JavaScript heap in use.', of: ROLES },
  goshawk_process_heap_limit_bytes: {
    kind: 'gauge',
    help: 'The JavaScript heap may grow to this; beyond it the process ends.',
    of: ROLES,
  },
  goshawk_event_loop_delay_seconds: {
    kind: 'histogram',
    help: 'How much later than due the timers of the process fired.',
    of: ROLES,
  },
  goshawk_event_loop_busy_seconds_total: {
    kind: 'counter',
    help: 'For how long the event loop had something to do; it can do no more than a second in a second.',
    of: ROLES,
  },
  goshawk_timers_fired_total: { kind: 'counter', help: 'Timers of machines that fired.', of: ROLES },

  goshawk_connections: {
    kind: 'gauge',
    help: 'Connections that are open.',
    labels: { way: ['inbound', 'outbound'] },
    of: ROLES,
  },
  goshawk_mailbox_messages_total: {
    kind: 'counter',
    help: 'Messages that left, arrived, or stayed in the process.',
    labels: { way: ['sent', 'received', 'local'] },
    of: ROLES,
  },
  goshawk_mailbox_frames_total: {
    kind: 'counter',
    help: 'Frames that left, arrived, or stayed in the process.',
    labels: { way: ['sent', 'received', 'local'] },
    of: ROLES,
  },
  goshawk_mailbox_bytes_total: {
    kind: 'counter',
    help: 'Bytes of frames that left, arrived, or stayed in the process.',
    labels: { way: ['sent', 'received', 'local'] },
    of: ROLES,
  },
  goshawk_mailbox_dropped_total: {
    kind: 'counter',
    help: 'Messages that did not reach their party.',
    labels: { reason: DROP_REASONS },
    of: ROLES,
  },
  goshawk_mailbox_refused_total: {
    kind: 'counter',
    help: 'Frames that were not let in.',
    labels: { reason: REFUSAL_REASONS },
    of: ROLES,
  },
  goshawk_strangers_total: {
    kind: 'counter',
    help: 'Connections refused to who has no key of this cluster, or does not speak its protocol.',
    labels: { reason: STRANGER_REASONS },
    of: ROLES,
  },
  goshawk_messages_received_total: {
    kind: 'counter',
    help: 'Messages that machines took, by type; types without any are left out.',
    labels: { type: MESSAGE_TYPES },
    of: ROLES,
  },
  goshawk_messages_sent_total: {
    kind: 'counter',
    help: 'Messages that machines sent, by type; types without any are left out.',
    labels: { type: MESSAGE_TYPES },
    of: ROLES,
  },
  goshawk_messages_refused_total: {
    kind: 'counter',
    help: 'Messages that were none, or not their sender’s to send.',
    of: ROLES,
  },
  goshawk_messages_unsendable_total: {
    kind: 'counter',
    help: 'Messages that a machine wanted to send and that were not as declared: a bug of Goshawk.',
    of: ROLES,
  },
  goshawk_http_requests_total: { kind: 'counter', help: 'Requests to this door.', of: ROLES },
  goshawk_http_refused_total: {
    kind: 'counter',
    help: 'Requests that were turned away.',
    labels: { reason: ['token', 'host'] },
    of: ROLES,
  },

  goshawk_scheduler_jobs: {
    kind: 'gauge',
    help: 'Jobs that have not ended.',
    labels: { state: ['waiting', 'running'] },
    of: ['scheduler'],
  },
  goshawk_scheduler_jobs_accepted_total: {
    kind: 'counter',
    help: 'Jobs that were taken.',
    of: ['scheduler'],
  },
  goshawk_scheduler_jobs_refused_total: {
    kind: 'counter',
    help: 'Submissions that were told to come back later.',
    of: ['scheduler'],
  },
  goshawk_scheduler_jobs_ended_total: {
    kind: 'counter',
    help: 'Jobs that have ended, by class and by what became of them.',
    labels: { class: CLASSES, outcome: ENDS },
    of: ['scheduler'],
  },
  goshawk_scheduler_cancellations_total: {
    kind: 'counter',
    help: 'Jobs that somebody has cancelled.',
    of: ['scheduler'],
  },
  goshawk_scheduler_job_duration_seconds: {
    kind: 'histogram',
    help: 'From a job’s acceptance to its end.',
    labels: { class: CLASSES },
    of: ['scheduler'],
  },
  goshawk_scheduler_queueing_seconds: {
    kind: 'histogram',
    help: 'From when a task might start to when it was first given to a worker.',
    labels: { class: CLASSES },
    of: ['scheduler'],
  },
  goshawk_waiting_tasks: {
    kind: 'gauge',
    help: 'Tasks that wait, by class and by why they do.',
    labels: { class: CLASSES, reason: WAITING_REASONS },
    of: ['scheduler'],
  },
  goshawk_scheduler_running_tasks: {
    kind: 'gauge',
    help: 'Tasks that workers have been given and have not ended.',
    labels: { class: CLASSES },
    of: ['scheduler'],
  },
  goshawk_scheduler_tasks_bound_total: {
    kind: 'counter',
    help: 'Tasks that were given to a worker, each time.',
    of: ['scheduler'],
  },
  goshawk_scheduler_tasks_ended_total: {
    kind: 'counter',
    help: 'Tasks that have come to their end, by class and by what became of them.',
    labels: { class: CLASSES, outcome: ENDS },
    of: ['scheduler'],
  },
  goshawk_scheduler_retries_total: {
    kind: 'counter',
    help: 'Attempts that failed and were tried again.',
    of: ['scheduler'],
  },
  goshawk_scheduler_attempts_lost_total: {
    kind: 'counter',
    help: 'Attempts that were cut short with their worker.',
    of: ['scheduler'],
  },
  goshawk_scheduler_stale_reports_total: {
    kind: 'counter',
    help: 'Reports of attempts that no longer count, and were refused.',
    of: ['scheduler'],
  },
  goshawk_scheduler_probes_sent_total: {
    kind: 'counter',
    help: 'Probes sent to workers.',
    of: ['scheduler'],
  },
  goshawk_scheduler_probes_recalled_total: {
    kind: 'counter',
    help: 'Probes that were taken back before a worker served them.',
    of: ['scheduler'],
  },
  goshawk_scheduler_probes_out: {
    kind: 'gauge',
    help: 'Probes that no worker has served.',
    of: ['scheduler'],
  },
  goshawk_scheduler_asks_refused_total: {
    kind: 'counter',
    help: 'Probes that were served when no task was left for them.',
    of: ['scheduler'],
  },
  goshawk_scheduler_known_workers: { kind: 'gauge', help: 'Workers that it knows of.', of: ['scheduler'] },
  goshawk_scheduler_central_silent: {
    kind: 'gauge',
    help: '1 while nothing is heard of central: short jobs go on, long ones wait.',
    of: ['scheduler'],
  },
  goshawk_scheduler_held_answers: {
    kind: 'gauge',
    help: 'Answers that wait for the disk.',
    of: ['scheduler'],
  },
  goshawk_scheduler_active_jobs_bytes: {
    kind: 'gauge',
    help: 'Memory that jobs take that have not ended, estimated.',
    of: ['scheduler'],
  },

  goshawk_journal_state: {
    kind: 'gauge',
    help: '1 for the state that the journal is in: full takes no new jobs, failed takes nothing.',
    labels: { state: JOURNAL_STATES },
    of: 'scheduler with a journal',
  },
  goshawk_journal_file_bytes: {
    kind: 'gauge',
    help: 'Size of the journal’s file.',
    of: 'scheduler with a journal',
  },
  goshawk_journal_used_bytes: {
    kind: 'gauge',
    help: 'What is in use of the journal’s file.',
    of: 'scheduler with a journal',
  },
  goshawk_journal_disk_free_bytes: {
    kind: 'gauge',
    help: 'Free space of the disk that the journal is on; not there where it cannot be watched.',
    of: 'scheduler with a journal',
  },
  goshawk_journal_records_appended_total: {
    kind: 'counter',
    help: 'Records given to the journal.',
    of: 'scheduler with a journal',
  },
  goshawk_journal_records_written_total: {
    kind: 'counter',
    help: 'Records that are on the disk.',
    of: 'scheduler with a journal',
  },
  goshawk_journal_commit_seconds: {
    kind: 'histogram',
    help: 'How long it took to bring a group of records to the disk.',
    of: 'scheduler with a journal',
  },

  goshawk_central_workers: {
    kind: 'gauge',
    help: 'Workers in the cluster.',
    labels: { partition: PARTITIONS, state: WORKER_STATES },
    of: ['central'],
  },
  goshawk_central_slots: {
    kind: 'gauge',
    help: 'Slots of the workers in the cluster.',
    labels: { partition: PARTITIONS, state: WORKER_STATES },
    of: ['central'],
  },
  goshawk_central_schedulers: {
    kind: 'gauge',
    help: 'Schedulers in the cluster, and those that are gone and expected back with their journals.',
    labels: { state: ['present', 'away'] },
    of: ['central'],
  },
  goshawk_central_workers_joined_total: { kind: 'counter', help: 'Workers that joined.', of: ['central'] },
  goshawk_central_leases_lost_total: {
    kind: 'counter',
    help: 'Parties whose lease ended, or that came back as another incarnation.',
    labels: { party: ['worker', 'scheduler'] },
    of: ['central'],
  },
  goshawk_central_tasks_placed_total: {
    kind: 'counter',
    help: 'Tasks for which it chose a worker.',
    of: ['central'],
  },
  goshawk_central_placed_tasks: {
    kind: 'gauge',
    help: 'Tasks for which it chose a worker and that are not known to have ended.',
    of: ['central'],
  },
  goshawk_central_pending_tasks: {
    kind: 'gauge',
    help: 'Tasks to be placed that no worker can take at present.',
    of: ['central'],
  },
  goshawk_central_matches_total: {
    kind: 'counter',
    help: 'Free slots that were brought together with a job.',
    of: ['central'],
  },
  goshawk_central_unmatched_tasks: {
    kind: 'gauge',
    help: 'Tasks that wait for a free slot, by what is known of their job.',
    labels: { kind: UNMATCHED_KINDS },
    of: ['central'],
  },
  goshawk_central_matching: {
    kind: 'gauge',
    help: '1 while central matches short jobs; 0 while it has too much to do for that.',
    of: ['central'],
  },

  goshawk_worker_workers: {
    kind: 'gauge',
    help: 'Workers in this process: members of the cluster, and others.',
    labels: { state: ['member', 'apart'] },
    of: ['worker'],
  },
  goshawk_worker_slots: { kind: 'gauge', help: 'Slots of the workers in this process.', of: ['worker'] },
  goshawk_worker_busy_slots: {
    kind: 'gauge',
    help: 'Slots that serve a task, or ask for one.',
    labels: { class: CLASSES },
    of: ['worker'],
  },
  goshawk_worker_queued_entries: {
    kind: 'gauge',
    help: 'Probes and placed tasks that wait in the queues.',
    of: ['worker'],
  },
  goshawk_worker_unconfirmed_reports: {
    kind: 'gauge',
    help: 'Ends of tasks that their owners have not confirmed.',
    of: ['worker'],
  },
  goshawk_worker_tasks_started_total: { kind: 'counter', help: 'Tasks that were started.', of: ['worker'] },
  goshawk_worker_tasks_ended_total: {
    kind: 'counter',
    help: 'Runs of tasks that have ended, by class and by how.',
    labels: { class: CLASSES, outcome: OUTCOMES },
    of: ['worker'],
  },
  goshawk_worker_task_run_seconds: {
    kind: 'histogram',
    help: 'For how long tasks ran.',
    labels: { class: CLASSES },
    of: ['worker'],
  },
  goshawk_worker_steal_attempts_total: { kind: 'counter', help: 'Workers asked for probes.', of: ['worker'] },
  goshawk_worker_steals_total: {
    kind: 'counter',
    help: 'Workers asked for probes that gave some.',
    of: ['worker'],
  },
  goshawk_worker_probes_stolen_total: { kind: 'counter', help: 'Probes taken from others.', of: ['worker'] },
  goshawk_worker_pauses_total: {
    kind: 'counter',
    help: 'Times that a worker has set itself aside, since nothing could be started there.',
    of: ['worker'],
  },
  goshawk_worker_declined_total: {
    kind: 'counter',
    help: 'Probes and tasks given back unserved.',
    of: ['worker'],
  },
} as const satisfies Readonly<Record<string, MetricSpec>>;

export type MetricName = keyof typeof METRICS;
