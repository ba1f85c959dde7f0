import { grantOf, projectGrantOf, sumOf, type UserGrants } from '@goshawk/core';
import type { BookedJob } from './entries.js';

/**
 * Sets the weight of each job's user, by which policies share the cluster. A project with a weight divides it among its
 * users with jobs, in proportion to their own weights.
 */
export class UserWeights {
  #grants: UserGrants = new Map();
  readonly #byUser = new Map<string, Set<BookedJob>>();
  readonly #changed: (job: BookedJob) => void;

  /** @param changed receives each known job whose weight has changed */
  constructor(changed: (job: BookedJob) => void) {
    this.#changed = changed;
  }

  /** Sets the grants of all users. @param jobs all known jobs */
  grant(grants: UserGrants, jobs: Iterable<BookedJob>): void {
    this.#grants = grants;
    for (const job of jobs) if (this.apply(job)) this.#changed(job);
    const projects = new Set([...this.#byUser.keys()].map((user) => grantOf(grants, user).project));
    for (const project of projects) if (project !== undefined) this.#divide(project);
  }

  /** Sets the weight of the job unless its project divides one. @returns whether the weight has changed */
  apply(job: BookedJob): boolean {
    const { weight, project } = grantOf(this.#grants, job.user);
    if (job.userWeight === weight || this.#weightOf(project) > 0) return false;
    job.userWeight = weight;
    return true;
  }

  add(job: BookedJob): void {
    const { user } = job;
    const others = this.#byUser.get(user);
    if (others === undefined) this.#byUser.set(user, new Set([job]));
    else others.add(job);
    const { project } = grantOf(this.#grants, user);
    if (project === undefined || this.#weightOf(project) === 0) return;
    // All jobs of a user have the same weight, so only a user's first job changes the division.
    const [other] = others ?? [];
    if (other === undefined || other === job) this.#divide(project);
    else job.userWeight = other.userWeight;
  }

  /** @param user that the job was added for */
  remove(job: BookedJob, user = job.user): void {
    const left = this.#byUser.get(user);
    if (left?.delete(job) !== true || left.size > 0) return;
    this.#byUser.delete(user);
    const { project } = grantOf(this.#grants, user);
    if (project !== undefined) this.#divide(project);
  }

  /** Returns the weight that the users of the project divide; 0: each has its own weight. */
  #weightOf(project: string | undefined): number {
    return projectGrantOf(this.#grants, project)?.weight ?? 0;
  }

  #divide(project: string): void {
    const projectWeight = this.#weightOf(project);
    if (projectWeight === 0) return;
    const users = [...this.#byUser.keys()].filter((user) => grantOf(this.#grants, user).project === project);
    const sum = sumOf(users, (user) => grantOf(this.#grants, user).weight);
    for (const user of users) {
      const weight = (projectWeight * grantOf(this.#grants, user).weight) / sum;
      for (const job of this.#byUser.get(user)!) {
        if (job.userWeight === weight) continue;
        job.userWeight = weight;
        this.#changed(job);
      }
    }
  }
}
