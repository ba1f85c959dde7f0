/**
 * Z85 (ZeroMQ RFC 32), ZeroMQ's text format of keys: five characters per four bytes. Key files use base64url, which is safe in
 * shells, YAML and URLs.
 */
const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#';
const BASE = DIGITS.length;

/** Encodes bytes as Z85. Their number must be a multiple of four. */
export function z85(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 4) {
    const word = bytes.readUInt32BE(at);
    for (let place = BASE ** 4; place >= 1; place /= BASE) text += DIGITS[Math.floor(word / place) % BASE];
  }
  return text;
}
