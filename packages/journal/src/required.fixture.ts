/**
 * Whether `GOSHAWK_REQUIRE`, a comma-separated list, names this requirement: tests then fail without it instead of being
 * skipped.
 */
export function isRequired(need: string): boolean {
  return process.env.GOSHAWK_REQUIRE?.split(',').includes(need) ?? false;
}

/** Reports which tests are skipped and why. @throws if GOSHAWK_REQUIRE names the missing program */
export function leaveOut(need: string, missing: string, tests: string): void {
  if (isRequired(need)) throw new Error(missing);
  console.warn(`${missing}: ${tests} are left out`);
}
