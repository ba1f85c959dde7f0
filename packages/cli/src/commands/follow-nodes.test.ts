import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GoshawkError, InputError } from '@goshawk/core';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { drainUnlessGone } from '../jobs/drain-unless-gone.js';
import { runHere } from '../terminal.fixture.js';

let cwd = '';

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'goshawk-follow-nodes-'));
});

afterEach(() => {
  rmSync(cwd, { recursive: true, force: true });
});

it('fails outside of a pod', async () => {
  const { exitCode, stderr } = await runHere(['follow-nodes'], { cwd, environment: { XDG_STATE_HOME: cwd } });
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(
    /^goshawk: follow-nodes: not running in a Kubernetes pod; pass --api https:\/\/HOST:PORT/,
  );
});

it('uses the address of Kubernetes in the environment of a pod', async () => {
  const environment = {
    XDG_STATE_HOME: cwd,
    KUBERNETES_SERVICE_HOST: '10.96.0.1',
    KUBERNETES_SERVICE_PORT: '443',
  };
  const { exitCode, stderr } = await runHere(['follow-nodes'], { cwd, environment });
  // The address of Kubernetes is found, so the error is about the missing cluster.
  expect(exitCode).toBe(3);
  expect(stderr).toMatch(/no cluster/);
});

it('continues if a worker leaves before it can be drained', async () => {
  const { signal } = new AbortController();
  const failing = (error: Error) => ({ drain: () => Promise.reject(error) });
  const gone = failing(new InputError('unknown-worker', 'there is no worker w1'));
  expect(await drainUnlessGone(gone, 'w1', true, signal)).toBe(false);
  await expect(drainUnlessGone(failing(new GoshawkError('away', 'no')), 'w1', true, signal)).rejects.toThrow(
    'no',
  );
});
