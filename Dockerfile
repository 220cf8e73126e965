# The verify service and the dashboard of a folder of runs: docs/DOCKER.md.
FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY . .
# Builds, then keeps what the package holds and what it needs at run time.
RUN npm ci --no-audit --no-fund && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim
# Compilers of the languages to be judged beside Python and JavaScript, e.g. "g++ golang-go default-jdk-headless".
ARG COMPILERS=""
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# hadolint ignore=DL3008,SC2086
RUN apt-get update \
  && apt-get install -y --no-install-recommends python3 ${COMPILERS} \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=build /build/package.json /build/LICENSE ./
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
COPY --from=build /build/python ./python
COPY --from=build /build/starter ./starter
RUN ln -s /app/dist/cli/main.js /usr/local/bin/rlvr && install -d -o node -g node /runs
# The user "node" of the base image.
USER 1000:1000
# Caches of compilers; with a read-only root it is the one place beside /runs that is written.
ENV HOME=/tmp NODE_ENV=production
VOLUME /runs
EXPOSE 8710
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8710/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["rlvr"]
CMD ["serve", "--host", "0.0.0.0", "--runs", "/runs"]
