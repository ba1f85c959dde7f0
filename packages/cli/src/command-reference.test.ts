import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, GLOBAL_OPTIONS, type OptionSpecs, settingName, variableOf } from '@goshawk/command';
import { optionRows, optionsByUse } from '@goshawk/command/program';
import { expect, test } from 'vitest';
import { allCommands } from './commands/index.js';

const PATH = join(import.meta.dirname, '../../../docs/COMMANDS.md');
const HEAD = `# Commands and options

\`goshawk COMMAND --help\` shows the common options of a command, \`goshawk COMMAND --help --all\` all of them. An option with
a variable can also be set in the file of \`--config\`, under the name of the option; the flag overrides the variable, the variable
overrides the file, and the file overrides the default. This page is generated from the code (\`UPDATE_GOLDEN=1 npm run test:unit\`).

`;

test('docs/COMMANDS.md has every command and option (UPDATE_GOLDEN=1 writes it)', async () => {
  const pages = (await allCommands()).map(section);
  const everywhere = ['## Options of every command', ...table(GLOBAL_OPTIONS)].join('\n\n');
  const page = `${HEAD}${[everywhere, ...pages].join('\n\n')}\n`;
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(PATH, page);
  else expect(readFileSync(PATH, 'utf8')).toBe(page);
});

function section({ name, words, describe, examples, options }: Command): string {
  const { shown, rare, ofPolicy } = optionsByUse(options);
  const shell = examples.map(([command]) => command).join('\n');
  const settings =
    Object.keys(ofPolicy).length === 0 ? [] : [`Also each setting of \`goshawk policies NAME\`.`];
  return [
    `## goshawk ${name} ${words}`.trim(),
    escaped(describe),
    ...(shell === '' ? [] : [`\`\`\`sh\n${shell}\n\`\`\``]),
    ...table(shown),
    ...(Object.keys(rare).length === 0 ? [] : ['Rare:', ...table(rare)]),
    ...settings,
  ].join('\n\n');
}

function table(specs: OptionSpecs): string[] {
  const rows = optionRows(specs).map(([flag, text], index) => {
    const [name, spec] = Object.entries(specs)[index]!;
    const setting = settingName(name, spec);
    const variable = setting === undefined ? '' : `\`${variableOf(setting)}\``;
    return `| \`${flag.replaceAll('|', '\\|')}\` | ${variable} | ${escaped(text)} |`;
  });
  return rows.length === 0 ? [] : [['| option | variable | |', '|---|---|---|', ...rows].join('\n')];
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('{', '\\{');
}
