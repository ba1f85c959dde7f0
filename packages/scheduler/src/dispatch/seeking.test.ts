import { type Address, PRESETS } from '@goshawk/core';
import { expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import { CENTRAL, NO_LIMITS, W1, welcome } from '../lone-scheduler.fixture.js';

const LIMITED = [{ running: 1 }, { cpus: 1 }, { memory: 1 }, { gpus: 1 }];

/** How a scheduler is without central. */
const ABSENCES = {
  disconnected: (bench: DurableBench) => bench.scheduler.disconnected(CENTRAL, 0),
  overloaded: (bench: DurableBench) =>
    bench.receive(CENTRAL, {
      type: 'heartbeatAck',
      version: 1,
      ownersVersion: 1,
      matching: false,
      waiting: undefined,
    }),
};

const CASES = Object.entries(ABSENCES).flatMap(([absence, leave]) =>
  LIMITED.flatMap((limit) => [undefined, false, true].map((lapse) => ({ absence, leave, limit, lapse }))),
);

test.each(CASES)(
  'with central $absence, tasks of a user with limit $limit start only if it may lapse: $lapse',
  ({ leave, limit, lapse }) => {
    const bench = new DurableBench(undefined, 0, false);
    bench.receive(CENTRAL, welcome({ preset: PRESETS.goshawk }));
    bench.members(W1);
    bench.receive(CENTRAL, {
      type: 'limits',
      holders: [{ ...NO_LIMITS, holder: 'ann', ...limit, lapse }],
      elsewhere: [],
      projectsElsewhere: [],
      part: undefined,
    });
    let asks = 0;
    const seek = () => {
      bench.take();
      bench.receive(W1, { type: 'seek', ask: ++asks, again: false, spare: { cpu: 1 } });
      return bench.take().flatMap((message) => (message.type === 'run' ? [message.user] : []));
    };
    bench.accept({ user: 'ann', estimate: '1ms', tasks: [{ sleep: 1 }] });
    bench.accept({ user: 'ben', estimate: '1ms', tasks: [{ sleep: 1 }] });
    bench.commit();
    // A worker that misses central seeks, although this scheduler hears it.
    expect(seek()).toEqual(['ben']);
    expect(seek()).toEqual([]);
    bench.take();
    leave(bench);
    const probes = bench.take().filter(({ type }) => type === 'probe');
    expect(probes.length > 0).toBe(lapse === true);
    expect(seek()).toEqual(lapse === true ? ['ann'] : []);
    // The next central has not sent its limits yet.
    bench.receive(9 as Address, welcome({ preset: PRESETS.goshawk }));
    bench.scheduler.disconnected(9 as Address, 0);
    bench.accept({ user: 'ann', estimate: '1ms', tasks: [{ sleep: 1 }] });
    bench.commit();
    bench.members(W1);
    expect(seek()).toEqual(lapse === true ? ['ann'] : []);
  },
);
