import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';

const LOGGING = new URL('../../dist/daemons/logging.js', import.meta.url).href;
/** Logs 8 MB, prints the number of dropped lines, and logs again on request. */
const TALKER = `
  import { createInterface } from 'node:readline';
  const { createLogger, droppedLogLines } = await import(${JSON.stringify(LOGGING)});
  const logger = createLogger('info');
  for (let i = 0; i < 8_000; i++) logger.info({}, 'x'.repeat(1_000));
  console.log(droppedLogLines());
  createInterface({ input: process.stdin }).on('line', () => logger.info({}, 'the last one'));
`;

test('a stalled log reader blocks nothing, and a reader that continues gets the complete log', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', TALKER], { stdio: 'pipe' });
  // The test does not read stderr yet.
  const [dropped] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  expect(Number(dropped)).toBeGreaterThan(5_000);
  const lines: string[] = [];
  const reader = createInterface({ input: child.stderr });
  const last = new Promise<void>((resolve) => {
    reader.on('line', (line) => {
      lines.push((JSON.parse(line) as { msg: string }).msg);
      if (lines.length === 8_000 - Number(dropped)) child.stdin.write('again\n');
      if (lines.at(-1)!.includes('could not be written')) resolve();
    });
  });
  await last;
  expect(lines.slice(-2)).toEqual(['the last one', 'log lines before this one could not be written']);
  child.kill('SIGKILL');
  await once(child, 'exit');
});
