import type { JobInput, Millis } from '@goshawk/core';
import type { Draw } from '../drawing/draw.js';
import { CUTOFF_MS } from '../drawing/settings.js';
import { inStages } from '../drawing/stages.js';
import type { OrderPlan } from './plan.js';
import type { TaskInput } from './tasks.js';

export interface Span {
  readonly from: Millis;
  readonly to: Millis;
}

/** A job, and the requests of its clients about it. */
export function drawOrder(
  draw: Draw,
  number: number,
  span: Span,
  memory: number,
  schedulers: number,
): OrderPlan {
  const key = `order ${number}`;
  return {
    key,
    at: draw.int(span.from, span.to),
    job: drawJob(draw, key, memory),
    via: draw.int(0, schedulers - 1),
    doubledAfterMs: draw.chance(0.3) ? draw.pick([0, 1, 100, 3_000]) : undefined,
    conflictAfterMs: draw.chance(0.1) ? draw.pick([0, 1, 100, 3_000]) : undefined,
    cancelAfterMs: draw.chance(0.2) ? draw.scale(1, 4_000) : undefined,
    retries: draw.chance(0.5),
  };
}

/** A job whose tasks outlast all faults. */
export function drawEnduring(draw: Draw, number: number, span: Span, schedulers: number): OrderPlan {
  const key = `order ${number}`;
  const input: TaskInput = { key, ms: ENDURING_MS, fails: 0, prints: 0 };
  const tasks = Array.from({ length: draw.int(1, 3) }, () => ({ module: 'chaos', input }));
  return {
    key,
    at: draw.int(span.from, span.to),
    job: { name: 'enduring', estimate: ENDURING_MS, tasks },
    via: draw.int(0, schedulers - 1),
    retries: false,
  };
}

const ENDURING_MS = 75_000;

/**
 * Preemptible jobs that fill the slots, and jobs that must start soon after their arrival.
 *
 * @param slots total of the workers that are not removed
 */
export function drawContention(
  draw: Draw,
  first: number,
  span: Span,
  slots: number,
  schedulers: number,
): OrderPlan[] {
  const orderOf = orderFactory(draw, schedulers);
  const victims = Array.from({ length: draw.int(1, 2) }, (_, i) => {
    const gang = draw.chance(0.2);
    const count = gang ? slots : slots * draw.int(1, 2);
    const job = { name: 'victim', preemptible: true, gang };
    return orderOf(first + i, span.from + i, draw.int(1_500, 6_000), count, job);
  });
  let at = span.from + 200;
  const urgent = Array.from({ length: draw.int(4, 10) }, (_, i) => {
    at += draw.pick([20, 300, 700, 2_000]);
    const ms = draw.int(50, 500);
    const deadline = `${Math.ceil(ms * 1.1) + draw.int(50, 600)}ms`;
    const count = draw.int(1, Math.min(3, slots));
    const number = first + victims.length + i;
    return orderOf(number, at, ms, count, { name: 'urgent', deadline, gang: draw.chance(0.3) });
  });
  return [...victims, ...urgent];
}

/**
 * Long tasks that fill the slots, and short jobs and jobs of other users that come beside them.
 *
 * @param slots total of the workers that are not removed
 */
export function drawLending(
  draw: Draw,
  first: number,
  span: Span,
  slots: number,
  schedulers: number,
): OrderPlan[] {
  const orderOf = orderFactory(draw, schedulers);
  const userOf = (): JobInput => (draw.chance(0.5) ? { user: draw.pick(['ann', 'ben']) } : {});
  const lenders = Array.from({ length: draw.int(1, 2) }, (_, i) => {
    const ms = draw.int(2_000, 8_000);
    const job = {
      name: 'lender',
      ...userOf(),
      ...(draw.chance(0.2) ? { lend: false } : {}),
      ...(draw.chance(0.3) ? { timeout: ms + 200 } : {}),
    };
    return orderOf(first + i, span.from + i, ms, slots * draw.int(1, 2), job);
  });
  let at = span.from + 300;
  const borrowers = Array.from({ length: draw.int(4, 10) }, (_, i) => {
    at += draw.pick([20, 100, 500, 1_500]);
    const ms = draw.int(5, draw.pick([100, 100, 300, 1_500]));
    const deadline = draw.chance(0.2) ? { deadline: `${Math.ceil(ms * 1.1) + draw.int(50, 600)}ms` } : {};
    const job = { name: 'borrower', ...userOf(), ...deadline };
    return orderOf(first + lenders.length + i, at, ms, draw.int(1, 3), job);
  });
  return [...lenders, ...borrowers];
}

