import { isAbsent } from '@goshawk/core';
import type { ProblemSolver } from '@goshawk/runtime';

/** The exports of `@goshawk/papers` and `@goshawk/papers/solver` that the command uses. */
interface Papers {
  addPapers(): void;
}

interface PapersSolver {
  readonly ThreadedSolver: new (timeoutMs: number) => ProblemSolver;
}

/** Typed as `string` because the papers are built after this package and may not be installed. */
const PACKAGE: string = '@goshawk/papers';
const SOLVER: string = '@goshawk/papers/solver';

/** @returns undefined if the package is not installed */
export async function findPapers(): Promise<Papers | undefined> {
  try {
    return (await import(PACKAGE)) as Papers;
  } catch (error) {
    if (isAbsent(error, PACKAGE)) return undefined;
    throw error;
  }
}

/**
 * @param timeoutMs timeout per problem
 * @returns undefined if the package is not installed; policies then plan without a solver
 */
export async function findSolver(timeoutMs: number): Promise<ProblemSolver | undefined> {
  try {
    const { ThreadedSolver } = (await import(SOLVER)) as PapersSolver;
    return new ThreadedSolver(timeoutMs);
  } catch (error) {
    if (isAbsent(error, PACKAGE)) return undefined;
    throw error;
  }
}
