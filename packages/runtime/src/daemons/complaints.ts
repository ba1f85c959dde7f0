import { counted, formatCount, type Histogram, LIMITS, type Millis } from '@goshawk/core';
import type { Logger } from '@goshawk/transport';
import type { JournalPort } from './journal-port.js';
import { repeatUntil } from './now-and-then.js';
import { diagnoseSilence } from './silence-diagnosis.js';
import { SilenceLog } from './silence-log.js';

const CENTRAL_CHECK_MS = 1_000;
const COUNTS_CHECK_MS = 10_000;
/** Duration in ms from which a commit counts as slow, as in the alert GoshawkJournalSlow. */
const SLOW_COMMIT_MS = 500;
/** A limit is reported as an event again if no job was refused because of it for this long. ms */
const LIMIT_QUIET_MS = 600_000;

interface Watched {
  readonly logger: Logger;
  readonly ended: Promise<unknown>;
}

/** Logs when central stops answering, with the likely cause, and when it answers again. */
export function watchCentral(
  { logger, ended }: Watched,
  central: string,
  isSilent: () => boolean,
  consequence: string,
): void {
  const silences = new SilenceLog();
  repeatUntil(CENTRAL_CHECK_MS, ended, async () => {
    for (const change of silences.check(isSilent())) {
      const fields = { event: change.kind === 'heard' ? 'central-heard' : 'central-silent', central };
      if (change.kind === 'heard') logger.info(fields, 'central answers again');
      else if (change.kind === 'silent')
        logger.warn(
          fields,
          `central at ${central} does not answer (${await diagnoseSilence(central)}); ${consequence}`,
        );
      else
        logger.warn(
          { ...fields, heldBack: change.count },
          `central did not answer ${counted(change.count, 'more time')} within ten minutes, each time for less than half a minute: it, the network or this machine is overloaded`,
        );
    }
  });
}

/** A user with many active jobs, as it is logged. */
interface LargeUser {
  readonly user: string | undefined;
  readonly jobs: number;
  readonly waiting: number;
}

/**
 * Logs refused jobs, with the users that have the most active jobs, and slow commits: at most one line of each kind in
 * ten seconds.
 *
 * @param limitReached receives a text when jobs are refused because of a limit, once until it has been quiet for ten minutes
 */
export function watchCounts(
  { logger, ended }: Watched,
  refused: () => Readonly<Record<string, number>>,
  largestUsers: () => readonly LargeUser[],
  port: JournalPort | undefined,
  limitReached: (text: string) => void,
): void {
  const refusedAt = new Map<string, Millis>();
  let before = { ...refused() };
  let slowBefore = 0;
  repeatUntil(COUNTS_CHECK_MS, ended, () => {
    const now = { ...refused() };
    for (const [reason, count] of Object.entries(now)) {
      const jobs = count - (before[reason] ?? 0);
      if (jobs === 0) continue;
      const users = largestUsers().map((held) => ({ ...held, user: held.user ?? '' }));
      const why = `${WHY_REFUSED[reason] ?? reason}${largestUser(users)}`;
      logger.warn(
        { event: 'jobs-refused', reason, jobs, users },
        `refused ${jobs} submissions within ten seconds: ${why}`,
      );
      // The scheduler reports the state of its journal itself.
      if (reason === 'journal') continue;
      const at = performance.now();
      const isNews = at - (refusedAt.get(reason) ?? Number.NEGATIVE_INFINITY) > LIMIT_QUIET_MS;
      if (isNews) limitReached(`new jobs are refused: ${why}`);
      refusedAt.set(reason, at);
    }
    before = now;
    if (port === undefined) return;
    const { journal } = port;
    const slow = countSlow(journal.commitMs);
    if (slow > slowBefore) {
      const { lastCommitMs } = journal.metrics();
      logger.warn(
        { event: 'journal-slow', commits: slow - slowBefore, lastMs: Math.round(lastCommitMs) },
        `${slow - slowBefore} commits of the journal took longer than ${SLOW_COMMIT_MS} ms: its disk or database is slow`,
      );
    }
    slowBefore = slow;
  });
}

const WHY_REFUSED: Readonly<Record<string, string>> = {
  jobs: 'the limit of active jobs (--active-jobs-max) is reached',
  memory: 'active jobs have used up the memory',
  user: 'a user has reached the limit of waiting tasks (--user-waiting-tasks-max)',
  'user-jobs': `a user has as many active jobs as this scheduler holds for one user: three quarters of what others leave of --active-jobs-max, and at most ${formatCount(LIMITS.activeJobsPerUserMax)}`,
  journal: 'the journal accepts no new jobs',
};

/** Names the user with the most active jobs, who is the likely cause. */
function largestUser([first]: readonly { user: string; jobs: number }[]): string {
  if (first === undefined) return '';
  return `; ${first.user || 'submissions without a user'} ${first.user ? 'has' : 'have'} ${first.jobs} active jobs, the most here`;
}

function countSlow({ bounds, counts }: Histogram): number {
  return counts.reduce((sum, count, at) => ((bounds[at - 1] ?? 0) >= SLOW_COMMIT_MS ? sum + count : sum), 0);
}
