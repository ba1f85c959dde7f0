/**
 * Hides passwords of URLs in a text: from the first colon of what stands before the host up to the last `@` of the word, and in
 * the query. An `@` too many hides a part of the host; one too few would show a part of the password.
 */
export function withoutPasswords(text: string): string {
  return text
    .replaceAll(/(\b[\w+.-]+:\/\/[^\s:@/]*):\S*@/g, '$1:…@')
    .replaceAll(/([?&]password=)[^\s&]*/g, '$1…');
}
