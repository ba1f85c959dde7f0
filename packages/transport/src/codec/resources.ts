import { LIMITS, NO_RESOURCES, type Resources } from '@goshawk/core';
import { Mismatch, mismatch, rethrowWithPath } from './errors.js';

/** Encodes resources as `[name, amount, name, amount, …]`, or as nil if there are none. */
export function encodeResources(value: unknown): unknown {
  if (value === NO_RESOURCES) return null;
  if (typeof value !== 'object' || value === null) mismatch('resources', value);
  const wire: unknown[] = [];
  for (const name of Object.keys(value)) {
    checkResource(name, (value as Resources)[name]);
    wire.push(name, (value as Resources)[name]);
  }
  checkResourceCount(wire.length / 2);
  return wire.length === 0 ? null : wire;
}

/** Decodes nil as the constant `NO_RESOURCES`, because machines compare it by identity. */
export function decodeResources(wire: unknown): Resources {
  if (wire === null || wire === undefined) return NO_RESOURCES;
  if (!Array.isArray(wire) || wire.length % 2 !== 0) mismatch('pairs of names and amounts', wire);
  checkResourceCount(wire.length / 2);
  if (wire.length === 0) return NO_RESOURCES;
  const resources: Record<string, number> = {};
  for (let i = 0; i < wire.length; i += 2) {
    const name: unknown = wire[i];
    if (typeof name !== 'string') mismatch('the name of a resource', name);
    checkResource(name, wire[i + 1]);
    if (Object.hasOwn(resources, name)) throw new Mismatch('appears twice').under(`.${name}`);
    resources[name] = wire[i + 1];
  }
  return resources;
}

function checkResourceCount(count: number): void {
  if (count > LIMITS.resourcesMax) {
    throw new Mismatch(`${count} resources are more than ${LIMITS.resourcesMax}`);
  }
}

function checkResource(name: string, amount: unknown): void {
  if (name.length === 0 || name.length > LIMITS.nameLengthMax) {
    throw new Mismatch(
      `the name of a resource has 1 to ${LIMITS.nameLengthMax} characters, not ${name.length}`,
    );
  }
  if (name === '__proto__') throw new Mismatch('"__proto__" cannot name a resource');
  try {
    if (typeof amount !== 'number' || !(amount >= 0 && amount <= LIMITS.amountMax)) {
      mismatch(`an amount from 0 to ${LIMITS.amountMax}`, amount);
    }
  } catch (error) {
    rethrowWithPath(`.${name}`, error);
  }
}
