import { meanOf } from '@goshawk/core';
import { percentile } from '../bench-report.js';
import type { MessageTransit, Observed } from './delays.js';

/** Summarizes a live run: messages by kind, their processing times, and lateness, in ms. */
export function summarise({
  travelled,
  sleeps,
  timers,
}: Pick<Observed, 'travelled' | 'sleeps' | 'timers'>): ReadonlyMap<string, number> {
  const summary = new Map<string, number>();
  for (const [kind, isOne] of KINDS) {
    const messages = travelled.filter(isOne);
    if (messages.length === 0) continue;
    const delays = messages.map(({ delayMs }) => delayMs);
    summary.set(`${kind}, mean`, meanOf(delays));
    for (const at of [0.5, 0.99]) summary.set(`${kind}, p${100 * at}`, percentile(delays, at));
    summary.set(`${kind}, handling it, mean`, meanOf(messages.map(({ handlingMs }) => handlingMs)));
  }
  for (const [name, ends] of Object.entries({ sleeps, timers })) {
    if (ends.length > 0) summary.set(`${name} late, mean`, meanOf(ends.map(({ lateMs }) => lateMs)));
  }
  return summary;
}

/** Messages whose delays determine the runtime of a job. */
const KINDS: readonly (readonly [name: string, (message: MessageTransit) => boolean])[] = [
  ['steal and stolen', (message) => isSteal(message) && !message.sameProcess],
  ['steal and stolen within a process', (message) => isSteal(message) && message.sameProcess],
  ...(['need', 'matched', 'run', 'ask', 'probe', 'assign', 'ended', 'submit', 'jobEnded'] as const).map(
    (kind) => [kind, ({ type }: MessageTransit) => type === kind] as const,
  ),
];

function isSteal({ type }: MessageTransit): boolean {
  return type === 'steal' || type === 'stolen';
}
