import type { MessageOf } from '@goshawk/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DurableBench, entriesOf, FAILED } from '../durable.fixture.js';
import { CENTRAL, CLIENT, joined, W1 } from '../lone-scheduler.fixture.js';

const ACTION = fc.constantFrom('start', 'end', 'fail', 'decline', 'commit', 'crash', 'retry');

/** `GOSHAWK_ATTEMPT` of a run. */
function numberOf({ execution, attempt }: MessageOf<'run'>): number {
  return execution ?? attempt;
}

test('no two runs of a task have the same number, whatever is lost in crashes', () => {
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
        } else if (action === 'commit') {
          bench.commit();
          durable = bench.records.length;
        } else if (action === 'crash') {
          // Central and the worker are gone as well: no task is reported as running.
          earlier = [...earlier, ...bench.records.slice(0, durable)];
          bench = new DurableBench({
            entries: entriesOf(earlier),
            now: Number.POSITIVE_INFINITY,
            lastJob: 1,
            previousIncarnations: [],
          });
          version = 1;
          bench.receive(CENTRAL, joined(++version, [W1], 8));
          bench.receive(W1, { type: 'holding', audit: 0, tasks: [] });
          bench.commit();
          bench.take();
          durable = bench.records.length;
          running = [];
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
