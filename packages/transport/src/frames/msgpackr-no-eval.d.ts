/** msgpackr declares no types for this build; it has the same exports as the others. */
declare module 'msgpackr/index-no-eval' {
  export { Packr, RESET_BUFFER_MODE, REUSE_BUFFER_MODE } from 'msgpackr';
}
