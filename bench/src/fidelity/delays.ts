import { MESSAGE_TYPES, type MessageType, sumOf } from '@goshawk/core';
import { type MeasuredMessage, type MeasuredProfile, PROFILE_SCHEMA } from '@goshawk/simulator';
import { HANDLED_COLUMNS, LATE_COLUMNS, type Recording, SENT_COLUMNS, SLEPT_COLUMNS } from './recording.js';

/** Maximum number of slices whose means represent the distribution of a phase. */
const SLICES = 500;
/** Decimal places of ms values. */
const DECIMALS = 4;

/** A message that was sent and handled. */
export interface MessageTransit {
  readonly type: MessageType;
  /** Whether both parties belong to one process. */
  readonly sameProcess: boolean;
  /** The process that sent it. */
  readonly from: string;
  /** The process that handled it. */
  readonly to: string;
  /** When the step began in which it was sent. */
  readonly sentAt: number;
  /** When the step began that handled it. */
  readonly handledAt: number;
  readonly delayMs: number;
  /** The receiver's processing time. */
  readonly handlingMs: number;
}

/**
 * Pairs both ends of each message: the n-th message that one party handles from another is the n-th that the other
 * sent, because the mailbox keeps their order.
 *
 * @throws Error if the types differ: a message was lost, and no measurement is valid
 */
export function pairUp(recordings: readonly Recording[]): MessageTransit[] {
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
  const travelled: MessageTransit[] = [];
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
        from: processOf(from),
        to: processOf(to),
        sentAt: origin.at,
        handledAt: rows[i]!,
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

/** The period from the first submission to the end of the last task. */
interface Work {
  readonly from: number;
  readonly to: number;
}

/** Messages for joining and leaving the cluster are not part of the work. */
export function workOf(travelled: readonly MessageTransit[]): Work {
  const times = (type: MessageType) => travelled.filter((of) => of.type === type).map(({ sentAt }) => sentAt);
  return {
    from: times('submit').reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
    to: times('ended').reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
  };
}

/** A sleep that ended late, or a timer that fired late. */
interface LateEvent {
  readonly at: number;
  readonly lateMs: number;
}

/** Everything observed in a live run between the first submission and the end of the last task. */
export interface Observed {
  readonly work: Work;
  readonly travelled: readonly MessageTransit[];
  readonly sleeps: readonly LateEvent[];
  readonly timers: readonly LateEvent[];
}

/** @throws Error if a message was lost */
export function observe(recordings: readonly Recording[]): Observed {
  const all = pairUp(recordings);
  const work = workOf(all);
  const isWithin = (at: number) => at >= work.from && at <= work.to;
  return {
    work,
    travelled: all.filter(({ sentAt }) => isWithin(sentAt)),
    sleeps: recordings.flatMap(slept).filter(({ at }) => isWithin(at)),
    timers: recordings.flatMap(fired).filter(({ at }) => isWithin(at)),
  };
}

/** The distributions that a simulation draws from, in phases of `phaseMs`. */
export function profileOf(
  { work, travelled, sleeps, timers }: Observed,
  { workersPerProcess, phaseMs }: { readonly workersPerProcess: number; readonly phaseMs: number },
): MeasuredProfile {
  const count = Math.max(1, Math.ceil((work.to - work.from) / phaseMs));
  const inPhases = <T>(all: readonly T[], timeOf: (one: T) => number): T[][] => {
    const phases: T[][] = Array.from({ length: count }, () => []);
    for (const one of all) {
      phases[Math.min(count - 1, Math.floor((timeOf(one) - work.from) / phaseMs))]!.push(one);
    }
    return phases;
  };
  const lateInPhases = (all: readonly LateEvent[]) =>
    inPhases(all, ({ at }) => at).map((ends) => slices(ends.map(({ lateMs }) => lateMs)));
  const first = firstOnTheirWay(travelled);
  const news = inPhases(updatesAboutEnds(first, travelled), ({ sentAt }) => sentAt);
  const sleepsInPhases = lateInPhases(sleeps);
  const timersInPhases = lateInPhases(timers);
  return {
    schema: PROFILE_SCHEMA,
    workersPerProcess,
    phases: inPhases(first, ({ sentAt }) => sentAt).map((messages, i) => ({
      fromMs: i * phaseMs,
      messages: measuredMessages(messages),
      sleepLateMs: sleepsInPhases[i]!,
      timerLateMs: timersInPhases[i]!,
      submissionMs: slices(delaysOf(messages, 'submit')),
      newsMs: slices(news[i]!.map(({ delayMs }) => delayMs)),
    })),
  };
}

function measuredMessages(travelled: readonly MessageTransit[]): MeasuredMessage[] {
  const types = [...new Set(travelled.map(({ type }) => type))].filter((type) => !NOT_SIMULATED.has(type));
  return types.flatMap((type) =>
    [false, true].flatMap((sameProcess) => {
      const sameKind = travelled.filter((of) => of.sameProcess === sameProcess);
      const ms = slices(delaysOf(sameKind, type));
      return ms.length === 0 ? [] : [{ type, sameProcess, ms }];
    }),
  );
}

/**
 * Selects messages that found no other message in flight between their two processes: the first of those sent in one
 * turn, which share a frame. The others arrive with it or wait behind it, in a simulation too.
 */
export function firstOnTheirWay(travelled: readonly MessageTransit[]): MessageTransit[] {
  const latest = new Map<string, number>();
  return [...travelled]
    .sort((a, b) => a.sentAt - b.sentAt)
    .filter(({ from, to, sentAt, delayMs }) => {
      const connection = `${from} ${to}`;
      const before = latest.get(connection) ?? Number.NEGATIVE_INFINITY;
      latest.set(connection, Math.max(before, sentAt + delayMs));
      return before <= sentAt;
    });
}

/**
 * Selects the updates that an owner sends to clients in the step in which it receives a task's end. Other updates are
 * sent earlier in their step, so their delays are shorter.
 */
function updatesAboutEnds(
  messages: readonly MessageTransit[],
  all: readonly MessageTransit[],
): MessageTransit[] {
  const stepOf = (process: string, at: number) => `${process} ${at}`;
  const ends = new Set(
    all.filter(({ type }) => type === 'ended').map(({ to, handledAt }) => stepOf(to, handledAt)),
  );
  return messages.filter(({ type, from, sentAt }) => NEWS.has(type) && ends.has(stepOf(from, sentAt)));
}

function delaysOf(travelled: readonly MessageTransit[], type: MessageType): number[] {
  return travelled.filter((of) => of.type === type).map(({ delayMs }) => delayMs);
}

/**
 * A simulated task begins with the step in which its worker receives it. A live task begins later in the step, which
 * counts as lateness here.
 */
function slept({ sleeps: rows, handled }: Recording): LateEvent[] {
  return Array.from({ length: rows.length / SLEPT_COLUMNS }, (_, i) => {
    const [at, lateMs, sleepMs] = rows.slice(SLEPT_COLUMNS * i, SLEPT_COLUMNS * (i + 1)) as [
      number,
      number,
      number,
    ];
    const beganAt = at - lateMs - sleepMs;
    return { at, lateMs: lateMs + (beganAt - (stepAt(handled, beganAt) ?? beganAt)) };
  });
}

/** @returns the time when handling of the current message began; undefined if no message was being handled */
function stepAt(handled: Recording['handled'], at: number): number | undefined {
  let [low, high] = [0, handled.length / HANDLED_COLUMNS];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (handled[middle * HANDLED_COLUMNS]! <= at) low = middle + 1;
    else high = middle;
  }
  const row = (low - 1) * HANDLED_COLUMNS;
  return row >= 0 && at <= handled[row]! + handled[row + 1]! ? handled[row] : undefined;
}

