import type { SteppedOptions } from '../stepped/stepped-cluster.js';
import { COMMANDS, settingsOf } from './commands.js';
import { INDENT, NOTHING_ELSE, parseCommand, writtenLines } from './script.js';
import { Stage } from './stage.js';

/** Commands that create the cluster; a transcript begins with one of them. */
const OPENING = ['cluster', 'settings'];

/**
 * Plays a transcript on real machines.
 *
 * @param makeDriver creates the driver; default: the simulator
 * @returns the transcript, with the effects below each command
 * @throws Error that names the file and the command that cannot be carried out
 */
export function play(transcript: string, name: string, makeDriver?: SteppedOptions['makeDriver']): string {
  const lines: string[] = [];
  let stage: Stage | undefined;
  writtenLines(transcript).forEach((line) => {
    lines.push(line);
    const command = parseCommand(line);
    if (command === undefined) return;
    try {
      const run = COMMANDS[command.name];
      if (run === undefined) throw new Error(`there is no command ${command.name}`);
      if (OPENING.includes(command.name)) stage = new Stage(settingsOf(command), name, makeDriver);
      if (stage === undefined) throw new Error(`begin with ${OPENING.join(' or ')}`);
      run(stage, command);
      lines.push(...stage.takeLines().map((did) => INDENT + did));
    } catch (error) {
      throw new Error(`${name}, ${line}: ${(error as Error).message}`, {
        cause: error,
      });
    }
  });
  const left = stage?.onTheWay() ?? [];
  lines.push(...left.map((message) => `${INDENT}still on its way: ${message}`));
  if (left.length === 0) lines.push('', NOTHING_ELSE);
  return `${lines.join('\n')}\n`;
}
