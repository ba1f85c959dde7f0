export { cellWidth, cut, shortened, wrapProse, wrapWords } from '@goshawk/core';