function fired({ timers: rows }: Recording): LateEvent[] {
  return Array.from({ length: rows.length / LATE_COLUMNS }, (_, i) => ({
    at: rows[LATE_COLUMNS * i]!,
    lateMs: rows[LATE_COLUMNS * i + 1]!,
  }));
}

const NEWS: ReadonlySet<MessageType> = new Set<MessageType>(['jobProgress', 'jobEnded']);

/** Messages between clients and the cluster, and messages that only maintain a live cluster. */
const NOT_SIMULATED: ReadonlySet<MessageType> = new Set<MessageType>([
  'submit',
  'watchJob',
  ...NEWS,
  'accepted',
  'heartbeat',
  'heartbeatAck',
  'confirm',
]);

/**
 * Sorts the values and divides them into slices of equal count, each represented by its mean. Few values keep the shape
 * and the mean.
 */
export function slices(values: readonly number[]): number[] {
  const sorted = Float64Array.from(values).sort();
  const count = Math.min(SLICES, sorted.length);
  return Array.from({ length: count }, (_, i) => {
    const from = Math.floor((i * sorted.length) / count);
    const to = Math.floor(((i + 1) * sorted.length) / count);
    const sum = sumOf(sorted.subarray(from, to));
    return Math.max(0, Number((sum / (to - from)).toFixed(DECIMALS)));
  });
}
