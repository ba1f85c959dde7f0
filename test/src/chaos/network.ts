import type { MessageType, Millis, Role } from '@goshawk/core';
import { Draw } from '../drawing/draw.js';
import type { Calendar, Event } from '../stepped/calendar.js';
import type { Fault, FaultOf, NetworkPlan, Traffic } from './plan.js';

/** One end of a connection: an incarnation of a process. */
export interface End {
  readonly name: string;
  readonly role: Role;
  /** Name and incarnation. */
  readonly id: string;
}

export interface Packet {
  readonly from: End;
  /** The incarnation of the process at the destination endpoint at the time of arrival. */
  readonly to: Pick<End, 'name' | 'role'>;
  readonly type: MessageType;
  readonly bytes: Buffer;
}

interface Link extends Pick<Packet, 'from' | 'to'> {
  readonly draw: Draw;
  /** Messages stay in order while the connection lives. */
  lastAt: Millis;
  readonly onTheWay: Set<Flight>;
}

interface Flight {
  readonly packet: Packet;
  event: Event;
}

type LinkFault = FaultOf<'lose' | 'double' | 'delay' | 'cut'>;

interface Window {
  readonly fault: LinkFault;
  readonly draw: Draw;
  readonly until: Millis;
}

interface NetworkEvents {
  arrived(packet: Packet): void;
  /** Called when a fault affects a message. */
  hit(what: string, packet: Packet): void;
}

/**
 * Messages in flight, each with a separate delay. Messages between two processes stay in order while their connection
 * lives; anything else that happens to a message is a fault of the plan.
 */
export class Network {
  readonly #calendar: Calendar;
  readonly #plan: NetworkPlan;
  readonly #seed: string;
  readonly #events: NetworkEvents;
  readonly #links = new Map<string, Link>();
  #windows: Window[] = [];

  constructor(calendar: Calendar, plan: NetworkPlan, seed: string, events: NetworkEvents) {
    this.#calendar = calendar;
    this.#plan = plan;
    this.#seed = seed;
    this.#events = events;
  }

  send(packet: Packet): void {
    const link = this.#link(packet);
    let afterMs = this.#plan.leastMs - this.#plan.moreMs * Math.log(1 - link.draw.random());
    let copies = 1;
    for (const { fault, draw, until } of this.#open()) {
      if (!concerns(fault, packet)) continue;
      if (fault.kind === 'cut') {
        this.#events.hit('cut', packet);
        if (!fault.holds) return;
        afterMs = Math.max(afterMs, until - this.#calendar.now + draw.random() * 100);
      } else if (draw.chance(fault.probability)) {
        this.#events.hit(fault.kind, packet);
        if (fault.kind === 'lose') return;
        if (fault.kind === 'double') copies++;
        if (fault.kind === 'delay') afterMs += draw.random() * fault.byMs;
      }
    }
    for (; copies > 0; copies--) {
      this.#put(link, packet, afterMs);
      afterMs += this.#plan.leastMs - 10 * this.#plan.moreMs * Math.log(1 - link.draw.random());
    }
  }

  /** Applies the fault from now on, for its duration. */
  begin(fault: LinkFault, index: number): void {
    const until = this.#calendar.now + fault.forMs;
    this.#windows.push({ fault, draw: new Draw(`${this.#seed}/traffic ${index}`), until });
  }

  /** Breaks and reopens connections. */
  reconnect(fault: FaultOf<'reconnect'>): void {
    for (const link of this.#links.values()) {
      if (!joins(fault, link)) continue;
      link.lastAt = 0;
      for (const flight of [...link.onTheWay]) {
        if (!isOfTypes(fault, flight.packet)) continue;
        flight.event.isOff = true;
        link.onTheWay.delete(flight);
        this.#events.hit('reconnect', flight.packet);
        if (link.draw.chance(0.5)) continue;
        this.#fly(link, flight.packet, this.#calendar.now + link.draw.random() * 1_000);
      }
    }
  }

  /** The sender has died, and some of its last messages are lost. */
  senderDied(id: string): void {
    for (const link of this.#links.values()) {
      const flights = [...link.onTheWay].filter(({ packet }) => packet.from.id === id);
      if (flights.length === 0) continue;
      const lostFrom = link.draw.int(0, flights.length);
      for (const flight of flights.slice(lostFrom)) {
        flight.event.isOff = true;
        link.onTheWay.delete(flight);
      }
    }
  }

  /** Types of the messages in flight. */
  get typesOnTheWay(): Set<MessageType> {
    return new Set(
      [...this.#links.values()].flatMap(({ onTheWay }) => [...onTheWay].map(({ packet }) => packet.type)),
    );
  }

  #put(link: Link, packet: Packet, afterMs: Millis): void {
    link.lastAt = Math.max(link.lastAt, this.#calendar.now + afterMs);
    this.#fly(link, packet, link.lastAt);
  }

  #fly(link: Link, packet: Packet, at: Millis): void {
    const flight: Flight = {
      packet,
      event: this.#calendar.put(at, () => {
        link.onTheWay.delete(flight);
        this.#events.arrived(packet);
      }),
    };
    link.onTheWay.add(flight);
  }

  #link({ from, to }: Packet): Link {
    const key = `${from.id} ${to.name}`;
    let link = this.#links.get(key);
    if (link === undefined) {
      link = { from, to, draw: new Draw(`${this.#seed}/link ${key}`), lastAt: 0, onTheWay: new Set() };
      this.#links.set(key, link);
    }
    return link;
  }

  #open(): readonly Window[] {
    const { now } = this.#calendar;
    if (this.#windows.some(({ until }) => until < now))
      this.#windows = this.#windows.filter(({ until }) => until >= now);
    return this.#windows;
  }
}

type FaultFilter = Traffic & Partial<Pick<Fault, 'kind'>>;

function concerns(fault: FaultFilter, packet: Packet): boolean {
  return isOfTypes(fault, packet) && joins(fault, packet);
}

function isOfTypes({ types }: FaultFilter, { type }: Packet): boolean {
  return types === undefined || types.includes(type);
}

function joins(fault: FaultFilter, { from, to }: Pick<Packet, 'from' | 'to'>): boolean {
  if (isOf(fault.from, from) && isOf(fault.to, to)) return true;
  return 'both' in fault && fault.both === true && isOf(fault.from, to) && isOf(fault.to, from);
}

function isOf(wanted: string, { name, role }: Pick<End, 'name' | 'role'>): boolean {
  return wanted === 'all' || wanted === role || wanted === name;
}
