import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { connect } from '@goshawk/client';
import { SLOTS, WORKERS } from './processes.mjs';

const COMMAND = fileURLToPath(new URL('../../packages/cli/bin/goshawk.js', import.meta.url));

/** As others name a kind of task: by it Goshawk knows how long tasks of a job take. */
function nameOf({ sleepMs, exec, module }) {
  if (exec !== undefined) return 'program';
  if (module !== undefined) return 'call';
  return sleepMs === undefined ? 'nothing' : 'sleep';
}

function taskOf({ sleepMs = 0, exec, module }) {
  if (exec !== undefined) return { exec: [exec] };
  return module === undefined ? { sleep: sleepMs } : { module };
}

/** As `goshawk up` starts it: jobs are on disk before they are accepted, and so are their results. */
export async function start(folder) {
  const shape = ['--workers', WORKERS, '--slots', SLOTS, '--schedulers', 1].map(String);
  const up = spawn(
    process.execPath,
    [COMMAND, 'up', '--json', '--quiet', '--no-secure', '--data-folder', folder, ...shape],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, XDG_STATE_HOME: folder },
    },
  );
  const [line] = await once(up.stdout, 'data');
  const { cluster: url } = JSON.parse(line);
  const cluster = await connect(url);
  return {
    run: async (tasks, work) => {
      const job = await cluster.submit({ name: nameOf(work), tasks: { count: tasks, run: taskOf(work) } });
      const { state } = await job.wait();
      if (state !== 'completed') throw new Error(`job ${job.id} has ${state}`);
    },
    stop: async () => {
      await cluster.close();
      up.kill('SIGINT');
      await once(up, 'exit');
    },
  };
}
