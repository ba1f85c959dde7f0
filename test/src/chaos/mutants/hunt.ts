import { ROLES } from '@goshawk/core';
import { playHostile } from '../../fuzz/hostile-run.js';
import { drawPlan, FAULT_FREE, SHARED } from '../draw-plan.js';
import { play } from '../run.js';

/** The output of a hunt, one line of JSON. */
export interface Finding {
  /** The seed, or the file of the test, that finds the bug. */
  readonly by: string;
  readonly complaint: string;
  readonly seconds: number;
}

/** Plays seeds until one fails: `node hunt.js SEEDS FROM`. */
const [seeds = 0, from = 0] = process.argv.slice(2).map(Number);
const startedAt = performance.now();
for (let seed = from; seed < from + seeds; seed++) {
  const complaints = process.env.CHAOS_HOSTILE ? hostile(seed) : await chaos(seed);
  if (complaints.length === 0) continue;
  const finding: Finding = {
    by: `seed ${seed}`,
    complaint: complaints[0]!.split('\n')[0]!,
    seconds: (performance.now() - startedAt) / 1_000,
  };
  process.stdout.write(`${JSON.stringify(finding)}\n`);
  break;
}

async function chaos(seed: number): Promise<readonly string[]> {
  const kind = process.env.CHAOS_SHARED ? SHARED : process.env.CHAOS_FAULT_FREE ? FAULT_FREE : '';
  return (await play(drawPlan(`${kind}${seed}`))).complaints;
}

function hostile(seed: number): string[] {
  return ROLES.flatMap((role) => {
    try {
      playHostile(`${role} ${seed}`, role);
      return [];
    } catch (error) {
      return [`hostile ${role}: ${(error as Error).message}`];
    }
  });
}
