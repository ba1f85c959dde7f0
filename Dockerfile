# Goshawk in a container: `docker build -t goshawk .`, then `docker run --rm goshawk --help`. See docs/CONTAINERS.md.
#
# It works with BuildKit and with the classic builder, and uses no features of only one of them.
ARG NODE_IMAGE=node:24-bookworm-slim

# This stage has only the manifests, so that a change of the sources does not invalidate the layers that run `npm ci`.
FROM ${NODE_IMAGE} AS manifests
WORKDIR /opt/goshawk
COPY package.json package-lock.json .npmrc ./
COPY bench/package.json bench/
COPY test/package.json test/
COPY packages packages
RUN find packages -type f ! -path 'packages/*/package.json' -delete

# Build dependencies, which are not in the final image.
FROM ${NODE_IMAGE} AS build
WORKDIR /opt/goshawk
COPY --from=manifests /opt/goshawk ./
RUN npm ci --no-audit --no-fund --workspace @goshawk/cli --workspace @goshawk/lab --workspace @goshawk/tracing --include-workspace-root
COPY tsconfig.base.json ./
COPY packages packages
COPY scripts/bundle.mjs scripts/page-bundle.mjs scripts/
RUN npx tsc -b packages/cli packages/research/lab packages/tracing \
  && node scripts/bundle.mjs \
  && find packages -mindepth 2 -maxdepth 3 -name src -exec rm -rf {} + \
  && find packages \( -name '*.map' -o -name '*.d.ts' -o -name '*.tsbuildinfo' -o -name 'tsconfig.json' \) -delete

# Runtime dependencies of the command and of the laboratory, since the bench of docker-compose.yml replays a workload.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /opt/goshawk
COPY --from=manifests /opt/goshawk ./
COPY scripts/image/prune-modules.sh /tmp/
RUN npm ci --no-audit --no-fund --omit=dev --workspace @goshawk/cli --workspace @goshawk/lab --workspace @goshawk/tracing \
  && sh /tmp/prune-modules.sh node_modules
COPY --from=build /opt/goshawk/packages packages
RUN rm -rf bench test node_modules/@goshawk/bench node_modules/@goshawk/test

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Goshawk" \
      org.opencontainers.image.description="A hybrid cluster scheduler: central, schedulers, workers and the command, by role" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.1.0"
COPY --from=dependencies /opt/goshawk /opt/goshawk
COPY LICENSE /opt/goshawk/
COPY scripts/image/goshawk-ready /usr/local/bin/
# A new named volume inherits the owner and mode of the folder that it is mounted on.
RUN ln -s /opt/goshawk/packages/cli/bin/goshawk.js /usr/local/bin/goshawk \
  && chmod 755 /usr/local/bin/goshawk-ready \
  && mkdir -p /var/lib/goshawk /etc/goshawk/keys \
  && chown 1000:1000 /var/lib/goshawk /etc/goshawk/keys \
  && chmod 700 /var/lib/goshawk /etc/goshawk/keys
ENV NODE_ENV=production \
    GOSHAWK_HTTP=127.0.0.1:9090
USER 1000:1000
WORKDIR /var/lib/goshawk
# SIGTERM drains. Process 1 must reap processes that tasks abandon, which Goshawk does not: use `docker run --init`.
STOPSIGNAL SIGTERM
# A shell runs the check: Node.js processes for a hundred containers would cost more than the containers themselves.
HEALTHCHECK --interval=30s --timeout=20s --start-period=60s --retries=10 CMD ["/usr/local/bin/goshawk-ready"]
ENTRYPOINT ["goshawk"]
CMD ["--help"]