/**
 * Jobs whose tasks fill the slots, submit jobs and wait for them, up to four levels deep.
 *
 * @param slots total of the workers that are not removed
 */
export function drawNesting(
  draw: Draw,
  first: number,
  span: Span,
  slots: number,
  schedulers: number,
): OrderPlan[] {
  return Array.from({ length: draw.int(1, 2) }, (_, i) => {
    const orderOf = orderFactory(draw, schedulers, draw.pick([1, 1, 2, 3]));
    const order = orderOf(
      first + i,
      draw.int(span.from, span.to),
      draw.int(5, 1_000),
      slots * draw.int(1, 2),
      { name: 'parent', ...(draw.chance(0.2) ? { timeout: draw.int(1_000, 5_000) } : {}) },
    );
    return { ...order, cancelAfterMs: draw.chance(0.2) ? draw.scale(1, 4_000) : undefined };
  });
}

/**
 * @param nests how deep each task nests jobs
 * @returns creates orders for jobs of equal tasks, whose estimate is right
 */
function orderFactory(draw: Draw, schedulers: number, nests?: number) {
  return (number: number, at: Millis, ms: Millis, count: number, job: JobInput): OrderPlan => {
    const key = `order ${number}`;
    const input: TaskInput = { key, ms, fails: 0, prints: 0, ...(nests === undefined ? {} : { nests }) };
    const tasks = Array.from({ length: count }, () => ({ module: 'chaos', input }));
    const via = draw.int(0, schedulers - 1);
    return { key, at, job: { estimate: ms, ...job, tasks }, via, retries: false };
  };
}

function drawJob(draw: Draw, key: string, memory: number): JobInput {
  const long = draw.chance(0.35);
  // Many tiny tasks are sent to slots in chunks.
  const tiny = !long && draw.chance(0.2);
  const fails = draw.chance(tiny ? 0.1 : 0.25) ? draw.pick([0.1, 0.5, 1]) : 0;
  const task = () => {
    const input: TaskInput = {
      key,
      ms: long ? draw.int(CUTOFF_MS, 3_000) : draw.int(1, tiny && draw.chance(0.95) ? 5 : 200),
      fails,
      prints: draw.chance(0.2) ? draw.int(1, 3) : 0,
    };
    return { module: 'chaos', input };
  };
  const tasks = () => Array.from({ length: tiny ? draw.int(10, 32) : draw.int(1, 8) }, task);
  const stages = tiny ? 1 : draw.int(1, 4);
  const demanding = memory > 0 && draw.chance(0.6);
  return {
    name: draw.pick(['daily', 'hourly', 'once']),
    ...(draw.chance(0.9)
      ? { estimate: long ? CUTOFF_MS * draw.int(1, 4) : draw.int(0, tiny ? 5 : CUTOFF_MS - 1) }
      : {}),
    retries: draw.pick([0, 0, 1, 3]),
    ...(draw.chance(0.1) ? { timeout: long ? 1_000 : 100 } : {}),
    ...(draw.chance(0.25) ? { maxRunning: draw.int(1, 4) } : {}),
    ...(demanding ? { demand: { memory: draw.int(1, memory) } } : {}),
    ...inStages(draw, stages, tasks),
  };
}
