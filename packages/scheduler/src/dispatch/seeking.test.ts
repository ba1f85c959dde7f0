import { PRESETS } from '@goshawk/core';
import { expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import { CENTRAL, NO_LIMITS, W1, welcome } from '../lone-scheduler.fixture.js';

test('a worker that misses central gets no task of a user with a limit while the scheduler hears central', () => {
  const bench = new DurableBench(undefined, 0, false);
  bench.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk, gangs: false } }));
  bench.members(W1);
  bench.receive(CENTRAL, {
    type: 'limits',
    holders: [{ ...NO_LIMITS, holder: 'ann', running: 1 }],
    elsewhere: [],
    projectsElsewhere: [],
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
  expect(seek()).toEqual(['ben']);
  expect(seek()).toEqual([]);
  bench.scheduler.disconnected(CENTRAL, 0);
  expect(seek()).toEqual(['ann']);
});
