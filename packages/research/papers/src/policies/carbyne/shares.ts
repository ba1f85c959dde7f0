import { type Amounts, addAmounts, dominantShare, isCounted } from '@goshawk/policies';
import type { JobState } from './jobs.js';

/** A job or a user, as input of `closedForm`. */
interface Sharer {
  readonly weight: number;
  /** Demands in proportion, by resource. */
  readonly demand: Amounts;
}

interface ClosedForm {
  /** Weighted dominant share, equal for all. */
  readonly level: number;
  /** By sharer, by resource. */
  readonly shares: readonly Float64Array[];
}

/**
 * Dominant resource fairness in closed form (Carbyne §3.3.1). All parties get their demands in proportion, up
 * to the same weighted dominant share, which uses up some resource. A party without demands gets nothing.
 */
export function closedForm(sharers: readonly Sharer[], whole: Amounts): ClosedForm {
  const scaled = sharers.map(({ weight, demand }) => {
    const dominant = dominantShare(demand, whole);
    return Float64Array.from({ length: whole.length }, (_, r) =>
      dominant > 0 && isCounted(whole[r]!) ? (weight * (demand[r] ?? 0)) / (whole[r]! * dominant) : 0,
    );
  });
  let fullest = 0;
  for (let r = 0; r < whole.length; r++) {
    let sum = 0;
    for (const each of scaled) sum += each[r]!;
    fullest = Math.max(fullest, sum);
  }
  const level = fullest > 0 ? 1 / fullest : 0;
  return {
    level,
    shares: scaled.map((each) =>
      each.map((fraction, r) => (isCounted(whole[r]!) ? level * fraction * whole[r]! : whole[r]!)),
    ),
  };
}

export const SHARE_RULES = ['equal', 'work'] as const;
export const SHARED_BY = ['job', 'user'] as const;

export interface ShareRules {
  /** `equal`: an equal amount of every resource. `work`: dominant resource fairness by remaining work. */
  readonly shares: (typeof SHARE_RULES)[number];
  /** Unit of sharing: jobs, or users. The jobs of a user divide the user's share by weight. */
  readonly by: (typeof SHARED_BY)[number];
}

/** A party of sharing: one job, or one user. */
export interface Party {
  readonly jobs: JobState[];
  weight: number;
  /** Sum of the weights of its jobs. */
  jobsWeight: number;
}

/** Jobs by user, or one party per job with the job's weight. */
export function partiesOf(jobs: Iterable<JobState>, by: ShareRules['by']): Party[] {
  const parties = new Map<unknown, Party>();
  for (const job of jobs) {
    const key = by === 'user' ? job.view.user : job;
    const { weight, userWeight } = job.view;
    const party = parties.get(key);
    if (party === undefined)
      parties.set(key, { jobs: [job], weight: by === 'user' ? userWeight : weight, jobsWeight: weight });
    else {
      party.jobs.push(job);
      party.jobsWeight += weight;
    }
  }
  return [...parties.values()];
}

/** Fair share of each job, by resource. */
export class Shares {
  readonly #whole: Amounts;
  readonly #ofJob = new Map<JobState, { party: Float64Array | undefined; part: number }>();
  readonly #jobs: number;

  constructor(jobs: Iterable<JobState>, whole: Amounts, { shares, by }: ShareRules) {
    const parties = partiesOf(jobs, by);
    const closed = shares === 'work' ? closedForm(parties.map(sharerOf), whole).shares : undefined;
    let weights = 0;
    for (const { weight } of parties) weights += weight;
    parties.forEach((party, place) => {
      const ofParty = closed?.[place];
      const part = ofParty === undefined ? party.weight / weights : 1;
      for (const job of party.jobs) {
        this.#ofJob.set(job, { party: ofParty, part: (part * job.view.weight) / party.jobsWeight });
      }
    });
    this.#whole = whole;
    this.#jobs = this.#ofJob.size;
  }

  of(job: JobState): Float64Array {
    const { party, part } = this.#ofJob.get(job)!;
    return Float64Array.from(party ?? this.#whole, (amount) => part * amount);
  }

  /** Whether the amounts differ by more than a tenth of an average job's share. */
  haveChanged(from: Amounts, to: Amounts): boolean {
    for (let r = 0; r < this.#whole.length; r++) {
      if (Math.abs((from[r] ?? 0) - to[r]!) > (MOVED * this.#whole[r]!) / this.#jobs) return true;
    }
    return false;
  }

  hasShrunk(from: Amounts, to: Amounts): boolean {
    for (let r = 0; r < this.#whole.length; r++) {
      if (to[r]! < (from[r] ?? 0) - ROUNDING * this.#whole[r]!) return true;
    }
    return false;
  }
}

const MOVED = 0.1;
const ROUNDING = 1e-9;

function sharerOf({ jobs, weight }: Party): Sharer {
  const demand = new Float64Array(jobs[0]!.used.length);
  for (const job of jobs) addAmounts(demand, job.needs(), 1);
  return { weight, demand };
}
