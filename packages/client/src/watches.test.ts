import type { GoshawkError, JobSummary } from '@goshawk/core';
import { SILENT_LOGGER } from '@goshawk/transport';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Alarms } from './alarms.js';
import { Connection } from './connection.js';
import { detail, FAST, IMPATIENT, summary } from './fake-cluster.fixture.js';
import { type ConnectOptions, completeTimings } from './options.js';
import { ScriptedPeer } from './scripted-peer.fixture.js';
import { Turns } from './turns.js';
import type { EndedEvent } from './watches.js';
import { watchJob } from './watches.js';

let connection: Connection;
let alarms: Alarms;
let peer: ScriptedPeer;

beforeEach(async () => {
  connection = await Connection.open(SILENT_LOGGER);
  alarms = new Alarms();
  peer = await ScriptedPeer.start();
});

afterEach(async () => {
  await connection.close();
  alarms.close();
  await peer.close();
});

const progress = { kind: 'progress', job: summary('t-1') };
const ended = { kind: 'ended', job: detail('t-1') };

/** Watches job t-1 and records its news. */
function watch(options: { onSilence?: () => void; timings?: ConnectOptions } = {}) {
  const reported = { progress: [] as JobSummary[], ended: [] as EndedEvent[], failed: [] as GoshawkError[] };
  let stop = (): void => {};
  const over = new Promise<void>((resolve) => {
    stop = watchJob(
      { connection, alarms, timings: completeTimings(options.timings ?? FAST), turns: new Turns() },
      {
        id: 't-1',
        detail: false,
        to: () => ({ party: peer.party, title: 'scheduler s' }),
        onSilence: options.onSilence ?? (() => {}),
      },
      {
        progress: (job) => reported.progress.push(job),
        ended: (event) => {
          reported.ended.push(event);
          resolve();
        },
        failed: (error) => {
          reported.failed.push(error);
          resolve();
        },
      },
    );
  });
  return { reported, over, stop: () => stop() };
}

describe('a watch', () => {
  test('reports progress, then the end, once, for any number of repeated messages', async () => {
    // Everything arrives in one frame, so later events have arrived when the end is reported.
    peer.script = (_message, { event }) => {
      event(progress);
      event(progress);
      event(ended);
      event(ended);
      event(progress);
    };
    const { reported, over } = watch();
    await over;
    expect(reported).toMatchObject({ progress: [{}, {}], ended: [{ kind: 'ended' }], failed: [] });
  });

  test('subscribes again until it gets an answer', async () => {
    peer.script = (_message, { event }, times) => {
      if (times === 3) event(ended);
    };
    let silences = 0;
    const { over, reported } = watch({ onSilence: () => silences++ });
    await over;
    expect(reported.ended).toHaveLength(1);
    expect(silences).toBeGreaterThanOrEqual(2);
  });

  test('sends keepalives with one number, and uses them to learn of an end whose message was lost', async () => {
    peer.script = (_message, { event }, times) => event(times < 4 ? progress : ended);
    const { over, reported } = watch();
    await over;
    expect(reported.progress).toHaveLength(3);
    expect(new Set(peer.of('watchJob').map(({ request }) => request)).size).toBe(1);
  });

  test('survives an owner that is silent for a while', async () => {
    peer.script = (_message, { event }, times) => {
      if (times === 1) event(progress);
      if (times === 5) event(ended);
    };
    const { over, reported } = watch();
    await over;
    expect(reported).toMatchObject({ ended: [{}], failed: [] });
  });

  test('fails if the owner is silent for too long, and says so', async () => {
    peer.script = (_message, { event }, times) => {
      if (times === 1) event(progress);
    };
    const beganAt = performance.now();
    const { over, reported } = watch({ timings: IMPATIENT });
    await over;
    // A takeover may take as long as a request.
    expect(performance.now() - beganAt).toBeGreaterThan(2 * IMPATIENT.requestTimeoutMs!);
    expect(reported.failed[0]).toMatchObject({ name: 'UnreachableError', code: 'owner-gone' });
    expect(reported.failed[0]!.message).toMatch(
      /^no updates about t-1: no answer from scheduler s, which owns it, for /,
    );
  });

  test('of an owner that rejects the key, for example because it has expired, says so', async () => {
    peer.script = (_message, { event }, times) => {
      if (times === 1) event(progress);
    };
    vi.spyOn(connection, 'authFailureOf').mockReturnValue('keyRefused');
    const { over, reported } = watch({ timings: IMPATIENT });
    await over;
    expect(reported.failed[0]).toMatchObject({ name: 'UnreachableError', code: 'keys-refused' });
    expect(reported.failed[0]!.message).toMatch(/^scheduler s rejects this key: it has expired, /);
  });

  test('fails if the job does not exist', async () => {
    peer.script = (_message, { refuse }) => refuse('unknown-job', 'there is no job t-1');
    const { over, reported } = watch();
    await over;
    expect(reported.failed).toMatchObject([{ code: 'unknown-job', message: 'there is no job t-1' }]);
  });

  test('fails on an invalid update', async () => {
    peer.script = (_message, { garble }) => garble({ kind: 'ended' });
    const { over, reported } = watch();
    await over;
    expect(reported.failed).toMatchObject([{ code: 'bad-answer' }]);
  });

  test('that is stopped unsubscribes, and reports nothing more', async () => {
    peer.script = (_message, { event }) => event(progress);
    const { reported, stop } = watch();
    const { request } = await peer.waitFor('watchJob');
    stop();
    stop();
    expect((await peer.waitFor('unwatch')).request).toBe(request);
    expect(reported.ended).toEqual([]);
    expect(peer.of('unwatch')).toHaveLength(1);
  });

  test('unsubscribes when its connection is closed', async () => {
    const { over, reported } = watch();
    await peer.waitFor('watchJob');
    await connection.close();
    await over;
    expect(reported.failed).toMatchObject([{ code: 'closed' }]);
    await peer.waitFor('unwatch');
  });
});
