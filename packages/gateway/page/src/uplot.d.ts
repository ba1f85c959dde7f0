// The gateway serves it beside the page's own scripts, by this name.
export { default } from 'uplot';
