/**
 * Hides passwords of URLs in a text: from the first colon of the user information up to the last `@` of the
 * word, and in the query. An extra `@` hides part of the host rather than showing part of a password.
 */
export function withoutPasswords(text: string): string {
  return text
    .replaceAll(/(\b[\w+.-]+:\/\/[^\s:@/]*):\S*@/g, '$1:…@')
    .replaceAll(/([?&]password=)[^\s&]*/g, '$1…');
}
