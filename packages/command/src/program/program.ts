import type { Command } from '../command.js';

/** The commands that a command line may name. The parser and help know them only through this. */
export interface Program {
  /** One sentence, for the overview. */
  readonly about: string;
  /** In the order of help. */
  readonly names: readonly string[];
  /** Descriptions of groups, which are the first words of commands with two. */
  readonly groups: Readonly<Record<string, string>>;
  /** Commands of a package that need not be installed: help lists them with these descriptions. */
  readonly optional: { readonly title: string; readonly commands: Readonly<Record<string, string>> };
  /** @returns those that are installed */
  all(): Promise<readonly Command[]>;
  /**
   * The commands that a command line may mean, with the whole of their groups; all if it names none.
   *
   * @param words of the command line; a command may follow options, whose values may be equal to names of commands
   * @throws InputError if it names only commands that are not installed
   */
  namedIn(words: readonly string[]): Promise<readonly Command[]>;
  /**
   * @returns undefined for an unknown name
   * @throws InputError if it is not installed
   */
  named(name: string): Promise<Command | undefined>;
  /**
   * Loads the modules that options name, before the command runs.
   *
   * @returns the options with the names that the modules have from then on
   * @throws InputError for a module that cannot be loaded
   */
  loadModules<O extends Readonly<Record<string, unknown>>>(options: O, cwd: string): Promise<O>;
}
