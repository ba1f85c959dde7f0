// A sweep over parameters with a progress bar: `goshawk up` in one terminal, `node examples/sweep.js` in another.
import { connect } from '@goshawk/client';

/**
 * Computes where a ball thrown at this angle lands; runs in the cluster.
 *
 * @param {{ angle: number, drag: number }} thrown
 */
export function distance({ angle, drag }) {
  const radians = (angle * Math.PI) / 180;
  let [x, y, vx, vy] = [0, 0, 30 * Math.cos(radians), 30 * Math.sin(radians)];
  for (const dt = 0.001; y >= 0; x += vx * dt, y += vy * dt) {
    const speed = Math.hypot(vx, vy);
    vx -= drag * speed * vx * dt;
    vy -= (9.81 + drag * speed * vy) * dt;
  }
  return x;
}

if (process.argv[1] === import.meta.filename) {
  const cluster = await connect();
  const angles = Array.from({ length: 14 }, (_, i) => 15 + 5 * i);
  const sweep = [0, 0.01, 0.05].flatMap((drag) => angles.map((angle) => ({ angle, drag })));
  const job = await cluster.submit({
    name: 'sweep',
    tasks: sweep.map((input) => ({ module: import.meta.filename, export: 'distance', input })),
  });
  for await (const { job: seen } of job.events()) {
    const { completed, total } = seen.tasks;
    const bar = '#'.repeat(Math.round((30 * completed) / total)).padEnd(30, '.');
    process.stderr.write(`\r[${bar}] ${completed} of ${total}`);
  }
  process.stderr.write('\n');
  const distances = /** @type {number[]} */ (await job.result());
  const best = distances.indexOf(Math.max(...distances));
  console.log(`farthest: ${distances[best]?.toFixed(1)} m at ${JSON.stringify(sweep[best])}`);
  await cluster.close();
}
