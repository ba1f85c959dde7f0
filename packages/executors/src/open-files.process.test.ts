import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { compiledFile } from './compiled.js';
import { Executors } from './executors.js';
import { outcomeOf, record } from './recording.fixture.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-open-files-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const sh = (line: string) => ({ exec: [line], shell: true });

it('a command has the configured soft limit of open files, and the hard limit of the worker', async () => {
  const hard = execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' });
  const executors = new Executors({ dataFolder: folder, openFiles: 512 });
  const { sink } = await outcomeOf(executors, sh('ulimit -Sn; ulimit -Hn'));
  expect(sink.text()).toBe(`512\n${hard}`);
  await executors.close();
});

it('more commands run at once than the limit of open files', async () => {
  const executors = new Executors({ dataFolder: folder, openFiles: 80 });
  const first = await outcomeOf(executors, sh('ulimit -Sn'));
  expect(first.sink.text()).toBe('80\n');
  const many = Array.from({ length: 60 }, () => record(executors, sh('read line || true; sleep 1000')));
  await Promise.all(many.map(({ sink }) => sink.isStarted));
  for (const { run } of many) run.kill('cancelled');
  for (const { sink } of many) expect((await sink.end).outcome.kind).toBe('killed');
  await executors.close();
});

// Reason: commands of other accounts must not inherit what root has opened. Node.js closes only the low ones.
it('a command inherits no descriptors of the process that started the worker', () => {
  const file = compiledFile('./index.js', import.meta.url);
  const script = `
    import { Executors } from ${JSON.stringify(file)};
    const executors = new Executors({ dataFolder: ${JSON.stringify(folder)} });
    executors.start(
      { payload: { exec: ['sh', '-c', 'echo /proc/self/fd/*'] }, env: {}, outputBytesMax: 1000 },
      { output: ({ bytes }) => process.stdout.write(bytes), ended: () => executors.close() },
    );`;
  const secret = openSync('/dev/null', 'r');
  const closed = new Array<'ignore'>(60).fill('ignore');
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit', ...closed, secret],
    encoding: 'utf8',
  });
  closeSync(secret);
  expect(stdout).toContain('/proc/self/fd/2');
  expect(stdout).not.toContain('/proc/self/fd/63');
});

it('the original limit of a worker is known although Node raises it', () => {
  const file = compiledFile('./open-files.js', import.meta.url);
  const script = `import { inheritedOpenFiles } from ${JSON.stringify(file)}; console.log(inheritedOpenFiles());`;
  // A Node process between shell and worker, such as `up`, has already raised the limit.
  const outer = `require('child_process').execFileSync(process.execPath, ['--input-type=module', '-e', process.argv[1]], { stdio: 'inherit' })`;
  const line = 'ulimit -Sn 300; "$0" -e "$1" "$2"; exit 0';
  const said = execFileSync('sh', ['-c', line, process.execPath, outer, script], { encoding: 'utf8' });
  expect(said).toBe('300\n');
});

it('commands of a process whose limit cannot be known have that of a login', () => {
  const file = compiledFile('./open-files.js', import.meta.url);
  const script = `import { inheritedOpenFiles } from ${JSON.stringify(file)}; console.log(inheritedOpenFiles());`;
  // Its parent has other limits.
  const line = 'ulimit -Sn 300; ulimit -Hn 2000; exec "$0" --input-type=module -e "$1"';
  const said = execFileSync('bash', ['-c', line, process.execPath, script], { encoding: 'utf8' });
  expect(said).toBe('1024\n');
});

it('a command ignores and blocks no signals, and has the umask of the worker', async () => {
  const executors = new Executors({ dataFolder: folder });
  const { sink } = await outcomeOf(executors, sh('umask; grep -E "^Sig(Blk|Ign)" /proc/self/status'));
  const umask = process.umask().toString(8).padStart(4, '0');
  expect(sink.text()).toMatch(new RegExp(`^${umask}\nSigBlk:\\s0{16}\nSigIgn:\\s0{16}\n$`));
  await executors.close();
});
