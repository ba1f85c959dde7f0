import { describe, expect, it } from 'vitest';
import { NodeFollower } from './following.js';

const active = (name: string) => ({ name, state: 'active' as const });
const draining = (name: string) => ({ name, state: 'draining' as const });
const nodes = (...names: string[]) => new Set(names);
const NOTHING = { drain: [], undo: [] };

describe('workers follow their nodes', () => {
  it('into the drain, and out of it', () => {
    const follower = new NodeFollower();
    expect(follower.orders(nodes(), [active('n1'), active('n2')])).toEqual(NOTHING);
    expect(follower.orders(nodes('n1'), [active('n1'), active('n2')])).toEqual({ drain: ['n1'], undo: [] });
    expect(follower.orders(nodes('n1'), [draining('n1'), active('n2')])).toEqual(NOTHING);
    expect(follower.orders(nodes(), [draining('n1'), active('n2')])).toEqual({ drain: [], undo: ['n1'] });
    expect(follower.orders(nodes(), [active('n1'), active('n2')])).toEqual(NOTHING);
  });

  it('again when they are restarted on a node that is cordoned', () => {
    const follower = new NodeFollower();
    follower.orders(nodes('n1'), [active('n1')]);
    follower.orders(nodes('n1'), [draining('n1')]);
    expect(follower.orders(nodes('n1'), [])).toEqual(NOTHING);
    expect(follower.orders(nodes('n1'), [active('n1')])).toEqual({ drain: ['n1'], undo: [] });
  });

  it('by name, numbered or not, and no others', () => {
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

  it('but not out of a drain that an operator has asked for', () => {
    const follower = new NodeFollower();
    follower.orders(nodes(), [active('n1')]);
    expect(follower.orders(nodes('n1'), [draining('n1')])).toEqual(NOTHING);
    expect(follower.orders(nodes(), [draining('n1')])).toEqual(NOTHING);
  });

  it('out of a drain that whoever followed before had begun', () => {
    const follower = new NodeFollower();
    expect(follower.orders(nodes('n1'), [draining('n1')])).toEqual(NOTHING);
    expect(follower.orders(nodes(), [draining('n1')])).toEqual({ drain: [], undo: ['n1'] });
  });
});
