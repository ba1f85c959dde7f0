import type { Address } from '@goshawk/core';
import { addPapers } from '@goshawk/papers';
import { ClusterBooks, makePolicy } from '@goshawk/policies';
import { expect, test } from 'vitest';
import { sharesOf } from './shares.js';

addPapers();

const OWNER = 900 as Address;
const CONTEXT = { cutoffMs: 1_000, sizesAreGiven: true, reserve: 0, random: () => 0.5 };

function books(): ClusterBooks {
  const made = new ClusterBooks();
  const worker = made.addWorker(1 as Address, made.names.capacityOf(4, { cpu: 8 }));
  made.setOpen(worker, true);
  made.rehome('t', OWNER, [], 0);
  for (const [job, user] of ['ann', 'ben'].entries()) {
    const booked = made.declare(OWNER, job, { arrivedAt: 0, user, tasks: 3 });
    const stage = made.stage(booked, 0, { demand: made.names.demandOf({ cpu: 2 }), estimateMs: 1_000 });
    made.setWaiting(stage, 3, 0);
    for (let run = 0; run <= job; run++) made.start(stage, worker, 0);
  }
  return made;
}

test('shares list jobs by allocation, with the fair share from the policy', () => {
  const made = books();
  const policy = makePolicy('drf', {}, CONTEXT);
  policy.update(made.takeChanges(), 0);
  const { by, capacity, jobs, total } = sharesOf(made, policy);
  expect({ by, capacity, total }).toEqual({ by: 'job', capacity: { slot: 4, cpu: 8 }, total: 2 });
  expect(jobs).toEqual([
    {
      id: 't-1',
      user: 'ben',
      weight: 1,
      running: 2,
      waiting: 1,
      has: { slot: 2, cpu: 4 },
      due: { slot: 2, cpu: 4 },
      userWeight: 1,
    },
    expect.objectContaining({ id: 't-0', running: 1, waiting: 2, has: { slot: 1, cpu: 2 } }),
  ]);
});

test('a policy without shares reports no fair shares', () => {
  const made = books();
  const policy = makePolicy('gs', {}, CONTEXT);
  policy.update(made.takeChanges(), 0);
  const { by, jobs } = sharesOf(made, policy);
  expect(by).toBeUndefined();
  expect(jobs.every(({ due }) => due === undefined)).toBe(true);
});

test('shares count whole CPUs that tiny tasks make unusable', () => {
  const made = new ClusterBooks();
  const workers = [1, 2, 3, 4].map((address) =>
    made.addWorker(address as Address, made.names.capacityOf(16, { cpu: 1 })),
  );
  for (const worker of workers) made.setOpen(worker, true);
  made.rehome('t', OWNER, [], 0);
  const job = made.declare(OWNER, 1, { arrivedAt: 0, user: 'mal', tasks: 64 });
  const stage = made.stage(job, 0, { demand: made.names.demandOf({ cpu: 0.001 }), estimateMs: 1_000 });
  made.setWaiting(stage, 64, 0);
  const policy = makePolicy('goshawk', {}, CONTEXT);
  const cpus = () => sharesOf(made, policy).jobs[0]!.has.cpu;
  made.start(stage, workers[0]!, 0);
  made.start(stage, workers[1]!, 0);
  expect(cpus()).toBe(2);
  for (let more = 0; more < 10; more++) made.start(stage, workers[0]!, 0);
  expect(cpus()).toBe(2);
  for (const worker of workers) while (made.start(stage, worker, 0) !== undefined);
  expect(cpus()).toBe(4);
});
