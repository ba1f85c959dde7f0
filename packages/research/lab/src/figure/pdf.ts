import { buffer } from 'node:stream/consumers';
import PDFDocument from 'pdfkit';
import SVGtoPDF from 'svg-to-pdfkit';

/** Points per pixel. */
const SCALE = 0.75;

/** Converts a figure to a PDF file of one page. Equal figures give equal bytes. */
export async function pdfOf(svg: string): Promise<Uint8Array> {
  const [, width, height] = /width="(\d+)" height="(\d+)"/.exec(svg)!.map(Number);
  const size = { width: SCALE * width!, height: SCALE * height! };
  const document = new PDFDocument({
    size: [size.width, size.height],
    margin: 0,
    info: { CreationDate: new Date(0) },
  });
  // The standard fonts of PDF have no Greek letters.
  const text = svg.replaceAll('θ', 'theta').replaceAll('γ', 'gamma');
  SVGtoPDF(document, text, 0, 0, {
    ...size,
    assumePt: false,
    fontCallback: (_, bold) => (bold ? 'Helvetica-Bold' : 'Helvetica'),
  });
  document.end();
  return buffer(document);
}
