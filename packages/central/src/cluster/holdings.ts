import {
  grantOf,
  LIMITS,
  type MessageOf,
  projectGrantOf,
  type UserGrants,
  type UserLimits,
} from '@goshawk/core';

type UserHoldings = MessageOf<'holdings'>['users'][number];
type Holder = MessageOf<'limits'>['holders'][number];

/** Users' limits that schedulers enforce, and how much of them the jobs of each scheduler use. */
export class Holdings {
  #grants: UserGrants = new Map();
  #holders: readonly Holder[] = [];
  /** Keyed by the tags of schedulers, so that a restart or a takeover keeps them. */
  readonly #byTag = new Map<string, readonly UserHoldings[]>();
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

  update(tag: string, users: readonly UserHoldings[]): void {
    this.#byTag.set(tag, users);
  }

  /**
   * @param tags of the schedulers that are members, or away and expected back
   * @param isComplete whether all of them have had time to report their usage
   */
  limitsFor(tag: string, tags: readonly string[], isComplete: boolean): MessageOf<'limits'> {
    const known = new Set(tags);
    const users: Sums = new Map();
    const projects: Sums = new Map();
    for (const [other, held] of this.#byTag) {
      if (!known.has(other)) this.#byTag.delete(other);
      else if (other !== tag)
        for (const { user, waiting, journal } of held) {
          add(users, user, waiting, journal);
          const { project } = grantOf(this.#grants, user);
          if (project !== undefined && projectGrantOf(this.#grants, project)?.limits !== undefined)
            add(projects, project, waiting, journal);
        }
    }
    const [elsewhere, projectsElsewhere] = [largest(users), largest(projects)];
    const index = tags.filter((other) => other < tag).length;
    const part = isComplete ? { index, of: tags.length } : undefined;
    return { type: 'limits', holders: this.#holders, elsewhere, projectsElsewhere, part };
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
  lapse: undefined,
};

/** Usage by name. */
type Sums = Map<string, { waiting: number; journal: number }>;

/** Returns the sums that fit into a message, those with the most waiting tasks if there are more. */
function largest(sums: Sums): UserHoldings[] {
  const all = Array.from(sums, ([user, held]) => ({ user, ...held }));
  if (all.length <= LIMITS.usageListedMax) return all;
  return all.sort((one, other) => other.waiting - one.waiting).slice(0, LIMITS.usageListedMax);
}

function add(sums: Sums, user: string, waiting: number, journal: number): void {
  const sum = sums.get(user);
  if (sum === undefined) sums.set(user, { waiting, journal });
  else {
    sum.waiting += waiting;
    sum.journal += journal;
  }
}
