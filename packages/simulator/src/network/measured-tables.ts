import type { MessageType, Millis } from '@goshawk/core';
import type { MeasuredMessage, MeasuredPhase } from './profile.js';

type Distribution = Float64Array;
type ByType = ReadonlyMap<MessageType, Distribution>;

/** The distributions of one phase, prepared for drawing. */
export class MeasuredTables {
  readonly fromMs: Millis;
  readonly sleepLateMs: Distribution;
  readonly timerLateMs: Distribution;
  readonly submissionMs: Distribution;
  readonly newsMs: Distribution;
  readonly #between: ByType;
  readonly #within: ByType;
  /** Delays of all message types. */
  readonly #any: Distribution;

  /** Merges all phases. */
  static ofAll(phases: readonly MeasuredPhase[]): MeasuredTables {
    return new MeasuredTables({
      fromMs: 0,
      messages: phases.flatMap(({ messages }) => messages),
      sleepLateMs: phases.flatMap(({ sleepLateMs }) => sleepLateMs),
      timerLateMs: phases.flatMap(({ timerLateMs }) => timerLateMs),
      submissionMs: phases.flatMap(({ submissionMs }) => submissionMs),
      newsMs: phases.flatMap(({ newsMs }) => newsMs),
    });
  }

  /** @param all fallback for lists that this phase lacks */
  constructor(phase: MeasuredPhase, all?: MeasuredTables) {
    const own = (values: readonly Millis[], others: Distribution | undefined): Distribution =>
      values.length === 0 && others !== undefined ? others : Float64Array.from(values);
    this.fromMs = phase.fromMs;
    this.sleepLateMs = own(phase.sleepLateMs, all?.sleepLateMs);
    this.timerLateMs = own(phase.timerLateMs, all?.timerLateMs);
    this.submissionMs = own(phase.submissionMs, all?.submissionMs);
    this.newsMs = own(phase.newsMs, all?.newsMs);
    this.#between = new Map([...(all === undefined ? [] : all.#between), ...byType(phase.messages, false)]);
    this.#within = new Map([...(all === undefined ? [] : all.#within), ...byType(phase.messages, true)]);
    this.#any = all === undefined ? Float64Array.from(phase.messages.flatMap(({ ms }) => ms)) : all.#any;
  }

  /** @param sameProcess whether both parties are workers of one process */
  message(type: MessageType, sameProcess: boolean): Distribution {
    return (sameProcess ? this.#within.get(type) : undefined) ?? this.#between.get(type) ?? this.#any;
  }
}

function byType(messages: readonly MeasuredMessage[], sameProcess: boolean): ByType {
  const values = new Map<MessageType, Millis[]>();
  for (const { type, sameProcess: of, ms } of messages) {
    if (of === sameProcess) values.set(type, [...(values.get(type) ?? []), ...ms]);
  }
  return new Map([...values].map(([type, ms]) => [type, Float64Array.from(ms)]));
}
