import { amountOf, GPU, LIMITS, parseUsers, Random } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OWNER, PolicyBench } from '../testing.fixture.js';
import type { BookedRun, BookedStage } from './entries.js';
import { checkBooks } from './invariants.js';

function benchOf(workers: number, users: object, slots = 1): PolicyBench {
  const capacity = { cpu: slots, memory: 100 * slots, gpu: 1 };
  const bench = new PolicyBench('goshawk', workers, { slots, capacity });
  bench.books.grant(parseUsers(JSON.stringify(users), 'users.json'));
  return bench;
}

/** The run as its task names it to the job that it submits. */
function nameOf(run: BookedRun) {
  run.match ||= ++run.worker.match;
  return { job: run.stage.job.name, task: 0, worker: run.worker.name, match: run.match };
}

function running(bench: PolicyBench, user: string): number {
  return [...bench.books.jobs].reduce((sum, job) => sum + (job.user === user ? job.running : 0), 0);
}

test('the users of a project divide its weight while they have jobs', () => {
  const of = { project: 'physics' };
  const bench = benchOf(1, { ann: of, ben: { ...of, weight: 2 }, '@physics': { weight: 6 } });
  bench.need(1, { tasks: 9, user: 'ann' });
  expect(bench.stage(1).job.userWeight).toBe(6);
  bench.need(2, { tasks: 9, user: 'ben' });
  bench.need(3, { tasks: 9, user: 'cleo' });
  expect([1, 2, 3].map((job) => bench.stage(job).job.userWeight)).toEqual([2, 4, 1]);
  bench.withdraw(2);
  expect(bench.stage(1).job.userWeight).toBe(6);
});

/** Jobs with tasks over a limit, one more of which the limits would admit besides the running and the visible ones. */
function admissible(bench: PolicyBench, user: string, limits: Readonly<Record<string, number>>): number[] {
  const amountsOf = ({ demand }: BookedStage) => {
    const of = bench.books.names.resourcesOf(demand);
    const gpus = amountOf(of, GPU);
    return { running: 1, cpus: amountOf(of, 'cpu') || 1, memory: amountOf(of, 'memory'), gpus };
  };
  const stages = [...bench.books.everyJob()].flatMap((job) => (job.user === user ? [...job.stages] : []));
  const used: Record<string, number> = { running: 0, cpus: 0, memory: 0, gpus: 0 };
  for (const stage of stages)
    for (const [name, amount] of Object.entries(amountsOf(stage)))
      used[name]! += amount * (stage.running + stage.waiting);
  const fits = (stage: BookedStage) =>
    Object.entries(amountsOf(stage)).every(
      ([name, amount]) => amount === 0 || used[name]! + amount <= limits[name]! + 1e-9,
    );
  return stages.flatMap((stage) => (stage.overLimit > 0 && fits(stage) ? [stage.job.number] : []));
}

