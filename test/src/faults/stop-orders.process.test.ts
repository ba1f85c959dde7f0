import { type Daemon, TestDaemons } from '@goshawk/cli/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';

const daemons = new TestDaemons('stop-orders', { beforeEach, afterEach });

const ROLES = ['central', 'scheduler', 'worker'] as const;
type Role = (typeof ROLES)[number];

/** All orders of the roles. */
const ORDERS = ROLES.flatMap((first) =>
  ROLES.filter((role) => role !== first).map((second) => [
    first,
    second,
    ROLES.find((role) => role !== first && role !== second)!,
  ]),
);

async function startAll(): Promise<Readonly<Record<Role, Daemon>>> {
  const central = await daemons.startCentral();
  const scheduler = await daemons.startScheduler('s0', ['--drain-timeout', '500ms']);
  const worker = await daemons.startWorker('w0', ['--drain-timeout', '3s', '--cpus', '2']);
  return { central, scheduler, worker };
}

test.each(ORDERS.flatMap((order) => [true, false].map((isTogether) => [...order, isTogether] as const)))(
  'a cluster that stops %s, %s, %s (at the same time: %s) runs no task again that had ended, and keeps its output',
  async (...args) => {
    const isTogether = args.at(-1) as boolean;
    const order = args.slice(0, 3) as Role[];
    const first = await startAll();
    let client = await daemons.connect();
    const exec = [
      'sh',
      '-c',
      'echo early; echo start $GOSHAWK_TASK $GOSHAWK_ATTEMPT >> lines; sleep 1; echo late; echo end >> lines',
    ];
    const run = { exec, cwd: daemons.folder };
    const { id } = await client.submit({ tasks: { count: 2, run } });
    const starts = () => daemons.linesOf('lines').filter((line) => line.startsWith('start'));
    await expect.poll(starts).toHaveLength(2);
    await client.close();
    for (const role of order) {
      first[role].signal('SIGTERM');
      if (!isTogether) await first[role].ended;
    }
    await Promise.all(ROLES.map((role) => first[role].ended));
    await startAll();
    client = await daemons.connect();
    const job = await client.job(id).wait();
    expect(job).toMatchObject({ state: 'completed', attempts: { failed: 0 } });
    // Whether the scheduler or the worker's disk had the results.
    expect(starts()).toEqual(['start 0 1', 'start 1 1']);
    const isHandedOver = !isTogether && order.indexOf('worker') < order.indexOf('scheduler');
    expect(daemons.logOf('w0').includes('hands them over')).toBe(!isHandedOver);
    if (!isHandedOver) {
      let output = '';
      for await (const { bytes } of client.job(id).logs({ task: 0 })) output += Buffer.from(bytes).toString();
      expect(output).toBe('early\nlate\n');
    }
    await client.close();
  },
);
