/** Returns the files of the bundle by name. */
export function pageBundle(): Promise<Record<'main.js' | 'pictures.js' | 'views.js' | 'style.css', string>>;
/** Builds the files. */
export function writePage(): Promise<void>;
