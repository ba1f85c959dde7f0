import { register } from 'node:module';
import { MUTANTS } from './mutants.js';

/** Preloaded into a process, so that later modules contain the bug named by CHAOS_MUTANT. */
const mutant = MUTANTS.find(({ name }) => name === process.env.CHAOS_MUTANT);
if (mutant === undefined) throw new Error(`there is no mutant ${process.env.CHAOS_MUTANT}`);
register('./hooks.js', import.meta.url, { data: mutant });
