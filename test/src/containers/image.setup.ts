import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { isRequired } from '@goshawk/journal/testing';
import type { TestProject } from 'vitest/node';

/**
 * Builds the image that the tests of this folder share, and finally removes all containers and networks with their
 * label.
 *
 * - `GOSHAWK_TEST_IMAGE` names an existing image.
 * - `NODE_IMAGE` is the base image, if the usual one cannot be pulled.
 * - `GOSHAWK_REQUIRE=docker`: tests that cannot run fail instead of being skipped.
 */
export default function setup(project: TestProject): (() => void) | undefined {
  const made = image();
  if ('missing' in made && isRequired('docker'))
    throw new Error(`GOSHAWK_REQUIRE=docker, but ${made.missing}`);
  const run = randomBytes(4).toString('hex');
  project.provide('containers', { ...made, label: `${LABEL}=${run}` });
  if ('missing' in made) {
    console.warn(`tests of containers are skipped: ${made.missing}`);
    return undefined;
  }
  return () => sweep(`${LABEL}=${run}`);
}

/** The value that the tests receive: the image, or the reason that there is none. */
type Containers = ({ readonly image: string } | { readonly missing: string }) & {
  readonly label: string;
};

declare module 'vitest' {
  export interface ProvidedContext {
    containers: Containers;
  }
}

const LABEL = 'goshawk.test';
const ROOT = resolve(import.meta.dirname, '../../..');
const BUILD_TIMEOUT_MS = 600_000;

function image(): { image: string } | { missing: string } {
  if (process.platform !== 'linux')
    return { missing: 'these tests reach containers by their addresses, which takes Linux' };
  if (docker('info').status !== 0) return { missing: 'no Docker daemon answers here' };
  const given = process.env.GOSHAWK_TEST_IMAGE;
  if (given) return { image: given };
  const base = process.env.NODE_IMAGE || 'node:24-bookworm-slim';
  if (docker('image', 'inspect', base).status !== 0 && docker('pull', '--quiet', base).status !== 0) {
    return { missing: `${base} cannot be pulled here; NODE_IMAGE names another image to build on` };
  }
  const built = docker(
    'build',
    '--quiet',
    '--tag',
    'goshawk:test',
    '--build-arg',
    `NODE_IMAGE=${base}`,
    ROOT,
  );
  if (built.status !== 0) throw new Error(`the image does not build:\n${built.stderr.slice(-4_000)}`);
  return { image: 'goshawk:test' };
}

function sweep(label: string): void {
  const left = docker('ps', '--all', '--quiet', '--filter', `label=${label}`)
    .stdout.split('\n')
    .filter(Boolean);
  if (left.length > 0) docker('rm', '--force', '--volumes', ...left);
  const networks = docker('network', 'ls', '--quiet', '--filter', `label=${label}`).stdout;
  for (const network of networks.split('\n').filter(Boolean)) docker('network', 'rm', network);
}

function docker(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync('docker', args, { encoding: 'utf8', timeout: BUILD_TIMEOUT_MS, maxBuffer: 1 << 26 });
}
