import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'vitest';
import { runHere } from './terminal.fixture.js';

/** Checks real outputs against the schemas that `goshawk schema` prints. */
export class PublishedChecks {
  /** Names of the schemas that an output was checked against. */
  readonly seen = new Set<string>();
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  readonly #checks = new Map<string, ValidateFunction>();

  /** Names of all published schemas. */
  async names(): Promise<string[]> {
    return (await runHere(['schema'])).stdout.trim().split('\n');
  }

  async of(name: string): Promise<ValidateFunction> {
    const known = this.#checks.get(name);
    if (known !== undefined) return known;
    const { stdout, stderr } = await runHere(['schema', name]);
    expect(stderr).toBe('');
    const check = this.#ajv.compile(JSON.parse(stdout) as object);
    this.#checks.set(name, check);
    return check;
  }

  /**
   * Expects the output to match its schema, and not to match it with one of its fields renamed.
   *
   * @param name for files whose lines have no `schema` field
   */
  async expectToFit(output: unknown, name = (output as { schema: string }).schema): Promise<void> {
    const check = await this.of(name);
    check(output);
    expect(check.errors ?? [], JSON.stringify(output).slice(0, 10_000)).toEqual([]);
    for (const renamed of renamings(output)) expect(check(renamed), JSON.stringify(renamed)).toBe(false);
    this.seen.add(name);
  }
}

/** Returns the output with each top-level field renamed in turn; nested records may have arbitrary fields. */
function renamings(output: unknown): object[] {
  const entries = Object.entries(output as object);
  return entries.map((_, at) =>
    Object.fromEntries(entries.map(([name, value], index) => [index === at ? `${name}X` : name, value])),
  );
}
