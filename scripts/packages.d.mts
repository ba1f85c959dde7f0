/** Returns the folder of each package by its name without scope, relative to the root. */
export function packageFolders(): Map<string, string>;
