import { readFileSync } from 'node:fs';
import { TestDaemons } from '@goshawk/cli/testing';
import type { Address } from '@goshawk/core';
import { Codec, clientEndpoint, DEFAULT_LIMITS, FrameWriter } from '@goshawk/transport';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Dealer } from 'zeromq';

const REQUESTS = 100_000;

const daemons = new TestDaemons('floods', { beforeEach, afterEach });
beforeEach(() => daemons.startCentralAndWorkers());

/** A client's request for the list of all jobs, as the SDK sends it. */
function request(number: number): Buffer {
  const codec = new Codec({ intern: () => 0 as Address, nameOf: () => undefined });
  let frame: Buffer | undefined;
  const writer = new FrameWriter(null, DEFAULT_LIMITS, ({ bytes }) => {
    frame = bytes;
  });
  const bounds = { user: undefined, where: undefined, endedMax: 10_000, jobsMax: 10_000 };
  writer.add(
    '*',
    0,
    0,
    codec.encode({ type: 'listJobs', request: number, states: ['completed'], ...bounds }),
  );
  writer.finish();
  return frame!;
}

test('a client that sends 100,000 requests and reads no answer neither exhausts memory nor blocks others', async () => {
  const scheduler = await daemons.startScheduler('s');
  await using client = await daemons.connect();
  const served = async (): Promise<string> => {
    const job = await client.submit({ tasks: [{ sleep: 1 }] });
    return (await job.wait()).state;
  };
  for (let i = 0; i < 50; i++) await served();
  const id = 'flooder';
  const flooder = new Dealer({
    routingId: `${clientEndpoint(id)}!${id}`,
    linger: 0,
    // All requests may wait in this process, and almost no replies may wait here.
    sendHighWaterMark: 0,
    receiveHighWaterMark: 1,
  });
  flooder.connect(scheduler.endpoint);
  try {
    await flooder.send(request(0));
    // The scheduler understands and answers the first request.
    await flooder.receive();
    for (let number = 1; number <= REQUESTS; number++) await flooder.send(request(number));
    for (let i = 0; i < 20; i++) expect(await served()).toBe('completed');
    const status = readFileSync(`/proc/${scheduler.pid}/status`, 'utf8');
    expect(Number(/VmRSS:\s+(\d+)/.exec(status)![1])).toBeLessThan(512 * 1024);
  } finally {
    flooder.close();
  }
});
