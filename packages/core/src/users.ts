import { InputError } from './errors.js';
import { LIMITS } from './limits.js';

/** What an operator grants one user. */
export interface UserGrant {
  /** A user with twice the weight is due twice the share. */
  readonly weight: number;
}

/** Grants by user; `*` stands for every user who is not listed. */
export type UserGrants = ReadonlyMap<string, UserGrant>;

const OTHERS = '*';
const DEFAULT_GRANT: UserGrant = { weight: 1 };
const WEIGHT_MAX = 1e6;

export function grantOf(grants: UserGrants, user: string): UserGrant {
  return grants.get(user) ?? grants.get(OTHERS) ?? DEFAULT_GRANT;
}

/**
 * Parses the file of `--users`: an object that has an object of settings for each user.
 *
 * @param source for errors, which name the line and the column
 * @throws InputError
 */
export function parseUsers(text: string, source: string): UserGrants {
  const reader = new JsonReader(text, source);
  const grants = new Map<string, UserGrant>();
  reader.object('an object of users', (user, at) => {
    const who = JSON.stringify(user);
    if (user === '' || user.length > LIMITS.nameLengthMax)
      reader.fail(at, `the name of a user has 1 to ${LIMITS.nameLengthMax} characters`);
    if (grants.has(user)) reader.fail(at, `user ${who} is listed twice`, 'remove one of the two');
    grants.set(user, readGrant(reader, who));
  });
  reader.end();
  return grants;
}

function readGrant(reader: JsonReader, who: string): UserGrant {
  let weight: number | undefined;
  reader.object(`an object of settings for ${who}`, (name, at) => {
    if (name !== 'weight')
      reader.fail(at, `user ${who} has an unknown setting ${JSON.stringify(name)}`, 'known settings: weight');
    if (weight !== undefined) reader.fail(at, `the weight of ${who} is given twice`, 'remove one of the two');
    const number = reader.scalar();
    if (typeof number.value !== 'number' || !(number.value > 0 && number.value <= WEIGHT_MAX))
      reader.fail(number.at, `the weight of ${who} is not a number above 0 and up to ${WEIGHT_MAX}`);
    weight = number.value as number;
  });
  return weight === undefined ? DEFAULT_GRANT : { weight };
}

const EXAMPLE = 'such as {"ann": {"weight": 3}, "*": {"weight": 1}}';

/** A string, a mark, or what stands between them. */
const TOKENS = /"(?:[^"\\\n]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+|"/g;

interface Token {
  readonly text: string;
  readonly at: number;
}

/** Reads JSON token by token: `JSON.parse` does not tell where a value stands. */
class JsonReader {
  readonly #text: string;
  readonly #source: string;
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(text: string, source: string) {
    this.#text = text;
    this.#source = source;
    this.#tokens = [...text.matchAll(TOKENS)].map((match) => ({ text: match[0], at: match.index! }));
  }

  fail(at: number, problem: string, remedy = EXAMPLE): never {
    const lines = this.#text.slice(0, at).split('\n');
    const place = `line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
    throw new InputError('bad-users', `${this.#source}: ${place}: ${problem}`, remedy);
  }

  /** @param each reads the value of this key */
  object(what: string, each: (key: string, at: number) => void): void {
    this.#take('{', what);
    if (this.#peek().text === '}') return void this.#next++;
    for (;;) {
      const { value: key, at } = this.scalar();
      if (typeof key !== 'string') this.fail(at, 'expected a name in double quotes');
      this.#take(':', 'a colon');
      each(key as string, at);
      const { text } = this.#peek();
      if (text === '}') return void this.#next++;
      this.#take(',', 'a comma or a closing brace');
    }
  }

  /** The next string or number. */
  scalar(): { readonly value: unknown; readonly at: number } {
    const { text, at } = this.#peek();
    this.#next++;
    try {
      return { value: JSON.parse(text), at };
    } catch {
      return this.fail(at, `expected a name in double quotes or a number, not ${this.#shown(text)}`);
    }
  }

  end(): void {
    const { text, at } = this.#peek();
    if (text !== '') this.fail(at, `nothing may follow the last brace, but ${this.#shown(text)} does`);
  }

  #take(mark: string, what: string): void {
    const { text, at } = this.#peek();
    if (text !== mark) this.fail(at, `expected ${what}, not ${this.#shown(text)}`);
    this.#next++;
  }

  /** Empty at the end. */
  #peek(): Token {
    return this.#tokens[this.#next] ?? { text: '', at: this.#text.length };
  }

  #shown(text: string): string {
    return text === '' ? 'the end of the file' : text.slice(0, 32);
  }
}
