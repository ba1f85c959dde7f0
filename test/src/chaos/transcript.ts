import type { Address, Message } from '@goshawk/core';
import type { Calendar } from '../stepped/calendar.js';
import type { Packet } from './network.js';
import type { Process } from './process.js';

/** Frequent messages that are omitted. */
const QUIET = new Set<Message['type']>(['heartbeat', 'heartbeatAck', 'usage', 'occupied']);

/** A readable log of a run: true time, process, event. */
export class Transcript {
  readonly #calendar: Calendar;
  readonly #write: (line: string) => void;

  constructor(calendar: Calendar, write: (line: string) => void) {
    this.#calendar = calendar;
    this.#write = write;
  }

  say(line: string): void {
    this.#write(`${this.#calendar.now.toFixed(1).padStart(9)}  ${line}`);
  }

  sent(from: Process, to: Address, message: Message): void {
    if (QUIET.has(message.type)) return;
    this.say(`${from.id} → ${shortName(from.wire.nameOf(to))}  ${described(message, from)}`);
  }

  received(by: Process, from: Address, message: Message): void {
    if (QUIET.has(message.type)) return;
    this.say(`${by.id} ← ${shortName(by.wire.nameOf(from))}  ${described(message, by)}`);
  }

  hit(what: string, { from, to, type }: Packet): void {
    if (!QUIET.has(type)) this.say(`** ${what}: ${type} ${from.id} → ${to.name}`);
  }
}

/** `w1/2` for `tcp://w1:1!w.2/0`. */
function shortName(party: string): string {
  const match = /^(?:tcp:\/\/|client:)([^:!]+)(?::1)?!(?:\w\.)?([^/]+)\/0$/.exec(party);
  return match === null ? party : `${match[1]}/${match[2]}`;
}

const ADDRESSES = new Set(['owner', 'worker', 'to', 'address']);
const OMITTED_FIELDS = new Set([
  'type',
  'payload',
  'spec',
  'settings',
  'output',
  'value',
  'demand',
  'spare',
  'hint',
]);

function described(message: Message, by: Process): string {
  const value = 'value' in message ? ` ${JSON.stringify(message.value)?.slice(0, 160)}` : '';
  return `${message.type} ${fields(message, by)}${value}`;
}

function fields(of: object, by: Process): string {
  return Object.entries(of)
    .filter(([name, value]) => !OMITTED_FIELDS.has(name) && value !== undefined)
    .map(([name, value]) => `${name}:${shown(name, value, by)}`)
    .join(' ');
}

function shown(name: string, value: unknown, by: Process): string {
  if (typeof value === 'number') {
    if (ADDRESSES.has(name) && value >= 0) return shortName(by.wire.nameOf(value as Address));
    return Number.isInteger(value) ? String(value) : value.toFixed(1);
  }
  if (Array.isArray(value)) {
    const isParties = ['joined', 'left', 'ownersLost', 'ownersAway', 'previousIncarnations'].includes(name);
    return `[${value.map((each) => shown(isParties ? 'to' : '', each, by)).join(', ')}]`;
  }
  if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value))
    return `{${fields(value, by)}}`;
  return String(value);
}
