import { PROTOCOL_VERSION } from '@goshawk/core';

/** Base class of all transport errors; `code` is for programs, the message for people. */
export abstract class MailboxError extends Error {
  abstract readonly code: string;
}

/** Another socket already listens at the endpoint. */
export class AddressInUseError extends MailboxError {
  override readonly name = 'AddressInUseError';
  readonly code = 'ADDRESS_IN_USE';
  constructor(endpoint: string, options?: ErrorOptions) {
    super(
      `${endpoint} is already in use; choose another with --bind or stop the process that uses it`,
      options,
    );
  }
}

/** The endpoint is valid, but this machine cannot listen there. */
export class AddressUnavailableError extends MailboxError {
  override readonly name = 'AddressUnavailableError';
  readonly code = 'ADDRESS_UNAVAILABLE';
  constructor(endpoint: string, reason: string, options?: ErrorOptions) {
    super(`cannot listen at ${endpoint}: ${reason}`, options);
  }
}

/** The host of an endpoint has no address. */
export class UnresolvableHostError extends MailboxError {
  override readonly name = 'UnresolvableHostError';
  readonly code = 'UNRESOLVABLE_HOST';
  constructor(endpoint: string, host: string, options?: ErrorOptions) {
    super(
      `${endpoint}: no address found for host "${host}"; check the name, or give its IP address`,
      options,
    );
  }
}

/** The text is not a valid endpoint. */
export class InvalidEndpointError extends MailboxError {
  override readonly name = 'InvalidEndpointError';
  readonly code = 'INVALID_ENDPOINT';
  constructor(endpoint: string, reason: string) {
    super(`"${endpoint}" is not an endpoint: ${reason}`);
  }
}

/** The text is not a valid party name. */
export class InvalidPartyNameError extends MailboxError {
  override readonly name = 'InvalidPartyNameError';
  readonly code = 'INVALID_PARTY_NAME';
  constructor(partyName: string) {
    super(`"${partyName}" is not a party name; expected <endpoint>!<incarnation>/<index>`);
  }
}

/** A value that is not serializable; a fault of the sender's code. */
export class UnencodableError extends MailboxError {
  override readonly name = 'UnencodableError';
  readonly code = 'UNENCODABLE';
}

/** A message that exceeds the size of a frame. */
export class FrameTooLargeError extends MailboxError {
  override readonly name = 'FrameTooLargeError';
  readonly code = 'FRAME_TOO_LARGE';
}

/** Bytes that are not a frame; a fault of the peer. */
export class MalformedFrameError extends MailboxError {
  override readonly name = 'MalformedFrameError';
  readonly code = 'MALFORMED_FRAME';

  /** Has no stack trace: capturing one costs ten times as much as checking the frame, which a flooding peer could exploit. */
  constructor(message: string, options?: ErrorOptions) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** A frame of another version of the protocol. */
export class OtherVersionError extends MalformedFrameError {
  readonly version: number;

  constructor(version: number) {
    super(`protocol version ${version}; this process speaks version ${PROTOCOL_VERSION}`);
    this.version = version;
  }
}
