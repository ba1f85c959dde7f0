/**
 * Variable with the base folder of a child's relative paths. The child runs in `/`, because other folders may
 * be deleted.
 */
export const START_FOLDER = 'GOSHAWK_START_FOLDER';
