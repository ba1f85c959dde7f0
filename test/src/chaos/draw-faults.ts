import { MESSAGE_TYPES, type MessageType, type Millis, ROLES } from '@goshawk/core';
import { Draw } from '../drawing/draw.js';
import type { Span } from './draw-orders.js';
import type { Fault, FaultKind, Traffic } from './plan.js';

interface Names {
  readonly workers: readonly string[];
  readonly schedulers: readonly string[];
}

const KINDS: readonly FaultKind[] = [
  'lose',
  'lose',
  'lose',
  'double',
  'double',
  'delay',
  'cut',
  'cut',
  'reconnect',
  'reconnect',
  'crash',
  'crash',
  'crash',
  'crash',
  'remove',
  'pause',
  'pause',
  'slow',
  'wallJump',
  'diskFails',
  'diskSlow',
  'diskFull',
  'drain',
  'terminate',
  'busy',
];

const FAULTS_MAX = 16;
/** Downtimes in ms: an immediate restart, too short to be noticed, within a lease, and longer than any lease. */
const AWAY_MS = [0, 300, 2_000, 8_000, 14_000];
const HOUR_MS = 3_600_000;

/** Draws faults; each one uses its own random numbers. */
export function drawFaults(seed: string, names: Names, span: Span): Fault[] {
  const count = new Draw(`${seed}/faults`).int(2, FAULTS_MAX);
  return Array.from({ length: count }, (_, i) => drawFault(new Draw(`${seed}/fault ${i}`), names, span)).sort(
    (one, other) => one.at - other.at,
  );
}

const ONE_STALLED_IN = 4;
/** Longer than every lease, timeout and retry of a client. */
const STALL_MS = 20_000;

/** Draws disks and databases that do not answer, in some of the clusters: of one scheduler, or of all at once. */
export function drawStalls(seed: string, schedulers: readonly string[], span: Span): Fault[] {
  const draw = new Draw(`${seed}/stalls`);
  if (draw.int(1, ONE_STALLED_IN) > 1) return [];
  return Array.from({ length: draw.int(1, 2) }, () => {
    const at = draw.int(span.from, span.to);
    const forMs = Math.min(draw.pick([1_000, 8_000, STALL_MS]), Math.max(0, span.to - at));
    const stalled = draw.chance(0.5) ? schedulers : [draw.pick(schedulers)];
    return stalled.map((process): Fault => ({ kind: 'diskSlow', at, process, forMs, syncMs: STALL_MS }));
  }).flat();
}

const TAKEOVERS_MAX = 5;
/** Downtimes beyond a lease, in ms: another scheduler has taken over the jobs by then, or soon will. */
const LOST_MS = [6_000, 9_000, 16_000, 60_000];

/** Draws faults for schedulers that share a journal. */
export function drawTakeovers(seed: string, schedulers: readonly string[], span: Span): Fault[] {
  const count = new Draw(`${seed}/takeovers`).int(1, TAKEOVERS_MAX);
  return Array.from({ length: count }, (_, i) =>
    drawTakeover(new Draw(`${seed}/takeover ${i}`), schedulers, span),
  );
}

function drawTakeover(draw: Draw, schedulers: readonly string[], span: Span): Fault {
  const kind = draw.pick(['takeOver', 'crash', 'pause', 'diskFails', 'diskFull', 'diskSlow'] as const);
  const at = draw.int(span.from, span.to);
  const process = draw.pick(schedulers);
  const forMs = Math.min(draw.pick([500, 3_000, 7_000, 20_000]), Math.max(0, span.to - at));
  switch (kind) {
    case 'takeOver':
      return { kind, at, process };
    case 'crash':
      return crash(at, process, draw.pick(LOST_MS), 'kept');
    case 'pause':
      return { kind, at, process, forMs: draw.pick(LOST_MS) };
    case 'diskFails':
      return { kind, at, process, isWritten: draw.chance(0.5), downMs: forMs };
    case 'diskFull':
      return { kind, at, process, forMs, hasNoRoom: true };
    case 'diskSlow':
      return { kind, at, process, forMs, syncMs: draw.pick([100, 1_000, 5_000]) };
  }
}

function drawFault(draw: Draw, names: Names, span: Span): Fault {
  const kind = draw.pick(KINDS);
  const at = draw.int(span.from, span.to);
  const scheduler = (): string => draw.pick(names.schedulers);
  const worker = (): string => draw.pick(names.workers);
  const anybody = (): string => draw.pick([worker(), scheduler(), 'central']);
  const forMs = Math.min(draw.pick([500, 3_000, 7_000, 20_000]), Math.max(0, span.to - at));
  switch (kind) {
    case 'lose':
    case 'double':
      return { kind, at, forMs, ...drawTraffic(draw, names), probability: draw.pick([0.02, 0.1, 0.3, 1]) };
    case 'delay':
      return { kind, at, forMs, ...drawTraffic(draw, names), probability: 0.5, byMs: draw.scale(10, 6_000) };
    case 'cut':
      return { kind, at, forMs, both: draw.chance(0.5), holds: draw.chance(0.5), ...drawCut(draw, names) };
    case 'reconnect':
      return { kind, at, ...drawTraffic(draw, names) };
    case 'crash':
      return crash(at, anybody(), draw.pick(AWAY_MS), draw.chance(0.15) ? 'lost' : 'kept');
    case 'remove':
      return { kind, at, process: worker() };
    case 'pause':
      return { kind, at, process: anybody(), forMs: draw.pick([200, 1_500, 6_000, 16_000]) };
    case 'slow':
      return { kind, at, process: anybody(), forMs, stepMs: draw.pick([1, 10, 100]) };
    case 'wallJump':
      return { kind, at, process: anybody(), byMs: draw.int(-24 * HOUR_MS, 24 * HOUR_MS) };
    case 'diskFails':
      return { kind, at, process: scheduler(), isWritten: draw.chance(0.5), downMs: draw.pick(AWAY_MS) };
    case 'diskSlow':
      return { kind, at, process: scheduler(), forMs, syncMs: draw.pick([100, 1_000, 5_000]) };
    case 'diskFull':
      return { kind, at, process: scheduler(), forMs, hasNoRoom: draw.chance(0.5) };
    case 'takeOver':
      return { kind, at, process: scheduler() };
    case 'drain':
      return { kind, at, process: worker(), forMs };
    case 'terminate':
      return { kind, at, process: worker(), downMs: draw.pick(AWAY_MS) };
    case 'busy':
      return { kind, at, forMs };
  }
}

function crash(at: Millis, process: string, downMs: Millis, disk: 'kept' | 'lost'): Fault {
  return { kind: 'crash', at, process, downMs, disk };
}

function drawTraffic(draw: Draw, names: Names): Traffic {
  const anyone = () => draw.pick<string>(['all', 'all', ...ROLES, ...names.workers, ...names.schedulers]);
  const types = draw.chance(0.6)
    ? undefined
    : Array.from({ length: draw.int(1, 4) }, () => draw.pick<MessageType>(MESSAGE_TYPES));
  return { from: anyone(), to: anyone(), types };
}

/** Cuts one process off from all others, or from one. */
function drawCut(draw: Draw, names: Names): Traffic {
  const one = () => draw.pick([...names.workers, ...names.schedulers, 'central']);
  const pair = [one(), draw.pick(['all', one()])];
  return draw.chance(0.5) ? { from: pair[0]!, to: pair[1]! } : { from: pair[1]!, to: pair[0]! };
}
