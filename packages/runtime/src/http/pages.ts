import type { Role } from '@goshawk/core';
import type { MachineCounters } from '../driver/message-counters.js';
import type { MailboxCounters } from '../mailbox/counters.js';
import { byLabel, exposition, type Metric } from './exposition.js';
import type { HttpCounters, Page, Pages } from './server.js';

export interface Shown {
  readonly role: Role;
  readonly endpoint: string;
  /** Whether what is sent is encrypted. */
  readonly hasKeys: boolean;
  readonly mailbox: MailboxCounters;
  /** By name of the machine. */
  machines(): Readonly<Record<string, MachineCounters>>;
  /** What keeps the process from doing its work; empty when it does. */
  notReady(): readonly string[];
}

export function pagesOf(shown: Shown, http: HttpCounters): Pages {
  return {
    '/livez': () => text(200, 'alive\n'),
    '/readyz': () => {
      const problems = shown.notReady();
      return text(problems.length === 0 ? 200 : 503, `${problems.join('\n') || 'ready'}\n`);
    },
    '/metrics': () => ({
      status: 200,
      type: 'text/plain; version=0.0.4',
      body: exposition(metrics(shown, http)),
    }),
    '/status': () => json(status(shown)),
  };
}

function status({ role, endpoint, hasKeys, mailbox, machines, notReady }: Shown) {
  return {
    schema: 'goshawk.status/1',
    role,
    endpoint,
    encrypted: hasKeys,
    notReady: notReady(),
    mailbox,
    machines: machines(),
  };
}

function metrics({ mailbox, machines }: Shown, http: HttpCounters): Metric[] {
  const { sent, received, local } = mailbox;
  const all = Object.values(machines());
  const ways = (of: 'messages' | 'frames' | 'bytes') =>
    byLabel('way', { sent: sent[of], received: received[of], local: local[of] });
  return [
    counter('goshawk_mailbox_messages_total', 'Messages that left or arrived.', ways('messages')),
    counter('goshawk_mailbox_frames_total', 'Frames that left or arrived.', ways('frames')),
    counter('goshawk_mailbox_bytes_total', 'Bytes of frames that left or arrived.', ways('bytes')),
    counter(
      'goshawk_mailbox_dropped_total',
      'Messages that did not reach their party.',
      byLabel('reason', mailbox.dropped),
    ),
    counter(
      'goshawk_mailbox_refused_total',
      'Frames that were not let in.',
      byLabel('reason', mailbox.refused),
    ),
    counter(
      'goshawk_strangers_total',
      'Connections refused to who has no key of this cluster, or does not speak its protocol.',
      byLabel('reason', mailbox.strangers),
    ),
    gauge('goshawk_connections', 'Connections that are open.', [
      { labels: { way: 'inbound' }, value: mailbox.inboundConnections },
      { labels: { way: 'outbound' }, value: mailbox.outboundConnections },
    ]),
    counter('goshawk_messages_refused_total', 'Messages that were none, or not their sender’s to send.', [
      { value: all.reduce((sum, { refused }) => sum + refused, 0) },
    ]),
    counter('goshawk_messages_total', 'Messages that machines took, by type.', byLabel('type', byType(all))),
    counter('goshawk_http_requests_total', 'Requests to this door.', [{ value: http.requests }]),
    counter('goshawk_http_refused_total', 'Requests that were turned away.', byLabel('reason', http.refused)),
    gauge('goshawk_process_resident_memory_bytes', 'Memory of the process.', [
      { value: process.memoryUsage.rss() },
    ]),
    gauge('goshawk_process_uptime_seconds', 'Age of the process.', [{ value: process.uptime() }]),
  ];
}

function byType(all: readonly MachineCounters[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { received } of all) {
    for (const [type, count] of Object.entries(received)) sums[type] = (sums[type] ?? 0) + count;
  }
  return sums;
}

function counter(name: string, help: string, samples: Metric['samples']): Metric {
  return { name, kind: 'counter', help, samples };
}

function gauge(name: string, help: string, samples: Metric['samples']): Metric {
  return { name, kind: 'gauge', help, samples };
}

function text(status: number, body: string): Page {
  return { status, type: 'text/plain', body };
}

function json(value: unknown): Page {
  return { status: 200, type: 'application/json', body: `${JSON.stringify(value)}\n` };
}
