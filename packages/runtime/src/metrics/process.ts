import { readdirSync, readFileSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import { type Histogram, sumOf } from '@goshawk/core';
import type { MailboxCounters, Traffic } from '@goshawk/transport';
import type { MachineCounters } from '../driver/message-counters.js';
import type { HttpCounters } from '../http/server.js';
import { VERSION } from '../version.js';
import { byLabel, type Readings, type Sample } from './exposition.js';

/** Sources of the metrics that every role has. */
export interface CommonSources {
  readonly mailbox: MailboxCounters;
  /** Counters by machine name. */
  machines(): Readonly<Record<string, MachineCounters>>;
  /** Delay of fired timers, in ms. */
  readonly lateMs: Histogram;
  /** Number of log lines that could not be written. */
  droppedLogLines(): number;
}

/** The metrics of any process that serves HTTP, such as a dashboard. */
export function processReadings(http: HttpCounters, isReady: boolean): Readings {
  return {
    goshawk_build_info: [{ labels: { version: VERSION, node_version: process.versions.node }, value: 1 }],
    goshawk_ready: isReady ? 1 : 0,
    ...systemReadings(),
    goshawk_http_request_seconds: Array.from(http.times.all(), ({ route, status, ms }) => ({
      labels: { route, status },
      value: ms,
    })),
    goshawk_http_refused_total: byLabel('reason', http.refused),
  };
}

export function commonReadings(sources: CommonSources, http: HttpCounters, isReady: boolean): Readings {
  const { mailbox, lateMs } = sources;
  const machines = Object.values(sources.machines());
  const { sent, received, local } = mailbox;
  const ways = (of: keyof Traffic): Sample[] =>
    byLabel('way', { sent: sent[of], received: received[of], local: local[of] });
  return {
    ...processReadings(http, isReady),
    goshawk_event_loop_delay_seconds: lateMs,
    goshawk_timers_fired_total: sumOf(machines, ({ wakes }) => wakes),
    goshawk_connections: byLabel('way', {
      inbound: mailbox.inboundConnections,
      outbound: mailbox.outboundConnections,
    }),
    goshawk_mailbox_messages_total: ways('messages'),
    goshawk_mailbox_frames_total: ways('frames'),
    goshawk_mailbox_bytes_total: ways('bytes'),
    goshawk_mailbox_cuts_total: mailbox.cuts,
    goshawk_mailbox_dropped_total: byLabel('reason', mailbox.dropped),
    goshawk_mailbox_refused_total: byLabel('reason', mailbox.refused),
    goshawk_connections_rejected_total: byLabel('reason', mailbox.rejections),
    goshawk_messages_received_total: byLabel('type', byType(machines, 'received')),
    goshawk_messages_sent_total: byLabel('type', byType(machines, 'sent')),
    goshawk_messages_refused_total: sumOf(machines, ({ refused }) => refused),
    goshawk_messages_unsendable_total: sumOf(machines, ({ unsendable }) => unsendable),
    goshawk_messages_failed_total: sumOf(machines, ({ failed }) => failed),
    goshawk_log_lines_dropped_total: sources.droppedLogLines(),
  };
}

function systemReadings(): Readings {
  const { used_heap_size: heapUsed, heap_size_limit: heapLimit } = getHeapStatistics();
  const { user, system } = process.cpuUsage();
  return {
    goshawk_process_start_time_seconds: performance.timeOrigin / 1_000,
    goshawk_process_clock_seconds: Date.now() / 1_000,
    goshawk_process_cpu_seconds_total: (user + system) / 1e6,
    goshawk_process_resident_memory_bytes: process.memoryUsage.rss(),
    ...descriptorReadings(),
    goshawk_process_heap_used_bytes: heapUsed,
    goshawk_process_heap_limit_bytes: heapLimit,
    goshawk_event_loop_busy_seconds_total: performance.eventLoopUtilization().active / 1_000,
  };
}

/** Limit of open file descriptors when it was last read. */
let knownLimit: number | undefined;

/** Empty if the system does not tell. @param read replaces the system in tests */
export function descriptorReadings(
  read: { limits(): string; open(): readonly string[] } = {
    limits: () => readFileSync('/proc/self/limits', 'utf8'),
    open: () => readdirSync('/proc/self/fd'),
  },
): Readings {
  const max = (): Readings => (knownLimit === undefined ? {} : { goshawk_process_max_fds: knownLimit });
  try {
    const limit = /^Max open files +(\d+)/m.exec(read.limits())?.[1];
    knownLimit = limit === undefined ? undefined : Number(limit);
    // One of them reads the folder.
    return { goshawk_process_open_fds: read.open().length - 1, ...max() };
  } catch (error) {
    // No descriptor is left for reading, so the alert must not end.
    if ((error as NodeJS.ErrnoException).code !== 'EMFILE' || knownLimit === undefined) return {};
    return { goshawk_process_open_fds: knownLimit, ...max() };
  }
}

function byType(machines: readonly MachineCounters[], way: 'received' | 'sent'): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const machine of machines) {
    for (const [type, count] of Object.entries(machine[way])) sums[type] = (sums[type] ?? 0) + count;
  }
  return sums;
}
