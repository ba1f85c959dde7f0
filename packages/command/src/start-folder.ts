/** Names the folder that relative paths of a child start from; the child itself runs in `/`, which nobody removes. */
export const START_FOLDER = 'GOSHAWK_START_FOLDER';
