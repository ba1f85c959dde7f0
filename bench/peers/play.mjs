import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { ended } from './processes.mjs';

/**
 * Sends the jobs of a plan `{ arrivals, tasks, work, isOneAtATime }`, each with `tasks` tasks: at its arrival time in
 * ms, or when the previous job has ended.
 *
 * @returns `{ totalMs, eachMs }`: the time until the last job has ended, and the time of each job from arrival to end
 */
export async function play(run, { arrivals, tasks, work, isOneAtATime = false }) {
  const begun = performance.now();
  const eachMs = [];
  for (const at of isOneAtATime ? arrivals : []) {
    const start = performance.now() + at;
    await run(tasks, work);
    eachMs.push(performance.now() - start);
  }
  const one = async (at, job) => {
    if (at > 0) await pause(begun + at - performance.now());
    await run(tasks, work);
    eachMs[job] = performance.now() - begun - at;
  };
  if (!isOneAtATime) await Promise.all(arrivals.map(one));
  return { totalMs: performance.now() - begun, eachMs };
}

/**
 * Starts a client in another language. It plays plans itself, so that no pipe lies between its clock and its jobs. It
 * first prints `ready`. A plan is one line, `tasks isOneAtATime sleepMs program arrival…` (0 and - if absent), and its
 * answer is `totalMs eachMs…`.
 */
export async function startPlayer(command, args, env = {}) {
  const player = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const lines = createInterface({ input: player.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${command} ${args[0]} has ended`);
    return value;
  };
  await next();
  return {
    play: async ({ arrivals, tasks, work: { sleepMs = 0, exec = '-' }, isOneAtATime = false }) => {
      const times = arrivals.map((at) => at.toFixed(3));
      player.stdin.write(`${[tasks, Number(isOneAtATime), sleepMs, exec, ...times].join(' ')}\n`);
      const [totalMs, ...eachMs] = (await next()).split(' ').map(Number);
      return { totalMs, eachMs };
    },
    stop: () => ended(player),
  };
}
