import { describe, expect, it } from 'vitest';
import { NodeFollower } from './following.js';

const active = (name: string) => ({ name, state: 'active' as const });
const draining = (name: string) => ({ name, state: 'draining' as const });
const nodes = (...names: string[]) => new Set(names);
const NOTHING = { drain: [], undo: [] };

describe('the drain of workers by node', () => {
  it('starts and ends with the cordon of the node', () => {
    const follower = new NodeFollower();
    expect(follower.orders(nodes(), [active('n1'), active('n2')])).toEqual(NOTHING);
    expect(follower.orders(nodes('n1'), [active('n1'), active('n2')])).toEqual({ drain: ['n1'], undo: [] });
    expect(follower.orders(nodes('n1'), [draining('n1'), active('n2')])).toEqual(NOTHING);
    expect(follower.orders(nodes(), [draining('n1'), active('n2')])).toEqual({ drain: [], undo: ['n1'] });
    expect(follower.orders(nodes(), [active('n1'), active('n2')])).toEqual(NOTHING);
  });

  it('is repeated after a restart on a cordoned node', () => {
    const follower = new NodeFollower();
    follower.orders(nodes('n1'), [active('n1')]);
    follower.orders(nodes('n1'), [draining('n1')]);
    expect(follower.orders(nodes('n1'), [])).toEqual(NOTHING);
    expect(follower.orders(nodes('n1'), [active('n1')])).toEqual({ drain: ['n1'], undo: [] });
  });

  it('applies to workers with the name of the node, numbered or not, and no others', () => {
    const workers = [
      active('n1-0'),
      active('n1-1'),
      active('n1'),
      active('n11'),
      active('n1-gpu'),
      active('n'),
    ];
    const { drain } = new NodeFollower().orders(nodes('n1'), workers);
    expect(drain).toEqual(['n1-0', 'n1-1', 'n1']);
  });

  it('does not undo a drain that an operator requested', () => {
    const follower = new NodeFollower();
    follower.orders(nodes(), [active('n1')]);
    expect(follower.orders(nodes('n1'), [draining('n1')])).toEqual(NOTHING);
    expect(follower.orders(nodes(), [draining('n1')])).toEqual(NOTHING);
  });

  it('undoes a drain that an earlier follower started', () => {
    const follower = new NodeFollower();
    expect(follower.orders(nodes('n1'), [draining('n1')])).toEqual(NOTHING);
    expect(follower.orders(nodes(), [draining('n1')])).toEqual({ drain: [], undo: ['n1'] });
  });
});
