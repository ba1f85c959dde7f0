import { describe, expect, it } from 'vitest';
import { jobOf } from '../job.js';
import { plotStats } from './plot.js';
import { traceStats } from './stats.js';

describe('plotStats', () => {
  it('draws the share of jobs or tasks up to each value, on logarithmic axes', async () => {
    // The jobs have 1, 2, 4 … 1,024 tasks.
    const jobs = Array.from({ length: 11 }, (_, i) => jobOf(i, new Float64Array(2 ** i).fill(8)));
    const plot = plotStats(await traceStats(jobs, { cdfs: true }), 50);
    expect(plot.slice(0, plot.indexOf('task duration'))).toMatchInlineSnapshot(`
      "tasks per job
       100% │                                     ⢀⣀⣀⣀⣸
            │                                 ⣀⣀⣀⣀⣸
        75% │                             ⡤⠤⠤⠤⠇
            │                         ⡖⠒⠒⠒⠃
        50% │                ⢀⣀⣀⣀⣀⡏⠉⠉⠉⠁
            │            ⢠⠤⠤⠤⠼
        25% │        ⢠⠤⠤⠤⠼
            │    ⡖⠒⠒⠒⠚
         0% │⡏⠉⠉⠉⠁
            └──────────────────────────────────────────
             1             10           100           1k

      "
    `);
  });

  it('draws a single value in the middle, zeros at the start, and more marks in a narrow range', async () => {
    const plotOf = async (...seconds: number[]) =>
      plotStats(await traceStats([jobOf(0, Float64Array.from(seconds))], { cdfs: true }), 40);
    expect(await plotOf(7, 7)).toMatchInlineSnapshot(`
      "tasks per job
       100% │                ⡇
            │                ⡇
        75% │                ⡇
            │                ⡇
        50% │                ⡇
            │                ⡇
        25% │                ⡇
            │                ⡇
         0% │⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⡇
            └────────────────────────────────
                   1         2           5

      task duration, s
       100% │                ⡇
            │                ⡇
        75% │                ⡇
            │                ⡇
        50% │                ⡇
            │                ⡇
        25% │                ⡇
            │                ⡇
         0% │⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⡇
            └────────────────────────────────
                        5        10        20

      jobs' mean duration, s
       100% │                ⡇
            │                ⡇
        75% │                ⡇
            │                ⡇
        50% │                ⡇
            │                ⡇
        25% │                ⡇
            │                ⡇
         0% │⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⡇
            └────────────────────────────────
                        5        10        20
      "
    `);
    expect(await plotOf(0, 0, 0.03, 0.2)).toContain('0.05');
    expect(await plotOf(0)).toContain('task duration');
  });

  it('is empty without the distributions', async () => {
    expect(plotStats(await traceStats([jobOf(0, Float64Array.of(1))]), 80)).toBe('');
  });
});
