/**
 * Variable with the base folder of a child's relative paths. The child itself runs in `/`, which cannot be
 * removed.
 */
export const START_FOLDER = 'GOSHAWK_START_FOLDER';
