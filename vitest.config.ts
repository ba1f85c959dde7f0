import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { packageFolders } from './scripts/packages.mjs';
import { skipReporter } from './scripts/skips.mjs';

// In-process tests read the sources of the sibling packages, so that no stale build can hide a
// mistake. Tests over real processes start the built command; their file names end in `.process.test.ts`.
const alias = [...packageFolders()].flatMap(([name, folder]) => {
  const sources = `${import.meta.dirname}/${folder}/src`;
  return [
    { find: new RegExp(`^@goshawk/${name}$`), replacement: `${sources}/index.ts` },
    { find: new RegExp(`^@goshawk/${name}/testing$`), replacement: `${sources}/testing.fixture.ts` },
    { find: new RegExp(`^@goshawk/${name}/([a-z]+)$`), replacement: `${sources}/$1/index.ts` },
  ];
});

/** A bug in one file, which `npm run chaos:mutants` plants to check that a test finds it. */
const bug = process.env.PLANTED_BUG === undefined ? undefined : JSON.parse(process.env.PLANTED_BUG);
const planting = {
  name: 'planted-bug',
  enforce: 'pre' as const,
  transform: (code: string, id: string) =>
    id === bug.path ? code.replace(bug.find, () => bug.replace) : code,
};

// `.ci/run` sums up the written results.
const outputFile = process.env.TEST_RESULTS;
const written: [string, object][] = outputFile === undefined ? [] : [['json', { outputFile }]];
const reporters = ['default', ...written, skipReporter];

/** Tests that kill and stop processes and fill disks, for minutes. */
const FAULTS = [
  'test/src/faults/*.process.test.ts',
  'bench/src/{durability,soak,staged,takeover}/*.process.test.ts',
];

/**
 * Other work on the machine may disturb tests, so CI retries a failed test twice, and `.ci/run` reports the retry. Elsewhere
 * nothing is retried, so that flaky tests are noticed.
 */
const retry = process.env.CI ? 2 : 0;

/** Files that take minutes, the slowest first: they start first, and each shard gets its part of them. */
const SLOWEST =
  'release mutants incidents figure chaos twelve-restarts python keys simulate dashboard-page takeover fast-failures ten-problems up jobs'.split(
    ' ',
  );
class SlowestFirst extends BaseSequencer {
  override async shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { index, count } = this.ctx.config.shard!;
    const inOrder = files.toSorted(
      (one, other) => rank(one) - rank(other) || (one.moduleId < other.moduleId ? -1 : 1),
    );
    // Each shard plays all faults, because a change of any state machine may break an invariant.
    return inOrder.filter((file, at) => at % count === index - 1 || nameOf(file) === 'chaos');
  }

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

const nameOf = ({ moduleId }: TestSpecification): string => basename(moduleId).split('.')[0]!;

function rank(file: TestSpecification): number {
  const at = SLOWEST.indexOf(nameOf(file));
  return at === -1 ? SLOWEST.length : at;
}

/** Options of tests over real processes. Their timeouts are so long that only a hang exceeds them. */
const REAL_PROCESSES = {
  globalSetup: ['test/src/bundle.setup.ts'],
  testTimeout: 400_000,
  hookTimeout: 900_000,
  expect: { poll: { timeout: 60_000 } },
  retry,
  // These tests wait for half of their time, so two more files than cores keep the cores busy.
  maxWorkers: availableParallelism() + 2,
};

export default defineConfig({
  test: {
    reporters,
    sequence: { sequencer: SlowestFirst },
    projects: [
      {
        resolve: { alias },
        plugins: bug === undefined ? [] : [planting],
        test: {
          name: 'unit',
          include: [
            'packages/{*,research/*}/{src,page/src}/**/*.test.{ts,tsx}',
            'test/src/**/*.test.ts',
            'bench/src/**/*.test.ts',
          ],
          exclude: ['**/*.{process,container,long}.test.ts'],
          // Files share a process and its loaded modules; loading them for each file would take half of the time.
          isolate: false,
          maxWorkers: availableParallelism() + 1,
          sequence: { groupOrder: 1 },
          // Only a hanging test exceeds this timeout: other work on the machine must not fail a test.
          testTimeout: 180_000,
          hookTimeout: 180_000,
          expect: { poll: { timeout: 30_000 } },
          retry,
        },
      },
      {
        resolve: { alias },
        test: {
          name: 'processes',
          include: ['{packages/*,packages/research/*,test,bench}/src/**/*.process.test.ts'],
          exclude: FAULTS,
          ...REAL_PROCESSES,
        },
      },
      {
        // Files of either kind that take longer than ten seconds: `npm run verify`.
        resolve: { alias },
        test: {
          name: 'long',
          include: ['{packages/*,packages/research/*,test,bench}/src/**/*.long.test.ts'],
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
          ...REAL_PROCESSES,
          fileParallelism: false,
          maxWorkers: 1,
          globalSetup: 'test/src/containers/image.setup.ts',
        },
      },
    ],
  },
});
