import { MESSAGE_TYPES, MESSAGES, type MessageType, type Role } from '@goshawk/core';
import type { FaultProfile } from './scenario.js';

const isBetweenMachines = (type: MessageType) => {
  const roles: readonly Role[] = [...MESSAGES[type].from, ...MESSAGES[type].to];
  return !roles.includes('client');
};

/** What brings free workers and waiting tasks together when nobody has asked for one. */
const MATCHING: readonly MessageType[] = [
  'pull',
  'need',
  'matched',
  'unused',
  'unheard',
  'run',
  'seek',
  'none',
  'occupied',
  'usage',
];

/** What is known to happen to clusters, one at a time and together. */
export const FAULT_PROFILES: Readonly<Record<string, FaultProfile>> = {
  'nothing but delays': {},
  'cancelled jobs': { cancels: true },
  'draining workers': { drains: true, cancels: true },
  'dying workers': { workersDie: true, cancels: true },
  'workers cut off': { workersCutOff: true },
  'schedulers cut off': { schedulersCutOff: true },
  'dying schedulers': { schedulersDie: true },
  'schedulers that come back': { schedulersReturn: true, cancels: true },
  'schedulers that come back while workers and centrals die': {
    schedulersReturn: true,
    workersDie: true,
    centralDies: true,
    cancels: true,
  },
  'dying centrals': { centralDies: true },
  'connections to central that break': { centralDisconnects: true, cancels: true, drains: true },
  'dying centrals, and connections to them that break': {
    centralDisconnects: true,
    centralDies: true,
    workersDie: true,
    schedulersReturn: true,
  },
  'busy centrals': { centralBusy: true, cancels: true },
  'busy and dying centrals': { centralBusy: true, centralDies: true, workersDie: true, cancels: true },
  'doubled messages': {
    centralBusy: true,
    cancels: true,
    drains: true,
    workersDie: true,
    doubled: MESSAGE_TYPES.filter(isBetweenMachines),
  },
  'lost messages': {
    centralBusy: true,
    cancels: true,
    drains: true,
    workersDie: true,
    lost: MESSAGE_TYPES.filter(isBetweenMachines),
  },
  'matches lost and doubled while centrals and workers die': {
    centralDisconnects: true,
    workersDie: true,
    centralDies: true,
    drains: true,
    cancels: true,
    lost: MATCHING,
    doubled: MATCHING,
  },
  // Not together with dying schedulers: a worker that hears of no central when its owner dies, or of a new
  // one that never knew that owner, reports to it for a quarter of an hour.
  'everything at once': {
    workersDie: true,
    workersCutOff: true,
    schedulersCutOff: true,
    centralDies: true,
    centralDisconnects: true,
    centralBusy: true,
    drains: true,
    cancels: true,
  },
};
