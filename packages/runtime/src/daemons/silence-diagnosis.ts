import { type ProbeResult, probeEndpoint } from '@goshawk/transport';

/** Time in ms without a greeting after which a process counts as hanging. */
const PATIENCE_MS = 2_000;

/** Tries to connect to a silent process. @returns the likely cause of its silence */
export async function diagnoseSilence(endpoint: string): Promise<string> {
  return DIAGNOSES[await probeEndpoint(endpoint, PATIENCE_MS)];
}

const DIAGNOSES: Readonly<Record<ProbeResult, string>> = {
  greeting:
    'a process accepts connections there: it is too busy to respond, speaks another protocol version or has other keys (its log says which), or only existing connections fail',
  silence:
    'connections there are accepted, but no process responds: it hangs, or the network drops its messages',
  closed: 'connections there are closed at once, as by a proxy without a backend: its process has ended',
  refused: 'connections there are refused: its process has ended',
  unreachable: 'its address cannot be reached: its machine, container or network is down',
};
