import { randomBytes } from 'node:crypto';
import { type Cluster, connect } from '@goshawk/client';
import type { Role } from '@goshawk/core';
import { type ClusterKeys, generateKeys } from '@goshawk/transport';
import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers';
import { dockerode, image, known, labels, PATIENCE } from './docker.fixture.js';

type Daemon = Exclude<Role, 'client'>;

/** The log line that shows that a daemon is ready. */
const IS_UP: Readonly<Record<Daemon, RegExp>> = {
  central: /central is up/,
  scheduler: /scheduler has joined the cluster/,
  worker: /workers have joined the cluster/,
};

/**
 * A network of containers with a cluster that has keys: central, and the given numbers of schedulers and workers. Each
 * keeps its address when it is disconnected and reconnected, like a machine.
 */
export class ContainerCluster implements AsyncDisposable {
  readonly keys: ClusterKeys = generateKeys();
  readonly network: string;
  /** Last part of the next free address; Docker starts at 2. */
  #nextAddress = 200;
  readonly #started = new Map<string, StartedTestContainer>();
  #client: Cluster | undefined;

  private constructor(network: string) {
    this.network = network;
  }

  static async start(schedulers: number, workers: number): Promise<ContainerCluster> {
    const cluster = await ContainerCluster.#withNetwork();
    await cluster.add('central', 'central');
    const names = (role: string, count: number): string[] =>
      Array.from({ length: count }, (_, i) => `${role}${i}`);
    await Promise.all([
      ...names('scheduler', schedulers).map((name) => cluster.add('scheduler', name)),
      ...names('worker', workers).map((name) => cluster.add('worker', name)),
    ]);
    return cluster;
  }

  /** Networks of other programs may use a subnet; then the next one is tried. */
  static async #withNetwork(): Promise<ContainerCluster> {
    const name = `goshawk-test-${randomBytes(4).toString('hex')}`;
    const docker = await dockerode();
    for (let third = 64; ; third++) {
      const subnet = `10.213.${third}`;
      const IPAM = { Driver: 'default', Config: [{ Subnet: `${subnet}.0/24` }] };
      try {
        await docker.createNetwork({ Name: name, Labels: { ...labels }, IPAM });
        return new ContainerCluster(name);
      } catch (error) {
        if (third === 96) throw error;
      }
    }
  }

  /** @param settings as variables without their prefix */
  async add(
    role: Daemon,
    name: string,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<StartedTestContainer> {
    const central = `tcp://${this.#hostOf('central')}:7070`;
    const own = role === 'central' ? { ADVERTISE: central } : { CENTRAL_URL: central, NAME: name };
    const disk = role === 'scheduler' ? { DATA_FOLDER: '/var/lib/goshawk' } : {};
    const all = {
      BIND: 'tcp://0.0.0.0:7070',
      KEY: JSON.stringify(this.keys[role]),
      ...own,
      ...disk,
      ...settings,
    };
    const container = await new GenericContainer(image)
      .withName(this.#hostOf(name))
      .withCommand([role])
      .withEnvironment(
        Object.fromEntries(Object.entries(all).map(([key, value]) => [`GOSHAWK_${key}`, value])),
      )
      .withNetworkMode(this.network)
      .withLabels({ ...labels })
      .withWaitStrategy(Wait.forLogMessage(IS_UP[role]))
      .start();
    this.#started.set(name, container);
    return container;
  }

  container(name: string): StartedTestContainer {
    return this.#started.get(name)!;
  }

  async remove(name: string): Promise<void> {
    await this.container(name).stop({ timeout: 10_000 });
    this.#started.delete(name);
  }

  /** A client outside of the network, on the same machine. */
  async client(): Promise<Cluster> {
    const at = await this.#addressOf('central');
    const keys = { text: JSON.stringify(this.keys.client) };
    this.#client ??= await connect(`tcp://${at}:7070`, { keys, ...PATIENCE });
    return this.#client;
  }

  async signal(name: string, signal: string): Promise<void> {
    await (await this.#docker(name)).kill({ signal });
  }

  /** Restarts the same container after SIGKILL, with the contents of its disk. */
  async startAgain(name: string): Promise<void> {
    await (await this.#docker(name)).start();
  }

  async pause(name: string): Promise<void> {
    await (await this.#docker(name)).pause();
  }

  async unpause(name: string): Promise<void> {
    await (await this.#docker(name)).unpause();
  }

  /** @returns a function that reconnects it */
  async disconnect(name: string): Promise<() => Promise<void>> {
    const address = await this.#addressOf(name);
    const network = (await dockerode()).getNetwork(this.network);
    const Container = this.container(name).getId();
    await network.disconnect({ Container, Force: true });
    const EndpointConfig = { IPAMConfig: { IPv4Address: address } };
    return () => network.connect({ Container, EndpointConfig });
  }

  /**
   * Disconnects it from its network and reconnects it at another address, which ends it.
   *
   * @returns its exit code
   */
  async move(name: string): Promise<number> {
    const address = (await this.#addressOf(name)).replace(/\d+$/, `${this.#nextAddress++}`);
    const network = (await dockerode()).getNetwork(this.network);
    const container = await this.#docker(name);
    await network.disconnect({ Container: container.id, Force: true });
    const ended = container.wait();
    const EndpointConfig = { IPAMConfig: { IPv4Address: address } };
    await network.connect({ Container: container.id, EndpointConfig });
    return ((await ended) as { StatusCode: number }).StatusCode;
  }

  /** Waits until central knows this many. */
  async known(schedulers: number, workers: number): Promise<void> {
    await known(await this.client(), schedulers, workers);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client?.close();
    const docker = await dockerode();
    await Promise.all(
      [...this.#started.values()].map((each) =>
        docker.getContainer(each.getId()).remove({ force: true, v: true }),
      ),
    );
    await docker.getNetwork(this.network).remove();
  }

  /** Its host name: container names are resolved within their network. */
  #hostOf(name: string): string {
    return `${this.network}-${name}`;
  }

  async #docker(name: string) {
    return (await dockerode()).getContainer(this.container(name).getId());
  }

  async #addressOf(name: string): Promise<string> {
    const { NetworkSettings } = await (await this.#docker(name)).inspect();
    return NetworkSettings.Networks[this.network]!.IPAddress;
  }
}
