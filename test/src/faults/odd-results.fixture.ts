/** Returns a result that cannot be encoded. */
export default function odd(kind: string): unknown {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  let deep: unknown = 0;
  for (let level = 0; level < 40; level++) deep = [deep];
  const results: Record<string, unknown> = {
    function: () => 1,
    cycle,
    bigint: 1n,
    deep,
    large: 'x'.repeat(300_000),
    fine: 'fine',
  };
  return results[kind];
}
