import type { Context } from '@goshawk/command';
import { UnreachableError } from '@goshawk/core';
import type { CloseReason, Daemon } from '@goshawk/runtime';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { NOT_CHECKED, repeatUntilInterrupted } from '../repeat-until-interrupted.js';
import { healthPort, keep } from './daemon-options.js';

describe('a daemon after a termination signal', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** Returns a daemon that never finishes its work, unless it is idle. */
  function started({ isIdle }: { isIdle: boolean }) {
    const calls: string[] = [];
    const interrupt = new AbortController();
    let end: (reason: CloseReason) => void = () => {};
    const ended = new Promise<CloseReason>((resolve) => {
      end = resolve;
    });
    const lines: unknown[] = [];
    const log =
      (level: string) =>
      ({ reason }: { reason: string }, message: string) =>
        void lines.push([level, reason, message]);
    const logger = { info: log('info'), error: log('error') } as unknown as Daemon['logger'];
    const daemon: Daemon = {
      role: 'worker',
      logger,
      endpoint: 'tcp://127.0.0.1:1',
      joined: Promise.resolve(),
      ended,
      drain: () => {
        calls.push('drain');
        if (isIdle) end({ kind: 'closed' });
        return isIdle ? Promise.resolve() : new Promise(() => {});
      },
      stop: async () => {
        calls.push('stop');
        end({ kind: 'closed' });
      },
    };
    const context = { global: { json: false }, interrupted: interrupt.signal } as unknown as Context;
    const fail = (): void => end({ kind: 'failed', error: new Error('its disk is gone') });
    return { lines, calls, daemon, context, interrupt, fail };
  }

  it('finishes its work, and stops after --drain-timeout', async () => {
    const { lines, calls, daemon, context, interrupt } = started({ isIdle: false });
    const kept = keep(daemon, context, { withParent: false, drainTimeout: 570_000 });
    interrupt.abort('SIGTERM');
    await vi.advanceTimersByTimeAsync(569_999);
    expect(calls).toStrictEqual(['drain']);
    await vi.advanceTimersByTimeAsync(1);
    expect(await kept).toBe(0);
    expect(calls).toStrictEqual(['drain', 'stop']);
    expect(lines).toStrictEqual([
      ['info', 'drain-timeout', 'exits: not drained within --drain-timeout after SIGTERM'],
    ]);
  });

  it('exits at once if it is idle, and leaves no timer', async () => {
    const { lines, calls, daemon, context, interrupt } = started({ isIdle: true });
    const kept = keep(daemon, context, { withParent: false, drainTimeout: 570_000 });
    interrupt.abort('SIGTERM');
    expect(await kept).toBe(0);
    expect(calls).toStrictEqual(['drain']);
    expect(lines).toStrictEqual([['info', 'drained', 'exits: drained after SIGTERM']]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('exits if it fails while it drains', async () => {
    const { lines, daemon, context, interrupt, fail } = started({ isIdle: false });
    const kept = keep(daemon, context, { withParent: false, drainTimeout: 570_000 });
    interrupt.abort('SIGTERM');
    await vi.advanceTimersByTimeAsync(1_000);
    fail();
    expect(await kept).toBe(1);
    expect(lines).toStrictEqual([['error', 'failed', 'exits after a failure: its disk is gone']]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('does not drain with --drain-timeout 0s', async () => {
    const { lines, calls, daemon, context, interrupt } = started({ isIdle: false });
    const kept = keep(daemon, context, { withParent: false, drainTimeout: 0 });
    interrupt.abort('SIGTERM');
    expect(await kept).toBe(0);
    expect(calls).toStrictEqual(['stop']);
    expect(lines).toStrictEqual([['info', 'stopped', 'exits: stopped by SIGTERM']]);
  });
});

it('a process that repeats a check serves whether the last one succeeded, on a port of its own', async () => {
  const stop = new AbortController();
  const notes: string[] = [];
  const note = (line: string) => void notes.push(line);
  const environment = { GOSHAWK_HTTP_TOKEN: 'a-token-of-the-metrics' };
  const context = { environment, cwd: '/', note, interrupted: stop.signal } as unknown as Context;
  const notReady = [NOT_CHECKED];
  const options = { http: '127.0.0.1:0', httpTokenFile: undefined, httpPortFile: undefined };
  await using _health = await healthPort(context, options, true, () => notReady);
  const url = /http:\S+$/.exec(notes[0]!)![0];
  const ask = async (path: string, token = '') => {
    const headers = token === '' ? {} : { Authorization: `Bearer ${token}` };
    const response = await fetch(url + path, { headers });
    return [response.status, (await response.text()).trim()] as const;
  };
  expect(await ask('/livez')).toEqual([200, 'alive']);
  expect(await ask('/readyz', environment.GOSHAWK_HTTP_TOKEN)).toEqual([503, NOT_CHECKED]);
  expect((await ask('/metrics'))[0]).toBe(401);

  const seen: unknown[] = [];
  const outcomes = [undefined, new UnreachableError('gone', 'central does not answer', ''), undefined];
  await repeatUntilInterrupted(
    context,
    0,
    async () => {
      seen.push((await ask('/readyz'))[0]);
      if (outcomes.length === 0) return stop.abort();
      const outcome = outcomes.shift();
      if (outcome !== undefined) throw outcome;
    },
    notReady,
  );
  expect(seen).toEqual([503, 200, 503, 200]);
  expect((await ask('/metrics', environment.GOSHAWK_HTTP_TOKEN))[1]).toMatch(/^goshawk_ready 1$/m);
});
