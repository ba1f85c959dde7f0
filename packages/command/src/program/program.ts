import type { Command, ModuleUse } from '../command.js';

/**
 * The commands that a command line may name. The parser and help access commands only through this interface.
 */
export interface Program {
  /** Summary for the overview, in one sentence. */
  readonly about: string;
  /** Names of all commands, in the order of help. */
  readonly names: readonly string[];
  /** Descriptions of groups, by the first word of their commands. */
  readonly groups: Readonly<Record<string, string>>;
  /** Commands of an optional package: help lists them last, with these descriptions. */
  readonly optional: { readonly package: string; readonly commands: Readonly<Record<string, string>> };
  /** @returns the installed commands */
  all(): Promise<readonly Command[]>;
  /**
   * Loads the commands that a command line may contain, with all members of their groups. Loads all commands
   * if it contains none.
   *
   * @param words of the command line; a command may follow options, whose values may equal names of commands
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
   * @param use see `modules` of commands
   * @returns the options with the final names of the modules
   * @throws InputError for a module that cannot be loaded
   */
  loadModules<O extends Readonly<Record<string, unknown>>>(
    options: O,
    cwd: string,
    use: ModuleUse | undefined,
  ): Promise<O>;
}
