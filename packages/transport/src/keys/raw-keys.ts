import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

/**
 * Converts keys between the 32 bytes in key files and the objects of Node's crypto module. X25519 keys encrypt and
 * authenticate connections (CURVE);
 * Ed25519 keys sign identities.
 */
type KeyKind = 'x25519' | 'ed25519';

/** DER prefix before the key bytes (RFC 8410). */
const PRIVATE_HEAD: Readonly<Record<KeyKind, Buffer>> = {
  x25519: Buffer.from('302e020100300506032b656e04220420', 'hex'),
  ed25519: Buffer.from('302e020100300506032b657004220420', 'hex'),
};
const PUBLIC_HEAD: Readonly<Record<KeyKind, Buffer>> = {
  x25519: Buffer.from('302a300506032b656e032100', 'hex'),
  ed25519: Buffer.from('302a300506032b6570032100', 'hex'),
};

export const KEY_BYTES = 32;

export function newSecret(kind: KeyKind): Buffer {
  const { privateKey } = kind === 'x25519' ? generateKeyPairSync('x25519') : generateKeyPairSync('ed25519');
  return privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-KEY_BYTES);
}

/** Derives the public key from a secret key. */
export function publicOf(kind: KeyKind, secret: Buffer): Buffer {
  return createPublicKey(privateKey(kind, secret))
    .export({ format: 'der', type: 'spki' })
    .subarray(-KEY_BYTES);
}

export function privateKey(kind: KeyKind, secret: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PRIVATE_HEAD[kind], secret]), format: 'der', type: 'pkcs8' });
}

export function publicKey(kind: KeyKind, bytes: Buffer): KeyObject {
  return createPublicKey({ key: Buffer.concat([PUBLIC_HEAD[kind], bytes]), format: 'der', type: 'spki' });
}
