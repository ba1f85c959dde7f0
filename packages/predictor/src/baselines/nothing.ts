import type { Judgement } from '../estimator.js';
import { Stateless } from '../stateless.js';

/** Says nothing of any job: the scheduler orders jobs by something else than their size. */
export class Nothing extends Stateless {
  judge(): Judgement {
    return { kind: 'unknown' };
  }
}
