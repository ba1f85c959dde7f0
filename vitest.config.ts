import { defineConfig } from 'vitest/config';

// In-process tests read the sources of the sibling packages, so that no stale build can hide a
// mistake. Tests over real processes start the built command, and say so by their name.
const alias = [
  { find: /^@goshawk\/([a-z]+)$/, replacement: `${import.meta.dirname}/packages/$1/src/index.ts` },
];

// Where nobody watches, the counts are also written down: `.ci/run` closes with them.
const reporters = process.env.CI
  ? ['default', ['json', { outputFile: 'test-results.json' }] as [string, object]]
  : ['default'];

export default defineConfig({
  test: {
    reporters,
    projects: [
      {
        resolve: { alias },
        test: {
          name: 'unit',
          include: ['packages/*/src/**/*.test.ts', 'test/src/**/*.test.ts', 'bench/src/**/*.test.ts'],
          exclude: ['**/*.process.test.ts'],
          // Only a test that hangs reaches it: other work on the machine must not fail one.
          testTimeout: 60_000,
        },
      },
      {
        resolve: { alias },
        test: {
          name: 'processes',
          include: ['{packages/*,test,bench}/src/**/*.process.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
