import {
  type Address,
  grantOf,
  LIMITS,
  type MessageOf,
  projectGrantOf,
  type UserGrants,
  type UserLimits,
} from '@goshawk/core';

type Held = MessageOf<'holdings'>['users'][number];
type Holder = MessageOf<'limits'>['holders'][number];

/** Limits that schedulers enforce, and their usage by the jobs of each scheduler. */
export class Holdings {
  #grants: UserGrants = new Map();
  #holders: readonly Holder[] = [];
  readonly #byScheduler = new Map<Address, readonly Held[]>();
  /** Whether any user has a limit. */
  isLimited = false;

  grant(grants: UserGrants): void {
    this.#grants = grants;
    this.isLimited = [...grants.values()].some(({ limits }) => limits !== undefined);
    this.#holders = Array.from(grants, ([holder, { project, limits }]) => ({
      holder,
      project,
      ...NO_LIMITS,
      ...limits,
    }));
  }

  heard(from: Address, users: readonly Held[]): void {
    this.#byScheduler.set(from, users);
  }

  /** @param isThere whether a scheduler is still a member */
  limitsFor(scheduler: Address, isThere: (scheduler: Address) => boolean): MessageOf<'limits'> {
    const sums = new Map<string, { waiting: number; journal: number }>();
    for (const [other, users] of this.#byScheduler) {
      if (!isThere(other)) this.#byScheduler.delete(other);
      else if (other !== scheduler)
        for (const { user, waiting, journal } of users) {
          add(sums, user, waiting, journal);
          const { project } = grantOf(this.#grants, user);
          if (projectGrantOf(this.#grants, project)?.limits !== undefined)
            add(sums, `@${project}`, waiting, journal);
        }
    }
    const elsewhere = Array.from(sums, ([user, held]) => ({ user, ...held }));
    return { type: 'limits', holders: this.#holders, elsewhere: elsewhere.slice(0, LIMITS.usersListedMax) };
  }
}

const NO_LIMITS: Readonly<Record<keyof UserLimits, undefined>> = {
  running: undefined,
  cpus: undefined,
  memory: undefined,
  gpus: undefined,
  waiting: undefined,
  journal: undefined,
  runTime: undefined,
};

function add(
  sums: Map<string, { waiting: number; journal: number }>,
  user: string,
  waiting: number,
  journal: number,
): void {
  const sum = sums.get(user);
  if (sum === undefined) sums.set(user, { waiting, journal });
  else {
    sum.waiting += waiting;
    sum.journal += journal;
  }
}
