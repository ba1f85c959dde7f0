import { pack, unpack } from 'msgpackr';
import { Router } from 'zeromq';

/** Gives tasks to workers with a free slot, in order of arrival, and answers a client when all tasks of a job have ended. */
const socket = new Router({ linger: 0 });
await socket.bind(process.argv[2]);
const free = [];
const tasks = [];
const jobs = new Map();
const out = [];
let isSending = false;
let last = 0;

async function flush() {
  if (isSending) return;
  isSending = true;
  while (out.length > 0) await socket.send(out.shift());
  isSending = false;
}

for await (const [from, frame] of socket) {
  const message = unpack(frame);
  if (message.slots !== undefined) for (let slot = 0; slot < message.slots; slot++) free.push(from);
  else if (message.tasks !== undefined) {
    const job = { from, number: message.job, left: message.tasks, work: message.work };
    jobs.set(++last, job);
    for (let task = 0; task < message.tasks; task++) tasks.push(last);
  } else {
    free.push(from);
    const job = jobs.get(message.done);
    if (--job.left === 0) {
      jobs.delete(message.done);
      out.push([job.from, pack({ job: job.number })]);
    }
  }
  while (free.length > 0 && tasks.length > 0) {
    const run = tasks.shift();
    out.push([free.pop(), pack({ run, work: jobs.get(run).work })]);
  }
  void flush();
}
