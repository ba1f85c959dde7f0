import { declarations } from '../charts/palette.js';

/** The page's only style sheet: light by default, dark if the reader prefers it, always light on paper. */
export const STYLESHEET = `
:root{color-scheme:light dark;${declarations('light')}}
@media screen and (prefers-color-scheme:dark){:root{${declarations('dark')}}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","DejaVu Sans",Arial,sans-serif}
main{max-width:1120px;margin:0 auto;padding:36px 24px 64px}
h1{font-size:29px;line-height:1.2;margin:0 0 6px;letter-spacing:-.01em}
h2{font-size:20px;margin:0 0 8px;padding-top:30px;letter-spacing:-.005em}
h3{font-size:15px;margin:22px 0 6px}
p{margin:0 0 12px;max-width:78ch}
header p,.note,section>p,details{color:var(--muted)}
.note{font-size:13px;margin-top:8px}
.warning{color:var(--warning);font-weight:600}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(160px,1fr));gap:14px;margin-top:22px}
.card{background:var(--raised);border:1px solid var(--rule);border-radius:8px;padding:14px 18px}
.card h3{margin:0;font-size:13px;font-weight:600;color:var(--muted)}
.card p{margin:0;font-size:13px;color:var(--muted);font-variant-numeric:tabular-nums}
.card .big{font-size:32px;line-height:1.25;font-weight:650;color:var(--text)}
.card .words{color:var(--text);font-weight:600;margin-bottom:6px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px;min-width:40%}
th,td{padding:5px 12px;text-align:right;white-space:nowrap;vertical-align:baseline}
th:first-child,td:first-child{text-align:left;padding-left:2px}
thead th{color:var(--muted);font-weight:600;font-size:13px}
thead tr:last-child>*{border-bottom:1px solid var(--muted)}
thead th[scope=colgroup]{text-align:left;color:var(--text)}
tbody th{font-weight:600}
tbody tr+tr>*{border-top:1px solid var(--rule)}
.edge{padding-left:32px}
small{color:var(--muted);font-size:12px}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,460px),1fr));gap:20px 28px}
.pair>*{min-width:0}.pair+.pair{margin-top:20px}
.stack>*+*{margin-top:22px}
.stack thead th{white-space:normal;vertical-align:bottom}.stack thead .swatch{display:block;margin:0 0 2px auto}
figure{margin:0;min-width:0}
figcaption{font-weight:600;margin:4px 0 6px}
figure>svg{display:block;width:100%;height:auto}
svg text{font-variant-numeric:tabular-nums}
.targets circle:hover{fill:currentColor;fill-opacity:.5}
details{font-size:13px;margin-top:4px}
details table{font-size:13px;color:var(--text)}
summary{cursor:pointer;width:fit-content}
summary:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.legend{display:flex;flex-wrap:wrap;gap:4px 22px;list-style:none;margin:0 0 10px;padding:0;font-size:14px}
.legend li{display:flex;align-items:center}
.swatch{height:12px;overflow:visible;margin-right:8px;flex:none;vertical-align:-1px}
.box{width:14px;height:14px;border-radius:3px;margin-right:8px}
.queueing{background:var(--queueing)}.binding{background:var(--binding)}.running{background:var(--running)}.reporting{background:var(--reporting)}
.options{display:flex;flex-wrap:wrap;gap:4px 20px;list-style:none;margin:0 0 12px;padding:0;font-size:14px;color:var(--muted)}
.options b{color:var(--text);font-weight:600}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:6px 22px;margin:0}
dt{color:var(--muted)}
dd{margin:0;overflow-wrap:anywhere}
code{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
pre{margin:0;padding:10px 14px;background:var(--raised);border:1px solid var(--rule);border-radius:6px;white-space:pre-wrap;overflow-wrap:anywhere}
.flag{display:inline-block;max-width:100%}
@media (max-width:600px){main{padding:20px 14px 40px}dl{grid-template-columns:minmax(0,1fr);gap:2px}dd{margin-bottom:8px}}
@media print{
@page{size:A4;margin:11mm 12mm}
:root{color-scheme:light}
body{font-size:10pt}
main{max-width:none;padding:0}
h1{font-size:19pt}h2{font-size:13.5pt;padding-top:16px}h3{font-size:10.5pt}
h2,h3,section>p:not(.note),.legend{break-after:avoid;break-inside:avoid}
.note{break-before:avoid;font-size:8.5pt}
.scroll{overflow:visible}
table{font-size:8.5pt;min-width:0}
th,td{padding:3px 6px}.edge{padding-left:14px}
thead th{font-size:8pt;white-space:normal;vertical-align:bottom}thead .swatch{display:block;margin:0 0 2px auto}
tbody th{white-space:normal}
small{font-size:7pt}
.pair{grid-template-columns:1fr 1fr;gap:10px 14px}
.cards{grid-template-columns:repeat(4,1fr);gap:8px;margin-top:12px}.card{padding:8px 10px}.card .big{font-size:18pt}
.pair,table,tr,.cards,dl{break-inside:avoid}
details{display:none}
code{font-size:8pt}
.box,.card,pre{print-color-adjust:exact;-webkit-print-color-adjust:exact}
}
`.trim();
