import { MESSAGE_TYPES, type MessageType } from '@goshawk/core';
import { type MeasuredProfile, PROFILE_SCHEMA } from '@goshawk/simulator';
import { HANDLED_COLUMNS, type Recording, SENT_COLUMNS } from './recording.js';

/** Means of so many slices stand for a distribution. */
const SLICES = 1_000;
/** Of a millisecond. */
const DECIMALS = 4;

/** A message that was sent and handled. */
export interface Travelled {
  readonly type: MessageType;
  /** Both parties belong to one process. */
  readonly sameProcess: boolean;
  readonly sentAt: number;
  readonly delayMs: number;
  /** What the receiver was busy with it. */
  readonly handlingMs: number;
}

/**
 * Pairs both ends of each message: the n-th that one party handles of another is the n-th that the other
 * sent it, since the mailbox keeps their order.
 *
 * @throws Error when the two are not of one type: something was lost, and nothing that was measured counts
 */
export function pairUp(recordings: readonly Recording[]): Travelled[] {
  const sent = new Map<string, { at: number; code: number }[]>();
  for (const { parties, sent: rows } of recordings) {
    for (let i = 0; i < rows.length; i += SENT_COLUMNS) {
      const pair = `${parties[rows[i + 1]!]} ${parties[rows[i + 2]!]}`;
      const mail = sent.get(pair) ?? [];
      mail.push({ at: rows[i]!, code: rows[i + 3]! });
      sent.set(pair, mail);
    }
  }
  const next = new Map<string, number>();
  const travelled: Travelled[] = [];
  for (const { parties, handled: rows } of recordings) {
    for (let i = 0; i < rows.length; i += HANDLED_COLUMNS) {
      const [from, to] = [parties[rows[i + 2]!]!, parties[rows[i + 3]!]!];
      const pair = `${from} ${to}`;
      const place = next.get(pair) ?? 0;
      next.set(pair, place + 1);
      const origin = sent.get(pair)?.[place];
      const code = rows[i + 4]!;
      if (origin?.code !== code) throw new Error(`message ${place} of ${pair} was lost: measure again`);
      travelled.push({
        type: MESSAGE_TYPES[code]!,
        sameProcess: processOf(from) === processOf(to),
        sentAt: origin.at,
        delayMs: Math.max(0, rows[i]! - origin.at),
        handlingMs: rows[i + 1]!,
      });
    }
  }
  return travelled;
}

function processOf(party: string): string {
  return party.slice(0, party.lastIndexOf('/'));
}

/** What happened while jobs ran: finding each other before and taking leave afterwards are no part of it. */
export function duringWork(travelled: readonly Travelled[]): Travelled[] {
  const times = (type: MessageType) => travelled.filter((of) => of.type === type).map(({ sentAt }) => sentAt);
  const from = times('submit').reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const to = times('ended').reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  return travelled.filter(({ sentAt }) => sentAt >= from && sentAt <= to);
}

/** The distributions that a simulation draws from. */
export function profileOf(
  recordings: readonly Recording[],
  travelled: readonly Travelled[],
  workersPerProcess: number,
): MeasuredProfile {
  const delaysOf = (type: MessageType, sameProcess?: boolean) =>
    travelled
      .filter((of) => of.type === type && (sameProcess ?? of.sameProcess) === of.sameProcess)
      .map(({ delayMs }) => delayMs);
  const types = [...new Set(travelled.map(({ type }) => type))].filter((type) => !NOT_SIMULATED.has(type));
  return {
    schema: PROFILE_SCHEMA,
    workersPerProcess,
    messages: types.flatMap((type) =>
      [false, true].flatMap((sameProcess) => {
        const ms = slices(delaysOf(type, sameProcess));
        return ms.length === 0 ? [] : [{ type, sameProcess, ms }];
      }),
    ),
    sleepLateMs: slices(recordings.flatMap(({ sleepLateMs }) => sleepLateMs)),
    timerLateMs: slices(recordings.flatMap(({ timerLateMs }) => timerLateMs)),
    submissionMs: slices(delaysOf('submit')),
    newsMs: slices(delaysOf('event')),
  };
}

/** Between clients and the cluster, and what keeps a live cluster together. */
const NOT_SIMULATED: ReadonlySet<MessageType> = new Set<MessageType>([
  'submit',
  'watchJob',
  'event',
  'answer',
  'heartbeat',
  'heartbeatAck',
  'confirm',
]);

/** Sorted, in slices of equal count, each by its mean: so few values keep the shape and the mean. */
export function slices(values: readonly number[]): number[] {
  const sorted = Float64Array.from(values).sort();
  const count = Math.min(SLICES, sorted.length);
  return Array.from({ length: count }, (_, i) => {
    const from = Math.floor((i * sorted.length) / count);
    const to = Math.floor(((i + 1) * sorted.length) / count);
    const sum = sorted.subarray(from, to).reduce((a, b) => a + b, 0);
    return Math.max(0, Number((sum / (to - from)).toFixed(DECIMALS)));
  });
}
