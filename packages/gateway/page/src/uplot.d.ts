// The gateway serves uPlot under this name, beside the scripts of the page.
export { default } from 'uplot';
