#!/usr/bin/env node
// Lists the failed, retried and skipped tests of runs with their reasons, and sums up the runs.
//
//     node scripts/skips.mjs test-results/tests.json test-results/verify.json
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const REASONS = JSON.parse(readFileSync(`${ROOT}test/skips.json`, 'utf8'));

/**
 * Returns a line per file with skipped tests.
 *
 * @param {readonly { file: string, name: string }[]} skipped
 */
export function skipLines(skipped) {
  const byFile = new Map();
  for (const { file, name } of skipped) {
    const path = relative(ROOT, file);
    byFile.set(path, [...(byFile.get(path) ?? []), name]);
  }
  return [...byFile].map(([path, [first, ...more]]) => {
    const others = more.length === 0 ? '' : `, and ${more.length} more`;
    return `skipped: ${path}: ${first}${others}: ${REASONS[path] ?? 'no reason is known; add one to test/skips.json'}`;
  });
}

/** Reporter of Vitest: prints the skipped tests last. */
export const skipReporter = {
  onTestRunEnd(modules) {
    // A filter by name skips the rest, which needs no reason.
    if (process.argv.some((word) => /^(-t|--testNamePattern)/.test(word))) return;
    const skipped = modules.flatMap((module) =>
      [...module.children.allTests('skipped')].map(({ fullName }) => ({
        file: module.moduleId,
        name: fullName,
      })),
    );
    for (const line of skipLines(skipped)) console.log(line);
  },
};

function main(files) {
  const runs = files.map((file) => JSON.parse(readFileSync(file, 'utf8')));
  const tests = runs.flatMap(({ testResults }) =>
    testResults.flatMap(({ name: file, status, message, assertionResults }) => {
      // A file that cannot be loaded has failed without a test.
      const unloaded = { fullName: 'the file', status, failureMessages: [message] };
      const results = status === 'failed' && assertionResults.length === 0 ? [unloaded] : assertionResults;
      return results.map((result) => ({ ...result, file, name: result.fullName }));
    }),
  );
  for (const { file, name, status, failureMessages } of tests)
    if (failureMessages.length > 0)
      console.log(
        `${status === 'passed' ? 'passed after a retry' : 'FAILED'}: ${relative(ROOT, file)}: ${name}: ${failureMessages.at(-1).split('\n')[0]}`,
      );
  const of = (...statuses) => tests.filter(({ status }) => statuses.includes(status));
  const skipped = of('skipped', 'pending', 'todo');
  for (const line of skipLines(skipped)) console.log(line);
  console.log(`${of('passed').length} passed, ${of('failed').length} failed, ${skipped.length} skipped`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2));
