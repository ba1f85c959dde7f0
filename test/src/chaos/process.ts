import type { Address, Environment, Machine, Message, Millis, Role } from '@goshawk/core';
import type { Draw } from '../drawing/draw.js';
import type { Calendar, Event } from '../stepped/calendar.js';
import type { End } from './network.js';
import type { ProcessPlan } from './plan.js';
import { Wire } from './wire.js';

interface Timer {
  readonly timer: string;
  readonly key: number;
  readonly event: Event;
}

type Input =
  | { readonly kind: 'timer'; readonly name: string; readonly of: Timer }
  | { readonly kind: 'event'; readonly act: (now: Millis) => void };

interface ProcessEvents {
  sent(process: Process, to: Address, message: Message): void;
  /** The machine has made a step. */
  stepped(process: Process): void;
  /** The machine has thrown. */
  failed(process: Process, error: unknown): void;
}

/** Despite rounding, a timer must not fire before its time on this process's clock. */
const NEVER_BEFORE_MS = 1e-6;
const EPOCH_MS = 1_700_000_000_000;

/**
 * One incarnation of a process with one machine: its clock, its timers and its turns. Events wait while it is suspended
 * or busy.
 */
export class Process implements End {
  readonly name: string;
  readonly role: Role;
  readonly incarnation: number;
  readonly id: string;
  readonly wire: Wire;
  machine: Machine = NO_MACHINE;
  isAlive = true;
  readonly #calendar: Calendar;
  readonly #events: ProcessEvents;
  readonly #draw: Draw;
  readonly #timers = new Map<string, Timer>();
  readonly #startedAt: Millis;
  readonly #origin: Millis;
  readonly #rate: number;
  #waiting: Input[] = [];
  #isPaused = false;
  #stepMs: Millis = 0;
  #freeAt: Millis = 0;
  #isAtWork = false;
  #hasTurn = false;
  #overheard: Message[] | undefined;

  constructor(
    plan: ProcessPlan,
    role: Role,
    incarnation: number,
    calendar: Calendar,
    draw: Draw,
    events: ProcessEvents,
  ) {
    this.name = plan.name;
    this.role = role;
    this.incarnation = incarnation;
    this.id = `${plan.name}/${incarnation}`;
    this.wire = new Wire(plan.name, role, incarnation);
    this.#calendar = calendar;
    this.#events = events;
    this.#draw = draw;
    this.#startedAt = calendar.now;
    // The clock starts at an arbitrary value, like the uptime of a machine.
    this.#origin = Math.floor(draw.random() * 1e6);
    this.#rate = 1 + plan.drift;
  }

  /** The time on its clock. */
  get now(): Millis {
    return this.#origin + (this.#calendar.now - this.#startedAt) * this.#rate;
  }

  /** Wall clock minus monotonic clock at the start of the process. */
  wallOffsetMs(errorMs: Millis): Millis {
    return EPOCH_MS + this.#startedAt + errorMs - this.#origin;
  }

  environment(): Environment {
    return {
      random: () => this.#draw.random(),
      send: (to, message) => {
        if (this.#overheard === undefined) this.#events.sent(this, to, message);
        else this.#overheard.push(message);
      },
      setTimer: (timer, key, at) => this.#setTimer(timer, key, at),
      clearTimer: (timer, key) => this.#clearTimer(`${timer}/${key}`),
      nameOf: (address) => this.wire.nameOf(address),
    };
  }

  start(machine: Machine): void {
    this.machine = machine;
    // Before messages that arrived while it was created.
    this.#waiting.unshift({ kind: 'event', act: (now) => machine.start(now) });
    this.#goOn();
  }

  /** Handles an event immediately, or later if the process is suspended or busy. */
  take(act: (now: Millis) => void): void {
    this.#take({ kind: 'event', act });
  }

  /** Captures the messages that `act` sends, without delivering them. */
  overhear(act: () => void): readonly Message[] {
    const overheard: Message[] = [];
    this.#overheard = overheard;
    act();
    this.#overheard = undefined;
    return overheard;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  pause(): void {
    this.#isPaused = true;
  }

  /** Handles everything that has waited: due timers first, then messages. */
  resume(): void {
    this.#isPaused = false;
    if (this.#draw.chance(0.5)) {
      const timers = this.#waiting.filter(({ kind }) => kind === 'timer');
      this.#waiting = [...timers, ...this.#waiting.filter(({ kind }) => kind !== 'timer')];
    }
    this.#goOn();
  }

  /** Makes each later step take this long. */
  slowDown(stepMs: Millis): void {
    this.#stepMs = stepMs;
  }

  kill(): void {
    this.isAlive = false;
    this.#waiting = [];
    for (const { event } of this.#timers.values()) event.isOff = true;
    this.#timers.clear();
  }

  #take(input: Input): void {
    if (!this.isAlive) return;
    this.#waiting.push(input);
    this.#goOn();
  }

  #goOn(): void {
    if (this.#isAtWork || this.machine === NO_MACHINE) return;
    this.#isAtWork = true;
    while (this.isAlive && !this.#isPaused && this.#waiting.length > 0) {
      if (this.#freeAt > this.#calendar.now) {
        this.#comeBack();
        break;
      }
      this.#step(this.#waiting.shift()!);
      if (this.#stepMs > 0) this.#freeAt = this.#calendar.now + this.#stepMs;
    }
    this.#isAtWork = false;
  }

  #comeBack(): void {
    if (this.#hasTurn) return;
    this.#hasTurn = true;
    this.#calendar.put(this.#freeAt, () => {
      this.#hasTurn = false;
      this.#goOn();
    });
  }

  #step(input: Input): void {
    try {
      if (input.kind === 'event') input.act(this.now);
      else {
        // The timer was moved or cleared while its event waited.
        if (this.#timers.get(input.name) !== input.of) return;
        this.#timers.delete(input.name);
        this.machine.wake(input.of.timer, input.of.key, this.now);
      }
      this.machine.settle?.(this.now);
      this.machine.checkInvariants();
    } catch (error) {
      return this.#events.failed(this, error);
    }
    this.#events.stepped(this);
  }

  #setTimer(timer: string, key: number, at: Millis): void {
    const name = `${timer}/${key}`;
    this.#clearTimer(name);
    const dueAt = this.#startedAt + (at - this.#origin) / this.#rate + NEVER_BEFORE_MS;
    if (Number.isNaN(dueAt)) throw new Error(`timer ${name} was set to an invalid time`);
    if (dueAt === Number.POSITIVE_INFINITY) return;
    const event = this.#calendar.put(dueAt, () => this.#take({ kind: 'timer', name, of }));
    const of: Timer = { timer, key, event };
    this.#timers.set(name, of);
  }

  #clearTimer(name: string): void {
    const timer = this.#timers.get(name);
    if (timer === undefined) return;
    timer.event.isOff = true;
    this.#timers.delete(name);
  }
}

/** Replaces a machine that is still being constructed. */
const NO_MACHINE: Machine = { start() {}, receive() {}, wake() {}, checkInvariants() {} };
