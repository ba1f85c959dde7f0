// Loaded into a daemon with --require: records each frame that it sends, with its destination and its routing id.
const { appendFileSync } = require('node:fs');
const Module = require('node:module');

const load = Module._load;
let isWrapped = false;
Module._load = function (request, ...rest) {
  const loaded = load.call(this, request, ...rest);
  if (/addon\.node$/.test(request) && !isWrapped) {
    isWrapped = true;
    record(loaded.Socket.prototype);
  }
  return loaded;
};

function record(prototype) {
  const { send } = prototype;
  const value = function (parts) {
    const { lastEndpoint: endpoint, routingId } = this;
    const frames = [parts].flat().map((part) => Buffer.from(part).toString('base64'));
    appendFileSync(process.env.RECORD_FRAMES, `${JSON.stringify({ endpoint, routingId, frames })}\n`);
    return send.call(this, parts);
  };
  // The addon's own method is not writable.
  Object.defineProperty(prototype, 'send', { value, configurable: true });
}
