import { type Content, html, trusted } from '../markup.js';
import { STYLESHEET } from './stylesheet.js';

/** Pages are self-contained and make no requests; this policy makes browsers enforce that. */
const CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/** Renders a self-contained page in the style of the reports, without scripts and network access. */
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
