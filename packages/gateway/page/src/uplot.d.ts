// The gateway serves uPlot beside the page's scripts, under this name.
export { default } from 'uplot';
