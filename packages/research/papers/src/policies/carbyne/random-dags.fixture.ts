import type { Random } from '@goshawk/core';
import type { PlanProblem } from './forward.js';

/** A job of 1 to 7 stages with 1 to 6 tasks, partly running, in a share of two resources. Amounts are integers. */
export function randomProblem(random: Random): PlanProblem {
  const integer = (least: number, most: number) => least + Math.floor(random.next() * (most - least + 1));
  const share = [integer(4, 12), integer(4, 12)];
  const stages = Array.from({ length: integer(1, 7) }, (_, stage) => ({
    unstarted: integer(1, 6),
    demand: share.map((amount) => integer(1, Math.min(5, amount))),
    durationMs: integer(1, 9),
    parents: Array.from({ length: stage }, (__, parent) => parent).filter(() => random.next() < 0.35),
  }));
  const free = [...share];
  const running: { stage: number; remainingMs: number }[] = [];
  stages.forEach(({ demand, durationMs, parents }, stage) => {
    if (parents.length > 0 || random.next() < 0.6 || demand.some((amount, r) => amount > free[r]!)) return;
    demand.forEach((amount, r) => {
      free[r]! -= amount;
    });
    running.push({ stage, remainingMs: integer(1, durationMs) });
  });
  return { stages, running, share, whole: share.map((amount) => 4 * amount) };
}