describe('limits of users', () => {
  test('apply to all jobs of the user together, and leave the rest to others', () => {
    const bench = benchOf(8, { ann: { running: 3 } });
    bench.report(1, { tasks: 2, user: 'ann' });
    bench.need(2, { tasks: 9, user: 'ann' });
    bench.need(3, { tasks: 5, user: 'ben' });
    expect([running(bench, 'ann'), running(bench, 'ben')]).toEqual([3, 5]);
    bench.end(1);
    expect(running(bench, 'ann')).toBe(3);
  });

  test('apply to the users of a project together', () => {
    const of = { project: 'physics' };
    const bench = benchOf(8, { ann: of, ben: of, '@physics': { cpus: 4 } });
    bench.report(1, { tasks: 9, user: 'ann', demand: { cpu: 1 } });
    bench.report(2, { tasks: 9, user: 'ben', demand: { cpu: 1 } });
    bench.settle();
    expect(running(bench, 'ann') + running(bench, 'ben')).toBe(4);
    bench.report(3, { tasks: 9, user: 'cleo', demand: { cpu: 1 } });
    bench.settle();
    expect(running(bench, 'cleo')).toBe(4);
  });

  describe('that running tasks exceed by their jobs', () => {
    const users: Readonly<Record<string, (limits: object, more: object) => object>> = {
      user: (limits) => ({ ann: limits, ben: limits }),
      everyone: (limits) => ({ '*': limits }),
      project: (limits) => ({ ann: { project: 'p' }, ben: { project: 'p' }, '@p': limits }),
      both: (limits, more) => ({
        ann: { project: 'p', ...limits },
        ben: { project: 'p', ...limits },
        '@p': more,
      }),
    };
    const unit = { running: 1, cpus: 1, memory: 10 } as const;
    const task = fc.record({
      tasks: fc.integer({ min: 1, max: 3 }),
      size: fc.integer({ min: 1, max: 4 }),
      gang: fc.boolean(),
    });
    const shape = fc.record({
      most: fc.integer({ min: 1, max: 4 }),
      of: fc.constantFrom('running', 'cpus', 'memory'),
      whose: fc.constantFrom(...Object.keys(users)),
      roots: fc.array(
        fc.record({
          user: fc.constantFrom('ann', 'ben'),
          depth: fc.integer({ min: 0, max: LIMITS.nestedMax }),
        }),
        { minLength: 1, maxLength: 4 },
      ),
      // One per submitted job, in turn.
      kinds: fc.array(task, { minLength: 1, maxLength: 5 }),
      // Whether tasks end before the jobs that they submit.
      waits: fc.boolean(),
      restarts: fc.boolean(),
      seed: fc.integer({ min: 0 }),
    });

    test('let all of them end, and exceed each limit by one task or gang per level', () => {
      fc.assert(
        fc.property(shape, ({ most, of, whose, roots, kinds, waits, restarts, seed }) => {
          const random = Random.seeded(`nested ${seed}`);
          const limitOf = (units: number) => ({ [of]: units * unit[of] });
          const file = JSON.stringify(users[whose]!(limitOf(most), limitOf(most + 1)));
          const bench = new PolicyBench('goshawk', 60, { slots: 4, capacity: { cpu: 4, memory: 40 } });
          bench.books.grant(parseUsers(file, 'users.json'));
          const jobs = new Map<number, { user: string; level: number; depth: number; units: number }>();
          const children = new Map<BookedRun, number>();
          let made = 0;
          const submit = (user: string, level: number, depth: number, by?: BookedRun): number => {
            const kind = kinds[made++ % kinds.length]!;
            const size = of === 'running' ? 1 : Math.min(kind.size, most);
            // Each task may submit a job, so that more would take too long.
            const wanted = made > 20 ? 1 : kind.tasks;
            const tasks = kind.gang ? Math.min(wanted, Math.floor(most / size)) : wanted;
            jobs.set(made, { user, level, depth, units: kind.gang ? tasks * size : size });
            const demand = { cpu: size, memory: 10 * size };
            const parent = by === undefined ? {} : { parent: nameOf(by) };
            bench.need(made, { user, tasks, gang: kind.gang, demand, ...parent });
            return made;
          };
          const runsNow = () => [...bench.books.workers].flatMap((worker) => worker.runs);
          const jobOf = (run: BookedRun) => jobs.get(run.stage.job.number)!;
          const check = () => {
            const accounts: [limit: number, users: readonly string[]][] =
              whose === 'project' ? [[most, ['ann', 'ben']]] : [[most, ['ann']]];
            if (whose !== 'project') accounts.push([most, ['ben']]);
            if (whose === 'both') accounts.push([most + 1, ['ann', 'ben']]);
            for (const [limit, names] of accounts) {
              const runs = runsNow().filter((run) => names.includes(jobOf(run).user));
              const beyond = new Map<number, number>();
              for (const { level, units } of runs.map(jobOf))
                if (level > 0) beyond.set(level, Math.max(units, beyond.get(level) ?? 0));
              const used = runs.reduce((sum, { stage }) => {
                const size = amountOf(bench.books.names.resourcesOf(stage.demand), 'cpu');
                return sum + (of === 'running' ? 1 : size);
              }, 0);
              expect(used).toBeLessThanOrEqual(limit + [...beyond.values()].reduce((a, b) => a + b, 0));
            }
          };
          for (const { user, depth } of roots) submit(user, 0, depth);
          for (let steps = 0; bench.books.runCount > 0; steps++) {
            expect(steps).toBeLessThan(3_000);
            const choices = runsNow().filter((run) => {
              const child = children.get(run);
              if (child === undefined) return true;
              return !waits || bench.books.job(OWNER, child) === undefined;
            });
            // Otherwise all running tasks wait for ever.
            expect(choices).not.toEqual([]);
            const run = choices[Math.floor(random.next() * choices.length)]!;
            const { user, level, depth } = jobOf(run);
            if (depth > 0 && !children.has(run)) {
              children.set(run, submit(user, level + 1, depth - 1, run));
            } else {
              bench.books.end(run, 'done', bench.now);
              if (restarts && waits) for (const job of bench.books.everyJob()) job.level = 0;
              if (restarts) bench.books.grant(parseUsers(file, 'users.json'));
              bench.settle();
            }
            check();
          }
          expect([...bench.books.jobs]).toEqual([]);
        }),
        { numRuns: 15 },
      );
    });

    test('say so, and that others must wait', () => {
      const bench = benchOf(8, { ann: { running: 1 } });
      bench.need(1, { user: 'ann' });
      const parent = nameOf(bench.runOf(1));
      bench.need(2, { tasks: 3, user: 'ann' });
      bench.need(3, { tasks: 3, user: 'ann', parent });
      expect([bench.count(1), bench.count(2), bench.count(3)]).toEqual([1, 0, 1]);
      bench.end(3);
      bench.settle();
      expect([bench.count(1), bench.count(2), bench.count(3)]).toEqual([1, 0, 1]);
      bench.need(4, { user: 'ann' });
      const allowed =
        '--users allows user ann 1 running task at a time; tasks that run or start first take 2';
      const nested =
        '; a job of a running task may exceed that by one task, but not while tasks as deep run or start first';
      expect(bench.stage(3).limitReason).toBe(`${allowed}${nested}`);
      expect(bench.stage(2).limitReason).toBe(allowed);
      bench.end(1);
      expect([bench.count(2), bench.count(3)]).toEqual([0, 1]);
    });

    test('do not exceed them once more when a parent ends first', () => {
      const bench = benchOf(8, { ann: { running: 2 } });
      bench.need(1, { user: 'ann' });
      bench.need(2, { user: 'ann' });
      const [one, other] = [nameOf(bench.runOf(1)), nameOf(bench.runOf(2))];
      bench.need(3, { user: 'ann', parent: one });
      bench.need(4, { tasks: 2, user: 'ann', parent: other });
      bench.need(5, { user: 'ann' });
      expect([3, 4, 5].map((job) => bench.count(job))).toEqual([1, 0, 0]);
      bench.end(1);
      expect([3, 4, 5].map((job) => bench.count(job))).toEqual([1, 0, 0]);
    });
  });

  test('also apply to tasks that waited before the operator set them', () => {
    const bench = benchOf(4, {});
    bench.report(1, { tasks: 9, user: 'ann' });
    bench.need(2, { tasks: 9, user: 'ben' });
    bench.books.grant(
      parseUsers('{"ann": {"running": 1, "project": "lab"}, "@lab": {"running": 1}}', 'users.json'),
    );
    for (let end = 0; end < 8; end++) {
      bench.settle();
      bench.endAny(end);
    }
    expect([running(bench, 'ann'), running(bench, 'ben')]).toEqual([1, 3]);
  });

  test('name the limit that binds, until the operator lifts it', () => {
    const bench = benchOf(4, { ann: { memory: 150, gpus: 1 } });
    bench.need(1, { tasks: 4, user: 'ann', demand: { memory: 50 } });
    expect(running(bench, 'ann')).toBe(3);
    expect(bench.stage(1).limitReason).toBe(
      '--users allows user ann 150 B of memory at a time; tasks that run or start first take 150 B',
    );
    bench.books.grant(parseUsers('{}', 'users.json'));
    bench.settle();
    expect(running(bench, 'ann')).toBe(4);
    expect(bench.stage(1)).toMatchObject({ overLimit: 0, waiting: 0, limitReason: undefined });
  });

  test('count a part of a GPU as a whole one if the task selects its worker', () => {
    const bench = benchOf(4, { ann: { gpus: 1 } });
    bench.need(1, { tasks: 4, user: 'ann', demand: { gpu: 0.01, cpu: 0.01 }, requires: { zone: '!none' } });
    bench.need(2, { tasks: 4, user: 'ben', demand: { gpu: 0.25, cpu: 0.01 } });
    expect([running(bench, 'ann'), running(bench, 'ben')]).toEqual([1, 3]);
  });

  test('admit a task that fits once a worker has room for it, instead of the one before it', () => {
    const bench = benchOf(1, { ann: { running: 1 } }, 2);
    bench.need(1, { tasks: 1, user: 'ben', demand: { gpu: 1 } });
    bench.need(2, { tasks: 1, user: 'ben', demand: { cpu: 1 } });
    expect(running(bench, 'ben')).toBe(2);
    bench.need(3, { tasks: 1, user: 'ann', demand: { gpu: 1 } });
    bench.need(4, { tasks: 1, user: 'ann', demand: { cpu: 1 } });
    bench.end(2);
    bench.settle();
    expect([bench.stage(3).running, bench.stage(4).running]).toEqual([0, 1]);
  });

  test('are not used up by tasks that fit no worker', () => {
    const bench = benchOf(4, { ann: { running: 2 } });
    bench.need(1, { tasks: 5, user: 'ann', demand: { cpu: 64 } });
    bench.need(2, { tasks: 5, user: 'ann' });
    expect(bench.stage(2).running).toBe(2);
  });

  test('are used by pilots before the other tasks of their job', () => {
    const bench = benchOf(8, { ann: { running: 2 } });
    bench.need(1, { tasks: 500, user: 'greedy', estimateMs: 1_000 });
    expect(running(bench, 'greedy')).toBe(8);
    bench.report(2, { stage: 0, tasks: 48, user: 'ann', part: 'early' });
    bench.report(2, { stage: 1, tasks: 2, user: 'ann', part: 'pilots' });
    bench.settle();
    expect([bench.stage(2, 0).waiting, bench.stage(2, 1).waiting]).toEqual([0, 2]);
    bench.end(1);
    bench.settle();
    expect(bench.stage(2, 1).running).toBeGreaterThan(0);
  });

  test('are not used up by a gang that is too large for the workers', () => {
    const bench = benchOf(2, { ann: { running: 3 } });
    bench.need(1, { tasks: 3, user: 'ann', gang: true });
    bench.need(2, { tasks: 2, user: 'ann', gang: true });
    expect([bench.stage(1).running, bench.stage(2).running]).toEqual([0, 2]);
    bench.join(2, 1, { cpu: 1 });
    bench.end(2);
    bench.end(2);
    expect(bench.stage(1).running).toBe(3);
  });

  test('visit only the tasks that they admit, and one more of each kind', () => {
    const bench = benchOf(4, { ann: { running: 2 } });
    for (let job = 0; job < 2_000; job++)
      bench.report(job, { tasks: 2, user: 'ann', demand: job % 2 === 0 ? {} : { memory: 50 } });
    bench.settle();
    expect(running(bench, 'ann')).toBe(2);
    let visits = 0;
    for (const job of bench.books.everyJob())
      for (const stage of job.stages) {
        const { limitTasks } = stage;
        const get = (): number => {
          visits++;
          return limitTasks;
        };
        Object.defineProperty(stage, 'limitTasks', { get, set() {} });
      }
    bench.end(0);
    expect(running(bench, 'ann')).toBe(2);
    expect(visits).toBeLessThan(20);
    expect([...bench.books.limitedTasks].map(({ tasks, oldest }) => [tasks, oldest.number])).toEqual([
      [1_997, 2],
      [2_000, 1],
    ]);
  });

  test('visit each worker of a full cluster a few times for tasks of many different needs', () => {
    const workers = 40;
    const bench = benchOf(workers, { ann: { running: 2 } });
    bench.need(1, { tasks: workers, user: 'ben' });
    for (let job = 2; job < 42; job++) bench.need(job, { tasks: 1, user: 'ann', demand: { memory: job } });
    expect(running(bench, 'ben')).toBe(workers);
    let visits = 0;
    for (const worker of bench.books.workers) {
      const { open } = worker;
      const get = (): boolean => {
        visits++;
        return open;
      };
      Object.defineProperty(worker, 'open', { get, set() {} });
    }
    for (let end = 0; end < 10; end++) bench.end(1);
    expect(running(bench, 'ann')).toBe(2);
    expect(visits / 10).toBeLessThan(6 * workers);
    expect(visits).toBeGreaterThan(0);
  });

  test('hold through random arrivals, ends and changes of the file, and everything runs eventually', () => {
    for (let seed = 0; seed < 8; seed++) {
      const random = Random.seeded(`limits ${seed}`);
      const draw = (below: number): number => Math.floor(random.next() * below);
      const limits = { running: 1 + draw(4), cpus: 1 + draw(4), memory: 40 + draw(200), gpus: 1 + draw(3) };
      const bench = benchOf(3, { ann: limits, ben: { project: 'p' }, '@p': { running: 2 } }, 2);
      const users = ['ann', 'ben', 'cleo'] as const;
      for (let step = 0; step < 80; step++) {
        bench.now += draw(50);
        const what = draw(3);
        if (what === 0)
          bench.need(1 + step, {
            tasks: 1 + draw(5),
            user: users[draw(3)]!,
            demand: [{}, { cpu: 2 }, { memory: 40 }, { gpu: 0.5 }][draw(4)]!,
          });
        else if ([...bench.books.workers].some(({ runs }) => runs.length > 0)) bench.endAny(draw(9));
        const used = { running: 0, cpu: 0, memory: 0, gpu: 0 };
        for (const job of bench.books.jobs)
          for (const stage of job.user === 'ann' ? job.stages : []) {
            const amounts = bench.books.names.resourcesOf(stage.demand);
            used.running += stage.running;
            used.cpu += stage.running * (amountOf(amounts, 'cpu') || 1);
            used.memory += stage.running * amountOf(amounts, 'memory');
            used.gpu += stage.running * amountOf(amounts, GPU);
          }
        const seen = `seed ${seed}, step ${step}: ${JSON.stringify({ used, limits })}`;
        expect(used.running <= limits.running, seen).toBe(true);
        expect(used.cpu <= limits.cpus, seen).toBe(true);
        expect(used.memory <= limits.memory, seen).toBe(true);
        expect(used.gpu <= limits.gpus, seen).toBe(true);
        expect(running(bench, 'ben') <= 2, seen).toBe(true);
        expect(admissible(bench, 'ann', limits), seen).toEqual([]);
        checkBooks(bench.books);
      }
      bench.books.grant(parseUsers('{"ben": {"running": 1}}', 'users.json'));
      for (let left = 1_000; left > 0; left--) {
        bench.now += 10;
        if (![...bench.books.workers].some(({ runs }) => runs.length > 0)) break;
        bench.endAny(0);
      }
      const left = [...bench.books.jobsOf(OWNER)].map(({ user, number }) => `${user} ${number}`);
      expect(left, `seed ${seed}`).toEqual([]);
    }
  });
});
