import { afterEach, beforeEach, expect, test } from 'vitest';
import { runGoshawk, startGoshawk } from '../goshawk-process.fixture.js';
import { TestDaemons } from '../test-daemons.fixture.js';

const daemons = new TestDaemons('events', { beforeEach, afterEach });

interface PrintedEvent {
  readonly number: number;
  readonly kind: string;
  readonly text: string;
  readonly worker: string | null;
}

/** Resolves with the events once this many of this kind are among them. */
async function eventsUntil(kind: string, count = 1): Promise<PrintedEvent[]> {
  for (;;) {
    const { stdout } = await runGoshawk(['events', '--json', '--cluster', daemons.url]);
    const events = stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as PrintedEvent);
    if (events.filter((event) => event.kind === kind).length >= count) return events;
  }
}

test('events survive a kill of each process, and a follower gets each of them once', async () => {
  const central = await daemons.startCentral(['--data-folder', `${daemons.folder}/central`]);
  const scheduler = await daemons.startScheduler('s0');
  const worker = await daemons.startWorker('w0');
  const at = ['--cluster', daemons.url];
  await eventsUntil('worker-joined');
  const follow = startGoshawk(['events', '--follow', '--json', ...at]);
  await follow.firstLine;
  expect((await runGoshawk(['submit', '--deadline', '1s', ...at, '--', 'sleep', '600'])).exitCode).toBe(0);
  await eventsUntil('deadline-missed');
  expect((await runGoshawk(['drain', 'w0', ...at])).exitCode).toBe(0);
  await worker.kill();
  await eventsUntil('worker-lost');
  await scheduler.kill();
  await eventsUntil('scheduler-lost');
  await central.kill();
  await daemons.startCentral(['--data-folder', `${daemons.folder}/central`]);
  await daemons.startScheduler('s0');
  // The restarted scheduler reports the missed deadline again.
  await eventsUntil('scheduler-joined');
  const later = await runGoshawk(['submit', '--deadline', '1s', ...at, '--', 'sleep', '600']);
  const events = await eventsUntil('deadline-missed', 2);
  expect(later.exitCode).toBe(0);
  const kinds = events.map(({ kind }) => kind);
  for (const kind of [
    'central-started',
    'policy',
    'worker-joined',
    'worker-drains',
    'worker-lost',
    'scheduler-lost',
  ])
    expect(kinds).toContain(kind);
  expect(kinds.filter((kind) => kind === 'central-started')).toHaveLength(2);
  expect(kinds.filter((kind) => kind === 'policy')).toHaveLength(1);
  expect(kinds.filter((kind) => kind === 'deadline-missed')).toHaveLength(2);
  expect(events.find(({ kind }) => kind === 'worker-lost')).toMatchObject({ worker: 'w0' });
  expect(events.findLast(({ kind }) => kind === 'central-started')!.text).toMatch(/ended unexpectedly/);
  const last = Math.max(...events.map(({ number }) => number));
  const seen = (): number[] =>
    follow
      .stdout()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as PrintedEvent).number);
  await expect.poll(seen, { timeout: 30_000 }).toContain(last);
  follow.kill('SIGINT');
  await follow.finished;
  const numbers = seen();
  expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other));
  expect(numbers).toEqual(expect.arrayContaining(events.map(({ number }) => number)));

  const gateway = await daemons.start('gateway', ['dashboard', '--listen', '127.0.0.1:0', ...at]);
  const response = await fetch(new URL('/v1/events/past', gateway.endpoint));
  const body = (await response.json()) as { events: PrintedEvent[] };
  expect(body.events.map(({ number }) => number)).toEqual(
    expect.arrayContaining(events.map(({ number }) => number)),
  );
});
