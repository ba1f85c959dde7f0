/** Tests that need it fail where it is missing: `GOSHAWK_REQUIRE` names such things, comma-separated between. */
export function isRequired(need: string): boolean {
  return process.env.GOSHAWK_REQUIRE?.split(',').includes(need) ?? false;
}

/** Says which tests are left out and why. @throws where what is missing is required */
export function leaveOut(need: string, missing: string, tests: string): void {
  if (isRequired(need)) throw new Error(missing);
  console.warn(`${missing}: ${tests} are left out`);
}
