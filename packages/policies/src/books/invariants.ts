import { invariant, SLOT, sumOf } from '@goshawk/core';
import type { ClusterBooks } from './books.js';
import type { BookedWorker } from './entries.js';

/** Checks that each paused run has one borrower, which runs at the same worker and knows it. */
function checkLoans({ runs, paused }: BookedWorker): void {
  let lenders = 0;
  for (const run of runs) {
    const { borrower, lent } = run;
    if (borrower !== undefined) lenders++;
    invariant(
      (borrower === undefined) === (lent.length === 0),
      () => `run ${run.id} lends ${lent.join()} to ${borrower?.id}`,
    );
    invariant(
      borrower === undefined || (runs.includes(borrower) && borrower.lenders.includes(run)),
      () => `run ${run.id} is paused for ${borrower?.id}, which does not know it`,
    );
    for (const lender of run.lenders)
      invariant(
        runs.includes(lender) && lender.borrower === run,
        () => `run ${run.id} borrows from ${lender.id}, which is not paused for it`,
      );
    invariant(
      run.lenders.length === 0 || borrower === undefined || borrower.isShared,
      () => `run ${run.id} borrows and lends`,
    );
    invariant(!run.isShared || run.lenders.length <= 1, () => `run ${run.id} has several parents`);
  }
  invariant(lenders === paused, () => `${lenders} runs are paused, counted ${paused}`);
}

/** Checks that every object is in exactly one place and that all counts agree. */
export function checkBooks(books: ClusterBooks): void {
  let runs = 0;
  for (const worker of books.workers) {
    runs += worker.runs.length;
    const confirmed = worker.runs.filter((run) => run.isConfirmed && !run.isQueued);
    const used = sumOf(confirmed, ({ stage, lent }) => stage.demand[SLOT]! - (lent[SLOT] ?? 0));
    checkLoans(worker);
    const free = worker.free[SLOT]!;
    invariant(
      used === worker.confirmedSlots && free >= 0 && used + free <= Math.max(used, worker.capacity[SLOT]!),
      () =>
        `${used} slots are used (counted ${worker.confirmedSlots}), ${free} free of ${worker.capacity[SLOT]}`,
    );
  }
  let waiting = 0;
  let ofJobs = 0;
  const ofKinds = sumOf([...books.waitingKinds], ({ tasks }) => tasks);
  for (const job of books.jobs) {
    let ofStages = 0;
    for (const stage of job.stages) {
      waiting += stage.waiting;
      ofStages += stage.running;
      invariant(stage.waiting >= 0 && stage.running >= 0, () => `stage ${stage.index} counts below 0`);
      invariant(
        stage.named === 0 || stage.named === stage.waiting,
        () => `${stage.named} of ${stage.waiting} are named`,
      );
    }
    invariant(ofStages === job.runs.size, () => `${ofStages} runs by stage, ${job.runs.size} by job`);
    ofJobs += ofStages;
  }
  invariant(waiting === books.waitingTasks, () => `${waiting} tasks wait, counted ${books.waitingTasks}`);
  invariant(waiting === ofKinds, () => `${waiting} tasks wait, ${ofKinds} by kind`);
  invariant(runs === books.runCount, () => `${runs} runs at workers, counted ${books.runCount}`);
  invariant(ofJobs === runs, () => `${ofJobs} runs of jobs, ${runs} at workers`);
}
