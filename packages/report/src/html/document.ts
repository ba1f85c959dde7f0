import { type Content, html, trusted } from '../markup.js';
import { STYLESHEET } from './stylesheet.js';

/** A page is all in one file and asks nobody for anything; the policy makes browsers hold it to that. */
const CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/** A whole page in the style of the reports, with its style sheet, without scripts and without network. */
export function renderDocument(title: string, body: Content): string {
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${CONTENT_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Goshawk</title>
<style>${trusted(STYLESHEET)}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`.text;
}
