import { type Address, type MessageOf, sumOf } from '@goshawk/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DurableBench, entriesOf, FAILED } from '../durable.fixture.js';
import { CENTRAL, CLIENT, joined, W1 } from '../lone-scheduler.fixture.js';

const FORMER = 3 as Address;
const ACTION = fc.constantFrom('start', 'end', 'fail', 'decline', 'commit', 'crash', 'restart', 'retry');

/** `GOSHAWK_ATTEMPT` of a run. */
function numberOf({ execution, attempt }: MessageOf<'run'>): number {
  return execution ?? attempt;
}

/** The numbers of running tasks, as `tasks` lists them. */
function listed(bench: DurableBench): string[] {
  bench.take();
  const query = { id: 's-1', states: ['running' as const], stage: undefined, from: 0, limit: 9 };
  bench.receive(CLIENT, { type: 'listTasks', request: 1_000, ...query });
  const page = bench.take().find((message) => message.type === 'taskPage')!;
  return page.value.tasks.map(({ index, attempt }) => `${index} ${attempt}`);
}

function explain(bench: DurableBench, task?: number): MessageOf<'jobExplanation'>['value'] {
  bench.receive(CLIENT, { type: 'explainJob', request: 1, id: 's-1', task });
  return bench.take().find((message) => message.type === 'jobExplanation')!.value;
}

function attemptsOf(bench: DurableBench): number {
  bench.receive(CLIENT, { type: 'describeJob', request: 1, id: 's-1', spec: false });
  return bench.take().find((message) => message.type === 'jobDetail')!.value.attempts.total;
}

test('no two runs of a task have the same number, which its owner lists, and why counts skipped ones, after crashes', () => {
  fc.assert(
    fc.property(fc.array(ACTION, { minLength: 4, maxLength: 40 }), (actions) => {
      let bench = new DurableBench();
      let version = 1;
      bench.receive(CENTRAL, joined(++version, [W1], 8));
      bench.submit({ tasks: { count: 3, run: { sleep: 1 } }, retries: 2 });
      bench.commit();
      bench.take();
      let durable = bench.records.length;
      let earlier: typeof bench.records = [];
      let running: MessageOf<'run'>[] = [];
      const seen = new Set<string>();
      let request = 10;
      for (const action of actions) {
        const [first] = running;
        if (action === 'start') {
          const run = bench.ask(W1, 1);
          if (run === undefined) continue;
          const name = `${run.task} ${numberOf(run)}`;
          expect([...seen]).not.toContain(name);
          seen.add(name);
          running.push(run);
          const numbers = sumOf([0, 1, 2], (task) => explain(bench, task).task!.attempts);
          expect(numbers).toBe(attemptsOf(bench) + (explain(bench).skippedNumbers ?? 0));
        } else if (action === 'commit') {
          bench.commit();
          durable = bench.records.length;
        } else if (action === 'crash' || action === 'restart') {
          // After a crash, central and the worker are gone as well: no task is reported as running.
          if (action === 'crash') running = [];
          earlier = [...earlier, ...bench.records.slice(0, durable)];
          bench = new DurableBench({
            entries: entriesOf(earlier),
            now: Number.POSITIVE_INFINITY,
            lastJob: 1,
            previousIncarnations: [FORMER],
          });
          version = 1;
          bench.receive(CENTRAL, joined(++version, [W1], 8));
          const tasks = running.map(({ job, task, attempt, execution }) => ({
            ...{ job, task, attempt, execution },
            elapsedMs: 1,
          }));
          bench.receive(W1, { type: 'holding', audit: 0, tasks });
          bench.commit();
          for (const message of bench.take())
            if (message.type === 'cancelTask')
              running = running.filter(
                ({ task, attempt }) => message.task !== task || message.attempt !== attempt,
              );
          durable = bench.records.length;
          expect(listed(bench)).toEqual(running.map((run) => `${run.task} ${numberOf(run)}`).sort());
        } else if (action === 'retry') {
          const choice = { failedOnly: undefined, tasks: undefined, asNew: undefined };
          const key = `r${++request}`;
          bench.receive(CLIENT, { type: 'retryJob', request, key, id: 's-1', ...choice });
        } else if (first === undefined) continue;
        else if (action === 'end' || action === 'fail') {
          bench.end(W1, first, action === 'end' ? undefined : FAILED);
          running.shift();
        } else if (action === 'decline') {
          bench.receive(W1, {
            ...{ type: 'declined', job: 1, stage: 0, probes: 0 },
            placed: { task: first.task, attempt: first.attempt },
          } as MessageOf<'declined'>);
          running.shift();
          // It has not run, so its number may be used again.
          seen.delete(`${first.task} ${numberOf(first)}`);
        }
      }
    }),
    { seed: 12, numRuns: 300 },
  );
});
