import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { skipReporter } from './scripts/skips.mjs';

// In-process tests read the sources of the sibling packages, so that no stale build can hide a
// mistake. Tests over real processes start the built command, and say so by their name.
const alias = [
  { find: /^@goshawk\/([a-z]+)$/, replacement: `${import.meta.dirname}/packages/$1/src/index.ts` },
  {
    find: /^@goshawk\/([a-z]+)\/testing$/,
    replacement: `${import.meta.dirname}/packages/$1/src/testing.fixture.ts`,
  },
  {
    find: /^@goshawk\/([a-z]+)\/([a-z]+)$/,
    replacement: `${import.meta.dirname}/packages/$1/src/$2/index.ts`,
  },
];

// `.ci/run` sums up the written results.
const outputFile = process.env.TEST_RESULTS;
const written: [string, object][] = outputFile === undefined ? [] : [['json', { outputFile }]];
const reporters = ['default', ...written, skipReporter];

/** Minutes of killing, stopping and filling disks. */
const FAULTS = [
  'test/src/faults/*.process.test.ts',
  'bench/src/{durability,soak,staged,takeover}/*.process.test.ts',
];

/**
 * Of tests over real processes. Whatever must come is waited for until only a hang explains that it has not. They share
 * a machine with whatever else runs there, so in CI a test may have a second try, which `.ci/run` tells of in the end;
 * nobody who sits before it is to be spared one that fails now and then.
 */
const REAL_PROCESSES = {
  globalSetup: ['test/src/bundle.setup.ts'],
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 60_000 } },
  retry: process.env.CI ? 1 : 0,
};

export default defineConfig({
  test: {
    reporters,
    // Tests over real processes wait for half of their time: one file more than there are cores keeps these busy.
    maxWorkers: availableParallelism() + 1,
    projects: [
      {
        resolve: { alias },
        test: {
          name: 'unit',
          include: ['packages/*/src/**/*.test.ts', 'test/src/**/*.test.ts', 'bench/src/**/*.test.ts'],
          exclude: ['**/*.{process,container,long}.test.ts'],
          // Files share a process and the modules that it has loaded: half of the time would go into loading them anew.
          isolate: false,
          // Only a test that hangs reaches it: other work on the machine must not fail one.
          testTimeout: 180_000,
          hookTimeout: 180_000,
          expect: { poll: { timeout: 30_000 } },
        },
      },
      {
        resolve: { alias },
        test: {
          name: 'processes',
          include: ['{packages/*,test,bench}/src/**/*.process.test.ts'],
          exclude: FAULTS,
          ...REAL_PROCESSES,
        },
      },
      {
        // Of either kind, where one file takes longer than ten seconds: `npm run verify`.
        resolve: { alias },
        test: {
          name: 'long',
          include: ['{packages/*,test,bench}/src/**/*.long.test.ts'],
          ...REAL_PROCESSES,
        },
      },
      {
        resolve: { alias },
        test: {
          name: 'faults',
          include: FAULTS,
          ...REAL_PROCESSES,
        },
      },
      {
        resolve: { alias },
        test: {
          name: 'containers',
          include: ['test/src/containers/*.container.test.ts'],
          env: { TESTCONTAINERS_RYUK_DISABLED: 'true' },
          fileParallelism: false,
          ...REAL_PROCESSES,
          globalSetup: 'test/src/containers/image.setup.ts',
        },
      },
    ],
  },
});
