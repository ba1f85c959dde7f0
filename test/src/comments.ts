export interface Comment {
  /** Offset of the comment's first character in the file. */
  readonly start: number;
  /** The text without comment markers, on one line. */
  readonly text: string;
}

/** A comment, or a literal that may contain the characters of one. */
const TOKEN =
  /(?<block>\/\*[\s\S]*?\*\/)|(?<line>\/\/[^\n]*)|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|(?<template>`)|(?<=[=(,:!&|?{};[+])\s*\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/g;

/** Returns the comments of a TypeScript file. Adjacent lines of `//` are one comment. */
export function commentsOf(text: string): Comment[] {
  const comments: Comment[] = [];
  let previousLineEnd = -1;
  const token = new RegExp(TOKEN);
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const { block, line, template } = match.groups!;
    if (template !== undefined) {
      token.lastIndex = endOfTemplate(text, match.index);
    } else if (block !== undefined) {
      const body = block.replace(/^\/\*+|\*\/$/g, '').replace(/^\s*\*/gm, '');
      comments.push({ start: match.index, text: plain(body) });
    } else if (line !== undefined) {
      const indent = text.slice(text.lastIndexOf('\n', match.index) + 1, match.index);
      const isAlone = indent.trim() === '';
      const body = plain(line.slice(2));
      const gap = text.slice(previousLineEnd, match.index);
      if (isAlone && previousLineEnd >= 0 && gap.trim() === '' && gap.split('\n').length === 2) {
        const last = comments.pop()!;
        comments.push({ start: last.start, text: plain(`${last.text} ${body}`) });
      } else {
        comments.push({ start: match.index, text: body });
      }
      previousLineEnd = isAlone ? token.lastIndex : -1;
    }
  }
  return comments;
}

function plain(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Returns the offset after a template literal that starts at `start`. */
function endOfTemplate(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '`') {
    if (text[at] === '\\') at += 2;
    else if (text.startsWith('${', at)) at = endOfSubstitution(text, at + 2);
    else at += 1;
  }
  return at + 1;
}

function endOfSubstitution(text: string, start: number): number {
  const quoted = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/y;
  let at = start;
  for (let depth = 1; at < text.length && depth > 0; ) {
    quoted.lastIndex = at;
    if (text[at] === '`') at = endOfTemplate(text, at);
    else if (quoted.test(text)) at = quoted.lastIndex;
    else {
      if (text[at] === '{') depth += 1;
      if (text[at] === '}') depth -= 1;
      at += 1;
    }
  }
  return at;
}
